//! What a tablebase knows of one material: its files, and what of them is in memory.

use std::any::Any;
use std::path::PathBuf;
use std::sync::OnceLock;

use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, Board, Geometry, Position, Ruleset, Side};
use dambase_tables::{
    BlockId, Codec, DtwArray, Material, Metric, RunIndex, Table, TooLarge, WldArray,
};

use crate::error::Result;
use crate::lookup::Numbered;

/// One file. Of a good one the header has been read and the rest mapped, which reads nothing.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) table: Result<Table>,
    layouts: [Layout; 2],
}

/// How the positions of a slice are spread over blocks.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// All have the value of the first.
    Constant,
    /// So many bits of the index count the positions of a block.
    Bits(u32),
    /// The table knows.
    Other,
}

impl Source {
    pub(crate) fn new(path: PathBuf, table: Result<Table>) -> Self {
        let layout = |side| match table.as_ref().ok().and_then(|t| t.header().slice(side)) {
            Some(s) if s.codec == Codec::Constant => Layout::Constant,
            Some(s)
                if matches!(s.codec, Codec::Raw | Codec::Zstd)
                    && s.block_positions.is_power_of_two() =>
            {
                Layout::Bits(s.block_positions.trailing_zeros())
            }
            _ => Layout::Other,
        };
        let layouts = Side::BOTH.map(layout);
        Self {
            path,
            table,
            layouts,
        }
    }

    /// The block of a position, and its place there.
    #[inline(always)]
    pub(crate) fn block_of(&self, table: &Table, side: Side, index: u64) -> (BlockId, u32) {
        match self.layouts[side as usize] {
            Layout::Constant => (BlockId { side, block: 0 }, 0),
            Layout::Bits(n) => {
                let block = index >> n;
                (BlockId { side, block }, (index & ((1 << n) - 1)) as u32)
            }
            Layout::Other => table.block_of(side, index),
        }
    }

    /// The block of a position, by its placement where that is enough, and its place there.
    #[inline(always)]
    pub(crate) fn place_of<R: Ruleset>(
        &self,
        table: &Table,
        side: Side,
        position: &Numbered<'_, R>,
    ) -> (BlockId, u32) {
        match self.layouts[side as usize] {
            Layout::Other => table.place_of(side, position.board, || position.index_apart()),
            Layout::Constant => self.block_of(table, side, 0),
            Layout::Bits(_) => self.block_of(table, side, position.index()),
        }
    }
}

/// The numbering of a material's positions, in the word of its code.
#[derive(Debug)]
enum AnyIndex {
    Narrow(RunIndex<u64>),
    Wide(RunIndex<u128>),
}

impl AnyIndex {
    fn new(
        geometry: Geometry,
        scope: Option<KingRun>,
        material: Material,
    ) -> Result<Self, TooLarge> {
        Ok(if geometry.squares() <= u64::BITS as usize {
            Self::Narrow(RunIndex::new(geometry, scope, material)?)
        } else {
            Self::Wide(RunIndex::new(geometry, scope, material)?)
        })
    }
}

/// A material of which there is a table.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) material: Material,
    index: AnyIndex,
    pub(crate) wld: Option<Source>,
    pub(crate) dtw: Option<Source>,
    pub(crate) dtz: Option<Source>,
    /// Values of all positions, captures included, in the order of `material.sides()`.
    pub(crate) resident_wld: OnceLock<Box<[WldArray]>>,
    pub(crate) resident_dtw: OnceLock<Box<[DtwArray]>>,
}

impl Slot {
    /// A material without tables yet, whose positions have no king runs.
    ///
    /// # Errors
    /// [`TooLarge`] if its positions cannot be numbered.
    pub(crate) fn new(geometry: Geometry, material: Material) -> Result<Self, TooLarge> {
        Ok(Self {
            material,
            index: AnyIndex::new(geometry, None, material)?,
            wld: None,
            dtw: None,
            dtz: None,
            resident_wld: OnceLock::new(),
            resident_dtw: OnceLock::new(),
        })
    }

    /// Numbers positions with king runs from now on.
    ///
    /// # Errors
    /// [`TooLarge`] if they cannot be numbered.
    pub(crate) fn with_runs(&mut self, geometry: Geometry, scope: KingRun) -> Result<(), TooLarge> {
        self.index = AnyIndex::new(geometry, Some(scope), self.material)?;
        Ok(())
    }

    /// The files that are there.
    pub(crate) fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let all = [&mut self.wld, &mut self.dtw, &mut self.dtz];
        all.into_iter().flatten()
    }

    /// The numbering; the word must be that of the code.
    #[inline(always)]
    pub(crate) fn index<W: Bits>(&self) -> &RunIndex<W> {
        // Each arm is decided when compiled, so this costs one comparison.
        let index = match &self.index {
            AnyIndex::Narrow(i) => (i as &dyn Any).downcast_ref(),
            AnyIndex::Wide(i) => (i as &dyn Any).downcast_ref(),
        };
        index.expect("the word of the code")
    }

    /// The number of a position that stands as the tables have it.
    pub(crate) fn index_of(&self, p: &Position) -> u64 {
        match &self.index {
            AnyIndex::Narrow(i) => i.index(&Board::from_wide(p.board()), p.runs()),
            AnyIndex::Wide(i) => i.index(p.board(), p.runs()),
        }
    }

    /// Positions with one side to move.
    pub(crate) fn positions(&self) -> u64 {
        match &self.index {
            AnyIndex::Narrow(i) => i.positions(),
            AnyIndex::Wide(i) => i.positions(),
        }
    }

    pub(crate) fn source(&self, metric: Metric) -> Option<&Source> {
        match metric {
            Metric::Wld => self.wld.as_ref(),
            Metric::Dtw => self.dtw.as_ref(),
            Metric::Dtz => self.dtz.as_ref(),
        }
    }
    pub(crate) fn source_mut(&mut self, metric: Metric) -> Option<&mut Option<Source>> {
        match metric {
            Metric::Wld => Some(&mut self.wld),
            Metric::Dtw => Some(&mut self.dtw),
            Metric::Dtz => Some(&mut self.dtz),
        }
    }
}

/// From the numbers of pieces to the slot, by plain indexing.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// One more than the most pieces of a kind.
    base: usize,
    entries: Vec<Entry>,
}

/// Where the tables of a material are, and for which side to move the colours are swapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(u32);

impl Entry {
    const NONE: Self = Self(u32::MAX);

    /// The number of the slot.
    #[inline(always)]
    pub(crate) fn slot(self) -> usize {
        (self.0 >> 2) as usize
    }
    /// Whether a position with `side` to move is stored with the colours swapped.
    #[inline(always)]
    pub(crate) fn swapped(self, side: Side) -> bool {
        self.0 >> (side as u32) & 1 == 1
    }
}

impl Map {
    /// The map to slots of these canonical materials.
    pub(crate) fn new(slots: &[Slot]) -> Self {
        let most = slots
            .iter()
            .flat_map(|s| s.material.kings.into_iter().chain(s.material.men))
            .max();
        let Some(most) = most else {
            return Self::default();
        };
        let base = usize::from(most) + 1;
        let mut map = Self {
            base,
            entries: vec![Entry::NONE; base.pow(4)],
        };
        for (i, slot) in slots.iter().enumerate() {
            let m = slot.material;
            let id = (i as u32) << 2;
            if m.is_symmetric() {
                map.set(m, Entry(id | 0b10));
            } else {
                map.set(m, Entry(id));
                map.set(m.mirrored(), Entry(id | 0b11));
            }
        }
        map
    }

    fn set(&mut self, m: Material, e: Entry) {
        let place = self.place(m);
        self.entries[place] = e;
    }

    #[inline(always)]
    fn place(&self, m: Material) -> usize {
        let n = |count: u8| usize::from(count);
        ((n(m.kings[0]) * self.base + n(m.men[0])) * self.base + n(m.kings[1])) * self.base
            + n(m.men[1])
    }

    /// The slot of a material.
    #[inline(always)]
    pub(crate) fn find(&self, m: Material) -> Option<Entry> {
        let most = m.kings[0].max(m.kings[1]).max(m.men[0].max(m.men[1]));
        if usize::from(most) >= self.base {
            return None;
        }
        let entry = self.entries[self.place(m)];
        (entry.0 != u32::MAX).then_some(entry)
    }
}
