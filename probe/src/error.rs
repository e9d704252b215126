//! What can go wrong in a look-up.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dambase_rules::{IllegalPosition, LimitSet, Position, Variant};
use dambase_tables::{Material, Metric, table_path};

/// Any error of this crate. Errors are cheap to clone: a damaged table gives the same error to
/// every look-up that needs it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory to open does not exist.
    #[error("cannot open the tables in {}: there is no such directory", path.display())]
    NoDirectory {
        /// The path given.
        path: PathBuf,
    },
    /// The path to open is something else than a directory.
    #[error("cannot open the tables in {}: it is not a directory", path.display())]
    NotADirectory {
        /// The path given.
        path: PathBuf,
    },
    /// A directory could not be listed.
    #[error("cannot read {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A table that the answer needs is in none of the directories.
    #[error(
        "there is no table {}{}; build it, or add the directory that has it",
        table_path(Path::new(""), *variant, *material, *metric).display(),
        needed(*needed_by)
    )]
    MissingTable {
        /// The code.
        variant: Variant,
        /// The material of the table, in the stored one of its two mirrored forms.
        material: Material,
        /// What it would hold.
        metric: Metric,
        /// The larger material that was asked for, if a capture led to the one that is missing.
        needed_by: Option<Material>,
    },
    /// The position has more pieces than may be looked up.
    #[error("{pieces} pieces are more than the {most} that may be looked up")]
    TooManyPieces {
        /// Pieces of the position.
        pieces: u8,
        /// What [`crate::Tablebase::set_most_pieces`] allows.
        most: u8,
    },
    /// A table could not be read, or must not be: the file's own error, which names it.
    #[error(transparent)]
    Table(Arc<dambase_tables::Error>),
    /// A table was built under other draw limits than the rest.
    #[error(
        "{} was built under other draw limits than {limits}, which the other tables have",
        path.display()
    )]
    OtherLimits {
        /// The file.
        path: PathBuf,
        /// The limits of the other tables.
        limits: LimitSet,
    },
    /// A table was built without the king run, others with it.
    #[error(
        "{} was built without the king run, which other tables have; build it anew, or keep such \
         tables in another directory",
        path.display()
    )]
    WithoutRun {
        /// The file.
        path: PathBuf,
    },
    /// The position is of another code than the tables.
    #[error("the tables are of {tables}, the position is of {position}")]
    OtherVariant {
        /// The code of the tables.
        tables: Variant,
        /// The code of the position.
        position: Variant,
    },
    /// The placement is no position.
    #[error("illegal position: {0}")]
    IllegalPosition(#[from] IllegalPosition),
    /// A king run is pending, and the tables were solved without king runs.
    #[error(
        "the tables of {variant} do not know king runs, and one is pending; ask for the position \
         without it"
    )]
    RunNotCovered {
        /// The code.
        variant: Variant,
    },
    /// Distances that no game has: best play would not bring the end nearer.
    #[error(
        "the tables contradict each other: the best move in {} does not bring the end nearer; \
         check them with dambase verify",
        position.fen()
    )]
    Contradiction {
        /// The position.
        position: Box<Position>,
    },
}

fn needed(by: Option<Material>) -> String {
    by.map_or_else(String::new, |m| {
        format!(", to which a capture in {m} leads")
    })
}

impl Error {
    /// The stable code of the command line's JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoDirectory { .. } | Self::NotADirectory { .. } => "no-directory",
            Self::Io { .. } => "io",
            Self::MissingTable { .. } => "missing-table",
            Self::TooManyPieces { .. } => "too-many-pieces",
            Self::Table(e) => of_table(e),
            Self::Contradiction { .. } => "corrupt",
            Self::OtherLimits { .. } => "other-limits",
            Self::WithoutRun { .. } => "other-run",
            Self::OtherVariant { .. } => "other-variant",
            Self::IllegalPosition(_) => "illegal-position",
            Self::RunNotCovered { .. } => "unsupported",
        }
    }
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }
}

fn of_table(e: &dambase_tables::Error) -> &'static str {
    use dambase_tables::Error as E;
    match e {
        E::Io { .. } => "io",
        E::NotATable { .. }
        | E::HeaderChecksum { .. }
        | E::Header { .. }
        | E::Length { .. }
        | E::Corrupt { .. } => "corrupt",
        E::OutOfMemory { .. } => "memory",
        _ => "unsupported",
    }
}

impl From<dambase_tables::Error> for Error {
    fn from(e: dambase_tables::Error) -> Self {
        Self::Table(Arc::new(e))
    }
}

/// The result of a look-up.
pub type Result<T, E = Error> = std::result::Result<T, E>;
