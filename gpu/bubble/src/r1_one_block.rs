//! # Bubble sort, all keys in one block
//!
//! **Idea.** Odd-even transposition: compare-exchange the pairs (0,1) (2,3) …, wait, then the pairs (1,2) (3,4) …,
//! wait. n such phases sort n keys, so ⌈n/2⌉ rounds of two phases are enough.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Only one SM works, and n is limited by the shared memory of one block. The next rung uses all SMs.
//!
//! **Cost.** ⌈n/2⌉·(n - 1) compare-exchanges, each with two shared loads and up to two stores; 2·⌈n/2⌉ + 1 barriers;
//! one launch; one read and one write of each key in global memory.
//!
//! **Threads.** Thread t compares the pairs t, t + threads, … of each phase. Neighbouring lanes use words two apart, so
//! two lanes share a bank and an access to keys of 4 bytes takes two wavefronts.
//!
//! **Limits.** Any n that fits in the block's shared memory: 58,112 keys of 4 bytes where a block may have 227 KiB. The
//! host refuses more.
//!
//! **Source.** The forum course "CUDA 程式設計 (9): 泡泡龍 part 2" (2008), its kernel of one block, and N. Habermann,
//! "Parallel neighbor-sort (or the glory of the induction principle)" (1972). Changed: any n that fits, and several
//! pairs per thread.

use super::Key;
use simt::{Global, Shared, kernel, thread};

/// Most threads of the block; there are fewer if there are fewer pairs.
pub const MAX_THREADS: u32 = 1024;

/// Keys of `key_bytes` that fit a block's `shared_bytes`.
pub const fn capacity(shared_bytes: u32, key_bytes: u32) -> u32 {
    shared_bytes / key_bytes
}

/// Blocks for `n` keys: one, or none for no keys.
pub const fn grid(n: u32) -> u32 {
    if n == 0 { 0 } else { 1 }
}

/// Threads for `n` keys: one per pair, in whole warps.
pub const fn threads(n: u32) -> u32 {
    let threads = n.div_ceil(2).div_ceil(32) * 32;
    if threads == 0 {
        32
    } else if threads > MAX_THREADS {
        MAX_THREADS
    } else {
        threads
    }
}

/// Bytes of dynamic shared memory for `n` keys of `key_bytes`.
pub const fn shared_bytes(n: u32, key_bytes: u32) -> u32 {
    n * key_bytes
}

/// Sorts `keys`, of which there are at most [`capacity`].
#[kernel(max_threads = MAX_THREADS, instances(bubble_one_block: <u32>, bubble_one_block_u64: <u64>))]
pub fn bubble_one_block<T: Key>(keys: Global<T>) {
    let n = keys.len();
    let sorted = Shared::<T>::dynamic(0, n);
    each(0, 1, n, |i| sorted.set(i, keys.get(i)));
    thread::sync_threads(); // all keys are loaded before any thread compares another thread's
    let mut round = 0;
    while round < n.div_ceil(2) {
        compare_pairs(sorted, 0);
        thread::sync_threads(); // the pairs change: a neighbour now compares a key just written
        compare_pairs(sorted, 1);
        thread::sync_threads(); // the pairs change back
        round += 1;
    }
    each(0, 1, n, |i| keys.set(i, sorted.get(i)));
}

/// Puts the pairs (`first`, `first` + 1), (`first` + 2, `first` + 3), … in order.
#[simt::device]
fn compare_pairs<T: Key>(sorted: Shared<T>, first: u32) {
    // The first of a pair is never the last key.
    each(first, 2, sorted.len().saturating_sub(1), |i| {
        let (a, b) = (sorted.get(i), sorted.get(i + 1));
        if a > b {
            sorted.set(i, b);
            sorted.set(i + 1, a);
        }
    });
}

/// Calls `f` with the thread's share of `first`, `first` + `step`, … below `end`.
#[simt::device]
fn each(first: u32, step: u32, end: u32, mut f: impl FnMut(u32)) {
    let mut i = first + step * thread::thread_idx_x();
    while i < end {
        f(i);
        i += step * thread::block_dim_x();
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r1_one_block.rs", [bubble_one_block])
        .with_capacity(capacity(MAX_SHARED, 8) as u64)
        .refusing(refuses)
        .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    fn refuses(ask: &Ask) -> Option<String> {
        let capacity = capacity(ask.device.shared_per_block, ask.element_bytes);
        let n = ask.n;
        (n > capacity.into()).then(|| format!("{n} keys do not fit a block's shared memory; {capacity} do"))
    }

    /// Sorts `keys` in place: one launch.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        bubble_one_block<W>: Kernel<Args = (Global<W>,)>,
    {
        let n = keys.len();
        let geometry = Geometry::linear(grid(n), threads(n)).shared(shared_bytes(n, size_of::<W>() as u32));
        on.launch(bubble_one_block::<W>::default(), geometry, (keys,))
    }
}
