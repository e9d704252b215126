//! The dense index: a bijection between the positions of one slice and `0..count`.
//!
//! The index is `men_rank * king_space + king_rank`, so all positions with equal men stand
//! together. It is the public numbering of positions and part of the file format; docs/format.md
//! states it for readers in other languages. Any legal placement has an index for either side to
//! move, reachable or not.

use dambase_rules::{Bits, Board, Geometry};

use crate::material::Material;
use crate::narrow::to_u8;

/// Most pieces of one kind and colour the index takes.
pub const MAX_OF_A_KIND: usize = 16;
const SQUARES: usize = 72;

/// `BINOMIAL[n][k]`: subsets of size `k` of `n` squares.
static BINOMIAL: [[u64; MAX_OF_A_KIND + 1]; SQUARES + 1] = {
    let mut t = [[0; MAX_OF_A_KIND + 1]; SQUARES + 1];
    let mut n = 0;
    while n <= SQUARES {
        t[n][0] = 1;
        let mut k = 1;
        while k <= MAX_OF_A_KIND && k <= n {
            t[n][k] = t[n - 1][k - 1] + t[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    t
};

/// Subsets of size `k` of `n` squares; `n` up to 72, `k` up to [`MAX_OF_A_KIND`].
#[inline(always)]
#[must_use]
pub fn binomial(n: usize, k: usize) -> u64 {
    BINOMIAL[n][k]
}

/// The colexicographic rank of a set of squares, counted among the squares outside `taken`.
#[inline(always)]
fn rank<W: Bits>(set: W, taken: W) -> u64 {
    let mut r = 0;
    let mut k = 0;
    for s in set.squares() {
        k += 1;
        let free = u32::from(s) - (taken & W::below(s)).count();
        r += BINOMIAL[free as usize][k];
    }
    r
}

/// The set of `k` squares with a rank among the squares outside `taken`.
#[inline(always)]
fn unrank<W: Bits>(mut r: u64, k: usize, taken: W, squares: usize) -> W {
    let mut set = W::EMPTY;
    let mut free = squares - taken.count() as usize;
    for k in (1..=k).rev() {
        // The most free squares below the highest of `k` pieces: C(below, k) <= r < C(below + 1, k).
        let mut below = k - 1;
        while free - below > 1 {
            let middle = below.midpoint(free);
            if BINOMIAL[middle][k] <= r {
                below = middle;
            } else {
                free = middle;
            }
        }
        r -= BINOMIAL[below][k];
        free = below;
        set |= W::bit(nth(below, taken));
    }
    set
}

/// The square outside `taken` with `n` others below it.
#[inline(always)]
fn nth<W: Bits>(n: usize, taken: W) -> u8 {
    let mut s = to_u8(n);
    // Every taken square at or below moves it up by one.
    for t in taken.squares() {
        if t > s {
            break;
        }
        s += 1;
    }
    s
}

/// A slice whose positions cannot be numbered in 64 bits, or with too many pieces of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the material {0} is too large to be numbered")]
pub struct TooLarge(pub Material);

/// The numbering of the positions of one material on one board; the same for both sides to move.
#[derive(Clone, Copy, Debug)]
pub struct Index<W> {
    pub(crate) material: Material,
    pub(crate) squares: usize,
    pub(crate) per_row: usize,
    /// First rank of the men placements with `j` white men on the last row.
    base: [u64; MAX_OF_A_KIND + 2],
    /// Placements of the black men for `j` white men on the last row.
    black: [u64; MAX_OF_A_KIND + 1],
    /// Placements of the white men off the last row.
    inner: [u64; MAX_OF_A_KIND + 1],
    king_space: u64,
    /// Placements of the white kings, the faster part of the king rank.
    pub(crate) white_kings: u64,
    positions: u64,
    _word: std::marker::PhantomData<W>,
}

impl<W: Bits> Index<W> {
    /// Prepares the numbering.
    ///
    /// # Errors
    /// [`TooLarge`] if the positions do not fit 64 bits or a kind has more than
    /// [`MAX_OF_A_KIND`] pieces.
    pub fn new(geometry: Geometry, material: Material) -> Result<Self, TooLarge> {
        let too_large = TooLarge(material);
        let most = material
            .kings
            .into_iter()
            .chain(material.men)
            .max()
            .unwrap_or(0);
        let (squares, per_row) = (geometry.squares(), geometry.per_row());
        if usize::from(most) > MAX_OF_A_KIND || usize::from(material.pieces()) > squares {
            return Err(too_large);
        }
        let [wm, bm] = material.men.map(usize::from);
        let [wk, bk] = material.kings.map(usize::from);
        let mut base = [0_u64; MAX_OF_A_KIND + 2];
        let mut black = [0; MAX_OF_A_KIND + 1];
        let mut inner = [0; MAX_OF_A_KIND + 1];
        for j in 0..=wm {
            // White men: j on the last row, the others between the crowning rows. Black men: off
            // the last row and off the white men.
            let on_last = binomial(per_row, j);
            inner[j] = binomial(squares - 2 * per_row, wm - j);
            black[j] = match (squares - per_row).checked_sub(wm - j) {
                Some(free) => binomial(free, bm),
                None => 0,
            };
            let placements = on_last
                .checked_mul(inner[j])
                .and_then(|n| n.checked_mul(black[j]))
                .and_then(|n| n.checked_add(base[j]))
                .ok_or(too_large)?;
            base[j + 1] = placements;
        }
        let free = squares - wm - bm;
        let white_kings = binomial(free.saturating_sub(bk), wk);
        let king_space = binomial(free, bk)
            .checked_mul(white_kings)
            .ok_or(too_large)?;
        let positions = base[wm + 1].checked_mul(king_space).ok_or(too_large)?;
        Ok(Self {
            material,
            squares,
            per_row,
            base,
            black,
            inner,
            king_space,
            white_kings,
            positions,
            _word: std::marker::PhantomData,
        })
    }

    /// The material.
    #[must_use]
    pub const fn material(&self) -> Material {
        self.material
    }
    /// Positions of one slice (one side to move).
    #[must_use]
    pub const fn positions(&self) -> u64 {
        self.positions
    }
    /// Placements of the men of both colours.
    #[must_use]
    pub const fn men_placements(&self) -> u64 {
        self.base[self.material.men[0] as usize + 1]
    }
    /// Placements of the kings of both colours for one placement of the men.
    #[must_use]
    pub const fn king_space(&self) -> u64 {
        self.king_space
    }

    /// The rank of the men `[white, black]`.
    #[inline(always)]
    #[must_use]
    pub fn men_rank(&self, men: [W; 2]) -> u64 {
        if self.material.all_men() == 0 {
            return 0;
        }
        let last = to_u8(self.squares - self.per_row);
        let above = men[0] & W::below(last);
        let on_last = men[0] & !W::below(last);
        let j = on_last.count() as usize;
        // Ranks among the squares of the last row, between the crowning rows, and off the last
        // row without white men.
        let mut r = 0;
        let mut k = 0;
        for s in on_last.squares() {
            k += 1;
            r += BINOMIAL[(s - last) as usize][k];
        }
        let mut m = 0;
        let mut k = 0;
        for s in above.squares() {
            k += 1;
            m += BINOMIAL[s as usize - self.per_row][k];
        }
        self.base[j] + (r * self.inner[j] + m) * self.black[j] + rank(men[1], above)
    }

    /// How many placements Black's men have beside White's on `white`. Their ranks are neighbours.
    #[inline]
    #[must_use]
    pub fn black_men(&self, white: W) -> u64 {
        let last = to_u8(self.squares - self.per_row);
        self.black[(white & !W::below(last)).count() as usize]
    }

    /// What Black's `place`-th man, counted from the lowest square, adds to [`Self::men_rank`] if it
    /// stands on `s` and White's men on `white`.
    #[inline]
    #[must_use]
    pub fn black_man_rank(&self, white: W, s: u8, place: usize) -> u64 {
        let above = white & W::below(to_u8(self.squares - self.per_row));
        let free = u32::from(s) - (above & W::below(s)).count();
        BINOMIAL[free as usize][place + 1]
    }

    /// The rank of the kings `[white, black]` among the squares free of `men`.
    #[inline(always)]
    #[must_use]
    pub fn king_rank(&self, men: W, kings: [W; 2]) -> u64 {
        rank(kings[1], men) * self.white_kings + rank(kings[0], men | kings[1])
    }

    /// The index of a placement, which must have this material and no man on its crowning row.
    #[inline(always)]
    #[must_use]
    pub fn index(&self, b: &Board<W>) -> u64 {
        self.men_rank(b.men) * self.king_space + self.king_rank(b.men[0] | b.men[1], b.kings)
    }

    /// The men `[white, black]` with a rank below [`Self::men_placements`].
    #[must_use]
    pub fn men(&self, men_rank: u64) -> [W; 2] {
        let [wm, bm] = self.material.men;
        let (wm, bm) = (usize::from(wm), usize::from(bm));
        let mut j = 0;
        while j < wm && self.base[j + 1] <= men_rank {
            j += 1;
        }
        let r = men_rank - self.base[j];
        let (r, black) = (r / self.black[j], r % self.black[j]);
        let (on_last, above) = (r / self.inner[j], r % self.inner[j]);
        let last = self.squares - self.per_row;
        let on_last = unrank(on_last, j, W::below(to_u8(last)), self.squares);
        let above = unrank(above, wm - j, W::below(to_u8(self.per_row)), last);
        [on_last | above, unrank(black, bm, above, last)]
    }

    /// The kings `[white, black]` with a rank below [`Self::king_space`] among the squares free
    /// of `men`.
    #[must_use]
    pub fn kings(&self, men: W, king_rank: u64) -> [W; 2] {
        let [wk, bk] = self.material.kings;
        let (black, white) = (king_rank / self.white_kings, king_rank % self.white_kings);
        let black = unrank(black, bk.into(), men, self.squares);
        let white = unrank(white, wk.into(), men | black, self.squares);
        [white, black]
    }

    /// The placement with an index below [`Self::positions`].
    #[must_use]
    pub fn board(&self, index: u64) -> Board<W> {
        let men = self.men(index / self.king_space);
        let kings = self.kings(men[0] | men[1], index % self.king_space);
        Board { men, kings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::{Side, Variant};
    use proptest::prelude::*;

    const BOARDS: [Geometry; 5] = [
        Geometry::Diagonal8,
        Geometry::Mirrored8,
        Geometry::Diagonal10,
        Geometry::Diagonal12,
        Geometry::Full8,
    ];

    fn no_man_on_its_crown(g: Geometry, b: &Board<u128>) -> bool {
        b.men[0] & g.white_crown() == 0 && b.men[1] & g.black_crown() == 0
    }

    #[test]
    fn small_slices_are_bijections() {
        for g in BOARDS {
            for n in 2..=3 {
                for m in Material::all_with(n) {
                    let ix = Index::<u128>::new(g, m).unwrap();
                    for i in 0..ix.positions() {
                        let b = ix.board(i);
                        assert_eq!(Material::of(&b), m);
                        assert_eq!(b.occupied().count(), u32::from(n));
                        assert!(no_man_on_its_crown(g, &b));
                        assert_eq!(ix.index(&b), i);
                    }
                }
            }
        }
    }

    #[test]
    fn words_agree() {
        let m = Material::new(2, 1, 1, 2);
        let (a, b) = (
            Index::<u64>::new(Geometry::Diagonal10, m).unwrap(),
            Index::<u128>::new(Geometry::Diagonal10, m).unwrap(),
        );
        for i in (0..a.positions()).step_by(100_003) {
            assert_eq!(a.board(i).wide(), b.board(i));
        }
    }

    #[test]
    fn counts_are_those_published() {
        let text = include_str!("../tests/data/published.json");
        let published: serde_json::Value = serde_json::from_str(text).unwrap();
        let counts = &published["position_counts"];
        let per_board = &counts["by_board_and_piece_count"];
        for (name, g) in [
            (
                "8x8 diagonal (32 squares, promotion row 4)",
                Geometry::Diagonal8,
            ),
            (
                "10x10 diagonal (50 squares, promotion row 5)",
                Geometry::Diagonal10,
            ),
            (
                "12x12 diagonal (72 squares, promotion row 6)",
                Geometry::Diagonal12,
            ),
            (
                "8x8 orthogonal, Turkish (64 squares, promotion row 8)",
                Geometry::Full8,
            ),
        ] {
            for (n, wanted) in per_board[name].as_object().unwrap() {
                // Once per pair of mirrored positions: every material with White to move.
                let sum: u64 = Material::all_with(n.parse().unwrap())
                    .into_iter()
                    .map(|m| Index::<u128>::new(g, m).unwrap().positions())
                    .sum();
                assert_eq!(sum, wanted.as_u64().unwrap(), "{name} {n}");
            }
        }
        for (name, g) in [
            ("8x8", Geometry::Diagonal8),
            ("10x10", Geometry::Diagonal10),
        ] {
            let slices = counts["slices_2_to_5_pieces"][name].as_object().unwrap();
            assert!(slices.len() > 60);
            for (key, wanted) in slices {
                let k: Vec<u8> = key.bytes().map(|b| b - b'0').collect();
                let m = Material::new(k[0], k[1], k[2], k[3]);
                let got = Index::<u64>::new(g, m).unwrap().positions();
                assert_eq!(got, wanted.as_u64().unwrap(), "{name} {key}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let too_many = Material::new(17, 0, 1, 0);
        assert_eq!(
            Index::<u128>::new(Geometry::Diagonal12, too_many).unwrap_err(),
            TooLarge(too_many)
        );
        let too_wide = Material::new(12, 12, 12, 12);
        assert!(Index::<u128>::new(Geometry::Diagonal12, too_wide).is_err());
        assert!(Index::<u128>::new(Geometry::Diagonal8, too_wide).is_err());
    }

    proptest! {
        #[test]
        fn larger_slices_are_bijections(
            v in proptest::sample::select(Variant::ALL.to_vec()),
            counts in proptest::array::uniform4(0_u8..4),
            point in any::<u64>(),
        ) {
            let m = Material::new(counts[0], counts[1], counts[2], counts[3]);
            let g = v.rules().geometry;
            let ix = Index::<u128>::new(g, m).unwrap();
            let i = point % ix.positions();
            let b = ix.board(i);
            prop_assert_eq!(Material::of(&b), m);
            prop_assert!(no_man_on_its_crown(g, &b));
            prop_assert_eq!(ix.index(&b), i);
            let placed = crate::canonical(g, &b, Side::Black);
            prop_assert!(placed.material.is_canonical());
        }
    }
}
