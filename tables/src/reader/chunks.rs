//! Slices of the context codec: their blocks are chunks that follow the pieces, not the index.

use dambase_rules::{Bits, Board, Ruleset, Side, WithRuleset};
use xxhash_rust::xxh3::xxh3_64;

use super::{BlockId, Data, DecodedBlock, Scratch, Table};
use crate::codec::Coding;
use crate::codec::context::{BadChunk, Rows, SliceDecoder};
use crate::error::Result;
use crate::format::header::{Codec, SliceHeader};
use crate::index::Index;
use crate::value::WldArray;

impl Table {
    /// The decoder of a slice of the context codec, made when first needed; nothing if its model
    /// or directory are damaged.
    fn decoder(&self, slice: &SliceHeader) -> Option<&SliceDecoder> {
        self.contexts[slice.side as usize]
            .get_or_init(|| {
                let model = self.section(&slice.model)?;
                let directory = self.section(&slice.table)?;
                // Groups without bytes have no checksum of their own, so the directory is checked
                // before it is used.
                if xxh3_64(model) != slice.model.checksum
                    || xxh3_64(directory) != slice.table.checksum
                {
                    return None;
                }
                let geometry = self.header.variant.rules().geometry;
                let material = self.header.material;
                let decoder = SliceDecoder::new(geometry, material, slice.side, model).ok()?;
                (decoder.directory_bytes() == Some(slice.table.bytes)).then(|| Box::new(decoder))
            })
            .as_deref()
    }

    /// As [`Self::decoder`], with an error.
    pub(super) fn checked_decoder(&self, slice: &SliceHeader) -> Result<&SliceDecoder> {
        self.decoder(slice).ok_or_else(|| {
            let part = format!("the model or directory ({} to move)", slice.side.name());
            self.corrupt(part, "it makes no sense or has a wrong checksum")
        })
    }

    /// The block of a position and the position's offset in it, as [`Self::block_of`], but from
    /// the placement itself where the codec goes by that, else from what `index` gives. The
    /// placement must be of the table's material.
    #[inline]
    #[must_use]
    pub fn place_of<W: Bits>(
        &self,
        side: Side,
        board: &Board<W>,
        index: impl FnOnce() -> u64,
    ) -> (BlockId, u32) {
        if let Some(slice) = self.header.slice(side)
            && slice.codec == Codec::Context
        {
            return self.place_in_chunks(slice, board);
        }
        self.block_of(side, index())
    }

    fn place_in_chunks<W: Bits>(&self, slice: &SliceHeader, board: &Board<W>) -> (BlockId, u32) {
        let side = slice.side;
        match self.decoder(slice) {
            Some(d) => {
                let place = d.locate(board);
                let block = place.chunk;
                (BlockId { side, block }, d.offset(place))
            }
            // Decoding will say what is wrong.
            None => (BlockId { side, block: 0 }, 0),
        }
    }

    /// The place of a position that is known by its index only.
    pub(super) fn place_of_index(&self, slice: &SliceHeader, index: u64) -> (BlockId, u32) {
        let geometry = self.header.variant.rules().geometry;
        match Index::<u128>::new(geometry, self.header.material) {
            Ok(i) if index < i.positions() => self.place_in_chunks(slice, &i.board(index)),
            _ => {
                let (side, block) = (slice.side, u64::MAX);
                (BlockId { side, block }, 0)
            }
        }
    }

    /// Decodes a chunk up to the row of an offset; all of it for a larger one.
    pub(super) fn decode_chunk(
        &self,
        slice: &SliceHeader,
        chunk: u64,
        offset: u32,
        scratch: &mut Scratch,
    ) -> Result<DecodedBlock> {
        struct Run<'a> {
            decoder: &'a SliceDecoder,
            directory: &'a [u8],
            groups: &'a [u8],
            chunk: u64,
            last: u16,
            rows: &'a mut Rows,
        }
        impl WithRuleset for Run<'_> {
            type Output = std::result::Result<(), BadChunk>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self {
                    decoder,
                    directory,
                    groups,
                    chunk,
                    last,
                    rows,
                } = self;
                decoder.decode::<R>(directory, groups, chunk, last, rows)
            }
        }
        let decoder = self.checked_decoder(slice)?;
        let name = || format!("chunk {chunk} ({} to move)", slice.side.name());
        if chunk >= decoder.layout().chunks() {
            return Err(self.not_stored(name()));
        }
        let (Some(directory), Some(groups)) =
            (self.section(&slice.table), self.section(&slice.blocks))
        else {
            return Err(self.corrupt(name(), "its place lies outside the file"));
        };
        self.header
            .variant
            .with(Run {
                decoder,
                directory,
                groups,
                chunk,
                last: decoder.row_of(offset),
                rows: &mut scratch.rows,
            })
            .map_err(|BadChunk(what)| self.corrupt(name(), what))?;
        if let Some(value) = scratch.rows.uniform() {
            return Ok(DecodedBlock {
                coding: Coding::Wld,
                positions: decoder.offsets(),
                data: Data::All(value.into()),
                needs: None,
            });
        }
        let rows = decoder.keep(&scratch.rows);
        Ok(DecodedBlock {
            coding: Coding::Wld,
            positions: rows.offsets(),
            data: Data::Rows(rows),
            needs: None,
        })
    }

    /// All values of a slice in index order.
    pub(super) fn read_chunks(&self, slice: &SliceHeader) -> Result<WldArray> {
        struct Run<'a> {
            decoder: &'a SliceDecoder,
            directory: &'a [u8],
            groups: &'a [u8],
            out: &'a mut WldArray,
            table: &'a Table,
        }
        impl WithRuleset for Run<'_> {
            type Output = std::result::Result<(), BadChunk>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let header = &self.table.header;
                let geometry = header.variant.rules().geometry;
                let index = Index::<R::Bits>::new(geometry, header.material)
                    .map_err(|_| BadChunk("a material that cannot be numbered"))?;
                self.decoder
                    .decode_all::<R>(&index, self.directory, self.groups, self.out)
            }
        }
        let decoder = self.checked_decoder(slice)?;
        let name = || format!("the chunks ({} to move)", slice.side.name());
        let (Some(directory), Some(groups)) =
            (self.section(&slice.table), self.section(&slice.blocks))
        else {
            return Err(self.corrupt(name(), "their place lies outside the file"));
        };
        let positions = slice.stats.positions;
        let mut packed = self.room::<u8>(positions.div_ceil(4))?;
        packed.resize(positions.div_ceil(4) as usize, 0);
        let mut out = WldArray::from_packed(packed, positions)
            .ok_or_else(|| self.corrupt(name(), "wrong number of values"))?;
        self.header
            .variant
            .with(Run {
                decoder,
                directory,
                groups,
                out: &mut out,
                table: self,
            })
            .map_err(|BadChunk(what)| self.corrupt(name(), what))?;
        Ok(out)
    }
}
