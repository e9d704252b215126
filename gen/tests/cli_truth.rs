//! From `build` to `stats` and `probe`, all codes against the truth; small tables only, larger ones
//! are compared in memory by the test `truth`.

mod common;

use std::collections::HashMap;
use std::path::Path;

use assert_cmd::Command;
use dambase_rules::Variant;
use serde_json::Value as Json;

use common::{data, json};

const PIECES: u64 = 2;

fn dambase(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::cargo_bin("dambase").unwrap();
    c.args(args).env_remove("DAMBASE_DIR").arg("--dir").arg(dir);
    c
}

/// The JSON objects that a command prints, which must succeed.
fn objects(c: &mut Command) -> Vec<Json> {
    let out = c.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{err}");
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn counts(dir: &Path, code: &str) {
    let mut rows = HashMap::new();
    for row in objects(&mut dambase(dir, &["stats", code, "--json"])) {
        rows.insert((row["material"].to_string(), row["side"].to_string()), row);
    }
    let truth = json(&format!("{code}.json"));
    let mut compared = 0;
    for class in truth["classes"].as_array().unwrap() {
        if class["pieces"].as_u64().unwrap() > PIECES {
            continue;
        }
        for side in ["white", "black"] {
            let wanted = &class[side];
            let key = (class["material"].to_string(), format!("{side:?}"));
            let got = &rows[&key];
            for field in ["positions", "wins", "losses", "draws", "captures"] {
                assert_eq!(got[field], wanted[field], "{code} {key:?} {field}");
            }
            assert_eq!(
                got["max_dtw_win"], wanted["longest_win"]["plies"],
                "{code} {key:?}"
            );
            assert_eq!(
                got["max_dtw_loss"], wanted["longest_loss"]["plies"],
                "{code} {key:?}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, rows.len());
}

fn samples(dir: &Path, code: &str) {
    let text = data(&format!("{code}.samples.jsonl"));
    let samples: Vec<Json> = text
        .lines()
        .map(|l| serde_json::from_str::<Json>(l).unwrap())
        .filter(|s| {
            // One comma less than pieces on each side.
            let fen = s["fen"].as_str().unwrap();
            !fen.contains(',')
        })
        .collect();
    let input: String = samples
        .iter()
        .map(|s| format!("{}\n", s["fen"].as_str().unwrap()))
        .collect();
    let mut c = dambase(dir, &["probe", code, "--stdin", "--json"]);
    let got = objects(c.write_stdin(input));
    assert_eq!(got.len(), samples.len());
    assert!(!got.is_empty());
    for (s, g) in samples.iter().zip(&got) {
        let wld = match s["wld"].as_str() {
            Some("W") => "win",
            Some("L") => "loss",
            _ => "draw",
        };
        assert_eq!(g["wld"], wld, "{code} {s} {g}");
        assert_eq!(g["dtw"], s["dtw"], "{code} {s} {g}");
        let moves = g["moves"].as_array().unwrap().len();
        assert_eq!(
            moves as u64,
            s["nmoves"].as_u64().unwrap(),
            "{code} {s} {g}"
        );
    }
}

#[test]
fn every_code_end_to_end() {
    let d = tempfile::tempdir().unwrap();
    let codes = Variant::ALL.iter().filter(|v| v.is_code());
    // The king run of Frisian makes positions of its own, which the truth without it lacks.
    for v in codes.filter(|&&v| v != Variant::Frisian) {
        let code = v.name();
        let args = ["build", code, "--pieces", "2", "--quiet"];
        dambase(d.path(), &args).assert().success();
        counts(d.path(), code);
        samples(d.path(), code);
        dambase(d.path(), &["verify", code, "--quiet"])
            .assert()
            .success();
    }
}
