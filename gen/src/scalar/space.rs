//! In which order the placements of men are solved.
//!
//! Men only go forward, so a placement needs those that are further advanced. Where men also step
//! sideways (the Turkish family) the placements with as many men in each row need one another and
//! make one group; elsewhere every placement is a group of its own.

use std::ops::Range;

use dambase_rules::{Bits, Rules};

/// All placements of the men of one colour, by advancement.
pub(crate) struct MenSets<W> {
    /// The placements, group by group, ordered inside a group.
    pub(crate) sets: Vec<W>,
    /// Which of [`Self::sets`] make a group.
    pub(crate) groups: Vec<Range<usize>>,
    /// Which groups have an advancement.
    pub(crate) levels: Vec<Range<usize>>,
}

impl<W: Bits> MenSets<W> {
    /// The placements of `men` white men.
    pub(crate) fn white(rules: &Rules, men: u8) -> Self {
        let g = rules.geometry;
        let start = g.per_row() as u8;
        let squares = g.squares() as u8;
        let mut keyed = Vec::new();
        let mut chosen = Vec::new();
        subsets(start, squares, men, &mut chosen, &mut |chosen| {
            let mut rows = [0_u8; 12];
            let mut advanced = 0;
            let mut set = W::EMPTY;
            for &s in chosen {
                let (r, _) = g.row_column(s);
                rows[r] += 1;
                advanced += g.side() - 1 - r;
                set |= W::bit(s);
            }
            keyed.push((advanced, rows, set));
        });
        if !rules.men_move_sideways() {
            for k in &mut keyed {
                k.1 = [0; 12];
            }
        }
        keyed.sort();
        let alone = !rules.men_move_sideways();
        let mut out = Self {
            sets: keyed.iter().map(|k| k.2).collect(),
            groups: Vec::new(),
            levels: vec![0..0; usize::from(men) * (g.side() - 2) + 1],
        };
        let mut i = 0;
        while i < keyed.len() {
            let (advanced, rows, _) = keyed[i];
            let mut end = i + 1;
            while !alone && end < keyed.len() && (keyed[end].0, keyed[end].1) == (advanced, rows) {
                end += 1;
            }
            let n = out.groups.len();
            let level = &mut out.levels[advanced];
            if level.start == level.end {
                *level = n..n;
            }
            level.end = n + 1;
            out.groups.push(i..end);
            i = end;
        }
        out
    }
}

fn subsets(from: u8, to: u8, k: u8, chosen: &mut Vec<u8>, f: &mut impl FnMut(&[u8])) {
    if k == 0 {
        f(chosen);
        return;
    }
    for s in from..to {
        chosen.push(s);
        subsets(s + 1, to, k - 1, chosen, f);
        chosen.pop();
    }
}

/// Some units with one group of white men and consecutive groups of black men.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) white: usize,
    pub(crate) black: Range<usize>,
}

/// The units of one level of total advancement, in chunks of `most` units at most. In symmetric
/// material only one unit of a mirrored pair is listed.
pub(crate) fn chunks<W>(
    white: &MenSets<W>,
    black: &MenSets<W>,
    level: usize,
    symmetric: bool,
    most: usize,
) -> Vec<Chunk> {
    let mut out = Vec::new();
    for (a, groups) in white.levels.iter().enumerate().take(level + 1) {
        let Some(partners) = black.levels.get(level - a) else {
            continue;
        };
        for w in groups.clone() {
            let mut start = partners.start;
            if symmetric {
                start = start.max(w);
            }
            while start < partners.end {
                let end = (start + most).min(partners.end);
                out.push(Chunk {
                    white: w,
                    black: start..end,
                });
                start = end;
            }
        }
    }
    out
}

/// All subsets of `k` of `n` things in colexicographic order, eight bits a member, lowest first.
pub(crate) fn combinations(n: usize, k: usize) -> Vec<u64> {
    let mut out = Vec::new();
    let mut c: Vec<usize> = (0..k).collect();
    if k > n || k > 8 {
        return out;
    }
    loop {
        out.push(c.iter().rev().fold(0, |p, &i| p << 8 | i as u64));
        let Some(i) = (0..k).find(|&i| c[i] + 1 < *c.get(i + 1).unwrap_or(&n)) else {
            return out;
        };
        c[i] += 1;
        for (j, low) in c[..i].iter_mut().enumerate() {
            *low = j;
        }
    }
}
