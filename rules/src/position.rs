//! Positions as the outside world knows them: checked, and of a code chosen at run time.

use crate::bits::Bits;
use crate::board::{Board, Move, Side};
use crate::error::{Error, IllegalPosition};
use crate::movegen::{self, MoveList};
use crate::ruleset::{Goal, KingRun, Rules, Ruleset, WithRuleset};
use crate::variant::Variant;

/// The Frisian king run of one side: which king has made how many quiet moves in a row, with no
/// other move of that side between (RULES 3.12). No run is a count of zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Run {
    /// The king's square; meaningless if `count` is 0.
    pub square: u8,
    /// Moves of the run, 0 to 3.
    pub count: u8,
}

impl Run {
    /// No run is pending.
    pub const NONE: Self = Self {
        square: 0,
        count: 0,
    };

    /// True if the king has used up its quiet moves.
    #[must_use]
    pub const fn is_held(self) -> bool {
        self.count >= 3
    }
}

/// The side that has already won by the material alone, whoever is to move: a lone king against a
/// lone man in the Turkish family, the side with a king where the first crowning wins.
#[inline(always)]
#[must_use]
pub fn decided<R: Ruleset>(b: &Board<R::Bits>) -> Option<Side> {
    decided_by_rules(&R::RULES, b)
}

#[inline(always)]
fn decided_by_rules<W: Bits>(rules: &Rules, b: &Board<W>) -> Option<Side> {
    if rules.lone_king_beats_lone_man {
        for side in Side::BOTH {
            let (us, them) = (side as usize, side.other() as usize);
            if b.men[us].is_empty()
                && b.kings[them].is_empty()
                && b.kings[us].count() == 1
                && b.men[them].count() == 1
            {
                return Some(side);
            }
        }
    }
    if matches!(rules.goal, Goal::FirstCrown) {
        return Side::BOTH
            .into_iter()
            .find(|&s| !b.kings[s as usize].is_empty());
    }
    None
}

/// The winner of a game in which `side` has to move and has no legal move.
#[inline(always)]
#[must_use]
pub const fn winner_without_moves(rules: &Rules, side: Side) -> Side {
    match rules.goal {
        Goal::Losing => side,
        Goal::Normal | Goal::FirstCrown => side.other(),
    }
}

/// The king runs after `m` of `side`, which led to `after`.
#[inline(always)]
#[must_use]
pub fn runs_after<R: Ruleset>(
    runs: [Run; 2],
    before: &Board<R::Bits>,
    after: &Board<R::Bits>,
    side: Side,
    m: &Move<R::Bits>,
) -> [Run; 2] {
    let Some(scope) = R::RULES.king_run else {
        return [Run::NONE; 2];
    };
    let mut out = runs;
    let us = side as usize;
    out[us] = if m.is_capture() || !before.kings[us].has(m.from) {
        Run::NONE
    } else if runs[us].count > 0 && runs[us].square == m.from {
        Run {
            square: m.to,
            count: (runs[us].count + 1).min(3),
        }
    } else {
        Run {
            square: m.to,
            count: 1,
        }
    };
    for (s, run) in out.iter_mut().enumerate() {
        let gone = !after.kings[s].has(run.square);
        let free = scope == KingRun::WhileMenRemain && after.men[s].is_empty();
        if run.count > 0 && (gone || free) {
            *run = Run::NONE;
        }
    }
    out
}

/// A legal position of one code: placement, side to move, and the state of the king runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    variant: Variant,
    board: Board<u128>,
    side: Side,
    runs: [Run; 2],
}

impl Position {
    /// Checks a placement.
    ///
    /// # Errors
    /// [`IllegalPosition`] with the first thing that is wrong.
    pub fn new(
        variant: Variant,
        board: Board<u128>,
        side: Side,
        runs: [Run; 2],
    ) -> Result<Self, IllegalPosition> {
        let rules = variant.rules();
        let squares = rules.geometry.squares() as u8;
        let mut seen = 0_u128;
        for set in board.men.into_iter().chain(board.kings) {
            if set & !rules.geometry.all() != 0 {
                return Err(IllegalPosition::OffBoard {
                    square: u64::from(set.last()) + 1,
                    squares,
                });
            }
            if seen & set != 0 {
                return Err(IllegalPosition::Overlap {
                    square: (seen & set).first() + 1,
                });
            }
            seen |= set;
        }
        let most = u32::from(rules.start_rows) * rules.geometry.per_row() as u32;
        for s in Side::BOTH {
            let wrong = board.men[s as usize] & rules.crown_of(s);
            if wrong != 0 {
                return Err(IllegalPosition::ManOnCrownRow {
                    side: s,
                    square: wrong.first() + 1,
                });
            }
            let count = board.pieces(s).count();
            if count > most {
                return Err(IllegalPosition::TooManyPieces {
                    side: s,
                    count,
                    most,
                });
            }
        }
        if board.pieces(side.other()) == 0 {
            return Err(IllegalPosition::NoPieces { side: side.other() });
        }
        if rules.goal == Goal::FirstCrown && board.kings.iter().all(|&k| k != 0) {
            return Err(IllegalPosition::KingsAfterTheEnd);
        }
        let mut runs = runs;
        for s in Side::BOTH {
            let run = &mut runs[s as usize];
            if run.count == 0 {
                *run = Run::NONE;
                continue;
            }
            if rules.king_run.is_none() {
                return Err(IllegalPosition::RunUnknown {
                    variant: rules.name,
                });
            }
            if run.count > 3 {
                return Err(IllegalPosition::RunLength {
                    count: run.count.into(),
                });
            }
            if run.square >= squares || !board.kings[s as usize].has(run.square) {
                let square = run.square.saturating_add(1);
                return Err(IllegalPosition::RunWithoutKing { side: s, square });
            }
            if rules.king_run == Some(KingRun::WhileMenRemain) && board.men[s as usize] == 0 {
                *run = Run::NONE;
            }
        }
        Ok(Self {
            variant,
            board,
            side,
            runs,
        })
    }

    /// The start position of a code.
    #[must_use]
    pub fn start(variant: Variant) -> Self {
        let rules = variant.rules();
        let g = rules.geometry;
        let skip = usize::from(g.is_full());
        let black =
            (skip..skip + usize::from(rules.start_rows)).fold(0, |men, r| men | g.row_mask(r));
        let board = Board {
            men: [g.rotate_set(black), black],
            kings: [0; 2],
        };
        Self {
            variant,
            board,
            side: rules.first,
            runs: [Run::NONE; 2],
        }
    }

    /// Reads a FEN of `variant`; see [`crate::fen`] for what is understood.
    ///
    /// # Errors
    /// [`Error::Fen`] with the place, or [`Error::Position`] with the reason.
    pub fn parse(variant: Variant, fen: &str) -> Result<Self, Error> {
        crate::fen::parse(variant, fen)
    }

    /// The FEN, with house numbers.
    #[must_use]
    pub fn fen(&self) -> String {
        crate::fen::format(self)
    }

    /// The code.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }
    /// The rules of the code.
    #[must_use]
    pub const fn rules(&self) -> &'static Rules {
        self.variant.rules()
    }
    /// Where the pieces stand.
    #[must_use]
    pub const fn board(&self) -> &Board<u128> {
        &self.board
    }
    /// Who is to move.
    #[must_use]
    pub const fn side(&self) -> Side {
        self.side
    }
    /// The king runs of White and Black.
    #[must_use]
    pub const fn runs(&self) -> [Run; 2] {
        self.runs
    }
    /// The same position without pending king runs.
    #[must_use]
    pub const fn without_runs(mut self) -> Self {
        self.runs = [Run::NONE; 2];
        self
    }

    /// The winner, if the game is over by the material alone.
    #[must_use]
    pub fn decided(&self) -> Option<Side> {
        decided_by_rules(self.rules(), &self.board)
    }

    /// The winner, if the game is over: by the material, or because the side to move cannot move.
    #[must_use]
    pub fn winner(&self) -> Option<Side> {
        self.decided().or_else(|| {
            self.legal_moves()
                .is_empty()
                .then(|| winner_without_moves(self.rules(), self.side))
        })
    }

    /// The legal moves: one entry for each distinct (from, to, captured squares, crowned or not).
    /// Empty if the game is over.
    #[must_use]
    pub fn legal_moves(&self) -> Vec<Move<u128>> {
        struct Generate<'a>(&'a Position);
        impl WithRuleset for Generate<'_> {
            type Output = Vec<Move<u128>>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let p = self.0;
                let mut list = MoveList::new();
                let run = p.runs[p.side as usize];
                movegen::generate::<R>(&Board::from_wide(&p.board), p.side, run, &mut list);
                list.iter()
                    .map(|m| Move {
                        captured: m.captured.wide(),
                        from: m.from,
                        to: m.to,
                        promotes: m.promotes,
                    })
                    .collect()
            }
        }
        if self.decided().is_some() {
            Vec::new()
        } else {
            self.variant.with(Generate(self))
        }
    }

    /// The position after `m`, which must be one of [`Self::legal_moves`].
    #[must_use]
    pub fn after(&self, m: &Move<u128>) -> Self {
        struct Runs<'a>(&'a Position, Board<u128>, &'a Move<u128>);
        impl WithRuleset for Runs<'_> {
            type Output = [Run; 2];
            fn run<R: Ruleset>(self) -> [Run; 2] {
                let m = Move {
                    captured: R::Bits::from_wide(self.2.captured),
                    from: self.2.from,
                    to: self.2.to,
                    promotes: self.2.promotes,
                };
                let before = Board::from_wide(&self.0.board);
                let after = Board::from_wide(&self.1);
                runs_after::<R>(self.0.runs, &before, &after, self.0.side, &m)
            }
        }
        let board = self.board.after(self.side, m);
        let runs = if self.rules().king_run.is_some() {
            self.variant.with(Runs(self, board, m))
        } else {
            [Run::NONE; 2]
        };
        Self {
            variant: self.variant,
            board,
            side: self.side.other(),
            runs,
        }
    }

    /// The same position with the colours swapped.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        let g = self.rules().geometry;
        let turn = |r: Run| {
            if r.count == 0 {
                r
            } else {
                Run {
                    square: g.rotate(r.square),
                    count: r.count,
                }
            }
        };
        Self {
            variant: self.variant,
            board: self.board.mirrored(g),
            side: self.side.other(),
            runs: [turn(self.runs[1]), turn(self.runs[0])],
        }
    }

    /// The moves of [`Self::legal_moves`], in the code's own notation; captures that share start
    /// and end are written with all their landing squares.
    #[must_use]
    pub fn notation(&self, moves: &[Move<u128>]) -> Vec<String> {
        crate::notation::format(self, moves)
    }

    /// Every capture route with its landing squares; see [`movegen::capture_routes`].
    #[must_use]
    pub fn capture_routes(&self) -> Vec<(Move<u128>, Vec<u8>)> {
        struct Collect<'a>(&'a Position);
        impl WithRuleset for Collect<'_> {
            type Output = Vec<(Move<u128>, Vec<u8>)>;
            fn run<R: Ruleset>(self) -> Self::Output {
                movegen::capture_routes::<R>(&Board::from_wide(&self.0.board), self.0.side)
                    .into_iter()
                    .map(|(m, path)| {
                        let m = Move {
                            captured: m.captured.wide(),
                            from: m.from,
                            to: m.to,
                            promotes: m.promotes,
                        };
                        (m, path)
                    })
                    .collect()
            }
        }
        if self.decided().is_some() {
            Vec::new()
        } else {
            self.variant.with(Collect(self))
        }
    }
}
