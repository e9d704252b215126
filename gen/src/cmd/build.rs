//! `dambase build`: solves and writes tables.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use dambase_gen::build::{Event, Options, Solver, Summary, build};
use dambase_gen::plan::Plan;
use dambase_gen::{Control, Error, limits};
use dambase_rules::LimitSet;
use dambase_tables::backing::is_work_file;

use super::failure::{Failure, Outcome};
use super::output::Output;
use super::progress::Progress;
use super::resources::Memory;
use super::selection::Selection;
use super::{Code, Directory, count, grouped, resources, size, stop};

const EXAMPLES: &str = "\
Examples:
  dambase build english
  dambase build russian --pieces 3 --metric wld,dtw,dtz
  dambase build italian --only KKvKM --metric wld --dir tables
  dambase build english --pieces 4 --metric wld --memory 2GiB";

/// Build the tables of a code
///
/// Without options: all positions of up to 4 pieces, with values (wld) and distances (dtw), in
/// ./egdb. Tables that are there already are checked and kept, so that the same command goes on
/// after it was stopped or killed. What does not fit into memory goes through work files in the
/// directory, which are gone when the command ends; the tables are the same, but it takes longer
/// if the disk has to be waited for.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Build {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    directory: Directory,
    #[command(flatten)]
    memory: Memory,
    /// How positions are solved; the tables are the same. For positions with king runs this has no
    /// effect, they have a solver of their own
    #[arg(long, value_name = "SOLVER", value_enum, default_value_t = SolverName::SetWise)]
    solver: SolverName,
    /// Solve and write everything anew, in place of what is there
    #[arg(long)]
    rebuild: bool,
    /// Prove every material before it is written, and mark its tables as verified
    #[arg(long)]
    verify: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SolverName {
    /// All squares of a king at a time
    SetWise,
    /// One position at a time; the reference
    Scalar,
}

impl Build {
    pub(super) fn run(self) -> Outcome {
        let variant = self.code.variant;
        let plan = self.selection.plan(variant)?;
        let options = Options {
            dir: self.directory.dir.clone(),
            threads: self.selection.threads(),
            memory: self.memory.bytes(),
            disk: resources::available_disk(&self.directory.dir),
            solver: match self.solver {
                SolverName::SetWise => Solver::SetWise,
                SolverName::Scalar => Solver::Scalar,
            },
            rebuild: self.rebuild,
            verify: self.verify,
        };
        let control = Arc::new(Control::new());
        stop::on_signal(&control)?;
        let progress = Progress::new(self.quiet);
        let limits = self.selection.limits(variant)?;
        let result = progress.watch(&control, || {
            let say = |event| say(&progress, &event);
            if let Some(limits) = &limits {
                limits::build::check(&plan, &options, limits)?;
            }
            let summary = build(&plan, &options, &control, &say)?;
            let under_limits = match &limits {
                Some(limits) => Some(limits::build::build(
                    &plan, &options, limits, &control, &say,
                )?),
                None => None,
            };
            Ok((summary, under_limits))
        });
        match result {
            Ok(_) if self.quiet => Ok(()),
            Ok((summary, under_limits)) => {
                finish(&plan, &options, &summary)?;
                self.finish_limits(&plan, limits, under_limits.as_ref())
            }
            Err(e) => Err(failure(&plan, &options, e)),
        }
    }

    /// Says what was built under the draw limits.
    fn finish_limits(
        &self,
        plan: &Plan,
        limits: Option<LimitSet>,
        summary: Option<&Summary>,
    ) -> Outcome {
        let mut out = Output::new();
        if let (Some(limits), Some(summary)) = (limits, summary) {
            out.line(format!(
                "{}: {} under the draw limits {limits} ({} built, {} were there), {}{}",
                plan.variant,
                count(plan.steps.len() as u64, "material"),
                summary.built,
                summary.reused,
                size(summary.bytes),
                work_files(summary)
            ))?;
        } else if self.selection.under_limits() {
            out.line(format!(
                "{}: no dtz tables, for no draw limit is on: values are those of wld and dtw",
                plan.variant
            ))?;
        }
        out.flush()
    }
}

fn say(progress: &Progress, event: &Event) {
    match event {
        Event::Removed { path } => {
            let what = if is_work_file(path) {
                "a work file"
            } else {
                "an unfinished table"
            };
            progress.line(format!("removed {}, {what}", path.display()));
        }
        Event::Ready {
            reused,
            missing,
            positions,
            work,
        } => {
            progress.total(*work);
            let (materials, positions) = (count(*missing as u64, "material"), grouped(*positions));
            progress.line(format!(
                "{materials} to build ({positions} positions), {reused} there already"
            ));
        }
        Event::Spilling {
            dir,
            bytes,
            materials,
            memory,
        } => progress.line(format!(
            "{} of memory are too little for all: up to {} go through work files in {} (of {})",
            size(*memory),
            size(*bytes),
            dir.display(),
            count(*materials as u64, "material"),
        )),
        Event::Reading { material } => progress.task(format!("reading {material}")),
        Event::Solving { material, .. } => progress.work(material.to_string()),
        Event::Written {
            material,
            positions,
            headers,
            solving,
            writing,
        } => {
            let files: Vec<_> = headers
                .iter()
                .map(|h| format!("{} {}", h.metric, size(h.file_bytes)))
                .collect();
            progress.line(format!(
                "{material}: {} positions, solved in {:.1} s, written in {:.1} s, {}",
                grouped(*positions),
                solving.as_secs_f64(),
                writing.as_secs_f64(),
                files.join(", ")
            ));
        }
    }
}

/// What work files there were.
fn work_files(summary: &Summary) -> String {
    match summary.work_files {
        0 => String::new(),
        bytes => format!(", work files of up to {}", size(bytes)),
    }
}

fn finish(plan: &Plan, options: &Options, summary: &Summary) -> Outcome {
    let dir = options.dir.join(plan.variant.name());
    let mut out = Output::new();
    out.line(format!(
        "{}: {} complete in {} ({} built, {} were there), {}{}",
        plan.variant,
        count(plan.steps.len() as u64, "material"),
        dir.display(),
        summary.built,
        summary.reused,
        size(summary.bytes),
        work_files(summary)
    ))?;
    out.flush()
}

fn failure(plan: &Plan, options: &Options, e: Error) -> Failure {
    let variant = plan.variant;
    let failed = |help: String| {
        Failure::failed(
            format!("cannot build {variant}: {}", super::failure::chain(&e)),
            help,
        )
    };
    match &e {
        Error::Interrupted => Failure::failed(
            format!("cannot finish {variant}: stopped"),
            "run the same command again; it goes on from the last finished table",
        ),
        Error::LeastMemory { .. } => failed(
            "build fewer pieces with --pieces, leave out distances with --metric wld, or give \
             more memory with --memory if there is more"
                .to_owned(),
        ),
        Error::Disk { work_files: 1.., .. } => failed(
            "free some space, choose another disk with --dir, build fewer pieces with --pieces, or \
             give more memory with --memory if there is more, so that fewer work files are needed"
                .to_owned(),
        ),
        Error::Table(dambase_tables::Error::WorkFile { .. }) => failed(
            "free some space or choose another disk with --dir, or give more memory with --memory \
             if there is more; then run the same command again, it goes on from the last finished \
             table"
                .to_owned(),
        ),
        Error::Disk { .. } => failed(
            "free some space, choose another disk with --dir, or build fewer pieces with --pieces"
                .to_owned(),
        ),
        Error::NotADirectory { .. } => failed("choose a directory with --dir".to_owned()),
        Error::Locked { .. } => {
            failed("wait until the other build is done, or choose another --dir".to_owned())
        }
        Error::Unusable(_) => failed(
            "remove the file to have it built anew, or run with --rebuild to replace all tables"
                .to_owned(),
        ),
        Error::Archived { .. } => failed(format!(
            "make tables of the archive with dambase unpack {variant} --dir {} --to ANOTHER, or choose \
             another --dir",
            options.dir.display()
        )),
        Error::OtherRun { king_run, .. } => failed(
            if *king_run {
                "leave out --no-king-run to go on with the tables that are there, choose another \
                 --dir, or remove them"
            } else {
                "add --no-king-run to go on with the tables that are there, choose another --dir, \
                 or remove them"
            }
            .to_owned(),
        ),
        Error::OtherLimits { .. } => failed(
            "give the same --limits, choose another --dir, or run with --rebuild to replace all \
             tables"
                .to_owned(),
        ),
        Error::TooManyNeeds { .. } => failed(
            "leave this material out with --only, or leave out the limits that run beside others \
             with --limits"
                .to_owned(),
        ),
        Error::MissingTable { .. } | Error::MissingDistances { .. } => {
            failed("build the smaller tables first".to_owned())
        }
        _ => failed(format!(
            "check that {} can be written and has space; then run the same command again",
            options.dir.display()
        )),
    }
}
