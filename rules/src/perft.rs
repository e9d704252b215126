//! Move-tree counts.
//!
//! The Frisian king run depends on what was played before and is left out, as the published
//! counts leave it out.

use crate::board::{Board, Side};
use crate::movegen::{self, MoveList};
use crate::position::{Position, Run, decided};
use crate::ruleset::{Ruleset, WithRuleset};

struct Perft<'a> {
    position: &'a Position,
    depth: u32,
    paths: bool,
}

impl WithRuleset for Perft<'_> {
    type Output = u64;
    fn run<R: Ruleset>(self) -> u64 {
        let p = self.position;
        let board = Board::from_wide(p.board());
        let mut lists: Vec<_> = (0..self.depth).map(|_| MoveList::new()).collect();
        if self.paths {
            count::<R, true>(&board, p.side(), &mut lists)
        } else {
            count::<R, false>(&board, p.side(), &mut lists)
        }
    }
}

/// `lists` has one for each ply; `PATHS` counts every capture route.
fn count<R: Ruleset, const PATHS: bool>(
    board: &Board<R::Bits>,
    side: Side,
    lists: &mut [MoveList<R::Bits>],
) -> u64 {
    let Some((list, rest)) = lists.split_first_mut() else {
        return 1;
    };
    if decided::<R>(board).is_some() {
        return 0;
    }
    if PATHS {
        movegen::captures_by_route::<R>(board, side, list);
    } else {
        movegen::captures::<R>(board, side, list);
    }
    if list.is_empty() {
        // Moves of the last ply are counted, not listed.
        if rest.is_empty() {
            return movegen::count_quiet::<R>(board, side);
        }
        movegen::quiet::<R>(board, side, Run::NONE, list);
    } else if rest.is_empty() {
        return list.len() as u64;
    }
    let mut nodes = 0;
    for m in list.iter() {
        let after = board.after(side, m);
        nodes += count::<R, PATHS>(&after, side.other(), rest);
    }
    nodes
}

/// Leaf nodes of the tree of legal moves `depth` plies deep; captures with equal start, end and
/// captured squares are counted once. A game that is over has no moves; depth 0 counts 1.
#[must_use]
pub fn perft(position: &Position, depth: u32) -> u64 {
    position.variant().with(Perft {
        position,
        depth,
        paths: false,
    })
}

/// As [`perft`], but every capture route counts ("paths" in RULES 0.4).
#[must_use]
pub fn perft_paths(position: &Position, depth: u32) -> u64 {
    position.variant().with(Perft {
        position,
        depth,
        paths: true,
    })
}

/// [`perft`] split by the first move, in the order of [`Position::legal_moves`]; `depth` of at
/// least 1.
#[must_use]
pub fn divide(position: &Position, depth: u32) -> Vec<u64> {
    let position = position.without_runs();
    position
        .legal_moves()
        .iter()
        .map(|m| perft(&position.after(m), depth.saturating_sub(1)))
        .collect()
}
