//! Texts: positions, names, limits.

use std::path::Path;

use dambase_rules::limits::LimitError;
use dambase_rules::{ClockRun, Clocks, LimitSet, Position, Variant};
use dambase_tables::format::parse_name;
use dambase_tables::{Material, table_path};

use crate::choose;

/// A position of the code that the first byte chooses: refused, or printed and read again the
/// same, with legal moves that lead to positions that are printed and read again the same.
///
/// # Panics
/// If they are not.
pub fn fen(data: &[u8]) {
    let Some((&variant, text)) = choose(Variant::ALL, data) else {
        return;
    };
    let Ok(position) = Position::parse(variant, &String::from_utf8_lossy(text)) else {
        return;
    };
    let printed = position.fen();
    assert_eq!(
        Position::parse(variant, &printed).as_ref(),
        Ok(&position),
        "{printed}"
    );
    assert_eq!(position.mirrored().mirrored(), position, "{printed}");
    let moves = position.legal_moves();
    assert_eq!(position.notation(&moves).len(), moves.len());
    for m in &moves {
        let after = position.after(m);
        let printed = after.fen();
        // The last piece of a side may be gone.
        if let Ok(again) = Position::parse(variant, &printed) {
            assert_eq!(again, after, "{printed}");
        }
    }
}

/// The name of a code.
///
/// # Panics
/// If a name that is taken is not the name of its code.
pub fn variant(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(v) = text.parse::<Variant>() {
        assert_eq!(v.name().parse(), Ok(v));
    }
}

/// The name of a material.
///
/// # Panics
/// If a material is not printed as it is read, or its mirror image is not its own.
pub fn material(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(m) = text.parse::<Material>() {
        assert_eq!(m.to_string().parse(), Ok(m));
        assert_eq!(m.mirrored().mirrored(), m);
        assert!(m.canonical().is_canonical());
    }
}

/// The name of a table's file.
///
/// # Panics
/// If a name that is taken does not lead back to itself.
pub fn file_name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some((material, metric)) = parse_name(Path::new(text.as_ref())) {
        let path = table_path(Path::new("egdb"), Variant::English, material, metric);
        assert_eq!(parse_name(&path), Some((material, metric)));
    }
}

/// A choice of draw limits of the code that the first byte chooses.
///
/// # Panics
/// If a set of limits is not found again by its hash.
pub fn limits(data: &[u8]) {
    let Some((&variant, text)) = choose(Variant::ALL, data) else {
        return;
    };
    if let Ok(set) = LimitSet::parse(variant, &String::from_utf8_lossy(text)) {
        assert_eq!(LimitSet::from_hash(variant, set.hash()), Some(set));
    }
}

/// What has run on a clock (up to the first semicolon), in a position (after it) of the code that
/// the first byte chooses.
///
/// # Panics
/// If a clock that was taken makes no clocks and no error.
pub fn clock(data: &[u8]) {
    let Some((&variant, text)) = choose(Variant::ALL, data) else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let (run, fen) = text.split_once(';').unwrap_or((&text, ""));
    let run: Result<ClockRun, LimitError> = run.parse();
    let (Ok(run), Ok(position)) = (run, Position::parse(variant, fen)) else {
        return;
    };
    let limits = LimitSet::of(variant);
    let spent = run.plies;
    if let Ok(clocks) = Clocks::after_runs(&limits, position.board(), &[run]) {
        let fresh = Clocks::fresh(&limits, position.board());
        assert_eq!(spent == 0, clocks == fresh, "{text}");
    }
}
