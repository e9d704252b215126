//! Slices of the context and the distance codec: their blocks are chunks that follow the pieces,
//! not the index.

use dambase_rules::{Bits, Board, Ruleset, Side, WithRuleset};
use xxhash_rust::xxh3::xxh3_64;

use super::{BlockId, Data, DecodedBlock, Scratch, Table};
use crate::backing::Backing;
use crate::codec::Coding;
use crate::codec::context::decode::Rule;
use crate::codec::context::layout::Layout;
use crate::codec::context::{BadChunk, Rows, SliceDecoder, directory};
use crate::codec::distance;
use crate::cpu::Hot;
use crate::error::{Error, Result};
use crate::format::header::{Codec, SliceHeader};
use crate::index::Index;
use crate::material::Material;
use crate::value::WldArray;

impl Table {
    /// Model and directory of a slice in chunks, if their checksums are right.
    fn model(&self, slice: &SliceHeader) -> Option<(&[u8], &[u8])> {
        let model = self.section(&slice.model)?;
        let directory = self.section(&slice.table)?;
        // Groups without bytes have no checksum of their own, so the directory is checked before
        // it is used.
        let good =
            xxh3_64(model) == slice.model.checksum && xxh3_64(directory) == slice.table.checksum;
        good.then_some((model, directory))
    }

    /// The decoder of a slice of the context codec, made when first needed; nothing if its model
    /// or directory are damaged.
    fn decoder(&self, slice: &SliceHeader) -> Option<&SliceDecoder> {
        self.contexts[slice.side as usize]
            .get_or_init(|| {
                let (model, _) = self.model(slice)?;
                let geometry = self.header.variant.rules().geometry;
                let material = self.header.material;
                let decoder = SliceDecoder::new(geometry, material, slice.side, model).ok()?;
                (decoder.directory_bytes() == Some(slice.table.bytes)).then(|| Box::new(decoder))
            })
            .as_deref()
    }

    /// The decoder of a slice of the distance codec, in the same way.
    fn distance_decoder(&self, slice: &SliceHeader) -> Option<&distance::SliceDecoder> {
        self.distances[slice.side as usize]
            .get_or_init(|| {
                let (model, _) = self.model(slice)?;
                let rules = self.header.variant.rules();
                let material = self.header.material;
                let (side, coding) = (slice.side, slice.coding);
                let decoder =
                    distance::SliceDecoder::new(rules, material, side, coding, model).ok()?;
                let bytes = directory::directory_bytes(decoder.layout().chunks());
                (bytes == Some(slice.table.bytes)).then(|| Box::new(decoder))
            })
            .as_deref()
    }

    fn bad_model(&self, slice: &SliceHeader) -> Error {
        let part = format!("the model or directory ({} to move)", slice.side.name());
        self.corrupt(part, "it makes no sense or has a wrong checksum")
    }

    /// As [`Self::decoder`], with an error.
    fn checked_decoder(&self, slice: &SliceHeader) -> Result<&SliceDecoder> {
        self.decoder(slice).ok_or_else(|| self.bad_model(slice))
    }

    /// The layout of a slice in chunks.
    pub(super) fn layout(&self, slice: &SliceHeader) -> Result<&Layout> {
        self.layout_of(slice).ok_or_else(|| self.bad_model(slice))
    }

    #[inline]
    fn layout_of(&self, slice: &SliceHeader) -> Option<&Layout> {
        if slice.codec == Codec::Context {
            return self.decoder(slice).map(SliceDecoder::layout);
        }
        self.distance_decoder(slice).map(|d| d.layout())
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
            && slice.codec.in_chunks()
        {
            return self.place_in_chunks(slice, board);
        }
        self.block_of(side, index())
    }

    fn place_in_chunks<W: Bits>(&self, slice: &SliceHeader, board: &Board<W>) -> (BlockId, u32) {
        let side = slice.side;
        match self.layout_of(slice) {
            Some(layout) => {
                let place = layout.locate(board);
                let block = place.chunk;
                (BlockId { side, block }, layout.offset(place))
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
        if slice.codec == Codec::Distance {
            return self.decode_distances(slice, chunk, offset, scratch);
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
                last: decoder.layout().row_of(offset),
                rows: &mut scratch.rows,
            })
            .map_err(|BadChunk(what)| self.corrupt(name(), what))?;
        if let Some(value) = scratch.rows.uniform() {
            return Ok(DecodedBlock {
                coding: Coding::Wld,
                positions: decoder.layout().offsets(decoder.layout().rows()),
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
    pub(super) fn read_chunks(&self, slice: &SliceHeader, backing: &Backing) -> Result<WldArray> {
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
        let mut out = self.no_values(slice, backing)?;
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

    /// Room for the values of a slice.
    pub(super) fn no_values(&self, slice: &SliceHeader, backing: &Backing) -> Result<WldArray> {
        let positions = slice.stats.positions;
        let packed = self.array::<u8>(positions.div_ceil(4), backing)?;
        WldArray::from_packed(packed, positions)
            .ok_or_else(|| self.corrupt("a slice", "wrong number of values"))
    }

    /// What decoding a slice of the distance codec needs.
    fn distances<'a>(&'a self, slice: &'a SliceHeader) -> Result<Distances<'a>> {
        let one = |slice: &'a SliceHeader| {
            let decoder = self.distance_decoder(slice);
            let decoder = decoder.ok_or_else(|| self.bad_model(slice))?;
            let (directory, groups) = (self.part(&slice.table)?, self.part(&slice.blocks)?);
            Ok::<_, Error>(OneSide {
                decoder,
                directory,
                groups,
            })
        };
        let own = one(slice)?;
        let other = if own.decoder.depends() {
            let other = self.header.slice(slice.side.other());
            let other = other.filter(|s| s.codec == Codec::Distance);
            let other = one(other.ok_or_else(|| self.bad_model(slice))?)?;
            if !own.decoder.may_depend_on(other.decoder) {
                return Err(self.bad_model(slice));
            }
            Some(other)
        } else {
            None
        };
        Ok(Distances { own, other })
    }

    fn decode_distances(
        &self,
        slice: &SliceHeader,
        chunk: u64,
        offset: u32,
        scratch: &mut Scratch,
    ) -> Result<DecodedBlock> {
        struct Run<'a> {
            slices: &'a Distances<'a>,
            chunk: u64,
            last: u16,
            rows: &'a mut distance::Rows,
        }
        impl WithRuleset for Run<'_> {
            type Output = std::result::Result<(), BadChunk>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let rule = Rule::of::<R>();
                self.slices
                    .decode(&rule, (self.chunk, self.last), self.rows)
            }
        }
        let slices = self.distances(slice)?;
        let decoder = slices.own.decoder;
        let name = || format!("chunk {chunk} ({} to move)", slice.side.name());
        if chunk >= decoder.layout().chunks() {
            return Err(self.not_stored(name()));
        }
        self.header
            .variant
            .with(Run {
                slices: &slices,
                chunk,
                last: decoder.layout().row_of(offset),
                rows: &mut scratch.distances,
            })
            .map_err(|BadChunk(what)| self.corrupt(name(), what))?;
        let (rows, positions) = decoder.keep(&scratch.distances);
        Ok(DecodedBlock {
            coding: slice.coding,
            positions,
            data: Data::Distances(rows),
            needs: None,
        })
    }

    /// Calls `f(index, symbol)` for all positions of a slice of the distance codec.
    pub(super) fn each_distance(
        &self,
        slice: &SliceHeader,
        f: &mut dyn FnMut(u64, u16),
    ) -> Result<()> {
        struct Run<'a> {
            slices: &'a Distances<'a>,
            material: Material,
            f: &'a mut dyn FnMut(u64, u16),
        }
        impl WithRuleset for Run<'_> {
            type Output = std::result::Result<(), BadChunk>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self {
                    slices,
                    material,
                    f,
                } = self;
                let index = Index::<R::Bits>::new(R::RULES.geometry, material)
                    .map_err(|_| BadChunk("a material that cannot be numbered"))?;
                let rule = Rule::of::<R>();
                let decoder = slices.own.decoder;
                let mut rows = distance::Rows::new();
                for chunk in 0..decoder.layout().chunks() {
                    slices.decode(&rule, (chunk, u16::MAX), &mut rows)?;
                    decoder.for_each(&rule, &index, chunk, &rows, &mut *f);
                }
                Ok(())
            }
        }
        let slices = self.distances(slice)?;
        let material = self.header.material;
        let run = Run {
            slices: &slices,
            material,
            f,
        };
        let name = || format!("the chunks ({} to move)", slice.side.name());
        let done = self.header.variant.with(run);
        done.map_err(|BadChunk(what)| self.corrupt(name(), what))
    }
}

/// A slice of the distance codec, and the one it depends on.
struct Distances<'a> {
    own: OneSide<'a>,
    other: Option<OneSide<'a>>,
}

struct OneSide<'a> {
    decoder: &'a distance::SliceDecoder,
    directory: &'a [u8],
    groups: &'a [u8],
}

impl<'a> OneSide<'a> {
    fn find(&self, chunk: u64) -> std::result::Result<&'a [u8], BadChunk> {
        directory::find(self.directory, self.groups, chunk).map_err(BadChunk)
    }
}

impl Distances<'_> {
    /// Decodes the rows of a chunk up to one of them.
    fn decode<W: Bits>(
        &self,
        rule: &Rule<W>,
        (chunk, last): (u64, u16),
        rows: &mut distance::Rows,
    ) -> std::result::Result<(), BadChunk> {
        let bytes = self.own.find(chunk)?;
        let other = match &self.other {
            Some(other) => Some((other.decoder, other.find(chunk)?)),
            None => None,
        };
        distance::DecodeChunk {
            decoder: self.own.decoder,
            rule,
            bytes,
            other,
            place: (chunk, last),
            out: rows,
        }
        .run();
        Ok(())
    }
}
