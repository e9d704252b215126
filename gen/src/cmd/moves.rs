//! `dambase moves`: the legal moves of a position, without tables.

use clap::Args;
use dambase_rules::Side;
use serde::Serialize;

use super::failure::Outcome;
use super::json::MoveJson;
use super::output::Output;
use super::{Code, count, position};

const EXAMPLES: &str = "\
Examples:
  dambase moves russian \"W:Wc3:Bd4,f6\"
  dambase moves frisian \"W:WK18:BK46:RW18.3\" --json";

/// List the legal moves of a position; no tables are needed
///
/// Each distinct move is listed once: captures by different routes that agree in start, end,
/// captured squares and crowning are one move.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Moves {
    #[command(flatten)]
    code: Code,
    /// The position, for example "W:W18,K24:B12"
    fen: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct MovesJson {
    fen: String,
    variant: &'static str,
    /// Who has won, if the game is over.
    winner: Option<&'static str>,
    moves: Vec<MoveJson>,
}

impl Moves {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        let p = position::parse(self.code.variant, &self.fen, self.json, &mut out)?;
        let moves = p.legal_moves();
        let moves: Vec<_> = moves
            .iter()
            .zip(p.notation(&moves))
            .map(|(m, text)| MoveJson::new(m, text))
            .collect();
        if self.json {
            out.json(&MovesJson {
                fen: p.fen(),
                variant: p.variant().name(),
                winner: p.winner().map(Side::name),
                moves,
            })?;
        } else {
            out.line(p.fen())?;
            match p.winner() {
                Some(winner) => out.line(format!("the game is over: {} has won", winner.name()))?,
                None => {
                    let legal = count(moves.len() as u64, "legal move");
                    out.line(format!("{} to move has {legal}", p.side().name()))?;
                }
            }
            for m in &moves {
                out.line(format!("  {}", position::describe(m)))?;
            }
        }
        out.flush()
    }
}
