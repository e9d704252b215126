//! Words of the set-wise solver: one bit for each square the vector king may stand on.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_pdep_u64, _pext_u64};
use std::ops::{Shl, Shr};

use dambase_rules::Bits;
use dambase_tables::backing::Element;
#[cfg(target_arch = "x86_64")]
use dambase_tables::cpu::has_fast_path;

/// A word that is as narrow as the board allows: `u32` for 32 squares, `u64` for up to 64, `u128`
/// for the 72 of Canadian draughts. Narrow words halve all planes and double the vector lanes.
pub(super) trait Word:
    Bits + Element + Shl<u32, Output = Self> + Shr<u32, Output = Self>
{
    /// All bits.
    const ALL: Self;

    /// The lowest `n` bits in opposite order.
    fn reversed(self, n: usize) -> Self;
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            const ALL: Self = <$word>::MAX;
            #[inline(always)]
            fn reversed(self, n: usize) -> Self {
                self.reverse_bits() >> (<$word>::BITS - n as u32)
            }
        }
    };
}
word!(u32);
word!(u64);
word!(u128);

/// The widest word, for matrices on the stack.
pub(super) const MAX_WIDTH: usize = 128;

/// Defines a function over rows of words that is compiled twice: for any processor, and for one
/// with AVX2, which is used where it is there.
macro_rules! kernel {
    ($(#[$meta:meta])* fn $name:ident<W: Word $(, const $c:ident: $ct:ty)*>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub(super) fn $name<W: Word $(, const $c: $ct)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body<W: Word $(, const $c: $ct)*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                #[allow(clippy::too_many_arguments)]
                fn fast<W: Word $(, const $c: $ct)*>($($arg: $ty),*) $(-> $ret)? {
                    body::<W $(, $c)*>($($arg),*)
                }
                if dambase_tables::cpu::has_fast_path() {
                    // SAFETY: `has_fast_path` has just found all the features `fast` is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { fast::<W $(, $c)*>($($arg),*) };
                }
            }
            body::<W $(, $c)*>($($arg),*)
        }
    };
}
pub(super) use kernel;

kernel! {
    /// Transposes the square bit matrix whose rows are the first [`Bits::WIDTH`] words: bit `c`
    /// of row `r` goes to bit `r` of row `c`.
    fn transpose<W: Word>(rows: &mut [W]) {
        let width = W::WIDTH as usize;
        let rows = &mut rows[..width];
        let mut j = width / 2;
        let mut low = W::below(j as u8);
        while j > 0 {
            let shift = j as u32;
            for pair in rows.chunks_exact_mut(2 * j) {
                let (a, b) = pair.split_at_mut(j);
                for (a, b) in a.iter_mut().zip(b) {
                    let t = ((*a >> shift) ^ *b) & low;
                    *b ^= t;
                    *a ^= t << shift;
                }
            }
            j /= 2;
            low ^= low << j as u32;
        }
    }
}

/// Moves bits of a word together and apart.
pub(super) trait Pack: Copy {
    /// The word without the bits of `taken`, the others moved together.
    fn squeeze<W: Word>(self, word: W, taken: W) -> W;
    /// The inverse of [`Self::squeeze`]: empty bits at the squares of `taken`.
    fn spread<W: Word>(self, word: W, taken: W) -> W;
}

/// Work that moves bits.
pub(super) trait WithPack {
    type Output;
    /// Does the work. Must be inlined.
    fn run<P: Pack>(self, pack: P) -> Self::Output;
}

/// Does work that moves bits, with the instructions for it if the processor has them.
#[inline]
pub(super) fn with_pack<T: WithPack>(work: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn fast<T: WithPack>(work: T, pack: Bmi2) -> T::Output {
            work.run(pack)
        }
        if let Some(pack) = Bmi2::found() {
            // SAFETY: `found` has made sure of all the features `fast` is compiled for.
            #[allow(unsafe_code)]
            return unsafe { fast(work, pack) };
        }
    }
    work.run(Plain)
}

/// On any processor: one step for each bit that is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

impl Pack for Plain {
    #[inline(always)]
    fn squeeze<W: Word>(self, word: W, taken: W) -> W {
        let (mut word, mut taken) = (word, taken);
        while !taken.is_empty() {
            let s = taken.last();
            let low = W::below(s);
            word = word & low | (word >> 1) & !low;
            taken &= low;
        }
        word
    }
    #[inline(always)]
    fn spread<W: Word>(self, word: W, taken: W) -> W {
        let (mut word, mut taken) = (word, taken);
        while !taken.is_empty() {
            let low = W::below(taken.first());
            word = word & low | (word & !low) << 1;
            taken = taken.without_first();
        }
        word
    }
}

/// With the instructions made for it. Only where [`has_fast_path`] holds, and fast only where the
/// caller is compiled for them too.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Bmi2(());

#[cfg(target_arch = "x86_64")]
impl Bmi2 {
    /// If the processor has them.
    pub(super) fn found() -> Option<Self> {
        has_fast_path().then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Pack for Bmi2 {
    #[inline(always)]
    fn squeeze<W: Word>(self, word: W, taken: W) -> W {
        let (word, mask) = (word.wide(), (!taken).wide());
        // SAFETY: `found` has made sure that the processor has BMI2.
        #[allow(unsafe_code)]
        let half = |w: u128, m: u128| unsafe { _pext_u64(w as u64, m as u64) };
        let low = half(word, mask);
        if W::WIDTH <= 64 {
            return W::from_wide(low.into());
        }
        let high = u128::from(half(word >> 64, mask >> 64));
        W::from_wide(high << (mask as u64).count_ones() | u128::from(low))
    }
    #[inline(always)]
    fn spread<W: Word>(self, word: W, taken: W) -> W {
        let (word, mask) = (word.wide(), (!taken).wide());
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let half = |w: u128, m: u128| unsafe { _pdep_u64(w as u64, m as u64) };
        let low = half(word, mask);
        if W::WIDTH <= 64 {
            return W::from_wide(low.into());
        }
        let high = u128::from(half(word >> (mask as u64).count_ones(), mask >> 64));
        W::from_wide(high << 64 | u128::from(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_words<W: Word>(n: usize) -> Vec<W> {
        let mut x = 0x9e37_79b9_7f4a_7c15_u128;
        (0..n)
            .map(|_| {
                x = x.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
                x = x.wrapping_add(0x5851_f42d_4c95_7f2d);
                W::from_wide(x ^ x >> 64)
            })
            .collect()
    }

    fn pack<W: Word>(pack: impl Pack, word: W, taken: W) {
        let free: Vec<u8> = (!taken).squares().collect();
        let packed = pack.squeeze(word, taken);
        for (i, &s) in free.iter().enumerate() {
            assert_eq!(packed.has(i as u8), word.has(s));
        }
        assert_eq!(pack.spread(packed, taken), word & !taken);
    }

    fn check<W: Word>() {
        let n = W::WIDTH as usize;
        let rows = some_words::<W>(n);
        let mut turned = rows.clone();
        transpose(&mut turned);
        for (r, row) in rows.iter().enumerate() {
            for (c, column) in turned.iter().enumerate() {
                assert_eq!(row.has(c as u8), column.has(r as u8));
            }
        }
        for pair in rows.windows(2) {
            let (word, taken) = (pair[0], pair[1]);
            pack(Plain, word, taken);
            #[cfg(target_arch = "x86_64")]
            if let Some(bmi2) = Bmi2::found() {
                pack(bmi2, word, taken);
            }
            let turned = word.reversed(n - 3);
            for s in 0..n - 3 {
                assert_eq!(turned.has(s as u8), word.has((n - 4 - s) as u8));
            }
        }
    }

    #[test]
    fn matrices_turn_and_squares_move_together() {
        check::<u32>();
        check::<u64>();
        check::<u128>();
    }
}
