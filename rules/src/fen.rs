//! FEN in and out.
//!
//! `W:W18,K24:B12` (RULES 0.2): side to move, then for each side its colour and its squares, kings
//! marked `K`. Understood besides: spaces, a full stop at the end, ranges (`W21-32`), the sides in
//! either order, lower-case side letters, a side without pieces, and algebraic squares on every
//! 8x8 board, and the whole tag of a PDN file (`[FEN "W:W18:B12"]`). The Frisian king run is a further field, `RW18.3`: White's king on 18 has made three
//! quiet moves in a row.

use crate::bits::Bits;
use crate::board::{Board, Side};
use crate::error::{Error, FenError, IllegalPosition};
use crate::geometry::Geometry;
use crate::position::{Position, Run};
use crate::variant::Variant;

/// The text with the place of each character, without spaces.
struct Cursor {
    chars: Vec<(usize, char)>,
    at: usize,
    end: usize,
}

impl Cursor {
    fn new(text: &str) -> Self {
        let mut chars: Vec<_> = text
            .chars()
            .enumerate()
            .map(|(i, c)| (i + 1, c))
            .filter(|(_, c)| !c.is_whitespace())
            .collect();
        // A PDN tag, as it was copied.
        let tag = ['[', 'F', 'E', 'N', '"'];
        let tagged = chars.len() >= tag.len()
            && tag
                .iter()
                .zip(&chars)
                .all(|(t, c)| c.1.eq_ignore_ascii_case(t));
        if tagged && matches!(chars[tag.len()..], [.., (_, '"'), (_, ']')]) {
            chars.truncate(chars.len() - 2);
            chars.drain(..tag.len());
        }
        Self {
            chars,
            at: 0,
            end: text.chars().count() + 1,
        }
    }
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).map(|c| c.1)
    }
    fn column(&self) -> usize {
        self.chars.get(self.at).map_or(self.end, |c| c.0)
    }
    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }
    fn fail<T>(&self, what: impl Into<String>) -> Result<T, FenError> {
        Err(FenError {
            what: what.into(),
            column: self.column(),
        })
    }
    fn found(&self) -> String {
        self.peek()
            .map_or_else(|| "the end".to_owned(), |c| format!("{c:?}"))
    }
    fn side(&mut self, what: &str) -> Result<Side, FenError> {
        let side = match self.peek() {
            Some('W' | 'w') => Side::White,
            Some('B' | 'b') => Side::Black,
            _ => return self.fail(format!("expected W or B {what}, found {}", self.found())),
        };
        self.at += 1;
        Ok(side)
    }
    fn number(&mut self) -> Result<u64, FenError> {
        let start = self.column();
        let mut n: Option<u64> = None;
        while let Some(d) = self.peek().and_then(|c| c.to_digit(10)) {
            let next = n
                .unwrap_or(0)
                .checked_mul(10)
                .and_then(|n| n.checked_add(u64::from(d)));
            if next.is_none() {
                return Err(FenError {
                    what: "number too large".to_owned(),
                    column: start,
                });
            }
            n = next;
            self.at += 1;
        }
        match n {
            Some(n) => Ok(n),
            None => self.fail(format!("expected a square, found {}", self.found())),
        }
    }
    fn square(&mut self, g: Geometry) -> Result<Result<u8, IllegalPosition>, FenError> {
        let start = self.at;
        let squares = g.squares() as u8;
        match self.peek() {
            Some(c) if c.is_ascii_alphabetic() && g.side() == 8 => {
                self.at += 1;
                let digits = self.number()?;
                let name = format!("{}{digits}", c.to_ascii_lowercase());
                match g.from_algebraic(&name) {
                    Some(s) => Ok(Ok(s)),
                    None => {
                        self.at = start;
                        self.fail(format!("{name} is no playable square"))
                    }
                }
            }
            _ => {
                let n = self.number()?;
                if n == 0 || n > u64::from(squares) {
                    Ok(Err(IllegalPosition::OffBoard { square: n, squares }))
                } else {
                    Ok(Ok(n as u8 - 1))
                }
            }
        }
    }
}

pub(crate) fn parse(variant: Variant, text: &str) -> Result<Position, Error> {
    let g = variant.rules().geometry;
    let mut c = Cursor::new(text);
    let to_move = c.side("for the side to move")?;
    let mut board = Board::<u128>::EMPTY;
    let mut seen = [false; 2];
    let mut runs = [Run::NONE; 2];
    while c.take(':') {
        if matches!(c.peek(), Some('R' | 'r')) {
            c.at += 1;
            let side = c.side("after R")?;
            if runs[side as usize].count > 0 {
                c.fail(format!("a second king run of {}", side.name()))?;
            }
            let square = c.square(g)??;
            if !c.take('.') {
                c.fail("expected a full stop before the length of the king run")?;
            }
            let count = c.number()?;
            if !(1..=3).contains(&count) {
                return Err(IllegalPosition::RunLength { count }.into());
            }
            runs[side as usize] = Run {
                square,
                count: count as u8,
            };
            continue;
        }
        let start = c.column();
        let side = c.side("before the pieces")?;
        if std::mem::replace(&mut seen[side as usize], true) {
            let what = format!("a second list of {} pieces", side.name());
            return Err(FenError {
                what,
                column: start,
            }
            .into());
        }
        if matches!(c.peek(), None | Some(':' | '.')) {
            continue;
        }
        loop {
            // A king sign is a capital K before a square; the eight files end at h.
            let king = c.take('K') || c.take('k');
            let first = c.square(g)??;
            let last = if c.take('-') { c.square(g)?? } else { first };
            if last < first {
                c.fail("a range that runs backwards")?;
            }
            for s in first..=last {
                if board.occupied().has(s) {
                    return Err(IllegalPosition::Overlap { square: s + 1 }.into());
                }
                let set = if king {
                    &mut board.kings
                } else {
                    &mut board.men
                };
                set[side as usize] |= u128::bit(s);
            }
            if !c.take(',') {
                break;
            }
        }
    }
    c.take('.');
    if c.peek().is_some() {
        c.fail(format!(
            "expected \":\", \",\" or the end, found {}",
            c.found()
        ))?;
    }
    for side in Side::BOTH {
        if !seen[side as usize] {
            c.fail(format!("the list of {} pieces is missing", side.name()))?;
        }
    }
    Ok(Position::new(variant, board, to_move, runs)?)
}

pub(crate) fn format(p: &Position) -> String {
    let letter = |side: Side| if side == Side::White { 'W' } else { 'B' };
    let mut text = letter(p.side()).to_string();
    for side in Side::BOTH {
        text.push(':');
        text.push(letter(side));
        let kings = p.board().kings[side as usize];
        let squares: Vec<_> = p
            .board()
            .pieces(side)
            .squares()
            .map(|s| format!("{}{}", if kings.has(s) { "K" } else { "" }, s + 1))
            .collect();
        text.push_str(&squares.join(","));
    }
    for side in Side::BOTH {
        let run = p.runs()[side as usize];
        if run.count > 0 {
            text.push_str(&format!(
                ":R{}{}.{}",
                letter(side),
                run.square + 1,
                run.count
            ));
        }
    }
    text
}
