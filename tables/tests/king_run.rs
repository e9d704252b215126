//! Files of positions with king runs.

use dambase_rules::{Ruleset, Side, marker, movegen};
use dambase_tables::{
    Dtw, DtwArray, Error, Header, Material, NoRuns, RunIndex, Table, Value, Wld, WldArray,
    WriteOptions, write_dtw, write_wld,
};
use xxhash_rust::xxh3::xxh3_64;

fn material() -> Material {
    "KKvM".parse().unwrap()
}

fn options(king_run: bool) -> WriteOptions {
    WriteOptions {
        king_run,
        level: 3,
        // No divisor of it is the number of states.
        block_positions: Some(1024),
        ..WriteOptions::default()
    }
}

fn index<R: Ruleset>() -> RunIndex<R::Bits> {
    RunIndex::new(R::RULES.geometry, R::RULES.king_run, material()).unwrap()
}

/// Some values that depend on the index.
fn value(i: u64, side: usize) -> Value {
    let noise = (i + side as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let plies = Dtw((noise % 50) as u16 * 2);
    match noise % 3 {
        0 => Value::Draw,
        1 => Value::Win(Dtw(plies.0 + 1)),
        _ => Value::Loss(plies),
    }
}

fn arrays(n: u64) -> (Vec<WldArray>, Vec<DtwArray>) {
    let slice = |side| {
        let mut wld = WldArray::new(n);
        (0..n).for_each(|i| wld.set(i, value(i, side).wld()));
        let codes = (0..n).map(|i| value(i, side).code()).collect();
        (wld, DtwArray { codes })
    };
    [0, 1].map(slice).into_iter().unzip()
}

fn written<R: Ruleset>(dir: &std::path::Path) -> [Table; 2] {
    let (wld, dtw) = arrays(index::<R>().positions());
    let paths = ["KKvM.wld", "KKvM.dtw"].map(|name| dir.join(name));
    let (wld, dtw): (Vec<_>, Vec<_>) = (wld.iter().collect(), dtw.iter().collect());
    write_wld::<R>(&paths[0], material(), &wld, &options(true)).unwrap();
    write_dtw::<R>(&paths[1], material(), &dtw, &options(true)).unwrap();
    paths.map(|p| Table::open(p).unwrap())
}

fn compare<R: Ruleset>() {
    let dir = tempfile::tempdir().unwrap();
    let ix = index::<R>();
    for table in written::<R>(dir.path()) {
        let header = table.header();
        assert!(header.king_run && !header.lacks_king_run());
        table.verify_checksums().unwrap();
        for (slot, side) in Side::BOTH.into_iter().enumerate() {
            let stats = &header.slice(side).unwrap().stats;
            let read = table.read_wld(side).unwrap();
            let distances = table.read_dtw(side).ok();
            let mut none = NoRuns::default();
            let mut captures = 0;
            for i in 0..ix.positions() {
                let (board, runs) = ix.position(i);
                let wanted = value(i, slot);
                if runs.iter().all(|r| r.count == 0) {
                    none.positions += 1;
                    none.wins += u64::from(wanted.wld() == Wld::Win);
                    none.losses += u64::from(wanted.wld() == Wld::Loss);
                }
                if movegen::has_capture::<R>(&board, side) {
                    captures += 1;
                    continue;
                }
                assert_eq!(read.get(i), wanted.wld());
                if let Some(d) = &distances {
                    assert_eq!(d.get(i), wanted);
                }
            }
            assert_eq!(stats.positions, ix.positions());
            assert_eq!(stats.captures, captures);
            assert_eq!(stats.no_runs, Some(none));
            assert_eq!(none.positions, ix.boards().positions());
            assert_eq!(none.draws(), none.positions - none.wins - none.losses);
        }
    }
}

#[test]
fn values_come_back_with_every_state() {
    compare::<marker::Frisian>();
    compare::<marker::FrisianFederation>();
}

#[test]
fn tables_without_runs_have_none() {
    type R = marker::Frisian;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KKvM.wld");
    let boards = index::<R>().boards().positions();
    let (wld, _) = arrays(boards);
    let wld: Vec<_> = wld.iter().collect();
    let header = write_wld::<R>(&path, material(), &wld, &options(false)).unwrap();
    assert!(!header.king_run && header.lacks_king_run());
    assert_eq!(header.slices[0].stats.positions, boards);
    assert_eq!(header.slices[0].stats.no_runs, None);
}

#[test]
fn what_does_not_fit_is_refused() {
    type R = marker::Frisian;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KKvM.wld");
    let (few, _) = arrays(index::<R>().boards().positions());
    let few: Vec<_> = few.iter().collect();
    // Arrays without runs as a table with them, and the other way round.
    let e = write_wld::<R>(&path, material(), &few, &options(true)).unwrap_err();
    assert!(matches!(e, Error::Input { .. }), "{e}");
    let (all, _) = arrays(index::<R>().positions());
    let all: Vec<_> = all.iter().collect();
    let e = write_wld::<R>(&path, material(), &all, &options(false)).unwrap_err();
    assert!(matches!(e, Error::Input { .. }), "{e}");
    // A code without king run.
    let e = write_wld::<marker::International>(&path, material(), &few, &options(true));
    assert!(matches!(e, Err(Error::Input { .. })));
    assert!(!path.exists());
}

#[test]
fn forged_flags_and_counts_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [table, _] = written::<marker::Frisian>(dir.path());
    let good = std::fs::read(table.path()).unwrap();
    let forged = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let checksum = xxh3_64(&bytes[..504]).to_le_bytes();
        bytes[504..512].copy_from_slice(&checksum);
        Table::from_bytes("x/KKvM.wld", bytes).map(|t| t.header().clone())
    };
    assert_eq!(Header::BYTES, 512);
    assert!(forged(32, good[32]).is_ok());
    // Without the flag there are too many positions.
    assert!(matches!(forged(32, 0), Err(Error::Header { .. })));
    // More wins without a run than there are such positions; bytes that must be 0.
    assert!(matches!(forged(128 + 166, 1), Err(Error::Header { .. })));
    assert!(matches!(forged(128 + 176, 1), Err(Error::Header { .. })));
}
