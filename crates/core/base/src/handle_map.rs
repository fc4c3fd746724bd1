//! Hash maps keyed by handles that MeshRTI assigns.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by handles, for look-ups only: nothing may depend on its order.
///
/// Handles are dense numbers that MeshRTI itself assigns, so no peer can choose keys that collide.
/// A federate mostly updates its objects in the order of their registration. Handles that follow each
/// other are therefore neighbours in the table, in blocks of 16: a look-up then seldom waits for
/// memory that the one before it has not brought to the caches. One multiplication spreads the blocks
/// well enough.
pub type HandleMap<K, V> = HashMap<K, V, HandleState>;

/// Hashes the keys of a [`HandleMap`], or of another map keyed by handles.
pub type HandleState = BuildHasherDefault<HandleHasher>;

/// Number of neighbours: as many as the hash table compares at once.
const BLOCK: u64 = 16;

/// Multiplies the numbers of blocks by 2⁶⁴ divided by the golden ratio (Fibonacci hashing).
#[derive(Default, Clone, Copy, Debug)]
pub struct HandleHasher {
    /// All parts of the key before the last one.
    before: u64,
    last: u64,
}

impl HandleHasher {
    fn product(self, last: u64) -> u64 {
        (self.before.rotate_left(5) ^ last).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        let (block, within) = (self.product(self.last / BLOCK), self.last % BLOCK);
        // The table takes a bucket from the low bits, so the high bits of the product, which are the
        // best ones, become those above the place in the block. From its own high bits the table takes a
        // tag, by which it tells the keys of neighbouring buckets apart.
        let moved = block.rotate_left(u32::BITS + BLOCK.ilog2());
        let bucket = moved / BLOCK * BLOCK + within;
        bucket ^ (within << (u64::BITS - BLOCK.ilog2()))
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = self.product(self.last);
        *self = Self { before: product ^ (product >> 32), last: value };
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64); // which variant of an enum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::hash::{BuildHasher as _, Hash};

    fn hash(key: impl Hash) -> u64 {
        HandleState::default().hash_one(key)
    }

    /// The bits by which the table tells keys of neighbouring buckets apart.
    fn tag(hash: u64) -> u64 {
        hash >> (u64::BITS - 7)
    }

    #[test]
    fn the_handles_of_a_block_are_neighbours_with_different_tags() {
        for first in [0, 16, 4_096, 3 << 40 | 160] {
            let hashes: Vec<u64> = (first..first + BLOCK).map(hash).collect();
            let buckets: Vec<u64> = hashes.iter().map(|hash| hash % (1 << 20)).collect();
            assert!(buckets.is_sorted() && buckets[0] + BLOCK - 1 == buckets[15], "{buckets:?}");
            let mut tags: Vec<u64> = hashes.iter().map(|hash| tag(*hash)).collect();
            tags.sort_unstable();
            tags.dedup();
            assert_eq!(tags.len(), hashes.len(), "from {first}");
        }
    }

    /// As many keys as buckets. With random hashes of blocks, the fullest of 4,096 groups would have those
    /// of six or seven blocks.
    #[test]
    fn no_group_of_buckets_is_crowded() {
        const KEYS: u64 = 1 << 16;
        let crowd = |key: &dyn Fn(u64) -> u64| {
            let mut groups = BTreeMap::new();
            (0..KEYS).for_each(|number| *groups.entry(key(number) % KEYS / BLOCK).or_insert(0) += 1);
            groups.into_values().max()
        };
        for stride in [1, 2, 3, 16, 17, 1_000, 1 << 20] {
            let fullest = crowd(&|number| hash(number * stride));
            assert!(fullest <= Some(6 * BLOCK), "{fullest:?} keys with a stride of {stride}");
        }
        // Objects of eight nodes, attributes of objects, lanes of streams.
        let of_nodes = crowd(&|number| hash(((number % 8) << 40) + number / 8));
        let of_objects = crowd(&|number| hash((number / 40, number % 40)));
        let of_streams = crowd(&|number| hash((number / 2, number as usize % 2)));
        for fullest in [of_nodes, of_objects, of_streams] {
            assert!(fullest <= Some(6 * BLOCK), "{fullest:?} keys");
        }
    }
}
