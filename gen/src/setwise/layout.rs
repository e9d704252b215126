//! Placements of alike kings as array indices.
//!
//! The kings that are not the vector are numbered over **all** squares of the board (colex order
//! of sets), so that the number means the same in every unit and every child table. Illegal
//! placements have numbers too; their words are empty.

use std::ops::Range;

use dambase_tables::index::binomial;

use super::word::Word;

/// Largest set with a table of insertions; larger ones are rare and are ranked when needed.
const TABULATED: usize = 3;
const NONE: u32 = u32::MAX;

/// All sets of up to some number of squares.
#[derive(Debug)]
pub(super) struct Sets<W> {
    pub(super) n: usize,
    /// `of_size[k]`: the sets of `k` squares in colex order, which is their order as numbers.
    of_size: Vec<Vec<W>>,
    /// `insert[k][i * n + s]`: number of set `i` of size `k` with `s` put in.
    insert: Vec<Vec<u32>>,
}

/// The numbers of a set with one more square, for each square.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells<'a, W> {
    Table(&'a [u32]),
    Set(W),
}

impl<W: Word> Cells<'_, W> {
    /// The number with `s` put in; none if it is there.
    #[inline(always)]
    pub(super) fn at(self, s: usize) -> Option<usize> {
        match self {
            Self::Table(t) => (t[s] != NONE).then_some(t[s] as usize),
            Self::Set(set) => (!set.has(s as u8)).then(|| rank(set | W::bit(s as u8))),
        }
    }
}

/// The number of a set among the sets of its size.
#[inline(always)]
pub(super) fn rank<W: Word>(set: W) -> usize {
    let mut r = 0;
    for (i, s) in set.squares().enumerate() {
        r += binomial(s as usize, i + 1);
    }
    r as usize
}

/// First number of the sets that consist of `set` and one square below all of it.
#[inline(always)]
pub(super) fn base<W: Word>(set: W) -> usize {
    let mut base = 0;
    for (j, s) in set.squares().enumerate() {
        base += binomial(s as usize, j + 2);
    }
    base as usize
}

impl<W: Word> Sets<W> {
    /// All sets of up to `most` of `n` squares.
    pub(super) fn new(n: usize, most: usize) -> Self {
        let mut of_size = vec![vec![W::EMPTY]];
        for k in 1..=most {
            let mut sets = Vec::with_capacity(binomial(n, k) as usize);
            for high in k - 1..n {
                for &low in &of_size[k - 1][..binomial(high, k - 1) as usize] {
                    sets.push(low | W::bit(high as u8));
                }
            }
            of_size.push(sets);
        }
        let insert = of_size
            .iter()
            .take(most.min(TABULATED))
            .map(|sets| {
                let mut table = Vec::with_capacity(sets.len() * n);
                for &set in sets {
                    for s in 0..n as u8 {
                        table.push(if set.has(s) {
                            NONE
                        } else {
                            rank(set | W::bit(s)) as u32
                        });
                    }
                }
                table
            })
            .collect();
        Self { n, of_size, insert }
    }
    /// Sets of size `k`.
    #[inline(always)]
    pub(super) fn count(&self, k: usize) -> usize {
        self.of_size[k].len()
    }
    /// The sets of size `k` in order.
    #[inline(always)]
    pub(super) fn all(&self, k: usize) -> &[W] {
        &self.of_size[k]
    }
    /// The numbers of set `i` of size `k` with one more square.
    #[inline(always)]
    pub(super) fn cells(&self, k: usize, i: usize) -> Cells<'_, W> {
        match self.insert.get(k) {
            Some(table) => Cells::Table(&table[i * self.n..(i + 1) * self.n]),
            None => Cells::Set(self.of_size[k][i]),
        }
    }
    /// First number of the sets that consist of set `i` of size `k` and one square below all of
    /// it: they are consecutive, in the order of that square. Also how many there are.
    #[inline(always)]
    pub(super) fn below(&self, k: usize, i: usize) -> (usize, usize) {
        let set = self.of_size[k][i];
        if k == 0 {
            return (0, self.n);
        }
        (base(set), set.first() as usize)
    }
    /// For each set of size `k` the number of the set turned by 180 degrees.
    pub(super) fn turned(&self, k: usize) -> Vec<u32> {
        let turn = |&set: &W| rank(set.reversed(self.n)) as u32;
        self.of_size[k].iter().map(turn).collect()
    }
}

/// For each placement: the kings of a row, and the squares the vector may stand on beside them.
/// `fixed` stands on the board whatever the placement, `men` in particular. Placements that
/// overlap with `fixed` have an empty word.
#[inline(always)]
pub(super) fn legal_word<W: Word>(all: W, fixed: W, kings: W) -> W {
    if (kings & fixed).is_empty() {
        all & !(fixed | kings)
    } else {
        W::EMPTY
    }
}
/// The numbers below `len` in so many shares, or fewer if there are not as many.
pub(super) fn shares(len: usize, parts: usize) -> Vec<Range<usize>> {
    let parts = parts.min(len);
    let share = |i| len * i / parts..len * (i + 1) / parts;
    (0..parts).map(share).collect()
}
