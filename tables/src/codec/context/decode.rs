//! From the bytes of a chunk to the values of its rows.

use std::hint::cold_path;

use dambase_rules::{Bits, Board, Geometry, Ruleset, Side};

use super::captures::capture_squares;
use super::coder::Decoder;
use super::directory;
use super::layout::{Field, Kind, Layout, Place, Row, RowVisitor, Shape};
use super::model::{Leaf, Lookup, Probabilities};
use super::rows::{
    ANY, EQUAL_ROWS, Pad, Planes, Reference, RowBuffer, Spread, kept_value, plane_shift, predicted,
};
use crate::cpu::Hot;
use crate::index::Index;
use crate::material::Material;
use crate::narrow::{to_u16, to_u32};
use crate::value::{Wld, WldArray};

/// A chunk or model that cannot be read: what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadChunk(pub &'static str);

/// The decoded rows of one chunk, reusable without new allocation.
#[derive(Clone, Debug)]
pub struct Rows {
    rows: RowBuffer,
    bytes: Box<Spread>,
    filled: usize,
    /// The value of all rows, which are not filled in then.
    uniform: Option<u8>,
    /// The board whose surroundings `bytes` has.
    board: Option<Geometry>,
}

impl Rows {
    /// No rows yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rows: RowBuffer::new(),
            bytes: Box::new(Spread::new()),
            filled: 0,
            uniform: None,
            board: None,
        }
    }
    /// How many rows are decoded; further ones hold no values.
    #[must_use]
    pub const fn filled(&self) -> usize {
        self.filled
    }
    /// The one value of all squares of all rows, where there was nothing to decode.
    #[must_use]
    pub const fn uniform(&self) -> Option<u8> {
        self.uniform
    }
}

impl Default for Rows {
    fn default() -> Self {
        Self::new()
    }
}

/// The values of rows that are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    words: Box<[u64]>,
    shift: u8,
}

impl Kept {
    /// The value at a [`Layout::offset`].
    #[inline(always)]
    pub(crate) fn value(&self, offset: u32) -> u8 {
        kept_value(&self.words, self.shift, offset as usize)
    }
    /// Offsets that there are.
    pub(crate) fn offsets(&self) -> u32 {
        // A plane is half of a row.
        to_u32(self.words.len() * 32)
    }
    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// What is needed to find and decode the chunks of one slice.
#[derive(Clone, Debug)]
pub struct SliceDecoder {
    geometry: Geometry,
    side: Side,
    layout: Layout,
    /// The value of rows without references.
    start: u8,
    /// Whether a chunk in which all is as expected has that value everywhere.
    quiet: bool,
    lookup: Lookup,
}

/// The model of a slice as it stands in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    pub(crate) shape: Shape,
    /// The value of a row without references.
    pub(crate) start: u8,
    pub(crate) probabilities: Probabilities,
}

impl Model {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.shape.bytes().to_vec();
        out.push(self.start);
        self.probabilities.write(&mut out);
        out
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (shape, rest) = bytes.split_first_chunk::<{ Shape::BYTES }>()?;
        let (&start, rest) = rest.split_first()?;
        if start > 2 {
            return None;
        }
        Some(Self {
            shape: Shape::read(*shape)?,
            start,
            probabilities: Probabilities::read(rest)?,
        })
    }
}

impl SliceDecoder {
    /// Reads the model of the slice of `material` with `side` to move.
    ///
    /// # Errors
    /// [`BadChunk`] if the model makes no sense.
    pub fn new(
        geometry: Geometry,
        material: Material,
        side: Side,
        model: &[u8],
    ) -> Result<Self, BadChunk> {
        let model = Model::read(model).ok_or(BadChunk("a senseless model"))?;
        let layout = Layout::new(geometry, material, model.shape)
            .map_err(|_| BadChunk("a model of another material"))?;
        Ok(Self::with(geometry, side, layout, &model))
    }

    pub(crate) fn with(geometry: Geometry, side: Side, layout: Layout, model: &Model) -> Self {
        let lookup = Lookup::new(&model.probabilities);
        Self {
            geometry,
            side,
            layout,
            start: model.start,
            quiet: EQUAL_ROWS.iter().all(|&f| lookup.flag(f).first() == 0),
            lookup,
        }
    }

    /// The numbering of chunks and rows.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }
    pub(crate) const fn lookup(&self) -> &Lookup {
        &self.lookup
    }
    /// Bytes of memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.lookup.bytes()
    }
    /// Where a placement is stored.
    #[inline]
    #[must_use]
    pub fn locate<W: Bits>(&self, board: &Board<W>) -> Place {
        self.layout.locate(board)
    }
    /// The decoded rows, to be kept.
    ///
    /// # Panics
    /// If they are uniform.
    #[must_use]
    pub(crate) fn keep(&self, rows: &Rows) -> Kept {
        assert!(rows.uniform.is_none(), "rows that were not filled in");
        Kept {
            words: rows.rows.kept(self.geometry.squares(), rows.filled),
            shift: plane_shift(self.geometry.squares()),
        }
    }
    /// Bytes that the directory must have.
    #[must_use]
    pub fn directory_bytes(&self) -> Option<u64> {
        directory::directory_bytes(self.layout.chunks())
    }

    /// Decodes the rows of a chunk up to `last`, that one included.
    ///
    /// # Errors
    /// [`BadChunk`] if there is no such chunk or its group is damaged.
    pub fn decode<R: Ruleset>(
        &self,
        directory: &[u8],
        groups: &[u8],
        chunk: u64,
        last: u16,
        out: &mut Rows,
    ) -> Result<(), BadChunk> {
        if chunk >= self.layout.chunks() {
            return Err(BadChunk("no such chunk"));
        }
        let bytes = directory::find(directory, groups, chunk).map_err(BadChunk)?;
        out.uniform = (bytes.is_empty() && self.quiet).then_some(self.start);
        if out.uniform.is_some() {
            out.filled = self.layout.rows();
        } else {
            DecodeChunk {
                decoder: self,
                rule: &Rule::of::<R>(),
                bytes,
                place: (chunk, last),
                out,
            }
            .run();
        }
        Ok(())
    }

    /// Decodes a whole slice into index order. Captures get any value.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_all<R: Ruleset>(
        &self,
        index: &Index<R::Bits>,
        directory: &[u8],
        groups: &[u8],
        out: &mut WldArray,
    ) -> Result<(), BadChunk> {
        let mut rows = Rows::new();
        let last = to_u16(self.layout.rows() - 1);
        let field = Field::of::<R>();
        out.fill(Wld::from_bits(self.start).unwrap_or(Wld::Draw));
        for chunk in 0..self.layout.chunks() {
            self.decode::<R>(directory, groups, chunk, last, &mut rows)?;
            if rows.uniform.is_some() {
                continue;
            }
            let tile = self.layout.tile::<R::Bits>(chunk);
            let mut copy = CopyRows {
                vector: self.layout.shape().vector,
                index,
                rows: &rows.rows,
                out,
            };
            tile.walk(&field, last, &mut copy);
        }
        Ok(())
    }

    /// The value on a square of a decoded row; meaningless for captures.
    ///
    /// # Panics
    /// If the row is not decoded or the square not on the board.
    #[inline]
    #[must_use]
    pub fn value(&self, rows: &Rows, row: u16, square: u8) -> Wld {
        assert!(usize::from(row) < rows.filled, "a row that is not decoded");
        let number = row + 1;
        let all = || {
            if self.geometry.squares() <= 64 {
                rows.rows.get::<u64>(number).get(square)
            } else {
                rows.rows.get::<u128>(number).get(square)
            }
        };
        Wld::from_bits(rows.uniform.unwrap_or_else(all)).unwrap_or(Wld::Draw)
    }
}

/// What decoding has to know of the rules, so that it is compiled once for all codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<W> {
    pub(crate) field: Field<W>,
    pub(crate) captures: fn(&Board<W>, Kind, Side) -> W,
}

impl<W: Bits> Rule<W> {
    /// The rules of a code.
    pub(crate) fn of<R: Ruleset<Bits = W>>() -> Self {
        Self {
            field: Field::of::<R>(),
            captures: capture_squares::<R>,
        }
    }
}

/// Decodes the rows of a chunk up to one of them, that one included.
pub(crate) struct DecodeChunk<'a, W> {
    pub(crate) decoder: &'a SliceDecoder,
    pub(crate) rule: &'a Rule<W>,
    /// Those of the chunk.
    pub(crate) bytes: &'a [u8],
    /// The number of the chunk, and of the last row.
    pub(crate) place: (u64, u16),
    pub(crate) out: &'a mut Rows,
}

impl<W: Bits> Hot for DecodeChunk<'_, W> {
    #[inline(always)]
    fn run_anywhere(self) {
        let Self {
            decoder,
            rule,
            bytes,
            place: (chunk, last),
            out,
        } = self;
        // What is off one board may be a square of another.
        if out.board != Some(decoder.geometry) {
            *out.bytes = Spread::new();
            out.board = Some(decoder.geometry);
        }
        let Rows {
            rows,
            bytes: spread,
            ..
        } = out;
        rows.prepare::<W>();
        let mut rows = DecodeRows {
            decoder,
            rule,
            pad: Pad::of(decoder.geometry),
            start: Planes::filled(decoder.start),
            coder: Decoder::new(bytes),
            rows,
            bytes: spread,
        };
        let tile = decoder.layout.tile::<W>(chunk);
        tile.walk(&rule.field, last, &mut rows);
        out.filled = (usize::from(last) + 1).min(decoder.layout.rows());
    }
}

/// Decodes one row after the other.
struct DecodeRows<'a, W> {
    decoder: &'a SliceDecoder,
    rule: &'a Rule<W>,
    pad: &'a Pad,
    start: Planes<W>,
    coder: Decoder<'a>,
    rows: &'a mut RowBuffer,
    bytes: &'a mut Spread,
}

impl<W: Bits> RowVisitor<W> for DecodeRows<'_, W> {
    #[inline(always)]
    fn row(&mut self, row: &Row<W>) {
        let lookup = &self.decoder.lookup;
        let reference = Reference::predict(self.rows, row, self.start);
        let mut now = reference.predicted;
        if !row.squares.is_empty() {
            let flag = lookup.flag(reference.flag);
            if read_flag(&mut self.coder, flag) != 0 {
                let vector = self.decoder.layout.shape().vector;
                let captures = (self.rule.captures)(&row.board(), vector, self.decoder.side);
                let coded = row.squares & !captures;
                reference.outer(self.pad, self.bytes);
                let mut any = 0;
                for s in coded.squares() {
                    let i = self.pad.at(s);
                    let outer = self.bytes.outer(i);
                    let leaf = lookup.leaf(outer, self.bytes.inner(i) | any);
                    let differs = read_value(&mut self.coder, leaf) ^ predicted(outer);
                    if differs != 0 {
                        // Guessed like the decision, so that the next one need not wait.
                        cold_path();
                        self.bytes.note(i, self.pad);
                        any = ANY;
                        now.change(s, differs);
                    }
                }
            }
        }
        self.rows.set(row.place, now, now != reference.predicted);
    }
}

/// Puts decoded rows into index order.
struct CopyRows<'a, W> {
    vector: Kind,
    index: &'a Index<W>,
    rows: &'a RowBuffer,
    out: &'a mut WldArray,
}

impl<W: Bits> RowVisitor<W> for CopyRows<'_, W> {
    #[inline(always)]
    fn row(&mut self, row: &Row<W>) {
        let values = self.rows.get::<W>(row.place + 1);
        for_each_index(
            self.index,
            self.vector,
            &row.board(),
            row.squares,
            |s, i| {
                let value = Wld::from_bits(values.get(s)).unwrap_or(Wld::Draw);
                self.out.set(i, value);
            },
        );
    }
}

/// Reads a flag: 0 for a copy.
#[inline(always)]
pub(crate) fn read_flag(coder: &mut Decoder<'_>, leaf: Leaf) -> u8 {
    let hit = leaf.hit();
    if hit == 65536 || coder.read(hit) {
        leaf.first()
    } else {
        leaf.second()
    }
}

#[inline(always)]
pub(crate) fn read_value(coder: &mut Decoder<'_>, leaf: Leaf) -> u8 {
    let hit = leaf.hit();
    if hit == 65536 || coder.read(hit) {
        return leaf.first();
    }
    cold_path();
    if leaf.second_hit().is_none_or(|p| coder.read(p)) {
        leaf.second()
    } else {
        leaf.third()
    }
}

/// Calls `f(square, index)` for the positions of a row with the vector on `squares`.
#[inline(always)]
pub(crate) fn for_each_index<W: Bits>(
    index: &Index<W>,
    vector: Kind,
    board: &Board<W>,
    squares: W,
    mut f: impl FnMut(u8, u64),
) {
    if squares.is_empty() {
        return;
    }
    let full = |s: u8| {
        let mut b = *board;
        *vector.set_mut(&mut b) |= W::bit(s);
        index.index(&b)
    };
    if !vector.king {
        squares.squares().for_each(|s| f(s, full(s)));
        return;
    }
    // The vector is the lowest king of its kind: its rank is the number of free squares below it,
    // and one step on that count changes the index by a constant, up to the next white king if
    // the vector is black.
    let men = board.men[0] | board.men[1];
    let (taken, step, breaks) = match vector.side {
        Side::White => (men | board.kings[1], 1, W::EMPTY),
        Side::Black => (men, index.white_kings, board.kings[0]),
    };
    let mut known = false;
    let mut i = 0;
    let from = squares.first();
    let walked = !taken & !W::below(from) & (W::below(squares.last()) | W::bit(squares.last()));
    for s in walked.squares() {
        known &= !breaks.has(s);
        if squares.has(s) {
            if !known {
                i = full(s);
                known = true;
            }
            f(s, i);
        }
        i = i.wrapping_add(step);
    }
}
