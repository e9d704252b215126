//! What is written is read again, position by position.

use dambase_rules::{Board, Ruleset, Side, Variant, marker, movegen, position};
use dambase_tables::{
    BlockId, Codec, Dtw, DtwArray, Error, Header, Index, Material, Metric, Scratch, Table, Value,
    Wld, WldArray, WriteOptions, mark_verified, table_path, write_dtw, write_wld,
};
use proptest::prelude::*;

/// A value for a position, the same in every run: `pattern` chooses how the values change.
fn noise(i: u64, pattern: u64) -> u64 {
    (i / (pattern % 97 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ pattern) >> 40
}

fn wld(i: u64, pattern: u64) -> Wld {
    match noise(i, pattern) % (pattern % 5 + 1) {
        0 => Wld::Win,
        1 | 2 => Wld::Loss,
        _ => Wld::Draw,
    }
}

struct RoundTrip {
    material: Material,
    pattern: u64,
    options: WriteOptions,
    metric: Metric,
    longest: u16,
}

impl RoundTrip {
    fn run<R: Ruleset>(self) -> Header {
        let dir = tempfile::tempdir().unwrap();
        let path = table_path(dir.path(), R::VARIANT, self.material, self.metric);
        let ix = Index::<R::Bits>::new(R::RULES.geometry, self.material).unwrap();
        let n = ix.positions();
        let sides = self.material.sides();
        let parity = R::RULES.win_parity();
        let value = |i: u64, side: Side| {
            let pattern = self.pattern + 5 * side as u64;
            let plies = (noise(i, pattern ^ 0x5555) % u64::from(self.longest)) as u16;
            match wld(i, pattern) {
                Wld::Draw => Value::Draw,
                w => {
                    use dambase_rules::ruleset::WinParity::{Even, Odd};
                    let odd = match (w, parity) {
                        (Wld::Win, Some(Odd)) | (Wld::Loss, Some(Even)) => 1,
                        (_, Some(_)) => 0,
                        (_, None) => plies & 1,
                    };
                    let plies = Dtw(plies & !1 | odd);
                    if w == Wld::Win {
                        Value::Win(plies)
                    } else {
                        Value::Loss(plies)
                    }
                }
            }
        };
        let written = if self.metric == Metric::Wld {
            let slices: Vec<WldArray> = sides
                .iter()
                .map(|&s| {
                    let mut a = WldArray::new(n);
                    (0..n).for_each(|i| a.set(i, value(i, s).wld()));
                    a
                })
                .collect();
            let slices: Vec<&WldArray> = slices.iter().collect();
            write_wld::<R>(&path, self.material, &slices, &self.options).unwrap()
        } else {
            let slices: Vec<DtwArray> = sides
                .iter()
                .map(|&s| DtwArray {
                    codes: (0..n).map(|i| value(i, s).code()).collect(),
                })
                .collect();
            let slices: Vec<&DtwArray> = slices.iter().collect();
            write_dtw::<R>(&path, self.material, &slices, &self.options).unwrap()
        };
        let table = Table::open_in(dir.path(), R::VARIANT, self.material, self.metric).unwrap();
        assert_eq!(*table.header(), written);
        assert_eq!(written.file_bytes, std::fs::metadata(&path).unwrap().len());
        table.verify_checksums().unwrap();
        let memory = Table::from_bytes("memory", std::fs::read(&path).unwrap()).unwrap();
        let mut scratch = Scratch::new();
        for &side in sides {
            let slice = written.slice(side).unwrap();
            let whole = table.read_wld(side).unwrap();
            let distances = (self.metric == Metric::Dtw).then(|| table.read_dtw(side).unwrap());
            let (mut block, mut at) = (None, None::<BlockId>);
            let (mut counts, mut captures, mut decided) = ([0; 3], 0, 0);
            for i in 0..n {
                let board: Board<R::Bits> = ix.board(i);
                let wanted = value(i, side);
                counts[wanted.wld() as usize] += 1;
                if position::decided::<R>(&board).is_some() {
                    decided += 1;
                    continue;
                }
                if movegen::has_capture::<R>(&board, side) {
                    captures += 1;
                    continue;
                }
                let (id, offset) = memory.block_of(side, i);
                if at != Some(id) {
                    block = Some(memory.decode(id, &mut scratch).unwrap());
                    at = Some(id);
                }
                let block = block.as_ref().unwrap();
                assert_eq!(block.wld(offset), wanted.wld());
                assert_eq!(whole.get(i), wanted.wld());
                if let Some(d) = &distances {
                    assert_eq!(block.value(offset), wanted);
                    assert_eq!(d.get(i), wanted);
                }
            }
            let s = slice.stats;
            assert_eq!([s.draws, s.wins, s.losses], counts);
            assert_eq!((s.positions, s.captures, s.decided), (n, captures, decided));
            for (longest, wanted) in [(s.longest_win, Wld::Win), (s.longest_loss, Wld::Loss)] {
                let best = (0..n)
                    .filter(|&i| value(i, side).wld() == wanted)
                    .map(|i| (value(i, side).dtw().unwrap(), std::cmp::Reverse(i)))
                    .max()
                    .filter(|_| self.metric == Metric::Dtw);
                assert_eq!(longest.map(|l| (l.plies, std::cmp::Reverse(l.index))), best);
            }
        }
        written
    }
}

/// One code for each board, word and parity: enough here, and quick to compile.
const CODES: [Variant; 5] = [
    Variant::Italian,
    Variant::International,
    Variant::Canadian,
    Variant::Turkish,
    Variant::Poddavki,
];

fn run(v: Variant, test: RoundTrip) -> Header {
    match v {
        Variant::Italian => test.run::<marker::Italian>(),
        Variant::International => test.run::<marker::International>(),
        Variant::Canadian => test.run::<marker::Canadian>(),
        Variant::Turkish => test.run::<marker::Turkish>(),
        _ => test.run::<marker::Poddavki>(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_stored_value_returns(
        v in proptest::sample::select(CODES.to_vec()),
        material in proptest::sample::select(vec!["KvK", "KvM", "MvM", "MMvM", "KvMM", "MMvK"]),
        pattern in 0_u64..1000,
        distances in any::<bool>(),
        longest in proptest::sample::select(vec![2_u16, 40, 300, 30000]),
        block in proptest::sample::select(vec![None, Some(4), Some(256), Some(1024)]),
        codec in proptest::sample::select(vec![
            Codec::Raw,
            Codec::Zstd,
            Codec::Context,
            Codec::Distance,
        ]),
    ) {
        let material: Material = material.parse().unwrap();
        let test = RoundTrip {
            material: material.canonical(),
            pattern,
            options: WriteOptions {
                block_positions: block,
                codec,
                level: 3,
                verified: pattern % 2 == 0,
                ..WriteOptions::default()
            },
            metric: if distances { Metric::Dtw } else { Metric::Wld },
            longest,
        };
        run(v, test);
    }
}

#[test]
fn one_value_costs_a_header_only() {
    let header = run(
        Variant::International,
        RoundTrip {
            material: "KKvK".parse().unwrap(),
            pattern: 0,
            options: WriteOptions::default(),
            metric: Metric::Wld,
            longest: 2,
        },
    );
    assert_eq!(header.file_bytes, Header::BYTES as u64);
    assert!(header.slices.iter().all(|s| s.codec == Codec::Constant));
}

#[test]
fn what_does_not_fit_is_refused() {
    type English = marker::English;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KvK.wld");
    let options = WriteOptions::default();
    let material: Material = "KvK".parse().unwrap();
    let (short, long) = (WldArray::new(991), WldArray::new(992));
    for (material, slices) in [
        (material, vec![&short]),
        (material, vec![&long, &long]),
        (material, vec![]),
        ("MvK".parse().unwrap(), vec![&long, &long]),
    ] {
        let e = write_wld::<English>(&path, material, &slices, &options).unwrap_err();
        assert!(matches!(e, Error::Input { .. }), "{e}");
    }
    let odd = DtwArray {
        codes: vec![Value::Win(Dtw(2)).code(); 992].into(),
    };
    let e = write_dtw::<English>(&path, material, &[&odd], &options).unwrap_err();
    assert!(matches!(e, Error::Input { .. }), "{e}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // A file where the directory should be.
    write_wld::<English>(&path, material, &[&long], &options).unwrap();
    let below = path.join("KvK.wld");
    let e = write_wld::<English>(&below, material, &[&long], &options).unwrap_err();
    assert!(matches!(e, Error::Io { .. }), "{e}");
}

#[test]
fn a_table_can_be_marked_as_verified() {
    type English = marker::English;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("KvK.wld");
    let mut a = WldArray::new(992);
    (0..992).for_each(|i| a.set(i, wld(i, 3)));
    let options = WriteOptions {
        generator: "a version with a name of more than 32 bytes \u{e9}".into(),
        ..WriteOptions::default()
    };
    let before = write_wld::<English>(&path, "KvK".parse().unwrap(), &[&a], &options).unwrap();
    assert_eq!(before.generator, options.generator[..32]);
    let values = Table::read(&path).unwrap().read_wld(Side::White).unwrap();
    let marked = mark_verified(&path, "v1").unwrap();
    let table = Table::open(&path).unwrap();
    table.verify_checksums().unwrap();
    assert_eq!(*table.header(), marked);
    assert_eq!(table.read_wld(Side::White).unwrap(), values);
    let wanted = Header {
        verified: true,
        verifier: "v1".into(),
        ..before
    };
    assert_eq!(marked, wanted);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn tables_go_to_other_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Table>();
    shared::<Scratch>();
    shared::<dambase_tables::DecodedBlock>();
}
