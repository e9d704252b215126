//! A binary range coder with static probabilities.
//!
//! The state is 64 bits wide and moves in steps of 32, so that one renormalisation serves many
//! decisions. A decision has a probability of its *expected* outcome in units of 2^-16. The
//! expected outcome takes the lower part of the range: a chunk in which everything is as expected
//! is the number zero, which has no bytes at all.

use std::hint::cold_path;

/// Below this the range is widened.
const NARROW: u64 = 1 << 32;

/// Writes decisions.
#[derive(Debug)]
pub(crate) struct Encoder {
    low: u64,
    range: u64,
    out: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            low: 0,
            range: u64::MAX,
            out: Vec::new(),
        }
    }

    /// Codes one decision; `p`, 1 to 65535, is the probability of `expected` being true.
    #[inline]
    pub(crate) fn code(&mut self, expected: bool, p: u32) {
        let bound = (self.range >> 16) * u64::from(p);
        if expected {
            self.range = bound;
        } else {
            let (low, carry) = self.low.overflowing_add(bound);
            self.low = low;
            self.range -= bound;
            if carry {
                self.carry();
            }
        }
        if self.range < NARROW {
            self.out
                .extend_from_slice(&((self.low >> 32) as u32).to_be_bytes());
            self.low <<= 32;
            self.range <<= 32;
        }
    }

    /// Adds one to the bytes written. There is always a byte that takes it, because the whole
    /// number stays below one.
    fn carry(&mut self) {
        for b in self.out.iter_mut().rev() {
            *b = b.wrapping_add(1);
            if *b != 0 {
                break;
            }
        }
    }

    /// The shortest bytes that decode to what was coded, followed by zeros; starts afresh.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        for bytes in 0..=8_u32 {
            let below = u64::MAX.checked_shr(8 * bytes).unwrap_or(0);
            let (mut end, mut carry) = self.low.overflowing_add(below);
            end &= !below;
            if below == u64::MAX {
                // Only zero is left: the next multiple of 2^64 above `low`.
                (end, carry) = (0, self.low != 0);
            }
            let distance = end.wrapping_sub(self.low);
            if distance >= self.range || (carry && self.out.is_empty()) {
                continue;
            }
            if carry {
                self.carry();
            }
            self.out
                .extend_from_slice(&end.to_be_bytes()[..bytes as usize]);
            break;
        }
        while self.out.last() == Some(&0) {
            self.out.pop();
        }
        self.low = 0;
        self.range = u64::MAX;
        std::mem::take(&mut self.out)
    }
}

/// Reads decisions. Behind the end of the bytes are zeros; any bytes can be read.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    code: u64,
    range: u64,
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut d = Self {
            code: 0,
            range: u64::MAX,
            rest: bytes,
        };
        d.code = d.word() << 32;
        d.code |= d.word();
        d
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        if let Some((word, rest)) = self.rest.split_first_chunk::<4>() {
            self.rest = rest;
            return u64::from(u32::from_be_bytes(*word));
        }
        let byte = |k| u64::from(self.rest.get(k).copied().unwrap_or(0));
        let word = byte(0) << 24 | byte(1) << 16 | byte(2) << 8;
        self.rest = &[];
        word
    }

    /// Reads one decision: true if the outcome was the expected one. The processor guesses that it
    /// is and goes on with that, instead of waiting for the comparison.
    #[inline(always)]
    pub(crate) fn read(&mut self, p: u32) -> bool {
        let bound = (self.range >> 16) * u64::from(p);
        if self.code >= bound {
            cold_path();
            self.code -= bound;
            self.range -= bound;
            self.widen();
            return false;
        }
        self.range = bound;
        self.widen();
        true
    }

    #[inline(always)]
    fn widen(&mut self) {
        if self.range < NARROW {
            cold_path();
            self.code = self.code << 32 | self.word();
            self.range <<= 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(decisions: &[(bool, u32)]) -> Vec<u8> {
        let mut e = Encoder::new();
        for &(bit, p) in decisions {
            e.code(bit, p);
        }
        let bytes = e.finish();
        let mut d = Decoder::new(&bytes);
        for &(bit, p) in decisions {
            assert_eq!(d.read(p), bit);
        }
        bytes
    }

    #[test]
    fn the_expected_has_no_bytes() {
        assert!(round_trip(&[(true, 40000); 500]).is_empty());
        assert!(round_trip(&[]).is_empty());
        assert!(round_trip(&[(false, 1); 2000]).len() < 10);
    }

    #[test]
    fn one_surprise_is_short() {
        let mut d = [(true, 65000); 100];
        d[50].0 = false;
        assert!(round_trip(&d).len() <= 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn what_is_coded_is_read(
            seed in proptest::collection::vec((any::<u16>(), 1_u32..65536), 0..600)
        ) {
            // Outcomes drawn with their probability, so that short and long outputs both occur.
            let decisions: Vec<_> = seed.iter().map(|&(x, p)| (u32::from(x) < p, p)).collect();
            let bytes = round_trip(&decisions);
            let bits: f64 = decisions.iter().map(|&(bit, p)| {
                let p = f64::from(p) / 65536.0;
                -(if bit { p } else { 1.0 - p }).log2()
            }).sum();
            prop_assert!((bytes.len() as f64) < bits / 8.0 + 3.0);
        }

        #[test]
        fn unlikely_outcomes_too(seed in proptest::collection::vec((any::<bool>(), 1_u32..65536), 0..300)) {
            round_trip(&seed);
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..40), p in 1_u32..65536) {
            let mut d = Decoder::new(&bytes);
            for _ in 0..1000 {
                d.read(p);
            }
        }
    }
}
