//! Which materials are built, in which order, and what that takes.

use std::collections::BTreeSet;

use dambase_rules::ruleset::Goal;
use dambase_rules::{LimitSet, Side, Variant};
use dambase_tables::index::{MAX_OF_A_KIND, binomial};
use dambase_tables::{Index, Material, Metric, RunIndex, TooLarge};

use crate::limits::is_set_wise;

/// Everything with pieces of both sides that one move of either side can lead to from `material`,
/// in canonical form and in solving order: what must be known before `material` can be solved.
///
/// Whether the rules of the code allow each of the captures is not looked at.
#[must_use]
pub fn children(variant: Variant, material: Material) -> Vec<Material> {
    let mut found = BTreeSet::new();
    for side in Side::BOTH {
        let after = after_moves(variant, material, side);
        found.extend(after.iter().map(Material::canonical));
    }
    found.into_iter().collect()
}

/// Everything with pieces of both sides that one capture or crowning of `mover` can lead to, as it
/// stands on the board.
fn after_moves(variant: Variant, material: Material, mover: Side) -> BTreeSet<Material> {
    let (us, them) = (mover as usize, mover.other() as usize);
    let mut found = BTreeSet::new();
    let mut movers = vec![material];
    if material.men[us] > 0 {
        let mut crowned = material;
        crowned.men[us] -= 1;
        crowned.kings[us] += 1;
        movers.push(crowned);
    }
    for mover in movers {
        for kings in 0..=mover.kings[them] {
            for men in 0..=mover.men[them] {
                let mut after = mover;
                after.kings[them] = kings;
                after.men[them] = men;
                if after != material && kings + men > 0 && occurs(variant, after) {
                    found.insert(after);
                }
            }
        }
    }
    found
}

/// Whether a material has tables: not if the game is over before it arises.
#[must_use]
pub fn occurs(variant: Variant, material: Material) -> bool {
    let kings = material.kings[0] + material.kings[1] > 0;
    !(kings && variant.rules().goal == Goal::FirstCrown)
}

/// What is solved, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Distances are computed.
    pub distances: bool,
    /// Threads that work at the same time.
    pub threads: usize,
}

/// One material of a [`Plan`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The material, canonical.
    pub material: Material,
    /// Positions with one side to move.
    pub slice_positions: u64,
    /// Positions of all stored slices.
    pub positions: u64,
    /// Bytes of its values in memory.
    pub value_bytes: u64,
    /// Bytes that the solver takes beside values. An estimate.
    pub work_bytes: u64,
    /// Those of them that could be in work files: word planes, or scores of positions with king runs.
    pub plane_bytes: u64,
    /// Bytes of memory while it is solved: its values, those of smaller materials that are still
    /// needed, and what the solver takes. An estimate.
    pub memory_bytes: u64,
    /// Bytes of its files. An estimate.
    pub disk_bytes: u64,
    /// What solving and writing it takes of one processor core, in nanoseconds. An estimate.
    pub nanoseconds: u64,
}

impl Step {
    /// Bytes of its values under the draw limits in memory: a byte for each, and half a byte for
    /// what the set-wise solver looks up of it.
    #[must_use]
    pub const fn value_bytes_under_limits(&self) -> u64 {
        self.positions.saturating_mul(3) / 2
    }
}

/// The materials to build, in order, and what that takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The code.
    pub variant: Variant,
    /// Whether the king run of the code is part of the positions.
    pub king_run: bool,
    /// What is stored of each material, in the order of [`Metric::ALL`].
    pub metrics: Vec<Metric>,
    /// The materials in solving order.
    pub steps: Vec<Step>,
    threads: usize,
}

impl Plan {
    /// All materials of 2 to `pieces` pieces, with the king run if the code has one.
    ///
    /// # Errors
    /// [`TooLarge`] with the first material whose positions cannot be numbered.
    pub fn complete(
        variant: Variant,
        pieces: u8,
        metrics: &[Metric],
        threads: usize,
    ) -> Result<Self, TooLarge> {
        let all = (2..=pieces).flat_map(Material::canonical_with);
        let all = all.filter(|&m| occurs(variant, m)).collect();
        Self::of(variant, has_king_run(variant), all, metrics, threads)
    }

    /// The materials `wanted`, mirrored or not, and all that they need, with the king run if the
    /// code has one.
    ///
    /// # Errors
    /// [`TooLarge`] with the first material whose positions cannot be numbered.
    pub fn with_children(
        variant: Variant,
        wanted: &[Material],
        metrics: &[Metric],
        threads: usize,
    ) -> Result<Self, TooLarge> {
        let mut all = BTreeSet::new();
        let mut open: Vec<_> = wanted.iter().map(Material::canonical).collect();
        while let Some(m) = open.pop() {
            if all.insert(m) {
                open.extend(children(variant, m));
            }
        }
        let all = all.into_iter().collect();
        Self::of(variant, has_king_run(variant), all, metrics, threads)
    }

    /// The same materials without the king run.
    ///
    /// # Errors
    /// [`TooLarge`] if a material cannot be numbered.
    pub fn without_king_run(self) -> Result<Self, TooLarge> {
        if !self.king_run {
            return Ok(self);
        }
        let all = self.steps.iter().map(|s| s.material).collect();
        Self::of(self.variant, false, all, &self.metrics, self.threads)
    }

    fn of(
        variant: Variant,
        king_run: bool,
        materials: Vec<Material>,
        metrics: &[Metric],
        threads: usize,
    ) -> Result<Self, TooLarge> {
        let metrics: Vec<_> = Metric::ALL
            .into_iter()
            .filter(|m| metrics.contains(m))
            .collect();
        let effort = Effort {
            distances: metrics.iter().any(|&m| m != Metric::Wld),
            threads: threads.max(1),
        };
        let scope = variant.rules().king_run.filter(|_| king_run);
        let mut steps: Vec<Step> = Vec::with_capacity(materials.len());
        for &material in &materials {
            let index = RunIndex::<u128>::new(variant.rules().geometry, scope, material)?;
            let slices = material.sides().len() as u64;
            let positions = index
                .positions()
                .checked_mul(slices)
                .ok_or(TooLarge(material))?;
            let (units, planes) = if king_run {
                run_work_bytes(&index, positions)
            } else {
                work_bytes(variant, index.boards(), positions, effort)
            };
            steps.push(Step {
                material,
                slice_positions: index.positions(),
                positions,
                value_bytes: value_bytes(positions, effort.distances),
                work_bytes: units.saturating_add(planes),
                plane_bytes: planes,
                memory_bytes: 0,
                disk_bytes: metrics.iter().fold(0, |n: u64, &m| {
                    n.saturating_add(disk_bytes(variant, positions, slices, m))
                }),
                nanoseconds: nanoseconds(positions, effort.distances, king_run),
            });
        }
        let mut plan = Self {
            variant,
            king_run,
            metrics,
            steps,
            threads: effort.threads,
        };
        let all = vec![true; plan.steps.len()];
        for (i, bytes) in plan.memory_profile(&all, &all).into_iter().enumerate() {
            plan.steps[i].memory_bytes = bytes;
        }
        Ok(plan)
    }

    /// What the table of a step under draw limits takes on disk, in bytes. An estimate.
    fn disk_under_limits(&self, limits: &LimitSet, step: usize) -> u64 {
        let step = &self.steps[step];
        let Material { kings, men } = step.material;
        let slices = step.material.sides().len() as u64;
        let times = if limits.has_pairs(kings, men) {
            PAIRS_DISK
        } else {
            1
        };
        disk_bytes(self.variant, step.positions, slices, Metric::Dtz).saturating_mul(times)
    }

    /// What the tables of the marked steps under draw limits take on disk, in bytes. An estimate.
    pub(crate) fn tables_under_limits(&self, limits: &LimitSet, absent: &[bool]) -> u64 {
        let steps = (0..self.steps.len()).filter(|&i| absent[i]);
        steps.fold(0, |sum: u64, i| {
            sum.saturating_add(self.disk_under_limits(limits, i))
        })
    }

    /// The same with tables under these draw limits beside the others.
    #[must_use]
    pub fn with_limits(mut self, limits: &LimitSet) -> Self {
        let memory = self.profile_under_limits(limits, &vec![true; self.steps.len()]);
        let disk: Vec<_> = (0..self.steps.len())
            .map(|i| self.disk_under_limits(limits, i))
            .collect();
        for ((step, memory), disk) in self.steps.iter_mut().zip(memory).zip(disk) {
            let pairs = limits.has_pairs(step.material.kings, step.material.men);
            step.memory_bytes = step.memory_bytes.max(memory);
            step.disk_bytes = step.disk_bytes.saturating_add(disk);
            let each = if pairs {
                PAIRS_NANOSECONDS
            } else if is_set_wise(limits, step.material) {
                CLOCK_NANOSECONDS
            } else {
                LIMITS_NANOSECONDS
            };
            let more = step.positions.saturating_mul(each);
            let more = more.saturating_add(TABLE_NANOSECONDS);
            step.nanoseconds = step.nanoseconds.saturating_add(more);
        }
        self.metrics.push(Metric::Dtz);
        self
    }

    /// Exactly the materials given, which must be canonical and in order.
    pub(crate) fn exactly(
        variant: Variant,
        king_run: bool,
        materials: Vec<Material>,
        metrics: &[Metric],
    ) -> Result<Self, TooLarge> {
        Self::of(variant, king_run, materials, metrics, 1)
    }

    /// The steps whose values must be in memory at some time if those marked `absent` are to be
    /// solved: these themselves, and all that they need down to the smallest.
    #[must_use]
    pub fn needed(&self, absent: &[bool]) -> Vec<bool> {
        let mut needed = absent.to_vec();
        for i in (0..self.steps.len()).rev() {
            if needed[i] {
                for child in children(self.variant, self.steps[i].material) {
                    if let Some(c) = self.position(child) {
                        needed[c] = true;
                    }
                }
            }
        }
        needed
    }

    /// For each step the number of the last one among those marked `needed` that rests on it, or
    /// its own.
    #[must_use]
    pub fn last_uses(&self, needed: &[bool]) -> Vec<usize> {
        let mut last: Vec<_> = (0..self.steps.len()).collect();
        for (i, s) in self.steps.iter().enumerate() {
            if needed[i] {
                for child in children(self.variant, s.material) {
                    if let Some(c) = self.position(child) {
                        last[c] = i;
                    }
                }
            }
        }
        last
    }

    fn position(&self, material: Material) -> Option<usize> {
        let found = self.steps.binary_search_by(|s| s.material.cmp(&material));
        found.ok()
    }

    /// Bytes of memory at each step if the values of those marked `needed` are in memory from then
    /// on as long as something rests on them, and those marked `absent` are solved.
    fn memory_profile(&self, needed: &[bool], absent: &[bool]) -> Vec<u64> {
        let work = |i: usize| {
            if absent[i] {
                self.steps[i].work_bytes
            } else {
                0
            }
        };
        let base = self.base_bytes(self.has_distances());
        self.profile(needed, base, &|i| self.steps[i].value_bytes, &work)
    }

    /// Bytes that the program takes all the time; `distances` tells what is written.
    pub(crate) fn base_bytes(&self, distances: bool) -> u64 {
        BASE_BYTES + WRITER_BYTES[usize::from(distances)] * self.threads as u64
    }

    /// Bytes of memory at each step if what `kept` says of those marked `needed` stays as long as
    /// something rests on it, and each takes what `work` says besides, and all of them `base`.
    fn profile(
        &self,
        needed: &[bool],
        base: u64,
        kept: &dyn Fn(usize) -> u64,
        work: &dyn Fn(usize) -> u64,
    ) -> Vec<u64> {
        let last = self.last_uses(needed);
        let mut freed: Vec<u64> = vec![0; self.steps.len()];
        let mut now: u64 = 0;
        let mut profile = Vec::with_capacity(self.steps.len());
        for (i, &needed) in needed.iter().enumerate() {
            if !needed {
                profile.push(base);
                continue;
            }
            now = now.saturating_add(kept(i));
            profile.push(now.saturating_add(work(i)).saturating_add(base));
            freed[last[i]] = freed[last[i]].saturating_add(kept(i));
            now = now.saturating_sub(freed[i]);
        }
        profile
    }

    /// The most memory that it takes to go through all values, each material being there as long
    /// as something rests on it, in bytes.
    #[must_use]
    pub fn memory_to_read(&self) -> u64 {
        let n = self.steps.len();
        let profile = self.memory_profile(&vec![true; n], &vec![false; n]);
        profile.into_iter().max().unwrap_or(0)
    }

    /// Bytes of memory at each step under the draw limits, those marked `needed` being solved or
    /// read, and what the solver takes. An estimate.
    #[must_use]
    pub fn profile_under_limits(&self, limits: &LimitSet, needed: &[bool]) -> Vec<u64> {
        let work = |i: usize| self.work_under_limits(limits, i);
        let kept = |i: usize| self.steps[i].value_bytes_under_limits();
        self.profile(needed, self.base_bytes(true), &kept, &work)
    }

    /// Bytes that the solver under the draw limits takes beside values at a step. An estimate.
    pub(crate) fn work_under_limits(&self, limits: &LimitSet, step: usize) -> u64 {
        let s = &self.steps[step];
        let Material { kings, men } = s.material;
        // Where pairs of plies count: the number of its list for each position, the plies beside
        // that do alone (one for each number of plies on the diagonal), and the symbols.
        let each = match (
            limits.has_pairs(kings, men),
            limits.diagonal_of(kings, men).is_some(),
        ) {
            (false, _) => 4,
            (true, false) => 4 + 14,
            (true, true) => 4 + 36,
        };
        // The set-wise solver keeps planes with and without limits.
        let solver = if is_set_wise(limits, s.material) {
            s.work_bytes.saturating_mul(2)
        } else {
            s.work_bytes
        };
        solver.saturating_add(s.slice_positions.saturating_mul(each))
    }

    /// Bytes of the values of a material of the plan in memory, 0 for others.
    #[must_use]
    pub fn value_bytes(&self, material: Material) -> u64 {
        let step = self.position(material);
        step.map_or(0, |i| self.steps[i].value_bytes)
    }

    /// Whether distances are computed.
    #[must_use]
    pub fn has_distances(&self) -> bool {
        self.metrics.iter().any(|&m| m != Metric::Wld)
    }
    /// Positions of all stored slices of all materials.
    #[must_use]
    pub fn positions(&self) -> u128 {
        self.steps.iter().map(|s| u128::from(s.positions)).sum()
    }
    /// The most memory that any step takes, in bytes. An estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.steps.iter().map(|s| s.memory_bytes).max().unwrap_or(0)
    }
    /// Seconds that the build takes with its threads on processors that are otherwise idle, like
    /// those of docs/results.md. An estimate.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let all: f64 = self.steps.iter().map(|s| s.nanoseconds as f64).sum();
        all / 1e9 / self.threads as f64
    }
    /// Bytes of all files together. An estimate.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.steps
            .iter()
            .fold(0, |n, s| n.saturating_add(s.disk_bytes))
    }
}

/// Whether a king's moves in a row are limited.
const fn has_king_run(variant: Variant) -> bool {
    variant.rules().king_run.is_some()
}

/// Bytes of the values of a material in memory: 2 bits for win, loss and draw, 2 bytes for a
/// distance.
#[must_use]
pub fn value_bytes(positions: u64, distances: bool) -> u64 {
    let wld = positions.div_ceil(4);
    if distances {
        positions.saturating_mul(2).saturating_add(wld)
    } else {
        wld
    }
}

/// What one core takes to solve and write so many positions, in nanoseconds; fitted to what was
/// measured (docs/results.md).
const fn nanoseconds(positions: u64, distances: bool, king_run: bool) -> u64 {
    let each = match (king_run, distances) {
        (true, _) => 350,
        (false, true) => 400,
        (false, false) => 65,
    };
    positions
        .saturating_mul(each)
        .saturating_add(TABLE_NANOSECONDS)
}

/// What a table takes however small it is: the choice of its coding.
const TABLE_NANOSECONDS: u64 = 150_000_000;

/// What a position under the draw limits takes beside that, in nanoseconds.
const LIMITS_NANOSECONDS: u64 = 650;

/// The same where it is solved set-wise.
const CLOCK_NANOSECONDS: u64 = 200;

/// The same where pairs of plies count.
const PAIRS_NANOSECONDS: u64 = 4000;

/// How much more disk tables take in which pairs of plies count.
const PAIRS_DISK: u64 = 2;

/// What the program takes before it solves anything, in bytes.
const BASE_BYTES: u64 = 16 << 20;

/// What one thread of the writer takes for its counts of contexts, in bytes: without distances and
/// with them. As measured.
const WRITER_BYTES: [u64; 2] = [10 << 20, 40 << 20];

/// What the solver with the king run takes beside values, in bytes: for units, and for scores.
fn run_work_bytes(index: &RunIndex<u128>, positions: u64) -> (u64, u64) {
    let unit = index
        .boards()
        .king_space()
        .saturating_mul(index.run_states());
    // Two bytes for each finished value; those of the units at work twice, with both sides to move.
    let at_work = index
        .positions()
        .min(unit.max(crate::kingrun::POSITIONS_AT_A_TIME));
    let finished = positions.saturating_mul(2);
    (at_work.saturating_mul(8), finished)
}

/// What the solver takes beside values, in bytes: for units, and for planes.
fn work_bytes(variant: Variant, index: &Index<u128>, positions: u64, effort: Effort) -> (u64, u64) {
    let material = index.material();
    let units = index.men_placements().min(effort.threads as u64);
    let per_position = if effort.distances { 20 } else { 8 };
    let unit = index.king_space().saturating_mul(2 * per_position);
    let units = unit
        .saturating_mul(units)
        .min(positions.saturating_mul(per_position));
    // The set-wise solver reads what moves lead to as words: two planes, or one for each bit of a
    // distance.
    let mut planes: u64 = 0;
    for mover in Side::BOTH {
        let after = after_moves(variant, material, mover);
        for m in after.into_iter().chain([material]) {
            planes = planes.saturating_add(plane_bytes(variant, m, mover));
        }
    }
    let planes = planes.saturating_mul(if effort.distances { 5 } else { 1 });
    (units, planes)
}

/// One slice, `mover` having just moved, as two planes of words, a bit for each square of one
/// king, in bytes.
fn plane_bytes(variant: Variant, material: Material, mover: Side) -> u64 {
    let geometry = variant.rules().geometry;
    let squares = geometry.squares();
    let kings = |side: Side| usize::from(material.kings[side as usize]).min(MAX_OF_A_KIND);
    let view = [mover, mover.other()];
    let Some(view) = view.into_iter().find(|&s| kings(s) > 0) else {
        return 0;
    };
    let word: u64 = match squares {
        0..=32 => 4,
        33..=64 => 8,
        _ => 16,
    };
    let men = Index::<u128>::new(geometry, material).map(|i| i.men_placements());
    [
        binomial(squares, kings(view) - 1),
        binomial(squares, kings(view.other())),
        2 * word,
    ]
    .into_iter()
    .fold(men.unwrap_or(u64::MAX), u64::saturating_mul)
}

/// What a table takes on disk, in bytes; fitted to what was measured (docs/results.md).
fn disk_bytes(variant: Variant, positions: u64, slices: u64, metric: Metric) -> u64 {
    // Larger boards have more draws and shorter wins. Bits per position in hundredths.
    let large = variant.rules().geometry.squares() > 32;
    let bits: u64 = match (metric, large) {
        (Metric::Wld, _) => 15,
        (Metric::Dtw, false) => 160,
        (Metric::Dtw, true) => 60,
        (Metric::Dtz, _) => 50,
    };
    (positions / 800)
        .saturating_mul(bits)
        .saturating_add(512 + 64 * slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(name: &str) -> Material {
        name.parse().unwrap()
    }

    #[test]
    fn children_of_a_small_material() {
        // KMvKM: a side takes the man or the king, crowned or not, or crowns its man.
        let wanted = ["KKvK", "KKvM", "KMvK", "KMvM", "KKvKM"];
        let mut wanted: Vec<_> = wanted.into_iter().map(m).collect();
        wanted.sort();
        assert_eq!(children(Variant::English, m("KMvKM")), wanted);
        assert_eq!(children(Variant::English, m("KvK")), []);
    }

    #[test]
    fn plans_are_closed_and_in_order() {
        for variant in [Variant::English, Variant::Breakthrough] {
            let plan = Plan::complete(variant, 5, &[Metric::Wld], 2).unwrap();
            let all: Vec<_> = plan.steps.iter().map(|s| s.material).collect();
            for (i, &material) in all.iter().enumerate() {
                for child in children(variant, material) {
                    assert!(all[..i].contains(&child), "{material} {child}");
                }
            }
            let part = Plan::with_children(variant, &all, &[Metric::Wld], 2).unwrap();
            assert_eq!(part, plan);
        }
    }

    #[test]
    fn english_counts_are_those_published() {
        // The literature counts each position once for both colours: 6,408,836 up to 4 pieces.
        let plan = Plan::complete(Variant::English, 4, &[Metric::Wld], 2).unwrap();
        let all: u128 = plan
            .steps
            .iter()
            .map(|s| {
                let colours = if s.material.is_symmetric() { 1 } else { 2 };
                u128::from(s.slice_positions) * colours
            })
            .sum();
        assert_eq!(all, 6_408_836);
        assert_eq!(all, plan.positions());
    }

    #[test]
    fn what_is_too_large_is_said() {
        let plan = Plan::complete(Variant::International, 40, &[Metric::Wld], 2);
        assert!(plan.is_err());
        assert!(Plan::complete(Variant::Canadian, 12, &[Metric::Dtw], 2).is_ok());
    }
}
