//! What the machine has.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;

/// The budget of a build.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Memory {
    /// Memory that may be taken, for example 8GiB; what does not fit goes through work files in the
    /// directory [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = amount, allow_hyphen_values = true)]
    memory: Option<u64>,
}

impl Memory {
    /// In bytes.
    pub(super) fn bytes(self) -> u64 {
        self.memory.unwrap_or_else(available_memory)
    }
}

/// Bytes of memory that can be taken now: what the system and, on Linux, the control group leave.
/// Without limit if the system does not say.
pub(super) fn available_memory() -> u64 {
    let Ok(mut system) = sysinfo::System::new() else {
        return u64::MAX;
    };
    system.refresh_memory();
    let machine = system.available_memory();
    match system.cgroup_limits() {
        // Not its free memory, which leaves out what caches could give back.
        Some(group) => machine.min(group.total_memory.saturating_sub(group.rss)),
        None => machine,
    }
}

/// Bytes that can be written in a directory that need not exist yet; nothing if the system does
/// not say.
pub(super) fn available_disk(dir: &Path) -> Option<u64> {
    let absolute = std::path::absolute(dir).ok()?;
    let existing: PathBuf = absolute.ancestors().find(|p| p.exists())?.to_owned();
    // File systems that are none, such as /proc, have no space at all.
    let total = fs4::total_space(&existing).ok()?;
    (total > 0).then(|| fs4::available_space(&existing).ok())?
}

/// Reads an amount of memory: `8GiB`, `500MB`, or plain bytes.
pub(super) fn amount(s: &str) -> Result<u64, String> {
    match s.parse::<ByteSize>() {
        Ok(ByteSize(0)) | Err(_) => Err("give an amount like 8GiB or 500MB".to_owned()),
        Ok(ByteSize(n)) => Ok(n),
    }
}
