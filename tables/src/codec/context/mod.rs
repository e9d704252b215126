//! The context codec for win, loss and draw.
//!
//! A slice is cut into tiles ([`layout`]): all placements of two pieces in two small parts of the
//! board, times all squares of a third piece, which make the rows. A row is predicted from the
//! rows beside it in the tile; one decision says whether it is just as predicted, otherwise its
//! squares are coded one by one with static probabilities that depend on the prediction around
//! them (`model`), by a binary range coder (`coder`). Positions in which the side to move must
//! capture are not coded ([`captures`]). docs/format.md states all of it for readers in other
//! languages.

pub mod captures;
pub(crate) mod coder;
pub(crate) mod decode;
pub(crate) mod directory;
pub(crate) mod encode;
pub mod layout;
pub(crate) mod model;
pub(crate) mod rows;

pub(crate) use captures::capture_squares;
pub(crate) use decode::Kept;
pub use decode::{BadChunk, Rows, SliceDecoder};
pub use encode::{Encoded, Limits, encode, encode_shaped};
pub use layout::{Kind, Layout, Place, Shape};
