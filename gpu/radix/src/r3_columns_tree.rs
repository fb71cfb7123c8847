//! # Radix sort in a block, a tree merges the columns
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then, for each key of the output, the heads of the columns
//! are compared in pairs, the winners in pairs again, until one remains. It is the next key, and its column advances.
//!
//! **Changed from the rung before.** `columns-atomic-min` compares all heads at one word, in sequence. Here the
//! comparisons of a step are independent.
//!
//! **Bottleneck.** A barrier per step: log₂ of the columns for each key. In the source's measurements that costs more
//! than it saves: up to 64 columns this is its slowest merge, and this rung is here to show it. The next rung has two
//! steps.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then log₂(columns) + 1
//! barriers and 4·columns - 2 accesses to shared memory for each key; one launch.
//!
//! **Threads.** One block; thread c has column c. 8 to 1024 columns. In a step with h winners to find, thread t < h
//! compares its own winner with the one h places further on.
//!
//! **Limits.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 keys or more where a block may
//! have 227 KiB); the host refuses more.
//!
//! **Source.** The blog post "cuda练习(三):使用gpu进行排序" (CUDA exercise 3: sorting on the GPU), undated. Changed: a head
//! contains its column's number, so only one of several equal keys wins and none is lost; the head of an exhausted
//! column is larger than every key.

use super::columns::{Columns, MAX_COLUMNS};
use simt::{Global, kernel, shared, thread};

// The winners so far: the key above its column.
shared!(HEADS: [u64; MAX_COLUMNS]);
shared!(WINNER: [u64; 1]);

/// The head of an exhausted column: larger than the largest key of the last column.
const EXHAUSTED: u64 = u64::MAX;

/// Sorts `keys`, at most `columns::capacity` of them, with one thread per column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_tree(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let columns = Columns::new(keys.len());
    columns.load(keys);
    columns.sort();

    let mut place = t;
    let mut head = with_column(columns.key(place), t);
    let mut to = 0;
    while to < keys.len() {
        let mut best = head;
        let mut half = columns.columns() / 2;
        HEADS::view().set(t, best);
        // All heads are written before other threads compare them, and all keys are in shared memory before the first
        // is overwritten in global memory.
        thread::sync_threads();
        while half > 1 {
            if t < half {
                best = best.min(HEADS::view().get(t + half));
                HEADS::view().set(t, best);
            }
            thread::sync_threads(); // the winners of this step are written before the next step
            half /= 2;
        }
        if t == 0 {
            WINNER::view().set(0, best.min(HEADS::view().get(1)));
        }
        thread::sync_threads(); // the winner is written before all threads read it
        // The winner is read here and written after the barriers of the next key; the heads are not read any more.
        if head == WINNER::view().get(0) {
            keys.set(to, (head >> u32::BITS) as u32);
            place = columns.below(place);
            head = with_column(columns.key(place), t);
        }
        to += 1;
    }
}

/// A head that compares like its key, and among equal keys like its column, so that there is one smallest.
#[simt::device]
fn with_column(key: Option<u32>, column: u32) -> u64 {
    key.map_or(EXHAUSTED, |key| (key as u64) << u32::BITS | column as u64)
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use crate::columns;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r3_columns_tree.rs", [radix_columns_tree])
        .with_capacity(columns::CAPACITY)
        .refusing(columns::refuses)
        .run_by(Sort::narrow(&Words { scratch: columns::prepare, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort(on: &dyn Launcher, keys: Global<u32>, geometry: &mut Geometry) -> Result {
        on.launch(radix_columns_tree, *geometry, (keys,))
    }
}
