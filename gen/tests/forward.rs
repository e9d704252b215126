//! Compares the solver, position by position, with a value iteration that shares nothing with it:
//! a hash map of positions, the rules' own list of legal moves, and sweeps ply by ply. The named
//! extra rulesets, for which no truth files exist, are checked here.

mod common;

use std::collections::HashMap;

use common::{build, value};
use dambase_rules::{Board, Position, Run, Side, Variant};
use dambase_tables::{Dtw, Value};

type Key = (Board<u128>, Side);

/// All positions with up to `pieces` pieces and at least one a side.
fn positions(variant: Variant, pieces: u32) -> Vec<Position> {
    let squares = variant.rules().geometry.squares() as u8;
    let mut boards = vec![Board::<u128>::EMPTY];
    for s in 0..squares {
        let bit = 1_u128 << s;
        let mut more = Vec::new();
        for b in boards.iter().filter(|b| b.occupied().count_ones() < pieces) {
            for side in 0..2 {
                let (mut man, mut king) = (*b, *b);
                man.men[side] |= bit;
                king.kings[side] |= bit;
                more.extend([man, king]);
            }
        }
        boards.extend(more);
    }
    let runs = [Run::NONE; 2];
    let both = |b| Side::BOTH.map(|s| Position::new(variant, b, s, runs));
    let all = boards.into_iter().flat_map(both).flatten();
    all.filter(|p| p.board().pieces(p.side()) != 0).collect()
}

/// The opponent has no piece left: what that means for the opponent, who is to move.
const BARE_LOSES: u32 = u32::MAX;
const BARE_WINS: u32 = u32::MAX - 1;

/// Values by sweeps: in sweep `n` everything decided in `n` plies is found.
fn forward(variant: Variant, pieces: u32) -> HashMap<Key, Value> {
    let all = positions(variant, pieces);
    let key = |p: &Position| (*p.board(), p.side());
    let ids: HashMap<Key, u32> = (0..).zip(&all).map(|(i, p)| (key(p), i)).collect();
    let mut known = vec![None; all.len()];
    let mut open = Vec::new();
    for (i, p) in all.iter().enumerate() {
        match p.winner() {
            Some(w) if w == p.side() => known[i] = Some(Value::Win(Dtw(0))),
            Some(_) => known[i] = Some(Value::Loss(Dtw(0))),
            None => {
                let moves = p.legal_moves();
                let next: Vec<u32> = moves
                    .iter()
                    .map(|m| {
                        let after = p.after(m).without_runs();
                        match (ids.get(&key(&after)), after.winner()) {
                            (Some(&id), _) => id,
                            (None, Some(w)) if w == after.side() => BARE_WINS,
                            (None, winner) => {
                                assert!(winner.is_some(), "{}", after.fen());
                                BARE_LOSES
                            }
                        }
                    })
                    .collect();
                open.push((i, next));
            }
        }
    }
    for ply in 1.. {
        let mut found = Vec::new();
        open.retain(|(i, next)| {
            let mut all_lose = true;
            for &id in next {
                let value = match id {
                    BARE_LOSES => Some(Value::Loss(Dtw(0))),
                    BARE_WINS => Some(Value::Win(Dtw(0))),
                    id => known[id as usize],
                };
                match value {
                    Some(Value::Loss(_)) => {
                        found.push((*i, Value::Win(Dtw(ply))));
                        return false;
                    }
                    Some(Value::Win(_)) => {}
                    _ => all_lose = false,
                }
            }
            if all_lose {
                found.push((*i, Value::Loss(Dtw(ply))));
            }
            !all_lose
        });
        if found.is_empty() {
            break;
        }
        for (i, value) in found {
            known[i] = Some(value);
        }
    }
    let value = |i: u32| known[i as usize].unwrap_or(Value::Draw);
    ids.into_iter().map(|(k, i)| (k, value(i))).collect()
}

fn compare(variant: Variant, pieces: u8) {
    let store = build(variant, pieces, true);
    let slow = forward(variant, pieces.into());
    assert!(slow.len() > 1000);
    for ((board, side), wanted) in slow {
        let ours = value(variant, &store, &board, side);
        assert_eq!(ours, wanted, "{variant} {board:?} {side:?}");
    }
}

#[test]
fn two_pieces_of_every_ruleset() {
    for &variant in Variant::ALL {
        compare(variant, 2);
    }
}

#[test]
fn three_pieces_of_small_boards() {
    for variant in [
        Variant::GermanMustContinue,
        Variant::SpanishFederation,
        Variant::Breakthrough,
    ] {
        compare(variant, 3);
    }
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test forward -- --ignored"]
fn three_pieces_of_every_ruleset() {
    for &variant in Variant::ALL {
        compare(variant, 3);
    }
}
