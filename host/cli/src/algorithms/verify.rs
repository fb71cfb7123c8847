//! Which results are checked on the device, by [`rungs::verify`].

use super::Parameters;
use crate::data::Dtype;
use rungs::engine::AnyBuffer;
use rungs::error::Result;
use rungs::verify::scan;

/// Results of at least this many elements are checked on the GPU, smaller ones on the host, where the oracle takes
/// little time.
pub const ON_DEVICE_FROM: usize = 1 << 20;

/// Whether every result of a scan follows from the one before it; `None` for floats, whose sums round.
///
/// # Errors
/// As for [`scan`].
pub fn follows(
    dtype: Dtype,
    input: &dyn AnyBuffer,
    output: &dyn AnyBuffer,
    parameters: Parameters,
) -> Result<Option<bool>> {
    let Parameters { operation, exclusive, .. } = parameters;
    let wrong = match dtype {
        Dtype::U32 => scan::<u32>(input, output, operation, exclusive)?,
        Dtype::I32 => scan::<i32>(input, output, operation, exclusive)?,
        Dtype::U64 => scan::<u64>(input, output, operation, exclusive)?,
        Dtype::I64 => scan::<i64>(input, output, operation, exclusive)?,
        _ => return Ok(None),
    };
    Ok(Some(wrong == 0))
}
