//! One unit: the king space of a group of men placements, with either side to move.
//!
//! A *slot* is one placement with one side to move. A *node* is a position of the unit: its slot
//! and its king rank. In a symmetric material only White is ever to move: the position after a
//! move is turned, and belongs to the slot of the turned placement.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering::Relaxed};

use dambase_rules::geometry::{OFF, dir};
use dambase_rules::movegen::{captures, king_targets};
use dambase_rules::position::winner_without_moves;
use dambase_rules::{Bits, Board, Move, MoveList, Ruleset, Side};
use dambase_tables::Index;
use rayon::prelude::*;

use super::children::{Children, before, better, is_win, over};
use super::output::Output;
use super::space::{MenSets, combinations};
use crate::{Control, Error};

/// Most moves inside a unit that a counter can count.
const MOST_MOVES: usize = 240;
/// No slot.
const NONE: u32 = u32::MAX;

/// A man's step out of the unit.
pub(crate) struct Step<W> {
    m: Move<W>,
    to: W,
    /// The slice, the first index and the men of the placement it leads to; turned in a symmetric
    /// material. Meaningless for a crowning.
    slice: usize,
    base: u64,
    men: W,
}

/// A man's step inside the unit (sideways), by the side to move of the slot.
pub(crate) struct Sidestep<W> {
    /// The square that has to be free.
    pub(crate) to: W,
    /// The slot with the man there and the same side to move.
    pub(crate) slot: u32,
}

/// One placement of the men with one side to move.
pub(crate) struct Slot<W> {
    men: [W; 2],
    /// Squares of all men.
    pub(crate) all: W,
    pub(crate) side: Side,
    /// The slot of the positions before and after a king's move.
    pub(crate) partner: u32,
    slice: usize,
    base: u64,
    steps: Vec<Step<W>>,
    pub(crate) sidesteps: Vec<Sidestep<W>>,
    free: Free,
}

/// The squares without men, lowest first.
#[derive(Clone, Copy)]
struct Free {
    squares: [u8; 72],
    count: usize,
}

impl Free {
    fn new<W: Bits>(set: W) -> Self {
        let mut free = Self {
            squares: [0; 72],
            count: 0,
        };
        for s in set.squares() {
            free.squares[free.count] = s;
            free.count += 1;
        }
        free
    }
    /// The squares of a packed combination.
    #[inline(always)]
    fn set<W: Bits>(&self, mut packed: u64, k: u8) -> W {
        let mut set = W::EMPTY;
        for _ in 0..k {
            set |= W::bit(self.squares[(packed & 0xff) as usize]);
            packed >>= 8;
        }
        set
    }
}

/// What is known of a position before any move inside the unit is looked at.
enum Exit {
    /// The side to move must capture, and this is the value.
    Capture(u16),
    /// The best way out of the unit is a draw or a win.
    Best(u16),
    /// All ways out lose, the best as the code says; none if there is no way out.
    Loses { code: Option<u16>, inside: usize },
}

/// States of nodes: up to [`MOST_MOVES`] moves inside that are not known to lose, or one of
/// these.
pub(crate) mod state {
    /// Not lost: some way out draws.
    pub(crate) const SAFE: u8 = 250;
    /// A capture that draws, or (with distances) any capture: not to be touched.
    pub(crate) const FIXED: u8 = 251;
    /// Won from the start, and not yet told to the positions before.
    pub(crate) const NEW_WIN: u8 = 252;
    /// Lost from the start, and not yet told to the positions before.
    pub(crate) const NEW_LOSS: u8 = 253;
    /// Won.
    pub(crate) const WIN: u8 = 254;
    /// Lost.
    pub(crate) const LOSS: u8 = 255;
}

/// The code of a node without a value, with distances.
pub(crate) const OPEN: u16 = u16::MAX;

/// Kinds of events that are known from the start, with distances.
pub(crate) const EVENT_WIN: usize = 0;
pub(crate) const EVENT_LOSS: usize = 1;
/// All ways out lose, the best of them in so many plies.
pub(crate) const EVENT_EXITS: usize = 2;

/// What one thread needs.
pub(crate) struct Worker<R: Ruleset> {
    list: MoveList<R::Bits>,
    pub(crate) stack: Vec<u32>,
    /// Nodes by `3 * plies + kind`.
    pub(crate) events: Vec<Vec<u32>>,
}

impl<R: Ruleset> Default for Worker<R> {
    fn default() -> Self {
        Self {
            list: MoveList::new(),
            stack: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<R: Ruleset> Worker<R> {
    fn event(&mut self, code: u16, kind: usize, node: usize) {
        let i = super::children::plies(code) * 3 + kind;
        while self.events.len() <= i {
            self.events.push(Vec::new());
        }
        self.events[i].push(node as u32);
    }
}

/// The memory of one unit, used again for the next.
pub(crate) struct Arena<R: Ruleset> {
    slots: Vec<Slot<R::Bits>>,
    states: Vec<AtomicU8>,
    codes: Vec<AtomicU16>,
    worker: Worker<R>,
}

impl<R: Ruleset> Default for Arena<R> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            states: Vec::new(),
            codes: Vec::new(),
            worker: Worker::default(),
        }
    }
}

/// The nodes of one unit.
pub(crate) struct Nodes<'a, R: Ruleset> {
    pub(crate) slots: &'a [Slot<R::Bits>],
    pub(crate) states: &'a [AtomicU8],
    pub(crate) codes: &'a [AtomicU16],
}

/// A material in work.
pub(crate) struct Task<'a, R: Ruleset, const D: bool> {
    pub(crate) index: Index<R::Bits>,
    symmetric: bool,
    children: Vec<Children<'a, R, D>>,
    pub(crate) white: MenSets<R::Bits>,
    /// Black's placements, turned to look like White's.
    pub(crate) black: MenSets<R::Bits>,
    out: Output<D>,
    ctl: &'a Control,
    /// Kings of White and Black.
    kings: [u8; 2],
    /// Placements of the white kings among what the black ones leave, and of the black kings.
    lists: [Vec<u64>; 2],
    /// Placements of all kings.
    space: usize,
}

impl<'a, R: Ruleset, const D: bool> Task<'a, R, D> {
    /// None if a unit is too large.
    pub(crate) fn new(
        index: Index<R::Bits>,
        children: Vec<Children<'a, R, D>>,
        white: MenSets<R::Bits>,
        black: MenSets<R::Bits>,
        out: Output<D>,
        ctl: &'a Control,
    ) -> Option<Self> {
        let material = index.material();
        let kings = material.kings;
        let g = R::RULES.geometry;
        let most_targets = (0..g.squares() as u8)
            .map(|s| king_targets::<R>(g.grid(), R::Bits::EMPTY, s).count() as usize)
            .max()?;
        let men = material.men.into_iter().max()?;
        let most = usize::from(kings.into_iter().max()?) * most_targets + 2 * usize::from(men);
        let space = usize::try_from(index.king_space()).ok()?;
        let free = g.squares() - usize::from(material.all_men());
        let [wk, bk] = kings.map(usize::from);
        if most > MOST_MOVES || wk > 8 || bk > 8 || space > NONE as usize {
            return None;
        }
        Some(Self {
            symmetric: material.is_symmetric(),
            index,
            children,
            white,
            black,
            out,
            ctl,
            kings,
            lists: [combinations(free - bk, wk), combinations(free, bk)],
            space,
        })
    }

    pub(crate) fn finish(self) -> crate::Solved {
        let material = self.index.material();
        self.out.finish(material)
    }

    /// Positions of a typical unit.
    pub(crate) fn unit_positions(&self) -> usize {
        self.space * self.children.len()
    }

    /// Solves one unit; with all threads if `P`.
    pub(crate) fn solve<const P: bool>(
        &self,
        white: usize,
        black: usize,
        arena: &mut Arena<R>,
    ) -> Result<(), Error> {
        self.ctl.check()?;
        let slots = self.lay_out(white, black, &mut arena.slots);
        let slots = &arena.slots[..slots];
        let n = slots.len() * self.space;
        assert!(n < NONE as usize, "unit of {n} positions");
        if arena.states.len() < n {
            arena.states.resize_with(n, AtomicU8::default);
        }
        if D && arena.codes.len() < n {
            arena.codes.resize_with(n, AtomicU16::default);
        }
        let nodes = Nodes {
            slots,
            states: &arena.states[..n],
            codes: &arena.codes[..if D { n } else { 0 }],
        };
        let mut workers = Vec::new();
        let blacks = self.lists[1].len();
        if P {
            // Slices of the black kings' placements, small enough to stop in good time.
            let part = (CHUNK_NODES / self.lists[0].len()).max(1);
            let parts: Vec<_> = (0..slots.len())
                .flat_map(|slot| (0..blacks).step_by(part).map(move |b| (slot, b)))
                .collect();
            workers = parts
                .par_iter()
                .map(|&(slot, b)| {
                    let mut worker = Worker::default();
                    if !self.ctl.is_stopped() {
                        self.init(&nodes, slot, b..(b + part).min(blacks), &mut worker);
                    }
                    worker
                })
                .collect();
            self.ctl.check()?;
        } else {
            for slot in 0..slots.len() {
                self.init(&nodes, slot, 0..blacks, &mut arena.worker);
            }
            workers.push(std::mem::take(&mut arena.worker));
        }
        if D {
            self.spread_by_ply::<P>(&nodes, &mut workers, self.ctl)?;
        } else {
            self.spread::<P>(&nodes, &mut workers, self.ctl)?;
        }
        if !P {
            arena.worker = workers.pop().unwrap_or_default();
        }
        for (i, slot) in slots.iter().enumerate() {
            let range = i * self.space..(i + 1) * self.space;
            if D {
                let codes = nodes.codes[range].iter().map(|c| match c.load(Relaxed) {
                    OPEN => 0,
                    code => code,
                });
                self.out.set_all(slot.slice, slot.base, codes);
            } else {
                let codes = nodes.states[range].iter().map(|s| match s.load(Relaxed) {
                    state::WIN => 1,
                    state::LOSS => 2,
                    _ => 0,
                });
                self.out.set_all(slot.slice, slot.base, codes);
            }
        }
        self.ctl.add(n as u64);
        Ok(())
    }

    /// Fills `slots` with those of a unit and returns their number.
    fn lay_out(&self, white: usize, black: usize, slots: &mut Vec<Slot<R::Bits>>) -> usize {
        let g = R::RULES.geometry;
        let turn = |set: R::Bits| R::Bits::from_wide(g.rotate_set(set.wide()));
        let (wg, bg) = (
            self.white.groups[white].clone(),
            self.black.groups[black].clone(),
        );
        let mut used = 0;
        // Where the slots of a placement are, by its place in the two groups; a second table for
        // the turned placements of a symmetric material.
        let (wn, bn) = (wg.len(), bg.len());
        let mut map = vec![NONE; if wn * bn > 1 { 2 * wn * bn } else { 0 }];
        for (i, w) in wg.clone().enumerate() {
            for (j, b) in bg.clone().enumerate() {
                let men = [self.white.sets[w], turn(self.black.sets[b])];
                if !(men[0] & men[1]).is_empty() {
                    continue;
                }
                if !map.is_empty() {
                    map[i * bn + j] = used as u32;
                }
                if !self.symmetric {
                    self.add(slots, &mut used, men, Side::White, 1);
                    self.add(slots, &mut used, men, Side::Black, -1);
                } else if white != black {
                    self.add(slots, &mut used, men, Side::White, 1);
                    let men = [self.white.sets[b], turn(self.black.sets[w])];
                    self.add(slots, &mut used, men, Side::White, -1);
                } else {
                    self.add(slots, &mut used, men, Side::White, 0);
                }
            }
        }
        if self.symmetric && white == black && !map.is_empty() {
            for i in 0..wn {
                for j in 0..bn {
                    if map[i * bn + j] != NONE {
                        slots[map[i * bn + j] as usize].partner = map[j * bn + i];
                    }
                }
            }
        }
        if R::RULES.men_move_sideways() {
            self.link(&mut slots[..used], &map, wg, bg, white == black);
        }
        used
    }

    /// Adds a slot whose partner is `partner` places further on.
    fn add(
        &self,
        slots: &mut Vec<Slot<R::Bits>>,
        used: &mut usize,
        men: [R::Bits; 2],
        side: Side,
        partner: i32,
    ) {
        let g = R::RULES.geometry;
        let grid = g.grid();
        let crown = R::Bits::from_wide(R::RULES.crown_of(side));
        let all = men[0] | men[1];
        let (mut steps, mut sidesteps) = match slots.get_mut(*used) {
            Some(old) => (
                std::mem::take(&mut old.steps),
                std::mem::take(&mut old.sidesteps),
            ),
            None => (Vec::new(), Vec::new()),
        };
        steps.clear();
        sidesteps.clear();
        for from in men[side as usize].squares() {
            for d in 0..8 {
                let to = grid.step[d][from as usize];
                if !R::RULES.man_quiet_of(side).has(d) || to == OFF || all.has(to) {
                    continue;
                }
                if d == dir::E || d == dir::W {
                    // The slot is found later.
                    sidesteps.push(Sidestep {
                        to: R::Bits::bit(to),
                        slot: u32::from(from),
                    });
                    continue;
                }
                let m = Move {
                    captured: R::Bits::EMPTY,
                    from,
                    to,
                    promotes: crown.has(to),
                };
                let mut step = Step {
                    m,
                    to: R::Bits::bit(to),
                    slice: 0,
                    base: 0,
                    men: R::Bits::EMPTY,
                };
                if !m.promotes {
                    let board = Board {
                        men,
                        kings: [R::Bits::EMPTY; 2],
                    };
                    let mut after = board.after(side, &m);
                    if self.symmetric {
                        after = after.mirrored(g);
                    } else {
                        step.slice = side.other() as usize;
                    }
                    step.base = self.index.men_rank(after.men) * self.index.king_space();
                    step.men = after.men[0] | after.men[1];
                }
                steps.push(step);
            }
        }
        let slot = Slot {
            men,
            all,
            side,
            partner: (*used as i32 + partner) as u32,
            slice: if self.symmetric { 0 } else { side as usize },
            base: self.index.men_rank(men) * self.index.king_space(),
            steps,
            sidesteps,
            free: Free::new(R::Bits::from_wide(g.all()) & !all),
        };
        if let Some(old) = slots.get_mut(*used) {
            *old = slot;
        } else {
            slots.push(slot);
        }
        *used += 1;
    }

    /// Finds the slots that sidesteps lead to.
    fn link(
        &self,
        slots: &mut [Slot<R::Bits>],
        map: &[u32],
        wg: std::ops::Range<usize>,
        bg: std::ops::Range<usize>,
        same: bool,
    ) {
        let g = R::RULES.geometry;
        let turn = |set: R::Bits| R::Bits::from_wide(g.rotate_set(set.wide()));
        let bn = bg.len();
        let mut slot = 0;
        while slot < slots.len() {
            let s = &slots[slot];
            let (men, side) = (s.men, s.side);
            // The second slot of a pair in a symmetric material holds the groups the other way
            // round: its white men are in Black's group.
            let turned = self.symmetric && !same && slot % 2 == 1;
            for k in 0..slots[slot].sidesteps.len() {
                let step = &slots[slot].sidesteps[k];
                let from = R::Bits::bit(step.slot as u8);
                let mut after = men;
                after[side as usize] ^= from | step.to;
                // As the map knows them: White's men, and Black's turned to look like White's.
                let (w, b) = if turned {
                    (turn(after[1]), after[0])
                } else {
                    (after[0], turn(after[1]))
                };
                let i = self.white.sets[wg.clone()].binary_search(&w);
                let j = self.black.sets[bg.clone()].binary_search(&b);
                let (Ok(i), Ok(j)) = (i, j) else {
                    unreachable!("a sidestep leaves the group");
                };
                let first = map.get(i * bn + j).copied().unwrap_or(slot as u32 & !1);
                let offset = if self.symmetric && same {
                    0
                } else {
                    slot as u32 % 2
                };
                slots[slot].sidesteps[k].slot = first + offset;
            }
            slot += 1;
        }
    }

    /// Looks at all ways out of a slot's positions with some of the black kings' placements.
    fn init(
        &self,
        nodes: &Nodes<'_, R>,
        slot: usize,
        blacks: std::ops::Range<usize>,
        worker: &mut Worker<R>,
    ) {
        let s = &nodes.slots[slot];
        let whites = &self.lists[0];
        let mut node = slot * self.space + blacks.start * whites.len();
        let all = R::Bits::from_wide(R::RULES.geometry.all()) & !s.all;
        for &b in &self.lists[1][blacks] {
            let black: R::Bits = s.free.set(b, self.kings[1]);
            let free = if self.kings[0] == 0 || self.kings[1] == 0 {
                s.free
            } else {
                Free::new(all & !black)
            };
            for &w in whites {
                let board = Board {
                    men: s.men,
                    kings: [free.set(w, self.kings[0]), black],
                };
                let exit = self.exit(s, &board, &mut worker.list);
                if D {
                    let counter = self.note_distance(&exit, s.side, node, worker);
                    nodes.states[node].store(counter, Relaxed);
                    nodes.codes[node].store(OPEN, Relaxed);
                } else {
                    nodes.states[node].store(Self::first_state(&exit, s.side), Relaxed);
                }
                node += 1;
            }
        }
    }

    /// The first state of a node, without distances.
    #[inline(always)]
    fn first_state(exit: &Exit, side: Side) -> u8 {
        let of = |code, other| match code {
            1 => state::NEW_WIN,
            2 => state::NEW_LOSS,
            _ => other,
        };
        match *exit {
            Exit::Capture(code) => of(code, state::FIXED),
            Exit::Best(code) => of(code, state::SAFE),
            Exit::Loses { inside, .. } if inside > 0 => inside as u8,
            Exit::Loses { code: Some(_), .. } => state::NEW_LOSS,
            Exit::Loses { code: None, .. } => of(
                over(winner_without_moves(&R::RULES, side), side),
                state::FIXED,
            ),
        }
    }

    /// Notes what happens to a node in how many plies, and returns its counter.
    #[inline(always)]
    fn note_distance(&self, exit: &Exit, side: Side, node: usize, worker: &mut Worker<R>) -> u8 {
        let mut note = |code: u16| {
            if code != 0 {
                let kind = if is_win(code) { EVENT_WIN } else { EVENT_LOSS };
                worker.event(code, kind, node);
            }
        };
        match *exit {
            Exit::Capture(code) => {
                note(code);
                state::FIXED
            }
            Exit::Best(code) => {
                note(code);
                state::SAFE
            }
            Exit::Loses { code: None, inside } => {
                if inside == 0 {
                    note(over(winner_without_moves(&R::RULES, side), side));
                    return state::FIXED;
                }
                inside as u8
            }
            Exit::Loses {
                code: Some(code),
                inside,
            } => {
                worker.event(code, EVENT_EXITS, node);
                inside as u8 + 1
            }
        }
    }

    /// Looks at the captures and steps of one position, and counts the moves inside the unit.
    #[inline(always)]
    fn exit(
        &self,
        slot: &Slot<R::Bits>,
        board: &Board<R::Bits>,
        list: &mut MoveList<R::Bits>,
    ) -> Exit {
        let children = &self.children[slot.slice];
        captures::<R>(board, slot.side, list);
        if !list.is_empty() {
            return Exit::Capture(children.capture(board, list));
        }
        let occupied = board.occupied();
        let mut best: Option<u16> = None;
        let mut kings = None;
        for step in &slot.steps {
            if !(step.to & occupied).is_empty() {
                continue;
            }
            let child = if step.m.promotes {
                children.value(board, &step.m)
            } else {
                let kings = *kings.get_or_insert_with(|| {
                    if self.symmetric {
                        board.mirrored(R::RULES.geometry).kings
                    } else {
                        board.kings
                    }
                });
                let rank = self.index.king_rank(step.men, kings);
                self.out.get(step.slice, step.base + rank)
            };
            let code = before::<D>(child);
            if !D && is_win(code) {
                return Exit::Best(code);
            }
            best = Some(best.map_or(code, |b| better(b, code)));
        }
        if !D && best == Some(0) {
            return Exit::Best(0);
        }
        let grid = R::RULES.geometry.grid();
        let mut inside = 0;
        for from in board.kings[slot.side as usize].squares() {
            inside += king_targets::<R>(grid, occupied, from).count() as usize;
        }
        for step in &slot.sidesteps {
            inside += usize::from((step.to & occupied).is_empty());
        }
        match best {
            Some(code) if code == 0 || is_win(code) => Exit::Best(code),
            code => Exit::Loses { code, inside },
        }
    }

    /// The kings of a node.
    #[inline(always)]
    fn kings(&self, slot: &Slot<R::Bits>, rank: usize) -> [R::Bits; 2] {
        let [wk, bk] = self.kings;
        if bk == 0 {
            return [slot.free.set(self.lists[0][rank], wk), R::Bits::EMPTY];
        }
        if wk == 0 {
            return [R::Bits::EMPTY, slot.free.set(self.lists[1][rank], bk)];
        }
        let whites = self.lists[0].len() as u32;
        let (b, w) = (rank as u32 / whites, rank as u32 % whites);
        let blacks = self.lists[1][b as usize];
        let mut black = R::Bits::EMPTY;
        let mut white = R::Bits::EMPTY;
        let mut packed = blacks;
        for _ in 0..bk {
            black |= R::Bits::bit(slot.free.squares[(packed & 0xff) as usize]);
            packed >>= 8;
        }
        let mut packed = self.lists[0][w as usize];
        for _ in 0..wk {
            // Counted among what Black's kings leave.
            let mut i = packed & 0xff;
            let mut above = blacks;
            for _ in 0..bk {
                i += u64::from(i >= above & 0xff);
                above >>= 8;
            }
            white |= R::Bits::bit(slot.free.squares[i as usize]);
            packed >>= 8;
        }
        [white, black]
    }

    /// Calls `f` with every node from which a move inside the unit leads to `node`.
    #[inline(always)]
    pub(crate) fn predecessors(
        &self,
        slots: &[Slot<R::Bits>],
        node: u32,
        mut f: impl FnMut(usize),
    ) {
        let (slot, rank) = (node / self.space as u32, node % self.space as u32);
        let slot = &slots[slot as usize];
        let partner = &slots[slot.partner as usize];
        let mut kings = self.kings(slot, rank as usize);
        if self.symmetric {
            let board = Board {
                men: [R::Bits::EMPTY; 2],
                kings,
            };
            kings = board.mirrored(R::RULES.geometry).kings;
        }
        let us = partner.side as usize;
        let occupied = partner.all | kings[0] | kings[1];
        let base = slot.partner as usize * self.space;
        let grid = R::RULES.geometry.grid();
        for from in kings[us].squares() {
            let mut before = kings;
            let others = kings[us] ^ R::Bits::bit(from);
            for to in king_targets::<R>(grid, occupied, from).squares() {
                before[us] = others | R::Bits::bit(to);
                f(base + self.index.king_rank(partner.all, before) as usize);
            }
        }
        for step in &partner.sidesteps {
            if (step.to & occupied).is_empty() {
                let rank = self.index.king_rank(slots[step.slot as usize].all, kings);
                f(step.slot as usize * self.space + rank as usize);
            }
        }
    }
}

/// Nodes that a thread looks at before it asks for more.
pub(crate) const CHUNK_NODES: usize = 1 << 15;
