//! From the bytes of a chunk to the keys of its rows.

use dambase_rules::{Bits, Geometry, Rules, Side};

use super::hints::Hints;
use super::key;
use super::model::{Lookup, Model, Start};
use super::rows::{CLASS_TABLES, CodeRows, Line, NUMBER_TABLES, Other, Port, RowBuffer};
use super::sums;
use crate::codec::context::coder::Decoder;
use crate::codec::context::decode::{BadChunk, Rule, for_each_index};
use crate::codec::context::layout::{Kind, Layout, Row, RowVisitor};
use crate::codec::context::rows::Pad;
use crate::codec::{Coding, byte};
use crate::cpu::Hot;
use crate::index::Index;
use crate::material::Material;
use crate::narrow::to_u8;

/// The decoded rows of one chunk, reusable without new allocation.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    own: RowBuffer,
    /// Those of the other side, where the slice depends on them.
    other: RowBuffer,
    /// How many are decoded.
    filled: usize,
}

impl Rows {
    /// No rows yet.
    pub(crate) fn new() -> Self {
        Self {
            own: RowBuffer::new(),
            other: RowBuffer::new(),
            filled: 0,
        }
    }
}

/// The symbols of rows that are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// One byte each.
    Narrow(Box<[u8]>),
    /// Two bytes each.
    Wide(Box<[u16]>),
}

impl Kept {
    /// The symbol at a [`Layout::offset`].
    #[inline(always)]
    pub(crate) fn symbol(&self, offset: u32) -> u16 {
        match self {
            Self::Narrow(all) => all[offset as usize].into(),
            Self::Wide(all) => all[offset as usize],
        }
    }
    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(all) => size_of_val(&**all),
            Self::Wide(all) => size_of_val(&**all),
        }
    }
}

/// What coding a slice has to know, whatever is coded.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    geometry: Geometry,
    side: Side,
    pub(super) layout: Layout,
    start: (Start, Line),
    /// Nothing if the slice does not depend on the other one.
    hints: Option<Hints>,
}

impl Frame {
    /// Of the slice with `side` to move.
    pub(super) fn new(
        rules: &Rules,
        side: Side,
        coding: Coding,
        layout: Layout,
        start: Start,
        dependent: bool,
    ) -> Self {
        let vector = layout.shape().vector;
        Self {
            geometry: rules.geometry,
            side,
            layout,
            start: (start, start.line(rules.geometry)),
            hints: dependent.then(|| Hints::new(rules, vector, side, coding)),
        }
    }

    /// Whether it is coded with the other side's rows.
    pub(super) const fn depends(&self) -> bool {
        self.hints.is_some()
    }

    /// Goes through the rows of a chunk up to `last`. `other` has those of the other side.
    #[inline(always)]
    pub(super) fn code<W: Bits, P: Port<W>>(
        &self,
        rule: &Rule<W>,
        (chunk, last): (u64, u16),
        other: &RowBuffer,
        rows: &mut RowBuffer,
        port: &mut P,
    ) {
        rows.prepare(self.layout.rows());
        let vector = self.layout.shape().vector;
        let stored =
            |row: &Row<W>, side| row.squares & !(rule.captures)(&row.board(), vector, side);
        let known = |row: &Row<W>| stored(row, self.side.other());
        let mut code = CodeRows {
            pad: Pad::of(self.geometry),
            start: &self.start,
            own: vector.side == self.side,
            other: self.hints.as_ref().map(|hints| Other {
                rows: other,
                hints,
                known: &known,
            }),
            coded: &|row| stored(row, self.side),
            rows,
            port,
        };
        let tile = self.layout.tile::<W>(chunk);
        tile.walk(&rule.field, last, &mut code);
    }
}

/// What is needed to find and decode the chunks of one slice.
#[derive(Clone, Debug)]
pub(crate) struct SliceDecoder {
    frame: Frame,
    coding: Coding,
    lookup: Lookup,
}

impl SliceDecoder {
    /// Reads the model of the slice of `material` with `side` to move.
    pub(crate) fn new(
        rules: &Rules,
        material: Material,
        side: Side,
        coding: Coding,
        model: &[u8],
    ) -> Result<Self, BadChunk> {
        let model = Model::read(model).ok_or(BadChunk("a senseless model"))?;
        let layout = Layout::new(rules.geometry, material, model.shape)
            .map_err(|_| BadChunk("a model of another material"))?;
        Ok(Self::with(rules, side, coding, layout, &model))
    }

    pub(super) fn with(
        rules: &Rules,
        side: Side,
        coding: Coding,
        layout: Layout,
        model: &Model,
    ) -> Self {
        Self {
            frame: Frame::new(rules, side, coding, layout, model.start, model.dependent),
            coding,
            lookup: Lookup::new(&model.trees),
        }
    }

    /// The numbering of chunks and rows.
    pub(crate) const fn layout(&self) -> &Layout {
        &self.frame.layout
    }
    pub(super) const fn frame(&self) -> &Frame {
        &self.frame
    }
    pub(super) const fn lookup(&self) -> &Lookup {
        &self.lookup
    }
    /// Whether the slice with the other side to move must be decoded first.
    pub(crate) const fn depends(&self) -> bool {
        self.frame.depends()
    }
    /// Whether `other` can be what this slice depends on.
    pub(crate) fn may_depend_on(&self, other: &Self) -> bool {
        !other.depends() && self.layout().shape() == other.layout().shape()
    }
    fn reader<'a>(&'a self, bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            coder: Decoder::new(bytes),
            lookup: &self.lookup,
        }
    }

    /// The decoded rows, to be kept, and how many values these are.
    pub(crate) fn keep(&self, rows: &Rows) -> (Kept, u32) {
        let pad = Pad::of(self.frame.geometry);
        let offsets = self.layout().offsets(rows.filled);
        let width = self.layout().offsets(1) as usize;
        let mut symbols = vec![0_u16; offsets as usize];
        for (number, out) in (1..).zip(symbols.chunks_exact_mut(width)) {
            let line = rows.own.line(number);
            for (s, out) in (0..to_u8(self.frame.geometry.squares())).zip(out) {
                *out = key::symbol(self.coding, line.0[usize::from(pad.at(s))]);
            }
        }
        let kept = if self.coding == self.coding.wide() && self.coding != Coding::Rule {
            Kept::Wide(symbols.into_boxed_slice())
        } else {
            Kept::Narrow(symbols.iter().map(|&s| byte(s)).collect())
        };
        (kept, offsets)
    }

    /// Calls `f(index, symbol)` for all positions of a decoded chunk.
    pub(crate) fn for_each<W: Bits>(
        &self,
        rule: &Rule<W>,
        index: &Index<W>,
        chunk: u64,
        rows: &Rows,
        f: impl FnMut(u64, u16),
    ) {
        let mut visit = EachPosition {
            vector: self.layout().shape().vector,
            coding: self.coding,
            pad: Pad::of(self.frame.geometry),
            index,
            rows: &rows.own,
            f,
        };
        let tile = self.layout().tile::<W>(chunk);
        tile.walk(&rule.field, u16::MAX, &mut visit);
    }
}

/// Decodes the rows of a chunk up to one of them, that one included.
pub(crate) struct DecodeChunk<'a, W> {
    pub(crate) decoder: &'a SliceDecoder,
    pub(crate) rule: &'a Rule<W>,
    /// Those of the chunk.
    pub(crate) bytes: &'a [u8],
    /// The slice it depends on, and the bytes of the same chunk there.
    pub(crate) other: Option<(&'a SliceDecoder, &'a [u8])>,
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
            other,
            place,
            out,
        } = self;
        let Rows {
            own,
            other: rows,
            filled,
        } = out;
        let count = decoder.layout().rows();
        if let Some((other, bytes)) = other {
            let mut reader = other.reader(bytes);
            let none = RowBuffer::new();
            other.frame.code(rule, place, &none, rows, &mut reader);
        } else {
            rows.prepare(count);
        }
        let mut reader = decoder.reader(bytes);
        decoder.frame.code(rule, place, rows, own, &mut reader);
        *filled = (usize::from(place.1) + 1).min(count);
    }
}

struct EachPosition<'a, W, F> {
    vector: Kind,
    coding: Coding,
    pad: &'a Pad,
    index: &'a Index<W>,
    rows: &'a RowBuffer,
    f: F,
}

impl<W: Bits, F: FnMut(u64, u16)> RowVisitor<W> for EachPosition<'_, W, F> {
    #[inline(always)]
    fn row(&mut self, row: &Row<W>) {
        let line = self.rows.line(row.place + 1);
        for_each_index(
            self.index,
            self.vector,
            &row.board(),
            row.squares,
            |s, i| {
                (self.f)(
                    i,
                    key::symbol(self.coding, line.0[usize::from(self.pad.at(s))]),
                );
            },
        );
    }
}

/// Reads decisions.
struct Reader<'a> {
    coder: Decoder<'a>,
    lookup: &'a Lookup,
}

impl Reader<'_> {
    /// A decision of which the odds are known.
    #[inline(always)]
    fn read(&mut self, sum: i16) -> bool {
        let (expected, hit) = sums::odds(sum);
        self.coder.read(hit) == expected
    }
}

impl<W: Bits> Port<W> for Reader<'_> {
    const READS: bool = true;
    #[inline(always)]
    fn fetch(&mut self, _row: &Row<W>, _coded: W, _line: &mut Line) {}
    #[inline(always)]
    fn flag(&mut self, context: u16, _copy: bool) -> bool {
        self.read(self.lookup.flags.sum(&[context], 0))
    }
    #[inline(always)]
    fn no_class_contexts(&self) -> bool {
        self.lookup.classes.constant()
    }
    #[inline(always)]
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, _yes: bool) -> bool {
        self.read(self.lookup.classes.sum(contexts, decision))
    }
    #[inline(always)]
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, _yes: bool) -> bool {
        self.read(self.lookup.numbers.sum(contexts, decision))
    }
    #[inline(always)]
    fn bit(&mut self, _yes: bool) -> bool {
        self.coder.read(1 << 15)
    }
}
