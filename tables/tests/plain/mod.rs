//! A second decoder of the context codec, written from docs/format-context.md for clarity: no
//! bitboards but for the rules, no tables, no state shared with the first.

#![allow(clippy::needless_range_loop)]

pub(crate) mod distance;

use std::collections::{HashMap, HashSet};

use dambase_rules::geometry::{OFF, dir};
use dambase_rules::{Bits, Board, Ruleset, Side, movegen};
use dambase_tables::{Index, Material, Wld};

/// A value for each square; nothing is outside.
type Row = Vec<u8>;
const OUTSIDE: u8 = 3;
const CERTAIN: u32 = 63;

/// What a tree is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Question {
    Copy,
    Value,
}

enum Node {
    Leaf {
        values: [u8; 3],
        first: u32,
        second: u32,
    },
    Split {
        bit: u32,
        without: Box<Node>,
        with: Box<Node>,
    },
}

/// Reads bits, the lowest of each byte first.
struct Bitstream<'a>(&'a [u8], usize);

impl Bitstream<'_> {
    fn take(&mut self, n: usize) -> u32 {
        let mut value = 0;
        for k in 0..n {
            value += u32::from(self.0[self.1 / 8] >> (self.1 % 8) & 1) << k;
            self.1 += 1;
        }
        value
    }
    fn node(&mut self, question: Question) -> Node {
        if self.take(1) == 1 {
            let bit = self.take(5);
            let without = Box::new(self.node(question));
            let with = Box::new(self.node(question));
            return Node::Split { bit, without, with };
        }
        if question == Question::Copy {
            let values = if self.take(1) == 0 {
                [0, 1, 1]
            } else {
                [1, 0, 0]
            };
            return Node::Leaf {
                values,
                first: self.take(6),
                second: CERTAIN,
            };
        }
        let values = match self.take(3) {
            0 => [0, 1, 2],
            1 => [0, 2, 1],
            2 => [1, 0, 2],
            3 => [1, 2, 0],
            4 => [2, 0, 1],
            _ => [2, 1, 0],
        };
        let first = self.take(6);
        let second = if first == CERTAIN {
            CERTAIN
        } else {
            self.take(6)
        };
        Node::Leaf {
            values,
            first,
            second,
        }
    }
}

/// The number that a chunk is, read digit by digit.
struct Number<'a> {
    bytes: &'a [u8],
    at: usize,
    range: u64,
    code: u64,
}

impl<'a> Number<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut n = Self {
            bytes,
            at: 0,
            range: u64::MAX,
            code: 0,
        };
        for _ in 0..8 {
            n.digit();
        }
        n
    }
    fn digit(&mut self) {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.code = self.code << 8 | u64::from(byte);
        self.at += 1;
    }
    /// True if the expected outcome of a decision of this class came about.
    fn expected(&mut self, class: u32) -> bool {
        if class == CERTAIN {
            return true;
        }
        let mantissa = [46341_u64, 38968, 32768, 27554][class as usize % 4];
        let miss = (mantissa >> (class / 4)).max(1);
        self.below(65536 - miss)
    }
    /// One of two outcomes that are equally likely.
    fn even(&mut self) -> bool {
        self.below(32768)
    }
    fn below(&mut self, share: u64) -> bool {
        let bound = (self.range / 65536) * share;
        let expected = self.code < bound;
        if expected {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        if self.range < 1 << 32 {
            self.range <<= 32;
            for _ in 0..4 {
                self.digit();
            }
        }
        expected
    }
}

/// Kind of a piece: number in files, side, king.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Kind(u8);

impl Kind {
    fn side(self) -> usize {
        usize::from(self.0 / 2)
    }
    fn set<W: Bits>(self, b: &mut Board<W>) -> &mut W {
        if self.0.is_multiple_of(2) {
            &mut b.kings[self.side()]
        } else {
            &mut b.men[self.side()]
        }
    }
}

/// Slow pieces, parts, chunk, place of the row, square of the vector.
type Found<W> = (Board<W>, (u64, u64), u64, (usize, usize), u8);

/// A row of a tile, before it is decoded.
struct TileRow<W> {
    place: (usize, usize),
    /// The places of the fast piece and of the second piece that are referred to.
    back: [Option<usize>; 2],
    up: [Option<usize>; 2],
    /// All pieces but the vector, if the row may exist.
    board: Option<Board<W>>,
    /// The squares of the vector, with the whole position.
    stored: Vec<(u8, Board<W>)>,
}

/// The squares around one.
struct Surroundings {
    behind: [Option<u8>; 2],
    ahead: [Option<u8>; 2],
    third: Option<u8>,
}

pub(crate) struct Plain {
    side: Side,
    slow: Material,
    kinds: Vec<Kind>,
    parts: [usize; 2],
    start: u8,
    flags: Node,
    tree: Node,
    directory: Vec<u8>,
    groups: Vec<u8>,
    decoded: HashMap<u64, HashMap<(usize, usize), Row>>,
}

impl Plain {
    pub(crate) fn new(
        material: Material,
        side: Side,
        model: &[u8],
        directory: &[u8],
        groups: &[u8],
    ) -> Self {
        let mut bits = Bitstream(&model[6..], 0);
        let flags = bits.node(Question::Copy);
        let tree = bits.node(Question::Value);
        Self::with(material, side, &model[..6], directory, groups, flags, tree)
    }

    fn with(
        material: Material,
        side: Side,
        head: &[u8],
        directory: &[u8],
        groups: &[u8],
        flags: Node,
        tree: Node,
    ) -> Self {
        let mut kinds = vec![Kind(head[0]), Kind(head[1])];
        if head[2] != 4 {
            kinds.push(Kind(head[2]));
        }
        let mut slow = material;
        for k in &kinds {
            if k.0.is_multiple_of(2) {
                slow.kings[k.side()] -= 1;
            } else {
                slow.men[k.side()] -= 1;
            }
        }
        Self {
            side,
            slow,
            kinds,
            parts: [head[3].into(), head[4].into()],
            start: head[5],
            flags,
            tree,
            directory: directory.to_vec(),
            groups: groups.to_vec(),
            decoded: HashMap::new(),
        }
    }

    /// The squares in the order of the parts.
    fn order<R: Ruleset>() -> Vec<u8> {
        let g = R::RULES.geometry;
        let mut all: Vec<u8> = (0..g.squares() as u8).collect();
        all.sort_by_key(|&s| {
            let (row, column) = g.row_column(s);
            (row / 2, column, row)
        });
        all
    }

    /// The places of the nearest two squares before place `at` of a part.
    fn nearest<R: Ruleset>(part: &[u8], at: usize) -> [Option<usize>; 2] {
        let g = R::RULES.geometry;
        let (r, c) = g.row_column(part[at]);
        let mut places: Vec<usize> = (0..at).collect();
        places.sort_by_key(|&j| {
            let (r2, c2) = g.row_column(part[j]);
            let (dr, dc) = (r.abs_diff(r2), c.abs_diff(c2));
            let distance = if g.is_full() { dr + dc } else { dr.max(dc) };
            (distance, at - j)
        });
        [places.first().copied(), places.get(1).copied()]
    }

    pub(crate) fn value<R: Ruleset>(&mut self, board: &Board<R::Bits>) -> Wld {
        let (slow, parts, chunk, place, square) = self.find::<R>(board);
        if !self.decoded.contains_key(&chunk) {
            let rows = self.decode::<R>(&slow, parts, chunk);
            self.decoded.insert(chunk, rows);
        }
        let row = &self.decoded[&chunk][&place];
        Wld::from_bits(row[usize::from(square)]).unwrap()
    }

    /// The slow pieces, the parts, the chunk, the place of the row and the square of a position.
    fn find<R: Ruleset>(&self, board: &Board<R::Bits>) -> Found<R::Bits> {
        let mut rest = *board;
        let squares: Vec<u8> = self
            .kinds
            .iter()
            .map(|k| {
                let set = k.set(&mut rest);
                let s = set.first();
                *set = set.without_first();
                s
            })
            .collect();
        let order = Self::order::<R>();
        let place = |s: u8| order.iter().position(|&o| o == s).unwrap();
        let fast = place(squares[1]);
        let second = squares.get(2).map_or(0, |&s| place(s));
        let count = |size: usize| order.len().div_ceil(size) as u64;
        let seconds = if self.kinds.len() == 3 {
            count(self.parts[1])
        } else {
            1
        };
        let index = Index::<R::Bits>::new(R::RULES.geometry, self.slow).unwrap();
        let slow = index.index(&rest);
        let parts = (
            (second / self.parts[1]) as u64,
            (fast / self.parts[0]) as u64,
        );
        let chunk = (slow * seconds + parts.0) * count(self.parts[0]) + parts.1;
        let place = (second % self.parts[1], fast % self.parts[0]);
        (rest, parts, chunk, place, squares[0])
    }

    /// The bytes of a chunk.
    fn chunk(&self, chunk: u64) -> Vec<u8> {
        let entry = |g: u64| {
            let at = g as usize * 5;
            let e = (0..5).fold(0_u64, |n, k| {
                n + (u64::from(self.directory[at + k]) << (8 * k))
            });
            ((e % (1 << 35)) as usize, (e >> 35) as usize)
        };
        let (start, width) = entry(chunk / 64);
        let (end, _) = entry(chunk / 64 + 1);
        if start == end {
            return Vec::new();
        }
        let group = &self.groups[start..end];
        let sum = xxhash_rust::xxh3::xxh3_64(&group[4..]) as u32;
        assert_eq!(group[..4], sum.to_le_bytes());
        let bit = |k: u64| group[4 + k as usize / 8] >> (k % 8) & 1 == 1;
        let mut lengths = Vec::new();
        let mut length_at = 12 * 8;
        for k in 0..64 {
            let mut n = 0_usize;
            if bit(k) {
                for i in 0..width {
                    n += usize::from(group[length_at / 8] >> (length_at % 8) & 1) << i;
                    length_at += 1;
                }
            }
            lengths.push(n);
        }
        let length_at = length_at.div_ceil(8);
        let k = (chunk % 64) as usize;
        let start = length_at + lengths[..k].iter().sum::<usize>();
        group[start..start + lengths[k]].to_vec()
    }

    /// Puts a piece on a square, if it may stand there as the lowest of its kind.
    fn put<R: Ruleset>(kind: Kind, s: u8, b: &Board<R::Bits>) -> Option<Board<R::Bits>> {
        let mut b = *b;
        let free = !b.occupied().has(s);
        let crown = R::RULES.crown_of(Side::BOTH[kind.side()]) >> s & 1 == 1;
        let set = kind.set(&mut b);
        let lowest = set.is_empty() || s < set.first();
        *set |= R::Bits::bit(s);
        (free && lowest && !(kind.0 % 2 == 1 && crown)).then_some(b)
    }

    /// The rows of a tile in order.
    fn rows<R: Ruleset>(&self, slow: &Board<R::Bits>, parts: (u64, u64)) -> Vec<TileRow<R::Bits>> {
        let order = Self::order::<R>();
        let squares = order.len();
        let cut = |n: u64, size: usize| {
            let start = n as usize * size;
            order[start..squares.min(start + size)].to_vec()
        };
        let fast_part = cut(parts.1, self.parts[0]);
        let second_part = match self.kinds.get(2) {
            Some(_) => cut(parts.0, self.parts[1]),
            None => vec![0],
        };
        let mut rows = Vec::new();
        for j in 0..second_part.len() {
            let with_second = match self.kinds.get(2) {
                Some(&k) => Self::put::<R>(k, second_part[j], slow),
                None => Some(*slow),
            };
            let up = match self.kinds.get(2) {
                Some(_) => Self::nearest::<R>(&second_part, j),
                None => [None; 2],
            };
            for i in 0..fast_part.len() {
                let board =
                    with_second.and_then(|b| Self::put::<R>(self.kinds[1], fast_part[i], &b));
                let stored = board
                    .iter()
                    .flat_map(|b| {
                        (0..squares as u8)
                            .filter_map(|s| Some((s, Self::put::<R>(self.kinds[0], s, b)?)))
                    })
                    .collect();
                rows.push(TileRow {
                    place: (j, i),
                    back: Self::nearest::<R>(&fast_part, i),
                    up,
                    board,
                    stored,
                });
            }
        }
        rows
    }

    fn decode<R: Ruleset>(
        &self,
        slow: &Board<R::Bits>,
        parts: (u64, u64),
        chunk: u64,
    ) -> HashMap<(usize, usize), Row> {
        let squares = R::RULES.geometry.squares();
        let bytes = self.chunk(chunk);
        let mut number = Number::new(&bytes);
        let mut rows: HashMap<(usize, usize), Row> = HashMap::new();
        let mut surprising = HashSet::new();
        let outside = vec![OUTSIDE; squares];
        for TileRow {
            place: (j, i),
            back,
            up,
            stored,
            ..
        } in self.rows::<R>(slow, parts)
        {
            let get = |j: Option<usize>, i: Option<usize>| {
                j.zip(i)
                    .and_then(|k| rows.get(&k))
                    .unwrap_or(&outside)
                    .clone()
            };
            let here = (Some(j), Some(i));
            let (fast, fast2) = (get(here.0, back[0]), get(here.0, back[1]));
            let (second, second2) = (get(up[0], here.1), get(up[1], here.1));
            let both = get(up[0], back[0]);
            let has = (back[0].is_some(), up[0].is_some());
            let predicted: Row = match has {
                (false, false) => vec![self.start; squares],
                (true, false) => fast.clone(),
                (false, true) => second.clone(),
                (true, true) => (0..squares)
                    .map(|s| {
                        if both[s] == fast[s] {
                            second[s]
                        } else {
                            fast[s]
                        }
                    })
                    .collect(),
            };
            let mut row = predicted.clone();
            if !stored.is_empty() {
                let mut flag = usize::from(has.0) + 2 * usize::from(has.1);
                if has == (true, true) {
                    flag += 4 * usize::from(both == second) + 8 * usize::from(both == fast);
                }
                if has.0 {
                    flag += 16 * usize::from(fast == fast2);
                }
                if has.1 {
                    flag += 32 * usize::from(second == second2);
                }
                let places = [
                    (here.0, back[0]),
                    (up[0], here.1),
                    (here.0, back[1]),
                    (up[0], back[0]),
                ];
                for (k, (j, i)) in places.into_iter().enumerate() {
                    if j.zip(i).is_some_and(|place| surprising.contains(&place)) {
                        flag += 64 << k;
                    }
                }
                if Self::read(&self.flags, &mut number, flag as u32) == 1 {
                    for (s, b) in stored {
                        if movegen::has_capture::<R>(&b, self.side) {
                            continue;
                        }
                        let i = usize::from(s);
                        let context = Self::context::<R>(s, &predicted, &row, &fast2, &second2);
                        row[i] = Self::read(&self.tree, &mut number, context);
                    }
                }
            }
            if row != predicted {
                surprising.insert((j, i));
            }
            rows.insert((j, i), row);
        }
        rows
    }

    fn read(tree: &Node, number: &mut Number<'_>, context: u32) -> u8 {
        let mut node = tree;
        loop {
            match node {
                Node::Split { bit, without, with } => {
                    node = if context >> bit & 1 == 1 {
                        with
                    } else {
                        without
                    };
                }
                Node::Leaf {
                    values,
                    first,
                    second,
                } => {
                    return if number.expected(*first) {
                        values[0]
                    } else if number.expected(*second) {
                        values[1]
                    } else {
                        values[2]
                    };
                }
            }
        }
    }

    fn around<R: Ruleset>(s: u8) -> Surroundings {
        let g = R::RULES.geometry;
        let step = |d: usize| Some(g.grid().step[d][usize::from(s)]).filter(|&t| t != OFF);
        let (behind, ahead) = if g.is_full() {
            ([step(dir::W), step(dir::N)], [step(dir::E), step(dir::S)])
        } else {
            (
                [step(dir::NE), step(dir::NW)],
                [step(dir::SW), step(dir::SE)],
            )
        };
        let third = if g.is_full() {
            step(dir::NW)
        } else {
            // The square before, unless the margin is between: it stands behind every second row.
            let row = g.row_column(s).0;
            let mirrored = g == dambase_rules::Geometry::Mirrored8;
            let first = usize::from(s) % g.per_row() == 0;
            let margin = first && (row % 2 == usize::from(mirrored));
            (s > 0 && !margin).then(|| s - 1)
        };
        Surroundings {
            behind,
            ahead,
            third,
        }
    }

    fn context<R: Ruleset>(s: u8, predicted: &Row, row: &Row, fast2: &Row, second2: &Row) -> u32 {
        let Surroundings {
            behind: back,
            ahead,
            third,
        } = Self::around::<R>(s);
        let value = |t: Option<u8>| u32::from(t.map_or(OUTSIDE, |t| predicted[usize::from(t)]));
        let error = |t: Option<u8>| {
            u32::from(t.is_some_and(|t| row[usize::from(t)] != predicted[usize::from(t)]))
        };
        let i = usize::from(s);
        let outer = value(Some(s))
            + (value(back[0]) << 2)
            + (value(back[1]) << 4)
            + (value(ahead[0]) << 6)
            + (value(ahead[1]) << 8)
            + (u32::from(fast2[i]) << 10)
            + (u32::from(second2[i]) << 12);
        let any = u32::from(row != predicted);
        let inner = error(back[0]) + 2 * error(back[1]) + 4 * error(third) + 8 * any;
        outer * 16 + inner
    }
}
