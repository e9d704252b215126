//! The command line: one module for each subcommand, and what they share.

mod archive;
mod board;
mod build;
mod checksums;
mod completions;
mod failure;
mod info;
mod json;
mod line;
mod moves;
mod number;
mod output;
mod perft;
mod plan;
mod position;
mod probe;
mod progress;
mod resources;
mod selection;
mod stats;
mod stop;
mod there;
mod variants;
mod verify;

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use dambase_probe::Tablebase;
use dambase_rules::Variant;

use failure::{Failure, Outcome};

const ABOUT: &str = "\
A position is written W:W18,K24:B12: who is to move, then the pieces of White and of Black, kings
with K. Squares are numbered row by row from the top left as White sees the board (dambase board
CODE shows them); on 8x8 boards a1 to h8 are understood too. A material like KKMvKM is named by
White's kings and men, v, and Black's.

Exit codes: 0 all went well; 1 something failed, such as a table that is missing or damaged; 2 the
command line or a position on it is wrong.";

/// Perfect endgame databases for fourteen codes of draughts
///
/// Distances are in plies: one ply is one move of one side. Values (win, loss, draw) are for the
/// side to move; endless play is a draw.
#[derive(Debug, Parser)]
#[command(name = "dambase", version, max_term_width = 100, after_long_help = ABOUT)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Build),
    Probe(probe::Probe),
    Line(line::LineCommand),
    Moves(moves::Moves),
    Board(board::BoardCommand),
    Perft(perft::Perft),
    Stats(stats::Stats),
    Verify(verify::Verify),
    Info(info::Info),
    Pack(archive::Pack),
    Unpack(archive::Unpack),
    Checksums(checksums::Checksums),
    Plan(plan::PlanCommand),
    Variants(variants::Variants),
    Completions(completions::Completions),
}

/// Runs a parsed command line.
pub(crate) fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Build(c) => c.run(),
        Command::Probe(c) => c.run(),
        Command::Line(c) => c.run(),
        Command::Moves(c) => c.run(),
        Command::Board(c) => c.run(),
        Command::Perft(c) => c.run(),
        Command::Stats(c) => c.run(),
        Command::Verify(c) => c.run(),
        Command::Info(c) => c.run(),
        Command::Pack(c) => c.run(),
        Command::Unpack(c) => c.run(),
        Command::Checksums(c) => c.run(),
        Command::Plan(c) => c.run(),
        Command::Variants(c) => c.run(),
        Command::Completions(c) => c.run(),
    }
}

/// The code, the first argument of most commands.
#[derive(Clone, Copy, Debug, Args)]
struct Code {
    /// The code of draughts, see `dambase variants`
    #[arg(value_name = "VARIANT", value_parser = VariantParser, hide_possible_values = true)]
    variant: Variant,
}

/// The path of a directory, which an empty variable of the environment is not.
fn directory() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|path| {
        if path.is_empty() {
            Err("no directory; give one, or unset DAMBASE_DIR if that is empty")
        } else {
            Ok(PathBuf::from(path))
        }
    })
}

/// The directory of the tables.
#[derive(Clone, Debug, Args)]
struct Directory {
    /// Directory of the tables; those of one code are in a directory of its name inside
    #[arg(long, value_name = "DIR", default_value = "egdb", env = "DAMBASE_DIR", value_parser = directory())]
    dir: PathBuf,
}

/// The directories of the tables, for commands that can take several.
#[derive(Clone, Debug, Args)]
struct Directories {
    /// Directory of the tables, those of one code in a directory of its name inside; may be given
    /// more than once
    #[arg(long, value_name = "DIR", default_value = "egdb", env = "DAMBASE_DIR", value_parser = directory())]
    dir: Vec<PathBuf>,
}

impl Directories {
    /// Opens the tables of a code.
    fn open(&self, variant: Variant) -> Result<Tablebase, Failure> {
        Tablebase::open(variant, &self.dir).map_err(|e| {
            Failure::failed(
                failure::chain(&e),
                format!(
                    "give the directory that has {variant}/ in it with --dir, or run dambase build \
                     {variant}"
                ),
            )
        })
    }

    /// What to do about a look-up that failed.
    fn help(&self, e: &dambase_probe::Error) -> String {
        use dambase_probe::Error;
        match e {
            Error::MissingTable {
                variant,
                material,
                metric,
                ..
            } => there::missing_help(&self.dir, *variant, *material, *metric),
            Error::Table(e) => match **e {
                dambase_tables::Error::NotStored { .. } => {
                    "an archive answers nothing: make tables of it with dambase unpack".to_owned()
                }
                _ => "dambase verify names everything that is wrong with the tables".to_owned(),
            },
            Error::RunNotCovered { .. } => "ask for the position without its king run, or build \
                                            tables that know it in another directory"
                .to_owned(),
            Error::WithoutRun { .. } => "remove the tables without king run and build them again, \
                                         or keep them in another directory"
                .to_owned(),
            _ => "dambase verify names everything that is wrong with the tables".to_owned(),
        }
    }
}

/// Reads a [`Variant`] and offers the names for completion.
#[derive(Clone, Debug)]
struct VariantParser;

impl TypedValueParser for VariantParser {
    type Value = Variant;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Variant, clap::Error> {
        value.to_string_lossy().parse::<Variant>().map_err(|e| {
            let text = format!("{e}\nhelp: run \"dambase variants\" for what each of them is\n");
            clap::Error::raw(clap::error::ErrorKind::InvalidValue, text).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            Variant::ALL.iter().map(|v| PossibleValue::new(v.name())),
        ))
    }
}

/// A count with its digits in groups of three.
fn grouped(n: impl Into<u128>) -> String {
    let digits = n.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// So many things, for people: "1 table", "2 tables".
fn count(n: impl Into<u128>, what: &str) -> String {
    let n = n.into();
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(n))
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
