//! Tables of materials in which several clocks run at once: what is written is read again, and damage
//! is found.

use dambase_rules::{Ruleset, Side, marker, movegen};
use dambase_tables::needs::{Need, NeedsArray, NeedsList, NeedsNumbers};
use dambase_tables::{
    Dtz, Error, Index, Material, Metric, RuleValue, Scratch, Table, WriteOptions, mark_verified,
    table_path, write_needs,
};

type R = marker::Russian;

fn noise(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % 1000
}

fn material() -> Material {
    "KMvK".parse().unwrap()
}

/// Lists of one to three steps, 600 of them: more than a byte can number.
fn lists() -> NeedsList {
    let mut numbers = NeedsNumbers::default();
    for n in 0..600_u16 {
        let step = |k: u16| Need {
            diagonal: if n % 7 == 0 { 2 } else { 0 },
            beside: (n / 20 + 9 * k) as u8,
            quiet: (n % 20 + 4 - k) as u8,
        };
        let steps: Vec<_> = (0..=n % 3).map(step).collect();
        assert_eq!(numbers.number(&steps), u32::from(n));
    }
    numbers.into_list()
}

/// The value at an index, and the number of its list.
fn value(list: &NeedsList, side: Side, i: u64) -> (RuleValue, u32) {
    let n = (noise(i / 5 + 77 * side as u64) % 600) as u32;
    let wld = match noise(i / 3) % 3 {
        0 => dambase_tables::Wld::Draw,
        1 => dambase_tables::Wld::Win,
        _ => dambase_tables::Wld::Loss,
    };
    if noise(i) < 50 {
        return (RuleValue::undecided(wld), 0);
    }
    (list.value(wld, Some(n)), n)
}

fn write(dir: &std::path::Path) -> std::path::PathBuf {
    let path = table_path(dir, R::VARIANT, material(), Metric::Dtz);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let list = lists();
    let index = Index::<u64>::new(R::RULES.geometry, material()).unwrap();
    let slices = Side::BOTH.map(|side| NeedsArray {
        symbols: (0..index.positions())
            .map(|i| {
                let (value, n) = value(&list, side, i);
                NeedsList::symbol(value, n).unwrap()
            })
            .collect(),
    });
    let options = WriteOptions {
        limits_hash: 5,
        ..WriteOptions::default()
    };
    let [white, black] = &slices;
    write_needs::<R>(&path, material(), &[white, black], &list, &options).unwrap();
    path
}

#[test]
fn what_is_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path());
    let list = lists();
    let marked = mark_verified(&path, "tests").unwrap();
    assert!(marked.verified);
    let table = Table::open(&path).unwrap();
    table.verify_checksums().unwrap();
    assert_eq!(**table.needs().unwrap().unwrap(), list);
    let index = Index::<u64>::new(R::RULES.geometry, material()).unwrap();
    let mut scratch = Scratch::new();
    let mut known = 0;
    for side in Side::BOTH {
        let all = table.read_dtz(side).unwrap();
        let wld = table.read_wld(side).unwrap();
        let mut longest = [0, 0];
        for i in 0..index.positions() {
            let (wanted, n) = value(&list, side, i);
            match wanted {
                RuleValue::Win(Dtz(n)) => longest[0] = longest[0].max(n),
                RuleValue::Loss(Dtz(n)) => longest[1] = longest[1].max(n),
                _ => {}
            }
            if movegen::has_capture::<R>(&index.board(i), side) {
                continue;
            }
            assert_eq!(all.get(i), wanted);
            assert_eq!(wld.get(i), wanted.without_limits());
            if i % 17 == 0 {
                let (block, offset) = table.block_of(side, i);
                let block = table.decode(block, &mut scratch).unwrap();
                assert_eq!(block.rule(offset), wanted);
                assert_eq!(block.needs(offset), wanted.need().map(|_| n));
                known += 1;
            }
        }
        let stats = &table.header().slice(side).unwrap().stats;
        let plies = [stats.longest_win, stats.longest_loss].map(|l| l.unwrap().plies.0);
        assert_eq!(plies, longest);
    }
    assert!(known > 1000);
}

#[test]
fn damaged_lists_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let good = std::fs::read(write(dir.path())).unwrap();
    let table = Table::from_bytes("good", good.clone()).unwrap();
    let needs = table.header().needs;
    assert_eq!(needs.offset + needs.bytes, good.len() as u64);
    for at in (needs.offset as usize..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 4;
        let table = Table::from_bytes("bad", bad).unwrap();
        assert!(matches!(table.needs(), Err(Error::Corrupt { .. })));
        let (block, _) = table.block_of(Side::White, 0);
        assert!(table.decode(block, &mut Scratch::new()).is_err());
        assert!(table.verify_checksums().is_err());
    }
    // Without its lists, or with fewer than its symbols name.
    let forged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..504]);
        bytes[504..512].copy_from_slice(&sum.to_le_bytes());
        Table::from_bytes("forged", bytes)
    };
    let without = forged(&|b| {
        b.truncate(needs.offset as usize);
        let length = (b.len() as u64).to_le_bytes();
        b[40..48].copy_from_slice(&length);
        b[112..128].fill(0);
    });
    assert!(matches!(without, Err(Error::Header { .. })));
    let fewer = forged(&|b| {
        b.truncate(needs.offset as usize);
        let lists = [1, 0, 0, 0, 1, 0, 0, 9, 9];
        b.extend(lists);
        let length = (b.len() as u64).to_le_bytes();
        b[40..48].copy_from_slice(&length);
        b[112..120].copy_from_slice(&(lists.len() as u64).to_le_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&lists);
        b[120..128].copy_from_slice(&sum.to_le_bytes());
    });
    let fewer = fewer.unwrap();
    assert_eq!(fewer.needs().unwrap().unwrap().len(), 1);
    assert!(matches!(
        fewer.verify_checksums(),
        Err(Error::Corrupt { .. })
    ));
}
