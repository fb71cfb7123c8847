//! # Runs of equal keys in one pass
//!
//! **Idea.** A *run* is a longest piece of neighbouring keys with the same bits. Its values are combined, or counted. A
//! thread has [`ITEMS`] consecutive elements; it walks over them twice. The first walk counts the runs that begin and combines
//! the values since the last began ([`Runs`]); a scan of these over threads, warps and tiles gives each thread what
//! stands before its elements. In the second walk a key that begins a run ends the one before: the key and that run's
//! values are staged in shared memory, from where the block stores them side by side. Run r's key is staged by the
//! thread that sees it begin, its values by the thread that sees run r + 1 begin, so both have one rank in the stage,
//! and the values leave one place further to the front.
//!
//! **Bottleneck.** Shared memory: each element passes through it, because threads take consecutive elements; ITEMS is
//! odd, so that they meet in no bank.
//!
//! **Cost.** One read of each key and value, one write of each run's key and result; a state of two words, or three for
//! values of 8 bytes, per tile; 5 barriers per tile; one launch, and the clearing of the states before it.
//!
//! **Threads.** A block of 256 threads per tile of 2816 elements.
//!
//! **Limits.** Keys of 4 and 8 bytes, values of the six types; any n and any alignment.
//!
//! **Source.** D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016), for the
//! look-back; a number and a sum that begins again at each key, as an operator, is from segmented scans (G. Blelloch,
//! "Prefix sums and their applications", 1990).
//!
//! **Floats.** Where tiles are combined depends on how far a block has to look back, so the last bits of a sum may
//! differ from run to run.

use crate::compact::within;
use crate::look_back::{self, Carry, Runs, look_back, next_tile};
use crate::{BLOCK, WARPS};
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::warp::{self, WARP};
use simt::{Global, Scalar, Shared, kernel, thread};

/// Elements per thread.
pub const ITEMS: usize = 11;

/// Elements of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Words of shared memory before the stage: of each warp and of what stands before the tile, runs and values of up to 8
/// bytes; the tile's number.
const COUNTS: u32 = 0;
const SUMS: u32 = 16;
const NUMBER: u32 = SUMS + 2 * (WARPS as u32 + 1);
const WORDS: u32 = 36;
const _: () = assert!(COUNTS + (WARPS as u32) < SUMS && NUMBER < WORDS && WORDS.is_multiple_of(2));

/// Bytes that ptxas may spill: for compute capability 8.0 it keeps to 80 registers, so that three blocks share an SM.
const MAX_SPILLS: u32 = 8;

/// Tiles of `n` elements.
const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Blocks for `n` elements: one per tile, and one for no elements, which writes that there are no runs.
pub const fn grid(n: u32) -> u32 {
    if n == 0 { 1 } else { tiles(n) }
}

/// Words of the workspace for `n` elements with values of type `V`; all are zero before a launch.
pub const fn workspace<V: Scalar>(n: u32) -> u32
where
    Sum: Operator<V>,
{
    look_back::workspace::<Runs<V, Sum>>(tiles(n))
}

/// Bytes of dynamic shared memory.
pub const fn shared_bytes<K, V>() -> u32 {
    4 * WORDS + TILE * (size_of::<K>() + size_of::<V>()) as u32
}

/// Writes the key of each run to `unique`, its values, combined, to `sums`, and the number of runs to `count`.
#[kernel(max_threads = BLOCK, max_spills = MAX_SPILLS, instances(
    [u32, u64] * [u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]
))]
pub fn reduce_by_key<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    limit: Global<u32>,
    unique: Global<K>,
    sums: Global<V>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    runs::<K, V, O>(keys, limit, (unique, sums, count), workspace, |i| values.get(i))
}

/// Writes the key of each run to `unique`, its length to `lengths`, and the number of runs to `count`.
#[kernel(max_threads = BLOCK, max_spills = MAX_SPILLS, instances(lengths_by_key_u32: <u32>, lengths_by_key_u64: <u64>))]
pub fn lengths_by_key<K: Scalar>(
    keys: Global<K>,
    limit: Global<u32>,
    unique: Global<K>,
    lengths: Global<u32>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    runs::<K, u32, Sum>(keys, limit, (unique, lengths, count), workspace, |_| 1)
}

#[inline(always)]
fn runs<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    limit: Global<u32>,
    (unique, sums, count): (Global<K>, Global<V>, Global<u32>),
    workspace: Global<u64>,
    value: impl Fn(u32) -> V,
) {
    let (t, lane, words) = (thread::thread_idx_x(), warp::lane_id(), Shared::<u32>::dynamic(0, WORDS));
    let of_warps = words.slice(COUNTS, WARPS as u32 + 1);
    let sums_of_warps = words.slice(SUMS, NUMBER - SUMS).cast::<V>();
    // Values first: both begin at a multiple of 8 bytes, whatever their sizes.
    let staged_values = Shared::<V>::dynamic(4 * WORDS, TILE);
    let staged_keys = Shared::<K>::dynamic(4 * WORDS + TILE * size_of::<V>() as u32, TILE);
    if t == 0 {
        words.set(NUMBER, next_tile(workspace));
    }
    thread::sync_threads(); // the number is written before all threads read it
    let (number, n) = (words.get(NUMBER), within(keys.len(), limit));
    if number >= tiles(n) {
        // The whole block: there are fewer elements than the host knows of.
        if t == 0 && number == 0 {
            count.set(0, 0);
        }
        return;
    }
    let (start, last) = (number * TILE, number == tiles(n) - 1);
    let len = (n - start).min(TILE);
    load(len, t, |i| keys.get(start + i), staged_keys);
    load(len, t, |i| value(start + i), staged_values);
    thread::sync_threads(); // the stripes are stored before threads take consecutive elements

    let first = t * ITEMS as u32;
    let (mut own_keys, mut own_values) = ([K::default(); ITEMS], [O::IDENTITY; ITEMS]);
    let mut heads = 0u32;
    // The key before the thread's own.
    let mut before = K::default();
    if first > 0 {
        before = staged_keys.get(first - 1);
    } else if start > 0 {
        before = keys.get(start - 1);
    }
    simt::unroll::<ITEMS>(|i| {
        let at = first + i as u32;
        if at < len {
            (own_keys[i], own_values[i]) = (staged_keys.get(at), staged_values.get(at));
            let is_head = start + at == 0 || own_keys[i].to_bits_64() != before.to_bits_64();
            heads |= (is_head as u32) << i;
            before = own_keys[i];
        }
    });
    let mut own = Runs::<V, O>::NOTHING;
    simt::unroll::<ITEMS>(|i| own = own.then(Runs::new(heads >> i & 1, own_values[i])));

    // Scans over the warp and the block.
    let mut inclusive = own;
    simt::unroll::<5>(|step| {
        let below = inclusive.at_lane((lane.wrapping_sub(1 << step)) % WARP);
        if lane >= 1 << step {
            inclusive = below.then(inclusive);
        }
    });
    let below = inclusive.at_lane(lane.wrapping_sub(1) % WARP);
    let in_warp = if lane > 0 { below } else { Runs::NOTHING };
    if lane == WARP - 1 {
        of_warps.set(t / WARP, inclusive.count);
        sums_of_warps.set(t / WARP, inclusive.sum);
    }
    // What the warps have is written before it is combined, and all threads have taken their elements before the stage
    // is used for results.
    thread::sync_threads();
    let (mut in_block, mut all) = (Runs::<V, O>::NOTHING, Runs::NOTHING);
    simt::unroll::<WARPS>(|w| {
        if w as u32 == t / WARP {
            in_block = all;
        }
        all = all.then(Runs::new(of_warps.get(w as u32), sums_of_warps.get(w as u32)));
    });
    if t < WARP {
        let before = look_back(workspace, number, all);
        if t == 0 {
            of_warps.set(WARPS as u32, before.count);
            sums_of_warps.set(WARPS as u32, before.sum);
        }
    }
    thread::sync_threads(); // what stands before the tile is written before all threads read it
    let before = Runs::new(of_warps.get(WARPS as u32), sums_of_warps.get(WARPS as u32));
    let mut running = before.then(in_block).then(in_warp);
    simt::unroll::<ITEMS>(|i| {
        if heads >> i & 1 != 0 {
            let rank = running.count - before.count;
            staged_keys.set(rank, own_keys[i]);
            // The run before ends here.
            staged_values.set(rank, running.sum);
        }
        if first + (i as u32) < len {
            running = running.then(Runs::new(heads >> i & 1, own_values[i]));
        }
    });
    if last && first < len && first + ITEMS as u32 >= len {
        // The thread of the last element: the last run ends with it.
        sums.set(running.count - 1, running.sum);
        count.set(0, running.count);
    }
    thread::sync_threads(); // the results are staged before they leave in stripes
    let mut i = t;
    while i < all.count {
        unique.set(before.count + i, staged_keys.get(i));
        if before.count + i > 0 {
            sums.set(before.count + i - 1, staged_values.get(i));
        }
        i += BLOCK;
    }
}

/// Stores the tile's elements in stripes.
#[inline(always)]
fn load<T: Scalar>(len: u32, t: u32, element: impl Fn(u32) -> T, to: Shared<T>) {
    let mut loaded = [T::default(); ITEMS];
    let at = |i: usize| i as u32 * BLOCK + t;
    if len == TILE {
        // Nothing is asked, so all loads are in flight together.
        simt::unroll::<ITEMS>(|i| loaded[i] = element(at(i)));
    } else {
        simt::unroll::<ITEMS>(|i| {
            if at(i) < len {
                loaded[i] = element(at(i));
            }
        });
    }
    simt::unroll::<ITEMS>(|i| to.set(at(i), loaded[i]));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! The rows of the ladders: lengths of runs, and sums of words by key.

    use super::*;
    use rungs_common::ladder::sift::*;

    /// The row of the lengths of runs.
    pub static RUN_LENGTHS: Entry<&dyn Sift> =
        rung!("by_key.rs", [lengths_by_key]).with_tiles(&[TILE as u64]).run_by(&OfRuns);

    /// The row of sums by key.
    pub static REDUCE_BY_KEY: Entry<&dyn Sift> =
        rung!("by_key.rs", [reduce_by_key]).with_tiles(&[TILE as u64]).run_by(&OfKeys);

    struct OfRuns;

    struct OfKeys;

    impl Sift for OfRuns {
        fn task(&self) -> Task {
            Task::RunLengths
        }
    }

    impl Sift for OfKeys {
        fn task(&self) -> Task {
            Task::ReduceByKey
        }
    }

    macro_rules! keys {
        ($($T:ty as $W:ty),*) => {$(
            impl SiftsOf<$T> for OfRuns {
                fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Items<$T>>> {
                    let states = on.scratch(workspace::<u32>(n))?;
                    let geometry = Geometry::linear(grid(n), BLOCK).shared(shared_bytes::<$W, u32>());
                    Ok(Box::new(move |on, Items { input, output, count, results, .. }| {
                        on.clear(states.view())?;
                        let (input, output, all) = (input.cast(), output.cast(), count.slice(0, 0));
                        let args = (input, all, output, results, count, states.view());
                        on.launch(lengths_by_key::<$W>::default(), geometry, args)
                    }))
                }
            }

            impl SiftsOf<$T> for OfKeys {
                fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Items<$T>>> {
                    let states = on.scratch(workspace::<u32>(n))?;
                    let geometry = Geometry::linear(grid(n), BLOCK).shared(shared_bytes::<$W, u32>());
                    Ok(Box::new(move |on, Items { input, words, output, count, results, .. }| {
                        on.clear(states.view())?;
                        let (input, output, all) = (input.cast(), output.cast(), count.slice(0, 0));
                        let args = (input, words, all, output, results, count, states.view());
                        on.launch(reduce_by_key::<$W, u32, Sum>::default(), geometry, args)
                    }))
                }
            }
        )*};
    }
    keys!(u32 as u32, i32 as u32, f32 as u32, u64 as u64, i64 as u64, f64 as u64);
}
