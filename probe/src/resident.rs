//! Tables unpacked to flat memory, captures resolved: a look-up is one index and one read.

use std::sync::Mutex;

use dambase_rules::position::decided;
use dambase_rules::{Board, Ruleset, Run, Side, WithRuleset};
use dambase_tables::{DtwArray, Material, Metric, Table, Value, WldArray};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::lookup::{Asked, Reach};
use crate::measure::{Measure, OfDtw, OfWld};
use crate::scratch::Scratch;
use crate::slot::Slot;
use crate::tablebase::{Tablebase, failed};

/// Positions that one task resolves.
const CHUNK: usize = 1 << 16;

impl Tablebase {
    /// Bytes that [`Self::make_resident`] would take for these materials, those that are
    /// resident already included: 2 bits a position for WLD, 2 bytes for distances.
    #[must_use]
    pub fn resident_cost(&self, metric: Metric, chosen: impl Fn(Material) -> bool) -> u64 {
        self.slots
            .iter()
            .filter(|s| chosen(s.material) && is_there(s, metric))
            .map(|s| cost(s, metric))
            .sum()
    }

    /// Bytes that resident tables take.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.slots
            .iter()
            .map(|s| {
                let wld = s.resident_wld.get().map_or(0, |_| cost(s, Metric::Wld));
                let dtw = s.resident_dtw.get().map_or(0, |_| cost(s, Metric::Dtw));
                wld + dtw
            })
            .sum()
    }

    /// Unpacks the tables of the chosen canonical materials to flat memory and resolves their
    /// captures, for the fastest look-ups. Returns the bytes taken in all; they do not count
    /// against the budget of the cache. Tables stay resident as long as the tablebase is open.
    ///
    /// Costs time in proportion to the positions (about 0.1 us each) and uses the rayon pool it is
    /// called in. Other threads may go on probing.
    ///
    /// ```
    /// use dambase_probe::{Metric, Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let bytes = tables.make_resident(Metric::Wld, |material| material.pieces() <= 2)?;
    /// assert_eq!(bytes, tables.resident_cost(Metric::Wld, |_| true));
    /// let position = tables.position("B:WK12:BK31")?;
    /// assert_eq!(tables.try_probe_wld(&position)?, Some(Wld::Win));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Table`] for a damaged table, [`Error::MissingTable`] if captures lead to one that
    /// is not there. Tables that were finished before stay resident.
    pub fn make_resident(&self, metric: Metric, chosen: impl Fn(Material) -> bool) -> Result<u64> {
        // Smaller materials first: the captures of larger ones are then resolved in flat memory.
        for slot in self.slots.iter().filter(|s| chosen(s.material)) {
            match metric {
                Metric::Wld => self.unpack::<OfWld>(slot)?,
                Metric::Dtw => self.unpack::<OfDtw>(slot)?,
                _ => {}
            }
        }
        Ok(self.resident_bytes())
    }

    fn unpack<M: Unpack>(&self, slot: &Slot) -> Result<()> {
        struct Run<'a, M>(&'a Tablebase, &'a Slot, std::marker::PhantomData<M>);
        impl<M: Unpack> WithRuleset for Run<'_, M> {
            type Output = Result<()>;
            fn run<R: Ruleset>(self) -> Result<()> {
                let Self(tablebase, slot, _) = self;
                let Some((source, metric)) = M::source(slot) else {
                    return Ok(());
                };
                let table = source.table.as_ref().map_err(Clone::clone)?;
                let slices: Result<Vec<_>> = slot
                    .material
                    .sides()
                    .iter()
                    .map(|&side| {
                        let mut array = M::unpacked(table, metric, side)?;
                        tablebase.resolve::<R, M>(slot, side, &mut array)?;
                        Ok(array)
                    })
                    .collect();
                M::keep(slot, slices?);
                Ok(())
            }
        }
        if M::flat(slot).is_some() {
            return Ok(());
        }
        self.variant()
            .with(Run::<M>(self, slot, std::marker::PhantomData))
    }

    /// Writes the answers of captures and decided positions into an unpacked slice.
    fn resolve<R: Ruleset, M: Unpack>(
        &self,
        slot: &Slot,
        side: Side,
        array: &mut M::Flat,
    ) -> Result<()> {
        let index = slot.index::<R::Bits>();
        let (positions, states) = (index.positions(), index.run_states());
        let over = positions > 0 && decided::<R>(&index.boards().board(0)).is_some();
        let first: Mutex<Option<Error>> = Mutex::new(None);
        M::for_each_chunk(array, CHUNK, &|scratch, start, write| {
            self.attach(scratch);
            let mut wrong = None;
            let end = positions.min(start + CHUNK as u64);
            let boards = start / states..end.div_ceil(states);
            let mut resolve = |b: u64, board: &Board<R::Bits>| {
                if wrong.is_some() {
                    return;
                }
                for i in start.max(b * states)..end.min((b + 1) * states) {
                    let runs = if R::RULES.king_run.is_some() {
                        index.runs(board.kings, i - b * states)
                    } else {
                        [Run::NONE; 2]
                    };
                    match self.look_up::<R, M>(
                        board,
                        side,
                        runs,
                        Reach::Files,
                        scratch,
                        Asked::FIRST,
                    ) {
                        Ok(v) => write((i - start) as usize, v),
                        Err(miss) => {
                            wrong = Some(failed(miss));
                            break;
                        }
                    }
                }
            };
            if over {
                index.boards().for_each_board(boards, &mut resolve);
            } else {
                let placements = index.boards();
                placements.for_each_capture::<R>(side, boards, &mut resolve);
            }
            if let Some(e) = wrong {
                let mut first = first.lock().unwrap_or_else(|p| p.into_inner());
                first.get_or_insert(e);
            }
        });
        match first.into_inner().unwrap_or_else(|p| p.into_inner()) {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }
}

fn is_there(slot: &Slot, metric: Metric) -> bool {
    match metric {
        Metric::Wld => OfWld::source(slot).is_some(),
        Metric::Dtw => OfDtw::source(slot).is_some(),
        _ => false,
    }
}

fn cost(slot: &Slot, metric: Metric) -> u64 {
    let slice = match metric {
        Metric::Wld => slot.positions().div_ceil(4),
        _ => slot.positions() * 2,
    };
    slice * slot.material.sides().len() as u64
}

/// Writes an answer at a place of a chunk.
type Write<'a, A> = dyn FnMut(usize, A) + 'a;
/// Fills in a chunk: buffers, index of its first position, how to write.
type Fill<'a, A> = dyn Fn(&mut Scratch, u64, &mut Write<'_, A>) + Sync + 'a;

/// A measure with a form in flat memory.
trait Unpack: Measure {
    /// A whole slice as the file has it.
    fn unpacked(table: &Table, metric: Metric, side: Side) -> Result<Self::Flat>;
    /// Runs `fill` for all chunks, in parallel.
    fn for_each_chunk(array: &mut Self::Flat, chunk: usize, fill: &Fill<'_, Self::Answer>);
    /// Keeps finished slices; a second time has no effect.
    fn keep(slot: &Slot, slices: Vec<Self::Flat>);
}

impl Unpack for OfWld {
    fn unpacked(table: &Table, metric: Metric, side: Side) -> Result<WldArray> {
        if metric == Metric::Wld {
            return Ok(table.read_wld(side)?);
        }
        let distances = table.read_dtw(side)?;
        let mut array = WldArray::new(distances.len());
        for (i, &code) in distances.codes.iter().enumerate() {
            array.set(i as u64, Value::from_code(code).wld());
        }
        Ok(array)
    }
    fn for_each_chunk(array: &mut WldArray, chunk: usize, fill: &Fill<'_, Self::Answer>) {
        array
            .packed_mut()
            .par_chunks_mut(chunk / 4)
            .enumerate()
            .for_each_init(Scratch::new, |scratch, (n, bytes)| {
                fill(scratch, (n * chunk) as u64, &mut |i, v| {
                    let shift = i % 4 * 2;
                    bytes[i / 4] = bytes[i / 4] & !(3 << shift) | (v as u8) << shift;
                });
            });
    }
    fn keep(slot: &Slot, slices: Vec<WldArray>) {
        slot.resident_wld.get_or_init(|| slices.into_boxed_slice());
    }
}

impl Unpack for OfDtw {
    fn unpacked(table: &Table, _metric: Metric, side: Side) -> Result<DtwArray> {
        Ok(table.read_dtw(side)?)
    }
    fn for_each_chunk(array: &mut DtwArray, chunk: usize, fill: &Fill<'_, Self::Answer>) {
        array.codes.par_chunks_mut(chunk).enumerate().for_each_init(
            Scratch::new,
            |scratch, (n, codes)| {
                fill(scratch, (n * chunk) as u64, &mut |i, v| codes[i] = v.code());
            },
        );
    }
    fn keep(slot: &Slot, slices: Vec<DtwArray>) {
        slot.resident_dtw.get_or_init(|| slices.into_boxed_slice());
    }
}
