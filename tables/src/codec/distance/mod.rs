//! The distance codec for plies to the end and for values under the draw limits.
//!
//! It cuts a slice into the tiles of the context codec
//! ([`layout`](super::context::layout)). A value is a *class* (draw, win, loss) and a *number*
//! that grows with the distance; parity is not coded where the rules imply it ([`key`]). Of two
//! slices one may *depend* on the other: the moves of the piece that makes the rows lead, in the
//! row of the other side to move, to values already known, and the best of them is the
//! prediction ([`hints`]). Otherwise rows are predicted from rows beside them in the tile. What
//! differs from the prediction is coded by binary decisions ([`rows`]), whose odds are sums of what
//! several small tables say of their surroundings ([`sums`]); the writer fits these to a sample
//! ([`train`]). docs/format-distance.md states all of it for readers in other languages.

mod decode;
mod encode;
mod hints;
mod key;
mod model;
mod rows;
mod sums;
mod train;

pub(crate) use decode::{DecodeChunk, Kept, Rows, SliceDecoder};
pub(crate) use encode::{Coded, Input, encode};
