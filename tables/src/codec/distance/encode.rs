//! From the values of the slices of a table to their models, directories and chunks.

use std::sync::atomic::{AtomicBool, Ordering};

use dambase_rules::{Bits, Rules, Ruleset, Side};
use rayon::prelude::*;

use super::decode::{Frame, SliceDecoder};
use super::key::{self, MOST};
use super::model::{Lookup, Model, Start, Trees};
use super::rows::{
    CLASS_BITS, CLASS_TABLES, FLAG_BITS, Line, NUMBER_BITS, NUMBER_TABLES, Port, RowBuffer,
};
use super::sums::{self, Sample};
use super::train::{Learner, train};
use crate::codec::Coding;
use crate::codec::context::Encoded;
use crate::codec::context::coder::Encoder;
use crate::codec::context::decode::{Rule, for_each_index};
use crate::codec::context::directory::{self, GROUP, Group};
use crate::codec::context::encode::{parts, trios};
use crate::codec::context::layout::{Kind, Layout, Row, RowVisitor, Shape};
use crate::codec::context::rows::Pad;
use crate::index::Index;
use crate::material::Material;
use crate::narrow::{to_u8, to_usize};

/// The values of one slice.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    /// How they become symbols.
    pub(crate) coding: Coding,
    /// The symbol at an index.
    pub(crate) symbol: &'a (dyn Fn(u64) -> u16 + Sync),
}

/// Most positions, about, from which the probabilities of a slice are learned.
const LEARNED: u64 = 1 << 20;
/// Positions looked at to judge a plan: a 24th of the slice between these bounds.
const JUDGED: [u64; 2] = [6_000, 20_000];
/// Chunks looked at, about, however large they are.
const SEEN: u64 = 8;

/// The choices of a table: one shape, and which slice, by its number, depends on the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    shape: Shape,
    dependent: Option<usize>,
}

/// The slices of a table, encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Coded {
    /// In the order of [`Material::sides`]; nothing for those that need no encoding.
    pub(crate) slices: Vec<Option<Encoded>>,
    /// Whether one of two depends on the other, so that only both together can be stored.
    pub(crate) linked: bool,
}

/// Encodes the slices of `material`, in the order of [`Material::sides`]; those given as nothing
/// need no encoding. Work is spread over the rayon pool in which this is called; the result does
/// not depend on it. Nothing if the material cannot be laid out or addressed or a distance is too
/// long.
pub(crate) fn encode<R: Ruleset>(
    material: Material,
    inputs: &[Option<Input<'_>>],
) -> Option<Coded> {
    let source = Source::new::<R>(material, inputs)?;
    let plan = source.choose()?;
    let slices = source.encode(plan)?;
    let linked = plan.dependent.is_some();
    (!source.too_long.load(Ordering::Relaxed)).then_some(Coded { slices, linked })
}

/// The most frequent class of a sample, and the mean numbers.
fn start(input: Input<'_>, positions: u64) -> Start {
    let mut counts = [0_u64; 3];
    let mut sums = [0_u64; 3];
    let step = (positions / 10_007).max(1) | 1;
    let mut i = 0;
    while i < positions {
        let k = key::of_symbol(input.coding, (input.symbol)(i)).unwrap_or(0);
        counts[usize::from(key::class(k))] += 1;
        sums[usize::from(key::class(k))] += u64::from(key::number(k));
        i += step;
    }
    let mean = |class: usize| {
        let mean = sums[class] / counts[class].max(1);
        u16::try_from(mean).map_or(MOST, |mean| mean.min(MOST))
    };
    let most = (0..3_u8).rev().max_by_key(|&v| counts[usize::from(v)]);
    Start {
        class: most.unwrap_or(0),
        numbers: [mean(1), mean(2)],
    }
}

/// A table that is to be encoded.
struct Source<'a, W> {
    rules: &'a Rules,
    rule: Rule<W>,
    index: Index<W>,
    inputs: &'a [Option<Input<'a>>],
    sides: &'a [Side],
    starts: Vec<Option<Start>>,
    /// Whether a number was met that no key holds.
    too_long: AtomicBool,
}

impl<'a, W: Bits> Source<'a, W> {
    fn new<R: Ruleset<Bits = W>>(
        material: Material,
        inputs: &'a [Option<Input<'a>>],
    ) -> Option<Self> {
        let index = Index::new(R::RULES.geometry, material).ok()?;
        let positions = index.positions();
        let start = |input: &Option<Input<'_>>| input.map(|input| start(input, positions));
        Some(Self {
            rules: &R::RULES,
            rule: Rule::of::<R>(),
            index,
            inputs,
            sides: material.sides(),
            starts: inputs.iter().map(start).collect(),
            too_long: AtomicBool::new(false),
        })
    }

    /// The key of a position of a slice.
    #[inline(always)]
    fn key(&self, input: &Input<'_>, index: u64) -> u16 {
        key::of_symbol(input.coding, (input.symbol)(index)).unwrap_or_else(|| {
            self.too_long.store(true, Ordering::Relaxed);
            0
        })
    }

    fn frame(&self, slice: usize, layout: &Layout, dependent: bool) -> Option<Frame> {
        let coding = self.inputs[slice]?.coding;
        let side = self.sides[slice];
        let start = self.starts[slice]?;
        Some(Frame::new(
            self.rules,
            side,
            coding,
            layout.clone(),
            start,
            dependent,
        ))
    }

    /// Goes through a chunk as the decoder will.
    fn visit(
        &self,
        frame: &Frame,
        slice: usize,
        chunk: u64,
        rows: &mut [RowBuffer; 2],
        sink: &mut impl Sink,
    ) {
        let layout = &frame.layout;
        let tile = layout.tile::<W>(chunk);
        let Some(input) = &self.inputs[slice] else {
            return;
        };
        if !tile.may_exist(&self.rule.field) {
            return;
        }
        let [own, other] = rows;
        if frame.depends()
            && let Some(input) = &self.inputs[1 - slice]
        {
            other.prepare(layout.rows());
            let mut load = Load {
                source: self,
                input,
                side: self.sides[1 - slice],
                vector: layout.shape().vector,
                rows: other,
            };
            tile.walk(&self.rule.field, u16::MAX, &mut load);
        }
        let mut port = Writing {
            source: self,
            input,
            vector: layout.shape().vector,
            sink,
        };
        frame.code(&self.rule, (chunk, u16::MAX), other, own, &mut port);
    }

    /// Chooses the pieces and what depends on what by the size of a sample, then the parts.
    fn choose(&self) -> Option<Plan> {
        let material = self.index.material();
        let geometry = self.rules.geometry;
        let band = 2 * to_u8(geometry.per_row());
        let both = self.inputs.len() == 2 && self.inputs.iter().all(Option::is_some);
        let mut plans = Vec::new();
        for (vector, fast, second) in trios(&material) {
            let shape = Shape {
                vector,
                fast,
                second,
                fast_part: if second.is_some() { band } else { 2 * band },
                second_part: if second.is_some() { 2 } else { 1 },
            };
            let dependent: &[_] = if both { &[Some(1), Some(0)] } else { &[None] };
            plans.extend(dependent.iter().map(|&dependent| Plan { shape, dependent }));
        }
        let plan = self.best(plans, |a, b| a.bits < b.bits)?;
        let mut plans = Vec::new();
        let squares = to_u8(geometry.squares());
        for (fast_part, second_part) in parts(band, squares, plan.shape.second.is_some()) {
            let shape = Shape {
                fast_part,
                second_part,
                ..plan.shape
            };
            if shape.rows() <= MOST_ROWS {
                plans.push(Plan { shape, ..plan });
            }
        }
        let limit = MOST_NS[usize::from(plan.dependent.is_some())];
        let better = |a: &Cost, b: &Cost| match (a.nanoseconds <= limit, b.nanoseconds <= limit) {
            (true, true) => a.bits < b.bits,
            (a_fits, b_fits) if a_fits != b_fits => a_fits,
            _ => a.nanoseconds < b.nanoseconds,
        };
        self.best(plans, better)
    }

    /// The best of several plans.
    fn best(&self, plans: Vec<Plan>, better: impl Fn(&Cost, &Cost) -> bool) -> Option<Plan> {
        let costs: Vec<Option<(Cost, Plan)>> = plans
            .into_par_iter()
            .map(|plan| Some((self.judge(plan)?, plan)))
            .collect();
        let mut best: Option<(Cost, Plan)> = None;
        for (cost, plan) in costs.into_iter().flatten() {
            if best.as_ref().is_none_or(|b| better(&cost, &b.0)) {
                best = Some((cost, plan));
            }
        }
        best.map(|b| b.1)
    }

    /// What a plan costs, by a sample.
    fn judge(&self, plan: Plan) -> Option<Cost> {
        let layout = Layout::new(self.rules.geometry, self.index.material(), plan.shape).ok()?;
        let positions = self.index.positions();
        let judged = (positions / 24).clamp(JUDGED[0], JUDGED[1]);
        // An odd step, so that all parts of the board are met, and some chunks even if they are large.
        let step = (positions / judged).min(layout.chunks() / SEEN) | 1;
        let mut all = Cost::default();
        for slice in 0..self.inputs.len() {
            if self.inputs[slice].is_none() {
                continue;
            }
            let frame = self.frame(slice, &layout, plan.dependent == Some(slice))?;
            let mut judge = Judge::new();
            let mut rows = [RowBuffer::new(), RowBuffer::new()];
            for chunk in (0..layout.chunks()).step_by(to_usize(step)) {
                self.visit(&frame, slice, chunk, &mut rows, &mut judge);
                judge.end_chunk();
            }
            if judge.positions == 0 {
                return None;
            }
            let positions = judge.positions as f64;
            all.bits += judge.bits / positions;
            all.nanoseconds += judge.nanoseconds / positions;
        }
        Some(all)
    }

    /// The decisions of every `step`th chunk.
    fn sample(&self, frame: &Frame, slice: usize, step: u64) -> Samples {
        let threads = rayon::current_num_threads() as u64;
        let chunks = frame.layout.chunks().div_ceil(step);
        let each = chunks.div_ceil(threads);
        (0..threads)
            .into_par_iter()
            .map(|t| {
                let mut samples = Samples::default();
                let mut rows = [RowBuffer::new(), RowBuffer::new()];
                for k in t * each..((t + 1) * each).min(chunks) {
                    self.visit(frame, slice, k * step, &mut rows, &mut samples);
                }
                samples
            })
            .reduce_with(Samples::add)
            .unwrap_or_default()
    }

    fn encode(&self, plan: Plan) -> Option<Vec<Option<Encoded>>> {
        (0..self.inputs.len())
            .map(|slice| match self.inputs[slice] {
                Some(_) => self
                    .encode_slice(plan.shape, slice, plan.dependent == Some(slice))
                    .map(Some),
                None => Some(None),
            })
            .collect()
    }

    fn encode_slice(&self, shape: Shape, slice: usize, dependent: bool) -> Option<Encoded> {
        let material = self.index.material();
        let layout = Layout::new(self.rules.geometry, material, shape).ok()?;
        let frame = self.frame(slice, &layout, dependent)?;
        let step = self.index.positions().div_ceil(LEARNED) | 1;
        let trees = self.sample(&frame, slice, step).trees(1.0 / step as f64);
        let model = Model {
            shape,
            dependent,
            start: self.starts[slice]?,
            trees,
        };
        let coding = self.inputs[slice]?.coding;
        let decoder = SliceDecoder::with(self.rules, self.sides[slice], coding, layout, &model);
        let chunks = decoder.layout().chunks();
        let groups: Vec<Group> = (0..chunks.div_ceil(GROUP))
            .into_par_iter()
            .map_init(
                || [RowBuffer::new(), RowBuffer::new()],
                |rows, g| {
                    let group = g * GROUP..((g + 1) * GROUP).min(chunks);
                    let encoded = group.map(|chunk| {
                        let mut bytes = Bytes {
                            lookup: decoder.lookup(),
                            encoder: Encoder::new(),
                        };
                        self.visit(decoder.frame(), slice, chunk, rows, &mut bytes);
                        bytes.encoder.finish()
                    });
                    Group::new(&encoded.collect::<Vec<_>>())
                },
            )
            .collect();
        Some(Encoded {
            model: model.write(),
            directory: directory::directory(&groups)?,
            groups: groups.into_iter().flat_map(|g| g.bytes).collect(),
            captures: 0,
        })
    }
}

/// What a plan costs.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Bits for each position, summed over the slices.
    bits: f64,
    /// Estimated time to decode the chunk of a random position, summed over the slices.
    nanoseconds: f64,
}

/// Most rows of a chunk.
const MOST_ROWS: usize = 512;
/// Most time that the chunk of a random position may take, by the estimate: of slices that stand
/// alone, and of two of which one depends on the other.
const MOST_NS: [f64; 2] = [27_500.0, 47_500.0];
/// Estimated times, ns: a chunk, a row that exists, one of its squares, a decision.
const CHUNK_NS: f64 = 500.0;
const ROW_NS: f64 = 250.0;
const SQUARE_NS: f64 = 4.0;
const DECISION_NS: f64 = 25.0;
/// Bits that a chunk costs beside its decisions.
const CHUNK_BITS: f64 = 16.0;

/// Takes the keys of the other side's rows from the values.
struct Load<'a, 'b, W> {
    source: &'a Source<'b, W>,
    input: &'a Input<'b>,
    side: Side,
    vector: Kind,
    rows: &'a mut RowBuffer,
}

impl<W: Bits> RowVisitor<W> for Load<'_, '_, W> {
    fn row(&mut self, row: &Row<W>) {
        let known =
            row.squares & !(self.source.rule.captures)(&row.board(), self.vector, self.side);
        let pad = Pad::of(self.source.rules.geometry);
        let line = self.rows.line_mut(row.place + 1);
        for_each_index(
            &self.source.index,
            self.vector,
            &row.board(),
            known,
            |s, i| {
                line.0[usize::from(pad.at(s))] = self.source.key(self.input, i);
            },
        );
    }
}

/// What is done with the decisions of a chunk.
trait Sink {
    fn row(&mut self, _squares: u32) {}
    fn flag(&mut self, context: u16, copy: bool);
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool);
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool);
    fn bit(&mut self, yes: bool);
}

/// Takes outcomes from the values.
struct Writing<'a, 'b, W, S> {
    source: &'a Source<'b, W>,
    input: &'a Input<'b>,
    vector: Kind,
    sink: &'a mut S,
}

impl<W: Bits, S: Sink> Port<W> for Writing<'_, '_, W, S> {
    const READS: bool = false;
    #[inline(always)]
    fn fetch(&mut self, row: &Row<W>, coded: W, line: &mut Line) {
        self.sink.row(row.squares.count());
        let pad = Pad::of(self.source.rules.geometry);
        for_each_index(
            &self.source.index,
            self.vector,
            &row.board(),
            coded,
            |s, i| {
                line.0[usize::from(pad.at(s))] = self.source.key(self.input, i);
            },
        );
    }
    #[inline(always)]
    fn flag(&mut self, context: u16, copy: bool) -> bool {
        self.sink.flag(context, copy);
        copy
    }
    #[inline(always)]
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool) -> bool {
        self.sink.class(contexts, decision, yes);
        yes
    }
    #[inline(always)]
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool) -> bool {
        self.sink.number(contexts, decision, yes);
        yes
    }
    #[inline(always)]
    fn bit(&mut self, yes: bool) -> bool {
        self.sink.bit(yes);
        yes
    }
}

/// The decisions met.
#[derive(Debug, Default)]
struct Samples {
    flags: Vec<Sample<1>>,
    classes: Vec<Sample<CLASS_TABLES>>,
    numbers: Vec<Sample<NUMBER_TABLES>>,
}

impl Samples {
    fn add(mut self, mut other: Self) -> Self {
        self.flags.append(&mut other.flags);
        self.classes.append(&mut other.classes);
        self.numbers.append(&mut other.numbers);
        self
    }
    /// The trees for a slice of which a share was sampled.
    fn trees(self, share: f64) -> Trees {
        Trees {
            flags: train(&self.flags, FLAG_BITS, share),
            classes: train(&self.classes, CLASS_BITS, share),
            numbers: train(&self.numbers, NUMBER_BITS, share),
        }
    }
}

/// Contexts with a decision.
#[inline(always)]
fn sample<const G: usize>(contexts: &[u16; G], decision: u16, yes: bool) -> Sample<G> {
    let mut contexts = *contexts;
    for context in &mut contexts {
        *context |= decision;
    }
    Sample { contexts, yes }
}

impl Sink for Samples {
    #[inline(always)]
    fn flag(&mut self, context: u16, copy: bool) {
        self.flags.push(sample(&[context], 0, copy));
    }
    #[inline(always)]
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool) {
        self.classes.push(sample(contexts, decision, yes));
    }
    #[inline(always)]
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool) {
        self.numbers.push(sample(contexts, decision, yes));
    }
    fn bit(&mut self, _yes: bool) {}
}

/// Adds up what decisions cost with probabilities that are learned on the way.
struct Judge {
    flags: Learner<1>,
    classes: Learner<CLASS_TABLES>,
    numbers: Learner<NUMBER_TABLES>,
    bits: f64,
    positions: u64,
    /// Times to decode the chunks of the positions, summed.
    nanoseconds: f64,
    /// Of the chunk at hand: rows, positions, decisions.
    chunk: [u64; 3],
}

impl Judge {
    fn new() -> Self {
        Self {
            flags: Learner::new(FLAG_BITS),
            classes: Learner::new(CLASS_BITS),
            numbers: Learner::new(NUMBER_BITS),
            bits: 0.0,
            positions: 0,
            nanoseconds: 0.0,
            chunk: [0; 3],
        }
    }
    /// Closes the accounts of a chunk.
    fn end_chunk(&mut self) {
        let [rows, positions, decisions] = std::mem::take(&mut self.chunk);
        if rows > 0 {
            let time = CHUNK_NS
                + rows as f64 * ROW_NS
                + positions as f64 * SQUARE_NS
                + decisions as f64 * DECISION_NS;
            self.bits += CHUNK_BITS;
            self.positions += positions;
            self.nanoseconds += positions as f64 * time;
        }
    }
}

impl Sink for Judge {
    fn row(&mut self, squares: u32) {
        self.chunk[0] += 1;
        self.chunk[1] += u64::from(squares);
    }
    fn flag(&mut self, context: u16, copy: bool) {
        self.bits += self.flags.learn(&[context], 0, copy);
        self.chunk[2] += 1;
    }
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool) {
        self.bits += self.classes.learn(contexts, decision, yes);
        self.chunk[2] += 1;
    }
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool) {
        self.bits += self.numbers.learn(contexts, decision, yes);
        self.chunk[2] += 1;
    }
    fn bit(&mut self, _yes: bool) {
        self.bits += 1.0;
    }
}

/// Codes a chunk.
struct Bytes<'a> {
    lookup: &'a Lookup,
    encoder: Encoder,
}

impl Bytes<'_> {
    #[inline(always)]
    fn put(&mut self, sum: i16, yes: bool) {
        let (expected, hit) = sums::odds(sum);
        self.encoder.code(yes == expected, hit);
    }
}

impl Sink for Bytes<'_> {
    #[inline(always)]
    fn flag(&mut self, context: u16, copy: bool) {
        self.put(self.lookup.flags.sum(&[context], 0), copy);
    }
    #[inline(always)]
    fn class(&mut self, contexts: &[u16; CLASS_TABLES], decision: u16, yes: bool) {
        self.put(self.lookup.classes.sum(contexts, decision), yes);
    }
    #[inline(always)]
    fn number(&mut self, contexts: &[u16; NUMBER_TABLES], decision: u16, yes: bool) {
        self.put(self.lookup.numbers.sum(contexts, decision), yes);
    }
    #[inline(always)]
    fn bit(&mut self, yes: bool) {
        self.encoder.code(yes, 1 << 15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::distance::{DecodeChunk, Rows};
    use crate::cpu::Hot;
    use dambase_rules::{Variant, WithRuleset};

    /// Decodes all chunks with the best copy of the code and with the one for every processor.
    struct BothWays(Material, Option<usize>);

    impl WithRuleset for BothWays {
        type Output = ();
        fn run<R: Ruleset>(self) {
            let Self(material, dependent) = self;
            let symbol = |i: u64| {
                let noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let far = if noise.is_multiple_of(19) {
                    noise
                } else {
                    i / 37
                };
                (far % 251) as u16
            };
            let input = Some(Input {
                coding: Coding::CodeWide,
                symbol: &symbol,
            });
            let inputs = [input, input];
            let source = Source::new::<R>(material, &inputs).unwrap();
            let plan = Plan {
                dependent,
                ..source.choose().unwrap()
            };
            let slices = source.encode(plan).unwrap();
            let decoders = [0, 1].map(|k| {
                let e = slices[k].as_ref().unwrap();
                let coding = Coding::CodeWide;
                SliceDecoder::new(&R::RULES, material, Side::BOTH[k], coding, &e.model).unwrap()
            });
            let (mut best, mut portable) = (Rows::new(), Rows::new());
            for k in 0..2 {
                let decoder = &decoders[k];
                assert_eq!(decoder.depends(), dependent == Some(k));
                for chunk in 0..decoder.layout().chunks() {
                    let bytes = |k: usize| {
                        let e = slices[k].as_ref().unwrap();
                        directory::find(&e.directory, &e.groups, chunk).unwrap()
                    };
                    let other = (&decoders[1 - k], bytes(1 - k));
                    let last = [u16::MAX, 2][usize::from(chunk % 5 == 0)];
                    let code = |out| DecodeChunk {
                        decoder,
                        rule: &source.rule,
                        bytes: bytes(k),
                        other: decoder.depends().then_some(other),
                        place: (chunk, last),
                        out,
                    };
                    code(&mut best).run();
                    code(&mut portable).run_anywhere();
                    let name = (R::VARIANT, material, k, chunk);
                    assert_eq!(decoder.keep(&best), decoder.keep(&portable), "{name:?}");
                }
            }
        }
    }

    /// Whatever the processor can do, rows come out the same.
    #[test]
    fn all_ways_of_decoding_agree() {
        for variant in [
            Variant::English,
            Variant::International,
            Variant::Canadian,
            Variant::Turkish,
        ] {
            for dependent in [None, Some(1)] {
                for material in ["KvM", "KMvK"] {
                    variant.with(BothWays(material.parse().unwrap(), dependent));
                }
            }
        }
    }
}
