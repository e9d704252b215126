//! `dambase line`: best play to the end.

use clap::Args;
use dambase_probe::{LineEnd, RuledEnd, Tablebase};
use dambase_rules::{ClockRun, Clocks, Position, Side};
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::json::{ErrorJson, MoveJson, RuleJson};
use super::output::Output;
use super::position::{self, CLOCK_HELP, describe, plies, ruled, verdict};
use super::{Code, Directories};

const EXAMPLES: &str = "\
Examples:
  dambase line english \"W:WK18,K24:BK12\"
  dambase line russian \"W:WKc3,Kd4:BKf8\" --rule";

/// Play best moves from a position to the end of the game
///
/// The winner takes the shortest way, the loser the longest. A drawn line stops when a position
/// comes back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LineCommand {
    #[command(flatten)]
    code: Code,
    /// The position, for example "W:W18,K24:B12"
    fen: String,
    #[command(flatten)]
    directories: Directories,
    /// Play by the value under the draw limits: the shortest win within them, and the clock run out
    /// where that saves the game
    #[arg(long)]
    rule: bool,
    /// Plies that have run on a draw limit's clock, for example 16-move=26, with --rule; may be
    /// given more than once or with commas between
    #[arg(
        long,
        value_name = "NAME=PLIES,...",
        value_delimiter = ',',
        value_parser = position::clock,
        requires = "rule"
    )]
    clock: Vec<ClockRun>,
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
        if self.rule {
            return self.by_rule(&tables, &p, out);
        }
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
                    self.directories.help(&e),
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
                .map_or_else(String::new, |d| format!("{} left", plies(d)));
            out.line(format!(
                "  {number:>3}{dots:<3} {:<24} {left}",
                describe(&s.made)
            ))?;
        }
        out.line(format!(
            "{} after {}: {}",
            line.last.fen(),
            plies(steps.len() as u64),
            line.end.reason()
        ))?;
        out.flush()
    }
}

#[derive(Serialize)]
struct RuledLineJson {
    fen: String,
    variant: &'static str,
    rule: RuleJson,
    moves: Vec<RuledStepJson>,
    plies: usize,
    last_fen: String,
    end: &'static str,
    winner: Option<&'static str>,
    limit: Option<&'static str>,
}

/// A move of the line; values and plies are those after it, for the side that makes it.
#[derive(Serialize)]
struct RuledStepJson {
    side: &'static str,
    #[serde(flatten)]
    made: MoveJson,
    rule: RuleJson,
    /// Plies left on the clock of the limit.
    left: Option<u16>,
    dtw: Option<u16>,
    fen: String,
}

impl LineCommand {
    /// The line by the values under the draw limits.
    fn by_rule(&self, tables: &Tablebase, p: &Position, mut out: Output) -> Outcome {
        let clocks = Clocks::after_runs(tables.limits(), p.board(), &self.clock);
        let clocks = match clocks {
            Ok(clocks) => clocks,
            Err(e) => {
                let code = dambase_rules::Error::from(e.clone()).code();
                return self.refuse(&mut out, e.to_string(), code, CLOCK_HELP, 2);
            }
        };
        let found = tables
            .verdict(p, clocks)
            .and_then(|v| Ok((v, tables.line_by_rule(p, clocks)?)));
        let (here, line) = match found {
            Ok(found) => found,
            Err(e) => {
                return self.refuse(&mut out, chain(&e), e.code(), &self.directories.help(&e), 1);
            }
        };
        let steps = line.steps.iter().map(|s| {
            let moves = s.position.legal_moves();
            let at = moves.iter().position(|m| *m == s.ruled.mv);
            let text = at.map_or_else(String::new, |i| s.position.notation(&moves).swap_remove(i));
            RuledStepJson {
                side: s.position.side().name(),
                made: MoveJson::new(&s.ruled.mv, text),
                rule: RuleJson::new(&s.ruled.after),
                left: s.ruled.after.left,
                dtw: s.ruled.outcome.and_then(|o| o.dtw).map(|d| d.0),
                fen: s.position.after(&s.ruled.mv).fen(),
            }
        });
        let steps: Vec<_> = steps.collect();
        let (end, winner, limit, reason) = match line.end {
            RuledEnd::GameOver { winner } => (
                "game-over",
                Some(winner.name()),
                None,
                format!("{} has won", winner.name()),
            ),
            RuledEnd::Limit { name } => (
                "limit",
                None,
                Some(name),
                format!("a draw by the {name} rule"),
            ),
            RuledEnd::Repetition => (
                "repetition",
                None,
                None,
                "a draw: the position has come back".to_owned(),
            ),
            _ => ("long", None, None, "the line goes on".to_owned()),
        };
        if self.json {
            out.json(&RuledLineJson {
                fen: p.fen(),
                variant: p.variant().name(),
                rule: RuleJson::new(&here),
                plies: steps.len(),
                moves: steps,
                last_fen: line.last.fen(),
                end,
                winner,
                limit,
            })?;
            return out.flush();
        }
        let outcome = tables.outcome(p).ok();
        let wld = outcome.map_or(here.value.without_limits(), |o| o.wld);
        let dtw = outcome.and_then(|o| o.dtw).map(|d| d.0);
        out.line(p.fen())?;
        out.line(format!(
            "{} to move: {}",
            p.side().name(),
            ruled(wld, dtw, Some(&here))
        ))?;
        for s in &steps {
            let left = s.left.map_or_else(String::new, |n| {
                format!("{n} left on the {} clock", s.rule.limit.unwrap_or(""))
            });
            let need = s
                .rule
                .dtz
                .map_or_else(String::new, |n| format!(", {n} needed"));
            out.line(format!(
                "  {:<6} {:<24} {:<13} {left}{need}",
                s.side,
                describe(&s.made),
                s.rule.wld
            ))?;
        }
        out.line(format!(
            "{} after {}: {reason}",
            line.last.fen(),
            plies(steps.len() as u64)
        ))?;
        out.flush()
    }

    /// Says what is wrong and how the command ends.
    fn refuse(
        &self,
        out: &mut Output,
        error: String,
        code: &'static str,
        help: &str,
        exit: u8,
    ) -> Outcome {
        if self.json {
            let fen = &self.fen;
            out.json(&ErrorJson { fen, error, code })?;
            out.flush()?;
            return Err(Failure::Said(exit));
        }
        let message = format!("cannot play \"{}\": {error}", self.fen);
        Err(if exit == 2 {
            Failure::usage(message, help)
        } else {
            Failure::failed(message, help)
        })
    }
}
