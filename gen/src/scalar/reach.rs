//! Tables of what pieces can reach, made from the rules.

use dambase_rules::geometry::OFF;
use dambase_rules::movegen::king_targets;
use dambase_rules::ruleset::KingRange;
use dambase_rules::{Bits, Board, Ruleset, Side};

use super::layout::Slot;

/// Most squares of a board.
const SQUARES: usize = 72;

/// What a piece reaches from each square.
pub(crate) struct Reach<R: Ruleset> {
    /// A king's quiet moves on an empty board.
    quiet: [R::Bits; SQUARES],
    /// Squares on which a king may find something to take.
    king: [R::Bits; SQUARES],
    /// Squares on which a man of White or Black may find something to take.
    man: [[R::Bits; SQUARES]; 2],
}

impl<R: Ruleset> Reach<R> {
    pub(crate) fn new() -> Self {
        let grid = R::RULES.geometry.grid();
        let mut reach = Self {
            quiet: [R::Bits::EMPTY; SQUARES],
            king: [R::Bits::EMPTY; SQUARES],
            man: [[R::Bits::EMPTY; SQUARES]; 2],
        };
        for from in 0..R::RULES.geometry.squares() {
            reach.quiet[from] = king_targets::<R>(grid, R::Bits::EMPTY, from as u8);
            for d in 0..8 {
                // Whoever stands on the last square of a line cannot be jumped along it.
                let mut at = grid.step[d][from];
                while at != OFF && grid.step[d][usize::from(at)] != OFF {
                    if R::RULES.king_capture.has(d) {
                        reach.king[from] |= R::Bits::bit(at);
                    }
                    if R::RULES.king_range == KingRange::Short {
                        break;
                    }
                    at = grid.step[d][usize::from(at)];
                }
                let at = grid.step[d][from];
                for side in Side::BOTH {
                    if R::RULES.man_capture_of(side).has(d)
                        && at != OFF
                        && grid.step[d][usize::from(at)] != OFF
                    {
                        reach.man[side as usize][from] |= R::Bits::bit(at);
                    }
                }
            }
        }
        reach
    }

    /// The squares on which men may find something to take.
    pub(crate) fn men(&self, side: Side, men: R::Bits) -> R::Bits {
        men.squares().fold(R::Bits::EMPTY, |r, s| {
            r | self.man[side as usize][usize::from(s)]
        })
    }

    /// False only if the side to move has no capture: a quick test before captures are looked for.
    #[inline(always)]
    pub(crate) fn may_capture(&self, slot: &Slot<R::Bits>, board: &Board<R::Bits>) -> bool {
        let mut reach = slot.reach;
        for s in board.kings[slot.side as usize].squares() {
            reach |= self.king[usize::from(s)];
        }
        !(reach & board.pieces(slot.side.other())).is_empty()
    }

    /// The squares to which a king can make a quiet move.
    #[inline(always)]
    pub(crate) fn targets(&self, occupied: R::Bits, from: u8) -> R::Bits {
        match R::RULES.king_range {
            KingRange::Short => self.quiet[usize::from(from)] & !occupied,
            KingRange::Flying => king_targets::<R>(R::RULES.geometry.grid(), occupied, from),
        }
    }
}
