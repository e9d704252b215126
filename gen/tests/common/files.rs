//! Tables built in memory, written and opened again.

use std::fs;
use std::path::Path;

use dambase_gen::{Solved, Store};
use dambase_probe::Tablebase;
use dambase_rules::{Ruleset, Variant, WithRuleset};
use dambase_tables::{Metric, WriteOptions, table_path, write_dtw, write_wld};

use super::build;

/// Writes both tables of a material.
struct Write<'a>(&'a Path, &'a Solved);

impl WithRuleset for Write<'_> {
    type Output = ();
    fn run<R: Ruleset>(self) {
        let Self(dir, solved) = self;
        let path = |metric| table_path(dir, R::VARIANT, solved.material, metric);
        fs::create_dir_all(path(Metric::Wld).parent().unwrap()).unwrap();
        let options = WriteOptions {
            level: 3,
            ..WriteOptions::default()
        };
        let wld: Vec<_> = solved.wld.iter().collect();
        write_wld::<R>(&path(Metric::Wld), solved.material, &wld, &options).unwrap();
        let dtw: Vec<_> = solved.dtw.iter().flatten().collect();
        write_dtw::<R>(&path(Metric::Dtw), solved.material, &dtw, &options).unwrap();
    }
}

/// Builds, writes and opens all tables of a code.
pub(crate) fn tables(variant: Variant, pieces: u8) -> (Store, tempfile::TempDir, Tablebase) {
    let store = build(variant, pieces, true);
    let dir = tempfile::tempdir().unwrap();
    for m in store.materials() {
        variant.with(Write(dir.path(), store.get(m).unwrap()));
    }
    let tb = Tablebase::open(variant, [dir.path()]).unwrap();
    assert!(tb.issues().is_empty());
    let coverage = tb.coverage();
    let complete = [coverage.complete_wld(), coverage.complete_dtw()];
    assert_eq!(complete, [pieces; 2], "{variant}");
    (store, dir, tb)
}
