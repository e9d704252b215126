//! `dambase build` and `dambase verify` when things go wrong: what is there, what is damaged, two
//! builders, kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

fn dambase(args: &[&str], dir: &Path) -> Command {
    let mut c = Command::cargo_bin("dambase").unwrap();
    c.args(args).env_remove("DAMBASE_DIR").arg("--dir").arg(dir);
    c
}

fn run(c: &mut Command) -> (String, String, i32) {
    let out = c.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (
        text(out.stdout),
        text(out.stderr),
        out.status.code().unwrap(),
    )
}

fn succeeds(args: &[&str], dir: &Path) -> String {
    let (out, err, code) = run(&mut dambase(args, dir));
    assert_eq!(code, 0, "{out}{err}");
    out
}

fn fails(args: &[&str], dir: &Path, words: &[&str]) -> String {
    let (out, err, code) = run(&mut dambase(args, dir));
    assert_eq!(code, 1, "{out}{err}");
    for w in words {
        assert!(
            out.contains(w) || err.contains(w),
            "{w:?} is not in: {out}{err}"
        );
    }
    assert!(err.contains("help: ") && !err.contains("panicked"), "{err}");
    err
}

/// The tables of a directory by name.
fn tables(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(dir) else {
        return BTreeMap::new();
    };
    entries
        .map(|e| e.unwrap())
        .map(|e| {
            (
                e.file_name().into_string().unwrap(),
                fs::read(e.path()).unwrap(),
            )
        })
        .filter(|(name, _)| !name.starts_with('.'))
        .collect()
}

/// What must not change a single byte: threads, memory, the solver, the instructions of the
/// processor, the place.
#[test]
fn the_same_bytes_whatever_the_circumstances() {
    for (code, pieces) in [("english", "3"), ("russian", "3"), ("turkish", "2")] {
        let d = tempfile::tempdir().unwrap();
        let build = |name: &str, more: &[&str], portable: &str| {
            let dir = d.path().join(name);
            let args = ["build", code, "--pieces", pieces, "--quiet"];
            let metrics = ["--metric", "wld,dtw,dtz"];
            // Not every code has draw limits.
            let metrics = if code == "turkish" { &[] } else { &metrics[..] };
            let mut c = dambase(&[&args[..], metrics, more].concat(), &dir);
            let (out, err, status) = run(c.env("DAMBASE_PORTABLE", portable));
            assert_eq!(status, 0, "{out}{err}");
            tables(&dir.join(code))
        };
        let one = build("one", &["--threads", "1"], "");
        assert!(one.len() >= 6);
        for (name, more, portable) in [
            ("fo ur/\u{e9}/", &["--threads", "4"][..], "0"),
            ("tight", &["--memory", "120MiB", "--threads", "2"], ""),
            ("scalar", &["--solver", "scalar"], ""),
            ("portable", &[], "1"),
        ] {
            assert!(build(name, more, portable) == one, "{code} {name}");
        }
    }
}

/// Spaces, accents, links, long names, separators at the end: a directory is a directory.
#[cfg(unix)]
#[test]
fn unusual_paths() {
    let d = tempfile::tempdir().unwrap();
    let real = d
        .path()
        .join("\u{e9}n deux/\u{448}\u{430}\u{448}\u{43a}\u{438} 'x\"y");
    fs::create_dir_all(&real).unwrap();
    let link = d.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut long = d.path().to_owned();
    for _ in 0..8 {
        long.push("l".repeat(200));
    }
    let slashes = d.path().join("slashes//").join(".//");
    let mut all = Vec::new();
    for dir in [&link, &long, &slashes] {
        succeeds(&["build", "english", "--pieces", "2", "--quiet"], dir);
        succeeds(&["verify", "english", "--quiet"], dir);
        all.push(tables(&dir.join("english")));
        let out = succeeds(&["probe", "english", "W:WK1:BK32", "--json"], dir);
        assert!(out.contains("\"wld\""), "{out}");
    }
    assert!(all[0].len() >= 6 && all[0] == all[1] && all[0] == all[2]);
    // The link and the directory it leads to are one place.
    assert!(tables(&real.join("english")) == all[0]);
    succeeds(&["verify", "english", "--quiet"], &real);
    let dangling = d.path().join("dangling");
    std::os::unix::fs::symlink(d.path().join("nowhere"), &dangling).unwrap();
    fails(
        &["probe", "english", "W:WK1:BK32"],
        &dangling,
        &["dangling"],
    );
    // A table may be a link too.
    let other = d.path().join("other/english");
    fs::create_dir_all(&other).unwrap();
    for name in all[0].keys() {
        std::os::unix::fs::symlink(link.join("english").join(name), other.join(name)).unwrap();
    }
    succeeds(&["verify", "english", "--quiet"], &d.path().join("other"));
}

#[test]
fn what_is_there_is_kept_and_what_is_missing_is_added() {
    let d = tempfile::tempdir().unwrap();
    let args = ["build", "english", "--pieces", "3"];
    let out = succeeds(&args, d.path());
    assert!(out.contains("9 built, 0 were there"), "{out}");
    let dir = d.path().join("english");
    let all = tables(&dir);
    assert_eq!(all.len(), 18);
    let out = succeeds(&args, d.path());
    assert!(out.contains("0 built, 9 were there"), "{out}");
    // Some tables less, an unfinished one more.
    fs::remove_file(dir.join("KMvM.dtw")).unwrap();
    fs::remove_file(dir.join("KvK.wld")).unwrap();
    fs::write(dir.join(".KMvM.dtw.tmp-1"), "half").unwrap();
    let out = succeeds(&args, d.path());
    assert!(out.contains("2 built, 7 were there"), "{out}");
    assert!(tables(&dir) == all);
    assert!(!dir.join(".KMvM.dtw.tmp-1").exists());
    // Values without distances, then distances on top.
    let d2 = tempfile::tempdir().unwrap();
    succeeds(
        &[&args[..], &["--metric", "wld", "--quiet"]].concat(),
        d2.path(),
    );
    assert_eq!(tables(&d2.path().join("english")).len(), 9);
    succeeds(&[&args[..], &["--quiet"]].concat(), d2.path());
    assert!(tables(&d2.path().join("english")) == all);
}

#[test]
fn only_some_materials_with_what_they_need() {
    let d = tempfile::tempdir().unwrap();
    succeeds(
        &[
            "build",
            "english",
            "--only",
            "MvKM,KKvK",
            "--metric",
            "wld",
            "--quiet",
        ],
        d.path(),
    );
    let names: Vec<_> = tables(&d.path().join("english")).into_keys().collect();
    let wanted = ["KKvK", "KKvM", "KMvK", "KMvM", "KvK", "KvM", "MvM"];
    for m in wanted {
        assert!(
            names.contains(&format!("{m}.wld")) || m == "KMvK",
            "{m} {names:?}"
        );
    }
    succeeds(&["verify", "english", "--quiet"], d.path());
}

#[test]
fn damaged_and_foreign_tables_are_named_and_kept() {
    let d = tempfile::tempdir().unwrap();
    let build = ["build", "english", "--pieces", "3", "--quiet"];
    succeeds(&build, d.path());
    let dir = d.path().join("english");
    let good = tables(&dir);
    let file = dir.join("KMvK.dtw");
    let bytes = good["KMvK.dtw"].clone();
    let mut flipped = bytes.clone();
    let at = flipped.len() - 9;
    flipped[at] ^= 4;
    for bad in [
        flipped,
        bytes[..bytes.len() - 5].to_vec(),
        b"nonsense".to_vec(),
        vec![],
    ] {
        fs::write(&file, &bad).unwrap();
        fails(&build, d.path(), &["KMvK.dtw", "--rebuild"]);
        assert_eq!(fs::read(&file).unwrap(), bad);
        fails(&["verify", "english"], d.path(), &["fault: ", "KMvK.dtw"]);
    }
    succeeds(&[&build[..], &["--rebuild"]].concat(), d.path());
    assert!(tables(&dir) == good);
    // A table of another code.
    succeeds(&["build", "italian", "--pieces", "2", "--quiet"], d.path());
    fs::copy(d.path().join("italian/KvK.wld"), dir.join("KvK.wld")).unwrap();
    fails(&build, d.path(), &["KvK.wld", "italian"]);
    fails(&["verify", "english"], d.path(), &["KvK.wld", "italian"]);
}

#[test]
fn verify_names_what_is_wrong() {
    let d = tempfile::tempdir().unwrap();
    succeeds(&["build", "english", "--pieces", "3", "--quiet"], d.path());
    let dir = d.path().join("english");
    let good = tables(&dir);
    // Missing, mirrored name, no table, unfinished.
    fs::remove_file(dir.join("KMvK.dtw")).unwrap();
    fs::write(dir.join("MvKM.wld"), &good["KMvM.wld"]).unwrap();
    fs::write(dir.join("notes.txt"), "x").unwrap();
    fs::write(dir.join(".KMvK.dtw.tmp-77"), "x").unwrap();
    fails(
        &["verify", "english"],
        d.path(),
        &[
            "KMvK.dtw: is missing",
            "MvKM.wld",
            "notes.txt",
            ".KMvK.dtw.tmp-77",
        ],
    );
    fs::remove_file(dir.join("MvKM.wld")).unwrap();
    fs::write(dir.join("KMvK.dtw"), &good["KMvK.dtw"]).unwrap();
    succeeds(&["verify", "english", "--quiet"], d.path());
}

#[test]
fn directories_that_cannot_be_used() {
    let d = tempfile::tempdir().unwrap();
    let file = d.path().join("file");
    fs::write(&file, "x").unwrap();
    fails(
        &["build", "english", "--pieces", "2"],
        &file,
        &["not a directory"],
    );
    fails(
        &["build", "english", "--pieces", "2"],
        &file.join("in"),
        &["not a directory"],
    );
    fails(
        &["probe", "english", "W:WK1:BK13"],
        &file,
        &["not a directory"],
    );
    let dir = d.path().join("egdb");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("english"), "x").unwrap();
    fails(
        &["build", "english", "--pieces", "2"],
        &dir,
        &["not a directory"],
    );
}

#[test]
fn too_little_memory_is_said_before_anything_is_written() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("new");
    fails(
        &[
            "build",
            "international",
            "--pieces",
            "5",
            "--memory",
            "50MB",
        ],
        &dir,
        &["of memory are needed", "may be taken"],
    );
    // More than any machine has.
    fails(
        &["build", "international", "--pieces", "12"],
        &dir,
        &["of memory are needed"],
    );
    assert!(!dir.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn places_where_nothing_can_be_written() {
    // Not even root can make directories here.
    let dir = Path::new("/proc/dambase");
    fails(
        &["build", "english", "--pieces", "2"],
        dir,
        &["cannot create /proc/dambase"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_half_table() {
    let d = tempfile::tempdir().unwrap();
    let args = "build english --pieces 3 --metric dtw --quiet --dir";
    // No file may grow beyond 4 blocks of 512 bytes; without the signal that is an error.
    let script = format!(
        "trap '' XFSZ; ulimit -f 4; exec '{}' {args} '{}'",
        cargo_bin("dambase").display(),
        d.path().display()
    );
    let out = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(
        err.contains("cannot write") && err.contains("help: "),
        "{err}"
    );
    let dir = d.path().join("english");
    // What is there is complete.
    for name in tables(&dir).keys() {
        let info = std::process::Command::new(cargo_bin("dambase"))
            .arg("info")
            .arg(dir.join(name))
            .status();
        assert!(info.unwrap().success(), "{name}");
    }
    assert!(!tables(&dir).contains_key("KMvK.dtw"));
    let args = [
        "build", "english", "--pieces", "3", "--metric", "dtw", "--quiet",
    ];
    succeeds(&args, d.path());
    succeeds(&["verify", "english", "--quick", "--quiet"], d.path());
}

#[test]
fn a_proof_before_writing_is_marked_in_the_file() {
    let d = tempfile::tempdir().unwrap();
    succeeds(
        &["build", "spanish", "--pieces", "2", "--verify", "--quiet"],
        d.path(),
    );
    let file = d.path().join("spanish/KvM.wld");
    let out = std::process::Command::new(cargo_bin("dambase"))
        .arg("info")
        .arg(&file)
        .output();
    let out = String::from_utf8(out.unwrap().stdout).unwrap();
    assert!(out.contains("yes, by dambase"), "{out}");
    succeeds(&["verify", "spanish", "--quiet"], d.path());
}

fn spawn(args: &[&str], dir: &Path) -> Child {
    std::process::Command::new(cargo_bin("dambase"))
        .args(args)
        .arg("--dir")
        .arg(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until a file is there.
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{path:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const LONG: [&str; 5] = ["build", "brazilian", "--pieces", "4", "--quiet"];

#[test]
fn two_builders_and_kills() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("brazilian");
    // A builder at work keeps others out.
    let mut first = spawn(&LONG, d.path());
    wait_for(&dir.join("KvK.wld"));
    if first.try_wait().unwrap().is_none() {
        let (_, err, code) = run(&mut dambase(&LONG, d.path()));
        if first.try_wait().unwrap().is_none() {
            assert_eq!(code, 1, "{err}");
            assert!(
                err.contains("another build") && err.contains("help: "),
                "{err}"
            );
        }
    }
    first.kill().unwrap();
    first.wait().unwrap();
    // Killed again and again, at other moments each time.
    for milliseconds in [20, 60, 150, 300] {
        let mut child = spawn(&LONG, d.path());
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let args = ["build", "brazilian", "--pieces", "3", "--quiet"];
    succeeds(&args, d.path());
    let undisturbed = tempfile::tempdir().unwrap();
    succeeds(&args, undisturbed.path());
    let wanted = tables(&undisturbed.path().join("brazilian"));
    let got = tables(&dir);
    for (name, bytes) in &wanted {
        assert!(got.get(name) == Some(bytes), "{name}");
    }
    assert!(fs::read_dir(&dir).unwrap().all(|e| {
        let name = e.unwrap().file_name().into_string().unwrap();
        !name.contains(".tmp-")
    }));
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test cli_build -- --ignored"]
fn sixty_kills_at_random_moments() {
    const KILLS: u64 = 60;
    const BUILD: [&str; 7] = [
        "build",
        "russian",
        "--pieces",
        "3",
        "--metric",
        "wld,dtw,dtz",
        "--quiet",
    ];
    let undisturbed = tempfile::tempdir().unwrap();
    let start = Instant::now();
    succeeds(&BUILD, undisturbed.path());
    let whole = start.elapsed();
    let wanted = tables(&undisturbed.path().join("russian"));
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().join("russian");
    let mut numbers = 0x9e37_79b9_7f4a_7c15_u64;
    let mut cut = 0;
    for kill in 0..KILLS {
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        let mut child = spawn(&BUILD, d.path());
        std::thread::sleep(whole.mul_f64((numbers % 1000) as f64 / 1000.0));
        cut += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever bears a table's name is that table, whole.
        for (name, bytes) in tables(&dir) {
            assert!(wanted.get(&name) == Some(&bytes), "kill {kill}: {name}");
        }
        if kill % 10 == 9 {
            // From the beginning again, so that kills meet every part of the work.
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    assert!(
        cut > 10,
        "only {cut} of {KILLS} kills met a builder at work"
    );
    succeeds(&BUILD, d.path());
    assert!(tables(&dir) == wanted);
}

#[cfg(unix)]
#[test]
fn a_signal_stops_cleanly() {
    let d = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(cargo_bin("dambase"))
        .args([
            "build",
            "frisian",
            "--no-king-run",
            "--pieces",
            "5",
            "--metric",
            "wld",
            "--memory",
            "8GiB",
        ])
        .arg("--dir")
        .arg(d.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&d.path().join("frisian/.lock"));
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.unwrap().success());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("not stopped");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(1));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("run the same command again"), "{said}");
}
