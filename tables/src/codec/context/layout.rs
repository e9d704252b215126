//! How the positions of a slice lie in rows, tiles and chunks.
//!
//! One piece, the *vector*, is left out; where all others stand names a *row*, and a row holds a
//! value for each square of the vector. Two more pieces, the *fast* and the *second* one, span a
//! *tile*: all rows in which the fast piece stands in one part of the board, the second piece in
//! another, and the rest, the *slow* pieces, on given squares. A tile is a chunk. Rows and squares
//! that do not exist (two pieces on one square) cost nothing but one bit for a tile without
//! any value.
//!
//! Among pieces of the same kind and colour the vector has the lowest square number, then comes
//! the fast piece, then the second, then the slow ones.

use dambase_rules::{Bits, Board, Geometry, Ruleset, Side};

use super::rows::plane_shift;
use crate::index::{Index, TooLarge};
use crate::material::Material;
use crate::narrow::{to_u8, to_u16, to_u32, to_usize};

/// Most squares of a board.
const SQUARES: usize = 72;
/// Marks a missing reference.
const NONE: u8 = 255;
/// The number of the row that stands for one that is not there.
pub(crate) const NO_ROW: u16 = 0;
/// Most rows of a tile.
pub(crate) const MAX_ROWS: usize = 1024;

/// Kind and colour of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The colour.
    pub side: Side,
    /// King or man.
    pub king: bool,
}

impl Kind {
    /// White king, white man, black king, black man: the order of the numbers in files.
    pub const ALL: [Self; 4] = [
        Self::new(Side::White, true),
        Self::new(Side::White, false),
        Self::new(Side::Black, true),
        Self::new(Side::Black, false),
    ];

    const fn new(side: Side, king: bool) -> Self {
        Self { side, king }
    }
    /// The number in files, 0 to 3.
    #[must_use]
    pub const fn id(self) -> u8 {
        2 * self.side as u8 + !self.king as u8
    }
    /// Pieces of this kind in a material.
    #[must_use]
    pub const fn count(self, m: &Material) -> u8 {
        if self.king {
            m.kings[self.side as usize]
        } else {
            m.men[self.side as usize]
        }
    }
    fn without_one(self, m: &Material) -> Option<Material> {
        let mut m = *m;
        let n = if self.king {
            &mut m.kings[self.side as usize]
        } else {
            &mut m.men[self.side as usize]
        };
        *n = n.checked_sub(1)?;
        Some(m)
    }
    /// The pieces of this kind.
    #[inline(always)]
    #[must_use]
    pub fn set<W: Bits>(self, b: &Board<W>) -> W {
        if self.king {
            b.kings[self.side as usize]
        } else {
            b.men[self.side as usize]
        }
    }
    /// The pieces of this kind, to be changed.
    #[inline(always)]
    pub fn set_mut<W: Bits>(self, b: &mut Board<W>) -> &mut W {
        if self.king {
            &mut b.kings[self.side as usize]
        } else {
            &mut b.men[self.side as usize]
        }
    }
    /// The squares on which such a piece may be added to `b` as the lowest of its kind.
    #[inline(always)]
    fn room<W: Bits>(self, field: &Field<W>, b: &Board<W>) -> W {
        let mut room = field.all & !b.occupied();
        if !self.king {
            room &= !field.crown[self.side as usize];
        }
        let same = self.set(b);
        if !same.is_empty() {
            room &= W::below(same.first());
        }
        room
    }
}

/// What a layout has to know of a code's rules.
#[derive(Clone, Copy, Debug)]
pub struct Field<W> {
    all: W,
    crown: [W; 2],
}

impl<W: Bits> Field<W> {
    /// The field of a code.
    #[must_use]
    pub fn of<R: Ruleset<Bits = W>>() -> Self {
        Self {
            all: W::from_wide(R::RULES.geometry.all()),
            crown: Side::BOTH.map(|side| W::from_wide(R::RULES.crown_of(side))),
        }
    }
}

/// The choices of one slice: which pieces span rows and tiles, and the size of the parts. Stands
/// in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The piece left out of a row.
    pub vector: Kind,
    /// The piece that moves inside a tile, fastest.
    pub fast: Kind,
    /// The piece that moves inside a tile, second.
    pub second: Option<Kind>,
    /// Squares in a part of the fast piece.
    pub fast_part: u8,
    /// Squares in a part of the second piece; 1 if there is none.
    pub second_part: u8,
}

impl Shape {
    /// Bytes of a shape in a file.
    pub(crate) const BYTES: usize = 5;

    /// The shape as it stands in the file.
    pub(crate) fn bytes(&self) -> [u8; Self::BYTES] {
        [
            self.vector.id(),
            self.fast.id(),
            self.second.map_or(4, Kind::id),
            self.fast_part,
            self.second_part,
        ]
    }
    /// Reads what [`Self::bytes`] wrote; nothing if a kind is unknown.
    pub(crate) fn read(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let kind = |id: u8| Kind::ALL.get(usize::from(id)).copied();
        let [vector, fast, second, fast_part, second_part] = bytes;
        Some(Self {
            vector: kind(vector)?,
            fast: kind(fast)?,
            second: match second {
                4 => None,
                id => Some(kind(id)?),
            },
            fast_part,
            second_part,
        })
    }
    /// Rows of a tile.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.fast_part as usize * self.second_part as usize
    }
}

/// The parts of the board for one moving piece.
#[derive(Clone, Debug)]
struct Parts {
    size: usize,
    count: u64,
    /// The squares part by part.
    order: Vec<u8>,
    /// Part and place in it of each square.
    place: [(u8, u8); SQUARES],
    /// For each entry of `order`: the places in the part of the nearest earlier squares.
    refs: Vec<[u8; 2]>,
}

impl Parts {
    /// Bands of two rows of the board, column by column, cut into parts of `size` squares.
    fn new(g: Geometry, size: usize) -> Self {
        let squares = g.squares();
        let mut order: Vec<u8> = (0..to_u8(squares)).collect();
        order.sort_by_key(|&s| {
            let (r, c) = g.row_column(s);
            (r / 2, c, r)
        });
        let mut place = [(0, 0); SQUARES];
        let mut refs = Vec::with_capacity(squares);
        for (i, &s) in order.iter().enumerate() {
            let (part, at) = (i / size, i % size);
            place[s as usize] = (to_u8(part), to_u8(at));
            // King steps first, then the more recent.
            let (r, c) = g.row_column(s);
            let mut near: Vec<_> = (0..at)
                .map(|j| {
                    let (r2, c2) = g.row_column(order[part * size + j]);
                    let (dr, dc) = (r.abs_diff(r2), c.abs_diff(c2));
                    let far = if g.is_full() { dr + dc } else { dr.max(dc) };
                    (far, at - j, to_u8(j))
                })
                .collect();
            near.sort_unstable();
            let at = |k: usize| near.get(k).map_or(NONE, |n| n.2);
            refs.push([at(0), at(1)]);
        }
        Self {
            size,
            count: squares.div_ceil(size) as u64,
            order,
            place,
            refs,
        }
    }

    fn none() -> Self {
        Self {
            size: 1,
            count: 1,
            order: vec![0],
            place: [(0, 0); SQUARES],
            refs: vec![[NONE; 2]],
        }
    }
}

/// Takes the rows of a tile in order. A trait and not a closure, so that it is compiled into the
/// function that walks, for the processor for which that one is compiled.
pub trait RowVisitor<W> {
    /// The next row.
    fn row(&mut self, row: &Row<W>);
}

/// Where a position is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The chunk of the slice.
    pub chunk: u64,
    /// The row of the chunk.
    pub row: u16,
    /// The square of the vector.
    pub square: u8,
}

/// A layout does not fit its material.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadShape;

/// The numbering of rows and chunks of one slice.
#[derive(Clone, Debug)]
pub struct Layout {
    shape: Shape,
    /// The numbering of the slow pieces, for both words.
    slow: Index<u64>,
    slow_wide: Index<u128>,
    fast: Parts,
    second: Parts,
    chunks: u64,
    plane_shift: u8,
}

impl Layout {
    /// Prepares the numbering.
    ///
    /// # Errors
    /// [`BadShape`] if the material lacks the pieces of the shape, a size is out of bounds or
    /// the chunks cannot be numbered.
    pub fn new(geometry: Geometry, material: Material, shape: Shape) -> Result<Self, BadShape> {
        let squares = geometry.squares();
        let size = |n: u8| {
            let n = usize::from(n);
            (n >= 1 && n <= squares).then_some(n).ok_or(BadShape)
        };
        let mut slow = shape.vector.without_one(&material).ok_or(BadShape)?;
        slow = shape.fast.without_one(&slow).ok_or(BadShape)?;
        let fast = Parts::new(geometry, size(shape.fast_part)?);
        let second = match shape.second {
            Some(kind) => {
                slow = kind.without_one(&slow).ok_or(BadShape)?;
                Parts::new(geometry, size(shape.second_part)?)
            }
            None if shape.second_part == 1 => Parts::none(),
            None => return Err(BadShape),
        };
        if shape.rows() > MAX_ROWS {
            return Err(BadShape);
        }
        let slow_wide = Index::new(geometry, slow).map_err(|TooLarge(_)| BadShape)?;
        let slow = Index::new(geometry, slow).map_err(|TooLarge(_)| BadShape)?;
        let chunks = slow
            .positions()
            .checked_mul(fast.count * second.count)
            .ok_or(BadShape)?;
        Ok(Self {
            shape,
            slow,
            slow_wide,
            fast,
            second,
            chunks,
            plane_shift: plane_shift(squares),
        })
    }

    /// The shape.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Number of chunks.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        self.chunks
    }
    /// Rows of a chunk, those that do not exist included.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.shape.rows()
    }

    /// The number of a value in the decoded rows of its chunk.
    #[inline]
    #[must_use]
    pub(crate) fn offset(&self, place: Place) -> u32 {
        u32::from(place.row) << self.plane_shift | u32::from(place.square)
    }
    /// The number of values of so many rows of a chunk.
    #[must_use]
    pub(crate) const fn offsets(&self, rows: usize) -> u32 {
        to_u32(rows) << self.plane_shift
    }
    /// The row with a value, or the last if there is none.
    #[must_use]
    pub(crate) fn row_of(&self, offset: u32) -> u16 {
        to_u16(((offset >> self.plane_shift) as usize).min(self.rows() - 1))
    }

    /// Where a placement of this material is stored.
    #[inline]
    #[must_use]
    pub fn locate<W: Bits>(&self, board: &Board<W>) -> Place {
        let mut rest = *board;
        let mut take = |kind: Kind| {
            let set = kind.set_mut(&mut rest);
            let s = set.first();
            *set = set.without_first();
            s
        };
        let square = take(self.shape.vector);
        let fast = self.fast.place[take(self.shape.fast) as usize];
        let second = match self.shape.second {
            Some(kind) => self.second.place[take(kind) as usize],
            None => (0, 0),
        };
        let slow = if W::WIDTH <= 64 {
            self.slow.index(&Board::from_wide(&rest.wide()))
        } else {
            self.slow_wide.index(&rest.wide())
        };
        Place {
            chunk: (slow * self.second.count + u64::from(second.0)) * self.fast.count
                + u64::from(fast.0),
            row: u16::from(second.1) * to_u16(self.fast.size) + u16::from(fast.1),
            square,
        }
    }

    /// The tile that is a chunk.
    #[must_use]
    pub fn tile<W: Bits>(&self, chunk: u64) -> Tile<'_, W> {
        let (rest, fast) = (chunk / self.fast.count, chunk % self.fast.count);
        let (slow, second) = (rest / self.second.count, rest % self.second.count);
        let part = |p: &Parts, n: u64| {
            let start = to_usize(n) * p.size;
            start..p.order.len().min(start + p.size)
        };
        Tile {
            layout: self,
            slow: if W::WIDTH <= 64 {
                Board::from_wide(&self.slow.board(slow).wide())
            } else {
                Board::from_wide(&self.slow_wide.board(slow))
            },
            fast: part(&self.fast, fast),
            second: part(&self.second, second),
        }
    }
}

/// The rows of one chunk.
#[derive(Clone, Debug)]
pub struct Tile<'a, W> {
    layout: &'a Layout,
    slow: Board<W>,
    fast: std::ops::Range<usize>,
    second: std::ops::Range<usize>,
}

/// One row of a tile: the number it has, its references, and what exists of it. References are
/// numbers of rows, the first of which is 1, or `NO_ROW`.
#[derive(Clone, Copy, Debug)]
pub struct Row<W> {
    /// The place inside the chunk, from 0.
    pub place: u16,
    /// Row with the fast piece on the nearest earlier square.
    pub fast: u16,
    /// Row with the fast piece on the next nearest.
    pub fast2: u16,
    /// Row with the second piece on the nearest earlier square.
    pub second: u16,
    /// Row with the second piece on the next nearest.
    pub second2: u16,
    /// Row with both back.
    pub both: u16,
    /// The squares of the fast and of the second piece; 0 for the latter if there is none.
    pub moving: [u8; 2],
    /// The squares of the vector; empty if the row does not exist.
    pub squares: W,
    /// All pieces but the vector and the fast one, and the kind of the latter.
    rest: Board<W>,
    fast_kind: Kind,
}

impl<W: Bits> Row<W> {
    /// All pieces but the vector.
    #[inline(always)]
    #[must_use]
    pub fn board(&self) -> Board<W> {
        let mut board = self.rest;
        *self.fast_kind.set_mut(&mut board) |= W::bit(self.moving[0]);
        board
    }
}

impl<W: Bits> Tile<'_, W> {
    /// Walks through the rows in order, those that do not exist included, up to the place `last`.
    #[inline(always)]
    pub fn walk(&self, field: &Field<W>, last: u16, visitor: &mut impl RowVisitor<W>) {
        let l = self.layout;
        let width = to_u16(l.fast.size);
        let same_kind = l.shape.fast == l.shape.vector;
        let mut up = 0;
        for j in self.second.clone() {
            if up > last {
                return;
            }
            let mut with_second = self.slow;
            let mut room = W::EMPTY;
            match l.shape.second {
                Some(kind) => {
                    let s = l.second.order[j];
                    let exists = kind.room(field, &self.slow).has(s);
                    *kind.set_mut(&mut with_second) |= W::bit(s);
                    if exists {
                        room = l.shape.fast.room(field, &with_second);
                    }
                }
                None => room = l.shape.fast.room(field, &with_second),
            }
            // What the fast piece leaves of it is the vector's.
            let vector_room = l.shape.vector.room(field, &with_second);
            let [second, second2] = l.second.refs[j];
            let second_square = l.second.order[j];
            let go = |b: u8, a: u16| match b {
                NONE => NO_ROW,
                b => u16::from(b) * width + a + 1,
            };
            let left = |a: u8| {
                if a == NONE {
                    NO_ROW
                } else {
                    up + u16::from(a) + 1
                }
            };
            let squares = &l.fast.order[self.fast.clone()];
            let refs = &l.fast.refs[self.fast.clone()];
            for ((at, &s), &[fast, fast2]) in (0..).zip(squares).zip(refs) {
                let place = up + at;
                if place > last {
                    return;
                }
                let squares = if !room.has(s) {
                    W::EMPTY
                } else if same_kind {
                    vector_room & W::below(s)
                } else {
                    vector_room & !W::bit(s)
                };
                visitor.row(&Row {
                    place,
                    fast: left(fast),
                    fast2: left(fast2),
                    second: go(second, at),
                    second2: go(second2, at),
                    both: match fast {
                        NONE => NO_ROW,
                        fast => go(second, u16::from(fast)),
                    },
                    moving: [s, second_square],
                    squares,
                    rest: with_second,
                    fast_kind: l.shape.fast,
                });
            }
            up += width;
        }
    }

    /// Whether any row may exist, by what the slow pieces leave; without looking at the rows.
    #[must_use]
    pub fn may_exist(&self, field: &Field<W>) -> bool {
        let l = self.layout;
        // The lowest slow piece of a kind bounds the faster ones.
        let bounded = |kind: Kind, p: &Parts, range: &std::ops::Range<usize>| {
            let room = kind.room(field, &self.slow);
            p.order[range.clone()].iter().any(|&s| room.has(s))
        };
        bounded(l.shape.fast, &l.fast, &self.fast)
            && l.shape
                .second
                .is_none_or(|kind| bounded(kind, &l.second, &self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dambase_rules::Variant;
    use dambase_rules::WithRuleset;

    /// Every position has its own place, and the place leads back to it.
    struct Bijection(Material, Shape);

    struct Checked<'a, R: Ruleset> {
        layout: &'a Layout,
        material: Material,
        chunk: u64,
        rows: usize,
        positions: u64,
        code: std::marker::PhantomData<R>,
    }

    impl<R: Ruleset> RowVisitor<R::Bits> for Checked<'_, R> {
        fn row(&mut self, row: &Row<R::Bits>) {
            self.rows += 1;
            for s in row.squares.squares() {
                let mut b = row.board();
                *self.layout.shape.vector.set_mut(&mut b) |= R::Bits::bit(s);
                assert_eq!(Material::of(&b), self.material);
                let place = Place {
                    chunk: self.chunk,
                    row: row.place,
                    square: s,
                };
                assert_eq!(self.layout.locate(&b), place);
                self.positions += 1;
            }
            for earlier in [row.fast, row.fast2, row.second, row.second2, row.both] {
                assert!(earlier <= row.place);
            }
        }
    }

    impl WithRuleset for Bijection {
        type Output = ();
        fn run<R: Ruleset>(self) {
            let g = R::RULES.geometry;
            let layout = Layout::new(g, self.0, self.1).unwrap();
            let index = Index::<R::Bits>::new(g, self.0).unwrap();
            let field = Field::of::<R>();
            let mut positions = 0;
            for chunk in 0..layout.chunks() {
                let tile = layout.tile::<R::Bits>(chunk);
                let mut checked = Checked::<R> {
                    layout: &layout,
                    material: self.0,
                    chunk,
                    rows: 0,
                    positions: 0,
                    code: std::marker::PhantomData,
                };
                tile.walk(&field, u16::MAX, &mut checked);
                assert!(checked.rows <= layout.rows());
                assert!(tile.may_exist(&field) || checked.positions == 0);
                positions += checked.positions;
            }
            assert_eq!(positions, index.positions(), "{} {}", R::VARIANT, self.0);
        }
    }

    #[test]
    fn places_are_a_bijection() {
        for v in [
            Variant::English,
            Variant::Italian,
            Variant::International,
            Variant::Canadian,
            Variant::Turkish,
        ] {
            for n in 2..=3 {
                for m in Material::all_with(n) {
                    for vector in Kind::ALL {
                        for fast in Kind::ALL {
                            for second in [None, Some(Kind::ALL[0]), Some(Kind::ALL[1])] {
                                let shape = Shape {
                                    vector,
                                    fast,
                                    second,
                                    fast_part: 9,
                                    second_part: if second.is_some() { 4 } else { 1 },
                                };
                                let g = v.rules().geometry;
                                if Layout::new(g, m, shape).is_ok() {
                                    v.with(Bijection(m, shape));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
