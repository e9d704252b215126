//! Positions given on the command line, and how moves are shown.

use dambase_probe::Verdict;
use dambase_rules::{ClockRun, Error, IllegalPosition, Position, Variant};
use dambase_tables::{RuleValue, Wld};

use super::failure::Failure;
use super::json::{ErrorJson, MoveJson};
use super::output::Output;

/// What to do about a position that was not understood, or that cannot be.
pub(super) fn fen_help(variant: Variant, e: &Error) -> String {
    let rules = variant.rules();
    match e {
        Error::Position(IllegalPosition::RunUnknown { .. }) => {
            "leave out the field that begins with R".to_owned()
        }
        Error::Position(
            IllegalPosition::RunWithoutKing { .. } | IllegalPosition::RunLength { .. },
        ) => {
            "a king run is written like :RW18.3, White's king on 18 having made 3 quiet moves in a \
              row"
            .to_owned()
        }
        Error::Position(_) => {
            format!("correct the position; dambase board {variant} shows the squares of {variant}")
        }
        _ => {
            let run = if rules.king_run.is_some() {
                ", then king runs if there are any (:RW18.3)"
            } else {
                ""
            };
            let letters = if rules.geometry.side() == 8 {
                "; c3 or a number for a square"
            } else {
                ""
            };
            format!(
                "a position is written like \"W:W18,K24:B12\": side to move, then the pieces of White and \
                 of Black, kings with K{letters}{run}"
            )
        }
    }
}

/// What to do about a clock that cannot be used.
pub(super) const CLOCK_HELP: &str = "\"dambase variants\" lists the draw limits; give the plies that have run, of both sides together";

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
            let help = fen_help(variant, &e);
            Failure::usage(format!("cannot read the position \"{fen}\": {e}"), help)
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

/// A number of plies in words.
pub(super) fn plies(n: impl Into<u64>) -> String {
    let n = n.into();
    format!("{n} {}", if n == 1 { "ply" } else { "plies" })
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
        Some(n) => format!("{verb} in {}", plies(n)),
        None => verb.to_owned(),
    }
}

/// A value in words, with what the draw limits leave of it.
pub(super) fn ruled(wld: Wld, dtw: Option<u16>, rule: Option<&Verdict>) -> String {
    let plain = verdict(wld, dtw);
    let Some(rule) = rule else {
        return plain;
    };
    let name = rule.limit.unwrap_or("");
    match (rule.value, rule.limit, rule.left) {
        (RuleValue::CursedWin | RuleValue::BlessedLoss, _, _) => {
            let verb = if wld == Wld::Win { "won" } else { "lost" };
            let distance = dtw.map_or_else(String::new, |n| format!(" in {}", plies(n)));
            let why = match (rule.needed, rule.left) {
                (Some(n), Some(left)) => {
                    format!(" (needs {} of its clock, {left} left)", plies(n.0))
                }
                _ => String::new(),
            };
            format!("{verb}{distance}, but drawn by the {name} rule{why}")
        }
        (RuleValue::Win(n) | RuleValue::Loss(n), Some(_), Some(left)) if dtw != Some(0) => {
            let mut text = format!(
                "{plain}; within the {name} rule (needs {} of its clock, {left} left)",
                plies(n.0)
            );
            for other in rule.others.iter().flatten() {
                let needed = other.needed.map_or(0, |n| n.0);
                text.push_str(&format!(
                    " and the {} rule (needs {}, {} left)",
                    other.limit,
                    plies(needed),
                    other.left
                ));
            }
            text
        }
        _ => plain,
    }
}

/// Reads `NAME=PLIES`.
pub(super) fn clock(s: &str) -> Result<ClockRun, String> {
    s.parse().map_err(|e| format!("{e}"))
}
