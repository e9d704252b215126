//! The solver: exact values of every position of a material, from the finished tables of smaller
//! ones.
//!
//! - [`scalar::solve`]: the block-local retrograde solver, one position at a time. It stays for
//!   ever as the reference.
//! - [`setwise::solve`]: the same arrays, found for all squares of a king at a time.
//! - [`kingrun::solve`]: the solver for positions with the Frisian king run.
//! - [`limits::solve`]: the same values under the draw limits, with the plies of the clock that
//!   are needed.
//! - [`Store`]: finished materials in memory, where the solvers look up what captures and
//!   crownings lead to.
//! - [`Control`]: progress, and the wish to stop.
//! - [`plan`], [`build`], [`verify`]: what is solved in which order, the tables of a directory,
//!   and their proof.
//! - [`spill`]: what of a build goes through work files.
//! - [`archive`]: tables with one side to move for keeping and sending, and back.
#![deny(unsafe_code)]

pub mod archive;
pub mod build;
pub mod control;
pub mod error;
pub mod kingrun;
pub mod limits;
mod parallel;
pub mod plan;
pub mod scalar;
pub mod setwise;
pub mod spill;
pub mod stats;
pub mod store;
pub mod verify;

pub use control::Control;
pub use error::Error;
pub use store::{Solved, Store};
