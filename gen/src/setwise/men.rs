//! Materials without kings: every move is final, so one pass is enough.
//!
//! They are solved by [`super::rows`]. Inside a row Black's lowest man is the vector: a
//! word has what differs in its square alone. Black's men go to higher squares, so the placements of
//! the others come in the order of their numbers, the highest first, and a step of another man leads
//! to a word that has the same squares and more. The placements of a word are neighbours in the dense
//! index, also in that of a child, and are read from its packed array all at once.

use std::borrow::Cow;

use dambase_rules::Side;
use dambase_rules::geometry::{OFF, opposite};
use dambase_tables::{Index, Material};

use super::children::{Children, Source};
use super::dense::{Reader, SharedArray, Writer};
use super::game::Game;
use super::layout::Sets;
use super::levels::Levels;
use super::measure::{Measure, Values};
use super::planes::Planes;
use super::reach::{Fill, step_of_word};
use super::rows::{Moves, Ranks, Rows, Step, all, next, set_steps};
use super::walk::{At, Leaf, Walk};
use super::word::{Pack, Word};
use crate::Error;

/// The numbering of a child's placements, and its packed values.
type Flat<'a, W> = (Index<W>, Cow<'a, [u8]>);

/// Everything that stays the same for all rows of a material.
pub(super) struct Men<'a, W: Word> {
    game: &'a Game<W>,
    index: Index<W>,
    /// By mover.
    children: [Children<'a, W, Values>; 2],
    /// Values with White and with Black to move.
    arrays: &'a [SharedArray; 2],
    /// What the capture of one man leads to, by mover; none if it is the last.
    flats: [Option<Flat<'a, W>>; 2],
    /// The squares where Black's men can be.
    black: W,
    /// Placements of Black's men but one, by their number.
    others: Sets<W>,
    count: usize,
    /// Steps of Black's men in each direction.
    forward: Vec<(usize, Fill<W>)>,
}

/// Buffers of one thread, used for one row after the other.
#[derive(Debug)]
pub(super) struct Arena<W> {
    ranks: Ranks,
    steps: Vec<Step<W>>,
    jumps: Vec<WhiteJump<W>>,
    black_jumps: Vec<BlackJump>,
    without: Vec<Without<W>>,
    /// Won and lost with White to move, and with Black to move, by the number of the placement of
    /// Black's other men.
    words: Vec<[[W; 2]; 2]>,
    writer: Writer,
}

impl<W> Default for Arena<W> {
    fn default() -> Self {
        Self {
            ranks: Ranks::default(),
            steps: Vec::new(),
            jumps: Vec::new(),
            black_jumps: Vec::new(),
            without: Vec::new(),
            words: Vec::new(),
            writer: Writer::default(),
        }
    }
}

/// A capture by one of White's men, if a black man stands on `victim` and none on `to`.
#[derive(Debug, Default)]
struct WhiteJump<W> {
    victim: u8,
    to: u8,
    crowned: bool,
    /// It may go on if a black man stands on one of these squares.
    near: W,
    after: W,
    /// As in [`Step`].
    first: u64,
    ranks: Ranks,
}

/// A capture of White's man number `victim` that exists if a black man stands on `man` and none on
/// `to`.
#[derive(Clone, Copy, Debug)]
struct BlackJump {
    man: u8,
    victim: usize,
    to: u8,
    crowned: bool,
    /// It may go on.
    goes_on: bool,
}

/// White's men but one that has been taken.
#[derive(Debug, Default)]
struct Without<W> {
    after: W,
    /// Number of the first placement, and of the first after a crowning.
    first: u64,
    first_crowned: u64,
    ranks: Ranks,
}

impl<'a, W: Word> Men<'a, W> {
    pub(super) fn new(
        game: &'a Game<W>,
        material: Material,
        children: [Children<'a, W, Values>; 2],
        arrays: &'a [SharedArray; 2],
    ) -> Result<Self, Error> {
        let geometry = game.rules.geometry;
        let mut flats = [None, None];
        for (x, flat) in flats.iter_mut().enumerate() {
            let left = material.men[1 - x] as usize - 1;
            if let Source::Flat(child) = children[x].source(false, 0, left) {
                let mut after = material;
                after.men[1 - x] -= 1;
                let levels = Levels::new(game.rules, after);
                *flat = Some(child.as_seen(&levels)?);
            }
        }
        let last = game.n - geometry.per_row();
        let count = material.men[1] as usize - 1;
        let forward = game.man_forward[1].iter();
        Ok(Self {
            game,
            index: Index::new(geometry, material)?,
            children,
            arrays,
            flats,
            black: W::below(last as u8),
            others: Sets::new(last, count),
            count,
            forward: forward
                .map(|&d| (d, Fill::new(geometry, opposite(d))))
                .collect(),
        })
    }

    /// The planes after a crowning by side `x` that leaves the opponent so many men; none if the game
    /// is over then.
    fn crowned(&self, x: usize, men: usize) -> Option<&Planes<W>> {
        match self.children[x].source(true, 0, men) {
            Source::Planes(planes) => Some(planes),
            _ => None,
        }
    }

    /// What depends on White's men only. `crowned`: the planes after crownings by each side, without
    /// and with the capture of a man.
    #[inline(always)]
    fn prepare(&self, white: W, crowned: [[Option<&Planes<W>>; 2]; 2], arena: &mut Arena<W>) {
        let game = self.game;
        let n = game.n;
        let step = |d: usize, s: u8| game.grid.step[d][s as usize];
        let flat_index = |x: usize| self.flats[x].as_ref().map_or(&self.index, |flat| &flat.0);
        // White's crownings without and with a capture, and Black's with one.
        let [quiet, taking, by_black] = [crowned[0][0], crowned[0][1], crowned[1][1]]
            .map(|planes| planes.map_or(&self.index, |p| &p.index));
        let black = self.index.material().men[1];
        arena.ranks.set(black, white, n);
        set_steps(game, &self.index, quiet, white, &mut arena.steps);
        let mut jumps = 0;
        for from in white.squares() {
            for &d in &game.man_capture[0] {
                let victim = step(d, from);
                if victim == OFF || !self.black.has(victim) || white.has(victim) {
                    continue;
                }
                let to = step(d, victim);
                if to == OFF || white.has(to) {
                    continue;
                }
                let rest = white ^ W::bit(from);
                let j = next(&mut arena.jumps, &mut jumps);
                (j.victim, j.to, j.crowned) = (victim, to, game.crown[0].has(to));
                j.near = game.may_go_on(0, to, rest);
                j.after = if j.crowned { rest } else { rest | W::bit(to) };
                let index = if j.crowned { taking } else { flat_index(0) };
                j.first = index.men_rank([j.after, W::EMPTY]);
                j.ranks.set(black, j.after, n);
            }
        }
        arena.jumps.truncate(jumps);
        arena.black_jumps.clear();
        let mut without = 0;
        for (number, q) in white.squares().enumerate() {
            let w = next(&mut arena.without, &mut without);
            w.after = white ^ W::bit(q);
            w.first = flat_index(1).men_rank([w.after, W::EMPTY]);
            w.first_crowned = by_black.men_rank([w.after, W::EMPTY]);
            w.ranks.set(black, w.after, n);
            for &d in &game.man_capture[1] {
                let (man, to) = (step(opposite(d), q), step(d, q));
                if man == OFF || to == OFF || white.has(man) || white.has(to) {
                    continue;
                }
                if !self.black.has(man) {
                    continue;
                }
                let near = game.may_go_on(1, to, W::EMPTY);
                arena.black_jumps.push(BlackJump {
                    man,
                    victim: number,
                    to,
                    crowned: game.crown[1].has(to),
                    goes_on: !(near & w.after).is_empty(),
                });
            }
        }
        arena.without.truncate(without);
    }

    /// Plays out the captures of positions that have some, one by one.
    #[inline(always)]
    fn play_out(&self, side: Side, white: W, others: W, squares: W, moves: &mut Moves<W>) {
        moves.win &= !squares;
        moves.escape &= !squares;
        for v in squares.squares() {
            let cell = self.capture(side, [white, others | W::bit(v)]);
            moves.add(cell, W::bit(v));
        }
    }

    /// What is known of the captures of a position.
    fn capture(&self, side: Side, men: [W; 2]) -> [W; 2] {
        let game = self.game;
        let (x, y) = (side as usize, side.other() as usize);
        let children = &self.children[x];
        let mut best = (0, [W::EMPTY; 2]);
        for from in men[x].squares() {
            let leaf = |leaf: Leaf<W>| {
                if leaf.rank < best.0 {
                    return;
                }
                if leaf.rank > best.0 {
                    best = (leaf.rank, [W::EMPTY; 2]);
                }
                let after = leaf.men_after(men, x, from);
                let cell = match children.source(leaf.promotes, 0, after[y].count() as usize) {
                    Source::Over => Values.constant(game.over()),
                    Source::Flat(flat) => Values.constant(flat.code(after)),
                    Source::Planes(planes) => {
                        let (won, lost) = planes.block(planes.index.men_rank(after));
                        [all(lost[0].has(leaf.to)), all(!won[0].has(leaf.to))]
                    }
                    Source::Never => unreachable!("a capture leaves fewer pieces"),
                };
                Values.join(&mut best.1, &cell, W::ALL);
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
        best.1
    }
}

impl<W: Word> Rows<W> for Men<'_, W> {
    type Arena = Arena<W>;

    #[inline(always)]
    fn row<P: Pack>(&self, pack: P, white: W, arena: &mut Self::Arena) -> u64 {
        let game = self.game;
        let misere = game.misere();
        let crowned = [0, 1].map(|x| {
            let men = self.index.material().men[1 - x] as usize;
            [men, men - 1].map(|men| self.crowned(x, men))
        });
        self.prepare(white, crowned, arena);
        let Arena {
            ranks,
            steps,
            jumps,
            black_jumps,
            without,
            words,
            writer,
        } = arena;
        let over: [W; 2] = Values.constant(game.over());
        // What a packed array says of a run of placements, and of one.
        let flat = |x: usize, at: u64, below: W, after: W| match &self.flats[x] {
            None => over,
            Some((_, bytes)) => {
                let free = self.black & !after;
                let (won, lost) = Reader::new(bytes, at).row(pack, (below & free).count(), !free);
                [lost, !won]
            }
        };
        let flat_one = |x: usize, at: u64| match &self.flats[x] {
            None => over,
            Some((_, bytes)) => {
                let code = bytes[(at / 4) as usize] >> (at % 4 * 2) & 3;
                Values.constant(code.into())
            }
        };
        // The same for planes after a crowning on `to`.
        let planes = |planes: Option<&Planes<W>>, at: u64, ranks: &Ranks, mask: W, to: u8| {
            let Some(planes) = planes else {
                return over;
            };
            let mut cell = [W::EMPTY; 2];
            for v in mask.squares() {
                let (won, lost) = planes.block(at + ranks.lowest(v));
                cell[0] |= W::bit(v) & all(lost[0].has(to));
                cell[1] |= W::bit(v) & all(!won[0].has(to));
            }
            cell
        };
        let planes_one = |planes: Option<&Planes<W>>, at: u64, to: u8| {
            planes.map_or(over, |planes| {
                let (won, lost) = planes.block(at);
                [all(lost[0].has(to)), all(!won[0].has(to))]
            })
        };
        let first = self.index.men_rank([white, W::EMPTY]);
        let first_crowned = crowned[1][0].map_or(0, |p| p.index.men_rank([white, W::EMPTY]));
        words.clear();
        let rows = self.others.all(self.count);
        let beside = |&&others: &&W| (others & white).is_empty();
        for &others in rows.iter().rev().filter(beside) {
            let below = if others.is_empty() {
                self.black
            } else {
                W::below(others.first())
            };
            let legal = below & !white;
            let number = ranks.of(others) as usize;
            if words.is_empty() {
                words.resize(number + 1, Default::default());
            }
            if legal.is_empty() {
                continue;
            }
            let occupied = white | others;

            // White to move.
            let mut quiet = Moves::<W>::NONE;
            for s in &*steps {
                if others.has(s.to) {
                    continue;
                }
                let mask = legal & !W::bit(s.to);
                let at = s.first + s.ranks.above(others);
                let cell = if s.crowned {
                    planes(crowned[0][0], at, &s.ranks, mask & !quiet.win, s.to)
                } else {
                    let free = self.black & !s.after;
                    let mut reader = self.arrays[1].reader(at);
                    let (won, lost) = reader.row(pack, (below & free).count(), !free);
                    [lost, !won]
                };
                quiet.add(cell, mask);
            }
            let mut best = Moves::<W>::NONE;
            // Captures that may go on are played out one by one.
            let mut complex = W::EMPTY;
            for j in &*jumps {
                if others.has(j.to) {
                    continue;
                }
                if others.has(j.victim) {
                    let mask = legal & !W::bit(j.to);
                    let rest = others ^ W::bit(j.victim);
                    if !(rest & j.near).is_empty() {
                        complex |= mask;
                        continue;
                    }
                    complex |= mask & j.near;
                    let at = j.first + j.ranks.above(rest);
                    let cell = if j.crowned {
                        planes(crowned[0][1], at, &j.ranks, mask & !best.win, j.to)
                    } else {
                        flat(0, at, below, j.after)
                    };
                    best.add(cell, mask);
                } else if legal.has(j.victim) {
                    let mask = W::bit(j.victim);
                    if !(others & j.near).is_empty() {
                        complex |= mask;
                        continue;
                    }
                    let at = j.first + j.ranks.of(others);
                    let cell = if j.crowned {
                        planes_one(crowned[0][1], at, j.to)
                    } else {
                        flat_one(0, at)
                    };
                    best.add(cell, mask);
                }
            }
            self.play_out(Side::White, white, others, complex, &mut best);
            best.or(quiet);
            let (won, lost) = best.decide(legal, misere);
            words[number][0] = [won, lost];

            // Black to move.
            let mut quiet = Moves::<W>::NONE;
            for &(d, ref back) in &self.forward {
                // The vector, to squares of the same word; to others; and the other men.
                let open = step_of_word(back, game.all & !occupied) & legal;
                quiet.any |= open;
                quiet.win |= step_of_word(back, lost) & legal;
                quiet.escape |= step_of_word(back, legal & !won) & legal;
                for v in (open & !step_of_word(back, below)).squares() {
                    let to = game.grid.step[d][v as usize];
                    let cell = if game.crown[1].has(to) {
                        planes_one(crowned[1][0], first_crowned + ranks.of(others), to)
                    } else {
                        let after = others.without_first() | W::bit(to);
                        let [won, lost] = words[ranks.of(after) as usize][0];
                        let lowest = others.first();
                        [all(lost.has(lowest)), all(!won.has(lowest))]
                    };
                    quiet.add(cell, W::bit(v));
                }
                for from in others.squares() {
                    let to = game.grid.step[d][from as usize];
                    if to == OFF || occupied.has(to) {
                        continue;
                    }
                    let mask = legal & !W::bit(to);
                    let rest = others ^ W::bit(from);
                    let cell = if game.crown[1].has(to) {
                        let at = first_crowned + ranks.above(rest);
                        planes(crowned[1][0], at, ranks, mask & !quiet.win, to)
                    } else {
                        let [won, lost] = words[ranks.of(rest | W::bit(to)) as usize][0];
                        [lost, !won]
                    };
                    quiet.add(cell, mask);
                }
            }
            let mut best = Moves::<W>::NONE;
            let mut complex = W::EMPTY;
            for j in &*black_jumps {
                if others.has(j.to) {
                    continue;
                }
                let after = &without[j.victim];
                if others.has(j.man) {
                    let mask = legal & !W::bit(j.to);
                    let rest = others ^ W::bit(j.man);
                    if j.goes_on {
                        complex |= mask;
                    } else if j.crowned {
                        let at = after.first_crowned + after.ranks.above(rest);
                        let cell = planes(crowned[1][1], at, &after.ranks, mask & !best.win, j.to);
                        best.add(cell, mask);
                    } else {
                        // Backward it may pass the vector, which then is not the lowest.
                        let lower = below & W::below(j.to);
                        complex |= mask & !lower;
                        let at = after.first + after.ranks.above(rest | W::bit(j.to));
                        best.add(flat(1, at, lower, after.after), mask & lower);
                    }
                } else if legal.has(j.man) {
                    let mask = W::bit(j.man);
                    if j.goes_on {
                        complex |= mask;
                    } else if j.crowned {
                        let at = after.first_crowned + after.ranks.of(others);
                        best.add(planes_one(crowned[1][1], at, j.to), mask);
                    } else {
                        let at = after.first + after.ranks.of(others | W::bit(j.to));
                        best.add(flat_one(1, at), mask);
                    }
                }
            }
            self.play_out(Side::Black, white, others, complex, &mut best);
            best.or(quiet);
            let (won, lost) = best.decide(legal, misere);
            words[number][1] = [won, lost];
        }
        for (side, array) in self.arrays.iter().enumerate() {
            writer.start(first);
            for (&others, words) in rows.iter().filter(beside).zip(&*words) {
                let below = if others.is_empty() {
                    self.black
                } else {
                    W::below(others.first())
                };
                let [won, lost] = words[side];
                writer.row(pack, won, lost, below & !white, white);
            }
            writer.finish(array);
        }
        self.index.black_men(white)
    }
}
