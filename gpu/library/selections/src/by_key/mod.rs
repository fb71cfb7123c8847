//! # Runs of equal keys in one pass
//!
//! **Idea.** A *run* is a longest piece of neighbouring keys with the same bits. Its values are combined, or counted. A
//! thread has [`ITEMS`] consecutive elements; it walks over them twice. The first walk counts the runs that begin and
//! combines the values since the last began ([`Runs`]); a scan of these over threads, warps and tiles gives each thread
//! what stands before its elements. In the second walk a key that begins a run ends the one before: the key and that
//! run's values are staged in shared memory, from where the block stores them side by side. Run r's key is staged by
//! the thread that sees it begin, its values by the thread that sees run r + 1 begin, so both have one rank in the
//! stage, and the values leave one place further to the front.
//!
//! A scan by key is the same without ranks: in the second walk each element's result goes to its own place in the
//! stage.
//!
//! **Bottleneck.** Shared memory: each element passes through it, because threads take consecutive elements; ITEMS is
//! odd, so that they meet in no bank. On an H100, times CUB's: 1.4 at 2¹⁶ keys, 1.0 to 1.15 at 2²⁰, 0.74 to 0.90 at
//! 2²⁴, 0.66 to 0.87 at 2²⁸. So sums and lengths among many keys run by [`crate::look_ahead::runs`] where the device
//! can.
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

#[cfg(not(target_os = "cuda"))]
pub mod launches;

use crate::compact::within;
use crate::look_back::{self, Carry, Prefix, Runs, next_tile, prefix, prefix_words};
use crate::{BLOCK, load, store};
use rungs_common::operator::{Max, Min, Operator, Sum};
use rungs_common::state;
use simt::{Global, Scalar, Shared, kernel, thread};

/// Elements per thread.
pub const ITEMS: usize = 11;

/// Elements of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Words of shared memory before the stage: those of [`prefix`], with values of up to 8 bytes; the tile's number.
const NUMBER: u32 = prefix_words::<Runs<u64, Sum>>();
const WORDS: u32 = 36;
const _: () = assert!(NUMBER < WORDS && WORDS.is_multiple_of(2));

/// Bytes that ptxas may spill: it keeps to 80 registers, so that three blocks share an SM. 20 are minima and maxima of
/// `f64` by keys of 8 bytes for compute capability 9.0; others are 4 at most.
const MAX_SPILLS: u32 = 20;

/// The same for an operator that needs `others` bytes for other kernels.
#[doc(hidden)]
pub const fn spills_with(others: u32) -> u32 {
    if others > MAX_SPILLS { others } else { MAX_SPILLS }
}

/// Tiles of `n` elements.
const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Blocks for `n` elements: one per tile, and one for no elements, which writes that there are no runs.
pub const fn grid(n: u32) -> u32 {
    if n == 0 { 1 } else { tiles(n) }
}

/// Words of the workspace for `n` elements with values of type `V`; all are zero before a launch.
pub const fn workspace<V>(n: u32) -> u32 {
    look_back::workspace_of(tiles(n), 1 + state::words::<V>())
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
    reduce::<K, V, O>(keys, values, limit, (unique, sums, count), workspace)
}

/// The same, with any operator.
#[simt::device]
pub fn reduce<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    limit: Global<u32>,
    outputs: (Global<K>, Global<V>, Global<u32>),
    workspace: Global<u64>,
) {
    runs::<K, V, O>(keys, limit, outputs, workspace, |i| values.get(i))
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

/// Combines each value with those before it in its run, and writes the results to `output`, which may be `values`. With
/// `exclusive`, 1 or 0, each leaves out its own value; the first of a run is then the identity.
#[kernel(max_threads = BLOCK, max_spills = MAX_SPILLS, instances(
    [u32, u64] * [u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]
))]
pub fn scan_by_key<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    output: Global<V>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    let stage = Stage::<K, V>::new();
    let Some(own) = take(keys, keys.len(), workspace, stage, |i| values.get(i), O::IDENTITY) else { return };
    let mut running = prefix(workspace, own.number, own.runs::<O>(), stage.words).start;
    simt::unroll::<ITEMS>(|i| {
        let before = if own.is_head(i) { O::IDENTITY } else { running.sum };
        running = running.then(own.run(i));
        stage.values.set(own.first + i as u32, if exclusive != 0 { before } else { running.sum });
    });
    thread::sync_threads(); // the results are staged before they leave in stripes
    store::<V, ITEMS>(stage.values, output.slice(own.start, own.len));
}

/// Shared memory of a block: words for the scan, and its tile.
#[derive(Clone, Copy)]
struct Stage<K, V> {
    words: Shared<u32>,
    keys: Shared<K>,
    values: Shared<V>,
}

impl<K: Scalar, V: Scalar> Stage<K, V> {
    #[simt::device]
    fn new() -> Self {
        Self {
            words: Shared::dynamic(0, WORDS),
            // Values first: both begin at a multiple of 8 bytes, whatever their sizes.
            values: Shared::dynamic(4 * WORDS, TILE),
            keys: Shared::dynamic(4 * WORDS + TILE * size_of::<V>() as u32, TILE),
        }
    }
}

/// What a thread takes of a tile: consecutive elements.
struct Own<K, V> {
    /// The tile's number, its first element and how many it has.
    number: u32,
    start: u32,
    len: u32,
    /// The place in the tile of the thread's first element.
    first: u32,
    keys: [K; ITEMS],
    /// The identity where there is no element.
    values: [V; ITEMS],
    /// Bit i is set if a run begins with element i.
    heads: u32,
}

impl<K: Scalar, V: Scalar> Own<K, V> {
    #[simt::device]
    fn is_head(&self, i: usize) -> bool {
        self.heads >> i & 1 != 0
    }

    /// Element `i`.
    #[simt::device]
    fn run<O: Operator<V>>(&self, i: usize) -> Runs<V, O> {
        Runs::new(self.heads >> i & 1, self.values[i])
    }

    /// All elements.
    #[simt::device]
    fn runs<O: Operator<V>>(&self) -> Runs<V, O> {
        let mut all = Runs::NOTHING;
        simt::unroll::<ITEMS>(|i| all = all.then(self.run(i)));
        all
    }
}

/// The thread's elements of the block's tile, of `n` elements in all; `None`, for the whole block, if there is no tile.
#[simt::device]
fn take<K: Scalar, V: Scalar>(
    keys: Global<K>,
    n: u32,
    workspace: Global<u64>,
    stage: Stage<K, V>,
    value: impl Fn(u32) -> V,
    identity: V,
) -> Option<Own<K, V>> {
    let t = thread::thread_idx_x();
    if t == 0 {
        stage.words.set(NUMBER, next_tile(workspace));
    }
    thread::sync_threads(); // the number is written before all threads read it
    let number = stage.words.get(NUMBER);
    if number >= tiles(n) {
        return None; // there are fewer elements than the host knows of
    }
    let (start, first) = (number * TILE, t * ITEMS as u32);
    let len = (n - start).min(TILE);
    load::<K, ITEMS>(len, |i| keys.get(start + i), stage.keys);
    load::<V, ITEMS>(len, |i| value(start + i), stage.values);
    thread::sync_threads(); // the stripes are stored before threads take consecutive elements

    let mut own = Own { number, start, len, first, keys: [K::default(); ITEMS], values: [identity; ITEMS], heads: 0 };
    // The key before the thread's own.
    let mut before = K::default();
    if first > 0 {
        before = stage.keys.get(first - 1);
    } else if start > 0 {
        before = keys.get(start - 1);
    }
    simt::unroll::<ITEMS>(|i| {
        let at = first + i as u32;
        if at < len {
            (own.keys[i], own.values[i]) = (stage.keys.get(at), stage.values.get(at));
            let is_head = start + at == 0 || own.keys[i].to_bits_64() != before.to_bits_64();
            own.heads |= (is_head as u32) << i;
            before = own.keys[i];
        }
    });
    Some(own)
}

#[simt::device]
fn runs<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    limit: Global<u32>,
    (unique, sums, count): (Global<K>, Global<V>, Global<u32>),
    workspace: Global<u64>,
    value: impl Fn(u32) -> V,
) {
    let (stage, n) = (Stage::<K, V>::new(), within(keys.len(), limit));
    let Some(own) = take(keys, n, workspace, stage, value, O::IDENTITY) else {
        if n == 0 && thread::thread_idx_x() == 0 {
            count.set(0, 0);
        }
        return;
    };
    // Its barriers: all threads have taken their elements before the stage is used for results.
    let Prefix { before, start: mut running, all } = prefix(workspace, own.number, own.runs::<O>(), stage.words);
    simt::unroll::<ITEMS>(|i| {
        if own.is_head(i) {
            let rank = running.count - before.count;
            stage.keys.set(rank, own.keys[i]);
            // The run before ends here.
            stage.values.set(rank, running.sum);
        }
        if own.first + (i as u32) < own.len {
            running = running.then(own.run(i));
        }
    });
    if own.number == tiles(n) - 1 && own.first < own.len && own.first + ITEMS as u32 >= own.len {
        // The thread of the last element: the last run ends with it.
        sums.set(running.count - 1, running.sum);
        count.set(0, running.count);
    }
    thread::sync_threads(); // the results are staged before they leave in stripes
    let mut i = thread::thread_idx_x();
    while i < all.count {
        unique.set(before.count + i, stage.keys.get(i));
        if before.count + i > 0 {
            sums.set(before.count + i - 1, stage.values.get(i));
        }
        i += BLOCK;
    }
}
