//! How the values of a block become bytes: codings, packings, block tables, compression.

pub mod context;
pub(crate) mod distance;
pub(crate) mod zstd;

use dambase_rules::Rules;
use dambase_rules::ruleset::WinParity;

use crate::narrow::{low_half, to_u8, to_usize};
use crate::rule::RuleValue;
use crate::value::{Dtw, Value, Wld};

/// How the symbols of a block are laid out as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Packing {
    /// Four symbols of two bits to a byte, the first in the lowest bits.
    Bits,
    /// One byte each.
    Byte,
    /// Two bytes each: first the low bytes of all symbols of the block, then the high ones.
    Planes,
}

impl Packing {
    /// Bytes of `n` symbols.
    pub(crate) const fn bytes(self, n: u64) -> u64 {
        match self {
            Self::Bits => n.div_ceil(4),
            Self::Byte => n,
            Self::Planes => 2 * n,
        }
    }
    /// Bytes of a block that says: all symbols are equal.
    pub(crate) const fn unit(self) -> usize {
        match self {
            Self::Bits | Self::Byte => 1,
            Self::Planes => 2,
        }
    }
}

/// How values become symbols. The numbers are those of the file format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Coding {
    /// The numbers of [`Wld`].
    Wld = 0,
    /// [`Value::code`].
    Code = 1,
    CodeWide = 2,
    /// 0 for a draw, else plies + 1; odd plies are wins.
    OddWins = 3,
    OddWinsWide = 4,
    /// 0 for a draw, else plies + 1; even plies are wins.
    EvenWins = 5,
    EvenWinsWide = 6,
    /// [`RuleValue::code`].
    Rule = 7,
    /// [`NeedsList::symbol`](crate::needs::NeedsList::symbol).
    Needs = 8,
}

impl Coding {
    pub(crate) const fn from_id(id: u8) -> Option<Self> {
        Some(match id {
            0 => Self::Wld,
            1 => Self::Code,
            2 => Self::CodeWide,
            3 => Self::OddWins,
            4 => Self::OddWinsWide,
            5 => Self::EvenWins,
            6 => Self::EvenWinsWide,
            7 => Self::Rule,
            8 => Self::Needs,
            _ => return None,
        })
    }
    /// The narrow coding for distances under `rules`.
    pub(crate) const fn of_distances(rules: &Rules) -> Self {
        match rules.win_parity() {
            Some(WinParity::Odd) => Self::OddWins,
            Some(WinParity::Even) => Self::EvenWins,
            None => Self::Code,
        }
    }
    /// The same with two bytes a symbol.
    pub(crate) const fn wide(self) -> Self {
        match self {
            Self::Code => Self::CodeWide,
            Self::OddWins => Self::OddWinsWide,
            Self::EvenWins => Self::EvenWinsWide,
            other => other,
        }
    }
    pub(crate) const fn packing(self) -> Packing {
        match self {
            Self::Wld => Packing::Bits,
            Self::Code | Self::OddWins | Self::EvenWins | Self::Rule => Packing::Byte,
            Self::CodeWide | Self::OddWinsWide | Self::EvenWinsWide | Self::Needs => {
                Packing::Planes
            }
        }
    }
    /// The symbol of a [`Value::code`], or nothing if the value is impossible under this coding.
    #[inline(always)]
    pub(crate) const fn symbol(self, code: u16) -> Option<u16> {
        if code == 0 {
            return Some(0);
        }
        match self {
            Self::Rule if code < 255 => return Some(code),
            Self::Rule => return None,
            Self::Needs => return Some(code),
            _ => {}
        }
        let (win, plies) = (code % 2 == 1, (code - 1) / 2);
        match self {
            Self::Wld => Some(if win { 1 } else { 2 }),
            Self::Code | Self::CodeWide | Self::Rule | Self::Needs => Some(code),
            Self::OddWins | Self::OddWinsWide if win == (plies % 2 == 1) => Some(plies + 1),
            Self::EvenWins | Self::EvenWinsWide if win == (plies % 2 == 0) => Some(plies + 1),
            _ => None,
        }
    }
    /// The value of a symbol; for distances.
    #[inline(always)]
    pub(crate) const fn value(self, symbol: u16) -> Value {
        if symbol == 0 {
            return Value::Draw;
        }
        let plies = symbol - 1;
        let win = match self {
            Self::Wld | Self::Code | Self::CodeWide | Self::Rule | Self::Needs => {
                return Value::from_code(symbol);
            }
            Self::OddWins | Self::OddWinsWide => plies % 2 == 1,
            Self::EvenWins | Self::EvenWinsWide => plies.is_multiple_of(2),
        };
        if win {
            Value::Win(Dtw(plies))
        } else {
            Value::Loss(Dtw(plies))
        }
    }
    /// What a code counts as (0 draw, 1 win, 2 loss, 3 cursed win, 4 blessed loss), and its plies.
    #[inline(always)]
    pub(crate) const fn counted(self, code: u16) -> (usize, u16) {
        if let Self::Rule = self {
            return counted(self.rule(code));
        }
        match Value::from_code(code) {
            Value::Draw => (0, 0),
            Value::Win(n) => (1, n.0),
            Value::Loss(n) => (2, n.0),
        }
    }
    /// The value under the draw limits of a symbol; for tables of these.
    #[inline(always)]
    pub(crate) const fn rule(self, symbol: u16) -> RuleValue {
        RuleValue::from_code(byte(symbol))
    }
    /// Win, loss or draw of a symbol.
    #[inline(always)]
    pub(crate) const fn wld(self, symbol: u16) -> Wld {
        match self {
            Self::Wld => match symbol {
                1 => Wld::Win,
                2 => Wld::Loss,
                _ => Wld::Draw,
            },
            Self::Rule => self.rule(symbol).without_limits(),
            // Odd symbols are wins, cursed or not.
            Self::Needs => Value::from_code(symbol).wld(),
            _ => self.value(symbol).wld(),
        }
    }
}

/// What a value under the draw limits counts as, and its need.
#[inline(always)]
pub(crate) const fn counted(value: RuleValue) -> (usize, u16) {
    match value {
        RuleValue::Draw => (0, 0),
        RuleValue::Win(n) => (1, n.0),
        RuleValue::Loss(n) => (2, n.0),
        RuleValue::CursedWin => (3, 0),
        RuleValue::BlessedLoss => (4, 0),
    }
}

/// Blocks that share one offset in a block table.
pub(crate) const GROUP: u64 = 16;
/// Bytes of one such group: its offset, lengths of two bytes, checksums of four.
const GROUP_BYTES: u64 = 8 + GROUP * 6;

/// Bytes of the block table of so many blocks.
pub(crate) const fn table_bytes(blocks: u64) -> u64 {
    blocks.div_ceil(GROUP) * 8 + blocks * 6
}

/// One entry of a block table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// First byte, from the start of the slice's blocks.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) bytes: u16,
    /// The low half of the xxh3 of the block's bytes.
    pub(crate) checksum: u32,
}

/// The entry of block `b` of `blocks` in a block table; nothing if the table is too short.
#[inline]
pub(crate) fn entry(table: &[u8], blocks: u64, b: u64) -> Option<Entry> {
    if b >= blocks {
        return None;
    }
    let (group, k) = (b / GROUP, (b % GROUP) as usize);
    let n = (blocks - group * GROUP).min(GROUP) as usize;
    let start = usize::try_from(group * GROUP_BYTES).ok()?;
    let group = table.get(start..)?.get(..8 + n * 6)?;
    let (offset, rest) = group.split_first_chunk::<8>()?;
    let (lengths, checksums) = rest.split_at(n * 2);
    let length = |i: usize| u16::from_le_bytes([lengths[2 * i], lengths[2 * i + 1]]);
    let before: u64 = (0..k).map(|i| u64::from(length(i))).sum();
    let sum = checksums[4 * k..].first_chunk::<4>()?;
    Some(Entry {
        offset: u64::from_le_bytes(*offset).checked_add(before)?,
        bytes: length(k),
        checksum: u32::from_le_bytes(*sum),
    })
}

/// Collects the block table of a slice.
#[derive(Debug, Default)]
pub(crate) struct TableBuilder {
    entries: Vec<(u16, u32)>,
}

impl TableBuilder {
    pub(crate) fn push(&mut self, block: &[u8]) {
        let length = u16::try_from(block.len()).expect("a block of less than 2^16 bytes");
        self.entries.push((length, checksum(block)));
    }
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut offset = 0_u64;
        for group in self.entries.chunks(to_usize(GROUP)) {
            out.extend(offset.to_le_bytes());
            out.extend(group.iter().flat_map(|e| e.0.to_le_bytes()));
            out.extend(group.iter().flat_map(|e| e.1.to_le_bytes()));
            offset += group.iter().map(|e| u64::from(e.0)).sum::<u64>();
        }
        out
    }
}

/// A symbol in one byte. More than a byte holds is not the work of the writer.
#[inline(always)]
pub(crate) const fn byte(symbol: u16) -> u8 {
    if symbol < 255 {
        to_u8(symbol as usize)
    } else {
        255
    }
}

/// The checksum of a block.
#[inline]
pub(crate) fn checksum(block: &[u8]) -> u32 {
    low_half(xxhash_rust::xxh3::xxh3_64(block))
}

/// What a block codec does.
pub(crate) trait BlockCodec {
    /// Compresses a packed block. Blocks whose bytes all repeat, and those that do not get
    /// smaller, never come here or are stored otherwise by the caller.
    fn encode(&mut self, packed: &[u8], out: &mut Vec<u8>);
}

/// Stores a packed block as it is.
#[derive(Debug)]
pub(crate) struct Raw;

impl BlockCodec for Raw {
    fn encode(&mut self, packed: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(packed);
    }
}

/// The stored form of a packed block: one unit if all units are equal; the packed bytes if the
/// codec does not make them smaller; else what the codec makes of them.
pub(crate) fn encode(codec: &mut impl BlockCodec, packing: Packing, packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(unit) = repeated(packing, packed) {
        out.extend_from_slice(&unit[..packing.unit()]);
        return out;
    }
    codec.encode(packed, &mut out);
    if out.len() >= packed.len() || out.len() <= packing.unit() {
        out.clear();
        out.extend_from_slice(packed);
    }
    out
}

/// The unit of which a packed block is a repetition.
pub(crate) fn repeated(packing: Packing, packed: &[u8]) -> Option<[u8; 2]> {
    let all = |bytes: &[u8]| {
        let first = *bytes.first()?;
        bytes.iter().all(|&b| b == first).then_some(first)
    };
    match packing {
        Packing::Bits | Packing::Byte => all(packed).map(|b| [b, 0]),
        Packing::Planes => {
            let (low, high) = packed.split_at(packed.len() / 2);
            Some([all(low)?, all(high)?])
        }
    }
}

/// The symbol that all positions of a packed block have.
pub(crate) fn constant(packing: Packing, packed: &[u8]) -> Option<u16> {
    let unit = repeated(packing, packed)?;
    match packing {
        Packing::Bits => (unit[0] == (unit[0] & 3) * 0x55).then_some((unit[0] & 3).into()),
        Packing::Byte | Packing::Planes => Some(u16::from_le_bytes(unit)),
    }
}
