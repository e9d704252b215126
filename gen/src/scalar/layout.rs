//! The slots of a unit, and the ways men have out of them and between them.

use dambase_rules::geometry::{OFF, dir};
use dambase_rules::{Bits, Board, Move, Ruleset, Side};

use super::kings::Free;
use super::unit::{NONE, Task};

/// A man's step out of the unit.
pub(crate) struct Step<W> {
    pub(crate) m: Move<W>,
    pub(crate) to: W,
    /// The slice, the first index and the free squares of the placement it leads to; turned in a
    /// symmetric material. Meaningless for a crowning.
    pub(crate) slice: usize,
    pub(crate) base: u64,
    pub(crate) free: Free,
}

/// A man's step inside the unit (sideways), by the side to move of the slot.
pub(crate) struct Sidestep<W> {
    /// The square that has to be free.
    pub(crate) to: W,
    /// The slot with the man there and the same side to move.
    pub(crate) slot: u32,
}

/// One placement of the men with one side to move.
pub(crate) struct Slot<W> {
    pub(crate) men: [W; 2],
    /// Squares of all men.
    pub(crate) all: W,
    pub(crate) side: Side,
    /// The slot of the positions before and after a king's move.
    pub(crate) partner: u32,
    pub(crate) slice: usize,
    pub(crate) base: u64,
    pub(crate) steps: Vec<Step<W>>,
    pub(crate) sidesteps: Vec<Sidestep<W>>,
    pub(crate) free: Free,
    /// Squares on which men of the side to move may find something to take.
    pub(crate) reach: W,
}

impl<R: Ruleset, const D: bool> Task<'_, R, D> {
    /// Fills `slots` with those of a unit and returns their number.
    pub(crate) fn lay_out(
        &self,
        white: usize,
        black: usize,
        slots: &mut Vec<Slot<R::Bits>>,
    ) -> usize {
        let g = R::RULES.geometry;
        let turn = |set: R::Bits| R::Bits::from_wide(g.rotate_set(set.wide()));
        let (wg, bg) = (
            self.white.groups[white].clone(),
            self.black.groups[black].clone(),
        );
        let mut used = 0;
        // Where the slots of a placement are, by its place in the two groups; a second table for
        // the turned placements of a symmetric material.
        let (wn, bn) = (wg.len(), bg.len());
        let mut map = vec![NONE; if wn * bn > 1 { 2 * wn * bn } else { 0 }];
        for (i, w) in wg.clone().enumerate() {
            for (j, b) in bg.clone().enumerate() {
                let men = [self.white.sets[w], turn(self.black.sets[b])];
                if !(men[0] & men[1]).is_empty() {
                    continue;
                }
                if !map.is_empty() {
                    map[i * bn + j] = used as u32;
                }
                if !self.symmetric {
                    self.add(slots, &mut used, men, Side::White, 1);
                    self.add(slots, &mut used, men, Side::Black, -1);
                } else if white != black {
                    self.add(slots, &mut used, men, Side::White, 1);
                    let men = [self.white.sets[b], turn(self.black.sets[w])];
                    self.add(slots, &mut used, men, Side::White, -1);
                } else {
                    self.add(slots, &mut used, men, Side::White, 0);
                }
            }
        }
        if self.symmetric && white == black && !map.is_empty() {
            for i in 0..wn {
                for j in 0..bn {
                    if map[i * bn + j] != NONE {
                        slots[map[i * bn + j] as usize].partner = map[j * bn + i];
                    }
                }
            }
        }
        if R::RULES.men_move_sideways() {
            self.link(&mut slots[..used], &map, wg, bg, white == black);
        }
        used
    }

    /// Adds a slot whose partner is `partner` places further on.
    fn add(
        &self,
        slots: &mut Vec<Slot<R::Bits>>,
        used: &mut usize,
        men: [R::Bits; 2],
        side: Side,
        partner: i32,
    ) {
        let g = R::RULES.geometry;
        let grid = g.grid();
        let crown = R::Bits::from_wide(R::RULES.crown_of(side));
        let all = men[0] | men[1];
        let (mut steps, mut sidesteps) = match slots.get_mut(*used) {
            Some(old) => (
                std::mem::take(&mut old.steps),
                std::mem::take(&mut old.sidesteps),
            ),
            None => (Vec::new(), Vec::new()),
        };
        steps.clear();
        sidesteps.clear();
        for from in men[side as usize].squares() {
            for d in 0..8 {
                let to = grid.step[d][from as usize];
                if !R::RULES.man_quiet_of(side).has(d) || to == OFF || all.has(to) {
                    continue;
                }
                if d == dir::E || d == dir::W {
                    // The slot is found later.
                    sidesteps.push(Sidestep {
                        to: R::Bits::bit(to),
                        slot: u32::from(from),
                    });
                    continue;
                }
                let m = Move {
                    captured: R::Bits::EMPTY,
                    from,
                    to,
                    promotes: crown.has(to),
                };
                let mut step = Step {
                    m,
                    to: R::Bits::bit(to),
                    slice: 0,
                    base: 0,
                    free: Free::new(R::Bits::EMPTY, 0),
                };
                if !m.promotes {
                    let board = Board {
                        men,
                        kings: [R::Bits::EMPTY; 2],
                    };
                    let mut after = board.after(side, &m);
                    if self.symmetric {
                        after = after.mirrored(g);
                    } else {
                        step.slice = side.other() as usize;
                    }
                    step.base = self.index.men_rank(after.men) * self.index.king_space();
                    step.free = Free::new(after.men[0] | after.men[1], g.squares());
                }
                steps.push(step);
            }
        }
        let slot = Slot {
            men,
            all,
            side,
            partner: (*used as i32 + partner) as u32,
            slice: if self.symmetric { 0 } else { side as usize },
            base: self.index.men_rank(men) * self.index.king_space(),
            steps,
            sidesteps,
            free: Free::new(all, g.squares()),
            reach: self.reach.men(side, men[side as usize]),
        };
        if let Some(old) = slots.get_mut(*used) {
            *old = slot;
        } else {
            slots.push(slot);
        }
        *used += 1;
    }

    /// Finds the slots that sidesteps lead to.
    fn link(
        &self,
        slots: &mut [Slot<R::Bits>],
        map: &[u32],
        wg: std::ops::Range<usize>,
        bg: std::ops::Range<usize>,
        same: bool,
    ) {
        let g = R::RULES.geometry;
        let turn = |set: R::Bits| R::Bits::from_wide(g.rotate_set(set.wide()));
        let bn = bg.len();
        let mut slot = 0;
        while slot < slots.len() {
            let s = &slots[slot];
            let (men, side) = (s.men, s.side);
            // The second slot of a pair in a symmetric material holds the groups the other way
            // round: its white men are in Black's group.
            let turned = self.symmetric && !same && slot % 2 == 1;
            for k in 0..slots[slot].sidesteps.len() {
                let step = &slots[slot].sidesteps[k];
                let from = R::Bits::bit(step.slot as u8);
                let mut after = men;
                after[side as usize] ^= from | step.to;
                // As the map knows them: White's men, and Black's turned to look like White's.
                let (w, b) = if turned {
                    (turn(after[1]), after[0])
                } else {
                    (after[0], turn(after[1]))
                };
                let i = self.white.sets[wg.clone()].binary_search(&w);
                let j = self.black.sets[bg.clone()].binary_search(&b);
                let (Ok(i), Ok(j)) = (i, j) else {
                    unreachable!("a sidestep leaves the group");
                };
                let first = map.get(i * bn + j).copied().unwrap_or(slot as u32 & !1);
                let offset = if self.symmetric && same {
                    0
                } else {
                    slot as u32 % 2
                };
                slots[slot].sidesteps[k].slot = first + offset;
            }
            slot += 1;
        }
    }
}
