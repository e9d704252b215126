//! `dambase board`: a position, and the names of the squares.

use clap::Args;
use dambase_rules::{Bits, Position, Side, ruleset::Notation};

use super::failure::Outcome;
use super::output::Output;
use super::{Code, position};

const EXAMPLES: &str = "\
Examples:
  dambase board english
  dambase board russian \"W:Wc3,Ke5:Bd6,Kh8\"";

/// Show a position as a board, beside the names of its squares
///
/// White is at the bottom: w is a man and W a king of White, b a man and B a king of Black. The squares
/// are named as in positions and moves. Where players write letters and figures a number does as
/// well; `--numbers` shows them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BoardCommand {
    #[command(flatten)]
    code: Code,
    /// The position, for example "W:W18,K24:B12" [default: the start of the game]
    fen: Option<String>,
    /// The numbers of the squares, where moves are written otherwise
    #[arg(long)]
    numbers: bool,
}

impl BoardCommand {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        let variant = self.code.variant;
        let p = match &self.fen {
            Some(fen) => position::parse(variant, fen, false, &mut out)?,
            None => Position::start(variant),
        };
        out.line(p.fen())?;
        let side = p.side().name();
        match p.winner() {
            Some(winner) => out.line(format!("the game is over: {} has won", winner.name()))?,
            None => out.line(format!("{side} to move"))?,
        }
        let g = variant.rules().geometry;
        for row in 0..g.side() as isize {
            let (mut pieces, mut names) = (String::new(), String::new());
            for column in 0..g.side() as isize {
                let square = g.at(row, column);
                pieces.push_str(&format!(" {}", square.map_or(' ', |s| piece(&p, s))));
                let name = square.map_or_else(String::new, |s| self.name(s));
                names.push_str(&format!("{name:>3}"));
            }
            out.line(format!(" {pieces}    {names}").trim_end())?;
        }
        if variant.rules().notation == Notation::NumericReversed && !self.numbers {
            let last = g.squares() + 1;
            out.line(format!(
                "moves are written with these numbers; positions and JSON have those of --numbers, \
                 which are {last} minus these"
            ))?;
        }
        out.flush()
    }

    /// The name of a square.
    fn name(&self, square: u8) -> String {
        let rules = self.code.variant.rules();
        match rules.notation {
            _ if self.numbers => (square + 1).to_string(),
            Notation::Numeric => (square + 1).to_string(),
            Notation::NumericReversed => {
                (rules.geometry.squares() - usize::from(square)).to_string()
            }
            Notation::Algebraic | Notation::AlgebraicColon => rules.geometry.algebraic(square),
        }
    }
}

/// The letter of what stands on a square.
fn piece(p: &Position, square: u8) -> char {
    let board = p.board();
    for (side, man, king) in [(Side::White, 'w', 'W'), (Side::Black, 'b', 'B')] {
        if board.men[side as usize].has(square) {
            return man;
        }
        if board.kings[side as usize].has(square) {
            return king;
        }
    }
    '.'
}
