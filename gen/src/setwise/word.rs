//! Words of the set-wise solver: one bit for each square the vector king may stand on.

use std::ops::{Shl, Shr};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

use dambase_rules::Bits;

/// A word that is as narrow as the board allows: `u32` for 32 squares, `u64` for up to 64, `u128`
/// for the 72 of Canadian draughts. Narrow words halve all planes and double the vector lanes.
pub(super) trait Word: Bits + Shl<u32, Output = Self> + Shr<u32, Output = Self> {
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
/// with AVX2, which is used where it is there. What the second copy gains has not been measured
/// yet.
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
                if $crate::setwise::word::has_avx2() {
                    // SAFETY: `has_avx2` has just found all the features `fast` is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { fast::<W $(, $c)*>($($arg),*) };
                }
            }
            body::<W $(, $c)*>($($arg),*)
        }
    };
}
pub(super) use kernel;

/// Whether the processor has what the fast copies of the kernels need.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn has_avx2() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt")
    });
    *FOUND
}

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

/// The word without the bits of `taken`, the others moved together.
#[inline(always)]
pub(super) fn squeeze<W: Word>(word: W, taken: W) -> W {
    let (mut word, mut taken) = (word, taken);
    while !taken.is_empty() {
        let s = taken.last();
        let low = W::below(s);
        word = word & low | (word >> 1) & !low;
        taken &= low;
    }
    word
}

/// The inverse of [`squeeze`]: empty bits at the squares of `taken`.
#[inline(always)]
pub(super) fn spread<W: Word>(word: W, taken: W) -> W {
    let (mut word, mut taken) = (word, taken);
    while !taken.is_empty() {
        let low = W::below(taken.first());
        word = word & low | (word & !low) << 1;
        taken = taken.without_first();
    }
    word
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
            let free: Vec<u8> = (!taken).squares().collect();
            let packed = squeeze(word, taken);
            for (i, &s) in free.iter().enumerate() {
                assert_eq!(packed.has(i as u8), word.has(s));
            }
            assert_eq!(spread(packed, taken), word & !taken);
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
