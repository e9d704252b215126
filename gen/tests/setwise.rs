//! The set-wise solver against the scalar one, position by position.

use dambase_gen::plan::Plan;
use dambase_gen::{Control, Solved, Store, scalar, setwise};
use dambase_rules::{Board, Position, Run, Side, Variant};
use dambase_tables::{Index, Material, Metric, Wld, canonical};

/// Solves all materials of up to `pieces` pieces with both solvers and compares every value and
/// distance.
fn compare(variant: Variant, pieces: u8) {
    compare_some(variant, pieces, |_| true);
}

/// The same for some materials, among which must be all that they lead to.
fn compare_some(variant: Variant, pieces: u8, wanted: impl Fn(&Material) -> bool) {
    let mut store = Store::new();
    let ctl = Control::new();
    for n in 2..=pieces {
        for material in Material::canonical_with(n).into_iter().filter(&wanted) {
            let wanted = scalar::solve_variant(variant, material, &store, true, &ctl).unwrap();
            for distances in [false, true] {
                let got = setwise::solve_variant(variant, material, &store, distances, &ctl);
                let got = got.unwrap();
                assert_eq!(got.dtw.is_some(), distances);
                assert_equal(variant, &got, &wanted);
            }
            store.insert(wanted);
        }
    }
}

/// Compares every value, and every distance that `got` has.
fn assert_equal(variant: Variant, got: &Solved, wanted: &Solved) {
    let material = wanted.material;
    assert_eq!(got.material, wanted.material);
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
    let distances = got.dtw.iter().flatten();
    for (s, (got, wanted)) in distances.zip(wanted.dtw.iter().flatten()).enumerate() {
        let side = material.sides()[s];
        assert_eq!(got.len(), wanted.len());
        let differ = |&i: &u64| got.get(i) != wanted.get(i);
        if let Some(i) = (0..got.len()).find(differ) {
            panic!(
                "{variant} {material} {side:?}: {} of {} differ, first {i} ({:?}): {:?} for {:?}",
                (0..got.len()).filter(differ).count(),
                got.len(),
                index.board(i),
                got.get(i),
                wanted.get(i),
            );
        }
    }
}

/// Solves a material and all it leads to, as far as the store has not got it.
fn closure(variant: Variant, material: &str, store: &mut Store) -> Material {
    let material: Material = material.parse().unwrap();
    let plan = Plan::with_children(variant, &[material], &[Metric::Wld], 2).unwrap();
    for step in &plan.steps {
        if store.get(step.material).is_none() {
            let ctl = Control::new();
            let solved = setwise::solve_variant(variant, step.material, store, false, &ctl);
            store.insert(solved.unwrap());
        }
    }
    material
}

/// Compares a whole material of which all smaller ones were solved set-wise.
fn compare_one(variant: Variant, material: &str, store: &mut Store) {
    let material = closure(variant, material, store);
    let wanted = scalar::solve_variant(variant, material, store, false, &Control::new()).unwrap();
    assert_equal(variant, store.get(material).unwrap(), &wanted);
}

/// The value of a position of any material in the store.
fn value(variant: Variant, store: &Store, board: &Board<u128>, side: Side) -> Wld {
    let geometry = variant.rules().geometry;
    let placed = canonical(geometry, board, side);
    let sides = placed.material.sides();
    let slice = sides.iter().position(|&s| s == placed.side).unwrap();
    let index = Index::<u128>::new(geometry, placed.material).unwrap();
    store.get(placed.material).unwrap().wld[slice].get(index.index(&placed.board))
}

/// Takes `units` placements of the men, with all placements of the kings and either side to move,
/// and asks whether each value follows from those of the moves.
fn follows(variant: Variant, material: &str, units: u64, store: &mut Store) {
    let material = closure(variant, material, store);
    let index = Index::<u128>::new(variant.rules().geometry, material).unwrap();
    for unit in 0..units.min(index.men_placements()) {
        // Spread over all placements, away from any period of their order.
        let rank = unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) % index.men_placements();
        for i in 0..index.king_space() {
            let board = index.board(rank * index.king_space() + i);
            for side in Side::BOTH {
                let ours = value(variant, store, &board, side);
                let position = Position::new(variant, board, side, [Run::NONE; 2]).unwrap();
                let wanted = match position.winner() {
                    Some(winner) if winner == side => Wld::Win,
                    Some(_) => Wld::Loss,
                    None => best(variant, store, &position),
                };
                assert_eq!(ours, wanted, "{variant} {}", position.fen());
            }
        }
    }
}

/// The best value that a legal move leads to.
fn best(variant: Variant, store: &Store, position: &Position) -> Wld {
    let mut best = Wld::Loss;
    for m in position.legal_moves() {
        let after = position.after(&m).without_runs();
        let value = match after.winner() {
            Some(winner) if winner == after.side() => Wld::Win,
            Some(_) => Wld::Loss,
            None => value(variant, store, after.board(), after.side()),
        };
        match value {
            Wld::Loss => return Wld::Win,
            Wld::Draw => best = Wld::Draw,
            Wld::Win => {}
        }
    }
    best
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

/// The one unit of a material of kings only is split among the threads, however many there are.
#[test]
fn kings_only_in_parts() {
    let codes = [
        (Variant::English, 4),
        (Variant::Italian, 4),
        (Variant::Russian, 4),
        (Variant::Spanish, 4),
        (Variant::Poddavki, 4),
        (Variant::International, 3),
        (Variant::Canadian, 3),
        (Variant::Turkish, 3),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    pool.unwrap().install(|| {
        for (variant, pieces) in codes {
            compare_some(variant, pieces, |m| m.all_men() == 0);
        }
    });
}

/// Slices with more pieces: whole ones against the scalar solver, and units of larger ones.
mod five_and_six_pieces {
    use super::*;

    /// `whole` materials are compared with the scalar solver; of the others in `units` so many
    /// placements of the men.
    fn check(variant: Variant, whole: &[&str], units: &[(&str, u64)]) {
        let mut store = Store::new();
        for material in whole {
            compare_one(variant, material, &mut store);
        }
        for &(material, n) in units {
            follows(variant, material, n, &mut store);
        }
    }

    macro_rules! codes {
        ($($name:ident $variant:ident [$($whole:literal),*] [$($units:literal $n:literal),*];)*) => {
            $(
                #[test]
                #[ignore = "slow: cargo test --release -p dambase-gen --test setwise -- --ignored"]
                fn $name() {
                    check(Variant::$variant, &[$($whole),*], &[$(($units, $n)),*]);
                }
            )*
        };
    }

    codes! {
        english English ["KKMvKM", "KKKvKK", "MMMvKM", "KMMvMM", "MMMvMM"]
            ["KKMvKKM" 200, "KMMvMMM" 200, "MMMvMMM" 200, "KKKvKKK" 1];
        international International ["MMMvMM"] ["KKMvKM" 20, "KMMvKM" 20, "KKKvKK" 1];
        russian Russian ["KMMvKM"] ["KMMvKMM" 100];
        pool Pool [] ["MMMvMMM" 100];
        german German ["KKKvKM"] [];
        italian Italian ["KMMvKM"] ["KMMvKMM" 100];
        spanish Spanish ["KKMvKM"] [];
        poddavki Poddavki ["KMMvMM"] [];
        brazilian Brazilian ["KKMvMM"] [];
        canadian Canadian [] ["KKMvK" 20];
        frisian Frisian [] ["KKMvKM" 20];
        turkish Turkish [] ["KMMvKM" 20];
        armenian Armenian [] ["KKMvM" 20];
        greek Greek [] ["KKMvK" 20];
    }
}
