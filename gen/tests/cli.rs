//! The command line: every command on small tables, its JSON, its errors and exit codes.

use std::path::Path;
use std::sync::LazyLock;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn dambase(args: &[&str]) -> Command {
    let mut c = Command::cargo_bin("dambase").unwrap();
    c.args(args).env_remove("DAMBASE_DIR");
    c
}

/// English up to 3 pieces, built once.
static ENGLISH: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &["english", "--pieces", "3", "--quiet"])
        .assert()
        .success()
        .stdout("")
        .stderr("");
    dir
});

fn build(dir: &Path, args: &[&str]) -> Command {
    let mut c = dambase(&["build"]);
    c.args(args).arg("--dir").arg(dir);
    c
}

fn english(args: &[&str]) -> Command {
    let mut c = dambase(args);
    c.arg("--dir").arg(ENGLISH.path());
    c
}

/// Standard output, standard error and the exit code.
fn run(c: &mut Command) -> (String, String, i32) {
    let out = c.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (
        text(out.stdout),
        text(out.stderr),
        out.status.code().unwrap(),
    )
}

/// The JSON objects of a run that must succeed.
fn json(c: &mut Command) -> Vec<Value> {
    let (out, err, code) = run(c);
    assert_eq!(code, 0, "{err}");
    objects(&out)
}

fn objects(out: &str) -> Vec<Value> {
    out.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn keys(v: &Value) -> Vec<&str> {
    v.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Sorted as `serde_json` gives the keys of an object.
fn sorted(keys: &[&'static str]) -> Vec<&'static str> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys
}

/// A run that must fail: exit code, and words that must be in what it says.
fn fails(c: &mut Command, code: i32, words: &[&str]) {
    let (out, err, got) = run(c);
    assert_eq!(got, code, "{out}{err}");
    for w in words {
        assert!(err.contains(w), "{w:?} is not in: {err}");
    }
    assert!(err.contains("error: ") && err.contains("help: "), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn moves_as_json() {
    // moves.json: the man must take.
    let got = json(&mut dambase(&[
        "moves",
        "english",
        "W:W18,K24:B12,K15",
        "--json",
    ]));
    let wanted = serde_json::json!({
        "fen": "W:W18,K24:B12,K15", "variant": "english", "winner": null,
        "moves": [{"move": "18x11", "from": 18, "to": 11, "captures": [15], "promotes": false}]
    });
    assert_eq!(got, [wanted]);
    let over = json(&mut dambase(&["moves", "poddavki", "W:W:BKa1", "--json"]));
    assert_eq!(
        (&over[0]["winner"], &over[0]["moves"]),
        (&"white".into(), &serde_json::json!([]))
    );
    let text = run(&mut dambase(&["moves", "russian", "W:Wc3:Bh8"])).0;
    assert!(
        text.contains("c3-d4") && text.contains("2 legal moves"),
        "{text}"
    );
}

#[test]
fn perft_as_json() {
    // Counts of the rules vectors.
    let got = json(&mut dambase(&["perft", "international", "4", "--json"]));
    assert_eq!(got[0]["nodes"], 4265);
    assert_eq!(keys(&got[0]), sorted(&["variant", "fen", "depth", "nodes"]));
    let got = json(&mut dambase(&[
        "perft", "english", "5", "--divide", "--json",
    ]));
    assert_eq!(got[0]["nodes"], 7361);
    let parts = got[0]["moves"].as_array().unwrap();
    assert_eq!(parts.len(), 7);
    let sum: u64 = parts.iter().map(|p| p["nodes"].as_u64().unwrap()).sum();
    assert_eq!(sum, 7361);
    let got = json(&mut dambase(&[
        "perft",
        "english",
        "1",
        "--fen",
        "W:WK1:BK32",
        "--json",
    ]));
    assert_eq!(got[0]["nodes"], 2);
}

#[test]
fn variants_and_completions() {
    let all = json(&mut dambase(&["variants", "--json"]));
    assert_eq!(all.iter().filter(|v| v["code"] == true).count(), 14);
    assert!(all.iter().any(|v| v["variant"] == "spanish-federation"));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (out, _, code) = run(&mut dambase(&["completions", shell]));
        assert!(code == 0 && out.contains("dambase"));
    }
    for command in [
        "build",
        "probe",
        "line",
        "moves",
        "perft",
        "stats",
        "verify",
        "info",
        "plan",
        "variants",
        "completions",
    ] {
        let (out, _, code) = run(&mut dambase(&[command, "--help"]));
        assert!(code == 0 && out.contains("Usage:"), "{command}");
    }
}

#[test]
fn plan_counts_positions() {
    let all = json(&mut dambase(&[
        "plan", "english", "--pieces", "4", "--json",
    ]));
    let total = all.last().unwrap();
    assert_eq!(total["total"], true);
    // Published: all positions of up to 4 pieces.
    assert_eq!(total["positions"], 6_408_836);
    assert_eq!(total["materials"], all.len() - 1);
    // More than 32 bits.
    let args = ["plan", "international", "--only", "KKMvKMM", "--json"];
    let big = json(&mut dambase(&args));
    assert!(big.last().unwrap()["positions"].as_u64().unwrap() > 1 << 32);
    let text = run(&mut dambase(&["plan", "turkish"])).0;
    assert!(text.contains("KvK") && text.contains("of memory"), "{text}");
}

#[test]
fn probe_as_json() {
    // truth/english.json: the longest win of K v K takes 11 plies.
    let got = json(&mut english(&["probe", "english", "W:WK1:BK13", "--json"]));
    let p = &got[0];
    assert_eq!(
        keys(p),
        sorted(&["fen", "variant", "wld", "dtw", "rule", "moves"])
    );
    assert_eq!((&p["wld"], &p["dtw"]), (&"win".into(), &11.into()));
    assert!(p["rule"].is_null());
    let moves = p["moves"].as_array().unwrap();
    assert!(!moves.is_empty());
    let fields = [
        "move", "from", "to", "captures", "promotes", "wld", "dtw", "dtz",
    ];
    for m in moves {
        assert_eq!(keys(m), sorted(&fields));
    }
    // Best first; the distance is what is left after the move.
    assert_eq!(
        (&moves[0]["wld"], &moves[0]["dtw"]),
        (&"win".into(), &10.into())
    );
    let text = run(&mut english(&["probe", "english", "W:WK1:BK13"])).0;
    assert!(text.contains("white to move: wins in 11 plies"), "{text}");
}

#[test]
fn probe_of_captures_and_finished_games() {
    let got = json(&mut english(&[
        "probe",
        "english",
        "W:WK1:BK6",
        "B:W5:B1",
        "--json",
    ]));
    assert_eq!((&got[0]["wld"], &got[0]["dtw"]), (&"win".into(), &1.into()));
    assert_eq!(got[0]["moves"][0]["dtw"], 0);
    assert_eq!(got[1]["fen"], "B:W5:B1");
    // A side without pieces has lost.
    let got = json(&mut english(&["probe", "english", "B:WK1:B", "--json"]));
    assert_eq!(
        (&got[0]["wld"], &got[0]["dtw"]),
        (&"loss".into(), &0.into())
    );
    assert_eq!(got[0]["moves"], serde_json::json!([]));
}

#[test]
fn probe_of_a_stream() {
    let mut c = english(&["probe", "english", "--stdin", "--json"]);
    let (out, _, code) = run(c.write_stdin("W:WK1:BK13\n\nW:WK1:BK1\nnonsense\nW:WK1:BK14\n"));
    assert_eq!(code, 1);
    let all = objects(&out);
    assert_eq!(all.len(), 4);
    assert_eq!(all[0]["dtw"], 11);
    assert_eq!(all[1]["code"], "illegal-position");
    assert_eq!(keys(&all[1]), sorted(&["fen", "error", "code"]));
    assert_eq!(
        (&all[2]["code"], &all[2]["fen"]),
        (&"bad-fen".into(), &"nonsense".into())
    );
    assert_eq!(all[3]["fen"], "W:WK1:BK14");
    let mut c = english(&["probe", "english", "--stdin", "--json"]);
    assert_eq!(run(c.write_stdin("")).2, 0);
    let mut c = english(&["probe", "english", "--stdin", "--json"]);
    let (out, _, code) = run(c.write_stdin(b"\xff\xfe\n".as_slice()));
    assert!(code == 1 && objects(&out)[0]["code"] == "bad-fen");
}

#[test]
fn line_to_the_end() {
    let got = json(&mut english(&["line", "english", "W:WK1:BK13", "--json"]));
    let line = &got[0];
    assert_eq!(line["dtw"], 11);
    assert_eq!(line["plies"], 11);
    assert_eq!(line["moves"].as_array().unwrap().len(), 11);
    assert_eq!(
        (&line["end"], &line["winner"]),
        (&"game-over".into(), &"white".into())
    );
    let text = run(&mut english(&["line", "english", "W:WK1:BK13"])).0;
    assert!(text.contains("white has won"), "{text}");
}

#[test]
fn stats_as_json() {
    let all = json(&mut english(&["stats", "english", "--json"]));
    let fields = [
        "variant",
        "material",
        "side",
        "positions",
        "wins",
        "losses",
        "draws",
        "captures",
        "max_dtw_win",
        "max_dtw_loss",
        "longest_win_fen",
        "rule",
    ];
    // 4 materials of 2 pieces and 12 of 3, both sides to move.
    assert_eq!(all.len(), 32);
    for s in &all {
        assert_eq!(keys(s), sorted(&fields));
    }
    let find = |material: &str, side: &str| {
        let found = all
            .iter()
            .find(|s| s["material"] == material && s["side"] == side);
        found.unwrap()
    };
    // truth/english.json
    for side in ["white", "black"] {
        let s = find("KvK", side);
        assert_eq!(s["positions"], 992);
        assert_eq!((&s["wins"], &s["losses"]), (&230.into(), &108.into()));
        assert_eq!((&s["draws"], &s["captures"]), (&654.into(), &72.into()));
        assert_eq!(
            (&s["max_dtw_win"], &s["max_dtw_loss"]),
            (&11.into(), &10.into())
        );
        // The position named takes as long as it says.
        let fen = s["longest_win_fen"].as_str().unwrap();
        let p = json(&mut english(&["probe", "english", fen, "--json"]));
        assert_eq!(p[0]["dtw"], 11);
    }
    let mirrored = (find("KMvK", "white"), find("KvKM", "black"));
    assert_eq!(mirrored.0["wins"], mirrored.1["wins"]);
    let fen = mirrored.1["longest_win_fen"].as_str().unwrap();
    let p = json(&mut english(&["probe", "english", fen, "--json"]));
    assert_eq!(p[0]["dtw"], mirrored.1["max_dtw_win"]);
    assert!(fen.starts_with("B:"));
    assert!(run(&mut english(&["stats", "english"])).0.contains("KMvK"));
}

#[test]
fn info_of_files_and_directories() {
    let file = ENGLISH.path().join("english/KKvK.wld");
    let got = json(dambase(&["info", "--json"]).arg(&file));
    assert_eq!(got[0]["material"], "KKvK");
    assert_eq!(got[0]["bytes"], std::fs::metadata(&file).unwrap().len());
    assert_eq!(got[0]["slices"].as_array().unwrap().len(), 2);
    // 3 materials of 2 pieces, 6 of 3, two metrics.
    for path in [ENGLISH.path().to_owned(), ENGLISH.path().join("english")] {
        assert_eq!(json(dambase(&["info", "--json"]).arg(path)).len(), 18);
    }
    let text = run(dambase(&["info"]).arg(&file)).0;
    assert!(text.contains("bits per position"), "{text}");
    assert!(
        run(dambase(&["info"]).arg(ENGLISH.path()))
            .0
            .contains("18 tables")
    );
}

#[test]
fn verify_proves() {
    let (out, err, code) = run(&mut english(&["verify", "english", "--quiet"]));
    assert_eq!((out.as_str(), err.as_str(), code), ("", "", 0));
    let (out, _, code) = run(&mut english(&["verify", "english", "--quick"]));
    assert!(code == 0 && out.contains("18 tables proved"), "{out}");
    let (out, _, code) = run(&mut english(&["verify", "english", "--only", "KMvK"]));
    assert!(code == 0 && out.contains("2 tables proved"), "{out}");
}

#[test]
fn wrong_command_lines() {
    fails(
        &mut dambase(&["moves", "chess", "W:W1:B2"]),
        2,
        &["chess", "english"],
    );
    fails(&mut dambase(&["build", "chess"]), 2, &["chess"]);
    for bad in [
        &["build", "english", "--pieces", "1"][..],
        &["build", "english", "--metric", "abc"],
        &["build", "english", "--only", "KQvK"],
        &["build", "english", "--threads", "0"],
        &["build", "english", "--memory", "much"],
        &["build", "english", "--solver", "magic"],
        &["perft", "english", "x"],
        &["perft", "english"],
        &["probe", "english"],
        &["frobnicate"],
    ] {
        let (_, err, code) = run(&mut dambase(bad));
        assert_eq!(code, 2, "{bad:?} {err}");
        assert!(err.contains("error:"), "{bad:?} {err}");
    }
    fails(
        &mut dambase(&["plan", "english", "--pieces", "25"]),
        2,
        &["25", "24", "--pieces"],
    );
    fails(
        &mut dambase(&["plan", "english", "--only", "KKKKKKKKKKKKKvK"]),
        2,
        &["KKKKKKKKKKKKKvK", "12"],
    );
    fails(
        &mut dambase(&["plan", "international", "--pieces", "40"]),
        2,
        &["too large"],
    );
}

#[test]
fn wrong_positions() {
    for (fen, word) in [
        ("", "column 1"),
        ("W:W1x:B2", "column"),
        ("W:W9", "missing"),
        ("X:W9:B2", "column 1"),
        ("W:W9:BK9", "square 9 is occupied twice"),
        ("W:W1:B9", "crowning row (square 1)"),
        ("W:W9:B32", "crowning row (square 32)"),
        ("W:W33:B9", "off the board"),
        ("W:W0:B9", "off the board"),
        (
            "W:WK1,K2,K3,K4,K5,K6,K7,K8,K9,K10,K11,K12,K13:BK20",
            "13 pieces",
        ),
        ("W:WK1:B", "no pieces"),
    ] {
        fails(
            &mut dambase(&["moves", "english", fen]),
            2,
            &["cannot read the position", word],
        );
        fails(
            &mut english(&["probe", "english", fen]),
            2,
            &["cannot probe", word],
        );
        let (out, _, code) = run(&mut dambase(&["moves", "english", fen, "--json"]));
        assert_eq!(code, 2);
        assert_eq!(keys(&objects(&out)[0]), sorted(&["fen", "error", "code"]));
    }
}

#[test]
fn missing_tables_are_named() {
    let fen = "W:WK1,K2,K3:BK13,K14";
    fails(&mut english(&["probe", "english", fen]), 1, &["KKKvKK"]);
    fails(&mut english(&["line", "english", fen]), 1, &["KKKvKK"]);
    let (out, _, code) = run(&mut english(&["probe", "english", fen, "--json"]));
    assert_eq!(code, 1);
    assert_eq!(objects(&out)[0]["code"], "missing-table");
    let none = tempfile::tempdir().unwrap();
    let gone = none.path().join("gone");
    let gone = gone.to_str().unwrap();
    for command in ["probe", "line"] {
        let args = [command, "english", "W:WK1:BK13", "--dir", gone];
        fails(&mut dambase(&args), 1, &["no such directory", gone]);
    }
    fails(
        &mut dambase(&["stats", "english", "--dir", gone]),
        1,
        &[gone],
    );
    fails(
        &mut dambase(&["verify", "english", "--dir", gone]),
        1,
        &[gone],
    );
    fails(&mut dambase(&["info", gone]), 1, &[gone]);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_fault() {
    use std::process::{Command, Stdio};
    let exe = assert_cmd::cargo::cargo_bin("dambase");
    for args in [
        &["variants"][..],
        &["completions", "bash"],
        &["--help"],
        &["plan", "english"],
    ] {
        let mut child = Command::new(&exe)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && err.is_empty(), "{args:?} {err}");
    }
}
