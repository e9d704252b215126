//! Values found without any of the code under test: plain iteration by plies over every position
//! of every material, mirrored ones too, from the generated moves alone.

use std::collections::BTreeMap;
use std::path::Path;

use dambase_rules::position::{decided, winner_without_moves};
use dambase_rules::{Board, MoveList, Position, Ruleset, Side, movegen, position::Run};
use dambase_tables::{
    Dtw, DtwArray, Index, Material, Metric, Value, WldArray, WriteOptions, table_path, write_dtw,
    write_wld,
};

/// The values of all positions up to some number of pieces, for both sides to move.
pub(crate) struct Oracle<R: Ruleset> {
    pub(crate) slices: BTreeMap<Material, Slices<R>>,
}

/// One material.
pub(crate) struct Slices<R: Ruleset> {
    pub(crate) index: Index<R::Bits>,
    /// By side to move, in index order; nothing while unknown.
    pub(crate) values: [Vec<Option<Value>>; 2],
}

impl<R: Ruleset> Oracle<R> {
    pub(crate) fn new(pieces: u8) -> Self {
        let mut oracle = Self {
            slices: BTreeMap::new(),
        };
        for material in (2..=pieces).flat_map(Material::all_with) {
            oracle.solve(material);
        }
        oracle
    }

    /// The value of a position whose material is solved.
    pub(crate) fn value(&self, board: &Board<R::Bits>, side: Side) -> Value {
        if board.pieces(side) == Default::default() {
            return over(winner_without_moves(&R::RULES, side) == side);
        }
        let s = &self.slices[&Material::of(board)];
        s.values[side as usize][s.index.index(board) as usize].expect("solved")
    }

    fn solve(&mut self, material: Material) {
        let index = Index::<R::Bits>::new(R::RULES.geometry, material).unwrap();
        let n = index.positions() as usize;
        let mut values = [vec![None; n], vec![None; n]];
        // What is not known at once, with the values after its moves: known ones, and places in
        // this material.
        let mut open: Vec<(usize, usize, Vec<Value>, Vec<usize>)> = Vec::new();
        let mut list = MoveList::new();
        let mut longest = 0;
        for side in Side::BOTH {
            for (i, board) in (0..n).map(|i| (i, index.board(i as u64))) {
                if let Some(winner) = decided::<R>(&board) {
                    values[side as usize][i] = Some(over(winner == side));
                    continue;
                }
                movegen::generate::<R>(&board, side, Run::NONE, &mut list);
                if list.is_empty() {
                    let winner = winner_without_moves(&R::RULES, side);
                    values[side as usize][i] = Some(over(winner == side));
                    continue;
                }
                let (mut known, mut inside) = (Vec::new(), Vec::new());
                for m in list.iter() {
                    let after = board.after(side, m);
                    if Material::of(&after) == material {
                        inside.push(index.index(&after) as usize);
                    } else {
                        let v = self.value(&after, side.other());
                        longest = longest.max(v.dtw().map_or(0, |d| d.0));
                        known.push(v);
                    }
                }
                open.push((side as usize, i, known, inside));
            }
        }
        let mut plies = 1;
        loop {
            let mut new = Vec::new();
            open.retain(|(side, i, known, inside)| {
                let here = |&j: &usize| values[1 - side][j];
                let after = || {
                    known
                        .iter()
                        .copied()
                        .map(Some)
                        .chain(inside.iter().map(here))
                };
                let lost = |v| v == Some(Value::Loss(Dtw(plies - 1)));
                let value = if after().any(lost) {
                    Value::Win(Dtw(plies))
                } else if after().all(|v| matches!(v, Some(Value::Win(Dtw(d))) if d < plies)) {
                    Value::Loss(Dtw(plies))
                } else {
                    return true;
                };
                new.push((*side, *i, value));
                false
            });
            let quiet = new.is_empty();
            for (side, i, v) in new {
                values[side][i] = Some(v);
            }
            if quiet && plies > longest + 1 {
                break;
            }
            plies += 1;
        }
        for (side, i, ..) in open {
            values[side][i] = Some(Value::Draw);
        }
        self.slices.insert(material, Slices { index, values });
    }

    /// Calls `f` for every position.
    pub(crate) fn each(&self, mut f: impl FnMut(&Board<R::Bits>, Side, Value)) {
        for s in self.slices.values() {
            for i in 0..s.index.positions() {
                let board = s.index.board(i);
                for side in Side::BOTH {
                    f(&board, side, s.values[side as usize][i as usize].unwrap());
                }
            }
        }
    }

    /// Writes the tables of the canonical materials that `chosen` names.
    pub(crate) fn write(&self, dir: &Path, metric: Metric, chosen: impl Fn(Material) -> bool) {
        for (&material, s) in self.slices.iter() {
            if !material.is_canonical() || !chosen(material) {
                continue;
            }
            let path = table_path(dir, R::VARIANT, material, metric);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let slices = material
                .sides()
                .iter()
                .map(|&side| &s.values[side as usize]);
            let options = WriteOptions {
                level: 3,
                block_positions: Some(512),
                ..WriteOptions::default()
            };
            if metric == Metric::Wld {
                let arrays: Vec<_> = slices.map(|v| wld(v)).collect();
                let arrays: Vec<_> = arrays.iter().collect();
                write_wld::<R>(&path, material, &arrays, &options).unwrap();
            } else {
                let arrays: Vec<_> = slices.map(|v| dtw(v)).collect();
                let arrays: Vec<_> = arrays.iter().collect();
                write_dtw::<R>(&path, material, &arrays, &options).unwrap();
            }
        }
    }
}

fn over(won: bool) -> Value {
    if won {
        Value::Win(Dtw(0))
    } else {
        Value::Loss(Dtw(0))
    }
}

fn wld(values: &[Option<Value>]) -> WldArray {
    let mut a = WldArray::new(values.len() as u64);
    for (i, v) in values.iter().enumerate() {
        a.set(i as u64, v.unwrap().wld());
    }
    a
}

fn dtw(values: &[Option<Value>]) -> DtwArray {
    DtwArray {
        codes: values.iter().map(|v| v.unwrap().code()).collect(),
    }
}

/// The position of a board of a code.
pub(crate) fn position<R: Ruleset>(board: &Board<R::Bits>, side: Side) -> Position {
    Position::new(R::VARIANT, board.wide(), side, [Run::NONE; 2]).unwrap()
}
