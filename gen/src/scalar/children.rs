//! Where captures and crownings lead: finished slices of smaller materials.

use dambase_rules::position::{decided, winner_without_moves};
use dambase_rules::{Bits, Board, Move, Ruleset, Side};
use dambase_tables::{Index, Material};

use crate::{Error, Store};

/// The code of a draw.
pub(crate) const DRAW: u16 = 0;
/// The code of a game that is over, won by the side to move.
pub(crate) const WON: u16 = 1;
/// The code of a game that is over, lost by the side to move.
pub(crate) const LOST: u16 = 2;

/// True for the code of a win. Without distances all wins have the code of a win in 0.
#[inline(always)]
pub(crate) const fn is_win(code: u16) -> bool {
    code & 1 == 1
}

/// Plies of a code that is no draw.
#[inline(always)]
pub(crate) const fn plies(code: u16) -> usize {
    (code as usize - 1) / 2
}

/// The code of `winner` having won, for `to_move`.
pub(crate) const fn over(winner: Side, to_move: Side) -> u16 {
    if winner as u8 == to_move as u8 {
        WON
    } else {
        LOST
    }
}

/// The code for the mover of a move that leads to `child`, one ply further away with distances.
///
/// # Panics
/// For a distance that codes cannot hold.
#[inline(always)]
pub(crate) fn before<const D: bool>(child: u16) -> u16 {
    let code = match (D, is_win(child), child) {
        (_, _, DRAW) => return DRAW,
        (false, true, _) => return LOST,
        (false, false, _) => return WON,
        // Win in p = 2p + 1 becomes loss in p + 1 = 2p + 4; loss in p = 2p + 2 becomes win in
        // p + 1 = 2p + 3.
        (true, true, _) => child.checked_add(3),
        (true, false, _) => child.checked_add(1),
    };
    code.expect("distance")
}

/// The better of two codes for the side to move: quick wins first, slow losses last but one.
#[inline(always)]
pub(crate) const fn better(a: u16, b: u16) -> u16 {
    let wins = (is_win(a), is_win(b));
    match wins {
        (true, true) => {
            if a < b {
                a
            } else {
                b
            }
        }
        (true, false) => a,
        (false, true) => b,
        (false, false) => {
            if a == DRAW || b == DRAW {
                DRAW
            } else if a > b {
                a
            } else {
                b
            }
        }
    }
}

/// The code of the material if it is decided as a whole, for `to_move`.
pub(crate) fn decided_code<R: Ruleset>(index: &Index<R::Bits>, to_move: Side) -> Option<u16> {
    // Decided positions are told by the material alone, so any placement will do.
    (index.positions() > 0)
        .then(|| decided::<R>(&index.board(0)))
        .flatten()
        .map(|winner| over(winner, to_move))
}

/// The slice behind the moves of one kind.
struct Child<'a, W> {
    /// The value of all positions, if they have but one.
    fixed: Option<u16>,
    /// Whether the colours are to be swapped.
    mirror: bool,
    index: Index<W>,
    wld: &'a [u8],
    dtw: &'a [u16],
}

/// The slices behind all captures and crownings of one side of a material; with distances if `D`.
pub(crate) struct Children<'a, R: Ruleset, const D: bool> {
    /// By captured kings, captured men, and whether a man is crowned.
    table: Vec<Option<Child<'a, R::Bits>>>,
    men: usize,
    them: usize,
    side: Side,
}

impl<'a, R: Ruleset, const D: bool> Children<'a, R, D> {
    pub(crate) fn new(material: Material, side: Side, store: &'a Store) -> Result<Self, Error> {
        let (us, them) = (side as usize, side.other() as usize);
        let mut table = Vec::new();
        for kings in 0..=material.kings[them] {
            for men in 0..=material.men[them] {
                for crowned in 0..2 {
                    if kings + men + crowned == 0 || crowned > material.men[us] {
                        table.push(None);
                        continue;
                    }
                    let mut after = material;
                    after.kings[them] -= kings;
                    after.men[them] -= men;
                    after.men[us] -= crowned;
                    after.kings[us] += crowned;
                    table.push(Some(Self::child(material, after, side.other(), store)?));
                }
            }
        }
        Ok(Self {
            table,
            men: usize::from(material.men[them]),
            them,
            side,
        })
    }

    fn child(
        material: Material,
        after: Material,
        to_move: Side,
        store: &'a Store,
    ) -> Result<Child<'a, R::Bits>, Error> {
        let needed = after.canonical();
        let index = Index::<R::Bits>::new(R::RULES.geometry, needed)?;
        let mirror = !after.is_canonical() || (after.is_symmetric() && to_move == Side::Black);
        let stored_side = if mirror { to_move.other() } else { to_move };
        let mut child = Child {
            fixed: None,
            mirror,
            index,
            wld: &[],
            dtw: &[],
        };
        if after.side(to_move) == 0 {
            child.fixed = Some(over(winner_without_moves(&R::RULES, to_move), to_move));
            return Ok(child);
        }
        child.fixed = decided_code::<R>(&index, stored_side);
        if child.fixed.is_some() {
            return Ok(child);
        }
        let solved = store.get(needed);
        let solved = solved.ok_or(Error::MissingTable { material, needed })?;
        let sides = needed.sides();
        let slice = sides.iter().position(|&s| s == stored_side).unwrap_or(0);
        if D {
            let dtw = solved.dtw.as_ref();
            let dtw = dtw.ok_or(Error::MissingDistances { material, needed })?;
            child.dtw = &dtw[slice].codes;
        } else {
            child.wld = solved.wld[slice].packed();
        }
        Ok(child)
    }

    /// The code, for the opponent, of the position after a capture or crowning `m`.
    #[inline(always)]
    pub(crate) fn value(&self, board: &Board<R::Bits>, m: &Move<R::Bits>) -> u16 {
        let kings = (m.captured & board.kings[self.them]).count() as usize;
        let men = m.captured.count() as usize - kings;
        let i = (kings * (self.men + 1) + men) * 2 + usize::from(m.promotes);
        let Some(child) = &self.table[i] else {
            unreachable!("neither capture nor crowning");
        };
        if let Some(code) = child.fixed {
            return code;
        }
        let mut after = board.after(self.side, m);
        if child.mirror {
            after = after.mirrored(R::RULES.geometry);
        }
        let i = child.index.index(&after) as usize;
        if D {
            child.dtw[i]
        } else {
            packed(child.wld[i / 4], i)
        }
    }

    /// The code of a position for the side that must capture, from its captures.
    #[inline(always)]
    pub(crate) fn capture(&self, board: &Board<R::Bits>, captures: &[Move<R::Bits>]) -> u16 {
        let mut best = None;
        for m in captures {
            let code = before::<D>(self.value(board, m));
            if !D && code == WON {
                return WON;
            }
            best = Some(best.map_or(code, |b| better(b, code)));
        }
        best.unwrap_or(DRAW)
    }
}

/// The code of value `i` of a packed array, in whose byte it is.
#[inline(always)]
pub(crate) const fn packed(byte: u8, i: usize) -> u16 {
    (byte >> (i % 4 * 2) & 3) as u16
}
