//! Sides, placements of pieces, and moves.

use crate::bits::Bits;
use crate::geometry::Geometry;

/// One of the two players.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Side {
    /// Starts at the bottom, moves towards row 1.
    #[default]
    White = 0,
    /// Starts at the top, moves towards the last row.
    Black = 1,
}

impl Side {
    /// White, then Black.
    pub const BOTH: [Self; 2] = [Self::White, Self::Black];

    /// The opponent.
    #[inline(always)]
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
        }
    }
    /// `white` or `black`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Black => "black",
        }
    }
}

/// Where all pieces stand; index 0 of each array is White, 1 is Black.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Board<W> {
    /// The men of both sides.
    pub men: [W; 2],
    /// The kings of both sides.
    pub kings: [W; 2],
}

impl<W: Bits> Board<W> {
    /// The board without pieces.
    pub const EMPTY: Self = Self {
        men: [W::EMPTY; 2],
        kings: [W::EMPTY; 2],
    };

    /// All pieces of one side.
    #[inline(always)]
    #[must_use]
    pub fn pieces(&self, side: Side) -> W {
        self.men[side as usize] | self.kings[side as usize]
    }
    /// All pieces.
    #[inline(always)]
    #[must_use]
    pub fn occupied(&self) -> W {
        self.men[0] | self.men[1] | self.kings[0] | self.kings[1]
    }
    /// Turned by 180 degrees with the colours swapped: the same position seen by the other side.
    #[must_use]
    pub fn mirrored(&self, geometry: Geometry) -> Self {
        let turn = |set: W| W::from_wide(geometry.rotate_set(set.wide()));
        Self {
            men: [turn(self.men[1]), turn(self.men[0])],
            kings: [turn(self.kings[1]), turn(self.kings[0])],
        }
    }
    /// The same placement in the widest word.
    // Written out, like its inverse: the optimiser leaves a map over an array of two as a call.
    #[inline]
    #[must_use]
    pub fn wide(&self) -> Board<u128> {
        Board {
            men: [self.men[0].wide(), self.men[1].wide()],
            kings: [self.kings[0].wide(), self.kings[1].wide()],
        }
    }
    /// The placement in the word of a code; squares that do not fit are dropped.
    #[inline]
    #[must_use]
    pub fn from_wide(b: &Board<u128>) -> Self {
        Self {
            men: [W::from_wide(b.men[0]), W::from_wide(b.men[1])],
            kings: [W::from_wide(b.kings[0]), W::from_wide(b.kings[1])],
        }
    }
    /// The placement after `m` of `side`.
    #[inline(always)]
    #[must_use]
    pub fn after(&self, side: Side, m: &Move<W>) -> Self {
        let (us, them) = (side as usize, side.other() as usize);
        let mut b = *self;
        let from = W::bit(m.from);
        let to = W::bit(m.to);
        if (b.kings[us] & from).is_empty() {
            b.men[us] ^= from;
            if m.promotes {
                b.kings[us] |= to;
            } else {
                b.men[us] |= to;
            }
        } else {
            b.kings[us] ^= from;
            b.kings[us] |= to;
        }
        b.men[them] &= !m.captured;
        b.kings[them] &= !m.captured;
        b
    }
}

/// A move: from, to, the set of captured squares, and whether a man is crowned by it. Two capture
/// routes that agree in all of these are one move (RULES 0.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Move<W> {
    /// The captured squares; empty for a quiet move.
    pub captured: W,
    /// Where the piece starts.
    pub from: u8,
    /// Where it ends; may be `from` in a capture.
    pub to: u8,
    /// Whether a man becomes a king.
    pub promotes: bool,
}

impl<W: Bits> Move<W> {
    /// True if the move captures.
    #[inline(always)]
    #[must_use]
    pub fn is_capture(&self) -> bool {
        !self.captured.is_empty()
    }
}
