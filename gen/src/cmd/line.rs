//! `dambase line`: best play to the end.

use clap::Args;
use dambase_probe::LineEnd;
use dambase_rules::Side;
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::json::{ErrorJson, MoveJson};
use super::output::Output;
use super::position::{self, describe, verdict};
use super::{Code, Directories, table_help};

/// Play best moves from a position to the end of the game
///
/// The winner takes the shortest way, the loser the longest. A drawn line stops when a position
/// comes back.
#[derive(Debug, Args)]
pub(super) struct LineCommand {
    #[command(flatten)]
    code: Code,
    /// The position, for example "W:W18,K24:B12"
    fen: String,
    #[command(flatten)]
    directories: Directories,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct LineJson {
    fen: String,
    variant: &'static str,
    wld: &'static str,
    dtw: Option<u16>,
    moves: Vec<StepJson>,
    plies: usize,
    last_fen: String,
    end: &'static str,
    winner: Option<&'static str>,
}

/// A move of the line; value and distance are those after it, for the side that makes it.
#[derive(Serialize)]
struct StepJson {
    side: &'static str,
    #[serde(flatten)]
    made: MoveJson,
    wld: &'static str,
    dtw: Option<u16>,
    fen: String,
}

impl LineCommand {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        let p = position::parse(self.code.variant, &self.fen, self.json, &mut out)?;
        let tables = self.directories.open(self.code.variant)?;
        let found = tables.outcome(&p).and_then(|o| Ok((o, tables.line(&p)?)));
        let (here, line) = match found {
            Ok(found) => found,
            Err(e) if self.json => {
                out.json(&ErrorJson {
                    fen: &self.fen,
                    error: chain(&e),
                    code: e.code(),
                })?;
                out.flush()?;
                return Err(Failure::Said(1));
            }
            Err(e) => {
                return Err(Failure::failed(
                    format!("cannot play \"{}\": {}", self.fen, chain(&e)),
                    table_help(&e),
                ));
            }
        };
        let steps: Vec<_> = line
            .steps
            .iter()
            .map(|s| {
                let moves = s.position.legal_moves();
                let at = moves.iter().position(|m| *m == s.rated.mv);
                let text =
                    at.map_or_else(String::new, |i| s.position.notation(&moves).swap_remove(i));
                StepJson {
                    side: s.position.side().name(),
                    made: MoveJson::new(&s.rated.mv, text),
                    wld: s.rated.after.wld.name(),
                    dtw: s.rated.after.dtw.map(|d| d.0),
                    fen: s.position.after(&s.rated.mv).fen(),
                }
            })
            .collect();
        let dtw = here.dtw.map(|d| d.0);
        if self.json {
            let (end, winner) = match line.end {
                LineEnd::GameOver { winner } => ("game-over", Some(winner.name())),
                LineEnd::Repetition => ("repetition", None),
                LineEnd::LongDraw => ("long-draw", None),
                LineEnd::NoDistance => ("no-distances", None),
                _ => ("other", None),
            };
            out.json(&LineJson {
                fen: p.fen(),
                variant: p.variant().name(),
                wld: here.wld.name(),
                dtw,
                plies: steps.len(),
                moves: steps,
                last_fen: line.last.fen(),
                end,
                winner,
            })?;
            return out.flush();
        }
        out.line(p.fen())?;
        out.line(format!(
            "{} to move: {}",
            p.side().name(),
            verdict(here.wld, dtw)
        ))?;
        let mut number = 1;
        for (i, s) in steps.iter().enumerate() {
            let white = s.side == Side::White.name();
            if i > 0 && white == (p.side() == Side::White) {
                number += 1;
            }
            let dots = if white { "." } else { "..." };
            let left = s
                .dtw
                .map_or_else(String::new, |d| format!("{d} plies left"));
            out.line(format!(
                "  {number:>3}{dots:<3} {:<24} {left}",
                describe(&s.made)
            ))?;
        }
        out.line(format!(
            "{} after {} plies: {}",
            line.last.fen(),
            steps.len(),
            line.end.reason()
        ))?;
        out.flush()
    }
}
