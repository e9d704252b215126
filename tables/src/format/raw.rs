//! The header as it stands in a file. docs/format.md has the same tables; a test compares them.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// How every table begins. The last byte keeps text tools away.
pub(crate) const MAGIC: [u8; 8] = *b"DAMBASE\x1a";
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = size_of::<RawHeader>();
/// Bytes in front of the header's checksum.
pub(crate) const CHECKED_BYTES: usize = HEADER_BYTES - 8;

/// Flag: every value was proved from its successors.
pub(crate) const VERIFIED: u32 = 1;
/// Flag: the Frisian king run is part of the positions.
pub(crate) const KING_RUN: u32 = 2;
/// Flag: built from tables that were not verified.
pub(crate) const ON_UNVERIFIED: u32 = 4;
/// All flags of version 1.
pub(crate) const FLAGS: u32 = VERIFIED | KING_RUN | ON_UNVERIFIED;

/// Stands for the distance where there is no such position.
pub(crate) const NO_PLIES: u16 = u16::MAX;
/// Stands for the index where there is no such position.
pub(crate) const NO_INDEX: u64 = u64::MAX;

/// The header of a file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawHeader {
    pub(crate) magic: [u8; 8],
    pub(crate) version: U16,
    pub(crate) header_bytes: U16,
    pub(crate) variant: u8,
    pub(crate) metric: u8,
    pub(crate) slice_count: u8,
    pub(crate) zero: u8,
    pub(crate) rules: U64,
    pub(crate) limits: U64,
    pub(crate) flags: U32,
    /// White kings, white men, black kings, black men.
    pub(crate) material: [u8; 4],
    pub(crate) file_bytes: U64,
    pub(crate) generator: [u8; 32],
    pub(crate) verifier: [u8; 32],
    pub(crate) reserved: [u8; 16],
    pub(crate) slices: [RawSlice; 2],
    pub(crate) reserved_end: [u8; 8],
    pub(crate) checksum: U64,
}

/// One slice of a header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawSlice {
    pub(crate) positions: U64,
    pub(crate) wins: U64,
    pub(crate) cursed_wins: U64,
    pub(crate) draws: U64,
    pub(crate) blessed_losses: U64,
    pub(crate) losses: U64,
    pub(crate) captures: U64,
    pub(crate) decided: U64,
    pub(crate) longest_win_index: U64,
    pub(crate) longest_loss_index: U64,
    pub(crate) longest_win_plies: U16,
    pub(crate) longest_loss_plies: U16,
    pub(crate) codec: u8,
    pub(crate) coding: u8,
    pub(crate) constant: U16,
    pub(crate) block_positions: U32,
    pub(crate) zero: U32,
    pub(crate) model: RawSection,
    pub(crate) table: RawSection,
    pub(crate) blocks_offset: U64,
    pub(crate) blocks_bytes: U64,
    pub(crate) parameters: [u8; 24],
}

/// A section with a checksum.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawSection {
    pub(crate) offset: U64,
    pub(crate) bytes: U64,
    pub(crate) checksum: U64,
}

const _: () = assert!(HEADER_BYTES == 512 && size_of::<RawSlice>() == 184);
