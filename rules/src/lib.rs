//! The rules of fourteen codes of draughts, and of a few named variations of them.
//!
//! A code is one constant of type [`Rules`] ([`codes`]); nothing else in the workspace knows how a
//! game is played. Code that has to be fast is generic over the marker trait [`Ruleset`] and is
//! chosen once with [`Variant::with`]; everything else takes a [`Variant`] and a [`Position`].
//!
//! ```
//! use dambase_rules::{Position, Variant};
//!
//! let position = Position::parse(Variant::Russian, "W:WK3:BK10,K25")?;
//! let moves = position.legal_moves();
//! assert!(moves.iter().all(|m| m.is_capture()));
//! # Ok::<(), dambase_rules::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod bits;
pub mod board;
pub mod clocks;
pub mod codes;
pub mod fen;
pub mod geometry;
pub mod limits;
pub mod movegen;
pub mod position;
pub mod ruleset;
pub mod variant;

mod error;
mod notation;
mod perft;

pub use bits::Bits;
pub use board::{Board, Move, Side};
pub use clocks::{ClockRun, Clocks};
pub use error::{Error, FenError, IllegalPosition};
pub use geometry::Geometry;
pub use limits::{Limit, LimitError, LimitSet};
pub use movegen::MoveList;
pub use perft::{divide, perft, perft_paths};
pub use position::{Position, Run};
pub use ruleset::{Rules, Ruleset, WithRuleset};
pub use variant::{UnknownVariant, Variant, marker};
