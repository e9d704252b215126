//! Compares with figures from the literature; the sources are named in data/published.json.

mod common;

use common::{Solver, build, closure, closure_by, counts, json, value_of_fen};
use dambase_gen::{scalar, setwise};
use dambase_rules::Variant;
use dambase_tables::{Material, Wld};
use serde_json::Value as Json;

fn wld_name(wld: Wld) -> &'static str {
    match wld {
        Wld::Win => "win",
        Wld::Loss => "loss",
        Wld::Draw => "draw",
    }
}

fn array<'a>(json: &'a Json, path: &[&str]) -> &'a Vec<Json> {
    let found = path.iter().fold(json, |j, key| &j[*key]);
    found.as_array().expect("an array")
}

#[test]
fn english_to_four_pieces() {
    let store = build(Variant::English, 4, true);
    let (mut sums, mut longest) = ([0; 3], 0);
    for m in store.materials() {
        for s in counts(Variant::English, store.get(m).unwrap()) {
            sums[0] += s.wins;
            sums[1] += s.losses;
            sums[2] += s.draws;
            longest = longest.max(s.longest_win.map_or(0, |l| l.plies.0));
        }
    }
    assert_eq!(sums, [2_675_270, 2_004_797, 1_728_769]);
    assert_eq!(sums.iter().sum::<u64>(), 6_408_836);
    assert_eq!(longest, 109);
    for fen in ["W:W13,25:B3,4", "W:W9,29:B3,4"] {
        let value = value_of_fen(Variant::English, &store, fen);
        assert_eq!(value.dtw().map(|d| d.0), Some(109), "{fen}");
    }
    // Two kings against one: won but for 34 placements.
    let kk = counts(
        Variant::English,
        store.get(Material::new(2, 0, 1, 0)).unwrap(),
    );
    assert_eq!((kk[0].wins, kk[0].draws, kk[0].losses), (14_846, 34, 0));
    let k = counts(
        Variant::English,
        store.get(Material::new(1, 0, 1, 0)).unwrap(),
    );
    assert_eq!((k[0].wins, k[0].draws, k[0].losses), (230, 654, 108));
    assert_eq!(k[0].longest_win.map(|l| l.plies.0), Some(11));
    let mut seen = 0;
    let published = json("published.json");
    for case in array(&published, &["english_dtw", "data"]) {
        let fen = case[0].as_str().unwrap();
        let value = value_of_fen(Variant::English, &store, fen);
        assert_eq!(case[1].as_str(), Some(wld_name(value.wld())), "{fen}");
        let plies = value.dtw().map(|d| u64::from(d.0));
        assert_eq!(case[2].as_u64(), plies, "{fen}");
        seen += 1;
    }
    assert!(seen >= 50);
}

#[test]
fn international_king_and_man_each() {
    let kmkm = Material::new(1, 1, 1, 1);
    let store = closure(Variant::International, &[kmkm], true);
    let stats = &counts(Variant::International, store.get(kmkm).unwrap())[0];
    let published = json("published.json");
    let entries = array(&published, &["wld_counts"]);
    let entry = entries
        .iter()
        .find(|e| e["slice"] == "1111" && e["variant"] == "international")
        .unwrap();
    assert_eq!(entry["positions"], stats.positions);
    assert_eq!(entry["win"], stats.wins);
    assert_eq!(entry["loss"], stats.losses);
    assert_eq!(entry["draw"], stats.draws);
    let mut seen = 0;
    for pair in array(entry, &["dtm_histogram_one_side"]) {
        let (plies, n) = (pair[0].as_i64().unwrap(), pair[1].as_u64().unwrap());
        let histogram = if plies > 0 {
            &stats.win_plies
        } else {
            &stats.loss_plies
        };
        assert_eq!(histogram[plies.unsigned_abs() as usize], n, "{plies}");
        seen += n;
    }
    assert_eq!(seen, stats.wins + stats.losses);
    for entry in entries.iter().filter(|e| e["variant"] == "international") {
        for case in entry["positions_given"].as_array().into_iter().flatten() {
            let fen = case[0].as_str().unwrap();
            let value = value_of_fen(Variant::International, &store, fen);
            assert_eq!(case[1].as_str(), Some(wld_name(value.wld())), "{fen}");
            let plies = value.dtw().map(|d| u64::from(d.0));
            assert_eq!(case[2].as_u64(), plies, "{fen}");
        }
    }
    let value = value_of_fen(Variant::International, &store, "B:WK49:B24");
    assert_eq!((value.wld(), value.dtw().unwrap().0), (Wld::Loss, 8));
}

fn international_samples(pieces: u8) {
    let store = build(Variant::International, pieces, true);
    let published = json("published.json");
    let mut seen = 0;
    for case in array(&published, &["international_wld", "data"]) {
        if case[2].as_u64() <= Some(pieces.into()) {
            let fen = case[0].as_str().unwrap();
            let value = value_of_fen(Variant::International, &store, fen);
            assert_eq!(case[1].as_str(), Some(wld_name(value.wld())), "{fen}");
            seen += 1;
        }
    }
    assert!(seen >= 9);
}

#[test]
fn international_to_three_pieces() {
    international_samples(3);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test published -- --ignored"]
fn international_to_four_pieces() {
    international_samples(4);
}

/// Men only, won by the first crowning: wins and losses of those who need not capture.
fn breakthrough(men: u8, solver: Solver) {
    let material = Material::new(0, men, 0, men);
    let store = closure_by(solver, Variant::Breakthrough, &[material], false);
    let published = json("published.json");
    let slices = &published["breakthrough_8x8"]["slices_men_v_men"];
    for n in 1..=men {
        let solved = store.get(Material::new(0, n, 0, n)).unwrap();
        let stats = &counts(Variant::Breakthrough, solved)[0];
        let wanted = &slices[format!("{n}x{n}")];
        assert_eq!(wanted["non_capture_wins"], stats.quiet_wins, "{n}");
        assert_eq!(wanted["non_capture_losses"], stats.quiet_losses, "{n}");
    }
}

#[test]
fn breakthrough_to_three_men_each() {
    breakthrough(3, scalar::solve_variant);
    breakthrough(3, setwise::solve_variant);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test published -- --ignored"]
fn breakthrough_four_men_each() {
    breakthrough(4, setwise::solve_variant);
}
