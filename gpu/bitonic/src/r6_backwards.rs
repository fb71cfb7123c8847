//! # Bitonic sort, every other pass backwards
//!
//! **Idea.** When a pass over the keys ends, the keys that it read last are in L2. If the next pass starts at that end,
//! it finds them there.
//!
//! **Changed from the rung before.** Blocks of every other launch number their tiles from the end. Nothing else.
//!
//! **Bottleneck.** The shared memory and the arithmetic of the first launch, and the keys that do not fit into L2.
//! Beyond that only a sort that compares less is faster: see `radix`.
//!
//! **Cost.** 25 launches for 2²⁴ keys; each reads and writes every key once, as in the rung before, but finds in L2 the
//! keys that fit there.
//!
//! **Threads.** As the rung before.
//!
//! **Limits.** Any n, and keys of any order, as the rung before. The order in which blocks start is not promised, and
//! only the speed depends on it.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); step by step in V. A. Antonyuk, "GPGPU
//! programming" (2015). Our own: the direction of the passes.

use super::transposed::{Size, Tile, descends, mask, merge_tile, min_blocks, sort_tile, threads};
use rungs_common::keys::{Key, Word, key_or_last};
use simt::{Global, grid, kernel, thread, unroll};

/// Threads per block of the long steps: few, so that even few keys are spread over all SMs.
pub const BLOCK: u32 = 128;

/// The number of long steps of a launch, as a type: a kernel has an instance for each.
pub trait Strides: 'static {
    /// How many: 4, 5 or 6.
    const BITS: u32;
}

/// `N` long steps.
pub struct Long<const N: u32>;

impl<const N: u32> Strides for Long<N> {
    const BITS: u32 = N;
}

/// Fewest blocks per SM for long steps: several, so that one loads while another stores. For keys of 8 bytes there are
/// registers for half as many.
const fn long_blocks<T>() -> u32 {
    if size_of::<T>() > 4 { 2 } else { 4 }
}

/// Bytes per thread of spilled registers that those blocks may cost. Four blocks leave 128 registers per thread, of
/// which six steps need 64 for keys; for compute capability 8.0 ptxas needs a few more than the others for addresses.
const LONG_MAX_SPILLS: u32 = 32;

/// The number of the block's part of the keys: counted from the end if `backwards` is 1.
#[simt::device]
fn part(backwards: u32) -> u32 {
    let block = thread::block_idx_x();
    if backwards != 0 { thread::grid_dim_x() - 1 - block } else { block }
}

/// Sorts every tile, in the direction that the next stage needs; the keys are mapped by `encode` before and by the
/// inverse of `decode` after.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_backwards_sort: <u32, Tile<14>>,
    bitonic_backwards_sort_small: <u32, Tile<13>>,
    bitonic_backwards_sort_u64: <u64, Tile<13>>,
))]
pub fn bitonic_backwards_sort<T: Key + Word, N: Size>(keys: Global<T>, encode: u32, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before may write the keys
    let number = thread::block_idx_x();
    let descending = descends(number << N::BITS, keys.len() - 1, N::BITS);
    sort_tile::<T, N>(keys, number, encode, decode, descending);
}

/// The steps inside tiles that end `stage`, in the direction of each tile's run; then the inverse of `decode`.
/// `backwards`: 1 for blocks counted from the end.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_backwards_merge: <u32, Tile<14>>,
    bitonic_backwards_merge_small: <u32, Tile<13>>,
    bitonic_backwards_merge_u64: <u64, Tile<13>>,
))]
pub fn bitonic_backwards_merge<T: Key + Word, N: Size>(keys: Global<T>, decode: u32, stage: u32, backwards: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    let number = part(backwards);
    merge_tile::<T, N>(keys, number, decode, descends(number << N::BITS, keys.len() - 1, stage));
}

/// Up to six long steps of a stage, those of the bits from `low` on. `backwards`: 1 for blocks counted from the end.
#[kernel(max_threads = BLOCK, min_blocks = long_blocks::<T>(), max_spills = LONG_MAX_SPILLS, instances(
    bitonic_backwards_long4: <u32, Long<4>>,
    bitonic_backwards_long5: <u32, Long<5>>,
    bitonic_backwards_long6: <u32, Long<6>>,
    bitonic_backwards_long4_u64: <u64, Long<4>>,
    bitonic_backwards_long5_u64: <u64, Long<5>>,
))]
pub fn bitonic_backwards_long<T: Key, S: Strides>(keys: Global<T>, low: u32, stage: u32, backwards: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    let t = part(backwards) * BLOCK + thread::thread_idx_x();
    // The thread's number with as many zeros put in at `low` as there are steps. In two shifts: a shift by 32 at once
    // is undefined, and then there is nothing above.
    let first = (t >> low) << (low + S::BITS - 1) << 1 | t & ((1 << low) - 1);
    if first >= keys.len() {
        return; // all other keys of this thread lie further on
    }
    let mut own = [T::LAST; 64];
    let last = first | (((1 << S::BITS) - 1) << low);
    let whole = last < keys.len();
    if whole {
        // Without a test for each key all loads are issued together.
        each::<S>(|r| own[r] = keys.get(first + ((r as u32) << low)));
    } else {
        each::<S>(|r| own[r] = key_or_last(keys, first + ((r as u32) << low)));
    }
    let mask = mask::<T>(descends(first, keys.len() - 1, stage));
    each::<S>(|r| own[r] = own[r] ^ mask);
    unroll::<6>(|step| {
        let bit = 32 >> step;
        each::<S>(|r| {
            if r & bit == 0 && bit < 1 << S::BITS {
                (own[r], own[r | bit]) = (own[r].min(own[r | bit]), own[r].max(own[r | bit]));
            }
        });
    });
    // Down from the last place, each from the one before: the compilers would otherwise see the addresses of the loads
    // again, and keep all of them in registers, of which there are not enough.
    let (mut at, step) = (simt::opaque(last), 1u32 << low);
    each::<S>(|r| {
        let r = (1 << S::BITS) - 1 - r;
        if whole || at < keys.len() {
            keys.set(at, own[r] ^ mask);
        }
        at = simt::opaque(at).wrapping_sub(step);
    });
}

/// Calls `f` with the number of each register.
#[simt::device]
fn each<S: Strides>(mut f: impl FnMut(usize)) {
    unroll::<2>(|high| {
        unroll::<32>(|low| {
            if high * 32 + low < 1 << S::BITS {
                f(high * 32 + low);
            }
        });
    });
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
            .with_tiles(&[1 << 13, 1 << 14])
            .run_by(Sort::both(
                &Functions { scratch: no_scratch, run: sort },
                &Functions { scratch: no_scratch, run: sort_wide },
            ));

    /// Sorts keys of 32 bits in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort(on: &dyn Launcher, keys: Keys<u32>, (): &mut ()) -> Result {
        let small = tile_bits::<u32>(keys.keys.len(), on.device().multiprocessors) == 13;
        if small { in_tiles::<u32, Tile<13>, Long<6>>(on, keys) } else { in_tiles::<u32, Tile<14>, Long<6>>(on, keys) }
    }

    /// Sorts keys of 64 bits in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort_wide(on: &dyn Launcher, keys: Keys<u64>, (): &mut ()) -> Result {
        in_tiles::<u64, Tile<13>, Long<5>>(on, keys)
    }

    fn in_tiles<W: Width, N: Size, Most: Strides>(on: &dyn Launcher, Keys { keys, order }: Keys<W>) -> Result
    where
        bitonic_backwards_sort<W, N>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_backwards_merge<W, N>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Long<4>>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Long<5>>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_backwards_long<W, Most>: Kernel<Args = (Global<W>, u32, u32, u32)>,
    {
        let n = keys.len();
        for (number, pass) in (0..).zip(passes(n, N::BITS, Most::BITS)) {
            let (geometry, decode) = (geometry::<W, N>(n, pass), decode(n, N::BITS, pass, order));
            let backwards: u32 = number % 2;
            match pass {
                Pass::Sort => on.launch(bitonic_backwards_sort::<W, N>::default(), geometry, (keys, order, decode))?,
                Pass::Long { low, strides, stage } => {
                    let args = (keys, low, stage, backwards);
                    match strides {
                        4 => on.launch(bitonic_backwards_long::<W, Long<4>>::default(), geometry, args)?,
                        5 => on.launch(bitonic_backwards_long::<W, Long<5>>::default(), geometry, args)?,
                        _ => on.launch(bitonic_backwards_long::<W, Most>::default(), geometry, args)?,
                    }
                }
                Pass::Merge { stage } => {
                    on.launch(bitonic_backwards_merge::<W, N>::default(), geometry, (keys, decode, stage, backwards))?;
                }
            }
        }
        Ok(())
    }
}
