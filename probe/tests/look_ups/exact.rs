//! Every answer of every position against values found without the code under test.

use crate::oracle::{Oracle, position};
use dambase_probe::{Metric, Position, Scratch, Tablebase, Value, Wld};
use dambase_rules::{Bits, Board, Ruleset, Side, marker};

/// Builds all tables of so many pieces and asks for every position in every way.
struct Exact(u8);

impl Exact {
    fn run<R: Ruleset>(self) {
        let oracle = Oracle::<R>::new(self.0);
        let dir = tempfile::tempdir().unwrap();
        oracle.write(dir.path(), Metric::Wld, |_| true);
        oracle.write(dir.path(), Metric::Dtw, |_| true);
        let tb = Tablebase::open(R::VARIANT, [dir.path()]).unwrap();
        assert!(tb.issues().is_empty(), "{:?}", tb.issues());
        let coverage = tb.coverage();
        assert_eq!(coverage.complete_wld(), self.0);
        assert_eq!(coverage.complete_dtw(), self.0);
        let flat = Tablebase::open(R::VARIANT, [dir.path()]).unwrap();
        let cost =
            flat.resident_cost(Metric::Wld, |_| true) + flat.resident_cost(Metric::Dtw, |_| true);
        flat.make_resident(Metric::Wld, |_| true).unwrap();
        assert_eq!(flat.make_resident(Metric::Dtw, |_| true).unwrap(), cost);
        let portable = Tablebase::open(R::VARIANT, [dir.path()]).unwrap();
        let portable = portable.with_portable_code();
        let mut scratch = Scratch::new();
        let mut other = Scratch::new();
        oracle.each(|board, side, value| {
            let fen = || position::<R>(board, side).fen();
            assert_eq!(
                tb.probe_board::<R>(board, side, &mut scratch).unwrap(),
                value.wld(),
                "{}",
                fen()
            );
            assert_eq!(
                tb.probe_board_value::<R>(board, side, &mut scratch)
                    .unwrap(),
                value,
                "{}",
                fen()
            );
            assert_eq!(
                flat.probe_board::<R>(board, side, &mut other).unwrap(),
                value.wld(),
                "{}",
                fen()
            );
            assert_eq!(
                flat.try_probe_board::<R>(board, side, &mut other).unwrap(),
                Some(value.wld())
            );
            assert_eq!(
                flat.probe_board_value::<R>(board, side, &mut other)
                    .unwrap(),
                value,
                "{}",
                fen()
            );
        });
        // Many at once, one of them no position; and without the instructions chosen at run time.
        let mut boards = Vec::new();
        let mut values = Vec::new();
        oracle.each(|board, side, value| {
            boards.push((*board, side));
            values.push(value.wld());
        });
        let two_on_a_square = Board {
            men: [R::Bits::bit(20), R::Bits::bit(20)],
            kings: [R::Bits::EMPTY; 2],
        };
        boards.push((two_on_a_square, Side::White));
        for tb in [&tb, &flat, &portable] {
            let mut answers = tb.probe_boards::<R>(&boards, &mut scratch);
            assert!(answers.pop().unwrap().is_err());
            assert!(
                answers
                    .into_iter()
                    .map(Result::unwrap)
                    .eq(values.iter().copied())
            );
        }
        oracle.each(|board, side, value| {
            let got = portable.probe_board_value::<R>(board, side, &mut scratch);
            assert_eq!(got.unwrap(), value);
        });
        // The ways that take a position, and moves, on every few positions.
        let mut n = 0;
        oracle.each(|board, side, value| {
            n += 1;
            if n % 11 != 0 {
                return;
            }
            let p = position::<R>(board, side);
            assert_eq!(tb.probe_wld(&p).unwrap(), value.wld());
            assert_eq!(tb.probe(&p).unwrap(), value);
            assert_eq!(tb.probe_dtw(&p).unwrap(), value.dtw());
            moves_agree(&tb, &oracle, &p, value);
        });
    }
}

/// Checks that all legal moves are there, with the values after them, in order, and that the best
/// one keeps the value of the position.
fn moves_agree<R: Ruleset>(tb: &Tablebase, oracle: &Oracle<R>, p: &Position, value: Value) {
    let moves = tb.moves(p).unwrap();
    let legal = p.legal_moves();
    assert_eq!(moves.len(), legal.len());
    assert!(legal.iter().all(|m| moves.iter().any(|r| r.mv == *m)));
    let keys: Vec<i32> = moves
        .iter()
        .map(|r| {
            let after = p.after(&r.mv).without_runs();
            let board = dambase_rules::Board::from_wide(after.board());
            let child = oracle.value(&board, after.side());
            assert_eq!(r.after.wld, child.wld().opposite());
            assert_eq!(r.after.dtw, child.dtw());
            let d = r.after.dtw.map_or(0, |d| i32::from(d.0));
            match r.after.wld {
                Wld::Win => 100_000 - d,
                Wld::Draw => 0,
                Wld::Loss => d - 100_000,
            }
        })
        .collect();
    assert!(keys.is_sorted_by(|a, b| a >= b), "{} {keys:?}", p.fen());
    match moves.first() {
        None => assert_eq!(value.dtw().map(|d| d.0), Some(0)),
        Some(best) => {
            assert_eq!(best.after.wld, value.wld());
            assert_eq!(best.after.dtw.map(|d| d.0 + 1), value.dtw().map(|d| d.0));
            assert_eq!(tb.best_move(p).unwrap(), Some(*best));
        }
    }
}

#[test]
fn english() {
    Exact(3).run::<marker::English>();
}

#[test]
fn italian() {
    Exact(3).run::<marker::Italian>();
}

#[test]
fn poddavki() {
    Exact(3).run::<marker::Poddavki>();
}

#[test]
fn frisian() {
    Exact(2).run::<marker::Frisian>();
}

#[test]
fn turkish() {
    Exact(2).run::<marker::Turkish>();
}

#[test]
fn canadian() {
    Exact(2).run::<marker::Canadian>();
}
