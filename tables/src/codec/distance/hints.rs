//! What the other side's values say of a row.
//!
//! The piece that makes the rows moves within a row. If it belongs to the side to move, each of
//! its quiet moves leads to a position of the same row with the other side to move, and the value
//! is at least what the best of these leaves. If it is the opponent's, the same holds for the
//! positions it may have come from.

use dambase_rules::geometry::{ascending, opposite};
use dambase_rules::ruleset::KingRange;
use dambase_rules::{Bits, Rules, Side};

use super::key::{self, MOST};
use super::rows::Line;
use crate::codec::Coding;
use crate::codec::context::layout::Kind;
use crate::codec::context::rows::Pad;
use crate::narrow::to_u8;

/// Most squares of a board.
const SQUARES: usize = 72;
/// The rank of a draw; wins are above, losses below, and 0 is nothing known.
const DRAW: u16 = 1 << 14;
/// Above the rank of every win.
const BEST: u16 = (1 << 15) - 1;

/// How values follow from those of the other side to move.
#[derive(Clone, Debug)]
pub(super) struct Hints {
    /// One for each direction: the squares with a neighbour, ordered so that a neighbour comes
    /// before the squares that look at it.
    sweeps: Vec<Vec<(u8, u8)>>,
    flying: bool,
    /// What a ply adds to the number of a win and of a loss.
    plies: [i16; 2],
}

impl Hints {
    /// For a slice with `side` to move whose rows are those of `vector`.
    pub(super) fn new(rules: &Rules, vector: Kind, side: Side, coding: Coding) -> Self {
        let own = vector.side == side;
        let directions = if vector.king {
            rules.king_quiet
        } else {
            rules.man_quiet_of(vector.side)
        };
        let grid = rules.geometry.grid();
        let squares = to_u8(rules.geometry.squares());
        let sweep = |d: usize| {
            // Where the opponent's piece came from is behind it.
            let d = if own { d } else { opposite(d) };
            let step = |s: u8| (s, grid.step[d][usize::from(s)]);
            let mut all: Vec<(u8, u8)> = (0..squares).map(step).collect();
            if ascending(d) {
                all.reverse();
            }
            all.retain(|&(_, next)| next < squares);
            all
        };
        let forth = match coding {
            Coding::OddWins | Coding::OddWinsWide => [0, 1],
            Coding::EvenWins | Coding::EvenWinsWide => [1, 0],
            _ => [1, 1],
        };
        Self {
            sweeps: directions.directions().map(sweep).collect(),
            flying: vector.king && rules.king_range == KingRange::Flying,
            plies: if own {
                forth
            } else {
                // A win comes from a loss of the opponent, which has the other number.
                [-forth[1], -forth[0]]
            },
        }
    }

    /// Puts what follows from the other side's row into `line`, and 1 into `hinted` there.
    /// `known` are the squares of that row with a value, `occupied` those of all other pieces.
    #[inline(always)]
    pub(super) fn apply<W: Bits>(
        &self,
        pad: &Pad,
        other: &Line,
        known: W,
        occupied: W,
        line: &mut Line,
        hinted: &mut [u8; super::rows::WIDTH],
    ) {
        let mut ranks = [0_u16; SQUARES];
        for s in known.squares() {
            let k = other.0[usize::from(pad.at(s))];
            let more = |plies: i16| key::number(k).saturating_add_signed(plies).min(MOST);
            ranks[usize::from(s)] = match key::class(k) {
                0 => DRAW,
                1 => 1 + more(self.plies[1]),
                _ => BEST - more(self.plies[0]),
            };
        }
        let mut best = [0_u16; SQUARES];
        for sweep in &self.sweeps {
            let mut rays = [0_u16; SQUARES];
            for &(s, next) in sweep {
                let to = usize::from(next);
                let ray = if self.flying { rays[to] } else { 0 };
                let seen = if occupied.has(next) {
                    0
                } else {
                    ranks[to].max(ray)
                };
                let s = usize::from(s);
                rays[s] = seen;
                best[s] = best[s].max(seen);
            }
        }
        for (s, &rank) in (0..).zip(&best) {
            if rank != 0 {
                let place = usize::from(pad.at(s));
                hinted[place] = 1;
                line.0[place] = match rank {
                    DRAW => 0,
                    r if r > DRAW => key::key(1, BEST - r),
                    r => key::key(2, r - 1),
                };
            }
        }
    }
}
