//! Rows of words to and from the packed arrays of the dense index.
//!
//! With the lowest king of the first side that has kings as the vector, a word holds positions
//! that are neighbours in the dense index: its bits, the occupied squares left out, are the next
//! values of the array.

use std::sync::atomic::{AtomicU8, Ordering};

use dambase_tables::{Backing, LargeArray, WldArray};

use super::word::{Pack, Word};
use crate::Error;

/// The even bits, moved together.
#[inline(always)]
fn even_bits(x: u64) -> u32 {
    let mut x = x & 0x5555_5555_5555_5555;
    x = (x | x >> 1) & 0x3333_3333_3333_3333;
    x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) as u32
}

/// The bits moved apart, one empty bit above each.
#[inline(always)]
fn to_even_bits(x: u32) -> u64 {
    let mut x = u64::from(x);
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

/// A byte of a packed array.
pub(super) trait Byte: Sized {
    /// The bytes from `from` on, `count` of them at least as far as there are so many; at most 16.
    fn chunk(bytes: &[Self], from: usize, count: usize) -> u128;
}

impl Byte for u8 {
    #[inline(always)]
    fn chunk(bytes: &[u8], from: usize, _: usize) -> u128 {
        match bytes.get(from..from + 16) {
            Some(b) => u128::from_le_bytes(b.try_into().expect("16 bytes")),
            None => {
                let mut b = [0; 16];
                let rest = &bytes[from..];
                b[..rest.len()].copy_from_slice(rest);
                u128::from_le_bytes(b)
            }
        }
    }
}

impl Byte for AtomicU8 {
    #[inline(always)]
    fn chunk(bytes: &[AtomicU8], from: usize, count: usize) -> u128 {
        let load = |b: &AtomicU8| u64::from(b.load(Ordering::Relaxed));
        if let (true, Some(bytes)) = (count <= 8, bytes.get(from..from + 8)) {
            let low = bytes.iter().rev().fold(0, |low, b| low << 8 | load(b));
            return low.into();
        }
        let bytes = &bytes[from..bytes.len().min(from + count)];
        let add = |chunk, b| chunk << 8 | u128::from(load(b));
        bytes.iter().rev().fold(0, add)
    }
}

/// Reads values one after the other.
#[derive(Debug)]
pub(super) struct Reader<'a, B = u8> {
    bytes: &'a [B],
    at: u64,
}

impl<'a, B: Byte> Reader<'a, B> {
    /// Starts at a value of a packed array.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [B], at: u64) -> Self {
        Self { bytes, at }
    }
    /// The next up to 32 values.
    #[inline(always)]
    fn some(&mut self, count: u32) -> (u32, u32) {
        let byte = (self.at / 4) as usize;
        let shift = self.at % 4 * 2;
        let chunk = B::chunk(
            self.bytes,
            byte,
            (shift as usize + 2 * count as usize).div_ceil(8),
        );
        let mut codes = (chunk >> shift) as u64;
        if count < 32 {
            codes &= (1 << (2 * count)) - 1;
        }
        self.at += u64::from(count);
        (even_bits(codes), even_bits(codes >> 1))
    }
    /// The next `count` values as words `(won, lost)` with nothing on the squares of `taken`.
    #[inline(always)]
    pub(super) fn row<W: Word>(&mut self, pack: impl Pack, count: u32, taken: W) -> (W, W) {
        let (mut won, mut lost) = (W::EMPTY, W::EMPTY);
        let mut done = 0;
        while done < count {
            let now = (count - done).min(32);
            let (w, l) = self.some(now);
            won |= W::from_wide(w.into()) << done;
            lost |= W::from_wide(l.into()) << done;
            done += now;
        }
        (pack.spread(won, taken), pack.spread(lost, taken))
    }
}

/// Writes values one after the other into bytes of its own, which are then put into the array.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    chunk: u128,
    bits: u32,
    start: u64,
}

impl Writer {
    /// Starts at a value of the array.
    pub(super) fn start(&mut self, at: u64) {
        self.bytes.clear();
        self.chunk = 0;
        self.bits = (at % 4 * 2) as u32;
        self.start = at;
    }
    /// Appends the values at the squares of `first`, which has all squares outside `taken` up to
    /// some square.
    #[inline(always)]
    pub(super) fn row<W: Word>(&mut self, pack: impl Pack, won: W, lost: W, first: W, taken: W) {
        let count = first.count();
        let won = pack.squeeze(won & first, taken);
        let lost = pack.squeeze(lost & first, taken);
        let mut done = 0;
        while done < count {
            let now = (count - done).min(32);
            let w = (won >> done).wide() as u32;
            let l = (lost >> done).wide() as u32;
            let codes = to_even_bits(w) | to_even_bits(l) << 1;
            self.chunk |= u128::from(codes) << self.bits;
            self.bits += 2 * now;
            if self.bits >= 64 {
                self.bytes
                    .extend_from_slice(&(self.chunk as u64).to_le_bytes());
                self.chunk >>= 64;
                self.bits -= 64;
            }
            done += now;
        }
    }
    /// Puts what was written into the array.
    pub(super) fn finish(&mut self, array: &SharedArray) {
        let rest = self.bits.div_ceil(8) as usize;
        self.bytes
            .extend_from_slice(&(self.chunk as u64).to_le_bytes()[..rest]);
        let Some((last, bytes)) = self.bytes.split_last() else {
            return;
        };
        let cells = &array.bytes[(self.start / 4) as usize..][..bytes.len() + 1];
        // The bytes at both ends may be shared with neighbours.
        cells[bytes.len()].fetch_or(*last, Ordering::Relaxed);
        if let Some((first, bytes)) = bytes.split_first() {
            cells[0].fetch_or(*first, Ordering::Relaxed);
            for (cell, byte) in cells[1..].iter().zip(bytes) {
                cell.store(*byte, Ordering::Relaxed);
            }
        }
    }
}

/// A packed array that several threads fill, each its own stretches.
#[derive(Debug)]
pub(super) struct SharedArray {
    bytes: LargeArray<AtomicU8>,
    len: u64,
}

impl SharedArray {
    /// `len` draws.
    pub(super) fn new(backing: &Backing, len: u64) -> Result<Self, Error> {
        let bytes = LargeArray::zeroed(backing, len.div_ceil(4))?;
        Ok(Self { bytes, len })
    }
    /// Starts to read at a value that has been put before.
    #[inline(always)]
    pub(super) fn reader(&self, at: u64) -> Reader<'_, AtomicU8> {
        Reader::new(&self.bytes, at)
    }
    /// The finished array.
    pub(super) fn into_array(self) -> WldArray {
        let bytes = self.bytes.map(AtomicU8::into_inner);
        WldArray::from_packed(bytes, self.len).expect("values 0, 1 and 2 only")
    }
}

#[cfg(test)]
mod tests {
    use super::super::word::Plain;
    use super::*;
    use dambase_tables::Wld;

    fn round_trip<W: Word>(squares: u8) {
        let positions = 5 + 3 * u64::from(squares);
        let array = SharedArray::new(&Backing::memory(), positions).expect("memory");
        let all = W::below(squares - 1) | W::bit(squares - 1);
        let mut writer = Writer::default();
        let taken = W::bit(2) | W::bit(squares - 3);
        let won = W::from_wide(0x1234_5678_9abc_def0_0f1e_2d3c_4b5a_6978) & all;
        let lost = W::from_wide(0x0fed_cba9_8765_4321_1020_3040_5060_7080) & all & !won;
        let firsts = [
            all & !taken,
            W::below(squares / 2) & !taken,
            W::below(7) & !taken,
        ];
        let mut at = 3;
        for first in firsts {
            writer.start(at);
            writer.row(Plain, won, lost, first, taken);
            writer.finish(&array);
            let got = array.reader(at).row(Plain, first.count(), taken);
            assert_eq!(got, (won & first, lost & first));
            at += u64::from(first.count());
        }
        let array = array.into_array();
        let mut reader = Reader::new(array.packed(), 3);
        let mut at = 3;
        for first in firsts {
            for s in first.squares() {
                let wanted = match (won.has(s), lost.has(s)) {
                    (true, _) => Wld::Win,
                    (_, true) => Wld::Loss,
                    _ => Wld::Draw,
                };
                assert_eq!(array.get(at), wanted);
                at += 1;
            }
            let got = reader.row(Plain, first.count(), taken);
            assert_eq!(got, (won & first, lost & first));
        }
        assert_eq!(array.get(0), Wld::Draw);
    }

    #[test]
    fn rows_lead_back() {
        round_trip::<u32>(32);
        round_trip::<u64>(50);
        round_trip::<u64>(64);
        round_trip::<u128>(72);
    }
}
