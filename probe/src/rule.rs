//! What the draw limits leave: values with any clocks, moves and lines by them.
//!
//! The tables hold one number for each position, the need of its governing clock with all other
//! clocks full. That answers every position in which one clock runs. On Russian's long diagonal
//! two run, and the table has the need of the diagonal's clock with the one beneath it full; any
//! other pair is found by playing on from there: while both run, the diagonal's clock allows at
//! most ten plies, and every line leaves the diagonal, or starts the clock beneath again, or ends
//! within them, where one number answers once more.
//!
//! Where Russian's 30 or 60 moves run beside the quiet clock and there are men, the tables hold all
//! combinations of plies with which a position stands, the diagonal's clock among them, so nothing has
//! to be played.

mod asking;

use std::cmp::Reverse;
use std::collections::HashSet;

use dambase_rules::{Clocks, LimitSet, Move, Position, Side};
use dambase_tables::{Dtz, RuleValue};

use self::asking::{Asking, Which};
use crate::error::{Error, Result};
use crate::moves::Outcome;
use crate::scratch::Scratch;
use crate::slot::Slot;
use crate::tablebase::{Tablebase, with_scratch};

/// What the draw limits leave of a position with certain clocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Verdict {
    /// The value with these clocks. The plies of a win or loss are those that are needed on the
    /// clock of `limit`, the other clocks being as they are; where no clock runs they are 0.
    pub value: RuleValue,
    /// The limit that decides: that of the governing clock, or that of one beneath or beside it where
    /// only this one is too short.
    pub limit: Option<&'static str>,
    /// Plies that are needed on that clock; nothing if no number would do, or no clock runs. Of a win
    /// or loss those with full clocks; of a draw with which it would be decided, the clocks before it
    /// being full and those after it as they are.
    pub needed: Option<Dtz>,
    /// Plies left on that clock.
    pub left: Option<u16>,
    /// The other clocks that run at the same time.
    pub others: [Option<ClockNeed>; 2],
}

/// A clock that runs beside the one that decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClockNeed {
    /// The limit.
    pub limit: &'static str,
    /// The fewest plies of it with which the position stands, all others being as they are; nothing
    /// if no number would do.
    pub needed: Option<Dtz>,
    /// Plies left on it.
    pub left: u16,
}

/// A legal move with what the draw limits leave after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuledMove {
    /// The move.
    pub mv: Move<u128>,
    /// The clocks after it.
    pub clocks: Clocks,
    /// The verdict after the move **for the side that makes it**, with the plies from then on.
    pub after: Verdict,
    /// The value without limits after the move, for the side that makes it, if there are tables.
    pub outcome: Option<Outcome>,
}

/// One move of a [`RuledLine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuledStep {
    /// The position in which the move is made.
    pub position: Position,
    /// The clocks in that position.
    pub clocks: Clocks,
    /// The move and what it leads to.
    pub ruled: RuledMove,
}

/// Play of both sides by the values under the draw limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuledLine {
    /// The moves.
    pub steps: Vec<RuledStep>,
    /// The position after the last move.
    pub last: Position,
    /// The clocks in that position.
    pub clocks: Clocks,
    /// Why the line stops there.
    pub end: RuledEnd,
}

/// Why a [`RuledLine`] stops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RuledEnd {
    /// The game is over.
    GameOver {
        /// Who has won.
        winner: Side,
    },
    /// A clock has run out: the game is drawn.
    Limit {
        /// The limit.
        name: &'static str,
    },
    /// The position after the last move, with the same clocks, has been in the line before.
    Repetition,
    /// The line has become as long as [`RuledLine::MOST_PLIES`].
    Long,
}

impl RuledLine {
    /// Plies after which a line stops whatever happens.
    pub const MOST_PLIES: usize = 1000;
}

impl Tablebase {
    /// The draw limits of the tables: those that the tables of values under the limits were built
    /// under, or the default of the code if there are no such tables.
    #[must_use]
    pub const fn limits(&self) -> &LimitSet {
        &self.limits
    }

    /// The value under the draw limits with full clocks, and the plies of the governing clock that
    /// are needed. In codes without limits it is that without limits.
    ///
    /// # Errors
    /// As [`Self::probe_wld`]; the table that is missing is one of values under the limits.
    pub fn probe_dtz(&self, position: &Position) -> Result<RuleValue> {
        with_scratch(|s| self.probe_dtz_with(position, s))
    }
    /// [`Self::probe_dtz`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::probe_dtz`].
    pub fn probe_dtz_with(&self, position: &Position, scratch: &mut Scratch) -> Result<RuleValue> {
        self.fits(position)?;
        self.attach(scratch);
        Asking::new(self, scratch).full(position)
    }

    /// What the draw limits leave of a position with these clocks.
    ///
    /// # Errors
    /// As [`Self::probe_dtz`].
    pub fn verdict(&self, position: &Position, clocks: Clocks) -> Result<Verdict> {
        self.fits(position)?;
        with_scratch(|s| {
            self.attach(s);
            Asking::new(self, s).verdict(position, clocks)
        })
    }

    /// Derives the value of a position under the limits again from what its moves lead to, with as
    /// many plies left as it says it needs and with one less, by the rules of the clocks alone;
    /// and compares it with the value without limits. Gives what is wrong, if anything is.
    ///
    /// If nothing is wrong with any position of a material, nor with what it leads to, then its
    /// values are right where a clock runs: what is decided with `n` plies rests on what is decided
    /// with fewer, or with full clocks further on. Where none runs the same could hold for wins that
    /// go round in circles.
    ///
    /// # Errors
    /// As [`Self::probe_dtz`].
    pub fn check_dtz(&self, position: &Position) -> Result<Option<String>> {
        self.fits(position)?;
        with_scratch(|s| {
            self.attach(s);
            Asking::new(self, s).fault(position)
        })
    }

    /// Every legal move with what the limits leave after it, best first: the shortest win that
    /// stands, draws with what they would be without limits, the loss that lasts longest.
    ///
    /// # Errors
    /// As [`Self::verdict`].
    pub fn moves_by_rule(&self, position: &Position, clocks: Clocks) -> Result<Vec<RuledMove>> {
        self.fits(position)?;
        let rate = |mv: Move<u128>| {
            let after = self.after(position, &mv);
            let clocks = clocks.after(&self.limits, position.board(), position.side(), &mv);
            let verdict = self.verdict(&after, clocks)?;
            let outcome = self.outcome(&after).ok().map(|o| Outcome {
                wld: o.wld.opposite(),
                dtw: o.dtw,
            });
            Ok(RuledMove {
                mv,
                clocks,
                after: Verdict {
                    value: verdict.value.opposite(),
                    ..verdict
                },
                outcome,
            })
        };
        let ruled: Result<Vec<_>> = position.legal_moves().into_iter().map(rate).collect();
        let mut ruled = ruled?;
        ruled.sort_by_key(order);
        Ok(ruled)
    }

    /// Play by the values under the limits: the winner takes the shortest way that wins within
    /// them, the loser the longest, and whoever can hold the draw runs the clock out.
    ///
    /// # Errors
    /// As [`Self::verdict`], for the positions of the line.
    pub fn line_by_rule(&self, position: &Position, clocks: Clocks) -> Result<RuledLine> {
        let (mut here, mut clocks) = (*position, clocks);
        let mut steps = Vec::new();
        let mut seen = HashSet::from([(here, clocks)]);
        let end = loop {
            let moves = self.moves_by_rule(&here, clocks)?;
            let Some(&ruled) = moves.first() else {
                match here.winner() {
                    Some(winner) => break RuledEnd::GameOver { winner },
                    // Without moves there is always a winner.
                    None => break RuledEnd::Long,
                }
            };
            if clocks.is_out() {
                let running = self.limits.running(here.board());
                let all = Which::ALL.into_iter();
                let mut out = all.filter(|w| w.of(clocks) == Some(0));
                let out = out.next().and_then(|w| w.running(running));
                let name = out.map_or("", |c| self.limits.limit(c).name);
                break RuledEnd::Limit { name };
            }
            if steps.len() >= RuledLine::MOST_PLIES {
                break RuledEnd::Long;
            }
            steps.push(RuledStep {
                position: here,
                clocks,
                ruled,
            });
            here = self.after(&here, &ruled.mv);
            clocks = ruled.clocks;
            if !seen.insert((here, clocks)) {
                break RuledEnd::Repetition;
            }
        };
        Ok(RuledLine {
            steps,
            last: here,
            clocks,
            end,
        })
    }
}

/// Best first.
fn order(m: &RuledMove) -> (u8, Reverse<u16>, u16) {
    let plies = m.outcome.and_then(|o| o.dtw).map_or(0, |d| d.0);
    let need = m.after.value.need().map_or(0, |n| n.0);
    match m.after.value {
        RuleValue::Win(_) => (0, Reverse(0), if plies > 0 { plies } else { need }),
        RuleValue::CursedWin => (1, Reverse(0), plies),
        RuleValue::Draw => (2, Reverse(0), 0),
        RuleValue::BlessedLoss => (3, Reverse(plies), 0),
        RuleValue::Loss(_) => (4, Reverse(if plies > 0 { plies } else { need }), 0),
    }
}

/// The limits that the tables of `slots` were built under. Those built under others are refused.
pub(crate) fn limits_of(
    variant: dambase_rules::Variant,
    slots: &mut [Slot],
    issues: &mut Vec<Error>,
) -> LimitSet {
    let default = LimitSet::of(variant);
    let hash = |s: &Slot| {
        let table = s.dtz.as_ref()?.table.as_ref().ok()?;
        Some(table.header().limits_hash)
    };
    let hashes: Vec<_> = slots.iter().filter_map(hash).collect();
    let limits = if hashes.contains(&default.hash()) {
        default
    } else {
        let known = hashes.iter().find_map(|&h| LimitSet::from_hash(variant, h));
        known.unwrap_or(default)
    };
    for slot in slots {
        if hash(slot).is_some_and(|h| h != limits.hash())
            && let Some(source) = &mut slot.dtz
        {
            let e = Error::OtherLimits {
                path: source.path.clone(),
                limits,
            };
            source.table = Err(e.clone());
            issues.push(e);
        }
    }
    limits
}
