//! `dambase checksums` against the system's own program, and the bytes of reference tables.

use std::process::Command as Program;

use assert_cmd::Command;

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
