//! Odd-even sort over sorted blocks.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{KEY_TYPES, SortRung, Sorter, problem, unsigned_sorter, with_keys};
use super::{Family, Parameters, Size};
use crate::data::Distribution;
use crate::engine::{Engine, Geometry};
use crate::error::Result;
use rungs_kernels::keys::Key;
use rungs_kernels::odd_even::r1_bitonic_blocks::{
    self as blocks, odd_even_bitonic_blocks_merge, odd_even_bitonic_blocks_sort,
};
use simt::{Global, Kernel};

/// The family.
pub static FAMILY: Family = Family {
    name: "odd-even",
    about: "bubble sort of blocks: sorted by a bitonic network, then merged with their neighbours",
    rungs: &[rung!(
        "odd_even/r1_bitonic_blocks.rs",
        "bitonic-blocks",
        &[
            <odd_even_bitonic_blocks_sort<u32> as Kernel>::NAME,
            <odd_even_bitonic_blocks_sort<u64> as Kernel>::NAME,
            <odd_even_bitonic_blocks_merge<u32> as Kernel>::NAME,
            <odd_even_bitonic_blocks_merge<u64> as Kernel>::NAME,
        ],
        Implementation::Sort(&BitonicBlocks)
    )
    .with_tiles(&[blocks::HALF as u64, blocks::KEYS as u64])],
    dtypes: KEY_TYPES,
    simulator_size: Size::Elements(1 << 15),
    gpu_size: Size::Elements(1 << 20),
    extras: &[],
    input: Distribution::Uniform,
    problem: |workload| problem("odd-even", workload),
};

/// Blocks sorted, then merged across seams and inside, in turn.
struct BitonicBlocks;

impl SortRung for BitonicBlocks {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Key>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            odd_even_bitonic_blocks_sort<T>: Kernel<Args = (Global<T>,)>,
            odd_even_bitonic_blocks_merge<T>: Kernel<Args = (Global<T>, u32)>,
        {
            let (n, shared) = (keys.len(), blocks::shared_bytes(size_of::<T>() as u32));
            let geometry = |offset| Geometry::linear(blocks::grid(n, offset), blocks::THREADS).shared(shared);
            engine.launch(odd_even_bitonic_blocks_sort::<T>::default(), geometry(0), (keys,))?;
            blocks::merges(n).try_for_each(|offset| {
                engine.launch(odd_even_bitonic_blocks_merge::<T>::default(), geometry(offset), (keys, offset))
            })
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}
