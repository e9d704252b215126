//! One king space with a clock beside the quiet one: Russian's 30 and 60 moves, which a man's move
//! does not start again, with the long diagonal's on top of both where it runs.
//!
//! Every ply inside the material takes one from the clock beside, so the plies `t` left on it give
//! the order: what a position needs of the quiet clock with `t` plies left follows from what its
//! successors need with `t - 1`, without going round in circles. More plies never hurt, so from one
//! layer to the next only the successors that need less than before have to be looked at. What is
//! kept of each position is every step of that descent: all pairs of plies with which it stands.
//!
//! A man's move starts the quiet clock again, so all that counts of the position after it is the
//! fewest plies beside with which it stands, the quiet clock being full; captures and crownings start
//! both.

use dambase_rules::limits::Link;
use dambase_rules::movegen::king_targets;
use dambase_rules::{Bits, Board, Ruleset, Side};
use dambase_tables::needs::{Need, NeedsNumbers};
use dambase_tables::{Dtz, RuleValue, Wld};

use super::diagonal::Space;
use super::unit::Unit;
use super::{Done, Moves, Plan, for_each_before};

/// No number of plies does.
pub(super) const NEVER: u8 = u8::MAX;

/// The clock beside of a material in which pairs of plies count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beside {
    /// Plies of the full clock.
    pub(super) plies: u16,
    /// Plies of the full quiet clock, if that one is on.
    pub(super) quiet: Option<u16>,
}

/// What the solver keeps of a king space, both sides to move, beside the values.
pub(super) struct Extra {
    /// The fewest plies beside with the quiet clock full, for each number of plies left on the
    /// diagonal's clock ([`Plan::diagonal_states`]), or [`NEVER`].
    pub(super) alone: [Vec<u8>; 2],
    /// All combinations, by number; those of the king space.
    pub(super) numbers: NeedsNumbers,
    pub(super) needs: [Vec<u32>; 2],
}

/// The same of a material.
#[derive(Default)]
pub(super) struct DoneBeside {
    pub(super) alone: [Vec<u8>; 2],
    pub(super) numbers: NeedsNumbers,
    pub(super) needs: [Vec<u32>; 2],
}

impl DoneBeside {
    pub(super) fn new(positions: usize, states: usize) -> Self {
        let of = |n: usize| [vec![0; n], vec![0; n]];
        Self {
            alone: of(positions * states),
            numbers: NeedsNumbers::default(),
            needs: [vec![0; positions], vec![0; positions]],
        }
    }
    /// Takes in what was found of the positions from `start` on.
    pub(super) fn add(&mut self, start: usize, states: usize, extra: &Extra) {
        let list = extra.numbers.list();
        let numbers: Vec<u32> = (0..list.len() as u32)
            .map(|n| self.numbers.number(list.get(n).expect("numbered")))
            .collect();
        for s in 0..2 {
            let at = start * states;
            let alone = &extra.alone[s];
            self.alone[s][at..at + alone.len()].copy_from_slice(alone);
            let needs = &extra.needs[s];
            let to = &mut self.needs[s][start..start + needs.len()];
            for (to, from) in to.iter_mut().zip(needs) {
                *to = numbers[*from as usize];
            }
        }
    }
}

/// What a state can become.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Hope {
    /// Nothing.
    #[default]
    Nothing,
    /// Won, by any move.
    Win,
    /// Lost, if all moves lose.
    Loss,
    /// Won or lost by moves that leave the king space only.
    Exits,
}

#[derive(Clone, Copy)]
struct State {
    hope: Hope,
    /// What it needs of the quiet clock with the plies beside of this layer.
    quiet: u8,
    /// The plies beside with which the moves that leave the king space do what they should.
    exits: u8,
    /// Whether there are any.
    has_exits: bool,
    /// King moves after which nothing is decided yet.
    open: u16,
}

const NOTHING: State = State {
    hope: Hope::Nothing,
    quiet: NEVER,
    exits: NEVER,
    has_exits: false,
    open: 0,
};

/// A state that has come to need less: its side to move, rank, number, and what it needed.
#[derive(Clone, Copy)]
struct Changed {
    side: Side,
    rank: u32,
    state: u32,
    before: u8,
}

/// What a state needs of the quiet clock from a layer on.
struct Event {
    state: u32,
    beside: u8,
    quiet: u8,
}

pub(super) fn solve<R: Ruleset>(plan: &Plan<'_, R>, done: &Done, men_rank: u64) -> Unit {
    let mut solver = Solver::new(plan, done, men_rank);
    solver.begin();
    solver.descend();
    solver.finish()
}

struct Solver<'a, R: Ruleset> {
    plan: &'a Plan<'a, R>,
    done: &'a Done,
    beside: Beside,
    men_rank: u64,
    men: [R::Bits; 2],
    space: Space,
    /// Plies of the full diagonal's clock; 0 without one.
    full: usize,
    /// What a ply takes of the quiet clock, if it is on.
    ply: u8,
    states: [Vec<State>; 2],
    wlds: [Vec<Wld>; 2],
    events: [Vec<Event>; 2],
    /// States by the layer in which their exits do what they should.
    due: Vec<Vec<(Side, u32, u32)>>,
}

impl<'a, R: Ruleset> Solver<'a, R> {
    fn new(plan: &'a Plan<'a, R>, done: &'a Done, men_rank: u64) -> Self {
        let beside = plan.beside.expect("a material of two clocks");
        let space = Space::new(plan, men_rank);
        let n = space.states();
        Self {
            plan,
            done,
            beside,
            men_rank,
            men: plan.index.men(men_rank),
            full: plan.diagonal.map_or(0, |(_, plies)| plies.into()),
            ply: u8::from(beside.quiet.is_some()),
            states: [vec![NOTHING; n], vec![NOTHING; n]],
            wlds: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
            due: vec![Vec::new(); usize::from(beside.plies) + 1],
            space,
        }
    }

    fn taken(&self) -> R::Bits {
        self.men[0] | self.men[1]
    }

    fn board(&self, rank: usize) -> Board<R::Bits> {
        Board {
            men: self.men,
            kings: self.plan.index.kings(self.taken(), rank as u64),
        }
    }

    /// Looks at all positions: what they can become, and when their exits do it.
    fn begin(&mut self) {
        let mut moves = Moves::new();
        for rank in 0..self.plan.index.king_space() as usize {
            let board = self.board(rank);
            for side in Side::BOTH {
                let s = side as usize;
                let wld = self.plan.wld(side, self.men_rank, rank as u64, &board);
                self.wlds[s].push(wld);
                if wld == Wld::Draw {
                    continue;
                }
                let king_moves = moves.generate::<R>(&board, side) as u16;
                let over = moves.list.is_empty();
                let capture = moves.list.is_capture();
                let on = self.space.on_diagonal(rank);
                for (d, i) in self.space.of(rank).enumerate() {
                    if on && d == 0 && !over {
                        // Run out.
                        continue;
                    }
                    let (exits, has_exits) = if over {
                        (0, false)
                    } else {
                        self.exits(&moves, &board, side, on.then_some(d), wld)
                    };
                    let hope = match wld {
                        _ if capture || king_moves == 0 => Hope::Exits,
                        Wld::Win => Hope::Win,
                        _ if exits == NEVER => Hope::Nothing,
                        _ => Hope::Loss,
                    };
                    self.states[s][i] = State {
                        hope,
                        quiet: NEVER,
                        exits,
                        has_exits,
                        open: king_moves,
                    };
                    if let Some(due) = self.due.get_mut(usize::from(exits)) {
                        due.push((side, rank as u32, i as u32));
                    }
                }
            }
        }
    }

    /// The fewest plies beside with which the moves that leave the king space win, or all lose, with
    /// `d` plies left on the diagonal's clock if it runs; and whether there are such moves.
    fn exits(
        &self,
        moves: &Moves<R::Bits>,
        board: &Board<R::Bits>,
        side: Side,
        d: Option<usize>,
        wld: Wld,
    ) -> (u8, bool) {
        let (mut best, mut worst, mut any) = (NEVER, 1, false);
        for m in moves.exits(board.men[side as usize]) {
            any = true;
            let exit = self.plan.exit(self.done, board, side, m);
            let runs_on = d.filter(|_| exit.on_diagonal);
            let needed = if m.is_capture() || m.promotes {
                debug_assert_ne!(exit.link, Link::RunsOn);
                let decided = match (wld, exit.value) {
                    (Wld::Win, RuleValue::Loss(Dtz(n))) | (Wld::Loss, RuleValue::Win(Dtz(n))) => {
                        runs_on.is_none_or(|d| usize::from(n) < d)
                    }
                    _ => false,
                };
                if decided { 1 } else { NEVER }
            } else if exit.value.without_limits() == wld.opposite() {
                // The diagonal's clock has one less, or begins.
                let d = runs_on.map_or(self.full, |d| d - 1);
                let after = board.after(side, m);
                let i = self.plan.index.index(&after) as usize * (self.full + 1) + d;
                let beside = self.done.beside.as_ref().expect("two clocks");
                let needed = beside.alone[side.other() as usize][i];
                // The full clock is less than what `NEVER` says.
                needed.saturating_add(1)
            } else {
                NEVER
            };
            best = best.min(needed);
            worst = worst.max(needed);
        }
        let needed = match wld {
            Wld::Win => best,
            // Without such moves they forbid nothing.
            _ if !any => 0,
            _ => worst,
        };
        let enough = u16::from(needed) <= self.beside.plies;
        (if enough { needed } else { NEVER }, any)
    }

    /// Layer after layer of plies beside, from none to all.
    fn descend(&mut self) {
        let mut changed: Vec<Changed> = Vec::new();
        // What states come to need, and losses to be looked at.
        let mut less: Vec<(Side, u32, u32, u8)> = Vec::new();
        let mut losses: Vec<(Side, u32, u32)> = Vec::new();
        for t in 0..=self.beside.plies as usize {
            less.clear();
            losses.clear();
            for c in &changed {
                self.before(*c, &mut less, &mut losses);
            }
            for &(side, rank, i) in &self.due[t] {
                let state = &self.states[side as usize][i as usize];
                match state.hope {
                    Hope::Exits if !state.has_exits => less.push((side, rank, i, 0)),
                    Hope::Exits | Hope::Win => less.push((side, rank, i, self.ply)),
                    Hope::Loss if state.open == 0 => losses.push((side, rank, i)),
                    Hope::Loss | Hope::Nothing => {}
                }
            }
            losses.sort_unstable();
            losses.dedup();
            for &(side, rank, i) in &losses {
                if usize::from(self.states[side as usize][i as usize].exits) <= t {
                    less.push((side, rank, i, self.worst(side, rank, i)));
                }
            }
            // The least of what a state comes to need in this layer.
            less.sort_unstable_by_key(|&(side, _, i, quiet)| (side as u8, i, quiet));
            less.dedup_by_key(|l| (l.0 as u8, l.2));
            changed.clear();
            for &(side, rank, state, quiet) in &less {
                let of = &mut self.states[side as usize][state as usize];
                let enough = self.beside.quiet.is_none_or(|q| u16::from(quiet) <= q);
                if !enough || quiet >= of.quiet {
                    continue;
                }
                let before = std::mem::replace(&mut of.quiet, quiet);
                self.events[side as usize].push(Event {
                    state,
                    beside: t as u8,
                    quiet,
                });
                changed.push(Changed {
                    side,
                    rank,
                    state,
                    before,
                });
            }
        }
    }

    /// Tells the positions before a king move that the state after it needs less.
    fn before(
        &mut self,
        c: Changed,
        less: &mut Vec<(Side, u32, u32, u8)>,
        losses: &mut Vec<(Side, u32, u32)>,
    ) {
        let (rank, before) = (c.rank as usize, c.side.other());
        let won = self.wlds[c.side as usize][rank] == Wld::Win;
        let quiet = self.states[c.side as usize][c.state as usize].quiet;
        let d = c.state as usize - self.space.of(rank).start;
        let index = &self.plan.index;
        let kings = index.kings(self.taken(), c.rank.into());
        let (space, states, ply) = (&self.space, &mut self.states[before as usize], self.ply);
        for_each_before::<R>(index, self.men[0] | self.men[1], kings, before, |r| {
            for i in space.before(r as usize, rank, d) {
                let state = &mut states[i];
                match state.hope {
                    Hope::Win if !won => less.push((before, r as u32, i as u32, quiet + ply)),
                    Hope::Loss if won => {
                        state.open -= u16::from(c.before == NEVER);
                        // Only what was worst can make it less.
                        let worst = state.quiet == NEVER || c.before == state.quiet - ply;
                        if state.open == 0 && worst {
                            losses.push((before, r as u32, i as u32));
                        }
                    }
                    _ => {}
                }
            }
        });
    }

    /// What a loss needs of the quiet clock, after all of whose king moves something is decided.
    fn worst(&self, side: Side, rank: u32, i: u32) -> u8 {
        let (s, rank, i) = (side as usize, rank as usize, i as usize);
        let mut worst = if self.states[s][i].has_exits {
            self.ply
        } else {
            0
        };
        let taken = self.taken();
        let kings = self.plan.index.kings(taken, rank as u64);
        let occupied = taken | kings[0] | kings[1];
        let d = i - self.space.of(rank).start;
        let after = &self.states[side.other() as usize];
        for from in kings[s].squares() {
            for to in king_targets::<R>(R::RULES.geometry.grid(), occupied, from).squares() {
                let mut kings = kings;
                kings[s] ^= R::Bits::bit(from) | R::Bits::bit(to);
                let r = self.plan.index.king_rank(taken, kings) as usize;
                let needed = after[self.space.after(rank, d, r)].quiet;
                worst = worst.max(needed.saturating_add(self.ply));
            }
        }
        worst
    }

    /// Gathers the steps of every position.
    fn finish(self) -> Unit {
        let ranks = self.plan.index.king_space() as usize;
        let width = self.full + 1;
        let mut numbers = NeedsNumbers::default();
        let mut extra = Extra {
            alone: [vec![NEVER; ranks * width], vec![NEVER; ranks * width]],
            numbers: NeedsNumbers::default(),
            needs: [vec![0; ranks], vec![0; ranks]],
        };
        let mut dtz: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
        let mut beneath: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
        let mut steps: Vec<Need> = Vec::new();
        for s in 0..2 {
            let mut first = vec![0_u32; self.space.states() + 1];
            for e in &self.events[s] {
                first[e.state as usize + 1] += 1;
            }
            for i in 0..self.space.states() {
                first[i + 1] += first[i];
            }
            let mut place = first.clone();
            let mut sorted = vec![(0, 0); self.events[s].len()];
            for e in &self.events[s] {
                let at = &mut place[e.state as usize];
                sorted[*at as usize] = (e.beside, e.quiet);
                *at += 1;
            }
            let of = |i: usize| &sorted[first[i] as usize..first[i + 1] as usize];
            for rank in 0..ranks {
                let states = self.space.of(rank);
                let on = self.space.on_diagonal(rank);
                steps.clear();
                for (d, i) in states.clone().enumerate() {
                    let alone = of(i).first().map_or(NEVER, |step| step.0);
                    let at = rank * width;
                    if on {
                        extra.alone[s][at + d] = alone;
                    } else {
                        extra.alone[s][at..at + width].fill(alone);
                    }
                    // What one ply less of the diagonal's clock does not do as well.
                    let new = of(i).iter().filter(|(beside, quiet)| {
                        let less = (d > 0).then(|| of(i - 1));
                        let less = less.and_then(|l| l.iter().rev().find(|l| l.0 <= *beside));
                        less.is_none_or(|l| l.1 > *quiet)
                    });
                    steps.extend(new.map(|&(beside, quiet)| Need {
                        diagonal: d as u8,
                        beside,
                        quiet,
                    }));
                }
                extra.needs[s][rank] = numbers.number(&steps);
                let last = of(states.end - 1);
                // The need of the clock of the material: the quiet one if that is on.
                let base = match self.beside.quiet {
                    Some(_) => last.last().map(|step| step.1),
                    None => last.first().map(|step| step.0),
                };
                let least = if on {
                    steps.first().map(|step| step.diagonal)
                } else {
                    base
                };
                let wld = self.wlds[s][rank];
                dtz[s].push(value(wld, least).code());
                beneath[s].push(value(wld, base).code());
            }
        }
        extra.numbers = numbers;
        Unit {
            dtz,
            beneath: self.plan.diagonal.map(|_| beneath),
            extra: Some(extra),
        }
    }
}

fn value(wld: Wld, need: Option<u8>) -> RuleValue {
    match (wld, need) {
        (Wld::Win, Some(n)) => RuleValue::Win(Dtz(n.into())),
        (Wld::Loss, Some(n)) => RuleValue::Loss(Dtz(n.into())),
        _ => RuleValue::undecided(wld),
    }
}
