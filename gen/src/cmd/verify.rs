//! `dambase verify`: proves tables.

use std::sync::Arc;

use clap::Args;
use dambase_gen::verify::{Finding, Request, Summary, positions, verify};
use dambase_gen::{Control, Error, limits};
use dambase_tables::Material;

use super::failure::{Failure, Outcome, chain};
use super::output::Output;
use super::progress::Progress;
use super::{Code, Directory, count, grouped, number, resources, selection, stop, there};

const EXAMPLES: &str = "\
Examples:
  dambase verify english --quick
  dambase verify english --only KKvK";

/// Prove the tables of a code
///
/// Every value is derived again from those of the positions one move later, with plain move
/// generation; nothing of the solvers is used. All checksums, headers and counts are checked, and
/// files that are missing or do not belong there are named. Nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    directory: Directory,
    /// Prove only these materials; the smaller ones that they rest on are taken as right
    #[arg(long, value_name = "MATERIAL,...", value_delimiter = ',', value_parser = selection::material)]
    only: Vec<Material>,
    /// Prove 65,536 positions of each slice, always the same ones, and check all checksums
    #[arg(long)]
    quick: bool,
    /// Threads that work at the same time [default: one for each processor]
    #[arg(long, value_name = "T", value_parser = number::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Memory that may be taken, for example 8GiB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = resources::amount, allow_hyphen_values = true)]
    memory: Option<u64>,
    /// Say nothing but what is wrong
    #[arg(long, short)]
    quiet: bool,
}

impl Verify {
    pub(super) fn run(self) -> Outcome {
        let variant = self.code.variant;
        let cannot = format!("cannot verify {variant}");
        there::tables(&self.directory.dir, variant, &cannot)?;
        let control = Arc::new(Control::new());
        stop::on_signal(&control)?;
        let request = Request {
            dir: &self.directory.dir,
            variant,
            only: &self.only,
            quick: self.quick,
            memory: self.memory.unwrap_or_else(resources::available_memory),
        };
        let failed = |e: &Error| failure(variant.name(), e);
        let threads = self.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| failed(&Error::Threads(e.to_string())))?;
        let progress = Progress::new(self.quiet);
        progress.total(positions(&request).map_err(|e| failed(&e))?);
        let mut out = Output::new();
        let mut said: Outcome = Ok(());
        let result = progress.watch(&control, || {
            pool.install(|| {
                let mut watch = |finding: &Finding| {
                    if said.is_ok() {
                        said = say(finding, self.quiet, &progress, &mut out);
                        if said.is_err() {
                            control.stop();
                        }
                    }
                };
                let plain = verify(&request, &control, &mut watch)?;
                let under_limits = limits::prove::prove(&request, &control, &mut watch)?;
                Ok(Summary {
                    proved: plain.proved + under_limits.proved,
                    positions: plain.positions + under_limits.positions,
                    faults: plain.faults + under_limits.faults,
                })
            })
        });
        said?;
        let summary = result.map_err(|e| failed(&e))?;
        let what = format!(
            "{} proved, {} looked at, {}",
            count(summary.proved, "table"),
            count(summary.positions, "position"),
            count(summary.faults, "fault")
        );
        if summary.faults > 0 {
            out.flush()?;
            return Err(Failure::failed(
                format!("cannot vouch for {variant}: {what}"),
                "remove the files that are wrong, and build or copy them and what is missing again",
            ));
        }
        if !self.quiet {
            out.line(format!("{variant}: {what}"))?;
        }
        out.flush()
    }
}

fn say(finding: &Finding, quiet: bool, progress: &Progress, out: &mut Output) -> Outcome {
    match finding {
        Finding::Fault { path, what } => {
            let path = path.display().to_string();
            // Errors of tables name the file themselves.
            if what.contains(&path) {
                out.line(format!("fault: {what}"))?;
            } else {
                out.line(format!("fault: {path}: {what}"))?;
            }
            out.flush()
        }
        Finding::Note { path, what } if !quiet => {
            out.line(format!("note: {}: {what}", path.display()))?;
            out.flush()
        }
        Finding::Started { material } => {
            progress.task(material.to_string());
            Ok(())
        }
        Finding::Proved {
            material,
            metrics,
            positions,
        } => {
            let metrics: Vec<_> = metrics.iter().map(|m| m.name()).collect();
            let positions = grouped(*positions);
            let metrics = metrics.join(",");
            progress.line(format!(
                "{material}: {positions} positions right ({metrics})"
            ));
            Ok(())
        }
        Finding::Note { .. } => Ok(()),
    }
}

fn failure(variant: &str, e: &Error) -> Failure {
    let why = match e {
        // What it says of builds is not so here.
        Error::Interrupted => "stopped".to_owned(),
        _ => chain(e),
    };
    let text = format!("cannot verify {variant}: {why}");
    Failure::failed(
        text,
        match e {
            Error::Interrupted => "run it again; a verification starts from the beginning",
            Error::Memory { .. } => {
                "prove part of the tables with --only, or give more memory with --memory"
            }
            _ => "give the directory of the tables with --dir, or build them with dambase build",
        },
    )
}
