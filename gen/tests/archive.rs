//! Archives: smaller, and every value comes back.

#[path = "common/options.rs"]
mod options;

use std::fs;
use std::path::Path;

use dambase_gen::archive::{Request, pack, unpack};
use dambase_gen::build::build;
use dambase_gen::plan::Plan;
use dambase_gen::{Control, Error};
use dambase_rules::Variant;
use dambase_tables::{Codec, Material, Metric, Scratch, Table, table_path};

use options::options;

/// Builds tables, packs them and unpacks them again: all files must come out the same.
fn there_and_back(variant: Variant, pieces: u8, metrics: &[Metric]) {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [tables, archive, back] = dirs.each_ref().map(|d| d.path());
    let control = Control::new();
    let plan = Plan::complete(variant, pieces, metrics, 2).unwrap();
    build(&plan, &options(tables), &control, &|_| {}).unwrap();
    let (mut before, mut after, mut count) = (0, 0, 0);
    let request = Request {
        variant,
        from: tables,
        to: archive,
    };
    pack(&request, &control, &mut |d| {
        count += 1;
        if d.metric == Metric::Wld {
            before += d.before;
            after += d.after;
        }
    })
    .unwrap();
    // Tables with king runs are copied.
    assert!(
        after < before || plan.king_run,
        "{variant} {after} {before}"
    );
    let request = Request {
        variant,
        from: archive,
        to: back,
    };
    unpack(&request, &control, &mut |_| count -= 1).unwrap();
    assert_eq!(count, 0);
    for entry in fs::read_dir(tables.join(variant.name())).unwrap() {
        let name = entry.unwrap().file_name();
        if name == ".lock" {
            continue;
        }
        let read = |dir: &Path| fs::read(dir.join(variant.name()).join(&name)).unwrap();
        assert!(read(tables) == read(back), "{variant} {name:?}");
    }
}

#[test]
fn tables_come_back_byte_by_byte() {
    there_and_back(Variant::English, 3, &[Metric::Wld, Metric::Dtw]);
    for variant in [
        Variant::International,
        Variant::Italian,
        Variant::Turkish,
        Variant::Poddavki,
        Variant::Frisian,
    ] {
        there_and_back(variant, 3, &[Metric::Wld]);
    }
}

#[test]
fn archives_say_what_they_lack() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [tables, archive] = dirs.each_ref().map(|d| d.path());
    let variant = Variant::English;
    let control = Control::new();
    let plan = Plan::complete(variant, 3, &[Metric::Wld], 2).unwrap();
    build(&plan, &options(tables), &control, &|_| {}).unwrap();
    let request = Request {
        variant,
        from: tables,
        to: archive,
    };
    pack(&request, &control, &mut |_| {}).unwrap();
    let m: Material = "KMvK".parse().unwrap();
    let table = Table::open_in(archive, variant, m, Metric::Wld).unwrap();
    let omitted = table.header().slices.iter();
    let omitted: Vec<_> = omitted.filter(|s| s.codec == Codec::Omitted).collect();
    assert_eq!(omitted.len(), 1);
    let side = omitted[0].side;
    table.read_wld(side.other()).unwrap();
    let e = table.read_wld(side).unwrap_err().to_string();
    assert!(e.contains("unpack"), "{e}");
    let (block, _) = table.block_of(side, 7);
    assert!(table.decode(block, &mut Scratch::new()).is_err());
    // A table cannot be put over itself, and nothing comes of a part of an archive.
    let same = Request {
        to: tables,
        ..request
    };
    let e = pack(&same, &control, &mut |_| {}).unwrap_err();
    assert!(matches!(e, Error::SameDirectory { .. }), "{e}");
    fs::remove_file(table_path(
        archive,
        variant,
        "KvK".parse().unwrap(),
        Metric::Wld,
    ))
    .unwrap();
    let back = tempfile::tempdir().unwrap();
    let request = Request {
        variant,
        from: archive,
        to: back.path(),
    };
    let e = unpack(&request, &control, &mut |_| {}).unwrap_err();
    assert!(matches!(e, Error::MissingTable { .. }), "{e}");
}
