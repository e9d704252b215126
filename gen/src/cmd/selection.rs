//! Which tables a command is about: pieces, materials, metrics.

use clap::Args;
use dambase_gen::plan::{Plan, occurs};
use dambase_rules::{LimitSet, Variant};
use dambase_tables::{Material, Metric};

use super::failure::Failure;
use super::number;

/// Pieces on the board unless `--pieces` or `--only` say otherwise.
const DEFAULT_PIECES: u8 = 4;

/// The tables to build.
#[derive(Clone, Debug, Args)]
pub(super) struct Selection {
    /// All materials of 2 to N pieces, both sides together [default: 4]
    #[arg(long, value_name = "N", value_parser = number::pieces, allow_negative_numbers = true)]
    pieces: Option<u8>,
    /// What to store: wld (win, loss or draw), dtw (plies to the end of the game), dtz (value under
    /// the draw limits, with the plies of the clock that are needed; wld or dtw tables are built
    /// too)
    #[arg(
        long,
        value_name = "METRIC,...",
        value_delimiter = ',',
        default_value = "wld,dtw",
        value_parser = metric
    )]
    metric: Vec<Metric>,
    /// Only these materials, for example KKMvKM, and the smaller ones that they need
    #[arg(long, value_name = "MATERIAL,...", value_delimiter = ',', value_parser = material)]
    only: Vec<Material>,
    /// Draw limits of dtz tables: names to be on, or no-NAME to be off; "default" stands for those
    /// that are on by default. For example no-long-diagonal, or default,30-move,60-move for the
    /// extras of russian [default: default]
    #[arg(long, value_name = "NAME,...")]
    limits: Option<String>,
    /// Leave the king run out of a code that has one (frisian): a fraction of the positions, but
    /// values are those of play without that rule
    #[arg(long)]
    no_king_run: bool,
    /// Threads that work at the same time [default: one for each processor]
    #[arg(long, value_name = "T", value_parser = number::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

fn metric(s: &str) -> Result<Metric, String> {
    s.parse().map_err(|e| format!("{e}"))
}

/// A material with pieces of both sides.
pub(super) fn material(s: &str) -> Result<Material, String> {
    s.parse().map_err(|e| format!("{e}"))
}

impl Selection {
    /// Threads asked for, or one for each processor.
    pub(super) fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all)
    }

    /// Whether tables under the draw limits are asked for. They are built from those of the plan.
    pub(super) fn under_limits(&self) -> bool {
        self.metric.contains(&Metric::Dtz)
    }

    /// The draw limits of the tables asked for; nothing if no such tables are.
    pub(super) fn limits(&self, variant: Variant) -> Result<Option<LimitSet>, Failure> {
        let limits = match &self.limits {
            Some(names) => LimitSet::parse(variant, names).map_err(|e| {
                Failure::usage(
                    format!("cannot use --limits \"{names}\": {e}"),
                    "give names separated by commas, no-NAME to switch one off",
                )
            })?,
            None => LimitSet::of(variant),
        };
        Ok((self.under_limits() && !limits.is_empty()).then_some(limits))
    }

    /// What is stored besides.
    fn plain(&self) -> Vec<Metric> {
        let mut plain = self.metric.clone();
        plain.retain(|&m| m != Metric::Dtz);
        if plain.is_empty() {
            plain.push(Metric::Wld);
        }
        plain
    }

    /// The plan without the tables under the draw limits, or why there is none.
    pub(super) fn plan(&self, variant: Variant) -> Result<Plan, Failure> {
        let rules = variant.rules();
        let most = 2 * rules.start_rows * rules.geometry.per_row() as u8;
        let too_many = |n: u8| {
            Failure::usage(
                format!("cannot plan tables of {n} pieces: {variant} has {most} at the start"),
                format!("give at most {most} with --pieces"),
            )
        };
        if self.limits.is_some() && !self.under_limits() {
            return Err(Failure::usage(
                "cannot use --limits: no tables under the draw limits are asked for",
                "add dtz to --metric, for example --metric wld,dtw,dtz, or leave out --limits",
            ));
        }
        if let Some(n) = self.pieces
            && n > most
        {
            return Err(too_many(n));
        }
        for &m in &self.only {
            let each = most / 2;
            if m.kings[0] + m.men[0] > each || m.kings[1] + m.men[1] > each {
                return Err(Failure::usage(
                    format!("cannot plan {m}: a side of {variant} has {each} pieces at the start"),
                    format!("give materials of at most {each} pieces a side"),
                ));
            }
            if !occurs(variant, m) {
                return Err(Failure::usage(
                    format!("cannot plan {m}: in {variant} the game is over before it arises"),
                    "give materials without kings",
                ));
            }
            if self.pieces.is_some_and(|n| m.pieces() > n) {
                return Err(Failure::usage(
                    format!("cannot plan {m}: it has more pieces than --pieces says"),
                    "leave out --pieces, --only alone will do",
                ));
            }
        }
        let threads = self.threads();
        let plan = if self.only.is_empty() {
            let pieces = self.pieces.unwrap_or(DEFAULT_PIECES);
            Plan::complete(variant, pieces, &self.plain(), threads)
        } else {
            Plan::with_children(variant, &self.only, &self.plain(), threads)
        };
        let plan = if self.no_king_run {
            plan.and_then(Plan::without_king_run)
        } else {
            plan
        };
        plan.map_err(|e| {
            Failure::usage(
                format!("cannot plan the tables of {variant}: {e}"),
                "give fewer pieces with --pieces or --only",
            )
        })
    }
}
