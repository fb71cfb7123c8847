//! # Radix sort of columns, merged by one atomic minimum
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then, until nothing is left, all threads take the minimum
//! of the heads of their columns by an atomic on one shared word; whoever has that key puts it out and moves on.
//!
//! **Changed from the rung before.** `columns-one-thread` lets one thread look at every head for every key. Here the
//! threads look at one head each, at the same time, and the hardware compares.
//!
//! **Bottleneck.** All threads of a block update the same word, one after the other, for every key. The next rungs
//! compare the heads in a tree, or in groups with a word each.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then a barrier
//! and an atomic a column for each distinct key, and an atomic for each key.
//!
//! **Threads.** One block, thread c has column c. 8 to 1024 columns.
//!
//! **Limits and source.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 and more of 227
//! KiB); the host refuses more. After the blog "cuda练习(三):使用gpu进行排序", with its mistakes mended: the minimum
//! is set before its first use and never while somebody reads it; every column that has the minimum puts out its own
//! copies, so no equal key is lost; a column without keys takes no part, so the largest key need not mean "empty".

use super::columns::{Columns, MAX_COLUMNS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, kernel, shared, thread};

/// Words that the minimum moves through. While one is read, the next may already be written by the quick, so the one
/// that is cleared meanwhile must be a third.
const SLOTS: u32 = 3;

shared!(MINIMUM: [u32; SLOTS]);
// How many keys have been put out.
shared!(PLACED: [u32; 1]);

/// Sorts `keys`, as many as `columns::capacity` allows, with a thread a column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_atomic_min(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let (columns, minimum, placed) = (Columns::new(keys.len()), MINIMUM::view(), PLACED::view());
    columns.load(keys);
    columns.sort();
    if t == 0 {
        clear(minimum, 0);
        clear(minimum, 1);
        placed.set(0, 0);
    }
    thread::sync_threads(); // all keys are in shared memory before one is overwritten in global; the words are set

    let (mut place, mut slot) = (t, 0);
    let mut head = columns.key(place);
    loop {
        if let Some(key) = head {
            minimum.fetch_min(slot, key, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all heads are in the minimum before anyone reads it
        let least = minimum.get(slot);
        while head == Some(least) {
            // Relaxed: the counter only gives each of several equal keys a place of its own.
            keys.set(placed.fetch_add(0, 1, Relaxed, Scope::Block), least);
            place = columns.below(place);
            head = columns.key(place);
        }
        // Behind the largest key, or where nobody had a head, there is nothing left to put out.
        if least == u32::MAX {
            break;
        }
        slot = next(slot);
        if t == 0 {
            // The slot after the next: its readers passed the barrier above, its writers wait for the next one.
            clear(minimum, next(slot));
        }
    }
}

/// Makes a slot larger than or equal to any key.
#[inline(always)]
fn clear(minimum: Shared<u32>, slot: u32) {
    minimum.set(slot, u32::MAX);
}

/// The slots in turn.
#[inline(always)]
fn next(slot: u32) -> u32 {
    if slot + 1 == SLOTS { 0 } else { slot + 1 }
}
