//! # Radix sort in a block, minima of groups merge the columns
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then, for each key of the output, groups of 8 columns find
//! the minimum of their heads by atomics on one word per group. One thread of each group combines its group's minimum
//! with those of the other groups, by an atomic too.
//!
//! **Changed from the rung before.** Two steps instead of log₂ of the columns. At most 8 threads use one word in the
//! first step, and one thread per group takes part in the second.
//!
//! **Bottleneck.** Only one key, with its copies, is written per two barriers. No merge of this kind does better. The
//! next rungs sort by larger digits, with all blocks, and do not merge.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then two barriers, 9/8
//! atomics per column, one more and a store for each key: 2·n + 3 barriers for n keys, fewer if several columns have
//! the same key; one launch.
//!
//! **Threads.** One block; thread c has column c. 8 to 1024 columns. The first thread of each group acts for it.
//!
//! **Limits.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 keys or more where a block may
//! have 227 KiB); the host refuses more.
//!
//! **Source.** The blog post "cuda练习(三):使用gpu进行排序" (CUDA exercise 3: sorting on the GPU), undated. Changed: as in
//! `columns-atomic-min`.

use super::columns::{Columns, Heads, MAX_COLUMNS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Columns per group.
const GROUP: u32 = 8;

shared!(GROUP_MINIMUM: [u32; MAX_COLUMNS / GROUP]);
// Used in turn: one is read while the other is cleared.
shared!(MINIMUM: [u32; 2]);
shared!(
    /// Keys that have a place in the output.
    PLACED: [u32; 1]
);

/// The value of a cleared minimum: no key is larger.
const CLEAR: u32 = u32::MAX;

/// Sorts `keys`, at most `columns::capacity` of them, with one thread per column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_groups(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let (group, first_of_group) = (t / GROUP, t.is_multiple_of(GROUP));
    let (columns, groups, minimum) = (Columns::new(keys.len()), GROUP_MINIMUM::view(), MINIMUM::view());
    columns.load(keys);
    columns.sort();
    if first_of_group {
        groups.set(group, CLEAR);
    }
    if t == 0 {
        minimum.set(0, CLEAR);
        PLACED::view().set(0, 0);
    }
    thread::sync_threads(); // all keys are loaded before any is overwritten in global memory; the words are set

    let (mut turn, mut heads) = (0, Heads::new(columns, PLACED::view()));
    loop {
        if let Some(key) = heads.key {
            groups.fetch_min(group, key, Relaxed, Scope::Block);
        }
        heads.put_out(keys);
        thread::sync_threads(); // the groups' minima are complete before they are read
        if first_of_group {
            minimum.fetch_min(turn, groups.get(group), Relaxed, Scope::Block);
            // Until the next barrier no other thread uses the group's word.
            groups.set(group, CLEAR);
        }
        thread::sync_threads(); // the minimum is complete before it is read; the groups' words are clear again
        let least = minimum.get(turn);
        if least == CLEAR {
            break; // the whole block
        }
        heads.take(least);
        turn = 1 - turn;
        if t == 0 {
            // Its readers have passed the barriers above, its writers come after the next barrier.
            minimum.set(turn, CLEAR);
        }
    }
    heads.put_out_rest(keys);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use crate::columns;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r4_columns_groups.rs", [radix_columns_groups])
        .with_capacity(columns::CAPACITY)
        .refusing(columns::refuses)
        .run_by(Sort::narrow(&Words { scratch: columns::prepare, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort(on: &dyn Launcher, keys: Global<u32>, geometry: &mut Geometry) -> Result {
        on.launch(radix_columns_groups, *geometry, (keys,))
    }
}
