//! Men only: every move is final, so one pass in order of advancement is enough.

use dambase_rules::geometry::OFF;
use dambase_rules::movegen::captures;
use dambase_rules::position::winner_without_moves;
use dambase_rules::{Bits, Board, Move, MoveList, Ruleset, Side};
use dambase_tables::Index;

use super::children::{Children, before, better, over};
use super::output::Output;
use super::space::{Chunk, MenSets};

/// A men-only material in work.
pub(crate) struct Task<'a, R: Ruleset, const D: bool> {
    pub(crate) index: Index<R::Bits>,
    pub(crate) symmetric: bool,
    pub(crate) children: Vec<Children<'a, R, D>>,
    pub(crate) white: MenSets<R::Bits>,
    /// Black's placements, turned to look like White's.
    pub(crate) black: MenSets<R::Bits>,
    pub(crate) out: Output<D>,
}

impl<R: Ruleset, const D: bool> Task<'_, R, D> {
    /// Solves the placements of a chunk and returns the number of positions.
    pub(crate) fn solve(&self, chunk: &Chunk) -> u64 {
        let g = R::RULES.geometry;
        let mut list = MoveList::new();
        let mut done = 0;
        let white = self.white.sets[self.white.groups[chunk.white].start];
        for group in chunk.black.clone() {
            let black = self.black.sets[self.black.groups[group].start];
            let black = R::Bits::from_wide(g.rotate_set(black.wide()));
            if !(white & black).is_empty() {
                continue;
            }
            let board = Board {
                men: [white, black],
                kings: [R::Bits::EMPTY; 2],
            };
            let i = self.index.men_rank(board.men);
            for (slice, children) in self.children.iter().enumerate() {
                let side = Side::BOTH[slice];
                captures::<R>(&board, side, &mut list);
                let code = if list.is_empty() {
                    self.quiet(&board, side, children)
                } else {
                    children.capture(&board, &list)
                };
                self.out.set(slice, i, code);
                done += 1;
            }
        }
        done
    }

    /// The code of a position without captures.
    #[inline]
    fn quiet(&self, board: &Board<R::Bits>, side: Side, children: &Children<'_, R, D>) -> u16 {
        let grid = R::RULES.geometry.grid();
        let crown = R::Bits::from_wide(R::RULES.crown_of(side));
        let occupied = board.occupied();
        let mut best = None;
        for from in board.men[side as usize].squares() {
            for d in 0..8 {
                if !R::RULES.man_quiet_of(side).has(d) {
                    continue;
                }
                let to = grid.step[d][from as usize];
                if to == OFF || occupied.has(to) {
                    continue;
                }
                let m = Move {
                    captured: R::Bits::EMPTY,
                    from,
                    to,
                    promotes: crown.has(to),
                };
                let code = before::<D>(if m.promotes {
                    children.value(board, &m)
                } else {
                    self.after(board.after(side, &m), side)
                });
                best = Some(best.map_or(code, |b| better(b, code)));
            }
        }
        best.unwrap_or(over(winner_without_moves(&R::RULES, side), side))
    }

    /// The code of a position of the same material after a step of `side`.
    #[inline]
    fn after(&self, board: Board<R::Bits>, side: Side) -> u16 {
        if self.symmetric {
            let turned = board.mirrored(R::RULES.geometry);
            self.out.get(0, self.index.men_rank(turned.men))
        } else {
            let other = side.other() as usize;
            self.out.get(other, self.index.men_rank(board.men))
        }
    }
}
