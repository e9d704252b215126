//! One unit from start to end: exits, fixpoint, and the results put where they belong.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dambase_rules::Side;
use dambase_tables::{Index, Material};
use rayon::prelude::*;

use super::children::Children;
use super::codes::{CodeOf, CodeWriter, SharedCodes};
use super::dense::{SharedArray, Writer};
use super::exits::{Exits, Scratch, Unit};
use super::fixpoint::{Buffers, Family, Mover, Shape, add};
use super::game::Game;
use super::layout::{Sets, shares};
use super::levels::{self, Levels};
use super::measure::Measure;
use super::planes::{
    Planes, WriteUnit, change_view, dense_rows, dense_view, for_each_first, turn_plane,
};
use super::race::{Field, Race, Span, schedule, schedule_on_clock};
use super::word::{Word, with_pack};
use crate::Control;

/// Everything that stays the same for all units of a material.
pub(super) struct Job<'a, W: Word, M: Measure> {
    pub(super) game: &'a Game<W>,
    pub(super) sets: &'a Sets<W>,
    pub(super) measure: M,
    pub(super) material: Material,
    pub(super) index: Index<W>,
    /// By mover.
    pub(super) children: [Children<'a, W, M>; 2],
    /// Planes of the material itself, by side to move, for units that are solved later; none if
    /// there are no men.
    pub(super) own: Option<[Arc<Planes<W>>; 2]>,
    /// In the order of [`Material::sides`].
    pub(super) arrays: &'a [SharedArray],
    /// If plies are counted: how far, and what is written of them.
    pub(super) span: Option<(Span, CodeOf)>,
    /// The same as `arrays` for them.
    pub(super) codes: &'a [SharedCodes],
    /// Set if distances turn out to be too long for the bits of a merit.
    pub(super) too_long: AtomicBool,
    pub(super) levels: Levels<W>,
    /// By number of kings: the number of each set turned by 180 degrees.
    pub(super) turned: Vec<Vec<u32>>,
    pub(super) ctl: &'a Control,
}

/// Buffers of one thread, used for one unit after the other.
pub(super) struct Arena<'a, W: Word, M: Measure> {
    scratch: Scratch<'a, W, M>,
    exits: [Exits<W>; 2],
    movers: [Mover<W>; 2],
    /// The best exits, if distances are measured.
    merits: [Vec<Vec<W>>; 2],
    /// The exits of men that capture nothing, if they are asked for.
    moves: [Vec<W>; 2],
    /// Of the two families.
    buffers: [Buffers<W>; 2],
    races: [Race<W>; 2],
    /// The results as planes of a table, by mover, and in the view of the side without the vector.
    tables: [Vec<Vec<W>>; 2],
    turned: [Vec<Vec<W>>; 2],
    mirrored: Vec<Vec<W>>,
    men: Vec<[W; 2]>,
    all_men: Vec<W>,
    /// The ranks of the placements.
    ranks: Vec<u64>,
    sideways: [Vec<Vec<u32>>; 2],
    writers: Writers,
}

/// What puts values and distances into the dense arrays.
#[derive(Debug, Default)]
struct Writers {
    values: Writer,
    codes: CodeWriter,
}

impl<W: Word, M: Measure> Default for Arena<'_, W, M> {
    fn default() -> Self {
        Self {
            scratch: Scratch::default(),
            exits: Default::default(),
            movers: Default::default(),
            merits: Default::default(),
            moves: Default::default(),
            buffers: Default::default(),
            races: Default::default(),
            tables: Default::default(),
            turned: Default::default(),
            mirrored: Vec::new(),
            men: Vec::new(),
            all_men: Vec::new(),
            ranks: Vec::new(),
            sideways: Default::default(),
            writers: Writers::default(),
        }
    }
}

/// The side whose king is the vector of the fixpoint: the one with longer rows.
pub(super) fn fixpoint_view(material: Material) -> Side {
    if material.kings[0] >= material.kings[1] {
        Side::White
    } else {
        Side::Black
    }
}

impl<'a, W: Word, M: Measure> Job<'a, W, M> {
    /// Solves a unit, unless it is stopped before. Returns how many placements of the men are
    /// finished with it.
    pub(super) fn solve(&'a self, unit: levels::Unit, arena: &mut Arena<'a, W, M>) -> u64 {
        let (game, sets, measure) = (self.game, self.sets, self.measure);
        let v = fixpoint_view(self.material);
        let o = v.other();
        let kings = |s: Side| self.material.kings[s as usize] as usize;
        self.levels.men(unit, &mut arena.men);
        if arena.men.is_empty() {
            return 0;
        }
        arena.all_men.clear();
        arena.all_men.extend(arena.men.iter().map(|m| m[0] | m[1]));
        arena.ranks.clear();
        arena
            .ranks
            .extend(arena.men.iter().map(|&m| self.index.men_rank(m)));
        self.link_sideways(v, &arena.men, &mut arena.sideways);
        let words = sets.count(kings(v) - 1) * sets.count(kings(o));
        let all = words * arena.men.len();
        let misere = game.misere();
        let parts = self.parts();
        // The plies of a clock are counted from exits that are not measured.
        let on_clock = self.span.is_some() && measure.plies().is_none();
        let with_moves = misere || on_clock;

        // Exits of both sides; those of the other side in its own view first.
        let own_view = kings(o) > 0;
        let other_words = if own_view {
            sets.count(kings(o) - 1) * sets.count(kings(v))
        } else {
            words
        };
        // With kings only and the same for both sides, one side is the mirror image of the other.
        let alike = self.material.is_symmetric() && self.material.all_men() == 0;
        let turned = (
            &self.turned[kings(v)][..],
            &self.turned[kings(v).saturating_sub(1)][..],
        );
        for (side, words, i) in [(v, words, 0), (o, other_words, 1)] {
            if alike && i == 1 {
                let [first, second] = &mut arena.exits;
                second.reset(words, measure.planes(), with_moves);
                for (from, to) in first.planes_mut().zip(second.planes_mut()) {
                    turn_plane(game.n, turned, from, to);
                }
                continue;
            }
            let exits = &mut arena.exits[i];
            exits.reset(words * arena.men.len(), measure.planes(), with_moves);
            let children = &self.children[side as usize];
            if self.own.is_none() {
                self.exits_of_kings(children, words, exits);
                continue;
            }
            for (p, &men) in arena.men.iter().enumerate() {
                let scratch = &mut arena.scratch;
                Unit::new(game, sets, children, self.material, men, scratch)
                    .run(&mut exits.part(measure, p, words), scratch);
            }
        }
        for (i, exits) in arena.exits.iter_mut().enumerate() {
            let mover = &mut arena.movers[i];
            let (merits, moves) = (&mut arena.merits[i], &mut arena.moves[i]);
            let receive = |(from, to): (&mut Vec<W>, &mut Vec<W>)| {
                if i == 0 || !own_view {
                    std::mem::swap(from, to);
                    return;
                }
                to.clear();
                if from.is_empty() {
                    return;
                }
                to.resize(all, W::EMPTY);
                for (from, to) in from
                    .chunks_exact(other_words)
                    .zip(to.chunks_exact_mut(words))
                {
                    change_view(sets, (kings(o), kings(v)), parts, from, to);
                }
            };
            let from = exits.planes_mut();
            if measure.plies().is_some() {
                merits.resize_with(measure.planes(), Vec::new);
                let to = [&mut mover.capture].into_iter().chain(&mut *merits);
                from.zip(to.chain([moves])).for_each(receive);
                close_decided(mover, merits);
            } else {
                let to = [&mut mover.capture, &mut mover.won, &mut mover.closed, moves];
                from.zip(to).for_each(receive);
                if !on_clock {
                    close_captures(mover);
                }
            }
        }

        let shape = Shape {
            parts,
            game,
            sets,
            kings: [kings(v), kings(o)],
            men: &arena.all_men,
            sideways: [&arena.sideways[0], &arena.sideways[1]],
            ctl: self.ctl,
        };
        let [mv, mo] = &mut arena.movers;
        if misere {
            shape.award_stuck(mv, &arena.moves[0], true, &mut arena.buffers[0]);
            shape.award_stuck(mo, &arena.moves[1], false, &mut arena.buffers[0]);
        }
        let join = parts > 1;
        if let Some((span, _)) = self.span {
            let work = RaceWork {
                span,
                movers: &mut arena.movers,
                races: &mut arena.races,
                buffers: &mut arena.buffers,
                tables: &mut arena.tables,
            };
            let exits = if on_clock {
                Scheduled::OnClock(&arena.moves)
            } else {
                Scheduled::ByMerit(&arena.merits)
            };
            if !work.run(exits, &shape, alike.then_some(turned), join) {
                self.too_long.store(true, Ordering::Relaxed);
                return 0;
            }
        } else {
            let [vector, other] = &mut Family::both(mv, mo);
            let [a, b] = &mut arena.buffers;
            if alike {
                shape.vector_wins(vector, a);
                let lost = mirror_image(sets, kings(v), parts, turned, &mo.lost);
                mv.lost.copy_from_slice(&lost);
            } else {
                in_turn(
                    join,
                    || shape.vector_wins(vector, a),
                    || shape.other_wins(other, b),
                );
            }
            for (table, mover) in arena.tables.iter_mut().zip(&mut arena.movers) {
                table.resize_with(2, Vec::new);
                std::mem::swap(&mut table[0], &mut mover.won);
                std::mem::swap(&mut table[1], &mut mover.lost);
            }
        }
        let mirror = self.levels.has_mirror(unit);
        self.write(v, words, mirror, arena);
        arena.men.len() as u64 * (1 + u64::from(mirror))
    }

    /// Into how many parts the one unit of a material without men is split, if that pays.
    fn parts(&self) -> usize {
        if self.own.is_none() && self.index.king_space() >= 1 << 15 {
            rayon::current_num_threads()
        } else {
            1
        }
    }

    /// The exits of the one unit of a material without men, by several threads.
    fn exits_of_kings(
        &'a self,
        children: &'a Children<'a, W, M>,
        words: usize,
        out: &mut Exits<W>,
    ) {
        let unit = |scratch: &mut Scratch<'a, W, M>| {
            let men = [W::EMPTY; 2];
            Unit::new(self.game, self.sets, children, self.material, men, scratch)
        };
        let whole = unit(&mut Scratch::default());
        let (all, pieces) = (whole.strips(), 8 * rayon::current_num_threads());
        let strips: Vec<_> = (0..pieces)
            .map(|i| all * i / pieces..all * (i + 1) / pieces)
            .filter(|strips| !strips.is_empty())
            .collect();
        let parts = out.part(self.measure, 0, words).split(&whole, &strips);
        parts
            .into_par_iter()
            .zip(strips)
            .for_each(|(mut part, strips)| {
                if self.ctl.is_stopped() {
                    return;
                }
                let mut scratch = Scratch::default();
                unit(&mut scratch).run_strips(strips, &mut part, &mut scratch);
            });
    }

    /// Finds which placements of a unit a sideways step of each side leads to; side of the vector
    /// first.
    fn link_sideways(&self, v: Side, men: &[[W; 2]], links: &mut [Vec<Vec<u32>>; 2]) {
        let game = self.game;
        for (links, side) in links.iter_mut().zip([v, v.other()]) {
            links.clear();
            let dirs = &game.man_sideways[side as usize];
            if dirs.is_empty() || self.material.men[side as usize] == 0 {
                continue;
            }
            let s = side as usize;
            for placed in men {
                let occupied = placed[0] | placed[1];
                let mut to = Vec::new();
                for from in placed[s].squares() {
                    for &d in dirs {
                        let square = game.grid.step[d][from as usize];
                        if square == dambase_rules::geometry::OFF || occupied.has(square) {
                            continue;
                        }
                        let mut after = *placed;
                        after[s] ^= W::bit(from) | W::bit(square);
                        let p = men.iter().position(|m| *m == after);
                        to.push(p.expect("a placement of the same unit") as u32);
                    }
                }
                links.push(to);
            }
        }
    }

    /// Puts the results into the planes of the material and into the dense arrays.
    fn write(&self, v: Side, words: usize, mirror: bool, arena: &mut Arena<'_, W, M>) {
        let (sets, material) = (self.sets, self.material);
        let o = v.other();
        let kings = |s: Side| material.kings[s as usize] as usize;
        let dense = dense_view(material);
        let sides = material.sides();
        // The side with the vector to move is read by its parents through a king of the other
        // side; the dense arrays follow White's kings.
        let turn = |mover: usize| {
            let to_planes = mover == 0 && self.own.is_some();
            kings(o) > 0 && (to_planes || dense != v || mirror)
        };
        let other_words = if kings(o) > 0 {
            sets.count(kings(o) - 1) * sets.count(kings(v))
        } else {
            words
        };
        for mover in 0..2 {
            if !turn(mover) {
                continue;
            }
            let (from, to) = (&arena.tables[mover], &mut arena.turned[mover]);
            to.resize_with(from.len(), Vec::new);
            for (from, to) in from.iter().zip(to) {
                to.clear();
                to.resize(other_words * arena.men.len(), W::EMPTY);
                for (from, to) in from
                    .chunks_exact(words)
                    .zip(to.chunks_exact_mut(other_words))
                {
                    change_view(sets, (kings(v), kings(o)), self.parts(), from, to);
                }
            }
        }
        if let Some(own) = &self.own {
            for (p, &rank) in arena.ranks.iter().enumerate() {
                for (mover, side) in [v, o].into_iter().enumerate() {
                    let planes = &own[side as usize];
                    let (source, words) = if planes.view == v {
                        (&arena.tables[mover], words)
                    } else {
                        (&arena.turned[mover], other_words)
                    };
                    // SAFETY: this unit is solved by this thread only, once, and others read it
                    // only after the level is finished.
                    #[allow(unsafe_code)]
                    let rows = unsafe { planes.rows_mut(rank) };
                    for (to, from) in rows.zip(source) {
                        to.copy_from_slice(&from[p * words..(p + 1) * words]);
                    }
                }
            }
        }
        if mirror {
            self.write_mirrored(words, arena);
        }
        for (i, &side) in sides.iter().enumerate() {
            let mover = usize::from(side != v);
            let (source, words) = if dense == v {
                (&arena.tables[mover], words)
            } else {
                (&arena.turned[mover], other_words)
            };
            for (p, &rank) in arena.ranks.iter().enumerate() {
                let range = p * words..(p + 1) * words;
                let table = |plane: usize| &source[plane][range.clone()];
                let (start, men) = (rank * self.index.king_space(), arena.all_men[p]);
                if self.parts() == 1 {
                    let rows = dense_rows(sets, material);
                    self.write_dense(i, start, men, rows, table, &mut arena.writers);
                    continue;
                }
                let rows = dense_rows(sets, material).len();
                // Without men a row has as many positions as any other.
                let of_row = self.index.king_space() / rows as u64;
                let parts = shares(rows, 4 * self.parts()).into_par_iter();
                parts.for_each(|rows| {
                    let start = start + of_row * rows.start as u64;
                    self.write_dense(i, start, men, rows, table, &mut Writers::default());
                });
            }
        }
    }

    /// The same for the mirror image of a unit of a material that is the same for both sides. The
    /// vector was White's king; the mirror image of a position with White to move has Black to
    /// move.
    fn write_mirrored(&self, words: usize, arena: &mut Arena<'_, W, M>) {
        let kings = self.material.kings[0] as usize;
        let turned = (&self.turned[kings][..], &self.turned[kings - 1][..]);
        let n = self.game.n;
        for (p, men) in arena.men.iter().enumerate() {
            let range = p * words..(p + 1) * words;
            let men = [men[1].reversed(n), men[0].reversed(n)];
            let rank = self.index.men_rank(men);
            for (side, source) in [
                (Side::White, &arena.tables[1]),
                (Side::Black, &arena.turned[0]),
            ] {
                let Some(own) = &self.own else {
                    continue;
                };
                // SAFETY: as in `write`; the mirror image is solved with this unit only.
                #[allow(unsafe_code)]
                let rows = unsafe { own[side as usize].rows_mut(rank) };
                for (to, from) in rows.zip(source) {
                    turn_plane(n, turned, &from[range.clone()], to);
                }
            }
            let source = &arena.turned[1];
            let mirrored = &mut arena.mirrored;
            mirrored.resize_with(source.len(), Vec::new);
            for (from, to) in source.iter().zip(&mut *mirrored) {
                to.resize(words, W::EMPTY);
                turn_plane(n, turned, &from[range.clone()], to);
            }
            let table = |plane: usize| &mirrored[plane][..];
            let (start, rows) = (
                rank * self.index.king_space(),
                dense_rows(self.sets, self.material),
            );
            let writers = &mut arena.writers;
            self.write_dense(0, start, men[0] | men[1], rows, table, writers);
        }
    }

    /// Writes rows of one king space to the dense arrays of side number `i` from `start` on, from the
    /// planes of words in the dense view.
    fn write_dense<'t>(
        &self,
        i: usize,
        start: u64,
        men: W,
        rows: Range<usize>,
        table: impl Fn(usize) -> &'t [W],
        writers: &mut Writers,
    ) {
        let (game, sets, material) = (self.game, self.sets, self.material);
        if let Some((Span { plies, .. }, of)) = &self.span {
            // Merits are the planes, or stand behind them.
            let first = self.measure.plies().map_or(self.measure.planes(), |_| 0);
            let merits = plies.array(|p| table(first + p));
            let codes = &mut writers.codes;
            codes.start();
            for_each_first(game, sets, material, men, rows.clone(), |at, first, _| {
                let cell = plies.array(|p| merits[p][at]);
                codes.row(of, &cell[..plies.bits()], first);
            });
            codes.finish(&self.codes[i], start);
        }
        let table = self.measure.array(table);
        writers.values.start(start);
        with_pack(WriteUnit {
            game,
            sets,
            measure: self.measure,
            material,
            men,
            rows,
            table,
            writer: &mut writers.values,
        });
        writers.values.finish(&self.arrays[i]);
    }
}

/// The exits of a unit whose plies are counted, by mover.
#[derive(Clone, Copy)]
enum Scheduled<'r, W> {
    /// Their merits.
    ByMerit(&'r [Vec<Vec<W>>; 2]),
    /// A clock is running: they are in the movers, and these are those of men that capture nothing.
    OnClock(&'r [Vec<W>; 2]),
}

/// What the plies of a unit are counted in.
struct RaceWork<'r, W: Word> {
    span: Span,
    movers: &'r mut [Mover<W>; 2],
    races: &'r mut [Race<W>; 2],
    buffers: &'r mut [Buffers<W>; 2],
    tables: &'r mut [Vec<Vec<W>>; 2],
}

impl<W: Word> RaceWork<'_, W> {
    /// Fills the tables: with merits, on a clock with values and behind them merits. Returns false
    /// if merits have too few bits. `turned` if the material is the same for both sides and has
    /// kings only.
    fn run(
        self,
        exits: Scheduled<'_, W>,
        shape: &Shape<'_, W>,
        turned: Option<(&[u32], &[u32])>,
        join: bool,
    ) -> bool {
        let ([mv, mo], [vector, other]) = (self.movers, self.races);
        let (span, plies) = (self.span, self.span.plies);
        let words = mv.capture.len();
        vector.reset(plies, words);
        other.reset(plies, words);
        match exits {
            Scheduled::ByMerit([v, o]) => {
                schedule(plies, &mv.capture, v, &mv.won, vector, other);
                schedule(plies, &mo.capture, o, &mo.won, other, vector);
                // What is stuck has been scheduled.
                mv.won.fill(W::EMPTY);
                mo.won.fill(W::EMPTY);
            }
            Scheduled::OnClock([v, o]) => {
                schedule_on_clock(mv, v, vector, other);
                schedule_on_clock(mo, o, other, vector);
            }
        }
        let mut vector_wins = Field {
            won: &mut mv.won,
            lost: &mut mo.lost,
            capture: &mv.capture,
            closed: &mut mo.closed,
        };
        let mut other_wins = Field {
            won: &mut mo.won,
            lost: &mut mv.lost,
            capture: &mo.capture,
            closed: &mut mv.closed,
        };
        let [a, b] = self.buffers;
        let fits = if turned.is_some() {
            shape.race(span, true, &mut vector_wins, vector, a)
        } else {
            let (first, second) = in_turn(
                join,
                || shape.race(span, true, &mut vector_wins, vector, a),
                || shape.race(span, false, &mut other_wins, other, b),
            );
            first && second
        };
        if !fits {
            return false;
        }
        let [tv, to] = self.tables;
        let on_clock = matches!(exits, Scheduled::OnClock(_));
        let values = if on_clock { 2 } else { 0 };
        let image =
            |turned, of: &[W]| mirror_image(shape.sets, shape.kings[0], shape.parts, turned, of);
        for (table, mover) in [(&mut *tv, mv), (&mut *to, mo)] {
            table.resize_with(values + plies.bits(), Vec::new);
            if on_clock {
                std::mem::swap(&mut table[0], &mut mover.won);
                std::mem::swap(&mut table[1], &mut mover.lost);
            }
        }
        if let Some(turned) = turned.filter(|_| on_clock) {
            tv[1].copy_from_slice(&image(turned, &to[1]));
        }
        for p in 0..plies.bits() {
            let (tv, to) = (&mut tv[values + p], &mut to[values + p]);
            std::mem::swap(tv, &mut vector.won_merits[p]);
            std::mem::swap(to, &mut vector.lost_merits[p]);
            if let Some(turned) = turned {
                add(&image(turned, to), tv);
            } else {
                add(&other.lost_merits[p], tv);
                add(&other.won_merits[p], to);
            }
        }
        if !on_clock {
            shape.add_draws(tv);
            shape.add_draws(to);
        }
        true
    }
}

/// Without distances: captures are lost at once if none escapes, and nothing else happens to them.
/// `won` and `closed` have the exits that win and those that escape.
fn close_captures<W: Word>(mover: &mut Mover<W>) {
    mover.lost.clear();
    let seeds = mover.capture.iter().zip(&mover.closed);
    mover.lost.extend(seeds.map(|(&c, &e)| c & !e));
    for (closed, &capture) in mover.closed.iter_mut().zip(&mover.capture) {
        *closed |= capture;
    }
}

/// With distances: nothing is decided yet, and what has an exit waits for it.
fn close_decided<W: Word>(mover: &mut Mover<W>, merits: &[Vec<W>]) {
    for plane in [&mut mover.won, &mut mover.lost] {
        plane.clear();
        plane.resize(mover.capture.len(), W::EMPTY);
    }
    mover.closed.clear();
    mover.closed.extend_from_slice(&mover.capture);
    for plane in merits {
        for (closed, &word) in mover.closed.iter_mut().zip(plane) {
            *closed |= word;
        }
    }
}

/// Does both, at the same time if `join`.
fn in_turn<A: Send, B: Send>(
    join: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if join { rayon::join(a, b) } else { (a(), b()) }
}

/// What a plane of the side without the vector is for the side with it, if the material is the same
/// for both and has kings only. `turned` are the numbers of the turned sets.
fn mirror_image<W: Word>(
    sets: &Sets<W>,
    kings: usize,
    parts: usize,
    turned: (&[u32], &[u32]),
    from: &[W],
) -> Vec<W> {
    let mut buffer = vec![W::EMPTY; from.len()];
    change_view(sets, (kings, kings), parts, from, &mut buffer);
    let mut to = vec![W::EMPTY; from.len()];
    turn_plane(sets.n, turned, &buffer, &mut to);
    to
}
