//! Finished materials in memory.

use std::collections::HashMap;
use std::sync::Arc;

use dambase_tables::{DtwArray, Material, WldArray};

use crate::setwise::PlaneCache;
use crate::spill::Placement;

/// The values of a canonical material, one array per side in the order of [`Material::sides`],
/// true values everywhere, captures included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solved {
    /// The material; canonical.
    pub material: Material,
    /// Win, loss or draw in index order.
    pub wld: Vec<WldArray>,
    /// Distances in index order, if they were asked for.
    pub dtw: Option<Vec<DtwArray>>,
}

/// Finished materials, found by their canonical form.
#[derive(Debug, Default)]
pub struct Store {
    tables: HashMap<Material, Arc<Solved>>,
    king_run: bool,
    planes: PlaneCache,
    placement: Arc<Placement>,
}

impl Store {
    /// An empty store for values of positions without king runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// An empty store for values of positions with king runs, which [`crate::kingrun`] solves.
    #[must_use]
    pub fn with_king_run() -> Self {
        Self {
            king_run: true,
            ..Self::default()
        }
    }
    /// Sets where the arrays of materials are that are solved or read from now on; in memory unless
    /// this is asked for.
    pub fn place(&mut self, placement: Arc<Placement>) {
        self.placement = placement;
    }
    /// Where the arrays of materials are.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }
    /// Whether positions have king runs.
    #[must_use]
    pub const fn king_run(&self) -> bool {
        self.king_run
    }
    /// The values of a canonical material, if it is there.
    #[must_use]
    pub fn get(&self, material: Material) -> Option<&Solved> {
        self.tables.get(&material).map(|s| &**s)
    }
    /// Takes a finished material in, in place of what was there. It may be shared with whoever
    /// writes it to disk.
    pub fn insert(&mut self, solved: impl Into<Arc<Solved>>) {
        let solved = solved.into();
        self.tables.insert(solved.material, solved);
    }
    /// Takes a material out, to free its memory.
    pub fn remove(&mut self, material: Material) -> Option<Arc<Solved>> {
        self.planes.forget(material);
        self.tables.remove(&material)
    }
    /// The materials that are there, in the order in which they can be solved.
    #[must_use]
    pub fn materials(&self) -> Vec<Material> {
        let mut all: Vec<_> = self.tables.keys().copied().collect();
        all.sort();
        all
    }
    /// The word planes that the set-wise solver keeps for the parents of finished materials.
    #[must_use]
    pub fn planes(&self) -> &PlaneCache {
        &self.planes
    }
    /// Bytes of the value arrays.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let wld = |s: &Solved| s.wld.iter().map(|a| a.packed().len() as u64).sum::<u64>();
        let dtw = |s: &Solved| s.dtw.iter().flatten().map(|a| a.len() * 2).sum::<u64>();
        self.tables.values().map(|s| wld(s) + dtw(s)).sum()
    }
}
