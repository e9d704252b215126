//! One king space with one clock.

use dambase_rules::limits::Link;
use dambase_rules::{Board, Ruleset, Side};
use dambase_tables::{Dtz, RuleValue, Wld};

use super::beside::Extra;
use super::{Done, Moves, Plan, for_each_before};

/// The values of a king space, both sides to move.
pub(super) struct Unit {
    pub(super) dtz: [Vec<u8>; 2],
    /// As in [`super::Ruled`].
    pub(super) beneath: Option<[Vec<u8>; 2]>,
    /// Where pairs of clocks count.
    pub(super) extra: Option<Extra>,
}

/// What is known of a position while its king space is solved.
#[derive(Clone, Copy, Default)]
pub(super) struct State {
    pub(super) hope: Hope,
    /// King moves that are not known to lose.
    pub(super) open: u16,
    /// The largest need of the moves known to lose, each with the ply of the move.
    pub(super) worst: u16,
}

/// What a position can still become.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Hope {
    /// Nothing: its value stands.
    #[default]
    Closed,
    /// Won with some need.
    Win,
    /// Lost with some need.
    Loss,
    /// Won, with a need that no king move changes; it waits for its layer.
    Won,
    /// Lost, with a need that no king move changes; it waits for its layer.
    Lost,
}

/// Positions by need, to be settled in that order.
pub(super) struct Layers<T> {
    layers: Vec<Vec<T>>,
}

impl<T: Copy> Layers<T> {
    /// Layers up to the full clock; one if there is no clock.
    pub(super) fn new(budget: Option<u16>) -> Self {
        let n = usize::from(budget.unwrap_or(0)) + 1;
        Self {
            layers: (0..n).map(|_| Vec::new()).collect(),
        }
    }
    /// Adds a position; one with a need larger than the full clock is left out.
    pub(super) fn push(&mut self, need: u16, at: T) {
        if let Some(layer) = self.layers.get_mut(usize::from(need)) {
            layer.push(at);
        }
    }
    /// Number of layers.
    pub(super) fn len(&self) -> u16 {
        self.layers.len() as u16
    }
    /// The position with a place in a layer.
    pub(super) fn get(&self, need: u16, place: usize) -> Option<T> {
        self.layers[usize::from(need)].get(place).copied()
    }
}

pub(super) fn solve<R: Ruleset>(plan: &Plan<'_, R>, done: &Done, men_rank: u64) -> Unit {
    let index = &plan.index;
    let space = index.king_space() as usize;
    let men = index.men(men_rank);
    let taken = men[0] | men[1];
    let mut states = [vec![State::default(); space], vec![State::default(); space]];
    let mut codes = [vec![0_u8; space], vec![0_u8; space]];
    let mut layers = Layers::new(plan.budget);
    let mut moves = Moves::new();
    for rank in 0..space {
        let mut board = None;
        for side in Side::BOTH {
            let s = side as usize;
            // Unranking is dear, and most of it can be saved where White's value is at hand.
            let b = *board.get_or_insert_with(|| Board {
                men,
                kings: index.kings(taken, rank as u64),
            });
            let wld = plan.wld(side, men_rank, rank as u64, &b);
            codes[s][rank] = RuleValue::undecided(wld).code();
            if wld == Wld::Draw {
                continue;
            }
            let king_moves = moves.generate::<R>(&b, side) as u16;
            let capture = moves.list.is_capture();
            let exits = moves.exits(men[s]);
            if wld == Wld::Win {
                let best = exits
                    .filter_map(|m| {
                        let exit = plan.exit(done, &b, side, m);
                        match exit.value {
                            RuleValue::Loss(Dtz(n)) => Some(exit.link.need(n)),
                            _ => None,
                        }
                    })
                    .min();
                if let Some(need) = best {
                    layers.push(need, (side, rank as u32));
                }
                states[s][rank].hope = match (best, capture) {
                    (_, false) => Hope::Win,
                    (Some(_), true) => Hope::Won,
                    (None, true) => Hope::Closed,
                };
            } else {
                let mut worst = 0;
                let lost = exits.into_iter().all(|m| {
                    let exit = plan.exit(done, &b, side, m);
                    match exit.value {
                        RuleValue::Win(Dtz(n)) => {
                            worst = worst.max(exit.link.need(n));
                            true
                        }
                        _ => false,
                    }
                });
                if !lost {
                    continue;
                }
                let hope = if king_moves == 0 {
                    layers.push(worst, (side, rank as u32));
                    Hope::Lost
                } else {
                    Hope::Loss
                };
                states[s][rank] = State {
                    hope,
                    open: king_moves,
                    worst,
                };
            }
        }
    }
    // A king move takes one ply of the clock, if there is one.
    let king_move = if plan.budget.is_some() {
        Link::RunsOn
    } else {
        Link::NoClock
    };
    for need in 0..layers.len() {
        let mut place = 0;
        while let Some((side, rank)) = layers.get(need, place) {
            place += 1;
            let (s, rank) = (side as usize, rank as usize);
            let hope = std::mem::take(&mut states[s][rank].hope);
            let won = match hope {
                Hope::Closed => continue,
                Hope::Win | Hope::Won => true,
                Hope::Loss | Hope::Lost => false,
            };
            let value = if won {
                RuleValue::Win(Dtz(need))
            } else {
                RuleValue::Loss(Dtz(need))
            };
            codes[s][rank] = value.code();
            let before = side.other();
            let after = king_move.need(need);
            let kings = index.kings(taken, rank as u64);
            for_each_before::<R>(index, taken, kings, before, |r| {
                let state = &mut states[before as usize][r as usize];
                match state.hope {
                    Hope::Win if !won => layers.push(after, (before, r as u32)),
                    Hope::Loss if won => {
                        state.open -= 1;
                        state.worst = state.worst.max(after);
                        if state.open == 0 {
                            state.hope = Hope::Lost;
                            layers.push(state.worst, (before, r as u32));
                        }
                    }
                    _ => {}
                }
            });
        }
    }
    Unit {
        dtz: codes,
        beneath: None,
        extra: None,
    }
}
