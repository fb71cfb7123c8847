//! # Radix sort of columns, merged by one atomic minimum
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then, until nothing is left, all threads take the minimum
//! of the heads of their columns by an atomic on one shared word; whoever has that key puts it out and moves on.
//!
//! **Changed from the rung before.** `columns-one-thread` lets one thread look at every head for every key. Here the
//! threads look at one head each, at the same time, and the hardware compares.
//!
//! **Bottleneck.** One key, with its copies, goes out between two barriers, and every warp updates the same word. (The
//! assembler makes one atomic of a warp's.) The next rungs compare the heads in a tree, or in groups.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then a barrier, an
//! atomic a column and one store for each key, less where several columns have the same one.
//!
//! **Threads.** One block, thread c has column c. 8 to 1024 columns.
//!
//! **Limits.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 and more of 227 KiB); the
//! host refuses more.
//!
//! **Source.** The blog "cuda练习(三):使用gpu进行排序", with its mistakes mended: the minimum is set before its first use and
//! never while somebody reads it; as many copies are put out as columns had the minimum, so no equal key is lost; a
//! column without keys takes no part, so the largest key need not mean "empty".

use super::columns::{Columns, MAX_COLUMNS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Words that the minimum moves through. While one is read, the next may already be written by the quick, so the one
/// that is cleared meanwhile must be a third.
const SLOTS: u32 = 3;

shared!(MINIMUM: [u32; SLOTS]);

/// What a minimum is cleared to: nothing is larger.
const CLEAR: u32 = u32::MAX;

/// Sorts `keys`, as many as `columns::capacity` allows, with a thread a column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_atomic_min(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let (columns, minimum) = (Columns::new(keys.len()), MINIMUM::view());
    columns.load(keys);
    columns.sort();
    if t == 0 {
        minimum.set(0, CLEAR);
        minimum.set(1, CLEAR);
    }
    thread::sync_threads(); // all keys are in shared memory before one is overwritten in global; the words are set

    let (mut place, mut slot, mut to) = (t, 0, 0);
    let mut head = columns.key(place);
    // The minimum of the round before, and whether it was the thread's head.
    let (mut least, mut won) = (CLEAR, false);
    while to < keys.len() {
        if let Some(key) = head {
            minimum.fetch_min(slot, key, Relaxed, Scope::Block);
        }
        // All heads are in the minimum before anyone reads it. On the way the barrier counts the last round's winners.
        let copies = thread::sync_threads_count(won);
        let next = minimum.get(slot);
        if t < copies {
            keys.set(to + t, least);
        }
        to += copies;
        least = next;
        won = head == Some(least);
        if won {
            place = columns.below(place);
            head = columns.key(place);
        }
        slot = after(slot);
        if t == 0 {
            // The slot after the next: its readers passed the barrier above, its writers wait for the next one.
            minimum.set(after(slot), CLEAR);
        }
    }
}

/// The slots in turn.
#[inline(always)]
fn after(slot: u32) -> u32 {
    if slot + 1 == SLOTS { 0 } else { slot + 1 }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use crate::ladder::sort::*;
    use crate::radix::columns;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r2_columns_atomic_min.rs", [radix_columns_atomic_min])
        .with_capacity(columns::CAPACITY)
        .refusing(columns::refuses)
        .run_by(Sort::narrow(&AtomicMin));

    struct AtomicMin;

    impl Sorts<u32> for AtomicMin {
        fn launches(&self, _: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Keys<u32>>> {
            let geometry = columns::geometry(n, options);
            Ok(unsigned(move |on, keys| on.launch(radix_columns_atomic_min, geometry, (keys,))))
        }
    }
}
