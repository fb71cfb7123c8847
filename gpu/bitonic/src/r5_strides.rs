//! # Bitonic sort, long steps in registers alone
//!
//! **Idea.** A thread holds the 64 keys whose places differ in six neighbouring bits, does those six long steps and
//! stores the keys. It needs no key of another thread, so there is no shared memory and no barrier. Neighbouring lanes
//! have neighbouring keys if the lowest of the six bits is above those of the lane.
//!
//! **Changed from the rung before.** Long steps use no shared memory: a thread's 64 loads are in flight together, and
//! nothing waits between the last of them and the stores. Every other run longer than a tile descends too, negated as
//! in a tile, so no step compares mirror images. The run with the last key always ascends, whatever n is. A launch does
//! at most six long steps, not eight: at 2²⁴ keys that is two launches more, so this rung is slower on an H200.
//!
//! **Bottleneck.** Global memory: each launch reads and writes all keys, 128 MiB at 2²⁴ keys, which is more than L2
//! keeps from one launch to the next. The next rung uses the part that L2 keeps.
//!
//! **Cost.** 25 launches for 2²⁴ keys; each reads and writes every key once: 1 sorts tiles, 10 merge in tiles, 14 do up
//! to six long steps each, without a barrier.
//!
//! **Threads.** In tiles as the rung before. For long steps 128 per block, each with 16, 32 or 64 keys, or at most 32
//! keys of 8 bytes.
//!
//! **Limits.** Any n, and keys of any order, as the rung before.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); step by step in V. A. Antonyuk, "GPGPU
//! programming" (2015). Our own: the order of the runs for any n.

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

/// Blocks for `strides` long steps on `n` keys from the bit `low` on: a thread for each key of a run of 2^`low`, in
/// each run of 2^(`low` + `strides`). `low` is at least the bits of a block.
pub const fn long_grid(n: u32, low: u32, strides: u32) -> u32 {
    ((n as u64).div_ceil(1 << (low + strides)) << low).div_ceil(BLOCK as u64) as u32
}

/// Sorts every tile, in the direction that the next stage needs; the keys are mapped by `encode` before and by the
/// inverse of `decode` after.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_strides_sort: <u32, Tile<14>>,
    bitonic_strides_sort_small: <u32, Tile<13>>,
    bitonic_strides_sort_u64: <u64, Tile<13>>,
))]
pub fn bitonic_strides_sort<T: Key + Word, N: Size>(keys: Global<T>, encode: u32, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before may write the keys
    let number = thread::block_idx_x();
    let descending = descends(number << N::BITS, keys.len() - 1, N::BITS);
    sort_tile::<T, N>(keys, number, encode, decode, descending);
}

/// The steps inside tiles that end `stage`, in the direction of each tile's run; then the inverse of `decode`.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_strides_merge: <u32, Tile<14>>,
    bitonic_strides_merge_small: <u32, Tile<13>>,
    bitonic_strides_merge_u64: <u64, Tile<13>>,
))]
pub fn bitonic_strides_merge<T: Key + Word, N: Size>(keys: Global<T>, decode: u32, stage: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    let number = thread::block_idx_x();
    merge_tile::<T, N>(keys, number, decode, descends(number << N::BITS, keys.len() - 1, stage));
}

/// Up to six long steps of a stage, those of the bits from `low` on.
#[kernel(max_threads = BLOCK, min_blocks = long_blocks::<T>(), max_spills = LONG_MAX_SPILLS, instances(
    bitonic_strides_long4: <u32, Long<4>>,
    bitonic_strides_long5: <u32, Long<5>>,
    bitonic_strides_long6: <u32, Long<6>>,
    bitonic_strides_long4_u64: <u64, Long<4>>,
    bitonic_strides_long5_u64: <u64, Long<5>>,
))]
pub fn bitonic_strides_long<T: Key, S: Strides>(keys: Global<T>, low: u32, stage: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before writes the keys
    let t = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
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
    //! What the host launches: tiles sorted, then for each longer stage the long steps and the rest inside tiles.

    use super::*;
    use crate::r3_register_step;
    use crate::r4_transpose::tile_bits;
    use crate::transposed::shared_bytes;
    use rungs_common::keys::UNSIGNED;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r5_strides.rs", [bitonic_strides_sort, bitonic_strides_long, bitonic_strides_merge])
            .with_tiles(&[1 << 13, 1 << 14])
            .run_by(Sort::both(
                &Functions { scratch: no_scratch, run: sort },
                &Functions { scratch: no_scratch, run: sort_wide },
            ));

    /// What one launch does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pass {
        /// Sorts every tile.
        Sort,
        /// `strides` long steps of the bits from `low` on.
        Long {
            /// The lowest bit.
            low: u32,
            /// How many bits.
            strides: u32,
            /// log₂ of the runs that the stage makes.
            stage: u32,
        },
        /// The rest of a stage, inside tiles.
        Merge {
            /// log₂ of the runs that the stage makes.
            stage: u32,
        },
    }

    /// The passes that sort `n` keys in tiles of 2^`tile_bits`, with at most `most` long steps in each.
    pub fn passes(n: u32, tile_bits: u32, most: u32) -> impl Iterator<Item = Pass> {
        let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
        let long = (tile_bits..stages).flat_map(move |bit| {
            let stage = bit + 1;
            let steps = r3_register_step::long_steps(bit, tile_bits, most);
            steps.map(move |(low, strides)| Pass::Long { low, strides, stage }).chain([Pass::Merge { stage }])
        });
        (n > 1).then_some(Pass::Sort).into_iter().chain(long)
    }

    /// The order to map keys back from after `pass` of `n` keys: theirs after the last pass.
    pub fn decode(n: u32, tile_bits: u32, pass: Pass, order: u32) -> u32 {
        let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
        let done = match pass {
            Pass::Sort => stages <= tile_bits,
            Pass::Long { .. } => false,
            Pass::Merge { stage } => stage == stages,
        };
        if done { order } else { UNSIGNED }
    }

    /// The shape of the launch of a pass.
    pub fn geometry<W, N: Size>(n: u32, pass: Pass) -> Geometry {
        match pass {
            Pass::Long { low, strides, .. } => Geometry::linear(long_grid(n, low, strides), BLOCK),
            _ => Geometry::linear(n.div_ceil(1 << N::BITS), threads::<N>()).shared(shared_bytes::<W, N>()),
        }
        .overlapping()
    }

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
        bitonic_strides_sort<W, N>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_strides_merge<W, N>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_strides_long<W, Long<4>>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_strides_long<W, Long<5>>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_strides_long<W, Most>: Kernel<Args = (Global<W>, u32, u32)>,
    {
        let n = keys.len();
        for pass in passes(n, N::BITS, Most::BITS) {
            let (geometry, decode) = (geometry::<W, N>(n, pass), decode(n, N::BITS, pass, order));
            match pass {
                Pass::Sort => on.launch(bitonic_strides_sort::<W, N>::default(), geometry, (keys, order, decode))?,
                Pass::Long { low, strides, stage } => {
                    let args = (keys, low, stage);
                    match strides {
                        4 => on.launch(bitonic_strides_long::<W, Long<4>>::default(), geometry, args)?,
                        5 => on.launch(bitonic_strides_long::<W, Long<5>>::default(), geometry, args)?,
                        _ => on.launch(bitonic_strides_long::<W, Most>::default(), geometry, args)?,
                    }
                }
                Pass::Merge { stage } => {
                    on.launch(bitonic_strides_merge::<W, N>::default(), geometry, (keys, decode, stage))?;
                }
            }
        }
        Ok(())
    }
}
