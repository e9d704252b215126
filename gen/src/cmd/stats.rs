//! `dambase stats`: counts per material and side to move.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use dambase_rules::limits::Clock;
use dambase_rules::{LimitSet, Position, Side, Variant};
use dambase_tables::{Header, Material, Metric, RunIndex, SliceStats, Table};
use serde::Serialize;

use super::failure::{Failure, Outcome, chain};
use super::json::NoRunsJson;
use super::output::Output;
use super::{Code, Directory, grouped, there};

const EXAMPLES: &str = "\
Examples:
  dambase stats english
  dambase stats english --json";

/// Show the counts of every material and side to move that has a table
///
/// Wins and losses are for the side to move; captures are the positions in which it must capture.
/// Distances are in plies, and the position is one of those with the longest win. Where the king run
/// is part of the positions every state of the runs counts; those without a pending run are counted
/// once more by themselves. Mirrored materials are listed too. The numbers come from the headers, which
/// `dambase verify` checks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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
    rule: Option<RuleStatsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_runs: Option<NoRunsJson>,
}

/// Counts under the draw limits, play beginning with full clocks.
#[derive(Serialize)]
struct RuleStatsJson {
    win: u64,
    cursed_win: u64,
    draw: u64,
    blessed_loss: u64,
    loss: u64,
    /// The most plies that a win needs of its clock; nothing where no clock runs.
    max_dtz_win: Option<u16>,
    max_dtz_loss: Option<u16>,
    /// The limit that governs the material.
    limit: Option<&'static str>,
    /// The limit whose clock runs beside that one, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<&'static str>,
}

impl Stats {
    pub(super) fn run(self) -> Outcome {
        let variant = self.code.variant;
        let dir = &self.directory.dir;
        let cannot = format!("cannot count the tables of {variant}");
        let listing = there::tables(dir, variant, &cannot)?;
        let mut rows = BTreeMap::new();
        let king_run = listing.king_run(dir, variant);
        for (&material, metrics) in &listing.tables {
            let header = header(dir, variant, material, metrics)?;
            let rule = if metrics.contains(&Metric::Dtz) {
                Some(open(dir, variant, material, Metric::Dtz)?)
            } else {
                None
            };
            for h in [Some(&header), rule.as_ref()].into_iter().flatten() {
                if h.king_run != king_run {
                    return Err(Failure::failed(
                        format!(
                            "cannot count {material}: its {} table was built without the king \
                             run, others with it",
                            h.metric
                        ),
                        "keep tables with and without the king run in different directories",
                    ));
                }
            }
            for m in [material, material.mirrored()] {
                rows.entry(m)
                    .or_insert_with(|| (header.clone(), rule.clone()));
            }
        }
        let mut out = Output::new();
        if !self.json {
            out.line(
                "material       side            positions             wins           losses            draws         captures  longest win, loss (plies)",
            )?;
        }
        for (material, (header, rule)) in &rows {
            for side in Side::BOTH {
                let mut row = row(*material, side, header);
                row.rule = rule.as_ref().map(|h| rule_row(*material, side, h));
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
    open(dir, variant, material, metric)
}

fn open(
    dir: &Path,
    variant: Variant,
    material: Material,
    metric: Metric,
) -> Result<Header, Failure> {
    match Table::open_in(dir, variant, material, metric) {
        Ok(t) => Ok(t.header().clone()),
        Err(e) => Err(Failure::failed(
            format!("cannot count {material}: {}", chain(&e)),
            "remove the file and build it anew",
        )),
    }
}

/// The stored side to move with the same positions, and whether their colours are swapped.
fn stored_side(material: Material, side: Side, stored: Material) -> (Side, bool) {
    let swapped = material != stored || (stored.is_symmetric() && side == Side::Black);
    (if swapped { side.other() } else { side }, swapped)
}

/// The counts under the draw limits.
fn rule_row(material: Material, side: Side, header: &Header) -> RuleStatsJson {
    let (stored, _) = stored_side(material, side, header.material);
    let stats: &SliceStats = &header.slice(stored).expect("a checked header").stats;
    let limits = LimitSet::from_hash(header.variant, header.limits_hash);
    let name = |of: fn(&LimitSet, [u8; 2], [u8; 2]) -> Option<Clock>| {
        let limits = limits.as_ref()?;
        let clock = of(limits, material.kings, material.men)?;
        Some(limits.limit(clock).name)
    };
    let limit = name(LimitSet::of_material);
    let plies = |l: Option<dambase_tables::Longest>| limit.and(l).map(|l| l.plies.0);
    RuleStatsJson {
        win: stats.wins,
        cursed_win: stats.cursed_wins,
        draw: stats.draws,
        blessed_loss: stats.blessed_losses,
        loss: stats.losses,
        max_dtz_win: plies(stats.longest_win),
        max_dtz_loss: plies(stats.longest_loss),
        limit,
        beside: name(LimitSet::beside_of),
    }
}

/// The counts of a material, mirrored or not, with `side` to move.
fn row(material: Material, side: Side, header: &Header) -> StatsJson {
    let variant = header.variant;
    let stored = header.material;
    let (stored_side, swapped) = stored_side(material, side, stored);
    let stats: &SliceStats = &header.slice(stored_side).expect("a checked header").stats;
    let longest = stats.longest_win.map(|l| {
        let g = variant.rules().geometry;
        let scope = variant.rules().king_run.filter(|_| header.king_run);
        let index = RunIndex::<u128>::new(g, scope, stored).expect("a checked header");
        let (board, runs) = index.position(l.index);
        Position::new(variant, board, stored_side, runs).map_or_else(
            |e| e.to_string(),
            |p| if swapped { p.mirrored() } else { p }.fen(),
        )
    });
    let distances = header.metric == Metric::Dtw;
    let plies = |l: Option<dambase_tables::Longest>| l.filter(|_| distances).map(|l| l.plies.0);
    StatsJson {
        variant: variant.name(),
        material: material.to_string(),
        side: side.name(),
        positions: stats.positions,
        wins: stats.wins + stats.cursed_wins,
        losses: stats.losses + stats.blessed_losses,
        draws: stats.draws,
        captures: stats.captures,
        max_dtw_win: plies(stats.longest_win),
        max_dtw_loss: plies(stats.longest_loss),
        longest_win_fen: longest,
        rule: None,
        no_runs: stats.no_runs.map(NoRunsJson::new),
    }
}

fn text(r: &StatsJson, out: &mut Output) -> Outcome {
    let plies = |n: Option<u16>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let rule = r.rule.as_ref().map_or_else(String::new, |c| {
        let drawn = c.cursed_win + c.blessed_loss;
        match c.limit {
            _ if drawn > 0 => format!(
                "  drawn by the limits: {} wins, {} losses",
                grouped(c.cursed_win),
                grouped(c.blessed_loss)
            ),
            Some(limit) => {
                let beside = c
                    .beside
                    .map_or_else(String::new, |b| format!(" and the {b} rule"));
                format!("  within the {limit} rule{beside}")
            }
            None => String::new(),
        }
    });
    out.line(format!(
        "{:<14} {:<6} {:>18} {:>16} {:>16} {:>16} {:>16}  {:>4} {:>4}  {}{rule}",
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
