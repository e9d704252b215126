//! The model of a slice: its shape, what it depends on, and the probabilities.

use dambase_rules::Geometry;

use super::key::{self, MOST};
use super::rows::{AROUND_BITS, DIGIT_BITS, Line};
use crate::codec::context::layout::Shape;
use crate::codec::context::model::{
    self as trees, CERTAIN, Node, Probabilities, Question, read_trees, write_trees,
};

/// Decisions on numbers with the same surroundings.
const INNER: usize = 1 << DIGIT_BITS;
/// Bits of the whole context of a decision on a number.
pub(crate) const CONTEXT_BITS: usize = AROUND_BITS + DIGIT_BITS;

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

/// The model as it stands in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) shape: Shape,
    /// Whether the slice depends on the one with the other side to move.
    pub(super) dependent: bool,
    pub(super) start: Start,
    /// Copy flags and classes.
    pub(super) probabilities: Probabilities,
    pub(super) digits: Node,
}

impl Model {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = self.shape.bytes().to_vec();
        out.push(self.start.class | u8::from(self.dependent) << 2);
        for n in self.start.numbers {
            out.extend(n.to_le_bytes());
        }
        let Probabilities { flags, tree } = &self.probabilities;
        let all = [
            (Question::Copy, flags),
            (Question::Value, tree),
            (Question::Digit, &self.digits),
        ];
        write_trees(all, &mut out);
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
        let questions = [Question::Copy, Question::Value, Question::Digit];
        let [flags, tree, digits] = read_trees(questions, rest)?;
        Some(Self {
            shape: Shape::read(*shape)?,
            dependent: kind & 4 != 0,
            start,
            probabilities: Probabilities { flags, tree },
            digits,
        })
    }
}

/// The expected outcome of a decision (bit 6) and its class.
type Digit = u8;

/// The probabilities of decisions on numbers in the form in which they are looked up.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    around: Vec<u16>,
    lines: Vec<[Digit; INNER]>,
}

impl Digits {
    pub(super) fn new(tree: &Node) -> Self {
        let make = |order: [u8; 3], first: u8, _| first | order[0] << 6;
        let (around, lines) = trees::tabulate(tree, CONTEXT_BITS, &make);
        Self { around, lines }
    }

    /// The expected outcome, and its probability in units of 2^-16; 65536 if it is certain.
    #[inline(always)]
    pub(super) fn get(&self, around: usize, inner: usize) -> (bool, u32) {
        let line = usize::from(self.around[around % (1 << AROUND_BITS)]);
        let digit = self.lines[line][inner % INNER];
        (digit >> 6 & 1 == 1, HIT[usize::from(digit & 63)])
    }
}

/// The probability of the expected outcome by its class.
static HIT: [u32; 64] = {
    let mut all = [65536; 64];
    let mut q = 0;
    while q < CERTAIN {
        all[q as usize] -= trees::miss(q);
        q += 1;
    }
    all
};
