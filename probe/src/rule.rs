//! What the draw limits leave: values with any clocks, moves and lines by them.
//!
//! The tables hold one number for each position, the need of its governing clock with all other
//! clocks full. That answers every position in which one clock runs. On Russian's long diagonal
//! two run, and the table has the need of the diagonal's clock with the one beneath it full; any
//! other pair is found by playing on from there: while both run, the diagonal's clock allows at
//! most ten plies, and every line leaves the diagonal, or starts the clock beneath again, or ends
//! within them, where one number answers once more.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use dambase_rules::limits::{Link, Runs, counts};
use dambase_rules::{Clocks, LimitSet, Move, Position, Side};
use dambase_tables::{Dtz, Material, Metric, RuleValue, Wld};

use crate::error::{Error, Result};
use crate::lookup::{Reach, Stored};
use crate::measure::OfDtz;
use crate::moves::Outcome;
use crate::scratch::Scratch;
use crate::slot::Slot;
use crate::tablebase::{Tablebase, failed, with_scratch};

/// What the draw limits leave of a position with certain clocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Verdict {
    /// The value with these clocks. The plies of a win or loss are those that are needed on the
    /// clock of `limit`, the other clock being as it is; where no clock runs they are 0.
    pub value: RuleValue,
    /// The limit that decides: that of the governing clock, or that of the clock beneath where
    /// only this one is too short.
    pub limit: Option<&'static str>,
    /// Plies that are needed on that clock if the other one is full; nothing if no number would
    /// do, or no clock runs.
    pub needed: Option<Dtz>,
    /// Plies left on that clock.
    pub left: Option<u16>,
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

type Memo = HashMap<(Position, Clocks), Wld>;

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
                let out = if clocks.left == Some(0) {
                    running.governing
                } else {
                    running.beneath
                };
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

/// One question to the tables.
struct Asking<'a> {
    tables: &'a Tablebase,
    scratch: &'a mut Scratch,
    memo: Memo,
}

impl<'a> Asking<'a> {
    fn new(tables: &'a Tablebase, scratch: &'a mut Scratch) -> Self {
        Self {
            tables,
            scratch,
            memo: Memo::new(),
        }
    }

    /// The value with full clocks; the need is that of the governing clock.
    fn full(&mut self, p: &Position) -> Result<RuleValue> {
        let tables = self.tables;
        if tables.limits.is_empty() {
            let wld = tables.probe_wld_with(p, self.scratch)?;
            return Ok(match wld {
                Wld::Draw => RuleValue::Draw,
                Wld::Win => RuleValue::Win(Dtz(0)),
                Wld::Loss => RuleValue::Loss(Dtz(0)),
            });
        }
        let moves = p.legal_moves();
        match moves.first() {
            None => Ok(RuleValue::Loss(Dtz(0))),
            Some(m) if m.is_capture() => self.captures(p, &moves),
            Some(_) => self.stored(p),
        }
    }

    /// The stored value of a quiet position.
    fn stored(&mut self, p: &Position) -> Result<RuleValue> {
        let tables = self.tables;
        let material = Material::of(p.board());
        let missing = || {
            let wanted = material.canonical();
            Error::MissingTable {
                variant: tables.variant(),
                material: wanted,
                metric: Metric::Dtz,
                needed_by: None,
            }
        };
        let entry = tables.map.find(material).ok_or_else(missing)?;
        let slot = &tables.slots[entry.slot()];
        let source = slot.dtz.as_ref().ok_or_else(missing)?;
        let stored = if entry.swapped(p.side()) {
            p.mirrored()
        } else {
            *p
        };
        let index = slot.index_of(&stored);
        let place = Stored::at(entry.slot(), source, Metric::Dtz, stored.side(), index)?;
        tables
            .read::<OfDtz>(&place, Reach::Files, self.scratch)
            .map_err(failed)
    }

    /// The value of a position in which the side to move must capture.
    fn captures(&mut self, p: &Position, moves: &[Move<u128>]) -> Result<RuleValue> {
        let limits = self.tables.limits;
        let running = limits.running(p.board());
        let budget = running.governing.map(|c| limits.limit(c).plies());
        let before = counts(p.board());
        let on_diagonal = running
            .governing
            .is_some_and(|c| matches!(limits.limit(c).runs, Runs::Diagonal { .. }));
        let (mut best, mut worst): (Option<u16>, u16) = (None, 0);
        let (mut lost, mut lost_without, mut won_without) = (true, true, false);
        for m in moves {
            let after = self.tables.after(p, m);
            let mut value = self.full(&after)?;
            let link = if on_diagonal {
                // A capture ends the diagonal's clock.
                Link::Fresh
            } else {
                limits.link(before, counts(after.board()), true)
            };
            if link == Link::RunsOn && limits.running(after.board()).beneath.is_some() {
                value = self.need_beneath(&after, value)?;
            }
            match value {
                RuleValue::Loss(Dtz(n)) => {
                    let need = link.need(n);
                    best = Some(best.map_or(need, |b| b.min(need)));
                    won_without = true;
                }
                RuleValue::Win(Dtz(n)) => worst = worst.max(link.need(n)),
                RuleValue::BlessedLoss => won_without = true,
                RuleValue::CursedWin => lost = false,
                RuleValue::Draw => (lost, lost_without) = (false, false),
            }
        }
        let enough = |need: u16| budget.is_none_or(|b| need <= b);
        Ok(if let Some(need) = best.filter(|&n| enough(n)) {
            RuleValue::Win(Dtz(need))
        } else if won_without {
            RuleValue::CursedWin
        } else if lost && lost_without && enough(worst) {
            RuleValue::Loss(Dtz(worst))
        } else if lost_without {
            RuleValue::BlessedLoss
        } else {
            RuleValue::Draw
        })
    }

    /// The value of a position with two clocks, that of the diagonal full, with the need of the
    /// one beneath. `full` is the value with both full.
    fn need_beneath(&mut self, p: &Position, full: RuleValue) -> Result<RuleValue> {
        let clocks = Clocks::fresh(&self.tables.limits, p.board());
        let Some(most) = clocks.beneath.filter(|_| full.need().is_some()) else {
            return Ok(full);
        };
        // More plies never hurt.
        let (mut low, mut high) = (0, most);
        while low < high {
            let beneath = (low + high) / 2;
            let with = Clocks {
                beneath: Some(beneath),
                ..clocks
            };
            if self.with(p, with)? == Wld::Draw {
                low = beneath + 1;
            } else {
                high = beneath;
            }
        }
        Ok(match full {
            RuleValue::Win(_) => RuleValue::Win(Dtz(low)),
            _ => RuleValue::Loss(Dtz(low)),
        })
    }

    /// Win, loss or draw with any clocks.
    fn with(&mut self, p: &Position, clocks: Clocks) -> Result<Wld> {
        let limits = self.tables.limits;
        // Also what both clocks leave is not more than what one of them leaves.
        let value = self.full(p)?.with_left(clocks.left).under_limits();
        let full = Clocks::fresh(&limits, p.board());
        if value == Wld::Draw || clocks.beneath == full.beneath {
            return Ok(value);
        }
        let key = (*p, clocks);
        if let Some(&known) = self.memo.get(&key) {
            return Ok(known);
        }
        let found = self.played(p, clocks)?;
        self.memo.insert(key, found);
        Ok(found)
    }

    /// Win, loss or draw with any clocks, from what the moves lead to.
    fn played(&mut self, p: &Position, clocks: Clocks) -> Result<Wld> {
        let limits = self.tables.limits;
        let moves = p.legal_moves();
        if moves.is_empty() {
            return Ok(Wld::Loss);
        }
        if clocks.is_out() {
            return Ok(Wld::Draw);
        }
        let mut best = Wld::Loss;
        for m in &moves {
            let after = self.tables.after(p, m);
            let clocks = clocks.after(&limits, p.board(), p.side(), m);
            match self.with(&after, clocks)? {
                Wld::Loss => return Ok(Wld::Win),
                Wld::Draw => best = Wld::Draw,
                Wld::Win => {}
            }
        }
        Ok(best)
    }

    /// What is wrong with the stored value of a position.
    fn fault(&mut self, p: &Position) -> Result<Option<String>> {
        let value = self.full(p)?;
        let without = self.tables.probe_wld_with(p, self.scratch)?;
        if value.without_limits() != without {
            return Ok(Some(format!(
                "is a {value} although it is a {without} without limits"
            )));
        }
        let full = Clocks::fresh(&self.tables.limits, p.board());
        let with = |left| Clocks { left, ..full };
        let (Some(Dtz(need)), Some(_)) = (value.need(), full.left) else {
            let found = self.played(p, full)?;
            return Ok((found != value.under_limits())
                .then(|| format!("is a {value} but a {found} by what its moves lead to")));
        };
        let found = self.played(p, with(Some(need)))?;
        if found != value.under_limits() {
            return Ok(Some(format!(
                "is a {value} that needs {need} plies, but a {found} with so many"
            )));
        }
        if need > 0 && self.played(p, with(Some(need - 1)))? != Wld::Draw {
            return Ok(Some(format!(
                "is a {value} that needs {need} plies, but stands with one less"
            )));
        }
        Ok(None)
    }

    fn verdict(&mut self, p: &Position, clocks: Clocks) -> Result<Verdict> {
        let limits = self.tables.limits;
        let running = limits.running(p.board());
        let name = |c: Option<dambase_rules::limits::Clock>| c.map(|c| limits.limit(c).name);
        let full = self.full(p)?;
        let one = Verdict {
            value: full.with_left(clocks.left),
            limit: name(running.governing),
            needed: full.need().filter(|_| running.governing.is_some()),
            left: clocks.left,
        };
        let fresh = Clocks::fresh(&limits, p.board());
        let (Some(need), Some(left)) = (one.value.need(), clocks.left) else {
            return Ok(one);
        };
        if clocks.beneath == fresh.beneath {
            return Ok(one);
        }
        // Both clocks: the fewest plies of the diagonal's that do with what is left beneath.
        for d in need.0..=left {
            let with = Clocks {
                left: Some(d),
                ..clocks
            };
            if self.with(p, with)? != Wld::Draw {
                let value = match full {
                    RuleValue::Win(_) => RuleValue::Win(Dtz(d)),
                    _ => RuleValue::Loss(Dtz(d)),
                };
                return Ok(Verdict { value, ..one });
            }
        }
        let value = RuleValue::undecided(full.without_limits());
        let longest = Clocks {
            left: fresh.left,
            ..clocks
        };
        if self.with(p, longest)? != Wld::Draw {
            return Ok(Verdict { value, ..one });
        }
        Ok(Verdict {
            value,
            limit: name(running.beneath),
            needed: self.need_beneath(p, full)?.need(),
            left: clocks.beneath,
        })
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
