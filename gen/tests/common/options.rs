//! How tests build tables.

use std::path::Path;

use dambase_gen::build::{Options, Solver};

/// In a directory, with two threads and the solver that needs least time to start.
pub(crate) fn options(dir: &Path) -> Options {
    Options {
        dir: dir.to_owned(),
        threads: 2,
        memory: 2 << 30,
        disk: None,
        solver: Solver::Scalar,
        rebuild: false,
        verify: false,
    }
}
