//! One question about the draw limits: the value of a position with any clocks.

use std::collections::HashMap;

use dambase_rules::limits::{Clock, Link, Running, Runs, counts};
use dambase_rules::{Clocks, Move, Position};
use dambase_tables::needs::Need;
use dambase_tables::{Dtz, Material, Metric, RuleValue, Wld};

use super::{ClockNeed, Verdict};
use crate::error::{Error, Result};
use crate::lookup::{Reach, Stored};
use crate::measure::OfDtz;
use crate::scratch::Scratch;
use crate::tablebase::{Tablebase, failed};

type Memo = HashMap<(Position, Clocks), Wld>;

/// One question to the tables.
pub(super) struct Asking<'a> {
    tables: &'a Tablebase,
    scratch: &'a mut Scratch,
    memo: Memo,
}

impl<'a> Asking<'a> {
    pub(super) fn new(tables: &'a Tablebase, scratch: &'a mut Scratch) -> Self {
        Self {
            tables,
            scratch,
            memo: Memo::new(),
        }
    }

    /// The value with full clocks; the need is that of the governing clock.
    pub(super) fn full(&mut self, p: &Position) -> Result<RuleValue> {
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
            Some(_) => Ok(self.stored(p)?.0),
        }
    }

    /// The stored value of a quiet position, and all that it needs where pairs of plies count.
    fn stored(&mut self, p: &Position) -> Result<(RuleValue, Option<&'a [Need]>)> {
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
        let standing = tables
            .read::<OfDtz>(&place, Reach::Files, self.scratch)
            .map_err(failed)?;
        let list = match (&source.table, standing.list) {
            (Ok(table), Some(n)) => table.needs()?.and_then(|list| list.get(n)),
            _ => None,
        };
        Ok((standing.value, list))
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
        if full.need().is_none() {
            return Ok(full);
        }
        Ok(match (full, self.least(p, clocks, Which::Beneath)?) {
            (RuleValue::Win(_), Some(need)) => RuleValue::Win(need),
            (RuleValue::Loss(_), Some(need)) => RuleValue::Loss(need),
            _ => full,
        })
    }

    /// Win, loss or draw with any clocks.
    fn with(&mut self, p: &Position, clocks: Clocks) -> Result<Wld> {
        let limits = self.tables.limits;
        // Also what all clocks leave is not more than what one of them leaves.
        let value = self.full(p)?.with_left(clocks.left).under_limits();
        let full = Clocks::fresh(&limits, p.board());
        let others = (clocks.beneath, clocks.beside);
        if value == Wld::Draw || others == (full.beneath, full.beside) {
            return Ok(value);
        }
        if clocks.beside.is_some()
            && let Some(stands) = self.stands(p, clocks)?
        {
            return Ok(if stands { value } else { Wld::Draw });
        }
        let key = (*p, clocks);
        if let Some(&known) = self.memo.get(&key) {
            return Ok(known);
        }
        let found = self.played(p, clocks)?;
        self.memo.insert(key, found);
        Ok(found)
    }

    /// Whether a decided position in which a clock runs beside the quiet one stands, from what is
    /// stored of it; nothing for captures, of which nothing is.
    fn stands(&mut self, p: &Position, clocks: Clocks) -> Result<Option<bool>> {
        let moves = p.legal_moves();
        if moves.first().is_none_or(Move::is_capture) {
            return Ok(None);
        }
        let left = need_of(clocks);
        let (standing, needs) = self.stored(p)?;
        Ok(Some(match needs {
            Some(needs) => needs.iter().any(|n| n.within(left)),
            // Kings only: both clocks begin together and lose one with every ply, so the one that is
            // stored says what is needed of each.
            None => {
                (standing.need()).is_some_and(|n| n.0 <= u16::from(left.beside.min(left.quiet)))
            }
        }))
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
    pub(super) fn fault(&mut self, p: &Position) -> Result<Option<String>> {
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
        if full.beside.is_some() {
            return self.fault_of_pairs(p, value, full);
        }
        Ok(None)
    }

    /// What is wrong with what a decided position needs where a clock runs beside the quiet one: with
    /// each combination that it says is enough it must stand, and with the most plies that are less
    /// than every one of them it must not.
    fn fault_of_pairs(
        &mut self,
        p: &Position,
        value: RuleValue,
        full: Clocks,
    ) -> Result<Option<String>> {
        let moves = p.legal_moves();
        if moves.first().is_none_or(Move::is_capture) {
            // Nothing is stored of it.
            return Ok(None);
        }
        let on_diagonal = full.beneath.is_some();
        let most = need_of(full);
        let needs = match self.stored(p)?.1 {
            Some(needs) => needs.to_vec(),
            None => {
                let plies = value.need().map_or(0, |n| n.0 as u8);
                vec![Need {
                    diagonal: 0,
                    beside: plies,
                    quiet: plies,
                }]
            }
        };
        for diagonal in 0..=most.diagonal {
            // The steps with so many plies on the diagonal's clock, from many quiet ones to few.
            let mut steps: Vec<Need> = Vec::new();
            let mut fit: Vec<Need> = needs
                .iter()
                .filter(|n| n.diagonal <= diagonal)
                .copied()
                .collect();
            fit.sort_unstable_by_key(|n| (n.beside, n.quiet));
            for n in fit {
                if steps.last().is_none_or(|l| n.quiet < l.quiet) {
                    steps.push(n);
                }
            }
            // Just outside: as many quiet plies as the step before forbids, as many beside as this one.
            let mut outside = Vec::new();
            let mut quiet = Some(most.quiet);
            for n in &steps {
                outside.push((n.beside.checked_sub(1), quiet));
                quiet = n.quiet.checked_sub(1);
            }
            outside.push((Some(most.beside), quiet));
            let inside = steps.iter().map(|n| (Some(n.beside), Some(n.quiet), true));
            let outside = outside.into_iter().map(|(b, q)| (b, q, false));
            for (beside, quiet, stands) in inside.chain(outside).collect::<Vec<_>>() {
                let (Some(beside), Some(quiet)) = (beside, quiet) else {
                    continue;
                };
                let plies = |n: u8| Some(u16::from(n));
                let (left, beneath) = if on_diagonal {
                    (plies(diagonal), plies(quiet))
                } else {
                    (plies(quiet), None)
                };
                let clocks = Clocks {
                    left,
                    beneath,
                    beside: plies(beside),
                };
                let found = self.played(p, clocks)?;
                let wanted = if stands {
                    value.under_limits()
                } else {
                    Wld::Draw
                };
                if found != wanted {
                    return Ok(Some(format!(
                        "is a {wanted} with {clocks:?}, but a {found} by what its moves lead to"
                    )));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn verdict(&mut self, p: &Position, clocks: Clocks) -> Result<Verdict> {
        let limits = self.tables.limits;
        let running = limits.running(p.board());
        let name = |c: Option<Clock>| c.map(|c| limits.limit(c).name);
        let full = self.full(p)?;
        let one = Verdict {
            value: full.with_left(clocks.left),
            limit: name(running.governing),
            needed: full.need().filter(|_| running.governing.is_some()),
            left: clocks.left,
            others: [None; 2],
        };
        if running.beneath.is_none() && running.beside.is_none() {
            return Ok(one);
        }
        let others = self.others(p, clocks, Which::Governing)?;
        if full.need().is_none() {
            return Ok(Verdict { others, ..one });
        }
        if self.with(p, clocks)? != Wld::Draw {
            let need = self.least(p, clocks, Which::Governing)?.unwrap_or(Dtz(0));
            let value = match full {
                RuleValue::Win(_) => RuleValue::Win(need),
                _ => RuleValue::Loss(need),
            };
            return Ok(Verdict {
                value,
                others,
                ..one
            });
        }
        // The first clock that makes it a draw, those before it being full.
        let fresh = Clocks::fresh(&limits, p.board());
        let mut with = clocks;
        for which in Which::ALL {
            let Some(clock) = which.running(running) else {
                continue;
            };
            let needed = self.least(p, with, which)?;
            if needed.is_some() {
                return Ok(Verdict {
                    value: RuleValue::undecided(full.without_limits()),
                    limit: Some(limits.limit(clock).name),
                    needed,
                    left: which.of(clocks),
                    others: self.others(p, clocks, which)?,
                });
            }
            *which.of_mut(&mut with) = which.of(fresh);
        }
        // With all of them full it stands, so one was found.
        Ok(Verdict { others, ..one })
    }

    /// The fewest plies of one clock with which a position stands, the others being as they are.
    fn least(&mut self, p: &Position, clocks: Clocks, which: Which) -> Result<Option<Dtz>> {
        let fresh = Clocks::fresh(&self.tables.limits, p.board());
        let Some(most) = which.of(fresh) else {
            return Ok(None);
        };
        let mut stands = |plies: u16| -> Result<bool> {
            let mut with = clocks;
            *which.of_mut(&mut with) = Some(plies);
            Ok(self.with(p, with)? != Wld::Draw)
        };
        if !stands(most)? {
            return Ok(None);
        }
        // More plies never hurt.
        let (mut low, mut high) = (0, most);
        while low < high {
            let plies = (low + high) / 2;
            if stands(plies)? {
                high = plies;
            } else {
                low = plies + 1;
            }
        }
        Ok(Some(Dtz(low)))
    }

    /// The clocks that run in a position but one, and what it needs of them.
    fn others(
        &mut self,
        p: &Position,
        clocks: Clocks,
        but: Which,
    ) -> Result<[Option<ClockNeed>; 2]> {
        let limits = self.tables.limits;
        let running = limits.running(p.board());
        let mut others = [None; 2];
        let mut n = 0;
        for which in Which::ALL {
            if which != but
                && let (Some(clock), Some(left)) = (which.running(running), which.of(clocks))
            {
                let decided = self.full(p)?.need().is_some();
                others[n] = Some(ClockNeed {
                    limit: limits.limit(clock).name,
                    needed: if decided {
                        self.least(p, clocks, which)?
                    } else {
                        None
                    },
                    left,
                });
                n += 1;
            }
        }
        Ok(others)
    }
}

/// One of the clocks that can run in a position at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Governing,
    Beneath,
    Beside,
}

impl Which {
    pub(super) const ALL: [Self; 3] = [Self::Governing, Self::Beneath, Self::Beside];

    pub(super) const fn of(self, clocks: Clocks) -> Option<u16> {
        match self {
            Self::Governing => clocks.left,
            Self::Beneath => clocks.beneath,
            Self::Beside => clocks.beside,
        }
    }
    const fn of_mut(self, clocks: &mut Clocks) -> &mut Option<u16> {
        match self {
            Self::Governing => &mut clocks.left,
            Self::Beneath => &mut clocks.beneath,
            Self::Beside => &mut clocks.beside,
        }
    }
    pub(super) const fn running(self, running: Running) -> Option<Clock> {
        match self {
            Self::Governing => running.governing,
            Self::Beneath => running.beneath,
            Self::Beside => running.beside,
        }
    }
}

/// Plies left as what is needed is stored: of a position in which a clock runs beside the quiet one.
fn need_of(clocks: Clocks) -> Need {
    let plies = |n: Option<u16>| n.map_or(0, |n| n.min(u16::from(u8::MAX)) as u8);
    let (diagonal, quiet) = match clocks.beneath {
        Some(_) => (clocks.left, clocks.beneath),
        None => (None, clocks.left),
    };
    Need {
        diagonal: plies(diagonal),
        beside: plies(clocks.beside),
        quiet: plies(quiet),
    }
}
