//! An independent slow check of the values under the draw limits: every position with every
//! number of plies left on its clocks is a state of its own, and its value follows from those of
//! the states its moves lead to. Nothing of the solver and nothing of its clock rules is used:
//! the clocks are written down once more, from docs/rules.md.

use std::collections::HashMap;

use dambase_gen::limits::RuledStore;
use dambase_rules::movegen::{MoveList, generate};
use dambase_rules::{Bits, Board, LimitSet, Ruleset, Run, Side, Variant, marker};
use dambase_tables::{Index, Material, RuleValue, Wld};

use crate::ruled;

const OPEN: u8 = 0;
pub(crate) const WIN: u8 = 1;
pub(crate) const LOSS: u8 = 2;
pub(crate) const DRAW: u8 = 3;

/// What governs a material: a name, its plies, and whether it is the quiet clock.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Governs {
    name: u8,
    plies: u16,
    quiet: bool,
}

fn governs(variant: Variant, k: [u32; 2], m: [u32; 2]) -> Governs {
    let material = |name, plies| Governs {
        name,
        plies,
        quiet: false,
    };
    let quiet = |plies| Governs {
        name: 0,
        plies,
        quiet: true,
    };
    // The side against a lone king, if there is one.
    let strong = (0..2).find(|&s| k[s] > 0 && k[1 - s] == 1 && m[1 - s] == 0);
    let strong = strong.map(|s| (k[s], m[s]));
    match variant {
        Variant::International => match strong {
            Some((k, m)) if k + m == 3 => material(16, 32),
            Some((k, m)) if k + m <= 2 => material(5, 10),
            _ => quiet(50),
        },
        Variant::Russian => match strong {
            Some((k, 0)) if k >= 3 => material(3, 30),
            Some((k, m)) if k + m <= 2 => material(5, 10),
            _ => quiet(30),
        },
        Variant::Pool => match strong {
            Some((3, 0)) => material(13, 26),
            _ => quiet(30),
        },
        Variant::Brazilian => match (k, m) {
            ([2, 2] | [2, 1] | [1, 2] | [1, 1], [0, 0]) => material(5, 10),
            ([2, 1], [0, 1]) | ([1, 2], [1, 0]) => material(5, 10),
            ([1, 1], [0, 1]) | ([1, 1], [1, 0]) => material(5, 10),
            _ => quiet(40),
        },
        Variant::English => quiet(80),
        Variant::Frisian => match (k, m) {
            ([2, 1] | [1, 2], [0, 0]) => material(7, 14),
            ([1, 1], [0, 0]) => material(2, 4),
            _ => panic!("no clock"),
        },
        _ => panic!("{variant}"),
    }
}

/// Whether Russian's long diagonal has its clock here: three pieces with a king against a king on
/// a1-h8, none of them on it.
pub(crate) fn on_diagonal(variant: Variant, b: &Board<u64>) -> bool {
    let line = [4, 8, 11, 15, 18, 22, 25, 29_u32].map(|s| 1_u64 << (s - 1));
    let line = line.into_iter().fold(0, |a, b| a | b);
    variant == Variant::Russian
        && (0..2).any(|s| {
            let (all, lone) = (b.men[s] | b.kings[s], b.kings[1 - s]);
            b.kings[s] != 0
                && all.count_ones() == 3
                && lone.count_ones() == 1
                && b.men[1 - s] == 0
                && lone & line != 0
                && all & line == 0
        })
}

/// Plies left: of the clock of the material, of the diagonal's (0 where it does not run: it does
/// not run out then).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) base: u16,
    pub(crate) diagonal: Option<u16>,
}

pub(crate) const DIAGONAL: u16 = 10;

pub(crate) struct Product<R: Ruleset> {
    /// Values by material, side, index and plies left.
    tables: HashMap<Material, Table<R>>,
    states: u64,
}

struct Table<R: Ruleset> {
    index: Index<R::Bits>,
    plies: usize,
    values: [Vec<u8>; 2],
    /// Values where the diagonal's clock runs, by side, placement, and both clocks.
    pairs: HashMap<(u8, u64), Vec<u8>>,
}

fn counts<W: Bits>(b: &Board<W>) -> ([u32; 2], [u32; 2]) {
    (b.kings.map(W::count), b.men.map(W::count))
}

fn narrow<W: Bits>(b: &Board<W>) -> Board<u64> {
    Board::from_wide(&b.wide())
}

impl<R: Ruleset> Product<R> {
    pub(crate) fn new() -> Self {
        Self {
            tables: HashMap::new(),
            states: 0,
        }
    }

    fn slot(&mut self, b: &Board<R::Bits>, side: Side, left: Left) -> &mut u8 {
        let material = Material::of(b);
        let (k, m) = counts(b);
        let table = self.tables.entry(material).or_insert_with(|| {
            let index = Index::new(R::RULES.geometry, material).unwrap();
            let plies = usize::from(governs(R::VARIANT, k, m).plies) + 1;
            let n = index.positions() as usize * plies;
            Table {
                index,
                plies,
                values: [vec![OPEN; n], vec![OPEN; n]],
                pairs: HashMap::new(),
            }
        });
        let i = table.index.index(b);
        let plies = table.plies;
        match left.diagonal {
            None => &mut table.values[side as usize][i as usize * plies + usize::from(left.base)],
            Some(d) => {
                let pairs = table.pairs.entry((side as u8, i));
                let pairs = pairs.or_insert_with(|| vec![OPEN; plies * (DIAGONAL as usize + 1)]);
                &mut pairs[usize::from(d) * plies + usize::from(left.base)]
            }
        }
    }

    /// The value with so many plies left, by playing all moves.
    pub(crate) fn value(&mut self, b: &Board<R::Bits>, side: Side, left: Left) -> u8 {
        let known = *self.slot(b, side, left);
        if known != OPEN {
            return known;
        }
        let mut list = MoveList::new();
        generate::<R>(b, side, Run::NONE, &mut list);
        let out = left.base == 0 || left.diagonal == Some(0);
        let value = if list.is_empty() {
            LOSS
        } else if out {
            DRAW
        } else {
            let mut best = LOSS;
            for m in list.iter() {
                let after = b.after(side, m);
                let other = side.other();
                let value = if after.pieces(other).is_empty() {
                    LOSS
                } else {
                    let man = b.men[side as usize].has(m.from);
                    let left = Self::next(b, left, &after, man || m.is_capture());
                    self.value(&after, other, left)
                };
                if value == LOSS {
                    best = WIN;
                    break;
                }
                if value == DRAW {
                    best = DRAW;
                }
            }
            best
        };
        self.states += 1;
        *self.slot(b, side, left) = value;
        value
    }

    fn next(before: &Board<R::Bits>, left: Left, after: &Board<R::Bits>, zeroing: bool) -> Left {
        let (k, m) = counts(before);
        let old = governs(R::VARIANT, k, m);
        let (k, m) = counts(after);
        let new = governs(R::VARIANT, k, m);
        let base = if new.quiet {
            if old.quiet && !zeroing {
                left.base - 1
            } else {
                new.plies
            }
        } else if new == old {
            left.base - 1
        } else if (old.name, new.name) == (16, 5) {
            (left.base - 1).min(10)
        } else {
            new.plies
        };
        let runs = on_diagonal(R::VARIANT, &narrow(after));
        Left {
            base,
            diagonal: runs.then(|| left.diagonal.map_or(DIAGONAL, |d| d - 1)),
        }
    }
}

/// Compares every position of the materials with every number of plies left. Returns the states
/// compared, and the positions with two clocks among them.
fn compare_in<R: Ruleset>(store: &RuledStore, materials: &[&str]) -> (u64, u64) {
    let mut product = Product::<R>::new();
    let (mut compared, mut pairs) = (0, 0);
    for material in materials {
        let material: Material = material.parse().unwrap();
        let index = Index::<R::Bits>::new(R::RULES.geometry, material).unwrap();
        for i in 0..index.positions() {
            let b = index.board(i);
            let (k, m) = counts(&b);
            let plies = governs(R::VARIANT, k, m).plies;
            let runs = on_diagonal(R::VARIANT, &narrow(&b));
            for side in Side::BOTH {
                let value = |beneath| ruled::value(store, &b.wide(), side, beneath);
                let mut check = |value: RuleValue, left: Left, of: u16| {
                    let slow = match product.value(&b, side, left) {
                        WIN => Wld::Win,
                        LOSS => Wld::Loss,
                        _ => Wld::Draw,
                    };
                    let fast = value.with_left(Some(of)).under_limits();
                    assert_eq!(slow, fast, "{material} {side:?} {b:?} {left:?} {value:?}");
                    compared += 1;
                };
                if !runs {
                    for base in 0..=plies {
                        let left = Left {
                            base,
                            diagonal: None,
                        };
                        check(value(false), left, base);
                    }
                    continue;
                }
                for d in 0..=DIAGONAL {
                    let left = Left {
                        base: plies,
                        diagonal: Some(d),
                    };
                    check(value(false), left, d);
                }
                for base in 0..=plies {
                    let left = Left {
                        base,
                        diagonal: Some(DIAGONAL),
                    };
                    check(value(true), left, base);
                }
                pairs += 1;
            }
        }
    }
    println!(
        "{} states, {compared} compared, {pairs} on the diagonal",
        product.states
    );
    (compared, pairs)
}

/// Builds what the materials need and compares them.
fn compare<R: Ruleset>(materials: &'static [&'static str]) -> (u64, u64) {
    let limits = LimitSet::of(R::VARIANT);
    let mut wld = ruled::build_wld(R::VARIANT, 3);
    let mut store = ruled::build(limits, &wld);
    for material in materials.iter().map(|m| m.parse::<Material>().unwrap()) {
        if store.get(material).is_none() {
            wld.insert(ruled::solve_wld(R::VARIANT, material, &wld));
            store.insert(ruled::solve(material, &wld, &store));
        }
    }
    // Recursion goes as deep as the longest game.
    std::thread::Builder::new()
        .stack_size(1 << 30)
        .spawn(move || compare_in::<R>(&store, materials))
        .unwrap()
        .join()
        .unwrap()
}

#[test]
fn international_two_against_one() {
    let (states, _) = compare::<marker::International>(&["KvK", "KKvK", "KMvK"]);
    assert!(states > 1_000_000);
}

#[test]
fn english_two_against_one() {
    let (states, _) = compare::<marker::English>(&["KvK", "KKvK", "KMvK"]);
    assert!(states > 1_000_000);
}

#[test]
fn brazilian_two_against_one() {
    compare::<marker::Brazilian>(&["KvK", "KKvK", "KMvK", "MMvK", "KKvM"]);
}

#[test]
fn frisian_two_kings_against_one() {
    compare::<marker::Frisian>(&["KvK", "KKvK"]);
}

#[test]
fn russian_three_against_one() {
    let (_, pairs) = compare::<marker::Russian>(&["KKKvK"]);
    assert!(pairs > 30_000);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn russian_three_with_men_against_one() {
    compare::<marker::Russian>(&["KKKvK", "KKMvK", "KMMvK"]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn pool_three_against_one() {
    compare::<marker::Pool>(&["KKKvK", "KKMvK"]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn brazilian_list() {
    compare::<marker::Brazilian>(&["KKvKK", "KKvKM"]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn international_three_against_one() {
    compare::<marker::International>(&["KKKvK", "KKMvK", "KMMvK"]);
}
