//! Moves in the notation of each code.

use crate::board::Move;
use crate::position::Position;
use crate::ruleset::{Notation, Rules};

/// A square as players of the code write it.
fn square(rules: &Rules, s: u8) -> String {
    match rules.notation {
        Notation::Numeric => (s + 1).to_string(),
        Notation::NumericReversed => (rules.geometry.squares() - usize::from(s)).to_string(),
        Notation::Algebraic | Notation::AlgebraicColon => rules.geometry.algebraic(s),
    }
}

pub(crate) fn format(position: &Position, moves: &[Move<u128>]) -> Vec<String> {
    let rules = position.rules();
    let capture = if rules.notation == Notation::AlgebraicColon {
        ":"
    } else {
        "x"
    };
    let ambiguous = |m: &Move<u128>| {
        moves
            .iter()
            .filter(|o| o.from == m.from && o.to == m.to)
            .count()
            > 1
    };
    let mut routes = None;
    moves
        .iter()
        .map(|m| {
            let from = square(rules, m.from);
            if !m.is_capture() {
                return format!("{from}-{}", square(rules, m.to));
            }
            let mut text = from;
            let path = if ambiguous(m) {
                let routes = routes.get_or_insert_with(|| position.capture_routes());
                routes
                    .iter()
                    .find(|(r, _)| r == m)
                    .map(|(_, path)| path.as_slice())
            } else {
                None
            };
            for &s in path.unwrap_or(&[m.to]) {
                text.push_str(capture);
                text.push_str(&square(rules, s));
            }
            text
        })
        .collect()
}
