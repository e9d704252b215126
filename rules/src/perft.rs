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
        if self.paths {
            count_paths::<R>(&board, p.side(), self.depth)
        } else {
            let mut lists: Vec<_> = (0..self.depth).map(|_| MoveList::new()).collect();
            count::<R>(&board, p.side(), &mut lists)
        }
    }
}

fn count<R: Ruleset>(board: &Board<R::Bits>, side: Side, lists: &mut [MoveList<R::Bits>]) -> u64 {
    let Some((list, rest)) = lists.split_first_mut() else {
        return 1;
    };
    if decided::<R>(board).is_some() {
        return 0;
    }
    movegen::generate::<R>(board, side, Run::NONE, list);
    if rest.is_empty() {
        return list.len() as u64;
    }
    let mut nodes = 0;
    for m in list.iter() {
        let after = board.after(side, m);
        nodes += count::<R>(&after, side.other(), rest);
    }
    nodes
}

fn count_paths<R: Ruleset>(board: &Board<R::Bits>, side: Side, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    if decided::<R>(board).is_some() {
        return 0;
    }
    let mut moves: Vec<_> = movegen::capture_routes::<R>(board, side)
        .into_iter()
        .map(|(m, _)| m)
        .collect();
    if moves.is_empty() {
        let mut list = MoveList::new();
        movegen::quiet::<R>(board, side, Run::NONE, &mut list);
        moves.extend_from_slice(&list);
    }
    if depth == 1 {
        return moves.len() as u64;
    }
    moves
        .iter()
        .map(|m| {
            let after = board.after(side, m);
            count_paths::<R>(&after, side.other(), depth - 1)
        })
        .sum()
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
