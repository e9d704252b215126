//! The tables that are there, and what to do where there are none.

use std::path::{Path, PathBuf};

use dambase_gen::Error;
use dambase_gen::verify::Listing;
use dambase_rules::Variant;
use dambase_tables::{Material, Metric, table_path};

use super::failure::{Failure, chain};

/// The directory that needs no `--dir`.
const DEFAULT: &str = "egdb";

/// The files of a code, tables among them; `cannot` begins what is said if there are none.
pub(super) fn tables(dir: &Path, variant: Variant, cannot: &str) -> Result<Listing, Failure> {
    let inside = dir.join(variant.name());
    match Listing::read(dir, variant) {
        Ok(listing) if !listing.tables.is_empty() => Ok(listing),
        Err(e) if inside.is_dir() => Err(Failure::failed(
            format!("{cannot}: {}", chain(&e)),
            "check that the directory can be read",
        )),
        _ => {
            let (shown, name) = (dir.display(), variant.name());
            let why = if !dir.exists() {
                format!("there is no directory {shown}")
            } else if !dir.is_dir() {
                format!("{shown} is not a directory")
            } else {
                format!("there are no tables of {name} in {shown}")
            };
            Err(Failure::failed(
                format!("{cannot}: {why}"),
                none_help(dir, variant),
            ))
        }
    }
}

/// What to do where a directory has no tables of a code.
fn none_help(dir: &Path, variant: Variant) -> String {
    match above(dir) {
        Some(dir) => format!(
            "these are the tables themselves; give the directory above them: --dir {}",
            quoted(&dir)
        ),
        None => format!(
            "give the directory that has {variant}/ in it with --dir, or run dambase build {variant}"
        ),
    }
}

/// The directory to give instead of one that is itself the directory of a code.
pub(super) fn above(dir: &Path) -> Option<PathBuf> {
    let name = dir.file_name()?.to_str()?;
    let variant = Variant::ALL.iter().find(|v| v.name() == name)?;
    let up = match dir.parent() {
        Some(up) if up != Path::new("") => up.to_owned(),
        _ => PathBuf::from("."),
    };
    let listing = Listing::read(&up, *variant).ok()?;
    (!listing.tables.is_empty()).then_some(up)
}

/// What to do about a table that is in none of the directories: the command that builds it.
pub(super) fn missing_help(
    dirs: &[PathBuf],
    variant: Variant,
    material: Material,
    metric: Metric,
) -> String {
    if let Some(up) = dirs.iter().find_map(|d| above(d)) {
        return format!(
            "--dir must be the directory above those of the codes: --dir {}",
            quoted(&up)
        );
    }
    let dir = dirs.first().map_or(Path::new(DEFAULT), PathBuf::as_path);
    let mut command = format!("dambase build {variant} --only {material}");
    // Whoever has tables with distances wants them of this material too.
    let has = |metric| Listing::read(dir, variant).is_ok_and(|l| has_metric(&l, metric));
    let metrics = match (has(Metric::Wld), has(Metric::Dtw), metric) {
        (wld, true, Metric::Dtz) => Some(if wld { "wld,dtw,dtz" } else { "dtw,dtz" }),
        (_, _, Metric::Dtz) => Some("wld,dtz"),
        (true, false, _) => Some("wld"),
        _ => None,
    };
    if let Some(metrics) = metrics {
        command.push_str(&format!(" --metric {metrics}"));
    }
    if dir != Path::new(DEFAULT) {
        command.push_str(&format!(" --dir {}", quoted(dir)));
    }
    format!("build it with {command}, or add the directory that has it with --dir")
}

fn has_metric(listing: &Listing, metric: Metric) -> bool {
    listing.tables.values().any(|m| m.contains(&metric))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The file that a table of this code, material and metric must be, below the directory.
pub(super) fn name(variant: Variant, material: Material, metric: Metric) -> PathBuf {
    table_path(Path::new(""), variant, material, metric)
}

/// What went wrong with a directory that tables are to be written to.
pub(super) fn write_help(e: &Error) -> Option<String> {
    match e {
        Error::Io { action, path, .. } if *action == "create" => Some(format!(
            "check that {} can be made and written, or give another directory",
            path.display()
        )),
        Error::Table(dambase_tables::Error::Io { action, path, .. })
            if !matches!(*action, "open" | "read") =>
        {
            Some(format!(
                "check that {} can be written and has space",
                path.parent().unwrap_or(path).display()
            ))
        }
        _ => None,
    }
}
