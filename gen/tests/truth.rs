//! Builds every code and compares every figure with the independent solver's.

mod common;

use common::{build, check_classes, check_samples};
use dambase_rules::Variant;

fn to_pieces(variant: Variant, pieces: u8) {
    let store = build(variant, pieces, true);
    check_classes(variant, &store, pieces);
    check_samples(variant, &store, pieces);
}

macro_rules! truth {
    ($($name:ident $variant:ident $pieces:literal,)*) => {
        $(
            #[test]
            fn $name() {
                to_pieces(Variant::$variant, $pieces);
            }
        )*
    };
}

truth! {
    english English 3,
    russian Russian 3,
    brazilian Brazilian 3,
    pool Pool 3,
    german German 3,
    italian Italian 3,
    spanish Spanish 3,
    poddavki Poddavki 3,
    international International 3,
    frisian_without_king_run Frisian 3,
    canadian Canadian 3,
    turkish Turkish 3,
    armenian Armenian 3,
    greek Greek 3,
}
