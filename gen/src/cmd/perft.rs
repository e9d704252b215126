//! `dambase perft`: counts of move sequences.

use clap::Args;
use dambase_rules::{Position, divide, perft};
use serde::Serialize;

use super::failure::Outcome;
use super::json::MoveJson;
use super::output::Output;
use super::{Code, grouped, number, position};

const EXAMPLES: &str = "\
Examples:
  dambase perft international 5
  dambase perft english 4 --fen \"W:W21,K30:B5,6\" --divide";

/// Count the sequences of legal moves of a given length
///
/// The same moves are counted that `dambase moves` lists. A game that is over has none. The
/// Frisian king run is left out, as in published counts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Perft {
    #[command(flatten)]
    code: Code,
    /// Length of the sequences in plies
    #[arg(value_parser = number::depth, allow_negative_numbers = true)]
    depth: u32,
    /// Start from this position instead of the start position
    #[arg(long, value_name = "FEN")]
    fen: Option<String>,
    /// Show the count of each first move
    #[arg(long)]
    divide: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PerftJson {
    variant: &'static str,
    fen: String,
    depth: u32,
    nodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<DivideJson>>,
}

#[derive(Serialize)]
struct DivideJson {
    #[serde(flatten)]
    first: MoveJson,
    nodes: u64,
}

impl Perft {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        let p = match &self.fen {
            Some(fen) => position::parse(self.code.variant, fen, self.json, &mut out)?,
            None => Position::start(self.code.variant),
        };
        let split = (self.divide && self.depth > 0).then(|| {
            let moves = p.without_runs().legal_moves();
            moves
                .iter()
                .zip(p.notation(&moves))
                .zip(divide(&p, self.depth))
                .map(|((m, text), nodes)| DivideJson {
                    first: MoveJson::new(m, text),
                    nodes,
                })
                .collect::<Vec<_>>()
        });
        let nodes = match &split {
            Some(split) => split.iter().map(|d| d.nodes).sum(),
            None => perft(&p, self.depth),
        };
        if self.json {
            out.json(&PerftJson {
                variant: p.variant().name(),
                fen: p.fen(),
                depth: self.depth,
                nodes,
                moves: split,
            })?;
        } else {
            for d in split.iter().flatten() {
                out.line(format!("{:<12} {}", d.first.notation, grouped(d.nodes)))?;
            }
            out.line(format!("perft {} = {}", self.depth, grouped(nodes)))?;
        }
        out.flush()
    }
}
