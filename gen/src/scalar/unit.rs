//! One unit: the king space of a group of men placements, with either side to move.
//!
//! A *slot* is one placement with one side to move. A *node* is a position of the unit: its slot
//! and its king rank. In a symmetric material only White is ever to move: the position after a
//! move is turned, and belongs to the slot of the turned placement.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering::Relaxed};

use dambase_rules::movegen::captures;
use dambase_rules::position::winner_without_moves;
use dambase_rules::{Bits, Board, MoveList, Ruleset, Side};
use dambase_tables::Index;

use super::children::{Children, before, better, is_win, over};
use super::kings::Kings;
use super::layout::Slot;
use super::output::Output;
use super::reach::Reach;
use super::space::MenSets;
use crate::{Control, Error, parallel};

/// Most moves inside a unit that a counter can count.
const MOST_MOVES: usize = 240;
/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

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
pub(crate) struct Worker<W: Bits> {
    list: MoveList<W>,
    pub(crate) stack: Vec<u32>,
    pub(crate) before: Vec<u32>,
    /// Nodes by `3 * plies + kind`.
    pub(crate) events: Vec<Vec<u32>>,
}

impl<W: Bits> Default for Worker<W> {
    fn default() -> Self {
        Self {
            list: MoveList::new(),
            stack: Vec::new(),
            before: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<W: Bits> Worker<W> {
    fn event(&mut self, code: u16, kind: usize, node: usize) {
        let i = super::children::plies(code) * 3 + kind;
        while self.events.len() <= i {
            self.events.push(Vec::new());
        }
        self.events[i].push(node as u32);
    }
}

/// The memory of one unit, used again for the next.
pub(crate) struct Arena<W: Bits> {
    slots: Vec<Slot<W>>,
    states: Vec<AtomicU8>,
    codes: Vec<AtomicU16>,
    worker: Worker<W>,
}

impl<W: Bits> Default for Arena<W> {
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
pub(crate) struct Nodes<'a, W: Bits> {
    pub(crate) slots: &'a [Slot<W>],
    pub(crate) states: &'a [AtomicU8],
    pub(crate) codes: &'a [AtomicU16],
}

/// A material in work.
pub(crate) struct Task<'a, R: Ruleset, const D: bool> {
    pub(crate) index: Index<R::Bits>,
    pub(crate) symmetric: bool,
    children: Vec<Children<'a, R, D>>,
    pub(crate) white: MenSets<R::Bits>,
    /// Black's placements, turned to look like White's.
    pub(crate) black: MenSets<R::Bits>,
    out: Output<D>,
    ctl: &'a Control,
    kings: Kings,
    pub(crate) reach: Reach<R>,
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
        let reach = Reach::<R>::new();
        let squares = 0..g.squares() as u8;
        let targets = squares.map(|s| reach.targets(R::Bits::EMPTY, s).count() as usize);
        let most_targets = targets.max()?;
        let men = material.men.into_iter().max()?;
        let most = usize::from(kings.into_iter().max()?) * most_targets + 2 * usize::from(men);
        let free = g.squares() - usize::from(material.all_men());
        if most > MOST_MOVES {
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
            kings: Kings::new(kings, free)?,
            reach,
        })
    }

    pub(crate) fn finish(self) -> crate::Solved {
        let material = self.index.material();
        self.out.finish(material)
    }

    /// Positions of a typical unit.
    pub(crate) fn unit_positions(&self) -> usize {
        self.kings.space * self.children.len()
    }

    /// Solves one unit; with all threads if `shared`.
    pub(crate) fn solve(
        &self,
        white: usize,
        black: usize,
        shared: bool,
        arena: &mut Arena<R::Bits>,
    ) -> Result<(), Error> {
        self.ctl.check()?;
        let slots = self.lay_out(white, black, &mut arena.slots);
        if slots == 0 {
            return Ok(());
        }
        let slots = &arena.slots[..slots];
        let n = slots.len() * self.kings.space;
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
        let blacks = self.kings.lists[1].len();
        if shared {
            // Slices of the black kings' placements, small enough to stop in good time.
            let part = (CHUNK_NODES / self.kings.lists[0].len()).max(1);
            let parts: Vec<_> = (0..slots.len())
                .flat_map(|slot| (0..blacks).step_by(part).map(move |b| (slot, b)))
                .collect();
            workers = parallel::collect(parts.len(), &|i| {
                self.ctl.check()?;
                let (slot, b) = parts[i];
                let mut worker = Worker::default();
                self.init(&nodes, slot, b..(b + part).min(blacks), &mut worker);
                Ok(worker)
            })?;
        } else {
            for slot in 0..slots.len() {
                self.init(&nodes, slot, 0..blacks, &mut arena.worker);
            }
            workers.push(std::mem::take(&mut arena.worker));
        }
        if D {
            self.spread_by_ply(&nodes, shared, &mut workers, self.ctl)?;
        } else {
            self.spread(&nodes, shared, &mut workers[0], self.ctl)?;
        }
        if !shared {
            arena.worker = workers.pop().unwrap_or_default();
        }
        for (i, slot) in slots.iter().enumerate() {
            let range = i * self.kings.space..(i + 1) * self.kings.space;
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

    /// Looks at all ways out of a slot's positions with some of the black kings' placements.
    fn init(
        &self,
        nodes: &Nodes<'_, R::Bits>,
        slot: usize,
        blacks: std::ops::Range<usize>,
        worker: &mut Worker<R::Bits>,
    ) {
        let s = &nodes.slots[slot];
        let whites = &self.kings.lists[0];
        let mut node = slot * self.kings.space + blacks.start * whites.len();
        for &b in &self.kings.lists[1][blacks] {
            let black = self.kings.black(&s.free, b);
            for &w in whites {
                let board = Board {
                    men: s.men,
                    kings: [self.kings.white(&s.free, w, b), black],
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
    fn note_distance(
        &self,
        exit: &Exit,
        side: Side,
        node: usize,
        worker: &mut Worker<R::Bits>,
    ) -> u8 {
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
        if self.reach.may_capture(slot, board) {
            captures::<R>(board, slot.side, list);
            if !list.is_empty() {
                return Exit::Capture(children.capture(board, list));
            }
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
                let rank = self.kings.rank(&step.free, kings) as u64;
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
        let mut inside = 0;
        for from in board.kings[slot.side as usize].squares() {
            inside += self.reach.targets(occupied, from).count() as usize;
        }
        for step in &slot.sidesteps {
            inside += usize::from((step.to & occupied).is_empty());
        }
        match best {
            Some(code) if code == 0 || is_win(code) => Exit::Best(code),
            code => Exit::Loses { code, inside },
        }
    }

    /// Puts every node from which a move inside the unit leads to `node` into `before`.
    pub(crate) fn predecessors(&self, slots: &[Slot<R::Bits>], node: u32, before: &mut Vec<u32>) {
        before.clear();
        let (slot, rank) = self.kings.split(node);
        let slot = &slots[slot];
        let partner = &slots[slot.partner as usize];
        let mut kings = self.kings.unrank(&slot.free, rank);
        if self.symmetric {
            let board = Board {
                men: [R::Bits::EMPTY; 2],
                kings,
            };
            kings = board.mirrored(R::RULES.geometry).kings;
        }
        let us = partner.side as usize;
        let occupied = partner.all | kings[0] | kings[1];
        let base = slot.partner as usize * self.kings.space;
        let free = &partner.free;
        if us == 0 {
            let base = base + self.kings.black_rank(free, kings[1]);
            for from in kings[0].squares() {
                let others = kings[0] ^ R::Bits::bit(from);
                for to in self.reach.targets(occupied, from).squares() {
                    let white = others | R::Bits::bit(to);
                    before.push((base + self.kings.white_rank(free, white, kings[1])) as u32);
                }
            }
        } else {
            for from in kings[1].squares() {
                let others = kings[1] ^ R::Bits::bit(from);
                for to in self.reach.targets(occupied, from).squares() {
                    let black = others | R::Bits::bit(to);
                    before.push((base + self.kings.rank(free, [kings[0], black])) as u32);
                }
            }
        }
        for step in &partner.sidesteps {
            if (step.to & occupied).is_empty() {
                let slot = step.slot as usize;
                let rank = self.kings.rank(&slots[slot].free, kings);
                before.push((slot * self.kings.space + rank) as u32);
            }
        }
    }
}

/// Nodes that a thread looks at before it asks for more.
pub(crate) const CHUNK_NODES: usize = 1 << 15;
