//! Materials with one king in all whose men only go forward.
//!
//! Nothing can be taken back but the moves of that king, and the side without it has only moves
//! into finished units. So there is nothing to iterate: first the positions with that side to
//! move, and from them those with the king's side to move. A unit is one word for each side to
//! move, and what it costs is what is looked up; so units are solved by [`super::rows`].

use std::sync::Arc;

use dambase_rules::Side;
use dambase_rules::geometry::OFF;
use dambase_tables::{Index, Material};

use super::children::{Children, Source};
use super::dense::{SharedArray, Writer};
use super::events::{Chance, add_chances};
use super::game::{Game, Tally};
use super::levels::Levels;
use super::measure::{Measure, Values};
use super::planes::Planes;
use super::reach::reach_of_word;
use super::rows::{Moves, Ranks, Rows, Step, all, set_steps};
use super::walk::{At, Leaf, Vector, Walk};
use super::word::{Pack, Word};

/// Everything that stays the same for all rows of a material.
pub(super) struct Lone<'a, W: Word> {
    pub(super) game: &'a Game<W>,
    pub(super) material: Material,
    /// The side with the king.
    pub(super) king: Side,
    pub(super) index: Index<W>,
    pub(super) levels: &'a Levels<W>,
    /// By mover.
    pub(super) children: [Children<'a, W, Values>; 2],
    /// Planes of the material itself, by side to move.
    pub(super) own: &'a [Arc<Planes<W>>; 2],
    /// Values with White and with Black to move.
    pub(super) arrays: &'a [SharedArray],
}

/// Buffers of one thread, used for one row after the other.
#[derive(Debug)]
pub(super) struct Arena<W> {
    ranks: Ranks,
    steps: Vec<Step<W>>,
    /// By number of the placement in the row: all men.
    occupied: Vec<W>,
    captures: Captures<W>,
    writer: Writer,
}

impl<W: Word> Default for Arena<W> {
    fn default() -> Self {
        Self {
            ranks: Ranks::default(),
            steps: Vec::new(),
            occupied: Vec::new(),
            captures: Captures::default(),
            writer: Writer::default(),
        }
    }
}

/// The captures found in one unit.
#[derive(Debug)]
struct Captures<W> {
    /// By rank.
    found: Vec<(u64, Moves<W>)>,
    chances: Vec<Chance<W>>,
    /// What is known after the king has taken a set of men.
    taken: Vec<(W, [W; 2])>,
}

impl<W> Default for Captures<W> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            chances: Vec::new(),
            taken: Vec::new(),
        }
    }
}

impl<W: Word> Captures<W> {
    #[inline(always)]
    fn of_rank(&mut self, rank: u64) -> &mut Moves<W> {
        let found = &mut self.found;
        let i = found.iter().position(|f| f.0 == rank).unwrap_or_else(|| {
            found.push((rank, Moves::NONE));
            found.len() - 1
        });
        &mut found[i].1
    }
    /// Only captures of the best rank of a position count; forgets them.
    #[inline(always)]
    fn best(&mut self) -> Moves<W> {
        if self.found.len() > 1 {
            self.found.sort_unstable_by_key(|f| std::cmp::Reverse(f.0));
        }
        let mut best = Moves::NONE;
        for (_, moves) in self.found.drain(..) {
            best.or(moves);
        }
        best
    }
}

/// Where a chain of captures of the king stands.
#[derive(Clone, Copy)]
struct Link<W> {
    source: W,
    landing: W,
    captured: W,
    came: usize,
    tally: Tally,
}

/// Bit `to` of each of the words of the squares.
#[inline(always)]
fn column<W: Word>(words: &[W], to: u8) -> W {
    let one = W::bit(0);
    let mut column = W::EMPTY;
    for (s, &word) in (0..).zip(words) {
        column |= (word >> u32::from(to) & one) << s;
    }
    column
}

impl<W: Word> Lone<'_, W> {
    /// The planes after a crowning by side `x`.
    fn crowned(&self, x: usize) -> Option<&Planes<W>> {
        let y = 1 - x;
        let kings = self.material.kings[y] as usize;
        match self.children[x].source(true, kings, self.material.men[y] as usize) {
            Source::Planes(planes) => Some(planes),
            _ => None,
        }
    }

    /// Captures by men; the king is in the way or can be taken.
    #[inline(always)]
    fn men_captures(&self, x: usize, men: [W; 2], legal: W, captures: &mut Captures<W>) {
        let game = self.game;
        let occupied = men[0] | men[1];
        let king_is_enemy = self.king as usize != x;
        let mut targets = men[1 - x];
        if king_is_enemy && game.rules.man_takes_king {
            targets |= legal;
        }
        for from in men[x].squares() {
            let may = |&d: &usize| {
                let victim = game.grid.step[d][from as usize];
                if victim == OFF || !targets.has(victim) {
                    return false;
                }
                let to = game.grid.step[d][victim as usize];
                to != OFF && !occupied.has(to)
            };
            if !game.man_capture[x].iter().any(may) {
                continue;
            }
            let leaf = |leaf: Leaf<W>| {
                let cell = self.after_man(x, men, from, &leaf);
                captures.of_rank(leaf.rank).add(cell, leaf.mask);
            };
            let mut walk = Walk {
                game,
                mover: x,
                enemy_kings: W::EMPTY,
                vector: if king_is_enemy {
                    Vector::EnemyKing
                } else {
                    Vector::Own
                },
                leaf,
            };
            let at = At::start(legal, occupied ^ W::bit(from), men[1 - x], true);
            walk.man(&at, from);
        }
    }

    /// What is known after a capture by a man.
    fn after_man(&self, x: usize, men: [W; 2], from: u8, leaf: &Leaf<W>) -> [W; 2] {
        let y = 1 - x;
        let after = leaf.men_after(men, x, from);
        let own = self.king as usize == x;
        let kings = usize::from(!own && leaf.hit.is_none());
        match self.children[x].source(leaf.promotes, kings, after[y].count() as usize) {
            Source::Planes(planes) => {
                let (won, lost) = planes.block(planes.index.men_rank(after));
                let to = leaf.to as usize;
                match (leaf.promotes, own, leaf.hit) {
                    (false, ..) => [lost[0], !won[0]],
                    (true, true, _) => [lost[to], !won[to]],
                    (true, false, None) => [column(lost, leaf.to), !column(won, leaf.to)],
                    (true, false, Some(_)) => {
                        [all(lost[0].has(leaf.to)), all(!won[0].has(leaf.to))]
                    }
                }
            }
            Source::Flat(flat) => Values.constant(flat.code(after)),
            Source::Over | Source::Never => Values.constant(self.game.over()),
        }
    }

    /// Captures by the king.
    #[inline(always)]
    fn king_captures(&self, men: [W; 2], captures: &mut Captures<W>) {
        captures.chances.clear();
        captures.taken.clear();
        let enemies = men[self.king.other() as usize];
        add_chances(self.game, enemies, men[0] | men[1], &mut captures.chances);
        for i in 0..captures.chances.len() {
            let Chance { q, d, from, to } = captures.chances[i];
            let link = Link {
                source: from,
                landing: to,
                captured: W::bit(q),
                came: d as usize,
                tally: Tally::default().with(false),
            };
            self.go_on(men, link, captures);
        }
    }

    /// Follows a chain of captures of the king.
    fn go_on(&self, men: [W; 2], link: Link<W>, captures: &mut Captures<W>) {
        let game = self.game;
        let mut on = W::EMPTY;
        // Pieces that have left the board no longer limit the others.
        let first = if game.immediate {
            let first = captures.chances.len();
            let enemies = men[self.king.other() as usize] & !link.captured;
            let occupied = (men[0] | men[1]) & !link.captured;
            add_chances(game, enemies, occupied, &mut captures.chances);
            first
        } else {
            0
        };
        for i in first..captures.chances.len() {
            let Chance { q, d, from, to } = captures.chances[i];
            let d = d as usize;
            let enters = from & link.landing;
            if enters.is_empty() || link.captured.has(q) || !game.may_turn(link.came, d) {
                continue;
            }
            on |= from;
            let link = Link {
                landing: to,
                captured: link.captured | W::bit(q),
                came: d,
                tally: link.tally.with(false),
                ..link
            };
            self.go_on(men, link, captures);
        }
        if game.immediate {
            captures.chances.truncate(first);
        }
        // With a precedence what goes on takes more, and the ranks see to it.
        let stops = if !game.free {
            link.landing
        } else if game.rules.land_to_continue && !(link.landing & on).is_empty() {
            W::EMPTY
        } else {
            link.landing & !on
        };
        if stops.is_empty() {
            return;
        }
        let rank = link.tally.rank(game.rules.precedence, true);
        let [win, escape] = self.after_king(men, link.captured, captures);
        let cell = [
            all(!(stops & win).is_empty()),
            all(!(stops & escape).is_empty()),
        ];
        captures.of_rank(rank).add(cell, link.source);
    }

    /// What is known after the king has taken some men.
    #[inline(always)]
    fn after_king(&self, men: [W; 2], captured: W, captures: &mut Captures<W>) -> [W; 2] {
        if let Some(known) = captures.taken.iter().find(|t| t.0 == captured) {
            return known.1;
        }
        let (x, y) = (self.king as usize, self.king.other() as usize);
        let mut after = men;
        after[y] &= !captured;
        let cell = match self.children[x].source(false, 0, after[y].count() as usize) {
            Source::Planes(planes) => {
                let (won, lost) = planes.block(planes.index.men_rank(after));
                [lost[0], !won[0]]
            }
            _ => Values.constant(self.game.over()),
        };
        captures.taken.push((captured, cell));
        cell
    }
}

impl<W: Word> Rows<W> for Lone<'_, W> {
    type Arena = Arena<W>;

    #[inline(always)]
    fn row<P: Pack>(&self, pack: P, white: W, arena: &mut Self::Arena) -> u64 {
        let game = self.game;
        let Arena {
            ranks,
            steps,
            occupied,
            captures,
            writer,
        } = arena;
        let crowned = [self.crowned(0), self.crowned(1)];
        ranks.set(self.material.men[1], white, game.n);
        let first_crowned = crowned.map(|c| c.map_or(0, |p| p.index.men_rank([white, W::EMPTY])));
        let crowned_index = crowned[0].map_or(&self.index, |planes| &planes.index);
        set_steps(game, &self.index, crowned_index, white, steps);
        let first = self.index.men_rank([white, W::EMPTY]);
        let len = self.index.black_men(white) as usize;
        occupied.clear();
        occupied.resize(len, W::ALL);
        let (king, other) = (self.king as usize, self.king.other() as usize);
        for &black in self.levels.sets(Side::Black) {
            if !(white & black).is_empty() {
                continue;
            }
            let men = [white, black];
            let taken = white | black;
            let legal = game.all & !taken;
            let number = ranks.of(black);
            occupied[number as usize] = taken;
            // The squares that the side to move has lost and has not won.
            let (mut lost, mut not_won) = (W::EMPTY, W::EMPTY);
            for x in [other, king] {
                let mut quiet = Moves::NONE;
                if x == king {
                    quiet.win = reach_of_word(game, lost, legal);
                    quiet.escape = reach_of_word(game, not_won, legal);
                    if game.misere() {
                        quiet.any = reach_of_word(game, legal, legal);
                    }
                }
                let mut step = |to: u8, is_crowned: bool, rank: u64| {
                    let planes = if is_crowned {
                        crowned[x]
                    } else {
                        Some(&*self.own[1 - x])
                    };
                    let Some(planes) = planes else {
                        return;
                    };
                    let (won, lost) = planes.block(rank);
                    let (won, lost) = match (is_crowned, x == king) {
                        (false, _) => (won[0], lost[0]),
                        (true, true) => (won[to as usize], lost[to as usize]),
                        (true, false) => (column(won, to), column(lost, to)),
                    };
                    quiet.add([lost, !won], legal & !W::bit(to));
                };
                if x == 0 {
                    for s in &*steps {
                        if !black.has(s.to) {
                            step(s.to, s.crowned, s.first + s.ranks.of(black));
                        }
                    }
                } else {
                    for from in black.squares() {
                        let rest = black ^ W::bit(from);
                        for &d in &game.man_forward[1] {
                            let to = game.grid.step[d][from as usize];
                            if to == OFF || taken.has(to) {
                                continue;
                            }
                            if game.crown[1].has(to) {
                                step(to, true, first_crowned[1] + ranks.of(rest));
                            } else {
                                step(to, false, first + ranks.of(rest | W::bit(to)));
                            }
                        }
                    }
                }
                if x == king {
                    self.king_captures(men, captures);
                }
                self.men_captures(x, men, legal, captures);
                let mut best = captures.best();
                best.or(quiet);
                let won;
                (won, lost) = best.decide(legal, game.misere());
                not_won = legal & !won;
                // SAFETY: a row is solved by one thread, once; others read it when the rows of its
                // level are finished, and no slice of it lives here.
                #[allow(unsafe_code)]
                let mut planes = unsafe { self.own[x].rows_mut(first + number) };
                for word in [won, lost] {
                    if let Some(plane) = planes.next() {
                        plane[0] = word;
                    }
                }
            }
        }
        for (array, own) in self.arrays.iter().zip(self.own) {
            writer.start(first * self.index.king_space());
            for (rank, &taken) in (first..).zip(&*occupied) {
                let (won, lost) = own.block(rank);
                writer.row(pack, won[0], lost[0], game.all & !taken, taken);
            }
            writer.finish(array);
        }
        len as u64
    }
}
