//! Moves with their values, best first, and lines of best play.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use dambase_rules::{Move, Position, Side};
use dambase_tables::{Dtw, Metric, Wld};

use crate::error::{Error, Result};
use crate::measure::rank;
use crate::scratch::Scratch;
use crate::tablebase::{Tablebase, with_scratch};

/// A value, with the distance if there are tables of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// Win, loss or draw.
    pub wld: Wld,
    /// Plies to the end of the game. Nothing for a draw; for a win or loss, nothing means that
    /// the tables have no distances.
    pub dtw: Option<Dtw>,
}

/// A legal move with what it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rated {
    /// The move.
    pub mv: Move<u128>,
    /// The value after the move **for the side that makes it**, with the plies from then on.
    pub after: Outcome,
}

/// One move of a [`Line`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The position in which the move is made.
    pub position: Position,
    /// The move and what it leads to.
    pub rated: Rated,
}

/// Best play of both sides from a position on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The moves.
    pub steps: Vec<Step>,
    /// The position after the last move.
    pub last: Position,
    /// Why the line stops there.
    pub end: LineEnd,
}

/// Why a [`Line`] stops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LineEnd {
    /// The game is over.
    GameOver {
        /// Who has won.
        winner: Side,
    },
    /// The game is drawn, and the position after the last move has been in the line before.
    Repetition,
    /// The game is drawn, and the line has become as long as [`Line::MOST_DRAWN_PLIES`].
    LongDraw,
    /// The position is decided, but the tables do not say how far the end is.
    NoDistance,
}

impl Line {
    /// Plies after which the line of a drawn position stops if no position has come back.
    pub const MOST_DRAWN_PLIES: usize = 100;
}

impl LineEnd {
    /// The reason as one lower-case phrase.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::GameOver {
                winner: Side::White,
            } => "white has won",
            Self::GameOver {
                winner: Side::Black,
            } => "black has won",
            Self::Repetition => "a draw: the position has come back",
            Self::LongDraw => "a draw: the line goes on",
            Self::NoDistance => "the tables have no distances here",
        }
    }
}

/// Best first: short wins, draws, long losses. Unknown distances come last among their like.
fn order(a: &Outcome, b: &Outcome) -> Ordering {
    let quick = |o: &Outcome| o.dtw.map_or(u16::MAX, |d| d.0);
    rank(b.wld).cmp(&rank(a.wld)).then_with(|| match a.wld {
        Wld::Win | Wld::Draw => quick(a).cmp(&quick(b)),
        Wld::Loss => Reverse(a.dtw).cmp(&Reverse(b.dtw)),
    })
}

impl Tablebase {
    /// The value for the side to move, with the distance if the tables have it.
    ///
    /// # Errors
    /// As [`Self::probe_wld`]; missing tables of distances are no error.
    pub fn outcome(&self, position: &Position) -> Result<Outcome> {
        with_scratch(|s| self.outcome_with(position, s))
    }
    /// [`Self::outcome`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::outcome`].
    pub fn outcome_with(&self, position: &Position, scratch: &mut Scratch) -> Result<Outcome> {
        match self.probe_with(position, scratch) {
            Ok(v) => Ok(Outcome {
                wld: v.wld(),
                dtw: v.dtw(),
            }),
            Err(Error::MissingTable {
                metric: Metric::Dtw,
                ..
            }) => Ok(Outcome {
                wld: self.probe_wld_with(position, scratch)?,
                dtw: None,
            }),
            Err(e) => Err(e),
        }
    }

    /// Every legal move, best first: the shortest win, draws, the longest loss. Moves of equal
    /// worth stand in the order of move generation. Empty if the game is over.
    ///
    /// The values are those **after** the move, **for its mover**: the plies are counted from the
    /// position after it, so the best move of a win in 17 has a distance of 16.
    ///
    /// ```
    /// use dambase_probe::{Dtw, Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let position = tables.position("B:WK12:BK31")?;
    /// let moves = tables.moves(&position)?;
    /// assert_eq!(moves.len(), position.legal_moves().len());
    /// assert_eq!((moves[0].after.wld, moves[0].after.dtw), (Wld::Win, Some(Dtw(10))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::outcome`], for the positions after the moves.
    pub fn moves(&self, position: &Position) -> Result<Vec<Rated>> {
        with_scratch(|s| self.moves_with(position, s))
    }
    /// [`Self::moves`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::moves`].
    pub fn moves_with(&self, position: &Position, scratch: &mut Scratch) -> Result<Vec<Rated>> {
        self.fits(position)?;
        let rate = |mv: Move<u128>| {
            let after = self.after(position, &mv);
            let Outcome { wld, dtw } = self.outcome_with(&after, scratch)?;
            let after = Outcome {
                wld: wld.opposite(),
                dtw,
            };
            Ok(Rated { mv, after })
        };
        let rated: Result<Vec<_>> = position.legal_moves().into_iter().map(rate).collect();
        let mut rated = rated?;
        rated.sort_by(|a, b| order(&a.after, &b.after));
        Ok(rated)
    }

    /// The first of [`Self::moves`]; nothing if the game is over.
    ///
    /// # Errors
    /// As [`Self::moves`].
    pub fn best_move(&self, position: &Position) -> Result<Option<Rated>> {
        Ok(self.moves(position)?.first().copied())
    }

    /// Best play of both sides, to the end of the game if it is decided. A draw has no end; its
    /// line stops as soon as a position comes back, or when it is long enough.
    ///
    /// If the tables do not [know the king run](Self::king_run) of the code, neither does the line.
    ///
    /// ```
    /// use dambase_probe::{LineEnd, Side, Tablebase, Variant};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let line = tables.line(&tables.position("W:WK3:BK1")?)?;
    /// assert_eq!(line.steps.len(), 10);
    /// assert_eq!(line.end, LineEnd::GameOver { winner: Side::Black });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::moves`], for the positions of the line; [`Error::Contradiction`].
    pub fn line(&self, position: &Position) -> Result<Line> {
        with_scratch(|s| self.line_with(position, s))
    }
    /// [`Self::line`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn line_with(&self, position: &Position, scratch: &mut Scratch) -> Result<Line> {
        self.fits(position)?;
        let mut steps = Vec::new();
        let mut seen = HashSet::from([*position]);
        let mut here = *position;
        let mut left = None;
        let end = loop {
            let Some(&rated) = self.moves_with(&here, scratch)?.first() else {
                match here.winner() {
                    Some(winner) => break LineEnd::GameOver { winner },
                    // Without moves there is always a winner.
                    None => break LineEnd::LongDraw,
                }
            };
            if rated.after.wld != Wld::Draw {
                let Some(now) = rated.after.dtw else {
                    break LineEnd::NoDistance;
                };
                // Wrong tables must not make a line without end.
                if left.is_some_and(|left| now >= left) {
                    return Err(Error::Contradiction {
                        position: Box::new(here),
                    });
                }
                left = Some(now);
            }
            steps.push(Step {
                position: here,
                rated,
            });
            here = self.after(&here, &rated.mv);
            if rated.after.wld == Wld::Draw {
                if !seen.insert(here) {
                    break LineEnd::Repetition;
                }
                if steps.len() >= Line::MOST_DRAWN_PLIES {
                    break LineEnd::LongDraw;
                }
            }
        };
        Ok(Line {
            steps,
            last: here,
            end,
        })
    }
}
