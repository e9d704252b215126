//! Look-ups in directories of endgame tables.
//!
//! [`Tablebase::open`] opens the tables of one code; [`Tablebase::probe_wld`] gives the value of
//! any legal position whose material is covered, [`Tablebase::probe`] the value with the distance
//! to the end of the game, [`Tablebase::moves`] every legal move with what it leads to, and
//! [`Tablebase::line`] best play; [`Tablebase::verdict`] says what the draw limits leave. Positions in which the side to move must capture are not stored
//! in tables; they are resolved here by playing the captures, so answers are exact for every
//! position.
//!
//! ```
//! use dambase_probe::{Dtw, Tablebase, Value, Variant, Wld};
//!
//! // Tables of two pieces that are part of this package.
//! let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
//! let tables = Tablebase::open(Variant::English, [dir])?;
//!
//! let position = tables.position("B:WK12:BK31")?;
//! assert_eq!(tables.probe_wld(&position)?, Wld::Win);
//! assert_eq!(tables.probe(&position)?, Value::Win(Dtw(11)));
//!
//! // Best play is as long as announced.
//! let best = tables.best_move(&position)?.expect("the game is not over");
//! assert_eq!(best.after.dtw, Some(Dtw(10)));
//! assert_eq!(tables.line(&position)?.steps.len(), 11);
//!
//! // Three pieces are more than these tables have.
//! let larger = tables.position("B:WK12:BK30,K31")?;
//! let error = tables.probe_wld(&larger).unwrap_err();
//! assert!(error.to_string().contains("english/KKvK.wld"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Values are for the side to move, distances are plies. A [`Tablebase`] is `Send + Sync` and is
//! asked through `&self`; see [`Scratch`] for the fastest look-ups.
#![deny(unsafe_code)]

mod cache;
mod coverage;
mod error;
mod lookup;
mod many;
mod measure;
mod moves;
mod open;
mod resident;
mod rule;
mod scratch;
mod slot;
mod tablebase;

pub use coverage::{Coverage, Covered};
pub use error::{Error, Result};
pub use moves::{Line, LineEnd, Outcome, Rated, Step};
pub use rule::{ClockNeed, RuledEnd, RuledLine, RuledMove, RuledStep, Verdict};
pub use scratch::Scratch;
pub use tablebase::{DEFAULT_CACHE_BYTES, Tablebase};

pub use dambase_rules::{
    Board, ClockRun, Clocks, LimitSet, Move, Position, Run, Side, Variant, marker,
};
pub use dambase_tables::{Dtw, Dtz, Material, Metric, RuleValue, Value, Wld};

/// The example in the README is compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
