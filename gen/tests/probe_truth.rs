//! From the solver through files to the look-up: every position against the solver's arrays, and
//! the samples of the truth files.

mod common;

use common::files::tables;
use common::{data, value};
use dambase_gen::Store;
use dambase_probe::{LineEnd, Side, Tablebase, Value, Wld};
use dambase_rules::position::Run;
use dambase_rules::{Position, Variant};
use dambase_tables::Index;
use serde_json::Value as Json;

/// Every `step`th position of every material, for both sides to move, mirrored materials too.
fn each_position(variant: Variant, store: &Store, step: usize, mut f: impl FnMut(&Position)) {
    let g = variant.rules().geometry;
    for material in store.materials() {
        for m in [material, material.mirrored()] {
            let index = Index::<u128>::new(g, m).unwrap();
            for i in (0..index.positions()).step_by(step) {
                for side in Side::BOTH {
                    // Some placements of extra rulesets are none.
                    let board = index.board(i);
                    if let Ok(p) = Position::new(variant, board, side, [Run::NONE; 2]) {
                        f(&p);
                    }
                }
            }
        }
    }
}

/// All ways to ask for a position, against the solver's value.
fn compare(variant: Variant, store: &Store, tb: &Tablebase, step: usize) {
    let mut all = Vec::new();
    each_position(variant, store, step, |p| {
        let wanted = value(variant, store, p.board(), p.side());
        assert_eq!(tb.probe(p).unwrap(), wanted, "{variant} {}", p.fen());
        assert_eq!(
            tb.probe_wld(p).unwrap(),
            wanted.wld(),
            "{variant} {}",
            p.fen()
        );
        all.push((*p, wanted));
    });
    let positions: Vec<_> = all.iter().map(|a| a.0).collect();
    for (answer, (p, wanted)) in tb.probe_many(&positions).into_iter().zip(&all) {
        assert_eq!(answer.unwrap(), wanted.wld(), "{variant} {}", p.fen());
    }
    for (p, wanted) in all.iter().step_by(17) {
        let best = tb.best_move(p).unwrap();
        let kept = best.map(|b| (b.after.wld, b.after.dtw.map(|d| d.0 + 1)));
        let dtw = wanted.dtw().map(|d| d.0);
        assert_eq!(
            kept.unwrap_or((wanted.wld(), Some(0))),
            (wanted.wld(), dtw),
            "{}",
            p.fen()
        );
    }
}

/// The samples of the truth file, values and number of moves.
fn samples(variant: Variant, tb: &Tablebase, pieces: u32) {
    let mut seen = 0;
    for line in data(&format!("{variant}.samples.jsonl")).lines() {
        let sample: Json = serde_json::from_str(line).unwrap();
        let fen = sample["fen"].as_str().unwrap();
        let p = tb.position(fen).unwrap();
        if p.board().occupied().count_ones() > pieces {
            continue;
        }
        let outcome = tb.outcome(&p).unwrap();
        let wld = match outcome.wld {
            Wld::Win => "W",
            Wld::Loss => "L",
            Wld::Draw => "D",
        };
        assert_eq!(sample["wld"].as_str(), Some(wld), "{variant} {fen}");
        let dtw = outcome.dtw.map(|d| u64::from(d.0));
        assert_eq!(sample["dtw"].as_u64(), dtw, "{variant} {fen}");
        let moves = tb.moves(&p).unwrap().len() as u64;
        assert_eq!(sample["nmoves"].as_u64(), Some(moves), "{variant} {fen}");
        seen += 1;
    }
    assert!(seen > 50, "{variant}: {seen} samples compared");
}

/// The longest win and the longest loss, played out against best defence.
fn longest(variant: Variant, store: &Store, tb: &Tablebase) {
    let mut most = [None; 2];
    each_position(variant, store, 1, |p| {
        let (place, plies) = match value(variant, store, p.board(), p.side()) {
            Value::Win(d) => (0, d),
            Value::Loss(d) => (1, d),
            Value::Draw => return,
        };
        if most[place].is_none_or(|(longest, _)| plies > longest) {
            most[place] = Some((plies, *p));
        }
    });
    for (winner_moves, most) in [(true, most[0]), (false, most[1])] {
        let (plies, p) = most.unwrap();
        let line = tb.line(&p).unwrap();
        assert_eq!(
            line.steps.len(),
            usize::from(plies.0),
            "{variant} {}",
            p.fen()
        );
        let winner = if winner_moves {
            p.side()
        } else {
            p.side().other()
        };
        assert_eq!(
            line.end,
            LineEnd::GameOver { winner },
            "{variant} {}",
            p.fen()
        );
        for pair in line.steps.windows(2) {
            assert!(pair[0].position.legal_moves().contains(&pair[0].rated.mv));
            let next = pair[0].position.after(&pair[0].rated.mv).without_runs();
            assert_eq!(next, pair[1].position);
        }
    }
}

#[test]
fn two_pieces_of_every_ruleset() {
    for &variant in Variant::ALL {
        if variant == Variant::Breakthrough {
            // Its kings end the game, so most of its materials have no tables.
            continue;
        }
        let (store, _dir, tb) = tables(variant, 2);
        compare(variant, &store, &tb, 3);
        if variant.is_code() {
            samples(variant, &tb, 2);
        }
        longest(variant, &store, &tb);
    }
}

#[test]
fn three_pieces_of_some_codes() {
    for variant in [Variant::English, Variant::Russian, Variant::Poddavki] {
        let (store, _dir, tb) = tables(variant, 3);
        compare(variant, &store, &tb, 7);
        samples(variant, &tb, 3);
        longest(variant, &store, &tb);
    }
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test probe_truth -- --ignored"]
fn three_pieces_of_every_code() {
    for &variant in Variant::ALL.iter().filter(|v| v.is_code()) {
        let (store, _dir, tb) = tables(variant, 3);
        compare(variant, &store, &tb, 1);
        samples(variant, &tb, 3);
        longest(variant, &store, &tb);
    }
}
