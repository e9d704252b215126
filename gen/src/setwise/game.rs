//! The rules constant turned into tables of words.

use dambase_rules::geometry::DirSet;
use dambase_rules::geometry::{Grid, MAX_SQUARES, OFF, opposite};
use dambase_rules::ruleset::{Criterion, Goal, KingRange, Promotion, Removal};
use dambase_rules::{Rules, Side};
use dambase_tables::{Dtw, Value};

use super::reach::Fill;
use super::word::Word;

/// No direction: the piece has not jumped yet.
pub(super) const STANDING: usize = 8;

/// Everything the solver asks the rules, in the form in which it asks.
#[derive(Debug)]
pub(super) struct Game<W: Word> {
    pub(super) rules: &'static Rules,
    pub(super) grid: &'static Grid,
    /// Squares of the board.
    pub(super) n: usize,
    /// All squares.
    pub(super) all: W,
    /// `bit[s]`: square `s`.
    pub(super) bit: Vec<W>,
    /// A row of full words: nothing is cut.
    pub(super) ones: Vec<W>,
    /// `ray[d][s]`: the squares from `s` in direction `d`.
    pub(super) ray: [[W; MAX_SQUARES]; 8],
    /// See [`Self::cut`].
    cut: Vec<W>,
    pub(super) flying: bool,
    pub(super) immediate: bool,
    /// No precedence: any complete capture may be chosen.
    pub(super) free: bool,
    pub(super) king_capture: Vec<usize>,
    /// Of White's and Black's men.
    pub(super) man_capture: [Vec<usize>; 2],
    /// Quiet steps that advance a man.
    pub(super) man_forward: [Vec<usize>; 2],
    /// Quiet steps that do not (the Turkish family).
    pub(super) man_sideways: [Vec<usize>; 2],
    /// Where White's and Black's men are crowned.
    pub(super) crown: [W; 2],
    /// The quiet moves of a king that is the vector.
    pub(super) fills: Vec<Fill<W>>,
    /// The lines of quiet king moves, two squares and more, in order.
    pub(super) lines: Vec<Vec<u8>>,
}

impl<W: Word> Game<W> {
    pub(super) fn new(rules: &'static Rules) -> Self {
        let geometry = rules.geometry;
        let (grid, n) = (geometry.grid(), geometry.squares());
        let set = |wide: u128| W::from_wide(wide);
        let mut ray = [[W::EMPTY; MAX_SQUARES]; 8];
        let mut cut = vec![W::ALL; 8 * n * n];
        for d in 0..8 {
            for q in 0..n {
                ray[d][q] = set(grid.ray[d][q]);
                for a in ray[d][q].squares() {
                    let beyond = set(grid.ray[d][a as usize]) | W::bit(a);
                    cut[(d * n + q) * n + a as usize] = ray[d][q] & !beyond;
                }
            }
        }
        let dirs = |s: DirSet| (0..8).filter(|&d| s.has(d)).collect::<Vec<_>>();
        let split = |side: Side, forward: bool| {
            let mut all = dirs(rules.man_quiet_of(side));
            all.retain(|&d| {
                let sideways =
                    d == dambase_rules::geometry::dir::E || d == dambase_rules::geometry::dir::W;
                sideways != forward
            });
            all
        };
        let quiet = dirs(rules.king_quiet);
        let mut lines = Vec::new();
        for &d in quiet.iter().filter(|&&d| d < opposite(d)) {
            for start in 0..n as u8 {
                if grid.step[opposite(d)][start as usize] != OFF {
                    continue;
                }
                let mut line = vec![start];
                let mut s = start;
                while grid.step[d][s as usize] != OFF {
                    s = grid.step[d][s as usize];
                    line.push(s);
                }
                if line.len() > 1 {
                    lines.push(line);
                }
            }
        }
        let flying = rules.king_range == KingRange::Flying;
        Self {
            rules,
            grid,
            n,
            all: set(geometry.all()),
            bit: (0..n as u8).map(W::bit).collect(),
            ones: vec![W::ALL; n],
            ray,
            cut,
            flying,
            immediate: rules.removal == Removal::Immediate,
            free: rules.precedence.is_empty(),
            king_capture: dirs(rules.king_capture),
            man_capture: Side::BOTH.map(|s| dirs(rules.man_capture_of(s))),
            man_forward: Side::BOTH.map(|s| split(s, true)),
            man_sideways: Side::BOTH.map(|s| split(s, false)),
            crown: Side::BOTH.map(|s| set(rules.crown_of(s))),
            fills: quiet.iter().map(|&d| Fill::new(geometry, d)).collect(),
            lines,
        }
    }

    /// For each square `a` of a further piece: what it leaves of the ray from `q` in direction
    /// `d`. Full words where `a` is not on the ray.
    #[inline(always)]
    pub(super) fn cut(&self, d: usize, q: u8) -> &[W] {
        let start = (d * self.n + q as usize) * self.n;
        &self.cut[start..start + self.n]
    }
    /// The squares strictly between `q` and `a`, which is on the ray from `q` in direction `d`.
    #[inline(always)]
    pub(super) fn between(&self, d: usize, q: u8, a: u8) -> W {
        self.cut[(d * self.n + q as usize) * self.n + a as usize]
    }
    /// The first piece from `s` in direction `d`.
    #[inline(always)]
    pub(super) fn blocker(&self, d: usize, s: u8, occupied: W) -> Option<u8> {
        let hit = self.ray[d][s as usize] & occupied;
        if hit.is_empty() {
            None
        } else if dambase_rules::geometry::ascending(d) {
            Some(hit.first())
        } else {
            Some(hit.last())
        }
    }
    /// The empty squares from `s` in direction `d` up to the first piece.
    #[inline(always)]
    pub(super) fn open(&self, d: usize, s: u8, occupied: W) -> W {
        match self.blocker(d, s, occupied) {
            None => self.ray[d][s as usize],
            Some(b) => self.between(d, s, b),
        }
    }
    /// The squares next to a piece on `q` in direction `d` that a capturing king starts from or
    /// lands on: the open ray for flying kings, the neighbour for short ones.
    #[inline(always)]
    pub(super) fn span(&self, d: usize, q: u8, occupied: W) -> W {
        if self.flying {
            self.open(d, q, occupied)
        } else {
            match self.grid.step[d][q as usize] {
                OFF => W::EMPTY,
                s => W::bit(s) & !occupied,
            }
        }
    }
    /// Whether a sequence that came in direction `came` may go on in direction `d`.
    #[inline(always)]
    pub(super) fn may_turn(&self, came: usize, d: usize) -> bool {
        self.rules.reversal || came == STANDING || came != opposite(d)
    }
    /// Whether the side that has to move and cannot has won.
    pub(super) fn misere(&self) -> bool {
        self.rules.goal == Goal::Losing
    }
    /// The code of a game that is over because the side to move has no pieces.
    pub(super) fn over(&self) -> u16 {
        let now = Dtw(0);
        let value = if self.misere() {
            Value::Win(now)
        } else {
            Value::Loss(now)
        };
        value.code()
    }
    /// Whether the side that first has a king has won.
    pub(super) fn first_crown_wins(&self) -> bool {
        self.rules.goal == Goal::FirstCrown
    }
    /// A capture by a man of side `x` that has landed on `to` can go on only if an enemy stands on one
    /// of these squares. `own` are men that cannot be taken nor jumped over.
    #[inline(always)]
    pub(super) fn may_go_on(&self, x: usize, to: u8, own: W) -> W {
        let mut near = W::EMPTY;
        if self.crown[x].has(to) {
            match self.promotion() {
                Promotion::InPassing => {
                    for &d in &self.king_capture {
                        near |= self.ray[d][to as usize];
                    }
                    return near & !own;
                }
                Promotion::EndsMove => return near,
                Promotion::AtRest => {}
            }
        }
        for &d in &self.man_capture[x] {
            let victim = self.grid.step[d][to as usize];
            if victim == OFF || own.has(victim) {
                continue;
            }
            let landing = self.grid.step[d][victim as usize];
            if landing != OFF && !own.has(landing) {
                near |= W::bit(victim);
            }
        }
        near
    }
    pub(super) fn promotion(&self) -> Promotion {
        self.rules.promotion
    }
}

/// What a capture sequence has taken so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    count: u64,
    kings: u64,
    /// One bit a piece, the first taken highest: is it a king?
    order: u64,
}

impl Tally {
    #[inline(always)]
    pub(super) fn with(self, king: bool) -> Self {
        Self {
            count: self.count + 1,
            kings: self.kings + u64::from(king),
            order: self.order << 1 | u64::from(king),
        }
    }
    /// The precedence of the sequence as one number, the larger the better; sequences of equal
    /// precedence have equal numbers.
    #[inline(always)]
    pub(super) fn rank(self, precedence: &[Criterion], by_king: bool) -> u64 {
        let mut rank = 1;
        for c in precedence {
            rank = match c {
                Criterion::Count => rank << 7 | self.count,
                Criterion::Value { man, king } => {
                    let men = self.count - self.kings;
                    rank << 14 | (men * u64::from(*man) + self.kings * u64::from(*king))
                }
                Criterion::ByKing => rank << 1 | u64::from(by_king),
                Criterion::KingsTaken => rank << 7 | self.kings,
                // Equal counts are guaranteed by the criteria before.
                Criterion::KingsEarliest => rank << 32 | (self.order & 0xffff_ffff),
            };
        }
        rank
    }
}
