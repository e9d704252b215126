//! The draw limits on the command line.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value as Json;

fn dambase(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("dambase").unwrap();
    command.env("DAMBASE_DIR", dir).args(args);
    command.output().unwrap()
}

fn json(dir: &Path, args: &[&str]) -> Json {
    let out = dambase(dir, args);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
}

fn text(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(dambase(dir, args).stdout).unwrap()
}

#[test]
fn limits_are_built_shown_and_played() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let args = [
        "build",
        "english",
        "--only",
        "KKvK",
        "--metric",
        "wld,dtw,dtz",
        "--threads",
        "2",
    ];
    let built = dambase(dir, &args);
    assert!(built.status.success(), "{built:?}");
    let said = String::from_utf8(built.stdout).unwrap();
    assert!(said.contains("under the draw limits 40-move"), "{said}");
    // truth/limits/english.samples.jsonl
    let fen = "W:WK1:BK13";
    let p = json(dir, &["probe", "english", fen, "--json"]);
    assert_eq!(p["rule"]["wld"], "win");
    assert_eq!(
        (&p["rule"]["dtz"], &p["rule"]["limit"]),
        (&11.into(), &"40-move".into())
    );
    assert_eq!(p["moves"][0]["dtz"], 10);
    for (run, wld) in [("40-move=69", "win"), ("40-move=70", "cursed-win")] {
        let p = json(dir, &["probe", "english", fen, "--json", "--clock", run]);
        assert_eq!(p["rule"]["wld"], wld, "{run}");
        assert_eq!(p["wld"], "win");
    }
    let said = text(dir, &["probe", "english", fen, "--clock", "40-move=70"]);
    let wanted = "white to move: won in 11 plies, but drawn by the 40-move rule \
                  (needs 11 plies of its clock, 10 left)";
    assert!(said.contains(wanted), "{said}");
    let line = json(dir, &["line", "english", fen, "--rule", "--json"]);
    assert_eq!(
        (&line["plies"], &line["end"]),
        (&11.into(), &"game-over".into())
    );
    let args = [
        "line",
        "english",
        fen,
        "--rule",
        "--json",
        "--clock",
        "40-move=70",
    ];
    let line = json(dir, &args);
    assert_eq!(
        (&line["plies"], &line["limit"]),
        (&10.into(), &"40-move".into())
    );
    for (clock, what) in [
        (
            "16-move=3",
            "english has no draw limit \"16-move\"; it has 40-move",
        ),
        (
            "40-move=81",
            "the 40-move clock has 80 plies, so 81 cannot have run",
        ),
    ] {
        let p = json(dir, &["probe", "english", fen, "--json", "--clock", clock]);
        assert_eq!(
            (&p["error"], &p["code"]),
            (&what.into(), &"bad-limit".into())
        );
        let out = dambase(dir, &["probe", "english", fen, "--clock", clock]);
        assert_eq!(out.status.code(), Some(2));
    }
    let out = dambase(dir, &["probe", "english", fen, "--clock", "40-move"]);
    assert_eq!(out.status.code(), Some(2));
    // truth/limits/english.json
    let stats = text(dir, &["stats", "english", "--json"]);
    let row = stats
        .lines()
        .map(|l| serde_json::from_str::<Json>(l).unwrap())
        .find(|r| r["material"] == "KvK" && r["side"] == "white")
        .unwrap();
    assert_eq!(row["rule"]["max_dtz_win"], 11);
    assert_eq!(row["rule"]["limit"], "40-move");
    assert_eq!(row["rule"]["win"], row["wins"]);
    let proved = text(dir, &["verify", "english"]);
    assert!(
        proved.contains("6 tables proved") && proved.contains(" 0 faults"),
        "{proved}"
    );
}

#[test]
fn a_code_without_limits_says_so() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let args = ["build", "german", "--only", "KvK", "--metric", "dtz"];
    let said = text(dir, &args);
    assert!(said.contains("no draw limit is on"), "{said}");
    let p = json(dir, &["probe", "german", "W:WK1:BK40", "--json"]);
    assert!(p["error"].is_string());
    let p = json(dir, &["probe", "german", "W:WK1:BK32", "--json"]);
    assert_eq!(p["rule"]["wld"], p["wld"]);
    assert!(p["rule"]["limit"].is_null() && p["rule"]["dtz"].is_null());
}
