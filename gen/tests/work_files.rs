//! Builds that may not take all the memory they could use: what does not fit goes through work files,
//! and the tables are the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use dambase_gen::build::{Event, Options, Solver, build};
use dambase_gen::plan::Plan;
use dambase_gen::{Control, Error};
use dambase_rules::Variant;
use dambase_tables::Metric;

type Tables = BTreeMap<String, Vec<u8>>;

fn dambase(args: &[&str]) -> (String, String, i32) {
    let mut command = Command::cargo_bin("dambase").unwrap();
    let out = command.args(args).env_remove("DAMBASE_DIR").output();
    let out = out.unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (
        text(out.stdout),
        text(out.stderr),
        out.status.code().unwrap(),
    )
}

/// What is in a directory by name, the lock apart.
fn files(dir: &Path) -> Tables {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
    let files = entries.map(|e| {
        let name = e.file_name().into_string().unwrap();
        (name, fs::read(e.path()).unwrap())
    });
    files.filter(|(name, _)| name != ".lock").collect()
}

/// A set of tables.
#[derive(Clone, Copy)]
struct Set {
    code: &'static str,
    pieces: &'static str,
    metrics: &'static str,
}

const ENGLISH: Set = Set {
    code: "english",
    pieces: "4",
    metrics: "wld,dtw",
};

impl Set {
    fn args(self, command: &'static str) -> Vec<&'static str> {
        let Self {
            code,
            pieces,
            metrics,
        } = self;
        // One thread: its counts of contexts are most of what is needed at least.
        let args = [command, code, "--pieces", pieces, "--metric", metrics];
        [&args[..], &["--threads", "1"]].concat()
    }
    /// The sum of a plan.
    fn plan(self, memory: &str) -> serde_json::Value {
        let args = [self.args("plan"), vec!["--json", "--memory", memory]].concat();
        let (out, err, code) = dambase(&args);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(out.lines().last().unwrap()).unwrap()
    }
    /// What must be in memory.
    fn least(self) -> u64 {
        self.plan("1TiB")["least_memory_bytes"].as_u64().unwrap()
    }
    fn build(self, dir: &Path, memory: &str) -> (String, String, i32) {
        let more = ["--memory", memory, "--dir", dir.to_str().unwrap()];
        dambase(&[&self.args("build")[..], &more].concat())
    }
}

#[test]
fn the_same_bytes_through_work_files() {
    the_same_bytes(&[
        ENGLISH,
        Set {
            code: "international",
            pieces: "3",
            metrics: "wld,dtw,dtz",
        },
        Set {
            code: "russian",
            pieces: "3",
            metrics: "wld,dtz",
        },
        Set {
            code: "frisian",
            pieces: "3",
            metrics: "wld,dtw,dtz",
        },
        Set {
            code: "turkish",
            pieces: "3",
            metrics: "wld",
        },
    ]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test work_files -- --ignored"]
fn the_same_bytes_of_four_pieces() {
    for metrics in ["wld", "wld,dtw", "wld,dtz"] {
        let pieces = "4";
        let sets = ["english", "international"].map(|code| Set {
            code,
            pieces,
            metrics,
        });
        the_same_bytes(&sets);
    }
}

/// Builds with all memory and with the least that is enough.
fn the_same_bytes(sets: &[Set]) {
    for &set in sets {
        let d = tempfile::tempdir().unwrap();
        let (ample, tight) = (d.path().join("ample"), d.path().join("tight"));
        let (out, err, code) = set.build(&ample, "8GiB");
        assert_eq!(code, 0, "{err}");
        assert!(!err.contains("work files") && !out.contains("work files"));
        let least = set.least().to_string();
        let planned = set.plan(&least)["work_file_bytes"].as_u64().unwrap();
        let most = set.plan("1TiB")["memory_bytes"].as_u64().unwrap();
        assert!(planned > 0, "{}", set.code);
        assert!(planned < most, "{}", set.code);
        let (out, err, code) = set.build(&tight, &least);
        assert_eq!(code, 0, "{err}");
        // Said before anything is solved in the pass that has them, and in the end.
        let mut passes = err.split("there already").skip(1);
        let said = |pass: &str| pass.find("go through work files in");
        let pass = passes.find(|pass| said(pass).is_some()).expect("a pass");
        assert!(said(pass) < pass.find(", solved in"), "{err}");
        assert!(err.contains("of memory are too little for all"), "{err}");
        assert!(out.contains("work files of up to"), "{out}");
        assert!(files(&tight.join(set.code)) == files(&ample.join(set.code)));
        assert!(files(&ample.join(set.code)).len() > 8);
    }
}

#[test]
fn one_position_at_a_time_and_from_what_is_there() {
    let d = tempfile::tempdir().unwrap();
    let set = ENGLISH;
    let dir = d.path().join("english");
    let (_, err, code) = set.build(d.path(), "8GiB");
    assert_eq!(code, 0, "{err}");
    let whole = files(&dir);
    // The larger ones again, from what is read back.
    for name in whole.keys().filter(|name| name.len() > "KKvK.wld".len()) {
        fs::remove_file(dir.join(name)).unwrap();
    }
    let (out, err, code) = set.build(d.path(), &set.least().to_string());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("work files of up to"), "{out}");
    assert!(files(&dir) == whole);
    let scalar = d.path().join("scalar");
    let least = set.least().to_string();
    let more = ["--solver", "scalar", "--memory", &least, "--dir"];
    let args = [&set.args("build")[..], &more, &[scalar.to_str().unwrap()]].concat();
    let (out, err, code) = dambase(&args);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("work files of up to"), "{out}");
    assert!(files(&scalar.join("english")) == whole);
}

#[test]
fn too_little_is_said_before_anything_is_written() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("new");
    // Also what comes last, tables under draw limits.
    for metrics in ["wld", "wld,dtw", "wld,dtz"] {
        let set = Set { metrics, ..ENGLISH };
        let (_, err, code) = set.build(&dir, &(set.least() - 1).to_string());
        assert_eq!(code, 1, "{err}");
        for words in [
            "of memory are needed beside work files",
            "may be taken",
            "help: ",
        ] {
            assert!(err.contains(words), "{err}");
        }
        assert!(!dir.exists());
    }
    let (out, _, _) = dambase(&[&ENGLISH.args("plan")[..], &["--memory", "1MB"]].concat());
    assert!(
        out.contains("cannot be built within") && out.contains("beside work files"),
        "{out}"
    );
    // Room for the tables, but not for work files.
    let plan = Plan::complete(Variant::English, 4, &[Metric::Dtw], 1).unwrap();
    let all = vec![true; plan.steps.len()];
    let memory = plan.spill(&all, 0).memory_bytes();
    let options = Options {
        dir: dir.clone(),
        threads: 1,
        memory,
        disk: Some(plan.disk_bytes() + 1000),
        solver: Solver::SetWise,
        rebuild: false,
        verify: false,
    };
    let ignore = |_: Event| {};
    let error = build(&plan, &options, &Control::new(), &ignore).unwrap_err();
    let files = plan.spill(&all, memory).file_bytes();
    assert!(
        matches!(error, Error::Disk { work_files, needed, .. }
            if work_files == files && needed == files + plan.disk_bytes()),
        "{error}"
    );
    assert!(error.to_string().contains("for work files"), "{error}");
    assert!(!dir.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_turns_out_too_small_is_an_error() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("international");
    let set = Set {
        code: "international",
        pieces: "3",
        metrics: "wld,dtw",
    };
    let least = set.least().to_string();
    // No file may grow beyond 64 blocks of 512 bytes; without the signal that is an error.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{}' {} --memory {least} --dir '{}'",
        cargo_bin("dambase").display(),
        set.args("build").join(" "),
        d.path().display()
    );
    let out = std::process::Command::new("sh")
        .args(["-c", &script])
        .output();
    let out = out.unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(
        err.contains("for a work file in") && err.contains("help: "),
        "{err}"
    );
    assert!(err.contains(dir.to_str().unwrap()), "{err}");
    // What is there is complete, and no work file is left.
    let left = files(&dir);
    assert!(!left.keys().any(|name| name.starts_with('.')), "{left:?}");
    let (_, err, code) = set.build(d.path(), &least);
    assert_eq!(code, 0, "{err}");
    let again = files(&dir);
    assert!(again.len() > left.len());
    assert!(left.iter().all(|(name, bytes)| again[name] == *bytes));
}

#[test]
fn a_kill_leaves_no_work_file() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("english");
    let set = Set {
        metrics: "wld",
        ..ENGLISH
    };
    let least = set.least().to_string();
    for milliseconds in [30, 100, 250] {
        let mut child = std::process::Command::new(cargo_bin("dambase"))
            .args(set.args("build"))
            .args(["--memory", &least, "--quiet", "--dir"])
            .arg(d.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // As if it had been killed while a file had its name.
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(".work-12345-7"), [0; 100]).unwrap();
    let (_, err, code) = set.build(d.path(), &least);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains(".work-12345-7, a work file"), "{err}");
    let there = files(&dir);
    assert!(there.keys().all(|name| name.ends_with(".wld")), "{there:?}");
    let whole = d.path().join("whole");
    assert_eq!(set.build(&whole, "8GiB").2, 0);
    assert!(files(&whole.join("english")) == there);
}
