//! Moves that leave the unit: captures, men's moves, crownings.
//!
//! For every position of one placement of the men and one mover: is there a capture, is there an
//! exit to a position the opponent has lost, and is there one to a position the opponent has not
//! won. The vector is a king of the mover, or of the opponent if the mover has none.

use std::ops::Range;

use dambase_rules::geometry::{OFF, opposite};
use dambase_tables::Material;

use super::children::{Blocks, Captured, Children, Source, flat_words};
use super::events::{Chance, Lane, Row, Slots, scratch_words};
use super::game::Game;
use super::layout::{Sets, legal_word, rank};
use super::walk::{At, Leaf, Walk};
use super::word::{Word, kernel};

/// The results, `[kings of the other side][other kings of the vector's side]`.
#[derive(Debug, Default)]
pub(super) struct Exits<W> {
    /// The mover must capture.
    pub(super) capture: Vec<W>,
    /// An exit wins.
    pub(super) win: Vec<W>,
    /// An exit does not lose.
    pub(super) escape: Vec<W>,
    /// A man can make a quiet move that is an exit; only where having no move wins.
    pub(super) moves: Vec<W>,
}

/// The results of one placement of the men, or of some strips of it.
#[derive(Debug)]
pub(super) struct Part<'p, W> {
    /// The first of its words.
    first: usize,
    capture: &'p mut [W],
    win: &'p mut [W],
    escape: &'p mut [W],
    moves: &'p mut [W],
}

impl<W: Word> Exits<W> {
    /// Makes room for `words` empty words.
    pub(super) fn reset(&mut self, words: usize, misere: bool) {
        for plane in [&mut self.capture, &mut self.win, &mut self.escape] {
            plane.clear();
            plane.resize(words, W::EMPTY);
        }
        self.moves.clear();
        self.moves.resize(if misere { words } else { 0 }, W::EMPTY);
    }
    /// The planes in their order.
    pub(super) fn planes_mut(&mut self) -> [&mut Vec<W>; 4] {
        let Self {
            capture,
            win,
            escape,
            moves,
        } = self;
        [capture, win, escape, moves]
    }
    /// The words of placement number `p` if each has `words`.
    pub(super) fn part(&mut self, p: usize, words: usize) -> Part<'_, W> {
        let range = p * words..(p + 1) * words;
        let moves = if self.moves.is_empty() {
            0..0
        } else {
            range.clone()
        };
        Part {
            first: 0,
            capture: &mut self.capture[range.clone()],
            win: &mut self.win[range.clone()],
            escape: &mut self.escape[range],
            moves: &mut self.moves[moves],
        }
    }
}

impl<'p, W: Word> Part<'p, W> {
    /// Pieces for the strips of each range; the ranges follow one another.
    pub(super) fn split(self, unit: &Unit<'_, W>, strips: &[Range<usize>]) -> Vec<Self> {
        let mut rest = self;
        let mut parts = Vec::new();
        for range in &strips[1..] {
            let at = unit.start(range.start) - rest.first;
            let cut = |words: &'p mut [W]| words.split_at_mut(at.min(words.len()));
            let (capture, capture_rest) = cut(rest.capture);
            let (win, win_rest) = cut(rest.win);
            let (escape, escape_rest) = cut(rest.escape);
            let (moves, moves_rest) = cut(rest.moves);
            parts.push(Part {
                first: rest.first,
                capture,
                win,
                escape,
                moves,
            });
            rest = Part {
                first: rest.first + at,
                capture: capture_rest,
                win: win_rest,
                escape: escape_rest,
                moves: moves_rest,
            };
        }
        parts.push(rest);
        parts
    }
}

/// Buffers that are used again for every unit.
#[derive(Debug, Default)]
pub(super) struct Scratch<'a, W: Word> {
    quiets: Vec<Quiet<'a, W>>,
    jumps: Vec<Jump>,
    blocks: Blocks<'a, W>,
    chances: Vec<Chance<W>>,
    slots: Slots<W>,
    words: Vec<W>,
    kings: Vec<W>,
    legal: Vec<W>,
    win: Vec<W>,
    escape: Vec<W>,
    moves: Vec<W>,
    event: Vec<Found<W>>,
}

/// What a walk has found for one rank.
#[derive(Clone, Copy, Debug)]
struct Found<W> {
    rank: u64,
    capture: W,
    win: W,
    escape: W,
}

/// A man's jump that may become possible: who is taken, and where it lands.
#[derive(Clone, Copy, Debug)]
struct Jump {
    victim: u8,
    to: u8,
}

/// A man's quiet exit with the child's planes.
#[derive(Debug)]
struct Quiet<'a, W> {
    to: u8,
    crowned: bool,
    won: &'a [W],
    lost: &'a [W],
}

kernel! {
    fn legal_row<W: Word>(all: W, fixed: W, kings: &[W], legal: &mut [W]) {
        for (legal, &kings) in legal.iter_mut().zip(kings) {
            *legal = legal_word(all, fixed, kings);
        }
    }
}

kernel! {
    /// A man's quiet move to `to` that is open unless a king stands there.
    fn quiet_row<W: Word>(
        kings: &[W], to: W, won: &[W], lost: &[W], win: &mut [W], escape: &mut [W],
    ) {
        let n = kings.len();
        let (won, lost) = (&won[..n], &lost[..n]);
        let (win, escape) = (&mut win[..n], &mut escape[..n]);
        for i in 0..n {
            let open = if (kings[i] & to).is_empty() { !to } else { W::EMPTY };
            win[i] |= lost[i] & open;
            escape[i] |= !won[i] & open;
        }
    }
}

kernel! {
    /// Captures are compulsory; nothing holds on illegal squares.
    fn combine<W: Word>(
        legal: &[W], quiet_win: &[W], quiet_escape: &[W],
        capture: &mut [W], win: &mut [W], escape: &mut [W],
    ) {
        let n = legal.len();
        let (quiet_win, quiet_escape) = (&quiet_win[..n], &quiet_escape[..n]);
        let (capture, win, escape) = (&mut capture[..n], &mut win[..n], &mut escape[..n]);
        for i in 0..n {
            let quiet = !capture[i];
            win[i] = (win[i] | quiet_win[i] & quiet) & legal[i];
            escape[i] = (escape[i] | quiet_escape[i] & quiet) & legal[i];
            capture[i] &= legal[i];
        }
    }
}

/// One placement of the men and one mover.
pub(super) struct Unit<'a, W: Word> {
    game: &'a Game<W>,
    sets: &'a Sets<W>,
    children: &'a Children<'a, W>,
    x: usize,
    y: usize,
    men: [W; 2],
    all_men: W,
    /// Kings of the mover and of the opponent.
    kings: [usize; 2],
    quiets: Vec<Quiet<'a, W>>,
    jumps: Vec<Jump>,
}

impl<'a, W: Word> Unit<'a, W> {
    pub(super) fn new(
        game: &'a Game<W>,
        sets: &'a Sets<W>,
        children: &'a Children<'a, W>,
        material: Material,
        men: [W; 2],
        scratch: &mut Scratch<'a, W>,
    ) -> Self {
        let mover = children.mover;
        let (x, y) = (mover as usize, mover.other() as usize);
        let all_men = men[0] | men[1];
        let mut unit = Self {
            game,
            sets,
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
                    self.jumps.push(Jump { victim, to });
                }
            }
            for &d in &game.man_forward[self.x] {
                let to = game.grid.step[d][from as usize];
                if to == OFF || self.all_men.has(to) {
                    continue;
                }
                let crowned = game.crown[self.x].has(to);
                let men = self.men_after(from, to, crowned, W::EMPTY);
                let (won, lost) = self.children.block(crowned, self.kings[1], men);
                self.quiets.push(Quiet {
                    to,
                    crowned,
                    won,
                    lost,
                });
            }
        }
    }

    fn men_after(&self, from: u8, to: u8, crowned: bool, captured: W) -> [W; 2] {
        let mut men = self.men;
        men[self.x] ^= W::bit(from);
        if !crowned {
            men[self.x] |= W::bit(to);
        }
        men[self.y] &= !captured;
        men
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
    pub(super) fn run(self, out: &mut Part<'_, W>, scratch: &mut Scratch<'a, W>) {
        let strips = 0..self.strips();
        self.run_strips(strips, out, scratch);
    }

    /// Computes the exits of some strips; `out` has their words.
    pub(super) fn run_strips(
        self,
        strips: Range<usize>,
        out: &mut Part<'_, W>,
        scratch: &mut Scratch<'a, W>,
    ) {
        let [kx, ky] = self.kings;
        let sets = self.sets;
        let enemies = (self.men[self.y].count() as usize) + ky;
        let words = scratch_words(self.game, enemies);
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
        captured: &mut Captured<'a, W>,
        out: &mut Part<'_, W>,
        scratch: &mut Scratch<'a, W>,
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
            win,
            escape,
            moves,
            event,
            chances,
            ..
        } = scratch;
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
        let (capture, best, not_lost) = (
            &mut out.capture[own.clone()],
            &mut out.win[own.clone()],
            &mut out.escape[own.clone()],
        );
        if !slots.is_empty() {
            slots.merge(capture, best, not_lost);
        }
        win.clear();
        win.resize(len, W::EMPTY);
        escape.clear();
        escape.resize(len, W::EMPTY);
        for q in &self.quiets {
            if still.has(q.to) {
                continue;
            }
            let to = W::bit(q.to);
            if !q.crowned {
                let (won, lost) = (&q.won[range.clone()], &q.lost[range.clone()]);
                quiet_row(kings, to, won, lost, win, escape);
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
                win[i] |= q.lost[at] & !to;
                escape[i] |= !q.won[at] & !to;
            }
        }
        if game.misere() {
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
        combine(legal, win, escape, capture, best, not_lost);
    }

    /// Captures by the mover's kings but the vector: for each event, what follows it does not
    /// depend on the square it started from.
    fn other_kings(
        &self,
        enemy_kings: W,
        captured: &mut Captured<'a, W>,
        slots: &mut Slots<W>,
        event: &mut Vec<Found<W>>,
    ) {
        let (game, sets) = (self.game, self.sets);
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
                        vector_is_enemy: false,
                        leaf: |leaf: Leaf<W>| {
                            let left = enemy_kings & !leaf.captured;
                            let (won, lost) = captured.child(leaf.captured, false);
                            let cell = cells.at(leaf.to as usize).unwrap_or(0);
                            let at = captured.number(left, cell);
                            note(event, &leaf, won[at], lost[at]);
                        },
                    };
                    let at = At::start(W::ALL, occupied, enemies, false);
                    walk.land(&at, q, d, W::ALL, false);
                    for f in &*event {
                        let [capture, win, escape] = slots.of_rank(f.rank);
                        for a in from.squares() {
                            let Some(cell) = cells.at(a as usize) else {
                                continue;
                            };
                            let clear = !game.between(back, q, a);
                            capture[cell] |= f.capture & clear;
                            win[cell] |= f.win & clear;
                            escape[cell] |= f.escape & clear;
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
        let (game, sets) = (self.game, self.sets);
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
                    let men = self.men_after(from, leaf.to, leaf.promotes, leaf.captured);
                    let (won, lost) = if left.is_empty() && men[self.y].is_empty() {
                        self.over()
                    } else {
                        let (won, lost) =
                            self.children
                                .block(leaf.promotes, left.count() as usize, men);
                        let (inner, own) = if leaf.promotes {
                            let cells = sets.cells(kx - 1, own);
                            (sets.count(kx), cells.at(leaf.to as usize).unwrap_or(0))
                        } else {
                            (sets.count(kx - 1), own)
                        };
                        let at = rank(left) * inner + own;
                        (won[at], lost[at])
                    };
                    let [capture, win, escape] = slots.of_rank(leaf.rank);
                    capture[i] |= leaf.mask;
                    win[i] |= lost & leaf.mask;
                    escape[i] |= !won & leaf.mask;
                };
                let mut walk = Walk {
                    game,
                    mover: self.x,
                    enemy_kings,
                    vector_is_enemy: false,
                    leaf,
                };
                let at = At::start(legal, occupied ^ W::bit(from), enemies, true);
                walk.man(&at, from);
            }
        }
    }

    /// The words `(won, lost)` of a game that is over because the opponent has no pieces.
    fn over(&self) -> (W, W) {
        if self.game.misere() {
            (W::ALL, W::EMPTY)
        } else {
            (W::EMPTY, W::ALL)
        }
    }

    /// All exits of a mover without kings; the vector is a king of the opponent.
    fn without_king(&self, out: &mut Part<'_, W>, scratch: &mut Scratch<'a, W>) {
        let (game, sets) = (self.game, self.sets);
        let others = self.kings[1] - 1;
        let len = sets.count(others);
        let Scratch {
            slots,
            kings,
            legal,
            win,
            escape,
            ..
        } = scratch;
        kings.clear();
        kings.extend_from_slice(sets.all(others));
        legal.resize(len, W::EMPTY);
        legal_row(game.all, self.all_men, kings, legal);
        slots.clear(len);
        for (i, (&kings, &legal)) in kings.iter().zip(&*legal).enumerate() {
            let enemies = self.men[self.y] | kings;
            let occupied = self.all_men | kings;
            let takes_king = game.rules.man_takes_king;
            let may = |j: &Jump| {
                let vector = takes_king && legal.has(j.victim);
                (enemies.has(j.victim) || vector) && !occupied.has(j.to)
            };
            if legal.is_empty() || !self.jumps.iter().any(may) {
                continue;
            }
            for from in self.men[self.x].squares() {
                let leaf = |leaf: Leaf<W>| {
                    let (won, lost) = self.kingless_child(from, kings & !leaf.captured, &leaf);
                    let [capture, win, escape] = slots.of_rank(leaf.rank);
                    capture[i] |= leaf.mask;
                    win[i] |= lost & leaf.mask;
                    escape[i] |= !won & leaf.mask;
                };
                let mut walk = Walk {
                    game,
                    mover: self.x,
                    enemy_kings: kings,
                    vector_is_enemy: true,
                    leaf,
                };
                let at = At::start(legal, occupied ^ W::bit(from), enemies, true);
                walk.man(&at, from);
            }
        }
        if !slots.is_empty() {
            slots.merge(out.capture, out.win, out.escape);
        }
        win.clear();
        win.resize(len, W::EMPTY);
        escape.clear();
        escape.resize(len, W::EMPTY);
        for q in &self.quiets {
            let to = W::bit(q.to);
            if !q.crowned {
                quiet_row(kings, to, q.won, q.lost, win, escape);
                continue;
            }
            for i in 0..len {
                if legal[i].is_empty() || kings[i].has(q.to) {
                    continue;
                }
                let mask = legal[i] & !to;
                let (won, lost) = self.crowned_child(i, mask, q.to, q.won, q.lost);
                win[i] |= lost & mask;
                escape[i] |= !won & mask;
            }
        }
        if game.misere() {
            for q in &self.quiets {
                for (i, o) in out.moves.iter_mut().enumerate() {
                    if !kings[i].has(q.to) {
                        *o |= legal[i] & !W::bit(q.to);
                    }
                }
            }
        }
        combine(legal, win, escape, out.capture, out.win, out.escape);
    }

    /// The values after a man of a side without kings has been crowned on `to`: now its king is
    /// the child's vector, and the opponent's kings are an index.
    fn crowned_child(&self, others: usize, mask: W, to: u8, won: &[W], lost: &[W]) -> (W, W) {
        let cells = self.sets.cells(self.kings[1] - 1, others);
        let mut words = (W::EMPTY, W::EMPTY);
        for v in mask.squares() {
            let Some(at) = cells.at(v as usize) else {
                continue;
            };
            if won[at].has(to) {
                words.0 |= W::bit(v);
            }
            if lost[at].has(to) {
                words.1 |= W::bit(v);
            }
        }
        words
    }

    /// The values after a capture by a man of a side without kings; `left` are the enemy kings
    /// left but the vector.
    fn kingless_child(&self, from: u8, left: W, leaf: &Leaf<W>) -> (W, W) {
        let men = self.men_after(from, leaf.to, leaf.promotes, leaf.captured);
        let kings = left.count() as usize + usize::from(leaf.hit.is_none());
        let own_men = men[self.y].count() as usize;
        match self.children.source(leaf.promotes, kings, own_men) {
            Source::Over => return self.over(),
            Source::Flat(flat) => {
                return flat_words(flat.value(men), leaf.mask);
            }
            _ => {}
        }
        let (won, lost) = self.children.block(leaf.promotes, kings, men);
        let one = |at: usize, s: u8| {
            let word = |w: W| if w.has(s) { leaf.mask } else { W::EMPTY };
            (word(won[at]), word(lost[at]))
        };
        match (leaf.hit, leaf.promotes) {
            (None, false) => {
                let at = rank(left);
                (won[at], lost[at])
            }
            (None, true) => {
                let mut words = (W::EMPTY, W::EMPTY);
                for v in leaf.mask.squares() {
                    let at = rank(left | W::bit(v));
                    if won[at].has(leaf.to) {
                        words.0 |= W::bit(v);
                    }
                    if lost[at].has(leaf.to) {
                        words.1 |= W::bit(v);
                    }
                }
                words
            }
            (Some(_), true) => one(rank(left), leaf.to),
            (Some(_), false) => one(rank(left.without_first()), left.first()),
        }
    }
}

/// Adds what a leaf leads to to the findings of its rank.
fn note<W: Word>(found: &mut Vec<Found<W>>, leaf: &Leaf<W>, won: W, lost: W) {
    let i = match found.iter().position(|f| f.rank == leaf.rank) {
        Some(i) => i,
        None => {
            found.push(Found {
                rank: leaf.rank,
                capture: W::EMPTY,
                win: W::EMPTY,
                escape: W::EMPTY,
            });
            found.len() - 1
        }
    };
    let f = &mut found[i];
    f.capture |= leaf.mask;
    f.win |= lost & leaf.mask;
    f.escape |= !won & leaf.mask;
}
