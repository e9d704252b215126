//! What a child table says of a move, as planes of words: whether it wins or holds, or its
//! distance too.
//!
//! With distances a move has a *merit* for the mover, a number of a few bits: nothing known, then
//! losses, the slow ones better, a draw, and wins, the fast ones best. Bit by bit, the most
//! significant first, merits of all squares of a word lie in one word for each bit, so that the
//! best of two moves is found for all squares at once.

use std::fmt::Debug;

use dambase_tables::{DtwArray, WldArray};

use super::word::{Word, kernel};
use crate::Solved;

/// How outcomes are measured.
pub(super) trait Measure: Copy + Debug + Send + Sync {
    /// One thing for each plane.
    type Array<T: Default + Send>: AsRef<[T]> + AsMut<[T]> + Send;

    /// Makes the things for the planes; the places behind the last plane are filled by default.
    fn array<T: Default + Send>(self, each: impl FnMut(usize) -> T) -> Self::Array<T>;
    /// Planes of a child, and of what is known of moves.
    fn planes(self) -> usize;
    /// The distances, if they are measured.
    fn plies(self) -> Option<Plies>;
    /// The end of a capture: the best that the child says of the landing squares holds for all
    /// source squares.
    fn finish<W: Word>(
        self,
        source: &[W],
        landing: &[W],
        child: &Self::Array<&[W]>,
        capture: &mut [W],
        best: &mut Self::Array<&mut [W]>,
    );
    /// A man's quiet move to `to` that is open unless a king stands there.
    fn quiet_row<W: Word>(
        self,
        kings: &[W],
        to: W,
        child: &Self::Array<&[W]>,
        best: &mut Self::Array<&mut [W]>,
    );
    /// What word `at` of a child says, for the mover.
    fn cell<W: Word>(self, child: &Self::Array<&[W]>, at: usize) -> Self::Array<W>;
    /// What a child that has one value everywhere says, for the mover; the code is that of the
    /// stored arrays.
    fn constant<W: Word>(self, code: u16) -> Self::Array<W>;
    /// A word of a child's planes where the side to move has this value everywhere.
    fn filled<W: Word>(self, code: u16) -> Self::Array<W>;
    /// Notes a move that leads to `cell` for the squares of `mask`, where `best` knows of others.
    fn join<W: Word>(self, best: &mut Self::Array<W>, cell: &Self::Array<W>, mask: W);
    /// The same with word `at` of rows.
    fn add<W: Word>(
        self,
        best: &mut Self::Array<&mut [W]>,
        at: usize,
        cell: &Self::Array<W>,
        mask: W,
    );
    /// Word `at` of a table's planes as `(won, lost)` for the side to move.
    fn outcome<W: Word>(self, table: &Self::Array<&[W]>, at: usize) -> (W, W);
    /// The array of a slice of a finished material.
    fn stored(self, solved: &Solved, slice: usize) -> Option<Stored<'_>>;
}

/// A stored array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored<'s> {
    Values(&'s WldArray),
    Distances(&'s DtwArray),
}

impl Stored<'_> {
    /// The code of a position.
    #[inline]
    pub(super) fn code(self, at: u64) -> u16 {
        match self {
            Self::Values(array) => array.get(at) as u16,
            Self::Distances(array) => array.codes[at as usize],
        }
    }
}

/// Some words of rows.
#[inline(always)]
pub(super) fn part<'a, W: Word, M: Measure>(
    measure: M,
    rows: &M::Array<&'a [W]>,
    range: std::ops::Range<usize>,
) -> M::Array<&'a [W]> {
    let rows = rows.as_ref();
    measure.array(|p| &rows[p][range.clone()])
}

/// Some words of rows, to be written.
#[inline(always)]
pub(super) fn part_mut<'a, 'b, W: Word, M: Measure>(
    measure: M,
    rows: &'a mut M::Array<&'b mut [W]>,
    range: std::ops::Range<usize>,
) -> M::Array<&'a mut [W]>
where
    'b: 'a,
{
    let mut rows = rows.as_mut().iter_mut();
    measure.array(|_| match rows.next() {
        Some(row) => &mut row[range.clone()],
        None => &mut [],
    })
}

/// Won, lost or drawn. The planes of a table are the positions the side to move has won and has
/// lost; of moves it is known whether one wins, and whether one does not lose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values;

kernel! {
    fn finish_values<W: Word>(
        source: &[W], landing: &[W], won: &[W], lost: &[W],
        capture: &mut [W], win: &mut [W], escape: &mut [W],
    ) {
        let n = source.len();
        let (landing, won, lost) = (&landing[..n], &won[..n], &lost[..n]);
        let (capture, win, escape) = (&mut capture[..n], &mut win[..n], &mut escape[..n]);
        for i in 0..n {
            let (s, l) = (source[i], landing[i]);
            capture[i] |= if l.is_empty() { W::EMPTY } else { s };
            win[i] |= if (l & lost[i]).is_empty() { W::EMPTY } else { s };
            escape[i] |= if (l & !won[i]).is_empty() { W::EMPTY } else { s };
        }
    }
}

kernel! {
    fn quiet_values<W: Word>(
        kings: &[W], to: W, won: &[W], lost: &[W], win: &mut [W], escape: &mut [W],
    ) {
        let n = kings.len();
        let (won, lost) = (&won[..n], &lost[..n]);
        let (win, escape) = (&mut win[..n], &mut escape[..n]);
        for i in 0..n {
            let open = if (kings[i] & to).is_empty() { !to } else { W::EMPTY };
            win[i] |= lost[i] & open;
            escape[i] |= !won[i] & open;
        }
    }
}

impl Measure for Values {
    type Array<T: Default + Send> = [T; 2];

    #[inline(always)]
    fn array<T: Default + Send>(self, mut each: impl FnMut(usize) -> T) -> [T; 2] {
        [each(0), each(1)]
    }
    #[inline(always)]
    fn planes(self) -> usize {
        2
    }
    fn plies(self) -> Option<Plies> {
        None
    }
    #[inline(always)]
    fn finish<W: Word>(
        self,
        source: &[W],
        landing: &[W],
        [won, lost]: &[&[W]; 2],
        capture: &mut [W],
        [win, escape]: &mut [&mut [W]; 2],
    ) {
        finish_values(source, landing, won, lost, capture, win, escape);
    }
    #[inline(always)]
    fn quiet_row<W: Word>(
        self,
        kings: &[W],
        to: W,
        [won, lost]: &[&[W]; 2],
        [win, escape]: &mut [&mut [W]; 2],
    ) {
        quiet_values(kings, to, won, lost, win, escape);
    }
    #[inline(always)]
    fn cell<W: Word>(self, [won, lost]: &[&[W]; 2], at: usize) -> [W; 2] {
        [lost[at], !won[at]]
    }
    #[inline(always)]
    fn constant<W: Word>(self, code: u16) -> [W; 2] {
        let [won, lost] = self.filled::<W>(code);
        [lost, !won]
    }
    #[inline(always)]
    fn filled<W: Word>(self, code: u16) -> [W; 2] {
        let all = |yes| if yes { W::ALL } else { W::EMPTY };
        [all(code == 1), all(code == 2)]
    }
    #[inline(always)]
    fn join<W: Word>(self, best: &mut [W; 2], cell: &[W; 2], mask: W) {
        best[0] |= cell[0] & mask;
        best[1] |= cell[1] & mask;
    }
    #[inline(always)]
    fn add<W: Word>(self, best: &mut [&mut [W]; 2], at: usize, cell: &[W; 2], mask: W) {
        best[0][at] |= cell[0] & mask;
        best[1][at] |= cell[1] & mask;
    }
    #[inline(always)]
    fn outcome<W: Word>(self, [won, lost]: &[&[W]; 2], at: usize) -> (W, W) {
        (won[at], lost[at])
    }
    fn stored(self, solved: &Solved, slice: usize) -> Option<Stored<'_>> {
        solved.wld.get(slice).map(Stored::Values)
    }
}

/// Most bits of a merit.
pub(super) const MAX_BITS: usize = 10;

/// Distances in plies. The planes of a table and of moves are those of merits for the side that
/// moves there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plies {
    bits: usize,
}

impl Plies {
    /// With room for moves that win or lose in `plies`, if merits can be that long.
    pub(super) fn up_to(plies: usize) -> Option<Self> {
        (2..=MAX_BITS)
            .map(|bits| Self { bits })
            .find(|p| p.most() >= plies)
    }
    /// One bit more, if there is room for it.
    pub(super) fn wider(self) -> Option<Self> {
        (self.bits < MAX_BITS).then_some(Self {
            bits: self.bits + 1,
        })
    }
    /// Bits of a merit.
    pub(super) fn bits(self) -> usize {
        self.bits
    }
    /// Most plies a move may need.
    pub(super) fn most(self) -> usize {
        (1 << (self.bits - 1)) - 2
    }
    /// The merit of a move that draws: the first bit alone. Wins have more bits, losses not the
    /// first.
    pub(super) fn draw(self) -> usize {
        1 << (self.bits - 1)
    }
    /// The merit of a move with which the mover wins in `plies`.
    pub(super) fn win(self, plies: usize) -> usize {
        (1 << self.bits) - 1 - plies
    }
    /// The merit of a move with which the mover loses in `plies`.
    pub(super) fn loss(self, plies: usize) -> usize {
        1 + plies
    }
    /// How many plies a move of this merit needs, and whether it wins; none if it draws or is none.
    pub(super) fn decided(self, merit: usize) -> Option<(usize, bool)> {
        if merit == 0 || merit == self.draw() {
            None
        } else if merit > self.draw() {
            Some(((1 << self.bits) - 1 - merit, true))
        } else {
            Some((merit - 1, false))
        }
    }
    /// The merit of a move to a position with this code.
    pub(super) fn of_code(self, code: u16) -> usize {
        let code = usize::from(code);
        match code {
            0 => self.draw(),
            _ if code % 2 == 1 => self.loss(code / 2 + 1),
            _ => self.win(code / 2),
        }
    }
    /// The code of a position, a move to which has this merit.
    pub(super) fn code(self, merit: usize) -> u16 {
        match self.decided(merit) {
            None => 0,
            Some((plies, true)) => 2 * plies as u16,
            Some((plies, false)) => (2 * plies as u16).saturating_sub(1),
        }
    }
    /// The bit of a merit in plane `p`.
    #[inline(always)]
    pub(super) fn has(self, merit: usize, p: usize) -> bool {
        merit >> (self.bits - 1 - p) & 1 == 1
    }
    fn spread<W: Word>(self, merit: usize) -> [W; MAX_BITS] {
        self.array(|p| if self.has(merit, p) { W::ALL } else { W::EMPTY })
    }
    /// The squares of `word` that have the merit of `first`, a square of it, and that merit.
    #[inline(always)]
    pub(super) fn alike<W: Word>(self, cell: &[W; MAX_BITS], first: u8, mut word: W) -> (W, usize) {
        let mut merit = 0;
        for &plane in &cell[..self.bits] {
            let has = plane.has(first);
            word &= if has { plane } else { !plane };
            merit = merit << 1 | usize::from(has);
        }
        (word, merit)
    }
}

/// Words that are worked on together.
const LANES: usize = 8;

/// Words `i` to `i + L` of rows: where the merits `merit` are better than those of `best`, within
/// `mask`, they take their place.
#[inline(always)]
fn improve<W: Word, const L: usize>(
    merit: &[[W; L]; MAX_BITS],
    mask: [W; L],
    best: &mut [&mut [W]],
    i: usize,
) {
    let bits = best.len();
    let mut greater = [W::EMPTY; L];
    let mut equal = mask;
    for p in 0..bits {
        let old = &best[p][i..i + L];
        let new = &merit[p];
        for j in 0..L {
            greater[j] |= equal[j] & new[j] & !old[j];
            equal[j] &= !(new[j] ^ old[j]);
        }
    }
    for p in 0..bits {
        let old = &mut best[p][i..i + L];
        let new = &merit[p];
        for j in 0..L {
            old[j] = old[j] & !greater[j] | new[j] & greater[j];
        }
    }
}

#[inline(always)]
fn finish_lanes<W: Word, const L: usize>(
    source: &[W],
    landing: &[W],
    child: &[&[W]],
    capture: &mut [W],
    best: &mut [&mut [W]],
    i: usize,
) {
    let mut candidates = [W::EMPTY; L];
    candidates.copy_from_slice(&landing[i..i + L]);
    let source = &source[i..i + L];
    let mut mask = [W::EMPTY; L];
    let mut any = W::EMPTY;
    for j in 0..L {
        mask[j] = if candidates[j].is_empty() {
            W::EMPTY
        } else {
            source[j]
        };
        any |= mask[j];
        capture[i + j] |= mask[j];
    }
    if any.is_empty() {
        return;
    }
    // The best landing square, bit by bit: those without a bit that others have drop out.
    let mut merit = [[W::EMPTY; L]; MAX_BITS];
    for p in 0..best.len() {
        let plane = &child[p][i..i + L];
        for j in 0..L {
            let with = candidates[j] & plane[j];
            let has = !with.is_empty();
            candidates[j] = if has { with } else { candidates[j] };
            merit[p][j] = if has { W::ALL } else { W::EMPTY };
        }
    }
    improve::<W, L>(&merit, mask, best, i);
}

kernel! {
    fn finish_plies<W: Word>(
        source: &[W], landing: &[W], child: &[&[W]], capture: &mut [W], best: &mut [&mut [W]],
    ) {
        let n = source.len();
        let mut i = 0;
        while i + LANES <= n {
            finish_lanes::<W, LANES>(source, landing, child, capture, best, i);
            i += LANES;
        }
        while i < n {
            finish_lanes::<W, 1>(source, landing, child, capture, best, i);
            i += 1;
        }
    }
}

#[inline(always)]
fn quiet_lanes<W: Word, const L: usize>(
    kings: &[W],
    to: W,
    child: &[&[W]],
    best: &mut [&mut [W]],
    i: usize,
) {
    let mut open = [W::EMPTY; L];
    for j in 0..L {
        open[j] = if (kings[i + j] & to).is_empty() {
            !to
        } else {
            W::EMPTY
        };
    }
    let mut merit = [[W::EMPTY; L]; MAX_BITS];
    for p in 0..best.len() {
        merit[p].copy_from_slice(&child[p][i..i + L]);
    }
    improve::<W, L>(&merit, open, best, i);
}

kernel! {
    fn quiet_plies<W: Word>(kings: &[W], to: W, child: &[&[W]], best: &mut [&mut [W]]) {
        let n = kings.len();
        let mut i = 0;
        while i + LANES <= n {
            quiet_lanes::<W, LANES>(kings, to, child, best, i);
            i += LANES;
        }
        while i < n {
            quiet_lanes::<W, 1>(kings, to, child, best, i);
            i += 1;
        }
    }
}

impl Measure for Plies {
    type Array<T: Default + Send> = [T; MAX_BITS];

    #[inline(always)]
    fn array<T: Default + Send>(self, mut each: impl FnMut(usize) -> T) -> [T; MAX_BITS] {
        std::array::from_fn(|p| if p < self.bits { each(p) } else { T::default() })
    }
    #[inline(always)]
    fn planes(self) -> usize {
        self.bits
    }
    fn plies(self) -> Option<Plies> {
        Some(self)
    }
    fn finish<W: Word>(
        self,
        source: &[W],
        landing: &[W],
        child: &[&[W]; MAX_BITS],
        capture: &mut [W],
        best: &mut [&mut [W]; MAX_BITS],
    ) {
        let best = &mut best[..self.bits];
        finish_plies(source, landing, child, capture, best);
    }
    fn quiet_row<W: Word>(
        self,
        kings: &[W],
        to: W,
        child: &[&[W]; MAX_BITS],
        best: &mut [&mut [W]; MAX_BITS],
    ) {
        quiet_plies(kings, to, child, &mut best[..self.bits]);
    }
    #[inline(always)]
    fn cell<W: Word>(self, child: &[&[W]; MAX_BITS], at: usize) -> [W; MAX_BITS] {
        self.array(|p| child[p][at])
    }
    fn constant<W: Word>(self, code: u16) -> [W; MAX_BITS] {
        self.spread(self.of_code(code))
    }
    fn filled<W: Word>(self, code: u16) -> [W; MAX_BITS] {
        self.spread(self.of_code(code))
    }
    #[inline(always)]
    fn join<W: Word>(self, best: &mut [W; MAX_BITS], cell: &[W; MAX_BITS], mask: W) {
        let mut rows = best.each_mut().map(std::slice::from_mut);
        improve::<W, 1>(&cell.map(|w| [w]), [mask], &mut rows[..self.bits], 0);
    }
    #[inline(always)]
    fn add<W: Word>(
        self,
        best: &mut [&mut [W]; MAX_BITS],
        at: usize,
        cell: &[W; MAX_BITS],
        mask: W,
    ) {
        improve::<W, 1>(&cell.map(|w| [w]), [mask], &mut best[..self.bits], at);
    }
    #[inline(always)]
    fn outcome<W: Word>(self, table: &[&[W]; MAX_BITS], at: usize) -> (W, W) {
        let first = table[0][at];
        let others = table[1..self.bits]
            .iter()
            .fold(W::EMPTY, |all, plane| all | plane[at]);
        (others & !first, others & first)
    }
    fn stored(self, solved: &Solved, slice: usize) -> Option<Stored<'_>> {
        let arrays = solved.dtw.as_ref()?;
        arrays.get(slice).map(Stored::Distances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_moves_have_larger_merits() {
        for plies in [10, 30, 31, 100, 300] {
            let p = Plies::up_to(plies).expect("few plies");
            assert!(p.most() >= plies && (p.most() - 1) / 2 < plies.max(3));
            let mut merits = vec![0];
            merits.extend((0..=p.most()).map(|d| p.loss(d)));
            merits.push(p.draw());
            merits.extend((0..=p.most()).rev().map(|d| p.win(d)));
            assert!(merits.is_sorted_by(|a, b| a < b), "{merits:?}");
            assert!(*merits.last().expect("some") < 1 << p.bits());
            // A position decided in so many plies, and the move to it.
            for code in 0..2 * p.most() as u16 {
                assert_eq!(p.code(p.of_code(code)), code);
            }
        }
        assert_eq!(Plies::up_to(510).map(Plies::bits), Some(10));
        assert_eq!(Plies::up_to(511), None);
    }

    /// Merits square by square against words.
    #[test]
    fn the_best_landing_square_counts_for_all_sources() {
        let p = Plies::up_to(60).expect("few plies");
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let mut some = || {
            x = x
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            (x >> 32) as u32
        };
        let n = 19;
        let mut planes = || -> Vec<Vec<u32>> {
            (0..p.bits())
                .map(|_| (0..n).map(|_| some()).collect())
                .collect()
        };
        let (child, old) = (planes(), planes());
        let masks = planes();
        let (source, landing) = (&masks[0], &masks[1]);
        let landing: Vec<u32> = (0..n)
            .map(|i| landing[i] & masks[2][i] & masks[3][i])
            .collect();
        let mut new = old.clone();
        let mut capture = vec![0; n];
        {
            let rows = p.array(|i| &child[i][..]);
            let mut all = new.iter_mut();
            let mut best = p.array(|_| &mut all.next().expect("a plane")[..]);
            p.finish(source, &landing, &rows, &mut capture, &mut best);
        }
        let merit = |planes: &[Vec<u32>], i: usize, s: u8| {
            planes
                .iter()
                .fold(0, |m, plane| m << 1 | usize::from(plane[i].has(s)))
        };
        use dambase_rules::Bits;
        for i in 0..n {
            let best = landing[i].squares().map(|l| merit(&child, i, l)).max();
            for s in 0..32 {
                let mut wanted = merit(&old, i, s);
                if source[i].has(s) {
                    wanted = wanted.max(best.unwrap_or(0));
                    assert_eq!(capture[i].has(s), best.is_some());
                }
                assert_eq!(merit(&new, i, s), wanted);
            }
        }
    }
}
