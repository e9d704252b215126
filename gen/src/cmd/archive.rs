//! `dambase pack` and `dambase unpack`: tables for keeping and sending, and back.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use dambase_gen::archive::{self, Done, Request};
use dambase_gen::{Control, Error};

use super::failure::{Failure, Outcome, chain};
use super::output::Output;
use super::{Code, Directory, count, number, size, stop, there};

const PACK_EXAMPLES: &str = "\
Examples:
  dambase pack english --to packed";

const UNPACK_EXAMPLES: &str = "\
Examples:
  dambase unpack english --dir packed --to unpacked";

/// Make an archive of the tables of a code, for keeping or sending
///
/// Of each table of wins, losses and draws the archive has one side to move only, in large chunks.
/// Other tables are copied. Look-ups need the tables that `dambase unpack` makes of it.
#[derive(Debug, Args)]
#[command(after_help = PACK_EXAMPLES)]
pub(super) struct Pack {
    #[command(flatten)]
    common: Common,
}

/// Make the tables of a code from an archive
///
/// The side to move that the archive lacks follows from the other one and from smaller materials. All
/// values come out as they were, and the counts in the headers are compared.
#[derive(Debug, Args)]
#[command(after_help = UNPACK_EXAMPLES)]
pub(super) struct Unpack {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    code: Code,
    #[command(flatten)]
    directory: Directory,
    /// Directory to write to; must be another one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Threads that work at the same time [default: one for each processor]
    #[arg(long, value_name = "T", value_parser = number::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Say nothing but what is wrong
    #[arg(long, short)]
    quiet: bool,
}

type Work = fn(&Request<'_>, &Control, &mut dyn FnMut(Done)) -> Result<(), Error>;

impl Pack {
    pub(super) fn run(self) -> Outcome {
        self.common.run("pack", archive::pack)
    }
}

impl Unpack {
    pub(super) fn run(self) -> Outcome {
        self.common.run("unpack", archive::unpack)
    }
}

impl Common {
    fn run(self, verb: &str, work: Work) -> Outcome {
        let variant = self.code.variant;
        let cannot = format!("cannot {verb} {variant}");
        there::tables(&self.directory.dir, variant, &cannot)?;
        let failed = |e: &Error| Failure::failed(format!("{cannot}: {}", chain(e)), help(e));
        let control = Arc::new(Control::new());
        stop::on_signal(&control)?;
        let threads = self.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| failed(&Error::Threads(e.to_string())))?;
        let request = Request {
            variant,
            from: &self.directory.dir,
            to: &self.to,
        };
        let mut out = Output::new();
        let mut said: Outcome = Ok(());
        let (mut tables, mut before, mut after) = (0_u64, 0, 0);
        let result = pool.install(|| {
            work(&request, &control, &mut |done| {
                tables += 1;
                before += done.before;
                after += done.after;
                if !self.quiet && said.is_ok() {
                    said = out.line(format!(
                        "{}.{}: {} -> {}",
                        done.material,
                        done.metric.name(),
                        size(done.before),
                        size(done.after)
                    ));
                    if said.is_err() {
                        control.stop();
                    }
                }
            })
        });
        said?;
        result.map_err(|e| failed(&e))?;
        if !self.quiet {
            out.line(format!(
                "{variant}: {}, {} -> {}",
                count(tables, "table"),
                size(before),
                size(after)
            ))?;
        }
        out.flush()
    }
}

fn help(e: &Error) -> String {
    if let Some(help) = there::write_help(e) {
        return help;
    }
    match e {
        Error::Interrupted => "run it again; it starts from the beginning",
        Error::SameDirectory { .. } => "give another directory with --to",
        Error::MissingTable { .. } => "an archive must have all smaller tables too: get them first",
        Error::Counts(_) => "the archive does not belong together: get or make it again",
        _ => "run dambase info on the directory, and get or build again what is damaged",
    }
    .to_owned()
}
