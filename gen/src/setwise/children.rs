//! What captures and crownings lead to.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use dambase_rules::Side;
use dambase_tables::{Index, Material};

use super::game::Game;
use super::layout::{Sets, rank};
use super::levels::Levels;
use super::measure::{Measure, Stored};
use super::planes::{Dense, Planes, view_of};
use super::rows::Ranks;
use super::word::Word;
use crate::{Error, Store};

/// Word planes of finished slices, kept for the parents that read them next.
///
/// Bounded: when the planes in it outgrow the budget, those unused for longest are dropped; they
/// are made again from the stored arrays when needed.
#[derive(Debug)]
pub struct PlaneCache {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    budget: u64,
    clock: u64,
    /// By material, side to move, and the bits of a merit, none if values only are kept.
    planes: HashMap<(Material, Side, usize), Kept>,
}

#[derive(Debug)]
struct Kept {
    planes: Arc<dyn Any + Send + Sync>,
    bytes: u64,
    used: u64,
}

/// Bytes of planes kept if nothing else is asked for.
const BUDGET: u64 = 2 << 30;

impl Default for PlaneCache {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                budget: BUDGET,
                clock: 0,
                planes: HashMap::new(),
            }),
        }
    }
}

impl PlaneCache {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    /// Sets the number of bytes that may stay in the cache between two materials; 0 keeps nothing.
    pub fn set_budget(&self, bytes: u64) {
        let mut inner = self.lock();
        inner.budget = bytes;
        inner.shrink();
    }
    /// Bytes of the planes in the cache.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lock().planes.values().map(|k| k.bytes).sum()
    }
    /// Forgets the planes of a material, because its values have changed or gone.
    pub fn forget(&self, material: Material) {
        let canonical = material.canonical();
        self.lock()
            .planes
            .retain(|(m, ..), _| m.canonical() != canonical);
    }
    pub(super) fn get<W: Word>(
        &self,
        measure: impl Measure,
        material: Material,
        side: Side,
    ) -> Option<Arc<Planes<W>>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let clock = inner.clock;
        let kept = inner.planes.get_mut(&key(measure, material, side))?;
        kept.used = clock;
        Arc::clone(&kept.planes).downcast().ok()
    }
    pub(super) fn put<W: Word>(
        &self,
        measure: impl Measure,
        material: Material,
        side: Side,
        planes: &Arc<Planes<W>>,
    ) {
        if planes.is_in_file() {
            // There was no room in memory. They are made again rather than to keep the disk.
            return;
        }
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        let kept = Kept {
            planes: Arc::clone(planes) as Arc<dyn Any + Send + Sync>,
            bytes: planes.bytes(),
            used,
        };
        inner.planes.insert(key(measure, material, side), kept);
        inner.shrink();
    }
}

fn key(measure: impl Measure, material: Material, side: Side) -> (Material, Side, usize) {
    (material, side, measure.plies().map_or(0, |p| p.bits()))
}

impl Inner {
    fn shrink(&mut self) {
        let mut bytes: u64 = self.planes.values().map(|k| k.bytes).sum();
        while bytes > self.budget {
            let oldest = self.planes.iter().min_by_key(|(_, k)| k.used);
            let Some(key) = oldest.map(|(&key, _)| key) else {
                return;
            };
            bytes -= self.planes.remove(&key).map_or(0, |k| k.bytes);
        }
    }
}

/// A slice without kings, read from the stored array.
#[derive(Debug)]
pub(super) struct Flat<'s, W> {
    index: Index<W>,
    array: Stored<'s>,
    /// The stored positions are the mirror images, on a board of so many squares.
    mirrored: Option<usize>,
}

/// Where the values of one kind of child are.
#[derive(Debug)]
pub(super) enum Source<'s, W> {
    /// No rule leads there.
    Never,
    /// The opponent has no pieces left, or the first king decides.
    Over,
    Planes(Arc<Planes<W>>),
    Flat(Box<Flat<'s, W>>),
}

/// The children of one material for one mover, by what the mover's move has changed.
#[derive(Debug)]
pub(super) struct Children<'s, W, M> {
    pub(super) mover: Side,
    pub(super) measure: M,
    /// `[crowned][opponent's kings left][opponent's men left]`.
    sources: [Vec<Source<'s, W>>; 2],
    men: usize,
    /// Planes of games that are over, wide enough for any row.
    over: Vec<Vec<W>>,
}

impl<'s, W: Word, M: Measure> Children<'s, W, M> {
    /// Collects them; `own` are the planes of the material itself after a move of `mover`, if it
    /// has kings.
    pub(super) fn new(
        game: &Game<W>,
        sets: &Sets<W>,
        measure: M,
        material: Material,
        mover: Side,
        own: Option<&Arc<Planes<W>>>,
        store: &'s Store,
    ) -> Result<Self, Error> {
        let (x, y) = (mover as usize, mover.other() as usize);
        let mut sources = [Vec::new(), Vec::new()];
        for (crowned, sources) in sources.iter_mut().enumerate() {
            for kings in 0..=material.kings[y] {
                for men in 0..=material.men[y] {
                    let mut child = material;
                    child.kings[y] = kings;
                    child.men[y] = men;
                    let source =
                        if kings == material.kings[y] && men == material.men[y] && crowned == 0 {
                            own.map_or(Source::Never, |own| Source::Planes(Arc::clone(own)))
                        } else if crowned == 1 && material.men[x] == 0 {
                            Source::Never
                        } else if kings + men == 0 || crowned == 1 && game.first_crown_wins() {
                            Source::Over
                        } else {
                            if crowned == 1 {
                                child.kings[x] += 1;
                                child.men[x] -= 1;
                            }
                            find(game, sets, measure, material, child, mover.other(), store)?
                        };
                    sources.push(source);
                }
            }
        }
        let widest = sets.count((material.kings[x] as usize).max(1) - 1).max(1);
        let over = measure.filled::<W>(game.over());
        Ok(Self {
            mover,
            measure,
            sources,
            men: usize::from(material.men[y]) + 1,
            over: over.as_ref()[..measure.planes()]
                .iter()
                .map(|&word| vec![word; widest])
                .collect(),
        })
    }
    #[inline(always)]
    pub(super) fn source(&self, crowned: bool, kings: usize, men: usize) -> &Source<'s, W> {
        &self.sources[usize::from(crowned)][kings * self.men + men]
    }
    /// The planes for a placement of the men after a move: rows of constants if the game is over.
    ///
    /// # Panics
    /// If the child has no king.
    pub(super) fn block(&self, crowned: bool, kings: usize, men: [W; 2]) -> M::Array<&[W]> {
        let y = self.mover.other() as usize;
        match self.source(crowned, kings, men[y].count() as usize) {
            Source::Planes(p) => p.rows(self.measure, p.index.men_rank(men)),
            Source::Over => self.measure.array(|p| &self.over[p][..]),
            Source::Never | Source::Flat(_) => unreachable!("a child with a king of the mover"),
        }
    }
}

/// The planes or the array of a slice that has been solved before.
fn find<'s, W: Word, M: Measure>(
    game: &Game<W>,
    sets: &Sets<W>,
    measure: M,
    parent: Material,
    material: Material,
    to_move: Side,
    store: &'s Store,
) -> Result<Source<'s, W>, Error> {
    let needed = material.canonical();
    let mirrored = needed != material || (needed.is_symmetric() && to_move == Side::Black);
    let stored_side = if mirrored { to_move.other() } else { to_move };
    let missing = Error::MissingTable {
        material: parent,
        needed,
    };
    let slice = needed.sides().iter().position(|&s| s == stored_side);
    let array = store
        .get(needed)
        .and_then(|solved| measure.stored(solved, slice.unwrap_or(0)))
        .ok_or(missing)?;
    if view_of(material, to_move).is_none() {
        return Ok(Source::Flat(Box::new(Flat {
            index: Index::new(game.rules.geometry, needed)?,
            array,
            mirrored: mirrored.then_some(game.n),
        })));
    }
    if let Some(planes) = store.planes().get(measure, material, to_move) {
        return Ok(Source::Planes(planes));
    }
    let slice = Dense {
        material: needed,
        to_move: stored_side,
        array,
        mirrored,
    };
    let backing = store.placement().planes(parent);
    let planes = Planes::from_dense(game, sets, measure, slice, backing)?;
    store.planes().put(measure, material, to_move, &planes);
    Ok(Source::Planes(planes))
}

impl<'s, W: Word> Flat<'s, W> {
    /// The numbering of the placements as they stand on the board of a parent, and their packed
    /// values. `levels` has the sets of men of each side.
    pub(super) fn as_seen(&self, levels: &Levels<W>) -> Result<(Index<W>, Cow<'s, [u8]>), Error> {
        let Some(n) = self.mirrored else {
            let bytes = match self.array {
                Stored::Values(array) => Cow::Borrowed(array.packed()),
                Stored::Distances(_) => unreachable!("values only are asked for"),
            };
            return Ok((self.index, bytes));
        };
        let geometry = levels.geometry();
        let index = Index::<W>::new(geometry, self.index.material().mirrored())?;
        let mut bytes = vec![0; index.positions().div_ceil(4) as usize];
        let mut ranks = Ranks::default();
        for &white in levels.sets(Side::White) {
            let first = index.men_rank([white, W::EMPTY]);
            ranks.set(index.material().men[1], white, n);
            for &black in levels.sets(Side::Black) {
                if (white & black).is_empty() {
                    let at = first + ranks.of(black);
                    bytes[(at / 4) as usize] |= (self.code([white, black]) as u8) << (at % 4 * 2);
                }
            }
        }
        Ok((index, Cow::Owned(bytes)))
    }
}

impl<W: Word> Flat<'_, W> {
    /// The code of a placement of men for the side to move.
    #[inline]
    pub(super) fn code(&self, men: [W; 2]) -> u16 {
        let men = match self.mirrored {
            Some(n) => [men[1].reversed(n), men[0].reversed(n)],
            None => men,
        };
        self.array.code(self.index.men_rank(men))
    }
}

/// The children of captures by kings in one unit: the mover's men stay where they are.
pub(super) struct Captured<'a, W: Word, M: Measure> {
    children: &'a Children<'a, W, M>,
    men: [W; 2],
    kings: usize,
    /// Placements of the mover's kings that are not the vector.
    inner: usize,
    /// By the set of men taken and the number of kings taken.
    blocks: Blocks<'a, W>,
}

/// Blocks of planes that have been looked up.
#[derive(Debug)]
pub(super) struct Blocks<'a, W> {
    /// Where the planes of each block begin, if it has been looked up.
    starts: Vec<Option<usize>>,
    /// Of one block after the other.
    planes: Vec<&'a [W]>,
}

impl<W> Default for Blocks<'_, W> {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            planes: Vec::new(),
        }
    }
}

impl<'a, W: Word, M: Measure> Captured<'a, W, M> {
    /// For a unit in which the opponent has `kings` kings; `inner` is the number of placements of
    /// the mover's kings that are not the vector, `blocks` a buffer.
    pub(super) fn new(
        children: &'a Children<'a, W, M>,
        men: [W; 2],
        kings: usize,
        inner: usize,
        blocks: &mut Blocks<'a, W>,
    ) -> Self {
        let mut blocks = std::mem::take(blocks);
        let subsets = 1 << men[children.mover.other() as usize].count();
        blocks.starts.clear();
        blocks.starts.resize(subsets * (kings + 1), None);
        blocks.planes.clear();
        Self {
            children,
            men,
            kings,
            inner,
            blocks,
        }
    }
    /// Gives the buffer back.
    pub(super) fn into_blocks(self) -> Blocks<'a, W> {
        self.blocks
    }
    /// The planes after `captured` has been taken, and the king of the lane if `lane_taken`;
    /// `left` are the enemy kings that are left but for the lane.
    #[inline(always)]
    pub(super) fn child(&mut self, captured: W, lane_taken: bool) -> M::Array<&'a [W]> {
        let y = self.children.mover.other() as usize;
        let measure = self.children.measure;
        let men_taken = captured & self.men[y];
        let mut subset = 0;
        for (i, s) in self.men[y].squares().enumerate() {
            subset |= usize::from(men_taken.has(s)) << i;
        }
        let kings_taken = (captured & !men_taken).count() as usize + usize::from(lane_taken);
        let key = subset * (self.kings + 1) + kings_taken;
        if let Some(start) = self.blocks.starts[key] {
            let planes = &self.blocks.planes[start..start + measure.planes()];
            return measure.array(|p| planes[p]);
        }
        let mut men = self.men;
        men[y] &= !men_taken;
        let block = self.children.block(false, self.kings - kings_taken, men);
        self.blocks.starts[key] = Some(self.blocks.planes.len());
        let planes = &block.as_ref()[..measure.planes()];
        self.blocks.planes.extend_from_slice(planes);
        block
    }
    /// Where the row of placements from `own` on starts for the enemy kings `left`.
    #[inline(always)]
    pub(super) fn number(&self, left: W, own: usize) -> usize {
        rank(left) * self.inner + own
    }
}
