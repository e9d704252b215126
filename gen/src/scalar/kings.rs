//! Numbering of the kings around one placement of men, as the dense index does it, from tables
//! made for that placement.

use dambase_rules::Bits;
use dambase_tables::index::binomial;

use super::space::combinations;

/// Most squares of a board.
const SQUARES: usize = 72;

/// The squares without men.
#[derive(Clone, Copy)]
pub(crate) struct Free {
    /// The squares, lowest first.
    squares: [u8; SQUARES],
    /// How many of them are below each square.
    below: [u8; SQUARES],
}

impl Free {
    pub(crate) fn new<W: Bits>(men: W, squares: usize) -> Self {
        let mut free = Self {
            squares: [0; SQUARES],
            below: [0; SQUARES],
        };
        let mut n = 0;
        for s in 0..squares {
            free.below[s] = n;
            if !men.has(s as u8) {
                free.squares[usize::from(n)] = s as u8;
                n += 1;
            }
        }
        free
    }

    #[inline(always)]
    fn below(&self, s: u8) -> usize {
        self.below[usize::from(s)].into()
    }
}

/// Divides by a number that is not known when the program is compiled.
struct Divisor {
    by: u32,
    inverse: u64,
}

impl Divisor {
    const fn new(by: u32) -> Self {
        Self {
            by,
            inverse: (u64::MAX / by as u64).wrapping_add(1),
        }
    }
    /// Quotient and remainder. Exact for all 32-bit numbers: the inverse has 64 fractional bits.
    #[inline(always)]
    const fn divide(&self, n: u32) -> (u32, u32) {
        if self.by == 1 {
            return (n, 0);
        }
        let q = ((self.inverse as u128 * n as u128) >> 64) as u32;
        (q, n - q * self.by)
    }
}

/// The kings of a material.
pub(crate) struct Kings {
    /// Kings of White and Black.
    counts: [u8; 2],
    /// Placements of the white kings among what the black ones leave, and of the black kings, as
    /// packed combinations.
    pub(crate) lists: [Vec<u64>; 2],
    /// Subsets of size `k` of `n`: `binomials[k][n]`.
    binomials: [[u32; SQUARES + 1]; 9],
    /// Placements of all kings.
    pub(crate) space: usize,
    by_space: Divisor,
    by_whites: Divisor,
}

impl Kings {
    /// None if there are too many of them.
    pub(crate) fn new(counts: [u8; 2], free: usize) -> Option<Self> {
        let [wk, bk] = counts.map(usize::from);
        if wk > 8 || bk > 8 || wk + bk > free {
            return None;
        }
        let whites = binomial(free - bk, wk);
        let space = u32::try_from(whites.checked_mul(binomial(free, bk))?).ok()?;
        let mut binomials = [[0; SQUARES + 1]; 9];
        for (k, row) in binomials.iter_mut().enumerate() {
            for (n, b) in row.iter_mut().enumerate() {
                // What does not fit is larger than any rank and never looked up.
                *b = u32::try_from(binomial(n, k)).unwrap_or(u32::MAX);
            }
        }
        Some(Self {
            counts,
            lists: [combinations(free - bk, wk), combinations(free, bk)],
            binomials,
            space: space as usize,
            by_space: Divisor::new(space),
            by_whites: Divisor::new(whites as u32),
        })
    }

    /// Slot and king rank of a node.
    #[inline(always)]
    pub(crate) const fn split(&self, node: u32) -> (usize, u32) {
        let (slot, rank) = self.by_space.divide(node);
        (slot as usize, rank)
    }

    /// The first rank with these black kings.
    #[inline(always)]
    pub(crate) fn black_rank<W: Bits>(&self, free: &Free, black: W) -> usize {
        let rank = match self.counts[1] {
            0 => return 0,
            1 => free.below(black.first()),
            2 => self.pair(free.below(black.first()), free.below(black.last())),
            _ => self.many(black, |s| free.below(s)),
        };
        rank * self.lists[0].len()
    }

    /// The rank of the white kings among what the black ones leave.
    #[inline(always)]
    pub(crate) fn white_rank<W: Bits>(&self, free: &Free, white: W, black: W) -> usize {
        let below = |s: u8| {
            let taken = match self.counts[1] {
                0 => 0,
                1 => usize::from(black.first() < s),
                2 => usize::from(black.first() < s) + usize::from(black.last() < s),
                _ => (black & W::below(s)).count() as usize,
            };
            free.below(s) - taken
        };
        match self.counts[0] {
            0 => 0,
            1 => below(white.first()),
            2 => self.pair(below(white.first()), below(white.last())),
            _ => self.many(white, below),
        }
    }

    /// The rank of all kings.
    #[inline(always)]
    pub(crate) fn rank<W: Bits>(&self, free: &Free, kings: [W; 2]) -> usize {
        self.black_rank(free, kings[1]) + self.white_rank(free, kings[0], kings[1])
    }

    #[inline(always)]
    fn pair(&self, low: usize, high: usize) -> usize {
        low + self.binomials[2][high] as usize
    }

    #[inline(always)]
    fn many<W: Bits>(&self, set: W, below: impl Fn(u8) -> usize) -> usize {
        let squares = set.squares().enumerate();
        squares
            .map(|(k, s)| self.binomials[k + 1][below(s)] as usize)
            .sum()
    }

    /// The squares of packed black kings.
    #[inline(always)]
    pub(crate) fn black<W: Bits>(&self, free: &Free, mut packed: u64) -> W {
        let mut set = W::EMPTY;
        for _ in 0..self.counts[1] {
            set |= W::bit(free.squares[(packed & 0xff) as usize]);
            packed >>= 8;
        }
        set
    }

    /// The squares of packed white kings, counted among what packed black kings leave.
    #[inline(always)]
    pub(crate) fn white<W: Bits>(&self, free: &Free, mut packed: u64, blacks: u64) -> W {
        let mut set = W::EMPTY;
        for _ in 0..self.counts[0] {
            let mut i = packed & 0xff;
            let mut above = blacks;
            for _ in 0..self.counts[1] {
                i += u64::from(i >= above & 0xff);
                above >>= 8;
            }
            set |= W::bit(free.squares[i as usize]);
            packed >>= 8;
        }
        set
    }

    /// The kings with a rank.
    #[inline(always)]
    pub(crate) fn unrank<W: Bits>(&self, free: &Free, rank: u32) -> [W; 2] {
        let (b, w) = self.by_whites.divide(rank);
        let blacks = self.lists[1][b as usize];
        [
            self.white(free, self.lists[0][w as usize], blacks),
            self.black(free, blacks),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::Geometry;
    use dambase_tables::{Index, Material};

    #[test]
    fn ranks_are_those_of_the_index() {
        for (wk, wm, bk, bm) in [
            (1, 1, 1, 1),
            (2, 1, 2, 0),
            (3, 0, 1, 1),
            (2, 0, 0, 2),
            (0, 2, 1, 0),
            (3, 0, 3, 0),
        ] {
            let g = Geometry::Diagonal8;
            let index = Index::<u64>::new(g, Material::new(wk, wm, bk, bm)).unwrap();
            let free = g.squares() - usize::from(wm + bm);
            let kings = Kings::new([wk, bk], free).unwrap();
            assert_eq!(kings.space as u64, index.king_space());
            for m in (0..index.men_placements()).step_by(11) {
                let men = index.men(m);
                let free = Free::new(men[0] | men[1], g.squares());
                for r in (0..kings.space).step_by(1 + kings.space / 500) {
                    let k: [u64; 2] = kings.unrank(&free, r as u32);
                    assert_eq!(k, index.kings(men[0] | men[1], r as u64));
                    assert_eq!(kings.rank(&free, k), r);
                }
            }
        }
    }

    #[test]
    fn division_is_exact() {
        for by in [1, 2, 3, 7, 750, 4495, 65_537, u32::MAX] {
            let d = Divisor::new(by);
            for n in [0, 1, by - 1, by, by.wrapping_add(1), u32::MAX - 1, u32::MAX] {
                assert_eq!(d.divide(n), (n / by, n % by), "{n} / {by}");
            }
        }
    }
}
