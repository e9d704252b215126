//! A second decoder of the distance codec, written from docs/format-distance.md in the same way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use dambase_rules::geometry::{OFF, opposite};
use dambase_rules::ruleset::KingRange;
use dambase_rules::{Bits, Board, Ruleset, Side, movegen};
use dambase_tables::Material;

use super::{Bitstream, Kind, Node, Number, Plain, Surroundings};

/// Class and number; class 3 is outside.
type Key = (u8, i32);
const OUTSIDE: Key = (3, 0);
const MOST: i32 = 8191;

/// What a sum's absolute value says of the less likely answer, from the table of the format.
#[rustfmt::skip]
const MISS: [u64; 89] = [
    32768, 30723, 28693, 26695, 24743, 22849, 21025, 19282, 17625, 16062, 14595, 13226, 11955, 10782, 9702, 8714,
    7812, 6992, 6249, 5577, 4971, 4427, 3938, 3500, 3108, 2758, 2446, 2168, 1921, 1701, 1506, 1333,
    1179, 1042, 922, 815, 720, 636, 562, 497, 439, 387, 342, 302, 267, 236, 208, 184,
    162, 143, 126, 111, 98, 87, 77, 68, 60, 53, 47, 41, 36, 32, 28, 25,
    22, 19, 17, 15, 13, 12, 10, 9, 8, 7, 6, 6, 5, 4, 4, 3,
    3, 3, 2, 2, 2, 2, 1, 1, 1,
];

/// A tree of what is added to the odds.
enum Tree {
    Leaf(i32),
    Split(u32, Box<[Tree; 2]>),
}

impl Tree {
    fn read(bits: &mut Bitstream<'_>) -> Self {
        if bits.take(1) == 1 {
            let bit = bits.take(4);
            let without = Self::read(bits);
            let with = Self::read(bits);
            return Self::Split(bit, Box::new([without, with]));
        }
        let n = bits.take(7) as i32;
        Self::Leaf(if n < 64 { n } else { n - 128 })
    }
    fn find(&self, context: u32) -> i32 {
        match self {
            Self::Leaf(n) => *n,
            Self::Split(bit, below) => below[(context >> bit & 1) as usize].find(context),
        }
    }
}

/// The answer to a question, yes or no, by trees with a context each.
fn ask(trees: &[Tree], contexts: &[u32], number: &mut Number<'_>) -> bool {
    assert_eq!(trees.len(), contexts.len());
    let sums = trees.iter().zip(contexts).map(|(t, &c)| t.find(c));
    let sum: i32 = sums.sum();
    let miss = MISS[sum.unsigned_abs().min(88) as usize];
    number.below(65536 - miss) == (sum >= 0)
}

/// A context from its parts, each with its bits.
fn context(parts: &[(u32, u32)]) -> u32 {
    let mut at = 0;
    let mut all = 0;
    for &(part, bits) in parts {
        assert!(part < 1 << bits);
        all += part << at;
        at += bits;
    }
    all
}

/// A slice: its sections, and what the header says of them.
pub(crate) struct Slice {
    /// Finds chunks and places; its trees mean nothing.
    plain: Plain,
    flags: Vec<Tree>,
    classes: Vec<Tree>,
    numbers: Vec<Tree>,
    coding: u8,
    depends: bool,
    start: [i32; 2],
    side: Side,
    decoded: RefCell<HashMap<u64, Rc<Decoded>>>,
}

/// What is around a square that is to be decoded.
struct Square<'a> {
    x: u8,
    hint: u32,
    around: Surroundings,
    /// Two steps behind.
    far: [Option<u8>; 2],
    moving: [u32; 2],
    referred: bool,
    /// `F`, `S`, `F2`, `S2`, `B`.
    rows: [&'a [Key]; 5],
    replies: [Key; 2],
    p: &'a [Key],
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
        let mut trees = |n: usize| (0..n).map(|_| Tree::read(&mut bits)).collect();
        let (flags, classes, numbers) = (trees(1), trees(5), trees(8));
        let head = [&model[..5], &[model[5] & 3]].concat();
        let none = || Node::Leaf {
            values: [0; 3],
            first: 0,
            second: 0,
        };
        let plain = Plain::with(material, side, &head, directory, groups, none(), none());
        Self {
            plain,
            flags,
            classes,
            numbers,
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
            if !ask(&self.flags, &[flag], &mut number) {
                surprising.insert((j, i));
                let moving = self.moving::<R>(tile_row.board.as_ref().unwrap());
                for (x, board) in &tile_row.stored {
                    if movegen::has_capture::<R>(board, self.side) {
                        continue;
                    }
                    let square = Square {
                        x: *x,
                        hint: u32::from(hinted[usize::from(*x)]),
                        around: Plain::around::<R>(*x),
                        far: [0, 1].map(|d| {
                            let near = Plain::around::<R>(*x).behind[d]?;
                            Plain::around::<R>(near).behind[d]
                        }),
                        moving,
                        referred: has.0 || has.1,
                        rows: [&f, &s, &f2, &s2, &b],
                        replies: [&f, &s].map(|row| self.reply::<R>(*x, row)),
                        p: &p,
                    };
                    row[usize::from(*x)] = self.square(&square, &row, &mut number);
                }
            }
            keys.insert((j, i), row);
        }
        Decoded { keys }
    }

    /// The squares of the fast and of the second piece.
    fn moving<R: Ruleset>(&self, board: &Board<R::Bits>) -> [u32; 2] {
        let mut rest = *board;
        let mut squares = [0; 2];
        for (k, square) in self.plain.kinds[1..].iter().zip(&mut squares) {
            let set = k.set(&mut rest);
            *square = u32::from(set.first()).min(63);
            *set = set.without_first();
        }
        squares
    }

    /// The best key of a row around a square for the owner of the vector, and one ply more.
    fn reply<R: Ruleset>(&self, x: u8, row: &[Key]) -> Key {
        let Surroundings { behind, ahead, .. } = Plain::around::<R>(x);
        let near = behind.into_iter().chain(ahead).flatten();
        let keys: Vec<Key> = near.map(|t| row[usize::from(t)]).collect();
        if keys.contains(&OUTSIDE) {
            return OUTSIDE;
        }
        // The larger, the better for the side to move.
        let worth = |key: &Key| match *key {
            (1, n) => 100_000 - n,
            (0, _) => 0,
            (_, n) => n - 100_000,
        };
        let own = Side::BOTH[self.plain.kinds[0].side()] == self.side;
        let best = if own {
            keys.into_iter().max_by_key(worth)
        } else {
            keys.into_iter().min_by_key(worth)
        };
        match best.unwrap() {
            (0, _) => (0, 0),
            (class, n) => (class, (n + 1).min(MOST)),
        }
    }

    /// Decodes the key of a square.
    fn square(&self, at: &Square<'_>, row: &[Key], number: &mut Number<'_>) -> Key {
        let x = usize::from(at.x);
        let p = at.p;
        let of = |row: &[Key], t: Option<u8>| t.map_or(OUTSIDE, |t| row[usize::from(t)]);
        let Surroundings {
            behind,
            ahead,
            third,
        } = at.around;
        let [n1, n2, n3] = [behind[0], behind[1], third].map(|t| of(row, t));
        let [m1, m2] = at.far.map(|t| of(row, t));
        let [a1, a2] = ahead.map(|t| of(p, t));
        let [f, s, f2, s2, b] = at.rows.map(|row| row[x]);
        let [rf, rs] = at.replies;
        let class = |key: Key| (u32::from(key.0), 2);
        let wrong = |t: Option<u8>| {
            let (now, p) = (of(row, t), of(p, t));
            (u32::from(now != p) + u32::from(now.0 != p.0), 2)
        };
        let square = (u32::from(at.x).min(63), 6);
        let hint = (at.hint, 1);
        let ask_class = |decision: u32, number: &mut Number<'_>| {
            let parts: [&[(u32, u32)]; 5] = [
                &[class(a1), class(a2), class(n1), class(n2), class(n3)],
                &[class(f2), class(s2), class(rf), class(rs), hint],
                &[
                    class(n1),
                    class(n2),
                    wrong(behind[0]),
                    wrong(behind[1]),
                    wrong(third),
                ],
                &[class(f), class(s), class(b), class(f2), class(s2)],
                &[hint, square],
            ];
            let first = [(decision, 1), class(p[x])];
            let contexts = parts.map(|parts| context(&[&first, parts].concat()));
            ask(&self.classes, &contexts, number)
        };
        let decoded = if ask_class(0, number) {
            p[x].0
        } else {
            let others: Vec<u8> = (0..3).filter(|&c| c != p[x].0).collect();
            others[usize::from(!ask_class(1, number))]
        };
        if decoded == 0 {
            return (0, 0);
        }
        let like = if (at.referred || at.hint == 1) && p[x].0 == decoded {
            p[x].1
        } else {
            let found = [f, s, f2, s2, n1, n2];
            let found = found.iter().find(|n| n.0 == decoded);
            found.map_or(self.start[usize::from(decoded) - 1], |n| n.1)
        };
        let compared = |key: Key| {
            let n = (key.1 - like).clamp(-3, 3) + 4;
            (if key.0 == decoded { n as u32 } else { 0 }, 3)
        };
        let missed = |t: Option<u8>| {
            let n = match (of(row, t), of(p, t)) {
                (OUTSIDE, _) => 0,
                (now, p) if now.0 != p.0 => 1,
                (now, p) => (now.1 - p.1).clamp(-2, 2) + 4,
            };
            (n as u32, 3)
        };
        let p_part = (like.min(63) as u32, 6);
        let [fast, second] = at.moving.map(|s| (s, 6));
        let parts: [&[(u32, u32)]; 8] = [
            &[compared(n1), compared(n2), compared(n3), missed(behind[0])],
            &[compared(f2), compared(s2), compared(f), compared(s)],
            &[p_part, square],
            &[compared(rf), compared(rs), compared(a1), compared(a2)],
            &[missed(third), compared(n3), compared(m1), compared(m2)],
            &[p_part, fast],
            &[square, second],
            &[
                compared(f),
                compared(s),
                compared(b),
                (u32::from(decoded == 1), 1),
                hint,
                (u32::from(p[x].0 == decoded), 1),
            ],
        ];
        let contexts = parts.map(|parts| context(&[&[(0, 3)], parts].concat()));
        (decoded, self.number(number, like, &contexts))
    }

    fn number(&self, number: &mut Number<'_>, like: i32, contexts: &[u32; 8]) -> i32 {
        let mut ask = |decision: u32| {
            let contexts = contexts.map(|c| c + decision);
            ask(&self.numbers, &contexts, number)
        };
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
