//! What is asked of a position: its value, or its value with the distance.

use dambase_tables::{
    DecodedBlock, Dtw, DtwArray, Dtz, DtzArray, Metric, RuleValue, Value, Wld, WldArray,
};

use crate::slot::{Slot, Source};

/// A kind of answer, which look-ups are generic over.
pub(crate) trait Measure: 'static {
    /// The answer for the side to move.
    type Answer: Copy + std::fmt::Debug + PartialEq;
    /// One slice in flat memory.
    type Flat: Send + Sync + 'static;
    /// The table that is named if there is none to give the answer.
    const METRIC: Metric;

    /// The file to read, and what it holds.
    fn source(slot: &Slot) -> Option<(&Source, Metric)>;
    /// The whole material in flat memory, captures resolved, if it is there.
    fn flat(slot: &Slot) -> Option<&[Self::Flat]>;
    /// The answer for a position of a slice in flat memory.
    fn at(flat: &Self::Flat, index: u64) -> Self::Answer;
    /// The answer for a quiet position of a block.
    fn read(block: &DecodedBlock, offset: u32) -> Self::Answer;
    /// The game is over, won or lost by the side to move.
    fn over(won: bool) -> Self::Answer;
    /// The answer for the mover, of a move after which the opponent has `after`.
    fn before(after: Self::Answer) -> Self::Answer;
    /// Whether a mover prefers `a` to `b`.
    fn better(a: Self::Answer, b: Self::Answer) -> bool;
    /// Whether no move can be better.
    fn is_best(a: Self::Answer) -> bool;
}

/// Win, loss or draw.
#[derive(Debug)]
pub(crate) struct OfWld;

impl Measure for OfWld {
    type Answer = Wld;
    type Flat = WldArray;
    const METRIC: Metric = Metric::Wld;

    #[inline(always)]
    fn source(slot: &Slot) -> Option<(&Source, Metric)> {
        match (&slot.wld, &slot.dtw) {
            (Some(s), _) => Some((s, Metric::Wld)),
            // Distances say who wins, too.
            (None, Some(s)) => Some((s, Metric::Dtw)),
            (None, None) => None,
        }
    }
    #[inline(always)]
    fn flat(slot: &Slot) -> Option<&[WldArray]> {
        slot.resident_wld.get().map(|r| &**r)
    }
    #[inline(always)]
    fn at(flat: &WldArray, index: u64) -> Wld {
        flat.get(index)
    }
    #[inline(always)]
    fn read(block: &DecodedBlock, offset: u32) -> Wld {
        block.wld(offset)
    }
    #[inline(always)]
    fn over(won: bool) -> Wld {
        if won { Wld::Win } else { Wld::Loss }
    }
    #[inline(always)]
    fn before(after: Wld) -> Wld {
        after.opposite()
    }
    #[inline(always)]
    fn better(a: Wld, b: Wld) -> bool {
        rank(a) > rank(b)
    }
    #[inline(always)]
    fn is_best(a: Wld) -> bool {
        a == Wld::Win
    }
}

/// Win before draw before loss.
#[inline(always)]
pub(crate) fn rank(v: Wld) -> u8 {
    match v {
        Wld::Win => 2,
        Wld::Draw => 1,
        Wld::Loss => 0,
    }
}

/// Win, loss or draw with the distance to the end.
#[derive(Debug)]
pub(crate) struct OfDtw;

impl Measure for OfDtw {
    type Answer = Value;
    type Flat = DtwArray;
    const METRIC: Metric = Metric::Dtw;

    #[inline(always)]
    fn source(slot: &Slot) -> Option<(&Source, Metric)> {
        slot.dtw.as_ref().map(|s| (s, Metric::Dtw))
    }
    #[inline(always)]
    fn flat(slot: &Slot) -> Option<&[DtwArray]> {
        slot.resident_dtw.get().map(|r| &**r)
    }
    #[inline(always)]
    fn at(flat: &DtwArray, index: u64) -> Value {
        flat.get(index)
    }
    #[inline(always)]
    fn read(block: &DecodedBlock, offset: u32) -> Value {
        block.value(offset)
    }
    #[inline(always)]
    fn over(won: bool) -> Value {
        if won {
            Value::Win(Dtw(0))
        } else {
            Value::Loss(Dtw(0))
        }
    }
    #[inline(always)]
    fn before(after: Value) -> Value {
        match after {
            Value::Draw => Value::Draw,
            Value::Win(Dtw(n)) => Value::Loss(Dtw(n + 1)),
            Value::Loss(Dtw(n)) => Value::Win(Dtw(n + 1)),
        }
    }
    #[inline(always)]
    fn better(a: Value, b: Value) -> bool {
        match (a, b) {
            (Value::Win(a), Value::Win(b)) => a < b,
            (Value::Loss(a), Value::Loss(b)) => a > b,
            (a, b) => rank(a.wld()) > rank(b.wld()),
        }
    }
    #[inline(always)]
    fn is_best(a: Value) -> bool {
        matches!(a, Value::Win(Dtw(..=1)))
    }
}

/// What a table of values under the draw limits has of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    /// The value with full clocks.
    pub(crate) value: RuleValue,
    /// The number of its list of what it needs where several clocks run.
    pub(crate) list: Option<u32>,
}

impl From<RuleValue> for Standing {
    fn from(value: RuleValue) -> Self {
        Self { value, list: None }
    }
}

/// The value under the draw limits with full clocks. Only read: what a position needs follows from
/// its successors by the rules of its clocks ([`crate::rule`]), not by [`Measure::before`], which
/// is that of one clock that runs on.
#[derive(Debug)]
pub(crate) struct OfDtz;

impl Measure for OfDtz {
    type Answer = Standing;
    type Flat = DtzArray;
    const METRIC: Metric = Metric::Dtz;

    fn source(slot: &Slot) -> Option<(&Source, Metric)> {
        slot.dtz.as_ref().map(|s| (s, Metric::Dtz))
    }
    fn flat(_slot: &Slot) -> Option<&[DtzArray]> {
        None
    }
    fn at(flat: &DtzArray, index: u64) -> Standing {
        flat.get(index).into()
    }
    #[inline(always)]
    fn read(block: &DecodedBlock, offset: u32) -> Standing {
        Standing {
            value: block.rule(offset),
            list: block.needs(offset),
        }
    }
    fn over(won: bool) -> Standing {
        let value = if won {
            RuleValue::Win(Dtz(0))
        } else {
            RuleValue::Loss(Dtz(0))
        };
        value.into()
    }
    fn before(after: Standing) -> Standing {
        let value = match after.value.opposite() {
            RuleValue::Win(Dtz(n)) => RuleValue::Win(Dtz(n + 1)),
            RuleValue::Loss(Dtz(n)) => RuleValue::Loss(Dtz(n + 1)),
            other => other,
        };
        value.into()
    }
    fn better(a: Standing, b: Standing) -> bool {
        rank(a.value.under_limits()) > rank(b.value.under_limits())
    }
    fn is_best(a: Standing) -> bool {
        a.value.under_limits() == Wld::Win
    }
}
