//! Bounded caches, look-ups that never touch a file, many threads.

use std::fs;

use crate::oracle::{Oracle, position};
use dambase_probe::{Metric, Scratch, Tablebase, Value};
use dambase_rules::{Board, Ruleset, Side, marker};

type English = marker::English;

struct Set {
    dir: tempfile::TempDir,
    positions: Vec<(Board<u64>, Side, Value)>,
}

fn set() -> Set {
    let oracle = Oracle::<English>::new(3);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, |_| true);
    oracle.write(dir.path(), Metric::Dtw, |_| true);
    let mut positions = Vec::new();
    oracle.each(|b, s, v| positions.push((*b, s, v)));
    Set { dir, positions }
}

fn open(set: &Set) -> Tablebase {
    Tablebase::open(English::VARIANT, [set.dir.path()]).unwrap()
}

#[test]
fn sixteen_threads_agree_within_a_small_cache() {
    let set = set();
    let tb = open(&set);
    let budget = 40_000;
    tb.set_cache_bytes(budget);
    assert!(tb.cache_capacity() < budget + 1000);
    std::thread::scope(|scope| {
        for t in 0..16 {
            let (tb, set) = (&tb, &set);
            scope.spawn(move || {
                let mut scratch = Scratch::new();
                let n = set.positions.len();
                // Every thread goes its own way through all positions.
                let mut i = t * 7919 % n;
                for k in 0..n / 8 {
                    i = (i + 15_485_863) % n;
                    let (board, side, value) = &set.positions[i];
                    let got = tb.probe_board::<English>(board, *side, &mut scratch);
                    assert_eq!(got.unwrap(), value.wld());
                    let got = tb.probe_board_value::<English>(board, *side, &mut scratch);
                    assert_eq!(got.unwrap(), *value);
                    if k % 1000 == 0 {
                        assert!(tb.cache_bytes() <= tb.cache_capacity());
                    }
                }
            });
        }
    });
    assert!(tb.cache_bytes() > 0);
    tb.set_cache_bytes(0);
    assert_eq!(tb.cache_bytes(), 0);
    let (board, side, value) = &set.positions[set.positions.len() / 2];
    assert_eq!(
        tb.probe(&position::<English>(board, *side)).unwrap(),
        *value
    );
    tb.set_cache_bytes(1 << 20);
    tb.clear_cache();
    assert_eq!(tb.cache_bytes(), 0);
}

#[test]
fn look_ups_in_memory_never_touch_a_file() {
    let set = set();
    let tb = open(&set);
    let mut scratch = Scratch::new();
    let ask = |scratch: &mut Scratch, k: usize| {
        let (board, side, value) = &set.positions[k];
        let got = tb
            .try_probe_board::<English>(board, *side, scratch)
            .unwrap();
        assert!(got.is_none_or(|v| v == value.wld()));
        got.is_some()
    };
    // With the files gone, anything but memory would fail.
    let known = |scratch: &mut Scratch| {
        (0..set.positions.len())
            .filter(|&k| ask(scratch, k))
            .count()
    };
    let hidden = set.dir.path().join("hidden");
    let files = set.dir.path().join("english");
    fs::rename(&files, &hidden).unwrap();
    // Captures of the last piece are known without a table, nothing else.
    let without = known(&mut scratch);
    assert!(without < set.positions.len() / 4, "{without}");
    fs::rename(&hidden, &files).unwrap();
    // All of them, because blocks may be decoded only as far as asked for.
    for (board, side, value) in &set.positions {
        let got = tb.probe_board::<English>(board, *side, &mut scratch);
        assert_eq!(got.unwrap(), value.wld());
    }
    fs::rename(&files, &hidden).unwrap();
    assert_eq!(known(&mut scratch), set.positions.len());
    // Positions ask through the same door.
    let (board, side, value) = &set.positions[set.positions.len() - 1];
    let p = position::<English>(board, *side);
    assert_eq!(tb.try_probe_wld(&p).unwrap(), Some(value.wld()));
    tb.clear_cache();
    scratch.forget();
    assert_eq!(known(&mut scratch), without);
    assert_eq!(tb.try_probe(&p).unwrap(), None);
}

#[test]
fn one_scratch_serves_several_tablebases() {
    let set = set();
    let (a, b) = (open(&set), open(&set));
    let mut scratch = Scratch::new();
    for (board, side, value) in set.positions.iter().step_by(997) {
        for tb in [&a, &b] {
            let got = tb.probe_board_value::<English>(board, *side, &mut scratch);
            assert_eq!(got.unwrap(), *value);
        }
    }
}
