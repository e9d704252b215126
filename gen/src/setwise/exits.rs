//! Moves that leave the unit: captures, men's moves, crownings.
//!
//! For every position of one placement of the men and one mover: is there a capture, is there an
//! exit to a position the opponent has lost, and is there one to a position the opponent has not
//! won. The vector is a king of the mover, or of the opponent if the mover has none.

use std::ops::Range;

use dambase_rules::geometry::{OFF, opposite};
use dambase_tables::Material;

use super::children::{Blocks, Captured, Children};
use super::events::{Chance, Lane, Row, Slots, scratch_words};
use super::game::Game;
use super::layout::{Sets, legal_word, rank};
use super::measure::{Measure, part, part_mut};
use super::walk::{At, Leaf, Vector, Walk, men_after};
use super::word::{Word, kernel};

mod kingless;

/// The results, `[kings of the other side][other kings of the vector's side]`.
#[derive(Debug, Default)]
pub(super) struct Exits<W> {
    /// The mover must capture.
    pub(super) capture: Vec<W>,
    /// What is known of the best exit; without distances: one wins, one does not lose.
    pub(super) best: Vec<Vec<W>>,
    /// A man can make a quiet move that is an exit; only if that is asked for.
    pub(super) moves: Vec<W>,
}

/// The results of one placement of the men, or of some strips of it.
pub(super) struct Part<'p, W: Word, M: Measure> {
    /// The first of its words.
    first: usize,
    capture: &'p mut [W],
    best: M::Array<&'p mut [W]>,
    moves: &'p mut [W],
    measure: M,
}

impl<W: Word> Exits<W> {
    /// Makes room for `words` empty words of so many planes.
    pub(super) fn reset(&mut self, words: usize, planes: usize, moves: bool) {
        self.best.resize_with(planes, Vec::new);
        for plane in self.best.iter_mut().chain([&mut self.capture]) {
            plane.clear();
            plane.resize(words, W::EMPTY);
        }
        self.moves.clear();
        self.moves.resize(if moves { words } else { 0 }, W::EMPTY);
    }
    /// All planes in their order: captures, exits, moves.
    pub(super) fn planes_mut(&mut self) -> impl Iterator<Item = &mut Vec<W>> {
        let Self {
            capture,
            best,
            moves,
        } = self;
        [capture].into_iter().chain(best).chain([moves])
    }
    /// The words of placement number `p` if each has `words`.
    pub(super) fn part<M: Measure>(
        &mut self,
        measure: M,
        p: usize,
        words: usize,
    ) -> Part<'_, W, M> {
        let range = p * words..(p + 1) * words;
        let moves = if self.moves.is_empty() {
            0..0
        } else {
            range.clone()
        };
        let mut best = self.best.iter_mut();
        Part {
            first: 0,
            capture: &mut self.capture[range.clone()],
            best: measure.array(|_| match best.next() {
                Some(plane) => &mut plane[range.clone()],
                None => &mut [],
            }),
            moves: &mut self.moves[moves],
            measure,
        }
    }
}

impl<'p, W: Word, M: Measure> Part<'p, W, M> {
    /// Pieces for the strips of each range; the ranges follow one another.
    pub(super) fn split(self, unit: &Unit<'_, W, M>, strips: &[Range<usize>]) -> Vec<Self> {
        let mut rest = self;
        let mut parts = Vec::new();
        for range in &strips[1..] {
            let at = unit.start(range.start) - rest.first;
            let cut = |words: &'p mut [W]| words.split_at_mut(at.min(words.len()));
            let (capture, capture_rest) = cut(rest.capture);
            let (moves, moves_rest) = cut(rest.moves);
            let measure = rest.measure;
            let mut planes = rest.best.as_mut().iter_mut();
            let mut later = Vec::new();
            let best = measure.array(|_| {
                let (now, rest) = planes
                    .next()
                    .map(std::mem::take)
                    .map(cut)
                    .unwrap_or_default();
                later.push(rest);
                now
            });
            let mut later = later.into_iter();
            parts.push(Part {
                first: rest.first,
                capture,
                best,
                moves,
                measure,
            });
            rest = Part {
                first: rest.first + at,
                capture: capture_rest,
                best: measure.array(|_| later.next().unwrap_or_default()),
                moves: moves_rest,
                measure,
            };
        }
        parts.push(rest);
        parts
    }
}

/// Buffers that are used again for every unit.
pub(super) struct Scratch<'a, W: Word, M: Measure> {
    quiets: Vec<Quiet<'a, W, M>>,
    jumps: Vec<Jump<'a, W, M>>,
    blocks: Blocks<'a, W>,
    chances: Vec<Chance<W>>,
    slots: Slots<W>,
    words: Vec<W>,
    kings: Vec<W>,
    legal: Vec<W>,
    /// The planes of quiet moves, one after the other.
    quiet: Vec<W>,
    moves: Vec<W>,
    event: Vec<Found<W, M>>,
    after: Vec<After<'a, W, M>>,
}

impl<W: Word, M: Measure> Default for Scratch<'_, W, M> {
    fn default() -> Self {
        Self {
            quiets: Vec::new(),
            jumps: Vec::new(),
            blocks: Blocks::default(),
            chances: Vec::new(),
            slots: Slots::default(),
            words: Vec::new(),
            kings: Vec::new(),
            legal: Vec::new(),
            quiet: Vec::new(),
            moves: Vec::new(),
            event: Vec::new(),
            after: Vec::new(),
        }
    }
}

/// What a walk has found for one rank.
struct Found<W: Word, M: Measure> {
    rank: u64,
    capture: W,
    best: M::Array<W>,
}

/// A man's jump that may become possible: who takes, who is taken, and where it lands.
struct Jump<'a, W: Word, M: Measure> {
    from: u8,
    victim: u8,
    to: u8,
    crowned: bool,
    /// It may go on if an enemy stands on one of these squares.
    near: W,
    /// The planes if it takes a king and does not go on, if the mover has no king and the opponent
    /// has several.
    king_taken: Option<M::Array<&'a [W]>>,
}

/// The planes of what the capture of a man of a side without kings leads to.
struct After<'a, W: Word, M: Measure> {
    /// The men, whether one has been crowned, and the kings left.
    key: ([W; 2], bool, usize),
    child: M::Array<&'a [W]>,
}

/// A man's quiet exit with the child's planes.
struct Quiet<'a, W: Word, M: Measure> {
    to: u8,
    crowned: bool,
    child: M::Array<&'a [W]>,
}

kernel! {
    fn legal_row<W: Word>(all: W, fixed: W, kings: &[W], legal: &mut [W]) {
        for (legal, &kings) in legal.iter_mut().zip(kings) {
            *legal = legal_word(all, fixed, kings);
        }
    }
}

kernel! {
    /// Captures are compulsory; nothing holds on illegal squares. `quiet` has one plane after the
    /// other.
    fn combine<W: Word>(legal: &[W], quiet: &[W], capture: &mut [W], best: &mut [&mut [W]]) {
        let n = legal.len();
        let capture = &mut capture[..n];
        for (best, quiet) in best.iter_mut().zip(quiet.chunks_exact(n)) {
            let best = &mut best[..n];
            for i in 0..n {
                best[i] = (best[i] | quiet[i] & !capture[i]) & legal[i];
            }
        }
        for i in 0..n {
            capture[i] &= legal[i];
        }
    }
}

/// One placement of the men and one mover.
pub(super) struct Unit<'a, W: Word, M: Measure> {
    game: &'a Game<W>,
    sets: &'a Sets<W>,
    measure: M,
    children: &'a Children<'a, W, M>,
    x: usize,
    y: usize,
    men: [W; 2],
    all_men: W,
    /// Kings of the mover and of the opponent.
    kings: [usize; 2],
    quiets: Vec<Quiet<'a, W, M>>,
    jumps: Vec<Jump<'a, W, M>>,
}

impl<'a, W: Word, M: Measure> Unit<'a, W, M> {
    pub(super) fn new(
        game: &'a Game<W>,
        sets: &'a Sets<W>,
        children: &'a Children<'a, W, M>,
        material: Material,
        men: [W; 2],
        scratch: &mut Scratch<'a, W, M>,
    ) -> Self {
        let mover = children.mover;
        let (x, y) = (mover as usize, mover.other() as usize);
        let all_men = men[0] | men[1];
        let mut unit = Self {
            game,
            sets,
            measure: children.measure,
            children,
            x,
            y,
            men,
            all_men,
            kings: [material.kings[x] as usize, material.kings[y] as usize],
            quiets: std::mem::take(&mut scratch.quiets),
            jumps: std::mem::take(&mut scratch.jumps),
        };
        unit.prepare();
        unit
    }

    fn prepare(&mut self) {
        let game = self.game;
        self.quiets.clear();
        self.jumps.clear();
        for from in self.men[self.x].squares() {
            for &d in &game.man_capture[self.x] {
                let victim = game.grid.step[d][from as usize];
                if victim == OFF || self.men[self.x].has(victim) {
                    continue;
                }
                let to = game.grid.step[d][victim as usize];
                if to != OFF && !self.all_men.has(to) {
                    let crowned = game.crown[self.x].has(to);
                    let near = game.may_go_on(self.x, to, self.men[self.x]);
                    let taken = self.kings[0] == 0 && self.kings[1] > 1;
                    let king_taken = taken.then(|| {
                        let men = men_after(self.men, self.x, (from, to), crowned, W::EMPTY);
                        self.children.block(crowned, self.kings[1] - 1, men)
                    });
                    self.jumps.push(Jump {
                        from,
                        victim,
                        to,
                        crowned,
                        near,
                        king_taken,
                    });
                }
            }
            for &d in &game.man_forward[self.x] {
                let to = game.grid.step[d][from as usize];
                if to == OFF || self.all_men.has(to) {
                    continue;
                }
                let crowned = game.crown[self.x].has(to);
                let men = men_after(self.men, self.x, (from, to), crowned, W::EMPTY);
                let child = self.children.block(crowned, self.kings[1], men);
                self.quiets.push(Quiet { to, crowned, child });
            }
        }
    }

    /// Whether a strip is a row of placements of an enemy king.
    fn enemy_lanes(&self) -> bool {
        self.kings[0] == 1 && self.kings[1] > 0
    }
    /// How many strips there are. Each is computed by itself, and they follow one another in the
    /// planes.
    pub(super) fn strips(&self) -> usize {
        match self.kings {
            [0, _] => 1,
            [_, ky] if self.enemy_lanes() => self.sets.count(ky - 1),
            [_, ky] => self.sets.count(ky),
        }
    }
    /// The first word of a strip.
    fn start(&self, strip: usize) -> usize {
        match self.kings {
            [0, _] => 0,
            [_, ky] if self.enemy_lanes() => self.sets.below(ky - 1, strip).0,
            [kx, _] => strip * self.sets.count(kx - 1),
        }
    }

    /// Computes all exits of the mover. `out` must have been reset.
    pub(super) fn run(self, out: &mut Part<'_, W, M>, scratch: &mut Scratch<'a, W, M>) {
        let strips = 0..self.strips();
        self.run_strips(strips, out, scratch);
    }

    /// Computes the exits of some strips; `out` has their words.
    pub(super) fn run_strips(
        self,
        strips: Range<usize>,
        out: &mut Part<'_, W, M>,
        scratch: &mut Scratch<'a, W, M>,
    ) {
        let [kx, ky] = self.kings;
        let sets = self.sets;
        let enemies = (self.men[self.y].count() as usize) + ky;
        let words = scratch_words(self.game, enemies, self.measure.planes());
        scratch.words.resize(words, W::EMPTY);
        if kx == 0 {
            self.without_king(out, scratch);
        } else {
            let (lane, inner, still) = if self.enemy_lanes() {
                (Lane::Enemy, 1, sets.all(ky - 1))
            } else if kx == 1 {
                (Lane::None, 1, sets.all(ky))
            } else {
                (Lane::Own, sets.count(kx - 1), sets.all(ky))
            };
            let mut captured =
                Captured::new(self.children, self.men, ky, inner, &mut scratch.blocks);
            for i in strips {
                let still = still[i];
                let len = if lane == Lane::Enemy {
                    sets.below(ky - 1, i).1
                } else {
                    inner
                };
                if len > 0 && (still & self.all_men).is_empty() {
                    let start = self.start(i);
                    self.strip(start, len, still, lane, &mut captured, out, scratch);
                }
            }
            scratch.blocks = captured.into_blocks();
        }
        scratch.quiets = self.quiets;
        scratch.jumps = self.jumps;
    }

    /// The words from `start` on. `still`: enemy kings that stand still in the strip. The words are
    /// the placements of the mover's other kings, or with an enemy lane the squares of one more
    /// enemy king.
    #[allow(clippy::too_many_arguments)]
    fn strip(
        &self,
        start: usize,
        len: usize,
        still: W,
        lane: Lane,
        captured: &mut Captured<'a, W, M>,
        out: &mut Part<'_, W, M>,
        scratch: &mut Scratch<'a, W, M>,
    ) {
        let (game, sets) = (self.game, self.sets);
        let kx = self.kings[0];
        let fixed = self.all_men | still;
        let enemies = self.men[self.y] | still;
        let Scratch {
            slots,
            words,
            kings,
            legal,
            quiet,
            moves,
            event,
            chances,
            ..
        } = scratch;
        let measure = self.measure;
        // The kings but for the vector, and where it may stand.
        kings.clear();
        if lane == Lane::Enemy {
            kings.extend(game.bit[..len].iter().map(|&b| b | still));
            legal.resize(len, W::EMPTY);
            legal_row(game.all, self.all_men, kings, legal);
        } else {
            kings.extend_from_slice(&sets.all(kx - 1)[..len]);
            legal.resize(len, W::EMPTY);
            legal_row(game.all, fixed, kings, legal);
        }
        slots.clear(len);
        let rows = if lane == Lane::Own {
            sets.all(kx - 2)
        } else {
            &[W::EMPTY][..]
        };
        for (i, &own) in rows.iter().enumerate() {
            let (base, row) = match lane {
                Lane::Own => sets.below(kx - 2, i),
                _ => (0, len),
            };
            if row == 0 || !(own & fixed).is_empty() {
                continue;
            }
            Row {
                game,
                measure,
                captured,
                slots,
                chances,
                fixed: fixed | own,
                enemies,
                enemy_kings: still,
                lane,
                len: row,
                offset: base,
                own: base,
            }
            .run(words);
        }
        if lane == Lane::Own {
            self.other_kings(still, captured, slots, event);
        }
        self.men_captures(still, lane, kings, legal, slots);
        let range = start..start + len;
        let own = start - out.first..start - out.first + len;
        let mut best = part_mut(measure, &mut out.best, own.clone());
        let best = &mut best.as_mut()[..measure.planes()];
        let capture = &mut out.capture[own.clone()];
        if !slots.is_empty() {
            slots.merge(capture, best);
        }
        quiet.clear();
        quiet.resize(measure.planes() * len, W::EMPTY);
        let mut rows = quiet.chunks_exact_mut(len);
        let mut rows = measure.array(|_| rows.next().unwrap_or_default());
        for q in &self.quiets {
            if still.has(q.to) {
                continue;
            }
            let to = W::bit(q.to);
            if !q.crowned {
                let child = part(measure, &q.child, range.clone());
                measure.quiet_row(kings, to, &child, &mut rows);
                continue;
            }
            let child_inner = sets.count(kx);
            for i in 0..len {
                if legal[i].is_empty() || kings[i].has(q.to) {
                    continue;
                }
                let (outer, own) = match lane {
                    Lane::Enemy => (start + i, 0),
                    _ => (start / len, i),
                };
                let Some(cell) = sets.cells(kx - 1, own).at(q.to as usize) else {
                    continue;
                };
                let at = outer * child_inner + cell;
                measure.add(&mut rows, i, &measure.cell(&q.child, at), !to);
            }
        }
        if !out.moves.is_empty() {
            moves.clear();
            moves.resize(len, W::EMPTY);
            for q in &self.quiets {
                for (m, k) in moves.iter_mut().zip(&*kings) {
                    if !k.has(q.to) {
                        *m |= !W::bit(q.to);
                    }
                }
            }
            for ((o, m), l) in out.moves[own].iter_mut().zip(&*moves).zip(&*legal) {
                *o = *m & *l;
            }
        }
        drop(rows);
        combine(legal, quiet, capture, best);
    }

    /// Captures by the mover's kings but the vector: for each event, what follows it does not
    /// depend on the square it started from.
    fn other_kings(
        &self,
        enemy_kings: W,
        captured: &mut Captured<'a, W, M>,
        slots: &mut Slots<W>,
        event: &mut Vec<Found<W, M>>,
    ) {
        let (game, sets, measure) = (self.game, self.sets, self.measure);
        let stay = self.kings[0] - 2;
        let enemies = self.men[self.y] | enemy_kings;
        for (i, &own) in sets.all(stay).iter().enumerate() {
            let fixed = self.all_men | enemy_kings;
            if !(own & fixed).is_empty() {
                continue;
            }
            let occupied = fixed | own;
            let cells = sets.cells(stay, i);
            for q in enemies.squares() {
                for &d in &game.king_capture {
                    let back = opposite(d);
                    let from = game.span(back, q, occupied);
                    if from.is_empty() {
                        continue;
                    }
                    event.clear();
                    let mut walk = Walk {
                        game,
                        mover: self.x,
                        enemy_kings,
                        vector: Vector::Own,
                        leaf: |leaf: Leaf<W>| {
                            let left = enemy_kings & !leaf.captured;
                            let child = captured.child(leaf.captured, false);
                            let cell = cells.at(leaf.to as usize).unwrap_or(0);
                            let at = captured.number(left, cell);
                            note(measure, event, &leaf, &measure.cell(&child, at));
                        },
                    };
                    let at = At::start(W::ALL, occupied, enemies, false);
                    walk.land(&at, q, d, W::ALL, false);
                    for f in &*event {
                        let (capture, mut best) = slots.all_of_rank(measure, f.rank);
                        for a in from.squares() {
                            let Some(cell) = cells.at(a as usize) else {
                                continue;
                            };
                            let clear = !game.between(back, q, a);
                            capture[cell] |= f.capture & clear;
                            measure.add(&mut best, cell, &f.best, clear);
                        }
                    }
                }
            }
        }
    }

    /// True if one of the mover's men may have a jump; the vector and further kings only block.
    fn may_jump(&self, enemies: W, occupied: W) -> bool {
        self.jumps
            .iter()
            .any(|j| enemies.has(j.victim) && !occupied.has(j.to))
    }

    /// Captures by men while the vector is a king of the same side.
    fn men_captures(&self, still: W, lane: Lane, kings: &[W], legal: &[W], slots: &mut Slots<W>) {
        let (game, sets, measure) = (self.game, self.sets, self.measure);
        let kx = self.kings[0];
        if self.jumps.is_empty()
            || (lane != Lane::Enemy
                && !self.may_jump(self.men[self.y] | still, self.all_men | still))
        {
            return;
        }
        for (i, (&kings, &legal)) in kings.iter().zip(legal).enumerate() {
            let enemy_kings = if lane == Lane::Enemy { kings } else { still };
            let enemies = self.men[self.y] | enemy_kings;
            let occupied = self.all_men | still | kings;
            if legal.is_empty() || !self.may_jump(enemies, occupied) {
                continue;
            }
            let own = if lane == Lane::Enemy { 0 } else { i };
            for from in self.men[self.x].squares() {
                let leaf = |leaf: Leaf<W>| {
                    let left = enemy_kings & !leaf.captured;
                    let men = leaf.men_after(self.men, self.x, from);
                    let cell = if left.is_empty() && men[self.y].is_empty() {
                        self.over()
                    } else {
                        let child = self
                            .children
                            .block(leaf.promotes, left.count() as usize, men);
                        let (inner, own) = if leaf.promotes {
                            let cells = sets.cells(kx - 1, own);
                            (sets.count(kx), cells.at(leaf.to as usize).unwrap_or(0))
                        } else {
                            (sets.count(kx - 1), own)
                        };
                        measure.cell(&child, rank(left) * inner + own)
                    };
                    let (capture, mut best) = slots.all_of_rank(measure, leaf.rank);
                    capture[i] |= leaf.mask;
                    measure.add(&mut best, i, &cell, leaf.mask);
                };
                let mut walk = Walk {
                    game,
                    mover: self.x,
                    enemy_kings,
                    vector: Vector::Own,
                    leaf,
                };
                let at = At::start(legal, occupied ^ W::bit(from), enemies, true);
                walk.man(&at, from);
            }
        }
    }

    /// What is known of a move after which the opponent has no pieces.
    fn over(&self) -> M::Array<W> {
        self.measure.constant(self.game.over())
    }
}

/// Adds what a leaf leads to to the findings of its rank.
fn note<W: Word, M: Measure>(
    measure: M,
    found: &mut Vec<Found<W, M>>,
    leaf: &Leaf<W>,
    cell: &M::Array<W>,
) {
    let i = match found.iter().position(|f| f.rank == leaf.rank) {
        Some(i) => i,
        None => {
            found.push(Found {
                rank: leaf.rank,
                capture: W::EMPTY,
                best: measure.array(|_| W::EMPTY),
            });
            found.len() - 1
        }
    };
    let f = &mut found[i];
    f.capture |= leaf.mask;
    measure.join(&mut f.best, cell, leaf.mask);
}
