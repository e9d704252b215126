//! What is left of the draw limits' clocks, how moves change it, and how it is given from outside.

use std::str::FromStr;

use crate::bits::Bits;
use crate::board::{Board, Move, Side};
use crate::limits::{Clock, LimitError, LimitSet, Link, Running, counts};

/// Plies left on the clocks of one position. No clock runs out where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Clocks {
    /// Plies left on the clock that governs the position.
    pub left: Option<u16>,
    /// Plies left on the clock beneath the long diagonal's, where that one governs.
    pub beneath: Option<u16>,
    /// Plies left on the clock that runs beside the quiet one (Russian's 30 and 60 moves).
    pub beside: Option<u16>,
}

impl Clocks {
    /// Full clocks.
    #[must_use]
    pub fn fresh<W: Bits>(limits: &LimitSet, board: &Board<W>) -> Self {
        Self::full(limits, limits.running(board))
    }

    fn full(limits: &LimitSet, running: Running) -> Self {
        let plies = |c: Clock| limits.limit(c).plies();
        Self {
            left: running.governing.map(plies),
            beneath: running.beneath.map(plies),
            beside: running.beside.map(plies),
        }
    }

    /// True if a clock has run out: a side to move that has a legal move has a draw.
    #[must_use]
    pub fn is_out(self) -> bool {
        [self.left, self.beneath, self.beside].contains(&Some(0))
    }

    /// True if all that run are full.
    #[must_use]
    pub fn is_fresh<W: Bits>(self, limits: &LimitSet, board: &Board<W>) -> bool {
        self == Self::fresh(limits, board)
    }

    /// The clocks after `m` of `side`, played on `before`. A clock that has run out stays so.
    #[must_use]
    pub fn after<W: Bits>(
        self,
        limits: &LimitSet,
        before: &Board<W>,
        side: Side,
        m: &Move<W>,
    ) -> Self {
        let after = before.after(side, m);
        let zeroing = m.is_capture() || before.men[side as usize].has(m.from);
        let (old, new) = (limits.running(before), limits.running(&after));
        let full = Self::full(limits, new);
        let diagonal = |r: Running| r.beneath.is_some() || r.is_diagonal(limits);
        // The clock of the material.
        let base = |c: Self, r: Running| if diagonal(r) { c.beneath } else { c.left };
        let (held, holds) = (counts(before), counts(&after));
        let left = match limits.link(held, holds, zeroing) {
            Link::RunsOn => base(self, old)
                .map(|l| l.saturating_sub(1))
                .min(base(full, new)),
            Link::NoClock | Link::Fresh => base(full, new),
        };
        let beside = if held == holds {
            self.beside.map(|l| l.saturating_sub(1))
        } else {
            full.beside
        };
        if !diagonal(new) {
            return Self {
                left,
                beneath: None,
                beside,
            };
        }
        Self {
            left: if diagonal(old) {
                self.left.map(|l| l.saturating_sub(1))
            } else {
                full.left
            },
            beneath: left,
            beside,
        }
    }

    /// The clocks of a position on some of which plies have already run; the others are full.
    ///
    /// # Errors
    /// [`LimitError`] for a clock that is unknown, switched off, cannot run in this position, is
    /// given twice, or has fewer plies than are said to have run.
    pub fn after_runs<W: Bits>(
        limits: &LimitSet,
        board: &Board<W>,
        runs: &[ClockRun],
    ) -> Result<Self, LimitError> {
        let running = limits.running(board);
        let mut clocks = Self::full(limits, running);
        let mut seen = Vec::new();
        for run in runs {
            let clock = limits.find(&run.name)?;
            let limit = limits.limit(clock);
            let name = limit.name;
            if !limits.is_on(clock) {
                return Err(LimitError::Off { name });
            }
            if seen.contains(&clock) {
                return Err(LimitError::Twice { name });
            }
            seen.push(clock);
            if run.plies > u64::from(limit.plies()) {
                return Err(LimitError::TooMany {
                    name,
                    plies: run.plies,
                    most: limit.plies(),
                });
            }
            let left = limit.plies() - run.plies as u16;
            let within = |c: Clock| c == clock || limits.limit(c).within == Some(name);
            if running.governing.is_some_and(within) {
                clocks.left = clocks.left.map(|l| l.min(left));
            } else if running.beneath.is_some_and(within) {
                clocks.beneath = clocks.beneath.map(|l| l.min(left));
            } else if running.beside == Some(clock) {
                clocks.beside = Some(left);
            } else {
                return Err(LimitError::CannotRun {
                    name,
                    place: place(board),
                    governing: running.governing.map(|c| limits.limit(c).name),
                });
            }
        }
        Ok(clocks)
    }
}

impl Running {
    fn is_diagonal(self, limits: &LimitSet) -> bool {
        self.governing
            .is_some_and(|c| matches!(limits.limit(c).runs, crate::limits::Runs::Diagonal { .. }))
    }
}

/// The material of a placement in words, for messages.
fn place<W: Bits>(board: &Board<W>) -> String {
    let side = |s: usize| {
        "K".repeat(board.kings[s].count() as usize) + &"M".repeat(board.men[s].count() as usize)
    };
    format!("this position of {}v{}", side(0), side(1))
}

/// Plies that have already run on a clock, as given from outside: `16-move=26`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClockRun {
    /// The limit.
    pub name: String,
    /// Plies, of both sides together, since the clock was full.
    pub plies: u64,
}

impl FromStr for ClockRun {
    type Err = LimitError;
    fn from_str(s: &str) -> Result<Self, LimitError> {
        let malformed = || LimitError::Malformed(s.to_owned());
        let (name, plies) = s.split_once('=').ok_or_else(malformed)?;
        let (name, plies) = (name.trim(), plies.trim());
        if name.is_empty() || plies.is_empty() || !plies.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        Ok(Self {
            name: name.to_owned(),
            // More digits than fit are more plies than any clock has.
            plies: plies.parse().unwrap_or(u64::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;
    use crate::variant::Variant;

    fn clocks(v: Variant, fen: &str, runs: &[&str]) -> Result<Clocks, LimitError> {
        let p = Position::parse(v, fen).unwrap();
        let runs: Result<Vec<ClockRun>, _> = runs.iter().map(|r| r.parse()).collect();
        Clocks::after_runs(&LimitSet::of(v), p.board(), &runs?)
    }

    /// The clocks after the moves given as (from, to).
    fn play(v: Variant, fen: &str, runs: &[&str], moves: &[(u8, u8)]) -> Clocks {
        let limits = LimitSet::of(v);
        let mut c = clocks(v, fen, runs).unwrap();
        let mut p = Position::parse(v, fen).unwrap();
        for &(from, to) in moves {
            let all = p.legal_moves();
            let m = all
                .iter()
                .find(|m| (m.from + 1, m.to + 1) == (from, to))
                .unwrap_or_else(|| panic!("{from}-{to} in {}", p.fen()));
            c = c.after(&limits, p.board(), p.side(), m);
            p = p.after(m);
        }
        c
    }

    fn left(left: u16) -> Clocks {
        Clocks {
            left: Some(left),
            ..Clocks::default()
        }
    }

    #[test]
    fn the_quiet_clock_starts_again_with_captures_and_men() {
        let v = Variant::English;
        let fen = "W:WK32,21:BK1,12";
        assert_eq!(play(v, fen, &[], &[]), left(80));
        assert_eq!(play(v, fen, &[], &[(32, 28)]), left(79));
        assert_eq!(play(v, fen, &["40-move=79"], &[(32, 28)]), left(0));
        assert_eq!(play(v, fen, &["40-move=79"], &[(21, 17)]), left(80));
        assert_eq!(play(v, fen, &["40-move=79"], &[(32, 28), (1, 5)]), left(0));
    }

    #[test]
    fn five_moves_run_within_sixteen() {
        let v = Variant::International;
        // Three against one: the lone king takes one and leaves two against one.
        let fen = "B:WK45,K5,K50:BK28";
        assert_eq!(clocks(v, fen, &[]), Ok(left(32)));
        let fen = "B:WK45,K50,34:BK25";
        assert_eq!(play(v, fen, &[], &[(25, 39)]), left(10));
        assert_eq!(play(v, fen, &["16-move=25"], &[(25, 39)]), left(6));
        assert_eq!(play(v, fen, &["16-move=31"], &[(25, 39)]), left(0));
        let two = "W:WK1,K50:BK5";
        assert_eq!(clocks(v, two, &["5-move=3", "16-move=20"]), Ok(left(7)));
        assert_eq!(clocks(v, two, &["5-move=3", "16-move=28"]), Ok(left(4)));
        // Nothing inside the material starts it again, not even a crowning.
        let men = "W:WK50,7:BK36";
        assert_eq!(play(v, men, &["5-move=4"], &[(7, 1)]), left(5));
        // Out of it: the quiet clock is fresh.
        assert_eq!(play(v, "W:W7:BK50", &[], &[(7, 1)]), left(10));
    }

    #[test]
    fn the_long_diagonal_is_a_second_clock() {
        let v = Variant::Russian;
        let both = |left, beneath| Clocks {
            left: Some(left),
            beneath: Some(beneath),
            beside: None,
        };
        let on = "W:WKa3,Kb8,Kh2:BKd4";
        assert_eq!(clocks(v, on, &[]), Ok(both(10, 30)));
        assert_eq!(
            clocks(v, on, &["long-diagonal=4", "three-kings=20"]),
            Ok(both(6, 10))
        );
        assert_eq!(play(v, on, &["three-kings=20"], &[(1, 10)]), both(9, 9));
        let off = "W:WKa3,Kb8,Kh2:BKc1";
        assert_eq!(clocks(v, off, &["three-kings=7"]), Ok(left(23)));
        let three = play(v, "B:WKa3,Kb8,Kf8:BKg1", &["three-kings=7"], &[(32, 18)]);
        assert_eq!(three, both(10, 22));
        // The quiet clock beneath starts again with a man's move, the diagonal's does not.
        let man = "W:WKb8,Kb6,a3:BKh8";
        let runs = ["long-diagonal=2", "15-move=9"];
        assert_eq!(clocks(v, man, &runs), Ok(both(8, 21)));
        assert_eq!(play(v, man, &runs, &[(21, 17)]), both(7, 30));
        // Dropped when the condition ceases.
        assert_eq!(play(v, man, &runs, &[(9, 18)]).beneath, None);
    }

    #[test]
    fn thirty_moves_run_beside_fifteen() {
        let v = Variant::Russian;
        let limits = LimitSet::parse(v, "default,30-move,60-move").unwrap();
        let start = |fen: &str, runs: &[&str]| {
            let p = Position::parse(v, fen).unwrap();
            let runs: Vec<ClockRun> = runs.iter().map(|r| r.parse().unwrap()).collect();
            Clocks::after_runs(&limits, p.board(), &runs).map(|c| (p, c))
        };
        let play = |fen: &str, runs: &[&str], from: u8, to: u8| {
            let (p, c) = start(fen, runs).unwrap();
            let all = p.legal_moves();
            let m = all.iter().find(|m| (m.from + 1, m.to + 1) == (from, to));
            let c = c.after(&limits, p.board(), p.side(), m.expect(fen));
            (c.left, c.beneath, c.beside)
        };
        let runs = ["15-move=5", "30-move=20"];
        let four = "W:WKb8,a3,h4:BKh8";
        // A king's move: both lose one. A man's move: the fifteen start again, the thirty do not.
        let fen = "W:WKa1,a3:BKh2,h4";
        assert_eq!(play(fen, &runs, 29, 25), (Some(24), None, Some(39)));
        assert_eq!(play(fen, &runs, 21, 17), (Some(30), None, Some(39)));
        // A crowning starts both again, and so does a capture.
        let fen = "W:WKa1,a7:BKh2,h4";
        assert_eq!(play(fen, &runs, 5, 1), (Some(30), None, Some(60)));
        let fen = "W:WKa1,a3,a5:BKh2,d4";
        let (p, c) = start(fen, &runs).unwrap();
        let m = p.legal_moves()[0];
        assert!(m.is_capture());
        let c = c.after(&limits, p.board(), p.side(), &m);
        assert_eq!((c.left, c.beneath, c.beside), (Some(30), None, Some(60)));
        // Six and seven pieces have sixty moves, and from them one comes down to thirty, fresh.
        let (_, c) = start("W:WKa1,a3,a5:BKh2,h4,h6", &["60-move=119"]).unwrap();
        assert_eq!(c.beside, Some(1));
        // Three clocks: the lone king is on the long diagonal.
        assert_eq!(play(four, &runs, 21, 17), (Some(9), Some(30), Some(39)));
        // Three kings have their own clock and no other.
        let three = "W:WKb8,Kb6,Kd8:BKg1";
        assert_eq!(start(three, &[]).unwrap().1, left(30));
        assert_eq!(
            start(three, &["30-move=1"]).unwrap_err().to_string(),
            "the 30-move clock cannot run in this position of KKKvK, which three-kings governs"
        );
        assert_eq!(
            start(four, &["30-move=61"]).unwrap_err().to_string(),
            "the 30-move clock has 60 plies, so 61 cannot have run"
        );
        assert_eq!(
            start(four, &["60-move=1"]).unwrap_err().to_string(),
            "the 60-move clock cannot run in this position of KMMvK, which long-diagonal governs"
        );
        assert_eq!(
            clocks(v, four, &["30-move=1"]),
            Err(LimitError::Off { name: "30-move" })
        );
    }

    #[test]
    fn bad_clocks_are_refused() {
        let v = Variant::International;
        let fen = "W:WK1,K50:BK5";
        for (run, message) in [
            (
                "15-move=3",
                "international has no draw limit \"15-move\"; it has 16-move, 5-move, 25-move",
            ),
            (
                "5-move=11",
                "the 5-move clock has 10 plies, so 11 cannot have run",
            ),
            (
                "25-move=3",
                "the 25-move clock cannot run in this position of KKvK, which 5-move governs",
            ),
            (
                "5-move",
                "\"5-move\" is no clock; write NAME=PLIES, for example 16-move=26",
            ),
            (
                "5-move=-1",
                "\"5-move=-1\" is no clock; write NAME=PLIES, for example 16-move=26",
            ),
            (
                "5-move=99999999999999999999999",
                "the 5-move clock has 10 plies, so 18446744073709551615 cannot have run",
            ),
        ] {
            assert_eq!(clocks(v, fen, &[run]).unwrap_err().to_string(), message);
        }
        assert_eq!(
            clocks(v, fen, &["5-move=1", "5-move=2"]),
            Err(LimitError::Twice { name: "5-move" })
        );
        assert_eq!(
            clocks(Variant::Poddavki, "W:WK1:BK5", &["15-move=1"])
                .unwrap_err()
                .to_string(),
            "poddavki has no draw limit \"15-move\"; it has none at all"
        );
        assert_eq!(
            clocks(Variant::Frisian, "W:WK1,K2:B40", &["7-move=1"])
                .unwrap_err()
                .to_string(),
            "the 7-move clock cannot run in this position of KKvM, where none does"
        );
        let p = Position::parse(v, fen).unwrap();
        let off = LimitSet::parse(v, "no-5-move").unwrap();
        let run = ["5-move=1".parse().unwrap()];
        assert_eq!(
            Clocks::after_runs(&off, p.board(), &run),
            Err(LimitError::Off { name: "5-move" })
        );
    }
}
