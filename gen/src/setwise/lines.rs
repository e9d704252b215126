//! Quiet king moves of the side without the vector: scans along the lines of the board.
//!
//! The words of a row do not depend on each other here. So the one unit of a material of kings only
//! is cut into columns, which are scanned side by side.

use std::ops::Range;

use rayon::prelude::*;

use super::fixpoint::{Buffers, Family, Shape};
use super::layout::{legal_word, shares};
use super::word::{Word, kernel};

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

/// The words of some columns of a plane, to be written row by row.
trait Columns<W> {
    /// Those of one row.
    fn row(&mut self, row: usize) -> &mut [W];
}

/// A plane with so many words a row.
struct Whole<'a, W>(&'a mut [W], usize);

impl<W> Columns<W> for Whole<'_, W> {
    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut [W] {
        &mut self.0[row * self.1..(row + 1) * self.1]
    }
}

impl<W> Columns<W> for Vec<&mut [W]> {
    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut [W] {
        self[row]
    }
}

/// Cuts a plane with `inner` words a row into the columns that begin and end at `bounds`.
fn cut<'a, W>(plane: &'a mut [W], inner: usize, columns: &[Range<usize>]) -> Vec<Vec<&'a mut [W]>> {
    let rows = plane.len() / inner;
    let mut cut: Vec<_> = columns.iter().map(|_| Vec::with_capacity(rows)).collect();
    for mut row in plane.chunks_exact_mut(inner) {
        for (columns, cut) in columns.iter().zip(&mut cut) {
            let words;
            (words, row) = row.split_at_mut(columns.len());
            cut.push(words);
        }
    }
    cut
}

impl<W: Word> Shape<'_, W> {
    /// The columns that are scanned side by side; one of all if the unit is not split.
    fn columns(&self) -> Vec<Range<usize>> {
        shares(self.inner(), self.parts)
    }

    /// For the rows marked to be looked at again: from where a quiet move of a king of the side
    /// without the vector leads to a position that is not in `won`.
    pub(super) fn escapes_over(&self, won: &[W], buf: &mut Buffers<W>) {
        let inner = self.inner();
        buf.escapes.resize(won.len(), W::EMPTY);
        let again = &buf.again[..];
        if self.parts == 1 {
            let mut escapes = Whole(&mut buf.escapes, inner);
            self.scan_escapes(0..inner, won, again, &mut escapes, &mut buf.run);
            return;
        }
        let columns = self.columns();
        let escapes = cut(&mut buf.escapes, inner, &columns);
        let parts = escapes.into_par_iter().zip(columns);
        parts.for_each(|(mut escapes, columns)| {
            self.scan_escapes(columns, won, again, &mut escapes, &mut Vec::new());
        });
    }

    fn scan_escapes(
        &self,
        columns: Range<usize>,
        won: &[W],
        again: &[bool],
        escapes: &mut impl Columns<W>,
        run: &mut Vec<W>,
    ) {
        for (row, &again) in again.iter().enumerate() {
            if again {
                escapes.row(row).fill(W::EMPTY);
            }
        }
        let all = self.game.all;
        let inner = self.inner();
        let kings = &self.sets.all(self.kings[0] - 1)[columns.clone()];
        run.resize(kings.len(), W::EMPTY);
        let (scan, past) = if self.game.flying {
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
        let mut fresh = true;
        self.along_lines(again, |square| {
            let Some((row, fixed)) = square else {
                fresh = true;
                return;
            };
            if fresh {
                run.fill(W::EMPTY);
                fresh = false;
            }
            let won = &won[row * inner..][columns.clone()];
            if again[row] {
                scan(all, fixed, kings, won, escapes.row(row), run);
            } else {
                past(all, fixed, kings, won, run);
            }
        });
    }

    /// From the fresh rows of lost positions: quiet king moves of the side without the vector. Marks
    /// the rows that are to be looked at because of what is new.
    pub(super) fn gains_over(&self, family: &mut Family<'_, W>, buf: &mut Buffers<W>) {
        let inner = self.inner();
        let Buffers {
            run,
            fresh,
            again,
            some_lost,
            ..
        } = buf;
        let (from, rows) = (
            (&*family.lost, family.capture),
            (&fresh[..], &some_lost[..]),
        );
        if self.parts == 1 {
            let mut won = Whole(family.won, inner);
            self.scan_gains(0..inner, from, rows, &mut won, run, |row| {
                self.look_beside(row, again);
            });
            return;
        }
        let columns = self.columns();
        let won = cut(family.won, inner, &columns);
        let parts = won.into_par_iter().zip(columns);
        let new: Vec<Vec<usize>> = parts
            .map(|(mut won, columns)| {
                let mut new = Vec::new();
                self.scan_gains(columns, from, rows, &mut won, &mut Vec::new(), |row| {
                    new.push(row);
                });
                new
            })
            .collect();
        for row in new.into_iter().flatten() {
            self.look_beside(row, again);
        }
    }

    /// `from`: what is lost, and where the winner must capture; `rows`: those with new lost
    /// positions, and with any. Tells `each` the rows with something new.
    fn scan_gains(
        &self,
        columns: Range<usize>,
        from: (&[W], &[W]),
        rows: (&[bool], &[bool]),
        won: &mut impl Columns<W>,
        run: &mut Vec<W>,
        mut each: impl FnMut(usize),
    ) {
        let (lost, capture) = from;
        let (fresh, some_lost) = rows;
        let all = self.game.all;
        let inner = self.inner();
        let kings = &self.sets.all(self.kings[0] - 1)[columns.clone()];
        run.resize(kings.len(), W::EMPTY);
        let scan = if self.game.flying {
            scan_gain::<W, true>
        } else {
            scan_gain::<W, false>
        };
        let mut live = false;
        self.along_lines(fresh, |square| {
            let Some((row, fixed)) = square else {
                live = false;
                return;
            };
            let lost = &lost[row * inner..][columns.clone()];
            if !live {
                if some_lost[row] {
                    run.copy_from_slice(lost);
                    live = true;
                }
                return;
            }
            let capture = &capture[row * inner..][columns.clone()];
            let new;
            (new, live) = scan(all, fixed, kings, lost, capture, won.row(row), run);
            if new {
                each(row);
            }
        });
    }

    /// Goes along every line that crosses a marked row, in both directions; all pieces but one king of
    /// the side without the vector stand still. `square` gets the row in which that king is on a square, and
    /// what stands still in the row; nothing where a line begins or something is in the way.
    #[inline(always)]
    fn along_lines(&self, marked: &[bool], mut square: impl FnMut(Option<(usize, W)>)) {
        let Some(stay) = self.kings[1].checked_sub(1) else {
            return;
        };
        let outer = self.outer();
        for (p, &men) in self.men.iter().enumerate() {
            for (i, &still) in self.sets.all(stay).iter().enumerate() {
                let fixed = men | still;
                if !(men & still).is_empty() {
                    continue;
                }
                let cells = self.sets.cells(stay, i);
                let row = |s: u8| match cells.at(s as usize) {
                    Some(cell) if !fixed.has(s) => Some(p * outer + cell),
                    _ => None,
                };
                let place = |&s: &u8| row(s).map(|row| (row, fixed | W::bit(s)));
                for line in &self.game.lines {
                    if !line.iter().any(|&s| row(s).is_some_and(|row| marked[row])) {
                        continue;
                    }
                    square(None);
                    line.iter().for_each(|s| square(place(s)));
                    square(None);
                    line.iter().rev().for_each(|s| square(place(s)));
                }
            }
        }
    }
}
