//! A second decoder of the distance codec, written from docs/format-distance.md in the same way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use dambase_rules::geometry::{OFF, opposite};
use dambase_rules::ruleset::KingRange;
use dambase_rules::{Bits, Board, Ruleset, Side, movegen};
use dambase_tables::Material;

use super::{Bitstream, Kind, Node, Number, Plain, Question};

/// Class and number; class 3 is outside.
type Key = (u8, i32);
const OUTSIDE: Key = (3, 0);
const MOST: i32 = 8191;

/// A slice: its sections, and what the header says of them.
pub(crate) struct Slice {
    /// Finds chunks and places; its trees are those of flags and classes.
    plain: Plain,
    digits: Node,
    coding: u8,
    depends: bool,
    start: [i32; 2],
    side: Side,
    decoded: RefCell<HashMap<u64, Rc<Decoded>>>,
}

struct Decoded {
    keys: HashMap<(usize, usize), Vec<Key>>,
}

impl Slice {
    pub(crate) fn new(
        material: Material,
        side: Side,
        coding: u8,
        model: &[u8],
        directory: &[u8],
        groups: &[u8],
    ) -> Self {
        let number = |at: usize| i32::from(model[at]) + 256 * i32::from(model[at + 1]);
        let mut bits = Bitstream(&model[10..], 0);
        let flags = bits.node(Question::Copy);
        let tree = bits.node(Question::Value);
        let digits = bits.node(Question::Copy);
        let head = [&model[..5], &[model[5] & 3]].concat();
        let plain = Plain::with(material, side, &head, directory, groups, flags, tree);
        Self {
            plain,
            digits,
            coding,
            depends: model[5] & 4 != 0,
            start: [number(6), number(8)],
            side,
            decoded: RefCell::default(),
        }
    }

    pub(crate) fn depends(&self) -> bool {
        self.depends
    }

    /// The symbol of a position.
    pub(crate) fn symbol<R: Ruleset>(&self, other: Option<&Self>, board: &Board<R::Bits>) -> u16 {
        let (slow, parts, chunk, place, square) = self.plain.find::<R>(board);
        let known = self.decoded.borrow().get(&chunk).cloned();
        let rows = known.unwrap_or_else(|| {
            let base = self.depends.then(|| {
                let other = other.unwrap();
                assert!(!other.depends);
                other.decode::<R>(&slow, parts, chunk, None)
            });
            let rows = Rc::new(self.decode::<R>(&slow, parts, chunk, base.as_ref()));
            let mut all = self.decoded.borrow_mut();
            all.insert(chunk, Rc::clone(&rows));
            rows
        });
        let (class, number) = rows.keys[&place][usize::from(square)];
        let odd_wins = matches!(self.coding, 3 | 4);
        let x = match (class, odd_wins) {
            (0, _) => return 0,
            (1, true) | (2, false) => 2 * number + 1,
            _ => 2 * number,
        };
        (x + 1) as u16
    }

    fn decode<R: Ruleset>(
        &self,
        slow: &Board<R::Bits>,
        parts: (u64, u64),
        chunk: u64,
        base: Option<&Decoded>,
    ) -> Decoded {
        let squares = R::RULES.geometry.squares();
        let bytes = self.plain.chunk(chunk);
        let mut number = Number::new(&bytes);
        let mut keys: HashMap<(usize, usize), Vec<Key>> = HashMap::new();
        let mut surprising = std::collections::HashSet::new();
        let outside = vec![OUTSIDE; squares];
        for tile_row in self.plain.rows::<R>(slow, parts) {
            let (j, i) = tile_row.place;
            let get = |j: Option<usize>, i: Option<usize>| {
                let row = j.zip(i).and_then(|k| keys.get(&k));
                row.unwrap_or(&outside).clone()
            };
            let (back, up) = (tile_row.back, tile_row.up);
            let places = [
                (Some(j), back[0]),
                (up[0], Some(i)),
                (Some(j), back[1]),
                (up[1], Some(i)),
                (up[0], back[0]),
            ];
            let [f, s, f2, s2, b] = places.map(|(j, i)| get(j, i));
            let has = (back[0].is_some(), up[0].is_some());
            let class = self.plain.start;
            let start = match class {
                0 => (0, 0),
                c => (c, self.start[usize::from(c) - 1]),
            };
            let mut p: Vec<Key> = (0..squares)
                .map(|x| match has {
                    (false, false) => start,
                    (true, false) => f[x],
                    (false, true) => s[x],
                    (true, true) if f[x].0 == s[x].0 && f[x].0 == b[x].0 => {
                        let (low, high) = (f[x].1.min(s[x].1), f[x].1.max(s[x].1));
                        (f[x].0, (f[x].1 + s[x].1 - b[x].1).clamp(low, high))
                    }
                    (true, true) => {
                        if b[x].0 == f[x].0 {
                            s[x]
                        } else {
                            f[x]
                        }
                    }
                })
                .collect();
            if tile_row.stored.is_empty() {
                keys.insert((j, i), p);
                continue;
            }
            let mut hinted = vec![false; squares];
            if let Some(base) = base {
                let known: Vec<(u8, Key)> = tile_row
                    .stored
                    .iter()
                    .filter(|(_, b)| !movegen::has_capture::<R>(b, self.side.other()))
                    .map(|&(x, _)| (x, base.keys[&(j, i)][usize::from(x)]))
                    .collect();
                let full = tile_row.board.unwrap();
                for x in 0..squares as u8 {
                    if let Some(hint) = self.hint::<R>(&full, x, &known) {
                        p[usize::from(x)] = hint;
                        hinted[usize::from(x)] = true;
                    }
                }
            }
            let mut flag = u32::from(has.0) + 2 * u32::from(has.1) + 4 * u32::from(self.depends);
            for (k, (j, i)) in places.into_iter().enumerate() {
                if j.zip(i).is_some_and(|place| surprising.contains(&place)) {
                    flag += 8 << k;
                }
            }
            let mut row = p.clone();
            if Plain::read(&self.plain.flags, &mut number, flag) == 1 {
                surprising.insert((j, i));
                let mut coded = vec![false; squares];
                for (x, board) in &tile_row.stored {
                    if movegen::has_capture::<R>(board, self.side) {
                        continue;
                    }
                    let around = Plain::around::<R>(*x);
                    let x = usize::from(*x);
                    let of =
                        |row: &[Key], t: Option<u8>| t.map_or(OUTSIDE, |t| row[usize::from(t)]);
                    let wrong = |t: Option<u8>| {
                        u32::from(t.is_some_and(|t| {
                            let t = usize::from(t);
                            coded[t] && row[t].0 != p[t].0
                        }))
                    };
                    let (n1, n2) = (of(&row, around.behind[0]), of(&row, around.behind[1]));
                    let classes = [
                        p[x],
                        n1,
                        n2,
                        of(&p, around.ahead[0]),
                        of(&p, around.ahead[1]),
                        f2[x],
                        s2[x],
                    ];
                    let mut context = wrong(around.behind[0])
                        + 2 * wrong(around.behind[1])
                        + 4 * wrong(around.third)
                        + 8 * u32::from(hinted[x]);
                    for (k, key) in classes.into_iter().enumerate() {
                        context += u32::from(key.0) << (4 + 2 * k);
                    }
                    let class = Plain::read(&self.plain.tree, &mut number, context);
                    coded[x] = true;
                    row[x] = (0, 0);
                    if class == 0 {
                        continue;
                    }
                    let neighbours = [f[x], s[x], f2[x], s2[x], n1, n2];
                    let has_reason = has.0 || has.1 || hinted[x];
                    let like = if has_reason && p[x].0 == class {
                        p[x].1
                    } else {
                        let found = neighbours.iter().find(|n| n.0 == class);
                        found.map_or(self.start[usize::from(class) - 1], |n| n.1)
                    };
                    let mut context = 8 * u32::from(class == 1) + 16 * u32::from(hinted[x]);
                    for (k, n) in neighbours.into_iter().enumerate() {
                        let e = n.1 - like;
                        let same = n.0 == class;
                        let compared = u32::from(e > 0) + 2 * u32::from(e < 0);
                        context += match (k < 4, same) {
                            (true, false) => 4 << (5 + 3 * k),
                            (true, true) => (compared + 4 * u32::from(e.abs() > 1)) << (5 + 3 * k),
                            (false, false) => 3 << (17 + 2 * (k - 4)),
                            (false, true) => compared << (17 + 2 * (k - 4)),
                        };
                    }
                    row[x] = (class, self.number(&mut number, like, context));
                }
            }
            keys.insert((j, i), row);
        }
        Decoded { keys }
    }

    fn number(&self, number: &mut Number<'_>, like: i32, context: u32) -> i32 {
        let mut ask = |decision: u32| Plain::read(&self.digits, number, context + decision) == 1;
        if ask(0) {
            return like;
        }
        let larger = like == 0 || ask(1);
        let mut difference = 0;
        for d in 1..=23_u32 {
            if !ask(2 * d.min(3) + u32::from(!larger)) {
                difference = d as i32;
                break;
            }
        }
        if difference == 0 {
            let mut ones = 0;
            while ones < 13 && number.even() {
                ones += 1;
            }
            let m = (0..ones).fold(1, |m, _| 2 * m + i32::from(number.even()));
            difference = 23 + m;
        }
        let n = if larger {
            like + difference
        } else {
            like - difference
        };
        n.clamp(0, MOST)
    }

    fn hint<R: Ruleset>(&self, board: &Board<R::Bits>, x: u8, known: &[(u8, Key)]) -> Option<Key> {
        let vector: Kind = self.plain.kinds[0];
        let side = Side::BOTH[vector.side()];
        let own = side == self.side;
        let king = vector.0.is_multiple_of(2);
        let directions = if king {
            R::RULES.king_quiet
        } else {
            R::RULES.man_quiet_of(side)
        };
        let (w, l) = match (self.coding, own) {
            (3 | 4, true) => (0, 1),
            (3 | 4, false) => (-1, 0),
            (5 | 6, true) => (1, 0),
            (5 | 6, false) => (0, -1),
            (_, true) => (1, 1),
            (_, false) => (-1, -1),
        };
        let mut proposals: Vec<Key> = Vec::new();
        for d in (0..8).filter(|&d| directions.has(d)) {
            let d = if own { d } else { opposite(d) };
            let mut at = x;
            loop {
                at = R::RULES.geometry.grid().step[d][usize::from(at)];
                if at == OFF || board.occupied().has(at) {
                    break;
                }
                if let Some((_, key)) = known.iter().find(|k| k.0 == at) {
                    proposals.push(match *key {
                        (0, _) => (0, 0),
                        (2, n) => (1, (n + w).clamp(0, MOST)),
                        (_, n) => (2, (n + l).clamp(0, MOST)),
                    });
                }
                if !king || R::RULES.king_range == KingRange::Short {
                    break;
                }
            }
        }
        proposals.into_iter().min_by_key(|&(class, n)| match class {
            1 => (0, n),
            0 => (1, 0),
            _ => (2, -n),
        })
    }
}
