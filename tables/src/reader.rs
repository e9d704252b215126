//! Opening tables and decoding their blocks.

mod chunks;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dambase_rules::{Side, Variant};
use xxhash_rust::xxh3::xxh3_64;
use zstd::zstd_safe::DDict;

use crate::backing::{Backing, Element, LargeArray};
use crate::codec::context::{self, SliceDecoder};
use crate::codec::distance;
use crate::codec::{self, Coding, Packing};
use crate::error::{Error, Result};
use crate::format::header::{Codec, Header, Section, SliceHeader};
use crate::format::{Metric, table_path};
use crate::map::Map;
use crate::material::Material;
use crate::narrow::{low_half, to_usize};
use crate::needs::NeedsList;
use crate::rule::{DtzArray, RuleValue};
use crate::value::{DtwArray, Value, Wld, WldArray};

/// A block of a table. Obtained from [`Table::block_of`] or counted up to
/// [`SliceHeader::block_count`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId {
    /// The side to move.
    pub side: Side,
    /// The number of the block in its slice, from 0.
    pub block: u64,
}

/// What decoding needs beside the table: keep one for each thread.
pub struct Scratch {
    zstd: codec::zstd::Context,
    rows: context::Rows,
    distances: distance::Rows,
}

impl Scratch {
    /// A new one, for any table.
    #[must_use]
    pub fn new() -> Self {
        Self {
            zstd: codec::zstd::Context::new(),
            rows: context::Rows::new(),
            distances: distance::Rows::new(),
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

/// The values of one block. Those of positions in which the side to move must capture, or which
/// the material decides, are meaningless.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodedBlock {
    coding: Coding,
    positions: u32,
    data: Data,
    /// What positions need where several clocks run.
    needs: Option<Arc<NeedsList>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Data {
    /// All positions have one symbol.
    All(u16),
    /// Packed symbols.
    Packed(Box<[u8]>),
    /// Rows of the context codec.
    Rows(context::Kept),
    /// Rows of the distance codec.
    Distances(distance::Kept),
}

impl DecodedBlock {
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.positions
    }
    /// True for a block without values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.positions == 0
    }
    /// Whether the position at an offset was decoded.
    #[inline(always)]
    #[must_use]
    pub const fn covers(&self, offset: u32) -> bool {
        offset < self.positions
    }
    /// Bytes of memory behind the block.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::All(_) => 0,
            Data::Packed(bytes) => bytes.len(),
            Data::Rows(rows) => rows.bytes(),
            Data::Distances(rows) => rows.bytes(),
        }
    }
    /// The symbol of a position.
    #[inline(always)]
    fn symbol(&self, offset: u32) -> u16 {
        assert!(offset < self.positions, "offset outside the block");
        let i = offset as usize;
        match &self.data {
            Data::All(symbol) => *symbol,
            Data::Rows(rows) => rows.value(offset).into(),
            Data::Distances(rows) => rows.symbol(offset),
            Data::Packed(bytes) => match self.coding.packing() {
                Packing::Bits => (bytes[i / 4] >> (i % 4 * 2) & 3).into(),
                Packing::Byte => bytes[i].into(),
                Packing::Planes => {
                    u16::from_le_bytes([bytes[i], bytes[i + self.positions as usize]])
                }
            },
        }
    }
    /// Win, loss or draw of the position at an offset from the start of the block.
    ///
    /// # Panics
    /// If the offset is not below [`Self::len`].
    #[inline(always)]
    #[must_use]
    pub fn wld(&self, offset: u32) -> Wld {
        self.coding.wld(self.symbol(offset))
    }
    /// Value and distance of the position at an offset from the start of the block.
    ///
    /// # Panics
    /// If the offset is not below [`Self::len`], or if the table is not of [`Metric::Dtw`].
    #[inline]
    #[must_use]
    pub fn value(&self, offset: u32) -> Value {
        let distances = !matches!(self.coding, Coding::Wld | Coding::Rule | Coding::Needs);
        assert!(distances, "a table without distances");
        self.coding.value(self.symbol(offset))
    }
    /// The value under the draw limits of the position at an offset from the start of the block.
    ///
    /// # Panics
    /// If the offset is not below [`Self::len`], or if the table is not of [`Metric::Dtz`].
    #[inline]
    #[must_use]
    pub fn rule(&self, offset: u32) -> RuleValue {
        let symbol = self.symbol(offset);
        match &self.needs {
            Some(needs) => needs.of_symbol(symbol),
            None => {
                assert!(
                    self.coding == Coding::Rule,
                    "a table without the draw limits"
                );
                self.coding.rule(symbol)
            }
        }
    }
    /// The number of the list in [`Table::needs`] of a position that is won or lost under the limits;
    /// nothing for others and in tables without such lists.
    ///
    /// # Panics
    /// If the offset is not below [`Self::len`].
    #[inline]
    #[must_use]
    pub fn needs(&self, offset: u32) -> Option<u32> {
        self.needs.as_ref()?;
        NeedsList::number(self.symbol(offset))
    }
}

/// One slice's dictionary, made ready when first needed.
type Dictionary = OnceLock<Option<DDict<'static>>>;

/// An open table: its header, checked, and its bytes, mapped or in memory.
pub struct Table {
    path: PathBuf,
    header: Header,
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    dictionaries: [Dictionary; 2],
    contexts: [OnceLock<Option<Box<SliceDecoder>>>; 2],
    needs: OnceLock<Option<Arc<NeedsList>>>,
    distances: [OnceLock<Option<Box<distance::SliceDecoder>>>; 2],
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Table {
    /// Maps a file and checks its header; reads nothing else. The file must not be changed in
    /// place or cut while the table is open: replace it by renaming, as the writer does.
    ///
    /// # Errors
    /// [`Error::Io`]; and what is wrong with the header or the length of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |action| {
            move |source| Error::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let mut file = File::open(path).map_err(io("open"))?;
        let length = file.metadata().map_err(io("open"))?.len();
        let mut start = Vec::with_capacity(Header::BYTES);
        (&mut file)
            .take(Header::BYTES as u64)
            .read_to_end(&mut start)
            .map_err(io("read"))?;
        let header = Header::parse(path, &start, length)?;
        let map = Map::of(&file).map_err(io("map"))?;
        if map.as_ref().len() as u64 != length {
            return Err(Error::Length {
                path: path.to_owned(),
                found: map.as_ref().len() as u64,
                wanted: length,
            });
        }
        Ok(Self::new(path, header, Box::new(map)))
    }

    /// Opens `<dir>/<variant>/<material>.<metric>` and checks that it is what it is called.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Error::OtherVariant`]; [`Error::OtherTable`].
    pub fn open_in(
        dir: &Path,
        variant: Variant,
        material: Material,
        metric: Metric,
    ) -> Result<Self> {
        let table = Self::open(table_path(dir, variant, material, metric))?;
        table.expect(variant, material, metric)?;
        Ok(table)
    }

    /// Reads a whole file into memory, for files that may change or vanish meanwhile.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(path, bytes)
    }

    /// A table in memory. `path` is its name in messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_bytes(
        path: impl Into<PathBuf>,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<Self> {
        let path = path.into();
        let b = bytes.as_ref();
        let header = Header::parse(&path, b, b.len() as u64)?;
        Ok(Self::new(&path, header, Box::new(bytes)))
    }

    fn new(path: &Path, header: Header, bytes: Box<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        Self {
            path: path.to_owned(),
            header,
            bytes,
            dictionaries: [OnceLock::new(), OnceLock::new()],
            contexts: [OnceLock::new(), OnceLock::new()],
            needs: OnceLock::new(),
            distances: [OnceLock::new(), OnceLock::new()],
        }
    }

    /// Checks that the table is the one that was asked for.
    ///
    /// # Errors
    /// [`Error::OtherVariant`]; [`Error::OtherTable`].
    pub fn expect(&self, variant: Variant, material: Material, metric: Metric) -> Result<()> {
        let h = &self.header;
        if h.variant != variant {
            return Err(Error::OtherVariant {
                path: self.path.clone(),
                found: h.variant,
                wanted: variant,
            });
        }
        if (h.material, h.metric) != (material, metric) {
            return Err(Error::OtherTable {
                path: self.path.clone(),
                found_material: h.material,
                found_metric: h.metric,
                material,
                metric,
            });
        }
        Ok(())
    }

    /// What the table says of itself.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }
    /// The file, as it was named when opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes of the file; at least a header.
    pub(crate) fn raw(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    fn corrupt(&self, part: impl Into<String>, what: &'static str) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            part: part.into(),
            what,
        }
    }
    fn not_stored(&self, what: impl Into<String>) -> Error {
        Error::NotStored {
            path: self.path.clone(),
            what: what.into(),
        }
    }
    #[cold]
    fn omitted(&self, slice: &SliceHeader) -> Error {
        let side = slice.side.name();
        self.not_stored(format!("{side} to move: unpack this archive"))
    }
    /// The bytes of a section.
    pub(crate) fn part(&self, s: &Section) -> Result<&[u8]> {
        self.section(s)
            .ok_or_else(|| self.corrupt("a section", "it lies outside the file"))
    }
    fn slice(&self, side: Side) -> Result<&SliceHeader> {
        self.header
            .slice(side)
            .ok_or_else(|| self.not_stored(format!("slice with {} to move", side.name())))
    }
    fn section(&self, s: &Section) -> Option<&[u8]> {
        let start = usize::try_from(s.offset).ok()?;
        let bytes = usize::try_from(s.bytes).ok()?;
        self.raw().get(start..)?.get(..bytes)
    }

    /// The block of a position, and the position's offset in it; [`Self::place_of`] is quicker
    /// where the placement is known. A side that is not stored and an
    /// index outside the slice give a block that [`Self::decode`] refuses.
    #[inline]
    #[must_use]
    pub fn block_of(&self, side: Side, index: u64) -> (BlockId, u32) {
        let slice = self.header.slice(side);
        if let Some(slice) = slice
            && slice.codec.in_chunks()
        {
            return self.place_of_index(slice, index);
        }
        // A power of two.
        let n = slice.map_or(1, block_positions);
        let id = BlockId {
            side,
            block: index >> n.trailing_zeros(),
        };
        (id, low_half(index) & (n - 1))
    }

    /// Number of blocks that a slice can be asked for; 0 for a constant one.
    ///
    /// # Errors
    /// [`Error::NotStored`]; [`Error::Corrupt`].
    pub fn block_count(&self, side: Side) -> Result<u64> {
        self.blocks_of(self.slice(side)?)
    }
    fn blocks_of(&self, slice: &SliceHeader) -> Result<u64> {
        Ok(match slice.codec {
            Codec::Context | Codec::Distance => self.layout(slice)?.chunks(),
            _ => slice.block_count(),
        })
    }

    /// Decodes a block and checks its checksum.
    ///
    /// # Errors
    /// [`Error::NotStored`] if there is no such block; [`Error::Corrupt`].
    pub fn decode(&self, id: BlockId, scratch: &mut Scratch) -> Result<DecodedBlock> {
        self.decode_to(id, u32::MAX, scratch)
    }

    /// As [`Self::decode`], but where the codec allows it only as far as the position at an
    /// offset ([`DecodedBlock::covers`]).
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_to(
        &self,
        id: BlockId,
        offset: u32,
        scratch: &mut Scratch,
    ) -> Result<DecodedBlock> {
        let slice = self.slice(id.side)?;
        if slice.codec == Codec::Omitted {
            return Err(self.omitted(slice));
        }
        if slice.codec.in_chunks() {
            return self.decode_chunk(slice, id.block, offset, scratch);
        }
        let per_block = u64::from(block_positions(slice));
        let start = id.block.checked_mul(per_block);
        let Some(left) = start.and_then(|s| slice.stats.positions.checked_sub(s)) else {
            return Err(self.not_stored(format!("block {}", id.block)));
        };
        if left == 0 {
            return Err(self.not_stored(format!("block {}", id.block)));
        }
        let positions = low_half(left.min(per_block));
        let needs = self.needs()?;
        let symbols = needs.map(|n| 3 + 2 * n.len());
        let block = |data| DecodedBlock {
            coding: slice.coding,
            positions,
            data,
            needs: needs.cloned(),
        };
        let no_list = || {
            let part = format!("block {} ({} to move)", id.block, id.side.name());
            self.corrupt(part, "a number that no list has")
        };
        if slice.codec == Codec::Constant {
            if symbols.is_some_and(|n| usize::from(slice.constant) >= n) {
                return Err(no_list());
            }
            return Ok(block(Data::All(slice.constant)));
        }
        let bad = |what| {
            self.corrupt(
                format!("block {} ({} to move)", id.block, id.side.name()),
                what,
            )
        };
        let stored = self
            .stored(slice, id.block)
            .ok_or_else(|| bad("its place lies outside the file"))?;
        let stored = stored.map_err(bad)?;
        let packing = slice.coding.packing();
        let unit = packing.unit();
        if stored.len() == unit {
            let symbol = match packing {
                Packing::Bits => {
                    let b = stored[0];
                    // Four equal values, or a short block.
                    if b != (b & 3) * 0x55 {
                        return self.packed(slice, positions, &bad, |out| {
                            out.fill(b);
                            Ok(())
                        });
                    }
                    if b & 3 == 3 {
                        return Err(bad("no value has the number 3"));
                    }
                    (b & 3).into()
                }
                Packing::Byte => stored[0].into(),
                Packing::Planes => u16::from_le_bytes([stored[0], stored[1]]),
            };
            if symbols.is_some_and(|n| usize::from(symbol) >= n) {
                return Err(no_list());
            }
            return Ok(block(Data::All(symbol)));
        }
        let mut packed = self.packed(slice, positions, &bad, |out| {
            if stored.len() == out.len() {
                out.copy_from_slice(stored);
                Ok(())
            } else if slice.codec == Codec::Zstd {
                let dictionary = self.dictionary(slice)?;
                scratch.zstd.decode(stored, dictionary, out).map_err(&bad)
            } else {
                Err(bad("wrong length of a raw block"))
            }
        })?;
        if let Some(n) = symbols {
            if (0..positions).any(|i| usize::from(packed.symbol(i)) >= n) {
                return Err(no_list());
            }
            packed.needs = needs.cloned();
        }
        Ok(packed)
    }

    /// Makes a block whose packed bytes `fill` writes.
    fn packed(
        &self,
        slice: &SliceHeader,
        positions: u32,
        bad: &impl Fn(&'static str) -> Error,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<DecodedBlock> {
        let packing = slice.coding.packing();
        // At most 65535 bytes: the checked header says so.
        let mut out = vec![0; to_usize(packing.bytes(positions.into()))].into_boxed_slice();
        fill(&mut out)?;
        if packing == Packing::Bits && has_three(&out) {
            return Err(bad("no value has the number 3"));
        }
        Ok(DecodedBlock {
            coding: slice.coding,
            positions,
            data: Data::Packed(out),
            needs: None,
        })
    }

    /// The stored bytes of a block; nothing if they lie outside the file, an error if they do not
    /// agree with their checksum.
    fn stored(
        &self,
        slice: &SliceHeader,
        block: u64,
    ) -> Option<std::result::Result<&[u8], &'static str>> {
        let table = self.section(&slice.table)?;
        let blocks = self.section(&slice.blocks)?;
        let entry = codec::entry(table, slice.block_count(), block)?;
        let start = usize::try_from(entry.offset).ok()?;
        let stored = blocks.get(start..)?.get(..usize::from(entry.bytes))?;
        Some(if codec::checksum(stored) == entry.checksum {
            Ok(stored)
        } else {
            Err("wrong checksum")
        })
    }

    /// The dictionary of a slice, if it has one.
    fn dictionary(&self, slice: &SliceHeader) -> Result<Option<&DDict<'static>>> {
        if slice.model.bytes == 0 {
            return Ok(None);
        }
        self.dictionaries[slice.side as usize]
            .get_or_init(|| {
                let bytes = self.section(&slice.model)?;
                (xxh3_64(bytes) == slice.model.checksum)
                    .then(|| codec::zstd::dictionary(bytes))
                    .flatten()
            })
            .as_ref()
            .map(Some)
            .ok_or_else(|| {
                let part = format!("the dictionary ({} to move)", slice.side.name());
                self.corrupt(part, "wrong checksum")
            })
    }

    /// What positions need where several clocks run at once: the lists whose numbers
    /// [`DecodedBlock::needs`] gives. Nothing in tables of materials in which one number is enough.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn needs(&self) -> Result<Option<&Arc<NeedsList>>> {
        if self.header.needs.bytes == 0 {
            return Ok(None);
        }
        self.needs
            .get_or_init(|| {
                let section = &self.header.needs;
                let bytes = self.section(section)?;
                (xxh3_64(bytes) == section.checksum)
                    .then(|| NeedsList::from_bytes(bytes))
                    .flatten()
                    .map(Arc::new)
            })
            .as_ref()
            .map(Some)
            .ok_or_else(|| self.corrupt("the lists of what positions need", "wrong checksum"))
    }

    /// Decodes every block and checks every checksum of the file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the first fault.
    pub fn verify_checksums(&self) -> Result<()> {
        let mut scratch = Scratch::new();
        self.needs()?;
        for slice in &self.header.slices {
            for (name, section) in [("dictionary", &slice.model), ("block table", &slice.table)] {
                let part = || format!("the {name} ({} to move)", slice.side.name());
                let bytes = self
                    .section(section)
                    .ok_or_else(|| self.corrupt(part(), "it lies outside the file"))?;
                if !bytes.is_empty() && xxh3_64(bytes) != section.checksum {
                    return Err(self.corrupt(part(), "wrong checksum"));
                }
            }
            for block in 0..self.blocks_of(slice)? {
                self.decode(
                    BlockId {
                        side: slice.side,
                        block,
                    },
                    &mut scratch,
                )?;
            }
        }
        Ok(())
    }

    /// All values of one slice. Those of captures and decided positions are meaningless. A DTW
    /// table is read without its distances.
    ///
    /// # Errors
    /// As [`Self::decode`]; [`Error::OutOfMemory`].
    pub fn read_wld(&self, side: Side) -> Result<WldArray> {
        self.read_wld_in(side, &Backing::memory())
    }

    /// [`Self::read_wld`] into memory or a work file.
    ///
    /// # Errors
    /// As [`Self::read_wld`]; [`Error::WorkFile`].
    pub fn read_wld_in(&self, side: Side, backing: &Backing) -> Result<WldArray> {
        let slice = self.slice(side)?;
        match slice.codec {
            Codec::Context => return self.read_chunks(slice, backing),
            Codec::Distance => {
                let mut out = self.no_values(slice, backing)?;
                let mut put = |i, symbol| out.set(i, slice.coding.wld(symbol));
                self.each_distance(slice, &mut put)?;
                return Ok(out);
            }
            _ => {}
        }
        let mut packed = self.array::<u8>(slice.stats.positions.div_ceil(4), backing)?;
        self.blocks(slice, |block, at| {
            // Every block but the last has whole bytes.
            let out = &mut packed[at / 4..];
            match &block.data {
                Data::Packed(bytes) if block.coding == Coding::Wld => {
                    out.iter_mut().zip(&bytes[..]).for_each(|(to, &b)| *to = b);
                }
                Data::All(symbol) => {
                    let byte = block.coding.wld(*symbol) as u8 * 0x55;
                    let n = (block.positions as usize).div_ceil(4);
                    out.iter_mut().take(n).for_each(|to| *to = byte);
                }
                Data::Packed(_) | Data::Rows(_) | Data::Distances(_) => {
                    for (first, byte) in (0..block.positions).step_by(4).zip(out) {
                        let n = (block.positions - first).min(4);
                        let value = |k| (block.wld(first + k) as u8) << (2 * k);
                        *byte = (0..n).fold(0, |b, k| b | value(k));
                    }
                }
            }
        })?;
        let last = slice.stats.positions % 4;
        if let Some(byte) = packed.last_mut()
            && last != 0
        {
            *byte &= (1 << (2 * last)) - 1;
        }
        WldArray::from_packed(packed, slice.stats.positions)
            .ok_or_else(|| self.corrupt("the blocks", "wrong number of values"))
    }

    /// All values and distances of one slice. Those of captures and decided positions are
    /// meaningless.
    ///
    /// # Errors
    /// As [`Self::decode`]; [`Error::NotStored`] if the table has no distances;
    /// [`Error::OutOfMemory`].
    pub fn read_dtw(&self, side: Side) -> Result<DtwArray> {
        self.read_dtw_in(side, &Backing::memory())
    }

    /// [`Self::read_dtw`] into memory or a work file.
    ///
    /// # Errors
    /// As [`Self::read_dtw`]; [`Error::WorkFile`].
    pub fn read_dtw_in(&self, side: Side, backing: &Backing) -> Result<DtwArray> {
        let slice = self.slice(side)?;
        if self.header.metric != Metric::Dtw {
            return Err(self.not_stored("distances"));
        }
        let mut codes = self.array::<u16>(slice.stats.positions, backing)?;
        if slice.codec == Codec::Distance {
            self.each_distance(slice, &mut |i, symbol| {
                codes[to_usize(i)] = code(slice.coding, symbol);
            })?;
            return Ok(DtwArray { codes });
        }
        self.blocks(slice, |block, at| {
            for (i, to) in (0..block.positions).zip(&mut codes[at..]) {
                *to = code(block.coding, block.symbol(i));
            }
        })?;
        Ok(DtwArray { codes })
    }

    /// All values under the draw limits of one slice. Those of captures and decided positions are
    /// meaningless.
    ///
    /// # Errors
    /// As [`Self::decode`]; [`Error::NotStored`] if the table is of another metric;
    /// [`Error::OutOfMemory`].
    pub fn read_dtz(&self, side: Side) -> Result<DtzArray> {
        self.read_dtz_in(side, &Backing::memory())
    }

    /// [`Self::read_dtz`] into memory or a work file.
    ///
    /// # Errors
    /// As [`Self::read_dtz`]; [`Error::WorkFile`].
    pub fn read_dtz_in(&self, side: Side, backing: &Backing) -> Result<DtzArray> {
        let slice = self.slice(side)?;
        if self.header.metric != Metric::Dtz {
            return Err(self.not_stored("values under the draw limits"));
        }
        let mut codes = self.array::<u8>(slice.stats.positions, backing)?;
        if slice.codec == Codec::Distance {
            self.each_distance(slice, &mut |i, symbol| {
                codes[to_usize(i)] = codec::byte(symbol)
            })?;
            return Ok(DtzArray { codes });
        }
        self.blocks(slice, |block, at| {
            for (i, to) in (0..block.positions).zip(&mut codes[at..]) {
                *to = match block.coding {
                    Coding::Needs => block.rule(i).code(),
                    _ => codec::byte(block.symbol(i)),
                };
            }
        })?;
        Ok(DtzArray { codes })
    }

    /// Calls `f` with every block and the index of its first position.
    fn blocks(&self, slice: &SliceHeader, mut f: impl FnMut(&DecodedBlock, usize)) -> Result<()> {
        let mut scratch = Scratch::new();
        let n = u64::from(block_positions(slice));
        for block in 0..slice.stats.positions.div_ceil(n) {
            let id = BlockId {
                side: slice.side,
                block,
            };
            f(&self.decode(id, &mut scratch)?, to_usize(block * n));
        }
        Ok(())
    }

    /// Zeros in memory or in a work file.
    fn array<T: Element>(&self, n: u64, backing: &Backing) -> Result<LargeArray<T>> {
        if backing.is_memory() {
            // A forged header can ask for more than there is.
            drop(self.room::<T>(n)?);
        }
        LargeArray::zeroed(backing, n)
    }

    fn room<T>(&self, n: u64) -> Result<Vec<T>> {
        let mut v = Vec::new();
        usize::try_from(n)
            .ok()
            .and_then(|n| v.try_reserve_exact(n).ok())
            .ok_or_else(|| Error::OutOfMemory {
                path: self.path.clone(),
                bytes: n.saturating_mul(size_of::<T>() as u64),
            })?;
        Ok(v)
    }
}

/// Whether two-bit numbers hold a 3. It does not stop at the first, so that the bytes are taken
/// many at a time: a block is good almost always.
fn has_three(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, b| all | (b & (b >> 1))) & 0x55 != 0
}

/// Positions in a block as the reader counts them: a constant slice has blocks of any size.
#[inline]
fn block_positions(slice: &SliceHeader) -> u32 {
    match slice.codec {
        Codec::Constant | Codec::Context | Codec::Distance | Codec::Omitted => 1 << 16,
        _ => slice.block_positions,
    }
}

/// The [`Value::code`] of a symbol. Symbols of forged files that no value has count as draws.
#[inline(always)]
fn code(coding: Coding, symbol: u16) -> u16 {
    match coding {
        Coding::Wld | Coding::Code | Coding::CodeWide | Coding::Rule | Coding::Needs => symbol,
        _ => match coding.value(symbol) {
            Value::Win(d) => d.0.saturating_mul(2).saturating_add(1),
            Value::Loss(d) => d.0.saturating_mul(2).saturating_add(2),
            Value::Draw => 0,
        },
    }
}
