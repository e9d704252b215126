//! For which squares of one piece a side must capture, all squares at once.
//!
//! Positions with a capture are not stored, so the decoder has to know them. It asks for a whole
//! row: all pieces but one are fixed, and the answer is the set of squares of the missing piece.

use dambase_rules::geometry::{DirSet, Grid, OFF, ascending, opposite};
use dambase_rules::ruleset::KingRange;
use dambase_rules::{Bits, Board, Geometry, Rules, Ruleset, Side};

use super::layout::Kind;

/// The empty squares from `from` in direction `d` up to the first piece, and that piece.
#[inline(always)]
fn open_ray<W: Bits>(grid: &Grid, occupied: W, from: u8, d: usize) -> (W, Option<u8>) {
    let ray = W::from_wide(grid.ray[d][from as usize]);
    let hit = ray & occupied;
    if hit.is_empty() {
        return (ray, None);
    }
    let blocker = if ascending(d) {
        hit.first()
    } else {
        hit.last()
    };
    let behind = W::from_wide(grid.ray[d][blocker as usize]);
    (ray & !behind & !W::bit(blocker), Some(blocker))
}

/// The directions of a set, listed.
#[derive(Clone, Copy, Debug)]
struct Directions {
    list: [usize; 8],
    count: usize,
}

impl Directions {
    const fn new(set: DirSet) -> Self {
        let mut list = [0; 8];
        let mut count = 0;
        let mut d = 0;
        while d < 8 {
            if set.has(d) {
                list[count] = d;
                count += 1;
            }
            d += 1;
        }
        Self { list, count }
    }
    #[inline(always)]
    fn get(&self) -> &[usize] {
        &self.list[..self.count]
    }
}

/// Jumps of one step, by the square of a piece.
#[derive(Debug)]
struct Jumps {
    directions: Directions,
    /// Where a victim may stand for a piece that jumps, and with the squares behind.
    over: [u128; 72],
    reach: [u128; 72],
    /// From where a piece may jump a victim, and with the squares behind.
    from: [u128; 72],
    around: [u128; 72],
}

impl Jumps {
    const fn new(geometry: Geometry, set: DirSet) -> Self {
        let grid = geometry.grid();
        let mut new = Self {
            directions: Directions::new(set),
            over: [0; 72],
            reach: [0; 72],
            from: [0; 72],
            around: [0; 72],
        };
        let mut s = 0;
        while s < geometry.squares() {
            let mut k = 0;
            while k < new.directions.count {
                let d = new.directions.list[k];
                let (next, back) = (grid.step[d][s], grid.step[opposite(d)][s]);
                if next != OFF {
                    let behind = grid.step[d][next as usize];
                    if behind != OFF {
                        new.over[s] |= 1 << next;
                        new.reach[s] |= 1 << next | 1 << behind;
                    }
                    if back != OFF {
                        new.from[s] |= 1 << back;
                        new.around[s] |= 1 << next | 1 << back;
                    }
                }
                k += 1;
            }
            s += 1;
        }
        new
    }
}

/// What a code's captures need.
#[derive(Debug)]
struct Tables {
    kings: Jumps,
    men: [Jumps; 2],
    /// All squares in the directions of a flying king, and those that are not the last ones.
    rays: [u128; 72],
    inner: [u128; 72],
}

impl Tables {
    const fn new(rules: &Rules) -> Self {
        let geometry = rules.geometry;
        let grid = geometry.grid();
        let mut new = Self {
            kings: Jumps::new(geometry, rules.king_capture),
            men: [
                Jumps::new(geometry, rules.man_capture_of(Side::White)),
                Jumps::new(geometry, rules.man_capture_of(Side::Black)),
            ],
            rays: [0; 72],
            inner: [0; 72],
        };
        let mut s = 0;
        while s < geometry.squares() {
            let mut d = 0;
            while d < 8 {
                if rules.king_capture.has(d) {
                    let ray = grid.ray[d][s];
                    new.rays[s] |= ray;
                    if ray != 0 {
                        let last = if ascending(d) {
                            127 - ray.leading_zeros()
                        } else {
                            ray.trailing_zeros()
                        };
                        new.inner[s] |= ray ^ 1 << last;
                    }
                }
                d += 1;
            }
            s += 1;
        }
        new
    }
}

/// The squares on which a piece of kind `vector`, which is missing from `board`, makes `side`
/// have a capture. Squares that are occupied or off the board may be in the set too.
#[must_use]
pub fn capture_squares<R: Ruleset>(board: &Board<R::Bits>, vector: Kind, side: Side) -> R::Bits {
    let tables = const { &Tables::new(&R::RULES) };
    let (us, them) = (side as usize, side.other() as usize);
    let all_enemies = board.men[them] | board.kings[them];
    let view = View {
        grid: R::RULES.geometry.grid(),
        occupied: board.occupied(),
    };
    let hostile = vector.side != side;
    let flying = R::RULES.king_range == KingRange::Flying;
    let (men_victims, men_take_vector) = if R::RULES.man_takes_king {
        (all_enemies, hostile)
    } else {
        (board.men[them], hostile && !vector.king)
    };
    let mut squares = R::Bits::EMPTY;
    for from in board.kings[us].squares() {
        squares |= if flying {
            view.king_flies(tables, all_enemies, hostile, from)
        } else {
            view.jumps(&tables.kings, all_enemies, hostile, from)
        };
    }
    for from in board.men[us].squares() {
        squares |= view.jumps(&tables.men[us], men_victims, men_take_vector, from);
    }
    if !hostile {
        let (victims, jumps) = if vector.king {
            (all_enemies, &tables.kings)
        } else {
            (men_victims, &tables.men[us])
        };
        for victim in victims.squares() {
            squares |= view.jumped(jumps, flying && vector.king, victim);
        }
    }
    squares
}

/// The board as captures see it.
#[derive(Clone, Copy)]
struct View<W> {
    grid: &'static Grid,
    occupied: W,
}

impl<W: Bits> View<W> {
    /// The squares of the vector for which a piece on `from` can jump a neighbour: a fixed one of
    /// `victims`, or the vector itself.
    #[inline(always)]
    fn jumps(self, jumps: &Jumps, victims: W, takes_vector: bool, from: u8) -> W {
        let reach = W::from_wide(jumps.reach[from as usize]);
        if (reach & self.occupied).is_empty() {
            let over = W::from_wide(jumps.over[from as usize]);
            return if takes_vector { over } else { W::EMPTY };
        }
        let mut squares = W::EMPTY;
        for &d in jumps.directions.get() {
            let victim = self.grid.step[d][from as usize];
            if victim == OFF {
                continue;
            }
            let to = self.grid.step[d][victim as usize];
            if to == OFF || self.occupied.has(to) {
                continue;
            }
            if victims.has(victim) {
                squares |= !W::bit(to);
            } else if takes_vector && !self.occupied.has(victim) {
                squares |= W::bit(victim);
            }
        }
        squares
    }

    /// The same for a flying king.
    #[inline(always)]
    fn king_flies(self, tables: &Tables, victims: W, hostile: bool, from: u8) -> W {
        let rays = W::from_wide(tables.rays[from as usize]);
        if (rays & self.occupied).is_empty() {
            let inner = W::from_wide(tables.inner[from as usize]);
            return if hostile { inner } else { W::EMPTY };
        }
        let mut squares = W::EMPTY;
        for &d in tables.kings.directions.get() {
            let (open, blocker) = open_ray(self.grid, self.occupied, from, d);
            if let Some(b) = blocker
                && victims.has(b)
            {
                let to = self.grid.step[d][b as usize];
                if to != OFF && !self.occupied.has(to) {
                    squares |= !(open | W::bit(to));
                }
            }
            if hostile && !open.is_empty() {
                // All open squares but the farthest have an empty square behind them.
                let farthest = if ascending(d) {
                    open.last()
                } else {
                    open.first()
                };
                squares |= open ^ W::bit(farthest);
            }
        }
        squares
    }

    /// The squares from which the vector can jump the piece on `victim`.
    #[inline(always)]
    fn jumped(self, jumps: &Jumps, flying: bool, victim: u8) -> W {
        let around = W::from_wide(jumps.around[victim as usize]);
        if !flying && (around & self.occupied).is_empty() {
            return W::from_wide(jumps.from[victim as usize]);
        }
        let mut squares = W::EMPTY;
        for &d in jumps.directions.get() {
            let to = self.grid.step[d][victim as usize];
            if to == OFF || self.occupied.has(to) {
                continue;
            }
            if flying {
                squares |= open_ray(self.grid, self.occupied, victim, opposite(d)).0;
            } else {
                let from = self.grid.step[opposite(d)][victim as usize];
                if from != OFF {
                    squares |= W::bit(from);
                }
            }
        }
        squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Index, Material};
    use dambase_rules::{Variant, WithRuleset, movegen};
    use proptest::prelude::*;

    struct Agree {
        material: Material,
        point: u64,
    }

    impl WithRuleset for Agree {
        type Output = ();
        fn run<R: Ruleset>(self) {
            let index = Index::<R::Bits>::new(R::RULES.geometry, self.material).unwrap();
            let board = index.board(self.point % index.positions());
            for kind in Kind::ALL {
                let mut rest = board;
                let set = kind.set_mut(&mut rest);
                if set.is_empty() {
                    continue;
                }
                *set = set.without_first();
                for side in Side::BOTH {
                    let got = capture_squares::<R>(&rest, kind, side);
                    for s in 0..R::RULES.geometry.squares() as u8 {
                        if rest.occupied().has(s) {
                            continue;
                        }
                        let mut full = rest;
                        *kind.set_mut(&mut full) |= R::Bits::bit(s);
                        assert_eq!(
                            got.has(s),
                            movegen::has_capture::<R>(&full, side),
                            "{} {full:?} {side:?} {kind:?} {s}",
                            R::VARIANT
                        );
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn agrees_with_move_generation(
            v in proptest::sample::select(Variant::ALL.to_vec()),
            counts in proptest::array::uniform4(0_u8..4),
            point in any::<u64>(),
        ) {
            let material = Material::new(counts[0], counts[1], counts[2], counts[3]);
            v.with(Agree { material, point });
        }
    }
}
