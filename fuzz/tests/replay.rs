//! Every body on the committed corpus, and on changed copies of it.

use std::path::Path;

use dambase_fuzz::TARGETS;

/// Changed copies of each piece of the corpus.
const COPIES: u64 = 60;

/// A generator of numbers that are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn change(data: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(data.len() + 1);
        match numbers.below(5) {
            0 if at < data.len() => data[at] = numbers.below(256) as u8,
            1 if at < data.len() => data[at] ^= 1 << numbers.below(8),
            2 => data.insert(at, numbers.below(256) as u8),
            3 if at < data.len() => drop(data.remove(at)),
            _ => data.truncate(at.max(1)),
        }
    }
    data
}

/// Runs every body on the corpus, on every shorter piece of it and on changed copies.
fn replay(copies: u64, seed: u64) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let mut files: Vec<_> = std::fs::read_dir(corpus.join(name))
            .unwrap_or_else(|e| panic!("{name}: {e}"))
            .map(|f| f.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no corpus");
        let (mut numbers, mut inputs) = (Numbers(seed), 0);
        for file in files {
            let data = std::fs::read(&file).unwrap();
            target(&data);
            for _ in 0..copies {
                target(&change(&data, &mut numbers));
            }
            // Cut anywhere.
            for length in 0..data.len().min(600) {
                target(&data[..length]);
            }
            inputs += 1 + copies + data.len().min(600) as u64;
        }
        println!("{name}: {inputs} inputs");
    }
}

#[test]
fn corpus_and_changed_copies() {
    replay(COPIES, 0x9e37_79b9_7f4a_7c15);
}

#[test]
#[ignore = "slow: cargo test -p dambase-fuzz -- --ignored --nocapture"]
fn corpus_and_many_changed_copies() {
    replay(20 * COPIES, 0xbf58_476d_1ce4_e5b9);
}

#[test]
fn every_folder_of_the_corpus_has_a_body() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for folder in std::fs::read_dir(corpus).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(t, _)| *t == name), "{name}");
    }
}
