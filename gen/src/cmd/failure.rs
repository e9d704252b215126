//! How a command ends when it does not end well.

use std::io;
use std::process::ExitCode;

/// What a command returns.
pub(super) type Outcome = Result<(), Failure>;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has gone away: nobody to tell, and no fault.
    ClosedPipe,
    /// All has been said already; end with this exit code.
    Said(u8),
    /// To be said on standard error.
    Message {
        /// The exit code, 1 or 2.
        exit: u8,
        /// "cannot DO THING: CAUSE".
        message: String,
        /// What to do about it.
        help: String,
    },
}

impl Failure {
    /// Something went wrong (exit code 1).
    pub(super) fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Message {
            exit: 1,
            message: message.into(),
            help: help.into(),
        }
    }

    /// The command line is wrong (exit code 2).
    pub(super) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Message {
            exit: 2,
            message: message.into(),
            help: help.into(),
        }
    }

    /// Standard output cannot be written.
    pub(super) fn output(e: &io::Error) -> Self {
        if e.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::failed(
                format!("cannot write to standard output: {e}"),
                "check where the output is sent to, and the space there",
            )
        }
    }

    /// Says what is to be said, on standard error.
    pub(crate) fn report(self) -> ExitCode {
        use std::io::Write;
        match self {
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Said(exit) => ExitCode::from(exit),
            Self::Message {
                exit,
                message,
                help,
            } => {
                // If standard error is closed too, there is nobody left to tell.
                let _ = writeln!(io::stderr(), "error: {message}\nhelp: {help}");
                ExitCode::from(exit)
            }
        }
    }
}

/// An error with its causes, as one line.
pub(super) fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(c) = cause {
        text.push_str(&format!(": {c}"));
        cause = c.source();
    }
    text
}
