//! The values of the material in work, written by many threads.
//!
//! Units own disjoint ranges of positions but may share a byte at their borders, so bytes are
//! atomic: plain loads and stores inside a range, an OR where a byte may be shared. What a unit
//! reads of the same material was finished on an earlier level.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering::Relaxed};

use dambase_tables::{Backing, DtwArray, LargeArray, Material, WldArray};

use super::children::{is_win, packed};
use crate::{Error, Solved};

/// One slice in work.
struct Slice {
    wld: LargeArray<AtomicU8>,
    dtw: LargeArray<AtomicU16>,
}

/// All slices of a material in work; with distances if `D`.
pub(crate) struct Output<const D: bool> {
    slices: Vec<Slice>,
    positions: u64,
}

const fn bits(code: u16) -> u8 {
    match code {
        0 => 0,
        c if is_win(c) => 1,
        _ => 2,
    }
}

impl<const D: bool> Output<D> {
    pub(crate) fn new(backing: &Backing, slices: usize, positions: u64) -> Result<Self, Error> {
        let slice = |_| {
            Ok(Slice {
                wld: LargeArray::zeroed(backing, positions.div_ceil(4))?,
                dtw: LargeArray::zeroed(backing, if D { positions } else { 0 })?,
            })
        };
        Ok(Self {
            slices: (0..slices).map(slice).collect::<Result<_, Error>>()?,
            positions,
        })
    }

    /// The code of a finished position.
    #[inline(always)]
    pub(crate) fn get(&self, slice: usize, i: u64) -> u16 {
        let i = i as usize;
        if D {
            self.slices[slice].dtw[i].load(Relaxed)
        } else {
            packed(self.slices[slice].wld[i / 4].load(Relaxed), i)
        }
    }

    /// Writes the code of one position.
    #[inline(always)]
    pub(crate) fn set(&self, slice: usize, i: u64, code: u16) {
        let i = i as usize;
        let s = &self.slices[slice];
        if code != 0 {
            s.wld[i / 4].fetch_or(bits(code) << (i % 4 * 2), Relaxed);
            if D {
                s.dtw[i].store(code, Relaxed);
            }
        }
    }

    /// Writes the codes of consecutive positions.
    pub(crate) fn set_all(&self, slice: usize, from: u64, codes: impl Iterator<Item = u16>) {
        let s = &self.slices[slice];
        let mut i = from as usize;
        let mut whole = i.is_multiple_of(4);
        let mut byte = 0;
        for code in codes {
            if D {
                s.dtw[i].store(code, Relaxed);
            }
            byte |= bits(code) << (i % 4 * 2);
            i += 1;
            if i.is_multiple_of(4) {
                if whole {
                    s.wld[i / 4 - 1].store(byte, Relaxed);
                } else {
                    s.wld[i / 4 - 1].fetch_or(byte, Relaxed);
                }
                whole = true;
                byte = 0;
            }
        }
        if !i.is_multiple_of(4) {
            s.wld[i / 4].fetch_or(byte, Relaxed);
        }
    }

    pub(crate) fn finish(self, material: Material) -> Solved {
        let n = self.positions;
        let (mut wld, mut dtw) = (Vec::new(), Vec::new());
        for s in self.slices {
            let bytes = s.wld.map(AtomicU8::into_inner);
            wld.push(WldArray::from_packed(bytes, n).expect("values are 0, 1 or 2"));
            let codes = s.dtw.map(AtomicU16::into_inner);
            dtw.push(DtwArray { codes });
        }
        Solved {
            material,
            wld,
            dtw: D.then_some(dtw),
        }
    }
}
