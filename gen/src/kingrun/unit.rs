//! One placement of the men: all placements of the kings with all runs, both sides to move.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dambase_rules::movegen::{captures, king_targets, quiet};
use dambase_rules::ruleset::KingRun;
use dambase_rules::{Bits, Board, MoveList, Ruleset, Run, Side};
use dambase_tables::{LargeArray, RunIndex};
use rayon::prelude::*;

use super::exits::{Children, Exit};
use super::score::{self, NONE, Score};
use crate::{Control, Error};

/// Rows a thread takes at a time; a multiple of 64.
const ROWS: usize = 1024;
/// Most kings of one side: beyond, the positions of no slice fit into memory.
const KINGS: usize = 7;

/// The rows with one side to move.
struct Rows {
    /// By row, the opponent's run, the run of the side to move: what a move of the opponent's
    /// leads to stands together for all runs of the side to move.
    scores: Vec<Score>,
    /// By row and the opponent's run: the lowest score of the captures, or of the moves of men.
    exits: Vec<Score>,
    /// Bits of the rows without captures.
    open: Vec<u64>,
    /// Bits of the rows that must be computed again.
    dirty: Vec<AtomicU64>,
}

pub(super) struct Unit<'a, R: Ruleset, const DTW: bool> {
    index: &'a RunIndex<R::Bits>,
    scope: KingRun,
    men: [R::Bits; 2],
    /// Placements of the kings.
    rows: usize,
    /// States of the runs of White and Black, and of both.
    states: [usize; 2],
    run_states: usize,
}

impl<'a, R: Ruleset, const DTW: bool> Unit<'a, R, DTW> {
    pub(super) fn new(
        index: &'a RunIndex<R::Bits>,
        scope: KingRun,
        men: [R::Bits; 2],
    ) -> Result<Self, Error> {
        let material = index.boards().material();
        if material.kings.iter().any(|&k| usize::from(k) > KINGS) {
            return Err(dambase_tables::TooLarge(material).into());
        }
        Ok(Self {
            index,
            scope,
            men,
            rows: index.boards().king_space() as usize,
            states: index.states().map(|n| n as usize),
            run_states: index.run_states() as usize,
        })
    }

    /// Scores by king rank and run rank with White and with Black to move.
    pub(super) fn solve(
        &self,
        children: &Children<'_, R, DTW>,
        done: &[LargeArray<Score>],
        ctl: &Control,
    ) -> Result<[Vec<Score>; 2], Error> {
        let mut rows = [
            self.exits(Side::White, children, done, ctl)?,
            self.exits(Side::Black, children, done, ctl)?,
        ];
        let mut idle = 0;
        let mut side = Side::White;
        while idle < 2 {
            ctl.check()?;
            let [white, black] = &mut rows;
            let changed = match side {
                Side::White => self.pass(side, white, black),
                Side::Black => self.pass(side, black, white),
            };
            idle = if changed { 0 } else { idle + 1 };
            side = side.other();
        }
        let [white, black] = rows;
        Ok([white.scores, self.in_index_order(black.scores)])
    }

    /// Prepares the rows of one side: what captures and moves of men lead to. Rows with captures
    /// are finished, all others are to be computed.
    fn exits(
        &self,
        side: Side,
        children: &Children<'_, R, DTW>,
        done: &[LargeArray<Score>],
        ctl: &Control,
    ) -> Result<Rows, Error> {
        let (us, them) = (side as usize, side.other() as usize);
        let (own, lanes) = (self.states[us], self.states[them]);
        let words = self.rows.div_ceil(64);
        let mut scores = vec![0; self.rows * self.run_states];
        let mut exits = vec![NONE; self.rows * lanes];
        let mut open = vec![0_u64; words];
        let parts = scores
            .par_chunks_mut(ROWS * self.run_states)
            .zip(exits.par_chunks_mut(ROWS * lanes))
            .zip(open.par_chunks_mut(ROWS / 64));
        parts
            .enumerate()
            .try_for_each(|(part, ((scores, exits), open))| {
                ctl.check()?;
                let mut list = MoveList::new();
                let mut result = Ok(());
                let first = part * ROWS;
                let range = first as u64..(first + ROWS) as u64;
                let men = self.men[0] | self.men[1];
                let boards = self.index.boards();
                boards.for_each_kings(men, range, |rank, kings| {
                    let row = rank as usize - first;
                    let board = Board {
                        men: self.men,
                        kings,
                    };
                    let exits = &mut exits[row * lanes..][..lanes];
                    captures::<R>(&board, side, &mut list);
                    let capture = list.is_capture();
                    if !capture && !board.men[us].is_empty() {
                        quiet::<R>(&board, side, Run::NONE, &mut list);
                    }
                    for m in list.iter() {
                        if !capture && !board.men[us].has(m.from) {
                            continue;
                        }
                        let exit = Exit {
                            kings_before: kings[them],
                            after: &board.after(side, m),
                            side: side.other(),
                        };
                        if let Err(e) = children.lower(exits, &exit, self.index, done) {
                            result = Err(e);
                            return;
                        }
                    }
                    if capture {
                        let scores = &mut scores[row * self.run_states..][..self.run_states];
                        for (scores, &worst) in scores.chunks_exact_mut(own).zip(exits.iter()) {
                            scores.fill(score::one_ply_up::<DTW>(worst));
                        }
                    } else {
                        open[row / 64] |= 1 << (row % 64);
                    }
                });
                result
            })?;
        let dirty = open.iter().map(|&w| AtomicU64::new(w)).collect();
        Ok(Rows {
            scores,
            exits,
            open,
            dirty,
        })
    }

    /// Computes the rows of `side` whose successors have changed. Returns whether there were any.
    fn pass(&self, side: Side, ours: &mut Rows, theirs: &Rows) -> bool {
        match self.states[side.other() as usize] / 3 {
            0 => self.pass_in_lanes::<1>(side, ours, theirs),
            1 => self.pass_in_lanes::<4>(side, ours, theirs),
            2 => self.pass_in_lanes::<7>(side, ours, theirs),
            3 => self.pass_in_lanes::<10>(side, ours, theirs),
            4 => self.pass_in_lanes::<13>(side, ours, theirs),
            5 => self.pass_in_lanes::<16>(side, ours, theirs),
            6 => self.pass_in_lanes::<19>(side, ours, theirs),
            _ => self.pass_in_lanes::<22>(side, ours, theirs),
        }
    }

    fn pass_in_lanes<const L: usize>(&self, side: Side, ours: &mut Rows, theirs: &Rows) -> bool {
        let any = AtomicBool::new(false);
        let Rows {
            scores,
            exits,
            open,
            dirty,
        } = ours;
        let parts = scores
            .par_chunks_mut(ROWS * self.run_states)
            .zip(exits.par_chunks(ROWS * L))
            .zip(open.par_chunks(ROWS / 64).zip(dirty.par_chunks(ROWS / 64)));
        parts
            .enumerate()
            .for_each(|(part, ((scores, exits), (open, dirty)))| {
                let mut new = vec![0; self.run_states];
                for (word, (open, dirty)) in open.iter().zip(dirty).enumerate() {
                    if dirty.load(Ordering::Relaxed) == 0 {
                        continue;
                    }
                    any.store(true, Ordering::Relaxed);
                    let bits = dirty.swap(0, Ordering::Relaxed) & open;
                    for bit in bits.squares() {
                        let row = word * 64 + usize::from(bit);
                        let kings = self.kings((part * ROWS + row) as u64);
                        let exits = exits[row * L..][..L].try_into().expect("lanes");
                        self.row::<L>(side, kings, exits, &theirs.scores, &mut new);
                        let old = &mut scores[row * self.run_states..][..self.run_states];
                        if *old != *new {
                            self.mark(side, kings, old, &new, &theirs.dirty);
                            old.copy_from_slice(&new);
                        }
                    }
                }
            });
        any.into_inner()
    }

    #[inline(always)]
    fn kings(&self, king_rank: u64) -> [R::Bits; 2] {
        let men = self.men[0] | self.men[1];
        self.index.boards().kings(men, king_rank)
    }

    /// The row after a king of `side` has gone from one square to another, and the kings of `side`
    /// then.
    #[inline(always)]
    fn moved(&self, kings: [R::Bits; 2], side: Side, from: u8, to: u8) -> (usize, R::Bits) {
        let mut after = kings;
        after[side as usize] ^= R::Bits::bit(from) | R::Bits::bit(to);
        let men = self.men[0] | self.men[1];
        let row = self.index.boards().king_rank(men, after);
        (row as usize, after[side as usize])
    }

    /// The scores of all states of a row without captures, from those of the other side's rows.
    fn row<const L: usize>(
        &self,
        side: Side,
        kings: [R::Bits; 2],
        exits: &[Score; L],
        theirs: &[Score],
        out: &mut [Score],
    ) {
        let us = side as usize;
        let own = self.states[us];
        let grid = R::RULES.geometry.grid();
        let occupied = self.men[0] | self.men[1] | kings[0] | kings[1];
        // The lowest score of the moves of each king, by the length of its run after them.
        let mut best = [[[NONE; L]; 3]; KINGS];
        let lengths = if own == 1 { 1 } else { 3 };
        let mut n = 0;
        for from in kings[us].squares() {
            for to in king_targets::<R>(grid, occupied, from).squares() {
                let (row, after) = self.moved(kings, side, from, to);
                let run = if own == 1 {
                    0
                } else {
                    3 * (after & R::Bits::below(to)).count() as usize + 1
                };
                let values = &theirs[row * self.run_states + run * L..][..lengths * L];
                for (best, values) in best[n].iter_mut().zip(values.chunks_exact(L)) {
                    lower(best, values.try_into().expect("lanes"));
                }
            }
            n += 1;
        }
        let best = &best[..n];
        let mut put = |run: usize, worst: &[Score; L]| {
            for (lane, &worst) in worst.iter().enumerate() {
                out[lane * own + run] = score::one_ply_up::<DTW>(worst);
            }
        };
        let mut all = *exits;
        for b in best {
            lower(&mut all, &b[0]);
        }
        put(0, &all);
        if own == 1 {
            return;
        }
        for (king, b) in best.iter().enumerate() {
            let mut others = *exits;
            for (i, b) in best.iter().enumerate() {
                if i != king {
                    lower(&mut others, &b[0]);
                }
            }
            for (count, going_on) in b.iter().enumerate().skip(1) {
                let mut worst = others;
                lower(&mut worst, going_on);
                put(3 * king + count, &worst);
            }
            // The held king goes on only if nothing else can move and the code allows it.
            let stuck = others[0] == NONE && self.scope == KingRun::WhileOthersCanMove;
            put(3 * king + 3, if stuck { &b[2] } else { &others });
        }
    }

    /// Marks the rows from which the opponent's king moves lead to what has changed in this one.
    fn mark(
        &self,
        side: Side,
        kings: [R::Bits; 2],
        old: &[Score],
        new: &[Score],
        dirty: &[AtomicU64],
    ) {
        let them = side.other();
        let own = self.states[side as usize];
        let grid = R::RULES.geometry.grid();
        let occupied = self.men[0] | self.men[1] | kings[0] | kings[1];
        for (king, to) in kings[them as usize].squares().enumerate() {
            let changed = if self.states[them as usize] == 1 {
                true
            } else {
                let runs = (3 * king + 1) * own..(3 * king + 4) * own;
                old[runs.clone()] != new[runs]
            };
            if !changed {
                continue;
            }
            // Moves of kings can be taken back along the same lines.
            for from in king_targets::<R>(grid, occupied, to).squares() {
                let (row, _) = self.moved(kings, them, to, from);
                dirty[row / 64].fetch_or(1 << (row % 64), Ordering::Relaxed);
            }
        }
    }

    /// Brings the scores of Black's rows into the order of the index: White's run fastest.
    fn in_index_order(&self, mut scores: Vec<Score>) -> Vec<Score> {
        let [white, black] = self.states;
        if white == 1 || black == 1 {
            return scores;
        }
        scores
            .par_chunks_mut(ROWS * self.run_states)
            .for_each(|rows| {
                let mut row = vec![0; self.run_states];
                for scores in rows.chunks_exact_mut(self.run_states) {
                    for w in 0..white {
                        for b in 0..black {
                            row[b * white + w] = scores[w * black + b];
                        }
                    }
                    scores.copy_from_slice(&row);
                }
            });
        scores
    }
}

/// Lowers each lane.
#[inline(always)]
fn lower<const L: usize>(lanes: &mut [Score; L], by: &[Score; L]) {
    for (lane, &by) in lanes.iter_mut().zip(by) {
        *lane = (*lane).min(by);
    }
}
