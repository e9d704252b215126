//! The solver with the Frisian king run against the independent solver's figures, and against a
//! slow value iteration over checked positions.

use std::collections::HashMap;

use dambase_gen::{Control, Error, Solved, Store, kingrun, scalar};
use dambase_rules::movegen::has_capture;
use dambase_rules::ruleset::KingRun;
use dambase_rules::{Position, Ruleset, Run, Side, Variant, marker};
use dambase_tables::{Dtw, Material, RunIndex, Value, Wld, canonical_with_runs};
use serde_json::Value as Json;

const TRUTH: &str = include_str!("data/frisian-kingrun.json");
const SAMPLES: &str = include_str!("data/frisian-kingrun.samples.jsonl");

fn solve(variant: Variant, material: Material, store: &Store, dtw: bool) -> Solved {
    kingrun::solve(variant, material, store, dtw, &Control::new()).unwrap()
}

fn build(variant: Variant, pieces: u8, dtw: bool) -> Store {
    let mut store = Store::new();
    for material in (2..=pieces).flat_map(Material::canonical_with) {
        let solved = solve(variant, material, &store, dtw);
        store.insert(solved);
    }
    store
}

fn scope(variant: Variant) -> Option<KingRun> {
    variant.rules().king_run
}

fn value(store: &Store, p: &Position) -> Value {
    let g = p.rules().geometry;
    let (placed, runs) = canonical_with_runs(g, p.board(), p.side(), p.runs());
    let solved = store.get(placed.material).expect("solved");
    let sides = placed.material.sides();
    let slice = sides.iter().position(|&s| s == placed.side).unwrap();
    let index = RunIndex::new(g, scope(p.variant()), placed.material).unwrap();
    let i = index.index(&placed.board, runs);
    let value = solved.dtw.as_ref().expect("distances")[slice].get(i);
    assert_eq!(value.wld(), solved.wld[slice].get(i));
    value
}

/// Counts of one slice as they stand in the truth file.
#[derive(Default, PartialEq, Eq, Debug)]
struct Counts {
    positions: u64,
    wins: u64,
    losses: u64,
    draws: u64,
    captures: u64,
    win_plies: HashMap<u16, u64>,
    loss_plies: HashMap<u16, u64>,
    no_runs: [u64; 4],
}

fn counts(solved: &Solved, slice: usize, side: Side) -> Counts {
    type R = marker::Frisian;
    let index = RunIndex::<u64>::new(
        R::RULES.geometry,
        Some(KingRun::WhileOthersCanMove),
        solved.material,
    )
    .unwrap();
    let states = index.run_states();
    let mut c = Counts::default();
    for row in 0..index.boards().positions() {
        let capture = has_capture::<R>(&index.boards().board(row), side);
        for run in 0..states {
            let value = solved.dtw.as_ref().unwrap()[slice].get(row * states + run);
            c.positions += 1;
            c.captures += u64::from(capture);
            match value {
                Value::Draw => c.draws += 1,
                Value::Win(d) => {
                    c.wins += 1;
                    *c.win_plies.entry(d.0).or_default() += 1;
                }
                Value::Loss(d) => {
                    c.losses += 1;
                    *c.loss_plies.entry(d.0).or_default() += 1;
                }
            }
            if run == 0 {
                c.no_runs[0] += 1;
                c.no_runs[match value.wld() {
                    Wld::Win => 1,
                    Wld::Loss => 2,
                    Wld::Draw => 3,
                }] += 1;
            }
        }
    }
    c
}

fn truth_of(class: &Json) -> Counts {
    let n = |j: &Json| j.as_u64().unwrap();
    let plies = |j: &Json| {
        let all = j.as_object().unwrap().iter();
        all.map(|(plies, count)| (plies.parse().unwrap(), n(count)))
            .collect()
    };
    Counts {
        positions: n(&class["positions"]),
        wins: n(&class["wins"]),
        losses: n(&class["losses"]),
        draws: n(&class["draws"]),
        captures: n(&class["captures"]),
        win_plies: plies(&class["win_plies"]),
        loss_plies: plies(&class["loss_plies"]),
        no_runs: ["positions", "wins", "losses", "draws"].map(|f| n(&class["no_runs"][f])),
    }
}

#[test]
fn counts_and_samples_are_those_of_the_independent_solver() {
    let store = build(Variant::Frisian, 3, true);
    let truth = serde_json::from_str::<Json>(TRUTH).unwrap();
    let classes = truth["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 11);
    for class in classes {
        let material: Material = class["material"].as_str().unwrap().parse().unwrap();
        let solved = store.get(material.canonical()).unwrap();
        for side in Side::BOTH {
            let stored = if material.is_canonical() && !material.is_symmetric() {
                side
            } else if material.is_symmetric() {
                Side::White
            } else {
                side.other()
            };
            let slice = material.canonical().sides().iter();
            let slice = slice.clone().position(|&s| s == stored).unwrap();
            let ours = counts(solved, slice, stored);
            assert_eq!(ours, truth_of(&class[side.name()]), "{material} {side:?}");
        }
    }

    let run = |j: &Json| match j.as_array() {
        None => Run::NONE,
        Some(r) => Run {
            square: r[0].as_u64().unwrap() as u8 - 1,
            count: r[1].as_u64().unwrap() as u8,
        },
    };
    let mut seen = 0;
    for line in SAMPLES.lines() {
        let sample: Json = serde_json::from_str(line).unwrap();
        let fen = sample["fen"].as_str().unwrap();
        let plain = Position::parse(Variant::Frisian, fen).unwrap();
        let runs = [run(&sample["wrun"]), run(&sample["brun"])];
        let p = Position::new(Variant::Frisian, *plain.board(), plain.side(), runs).unwrap();
        let ours = value(&store, &p);
        let wld = match ours.wld() {
            Wld::Win => "W",
            Wld::Loss => "L",
            Wld::Draw => "D",
        };
        assert_eq!(sample["wld"].as_str(), Some(wld), "{line}");
        let plies = ours.dtw().map(|d| u64::from(d.0));
        assert_eq!(sample["dtw"].as_u64(), plies, "{line}");
        let moves = p.legal_moves().len() as u64;
        assert_eq!(sample["nmoves"].as_u64(), Some(moves), "{line}");
        seen += 1;
    }
    assert_eq!(seen, 1008);
}

/// Every position of a material with both sides to move, whatever can be a run.
fn all_positions(variant: Variant, material: Material) -> Vec<Position> {
    let g = variant.rules().geometry;
    let index = RunIndex::<u128>::new(g, scope(variant), material).unwrap();
    (0..index.positions())
        .flat_map(|i| {
            let (board, runs) = index.position(i);
            Side::BOTH.map(|side| Position::new(variant, board, side, runs).unwrap())
        })
        .collect()
}

/// Compares a material with value iteration over checked positions: ply by ply, every position is
/// won if a move leads to a lost one, and lost if all moves lead to won ones. Positions of other
/// material are taken from `store`, where they have been compared before.
fn iterate(variant: Variant, material: Material, store: &Store) {
    enum Next {
        Inside(u32),
        Outside(Value),
    }
    let all = all_positions(variant, material);
    let number: HashMap<Position, u32> = all.iter().copied().zip(0..).collect();
    assert_eq!(number.len(), all.len());
    let mirrored = material.mirrored();
    let next: Vec<Vec<Next>> = all
        .iter()
        .map(|p| {
            let moves = p.legal_moves();
            let after = moves.iter().map(|m| p.after(m));
            after
                .map(|a| {
                    if let Some(&n) = number.get(&a) {
                        Next::Inside(n)
                    } else if a.board().pieces(a.side()) == 0 {
                        Next::Outside(Value::Loss(Dtw(0)))
                    } else {
                        let m = Material::of(a.board());
                        assert!(m != material && m != mirrored);
                        Next::Outside(value(store, &a))
                    }
                })
                .collect()
        })
        .collect();
    let mut values = vec![None; all.len()];
    for plies in 0.. {
        let known = |n: &Next| match *n {
            Next::Inside(n) => values[n as usize],
            Next::Outside(v) => Some(v),
        };
        let mut found = Vec::new();
        for (i, next) in next.iter().enumerate() {
            if values[i].is_some() {
                continue;
            }
            let lost_before = |v: Option<Value>| matches!(v, Some(Value::Loss(d)) if d.0 < plies);
            let won_before = |v: Option<Value>| matches!(v, Some(Value::Win(d)) if d.0 < plies);
            if next.iter().any(|n| lost_before(known(n))) {
                found.push((i, Value::Win(Dtw(plies))));
            } else if next.iter().all(|n| won_before(known(n))) {
                found.push((i, Value::Loss(Dtw(plies))));
            }
        }
        // Far exits are all nearer than this.
        if found.is_empty() && plies > 100 {
            break;
        }
        for (i, v) in found {
            values[i] = Some(v);
        }
    }
    for (p, v) in all.iter().zip(values) {
        assert_eq!(value(store, p), v.unwrap_or(Value::Draw), "{}", p.fen());
    }
}

fn iterate_all(variant: Variant, materials: &[&str]) {
    let store = build(variant, 3, true);
    for name in materials {
        iterate(variant, name.parse().unwrap(), &store);
    }
}

#[test]
fn federation_scope_agrees_with_value_iteration() {
    let materials = ["KvK", "KvM", "MvM", "KMvM"];
    iterate_all(Variant::FrisianFederation, &materials);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test kingrun -- --ignored"]
fn every_three_pieces_agree_with_value_iteration() {
    let materials = ["KKvK", "KKvM", "KMvK", "KMvM", "MMvK", "MMvM"];
    iterate_all(Variant::FrisianFederation, &materials);
    iterate_all(Variant::Frisian, &["KvK", "KvM", "KMvM"]);
}

#[test]
fn values_without_distances_are_the_same() {
    for variant in [Variant::Frisian, Variant::FrisianFederation] {
        let with = build(variant, 3, true);
        let without = build(variant, 3, false);
        for m in with.materials() {
            assert!(without.get(m).unwrap().dtw.is_none());
            assert_eq!(with.get(m).unwrap().wld, without.get(m).unwrap().wld, "{m}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let store = build(Variant::Frisian, 3, true);
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build();
    for name in ["KKvK", "KMvM"] {
        let m: Material = name.parse().unwrap();
        let one = pool(1)
            .unwrap()
            .install(|| solve(Variant::Frisian, m, &store, true));
        let three = pool(3)
            .unwrap()
            .install(|| solve(Variant::Frisian, m, &store, true));
        assert_eq!(one, three);
    }
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let ctl = Control::new();
    let m = |name: &str| name.parse::<Material>().unwrap();
    let empty = Store::new();
    let refused =
        |m, store: &Store| kingrun::solve(Variant::Frisian, m, store, true, &ctl).unwrap_err();
    assert!(matches!(refused(m("MvK"), &empty), Error::NotCanonical(_)));
    let missing = refused(m("KvM"), &empty);
    assert!(matches!(missing, Error::MissingTable { needed, .. } if needed == m("KvK")));
    let english = kingrun::solve(Variant::English, m("KvK"), &empty, true, &ctl);
    assert!(matches!(english, Err(Error::NoKingRun(_))));
    let mut plain = Store::new();
    let solved = scalar::solve::<marker::Frisian>(m("KvK"), &plain, true, &ctl).unwrap();
    plain.insert(solved);
    assert!(matches!(refused(m("KvM"), &plain), Error::NoRuns(_)));
    ctl.stop();
    assert!(matches!(refused(m("KvK"), &empty), Error::Interrupted));
}
