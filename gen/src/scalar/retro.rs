//! The retrograde part: what a decided position means for the positions before it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use dambase_rules::Ruleset;
use rayon::prelude::*;

use super::unit::{
    CHUNK_NODES, EVENT_EXITS, EVENT_LOSS, EVENT_WIN, Nodes, OPEN, Task, Worker, state,
};
use crate::{Control, Error};

/// Changes a state if `f` allows it; with other threads at work if `P`. Returns what it was.
#[inline(always)]
fn change<const P: bool>(state: &AtomicU8, f: impl Fn(u8) -> Option<u8>) -> Option<u8> {
    if P {
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
    pub(crate) fn spread<const P: bool>(
        &self,
        nodes: &Nodes<'_, R>,
        workers: &mut [Worker<R>],
        ctl: &Control,
    ) -> Result<(), Error> {
        let n = nodes.states.len();
        if !P {
            for worker in workers {
                self.spread_from::<P>(nodes, 0..n, &mut worker.stack);
            }
            return Ok(());
        }
        (0..n.div_ceil(CHUNK_NODES))
            .into_par_iter()
            .try_for_each_init(Vec::new, |stack, i| {
                ctl.check()?;
                let from = i * CHUNK_NODES;
                self.spread_from::<P>(nodes, from..(from + CHUNK_NODES).min(n), stack);
                Ok(())
            })
    }

    fn spread_from<const P: bool>(
        &self,
        nodes: &Nodes<'_, R>,
        range: std::ops::Range<usize>,
        stack: &mut Vec<u32>,
    ) {
        for node in range {
            let first = nodes.states[node].load(Relaxed);
            let known = match first {
                state::NEW_WIN => state::WIN,
                state::NEW_LOSS => state::LOSS,
                _ => continue,
            };
            nodes.states[node].store(known, Relaxed);
            let mut next = Some((node as u32, known));
            while let Some((node, known)) = next {
                self.predecessors(nodes.slots, node, |before| {
                    let s = &nodes.states[before];
                    if known == state::LOSS {
                        let win = |old| (old <= state::SAFE).then_some(state::WIN);
                        if change::<P>(s, win).is_some() {
                            stack.push(before as u32);
                        }
                    } else {
                        let lose = |old| match old {
                            1 => Some(state::LOSS),
                            2..state::SAFE => Some(old - 1),
                            _ => None,
                        };
                        if change::<P>(s, lose) == Some(1) {
                            stack.push(before as u32);
                        }
                    }
                });
                next = stack
                    .pop()
                    .map(|node| (node, nodes.states[node as usize].load(Relaxed)));
            }
        }
    }

    /// Spreads wins and losses ply by ply, so that the first way found to win is the quickest and
    /// the last way found to lose is the slowest.
    pub(crate) fn spread_by_ply<const P: bool>(
        &self,
        nodes: &Nodes<'_, R>,
        workers: &mut [Worker<R>],
        ctl: &Control,
    ) -> Result<(), Error> {
        let last = workers.iter().map(|w| w.events.len()).max().unwrap_or(0);
        let mut now: Vec<u32> = Vec::new();
        let mut next: Vec<u32> = Vec::new();
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
            if P && now.len() >= CHUNK_NODES {
                next.par_extend(now.par_chunks(CHUNK_NODES / 8).flat_map_iter(|part| {
                    let mut found = Vec::new();
                    for &node in part {
                        self.spread_one::<P>(nodes, node, win + 2, &mut found);
                    }
                    found
                }));
            } else {
                for &node in &now {
                    self.spread_one::<false>(nodes, node, win + 2, &mut next);
                }
            }
            now.clear();
            std::mem::swap(&mut now, &mut next);
            ply += 1;
        }
        Ok(())
    }

    /// Tells the positions before `node`; `win` is the code of a win in one ply more.
    #[inline(always)]
    fn spread_one<const P: bool>(
        &self,
        nodes: &Nodes<'_, R>,
        node: u32,
        win: u16,
        found: &mut Vec<u32>,
    ) {
        let lost = nodes.codes[node as usize].load(Relaxed) & 1 == 0;
        self.predecessors(nodes.slots, node, |before| {
            let c = &nodes.codes[before];
            let s = &nodes.states[before];
            if s.load(Relaxed) == state::FIXED || c.load(Relaxed) != OPEN {
                return;
            }
            let code = if lost {
                win
            } else {
                let lose = |old| (1..state::SAFE).contains(&old).then(|| old - 1);
                if change::<P>(s, lose) != Some(1) {
                    return;
                }
                win + 1
            };
            let first = if P {
                let exchanged = c.compare_exchange(OPEN, code, Relaxed, Relaxed);
                exchanged.is_ok()
            } else {
                c.store(code, Relaxed);
                true
            };
            if first {
                found.push(before as u32);
            }
        });
    }
}
