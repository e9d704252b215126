//! The retrograde iteration inside one unit: quiet king moves, and in the Turkish family the
//! sideways moves of men.
//!
//! Two families never meet: (one side to move and won, the other to move and lost), and the same
//! with the sides exchanged. Each is iterated on its own; draws need no work. A *row* is one
//! placement of the men and of the kings of the side that has not the vector; only rows whose
//! input has changed are visited.

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

/// Buffers and marks.
#[derive(Debug, Default)]
pub(super) struct Buffers<W> {
    pub(super) legal: Vec<W>,
    pub(super) targets: Vec<W>,
    pub(super) reach: Vec<W>,
    matrix: Vec<W>,
    run: Vec<W>,
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
    /// One square of a line scan for the winner: `run` has the lost positions of the squares
    /// before it that are still in sight. Returns whether something new was won, and whether
    /// anything stays in sight.
    fn scan_gain<W: Word, const FLYING: bool>(
        all: W, fixed: W, kings: &[W], lost: &[W], capture: &[W], won: &mut [W], run: &mut [W],
    ) -> (bool, bool) {
        let n = kings.len();
        let (lost, capture) = (&lost[..n], &capture[..n]);
        let (won, run) = (&mut won[..n], &mut run[..n]);
        let (mut any, mut live) = (W::EMPTY, W::EMPTY);
        for i in 0..n {
            let seen = run[i] & legal_word(all, fixed, kings[i]);
            let new = seen & !capture[i] & !won[i];
            won[i] |= new;
            any |= new;
            run[i] = if FLYING { seen | lost[i] } else { lost[i] };
            live |= run[i];
        }
        (!any.is_empty(), !live.is_empty())
    }
}

kernel! {
    /// One square of a line scan for the loser: `run` has the positions not won by the opponent on
    /// the squares before it that are still in sight.
    fn scan_escape<W: Word, const FLYING: bool>(
        all: W, fixed: W, kings: &[W], won: &[W], escapes: &mut [W], run: &mut [W],
    ) {
        let n = kings.len();
        let (won, escapes, run) = (&won[..n], &mut escapes[..n], &mut run[..n]);
        for i in 0..n {
            let legal = legal_word(all, fixed, kings[i]);
            escapes[i] |= run[i];
            run[i] = if FLYING { (run[i] | !won[i]) & legal } else { !won[i] & legal };
        }
    }
}

kernel! {
    /// The same where nobody wants to know the escapes of this square.
    fn scan_past<W: Word, const FLYING: bool>(
        all: W, fixed: W, kings: &[W], won: &[W], run: &mut [W],
    ) {
        let n = kings.len();
        let (won, run) = (&won[..n], &mut run[..n]);
        for i in 0..n {
            let legal = legal_word(all, fixed, kings[i]);
            run[i] = if FLYING { (run[i] | !won[i]) & legal } else { !won[i] & legal };
        }
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
    pub(super) fn range(&self, row: usize) -> std::ops::Range<usize> {
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
            self.legal(fixed, &mut buf.legal);
            let can = if is_vector {
                self.vector_reach(&buf.legal, &buf.legal, &mut buf.reach, &mut buf.matrix);
                &buf.reach[..]
            } else {
                &buf.escapes[range.clone()]
            };
            for (i, at) in range.enumerate() {
                let moves = mover.capture[at] | moves[at] | can[i];
                let stuck = buf.legal[i] & !moves;
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
            for row in 0..rows {
                if !buf.again[row] {
                    continue;
                }
                let Some(fixed) = self.fixed(row) else {
                    continue;
                };
                let range = self.range(row);
                self.legal(fixed, &mut buf.legal);
                self.add_beside(
                    1,
                    row,
                    family.won,
                    &mut buf.targets,
                    &mut buf.reach,
                    &mut buf.escapes,
                );
                let escapes = &buf.escapes[range.clone()];
                let closed = &family.closed[range.clone()];
                buf.fresh[row] |= lose(&buf.legal, closed, escapes, &mut family.lost[range]);
            }
            // The winner: everything with a move to a lost position.
            buf.again.fill(false);
            let mut any = false;
            for row in 0..rows {
                if !std::mem::take(&mut buf.fresh[row]) {
                    continue;
                }
                if self.gain_by_vector(row, family, buf) {
                    any = true;
                    self.look_again(row, &mut buf.again);
                }
                self.gain_beside(0, row, family, &mut buf.legal, |to| {
                    any = true;
                    self.look_again(to, &mut buf.again);
                });
            }
            if !any {
                return;
            }
        }
    }

    /// Fills `buf.legal` with the legal squares of a row, and `buf.reach` with those from which the
    /// vector's side has a move to a position that is not in `won`. Returns false if the row is
    /// illegal.
    pub(super) fn vector_escapes(&self, row: usize, won: &[W], buf: &mut Buffers<W>) -> bool {
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

    /// Adds the positions of a row from which a king of the vector's side has a quiet move to a lost
    /// one; returns whether there are new ones.
    pub(super) fn gain_by_vector(
        &self,
        row: usize,
        family: &mut Family<'_, W>,
        buf: &mut Buffers<W>,
    ) -> bool {
        let Some(fixed) = self.fixed(row) else {
            return false;
        };
        let range = self.range(row);
        self.legal(fixed, &mut buf.legal);
        let lost = &family.lost[range.clone()];
        self.vector_reach(lost, &buf.legal, &mut buf.reach, &mut buf.matrix);
        let capture = &family.capture[range.clone()];
        gain(&buf.reach, capture, &mut family.won[range])
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

    /// For the rows marked to be looked at again: from where a quiet move of a king of the side
    /// without the vector leads to a position that is not in `won`.
    pub(super) fn escapes_over(&self, won: &[W], buf: &mut Buffers<W>) {
        buf.escapes.resize(won.len(), W::EMPTY);
        for row in 0..self.rows() {
            if buf.again[row] {
                buf.escapes[self.range(row)].fill(W::EMPTY);
            }
        }
        let Some(stay) = self.kings[1].checked_sub(1) else {
            return;
        };
        let game = self.game;
        let inner = self.inner();
        let outer = self.outer();
        let kings = self.sets.all(self.kings[0] - 1);
        buf.run.resize(inner, W::EMPTY);
        let (scan, past) = if game.flying {
            (
                scan_escape::<W, true> as fn(W, W, &[W], &[W], &mut [W], &mut [W]),
                scan_past::<W, true> as fn(W, W, &[W], &[W], &mut [W]),
            )
        } else {
            (
                scan_escape::<W, false> as fn(W, W, &[W], &[W], &mut [W], &mut [W]),
                scan_past::<W, false> as fn(W, W, &[W], &[W], &mut [W]),
            )
        };
        for (p, &men) in self.men.iter().enumerate() {
            for (i, &still) in self.sets.all(stay).iter().enumerate() {
                let fixed = men | still;
                if !(men & still).is_empty() {
                    continue;
                }
                let cells = self.sets.cells(stay, i);
                for line in &game.lines {
                    let wanted = |&s: &u8| {
                        !fixed.has(s)
                            && cells
                                .at(s as usize)
                                .is_some_and(|c| buf.again[p * outer + c])
                    };
                    if !line.iter().any(wanted) {
                        continue;
                    }
                    let mut square = |s: u8, fresh: &mut bool| {
                        let cell = match cells.at(s as usize) {
                            Some(cell) if !fixed.has(s) => cell,
                            _ => {
                                *fresh = true;
                                return;
                            }
                        };
                        if *fresh {
                            buf.run.fill(W::EMPTY);
                            *fresh = false;
                        }
                        let row = p * outer + cell;
                        let range = row * inner..(row + 1) * inner;
                        let fixed = fixed | W::bit(s);
                        let won = &won[range.clone()];
                        if buf.again[row] {
                            let escapes = &mut buf.escapes[range];
                            scan(game.all, fixed, kings, won, escapes, &mut buf.run);
                        } else {
                            past(game.all, fixed, kings, won, &mut buf.run);
                        }
                    };
                    let mut fresh = true;
                    for &s in line {
                        square(s, &mut fresh);
                    }
                    fresh = true;
                    for &s in line.iter().rev() {
                        square(s, &mut fresh);
                    }
                }
            }
        }
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
            let mut any = false;
            for row in 0..rows {
                if !std::mem::take(&mut buf.again[row]) {
                    continue;
                }
                if !self.vector_escapes(row, family.won, buf) {
                    continue;
                }
                let range = self.range(row);
                let closed = &family.closed[range.clone()];
                let lost = &mut family.lost[range];
                let new = lose(&buf.legal, closed, &buf.reach, lost);
                let first = !buf.some_lost[row] && lost.iter().any(|w| !w.is_empty());
                if new || first {
                    buf.some_lost[row] = true;
                    buf.fresh[row] = true;
                    any = true;
                }
            }
            if !any {
                return;
            }
            self.gains_over(family, buf);
            for row in 0..rows {
                if !std::mem::take(&mut buf.fresh[row]) {
                    continue;
                }
                self.gain_beside(1, row, family, &mut buf.legal, |to| {
                    self.look_beside(to, &mut buf.again);
                });
            }
        }
    }

    /// Marks a row, and the rows from which a sideways step of the vector's side leads to it.
    pub(super) fn look_beside(&self, row: usize, again: &mut [bool]) {
        again[row] = true;
        for from in self.beside(0, row) {
            again[from] = true;
        }
    }

    /// From the fresh rows of lost positions: quiet king moves of the side without the vector.
    pub(super) fn gains_over(&self, family: &mut Family<'_, W>, buf: &mut Buffers<W>) {
        let Some(stay) = self.kings[1].checked_sub(1) else {
            return;
        };
        let game = self.game;
        let inner = self.inner();
        let outer = self.outer();
        let kings = self.sets.all(self.kings[0] - 1);
        buf.run.resize(inner, W::EMPTY);
        let scan = if game.flying {
            scan_gain::<W, true>
        } else {
            scan_gain::<W, false>
        };
        for (p, &men) in self.men.iter().enumerate() {
            for (i, &still) in self.sets.all(stay).iter().enumerate() {
                let fixed = men | still;
                if !(men & still).is_empty() {
                    continue;
                }
                let cells = self.sets.cells(stay, i);
                for line in &game.lines {
                    let wanted = |&s: &u8| {
                        !fixed.has(s)
                            && cells
                                .at(s as usize)
                                .is_some_and(|c| buf.fresh[p * outer + c])
                    };
                    if !line.iter().any(wanted) {
                        continue;
                    }
                    let mut square = |s: u8, live: &mut bool| {
                        let cell = match cells.at(s as usize) {
                            Some(cell) if !fixed.has(s) => cell,
                            _ => {
                                *live = false;
                                return;
                            }
                        };
                        let row = p * outer + cell;
                        let range = row * inner..(row + 1) * inner;
                        if !*live {
                            if !buf.some_lost[row] {
                                return;
                            }
                            buf.run.copy_from_slice(&family.lost[range]);
                            *live = true;
                            return;
                        }
                        let new;
                        (new, *live) = scan(
                            game.all,
                            fixed | W::bit(s),
                            kings,
                            &family.lost[range.clone()],
                            &family.capture[range.clone()],
                            &mut family.won[range],
                            &mut buf.run,
                        );
                        if new {
                            self.look_beside(row, &mut buf.again);
                        }
                    };
                    let mut live = false;
                    for &s in line {
                        square(s, &mut live);
                    }
                    live = false;
                    for &s in line.iter().rev() {
                        square(s, &mut live);
                    }
                }
            }
        }
    }
}
