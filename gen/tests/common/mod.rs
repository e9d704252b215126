//! Builds in memory and reads of the truth files.
#![allow(dead_code)]

pub(crate) mod files;

use std::collections::BTreeSet;
use std::path::PathBuf;

use dambase_gen::scalar::{fill_captures_variant, solve_variant};
use dambase_gen::stats::{Longest, SliceStats, statistics_variant};
use dambase_gen::{Control, Error, Solved, Store};
use dambase_rules::ruleset::Goal;
use dambase_rules::{Board, Position, Side, Variant};
use dambase_tables::{Index, Material, Value, Wld, canonical};
use serde_json::Value as Json;

pub(crate) fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read_to_string(path.join(name)).expect(name)
}

pub(crate) fn json(name: &str) -> Json {
    serde_json::from_str(&data(name)).expect(name)
}

pub(crate) fn build(variant: Variant, pieces: u8, dtw: bool) -> Store {
    let mut store = Store::new();
    for n in 2..=pieces {
        for material in Material::canonical_with(n) {
            let solved = solve_variant(variant, material, &store, dtw, &Control::new());
            store.insert(solved.unwrap());
        }
    }
    store
}

/// The materials with everything that captures and crownings lead to.
pub(crate) fn closure(variant: Variant, materials: &[Material], dtw: bool) -> Store {
    closure_by(solve_variant, variant, materials, dtw)
}

/// One of the solvers.
pub(crate) type Solver = fn(Variant, Material, &Store, bool, &Control) -> Result<Solved, Error>;

/// [`closure`] with a solver of choice.
pub(crate) fn closure_by(
    solve: Solver,
    variant: Variant,
    materials: &[Material],
    dtw: bool,
) -> Store {
    let mut all = BTreeSet::new();
    let mut open: Vec<_> = materials.iter().map(Material::canonical).collect();
    while let Some(m) = open.pop() {
        if m.side(Side::White) == 0 || m.side(Side::Black) == 0 || !all.insert(m) {
            continue;
        }
        for s in 0..2 {
            let (mut crowned, mut man, mut king) = (m, m, m);
            if m.men[s] > 0 {
                crowned.men[s] -= 1;
                crowned.kings[s] += 1;
                man.men[s] -= 1;
                open.push(man.canonical());
                // Where the first crowning wins, materials with kings need no tables.
                if variant.rules().goal != Goal::FirstCrown {
                    open.push(crowned.canonical());
                }
            }
            if m.kings[s] > 0 {
                king.kings[s] -= 1;
                open.push(king.canonical());
            }
        }
    }
    let mut store = Store::new();
    for material in all {
        let solved = solve(variant, material, &store, dtw, &Control::new());
        store.insert(solved.unwrap());
    }
    store
}

pub(crate) fn counts(variant: Variant, solved: &Solved) -> Vec<SliceStats> {
    statistics_variant(variant, solved).unwrap()
}

pub(crate) fn fill(variant: Variant, solved: &mut Solved, store: &Store) {
    fill_captures_variant(variant, solved, store).unwrap();
}

/// The value of any position in the store.
pub(crate) fn value(variant: Variant, store: &Store, board: &Board<u128>, side: Side) -> Value {
    let g = variant.rules().geometry;
    let placed = canonical(g, board, side);
    let solved = store.get(placed.material).expect("solved");
    let sides = placed.material.sides();
    let slice = sides.iter().position(|&s| s == placed.side).unwrap();
    let i = Index::new(g, placed.material).unwrap().index(&placed.board);
    let value = solved.dtw.as_ref().expect("distances")[slice].get(i);
    assert_eq!(value.wld(), solved.wld[slice].get(i));
    value
}

pub(crate) fn value_of_fen(variant: Variant, store: &Store, fen: &str) -> Value {
    let p = Position::parse(variant, fen).expect(fen);
    value(variant, store, p.board(), p.side())
}

fn check_histogram(what: &str, ours: &[u64], truth: &Json) {
    let mut n = 0;
    for (plies, count) in truth.as_object().unwrap() {
        let plies: usize = plies.parse().unwrap();
        let count = count.as_u64().unwrap();
        assert_eq!(ours.get(plies), Some(&count), "{what} in {plies}");
        n += count;
    }
    assert_eq!(ours.iter().sum::<u64>(), n, "{what}");
}

fn check_longest(
    variant: Variant,
    store: &Store,
    what: &str,
    ours: Option<Longest>,
    truth: &Json,
    win: bool,
) {
    let Some(fen) = truth["fen"].as_str() else {
        assert!(truth.is_null() && ours.is_none(), "{what}");
        return;
    };
    let plies = truth["plies"].as_u64().unwrap();
    assert_eq!(ours.map(|l| u64::from(l.plies.0)), Some(plies), "{what}");
    let value = value_of_fen(variant, store, fen);
    assert_eq!(value.dtw(), ours.map(|l| l.plies), "{what} {fen}");
    assert_eq!(value.wld(), if win { Wld::Win } else { Wld::Loss });
}

/// Compares the counts of every material in the truth file of the code.
pub(crate) fn check_classes(variant: Variant, store: &Store, pieces: u8) {
    let truth = json(&format!("{variant}.json"));
    let mut seen = 0;
    for class in truth["classes"].as_array().unwrap() {
        let material: Material = class["material"].as_str().unwrap().parse().unwrap();
        if material.pieces() > pieces {
            continue;
        }
        let stats = counts(variant, store.get(material.canonical()).unwrap());
        for side in Side::BOTH {
            let truth = &class[side.name()];
            let what = format!("{variant} {material} {side:?}");
            // A mirrored material is its image with the colours swapped.
            let stored = if material.is_symmetric() {
                Side::White
            } else if material.is_canonical() {
                side
            } else {
                side.other()
            };
            let ours = stats.iter().find(|s| s.side == stored).unwrap();
            for (name, n) in [
                ("positions", ours.positions),
                ("wins", ours.wins),
                ("losses", ours.losses),
                ("draws", ours.draws),
                ("captures", ours.captures),
            ] {
                assert_eq!(truth[name].as_u64(), Some(n), "{what}: {name}");
            }
            check_histogram(
                &format!("{what}: won"),
                &ours.win_plies,
                &truth["win_plies"],
            );
            check_histogram(
                &format!("{what}: lost"),
                &ours.loss_plies,
                &truth["loss_plies"],
            );
            let (win, loss) = (ours.longest_win, ours.longest_loss);
            check_longest(variant, store, &what, win, &truth["longest_win"], true);
            check_longest(variant, store, &what, loss, &truth["longest_loss"], false);
            seen += 1;
        }
    }
    assert!(seen >= 8, "{variant}: {seen} slices compared");
}

/// Compares every sample of the truth file of the code.
pub(crate) fn check_samples(variant: Variant, store: &Store, pieces: u8) {
    let mut seen = 0;
    for line in data(&format!("{variant}.samples.jsonl")).lines() {
        let sample: Json = serde_json::from_str(line).unwrap();
        let fen = sample["fen"].as_str().unwrap();
        let p = Position::parse(variant, fen).expect(fen);
        if p.board().occupied().count_ones() > u32::from(pieces) {
            continue;
        }
        let value = value(variant, store, p.board(), p.side());
        let wld = match value.wld() {
            Wld::Win => "W",
            Wld::Loss => "L",
            Wld::Draw => "D",
        };
        assert_eq!(sample["wld"].as_str(), Some(wld), "{variant} {fen}");
        let plies = value.dtw().map(|d| u64::from(d.0));
        assert_eq!(sample["dtw"].as_u64(), plies, "{variant} {fen}");
        let moves = p.legal_moves().len() as u64;
        assert_eq!(sample["nmoves"].as_u64(), Some(moves), "{variant} {fen}");
        seen += 1;
    }
    assert!(seen > 50, "{variant}: {seen} samples compared");
}
