//! The values of the material in work, written by many threads.
//!
//! Units own disjoint ranges of positions but may share a byte at their borders, so bytes are
//! atomic: plain loads and stores inside a range, an OR where a byte may be shared. What a unit
//! reads of the same material was finished on an earlier level.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering::Relaxed};

use dambase_tables::{DtwArray, Material, WldArray};

use super::children::{is_win, packed};
use crate::Solved;

/// One slice in work.
struct Slice {
    wld: Vec<AtomicU8>,
    dtw: Vec<AtomicU16>,
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
    pub(crate) fn new(slices: usize, positions: u64) -> Self {
        let n = positions as usize;
        let slice = |_| Slice {
            wld: (0..n.div_ceil(4)).map(|_| AtomicU8::new(0)).collect(),
            dtw: (0..if D { n } else { 0 })
                .map(|_| AtomicU16::new(0))
                .collect(),
        };
        Self {
            slices: (0..slices).map(slice).collect(),
            positions,
        }
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
            let bytes = s.wld.into_iter().map(AtomicU8::into_inner).collect();
            wld.push(WldArray::from_packed(bytes, n).expect("values are 0, 1 or 2"));
            let codes = s.dtw.into_iter().map(AtomicU16::into_inner).collect();
            dtw.push(DtwArray { codes });
        }
        Solved {
            material,
            wld,
            dtw: D.then_some(dtw),
        }
    }
}
