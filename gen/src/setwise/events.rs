//! Captures by the vector king, for a row of placements at once.
//!
//! Everything but the vector is an obstacle in a known place, so each (enemy piece, direction) is
//! one *event*: all squares on the near side share the landing squares on the far side, and one
//! word of the child table decides them all. A row is what differs in the square of one further
//! king, the *lane*: one of the mover's own, which is only an obstacle, or one of the enemy's, which
//! can be taken too. Chains of events are enumerated once for the row; each link is a pass over
//! the row that keeps, lane by lane, the squares where the king may be.

use std::ops::Range;

use dambase_rules::geometry::opposite;

use super::children::Captured;
use super::game::{Game, STANDING, Tally};
use super::measure::{Measure, part};
use super::word::{Word, kernel};

/// What the lanes of a row stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    /// A row of one word.
    None,
    /// The lane is the square of one of the mover's other kings.
    Own,
    /// The lane is the square of an enemy king.
    Enemy,
}

/// The results of captures of one rank: where there is one, and what is known of the best. Rows of
/// equal length, behind each other.
#[derive(Debug, Default)]
pub(super) struct Slots<W> {
    ranks: Vec<u64>,
    rows: Vec<Vec<W>>,
    /// Numbers of the ranks, the best first.
    order: Vec<usize>,
    len: usize,
}

impl<W: Word> Slots<W> {
    /// Forgets everything; rows will have `len` words.
    pub(super) fn clear(&mut self, len: usize) {
        self.ranks.clear();
        self.len = len;
    }
    /// Words of the rows of a rank: where there is a capture, and the planes.
    #[inline(always)]
    pub(super) fn of_rank<M: Measure>(
        &mut self,
        measure: M,
        rank: u64,
        range: Range<usize>,
    ) -> (&mut [W], M::Array<&mut [W]>) {
        let i = match self.ranks.iter().position(|&r| r == rank) {
            Some(i) => i,
            None => {
                self.ranks.push(rank);
                let i = self.ranks.len() - 1;
                if self.rows.len() == i {
                    self.rows.push(Vec::new());
                }
                self.rows[i].clear();
                self.rows[i].resize((1 + measure.planes()) * self.len, W::EMPTY);
                i
            }
        };
        let (capture, mut rest) = self.rows[i].split_at_mut(self.len);
        let len = self.len;
        let planes = measure.array(|_| {
            let (row, others) = std::mem::take(&mut rest).split_at_mut(len);
            rest = others;
            &mut row[range.clone()]
        });
        (&mut capture[range.clone()], planes)
    }
    /// Where there is a capture of a rank, and the planes.
    #[inline(always)]
    pub(super) fn all_of_rank<M: Measure>(
        &mut self,
        measure: M,
        rank: u64,
    ) -> (&mut [W], M::Array<&mut [W]>) {
        self.of_rank(measure, rank, 0..self.len)
    }
    /// Whether there are no captures.
    pub(super) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }
    /// Merges the ranks: only captures of the best rank of a position count.
    pub(super) fn merge(&mut self, capture: &mut [W], planes: &mut [&mut [W]]) {
        self.order.clear();
        self.order.extend(0..self.ranks.len());
        let ranks = &self.ranks;
        self.order
            .sort_unstable_by_key(|&i| std::cmp::Reverse(ranks[i]));
        capture.fill(W::EMPTY);
        for plane in &mut *planes {
            plane.fill(W::EMPTY);
        }
        for &i in &self.order {
            let (c, rows) = self.rows[i].split_at(self.len);
            merge(capture, planes, c, rows);
        }
    }
}

kernel! {
    fn merge<W: Word>(capture: &mut [W], planes: &mut [&mut [W]], c: &[W], rows: &[W]) {
        let n = capture.len();
        for (plane, row) in planes.iter_mut().zip(rows.chunks_exact(n)) {
            let plane = &mut plane[..n];
            for i in 0..n {
                plane[i] |= row[i] & !capture[i];
            }
        }
        let c = &c[..n];
        for i in 0..n {
            capture[i] |= c[i];
        }
    }
}

kernel! {
    /// The first event of a chain: the squares it starts from and those it lands on. Returns
    /// whether any lane has it.
    fn start<W: Word>(
        from: W, to: W, cut_from: &[W], cut_to: &[W], source: &mut [W], landing: &mut [W],
    ) -> bool {
        let n = source.len();
        let (cut_from, cut_to, landing) = (&cut_from[..n], &cut_to[..n], &mut landing[..n]);
        let mut any = W::EMPTY;
        for i in 0..n {
            let s = from & cut_from[i];
            let l = if s.is_empty() { W::EMPTY } else { to & cut_to[i] };
            source[i] = s;
            landing[i] = l;
            any |= l;
        }
        !any.is_empty()
    }
}

kernel! {
    /// A further event: lanes where it can be reached from `landing` get the new landing squares.
    /// Returns whether any lane has it.
    fn jump<W: Word>(
        landing: &[W], from: W, to: W, cut_from: &[W], cut_to: &[W], next: &mut [W],
    ) -> bool {
        let n = next.len();
        let (landing, cut_from, cut_to) = (&landing[..n], &cut_from[..n], &cut_to[..n]);
        let mut any = W::EMPTY;
        for i in 0..n {
            let s = landing[i] & from & cut_from[i];
            let l = if s.is_empty() { W::EMPTY } else { to & cut_to[i] };
            next[i] = l;
            any |= l;
        }
        !any.is_empty()
    }
}

kernel! {
    /// Notes the squares from which the event with landing squares `next` can be reached.
    fn note<W: Word>(next: &[W], from: W, cut_from: &[W], goes_on: &mut [W]) {
        let n = next.len();
        let (cut_from, goes_on) = (&cut_from[..n], &mut goes_on[..n]);
        for i in 0..n {
            goes_on[i] |= if next[i].is_empty() { W::EMPTY } else { from & cut_from[i] };
        }
    }
}

kernel! {
    /// Turns the squares where a capture goes on into those where it may stop.
    fn stop<W: Word>(landing: &[W], goes_on: &mut [W], must_go_on: bool) {
        let n = landing.len();
        let goes_on = &mut goes_on[..n];
        for i in 0..n {
            let on = landing[i] & goes_on[i];
            goes_on[i] = if must_go_on && !on.is_empty() { W::EMPTY } else { landing[i] & !on };
        }
    }
}

/// An event that may occur: the king comes from `from`, takes the piece on `q` in direction `d` and
/// lands on `to`, as far as the lane and what has been taken before allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance<W> {
    pub(super) q: u8,
    pub(super) d: u8,
    pub(super) from: W,
    pub(super) to: W,
}

/// Adds the events of captures of `enemies` by kings while `occupied` is in the way.
#[inline(always)]
pub(super) fn add_chances<W: Word>(
    game: &Game<W>,
    enemies: W,
    occupied: W,
    chances: &mut Vec<Chance<W>>,
) {
    for q in enemies.squares() {
        for &d in &game.king_capture {
            let from = game.span(opposite(d), q, occupied);
            if from.is_empty() {
                continue;
            }
            let to = game.span(d, q, occupied);
            if !to.is_empty() {
                let d = d as u8;
                chances.push(Chance { q, d, from, to });
            }
        }
    }
}

/// A row of placements and where its results go.
pub(super) struct Row<'r, 'a, W: Word, M: Measure> {
    pub(super) game: &'a Game<W>,
    pub(super) measure: M,
    pub(super) captured: &'r mut Captured<'a, W, M>,
    pub(super) slots: &'r mut Slots<W>,
    /// Events by what is in the way: of the row, behind them those of links of a chain where
    /// pieces taken have left the board.
    pub(super) chances: &'r mut Vec<Chance<W>>,
    /// Everything that stands still: men, and kings but for the vector and the lane.
    pub(super) fixed: W,
    pub(super) enemies: W,
    pub(super) enemy_kings: W,
    pub(super) lane: Lane,
    /// Words of the row.
    pub(super) len: usize,
    /// First word of the row in the slots.
    pub(super) offset: usize,
    /// Number of the first placement of the mover's other kings.
    pub(super) own: usize,
}

/// Where a chain stands.
#[derive(Clone, Copy)]
struct Link<W> {
    captured: W,
    lane_taken: bool,
    /// What is in the way but for the lane.
    occupied: W,
    came: usize,
    /// All squares where it may be in any lane.
    most: W,
    tally: Tally,
}

/// Words of scratch a row needs at most if a child has so many planes.
pub(super) fn scratch_words<W: Word>(game: &Game<W>, enemies: usize, planes: usize) -> usize {
    ((enemies + 2) * (4 + game.king_capture.len()) + planes) * game.n
}

/// What the lane leaves of the rays from `q` against and along direction `d`.
#[inline(always)]
fn cuts<W: Word>(game: &Game<W>, lane: Lane, lane_taken: bool, d: usize, q: u8) -> (&[W], &[W]) {
    let blocks = match lane {
        Lane::None => false,
        Lane::Own => true,
        Lane::Enemy => !(lane_taken && game.immediate),
    };
    if blocks {
        (game.cut(opposite(d), q), game.cut(d, q))
    } else {
        (&game.ones, &game.ones)
    }
}

/// The rays from the lane's piece against and along capture direction number `i`.
#[inline(always)]
fn lane_cuts<'r, W: Word>(game: &Game<W>, rays: &'r [W], i: usize) -> (&'r [W], &'r [W]) {
    let n = game.n;
    let back = opposite(game.king_capture[i]);
    let j = game.king_capture.iter().position(|&d| d == back);
    let j = j.expect("kings capture both ways along a line");
    (&rays[j * n..(j + 1) * n], &rays[i * n..(i + 1) * n])
}

impl<'a, W: Word, M: Measure> Row<'_, 'a, W, M> {
    /// Adds all captures by the vector king to the slots.
    pub(super) fn run(&mut self, scratch: &mut [W]) {
        let game = self.game;
        let (source, scratch) = scratch.split_at_mut(self.len);
        let (landing, scratch) = scratch.split_at_mut(self.len);
        let (rays, scratch) = scratch.split_at_mut(self.lane_rays_len());
        self.lane_rays(self.fixed, rays);
        let link = Link {
            captured: W::EMPTY,
            lane_taken: false,
            occupied: self.fixed,
            came: STANDING,
            most: W::EMPTY,
            tally: Tally::default(),
        };
        self.chances.clear();
        add_chances(game, self.enemies, self.fixed, self.chances);
        for i in 0..self.chances.len() {
            let Chance { q, d, from, to } = self.chances[i];
            let d = d as usize;
            let (back, ahead) = cuts(game, self.lane, false, d, q);
            if start(from, to, back, ahead, source, landing) {
                let link = self.after(link, q, d, to);
                self.go_on(link, source, landing, rays, scratch);
            }
        }
        if self.lane == Lane::Enemy {
            for (i, &d) in game.king_capture.iter().enumerate() {
                let (back, ahead) = lane_cuts(game, rays, i);
                if start(W::ALL, W::ALL, back, ahead, source, landing) {
                    let link = self.after_lane(link, d);
                    self.go_on(link, source, landing, rays, scratch);
                }
            }
        }
    }

    fn lane_rays_len(&self) -> usize {
        match self.lane {
            Lane::Enemy => self.game.king_capture.len() * self.game.n,
            _ => 0,
        }
    }
    /// The squares next to the lane's piece in each capture direction, lane by lane.
    fn lane_rays(&self, occupied: W, rays: &mut [W]) {
        if rays.is_empty() {
            return;
        }
        let game = self.game;
        for (i, &d) in game.king_capture.iter().enumerate() {
            for (b, ray) in rays[i * game.n..][..self.len].iter_mut().enumerate() {
                *ray = game.span(d, b as u8, occupied);
            }
        }
    }

    /// The chain after `q` has been taken in direction `d`, landing on `to` at most.
    #[inline(always)]
    fn after(&self, link: Link<W>, q: u8, d: usize, to: W) -> Link<W> {
        let taken = W::bit(q);
        Link {
            captured: link.captured | taken,
            occupied: if self.game.immediate {
                link.occupied & !taken
            } else {
                link.occupied
            },
            came: d,
            most: to,
            tally: link.tally.with(self.enemy_kings.has(q)),
            ..link
        }
    }
    /// The chain after the lane's piece has been taken in direction `d`.
    #[inline(always)]
    fn after_lane(&self, link: Link<W>, d: usize) -> Link<W> {
        Link {
            lane_taken: true,
            came: d,
            most: self.game.all,
            tally: link.tally.with(true),
            ..link
        }
    }

    /// Follows a chain that may be on `landing`, having started on `source`.
    fn go_on(&mut self, link: Link<W>, source: &[W], landing: &[W], rays: &[W], scratch: &mut [W]) {
        let game: &'a Game<W> = self.game;
        let len = self.len;
        let (goes_on, scratch) = scratch.split_at_mut(if game.free { len } else { 0 });
        goes_on.fill(W::EMPTY);
        // Pieces that have left the board no longer limit the others.
        let (first, end) = if game.immediate {
            let first = self.chances.len();
            let enemies = self.enemies & !link.captured;
            add_chances(game, enemies, link.occupied, self.chances);
            (first, self.chances.len())
        } else {
            (0, self.chances.len())
        };
        for i in first..end {
            let Chance { q, d, from, to } = self.chances[i];
            let d = d as usize;
            let out_of_reach = (from & link.most).is_empty();
            if out_of_reach || link.captured.has(q) || !game.may_turn(link.came, d) {
                continue;
            }
            let (next, scratch) = scratch.split_at_mut(len);
            let (back, ahead) = cuts(game, self.lane, link.lane_taken, d, q);
            if jump(landing, from, to, back, ahead, next) {
                if game.free {
                    note(next, from, back, goes_on);
                }
                let link = self.after(link, q, d, to);
                self.go_on(link, source, next, rays, scratch);
            }
        }
        if game.immediate {
            self.chances.truncate(first);
        }
        if self.lane == Lane::Enemy && !link.lane_taken {
            // With immediate removal the rays have grown.
            let grown = if game.immediate { rays.len() } else { 0 };
            let (own_rays, scratch) = scratch.split_at_mut(grown);
            self.lane_rays(link.occupied, own_rays);
            let rays: &[W] = if game.immediate { own_rays } else { rays };
            for (i, &d) in game.king_capture.iter().enumerate() {
                if !game.may_turn(link.came, d) {
                    continue;
                }
                let (next, scratch) = scratch.split_at_mut(len);
                let (back, ahead) = lane_cuts(game, rays, i);
                if jump(landing, W::ALL, W::ALL, back, ahead, next) {
                    if game.free {
                        note(next, W::ALL, back, goes_on);
                    }
                    let link = self.after_lane(link, d);
                    self.go_on(link, source, next, rays, scratch);
                }
            }
        }
        // With a precedence what goes on takes more, and the ranks see to it.
        let stops: &[W] = if game.free {
            stop(landing, goes_on, game.rules.land_to_continue);
            goes_on
        } else {
            landing
        };
        self.end(link, source, stops, scratch);
    }

    /// The chain ends on `stops`.
    fn end(&mut self, link: Link<W>, source: &[W], stops: &[W], scratch: &mut [W]) {
        let rank = link.tally.rank(self.game.rules.precedence, true);
        let left = self.enemy_kings & !link.captured;
        let lane_left = self.lane == Lane::Enemy && !link.lane_taken;
        let child = self.captured.child(link.captured, link.lane_taken);
        let range = self.offset..self.offset + self.len;
        let (capture, mut best) = self.slots.of_rank(self.measure, rank, range);
        let measure = self.measure;
        if self.lane == Lane::Enemy && !lane_left {
            // One word for all lanes.
            let i = self.captured.number(left, self.own);
            let mut rows = scratch.chunks_exact_mut(self.len);
            let child = measure.array(|p| {
                let row = rows.next().unwrap_or_default();
                row.fill(child.as_ref()[p][i]);
                &*row
            });
            measure.finish(source, stops, &child, capture, &mut best);
            return;
        }
        let i = if lane_left {
            super::layout::base(left)
        } else {
            self.captured.number(left, self.own)
        };
        let child = part(measure, &child, i..i + self.len);
        measure.finish(source, stops, &child, capture, &mut best);
    }
}
