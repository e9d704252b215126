//! One slice: which codec it gets, and what its header says.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::{Codecs, Packed, Source, Surveyed, WAVE, WriteOptions, slice_of_blocks};
use crate::codec::{self, Coding, context, distance};
use crate::error::{Error, Result};
use crate::format::header::{Codec, Section, SliceHeader, SliceStats};
use crate::narrow::to_usize;
use crate::output::Output;
use crate::value::WldArray;

/// What is found out about a slice while its blocks are packed.
pub(super) struct Survey {
    stats: SliceStats,
    /// The one symbol of all values met so far: nothing before the first, wrong after a second.
    pub(super) constant: std::result::Result<Option<u16>, ()>,
}

impl Survey {
    pub(super) fn new() -> Self {
        Self {
            stats: SliceStats::default(),
            constant: Ok(None),
        }
    }
    /// Adds what the next block says.
    pub(super) fn add(&mut self, block: &Surveyed) {
        self.stats.merge(&block.stats);
        if let Some(symbol) = block.symbol {
            self.constant = match (self.constant, symbol) {
                (Ok(None), Ok(s)) => Ok(Some(s)),
                (Ok(Some(a)), Ok(b)) if a == b => Ok(Some(a)),
                _ => Err(()),
            };
        }
    }
    /// The header of the slice, without sections; constant if all its values are.
    pub(super) fn header(&self, source: &Source<'_>, start: u64) -> SliceHeader {
        let nowhere = Section {
            offset: start,
            ..Section::default()
        };
        SliceHeader {
            side: source.side,
            stats: self.stats,
            codec: Codec::Constant,
            block_positions: 0,
            model: nowhere,
            table: nowhere,
            blocks: nowhere,
            coding: source.coding,
            constant: self.constant.ok().flatten().unwrap_or(0),
        }
    }
}

/// A section of the file and its checksum.
pub(super) fn section(offset: u64, bytes: &[u8]) -> Section {
    Section {
        offset,
        bytes: bytes.len() as u64,
        checksum: if bytes.is_empty() { 0 } else { xxh3_64(bytes) },
    }
}

/// Writes the sections of one slice: those of the context codec where it is wanted, possible and
/// smaller, else blocks.
pub(super) fn write(
    source: &Source<'_>,
    context: &dyn Fn() -> Option<context::Encoded>,
    options: &WriteOptions,
    out: &mut Output,
) -> Result<SliceHeader> {
    let runs = source.no_runs_every.is_some();
    let values = match source.values.wld() {
        Some(values) if options.codec == Codec::Context && !runs => values,
        _ => return slice_of_blocks(source, options, out),
    };
    let start = out.position;
    let mut survey = Survey::new();
    for wave in (0..source.blocks()).step_by(to_usize(WAVE)) {
        let surveyed: Vec<Surveyed> = (wave..(wave + WAVE).min(source.blocks()))
            .into_par_iter()
            .map(|block| source.survey(values, block))
            .collect();
        surveyed.iter().for_each(|s| survey.add(s));
        if survey.constant.is_err() {
            break;
        }
    }
    if survey.constant.is_ok() {
        return Ok(survey.header(source, start));
    }
    match context() {
        Some(encoded) if encoded.bytes() <= blocks_bytes(source, options, JUDGED)? => {
            survey.stats = counted(values, encoded.captures);
            place(&encoded, Codec::Context, survey.header(source, start), out)
        }
        _ => slice_of_blocks(source, options, out),
    }
}

/// Writes the sections of a slice in chunks.
fn place(
    encoded: &context::Encoded,
    codec: Codec,
    mut header: SliceHeader,
    out: &mut Output,
) -> Result<SliceHeader> {
    let mut place = |bytes: &[u8]| {
        let offset = out.position;
        out.write(bytes)?;
        Ok::<_, Error>(section(offset, bytes))
    };
    header.codec = codec;
    header.model = place(&encoded.model)?;
    header.table = place(&encoded.directory)?;
    header.blocks = place(&encoded.groups)?;
    // Groups have checksums of their own.
    header.blocks.checksum = 0;
    Ok(header)
}

/// Writes the sections of all slices of a table with distances: those of the distance codec where
/// it is possible and smaller, else blocks.
pub(super) fn write_distances(
    sources: &[Source<'_>],
    codecs: &Codecs<'_>,
    options: &WriteOptions,
    out: &mut Output,
) -> Result<Vec<SliceHeader>> {
    let surveys: Vec<Survey> = sources.iter().map(survey).collect::<Result<_>>()?;
    let mut encoded = distances(sources, &surveys, codecs, options)?;
    encoded.resize_with(sources.len(), || None);
    let mut headers = Vec::new();
    for ((source, survey), encoded) in sources.iter().zip(&surveys).zip(&encoded) {
        let header = survey.header(source, out.position);
        headers.push(match encoded {
            _ if survey.constant.is_ok() => header,
            Some(encoded) => place(encoded, Codec::Distance, header, out)?,
            None => slice_of_blocks(source, options, out)?,
        });
    }
    Ok(headers)
}

/// Whether the distance codec holds what these values become.
pub(super) fn has_distances(source: &Source<'_>) -> bool {
    !matches!(source.coding, Coding::Wld | Coding::Needs) && source.no_runs_every.is_none()
}

/// What there is to know of a slice with distances before it is encoded.
fn survey(source: &Source<'_>) -> Result<Survey> {
    let mut survey = Survey::new();
    for wave in (0..source.blocks()).step_by(to_usize(WAVE)) {
        let packed: Vec<Packed> = (wave..(wave + WAVE).min(source.blocks()))
            .into_par_iter()
            .map(|block| source.pack(block))
            .collect::<Result<_>>()?;
        packed.iter().for_each(|p| survey.add(&p.surveyed));
    }
    Ok(survey)
}

/// The slices for which the distance codec is to be taken.
fn distances(
    sources: &[Source<'_>],
    surveys: &[Survey],
    codecs: &Codecs<'_>,
    options: &WriteOptions,
) -> Result<Vec<Option<context::Encoded>>> {
    let symbols: Vec<_> = sources
        .iter()
        .map(|s| move |i: u64| s.coding.symbol(s.values.code(i)).unwrap_or(0))
        .collect();
    let inputs: Vec<_> = sources
        .iter()
        .zip(surveys)
        .zip(&symbols)
        .map(|((source, survey), symbol)| {
            survey.constant.is_err().then_some(distance::Input {
                coding: source.coding,
                symbol,
            })
        })
        .collect();
    if inputs.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let Some(coded) = (codecs.distances)(&inputs) else {
        return Ok(Vec::new());
    };
    if options.codec == Codec::Distance {
        return Ok(coded.slices);
    }
    // Under this codec and as blocks, by a few of these at first.
    let sizes = |most: u64| -> Result<Vec<[u64; 2]>> {
        let both = sources.iter().zip(&coded.slices);
        let sizes = both.map(|(source, encoded)| match encoded {
            Some(e) => Ok([e.bytes(), blocks_bytes(source, options, most)?]),
            None => Ok([0, 0]),
        });
        let mut sizes: Vec<[u64; 2]> = sizes.collect::<Result<_>>()?;
        if coded.linked {
            // Both or none.
            let sum = |k: usize| sizes.iter().map(|s| s[k]).sum::<u64>();
            sizes = vec![[sum(0), sum(1)]; sizes.len()];
        }
        Ok(sizes)
    };
    let mut sizes_found = sizes(GLANCED)?;
    let clear = |&[a, b]: &[u64; 2]| 5 * u128::from(a.min(b)) <= 4 * u128::from(a.max(b));
    if !sizes_found.iter().all(clear) {
        sizes_found = sizes(JUDGED)?;
    }
    let kept = |(e, s): (Option<context::Encoded>, &[u64; 2])| e.filter(|_| s[0] <= s[1]);
    Ok(coded
        .slices
        .into_iter()
        .zip(&sizes_found)
        .map(kept)
        .collect())
}

/// The counts of a slice in which no game is over, and of which only captures are not stored.
fn counted(values: &WldArray, captures: u64) -> SliceStats {
    const PART: usize = 1 << 20;
    let parts = values.packed().par_chunks(PART).map(wins_and_losses);
    let [wins, losses] = parts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    SliceStats {
        positions: values.len(),
        wins,
        losses,
        draws: values.len() - wins - losses,
        captures,
        ..SliceStats::default()
    }
}

/// Wins and losses among packed values.
pub(super) fn wins_and_losses(packed: &[u8]) -> [u64; 2] {
    let count = |word: u64| {
        let ones = |bits: u64| u64::from((word & bits).count_ones());
        [ones(0x5555_5555_5555_5555), ones(0xaaaa_aaaa_aaaa_aaaa)]
    };
    let (words, rest) = packed.as_chunks();
    let words = words.iter().map(|&w| u64::from_le_bytes(w));
    let all = words.chain(rest.iter().map(|&b| b.into()));
    all.map(count)
        .fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}

/// Blocks on which the size of a slice under zstd is judged, and those that will do if it turns out
/// to be a quarter more or a fifth less than with the other codec.
const JUDGED: u64 = 24;
const GLANCED: u64 = 6;

/// The bytes that a slice would have as zstd blocks: exact if there are at most so many, else from a
/// sample.
fn blocks_bytes(source: &Source<'_>, options: &WriteOptions, most: u64) -> Result<u64> {
    let blocks = source.blocks();
    let samples = blocks.min(most);
    let packing = source.coding.packing();
    let bytes: u64 = (0..samples)
        .into_par_iter()
        .map_init(
            || codec::zstd::Encoder::new(options.level, &[]),
            |encoder, k| {
                let packed = source.pack(k * blocks / samples)?;
                Ok::<_, Error>(codec::encode(encoder, packing, &packed.bytes).len() as u64)
            },
        )
        .sum::<Result<u64>>()?;
    Ok(codec::table_bytes(blocks) + scaled(bytes, blocks, samples))
}

/// The bytes of all blocks if they are like the samples, which have `bytes`.
pub(super) fn scaled(bytes: u64, blocks: u64, samples: u64) -> u64 {
    let all = u128::from(bytes) * u128::from(blocks) / u128::from(samples);
    u64::try_from(all).unwrap_or(u64::MAX)
}
