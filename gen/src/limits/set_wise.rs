//! Materials that the set-wise solver can do: one clock, which every move that leaves the king space
//! starts again, or none. Men only are of these: all their moves do.
//!
//! There the exits of a position need one ply or none, so what is won and lost of the children is all
//! that has to be known of them; and the depth of the iteration is the clock.

use std::sync::Arc;

use dambase_rules::limits::Link;
use dambase_rules::movegen::{MoveList, generate};
use dambase_rules::{LimitSet, Ruleset, Run};
use dambase_tables::{
    Backing, Dtz, DtzArray, Index, LargeArray, Material, RuleValue, Wld, WldArray,
};

use super::{Ruled, RuledStore, unlimited};
use crate::plan::children;
use crate::spill::Placement;
use crate::{Control, Error, Solved, Store, parallel, setwise};

/// What is won and lost of finished materials, for the set-wise solver.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Without limits.
    without: Store,
    /// Under them.
    under: Store,
}

impl Outcomes {
    /// The bytes of word planes that may stay in memory between two materials.
    pub(super) fn set_plane_budget(&self, bytes: u64) {
        for store in [&self.without, &self.under] {
            store.planes().set_budget(bytes / 2);
        }
    }
    /// Sets where the arrays of materials are from now on.
    pub(super) fn place(&mut self, placement: &Arc<Placement>) {
        self.without.place(Arc::clone(placement));
        self.under.place(Arc::clone(placement));
    }
    pub(super) fn remove(&mut self, material: Material) {
        self.without.remove(material);
        self.under.remove(material);
    }
    /// Takes a material in, if it is not there.
    fn insert(&mut self, ruled: &Ruled) -> Result<(), Error> {
        let each = [
            (
                &mut self.without,
                RuleValue::without_limits as fn(RuleValue) -> _,
            ),
            (&mut self.under, RuleValue::under_limits),
        ];
        for (store, what) in each {
            if store.get(ruled.material).is_none() {
                let backing = store.placement().values(ruled.material);
                let wld = ruled.dtz.iter().map(|dtz| of(dtz, what, backing));
                let wld = wld.collect::<Result<_, _>>()?;
                store.insert(Solved {
                    material: ruled.material,
                    wld,
                    dtw: None,
                });
            }
        }
        Ok(())
    }
}

/// Bytes of packed values, or four times as many positions, that one task converts.
const CHUNK: usize = 1 << 16;

/// Win, loss and draw in one of the two senses.
pub(super) fn of(
    dtz: &DtzArray,
    what: fn(RuleValue) -> Wld,
    backing: &Backing,
) -> Result<WldArray, Error> {
    let codes: [u8; 256] = std::array::from_fn(|c| what(RuleValue::from_code(c as u8)) as u8);
    let mut wld = WldArray::new_in(backing, dtz.len())?;
    parallel::chunks_mut(wld.packed_mut(), CHUNK, &|piece, bytes| {
        let positions = dtz.codes[4 * CHUNK * piece..].chunks(4);
        for (byte, four) in bytes.iter_mut().zip(positions) {
            for (i, &code) in four.iter().enumerate() {
                *byte |= codes[usize::from(code)] << (2 * i);
            }
        }
        Ok(())
    })?;
    Ok(wld)
}

/// Whether a material is solved set-wise.
pub(crate) fn is_set_wise(limits: &LimitSet, material: Material) -> bool {
    clock(limits, material).is_some()
}

/// The plies of the clock of a material, nothing if none runs; none if the material is not one for
/// the set-wise solver.
fn clock(limits: &LimitSet, material: Material) -> Option<Option<u16>> {
    let (kings, men) = (material.kings, material.men);
    if limits.diagonal_of(kings, men).is_some() || limits.beside_of(kings, men).is_some() {
        return None;
    }
    let link = |after: Material| limits.link([kings, men], [after.kings, after.men], true);
    let mut exits = children(limits.variant(), material);
    if men != [0, 0] {
        exits.push(material);
    }
    let clock = limits.of_material(kings, men);
    let wanted = match clock {
        Some(_) => Link::Fresh,
        None => Link::NoClock,
    };
    let alike = exits.into_iter().all(|m| link(m) == wanted);
    alike.then(|| clock.map(|c| limits.limit(c).plies()))
}

/// [`super::solve`] set-wise, and what is won and lost without limits with it; both are found from
/// what is in `store`. None if the material is to be left to the other solver.
///
/// # Errors
/// As [`super::solve`].
pub fn solve_set_wise(
    material: Material,
    store: &mut RuledStore,
    ctl: &Control,
) -> Result<Option<Ruled>, Error> {
    let variant = store.limits.variant();
    if !material.is_canonical() {
        return Err(Error::NotCanonical(material));
    }
    let Some(clock) = clock(&store.limits, material) else {
        return Ok(None);
    };
    for needed in children(variant, material) {
        let missing = Error::MissingTable { material, needed };
        store
            .outcomes
            .insert(store.tables.get(&needed).ok_or(missing)?)?;
    }
    let Outcomes { without, under } = &store.outcomes;
    let (wld, mut dtz) = match clock {
        Some(full) if material.kings != [0, 0] => {
            match setwise::solve_on_clock(variant, material, full, under, ctl)? {
                Some(found) => (found.wld, found.needs),
                None => return Ok(None),
            }
        }
        _ => {
            let solved = setwise::solve_variant(variant, material, under, false, ctl)?;
            let backing = under.placement().values(material);
            let needs = match clock {
                Some(_) => with_limits!(variant, R => needs_of_men::<R>(&solved, backing, ctl)),
                None => {
                    let slices = solved.wld.iter();
                    slices.map(|wld| without_clock(wld, backing)).collect()
                }
            };
            (solved.wld, needs?)
        }
    };
    let uncounted = ctl.uncounted();
    let solved = setwise::solve_variant(variant, material, without, false, &uncounted)?;
    for (dtz, wld) in dtz.iter_mut().zip(&solved.wld) {
        tell_apart(dtz, wld)?;
    }
    let under = Solved {
        material,
        wld,
        dtw: None,
    };
    store.outcomes.under.insert(Arc::new(under));
    store.outcomes.without.insert(Arc::new(solved));
    Ok(Some(Ruled {
        material,
        dtz,
        beneath: None,
        needs: None,
    }))
}

/// Positions of which one task finds the needs.
const MEN_CHUNK: u64 = 1 << 14;

/// Values of positions of men only, all of whose moves start the clock again: what is decided needs one
/// ply of it, or none if the side to move has no move.
fn needs_of_men<R: Ruleset>(
    solved: &Solved,
    backing: &Backing,
    ctl: &Control,
) -> Result<Vec<DtzArray>, Error> {
    let Solved { material, wld, .. } = solved;
    let index = Index::<R::Bits>::new(R::RULES.geometry, *material)?;
    let positions = index.positions();
    let slice = |(&side, wld): (&_, &WldArray)| {
        let mut codes = LargeArray::zeroed(backing, positions)?;
        parallel::chunks_mut(&mut codes, MEN_CHUNK as usize, &|chunk, codes| {
            ctl.check()?;
            let start = chunk as u64 * MEN_CHUNK;
            let mut list = MoveList::new();
            index.for_each_board(start..start + codes.len() as u64, |i, board| {
                let value = match wld.get(i) {
                    Wld::Draw => RuleValue::Draw,
                    Wld::Win => RuleValue::Win(Dtz(1)),
                    Wld::Loss => {
                        generate::<R>(board, side, Run::NONE, &mut list);
                        RuleValue::Loss(Dtz(u16::from(!list.is_empty())))
                    }
                };
                codes[(i - start) as usize] = value.code();
            });
            Ok(())
        })?;
        Ok(DtzArray { codes })
    };
    material.sides().iter().zip(wld).map(slice).collect()
}

/// Values of positions in which no clock runs.
pub(super) fn without_clock(wld: &WldArray, backing: &Backing) -> Result<DtzArray, Error> {
    let mut codes = LargeArray::zeroed(backing, wld.len())?;
    parallel::chunks_mut(&mut codes, CHUNK, &|piece, codes| {
        for (i, code) in ((CHUNK * piece) as u64..).zip(codes) {
            *code = unlimited(wld.get(i)).code();
        }
        Ok(())
    })?;
    Ok(DtzArray { codes })
}

/// Makes of draws the cursed wins and blessed losses that they are without limits.
fn tell_apart(dtz: &mut DtzArray, without: &WldArray) -> Result<(), Error> {
    let draw = RuleValue::Draw.code();
    parallel::chunks_mut(&mut dtz.codes, CHUNK, &|piece, codes| {
        for (i, code) in ((CHUNK * piece) as u64..).zip(codes) {
            if *code == draw {
                *code = RuleValue::undecided(without.get(i)).code();
            }
        }
        Ok(())
    })
}
