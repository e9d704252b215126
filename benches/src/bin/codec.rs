//! Size and speed of the WLD codecs, slice by slice: the context codec against zstd-19 with a
//! trained dictionary, in one run on the same values.
//!
//! ```text
//! cargo run --release -p dambase-benches --bin codec -- <DIR> <variant>:<material> ...
//! cargo run --release -p dambase-benches --bin codec -- <DIR> <variant>:<pieces> ...
//! ```
//!
//! Encodes the tables of `<DIR>`, as `dambase build` made them, anew with both codecs, and compares
//! every stored value. With a number of pieces it takes all tables with so many pieces or fewer
//! and ends with the sum. Times are of one thread's processor time where the system tells it
//! (Linux), so that other work on the machine does not count; compare them as ratios.

use std::path::Path;

use dambase_benches::nanoseconds as now;
use dambase_rules::{Board, Ruleset, Side, Variant, WithRuleset, movegen};
use dambase_tables::{
    BlockId, Codec, Index, Material, Metric, Scratch, Table, WldArray, WriteOptions, write_wld,
};

/// Chunks or blocks decoded for a timing.
const BLOCKS: u64 = 4000;
/// Random positions decoded for a timing.
const RANDOM: u64 = 20_000;

/// Shortest time that a timing takes, ns: the system counts in steps of some milliseconds.
const SHORTEST: f64 = 5e7;

/// The mean time of a run of `f`, ns.
fn timed(mut f: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let start = now();
    let mut runs = 0.0;
    loop {
        f()?;
        runs += 1.0;
        let time = now() - start;
        if time >= SHORTEST {
            return Ok(time / runs);
        }
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, sets @ ..] = &args[..] else {
        eprintln!(
            "usage: codec <DIR> <variant>:<material or pieces> ...   for example egdb english:5"
        );
        std::process::exit(2);
    };
    println!(
        "{:<14} {:<8} {:<5} {:>11}  {:>8} {:>8} {:>6}  {:>7} {:>7}  {:>7} {:>7}  {:>7} {:>7}",
        "code",
        "material",
        "side",
        "positions",
        "ctx b/p",
        "zstd b/p",
        "ratio",
        "enc ctx",
        "zstd",
        "dec ctx",
        "zstd",
        "rnd ctx",
        "zstd"
    );
    println!("{:>80} {:>24} {:>15}", "ns/pos", "ns/pos", "us");
    // One thread, so that its time is all the time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for set in sets {
        let (variant, what) = set.split_once(':').ok_or("write <variant>:<material>")?;
        let variant: Variant = variant.parse()?;
        let materials = match what.parse::<u8>() {
            Ok(pieces) => (2..=pieces).flat_map(Material::canonical_with).collect(),
            Err(_) => vec![what.parse::<Material>()?.canonical()],
        };
        let mut sum = Sum::default();
        for &material in &materials {
            let table = Table::open_in(Path::new(dir), variant, material, Metric::Wld)?;
            let bench = Bench {
                table: &table,
                sum: &mut sum,
            };
            let result = pool.install(|| variant.with(bench));
            result.map_err(|e| format!("{variant} {material}: {e}"))?;
        }
        println!(
            "{variant} {what}: {} positions, {} bytes in files with the context codec ({:.4} b/p), {} with zstd; one side at a time {} bytes; {:.1} / {:.1} ns/pos encoding, {:.2} / {:.2} decoding",
            sum.positions,
            sum.files[0],
            sum.files[0] as f64 * 8.0 / sum.positions.max(1) as f64,
            sum.files[1],
            sum.one_side,
            sum.encode[0] / sum.positions.max(1) as f64,
            sum.encode[1] / sum.positions.max(1) as f64,
            sum.decode[0] / sum.positions.max(1) as f64,
            sum.decode[1] / sum.positions.max(1) as f64,
        );
    }
    Ok(())
}

/// What a set takes, with the context codec and with zstd.
#[derive(Debug, Default)]
struct Sum {
    positions: u64,
    files: [u64; 2],
    /// Files of the archive.
    one_side: u64,
    encode: [f64; 2],
    decode: [f64; 2],
}

struct Bench<'a> {
    table: &'a Table,
    sum: &'a mut Sum,
}

impl WithRuleset for Bench<'_> {
    type Output = Result<(), Failure>;
    fn run<R: Ruleset>(self) -> Self::Output {
        let material = self.table.header().material;
        let sides = material.sides();
        let slices = sides.iter().map(|&side| self.table.read_wld(side));
        let slices: Vec<WldArray> = slices.collect::<Result<_, _>>()?;
        let slices: Vec<&WldArray> = slices.iter().collect();
        let dir = std::env::temp_dir().join(format!("dambase-bench-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let written: Result<Vec<_>, _> = [Codec::Context, Codec::Zstd]
            .into_iter()
            .map(|codec| write::<R>(&dir, material, &slices, codec))
            .collect();
        let archive = written.and_then(|w| {
            let path = dir.join("archive");
            let header = dambase_tables::write_archive(&path, &w[0].0)?;
            Ok((w, header.file_bytes))
        });
        std::fs::remove_dir_all(&dir)?;
        let (written, one_side) = archive?;
        let positions: u64 = slices.iter().map(|s| s.len()).sum();
        self.sum.positions += positions;
        self.sum.one_side += one_side;
        for (k, (table, time)) in written.iter().enumerate() {
            self.sum.files[k] += table.header().file_bytes;
            self.sum.encode[k] += time;
        }
        for (k, &side) in sides.iter().enumerate() {
            let m = [
                measure::<R>(&written[0].0, side, slices[k])?,
                measure::<R>(&written[1].0, side, slices[k])?,
            ];
            let n = slices[k].len() as f64;
            let per = |i: usize| written[i].1 / positions as f64;
            for (sum, m) in self.sum.decode.iter_mut().zip(&m) {
                *sum += m.decode * n;
            }
            println!(
                "{:<14} {:<8} {:<5} {:>11}  {:>8.4} {:>8.4} {:>6.2}  {:>7.1} {:>7.1}  {:>7.2} {:>7.2}  {:>7.2} {:>7.2}  {}",
                R::VARIANT.name(),
                material.to_string(),
                side.name(),
                slices[k].len(),
                m[0].bits,
                m[1].bits,
                m[1].bits / m[0].bits,
                per(0),
                per(1),
                m[0].decode,
                m[1].decode,
                m[0].random,
                m[1].random,
                m[0].codec,
            );
        }
        Ok(())
    }
}

type Written = (Table, f64);

/// Writes a table and takes it into memory; with the time of writing, ns.
fn write<R: Ruleset>(
    dir: &Path,
    material: Material,
    slices: &[&WldArray],
    codec: Codec,
) -> Result<Written, dambase_tables::Error> {
    let path = dir.join(format!("{material}.{}", codec.name()));
    let options = WriteOptions {
        codec,
        level: 19,
        // Blocks of zstd about as large as chunks, so that random access compares.
        block_positions: Some(4096),
        ..WriteOptions::default()
    };
    let start = now();
    write_wld::<R>(&path, material, slices, &options)?;
    let time = now() - start;
    Ok((Table::read(&path)?, time))
}

/// Bits and decoding times of a slice.
struct Measured {
    bits: f64,
    /// Everything, ns for each position.
    decode: f64,
    /// One random quiet position, us.
    random: f64,
    codec: &'static str,
}

fn measure<R: Ruleset>(table: &Table, side: Side, values: &WldArray) -> Result<Measured, Failure> {
    let slice = table
        .header()
        .slice(side)
        .ok_or("a slice that is missing")?;
    let index = Index::<R::Bits>::new(R::RULES.geometry, table.header().material)?;
    let positions = index.positions();
    let mut scratch = Scratch::new();
    let boards: Vec<(u64, Board<R::Bits>)> = (0..RANDOM)
        .map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) % positions)
        .map(|i| (i, index.board(i)))
        .filter(|(_, b)| !movegen::has_capture::<R>(b, side))
        .collect();
    let decoded = table.read_wld(side)?;
    let mut wrong = 0_u64;
    index.for_each_board(0..positions, |i, board| {
        if decoded.get(i) != values.get(i) && !movegen::has_capture::<R>(board, side) {
            wrong += 1;
        }
    });
    if wrong > 0 {
        return Err(format!("{wrong} wrong values").into());
    }
    // All blocks of a sample of the places: chunks differ in how many positions they hold.
    let blocks = table.block_count(side)?;
    let step = (blocks / BLOCKS).max(1) | 1;
    let decode = if blocks == 0 {
        Ok(0.0)
    } else {
        timed(|| {
            for block in (0..blocks).step_by(step as usize) {
                std::hint::black_box(table.decode(BlockId { side, block }, &mut scratch)?);
            }
            Ok(())
        })
    }?;
    let sample = blocks.div_ceil(step).max(1) as f64 / blocks.max(1) as f64;
    let random = timed(|| {
        for (i, b) in &boards {
            let (id, offset) = table.place_of(side, b, || *i);
            let block = table.decode_to(id, offset, &mut scratch)?;
            if block.wld(offset) != values.get(*i) {
                return Err("a wrong value".into());
            }
        }
        Ok(())
    })?;
    Ok(Measured {
        bits: slice.bits_per_position(),
        decode: decode / sample / positions as f64,
        random: random / 1000.0 / boards.len().max(1) as f64,
        codec: slice.codec.name(),
    })
}
