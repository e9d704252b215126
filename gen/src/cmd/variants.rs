//! `dambase variants`: the codes and their rules.

use clap::Args;
use dambase_rules::geometry::{DirSet, dir};
use dambase_rules::ruleset::{
    Criterion, Goal, KingRange, KingRun, Notation, Promotion, Removal, Rules,
};
use dambase_rules::{Geometry, LimitSet, Variant};
use serde::Serialize;

use super::failure::Outcome;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  dambase variants
  dambase variants --json";

/// List the codes and the extra rulesets with their rules
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Variants {
    /// Print one JSON object for each
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct VariantJson {
    variant: &'static str,
    /// False for the extra rulesets.
    code: bool,
    pdn_game_type: Option<u8>,
    board: &'static str,
    squares: usize,
    /// Squares of one player's row on which men are crowned.
    crown_squares: usize,
    pieces: usize,
    first: &'static str,
    notation: &'static str,
    man_quiet: Vec<&'static str>,
    man_capture: Vec<&'static str>,
    man_takes_king: bool,
    king_range: &'static str,
    king_quiet: Vec<&'static str>,
    king_capture: Vec<&'static str>,
    removal: &'static str,
    reversal: bool,
    precedence: Vec<String>,
    land_to_continue: bool,
    promotion: &'static str,
    goal: &'static str,
    lone_king_beats_lone_man: bool,
    king_run: Option<&'static str>,
    limits: Vec<LimitJson>,
    rules_hash: String,
}

/// A draw limit.
#[derive(Serialize)]
struct LimitJson {
    name: &'static str,
    /// Plies of the full clock.
    plies: u16,
    /// Whether it is on unless asked for otherwise.
    default: bool,
}

impl VariantJson {
    fn new(v: Variant) -> Self {
        let r = v.rules();
        Self {
            variant: v.name(),
            code: v.is_code(),
            pdn_game_type: r.pdn_game_type,
            board: board(r),
            squares: r.geometry.squares(),
            crown_squares: r.geometry.per_row(),
            pieces: usize::from(r.start_rows) * r.geometry.per_row(),
            first: r.first.name(),
            notation: match r.notation {
                Notation::Numeric => "numeric",
                Notation::NumericReversed => "numeric-reversed",
                Notation::Algebraic => "algebraic",
                Notation::AlgebraicColon => "algebraic-colon",
            },
            man_quiet: directions(r.man_quiet),
            man_capture: directions(r.man_capture),
            man_takes_king: r.man_takes_king,
            king_range: match r.king_range {
                KingRange::Short => "short",
                KingRange::Flying => "flying",
            },
            king_quiet: directions(r.king_quiet),
            king_capture: directions(r.king_capture),
            removal: match r.removal {
                Removal::Deferred => "deferred",
                Removal::Immediate => "immediate",
            },
            reversal: r.reversal,
            precedence: r.precedence.iter().map(criterion).collect(),
            land_to_continue: r.land_to_continue,
            promotion: match r.promotion {
                Promotion::EndsMove => "ends-move",
                Promotion::AtRest => "at-rest",
                Promotion::InPassing => "in-passing",
            },
            goal: match r.goal {
                Goal::Normal => "normal",
                Goal::Losing => "losing",
                Goal::FirstCrown => "first-crown",
            },
            lone_king_beats_lone_man: r.lone_king_beats_lone_man,
            king_run: r.king_run.map(|k| match k {
                KingRun::WhileOthersCanMove => "while-others-can-move",
                KingRun::WhileMenRemain => "while-men-remain",
            }),
            limits: r
                .limits
                .iter()
                .map(|l| LimitJson {
                    name: l.name,
                    plies: l.plies(),
                    default: l.by_default,
                })
                .collect(),
            rules_hash: format!("{:016x}", r.fingerprint()),
        }
    }
}

fn board(r: &Rules) -> &'static str {
    match r.geometry {
        Geometry::Diagonal8 => "8x8",
        Geometry::Mirrored8 => "8x8-mirrored",
        Geometry::Diagonal10 => "10x10",
        Geometry::Diagonal12 => "12x12",
        Geometry::Full8 => "8x8-full",
    }
}

/// Directions as White sees them.
fn directions(set: DirSet) -> Vec<&'static str> {
    [
        (dir::N, "n"),
        (dir::NE, "ne"),
        (dir::E, "e"),
        (dir::SE, "se"),
        (dir::S, "s"),
        (dir::SW, "sw"),
        (dir::W, "w"),
        (dir::NW, "nw"),
    ]
    .into_iter()
    .filter_map(|(d, name)| set.has(d).then_some(name))
    .collect()
}

fn criterion(c: &Criterion) -> String {
    match c {
        Criterion::Count => "count".to_owned(),
        Criterion::Value { man, king } => format!("value man {man} king {king}"),
        Criterion::ByKing => "by-king".to_owned(),
        Criterion::KingsTaken => "kings-taken".to_owned(),
        Criterion::KingsEarliest => "kings-earliest".to_owned(),
    }
}

impl Variants {
    pub(super) fn run(self) -> Outcome {
        let mut out = Output::new();
        if !self.json {
            out.line(
                "name                      board         kings   capture       crowning    removal    draw limits",
            )?;
        }
        let mut extra = false;
        for &v in Variant::ALL {
            let j = VariantJson::new(v);
            if self.json {
                out.json(&j)?;
                continue;
            }
            if !j.code && !std::mem::replace(&mut extra, true) {
                out.line("extra rulesets:")?;
            }
            let choice = if j.precedence.is_empty() {
                "free choice".to_owned()
            } else {
                j.precedence[0].split(' ').next().unwrap_or("").to_owned()
                    + if j.precedence.len() > 1 { ", ..." } else { "" }
            };
            out.line(format!(
                "{:<25} {:<13} {:<7} {:<13} {:<11} {:<10} {}",
                j.variant,
                j.board,
                j.king_range,
                choice,
                j.promotion,
                j.removal,
                LimitSet::of(v)
            ))?;
        }
        out.flush()
    }
}
