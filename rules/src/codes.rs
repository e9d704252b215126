//! The codes, one constant each. The source of every field is the section of the project's rules
//! reference (docs/rules.md) named in the comment above the constant.

use crate::board::Side;
use crate::geometry::{DirSet, Geometry};
use crate::limits::{self, Limit};
use crate::ruleset::{Criterion, Goal, KingRange, KingRun, Notation, Promotion, Removal, Rules};

/// Codes without draw limits.
const NO_LIMITS: &[Limit] = &[];

/// German (3.1): free choice, free landing, crowning ends the move; seed document S0.
pub const GERMAN: Rules = Rules {
    name: "german",
    pdn_game_type: None,
    geometry: Geometry::Diagonal8,
    notation: Notation::Numeric,
    first: Side::White,
    start_rows: 3,
    man_quiet: DirSet::FORWARD,
    man_capture: DirSet::DIAGONAL,
    man_takes_king: true,
    king_quiet: DirSet::DIAGONAL,
    king_capture: DirSet::DIAGONAL,
    king_range: KingRange::Flying,
    removal: Removal::Deferred,
    reversal: false,
    precedence: &[],
    land_to_continue: false, // conflict C10
    promotion: Promotion::EndsMove,
    goal: Goal::Normal,
    lone_king_beats_lone_man: false,
    king_run: None,
    limits: NO_LIMITS,
};

/// German with the landing rule of the other free-choice codes (conflict C10).
pub const GERMAN_MUST_CONTINUE: Rules = Rules {
    name: "german-must-continue",
    land_to_continue: true,
    ..GERMAN
};

/// International (3.2): majority by number, men passing the last row stay men; FMJD Annex 1.
pub const INTERNATIONAL: Rules = Rules {
    name: "international",
    pdn_game_type: Some(20),
    geometry: Geometry::Diagonal10,
    start_rows: 4,
    precedence: &[Criterion::Count],
    promotion: Promotion::AtRest,
    limits: limits::INTERNATIONAL,
    ..GERMAN
};

/// English (3.3): short kings, men capture forwards, free choice; WCDF.
pub const ENGLISH: Rules = Rules {
    name: "english",
    pdn_game_type: Some(21),
    first: Side::Black,
    man_capture: DirSet::FORWARD,
    king_range: KingRange::Short,
    limits: limits::FORTY,
    ..GERMAN
};

/// Russian (3.4): a man is crowned in passing, a king must land where it can go on; IDF.
pub const RUSSIAN: Rules = Rules {
    name: "russian",
    pdn_game_type: Some(25),
    notation: Notation::AlgebraicColon,
    land_to_continue: true,
    promotion: Promotion::InPassing,
    limits: limits::RUSSIAN,
    ..GERMAN
};

/// Pool (3.5): Russian but for crowning; APCA.
pub const POOL: Rules = Rules {
    name: "pool",
    pdn_game_type: Some(23),
    notation: Notation::Numeric,
    first: Side::Black, // conflict C14
    promotion: Promotion::AtRest,
    limits: limits::POOL,
    ..RUSSIAN
};

/// Brazilian (3.6): International on 8x8.
pub const BRAZILIAN: Rules = Rules {
    name: "brazilian",
    pdn_game_type: Some(26),
    geometry: Geometry::Diagonal8,
    notation: Notation::Algebraic,
    start_rows: 3,
    limits: limits::BRAZILIAN,
    ..INTERNATIONAL
};

/// Brazilian rules, won by the side that first crowns a man: kings never occur.
pub const BREAKTHROUGH: Rules = Rules {
    name: "breakthrough",
    pdn_game_type: None,
    goal: Goal::FirstCrown,
    limits: NO_LIMITS,
    ..BRAZILIAN
};

/// Italian (3.7): four priorities, men cannot take kings; FID art. 6.
pub const ITALIAN: Rules = Rules {
    name: "italian",
    pdn_game_type: Some(22),
    geometry: Geometry::Mirrored8,
    first: Side::White,
    man_takes_king: false,
    precedence: &[
        Criterion::Count,
        Criterion::ByKing,
        Criterion::KingsTaken,
        Criterion::KingsEarliest,
    ],
    ..ENGLISH
};

/// Spanish (3.8): flying kings, number then kings taken, immediate removal (conflict C1).
pub const SPANISH: Rules = Rules {
    name: "spanish",
    pdn_game_type: Some(24),
    geometry: Geometry::Mirrored8,
    notation: Notation::NumericReversed,
    man_capture: DirSet::FORWARD,
    removal: Removal::Immediate,
    reversal: true,
    precedence: &[Criterion::Count, Criterion::KingsTaken],
    limits: limits::TWENTY,
    ..GERMAN
};

/// Spanish as the federations play it: deferred removal (conflict C1).
pub const SPANISH_FEDERATION: Rules = Rules {
    name: "spanish-federation",
    removal: Removal::Deferred,
    reversal: false,
    ..SPANISH
};

/// Turkish (3.9): orthogonal, immediate removal, no doubling back, majority.
pub const TURKISH: Rules = Rules {
    name: "turkish",
    pdn_game_type: Some(30),
    geometry: Geometry::Full8,
    notation: Notation::Algebraic,
    first: Side::White,
    start_rows: 2,
    man_quiet: DirSet::FORWARD_SIDEWAYS,
    man_capture: DirSet::FORWARD_SIDEWAYS,
    man_takes_king: true,
    king_quiet: DirSet::ORTHOGONAL,
    king_capture: DirSet::ORTHOGONAL,
    king_range: KingRange::Flying,
    removal: Removal::Immediate,
    reversal: false,
    precedence: &[Criterion::Count],
    land_to_continue: false,
    promotion: Promotion::InPassing, // conflict C7
    goal: Goal::Normal,
    lone_king_beats_lone_man: true, // conflict C13
    king_run: None,
    limits: NO_LIMITS,
};

/// Turkish with crowning at the end of the capture (conflict C7).
pub const TURKISH_PROMOTE_AT_END: Rules = Rules {
    name: "turkish-promote-at-end",
    promotion: Promotion::AtRest,
    ..TURKISH
};

/// Armenian (3.10): Turkish with diagonal quiet steps of the man.
pub const ARMENIAN: Rules = Rules {
    name: "armenian",
    pdn_game_type: None,
    man_quiet: DirSet::FORWARD_SIDEWAYS.or(DirSet::FORWARD),
    ..TURKISH
};

/// Armenian with a king that steps like a chess queen (conflict C8).
pub const ARMENIAN_QUEEN_KING: Rules = Rules {
    name: "armenian-queen-king",
    king_quiet: DirSet::ALL,
    ..ARMENIAN
};

/// Armenian with crowning at the end of the capture (conflict C7).
pub const ARMENIAN_PROMOTE_AT_END: Rules = Rules {
    name: "armenian-promote-at-end",
    promotion: Promotion::AtRest,
    ..ARMENIAN
};

/// Greek (3.11): Turkish without the majority rule, free landing.
pub const GREEK: Rules = Rules {
    name: "greek",
    pdn_game_type: None,
    precedence: &[],
    ..TURKISH
};

/// Greek with the landing rule of Russian (conflict C10).
pub const GREEK_MUST_CONTINUE: Rules = Rules {
    name: "greek-must-continue",
    land_to_continue: true,
    ..GREEK
};

/// Greek with crowning at the end of the capture (conflict C7).
pub const GREEK_PROMOTE_AT_END: Rules = Rules {
    name: "greek-promote-at-end",
    promotion: Promotion::AtRest,
    ..GREEK
};

/// Frisian (3.12): eight capture directions, precedence by value, king run.
pub const FRISIAN: Rules = Rules {
    name: "frisian",
    pdn_game_type: Some(40),
    man_capture: DirSet::DIAGONAL.or(DirSet::ORTHOGONAL),
    king_capture: DirSet::DIAGONAL.or(DirSet::ORTHOGONAL),
    precedence: &[Criterion::Value { man: 2, king: 3 }, Criterion::ByKing], // conflicts C4, C5
    king_run: Some(KingRun::WhileOthersCanMove),                            // conflict C6
    limits: limits::FRISIAN,
    ..INTERNATIONAL
};

/// Frisian with the federation's value of a king and scope of the king run (conflicts C4, C6).
pub const FRISIAN_FEDERATION: Rules = Rules {
    name: "frisian-federation",
    precedence: &[
        Criterion::Value {
            man: 100,
            king: 199,
        },
        Criterion::ByKing,
    ],
    king_run: Some(KingRun::WhileMenRemain),
    ..FRISIAN
};

/// Canadian (3.13): International on 12x12.
pub const CANADIAN: Rules = Rules {
    name: "canadian",
    pdn_game_type: Some(27),
    geometry: Geometry::Diagonal12,
    start_rows: 5,
    ..INTERNATIONAL
};

/// Give-away, Poddavki (3.14): Russian with the goal reversed.
pub const PODDAVKI: Rules = Rules {
    name: "poddavki",
    pdn_game_type: None,
    goal: Goal::Losing,
    limits: NO_LIMITS,
    ..RUSSIAN
};
