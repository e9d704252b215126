//! `dambase probe`: the value of positions and of their moves.

use std::io::{BufRead, BufReader};

use clap::Args;
use dambase_probe::{Error, Rated, Tablebase, Verdict};
use dambase_rules::{ClockRun, Clocks, Move, Position};
use dambase_tables::Wld;
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::json::{ErrorJson, MoveJson, RuleJson, need};
use super::output::Output;
use super::position::{self, CLOCK_HELP, describe, ruled};
use super::{Code, Directories};

const EXAMPLES: &str = "\
Examples:
  dambase probe english \"W:WK18,K24:BK12\"
  dambase probe russian \"W:Wc3:BKf8\" --json
  dambase probe russian \"W:WKc3,Kd4:BKf8\" --clock 5-move=4
  echo \"B:W30:BK3\" | dambase probe english --stdin --json";

/// Show the value of positions, and of every legal move
///
/// The value (win, loss or draw) is for the side to move, endless play being a draw. The distance
/// is the number of plies to the end of the game, the winner hurrying and the loser delaying. A
/// move has the value for the side that makes it and the distance that is left after it; the best
/// move comes first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Probe {
    #[command(flatten)]
    code: Code,
    /// The positions, for example "W:W18,K24:B12"
    #[arg(required_unless_present = "stdin")]
    fen: Vec<String>,
    #[command(flatten)]
    directories: Directories,
    /// Plies that have run on a draw limit's clock, for example 16-move=26; may be given more than
    /// once or with commas between. Clocks that are not named are full
    #[arg(
        long,
        value_name = "NAME=PLIES,...",
        value_delimiter = ',',
        value_parser = position::clock
    )]
    clock: Vec<ClockRun>,
    /// Read positions from standard input, one a line; a bad line gives an error and the rest is
    /// answered all the same
    #[arg(long)]
    stdin: bool,
    /// Print one JSON object for each position
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ProbeJson {
    fen: String,
    variant: &'static str,
    wld: &'static str,
    dtw: Option<u16>,
    /// What the draw limits leave.
    rule: Option<RuleJson>,
    moves: Vec<RatedJson>,
}

#[derive(Serialize)]
struct RatedJson {
    #[serde(flatten)]
    made: MoveJson,
    wld: Option<&'static str>,
    dtw: Option<u16>,
    dtz: Option<u16>,
}

/// A legal move and what is known of the position after it, for the side that moves.
struct Answer {
    made: Move<u128>,
    wld: Option<Wld>,
    dtw: Option<u16>,
    rule: Option<Verdict>,
}

impl Probe {
    pub(super) fn run(self) -> Outcome {
        let tables = self.directories.open(self.code.variant)?;
        let mut out = Output::new();
        let mut worst = 0;
        for (i, fen) in self.fen.iter().enumerate() {
            if i > 0 && !self.json {
                out.line("")?;
            }
            worst = worst.max(self.one(&tables, fen, &mut out)?);
        }
        if self.stdin {
            let mut input = BufReader::new(std::io::stdin().lock());
            let mut line = Vec::new();
            loop {
                // Whoever asks line by line waits for the answer.
                if input.buffer().is_empty() {
                    out.flush()?;
                }
                line.clear();
                let n = input.read_until(b'\n', &mut line).map_err(|e| {
                    Failure::failed(
                        format!("cannot read standard input: {e}"),
                        "give one position a line",
                    )
                })?;
                if n == 0 {
                    break;
                }
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    // What is wrong in the middle of a stream is no fault of the command line.
                    worst = worst.max(self.one(&tables, text.trim(), &mut out)?.min(1));
                }
            }
        }
        out.flush()?;
        if worst > 0 {
            return Err(Failure::Said(worst));
        }
        Ok(())
    }

    /// Answers for one position; gives the exit code it deserves.
    fn one(&self, tables: &Tablebase, fen: &str, out: &mut Output) -> Result<u8, Failure> {
        let p = match tables.position(fen) {
            Ok(p) => p,
            Err(e) => {
                let help = position::fen_help(self.code.variant, &e);
                self.fault(fen, e.to_string(), e.code(), &help, out)?;
                return Ok(2);
            }
        };
        let clocks = match Clocks::after_runs(tables.limits(), p.board(), &self.clock) {
            Ok(clocks) => clocks,
            Err(e) => {
                let code = dambase_rules::Error::from(e.clone()).code();
                self.fault(fen, e.to_string(), code, CLOCK_HELP, out)?;
                return Ok(2);
            }
        };
        let answer = ask(tables, &p).and_then(|(here, moves)| {
            let (rule, moves) = rules(tables, &p, clocks, moves, !self.clock.is_empty())?;
            Ok((here, rule, moves))
        });
        let (outcome, rule, moves) = match answer {
            Ok(answer) => answer,
            Err(e) => {
                self.fault(fen, chain(&e), e.code(), &self.directories.help(&e), out)?;
                return Ok(1);
            }
        };
        let list: Vec<_> = moves.iter().map(|a| a.made).collect();
        let texts = p.notation(&list);
        let rated: Vec<_> = moves
            .iter()
            .zip(texts)
            .map(|(a, text)| RatedJson {
                made: MoveJson::new(&a.made, text),
                wld: a.wld.map(Wld::name),
                dtw: a.dtw,
                dtz: a.rule.as_ref().and_then(need),
            })
            .collect();
        let (wld, dtw) = outcome;
        if self.json {
            out.json(&ProbeJson {
                fen: p.fen(),
                variant: p.variant().name(),
                wld: wld.name(),
                dtw,
                rule: rule.as_ref().map(RuleJson::new),
                moves: rated,
            })?;
            return Ok(0);
        }
        out.line(p.fen())?;
        match p.winner() {
            Some(w) => out.line(format!("the game is over: {} has won", w.name()))?,
            None => out.line(format!(
                "{} to move: {}",
                p.side().name(),
                ruled(wld, dtw, rule.as_ref())
            ))?,
        }
        for (a, r) in moves.iter().zip(&rated) {
            let value = match a.wld {
                Some(wld) => ruled(wld, a.dtw, a.rule.as_ref()),
                None => "not known: its table is missing".to_owned(),
            };
            out.line(format!("  {:<20} {value}", describe(&r.made)))?;
        }
        Ok(0)
    }

    fn fault(
        &self,
        fen: &str,
        error: String,
        code: &'static str,
        help: &str,
        out: &mut Output,
    ) -> Outcome {
        if self.json {
            out.json(&ErrorJson { fen, error, code })
        } else {
            out.flush()?;
            Failure::failed(format!("cannot probe \"{fen}\": {error}"), help).report();
            Ok(())
        }
    }
}

type Known = (Wld, Option<u16>);

/// The value of a position and of its moves. A move into a table that is missing has none.
fn ask(tables: &Tablebase, p: &Position) -> Result<(Known, Vec<Answer>), Error> {
    let here = tables.outcome(p)?;
    let plies = |o: &dambase_probe::Outcome| o.dtw.map(|d| d.0);
    let rated = match tables.moves(p) {
        Ok(rated) => rated
            .iter()
            .map(|Rated { mv, after, .. }| Answer {
                made: *mv,
                wld: Some(after.wld),
                dtw: plies(after),
                rule: None,
            })
            .collect(),
        Err(Error::MissingTable { .. }) => p
            .legal_moves()
            .into_iter()
            .map(|made| {
                let after = tables.outcome(&tables.after(p, &made)).ok();
                Answer {
                    made,
                    wld: after.map(|o| o.wld.opposite()),
                    dtw: after.as_ref().and_then(plies),
                    rule: None,
                }
            })
            .collect(),
        Err(e) => return Err(e),
    };
    Ok(((here.wld, plies(&here)), rated))
}

/// What the draw limits leave of a position and of its moves, as far as there are tables that say
/// so. Whoever gives clocks wants to know.
fn rules(
    tables: &Tablebase,
    p: &Position,
    clocks: Clocks,
    mut moves: Vec<Answer>,
    wanted: bool,
) -> Result<(Option<Verdict>, Vec<Answer>), Error> {
    let rule = match tables.verdict(p, clocks) {
        Ok(verdict) => Some(verdict),
        Err(Error::MissingTable { .. }) if !wanted => None,
        Err(e) => return Err(e),
    };
    for a in &mut moves {
        let after = tables.after(p, &a.made);
        let clocks = clocks.after(tables.limits(), p.board(), p.side(), &a.made);
        a.rule = match tables.verdict(&after, clocks) {
            Ok(v) => Some(Verdict {
                value: v.value.opposite(),
                ..v
            }),
            Err(Error::MissingTable { .. }) => None,
            Err(e) => return Err(e),
        };
    }
    Ok((rule, moves))
}
