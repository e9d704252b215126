//! Where the chunks are: chunks in groups with one checksum, groups with one offset.

use xxhash_rust::xxh3::xxh3_64;

use crate::narrow::{low_half, to_usize};

/// Chunks of a group.
pub(crate) const GROUP: u64 = 64;
/// Bytes of an entry of the directory.
const ENTRY: usize = 5;
/// Bits of an offset in an entry; the rest is the width of the lengths.
const OFFSET_BITS: u32 = 35;
/// Checksum and bitmap of a group.
const GROUP_HEAD: usize = 4 + 8;

/// Bytes of the directory of so many chunks.
pub(crate) fn directory_bytes(chunks: u64) -> Option<u64> {
    chunks
        .div_ceil(GROUP)
        .checked_add(1)?
        .checked_mul(ENTRY as u64)
}

fn checksum(bytes: &[u8]) -> u32 {
    low_half(xxh3_64(bytes))
}

/// One encoded group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) bytes: Vec<u8>,
    /// Bits of a length, below 32.
    width: u32,
}

impl Group {
    /// Puts chunks together. A group of empty chunks has no bytes.
    pub(crate) fn new(chunks: &[Vec<u8>]) -> Self {
        let longest = chunks.iter().map(Vec::len).max().unwrap_or(0);
        if longest == 0 {
            return Self::default();
        }
        let width = usize::BITS - longest.leading_zeros();
        let mut bytes = vec![0; 4];
        let map = chunks.iter().enumerate().filter(|(_, c)| !c.is_empty());
        bytes.extend(map.fold(0_u64, |m, (k, _)| m | 1 << k).to_le_bytes());
        let (mut waiting, mut bits) = (0_u64, 0);
        for c in chunks.iter().filter(|c| !c.is_empty()) {
            waiting |= (c.len() as u64) << bits;
            bits += width;
            while bits >= 8 {
                bytes.push((waiting & 0xff) as u8);
                waiting >>= 8;
                bits -= 8;
            }
        }
        if bits > 0 {
            bytes.push((waiting & 0xff) as u8);
        }
        bytes.extend(chunks.iter().flatten());
        let sum = checksum(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        Self { bytes, width }
    }
}

/// The directory of groups that follow each other; nothing if they are too long to be addressed.
pub(crate) fn directory(groups: &[Group]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity((groups.len() + 1) * ENTRY);
    let mut offset = 0_u64;
    for g in groups.iter().chain([&Group::default()]) {
        if offset >> OFFSET_BITS != 0 {
            return None;
        }
        let entry = offset | u64::from(g.width) << OFFSET_BITS;
        out.extend(&entry.to_le_bytes()[..ENTRY]);
        offset += g.bytes.len() as u64;
    }
    Some(out)
}

/// Finds the bytes of a chunk.
///
/// # Errors
/// What is wrong, if the entry, the group or its checksum do not fit.
#[inline]
pub(crate) fn find<'a>(
    directory: &[u8],
    groups: &'a [u8],
    chunk: u64,
) -> Result<&'a [u8], &'static str> {
    const SHORT: &str = "its place lies outside the file";
    let entry = |g: u64| {
        let start = usize::try_from(g).ok()?.checked_mul(ENTRY)?;
        let bytes = directory.get(start..)?.get(..ENTRY)?;
        let mut wide = [0; 8];
        wide[..ENTRY].copy_from_slice(bytes);
        let entry = u64::from_le_bytes(wide);
        let offset = usize::try_from(entry & ((1 << OFFSET_BITS) - 1)).ok()?;
        Some((offset, entry >> OFFSET_BITS))
    };
    let (start, width) = entry(chunk / GROUP).ok_or(SHORT)?;
    let (end, _) = entry(chunk / GROUP + 1).ok_or(SHORT)?;
    if start == end {
        return Ok(&[]);
    }
    let group = groups.get(start..end).ok_or(SHORT)?;
    if group.len() < GROUP_HEAD {
        return Err("a group of chunks is too short");
    }
    let (sum, rest) = group.split_at(4);
    if checksum(rest).to_le_bytes() != sum {
        return Err("wrong checksum");
    }
    let (map, rest) = rest.split_at(8);
    let map = u64::from_le_bytes([
        map[0], map[1], map[2], map[3], map[4], map[5], map[6], map[7],
    ]);
    let bit = 1 << (chunk % GROUP);
    if map & bit == 0 {
        return Ok(&[]);
    }
    const SENSELESS: &str = "lengths of chunks that do not add up";
    let filled = map.count_ones() as usize;
    let before = (map & (bit - 1)).count_ones() as usize;
    let width = to_usize(width);
    let mut start = (filled * width).div_ceil(8);
    for k in 0..before {
        start += length(rest, k * width, width);
    }
    let at = rest.get(start..).ok_or(SENSELESS)?;
    at.get(..length(rest, before * width, width))
        .ok_or(SENSELESS)
}

/// The number of `width` bits, below 32, from a bit on; what is behind the end is 0.
#[inline(always)]
fn length(bytes: &[u8], bit: usize, width: usize) -> usize {
    let word = match bytes.get(bit / 8..) {
        Some(rest) => match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b)),
        },
        None => 0,
    };
    to_usize(word >> (bit % 8) & ((1 << width) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_found_and_damage_is_noticed() {
        for longest in [40_usize, 300, 70_000] {
            let chunks: Vec<Vec<u8>> = (0..200_usize)
                .map(|k| match k {
                    64..128 => Vec::new(),
                    _ if k % 3 == 0 => Vec::new(),
                    128.. => vec![k as u8; k % 40],
                    _ => vec![k as u8; k * longest / 64],
                })
                .collect();
            let groups: Vec<Group> = chunks.chunks(64).map(Group::new).collect();
            let directory = directory(&groups).unwrap();
            assert_eq!(
                directory.len() as u64,
                directory_bytes(chunks.len() as u64).unwrap()
            );
            let mut bytes: Vec<u8> = groups.iter().flat_map(|g| g.bytes.clone()).collect();
            for (k, c) in chunks.iter().enumerate() {
                assert_eq!(find(&directory, &bytes, k as u64), Ok(&c[..]));
            }
            assert!(find(&directory, &bytes, 10_000).is_err());
            for at in [0, 5, 13, 70, 100] {
                bytes[at] ^= 4;
                assert!(find(&directory, &bytes, 3).is_err());
                bytes[at] ^= 4;
            }
            let cut = &bytes[..bytes.len() - 1];
            assert!(find(&directory, cut, 199).is_err());
            // Any directory is survived.
            let mut bad = directory.clone();
            for at in 0..bad.len() {
                for value in [0xff, 0x80, 1] {
                    bad[at] ^= value;
                    for k in 0..200 {
                        let _ = find(&bad, &bytes, k);
                    }
                    bad[at] ^= value;
                }
            }
        }
    }
}
