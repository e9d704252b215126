//! What an endgame table is.
//!
//! - [`Material`]: what stands on the board; only one of two colour-mirrored materials is stored.
//! - [`Index`]: the dense numbering of the positions of a material.
//! - [`RunIndex`]: the same with the Frisian king run in the position.
//! - [`Wld`], [`Dtw`], [`Value`]: what is known of a position, and arrays of it.
//! - [`LargeArray`]: where such arrays are, in memory or in work files ([`Backing`]).
//! - [`write_wld`], [`write_dtw`], [`write_dtz`], [`Table`]: files of values, laid out as docs/format.md says.
#![deny(unsafe_code)]
// Counts of positions do not fit in 32 bits: every cast to a narrower type says why it may be one.
#![cfg_attr(
    not(test),
    warn(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod backing;
pub mod format;
pub mod index;
pub mod kingrun;
pub mod material;
pub mod needs;
pub mod rule;
pub mod value;

mod boards;
pub mod codec;
pub mod cpu;
mod error;
mod map;
mod narrow;
mod output;
mod reader;
mod writer;

pub use backing::{Backing, LargeArray};
pub use error::Error;
pub use format::header::{Codec, Header, Longest, NoRuns, Section, SliceHeader, SliceStats};
pub use format::{Metric, table_path};
pub use index::{Index, TooLarge};
pub use kingrun::{RunIndex, canonical_with_runs};
pub use material::{Material, Placed, canonical};
pub use reader::{BlockId, DecodedBlock, Scratch, Table};
pub use rule::{Dtz, DtzArray, RuleValue};
pub use value::{Dtw, DtwArray, Value, Wld, WldArray};
pub use writer::{
    WriteOptions, mark_verified, write_archive, write_dtw, write_dtz, write_needs, write_wld,
};
