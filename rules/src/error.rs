//! What can be wrong with a position given from outside.

use crate::board::Side;
use crate::limits::LimitError;
use crate::variant::UnknownVariant;

/// Any error of this crate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No code has that name.
    #[error(transparent)]
    Variant(#[from] UnknownVariant),
    /// The text is no FEN.
    #[error("malformed FEN: {0}")]
    Fen(#[from] FenError),
    /// The FEN is well formed, but its position cannot occur.
    #[error("illegal position: {0}")]
    Position(#[from] IllegalPosition),
    /// A draw limit or its clock is not as it can be.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

impl Error {
    /// The stable code of the command line's JSON.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Variant(_) => "unknown-variant",
            Self::Fen(_) => "bad-fen",
            Self::Position(_) => "illegal-position",
            Self::Limit(_) => "bad-limit",
        }
    }
}

/// Where and why a text is no FEN.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} at column {column}")]
pub struct FenError {
    /// What was expected or found.
    pub what: String,
    /// Position in the text, counted in characters from 1.
    pub column: usize,
}

/// Why a placement of pieces is no position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IllegalPosition {
    /// Two pieces stand on one square.
    #[error("square {square} is occupied twice")]
    Overlap {
        /// House number of the square.
        square: u8,
    },
    /// A square that the board does not have.
    #[error("square {square} is off the board, which has squares 1 to {squares}")]
    OffBoard {
        /// The number given.
        square: u64,
        /// Squares of the board.
        squares: u8,
    },
    /// A man stands where it would have been crowned.
    #[error("a {} man stands on its crowning row (square {square})", side.name())]
    ManOnCrownRow {
        /// Whose man.
        side: Side,
        /// House number of the square.
        square: u8,
    },
    /// More pieces than the side had at the start.
    #[error("{} has {count} pieces, more than the {most} of the start position", side.name())]
    TooManyPieces {
        /// Whose pieces.
        side: Side,
        /// How many there are.
        count: u32,
        /// How many there were at the start.
        most: u32,
    },
    /// The side that has just moved has no pieces.
    #[error("{} has no pieces although it has just moved", side.name())]
    NoPieces {
        /// The side without pieces.
        side: Side,
    },
    /// A king that cannot occur because crowning ends the game.
    #[error("both sides have kings although the first crowning ends the game")]
    KingsAfterTheEnd,
    /// A king run in a code without one.
    #[error("{variant} has no king run")]
    RunUnknown {
        /// The code.
        variant: &'static str,
    },
    /// A king run of a square without a king of that side.
    #[error("the king run of {} names square {square}, where it has no king", side.name())]
    RunWithoutKing {
        /// Whose run.
        side: Side,
        /// House number of the square.
        square: u8,
    },
    /// A king run of a length that does not exist.
    #[error("a king run has 1 to 3 moves, not {count}")]
    RunLength {
        /// The length given.
        count: u64,
    },
}
