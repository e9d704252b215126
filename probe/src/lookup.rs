//! The look-up itself: generic over the code, without allocation and without locks on the way to
//! a block that the scratch remembers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dambase_rules::position::{decided, runs_after, winner_without_moves};
use dambase_rules::{Bits, Board, IllegalPosition, Ruleset, Run, Side, movegen};
use dambase_tables::kingrun::mirrored_runs;
use dambase_tables::{BlockId, DecodedBlock, Material, Metric, Table};

use crate::cache::Key;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::scratch::Scratch;
use crate::slot::{Slot, Source};
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
    use dambase_rules::Position;
    let reason = Position::new(R::VARIANT, b.wide(), side, [Run::NONE; 2]).err();
    let none = IllegalPosition::NoPieces { side: side.other() };
    Error::IllegalPosition(reason.unwrap_or(none))
}

/// The question that a look-up belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The material of the position that was asked for; nothing if this is that position.
    root: Option<Material>,
    /// Captures made since.
    depth: usize,
}

impl Asked {
    /// The question itself.
    pub(crate) const FIRST: Self = Self {
        root: None,
        depth: 0,
    };

    /// After a capture made on `board`.
    fn further<W: Bits>(self, board: &Board<W>) -> Self {
        Self {
            root: self.root.or_else(|| Some(Material::of(board))),
            depth: self.depth + 1,
        }
    }
}

/// A position as a slot has it, and its number.
pub(crate) struct Numbered<'a, R: Ruleset> {
    pub(crate) slot: &'a Slot,
    pub(crate) board: &'a Board<R::Bits>,
    pub(crate) runs: [Run; 2],
}

impl<R: Ruleset> Numbered<'_, R> {
    /// The number of the position in its slice. A function and not a closure, so that it is
    /// compiled into a look-up, for the processor for which that one is compiled.
    #[inline(always)]
    pub(crate) fn index(&self) -> u64 {
        let index = self.slot.index::<R::Bits>();
        if R::RULES.king_run.is_some() {
            index.index(self.board, self.runs)
        } else {
            index.boards().index(self.board)
        }
    }
    /// The same where it is seldom needed.
    #[cold]
    pub(crate) fn index_apart(&self) -> u64 {
        self.index()
    }
}

/// Where the answer for a position is.
pub(crate) enum Place<'a, M: Measure> {
    /// Here: the game is over.
    Known(M::Answer),
    /// In flat memory.
    Flat(&'a M::Flat, u64),
    /// In a block.
    Stored(Stored<'a>),
    /// In the positions after the captures.
    Captures,
}

/// A quiet position in a file.
pub(crate) struct Stored<'a> {
    table: &'a Table,
    block: BlockId,
    offset: u32,
    pub(crate) key: Key,
}

impl<'a> Stored<'a> {
    /// A quiet position in stored form.
    #[inline(always)]
    pub(crate) fn at(
        slot: usize,
        source: &'a Source,
        metric: Metric,
        side: Side,
        index: u64,
    ) -> Result<Self> {
        let table = source.table.as_ref().map_err(Clone::clone)?;
        let (block, offset) = source.block_of(table, side, index);
        Ok(Self {
            table,
            block,
            offset,
            key: Key::new(slot, metric, block),
        })
    }

    /// The same, by its placement where that is enough.
    #[inline(always)]
    fn of<R: Ruleset>(
        slot: usize,
        source: &'a Source,
        metric: Metric,
        side: Side,
        position: &Numbered<'_, R>,
    ) -> Result<Self> {
        let table = source.table.as_ref().map_err(Clone::clone)?;
        let (block, offset) = source.place_of(table, side, position);
        Ok(Self {
            table,
            block,
            offset,
            key: Key::new(slot, metric, block),
        })
    }
}

impl Tablebase {
    /// Finds where the answer for a checked placement is. `root` is the material of the position
    /// that was asked for, if this is another one.
    #[inline(always)]
    pub(crate) fn place<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        root: Option<Material>,
    ) -> Result<Place<'_, M>> {
        if board.pieces(side).is_empty() {
            let won = winner_without_moves(&R::RULES, side) == side;
            return Ok(Place::Known(M::over(won)));
        }
        if let Some(winner) = decided::<R>(board) {
            return Ok(Place::Known(M::over(winner == side)));
        }
        let material = Material::of(board);
        let most = self.most_pieces.load(Ordering::Relaxed);
        if material.pieces() > most {
            let pieces = material.pieces();
            return Err(Error::TooManyPieces { pieces, most });
        }
        let Some(entry) = self.map.find(material) else {
            return Err(self.missing::<M>(material, root));
        };
        let slot = &self.slots[entry.slot()];
        let flat = M::flat(slot);
        let source = M::source(slot);
        if flat.is_none() {
            if source.is_none() {
                return Err(self.missing::<M>(material, root));
            }
            if movegen::has_capture::<R>(board, side) {
                return Ok(Place::Captures);
            }
        }
        let (side, board, runs) = if entry.swapped(side) {
            let board = board.mirrored(R::RULES.geometry);
            let runs = if R::RULES.king_run.is_some() {
                mirrored_runs(R::RULES.geometry, runs)
            } else {
                runs
            };
            (side.other(), board, runs)
        } else {
            (side, *board, runs)
        };
        let position = Numbered::<R> {
            slot,
            board: &board,
            runs,
        };
        if let Some(flat) = flat {
            return Ok(Place::Flat(&flat[side as usize], position.index()));
        }
        let Some((source, metric)) = source else {
            return Err(self.missing::<M>(material, root));
        };
        let place = Stored::of(entry.slot(), source, metric, side, &position)?;
        Ok(Place::Stored(place))
    }

    /// The answer for a checked placement.
    #[inline(always)]
    pub(crate) fn look_up<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
        asked: Asked,
    ) -> Result<M::Answer, Miss> {
        #[cfg(target_arch = "x86_64")]
        if self.fast_path {
            // SAFETY: the flag is only set on processors that have these instructions.
            #[allow(unsafe_code)]
            return unsafe { self.look_up_x86::<R, M>(board, side, runs, reach, scratch, asked) };
        }
        self.look_up_portable::<R, M>(board, side, runs, reach, scratch, asked)
    }

    /// The same with instructions that every processor of the last ten years has: numbering a
    /// position counts and scans bits all the time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2")]
    fn look_up_x86<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
        asked: Asked,
    ) -> Result<M::Answer, Miss> {
        self.look_up_here::<R, M>(board, side, runs, reach, scratch, asked)
    }

    #[inline(never)]
    fn look_up_portable<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
        asked: Asked,
    ) -> Result<M::Answer, Miss> {
        self.look_up_here::<R, M>(board, side, runs, reach, scratch, asked)
    }

    #[inline(always)]
    fn look_up_here<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
        asked: Asked,
    ) -> Result<M::Answer, Miss> {
        match self.place::<R, M>(board, side, runs, asked.root)? {
            Place::Known(v) => Ok(v),
            Place::Flat(flat, index) => Ok(M::at(flat, index)),
            Place::Stored(s) => self.read::<M>(&s, reach, scratch),
            Place::Captures => self.captures::<R, M>(board, side, runs, reach, scratch, asked),
        }
    }

    /// The best that captures lead to.
    #[inline(never)]
    fn captures<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
        asked: Asked,
    ) -> Result<M::Answer, Miss> {
        let depth = asked.depth;
        let further = asked.further(board);
        let mut list = scratch.take_list::<R::Bits>(depth);
        movegen::captures::<R>(board, side, &mut list);
        let mut best: Option<M::Answer> = None;
        let mut miss = None;
        for m in list.iter() {
            let after = board.after(side, m);
            let runs = if R::RULES.king_run.is_some() && self.king_run {
                runs_after::<R>(runs, board, &after, side, m)
            } else {
                [Run::NONE; 2]
            };
            match self.look_up::<R, M>(&after, side.other(), runs, reach, scratch, further) {
                Ok(v) => {
                    let v = M::before(v);
                    if best.is_none_or(|b| M::better(v, b)) {
                        best = Some(v);
                        if M::is_best(v) {
                            // A win stands, whatever the other captures lead to.
                            miss = None;
                            break;
                        }
                    }
                }
                Err(m) => miss = miss.or(Some(m)),
            }
        }
        scratch.give_back::<R::Bits>(depth, list);
        match (miss, best) {
            (None, Some(v)) => Ok(v),
            (Some(m), _) => Err(m),
            (None, None) => unreachable!("only called where there is a capture"),
        }
    }

    /// The answer for a quiet position in a file.
    #[inline(always)]
    pub(crate) fn read<M: Measure>(
        &self,
        place: &Stored<'_>,
        reach: Reach,
        scratch: &mut Scratch,
    ) -> Result<M::Answer, Miss> {
        if let Some(block) = scratch.recent(place.key)
            && block.covers(place.offset)
        {
            return Ok(M::read(block, place.offset));
        }
        let block = self.fetch(place, reach, scratch)?;
        let answer = M::read(&block, place.offset);
        scratch.remember(place.key, block);
        Ok(answer)
    }

    /// A block that the scratch does not remember, or not as far as the position. It is decoded
    /// as far as needed at first, and as a whole when more is asked for.
    #[inline(never)]
    fn fetch(
        &self,
        place: &Stored<'_>,
        reach: Reach,
        scratch: &mut Scratch,
    ) -> Result<Arc<DecodedBlock>, Miss> {
        let known = self.blocks.get(place.key);
        let end = if known.is_some() {
            u32::MAX
        } else {
            place.offset
        };
        if let Some(block) = known
            && block.covers(place.offset)
        {
            return Ok(block);
        }
        if reach == Reach::Memory {
            return Err(Miss::NotInMemory);
        }
        let block = place
            .table
            .decode_to(place.block, end, &mut scratch.decoder);
        let block = Arc::new(block.map_err(Error::from)?);
        self.blocks.insert(place.key, Arc::clone(&block));
        Ok(block)
    }

    #[cold]
    fn missing<M: Measure>(&self, material: Material, root: Option<Material>) -> Error {
        let wanted = material.canonical();
        Error::MissingTable {
            variant: self.variant(),
            material: wanted,
            metric: M::METRIC,
            needed_by: root.map(|r| r.canonical()).filter(|&root| root != wanted),
        }
    }
}
