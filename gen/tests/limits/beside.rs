//! An independent slow check of the clock that runs beside the quiet one: every position of a set
//! with every number of plies left on each clock is a state of its own. Layer by layer of the clock
//! beside, on which every ply counts, each state gets its value from those its moves lead to. Nothing
//! of the solver and nothing of its clock rules is used; the smaller materials, in which the clock
//! beside does not run, come from the check of `product`.

use std::collections::HashMap;

use dambase_gen::limits::{Ruled, RuledStore};
use dambase_probe::Tablebase;
use dambase_rules::movegen::{MoveList, generate};
use dambase_rules::{Board, Clocks, LimitSet, Position, Run, Side, Variant, marker};
use dambase_tables::needs::Need;
use dambase_tables::{Index, Material, Wld, canonical};

use crate::product::{DIAGONAL, DRAW, LOSS, Left, Product, WIN, on_diagonal};
use crate::ruled;

const VARIANT: Variant = Variant::Russian;
/// Plies of the quiet clock, and of that beside it with four or five pieces.
const QUIET: usize = 30;
const BESIDE: usize = 60;
/// States of the quiet clock.
const Q: usize = QUIET + 1;

type Key = (Board<u64>, Side, Option<u8>);

/// What a move leads to.
enum Step {
    /// A known value for the opponent.
    Known(u8),
    /// A state of the set after a king's move.
    King(u32),
    /// A state of the set after a man's move, with a fresh quiet clock.
    Man(u32),
}

/// The states of some positions of a material but for what is left of the two clocks: the placement,
/// the side to move, and the plies on the long diagonal's clock where it runs.
struct Set {
    keys: Vec<Key>,
    steps: Vec<Vec<Step>>,
}

/// Values with fresh clocks of the materials that moves lead to.
struct Fresh {
    product: Product<marker::Russian>,
    /// Those in which the clock beside runs; as they are stored, colours swapped if need be.
    known: HashMap<Key, u8>,
}

impl Fresh {
    fn new() -> Self {
        Self {
            product: Product::new(),
            known: HashMap::new(),
        }
    }

    /// With `d` plies left on the diagonal's clock if it runs.
    fn value(&mut self, board: &Board<u64>, side: Side, d: Option<u8>) -> u8 {
        if board.pieces(side) == 0 {
            return LOSS;
        }
        let material = Material::of(board);
        let three_kings = material.kings[0].max(material.kings[1]) == 3 && material.pieces() == 4;
        if material.pieces() >= 4 && !three_kings {
            return if material.is_canonical() {
                self.known[&(*board, side, d)]
            } else {
                let mirrored = board.mirrored(VARIANT.rules().geometry);
                self.known[&(mirrored, side.other(), d)]
            };
        }
        let (base, diagonal) = if three_kings {
            (30, d.map(u16::from))
        } else if lone(material).is_some() {
            (10, None)
        } else {
            (30, None)
        };
        self.product.value(board, side, Left { base, diagonal })
    }
}

/// The side that has a king against a lone king, if it has at most two pieces.
fn lone(m: Material) -> Option<usize> {
    (0..2).find(|&s| {
        m.kings[s] > 0 && m.kings[s] + m.men[s] <= 2 && m.kings[1 - s] == 1 && m.men[1 - s] == 0
    })
}

impl Set {
    /// All positions of a material with men placements that `of` takes; it must take whatever men's
    /// moves lead to.
    fn new(material: Material, of: impl Fn([u64; 2]) -> bool, fresh: &mut Fresh) -> Self {
        let index = Index::<u64>::new(VARIANT.rules().geometry, material).unwrap();
        let mut keys: Vec<Key> = Vec::new();
        let mut numbers = HashMap::new();
        for i in 0..index.positions() {
            let board = index.board(i);
            if !of(board.men) {
                continue;
            }
            for side in Side::BOTH {
                if on_diagonal(VARIANT, &board) {
                    for d in 0..=DIAGONAL as u8 {
                        numbers.insert((board, side, Some(d)), keys.len() as u32);
                        keys.push((board, side, Some(d)));
                    }
                } else {
                    numbers.insert((board, side, None), keys.len() as u32);
                    keys.push((board, side, None));
                }
            }
        }
        let mut list = MoveList::new();
        let mut steps = Vec::with_capacity(keys.len());
        for &(board, side, d) in &keys {
            generate::<marker::Russian>(&board, side, Run::NONE, &mut list);
            // The diagonal's clock has run out.
            if d == Some(0) && !list.is_empty() {
                steps.push(vec![Step::Known(DRAW)]);
                continue;
            }
            let step = |m: &dambase_rules::Move<u64>| {
                let after = board.after(side, m);
                let other = side.other();
                let runs = on_diagonal(VARIANT, &after);
                let d = runs.then(|| d.map_or(DIAGONAL as u8, |d| d - 1));
                if Material::of(&after) != material {
                    Step::Known(fresh.value(&after, other, d))
                } else if board.men[side as usize] >> m.from & 1 == 1 {
                    Step::Man(numbers[&(after, other, d)])
                } else {
                    Step::King(numbers[&(after, other, d)])
                }
            };
            steps.push(list.iter().map(step).collect());
        }
        Self { keys, steps }
    }

    /// Calls `f` with each layer of plies left beside: all states for every number of plies left on
    /// the quiet clock.
    fn play(&self, mut f: impl FnMut(usize, &[Quiet])) {
        let mut before = vec![Quiet::DRAWN; self.keys.len()];
        let mut layer = before.clone();
        for beside in 0..=BESIDE {
            for (steps, of) in self.steps.iter().zip(&mut layer) {
                *of = Quiet { win: 0, loss: ALL };
                for step in steps {
                    let after = match *step {
                        // Nobody may move if a clock has run out.
                        _ if beside == 0 => Quiet::DRAWN,
                        Step::Known(v) => Quiet::always(v),
                        Step::King(to) => before[to as usize].one_more(),
                        Step::Man(to) => Quiet::always(before[to as usize].value(QUIET)),
                    };
                    of.win |= after.loss;
                    of.loss &= after.win;
                }
            }
            f(beside, &layer);
            std::mem::swap(&mut layer, &mut before);
        }
    }

    /// The values with fresh clocks but for the diagonal's.
    fn fresh(&self) -> HashMap<Key, u8> {
        let mut last = Vec::new();
        self.play(|beside, layer| {
            if beside == BESIDE {
                last = layer.iter().map(|q| q.value(QUIET)).collect();
            }
        });
        self.keys.iter().copied().zip(last).collect()
    }
}

/// The numbers of plies left on the quiet clock with which a state is won and lost, as sets of bits.
#[derive(Clone, Copy)]
struct Quiet {
    win: u32,
    loss: u32,
}

const ALL: u32 = (1 << Q) - 1;

impl Quiet {
    const DRAWN: Self = Self { win: 0, loss: 0 };

    /// After a move with which the quiet clock begins anew: it only had to allow the move.
    const fn always(value: u8) -> Self {
        let bits = ALL & !1;
        match value {
            WIN => Self { win: bits, loss: 0 },
            LOSS => Self { win: 0, loss: bits },
            _ => Self::DRAWN,
        }
    }
    /// Before a king's move, which takes one ply.
    const fn one_more(self) -> Self {
        Self {
            win: self.win << 1 & ALL,
            loss: self.loss << 1 & ALL,
        }
    }
    const fn value(self, quiet: usize) -> u8 {
        match (self.win >> quiet & 1, self.loss >> quiet & 1) {
            (1, _) => WIN,
            (_, 1) => LOSS,
            _ => DRAW,
        }
    }
}

/// Values with fresh clocks of kings against kings, in which both clocks begin together and every ply
/// takes one of each: no other states come about.
fn kings_only(material: Material, fresh: &mut Fresh) -> HashMap<Key, u8> {
    let set = Set::new(material, |_| true, fresh);
    let mut before = vec![DRAW; set.keys.len()];
    for left in 0..=QUIET {
        let value = |steps: &Vec<Step>| {
            let values = steps.iter().map(|step| match *step {
                _ if left == 0 => DRAW,
                Step::Known(v) => v,
                Step::King(to) => before[to as usize],
                Step::Man(_) => unreachable!("no men"),
            });
            values.fold(LOSS, |best, v| match (best, v) {
                (WIN, _) | (_, LOSS) => WIN,
                (_, DRAW) => DRAW,
                (best, _) => best,
            })
        };
        before = set.steps.iter().map(value).collect();
    }
    set.keys.iter().copied().zip(before).collect()
}

fn limits() -> LimitSet {
    LimitSet::parse(VARIANT, "default,30-move,60-move").unwrap()
}

/// All combinations of plies with which a position stands, and whether it is then won.
fn needs<'a>(ruled: &'a Ruled, board: &Board<u64>, side: Side) -> (Wld, &'a [Need]) {
    let g = VARIANT.rules().geometry;
    let placed = canonical(g, board, side);
    assert_eq!(placed.material, ruled.material);
    let sides = placed.material.sides();
    let slice = sides.iter().position(|&s| s == placed.side).unwrap();
    let i = Index::new(g, placed.material).unwrap().index(&placed.board);
    let value = ruled.dtz[slice].get(i);
    let needs = ruled.needs.as_ref().expect("two clocks");
    let list = needs.list.get(needs.numbers[slice][i as usize]).unwrap();
    assert_eq!(list.is_empty(), value.need().is_none());
    (value.without_limits(), list)
}

/// Compares all states of a set; returns how many there are, and how many positions stand with more
/// than one least combination.
fn compare(set: &Set, ruled: &Ruled) -> (u64, u64) {
    let mut compared = 0;
    let of: Vec<_> = (set.keys.iter())
        .map(|(board, side, _)| needs(ruled, board, *side))
        .collect();
    set.play(|beside, layer| {
        for ((key, (wld, needs)), slow) in set.keys.iter().zip(&of).zip(layer) {
            let enough =
                |n: &&Need| n.diagonal <= key.2.unwrap_or(0) && usize::from(n.beside) <= beside;
            let least = needs.iter().filter(enough).map(|n| n.quiet).min();
            let bits = least.map_or(0, |q| ALL & !((1 << q) - 1));
            let (win, loss) = match wld {
                Wld::Win => (bits, 0),
                Wld::Loss => (0, bits),
                Wld::Draw => (0, 0),
            };
            assert_eq!(
                (slow.win, slow.loss),
                (win, loss),
                "{key:?} {beside} {needs:?}"
            );
            compared += Q as u64;
        }
    });
    let several = of.iter().filter(|(_, n)| n.len() > 1).count();
    (compared, several as u64)
}

/// Everything up to three pieces, and these materials in order.
fn build(materials: &[&str]) -> RuledStore {
    let mut wld = ruled::build_wld(VARIANT, 3);
    let mut store = ruled::build(limits(), &wld);
    for material in materials.iter().map(|m| m.parse::<Material>().unwrap()) {
        let start = std::time::Instant::now();
        wld.insert(ruled::solve_wld(VARIANT, material, &wld));
        let middle = std::time::Instant::now();
        store.insert(ruled::solve(material, &wld, &store));
        if let Some(needs) = &store.get(material).unwrap().needs {
            let points: usize = (0..needs.list.len() as u32)
                .map(|n| needs.list.get(n).unwrap().len())
                .sum();
            println!(
                "{material}: {} lists with {points} combinations; {:?} without, {:?} under limits",
                needs.list.len(),
                middle - start,
                middle.elapsed()
            );
        }
    }
    store
}

/// Runs on a thread with a stack for recursion as deep as the longest game.
fn deep(work: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().stack_size(1 << 30);
    builder.spawn(work).unwrap().join().unwrap();
}

/// Compares a material with everything that its moves lead to.
fn check(materials: &'static [&'static str]) {
    deep(move || {
        let store = build(materials);
        let mut fresh = Fresh::new();
        for material in materials.iter().map(|m| m.parse::<Material>().unwrap()) {
            if material.men == [0, 0] {
                if store.limits().beside_of(material.kings, [0, 0]).is_some() {
                    let known = kings_only(material, &mut fresh);
                    fresh.known.extend(known);
                }
                continue;
            }
            let set = Set::new(material, |_| true, &mut fresh);
            let (compared, several) = compare(&set, store.get(material).unwrap());
            println!("{material}: {compared} compared, {several} states with several combinations");
            assert!(compared > 1_000_000_000);
            fresh.known.extend(set.fresh());
        }
    });
}

#[test]
fn two_kings_against_king_and_man() {
    check(&["KKvKK", "KKvKM"]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn king_and_man_against_the_same() {
    check(&["KKvKK", "KKvKM", "KMvKM"]);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn three_clocks_on_the_long_diagonal() {
    check(&["KKKvK", "KKMvK", "KMMvK"]);
}

/// Through files and look-ups: verdicts with every pair of plies, and what they say is needed.
#[test]
fn look_ups_know_every_pair() {
    deep(|| {
        let dir = tempfile::tempdir().unwrap();
        crate::pairs::build_files_under(&limits(), "KKMvK", dir.path());
        let tables = Tablebase::open(VARIANT, [dir.path()]).unwrap();
        assert_eq!(tables.limits(), &limits());
        let material: Material = "KKMvK".parse().unwrap();
        // The man is at most two steps from its crowning.
        let set = Set::new(material, |men| men[0] < 1 << 12, &mut Fresh::new());
        // Some of all, and those of which one number does not say it all; the steps have no common
        // factor with the sides of the board.
        let store = build(&["KKKvK", "KKMvK"]);
        let several = |i: &usize| {
            let (board, side, _) = set.keys[*i];
            needs(store.get(material).unwrap(), &board, side).1.len() > 1
        };
        let all = 0..set.keys.len();
        let sample: Vec<_> = (all.clone().step_by(40_009))
            .chain(all.filter(several).step_by(401).take(20))
            .collect();
        let mut layers = Vec::new();
        set.play(|_, layer| {
            layers.push(sample.iter().map(|&i| layer[i]).collect::<Vec<_>>());
        });
        let (mut both, mut checked) = (0, 0);
        for (k, &i) in sample.iter().enumerate() {
            let (board, side, d) = set.keys[i];
            let p = Position::new(VARIANT, board.wide(), side, [Run::NONE; 2]).unwrap();
            assert_eq!(tables.check_dtz(&p).unwrap(), None, "{}", p.fen());
            let slow =
                |quiet: u16, beside: u16| layers[usize::from(beside)][k].value(usize::from(quiet));
            for (beside, quiet) in
                (0..=BESIDE as u16).flat_map(|b| (0..=QUIET as u16).map(move |q| (b, q)))
            {
                let clocks = match d {
                    Some(d) => Clocks {
                        left: Some(d.into()),
                        beneath: Some(quiet),
                        beside: Some(beside),
                    },
                    None => Clocks {
                        left: Some(quiet),
                        beneath: None,
                        beside: Some(beside),
                    },
                };
                let verdict = tables.verdict(&p, clocks).unwrap();
                let what = format!("{} {clocks:?} {verdict:?}", p.fen());
                let value = slow(quiet, beside);
                let fast = match verdict.value.under_limits() {
                    Wld::Win => WIN,
                    Wld::Loss => LOSS,
                    Wld::Draw => DRAW,
                };
                assert_eq!(fast, value, "{what}");
                checked += 1;
                let governing = if d.is_some() {
                    "long-diagonal"
                } else {
                    "15-move"
                };
                if let Some(n) = verdict.value.need() {
                    // What it says is needed is what is needed, of every clock.
                    let others = verdict.others.iter().flatten();
                    let mut said: Vec<_> = others.map(|o| (o.limit, o.needed.unwrap().0)).collect();
                    said.push((governing, n.0));
                    assert_eq!(said.len(), if d.is_some() { 3 } else { 2 });
                    for (limit, n) in said {
                        let with = |n: u16| match limit {
                            "15-move" => Some(slow(n, beside)),
                            "30-move" => Some(slow(quiet, n)),
                            // The other numbers of plies on the diagonal's clock are other states.
                            _ => None,
                        };
                        assert!(with(n).is_none_or(|v| v == value), "{what}");
                        assert!(n == 0 || with(n - 1).is_none_or(|v| v == DRAW), "{what}");
                    }
                } else if slow(QUIET as u16, BESIDE as u16) != DRAW {
                    let left = verdict.left.unwrap();
                    assert!(verdict.needed.is_some_and(|n| n.0 > left), "{what}");
                    // Each clock would do with the other full.
                    let one = slow(quiet, BESIDE as u16) != DRAW;
                    both += usize::from(one && slow(QUIET as u16, beside) != DRAW);
                }
            }
        }
        println!("{checked} verdicts, {both} drawn although each clock would do alone");
        assert!(checked > 40_000 && both > 0);
    });
}
