//! Finished tables as word planes, the form in which a parent reads its children.

use std::sync::Arc;

use dambase_rules::Side;
use dambase_tables::{Index, Material, WldArray};
use rayon::prelude::*;

use super::dense::{Reader, Writer};
use super::game::Game;
use super::layout::{Sets, legal_word};
use super::reach::symmetrise;
use super::word::{MAX_WIDTH, Pack, WithPack, Word, transpose, with_pack};
use crate::Error;

/// A long array of words, written block by block from several threads.
#[derive(Debug)]
pub(super) struct Slab<W> {
    start: *mut W,
    len: usize,
    /// Owns the words; only `start` is used to reach them.
    _words: Vec<W>,
}

// SAFETY: the words are plain data; `Slab::get_mut` puts it on its caller that no thread touches
// words another one writes.
#[allow(unsafe_code)]
unsafe impl<W: Word> Send for Slab<W> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<W: Word> Sync for Slab<W> {}

impl<W: Word> Slab<W> {
    /// `len` empty words.
    pub(super) fn new(len: usize) -> Self {
        let mut words = vec![W::EMPTY; len];
        Self {
            start: words.as_mut_ptr(),
            len,
            _words: words,
        }
    }
    /// The words from `from` on.
    #[inline(always)]
    pub(super) fn get(&self, from: usize, len: usize) -> &[W] {
        assert!(from <= self.len && len <= self.len - from);
        // SAFETY: the range is inside the allocation, which lives as long as `self`, and nobody
        // writes to it meanwhile, as the callers of `get_mut` have promised.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start.add(from), len)
        }
    }
    /// The words from `from` on, to be written.
    ///
    /// # Safety
    /// Nobody else may read or write this range while the result lives.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(super) unsafe fn get_mut(&self, from: usize, len: usize) -> &mut [W] {
        assert!(from <= self.len && len <= self.len - from);
        // SAFETY: the range is inside the allocation; the caller keeps others away from it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), len) }
    }
}

/// The side whose king is the vector of a finished slice: the side that has just moved, because
/// the captures of a parent are read off the landing squares of its mover; the side to move if
/// the other has no king; none if there are men only.
pub(super) fn view_of(material: Material, to_move: Side) -> Option<Side> {
    let just_moved = to_move.other();
    [just_moved, to_move]
        .into_iter()
        .find(|&s| material.kings[s as usize] > 0)
}

/// One slice, any material, as two planes: positions the side to move has won and has lost.
///
/// For each placement of the men: words `[kings of the other side][other kings of the view's
/// side]`, the last fastest, first all of the won plane, then all of the lost one.
#[derive(Debug)]
pub(super) struct Planes<W> {
    pub(super) index: Index<W>,
    /// Side whose king is the vector.
    pub(super) view: Side,
    /// Words of one plane for one placement of the men.
    pub(super) block: usize,
    slab: Slab<W>,
}

impl<W: Word> Planes<W> {
    /// Planes without won or lost positions. The material must have a king.
    pub(super) fn new(
        game: &Game<W>,
        sets: &Sets<W>,
        material: Material,
        to_move: Side,
    ) -> Result<Self, Error> {
        let view = view_of(material, to_move).expect("a material with kings");
        let index = Index::new(game.rules.geometry, material)?;
        let inner = sets.count(material.kings[view as usize] as usize - 1);
        let block = inner * sets.count(material.kings[view.other() as usize] as usize);
        let units = index.men_placements() as usize;
        Ok(Self {
            index,
            view,
            block,
            slab: Slab::new(2 * block * units),
        })
    }
    /// Bytes of the words.
    pub(super) fn bytes(&self) -> u64 {
        (self.slab.len * size_of::<W>()) as u64
    }
    /// The planes `(won, lost)` for one placement of the men.
    #[inline(always)]
    pub(super) fn block(&self, men_rank: u64) -> (&[W], &[W]) {
        let from = 2 * self.block * men_rank as usize;
        self.slab.get(from, 2 * self.block).split_at(self.block)
    }
    /// The planes for one placement of the men, to be written.
    ///
    /// # Safety
    /// Nobody else may read or write this placement's planes while the result lives.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(super) unsafe fn block_mut(&self, men_rank: u64) -> (&mut [W], &mut [W]) {
        let from = 2 * self.block * men_rank as usize;
        // SAFETY: the caller's promise.
        let words = unsafe { self.slab.get_mut(from, 2 * self.block) };
        words.split_at_mut(self.block)
    }

    /// Converts a slice of a canonical material from the dense index. With `mirrored` the planes
    /// are those of the mirrored material.
    pub(super) fn from_dense(
        game: &Game<W>,
        sets: &Sets<W>,
        material: Material,
        to_move: Side,
        array: &WldArray,
        mirrored: bool,
    ) -> Result<Arc<Self>, Error> {
        let index = Index::<W>::new(game.rules.geometry, material)?;
        let planes = if mirrored {
            Self::new(game, sets, material.mirrored(), to_move.other())?
        } else {
            Self::new(game, sets, material, to_move)?
        };
        let dense = dense_view(material);
        let view = if mirrored {
            planes.view.other()
        } else {
            planes.view
        };
        let kings = |s: Side| material.kings[s as usize] as usize;
        let turned = mirrored.then(|| {
            (
                sets.turned(kings(view.other())),
                sets.turned(kings(view) - 1),
            )
        });
        let chunk = (1 << 14) / planes.block.clamp(1, 1 << 14);
        let units: Vec<u64> = (0..index.men_placements()).collect();
        units.par_chunks(chunk.max(1)).for_each(|units| {
            let inner = sets.count(kings(dense) - 1);
            let words = inner * sets.count(kings(dense.other()));
            let mut a = [vec![W::EMPTY; words], vec![W::EMPTY; words]];
            let mut b = [vec![W::EMPTY; planes.block], vec![W::EMPTY; planes.block]];
            let mut buffer = Vec::new();
            for &unit in units {
                let men = index.men(unit);
                let all_men = men[0] | men[1];
                with_pack(ReadUnit {
                    game,
                    sets,
                    material,
                    men: all_men,
                    reader: Reader::new(array.packed(), unit * index.king_space()),
                    out: &mut a,
                    buffer: &mut buffer,
                });
                if view != dense {
                    for (a, b) in a.iter().zip(&mut b) {
                        b.fill(W::EMPTY);
                        change_view(sets, kings(dense), kings(view), a, b);
                    }
                    std::mem::swap(&mut a, &mut b);
                }
                let target = if mirrored {
                    let men = [men[1].reversed(game.n), men[0].reversed(game.n)];
                    planes.index.men_rank(men)
                } else {
                    unit
                };
                // SAFETY: every placement is written once, by the thread that has its chunk, and
                // nobody has the planes yet.
                #[allow(unsafe_code)]
                let (won, lost) = unsafe { planes.block_mut(target) };
                for (from, to) in a.iter().zip([won, lost]) {
                    match &turned {
                        None => to.copy_from_slice(from),
                        Some((outer, inner)) => {
                            turn_plane(game.n, (outer, inner), from, to);
                        }
                    }
                }
                if view != dense {
                    std::mem::swap(&mut a, &mut b);
                }
            }
        });
        Ok(Arc::new(planes))
    }
}

/// The side whose king is the vector of rows that follow the dense index.
pub(super) fn dense_view(material: Material) -> Side {
    if material.kings[0] > 0 {
        Side::White
    } else {
        Side::Black
    }
}

/// Reads one king space into words `(won, lost)` of the dense view.
struct ReadUnit<'a, 'r, W: Word> {
    game: &'a Game<W>,
    sets: &'a Sets<W>,
    material: Material,
    men: W,
    reader: Reader<'r>,
    out: &'a mut [Vec<W>; 2],
    buffer: &'a mut Vec<W>,
}

impl<W: Word> WithPack for ReadUnit<'_, '_, W> {
    type Output = ();
    #[inline(always)]
    fn run<P: Pack>(mut self, pack: P) {
        let (sets, material) = (self.sets, self.material);
        let dense = dense_view(material);
        let others = material.kings[dense as usize] as usize - 1;
        let inner = sets.count(others);
        let [won, lost] = self.out;
        let rows = won
            .chunks_exact_mut(inner)
            .zip(lost.chunks_exact_mut(inner));
        let outer = sets.all(material.kings[dense.other() as usize] as usize);
        for (&enemy, (won, lost)) in outer.iter().zip(rows) {
            if !(enemy & self.men).is_empty() {
                won.fill(W::EMPTY);
                lost.fill(W::EMPTY);
                continue;
            }
            let fixed = self.men | enemy;
            for (i, &own) in sets.all(others).iter().enumerate() {
                let first = first_word(self.game.all, fixed, own);
                (won[i], lost[i]) = if first.is_empty() {
                    (W::EMPTY, W::EMPTY)
                } else {
                    self.reader.row(pack, first.count(), fixed | own)
                };
            }
            symmetrise(sets, others, won, self.buffer);
            symmetrise(sets, others, lost, self.buffer);
        }
    }
}

/// One king space in the order of the dense index, from words in the dense view.
pub(super) struct WriteUnit<'a, W: Word> {
    pub(super) game: &'a Game<W>,
    pub(super) sets: &'a Sets<W>,
    pub(super) material: Material,
    pub(super) men: W,
    pub(super) won: &'a [W],
    pub(super) lost: &'a [W],
    pub(super) writer: &'a mut Writer,
}

impl<W: Word> WithPack for WriteUnit<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run<P: Pack>(self, pack: P) {
        let (sets, material) = (self.sets, self.material);
        let dense = dense_view(material);
        let others = material.kings[dense as usize] as usize - 1;
        let inner = sets.count(others);
        let rows = self
            .won
            .chunks_exact(inner)
            .zip(self.lost.chunks_exact(inner));
        let outer = sets.all(material.kings[dense.other() as usize] as usize);
        for (&enemy, (won, lost)) in outer.iter().zip(rows) {
            if !(enemy & self.men).is_empty() {
                continue;
            }
            let fixed = self.men | enemy;
            for (i, &own) in sets.all(others).iter().enumerate() {
                let first = first_word(self.game.all, fixed, own);
                if !first.is_empty() {
                    self.writer.row(pack, won[i], lost[i], first, fixed | own);
                }
            }
        }
    }
}

/// The squares of the vector at which a position is written to the dense arrays: those where it is
/// the lowest king of its side, so that each position comes once.
#[inline(always)]
fn first_word<W: Word>(all: W, fixed: W, own: W) -> W {
    let legal = legal_word(all, fixed, own);
    if own.is_empty() {
        legal
    } else {
        legal & W::below(own.first())
    }
}

/// The planes of the mirrored positions: every set of kings and every word turned by 180 degrees.
/// `turned` are the numbers of the turned sets of both indices.
pub(super) fn turn_plane<W: Word>(n: usize, turned: (&[u32], &[u32]), from: &[W], to: &mut [W]) {
    let (outer, inner) = turned;
    for (row, &o) in from.chunks_exact(inner.len()).zip(outer) {
        let to = &mut to[o as usize * inner.len()..][..inner.len()];
        for (&w, &i) in row.iter().zip(inner) {
            to[i as usize] = w.reversed(n);
        }
    }
}

/// Matrices that are turned at a time: what is read of a plane for one matrix is far apart, and of
/// neighbouring matrices in the same lines of the cache.
const TOGETHER: usize = 8;

/// Changes the vector of a plane: from `[kings of the other side][the side's other kings]` with a
/// king of a side of `kings` as the vector, to the same with the sides exchanged; the other side
/// has `others` kings. `to` must be empty.
pub(super) fn change_view<W: Word>(
    sets: &Sets<W>,
    kings: usize,
    others: usize,
    from: &[W],
    to: &mut [W],
) {
    let n = sets.n;
    let width = W::WIDTH as usize;
    let from_inner = sets.count(kings - 1);
    let to_inner = sets.count(others - 1);
    let mut matrices = [[W::EMPTY; MAX_WIDTH]; TOGETHER];
    for first in (0..from_inner).step_by(TOGETHER) {
        let together = TOGETHER.min(from_inner - first);
        let matrices = &mut matrices[..together];
        for j in 0..to_inner {
            let cells = sets.cells(others - 1, j);
            let mut any = [W::EMPTY; TOGETHER];
            for t in 0..n {
                let words = match cells.at(t) {
                    Some(cell) => &from[cell * from_inner + first..][..together],
                    None => &[W::EMPTY; TOGETHER][..together],
                };
                for ((matrix, any), &word) in matrices.iter_mut().zip(&mut any).zip(words) {
                    matrix[t] = word;
                    *any |= word;
                }
            }
            for (i, matrix) in matrices.iter_mut().enumerate() {
                let (base, len) = sets.below(kings - 1, first + i);
                if any[i].is_empty() || len == 0 {
                    continue;
                }
                matrix[n..width].fill(W::EMPTY);
                transpose(&mut matrix[..width]);
                for (s, &word) in matrix[..len].iter().enumerate() {
                    to[(base + s) * to_inner + j] = word;
                }
            }
        }
    }
}
