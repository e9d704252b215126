//! Building the tables of a directory.
//!
//! [`build`] solves what is not there yet, in order, and writes each material while the next one
//! is being solved. A table is there or it is not: files get their names when they are complete
//! and on disk, so that a killed build goes on where it was. What does not fit into memory goes
//! through work files ([`crate::spill`]). The bytes of the tables depend on nothing but the rules and
//! the versions of program and format.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use dambase_rules::{Ruleset, Variant, WithRuleset};
use dambase_tables::{
    Codec, DtwArray, Header, Material, Metric, Table, WldArray, WriteOptions, table_path,
    write_dtw, write_wld,
};
use rayon::prelude::*;

use crate::plan::{Plan, children};
use crate::spill::{Placement, Spill};
use crate::verify::{self, LOCK_NAME, Listing, OtherKind, prove_in};
use crate::{Control, Error, Solved, Store, kingrun, scalar, setwise};

/// Which solver is used; their values are the same. Positions with king runs have a solver of their
/// own, [`crate::kingrun`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solver {
    /// One position at a time: [`crate::scalar`].
    Scalar,
    /// All squares of a king at a time: [`crate::setwise`].
    SetWise,
}

/// How tables are built.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of tables; those of the code go to a directory of its name inside.
    pub dir: PathBuf,
    /// Threads that work at the same time.
    pub threads: usize,
    /// Bytes of memory that may be taken.
    pub memory: u64,
    /// Bytes that may be written, tables and work files together, if that is known.
    pub disk: Option<u64>,
    /// Which solver is used.
    pub solver: Solver,
    /// Solve and write everything anew, whatever is there.
    pub rebuild: bool,
    /// Prove every material before it is written, and mark its tables as verified.
    pub verify: bool,
}

/// Something that a user may want to know.
#[derive(Clone, Debug)]
pub enum Event {
    /// An unfinished table or a work file of an earlier build was removed.
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// What is there has been looked at.
    Ready {
        /// Materials that are there already.
        reused: usize,
        /// Materials that will be solved.
        missing: usize,
        /// Positions of these.
        positions: u64,
        /// What [`Control::positions`] will count up to.
        work: u64,
    },
    /// Not everything fits into memory.
    Spilling {
        /// Where the work files are.
        dir: PathBuf,
        /// The most bytes of them that there will be at a time. An estimate.
        bytes: u64,
        /// Of so many materials.
        materials: usize,
        /// Bytes of memory that may be taken.
        memory: u64,
    },
    /// A table that is there is read, because others are built from it.
    Reading {
        /// The material.
        material: Material,
    },
    /// A material is being solved.
    Solving {
        /// The material.
        material: Material,
        /// Positions of its stored slices.
        positions: u64,
    },
    /// A material is complete on disk.
    Written {
        /// The material.
        material: Material,
        /// Positions of its stored slices.
        positions: u64,
        /// What has been written.
        headers: Vec<Header>,
        /// The time the solver took.
        solving: Duration,
        /// The time compression and writing took.
        writing: Duration,
    },
}

/// What a build has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Materials that were solved.
    pub built: usize,
    /// Materials that were there already.
    pub reused: usize,
    /// Positions of the materials that were solved.
    pub positions: u64,
    /// Bytes of all files of the plan.
    pub bytes: u64,
    /// The most bytes of work files that there have been at a time.
    pub work_files: u64,
}

/// Builds what is missing of a plan.
///
/// # Errors
/// Before anything is written: [`Error::LeastMemory`], [`Error::Disk`], [`Error::NotADirectory`],
/// [`Error::Io`], [`Error::Locked`]; [`Error::Unusable`] names a table that is there and cannot
/// be used, [`Error::OtherRun`] one that was built with the king run if the plan leaves it out, or
/// without it. Later: [`Error::Interrupted`] if `control` says so, [`Error::Table`] if a table or a
/// work file cannot be written; what is complete stays.
pub fn build(
    plan: &Plan,
    options: &Options,
    control: &Control,
    watch: &(dyn Fn(Event) + Sync),
) -> Result<Summary, Error> {
    let dir = options.dir.join(plan.variant.name());
    check_directories(&[&options.dir, &dir])?;
    let absent = |m: Material| {
        options.rebuild
            || plan
                .metrics
                .iter()
                .any(|&k| !path(plan, options, m, k).exists())
    };
    check_resources(plan, options, absent)?;
    fs::create_dir_all(&dir).map_err(|source| Error::Io {
        action: "create",
        path: dir.clone(),
        source,
    })?;
    let _lock = lock(&dir)?;
    for other in Listing::read(&options.dir, plan.variant)?.others {
        if other.kind == OtherKind::Temporary {
            // Nobody else writes here: the lock is ours.
            fs::remove_file(&other.path).map_err(|source| Error::Io {
                action: "remove",
                path: other.path.clone(),
                source,
            })?;
            watch(Event::Removed { path: other.path });
        }
    }
    check_runs(plan, options)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|e| Error::Threads(e.to_string()))?;
    let there = pool.install(|| reusable(plan, options, control))?;
    Builder {
        plan,
        options,
        control,
        watch,
        pool: &pool,
        there,
    }
    .run()
}

fn path(plan: &Plan, options: &Options, material: Material, metric: Metric) -> PathBuf {
    table_path(&options.dir, plan.variant, material, metric)
}

/// Names the first of the paths that is something else than a directory.
fn check_directories(dirs: &[&Path]) -> Result<(), Error> {
    for &dir in dirs {
        match fs::metadata(dir) {
            Ok(m) if !m.is_dir() => {
                return Err(Error::NotADirectory {
                    path: dir.to_owned(),
                });
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                let path = dir.parent().unwrap_or(dir).to_owned();
                return Err(Error::NotADirectory { path });
            }
            Err(source) => {
                return Err(Error::Io {
                    action: "open",
                    path: dir.to_owned(),
                    source,
                });
            }
        }
    }
    Ok(())
}

fn check_resources(
    plan: &Plan,
    options: &Options,
    absent: impl Fn(Material) -> bool,
) -> Result<(), Error> {
    let absent: Vec<_> = plan.steps.iter().map(|s| absent(s.material)).collect();
    let spill = plan.spill(&absent, options.memory);
    check_spill(&spill, tables_bytes(plan, &absent), options)
}

/// Bytes of the tables marked `absent`. An estimate.
fn tables_bytes(plan: &Plan, absent: &[bool]) -> u64 {
    let steps = plan.steps.iter().zip(absent);
    let absent = steps.filter(|(_, absent)| **absent);
    absent.fold(0, |sum: u64, (s, _)| sum.saturating_add(s.disk_bytes))
}

/// Refuses what fits neither into memory nor, with so many bytes of tables, on the disk.
pub(crate) fn check_spill(spill: &Spill, tables: u64, options: &Options) -> Result<(), Error> {
    let needed = spill.memory_bytes();
    if needed > options.memory {
        return Err(Error::LeastMemory {
            needed,
            available: options.memory,
        });
    }
    let work_files = spill.file_bytes();
    let needed = tables.saturating_add(work_files);
    if let Some(available) = options.disk
        && needed > available
    {
        return Err(Error::Disk {
            path: options.dir.clone(),
            needed,
            work_files,
            available,
        });
    }
    Ok(())
}

/// Says what goes through work files, if anything does, and gives the places.
pub(crate) fn place(
    spill: &Spill,
    plan: &Plan,
    options: &Options,
    watch: &(dyn Fn(Event) + Sync),
) -> Arc<Placement> {
    let dir = options.dir.join(plan.variant.name());
    let bytes = spill.file_bytes();
    if bytes > 0 {
        watch(Event::Spilling {
            dir: dir.clone(),
            bytes,
            materials: spill.materials(),
            memory: options.memory,
        });
    }
    Arc::new(spill.placement(plan, dir))
}

/// Keeps other builders out for as long as the file is open. The system drops the lock when the
/// process ends, however it ends.
pub(crate) fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(LOCK_NAME);
    let io = |action| {
        let path = path.clone();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    };
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(io("open"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let by = fs::read_to_string(&path).unwrap_or_default();
            let by = by.trim().parse().ok();
            return Err(Error::Locked {
                path: dir.to_owned(),
                by,
            });
        }
        Err(TryLockError::Error(e)) => return Err(io("lock")(e)),
    }
    // Only for the message that another builder gives; a full disk is no reason to stop here.
    let _ = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Names a table that will stay and does not go with the plan: positions with and without king
/// runs must not be mixed.
fn check_runs(plan: &Plan, options: &Options) -> Result<(), Error> {
    if plan.variant.rules().king_run.is_none() {
        return Ok(());
    }
    for (&material, metrics) in &Listing::read(&options.dir, plan.variant)?.tables {
        for &metric in metrics {
            let planned = plan.metrics.contains(&metric) || metric == Metric::Dtz;
            let replaced = options.rebuild && planned && plan.value_bytes(material) > 0;
            let file = path(plan, options, material, metric);
            // What cannot be opened is dealt with where it is needed.
            if let Ok(table) = Table::open(&file)
                && !replaced
            {
                check_run(plan, table.header(), file)?;
            }
        }
    }
    Ok(())
}

/// Refuses a table with the king run where the plan is without, and the other way round.
pub(crate) fn check_run(plan: &Plan, header: &Header, path: PathBuf) -> Result<(), Error> {
    let king_run = header.king_run;
    if king_run == plan.king_run {
        Ok(())
    } else {
        Err(Error::OtherRun { path, king_run })
    }
}

/// For each step the headers of the tables that are there and good.
fn reusable(plan: &Plan, options: &Options, control: &Control) -> Result<Vec<Vec<Header>>, Error> {
    if options.rebuild {
        return Ok(vec![Vec::new(); plan.steps.len()]);
    }
    plan.steps
        .par_iter()
        .map(|step| {
            let mut headers = Vec::new();
            for &metric in &plan.metrics {
                control.check()?;
                match Table::open_in(&options.dir, plan.variant, step.material, metric)
                    .and_then(|t| t.verify_checksums().map(|()| t.header().clone()))
                {
                    Ok(header) if header.slices.iter().any(|s| s.codec == Codec::Omitted) => {
                        let path = table_path(&options.dir, plan.variant, step.material, metric);
                        return Err(Error::Archived { path });
                    }
                    Ok(header) => headers.push(header),
                    Err(dambase_tables::Error::Io { source, .. })
                        if source.kind() == io::ErrorKind::NotFound => {}
                    Err(e) => return Err(Error::Unusable(e)),
                }
            }
            Ok(headers)
        })
        .collect()
}

struct Builder<'a> {
    plan: &'a Plan,
    options: &'a Options,
    control: &'a Control,
    watch: &'a (dyn Fn(Event) + Sync),
    pool: &'a rayon::ThreadPool,
    there: Vec<Vec<Header>>,
}

/// A solved material on its way to the disk.
struct Job {
    solved: Arc<Solved>,
    metrics: Vec<Metric>,
    positions: u64,
    verified: bool,
    on_unverified: bool,
    solving: Duration,
    held: Held,
}

/// Bytes of values.
#[derive(Clone, Copy, Default)]
struct Held {
    memory: u64,
    /// In work files.
    files: u64,
}

impl Held {
    fn of(bytes: u64, in_file: bool) -> Self {
        let (memory, files) = if in_file { (0, bytes) } else { (bytes, 0) };
        Self { memory, files }
    }
    fn add(&mut self, other: Self) {
        self.memory += other.memory;
        self.files += other.files;
    }
    fn take(&mut self, other: Self) {
        self.memory -= other.memory;
        self.files -= other.files;
    }
}

/// What became of a job: what it held is free again.
struct Done {
    held: Held,
    files: u64,
    result: Result<(), Error>,
}

impl Builder<'_> {
    fn run(&self) -> Result<Summary, Error> {
        let steps = &self.plan.steps;
        let absent: Vec<_> = self
            .there
            .iter()
            .map(|h| h.len() < self.plan.metrics.len())
            .collect();
        let missing = absent.iter().filter(|&&a| a).count();
        let positions = steps.iter().zip(&absent).filter(|(_, a)| **a);
        let positions = positions.map(|(s, _)| s.positions).sum();
        let passes = 1 + u64::from(self.options.verify);
        let mut summary = Summary {
            built: missing,
            reused: steps.len() - missing,
            positions,
            bytes: self.there.iter().flatten().map(|h| h.file_bytes).sum(),
            work_files: 0,
        };
        (self.watch)(Event::Ready {
            reused: summary.reused,
            missing,
            positions,
            work: positions * passes,
        });
        let spill = self.plan.spill(&absent, self.options.memory);
        let placement = place(&spill, self.plan, self.options, self.watch);
        let (jobs, todo) = sync_channel::<Job>(1);
        let (report, done) = sync_channel::<Done>(4);
        std::thread::scope(|scope| {
            scope.spawn(move || self.write_all(&todo, &report));
            let written = self.solve_all(&absent, (&spill, &placement), jobs, &done)?;
            summary.bytes += written;
            summary.work_files = placement.most_bytes();
            Ok(summary)
        })
    }

    /// Solves what is absent and hands it to the writer; gives the bytes written.
    fn solve_all(
        &self,
        absent: &[bool],
        (spill, placement): (&Spill, &Arc<Placement>),
        jobs: SyncSender<Job>,
        done: &Receiver<Done>,
    ) -> Result<u64, Error> {
        let steps = &self.plan.steps;
        let needed = self.plan.needed(absent);
        let keep = self.plan.last_uses(&needed);
        let mut store = if self.plan.king_run {
            Store::with_king_run()
        } else {
            Store::new()
        };
        store.place(Arc::clone(placement));
        // What the disk has for work files, tables apart.
        let tables = tables_bytes(self.plan, absent);
        let disk = self.options.disk.unwrap_or(u64::MAX).saturating_sub(tables);
        let mut waiting = Waiting::default();
        let mut unverified = std::collections::BTreeSet::new();
        for (i, step) in steps.iter().enumerate() {
            waiting.collect(done)?;
            let material = step.material;
            if self.there[i].iter().any(|h| !h.verified) || (absent[i] && !self.options.verify) {
                unverified.insert(material);
            }
            if !needed[i] {
                continue;
            }
            self.control.check()?;
            // What the set-wise solver may keep between materials: of what is left.
            let memory = self.options.memory;
            let left = memory.saturating_sub(spill.memory[i]);
            store.planes().set_budget(left.min(memory / 8));
            let on_unverified = children(self.plan.variant, material)
                .iter()
                .any(|c| unverified.contains(c));
            if absent[i] {
                // There must be room for what is still being written, too.
                let fits = |held: &Held| {
                    spill.memory[i].saturating_add(held.memory) <= memory
                        && spill.files[i].saturating_add(held.files) <= disk
                };
                while waiting.jobs > 0 && !fits(&waiting.held) {
                    waiting.wait(done)?;
                }
                (self.watch)(Event::Solving {
                    material,
                    positions: step.positions,
                });
                let start = Instant::now();
                let solved = self.pool.install(|| self.solve(material, &store))?;
                let solved = Arc::new(solved);
                store.insert(Arc::clone(&solved));
                if self.options.verify {
                    self.pool.install(|| self.prove(material, &store))?;
                }
                let held = Held::of(step.value_bytes, spill.values[i]);
                let there: Vec<_> = self.there[i].iter().map(|h| h.metric).collect();
                let metrics = self.plan.metrics.iter().copied();
                let job = Job {
                    solved,
                    metrics: metrics.filter(|m| !there.contains(m)).collect(),
                    positions: step.positions,
                    verified: self.options.verify,
                    on_unverified,
                    solving: start.elapsed(),
                    held,
                };
                waiting.held.add(held);
                waiting.jobs += 1;
                if jobs.send(job).is_err() {
                    // The writer has stopped and says why.
                    waiting.wait(done)?;
                }
            } else {
                (self.watch)(Event::Reading { material });
                let solved = self.pool.install(|| self.load(material, &store))?;
                store.insert(solved);
            }
            for (j, s) in steps[..=i].iter().enumerate() {
                if keep[j] <= i {
                    store.remove(s.material);
                }
            }
        }
        drop(jobs);
        while waiting.jobs > 0 {
            waiting.wait(done)?;
        }
        Ok(waiting.files)
    }

    fn solve(&self, material: Material, store: &Store) -> Result<Solved, Error> {
        let (variant, distances) = (self.plan.variant, self.plan.has_distances());
        if self.plan.king_run {
            return kingrun::solve(variant, material, store, distances, self.control);
        }
        match self.options.solver {
            Solver::Scalar => {
                scalar::solve_variant(variant, material, store, distances, self.control)
            }
            Solver::SetWise => {
                setwise::solve_variant(variant, material, store, distances, self.control)
            }
        }
    }

    /// Proves a material that was just solved.
    fn prove(&self, material: Material, store: &Store) -> Result<(), Error> {
        let (variant, distances) = (self.plan.variant, self.plan.has_distances());
        let slices = prove_in(store, variant, material, distances, self.control)?;
        let fault = slices.iter().flat_map(|s| &s.faults).next();
        fault.map_or(Ok(()), |f| {
            let what = format!("position {} ({}) {}", f.index, f.fen, f.what);
            Err(Error::Unsound { material, what })
        })
    }

    /// Reads a finished material back, with the values of its captures.
    fn load(&self, material: Material, store: &Store) -> Result<Solved, Error> {
        let open = |metric| Table::open_in(&self.options.dir, self.plan.variant, material, metric);
        let has = |metric| self.plan.metrics.contains(&metric);
        let sides = material.sides();
        let distances = if has(Metric::Dtw) {
            Some(open(Metric::Dtw)?)
        } else {
            None
        };
        let values = if has(Metric::Wld) {
            Some(open(Metric::Wld)?)
        } else {
            None
        };
        let any = values
            .as_ref()
            .or(distances.as_ref())
            .expect("a plan has metrics");
        let to = store.placement().values(material);
        let wld: Result<Vec<WldArray>, _> =
            sides.par_iter().map(|&s| any.read_wld_in(s, to)).collect();
        let dtw = match &distances {
            Some(t) => {
                let dtw: Result<Vec<DtwArray>, _> =
                    sides.par_iter().map(|&s| t.read_dtw_in(s, to)).collect();
                Some(dtw?)
            }
            None => None,
        };
        let mut solved = Solved {
            material,
            wld: wld?,
            dtw,
        };
        if self.plan.king_run {
            verify::resolve(self.plan.variant, &mut solved, store, self.control)?;
        } else {
            scalar::fill_captures_variant(self.plan.variant, &mut solved, store)?;
        }
        Ok(solved)
    }

    /// Writes what comes in until nobody sends any more or something goes wrong.
    fn write_all(&self, todo: &Receiver<Job>, report: &SyncSender<Done>) {
        for job in todo {
            let start = Instant::now();
            let material = job.solved.material;
            let written = self.pool.install(|| self.write(&job));
            let held = job.held;
            drop(job.solved);
            let done = match written {
                Ok(headers) => {
                    let files = headers.iter().map(|h| h.file_bytes).sum();
                    (self.watch)(Event::Written {
                        material,
                        positions: job.positions,
                        headers,
                        solving: job.solving,
                        writing: start.elapsed(),
                    });
                    Done {
                        held,
                        files,
                        result: Ok(()),
                    }
                }
                Err(e) => Done {
                    held,
                    files: 0,
                    result: Err(e),
                },
            };
            let failed = done.result.is_err();
            if report.send(done).is_err() || failed {
                return;
            }
        }
    }

    fn write(&self, job: &Job) -> Result<Vec<Header>, Error> {
        struct WriteTable<'a>(&'a Path, &'a Solved, Metric, &'a WriteOptions);
        impl WithRuleset for WriteTable<'_> {
            type Output = Result<Header, dambase_tables::Error>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self(path, solved, metric, options) = self;
                match (metric, &solved.dtw) {
                    (Metric::Dtw, Some(dtw)) => {
                        let slices: Vec<_> = dtw.iter().collect();
                        write_dtw::<R>(path, solved.material, &slices, options)
                    }
                    _ => {
                        let slices: Vec<_> = solved.wld.iter().collect();
                        write_wld::<R>(path, solved.material, &slices, options)
                    }
                }
            }
        }
        let options = WriteOptions {
            verified: job.verified,
            verifier: if job.verified {
                concat!("dambase ", env!("CARGO_PKG_VERSION")).to_owned()
            } else {
                String::new()
            },
            on_unverified: job.on_unverified,
            king_run: self.plan.king_run,
            ..WriteOptions::default()
        };
        let variant: Variant = self.plan.variant;
        let write = |&metric: &Metric| {
            let path = path(self.plan, self.options, job.solved.material, metric);
            let write = WriteTable(&path, &job.solved, metric, &options);
            Ok(variant.with(write)?)
        };
        job.metrics.iter().map(write).collect()
    }
}

/// Jobs that the writer has not finished.
#[derive(Default)]
struct Waiting {
    jobs: usize,
    /// Their values.
    held: Held,
    /// Bytes written so far.
    files: u64,
}

impl Waiting {
    /// Takes note of what has been finished meanwhile.
    fn collect(&mut self, done: &Receiver<Done>) -> Result<(), Error> {
        while let Ok(d) = done.try_recv() {
            self.note(d)?;
        }
        Ok(())
    }

    /// Waits for the next job to be finished.
    fn wait(&mut self, done: &Receiver<Done>) -> Result<(), Error> {
        match done.recv() {
            Ok(d) => self.note(d),
            Err(_) => {
                // The writer is gone without a word, which only a panic can do.
                self.jobs = 0;
                self.held = Held::default();
                Err(Error::Interrupted)
            }
        }
    }

    fn note(&mut self, d: Done) -> Result<(), Error> {
        self.jobs -= 1;
        self.held.take(d.held);
        self.files += d.files;
        d.result
    }
}
