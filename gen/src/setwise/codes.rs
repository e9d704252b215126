//! Distances between the planes of merits and the stored arrays of codes.

use std::sync::atomic::{AtomicU16, Ordering};

use dambase_tables::DtwArray;

use super::measure::{Measure, Plies};
use super::word::{MAX_WIDTH, Word};

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

/// Writes codes one after the other, and then puts them into the array.
#[derive(Debug, Default)]
pub(super) struct CodeWriter {
    codes: Vec<u16>,
    of_merit: Vec<u16>,
}

impl CodeWriter {
    /// Starts anew.
    pub(super) fn start(&mut self, plies: Plies) {
        self.codes.clear();
        if self.of_merit.len() != 1 << plies.bits() {
            self.of_merit = (0..1 << plies.bits()).map(|m| plies.code(m)).collect();
        }
    }
    /// Appends the codes at the squares of `first`; `merits` is a word of each plane.
    #[inline(always)]
    pub(super) fn row<W: Word>(&mut self, merits: &[W], first: W) {
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
            self.codes.push(self.of_merit[merit as usize]);
        }
    }
    /// Puts what was written into the array from `start` on.
    pub(super) fn finish(&self, array: &SharedCodes, start: u64) {
        let cells = &array.0[start as usize..][..self.codes.len()];
        for (cell, &code) in cells.iter().zip(&self.codes) {
            cell.store(code, Ordering::Relaxed);
        }
    }
}

/// An array of codes that several threads fill, each its own stretches.
#[derive(Debug)]
pub(super) struct SharedCodes(Vec<AtomicU16>);

impl SharedCodes {
    /// `len` draws.
    pub(super) fn new(len: u64) -> Self {
        let codes = vec![0_u16; len as usize];
        Self(codes.into_iter().map(AtomicU16::new).collect())
    }
    /// The finished array.
    pub(super) fn into_array(self) -> DtwArray {
        DtwArray {
            codes: self.0.into_iter().map(AtomicU16::into_inner).collect(),
        }
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
            codes: codes.clone(),
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
        writer.start(plies);
        let words: [W; MAX_BITS] =
            std::array::from_fn(|p| planes.get(p).map_or(W::EMPTY, |p| p[1]));
        writer.row(&words[..plies.bits()], first);
        let shared = SharedCodes::new(codes.len() as u64 + 2);
        writer.finish(&shared, 1);
        assert_eq!(shared.into_array().codes[1..=codes.len()], codes);
    }

    #[test]
    fn codes_lead_back() {
        round_trip::<u32>(32);
        round_trip::<u64>(50);
        round_trip::<u64>(64);
        round_trip::<u128>(72);
    }
}
