//! From the solver through files to the look-up: every position against the solver's arrays, and
//! the samples of the truth files.

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{build, data, value};
use dambase_gen::{Solved, Store};
use dambase_probe::{LineEnd, Side, Tablebase, Value, Wld};
use dambase_rules::position::Run;
use dambase_rules::{Position, Ruleset, Variant, WithRuleset};
use dambase_tables::{Index, Metric, WriteOptions, table_path, write_dtw, write_wld};
use serde_json::Value as Json;

/// Writes both tables of a material.
struct Write<'a>(&'a Path, &'a Solved);

impl WithRuleset for Write<'_> {
    type Output = ();
    fn run<R: Ruleset>(self) {
        let Self(dir, solved) = self;
        let path = |metric| table_path(dir, R::VARIANT, solved.material, metric);
        fs::create_dir_all(path(Metric::Wld).parent().unwrap()).unwrap();
        let options = WriteOptions {
            level: 3,
            ..WriteOptions::default()
        };
        let wld: Vec<_> = solved.wld.iter().collect();
        write_wld::<R>(&path(Metric::Wld), solved.material, &wld, &options).unwrap();
        let dtw: Vec<_> = solved.dtw.iter().flatten().collect();
        write_dtw::<R>(&path(Metric::Dtw), solved.material, &dtw, &options).unwrap();
    }
}

/// Builds, writes and opens all tables of a code.
fn tables(variant: Variant, pieces: u8) -> (Store, tempfile::TempDir, Tablebase) {
    let store = build(variant, pieces, true);
    let dir = tempfile::tempdir().unwrap();
    for m in store.materials() {
        variant.with(Write(dir.path(), store.get(m).unwrap()));
    }
    let tb = Tablebase::open(variant, [dir.path()]).unwrap();
    assert!(tb.issues().is_empty());
    let coverage = tb.coverage();
    let complete = [coverage.complete_wld(), coverage.complete_dtw()];
    assert_eq!(complete, [pieces; 2], "{variant}");
    (store, dir, tb)
}

/// Every `step`th position of every material, for both sides to move, mirrored materials too.
fn each_position(variant: Variant, store: &Store, step: usize, mut f: impl FnMut(&Position)) {
    let g = variant.rules().geometry;
    for material in store.materials() {
        for m in [material, material.mirrored()] {
            let index = Index::<u128>::new(g, m).unwrap();
            for i in (0..index.positions()).step_by(step) {
                for side in Side::BOTH {
                    // Some placements of extra rulesets are none.
                    let board = index.board(i);
                    if let Ok(p) = Position::new(variant, board, side, [Run::NONE; 2]) {
                        f(&p);
                    }
                }
            }
        }
    }
}

/// All ways to ask for a position, against the solver's value.
fn compare(variant: Variant, store: &Store, tb: &Tablebase, step: usize) {
    let mut all = Vec::new();
    each_position(variant, store, step, |p| {
        let wanted = value(variant, store, p.board(), p.side());
        assert_eq!(tb.probe(p).unwrap(), wanted, "{variant} {}", p.fen());
        assert_eq!(
            tb.probe_wld(p).unwrap(),
            wanted.wld(),
            "{variant} {}",
            p.fen()
        );
        all.push((*p, wanted));
    });
    let positions: Vec<_> = all.iter().map(|a| a.0).collect();
    for (answer, (p, wanted)) in tb.probe_many(&positions).into_iter().zip(&all) {
        assert_eq!(answer.unwrap(), wanted.wld(), "{variant} {}", p.fen());
    }
    for (p, wanted) in all.iter().step_by(17) {
        let best = tb.best_move(p).unwrap();
        let kept = best.map(|b| (b.after.wld, b.after.dtw.map(|d| d.0 + 1)));
        let dtw = wanted.dtw().map(|d| d.0);
        assert_eq!(
            kept.unwrap_or((wanted.wld(), Some(0))),
            (wanted.wld(), dtw),
            "{}",
            p.fen()
        );
    }
}

/// The samples of the truth file, values and number of moves.
fn samples(variant: Variant, tb: &Tablebase, pieces: u32) {
    let mut seen = 0;
    for line in data(&format!("{variant}.samples.jsonl")).lines() {
        let sample: Json = serde_json::from_str(line).unwrap();
        let fen = sample["fen"].as_str().unwrap();
        let p = tb.position(fen).unwrap();
        if p.board().occupied().count_ones() > pieces {
            continue;
        }
        let outcome = tb.outcome(&p).unwrap();
        let wld = match outcome.wld {
            Wld::Win => "W",
            Wld::Loss => "L",
            Wld::Draw => "D",
        };
        assert_eq!(sample["wld"].as_str(), Some(wld), "{variant} {fen}");
        let dtw = outcome.dtw.map(|d| u64::from(d.0));
        assert_eq!(sample["dtw"].as_u64(), dtw, "{variant} {fen}");
        let moves = tb.moves(&p).unwrap().len() as u64;
        assert_eq!(sample["nmoves"].as_u64(), Some(moves), "{variant} {fen}");
        seen += 1;
    }
    assert!(seen > 50, "{variant}: {seen} samples compared");
}

/// The longest win and the longest loss, played out against best defence.
fn longest(variant: Variant, store: &Store, tb: &Tablebase) {
    let mut most = [None; 2];
    each_position(variant, store, 1, |p| {
        let (place, plies) = match value(variant, store, p.board(), p.side()) {
            Value::Win(d) => (0, d),
            Value::Loss(d) => (1, d),
            Value::Draw => return,
        };
        if most[place].is_none_or(|(longest, _)| plies > longest) {
            most[place] = Some((plies, *p));
        }
    });
    for (winner_moves, most) in [(true, most[0]), (false, most[1])] {
        let (plies, p) = most.unwrap();
        let line = tb.line(&p).unwrap();
        assert_eq!(
            line.steps.len(),
            usize::from(plies.0),
            "{variant} {}",
            p.fen()
        );
        let winner = if winner_moves {
            p.side()
        } else {
            p.side().other()
        };
        assert_eq!(
            line.end,
            LineEnd::GameOver { winner },
            "{variant} {}",
            p.fen()
        );
        for pair in line.steps.windows(2) {
            assert!(pair[0].position.legal_moves().contains(&pair[0].rated.mv));
            let next = pair[0].position.after(&pair[0].rated.mv).without_runs();
            assert_eq!(next, pair[1].position);
        }
    }
}

#[test]
fn two_pieces_of_every_ruleset() {
    for &variant in Variant::ALL {
        if variant == Variant::Breakthrough {
            // Its kings end the game, so most of its materials have no tables.
            continue;
        }
        let (store, _dir, tb) = tables(variant, 2);
        compare(variant, &store, &tb, 3);
        if variant.is_code() {
            samples(variant, &tb, 2);
        }
        longest(variant, &store, &tb);
    }
}

#[test]
fn three_pieces_of_some_codes() {
    for variant in [Variant::English, Variant::Russian, Variant::Poddavki] {
        let (store, _dir, tb) = tables(variant, 3);
        compare(variant, &store, &tb, 7);
        samples(variant, &tb, 3);
        longest(variant, &store, &tb);
    }
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test probe_truth -- --ignored"]
fn three_pieces_of_every_code() {
    for &variant in Variant::ALL.iter().filter(|v| v.is_code()) {
        let (store, _dir, tb) = tables(variant, 3);
        compare(variant, &store, &tb, 1);
        samples(variant, &tb, 3);
        longest(variant, &store, &tb);
    }
}

/// Sixteen threads ask for positions of many codes at random, with caches too small for the tables,
/// and compare every answer with the solver's. Caches stay within their bounds, and the process does
/// not grow.
fn soak(duration: Duration) {
    const THREADS: u64 = 16;
    const CACHE: u64 = 1 << 16;
    let codes = Variant::ALL.iter().filter(|v| v.is_code());
    let bases: Vec<_> = codes
        .map(|&v| (v, tables(v, if v == Variant::English { 3 } else { 2 })))
        .collect();
    for (_, (_, _, tb)) in &bases {
        tb.set_cache_bytes(CACHE);
    }
    let end = Instant::now() + duration;
    let work = |thread: u64, until: Instant| {
        let mut scratch = dambase_probe::Scratch::new();
        let mut numbers = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread + 1);
        let mut below = |n: u64| {
            numbers ^= numbers << 13;
            numbers ^= numbers >> 7;
            numbers ^= numbers << 17;
            numbers % n
        };
        let mut asked = 0_u64;
        while Instant::now() < until {
            let (variant, (store, _, tb)) = &bases[below(bases.len() as u64) as usize];
            let materials = store.materials();
            let material = materials[below(materials.len() as u64) as usize];
            let index = Index::<u128>::new(variant.rules().geometry, material).unwrap();
            for _ in 0..64 {
                let board = index.board(below(index.positions()));
                let side = Side::BOTH[below(2) as usize];
                let Ok(p) = Position::new(*variant, board, side, [Run::NONE; 2]) else {
                    continue;
                };
                let wanted = value(*variant, store, p.board(), side);
                let got = tb.probe_with(&p, &mut scratch).unwrap();
                assert_eq!(got, wanted, "{variant} {}", p.fen());
                let wld = tb.probe_wld_with(&p, &mut scratch).unwrap();
                assert_eq!(wld, wanted.wld(), "{variant} {}", p.fen());
                asked += 1;
            }
            assert!(tb.cache_bytes() <= CACHE, "{variant}: {}", tb.cache_bytes());
        }
        asked
    };
    let all = |until| {
        std::thread::scope(|s| {
            let threads: Vec<_> = (0..THREADS)
                .map(|t| {
                    s.spawn({
                        let work = &work;
                        move || work(t, until)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>()
        })
    };
    // What is taken once is there after a first tenth.
    let mut asked = all(Instant::now() + duration / 10);
    let before = resident();
    asked += all(end);
    let after = resident();
    assert!(asked > 10_000, "{asked} positions");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(
            after < before + (16 << 20),
            "grew from {before} to {after} bytes"
        );
    }
}

/// Bytes of memory of this process, where the system tells.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn sixteen_threads_at_random() {
    soak(Duration::from_secs(20));
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test probe_truth -- --ignored"]
fn sixteen_threads_at_random_for_an_hour() {
    soak(Duration::from_secs(3600));
}
