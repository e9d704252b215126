//! One king space with two clocks: the long diagonal's and that of the material beneath.
//!
//! A position in which the diagonal's clock runs is split by the plies `d` left on it, 0 to full;
//! every other position is one state. The iteration depth is the clock beneath, so each state gets
//! its exact need `u` of that clock, and all pairs `(d, u)` are known. What is kept is the least
//! `d` that does with `u` full, and the least `u` that does with `d` full.

use std::ops::Range;

use dambase_rules::limits::Link;
use dambase_rules::{Board, Ruleset, Side};
use dambase_tables::{Dtz, RuleValue, Wld};

use super::unit::{Hope, Layers, State, Unit};
use super::{Done, Exit, Moves, Plan, for_each_before};

/// No need: not decided.
const UNDECIDED: u8 = u8::MAX;

/// The states of a king space, for one side to move.
pub(super) struct Space {
    /// The first state of each king rank, and the number of states.
    first: Vec<u32>,
    /// Plies of the full clock.
    full: usize,
}

impl Space {
    /// Without a diagonal every position is one state.
    pub(super) fn new<R: Ruleset>(plan: &Plan<'_, R>, men_rank: u64) -> Self {
        let index = &plan.index;
        let ranks = index.king_space() as usize;
        let men = index.men(men_rank);
        let mut first = vec![0; ranks + 1];
        for rank in 0..ranks {
            let states = match plan.diagonal {
                Some((diagonal, full)) => {
                    let kings = index.kings(men[0] | men[1], rank as u64);
                    let on = diagonal.holds(&Board { men, kings });
                    if on { u32::from(full) + 1 } else { 1 }
                }
                None => 1,
            };
            first[rank + 1] = first[rank] + states;
        }
        let full = plan.diagonal.map_or(0, |(_, full)| full.into());
        Self { first, full }
    }
    /// Number of states.
    pub(super) fn states(&self) -> usize {
        self.first[self.first.len() - 1] as usize
    }
    /// The states of a position: one, or one for each number of plies left.
    pub(super) fn of(&self, rank: usize) -> Range<usize> {
        self.first[rank] as usize..self.first[rank + 1] as usize
    }
    pub(super) fn on_diagonal(&self, rank: usize) -> bool {
        self.of(rank).len() > 1
    }
    /// The states of the position `before` from which a king move leads to the position `after` with
    /// `d` plies left there.
    pub(super) fn before(&self, before: usize, after: usize, d: usize) -> Range<usize> {
        let all = self.of(before);
        match (self.on_diagonal(before), self.on_diagonal(after)) {
            // The clock ran: it had one more.
            (true, true) => all.start + d + 1..(all.start + d + 2).min(all.end),
            // It ran and is dropped: any number but 0 allows the move.
            (true, false) => all.start + 1..all.end,
            // It begins, full.
            (false, true) if d != self.full => all.start..all.start,
            (false, _) => all,
        }
    }
    /// The state of the position `after` to which a king move leads from `before` with `d` plies left.
    pub(super) fn after(&self, before: usize, d: usize, after: usize) -> usize {
        let all = self.of(after);
        match (self.on_diagonal(before), self.on_diagonal(after)) {
            (true, true) => all.start + d - 1,
            (false, true) => all.end - 1,
            (_, false) => all.start,
        }
    }
}

pub(super) fn solve<R: Ruleset>(plan: &Plan<'_, R>, done: &Done, men_rank: u64) -> Unit {
    let index = &plan.index;
    let ranks = index.king_space() as usize;
    let men = index.men(men_rank);
    let taken = men[0] | men[1];
    let space = Space::new(plan, men_rank);
    let board = |rank: usize| Board {
        men,
        kings: index.kings(taken, rank as u64),
    };
    let n = space.states();
    let mut states = [vec![State::default(); n], vec![State::default(); n]];
    let mut needs = [vec![UNDECIDED; n], vec![UNDECIDED; n]];
    let mut wlds: [Vec<Wld>; 2] = [Vec::new(), Vec::new()];
    let mut layers = Layers::new(plan.budget);
    let mut moves = Moves::new();
    let mut exits: Vec<Exit> = Vec::new();
    for rank in 0..ranks {
        let b = board(rank);
        for side in Side::BOTH {
            let s = side as usize;
            let wld = plan.wld(side, men_rank, rank as u64, &b);
            wlds[s].push(wld);
            if wld == Wld::Draw {
                continue;
            }
            let king_moves = moves.generate::<R>(&b, side) as u16;
            let capture = moves.list.is_capture();
            exits.clear();
            exits.extend(moves.exits(men[s]).map(|m| plan.exit(done, &b, side, m)));
            let on = space.on_diagonal(rank);
            for (d, state) in space.of(rank).enumerate() {
                if on && d == 0 && !moves.list.is_empty() {
                    // Run out.
                    continue;
                }
                // The need beneath of a move that leaves the king space, if it keeps what it
                // should with `d` plies left before it. A diagonal's clock that runs on has one
                // less; one that begins after the move is full, and so is the clock beneath.
                let need = |exit: &Exit, need: u16| {
                    debug_assert_ne!(exit.link, Link::RunsOn);
                    let runs_on = on && exit.on_diagonal;
                    (!runs_on || usize::from(need) < d).then(|| exit.link.need(need))
                };
                if wld == Wld::Win {
                    let best = exits.iter().filter_map(|e| match e.value {
                        RuleValue::Loss(Dtz(n)) => need(e, n),
                        _ => None,
                    });
                    let best = best.min();
                    if let Some(best) = best {
                        layers.push(best, (side, rank as u32, state as u32));
                    }
                    states[s][state].hope = match (best, capture) {
                        (_, false) => Hope::Win,
                        (Some(_), true) => Hope::Won,
                        (None, true) => Hope::Closed,
                    };
                } else {
                    let worst = exits.iter().try_fold(0, |worst: u16, e| match e.value {
                        RuleValue::Win(Dtz(n)) => need(e, n).map(|n| worst.max(n)),
                        _ => None,
                    });
                    let Some(worst) = worst else {
                        continue;
                    };
                    let hope = if king_moves == 0 {
                        layers.push(worst, (side, rank as u32, state as u32));
                        Hope::Lost
                    } else {
                        Hope::Loss
                    };
                    states[s][state] = State {
                        hope,
                        open: king_moves,
                        worst,
                    };
                }
            }
        }
    }
    let king_move = if plan.budget.is_some() {
        Link::RunsOn
    } else {
        Link::NoClock
    };
    for need in 0..layers.len() {
        let mut place = 0;
        while let Some((side, rank, state)) = layers.get(need, place) {
            place += 1;
            let (s, rank, state) = (side as usize, rank as usize, state as usize);
            let won = match std::mem::take(&mut states[s][state].hope) {
                Hope::Closed => continue,
                Hope::Win | Hope::Won => true,
                Hope::Loss | Hope::Lost => false,
            };
            needs[s][state] = need as u8;
            let before = side.other();
            let after = king_move.need(need);
            let d = state - space.of(rank).start;
            let kings = index.kings(taken, rank as u64);
            for_each_before::<R>(index, taken, kings, before, |r| {
                for from in space.before(r as usize, rank, d) {
                    let state = &mut states[before as usize][from];
                    let at = (before, r as u32, from as u32);
                    match state.hope {
                        Hope::Win if !won => layers.push(after, at),
                        Hope::Loss if won => {
                            state.open -= 1;
                            state.worst = state.worst.max(after);
                            if state.open == 0 {
                                state.hope = Hope::Lost;
                                layers.push(state.worst, at);
                            }
                        }
                        _ => {}
                    }
                }
            });
        }
    }
    let kept = |s: usize, diagonal: bool| -> Vec<u8> {
        let value = |rank: usize| {
            let wld = wlds[s][rank];
            let states = &needs[s][space.of(rank)];
            let need = if diagonal && space.on_diagonal(rank) {
                states.iter().position(|&u| u != UNDECIDED)
            } else {
                let full = states[states.len() - 1];
                (full != UNDECIDED).then_some(full.into())
            };
            match (wld, need) {
                (Wld::Win, Some(n)) => RuleValue::Win(Dtz(n as u16)),
                (Wld::Loss, Some(n)) => RuleValue::Loss(Dtz(n as u16)),
                _ => RuleValue::undecided(wld),
            }
        };
        (0..ranks).map(|rank| value(rank).code()).collect()
    };
    Unit {
        dtz: [kept(0, true), kept(1, true)],
        beneath: Some([kept(0, false), kept(1, false)]),
        extra: None,
    }
}
