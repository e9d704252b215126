//! The `dambase` command: builds, proves and asks endgame tables of draughts.
//!
//! Exit codes: 0 all went well, 1 something failed (a table is missing or damaged, an output
//! cannot be written), 2 the command line or a position on it is wrong.

mod cmd;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cmd::Cli::parse();
    match cmd::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
