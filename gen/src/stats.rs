//! Counts over finished slices.

use dambase_rules::{Ruleset, Side, Variant, WithRuleset};
use dambase_rules::{movegen::has_capture, position::decided};
use dambase_tables::{Dtw, Index, Material, Value, Wld};

use crate::{Error, Solved, parallel};

/// The longest distance in a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Longest {
    /// Plies to the end of the game.
    pub plies: Dtw,
    /// The lowest index with that distance.
    pub index: u64,
}

/// Counts of one slice. The slice of the mirrored material with the other side to move has the
/// same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceStats {
    /// The canonical material.
    pub material: Material,
    /// The side to move.
    pub side: Side,
    /// All positions.
    pub positions: u64,
    /// Positions won for the side to move.
    pub wins: u64,
    /// Positions lost for the side to move.
    pub losses: u64,
    /// The others.
    pub draws: u64,
    /// Positions in which the side to move must capture; none where the game is over.
    pub captures: u64,
    /// Won positions in which the side to move need not capture.
    pub quiet_wins: u64,
    /// Lost positions in which the side to move need not capture.
    pub quiet_losses: u64,
    /// The longest win; none without wins or without distances.
    pub longest_win: Option<Longest>,
    /// The longest loss; none without losses or without distances.
    pub longest_loss: Option<Longest>,
    /// `win_plies[n]`: positions won in `n` plies; empty without distances.
    pub win_plies: Vec<u64>,
    /// `loss_plies[n]`: positions lost in `n` plies; empty without distances.
    pub loss_plies: Vec<u64>,
}

impl SliceStats {
    const fn new(material: Material, side: Side) -> Self {
        Self {
            material,
            side,
            positions: 0,
            wins: 0,
            losses: 0,
            draws: 0,
            captures: 0,
            quiet_wins: 0,
            quiet_losses: 0,
            longest_win: None,
            longest_loss: None,
            win_plies: Vec::new(),
            loss_plies: Vec::new(),
        }
    }

    fn count(&mut self, wld: Wld, capture: bool) {
        self.positions += 1;
        self.captures += u64::from(capture);
        match wld {
            Wld::Draw => self.draws += 1,
            Wld::Win => {
                self.wins += 1;
                self.quiet_wins += u64::from(!capture);
            }
            Wld::Loss => {
                self.losses += 1;
                self.quiet_losses += u64::from(!capture);
            }
        }
    }

    fn count_distance(&mut self, index: u64, value: Value) {
        let (plies, longest, histogram) = match value {
            Value::Draw => return,
            Value::Win(d) => (d, &mut self.longest_win, &mut self.win_plies),
            Value::Loss(d) => (d, &mut self.longest_loss, &mut self.loss_plies),
        };
        let n = usize::from(plies.0);
        if histogram.len() <= n {
            histogram.resize(n + 1, 0);
        }
        histogram[n] += 1;
        keep_longest(longest, Some(Longest { plies, index }));
    }

    /// Adds the counts of a later part of the slice.
    fn merge(mut self, later: Self) -> Self {
        self.positions += later.positions;
        self.wins += later.wins;
        self.losses += later.losses;
        self.draws += later.draws;
        self.captures += later.captures;
        self.quiet_wins += later.quiet_wins;
        self.quiet_losses += later.quiet_losses;
        keep_longest(&mut self.longest_win, later.longest_win);
        keep_longest(&mut self.longest_loss, later.longest_loss);
        add(&mut self.win_plies, &later.win_plies);
        add(&mut self.loss_plies, &later.loss_plies);
        self
    }
}

fn keep_longest(longest: &mut Option<Longest>, later: Option<Longest>) {
    if let Some(l) = later
        && longest.is_none_or(|a| (l.plies, a.index) > (a.plies, l.index))
    {
        *longest = later;
    }
}

fn add(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    for (sum, n) in sums.iter_mut().zip(more) {
        *sum += n;
    }
}

/// Counts every slice of a finished material, in the order of [`Material::sides`].
///
/// # Errors
/// [`Error::TooLarge`] if the material cannot be numbered.
pub fn statistics<R: Ruleset>(solved: &Solved) -> Result<Vec<SliceStats>, Error> {
    const PART: u64 = 1 << 16;
    let material = solved.material;
    let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
    let sides = material.sides().iter().enumerate();
    sides
        .map(|(s, &side)| {
            let parts = index.positions().div_ceil(PART) as usize;
            let parts = parallel::collect(parts, &|part| {
                let part = part as u64;
                let mut stats = SliceStats::new(material, side);
                for i in part * PART..((part + 1) * PART).min(index.positions()) {
                    let b = index.board(i);
                    let capture = decided::<R>(&b).is_none() && has_capture::<R>(&b, side);
                    stats.count(solved.wld[s].get(i), capture);
                    if let Some(dtw) = &solved.dtw {
                        stats.count_distance(i, dtw[s].get(i));
                    }
                }
                Ok(stats)
            })?;
            let all = SliceStats::new(material, side);
            Ok(parts.into_iter().fold(all, SliceStats::merge))
        })
        .collect()
}

/// [`statistics`] for a code chosen at run time.
///
/// # Errors
/// As [`statistics`].
pub fn statistics_variant(variant: Variant, solved: &Solved) -> Result<Vec<SliceStats>, Error> {
    struct Count<'a>(&'a Solved);
    impl WithRuleset for Count<'_> {
        type Output = Result<Vec<SliceStats>, Error>;
        fn run<R: Ruleset>(self) -> Self::Output {
            statistics::<R>(self.0)
        }
    }
    variant.with(Count(solved))
}
