//! The rung `exchange-ranges`.

use super::{ShardedVec, Sorter, Total};
use crate::algorithms::keys::KeyWord;
use crate::engine::Buffer;
use crate::error::Result;

/// The memory that the rung keeps.
pub struct Ranges<T> {
    spare: Option<Buffer<T>>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self { spare: None }
    }
}

impl<T: Total<Word: KeyWord>> Sorter<'_, T> {
    pub(super) fn sort_by_ranges(&mut self, _keys: &mut ShardedVec<'_, T>, _lengths: &[u64]) -> Result<bool> {
        Ok(false)
    }
}
