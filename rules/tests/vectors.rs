//! The rules against vectors and counts that come from elsewhere: `data/moves.json` and
//! `data/perft.json`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use dambase_rules::{Position, Run, Side, Variant, movegen, perft, perft_paths};
use serde_json::Value;

fn load(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn variant(entry: &Value) -> Variant {
    let name = match entry["ruleset"].as_str().unwrap() {
        "default" => entry["variant"].as_str().unwrap(),
        ruleset => ruleset,
    };
    name.parse().unwrap()
}

fn house(v: &Value) -> u8 {
    u8::try_from(v.as_u64().unwrap() - 1).unwrap()
}

fn position(entry: &Value, variant: Variant) -> Position {
    let p = Position::parse(variant, entry["fen"].as_str().unwrap()).unwrap();
    let Some(run) = entry.get("state").map(|s| &s["king_run"]) else {
        return p;
    };
    let side = if run["side"] == "white" {
        Side::White
    } else {
        Side::Black
    };
    let mut runs = [Run::NONE; 2];
    runs[side as usize] = Run {
        square: house(&run["square"]),
        count: run["count"].as_u64().unwrap() as u8,
    };
    Position::new(variant, *p.board(), p.side(), runs).unwrap()
}

type Key = (u8, u8, Vec<u8>, bool);

fn generated(p: &Position) -> Vec<Key> {
    p.legal_moves()
        .iter()
        .map(|m| {
            let captured = (0..72).filter(|&s| m.captured >> s & 1 == 1).collect();
            (m.from, m.to, captured, m.promotes)
        })
        .collect()
}

/// A named ruleset has vectors only where it differs, so the default's hold for it otherwise.
fn derived(entries: &[Value]) -> Vec<(Variant, &Value)> {
    const RULESETS: [(&str, &str); 8] = [
        ("german-must-continue", "german"),
        ("spanish-federation", "spanish"),
        ("turkish-promote-at-end", "turkish"),
        ("armenian-queen-king", "armenian"),
        ("armenian-promote-at-end", "armenian"),
        ("greek-must-continue", "greek"),
        ("greek-promote-at-end", "greek"),
        ("frisian-federation", "frisian"),
    ];
    let mut all: Vec<_> = entries.iter().map(|e| (variant(e), e)).collect();
    for (name, base) in RULESETS {
        let v: Variant = name.parse().unwrap();
        let own: BTreeSet<&str> = all
            .iter()
            .filter(|x| x.0 == v)
            .map(|x| x.1["fen"].as_str().unwrap())
            .collect();
        let inherited: Vec<_> = entries
            .iter()
            .filter(|e| e["variant"] == base && e["ruleset"] == "default")
            .filter(|e| !own.contains(e["fen"].as_str().unwrap()))
            .map(|e| (v, e))
            .collect();
        all.extend(inherited);
    }
    all
}

#[test]
fn every_move_list_is_exact() {
    let entries = load("moves.json");
    let mut checked = 0;
    for (variant, e) in derived(&entries) {
        let fen = e["fen"].as_str().unwrap();
        let p = position(e, variant);
        let mut wanted: Vec<Key> = e["moves"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| {
                let captures = m["captures"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(house)
                    .collect();
                (
                    house(&m["from"]),
                    house(&m["to"]),
                    captures,
                    m["promotes"].as_bool().unwrap(),
                )
            })
            .collect();
        let mut got = generated(&p);
        wanted.sort();
        got.sort();
        assert_eq!(got, wanted, "{variant} {fen}");
        let result = e.get("result").map(|r| r == "white");
        assert_eq!(
            p.winner().map(|s| s == Side::White),
            result,
            "{variant} {fen}"
        );
        // The same position seen from the other side.
        let g = variant.rules().geometry;
        let mut mirrored: Vec<Key> = generated(&p.mirrored())
            .into_iter()
            .map(|(from, to, captured, promotes)| {
                let mut turned: Vec<u8> = captured.iter().map(|&s| g.rotate(s)).collect();
                turned.sort_unstable();
                (g.rotate(from), g.rotate(to), turned, promotes)
            })
            .collect();
        mirrored.sort();
        assert_eq!(mirrored, wanted, "{variant} {fen} with colours swapped");
        // FEN out and in again.
        assert_eq!(Position::parse(variant, &p.fen()), Ok(p));
        checked += 1;
    }
    assert!(checked >= 451, "{checked}");
    for v in Variant::ALL.iter().filter(|v| v.is_code()) {
        assert!(
            entries.iter().any(|e| variant(e) == *v),
            "no vectors for {v}"
        );
    }
}

#[test]
fn notation_is_the_codes_own_and_unique() {
    for (variant, e) in derived(&load("moves.json")) {
        let p = position(e, variant);
        let moves = p.legal_moves();
        let texts = p.notation(&moves);
        assert_eq!(
            texts.iter().collect::<BTreeSet<_>>().len(),
            moves.len(),
            "{variant} {e}"
        );
        for (m, text) in moves.iter().zip(&texts) {
            let twins = moves
                .iter()
                .filter(|o| o.from == m.from && o.to == m.to)
                .count();
            // The vectors write German algebraically too, players use house numbers.
            let algebraic = matches!(
                variant.rules().notation,
                dambase_rules::ruleset::Notation::Algebraic
                    | dambase_rules::ruleset::Notation::AlgebraicColon
            );
            if twins > 1 || !algebraic || e["variant"] != variant.name() {
                continue;
            }
            let wanted = e["moves"]
                .as_array()
                .unwrap()
                .iter()
                .find(|w| house(&w["from"]) == m.from && house(&w["to"]) == m.to)
                .and_then(|w| w["alg"].as_str())
                .unwrap();
            assert_eq!(text, wanted, "{variant}");
        }
    }
}

#[test]
fn king_run_histories_lead_to_their_states() {
    let mut seen = 0;
    for e in load("moves.json")
        .iter()
        .filter(|e| e.get("history").is_some())
    {
        let v = variant(e);
        let history = &e["history"];
        let mut p = Position::parse(v, history["fen"].as_str().unwrap()).unwrap();
        for text in history["moves"].as_array().unwrap() {
            let text = text.as_str().unwrap();
            let moves = p.legal_moves();
            let names = p.notation(&moves);
            let i = names.iter().position(|n| n == text).expect(text);
            p = p.after(&moves[i]);
        }
        let wanted = position(e, v);
        let side = wanted.side() as usize;
        assert_eq!(p.board(), wanted.board());
        assert_eq!(p.runs()[side], wanted.runs()[side], "{v} {e}");
        seen += 1;
    }
    assert!(seen >= 6);
}

fn check_perft(limit: std::ops::RangeInclusive<u64>) {
    let mut entries = load("perft.json");
    entries.retain(|e| limit.contains(&e["nodes"].as_u64().unwrap()));
    // That program counts some captures more than once; its label says so.
    entries.retain(|e| e["counting"] != "kish routes");
    assert!(!entries.is_empty());
    entries.sort_by_key(|e| std::cmp::Reverse(e["nodes"].as_u64()));
    let next = AtomicUsize::new(0);
    let check = || {
        while let Some(e) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let v = variant(e);
            let p = Position::parse(v, e["fen"].as_str().unwrap()).unwrap();
            let depth = u32::try_from(e["depth"].as_u64().unwrap()).unwrap();
            let got = match e["counting"].as_str().unwrap() {
                "moves" => perft(&p, depth),
                "paths" => perft_paths(&p, depth),
                other => panic!("unknown way of counting {other}"),
            };
            assert_eq!(Some(got), e["nodes"].as_u64(), "{e}");
            println!("{v} {depth}: {got}");
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            s.spawn(check);
        }
    });
}

#[test]
fn perft_counts_up_to_ten_million() {
    check_perft(0..=10_000_000);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-rules --test vectors -- --ignored"]
fn perft_counts_beyond_ten_million() {
    check_perft(10_000_001..=u64::MAX);
}

#[test]
fn start_positions_are_those_of_the_rules_reference() {
    for (name, fen) in [
        ("english", "B:W21-32:B1-12"),
        ("pool", "B:W21-32:B1-12"),
        ("german", "W:W21-32:B1-12"),
        ("italian", "W:W21-32:B1-12"),
        ("spanish", "W:W21-32:B1-12"),
        ("international", "W:W31-50:B1-20"),
        ("frisian", "W:W31-50:B1-20"),
        ("canadian", "W:W43-72:B1-30"),
        ("turkish", "W:W41-56:B9-24"),
        (
            "russian",
            "W:Wa1,c1,e1,g1,b2,d2,f2,h2,a3,c3,e3,g3:Bb6,d6,f6,h6,a7,c7,e7,g7,b8,d8,f8,h8",
        ),
    ] {
        let v: Variant = name.parse().unwrap();
        assert_eq!(Position::parse(v, fen), Ok(Position::start(v)), "{name}");
    }
}

#[test]
fn the_quick_capture_test_agrees_with_the_generator() {
    struct Check<'a>(&'a Position);
    impl dambase_rules::WithRuleset for Check<'_> {
        type Output = (bool, bool);
        fn run<R: dambase_rules::Ruleset>(self) -> (bool, bool) {
            let board = dambase_rules::Board::from_wide(self.0.board());
            let mut list = dambase_rules::MoveList::new();
            movegen::captures::<R>(&board, self.0.side(), &mut list);
            (
                movegen::has_capture::<R>(&board, self.0.side()),
                !list.is_empty(),
            )
        }
    }
    for (variant, e) in derived(&load("moves.json")) {
        let (quick, full) = variant.with(Check(&position(e, variant)));
        assert_eq!(quick, full, "{variant} {e}");
    }
}

/// A tag as it stands in a PDN file is the position in it, and half a tag is none.
#[test]
fn pdn_tags() {
    let parse = |text: &str| Position::parse(Variant::English, text);
    let wanted = parse("W:W18,K24:B12").unwrap();
    for tag in [
        "[FEN \"W:W18,K24:B12\"]",
        " [fen \"W:W18, K24:B12.\" ] ",
        "[FEN\"W:W18,K24:B12\"]",
    ] {
        assert_eq!(parse(tag).unwrap(), wanted, "{tag}");
    }
    for tag in [
        "[FEN \"W:W18,K24:B12\"",
        "W:W18,K24:B12\"]",
        "[FEN \"\"]",
        "[FEN \"]",
    ] {
        assert!(parse(tag).is_err(), "{tag}");
    }
    let error = parse("[FEN \"W:W18,K24:X12\"]").unwrap_err().to_string();
    assert!(error.contains("column 17"), "{error}");
}
