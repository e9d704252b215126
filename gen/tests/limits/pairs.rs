//! Tables under the draw limits through files and look-ups, with every pair of clocks.

use dambase_gen::build::build;
use dambase_gen::plan::Plan;
use dambase_gen::{Control, limits};
use dambase_probe::Tablebase;
use dambase_rules::{Board, Clocks, LimitSet, Position, Run, Side, Variant, marker};
use dambase_tables::{Index, Material, Metric, RuleValue, Wld};

use crate::options::options;
use crate::product::{DIAGONAL, Left, Product, WIN, on_diagonal};
use crate::product::{DRAW, LOSS};

/// Builds the tables of a material and of all that it needs in a directory.
pub(crate) fn build_files(variant: Variant, material: &str, dir: &std::path::Path) {
    build_files_under(&LimitSet::of(variant), material, dir);
}

/// The same under these limits.
pub(crate) fn build_files_under(limits: &LimitSet, material: &str, dir: &std::path::Path) {
    let variant = limits.variant();
    let materials = [material.parse().unwrap()];
    let plan = Plan::with_children(variant, &materials, &[Metric::Wld], 2).unwrap();
    let options = options(dir);
    let control = Control::new();
    build(&plan, &options, &control, &|_| {}).unwrap();
    let built = limits::build::build(&plan, &options, limits, &control, &|_| {}).unwrap();
    assert_eq!(built.reused, 0);
    let again = limits::build::build(&plan, &options, limits, &control, &|_| {}).unwrap();
    assert_eq!((again.built, again.bytes), (0, built.bytes));
    let fewer = limits
        .without(limits.limits().next().unwrap().name)
        .unwrap();
    let other = limits::build::build(&plan, &options, &fewer, &control, &|_| {});
    assert!(matches!(other, Err(dambase_gen::Error::OtherLimits { .. })));
}

fn wld(value: u8) -> Wld {
    match value {
        WIN => Wld::Win,
        LOSS => Wld::Loss,
        DRAW => Wld::Draw,
        _ => panic!("not solved"),
    }
}

#[test]
fn pairs_of_clocks_on_the_long_diagonal() {
    pairs_of_clocks(251, 60, 600);
}

#[test]
#[ignore = "slow: cargo test --release -p dambase-gen --test limits -- --ignored"]
fn more_pairs_of_clocks_on_the_long_diagonal() {
    pairs_of_clocks(61, 400, 4000);
}

/// Compares one of `step` positions of KKKvK with every pair of plies; there must be so many with two
/// clocks, and with one.
fn pairs_of_clocks(step: usize, least_two: usize, least_one: usize) {
    let variant = Variant::Russian;
    let dir = tempfile::tempdir().unwrap();
    build_files(variant, "KKKvK", dir.path());
    let tables = Tablebase::open(variant, [dir.path()]).unwrap();
    assert_eq!(tables.limits(), &LimitSet::of(variant));
    let work = move || {
        let mut product = Product::<marker::Russian>::new();
        let index = Index::<u64>::new(
            variant.rules().geometry,
            "KKKvK".parse::<Material>().unwrap(),
        )
        .unwrap();
        let (mut two, mut one, mut between) = (0, 0, 0);
        // A number without a common factor with the sides of the board.
        for i in (0..index.positions()).step_by(step) {
            let b: Board<u64> = index.board(i);
            for side in Side::BOTH {
                let p = Position::new(variant, b.wide(), side, [Run::NONE; 2]).unwrap();
                let mut check = |diagonal: Option<u16>, base: u16| {
                    let left = Left { base, diagonal };
                    let clocks = match diagonal {
                        Some(d) => Clocks {
                            left: Some(d),
                            beneath: Some(base),
                            beside: None,
                        },
                        None => Clocks {
                            left: Some(base),
                            ..Clocks::default()
                        },
                    };
                    let verdict = tables.verdict(&p, clocks).unwrap();
                    let slow = wld(product.value(&b, side, left));
                    assert_eq!(
                        verdict.value.under_limits(),
                        slow,
                        "{} {left:?} {verdict:?}",
                        p.fen()
                    );
                    // What it says is needed is what is needed.
                    if let (Some(d), Some(n)) = (diagonal, verdict.value.need()) {
                        let less = Left {
                            base,
                            diagonal: n.0.checked_sub(1),
                        };
                        assert!(n.0 <= d);
                        if n.0 > 0 {
                            assert_eq!(product.value(&b, side, less), DRAW);
                        }
                    }
                    verdict.value
                };
                if on_diagonal(variant, &b) {
                    two += 1;
                    let full = tables.probe_dtz(&p).unwrap();
                    for d in 0..=DIAGONAL {
                        for base in 0..=30 {
                            let value = check(Some(d), base);
                            // A pair that is too short although each clock would do alone.
                            between += usize::from(
                                value.need().is_none()
                                    && full.need().is_some_and(|n| n.0 <= d)
                                    && base > 0,
                            );
                        }
                    }
                } else {
                    one += 1;
                    for base in 0..=30 {
                        check(None, base);
                    }
                }
            }
        }
        assert!(two > least_two && one > least_one, "{two}, {one}");
        assert!(between > 0, "both clocks matter somewhere");
    };
    std::thread::Builder::new()
        .stack_size(1 << 30)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn look_ups_agree_with_the_solver() {
    let variant = Variant::International;
    let dir = tempfile::tempdir().unwrap();
    build_files(variant, "KMvK", dir.path());
    let tables = Tablebase::open(variant, [dir.path()]).unwrap();
    let store = crate::ruled::build(
        LimitSet::of(variant),
        &crate::ruled::build_some(variant, &["KvK", "KvM", "KKvK", "KMvK"]),
    );
    let material: Material = "KMvK".parse().unwrap();
    let index = Index::<u64>::new(variant.rules().geometry, material).unwrap();
    let mut captures = 0;
    for i in (0..index.positions()).step_by(7) {
        let b = index.board(i).wide();
        for side in Side::BOTH {
            let p = Position::new(variant, b, side, [Run::NONE; 2]).unwrap();
            let value = tables.probe_dtz(&p).unwrap();
            assert_eq!(
                value,
                crate::ruled::value(&store, &b, side, false),
                "{}",
                p.fen()
            );
            captures += usize::from(p.legal_moves().first().is_some_and(|m| m.is_capture()));
            // The best move keeps the value: the need falls by the ply of the move.
            let clocks = Clocks::fresh(tables.limits(), p.board());
            let moves = tables.moves_by_rule(&p, clocks).unwrap();
            if let Some(best) = moves.first() {
                assert_eq!(best.after.value.name(), value.name(), "{}", p.fen());
            }
            if let RuleValue::Win(_) | RuleValue::Loss(_) = value
                && i % 91 == 0
            {
                let line = tables.line_by_rule(&p, clocks).unwrap();
                let ended = matches!(line.end, dambase_probe::RuledEnd::GameOver { .. });
                assert!(ended, "{} {:?}", p.fen(), line.end);
            }
        }
    }
    assert!(captures > 1000);
}

/// The lone king takes one of four and comes to stand on the long diagonal: the clock of the three
/// kings runs on beneath the diagonal's, which begins full.
#[test]
fn four_kings_come_down_to_three_on_the_long_diagonal() {
    let variant = Variant::Russian;
    let dir = tempfile::tempdir().unwrap();
    build_files(variant, "KKKKvK", dir.path());
    let tables = Tablebase::open(variant, [dir.path()]).unwrap();
    let material: Material = "KKKKvK".parse().unwrap();
    let index = Index::<u64>::new(variant.rules().geometry, material).unwrap();
    let (mut onto, mut decided) = (0, 0);
    for i in (0..index.positions()).step_by(41) {
        for side in Side::BOTH {
            let p = Position::new(variant, index.board(i).wide(), side, [Run::NONE; 2]).unwrap();
            let takes_onto = p.legal_moves().iter().any(|m| {
                let after = p.after(m);
                m.is_capture() && on_diagonal(variant, &Board::from_wide(after.board()))
            });
            // All positions of that kind, and some of the others.
            if !takes_onto && i % 5 != 0 {
                continue;
            }
            assert_eq!(tables.check_dtz(&p).unwrap(), None, "{}", p.fen());
            let need = tables.probe_dtz(&p).unwrap().need();
            onto += usize::from(takes_onto);
            decided += usize::from(takes_onto && need.is_some());
        }
    }
    assert!(onto > 100 && decided > 0, "{onto}, {decided}");
}
