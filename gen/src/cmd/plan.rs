//! `dambase plan`: what a build would do and take.

use std::time::Duration;

use clap::Args;
use dambase_gen::plan::{Plan, Step};
use dambase_tables::Metric;
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::output::Output;
use super::selection::Selection;
use super::{Code, count, grouped, size};

const EXAMPLES: &str = "\
Examples:
  dambase plan english --pieces 6 --metric wld
  dambase plan russian --metric wld,dtz --limits default,30-move,60-move
  dambase plan international --only KKMvKM --json";

/// Show what a build would solve, in order, and the memory, disk and time it would take
///
/// Positions are those of all stored slices (both sides to move, or one where both sides have
/// the same). Memory, disk and time are estimates.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlanCommand {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    selection: Selection,
    /// Print one JSON object for each material and one for the sum
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StepJson<'a> {
    variant: &'a str,
    material: String,
    pieces: u8,
    sides: usize,
    positions: u64,
    memory_bytes: u64,
    disk_bytes: u64,
    /// Of one processor core.
    seconds: f64,
}

#[derive(Serialize)]
struct TotalJson<'a> {
    variant: &'a str,
    total: bool,
    metrics: Vec<&'static str>,
    /// Whether the king run is part of the positions.
    king_run: bool,
    materials: usize,
    positions: u128,
    memory_bytes: u64,
    disk_bytes: u64,
    /// With the threads of the build.
    seconds: f64,
}

impl PlanCommand {
    pub(super) fn run(self) -> Outcome {
        let mut plan = self.selection.plan(self.code.variant)?;
        if let Some(limits) = self.selection.limits(plan.variant)? {
            plan = plan.with_limits(&limits);
        }
        let mut out = Output::new();
        if self.json {
            json(&plan, &mut out)?;
        } else {
            text(&plan, &mut out)?;
        }
        out.flush()
    }
}

/// A time for people.
fn time(seconds: f64) -> String {
    let whole = Duration::from_secs((seconds.ceil() as u64).max(1));
    humantime::format_duration(whole).to_string()
}

fn metrics(plan: &Plan) -> Vec<&'static str> {
    plan.metrics.iter().copied().map(Metric::name).collect()
}

fn json(plan: &Plan, out: &mut Output) -> Result<(), Failure> {
    let variant = plan.variant.name();
    for s in &plan.steps {
        out.json(&StepJson {
            variant,
            material: s.material.to_string(),
            pieces: s.material.pieces(),
            sides: s.material.sides().len(),
            positions: s.positions,
            memory_bytes: s.memory_bytes,
            disk_bytes: s.disk_bytes,
            seconds: s.nanoseconds as f64 / 1e9,
        })?;
    }
    out.json(&TotalJson {
        variant,
        total: true,
        metrics: metrics(plan),
        king_run: plan.king_run,
        materials: plan.steps.len(),
        positions: plan.positions(),
        memory_bytes: plan.memory_bytes(),
        disk_bytes: plan.disk_bytes(),
        seconds: plan.seconds(),
    })
}

fn text(plan: &Plan, out: &mut Output) -> Result<(), Failure> {
    let width = plan.steps.iter().map(|s| s.material.to_string().len());
    let width = width.max().unwrap_or(0).max("material".len());
    out.line(format!(
        "{:<width$} {:>22} {:>12} {:>12}",
        "material", "positions", "memory", "disk"
    ))?;
    for s in &plan.steps {
        out.line(line(s, width))?;
    }
    out.line(format!(
        "{}, {}{}, metrics {}; about {} of memory, {} of disk and {}",
        count(plan.steps.len() as u64, "material"),
        count(plan.positions(), "position"),
        if plan.king_run {
            " with their king runs"
        } else {
            ""
        },
        metrics(plan).join(","),
        size(plan.memory_bytes()),
        size(plan.disk_bytes()),
        time(plan.seconds()),
    ))
}

fn line(s: &Step, width: usize) -> String {
    format!(
        "{:<width$} {:>22} {:>12} {:>12}",
        s.material.to_string(),
        grouped(s.positions),
        size(s.memory_bytes),
        size(s.disk_bytes)
    )
}
