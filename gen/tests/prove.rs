//! The prover finds what is wrong: single values, and wins that go round in circles.

use dambase_gen::scalar;
use dambase_gen::verify::{prove_in, resolve};
use dambase_gen::{Control, Solved, Store};
use dambase_rules::marker::English;
use dambase_rules::{Position, Run, Side, Variant};
use dambase_tables::{Dtw, Index, Material, Value, Wld, canonical};

fn material(name: &str) -> Material {
    name.parse().unwrap()
}

/// English K v K and KK v K, solved.
fn store(distances: bool) -> Store {
    let mut store = Store::new();
    for name in ["KvK", "KKvK"] {
        let control = Control::new();
        let m = material(name);
        let solved =
            scalar::solve_variant(Variant::English, m, &store, distances, &control).unwrap();
        store.insert(solved);
    }
    store
}

fn wrong(store: &Store, distances: bool) -> Vec<(u64, Vec<String>)> {
    let control = Control::new();
    let variant = Variant::English;
    prove_in(store, variant, material("KKvK"), distances, &control)
        .unwrap()
        .into_iter()
        .map(|s| (s.wrong, s.faults.into_iter().map(|f| f.what).collect()))
        .collect()
}

#[test]
fn right_values_are_found_right() {
    for distances in [false, true] {
        assert!(wrong(&store(distances), distances).iter().all(|w| w.0 == 0));
    }
}

#[test]
fn every_kind_of_wrong_value_is_found() {
    let good = store(true);
    let m = material("KKvK");
    for (slot, index) in [(0, 1234), (1, 4321), (0, 14_879), (1, 0)] {
        let mut bad: Solved = good.get(m).unwrap().clone();
        let right = bad.dtw.as_ref().unwrap()[slot].get(index);
        let values = [
            Value::Draw,
            Value::Win(Dtw(1)),
            Value::Win(Dtw(3)),
            Value::Loss(Dtw(2)),
        ];
        for value in values.into_iter().filter(|&v| v != right) {
            bad.dtw.as_mut().unwrap()[slot].codes[index as usize] = value.code();
            bad.wld[slot].set(index, value.wld());
            let mut store = store(true);
            store.insert(bad.clone());
            let found = wrong(&store, true);
            assert!(
                found.iter().map(|w| w.0).sum::<u64>() > 0,
                "{slot} {index} {value:?}"
            );
        }
    }
}

#[test]
fn resolved_captures_are_those_of_the_solver() {
    let good = store(true);
    let m = material("KKvK");
    let mut solved = good.get(m).unwrap().clone();
    // What tables hold for captures means nothing.
    let index = Index::<u64>::new(Variant::English.rules().geometry, m).unwrap();
    for (slot, &side) in m.sides().iter().enumerate() {
        for i in 0..index.positions() {
            let board = index.board(i);
            if dambase_rules::movegen::has_capture::<English>(&board, side) {
                solved.wld[slot].set(i, Wld::Loss);
                solved.dtw.as_mut().unwrap()[slot].codes[i as usize] = 77;
            }
        }
    }
    assert!(&solved != good.get(m).unwrap());
    let mut below = store(true);
    below.remove(m);
    resolve(Variant::English, &mut solved, &below, &Control::new()).unwrap();
    assert!(&solved == good.get(m).unwrap());
}

/// Draws in which White can go round for ever are given as wins and losses, each of which has a
/// successor as it should: only that they never end gives them away.
#[test]
fn wins_that_go_round_in_circles_are_found() {
    let mut store = store(false);
    let m = material("KKvK");
    let g = Variant::English.rules().geometry;
    let index = Index::<u128>::new(g, m).unwrap();
    let solved = store.get(m).unwrap().clone();
    let position =
        |i, side| Position::new(Variant::English, index.board(i), side, [Run::NONE; 2]).unwrap();
    // The largest set of drawn quiet positions that can be given as decided together.
    let mut fake: Vec<Vec<bool>> = (0..2)
        .map(|slot| {
            let side = Side::BOTH[slot];
            (0..index.positions())
                .map(|i| {
                    let moves = position(i, side).legal_moves();
                    solved.wld[slot].get(i) == Wld::Draw && !moves.iter().any(|m| m.is_capture())
                })
                .collect()
        })
        .collect();
    loop {
        let mut changed = false;
        for slot in 0..2 {
            for i in 0..index.positions() {
                if !fake[slot][i as usize] {
                    continue;
                }
                let p = position(i, Side::BOTH[slot]);
                let good = |m: &dambase_rules::Move<u128>| {
                    let after = p.after(m);
                    let c = canonical(g, after.board(), after.side());
                    let j = index.index(&c.board);
                    let other = 1 - slot;
                    fake[other][j as usize] || (slot == 1 && solved.wld[other].get(j) == Wld::Win)
                };
                let moves = p.legal_moves();
                let keep = if slot == 0 {
                    moves.iter().any(good)
                } else {
                    moves.iter().all(good)
                };
                if !keep {
                    fake[slot][i as usize] = false;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut bad = solved.clone();
    let mut count = [0_u64; 2];
    for slot in 0..2 {
        for i in 0..index.positions() {
            if fake[slot][i as usize] {
                count[slot] += 1;
                bad.wld[slot].set(i, [Wld::Win, Wld::Loss][slot]);
            }
        }
    }
    assert!(count[0] > 0 && count[1] > 0, "{count:?}");
    store.insert(bad);
    let found = wrong(&store, false);
    assert_eq!([found[0].0, found[1].0], count);
    assert!(found[0].1[0].contains("no line of play"), "{found:?}");
}
