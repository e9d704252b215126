//! The retrograde iteration inside one unit: quiet king moves, and in the Turkish family the
//! sideways moves of men.
//!
//! Two families never meet: (one side to move and won, the other to move and lost), and the same
//! with the sides exchanged. Each is iterated on its own; draws need no work. A *row* is one
//! placement of the men and of the kings of the side that has not the vector; only rows whose
//! input has changed are visited.

use std::ops::Range;

use rayon::prelude::*;

use super::game::Game;
use super::layout::{Sets, legal_word};
use super::reach::{reach_by_vector, symmetrise};
use super::word::{Word, kernel};
use crate::Control;

/// What is known of one mover's positions; planes `[men][kings of the side without the
/// vector][other kings of the vector's side]`.
#[derive(Debug, Default)]
pub(super) struct Mover<W> {
    pub(super) won: Vec<W>,
    pub(super) lost: Vec<W>,
    /// Must capture: quiet moves do not exist.
    pub(super) capture: Vec<W>,
    /// Cannot become lost: an exit escapes. Captures too, because they are lost at once or never.
    pub(super) closed: Vec<W>,
}

/// One of the two families that never meet: the won positions of one side, and the lost ones of
/// the other.
pub(super) struct Family<'a, W> {
    pub(super) won: &'a mut [W],
    pub(super) lost: &'a mut [W],
    /// Where the winner must capture.
    pub(super) capture: &'a [W],
    /// Where the loser cannot become lost.
    pub(super) closed: &'a [W],
}

impl<W> Family<'_, W> {
    /// The families in which the first and in which the second side wins.
    pub(super) fn both<'a>(a: &'a mut Mover<W>, b: &'a mut Mover<W>) -> [Family<'a, W>; 2] {
        [
            Family {
                won: &mut a.won,
                lost: &mut b.lost,
                capture: &a.capture,
                closed: &b.closed,
            },
            Family {
                won: &mut b.won,
                lost: &mut a.lost,
                capture: &b.capture,
                closed: &a.closed,
            },
        ]
    }
}

/// Buffers for one row after the other.
#[derive(Debug, Default)]
pub(super) struct RowBuffers<W> {
    pub(super) legal: Vec<W>,
    pub(super) targets: Vec<W>,
    pub(super) reach: Vec<W>,
    matrix: Vec<W>,
}

/// Buffers and marks.
#[derive(Debug, Default)]
pub(super) struct Buffers<W> {
    pub(super) row: RowBuffers<W>,
    pub(super) run: Vec<W>,
    /// Escapes of rows that are looked at again.
    pub(super) escapes: Vec<W>,
    /// Rows with new positions of the last half-step, and those it makes look again.
    pub(super) fresh: Vec<bool>,
    pub(super) again: Vec<bool>,
    /// Rows with lost positions at all.
    pub(super) some_lost: Vec<bool>,
}

kernel! {
    /// Where quiet moves of the winner to `lost` start; returns whether there is anything new.
    fn gain<W: Word>(reach: &[W], capture: &[W], won: &mut [W]) -> bool {
        let n = won.len();
        let (reach, capture) = (&reach[..n], &capture[..n]);
        let mut any = W::EMPTY;
        for i in 0..n {
            let new = reach[i] & !capture[i] & !won[i];
            won[i] |= new;
            any |= new;
        }
        !any.is_empty()
    }
}

kernel! {
    /// Positions without an escape are lost; returns whether there is anything new.
    fn lose<W: Word>(legal: &[W], closed: &[W], escapes: &[W], lost: &mut [W]) -> bool {
        let n = lost.len();
        let (legal, closed, escapes) = (&legal[..n], &closed[..n], &escapes[..n]);
        let mut any = W::EMPTY;
        for i in 0..n {
            let new = legal[i] & !closed[i] & !escapes[i] & !lost[i];
            lost[i] |= new;
            any |= new;
        }
        !any.is_empty()
    }
}

kernel! {
    fn legal_row<W: Word>(all: W, fixed: W, kings: &[W], legal: &mut [W]) {
        for (legal, &kings) in legal.iter_mut().zip(kings) {
            *legal = legal_word(all, fixed, kings);
        }
    }
}

kernel! {
    fn not_won<W: Word>(legal: &[W], won: &[W], targets: &mut [W]) {
        let n = targets.len();
        let (legal, won) = (&legal[..n], &won[..n]);
        for i in 0..n {
            targets[i] = legal[i] & !won[i];
        }
    }
}

kernel! {
    fn add<W: Word>(from: &[W], to: &mut [W]) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to |= from;
        }
    }
}

/// The shape of a unit.
pub(super) struct Shape<'a, W: Word> {
    pub(super) game: &'a Game<W>,
    pub(super) sets: &'a Sets<W>,
    /// Kings of the vector's side (at least one) and of the other.
    pub(super) kings: [usize; 2],
    /// All men, for each placement of the unit.
    pub(super) men: &'a [W],
    /// For men of the vector's side and of the other: the placements a sideways step leads to
    /// from each placement. Empty where no men move sideways.
    pub(super) sideways: [&'a [Vec<u32>]; 2],
    /// Into so many parts the unit is split for several threads; 1 if it is not, as all are that
    /// have men.
    pub(super) parts: usize,
    /// Asked once a round; a unit that was stopped is left unfinished.
    pub(super) ctl: &'a Control,
}

impl<W: Word> Shape<'_, W> {
    /// Words of a row.
    pub(super) fn inner(&self) -> usize {
        self.sets.count(self.kings[0] - 1)
    }
    /// Rows of one placement of the men.
    pub(super) fn outer(&self) -> usize {
        self.sets.count(self.kings[1])
    }
    pub(super) fn rows(&self) -> usize {
        self.men.len() * self.outer()
    }
    /// What stands still in a row; none if the row is illegal.
    #[inline(always)]
    pub(super) fn fixed(&self, row: usize) -> Option<W> {
        let men = self.men[row / self.outer()];
        let kings = self.sets.all(self.kings[1])[row % self.outer()];
        (men & kings).is_empty().then_some(men | kings)
    }
    #[inline(always)]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        row * self.inner()..(row + 1) * self.inner()
    }
    pub(super) fn legal(&self, fixed: W, legal: &mut Vec<W>) {
        legal.resize(self.inner(), W::EMPTY);
        let kings = self.sets.all(self.kings[0] - 1);
        legal_row(self.game.all, fixed, kings, legal);
    }
    /// Rows that a sideways step of side `s` leads to.
    pub(super) fn beside(&self, s: usize, row: usize) -> impl Iterator<Item = usize> + '_ {
        let outer = self.outer();
        let (p, b) = (row / outer, row % outer);
        let to = self.sideways[s].get(p).map_or(&[][..], Vec::as_slice);
        to.iter().map(move |&p| p as usize * outer + b)
    }

    /// Works on all rows; on parts of them side by side if the unit is split. `work` gets the rows of
    /// its part, and their words of `plane` and their `marks` to write to.
    pub(super) fn for_rows(
        &self,
        plane: &mut [W],
        marks: &mut [bool],
        buf: &mut RowBuffers<W>,
        work: impl Fn(Range<usize>, &mut [W], &mut [bool], &mut RowBuffers<W>) + Sync,
    ) {
        let rows = self.rows();
        if self.parts == 1 {
            work(0..rows, plane, marks, buf);
            return;
        }
        // More of them than threads, because rows are not alike.
        let some = rows.div_ceil(4 * self.parts);
        let planes = plane.par_chunks_mut(some * self.inner());
        let parts = planes.zip(marks.par_chunks_mut(some)).enumerate();
        parts.for_each(|(i, (plane, marks))| {
            let rows = i * some..i * some + marks.len();
            work(rows, plane, marks, &mut RowBuffers::default());
        });
    }

    /// Where having no move wins, positions without any move are won. `moves` has the exits that
    /// are quiet moves of men.
    pub(super) fn award_stuck(
        &self,
        mover: &mut Mover<W>,
        moves: &[W],
        is_vector: bool,
        buf: &mut Buffers<W>,
    ) {
        debug_assert!(self.sideways[0].is_empty() && self.sideways[1].is_empty());
        if !is_vector {
            buf.again.clear();
            buf.again.resize(self.rows(), true);
            let nothing = vec![W::EMPTY; mover.won.len()];
            self.escapes_over(&nothing, buf);
        }
        for row in 0..self.rows() {
            let Some(fixed) = self.fixed(row) else {
                continue;
            };
            let range = self.range(row);
            let RowBuffers {
                legal,
                reach,
                matrix,
                ..
            } = &mut buf.row;
            self.legal(fixed, legal);
            let can = if is_vector {
                self.vector_reach(legal, legal, reach, matrix);
                &reach[..]
            } else {
                &buf.escapes[range.clone()]
            };
            for (i, at) in range.enumerate() {
                let moves = mover.capture[at] | moves[at] | can[i];
                let stuck = legal[i] & !moves;
                mover.won[at] |= stuck;
                mover.closed[at] |= stuck;
            }
        }
    }

    /// From where one quiet move of a king of the vector's side leads to `targets` in its row.
    fn vector_reach(&self, targets: &[W], legal: &[W], reach: &mut Vec<W>, matrix: &mut Vec<W>) {
        reach.resize(legal.len(), W::EMPTY);
        reach_by_vector(self.game, targets, legal, reach);
        symmetrise(self.sets, self.kings[0] - 1, reach, matrix);
    }

    /// The family in which the vector's side wins.
    pub(super) fn vector_wins(&self, family: &mut Family<'_, W>, buf: &mut Buffers<W>) {
        let rows = self.rows();
        buf.again.clear();
        buf.again.resize(rows, true);
        buf.fresh.clear();
        buf.fresh.resize(rows, false);
        for row in 0..rows {
            buf.fresh[row] = family.lost[self.range(row)].iter().any(|w| !w.is_empty());
        }
        while !self.ctl.is_stopped() {
            // The loser: everything without a move to a position the winner has not won.
            self.escapes_over(family.won, buf);
            self.add_steps(family.won, buf);
            let Buffers {
                row: row_buffers,
                escapes,
                fresh,
                again,
                ..
            } = buf;
            let (lost, closed) = (&mut *family.lost, family.closed);
            self.for_rows(lost, fresh, row_buffers, |rows, lost, fresh, buf| {
                let lost = lost.chunks_exact_mut(self.inner());
                for ((row, lost), fresh) in rows.zip(lost).zip(fresh) {
                    if let (true, Some(fixed)) = (again[row], self.fixed(row)) {
                        self.legal(fixed, &mut buf.legal);
                        let range = self.range(row);
                        let closed = &closed[range.clone()];
                        *fresh |= lose(&buf.legal, closed, &escapes[range], lost);
                    }
                }
            });
            // The winner: everything with a move to a lost position.
            again.fill(false);
            let mut any = false;
            if !self.sideways[0].is_empty() {
                for row in (0..rows).filter(|&row| fresh[row]) {
                    self.gain_beside(0, row, family, &mut row_buffers.legal, |to| {
                        any = true;
                        self.look_again(to, again);
                    });
                }
            }
            self.gain_all_by_vector(family, fresh, row_buffers);
            for (row, fresh) in fresh.iter_mut().enumerate() {
                if std::mem::take(fresh) {
                    any = true;
                    self.look_again(row, again);
                }
            }
            if !any {
                return;
            }
        }
    }

    /// Adds to the escapes of the rows that are looked at again those by sideways steps of the side
    /// without the vector.
    pub(super) fn add_steps(&self, won: &[W], buf: &mut Buffers<W>) {
        if self.sideways[1].is_empty() {
            return;
        }
        let RowBuffers { legal, targets, .. } = &mut buf.row;
        for row in (0..self.rows()).filter(|&row| buf.again[row]) {
            if self.fixed(row).is_some() {
                self.add_beside(1, row, won, legal, targets, &mut buf.escapes);
            }
        }
    }

    /// Fills `buf.legal` with the legal squares of a row, and `buf.reach` with those from which the
    /// vector's side has a move to a position that is not in `won`. Returns false if the row is
    /// illegal.
    pub(super) fn vector_escapes(&self, row: usize, won: &[W], buf: &mut RowBuffers<W>) -> bool {
        let Some(fixed) = self.fixed(row) else {
            return false;
        };
        self.legal(fixed, &mut buf.legal);
        buf.targets.resize(buf.legal.len(), W::EMPTY);
        not_won(&buf.legal, &won[self.range(row)], &mut buf.targets);
        self.vector_reach(&buf.targets, &buf.legal, &mut buf.reach, &mut buf.matrix);
        for from in self.beside(0, row) {
            if let Some(fixed) = self.fixed(from) {
                self.legal(fixed, &mut buf.matrix);
                not_won(&buf.matrix, &won[self.range(from)], &mut buf.targets);
                add(&buf.targets, &mut buf.reach);
            }
        }
        true
    }

    /// Adds the positions from which a king of the vector's side has a quiet move to a lost one in one
    /// of the marked rows, and leaves those rows marked in which there are new ones.
    pub(super) fn gain_all_by_vector(
        &self,
        family: &mut Family<'_, W>,
        marks: &mut [bool],
        buf: &mut RowBuffers<W>,
    ) {
        let (lost, capture) = (&*family.lost, family.capture);
        self.for_rows(family.won, marks, buf, |rows, won, marks, buf| {
            let won = won.chunks_exact_mut(self.inner());
            for ((row, won), mark) in rows.zip(won).zip(marks) {
                if !std::mem::take(mark) {
                    continue;
                }
                if let Some(fixed) = self.fixed(row) {
                    self.legal(fixed, &mut buf.legal);
                    let range = self.range(row);
                    let lost = &lost[range.clone()];
                    self.vector_reach(lost, &buf.legal, &mut buf.reach, &mut buf.matrix);
                    *mark = gain(&buf.reach, &capture[range], won);
                }
            }
        });
    }

    /// Adds the positions from which a sideways step of side `s` leads to a lost one of `row`, and
    /// tells `each` the rows in which there are new ones.
    pub(super) fn gain_beside(
        &self,
        s: usize,
        row: usize,
        family: &mut Family<'_, W>,
        legal: &mut Vec<W>,
        mut each: impl FnMut(usize),
    ) {
        for to in self.beside(s, row) {
            let Some(fixed) = self.fixed(to) else {
                continue;
            };
            self.legal(fixed, legal);
            for (l, &t) in legal.iter_mut().zip(&family.lost[self.range(row)]) {
                *l &= t;
            }
            let range = self.range(to);
            let capture = &family.capture[range.clone()];
            if gain(legal, capture, &mut family.won[range]) {
                each(to);
            }
        }
    }

    /// Adds to the escapes of `row` those by sideways steps of side `s` to positions not in `won`.
    pub(super) fn add_beside(
        &self,
        s: usize,
        row: usize,
        won: &[W],
        legal: &mut Vec<W>,
        targets: &mut Vec<W>,
        escapes: &mut [W],
    ) {
        for from in self.beside(s, row) {
            if let Some(fixed) = self.fixed(from) {
                self.legal(fixed, legal);
                targets.resize(legal.len(), W::EMPTY);
                not_won(legal, &won[self.range(from)], targets);
                add(targets, &mut escapes[self.range(row)]);
            }
        }
    }

    /// Marks the rows from which a king of the side without the vector may come to `row`, and
    /// those from which a man of it may.
    pub(super) fn look_again(&self, row: usize, again: &mut [bool]) {
        let (outer, kings) = (self.outer(), self.kings[1]);
        let (p, b) = (row / outer, row % outer);
        for from in self.beside(1, row) {
            again[from] = true;
        }
        if kings == 0 {
            // The side has no king; what depends on the row is the row itself, at the first pass.
            return;
        }
        let men = self.men[p];
        let set = self.sets.all(kings)[b];
        for s in set.squares() {
            let stay = set & !W::bit(s);
            let occupied = men | stay;
            let cells = self.sets.cells(kings - 1, super::layout::rank(stay));
            for t in self.king_squares(s, occupied).squares() {
                if let Some(cell) = cells.at(t as usize) {
                    again[p * outer + cell] = true;
                }
            }
        }
    }

    /// Where a king on `s` can go if only `occupied` is in its way.
    fn king_squares(&self, s: u8, occupied: W) -> W {
        let mut to = W::EMPTY;
        let game = self.game;
        for d in 0..8 {
            if game.rules.king_quiet.has(d) {
                to |= game.span(d, s, occupied);
            }
        }
        to
    }

    /// The family in which the side without the vector wins.
    pub(super) fn other_wins(&self, family: &mut Family<'_, W>, buf: &mut Buffers<W>) {
        let rows = self.rows();
        buf.again.clear();
        buf.again.resize(rows, true);
        buf.fresh.clear();
        buf.fresh.resize(rows, false);
        buf.some_lost.clear();
        buf.some_lost.resize(rows, false);
        while !self.ctl.is_stopped() {
            let Buffers {
                row: row_buffers,
                fresh,
                again,
                some_lost,
                ..
            } = &mut *buf;
            let (won, closed) = (&*family.won, family.closed);
            self.for_rows(family.lost, fresh, row_buffers, |rows, lost, fresh, buf| {
                let lost = lost.chunks_exact_mut(self.inner());
                for ((row, lost), fresh) in rows.zip(lost).zip(fresh) {
                    if again[row] && self.vector_escapes(row, won, buf) {
                        let closed = &closed[self.range(row)];
                        let new = lose(&buf.legal, closed, &buf.reach, lost);
                        let first = || !some_lost[row] && lost.iter().any(|w| !w.is_empty());
                        *fresh = new || first();
                    }
                }
            });
            again.fill(false);
            let mut any = false;
            for (some_lost, &fresh) in some_lost.iter_mut().zip(&*fresh) {
                *some_lost |= fresh;
                any |= fresh;
            }
            if !any {
                return;
            }
            self.gains_over(family, buf);
            let Buffers {
                row, fresh, again, ..
            } = &mut *buf;
            if !self.sideways[1].is_empty() {
                for from in (0..rows).filter(|&row| fresh[row]) {
                    self.gain_beside(1, from, family, &mut row.legal, |to| {
                        self.look_beside(to, again);
                    });
                }
            }
            fresh.fill(false);
        }
    }

    /// Marks a row, and the rows from which a sideways step of the vector's side leads to it.
    pub(super) fn look_beside(&self, row: usize, again: &mut [bool]) {
        again[row] = true;
        for from in self.beside(0, row) {
            again[from] = true;
        }
    }
}
