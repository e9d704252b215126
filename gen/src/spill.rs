//! What of a build goes through work files, because it does not fit into memory.
//!
//! Two kinds of arrays can: the *values* of a material, which stay for as long as something rests on
//! them, and the *planes* of a material, what its solver has beside them as long as it is at work:
//! word planes of its own and of the smaller materials, scores of positions with king runs. What a
//! solver takes for the units in work stays in memory, like the writer's counts.
//!
//! The choice depends on the estimates of the plan and on the budget only. Materials are gone through
//! in solving order. Where one does not fit, its planes go if there would be no room for them even if
//! everything else went, and its own values with them; and then values, the largest first, until it
//! fits. Values that go are in a work file from the beginning to the end.

use std::collections::HashSet;
use std::path::PathBuf;

use dambase_rules::LimitSet;
use dambase_tables::{Backing, Material};

use crate::limits::is_set_wise;
use crate::plan::Plan;

/// Where the arrays of each material are.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    files: Backing,
    values: HashSet<Material>,
    planes: HashSet<Material>,
}

impl Placement {
    /// Where the values of a material are.
    #[must_use]
    pub fn values(&self, material: Material) -> &Backing {
        self.of(self.values.contains(&material))
    }
    /// Where the other arrays are with which a material is solved.
    #[must_use]
    pub fn planes(&self, material: Material) -> &Backing {
        self.of(self.planes.contains(&material))
    }
    /// The most bytes of work files that there have been at a time.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.files.work_file_bytes().1
    }
    fn of(&self, in_file: bool) -> &Backing {
        const MEMORY: &Backing = &Backing::memory();
        if in_file { &self.files } else { MEMORY }
    }
}

/// What goes through work files, step by step of a [`Plan`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spill {
    /// Whether the values of the material are in work files.
    pub values: Vec<bool>,
    /// Whether the planes are with which it is solved.
    pub planes: Vec<bool>,
    /// Bytes of memory at each step. An estimate.
    pub memory: Vec<u64>,
    /// Bytes of work files at each step. An estimate.
    pub files: Vec<u64>,
}

/// What the steps of a plan need, in bytes.
pub(crate) struct Needs {
    /// Whether anything is done at a step.
    pub(crate) needed: Vec<bool>,
    /// The last step that rests on it.
    pub(crate) last: Vec<usize>,
    /// What the program needs all the time.
    pub(crate) base: u64,
    /// Values, from a step to the last that rests on it.
    pub(crate) values: Vec<u64>,
    /// Planes, at a step only.
    pub(crate) planes: Vec<u64>,
    /// What must be in memory at a step.
    pub(crate) units: Vec<u64>,
}

impl Spill {
    /// Chooses what goes through work files so that every step fits into `memory`, if that is
    /// possible; else memory is what is needed at least.
    pub(crate) fn new(needs: &Needs, memory: u64) -> Self {
        let n = needs.needed.len();
        let (mut values, mut planes) = (vec![false; n], vec![false; n]);
        // Values in memory that something rests on from the step on.
        let mut live: Vec<usize> = Vec::new();
        for i in (0..n).filter(|&i| needs.needed[i]) {
            live.push(i);
            let least = needs.base.saturating_add(needs.units[i]);
            let with_planes = least.saturating_add(needs.planes[i]);
            if with_planes > memory && needs.planes[i] > 0 {
                planes[i] = true;
                values[i] = true;
                live.pop();
            }
            let kept = live.iter().map(|&j| needs.values[j]);
            let mut all = kept.fold(
                if planes[i] { least } else { with_planes },
                u64::saturating_add,
            );
            if all > memory {
                live.sort_by_key(|&j| (needs.values[j], std::cmp::Reverse(j)));
                while all > memory
                    && let Some(j) = live.pop()
                {
                    values[j] = true;
                    all = all.saturating_sub(needs.values[j]);
                }
            }
            live.retain(|&j| needs.last[j] > i);
        }
        let mut spill = Self {
            values,
            planes,
            memory: Vec::with_capacity(n),
            files: Vec::with_capacity(n),
        };
        spill.add_up(needs);
        spill
    }

    fn add_up(&mut self, needs: &Needs) {
        let n = needs.needed.len();
        // In memory and in work files.
        let (mut now, mut freed) = ([0_u64; 2], vec![[0_u64; 2]; n]);
        for i in 0..n {
            let mut here = now;
            if needs.needed[i] {
                let (to, bytes) = (usize::from(self.values[i]), needs.values[i]);
                now[to] = now[to].saturating_add(bytes);
                let last = &mut freed[needs.last[i]][to];
                *last = last.saturating_add(bytes);
                here = now;
                let planes = &mut here[usize::from(self.planes[i])];
                *planes = planes.saturating_add(needs.planes[i]);
                here[0] = here[0].saturating_add(needs.units[i]);
            }
            self.memory.push(here[0].saturating_add(needs.base));
            self.files.push(here[1]);
            for (now, freed) in now.iter_mut().zip(freed[i]) {
                *now = now.saturating_sub(freed);
            }
        }
    }

    /// The most memory of any step, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().copied().max().unwrap_or(0)
    }
    /// The most bytes of work files at any step.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().copied().max().unwrap_or(0)
    }
    /// How many materials have something in work files.
    #[must_use]
    pub fn materials(&self) -> usize {
        let any = self.values.iter().zip(&self.planes);
        any.filter(|(values, planes)| **values || **planes).count()
    }
    /// The places, with work files in a directory.
    #[must_use]
    pub fn placement(&self, plan: &Plan, dir: PathBuf) -> Placement {
        let chosen = |which: &[bool]| {
            let steps = plan.steps.iter().zip(which);
            steps
                .filter(|(_, c)| **c)
                .map(|(s, _)| s.material)
                .collect()
        };
        Placement {
            files: Backing::work_files(dir),
            values: chosen(&self.values),
            planes: chosen(&self.planes),
        }
    }
}

impl Plan {
    /// What goes through work files if those marked `absent` are to be solved within so many bytes
    /// of memory.
    #[must_use]
    pub fn spill(&self, absent: &[bool], memory: u64) -> Spill {
        let needed = self.needed(absent);
        let work = |bytes: &dyn Fn(usize) -> u64| {
            let all = absent.iter().enumerate();
            all.map(|(i, &a)| if a { bytes(i) } else { 0 }).collect()
        };
        let steps = &self.steps;
        let needs = Needs {
            last: self.last_uses(&needed),
            base: self.base_bytes(self.has_distances()),
            values: steps.iter().map(|s| s.value_bytes).collect(),
            planes: work(&|i| steps[i].plane_bytes),
            units: work(&|i| steps[i].work_bytes - steps[i].plane_bytes),
            needed,
        };
        Spill::new(&needs, memory)
    }

    /// The same for tables under draw limits, those marked `needed` being solved or read.
    #[must_use]
    pub fn spill_under_limits(&self, limits: &LimitSet, needed: &[bool], memory: u64) -> Spill {
        let steps = &self.steps;
        let planes = |i: usize| {
            let step = &steps[i];
            let Material { kings, men } = step.material;
            // As `work_under_limits` counts.
            let solver = if is_set_wise(limits, step.material) {
                step.plane_bytes.saturating_mul(2)
            } else {
                step.plane_bytes
            };
            if limits.has_pairs(kings, men) {
                solver
            } else {
                solver.saturating_add(step.slice_positions.saturating_mul(4))
            }
        };
        let all = 0..steps.len();
        let planes: Vec<u64> = all.clone().map(planes).collect();
        let needs = Needs {
            needed: needed.to_vec(),
            last: self.last_uses(needed),
            base: self.base_bytes(true),
            values: steps.iter().map(|s| s.value_bytes_under_limits()).collect(),
            units: all
                .map(|i| self.work_under_limits(limits, i).saturating_sub(planes[i]))
                .collect(),
            planes,
        };
        Spill::new(&needs, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::Variant;
    use dambase_tables::Metric;

    /// Three steps; the last rests on both others, of which the second is the larger one.
    fn needs() -> Needs {
        Needs {
            needed: vec![true; 3],
            last: vec![2, 2, 2],
            base: 10,
            values: vec![30, 50, 40],
            planes: vec![5, 5, 100],
            units: vec![7, 7, 7],
        }
    }

    #[test]
    fn the_largest_goes_first_and_only_if_it_must() {
        let all = Spill::new(&needs(), 10 + 7 + 100 + 120);
        assert_eq!((all.memory_bytes(), all.file_bytes()), (237, 0));
        assert_eq!(all.materials(), 0);
        let less = Spill::new(&needs(), 236);
        assert_eq!(less.values, [false, true, false]);
        assert_eq!(less.planes, [false; 3]);
        assert_eq!((less.memory_bytes(), less.file_bytes()), (187, 50));
        // No room for the planes of the last step, whatever else goes.
        let least = Spill::new(&needs(), 116);
        assert_eq!(least.planes, [false, false, true]);
        assert_eq!(least.values, [false, false, true]);
        assert_eq!((least.memory_bytes(), least.file_bytes()), (102, 140));
        let too_little = Spill::new(&needs(), 0);
        assert_eq!(
            (too_little.memory_bytes(), too_little.file_bytes()),
            (17, 220)
        );
    }

    #[test]
    fn what_has_room_stays_in_memory() {
        let plan = Plan::complete(Variant::English, 5, &[Metric::Wld, Metric::Dtw], 2).unwrap();
        let all = vec![true; plan.steps.len()];
        let whole = plan.spill(&all, u64::MAX);
        assert_eq!(whole.memory_bytes(), plan.memory_bytes());
        assert_eq!(whole.file_bytes(), 0);
        let least = plan.spill(&all, 0).memory_bytes();
        for memory in [least, least * 3 / 2, plan.memory_bytes() - 1] {
            let spill = plan.spill(&all, memory);
            assert!(spill.memory_bytes() <= memory);
            assert!(spill.file_bytes() > 0);
        }
        assert!(plan.spill(&all, least - 1).memory_bytes() >= least);
    }
}
