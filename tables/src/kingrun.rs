//! The numbering of positions with the Frisian king run.
//!
//! In codes with [`Rules::king_run`](dambase_rules::Rules::king_run) a position is a placement,
//! the side to move, and the run of each side (RULES 3.12). The states of all runs of a placement
//! stand together: `index = board_index * run_states + run_rank`. Every state has a number,
//! reachable or not. docs/format.md states it for readers in other languages.

use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, Board, Geometry, Run, Side};

use crate::index::{Index, TooLarge};
use crate::material::{Material, Placed, canonical};
use crate::narrow::{to_u8, to_usize};

/// Longest run that is told apart: after so many quiet moves in a row the king is held.
pub const LONGEST_RUN: u64 = 3;

/// The states of the runs of White and Black: 1 for no run, and [`LONGEST_RUN`] for each king. A
/// side without men has no run under [`KingRun::WhileMenRemain`].
#[must_use]
pub fn run_states(scope: KingRun, material: Material) -> [u64; 2] {
    [0, 1].map(|s| {
        if scope == KingRun::WhileMenRemain && material.men[s] == 0 {
            1
        } else {
            1 + LONGEST_RUN * u64::from(material.kings[s])
        }
    })
}

/// The rank of the run of a side with these kings: 0 for none, else `3 * i + count` where `i` is
/// the number of kings of the side on lower squares.
#[inline(always)]
#[must_use]
pub fn rank_of_run<W: Bits>(kings: W, run: Run) -> u64 {
    if run.count == 0 {
        0
    } else {
        let below = kings & W::below(run.square);
        LONGEST_RUN * u64::from(below.count()) + u64::from(run.count)
    }
}

/// The run of a side with these kings that has a rank.
///
/// # Panics
/// If the side has too few kings for the rank.
#[must_use]
pub fn run_of_rank<W: Bits>(kings: W, rank: u64) -> Run {
    if rank == 0 {
        return Run::NONE;
    }
    let king = (rank - 1) / LONGEST_RUN;
    let mut squares = kings.squares();
    Run {
        square: squares.nth(to_usize(king)).expect("a king for every run"),
        count: to_u8(to_usize((rank - 1) % LONGEST_RUN + 1)),
    }
}

/// The numbering of placements with run states of one material; the same for both sides to move.
#[derive(Clone, Copy, Debug)]
pub struct RunIndex<W> {
    boards: Index<W>,
    states: [u64; 2],
    positions: u64,
}

impl<W: Bits> RunIndex<W> {
    /// Prepares the numbering. Without a scope positions have no runs, and the numbering is that
    /// of the placements.
    ///
    /// # Errors
    /// [`TooLarge`] if the positions do not fit 64 bits.
    pub fn new(
        geometry: Geometry,
        scope: Option<KingRun>,
        material: Material,
    ) -> Result<Self, TooLarge> {
        let boards = Index::new(geometry, material)?;
        let states = scope.map_or([1; 2], |scope| run_states(scope, material));
        let positions = boards
            .positions()
            .checked_mul(states[0] * states[1])
            .ok_or(TooLarge(material))?;
        Ok(Self {
            boards,
            states,
            positions,
        })
    }
    /// The numbering of the placements alone.
    #[must_use]
    pub const fn boards(&self) -> &Index<W> {
        &self.boards
    }
    /// States of the runs of White and Black.
    #[must_use]
    pub const fn states(&self) -> [u64; 2] {
        self.states
    }
    /// States of both runs together, for one placement.
    #[must_use]
    pub const fn run_states(&self) -> u64 {
        self.states[0] * self.states[1]
    }
    /// Positions of one slice (one side to move).
    #[must_use]
    pub const fn positions(&self) -> u64 {
        self.positions
    }
    /// The rank of the runs of a placement with these kings; White's run is the faster part. A run
    /// of a side that can have none does not count.
    #[inline(always)]
    #[must_use]
    pub fn run_rank(&self, kings: [W; 2], runs: [Run; 2]) -> u64 {
        let rank = |s: usize| {
            if self.states[s] == 1 {
                0
            } else {
                rank_of_run(kings[s], runs[s])
            }
        };
        rank(1) * self.states[0] + rank(0)
    }
    /// The index of a placement, as in [`Index::index`], with the runs of White and Black, whose
    /// squares must be those of kings.
    #[inline(always)]
    #[must_use]
    pub fn index(&self, board: &Board<W>, runs: [Run; 2]) -> u64 {
        self.boards.index(board) * self.run_states() + self.run_rank(board.kings, runs)
    }
    /// The runs with a rank below [`Self::run_states`].
    #[must_use]
    pub fn runs(&self, kings: [W; 2], run_rank: u64) -> [Run; 2] {
        [
            run_of_rank(kings[0], run_rank % self.states[0]),
            run_of_rank(kings[1], run_rank / self.states[0]),
        ]
    }
    /// The position with an index below [`Self::positions`].
    #[must_use]
    pub fn position(&self, index: u64) -> (Board<W>, [Run; 2]) {
        let board = self.boards.board(index / self.run_states());
        let runs = self.runs(board.kings, index % self.run_states());
        (board, runs)
    }
}

/// The runs after the board has been turned and the colours swapped.
#[must_use]
pub fn mirrored_runs(geometry: Geometry, runs: [Run; 2]) -> [Run; 2] {
    let turn = |r: Run| {
        if r.count == 0 {
            Run::NONE
        } else {
            Run {
                square: geometry.rotate(r.square),
                count: r.count,
            }
        }
    };
    [turn(runs[1]), turn(runs[0])]
}

/// Brings a position with runs to the form in which it is stored.
#[must_use]
pub fn canonical_with_runs<W: Bits>(
    geometry: Geometry,
    board: &Board<W>,
    side: Side,
    runs: [Run; 2],
) -> (Placed<W>, [Run; 2]) {
    let placed = canonical(geometry, board, side);
    let runs = if placed.swapped {
        mirrored_runs(geometry, runs)
    } else {
        runs
    };
    (placed, runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::{Position, Variant};
    use proptest::prelude::*;
    use std::collections::HashSet;

    const SCOPES: [KingRun; 2] = [KingRun::WhileOthersCanMove, KingRun::WhileMenRemain];
    const FRISIAN: Geometry = Geometry::Diagonal10;

    #[test]
    fn states_are_one_and_three_for_each_king() {
        let m: Material = "KKMvK".parse().unwrap();
        assert_eq!(run_states(KingRun::WhileOthersCanMove, m), [7, 4]);
        assert_eq!(run_states(KingRun::WhileMenRemain, m), [7, 1]);
        let men: Material = "MMvM".parse().unwrap();
        assert_eq!(run_states(KingRun::WhileOthersCanMove, men), [1, 1]);
    }

    #[test]
    fn small_slices_are_bijections() {
        for scope in SCOPES {
            for m in (2..=3).flat_map(Material::canonical_with) {
                let ix = RunIndex::<u64>::new(FRISIAN, Some(scope), m).unwrap();
                for i in 0..ix.positions() {
                    let (board, runs) = ix.position(i);
                    assert_eq!(ix.index(&board, runs), i);
                    assert_eq!(ix.boards().index(&board), i / ix.run_states());
                }
            }
        }
    }

    #[test]
    fn the_examples_of_the_norm() {
        let m: Material = "KKvK".parse().unwrap();
        let run = |square, count| Run { square, count };
        let board = Board::<u64> {
            men: [0; 2],
            kings: [1 << 3 | 1 << 40, 1 << 12],
        };
        let ix = |scope| RunIndex::<u64>::new(FRISIAN, Some(scope), m).unwrap();
        let default = ix(KingRun::WhileOthersCanMove);
        assert_eq!(default.index(&board, [run(40, 2), run(12, 3)]), 415_994);
        let federation = ix(KingRun::WhileMenRemain);
        assert_eq!(federation.index(&board, [Run::NONE; 2]), 14_856);
    }

    #[test]
    fn without_runs_it_is_the_plain_index() {
        let m: Material = "KKvK".parse().unwrap();
        let ix = RunIndex::<u64>::new(FRISIAN, None, m).unwrap();
        assert_eq!(
            (ix.run_states(), ix.positions()),
            (1, ix.boards().positions())
        );
        let (board, runs) = ix.position(12_345);
        assert_eq!((board, runs), (ix.boards().board(12_345), [Run::NONE; 2]));
        let square = board.kings[0].first();
        let run = Run { square, count: 2 };
        assert_eq!(ix.index(&board, [run, Run::NONE]), 12_345);
    }

    #[test]
    fn the_states_of_a_placement_are_all_its_positions() {
        // Every run that a checked position may have, and no other.
        for v in [Variant::Frisian, Variant::FrisianFederation] {
            let scope = v.rules().king_run.unwrap();
            for (name, i) in [("KKvK", 12_345), ("KKMvK", 1_234_567), ("KMvKM", 54_321)] {
                let m: Material = name.parse().unwrap();
                let ix = RunIndex::<u128>::new(FRISIAN, Some(scope), m).unwrap();
                let board = ix.boards().board(i);
                let side = |s: usize| {
                    let counts = move |square| (0..=3).map(move |count| Run { square, count });
                    board.kings[s].squares().flat_map(counts)
                };
                let mut all = HashSet::new();
                for white in side(0) {
                    for black in side(1) {
                        let p = Position::new(v, board, Side::White, [white, black]).unwrap();
                        all.insert(p.runs());
                        let rank = ix.run_rank(board.kings, p.runs());
                        assert_eq!(ix.runs(board.kings, rank), p.runs());
                    }
                }
                assert_eq!(all.len() as u64, ix.run_states(), "{v} {name}");
            }
        }
    }

    proptest! {
        #[test]
        fn larger_slices_are_bijections(
            scope in proptest::sample::select(SCOPES.to_vec()),
            counts in proptest::array::uniform4(0_u8..4),
            point in any::<u64>(),
        ) {
            let m = Material::new(counts[0], counts[1], counts[2], counts[3]);
            let ix = RunIndex::<u64>::new(FRISIAN, Some(scope), m).unwrap();
            let i = point % ix.positions();
            let (board, runs) = ix.position(i);
            prop_assert_eq!(ix.index(&board, runs), i);
        }

        #[test]
        fn colours_swap_as_positions_do(point in any::<u64>(), black_to_move in any::<bool>()) {
            let v = Variant::Frisian;
            let m: Material = "KMvKKM".parse().unwrap();
            let scope = KingRun::WhileOthersCanMove;
            let ix = RunIndex::<u128>::new(FRISIAN, Some(scope), m).unwrap();
            let (board, runs) = ix.position(point % ix.positions());
            let side = Side::BOTH[usize::from(black_to_move)];
            let (placed, runs) = canonical_with_runs(FRISIAN, &board, side, runs);
            let (board, before) = ix.position(point % ix.positions());
            let mirrored = Position::new(v, board, side, before).unwrap().mirrored();
            prop_assert!(placed.swapped);
            prop_assert_eq!(&placed.board, mirrored.board());
            prop_assert_eq!((placed.side, runs), (mirrored.side(), mirrored.runs()));
        }
    }
}
