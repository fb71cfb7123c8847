//! # Bitonic sort, every other pass backwards
//!
//! **Idea.** A pass that walks the keys from the front ends with the last of them in the L2. The next pass walks from
//! the back, finds those there, and leaves the first keys for the pass after it.
//!
//! **Changed from the rung before.** Blocks of every other launch number their tiles from the end. Nothing else.
//!
//! **Bottleneck.** The shared memory and the arithmetic of the first launch, and the part of the keys that no L2 holds.
//! Beyond that only a sort that compares less is faster: see `radix`.
//!
//! **Cost.** 25 launches for 2²⁴ keys, each of which moves every key once each way, as in the rung before; of the keys
//! that a launch reads, as many as the L2 holds do not come from global memory.
//!
//! **Threads.** As the rung before.
//!
//! **Limits.** Any n, and keys of any order, as the rung before. The order in which blocks start is not promised, and
//! only the speed depends on it.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); step by step in V. A. Antonyuk, "GPGPU
//! programming" (2015). Our own: the direction of the passes.

use super::r5_strides::{
    BLOCK, Five, Four, LONG_MAX_SPILLS, Six, Strides, long_blocks, long_steps, merge_in_direction, sort_in_direction,
};
use super::transposed::{Maps, Size, Tile13, Tile14, min_blocks, threads};
use rungs_common::keys::{Key, Word};
use simt::{Global, grid, kernel, thread};

/// The number of the block's part of the keys: counted from the end if `backwards` is 1.
#[inline(always)]
fn part(backwards: u32) -> u32 {
    let block = thread::block_idx_x();
    if backwards != 0 { thread::grid_dim_x() - 1 - block } else { block }
}

/// Sorts every tile, in its direction; the keys are mapped by `encode` before and by the inverse of `decode` after.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_backwards_sort: <u32, Tile14>,
    bitonic_backwards_sort_small: <u32, Tile13>,
    bitonic_backwards_sort_u64: <u64, Tile13>,
))]
pub fn bitonic_backwards_sort<T: Key + Word, N: Size>(keys: Global<T>, encode: u32, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before may write the keys
    sort_in_direction::<T, N>(keys, thread::block_idx_x(), Maps { encode, decode });
}

/// Up to six long steps of a stage, those of the bits from `low` on; `backwards`: 1 for blocks counted from the end.
#[kernel(max_threads = BLOCK, min_blocks = long_blocks::<T>(), max_spills = LONG_MAX_SPILLS, instances(
    bitonic_backwards_long4: <u32, Four>,
    bitonic_backwards_long5: <u32, Five>,
    bitonic_backwards_long6: <u32, Six>,
    bitonic_backwards_long4_u64: <u64, Four>,
    bitonic_backwards_long5_u64: <u64, Five>,
))]
pub fn bitonic_backwards_long<T: Key, S: Strides>(keys: Global<T>, low: u32, stage: u32, backwards: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    long_steps::<T, S>(keys, part(backwards), low, stage);
}

/// The steps inside tiles that end `stage`; then the inverse of `decode`.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_backwards_merge: <u32, Tile14>,
    bitonic_backwards_merge_small: <u32, Tile13>,
    bitonic_backwards_merge_u64: <u64, Tile13>,
))]
pub fn bitonic_backwards_merge<T: Key + Word, N: Size>(keys: Global<T>, decode: u32, stage: u32, backwards: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    merge_in_direction::<T, N>(keys, part(backwards), decode, stage);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the passes of the rung before, every other one backwards.

    use super::*;
    use crate::r4_transpose::tile_bits;
    use crate::r5_strides::launches::{Pass, decode, geometry, passes};
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r6_backwards.rs", [bitonic_backwards_sort, bitonic_backwards_long, bitonic_backwards_merge])
            .with_tiles(&[1 << Tile13::BITS, 1 << Tile14::BITS])
            .run_by(Sort::both(&Backwards));

    struct Backwards;

    impl Sorts<u32> for Backwards {
        fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<u32>>> {
            let small = tile_bits::<u32>(n, on.device().multiprocessors) == Tile13::BITS;
            Ok(if small { in_tiles::<u32, Tile13, Six>(n) } else { in_tiles::<u32, Tile14, Six>(n) })
        }
    }

    impl Sorts<u64> for Backwards {
        fn launches(&self, _: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<u64>>> {
            Ok(in_tiles::<u64, Tile13, Five>(n))
        }
    }

    fn in_tiles<W: Width, N: Size, Most: Strides>(n: u32) -> Launches<Keys<W>>
    where
        bitonic_backwards_sort<W, N>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_backwards_merge<W, N>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Four>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Five>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Most>: Kernel<Args = (Global<W>, u32, u32, u32)>,
    {
        Box::new(move |on, Keys { keys, order }| {
            (0..).zip(passes(n, N::BITS, Most::BITS)).try_for_each(|(number, pass)| {
                let (geometry, decode) = (geometry::<W, N>(n, pass), decode(n, N::BITS, pass, order));
                let backwards: u32 = number % 2;
                match pass {
                    Pass::Sort => on.launch(bitonic_backwards_sort::<W, N>::default(), geometry, (keys, order, decode)),
                    Pass::Long { low, strides, stage } => {
                        let args = (keys, low, stage, backwards);
                        match strides {
                            Four::BITS => on.launch(bitonic_backwards_long::<W, Four>::default(), geometry, args),
                            Five::BITS => on.launch(bitonic_backwards_long::<W, Five>::default(), geometry, args),
                            _ => on.launch(bitonic_backwards_long::<W, Most>::default(), geometry, args),
                        }
                    }
                    Pass::Merge { stage } => {
                        let args = (keys, decode, stage, backwards);
                        on.launch(bitonic_backwards_merge::<W, N>::default(), geometry, args)
                    }
                }
            })
        })
    }
}
