//! Numbers in narrower types, by what makes that right.
//!
//! Positions, chunks and places in a file are `u64`, what is in memory is counted in `usize`, and
//! clippy's lints of casts are on in this crate. What is known to be small, the number of a square
//! or of a row, goes through the functions below: they are in the way of every look-up, so that
//! only builds with debug assertions, tests among them, check them.

/// A number of things that are in memory, or are to be.
///
/// # Panics
/// If the machine cannot address so many; never where pointers have 64 bits.
#[inline(always)]
pub(crate) const fn to_usize(n: u64) -> usize {
    assert!(n <= usize::MAX as u64, "more than this machine can address");
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    {
        n as usize
    }
}

/// A number below 2^8: of a square, of pieces, of an outcome.
#[inline(always)]
pub(crate) const fn to_u8(n: usize) -> u8 {
    debug_assert!(n <= u8::MAX as usize);
    #[allow(clippy::cast_possible_truncation, reason = "known to be small")]
    {
        n as u8
    }
}

/// A number below 2^16: of a row of a chunk, of an outer context.
#[inline(always)]
pub(crate) const fn to_u16(n: usize) -> u16 {
    debug_assert!(n <= u16::MAX as usize);
    #[allow(clippy::cast_possible_truncation, reason = "known to be small")]
    {
        n as u16
    }
}

/// A number below 2^32: of a value in its chunk, of a context.
#[inline(always)]
pub(crate) const fn to_u32(n: usize) -> u32 {
    debug_assert!(n <= u32::MAX as usize);
    #[allow(clippy::cast_possible_truncation, reason = "known to be small")]
    {
        n as u32
    }
}

/// The low half of a word.
#[inline(always)]
pub(crate) const fn low_half(n: u64) -> u32 {
    (n & 0xffff_ffff) as u32
}

/// The low half of a wide word.
#[inline(always)]
pub(crate) const fn low_word(n: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "what is meant")]
    {
        n as u64
    }
}
