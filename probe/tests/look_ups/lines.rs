//! Lines are as long as announced, and stop for the reason they give.

use crate::oracle::{Oracle, position};
use dambase_probe::{Dtw, Error, LineEnd, Metric, Side, Tablebase, Value, Wld};
use dambase_rules::{Ruleset, marker};

/// The longest wins and losses of every material, played out.
struct Longest(u8);

impl Longest {
    fn run<R: Ruleset>(self) {
        let oracle = Oracle::<R>::new(self.0);
        let dir = tempfile::tempdir().unwrap();
        oracle.write(dir.path(), Metric::Dtw, |_| true);
        let tb = Tablebase::open(R::VARIANT, [dir.path()]).unwrap();
        let mut played = 0;
        for s in oracle.slices.values() {
            for side in Side::BOTH {
                let values = &s.values[side as usize];
                for wanted in [Wld::Win, Wld::Loss] {
                    let longest = values
                        .iter()
                        .enumerate()
                        .filter_map(|(i, v)| v.filter(|v| v.wld() == wanted).map(|v| (v.dtw(), i)))
                        .max();
                    let Some((Some(plies), i)) = longest else {
                        continue;
                    };
                    let p = position::<R>(&s.index.board(i as u64), side);
                    let line = tb.line(&p).unwrap();
                    let winner = if wanted == Wld::Win {
                        side
                    } else {
                        side.other()
                    };
                    assert_eq!(line.steps.len(), usize::from(plies.0), "{}", p.fen());
                    assert_eq!(line.end, LineEnd::GameOver { winner }, "{}", p.fen());
                    assert_eq!(line.last.winner(), Some(winner));
                    // Every step is a legal move of the position before and leads to the next.
                    for (n, step) in line.steps.iter().enumerate() {
                        assert!(step.position.legal_moves().contains(&step.rated.mv));
                        let left = plies.0 - n as u16 - 1;
                        assert_eq!(step.rated.after.dtw.map(|d| d.0), Some(left));
                        let next = line.steps.get(n + 1).map_or(line.last, |s| s.position);
                        assert_eq!(step.position.after(&step.rated.mv).without_runs(), next);
                    }
                    played += 1;
                }
            }
        }
        assert!(played > 0);
    }
}

#[test]
fn longest_wins_take_as_long_as_announced() {
    Longest(3).run::<marker::English>();
    Longest(3).run::<marker::Italian>();
    Longest(3).run::<marker::Poddavki>();
    Longest(2).run::<marker::Frisian>();
    Longest(2).run::<marker::Turkish>();
    Longest(2).run::<marker::Canadian>();
}

#[test]
fn lines_of_draws_stop() {
    let oracle = Oracle::<marker::English>::new(2);
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Wld, |_| true);
    let tb = Tablebase::open(marker::English::VARIANT, [dir.path()]).unwrap();
    let mut drawn = 0;
    oracle.each(|board, side, value| {
        let line = tb.line(&position::<marker::English>(board, side)).unwrap();
        if value == Value::Draw {
            assert!(matches!(line.end, LineEnd::Repetition | LineEnd::LongDraw));
            assert!(
                !line.steps.is_empty() && line.steps.len() <= dambase_probe::Line::MOST_DRAWN_PLIES
            );
            drawn += 1;
        } else if value.dtw().is_some_and(|d| d.0 == 0) {
            assert!(matches!(line.end, LineEnd::GameOver { .. }));
        } else {
            // Nothing but win, loss and draw is known here, and that the game is over.
            let next = value.dtw().is_some_and(|d| d.0 == 1);
            assert!(line.end == LineEnd::NoDistance || next);
        }
    });
    assert!(drawn > 0);
}

/// Tables with right checksums and wrong values: the winner is always as far from the end.
#[test]
fn lines_by_wrong_distances_stop() {
    let mut oracle = Oracle::<marker::English>::new(2);
    for s in oracle.slices.values_mut() {
        for v in s.values.iter_mut().flatten().flatten() {
            match v {
                Value::Win(d) if d.0 > 9 => *v = Value::Win(Dtw(9)),
                Value::Loss(d) if d.0 > 8 => *v = Value::Loss(Dtw(8)),
                _ => {}
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    oracle.write(dir.path(), Metric::Dtw, |_| true);
    let tb = Tablebase::open(marker::English::VARIANT, [dir.path()]).unwrap();
    let mut contradictions = 0;
    oracle.each(
        |board, side, _| match tb.line(&position::<marker::English>(board, side)) {
            Ok(line) => assert!(line.steps.len() < 200),
            Err(e) => {
                assert!(matches!(e, Error::Contradiction { .. }), "{e}");
                assert_eq!(e.code(), "corrupt");
                contradictions += 1;
            }
        },
    );
    assert!(contradictions > 0);
}
