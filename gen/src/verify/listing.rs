//! What is in a directory of tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dambase_rules::Variant;
use dambase_tables::backing::is_work_file;
use dambase_tables::{Material, Metric, Table, table_path};

use crate::Error;

/// The name of the file that a builder locks.
pub const LOCK_NAME: &str = ".lock";

/// The files of one code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// The tables, by canonical material, metrics in order.
    pub tables: BTreeMap<Material, Vec<Metric>>,
    /// Everything else, by name.
    pub others: Vec<Other>,
}

/// A file that is no table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Other {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: OtherKind,
}

/// What a file that is no table is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OtherKind {
    /// The lock of a builder.
    Lock,
    /// An unfinished table, or a work file.
    Temporary,
    /// It ends like a table but names no canonical material.
    BadName,
    /// Anything else.
    Foreign,
}

impl Listing {
    /// Lists `<dir>/<variant>`.
    ///
    /// # Errors
    /// [`Error::Io`] naming the directory.
    pub fn read(dir: &Path, variant: Variant) -> Result<Self, Error> {
        let dir = dir.join(variant.name());
        let io = |source| Error::Io {
            action: "list",
            path: dir.clone(),
            source,
        };
        let mut listing = Self::default();
        for entry in std::fs::read_dir(&dir).map_err(io)? {
            let path = entry.map_err(io)?.path();
            match classify(&path) {
                Ok((material, metric)) => listing.tables.entry(material).or_default().push(metric),
                Err(kind) => listing.others.push(Other { path, kind }),
            }
        }
        listing.tables.values_mut().for_each(|m| m.sort());
        listing.others.sort();
        Ok(listing)
    }

    /// Whether positions have king runs: if any table of the code in `dir` says so.
    #[must_use]
    pub fn king_run(&self, dir: &Path, variant: Variant) -> bool {
        let knows = |path| Table::open(path).is_ok_and(|t| t.header().king_run);
        variant.rules().king_run.is_some()
            && self.tables.iter().any(|(&material, metrics)| {
                let paths = metrics
                    .iter()
                    .map(|&k| table_path(dir, variant, material, k));
                paths.into_iter().any(knows)
            })
    }

    /// Whether a table is there.
    #[must_use]
    pub fn has(&self, material: Material, metric: Metric) -> bool {
        let metrics = self.tables.get(&material);
        metrics.is_some_and(|m| m.contains(&metric))
    }
}

fn classify(path: &Path) -> Result<(Material, Metric), OtherKind> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    if name == LOCK_NAME {
        return Err(OtherKind::Lock);
    }
    if is_temporary(name) || is_work_file(path) {
        return Err(OtherKind::Temporary);
    }
    match dambase_tables::format::parse_name(path) {
        Some((material, metric)) if material.is_canonical() => Ok((material, metric)),
        Some(_) => Err(OtherKind::BadName),
        None => {
            let extension = path.extension().and_then(|e| e.to_str());
            Err(match extension.map(str::parse::<Metric>) {
                Some(Ok(_)) => OtherKind::BadName,
                _ => OtherKind::Foreign,
            })
        }
    }
}

/// Whether a name is one that an unfinished table has: `.<table>.tmp-<process>`.
fn is_temporary(name: &str) -> bool {
    let Some((table, process)) = name.strip_prefix('.').and_then(|n| n.rsplit_once(".tmp-")) else {
        return false;
    };
    process.bytes().all(|b| b.is_ascii_digit())
        && dambase_tables::format::parse_name(Path::new(table)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        let kind = |name: &str| classify(Path::new(name));
        let m: Material = "KMvM".parse().unwrap();
        assert_eq!(kind("a b/KMvM.wld"), Ok((m, Metric::Wld)));
        assert_eq!(kind("MvKM.wld"), Err(OtherKind::BadName));
        assert_eq!(kind("MKvM.dtw"), Err(OtherKind::BadName));
        assert_eq!(kind(".KMvM.dtw.tmp-12"), Err(OtherKind::Temporary));
        assert_eq!(kind(".work-12-3"), Err(OtherKind::Temporary));
        assert_eq!(kind(".lock"), Err(OtherKind::Lock));
        assert_eq!(kind("README"), Err(OtherKind::Foreign));
        assert_eq!(kind(".x.tmp-1"), Err(OtherKind::Foreign));
    }
}
