//! Bitboards: sets of squares in one machine word.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not};

/// A word that holds one bit for each square of a board; bit `s` is the square with house
/// number `s + 1`.
///
/// Implemented for `u64` (boards of up to 64 squares), `u128` (the 72 squares of Canadian
/// draughts, and the common currency of code that is not generic over the code of draughts) and
/// `u32` (the 32 squares of the smallest boards, for code that lives on many words at once), and `u8`
/// (directions).
pub trait Bits:
    Copy
    + Eq
    + Ord
    + Hash
    + Debug
    + Default
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
    + BitXorAssign
{
    /// Number of bits in the word.
    const WIDTH: u32;
    /// The empty set.
    const EMPTY: Self;

    /// The set with the one square `s`.
    fn bit(s: u8) -> Self;
    /// All squares below `s`.
    fn below(s: u8) -> Self;
    /// Number of squares in the set.
    fn count(self) -> u32;
    /// The lowest square; meaningless for the empty set.
    fn first(self) -> u8;
    /// The highest square; meaningless for the empty set.
    fn last(self) -> u8;
    /// The set without its lowest square.
    fn without_first(self) -> Self;
    /// All squares moved up by `n`, less than [`Self::WIDTH`]; those beyond the word are dropped.
    fn up(self, n: u8) -> Self;
    /// All squares moved down by `n`, less than [`Self::WIDTH`].
    fn down(self, n: u8) -> Self;
    /// Narrows a wide set; squares that do not fit are dropped.
    fn from_wide(wide: u128) -> Self;
    /// Widens the set.
    fn wide(self) -> u128;

    /// True if the set is empty.
    #[inline(always)]
    fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
    /// True if square `s` is in the set.
    #[inline(always)]
    fn has(self, s: u8) -> bool {
        !(self & Self::bit(s)).is_empty()
    }
    /// The squares of the set, lowest first.
    #[inline(always)]
    fn squares(self) -> Squares<Self> {
        Squares(self)
    }
}

/// Iterator over the squares of a set, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Squares<W>(W);

impl<W: Bits> Iterator for Squares<W> {
    type Item = u8;
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        if self.0.is_empty() {
            return None;
        }
        let s = self.0.first();
        self.0 = self.0.without_first();
        Some(s)
    }
}

macro_rules! bits {
    ($word:ty) => {
        impl Bits for $word {
            const WIDTH: u32 = <$word>::BITS;
            const EMPTY: Self = 0;
            #[inline(always)]
            fn bit(s: u8) -> Self {
                1 << s
            }
            #[inline(always)]
            fn below(s: u8) -> Self {
                (1 << s) - 1
            }
            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn first(self) -> u8 {
                self.trailing_zeros() as u8
            }
            #[inline(always)]
            fn last(self) -> u8 {
                (<$word>::BITS - 1 - self.leading_zeros()) as u8
            }
            #[inline(always)]
            fn without_first(self) -> Self {
                self & self.wrapping_sub(1)
            }
            #[inline(always)]
            fn up(self, n: u8) -> Self {
                self << n
            }
            #[inline(always)]
            fn down(self, n: u8) -> Self {
                self >> n
            }
            #[inline(always)]
            fn from_wide(wide: u128) -> Self {
                wide as $word
            }
            #[inline(always)]
            fn wide(self) -> u128 {
                self as u128
            }
        }
    };
}
bits!(u8);
bits!(u32);
bits!(u64);
bits!(u128);
