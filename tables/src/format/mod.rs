//! The file format, version 1; docs/format.md is its norm.

pub mod header;
pub(crate) mod raw;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dambase_rules::Variant;

use crate::material::Material;

/// The version of the format that this crate writes and reads.
pub const VERSION: u16 = 1;

/// What a table says of its positions. The numbers are those of the file format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Metric {
    /// Win, loss or draw.
    Wld = 0,
    /// Plies to the end of the game.
    Dtw = 1,
    /// The value under the draw limits, with the plies of the running clock that are needed.
    Dtz = 2,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 3] = [Self::Wld, Self::Dtw, Self::Dtz];

    /// The name on the command line and the extension of the files: `wld`, `dtw` or `dtz`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wld => "wld",
            Self::Dtw => "dtw",
            Self::Dtz => "dtz",
        }
    }
    /// The metric with a number of the file format.
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::Wld),
            1 => Some(Self::Dtw),
            2 => Some(Self::Dtz),
            _ => None,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no metric.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown metric \"{0}\"; known are: wld, dtw, dtz")]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;
    fn from_str(s: &str) -> Result<Self, UnknownMetric> {
        let wanted = s.trim();
        Self::ALL
            .into_iter()
            .find(|m| m.name().eq_ignore_ascii_case(wanted))
            .ok_or_else(|| UnknownMetric(s.to_owned()))
    }
}

/// Where a table stands in a directory of tables: `<dir>/<variant>/<material>.<metric>`.
#[must_use]
pub fn table_path(dir: &Path, variant: Variant, material: Material, metric: Metric) -> PathBuf {
    dir.join(variant.name())
        .join(format!("{material}.{metric}"))
}

/// The material and metric named by the last part of a table's path; nothing for other files,
/// the temporary ones of unfinished tables among them.
#[must_use]
pub fn parse_name(path: &Path) -> Option<(Material, Metric)> {
    let (material, metric) = path.file_name()?.to_str()?.split_once('.')?;
    let found: (Material, Metric) = (material.parse().ok()?, metric.parse().ok()?);
    (format!("{}.{}", found.0, found.1) == format!("{material}.{metric}")).then_some(found)
}
