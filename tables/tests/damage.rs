//! Damaged, cut and foreign files: an error of the right kind or the right values, never a panic
//! and never a wrong value.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use dambase_rules::{Ruleset, Side, Variant, marker, movegen};
use dambase_tables::{
    Codec, DtwArray, Error, Header, Index, Material, Metric, Scratch, Table, Wld, WldArray,
    WriteOptions, write_dtw, write_wld,
};
use xxhash_rust::xxh3::xxh3_64;

type R = marker::English;

fn noise(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % 1000
}

/// The bytes of a table of a king against a man.
fn wld_file(options: &WriteOptions) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KvM.wld");
    let n = index().positions();
    let slices = [0, 1].map(|side| {
        let mut a = WldArray::new(n);
        for i in 0..n {
            let v = [Wld::Win, Wld::Draw, Wld::Loss][(noise(i / 9 + side) % 3) as usize];
            a.set(i, v);
        }
        a
    });
    write_wld::<R>(&path, material(), &[&slices[0], &slices[1]], options).unwrap();
    std::fs::read(&path).unwrap()
}

fn dtw_file(options: &WriteOptions) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KvM.dtw");
    let n = index().positions();
    let slices = [0_u64, 1].map(|side| DtwArray {
        codes: (0..n)
            .map(|i| {
                // White has distances beyond one byte.
                let plies = noise(i / 3) % (300 - 250 * side);
                (2 * plies + if plies % 2 == 1 { 1 } else { 2 }) as u16
            })
            .collect(),
    });
    write_dtw::<R>(&path, material(), &[&slices[0], &slices[1]], options).unwrap();
    std::fs::read(&path).unwrap()
}

fn material() -> Material {
    "KvM".parse().unwrap()
}
fn index() -> Index<u64> {
    Index::new(R::RULES.geometry, material()).unwrap()
}

/// All stored values, or the first error.
fn values(bytes: Vec<u8>) -> Result<Vec<u16>, Error> {
    let table = Table::from_bytes("x/KvM.wld", bytes)?;
    let mut scratch = Scratch::new();
    let mut all = Vec::new();
    for &side in table.header().material.sides() {
        let mut blocks = HashMap::new();
        for i in 0..index().positions() {
            let (id, offset) = table.block_of(side, i);
            let block = match blocks.entry(id) {
                Entry::Occupied(e) => e.into_mut(),
                Entry::Vacant(e) => e.insert(table.decode(id, &mut scratch)?),
            };
            if !movegen::has_capture::<R>(&index().board(i), side) {
                all.push(match table.header().metric {
                    Metric::Wld => block.wld(offset) as u16,
                    _ => block.value(offset).code(),
                });
            }
        }
        table.read_wld(side)?;
        if table.header().metric == Metric::Dtw {
            table.read_dtw(side)?;
        }
    }
    table.verify_checksums()?;
    Ok(all)
}

fn small_blocks() -> WriteOptions {
    WriteOptions {
        block_positions: Some(128),
        ..WriteOptions::default()
    }
}

#[test]
fn no_flipped_byte_changes_a_value() {
    let zstd = WriteOptions {
        codec: Codec::Zstd,
        ..small_blocks()
    };
    for file in [wld_file(&small_blocks()), wld_file(&zstd), dtw_file(&zstd)] {
        let right = values(file.clone()).unwrap();
        for at in 0..file.len() {
            for flip in [0xff, 1 << (at % 8)] {
                let mut bad = file.clone();
                bad[at] ^= flip;
                match values(bad) {
                    Ok(v) => assert_eq!(v, right, "byte {at} of {}", file.len()),
                    Err(e) if at < 8 => assert!(matches!(e, Error::NotATable { .. }), "{e}"),
                    Err(e) if at < 10 => assert!(matches!(e, Error::Version { .. }), "{e}"),
                    Err(e) if at < Header::BYTES => {
                        assert!(matches!(e, Error::HeaderChecksum { .. }), "{e}");
                    }
                    Err(e) => assert!(matches!(e, Error::Corrupt { .. }), "{e}"),
                }
            }
        }
    }
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    let file = wld_file(&small_blocks());
    for n in 0..file.len() {
        let e = values(file[..n].to_vec()).unwrap_err();
        assert!(matches!(e, Error::Length { .. }), "{n}: {e}");
    }
    let mut longer = file;
    longer.push(0);
    let e = values(longer).unwrap_err();
    assert!(matches!(e, Error::Length { .. }), "{e}");
}

/// Sets a byte of the header and makes its checksum right again.
fn forged(file: &[u8], at: usize, byte: u8) -> Vec<u8> {
    let mut out = file.to_vec();
    out[at] = byte;
    let checksum = xxh3_64(&out[..504]).to_le_bytes();
    out[504..512].copy_from_slice(&checksum);
    out
}

#[test]
fn forged_headers_do_no_harm() {
    for file in [wld_file(&small_blocks()), dtw_file(&small_blocks())] {
        for at in 0..504 {
            for byte in [0, 1, 2, 3, 4, 16, 127, 128, 255, file[at] ^ 1] {
                // Whatever comes out, it is no panic and no endless allocation.
                let _ = values(forged(&file, at, byte));
            }
        }
    }
}

#[test]
fn each_fault_has_its_own_error() {
    let file = wld_file(&small_blocks());
    let e = |at, byte| values(forged(&file, at, byte)).unwrap_err();
    assert!(matches!(e(0, b'd'), Error::NotATable { .. }));
    assert!(matches!(e(8, 2), Error::Version { found: 2, .. }));
    let unknown = |e, wanted| match e {
        Error::Unknown { field, .. } => assert_eq!(field, wanted),
        e => panic!("{e}"),
    };
    unknown(e(12, 63), "variant");
    unknown(e(13, 9), "metric");
    unknown(e(128 + 84, 77), "codec");
    unknown(e(128 + 85, 77), "coding");
    let variant = |v: Variant| values(forged(&file, 12, v.id())).unwrap_err();
    assert!(matches!(variant(Variant::Pool), Error::OtherRules { .. }));
    assert!(matches!(variant(Variant::Canadian), Error::Header { .. }));
    assert!(matches!(e(16, 0x5a), Error::OtherRules { .. }));
    assert!(matches!(e(32, 128), Error::Header { .. }));
    assert!(matches!(e(40, 1), Error::Header { .. }));
    assert!(matches!(e(128, 1), Error::Header { .. }));
    assert!(matches!(e(112, 1), Error::Header { .. }));
    for text in [e(8, 2), e(12, 63), e(16, 1), e(40, 1)].map(|e| e.to_string()) {
        assert!(
            text.starts_with("x/KvM.wld has") || text.contains("x/KvM.wld"),
            "{text}"
        );
        assert!(text.contains("build"), "{text}");
    }
    let table = Table::from_bytes("KvM.wld", file).unwrap();
    let expect = |v, m: &str, metric| table.expect(v, m.parse().unwrap(), metric);
    expect(Variant::English, "KvM", Metric::Wld).unwrap();
    let e = expect(Variant::Pool, "KvM", Metric::Wld).unwrap_err();
    assert!(matches!(e, Error::OtherVariant { .. }), "{e}");
    let e = expect(Variant::English, "KvM", Metric::Dtw).unwrap_err();
    assert!(matches!(e, Error::OtherTable { .. }), "{e}");
    let e = expect(Variant::English, "KvK", Metric::Wld).unwrap_err();
    assert!(matches!(e, Error::OtherTable { .. }), "{e}");
    // What a table does not have.
    let mut scratch = Scratch::new();
    let (id, _) = table.block_of(Side::White, u64::MAX);
    let e = table.decode(id, &mut scratch).unwrap_err();
    assert!(matches!(e, Error::NotStored { .. }), "{e}");
    let e = table.read_dtw(Side::White).unwrap_err();
    assert!(matches!(e, Error::NotStored { .. }), "{e}");
    // Files that are not there, or not files.
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path(), &dir.path().join("KvM.wld")] {
        let e = Table::open(path).unwrap_err();
        assert!(matches!(e, Error::Io { .. }), "{e}");
    }
}

#[test]
fn a_damaged_dictionary_is_noticed() {
    type R = marker::International;
    let material: Material = "KKKvK".parse().unwrap();
    let index = Index::<u64>::new(R::RULES.geometry, material).unwrap();
    let n = index.positions();
    let mut a = WldArray::new(n);
    for i in 0..n {
        let v = [Wld::Win, Wld::Draw, Wld::Loss][(noise(i % 1000) % 3) as usize];
        a.set(i, v);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KKKvK.wld");
    let options = WriteOptions {
        codec: Codec::Zstd,
        block_positions: Some(512),
        level: 3,
        ..WriteOptions::default()
    };
    let header = write_wld::<R>(&path, material, &[&a, &a], &options).unwrap();
    let model = header.slice(Side::White).unwrap().model;
    assert!(model.bytes > 0, "the pattern calls for a dictionary");
    let read = |path: &Path| Table::read(path).unwrap().read_wld(Side::White);
    let right = read(&path).unwrap();
    index.for_each_board(0..n, |i, b| {
        if !movegen::has_capture::<R>(b, Side::White) {
            assert_eq!(right.get(i), a.get(i));
        }
    });
    let mut file = std::fs::read(&path).unwrap();
    file[model.offset as usize + 100] ^= 4;
    std::fs::write(&path, file).unwrap();
    let e = read(&path).unwrap_err();
    assert!(matches!(e, Error::Corrupt { .. }), "{e}");
    assert!(e.to_string().contains("dictionary (white"), "{e}");
}

#[test]
fn bytes_do_not_depend_on_the_threads() {
    let options = small_blocks();
    let write = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| (wld_file(&options), dtw_file(&options)))
    };
    let one = write(1);
    assert!(one == write(2) && one == write(7) && one == write(1));
}
