//! Rows: one value a square, as two bit planes; and as bytes with a margin where squares are coded.
//!
//! Squares that hold no stored value (a capture, another piece) keep what was predicted for them,
//! so every row is complete and can serve as a reference.

// Several arrays are walked in step, in the form that becomes vector code.
#![allow(clippy::needless_range_loop)]

use dambase_rules::{Bits, Geometry};

use super::layout::{MAX_ROWS, NO_ROW, Row};
use crate::narrow::{low_word, to_u8};

/// Bytes of a row with all margins.
pub(crate) const WIDTH: usize = 112;
/// Place of square 0 in a row.
pub(crate) const HEAD: usize = 16;
/// The value of margins and of rows that are not there.
pub(crate) const OUTSIDE: u8 = 3;
/// The widest board with the margins inside it.
pub(crate) const LEN: usize = 80;
/// Most pieces of a board that are spread to bytes in one go.
const SEGMENTS: usize = 12;

/// Squares next to each other in a row of bytes, at most eight.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The first square.
    first: u8,
    /// Its place.
    place: u8,
    /// Ones for what is behind the last square.
    behind: u8,
}

/// Where squares stand in a row of bytes, and the distances of neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pad {
    /// Distances to the two next squares in ascending order: down left and down right, or right
    /// and down on the full board.
    pub(crate) ahead: [usize; 2],
    /// The distance back to a third square already decoded: the one before in the row of the
    /// board, or up and left on the full board.
    pub(crate) third: usize,
    at: [u8; 256],
    segments: [Segment; SEGMENTS],
    used: usize,
}

impl Pad {
    /// The board of a geometry. Behind every row of the full board, and between every two rows
    /// of the others, there is a byte outside the board.
    const fn new(geometry: Geometry) -> Self {
        let n = geometry.per_row();
        // As long as a byte counts, so that no index is outside.
        let mut at = [0; 256];
        let mut segments = [Segment {
            first: 0,
            place: 0,
            behind: 0,
        }; SEGMENTS];
        let mut used = 0;
        let mut length = 8;
        let mut s = 0;
        while s < geometry.squares() {
            let row = s / n;
            let extra = match geometry {
                Geometry::Full8 => row,
                Geometry::Mirrored8 => row.div_ceil(2),
                _ => row / 2,
            };
            at[s] = to_u8(HEAD + s + extra);
            if length == 8 || at[s] != at[s - 1] + 1 {
                segments[used].first = to_u8(s);
                segments[used].place = at[s];
                used += 1;
                length = 0;
            }
            length += 1;
            segments[used - 1].behind = !(u8::MAX >> (8 - length));
            s += 1;
        }
        let ahead = if geometry.is_full() {
            [1, n + 1]
        } else {
            [n, n + 1]
        };
        Self {
            ahead,
            third: if geometry.is_full() { n + 2 } else { 1 },
            at,
            segments,
            used,
        }
    }

    /// The pad of a geometry.
    pub(crate) const fn of(geometry: Geometry) -> &'static Self {
        match geometry {
            Geometry::Diagonal8 => &PADS[0],
            Geometry::Mirrored8 => &PADS[1],
            Geometry::Diagonal10 => &PADS[2],
            Geometry::Diagonal12 => &PADS[3],
            Geometry::Full8 => &PADS[4],
        }
    }

    /// The place of a square.
    #[inline(always)]
    pub(crate) const fn at(&self, s: u8) -> u8 {
        self.at[s as usize]
    }

    /// The values of rows as bytes. All of `out` must come from [`RowBytes::OUTSIDE`].
    #[inline(always)]
    fn spread<W: Bits, const N: usize>(&self, rows: [Planes<W>; N], out: [&mut RowBytes; N]) {
        for &Segment {
            first,
            place,
            behind,
        } in &self.segments[..self.used]
        {
            let part = |plane: W| SPREAD[usize::from(plane.byte_at(first) | behind)];
            let at = usize::from(place).min(WIDTH - 8);
            for k in 0..N {
                let bytes = part(rows[k].low) | part(rows[k].high) << 1;
                out[k].0[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            }
        }
    }
}

static PADS: [Pad; 5] = [
    Pad::new(Geometry::Diagonal8),
    Pad::new(Geometry::Mirrored8),
    Pad::new(Geometry::Diagonal10),
    Pad::new(Geometry::Diagonal12),
    Pad::new(Geometry::Full8),
];

/// The bits of a byte, each in a byte of its own.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[n] |= (n as u64 >> bit & 1) << (8 * bit);
            bit += 1;
        }
        n += 1;
    }
    table
};

/// Eight bits of a word.
trait ByteAt: Bits {
    /// The bits from square `s` on.
    #[inline(always)]
    fn byte_at(self, s: u8) -> u8 {
        if Self::WIDTH <= 64 {
            (low_word(self.wide()) >> s & 0xff) as u8
        } else {
            (self.wide() >> s & 0xff) as u8
        }
    }
}
impl<W: Bits> ByteAt for W {}

/// The values of one row: the lower and the higher bit of each square. What is beyond the board
/// has no meaning, but is the same in all rows that are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Planes<W> {
    pub(crate) low: W,
    pub(crate) high: W,
}

impl<W: Bits> Planes<W> {
    /// One value on all squares.
    #[inline(always)]
    pub(crate) fn filled(value: u8) -> Self {
        let plane = |bit: u8| {
            if value >> bit & 1 == 1 {
                !W::EMPTY
            } else {
                W::EMPTY
            }
        };
        Self {
            low: plane(0),
            high: plane(1),
        }
    }
    /// The value on a square.
    #[inline(always)]
    pub(crate) fn get(self, s: u8) -> u8 {
        u8::from(self.low.has(s)) | u8::from(self.high.has(s)) << 1
    }
    /// Changes the value on a square by an exclusive or.
    #[inline(always)]
    pub(crate) fn change(&mut self, s: u8, by: u8) {
        // Without a branch, which would often be taken wrong.
        let bit = |b: u8| {
            if W::WIDTH <= 64 {
                W::from_wide(u128::from(u64::from(b) << s))
            } else {
                W::from_wide(u128::from(b) << s)
            }
        };
        self.low ^= bit(by & 1);
        self.high ^= bit(by >> 1);
    }
}

/// Rows that a buffer has room for: a power of two, so that no index is outside.
const ROOM: usize = (MAX_ROWS + 1).next_power_of_two();
/// Words of a row in the widest form.
const ROW_WORDS: usize = 4;

/// The rows of a chunk, for words of any width: row `r` is number `r + 1`, before it is the row
/// that is not there.
#[derive(Clone, Debug)]
pub(crate) struct RowBuffer {
    words: Box<[u64; ROOM * ROW_WORDS]>,
    /// Whether a row is other than predicted: 0 or 1.
    surprising: Box<[u8; ROOM]>,
}

/// Zeros, of which only what is written takes memory.
fn zeros<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let zeros = vec![T::default(); N].into_boxed_slice();
    zeros
        .try_into()
        .unwrap_or_else(|_| unreachable!("the vector has just this length"))
}

/// Words of a plane.
const fn words<W: Bits>() -> usize {
    W::WIDTH.div_ceil(64) as usize
}

impl RowBuffer {
    pub(crate) fn new() -> Self {
        Self {
            words: zeros(),
            surprising: zeros(),
        }
    }
    /// Prepares for the rows of a chunk.
    #[inline(always)]
    pub(crate) fn prepare<W: Bits>(&mut self) {
        self.words[..2 * words::<W>()].fill(u64::MAX);
    }
    #[inline(always)]
    pub(crate) fn get<W: Bits>(&self, number: u16) -> Planes<W> {
        let n = words::<W>();
        let at = 2 * n * (usize::from(number) % ROOM);
        let plane = |k: usize| {
            let low = u128::from(self.words[at + k * n]);
            W::from_wide(if n == 1 {
                low
            } else {
                low | u128::from(self.words[at + k * n + 1]) << 64
            })
        };
        Planes {
            low: plane(0),
            high: plane(1),
        }
    }
    /// Whether a row is other than predicted.
    #[inline(always)]
    fn surprising(&self, number: u16) -> usize {
        self.surprising[usize::from(number) % ROOM].into()
    }
    /// Keeps the row at a place, and whether it is other than predicted.
    #[inline(always)]
    pub(crate) fn set<W: Bits>(&mut self, place: u16, row: Planes<W>, surprising: bool) {
        let number = (usize::from(place) + 1) % ROOM;
        self.surprising[number] = surprising.into();
        let n = words::<W>();
        for (k, plane) in [row.low, row.high].into_iter().enumerate() {
            let at = 2 * n * number + k * n;
            self.words[at] = low_word(plane.wide());
            if n > 1 {
                self.words[at + 1] = low_word(plane.wide() >> 64);
            }
        }
    }
    /// The first rows, for keeping, at [`bit_of`]: both planes of a row side by side, in a word
    /// where the board has no more than 32 squares.
    pub(crate) fn kept(&self, squares: usize, rows: usize) -> Box<[u64]> {
        let words = self.words.iter();
        if squares <= 32 {
            let half = |w: &u64| w & 0xffff_ffff;
            let rows = self.words.as_chunks::<2>().0[1..].iter().take(rows);
            rows.map(|[a, b]| half(a) | half(b) << 32).collect()
        } else {
            let n = if squares <= 64 { 2 } else { 4 };
            words.skip(n).take(n * rows).copied().collect()
        }
    }
}

/// The shift for the bits of a plane that is kept: 32, 64 or 128.
pub(crate) const fn plane_shift(squares: usize) -> u8 {
    match squares {
        0..=32 => 5,
        33..=64 => 6,
        _ => 7,
    }
}

/// The values of one row as bytes.
#[derive(Clone, Debug)]
#[repr(align(16))]
struct RowBytes([u8; WIDTH]);

impl RowBytes {
    const OUTSIDE: Self = Self([OUTSIDE; WIDTH]);
}

/// What is known of a row before it is decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference<W> {
    /// The values expected.
    pub(crate) predicted: Planes<W>,
    fast2: Planes<W>,
    second2: Planes<W>,
    /// The context of the copy flag.
    pub(crate) flag: usize,
}

/// Bits of the context of a copy flag.
pub(crate) const FLAG_BITS: usize = 10;
/// The contexts that occur while all rows of a chunk are equal.
pub(crate) const EQUAL_ROWS: [usize; 9] = [0, 1, 17, 2, 34, 15, 31, 47, 63];
/// Bits of the part of a square's context that is known before its row is decoded.
pub(crate) const OUTER_BITS: usize = 14;
/// Bits of the part that depends on squares of the row already decoded.
pub(crate) const ERROR_BITS: usize = 4;

impl<W: Bits> Reference<W> {
    /// Looks at the rows before `row`.
    #[inline(always)]
    pub(crate) fn predict(rows: &RowBuffer, row: &Row<W>, start: Planes<W>) -> Self {
        let get = |number: u16| rows.get::<W>(number);
        let surprising = |number: u16| rows.surprising(number);
        let (fast2, second2) = (get(row.fast2), get(row.second2));
        let (predicted, flag) = match (row.fast != NO_ROW, row.second != NO_ROW) {
            (false, false) => (start, 0),
            (true, false) => {
                let fast = get(row.fast);
                (fast, 1 | usize::from(fast == fast2) << 4)
            }
            (false, true) => {
                let second = get(row.second);
                (second, 2 | usize::from(second == second2) << 5)
            }
            // What the second piece's step changed, changed by the fast piece's step.
            (true, true) => {
                let (fast, second, both) = (get(row.fast), get(row.second), get(row.both));
                let differ = (fast.low ^ both.low) | (fast.high ^ both.high);
                let mix = |s: W, f: W| s ^ ((s ^ f) & differ);
                let predicted = Planes {
                    low: mix(second.low, fast.low),
                    high: mix(second.high, fast.high),
                };
                let flag = 3
                    | usize::from(both == second) << 2
                    | usize::from(both == fast) << 3
                    | usize::from(fast == fast2) << 4
                    | usize::from(second == second2) << 5;
                (predicted, flag)
            }
        };
        Self {
            predicted,
            fast2,
            second2,
            flag: flag
                | surprising(row.fast) << 6
                | surprising(row.second) << 7
                | surprising(row.fast2) << 8
                | surprising(row.both) << 9,
        }
    }

    /// The outer contexts of all squares.
    #[inline(always)]
    pub(crate) fn outer(&self, pad: &Pad, bytes: &mut Spread) {
        pad.spread(
            [self.predicted, self.fast2, self.second2],
            [&mut bytes.predicted, &mut bytes.fast2, &mut bytes.second2],
        );
        let p = &bytes.predicted.0;
        let [a, b] = pad.ahead;
        let here = &p[HEAD..][..LEN];
        let (n1, n2) = (&p[HEAD + a..][..LEN], &p[HEAD + b..][..LEN]);
        let (p1, p2) = (&p[HEAD - a..][..LEN], &p[HEAD - b..][..LEN]);
        let fast2 = &bytes.fast2.0[HEAD..][..LEN];
        let second2 = &bytes.second2.0[HEAD..][..LEN];
        let out = &mut bytes.outer[HEAD..][..LEN];
        for i in 0..LEN {
            // Three and four values fit a byte: less to widen.
            let low = here[i] | p1[i] << 2 | p2[i] << 4 | n1[i] << 6;
            let high = n2[i] | fast2[i] << 2 | second2[i] << 4;
            out[i] = u16::from(low) | u16::from(high) << 8;
        }
        bytes.inner[..WIDTH].fill(0);
    }
}

/// A row's surroundings as bytes, and what follows from them for each square.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    predicted: RowBytes,
    fast2: RowBytes,
    second2: RowBytes,
    // As long as the places of a pad count, so that no index is outside.
    outer: [u16; 256],
    inner: [u8; 256],
}

/// The bit of an inner context that says that some square is other than predicted.
pub(crate) const ANY: u8 = 1 << 3;

impl Spread {
    pub(crate) const fn new() -> Self {
        Self {
            predicted: RowBytes::OUTSIDE,
            fast2: RowBytes::OUTSIDE,
            second2: RowBytes::OUTSIDE,
            outer: [0; 256],
            inner: [0; 256],
        }
    }
    /// The outer context at a place.
    #[inline(always)]
    pub(crate) fn outer(&self, i: u8) -> u16 {
        self.outer[usize::from(i)]
    }
    /// The inner context at a place, but for [`ANY`]: which of three squares decoded before it
    /// are other than predicted.
    #[inline(always)]
    pub(crate) fn inner(&self, i: u8) -> u8 {
        self.inner[usize::from(i)]
    }
    /// Notes for those to come that the square at a place is other than predicted.
    #[inline(always)]
    pub(crate) fn note(&mut self, i: u8, pad: &Pad) {
        let i = usize::from(i);
        self.inner[i + pad.ahead[0]] |= 1;
        self.inner[i + pad.ahead[1]] |= 2;
        self.inner[i + pad.third] |= 4;
    }
}

/// The value predicted for a square, by its outer context.
#[inline(always)]
pub(crate) const fn predicted(outer: u16) -> u8 {
    (outer & 3) as u8
}

/// The value at an offset of rows that were kept: the number of the row times the bits of a
/// plane, and the square.
#[inline(always)]
pub(crate) fn kept_value(words: &[u64], shift: u8, offset: usize) -> u8 {
    let (row, square) = (offset >> shift, offset & ((1 << shift) - 1));
    let bit = |at: usize| (words[at / 64] >> (at % 64) & 1) as u8;
    let at = (row << (shift + 1)) + square;
    bit(at) | bit(at + (1 << shift)) << 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::geometry::{OFF, dir};

    #[test]
    fn neighbours_are_at_constant_distances() {
        for g in [
            Geometry::Diagonal8,
            Geometry::Mirrored8,
            Geometry::Diagonal10,
            Geometry::Diagonal12,
            Geometry::Full8,
        ] {
            let pad = Pad::of(g);
            let at = |s: u8| usize::from(pad.at(s));
            let dirs = if g.is_full() {
                [dir::E, dir::S]
            } else {
                [dir::SW, dir::SE]
            };
            let mut full = RowBytes::OUTSIDE;
            pad.spread([Planes::<u128>::filled(0)], [&mut full]);
            let squares = full.0.iter().filter(|&&v| v == 0).count();
            assert_eq!(squares, g.squares());
            let end = at((g.squares() - 1) as u8) + 1;
            assert!(HEAD >= pad.ahead[1].max(pad.third));
            assert!(end <= HEAD + LEN && HEAD + LEN + pad.ahead[1] <= WIDTH);
            for s in 0..g.squares() as u8 {
                assert_eq!(full.0[at(s)], 0);
                for (d, ahead) in dirs.into_iter().zip(pad.ahead) {
                    let t = g.grid().step[d][s as usize];
                    if t == OFF {
                        assert_eq!(full.0[at(s) + ahead], OUTSIDE);
                    } else {
                        assert_eq!(at(t), at(s) + ahead);
                    }
                    let t = g.grid().step[(d + 4) % 8][s as usize];
                    if t == OFF {
                        assert_eq!(full.0[at(s) - ahead], OUTSIDE);
                    } else {
                        assert_eq!(at(t), at(s) - ahead);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_spread_and_kept() {
        for g in [Geometry::Diagonal8, Geometry::Full8, Geometry::Diagonal12] {
            let value = |s: u8| (s / 3 + s) % 3;
            let mut row = Planes::<u128>::filled(0);
            (0..g.squares() as u8).for_each(|s| row.change(s, value(s)));
            let mut bytes = RowBytes::OUTSIDE;
            Pad::of(g).spread([row], [&mut bytes]);
            let mut rows = RowBuffer::new();
            rows.prepare::<u128>();
            rows.set(0, Planes::<u128>::filled(1), false);
            rows.set(1, row, true);
            let narrow = Planes {
                low: row.low as u64,
                high: row.high as u64,
            };
            if g.squares() <= 64 {
                rows = RowBuffer::new();
                rows.prepare::<u64>();
                rows.set(0, Planes::<u64>::filled(1), false);
                rows.set(1, narrow, true);
            }
            let kept = rows.kept(g.squares(), 2);
            let shift = plane_shift(g.squares());
            for s in 0..g.squares() as u8 {
                assert_eq!(bytes.0[usize::from(Pad::of(g).at(s))], value(s));
                assert_eq!(row.get(s), value(s));
                let offset = (1 << shift) | usize::from(s);
                assert_eq!(kept_value(&kept, shift, offset), value(s));
            }
        }
    }
}
