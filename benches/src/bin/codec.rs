//! Size and speed of the WLD codecs, slice by slice: the context codec against zstd-19 with a
//! trained dictionary, in one run on the same values.
//!
//! ```text
//! cargo run --release -p dambase-benches --bin codec -- [--threads T] <variant>:<material> ...
//! ```
//!
//! Solves what the materials need first. Times are of one thread's processor time where the system
//! tells it (Linux), so that other work on the machine does not count; compare them as ratios.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use dambase_gen::{Control, Store, scalar};
use dambase_rules::{Board, Ruleset, Side, Variant, WithRuleset, movegen};
use dambase_tables::{
    BlockId, Codec, Index, Material, Scratch, Table, WldArray, WriteOptions, write_wld,
};

/// Chunks or blocks decoded for a timing.
const BLOCKS: u64 = 4000;
/// Random positions decoded for a timing.
const RANDOM: u64 = 20_000;

/// Nanoseconds that this thread has run.
fn now() -> f64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    let cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let cpu = cpu.and_then(|s| s.split(' ').next()?.parse().ok());
    cpu.unwrap_or_else(|| START.get_or_init(Instant::now).elapsed().as_nanos() as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        eprintln!("usage: codec <variant>:<material> ...   for example english:KKMvKM");
        std::process::exit(2);
    }
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
    for arg in args {
        let (variant, material) = arg.split_once(':').ok_or("write <variant>:<material>")?;
        let variant: Variant = variant.parse()?;
        let material: Material = material.parse()?;
        let result = pool.install(|| variant.with(Bench(material.canonical())));
        result.map_err(|e| format!("{variant} {material}: {e}"))?;
    }
    Ok(())
}

struct Bench(Material);

impl WithRuleset for Bench {
    type Output = Result<(), Box<dyn std::error::Error + Send + Sync>>;
    fn run<R: Ruleset>(self) -> Self::Output {
        let material = self.0;
        let mut store = Store::new();
        let mut all = BTreeSet::new();
        needed(material, &mut all);
        for m in all {
            let solved = scalar::solve::<R>(m, &store, false, &Control::new())?;
            store.insert(solved);
        }
        let solved = store.get(material).ok_or("not solved")?;
        let slices: Vec<&WldArray> = solved.wld.iter().collect();
        let dir = std::env::temp_dir().join(format!("dambase-bench-{}", std::process::id()));
        let written: Result<Vec<_>, _> = [Codec::Context, Codec::Zstd]
            .into_iter()
            .map(|codec| write::<R>(&dir, material, &slices, codec))
            .collect();
        std::fs::remove_dir_all(&dir)?;
        let written = written?;
        for (k, &side) in material.sides().iter().enumerate() {
            let m = [
                measure::<R>(&written[0].0, side, slices[k])?,
                measure::<R>(&written[1].0, side, slices[k])?,
            ];
            let per = |i: usize| written[i].1 / (slices[k].len() * slices.len() as u64) as f64;
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

/// What a material's captures and crownings lead to, and itself.
fn needed(m: Material, all: &mut BTreeSet<Material>) {
    let m = m.canonical();
    if m.side(Side::White) == 0 || m.side(Side::Black) == 0 || !all.insert(m) {
        return;
    }
    for s in 0..2 {
        if m.men[s] > 0 {
            let mut n = m;
            n.men[s] -= 1;
            needed(n, all);
            n.kings[s] += 1;
            needed(n, all);
        }
        if m.kings[s] > 0 {
            let mut n = m;
            n.kings[s] -= 1;
            needed(n, all);
        }
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

fn measure<R: Ruleset>(
    table: &Table,
    side: Side,
    values: &WldArray,
) -> Result<Measured, Box<dyn std::error::Error + Send + Sync>> {
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
    // All blocks of a sample of the places: chunks differ in how many positions they hold.
    let blocks = table.block_count(side)?;
    let step = (blocks / BLOCKS).max(1) | 1;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = now();
        for block in (0..blocks).step_by(step as usize) {
            std::hint::black_box(table.decode(BlockId { side, block }, &mut scratch)?);
        }
        best = best.min(now() - start);
    }
    let decoded = blocks.div_ceil(step).max(1) as f64 / blocks.max(1) as f64;
    let mut random = f64::INFINITY;
    for _ in 0..3 {
        let start = now();
        for (i, b) in &boards {
            let (id, offset) = table.place_of(side, b, || *i);
            let block = table.decode_to(id, offset, &mut scratch)?;
            if block.wld(offset) != values.get(*i) {
                return Err("a wrong value".into());
            }
        }
        random = random.min((now() - start) / boards.len().max(1) as f64);
    }
    Ok(Measured {
        bits: slice.bits_per_position(),
        decode: best / decoded / positions as f64,
        random: random / 1000.0,
        codec: slice.codec.name(),
    })
}
