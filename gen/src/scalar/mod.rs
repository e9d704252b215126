//! The scalar solver.

use dambase_rules::movegen::generate;
use dambase_rules::position::{decided, winner_without_moves};
use dambase_rules::{Bits, Board, MoveList, Ruleset, Run, Side};
use dambase_tables::{Dtw, DtwArray, Index, Material, Value, Wld, WldArray, canonical};

use crate::{Control, Error, Solved, Store};

/// Marks a position without a value yet.
const OPEN: u16 = u16::MAX;

/// Solves a canonical material; everything that captures and crownings lead to must be in
/// `store`. Distances are computed if `want_dtw`. The Frisian king run is left out.
///
/// # Errors
/// [`Error::Interrupted`] if `ctl` says so; the other variants if `material` is not canonical or
/// too large, or if something is missing in `store`.
pub fn solve<R: Ruleset>(
    material: Material,
    store: &Store,
    want_dtw: bool,
    ctl: &Control,
) -> Result<Solved, Error> {
    if !material.is_canonical() {
        return Err(Error::NotCanonical(material));
    }
    let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
    let sides = material.sides();
    let n = index.positions() as usize;
    let mut codes = vec![vec![OPEN; n]; sides.len()];
    let mut list = MoveList::new();
    // Ply by ply: a position is won in n if a move leads to a loss in n - 1, and lost in n if all
    // moves lead to wins of which the longest is n - 1.
    let mut ply = 0_u16;
    let mut furthest_exit = 0;
    loop {
        ctl.check()?;
        let mut found = Vec::new();
        for (s, &side) in sides.iter().enumerate() {
            for i in 0..n {
                if codes[s][i] != OPEN {
                    continue;
                }
                let board = index.board(i as u64);
                if let Some(winner) = decided::<R>(&board) {
                    found.push((s, i, decided_code(winner, side)));
                    continue;
                }
                generate::<R>(&board, side, Run::NONE, &mut list);
                if list.is_empty() {
                    found.push((
                        s,
                        i,
                        decided_code(winner_without_moves(&R::RULES, side), side),
                    ));
                    continue;
                }
                let mut all_lose = true;
                let mut last = 0;
                for m in list.iter() {
                    let after = board.after(side, m);
                    let other = side.other();
                    let code = child::<R>(&after, other, &index, &codes, store, want_dtw)?;
                    match code {
                        OPEN => all_lose = false,
                        c => match Value::from_code(c) {
                            Value::Draw => all_lose = false,
                            Value::Loss(Dtw(d)) => {
                                furthest_exit = furthest_exit.max(d);
                                all_lose = false;
                                if d + 1 == ply || (!want_dtw && ply > 0) {
                                    found.push((s, i, Value::Win(Dtw(ply)).code()));
                                    break;
                                }
                            }
                            Value::Win(Dtw(d)) => {
                                furthest_exit = furthest_exit.max(d);
                                last = last.max(d);
                            }
                        },
                    }
                }
                if all_lose && (last + 1 == ply || (!want_dtw && ply > 0)) {
                    found.push((s, i, Value::Loss(Dtw(ply)).code()));
                }
            }
        }
        if found.is_empty() && ply > furthest_exit + 1 {
            break;
        }
        for (s, i, code) in found {
            codes[s][i] = code;
        }
        ply += 1;
    }
    let mut wld = Vec::new();
    let mut dtw = Vec::new();
    for mut codes in codes {
        let mut array = WldArray::new(n as u64);
        for (i, c) in codes.iter_mut().enumerate() {
            if *c == OPEN {
                *c = 0;
            }
            array.set(i as u64, Value::from_code(*c).wld());
        }
        wld.push(array);
        dtw.push(DtwArray { codes });
        ctl.add(n as u64);
    }
    Ok(Solved {
        material,
        wld,
        dtw: want_dtw.then_some(dtw),
    })
}

/// The code of a game that is over.
fn decided_code(winner: Side, to_move: Side) -> u16 {
    if winner == to_move {
        Value::Win(Dtw(0)).code()
    } else {
        Value::Loss(Dtw(0)).code()
    }
}

/// The code of the position after a move, `OPEN` if it is not known yet.
fn child<R: Ruleset>(
    board: &Board<R::Bits>,
    side: Side,
    index: &Index<R::Bits>,
    codes: &[Vec<u16>],
    store: &Store,
    want_dtw: bool,
) -> Result<u16, Error> {
    if let Some(winner) = decided::<R>(board) {
        return Ok(decided_code(winner, side));
    }
    if board.pieces(side).is_empty() {
        return Ok(decided_code(winner_without_moves(&R::RULES, side), side));
    }
    let placed = canonical(R::RULES.geometry, board, side);
    let slice = placed
        .material
        .sides()
        .iter()
        .position(|&s| s == placed.side);
    let slice = slice.unwrap_or(0);
    if placed.material == index.material() {
        return Ok(codes[slice][index.index(&placed.board) as usize]);
    }
    let (material, needed) = (index.material(), placed.material);
    let index = Index::<R::Bits>::new(R::RULES.geometry, needed)?;
    let solved = store
        .get(needed)
        .ok_or(Error::MissingTable { material, needed })?;
    let i = index.index(&placed.board);
    if want_dtw {
        let dtw = solved.dtw.as_ref();
        let dtw = dtw.ok_or(Error::MissingDistances { material, needed })?;
        Ok(dtw[slice].get(i).code())
    } else {
        Ok(match solved.wld[slice].get(i) {
            Wld::Draw => 0,
            Wld::Win => Value::Win(Dtw(0)).code(),
            Wld::Loss => Value::Loss(Dtw(0)).code(),
        })
    }
}
