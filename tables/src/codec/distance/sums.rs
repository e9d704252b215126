//! Probabilities whose odds are sums: each of several tables, by a context of its own, adds to the
//! logarithm of the odds of a decision. A table stands in the file as a tree over the bits of its
//! context.

use crate::codec::context::model::{BitReader, BitWriter};
use crate::narrow::to_u32;

/// Most bits of the context of a table.
pub(super) const MOST_BITS: usize = 15;
/// Bits that name a bit of a context.
pub(super) const NAME_BITS: u32 = 4;
/// Bits of what a leaf adds.
pub(super) const LEAF_BITS: u32 = 7;
/// Least and most that a leaf adds, in eighths of a nat.
pub(super) const REACH: [i16; 2] = [-64, 63];
/// From this sum on a decision is as good as certain.
pub(super) const FAR: i16 = 88;

/// The probability of the less likely outcome by the sum's absolute value, in units of 2^-16:
/// 65536 / (1 + e^(sum / 8)), rounded to the nearest, but at least 1.
pub(super) static MISS: [u16; FAR as usize + 1] = [
    32768, 30723, 28693, 26695, 24743, 22849, 21025, 19282, 17625, 16062, 14595, 13226, 11955,
    10782, 9702, 8714, 7812, 6992, 6249, 5577, 4971, 4427, 3938, 3500, 3108, 2758, 2446, 2168,
    1921, 1701, 1506, 1333, 1179, 1042, 922, 815, 720, 636, 562, 497, 439, 387, 342, 302, 267, 236,
    208, 184, 162, 143, 126, 111, 98, 87, 77, 68, 60, 53, 47, 41, 36, 32, 28, 25, 22, 19, 17, 15,
    13, 12, 10, 9, 8, 7, 6, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1,
];

/// The expected outcome of a decision with a sum, and its probability in units of 2^-16.
#[inline(always)]
pub(super) fn odds(sum: i16) -> (bool, u32) {
    let far = sum.unsigned_abs().min(FAR.unsigned_abs());
    (sum >= 0, 65536 - u32::from(MISS[usize::from(far)]))
}

/// The probability of yes, in units of 2^-16.
#[inline(always)]
pub(super) fn probability(sum: i16) -> u32 {
    let (yes, hit) = odds(sum);
    if yes { hit } else { 65536 - hit }
}

/// The tree of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tree {
    /// What is added, in eighths of a nat.
    Leaf(i8),
    /// The trees for contexts without and with a bit.
    Split { bit: u8, below: Box<[Tree; 2]> },
}

impl Tree {
    /// Appends the tree as it stands in the file.
    pub(super) fn write(&self, bits: &mut BitWriter) {
        match self {
            Self::Leaf(sum) => {
                bits.put(0, 1);
                bits.put(u32::from(sum.cast_unsigned()), LEAF_BITS);
            }
            Self::Split { bit, below } => {
                bits.put(1, 1);
                bits.put((*bit).into(), NAME_BITS);
                below[0].write(bits);
                below[1].write(bits);
            }
        }
    }

    /// Reads a tree over the bits that are set in `free`; nothing if it makes no sense.
    pub(super) fn read(bits: &mut BitReader<'_>, free: u32) -> Option<Self> {
        if bits.get(1)? == 0 {
            let sum = bits.small(LEAF_BITS as usize)?;
            // The seventh bit is the sign.
            return Some(Self::Leaf((sum << 1).cast_signed() >> 1));
        }
        let bit = bits.small(NAME_BITS as usize)?;
        // No bit is asked twice on one way, which bounds the size of any tree.
        if free >> bit & 1 == 0 {
            return None;
        }
        let free = free & !(1 << bit);
        let without = Self::read(bits, free)?;
        let with = Self::read(bits, free)?;
        Some(Self::Split {
            bit,
            below: Box::new([without, with]),
        })
    }

    /// What it adds in each of the contexts of so many bits.
    pub(super) fn table(&self, bits: usize) -> Box<[i8]> {
        let mut table = vec![0; 1 << bits];
        self.spread((1 << bits) - 1, 0, &mut table);
        table.into_boxed_slice()
    }

    fn spread(&self, open: u32, value: u32, table: &mut [i8]) {
        match self {
            Self::Split { bit, below } => {
                let bit = 1 << bit;
                below[0].spread(open & !bit, value, table);
                below[1].spread(open & !bit, value | bit, table);
            }
            Self::Leaf(sum) => {
                // All subsets of the bits left open.
                let mut subset = 0_u32;
                loop {
                    table[(value | subset) as usize] = *sum;
                    subset = subset.wrapping_sub(open) & open;
                    if subset == 0 {
                        break;
                    }
                }
            }
        }
    }
}

/// The tables of one question, in the form in which they are looked up; of `SIZE` entries each.
#[derive(Clone, Debug)]
pub(super) struct Tables<const G: usize, const SIZE: usize> {
    tables: [Box<[i8; SIZE]>; G],
    /// Whether all contexts have the same entries.
    constant: bool,
}

impl<const G: usize, const SIZE: usize> Tables<G, SIZE> {
    /// Those of trees over contexts of so many bits as `SIZE` says.
    pub(super) fn new(trees: &[Tree; G]) -> Self {
        let bits = SIZE.trailing_zeros() as usize;
        let table = |tree: &Tree| match tree.table(bits).try_into() {
            Ok(table) => table,
            Err(_) => unreachable!("the table has just this length"),
        };
        Self {
            tables: std::array::from_fn(|g| table(&trees[g])),
            constant: trees.iter().all(|tree| matches!(tree, Tree::Leaf(_))),
        }
    }
    /// Whether contexts do not matter.
    #[inline(always)]
    pub(super) const fn constant(&self) -> bool {
        self.constant
    }
    /// The sum in contexts that have `decision` in their lowest bits.
    #[inline(always)]
    pub(super) fn sum(&self, contexts: &[u16; G], decision: u16) -> i16 {
        let mut sum = 0_i16;
        let mut g = 0;
        while g < G {
            // `SIZE` is a power of two.
            let at = usize::from(contexts[g] | decision) % SIZE;
            sum += i16::from(self.tables[g][at]);
            g += 1;
        }
        sum
    }
}

/// Whether a sample's decision was answered with yes, in its contexts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<const G: usize> {
    pub(super) contexts: [u16; G],
    pub(super) yes: bool,
}

const _: () = assert!(MOST_BITS <= 1 << NAME_BITS);

/// The bits of a context, all free.
pub(super) const fn all(bits: usize) -> u32 {
    to_u32(1 << bits) - 1
}

/// The entry of a leaf nearest to a quotient, halves away from zero, held to what it can say.
pub(super) fn entry(wanted: i64, curvature: i64) -> i8 {
    let whole = (2 * wanted.abs() + curvature) / (2 * curvature);
    let [low, high] = REACH.map(i64::from);
    let held = (whole * wanted.signum()).clamp(low, high);
    i8::try_from(held).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chances_follow_the_formula() {
        for (sum, &miss) in (0..).zip(&MISS) {
            let wanted = 65536.0 / (1.0 + (f64::from(sum) / 8.0).exp());
            assert_eq!(f64::from(miss), wanted.round().max(1.0), "{sum}");
            assert_eq!(odds(sum), (true, 65536 - u32::from(miss)));
            assert_eq!(probability(-sum - 1), 65536 - probability(sum + 1));
        }
        assert_eq!(odds(i16::MIN), (false, 65535));
        assert_eq!(odds(i16::MAX), (true, 65535));
    }

    #[test]
    fn entries_are_rounded_and_held() {
        let all = [
            (4, 0),
            (-4, 0),
            (5, 1),
            (-5, -1),
            (626, 63),
            (1 << 50, 63),
            (-634, -63),
            (-635, -64),
            (-1 << 50, -64),
        ];
        for (tenths, wanted) in all {
            assert_eq!(entry(tenths, 10), wanted, "{tenths}");
        }
    }

    /// Walks down the tree.
    fn find(tree: &Tree, context: u32) -> i8 {
        match tree {
            Tree::Leaf(n) => *n,
            Tree::Split { bit, below } => find(&below[(context >> bit & 1) as usize], context),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_bits_are_read_and_lead_back(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            const BITS: usize = 6;
            let mut bits = BitReader::new(&bytes);
            if let Some(tree) = Tree::read(&mut bits, all(BITS)) {
                let mut out = BitWriter::default();
                tree.write(&mut out);
                prop_assert_eq!(Tree::read(&mut BitReader::new(&out.out), all(BITS)), Some(tree.clone()));
                let table = tree.table(BITS);
                prop_assert_eq!(table.len(), 1 << BITS);
                for (context, &n) in (0..).zip(&table) {
                    prop_assert_eq!(n, find(&tree, context));
                }
            }
        }
    }
}
