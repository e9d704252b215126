//! Materials that are solved by *rows*: one placement of White's men with all of Black's.
//!
//! White's moves lead to rows whose men are further advanced, Black's stay in the row; so rows are
//! solved in the order of White's advancement, those of one level side by side. What depends on
//! White's men only is found once a row, so that to number a placement is a sum over a table.

use dambase_rules::Side;
use dambase_rules::geometry::{MAX_SQUARES, OFF};
use dambase_tables::Index;
use dambase_tables::index::binomial;
use rayon::prelude::*;

use super::Pool;
use super::game::Game;
use super::levels::Levels;
use super::word::{Pack, WithPack, Word, with_pack};
use crate::{Control, Error};

/// What solves a row.
pub(super) trait Rows<W: Word>: Sync {
    /// Buffers of one thread, used for one row after the other.
    type Arena: Default + Send;

    /// Solves the row of a placement of White's men; those of sets further advanced are finished.
    /// Returns the number of placements.
    fn row<P: Pack>(&self, pack: P, white: W, arena: &mut Self::Arena) -> u64;
}

/// A row, with the instructions of the processor.
struct Row<'r, W: Word, S: Rows<W>> {
    solver: &'r S,
    white: W,
    arena: &'r mut S::Arena,
}

impl<W: Word, S: Rows<W>> WithPack for Row<'_, W, S> {
    type Output = u64;
    #[inline(always)]
    fn run<P: Pack>(self, pack: P) -> u64 {
        self.solver.row(pack, self.white, self.arena)
    }
}

/// Solves all rows. A placement of the men has so many `positions`.
pub(super) fn solve_rows<W: Word>(
    solver: &impl Rows<W>,
    levels: &Levels<W>,
    positions: u64,
    ctl: &Control,
) -> Result<(), Error> {
    let arenas = Pool::default();
    for left in 0..levels.len() {
        let white = &levels.sets(Side::White)[levels.numbers(left)];
        white.par_iter().try_for_each(|&white| {
            ctl.check()?;
            let mut arena = arenas.take();
            let placements = with_pack(Row {
                solver,
                white,
                arena: &mut arena,
            });
            ctl.add(placements * positions);
            arenas.give(arena);
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

/// What is known of the moves of one mover in a unit, for the squares of the vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves<W> {
    /// There is a move.
    pub(super) any: W,
    /// One wins.
    pub(super) win: W,
    /// One does not lose.
    pub(super) escape: W,
}

impl<W: Word> Moves<W> {
    pub(super) const NONE: Self = Self {
        any: W::EMPTY,
        win: W::EMPTY,
        escape: W::EMPTY,
    };
    /// A move of the squares of `mask` to a child of which `cell` is known.
    #[inline(always)]
    pub(super) fn add(&mut self, [win, escape]: [W; 2], mask: W) {
        self.any |= mask;
        self.win |= win & mask;
        self.escape |= escape & mask;
    }
    /// `worse` counts where there is nothing here.
    #[inline(always)]
    pub(super) fn or(&mut self, worse: Self) {
        self.win |= worse.win & !self.any;
        self.escape |= worse.escape & !self.any;
        self.any |= worse.any;
    }
    /// What the side to move has won, and what it has lost.
    #[inline(always)]
    pub(super) fn decide(self, legal: W, misere: bool) -> (W, W) {
        let stuck = if misere { !self.any } else { W::EMPTY };
        let won = (self.win | stuck) & legal;
        (won, legal & !won & !self.escape)
    }
}

/// A word with the same bit everywhere.
#[inline(always)]
pub(super) fn all<W: Word>(yes: bool) -> W {
    if yes { W::ALL } else { W::EMPTY }
}

/// Numbers sets of black men beside one set of white men: a sum over a table.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// `[place in the set][square]`.
    table: Vec<[u64; MAX_SQUARES]>,
}

impl Ranks {
    /// For as many men as Black has; squares of the row where they are crowned have no number.
    #[inline(always)]
    pub(super) fn set<W: Word>(&mut self, men: u8, white: W, n: usize) {
        self.table.resize(men.into(), [0; MAX_SQUARES]);
        let mut free = [0_u8; MAX_SQUARES];
        let mut count = 0;
        for (s, free) in (0..).zip(&mut free[..n]) {
            *free = count;
            count += u8::from(!white.has(s));
        }
        for (place, table) in self.table.iter_mut().enumerate() {
            for (rank, &free) in table[..n].iter_mut().zip(&free) {
                *rank = if place == 0 {
                    free.into()
                } else {
                    binomial(free.into(), place + 1)
                };
            }
        }
    }
    #[inline(always)]
    pub(super) fn of<W: Word>(&self, black: W) -> u64 {
        let places = black.squares().zip(&self.table);
        places.map(|(s, table)| table[s as usize]).sum()
    }
    /// The number of the first of the sets that have one square below `others`, too.
    #[inline(always)]
    pub(super) fn above<W: Word>(&self, others: W) -> u64 {
        let places = others.squares().zip(self.table.iter().skip(1));
        places.map(|(s, table)| table[s as usize]).sum()
    }
    /// What the lowest square adds to [`Self::above`].
    #[inline(always)]
    pub(super) fn lowest(&self, s: u8) -> u64 {
        self.table[0][s as usize]
    }
}

/// A quiet step of one of White's men.
#[derive(Debug, Default)]
pub(super) struct Step<W> {
    pub(super) to: u8,
    pub(super) crowned: bool,
    /// White's men after it.
    pub(super) after: W,
    /// Number of the first placement with White's men after the step, in the child's index.
    pub(super) first: u64,
    pub(super) ranks: Ranks,
}

/// The steps of White's men to squares without a white man. `crowned` numbers the placements after
/// a crowning.
#[inline(always)]
pub(super) fn set_steps<W: Word>(
    game: &Game<W>,
    index: &Index<W>,
    crowned: &Index<W>,
    white: W,
    out: &mut Vec<Step<W>>,
) {
    let black = index.material().men[1];
    let mut steps = 0;
    for from in white.squares() {
        for &d in &game.man_forward[0] {
            let to = game.grid.step[d][from as usize];
            if to == OFF || white.has(to) {
                continue;
            }
            let step = next(out, &mut steps);
            (step.to, step.crowned) = (to, game.crown[0].has(to));
            step.after = white ^ W::bit(from);
            if !step.crowned {
                step.after |= W::bit(to);
            }
            let index = if step.crowned { crowned } else { index };
            step.first = index.men_rank([step.after, W::EMPTY]);
            step.ranks.set(black, step.after, game.n);
        }
    }
    out.truncate(steps);
}

/// The next element of a list that is filled anew.
pub(super) fn next<'l, T: Default>(list: &'l mut Vec<T>, len: &mut usize) -> &'l mut T {
    if list.len() == *len {
        list.push(T::default());
    }
    *len += 1;
    &mut list[*len - 1]
}
