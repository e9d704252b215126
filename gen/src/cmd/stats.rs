//! `dambase stats`: counts per material and side to move.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use dambase_gen::verify::Listing;
use dambase_rules::{Position, Run, Side, Variant};
use dambase_tables::{Header, Index, Material, Metric, SliceStats, Table};
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::output::Output;
use super::{Code, Directory, grouped};

/// Show the counts of every material and side to move that has a table
///
/// Wins and losses are for the side to move; captures are the positions in which it must capture.
/// Distances are in plies. Mirrored materials are listed too. The numbers come from the headers,
/// which `dambase verify` checks.
#[derive(Debug, Args)]
pub(super) struct Stats {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    directory: Directory,
    /// Print one JSON object for each material and side to move
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StatsJson {
    variant: &'static str,
    material: String,
    side: &'static str,
    positions: u64,
    wins: u64,
    losses: u64,
    draws: u64,
    captures: u64,
    max_dtw_win: Option<u16>,
    max_dtw_loss: Option<u16>,
    longest_win_fen: Option<String>,
    /// Counts under the draw limits; no tables hold them yet.
    rule: Option<()>,
}

impl Stats {
    pub(super) fn run(self) -> Outcome {
        let variant = self.code.variant;
        let dir = &self.directory.dir;
        let listing = Listing::read(dir, variant).map_err(|e| {
            Failure::failed(
                format!("cannot count the tables of {variant}: {}", chain(&e)),
                format!("give the directory with --dir, or run dambase build {variant}"),
            )
        })?;
        let mut rows = BTreeMap::new();
        for (&material, metrics) in &listing.tables {
            let header = header(dir, variant, material, metrics)?;
            for m in [material, material.mirrored()] {
                rows.entry(m).or_insert_with(|| header.clone());
            }
        }
        if rows.is_empty() {
            return Err(Failure::failed(
                format!(
                    "cannot count the tables of {variant}: there are none in {}",
                    dir.display()
                ),
                format!("run dambase build {variant}"),
            ));
        }
        let mut out = Output::new();
        if !self.json {
            out.line(
                "material       side            positions             wins           losses            draws         captures  longest win, loss (plies)",
            )?;
        }
        for (material, header) in &rows {
            for side in Side::BOTH {
                let row = row(*material, side, header);
                if self.json {
                    out.json(&row)?;
                } else {
                    text(&row, &mut out)?;
                }
            }
        }
        out.flush()
    }
}

/// The header of the table that says most: that with distances if there is one.
fn header(
    dir: &Path,
    variant: Variant,
    material: Material,
    metrics: &[Metric],
) -> Result<Header, Failure> {
    let metric = if metrics.contains(&Metric::Dtw) {
        Metric::Dtw
    } else {
        metrics[0]
    };
    match Table::open_in(dir, variant, material, metric) {
        Ok(t) => Ok(t.header().clone()),
        Err(e) => Err(Failure::failed(
            format!("cannot count {material}: {}", chain(&e)),
            "remove the file and build it anew",
        )),
    }
}

/// The counts of a material, mirrored or not, with `side` to move.
fn row(material: Material, side: Side, header: &Header) -> StatsJson {
    let variant = header.variant;
    let stored = header.material;
    // The stored slice with the same positions seen by the same or by the other side.
    let swapped = material != stored || (stored.is_symmetric() && side == Side::Black);
    let stored_side = if swapped { side.other() } else { side };
    let stats: &SliceStats = &header.slice(stored_side).expect("a checked header").stats;
    let longest = stats.longest_win.map(|l| {
        let g = variant.rules().geometry;
        let index = Index::<u128>::new(g, stored).expect("a checked header");
        let mut board = index.board(l.index);
        if swapped {
            board = board.mirrored(g);
        }
        Position::new(variant, board, side, [Run::NONE; 2])
            .map_or_else(|e| e.to_string(), |p| p.fen())
    });
    let distances = header.metric == Metric::Dtw;
    let plies = |l: Option<dambase_tables::Longest>| l.filter(|_| distances).map(|l| l.plies.0);
    StatsJson {
        variant: variant.name(),
        material: material.to_string(),
        side: side.name(),
        positions: stats.positions,
        wins: stats.wins,
        losses: stats.losses,
        draws: stats.draws,
        captures: stats.captures,
        max_dtw_win: plies(stats.longest_win),
        max_dtw_loss: plies(stats.longest_loss),
        longest_win_fen: longest,
        rule: None,
    }
}

fn text(r: &StatsJson, out: &mut Output) -> Outcome {
    let plies = |n: Option<u16>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    out.line(format!(
        "{:<14} {:<6} {:>18} {:>16} {:>16} {:>16} {:>16}  {:>4} {:>4}  {}",
        r.material,
        r.side,
        grouped(r.positions),
        grouped(r.wins),
        grouped(r.losses),
        grouped(r.draws),
        grouped(r.captures),
        plies(r.max_dtw_win),
        plies(r.max_dtw_loss),
        r.longest_win_fen.as_deref().unwrap_or("")
    ))
}
