//! # Merge sort, keeping the order of equivalent keys
//!
//! **Idea.** Merging is stable if a tie is won by the run that came first. The merges of `multi-way` and `all-runs`
//! are: splits count equivalent keys of earlier runs first, and a thread takes from the second run only what is before
//! the key of the first. What remains is the sort of a thread's own keys: exchanges of neighbours alone, odd and even
//! places in turn, never carry a key past an equivalent one.
//!
//! **Changed from the rung before.** `sample` distributes keys by atomics, in the order in which threads come. This is
//! `all-runs` again, and beyond its sizes `multi-way`, with another sort in registers: 264 exchanges for 23 keys, where
//! Batcher's network has 127.
//!
//! **Bottleneck.** As in those rungs shared memory, and the exchanges in the tiles.
//!
//! **Cost.** That of `all-runs` up to 2²⁰ keys, beyond them that of `multi-way`.
//!
//! **Threads.** As in those rungs.
//!
//! **Limits.** Any n; as much memory again as the keys have, and in the passes of `multi-way` a word per run and block.
//! Where equivalent keys have the same bits, the order kept cannot be seen, and `sample` is faster.
//!
//! **Source.** Odd-even transposition: N. Habermann, "Parallel neighbor-sort" (1972).

use super::r2_multi_way::{BLOCK, MAX_SPILLS, SMALL_BLOCK, SMALL_MIN_BLOCKS, min_blocks, small_tile, tile};
use super::r3_all_runs::{self as all_runs, TILE_BLOCK, TILE_MIN_BLOCKS};
use crate::order::{Greater, Less, LowHalfDown, Order};
use simt::{Global, Scalar, kernel};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_stable_tile: <u32, Less>, merge_stable_tile_u64: <u64, Less>,
    merge_stable_tile_greater: <u32, Greater>, merge_stable_tile_low: <u32, LowHalfDown>,
))]
pub fn merge_stable_tile<K: Scalar, C: Order<K>>(input: Global<K>, output: Global<K>, state: Global<u32>, order: C) {
    tile::<K, C, true>(input, output, state, order);
}

/// [`merge_stable_tile`] of small tiles.
#[kernel(max_threads = SMALL_BLOCK, min_blocks = SMALL_MIN_BLOCKS, instances(
    merge_stable_small_tile: <u32, Less>, merge_stable_small_tile_u64: <u64, Less>,
    merge_stable_small_tile_greater: <u32, Greater>, merge_stable_small_tile_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_stable_small_tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    small_tile::<K, C, true>(input, output, state, order);
}

/// The same of the larger tiles of `all-runs`.
#[kernel(max_threads = TILE_BLOCK, min_blocks = TILE_MIN_BLOCKS, instances(
    merge_stable_middle_tile: <u32, Less>, merge_stable_middle_tile_u64: <u64, Less>,
    merge_stable_middle_tile_greater: <u32, Greater>, merge_stable_middle_tile_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_stable_middle_tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    all_runs::tile::<K, C, true>(input, output, state, order);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: what `all-runs` does, with these tiles.

    use super::*;
    use crate::ladder::sort::*;
    use crate::merge::r2_multi_way::launches::{ByOrder, MergeKernels, Own, TileArgs};
    use crate::merge::r3_all_runs::launches::{AllKernels, sequence as merge_sequence};
    use std::marker::PhantomData;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r5_stable.rs", [merge_stable_tile, merge_stable_small_tile, merge_stable_middle_tile])
            .with_tiles(&[super::super::r2_multi_way::launches::SMALL_TILE])
            .run_by(
                Sort::both(&StableSort)
                    .by_low_half(ByLowHalf { launches: sequence::<Own<u32, LowHalfDown>>, stable: true }),
            );

    /// The kernels of a stable merge sort by one order.
    #[allow(missing_docs, reason = "each is the kernel of that name")]
    pub trait StableKernels: AllKernels {
        type StableTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
        type StableSmallTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
        type StableMiddleTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    }

    macro_rules! own {
        ($($K:ty, $C:ty;)*) => {$(
            impl StableKernels for Own<$K, $C> {
                type StableTile = merge_stable_tile<$K, $C>;
                type StableSmallTile = merge_stable_small_tile<$K, $C>;
                type StableMiddleTile = merge_stable_middle_tile<$K, $C>;
            }
        )*};
    }
    own! { u32, Less; u64, Less; u32, Greater; u32, LowHalfDown; }

    /// The kernels of `S`, with stable tiles.
    struct Stable<S>(PhantomData<S>);

    impl<S: StableKernels> MergeKernels for Stable<S> {
        type Key = S::Key;
        type Order = S::Order;
        type Tile = S::StableTile;
        type SmallTile = S::StableSmallTile;
        type Split4 = S::Split4;
        type Split8 = S::Split8;
        type Merge4 = S::Merge4;
        type Merge8 = S::Merge8;
        type SmallMerge = S::SmallMerge;
    }

    impl<S: StableKernels> AllKernels for Stable<S> {
        type MiddleTile = S::StableMiddleTile;
        type Few = S::Few;
        type Many = S::Many;
    }

    struct StableSort;

    impl<W: Width> Sorts<W> for StableSort
    where
        Own<W, Less>: StableKernels<Key = W, Order = Less>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
            let mut sort = sequence::<Own<W, Less>>(on, n)?;
            Ok(unsigned(move |on, keys| sort(on, (keys, Less))))
        }
    }

    /// The launches that sort `n` keys by an order and leave equivalent keys in their order.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn sequence<S: StableKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<ByOrder<S>>> {
        merge_sequence::<Stable<S>>(on, n)
    }
}
