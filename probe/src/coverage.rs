//! What a tablebase can answer.

use std::path::PathBuf;

use dambase_rules::position::decided;
use dambase_rules::{Ruleset, Variant, WithRuleset};
use dambase_tables::{Header, Index, Material, Metric};

use crate::measure::{Measure, OfDtw, OfWld};
use crate::slot::Source;
use crate::tablebase::Tablebase;

/// The tables of one canonical material.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Covered {
    /// The material.
    pub material: Material,
    /// Positions with one side to move.
    pub positions: u64,
    /// The usable file of win, loss and draw.
    pub wld: Option<PathBuf>,
    /// The usable file of distances.
    pub dtw: Option<PathBuf>,
    /// The usable file of values under the draw limits.
    pub dtz: Option<PathBuf>,
}

/// What a tablebase can answer; see [`Tablebase::coverage`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The code.
    pub variant: Variant,
    /// The materials of which there is a usable table, in solving order.
    pub materials: Vec<Covered>,
    complete: [u8; 2],
}

impl Coverage {
    /// True if there is no table at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.materials.is_empty()
    }
    /// The number of pieces up to which win, loss and draw of every position are known; 0 if
    /// not even those of two pieces.
    #[must_use]
    pub const fn complete_wld(&self) -> u8 {
        self.complete[0]
    }
    /// The number of pieces up to which the distances of every position are known.
    #[must_use]
    pub const fn complete_dtw(&self) -> u8 {
        self.complete[1]
    }
}

impl Tablebase {
    /// The materials of which there are usable tables, and how far they are complete.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let path = |s: &Option<Source>| {
            let good = s.as_ref().filter(|s| s.table.is_ok());
            good.map(|s| s.path.clone())
        };
        let materials = self
            .slots
            .iter()
            .map(|s| Covered {
                material: s.material,
                positions: s.positions(),
                wld: path(&s.wld),
                dtw: path(&s.dtw),
                dtz: path(&s.dtz),
            })
            .filter(|c| c.wld.is_some() || c.dtw.is_some() || c.dtz.is_some())
            .collect();
        Coverage {
            variant: self.variant(),
            materials,
            complete: [self.complete::<OfWld>(), self.complete::<OfDtw>()],
        }
    }

    /// The header of a table of a canonical material, if there is a usable one.
    #[must_use]
    pub fn header(&self, material: Material, metric: Metric) -> Option<&Header> {
        let entry = self.map.find(material.canonical())?;
        let table = self.slots[entry.slot()].source(metric)?.table.as_ref();
        Some(table.ok()?.header())
    }

    fn complete<M: Measure>(&self) -> u8 {
        let mut pieces = 2;
        while Material::canonical_with(pieces).into_iter().all(|m| {
            let slot = self.map.find(m).map(|e| &self.slots[e.slot()]);
            slot.is_some_and(|s| M::source(s).is_some_and(|(f, _)| f.table.is_ok()))
                || self.variant().with(Over(m))
        }) {
            pieces += 1;
        }
        if pieces == 2 { 0 } else { pieces - 1 }
    }
}

/// Whether the game is over whenever this material stands on the board.
struct Over(Material);

impl WithRuleset for Over {
    type Output = bool;
    fn run<R: Ruleset>(self) -> bool {
        // Only the material matters, so any position will do.
        Index::<R::Bits>::new(R::RULES.geometry, self.0)
            .is_ok_and(|ix| ix.positions() > 0 && decided::<R>(&ix.board(0)).is_some())
    }
}
