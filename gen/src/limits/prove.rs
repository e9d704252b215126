//! Proving tables of values under the draw limits.
//!
//! Every position is looked up as a user would, and its value derived again from those of its
//! successors by the rules of the clocks ([`Tablebase::check_dtz`]); nothing of the solver is used.

use std::collections::BTreeSet;

use dambase_probe::Tablebase;
use dambase_rules::{Position, Side};
use dambase_tables::{
    Dtw, Longest, Material, Metric, RuleValue, RunIndex, SliceStats, Table, table_path,
};
use rayon::prelude::*;

use crate::verify::{Finding, Listing, Request, SAMPLE, Summary, sampled};
use crate::{Control, Error};

/// Faults of one slice that are named.
const MOST_FAULTS: usize = 8;
/// Positions between two looks at the wish to stop.
const CHUNK: u64 = 1 << 12;

/// Checks and proves the tables under the draw limits of a code. Those of values without limits
/// are taken as right.
///
/// # Errors
/// [`Error::Table`] if the directory cannot be listed, [`Error::Interrupted`]. What is wrong with
/// the tables is no error but a [`Finding::Fault`].
pub fn prove(
    request: &Request<'_>,
    control: &Control,
    watch: &mut dyn FnMut(&Finding),
) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let listing = Listing::read(request.dir, request.variant)?;
    let only: BTreeSet<_> = request.only.iter().map(Material::canonical).collect();
    let mut wanted = listing
        .tables
        .keys()
        .copied()
        .filter(|&m| listing.has(m, Metric::Dtz) && (only.is_empty() || only.contains(&m)));
    let Some(first) = wanted.next() else {
        return Ok(summary);
    };
    let path = |m: Material| table_path(request.dir, request.variant, m, Metric::Dtz);
    let tables = match Tablebase::open(request.variant, [request.dir]) {
        Ok(tables) => tables,
        Err(e) => {
            summary.faults += 1;
            watch(&Finding::Fault {
                path: request.dir.to_owned(),
                what: e.to_string(),
            });
            return Ok(summary);
        }
    };
    for material in std::iter::once(first).chain(wanted) {
        watch(&Finding::Started { material });
        let before = summary.faults;
        let mut fault = |what: String| {
            summary.faults += 1;
            let path = path(material);
            watch(&Finding::Fault { path, what });
        };
        let header = match Table::open(path(material))
            .and_then(|t| t.verify_checksums().map(|()| t.header().clone()))
        {
            Ok(header) => header,
            Err(e) => {
                fault(e.to_string());
                continue;
            }
        };
        let mut positions = 0;
        for slice in &header.slices {
            let found = self::slice(request, &tables, material, slice.side, control)?;
            positions += found.positions;
            for what in &found.faults {
                fault(what.clone());
            }
            if found.wrong > found.faults.len() as u64 {
                let more = found.wrong - found.faults.len() as u64;
                fault(format!("{more} more positions are wrong"));
            }
            // What is not about values is the writer's.
            let counts = SliceStats {
                captures: slice.stats.captures,
                decided: slice.stats.decided,
                ..found.stats
            };
            if !request.quick && found.wrong == 0 && counts != slice.stats {
                let side = slice.side.name();
                fault(format!(
                    "the header counts {:?} with {side} to move, the proof {counts:?}",
                    slice.stats
                ));
            }
        }
        summary.positions += positions;
        if summary.faults == before {
            summary.proved += 1;
            watch(&Finding::Proved {
                material,
                metrics: vec![Metric::Dtz],
                positions,
            });
        }
    }
    Ok(summary)
}

/// What was found in some positions of a slice.
#[derive(Default)]
struct Found {
    positions: u64,
    stats: SliceStats,
    wrong: u64,
    faults: Vec<String>,
}

impl Found {
    fn count(&mut self, value: RuleValue, index: u64) {
        let s = &mut self.stats;
        let longer = |longest: &mut Option<Longest>, plies: u16| {
            let plies = Dtw(plies);
            Longest::keep(longest, Some(Longest { plies, index }));
        };
        s.positions += 1;
        match value {
            RuleValue::Draw => s.draws += 1,
            RuleValue::CursedWin => s.cursed_wins += 1,
            RuleValue::BlessedLoss => s.blessed_losses += 1,
            RuleValue::Win(n) => {
                s.wins += 1;
                longer(&mut s.longest_win, n.0);
            }
            RuleValue::Loss(n) => {
                s.losses += 1;
                longer(&mut s.longest_loss, n.0);
            }
        }
    }

    /// Adds what was found in later positions.
    fn add(mut self, o: Self) -> Self {
        self.positions += o.positions;
        self.wrong += o.wrong;
        self.faults.extend(o.faults);
        self.faults.truncate(MOST_FAULTS);
        self.stats.merge(&o.stats);
        self
    }
}

fn slice(
    request: &Request<'_>,
    tables: &Tablebase,
    material: Material,
    side: Side,
    control: &Control,
) -> Result<Found, Error> {
    let rules = request.variant.rules();
    let scope = rules.king_run.filter(|_| tables.king_run());
    let index = RunIndex::<u128>::new(rules.geometry, scope, material)?;
    let all = index.positions();
    let n = if request.quick { all.min(SAMPLE) } else { all };
    let chunk = |c: u64| {
        control.check()?;
        let mut found = Found::default();
        let range = c * CHUNK..((c + 1) * CHUNK).min(n);
        control.add(range.end - range.start);
        for i in range.map(|i| sampled(i, n, all)) {
            let (board, runs) = index.position(i);
            let position = Position::new(request.variant, board, side, runs);
            let what = match &position {
                Ok(p) => match tables.check_dtz(p) {
                    Ok(what) => what,
                    Err(e) => Some(format!("cannot be looked up: {e}")),
                },
                Err(e) => Some(e.to_string()),
            };
            found.positions += 1;
            if let Some(what) = what {
                found.wrong += 1;
                if found.faults.len() < MOST_FAULTS {
                    let fen = position.map_or_else(|_| String::new(), |p| p.fen());
                    found.faults.push(format!("position {i} ({fen}) {what}"));
                }
            } else if let Ok(p) = &position
                && let Ok(value) = tables.probe_dtz(p)
            {
                found.count(value, i);
                if tables.king_run() {
                    let none = found.stats.no_runs.get_or_insert_default();
                    if i.is_multiple_of(index.run_states()) {
                        none.add(value.under_limits());
                    }
                }
            }
        }
        Ok(found)
    };
    let chunks: Vec<_> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(chunk)
        .collect::<Result<_, Error>>()?;
    Ok(chunks.into_iter().fold(Found::default(), Found::add))
}
