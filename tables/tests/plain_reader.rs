//! A second reader, written from docs/format.md alone and as simply as possible, finds the same
//! values as the real one.

use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, Board, Ruleset, marker, movegen};
use dambase_tables::{
    Codec, DtwArray, Material, RunIndex, Table, Value, WldArray, WriteOptions, write_dtw, write_wld,
};
use std::io::Read;

fn number(file: &[u8], at: usize, bytes: usize) -> usize {
    let digits = file[at..at + bytes].iter().rev();
    digits.fold(0, |n, &b| n * 256 + usize::from(b))
}

fn choose(a: usize, k: usize) -> usize {
    if k > a {
        return 0;
    }
    (0..k).fold(1, |n, i| n * (a - i) / (i + 1))
}

fn rank(set: &[usize], taken: &[usize]) -> usize {
    let mut sorted = set.to_vec();
    sorted.sort_unstable();
    let free = |s: usize| (0..s).filter(|x| !taken.contains(x)).count();
    (1..).zip(&sorted).map(|(k, &s)| choose(free(s), k)).sum()
}

/// Section 3.
fn index(n: usize, w: usize, wk: &[usize], wm: &[usize], bk: &[usize], bm: &[usize]) -> usize {
    let shifted = |low: usize, high: usize| -> Vec<usize> {
        let inside = wm.iter().filter(|&&s| s >= low && s < high);
        inside.map(|&s| s - low).collect()
    };
    let (on, off) = (shifted(n - w, n), shifted(w, n - w));
    let off_squares: Vec<usize> = off.iter().map(|s| s + w).collect();
    let placements_off = |i| choose(n - 2 * w, wm.len() - i);
    let placements_black = |i| choose(n - w - (wm.len() - i), bm.len());
    let base: usize = (0..on.len())
        .map(|i| choose(w, i) * placements_off(i) * placements_black(i))
        .sum();
    let j = on.len();
    let men_rank = base
        + (rank(&on, &[]) * placements_off(j) + rank(&off, &[])) * placements_black(j)
        + rank(bm, &off_squares);
    let free = n - wm.len() - bm.len();
    let white_kings = choose(free - bk.len(), wk.len());
    let men = [wm, bm].concat();
    let king_rank = rank(bk, &men) * white_kings + rank(wk, &[&men, bk].concat());
    men_rank * choose(free, bk.len()) * white_kings + king_rank
}

/// Section 10: what the index of section 3 becomes. `runs` are square and moves of each side's run;
/// `without` the sides that have no runs.
fn with_runs(
    index: usize,
    kings: [&[usize]; 2],
    runs: [(usize, usize); 2],
    without: [bool; 2],
) -> usize {
    let states = |s: usize| {
        if without[s] {
            1
        } else {
            1 + 3 * kings[s].len()
        }
    };
    let rank = |s: usize| {
        let (square, moves) = runs[s];
        if without[s] || moves == 0 {
            0
        } else {
            3 * kings[s].iter().filter(|&&k| k < square).count() + moves
        }
    };
    index * states(0) * states(1) + rank(1) * states(0) + rank(0)
}

/// The symbol and the coding of a position: sections 4 to 6.
fn symbol(file: &[u8], slice: usize, index: usize) -> (usize, usize) {
    let h = 128 + 184 * slice;
    let field = |at, bytes| number(file, h + at, bytes);
    let coding = field(85, 1);
    if field(84, 1) == 0 {
        return (field(86, 2), coding);
    }
    let (positions, per_block) = (field(0, 8), field(88, 4));
    let (b, i) = (index / per_block, index % per_block);
    let blocks = positions.div_ceil(per_block);
    let m = per_block.min(positions - b * per_block);
    let group = field(120, 8) + b / 16 * (8 + 16 * 6);
    let lengths: Vec<usize> = (0..=b % 16)
        .map(|k| number(file, group + 8 + 2 * k, 2))
        .collect();
    assert!(field(128, 8) == 8 * blocks.div_ceil(16) + 6 * blocks);
    let (length, before) = lengths.split_last().unwrap();
    let start = field(144, 8) + number(file, group, 8) + before.iter().sum::<usize>();
    let stored = &file[start..start + length];
    let (packed, unit) = match coding {
        0 => (m.div_ceil(4), 1),
        1 | 3 | 5 => (m, 1),
        _ => (2 * m, 2),
    };
    let bytes = if *length == unit && unit == 1 {
        vec![stored[0]; packed]
    } else if *length == unit {
        [vec![stored[0]; m], vec![stored[1]; m]].concat()
    } else if *length == packed {
        stored.to_vec()
    } else {
        let frame = [&[0x28, 0xb5, 0x2f, 0xfd], stored].concat();
        let dictionary = &file[field(96, 8)..field(96, 8) + field(104, 8)];
        let mut out = Vec::new();
        zstd::Decoder::with_dictionary(&frame[..], dictionary)
            .unwrap()
            .read_to_end(&mut out)
            .unwrap();
        out
    };
    assert_eq!(bytes.len(), packed);
    let symbol = match coding {
        0 => (bytes[i / 4] >> (2 * (i % 4)) & 3).into(),
        1 | 3 | 5 => bytes[i].into(),
        _ => usize::from(bytes[i]) + 256 * usize::from(bytes[m + i]),
    };
    (symbol, coding)
}

fn value(symbol: usize, coding: usize) -> String {
    if symbol == 0 {
        return "draw".into();
    }
    let (win, plies) = match coding {
        0 => return ["draw", "win", "loss"][symbol].into(),
        1 | 2 => (symbol % 2 == 1, (symbol - 1) / 2),
        3 | 4 => (symbol.is_multiple_of(2), symbol - 1),
        _ => (symbol % 2 == 1, symbol - 1),
    };
    format!("{} {plies}", if win { "win" } else { "loss" })
}

fn noise(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 4096
}

fn compare<R: Ruleset>(name: &str, block: u32, longest: u64) {
    let material: Material = name.parse().unwrap();
    let scope = R::RULES.king_run;
    let ix = RunIndex::<R::Bits>::new(R::RULES.geometry, scope, material).unwrap();
    let n = ix.positions();
    let dir = tempfile::tempdir().unwrap();
    let options = WriteOptions {
        codec: Codec::Zstd,
        king_run: scope.is_some(),
        block_positions: Some(block),
        level: 5,
        ..WriteOptions::default()
    };
    // Patterns that come again, so that dictionaries pay.
    let codes = |side: u64| -> Vec<u16> {
        (0..n)
            .map(|i| {
                let x = noise(i % 1500 / 2 + side * 77);
                let plies = x % longest;
                let win = match R::RULES.win_parity() {
                    None => x.is_multiple_of(3),
                    Some(dambase_rules::ruleset::WinParity::Odd) => plies % 2 == 1,
                    Some(dambase_rules::ruleset::WinParity::Even) => plies.is_multiple_of(2),
                };
                match (x % 5, win) {
                    (0, _) => 0,
                    (_, true) => (2 * plies + 1) as u16,
                    (_, false) => (2 * plies + 2) as u16,
                }
            })
            .collect()
    };
    let sides = material.sides();
    let distances: Vec<DtwArray> = sides
        .iter()
        .map(|&s| DtwArray {
            codes: codes(s as u64).into(),
        })
        .collect();
    let wld: Vec<WldArray> = distances
        .iter()
        .map(|d| {
            let mut a = WldArray::new(n);
            (0..n).for_each(|i| a.set(i, d.get(i).wld()));
            a
        })
        .collect();
    let (wld_path, dtw_path) = (dir.path().join("a.wld"), dir.path().join("a.dtw"));
    let refs: Vec<&WldArray> = wld.iter().collect();
    write_wld::<R>(&wld_path, material, &refs, &options).unwrap();
    let refs: Vec<&DtwArray> = distances.iter().collect();
    write_dtw::<R>(&dtw_path, material, &refs, &options).unwrap();
    let files = [&wld_path, &dtw_path].map(|p| std::fs::read(p).unwrap());
    let tables = [&wld_path, &dtw_path].map(|p| Table::open(p).unwrap());
    let g = R::RULES.geometry;
    for (slice, &side) in sides.iter().enumerate() {
        let whole = (
            tables[0].read_wld(side).unwrap(),
            tables[1].read_dtw(side).unwrap(),
        );
        for i in (0..n).step_by((n / 300) as usize) {
            let (b, runs): (Board<R::Bits>, _) = ix.position(i);
            let list = |s: R::Bits| s.squares().map(usize::from).collect::<Vec<_>>();
            let [wk, bk] = b.kings.map(list);
            let [wm, bm] = b.men.map(list);
            let mut at = index(g.squares(), g.per_row(), &wk, &wm, &bk, &bm);
            if let Some(scope) = scope {
                let only_with_men = scope == KingRun::WhileMenRemain;
                let without = [&wm, &bm].map(|men| only_with_men && men.is_empty());
                let runs = runs.map(|r| (r.square.into(), r.count.into()));
                at = with_runs(at, [&wk, &bk], runs, without);
                let flags = number(&files[0], 32, 4);
                assert!(flags & 2 == 2);
            }
            assert_eq!(at as u64, i);
            let (s, coding) = symbol(&files[0], slice, at);
            assert_eq!(value(s, coding), whole.0.get(i).to_string());
            let (s, coding) = symbol(&files[1], slice, at);
            let wanted = match whole.1.get(i) {
                Value::Draw => "draw".into(),
                Value::Win(d) => format!("win {d}"),
                Value::Loss(d) => format!("loss {d}"),
            };
            assert_eq!(value(s, coding), wanted);
            if !movegen::has_capture::<R>(&b, side) {
                assert_eq!(whole.1.get(i), distances[slice].get(i));
            }
        }
    }
}

#[test]
fn the_norm_is_enough_to_read_a_table() {
    compare::<marker::International>("KMvM", 4096, 100);
    compare::<marker::International>("KKMvK", 512, 700);
    compare::<marker::Turkish>("KKvM", 1024, 100);
    compare::<marker::Poddavki>("KMvMM", 256, 300);
    compare::<marker::Canadian>("MvM", 64, 50);
    compare::<marker::Frisian>("KKvK", 1024, 100);
    compare::<marker::FrisianFederation>("KMvK", 4096, 100);
}
