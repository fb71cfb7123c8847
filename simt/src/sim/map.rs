//! Maps by page numbers and addresses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash for page numbers and addresses: they are well spread by a multiplication.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
}

/// A map by such keys.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;
