//! What can go wrong while solving.

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
    /// The positions of the material cannot be numbered.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}
