//! What an endgame table is.
//!
//! - [`Material`]: what stands on the board; only one of two colour-mirrored materials is stored.
//! - [`Index`]: the dense numbering of the positions of a material.
//! - [`Wld`], [`Dtw`], [`Value`]: what is known of a position, and arrays of it.
#![deny(unsafe_code)]

pub mod index;
pub mod material;
pub mod value;

pub use index::{Index, TooLarge};
pub use material::{Material, Placed, canonical};
pub use value::{Dtw, DtwArray, Value, Wld, WldArray};
