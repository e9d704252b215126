//! Rows of keys: how they are predicted, and the decisions that tell them from the prediction.
//!
//! Squares that hold no stored value keep what was predicted for them, so every row is complete
//! and can serve as a reference.

// Several lines are walked in step, in the form that becomes vector code.
#![allow(clippy::needless_range_loop)]

use dambase_rules::{Bits, Geometry};

use super::hints::Hints;
use super::key::{self, OUTSIDE};
use super::model::Start;
use crate::codec::context::layout::{NO_ROW, Row, RowVisitor};
pub(super) use crate::codec::context::rows::WIDTH;
use crate::codec::context::rows::{HEAD, LEN, Pad};
use crate::narrow::to_u8;

/// The keys of a row, each at the place of its square.
#[derive(Clone, Debug)]
pub(super) struct Line(pub(super) [u16; WIDTH]);

impl Line {
    /// A row that is not there.
    pub(super) const NONE: Self = Self([OUTSIDE; WIDTH]);

    /// One key on all squares of a board.
    pub(super) fn filled(geometry: Geometry, key: u16) -> Self {
        let pad = Pad::of(geometry);
        let mut line = Self::NONE;
        for s in 0..to_u8(geometry.squares()) {
            line.0[pad.at(s)] = key;
        }
        line
    }
}

/// The rows of a chunk: row `r` is number `r + 1`, before it is the row that is not there.
#[derive(Clone, Debug)]
pub(super) struct RowBuffer {
    lines: Vec<Line>,
    /// Whether a row is other than predicted: 0 or 1.
    surprising: Vec<u8>,
}

impl RowBuffer {
    pub(super) fn new() -> Self {
        Self {
            lines: vec![Line::NONE],
            surprising: vec![0],
        }
    }
    /// Makes room for so many rows.
    pub(super) fn prepare(&mut self, rows: usize) {
        if self.lines.len() <= rows {
            self.lines.resize(rows + 1, Line::NONE);
            self.surprising.resize(rows + 1, 0);
        }
    }
    /// The row with a number.
    #[inline(always)]
    pub(super) fn line(&self, number: u16) -> &Line {
        &self.lines[usize::from(number)]
    }
    /// The row with a number, to be filled.
    #[inline(always)]
    pub(super) fn line_mut(&mut self, number: u16) -> &mut Line {
        &mut self.lines[usize::from(number)]
    }
    #[inline(always)]
    fn surprising(&self, number: u16) -> usize {
        self.surprising[usize::from(number)].into()
    }
}

/// Bits of the context of a copy flag.
pub(super) const FLAG_BITS: usize = 10;
/// Bits of a digit's context that its decision does not change.
pub(super) const AROUND_BITS: usize = 16;
/// Bits that say which decision it is, the class, and whether there is a hint.
pub(super) const DIGIT_BITS: usize = 5;
/// From this difference on its excess is coded as a plain number.
const LONG: u16 = 24;

/// Where decisions come from or go to. A reader ignores the wanted outcomes, a writer returns them.
pub(super) trait Port<W> {
    /// Whether it reads.
    const READS: bool;
    /// Puts the true keys of the squares `coded` of a row into `line`; readers do nothing.
    fn fetch(&mut self, row: &Row<W>, coded: W, line: &mut Line);
    /// Whether the keys are just as predicted.
    fn flag(&mut self, context: usize, copy: bool) -> bool;
    /// The class of a square.
    fn class(&mut self, context: usize, class: u8) -> u8;
    /// One decision on a number.
    fn digit(&mut self, around: usize, inner: usize, yes: bool) -> bool;
    /// One bit, as likely 0 as 1.
    fn bit(&mut self, yes: bool) -> bool;
}

/// The other side's rows, on which a slice depends.
pub(super) struct Other<'a, W> {
    pub(super) rows: &'a RowBuffer,
    pub(super) hints: &'a Hints,
    /// The squares of a row whose keys are known there.
    pub(super) known: &'a dyn Fn(&Row<W>) -> W,
}

/// Codes one row after the other.
pub(super) struct CodeRows<'a, W, P> {
    pub(super) pad: &'a Pad,
    /// The row expected without references.
    pub(super) start: &'a (Start, Line),
    pub(super) other: Option<Other<'a, W>>,
    /// The squares of a row that have stored values.
    pub(super) coded: &'a dyn Fn(&Row<W>) -> W,
    pub(super) rows: &'a mut RowBuffer,
    pub(super) port: &'a mut P,
}

/// The rows around one.
struct Around<'a> {
    fast: &'a Line,
    second: &'a Line,
    fast2: &'a Line,
    second2: &'a Line,
}

/// What is expected of a row.
struct Expected {
    line: Line,
    /// 1 where it is a hint.
    hinted: [u8; WIDTH],
    /// Whether all of it has a reason.
    referred: bool,
}

impl<W: Bits, P: Port<W>> RowVisitor<W> for CodeRows<'_, W, P> {
    #[inline(always)]
    fn row(&mut self, row: &Row<W>) {
        let number = usize::from(row.place) + 1;
        let around = Around {
            fast: self.rows.line(row.fast),
            second: self.rows.line(row.second),
            fast2: self.rows.line(row.fast2),
            second2: self.rows.line(row.second2),
        };
        let both = self.rows.line(row.both);
        let mut expected = Expected {
            line: match (row.fast != NO_ROW, row.second != NO_ROW) {
                (false, false) => self.start.1.clone(),
                (true, false) => around.fast.clone(),
                (false, true) => around.second.clone(),
                (true, true) => mixed(around.fast, around.second, both),
            },
            hinted: [0; WIDTH],
            referred: row.fast != NO_ROW || row.second != NO_ROW,
        };
        if row.squares.is_empty() {
            self.rows.lines[number] = expected.line;
            self.rows.surprising[number] = 0;
            return;
        }
        if let Some(other) = &self.other {
            other.hints.apply(
                self.pad,
                other.rows.line(row.place + 1),
                (other.known)(row),
                row.board.occupied(),
                &mut expected.line,
                &mut expected.hinted,
            );
        }
        let coded = (self.coded)(row);
        let mut now = expected.line.clone();
        let mut same = true;
        if !P::READS {
            self.port.fetch(row, coded, &mut now);
            let as_expected = |i: usize| now.0[i] == expected.line.0[i];
            same = coded.squares().all(|s| as_expected(self.pad.at(s)));
        }
        let context = usize::from(row.fast != NO_ROW)
            | usize::from(row.second != NO_ROW) << 1
            | usize::from(self.other.is_some()) << 2
            | self.rows.surprising(row.fast) << 3
            | self.rows.surprising(row.second) << 4
            | self.rows.surprising(row.fast2) << 5
            | self.rows.surprising(row.second2) << 6
            | self.rows.surprising(row.both) << 7;
        let copy = self.port.flag(context, same);
        if !copy {
            let start = &self.start.0;
            squares(
                self.pad, start, self.port, &around, &expected, coded, &mut now,
            );
        }
        self.rows.lines[number] = now;
        self.rows.surprising[number] = (!copy).into();
    }
}

/// What is expected where both pieces have stood a step back: what the second piece's step
/// changed, changed by the fast piece's step.
#[inline(always)]
fn mixed(fast: &Line, second: &Line, both: &Line) -> Line {
    // No key is above 2^15, so that signed words hold them, which vectors compare.
    const CLASS: i16 = key::key(3, 0).cast_signed();
    let mut out = Line::NONE;
    let (fast, second) = (&fast.0[HEAD..][..LEN], &second.0[HEAD..][..LEN]);
    let both = &both.0[HEAD..][..LEN];
    let now = &mut out.0[HEAD..][..LEN];
    for i in 0..LEN {
        let [f, s, b] = [fast[i], second[i], both[i]].map(u16::cast_signed);
        let sum = f.wrapping_sub(b).wrapping_add(s);
        let sum = sum.max(f.min(s)).min(f.max(s));
        let one = if (b ^ f) & CLASS == 0 { s } else { f };
        let one_class = ((f ^ s) | (f ^ b)) & CLASS == 0;
        now[i] = if one_class { sum } else { one }.cast_unsigned();
    }
    out
}

/// Codes the squares of a row that is not as expected.
#[inline(always)]
fn squares<W: Bits, P: Port<W>>(
    pad: &Pad,
    start: &Start,
    port: &mut P,
    around: &Around<'_>,
    expected: &Expected,
    coded: W,
    now: &mut Line,
) {
    let [a, b] = pad.ahead;
    let wanted = now.clone();
    // Squares that are not decoded yet must not be looked at.
    *now = expected.line.clone();
    let mut errors = [0_u8; WIDTH];
    for s in coded.squares() {
        let i = pad.at(s);
        let e = &expected.line.0;
        let (near1, near2) = (now.0[i - a], now.0[i - b]);
        let of = |k: u16| usize::from(key::class(k));
        let hinted = usize::from(expected.hinted[i]);
        let context = usize::from(errors[i - a])
            | usize::from(errors[i - b]) << 1
            | usize::from(errors[i - pad.third]) << 2
            | hinted << 3
            | of(e[i]) << 4
            | of(near1) << 6
            | of(near2) << 8
            | of(e[i + a]) << 10
            | of(e[i + b]) << 12
            | of(around.fast2.0[i]) << 14
            | of(around.second2.0[i]) << 16;
        let class = port.class(context, key::class(wanted.0[i]));
        errors[i] = u8::from(class != key::class(e[i]));
        now.0[i] = if class == 0 {
            0
        } else {
            let neighbours = [
                around.fast.0[i],
                around.second.0[i],
                around.fast2.0[i],
                around.second2.0[i],
                near1,
                near2,
            ];
            let known = expected.referred || hinted != 0;
            let like = if known && key::class(e[i]) == class {
                key::number(e[i])
            } else {
                let found = neighbours.into_iter().find(|&k| key::class(k) == class);
                found.map_or_else(|| start.number(class), key::number)
            };
            let like = key::key(class, like);
            let inner = usize::from(class == 1) << 3 | hinted << 4;
            let n = number(
                port,
                like,
                surroundings(like, neighbours),
                inner,
                key::number(wanted.0[i]),
            );
            key::key(class, n)
        };
    }
}

/// How the keys around compare with the one expected.
#[inline(always)]
fn surroundings(like: u16, [f, s, f2, s2, n1, n2]: [u16; 6]) -> usize {
    let three = |k: u16| {
        if key::class(k) != key::class(like) {
            return 4;
        }
        let e = i32::from(k) - i32::from(like);
        usize::from(e > 0) | usize::from(e < 0) << 1 | usize::from(e.abs() > 1) << 2
    };
    let two = |k: u16| {
        if key::class(k) != key::class(like) {
            return 3;
        }
        usize::from(k > like) | usize::from(k < like) << 1
    };
    three(f) | three(s) << 3 | three(f2) << 6 | three(s2) << 9 | two(n1) << 12 | two(n2) << 14
}

/// Codes a number: whether it is the one expected; above or below; how far.
#[inline(always)]
fn number<W, P: Port<W>>(port: &mut P, like: u16, around: usize, inner: usize, wanted: u16) -> u16 {
    let like = key::number(like);
    if port.digit(around, inner, wanted == like) {
        return like;
    }
    // Nothing is below 0.
    let above = like == 0 || port.digit(around, inner | 1, wanted > like);
    let far = wanted.abs_diff(like);
    let mut distance = 1;
    while distance < LONG {
        let decision = (2 * distance.min(3)) | u16::from(!above);
        if !port.digit(around, inner | usize::from(decision), far > distance) {
            break;
        }
        distance += 1;
    }
    if distance == LONG {
        // The excess and 1, as so many bits and then these bits.
        let excess = far.saturating_sub(LONG - 1);
        let width = 15 - excess.max(1).leading_zeros();
        let mut bits = 0;
        while bits < 13 && port.bit(bits < width) {
            bits += 1;
        }
        let mut more = 1_u16;
        for k in (0..bits).rev() {
            more = more << 1 | u16::from(port.bit(excess >> k & 1 == 1));
        }
        distance = LONG - 1 + more;
    }
    if above {
        (like + distance).min(key::MOST)
    } else {
        like.saturating_sub(distance)
    }
}
