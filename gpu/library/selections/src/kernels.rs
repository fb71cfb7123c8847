//! Selections and partitions by flags: [`crate::compact`] with a flag for each element. Elements of all types are moved
//! as words of their size.

use crate::BLOCK;
use crate::compact::{Flagged, partition, select};
use simt::{Global, Scalar, kernel};

/// Selects the items whose flags are not zero.
#[kernel(max_threads = BLOCK, instances(
    select_flagged_u8: <u8>, select_flagged_u16: <u16>, select_flagged_u32: <u32>, select_flagged_u64: <u64>,
))]
pub fn select_flagged<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
    flags: Global<u8>,
) {
    select(input, limit, output, count, workspace, Flagged(flags))
}

/// The same, with the other items.
#[kernel(max_threads = BLOCK, instances(
    partition_flagged_u8: <u8>, partition_flagged_u16: <u16>,
    partition_flagged_u32: <u32>, partition_flagged_u64: <u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views")]
pub fn partition_flagged<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    rest: Global<W>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
    flags: Global<u8>,
) {
    partition(input, limit, output, count, rest, rest_count, workspace, Flagged(flags))
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = {
    use simt::Instances;
    &[<select_flagged as Instances>::NAMES, <partition_flagged as Instances>::NAMES]
};
