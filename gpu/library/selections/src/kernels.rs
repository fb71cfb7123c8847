//! The kernels of [`crate::compact`] that need no code of the caller's. Elements of all types are moved as words of
//! their size.

use crate::BLOCK;
use crate::compact::{FirstOfRun, Flagged, If, partition, select};
use rungs_common::keys::Word;
use rungs_common::transform::Functor;
use simt::{Argument, Global, Scalar, kernel};

/// Whether a key is between two others, both of which count.
#[derive(Clone, Copy)]
pub(crate) struct Between<W> {
    pub(crate) low: W,
    pub(crate) high: W,
    pub(crate) order: u32,
}

impl<W: Word> Functor<W> for Between<W> {
    type Out = bool;

    #[inline(always)]
    fn call(&self, key: W) -> bool {
        let word = key.encode(self.order);
        self.low <= word && word <= self.high
    }
}

/// Selects the items whose words in the order `order` (see [`rungs_common::keys`]) are `low` to `high`.
#[kernel(max_threads = BLOCK, instances(select_between_u32: <u32>, select_between_u64: <u64>))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn select_between<W: Word + Argument>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
    low: W,
    high: W,
    order: u32,
) {
    select(input, limit, output, count, workspace, If(Between { low, high, order }))
}

/// The same, with the other items.
#[kernel(max_threads = BLOCK, instances(partition_between_u32: <u32>, partition_between_u64: <u64>))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn partition_between<W: Word + Argument>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    rest: Global<W>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
    low: W,
    high: W,
    order: u32,
) {
    partition(input, limit, output, count, rest, rest_count, workspace, If(Between { low, high, order }))
}

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

/// Selects the first item of each run of items with the same bits.
// ptxas for compute capability 8.0 keeps to 40 registers, so that six blocks share an SM.
#[kernel(max_threads = BLOCK, max_spills = 8, instances(
    unique_u8: <u8>, unique_u16: <u16>, unique_u32: <u32>, unique_u64: <u64>,
))]
pub fn unique<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    select(input, limit, output, count, workspace, FirstOfRun)
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = {
    use simt::Instances;
    &[
        <select_between as Instances>::NAMES,
        <partition_between as Instances>::NAMES,
        <select_flagged as Instances>::NAMES,
        <partition_flagged as Instances>::NAMES,
        <unique as Instances>::NAMES,
    ]
};
