//! Move generation: one implementation for all codes, folded by the rules constant.
//!
//! Captures are enumerated depth first. A flying king that jumps on straight ahead is followed
//! once and not once for each square it might have stood on, so that every leaf is one *route* in
//! the sense of RULES 0.4: an order of pieces taken and squares where the king turns.

use crate::bits::Bits;
use crate::board::{Board, Move, Side};
use crate::geometry::{Grid, OFF, opposite};
use crate::position::Run;
use crate::ruleset::{Criterion, KingRange, KingRun, Promotion, Removal, Ruleset};

/// Longest sequence of jumps that is recorded: a board of 72 squares holds at most this many
/// enemy pieces.
const MAX_JUMPS: usize = 72;

/// Runs a block for every direction of a constant set, written out: the optimiser keeps a loop
/// over eight directions and its tests, which made this the slowest part of the solver.
macro_rules! each_direction {
    ($set:expr, $d:ident => $body:block) => {
        each_direction!(@ $set, $d, $body, 0 1 2 3 4 5 6 7)
    };
    (@ $set:expr, $d:ident, $body:block, $($n:literal)*) => {
        $(if $set.has($n) {
            let $d: usize = $n;
            $body
        })*
    };
}

/// The legal moves of one position, reusable without new allocation.
#[derive(Clone, Debug, Default)]
pub struct MoveList<W> {
    moves: Vec<Move<W>>,
    best: u64,
}

impl<W: Bits> MoveList<W> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self {
            moves: Vec::with_capacity(32),
            best: 0,
        }
    }
    /// True if the moves are captures.
    #[must_use]
    pub fn is_capture(&self) -> bool {
        self.moves.first().is_some_and(Move::is_capture)
    }
}

impl<W> std::ops::Deref for MoveList<W> {
    type Target = [Move<W>];
    fn deref(&self) -> &[Move<W>] {
        &self.moves
    }
}

/// What is reported of each complete capture sequence.
trait Leaf<W> {
    /// `rank` is the precedence (higher is better), `path` the landing squares in order.
    fn leaf(&mut self, m: Move<W>, rank: u64, path: &[u8]);
}

impl<W: Bits> MoveList<W> {
    /// Makes room for a capture of this rank. Returns whether it is among the best so far.
    #[inline]
    fn admits(&mut self, rank: u64) -> bool {
        if rank > self.best {
            self.moves.clear();
            self.best = rank;
        }
        rank == self.best
    }
}

impl<W: Bits> Leaf<W> for MoveList<W> {
    #[inline]
    fn leaf(&mut self, m: Move<W>, rank: u64, _path: &[u8]) {
        if self.admits(rank) && !self.moves.contains(&m) {
            self.moves.push(m);
        }
    }
}

/// A list in which every route is a move of its own.
struct EveryRoute<'a, W>(&'a mut MoveList<W>);

impl<W: Bits> Leaf<W> for EveryRoute<'_, W> {
    #[inline]
    fn leaf(&mut self, m: Move<W>, rank: u64, _path: &[u8]) {
        if self.0.admits(rank) {
            self.0.moves.push(m);
        }
    }
}

/// All routes of the best rank.
#[derive(Default)]
struct Routes<W> {
    routes: Vec<(Move<W>, Vec<u8>)>,
    best: u64,
}

impl<W: Bits> Leaf<W> for Routes<W> {
    fn leaf(&mut self, m: Move<W>, rank: u64, path: &[u8]) {
        if rank < self.best {
            return;
        }
        if rank > self.best {
            self.routes.clear();
            self.best = rank;
        }
        self.routes.push((m, path.to_vec()));
    }
}

/// Fills `list` with the legal moves of `side`: all captures of best rank, or all quiet moves.
/// `run` is the king run of `side`, which only matters in codes that have one. The game being
/// over by a special rule ([`crate::position::decided`]) is not looked at.
#[inline]
pub fn generate<R: Ruleset>(
    board: &Board<R::Bits>,
    side: Side,
    run: Run,
    list: &mut MoveList<R::Bits>,
) {
    captures::<R>(board, side, list);
    if list.moves.is_empty() {
        quiet::<R>(board, side, run, list);
    }
}

/// Fills `list` with the legal captures of `side`; leaves it empty if there are none.
#[inline]
pub fn captures<R: Ruleset>(board: &Board<R::Bits>, side: Side, list: &mut MoveList<R::Bits>) {
    list.moves.clear();
    list.best = 0;
    walk::<R, _>(board, side, list);
}

/// As [`captures`], but every route is listed, equal moves as often as they have routes.
pub(crate) fn captures_by_route<R: Ruleset>(
    board: &Board<R::Bits>,
    side: Side,
    list: &mut MoveList<R::Bits>,
) {
    list.moves.clear();
    list.best = 0;
    walk::<R, _>(board, side, &mut EveryRoute(list));
}

/// The capture routes of `side`: each with its landing squares in order, the last being `to`.
/// A square where a flying king passes between two pieces taken in one line is given as the
/// first square behind the piece taken.
#[must_use]
pub fn capture_routes<R: Ruleset>(
    board: &Board<R::Bits>,
    side: Side,
) -> Vec<(Move<R::Bits>, Vec<u8>)> {
    let mut routes = Routes {
        routes: Vec::new(),
        best: 0,
    };
    walk::<R, _>(board, side, &mut routes);
    routes.routes
}

/// True if `side` has a capture. Stops at the first jump found; a first jump always leads to a
/// complete capture, so no sequences are played.
#[inline]
#[must_use]
pub fn has_capture<R: Ruleset>(board: &Board<R::Bits>, side: Side) -> bool {
    if !men_that_jump::<R>(board, side).is_empty() {
        return true;
    }
    if R::RULES.king_range == KingRange::Short {
        return !kings_that_may_jump::<R>(board, side).is_empty();
    }
    let walker = Walker::<R>::new(board, side);
    let occupied = board.occupied();
    for from in board.kings[side as usize].squares() {
        let blockers = occupied ^ R::Bits::bit(from);
        each_direction!(R::RULES.king_capture, d => {
            if walker.king_jump(from, d, blockers).is_some() {
                return true;
            }
        });
    }
    false
}

/// The pieces among `movers` that can jump to the second square in one of the directions `dirs`.
macro_rules! jumpers {
    ($grid:expr, $dirs:expr, $movers:expr, $victims:expr, $empty:expr) => {{
        let mut found = R::Bits::EMPTY;
        each_direction!($dirs, d => {
            let over = $grid.stepped(opposite(d), $empty) & $victims;
            found |= $grid.stepped(opposite(d), over);
        });
        found & $movers
    }};
}

/// The men of `side` that have a capture.
#[inline(always)]
fn men_that_jump<R: Ruleset>(board: &Board<R::Bits>, side: Side) -> R::Bits {
    let (grid, them) = (R::RULES.geometry.grid(), side.other());
    let men = board.men[side as usize];
    let empty = R::Bits::from_wide(R::RULES.geometry.all()) & !board.occupied();
    let victims = if R::RULES.man_takes_king {
        board.pieces(them)
    } else {
        board.men[them as usize]
    };
    match side {
        Side::White => {
            let dirs = const { R::RULES.man_capture_of(Side::White) };
            jumpers!(grid, dirs, men, victims, empty)
        }
        Side::Black => {
            let dirs = const { R::RULES.man_capture_of(Side::Black) };
            jumpers!(grid, dirs, men, victims, empty)
        }
    }
}

/// The kings of `side` that have a capture; all of them if they are flying kings.
#[inline(always)]
fn kings_that_may_jump<R: Ruleset>(board: &Board<R::Bits>, side: Side) -> R::Bits {
    let kings = board.kings[side as usize];
    if R::RULES.king_range == KingRange::Flying {
        return kings;
    }
    let grid = R::RULES.geometry.grid();
    let victims = board.pieces(side.other());
    let empty = R::Bits::from_wide(R::RULES.geometry.all()) & !board.occupied();
    jumpers!(grid, R::RULES.king_capture, kings, victims, empty)
}

/// The number of quiet moves of `side`, as [`quiet`] lists them without a king run.
pub(crate) fn count_quiet<R: Ruleset>(board: &Board<R::Bits>, side: Side) -> u64 {
    let grid = R::RULES.geometry.grid();
    let occupied = board.occupied();
    let men = board.men[side as usize];
    let mut n = 0;
    let dirs = R::RULES.man_quiet_of(side);
    each_direction!(dirs, d => {
        n += (grid.stepped(d, men) & !occupied).count();
    });
    for from in board.kings[side as usize].squares() {
        n += king_targets::<R>(grid, occupied, from).count();
    }
    n.into()
}

/// Appends the quiet moves of `side`, without asking whether it must capture.
#[inline]
pub fn quiet<R: Ruleset>(
    board: &Board<R::Bits>,
    side: Side,
    run: Run,
    list: &mut MoveList<R::Bits>,
) {
    let us = side as usize;
    let occupied = board.occupied();
    let crown = R::Bits::from_wide(R::RULES.crown_of(side));
    let grid = R::RULES.geometry.grid();
    let start = list.moves.len();
    let dirs = const {
        [
            R::RULES.man_quiet_of(Side::White),
            R::RULES.man_quiet_of(Side::Black),
        ]
    };
    for from in board.men[us].squares() {
        for d in dirs[us].directions() {
            let to = grid.step[d][from as usize];
            if to != OFF && !occupied.has(to) {
                list.moves.push(Move {
                    captured: R::Bits::EMPTY,
                    from,
                    to,
                    promotes: crown.has(to),
                });
            }
        }
    }
    for from in board.kings[us].squares() {
        for to in king_targets::<R>(grid, occupied, from).squares() {
            list.moves.push(Move {
                captured: R::Bits::EMPTY,
                from,
                to,
                promotes: false,
            });
        }
    }
    if let Some(scope) = R::RULES.king_run
        && run.is_held()
    {
        let held = run.square;
        let others = list.moves[start..].iter().any(|m| m.from != held);
        let banned = match scope {
            KingRun::WhileOthersCanMove => others,
            KingRun::WhileMenRemain => !board.men[us].is_empty(),
        };
        if banned {
            let mut i = 0;
            list.moves.retain(|m| {
                i += 1;
                i <= start || m.from != held
            });
        }
    }
}

/// The squares to which a king on `from` can make a quiet move.
#[inline]
#[must_use]
pub fn king_targets<R: Ruleset>(grid: &Grid, occupied: R::Bits, from: u8) -> R::Bits {
    let mut targets = R::Bits::EMPTY;
    each_direction!(R::RULES.king_quiet, d => {
        targets |= match R::RULES.king_range {
            KingRange::Short => {
                let to = grid.step[d][from as usize];
                if to == OFF {
                    R::Bits::EMPTY
                } else {
                    R::Bits::bit(to) & !occupied
                }
            }
            KingRange::Flying => open_ray::<R::Bits>(grid, occupied, from, d),
        };
    });
    targets
}

/// The first piece from `from` in direction `d`.
#[inline(always)]
fn first_blocker<W: Bits>(grid: &Grid, occupied: W, from: u8, d: usize) -> Option<u8> {
    let hit = W::from_wide(grid.ray[d][from as usize]) & occupied;
    if hit.is_empty() {
        None
    } else if crate::geometry::ascending(d) {
        Some(hit.first())
    } else {
        Some(hit.last())
    }
}

/// The empty squares from `from` in direction `d` up to the first piece.
#[inline(always)]
fn open_ray<W: Bits>(grid: &Grid, occupied: W, from: u8, d: usize) -> W {
    let ray = W::from_wide(grid.ray[d][from as usize]);
    match first_blocker(grid, occupied, from, d) {
        None => ray,
        Some(b) => ray & !W::from_wide(grid.ray[d][b as usize]) & !W::bit(b),
    }
}

fn walk<R: Ruleset, L: Leaf<R::Bits>>(board: &Board<R::Bits>, side: Side, sink: &mut L) {
    let men = men_that_jump::<R>(board, side);
    let kings = kings_that_may_jump::<R>(board, side);
    if men.is_empty() && kings.is_empty() {
        return;
    }
    let mut w = Walker::<R>::new(board, side);
    let occupied = board.occupied();
    for from in men.squares() {
        w.start(from, false);
        w.man(sink, from, None, occupied ^ R::Bits::bit(from));
    }
    for from in kings.squares() {
        w.start(from, true);
        w.king(sink, from, None, occupied ^ R::Bits::bit(from));
    }
}

/// The state of one capture sequence.
struct Walker<R: Ruleset> {
    grid: &'static Grid,
    side: Side,
    crown: R::Bits,
    /// Enemy pieces that can still be jumped.
    targets: R::Bits,
    enemy_kings: R::Bits,
    captured: R::Bits,
    from: u8,
    by_king: bool,
    /// Whether the piece became a king on the way.
    crowned: bool,
    /// Precedence of what has been taken, in the layout of [`Self::rank`].
    taken: u64,
    depth: usize,
    path: [u8; MAX_JUMPS],
}

/// Marks a rank as that of a capture, so that ranks are never zero.
const CAPTURE: u64 = 1 << 63;

impl<R: Ruleset> Walker<R> {
    #[inline(always)]
    fn new(board: &Board<R::Bits>, side: Side) -> Self {
        let them = side.other();
        Self {
            grid: R::RULES.geometry.grid(),
            side,
            crown: R::Bits::from_wide(R::RULES.crown_of(side)),
            targets: board.pieces(them),
            enemy_kings: board.kings[them as usize],
            captured: R::Bits::EMPTY,
            from: 0,
            by_king: false,
            crowned: false,
            taken: 0,
            depth: 0,
            path: [0; MAX_JUMPS],
        }
    }

    #[inline(always)]
    fn start(&mut self, from: u8, king: bool) {
        self.from = from;
        self.by_king = king;
    }

    /// The precedence of the sequence so far: criteria from the most significant down. Seven
    /// bits for a number of pieces, fourteen for a value, 32 for the order in which kings were taken.
    #[inline(always)]
    fn rank(&self) -> u64 {
        let mut rank = 1;
        for c in R::RULES.precedence {
            rank = match c {
                Criterion::Count => rank << 7 | (self.taken & 0x7f),
                Criterion::Value { man, king } => {
                    let kings = self.taken >> 8 & 0x7f;
                    let men = (self.taken & 0x7f) - kings;
                    rank << 14 | (men * u64::from(*man) + kings * u64::from(*king))
                }
                Criterion::ByKing => rank << 1 | u64::from(self.by_king),
                Criterion::KingsTaken => rank << 7 | (self.taken >> 8 & 0x7f),
                // Equal counts are guaranteed by the criteria before; the earliest capture is the
                // highest bit.
                Criterion::KingsEarliest => rank << 32 | (self.taken >> 16 & 0xffff_ffff),
            };
        }
        rank | CAPTURE
    }

    #[inline(always)]
    fn push(&mut self, victim: u8, landing: u8) -> u64 {
        let before = self.taken;
        if !R::RULES.precedence.is_empty() {
            let king = u64::from(self.enemy_kings.has(victim));
            let order = (before >> 16 & 0xffff_ffff) << 1 | king;
            self.taken = (order & 0xffff_ffff) << 16 | ((before & 0xffff) + (king << 8) + 1);
        }
        self.targets ^= R::Bits::bit(victim);
        self.captured |= R::Bits::bit(victim);
        self.path[self.depth] = landing;
        self.depth += 1;
        before
    }

    #[inline(always)]
    fn pop(&mut self, victim: u8, before: u64) {
        self.depth -= 1;
        self.taken = before;
        self.targets |= R::Bits::bit(victim);
        self.captured ^= R::Bits::bit(victim);
    }

    /// Pieces in the way after `victim` has been taken.
    #[inline(always)]
    fn blockers_after(occupied: R::Bits, victim: u8) -> R::Bits {
        match R::RULES.removal {
            Removal::Deferred => occupied,
            Removal::Immediate => occupied & !R::Bits::bit(victim),
        }
    }

    #[inline(always)]
    fn emit<L: Leaf<R::Bits>>(&self, sink: &mut L, to: u8, promotes: bool) {
        let m = Move {
            captured: self.captured,
            from: self.from,
            to,
            promotes,
        };
        sink.leaf(m, self.rank(), &self.path[..self.depth]);
    }

    /// The piece jumped and the landing square of a man on `at` in direction `d`.
    #[inline(always)]
    fn man_jump(&self, at: u8, d: usize, blockers: R::Bits) -> Option<(u8, u8)> {
        let victim = self.grid.step[d][at as usize];
        if victim == OFF || !self.targets.has(victim) {
            return None;
        }
        if !R::RULES.man_takes_king && self.enemy_kings.has(victim) {
            return None;
        }
        let to = self.grid.step[d][victim as usize];
        (to != OFF && !blockers.has(to)).then_some((victim, to))
    }

    /// The piece jumped and the nearest landing square of a king on `at` in direction `d`.
    #[inline(always)]
    fn king_jump(&self, at: u8, d: usize, blockers: R::Bits) -> Option<(u8, u8)> {
        let victim = match R::RULES.king_range {
            KingRange::Short => self.grid.step[d][at as usize],
            KingRange::Flying => first_blocker(self.grid, blockers, at, d)?,
        };
        if victim == OFF || !self.targets.has(victim) {
            return None;
        }
        let to = self.grid.step[d][victim as usize];
        (to != OFF && !blockers.has(to)).then_some((victim, to))
    }

    /// Whether a sequence that came in direction `came` may go on in direction `d`.
    #[inline(always)]
    fn may_turn(came: Option<usize>, d: usize) -> bool {
        R::RULES.reversal || came != Some(opposite(d))
    }

    /// Follows all jumps of a man on `at`. Returns whether there is one.
    fn man<L: Leaf<R::Bits>>(
        &mut self,
        sink: &mut L,
        at: u8,
        came: Option<usize>,
        blockers: R::Bits,
    ) -> bool {
        let mut any = false;
        let dirs = const {
            [
                R::RULES.man_capture_of(Side::White),
                R::RULES.man_capture_of(Side::Black),
            ]
        };
        for d in dirs[self.side as usize].directions() {
            if !Self::may_turn(came, d) {
                continue;
            }
            let Some((victim, to)) = self.man_jump(at, d, blockers) else {
                continue;
            };
            any = true;
            let before = self.push(victim, to);
            let after = Self::blockers_after(blockers, victim);
            let on_crown = self.crown.has(to);
            match R::RULES.promotion {
                Promotion::EndsMove if on_crown => self.emit(sink, to, true),
                Promotion::InPassing if on_crown => {
                    self.crowned = true;
                    if !self.king(sink, to, Some(d), after) {
                        self.emit(sink, to, true);
                    }
                    self.crowned = false;
                }
                _ => {
                    if !self.man(sink, to, Some(d), after) {
                        self.emit(sink, to, on_crown);
                    }
                }
            }
            self.pop(victim, before);
        }
        any
    }

    /// Follows all jumps of a king on `at` but the one straight on, which
    /// [`Self::land`] follows once for all landing squares. Returns whether there is one.
    fn king<L: Leaf<R::Bits>>(
        &mut self,
        sink: &mut L,
        at: u8,
        came: Option<usize>,
        blockers: R::Bits,
    ) -> bool {
        let mut any = false;
        for d in R::RULES.king_capture.directions() {
            if !Self::may_turn(came, d) {
                continue;
            }
            let Some((victim, to)) = self.king_jump(at, d, blockers) else {
                continue;
            };
            any = true;
            self.land(sink, victim, to, d, blockers);
        }
        any
    }

    /// Takes `victim` in direction `d` and goes on from all landing squares, the nearest of which
    /// is `to`.
    fn land<L: Leaf<R::Bits>>(
        &mut self,
        sink: &mut L,
        victim: u8,
        to: u8,
        d: usize,
        blockers: R::Bits,
    ) {
        let before = self.push(victim, to);
        let blockers = Self::blockers_after(blockers, victim);
        if R::RULES.king_range == KingRange::Short {
            if !self.king(sink, to, Some(d), blockers) {
                self.emit(sink, to, self.crowned);
            }
            self.pop(victim, before);
            return;
        }
        let straight = self.king_jump(to, d, blockers);
        let landings = R::Bits::bit(to) | open_ray::<R::Bits>(self.grid, blockers, to, d);
        let mut stops = R::Bits::EMPTY;
        let mut turned = false;
        for s in landings.squares() {
            self.path[self.depth - 1] = s;
            let mut any = false;
            for t in R::RULES.king_capture.directions() {
                if t == d || !Self::may_turn(Some(d), t) {
                    continue;
                }
                if let Some((next, land)) = self.king_jump(s, t, blockers) {
                    any = true;
                    self.land(sink, next, land, t, blockers);
                }
            }
            if any {
                turned = true;
            } else {
                stops |= R::Bits::bit(s);
            }
        }
        if let Some((next, land)) = straight {
            self.path[self.depth - 1] = to;
            self.land(sink, next, land, d, blockers);
        } else if !(R::RULES.land_to_continue && turned) {
            for s in stops.squares() {
                self.path[self.depth - 1] = s;
                self.emit(sink, s, self.crowned);
            }
        }
        self.pop(victim, before);
    }
}
