//! Materials without kings: every move is final, so one pass is enough.
//!
//! A *row* is one placement of White's men with all of Black's. White's moves lead to rows whose
//! men are further advanced, Black's stay in the row; so rows are solved in the order of White's
//! advancement, those of one level side by side, and inside a row Black's placements in order of
//! theirs. What depends on White's men only is found once a row, so that to number a placement is
//! a sum over a table.

use dambase_rules::Side;
use dambase_rules::geometry::{MAX_SQUARES, OFF, opposite};
use dambase_rules::position::winner_without_moves;
use dambase_tables::{Index, Material};

use super::children::{Children, Source};
use super::dense::SharedArray;
use super::game::Game;
use super::levels::Levels;
use super::measure::Values;
use super::walk::{At, Leaf, Walk};
use super::word::Word;

/// Values as the packed arrays hold them.
const DRAW: u8 = 0;
const WIN: u8 = 1;
const LOSS: u8 = 2;

/// Everything that stays the same for all rows of a material.
pub(super) struct Men<'a, W: Word> {
    pub(super) game: &'a Game<W>,
    pub(super) material: Material,
    pub(super) index: Index<W>,
    pub(super) levels: &'a Levels<W>,
    /// By mover.
    pub(super) children: [Children<'a, W, Values>; 2],
    /// Values with White and with Black to move.
    pub(super) arrays: &'a [SharedArray; 2],
}

/// Buffers of one thread, used for one row after the other.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Values of the row with White and with Black to move.
    rows: [Vec<u8>; 2],
    ranks: Ranks,
    steps: Vec<Step>,
    jumps: [Vec<Jump>; 2],
}

/// Numbers sets of black men beside one set of white men: a sum over a table.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// `[place in the set][square]`.
    table: Vec<[u64; MAX_SQUARES]>,
}

impl Ranks {
    pub(super) fn set<W: Word>(&mut self, index: &Index<W>, white: W, n: usize) {
        let men = index.material().men[1] as usize;
        self.table.resize(men, [0; MAX_SQUARES]);
        for (place, table) in self.table.iter_mut().enumerate() {
            for (s, rank) in table[..n].iter_mut().enumerate() {
                *rank = index.black_man_rank(white, s as u8, place);
            }
        }
    }
    #[inline(always)]
    pub(super) fn of<W: Word>(&self, black: W) -> u64 {
        let places = black.squares().zip(&self.table);
        places.map(|(s, table)| table[s as usize]).sum()
    }
}

/// A quiet step of one of White's men.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) to: u8,
    pub(super) crowned: bool,
    /// Number of the first placement with White's men after the step, in the child's index.
    pub(super) first: u64,
    pub(super) ranks: Ranks,
}

/// The steps of White's men on squares without a white man. `crowned` numbers the placements after a crowning.
pub(super) fn set_steps<W: Word>(
    game: &Game<W>,
    index: &Index<W>,
    crowned: &Index<W>,
    white: W,
    out: &mut Vec<Step>,
) {
    let mut steps = 0;
    for from in white.squares() {
        for &d in &game.man_forward[0] {
            let to = game.grid.step[d][from as usize];
            if to == OFF || white.has(to) {
                continue;
            }
            let is_crowned = game.crown[0].has(to);
            let mut after = white ^ W::bit(from);
            if !is_crowned {
                after |= W::bit(to);
            }
            let index = if is_crowned { crowned } else { index };
            if out.len() == steps {
                out.push(Step::default());
            }
            let step = &mut out[steps];
            (step.to, step.crowned) = (to, is_crowned);
            step.first = index.men_rank([after, W::EMPTY]);
            step.ranks.set(index, after, game.n);
            steps += 1;
        }
    }
    out.truncate(steps);
}

/// A capture that exists if a black man stands on `man` and none on `empty`.
#[derive(Clone, Copy, Debug)]
struct Jump {
    man: u8,
    empty: u8,
}

/// The best of the moves seen.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    any: bool,
    win: bool,
    escape: bool,
}

impl Best {
    /// A move to a position with this value for the opponent.
    #[inline(always)]
    fn add(&mut self, value: u8) {
        self.any = true;
        self.win |= value == LOSS;
        self.escape |= value != WIN;
    }
    #[inline(always)]
    fn add_words<W: Word>(&mut self, to: W, won: W, lost: W) {
        self.any = true;
        self.win |= !(to & lost).is_empty();
        self.escape |= !(to & !won).is_empty();
    }
    #[inline(always)]
    fn value(self, without_moves: u8) -> u8 {
        match self {
            Self { win: true, .. } => WIN,
            Self { escape: true, .. } => DRAW,
            Self { any: true, .. } => LOSS,
            _ => without_moves,
        }
    }
}

impl<W: Word> Men<'_, W> {
    /// Solves the row of a placement of White's men. The rows of sets with a number below `before`
    /// are finished. Returns the number of placements.
    pub(super) fn solve(&self, white: W, before: usize, arena: &mut Arena) -> u64 {
        let (game, material) = (self.game, self.material);
        self.prepare(white, arena);
        let first = self.index.men_rank([white, W::EMPTY]);
        let rules = game.rules;
        let without_moves = Side::BOTH.map(|side| {
            if winner_without_moves(rules, side) == side {
                WIN
            } else {
                LOSS
            }
        });
        let Arena {
            rows,
            ranks,
            steps,
            jumps,
        } = arena;
        let len = self.index.black_men(white) as usize;
        for row in &mut *rows {
            row.clear();
            row.resize(len, DRAW);
        }
        let crowned = self.children[1].source(true, 0, material.men[0] as usize);
        let crowned = match crowned {
            Source::Planes(planes) => Some((planes, planes.index.men_rank([white, W::EMPTY]))),
            _ => None,
        };
        let [by_white, by_black] = rows;
        for (number, &black) in self.levels.sets(Side::Black).iter().enumerate() {
            if !(white & black).is_empty() {
                continue;
            }
            let at = ranks.of(black) as usize;
            let men = [white, black];
            if number < before && material.is_symmetric() {
                // The mirror image has been solved.
                let men = [black.reversed(game.n), white.reversed(game.n)];
                let rank = self.index.men_rank(men);
                by_white[at] = self.arrays[1].get(rank);
                by_black[at] = self.arrays[0].get(rank);
                continue;
            }
            let may = |j: &Jump| black.has(j.man) && !black.has(j.empty);
            by_white[at] = if jumps[0].iter().any(may) {
                self.capture(Side::White, men)
            } else {
                self.white_steps(steps, black).value(without_moves[0])
            };
            by_black[at] = if jumps[1].iter().any(may) {
                self.capture(Side::Black, men)
            } else {
                let mut best = Best::default();
                'moves: for from in black.squares() {
                    let rest = black ^ W::bit(from);
                    for &d in &game.man_forward[1] {
                        let to = game.grid.step[d][from as usize];
                        if to == OFF || (white | black).has(to) {
                            continue;
                        }
                        if !game.crown[1].has(to) {
                            best.add(by_white[ranks.of(rest | W::bit(to)) as usize]);
                        } else if let Some((planes, first)) = crowned {
                            let (won, lost) = planes.block(first + ranks.of(rest));
                            best.add_words(W::bit(to), won[0], lost[0]);
                        } else {
                            best.add(LOSS);
                        }
                        if best.win {
                            break 'moves;
                        }
                    }
                }
                best.value(without_moves[1])
            };
        }
        for (array, row) in self.arrays.iter().zip(&*rows) {
            array.put(first, row);
        }
        len as u64
    }

    /// What depends on White's men only.
    fn prepare(&self, white: W, arena: &mut Arena) {
        let game = self.game;
        arena.ranks.set(&self.index, white, game.n);
        let black_men = self.material.men[1] as usize;
        let crowned = match self.children[0].source(true, 0, black_men) {
            Source::Planes(planes) => &planes.index,
            _ => &self.index,
        };
        set_steps(game, &self.index, crowned, white, &mut arena.steps);
        for (x, jumps) in arena.jumps.iter_mut().enumerate() {
            jumps.clear();
            for q in white.squares() {
                for &d in &game.man_capture[x] {
                    // White's man jumps over a black one; or a black man jumps over White's.
                    let ahead = game.grid.step[d][q as usize];
                    let (man, empty) = if ahead == OFF {
                        continue;
                    } else if x == 0 {
                        (ahead, game.grid.step[d][ahead as usize])
                    } else {
                        (game.grid.step[opposite(d)][q as usize], ahead)
                    };
                    if man != OFF && empty != OFF && !white.has(man) && !white.has(empty) {
                        jumps.push(Jump { man, empty });
                    }
                }
            }
        }
    }

    /// White's quiet moves.
    #[inline(always)]
    fn white_steps(&self, steps: &[Step], black: W) -> Best {
        let mut best = Best::default();
        for step in steps {
            if best.win {
                break;
            }
            if black.has(step.to) {
                continue;
            }
            let rank = step.first + step.ranks.of(black);
            if !step.crowned {
                best.add(self.arrays[1].get(rank));
                continue;
            }
            let black_men = self.material.men[1] as usize;
            if let Source::Planes(planes) = self.children[0].source(true, 0, black_men) {
                let (won, lost) = planes.block(rank);
                best.add_words(W::bit(step.to), won[0], lost[0]);
            } else {
                best.add(LOSS);
            }
        }
        best
    }

    /// The value of a position with captures.
    fn capture(&self, side: Side, men: [W; 2]) -> u8 {
        let game = self.game;
        let (x, y) = (side as usize, side.other() as usize);
        let children = &self.children[x];
        let mut best = (0, Best::default());
        for from in men[x].squares() {
            let leaf = |leaf: Leaf<W>| {
                if leaf.rank < best.0 {
                    return;
                }
                if leaf.rank > best.0 {
                    best = (leaf.rank, Best::default());
                }
                let mut after = men;
                after[x] ^= W::bit(from);
                after[y] &= !leaf.captured;
                if !leaf.promotes {
                    after[x] |= W::bit(leaf.to);
                }
                match children.source(leaf.promotes, 0, after[y].count() as usize) {
                    Source::Over => best.1.add(if game.misere() { WIN } else { LOSS }),
                    Source::Flat(flat) => best.1.add(flat.code(after) as u8),
                    Source::Planes(planes) => {
                        let (won, lost) = planes.block(planes.index.men_rank(after));
                        best.1.add_words(W::bit(leaf.to), won[0], lost[0]);
                    }
                    Source::Never => unreachable!("a capture leaves fewer pieces"),
                }
            };
            let mut walk = Walk {
                game,
                mover: x,
                enemy_kings: W::EMPTY,
                vector_is_enemy: false,
                leaf,
            };
            let occupied = (men[0] | men[1]) ^ W::bit(from);
            walk.man(&At::without_vector(occupied, men[y]), from);
        }
        best.1.value(LOSS)
    }
}
