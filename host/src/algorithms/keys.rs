//! Keys of the sorting problems: words of 32 or 64 bits, in the order of their type.

use super::verify;
use crate::data::Dtype;
use crate::engine::AnyBuffer;
use crate::error::Result;
use rungs_kernels::ladder::sort::Width;

/// The types that sorting rungs of any width take.
pub const KEY_TYPES: &[Dtype] = &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64];

/// A word that stores one key.
pub trait KeyWord: Width + bytemuck::Pod {
    /// Counts descents and computes the checksum on the keys' engine, see [`verify::keys`].
    ///
    /// # Errors
    /// As for [`verify::keys`].
    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found>;
}

impl KeyWord for u32 {
    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found> {
        verify::keys::<u32>(keys, order, zeros_equal)
    }
}

impl KeyWord for u64 {
    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found> {
        verify::keys::<u64>(keys, order, zeros_equal)
    }
}
