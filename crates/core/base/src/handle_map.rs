//! Hash maps keyed by handles that MeshRTI assigns.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by handles, for look-ups only: nothing may depend on its order.
///
/// Handles are dense numbers that MeshRTI itself assigns. One multiplication spreads them well
/// enough, and no peer can choose keys that collide.
pub type HandleMap<K, V> = HashMap<K, V, HandleState>;

/// Hashes the keys of a [`HandleMap`], or of another map keyed by handles.
pub type HandleState = BuildHasherDefault<HandleHasher>;

/// Multiplies by 2⁶⁴ divided by the golden ratio (Fibonacci hashing).
#[derive(Default, Clone, Copy, Debug)]
pub struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
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
        let mixed = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64); // which variant of an enum
    }
}
