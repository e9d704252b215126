//! `dambase checksums` against the system's own program, and the bytes of reference tables.

use std::process::Command as Program;

use assert_cmd::Command;
use dambase_rules::Variant;

fn dambase(args: &[&str]) -> String {
    let mut c = Command::cargo_bin("dambase").unwrap();
    let out = c.args(args).env_remove("DAMBASE_DIR").output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?} {err}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn sha256sum_agrees() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().to_str().unwrap();
    dambase(&["build", "english", "--pieces", "2", "--quiet", "--dir", dir]);
    dambase(&["build", "turkish", "--pieces", "2", "--quiet", "--dir", dir]);
    let list = dambase(&["checksums", "--sha256", "--dir", dir]);
    assert_eq!(list.lines().count(), 2 * 3 * 2, "{list}");
    let one = dambase(&["checksums", "english", "--sha256", "--dir", dir]);
    assert!(list.starts_with(&one) && one.lines().count() == 6, "{one}");
    std::fs::write(d.path().join("list"), &list).unwrap();
    let check = Program::new("sha256sum")
        .args(["--check", "--strict", "list"])
        .current_dir(d.path())
        .output();
    // Not on every system.
    if let Ok(out) = check {
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stdout)
        );
    }
}

/// The bytes of tables are a promise: a change of them must be meant. If it is, set
/// `UPDATE_REFERENCE`, run this again, and say so in CHANGELOG.md.
#[test]
fn reference_tables_keep_their_bytes() {
    let d = tempfile::tempdir().unwrap();
    let dir = d.path().to_str().unwrap();
    for &variant in Variant::ALL.iter().filter(|v| v.is_code()) {
        let limits = !variant.rules().limits.is_empty();
        let metrics = if limits { "wld,dtw,dtz" } else { "wld,dtw" };
        let pieces = if variant == Variant::English {
            "3"
        } else {
            "2"
        };
        let name = variant.name();
        let args = ["build", name, "--pieces", pieces, "--metric", metrics];
        dambase(&[&args[..], &["--quiet", "--dir", dir]].concat());
    }
    let list = dambase(&["checksums", "--dir", dir]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reference.b3");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(path, &list).unwrap();
    }
    let wanted = std::fs::read_to_string(path).unwrap();
    let (ours, wanted): (Vec<_>, Vec<_>) = (list.lines().collect(), wanted.lines().collect());
    assert_eq!(ours.len(), wanted.len());
    let other: Vec<_> = ours.iter().filter(|l| !wanted.contains(l)).collect();
    assert!(other.is_empty(), "other bytes than committed: {other:#?}");
}

#[test]
fn a_directory_without_tables_is_named() {
    let d = tempfile::tempdir().unwrap();
    for args in [&["checksums"][..], &["checksums", "english"]] {
        let mut c = Command::cargo_bin("dambase").unwrap();
        let out = c.args(args).arg("--dir").arg(d.path()).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{err}");
        assert!(err.contains("error: ") && err.contains("help: "), "{err}");
    }
}
