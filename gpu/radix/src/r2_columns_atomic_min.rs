//! # Radix sort in a block, an atomic minimum merges the columns
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then, until no key is left, all threads combine the heads
//! of their columns by an atomic minimum on one shared word. A thread with this minimum reserves the next place of the
//! output by another atomic, and advances in its column. It stores the key while the next minimum is found.
//!
//! **Changed from the rung before.** In `columns-one-thread` one thread reads every head for every key. Here each
//! thread handles one head, all at the same time, and the hardware compares.
//!
//! **Bottleneck.** Only one key, with its copies, is written between two barriers, and every warp updates the same
//! word. (The assembler combines the atomics of a warp into one.) The next rungs compare the heads in a tree, or in
//! groups.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then a barrier, an
//! atomic per column, one more and a store for each key: n + 2 barriers for n keys, fewer if several columns have the
//! same key; one launch.
//!
//! **Threads.** One block; thread c has column c. 8 to 1024 columns.
//!
//! **Limits.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 keys or more where a block may
//! have 227 KiB); the host refuses more.
//!
//! **Source.** The blog post "cuda练习(三):使用gpu进行排序" (CUDA exercise 3: sorting on the GPU), undated. Changed: the minimum
//! is set before its first use, and never while a thread may read it. Each column with the minimum outputs its key, so
//! no equal key is lost. A column without keys does not take part. When the minimum is the largest possible key, all
//! remaining keys have that value.

use super::columns::{Columns, Heads, MAX_COLUMNS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Words for the minimum, used in turn. While some threads read one word, faster threads may already write the next
/// one, so the word that is cleared meanwhile must be a third.
const SLOTS: u32 = 3;

shared!(MINIMUM: [u32; SLOTS]);
shared!(
    /// Keys that have a place in the output.
    PLACED: [u32; 1]
);

/// The value of a cleared minimum: no key is larger.
const CLEAR: u32 = u32::MAX;

/// Sorts `keys`, at most `columns::capacity` of them, with one thread per column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_atomic_min(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let (columns, minimum) = (Columns::new(keys.len()), MINIMUM::view());
    columns.load(keys);
    columns.sort();
    if t == 0 {
        minimum.set(0, CLEAR);
        minimum.set(1, CLEAR);
        PLACED::view().set(0, 0);
    }
    thread::sync_threads(); // all keys are loaded before any is overwritten in global memory; the words are set

    let (mut slot, mut heads) = (0, Heads::new(columns, PLACED::view()));
    loop {
        if let Some(key) = heads.key {
            minimum.fetch_min(slot, key, Relaxed, Scope::Block);
        }
        heads.put_out(keys);
        thread::sync_threads(); // all heads are in the minimum before any thread reads it
        let least = minimum.get(slot);
        if least == CLEAR {
            break; // the whole block
        }
        heads.take(least);
        slot = after(slot);
        if t == 0 {
            // The slot after the next: its readers have passed the barrier above, its writers come after the next
            // barrier.
            minimum.set(after(slot), CLEAR);
        }
    }
    heads.put_out_rest(keys);
}

/// The slot after `slot`.
#[simt::device]
fn after(slot: u32) -> u32 {
    if slot + 1 == SLOTS { 0 } else { slot + 1 }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use crate::columns;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r2_columns_atomic_min.rs", [radix_columns_atomic_min])
        .with_capacity(columns::CAPACITY)
        .refusing(columns::refuses)
        .run_by(Sort::narrow(&Words { scratch: columns::prepare, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort(on: &dyn Launcher, keys: Global<u32>, geometry: &mut Geometry) -> Result {
        on.launch(radix_columns_atomic_min, *geometry, (keys,))
    }
}
