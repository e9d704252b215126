//! Exact values of positions with the Frisian king run (RULES 3.12).
//!
//! A position is a placement with the run of each side ([`RunIndex`]). A run only restricts the
//! king moves of its own side, and only king moves prolong it: captures and moves of men end it. So
//! the unit of work is that of the plain solver, one placement of the men with both sides to move,
//! and the states of the runs of one placement of the kings are a *row* that is computed at once:
//!
//! - Captures are forced whatever the runs are, and depend on the opponent's run alone. So do
//!   moves of men. Both are *exits* into finished values, looked up once a placement for each state
//!   of the opponent's run (a *lane*).
//! - A quiet move of king `X` leads to the run `(X, 1)`, from a run `(X, c)` to `(X, c + 1)`. The
//!   values of all own states of a row need only, for each king and each length of the run it
//!   would have, the best of its moves: a minimum over rows of the other side, lane by lane.
//!
//! Values start as draws. Rows whose successors changed are computed again, side by side in turn,
//! until nothing changes; every pass is one ply further, and what remains is a draw. The limit does
//! not depend on the order, so neither do the tables on the number of threads.

mod exits;
mod score;
mod unit;

use dambase_rules::limits::{Limit, Runs};
use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, LimitSet, Ruleset, Variant, marker};
use dambase_tables::{
    Dtw, DtwArray, Dtz, DtzArray, LargeArray, Material, RuleValue, RunIndex, Value, Wld, WldArray,
};
use rayon::prelude::*;

use crate::spill::Placement;
use crate::{Control, Error, Solved, Store};
use exits::Children;
use score::Score;
use unit::Unit;

/// Solves a canonical material of a code with a king run. All tables in `store` must be of
/// positions with runs; everything that captures and crownings lead to must be there. Distances
/// are computed if `want_dtw`. Progress is counted in positions with runs.
///
/// # Errors
/// [`Error::Interrupted`] if `ctl` says so; [`Error::NoKingRun`] for a code without king run; the
/// other variants if `material` is not canonical or too large, or if something is missing in
/// `store`.
pub fn solve(
    variant: Variant,
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    // Not by `Variant::with`: this is compiled for the codes with a king run only.
    match variant {
        Variant::Frisian => solve_in::<marker::Frisian>(material, store, want_dtw, ctl),
        Variant::FrisianFederation => {
            solve_in::<marker::FrisianFederation>(material, store, want_dtw, ctl)
        }
        _ => Err(Error::NoKingRun(variant)),
    }
}

fn solve_in<R: Ruleset>(
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    let Some(scope) = R::RULES.king_run else {
        return Err(Error::NoKingRun(R::VARIANT));
    };
    if want_dtw {
        Solver::<R, true>::new(material, scope, store, false)?.solve(ctl)
    } else {
        Solver::<R, false>::new(material, scope, store, false)?.solve(ctl)
    }
}

/// Values under the draw limits, with full clocks, of a material whose values without limits are
/// `wld`. `store` has the smaller materials as the limits leave them: cursed wins and blessed losses
/// are draws there.
///
/// Where a clock runs, every ply of the material counts and every move that leaves it starts
/// another clock, so what a position needs is its distance to such a move. The clock and the runs
/// do not touch each other: each state of the runs has a need of its own.
///
/// # Errors
/// As [`solve`].
///
/// # Panics
/// If `wld` does not have the arrays of the material; for limits of another kind: clocks that
/// moves inside a material start again, or that run on into another one.
pub fn solve_ruled(
    limits: &LimitSet,
    material: Material,
    wld: &[WldArray],
    store: &Store,
    ctl: &Control,
) -> Result<Vec<DtzArray>, Error> {
    let clock = limits.of_material(material.kings, material.men);
    let budget = clock.map(|c| limits.limit(c));
    let plain = |l: &Limit| matches!(l.runs, Runs::Material(_)) && l.within.is_none();
    assert!(
        budget.is_none_or(|l| plain(l) && material.all_men() == 0),
        "a clock that the solver does not know"
    );
    let budget = budget.map(Limit::plies);
    let solved = match limits.variant() {
        Variant::Frisian => ruled::<marker::Frisian>(material, store, budget, ctl),
        Variant::FrisianFederation => {
            ruled::<marker::FrisianFederation>(material, store, budget, ctl)
        }
        other => Err(Error::NoKingRun(other)),
    }?;
    assert_eq!(wld.len(), solved.wld.len(), "slices of {material}");
    (0..wld.len())
        .map(|slice| {
            let without = &wld[slice];
            assert_eq!(
                without.len(),
                solved.wld[slice].len(),
                "positions of {material}"
            );
            let code = |i: u64| {
                let value = match &solved.dtw {
                    Some(dtw) => dtw[slice].get(i),
                    None => match solved.wld[slice].get(i) {
                        Wld::Draw => Value::Draw,
                        Wld::Win => Value::Win(Dtw(0)),
                        Wld::Loss => Value::Loss(Dtw(0)),
                    },
                };
                let enough = |d: Dtw| budget.is_none_or(|b| d.0 <= b);
                let ruled = match value {
                    Value::Win(d) if enough(d) => RuleValue::Win(Dtz(d.0)),
                    Value::Loss(d) if enough(d) => RuleValue::Loss(Dtz(d.0)),
                    _ => RuleValue::undecided(without.get(i)),
                };
                ruled.code()
            };
            let backing = store.placement().values(material);
            let mut codes = LargeArray::zeroed(backing, without.len())?;
            let each = codes.par_iter_mut().enumerate();
            each.for_each(|(i, to)| *to = code(i as u64));
            Ok(DtzArray { codes })
        })
        .collect()
}

/// The values of a material with the plies to the end of its clock, if it has one.
fn ruled<R: Ruleset>(
    material: Material,
    store: &Store,
    budget: Option<u16>,
    ctl: &Control,
) -> Result<Solved, Error> {
    let Some(scope) = R::RULES.king_run else {
        return Err(Error::NoKingRun(R::VARIANT));
    };
    if budget.is_some() {
        Solver::<R, true>::new(material, scope, store, true)?.solve(ctl)
    } else {
        Solver::<R, false>::new(material, scope, store, false)?.solve(ctl)
    }
}

/// Positions of the units that are in memory at the same time, beside the finished ones.
pub(crate) const POSITIONS_AT_A_TIME: u64 = 1 << 26;

struct Solver<'a, R: Ruleset, const DTW: bool> {
    index: RunIndex<R::Bits>,
    scope: KingRun,
    children: Children<'a, R, DTW>,
    /// Scores of the finished units by index, one array for each stored side.
    done: Vec<LargeArray<Score>>,
    placement: &'a Placement,
}

impl<'a, R: Ruleset, const DTW: bool> Solver<'a, R, DTW> {
    fn new(
        material: Material,
        scope: KingRun,
        store: &'a Store,
        fresh: bool,
    ) -> Result<Self, Error> {
        if !material.is_canonical() {
            return Err(Error::NotCanonical(material));
        }
        let index = RunIndex::new(R::RULES.geometry, Some(scope), material)?;
        let children = Children::new(material, scope, store, fresh)?;
        Ok(Self {
            index,
            scope,
            children,
            done: Vec::new(),
            placement: store.placement(),
        })
    }

    fn solve(mut self, ctl: &Control) -> Result<Solved, Error> {
        let material = self.index.boards().material();
        // The distances in the end are where the scores are.
        let backing = if DTW {
            self.placement.values(material)
        } else {
            self.placement.planes(material)
        };
        if material.all_men() == 0 {
            // One unit: its arrays are those of the material.
            let [white, black] = self.unit(0, ctl)?;
            let slices = [white, black].into_iter().take(material.sides().len());
            let slices = slices.map(|scores| LargeArray::from(scores).moved_to(backing));
            self.done = slices.collect::<Result<_, _>>()?;
            ctl.add(self.index.positions() * self.done.len() as u64);
            return self.finish();
        }
        let slice = |_| LargeArray::zeroed(backing, self.index.positions());
        self.done = material
            .sides()
            .iter()
            .map(slice)
            .collect::<Result<_, _>>()?;
        let per_unit = self.index.boards().king_space() * self.index.run_states();
        let at_a_time = (POSITIONS_AT_A_TIME / per_unit).clamp(1, 4096) as usize;
        for level in self.levels() {
            for ranks in level.chunks(at_a_time) {
                let units = ranks
                    .par_iter()
                    .map(|&rank| self.unit(rank, ctl))
                    .collect::<Result<Vec<_>, _>>()?;
                for (&rank, [white, black]) in ranks.iter().zip(units) {
                    self.keep(rank, white, black);
                    ctl.add(per_unit * self.done.len() as u64);
                }
            }
        }
        self.finish()
    }

    /// The ranks of the placements of the men that must be solved, in groups of equal advancement,
    /// the most advanced first: moves of men lead from one group to earlier ones.
    fn levels(&self) -> Vec<Vec<u64>> {
        let g = R::RULES.geometry;
        let boards = self.index.boards();
        let symmetric = boards.material().is_symmetric();
        let mut levels = Vec::<Vec<u64>>::new();
        boards.for_each_men(0..u64::MAX, |rank, men| {
            if symmetric && self.mirrored_rank(men) < rank {
                return;
            }
            let row = |s: u8| usize::from(s) / g.per_row();
            let white: usize = men[0].squares().map(row).sum();
            let black: usize = men[1].squares().map(|s| g.side() - 1 - row(s)).sum();
            if levels.len() <= white + black {
                levels.resize(white + black + 1, Vec::new());
            }
            levels[white + black].push(rank);
        });
        levels.retain(|l| !l.is_empty());
        levels
    }

    /// The rank of the men after the colours are swapped.
    fn mirrored_rank(&self, men: [R::Bits; 2]) -> u64 {
        let turn = |set: R::Bits| R::Bits::from_wide(R::RULES.geometry.rotate_set(set.wide()));
        self.index.boards().men_rank([turn(men[1]), turn(men[0])])
    }

    /// Solves one unit; scores by king rank and run rank, White and Black to move.
    fn unit(&self, men_rank: u64, ctl: &Control) -> Result<[Vec<Score>; 2], Error> {
        let men = self.index.boards().men(men_rank);
        Unit::<R, DTW>::new(&self.index, self.scope, men)?.solve(&self.children, &self.done, ctl)
    }

    /// Moves the scores of a unit to their places.
    fn keep(&mut self, men_rank: u64, white: Vec<Score>, black: Vec<Score>) {
        let len = white.len();
        let place = |rank: u64| rank as usize * len..(rank as usize + 1) * len;
        self.done[0][place(men_rank)].copy_from_slice(&white);
        if self.done.len() == 2 {
            self.done[1][place(men_rank)].copy_from_slice(&black);
            return;
        }
        // Black to move is White to move with the colours swapped.
        let boards = self.index.boards();
        let men = boards.men(men_rank);
        let mirrored_rank = self.mirrored_rank(men);
        if mirrored_rank == men_rank {
            return;
        }
        let g = R::RULES.geometry;
        let turn = |set: R::Bits| R::Bits::from_wide(g.rotate_set(set.wide()));
        let mirrored_men = turn(men[0] | men[1]);
        let states = self.index.run_states() as usize;
        let [white_states, black_states] = self.index.states().map(|n| n as usize);
        // Turning the board reverses the order of the kings of a side.
        let turned = |rank: usize, states: usize| {
            if rank == 0 {
                0
            } else {
                let (king, count) = ((rank - 1) / 3, (rank - 1) % 3);
                3 * (states / 3 - 1 - king) + count + 1
            }
        };
        let target = &mut self.done[0][place(mirrored_rank)];
        let space = boards.king_space();
        boards.for_each_kings(men[0] | men[1], 0..space, |king_rank, kings| {
            let to = boards.king_rank(mirrored_men, [turn(kings[1]), turn(kings[0])]) as usize;
            let from = king_rank as usize;
            for b in 0..black_states {
                for w in 0..white_states {
                    let to_run = turned(w, white_states) * black_states + turned(b, black_states);
                    target[to * states + to_run] = black[from * states + b * white_states + w];
                }
            }
        });
    }

    fn finish(self) -> Result<Solved, Error> {
        let material = self.index.boards().material();
        let mut wld = Vec::new();
        let mut dtw = Vec::new();
        for scores in self.done {
            let backing = self.placement.values(material);
            let mut array = WldArray::new_in(backing, scores.len() as u64)?;
            array
                .packed_mut()
                .par_iter_mut()
                .zip(scores.par_chunks(4))
                .with_min_len(1 << 14)
                .for_each(|(byte, scores)| {
                    for (i, &s) in scores.iter().enumerate() {
                        *byte |= (score::wld(s) as u8) << (2 * i);
                    }
                });
            wld.push(array);
            if DTW {
                // In place: both kinds of numbers have two bytes.
                let codes = scores.map(|s| score::value(s).code());
                dtw.push(DtwArray { codes });
            }
        }
        Ok(Solved {
            material,
            wld,
            dtw: DTW.then_some(dtw),
        })
    }
}
