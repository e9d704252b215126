//! Values and distances of positions, and plain arrays of them in index order.

use std::fmt;

use crate::backing::{Backing, LargeArray};
use crate::error::Error;
use crate::narrow::to_usize;

/// Win, loss or draw **for the side to move**; endless play is a draw. The numbers are those of
/// packed arrays and of the file format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Wld {
    /// Neither side can force a win.
    Draw = 0,
    /// The side to move wins.
    Win = 1,
    /// The side to move loses.
    Loss = 2,
}

impl Wld {
    /// The value with a number; anything but 0, 1 and 2 is none.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::Draw),
            1 => Some(Self::Win),
            2 => Some(Self::Loss),
            _ => None,
        }
    }
    /// The value for the opponent.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Draw => Self::Draw,
            Self::Win => Self::Loss,
            Self::Loss => Self::Win,
        }
    }
    /// `win`, `loss` or `draw`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draw => "draw",
            Self::Win => "win",
            Self::Loss => "loss",
        }
    }
}

impl fmt::Display for Wld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Distance to the end of the game in plies, the winner hurrying and the loser delaying; 0 means
/// that the game is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dtw(pub u16);

impl fmt::Display for Dtw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Value and distance of a position for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Neither side can force a win.
    Draw,
    /// The side to move wins in so many plies.
    Win(Dtw),
    /// The side to move loses in so many plies.
    Loss(Dtw),
}

impl Value {
    /// The value without the distance.
    #[must_use]
    pub const fn wld(self) -> Wld {
        match self {
            Self::Draw => Wld::Draw,
            Self::Win(_) => Wld::Win,
            Self::Loss(_) => Wld::Loss,
        }
    }
    /// The distance; none for a draw.
    #[must_use]
    pub const fn dtw(self) -> Option<Dtw> {
        match self {
            Self::Draw => None,
            Self::Win(d) | Self::Loss(d) => Some(d),
        }
    }
    /// The code of distance arrays: 0 for a draw, `2 * plies + 1` for a win, `2 * plies + 2` for
    /// a loss.
    ///
    /// # Panics
    /// For a distance of 32767 plies or more.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Draw => 0,
            Self::Win(d) => {
                d.0.checked_mul(2)
                    .and_then(|c| c.checked_add(1))
                    .expect("distance")
            }
            Self::Loss(d) => {
                d.0.checked_mul(2)
                    .and_then(|c| c.checked_add(2))
                    .expect("distance")
            }
        }
    }
    /// The value with a code.
    #[must_use]
    pub const fn from_code(code: u16) -> Self {
        match code {
            0 => Self::Draw,
            c if c % 2 == 1 => Self::Win(Dtw(c / 2)),
            c => Self::Loss(Dtw(c / 2 - 1)),
        }
    }
}

/// The values of one slice in index order, four to a byte, the first in the lowest bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WldArray {
    bytes: LargeArray<u8>,
    len: u64,
}

impl WldArray {
    /// `len` draws.
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self::new_in(&Backing::memory(), len).expect("memory has no other errors")
    }
    /// `len` draws.
    ///
    /// # Errors
    /// As [`LargeArray::zeroed`].
    pub fn new_in(backing: &Backing, len: u64) -> Result<Self, Error> {
        let bytes = LargeArray::zeroed(backing, len.div_ceil(4))?;
        Ok(Self { bytes, len })
    }
    /// The array over packed bytes, which must be just as many as `len` values need and must not
    /// hold the number 3.
    #[must_use]
    pub fn from_packed(bytes: impl Into<LargeArray<u8>>, len: u64) -> Option<Self> {
        let bytes = bytes.into();
        let fits = bytes.len() as u64 == len.div_ceil(4);
        let valid = bytes.iter().all(|b| b & (b >> 1) & 0x55 == 0);
        (fits && valid).then_some(Self { bytes, len })
    }
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }
    /// True for an array without values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The value at an index.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, i: u64) -> Wld {
        debug_assert!(i < self.len);
        match self.bytes[(i / 4) as usize] >> (i % 4 * 2) & 3 {
            1 => Wld::Win,
            2 => Wld::Loss,
            _ => Wld::Draw,
        }
    }
    /// Sets the value at an index.
    #[inline(always)]
    pub fn set(&mut self, i: u64, v: Wld) {
        debug_assert!(i < self.len);
        let byte = &mut self.bytes[(i / 4) as usize];
        let shift = i % 4 * 2;
        *byte = *byte & !(3 << shift) | (v as u8) << shift;
    }
    /// Sets all values.
    pub fn fill(&mut self, v: Wld) {
        self.bytes.fill(v as u8 * 0x55);
        if let Some(last) = self.bytes.last_mut()
            && !self.len.is_multiple_of(4)
        {
            *last &= (1 << (self.len % 4 * 2)) - 1;
        }
    }
    /// The packed bytes.
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        &self.bytes
    }
    /// The packed bytes, to be written. Every pair of bits must stay 0, 1 or 2.
    #[must_use]
    pub fn packed_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// The values with distances of one slice in index order, as [`Value::code`]s.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DtwArray {
    /// One code a position.
    pub codes: LargeArray<u16>,
}

impl DtwArray {
    /// The value at an index.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, i: u64) -> Value {
        Value::from_code(self.codes[to_usize(i)])
    }
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.codes.len() as u64
    }
    /// True for an array without values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back() {
        for plies in [0, 1, 2, 127, 128, 255, 256, 32766] {
            for v in [Value::Win(Dtw(plies)), Value::Loss(Dtw(plies)), Value::Draw] {
                assert_eq!(Value::from_code(v.code()), v);
            }
        }
    }

    #[test]
    fn packed_values_stay_apart() {
        let all = [
            Wld::Win,
            Wld::Loss,
            Wld::Draw,
            Wld::Loss,
            Wld::Win,
            Wld::Win,
            Wld::Loss,
        ];
        let mut a = WldArray::new(all.len() as u64);
        for (i, v) in all.into_iter().enumerate() {
            a.set(i as u64, v);
        }
        for (i, v) in all.into_iter().enumerate() {
            assert_eq!(a.get(i as u64), v);
        }
        assert_eq!(
            WldArray::from_packed(a.packed().to_vec(), 7),
            Some(a.clone())
        );
        assert_eq!(WldArray::from_packed(a.packed().to_vec(), 9), None);
        assert_eq!(WldArray::from_packed(vec![0b1100_0000], 4), None);
    }
}
