//! The objects of the JSON output; field names and their order are the contract of the command
//! line. Squares are house numbers.

use dambase_rules::{Bits, Move};
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
    pub(super) dtz: Option<u16>,
    pub(super) limit: Option<&'static str>,
}
