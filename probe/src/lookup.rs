//! The look-up itself: generic over the code, without allocation and without locks on the way to
//! a block that the scratch remembers.

use std::sync::Arc;

use dambase_rules::position::{decided, winner_without_moves};
use dambase_rules::{Bits, Board, IllegalPosition, Ruleset, Side, movegen};
use dambase_tables::{Material, Metric};

use crate::cache::Key;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::scratch::Scratch;
use crate::slot::{Source, file_of};
use crate::tablebase::Tablebase;

/// Where blocks may come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// From memory or from the files.
    Files,
    /// From memory only.
    Memory,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Miss {
    /// The block is not in memory, and files may not be touched.
    NotInMemory,
    /// There is something wrong.
    Failed(Box<Error>),
}

impl From<Error> for Miss {
    #[cold]
    fn from(e: Error) -> Self {
        Self::Failed(Box::new(e))
    }
}

/// Refuses a placement that is no position of the code, so that it is never numbered.
#[inline(always)]
pub(crate) fn check<R: Ruleset>(b: &Board<R::Bits>, side: Side) -> Result<()> {
    let of = |wide| R::Bits::from_wide(wide);
    let men_off = (b.men[0] & of(R::RULES.crown_of(Side::White)))
        | (b.men[1] & of(R::RULES.crown_of(Side::Black)));
    let white = b.men[0] & b.kings[0];
    let black = b.men[1] & b.kings[1];
    let both = b.pieces(Side::White) & b.pieces(Side::Black);
    let off = b.occupied() & !of(R::RULES.geometry.all());
    let wrong = men_off | white | black | both | off;
    if wrong.is_empty() && !b.pieces(side.other()).is_empty() {
        Ok(())
    } else {
        Err(refuse::<R>(b, side))
    }
}

#[cold]
fn refuse<R: Ruleset>(b: &Board<R::Bits>, side: Side) -> Error {
    use dambase_rules::{Position, Run};
    let reason = Position::new(R::VARIANT, b.wide(), side, [Run::NONE; 2]).err();
    let none = IllegalPosition::NoPieces { side: side.other() };
    Error::IllegalPosition(reason.unwrap_or(none))
}

impl Tablebase {
    /// The answer for a checked placement.
    ///
    /// `depth` is the number of captures made since the position that was asked for, of material
    /// `root`.
    pub(crate) fn look_up<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        reach: Reach,
        scratch: &mut Scratch,
        depth: usize,
        root: Material,
    ) -> Result<M::Answer, Miss> {
        if board.pieces(side).is_empty() {
            return Ok(M::over(winner_without_moves(&R::RULES, side) == side));
        }
        if let Some(winner) = decided::<R>(board) {
            return Ok(M::over(winner == side));
        }
        let material = Material::of(board);
        let Some(entry) = self.map.find(material) else {
            return Err(self.missing::<M>(material, root).into());
        };
        let slot = &self.slots[entry.slot()];
        let swapped = entry.swapped(side);
        // Only read where it is needed: a capture is played on the board as it is.
        let stored = || {
            if swapped {
                (board.mirrored(R::RULES.geometry), side.other())
            } else {
                (*board, side)
            }
        };
        if let Some(flat) = M::flat(slot) {
            let (board, side) = stored();
            let index = slot.index::<R::Bits>().index(&board);
            return Ok(M::at(&flat[side as usize], index));
        }
        let Some((source, metric)) = M::source(slot) else {
            return Err(self.missing::<M>(material, root).into());
        };
        let mut list = scratch.take_list::<R::Bits>(depth);
        movegen::captures::<R>(board, side, &mut list);
        let answer = if list.is_empty() {
            let (board, side) = stored();
            let index = slot.index::<R::Bits>().index(&board);
            self.quiet::<M>(entry.slot(), source, metric, side, index, reach, scratch)
        } else {
            let mut best: Option<M::Answer> = None;
            let mut miss = None;
            for m in list.iter() {
                let after = board.after(side, m);
                let side = side.other();
                match self.look_up::<R, M>(&after, side, reach, scratch, depth + 1, root) {
                    Ok(v) => {
                        let v = M::before(v);
                        if best.is_none_or(|b| M::better(v, b)) {
                            best = Some(v);
                            if M::is_best(v) {
                                miss = None;
                                break;
                            }
                        }
                    }
                    // A win in one capture stands, whatever the others lead to.
                    Err(m) => miss = miss.or(Some(m)),
                }
            }
            match (miss, best) {
                (None, Some(v)) => Ok(v),
                (Some(m), _) => Err(m),
                (None, None) => Err(Miss::NotInMemory),
            }
        };
        scratch.give_back::<R::Bits>(depth, list);
        answer
    }

    /// The answer for a quiet position in stored form.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn quiet<M: Measure>(
        &self,
        slot: usize,
        source: &Source,
        metric: Metric,
        side: Side,
        index: u64,
        reach: Reach,
        scratch: &mut Scratch,
    ) -> Result<M::Answer, Miss> {
        let table = match reach {
            Reach::Files => source.table()?,
            Reach::Memory => source.mapped().ok_or(Miss::NotInMemory)?,
        };
        let (block, offset) = table.block_of(side, index);
        let key = Key::new(slot, metric, block);
        if let Some(block) = scratch.recent(key) {
            return Ok(M::read(block, offset));
        }
        let block = match self.blocks.get(key) {
            Some(block) => block,
            None if reach == Reach::Memory => return Err(Miss::NotInMemory),
            None => {
                let block = table
                    .decode(block, &mut scratch.decoder)
                    .map_err(Error::from)?;
                let block = Arc::new(block);
                self.blocks.insert(key, Arc::clone(&block));
                block
            }
        };
        let answer = M::read(&block, offset);
        scratch.remember(key, block);
        Ok(answer)
    }

    #[cold]
    fn missing<M: Measure>(&self, material: Material, root: Material) -> Error {
        let wanted = material.canonical();
        Error::MissingTable {
            file: file_of(self.variant(), wanted, M::METRIC),
            material: wanted,
            metric: M::METRIC,
            needed_by: (root.canonical() != wanted).then(|| root.canonical()),
        }
    }
}
