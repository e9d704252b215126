//! Proving the tables of a directory.
//!
//! [`verify`] checks the files (names, headers, checksums, counts) and proves every value from
//! those of its successors; see [`prove`] for how.

pub(crate) mod listing;
pub mod prove;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dambase_rules::{Ruleset, Variant, WithRuleset};
use dambase_tables::{Header, Material, Metric, SliceStats, Table, table_path};

use crate::plan::{Plan, children};
use crate::{Control, Error, Solved, Store};

pub use listing::{LOCK_NAME, Listing, Other, OtherKind};
use prove::{Extent, Oracle, Prover, SliceProof};

/// Positions of a slice that [`Request::quick`] looks at.
pub const SAMPLE: u64 = 1 << 16;

/// What is to be verified.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The directory of tables, in which those of the code are in a directory of its name.
    pub dir: &'a Path,
    /// The code.
    pub variant: Variant,
    /// Only these materials, or all if empty. What they rest on is read but not proved.
    pub only: &'a [Material],
    /// Prove only [`SAMPLE`] positions of each slice, always the same ones.
    pub quick: bool,
    /// Bytes of memory that may be taken.
    pub memory: u64,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Something is wrong with a file.
    Fault {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Something that a user may want to know.
    Note {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A material is being proved.
    Started {
        /// The material.
        material: Material,
    },
    /// All tables of a material are right.
    Proved {
        /// The material.
        material: Material,
        /// What is stored of it.
        metrics: Vec<Metric>,
        /// Positions that were looked at.
        positions: u64,
    },
}

/// The sum of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Tables that were found right.
    pub proved: u64,
    /// Positions that were looked at.
    pub positions: u64,
    /// Things that are wrong.
    pub faults: u64,
}

/// Positions that [`verify`] and, of tables under the draw limits, [`crate::limits::prove`] will look at, as
/// far as the names of the files tell.
///
/// # Errors
/// [`Error::Table`] if the directory cannot be listed.
pub fn positions(request: &Request<'_>) -> Result<u64, Error> {
    let listing = Listing::read(request.dir, request.variant)?;
    let materials = wanted(request, &listing);
    let king_run = listing.king_run(request.dir, request.variant);
    let plan = Plan::exactly(request.variant, king_run, materials, &[Metric::Wld])?;
    let slice = |positions: u64| {
        if request.quick {
            positions.min(SAMPLE)
        } else {
            positions
        }
    };
    let all = plan.steps.iter().map(|s| {
        let has = |metric| listing.has(s.material, metric);
        let times = u64::from(has(Metric::Wld) || has(Metric::Dtw)) + u64::from(has(Metric::Dtz));
        slice(s.slice_positions) * s.material.sides().len() as u64 * times
    });
    Ok(all.sum())
}

/// The index of number `i` of the `few` positions of a sample of `n`: spread evenly, then moved by a
/// fixed hash inside each stretch.
pub(crate) fn sampled(i: u64, few: u64, n: u64) -> u64 {
    let at = |i: u64| (u128::from(i) * u128::from(n) / u128::from(few)) as u64;
    let (from, to) = (at(i), at(i + 1));
    from + (i ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (to - from).max(1)
}

fn wanted(request: &Request<'_>, listing: &Listing) -> Vec<Material> {
    let only: BTreeSet<_> = request.only.iter().map(Material::canonical).collect();
    let all = listing.tables.keys().copied();
    all.filter(|m| only.is_empty() || only.contains(m))
        .collect()
}

/// Checks and proves the tables of a code. Everything found is given to `watch` in a fixed order.
///
/// # Errors
/// [`Error::Table`] if the directory cannot be listed, [`Error::Memory`] if the tables need more
/// memory than allowed, [`Error::Interrupted`]. What is wrong with the tables is no error but a
/// [`Finding::Fault`].
pub fn verify(
    request: &Request<'_>,
    control: &Control,
    watch: &mut dyn FnMut(&Finding),
) -> Result<Summary, Error> {
    let listing = Listing::read(request.dir, request.variant)?;
    let proving = wanted(request, &listing);
    let mut run = Run {
        request,
        control,
        watch,
        summary: Summary::default(),
        store: if listing.king_run(request.dir, request.variant) {
            Store::with_king_run()
        } else {
            Store::new()
        },
        missing: BTreeSet::new(),
    };
    run.others(&listing);
    run.absent(&listing, &proving);
    let needed = run.needed(&proving);
    run.memory(&needed)?;
    for (i, &material) in needed.iter().enumerate() {
        control.check()?;
        let prove = proving.binary_search(&material).is_ok();
        if let Some(metrics) = listing.tables.get(&material) {
            run.material(material, metrics, prove)?;
        }
        // What no later material rests on may go.
        let later = run.asked_by(&needed[i + 1..]);
        for m in run.store.materials() {
            if !later.contains(&m) {
                run.store.remove(m);
            }
        }
    }
    Ok(run.summary)
}

struct Run<'a> {
    request: &'a Request<'a>,
    control: &'a Control,
    watch: &'a mut dyn FnMut(&Finding),
    summary: Summary,
    store: Store,
    missing: BTreeSet<PathBuf>,
}

impl Run<'_> {
    fn fault(&mut self, path: PathBuf, what: impl Into<String>) {
        self.summary.faults += 1;
        (self.watch)(&Finding::Fault {
            path,
            what: what.into(),
        });
    }

    fn path(&self, material: Material, metric: Metric) -> PathBuf {
        table_path(self.request.dir, self.request.variant, material, metric)
    }

    /// Names the files that are no tables.
    fn others(&mut self, listing: &Listing) {
        for other in &listing.others {
            let path = other.path.clone();
            match other.kind {
                OtherKind::Lock => {}
                OtherKind::BadName => self.fault(path, "is called like a table but by no material in canonical form; remove or rename it"),
                OtherKind::Temporary | OtherKind::Foreign => {
                    let what = if other.kind == OtherKind::Temporary {
                        "is an unfinished table; the next build removes it"
                    } else {
                        "is no table"
                    };
                    (self.watch)(&Finding::Note {
                        path,
                        what: what.to_owned(),
                    });
                }
            }
        }
    }

    /// Names the tables that are missing where a number of pieces seems to be meant to be complete,
    /// which is where at least three quarters of its tables are there; and those that were asked for.
    fn absent(&mut self, listing: &Listing, proving: &[Material]) {
        if !self.request.only.is_empty() {
            let only = self.request.only.iter().map(Material::canonical);
            for m in only.collect::<BTreeSet<_>>() {
                if !listing.tables.contains_key(&m) {
                    self.fault(
                        self.path(m, Metric::Wld),
                        format!("no table of {m} is there"),
                    );
                }
            }
            return;
        }
        let mut counts: BTreeMap<(u8, Metric), usize> = BTreeMap::new();
        for &m in proving {
            for &metric in &listing.tables[&m] {
                *counts.entry((m.pieces(), metric)).or_default() += 1;
            }
        }
        for ((pieces, metric), count) in counts {
            let mut all = Material::canonical_with(pieces);
            all.retain(|&m| crate::plan::occurs(self.request.variant, m));
            if 4 * count < 3 * all.len() {
                continue;
            }
            for m in all {
                if !listing.has(m, metric) {
                    let path = self.path(m, metric);
                    if self.missing.insert(path.clone()) {
                        let what = format!("is missing; most tables of {pieces} pieces are there");
                        self.fault(path, what);
                    }
                }
            }
        }
    }

    /// The materials to prove and those that must be read for that, in order.
    fn needed(&self, proving: &[Material]) -> Vec<Material> {
        let mut all: BTreeSet<_> = self.needed_by(proving);
        all.extend(proving);
        all.into_iter().collect()
    }

    /// What `materials` rest on, all the way down.
    fn needed_by(&self, materials: &[Material]) -> BTreeSet<Material> {
        let mut all = BTreeSet::new();
        let mut open: Vec<_> = materials.to_vec();
        while let Some(m) = open.pop() {
            for child in children(self.request.variant, m) {
                if all.insert(child) {
                    open.push(child);
                }
            }
        }
        all
    }

    /// What must be in memory to read and prove `materials`.
    fn asked_by(&self, materials: &[Material]) -> BTreeSet<Material> {
        if self.request.quick {
            // Captures are not resolved but played out, through any number of materials.
            return self.needed_by(materials);
        }
        let of = |&m: &Material| children(self.request.variant, m);
        materials.iter().flat_map(of).collect()
    }

    fn memory(&self, needed: &[Material]) -> Result<(), Error> {
        let variant = self.request.variant;
        let distances = needed.iter().any(|&m| self.path(m, Metric::Dtw).exists());
        let metric = if distances { Metric::Dtw } else { Metric::Wld };
        let king_run = self.store.king_run();
        let plan = Plan::exactly(variant, king_run, needed.to_vec(), &[metric])?;
        let bytes = if self.request.quick {
            let all = plan.steps.iter().map(|s| s.value_bytes);
            all.fold(0, u64::saturating_add)
        } else {
            plan.memory_to_read()
        };
        if bytes > self.request.memory {
            return Err(Error::Memory {
                needed: bytes,
                available: self.request.memory,
            });
        }
        Ok(())
    }

    /// Opens a table and checks its bytes.
    fn open(&mut self, material: Material, metric: Metric) -> Option<Table> {
        let (dir, variant) = (self.request.dir, self.request.variant);
        let opened = Table::open_in(dir, variant, material, metric)
            .and_then(|t| t.verify_checksums().map(|()| t));
        let table = opened
            .map_err(|e| self.fault(self.path(material, metric), said(&e)))
            .ok()?;
        if self.store.king_run() && !table.header().king_run {
            let what = "was built without the king run, which other tables have";
            self.fault(self.path(material, metric), what);
            return None;
        }
        Some(table)
    }
}

/// An error with its causes.
fn said(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(c) = cause {
        text.push_str(&format!(": {c}"));
        cause = c.source();
    }
    text
}

/// [`prove::resolve`] for a code chosen at run time.
struct Resolve<'a>(&'a mut Solved, &'a Store, &'a Control);

impl WithRuleset for Resolve<'_> {
    type Output = Result<(), Error>;
    fn run<R: Ruleset>(self) -> Self::Output {
        prove::resolve::<R>(self.0, self.1, self.2)
    }
}

/// Puts the true values of captures into the arrays of a material read from tables; see
/// [`prove::resolve`].
///
/// # Errors
/// As [`prove::resolve`].
pub fn resolve(
    variant: Variant,
    solved: &mut Solved,
    store: &Store,
    control: &Control,
) -> Result<(), Error> {
    variant.with(Resolve(solved, store, control))
}

/// [`Prover::prove`] for a code chosen at run time.
struct Prove<'a> {
    material: Material,
    store: &'a Store,
    distances: bool,
    extent: Extent,
    control: &'a Control,
}

impl WithRuleset for Prove<'_> {
    type Output = Result<Vec<SliceProof>, Error>;
    fn run<R: Ruleset>(self) -> Self::Output {
        let resolved = self.extent == Extent::All;
        let oracle = Oracle::<R>::new(self.store, None, self.distances, resolved)?;
        Prover::new(&oracle, self.control).prove(self.material, self.extent)
    }
}

/// Proves a material of `store` whose captures, like those of all others there, have their true
/// values, by [`Prover::prove`].
///
/// # Errors
/// As [`Prover::prove`].
pub fn prove_in(
    store: &Store,
    variant: Variant,
    material: Material,
    distances: bool,
    control: &Control,
) -> Result<Vec<SliceProof>, Error> {
    variant.with(Prove {
        material,
        store,
        distances,
        extent: Extent::All,
        control,
    })
}

impl Run<'_> {
    /// Reads a material and proves it if asked to.
    fn material(
        &mut self,
        material: Material,
        metrics: &[Metric],
        prove: bool,
    ) -> Result<(), Error> {
        let mut tables = Vec::new();
        for &metric in metrics {
            tables.extend(self.open(material, metric));
        }
        let bad = tables.len() != metrics.len();
        // What is left under draw limits is another question; those tables are checked for damage.
        tables.retain(|t: &Table| t.header().metric != Metric::Dtz);
        let Some((mut solved, mut distances)) = self.load(material, &tables) else {
            return Ok(());
        };
        // Whether all that the values rest on is there.
        for child in children(self.request.variant, material) {
            let (wld, dtw) = match self.store.get(child) {
                Some(s) => (true, s.dtw.is_some()),
                None => (false, false),
            };
            if distances && !dtw {
                self.needs(material, child, Metric::Dtw);
                (distances, solved.dtw) = (false, None);
                tables.retain(|t| t.header().metric != Metric::Dtw);
            }
            if !wld {
                self.needs(material, child, Metric::Wld);
                return Ok(());
            }
        }
        if !self.request.quick {
            resolve(self.request.variant, &mut solved, &self.store, self.control)?;
        }
        self.store.insert(solved);
        if !prove || tables.is_empty() {
            return Ok(());
        }
        let extent = if self.request.quick {
            Extent::Sample(SAMPLE)
        } else {
            Extent::All
        };
        (self.watch)(&Finding::Started { material });
        let slices = self.request.variant.with(Prove {
            material,
            store: &self.store,
            distances,
            extent,
            control: self.control,
        })?;
        self.judge(material, &tables, &slices, extent, bad);
        Ok(())
    }
}

impl Run<'_> {
    /// The values of a material, and whether there are distances.
    fn load(&mut self, material: Material, tables: &[Table]) -> Option<(Solved, bool)> {
        let of = |metric| tables.iter().find(|t| t.header().metric == metric);
        let (wld, dtw) = (of(Metric::Wld), of(Metric::Dtw));
        let sides = material.sides();
        let read = || -> Result<Option<Solved>, dambase_tables::Error> {
            let Some(any) = wld.or(dtw) else {
                return Ok(None);
            };
            Ok(Some(Solved {
                material,
                wld: sides
                    .iter()
                    .map(|&s| any.read_wld(s))
                    .collect::<Result<_, _>>()?,
                dtw: match dtw {
                    Some(t) => Some(
                        sides
                            .iter()
                            .map(|&s| t.read_dtw(s))
                            .collect::<Result<_, _>>()?,
                    ),
                    None => None,
                },
            }))
        };
        match read() {
            Ok(solved) => solved.map(|s| (s, dtw.is_some())),
            Err(e) => {
                self.fault(self.path(material, Metric::Wld), said(&e));
                None
            }
        }
    }

    /// A table that another one rests on is not there.
    fn needs(&mut self, material: Material, child: Material, metric: Metric) {
        let path = self.path(child, metric);
        if self.missing.insert(path.clone()) {
            self.fault(
                path,
                format!("is missing or unusable; {material} cannot be proved without"),
            );
        }
    }

    /// Compares what was found with what the tables say.
    fn judge(
        &mut self,
        material: Material,
        tables: &[Table],
        slices: &[SliceProof],
        extent: Extent,
        bad: bool,
    ) {
        let before = self.summary.faults;
        let looked_at: u64 = slices.iter().map(|s| s.stats.positions).sum();
        self.summary.positions += looked_at;
        // Distances decide if there are any; then they are what is wrong.
        let judged = tables.iter().map(|t| t.header().metric).max();
        let path = self.path(material, judged.unwrap_or(Metric::Wld));
        for proof in slices {
            for f in &proof.faults {
                let what = format!("position {} ({}) {}", f.index, f.fen, f.what);
                self.fault(path.clone(), what);
            }
            if proof.wrong > proof.faults.len() as u64 {
                let more = proof.wrong - proof.faults.len() as u64;
                self.fault(path.clone(), format!("{more} more positions are wrong"));
            }
        }
        if extent == Extent::All {
            for t in tables {
                let h = t.header();
                for (said, found) in h.slices.iter().zip(slices) {
                    if said.stats != for_metric(h, &found.stats) {
                        let side = said.side.name();
                        let what = format!(
                            "the header counts {:?} with {side} to move, the proof {:?}",
                            said.stats,
                            for_metric(h, &found.stats)
                        );
                        self.fault(t.path().to_owned(), what);
                    }
                }
            }
        }
        if self.summary.faults == before && !bad {
            self.summary.proved += tables.len() as u64;
            let metrics = tables.iter().map(|t| t.header().metric).collect();
            (self.watch)(&Finding::Proved {
                material,
                metrics,
                positions: looked_at,
            });
        }
    }
}

/// The counts as a table of this metric has them.
fn for_metric(header: &Header, stats: &SliceStats) -> SliceStats {
    let mut stats = *stats;
    if header.metric == Metric::Wld {
        (stats.longest_win, stats.longest_loss) = (None, None);
    }
    stats
}
