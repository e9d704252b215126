//! What one thread needs for its look-ups, so that none of them allocates.

use std::any::Any;
use std::sync::Arc;

use dambase_rules::{Bits, MoveList};
use dambase_tables::DecodedBlock;

use crate::cache::Key;

/// Blocks a scratch remembers; a power of two.
const RECENT: usize = 256;

/// Buffers of one thread: move lists for captures, a decompressor, and the last few blocks used,
/// which are found without a lock.
///
/// A scratch keeps at most 256 blocks alive, whatever the budget of the shared cache is. It may be
/// used with several tablebases, but forgets its blocks when it changes from one to another.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) decoder: dambase_tables::Scratch,
    lists: Lists,
    owner: u64,
    recent: Box<[(Key, Option<Arc<DecodedBlock>>); RECENT]>,
    /// The places of `recent` that are taken.
    taken: Vec<usize>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            decoder: dambase_tables::Scratch::new(),
            lists: Lists::default(),
            owner: 0,
            recent: Box::new([const { (Key::NONE, None) }; RECENT]),
            taken: Vec::new(),
        }
    }

    /// Prepares for look-ups in the tablebase with this number.
    #[inline(always)]
    pub(crate) fn attach(&mut self, owner: u64) {
        if self.owner != owner {
            self.forget();
            self.owner = owner;
        }
    }

    /// Drops all blocks that are kept alive.
    #[cold]
    pub fn forget(&mut self) {
        for place in self.taken.drain(..) {
            self.recent[place] = (Key::NONE, None);
        }
        self.owner = 0;
    }

    #[inline(always)]
    pub(crate) fn recent(&self, key: Key) -> Option<&Arc<DecodedBlock>> {
        let (k, block) = &self.recent[key.place(RECENT)];
        if *k == key { block.as_ref() } else { None }
    }

    #[inline(always)]
    pub(crate) fn remember(&mut self, key: Key, block: Arc<DecodedBlock>) {
        let place = key.place(RECENT);
        if self.recent[place].1.is_none() {
            self.taken.push(place);
        }
        self.recent[place] = (key, Some(block));
    }

    /// The move list for captures `depth` captures below the position asked for.
    #[inline(always)]
    pub(crate) fn take_list<W: Bits>(&mut self, depth: usize) -> MoveList<W> {
        let lists = self.lists.of::<W>();
        if depth >= lists.len() {
            lists.resize_with(depth + 1, MoveList::new);
        }
        std::mem::take(&mut lists[depth])
    }

    #[inline(always)]
    pub(crate) fn give_back<W: Bits>(&mut self, depth: usize, list: MoveList<W>) {
        self.lists.of::<W>()[depth] = list;
    }
}

/// Move lists of both words.
#[derive(Debug, Default)]
struct Lists {
    narrow: Vec<MoveList<u64>>,
    wide: Vec<MoveList<u128>>,
}

impl Lists {
    /// The lists of one word; decided when compiled.
    #[inline(always)]
    fn of<W: Bits>(&mut self) -> &mut Vec<MoveList<W>> {
        if W::WIDTH == u64::BITS {
            let lists: &mut dyn Any = &mut self.narrow;
            lists.downcast_mut().expect("a word of 64 bits is u64")
        } else {
            let lists: &mut dyn Any = &mut self.wide;
            lists.downcast_mut().expect("a wider word is u128")
        }
    }
}
