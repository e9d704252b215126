//! Walks through the positions of a slice in index order, without ranking each of them anew.

use std::ops::Range;

use dambase_rules::{Bits, Board, Ruleset, Side, movegen};

use crate::codec::context::{Kind, capture_squares};
use crate::index::Index;
use crate::narrow::to_u8;

/// The squares above `s`, as far as the word goes.
#[inline(always)]
fn above<W: Bits>(s: u8) -> W {
    !(W::below(s) | W::bit(s))
}

/// The lowest `k` squares of `free`, or nothing if there are fewer.
#[inline]
fn lowest<W: Bits>(free: W, k: u32) -> Option<W> {
    let mut set = W::EMPTY;
    let mut rest = free;
    for _ in 0..k {
        if rest.is_empty() {
            return None;
        }
        set |= W::bit(rest.first());
        rest = rest.without_first();
    }
    Some(set)
}

/// The set of as many squares of `free` that follows `set` in colexicographic order.
#[inline(always)]
fn following<W: Bits>(set: W, free: W) -> Option<W> {
    if set.is_empty() {
        return None;
    }
    // The first run of squares next to each other in `free` ends at `end`; its last square moves
    // one on and the others go back to the bottom.
    let mut end = set.first();
    let mut run = 0;
    loop {
        let higher = free & above::<W>(end);
        if higher.is_empty() {
            return None;
        }
        let next = higher.first();
        if !set.has(next) {
            let kept = set & above::<W>(end);
            return Some(kept | W::bit(next) | lowest(free, run)?);
        }
        run += 1;
        end = next;
    }
}

/// The squares to which the lowest of `set` goes from where it stands, one after the other, while
/// the others stand still; at most `most`.
#[inline(always)]
fn lane<W: Bits>(set: W, free: W, most: u64) -> W {
    let mut lane = free & !W::below(set.first());
    let others = set.without_first();
    if !others.is_empty() {
        lane &= W::below(others.first());
    }
    match u32::try_from(most) {
        Ok(most) if most < lane.count() => lowest(lane, most).unwrap_or(lane),
        _ => lane,
    }
}

impl<W: Bits> Index<W> {
    /// Calls `f(men_rank, [white men, black men])` for the men placements of a range of ranks,
    /// in order. Stops at [`Self::men_placements`].
    pub fn for_each_men(&self, ranks: Range<u64>, mut f: impl FnMut(u64, [W; 2])) {
        self.for_each_men_lane(ranks, |rank, [white, others], lane| {
            if lane.is_empty() {
                return f(rank, [white, others]);
            }
            for (rank, s) in (rank..).zip(lane.squares()) {
                f(rank, [white, others | W::bit(s)]);
            }
        });
    }

    /// Calls `f(men_rank, [white men, black men without the lowest], squares of that one)` for
    /// the men placements of a range of ranks, in order: one after the other with each square.
    /// Without black men there are no squares, and each placement stands for itself.
    fn for_each_men_lane(&self, ranks: Range<u64>, mut f: impl FnMut(u64, [W; 2], W)) {
        let end = ranks.end.min(self.men_placements());
        if ranks.start >= end {
            return;
        }
        let last = W::below(to_u8(self.squares - self.per_row));
        let mut men = self.men(ranks.start);
        let mut rank = ranks.start;
        loop {
            let [white, black] = men;
            let mut at = men;
            if black.is_empty() {
                f(rank, men, W::EMPTY);
                rank += 1;
            } else {
                let lane = lane(black, last & !white, end - rank);
                let others = black.without_first();
                f(rank, [white, others], lane);
                rank += u64::from(lane.count());
                at = [white, others | W::bit(lane.last())];
            }
            if rank == end {
                return;
            }
            men = self.men_after(at);
        }
    }

    /// The men placement that follows one which is not the last.
    fn men_after(&self, men: [W; 2]) -> [W; 2] {
        let last = W::below(to_u8(self.squares - self.per_row));
        let last_row = W::from_wide(u128::MAX >> (128 - self.squares)) & !last;
        let inner = last & !W::below(to_u8(self.per_row));
        let (on_last, off_last) = (men[0] & last_row, men[0] & last);
        if let Some(black) = following(men[1], last & !off_last) {
            return [men[0], black];
        }
        let [white_men, black_men] = self.material.men.map(u32::from);
        let with_white = |white: W| Some([white, lowest(last & !white, black_men)?]);
        if let Some(m) = following(off_last, inner).and_then(|w| with_white(w | on_last)) {
            return m;
        }
        let j = on_last.count();
        if let Some(m) =
            following(on_last, last_row).and_then(|w| with_white(w | lowest(inner, white_men - j)?))
        {
            return m;
        }
        // More men on the last row; numbers for which there is no placement are passed over.
        for j in j + 1..=white_men {
            let white = lowest(last_row, j).zip(lowest(inner, white_men - j));
            if let Some(m) = white.and_then(|(on, off)| with_white(on | off)) {
                return m;
            }
        }
        men
    }

    /// Calls `f(king_rank, [white kings, black kings])` for the king placements of a range of
    /// ranks, in order, among the squares free of `men`. Stops at [`Self::king_space`].
    #[inline]
    pub fn for_each_kings(&self, men: W, ranks: Range<u64>, mut f: impl FnMut(u64, [W; 2])) {
        let white = self.material.kings[0] > 0;
        self.for_each_king_lane(men, ranks, |rank, others, lane| {
            if lane.is_empty() {
                return f(rank, others);
            }
            for (rank, s) in (rank..).zip(lane.squares()) {
                let [mut w, mut b] = others;
                *(if white { &mut w } else { &mut b }) |= W::bit(s);
                f(rank, [w, b]);
            }
        });
    }

    /// Calls `f(king_rank, kings without the lowest white one, squares of that one)` for the king
    /// placements of a range of ranks, in order: one after the other with each square. Without
    /// white kings it is the lowest black one, and without any there are no squares.
    #[inline]
    fn for_each_king_lane(&self, men: W, ranks: Range<u64>, mut f: impl FnMut(u64, [W; 2], W)) {
        let end = ranks.end.min(self.king_space());
        if ranks.start >= end {
            return;
        }
        let squares = W::from_wide(u128::MAX >> (128 - self.squares));
        let free = squares & !men;
        let [white_kings, black_kings] = self.material.kings.map(u32::from);
        let [mut white, mut black] = self.kings(men, ranks.start);
        let mut rank = ranks.start;
        if white_kings + black_kings == 0 {
            return f(rank, [white, black], W::EMPTY);
        }
        loop {
            if white_kings == 0 {
                let lane = lane(black, free, end - rank);
                let others = black.without_first();
                f(rank, [white, others], lane);
                rank += u64::from(lane.count());
                black = others | W::bit(lane.last());
            } else {
                let open = free & !black;
                loop {
                    let lane = lane(white, open, end - rank);
                    let others = white.without_first();
                    f(rank, [others, black], lane);
                    rank += u64::from(lane.count());
                    if rank == end {
                        return;
                    }
                    match following(others | W::bit(lane.last()), open) {
                        Some(next) => white = next,
                        None => break,
                    }
                }
            }
            if rank == end {
                return;
            }
            let next =
                following(black, free).and_then(|b| Some((b, lowest(free & !b, white_kings)?)));
            match next {
                Some((b, w)) => (black, white) = (b, w),
                None => return,
            }
        }
    }

    /// Calls `f(index, board)` for the positions of a range of indices, in order. Goes from one
    /// placement to the next instead of unranking each. Stops at [`Self::positions`].
    #[inline]
    pub fn for_each_board(&self, indices: Range<u64>, mut f: impl FnMut(u64, &Board<W>)) {
        self.for_each_lane(indices, |index, rest, piece, lane| {
            if lane.is_empty() {
                return f(index, rest);
            }
            for (index, s) in (index..).zip(lane.squares()) {
                let mut board = *rest;
                *piece.set_mut(&mut board) |= W::bit(s);
                f(index, &board);
            }
        });
    }

    /// Calls `f(index, board)` for the positions of a range of indices in which `side` must
    /// capture, in order. Stops at [`Self::positions`].
    pub fn for_each_capture<R: Ruleset<Bits = W>>(
        &self,
        side: Side,
        indices: Range<u64>,
        mut f: impl FnMut(u64, &Board<W>),
    ) {
        self.for_each_lane(indices, |first, rest, piece, lane| {
            if lane.is_empty() {
                if movegen::has_capture::<R>(rest, side) {
                    f(first, rest);
                }
                return;
            }
            let captures = capture_squares::<R>(rest, piece, side) & lane;
            for s in captures.squares() {
                let mut board = *rest;
                *piece.set_mut(&mut board) |= W::bit(s);
                f(first + u64::from((lane & W::below(s)).count()), &board);
            }
        });
    }

    /// Calls `f(index, board without one piece, that piece, its squares)` for the positions of a
    /// range of indices, in order: one position after the other with each square. The piece is the
    /// lowest of its kind: a white king, else a black one, else a black man; without any of these
    /// there are no squares, and the board stands for itself. Stops at [`Self::positions`].
    #[inline]
    pub(crate) fn for_each_lane(
        &self,
        indices: Range<u64>,
        mut f: impl FnMut(u64, &Board<W>, Kind, W),
    ) {
        let space = self.king_space();
        let end = indices.end.min(self.positions());
        if indices.start >= end {
            return;
        }
        let [white_king, _, black_king, black_man] = Kind::ALL;
        let kings = self.material.kings;
        if kings == [0; 2] {
            // A king space of one: indices are men ranks.
            self.for_each_men_lane(indices.start..end, |rank, men, lane| {
                let kings = [W::EMPTY; 2];
                f(rank, &Board { men, kings }, black_man, lane);
            });
            return;
        }
        let piece = if kings[0] > 0 { white_king } else { black_king };
        let men_ranks = indices.start / space..end.div_ceil(space);
        self.for_each_men(men_ranks, |men_rank, men| {
            let base = men_rank * space;
            let from = indices.start.saturating_sub(base);
            let to = (end - base).min(space);
            self.for_each_king_lane(men[0] | men[1], from..to, |king_rank, kings, lane| {
                f(base + king_rank, &Board { men, kings }, piece, lane);
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use dambase_rules::{Geometry, Ruleset, Side, Variant, WithRuleset, movegen};
    use proptest::prelude::*;

    use crate::{Index, Material};

    const BOARDS: [Geometry; 5] = [
        Geometry::Diagonal8,
        Geometry::Mirrored8,
        Geometry::Diagonal10,
        Geometry::Diagonal12,
        Geometry::Full8,
    ];

    #[test]
    fn small_slices_are_walked_in_index_order() {
        for g in BOARDS {
            for m in (2..=3).flat_map(Material::all_with) {
                let ix = Index::<u128>::new(g, m).unwrap();
                let mut next = 0;
                ix.for_each_board(0..u64::MAX, |i, b| {
                    assert_eq!(i, next);
                    assert_eq!(*b, ix.board(i), "{m} {i}");
                    next += 1;
                });
                assert_eq!(next, ix.positions());
            }
        }
    }

    struct Captures(u8);

    impl WithRuleset for Captures {
        type Output = ();
        fn run<R: Ruleset>(self) {
            for m in (2..=self.0).flat_map(Material::all_with) {
                let ix = Index::<R::Bits>::new(R::RULES.geometry, m).unwrap();
                for side in Side::BOTH {
                    let end = ix.positions() * 3 / 4;
                    let (mut wanted, mut got) = (Vec::new(), Vec::new());
                    ix.for_each_board(0..end, |i, b| {
                        if movegen::has_capture::<R>(b, side) {
                            wanted.push((i, *b));
                        }
                    });
                    ix.for_each_capture::<R>(side, 0..end, |i, b| got.push((i, *b)));
                    assert!(got == wanted, "{} {m} {side:?}", R::VARIANT);
                }
            }
        }
    }

    #[test]
    fn captures_are_those_of_move_generation() {
        for &v in Variant::ALL {
            v.with(Captures(2));
        }
        Variant::English.with(Captures(3));
    }

    #[test]
    fn all_64_squares_fit_the_narrow_word() {
        for m in ["KKvKK", "KMMvM", "MMvMM"] {
            let ix = Index::<u64>::new(Geometry::Full8, m.parse().unwrap()).unwrap();
            let mut next = 0;
            ix.for_each_board(0..ix.positions(), |i, b| {
                assert_eq!((i, ix.index(b)), (next, next));
                next += 1;
            });
            assert_eq!(next, ix.positions());
        }
    }

    proptest! {
        #[test]
        fn parts_of_larger_slices(
            g in proptest::sample::select(BOARDS.to_vec()),
            counts in proptest::array::uniform4(0_u8..5),
            (point, len) in (any::<u64>(), 0_u64..3000),
        ) {
            let m = Material::new(counts[0], counts[1], counts[2], counts[3]);
            let ix = Index::<u128>::new(g, m);
            prop_assume!(ix.is_ok());
            let ix = ix.unwrap();
            prop_assume!(ix.positions() > 0);
            let start = point % ix.positions();
            let mut seen = start;
            let mut wrong = None;
            ix.for_each_board(start..start + len, |i, b| {
                if i != seen || ix.index(b) != i || Material::of(b) != m {
                    wrong.get_or_insert((i, *b));
                }
                seen += 1;
            });
            prop_assert_eq!(wrong, None);
            prop_assert_eq!(seen, (start + len).min(ix.positions()));
        }
    }
}
