//! Quiet moves of the vector king: from where can it reach a set of squares?

use dambase_rules::Geometry;
use dambase_rules::geometry::{OFF, ascending, opposite};

use super::game::Game;
use super::layout::Sets;
use super::word::{MAX_WIDTH, Word, kernel, transpose};

/// One direction as shifts of whole words. House numbers grow by one of two amounts in a step,
/// depending on the parity of the row, and by a constant in two steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill<W> {
    up: bool,
    /// Squares that step by `shift[0]` and by `shift[1]`.
    from: [W; 2],
    shift: [u32; 2],
    /// Squares that can be stepped on.
    has_previous: W,
    /// Doublings that span the board after the single step.
    doublings: u32,
}

impl<W: Word> Fill<W> {
    pub(super) fn new(geometry: Geometry, d: usize) -> Self {
        let grid = geometry.grid();
        let mut fill = Self {
            up: ascending(d),
            from: [W::EMPTY; 2],
            shift: [0; 2],
            has_previous: W::EMPTY,
            doublings: 0,
        };
        for s in 0..geometry.squares() as u8 {
            let t = grid.step[d][s as usize];
            if t != OFF {
                let row = geometry.row_column(s).0;
                let kind = if geometry.is_full() { 0 } else { row % 2 };
                fill.from[kind] |= W::bit(s);
                fill.shift[kind] = u32::from(s.abs_diff(t));
            }
            if grid.step[opposite(d)][s as usize] != OFF {
                fill.has_previous |= W::bit(s);
            }
        }
        if geometry.is_full() {
            fill.shift[1] = fill.shift[0];
        }
        // A flood of 1 + 2 + .. + 2^(doublings - 1) steps, and one step more at the end.
        while (1 << fill.doublings) < geometry.side() - 1 {
            fill.doublings += 1;
        }
        fill
    }
}

#[inline(always)]
fn shift<W: Word, const UP: bool>(w: W, by: u32) -> W {
    if UP { w << by } else { w >> by }
}

#[inline(always)]
fn step<W: Word, const UP: bool>(f: &Fill<W>, w: W) -> W {
    shift::<W, UP>(w & f.from[0], f.shift[0]) | shift::<W, UP>(w & f.from[1], f.shift[1])
}

/// The squares from which one move against direction `f` leads to `targets`, illegal ones too.
#[inline(always)]
fn along<W: Word, const UP: bool, const DOUBLINGS: u32>(f: &Fill<W>, targets: W, legal: W) -> W {
    let two = f.shift[0] + f.shift[1];
    let mut flood = targets;
    if DOUBLINGS > 0 {
        let mut pass = legal & f.has_previous;
        flood |= pass & step::<W, UP>(f, flood);
        pass &= step::<W, UP>(f, pass);
        flood |= pass & shift::<W, UP>(flood, two);
        if DOUBLINGS > 2 {
            pass &= shift::<W, UP>(pass, two);
            flood |= pass & shift::<W, UP>(flood, 2 * two);
        }
        if DOUBLINGS > 3 {
            pass &= shift::<W, UP>(pass, 2 * two);
            flood |= pass & shift::<W, UP>(flood, 4 * two);
        }
    }
    step::<W, UP>(f, flood)
}

/// The squares from which one step against direction `f` leads to `targets`.
#[inline(always)]
pub(super) fn step_of_word<W: Word>(f: &Fill<W>, targets: W) -> W {
    if f.up {
        along::<W, true, 0>(f, targets, W::ALL)
    } else {
        along::<W, false, 0>(f, targets, W::ALL)
    }
}

kernel! {
    /// Adds to `out` the squares from which one move against direction `f` leads to `targets`.
    fn reach_along<W: Word, const UP: bool, const DOUBLINGS: u32>(
        f: &Fill<W>, targets: &[W], legal: &[W], out: &mut [W],
    ) {
        let f = *f;
        let n = out.len();
        let (targets, legal) = (&targets[..n], &legal[..n]);
        for i in 0..n {
            out[i] |= along::<W, UP, DOUBLINGS>(&f, targets[i], legal[i]);
        }
    }
}

/// [`reach_by_vector`] for one word.
#[inline(always)]
pub(super) fn reach_of_word<W: Word>(game: &Game<W>, targets: W, legal: W) -> W {
    let mut reach = W::EMPTY;
    for f in &game.fills {
        reach |= match (f.up, if game.flying { f.doublings } else { 0 }) {
            (true, 0) => along::<W, true, 0>(f, targets, legal),
            (false, 0) => along::<W, false, 0>(f, targets, legal),
            (true, 3) => along::<W, true, 3>(f, targets, legal),
            (false, 3) => along::<W, false, 3>(f, targets, legal),
            (true, _) => along::<W, true, 4>(f, targets, legal),
            (false, _) => along::<W, false, 4>(f, targets, legal),
        };
    }
    reach & legal
}

/// The squares of the vector king from which a move leads to `targets`, word by word; `legal` has
/// the squares it may stand on, a superset of `targets`. `out` is replaced.
pub(super) fn reach_by_vector<W: Word>(game: &Game<W>, targets: &[W], legal: &[W], out: &mut [W]) {
    out.fill(W::EMPTY);
    for f in &game.fills {
        let run = match (f.up, if game.flying { f.doublings } else { 0 }) {
            (true, 0) => reach_along::<W, true, 0>,
            (false, 0) => reach_along::<W, false, 0>,
            (true, 3) => reach_along::<W, true, 3>,
            (false, 3) => reach_along::<W, false, 3>,
            (true, _) => reach_along::<W, true, 4>,
            (false, _) => reach_along::<W, false, 4>,
        };
        run(f, targets, legal, out);
    }
    for (out, &legal) in out.iter_mut().zip(legal) {
        *out &= legal;
    }
}

/// The kings of one side are alike: what holds for the vector king on `v` beside a king on `a`
/// holds for the vector king on `a` beside one on `v`. `row` has a word for each placement of the
/// side's other kings; afterwards each word has also what was found with the roles exchanged.
pub(super) fn symmetrise<W: Word>(
    sets: &Sets<W>,
    others: usize,
    row: &mut [W],
    buffer: &mut Vec<W>,
) {
    if others == 0 {
        return;
    }
    let n = sets.n;
    let width = W::WIDTH as usize;
    let mut matrix = [W::EMPTY; MAX_WIDTH];
    if others == 1 {
        matrix[..n].copy_from_slice(&row[..n]);
        transpose(&mut matrix[..width]);
        for (w, &t) in row.iter_mut().zip(&matrix[..n]) {
            *w |= t;
        }
        return;
    }
    // Every pair (placement of the kings that stand still, matrix of the two that change roles).
    buffer.clear();
    buffer.extend_from_slice(row);
    for still in 0..sets.count(others - 1) {
        let cells = sets.cells(others - 1, still);
        for (s, word) in matrix[..n].iter_mut().enumerate() {
            *word = cells.at(s).map_or(W::EMPTY, |i| buffer[i]);
        }
        matrix[n..width].fill(W::EMPTY);
        transpose(&mut matrix[..width]);
        for (s, &word) in matrix[..n].iter().enumerate() {
            if let Some(i) = cells.at(s) {
                row[i] |= word;
            }
        }
    }
}
