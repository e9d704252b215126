//! `dambase plan`: what a build would do and take.

use std::time::Duration;

use clap::Args;
use dambase_gen::plan::{Plan, Step};
use dambase_rules::LimitSet;
use dambase_tables::Metric;
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::output::Output;
use super::resources::Memory;
use super::selection::Selection;
use super::{Code, count, grouped, size};

const EXAMPLES: &str = "\
Examples:
  dambase plan english --pieces 6 --metric wld
  dambase plan russian --metric wld,dtz --limits default,30-move,60-move
  dambase plan international --only KKMvKM --json
  dambase plan international --pieces 6 --metric wld --memory 4GiB";

/// Show what a build would solve, in order, and the memory, disk and time it would take
///
/// Positions are those of all stored slices (both sides to move, or one where both sides have
/// the same). Memory is what a build takes that keeps everything in memory; if --memory gives less,
/// some of that goes through work files on the disk. Memory, disk and time are estimates.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlanCommand {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    memory: Memory,
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
    /// Of the memory, if no more of it may be taken than the budget.
    work_file_bytes: u64,
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
    /// What may be taken.
    memory_budget_bytes: u64,
    /// What is needed at least, everything else being in work files.
    least_memory_bytes: u64,
    /// The most at a time, within the budget.
    work_file_bytes: u64,
    /// With the threads of the build.
    seconds: f64,
}

impl PlanCommand {
    pub(super) fn run(self) -> Outcome {
        let mut plan = self.selection.plan(self.code.variant)?;
        let limits = self.selection.limits(plan.variant)?;
        let budget = Budget::new(&plan, limits.as_ref(), self.memory.bytes());
        if let Some(limits) = limits {
            plan = plan.with_limits(&limits);
        }
        let mut out = Output::new();
        if self.json {
            json(&plan, &budget, &mut out)?;
        } else {
            text(&plan, &budget, &mut out)?;
        }
        out.flush()
    }
}

/// What a build takes that may not take all the memory it could use.
struct Budget {
    /// Bytes that may be taken.
    memory: u64,
    /// Bytes needed at least.
    least: u64,
    /// Bytes of work files at each step.
    files: Vec<u64>,
}

impl Budget {
    fn new(plan: &Plan, limits: Option<&LimitSet>, memory: u64) -> Self {
        let all = vec![true; plan.steps.len()];
        let spills = |memory| {
            let under_limits = limits.map(|l| plan.spill_under_limits(l, &all, memory));
            [Some(plan.spill(&all, memory)), under_limits]
        };
        let least = spills(0).into_iter().flatten();
        // Tables under draw limits are a pass of their own.
        let mut files = vec![0; plan.steps.len()];
        for spill in spills(memory).into_iter().flatten() {
            for (most, bytes) in files.iter_mut().zip(spill.files) {
                *most = bytes.max(*most);
            }
        }
        Self {
            memory,
            least: least.map(|s| s.memory_bytes()).max().unwrap_or(0),
            files,
        }
    }
    /// The most bytes of work files at a time.
    fn file_bytes(&self) -> u64 {
        self.files.iter().copied().max().unwrap_or(0)
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

fn json(plan: &Plan, budget: &Budget, out: &mut Output) -> Result<(), Failure> {
    let variant = plan.variant.name();
    for (s, &work_file_bytes) in plan.steps.iter().zip(&budget.files) {
        out.json(&StepJson {
            variant,
            material: s.material.to_string(),
            pieces: s.material.pieces(),
            sides: s.material.sides().len(),
            positions: s.positions,
            memory_bytes: s.memory_bytes,
            disk_bytes: s.disk_bytes,
            work_file_bytes,
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
        memory_budget_bytes: budget.memory,
        least_memory_bytes: budget.least,
        work_file_bytes: budget.file_bytes(),
        seconds: plan.seconds(),
    })
}

fn text(plan: &Plan, budget: &Budget, out: &mut Output) -> Result<(), Failure> {
    let width = plan.steps.iter().map(|s| s.material.to_string().len());
    let width = width.max().unwrap_or(0).max("material".len());
    // A column that is empty mostly.
    let fits = budget.file_bytes() == 0;
    let more = |text: String| if fits { String::new() } else { text };
    out.line(format!(
        "{:<width$} {:>22} {:>12} {:>12}{}",
        "material",
        "positions",
        "memory",
        "disk",
        more(format!(" {:>12}", "work files"))
    ))?;
    for (s, &files) in plan.steps.iter().zip(&budget.files) {
        let files = more(format!(" {:>12}", size(files)));
        out.line(format!("{}{files}", line(s, width)))?;
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
    ))?;
    let (memory, least) = (size(budget.memory), size(budget.least));
    if budget.least > budget.memory {
        out.line(format!(
            "cannot be built within {memory} of memory: {least} are needed beside work files"
        ))
    } else if fits {
        Ok(())
    } else {
        out.line(format!(
            "within {memory} of memory: up to {} of work files, on the disk while it is built; \
             {least} of memory are the least",
            size(budget.file_bytes())
        ))
    }
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
