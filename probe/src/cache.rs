//! Decoded blocks, shared by all threads and bounded in bytes.

use std::sync::Arc;

use dambase_tables::{BlockId, DecodedBlock, Metric};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// What an entry costs beside its block: key, hash table, reference counts.
const OVERHEAD: u64 = 128;
/// Bytes of a typical block, from which the number of entries is estimated.
const TYPICAL: u64 = 2048;

/// Names a block among all blocks of a tablebase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key(u64);

impl Key {
    /// No block.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The key of a block; `slot` is below 2^16, the number of the block below 2^44.
    #[inline(always)]
    pub(crate) fn new(slot: usize, metric: Metric, id: BlockId) -> Self {
        debug_assert!(slot < 1 << 16 && id.block < 1 << 44);
        Self((slot as u64) << 48 | (metric as u64) << 46 | (id.side as u64) << 45 | id.block)
    }
    /// A place in a direct-mapped table of `size` (a power of two) entries. Neighbouring blocks
    /// get different places.
    #[inline(always)]
    pub(crate) fn place(self, size: usize) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (size - 1)
    }
}

/// Weighs a block by its bytes.
#[derive(Clone, Copy, Debug)]
struct Bytes;

impl Weighter<Key, Arc<DecodedBlock>> for Bytes {
    fn weight(&self, _key: &Key, block: &Arc<DecodedBlock>) -> u64 {
        block.bytes() as u64 + OVERHEAD
    }
}

/// The shared cache.
#[derive(Debug)]
pub(crate) struct Blocks(Cache<Key, Arc<DecodedBlock>, Bytes>);

impl Blocks {
    pub(crate) fn new(bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity((bytes / TYPICAL) as usize)
            .weight_capacity(bytes)
            .build()
            .expect("both capacities are given");
        Self(Cache::with_options(
            options,
            Bytes,
            Default::default(),
            DefaultLifecycle::default(),
        ))
    }
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<Arc<DecodedBlock>> {
        self.0.get(&key)
    }
    pub(crate) fn insert(&self, key: Key, block: Arc<DecodedBlock>) {
        self.0.insert(key, block);
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.0.weight()
    }
    pub(crate) fn capacity(&self) -> u64 {
        self.0.capacity()
    }
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.0.set_capacity(bytes);
    }
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}
