//! Bubble sort.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{KEY_TYPES, SortRung, Sorter, problem, unsigned_sorter, with_keys};
use super::{Family, Parameters, Size};
use crate::data::Distribution;
use crate::engine::{Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::bubble::r1_one_block::{self as one_block, bubble_one_block};
use rungs_kernels::bubble::r2_shared_block::{self as shared_block, bubble_shared_block};
use rungs_kernels::bubble::r3_warp_registers::{self as warp_registers, bubble_warp_registers};
use simt::{Global, Kernel, Scalar};

/// The family.
pub static FAMILY: Family = Family {
    name: "bubble",
    about: "odd-even transposition, the bubble sort that many threads can do",
    rungs: &[
        rung!(
            "bubble/r1_one_block.rs",
            "one-block",
            &[<bubble_one_block<u32> as Kernel>::NAME, <bubble_one_block<u64> as Kernel>::NAME],
            Implementation::Sort(&OneBlock)
        )
        .with_capacity(one_block::capacity(simt::sim::MAX_SHARED, 8) as u64),
        rung!(
            "bubble/r2_shared_block.rs",
            "shared-block",
            &[<bubble_shared_block<u32> as Kernel>::NAME, <bubble_shared_block<u64> as Kernel>::NAME],
            Implementation::Sort(&SharedBlock)
        )
        .with_tiles(&[shared_block::BLOCK_KEYS as u64]),
        rung!(
            "bubble/r3_warp_registers.rs",
            "warp-registers",
            &[<bubble_warp_registers<u32> as Kernel>::NAME, <bubble_warp_registers<u64> as Kernel>::NAME],
            Implementation::Sort(&WarpRegisters)
        )
        .with_tiles(&[warp_registers::WARP_KEYS as u64]),
    ],
    dtypes: KEY_TYPES,
    simulator_size: Size::Elements(1 << 12),
    gpu_size: Size::Elements(1 << 17),
    extras: &[],
    input: Distribution::Uniform,
    problem: |workload| problem("bubble", workload),
};

/// All keys in the shared memory of one block.
struct OneBlock;

impl SortRung for OneBlock {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Scalar>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            bubble_one_block<T>: Kernel<Args = (Global<T>,)>,
        {
            let n = keys.len();
            let geometry = Geometry::linear(one_block::grid(n), one_block::threads(n))
                .shared(one_block::shared_bytes(n, size_of::<T>() as u32));
            engine.launch(bubble_one_block::<T>::default(), geometry, (keys,))
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}

/// A window a block, passes a and b from the host.
struct SharedBlock;

impl SortRung for SharedBlock {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, parameters: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Scalar>(engine: &Engine, keys: Global<T>, threads: u32) -> Result<()>
        where
            bubble_shared_block<T>: Kernel<Args = (Global<T>, u32)>,
        {
            let (n, window) = (keys.len(), 2 * threads);
            shared_block::passes(n, window).try_for_each(|offset| {
                let geometry = Geometry::linear(shared_block::grid(n, window, offset), threads);
                engine.launch(bubble_shared_block::<T>::default(), geometry, (keys, offset))
            })
        }
        let threads = parameters.threads.unwrap_or(shared_block::BLOCK);
        if !(1..=shared_block::BLOCK).contains(&threads) {
            let (keys, most) = (2 * u64::from(threads), shared_block::BLOCK_KEYS);
            return Err(Error::Usage(format!("a block of {keys} keys: bubble shared-block takes 2 to {most}")));
        }
        unsigned_sorter(engine, move |engine, keys: Keys| with_keys!(keys, k => sort(engine, k, threads)))
    }
}

/// A window a warp, in registers.
struct WarpRegisters;

impl SortRung for WarpRegisters {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Scalar>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            bubble_warp_registers<T>: Kernel<Args = (Global<T>, u32)>,
        {
            let n = keys.len();
            warp_registers::passes(n).try_for_each(|offset| {
                let geometry = Geometry::linear(warp_registers::grid(n, offset), warp_registers::BLOCK);
                engine.launch(bubble_warp_registers::<T>::default(), geometry, (keys, offset))
            })
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}
