//! Bodies of the fuzz targets: one function for each parser of outside bytes.
//!
//! A body takes any bytes and panics if the library breaks a promise: bad input is a typed error,
//! good input comes back unchanged, a damaged table gives an error or the values it had. Nothing
//! else counts as a finding, but a fuzzer also sees hangs and what takes too much memory.
//!
//! `tests/replay.rs` runs every body on the committed corpus and on changed copies of it;
//! `libfuzzer/` has the wrappers for cargo-fuzz (CONTRIBUTING.md).
#![forbid(unsafe_code)]

mod answers;
mod tables;
mod text;

pub use answers::answers;
pub use tables::{directory, sealed_table, table, values};
pub use text::{clock, fen, file_name, limits, material, variant};

/// A body.
pub type Target = fn(&[u8]);

/// All bodies with their names, which are those of the folders of the corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("answers", answers),
    ("clock", clock),
    ("directory", directory),
    ("fen", fen),
    ("file_name", file_name),
    ("limits", limits),
    ("material", material),
    ("sealed_table", sealed_table),
    ("table", table),
    ("values", values),
    ("variant", variant),
];

/// The first byte chooses one of `all`; what follows is the rest.
fn choose<'a, 'b, T>(all: &'a [T], data: &'b [u8]) -> Option<(&'a T, &'b [u8])> {
    let (&first, rest) = data.split_first()?;
    Some((&all[usize::from(first) % all.len()], rest))
}
