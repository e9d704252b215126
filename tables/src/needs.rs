//! What a position needs where several clocks run at once.
//!
//! Where one clock runs, one number says how many plies of it a win or a loss needs. Where several
//! run, a position stands with some combinations of plies left and not with others; as more plies
//! never hurt, the least combinations say it all. Few different lists of them occur in a material, so
//! a table holds the lists once and a number for each position.

use std::collections::HashMap;

use crate::narrow::{to_u8, to_u32};
use crate::rule::{Dtz, RuleValue};
use crate::value::Wld;

/// Plies left on each clock that together are enough; 0 on a clock that does not run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Need {
    /// The long diagonal's clock.
    pub diagonal: u8,
    /// The clock that runs beside the quiet one.
    pub beside: u8,
    /// The quiet clock.
    pub quiet: u8,
}

impl Need {
    /// Whether so many plies are enough.
    #[inline]
    #[must_use]
    pub const fn within(self, left: Self) -> bool {
        self.diagonal <= left.diagonal && self.beside <= left.beside && self.quiet <= left.quiet
    }
}

/// The least combinations of plies that a position needs, in ascending order; none for a position
/// that nothing decides.
pub type Needs = Box<[Need]>;

/// The different [`Needs`] of a material, numbered from 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NeedsList {
    lists: Vec<Needs>,
}

impl NeedsList {
    /// The most lists that a table can have: the number must fit into the symbol of a win or a loss.
    pub const MOST: usize = (u16::MAX as usize - 4) / 2;

    /// Number of lists.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.lists.len()
    }
    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }
    /// The value with full clocks of a position that needs the list with a number, being won or
    /// lost without limits; the need is that of the governing clock. What is decided by no list is
    /// not decided under the limits.
    #[must_use]
    pub fn value(&self, without_limits: Wld, number: Option<u32>) -> RuleValue {
        let needs = number.and_then(|n| self.get(n)).unwrap_or(&[]);
        match (without_limits, governing(needs)) {
            (Wld::Win, Some(n)) => RuleValue::Win(Dtz(n.into())),
            (Wld::Loss, Some(n)) => RuleValue::Loss(Dtz(n.into())),
            _ => RuleValue::undecided(without_limits),
        }
    }
    /// The symbol of a position in a file: 0 draw, 1 cursed win, 2 blessed loss, `3 + 2 * number`
    /// win, `4 + 2 * number` loss; nothing for a number that no symbol holds.
    #[must_use]
    pub fn symbol(value: RuleValue, number: u32) -> Option<u16> {
        let of = |first: u32| u16::try_from(number.checked_mul(2)? + first).ok();
        match value {
            RuleValue::Draw => Some(0),
            RuleValue::CursedWin => Some(1),
            RuleValue::BlessedLoss => Some(2),
            RuleValue::Win(_) if (number as usize) < Self::MOST => of(3),
            RuleValue::Loss(_) if (number as usize) < Self::MOST => of(4),
            RuleValue::Win(_) | RuleValue::Loss(_) => None,
        }
    }
    /// The number of the list of a symbol.
    pub(crate) const fn number(symbol: u16) -> Option<u32> {
        match symbol {
            0..=2 => None,
            s => Some((s as u32 - 3) / 2),
        }
    }
    /// The value of a symbol.
    pub(crate) fn of_symbol(&self, symbol: u16) -> RuleValue {
        let wld = match symbol {
            0 => Wld::Draw,
            s if s % 2 == 1 => Wld::Win,
            _ => Wld::Loss,
        };
        self.value(wld, Self::number(symbol))
    }

    /// The lists as they stand in a file: their number (4 bytes); then of each the number of its
    /// combinations (2 bytes) and these, three bytes each: plies of the diagonal's clock, of the one
    /// beside, of the quiet one.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = to_u32(self.lists.len()).to_le_bytes().to_vec();
        for list in &self.lists {
            let length = u16::try_from(list.len()).expect("fewer than 2^16 combinations");
            out.extend(length.to_le_bytes());
            out.extend(list.iter().flat_map(|n| [n.diagonal, n.beside, n.quiet]));
        }
        out
    }
    /// Reads what [`Self::to_bytes`] wrote; nothing if it is anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        if count > Self::MOST {
            return None;
        }
        let mut lists = Vec::with_capacity(count);
        for _ in 0..count {
            let (n, after) = rest.split_first_chunk::<2>()?;
            let (list, after) = after.split_at_checked(3 * usize::from(u16::from_le_bytes(*n)))?;
            rest = after;
            let needs: Needs = list
                .chunks_exact(3)
                .map(|c| Need {
                    diagonal: c[0],
                    beside: c[1],
                    quiet: c[2],
                })
                .collect();
            if needs.is_empty() || !needs.is_sorted_by(|a, b| a < b) {
                return None;
            }
            lists.push(needs);
        }
        rest.is_empty().then_some(Self { lists })
    }

    /// The list with a number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&[Need]> {
        self.lists.get(number as usize).map(|l| &**l)
    }
}

/// The need of the governing clock, the others being full: the diagonal's if that runs, else the
/// quiet one.
fn governing(needs: &[Need]) -> Option<u8> {
    let (first, last) = (needs.first()?, needs.last()?);
    // In ascending order the first needs least of the diagonal's clock, and without one the last
    // needs most of the clock beside, so least of the quiet one.
    let need = if first.diagonal > 0 {
        first.diagonal
    } else {
        last.quiet
    };
    Some(need.min(to_u8(RuleValue::MOST.into())))
}

/// Values under the draw limits of one slice in index order where several clocks run at once, as
/// symbols ([`NeedsList::symbol`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NeedsArray {
    /// One symbol a position.
    pub symbols: Vec<u16>,
}

/// Numbers [`Needs`] as they come.
#[derive(Clone, Debug, Default)]
pub struct NeedsNumbers {
    list: NeedsList,
    numbers: HashMap<Needs, u32>,
}

impl NeedsNumbers {
    /// The number of a list, a new one if it has none.
    pub fn number(&mut self, needs: &[Need]) -> u32 {
        if let Some(&n) = self.numbers.get(needs) {
            return n;
        }
        let n = to_u32(self.list.lists.len());
        self.list.lists.push(needs.into());
        self.numbers.insert(needs.into(), n);
        n
    }
    /// The same lists numbered anew, those with the greatest weight first and without the empty one;
    /// and the new numbers by the old. Small numbers take less room in a file.
    #[must_use]
    pub fn by_weight(list: NeedsList, weight: &[u64]) -> (NeedsList, Vec<u32>) {
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.retain(|&i| !list.lists[i].is_empty());
        let of = |i: usize| weight.get(i).copied().unwrap_or(0);
        order.sort_by_key(|&i| (std::cmp::Reverse(of(i)), i));
        let mut numbers = vec![u32::MAX; list.len()];
        for (new, &old) in order.iter().enumerate() {
            numbers[old] = to_u32(new);
        }
        let mut lists = list.lists;
        let lists = order
            .iter()
            .map(|&i| std::mem::take(&mut lists[i]))
            .collect();
        (NeedsList { lists }, numbers)
    }
    /// All lists, by number.
    #[must_use]
    pub fn into_list(self) -> NeedsList {
        self.list
    }
    /// All lists so far, by number.
    #[must_use]
    pub const fn list(&self) -> &NeedsList {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(diagonal: u8, beside: u8, quiet: u8) -> Need {
        Need {
            diagonal,
            beside,
            quiet,
        }
    }

    #[test]
    fn lists_lead_back() {
        let mut numbers = NeedsNumbers::default();
        let stairs = [need(0, 9, 12), need(0, 11, 7), need(0, 40, 3)];
        let diagonal = [need(2, 20, 5), need(3, 9, 9), need(10, 8, 9)];
        assert_eq!(numbers.number(&stairs), 0);
        assert_eq!(numbers.number(&diagonal), 1);
        assert_eq!(numbers.number(&stairs), 0);
        assert_eq!(numbers.number(&[need(0, 0, 0)]), 2);
        let list = numbers.into_list();
        let bytes = list.to_bytes();
        assert_eq!(bytes.len(), 4 + 3 * 2 + 7 * 3);
        // The example of the norm.
        let example: Vec<_> = bytes[4..15].iter().map(|b| format!("{b:02x}")).collect();
        let norm = include_str!("../../docs/format.md").replace("  ", " ");
        assert!(norm.contains(&format!("`{}`", example.join(" "))));
        assert_eq!(NeedsList::from_bytes(&bytes), Some(list.clone()));
        for end in 0..bytes.len() {
            assert_eq!(NeedsList::from_bytes(&bytes[..end]), None);
        }
        let value = |wld, n| list.value(wld, n);
        assert_eq!(value(Wld::Win, Some(0)), RuleValue::Win(Dtz(3)));
        assert_eq!(value(Wld::Loss, Some(1)), RuleValue::Loss(Dtz(2)));
        assert_eq!(value(Wld::Loss, Some(2)), RuleValue::Loss(Dtz(0)));
        assert_eq!(value(Wld::Win, None), RuleValue::CursedWin);
        for (n, wld) in [(0, Wld::Win), (1, Wld::Loss), (2, Wld::Loss)] {
            let v = value(wld, Some(n));
            let symbol = NeedsList::symbol(v, n).unwrap();
            assert_eq!(NeedsList::number(symbol), Some(n));
            assert_eq!(list.of_symbol(symbol), v);
        }
        for v in [
            RuleValue::Draw,
            RuleValue::CursedWin,
            RuleValue::BlessedLoss,
        ] {
            assert_eq!(list.of_symbol(NeedsList::symbol(v, 9).unwrap()), v);
        }
        let last = NeedsList::MOST as u32 - 1;
        assert!(NeedsList::symbol(RuleValue::Loss(Dtz(1)), last).is_some());
        assert!(NeedsList::symbol(RuleValue::Win(Dtz(1)), last + 1).is_none());
        let mut numbers = NeedsNumbers::default();
        numbers.number(&[]);
        (0..3).for_each(|n| _ = numbers.number(list.get(n).unwrap()));
        let (sorted, new) = NeedsNumbers::by_weight(numbers.into_list(), &[9, 1, 0, 5]);
        assert_eq!(new, [u32::MAX, 1, 2, 0]);
        assert_eq!((sorted.len(), sorted.get(0)), (3, list.get(2)));
    }
}
