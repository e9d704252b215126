//! The retrograde iteration of [`super::fixpoint`] ply by ply, for distances and for draw limits.
//!
//! A ply looks at what was known before it and adds what is won or lost in just so many plies; exits
//! come in at the ply at which they count. That holds whatever the parity of the exits. Under a
//! draw limit the plies are those of a clock that every exit starts again: all exits count at ply 1,
//! and the iteration ends with the clock.

use super::fixpoint::{Buffers, Family, Mover, Shape, add, lose};
use super::measure::{Measure, Plies};
use super::word::Word;

/// An exit that counts from some ply on.
#[derive(Clone, Copy, Debug)]
struct Event<W> {
    at: u32,
    squares: W,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The winner wins.
    Won,
    /// The loser must capture, and loses.
    Lost,
    /// All exits of the loser lose from now on.
    Open,
}

/// One of the two families in work: the state of a ply, and the distances found.
#[derive(Debug, Default)]
pub(super) struct Race<W> {
    /// Events by ply.
    events: Vec<Vec<Event<W>>>,
    /// Found in this ply, not yet to be seen.
    new_won: Vec<W>,
    new_lost: Vec<W>,
    /// Where a quiet move wins nothing new: the winner must capture, or has won.
    held: Vec<W>,
    /// Merits of moves to the won and to the lost positions, plane by plane.
    pub(super) won_merits: Vec<Vec<W>>,
    pub(super) lost_merits: Vec<Vec<W>>,
    /// Rows with something in `new_won` and `new_lost`.
    won_rows: Vec<bool>,
    lost_rows: Vec<bool>,
    /// Rows with positions that have become open.
    open_rows: Vec<bool>,
}

/// What a ply has found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    won: bool,
    lost: bool,
}

/// Which exits count from a ply on.
#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    any: bool,
    /// Of the loser's.
    open: bool,
}

/// The positions of a family, the winner's and the loser's.
pub(super) struct Field<'a, W> {
    pub(super) won: &'a mut [W],
    pub(super) lost: &'a mut [W],
    /// Where the winner must capture.
    pub(super) capture: &'a [W],
    /// Where the loser cannot lose by quiet moves, or not yet.
    pub(super) closed: &'a mut [W],
}

impl<W: Word> Race<W> {
    /// Makes ready for `words` words; forgets all events.
    pub(super) fn reset(&mut self, plies: Plies, words: usize) {
        for events in &mut self.events {
            events.clear();
        }
        let clear = |words: &mut Vec<W>, len: usize| {
            words.clear();
            words.resize(len, W::EMPTY);
        };
        for merits in [&mut self.won_merits, &mut self.lost_merits] {
            merits.resize_with(plies.bits(), Vec::new);
            for plane in merits {
                clear(plane, words);
            }
        }
        clear(&mut self.new_won, words);
        clear(&mut self.new_lost, words);
    }

    fn push(&mut self, ply: usize, at: usize, squares: W, kind: Kind) {
        if squares.is_empty() {
            return;
        }
        if self.events.len() <= ply {
            self.events.resize_with(ply + 1, Vec::new);
        }
        self.events[ply].push(Event {
            at: at as u32,
            squares,
            kind,
        });
    }

    /// The family in which what is won in this ply is set aside, and the marks of its rows.
    fn new_wins<'r>(&'r mut self, field: &'r mut Field<'_, W>) -> (Family<'r, W>, &'r mut [bool]) {
        let family = Family {
            won: &mut self.new_won,
            lost: field.lost,
            capture: &self.held,
            closed: field.closed,
        };
        (family, &mut self.won_rows)
    }

    /// Whether anything happens at `ply` or later.
    fn expects(&self, ply: usize) -> bool {
        self.events.iter().skip(ply).any(|e| !e.is_empty())
    }
}

/// Enters the exits of one mover: wins into `wins`, in which it may win, and losses into `losses`.
/// `merits` are the exits, `stuck` has positions won at once.
pub(super) fn schedule<W: Word>(
    plies: Plies,
    capture: &[W],
    merits: &[Vec<W>],
    stuck: &[W],
    wins: &mut Race<W>,
    losses: &mut Race<W>,
) {
    for (at, (&capture, &stuck)) in capture.iter().zip(stuck).enumerate() {
        wins.push(0, at, stuck, Kind::Won);
        let cell = plies.array(|p| merits[p][at]);
        // All but draws, which have the first bit alone.
        let mut rest = cell[1..].iter().fold(W::EMPTY, |all, &plane| all | plane);
        while !rest.is_empty() {
            let (squares, merit) = plies.alike(&cell, rest.first(), rest);
            rest &= !squares;
            match plies.decided(merit) {
                None => {}
                Some((ply, true)) => wins.push(ply, at, squares, Kind::Won),
                Some((ply, false)) => {
                    losses.push(ply, at, squares & capture, Kind::Lost);
                    losses.push(ply, at, squares & !capture, Kind::Open);
                }
            }
        }
    }
}

/// The plies that are looked at, and merits with room for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) plies: Plies,
    /// The last one; what takes longer is a draw.
    pub(super) last: usize,
}

impl Span {
    /// All plies, as far as merits have room.
    pub(super) fn without_end(plies: Plies) -> Self {
        let last = usize::MAX;
        Self { plies, last }
    }
    /// Those of a draw limit's clock, if merits can be that long.
    pub(super) fn of_clock(full: u16) -> Option<Self> {
        let last = usize::from(full);
        // The merit of a move to what was found last has one ply more.
        Plies::up_to(last + 1).map(|plies| Self { plies, last })
    }
}

/// Enters the exits of one mover under a draw limit, in whose `won` and `closed` are those that win
/// and those that do not lose; makes these ready for the race. `moves` has the exits of men that
/// capture nothing. What needs the clock needs one ply of it.
pub(super) fn schedule_on_clock<W: Word>(
    mover: &mut Mover<W>,
    moves: &[W],
    wins: &mut Race<W>,
    losses: &mut Race<W>,
) {
    mover.lost.clear();
    mover.lost.resize(moves.len(), W::EMPTY);
    for (at, &moves) in moves.iter().enumerate() {
        let capture = mover.capture[at];
        let escape = mover.closed[at];
        wins.push(1, at, std::mem::take(&mut mover.won[at]), Kind::Won);
        losses.push(1, at, capture & !escape, Kind::Lost);
        losses.push(1, at, moves & !capture & !escape, Kind::Open);
        mover.closed[at] |= capture | moves;
    }
}

impl<W: Word> Shape<'_, W> {
    /// Finds all distances of a family; its exits have been scheduled, and nothing is won or lost
    /// yet. Returns false, with the work unfinished, if merits have too few bits.
    #[must_use]
    pub(super) fn race(
        &self,
        Span { plies, last }: Span,
        vector_wins: bool,
        field: &mut Field<'_, W>,
        race: &mut Race<W>,
        buf: &mut Buffers<W>,
    ) -> bool {
        let rows = self.rows();
        let fill = |marks: &mut Vec<bool>, mark: bool| {
            marks.clear();
            marks.resize(rows, mark);
        };
        fill(&mut buf.again, true);
        fill(&mut buf.fresh, false);
        fill(&mut buf.some_lost, false);
        fill(&mut race.won_rows, false);
        fill(&mut race.lost_rows, false);
        fill(&mut race.open_rows, false);
        race.held.clear();
        race.held.extend_from_slice(field.capture);
        // What the last ply has found. At first all rows are looked at.
        let mut found = Found {
            won: true,
            lost: false,
        };
        for ply in 0.. {
            if ply > last || self.ctl.is_stopped() {
                return true;
            }
            let now = self.enter(ply, field, race);
            if now.open || found.won {
                self.lose_all(vector_wins, field, race, buf);
            }
            if found.lost {
                if vector_wins {
                    self.vector_gains(field, race, buf);
                } else {
                    self.other_gains(field, race, buf);
                }
            }
            if !now.any && !found.won && !found.lost {
                if !race.expects(ply + 1) {
                    return true;
                }
                continue;
            }
            match self.settle(plies, ply, vector_wins, field, race, buf) {
                None => return false,
                Some(new) => found = new,
            }
        }
        true
    }

    /// Adds the merit of a move that draws where a position has none.
    pub(super) fn add_draws(&self, merits: &mut [Vec<W>]) {
        let mut legal = Vec::new();
        for row in 0..self.rows() {
            let Some(fixed) = self.fixed(row) else {
                continue;
            };
            self.legal(fixed, &mut legal);
            for (&legal, at) in legal.iter().zip(self.range(row)) {
                let decided = merits.iter().fold(W::EMPTY, |all, plane| all | plane[at]);
                merits[0][at] |= legal & !decided;
            }
        }
    }

    /// The exits that count from `ply` on.
    fn enter(&self, ply: usize, field: &mut Field<'_, W>, race: &mut Race<W>) -> Entered {
        let mut entered = Entered::default();
        let Some(events) = race.events.get(ply) else {
            return entered;
        };
        entered.any = !events.is_empty();
        for event in events {
            let (at, squares) = (event.at as usize, event.squares);
            let row = at / self.inner();
            match event.kind {
                Kind::Won => {
                    race.new_won[at] |= squares & !field.won[at];
                    race.won_rows[row] = true;
                }
                Kind::Lost => {
                    race.new_lost[at] |= squares;
                    race.lost_rows[row] = true;
                }
                Kind::Open => {
                    field.closed[at] &= !squares;
                    race.open_rows[row] = true;
                    entered.open = true;
                }
            }
        }
        entered
    }

    /// Positions of the loser all of whose moves lose.
    fn lose_all(
        &self,
        vector_wins: bool,
        field: &mut Field<'_, W>,
        race: &mut Race<W>,
        buf: &mut Buffers<W>,
    ) {
        if vector_wins {
            self.escapes_over(field.won, buf);
            self.add_steps(field.won, buf);
        }
        let Buffers {
            row,
            escapes,
            again,
            ..
        } = buf;
        let Race {
            new_lost,
            lost_rows,
            open_rows,
            ..
        } = race;
        let (won, closed) = (&*field.won, &*field.closed);
        self.for_rows(new_lost, lost_rows, row, |rows, lost, marks, buf| {
            let lost = lost.chunks_exact_mut(self.inner());
            for ((row, lost), mark) in rows.zip(lost).zip(marks) {
                if !(again[row] || open_rows[row]) {
                    continue;
                }
                let range = self.range(row);
                let escapes = if vector_wins {
                    let Some(fixed) = self.fixed(row) else {
                        continue;
                    };
                    self.legal(fixed, &mut buf.legal);
                    &escapes[range.clone()]
                } else {
                    if !self.vector_escapes(row, won, buf) {
                        continue;
                    }
                    &buf.reach[..]
                };
                *mark |= lose(&buf.legal, &closed[range], escapes, lost);
            }
        });
        again.fill(false);
        open_rows.fill(false);
    }

    /// Positions of the vector's side with a move to a lost one.
    fn vector_gains(&self, field: &mut Field<'_, W>, race: &mut Race<W>, buf: &mut Buffers<W>) {
        let (mut family, won_rows) = race.new_wins(field);
        let Buffers { row, fresh, .. } = buf;
        if !self.sideways[0].is_empty() {
            for from in (0..self.rows()).filter(|&row| fresh[row]) {
                let legal = &mut row.legal;
                self.gain_beside(0, from, &mut family, legal, |to| won_rows[to] = true);
            }
        }
        self.gain_all_by_vector(&mut family, fresh, row);
        for (won, new) in won_rows.iter_mut().zip(fresh) {
            *won |= std::mem::take(new);
        }
    }

    /// Positions of the side without the vector with a move to a lost one.
    fn other_gains(&self, field: &mut Field<'_, W>, race: &mut Race<W>, buf: &mut Buffers<W>) {
        let (mut family, won_rows) = race.new_wins(field);
        self.gains_over(&mut family, buf);
        let Buffers {
            row, fresh, again, ..
        } = buf;
        for (won, &again) in won_rows.iter_mut().zip(&*again) {
            *won |= again;
        }
        if !self.sideways[1].is_empty() {
            for from in (0..self.rows()).filter(|&row| fresh[row]) {
                let legal = &mut row.legal;
                self.gain_beside(1, from, &mut family, legal, |to| won_rows[to] = true);
            }
        }
        fresh.fill(false);
    }

    /// What was found in a ply takes effect. None if merits have too few bits for it.
    fn settle(
        &self,
        plies: Plies,
        ply: usize,
        vector_wins: bool,
        field: &mut Field<'_, W>,
        race: &mut Race<W>,
        buf: &mut Buffers<W>,
    ) -> Option<Found> {
        let mut found = Found::default();
        let fits = ply < plies.most();
        for row in 0..self.rows() {
            let range = self.range(row);
            if std::mem::take(&mut race.won_rows[row]) && any(&race.new_won[range.clone()]) {
                if !fits {
                    return None;
                }
                found.won = true;
                let new = &mut race.new_won[range.clone()];
                let merit = plies.loss(ply + 1);
                note(plies, merit, new, range.start, &mut race.won_merits);
                move_to([&mut *field.won, &mut race.held], new, range.start);
                if vector_wins {
                    self.look_again(row, &mut buf.again);
                } else {
                    self.look_beside(row, &mut buf.again);
                }
            }
            if std::mem::take(&mut race.lost_rows[row]) && any(&race.new_lost[range.clone()]) {
                if !fits {
                    return None;
                }
                found.lost = true;
                let new = &mut race.new_lost[range.clone()];
                let merit = plies.win(ply + 1);
                note(plies, merit, new, range.start, &mut race.lost_merits);
                move_to([&mut *field.lost, &mut *field.closed], new, range.start);
                buf.fresh[row] = true;
                buf.some_lost[row] = true;
            }
        }
        Some(found)
    }
}

/// Whether there is any position.
fn any<W: Word>(new: &[W]) -> bool {
    new.iter().any(|word| !word.is_empty())
}

/// Adds `new` to both planes from `start` on, and empties it.
fn move_to<W: Word>(planes: [&mut [W]; 2], new: &mut [W], start: usize) {
    for plane in planes {
        for (to, &new) in plane[start..].iter_mut().zip(&*new) {
            *to |= new;
        }
    }
    new.fill(W::EMPTY);
}

/// Writes a merit at the squares of `new`.
fn note<W: Word>(plies: Plies, merit: usize, new: &[W], start: usize, merits: &mut [Vec<W>]) {
    for (p, plane) in merits.iter_mut().enumerate() {
        if plies.has(merit, p) {
            let plane = &mut plane[start..start + new.len()];
            if let ([plane], [new]) = (&mut *plane, new) {
                *plane |= *new;
            } else {
                add(new, plane);
            }
        }
    }
}
