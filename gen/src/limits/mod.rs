//! The solver for values under the draw limits.
//!
//! Which positions are won without limits is known before; the question is how many plies of the
//! governing clock each win and each loss needs. King moves are the moves that run a clock down
//! inside a king space (one men placement, both sides to move), so each king space is one
//! retrograde iteration whose depth is the clock. What leaves it (captures, men's moves,
//! crownings) leads to finished values: with need 1 if the move starts a clock again, with one
//! more than the need of the successor if the clock runs on through it (docs/rules.md, "Draw
//! limits"; [`dambase_rules::limits::Link`]).
//!
//! Nothing is decided under the limits that is not decided the same way without them, so drawn
//! positions are never looked at.
//!
//! Where several clocks run at once (Russian) one number is not enough: `diagonal` splits positions by
//! the plies left on the long diagonal's clock, `beside` finds all pairs of plies of the quiet clock
//! and one beside it.

/// Evaluates an expression with `$rules` as the code of a variant that has limits. Only those are
/// named: each is a solver to be compiled.
macro_rules! with_limits {
    ($variant:expr, $rules:ident => $body:expr) => {
        with_limits!($variant, $rules => $body; International Canadian English Italian Russian Pool
            Brazilian Spanish SpanishFederation Frisian FrisianFederation)
    };
    ($variant:expr, $rules:ident => $body:expr; $($code:ident)*) => {
        match $variant {
            $(dambase_rules::Variant::$code => {
                type $rules = dambase_rules::marker::$code;
                $body
            })*
            variant => unreachable!("{variant} has no limits"),
        }
    };
}

mod beside;
pub mod build;
mod diagonal;
pub mod prove;
mod set_wise;
mod unit;

use std::collections::HashMap;
use std::sync::Arc;

use dambase_rules::limits::{Diagonal, Link};
use dambase_rules::movegen::MoveList;
use dambase_rules::{Bits, Board, Geometry, LimitSet, Move, Ruleset, Side, Variant, marker};
use dambase_tables::needs::{NeedsArray, NeedsList, NeedsNumbers};
use dambase_tables::{
    Backing, Dtz, DtzArray, Index, LargeArray, Material, RuleValue, Wld, WldArray, canonical,
};

use self::beside::{Beside, DoneBeside};
use self::set_wise::Outcomes;
pub(crate) use self::set_wise::is_set_wise;
pub use self::set_wise::solve_set_wise;
use crate::spill::Placement;
use crate::{Control, Error, parallel};

/// The values under the limits of a canonical material.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ruled {
    /// The material; canonical.
    pub material: Material,
    /// The value with full clocks, one array per side in the order of [`Material::sides`].
    pub dtz: Vec<DtzArray>,
    /// Where a long diagonal's clock can run: the same, but the need of positions in which it
    /// runs is that of the clock beneath, the diagonal's clock being full. It is what a clock
    /// that runs on into this material has to allow.
    pub beneath: Option<Vec<DtzArray>>,
    /// Where a clock runs beside the quiet one and pairs of plies count: all of them.
    pub needs: Option<RuledNeeds>,
}

/// All combinations of plies with which the positions of a material stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuledNeeds {
    /// The different ones.
    pub list: NeedsList,
    /// The number in `list` of each position, one array per side in the order of
    /// [`Material::sides`].
    pub numbers: Vec<Vec<u32>>,
}

impl RuledNeeds {
    /// The symbols of a table, and its lists in that order: those of many positions first.
    ///
    /// # Errors
    /// [`Error::TooManyNeeds`].
    pub fn into_symbols(
        self,
        material: Material,
        dtz: &[DtzArray],
    ) -> Result<(Vec<NeedsArray>, NeedsList), Error> {
        let found = self.list.len();
        if found > NeedsList::MOST {
            let most = NeedsList::MOST;
            return Err(Error::TooManyNeeds {
                material,
                found,
                most,
            });
        }
        let mut weight = vec![0; found];
        for &n in self.numbers.iter().flatten() {
            weight[n as usize] += 1;
        }
        let (list, new) = NeedsNumbers::by_weight(self.list, &weight);
        let symbols = |(numbers, dtz): (&Vec<u32>, &DtzArray)| NeedsArray {
            symbols: (0..dtz.len())
                .map(|i| {
                    let number = new[numbers[i as usize] as usize];
                    // Undecided positions have the empty list, and a symbol without one.
                    NeedsList::symbol(dtz.get(i), number).unwrap_or(0)
                })
                .collect(),
        };
        Ok((self.numbers.iter().zip(dtz).map(symbols).collect(), list))
    }
}

/// Finished materials, found by their canonical form.
#[derive(Debug)]
pub struct RuledStore {
    limits: LimitSet,
    tables: HashMap<Material, Ruled>,
    outcomes: Outcomes,
    placement: Arc<Placement>,
}

impl RuledStore {
    /// An empty store for tables under these limits.
    #[must_use]
    pub fn new(limits: LimitSet) -> Self {
        Self {
            limits,
            tables: HashMap::new(),
            outcomes: Outcomes::default(),
            placement: Arc::default(),
        }
    }
    /// Sets where the arrays of materials are that are solved or read from now on; in memory unless
    /// this is asked for.
    pub fn place(&mut self, placement: Arc<Placement>) {
        self.outcomes.place(&placement);
        self.placement = placement;
    }
    /// Where the arrays of materials are.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }
    /// Sets the bytes of word planes that may stay in memory between two materials that are solved
    /// set-wise.
    pub fn set_plane_budget(&self, bytes: u64) {
        self.outcomes.set_plane_budget(bytes);
    }
    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> &LimitSet {
        &self.limits
    }
    /// The values of a canonical material, if it is there.
    #[must_use]
    pub fn get(&self, material: Material) -> Option<&Ruled> {
        self.tables.get(&material)
    }
    /// Takes a finished material in, in place of what was there.
    pub fn insert(&mut self, ruled: Ruled) {
        let material = ruled.material;
        if self.tables.insert(material, ruled).is_some() {
            self.outcomes.remove(material);
        }
    }
    /// Takes a material out, to free its memory.
    pub fn remove(&mut self, material: Material) -> Option<Ruled> {
        self.outcomes.remove(material);
        self.tables.remove(&material)
    }
}

/// Solves a canonical material under the limits of `store`, which must hold everything that
/// captures and crownings lead to. `wld` has its values without limits, in the order of
/// [`Material::sides`]. The Frisian king run is left out.
///
/// # Errors
/// [`Error::Interrupted`] if `ctl` says so; the other variants if `material` is not canonical or
/// too large, or if something is missing in `store`.
///
/// # Panics
/// If `wld` does not have the arrays of the material, or the limits are those of another code.
pub fn solve<R: Ruleset>(
    material: Material,
    wld: &[&WldArray],
    store: &RuledStore,
    ctl: &Control,
) -> Result<Ruled, Error> {
    solve_by::<R>(material, wld, store, ctl, |plan, done, men_rank| {
        if plan.beside.is_some() {
            beside::solve(plan, done, men_rank)
        } else if plan.diagonal.is_some() {
            diagonal::solve(plan, done, men_rank)
        } else {
            unit::solve(plan, done, men_rank)
        }
    })
}

/// How one king space is solved.
type SolveUnit<R> = fn(&Plan<'_, R>, &Done, u64) -> unit::Unit;

fn solve_by<R: Ruleset>(
    material: Material,
    wld: &[&WldArray],
    store: &RuledStore,
    ctl: &Control,
    solve_unit: SolveUnit<R>,
) -> Result<Ruled, Error> {
    assert_eq!(store.limits.variant(), R::VARIANT, "limits of another code");
    let positions = check(material, wld, R::RULES.geometry)?;
    let backing = store.placement().values(material);
    if store.limits.is_empty() {
        return without_limits(material, wld, backing, ctl);
    }
    let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
    let plan = Plan::<R>::new(material, index, wld, store)?;
    let both = || -> Result<_, Error> {
        let slice = || LargeArray::zeroed(backing, positions);
        Ok(vec![slice()?, slice()?])
    };
    let beside = |_| DoneBeside::new(positions as usize, plan.diagonal_states());
    let mut done = Done {
        dtz: both()?,
        beneath: plan.diagonal.map(|_| both()).transpose()?,
        beside: plan.beside.map(beside),
    };
    for level in plan.levels() {
        // King spaces of one level do not lead to each other.
        let solved = parallel::collect(level.len(), &|i| {
            ctl.check()?;
            let unit = solve_unit(&plan, &done, level[i]);
            ctl.add(unit.dtz[0].len() as u64 * wld.len() as u64);
            Ok(unit)
        })?;
        for (men_rank, unit) in level.into_iter().zip(solved) {
            let start = (men_rank * plan.index.king_space()) as usize;
            for s in 0..2 {
                let space = start..start + unit.dtz[s].len();
                done.dtz[s][space.clone()].copy_from_slice(&unit.dtz[s]);
                if let (Some(to), Some(from)) = (&mut done.beneath, &unit.beneath) {
                    to[s][space].copy_from_slice(&from[s]);
                }
            }
            if let (Some(to), Some(from)) = (&mut done.beside, &unit.extra) {
                to.add(start, plan.diagonal_states(), from);
            }
        }
    }
    let stored = |mut both: Vec<LargeArray<u8>>| {
        both.truncate(material.sides().len());
        both.into_iter().map(|codes| DtzArray { codes }).collect()
    };
    Ok(Ruled {
        material,
        dtz: stored(done.dtz),
        beneath: done.beneath.map(stored),
        // Without a quiet clock one number is enough where the diagonal's does not run, and with it
        // what is in `dtz`.
        needs: done.beside.filter(|_| plan.pairs).map(|b| RuledNeeds {
            list: b.numbers.into_list(),
            numbers: b.needs.into_iter().take(material.sides().len()).collect(),
        }),
    })
}

/// [`solve`] for the code of `store`'s limits, chosen at run time.
///
/// # Errors
/// As [`solve`].
///
/// # Panics
/// As [`solve`].
pub fn solve_any(
    material: Material,
    wld: &[&WldArray],
    store: &RuledStore,
    ctl: &Control,
) -> Result<Ruled, Error> {
    let variant = store.limits.variant();
    check(material, wld, variant.rules().geometry)?;
    if store.limits.is_empty() {
        return without_limits(material, wld, store.placement().values(material), ctl);
    }
    // Each code is a solver to be compiled, so only those that have limits are named; and one
    // of them has a diagonal.
    macro_rules! choose {
        ($($code:ident)*) => {
            match variant {
                Variant::Russian => solve::<marker::Russian>(material, wld, store, ctl),
                $(Variant::$code => {
                    solve_by::<marker::$code>(material, wld, store, ctl, |plan, done, men_rank| {
                        assert!(plan.diagonal.is_none(), "a code without a long diagonal");
                        unit::solve(plan, done, men_rank)
                    })
                })*
                _ => unreachable!("{variant} has no limits"),
            }
        };
    }
    choose!(
        International Canadian English Italian Pool Brazilian Spanish SpanishFederation Frisian
        FrisianFederation
    )
}

/// Checks what is to be solved; gives the positions of a slice.
fn check(material: Material, wld: &[&WldArray], geometry: Geometry) -> Result<u64, Error> {
    if !material.is_canonical() {
        return Err(Error::NotCanonical(material));
    }
    let positions = Index::<u128>::new(geometry, material)?.positions();
    assert_eq!(wld.len(), material.sides().len(), "slices of {material}");
    assert!(wld.iter().all(|w| w.len() == positions));
    Ok(positions)
}

/// The values where no limit is on. In the Turkish family men's moves can be taken back, so this
/// also keeps away the one code family for which king spaces are no units.
fn without_limits(
    material: Material,
    wld: &[&WldArray],
    backing: &Backing,
    ctl: &Control,
) -> Result<Ruled, Error> {
    let slices = wld.iter().map(|wld| set_wise::without_clock(wld, backing));
    let dtz = slices.collect::<Result<_, _>>()?;
    ctl.add(wld.iter().map(|w| w.len()).sum());
    Ok(Ruled {
        material,
        dtz,
        beneath: None,
        needs: None,
    })
}

/// A value where no clock runs.
const fn unlimited(wld: Wld) -> RuleValue {
    match wld {
        Wld::Draw => RuleValue::Draw,
        Wld::Win => RuleValue::Win(Dtz(0)),
        Wld::Loss => RuleValue::Loss(Dtz(0)),
    }
}

/// Values of both sides to move, also where only one is stored.
struct Done {
    dtz: Vec<LargeArray<u8>>,
    beneath: Option<Vec<LargeArray<u8>>>,
    beside: Option<DoneBeside>,
}

/// What does not change while a material is solved.
struct Plan<'a, R: Ruleset> {
    index: Index<R::Bits>,
    wld: &'a [&'a WldArray],
    /// Plies of the clock of the material; nothing if none runs.
    budget: Option<u16>,
    /// The long diagonal's clock and its plies.
    diagonal: Option<(Diagonal, u16)>,
    /// The clock beside the quiet one, if pairs of plies count.
    beside: Option<Beside>,
    /// Whether they are kept.
    pairs: bool,
    /// How the clock goes on after a man's move without crowning.
    man_move: Link,
    /// `[side][kings taken][men taken][crowned]`.
    children: Vec<Option<Child<'a, R>>>,
    strides: [usize; 3],
}

/// A material that a move leads to.
struct Child<'a, R: Ruleset> {
    index: Index<R::Bits>,
    link: Link,
    /// The values that count for `link`.
    values: &'a [DtzArray],
    /// Whether the long diagonal's clock runs in a position of it.
    diagonal: Option<Diagonal>,
}

/// The value of a successor, for the side that moves there, and the clocks a move must leave it.
#[derive(Clone, Copy)]
struct Exit {
    value: RuleValue,
    link: Link,
    /// The long diagonal's clock runs after the move, so `value` has its need.
    on_diagonal: bool,
}

impl<'a, R: Ruleset> Plan<'a, R> {
    fn new(
        material: Material,
        index: Index<R::Bits>,
        wld: &'a [&'a WldArray],
        store: &'a RuledStore,
    ) -> Result<Self, Error> {
        let limits = &store.limits;
        let counts = |m: Material| [m.kings, m.men];
        let clock = limits.of_material(material.kings, material.men);
        let diagonal = limits.diagonal_of(material.kings, material.men);
        let most = |n: [u8; 2]| usize::from(n[0].max(n[1])) + 1;
        let (kings, men) = (most(material.kings), most(material.men));
        let strides = [kings * men * 2, men * 2, 2];
        let mut children: Vec<_> = (0..2 * strides[0]).map(|_| None).collect();
        for side in Side::BOTH {
            let (us, them) = (side as usize, side.other() as usize);
            for taken_kings in 0..=material.kings[them] {
                for taken_men in 0..=material.men[them] {
                    for crowned in 0..=u8::from(material.men[us] > 0) {
                        let mut after = material;
                        after.kings[them] -= taken_kings;
                        after.men[them] -= taken_men;
                        after.kings[us] += crowned;
                        after.men[us] -= crowned;
                        if after == material || after.side(side.other()) == 0 {
                            continue;
                        }
                        let needed = after.canonical();
                        // Only what a move can lead to is asked for: see `exit`.
                        let Some(ruled) = store.get(needed) else {
                            return Err(Error::MissingTable { material, needed });
                        };
                        let link = limits.link(counts(material), counts(after), true);
                        let values = match &ruled.beneath {
                            Some(beneath) if link == Link::RunsOn => beneath,
                            _ => &ruled.dtz,
                        };
                        let at = us * strides[0]
                            + usize::from(taken_kings) * strides[1]
                            + usize::from(taken_men) * strides[2]
                            + usize::from(crowned);
                        children[at] = Some(Child {
                            index: Index::new(R::RULES.geometry, needed)?,
                            link,
                            values,
                            diagonal: limits.diagonal_of(needed.kings, needed.men),
                        });
                    }
                }
            }
        }
        let man_move = limits.link(counts(material), counts(material), true);
        let plies = |c| limits.limit(c).plies();
        let beside = limits.beside_of(material.kings, material.men);
        let pairs = beside.is_some() && limits.has_pairs(material.kings, material.men);
        let beside = match (beside, clock) {
            (Some(b), _) if pairs => Some(Beside {
                plies: plies(b),
                quiet: clock.map(plies),
            }),
            // The quiet clock is off, but the diagonal's is on.
            (None, Some(c)) if diagonal.is_some() && man_move == Link::RunsOn => Some(Beside {
                plies: plies(c),
                quiet: None,
            }),
            _ => None,
        };
        Ok(Self {
            index,
            wld,
            beside,
            pairs,
            budget: clock.map(|c| limits.limit(c).plies()),
            diagonal: diagonal.map(|d| (d, limits.limit(d.clock).plies())),
            man_move,
            children,
            strides,
        })
    }

    /// The states of a position on the long diagonal; 1 where its clock cannot run.
    fn diagonal_states(&self) -> usize {
        self.diagonal.map_or(0, |(_, full)| usize::from(full)) + 1
    }

    /// The men placements by the steps left to their crowning, fewest first: a man's move leads
    /// to one of the levels before.
    fn levels(&self) -> Vec<Vec<u64>> {
        let per_row = R::RULES.geometry.per_row() as u32;
        let rows = R::RULES.geometry.squares() as u32 / per_row;
        let mut levels = Vec::new();
        for rank in 0..self.index.men_placements() {
            let [white, black] = self.index.men(rank);
            let row = |s: u8| u32::from(s) / per_row;
            let steps: u32 = white.squares().map(row).sum::<u32>()
                + black.squares().map(|s| rows - 1 - row(s)).sum::<u32>();
            let steps = steps as usize;
            if levels.len() <= steps {
                levels.resize(steps + 1, Vec::new());
            }
            levels[steps].push(rank);
        }
        levels
    }

    /// The value without limits.
    fn wld(&self, side: Side, men_rank: u64, king_rank: u64, board: &Board<R::Bits>) -> Wld {
        let slice = side as usize;
        if slice < self.wld.len() {
            return self.wld[slice].get(men_rank * self.index.king_space() + king_rank);
        }
        let mirrored = board.mirrored(R::RULES.geometry);
        self.wld[0].get(self.index.index(&mirrored))
    }

    /// What `m` of `side`, a capture or a man's move, leads to.
    fn exit(&self, done: &Done, board: &Board<R::Bits>, side: Side, m: &Move<R::Bits>) -> Exit {
        let after = board.after(side, m);
        let other = side.other();
        if !m.is_capture() && !m.promotes {
            let i = self.index.index(&after) as usize;
            return Exit {
                value: RuleValue::from_code(done.dtz[other as usize][i]),
                link: self.man_move,
                on_diagonal: self.diagonal.is_some_and(|(d, _)| d.holds(&after)),
            };
        }
        let (us, them) = (side as usize, other as usize);
        if after.pieces(other).is_empty() {
            return Exit {
                value: RuleValue::Loss(Dtz(0)),
                link: if self.budget.is_some() {
                    Link::Fresh
                } else {
                    Link::NoClock
                },
                on_diagonal: false,
            };
        }
        let taken = |set: R::Bits| (set & m.captured).count() as usize;
        let at = us * self.strides[0]
            + taken(board.kings[them]) * self.strides[1]
            + taken(board.men[them]) * self.strides[2]
            + usize::from(m.promotes);
        let child = self.children[at].as_ref();
        let child = child.expect("every material that a move leads to was looked up");
        let placed = canonical(R::RULES.geometry, &after, other);
        let slice = if child.values.len() == 1 {
            0
        } else {
            placed.side as usize
        };
        Exit {
            value: child.values[slice].get(child.index.index(&placed.board)),
            link: child.link,
            on_diagonal: child.diagonal.is_some_and(|d| d.holds(&placed.board)),
        }
    }
}

impl<R: Ruleset> Plan<'_, R> {
    /// The value of a position in which `side` has the captures of `list`.
    fn after_captures(
        &self,
        done: &Done,
        board: &Board<R::Bits>,
        side: Side,
        list: &MoveList<R::Bits>,
    ) -> RuleValue {
        let (mut best, mut worst): (Option<u16>, u16) = (None, 0);
        // What holds of all moves: they lose under the limits; without them.
        let (mut lost, mut lost_without) = (true, true);
        let mut won_without = false;
        for m in list.iter() {
            let exit = self.exit(done, board, side, m);
            match exit.value {
                RuleValue::Loss(Dtz(n)) => {
                    let need = exit.link.need(n);
                    best = Some(best.map_or(need, |b| b.min(need)));
                    won_without = true;
                }
                RuleValue::Win(Dtz(n)) => worst = worst.max(exit.link.need(n)),
                RuleValue::BlessedLoss => won_without = true,
                RuleValue::CursedWin => lost = false,
                RuleValue::Draw => (lost, lost_without) = (false, false),
            }
        }
        let enough = |need: u16| self.budget.is_none_or(|b| need <= b);
        if let Some(need) = best.filter(|&n| enough(n)) {
            RuleValue::Win(Dtz(need))
        } else if won_without {
            RuleValue::CursedWin
        } else if lost && lost_without && enough(worst) {
            RuleValue::Loss(Dtz(worst))
        } else if lost_without {
            RuleValue::BlessedLoss
        } else {
            RuleValue::Draw
        }
    }
}

/// The moves of one position, split by whether they leave the king space.
struct Moves<W> {
    list: MoveList<W>,
}

impl<W: Bits> Moves<W> {
    fn new() -> Self {
        Self {
            list: MoveList::new(),
        }
    }
    /// Generates the moves of a position; returns how many of them are king moves without
    /// capture.
    fn generate<R: Ruleset<Bits = W>>(&mut self, board: &Board<W>, side: Side) -> usize {
        let none = dambase_rules::Run::NONE;
        dambase_rules::movegen::generate::<R>(board, side, none, &mut self.list);
        let men = board.men[side as usize];
        let king_moves = |m: &&Move<W>| !m.is_capture() && !men.has(m.from);
        self.list.iter().filter(king_moves).count()
    }
    /// The moves that leave the king space.
    fn exits(&self, men: W) -> impl Iterator<Item = &Move<W>> {
        let list = self.list.iter();
        list.filter(move |m| m.is_capture() || men.has(m.from))
    }
}

/// Calls `f` with the king rank of every position from which `side` came to the king placement
/// `kings` by a king move, captures or not.
fn for_each_before<R: Ruleset>(
    index: &Index<R::Bits>,
    men: R::Bits,
    kings: [R::Bits; 2],
    side: Side,
    mut f: impl FnMut(u64),
) {
    let grid = R::RULES.geometry.grid();
    let occupied = men | kings[0] | kings[1];
    let us = side as usize;
    for to in kings[us].squares() {
        // King moves go both ways: the squares between are empty before and after.
        for from in dambase_rules::movegen::king_targets::<R>(grid, occupied, to).squares() {
            let mut before = kings;
            before[us] ^= R::Bits::bit(to);
            before[us] |= R::Bits::bit(from);
            f(index.king_rank(men, before));
        }
    }
}
