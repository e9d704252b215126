//! Lists directories and reads headers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use dambase_rules::Variant;
use dambase_tables::format::parse_name;
use dambase_tables::{Material, Metric, Table};

use crate::error::{Error, Result};
use crate::slot::{Slot, Source};

/// The files found so far.
pub(crate) struct Found {
    variant: Variant,
    slots: BTreeMap<Material, Slot>,
    issues: Vec<Error>,
}

impl Found {
    pub(crate) fn new(variant: Variant) -> Self {
        Self {
            variant,
            slots: BTreeMap::new(),
            issues: Vec::new(),
        }
    }

    /// Adds the tables in `<dir>/<variant>`.
    pub(crate) fn list(&mut self, dir: &Path) -> Result<()> {
        let there = fs::metadata(dir).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::NoDirectory {
                path: dir.to_owned(),
            },
            ErrorKind::NotADirectory => Error::NotADirectory {
                path: dir.to_owned(),
            },
            _ => Error::io(dir, e),
        })?;
        if !there.is_dir() {
            return Err(Error::NotADirectory {
                path: dir.to_owned(),
            });
        }
        let dir = dir.join(self.variant.name());
        let files = match fs::read_dir(&dir) {
            Ok(files) => files,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(e) => return Err(Error::io(&dir, e)),
        };
        let mut named = Vec::new();
        for file in files {
            let path = file.map_err(|e| Error::io(&dir, e))?.path();
            if let Some((material, metric)) = parse_name(&path) {
                named.push((material, metric, path));
            }
        }
        // The order in which a system lists files must not matter.
        named.sort();
        for (material, metric, path) in named {
            self.add(material, metric, &path);
        }
        Ok(())
    }

    fn add(&mut self, material: Material, metric: Metric, path: &Path) {
        let table = self.table(material, metric, path);
        if let Err(e) = &table {
            self.issues.push(e.clone());
        }
        // A file with the name of a mirrored material is an issue, but stands for no table.
        if !material.is_canonical() {
            return;
        }
        let geometry = self.variant.rules().geometry;
        let slot = match self.slots.entry(material) {
            Entry::Occupied(e) => e.into_mut(),
            Entry::Vacant(e) => match Slot::new(geometry, material) {
                Ok(slot) => e.insert(slot),
                // Its header has been refused for the same reason.
                Err(_) => return,
            },
        };
        let Some(place) = slot.source_mut(metric) else {
            return;
        };
        // The first good file of a table is used, or the first bad one if none is good; a file
        // that knows the king run before one that does not.
        let worth = |table: &Result<Table>| match table {
            Ok(t) if t.header().lacks_king_run() => 1,
            Ok(_) => 2,
            Err(_) => 0,
        };
        let old = place.as_ref().map(|old| worth(&old.table));
        if old.is_none_or(|old| old < worth(&table)) {
            *place = Some(Source::new(path.to_owned(), table));
        }
    }

    /// A file, if it is the table that its name says.
    fn table(&self, material: Material, metric: Metric, path: &Path) -> Result<Table> {
        let table = Table::open(path)?;
        table.expect(self.variant, material, metric)?;
        Ok(table)
    }

    /// The materials found, in order, and what is wrong with files.
    pub(crate) fn into_slots(self) -> (Vec<Slot>, Vec<Error>) {
        (self.slots.into_values().collect(), self.issues)
    }
}

/// Whether the tables know the king run of the code. If some do, or there are none, positions are
/// numbered with it, and the tables that do not are refused.
pub(crate) fn king_run_of(variant: Variant, slots: &mut [Slot], issues: &mut Vec<Error>) -> bool {
    let rules = variant.rules();
    let Some(scope) = rules.king_run else {
        return false;
    };
    let good = slots.iter_mut().flat_map(Slot::sources_mut);
    let good = good.filter_map(|s| s.table.as_ref().ok());
    let knows: Vec<_> = good.map(|t| t.header().king_run).collect();
    if !knows.is_empty() && !knows.contains(&true) {
        return false;
    }
    for slot in slots {
        for source in slot.sources_mut() {
            if source.table.as_ref().is_ok_and(|t| !t.header().king_run) {
                let e = Error::WithoutRun {
                    path: source.path.clone(),
                };
                source.table = Err(e.clone());
                issues.push(e);
            }
        }
        // Headers of tables whose positions cannot be numbered have been refused, so that what
        // stays as it was is never asked.
        let _ = slot.with_runs(rules.geometry, scope);
    }
    true
}
