//! From contexts to probabilities: a decision tree over the bits of a context, grown and pruned by
//! the length of its description, so that a small slice gets a small model.

use super::rows::{ERROR_BITS, FLAG_BITS, OUTER_BITS};
use crate::narrow::{to_u8, to_u16, to_u32};

/// Bits of a context: the inner ones lowest.
pub(crate) const CONTEXT_BITS: usize = OUTER_BITS + ERROR_BITS;
/// Inner contexts.
const INNER: usize = 1 << ERROR_BITS;
/// How often each value occurred.
pub(crate) type Counts = [u32; 3];
/// Marks an outcome that is never missed and costs no decision.
pub(crate) const CERTAIN: u8 = 63;

/// `n * log2(n)` by basic arithmetic only, so that all machines agree on every bit.
fn n_log_n(n: u64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    n as f64 * log2(n as f64)
}

/// The binary logarithm of a positive normal number.
pub(crate) fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut m = f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    let z = (m - 1.0) / (m + 1.0);
    let square = z * z;
    let (mut term, mut sum, mut k) = (z, 0.0, 1.0);
    while k < 20.0 {
        sum += term / k;
        term *= square;
        k += 2.0;
    }
    f64::from(exponent) + sum * 2.0 * std::f64::consts::LOG2_E
}

/// Bits that values cost with a probability of their own.
fn entropy(c: &[u64; 3]) -> f64 {
    n_log_n(c[0] + c[1] + c[2]) - n_log_n(c[0]) - n_log_n(c[1]) - n_log_n(c[2])
}

/// The probability, in units of 2^-16, that an outcome with class `q` below [`CERTAIN`] is not the
/// expected one: about 2^-(1/2 + q/4).
pub(crate) const fn miss(q: u8) -> u32 {
    let mantissa = [46341, 38968, 32768, 27554][q as usize % 4];
    let m = mantissa >> (q / 4);
    if m == 0 { 1 } else { m }
}

/// The class that codes `hits` expected outcomes of `n` best.
fn class(hits: u64, n: u64, exact: bool) -> u8 {
    if hits == n && exact {
        return CERTAIN;
    }
    let cost = |q: u8| {
        let m = f64::from(miss(q)) / 65536.0;
        -(hits as f64 * log2(1.0 - m)) - (n - hits) as f64 * log2(m)
    };
    // Costs fall to the best class and rise again; the rarest classes share their chances.
    let mut q = 0;
    while q + 1 < CERTAIN && cost(q + 1) <= cost(q) {
        q += 1;
    }
    q
}

/// The probabilities of the values of one context, packed so that decoding finds all it needs in
/// one word: 16 bits the chance to miss the first value (0: certain), 8 bits the class of the
/// second decision, then twice two bits for the first and the second value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Leaf(u32);

const ORDERS: [[u8; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

impl Leaf {
    fn new(order: [u8; 3], first: u8, second: u8) -> Self {
        let miss = if first == CERTAIN { 0 } else { miss(first) };
        let [a, b, c] = order.map(u32::from);
        Self(miss | u32::from(second) << 16 | a << 24 | b << 26 | c << 28)
    }
    /// The most likely value.
    #[inline(always)]
    pub(crate) const fn first(self) -> u8 {
        (self.0 >> 24 & 3) as u8
    }
    /// The second value.
    #[inline(always)]
    pub(crate) const fn second(self) -> u8 {
        (self.0 >> 26 & 3) as u8
    }
    /// The least likely value.
    #[inline(always)]
    pub(crate) const fn third(self) -> u8 {
        (self.0 >> 28 & 3) as u8
    }
    /// The probability of the first value; 65536 if it is certain.
    #[inline(always)]
    pub(crate) const fn hit(self) -> u32 {
        65536 - (self.0 & 0xffff)
    }
    /// The probability of the second value when it is not the first; nothing if it is certain.
    #[inline(always)]
    pub(crate) const fn second_hit(self) -> Option<u32> {
        let q = (self.0 >> 16 & 63) as u8;
        if q == CERTAIN {
            None
        } else {
            Some(65536 - miss(q))
        }
    }
}

/// A tree of contexts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    /// Order of the values (a number into [`ORDERS`]) and the classes of the two decisions.
    Leaf { order: u8, first: u8, second: u8 },
    /// The tree for contexts without and with a bit.
    Split { bit: u8, below: Box<[Node; 2]> },
}

/// Grows trees from histograms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grower {
    /// The part of the slice that was counted; the model is paid for by the whole.
    pub(crate) share: f64,
    /// Whether everything that will be coded was counted, so that what never occurred never will.
    pub(crate) exact: bool,
}

impl Grower {
    /// The best tree found and its cost in bits, its own included.
    pub(crate) fn grow(&self, entries: &mut [(u32, Counts)], question: Question) -> (Node, f64) {
        self.grow_with(entries, (1 << question.context_bits()) - 1, question)
    }

    fn grow_with(
        &self,
        entries: &mut [(u32, Counts)],
        free: u32,
        question: Question,
    ) -> (Node, f64) {
        let leaf_bits = 15.0 * self.share;
        let split_bits = 6.0 * self.share;
        let sum = add(entries.iter().map(|e| &e.1));
        let own = entropy(&sum) + leaf_bits;
        if own < 2.0 * leaf_bits + split_bits || free == 0 {
            return (self.leaf(&sum, question), own);
        }
        let mut best = (f64::INFINITY, 0);
        for bit in (0..32_u8).filter(|b| free >> b & 1 == 1) {
            let with = add(entries.iter().filter(|e| e.0 >> bit & 1 == 1).map(|e| &e.1));
            let without = [sum[0] - with[0], sum[1] - with[1], sum[2] - with[2]];
            let cost = entropy(&with) + entropy(&without);
            if cost < best.0 {
                best = (cost, bit);
            }
        }
        let bit = best.1;
        let mut at = 0;
        for i in 0..entries.len() {
            if entries[i].0 >> bit & 1 == 0 {
                entries.swap(i, at);
                at += 1;
            }
        }
        let (without, with) = entries.split_at_mut(at);
        let free = free & !(1 << bit);
        let (without, cost0) = self.grow_with(without, free, question);
        let (with, cost1) = self.grow_with(with, free, question);
        let cost = split_bits + cost0 + cost1;
        if cost < own {
            let below = Box::new([without, with]);
            (Node::Split { bit, below }, cost)
        } else {
            (self.leaf(&sum, question), own)
        }
    }

    fn leaf(&self, counts: &[u64; 3], question: Question) -> Node {
        let mut by_count = [0_u8, 1, 2];
        by_count.sort_by_key(|&v| (std::cmp::Reverse(counts[v as usize]), v));
        let order = ORDERS.iter().position(|o| *o == by_count).unwrap_or(0);
        let [a, b, c] = by_count.map(|v| counts[v as usize]);
        let first = class(a, a + b + c, self.exact);
        let second = if question != Question::Value || first == CERTAIN {
            CERTAIN
        } else {
            class(b, b + c, self.exact)
        };
        Node::Leaf {
            order: to_u8(order),
            first,
            second,
        }
    }
}

fn add<'a>(counts: impl Iterator<Item = &'a Counts>) -> [u64; 3] {
    counts.fold([0; 3], |s, c| {
        [
            s[0] + u64::from(c[0]),
            s[1] + u64::from(c[1]),
            s[2] + u64::from(c[2]),
        ]
    })
}

/// What the leaves of a tree decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// Whether a row is as predicted: 0 or 1.
    Copy,
    /// A value: 0, 1 or 2.
    Value,
}

impl Question {
    /// Bits of a context.
    const fn context_bits(self) -> usize {
        match self {
            Self::Copy => FLAG_BITS,
            Self::Value => CONTEXT_BITS,
        }
    }
    /// Bits that name the order of the outcomes: of the first two or of all orders.
    const fn order_bits(self) -> usize {
        match self {
            Self::Copy => 1,
            Self::Value => 3,
        }
    }
    /// The number of an order in [`ORDERS`] from its number in the file, which is as many places
    /// on for values and twice as many for flags.
    const fn stride(self) -> u8 {
        match self {
            Self::Copy => 2,
            Self::Value => 1,
        }
    }

    /// Appends a tree as it stands in the file.
    pub(crate) fn write(self, n: &Node, bits: &mut BitWriter) {
        match n {
            Node::Leaf {
                order,
                first,
                second,
            } => {
                bits.put(0, 1);
                bits.put(u32::from(order / self.stride()), to_u32(self.order_bits()));
                bits.put((*first).into(), 6);
                if self == Self::Value && *first != CERTAIN {
                    bits.put((*second).into(), 6);
                }
            }
            Node::Split { bit, below } => {
                bits.put(1, 1);
                bits.put((*bit).into(), 5);
                self.write(&below[0], bits);
                self.write(&below[1], bits);
            }
        }
    }

    /// Reads what [`Self::write`] wrote; nothing if it makes no sense.
    pub(crate) fn read(self, bits: &mut BitReader<'_>) -> Option<Node> {
        self.read_below(bits, (1 << self.context_bits()) - 1)
    }

    fn read_below(self, bits: &mut BitReader<'_>, free: u32) -> Option<Node> {
        if bits.get(1)? == 0 {
            let order = bits.small(self.order_bits())? * self.stride();
            let first = bits.small(6)?;
            let second = if self != Self::Value || first == CERTAIN {
                CERTAIN
            } else {
                bits.small(6)?
            };
            return (usize::from(order) < ORDERS.len()).then_some(Node::Leaf {
                order,
                first,
                second,
            });
        }
        let bit = bits.small(5)?;
        // No bit is asked twice on one way, which bounds the size of any tree.
        if free >> bit & 1 == 0 {
            return None;
        }
        let free = free & !(1 << bit);
        let without = self.read_below(bits, free)?;
        let with = self.read_below(bits, free)?;
        Some(Node::Split {
            bit,
            below: Box::new([without, with]),
        })
    }
}

/// The probabilities of a slice as they stand in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Probabilities {
    pub(crate) flags: Node,
    pub(crate) tree: Node,
}

impl Probabilities {
    /// Appends the bits of the file format.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut bits = BitWriter::default();
        Question::Copy.write(&self.flags, &mut bits);
        Question::Value.write(&self.tree, &mut bits);
        out.extend(bits.out);
    }

    /// Reads what [`Self::write`] wrote; nothing if it makes no sense.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(bytes);
        let flags = Question::Copy.read(&mut bits)?;
        let tree = Question::Value.read(&mut bits)?;
        bits.done().then_some(Self { flags, tree })
    }
}

/// The probabilities in the form in which decoding looks them up.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// One leaf for each context of a flag.
    flags: Vec<Leaf>,
    /// Outer context to a line of `lines`.
    outer: Box<[u16; 1 << OUTER_BITS]>,
    /// One leaf for each inner context.
    lines: Vec<[Leaf; INNER]>,
}

impl Lookup {
    pub(crate) fn new(p: &Probabilities) -> Self {
        let mut flags = vec![Leaf::default(); 1 << FLAG_BITS];
        let all = (1 << FLAG_BITS) - 1;
        spread(&p.flags, all, &Leaf::new, (0, 0), &mut flags);
        let (outer, lines) = tabulate(&p.tree, CONTEXT_BITS, &Leaf::new);
        let outer = outer
            .into_boxed_slice()
            .try_into()
            .unwrap_or_else(|_| unreachable!("the vector has just this length"));
        Self {
            flags,
            outer,
            lines,
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.outer) + size_of_val(&*self.lines) + size_of_val(&*self.flags)
    }

    /// The leaf of a flag: first and second are 0 for a copy and 1 for another row.
    #[inline(always)]
    pub(crate) fn flag(&self, context: usize) -> Leaf {
        self.flags[context % (1 << FLAG_BITS)]
    }

    /// The leaf of a square.
    #[inline(always)]
    pub(crate) fn leaf(&self, outer: u16, inner: u8) -> Leaf {
        let line = self.outer[usize::from(outer) % (1 << OUTER_BITS)];
        self.lines[usize::from(line)][usize::from(inner) % INNER]
    }
}

/// Makes a leaf from the order of its outcomes and the classes of its decisions.
type MakeLeaf<'a, L> = dyn Fn([u8; 3], u8, u8) -> L + 'a;

/// The leaves of a tree as lines of those with equal upper bits of the context: which line each
/// upper part has, and the distinct lines.
pub(crate) fn tabulate<L: Copy + Default + Eq + std::hash::Hash, const INNER: usize>(
    tree: &Node,
    bits: usize,
    make: &MakeLeaf<'_, L>,
) -> (Vec<u16>, Vec<[L; INNER]>) {
    let inner = to_u32(INNER) - 1;
    // Bits that are not asked for change nothing: a small tree is quickly done.
    let asked = asked(tree) & !inner;
    let mut leaves = vec![L::default(); 1 << bits];
    spread(tree, asked | inner, make, (0, 0), &mut leaves);
    let all = leaves.as_chunks::<INNER>().0;
    let asked = asked as usize / INNER;
    let mut which = vec![0_u16; all.len()];
    let mut lines = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut at = 0_usize;
    loop {
        which[at] = *known.entry(all[at]).or_insert_with(|| {
            lines.push(all[at]);
            to_u16(lines.len() - 1)
        });
        at = at.wrapping_sub(asked) & asked;
        if at == 0 {
            break;
        }
    }
    for at in 0..which.len() {
        which[at] = which[at & asked];
    }
    (which, lines)
}

/// The bits that a tree asks for.
fn asked(tree: &Node) -> u32 {
    match tree {
        Node::Leaf { .. } => 0,
        Node::Split { bit, below } => 1 << bit | asked(&below[0]) | asked(&below[1]),
    }
}

/// Writes the leaf of every context below a node that has no other bits than `bits`; the bits
/// decided, and what they are.
fn spread<L: Copy>(
    n: &Node,
    bits: u32,
    make: &MakeLeaf<'_, L>,
    (fixed, value): (u32, u32),
    leaves: &mut [L],
) {
    match n {
        Node::Split { bit, below } => {
            let bit = 1 << bit;
            spread(&below[0], bits, make, (fixed | bit, value), leaves);
            spread(&below[1], bits, make, (fixed | bit, value | bit), leaves);
        }
        Node::Leaf {
            order,
            first,
            second,
        } => {
            let leaf = make(ORDERS[usize::from(*order)], *first, *second);
            // All subsets of the bits left open.
            let open = !fixed & bits;
            let mut subset = 0_u32;
            loop {
                leaves[(value | subset) as usize] = leaf;
                subset = subset.wrapping_sub(open) & open;
                if subset == 0 {
                    break;
                }
            }
        }
    }
}

/// Bits to bytes, the lowest bit first.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    pub(crate) out: Vec<u8>,
    used: u32,
}

impl BitWriter {
    pub(crate) fn put(&mut self, value: u32, bits: u32) {
        for k in 0..bits {
            if self.used.is_multiple_of(8) {
                self.out.push(0);
            }
            if value >> k & 1 == 1
                && let Some(last) = self.out.last_mut()
            {
                *last |= 1 << (self.used % 8);
            }
            self.used += 1;
        }
    }
}

/// Bits from bytes, the lowest bit first.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// The next bits, at most 32.
    pub(crate) fn get(&mut self, bits: usize) -> Option<u32> {
        let mut value = 0;
        for k in 0..bits {
            let byte = self.bytes.get(self.at / 8)?;
            value |= u32::from(byte >> (self.at % 8) & 1) << k;
            self.at += 1;
        }
        Some(value)
    }
    /// A number of at most eight bits.
    pub(crate) fn small(&mut self, bits: usize) -> Option<u8> {
        self.get(bits)?.try_into().ok()
    }
    /// True if only the padding of the last byte is left.
    pub(crate) fn done(&self) -> bool {
        self.at.div_ceil(8) == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logarithms_are_good() {
        for n in [
            2_u64,
            3,
            10,
            1023,
            1024,
            1_000_003,
            1 << 40,
            (1 << 45) + 12345,
        ] {
            let wanted = n as f64 * (n as f64).log2();
            assert!((n_log_n(n) - wanted).abs() < 1e-8 * wanted);
        }
        for q in 0..CERTAIN {
            assert!((1..65536).contains(&miss(q)));
        }
    }

    #[test]
    fn classes_follow_the_frequencies() {
        for (hits, n) in [
            (1_u64, 2_u64),
            (2, 3),
            (40, 41),
            (9_999, 10_000),
            (4_095, 4_096),
        ] {
            let m = f64::from(miss(class(hits, n, false))) / 65536.0;
            let wanted = (n - hits) as f64 / n as f64;
            // Half a class, and what is lost in whole 65536ths.
            assert!((m / wanted).log2().abs() < 0.35, "{m} {wanted}");
        }
        assert_eq!(class(7, 7, true), CERTAIN);
        assert_eq!(class(0, 0, true), CERTAIN);
        assert_ne!(class(0, 0, false), CERTAIN);
        assert_ne!(class(7, 7, false), CERTAIN);
    }

    /// Walks down the tree.
    fn find(n: &Node, context: u32) -> Leaf {
        match n {
            Node::Leaf {
                order,
                first,
                second,
            } => Leaf::new(ORDERS[usize::from(*order)], *first, *second),
            Node::Split { bit, below } => find(&below[(context >> bit & 1) as usize], context),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn models_lead_back(
            entries in proptest::collection::vec(
                (0_u32..1 << CONTEXT_BITS, proptest::array::uniform3(0_u32..900)), 1..200),
            exact in any::<bool>(),
        ) {
            let mut entries = entries;
            let grower = Grower { share: 0.5, exact };
            let (tree, _) = grower.grow(&mut entries, Question::Value);
            let mut rows: Vec<(u32, Counts)> = entries.iter().take(50)
                .map(|&(c, n)| (c % (1 << FLAG_BITS), [n[0], n[1], 0])).collect();
            let (flags, _) = grower.grow(&mut rows, Question::Copy);
            let p = Probabilities { flags, tree };
            let mut bytes = Vec::new();
            p.write(&mut bytes);
            let read = Probabilities::read(&bytes);
            prop_assert_eq!(read.as_ref(), Some(&p));
            let lookup = Lookup::new(&p);
            for c in (0..1_u32 << CONTEXT_BITS).step_by(77) {
                let leaf = lookup.leaf((c >> ERROR_BITS) as u16, (c as usize % INNER) as u8);
                prop_assert_eq!(leaf, find(&p.tree, c));
            }
            for c in 0..1_u32 << FLAG_BITS {
                prop_assert_eq!(lookup.flag(c as usize), find(&p.flags, c));
            }
            if exact {
                for (c, counts) in &entries {
                    // What occurred can be coded.
                    let leaf = find(&p.tree, *c);
                    for (v, &n) in counts.iter().enumerate() {
                        if n > 0 && leaf.hit() == 65536 {
                            prop_assert_eq!(usize::from(leaf.first()), v);
                        }
                    }
                }
            }
            bytes.push(0);
            prop_assert_eq!(Probabilities::read(&bytes), None);
            bytes.truncate(bytes.len() / 2);
            prop_assert_eq!(Probabilities::read(&bytes), None);
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(p) = Probabilities::read(&bytes) {
                Lookup::new(&p);
            }
        }
    }
}
