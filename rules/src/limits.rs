//! Draw limits as data: which clocks a code has, where each runs, what starts it again.
//!
//! The exact meaning is that of docs/rules.md, chapter "Draw limits". A limit of N moves is N
//! moves by each side, 2N plies, whoever began. **One clock governs a position**: that of its
//! material if there is one, else the quiet clock; the Russian long diagonal is a second clock on
//! top of it, and the 30 and 60 moves of Russian, if they are on, are one beside the quiet clock. What is left of a clock, and how moves change it, is in [`crate::clocks`].
//!
//! Limits do not change which moves are legal, so they are no part of [`Rules::fingerprint`]; a
//! table that depends on them records [`LimitSet::hash`].
//!
//! [`Rules::fingerprint`]: crate::Rules::fingerprint

use std::fmt;

use crate::bits::Bits;
use crate::board::Board;
use crate::ruleset::Fnv;
use crate::variant::Variant;

/// One draw limit of a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Its name: `16-move`, `long-diagonal` ...
    pub name: &'static str,
    /// Moves of each side; the clock has twice as many plies.
    pub moves: u16,
    /// Where it runs.
    pub runs: Runs,
    /// The limit whose clock runs on when this limit's material arises from that limit's: the
    /// earlier of the two ends the game (International: 16 moves, then 5).
    pub within: Option<&'static str>,
    /// Whether every change of material starts the clock again, also inside this limit's own
    /// materials.
    pub each_fresh: bool,
    /// Whether the limit is on unless asked for otherwise.
    pub by_default: bool,
}

impl Limit {
    /// A limit that is on by default, stands alone, and is started once.
    #[must_use]
    pub const fn new(name: &'static str, moves: u16, runs: Runs) -> Self {
        Self {
            name,
            moves,
            runs,
            within: None,
            each_fresh: false,
            by_default: true,
        }
    }
    /// Plies of the full clock: twice the moves.
    #[must_use]
    pub const fn plies(&self) -> u16 {
        2 * self.moves
    }
}

/// Where a clock runs and what starts it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// In every position that no material clock governs; a capture or a man's move by either side
    /// starts it again.
    Quiet,
    /// In these materials, for either side. Every ply counts and nothing inside starts it again.
    Material(&'static [Class]),
    /// In positions with `pieces` pieces including a king against a lone king, while the lone
    /// king stands on one of `squares` and no other piece does. It starts in the position in which
    /// this comes about and is dropped when it ceases.
    Diagonal {
        /// The pieces of the strong side.
        pieces: u8,
        /// The line.
        squares: u128,
    },
    /// In positions with `least` to `most` pieces and kings on both sides, but not where a material
    /// clock governs. Every ply counts, a man's too; a capture or a crowning starts it again. It runs
    /// beside the quiet clock, and the earlier one ends the game.
    Unchanged {
        /// Fewest pieces on the board.
        least: u8,
        /// Most pieces on the board.
        most: u8,
    },
}

/// A class of materials, with either colour as the first side. Numbers are `[kings, men]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// From `least` to `most` pieces including a king against a king and nothing else.
    LoneKing {
        /// Fewest pieces.
        least: u8,
        /// Most pieces.
        most: u8,
    },
    /// At least so many kings and nothing else against a king and nothing else.
    Kings {
        /// Fewest kings.
        least: u8,
    },
    /// Exactly these pieces against those.
    Exactly([u8; 2], [u8; 2]),
}

impl Class {
    const fn holds(self, one: [u8; 2], other: [u8; 2]) -> bool {
        let lone = other[0] == 1 && other[1] == 0;
        match self {
            Self::LoneKing { least, most } => {
                let pieces = one[0] + one[1];
                lone && one[0] > 0 && pieces >= least && pieces <= most
            }
            Self::Kings { least } => lone && one[1] == 0 && one[0] >= least,
            Self::Exactly(a, b) => {
                one[0] == a[0] && one[1] == a[1] && other[0] == b[0] && other[1] == b[1]
            }
        }
    }
}

/// English (3.3), Italian (3.7): 40 moves without capture or man's move.
pub const FORTY: &[Limit] = &[Limit::new("40-move", 40, Runs::Quiet)];

/// Spanish (3.8): 20 king moves.
pub const TWENTY: &[Limit] = &[Limit::new("20-move", 20, Runs::Quiet)];

/// International (3.2), Canadian (3.13).
pub const INTERNATIONAL: &[Limit] = &[
    Limit::new(
        "16-move",
        16,
        Runs::Material(&[Class::LoneKing { least: 3, most: 3 }]),
    ),
    Limit {
        within: Some("16-move"),
        ..FIVE
    },
    Limit::new("25-move", 25, Runs::Quiet),
];

/// One or two pieces with a king against a lone king.
const FIVE: Limit = Limit::new(
    "5-move",
    5,
    Runs::Material(&[Class::LoneKing { least: 1, most: 2 }]),
);

/// The squares a1 to h8 of the 8x8 board with a dark corner at the left.
const LONG_DIAGONAL: u128 =
    1 << 3 | 1 << 7 | 1 << 10 | 1 << 14 | 1 << 17 | 1 << 21 | 1 << 24 | 1 << 28;

/// As long as the material stays the same: an extra.
const fn unchanged(name: &'static str, moves: u16, least: u8, most: u8) -> Limit {
    Limit {
        each_fresh: true,
        by_default: false,
        ..Limit::new(name, moves, Runs::Unchanged { least, most })
    }
}

/// Russian (3.4). The long diagonal is part of the code's default, the 30 and the 60 moves with kings
/// on both sides are extras.
pub const RUSSIAN: &[Limit] = &[
    Limit::new(
        "long-diagonal",
        5,
        Runs::Diagonal {
            pieces: 3,
            squares: LONG_DIAGONAL,
        },
    ),
    Limit::new(
        "three-kings",
        15,
        Runs::Material(&[Class::Kings { least: 3 }]),
    ),
    FIVE,
    Limit::new("15-move", 15, Runs::Quiet),
    unchanged("30-move", 30, 4, 5),
    unchanged("60-move", 60, 6, 7),
];

/// Pool (3.5).
pub const POOL: &[Limit] = &[
    Limit::new(
        "13-move",
        13,
        Runs::Material(&[Class::Exactly([3, 0], [1, 0])]),
    ),
    Limit::new("15-move", 15, Runs::Quiet),
];

const BRAZILIAN_LIST: Runs = Runs::Material(&[
    Class::Exactly([2, 0], [2, 0]),
    Class::Exactly([2, 0], [1, 0]),
    Class::Exactly([2, 0], [1, 1]),
    Class::Exactly([1, 0], [1, 0]),
    Class::Exactly([1, 0], [1, 1]),
]);

/// Brazilian (3.6). The list of materials has one clock; as an extra each of them has its own.
pub const BRAZILIAN: &[Limit] = &[
    Limit {
        each_fresh: true,
        by_default: false,
        ..Limit::new("5-move-each-fresh", 5, BRAZILIAN_LIST)
    },
    Limit::new("5-move", 5, BRAZILIAN_LIST),
    Limit::new("20-move", 20, Runs::Quiet),
];

/// Frisian (3.12): no clock but in two kings against one and one against one.
pub const FRISIAN: &[Limit] = &[
    Limit::new(
        "7-move",
        7,
        Runs::Material(&[Class::Exactly([2, 0], [1, 0])]),
    ),
    Limit::new(
        "2-move",
        2,
        Runs::Material(&[Class::Exactly([1, 0], [1, 0])]),
    ),
];

/// What is wrong with a limit or a clock given from outside.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The code has no limit of that name.
    #[error("{variant} has no draw limit \"{name}\"; {}", known(*variant))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The code.
        variant: Variant,
    },
    /// The limit is switched off.
    #[error("the draw limit {name} is switched off; add it to the limits to use its clock")]
    Off {
        /// The limit.
        name: &'static str,
    },
    /// More plies than the limit has.
    #[error("the {name} clock has {most} plies, so {plies} cannot have run")]
    TooMany {
        /// The limit.
        name: &'static str,
        /// Plies said to have run.
        plies: u64,
        /// Plies of the full clock.
        most: u16,
    },
    /// The clock does not run in this position.
    #[error("the {name} clock cannot run in {place}{}", governs(*governing))]
    CannotRun {
        /// The limit.
        name: &'static str,
        /// The material, and why it matters.
        place: String,
        /// The clock that governs the position, if any.
        governing: Option<&'static str>,
    },
    /// One clock is given twice.
    #[error("the {name} clock is given twice")]
    Twice {
        /// The limit.
        name: &'static str,
    },
    /// The text is no `NAME=PLIES`.
    #[error("\"{0}\" is no clock; write NAME=PLIES, for example 16-move=26")]
    Malformed(String),
}

fn known(variant: Variant) -> String {
    let names: Vec<_> = variant.rules().limits.iter().map(|l| l.name).collect();
    if names.is_empty() {
        "it has none at all".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    }
}

fn governs(governing: Option<&'static str>) -> String {
    governing.map_or_else(
        || ", where none does".to_owned(),
        |g| format!(", which {g} governs"),
    )
}

/// A clock of a code: the number of its limit in [`crate::Rules::limits`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clock(u8);

/// How the need of a position follows from that of a successor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// No clock runs before the move.
    NoClock,
    /// The clock before the move only has to allow the move: what runs after it is fresh.
    Fresh,
    /// The clock runs on through the move: it has lost one ply, and is cut to the full clock of
    /// the material entered.
    RunsOn,
}

impl Link {
    /// Fewest plies before the move with which it keeps what is decided with `need` plies after
    /// it.
    #[inline(always)]
    #[must_use]
    pub const fn need(self, need: u16) -> u16 {
        match self {
            Self::NoClock => 0,
            Self::Fresh => 1,
            Self::RunsOn => need + 1,
        }
    }
}

/// The limits in force: those of one code, some of them switched off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LimitSet {
    variant: Variant,
    on: u16,
}

impl LimitSet {
    /// The default limits of a code.
    #[must_use]
    pub fn of(variant: Variant) -> Self {
        let mut set = Self::none(variant);
        for (i, limit) in variant.rules().limits.iter().enumerate() {
            set.on |= u16::from(limit.by_default) << i;
        }
        set
    }
    /// No limits at all.
    #[must_use]
    pub const fn none(variant: Variant) -> Self {
        Self { variant, on: 0 }
    }
    /// Reads a list of limits, separated by commas: names to be on, or `no-NAME` to be off.
    /// `default` and `none` stand for those sets; a list that begins with `no-` begins with the
    /// default.
    ///
    /// # Errors
    /// [`LimitError::Unknown`] for a name the code does not have.
    pub fn parse(variant: Variant, text: &str) -> Result<Self, LimitError> {
        let mut set = Self::none(variant);
        for (i, word) in text.split(',').map(str::trim).enumerate() {
            match (word, word.strip_prefix("no-")) {
                ("default", _) => set.on |= Self::of(variant).on,
                ("none", _) => set.on = 0,
                (_, Some(name)) => {
                    if i == 0 {
                        set = Self::of(variant);
                    }
                    set = set.without(name)?;
                }
                (name, None) => set = set.with(name)?,
            }
        }
        Ok(set)
    }
    /// The same limits and the one with that name.
    ///
    /// # Errors
    /// [`LimitError::Unknown`] for a name the code does not have.
    pub fn with(mut self, name: &str) -> Result<Self, LimitError> {
        self.on |= 1 << self.find(name)?.0;
        Ok(self)
    }
    /// The same limits except the one with that name.
    ///
    /// # Errors
    /// [`LimitError::Unknown`] for a name the code does not have.
    pub fn without(mut self, name: &str) -> Result<Self, LimitError> {
        self.on &= !(1 << self.find(name)?.0);
        Ok(self)
    }
    /// The clock with a name, on or off.
    ///
    /// # Errors
    /// [`LimitError::Unknown`] for a name the code does not have.
    pub fn find(&self, name: &str) -> Result<Clock, LimitError> {
        let limits = self.variant.rules().limits;
        let found = limits
            .iter()
            .position(|l| l.name.eq_ignore_ascii_case(name));
        found
            .map(|i| Clock(i as u8))
            .ok_or_else(|| LimitError::Unknown {
                name: name.to_owned(),
                variant: self.variant,
            })
    }
    /// The limits of a code with a [hash](Self::hash); nothing if no choice among them has it.
    #[must_use]
    pub fn from_hash(variant: Variant, hash: u64) -> Option<Self> {
        let default = Self::of(variant);
        let all = 1_u16 << variant.rules().limits.len();
        std::iter::once(default)
            .chain((0..all).map(|on| Self { variant, on }))
            .find(|set| set.hash() == hash)
    }
    /// The code.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }
    /// True if no limit is on: the rule-aware value is that without limits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.on == 0
    }
    /// Whether a clock is on.
    #[must_use]
    pub const fn is_on(&self, clock: Clock) -> bool {
        self.on >> clock.0 & 1 != 0
    }
    /// The limit of a clock.
    #[must_use]
    pub fn limit(&self, clock: Clock) -> &'static Limit {
        &self.variant.rules().limits[usize::from(clock.0)]
    }
    /// The limits that are on, in the order of the code.
    pub fn limits(&self) -> impl Iterator<Item = &'static Limit> + use<> {
        let on = self.on;
        let all = self.variant.rules().limits.iter().enumerate();
        all.filter(move |(i, _)| on >> i & 1 != 0).map(|(_, l)| l)
    }
    fn clocks(&self) -> impl Iterator<Item = (Clock, &'static Limit)> + use<> {
        let on = self.on;
        let all = self.variant.rules().limits.iter().enumerate();
        all.filter(move |(i, _)| on >> i & 1 != 0)
            .map(|(i, l)| (Clock(i as u8), l))
    }

    /// The clock of a material, given its `[white, black]` kings and men: its own, else the quiet
    /// clock, else that of [`Runs::Unchanged`]. The long diagonal is not looked at.
    #[must_use]
    pub fn of_material(&self, kings: [u8; 2], men: [u8; 2]) -> Option<Clock> {
        let sides = [[kings[0], men[0]], [kings[1], men[1]]];
        let mut quiet = None;
        let mut unchanged = None;
        for (clock, limit) in self.clocks() {
            match limit.runs {
                Runs::Quiet => quiet = Some(clock),
                Runs::Material(classes) => {
                    let holds =
                        |c: &Class| c.holds(sides[0], sides[1]) || c.holds(sides[1], sides[0]);
                    if classes.iter().any(holds) {
                        return Some(clock);
                    }
                }
                Runs::Unchanged { least, most } => {
                    let pieces: u8 = kings.iter().chain(&men).sum();
                    if kings[0].min(kings[1]) > 0 && (least..=most).contains(&pieces) {
                        unchanged = Some(clock);
                    }
                }
                Runs::Diagonal { .. } => {}
            }
        }
        quiet.or(unchanged)
    }

    /// The clock of a material that has one of its own.
    #[must_use]
    pub fn own_clock(&self, kings: [u8; 2], men: [u8; 2]) -> Option<Clock> {
        let clock = self.of_material(kings, men);
        clock.filter(|c| matches!(self.limit(*c).runs, Runs::Material(_)))
    }

    /// The clock of [`Runs::Unchanged`] that runs beside the quiet clock of a material.
    ///
    /// A material clock leaves no room for it: it can never be the earlier one there. It is fresh
    /// whenever the material changes, so it is never behind, and its budget is not smaller.
    #[must_use]
    pub fn beside_of(&self, kings: [u8; 2], men: [u8; 2]) -> Option<Clock> {
        let (governing, mut without) = (self.of_material(kings, men)?, *self);
        if self.limit(governing).runs != Runs::Quiet {
            return None;
        }
        without.on &= !(1 << governing.0);
        without.of_material(kings, men)
    }

    /// Whether a position of a material can be won with some plies left on the clocks of
    /// [`Self::beside_of`] and lost or drawn with others, so that one number is not enough: with men,
    /// whose moves start the quiet clock again and not the other, and where the long diagonal's clock
    /// runs on top of them. Elsewhere both begin together and run down together, so the earlier one
    /// is all that counts.
    #[must_use]
    pub fn has_pairs(&self, kings: [u8; 2], men: [u8; 2]) -> bool {
        self.beside_of(kings, men).is_some()
            && (men[0] + men[1] > 0 || self.diagonal_of(kings, men).is_some())
    }

    /// The long diagonal's clock, if it can run in a material at all.
    #[must_use]
    pub fn diagonal_of(&self, kings: [u8; 2], men: [u8; 2]) -> Option<Diagonal> {
        self.clocks().find_map(|(clock, limit)| {
            let Runs::Diagonal { pieces, squares } = limit.runs else {
                return None;
            };
            let class = Class::LoneKing {
                least: pieces,
                most: pieces,
            };
            (0..2).find_map(|strong| {
                let weak = 1 - strong;
                let holds = class.holds([kings[strong], men[strong]], [kings[weak], men[weak]]);
                holds.then_some(Diagonal {
                    clock,
                    strong,
                    squares,
                })
            })
        })
    }

    /// The clocks that run in a position: the one that governs it, and the one that runs on
    /// beneath the long diagonal's.
    #[must_use]
    pub fn running<W: Bits>(&self, board: &Board<W>) -> Running {
        let [kings, men] = counts(board);
        let base = self.of_material(kings, men);
        let beside = self.beside_of(kings, men);
        match self.diagonal_of(kings, men) {
            Some(d) if d.holds(board) => Running {
                governing: Some(d.clock),
                beneath: base,
                beside,
            },
            _ => Running {
                governing: base,
                beneath: None,
                beside,
            },
        }
    }

    /// How the clock of one material goes on in another (or the same). `zeroing`: the move is a
    /// capture or a man's move. The long diagonal is not looked at.
    #[must_use]
    pub fn link(&self, before: [[u8; 2]; 2], after: [[u8; 2]; 2], zeroing: bool) -> Link {
        let Some(old) = self.of_material(before[0], before[1]) else {
            return Link::NoClock;
        };
        let Some(new) = self.of_material(after[0], after[1]) else {
            return Link::Fresh;
        };
        let limit = self.limit(new);
        let runs_on = if old == new {
            match limit.runs {
                Runs::Quiet => !zeroing,
                _ => !limit.each_fresh || before == after,
            }
        } else {
            limit.within == Some(self.limit(old).name)
        };
        if runs_on { Link::RunsOn } else { Link::Fresh }
    }

    /// A stable fingerprint of the limits that are on: their names, lengths, and where they run.
    /// It stands in the header of rule-aware tables.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut h = Fnv::START.byte(1); // version of this list
        for limit in self.limits() {
            h = h.text(limit.name).word(limit.moves.into());
            h = match limit.runs {
                Runs::Quiet => h.byte(0),
                Runs::Material(classes) => {
                    classes
                        .iter()
                        .fold(h.byte(1).byte(classes.len() as u8), |h, c| match *c {
                            Class::LoneKing { least, most } => h.byte(0).byte(least).byte(most),
                            Class::Kings { least } => h.byte(1).byte(least),
                            Class::Exactly(a, b) => {
                                let h = h.byte(2).byte(a[0]).byte(a[1]);
                                h.byte(b[0]).byte(b[1])
                            }
                        })
                }
                Runs::Diagonal { pieces, squares } => h
                    .byte(2)
                    .byte(pieces)
                    .word(squares as u64)
                    .word((squares >> 64) as u64),
                Runs::Unchanged { least, most } => h.byte(3).byte(least).byte(most),
            };
            h = h
                .text(limit.within.unwrap_or(""))
                .byte(limit.each_fresh.into());
        }
        h.0
    }
}

impl fmt::Display for LimitSet {
    /// The names of the limits that are on, separated by commas, or `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.limits().map(|l| l.name).collect();
        if names.is_empty() {
            f.pad("none")
        } else {
            f.pad(&names.join(","))
        }
    }
}

/// The clocks that run in one position: one in most codes, up to three in Russian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Running {
    /// The clock that governs it.
    pub governing: Option<Clock>,
    /// The clock of its material, where the long diagonal's governs.
    pub beneath: Option<Clock>,
    /// The clock of [`Runs::Unchanged`], where the clock of the material is the quiet one.
    pub beside: Option<Clock>,
}

/// The long diagonal's clock in a material where it can run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Diagonal {
    /// The clock.
    pub clock: Clock,
    /// The side with more than a lone king: 0 for White, 1 for Black.
    strong: usize,
    squares: u128,
}

impl Diagonal {
    /// Whether it runs in a position of this material.
    #[inline(always)]
    #[must_use]
    pub fn holds<W: Bits>(&self, board: &Board<W>) -> bool {
        let line = W::from_wide(self.squares);
        let strong = board.men[self.strong] | board.kings[self.strong];
        !(board.kings[1 - self.strong] & line).is_empty() && (strong & line).is_empty()
    }
}

/// The `[white, black]` kings and men of a placement.
#[inline]
#[must_use]
pub fn counts<W: Bits>(board: &Board<W>) -> [[u8; 2]; 2] {
    [
        board.kings.map(|s| s.count() as u8),
        board.men.map(|s| s.count() as u8),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(set: &LimitSet, kings: [u8; 2], men: [u8; 2]) -> Option<&'static str> {
        set.of_material(kings, men).map(|c| set.limit(c).name)
    }

    #[test]
    fn every_code_has_the_limits_of_the_rules() {
        let names = |v: Variant| {
            let mut all: Vec<_> = LimitSet::of(v)
                .limits()
                .map(|l| (l.name, l.plies()))
                .collect();
            all.sort_unstable();
            all
        };
        let international = vec![("16-move", 32), ("25-move", 50), ("5-move", 10)];
        for (variant, wanted) in [
            (Variant::German, vec![]),
            (Variant::International, international.clone()),
            (Variant::Canadian, international),
            (Variant::English, vec![("40-move", 80)]),
            (Variant::Italian, vec![("40-move", 80)]),
            (
                Variant::Russian,
                vec![
                    ("15-move", 30),
                    ("5-move", 10),
                    ("long-diagonal", 10),
                    ("three-kings", 30),
                ],
            ),
            (Variant::Pool, vec![("13-move", 26), ("15-move", 30)]),
            (Variant::Brazilian, vec![("20-move", 40), ("5-move", 10)]),
            (Variant::Spanish, vec![("20-move", 40)]),
            (Variant::SpanishFederation, vec![("20-move", 40)]),
            (Variant::Frisian, vec![("2-move", 4), ("7-move", 14)]),
            (
                Variant::FrisianFederation,
                vec![("2-move", 4), ("7-move", 14)],
            ),
            (Variant::Turkish, vec![]),
            (Variant::Armenian, vec![]),
            (Variant::Greek, vec![]),
            (Variant::Poddavki, vec![]),
            (Variant::Breakthrough, vec![]),
        ] {
            assert_eq!(names(variant), wanted, "{variant}");
        }
    }

    #[test]
    fn one_clock_governs() {
        let international = LimitSet::of(Variant::International);
        for (kings, men, wanted) in [
            ([3, 1], [0, 0], "16-move"),
            ([1, 2], [0, 1], "16-move"),
            ([1, 1], [2, 0], "16-move"),
            ([0, 1], [3, 0], "25-move"),
            ([2, 1], [0, 0], "5-move"),
            ([1, 1], [0, 1], "5-move"),
            ([1, 1], [0, 0], "5-move"),
            ([0, 1], [2, 0], "25-move"),
            ([1, 0], [0, 1], "25-move"),
            ([4, 1], [0, 0], "25-move"),
            ([2, 2], [0, 0], "25-move"),
        ] {
            assert_eq!(name(&international, kings, men), Some(wanted));
            let turned = ([kings[1], kings[0]], [men[1], men[0]]);
            assert_eq!(name(&international, turned.0, turned.1), Some(wanted));
        }
        let brazilian = LimitSet::of(Variant::Brazilian);
        assert_eq!(name(&brazilian, [1, 2], [1, 0]), Some("5-move"));
        assert_eq!(name(&brazilian, [1, 1], [1, 1]), Some("20-move"));
        let fresh = LimitSet::parse(Variant::Brazilian, "default,5-move-each-fresh").unwrap();
        assert_eq!(name(&fresh, [1, 2], [1, 0]), Some("5-move-each-fresh"));
        let (two, one) = ([[2, 1], [0, 0]], [[1, 1], [0, 0]]);
        assert_eq!(brazilian.link(two, one, true), Link::RunsOn);
        assert_eq!(fresh.link(two, one, true), Link::Fresh);
        assert_eq!(fresh.link(two, two, false), Link::RunsOn);
        let russian = LimitSet::of(Variant::Russian);
        let three = [[3, 1], [0, 0]];
        assert_eq!(name(&russian, [5, 1], [0, 0]), Some("three-kings"));
        assert_eq!(russian.link([[4, 1], [0, 0]], three, true), Link::RunsOn);
        assert_eq!(russian.link(three, two, true), Link::Fresh);
        assert_eq!(international.link(three, two, true), Link::RunsOn);
        // The 30 and 60 moves run beside the quiet clock, where no material clock does.
        assert_eq!(russian.beside_of([2, 2], [0, 0]), None);
        let both = LimitSet::parse(Variant::Russian, "default,30-move,60-move").unwrap();
        let beside = |set: &LimitSet, kings, men| {
            let clock = set.beside_of(kings, men);
            clock.map(|c| set.limit(c).name)
        };
        for (kings, men, wanted) in [
            ([2, 2], [0, 0], Some("30-move")),
            ([1, 1], [2, 1], Some("30-move")),
            ([2, 1], [1, 0], Some("30-move")),
            ([3, 1], [0, 0], None),
            ([1, 1], [1, 0], None),
            ([2, 0], [1, 2], None),
            ([3, 1], [1, 1], Some("60-move")),
            ([1, 1], [3, 2], Some("60-move")),
            ([1, 1], [3, 3], None),
        ] {
            assert_eq!(beside(&both, kings, men), wanted, "{kings:?} {men:?}");
        }
        let alone = LimitSet::parse(Variant::Russian, "30-move").unwrap();
        assert_eq!(name(&alone, [3, 1], [0, 0]), Some("30-move"));
        assert_eq!(beside(&alone, [2, 2], [0, 0]), None);
        let (before, crowned) = ([[1, 1], [2, 0]], [[2, 1], [1, 0]]);
        assert_eq!(alone.link(before, before, true), Link::RunsOn);
        assert_eq!(alone.link(before, crowned, true), Link::Fresh);
        let frisian = LimitSet::of(Variant::Frisian);
        assert_eq!(name(&frisian, [3, 1], [0, 0]), None);
        assert_eq!(frisian.link(three, two, true), Link::NoClock);
        assert_eq!(frisian.link(two, one, true), Link::Fresh);
    }

    #[test]
    fn limits_are_chosen_by_name() {
        let v = Variant::Russian;
        let text = |s: &str| LimitSet::parse(v, s).unwrap().to_string();
        assert_eq!(text("default"), "long-diagonal,three-kings,5-move,15-move");
        assert_eq!(text("no-long-diagonal"), "three-kings,5-move,15-move");
        assert_eq!(text("15-move"), "15-move");
        assert_eq!(text("none"), "none");
        assert_eq!(
            text("default, no-5-move,no-15-move"),
            "long-diagonal,three-kings"
        );
        assert!(LimitSet::parse(v, "16-move").is_err());
        assert!(LimitSet::parse(v, "").is_err());
        let mut hashes: Vec<_> = ["default", "no-long-diagonal", "15-move", "none"]
            .map(|s| LimitSet::parse(v, s).unwrap().hash())
            .to_vec();
        for (hash, names) in hashes
            .iter()
            .zip(["default", "no-long-diagonal", "15-move", "none"])
        {
            let set = LimitSet::parse(v, names).unwrap();
            assert_eq!(LimitSet::from_hash(v, *hash), Some(set));
        }
        assert_eq!(LimitSet::from_hash(v, 1), None);
        hashes.push(LimitSet::of(Variant::International).hash());
        hashes.push(LimitSet::of(Variant::Pool).hash());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 6);
    }
}
