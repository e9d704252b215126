//! The set-wise solver against the scalar one, position by position.

use dambase_gen::{Control, Store, scalar, setwise};
use dambase_rules::Variant;
use dambase_tables::{Index, Material};

/// Solves all materials of up to `pieces` pieces with both solvers and compares every value.
fn compare(variant: Variant, pieces: u8) {
    let mut store = Store::new();
    let ctl = Control::new();
    for n in 2..=pieces {
        for material in Material::canonical_with(n) {
            let wanted = scalar::solve_variant(variant, material, &store, false, &ctl).unwrap();
            let got = setwise::solve_variant(variant, material, &store, false, &ctl).unwrap();
            assert_eq!(got.material, material);
            assert_eq!(got.wld.len(), wanted.wld.len());
            let index = Index::<u128>::new(variant.rules().geometry, material).unwrap();
            for (s, (got, wanted)) in got.wld.iter().zip(&wanted.wld).enumerate() {
                let side = material.sides()[s];
                assert_eq!(got.len(), wanted.len());
                let differ = |&i: &u64| got.get(i) != wanted.get(i);
                let wrong = (0..got.len()).filter(differ).count();
                if let Some(i) = (0..got.len()).find(differ) {
                    panic!(
                        "{variant} {material} {side:?}: {wrong} of {} differ, first {i} ({:?}): {} for {}",
                        got.len(),
                        index.board(i),
                        got.get(i),
                        wanted.get(i),
                    );
                }
            }
            store.insert(wanted);
        }
    }
}

macro_rules! codes {
    ($($name:ident $variant:ident;)*) => {
        $(
            #[test]
            fn $name() {
                compare(Variant::$variant, 3);
            }
        )*
        mod four_pieces {
            use super::*;
            $(
                #[test]
                #[ignore = "slow: cargo test --release -p dambase-gen --test setwise -- --ignored"]
                fn $name() {
                    compare(Variant::$variant, 4);
                }
            )*
        }
        #[test]
        fn every_variant_is_here() {
            assert_eq!([$(Variant::$variant),*].len(), Variant::ALL.len());
        }
    };
}

codes! {
    english English;
    international International;
    russian Russian;
    brazilian Brazilian;
    pool Pool;
    german German;
    italian Italian;
    spanish Spanish;
    canadian Canadian;
    frisian Frisian;
    turkish Turkish;
    armenian Armenian;
    greek Greek;
    poddavki Poddavki;
    german_must_continue GermanMustContinue;
    spanish_federation SpanishFederation;
    turkish_promote_at_end TurkishPromoteAtEnd;
    armenian_queen_king ArmenianQueenKing;
    armenian_promote_at_end ArmenianPromoteAtEnd;
    greek_must_continue GreekMustContinue;
    greek_promote_at_end GreekPromoteAtEnd;
    frisian_federation FrisianFederation;
    breakthrough Breakthrough;
}
