//! Values under the draw limits, and arrays of them.

use std::fmt;

use crate::backing::LargeArray;
use crate::narrow::{to_u8, to_usize};
use crate::value::Wld;

/// Plies of the clock that governs a position that are needed for a win or a loss to stand: with
/// so many plies left it stands, with one less it does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dtz(pub u16);

impl fmt::Display for Dtz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The value of a position under the draw limits, for the side to move, play beginning with full
/// clocks.
///
/// Where no clock runs, the need of wins and losses is 0 and says nothing; whether one runs
/// follows from the material.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleValue {
    /// Neither side can force a win, limits or not.
    Draw,
    /// The side to move would win but for the limits.
    CursedWin,
    /// The side to move would lose but for the limits.
    BlessedLoss,
    /// The side to move wins, with at least so many plies left.
    Win(Dtz),
    /// The side to move loses, with at least so many plies left.
    Loss(Dtz),
}

impl RuleValue {
    /// The largest need of a [code](Self::code).
    pub const MOST: u16 = 125;

    /// The value under the limits: cursed wins and blessed losses are draws.
    #[must_use]
    pub const fn under_limits(self) -> Wld {
        match self {
            Self::Draw | Self::CursedWin | Self::BlessedLoss => Wld::Draw,
            Self::Win(_) => Wld::Win,
            Self::Loss(_) => Wld::Loss,
        }
    }
    /// The value without limits.
    #[must_use]
    pub const fn without_limits(self) -> Wld {
        match self {
            Self::Draw => Wld::Draw,
            Self::CursedWin | Self::Win(_) => Wld::Win,
            Self::BlessedLoss | Self::Loss(_) => Wld::Loss,
        }
    }
    /// The value of a position in which neither side can win under the limits.
    #[must_use]
    pub const fn undecided(without_limits: Wld) -> Self {
        match without_limits {
            Wld::Draw => Self::Draw,
            Wld::Win => Self::CursedWin,
            Wld::Loss => Self::BlessedLoss,
        }
    }
    /// The value for the opponent.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Draw => Self::Draw,
            Self::CursedWin => Self::BlessedLoss,
            Self::BlessedLoss => Self::CursedWin,
            Self::Win(n) => Self::Loss(n),
            Self::Loss(n) => Self::Win(n),
        }
    }
    /// The need; none for what is not decided under the limits.
    #[must_use]
    pub const fn need(self) -> Option<Dtz> {
        match self {
            Self::Win(n) | Self::Loss(n) => Some(n),
            Self::Draw | Self::CursedWin | Self::BlessedLoss => None,
        }
    }
    /// The value with so many plies left on the governing clock (nothing: no clock runs), all
    /// other clocks full.
    #[must_use]
    pub const fn with_left(self, left: Option<u16>) -> Self {
        match (self.need(), left) {
            (Some(Dtz(need)), Some(left)) if need > left => Self::undecided(self.without_limits()),
            _ => self,
        }
    }
    /// `win`, `cursed-win`, `draw`, `blessed-loss` or `loss`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draw => "draw",
            Self::CursedWin => "cursed-win",
            Self::BlessedLoss => "blessed-loss",
            Self::Win(_) => "win",
            Self::Loss(_) => "loss",
        }
    }
    /// The code of arrays and files: 0 draw, 1 cursed win, 2 blessed loss, `3 + 2 * need` win,
    /// `4 + 2 * need` loss.
    ///
    /// # Panics
    /// For a need of more than [`Self::MOST`]: no limit has so many plies.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Draw => 0,
            Self::CursedWin => 1,
            Self::BlessedLoss => 2,
            Self::Win(Dtz(n)) => {
                assert!(n <= Self::MOST, "need");
                3 + 2 * to_u8(n as usize)
            }
            Self::Loss(Dtz(n)) => {
                assert!(n <= Self::MOST, "need");
                4 + 2 * to_u8(n as usize)
            }
        }
    }
    /// The value with a code; 255 is none and taken for the win with the largest need.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Draw,
            1 => Self::CursedWin,
            2 => Self::BlessedLoss,
            255 => Self::Win(Dtz(Self::MOST)),
            c if c % 2 == 1 => Self::Win(Dtz((c / 2 - 1) as u16)),
            c => Self::Loss(Dtz((c / 2 - 2) as u16)),
        }
    }
}

impl fmt::Display for RuleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The values under the draw limits of one slice in index order, as [`RuleValue::code`]s.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DtzArray {
    /// One code a position.
    pub codes: LargeArray<u8>,
}

impl DtzArray {
    /// The value at an index.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, i: u64) -> RuleValue {
        RuleValue::from_code(self.codes[to_usize(i)])
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
        for code in 0..=254 {
            assert_eq!(RuleValue::from_code(code).code(), code);
        }
        for n in 0..=RuleValue::MOST {
            for v in [RuleValue::Win(Dtz(n)), RuleValue::Loss(Dtz(n))] {
                assert_eq!(RuleValue::from_code(v.code()), v);
                assert_eq!(v.with_left(Some(n)), v);
                assert_eq!(v.with_left(None), v);
                if n > 0 {
                    let lost = v.with_left(Some(n - 1));
                    assert_eq!(lost, RuleValue::undecided(v.without_limits()));
                    assert_eq!(lost.under_limits(), Wld::Draw);
                }
            }
        }
    }
}
