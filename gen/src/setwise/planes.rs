//! Finished tables as word planes, the form in which a parent reads its children.

use std::ops::Range;
use std::sync::Arc;

use dambase_rules::Side;
use dambase_tables::{Backing, Index, LargeArray, Material};
use rayon::prelude::*;

use super::codes;
use super::dense::{Reader, Writer};
use super::game::Game;
use super::layout::{Sets, legal_word, shares};
use super::measure::{Measure, Stored, Values};
use super::reach::symmetrise;
use super::word::{MAX_WIDTH, Pack, WithPack, Word, transpose, with_pack};
use crate::Error;

/// A long array of words, written block by block from several threads.
#[derive(Debug)]
pub(super) struct Slab<W> {
    start: *mut W,
    len: usize,
    /// Owns the words; only `start` is used to reach them.
    words: LargeArray<W>,
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
    pub(super) fn new(backing: &Backing, len: usize) -> Result<Self, Error> {
        let mut words = LargeArray::zeroed(backing, len as u64)?;
        Ok(Self {
            start: words.as_mut_ptr(),
            len,
            words,
        })
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

/// One slice, any material, as planes: positions the side to move has won and has lost, or the bits
/// of the merits of moves to them.
///
/// For each placement of the men and each plane: words `[kings of the other side][other kings of
/// the view's side]`, the last fastest.
#[derive(Debug)]
pub(super) struct Planes<W> {
    pub(super) index: Index<W>,
    /// Side whose king is the vector.
    pub(super) view: Side,
    /// Words of one plane for one placement of the men.
    pub(super) block: usize,
    count: usize,
    slab: Slab<W>,
}

/// A slice of a canonical material in the order of the dense index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense<'s> {
    pub(super) material: Material,
    pub(super) to_move: Side,
    pub(super) array: Stored<'s>,
    /// The planes are to be those of the mirrored material.
    pub(super) mirrored: bool,
}

impl<W: Word> Planes<W> {
    /// Empty planes. The material must have a king.
    pub(super) fn new(
        game: &Game<W>,
        sets: &Sets<W>,
        measure: impl Measure,
        material: Material,
        to_move: Side,
        backing: &Backing,
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
            count: measure.planes(),
            slab: Slab::new(backing, measure.planes() * block * units)?,
        })
    }
    /// Bytes of the words.
    pub(super) fn bytes(&self) -> u64 {
        (self.slab.len * size_of::<W>()) as u64
    }
    /// Whether the words are in a work file.
    pub(super) fn is_in_file(&self) -> bool {
        self.slab.words.is_in_file()
    }
    /// The planes for one placement of the men.
    #[inline(always)]
    pub(super) fn rows<M: Measure>(&self, measure: M, men_rank: u64) -> M::Array<&[W]> {
        debug_assert_eq!(self.count, measure.planes());
        let from = self.count * self.block * men_rank as usize;
        let words = self.slab.get(from, self.count * self.block);
        measure.array(|p| &words[p * self.block..(p + 1) * self.block])
    }
    /// The planes `(won, lost)` for one placement of the men, where there are no distances.
    #[inline(always)]
    pub(super) fn block(&self, men_rank: u64) -> (&[W], &[W]) {
        let [won, lost] = self.rows(Values, men_rank);
        (won, lost)
    }
    /// The planes for one placement of the men, one after the other, to be written.
    ///
    /// # Safety
    /// Nobody else may read or write this placement's planes while the result lives.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(super) unsafe fn rows_mut(&self, men_rank: u64) -> std::slice::ChunksExactMut<'_, W> {
        let from = self.count * self.block * men_rank as usize;
        // SAFETY: the caller's promise.
        let words = unsafe { self.slab.get_mut(from, self.count * self.block) };
        words.chunks_exact_mut(self.block)
    }

    /// Converts a slice of a canonical material from the dense index.
    pub(super) fn from_dense(
        game: &Game<W>,
        sets: &Sets<W>,
        measure: impl Measure,
        slice: Dense<'_>,
        backing: &Backing,
    ) -> Result<Arc<Self>, Error> {
        let Dense {
            material,
            to_move,
            array,
            mirrored,
        } = slice;
        let index = Index::<W>::new(game.rules.geometry, material)?;
        let (seen, mover) = if mirrored {
            (material.mirrored(), to_move.other())
        } else {
            (material, to_move)
        };
        let planes = Self::new(game, sets, measure, seen, mover, backing)?;
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
        let merits = match array {
            Stored::Values(_) => Vec::new(),
            Stored::Distances(array) => codes::merits(measure, array),
        };
        let chunk = (1 << 14) / planes.block.clamp(1, 1 << 14);
        let units: Vec<u64> = (0..index.men_placements()).collect();
        units.par_chunks(chunk.max(1)).for_each(|units| {
            let inner = sets.count(kings(dense) - 1);
            let words = inner * sets.count(kings(dense.other()));
            let mut a = vec![vec![W::EMPTY; words]; planes.count];
            let mut b = vec![vec![W::EMPTY; planes.block]; planes.count];
            let mut buffer = Vec::new();
            for &unit in units {
                let men = index.men(unit);
                let all_men = men[0] | men[1];
                let start = unit * index.king_space();
                for plane in &mut a {
                    plane.fill(W::EMPTY);
                }
                match array {
                    Stored::Values(array) => with_pack(ReadUnit {
                        game,
                        sets,
                        material,
                        men: all_men,
                        reader: Reader::new(array.packed(), start),
                        out: &mut a,
                    }),
                    Stored::Distances(array) => {
                        let codes = &array.codes[start as usize..];
                        let mut rows = codes.iter().map(|&c| merits[usize::from(c)]);
                        let all = dense_rows(sets, material);
                        for_each_first(game, sets, material, all_men, all, |at, first, _| {
                            codes::read(first, &mut rows, &mut a, at);
                        });
                    }
                }
                let others = kings(dense) - 1;
                for row in a.iter_mut().flat_map(|a| a.chunks_exact_mut(inner)) {
                    symmetrise(sets, others, row, &mut buffer);
                }
                if view != dense {
                    for (a, b) in a.iter().zip(&mut b) {
                        b.fill(W::EMPTY);
                        let kings = (kings(dense), kings(view));
                        change_view(sets, kings, 1, a, b);
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
                let rows = unsafe { planes.rows_mut(target) };
                for (from, to) in a.iter().zip(rows) {
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

/// All rows of the dense view of one king space.
pub(super) fn dense_rows<W: Word>(sets: &Sets<W>, material: Material) -> Range<usize> {
    let other = dense_view(material).other();
    0..sets.count(material.kings[other as usize] as usize)
}

/// The words of some rows of one king space in the order of the dense index, from words in the dense view: calls
/// `each` with the number of the word, the squares of the vector at which positions are stored, and
/// what else stands on the board.
#[inline(always)]
pub(super) fn for_each_first<W: Word>(
    game: &Game<W>,
    sets: &Sets<W>,
    material: Material,
    men: W,
    rows: Range<usize>,
    mut each: impl FnMut(usize, W, W),
) {
    let dense = dense_view(material);
    let others = material.kings[dense as usize] as usize - 1;
    let inner = sets.count(others);
    let outer = sets.all(material.kings[dense.other() as usize] as usize);
    for row in rows {
        let enemy = outer[row];
        let fixed = men | enemy;
        if !(enemy & men).is_empty() {
            continue;
        }
        for (i, &own) in sets.all(others).iter().enumerate() {
            let first = first_word(game.all, fixed, own);
            if !first.is_empty() {
                each(row * inner + i, first, fixed | own);
            }
        }
    }
}

/// Reads one king space into words `(won, lost)` of the dense view, those of `first_word`.
struct ReadUnit<'a, 'r, W: Word> {
    game: &'a Game<W>,
    sets: &'a Sets<W>,
    material: Material,
    men: W,
    reader: Reader<'r>,
    out: &'a mut [Vec<W>],
}

impl<W: Word> WithPack for ReadUnit<'_, '_, W> {
    type Output = ();
    #[inline(always)]
    fn run<P: Pack>(mut self, pack: P) {
        let [won, lost] = self.out else {
            unreachable!("two planes");
        };
        for_each_first(
            self.game,
            self.sets,
            self.material,
            self.men,
            dense_rows(self.sets, self.material),
            |at, first, taken| {
                (won[at], lost[at]) = self.reader.row(pack, first.count(), taken);
            },
        );
    }
}

/// Rows of one king space in the order of the dense index, from words in the dense view.
pub(super) struct WriteUnit<'a, 't, W: Word, M: Measure> {
    pub(super) game: &'a Game<W>,
    pub(super) sets: &'a Sets<W>,
    pub(super) measure: M,
    pub(super) material: Material,
    pub(super) men: W,
    pub(super) rows: Range<usize>,
    pub(super) table: M::Array<&'t [W]>,
    pub(super) writer: &'a mut Writer,
}

impl<W: Word, M: Measure> WithPack for WriteUnit<'_, '_, W, M> {
    type Output = ();
    #[inline(always)]
    fn run<P: Pack>(self, pack: P) {
        for_each_first(
            self.game,
            self.sets,
            self.material,
            self.men,
            self.rows,
            |at, first, taken| {
                let (won, lost) = self.measure.outcome(&self.table, at);
                self.writer.row(pack, won, lost, first, taken);
            },
        );
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
/// has `others` kings. `to` must be empty. Works in so many parts side by side.
pub(super) fn change_view<W: Word>(
    sets: &Sets<W>,
    (kings, others): (usize, usize),
    parts: usize,
    from: &[W],
    to: &mut [W],
) {
    let columns = sets.count(kings - 1);
    if parts == 1 {
        change_columns(sets, (kings, others), 0..columns, from, to);
        return;
    }
    let to_inner = sets.count(others - 1);
    let mut rest = to;
    let mut work = Vec::new();
    for columns in shares(columns, 4 * parts) {
        let rows: usize = columns.clone().map(|i| sets.below(kings - 1, i).1).sum();
        let part;
        (part, rest) = rest.split_at_mut(rows * to_inner);
        work.push((columns, part));
    }
    work.into_par_iter().for_each(|(columns, part)| {
        change_columns(sets, (kings, others), columns, from, part);
    });
}

/// [`change_view`] of some words of each row; they go to rows that follow each other, all there is of
/// `to`.
fn change_columns<W: Word>(
    sets: &Sets<W>,
    (kings, others): (usize, usize),
    columns: Range<usize>,
    from: &[W],
    to: &mut [W],
) {
    let n = sets.n;
    let width = W::WIDTH as usize;
    let from_inner = sets.count(kings - 1);
    let to_inner = sets.count(others - 1);
    let start = sets.below(kings - 1, columns.start).0;
    let mut matrices = [[W::EMPTY; MAX_WIDTH]; TOGETHER];
    for first in columns.clone().step_by(TOGETHER) {
        let together = TOGETHER.min(columns.end - first);
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
                    to[(base - start + s) * to_inner + j] = word;
                }
            }
        }
    }
}
