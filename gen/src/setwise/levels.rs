//! The units of a material in an order in which they can be solved.
//!
//! What a man's step leads to has fewer rows to go, so units are solved in levels by the rows that
//! all men have to go, the fewest first. A unit is a pair of *groups*, one of each colour: a group
//! is one set of men or, where men also step sideways, all sets with as many men in each row.
//! Black's groups are the mirror images of White's, in the same order.

use std::ops::Range;

use dambase_rules::{Geometry, Rules, Side};
use dambase_tables::Material;

use super::word::Word;

/// The groups of one side's men.
#[derive(Debug)]
struct Groups<W> {
    sets: Vec<W>,
    /// The sets of each group, by the rows to go; groups of a level are neighbours.
    groups: Vec<Range<usize>>,
    /// The groups that have as many rows to go as the place in the list says.
    levels: Vec<Range<usize>>,
}

impl<W: Word> Groups<W> {
    fn new(rules: &Rules, side: Side, men: u8) -> Self {
        let geometry = rules.geometry;
        let rows = geometry.side();
        let row_masks: Vec<W> = (0..rows)
            .map(|r| W::from_wide(geometry.row_mask(r)))
            .collect();
        let mut sets = Vec::new();
        choose(W::EMPTY, men, geometry, &mut sets);
        let count = |set: W| {
            row_masks
                .iter()
                .map(move |&row| (set & row).count() as usize)
        };
        let left = |&set: &W| count(set).enumerate().map(|(r, n)| r * n).sum::<usize>();
        let sideways = rules.men_move_sideways();
        if sideways {
            sets.sort_by_cached_key(|set| (left(set), count(*set).collect::<Vec<_>>()));
        } else {
            sets.sort_by_cached_key(left);
        }
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut levels: Vec<Range<usize>> = Vec::new();
        for (i, &set) in sets.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if sideways && count(sets[group.start]).eq(count(set)) => {
                    group.end += 1;
                }
                _ => {
                    groups.push(i..i + 1);
                    let (group, left) = (groups.len() - 1, left(&set));
                    levels.resize(levels.len().max(left + 1), group..group);
                    levels[left].end += 1;
                }
            }
        }
        if side == Side::Black {
            for set in &mut sets {
                *set = set.reversed(geometry.squares());
            }
        }
        Self {
            sets,
            groups,
            levels,
        }
    }

    fn level(&self, left: usize) -> Range<usize> {
        self.levels.get(left).cloned().unwrap_or(0..0)
    }
}

/// All ways to put `men` more white men on squares behind those of `set`.
fn choose<W: Word>(set: W, men: u8, geometry: Geometry, out: &mut Vec<W>) {
    if men == 0 {
        out.push(set);
        return;
    }
    // White's men are crowned on the first row.
    let first = if set.is_empty() {
        geometry.per_row() as u8
    } else {
        set.last() + 1
    };
    for s in first..geometry.squares() as u8 {
        choose(set | W::bit(s), men - 1, geometry, out);
    }
}

/// The units of a material.
#[derive(Debug)]
pub(super) struct Levels<W> {
    groups: [Groups<W>; 2],
    /// A unit is solved together with its mirror image.
    symmetric: bool,
    geometry: Geometry,
}

/// The numbers of White's group and of Black's.
pub(super) type Unit = [usize; 2];

impl<W: Word> Levels<W> {
    pub(super) fn new(rules: &Rules, material: Material) -> Self {
        Self {
            groups: Side::BOTH.map(|side| Groups::new(rules, side, material.men[side as usize])),
            symmetric: material.is_symmetric(),
            geometry: rules.geometry,
        }
    }
    pub(super) fn geometry(&self) -> Geometry {
        self.geometry
    }
    /// Number of levels.
    pub(super) fn len(&self) -> usize {
        self.groups[0].levels.len() + self.groups[1].levels.len() - 1
    }
    /// All sets of one side's men, the most advanced first.
    pub(super) fn sets(&self, side: Side) -> &[W] {
        &self.groups[side as usize].sets
    }
    /// The numbers of White's sets that have `left` rows to go, and of Black's if both have the
    /// same number of men.
    pub(super) fn numbers(&self, left: usize) -> Range<usize> {
        let white = &self.groups[0];
        let groups = &white.groups[white.level(left)];
        match (groups.first(), groups.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
    /// Units of a level, those included that have no placement or are solved with another.
    pub(super) fn units(&self, level: usize) -> usize {
        let [white, black] = &self.groups;
        (0..=level)
            .map(|left| white.level(left).len() * black.level(level - left).len())
            .sum()
    }
    /// Calls `f` for the units of a level with the numbers of `range`.
    ///
    /// # Errors
    /// The first of `f`.
    pub(super) fn try_for_each<E>(
        &self,
        level: usize,
        range: Range<usize>,
        mut f: impl FnMut(Unit) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut skip = range.start;
        let mut count = range.len();
        for left in 0..=level {
            let white = self.groups[0].level(left);
            let black = self.groups[1].level(level - left);
            let pairs = white.len() * black.len();
            if skip >= pairs {
                skip -= pairs;
                continue;
            }
            let mut unit = [
                white.start + skip / black.len(),
                black.start + skip % black.len(),
            ];
            for _ in 0..count.min(pairs - skip) {
                if !self.symmetric || unit[0] <= unit[1] {
                    f(unit)?;
                }
                unit[1] += 1;
                if unit[1] == black.end {
                    unit = [unit[0] + 1, black.start];
                }
            }
            count -= count.min(pairs - skip);
            skip = 0;
            if count == 0 {
                break;
            }
        }
        Ok(())
    }
    /// The placements `[white, black]` of the men in a unit.
    pub(super) fn men(&self, unit: Unit, men: &mut Vec<[W; 2]>) {
        let [white, black] = [0, 1].map(|side| {
            let groups = &self.groups[side];
            &groups.sets[groups.groups[unit[side]].clone()]
        });
        men.clear();
        for &w in white {
            men.extend(
                black
                    .iter()
                    .filter(|&&b| (w & b).is_empty())
                    .map(|&b| [w, b]),
            );
        }
    }
    /// Whether a unit of a symmetric material has a mirror image apart from itself.
    pub(super) fn has_mirror(&self, unit: Unit) -> bool {
        self.symmetric && unit[0] != unit[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::Variant;
    use dambase_tables::Index;

    fn check<W: Word>(variant: Variant, material: &str) {
        let rules = variant.rules();
        let material: Material = material.parse().unwrap();
        let index = Index::<W>::new(rules.geometry, material).unwrap();
        let levels = Levels::<W>::new(rules, material);
        let mut seen = vec![false; index.men_placements() as usize];
        let mut men = Vec::new();
        for level in 0..levels.len() {
            for at in (0..levels.units(level)).step_by(7) {
                let range = at..levels.units(level).min(at + 7);
                let done: Result<(), ()> = levels.try_for_each(level, range, |unit| {
                    levels.men(unit, &mut men);
                    for &m in &men {
                        let mut see = |m| {
                            let rank = index.men_rank(m) as usize;
                            assert_eq!(index.men(rank as u64), m);
                            assert!(!std::mem::replace(&mut seen[rank], true));
                        };
                        see(m);
                        if levels.has_mirror(unit) {
                            see([m[1], m[0]].map(|m| m.reversed(rules.geometry.squares())));
                        }
                    }
                    Ok(())
                });
                assert_eq!(done, Ok(()));
            }
        }
        assert!(seen.iter().all(|&s| s));
    }

    #[test]
    fn every_placement_comes_once() {
        check::<u32>(Variant::English, "KMMvKMM");
        check::<u32>(Variant::English, "KMMvM");
        check::<u64>(Variant::International, "KMvKMM");
        check::<u64>(Variant::Turkish, "KMMvKMM");
        check::<u64>(Variant::Turkish, "KMvMM");
        check::<u128>(Variant::Canadian, "KMvM");
        check::<u32>(Variant::English, "KKvK");
    }
}
