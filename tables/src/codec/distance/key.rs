//! Class and number of a value in one word.

use crate::codec::Coding;

/// Bits of a number.
const NUMBER_BITS: u32 = 13;
/// The largest number.
pub(super) const MOST: u16 = (1 << NUMBER_BITS) - 1;
/// What is not there: squares off the board, rows that are missing.
pub(super) const OUTSIDE: u16 = 3 << NUMBER_BITS;

/// The key of a class and a number.
#[inline(always)]
pub(super) const fn key(class: u8, number: u16) -> u16 {
    (class as u16) << NUMBER_BITS | number
}
/// 0 draw, 1 win, 2 loss, 3 outside.
#[inline(always)]
pub(super) const fn class(key: u16) -> u8 {
    (key >> NUMBER_BITS) as u8
}
/// What grows with the distance.
#[inline(always)]
pub(super) const fn number(key: u16) -> u16 {
    key & MOST
}

/// The key of a symbol; nothing if the number is too large.
#[inline(always)]
pub(super) const fn of_symbol(coding: Coding, symbol: u16) -> Option<u16> {
    if symbol == 0 {
        return Some(0);
    }
    let rest = symbol - 1;
    let (number, win) = (rest / 2, rest.is_multiple_of(2));
    let win = match coding {
        // Plies: odd ones win.
        Coding::OddWins | Coding::OddWinsWide => !win,
        _ => win,
    };
    if number > MOST {
        return None;
    }
    Some(key(if win { 1 } else { 2 }, number))
}

/// The symbol of a key.
#[inline(always)]
pub(super) const fn symbol(coding: Coding, key: u16) -> u16 {
    let second = match (class(key), coding) {
        (0, _) => return 0,
        (1, Coding::OddWins | Coding::OddWinsWide) => 1,
        (1, _) => 0,
        (_, Coding::OddWins | Coding::OddWinsWide) => 0,
        _ => 1,
    };
    2 * number(key) + second + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_back() {
        for coding in [
            Coding::Code,
            Coding::CodeWide,
            Coding::OddWins,
            Coding::OddWinsWide,
            Coding::EvenWins,
            Coding::EvenWinsWide,
            Coding::Rule,
        ] {
            for s in 0..=2 * MOST + 2 {
                let k = of_symbol(coding, s).unwrap();
                assert_eq!(symbol(coding, k), s);
                assert!(class(k) < 3);
                if coding != Coding::Rule || s < 255 {
                    assert_eq!(class(k), coding.wld(s) as u8);
                }
            }
            assert_eq!(of_symbol(coding, 2 * MOST + 3), None);
        }
    }
}
