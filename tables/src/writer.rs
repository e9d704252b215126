//! Writing tables.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use dambase_rules::{Rules, Ruleset, Side, movegen, position};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{self, Coding, Packing, TableBuilder};
use crate::error::{Error, Result};
use crate::format::Metric;
use crate::format::header::{Codec, Header, Longest, Section, SliceHeader, SliceStats};
use crate::index::Index;
use crate::material::Material;
use crate::value::{Dtw, DtwArray, Value, WldArray};

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
    /// How blocks are compressed, [`Codec::Raw`] or [`Codec::Zstd`]; slices of one value become
    /// [`Codec::Constant`] with either.
    pub codec: Codec,
    /// The level of zstd, 1 to 22.
    pub level: i32,
    /// Whether dictionaries are tried.
    pub dictionary: bool,
    /// Positions in a block, a multiple of 4; nothing for the usual size.
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
            codec: Codec::Zstd,
            level: 19,
            dictionary: true,
            block_positions: None,
        }
    }
}

/// True values of one slice, by index.
trait Values: Sync {
    fn len(&self) -> u64;
    /// The [`Value::code`]; without distances as if these were 0.
    fn code(&self, i: u64) -> u16;
}

impl Values for WldArray {
    fn len(&self) -> u64 {
        Self::len(self)
    }
    #[inline(always)]
    fn code(&self, i: u64) -> u16 {
        self.get(i) as u16
    }
}

impl Values for DtwArray {
    fn len(&self) -> u64 {
        Self::len(self)
    }
    #[inline(always)]
    fn code(&self, i: u64) -> u16 {
        self.codes[i as usize]
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
    write::<R, _>(path.as_ref(), material, Metric::Wld, slices, options)
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
    write::<R, _>(path.as_ref(), material, Metric::Dtw, slices, options)
}

/// Positions in a block of a WLD table.
const WLD_BLOCK: u32 = 16384;
/// Positions in a block of a table with distances.
const DTW_BLOCK: u32 = 4096;
/// Blocks that are compressed before the next are written: enough to keep all threads at work.
const WAVE: u64 = 1024;
/// Positions looked at in one go when the coding is chosen.
const CHUNK: u64 = 1 << 16;
/// Most blocks a dictionary is trained and judged on.
const SAMPLES: u64 = 512;
/// Bytes of a dictionary.
const DICTIONARY: usize = 16 << 10;

fn write<R: Ruleset, V: Values>(
    path: &Path,
    material: Material,
    metric: Metric,
    slices: &[&V],
    options: &WriteOptions,
) -> Result<Header> {
    let input = |what| Error::Input { material, what };
    let rules = &R::RULES;
    let index = Index::<R::Bits>::new(rules.geometry, material)?;
    if !material.is_canonical() || material.sides().iter().any(|&s| material.side(s) == 0) {
        return Err(input(
            "only canonical materials with pieces on both sides are stored",
        ));
    }
    if slices.len() != material.sides().len() {
        return Err(input("wrong number of slices"));
    }
    if slices.iter().any(|s| s.len() != index.positions()) {
        return Err(input("a slice has the wrong length"));
    }
    let mut out = Output::create(path)?;
    let mut header = Header {
        variant: R::VARIANT,
        material,
        metric,
        rules_hash: rules.fingerprint(),
        limits_hash: options.limits_hash,
        verified: options.verified,
        king_run: options.king_run,
        on_unverified: options.on_unverified,
        generator: options.generator.clone(),
        verifier: options.verifier.clone(),
        file_bytes: 0,
        slices: Vec::new(),
    };
    out.seek(Header::BYTES as u64)?;
    for (&side, values) in material.sides().iter().zip(slices) {
        let coding = coding(rules, metric, *values);
        let block_positions = options.block_positions.unwrap_or(match metric {
            Metric::Wld => WLD_BLOCK,
            Metric::Dtw | Metric::Dtz => DTW_BLOCK,
        });
        let bytes = coding.packing().bytes(block_positions.into());
        if block_positions == 0 || !block_positions.is_multiple_of(4) || bytes > 65535 {
            return Err(input(
                "the size of a block must be a multiple of 4 and at most 64 KiB",
            ));
        }
        let source = Source::<R, V> {
            index: &index,
            side,
            values,
            coding,
            block_positions,
        };
        header.slices.push(slice(&source, options, &mut out)?);
    }
    header.file_bytes = out.position;
    out.seek(0)?;
    let bytes = header.to_bytes();
    let header = Header::parse(path, &bytes, header.file_bytes)?;
    out.write(&bytes)?;
    out.finish()?;
    Ok(header)
}

/// The narrowest coding that holds all values.
fn coding<V: Values>(rules: &Rules, metric: Metric, values: &V) -> Coding {
    if metric == Metric::Wld {
        return Coding::Wld;
    }
    let narrow = Coding::of_distances(rules);
    let most = (0..values.len().div_ceil(CHUNK))
        .into_par_iter()
        .filter_map(|c| {
            (c * CHUNK..((c + 1) * CHUNK).min(values.len()))
                .map(|i| narrow.symbol(values.code(i)).unwrap_or(0))
                .max()
        })
        .max();
    if most.unwrap_or(0) < 256 {
        narrow
    } else {
        narrow.wide()
    }
}

/// The values of one slice and how they are to be stored.
struct Source<'a, R: Ruleset, V> {
    index: &'a Index<R::Bits>,
    side: Side,
    values: &'a V,
    coding: Coding,
    block_positions: u32,
}

/// A block ready to be compressed.
struct Packed {
    bytes: Vec<u8>,
    stats: SliceStats,
    /// Whether any value in it is stored, or all are free to be chosen.
    free: bool,
}

impl<R: Ruleset, V: Values> Source<'_, R, V> {
    fn blocks(&self) -> u64 {
        self.values.len().div_ceil(self.block_positions.into())
    }

    /// Counts the values of a block and packs them; captures and decided positions take the value
    /// in front of them.
    fn pack(&self, block: u64) -> Result<Packed> {
        let start = block * u64::from(self.block_positions);
        let end = (start + u64::from(self.block_positions)).min(self.values.len());
        let mut symbols = Vec::with_capacity((end - start) as usize);
        let mut stats = SliceStats::default();
        let mut counts = [0_u64; 3];
        let mut previous = 0;
        let mut free = 0;
        let mut impossible = false;
        let mut longest: [Option<(u16, u64)>; 2] = [None; 2];
        self.index.for_each_board(start..end, |i, board| {
            let code = self.values.code(i);
            let value = if code == 0 {
                0
            } else {
                2 - usize::from(code % 2)
            };
            counts[value] += 1;
            if value != 0 && longest[value - 1].is_none_or(|l| code > l.0) {
                longest[value - 1] = Some((code, i));
            }
            let decided = position::decided::<R>(board).is_some();
            let capture = !decided && movegen::has_capture::<R>(board, self.side);
            stats.decided += u64::from(decided);
            stats.captures += u64::from(capture);
            if !decided && !capture {
                match self.coding.symbol(code) {
                    Some(symbol) => previous = symbol,
                    None => impossible = true,
                }
                if free == symbols.len() {
                    // The first value fills what stands in front of it too.
                    symbols.fill(previous);
                }
            } else {
                free += usize::from(free == symbols.len());
            }
            symbols.push(previous);
        });
        if impossible {
            return Err(Error::Input {
                material: self.index.material(),
                what: "the rules allow no win or loss in so many plies",
            });
        }
        stats.positions = end - start;
        [stats.draws, stats.wins, stats.losses] = counts;
        if self.coding != Coding::Wld {
            let best = |l: Option<(u16, u64)>| {
                l.map(|(code, index)| Longest {
                    plies: Value::from_code(code).dtw().unwrap_or(Dtw(0)),
                    index,
                })
            };
            stats.longest_win = best(longest[0]);
            stats.longest_loss = best(longest[1]);
        }
        Ok(Packed {
            bytes: packed(self.coding.packing(), &symbols),
            stats,
            free: free == symbols.len(),
        })
    }
}

fn packed(packing: Packing, symbols: &[u16]) -> Vec<u8> {
    match packing {
        Packing::Bits => symbols
            .chunks(4)
            .map(|four| {
                let bits = |b, (k, s): (usize, &u16)| b | (*s as u8) << (2 * k);
                let byte = four.iter().enumerate().fold(0, bits);
                // What follows the last value repeats it.
                let last = four[four.len() - 1] as u8;
                (four.len()..4).fold(byte, |b, k| b | last << (2 * k))
            })
            .collect(),
        Packing::Byte => symbols.iter().map(|&s| s as u8).collect(),
        Packing::Planes => {
            let low = symbols.iter().map(|&s| s as u8);
            low.chain(symbols.iter().map(|&s| (s >> 8) as u8)).collect()
        }
    }
}

impl SliceStats {
    /// Adds the counts of a later part of the slice.
    fn add(&mut self, o: &Self) {
        self.positions += o.positions;
        self.wins += o.wins;
        self.cursed_wins += o.cursed_wins;
        self.draws += o.draws;
        self.blessed_losses += o.blessed_losses;
        self.losses += o.losses;
        self.captures += o.captures;
        self.decided += o.decided;
        let later = |a: &mut Option<Longest>, b: Option<Longest>| {
            if b.is_some_and(|b| a.is_none_or(|a| b.plies > a.plies)) {
                *a = b;
            }
        };
        later(&mut self.longest_win, o.longest_win);
        later(&mut self.longest_loss, o.longest_loss);
    }
}

/// Writes the sections of one slice.
fn slice<R: Ruleset, V: Values>(
    source: &Source<'_, R, V>,
    options: &WriteOptions,
    out: &mut Output,
) -> Result<SliceHeader> {
    let start = out.position;
    let dictionary = if options.codec == Codec::Zstd && options.dictionary {
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
    let mut stats = SliceStats::default();
    let mut table = TableBuilder::default();
    // The one symbol of all values met so far: nothing before the first, wrong after a second.
    let mut constant: std::result::Result<Option<u16>, ()> = Ok(None);
    for wave in (0..blocks).step_by(WAVE as usize) {
        let encoded: Vec<(Packed, Vec<u8>)> = (wave..(wave + WAVE).min(blocks))
            .into_par_iter()
            .map_init(
                || encoder(options, &dictionary),
                |encoder, block| {
                    let packed = source.pack(block)?;
                    let stored = encode_with(encoder, packing, &packed.bytes);
                    Ok((packed, stored))
                },
            )
            .collect::<Result<_>>()?;
        for (packed, stored) in encoded {
            stats.add(&packed.stats);
            if !packed.free {
                let symbol = codec::constant(packing, &packed.bytes);
                constant = match (constant, symbol) {
                    (Ok(None), Some(s)) => Ok(Some(s)),
                    (Ok(Some(a)), Some(b)) if a == b => Ok(Some(a)),
                    _ => Err(()),
                };
            }
            table.push(&stored);
            out.write(&stored)?;
        }
    }
    let mut header = SliceHeader {
        side: source.side,
        stats,
        codec: options.codec,
        block_positions: source.block_positions,
        model: Section::default(),
        table: Section::default(),
        blocks: Section::default(),
        coding: source.coding,
        constant: 0,
    };
    if let Ok(symbol) = constant {
        out.cut(start)?;
        header.codec = Codec::Constant;
        header.block_positions = 0;
        header.constant = symbol.unwrap_or(0);
        let nowhere = Section {
            offset: start,
            ..Section::default()
        };
        (header.model, header.table, header.blocks) = (nowhere, nowhere, nowhere);
        return Ok(header);
    }
    let end = out.position;
    let table = table.finish();
    out.seek(start)?;
    out.write(&dictionary)?;
    out.write(&table)?;
    out.seek(end)?;
    let section = |offset, bytes: &[u8]| Section {
        offset,
        bytes: bytes.len() as u64,
        checksum: if bytes.is_empty() { 0 } else { xxh3_64(bytes) },
    };
    header.model = section(start, &dictionary);
    header.table = section(table_start, &table);
    header.blocks = Section {
        offset: blocks_start,
        bytes: end - blocks_start,
        checksum: 0,
    };
    Ok(header)
}

fn encoder(options: &WriteOptions, dictionary: &[u8]) -> Option<codec::zstd::Encoder> {
    (options.codec == Codec::Zstd).then(|| codec::zstd::Encoder::new(options.level, dictionary))
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
fn choose_dictionary<R: Ruleset, V: Values>(
    source: &Source<'_, R, V>,
    level: i32,
) -> Result<Vec<u8>> {
    let blocks = source.blocks();
    let samples = blocks.min(SAMPLES);
    if samples < 32 {
        return Ok(Vec::new());
    }
    let packing = source.coding.packing();
    let packed: Vec<Vec<u8>> = (0..samples)
        .into_par_iter()
        .map(|k| source.pack(k * blocks / samples).map(|p| p.bytes))
        .collect::<Result<_>>()?;
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
    let scale = |bytes: u64| (bytes as u128 * 2 * u128::from(blocks) / u128::from(samples)) as u64;
    let plain = size(&[]);
    if scale(plain) < 4 * DICTIONARY as u64 {
        return Ok(Vec::new());
    }
    let Some(dictionary) = codec::zstd::train(&trained, DICTIONARY) else {
        return Ok(Vec::new());
    };
    let saved = plain.saturating_sub(size(&dictionary));
    if scale(saved) > dictionary.len() as u64 {
        Ok(dictionary)
    } else {
        Ok(Vec::new())
    }
}

/// A file under a temporary name that appears under its own name when it is finished, or not at
/// all.
struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: io::BufWriter<File>,
    position: u64,
    finished: bool,
}

impl Output {
    fn create(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp-{}", std::process::id()));
        let failed = |action| {
            move |source| Error::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        fs::create_dir_all(directory(path)).map_err(failed("create the directory of"))?;
        let file = File::create(&temporary).map_err(failed("create"))?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            file: io::BufWriter::with_capacity(1 << 18, file),
            position: 0,
            finished: false,
        })
    }
    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = self.path.clone();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
    fn seek(&mut self, position: u64) -> Result<()> {
        self.position = position;
        let done = self.file.seek(SeekFrom::Start(position));
        done.map(drop).map_err(self.failed("write"))
    }
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.position += bytes.len() as u64;
        let done = self.file.write_all(bytes);
        done.map_err(self.failed("write"))
    }
    /// Drops everything from `position` on.
    fn cut(&mut self, position: u64) -> Result<()> {
        self.seek(position)?;
        let done = self.file.get_ref().set_len(position);
        done.map_err(self.failed("write"))
    }
    /// Gives the file its name, when all of it is on disk.
    fn finish(mut self) -> Result<()> {
        let path = &self.path;
        let done = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.temporary, path))
            .and_then(|()| File::open(directory(path))?.sync_all());
        done.map_err(self.failed("write"))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // Best effort: the name alone says that the file is no table.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(d) if !d.as_os_str().is_empty() => d,
        _ => Path::new("."),
    }
}
