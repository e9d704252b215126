//! Boards: which squares there are, how they are numbered, and which squares are next to which.
//!
//! Squares are numbered as in RULES 0.2 (house numbers): row by row from the top left as White
//! sees the board. Inside the crates a square is the house number less one.

use crate::bits::Bits;

/// Most squares of any board (Canadian).
pub const MAX_SQUARES: usize = 72;
/// Marks a step off the board in [`Grid::step`].
pub const OFF: u8 = 255;

/// The eight directions as White sees them; north is towards row 1. The numbers are those of
/// [`DirSet`] bits and of the first index of [`Grid::step`].
pub mod dir {
    /// Straight up.
    pub const N: usize = 0;
    /// Up and right.
    pub const NE: usize = 1;
    /// Right.
    pub const E: usize = 2;
    /// Down and right.
    pub const SE: usize = 3;
    /// Straight down.
    pub const S: usize = 4;
    /// Down and left.
    pub const SW: usize = 5;
    /// Left.
    pub const W: usize = 6;
    /// Up and left.
    pub const NW: usize = 7;
}

/// The direction turned by 180 degrees.
#[inline]
#[must_use]
pub const fn opposite(d: usize) -> usize {
    (d + 4) & 7
}

/// True if house numbers grow along direction `d`.
#[inline]
#[must_use]
pub const fn ascending(d: usize) -> bool {
    matches!(d, dir::E | dir::SE | dir::S | dir::SW)
}

/// A set of directions: bit `d` is direction `d` of [`dir`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DirSet(pub u8);

impl DirSet {
    /// The two forward diagonals (White's view).
    pub const FORWARD: Self = Self(1 << dir::NE | 1 << dir::NW);
    /// All four diagonals.
    pub const DIAGONAL: Self = Self(1 << dir::NE | 1 << dir::NW | 1 << dir::SE | 1 << dir::SW);
    /// The four orthogonals.
    pub const ORTHOGONAL: Self = Self(1 << dir::N | 1 << dir::E | 1 << dir::S | 1 << dir::W);
    /// Straight forward, left and right (White's view).
    pub const FORWARD_SIDEWAYS: Self = Self(1 << dir::N | 1 << dir::E | 1 << dir::W);
    /// All eight directions.
    pub const ALL: Self = Self(255);

    /// The union of two sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The same directions for the other side (turned by 180 degrees).
    #[inline]
    #[must_use]
    pub const fn rotated(self) -> Self {
        Self(self.0.rotate_left(4))
    }
    /// The directions of the set, in the order of their numbers.
    #[inline(always)]
    pub fn directions(self) -> impl Iterator<Item = usize> {
        self.0.squares().map(usize::from)
    }
    /// True if direction `d` is in the set.
    #[inline]
    #[must_use]
    pub const fn has(self, d: usize) -> bool {
        self.0 >> d & 1 == 1
    }
}

/// The five boards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Geometry {
    /// 8x8, 32 dark squares, dark corner at White's left.
    Diagonal8,
    /// 8x8, 32 dark squares, dark corner at each player's right (Italian, Spanish).
    Mirrored8,
    /// 10x10, 50 dark squares.
    Diagonal10,
    /// 12x12, 72 dark squares.
    Diagonal12,
    /// 8x8, all 64 squares.
    Full8,
}

impl Geometry {
    /// Rows of the board, which is also the number of columns.
    #[inline]
    #[must_use]
    pub const fn side(self) -> usize {
        match self {
            Self::Diagonal8 | Self::Mirrored8 | Self::Full8 => 8,
            Self::Diagonal10 => 10,
            Self::Diagonal12 => 12,
        }
    }
    /// Playable squares in one row.
    #[inline]
    #[must_use]
    pub const fn per_row(self) -> usize {
        match self {
            Self::Full8 => 8,
            _ => self.side() / 2,
        }
    }
    /// Playable squares.
    #[inline]
    #[must_use]
    pub const fn squares(self) -> usize {
        self.side() * self.per_row()
    }
    /// True if every square of the board is playable.
    #[inline]
    #[must_use]
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Full8)
    }
    /// Row (0 at the top) and column (0 at the left) of a square.
    #[inline]
    #[must_use]
    pub const fn row_column(self, s: u8) -> (usize, usize) {
        let (s, n) = (s as usize, self.per_row());
        let r = s / n;
        let c = match self {
            Self::Full8 => s % n,
            Self::Mirrored8 => 2 * (s % n) + r % 2,
            _ => 2 * (s % n) + 1 - r % 2,
        };
        (r, c)
    }
    /// The square at a row and column, if it is on the board and playable.
    #[must_use]
    pub const fn at(self, r: isize, c: isize) -> Option<u8> {
        let n = self.side() as isize;
        if r < 0 || c < 0 || r >= n || c >= n {
            return None;
        }
        let dark = match self {
            Self::Full8 => return Some((r * 8 + c) as u8),
            Self::Mirrored8 => r % 2,
            _ => 1 - r % 2,
        };
        if c % 2 == dark {
            Some((r * (n / 2) + c / 2) as u8)
        } else {
            None
        }
    }
    /// All playable squares.
    #[inline]
    #[must_use]
    pub const fn all(self) -> u128 {
        (1 << self.squares()) - 1
    }
    /// The squares of row `r` (0 at the top).
    #[inline]
    #[must_use]
    pub const fn row_mask(self, r: usize) -> u128 {
        ((1 << self.per_row()) - 1) << (r * self.per_row())
    }
    /// The squares on which White's men are crowned (row 1).
    #[inline]
    #[must_use]
    pub const fn white_crown(self) -> u128 {
        self.row_mask(0)
    }
    /// The squares on which Black's men are crowned (the last row).
    #[inline]
    #[must_use]
    pub const fn black_crown(self) -> u128 {
        self.row_mask(self.side() - 1)
    }
    /// The square turned by 180 degrees, where it stands when colours are swapped.
    #[must_use]
    pub const fn rotate(self, s: u8) -> u8 {
        (self.squares() - 1) as u8 - s
    }
    /// The set turned by 180 degrees.
    #[must_use]
    pub const fn rotate_set(self, set: u128) -> u128 {
        set.reverse_bits() >> (128 - self.squares())
    }
    /// The algebraic name of a square (`a1` at White's bottom left).
    #[must_use]
    pub fn algebraic(self, s: u8) -> String {
        let (r, c) = self.row_column(s);
        format!("{}{}", (b'a' + c as u8) as char, self.side() - r)
    }
    /// The square with an algebraic name, if there is one that is playable.
    #[must_use]
    pub fn from_algebraic(self, name: &str) -> Option<u8> {
        let b = name.as_bytes();
        let column = b.first()?.to_ascii_lowercase();
        if !column.is_ascii_lowercase() || !b[1..].iter().all(u8::is_ascii_digit) {
            return None;
        }
        let rank: isize = name.get(1..)?.parse().ok()?;
        self.at(self.side() as isize - rank, isize::from(column - b'a'))
    }
    /// The neighbour tables of this board.
    #[inline]
    #[must_use]
    pub const fn grid(self) -> &'static Grid {
        match self {
            Self::Diagonal8 => &GRIDS[0],
            Self::Mirrored8 => &GRIDS[1],
            Self::Diagonal10 => &GRIDS[2],
            Self::Diagonal12 => &GRIDS[3],
            Self::Full8 => &GRIDS[4],
        }
    }
}

static GRIDS: [Grid; 5] = [
    Grid::new(Geometry::Diagonal8),
    Grid::new(Geometry::Mirrored8),
    Grid::new(Geometry::Diagonal10),
    Grid::new(Geometry::Diagonal12),
    Grid::new(Geometry::Full8),
];

/// Neighbours and lines of one board, computed at compile time.
///
/// On the boards of dark squares an orthogonal step leads to the next square of the same colour,
/// two rows or columns away.
#[derive(Debug)]
pub struct Grid {
    /// `step[d][s]`: the square one step from `s` in direction `d`, or [`OFF`].
    pub step: [[u8; MAX_SQUARES]; 8],
    /// `ray[d][s]`: all squares from `s` in direction `d`, without `s`.
    pub ray: [[u128; MAX_SQUARES]; 8],
    /// `shift[d]`: a step in direction `d` for a whole set.
    shift: [Shift; 8],
}

/// One step in a direction. House numbers change by one number in all rows, or by one in the odd
/// rows and another in the even ones.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// The squares for which the number changes by each of `by`; no others have a neighbour.
    from: [u128; 2],
    by: [u8; 2],
}

impl Grid {
    const fn new(g: Geometry) -> Self {
        let scale = if g.is_full() { 1 } else { 2 };
        let offsets: [(isize, isize); 8] = [
            (-scale, 0),
            (-1, 1),
            (0, scale),
            (1, 1),
            (scale, 0),
            (1, -1),
            (0, -scale),
            (-1, -1),
        ];
        let mut grid = Self {
            step: [[OFF; MAX_SQUARES]; 8],
            ray: [[0; MAX_SQUARES]; 8],
            shift: [Shift {
                from: [0; 2],
                by: [0; 2],
            }; 8],
        };
        let mut d = 0;
        while d < 8 {
            let mut s = 0;
            while s < g.squares() {
                let (r, c) = g.row_column(s as u8);
                let (dr, dc) = offsets[d];
                let (mut r, mut c) = (r as isize + dr, c as isize + dc);
                let mut nearest = true;
                while let Some(t) = g.at(r, c) {
                    if nearest {
                        grid.step[d][s] = t;
                        nearest = false;
                    }
                    grid.ray[d][s] |= 1 << t;
                    r += dr;
                    c += dc;
                }
                if !nearest {
                    let by = grid.step[d][s].abs_diff(s as u8);
                    let shift = &mut grid.shift[d];
                    let i = (shift.from[0] != 0 && shift.by[0] != by) as usize;
                    assert!(shift.from[i] == 0 || shift.by[i] == by);
                    shift.from[i] |= 1 << s;
                    shift.by[i] = by;
                }
                s += 1;
            }
            d += 1;
        }
        grid
    }

    /// The squares one step in direction `d` from those of `set`; nothing for squares that have no
    /// neighbour there.
    #[inline(always)]
    #[must_use]
    pub fn stepped<W: Bits>(&self, d: usize, set: W) -> W {
        // Written out: the optimiser leaves a map over an array of two as a call.
        let Shift { from, by } = &self.shift[d];
        let (a, b) = (set & W::from_wide(from[0]), set & W::from_wide(from[1]));
        if ascending(d) {
            a.up(by[0]) | b.up(by[1])
        } else {
            a.down(by[0]) | b.down(by[1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Geometry; 5] = [
        Geometry::Diagonal8,
        Geometry::Mirrored8,
        Geometry::Diagonal10,
        Geometry::Diagonal12,
        Geometry::Full8,
    ];

    #[test]
    fn names_follow_the_rules_reference() {
        // RULES 0.2: Turkish family 1 = a8, 8 = h8, 57 = a1, 64 = h1; mirrored 1 = a8, 32 = h1.
        for (name, n) in [("a8", 1), ("h8", 8), ("a1", 57), ("h1", 64)] {
            assert_eq!(Geometry::Full8.algebraic(n - 1), name);
        }
        assert_eq!(Geometry::Mirrored8.algebraic(0), "a8");
        assert_eq!(Geometry::Mirrored8.algebraic(31), "h1");
        // moves.json: German f8-e7 is 3-7, g1-b6 is 32-9.
        assert_eq!(Geometry::Diagonal8.algebraic(2), "f8");
        assert_eq!(Geometry::Diagonal8.algebraic(31), "g1");
        assert_eq!(Geometry::Diagonal8.algebraic(8), "b6");
    }

    #[test]
    fn squares_rows_and_names_are_inverse() {
        for g in ALL {
            for s in 0..g.squares() as u8 {
                let (r, c) = g.row_column(s);
                assert_eq!(g.at(r as isize, c as isize), Some(s));
                assert_eq!(g.from_algebraic(&g.algebraic(s)), Some(s));
                assert_eq!(g.rotate(g.rotate(s)), s);
                assert_eq!(g.rotate_set(1 << s), 1 << g.rotate(s));
            }
            assert_eq!(g.from_algebraic(""), None);
            assert_eq!(g.from_algebraic("a99999999999999999999"), None);
            assert_eq!(g.from_algebraic("\u{e9}1"), None);
        }
    }

    #[test]
    fn steps_are_symmetric_and_turn_with_the_board() {
        for g in ALL {
            let grid = g.grid();
            for d in 0..8 {
                for s in 0..g.squares() as u8 {
                    let t = grid.step[d][s as usize];
                    if t == OFF {
                        assert_eq!(grid.ray[d][s as usize], 0);
                        continue;
                    }
                    assert_eq!(grid.step[opposite(d)][t as usize], s);
                    assert_eq!(grid.step[opposite(d)][g.rotate(s) as usize], g.rotate(t));
                    assert_eq!(t > s, ascending(d));
                    assert_eq!(grid.ray[d][s as usize], grid.ray[d][t as usize] | 1 << t);
                }
                // Any set, square by square.
                for set in [g.all(), 0x5a5a_1234_9f0f_7777_c3c3 & g.all(), 1, 0] {
                    let steps = set.squares().map(|s| grid.step[d][usize::from(s)]);
                    let wanted = steps.filter(|&t| t != OFF).fold(0, |w, t| w | 1_u128 << t);
                    assert_eq!(grid.stepped(d, set), wanted, "{g:?} {d}");
                }
            }
        }
    }
}
