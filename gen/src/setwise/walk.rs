//! Captures by a piece that is not the vector, for all squares of the vector at once.
//!
//! The walk is depth first, as in plain move generation, and carries the set of vector squares for
//! which the path so far exists: a square that must be empty leaves the set. If the vector is an
//! enemy it can be taken as well; from then on its square is known and the set has one bit.

use dambase_rules::geometry::OFF;
use dambase_rules::ruleset::Promotion;

use super::game::{Game, STANDING, Tally};
use super::word::Word;

/// Longest row of landing squares behind a piece.
const MAX_LANDINGS: usize = 12;

/// A piece in the middle of a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<W> {
    /// Vector squares for which the path exists.
    pub(super) mask: W,
    /// What is in the way, the vector excepted (but not once it has been taken).
    pub(super) occupied: W,
    /// Enemy pieces that can still be taken, the vector excepted.
    pub(super) targets: W,
    /// What has been taken, the vector excepted.
    pub(super) captured: W,
    /// The square of the vector, if it has been taken.
    pub(super) hit: Option<u8>,
    came: usize,
    tally: Tally,
    /// The piece was a man when it set out.
    by_man: bool,
    /// It has been crowned on the way.
    crowned: bool,
}

impl<W: Word> At<W> {
    /// A piece that has not jumped yet; `occupied` is without its own square.
    pub(super) fn start(mask: W, occupied: W, targets: W, by_man: bool) -> Self {
        Self {
            mask,
            occupied,
            targets,
            captured: W::EMPTY,
            hit: None,
            came: STANDING,
            tally: Tally::default(),
            by_man,
            crowned: false,
        }
    }
    /// A man that has not jumped yet where there is no vector, or is the vector itself; masks are full
    /// or empty.
    pub(super) fn without_vector(occupied: W, targets: W) -> Self {
        Self {
            // What has been taken is nowhere in the way.
            hit: Some(OFF),
            ..Self::start(W::ALL, occupied, targets, true)
        }
    }
    /// `mask` without the vector squares in `path`.
    #[inline(always)]
    fn clear(&self, mask: W, path: W) -> W {
        if self.hit.is_some() {
            mask
        } else {
            mask & !path
        }
    }
}

/// A complete capture (with a precedence: one that is complete or of lower rank than what goes on).
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<W> {
    pub(super) to: u8,
    /// Vector squares for which the capture exists.
    pub(super) mask: W,
    pub(super) captured: W,
    pub(super) hit: Option<u8>,
    /// A man has become a king.
    pub(super) promotes: bool,
    pub(super) rank: u64,
}

/// The men after one of side `x` has gone from `from` to `to` and taken what is `captured`.
#[inline(always)]
pub(super) fn men_after<W: Word>(
    mut men: [W; 2],
    x: usize,
    (from, to): (u8, u8),
    crowned: bool,
    captured: W,
) -> [W; 2] {
    men[x] ^= W::bit(from);
    if !crowned {
        men[x] |= W::bit(to);
    }
    men[1 - x] &= !captured;
    men
}

impl<W: Word> Leaf<W> {
    /// The men after a capture by one of side `x` that stood on `from`.
    #[inline(always)]
    pub(super) fn men_after(&self, men: [W; 2], x: usize, from: u8) -> [W; 2] {
        men_after(men, x, (from, self.to), self.promotes, self.captured)
    }
}

/// What piece the vector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vector {
    /// One of the mover's own, or there is none: it is in the way.
    Own,
    EnemyKing,
    EnemyMan,
}

/// The rules, and the part of the position that matters to the walk.
pub(super) struct Walk<'a, W: Word, F: FnMut(Leaf<W>)> {
    pub(super) game: &'a Game<W>,
    /// Directions in which a man of the mover jumps, and where it is crowned.
    pub(super) mover: usize,
    pub(super) enemy_kings: W,
    pub(super) vector: Vector,
    pub(super) leaf: F,
}

impl<W: Word, F: FnMut(Leaf<W>)> Walk<'_, W, F> {
    fn emit(&mut self, at: &At<W>, to: u8, mask: W, promotes: bool) {
        if mask.is_empty() {
            return;
        }
        let rank = at.tally.rank(self.game.rules.precedence, !at.by_man);
        (self.leaf)(Leaf {
            to,
            mask,
            captured: at.captured,
            hit: at.hit,
            promotes,
            rank,
        });
    }

    /// The state after `victim` has been taken in direction `d`; `vector`: the victim is the
    /// vector.
    #[inline(always)]
    fn take(&self, at: &At<W>, victim: u8, d: usize, mask: W, vector: bool) -> At<W> {
        let bit = W::bit(victim);
        let mut after = *at;
        after.came = d;
        after.mask = mask;
        if vector {
            after.hit = Some(victim);
            after.tally = at.tally.with(self.vector == Vector::EnemyKing);
            if !self.game.immediate {
                after.occupied |= bit;
            }
        } else {
            after.tally = at.tally.with(self.enemy_kings.has(victim));
            after.targets &= !bit;
            after.captured |= bit;
            if self.game.immediate {
                after.occupied &= !bit;
            }
        }
        after
    }

    /// Follows all jumps of a man on `sq`. Returns the vector squares for which there is one.
    pub(super) fn man(&mut self, at: &At<W>, sq: u8) -> W {
        let game = self.game;
        let mut any = W::EMPTY;
        for &d in &game.man_capture[self.mover] {
            if !game.may_turn(at.came, d) {
                continue;
            }
            let victim = game.grid.step[d][sq as usize];
            if victim == OFF {
                continue;
            }
            let to = game.grid.step[d][victim as usize];
            if to == OFF || at.occupied.has(to) {
                continue;
            }
            let after = if at.targets.has(victim) {
                if !game.rules.man_takes_king && self.enemy_kings.has(victim) {
                    continue;
                }
                let mask = at.clear(at.mask, W::bit(to));
                self.take(at, victim, d, mask, false)
            } else if self.vector != Vector::Own
                && at.hit.is_none()
                && (game.rules.man_takes_king || self.vector == Vector::EnemyMan)
                && at.mask.has(victim)
                && !at.occupied.has(victim)
            {
                self.take(at, victim, d, W::bit(victim), true)
            } else {
                continue;
            };
            let mask = after.mask;
            if mask.is_empty() {
                continue;
            }
            any |= mask;
            let on_crown = game.crown[self.mover].has(to);
            match game.promotion() {
                Promotion::EndsMove if on_crown => self.emit(&after, to, mask, true),
                Promotion::InPassing if on_crown => {
                    let after = At {
                        crowned: true,
                        ..after
                    };
                    let on = self.king(&after, to);
                    self.emit(&after, to, self.stops(mask, on), true);
                }
                _ => {
                    let on = self.man(&after, to);
                    self.emit(&after, to, self.stops(mask, on), on_crown);
                }
            }
        }
        any
    }

    /// Where a capture may end that could go on for the squares `on`.
    #[inline(always)]
    fn stops(&self, mask: W, on: W) -> W {
        if self.game.free { mask & !on } else { mask }
    }

    /// Follows all jumps of a king on `sq`. Returns the vector squares for which there is one.
    pub(super) fn king(&mut self, at: &At<W>, sq: u8) -> W {
        let game = self.game;
        let mut any = W::EMPTY;
        for &d in &game.king_capture {
            if game.may_turn(at.came, d) {
                any |= self.king_towards(at, sq, d);
            }
        }
        any
    }

    /// Follows the jumps of a king on `sq` in direction `d`.
    fn king_towards(&mut self, at: &At<W>, sq: u8, d: usize) -> W {
        let game = self.game;
        let mut any = W::EMPTY;
        let (victim, open) = if game.flying {
            let victim = game.blocker(d, sq, at.occupied);
            (victim, game.open(d, sq, at.occupied))
        } else {
            let next = game.grid.step[d][sq as usize];
            if next == OFF {
                return any;
            }
            if at.occupied.has(next) {
                (Some(next), W::EMPTY)
            } else {
                (None, W::bit(next))
            }
        };
        if self.vector != Vector::Own && at.hit.is_none() {
            for v in (open & at.mask).squares() {
                any |= self.land(at, v, d, W::bit(v), true);
            }
        }
        if let Some(q) = victim
            && at.targets.has(q)
        {
            any |= self.land(at, q, d, at.clear(at.mask, open), false);
        }
        any
    }

    /// Takes `victim` in direction `d` for the vector squares of `mask`, as far as there is room
    /// behind it, and goes on from all landing squares. Returns the vector squares for which this
    /// is possible.
    pub(super) fn land(&mut self, at: &At<W>, victim: u8, d: usize, mask: W, vector: bool) -> W {
        let game = self.game;
        let mut to = game.grid.step[d][victim as usize];
        if to == OFF || at.occupied.has(to) {
            return W::EMPTY;
        }
        let after = self.take(at, victim, d, mask, vector);
        let possible = after.clear(mask, W::bit(to));
        if possible.is_empty() {
            return possible;
        }
        if !game.flying {
            let after = At {
                mask: possible,
                ..after
            };
            let on = self.king(&after, to);
            self.emit(&after, to, self.stops(possible, on), after.crowned);
            return possible;
        }
        let first = to;
        let mut landings = [(0_u8, W::EMPTY, W::EMPTY); MAX_LANDINGS];
        let mut count = 0;
        let mut mask = mask;
        let mut turned = W::EMPTY;
        while to != OFF && !after.occupied.has(to) {
            mask = after.clear(mask, W::bit(to));
            if mask.is_empty() {
                break;
            }
            let here = At { mask, ..after };
            let mut on = W::EMPTY;
            for &t in &game.king_capture {
                if t != d && game.may_turn(d, t) {
                    on |= self.king_towards(&here, to, t);
                }
            }
            turned |= on;
            landings[count] = (to, mask, on);
            count += 1;
            to = game.grid.step[d][to as usize];
        }
        // Straight on, once for all landing squares.
        let here = At {
            mask: possible,
            ..after
        };
        let straight = self.king_towards(&here, first, d);
        for &(to, mask, on) in &landings[..count] {
            let stops = if !game.free {
                mask
            } else if game.rules.land_to_continue {
                mask & !straight & !turned
            } else {
                mask & !straight & !on
            };
            self.emit(&after, to, stops, after.crowned);
        }
        possible
    }
}
