//! `dambase info`: what files say of themselves.

use std::path::{Path, PathBuf};

use clap::Args;
use dambase_rules::Variant;
use dambase_tables::{Header, SliceHeader, Table};
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::json::NoRunsJson;
use super::output::Output;
use super::position::plies;
use super::{count, grouped, size};

const EXAMPLES: &str = "\
Examples:
  dambase info egdb
  dambase info egdb/english/KKvK.wld --json";

/// Show what tables say of themselves: headers, sizes, bits per position
///
/// Only headers are read; `dambase verify` checks the rest.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Info {
    /// A table, a directory of one code, or a directory of tables
    path: PathBuf,
    /// Print one JSON object for each table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TableJson {
    file: String,
    variant: &'static str,
    material: String,
    metric: &'static str,
    bytes: u64,
    positions: u64,
    bits_per_position: f64,
    verified: bool,
    on_unverified: bool,
    king_run: bool,
    rules_hash: String,
    generator: String,
    verifier: String,
    slices: Vec<SliceJson>,
}

#[derive(Serialize)]
struct SliceJson {
    side: &'static str,
    codec: &'static str,
    block_positions: u32,
    blocks: u64,
    bytes: u64,
    dictionary_bytes: u64,
    bits_per_position: f64,
    positions: u64,
    wins: u64,
    losses: u64,
    draws: u64,
    captures: u64,
    decided: u64,
    max_dtw_win: Option<u16>,
    max_dtw_loss: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_runs: Option<NoRunsJson>,
}

#[derive(Serialize)]
struct FaultJson {
    file: String,
    error: String,
    code: &'static str,
}

impl TableJson {
    fn new(path: &Path, h: &Header) -> Self {
        Self {
            file: path.display().to_string(),
            variant: h.variant.name(),
            material: h.material.to_string(),
            metric: h.metric.name(),
            bytes: h.file_bytes,
            positions: h.positions(),
            bits_per_position: h.bits_per_position(),
            verified: h.verified,
            on_unverified: h.on_unverified,
            king_run: h.king_run,
            rules_hash: format!("{:016x}", h.rules_hash),
            generator: h.generator.clone(),
            verifier: h.verifier.clone(),
            slices: h.slices.iter().map(SliceJson::new).collect(),
        }
    }
}

impl SliceJson {
    fn new(s: &SliceHeader) -> Self {
        Self {
            side: s.side.name(),
            codec: s.codec.name(),
            block_positions: s.block_positions,
            blocks: s.block_count(),
            bytes: s.bytes(),
            dictionary_bytes: s.model.bytes,
            bits_per_position: s.bits_per_position(),
            positions: s.stats.positions,
            wins: s.stats.wins,
            losses: s.stats.losses,
            draws: s.stats.draws,
            captures: s.stats.captures,
            decided: s.stats.decided,
            max_dtw_win: s.stats.longest_win.map(|l| l.plies.0),
            max_dtw_loss: s.stats.longest_loss.map(|l| l.plies.0),
            no_runs: s.stats.no_runs.map(NoRunsJson::new),
        }
    }
}

/// Sums over the tables of a directory.
#[derive(Default)]
struct Sum {
    tables: u64,
    bytes: u64,
    positions: u64,
}

impl Info {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        let files = files(&self.path)?;
        if files.is_empty() {
            return Err(Failure::failed(
                format!(
                    "cannot show tables: there are none in {}",
                    self.path.display()
                ),
                "give a table, or a directory in which dambase build has written",
            ));
        }
        if let [file] = files.as_slice()
            && self.path.is_file()
        {
            let table = Table::open(file).map_err(|e| {
                Failure::failed(
                    format!("cannot read the table {}: {}", file.display(), chain(&e)),
                    "give a table that dambase build has written",
                )
            })?;
            if self.json {
                out.json(&TableJson::new(file, table.header()))?;
            } else {
                one(file, table.header(), &mut out)?;
            }
            return out.flush();
        }
        if !self.json {
            out.line(
                "table                                   positions         size  bits/pos  codec",
            )?;
        }
        let (mut sum, mut faults) = (Sum::default(), 0_u64);
        for file in &files {
            match open_in_place(file) {
                Ok(table) => {
                    let h = table.header();
                    sum.tables += 1;
                    sum.bytes += h.file_bytes;
                    sum.positions += h.positions();
                    if self.json {
                        out.json(&TableJson::new(file, h))?;
                    } else {
                        row(file, h, &mut out)?;
                    }
                }
                Err(e) => {
                    faults += 1;
                    let error = chain(&e);
                    if self.json {
                        out.json(&FaultJson {
                            file: file.display().to_string(),
                            error,
                            code: dambase_probe::Error::from(e).code(),
                        })?;
                    } else {
                        out.line(format!("fault: {error}"))?;
                    }
                }
            }
        }
        if !self.json {
            let bits = sum.bytes as f64 * 8.0 / sum.positions.max(1) as f64;
            out.line(format!(
                "{}, {}, {}, {bits:.3} bits each",
                count(sum.tables, "table"),
                size(sum.bytes),
                count(sum.positions, "stored value")
            ))?;
        }
        out.flush()?;
        if faults > 0 {
            return Err(Failure::failed(
                format!(
                    "cannot use {} in {}",
                    count(faults, "file"),
                    self.path.display()
                ),
                "dambase verify names everything that is wrong with the tables of a code",
            ));
        }
        Ok(())
    }
}

/// The table that `path` is, or those in it and in its directories, in order.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, e: std::io::Error| {
        Failure::failed(
            format!("cannot read {}: {e}", path.display()),
            "give a table, or a directory in which dambase build has written",
        )
    };
    if !std::fs::metadata(path)
        .map_err(|e| failed(path, e))?
        .is_dir()
    {
        return Ok(vec![path.to_owned()]);
    }
    let list = |dir: &Path| -> Result<Vec<PathBuf>, Failure> {
        let entries = std::fs::read_dir(dir).map_err(|e| failed(dir, e))?;
        let paths = entries.map(|e| e.map(|e| e.path()).map_err(|e| failed(dir, e)));
        paths.collect()
    };
    let mut files = Vec::new();
    for entry in list(path)? {
        if entry.is_dir() {
            files.extend(list(&entry)?);
        } else {
            files.push(entry);
        }
    }
    let named = |p: &PathBuf| dambase_tables::format::parse_name(p);
    files.retain(|p| named(p).is_some());
    files.sort_by_key(|p| (p.parent().map(Path::to_owned), named(p)));
    Ok(files)
}

/// Opens a table that must be what its name and its directory say.
fn open_in_place(file: &Path) -> Result<Table, dambase_tables::Error> {
    let directory = file.parent().and_then(Path::file_name);
    let variant = Variant::ALL
        .iter()
        .find(|v| directory.is_some_and(|d| d == v.name()));
    let named = dambase_tables::format::parse_name(file);
    match (variant, named, file.parent().and_then(Path::parent)) {
        (Some(&variant), Some((material, metric)), Some(dir)) if material.is_canonical() => {
            Table::open_in(dir, variant, material, metric)
        }
        _ => Table::open(file),
    }
}

/// A table in one line, with the name of its file and of its directory.
fn row(file: &Path, h: &Header, out: &mut Output) -> Outcome {
    let directory = file.parent().and_then(Path::file_name);
    let name = match directory.map(Path::new) {
        Some(d) => d.join(file.file_name().unwrap_or_default()),
        None => file.to_owned(),
    };
    let name = name.display().to_string();
    let codecs: Vec<_> = h.slices.iter().map(|s| s.codec.name()).collect();
    out.line(format!(
        "{name:<30} {:>18} {:>12} {:>9.3}  {}",
        grouped(h.positions()),
        size(h.file_bytes),
        h.bits_per_position(),
        codecs.join(",")
    ))
}

fn one(path: &Path, h: &Header, out: &mut Output) -> Outcome {
    out.line(path.display())?;
    let mut field = |name: &str, text: String| out.line(format!("  {name:<18} {text}"));
    field("code", h.variant.name().to_owned())?;
    field("material", h.material.to_string())?;
    field(
        "metric",
        match h.metric {
            dambase_tables::Metric::Wld => "wld: win, loss or draw",
            dambase_tables::Metric::Dtw => "dtw: plies to the end of the game",
            dambase_tables::Metric::Dtz => "dtz: plies of the draw limit's clock",
        }
        .to_owned(),
    )?;
    field("rules", format!("{:016x}", h.rules_hash))?;
    field("built by", h.generator.clone())?;
    field(
        "verified",
        if h.verified {
            format!("yes, by {}", h.verifier)
        } else {
            "no mark in the file".to_owned()
        },
    )?;
    if h.lacks_king_run() {
        field("king run", "not known: solved without it".to_owned())?;
    } else if h.king_run {
        field("king run", "part of the positions".to_owned())?;
    }
    field(
        "size",
        format!(
            "{}, {:.3} bits per position",
            size(h.file_bytes),
            h.bits_per_position()
        ),
    )?;
    for s in &h.slices {
        let t = &s.stats;
        field(
            &format!("{} to move", s.side.name()),
            format!(
                "{} positions: {} wins, {} losses, {} draws; {} with captures",
                grouped(t.positions),
                grouped(t.wins),
                grouped(t.losses),
                grouped(t.draws),
                grouped(t.captures)
            ),
        )?;
        field(
            "",
            format!(
                "{}{}, {}, {:.3} bits per position",
                // Only some codecs have blocks.
                match s.block_count() {
                    0 => String::new(),
                    n => format!("{} of {} positions, ", count(n, "block"), s.block_positions),
                },
                s.codec.name(),
                size(s.bytes()),
                s.bits_per_position()
            ),
        )?;
        if let Some(l) = t.longest_win {
            field("", format!("longest win {}", plies(l.plies.0)))?;
        }
    }
    Ok(())
}
