//! Distances and needs between the planes of merits and the stored arrays of codes.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use dambase_tables::{Backing, DtwArray, Dtz, DtzArray, LargeArray, RuleValue};

use super::measure::{Measure, Plies};
use super::word::{MAX_WIDTH, Word};
use crate::Error;

/// Merits of moves to positions, by the codes of the positions, as far as an array has codes.
///
/// # Panics
/// If distances are not measured.
pub(super) fn merits(measure: impl Measure, array: &DtwArray) -> Vec<u16> {
    let plies = measure.plies().expect("distances are measured");
    let most = array.codes.iter().copied().max().unwrap_or(0);
    (0..=most).map(|code| plies.of_code(code) as u16).collect()
}

/// Most plies of a move to a position of an array.
pub(super) fn most_plies(array: &DtwArray) -> usize {
    usize::from(array.codes.iter().copied().max().unwrap_or(0).div_ceil(2))
}

/// One bit of each of eight bytes, moved together.
#[inline(always)]
fn gather(bytes: u64, bit: usize) -> u64 {
    ((bytes >> bit & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080)) >> 56
}

/// Eight bits, each the lowest of a byte.
#[inline(always)]
fn scatter(bits: u8) -> u64 {
    // Eight copies, of each its own bit.
    let apart = u64::from(bits).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    // Any bit of a byte becomes its highest.
    (apart + 0x0040_6070_787c_7e7f) >> 7 & 0x0101_0101_0101_0101
}

/// The low and the high byte of the merits on the squares of a word.
#[derive(Debug)]
struct Bytes {
    low: [u8; MAX_WIDTH],
    high: [u8; MAX_WIDTH],
}

/// Reads the merits on the squares of `first` into word `at` of the planes.
#[inline(always)]
pub(super) fn read<W: Word>(
    first: W,
    merits: &mut impl Iterator<Item = u16>,
    planes: &mut [Vec<W>],
    at: usize,
) {
    let mut bytes = Bytes {
        low: [0; MAX_WIDTH],
        high: [0; MAX_WIDTH],
    };
    for s in first.squares() {
        let [low, high] = merits.next().unwrap_or(0).to_le_bytes();
        bytes.low[s as usize] = low;
        bytes.high[s as usize] = high;
    }
    let bits = planes.len();
    for (p, plane) in planes.iter_mut().enumerate() {
        let bit = bits - 1 - p;
        let half = if bit < 8 { &bytes.low } else { &bytes.high };
        let mut word = 0_u128;
        for (i, eight) in half[..W::WIDTH as usize].chunks_exact(8).enumerate() {
            let eight = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
            word |= u128::from(gather(eight, bit % 8)) << (8 * i);
        }
        plane[at] = W::from_wide(word);
    }
}

/// The codes of positions by the merit of a move to them.
#[derive(Debug)]
pub(super) struct CodeOf(Vec<u16>);

impl CodeOf {
    /// Those of distances.
    pub(super) fn distances(plies: Plies) -> Self {
        Self((0..1 << plies.bits()).map(|m| plies.code(m)).collect())
    }
    /// Those of needs: [`RuleValue::code`], draws being all that is not decided.
    pub(super) fn needs(plies: Plies) -> Self {
        let of_merit = |merit| {
            let Some((plies, wins)) = plies.decided(merit) else {
                return RuleValue::Draw.code().into();
            };
            // The move takes one of them.
            let need = Dtz((plies as u16).saturating_sub(1).min(RuleValue::MOST));
            let value = if wins {
                RuleValue::Loss(need)
            } else {
                RuleValue::Win(need)
            };
            value.code().into()
        };
        Self((0..1 << plies.bits()).map(of_merit).collect())
    }
}

/// Writes codes one after the other, and then puts them into the array.
#[derive(Debug, Default)]
pub(super) struct CodeWriter {
    codes: Vec<u16>,
}

impl CodeWriter {
    /// Starts anew.
    pub(super) fn start(&mut self) {
        self.codes.clear();
    }
    /// Appends the codes at the squares of `first`; `merits` is a word of each plane.
    #[inline(always)]
    pub(super) fn row<W: Word>(&mut self, of: &CodeOf, merits: &[W], first: W) {
        let bits = merits.len();
        let mut low = [0_u64; MAX_WIDTH / 8];
        let mut high = [0_u64; MAX_WIDTH / 8];
        let eights = (usize::from(first.last()) / 8) + 1;
        for (p, word) in merits.iter().enumerate() {
            let bit = bits - 1 - p;
            let half = if bit < 8 { &mut low } else { &mut high };
            let wide = word.wide();
            for (i, eight) in half[..eights].iter_mut().enumerate() {
                *eight |= scatter((wide >> (8 * i)) as u8) << (bit % 8);
            }
        }
        for s in first.squares() {
            let (i, shift) = (usize::from(s) / 8, usize::from(s) % 8 * 8);
            let merit = (low[i] >> shift & 0xff) | (high[i] >> shift & 0xff) << 8;
            self.codes.push(of.0[merit as usize]);
        }
    }
    /// Puts what was written into the array from `start` on.
    pub(super) fn finish(&self, array: &SharedCodes, start: u64) {
        let range = start as usize..start as usize + self.codes.len();
        match array {
            SharedCodes::Distances(cells) => {
                for (cell, &code) in cells[range].iter().zip(&self.codes) {
                    cell.store(code, Ordering::Relaxed);
                }
            }
            SharedCodes::Needs(cells) => {
                for (cell, &code) in cells[range].iter().zip(&self.codes) {
                    cell.store(code as u8, Ordering::Relaxed);
                }
            }
        }
    }
}

/// An array of codes that several threads fill, each its own stretches.
#[derive(Debug)]
pub(super) enum SharedCodes {
    Distances(LargeArray<AtomicU16>),
    Needs(LargeArray<AtomicU8>),
}

impl SharedCodes {
    /// Distances of `len` draws.
    pub(super) fn distances(backing: &Backing, len: u64) -> Result<Self, Error> {
        Ok(Self::Distances(LargeArray::zeroed(backing, len)?))
    }
    /// Needs of `len` draws.
    pub(super) fn needs(backing: &Backing, len: u64) -> Result<Self, Error> {
        Ok(Self::Needs(LargeArray::zeroed(backing, len)?))
    }
    /// The finished array of distances; none if these are needs.
    pub(super) fn into_distances(self) -> Option<DtwArray> {
        let Self::Distances(cells) = self else {
            return None;
        };
        let codes = cells.map(AtomicU16::into_inner);
        Some(DtwArray { codes })
    }
    /// The finished array of needs; none if these are distances.
    pub(super) fn into_needs(self) -> Option<DtzArray> {
        let Self::Needs(cells) = self else {
            return None;
        };
        let codes = cells.map(AtomicU8::into_inner);
        Some(DtzArray { codes })
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::MAX_BITS;
    use super::*;

    fn round_trip<W: Word>(squares: u8) {
        let plies = Plies::up_to(200).expect("few plies");
        let first = (W::below(squares - 1) | W::bit(squares - 1)) & !W::bit(5);
        let codes: Vec<u16> = (0..first.count() as u16).map(|i| i * 37 % 400).collect();
        let array = DtwArray {
            codes: codes.clone().into(),
        };
        assert_eq!(
            most_plies(&array),
            codes
                .iter()
                .max()
                .map_or(0, |&c| usize::from(c).div_ceil(2))
        );
        let table = merits(plies, &array);
        let mut planes = vec![vec![W::EMPTY; 3]; plies.bits()];
        let mut rows = codes.iter().map(|&c| table[usize::from(c)]);
        read(first, &mut rows, &mut planes, 1);
        let mut writer = CodeWriter::default();
        writer.start();
        let of = CodeOf::distances(plies);
        let words: [W; MAX_BITS] =
            std::array::from_fn(|p| planes.get(p).map_or(W::EMPTY, |p| p[1]));
        writer.row(&of, &words[..plies.bits()], first);
        let len = codes.len() as u64 + 2;
        let shared = SharedCodes::distances(&Backing::memory(), len).expect("memory");
        writer.finish(&shared, 1);
        let written = shared.into_distances().expect("distances");
        assert_eq!(written.codes[1..=codes.len()], codes);
    }

    #[test]
    fn codes_lead_back() {
        round_trip::<u32>(32);
        round_trip::<u64>(50);
        round_trip::<u64>(64);
        round_trip::<u128>(72);
    }
}
