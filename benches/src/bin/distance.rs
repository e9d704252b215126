//! Size and speed of the distance codec, slice by slice, against zstd-19 with a trained dictionary on
//! blocks of the usual size, in one run on the same values.
//!
//! ```text
//! cargo run --release -p dambase-benches --bin distance -- <DIR> <dtw|dtz> <variant>:<material or pieces> ...
//! ```
//!
//! Encodes the tables of `<DIR>`, as `dambase build` made them, anew with both codecs, and compares
//! every stored value. Times are of one thread's processor time where the system tells it (Linux);
//! compare them as ratios.

use std::path::{Path, PathBuf};

use dambase_benches::nanoseconds as now;
use dambase_rules::{Board, Ruleset, Side, Variant, WithRuleset, movegen, position};
use dambase_tables::{
    Codec, DtwArray, DtzArray, Header, Index, Material, Metric, Scratch, Table, WriteOptions,
    write_dtw, write_dtz,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Random positions looked up for a timing.
const RANDOM: u64 = 4000;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, metric, sets @ ..] = &args[..] else {
        eprintln!("usage: distance <DIR> <dtw|dtz> <variant>:<material or pieces> ...");
        std::process::exit(2);
    };
    let metric = match &metric[..] {
        "dtw" => Metric::Dtw,
        "dtz" => Metric::Dtz,
        _ => return Err("the metric is dtw or dtz".into()),
    };
    println!(
        "code           material side   positions  distance     zstd  ratio  encoding ns/pos  random look-up us"
    );
    // One thread, so that its time is all the time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for set in sets {
        let (variant, what) = set.split_once(':').ok_or("write <variant>:<material>")?;
        let variant: Variant = variant.parse()?;
        let materials = match what.parse::<u8>() {
            Ok(pieces) => Material::canonical_with(pieces),
            Err(_) => vec![what.parse::<Material>()?.canonical()],
        };
        let mut sum = [0; 2];
        for material in materials {
            let bench = Bench {
                dir: Path::new(dir),
                metric,
                material,
            };
            let bytes = pool.install(|| variant.with(bench));
            let bytes = bytes.map_err(|e| format!("{variant} {material}: {e}"))?;
            sum = [sum[0] + bytes[0], sum[1] + bytes[1]];
        }
        println!(
            "{set} {metric}: {} bytes of files, {} with zstd ({:.3})",
            sum[0],
            sum[1],
            sum[0] as f64 / sum[1].max(1) as f64
        );
    }
    Ok(())
}

struct Bench<'a> {
    dir: &'a Path,
    metric: Metric,
    material: Material,
}

impl WithRuleset for Bench<'_> {
    type Output = Result<[u64; 2], Failure>;
    fn run<R: Ruleset>(self) -> Self::Output {
        let table = Table::open_in(self.dir, R::VARIANT, self.material, self.metric)?;
        let dir = std::env::temp_dir().join(format!("dambase-bench-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let both = [Codec::Distance, Codec::Zstd].map(|c| rewritten::<R>(&table, c, &dir));
        std::fs::remove_dir_all(&dir)?;
        let [distance, zstd] = both;
        let both = [distance?, zstd?];
        let index = Index::<R::Bits>::new(R::RULES.geometry, self.material)?;
        let n = index.positions();
        let all = n as f64 * self.material.sides().len() as f64;
        for &side in self.material.sides() {
            let wanted = codes(&table, side)?;
            let stored = |b: &Board<R::Bits>| {
                !movegen::has_capture::<R>(b, side) && position::decided::<R>(b).is_none()
            };
            let mut random = [0.0; 2];
            for (k, (table, _)) in both.iter().enumerate() {
                let got = codes(table, side)?;
                let mut wrong = 0_u64;
                index.for_each_board(0..n, |i, b| {
                    wrong += u64::from(got[i as usize] != wanted[i as usize] && stored(b));
                });
                if wrong > 0 {
                    return Err(format!("{wrong} wrong values").into());
                }
                let boards: Vec<(u64, Board<R::Bits>)> = (0..RANDOM)
                    .map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) % n)
                    .map(|i| (i, index.board(i)))
                    .filter(|(_, b)| stored(b))
                    .collect();
                let mut scratch = Scratch::new();
                let start = now();
                for (i, b) in &boards {
                    let (id, offset) = table.place_of(side, b, || *i);
                    let block = table.decode_to(id, offset, &mut scratch)?;
                    std::hint::black_box(block.wld(offset));
                }
                random[k] = (now() - start) / 1000.0 / boards.len().max(1) as f64;
            }
            let slice = both
                .each_ref()
                .map(|(t, _)| t.header().slice(side).copied());
            let bits = slice.map(|s| s.map_or(0.0, |s| s.bits_per_position()));
            let codec = slice[0].map_or("", |s| s.codec.name());
            println!(
                "{:<14} {:<8} {:<5} {:>10}  {:>8.4} {:>8.4} {:>6.2}  {:>7.0} {:>7.0}  {:>8.1} {:>8.1}  {codec}",
                R::VARIANT.name(),
                self.material.to_string(),
                side.name(),
                n,
                bits[0],
                bits[1],
                bits[0] / bits[1],
                both[0].1 / all,
                both[1].1 / all,
                random[0],
                random[1],
            );
        }
        Ok(both.map(|(t, _)| t.header().file_bytes))
    }
}

/// The codes of a slice.
fn codes(table: &Table, side: Side) -> Result<Vec<u16>, Failure> {
    Ok(match table.header().metric {
        Metric::Dtw => table.read_dtw(side)?.codes.to_vec(),
        _ => {
            let codes = table.read_dtz(side)?.codes;
            codes.iter().map(|&c| c.into()).collect()
        }
    })
}

/// A table encoded anew and taken into memory, and the time of writing, ns.
fn rewritten<R: Ruleset>(table: &Table, codec: Codec, dir: &Path) -> Result<(Table, f64), Failure> {
    let Header {
        material,
        metric,
        limits_hash,
        ..
    } = *table.header();
    let path: PathBuf = dir.join(codec.name());
    let options = WriteOptions {
        codec,
        level: 19,
        limits_hash,
        ..WriteOptions::default()
    };
    let sides = material.sides().iter();
    let time = if metric == Metric::Dtw {
        let read = sides.map(|&s| table.read_dtw(s));
        let arrays: Vec<DtwArray> = read.collect::<Result<_, _>>()?;
        let start = now();
        write_dtw::<R>(
            &path,
            material,
            &arrays.iter().collect::<Vec<_>>(),
            &options,
        )?;
        now() - start
    } else {
        let read = sides.map(|&s| table.read_dtz(s));
        let arrays: Vec<DtzArray> = read.collect::<Result<_, _>>()?;
        let start = now();
        write_dtz::<R>(
            &path,
            material,
            &arrays.iter().collect::<Vec<_>>(),
            &options,
        )?;
        now() - start
    };
    Ok((Table::read(&path)?, time))
}
