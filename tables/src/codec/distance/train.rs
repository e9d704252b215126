//! From samples of decisions to the trees that code them.

use rayon::prelude::*;

use super::sums::{self, MOST_BITS, NAME_BITS, Sample, Tree};
use crate::codec::context::model::log2;

/// How often every table is fitted to what the others leave: on a part of many samples, then on all.
const FEW_SWEEPS: usize = 2;
const SWEEPS: usize = 1;
/// Of more samples than this, one in so many is taken at first.
const ALL: usize = 1 << 16;
const PART_OF: usize = 4;
/// Samples of one task.
const PART: usize = 1 << 16;
/// The certainty, in units of 2^-16, with which a leaf without samples adds nothing.
const RESTRAINT: i64 = 20_000;
/// The least curvature of a sample, so that no leaf runs away.
const LEAST: i64 = 6;

/// What the samples in one context, or in many, ask for.
#[derive(Clone, Copy, Debug, Default)]
struct Pull {
    /// What all of them want the table to add, in eighths of a nat, each with its curvature.
    wanted: i64,
    /// The sum of the curvatures, in units of 2^-16.
    curvature: i64,
}

impl Pull {
    fn add(self, other: Self) -> Self {
        Self {
            wanted: self.wanted + other.wanted,
            curvature: self.curvature + other.curvature,
        }
    }
    /// The entry that serves best.
    fn entry(self) -> i8 {
        sums::entry(self.wanted, self.curvature + RESTRAINT)
    }
    /// Bits saved by it, about.
    fn gain(self) -> f64 {
        let wanted = self.wanted as f64;
        // In nats w * w / (2 c), for w in eighths, both in units of 2^-16.
        let nats = wanted * wanted / (self.curvature + RESTRAINT) as f64 / (2.0 * 64.0 * 65536.0);
        nats * std::f64::consts::LOG2_E
    }
}

/// The trees that code samples well, their own length included; `share` is the part of the slice
/// that was sampled. Contexts have `bits` bits. The result does not depend on the order of samples
/// if there are no more than [`ALL`].
pub(super) fn train<const G: usize>(samples: &[Sample<G>], bits: usize, share: f64) -> [Tree; G] {
    let mut fit = Fit {
        bits,
        trees: std::array::from_fn(|_| Tree::Leaf(0)),
        tables: std::array::from_fn(|_| vec![0; 1 << bits].into_boxed_slice()),
    };
    let some: Vec<Sample<G>>;
    let (few, part) = if samples.len() <= ALL {
        (samples, 1)
    } else {
        some = samples.iter().step_by(PART_OF).copied().collect();
        (&some[..], PART_OF)
    };
    for (samples, share, sweeps) in [
        (few, share / part as f64, FEW_SWEEPS),
        (samples, share, SWEEPS),
    ] {
        let mut sums = fit.sums(samples);
        for _ in 0..sweeps {
            for g in 0..G {
                fit.refit(g, samples, &mut sums, share);
            }
        }
    }
    fit.trees
}

/// Trees that are being fitted, and their tables.
struct Fit<const G: usize> {
    bits: usize,
    trees: [Tree; G],
    tables: [Box<[i8]>; G],
}

impl<const G: usize> Fit<G> {
    fn sums(&self, samples: &[Sample<G>]) -> Vec<i16> {
        let mut sums = vec![0; samples.len()];
        let parts = samples.par_chunks(PART).zip(sums.par_chunks_mut(PART));
        parts.for_each(|(samples, sums)| {
            for (sample, sum) in samples.iter().zip(sums) {
                for g in 0..G {
                    *sum += i16::from(self.tables[g][usize::from(sample.contexts[g])]);
                }
            }
        });
        sums
    }

    /// Fits one table to what the others leave.
    fn refit(&mut self, g: usize, samples: &[Sample<G>], sums: &mut [i16], share: f64) {
        let bits = self.bits;
        let table = &self.tables[g];
        let pulls = samples
            .par_chunks(PART)
            .zip(sums.par_chunks(PART))
            .fold(
                || vec![Pull::default(); 1 << bits],
                |mut pulls, (samples, sums)| {
                    pull(g, samples, sums, table, &mut pulls);
                    pulls
                },
            )
            .reduce_with(|mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = a.add(b));
                a
            })
            .unwrap_or_default();
        let met = (0..).zip(pulls).filter(|(_, p)| p.curvature > 0);
        let (tree, _) = grow(&mut met.collect::<Vec<_>>(), sums::all(bits), share);
        let new = tree.table(bits);
        let parts = samples.par_chunks(PART).zip(sums.par_chunks_mut(PART));
        parts.for_each(|(samples, sums)| {
            for (sample, sum) in samples.iter().zip(sums) {
                let at = usize::from(sample.contexts[g]);
                *sum += i16::from(new[at]) - i16::from(table[at]);
            }
        });
        self.tables[g] = new;
        self.trees[g] = tree;
    }
}

/// Adds up what samples ask of a table.
fn pull<const G: usize>(
    g: usize,
    samples: &[Sample<G>],
    sums: &[i16],
    table: &[i8],
    pulls: &mut [Pull],
) {
    for (sample, &sum) in samples.iter().zip(sums) {
        let at = usize::from(sample.contexts[g]);
        let p = i64::from(sums::probability(sum));
        let error = (i64::from(sample.yes) << 16) - p;
        let curvature = ((p * (65536 - p)) >> 16).max(LEAST);
        let pull = &mut pulls[at];
        pull.wanted += 8 * error + curvature * i64::from(table[at]);
        pull.curvature += curvature;
    }
}

/// Bits of a leaf and of a split in the file.
const LEAF: f64 = 1.0 + sums::LEAF_BITS as f64;
const SPLIT: f64 = 1.0 + NAME_BITS as f64;

/// The best tree found for contexts that differ in the bits set in `free`, and the bits that it
/// saves, its own taken off.
fn grow(met: &mut [(u32, Pull)], free: u32, share: f64) -> (Tree, f64) {
    let sum = met.iter().fold(Pull::default(), |s, m| s.add(m.1));
    let leaf = Tree::Leaf(sum.entry());
    let own = sum.gain() - LEAF * share;
    if met.len() < 2 || free == 0 {
        return (leaf, own);
    }
    // With each of the bits, in one pass.
    let mut with = [Pull::default(); MOST_BITS];
    for &(context, pull) in &*met {
        let mut rest = context & free;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            with[bit] = with[bit].add(pull);
            rest &= rest - 1;
        }
    }
    let mut best = (f64::NEG_INFINITY, 0);
    for (bit, &with) in (0..).zip(&with) {
        let without = Pull {
            wanted: sum.wanted - with.wanted,
            curvature: sum.curvature - with.curvature,
        };
        if free >> bit & 1 == 1 && with.curvature > 0 && without.curvature > 0 {
            let gain = with.gain() + without.gain();
            if gain > best.0 {
                best = (gain, bit);
            }
        }
    }
    let (gain, bit) = best;
    if gain == f64::NEG_INFINITY {
        return (leaf, own);
    }
    let mut at = 0;
    for i in 0..met.len() {
        if met[i].0 >> bit & 1 == 0 {
            met.swap(i, at);
            at += 1;
        }
    }
    let (without, with) = met.split_at_mut(at);
    let free = free & !(1 << bit);
    let (without, gain0) = grow(without, free, share);
    let (with, gain1) = grow(with, free, share);
    let gain = gain0 + gain1 - SPLIT * share;
    if gain > own {
        let below = Box::new([without, with]);
        (Tree::Split { bit, below }, gain)
    } else {
        (leaf, own)
    }
}

/// Learns the odds on the way, to judge what a slice will cost.
#[derive(Debug)]
pub(super) struct Learner<const G: usize> {
    /// What every context of every table adds, in units of 2^-16 of an eighth of a nat.
    tables: [Vec<i32>; G],
    /// What the less and the more likely outcome cost by the sum's absolute value, in bits.
    costs: Vec<[f64; 2]>,
}

impl<const G: usize> Learner<G> {
    /// How much a table gives way to an error, as a shift.
    const PACE: u32 = 1;

    pub(super) fn new(bits: usize) -> Self {
        Self {
            tables: std::array::from_fn(|_| vec![0; 1 << bits]),
            costs: (0..=sums::FAR)
                .map(|sum| {
                    let p = sums::probability(sum);
                    [65536 - p, p].map(|p| 16.0 - log2(f64::from(p)))
                })
                .collect(),
        }
    }

    /// The bits that a decision costs.
    #[inline(always)]
    pub(super) fn learn(&mut self, contexts: &[u16; G], decision: u16, yes: bool) -> f64 {
        let mut sum = 0_i32;
        for (table, context) in self.tables.iter().zip(contexts) {
            sum = sum.saturating_add(table[usize::from(context | decision)]);
        }
        let far = i32::from(sums::FAR);
        let sum = i16::try_from((sum >> 16).clamp(-far, far)).unwrap_or(0);
        let p = sums::probability(sum);
        let error = (i32::from(yes) << 16) - p.cast_signed();
        for (table, context) in self.tables.iter_mut().zip(contexts) {
            let at = &mut table[usize::from(context | decision)];
            *at = at.saturating_add(error >> Self::PACE);
        }
        self.costs[usize::from(sum.unsigned_abs())][usize::from((sum >= 0) == yes)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::distance::sums::Tables;

    const BITS: usize = 6;

    /// Decisions that depend on both contexts, one by one, with some that do not.
    fn samples(n: u64) -> Vec<Sample<2>> {
        let one = |i: u64| {
            let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let [a, b] = [x >> 40 & 63, x >> 50 & 63].map(|c| u16::try_from(c).unwrap());
            let odds = i32::from(a & 4) - i32::from(b & 16) / 4;
            let yes = match odds {
                0 => x >> 30 & 1 == 1,
                odds => (odds > 0) == (x >> 30 & 31 != 0),
            };
            Sample {
                contexts: [a, b],
                yes,
            }
        };
        (0..n).map(one).collect()
    }

    fn cost(trees: &[Tree; 2], samples: &[Sample<2>]) -> f64 {
        let tables = Tables::<2, { 1 << BITS }>::new(trees);
        let bits = samples.iter().map(|s| {
            let p = sums::probability(tables.sum(&s.contexts, 0));
            let p = if s.yes { p } else { 65536 - p };
            16.0 - f64::from(p).log2()
        });
        bits.sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn what_decides_is_found() {
        for n in [20_000, 100_000] {
            let samples = samples(n);
            let trees = train(&samples, BITS, 1.0);
            // Half of the decisions are even, the others one in 32 is missed.
            let entropy = 0.5 + 0.5 * 0.2006;
            let cost = cost(&trees, &samples);
            assert!((cost - entropy).abs() < 0.03, "{cost} {entropy}");
            // And nothing else is asked for.
            for (tree, wanted) in trees.iter().zip([2, 4]) {
                assert!(
                    matches!(tree, Tree::Split { bit, .. } if *bit == wanted),
                    "{tree:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let flat = [Tree::Leaf(0), Tree::Leaf(0)];
        assert_eq!(train::<2>(&[], BITS, 1.0), flat);
        let sure: Vec<Sample<2>> = samples(70_000)
            .into_iter()
            .map(|s| Sample { yes: true, ..s })
            .collect();
        let trees = train(&sure, BITS, 1.0);
        assert!(cost(&trees, &sure) < 0.005, "{trees:?}");
    }

    #[test]
    fn judging_learns() {
        let mut learner = Learner::<2>::new(BITS);
        let samples = samples(60_000);
        let mut cost = |samples: &[Sample<2>]| {
            let bits = samples.iter().map(|s| learner.learn(&s.contexts, 0, s.yes));
            bits.sum::<f64>() / samples.len() as f64
        };
        cost(&samples[..40_000]);
        let late = cost(&samples[40_000..]);
        assert!(late < 0.75, "{late}");
    }
}
