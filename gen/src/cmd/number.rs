//! Numbers on the command line, and what is said about those that are none.

use std::ops::RangeInclusive;

/// Reads a number; what is wrong with it is said by the numbers that would do.
fn within(s: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    let number = s.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
}

/// A number of pieces of both sides. Each code has its own maximum, looked at later.
pub(super) fn pieces(s: &str) -> Result<u8, String> {
    within(s, 2..=60).map(|n| n as u8)
}

/// A number of plies to count.
pub(super) fn depth(s: &str) -> Result<u32, String> {
    within(s, 0..=64)
}

/// A number of threads.
pub(super) fn threads(s: &str) -> Result<usize, String> {
    within(s, 1..=1024).map(|n| n as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_numbers_are_told_the_right_ones() {
        assert_eq!(pieces("24"), Ok(24));
        assert_eq!(depth("0"), Ok(0));
        assert_eq!(threads("1024"), Ok(1024));
        for bad in ["", "-1", "0", "1", "61", "2.5", "two", "99999999999"] {
            let wanted = Err("give a number from 2 to 60".to_owned());
            assert_eq!(pieces(bad), wanted, "{bad}");
        }
        assert!(threads("0").is_err() && threads("1025").is_err());
        assert!(depth("65").is_err());
    }
}
