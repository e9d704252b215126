//! What stands on the board, without where.

use std::fmt;
use std::str::FromStr;

use dambase_rules::{Bits, Board, Geometry, Side};

use crate::narrow::to_u8;

/// Kings and men of White and of Black. Written kings first, White first: `KKMvKM`.
///
/// Ordered by total pieces, then men, then the rest: a capture, a crowning and nothing else leads
/// to a smaller material, so this is an order in which materials can be solved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Material {
    /// Kings of White and Black.
    pub kings: [u8; 2],
    /// Men of White and Black.
    pub men: [u8; 2],
}

impl Material {
    /// The material with these numbers of pieces.
    #[must_use]
    pub const fn new(white_kings: u8, white_men: u8, black_kings: u8, black_men: u8) -> Self {
        Self {
            kings: [white_kings, black_kings],
            men: [white_men, black_men],
        }
    }
    /// The material of a placement.
    #[inline(always)]
    #[must_use]
    pub fn of<W: Bits>(b: &Board<W>) -> Self {
        // Written out: the optimiser leaves a map over an array of two as a call.
        let count = |set: W| to_u8(set.count() as usize);
        Self {
            kings: [count(b.kings[0]), count(b.kings[1])],
            men: [count(b.men[0]), count(b.men[1])],
        }
    }
    /// Pieces of one side.
    #[must_use]
    pub const fn side(&self, side: Side) -> u8 {
        self.kings[side as usize] + self.men[side as usize]
    }
    /// All pieces.
    #[must_use]
    pub const fn pieces(&self) -> u8 {
        self.side(Side::White) + self.side(Side::Black)
    }
    /// All men.
    #[must_use]
    pub const fn all_men(&self) -> u8 {
        self.men[0] + self.men[1]
    }
    /// The material with the colours swapped.
    #[must_use]
    pub const fn mirrored(&self) -> Self {
        Self {
            kings: [self.kings[1], self.kings[0]],
            men: [self.men[1], self.men[0]],
        }
    }
    /// True if both sides have the same: one slice, White to move, stands for both.
    #[must_use]
    pub const fn is_symmetric(&self) -> bool {
        self.kings[0] == self.kings[1] && self.men[0] == self.men[1]
    }
    /// True if this is the one of a mirrored pair that is stored: White has more pieces, or as
    /// many and at least as many kings.
    #[must_use]
    pub const fn is_canonical(&self) -> bool {
        let (w, b) = (self.side(Side::White), self.side(Side::Black));
        w > b || (w == b && self.kings[0] >= self.kings[1])
    }
    /// The one of a mirrored pair that is stored.
    #[must_use]
    pub const fn canonical(&self) -> Self {
        if self.is_canonical() {
            *self
        } else {
            self.mirrored()
        }
    }
    /// Sides to move that are stored for a canonical material.
    #[must_use]
    pub const fn sides(&self) -> &'static [Side] {
        if self.is_symmetric() {
            &[Side::White]
        } else {
            &Side::BOTH
        }
    }
    /// All canonical materials with at least one piece a side and `pieces` pieces in all, in an
    /// order in which they can be solved.
    #[must_use]
    pub fn canonical_with(pieces: u8) -> Vec<Self> {
        let mut all: Vec<_> = Self::all_with(pieces)
            .into_iter()
            .filter(Self::is_canonical)
            .collect();
        all.sort();
        all
    }
    /// All materials, mirrored ones too, with at least one piece a side and `pieces` in all.
    #[must_use]
    pub fn all_with(pieces: u8) -> Vec<Self> {
        let mut all = Vec::new();
        for white in 1..pieces {
            let black = pieces - white;
            for wk in 0..=white {
                for bk in 0..=black {
                    all.push(Self::new(wk, white - wk, bk, black - bk));
                }
            }
        }
        all.sort();
        all
    }
    fn key(&self) -> (u8, u8, [u8; 2], [u8; 2]) {
        (self.pieces(), self.all_men(), self.men, self.kings)
    }
}

impl PartialOrd for Material {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Material {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |i: usize| "K".repeat(self.kings[i].into()) + &"M".repeat(self.men[i].into());
        f.pad(&format!("{}v{}", side(0), side(1)))
    }
}

/// A text that names no material.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is no material; write kings, then men, White first, for example KKMvKM")]
pub struct BadMaterial(pub String);

impl FromStr for Material {
    type Err = BadMaterial;
    fn from_str(s: &str) -> Result<Self, BadMaterial> {
        let bad = || BadMaterial(s.to_owned());
        let (white, black) = s.trim().split_once(['v', 'V']).ok_or_else(bad)?;
        let side = |t: &str| {
            let kings = t
                .bytes()
                .take_while(|b| b.eq_ignore_ascii_case(&b'k'))
                .count();
            let men = t.len() - kings;
            let good =
                t.len() <= 30 && t.bytes().skip(kings).all(|b| b.eq_ignore_ascii_case(&b'm'));
            (good && !t.is_empty()).then_some((to_u8(kings), to_u8(men)))
        };
        let (w, b) = side(white).zip(side(black)).ok_or_else(bad)?;
        Ok(Self::new(w.0, w.1, b.0, b.1))
    }
}

/// A position as it is stored: canonical material, and White to move where both sides have the
/// same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed<W> {
    /// The canonical material.
    pub material: Material,
    /// The side to move in the stored position.
    pub side: Side,
    /// The stored placement.
    pub board: Board<W>,
    /// Whether the colours were swapped.
    pub swapped: bool,
}

/// Brings a position to the form in which it is stored.
#[inline]
#[must_use]
pub fn canonical<W: Bits>(geometry: Geometry, board: &Board<W>, side: Side) -> Placed<W> {
    let material = Material::of(board);
    let swapped = !material.is_canonical() || (material.is_symmetric() && side == Side::Black);
    if swapped {
        let board = board.mirrored(geometry);
        Placed {
            material: material.mirrored(),
            side: side.other(),
            board,
            swapped,
        }
    } else {
        Placed {
            material,
            side,
            board: *board,
            swapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for n in 2..7 {
            for m in Material::all_with(n) {
                assert_eq!(m.to_string().parse(), Ok(m));
                assert_eq!(m.mirrored().mirrored(), m);
                assert!(m.canonical().is_canonical());
                assert!(m.is_canonical() || m.mirrored().is_canonical());
                assert_eq!(
                    m.is_canonical() && m.mirrored().is_canonical(),
                    m.is_symmetric()
                );
            }
        }
        assert_eq!("KKMvKM".parse(), Ok(Material::new(2, 1, 1, 1)));
        for bad in [
            "", "v", "Kv", "vK", "MKvK", "KvKvK", "KQvK", "K", "\u{e9}vK",
        ] {
            assert!(bad.parse::<Material>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_order_solves_what_is_needed_first() {
        for n in 2..7 {
            for m in Material::canonical_with(n) {
                for s in 0..2 {
                    // A crowning.
                    if m.men[s] > 0 {
                        let mut after = m;
                        after.men[s] -= 1;
                        after.kings[s] += 1;
                        assert!(after.canonical() < m);
                    }
                }
            }
        }
    }
}
