//! Positions given on the command line, and how moves are shown.

use dambase_rules::{Position, Variant};
use dambase_tables::Wld;

use super::failure::Failure;
use super::json::{ErrorJson, MoveJson};
use super::output::Output;

/// What to do about a position that was not understood.
pub(super) const FEN_HELP: &str = "a position is written like \"W:W18,K24:B12\": side to move, then the pieces of White and of \
     Black, kings with K";

/// Reads the position of a command that takes one. What is wrong with it is said as JSON on
/// standard output or as text on standard error.
pub(super) fn parse(
    variant: Variant,
    fen: &str,
    json: bool,
    out: &mut Output,
) -> Result<Position, Failure> {
    Position::parse(variant, fen).map_err(|e| {
        if json {
            let said = out
                .json(&ErrorJson {
                    fen,
                    error: e.to_string(),
                    code: e.code(),
                })
                .and_then(|()| out.flush());
            said.err().unwrap_or(Failure::Said(2))
        } else {
            Failure::usage(format!("cannot read the position \"{fen}\": {e}"), FEN_HELP)
        }
    })
}

/// A move with what it does, for people.
pub(super) fn describe(m: &MoveJson) -> String {
    let mut text = m.notation.clone();
    if !m.captures.is_empty() {
        let list: Vec<_> = m.captures.iter().map(u8::to_string).collect();
        text.push_str(&format!("  takes {}", list.join(", ")));
    }
    if m.promotes {
        text.push_str("  crowned");
    }
    text
}

/// A value in words.
pub(super) fn verdict(wld: Wld, dtw: Option<u16>) -> String {
    let verb = match wld {
        Wld::Win => "wins",
        Wld::Loss => "loses",
        Wld::Draw => return "draws".to_owned(),
    };
    match dtw {
        Some(0) if wld == Wld::Win => "has won".to_owned(),
        Some(0) => "has lost".to_owned(),
        Some(1) => format!("{verb} in 1 ply"),
        Some(n) => format!("{verb} in {n} plies"),
        None => verb.to_owned(),
    }
}
