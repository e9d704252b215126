//! Times of look-ups: `cargo run --release -p dambase-benches --bin probe [-- DIRECTORY]`.
//!
//! Without a directory, tables of up to four pieces are written with made-up values and without
//! compression, which is enough for everything but the decoding of blocks. Every figure is the
//! best of many runs over 512 positions, in nanoseconds a look-up: on a machine with other work
//! to do, the best is what comes near to the truth.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dambase_probe::{Material, Metric, Scratch, Tablebase};
use dambase_rules::{Board, Ruleset, Side, marker, movegen};
use dambase_tables::{Codec, Index, Wld, WldArray, WriteOptions, table_path, write_wld};

/// Positions of one measurement.
const POSITIONS: usize = 512;
/// How long one measurement is repeated.
const PATIENCE: Duration = Duration::from_millis(600);

type Boards<R> = Vec<(Board<<R as Ruleset>::Bits>, Side)>;

fn main() -> Result<(), Box<dyn Error>> {
    let made_up = tempfile::tempdir()?;
    let dir = match std::env::args_os().nth(1) {
        Some(dir) => PathBuf::from(dir),
        None => {
            write::<marker::English>(made_up.path(), 4)?;
            write::<marker::International>(made_up.path(), 4)?;
            made_up.path().to_owned()
        }
    };
    measure::<marker::English>(&dir, &["KKvKM", "KMvKM", "KKMvK"])?;
    measure::<marker::International>(&dir, &["KKvKM", "KMvKM", "KKMvK"])
}

/// Writes tables of all materials with values that follow no rule.
fn write<R: Ruleset>(dir: &Path, pieces: u8) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(dir.join(R::VARIANT.name()))?;
    for m in (2..=pieces).flat_map(Material::canonical_with) {
        let n = Index::<R::Bits>::new(R::RULES.geometry, m)?.positions();
        let slice = |salt: u64| {
            let mut a = WldArray::new(n);
            for i in 0..n {
                let v = match ((i ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 7 {
                    0 => Wld::Loss,
                    1 | 2 => Wld::Win,
                    _ => Wld::Draw,
                };
                a.set(i, v);
            }
            a
        };
        let slices: Vec<_> = (1..=m.sides().len() as u64).map(slice).collect();
        let options = WriteOptions {
            codec: Codec::Raw,
            ..WriteOptions::default()
        };
        let path = table_path(dir, R::VARIANT, m, Metric::Wld);
        write_wld::<R>(&path, m, &slices.iter().collect::<Vec<_>>(), &options)?;
    }
    Ok(())
}

/// The best time of a run over [`POSITIONS`] positions, in nanoseconds a position.
fn best(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < PATIENCE {
        let t = Instant::now();
        run();
        best = best.min(t.elapsed());
    }
    best.as_nanos() as f64 / POSITIONS as f64
}

fn single<R: Ruleset>(tables: &Tablebase, boards: &Boards<R>) -> f64 {
    let mut scratch = Scratch::new();
    best(|| {
        for (board, side) in boards {
            let _ = black_box(tables.probe_board::<R>(board, *side, &mut scratch));
        }
    })
}

/// Every look-up decodes a block.
fn cold<R: Ruleset>(tables: &Tablebase, boards: &Boards<R>) -> f64 {
    let mut scratch = Scratch::new();
    best(|| {
        for (board, side) in boards {
            scratch.forget();
            let _ = black_box(tables.probe_board::<R>(board, *side, &mut scratch));
        }
    })
}

fn many<R: Ruleset>(tables: &Tablebase, boards: &Boards<R>) -> f64 {
    let mut scratch = Scratch::new();
    best(|| {
        black_box(tables.probe_boards::<R>(boards, &mut scratch));
    })
}

/// Look-ups in a second by so many threads.
fn throughput<R: Ruleset>(tables: &Tablebase, boards: &Boards<R>, threads: usize) -> f64 {
    let runs = 4000;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = Scratch::new();
                for _ in 0..runs / threads {
                    for (board, side) in boards {
                        let _ = black_box(tables.probe_board::<R>(board, *side, &mut scratch));
                    }
                }
            });
        }
    });
    (runs / threads * threads * POSITIONS) as f64 / start.elapsed().as_secs_f64()
}

fn measure<R: Ruleset>(dir: &Path, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let open = || Tablebase::open(R::VARIANT, [dir]);
    let start = Instant::now();
    let tables = open()?;
    let took = start.elapsed();
    let (portable, uncached, flat) = (open()?.with_portable_code(), open()?, open()?);
    uncached.set_cache_bytes(0);
    println!(
        "{}: {} materials opened in {took:.1?}",
        R::VARIANT,
        tables.coverage().materials.len()
    );
    println!("            near    far   cold   many  portable  captures  resident  its captures");
    for name in names {
        let material: Material = name.parse()?;
        flat.make_resident(Metric::Wld, |m| {
            m == material || m.pieces() < material.pieces()
        })?;
        let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
        let n = index.positions();
        let near = gather::<R>(&index, n / 2..n / 2 + 8000, false);
        let far = gather::<R>(&index, 0..n, false);
        let captures = gather::<R>(&index, 0..n, true);
        println!(
            "{name:10} {:5.1}  {:5.1}  {:5.0}  {:5.1}     {:5.1}     {:5.1}     {:5.1}         {:5.1}",
            single::<R>(&tables, &near),
            single::<R>(&tables, &far),
            cold::<R>(&uncached, &far),
            many::<R>(&tables, &far),
            single::<R>(&portable, &near),
            single::<R>(&tables, &captures),
            single::<R>(&flat, &far),
            single::<R>(&flat, &captures),
        );
        let one = throughput::<R>(&tables, &far, 1);
        let sixteen = throughput::<R>(&tables, &far, 16);
        println!(
            "           1 thread {:.1} M/s, 16 threads {:.1} M/s",
            one / 1e6,
            sixteen / 1e6
        );
    }
    Ok(())
}

/// Random positions of a range of indices, all with a capture for the side to move, or all
/// without.
fn gather<R: Ruleset>(
    index: &Index<R::Bits>,
    range: std::ops::Range<u64>,
    capture: bool,
) -> Boards<R> {
    let symmetric = index.material().is_symmetric();
    let mut state = 12345_u64;
    let mut random = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * u128::from(n)) >> 64) as u64
    };
    let mut boards = Vec::new();
    while boards.len() < POSITIONS {
        let board = index.board(range.start + random(range.end - range.start));
        let white = symmetric || random(2) == 0;
        let side = if white { Side::White } else { Side::Black };
        if movegen::has_capture::<R>(&board, side) == capture {
            boards.push((board, side));
        }
    }
    boards
}
