//! What can be wrong with a table or a request for one.

use std::io;
use std::path::PathBuf;

use dambase_rules::Variant;

use crate::format::Metric;
use crate::index::TooLarge;
use crate::material::Material;

/// An error of this crate. Every message says what is wrong, with which file, and what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: a verb, such as `open`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file does not begin as tables do.
    #[error("{} is no table of this program; remove it from the directory", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
    },
    /// The file has another version of the format.
    #[error(
        "{} has format version {found}, this program reads version {known}; build the table anew \
         or use the program that wrote it", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The version that can be read.
        known: u16,
    },
    /// The bytes of the header do not agree with their checksum.
    #[error("the header of {} is damaged; restore the file or build it anew", path.display())]
    HeaderChecksum {
        /// The file.
        path: PathBuf,
    },
    /// A header field has a number this program does not know.
    #[error(
        "{} has the {field} number {found}, which this program does not know; use the program that \
         wrote it or a newer one, or build the table anew", path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// `variant`, `metric`, `codec` or `coding`.
        field: &'static str,
        /// The number found.
        found: u8,
    },
    /// Header fields contradict each other or the material.
    #[error("the header of {} makes no sense ({what}); build the table anew", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: &'static str,
    },
    /// The file is shorter or longer than its header says.
    #[error(
        "{} is {found} bytes long and should be {wanted}; restore the file or build it anew",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Length in bytes.
        found: u64,
        /// Length in bytes by the header; at least one whole header.
        wanted: u64,
    },
    /// The table is of another code of draughts than asked for.
    #[error(
        "{} is a table of {found}, not of {wanted}; move it to the directory of its own code",
        path.display()
    )]
    OtherVariant {
        /// The file.
        path: PathBuf,
        /// The code in the file.
        found: Variant,
        /// The code asked for.
        wanted: Variant,
    },
    /// The table holds another material or metric than its name says.
    #[error(
        "{} holds {found_material}.{found_metric}, not {material}.{metric}; give the file its \
         right name or build it anew", path.display()
    )]
    OtherTable {
        /// The file.
        path: PathBuf,
        /// The material in the file.
        found_material: Material,
        /// The metric in the file.
        found_metric: Metric,
        /// The material asked for.
        material: Material,
        /// The metric asked for.
        metric: Metric,
    },
    /// The table was built when the program understood the rules of the code differently.
    #[error(
        "{} was built under other rules of {variant} ({found:016x}, now {wanted:016x}); build it \
         anew", path.display()
    )]
    OtherRules {
        /// The file.
        path: PathBuf,
        /// The code.
        variant: Variant,
        /// Fingerprint in the file.
        found: u64,
        /// Fingerprint of the rules as they are.
        wanted: u64,
    },
    /// Some bytes behind the header are damaged.
    #[error(
        "{} is damaged in {part} ({what}); restore the file or build it anew", path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The section or block.
        part: String,
        /// What was noticed.
        what: &'static str,
    },
    /// A block, side or metric was asked for that the table does not have.
    #[error("{} has no {what}", path.display())]
    NotStored {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        what: String,
    },
    /// Values that do not fit the material were to be written.
    #[error("cannot write a table of {material}: {what}")]
    Input {
        /// The material.
        material: Material,
        /// What does not fit.
        what: &'static str,
    },
    /// The material cannot be numbered.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A work file cannot be made.
    #[error(
        "cannot take {bytes} bytes for a work file in {}; free some space there", dir.display()
    )]
    WorkFile {
        /// The directory.
        dir: PathBuf,
        /// Bytes asked for.
        bytes: u64,
        /// The reason.
        source: io::Error,
    },
    /// A slice does not fit into memory.
    #[error("not enough memory for {bytes} bytes of values of {}", path.display())]
    OutOfMemory {
        /// The file.
        path: PathBuf,
        /// Bytes asked for.
        bytes: u64,
    },
}

/// Results of this crate.
pub(crate) type Result<T> = std::result::Result<T, Error>;
