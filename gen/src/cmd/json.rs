//! The objects of the JSON output; field names and their order are the contract of the command
//! line. Squares are house numbers.

use dambase_probe::Verdict;
use dambase_rules::{Bits, Move};
use dambase_tables::NoRuns;
use serde::Serialize;

/// One legal move.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MoveJson {
    #[serde(rename = "move")]
    pub(super) notation: String,
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) captures: Vec<u8>,
    pub(super) promotes: bool,
}

impl MoveJson {
    pub(super) fn new(m: &Move<u128>, notation: String) -> Self {
        Self {
            notation,
            from: m.from + 1,
            to: m.to + 1,
            captures: m.captured.squares().map(|s| s + 1).collect(),
            promotes: m.promotes,
        }
    }
}

/// A position that could not be answered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ErrorJson<'a> {
    pub(super) fen: &'a str,
    pub(super) error: String,
    pub(super) code: &'static str,
}

/// What the draw limits leave of a position.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RuleJson {
    pub(super) wld: &'static str,
    /// Plies of the clock that are needed; nothing where nothing is decided or no clock runs.
    pub(super) dtz: Option<u16>,
    /// The limit that decides.
    pub(super) limit: Option<&'static str>,
    /// The other clocks that run at the same time; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<ClockJson>,
}

/// A clock that runs beside the one that decides.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClockJson {
    limit: &'static str,
    /// Plies of it that are needed, the other clocks being as they are; nothing if none would do.
    dtz: Option<u16>,
    /// Plies left on it.
    left: u16,
}

impl RuleJson {
    pub(super) fn new(v: &Verdict) -> Self {
        Self {
            wld: v.value.name(),
            dtz: need(v),
            limit: v.limit,
            others: v
                .others
                .iter()
                .flatten()
                .map(|o| ClockJson {
                    limit: o.limit,
                    dtz: o.needed.map(|n| n.0),
                    left: o.left,
                })
                .collect(),
        }
    }
}

/// Counts of the positions without a pending king run, where positions have runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct NoRunsJson {
    positions: u64,
    wins: u64,
    losses: u64,
    draws: u64,
}

impl NoRunsJson {
    pub(super) const fn new(n: NoRuns) -> Self {
        Self {
            positions: n.positions,
            wins: n.wins,
            losses: n.losses,
            draws: n.draws(),
        }
    }
}

/// The plies of the clock that a verdict needs; nothing where nothing is decided or no clock runs.
pub(super) fn need(v: &Verdict) -> Option<u16> {
    v.limit.and(v.value.need()).map(|n| n.0)
}
