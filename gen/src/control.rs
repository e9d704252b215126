//! Progress of a running solver, and the wish to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Error;

/// Shared between a solver and whoever watches it.
#[derive(Debug, Default)]
pub struct Control {
    positions: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Control {
    /// Nothing done, no wish to stop.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// For work that is to stop with this one and whose positions do not count.
    #[must_use]
    pub fn uncounted(&self) -> Self {
        Self {
            positions: AtomicU64::new(0),
            stop: Arc::clone(&self.stop),
        }
    }
    /// Stored positions finished so far, over all materials.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.positions.load(Ordering::Relaxed)
    }
    /// Adds finished positions.
    pub fn add(&self, positions: u64) {
        self.positions.fetch_add(positions, Ordering::Relaxed);
    }
    /// Asks the solver to give up; it returns [`Error::Interrupted`] soon after.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    /// Whether somebody asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// # Errors
    /// [`Error::Interrupted`] if somebody asked to stop.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_stopped() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }
}
