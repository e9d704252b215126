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
            line.0[usize::from(pad.at(s))] = key;
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
    fn surprising(&self, number: u16) -> u16 {
        self.surprising[usize::from(number)].into()
    }
}

/// Bits of the context of a copy flag.
pub(super) const FLAG_BITS: usize = 8;
/// Tables that add up for the class of a square, and bits of their contexts, of which the lowest
/// names the decision.
pub(super) const CLASS_TABLES: usize = 5;
pub(super) const CLASS_BITS: usize = 13;
/// The same for decisions on numbers, which the lowest three bits name.
pub(super) const NUMBER_TABLES: usize = 8;
pub(super) const NUMBER_BITS: usize = 15;
/// From this difference on its excess is coded as a plain number.
const LONG: u16 = 24;

/// Where decisions come from or go to. A reader ignores the wanted outcomes, a writer returns them.
pub(super) trait Port<W> {
    /// Whether it reads.
    const READS: bool;
    /// Puts the true keys of the squares `coded` of a row into `line`; readers do nothing.
    fn fetch(&mut self, row: &Row<W>, coded: W, line: &mut Line);
    /// Whether the keys are just as predicted.
    fn flag(&mut self, context: u16, copy: bool) -> bool;
    /// Whether the contexts of classes do not matter.
    fn no_class_contexts(&self) -> bool {
        false
    }
    /// One decision on the class of a square.
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool) -> bool;
    /// One decision on a number.
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool) -> bool;
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
    /// Whether the vector belongs to the side to move.
    pub(super) own: bool,
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
    both: &'a Line,
    /// The squares of the fast and the second piece.
    moving: [u8; 2],
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
            both: self.rows.line(row.both),
            moving: row.moving,
        };
        let mut expected = Expected {
            line: match (row.fast != NO_ROW, row.second != NO_ROW) {
                (false, false) => self.start.1.clone(),
                (true, false) => around.fast.clone(),
                (false, true) => around.second.clone(),
                (true, true) => mixed(around.fast, around.second, around.both),
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
                row.board().occupied(),
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
            same = coded
                .squares()
                .all(|s| as_expected(usize::from(self.pad.at(s))));
        }
        let context = u16::from(row.fast != NO_ROW)
            | u16::from(row.second != NO_ROW) << 1
            | u16::from(self.other.is_some()) << 2
            | self.rows.surprising(row.fast) << 3
            | self.rows.surprising(row.second) << 4
            | self.rows.surprising(row.fast2) << 5
            | self.rows.surprising(row.second2) << 6
            | self.rows.surprising(row.both) << 7;
        let copy = self.port.flag(context, same);
        if !copy {
            let replies = [
                replies(self.pad, self.own, around.fast),
                replies(self.pad, self.own, around.second),
            ];
            let coding = Squares {
                pad: self.pad,
                start: &self.start.0,
                around: &around,
                expected: &expected,
                replies: &replies,
            };
            coding.code(self.port, coded, &mut now);
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
        let (f, s) = (fast[i].cast_signed(), second[i].cast_signed());
        let b = both[i].cast_signed();
        let sum = f.wrapping_sub(b).wrapping_add(s);
        let sum = sum.max(f.min(s)).min(f.max(s));
        let one = if (b ^ f) & CLASS == 0 { s } else { f };
        let one_class = ((f ^ s) | (f ^ b)) & CLASS == 0;
        now[i] = if one_class { sum } else { one }.cast_unsigned();
    }
    out
}

/// What the owner of the vector makes of a row by one step of it: on each square the best key on
/// the neighbours, as far as the other side's, with one ply more.
#[inline(always)]
fn replies(pad: &Pad, own: bool, row: &Line) -> Line {
    // Ranks for the side to move: wins above draws above losses; words with a sign, for vectors.
    const DRAW: i16 = 12288;
    const BEST: i16 = 24575;
    const WIN: u16 = key::key(1, 0);
    const LOSS: u16 = key::key(2, 0);
    let none = if own { -1 } else { i16::MAX };
    let mut ranks = [none; WIDTH];
    for i in HEAD..HEAD + LEN {
        let k = row.0[i];
        let win = BEST.wrapping_sub(k.wrapping_sub(WIN).cast_signed());
        let loss = k.wrapping_sub(LOSS).cast_signed();
        ranks[i] = if k >= OUTSIDE {
            none
        } else if k >= LOSS {
            loss
        } else if k >= WIN {
            win
        } else {
            DRAW
        };
    }
    let [a, b] = pad.ahead;
    let mut out = Line::NONE;
    for i in HEAD..HEAD + LEN {
        let near = [ranks[i - a], ranks[i - b], ranks[i + a], ranks[i + b]];
        let best = if own {
            near[0].max(near[1]).max(near[2]).max(near[3])
        } else {
            near[0].min(near[1]).min(near[2]).min(near[3])
        };
        // One ply more, but no number above the largest.
        let more = |n: i16| n.min(key::MOST.cast_signed() - 1) + 1;
        out.0[i] = if best == none {
            OUTSIDE
        } else if best == DRAW {
            0
        } else if best > DRAW {
            WIN + more(BEST - best).cast_unsigned()
        } else {
            LOSS + more(best).cast_unsigned()
        };
    }
    out
}

/// Puts small numbers of so many bits next to each other, the first lowest.
#[inline(always)]
fn pack<const N: usize>(parts: [(u16, u32); N]) -> u16 {
    let mut at = 0;
    let mut all = 0;
    let mut k = 0;
    while k < N {
        all |= parts[k].0 << at;
        at += parts[k].1;
        k += 1;
    }
    all
}

/// Codes the squares of a row that is not as expected.
struct Squares<'a> {
    pad: &'a Pad,
    start: &'a Start,
    around: &'a Around<'a>,
    expected: &'a Expected,
    /// What one step of the vector makes of the rows beside.
    replies: &'a [Line; 2],
}

impl Squares<'_> {
    #[inline(always)]
    fn code<W: Bits, P: Port<W>>(&self, port: &mut P, coded: W, now: &mut Line) {
        let wanted = now.clone();
        // Squares that are not decoded yet must not be looked at.
        *now = self.expected.line.clone();
        for s in coded.squares() {
            let i = usize::from(self.pad.at(s));
            let e = &self.expected.line.0;
            let wanted = wanted.0[i];
            let expected = key::class(e[i]);
            let contexts = if port.no_class_contexts() {
                [0; CLASS_TABLES]
            } else {
                self.class_contexts(s, now)
            };
            let class = if port.class(&contexts, 0, key::class(wanted) == expected) {
                expected
            } else {
                let first = u8::from(expected == 0);
                if port.class(&contexts, 1, key::class(wanted) == first) {
                    first
                } else {
                    3 - expected - first
                }
            };
            now.0[i] = if class == 0 {
                0
            } else {
                let like = self.like(i, class, now);
                let contexts = self.number_contexts(s, key::key(class, like), now);
                key::key(class, number(port, like, &contexts, key::number(wanted)))
            };
        }
    }

    /// The contexts of the class of a square, for decision 0.
    #[inline(always)]
    fn class_contexts(&self, s: u8, now: &Line) -> [u16; CLASS_TABLES] {
        let [a, b] = self.pad.ahead;
        let i = usize::from(self.pad.at(s));
        let e = &self.expected.line.0;
        let class = |k: u16| (k >> 13, 2);
        // Whether a square was other than expected: in its number, in its class.
        let wrong = |i: usize| {
            let (now, e) = (now.0[i], e[i]);
            let class = key::class(now) != key::class(e);
            (u16::from(now != e) + u16::from(class), 2)
        };
        let Around {
            fast,
            second,
            fast2,
            second2,
            both,
            ..
        } = self.around;
        let here = class(e[i]);
        let third = i - self.pad.third;
        let (near1, near2) = (class(now.0[i - a]), class(now.0[i - b]));
        let hinted = (u16::from(self.expected.hinted[i]), 1);
        let (f2, s2) = (class(fast2.0[i]), class(second2.0[i]));
        let fast_reply = class(self.replies[0].0[i]);
        let second_reply = class(self.replies[1].0[i]);
        [
            pack([
                (0, 1),
                here,
                class(e[i + a]),
                class(e[i + b]),
                near1,
                near2,
                class(now.0[third]),
            ]),
            pack([(0, 1), here, f2, s2, fast_reply, second_reply, hinted]),
            pack([
                (0, 1),
                here,
                near1,
                near2,
                wrong(i - a),
                wrong(i - b),
                wrong(third),
            ]),
            pack([
                (0, 1),
                here,
                class(fast.0[i]),
                class(second.0[i]),
                class(both.0[i]),
                f2,
                s2,
            ]),
            pack([(0, 1), here, hinted, (u16::from(s.min(63)), 6)]),
        ]
    }

    /// The number that is expected where the class is known.
    #[inline(always)]
    fn like(&self, i: usize, class: u8, now: &Line) -> u16 {
        let [a, b] = self.pad.ahead;
        let e = self.expected.line.0[i];
        let known = self.expected.referred || self.expected.hinted[i] != 0;
        if known && key::class(e) == class {
            return key::number(e);
        }
        let around = self.around;
        let neighbours = [
            around.fast.0[i],
            around.second.0[i],
            around.fast2.0[i],
            around.second2.0[i],
            now.0[i - a],
            now.0[i - b],
        ];
        let found = neighbours.into_iter().find(|&k| key::class(k) == class);
        found.map_or_else(|| self.start.number(class), key::number)
    }

    /// The contexts of the number of a square, for decision 0.
    #[inline(always)]
    fn number_contexts(&self, s: u8, like: u16, now: &Line) -> [u16; NUMBER_TABLES] {
        let [a, b] = self.pad.ahead;
        let i = usize::from(self.pad.at(s));
        let e = &self.expected.line.0;
        // How a key compares with the one expected: 0 if it is of another class.
        let compared = |k: u16| {
            let far = k
                .cast_signed()
                .wrapping_sub(like.cast_signed())
                .clamp(-3, 3)
                + 4;
            let same = (k ^ like) >> 13 == 0;
            (if same { far.cast_unsigned() } else { 0 }, 3)
        };
        // How far a square was from what was expected: 0 off the board, 1 if of another class.
        let wrong = |i: usize| {
            let (now, e) = (now.0[i], e[i]);
            let far = now.cast_signed().wrapping_sub(e.cast_signed()).clamp(-2, 2) + 4;
            let far = if now >= OUTSIDE {
                0
            } else if (now ^ e) >> 13 != 0 {
                1
            } else {
                far.cast_unsigned()
            };
            (far, 3)
        };
        let Around {
            fast,
            second,
            fast2,
            second2,
            both,
            moving,
        } = self.around;
        let third = i - self.pad.third;
        let class = key::class(like);
        let (f, s1) = (compared(fast.0[i]), compared(second.0[i]));
        let (near1, near2) = (compared(now.0[i - a]), compared(now.0[i - b]));
        let near3 = compared(now.0[third]);
        let fast_reply = compared(self.replies[0].0[i]);
        let second_reply = compared(self.replies[1].0[i]);
        // Two steps behind.
        let twice = |step: usize| match now.0[i - step] {
            OUTSIDE => OUTSIDE,
            _ => now.0[i - 2 * step],
        };
        let of_square = |s: u8| (u16::from(s.min(63)), 6);
        let square = of_square(s);
        let like_number = (key::number(like).min(63), 6);
        [
            pack([(0, 3), near1, near2, near3, wrong(i - a)]),
            pack([(0, 3), compared(fast2.0[i]), compared(second2.0[i]), f, s1]),
            pack([(0, 3), like_number, square]),
            pack([
                (0, 3),
                fast_reply,
                second_reply,
                compared(e[i + a]),
                compared(e[i + b]),
            ]),
            pack([
                (0, 3),
                wrong(third),
                near3,
                compared(twice(a)),
                compared(twice(b)),
            ]),
            pack([(0, 3), like_number, of_square(moving[0])]),
            pack([(0, 3), square, of_square(moving[1])]),
            pack([
                (0, 3),
                f,
                s1,
                compared(both.0[i]),
                (u16::from(class == 1), 1),
                (u16::from(self.expected.hinted[i]), 1),
                (u16::from(key::class(e[i]) == class), 1),
            ]),
        ]
    }
}

/// Codes a number: whether it is the one expected; above or below; how far.
#[inline(always)]
fn number<W, P: Port<W>>(
    port: &mut P,
    like: u16,
    contexts: &[u16; NUMBER_TABLES],
    wanted: u16,
) -> u16 {
    if port.number(contexts, 0, wanted == like) {
        return like;
    }
    // Nothing is below 0.
    let above = like == 0 || port.number(contexts, 1, wanted > like);
    let far = wanted.abs_diff(like);
    let mut distance = 1;
    while distance < LONG {
        let decision = (2 * distance.min(3)) | u16::from(!above);
        if !port.number(contexts, decision, far > distance) {
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
