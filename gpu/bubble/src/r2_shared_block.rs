//! # Bubble sort, shifted windows over many blocks
//!
//! **Idea.** Cut the keys into windows of 1024. One block sorts each window, all windows at the same time (pass a).
//! Then do the same with windows shifted by half (pass b), so that keys cross the seams. This is odd-even transposition
//! again, with half windows in place of keys: with h half windows, h passes sort all keys. After the first pass each
//! window consists of two sorted halves, so every later pass merges them, as in the family `odd-even`; here a bubble
//! sort does the merge.
//!
//! **Changed from the rung before.** All SMs work, on any n. A launch has no barrier for all of its blocks, so each
//! pass is a launch. Inside a block each thread keeps its odd key in a register and only its even key in shared memory.
//! A phase takes one load and one store of neighbouring words. The rung before has two of each, with two lanes per
//! bank.
//!
//! **Bottleneck.** A shared load, a shared store and a barrier for each compare-exchange. The next rung keeps all keys
//! in registers.
//!
//! **Cost.** About n² compare-exchanges, twice those of the rung before: ⌈n/512⌉ launches, each of 512 rounds of two
//! phases; 1024 barriers per block and launch. Up to 1024 keys take one launch. Global memory hardly matters: a key is
//! read and written once per 1024 phases.
//!
//! **Threads.** Thread t of a block owns the keys 2t (in shared memory) and 2t + 1 (in a register). It compares these
//! two, then the keys 2t + 1 and 2t + 2. In each phase only one thread accesses a place.
//!
//! **Limits.** Any n. A launch may have fewer threads: a window is always two keys per thread.
//!
//! **Source.** The forum course "CUDA 程式設計 (9): 泡泡龍 part 2" (2008), its two passes. Changed: any n, one key of each
//! pair in a register, no bank conflicts.

use super::{Key, key_or_last, set_if_inside};
use simt::{Global, kernel, shared, thread};

/// Threads per block. Four such blocks fill an SM.
pub const BLOCK: u32 = 512;

/// Keys of a block's window: a pair for each thread.
pub const BLOCK_KEYS: u32 = 2 * BLOCK;

// The even keys, and one more place that holds no key: the last thread's partner in the second phase. There is room for
// keys of 8 bytes; keys of 4 bytes use half of it.
shared!(EVEN: [u64; BLOCK + 1]);

/// Blocks of a pass over `n` keys in windows of `block_keys` from `offset` on. The shifted pass needs one block fewer:
/// it leaves out at most half a window at the end, which the pass before sorted.
pub const fn grid(n: u32, block_keys: u32, offset: u32) -> u32 {
    let windows = n.div_ceil(block_keys);
    if offset == 0 { windows } else { windows.saturating_sub(1) }
}

/// The passes that sort `n` keys, in order: the offset of each.
pub fn passes(n: u32, block_keys: u32) -> impl Iterator<Item = u32> {
    let half = block_keys / 2;
    (0..n.div_ceil(half)).map(move |pass| pass % 2 * half)
}

/// One pass: sorts each window of two keys per thread; the first window starts at `offset`.
#[kernel(max_threads = BLOCK, min_blocks = 4, instances(bubble_shared_block: <u32>, bubble_shared_block_u64: <u64>))]
pub fn bubble_shared_block<T: Key>(keys: Global<T>, offset: u32) {
    let (t, pairs) = (thread::thread_idx_x(), thread::block_dim_x());
    let window = offset + thread::block_idx_x() * 2 * pairs;
    // An index beyond the last possible one stays beyond it: no key is there.
    let mine = window.saturating_add(2 * t);
    let even = EVEN::view().cast::<T>();
    even.set(t, key_or_last(keys, mine));
    let mut odd = key_or_last(keys, mine.saturating_add(1));
    if t == 0 {
        even.set(pairs, T::LAST);
    }
    let mut round = 0;
    while round < rounds(keys.len(), window, pairs) {
        // Keys 2t and 2t + 1. Here a thread touches only its own place, so the first round needs no barrier before it.
        let key = even.get(t);
        even.set(t, key.min(odd));
        odd = key.max(odd);
        thread::sync_threads(); // place t + 1 is the neighbour's until here
        // Keys 2t + 1 and 2t + 2.
        let key = even.get(t + 1);
        even.set(t + 1, key.max(odd));
        odd = key.min(odd);
        thread::sync_threads(); // place t is the other neighbour's until here
        round += 1;
    }
    set_if_inside(keys, mine, even.get(t));
    set_if_inside(keys, mine.saturating_add(1), odd);
}

/// Rounds that sort a window: one per pair, and fewer for a short window at the end. The same for all threads of the
/// block.
#[simt::device]
fn rounds(n: u32, window: u32, pairs: u32) -> u32 {
    n.saturating_sub(window).div_ceil(2).min(pairs)
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: a kernel per pass, at the offsets a and b in turn.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r2_shared_block.rs", [bubble_shared_block])
        .refusing(refuses)
        .with_tiles(&[BLOCK_KEYS as u64])
        .run_by(Sort::both(&Words { scratch: threads, sort }, &Words { scratch: threads, sort }));

    fn refuses(ask: &Ask) -> Option<String> {
        let threads = ask.options.threads.filter(|threads| !(1..=BLOCK).contains(threads))?;
        let keys = 2 * u64::from(threads);
        Some(format!("a block of {keys} keys: shared-block takes 2 to {BLOCK_KEYS}"))
    }

    /// The threads per block, in place of scratch memory, which the rung does not need.
    ///
    /// # Errors
    /// None.
    pub fn threads(_: &dyn Launcher, _: u32, options: &Options) -> Result<u32> {
        Ok(options.threads.unwrap_or(BLOCK))
    }

    /// Sorts `keys` in place: a launch per pass.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, threads: &mut u32) -> Result
    where
        bubble_shared_block<W>: Kernel<Args = (Global<W>, u32)>,
    {
        let (n, window) = (keys.len(), 2 * *threads);
        for offset in passes(n, window) {
            let geometry = Geometry::linear(grid(n, window, offset), *threads);
            on.launch(bubble_shared_block::<W>::default(), geometry, (keys, offset))?;
        }
        Ok(())
    }
}
