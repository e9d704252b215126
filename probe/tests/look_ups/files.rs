//! Directories and files: what is there, what is missing, what is damaged.

use std::fs;
use std::path::Path;

use crate::oracle::{Oracle, position};
use dambase_probe::{Error, Material, Metric, Position, Scratch, Tablebase, Variant, Wld};
use dambase_rules::{Ruleset, Side, marker};
use dambase_tables::table_path;

type English = marker::English;
const ENGLISH: Variant = Variant::English;

fn all(_: Material) -> bool {
    true
}

fn material(name: &str) -> Material {
    name.parse().unwrap()
}

fn english(fen: &str) -> Position {
    Position::parse(ENGLISH, fen).unwrap()
}

#[test]
fn directories_that_are_none_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let e = Tablebase::open(ENGLISH, [&missing]).unwrap_err();
    assert!(matches!(&e, Error::NoDirectory { path } if *path == missing));
    assert!(e.to_string().contains("nowhere"));
    assert_eq!(e.code(), "no-directory");
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let e = Tablebase::open(ENGLISH, [&file]).unwrap_err();
    assert!(matches!(&e, Error::NotADirectory { path } if *path == file));
    let e = Tablebase::open(ENGLISH, [file.join("below")]).unwrap_err();
    assert!(e.to_string().contains("below"), "{e}");
}

#[test]
fn a_directory_without_tables_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    assert!(tb.coverage().is_empty());
    assert_eq!(tb.coverage().complete_wld(), 0);
    let e = tb.probe_wld(&english("W:WK1:BK32")).unwrap_err();
    assert_eq!(e.code(), "missing-table");
    assert!(e.to_string().contains("english/KvK.wld"), "{e}");
    // No directory at all is an empty tablebase, too.
    assert!(
        Tablebase::open(ENGLISH, [] as [&Path; 0])
            .unwrap()
            .coverage()
            .is_empty()
    );
    // What is over needs no table.
    assert_eq!(tb.probe_wld(&english("B:WK1:B")).unwrap(), Wld::Loss);
}

#[test]
fn several_directories_are_one_tablebase() {
    let oracle = Oracle::<English>::new(3);
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    oracle.write(a.path(), Metric::Wld, all);
    oracle.write(b.path(), Metric::Dtw, all);
    oracle.write(b.path(), Metric::Wld, |m| m.pieces() == 2);
    let dirs = [a.path(), b.path(), a.path()];
    let tb = Tablebase::open(ENGLISH, dirs).unwrap();
    assert_eq!(tb.dirs(), [a.path(), b.path()]);
    let coverage = tb.coverage();
    let wanted = Material::canonical_with(2).len() + Material::canonical_with(3).len();
    assert_eq!(coverage.materials.len(), wanted);
    assert_eq!((coverage.complete_wld(), coverage.complete_dtw()), (3, 3));
    for c in &coverage.materials {
        // The first directory goes first.
        assert!(c.wld.as_ref().unwrap().starts_with(a.path()));
        assert!(c.dtw.as_ref().unwrap().starts_with(b.path()));
        let header = tb.header(c.material, Metric::Dtw).unwrap();
        assert_eq!(header.material, c.material);
    }
    oracle.each(|board, side, value| {
        let p = position::<English>(board, side);
        assert_eq!(tb.probe_wld(&p).unwrap(), value.wld());
        assert_eq!(tb.probe(&p).unwrap(), value);
    });
}

#[test]
fn one_metric_alone_is_enough_for_values() {
    let oracle = Oracle::<English>::new(3);
    let (w, d) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    oracle.write(w.path(), Metric::Wld, all);
    oracle.write(d.path(), Metric::Dtw, all);
    let wld = Tablebase::open(ENGLISH, [w.path()]).unwrap();
    let dtw = Tablebase::open(ENGLISH, [d.path()]).unwrap();
    assert_eq!(
        (wld.coverage().complete_wld(), wld.coverage().complete_dtw()),
        (3, 0)
    );
    assert_eq!(
        (dtw.coverage().complete_wld(), dtw.coverage().complete_dtw()),
        (3, 3)
    );
    let flat = Tablebase::open(ENGLISH, [d.path()]).unwrap();
    flat.make_resident(Metric::Wld, all).unwrap();
    let mut scratch = Scratch::new();
    oracle.each(|board, side, value| {
        let p = position::<English>(board, side);
        assert_eq!(wld.probe_wld(&p).unwrap(), value.wld());
        assert_eq!(dtw.probe_wld(&p).unwrap(), value.wld());
        assert_eq!(flat.probe_wld_with(&p, &mut scratch).unwrap(), value.wld());
        assert_eq!(wld.outcome(&p).unwrap().wld, value.wld());
        assert_eq!(dtw.outcome(&p).unwrap().dtw, value.dtw());
        // A position that is over by having no pieces would need no table, but there is none here.
        let e = wld.probe(&p).unwrap_err();
        assert!(matches!(
            e,
            Error::MissingTable {
                metric: Metric::Dtw,
                ..
            }
        ));
    });
    let p = english("W:WK1,K2:BK32");
    let moves = wld.moves(&p).unwrap();
    assert_eq!(moves.len(), p.legal_moves().len());
    assert!(moves.iter().all(|m| m.after.dtw.is_none()));
    assert!(moves.is_sorted_by_key(|m| m.after.wld != Wld::Win));
}

#[test]
fn a_missing_smaller_table_is_the_one_named() {
    let oracle = Oracle::<English>::new(3);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, |m| m != material("KvK"));
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    let (mut answered, mut refused) = (0, 0);
    oracle.each(|board, side, value| {
        if board.occupied().count_ones() != 3 {
            return;
        }
        match tb.probe_wld(&position::<English>(board, side)) {
            Ok(v) => {
                assert_eq!(v, value.wld());
                answered += 1;
            }
            Err(e) => {
                let Error::MissingTable {
                    material: m,
                    metric,
                    needed_by,
                    ..
                } = &e
                else {
                    panic!("{e}");
                };
                assert_eq!((*m, *metric), (material("KvK"), Metric::Wld));
                assert_eq!(*needed_by, Some(Material::of(board).canonical()));
                assert!(e.to_string().contains("english/KvK.wld"));
                refused += 1;
            }
        }
    });
    assert!(answered > 0 && refused > 0);
    let e = tb.make_resident(Metric::Wld, all).unwrap_err();
    assert!(matches!(e, Error::MissingTable { .. }), "{e}");
    // Materials beyond those there are.
    let e = tb.probe_wld(&english("B:WK1:BK9,K10,25")).unwrap_err();
    assert!(e.to_string().contains("english/KKMvK.wld"), "{e}");
    let Error::MissingTable { needed_by, .. } = e else {
        panic!("{e}")
    };
    assert_eq!(needed_by, None);
}

#[test]
fn other_codes_and_strangers_are_ignored() {
    let oracle = Oracle::<English>::new(2);
    let other = Oracle::<marker::Italian>::new(2);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, all);
    other.write(dir.path(), Metric::Wld, all);
    let sub = dir.path().join("english");
    fs::write(sub.join("README.txt"), "hello").unwrap();
    fs::write(sub.join(".KvK.wld.tmp"), "half").unwrap();
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    assert!(tb.issues().is_empty(), "{:?}", tb.issues());
    assert_eq!(tb.coverage().complete_wld(), 2);
    // The question must be of the same code as the tables.
    let p = Position::parse(Variant::Italian, "W:WK1:BK32").unwrap();
    let e = tb.probe_wld(&p).unwrap_err();
    assert!(matches!(
        e,
        Error::OtherVariant {
            tables: Variant::English,
            position: Variant::Italian
        }
    ));
    assert!(tb.moves(&p).is_err() && tb.line(&p).is_err());
    // An Italian table under an English name is refused, and said to be so when it is needed.
    let (m, file) = (
        material("KvK"),
        table_path(dir.path(), ENGLISH, material("KvK"), Metric::Wld),
    );
    fs::copy(
        table_path(dir.path(), Variant::Italian, m, Metric::Wld),
        &file,
    )
    .unwrap();
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    assert_eq!(tb.issues().len(), 1);
    assert!(tb.coverage().materials.iter().all(|c| c.material != m));
    let e = tb.probe_wld(&english("W:WK1:BK32")).unwrap_err();
    assert!(matches!(e, Error::Table(_)), "{e}");
    assert!(e.to_string().contains("KvK.wld"), "{e}");
    assert!(tb.probe_wld(&english("W:WK1:B9")).is_ok());
}

#[test]
fn damaged_headers_are_issues_and_a_good_copy_is_used() {
    let oracle = Oracle::<English>::new(2);
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    oracle.write(a.path(), Metric::Wld, all);
    oracle.write(b.path(), Metric::Wld, all);
    let file = table_path(a.path(), ENGLISH, material("KvK"), Metric::Wld);
    let mut bytes = fs::read(&file).unwrap();
    bytes[40] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let tb = Tablebase::open(ENGLISH, [a.path()]).unwrap();
    assert_eq!(tb.issues().len(), 1);
    assert_eq!(tb.issues()[0].code(), "corrupt");
    let e = tb.probe_wld(&english("W:WK1:BK32")).unwrap_err();
    assert_eq!(e.code(), "corrupt");
    assert!(e.to_string().contains("KvK.wld"), "{e}");
    // A file cut short.
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let tb = Tablebase::open(ENGLISH, [a.path(), b.path()]).unwrap();
    assert_eq!(tb.issues().len(), 1);
    oracle.each(|board, side, value| {
        assert_eq!(
            tb.probe_wld(&position::<English>(board, side)).unwrap(),
            value.wld()
        );
    });
}

#[test]
fn one_flipped_bit_is_an_error_and_never_a_value() {
    let oracle = Oracle::<English>::new(2);
    let dir = tempfile::tempdir().unwrap();
    for metric in [Metric::Wld, Metric::Dtw] {
        oracle.write(dir.path(), metric, all);
        let file = table_path(dir.path(), ENGLISH, material("KvM"), metric);
        let good = fs::read(&file).unwrap();
        let mut noticed = 0;
        for place in (0..good.len()).step_by(7) {
            let mut bad = good.clone();
            bad[place] ^= 1 << (place % 8);
            // Replaced, not changed in place: other tablebases may have it mapped.
            fs::remove_file(&file).unwrap();
            fs::write(&file, &bad).unwrap();
            let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
            let mut scratch = Scratch::new();
            let mut wrong = 0;
            for board_side in boards(&oracle) {
                let (board, side, value) = board_side;
                let answer = match metric {
                    Metric::Wld => tb
                        .probe_board::<English>(&board, side, &mut scratch)
                        .map(|v| v == value.wld()),
                    _ => tb
                        .probe_board_value::<English>(&board, side, &mut scratch)
                        .map(|v| v == value),
                };
                match answer {
                    Ok(right) => assert!(right, "byte {place} of {}", file.display()),
                    Err(e) => {
                        assert!(matches!(e, Error::Table(_)), "{e}");
                        assert!(e.to_string().contains("KvM"), "{e}");
                        wrong += 1;
                    }
                }
            }
            noticed += usize::from(wrong > 0);
        }
        assert!(noticed > good.len() / 14, "{noticed}");
        fs::remove_file(&file).unwrap();
        fs::write(&file, &good).unwrap();
    }
}

fn boards(
    oracle: &Oracle<English>,
) -> Vec<(dambase_rules::Board<u64>, Side, dambase_probe::Value)> {
    let mut out = Vec::new();
    oracle.each(|b, s, v| {
        if Material::of(b).canonical() == material("KvM") {
            out.push((*b, s, v));
        }
    });
    out
}

#[test]
fn placements_that_are_none_are_refused() {
    let oracle = Oracle::<English>::new(2);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, all);
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    let mut scratch = Scratch::new();
    let board = |men: [u64; 2], kings: [u64; 2]| dambase_rules::Board { men, kings };
    for (bad, side) in [
        (board([1, 0], [0, 2]), Side::White), // a white man on its crowning row
        (board([0, 1 << 31], [2, 0]), Side::White), // a black one
        (board([1 << 9, 0], [0, 1 << 9]), Side::White), // two on a square
        (board([1 << 9, 0], [1 << 9, 1]), Side::White),
        (board([0, 0], [1 << 40, 1]), Side::White), // off the board
        (board([0, 0], [1, 0]), Side::White),       // nobody has moved
        (board([0, 0], [0, 0]), Side::White),
    ] {
        let e = tb
            .probe_board::<English>(&bad, side, &mut scratch)
            .unwrap_err();
        assert_eq!(e.code(), "illegal-position", "{bad:?}");
    }
    let italian = board([0, 0], [1, 1 << 31]);
    let e = tb
        .probe_board::<marker::Italian>(&italian, Side::White, &mut scratch)
        .unwrap_err();
    assert_eq!(e.code(), "other-variant");
}

#[test]
fn the_number_of_pieces_can_be_limited() {
    let oracle = Oracle::<English>::new(3);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, all);
    let tb = Tablebase::open(ENGLISH, [dir.path()]).unwrap();
    let (two, three) = (english("W:WK1:BK32"), english("W:WK1,K2:BK32"));
    assert!(tb.probe_wld(&three).is_ok());
    tb.set_most_pieces(2);
    assert!(tb.probe_wld(&two).is_ok());
    let e = tb.probe_wld(&three).unwrap_err();
    assert!(matches!(e, Error::TooManyPieces { pieces: 3, most: 2 }));
    tb.set_most_pieces(u8::MAX);
    assert!(tb.probe_wld(&three).is_ok());
}

#[test]
fn a_pending_king_run_is_refused() {
    let oracle = Oracle::<marker::Frisian>::new(2);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Dtw, all);
    let tb = Tablebase::open(marker::Frisian::VARIANT, [dir.path()]).unwrap();
    let p = tb.position("W:WK18:BK7:RW18.3").unwrap();
    let e = tb.probe(&p).unwrap_err();
    assert!(matches!(e, Error::RunNotCovered { .. }), "{e}");
    assert!(tb.moves(&p).is_err() && tb.line(&p).is_err());
    assert!(tb.probe(&p.without_runs()).is_ok());
    assert!(tb.moves(&p.without_runs()).is_ok());
}
