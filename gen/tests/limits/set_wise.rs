//! The set-wise solver under the draw limits against the scalar one, position by position.

use dambase_gen::Control;
use dambase_gen::limits::{RuledStore, solve_set_wise};
use dambase_rules::{LimitSet, Variant};
use dambase_tables::Material;

use super::ruled;

/// Solves everything to so many pieces twice; gives how many materials were done set-wise.
fn compare(variant: Variant, limits: &str, pieces: u8) -> usize {
    let limits = LimitSet::parse(variant, limits).unwrap();
    let wld = ruled::build_wld(variant, pieces);
    let mut store = RuledStore::new(limits);
    let mut set_wise = 0;
    for material in wld.materials() {
        let ctl = Control::new();
        let found = solve_set_wise(material, &mut store, &ctl).unwrap();
        let scalar = ruled::solve(material, &wld, &store);
        if let Some(found) = found {
            let positions: u64 = found.dtz.iter().map(|dtz| dtz.len()).sum();
            assert_eq!(ctl.positions(), positions, "{variant} {material}");
            for (side, (ours, theirs)) in found.dtz.iter().zip(&scalar.dtz).enumerate() {
                let differs = (0..ours.len()).find(|&i| ours.get(i) != theirs.get(i));
                let values = differs.map(|i| (i, ours.get(i), theirs.get(i)));
                assert_eq!(values, None, "{variant} {limits} {material} {side}");
            }
            assert_eq!(found, scalar);
            set_wise += 1;
        }
        store.insert(scalar);
    }
    set_wise
}

macro_rules! codes {
    ($($test:ident $variant:ident $limits:literal $three:literal $four:literal;)*) => {
        $(
            #[test]
            fn $test() {
                assert_eq!(compare(Variant::$variant, $limits, 3), $three);
            }
        )*
        mod four_pieces {
            use super::*;
            $(
                #[test]
                #[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
                fn $test() {
                    assert_eq!(compare(Variant::$variant, $limits, 4), $four);
                }
            )*
        }
    };
}

// Of the nine materials of two and three pieces and of the 23 of up to four those in
// which one clock runs that every capture and man's move starts again, or none.
codes! {
    international International "default" 7 18;
    international_without_the_quiet_clock International "no-25-move" 7 18;
    international_with_it_alone International "25-move" 9 23;
    canadian Canadian "default" 7 18;
    english English "default" 9 23;
    italian Italian "default" 9 23;
    russian Russian "default" 7 18;
    russian_without_the_diagonal Russian "no-long-diagonal" 7 21;
    russian_with_more Russian "default,30-move" 7 15;
    russian_with_thirty_moves_alone Russian "30-move" 9 19;
    pool Pool "default" 9 23;
    brazilian Brazilian "default" 7 19;
    brazilian_each_fresh Brazilian "5-move-each-fresh,20-move" 8 21;
    spanish Spanish "default" 9 23;
    frisian Frisian "default" 9 23;
}

/// What is not canonical is refused, and what rests on tables that are not there.
#[test]
fn what_cannot_be_solved_is_said() {
    let mut store = RuledStore::new(LimitSet::of(Variant::English));
    let turned: Material = "KvKK".parse().unwrap();
    assert!(solve_set_wise(turned, &mut store, &Control::new()).is_err());
    let needs: Material = "KKvK".parse().unwrap();
    let error = solve_set_wise(needs, &mut store, &Control::new()).unwrap_err();
    assert!(error.to_string().contains("KvK"), "{error}");
}
