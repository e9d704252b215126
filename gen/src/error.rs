//! What can go wrong while solving.

use std::io;
use std::path::PathBuf;

use dambase_rules::Variant;
use dambase_tables::{Material, TooLarge};

/// Why a material could not be solved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody asked to stop.
    #[error(
        "stopped before the material was finished; the same command goes on from the last finished table"
    )]
    Interrupted,
    /// A table that a capture or a crowning leads to is not in the store.
    #[error("{material} cannot be solved before {needed}; solve that first")]
    MissingTable {
        /// What was to be solved.
        material: Material,
        /// What has to be there.
        needed: Material,
    },
    /// A table in the store has no distances, and distances were asked for.
    #[error(
        "the distances of {material} need those of {needed}, which has none; solve it with distances first"
    )]
    MissingDistances {
        /// What was to be solved.
        material: Material,
        /// What has no distances.
        needed: Material,
    },
    /// The material is not the one of its mirrored pair that is stored.
    #[error("{0} is stored as its mirror image {mirror}; solve that", mirror = .0.mirrored())]
    NotCanonical(Material),
    /// The code has no king run.
    #[error("{0} has no king run; solve it without")]
    NoKingRun(Variant),
    /// A table in the store was solved without the king run.
    #[error("the table of {0} does not know the king run; solve it with the king run first")]
    NoRuns(Material),
    /// The positions of the material cannot be numbered.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] dambase_tables::Error),
    /// A table is there already and cannot be used.
    #[error("a table that is there cannot be used")]
    Unusable(#[source] dambase_tables::Error),
    /// A table that is there has one side to move only.
    #[error("{} is part of an archive: it has one side to move only", path.display())]
    Archived {
        /// The file.
        path: PathBuf,
    },
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
    /// The place for the tables is something else than a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another build writes to the directory.
    #[error("another build{} is writing to {}", process(*by), path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The number of its process, if it left one.
        by: Option<u32>,
    },
    /// More memory is needed than there is.
    #[error("{} of memory are needed, {} may be taken", size(*needed), size(*available))]
    Memory {
        /// Bytes needed, an estimate.
        needed: u64,
        /// Bytes that may be taken.
        available: u64,
    },
    /// More memory is needed than there is, though everything that can goes through work files.
    #[error(
        "{} of memory are needed beside work files, {} may be taken",
        size(*needed), size(*available)
    )]
    LeastMemory {
        /// Bytes needed, an estimate.
        needed: u64,
        /// Bytes that may be taken.
        available: u64,
    },
    /// More disk is needed than there is.
    #[error(
        "{} of disk are needed{}, {} are free in {}",
        size(*needed), of_work_files(*work_files), size(*available), path.display()
    )]
    Disk {
        /// The directory.
        path: PathBuf,
        /// Bytes needed, an estimate.
        needed: u64,
        /// Those of them that are for work files.
        work_files: u64,
        /// Bytes free.
        available: u64,
    },
    /// The proof of a material that was just solved has failed.
    #[error("the values of {material} are wrong: {what}; please report this")]
    Unsound {
        /// The material.
        material: Material,
        /// The first fault.
        what: String,
    },
    /// A table is there already that was built with the king run, or without, and is to be used
    /// with others that were not.
    #[error(
        "{} was built {} the king run", path.display(), if *king_run { "with" } else { "without" }
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// Whether it was built with the king run.
        king_run: bool,
    },
    /// A table under the draw limits is there already, but under other limits.
    #[error(
        "{} was built under other draw limits ({found} instead of {wanted})", path.display()
    )]
    OtherLimits {
        /// The file.
        path: PathBuf,
        /// The limits it was built under.
        found: String,
        /// The limits asked for.
        wanted: String,
    },
    /// The positions of a material differ too much in what they need of several clocks.
    #[error(
        "the positions of {material} need {found} different combinations of plies on the clocks that \
         run at once; a table can have {most}"
    )]
    TooManyNeeds {
        /// The material.
        material: Material,
        /// Different lists of combinations.
        found: usize,
        /// What a table can have.
        most: usize,
    },
    /// The directory to write to is the one that is read.
    #[error("{} cannot be written while it is read", path.display())]
    SameDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// What comes out of an archive is not what its header counts.
    #[error("the values of {0} do not agree with the counts in the header of the archive")]
    Counts(Material),
    /// The threads to work with cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
}

fn of_work_files(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!(" ({} of them for work files)", size(bytes)),
    }
}

fn process(by: Option<u32>) -> String {
    by.map_or_else(String::new, |n| format!(" (process {n})"))
}

fn size(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().iec().to_string()
}
