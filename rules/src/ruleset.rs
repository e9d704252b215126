//! A code of draughts as data.

use crate::bits::Bits;
use crate::board::Side;
use crate::geometry::{DirSet, Geometry};
use crate::limits::Limit;
use crate::variant::Variant;

/// How far kings go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum KingRange {
    /// One square; a capture jumps a neighbour and lands next to it.
    Short,
    /// Any number of empty squares, in captures before and behind the piece taken.
    Flying,
}

/// When captured pieces leave the board (RULES 0.3 item 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Removal {
    /// After the whole sequence: until then they block and cannot be jumped again.
    Deferred,
    /// At once: their squares are empty for the rest of the sequence.
    Immediate,
}

/// One criterion by which complete captures are compared; the larger value has precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Criterion {
    /// Number of pieces taken.
    Count,
    /// Total value of the pieces taken, in units of the ruleset.
    Value {
        /// Value of a man.
        man: u16,
        /// Value of a king.
        king: u16,
    },
    /// A capture made by a king goes before one made by a man.
    ByKing,
    /// Number of kings taken.
    KingsTaken,
    /// Kings taken earlier in the sequence, compared position by position.
    KingsEarliest,
}

/// What happens when a man reaches its crowning row during a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Promotion {
    /// It is crowned and the move ends there.
    EndsMove,
    /// It stays a man and is crowned only if the move ends there.
    AtRest,
    /// It is crowned at once and goes on as a king.
    InPassing,
}

/// What decides the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Goal {
    /// A side that has to move and cannot has lost.
    Normal,
    /// A side that has to move and cannot has won.
    Losing,
    /// As `Normal`, and the side that first crowns a man has won (an extra ruleset that proves
    /// men-only tables against published counts).
    FirstCrown,
}

/// Whether won positions are an odd or an even number of plies from the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WinParity {
    /// The winner makes the last move: wins are odd, losses even.
    Odd,
    /// The loser makes the last move: wins are even, losses odd.
    Even,
}

/// The Frisian limit on consecutive quiet moves of one king (RULES 3.12, conflict C6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum KingRun {
    /// A king that has made three quiet moves in a row is held while another own piece can move.
    WhileOthersCanMove,
    /// It is held while its side has a man, even if that leaves no move.
    WhileMenRemain,
}

/// How players of the code write squares and moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Notation {
    /// House numbers, `32-28`, `28x19`.
    Numeric,
    /// Numbers from White's bottom right (Spanish): house number n is written squares + 1 - n.
    NumericReversed,
    /// Algebraic names with `x`: `c3-d4`, `c3xe5`.
    Algebraic,
    /// Algebraic names with `:`: `c3-d4`, `c3:e5`.
    AlgebraicColon,
}

/// The rules of one code. Directions are White's; Black's are turned by 180 degrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The name used on the command line, in directories and in files, with hyphens.
    pub name: &'static str,
    /// GameType number of PDN 3.0, if the standard has one.
    pub pdn_game_type: Option<u8>,
    /// The board.
    pub geometry: Geometry,
    /// How squares and moves are written.
    pub notation: Notation,
    /// The side that opens the game.
    pub first: Side,
    /// Rows of men at the start, from the second row for boards of the Turkish family.
    pub start_rows: u8,
    /// Directions of a man's quiet step.
    pub man_quiet: DirSet,
    /// Directions of a man's jump.
    pub man_capture: DirSet,
    /// Whether a man may take a king.
    pub man_takes_king: bool,
    /// Directions of a king's quiet move.
    pub king_quiet: DirSet,
    /// Directions of a king's jump.
    pub king_capture: DirSet,
    /// How far kings go.
    pub king_range: KingRange,
    /// When captured pieces leave the board.
    pub removal: Removal,
    /// Whether the next jump of a sequence may go straight back (only possible with immediate
    /// removal).
    pub reversal: bool,
    /// Precedence of captures: compared criterion by criterion; empty = free choice.
    pub precedence: &'static [Criterion],
    /// Whether a king with several landing squares must take one from which it can jump on.
    pub land_to_continue: bool,
    /// Crowning inside a capture.
    pub promotion: Promotion,
    /// What decides the game.
    pub goal: Goal,
    /// Whether the game is over, won by the king's side, as soon as exactly one king stands
    /// against exactly one man (RULES 3.9).
    pub lone_king_beats_lone_man: bool,
    /// The Frisian king run.
    pub king_run: Option<KingRun>,
    /// The draw limits; where two can run, the earlier of this list governs.
    pub limits: &'static [Limit],
}

impl Rules {
    /// A stable 64-bit fingerprint of everything that decides which positions there are, which
    /// moves they have and who has won. It stands in every table file, so that a table built
    /// under other rules is refused.
    ///
    /// The name, the notation, the opening side and the start position do not matter. The king
    /// run and the draw limits are left out too: a file says by itself whether its tables know
    /// them ([`LimitSet::hash`](crate::LimitSet::hash)).
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        // FNV-1a over one byte a parameter. The order is part of the file format.
        let mut h = Fnv::START;
        h = h.byte(1); // version of this list
        h = h.byte(match self.geometry {
            Geometry::Diagonal8 => 0,
            Geometry::Mirrored8 => 1,
            Geometry::Diagonal10 => 2,
            Geometry::Diagonal12 => 3,
            Geometry::Full8 => 4,
        });
        h = h.byte(self.man_quiet.0).byte(self.man_capture.0);
        h = h.byte(self.man_takes_king as u8);
        h = h.byte(self.king_quiet.0).byte(self.king_capture.0);
        h = h.byte(matches!(self.king_range, KingRange::Flying) as u8);
        h = h.byte(matches!(self.removal, Removal::Immediate) as u8);
        h = h.byte(self.reversal as u8);
        h = h.byte(self.precedence.len() as u8);
        let mut i = 0;
        while i < self.precedence.len() {
            h = match self.precedence[i] {
                Criterion::Count => h.byte(0),
                Criterion::Value { man, king } => h
                    .byte(1)
                    .byte(man as u8)
                    .byte((man >> 8) as u8)
                    .byte(king as u8)
                    .byte((king >> 8) as u8),
                Criterion::ByKing => h.byte(2),
                Criterion::KingsTaken => h.byte(3),
                Criterion::KingsEarliest => h.byte(4),
            };
            i += 1;
        }
        h = h.byte(self.land_to_continue as u8);
        h = h.byte(match self.promotion {
            Promotion::EndsMove => 0,
            Promotion::AtRest => 1,
            Promotion::InPassing => 2,
        });
        h = h.byte(match self.goal {
            Goal::Normal => 0,
            Goal::Losing => 1,
            Goal::FirstCrown => 2,
        });
        h.byte(self.lone_king_beats_lone_man as u8).0
    }

    /// Whether the length of a game, in plies, says who wins it; nothing if the winner may make
    /// the last move and may not. Positions decided by the material alone do not count.
    ///
    /// Normally the game ends when the loser has to move and cannot. It ends by the material too
    /// in the Turkish family, where the last move may be either side's; a first crowning is always
    /// the winner's move.
    #[must_use]
    pub const fn win_parity(&self) -> Option<WinParity> {
        match self.goal {
            _ if self.lone_king_beats_lone_man => None,
            Goal::Normal | Goal::FirstCrown => Some(WinParity::Odd),
            Goal::Losing => Some(WinParity::Even),
        }
    }

    /// Directions of a man's quiet step for `side`.
    #[inline]
    #[must_use]
    pub const fn man_quiet_of(&self, side: Side) -> DirSet {
        match side {
            Side::White => self.man_quiet,
            Side::Black => self.man_quiet.rotated(),
        }
    }
    /// Directions of a man's jump for `side`.
    #[inline]
    #[must_use]
    pub const fn man_capture_of(&self, side: Side) -> DirSet {
        match side {
            Side::White => self.man_capture,
            Side::Black => self.man_capture.rotated(),
        }
    }
    /// The squares on which men of `side` are crowned.
    #[inline]
    #[must_use]
    pub const fn crown_of(&self, side: Side) -> u128 {
        match side {
            Side::White => self.geometry.white_crown(),
            Side::Black => self.geometry.black_crown(),
        }
    }
    /// Whether men have steps that do not advance them (the Turkish family), so that men's moves
    /// can be taken back.
    #[must_use]
    pub const fn men_move_sideways(&self) -> bool {
        self.man_quiet.has(crate::geometry::dir::E)
    }
}

/// FNV-1a in 64 bits.
pub(crate) struct Fnv(pub(crate) u64);

impl Fnv {
    pub(crate) const START: Self = Self(0xcbf2_9ce4_8422_2325);

    pub(crate) const fn byte(self, b: u8) -> Self {
        Self((self.0 ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3))
    }
    /// Eight bytes, the lowest first.
    pub(crate) fn word(self, w: u64) -> Self {
        w.to_le_bytes().into_iter().fold(self, Self::byte)
    }
    /// The bytes of a text and one that no text has.
    pub(crate) fn text(self, s: &str) -> Self {
        s.bytes().fold(self, Self::byte).byte(0xff)
    }
}

/// Marker for one code: the only generic parameter of hot code. The constants fold away.
pub trait Ruleset: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The bitboard word.
    type Bits: Bits;
    /// The run-time name of the code.
    const VARIANT: Variant;
    /// The rules.
    const RULES: Rules;
}

/// A computation that is generic over the code; run it with [`Variant::with`].
pub trait WithRuleset {
    /// What the computation returns.
    type Output;
    /// The computation, monomorphised for code `R`.
    fn run<R: Ruleset>(self) -> Self::Output;
}
