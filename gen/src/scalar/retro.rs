//! The retrograde part: what a decided position means for the positions before it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use dambase_rules::Ruleset;

use super::unit::{
    CHUNK_NODES, EVENT_EXITS, EVENT_LOSS, EVENT_WIN, Nodes, OPEN, Task, Worker, state,
};
use crate::{Control, Error, parallel};

/// Changes a state if `f` allows it; with other threads at work if `shared`. Returns what it was.
#[inline(always)]
fn change(shared: bool, state: &AtomicU8, f: impl Fn(u8) -> Option<u8>) -> Option<u8> {
    if shared {
        state.fetch_update(Relaxed, Relaxed, f).ok()
    } else {
        let old = state.load(Relaxed);
        state.store(f(old)?, Relaxed);
        Some(old)
    }
}

impl<R: Ruleset, const D: bool> Task<'_, R, D> {
    /// Spreads wins and losses until nothing changes. The order does not matter, so every thread
    /// goes through its part of the nodes and follows what changes to the end.
    pub(crate) fn spread(
        &self,
        nodes: &Nodes<'_, R::Bits>,
        shared: bool,
        worker: &mut Worker<R::Bits>,
        ctl: &Control,
    ) -> Result<(), Error> {
        let n = nodes.states.len();
        if !shared {
            self.spread_from(nodes, shared, 0..n, &mut worker.stack, &mut worker.before);
            return Ok(());
        }
        parallel::for_each(n.div_ceil(CHUNK_NODES), &|i| {
            ctl.check()?;
            let from = i * CHUNK_NODES;
            let range = from..(from + CHUNK_NODES).min(n);
            self.spread_from(nodes, shared, range, &mut Vec::new(), &mut Vec::new());
            Ok(())
        })
    }

    fn spread_from(
        &self,
        nodes: &Nodes<'_, R::Bits>,
        shared: bool,
        range: std::ops::Range<usize>,
        stack: &mut Vec<u32>,
        before: &mut Vec<u32>,
    ) {
        for node in range {
            let known = match nodes.states[node].load(Relaxed) {
                state::NEW_WIN => state::WIN,
                state::NEW_LOSS => state::LOSS,
                _ => continue,
            };
            nodes.states[node].store(known, Relaxed);
            let mut next = Some((node as u32, known));
            while let Some((node, known)) = next {
                self.predecessors(nodes.slots, node, before);
                for &b in &*before {
                    let s = &nodes.states[b as usize];
                    let changed = if known == state::LOSS {
                        let win = |old| (old <= state::SAFE).then_some(state::WIN);
                        change(shared, s, win).is_some()
                    } else {
                        let lose = |old| match old {
                            1 => Some(state::LOSS),
                            2..state::SAFE => Some(old - 1),
                            _ => None,
                        };
                        change(shared, s, lose) == Some(1)
                    };
                    if changed {
                        stack.push(b);
                    }
                }
                next = stack
                    .pop()
                    .map(|node| (node, nodes.states[node as usize].load(Relaxed)));
            }
        }
    }

    /// Spreads wins and losses ply by ply, so that the first way found to win is the quickest and
    /// the last way found to lose is the slowest.
    pub(crate) fn spread_by_ply(
        &self,
        nodes: &Nodes<'_, R::Bits>,
        shared: bool,
        workers: &mut [Worker<R::Bits>],
        ctl: &Control,
    ) -> Result<(), Error> {
        let last = workers.iter().map(|w| w.events.len()).max().unwrap_or(0);
        let mut now: Vec<u32> = Vec::new();
        let mut next: Vec<u32> = Vec::new();
        let mut before = Vec::new();
        let mut ply = 0;
        while ply * 3 < last || !now.is_empty() {
            ctl.check()?;
            let win = 2 * ply + 1;
            let (win, loss) = (win as u16, win as u16 + 1);
            for worker in workers.iter_mut() {
                for (kind, code) in [(EVENT_WIN, win), (EVENT_LOSS, loss), (EVENT_EXITS, loss)] {
                    let Some(events) = worker.events.get_mut(3 * ply + kind) else {
                        continue;
                    };
                    for &node in &*events {
                        let c = &nodes.codes[node as usize];
                        if c.load(Relaxed) != OPEN {
                            continue;
                        }
                        if kind == EVENT_EXITS {
                            let s = &nodes.states[node as usize];
                            let left = s.load(Relaxed) - 1;
                            s.store(left, Relaxed);
                            if left > 0 {
                                continue;
                            }
                        }
                        c.store(code, Relaxed);
                        now.push(node);
                    }
                    events.clear();
                }
            }
            assert!(win < OPEN - 4, "distance of {ply} plies");
            if shared && now.len() >= CHUNK_NODES {
                let parts: Vec<_> = now.chunks(CHUNK_NODES / 8).collect();
                let found = parallel::collect(parts.len(), &|i| {
                    let mut found = Vec::new();
                    self.spread_all(nodes, true, parts[i], win + 2, &mut found, &mut Vec::new());
                    Ok(found)
                })?;
                next.extend(found.into_iter().flatten());
            } else {
                self.spread_all(nodes, false, &now, win + 2, &mut next, &mut before);
            }
            now.clear();
            std::mem::swap(&mut now, &mut next);
            ply += 1;
        }
        Ok(())
    }

    /// Tells the positions before some nodes; `win` is the code of a win in one ply more.
    fn spread_all(
        &self,
        nodes: &Nodes<'_, R::Bits>,
        shared: bool,
        now: &[u32],
        win: u16,
        found: &mut Vec<u32>,
        before: &mut Vec<u32>,
    ) {
        for &node in now {
            let lost = nodes.codes[node as usize].load(Relaxed) & 1 == 0;
            self.predecessors(nodes.slots, node, before);
            for &b in &*before {
                let c = &nodes.codes[b as usize];
                let s = &nodes.states[b as usize];
                if s.load(Relaxed) == state::FIXED || c.load(Relaxed) != OPEN {
                    continue;
                }
                let mut code = win;
                if !lost {
                    let lose = |old| (1..state::SAFE).contains(&old).then(|| old - 1);
                    if change(shared, s, lose) != Some(1) {
                        continue;
                    }
                    code += 1;
                }
                let first = if shared {
                    let exchanged = c.compare_exchange(OPEN, code, Relaxed, Relaxed);
                    exchanged.is_ok()
                } else {
                    c.store(code, Relaxed);
                    true
                };
                if first {
                    found.push(b);
                }
            }
        }
    }
}
