//! The set-wise solver: all squares of one king at a time.
//!
//! Every square of a *vector* king is a bit of a word; where all other pieces stand is the index
//! into an array of words, so one operation treats up to 72 positions. The method and its layouts
//! are described in docs/algorithms.md, "Set-wise solving".
//!
//! The rules enter as data (`game::Game`, built from the constant of the code), the board as the
//! width of the word.

mod children;
mod codes;
mod dense;
mod events;
mod exits;
mod fixpoint;
mod game;
mod layout;
mod levels;
mod lines;
mod lone;
mod measure;
mod men;
mod planes;
mod race;
mod reach;
mod rows;
mod unit;
mod walk;
mod word;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dambase_rules::ruleset::{Goal, KingRange};
use dambase_rules::{Geometry, Rules, Ruleset, Variant};
use dambase_tables::{DtzArray, Index, Material, WldArray};
use rayon::prelude::*;

use self::children::Children;
pub use self::children::PlaneCache;
use self::codes::{CodeOf, SharedCodes};
use self::dense::SharedArray;
use self::game::Game;
use self::layout::Sets;
use self::levels::Levels;
use self::lone::Lone;
use self::measure::{Measure, Plies, Values};
use self::men::Men;
use self::planes::Planes;
use self::race::Span;
use self::rows::solve_rows;
use self::unit::{Arena, Job};
use self::word::Word;
use crate::plan::children;
use crate::{Control, Error, Solved, Store, scalar};

/// Solves a canonical material; everything that captures and crownings lead to must be in
/// `store`. The result is that of [`scalar::solve`], position by position. Runs on the threads of
/// the rayon pool it is called in.
///
/// Left to the scalar solver are materials that are decided before they begin (a lone king against a
/// lone man in the Turkish family), men only where they also step sideways, and some distances: of
/// men only, where no side has two kings and kings are short, and those beyond 510 plies.
///
/// # Errors
/// As [`scalar::solve`].
pub fn solve<R: Ruleset>(
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    solve_variant(R::VARIANT, material, store, want_dtw, ctl)
}

/// [`solve`] for a code chosen at run time. The code is data here: what is compiled for it is the
/// width of the word.
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
    if !material.is_canonical() {
        return Err(Error::NotCanonical(material));
    }
    let rules = variant.rules();
    let set_wise =
        is_set_wise(rules, material) && (!want_dtw || pays_for_distances(rules, material));
    if !set_wise {
        return scalar::solve_variant(variant, material, store, want_dtw, ctl);
    }
    let ask = if want_dtw {
        Ask::Distances
    } else {
        Ask::Values
    };
    match find(variant, material, store, ask, ctl)? {
        Some(found) => Ok(found.into_solved(material)),
        None => scalar::solve_variant(variant, material, store, want_dtw, ctl),
    }
}

/// What is to be found of a material.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Values,
    Distances,
    /// What is decided within a clock that every exit starts again, and the plies of it that this needs.
    Needs(Span),
}

/// Chooses the width of the words. None if distances are too long to be measured in bits.
fn find(
    variant: Variant,
    material: Material,
    store: &Store,
    ask: Ask,
    ctl: &Control,
) -> Result<Option<Found>, Error> {
    match variant.rules().geometry {
        Geometry::Diagonal8 | Geometry::Mirrored8 => {
            solve_on::<u32>(variant, material, store, ask, ctl)
        }
        Geometry::Diagonal10 | Geometry::Full8 => {
            solve_on::<u64>(variant, material, store, ask, ctl)
        }
        Geometry::Diagonal12 => solve_on::<u128>(variant, material, store, ask, ctl),
    }
}

/// What a clock leaves of a material, in the order of [`Material::sides`].
pub(crate) struct OnClock {
    /// What is won and lost within the clock.
    pub(crate) wld: Vec<WldArray>,
    /// The plies of the clock that this needs; anything else is a draw.
    pub(crate) needs: Vec<DtzArray>,
}

/// Solves a canonical material with kings under a draw limit of `full` plies that every capture and
/// every man's move starts again; `store` must hold what is won and lost of everything they lead
/// to. None if it is to be left to the solver of one position after the other.
///
/// # Errors
/// As [`solve`].
pub(crate) fn solve_on_clock(
    variant: Variant,
    material: Material,
    full: u16,
    store: &Store,
    ctl: &Control,
) -> Result<Option<OnClock>, Error> {
    let rules = variant.rules();
    let Some(span) = Span::of_clock(full) else {
        return Ok(None);
    };
    if material.kings == [0, 0] || rules.goal != Goal::Normal || !is_set_wise(rules, material) {
        return Ok(None);
    }
    let found = find(variant, material, store, Ask::Needs(span), ctl)?;
    Ok(found.map(|found| {
        let needs = found.codes.into_iter().filter_map(SharedCodes::into_needs);
        OnClock {
            wld: found.wld,
            needs: needs.collect(),
        }
    }))
}

/// Whether a material is solved set-wise.
fn is_set_wise(rules: &Rules, material: Material) -> bool {
    let kings = material.kings[0] + material.kings[1];
    let decided =
        rules.lone_king_beats_lone_man && material.pieces() == 2 && material.all_men() == 1;
    let iterated = kings > 0 || !rules.men_move_sideways();
    iterated && !decided && (kings == 0 || rules.goal != Goal::FirstCrown)
}

/// Whether distances are found faster set-wise, as measured (docs/results.md). Where each side has one
/// short king at most, a row is one word and wins take many plies.
fn pays_for_distances(rules: &Rules, material: Material) -> bool {
    let most = material.kings[0].max(material.kings[1]);
    most > 1 || most == 1 && rules.king_range == KingRange::Flying
}

/// Solves with words of one width. None if distances are too long to be measured in bits.
fn solve_on<W: Word>(
    variant: Variant,
    material: Material,
    store: &Store,
    ask: Ask,
    ctl: &Control,
) -> Result<Option<Found>, Error> {
    let rules = variant.rules();
    let values = |span| solve_in::<W, _>(rules, material, store, Values, span, ctl);
    match ask {
        Ask::Values => return values(None),
        Ask::Needs(span) => return values(Some(span)),
        Ask::Distances => {}
    }
    // The longest distance is known only in the end: some more than those of the children, and one
    // bit more each time that turns out to be too few.
    let longest = children(variant, material)
        .into_iter()
        .filter_map(|child| store.get(child)?.dtw.as_ref())
        .flatten()
        .map(codes::most_plies)
        .max()
        .unwrap_or(0);
    let mut plies = Plies::up_to(longest + (longest / 2).max(24)).or_else(|| Plies::up_to(longest));
    while let Some(measure) = plies {
        let span = Span::without_end(measure);
        let found = solve_in::<W, _>(rules, material, store, measure, Some(span), ctl)?;
        if found.is_some() {
            return Ok(found);
        }
        plies = measure.wider();
    }
    Ok(None)
}

/// What was found of a material, in the order of [`Material::sides`].
struct Found {
    wld: Vec<WldArray>,
    /// If plies were counted.
    codes: Vec<SharedCodes>,
}

impl Found {
    /// Values, and distances if codes are distances.
    fn into_solved(self, material: Material) -> Solved {
        let codes = self.codes.into_iter();
        let dtw: Option<Vec<_>> = codes.map(SharedCodes::into_distances).collect();
        Solved {
            material,
            wld: self.wld,
            dtw: dtw.filter(|dtw| !dtw.is_empty()),
        }
    }
}

/// Plies are counted as far as `span` goes: those of distances if `measure` has them, else those of a
/// clock that every exit starts again. None if distances are too long for the bits of a merit.
fn solve_in<W: Word, M: Measure>(
    rules: &'static Rules,
    material: Material,
    store: &Store,
    measure: M,
    span: Option<Span>,
    ctl: &Control,
) -> Result<Option<Found>, Error> {
    ctl.check()?;
    let game = Game::<W>::new(rules);
    let most = material.kings[0].max(material.kings[1]) + u8::from(material.all_men() > 0);
    let sets = Sets::<W>::new(game.n, most as usize);
    let index = Index::<W>::new(rules.geometry, material)?;
    let levels = Levels::new(rules, material);
    if material.kings == [0, 0] {
        debug_assert!(span.is_none(), "plies of men only");
        let wld = solve_men(&game, &sets, material, &levels, store, ctl)?;
        let codes = Vec::new();
        return Ok(Some(Found { wld, codes }));
    }
    let lone = material.kings[0] + material.kings[1] == 1 && !rules.men_move_sideways();
    if lone && span.is_none() {
        let wld = solve_lone(&game, &sets, material, &levels, store, ctl)?;
        let codes = Vec::new();
        return Ok(Some(Found { wld, codes }));
    }
    let (kept, beside) = (
        store.placement().values(material),
        store.placement().planes(material),
    );
    let arrays = material
        .sides()
        .iter()
        .map(|_| SharedArray::new(kept, index.positions()))
        .collect::<Result<Vec<_>, _>>()?;
    let (distances, positions) = (measure.plies().is_some(), index.positions());
    let codes = material
        .sides()
        .iter()
        .filter(|_| span.is_some())
        .map(|_| match distances {
            true => SharedCodes::distances(kept, positions),
            false => SharedCodes::needs(kept, positions),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let code_of = |span: Span| match distances {
        true => CodeOf::distances(span.plies),
        false => CodeOf::needs(span.plies),
    };
    let own = if material.all_men() > 0 {
        let planes =
            |side| Planes::new(&game, &sets, measure, material, side, beside).map(Arc::new);
        let [white, black] = dambase_rules::Side::BOTH;
        Some([planes(white)?, planes(black)?])
    } else {
        None
    };
    let children = |mover: dambase_rules::Side| {
        let own = own.as_ref().map(|own| &own[mover.other() as usize]);
        Children::new(&game, &sets, measure, material, mover, own, store)
    };
    let [white, black] = dambase_rules::Side::BOTH;
    let job = Job {
        game: &game,
        sets: &sets,
        measure,
        material,
        index,
        children: [children(white)?, children(black)?],
        own,
        arrays: &arrays,
        span: span.map(|span| (span, code_of(span))),
        codes: &codes,
        too_long: AtomicBool::new(false),
        levels,
        turned: (0..=most as usize).map(|k| sets.turned(k)).collect(),
        ctl,
    };
    let arenas = Pool::<Arena<'_, W, M>>::default();
    // Enough work for a task, enough tasks for the threads.
    let positions = index.king_space() * material.sides().len() as u64;
    let at_least = ((1 << 16) / positions.max(1) + 1) as usize;
    for level in 0..job.levels.len() {
        let units = job.levels.units(level);
        let share = units / (4 * rayon::current_num_threads());
        let chunk = at_least.min(share).max(1);
        let task = |i: usize| {
            let mut arena = arenas.take();
            let range = i * chunk..units.min((i + 1) * chunk);
            let mut placements = 0;
            job.levels.try_for_each(level, range, |unit| {
                placements += job.solve(unit, &mut arena);
                // Also when the unit was left unfinished.
                ctl.check()
            })?;
            ctl.add(positions * placements);
            arenas.give(arena);
            Ok::<_, Error>(())
        };
        (0..units.div_ceil(chunk))
            .into_par_iter()
            .try_for_each(task)?;
        if job.too_long.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    if let Some(own) = &job.own {
        for side in dambase_rules::Side::BOTH {
            store
                .planes()
                .put(measure, material, side, &own[side as usize]);
        }
    }
    drop(arenas);
    drop(job);
    Ok(Some(Found {
        wld: arrays.into_iter().map(SharedArray::into_array).collect(),
        codes,
    }))
}

/// [`solve_in`] for materials without kings.
fn solve_men<W: Word>(
    game: &Game<W>,
    sets: &Sets<W>,
    material: Material,
    levels: &Levels<W>,
    store: &Store,
    ctl: &Control,
) -> Result<Vec<WldArray>, Error> {
    let sides = dambase_rules::Side::BOTH;
    let index = Index::<W>::new(game.rules.geometry, material)?;
    let kept = store.placement().values(material);
    let [white, black] = sides.map(|_| SharedArray::new(kept, index.positions()));
    let arrays = [white?, black?];
    let [white, black] =
        sides.map(|mover| Children::new(game, sets, Values, material, mover, None, store));
    let men = Men::new(game, material, [white?, black?], &arrays)?;
    let stored = material.sides().len();
    solve_rows(&men, levels, stored as u64, ctl)?;
    drop(men);
    let arrays = arrays.into_iter().take(stored);
    Ok(arrays.map(SharedArray::into_array).collect())
}

/// [`solve_in`] for values of materials with one king whose men go forward.
fn solve_lone<W: Word>(
    game: &Game<W>,
    sets: &Sets<W>,
    material: Material,
    levels: &Levels<W>,
    store: &Store,
    ctl: &Control,
) -> Result<Vec<WldArray>, Error> {
    let sides = dambase_rules::Side::BOTH;
    let index = Index::<W>::new(game.rules.geometry, material)?;
    let (kept, beside) = (
        store.placement().values(material),
        store.placement().planes(material),
    );
    let [white, black] = sides.map(|_| SharedArray::new(kept, index.positions()));
    let arrays = [white?, black?];
    let planes = |side| Planes::new(game, sets, Values, material, side, beside).map(Arc::new);
    let own = [planes(sides[0])?, planes(sides[1])?];
    let [white, black] = sides.map(|mover| {
        let own = Some(&own[mover.other() as usize]);
        Children::new(game, sets, Values, material, mover, own, store)
    });
    let lone = Lone {
        game,
        material,
        king: unit::fixpoint_view(material),
        index,
        levels,
        children: [white?, black?],
        own: &own,
        arrays: &arrays,
    };
    solve_rows(&lone, levels, 2 * index.king_space(), ctl)?;
    drop(lone);
    for (side, own) in sides.into_iter().zip(&own) {
        store.planes().put(Values, material, side, own);
    }
    Ok(arrays.into_iter().map(SharedArray::into_array).collect())
}

/// Arenas that are not in use.
#[derive(Debug)]
struct Pool<A>(Mutex<Vec<A>>);

impl<A> Default for Pool<A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<A: Default> Pool<A> {
    fn lock(&self) -> MutexGuard<'_, Vec<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn take(&self) -> A {
        self.lock().pop().unwrap_or_default()
    }
    fn give(&self, arena: A) {
        self.lock().push(arena);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That nothing is left to the scalar solver unnoticed.
    #[test]
    fn distances_are_found_here() {
        let (variant, ctl) = (Variant::Russian, Control::new());
        let mut store = Store::new();
        for material in [2, 3].into_iter().flat_map(Material::canonical_with) {
            let wanted = scalar::solve_variant(variant, material, &store, true, &ctl);
            let wanted = wanted.expect("all children are there");
            if material.kings != [0, 0] {
                assert!(pays_for_distances(variant.rules(), material));
                let found = solve_on::<u32>(variant, material, &store, Ask::Distances, &ctl);
                let found = found.expect("all children are there").expect("few plies");
                assert_eq!(found.into_solved(material), wanted);
            }
            store.insert(wanted);
        }
    }

    /// A merit too short for the distances is found out, not cut.
    #[test]
    fn longer_merits_are_asked_for() {
        let rules = Variant::English.rules();
        let (store, ctl) = (Store::new(), Control::new());
        let material = "KvK".parse().expect("a material");
        let solve = |plies| {
            let plies = Plies::up_to(plies).expect("few plies");
            let span = Some(Span::without_end(plies));
            solve_in::<u32, _>(rules, material, &store, plies, span, &ctl).expect("no children")
        };
        assert!(solve(2).is_none());
        assert!(solve(60).is_some());
    }
}
