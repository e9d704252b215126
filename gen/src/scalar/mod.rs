//! The block-local retrograde solver, one position at a time.
//!
//! Captures lead to fewer pieces, crownings to fewer men, men's steps to placements further
//! advanced: all of that is finished when a placement of men is reached. What is left are the
//! moves that can be taken back, those of kings (and in the Turkish family men's sideways steps).
//! So the work is cut into *units*, each the king space of one placement of men (of one group of
//! placements in the Turkish family) with either side to move, small enough for the cache and
//! solved by itself; units of equal advancement are solved in parallel.

mod captures;
mod children;
mod kings;
mod layout;
mod men;
mod output;
mod reach;
mod retro;
mod space;
mod unit;

use dambase_rules::{Bits, Ruleset, Side, Variant, WithRuleset};
use dambase_tables::{Index, Material, TooLarge};

pub use captures::{fill_captures, fill_captures_variant};

use crate::{Control, Error, Solved, Store, parallel};
use children::{Children, decided_code};
use output::Output;
use space::{MenSets, chunks};
use unit::{Arena, Task};

/// Positions that a thread solves at least before it asks for more.
const CHUNK: usize = 1 << 15;
/// Positions from which a unit is worth splitting among threads.
const LARGE: usize = 1 << 18;

/// Solves a canonical material; everything that captures and crownings lead to must be in
/// `store`. Distances are computed if `want_dtw`. The Frisian king run is left out. The result
/// does not depend on the number of threads.
///
/// # Errors
/// [`Error::Interrupted`] if `ctl` says so; the other variants if `material` is not canonical or
/// too large, or if something is missing in `store`.
pub fn solve<R: Ruleset>(
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    if !material.is_canonical() {
        return Err(Error::NotCanonical(material));
    }
    if want_dtw {
        run::<R, true>(material, store, ctl)
    } else {
        run::<R, false>(material, store, ctl)
    }
}

/// [`solve`] for a code chosen at run time. Calling this one keeps the solver from being compiled
/// again for every code in every crate that needs it.
///
/// # Errors
/// As [`solve`].
pub fn solve_variant(
    variant: Variant,
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    struct Solve<'a>(Material, &'a Store, bool, &'a Control);
    impl WithRuleset for Solve<'_> {
        type Output = Result<Solved, Error>;
        fn run<R: Ruleset>(self) -> Self::Output {
            solve::<R>(self.0, self.1, self.2, self.3)
        }
    }
    variant.with(Solve(material, store, want_dtw, ctl))
}

fn run<R: Ruleset, const D: bool>(
    material: Material,
    store: &Store,
    ctl: &Control,
) -> Result<Solved, Error> {
    let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
    let sides = material.sides();
    let backing = store.placement().values(material);
    let out = Output::<D>::new(backing, sides.len(), index.positions())?;
    if index.positions() == 0 || decided_code::<R>(&index, Side::White).is_some() {
        for (slice, &side) in sides.iter().enumerate() {
            let code = decided_code::<R>(&index, side).unwrap_or(children::DRAW);
            out.set_all(slice, 0, (0..index.positions()).map(|_| code));
            ctl.add(index.positions());
        }
        return Ok(out.finish(material));
    }
    let children = sides
        .iter()
        .map(|&side| Children::new(material, side, store))
        .collect::<Result<Vec<_>, _>>()?;
    let white = MenSets::white(&R::RULES, material.men[0]);
    let black = MenSets::white(&R::RULES, material.men[1]);
    let symmetric = material.is_symmetric();
    let levels = white.levels.len() + black.levels.len() - 1;
    if material.kings == [0, 0] && !R::RULES.men_move_sideways() {
        let task = men::Task::<R, D> {
            index,
            symmetric,
            children,
            white,
            black,
            out,
        };
        for level in (0..levels).rev() {
            ctl.check()?;
            let chunks = chunks(&task.white, &task.black, level, false, CHUNK);
            parallel::for_each(chunks.len(), &|i| {
                ctl.add(task.solve(&chunks[i]));
                Ok(())
            })?;
        }
        ctl.check()?;
        return Ok(task.out.finish(material));
    }
    let task = Task::<R, D>::new(index, children, white, black, out, ctl)
        .ok_or(Error::TooLarge(TooLarge(material)))?;
    let arenas = Pool::default();
    for level in (0..levels).rev() {
        ctl.check()?;
        let most = (CHUNK / task.unit_positions()).max(1);
        let chunks = chunks(&task.white, &task.black, level, symmetric, most);
        let few = chunks.len() < 2 * rayon::current_num_threads();
        if few && task.unit_positions() >= LARGE {
            let mut arena = Arena::default();
            for chunk in chunks {
                for black in chunk.black {
                    task.solve(chunk.white, black, true, &mut arena)?;
                }
            }
            continue;
        }
        parallel::for_each(chunks.len(), &|i| {
            let mut arena = arenas.take();
            for black in chunks[i].black.clone() {
                task.solve(chunks[i].white, black, false, &mut arena)?;
            }
            arenas.give(arena);
            Ok(())
        })?;
    }
    Ok(task.finish())
}

/// Arenas that are not in use.
struct Pool<W: Bits>(std::sync::Mutex<Vec<Arena<W>>>);

impl<W: Bits> Default for Pool<W> {
    fn default() -> Self {
        Self(std::sync::Mutex::default())
    }
}

impl<W: Bits> Pool<W> {
    fn take(&self) -> Arena<W> {
        let free = self.0.lock().map(|mut p| p.pop());
        free.ok().flatten().unwrap_or_default()
    }
    fn give(&self, arena: Arena<W>) {
        if let Ok(mut free) = self.0.lock() {
            free.push(arena);
        }
    }
}
