//! Files as they are over a slow network, and a clock that jumps: a library loaded before the C
//! library delays calls, interrupts them, and lets them take half of what they were given.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// What changes how files and clocks behave.
struct Shim {
    library: PathBuf,
    report: PathBuf,
}

impl Shim {
    /// Compiles it into a directory.
    fn new(dir: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slow_files/shim.c");
        let library = dir.join("shim.so");
        let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut compiler = std::process::Command::new(cc);
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
        let status = compiler.arg(&library).arg(source).arg("-ldl").status();
        assert!(status.unwrap().success());
        let report = dir.join("report");
        Self { library, report }
    }
    /// How often something was done by all programs that have ended.
    fn count(&self, what: &str) -> u64 {
        let report = fs::read_to_string(&self.report).unwrap();
        let lines = report.lines().filter_map(|l| l.strip_prefix(what));
        lines.map(|n| n.trim().parse::<u64>().unwrap()).sum()
    }
}

/// Runs a command that must succeed; returns what it prints.
fn run(shim: Option<&Shim>, args: &str, dir: &Path) -> String {
    let mut c = Command::cargo_bin("dambase").unwrap();
    c.args(args.split(' '))
        .env_remove("DAMBASE_DIR")
        .current_dir(dir);
    if let Some(shim) = shim {
        c.env("LD_PRELOAD", &shim.library)
            .env("SHIM_REPORT", &shim.report);
    }
    let out = c.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success() && !err.contains("panicked"),
        "{args}: {err}"
    );
    String::from_utf8(out.stdout).unwrap()
}

/// The tables of a directory by name.
fn tables(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
    let name = |e: &fs::DirEntry| e.file_name().into_string().unwrap();
    let files = files.map(|e| (name(&e), fs::read(e.path()).unwrap()));
    files.filter(|(name, _)| !name.starts_with('.')).collect()
}

#[test]
fn slow_files_and_a_jumping_clock_change_nothing() {
    let d = tempfile::tempdir().unwrap();
    let shim = Shim::new(d.path());
    let build = "build english --pieces 3 --metric wld,dtw,dtz --dir";
    run(None, &format!("{build} plain"), d.path());
    run(Some(&shim), &format!("{build} slow"), d.path());
    let (plain, slow) = (
        d.path().join("plain/english"),
        d.path().join("slow/english"),
    );
    assert!(tables(&plain).len() > 20 && tables(&plain) == tables(&slow));
    // What is missing is added.
    for name in ["KKvK.wld", "MvM.dtz", "KMvM.dtw"] {
        fs::remove_file(slow.join(name)).unwrap();
    }
    run(Some(&shim), &format!("{build} slow"), d.path());
    assert!(tables(&plain) == tables(&slow));
    // What is there is read as it is.
    for command in [
        "probe english W:WK1,18:BK32 --json --dir plain",
        "line english W:WK1,K5:BK32 --dir plain",
        "stats english --json --dir plain",
        "info plain/english --json",
        "checksums english --dir plain",
    ] {
        let wanted = run(None, command, d.path());
        assert!(!wanted.is_empty());
        assert_eq!(run(Some(&shim), command, d.path()), wanted);
    }
    let proof = run(Some(&shim), "verify english --dir slow", d.path());
    assert!(proof.contains("0 faults"), "{proof}");
    // An archive and back.
    run(
        Some(&shim),
        "pack english --dir plain --to archive",
        d.path(),
    );
    run(
        Some(&shim),
        "unpack english --dir archive --to back",
        d.path(),
    );
    assert!(tables(&d.path().join("back/english")) == tables(&plain));
    for what in ["halved", "interrupted", "synced", "jumps"] {
        assert!(shim.count(what) > 10, "{what}: {}", shim.count(what));
    }
}
