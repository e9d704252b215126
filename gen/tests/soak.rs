//! Many threads ask one tablebase each of many codes at random. Alone in its program, so that the
//! memory it looks at is its own.

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::files::tables;
use common::value;
use dambase_rules::position::Run;
use dambase_rules::{Position, Side, Variant};
use dambase_tables::Index;

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
        println!("{asked} positions; {before} bytes of memory, then {after}");
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
#[ignore = "slow: cargo test --release -p dambase-gen --test soak -- --ignored"]
fn sixteen_threads_at_random_for_an_hour() {
    soak(Duration::from_secs(3600));
}
