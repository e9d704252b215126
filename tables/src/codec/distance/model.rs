//! The model of a slice: its shape, what it depends on, and the probabilities.

use dambase_rules::Geometry;

use super::key::{self, MOST};
use super::rows::{CLASS_BITS, CLASS_TABLES, FLAG_BITS, Line, NUMBER_BITS, NUMBER_TABLES};
use super::sums::{self, Tables, Tree};
use crate::codec::context::layout::Shape;
use crate::codec::context::model::{BitReader, BitWriter};

/// What is expected where there is nothing to go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start {
    pub(super) class: u8,
    /// The numbers of wins and losses.
    pub(super) numbers: [u16; 2],
}

impl Start {
    /// The number of a class, 1 or 2.
    #[inline(always)]
    pub(super) const fn number(&self, class: u8) -> u16 {
        self.numbers[((class & 1) ^ 1) as usize]
    }
    /// A row of it.
    pub(super) fn line(&self, geometry: Geometry) -> Line {
        let number = if self.class == 0 {
            0
        } else {
            self.number(self.class)
        };
        Line::filled(geometry, key::key(self.class, number))
    }
}

/// The trees of a slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trees {
    pub(super) flags: [Tree; 1],
    pub(super) classes: [Tree; CLASS_TABLES],
    pub(super) numbers: [Tree; NUMBER_TABLES],
}

/// The probabilities of a slice, to be looked up.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) flags: Tables<1, { 1 << FLAG_BITS }>,
    pub(super) classes: Tables<CLASS_TABLES, { 1 << CLASS_BITS }>,
    pub(super) numbers: Tables<NUMBER_TABLES, { 1 << NUMBER_BITS }>,
}

impl Lookup {
    pub(super) fn new(trees: &Trees) -> Self {
        Self {
            flags: Tables::new(&trees.flags),
            classes: Tables::new(&trees.classes),
            numbers: Tables::new(&trees.numbers),
        }
    }
}

/// The model as it stands in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) shape: Shape,
    /// Whether the slice depends on the one with the other side to move.
    pub(super) dependent: bool,
    pub(super) start: Start,
    pub(super) trees: Trees,
}

impl Model {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = self.shape.bytes().to_vec();
        out.push(self.start.class | u8::from(self.dependent) << 2);
        for n in self.start.numbers {
            out.extend(n.to_le_bytes());
        }
        let Trees {
            flags,
            classes,
            numbers,
        } = &self.trees;
        let mut bits = BitWriter::default();
        for tree in flags.iter().chain(classes).chain(numbers) {
            tree.write(&mut bits);
        }
        out.extend(bits.out);
        out
    }

    /// Reads what [`Self::write`] wrote; nothing if it makes no sense.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (shape, rest) = bytes.split_first_chunk::<{ Shape::BYTES }>()?;
        let (&[kind, w0, w1, l0, l1], rest) = rest.split_first_chunk::<5>()?;
        let start = Start {
            class: kind & 3,
            numbers: [u16::from_le_bytes([w0, w1]), u16::from_le_bytes([l0, l1])],
        };
        if kind > 7 || start.class > 2 || start.numbers.iter().any(|&n| n > MOST) {
            return None;
        }
        let mut bits = BitReader::new(rest);
        let trees = Trees {
            flags: read_trees(&mut bits, FLAG_BITS)?,
            classes: read_trees(&mut bits, CLASS_BITS)?,
            numbers: read_trees(&mut bits, NUMBER_BITS)?,
        };
        bits.done().then_some(Self {
            shape: Shape::read(*shape)?,
            dependent: kind & 4 != 0,
            start,
            trees,
        })
    }
}

fn read_trees<const G: usize>(bits: &mut BitReader<'_>, width: usize) -> Option<[Tree; G]> {
    let trees: Option<Vec<Tree>> = (0..G).map(|_| Tree::read(bits, sums::all(width))).collect();
    trees?.try_into().ok()
}
