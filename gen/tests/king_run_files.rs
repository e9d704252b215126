//! Positions with king runs from the solver through files to the look-up and the command line.

#[path = "common/options.rs"]
mod options;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use dambase_gen::build::{Options, build};
use dambase_gen::plan::Plan;
use dambase_gen::{Control, Error, Store, kingrun, limits};
use dambase_probe::{LineEnd, Scratch, Tablebase};
use dambase_rules::{Board, LimitSet, Position, Run, Side, Variant, marker};
use dambase_tables::{Material, Metric, RuleValue, RunIndex, Value, Wld, canonical_with_runs};
use serde_json::Value as Json;

use options::options;

const TRUTH: &str = include_str!("data/frisian-kingrun.json");
const SAMPLES: &str = include_str!("data/frisian-kingrun.samples.jsonl");

fn plan(variant: Variant, pieces: u8, metrics: &[Metric]) -> Plan {
    Plan::complete(variant, pieces, metrics, 2).unwrap()
}

/// What the solver finds, without files.
fn solved(variant: Variant, pieces: u8) -> Store {
    let mut store = Store::with_king_run();
    for m in (2..=pieces).flat_map(Material::canonical_with) {
        let s = kingrun::solve(variant, m, &store, true, &Control::new()).unwrap();
        store.insert(s);
    }
    store
}

fn value(store: &Store, p: &Position) -> Value {
    let rules = p.rules();
    let (placed, runs) = canonical_with_runs(rules.geometry, p.board(), p.side(), p.runs());
    let solved = store.get(placed.material).unwrap();
    let slot = placed.material.sides().iter();
    let slot = slot.clone().position(|&s| s == placed.side).unwrap();
    let index = RunIndex::new(rules.geometry, rules.king_run, placed.material).unwrap();
    solved.dtw.as_ref().unwrap()[slot].get(index.index(&placed.board, runs))
}

/// Every `step`th position of every material with runs, mirrored ones too.
fn positions(variant: Variant, pieces: u8, step: usize) -> Vec<Position> {
    let rules = variant.rules();
    let mut all = Vec::new();
    for m in (2..=pieces).flat_map(Material::canonical_with) {
        for m in [m, m.mirrored()] {
            let index = RunIndex::<u128>::new(rules.geometry, rules.king_run, m).unwrap();
            for i in (0..index.positions()).step_by(step) {
                let (board, runs) = index.position(i);
                let p = |side| Position::new(variant, board, side, runs).unwrap();
                all.extend(Side::BOTH.map(p));
            }
        }
    }
    all
}

#[test]
fn look_ups_give_what_was_solved() {
    for variant in [Variant::Frisian, Variant::FrisianFederation] {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(variant, 3, &[Metric::Wld, Metric::Dtw]);
        assert!(plan.king_run);
        let control = Control::new();
        build(&plan, &options(dir.path()), &control, &|_| {}).unwrap();
        let tables = Tablebase::open(variant, [dir.path()]).unwrap();
        assert!(tables.king_run() && tables.issues().is_empty());
        assert_eq!(tables.coverage().complete_dtw(), 3);
        let store = solved(variant, 3);
        let all = positions(variant, 3, 61);
        for p in &all {
            let wanted = value(&store, p);
            assert_eq!(tables.probe(p).unwrap(), wanted, "{}", p.fen());
            assert_eq!(tables.probe_wld(p).unwrap(), wanted.wld(), "{}", p.fen());
        }
        for (answer, p) in tables.probe_many(&all).into_iter().zip(&all) {
            assert_eq!(answer.unwrap(), value(&store, p).wld(), "{}", p.fen());
        }
        for p in all.iter().step_by(101) {
            let moves = tables.moves(p).unwrap();
            assert_eq!(moves.len(), p.legal_moves().len());
            let wanted = value(&store, p);
            if let Some(best) = moves.first() {
                let plies = best.after.dtw.map(|d| d.0 + 1);
                assert_eq!(best.after.wld, wanted.wld(), "{}", p.fen());
                assert_eq!(plies, wanted.dtw().map(|d| d.0), "{}", p.fen());
            }
            let line = tables.line(p).unwrap();
            if let Some(plies) = wanted.dtw() {
                assert_eq!(line.steps.len(), usize::from(plies.0), "{}", p.fen());
                assert!(matches!(line.end, LineEnd::GameOver { .. }));
            }
            for pair in line.steps.windows(2) {
                let next = pair[0].position.after(&pair[0].rated.mv);
                assert_eq!(next, pair[1].position);
            }
        }
        // Boards of other programs.
        let mut scratch = Scratch::new();
        for p in all.iter().step_by(19) {
            let board = Board::<u64>::from_wide(p.board());
            let (side, runs) = (p.side(), p.runs());
            let value = if variant == Variant::Frisian {
                tables.probe_run_value::<marker::Frisian>(&board, side, runs, &mut scratch)
            } else {
                tables.probe_run_value::<marker::FrisianFederation>(
                    &board,
                    side,
                    runs,
                    &mut scratch,
                )
            };
            assert_eq!(value.unwrap(), self::value(&store, p), "{}", p.fen());
        }
        // In flat memory, and without the instructions of newer processors.
        let bytes = tables.make_resident(Metric::Wld, |_| true).unwrap();
        assert_eq!(bytes, tables.resident_cost(Metric::Wld, |_| true));
        tables
            .make_resident(Metric::Dtw, |m| m.pieces() == 3)
            .unwrap();
        let tables = tables.with_portable_code();
        for p in all.iter().step_by(7) {
            let wanted = value(&store, p);
            assert_eq!(tables.probe_wld(p).unwrap(), wanted.wld(), "{}", p.fen());
            assert_eq!(tables.probe(p).unwrap(), wanted, "{}", p.fen());
        }
    }
}

#[test]
fn a_build_goes_on_from_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (variant, control) = (Variant::FrisianFederation, Control::new());
    let all = plan(variant, 3, &[Metric::Wld, Metric::Dtw]);
    build(&all, &options(dir.path()), &control, &|_| {}).unwrap();
    let read = |name: &str| fs::read(dir.path().join("frisian-federation").join(name)).unwrap();
    let names = ["KMvM.dtw", "KMvM.wld", "KKvK.dtw", "MMvM.wld"];
    let before = names.map(read);
    for name in names {
        fs::remove_file(dir.path().join("frisian-federation").join(name)).unwrap();
    }
    // What is read back has its captures from elsewhere.
    let verified = Options {
        verify: true,
        ..options(dir.path())
    };
    build(&all, &verified, &control, &|_| {}).unwrap();
    let after = names.map(read);
    for ((name, a), b) in names.iter().zip(&before).zip(&after) {
        // Header and values; the mark of the proof and the checksum differ.
        assert!(a[512..] == b[512..] && a[128..504] == b[128..504], "{name}");
    }
}

/// Every value under the limits again from those of its successors, by the rules of the clocks
/// and nothing of the solver.
#[test]
fn values_under_the_limits_follow_from_their_successors() {
    for variant in [Variant::Frisian, Variant::FrisianFederation] {
        let dir = tempfile::tempdir().unwrap();
        let control = Control::new();
        let plan = plan(variant, 3, &[Metric::Wld]);
        let options = options(dir.path());
        let set = LimitSet::of(variant);
        build(&plan, &options, &control, &|_| {}).unwrap();
        limits::build::build(&plan, &options, &set, &control, &|_| {}).unwrap();
        let again = limits::build::build(&plan, &options, &set, &control, &|_| {}).unwrap();
        assert_eq!(again.built, 0);
        // Some anew, from those that are there.
        let file = dir.path().join(variant.name()).join("KMvM.dtz");
        let before = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let again = limits::build::build(&plan, &options, &set, &control, &|_| {}).unwrap();
        assert_eq!(again.built, 1);
        assert!(fs::read(&file).unwrap() == before);

        let tables = Tablebase::open(variant, [dir.path()]).unwrap();
        assert!(tables.issues().is_empty());
        let mut cursed = 0;
        for p in positions(variant, 3, 127) {
            let wrong = tables.check_dtz(&p).unwrap();
            assert_eq!(wrong, None, "{}", p.fen());
            cursed += u64::from(tables.probe_dtz(&p).unwrap() == RuleValue::CursedWin);
        }
        assert!(cursed > 0, "{variant}");
    }
}

#[test]
fn tables_with_and_without_runs_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    let (variant, control) = (Variant::Frisian, Control::new());
    let with = plan(variant, 2, &[Metric::Wld, Metric::Dtw]);
    let without = with.clone().without_king_run().unwrap();
    assert!(!without.king_run && without.positions() < with.positions());
    assert_eq!(without.clone().without_king_run().unwrap(), without);
    let options = options(dir.path());
    build(&without, &options, &control, &|_| {}).unwrap();
    let e = build(&with, &options, &control, &|_| {}).unwrap_err();
    let is = |e: &Error, with| matches!(e, Error::OtherRun { king_run, .. } if *king_run == with);
    assert!(is(&e, false), "{e}");
    // Values without runs; a pending run is another question.
    let plain = Tablebase::open(variant, [dir.path()]).unwrap();
    assert!(!plain.king_run());
    let p = plain.position("W:WK18:BK7:RW18.3").unwrap();
    let e = plain.probe(&p).unwrap_err();
    assert!(
        matches!(e, dambase_probe::Error::RunNotCovered { .. }),
        "{e}"
    );
    assert!(plain.probe(&p.without_runs()).is_ok());
    let board = Board::<u64>::from_wide(p.board());
    let mut scratch = Scratch::new();
    let e = plain.probe_run::<marker::Frisian>(&board, p.side(), p.runs(), &mut scratch);
    assert!(matches!(e, Err(dambase_probe::Error::RunNotCovered { .. })));
    for wrong in [(17, 4), (18, 1), (200, 2)] {
        let (square, count) = wrong;
        let runs = [Run { square, count }, Run::NONE];
        let e = plain.probe_run::<marker::Frisian>(&board, p.side(), runs, &mut scratch);
        assert!(matches!(e, Err(dambase_probe::Error::IllegalPosition(_))));
    }
    // Everything anew.
    let anew = Options {
        rebuild: true,
        ..options.clone()
    };
    build(&with, &anew, &control, &|_| {}).unwrap();
    let e = build(&without, &options, &control, &|_| {}).unwrap_err();
    assert!(is(&e, true), "{e}");
    let limits = LimitSet::of(variant);
    let e = limits::build::build(&without, &options, &limits, &control, &|_| {}).unwrap_err();
    assert!(is(&e, true), "{e}");
    // One file of another build among them: the look-up that needs it says so.
    let other = tempfile::tempdir().unwrap();
    let elsewhere = Options {
        dir: other.path().to_owned(),
        ..options
    };
    build(&without, &elsewhere, &control, &|_| {}).unwrap();
    let name = "frisian/KvM.dtw";
    fs::copy(other.path().join(name), dir.path().join(name)).unwrap();
    let mixed = Tablebase::open(variant, [dir.path()]).unwrap();
    assert!(mixed.king_run());
    assert_eq!(mixed.issues().len(), 1);
    let man = mixed.position("W:WK46:B7").unwrap();
    let e = mixed.probe(&man).unwrap_err();
    assert!(matches!(e, dambase_probe::Error::WithoutRun { .. }), "{e}");
    assert_eq!(e.code(), "other-run");
    assert!(mixed.probe_wld(&man).is_ok() && mixed.probe(&p).is_ok());
    // Whatever the order of directories, tables with the run come first.
    fs::remove_file(dir.path().join(name)).unwrap();
    build(&with, &anew, &control, &|_| {}).unwrap();
    let both = Tablebase::open(variant, [other.path(), dir.path()]).unwrap();
    assert!(both.king_run() && both.issues().is_empty());
    assert!(both.probe(&p).is_ok() && both.probe(&man).is_ok());
}

fn dambase(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::cargo_bin("dambase").unwrap();
    c.env("DAMBASE_DIR", dir).args(args);
    c
}

fn said(dir: &Path, args: &[&str]) -> String {
    let out = dambase(dir, args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

fn objects(text: &str) -> Vec<Json> {
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// The FEN of a sample with its run fields.
fn fen_of(sample: &Json) -> String {
    let mut fen = sample["fen"].as_str().unwrap().to_owned();
    for (name, key) in [("W", "wrun"), ("B", "brun")] {
        if let Some(run) = sample[key].as_array() {
            fen.push_str(&format!(":R{name}{}.{}", run[0], run[1]));
        }
    }
    fen
}

#[test]
fn the_command_line_counts_and_answers_like_the_independent_solver() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    said(dir, &["build", "frisian", "--pieces", "3", "--quiet"]);

    let rows = objects(&said(dir, &["stats", "frisian", "--json"]));
    let key = |r: &Json| format!("{} {}", r["material"], r["side"]);
    let rows: BTreeMap<_, _> = rows.iter().map(|r| (key(r), r)).collect();
    let truth: Json = serde_json::from_str(TRUTH).unwrap();
    let mut compared = 0;
    for class in truth["classes"].as_array().unwrap() {
        for side in ["white", "black"] {
            let wanted = &class[side];
            let row = rows[&format!("{} \"{side}\"", class["material"])];
            for field in ["positions", "wins", "losses", "draws", "captures"] {
                assert_eq!(row[field], wanted[field], "{row} {field}");
            }
            for (field, longest) in [
                ("max_dtw_win", "longest_win"),
                ("max_dtw_loss", "longest_loss"),
            ] {
                assert_eq!(row[field], wanted[longest]["plies"], "{row} {field}");
            }
            assert_eq!(row["no_runs"], wanted["no_runs"], "{row}");
            compared += 1;
            // The position named is one of those.
            if let Some(fen) = row["longest_win_fen"].as_str() {
                let p = objects(&said(dir, &["probe", "frisian", fen, "--json"]));
                assert_eq!(p[0]["dtw"], row["max_dtw_win"], "{fen}");
            }
        }
    }
    assert_eq!(compared, 22);

    let samples = objects(SAMPLES);
    let fens: Vec<_> = samples.iter().map(fen_of).collect();
    let out = dambase(dir, &["probe", "frisian", "--stdin", "--json"])
        .write_stdin(fens.join("\n"))
        .output()
        .unwrap();
    let answers = objects(&String::from_utf8(out.stdout).unwrap());
    assert_eq!((answers.len(), samples.len()), (1008, 1008));
    for (answer, sample) in answers.iter().zip(&samples) {
        let wld = match sample["wld"].as_str().unwrap() {
            "W" => "win",
            "L" => "loss",
            _ => "draw",
        };
        assert_eq!(answer["wld"], wld, "{sample}");
        assert_eq!(answer["dtw"], sample["dtw"], "{sample}");
        let moves = answer["moves"].as_array().unwrap();
        assert_eq!(Json::from(moves.len()), sample["nmoves"], "{sample}");
        if let (Some(best), Some(plies)) = (moves.first(), sample["dtw"].as_u64()) {
            assert_eq!(best["dtw"].as_u64(), Some(plies - 1), "{sample}");
            assert_eq!(best["wld"], wld, "{sample}");
        }
    }

    // The example of docs/rules.md.
    let args = [
        "probe",
        "frisian",
        "W:WK4,27:BK19",
        "W:WK4,27:BK19:RW4.3",
        "--json",
    ];
    let p = objects(&said(dir, &args));
    assert_eq!((&p[0]["wld"], &p[0]["dtw"]), (&"win".into(), &33.into()));
    assert_eq!((&p[1]["wld"], &p[1]["dtw"]), (&"draw".into(), &Json::Null));
    assert_eq!(p[1]["fen"], "W:WK4,27:BK19:RW4.3");

    // What the other commands say.
    let line = &objects(&said(dir, &["line", "frisian", &fens[0], "--json"]))[0];
    assert!(line["moves"].is_array());
    let info = said(
        dir,
        &["info", dir.join("frisian/KKvK.dtw").to_str().unwrap()],
    );
    assert!(info.contains("part of the positions"), "{info}");
    let plan = said(dir, &["plan", "frisian", "--pieces", "3", "--json"]);
    let total = objects(&plan).pop().unwrap();
    assert_eq!(total["king_run"], true);
    let proved = said(dir, &["verify", "frisian"]);
    assert!(
        proved.contains("18 tables proved") && proved.contains(" 0 faults"),
        "{proved}"
    );

    // Without the king run in the same place.
    let args = ["build", "frisian", "--pieces", "3", "--no-king-run"];
    let out = dambase(dir, &args).output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        err.contains("with the king run") && err.contains("help: "),
        "{err}"
    );
    let other = tmp.path().join("other");
    said(
        &other,
        &[
            "build",
            "frisian",
            "--pieces",
            "2",
            "--no-king-run",
            "--quiet",
        ],
    );
    let row = &objects(&said(&other, &["stats", "frisian", "--json"]))[0];
    assert_eq!(row["positions"], 2450);
    assert!(row.get("no_runs").is_none());
    fs::copy(other.join("frisian/KvK.wld"), dir.join("frisian/KvK.wld")).unwrap();
    let out = dambase(dir, &["verify", "frisian"]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("KvK.wld: was built without the king run"),
        "{text}"
    );
}

#[test]
fn wld_of_every_sample_from_tables_without_distances() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let args = [
        "build", "frisian", "--pieces", "3", "--metric", "wld,dtz", "--quiet",
    ];
    said(dir, &args);
    let tables = Tablebase::open(Variant::Frisian, [dir]).unwrap();
    for sample in objects(SAMPLES) {
        let p = tables.position(&fen_of(&sample)).unwrap();
        let wld = tables.probe_wld(&p).unwrap();
        let wanted = match wld {
            Wld::Win => "W",
            Wld::Loss => "L",
            Wld::Draw => "D",
        };
        assert_eq!(sample["wld"], wanted, "{sample}");
        assert_eq!(
            tables.probe_dtz(&p).unwrap().without_limits(),
            wld,
            "{sample}"
        );
    }
    let proved = said(dir, &["verify", "frisian", "--quick"]);
    assert!(
        proved.contains("18 tables proved") && proved.contains(" 0 faults"),
        "{proved}"
    );
}
