//! The arrays that passes by digits move keys and values between.

use super::digits::passes;
use super::pass::pass_tile;
use simt::Global;

/// Most passes over keys of 32 bits.
pub const PASSES: u32 = passes(4);

/// What passes move between: the keys, and memory for as many; the same of values, if there are any.
#[derive(Clone, Copy)]
pub struct Ways {
    /// Keys are in the first of these before the first pass, and behind the last one.
    pub keys: [Global<u32>; 2],
    /// As for keys.
    pub values: [Global<u32>; 2],
}

impl Ways {
    /// Between `keys` with their `values` and `other`, memory for as many pairs.
    #[simt::device]
    pub fn new(keys: Global<u32>, values: Global<u32>, other: Global<u64>) -> Self {
        let (n, other) = (keys.len(), other.cast::<u32>());
        Self { keys: [keys, other.slice(0, n)], values: [values, other.slice(n, n)] }
    }

    /// From where to where pass `number` moves what is in two arrays.
    #[simt::device]
    fn of([one, other]: [Global<u32>; 2], number: u32) -> [Global<u32>; 2] {
        if number.is_multiple_of(2) { [one, other] } else { [other, one] }
    }

    /// From where to where pass `number` moves keys.
    #[simt::device]
    pub fn keys(&self, number: u32) -> [Global<u32>; 2] {
        Self::of(self.keys, number)
    }

    /// From where to where pass `number` moves values.
    #[simt::device]
    pub fn values(&self, number: u32) -> [Global<u32>; 2] {
        Self::of(self.values, number)
    }

    /// How many tiles a pass has.
    #[simt::device]
    pub fn tiles(&self) -> u32 {
        self.keys[0].len().div_ceil(pass_tile::<u32>())
    }
}
