//! Every command shown in README.md, in docs/ and in the help of each command is run as it stands
//! there, by a shell, in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;

/// Runs a line of shell with the program in the path.
fn shell(line: &str, dir: &Path) -> Output {
    let program = cargo_bin("dambase");
    let mut path = vec![program.parent().unwrap().to_path_buf()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    Command::new("sh")
        .args(["-c", line])
        .current_dir(dir)
        .env("PATH", std::env::join_paths(path).unwrap())
        .env_remove("DAMBASE_DIR")
        .output()
        .unwrap()
}

fn succeeds(line: &str, dir: &Path) -> String {
    let out = shell(line, dir);
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{line}\n{err}");
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        !text.is_empty() || line.contains(" build ") || line.contains(" > "),
        "{line}: no output"
    );
    text
}

/// The commands in the `console` blocks of a page, as a user with the program installed types them.
fn of_page(page: &str) -> Vec<String> {
    let blocks = page.split("```console\n").skip(1);
    let lines = blocks.flat_map(|b| b.split("```").next().unwrap().lines());
    let commands = lines.filter_map(|l| l.strip_prefix("$ "));
    commands
        .map(|c| c.replace("cargo run --release -- ", "dambase "))
        .filter(|c| c.contains("dambase "))
        .collect()
}

/// The commands under "Examples:" in the help of a command.
fn of_help(command: &str) -> Vec<String> {
    let help = succeeds(&format!("dambase help {command}"), Path::new("."));
    let (_, examples) = help.split_once("Examples:\n").expect(command);
    let lines = examples.lines().map(str::trim);
    lines
        .take_while(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The program in the `python` block of docs/usage.md talks to a running `dambase probe`.
#[test]
fn the_python_example_runs() {
    let dir = tempfile::tempdir().unwrap();
    // Not on every system.
    if !shell("python3 --version", dir.path()).status.success() {
        return;
    }
    let page = std::fs::read_to_string(root().join("docs/usage.md")).unwrap();
    let (_, program) = page.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    std::fs::write(dir.path().join("ask.py"), program).unwrap();
    succeeds("dambase build english --pieces 3 --quiet", dir.path());
    let said = succeeds("python3 ask.py", dir.path());
    // truth/english.json by way of README: won in 7 plies.
    assert!(
        said.starts_with("win 7 ") && said.ends_with("bad-fen\n"),
        "{said}"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn examples_run() {
    let root = root();
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    pages.insert(0, root.join("README.md"));
    let dir = tempfile::tempdir().unwrap();
    let mut run = 0;
    for page in pages {
        for command in of_page(&std::fs::read_to_string(page).unwrap()) {
            succeeds(&command, dir.path());
            run += 1;
        }
    }
    // build is first: the others look at its tables.
    let list = succeeds("dambase help", dir.path());
    let commands = list.split_once("Commands:\n").unwrap().1.lines();
    let names = commands.take_while(|l| !l.is_empty());
    let names = names.filter_map(|l| l.split_whitespace().next());
    for name in names.filter(|&n| n != "help") {
        for command in of_help(name) {
            succeeds(&command, dir.path());
            run += 1;
        }
    }
    assert!(run >= 25, "only {run} examples were found");
}
