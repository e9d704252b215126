//! Properties of the scalar solver: threads, interruption, what is missing, filled captures.

mod common;

use common::{build, closure, fill};
use dambase_gen::{Control, Error, Solved, Store, scalar};
use dambase_rules::{Position, Variant, marker, movegen::has_capture};
use dambase_tables::{Index, Material, Wld};

fn with_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(f)
}

fn solve(variant: Variant, material: Material, store: &Store, dtw: bool) -> Solved {
    scalar::solve_variant(variant, material, store, dtw, &Control::new()).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same() {
    // Kings only is one large unit, split among threads; the others are many units.
    for (variant, material) in [
        (Variant::International, Material::new(2, 0, 2, 0)),
        (Variant::Canadian, Material::new(2, 0, 1, 0)),
        (Variant::English, Material::new(1, 1, 1, 1)),
        (Variant::Turkish, Material::new(1, 1, 0, 1)),
    ] {
        let store = closure(variant, &[material], true);
        for dtw in [false, true] {
            let one = with_threads(1, || solve(variant, material, &store, dtw));
            let five = with_threads(5, || solve(variant, material, &store, dtw));
            assert!(one == five, "{variant} {material}");
            assert_eq!(one.wld, store.get(material).unwrap().wld);
        }
    }
}

#[test]
fn a_wish_to_stop_is_heard() {
    let store = build(Variant::English, 2, false);
    let ctl = Control::new();
    ctl.stop();
    let kk = Material::new(2, 0, 1, 0);
    let got = scalar::solve::<marker::English>(kk, &store, false, &ctl);
    assert!(matches!(got, Err(Error::Interrupted)));
}

#[test]
fn progress_counts_every_position() {
    let store = build(Variant::Turkish, 2, false);
    for material in Material::canonical_with(2) {
        let ctl = Control::new();
        let solved = scalar::solve_variant(Variant::Turkish, material, &store, false, &ctl);
        let positions: u64 = solved.unwrap().wld.iter().map(|a| a.len()).sum();
        assert_eq!(ctl.positions(), positions);
    }
}

#[test]
fn what_is_missing_is_named() {
    let ctl = Control::new();
    let (mvm, kvm) = (Material::new(0, 1, 0, 1), Material::new(1, 0, 0, 1));
    let got = scalar::solve::<marker::English>(mvm, &Store::new(), false, &ctl);
    assert!(matches!(got, Err(Error::MissingTable { material, needed })
        if material == mvm && needed == kvm));
    let store = build(Variant::English, 2, false);
    let got = scalar::solve::<marker::English>(mvm, &store, true, &ctl);
    assert!(matches!(got, Err(Error::MissingDistances { .. })));
    let got = scalar::solve::<marker::English>(kvm.mirrored(), &store, false, &ctl);
    assert!(matches!(got, Err(Error::NotCanonical(m)) if m == kvm.mirrored()));
}

#[test]
fn captures_are_filled_in() {
    struct HasCapture<'a>(&'a Position);
    impl dambase_rules::WithRuleset for HasCapture<'_> {
        type Output = bool;
        fn run<R: dambase_rules::Ruleset>(self) -> bool {
            let board = dambase_rules::Board::from_wide(self.0.board());
            self.0.decided().is_some() || has_capture::<R>(&board, self.0.side())
        }
    }
    for variant in [Variant::English, Variant::Turkish, Variant::Poddavki] {
        let pieces = if variant == Variant::Turkish { 2 } else { 3 };
        for dtw in [false, true] {
            let store = build(variant, pieces, dtw);
            for material in Material::canonical_with(pieces) {
                let wanted = store.get(material).unwrap();
                let mut solved = wanted.clone();
                let g = variant.rules().geometry;
                let index = Index::<u128>::new(g, material).unwrap();
                for (s, &side) in material.sides().iter().enumerate() {
                    for i in 0..index.positions() {
                        let runs = Default::default();
                        let p = Position::new(variant, index.board(i), side, runs).unwrap();
                        if variant.with(HasCapture(&p)) {
                            solved.wld[s].set(i, Wld::Loss);
                            for d in solved.dtw.iter_mut() {
                                d[s].codes[i as usize] = 77;
                            }
                        }
                    }
                }
                assert!(solved != *wanted, "{variant} {material}");
                fill(variant, &mut solved, &store);
                assert!(solved == *wanted, "{variant} {material}");
            }
        }
    }
}
