//! What captures and moves of men lead to.

use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, Board, Ruleset, Side};
use dambase_tables::kingrun::LONGEST_RUN;
use dambase_tables::{LargeArray, Material, RunIndex, canonical};

use super::score::{self, Score};
use crate::{Error, Solved, Store};

/// A finished table of another material.
struct Child<'a, W> {
    index: RunIndex<W>,
    solved: &'a Solved,
}

/// The finished tables around one material.
pub(super) struct Children<'a, R: Ruleset, const DTW: bool> {
    material: Material,
    tables: Vec<Child<'a, R::Bits>>,
    fresh: bool,
}

/// A move that leaves the unit.
pub(super) struct Exit<'b, W> {
    /// Where the opponent's kings stood.
    pub(super) kings_before: W,
    /// The placement after the move.
    pub(super) after: &'b Board<W>,
    /// The side that is to move after it.
    pub(super) side: Side,
}

impl<'a, R: Ruleset, const DTW: bool> Children<'a, R, DTW> {
    /// Collects the tables that captures and crownings of either side may lead to, as far as they
    /// are in `store`.
    ///
    /// With `DTW`, distances go on through a move that leaves the material; or, if `fresh`, they
    /// begin there, and the tables need none.
    pub(super) fn new(
        material: Material,
        scope: KingRun,
        store: &'a Store,
        fresh: bool,
    ) -> Result<Self, Error> {
        let mut needed = Vec::new();
        for mover in 0..2 {
            for crowned in 0..=material.men[mover].min(1) {
                for men in 0..=material.men[1 - mover] {
                    for kings in 0..=material.kings[1 - mover] {
                        let mut m = material;
                        m.men[mover] -= crowned;
                        m.kings[mover] += crowned;
                        m.men[1 - mover] = men;
                        m.kings[1 - mover] = kings;
                        let m = m.canonical();
                        if m != material && !needed.contains(&m) {
                            needed.push(m);
                        }
                    }
                }
            }
        }
        let mut tables = Vec::new();
        for needed in needed {
            let Some(solved) = store.get(needed) else {
                continue;
            };
            let index = RunIndex::new(R::RULES.geometry, Some(scope), needed)?;
            if solved.wld.iter().any(|a| a.len() != index.positions()) {
                return Err(Error::NoRuns(needed));
            }
            if DTW && !fresh && solved.dtw.is_none() {
                return Err(Error::MissingDistances { material, needed });
            }
            tables.push(Child { index, solved });
        }
        Ok(Self {
            material,
            tables,
            fresh,
        })
    }

    /// Lowers each lane, a run of the opponent before the move, to the score of the exit for the
    /// opponent. `own` and `done` number and hold the finished units of this material.
    pub(super) fn lower(
        &self,
        lanes: &mut [Score],
        exit: &Exit<'_, R::Bits>,
        own: &RunIndex<R::Bits>,
        done: &[LargeArray<Score>],
    ) -> Result<(), Error> {
        let &Exit { after, side, .. } = exit;
        if after.pieces(side).is_empty() {
            lanes.fill(score::lost::<DTW>());
            return Ok(());
        }
        let placed = canonical(R::RULES.geometry, after, side);
        let slice = usize::from(placed.side == Side::Black);
        if placed.material == self.material {
            let at = Place::new(own, &placed.board, side, placed.swapped);
            let done = &done[slice];
            at.lower(lanes, exit, |i| done[i]);
            return Ok(());
        }
        let found = self.tables.iter();
        let child = found
            .map(|c| (c.solved.material, c))
            .find(|(m, _)| *m == placed.material);
        let Some((_, child)) = child else {
            return Err(Error::MissingTable {
                material: self.material,
                needed: placed.material,
            });
        };
        let at = Place::new(&child.index, &placed.board, side, placed.swapped);
        match &child.solved.dtw {
            Some(dtw) if DTW && !self.fresh => {
                at.lower(lanes, exit, |i| score::of_code(dtw[slice].codes[i]))
            }
            _ => {
                let wld = &child.solved.wld[slice];
                at.lower(lanes, exit, |i| score::of_wld::<DTW>(wld.get(i as u64)));
            }
        }
        Ok(())
    }
}

/// Where the states of one placement stand in a table, the run of the side that has moved being
/// none.
struct Place {
    base: u64,
    /// From one run of the side to move to the next.
    step: u64,
    /// Whether the side to move has runs there.
    has_runs: bool,
    swapped: bool,
}

impl Place {
    fn new<W: Bits>(index: &RunIndex<W>, board: &Board<W>, side: Side, swapped: bool) -> Self {
        let stored = (side as usize) ^ usize::from(swapped);
        Self {
            base: index.boards().index(board) * index.run_states(),
            step: if stored == 0 { 1 } else { index.states()[0] },
            has_runs: index.states()[stored] > 1,
            swapped,
        }
    }

    #[inline(always)]
    fn lower<W: Bits>(
        &self,
        lanes: &mut [Score],
        exit: &Exit<'_, W>,
        score: impl Fn(usize) -> Score,
    ) {
        let kings = exit.after.kings[exit.side as usize];
        let none = score(self.base as usize);
        lanes[0] = lanes[0].min(none);
        let of_kings = lanes[1..].chunks_exact_mut(LONGEST_RUN as usize);
        for (lanes, square) in of_kings.zip(exit.kings_before.squares()) {
            if !self.has_runs || !kings.has(square) {
                for lane in lanes {
                    *lane = (*lane).min(none);
                }
                continue;
            }
            let below = (kings & W::below(square)).count();
            // Turning the board reverses the order of the kings.
            let king = if self.swapped {
                kings.count() - 1 - below
            } else {
                below
            };
            for (lane, count) in lanes.iter_mut().zip(1..) {
                let run = LONGEST_RUN * u64::from(king) + count;
                *lane = (*lane).min(score((self.base + run * self.step) as usize));
            }
        }
    }
}
