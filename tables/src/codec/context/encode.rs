//! From the values of a slice to its model, directory and chunks.

use dambase_rules::{Bits, Geometry, Ruleset, Side};
use rayon::prelude::*;

use super::coder::Encoder;
use super::decode::{Model, Rule, SliceDecoder, for_each_index};
use super::directory::{self, GROUP, Group};
use super::layout::{Kind, Layout, Row, RowVisitor, Shape};
use super::model::{CONTEXT_BITS, Counts, Grower, Leaf, Lookup, Probabilities, Question};
use super::rows::{self, ANY, ERROR_BITS, FLAG_BITS, Pad, Planes, Reference, RowBuffer, Spread};
use crate::index::Index;
use crate::material::Material;
use crate::narrow::{to_u8, to_u16, to_u32, to_usize};
use crate::value::WldArray;

/// What the shape of a slice is chosen for.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most rows of a chunk.
    pub rows: usize,
    /// Most time that decoding the whole chunk of a random position may take, by the encoder's
    /// own estimate, ns.
    pub nanoseconds: f64,
}

impl Limits {
    /// Chunks that are small altogether, for what is not looked up.
    #[must_use]
    pub const fn archive() -> Self {
        Self {
            rows: 1024,
            nanoseconds: f64::INFINITY,
        }
    }
    /// Chunks small enough for random access on a board. On those of 32 squares smaller ones
    /// cost too many bytes.
    #[must_use]
    pub const fn runtime(geometry: Geometry) -> Self {
        match geometry {
            Geometry::Diagonal8 | Geometry::Mirrored8 => Self {
                rows: 128,
                nanoseconds: 5040.0,
            },
            _ => Self {
                rows: 512,
                nanoseconds: 2500.0,
            },
        }
    }
}

/// The encoded form of one slice: the three sections of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// Shape and probabilities.
    pub model: Vec<u8>,
    /// Where the groups of chunks are.
    pub directory: Vec<u8>,
    /// The groups.
    pub groups: Vec<u8>,
    /// Positions in which the side to move must capture, which are not stored; 0 from the distance
    /// codec, whose caller knows them.
    pub captures: u64,
}

impl Encoded {
    /// Bytes of everything.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.model.len() + self.directory.len() + self.groups.len()) as u64
    }
}

/// Chunks in the unit of parallel counting.
const BATCH: u64 = 256;
/// Most positions counted for the probabilities of a slice.
const COUNTED: u64 = 1 << 26;
/// Positions counted to judge a shape: at least so many, a sixteenth of the slice, at most so many.
const JUDGED: [u64; 2] = [60_000, 160_000];

/// Encodes the slice of `material` with `side` to move. Work is spread over the rayon pool in
/// which it is called; the result does not depend on it. Nothing if the slice cannot be laid out
/// or addressed.
#[must_use]
pub fn encode<R: Ruleset>(
    material: Material,
    side: Side,
    values: &WldArray,
    limits: Limits,
) -> Option<Encoded> {
    let source = source::<R>(material, side, values)?;
    let shape = choose_shape(&source, limits)?;
    encode_with(&source, shape)
}

/// As [`encode`], with a given shape.
#[must_use]
pub fn encode_shaped<R: Ruleset>(
    material: Material,
    side: Side,
    values: &WldArray,
    shape: Shape,
) -> Option<Encoded> {
    let source = source::<R>(material, side, values)?;
    encode_with(&source, shape)
}

fn source<R: Ruleset>(
    material: Material,
    side: Side,
    values: &WldArray,
) -> Option<Source<'_, R::Bits>> {
    Some(Source {
        rule: Rule::of::<R>(),
        geometry: R::RULES.geometry,
        index: Index::new(R::RULES.geometry, material).ok()?,
        side,
        values,
        start: most_frequent(values),
    })
}

/// The value that most of a sample have.
fn most_frequent(values: &WldArray) -> u8 {
    let mut counts = [0_u32; 3];
    let step = (values.len() / 10_007).max(1) | 1;
    let mut i = 0;
    while i < values.len() {
        counts[values.get(i) as usize] += 1;
        i += step;
    }
    // The lowest of the most frequent ones.
    (0..3_u8)
        .rev()
        .max_by_key(|&v| counts[usize::from(v)])
        .unwrap_or(0)
}

/// A slice that is to be encoded.
struct Source<'a, W> {
    rule: Rule<W>,
    geometry: Geometry,
    index: Index<W>,
    side: Side,
    values: &'a WldArray,
    start: u8,
}

/// What is done with the decisions of a chunk.
trait Sink {
    fn flag(&mut self, context: usize, copy: bool);
    fn value(&mut self, context: usize, value: u8);
    fn row(&mut self, _squares: u32, _captures: u32) {}
}

impl<W: Bits> Source<'_, W> {
    /// Goes through a chunk as the decoder will.
    fn visit(
        &self,
        layout: &Layout,
        chunk: u64,
        rows: &mut RowBuffer,
        bytes: &mut Spread,
        sink: &mut impl Sink,
    ) {
        let tile = layout.tile::<W>(chunk);
        if !tile.may_exist(&self.rule.field) {
            return;
        }
        rows.prepare::<W>();
        let mut visit = VisitRows {
            source: self,
            vector: layout.shape().vector,
            pad: Pad::of(self.geometry),
            start: Planes::filled(self.start),
            rows,
            bytes,
            sink,
        };
        tile.walk(&self.rule.field, u16::MAX, &mut visit);
    }

    /// Counts the contexts of every `step`th chunk, in this thread.
    fn count_here(&self, layout: &Layout, step: u64, h: &mut Histogram) {
        let (mut rows, mut bytes) = (RowBuffer::new(), Spread::new());
        for chunk in (0..layout.chunks()).step_by(to_usize(step)) {
            self.visit(layout, chunk, &mut rows, &mut bytes, h);
            h.end_chunk(layout.rows());
        }
    }

    /// Counts the contexts of every `step`th chunk.
    fn count(&self, layout: &Layout, step: u64) -> Histogram {
        let counted = layout.chunks().div_ceil(step);
        (0..counted.div_ceil(BATCH))
            .into_par_iter()
            .fold(Histogram::new, |mut h, batch| {
                let (mut rows, mut bytes) = (RowBuffer::new(), Spread::new());
                for k in batch * BATCH..((batch + 1) * BATCH).min(counted) {
                    self.visit(layout, k * step, &mut rows, &mut bytes, &mut h);
                }
                h
            })
            .reduce(Histogram::new, Histogram::add)
    }
}

/// Takes one row after the other from the values.
struct VisitRows<'a, W, S> {
    source: &'a Source<'a, W>,
    vector: Kind,
    pad: &'a Pad,
    start: Planes<W>,
    rows: &'a mut RowBuffer,
    bytes: &'a mut Spread,
    sink: &'a mut S,
}

impl<W: Bits, S: Sink> RowVisitor<W> for VisitRows<'_, W, S> {
    #[inline(always)]
    fn row(&mut self, row: &Row<W>) {
        let source = self.source;
        let reference = Reference::predict(self.rows, row, self.start);
        let predicted = reference.predicted;
        let mut now = predicted;
        if !row.squares.is_empty() {
            let captures = (source.rule.captures)(&row.board(), self.vector, source.side);
            let coded = row.squares & !captures;
            let squares = row.squares.count();
            self.sink.row(squares, squares - coded.count());
            for_each_index(&source.index, self.vector, &row.board(), coded, |s, i| {
                now.change(s, predicted.get(s) ^ source.values.get(i) as u8);
            });
            let copy = now == predicted;
            self.sink.flag(reference.flag, copy);
            if !copy {
                reference.outer(self.pad, self.bytes);
                let mut any = 0;
                for s in coded.squares() {
                    let i = self.pad.at(s);
                    let outer = self.bytes.outer(i);
                    let inner = self.bytes.inner(i) | any;
                    let value = now.get(s);
                    let context = usize::from(outer) << ERROR_BITS | usize::from(inner);
                    self.sink.value(context, value);
                    if value != rows::predicted(outer) {
                        self.bytes.note(i, self.pad);
                        any = ANY;
                    }
                }
            }
        }
        self.rows.set(row.place, now, now != predicted);
    }
}

/// How often contexts and values occur.
struct Histogram {
    /// By context of a flag: copies, other rows, nothing.
    flags: Vec<Counts>,
    values: Vec<Counts>,
    positions: u64,
    /// Of the chunk at hand: rows that exist, their positions, rows not copied, squares coded, and
    /// those of them that are other than predicted.
    chunk: [u64; 5],
    /// Chunks with a row that exists.
    chunks: u64,
    /// Estimated time to decode the chunk of a position, summed over the positions, ns.
    nanoseconds: f64,
}

impl Histogram {
    fn new() -> Self {
        Self {
            flags: vec![[0; 3]; 1 << FLAG_BITS],
            values: vec![[0; 3]; 1 << CONTEXT_BITS],
            positions: 0,
            chunk: [0; 5],
            chunks: 0,
            nanoseconds: 0.0,
        }
    }
    /// Closes the accounts of a chunk of so many rows.
    fn end_chunk(&mut self, all_rows: usize) {
        let [rows, positions, others, coded, surprises] = std::mem::take(&mut self.chunk);
        if rows > 0 {
            let time = CHUNK_NS
                + all_rows as f64 * NO_ROW_NS
                + rows as f64 * ROW_NS
                + others as f64 * OTHER_NS
                + coded as f64 * SQUARE_NS
                + surprises as f64 * SURPRISE_NS;
            self.chunks += 1;
            self.positions += positions;
            self.nanoseconds += positions as f64 * time;
        }
    }
    fn add(mut self, other: Self) -> Self {
        let all = self.flags.iter_mut().chain(&mut self.values);
        for (a, b) in all.zip(other.flags.iter().chain(&other.values)) {
            *a = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        }
        self
    }
    /// The contexts of squares that occur.
    fn entries(&self) -> Vec<(u32, Counts)> {
        entries(&self.values)
    }
    /// The contexts of flags that occur.
    fn flag_entries(&self) -> Vec<(u32, Counts)> {
        entries(&self.flags)
    }
}

pub(crate) fn entries(counts: &[Counts]) -> Vec<(u32, Counts)> {
    let occurs = |(_, c): &(usize, &Counts)| **c != [0; 3];
    let all = counts.iter().enumerate().filter(occurs);
    all.map(|(i, c)| (to_u32(i), *c)).collect()
}

impl Sink for Histogram {
    #[inline(always)]
    fn flag(&mut self, context: usize, copy: bool) {
        self.flags[context][usize::from(!copy)] += 1;
        self.chunk[2] += u64::from(!copy);
    }
    #[inline(always)]
    fn value(&mut self, context: usize, value: u8) {
        self.values[context][usize::from(value)] += 1;
        self.chunk[3] += 1;
        let predicted = rows::predicted(to_u16(context >> ERROR_BITS));
        self.chunk[4] += u64::from(value != predicted);
    }
    #[inline(always)]
    fn row(&mut self, squares: u32, _captures: u32) {
        self.chunk[0] += 1;
        self.chunk[1] += u64::from(squares);
    }
}

/// Codes a chunk.
struct Coder<'a> {
    lookup: &'a Lookup,
    encoder: Encoder,
    /// Positions that are not coded.
    captures: u64,
}

impl Sink for Coder<'_> {
    #[inline(always)]
    fn flag(&mut self, context: usize, copy: bool) {
        self.encoder.flag(self.lookup.flag(context), copy);
    }
    #[inline(always)]
    fn value(&mut self, context: usize, value: u8) {
        let outer = to_u16(context >> ERROR_BITS);
        let leaf = self.lookup.leaf(outer, to_u8(context % (1 << ERROR_BITS)));
        self.encoder.value(leaf, value);
    }
    #[inline(always)]
    fn row(&mut self, _squares: u32, captures: u32) {
        self.captures += u64::from(captures);
    }
}

impl Encoder {
    /// Codes whether a row is a copy.
    #[inline(always)]
    pub(crate) fn flag(&mut self, leaf: Leaf, copy: bool) {
        let expected = u8::from(!copy) == leaf.first();
        if leaf.hit() == 65536 {
            assert!(expected, "a flag that was never counted");
        } else {
            self.code(expected, leaf.hit());
        }
    }
    /// Codes a value of three.
    #[inline(always)]
    pub(crate) fn value(&mut self, leaf: Leaf, value: u8) {
        let first = value == leaf.first();
        if leaf.hit() == 65536 {
            assert!(first, "a value that was never counted");
            return;
        }
        self.code(first, leaf.hit());
        if first {
            return;
        }
        let second = value == leaf.second();
        match leaf.second_hit() {
            Some(p) => self.code(second, p),
            None => assert!(second, "a value that was never counted"),
        }
    }
}

fn encode_with<W: Bits>(source: &Source<'_, W>, shape: Shape) -> Option<Encoded> {
    let geometry = source.geometry;
    let material = source.index.material();
    let layout = Layout::new(geometry, material, shape).ok()?;
    let step = source.index.positions().div_ceil(COUNTED);
    let histogram = source.count(&layout, step);
    let grower = Grower {
        share: 1.0 / step as f64,
        exact: step == 1,
    };
    let (flags, _) = grower.grow(&mut histogram.flag_entries(), Question::Copy);
    let (tree, _) = grower.grow(&mut histogram.entries(), Question::Value);
    let model = Model {
        shape,
        start: source.start,
        probabilities: Probabilities { flags, tree },
    };
    let decoder = SliceDecoder::with(geometry, source.side, layout, &model);
    let layout = decoder.layout();
    let groups: Vec<(Group, u64)> = (0..layout.chunks().div_ceil(GROUP))
        .into_par_iter()
        .map_init(
            || (RowBuffer::new(), Spread::new()),
            |(rows, bytes), g| {
                let mut captures = 0;
                let chunks: Vec<Vec<u8>> = (g * GROUP..((g + 1) * GROUP).min(layout.chunks()))
                    .map(|chunk| {
                        let mut coder = Coder {
                            lookup: decoder.lookup(),
                            encoder: Encoder::new(),
                            captures: 0,
                        };
                        source.visit(layout, chunk, rows, bytes, &mut coder);
                        captures += coder.captures;
                        coder.encoder.finish()
                    })
                    .collect();
                (Group::new(&chunks), captures)
            },
        )
        .collect();
    let captures = groups.iter().map(|g| g.1).sum();
    let groups: Vec<Group> = groups.into_iter().map(|g| g.0).collect();
    Some(Encoded {
        model: model.write(),
        directory: directory::directory(&groups)?,
        groups: groups.into_iter().flat_map(|g| g.bytes).collect(),
        captures,
    })
}

/// What a shape costs, found on a sample.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Bits for each position.
    bits: f64,
    /// Estimated time to decode the chunk of a random position, ns.
    nanoseconds: f64,
}

fn judge<W: Bits>(source: &Source<'_, W>, shape: Shape) -> Option<Cost> {
    let layout = Layout::new(source.geometry, source.index.material(), shape).ok()?;
    let chunks = layout.chunks();
    let positions = source.index.positions();
    // An odd step, so that all parts of the board are met.
    let judged = (positions / 16).clamp(JUDGED[0], JUDGED[1]);
    let step = (positions / judged).clamp(1, chunks.max(1)) | 1;
    let mut histogram = Histogram::new();
    source.count_here(&layout, step, &mut histogram);
    let grower = Grower {
        share: (histogram.positions as f64 / positions as f64).max(1e-9),
        exact: true,
    };
    let (_, values) = grower.grow(&mut histogram.entries(), Question::Value);
    let (_, flags) = grower.grow(&mut histogram.flag_entries(), Question::Copy);
    // What a chunk costs beside its contents: its bit, its length, the end of the coder.
    let seen = chunks.div_ceil(step) as f64;
    let bits = values + flags + seen * 2.0 + histogram.chunks as f64 * 14.0;
    let counted = histogram.positions.max(1) as f64;
    Some(Cost {
        bits: bits / counted,
        nanoseconds: histogram.nanoseconds / counted,
    })
}

/// Estimated times of decoding, ns: a chunk, a row that does not exist, one that does in
/// addition, one that is not copied in addition, a coded square, one that is other than predicted
/// in addition.
const CHUNK_NS: f64 = 300.0;
const NO_ROW_NS: f64 = 5.0;
const ROW_NS: f64 = 13.0;
const OTHER_NS: f64 = 50.0;
const SQUARE_NS: f64 = 5.0;
const SURPRISE_NS: f64 = 15.0;

/// Tries the shapes that make sense and takes the smallest that decodes fast enough.
fn choose_shape<W: Bits>(source: &Source<'_, W>, limits: Limits) -> Option<Shape> {
    let material = source.index.material();
    let band = 2 * to_u8(source.geometry.per_row());
    let squares = to_u8(source.geometry.squares());
    let better = |a: &Option<(Cost, Shape)>, cost: Cost| {
        a.is_none_or(|(best, _)| {
            let fits = |c: Cost| c.nanoseconds <= limits.nanoseconds;
            match (fits(best), fits(cost)) {
                (true, false) => false,
                (false, true) => true,
                (true, true) => cost.bits < best.bits,
                (false, false) => cost.nanoseconds < best.nanoseconds,
            }
        })
    };
    let judged = |shapes: Vec<Shape>| -> Vec<(Cost, Shape)> {
        shapes
            .into_par_iter()
            .filter_map(|shape| Some((judge(source, shape)?, shape)))
            .collect()
    };
    let shapes = trios(&material)
        .into_iter()
        .map(|(vector, fast, second)| Shape {
            vector,
            fast,
            second,
            fast_part: if second.is_some() { band } else { squares },
            second_part: if second.is_some() { 4 } else { 1 },
        });
    let mut pieces: Option<(Cost, Shape)> = None;
    for (cost, shape) in judged(shapes.collect()) {
        if pieces.is_none_or(|(best, _)| cost.bits < best.bits) {
            pieces = Some((cost, shape));
        }
    }
    let (_, trio) = pieces?;
    let shapes = parts(band, squares, trio.second.is_some())
        .into_iter()
        .map(|(fast_part, second_part)| Shape {
            fast_part,
            second_part,
            ..trio
        })
        .filter(|shape| shape.rows() <= limits.rows);
    let mut best: Option<(Cost, Shape)> = None;
    for (cost, shape) in judged(shapes.collect()) {
        if better(&best, cost) {
            best = Some((cost, shape));
        }
    }
    best.map(|(_, shape)| shape)
}

/// Vector, fast and second piece: kings first; a second piece wherever there is one.
pub(crate) fn trios(material: &Material) -> Vec<(Kind, Kind, Option<Kind>)> {
    let count = |k: Kind| k.count(material);
    let kings = material.kings[0] + material.kings[1];
    let mut out = Vec::new();
    for vector in Kind::ALL {
        // A king if there is one.
        if count(vector) == 0 || (kings > 0 && !vector.king) {
            continue;
        }
        for fast in Kind::ALL {
            let left = count(fast) - u8::from(fast == vector).min(count(fast));
            if left == 0 || (kings > 1 && !fast.king) {
                continue;
            }
            let mut any = false;
            for second in Kind::ALL {
                let used = u8::from(second == vector) + u8::from(second == fast);
                if count(second) > used {
                    any = true;
                    out.push((vector, fast, Some(second)));
                }
            }
            if !any {
                out.push((vector, fast, None));
            }
        }
    }
    out
}

/// Sizes of the two parts.
pub(crate) fn parts(band: u8, squares: u8, second: bool) -> Vec<(u8, u8)> {
    if !second {
        return vec![(band, 1), (2 * band, 1), (squares, 1)];
    }
    vec![
        (band / 2, 4),
        (band, 2),
        (band, 4),
        (band, band / 2),
        (band, band),
        (2 * band, 2),
        (2 * band, 4),
        (2 * band, band),
        (squares, 2),
        (squares, 4),
        (squares, band),
        (2 * band, 2 * band),
        (squares, 2 * band),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::context::Rows;
    use crate::codec::context::decode::DecodeChunk;
    use crate::cpu::Hot;
    use crate::value::Wld;
    use dambase_rules::marker;

    /// Whatever the processor can do, rows come out the same.
    #[test]
    fn all_ways_of_decoding_agree() {
        type R = marker::International;
        let material: Material = "KMvK".parse().unwrap();
        let index = Index::<u64>::new(R::RULES.geometry, material).unwrap();
        let mut values = WldArray::new(index.positions());
        for i in 0..values.len() {
            let v = (i / 37 + i.wrapping_mul(0x9e37_79b9) / 400_000_000 % 2) % 3;
            values.set(i, Wld::from_bits(v as u8).unwrap());
        }
        let limits = Limits::runtime(R::RULES.geometry);
        let e = encode::<R>(material, Side::White, &values, limits).unwrap();
        let d = SliceDecoder::new(R::RULES.geometry, material, Side::White, &e.model).unwrap();
        let (mut a, mut b) = (Rows::new(), Rows::new());
        let last = d.layout().rows() as u16 - 1;
        for chunk in 0..d.layout().chunks() {
            d.decode::<R>(&e.directory, &e.groups, chunk, last, &mut a)
                .unwrap();
            DecodeChunk {
                decoder: &d,
                rule: &Rule::of::<R>(),
                bytes: directory::find(&e.directory, &e.groups, chunk).unwrap(),
                place: (chunk, last),
                out: &mut b,
            }
            .run_anywhere();
            if a.uniform().is_none() {
                assert_eq!(d.keep(&a), d.keep(&b));
                continue;
            }
            for (row, square) in (0..=last).zip((0..50).cycle()) {
                assert_eq!(d.value(&a, row, square), d.value(&b, row, square));
            }
        }
    }
}
