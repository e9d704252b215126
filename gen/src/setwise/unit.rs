//! One unit from start to end: exits, fixpoint, and the results put where they belong.

use std::sync::Arc;

use dambase_rules::Side;
use dambase_tables::{Index, Material};
use rayon::prelude::*;

use super::children::Children;
use super::dense::{SharedArray, Writer};
use super::exits::{Exits, Scratch, Unit};
use super::fixpoint::{Buffers, Family, Mover, Shape};
use super::game::Game;
use super::layout::Sets;
use super::levels::{self, Levels};
use super::planes::{Planes, WriteUnit, change_view, dense_view, turn_plane};
use super::word::{Word, with_pack};
use crate::Control;

/// Everything that stays the same for all units of a material.
pub(super) struct Job<'a, W: Word> {
    pub(super) game: &'a Game<W>,
    pub(super) sets: &'a Sets<W>,
    pub(super) material: Material,
    pub(super) index: Index<W>,
    /// By mover.
    pub(super) children: [Children<'a, W>; 2],
    /// Planes of the material itself, by side to move, for units that are solved later; none if
    /// there are no men.
    pub(super) own: Option<[Arc<Planes<W>>; 2]>,
    /// In the order of [`Material::sides`].
    pub(super) arrays: &'a [SharedArray],
    pub(super) levels: Levels<W>,
    /// By number of kings: the number of each set turned by 180 degrees.
    pub(super) turned: Vec<Vec<u32>>,
    pub(super) ctl: &'a Control,
}

/// Buffers of one thread, used for one unit after the other.
#[derive(Debug, Default)]
pub(super) struct Arena<'a, W: Word> {
    scratch: Scratch<'a, W>,
    exits: [Exits<W>; 2],
    movers: [Mover<W>; 2],
    /// Of the two families.
    buffers: [Buffers<W>; 2],
    /// The results in the view of the side without the vector.
    turned: [Mover<W>; 2],
    mirrored: [Vec<W>; 2],
    men: Vec<[W; 2]>,
    all_men: Vec<W>,
    /// The ranks of the placements.
    ranks: Vec<u64>,
    sideways: [Vec<Vec<u32>>; 2],
    writer: Writer,
}

/// The side whose king is the vector of the fixpoint: the one with longer rows.
pub(super) fn fixpoint_view(material: Material) -> Side {
    if material.kings[0] >= material.kings[1] {
        Side::White
    } else {
        Side::Black
    }
}

impl<'a, W: Word> Job<'a, W> {
    /// Solves a unit, unless it is stopped before. Returns how many placements of the men are
    /// finished with it.
    pub(super) fn solve(&'a self, unit: levels::Unit, arena: &mut Arena<'a, W>) -> u64 {
        let (game, sets) = (self.game, self.sets);
        let v = fixpoint_view(self.material);
        let o = v.other();
        let kings = |s: Side| self.material.kings[s as usize] as usize;
        self.levels.men(unit, &mut arena.men);
        if arena.men.is_empty() {
            return 0;
        }
        arena.all_men.clear();
        arena.all_men.extend(arena.men.iter().map(|m| m[0] | m[1]));
        arena.ranks.clear();
        arena
            .ranks
            .extend(arena.men.iter().map(|&m| self.index.men_rank(m)));
        self.link_sideways(v, &arena.men, &mut arena.sideways);
        let words = sets.count(kings(v) - 1) * sets.count(kings(o));
        let all = words * arena.men.len();
        let misere = game.misere();

        // Exits of both sides; those of the other side in its own view first.
        let own_view = kings(o) > 0;
        let other_words = if own_view {
            sets.count(kings(o) - 1) * sets.count(kings(v))
        } else {
            words
        };
        // With kings only and the same for both sides, one side is the mirror image of the other.
        let alike = self.material.is_symmetric() && self.material.all_men() == 0;
        let turned = (
            &self.turned[kings(v)][..],
            &self.turned[kings(v).saturating_sub(1)][..],
        );
        for (side, words, i) in [(v, words, 0), (o, other_words, 1)] {
            if alike && i == 1 {
                let [first, second] = &mut arena.exits;
                second.reset(words, misere);
                let planes = first.planes_mut().into_iter().zip(second.planes_mut());
                for (from, to) in planes {
                    turn_plane(game.n, turned, from, to);
                }
                continue;
            }
            let exits = &mut arena.exits[i];
            exits.reset(words * arena.men.len(), misere);
            let children = &self.children[side as usize];
            if self.own.is_none() {
                self.exits_of_kings(children, words, exits);
                continue;
            }
            for (p, &men) in arena.men.iter().enumerate() {
                let scratch = &mut arena.scratch;
                Unit::new(game, sets, children, self.material, men, scratch)
                    .run(&mut exits.part(p, words), scratch);
            }
        }
        let mut moves = [Vec::new(), Vec::new()];
        for (i, exits) in arena.exits.iter_mut().enumerate() {
            let mover = &mut arena.movers[i];
            let to = [
                &mut mover.capture,
                &mut mover.won,
                &mut mover.closed,
                &mut moves[i],
            ];
            for (from, to) in exits.planes_mut().into_iter().zip(to) {
                if i == 0 || !own_view {
                    std::mem::swap(from, to);
                    continue;
                }
                to.clear();
                if from.is_empty() {
                    continue;
                }
                to.resize(all, W::EMPTY);
                for (from, to) in from
                    .chunks_exact(other_words)
                    .zip(to.chunks_exact_mut(words))
                {
                    change_view(sets, kings(o), kings(v), from, to);
                }
            }
            // Captures are lost at once if none escapes.
            mover.lost.clear();
            let seeds = mover.capture.iter().zip(&mover.closed);
            mover.lost.extend(seeds.map(|(&c, &e)| c & !e));
            for (closed, &capture) in mover.closed.iter_mut().zip(&mover.capture) {
                *closed |= capture;
            }
        }

        let shape = Shape {
            game,
            sets,
            kings: [kings(v), kings(o)],
            men: &arena.all_men,
            sideways: [&arena.sideways[0], &arena.sideways[1]],
            ctl: self.ctl,
        };
        let [mv, mo] = &mut arena.movers;
        if misere {
            shape.award_stuck(mv, &moves[0], true, &mut arena.buffers[0]);
            shape.award_stuck(mo, &moves[1], false, &mut arena.buffers[0]);
        }
        let [vector, other] = &mut Family::both(mv, mo);
        if !alike {
            let [a, b] = &mut arena.buffers;
            let join = self.own.is_none() && rayon::current_num_threads() > 1;
            let mut vector = || shape.vector_wins(vector, a);
            let mut other = || shape.other_wins(other, b);
            if join {
                rayon::join(vector, other);
            } else {
                vector();
                other();
            }
        } else {
            shape.vector_wins(vector, &mut arena.buffers[0]);
            let [buffer, _] = &mut arena.mirrored;
            buffer.clear();
            buffer.resize(other_words, W::EMPTY);
            change_view(sets, kings(v), kings(o), &mo.lost, buffer);
            turn_plane(game.n, turned, buffer, &mut mv.lost);
        }
        let mirror = self.levels.has_mirror(unit);
        self.write(v, words, mirror, arena);
        arena.men.len() as u64 * (1 + u64::from(mirror))
    }

    /// The exits of the one unit of a material without men, by several threads.
    fn exits_of_kings(&'a self, children: &'a Children<'a, W>, words: usize, out: &mut Exits<W>) {
        let unit = |scratch: &mut Scratch<'a, W>| {
            let men = [W::EMPTY; 2];
            Unit::new(self.game, self.sets, children, self.material, men, scratch)
        };
        let whole = unit(&mut Scratch::default());
        let (all, pieces) = (whole.strips(), 8 * rayon::current_num_threads());
        let strips: Vec<_> = (0..pieces)
            .map(|i| all * i / pieces..all * (i + 1) / pieces)
            .filter(|strips| !strips.is_empty())
            .collect();
        let parts = out.part(0, words).split(&whole, &strips);
        parts
            .into_par_iter()
            .zip(strips)
            .for_each(|(mut part, strips)| {
                if self.ctl.is_stopped() {
                    return;
                }
                let mut scratch = Scratch::default();
                unit(&mut scratch).run_strips(strips, &mut part, &mut scratch);
            });
    }

    /// Finds which placements of a unit a sideways step of each side leads to; side of the vector
    /// first.
    fn link_sideways(&self, v: Side, men: &[[W; 2]], links: &mut [Vec<Vec<u32>>; 2]) {
        let game = self.game;
        for (links, side) in links.iter_mut().zip([v, v.other()]) {
            links.clear();
            let dirs = &game.man_sideways[side as usize];
            if dirs.is_empty() || self.material.men[side as usize] == 0 {
                continue;
            }
            let s = side as usize;
            for placed in men {
                let occupied = placed[0] | placed[1];
                let mut to = Vec::new();
                for from in placed[s].squares() {
                    for &d in dirs {
                        let square = game.grid.step[d][from as usize];
                        if square == dambase_rules::geometry::OFF || occupied.has(square) {
                            continue;
                        }
                        let mut after = *placed;
                        after[s] ^= W::bit(from) | W::bit(square);
                        let p = men.iter().position(|m| *m == after);
                        to.push(p.expect("a placement of the same unit") as u32);
                    }
                }
                links.push(to);
            }
        }
    }

    /// Puts the results into the planes of the material and into the dense arrays.
    fn write(&self, v: Side, words: usize, mirror: bool, arena: &mut Arena<'_, W>) {
        let (sets, material) = (self.sets, self.material);
        let o = v.other();
        let kings = |s: Side| material.kings[s as usize] as usize;
        let dense = dense_view(material);
        let sides = material.sides();
        // The side with the vector to move is read by its parents through a king of the other
        // side; the dense arrays follow White's kings.
        let turn = |mover: usize| {
            let to_planes = mover == 0 && self.own.is_some();
            kings(o) > 0 && (to_planes || dense != v || mirror)
        };
        let other_words = if kings(o) > 0 {
            sets.count(kings(o) - 1) * sets.count(kings(v))
        } else {
            words
        };
        for mover in 0..2 {
            if !turn(mover) {
                continue;
            }
            let (from, to) = (&arena.movers[mover], &mut arena.turned[mover]);
            for (from, to) in [(&from.won, &mut to.won), (&from.lost, &mut to.lost)] {
                to.clear();
                to.resize(other_words * arena.men.len(), W::EMPTY);
                for (from, to) in from
                    .chunks_exact(words)
                    .zip(to.chunks_exact_mut(other_words))
                {
                    change_view(sets, kings(v), kings(o), from, to);
                }
            }
        }
        if let Some(own) = &self.own {
            for (p, &rank) in arena.ranks.iter().enumerate() {
                for (mover, side) in [v, o].into_iter().enumerate() {
                    let planes = &own[side as usize];
                    let (source, words) = if planes.view == v {
                        (&arena.movers[mover], words)
                    } else {
                        (&arena.turned[mover], other_words)
                    };
                    // SAFETY: this unit is solved by this thread only, once, and others read it
                    // only after the level is finished.
                    #[allow(unsafe_code)]
                    let (won, lost) = unsafe { planes.block_mut(rank) };
                    won.copy_from_slice(&source.won[p * words..(p + 1) * words]);
                    lost.copy_from_slice(&source.lost[p * words..(p + 1) * words]);
                }
            }
        }
        if mirror {
            self.write_mirrored(words, arena);
        }
        for (&side, array) in sides.iter().zip(self.arrays) {
            let mover = usize::from(side != v);
            let (source, words) = if dense == v {
                (&arena.movers[mover], words)
            } else {
                (&arena.turned[mover], other_words)
            };
            for (p, &rank) in arena.ranks.iter().enumerate() {
                let range = p * words..(p + 1) * words;
                arena.writer.start(rank * self.index.king_space());
                self.write_dense(
                    arena.all_men[p],
                    &source.won[range.clone()],
                    &source.lost[range],
                    &mut arena.writer,
                );
                arena.writer.finish(array);
            }
        }
    }

    /// The same for the mirror image of a unit of a material that is the same for both sides. The
    /// vector was White's king; the mirror image of a position with White to move has Black to
    /// move.
    fn write_mirrored(&self, words: usize, arena: &mut Arena<'_, W>) {
        let kings = self.material.kings[0] as usize;
        let turned = (&self.turned[kings][..], &self.turned[kings - 1][..]);
        let n = self.game.n;
        for (p, men) in arena.men.iter().enumerate() {
            let range = p * words..(p + 1) * words;
            let men = [men[1].reversed(n), men[0].reversed(n)];
            let rank = self.index.men_rank(men);
            for (side, source) in [
                (Side::White, &arena.movers[1]),
                (Side::Black, &arena.turned[0]),
            ] {
                let Some(own) = &self.own else {
                    continue;
                };
                // SAFETY: as in `write`; the mirror image is solved with this unit only.
                #[allow(unsafe_code)]
                let (won, lost) = unsafe { own[side as usize].block_mut(rank) };
                turn_plane(n, turned, &source.won[range.clone()], won);
                turn_plane(n, turned, &source.lost[range.clone()], lost);
            }
            let source = &arena.turned[1];
            let [won, lost] = &mut arena.mirrored;
            won.resize(words, W::EMPTY);
            lost.resize(words, W::EMPTY);
            turn_plane(n, turned, &source.won[range.clone()], won);
            turn_plane(n, turned, &source.lost[range], lost);
            arena.writer.start(rank * self.index.king_space());
            self.write_dense(men[0] | men[1], won, lost, &mut arena.writer);
            arena.writer.finish(&self.arrays[0]);
        }
    }

    /// Writes one king space to the dense array, from words in the dense view.
    fn write_dense(&self, men: W, won: &[W], lost: &[W], writer: &mut Writer) {
        with_pack(WriteUnit {
            game: self.game,
            sets: self.sets,
            material: self.material,
            men,
            won,
            lost,
            writer,
        });
    }
}
