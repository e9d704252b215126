//! Standard output that does not panic when its reader has gone.

use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};

use serde::Serialize;

use super::failure::{Failure, Outcome};

/// Buffered standard output. Call [`Output::flush`] at the end, or the last errors go unseen.
#[derive(Debug)]
pub(super) struct Output(BufWriter<Stdout>);

impl Output {
    pub(super) fn new() -> Self {
        Self(BufWriter::new(io::stdout()))
    }

    /// Writes one line.
    pub(super) fn line(&mut self, text: impl Display) -> Outcome {
        writeln!(self.0, "{text}").map_err(|e| Failure::output(&e))
    }

    /// Writes one JSON object as one line.
    pub(super) fn json(&mut self, object: &impl Serialize) -> Outcome {
        serde_json::to_writer(&mut self.0, object).map_err(|e| Failure::output(&e.into()))?;
        self.0.write_all(b"\n").map_err(|e| Failure::output(&e))
    }

    /// Writes bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.0.write_all(bytes).map_err(|e| Failure::output(&e))
    }

    /// Hands everything on.
    pub(super) fn flush(&mut self) -> Outcome {
        self.0.flush().map_err(|e| Failure::output(&e))
    }
}
