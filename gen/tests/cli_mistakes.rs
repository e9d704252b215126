//! What new users do wrong, and what they are told: what is wrong, where, and what to do about it.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use assert_cmd::Command;
use tempfile::TempDir;

/// What a command said and how it ended.
struct Said {
    out: String,
    err: String,
    code: i32,
}

/// Runs a command, words separated by spaces, in a directory.
fn run(dir: &Path, line: &str) -> Said {
    let out = Command::cargo_bin("dambase")
        .unwrap()
        .args(line.split(' ').filter(|w| !w.is_empty()))
        .current_dir(dir)
        .env_remove("DAMBASE_DIR")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        out: text(out.stdout),
        err: text(out.stderr),
        code: out.status.code().unwrap(),
    }
}

/// A command that must fail with this code, saying these things and none twice.
fn fails(dir: &Path, line: &str, code: i32, words: &[&str]) {
    let Said {
        out,
        err,
        code: got,
    } = run(dir, line);
    assert_eq!(got, code, "{line}: {out}{err}");
    for w in words {
        assert!(
            out.contains(w) || err.contains(w),
            "{line}: {w:?} not in {out}{err}"
        );
    }
    assert!(!err.contains("os error 2)"), "{line}: {err}");
}

/// English of two pieces in `egdb`, three in `more`, and what can be made of them.
static TABLES: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    for line in [
        "build english --pieces 2 --quiet",
        "build italian --pieces 2 --quiet --metric wld",
        "build english --pieces 3 --quiet --metric wld --dir more",
        "pack english --quiet --dir more --to packed",
    ] {
        let said = run(d, line);
        assert_eq!(said.code, 0, "{line}: {}", said.err);
    }
    fs::create_dir_all(d.join("empty/english")).unwrap();
    fs::write(d.join("file"), "no table").unwrap();
    dir
});

#[test]
fn directories_without_tables() {
    let d = TABLES.path();
    for command in [
        "stats",
        "verify",
        "checksums",
        "pack --to new",
        "unpack --to new",
    ] {
        for (dir, words) in [
            ("gone", &["there is no directory gone", "english/"][..]),
            ("file", &["file is not a directory"]),
            (
                "empty",
                &["no tables of english in empty", "dambase build english"],
            ),
            (
                "egdb/english",
                &["no tables of english in egdb/english", "--dir egdb"],
            ),
        ] {
            let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
            let line = format!("{verb} english {rest} --dir {dir}");
            fails(d, &line, 1, words);
        }
    }
    assert!(!d.join("new").exists());
    fails(
        d,
        "checksums --dir empty/english",
        1,
        &["no tables in empty/english"],
    );
    fails(d, "checksums --dir egdb/english", 1, &["--dir egdb"]);
    fails(d, "info empty", 1, &["there are none in empty"]);
    fails(
        d,
        "pack english --to file",
        1,
        &["file/english", "another directory"],
    );
}

/// A variable that was set to nothing is not a wrong `--dir` that nobody gave.
#[test]
fn an_empty_variable_is_no_directory() {
    let mut command = Command::cargo_bin("dambase").unwrap();
    let command = command.args(["stats", "english"]).env("DAMBASE_DIR", "");
    let said = command.current_dir(TABLES.path()).assert().code(2);
    let err = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(err.contains("unset DAMBASE_DIR"), "{err}");
    // What is given counts.
    let mut command = Command::cargo_bin("dambase").unwrap();
    let command = command.args(["stats", "english", "--dir", "egdb"]);
    let command = command.env("DAMBASE_DIR", "").current_dir(TABLES.path());
    command.assert().success();
}

#[test]
fn missing_tables_come_with_the_command_that_builds_them() {
    let d = TABLES.path();
    let fen = "W:WK1,K2:BK32";
    for command in ["probe", "line"] {
        for (dir, help) in [
            ("egdb", "dambase build english --only KKvK, or"),
            ("empty", "dambase build english --only KKvK --dir empty, or"),
            ("egdb/english", "--dir egdb"),
        ] {
            fails(
                d,
                &format!("{command} english {fen} --dir {dir}"),
                1,
                &["english/KKvK.wld", help],
            );
        }
        let line = format!("{command} english W:WK1,K2:BK30,K32 --dir more");
        fails(d, &line, 1, &["--only KKvKK --metric wld --dir more, or"]);
    }
    let clock = "probe english W:WK1:BK32 --clock 40-move=3";
    fails(
        d,
        clock,
        1,
        &["KvK.dtz", "--only KvK --metric wld,dtw,dtz, or"],
    );
    // The command does what is promised.
    let copy = tempfile::tempdir().unwrap();
    for line in [
        "build english --only KvK --metric wld,dtw,dtz",
        "probe english W:WK1:BK32 --clock 40-move=3",
    ] {
        assert_eq!(run(copy.path(), line).code, 0, "{line}");
    }
}

#[test]
fn archives_are_no_tables() {
    let d = TABLES.path();
    fails(d, "probe english W:WK18:B12 --dir packed", 1, &["unpack"]);
    fails(
        d,
        "build english --pieces 3 --metric wld --dir packed",
        1,
        &["archive", "dambase unpack english --dir packed"],
    );
    fails(
        d,
        "build english --pieces 4 --metric wld --dir packed",
        1,
        &["archive"],
    );
    let said = run(d, "verify english --dir packed --quiet");
    assert_eq!(said.code, 1);
    // Every file is named once.
    let line = said
        .out
        .lines()
        .find(|l| l.contains("KvM.wld has no"))
        .unwrap();
    assert_eq!(line.matches("KvM.wld").count(), 1, "{line}");
    assert!(run(d, "info packed").out.contains("omitted"));
}

#[test]
fn proving_nothing_is_no_proof() {
    let d = TABLES.path();
    fails(
        d,
        "verify english --only KKKvK",
        1,
        &["no table of KKKvK is there", "1 fault"],
    );
    fails(
        d,
        "verify english --only KvK,KKKvK",
        1,
        &["2 tables proved", "992 positions"],
    );
    // The mirror image of one that is there.
    let said = run(d, "verify english --only MvK");
    assert!(
        said.code == 0 && said.out.contains("2 tables proved"),
        "{}",
        said.err
    );
}

#[test]
fn files_in_the_wrong_place_are_seen() {
    let d = tempfile::tempdir().unwrap();
    let english = d.path().join("egdb/english");
    fs::create_dir_all(&english).unwrap();
    let from = TABLES.path().join("egdb");
    fs::copy(from.join("italian/KvK.wld"), english.join("KvK.wld")).unwrap();
    fs::copy(from.join("english/KvM.wld"), english.join("MvM.wld")).unwrap();
    for line in [
        "info egdb",
        "info egdb --json",
        "info egdb/english",
        "verify english",
    ] {
        fails(
            d.path(),
            line,
            1,
            &[
                "table of italian, not of english",
                "holds KvM.wld, not MvM.wld",
            ],
        );
    }
    // By itself a table may have any name.
    fs::copy(from.join("english/KvM.wld"), d.path().join("some.wld")).unwrap();
    assert!(run(d.path(), "info some.wld").out.contains("KvM"));
}

#[test]
fn numbers_that_are_none() {
    let d = TABLES.path();
    for n in ["-1", "0", "1", "61", "99999999999", "two", "2.5"] {
        fails(
            d,
            &format!("plan english --pieces {n}"),
            2,
            &["give a number from 2 to 60"],
        );
    }
    for n in ["-1", "0", "1025", "x"] {
        for command in ["plan english", "verify english", "pack english --to new"] {
            fails(
                d,
                &format!("{command} --threads {n}"),
                2,
                &["a number from 1 to 1024"],
            );
        }
    }
    for n in ["-1", "65", "x"] {
        fails(
            d,
            &format!("perft english {n}"),
            2,
            &["give a number from 0 to 64"],
        );
    }
    for n in ["-1G", "0", "lots"] {
        fails(
            d,
            &format!("verify english --memory {n}"),
            2,
            &["an amount like 8GiB"],
        );
    }
}

#[test]
fn options_that_would_do_nothing() {
    let d = TABLES.path();
    for command in ["build", "plan"] {
        let line = format!("{command} russian --pieces 2 --limits no-5-move");
        fails(d, &line, 2, &["--limits", "dtz"]);
    }
    fails(
        d,
        "plan russian --metric dtz --limits x",
        2,
        &["--limits \"x\"", "60-move"],
    );
    fails(
        d,
        "plan english --only KKKKKKKKKKKKKvK",
        2,
        &["KKKKKKKKKKKKKvK", "12 pieces a side"],
    );
}

#[test]
fn help_suits_what_is_wrong_with_a_position() {
    let d = TABLES.path();
    for (line, help) in [
        ("moves english nonsense", "c3 or a number"),
        ("moves international nonsense", "kings with K\n"),
        ("moves frisian nonsense", ":RW18.3"),
        ("moves english W:W33:B9", "dambase board english"),
        ("moves english W:WK1:BK1", "dambase board english"),
        ("probe english W:WK1:BK32:RW1.2", "leave out"),
        ("moves frisian W:WK1:BK32:RW2.2", ":RW18.3"),
        ("moves frisian W:WK1:BK32:RW1.4", ":RW18.3"),
    ] {
        fails(d, line, 2, &[help]);
    }
}

#[test]
fn one_is_not_many() {
    let d = tempfile::tempdir().unwrap();
    let built = run(d.path(), "build english --only KvK --metric wld");
    assert!(
        built.out.contains("english: 1 material complete"),
        "{}",
        built.out
    );
    assert!(built.err.contains("1 material to build"), "{}", built.err);
    let info = run(d.path(), "info egdb").out;
    assert!(info.contains("\n1 table, "), "{info}");
    let packed = run(d.path(), "pack english --to a").out;
    assert!(packed.contains("english: 1 table, "), "{packed}");
    let proved = run(d.path(), "verify english").out;
    assert!(
        proved.contains("1 table proved, 992 positions looked at, 0 faults"),
        "{proved}"
    );
}

#[test]
fn a_board_to_look_at() {
    let d = TABLES.path();
    let board = run(d, "board russian W:Wc3,Ke5:Bd6,Kh8").out;
    let lines: Vec<_> = board.lines().collect();
    assert_eq!(lines[..2], ["W:WK15,22:BK4,10", "white to move"]);
    // Row 8 with the black king in the corner, row 5 with the white one, row 3 with the man.
    let squares = |n: usize| lines[n].split_whitespace().collect::<Vec<_>>();
    assert_eq!(squares(2), [".", ".", ".", "B", "b8", "d8", "f8", "h8"]);
    assert_eq!(squares(4), [".", "b", ".", ".", "b6", "d6", "f6", "h6"]);
    assert_eq!(squares(5), [".", ".", "W", ".", "a5", "c5", "e5", "g5"]);
    assert_eq!(squares(7), [".", "w", ".", ".", "a3", "c3", "e3", "g3"]);
    // Spanish numbers begin at White's right; 33 in all with those of positions.
    for (line, names) in [
        ("board spanish", ["4", "3", "2", "1"]),
        ("board spanish --numbers", ["29", "30", "31", "32"]),
    ] {
        let said = run(d, line).out;
        let row: Vec<_> = said.lines().nth(9).unwrap().split_whitespace().collect();
        assert_eq!(row[4..], names, "{said}");
    }
    for code in ["international", "canadian", "turkish", "italian"] {
        let said = run(d, &format!("board {code}"));
        assert!(said.code == 0 && said.out.contains(" to move"), "{code}");
    }
    fails(d, "board english W:W1:B2", 2, &["crowning row"]);
}

#[test]
fn no_arguments_show_what_there_is() {
    let d = TABLES.path();
    let bare = run(d, "");
    assert_eq!(bare.code, 2);
    let (short, long) = (run(d, "-h").out, run(d, "--help").out);
    for text in [&bare.err, &short, &long] {
        assert!(text.starts_with("Perfect endgame databases"), "{text}");
    }
    for word in ["Exit codes", "W:W18,K24:B12", "KKMvKM"] {
        assert!(long.contains(word), "{long}");
    }
}
