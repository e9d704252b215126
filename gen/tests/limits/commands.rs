//! The draw limits on the command line.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use dambase_gen::{Control, limits, verify};
use dambase_rules::Variant;
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

/// Two clocks at once: the worked position of docs/rules.md.
#[test]
fn thirty_moves_run_beside_fifteen() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let limits = "default,30-move,60-move";
    let args = ["build", "russian", "--only", "KKvKM", "--limits", limits];
    let args = [&args[..], &["--metric", "wld,dtw,dtz", "--threads", "2"]].concat();
    let built = dambase(dir, &args);
    assert!(built.status.success(), "{built:?}");
    let said = String::from_utf8(built.stdout).unwrap();
    assert!(said.contains("5-move,15-move,30-move,60-move"), "{said}");
    let fen = "W:WK26,K32:BK4,8";
    let rule = |clock: &[&str]| {
        let args = ["probe", "russian", fen, "--json"];
        json(dir, &[&args[..], clock].concat())["rule"].clone()
    };
    let wanted = serde_json::json!({
        "wld": "win", "dtz": 2, "limit": "15-move",
        "others": [{ "limit": "30-move", "dtz": 8, "left": 60 }],
    });
    assert_eq!(rule(&[]), wanted);
    let run = rule(&["--clock", "15-move=28,30-move=52"]);
    assert_eq!(
        (&run["wld"], &run["limit"]),
        (&"win".into(), &"15-move".into())
    );
    let run = rule(&["--clock", "15-move=29", "--clock", "30-move=52"]);
    assert_eq!(
        (&run["wld"], &run["limit"]),
        (&"cursed-win".into(), &"15-move".into())
    );
    let run = rule(&["--clock", "30-move=53"]);
    assert_eq!(
        (&run["wld"], &run["limit"]),
        (&"cursed-win".into(), &"30-move".into())
    );
    let said = text(dir, &["probe", "russian", fen, "--clock", "30-move=53"]);
    let wanted = "but drawn by the 30-move rule (needs 8 plies of its clock, 7 left)";
    assert!(said.contains(wanted), "{said}");
    let said = text(dir, &["probe", "russian", fen]);
    let wanted = "within the 15-move rule (needs 2 plies of its clock, 30 left) and the 30-move rule \
                  (needs 8 plies, 60 left)";
    assert!(said.contains(wanted), "{said}");
    let args = [
        "line",
        "russian",
        fen,
        "--rule",
        "--json",
        "--clock",
        "30-move=53",
    ];
    let line = json(dir, &args);
    assert_eq!(
        (&line["plies"], &line["limit"]),
        (&7.into(), &"30-move".into())
    );
    for (clock, what) in [
        (
            "30-move=61",
            "the 30-move clock has 60 plies, so 61 cannot have run",
        ),
        (
            "60-move=1",
            "the 60-move clock cannot run in this position of KKvKM, which 15-move governs",
        ),
    ] {
        let args = ["probe", "russian", fen, "--json", "--clock", clock];
        let p = json(dir, &args);
        assert_eq!(
            (&p["error"], &p["code"]),
            (&what.into(), &"bad-limit".into())
        );
    }
    let rows = text(dir, &["stats", "russian", "--json"]);
    let row = rows
        .lines()
        .map(|l| serde_json::from_str::<Json>(l).unwrap())
        .find(|r| r["material"] == "KKvKM" && r["side"] == "white")
        .unwrap();
    assert_eq!(row["rule"]["limit"], "15-move");
    assert_eq!(row["rule"]["beside"], "30-move");
    // Tables of other limits do not mix, and say so; a build goes on with the same.
    let args = ["build", "russian", "--only", "KKvKM", "--metric", "wld,dtz"];
    let other = dambase(dir, &args);
    assert_eq!(other.status.code(), Some(1));
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("built under other draw limits"), "{said}");
    std::fs::remove_file(dir.join("russian/KKvKM.dtz")).unwrap();
    let again = dambase(dir, &[&args[..], &["--limits", limits]].concat());
    let said = String::from_utf8(again.stdout).unwrap();
    assert!(said.contains("(1 built,"), "{said}");
    let plan = |limits: &[&str]| {
        let args = [
            "plan", "russian", "--only", "KKvKM", "--metric", "wld,dtz", "--json",
        ];
        let all = text(dir, &[&args[..], limits].concat());
        let total = all.lines().last().unwrap();
        serde_json::from_str::<Json>(total).unwrap()["memory_bytes"].as_u64()
    };
    assert!(plan(&["--limits", limits]) > plan(&[]));
    // A clock that is off, where tables were built without it.
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let args = ["build", "russian", "--only", "KKvK", "--metric", "wld,dtz"];
    assert!(dambase(dir, &args).status.success());
    let p = json(
        dir,
        &["probe", "russian", fen, "--json", "--clock", "30-move=1"],
    );
    assert_eq!(
        p["error"],
        "the draw limit 30-move is switched off; add it to the limits to use its clock"
    );
}

/// Progress comes to its end when the proof does.
#[test]
fn all_positions_that_are_proved_are_announced() {
    let dir = tempfile::tempdir().unwrap();
    super::pairs::build_files(Variant::International, "KMvK", dir.path());
    for quick in [false, true] {
        let request = verify::Request {
            dir: dir.path(),
            variant: Variant::International,
            only: &[],
            quick,
            memory: u64::MAX,
        };
        let control = Control::new();
        let plain = verify::verify(&request, &control, &mut |_| {}).unwrap();
        let limits = limits::prove::prove(&request, &control, &mut |_| {}).unwrap();
        assert_eq!((plain.faults, limits.faults), (0, 0));
        let announced = verify::positions(&request).unwrap();
        assert_eq!(plain.positions + limits.positions, announced);
        assert_eq!(control.positions(), announced);
    }
}
