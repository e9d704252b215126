//! What the benchmarks share.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Time that this thread has had of the processor, so that other work on the machine does not count;
/// or that has passed, where the system does not say.
#[must_use]
pub fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let passed = BEGIN.elapsed();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let taken = stat.ok().and_then(|s| s.split(' ').next()?.parse().ok());
    taken.map_or(passed, Duration::from_nanos)
}

/// [`processor_time`] in nanoseconds.
#[must_use]
pub fn nanoseconds() -> f64 {
    processor_time().as_nanos() as f64
}
