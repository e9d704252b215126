//! Values without limits and under them, built in memory.

use std::path::PathBuf;

use dambase_gen::limits::{self, Ruled, RuledStore};
use dambase_gen::{Control, Solved, Store, scalar};
use dambase_rules::{Board, LimitSet, Side, Variant, marker};
use dambase_tables::{Index, Material, RuleValue, canonical};

pub(crate) fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/limits");
    std::fs::read_to_string(path.join(name)).expect(name)
}

/// The values without limits. Only of the codes that have limits: every code that is named here
/// is a solver to be compiled.
pub(crate) fn solve_wld(variant: Variant, material: Material, store: &Store) -> Solved {
    let ctl = Control::new();
    macro_rules! choose {
        ($($code:ident)*) => {
            match variant {
                $(Variant::$code => scalar::solve::<marker::$code>(material, store, false, &ctl),)*
                _ => panic!("{variant} has no limits"),
            }
        };
    }
    let solved =
        choose!(International Canadian English Italian Russian Pool Brazilian Spanish Frisian);
    solved.unwrap()
}

pub(crate) fn build_wld(variant: Variant, pieces: u8) -> Store {
    let mut store = Store::new();
    for n in 2..=pieces {
        for material in Material::canonical_with(n) {
            let solved = solve_wld(variant, material, &store);
            store.insert(solved);
        }
    }
    store
}

/// These materials only, in order.
pub(crate) fn build_some(variant: Variant, materials: &[&str]) -> Store {
    let mut store = Store::new();
    for m in materials {
        let solved = solve_wld(variant, m.parse().unwrap(), &store);
        store.insert(solved);
    }
    store
}

pub(crate) fn solve(material: Material, wld: &Store, store: &RuledStore) -> Ruled {
    let slices: Vec<_> = wld.get(material).unwrap().wld.iter().collect();
    limits::solve_any(material, &slices, store, &Control::new()).unwrap()
}

/// Everything that is in `wld`, under `limits`.
pub(crate) fn build(limits: LimitSet, wld: &Store) -> RuledStore {
    let mut store = RuledStore::new(limits);
    for material in wld.materials() {
        let ruled = solve(material, wld, &store);
        store.insert(ruled);
    }
    store
}

/// The value of any position in the store with full clocks; with `beneath`, the need of a
/// position on the long diagonal is that of the clock beneath.
pub(crate) fn value(
    store: &RuledStore,
    board: &Board<u128>,
    side: Side,
    beneath: bool,
) -> RuleValue {
    let g = store.limits().variant().rules().geometry;
    let placed = canonical(g, board, side);
    let ruled = store.get(placed.material).expect("solved");
    let sides = placed.material.sides();
    let slice = sides.iter().position(|&s| s == placed.side).unwrap();
    let i = Index::new(g, placed.material).unwrap().index(&placed.board);
    match &ruled.beneath {
        Some(values) if beneath => values[slice].get(i),
        _ => ruled.dtz[slice].get(i),
    }
}
