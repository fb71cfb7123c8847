//! Keys of the sorts: words of 32 or 64 bits, in the order of their type.

use crate::data::Dtype;
use crate::engine::AnyBuffer;
use crate::error::Result;
use crate::verify;
use rungs_kernels::keys::{FLOAT, SIGNED, UNSIGNED};
use rungs_kernels::ladder::sort::Width;

/// How words of a type are ordered, see [`rungs_kernels::keys`].
pub const fn order_of(dtype: Dtype) -> u32 {
    match dtype {
        Dtype::I32 | Dtype::I64 => SIGNED,
        Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::Bf16 => FLOAT,
        _ => UNSIGNED,
    }
}

/// A word that stores one key.
#[diagnostic::on_unimplemented(
    message = "no rung sorts keys that are stored in `{Self}`",
    label = "not for keys of this type",
    note = "sorts take u32, i32, f32, u64, i64 and f64; with values u32, i32 and f32"
)]
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
