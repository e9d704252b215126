//! `dambase completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::failure::Outcome;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  dambase completions bash";

/// Print a script that completes dambase commands in a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Outcome {
        // The generator panics on a closed pipe, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "dambase", &mut script);
        let mut out = Output::new();
        out.bytes(&script)?;
        out.flush()
    }
}
