//! The distance codec: every stored value returns, for every code, and a second decoder that was
//! written from docs/format-distance.md agrees. Damage is an error.

// The context codec's decoder, of which this one uses parts, has its own tests.
#[allow(dead_code)]
mod plain;

use dambase_rules::ruleset::WinParity;
use dambase_rules::{Bits, Board, MoveList, Ruleset, Run, Side, Variant, WithRuleset, movegen};
use dambase_tables::{
    BlockId, Codec, Dtw, DtwArray, Dtz, DtzArray, Error, Header, Index, Material, Metric,
    RuleValue, Scratch, Table, Value, Wld, WriteOptions, write_dtw, write_dtz,
};
use plain::distance::Slice;
use proptest::prelude::*;

/// A number for each index, the same in every run.
fn noise(i: u64, pattern: u64) -> u64 {
    let x = (i ^ pattern.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}

/// A value with about so many plies that the rules allow.
fn value<R: Ruleset>(wld: Wld, plies: u64) -> Value {
    let odd = match (wld, R::RULES.win_parity()) {
        (Wld::Draw, _) => return Value::Draw,
        (Wld::Win, Some(WinParity::Odd)) | (Wld::Loss, Some(WinParity::Even)) => 1,
        (_, Some(_)) => 0,
        (_, None) => plies & 1,
    };
    let plies = Dtw((plies & !1 | odd) as u16);
    if wld == Wld::Win {
        Value::Win(plies)
    } else {
        Value::Loss(plies)
    }
}

/// The values of both slices.
///
/// Pattern 0 modulo 5 is noise; 1 follows the rows of the board; 2 does so with errors and long
/// distances; 3 has one value almost everywhere; with 4 one side's values follow from the other's
/// by one ply, as in a real table.
fn values<R: Ruleset>(index: &Index<R::Bits>, pattern: u64) -> Vec<Vec<Value>> {
    let g = R::RULES.geometry;
    let material = index.material();
    let n = index.positions();
    let one = |side: u64| -> Vec<Value> {
        let at = |i: u64| {
            let b = index.board(i);
            let row = |set: R::Bits| {
                let rows = set.squares().map(|s| g.row_column(s).0 as u64);
                rows.sum::<u64>()
            };
            let (w, bl) = (
                row(b.kings[0] | b.men[0]),
                row(b.kings[1] | b.men[1]) + side,
            );
            let wlds = [Wld::Draw, Wld::Win, Wld::Loss];
            let smooth = match w + pattern % 3 {
                w if w > bl => value::<R>(Wld::Win, 2 * (w - bl)),
                w if w + 3 < bl => value::<R>(Wld::Loss, bl + 40),
                _ => Value::Draw,
            };
            let x = noise(i, pattern + side);
            match pattern % 5 {
                0 => value::<R>(wlds[(x % 3) as usize], x / 3 % (7 << (pattern % 8))),
                2 if x.is_multiple_of(13) => value::<R>(wlds[(x / 13 % 3) as usize], x % 900),
                3 if !x.is_multiple_of(977) => value::<R>(Wld::Loss, 6),
                3 => value::<R>(Wld::Win, x % 60),
                _ => smooth,
            }
        };
        (0..n).map(at).collect()
    };
    let mut all: Vec<Vec<Value>> = (0..material.sides().len() as u64).map(one).collect();
    if pattern % 5 == 4 && all.len() == 2 {
        let first = (pattern / 5 % 2) as usize;
        let side = Side::BOTH[1 - first];
        all[1 - first] = (0..n)
            .map(|i| {
                let b = index.board(i);
                let mut best = value::<R>(Wld::Loss, 2);
                let mut list = MoveList::new();
                movegen::quiet::<R>(&b, side, Run::NONE, &mut list);
                for m in list.iter() {
                    let after: Board<R::Bits> = b.after(side, m);
                    if Material::of(&after) != material {
                        continue;
                    }
                    let v = match all[first][index.index(&after) as usize] {
                        Value::Draw => Value::Draw,
                        Value::Win(d) => Value::Loss(Dtw(d.0 + 1)),
                        Value::Loss(d) => Value::Win(Dtw(d.0 + 1)),
                    };
                    let rank = |v| match v {
                        Value::Win(d) => 100_000 - i32::from(d.0),
                        Value::Draw => 0,
                        Value::Loss(d) => i32::from(d.0) - 100_000,
                    };
                    if rank(v) > rank(best) {
                        best = v;
                    }
                }
                best
            })
            .collect();
    }
    all
}

/// What a value is in a table under the draw limits.
fn under_limits(v: Value) -> RuleValue {
    match v {
        Value::Draw => RuleValue::Draw,
        Value::Win(d) if d.0 > RuleValue::MOST => RuleValue::CursedWin,
        Value::Loss(d) if d.0 > RuleValue::MOST => RuleValue::BlessedLoss,
        Value::Win(d) => RuleValue::Win(Dtz(d.0)),
        Value::Loss(d) => RuleValue::Loss(Dtz(d.0)),
    }
}

fn options() -> WriteOptions {
    WriteOptions {
        codec: Codec::Distance,
        ..WriteOptions::default()
    }
}

/// Writes a table and reads it back; the bytes of the file, and whether a slice depends on another.
fn written<R: Ruleset>(
    material: Material,
    metric: Metric,
    values: &[Vec<Value>],
    options: &WriteOptions,
) -> (Vec<u8>, Header) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table");
    let header = if metric == Metric::Dtw {
        let code = |v: &Vec<Value>| DtwArray {
            codes: v.iter().map(|v| v.code()).collect(),
        };
        let arrays: Vec<DtwArray> = values.iter().map(code).collect();
        let arrays: Vec<&DtwArray> = arrays.iter().collect();
        write_dtw::<R>(&path, material, &arrays, options).unwrap()
    } else {
        let code = |v: &Vec<Value>| DtzArray {
            codes: v.iter().map(|&v| under_limits(v).code()).collect(),
        };
        let arrays: Vec<DtzArray> = values.iter().map(code).collect();
        let arrays: Vec<&DtzArray> = arrays.iter().collect();
        write_dtz::<R>(&path, material, &arrays, options).unwrap()
    };
    (std::fs::read(path).unwrap(), header)
}

/// Writes a table and compares every position, a part of them by the plain decoder too.
struct Everything {
    material: Material,
    metric: Metric,
    pattern: u64,
    /// Every so many positions are looked up by the plain decoder; 0 for none.
    plain: u64,
}

/// How many slices have the codec, and how many of them depend on the other.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    coded: usize,
    depends: usize,
}

impl WithRuleset for Everything {
    type Output = Seen;
    fn run<R: Ruleset>(self) -> Seen {
        let material = self.material;
        let index = Index::<R::Bits>::new(R::RULES.geometry, material).unwrap();
        let values = values::<R>(&index, self.pattern);
        let (file, header) = written::<R>(material, self.metric, &values, &options());
        let table = Table::from_bytes("table", file.clone()).unwrap();
        table.verify_checksums().unwrap();
        let part = |s: dambase_tables::Section| {
            file[s.offset as usize..(s.offset + s.bytes) as usize].to_vec()
        };
        let plain: Vec<Option<Slice>> = (0..header.slices.len())
            .map(|k| {
                let s = &header.slices[k];
                let coding = file[128 + 184 * k + 85];
                (s.codec == Codec::Distance).then(|| {
                    let (model, directory, groups) = (part(s.model), part(s.table), part(s.blocks));
                    Slice::new(material, s.side, coding, &model, &directory, &groups)
                })
            })
            .collect();
        let mut seen = Seen::default();
        let mut scratch = Scratch::new();
        for (k, slice) in header.slices.iter().enumerate() {
            let side = slice.side;
            let name = || format!("{} {material} {side:?} {}", R::VARIANT, self.pattern);
            if let Some(p) = &plain[k] {
                seen.coded += 1;
                seen.depends += usize::from(p.depends());
            }
            let wld = table.read_wld(side).unwrap();
            let whole: Vec<u16> = if self.metric == Metric::Dtw {
                table.read_dtw(side).unwrap().codes.to_vec()
            } else {
                let codes = table.read_dtz(side).unwrap().codes;
                codes.iter().map(|&c| c.into()).collect()
            };
            let mut block = None;
            for i in 0..index.positions() {
                let b = index.board(i);
                if movegen::has_capture::<R>(&b, side)
                    || dambase_rules::position::decided::<R>(&b).is_some()
                {
                    continue;
                }
                let v = values[k][i as usize];
                let wanted = if self.metric == Metric::Dtw {
                    v.code()
                } else {
                    under_limits(v).code().into()
                };
                assert_eq!(whole[i as usize], wanted, "{} {b:?}", name());
                assert_eq!(wld.get(i), v.wld(), "{} {b:?}", name());
                let (id, offset) = table.place_of(side, &b, || i);
                let as_far = i % 61 == 0;
                if as_far {
                    block = Some((id, table.decode_to(id, offset, &mut scratch).unwrap()));
                } else if block
                    .as_ref()
                    .is_none_or(|(at, d)| *at != id || !d.covers(offset))
                {
                    block = Some((id, table.decode(id, &mut scratch).unwrap()));
                }
                let decoded = &block.as_ref().unwrap().1;
                assert_eq!(decoded.wld(offset), v.wld());
                if self.metric == Metric::Dtw {
                    assert_eq!(decoded.value(offset), v, "{} {b:?}", name());
                } else {
                    assert_eq!(decoded.rule(offset), under_limits(v), "{} {b:?}", name());
                }
                if self.plain > 0
                    && i.is_multiple_of(self.plain)
                    && let Some(p) = &plain[k]
                {
                    let other = plain.get(1 - k).and_then(Option::as_ref);
                    let symbol = p.symbol::<R>(other, &b);
                    let got = match (file[128 + 184 * k + 85], symbol) {
                        (_, 0) => 0,
                        (1 | 2 | 7, s) => s,
                        (coding, s) => {
                            let odd_wins = coding < 5;
                            let plies = s - 1;
                            2 * plies + if (plies % 2 == 1) == odd_wins { 1 } else { 2 }
                        }
                    };
                    assert_eq!(got, wanted, "{} {b:?}", name());
                }
            }
        }
        seen
    }
}

#[test]
fn two_pieces_of_every_code_return() {
    let mut depends = 0;
    for (k, &v) in Variant::ALL.iter().enumerate() {
        for (m, material) in Material::canonical_with(2).into_iter().enumerate() {
            let seen = v.with(Everything {
                material,
                metric: [Metric::Dtw, Metric::Dtz][(k + m) % 2],
                pattern: [4, 2, 0, 1, 9][(k + m) % 5],
                plain: 37,
            });
            depends += seen.depends;
        }
    }
    assert!(depends > 3, "{depends} slices depend on another");
}

/// One code for each board and parity.
const CODES: [Variant; 6] = [
    Variant::English,
    Variant::Italian,
    Variant::International,
    Variant::Canadian,
    Variant::Turkish,
    Variant::Poddavki,
];

#[test]
fn three_pieces_return() {
    let all = Material::canonical_with(3);
    let (mut coded, mut depends) = (0, 0);
    for (k, &v) in CODES.iter().enumerate() {
        let seen = v.with(Everything {
            material: all[(2 * k + 1) % all.len()],
            metric: [Metric::Dtw, Metric::Dtz][k % 2],
            pattern: [4, 9][k / 2 % 2],
            plain: 4999,
        });
        coded += seen.coded;
        depends += seen.depends;
    }
    assert_eq!(coded, 2 * CODES.len());
    assert!(depends >= 4, "{depends} slices depend on another");
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-tables --test distance -- --ignored"]
fn three_and_four_pieces_return() {
    for (k, &v) in Variant::ALL.iter().enumerate() {
        let mut all = Material::canonical_with(3);
        let four = Material::canonical_with(4);
        all.extend(four.iter().skip(k % 5).step_by(5));
        for (m, material) in all.into_iter().enumerate() {
            for metric in [Metric::Dtw, Metric::Dtz] {
                v.with(Everything {
                    material,
                    metric,
                    pattern: [4, 2, 9, 1][m % 4],
                    plain: if m % 3 == 0 { 20_011 } else { 0 },
                });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_values_return(
        v in proptest::sample::select(vec![Variant::Italian, Variant::Greek, Variant::Poddavki]),
        material in proptest::sample::select(vec!["KvK", "KvM", "MvM", "KvMM", "MMvM"]),
        pattern in 0_u64..200,
        limits in any::<bool>(),
    ) {
        let material: Material = material.parse().unwrap();
        v.with(Everything {
            material: material.canonical(),
            metric: if limits { Metric::Dtz } else { Metric::Dtw },
            pattern,
            plain: 499,
        });
    }
}

#[test]
fn threads_do_not_matter_and_the_smaller_is_taken() {
    type R = dambase_rules::marker::Russian;
    let material: Material = "KMvK".parse().unwrap();
    let index = Index::<u64>::new(R::RULES.geometry, material).unwrap();
    let write = |threads, pattern, codec| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let values = values::<R>(&index, pattern);
        let options = WriteOptions {
            codec,
            ..WriteOptions::default()
        };
        pool.install(|| written::<R>(material, Metric::Dtw, &values, &options))
    };
    let (one, header) = write(1, 4, Codec::Context);
    assert_eq!(write(3, 4, Codec::Context).0, one);
    assert!(header.slices.iter().all(|s| s.codec == Codec::Distance));
    assert!(one.len() < write(2, 4, Codec::Zstd).0.len());
    // Noise with a long period, which only zstd can know.
    let periodic: Vec<Vec<Value>> = (0..2)
        .map(|_| {
            let wlds = [Wld::Draw, Wld::Win, Wld::Loss];
            let at = |i: u64| {
                let x = noise(i % 1009, 3);
                value::<R>(wlds[(x % 3) as usize], x / 3 % 60)
            };
            (0..index.positions()).map(at).collect()
        })
        .collect();
    let options = WriteOptions::default();
    let (_, header) = written::<R>(material, Metric::Dtw, &periodic, &options);
    assert!(header.slices.iter().all(|s| s.codec == Codec::Zstd));
}

#[test]
fn distances_too_long_for_the_codec_go_to_blocks() {
    type R = dambase_rules::marker::English;
    let material: Material = "KvM".parse().unwrap();
    let index = Index::<u64>::new(R::RULES.geometry, material).unwrap();
    let values: Vec<Vec<Value>> = (0..2)
        .map(|_| {
            let at = |i: u64| value::<R>(Wld::Win, 2 * (noise(i, 1) % 9000));
            (0..index.positions()).map(at).collect()
        })
        .collect();
    let (file, header) = written::<R>(material, Metric::Dtw, &values, &options());
    assert!(header.slices.iter().all(|s| s.codec == Codec::Zstd));
    let table = Table::from_bytes("table", file).unwrap();
    let got = table.read_dtw(Side::White).unwrap();
    for i in 0..index.positions() {
        if !movegen::has_capture::<R>(&index.board(i), Side::White) {
            assert_eq!(got.get(i), values[0][i as usize]);
        }
    }
}

#[test]
fn damage_is_an_error() {
    type R = dambase_rules::marker::Brazilian;
    let material: Material = "KMvK".parse().unwrap();
    let index = Index::<u64>::new(R::RULES.geometry, material).unwrap();
    let values = values::<R>(&index, 4);
    let (file, header) = written::<R>(material, Metric::Dtw, &values, &options());
    assert!(header.slices.iter().all(|s| s.codec == Codec::Distance));
    let model = header.slices[1].model;
    assert!(
        file[model.offset as usize + 5] & 4 != 0,
        "Black depends on White"
    );
    let mut scratch = Scratch::new();
    let right = Table::from_bytes("table", file.clone()).unwrap();
    let step = (file.len() - Header::BYTES) / 60;
    for at in (Header::BYTES..file.len()).step_by(step) {
        let mut bad = file.clone();
        bad[at] ^= 1 << (at % 8);
        let table = Table::from_bytes("table", bad).unwrap();
        let e = table.verify_checksums().unwrap_err();
        assert!(matches!(e, Error::Corrupt { .. }), "{e}");
        for side in Side::BOTH {
            // An error, or what was there.
            let Ok(blocks) = table.block_count(side) else {
                continue;
            };
            for block in (0..blocks).step_by(11) {
                let id = BlockId { side, block };
                if let Ok(got) = table.decode(id, &mut scratch) {
                    assert_eq!(got, right.decode(id, &mut scratch).unwrap());
                }
            }
        }
        // Black's values need White's.
        let white = header.slices[0].blocks;
        if (white.offset..white.offset + white.bytes).contains(&(at as u64)) {
            assert!(table.read_dtw(Side::Black).is_err());
        }
    }
    for cut in [Header::BYTES, file.len() / 2, file.len() - 1] {
        assert!(Table::from_bytes("table", file[..cut].to_vec()).is_err());
    }
}
