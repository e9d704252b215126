//! Writing tables.

mod archive;
mod slice;

use std::ops::Range;
use std::path::Path;

use dambase_rules::{Bits, Rules, Ruleset, Side, movegen, position};
use rayon::prelude::*;

use crate::codec::{self, Coding, Packing, TableBuilder, context, distance};
use crate::error::{Error, Result};
use crate::format::Metric;
use crate::format::header::{Codec, Header, Longest, NoRuns, Section, SliceHeader, SliceStats};
use crate::kingrun::RunIndex;
use crate::material::Material;
use crate::narrow::{to_u8, to_u16, to_usize};
use crate::needs::{NeedsArray, NeedsList};
use crate::output::Output;
use crate::reader::Table;
use crate::rule::DtzArray;
use crate::value::{Dtw, DtwArray, Wld, WldArray};

pub use archive::write_archive;

/// How a table is written. Work is spread over the rayon pool in which the writer is called; the
/// bytes of the file do not depend on it.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Every value was proved from its successors.
    pub verified: bool,
    /// The table was built from tables that were not verified.
    pub on_unverified: bool,
    /// The Frisian king run is part of the positions.
    pub king_run: bool,
    /// Version of the program that built the values; at most 32 bytes are kept.
    pub generator: String,
    /// Version of the program that verified them; at most 32 bytes are kept.
    pub verifier: String,
    /// The fingerprint of the draw limits; 0 for WLD and DTW.
    pub limits_hash: u64,
    /// How values are compressed: [`Codec::Raw`], [`Codec::Zstd`], [`Codec::Context`] or
    /// [`Codec::Distance`]. [`Codec::Context`] means the smaller of it and zstd for win, loss and
    /// draw, and the smaller of the distance codec and zstd for distances; [`Codec::Distance`] that
    /// codec for distances, else zstd. Tables with king runs or several clocks have zstd with any of these.
    /// Slices of one value become [`Codec::Constant`] whatever it is.
    pub codec: Codec,
    /// The level of zstd, 1 to 22; 0 for the usual one, which is lower for large slices.
    pub level: i32,
    /// Whether dictionaries are tried.
    pub dictionary: bool,
    /// Positions in a block, a power of two and at least 4; nothing for the usual size.
    pub block_positions: Option<u32>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            verified: false,
            on_unverified: false,
            king_run: false,
            generator: concat!("dambase ", env!("CARGO_PKG_VERSION")).to_owned(),
            verifier: String::new(),
            limits_hash: 0,
            codec: Codec::Context,
            level: 0,
            dictionary: true,
            block_positions: None,
        }
    }
}

/// True values of one slice.
trait Values: Sync {
    fn len(&self) -> u64;
    /// Appends the [`Value::code`](crate::Value::code)s of a range of indices, without distances
    /// as if these were 0; or the [`RuleValue::code`](crate::RuleValue::code)s.
    fn codes(&self, range: Range<u64>, out: &mut Vec<u16>);
    /// The array itself, where there are no distances.
    fn wld(&self) -> Option<&WldArray> {
        None
    }
    /// Of values where several clocks run at once: what positions need. The codes are symbols then.
    fn needs(&self) -> Option<&NeedsList> {
        None
    }
    /// The one of an index.
    fn code(&self, index: u64) -> u16;
}

impl Values for WldArray {
    fn len(&self) -> u64 {
        Self::len(self)
    }
    fn codes(&self, range: Range<u64>, out: &mut Vec<u16>) {
        out.extend(range.map(|i| self.get(i) as u16));
    }
    fn wld(&self) -> Option<&WldArray> {
        Some(self)
    }
    fn code(&self, index: u64) -> u16 {
        self.get(index) as u16
    }
}

impl Values for DtwArray {
    fn len(&self) -> u64 {
        Self::len(self)
    }
    fn codes(&self, range: Range<u64>, out: &mut Vec<u16>) {
        out.extend_from_slice(&self.codes[in_memory(&range)]);
    }
    fn code(&self, index: u64) -> u16 {
        self.codes[to_usize(index)]
    }
}

impl Values for DtzArray {
    fn len(&self) -> u64 {
        Self::len(self)
    }
    fn codes(&self, range: Range<u64>, out: &mut Vec<u16>) {
        let codes = &self.codes[in_memory(&range)];
        out.extend(codes.iter().map(|&c| u16::from(c)));
    }
    fn code(&self, index: u64) -> u16 {
        self.codes[to_usize(index)].into()
    }
}

impl Values for (&NeedsArray, &NeedsList) {
    fn len(&self) -> u64 {
        self.0.symbols.len() as u64
    }
    fn codes(&self, range: Range<u64>, out: &mut Vec<u16>) {
        out.extend_from_slice(&self.0.symbols[in_memory(&range)]);
    }
    fn code(&self, index: u64) -> u16 {
        self.0.symbols[to_usize(index)]
    }
    fn needs(&self) -> Option<&NeedsList> {
        Some(self.1)
    }
}

/// Writes a WLD table. `slices` has the true values of all positions, captures included, in the
/// order of [`Material::sides`]; captures and decided positions are not kept in the file.
///
/// # Errors
/// [`Error::Input`] if slices and material do not fit; [`Error::TooLarge`]; [`Error::Io`]. No
/// file is left behind then, and one that was there before stays.
pub fn write_wld<R: Ruleset>(
    path: impl AsRef<Path>,
    material: Material,
    slices: &[&WldArray],
    options: &WriteOptions,
) -> Result<Header> {
    let values: Vec<&dyn Values> = slices.iter().map(|&s| s as &dyn Values).collect();
    let contexts = |slice: usize| {
        let (side, values) = (material.sides()[slice], slices[slice]);
        let limits = context::Limits::runtime(R::RULES.geometry);
        context::encode::<R>(material, side, values, limits)
    };
    write::<R>(
        path.as_ref(),
        material,
        Metric::Wld,
        &values,
        &contexts,
        options,
    )
}

/// Writes a DTW table; as [`write_wld`].
///
/// # Errors
/// As [`write_wld`]; [`Error::Input`] also for distances that the rules do not allow.
pub fn write_dtw<R: Ruleset>(
    path: impl AsRef<Path>,
    material: Material,
    slices: &[&DtwArray],
    options: &WriteOptions,
) -> Result<Header> {
    let slices: Vec<&dyn Values> = slices.iter().map(|&s| s as &dyn Values).collect();
    write::<R>(
        path.as_ref(),
        material,
        Metric::Dtw,
        &slices,
        &|_| None,
        options,
    )
}

/// Writes a table of values under the draw limits, the fingerprint of which is in `options`; as
/// [`write_wld`].
///
/// # Errors
/// As [`write_wld`].
pub fn write_dtz<R: Ruleset>(
    path: impl AsRef<Path>,
    material: Material,
    slices: &[&DtzArray],
    options: &WriteOptions,
) -> Result<Header> {
    let slices: Vec<&dyn Values> = slices.iter().map(|&s| s as &dyn Values).collect();
    write::<R>(
        path.as_ref(),
        material,
        Metric::Dtz,
        &slices,
        &|_| None,
        options,
    )
}

/// Writes a table of values under the draw limits of a material in which several clocks run at once,
/// with all lists of what positions need; as [`write_dtz`].
///
/// # Errors
/// As [`write_wld`]; [`Error::Input`] also for more lists than a table can have.
pub fn write_needs<R: Ruleset>(
    path: impl AsRef<Path>,
    material: Material,
    slices: &[&NeedsArray],
    list: &NeedsList,
    options: &WriteOptions,
) -> Result<Header> {
    if list.len() > NeedsList::MOST {
        return Err(Error::Input {
            material,
            what: "more than 32765 different lists of what positions need of their clocks",
        });
    }
    let slices: Vec<_> = slices.iter().map(|&s| (s, list)).collect();
    let slices: Vec<&dyn Values> = slices.iter().map(|s| s as &dyn Values).collect();
    write::<R>(
        path.as_ref(),
        material,
        Metric::Dtz,
        &slices,
        &|_| None,
        options,
    )
}

/// Writes down that a table was verified, and by what. The file is replaced as a whole; its values
/// are copied, not checked.
///
/// # Errors
/// What [`Table::open`] refuses; [`Error::Io`].
pub fn mark_verified(path: impl AsRef<Path>, verifier: &str) -> Result<Header> {
    let path = path.as_ref();
    let table = Table::open(path)?;
    let mut header = table.header().clone();
    header.verified = true;
    verifier.clone_into(&mut header.verifier);
    let bytes = header.to_bytes();
    let header = Header::parse(path, &bytes, header.file_bytes)?;
    let mut out = Output::create(path)?;
    out.write(&bytes)?;
    out.write(&table.raw()[Header::BYTES..])?;
    out.finish()?;
    Ok(header)
}

/// Positions in a block of a WLD table.
const WLD_BLOCK: u32 = 16384;
/// Positions in a block of a table with distances.
const DTW_BLOCK: u32 = 8192;
/// Blocks that are compressed before the next are written: enough to keep all threads at work.
const WAVE: u64 = 1024;
/// The level of zstd for slices of at most [`LARGE`] positions, and for larger ones and those with
/// king runs: a quarter to an eighth of the time for 4 to 13 % more bytes.
const LEVELS: [i32; 2] = [19, 12];
/// Positions of a slice above which time counts more than size.
const LARGE: u64 = 1 << 22;
/// Positions looked at in one go when the coding is chosen.
const CHUNK: u64 = 1 << 16;
/// Most blocks a dictionary is trained and judged on.
const SAMPLES: u64 = 512;
/// Blocks looked at first, to see whether a dictionary is worth the question.
const FEW_SAMPLES: u64 = 32;
/// The level of zstd for that look.
const QUICK_LEVEL: i32 = 3;
/// Bytes of a dictionary.
const DICTIONARY: usize = 16 << 10;

/// What must be known of a position beside its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its value is stored.
    Stored,
    /// The side to move must capture.
    Capture,
    /// The game is over by the material.
    Decided,
}

fn kind(capture: bool) -> Kind {
    if capture { Kind::Capture } else { Kind::Stored }
}

/// Appends the kinds of the positions of a range of indices.
type Kinds<'a> = dyn Fn(Side, Range<u64>, &mut Vec<Kind>) + Sync + 'a;

/// Encodes a slice, given by its number, with the context codec; nothing where that is impossible.
type Contexts<'a> = dyn Fn(usize) -> Option<context::Encoded> + Sync + 'a;

/// The codecs that depend on the code of draughts.
struct Codecs<'a> {
    contexts: &'a Contexts<'a>,
    /// Encodes all slices with the distance codec; nothing where that is impossible.
    distances: &'a (dyn Fn(&[Option<distance::Input<'_>>]) -> Option<distance::Coded> + Sync),
}

/// The part of writing that depends on the code of draughts.
fn write<R: Ruleset>(
    path: &Path,
    material: Material,
    metric: Metric,
    slices: &[&dyn Values],
    contexts: &Contexts<'_>,
    options: &WriteOptions,
) -> Result<Header> {
    let scope = R::RULES.king_run.filter(|_| options.king_run);
    if options.king_run && scope.is_none() {
        return Err(Error::Input {
            material,
            what: "the code has no king run",
        });
    }
    let index = RunIndex::<R::Bits>::new(R::RULES.geometry, scope, material)?;
    let states = index.run_states();
    let boards = index.boards();
    let decided = boards.positions() > 0 && position::decided::<R>(&boards.board(0)).is_some();
    let kinds = |side: Side, range: Range<u64>, out: &mut Vec<Kind>| {
        if decided {
            let all = to_usize(range.end - range.start);
            return out.extend(std::iter::repeat_n(Kind::Decided, all));
        }
        let placements = range.start / states..range.end.div_ceil(states);
        boards.for_each_lane(placements, |first, rest, piece, lane| {
            if lane.is_empty() {
                out.push(kind(movegen::has_capture::<R>(rest, side)));
                return;
            }
            let captures = context::capture_squares::<R>(rest, piece, side);
            if states == 1 {
                return out.extend(lane.squares().map(|s| kind(captures.has(s))));
            }
            for (i, s) in (first..).zip(lane.squares()) {
                // Captures are forced whatever the runs are.
                let start = range.start.max(i * states);
                let end = range.end.min((i + 1) * states);
                let kind = kind(captures.has(s));
                out.extend(std::iter::repeat_n(kind, to_usize(end - start)));
            }
        });
    };
    let table = Header {
        variant: R::VARIANT,
        material,
        metric,
        rules_hash: R::RULES.fingerprint(),
        limits_hash: options.limits_hash,
        verified: options.verified,
        king_run: options.king_run,
        on_unverified: options.on_unverified,
        generator: options.generator.clone(),
        verifier: options.verifier.clone(),
        file_bytes: 0,
        slices: Vec::new(),
        needs: Section::default(),
    };
    write_table(
        path,
        table,
        &Size {
            positions: index.positions(),
            states,
        },
        slices,
        &kinds,
        &Codecs {
            contexts,
            distances: &|inputs| distance::encode::<R>(material, inputs),
        },
        options,
    )
}

/// How many positions a slice has, and how many of them each placement has.
struct Size {
    positions: u64,
    states: u64,
}

/// Writes the table described by `header`, which gets its slices here.
fn write_table(
    path: &Path,
    mut header: Header,
    size: &Size,
    slices: &[&dyn Values],
    kinds: &Kinds<'_>,
    codecs: &Codecs<'_>,
    options: &WriteOptions,
) -> Result<Header> {
    let material = header.material;
    let input = |what| Error::Input { material, what };
    if !material.is_canonical() || Side::BOTH.iter().any(|&s| material.side(s) == 0) {
        return Err(input(
            "only canonical materials with pieces on both sides are stored",
        ));
    }
    if slices.len() != material.sides().len() {
        return Err(input("wrong number of slices"));
    }
    if slices.iter().any(|s| s.len() != size.positions) {
        return Err(input("a slice has the wrong length"));
    }
    let mut options = options.clone();
    if options.level == 0 {
        let large = size.positions > LARGE || size.states > 1;
        options.level = LEVELS[usize::from(large)];
    }
    let options = &options;
    let mut out = Output::create(path)?;
    out.seek(Header::BYTES as u64)?;
    let mut sources = Vec::new();
    for (&side, &values) in material.sides().iter().zip(slices) {
        let coding = coding(header.variant.rules(), header.metric, values);
        let block_positions = options.block_positions.unwrap_or(match header.metric {
            Metric::Wld => WLD_BLOCK,
            Metric::Dtw | Metric::Dtz => DTW_BLOCK,
        });
        let bytes = coding.packing().bytes(block_positions.into());
        if block_positions < 4 || !block_positions.is_power_of_two() || bytes > 65535 {
            return Err(input(
                "the size of a block must be a power of two, 4 or more, and less than 64 KiB",
            ));
        }
        sources.push(Source {
            material,
            side,
            values,
            kinds,
            no_runs_every: header.king_run.then_some(size.states),
            coding,
            block_positions,
        });
    }
    let chunks = matches!(options.codec, Codec::Context | Codec::Distance);
    if chunks && sources.iter().all(slice::has_distances) {
        header.slices = slice::write_distances(&sources, codecs, options, &mut out)?;
    } else {
        for (k, source) in sources.iter().enumerate() {
            let context = || (codecs.contexts)(k);
            let slice = slice::write(source, &context, options, &mut out)?;
            header.slices.push(slice);
        }
    }
    if let Some(list) = slices[0].needs() {
        let bytes = list.to_bytes();
        header.needs = slice::section(out.position, &bytes);
        out.write(&bytes)?;
    }
    finish(path, header, out)
}

/// Writes the header of a file whose sections are written.
fn finish(path: &Path, mut header: Header, mut out: Output) -> Result<Header> {
    header.file_bytes = out.position;
    out.seek(0)?;
    let bytes = header.to_bytes();
    // What cannot be read again must not be written.
    let header = Header::parse(path, &bytes, header.file_bytes)?;
    out.write(&bytes)?;
    out.finish()?;
    Ok(header)
}

/// The narrowest coding that holds all values.
fn coding(rules: &Rules, metric: Metric, values: &dyn Values) -> Coding {
    match metric {
        Metric::Wld => return Coding::Wld,
        Metric::Dtz if values.needs().is_some() => return Coding::Needs,
        Metric::Dtz => return Coding::Rule,
        Metric::Dtw => {}
    }
    let narrow = Coding::of_distances(rules);
    let most = (0..values.len().div_ceil(CHUNK))
        .into_par_iter()
        .map_init(Vec::new, |codes, c| {
            codes.clear();
            values.codes(c * CHUNK..((c + 1) * CHUNK).min(values.len()), codes);
            let symbols = codes.iter().map(|&c| narrow.symbol(c).unwrap_or(0));
            symbols.max().unwrap_or(0)
        })
        .max();
    if most.unwrap_or(0) < 256 {
        narrow
    } else {
        narrow.wide()
    }
}

/// The values of one slice and how they are to be stored.
struct Source<'a> {
    material: Material,
    side: Side,
    values: &'a dyn Values,
    kinds: &'a Kinds<'a>,
    /// Positions of one placement, the first of which has no pending run; nothing if there are
    /// no runs.
    no_runs_every: Option<u64>,
    coding: Coding,
    block_positions: u32,
}

/// A range of what is in memory.
fn in_memory(range: &Range<u64>) -> Range<usize> {
    to_usize(range.start)..to_usize(range.end)
}

/// A block ready to be compressed.
struct Packed {
    bytes: Vec<u8>,
    surveyed: Surveyed,
}

/// What is found out about a block.
struct Surveyed {
    stats: SliceStats,
    /// The symbol of all values that are stored, and an error where they differ; nothing if none
    /// is stored.
    symbol: Option<std::result::Result<u16, ()>>,
}

impl Source<'_> {
    fn blocks(&self) -> u64 {
        self.values.len().div_ceil(self.block_positions.into())
    }

    fn range(&self, block: u64) -> Range<u64> {
        let start = block * u64::from(self.block_positions);
        start..(start + u64::from(self.block_positions)).min(self.values.len())
    }

    fn kinds(&self, range: Range<u64>) -> Vec<Kind> {
        let mut kinds = Vec::with_capacity(to_usize(range.end - range.start));
        (self.kinds)(self.side, range, &mut kinds);
        kinds
    }

    /// Counts the values of a block of `values`, which are those of the slice, without packing
    /// them.
    fn survey(&self, values: &WldArray, block: u64) -> Surveyed {
        let range = self.range(block);
        let kinds = self.kinds(range.clone());
        let packed = &values.packed()[in_memory(&(range.start / 4..range.end.div_ceil(4)))];
        let [wins, losses] = slice::wins_and_losses(packed);
        let mut seen = 0_u8;
        for (i, kind) in range.clone().zip(&kinds) {
            let stored = u8::from(*kind == Kind::Stored);
            seen |= stored << values.get(i) as u8;
        }
        let positions = range.end - range.start;
        Surveyed {
            stats: SliceStats {
                positions,
                wins,
                losses,
                draws: positions - wins - losses,
                captures: count_of(&kinds, Kind::Capture),
                decided: count_of(&kinds, Kind::Decided),
                ..SliceStats::default()
            },
            symbol: match seen.count_ones() {
                0 => None,
                1 => Some(Ok(to_u16(seen.trailing_zeros() as usize))),
                _ => Some(Err(())),
            },
        }
    }

    /// Counts the values of a block and packs them; captures and decided positions take the value
    /// in front of them.
    fn pack(&self, block: u64) -> Result<Packed> {
        let Range { start, end } = self.range(block);
        let mut symbols = Vec::with_capacity(to_usize(end - start));
        self.values.codes(start..end, &mut symbols);
        let kinds = self.kinds(start..end);

        // Draws, wins, losses, cursed wins, blessed losses.
        let mut counts = [0_u64; 5];
        let mut longest: [Option<(u16, u64)>; 2] = [None; 2];
        let mut no_runs = self.no_runs_every.map(|_| NoRuns::default());
        for (i, &code) in (start..).zip(&symbols) {
            let (value, plies) = match self.values.needs() {
                Some(list) => codec::counted(list.of_symbol(code)),
                None => self.coding.counted(code),
            };
            counts[value] += 1;
            if let (Some(n), Some(every)) = (&mut no_runs, self.no_runs_every)
                && i.is_multiple_of(every)
            {
                n.add(match value {
                    1 => Wld::Win,
                    2 => Wld::Loss,
                    _ => Wld::Draw,
                });
            }
            if (value == 1 || value == 2) && longest[value - 1].is_none_or(|l| plies > l.0) {
                longest[value - 1] = Some((plies, i));
            }
        }
        let stored = |k: &Kind| *k == Kind::Stored;
        let first = kinds.iter().position(stored);
        let symbol = |code| {
            self.coding.symbol(code).ok_or(Error::Input {
                material: self.material,
                what: "the rules allow no win or loss in so many plies",
            })
        };
        let mut previous = first.map_or(Ok(0), |i| symbol(symbols[i]))?;
        for (s, kind) in symbols.iter_mut().zip(&kinds) {
            if *kind == Kind::Stored {
                previous = symbol(*s)?;
            }
            *s = previous;
        }
        let best = |l: Option<(u16, u64)>| {
            l.filter(|_| self.coding != Coding::Wld)
                .map(|(plies, index)| Longest {
                    plies: Dtw(plies),
                    index,
                })
        };
        let bytes = packed(self.coding.packing(), &symbols);
        let symbol = first.map(|_| codec::constant(self.coding.packing(), &bytes).ok_or(()));
        Ok(Packed {
            bytes,
            surveyed: Surveyed {
                symbol,
                stats: SliceStats {
                    positions: end - start,
                    draws: counts[0],
                    wins: counts[1],
                    losses: counts[2],
                    cursed_wins: counts[3],
                    blessed_losses: counts[4],
                    captures: count_of(&kinds, Kind::Capture),
                    decided: count_of(&kinds, Kind::Decided),
                    longest_win: best(longest[0]),
                    longest_loss: best(longest[1]),
                    no_runs,
                },
            },
        })
    }
}

fn count_of(kinds: &[Kind], kind: Kind) -> u64 {
    kinds.iter().filter(|&&k| k == kind).count() as u64
}

fn packed(packing: Packing, symbols: &[u16]) -> Vec<u8> {
    match packing {
        Packing::Bits => symbols
            .chunks(4)
            .map(|four| {
                let bits = |b, (k, &s): (usize, &u16)| b | to_u8(s.into()) << (2 * k);
                let byte = four.iter().enumerate().fold(0, bits);
                // What follows the last value repeats it.
                let last = to_u8(four[four.len() - 1].into());
                (four.len()..4).fold(byte, |b, k| b | last << (2 * k))
            })
            .collect(),
        Packing::Byte => symbols.iter().map(|&s| to_u8(s.into())).collect(),
        Packing::Planes => {
            let low = symbols.iter().map(|&s| (s & 0xff) as u8);
            low.chain(symbols.iter().map(|&s| (s >> 8) as u8)).collect()
        }
    }
}

/// Writes a slice as blocks.
fn slice_of_blocks(
    source: &Source<'_>,
    options: &WriteOptions,
    out: &mut Output,
) -> Result<SliceHeader> {
    let start = out.position;
    let zstd = options.codec != Codec::Raw;
    let dictionary = if zstd && options.dictionary {
        choose_dictionary(source, options.level)?
    } else {
        Vec::new()
    };
    // The block table stands in front of the blocks; its length is known beforehand.
    let table_start = start + dictionary.len() as u64;
    let blocks = source.blocks();
    let blocks_start = table_start + codec::table_bytes(blocks);
    out.seek(blocks_start)?;
    let packing = source.coding.packing();
    let mut survey = slice::Survey::new();
    let mut table = TableBuilder::default();
    for wave in (0..blocks).step_by(to_usize(WAVE)) {
        let encoded: Vec<(Packed, Vec<u8>)> = (wave..(wave + WAVE).min(blocks))
            .into_par_iter()
            .map_init(
                || zstd.then(|| codec::zstd::Encoder::new(options.level, &dictionary)),
                |encoder, block| {
                    let packed = source.pack(block)?;
                    let stored = encode_with(encoder, packing, &packed.bytes);
                    Ok((packed, stored))
                },
            )
            .collect::<Result<_>>()?;
        for (packed, stored) in encoded {
            survey.add(&packed.surveyed);
            table.push(&stored);
            out.write(&stored)?;
        }
    }
    let mut header = survey.header(source, start);
    if survey.constant.is_ok() {
        out.cut(start)?;
        return Ok(header);
    }
    header.codec = if zstd { Codec::Zstd } else { Codec::Raw };
    header.block_positions = source.block_positions;
    header.constant = 0;
    let end = out.position;
    let table = table.finish();
    out.seek(start)?;
    out.write(&dictionary)?;
    out.write(&table)?;
    out.seek(end)?;
    header.model = slice::section(start, &dictionary);
    header.table = slice::section(table_start, &table);
    header.blocks = Section {
        offset: blocks_start,
        bytes: end - blocks_start,
        checksum: 0,
    };
    Ok(header)
}

fn encode_with(
    encoder: &mut Option<codec::zstd::Encoder>,
    packing: Packing,
    packed: &[u8],
) -> Vec<u8> {
    match encoder {
        Some(zstd) => codec::encode(zstd, packing, packed),
        None => codec::encode(&mut codec::Raw, packing, packed),
    }
}

/// Trains a dictionary on blocks spread over the slice; empty if it would not pay for itself.
fn choose_dictionary(source: &Source<'_>, level: i32) -> Result<Vec<u8>> {
    let blocks = source.blocks();
    let packing = source.coding.packing();
    let sample = |samples: u64| -> Result<Vec<Vec<u8>>> {
        (0..samples)
            .into_par_iter()
            .map(|k| source.pack(k * blocks / samples).map(|p| p.bytes))
            .collect()
    };
    let scale = |bytes: u64, samples: u64| slice::scaled(bytes, blocks, samples);
    // A quick look, so that small and simple slices do not pay for the question.
    let few = FEW_SAMPLES;
    if blocks < few {
        return Ok(Vec::new());
    }
    let mut quick = codec::zstd::Encoder::new(QUICK_LEVEL, &[]);
    let looked_at: u64 = sample(few)?
        .iter()
        .map(|p| codec::encode(&mut quick, packing, p).len() as u64)
        .sum();
    if scale(looked_at, few) < 4 * DICTIONARY as u64 {
        return Ok(Vec::new());
    }
    let samples = blocks.min(SAMPLES);
    let packed = sample(samples)?;
    let mixed: Vec<Vec<u8>> = packed
        .into_iter()
        .filter(|p| codec::repeated(packing, p).is_none())
        .collect();
    // Train on one half, judge on the other.
    let (mut trained, mut judged) = (Vec::new(), Vec::new());
    for (k, p) in mixed.into_iter().enumerate() {
        if k % 2 == 0 {
            trained.push(p);
        } else {
            judged.push(p);
        }
    }
    let size = |dictionary: &[u8]| -> u64 {
        judged
            .par_iter()
            .map_init(
                || codec::zstd::Encoder::new(level, dictionary),
                |encoder, p| codec::encode(encoder, packing, p).len() as u64,
            )
            .sum()
    };
    let plain = size(&[]);
    let Some(dictionary) = codec::zstd::train(&trained, DICTIONARY) else {
        return Ok(Vec::new());
    };
    let saved = plain.saturating_sub(size(&dictionary));
    if scale(2 * saved, samples) > dictionary.len() as u64 {
        Ok(dictionary)
    } else {
        Ok(Vec::new())
    }
}
