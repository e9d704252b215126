//! The context codec: every stored position returns, for every code, and a second decoder that
//! was written from docs/format-context.md agrees. Damage is an error.

// It has the distance codec's decoder too, which has its own tests.
#[allow(dead_code)]
mod plain;

use dambase_rules::{Bits, Geometry, Ruleset, Side, Variant, WithRuleset, movegen};
use dambase_tables::codec::context::{
    Encoded, Kind, Limits, Rows, Shape, SliceDecoder, encode, encode_shaped,
};
use dambase_tables::{Index, Material, Wld, WldArray};
use plain::Plain;
use proptest::prelude::*;

/// Values of several kinds, so that copies, near copies and noise all occur.
fn values<W: Bits>(g: Geometry, index: &Index<W>, pattern: u64) -> WldArray {
    let mut a = WldArray::new(index.positions());
    let hash = |x: u64| {
        let x = (x ^ pattern.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
    };
    for i in 0..index.positions() {
        let b = index.board(i);
        let row = |set: W| set.squares().map(|s| g.row_column(s).0 as u64).sum::<u64>();
        let smooth = match (row(b.kings[0] | b.men[0]), row(b.kings[1] | b.men[1])) {
            (w, bl) if w + pattern % 3 > bl => 1,
            (w, bl) if w + 3 < bl => 2,
            _ => 0,
        };
        let v = match pattern % 4 {
            0 => hash(i) % 3,
            1 => smooth,
            2 if hash(i) % 23 == 0 => hash(i + 7) % 3,
            2 => smooth,
            _ => u64::from(hash(i) % 977 == 0),
        };
        a.set(i, Wld::from_bits(v as u8).unwrap());
    }
    a
}

/// Encodes a slice and compares every position, by both decoders.
struct Everything {
    material: Material,
    side: Side,
    pattern: u64,
    shape: Option<Shape>,
    plain: bool,
}

impl WithRuleset for Everything {
    type Output = Option<Encoded>;
    fn run<R: Ruleset>(self) -> Option<Encoded> {
        let g = R::RULES.geometry;
        let index = Index::<R::Bits>::new(g, self.material).unwrap();
        let values = values(g, &index, self.pattern);
        let (material, side) = (self.material, self.side);
        let encoded = match self.shape {
            None => encode::<R>(material, side, &values, Limits::runtime(g))?,
            Some(shape) => encode_shaped::<R>(material, side, &values, shape)?,
        };
        let e = &encoded;
        let decoder = SliceDecoder::new(g, material, side, &e.model).unwrap();
        assert_eq!(decoder.directory_bytes(), Some(e.directory.len() as u64));
        let mut plain = self
            .plain
            .then(|| Plain::new(material, side, &e.model, &e.directory, &e.groups));
        let mut rows = Rows::new();
        let mut at = None;
        let last = decoder.layout().rows() as u16 - 1;
        for i in 0..index.positions() {
            let b = index.board(i);
            if movegen::has_capture::<R>(&b, side) {
                continue;
            }
            let place = decoder.locate(&b);
            if at != Some(place.chunk) {
                decoder
                    .decode::<R>(&e.directory, &e.groups, place.chunk, last, &mut rows)
                    .unwrap();
                at = Some(place.chunk);
            }
            let wanted = values.get(i);
            let got = decoder.value(&rows, place.row, place.square);
            assert_eq!(got, wanted, "{} {material} {side:?} {b:?}", R::VARIANT);
            if let Some(plain) = &mut plain {
                assert_eq!(plain.value::<R>(&b), wanted, "{} {b:?}", R::VARIANT);
            }
            if i % 97 == 0 {
                // Only as far as the row.
                decoder
                    .decode::<R>(&e.directory, &e.groups, place.chunk, place.row, &mut rows)
                    .unwrap();
                assert_eq!(decoder.value(&rows, place.row, place.square), wanted);
                at = None;
            }
        }
        let mut whole = WldArray::new(index.positions());
        decoder
            .decode_all::<R>(&index, &e.directory, &e.groups, &mut whole)
            .unwrap();
        for i in 0..index.positions() {
            if !movegen::has_capture::<R>(&index.board(i), side) {
                assert_eq!(whole.get(i), values.get(i));
            }
        }
        Some(encoded)
    }
}

#[test]
fn two_pieces_of_every_code_return() {
    for (k, &v) in Variant::ALL.iter().enumerate() {
        for material in Material::canonical_with(2) {
            for &side in material.sides() {
                v.with(Everything {
                    material,
                    side,
                    pattern: k as u64,
                    shape: None,
                    plain: true,
                })
                .expect("a shape");
            }
        }
    }
}

#[test]
fn three_pieces_of_every_code_return() {
    let all = Material::canonical_with(3);
    for (k, &v) in Variant::ALL.iter().enumerate() {
        for m in 0..2 {
            let material = all[(k * 5 + m * 3) % all.len()];
            v.with(Everything {
                material,
                side: Side::BOTH[(k + m) % 2],
                pattern: 1 + k as u64 + m as u64,
                shape: None,
                plain: m == 0,
            })
            .expect("a shape");
        }
    }
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-tables --test context -- --ignored"]
fn three_and_four_pieces_return() {
    for (k, &v) in Variant::ALL.iter().enumerate() {
        let mut all = Material::canonical_with(3);
        let four = Material::canonical_with(4);
        all.extend(four.iter().skip(k % 5).step_by(5));
        for material in all {
            for &side in material.sides() {
                v.with(Everything {
                    material,
                    side,
                    pattern: 2,
                    shape: None,
                    plain: false,
                })
                .expect("a shape");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]
    #[test]
    fn any_shape_returns(
        v in proptest::sample::select(vec![Variant::Italian, Variant::Greek, Variant::English]),
        material in proptest::sample::select(vec!["KKvK", "KMvK", "KKvM", "MMvM", "KvMM", "MvKM"]),
        side in proptest::sample::select(Side::BOTH.to_vec()),
        kinds in proptest::array::uniform3(0_usize..5),
        parts in (1_u8..33, 1_u8..10),
        pattern in 0_u64..100,
    ) {
        let material: Material = material.parse().unwrap();
        let material = material.canonical();
        if kinds[0] < 4 && kinds[1] < 4 {
            let second = Kind::ALL.get(kinds[2]).copied();
            v.with(Everything {
                material,
                side,
                pattern,
                shape: Some(Shape {
                    vector: Kind::ALL[kinds[0]],
                    fast: Kind::ALL[kinds[1]],
                    second,
                    fast_part: parts.0,
                    second_part: if second.is_some() { parts.1 } else { 1 },
                }),
                plain: pattern % 3 == 0,
            });
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            Variant::Russian.with(Everything {
                material: "KMvK".parse().unwrap(),
                side: Side::Black,
                pattern: 2,
                shape: None,
                plain: false,
            })
        })
    };
    let one = run(1).unwrap();
    assert_eq!(run(3).unwrap(), one);
    assert!(one.bytes() > 100);
}

#[test]
fn damage_is_an_error() {
    struct Damage;
    impl WithRuleset for Damage {
        type Output = ();
        fn run<R: Ruleset>(self) {
            let g = R::RULES.geometry;
            let material: Material = "KMvK".parse().unwrap();
            let index = Index::<R::Bits>::new(g, material).unwrap();
            let values = values(g, &index, 2);
            let side = Side::White;
            let e = encode::<R>(material, side, &values, Limits::runtime(g)).unwrap();
            let decoder = SliceDecoder::new(g, material, side, &e.model).unwrap();
            let mut rows = Rows::new();
            let chunks = decoder.layout().chunks();
            assert!(
                decoder
                    .decode::<R>(&e.directory, &e.groups, chunks, 0, &mut rows)
                    .is_err()
            );
            let mut bad = e.groups.clone();
            let step = (bad.len() / 300).max(1);
            for at in (0..bad.len()).step_by(step) {
                for bit in [0, 3, 7] {
                    bad[at] ^= 1 << bit;
                    // Some chunk of the group that was hit is refused, and no other differs.
                    let mut refused = 0;
                    for chunk in (0..chunks).step_by(64) {
                        let r = decoder.decode::<R>(&e.directory, &bad, chunk, 5, &mut rows);
                        refused += u32::from(r.is_err());
                    }
                    assert_eq!(refused, 1);
                    bad[at] ^= 1 << bit;
                }
            }
            // Whatever the model, nothing panics.
            for at in 0..e.model.len() {
                for bit in 0..8 {
                    let mut model = e.model.clone();
                    model[at] ^= 1 << bit;
                    if let Ok(d) = SliceDecoder::new(g, material, side, &model) {
                        for chunk in (0..chunks.min(d.layout().chunks())).step_by(7) {
                            let _ = d.decode::<R>(&e.directory, &e.groups, chunk, 9, &mut rows);
                        }
                    }
                }
                assert!(SliceDecoder::new(g, material, side, &e.model[..at]).is_err());
            }
        }
    }
    Variant::Brazilian.with(Damage);
}
