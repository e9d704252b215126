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
use super::walk::{At, Leaf, Vector, Walk};
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
    /// What the capture of one man, two, and more leads to, by mover; not that of the last.
    flats: [Vec<Flat<'a, W>>; 2],
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
    ranked: Vec<(u64, Moves<W>)>,
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
            ranked: Vec::new(),
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
        let mut flats = [Vec::new(), Vec::new()];
        for (x, flats) in flats.iter_mut().enumerate() {
            let mut after = material;
            while after.men[1 - x] > 1 {
                after.men[1 - x] -= 1;
                let source = children[x].source(false, 0, after.men[1 - x].into());
                if let Source::Flat(child) = source {
                    flats.push(child.as_seen(&Levels::new(game.rules, after))?);
                }
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
        let flat_index = |x: usize| self.flats[x].first().map_or(&self.index, |flat| &flat.0);
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

    /// Plays out all captures of the positions of a word that have Black's lowest man on one of
    /// `squares`, which have some.
    #[inline(always)]
    fn play_out<P: Pack>(
        &self,
        pack: P,
        side: Side,
        [white, others]: [W; 2],
        squares: W,
        ranked: &mut Vec<(u64, Moves<W>)>,
        moves: &mut Moves<W>,
    ) {
        let (game, x) = (self.game, side as usize);
        let men = [white, others];
        let occupied = white | others;
        moves.win &= !squares;
        moves.escape &= !squares;
        ranked.clear();
        let mut add = |rank: u64, cell: [W; 2], mask: W| {
            let at = ranked.iter().position(|r| r.0 == rank).unwrap_or_else(|| {
                ranked.push((rank, Moves::NONE));
                ranked.len() - 1
            });
            ranked[at].1.add(cell, mask);
        };
        for from in men[x].squares() {
            let leaf = |leaf: Leaf<W>| {
                let after = leaf.men_after(men, x, from);
                // Where the vector is the lowest still, the children are neighbours.
                let mut lower = W::EMPTY;
                if leaf.hit.is_none() {
                    let passed = side == Side::Black && !leaf.promotes;
                    lower = if passed {
                        leaf.mask & W::below(leaf.to)
                    } else {
                        leaf.mask
                    };
                }
                if !lower.is_empty() {
                    add(
                        leaf.rank,
                        self.neighbours(pack, x, &leaf, after, lower),
                        lower,
                    );
                }
                for v in (leaf.mask & !lower).squares() {
                    let mut after = after;
                    if leaf.hit.is_none() {
                        after[1] |= W::bit(v);
                    }
                    add(leaf.rank, self.one_child(x, &leaf, after), W::bit(v));
                }
            };
            let mut walk = Walk {
                game,
                mover: x,
                enemy_kings: W::EMPTY,
                vector: match side {
                    Side::White => Vector::EnemyMan,
                    Side::Black => Vector::Own,
                },
                leaf,
            };
            let at = At::start(squares, occupied ^ W::bit(from), men[1 - x], true);
            walk.man(&at, from);
        }
        if side == Side::Black {
            for v in squares.squares() {
                let leaf = |leaf: Leaf<W>| {
                    let after = leaf.men_after([white, others | W::bit(v)], x, v);
                    add(leaf.rank, self.one_child(x, &leaf, after), W::bit(v));
                };
                let mut walk = Walk {
                    game,
                    mover: x,
                    enemy_kings: W::EMPTY,
                    vector: Vector::Own,
                    leaf,
                };
                walk.man(&At::without_vector(occupied, white), v);
            }
        }
        ranked.sort_unstable_by_key(|r| std::cmp::Reverse(r.0));
        let mut best = Moves::NONE;
        for &(_, lower) in &*ranked {
            best.or(lower);
        }
        moves.add([best.win, best.escape], squares);
    }

    /// The array that a capture without a crowning leads to, if side `x` leaves so many men.
    #[inline(always)]
    fn flat(&self, x: usize, left: usize) -> &Flat<'a, W> {
        let taken = self.index.material().men[1 - x] as usize - left;
        &self.flats[x][taken - 1]
    }

    /// What is known of the children of a capture of side `x` that leaves `men` and Black's lowest
    /// man, on the squares of `mask`, all of them below the other black men.
    #[inline(always)]
    fn neighbours(
        &self,
        pack: impl Pack,
        x: usize,
        leaf: &Leaf<W>,
        men: [W; 2],
        mask: W,
    ) -> [W; 2] {
        let left = men[1 - x].count() as usize + usize::from(x == 0);
        let free = !men[0];
        // Numbers follow the free squares below the lowest man.
        let first = |index: &Index<W>| {
            let v = mask.first();
            let rank = index.men_rank([men[0], men[1] | W::bit(v)]);
            rank - u64::from((W::below(v) & free).count())
        };
        match self.children[x].source(leaf.promotes, 0, left) {
            Source::Over => Values.constant(self.game.over()),
            Source::Flat(_) => {
                let (index, bytes) = self.flat(x, left);
                let free = self.black & free;
                let below = W::below(mask.last() + 1);
                let (won, lost) =
                    Reader::new(bytes, first(index)).row(pack, (below & free).count(), !free);
                [lost, !won]
            }
            Source::Planes(planes) => {
                let first = first(&planes.index);
                let mut cell = [W::EMPTY; 2];
                for v in mask.squares() {
                    let at = first + u64::from((W::below(v) & free).count());
                    let (won, lost) = planes.block(at);
                    cell[0] |= W::bit(v) & all(lost[0].has(leaf.to));
                    cell[1] |= W::bit(v) & all(!won[0].has(leaf.to));
                }
                cell
            }
            Source::Never => unreachable!("a capture leaves fewer pieces"),
        }
    }

    /// What is known of one child of a capture of side `x`, which leaves `men`.
    #[inline(always)]
    fn one_child(&self, x: usize, leaf: &Leaf<W>, men: [W; 2]) -> [W; 2] {
        let left = men[1 - x].count() as usize;
        match self.children[x].source(leaf.promotes, 0, left) {
            Source::Over => Values.constant(self.game.over()),
            Source::Flat(_) => {
                let (index, bytes) = self.flat(x, left);
                let at = index.men_rank(men);
                Values.constant((bytes[(at / 4) as usize] >> (at % 4 * 2) & 3).into())
            }
            Source::Planes(planes) => {
                let (won, lost) = planes.block(planes.index.men_rank(men));
                [all(lost[0].has(leaf.to)), all(!won[0].has(leaf.to))]
            }
            Source::Never => unreachable!("a capture leaves fewer pieces"),
        }
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
            ranked,
            words,
            writer,
        } = arena;
        let over: [W; 2] = Values.constant(game.over());
        // What a packed array says of a run of placements, and of one.
        let flat = |x: usize, at: u64, below: W, after: W| match self.flats[x].first() {
            None => over,
            Some((_, bytes)) => {
                let free = self.black & !after;
                let (won, lost) = Reader::new(bytes, at).row(pack, (below & free).count(), !free);
                [lost, !won]
            }
        };
        let flat_one = |x: usize, at: u64| match self.flats[x].first() {
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
            if !complex.is_empty() {
                let men = [white, others];
                self.play_out(pack, Side::White, men, complex, ranked, &mut best);
            }
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
            if !complex.is_empty() {
                let men = [white, others];
                self.play_out(pack, Side::Black, men, complex, ranked, &mut best);
            }
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
