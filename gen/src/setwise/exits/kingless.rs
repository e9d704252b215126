//! Exits of a mover without kings; the vector is a king of the opponent.

use super::super::children::Source;
use super::super::game::Tally;
use super::super::layout::rank;
use super::super::measure::Measure;
use super::super::walk::{At, Leaf, Vector, Walk};
use super::super::word::Word;
use super::{After, Jump, Part, Scratch, Unit, combine, legal_row};

impl<'a, W: Word, M: Measure> Unit<'a, W, M> {
    /// All exits of a mover without kings; the vector is a king of the opponent.
    pub(super) fn without_king(&self, out: &mut Part<'_, W, M>, scratch: &mut Scratch<'a, W, M>) {
        let measure = self.measure;
        let (game, sets) = (self.game, self.sets);
        let others = self.kings[1] - 1;
        let len = sets.count(others);
        let Scratch {
            slots,
            kings,
            legal,
            quiet,
            after,
            ..
        } = scratch;
        after.clear();
        kings.clear();
        kings.extend_from_slice(sets.all(others));
        legal.resize(len, W::EMPTY);
        legal_row(game.all, self.all_men, kings, legal);
        slots.clear(len);
        let king_taken = Tally::default().with(true);
        let king_taken = king_taken.rank(game.rules.precedence, false);
        for (i, (&kings, &legal)) in kings.iter().zip(&*legal).enumerate() {
            let enemies = self.men[self.y] | kings;
            let occupied = self.all_men | kings;
            let takes_king = game.rules.man_takes_king;
            let may = |j: &Jump<'a, W, M>| {
                let vector = takes_king && legal.has(j.victim);
                (enemies.has(j.victim) || vector) && !occupied.has(j.to)
            };
            if legal.is_empty() {
                continue;
            }
            for jumps in self.jumps.chunk_by(|a, b| a.from == b.from) {
                if !jumps.iter().any(may) {
                    continue;
                }
                let from = jumps[0].from;
                let simple = |j: &Jump<'a, W, M>| {
                    let goes_on = !(j.near & enemies).is_empty();
                    !may(j) || j.king_taken.is_some() && !enemies.has(j.victim) && !goes_on
                };
                if jumps.iter().all(simple) {
                    // The vector is taken, and that is all.
                    let (capture, mut best) = slots.all_of_rank(measure, king_taken);
                    for j in jumps.iter().filter(|j| may(j)) {
                        let Some(child) = &j.king_taken else {
                            continue;
                        };
                        let cell = if j.crowned {
                            self.gather_one(child, i, j.to)
                        } else {
                            self.gather_one(child, rank(kings.without_first()), kings.first())
                        };
                        capture[i] |= W::bit(j.victim);
                        measure.add(&mut best, i, &cell, W::bit(j.victim));
                    }
                    continue;
                }
                let leaf = |leaf: Leaf<W>| {
                    let left = kings & !leaf.captured;
                    let cell = self.kingless_child(from, left, &leaf, after);
                    let (capture, mut best) = slots.all_of_rank(measure, leaf.rank);
                    capture[i] |= leaf.mask;
                    measure.add(&mut best, i, &cell, leaf.mask);
                };
                let mut walk = Walk {
                    game,
                    mover: self.x,
                    enemy_kings: kings,
                    vector: Vector::EnemyKing,
                    leaf,
                };
                let at = At::start(legal, occupied ^ W::bit(from), enemies, true);
                walk.man(&at, from);
            }
        }
        let best = &mut out.best.as_mut()[..measure.planes()];
        if !slots.is_empty() {
            slots.merge(out.capture, best);
        }
        quiet.clear();
        quiet.resize(measure.planes() * len, W::EMPTY);
        let mut rows = quiet.chunks_exact_mut(len);
        let mut rows = measure.array(|_| rows.next().unwrap_or_default());
        for q in &self.quiets {
            let to = W::bit(q.to);
            if !q.crowned {
                measure.quiet_row(kings, to, &q.child, &mut rows);
                continue;
            }
            for i in 0..len {
                if legal[i].is_empty() || kings[i].has(q.to) {
                    continue;
                }
                let mask = legal[i] & !to;
                let cell = self.crowned_child(i, mask, q.to, &q.child);
                measure.add(&mut rows, i, &cell, mask);
            }
        }
        if !out.moves.is_empty() {
            for q in &self.quiets {
                for (i, o) in out.moves.iter_mut().enumerate() {
                    if !kings[i].has(q.to) {
                        *o |= legal[i] & !W::bit(q.to);
                    }
                }
            }
        }
        drop(rows);
        combine(legal, quiet, out.capture, best);
    }

    /// What is known after a man of a side without kings has been crowned on `to`: now its king is
    /// the child's vector, and the opponent's kings are an index.
    fn crowned_child(
        &self,
        others: usize,
        mask: W,
        to: u8,
        child: &M::Array<&'a [W]>,
    ) -> M::Array<W> {
        let cells = self.sets.cells(self.kings[1] - 1, others);
        self.gather(mask, to, child, |v| cells.at(v as usize))
    }

    /// What a child says of square `to`, for each vector square of `mask`; `at` is its word.
    #[inline(always)]
    fn gather(
        &self,
        mask: W,
        to: u8,
        child: &M::Array<&[W]>,
        at: impl Fn(u8) -> Option<usize>,
    ) -> M::Array<W> {
        let mut words = self.measure.array(|_| W::EMPTY);
        for v in mask.squares() {
            let Some(at) = at(v) else {
                continue;
            };
            let cell = self.measure.cell(child, at);
            for (word, plane) in words.as_mut().iter_mut().zip(cell.as_ref()) {
                if plane.has(to) {
                    *word |= W::bit(v);
                }
            }
        }
        words
    }

    /// What is known after a capture by a man of a side without kings; `left` are the enemy kings
    /// left but the vector.
    fn kingless_child(
        &self,
        from: u8,
        left: W,
        leaf: &Leaf<W>,
        after: &mut Vec<After<'a, W, M>>,
    ) -> M::Array<W> {
        let men = leaf.men_after(self.men, self.x, from);
        let kings = left.count() as usize + usize::from(leaf.hit.is_none());
        let own_men = men[self.y].count() as usize;
        match self.children.source(leaf.promotes, kings, own_men) {
            Source::Over => return self.over(),
            Source::Flat(flat) => {
                return self.measure.constant(flat.code(men));
            }
            _ => {}
        }
        let key = (men, leaf.promotes, kings);
        let known = after.iter().position(|a| a.key == key);
        let known = known.unwrap_or_else(|| {
            let child = self.children.block(leaf.promotes, kings, men);
            after.push(After { key, child });
            after.len() - 1
        });
        let child = &after[known].child;
        let one = |at: usize, s: u8| self.gather_one(child, at, s);
        match (leaf.hit, leaf.promotes) {
            (None, false) => self.measure.cell(child, rank(left)),
            (None, true) => {
                self.gather(leaf.mask, leaf.to, child, |v| Some(rank(left | W::bit(v))))
            }
            (Some(_), true) => one(rank(left), leaf.to),
            (Some(_), false) => one(rank(left.without_first()), left.first()),
        }
    }

    /// What word `at` of a child says of square `s`, on all squares.
    fn gather_one(&self, child: &M::Array<&[W]>, at: usize, s: u8) -> M::Array<W> {
        let cell = self.measure.cell(child, at);
        let cell = cell.as_ref();
        self.measure
            .array(|p| if cell[p].has(s) { W::ALL } else { W::EMPTY })
    }
}
