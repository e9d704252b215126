//! Building the tables of values under the draw limits of a directory.
//!
//! They are built from the tables of win, loss and draw (or of distances) that are there, after
//! these: a pass of its own, material by material in the same order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use dambase_rules::movegen::{MoveList, captures};
use dambase_rules::{LimitSet, Ruleset, WithRuleset};
use dambase_tables::{
    Backing, DtzArray, Header, Index, Material, Metric, RuleValue, Table, WldArray, WriteOptions,
    table_path, write_dtz, write_needs,
};

use super::set_wise::{of, solve_set_wise};
use super::{Done, Plan as Solving, Ruled, RuledNeeds, RuledStore, solve_any};
use crate::build::{Event, Options, Solver, Summary, check_run, check_spill, lock, place};
use crate::plan::Plan;
use crate::spill::Placement;
use crate::{Control, Error, Solved, Store, kingrun, parallel, verify};

/// Builds what is missing of the tables under `limits` of the materials of a plan. Their tables of
/// win, loss and draw or of distances must be there, with the king run if the plan has it.
///
/// # Errors
/// [`Error::OtherRun`] for a table that is there and was built with the king run if the plan is
/// without it, or the other way round;
/// [`Error::OtherLimits`] for a table that is there and was built under other limits;
/// [`Error::Unusable`] for one that cannot be used; [`Error::LeastMemory`]; [`Error::Disk`]; [`Error::Locked`];
/// [`Error::Threads`]; [`Error::Table`] if a table cannot be read, or it or a work file written;
/// [`Error::Interrupted`]. What is complete stays.
pub fn build(
    plan: &Plan,
    options: &Options,
    limits: &LimitSet,
    control: &Control,
    watch: &(dyn Fn(Event) + Sync),
) -> Result<Summary, Error> {
    if limits.is_empty() {
        return Ok(Summary::default());
    }
    let _lock = lock(&options.dir.join(plan.variant.name()))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|e| Error::Threads(e.to_string()))?;
    pool.install(|| {
        Builder {
            plan,
            options,
            limits,
            control,
            watch,
        }
        .run()
    })
}

/// Refuses what will not fit into memory or on the disk, before anything else is built: tables
/// under `limits` of the materials of a plan of which no such table is there.
///
/// # Errors
/// [`Error::LeastMemory`]; [`Error::Disk`].
pub fn check(plan: &Plan, options: &Options, limits: &LimitSet) -> Result<(), Error> {
    let path = |material| table_path(&options.dir, plan.variant, material, Metric::Dtz);
    let steps = plan.steps.iter();
    let absent: Vec<_> = steps
        .map(|s| options.rebuild || !path(s.material).exists())
        .collect();
    let needed = plan.needed(&absent);
    let spill = plan.spill_under_limits(limits, &needed, options.memory);
    check_spill(&spill, plan.tables_under_limits(limits, &absent), options)
}

struct Builder<'a> {
    plan: &'a Plan,
    options: &'a Options,
    limits: &'a LimitSet,
    control: &'a Control,
    watch: &'a (dyn Fn(Event) + Sync),
}

impl Builder<'_> {
    fn run(&self) -> Result<Summary, Error> {
        let steps = &self.plan.steps;
        let there = steps.iter().map(|s| self.there(s.material));
        let there = there.collect::<Result<Vec<_>, _>>()?;
        let absent: Vec<_> = there.iter().map(Option::is_none).collect();
        let needed = self.plan.needed(&absent);
        let last = self.plan.last_uses(&needed);
        let memory = self.options.memory;
        let spill = self.plan.spill_under_limits(self.limits, &needed, memory);
        let tables = self.plan.tables_under_limits(self.limits, &absent);
        check_spill(&spill, tables, self.options)?;
        let missing = steps.iter().zip(&absent).filter(|(_, a)| **a);
        let positions = missing.map(|(s, _)| s.positions).sum();
        let built = absent.iter().filter(|&&a| a).count();
        let mut summary = Summary {
            built,
            reused: steps.len() - built,
            positions,
            bytes: there.iter().flatten().map(|h| h.file_bytes).sum(),
            work_files: 0,
        };
        (self.watch)(Event::Ready {
            reused: summary.reused,
            missing: built,
            positions,
            work: self.control.positions() + positions,
        });
        let placement = place(&spill, self.plan, self.options, self.watch);
        let mut store = self.stores(&placement);
        for (i, step) in steps.iter().enumerate() {
            if !needed[i] {
                continue;
            }
            self.control.check()?;
            let left = memory.saturating_sub(spill.memory[i]);
            store.set_plane_budget(left.min(memory / 8));
            let material = step.material;
            if !absent[i] {
                self.load(material, &mut store)?;
            } else {
                (self.watch)(Event::Solving {
                    material,
                    positions: step.positions,
                });
                let start = Instant::now();
                let Made { dtz, needs } = self.solve(material, &mut store)?;
                let solving = start.elapsed();
                let start = Instant::now();
                let dtz = dtz.as_deref().unwrap_or_else(|| store.dtz(material));
                let header = self.write(material, dtz, needs)?;
                summary.bytes += header.file_bytes;
                (self.watch)(Event::Written {
                    material,
                    positions: step.positions,
                    headers: vec![header],
                    solving,
                    writing: start.elapsed(),
                });
            }
            for (j, s) in steps[..=i].iter().enumerate() {
                if last[j] <= i {
                    store.remove(s.material);
                }
            }
        }
        summary.work_files = placement.most_bytes();
        Ok(summary)
    }

    fn path(&self, material: Material, metric: Metric) -> PathBuf {
        table_path(&self.options.dir, self.plan.variant, material, metric)
    }

    /// The header of a table that is there and good.
    fn there(&self, material: Material) -> Result<Option<Header>, Error> {
        if self.options.rebuild {
            return Ok(None);
        }
        self.control.check()?;
        let (dir, variant) = (&self.options.dir, self.plan.variant);
        let opened = Table::open_in(dir, variant, material, Metric::Dtz)
            .and_then(|t| t.verify_checksums().map(|()| t.header().clone()));
        match opened {
            Ok(h) if h.limits_hash == self.limits.hash() => {
                check_run(self.plan, &h, self.path(material, Metric::Dtz))?;
                Ok(Some(h))
            }
            Ok(h) => {
                let found = LimitSet::from_hash(variant, h.limits_hash);
                Err(Error::OtherLimits {
                    path: self.path(material, Metric::Dtz),
                    found: found
                        .map_or_else(|| "limits unknown here".to_owned(), |l| l.to_string()),
                    wanted: self.limits.to_string(),
                })
            }
            Err(dambase_tables::Error::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(e) => Err(Error::Unusable(e)),
        }
    }

    fn open(&self, material: Material, metric: Metric) -> Result<Table, Error> {
        let (dir, variant) = (&self.options.dir, self.plan.variant);
        let table = Table::open_in(dir, variant, material, metric)?;
        check_run(self.plan, table.header(), table.path().to_owned())?;
        Ok(table)
    }

    /// Whichever table has win, loss and draw.
    fn without_limits(&self, material: Material) -> Result<Table, Error> {
        let metric = if self.path(material, Metric::Wld).exists() {
            Metric::Wld
        } else {
            Metric::Dtw
        };
        self.open(material, metric)
    }

    /// Win, loss and draw; captures are meaningless.
    fn wld(&self, material: Material, to: &Backing) -> Result<Vec<WldArray>, Error> {
        let table = self.without_limits(material)?;
        let sides = material.sides().iter();
        Ok(sides
            .map(|&s| table.read_wld_in(s, to))
            .collect::<Result<_, _>>()?)
    }

    fn stores(&self, placement: &Arc<Placement>) -> Stores {
        if self.plan.king_run {
            let [mut without, mut under] = [Store::with_king_run(), Store::with_king_run()];
            without.place(Arc::clone(placement));
            under.place(Arc::clone(placement));
            Stores::WithRuns { without, under }
        } else {
            let mut store = RuledStore::new(*self.limits);
            store.place(Arc::clone(placement));
            Stores::Plain(store)
        }
    }

    /// Solves a material and keeps its values; gives what is to be written beside them.
    fn solve(&self, material: Material, store: &mut Stores) -> Result<Made, Error> {
        if self.solve_set_wise(material, store, self.control)? {
            return Ok(Made::default());
        }
        let mut wld = self.wld(material, store.placement().values(material))?;
        match store {
            Stores::Plain(store) => {
                resolve(&mut Values::Wld(&mut wld), material, store, self.control)?;
                let slices: Vec<_> = wld.iter().collect();
                let mut ruled = solve_any(material, &slices, store, self.control)?;
                // Nothing that leads here asks for it.
                let needs = ruled.needs.take();
                store.insert(ruled);
                Ok(Made { dtz: None, needs })
            }
            Stores::WithRuns { without, under } => {
                let wld = self.resolved(material, wld, without)?;
                let dtz =
                    kingrun::solve_ruled(self.limits, material, &wld.wld, under, self.control)?;
                let to = under.placement().values(material);
                let left = dtz.iter().map(|a| of(a, RuleValue::under_limits, to));
                let left = left.collect::<Result<_, _>>()?;
                under.insert(values(material, left));
                without.insert(wld);
                Ok(Made {
                    dtz: Some(dtz),
                    needs: None,
                })
            }
        }
    }

    /// Solves a material set-wise, values without limits too, and keeps its values; false if it is to
    /// be done otherwise. That is faster than to put captures into what a table has.
    fn solve_set_wise(
        &self,
        material: Material,
        store: &mut Stores,
        control: &Control,
    ) -> Result<bool, Error> {
        let (Stores::Plain(store), Solver::SetWise) = (store, self.options.solver) else {
            return Ok(false);
        };
        self.without_limits(material)?;
        let ruled = solve_set_wise(material, store, control)?;
        let done = ruled.is_some();
        if let Some(ruled) = ruled {
            store.insert(ruled);
        }
        Ok(done)
    }

    /// Puts in the values of captures.
    fn resolved(
        &self,
        material: Material,
        wld: Vec<WldArray>,
        store: &Store,
    ) -> Result<Solved, Error> {
        let mut solved = values(material, wld);
        verify::resolve(self.plan.variant, &mut solved, store, self.control)?;
        Ok(solved)
    }

    /// Gets the values of a finished material, with those of its captures.
    fn load(&self, material: Material, store: &mut Stores) -> Result<(), Error> {
        if self.solve_set_wise(material, store, &self.control.uncounted())? {
            return Ok(());
        }
        let table = self.open(material, Metric::Dtz)?;
        let sides = material.sides().iter();
        let mut dtz: Vec<DtzArray> = sides
            .map(|&s| table.read_dtz_in(s, store.placement().values(material)))
            .collect::<Result<_, _>>()?;
        let store = match store {
            Stores::Plain(store) => store,
            Stores::WithRuns { without, under } => {
                let each = [
                    (under, RuleValue::under_limits as fn(RuleValue) -> _),
                    (without, RuleValue::without_limits),
                ];
                for (store, what) in each {
                    let to = store.placement().values(material);
                    let wld = dtz.iter().map(|a| of(a, what, to));
                    let wld = wld.collect::<Result<_, _>>()?;
                    store.insert(self.resolved(material, wld, store)?);
                }
                return Ok(());
            }
        };
        resolve(&mut Values::Dtz(&mut dtz), material, store, self.control)?;
        let (kings, men) = (material.kings, material.men);
        let diagonal = self.limits.diagonal_of(kings, men).is_some();
        // Only a material's own clock runs on into another material.
        let own = self.limits.own_clock(kings, men).is_some();
        if !diagonal || !own {
            store.insert(Ruled {
                material,
                dtz,
                beneath: None,
                needs: None,
            });
            return Ok(());
        }
        // The file has one of two numbers. These materials are small: solve them again.
        let without = |a: &DtzArray| of(a, RuleValue::without_limits, &Backing::memory());
        let wld: Vec<_> = dtz.iter().map(without).collect::<Result<_, _>>()?;
        let slices: Vec<_> = wld.iter().collect();
        let ruled = solve_any(material, &slices, store, &Control::new())?;
        store.insert(ruled);
        Ok(())
    }

    fn write(
        &self,
        material: Material,
        dtz: &[DtzArray],
        needs: Option<RuledNeeds>,
    ) -> Result<Header, Error> {
        struct Write<'a>(
            PathBuf,
            Material,
            &'a [DtzArray],
            Option<RuledNeeds>,
            WriteOptions,
        );
        impl WithRuleset for Write<'_> {
            type Output = Result<Header, Error>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self(path, material, dtz, needs, options) = self;
                let slices: Vec<_> = dtz.iter().collect();
                let Some(needs) = needs else {
                    return Ok(write_dtz::<R>(&path, material, &slices, &options)?);
                };
                let (arrays, list) = needs.into_symbols(material, dtz)?;
                let slices: Vec<_> = arrays.iter().collect();
                let header = write_needs::<R>(&path, material, &slices, &list, &options)?;
                Ok(header)
            }
        }
        let options = WriteOptions {
            limits_hash: self.limits.hash(),
            on_unverified: true,
            king_run: self.plan.king_run,
            ..WriteOptions::default()
        };
        let path = self.path(material, Metric::Dtz);
        let write = Write(path, material, dtz, needs, options);
        self.plan.variant.with(write)
    }
}

/// What is written of a material that was solved.
#[derive(Default)]
struct Made {
    /// Its values, if they are not kept as they are.
    dtz: Option<Vec<DtzArray>>,
    /// What its positions need where several clocks run.
    needs: Option<RuledNeeds>,
}

/// Finished materials.
enum Stores {
    /// Positions without king runs.
    Plain(RuledStore),
    /// Win, loss and draw of positions with king runs.
    WithRuns {
        /// Without limits.
        without: Store,
        /// As the limits leave them.
        under: Store,
    },
}

impl Stores {
    /// The values of a finished material without king runs.
    fn dtz(&self, material: Material) -> &[DtzArray] {
        match self {
            Self::Plain(store) => store.get(material).map_or(&[], |r| &r.dtz),
            Self::WithRuns { .. } => &[],
        }
    }

    fn placement(&self) -> &Placement {
        match self {
            Self::Plain(store) => store.placement(),
            Self::WithRuns { under, .. } => under.placement(),
        }
    }

    /// Sets the bytes of word planes that may stay in memory between two materials.
    fn set_plane_budget(&self, bytes: u64) {
        if let Self::Plain(store) = self {
            store.set_plane_budget(bytes);
        }
    }

    fn remove(&mut self, material: Material) {
        match self {
            Self::Plain(store) => {
                store.remove(material);
            }
            Self::WithRuns { without, under } => {
                without.remove(material);
                under.remove(material);
            }
        }
    }
}

fn values(material: Material, wld: Vec<WldArray>) -> Solved {
    Solved {
        material,
        wld,
        dtw: None,
    }
}

/// Arrays whose captures are to be resolved, in the order of [`Material::sides`].
enum Values<'a> {
    Wld(&'a mut [WldArray]),
    Dtz(&'a mut [DtzArray]),
}

/// Puts the true values of captures into the arrays of a material read from a table, from those
/// of the materials they lead to.
fn resolve(
    values: &mut Values<'_>,
    material: Material,
    store: &RuledStore,
    control: &Control,
) -> Result<(), Error> {
    struct Resolve<'a>(Material, &'a RuledStore, &'a Control);
    impl Resolve<'_> {
        fn run<R: Ruleset>(self) -> Result<Vec<Vec<(u64, RuleValue)>>, Error> {
            let Self(material, store, control) = self;
            let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
            let solving = Solving::<R>::new(material, index, &[], store)?;
            let none = Done {
                dtz: Vec::new(),
                beneath: None,
                beside: None,
            };
            let slice = |&side| {
                let chunks = index.positions().div_ceil(CHUNK) as usize;
                let found = parallel::collect(chunks, &|c| {
                    control.check()?;
                    let c = c as u64;
                    let range = c * CHUNK..((c + 1) * CHUNK).min(index.positions());
                    let mut list = MoveList::new();
                    let mut found = Vec::new();
                    index.for_each_board(range, |i, board| {
                        captures::<R>(board, side, &mut list);
                        if !list.is_empty() {
                            found.push((i, solving.after_captures(&none, board, side, &list)));
                        }
                    });
                    Ok(found)
                })?;
                Ok(found.into_iter().flatten().collect())
            };
            material.sides().iter().map(slice).collect()
        }
    }
    let run = Resolve(material, store, control);
    let found = with_limits!(store.limits().variant(), R => run.run::<R>())?;
    for (slice, found) in found.into_iter().enumerate() {
        for (i, value) in found {
            match values {
                Values::Wld(wld) => wld[slice].set(i, value.without_limits()),
                Values::Dtz(dtz) => dtz[slice].codes[i as usize] = value.code(),
            }
        }
    }
    Ok(())
}

/// Positions that one task resolves.
const CHUNK: u64 = 1 << 14;
