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
    pub(crate) needs_bytes: U64,
    pub(crate) needs_checksum: U64,
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
    pub(crate) no_runs_wins: U64,
    pub(crate) no_runs_losses: U64,
    pub(crate) parameters: [u8; 8],
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

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use dambase_rules::{Bits, Board, Geometry, Variant};

    use super::*;
    use crate::{Index, Material};

    /// The norm, compared with the code line by line.
    const NORM: &str = include_str!("../../../docs/format.md");

    /// The cells of all table rows below a heading line.
    fn rows(heading: &str) -> impl Iterator<Item = Vec<&'static str>> {
        let start = NORM.find(heading).expect("the table is in the norm");
        let lines = NORM[start + heading.len()..].lines().skip(1);
        lines
            .take_while(|l| l.starts_with('|'))
            .map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
    }

    macro_rules! layout {
        ($t:ty: $($f:ident)*) => {
            vec![$((offset_of!($t, $f), size_of_field(|t: &$t| &raw const t.$f), stringify!($f)),)*]
        };
    }
    fn size_of_field<T, F>(_: impl Fn(&T) -> *const F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn offsets_are_those_of_the_norm() {
        let heading = "| offset | bytes | field | content |\n";
        let header = layout!(RawHeader: magic version header_bytes variant metric slice_count zero
            rules limits flags material file_bytes generator verifier needs_bytes needs_checksum slices reserved_end
            checksum);
        let slice = layout!(RawSlice: positions wins cursed_wins draws blessed_losses losses
            captures decided longest_win_index longest_loss_index longest_win_plies
            longest_loss_plies codec coding constant block_positions zero model table
            blocks_offset blocks_bytes no_runs_wins no_runs_losses parameters);
        let (first, second) = NORM.split_once(heading).unwrap();
        let (second, third) = second.split_once(heading).unwrap();
        assert!(!first.contains(heading) && !third.contains(heading));
        for (text, layout) in [(second, header), (third, slice)] {
            let found: Vec<(usize, usize, &str)> = text
                .lines()
                .skip(1)
                .take_while(|l| l.starts_with('|'))
                .map(|l| {
                    let cells: Vec<&str> = l.trim_matches('|').split('|').map(str::trim).collect();
                    (
                        cells[0].parse().unwrap(),
                        cells[1].parse().unwrap(),
                        cells[2],
                    )
                })
                .collect();
            assert_eq!(found, layout);
        }
        let magic: Vec<String> = MAGIC.iter().map(|b| format!("{b:02x}")).collect();
        assert!(NORM.contains(&magic.join(" ")));
    }

    #[test]
    fn fingerprints_are_those_of_the_norm() {
        let listed: Vec<(u8, &str, u64)> = rows("| number | code | fingerprint |\n")
            .map(|c| {
                let fingerprint = u64::from_str_radix(c[2].trim_matches('`'), 16).unwrap();
                (c[0].parse().unwrap(), c[1], fingerprint)
            })
            .collect();
        let known: Vec<(u8, &str, u64)> = Variant::ALL
            .iter()
            .map(|v| (v.id(), v.name(), v.rules().fingerprint()))
            .collect();
        assert_eq!(listed, known);
    }

    #[test]
    fn examples_have_the_indices_of_the_norm() {
        let heading =
            "| board | material | white kings | white men | black kings | black men | index |\n";
        let mut n = 0;
        for c in rows(heading) {
            let geometry = match c[0] {
                "32" => Geometry::Diagonal8,
                "50" => Geometry::Diagonal10,
                "64" => Geometry::Full8,
                _ => Geometry::Diagonal12,
            };
            let set = |text: &str| {
                let squares = text.split(", ").filter(|s| !s.is_empty());
                squares.fold(0, |set, s| set | u128::bit(s.parse().unwrap()))
            };
            let board = Board {
                kings: [set(c[2]), set(c[4])],
                men: [set(c[3]), set(c[5])],
            };
            let material: Material = c[1].parse().unwrap();
            assert_eq!(Material::of(&board), material);
            let index = Index::<u128>::new(geometry, material).unwrap();
            assert_eq!(index.index(&board).to_string(), c[6], "{}", c[1]);
            n += 1;
        }
        assert!(n >= 5);
    }
}
