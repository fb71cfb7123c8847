//! # Radix sort in a block, one thread merges the columns
//!
//! **Idea.** Each thread sorts a column of keys by its bits. Then one thread merges. The *head* of a column is its
//! smallest remaining key. For each key of the output, the thread reads all heads, writes the smallest one, and
//! advances in that column.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** The merge: for each key one thread reads the heads of all columns, while the other threads have
//! ended. In the next rungs every thread handles its own head.
//!
//! **Cost.** 32 passes over all keys in shared memory, by as many threads as there are columns; then keys × columns
//! looks in a row; 1 barrier; one launch. More columns make the first part faster and the second slower.
//!
//! **Threads.** One block; thread c has column c. 8 to 1024 columns. The first thread keeps the heads in shared memory,
//! reads eight of them in two accesses, and compares them in four chains that do not wait for each other.
//!
//! **Limits.** 32-bit keys, as many as fit twice into the block's shared memory (27,648 keys or more where a block may
//! have 227 KiB); the host refuses more.
//!
//! **Source.** The blog post "cuda练习(三):使用gpu进行排序" (CUDA exercise 3: sorting on the GPU), undated. Changed: an
//! exhausted column is removed from the list of heads, so no thread reads past its end, and no key has to mean "empty".

use super::columns::{Columns, MAX_COLUMNS, MIN_COLUMNS};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Heads in one access of 16 bytes, each compared in a chain of its own.
const CHAINS: usize = 4;
/// Accesses in flight together.
const PACKS: usize = 2;
/// Heads compared together.
const GROUP: u32 = (CHAINS * PACKS) as u32;
// Whole groups never reach past the heads that the threads of the columns set.
const _: () = assert!(MIN_COLUMNS.is_multiple_of(GROUP));

// The heads of the columns that have one, and the place of each head. After the last head, largest keys fill its group.
shared!(HEADS: [u32; MAX_COLUMNS]);
shared!(PLACES: [u32; MAX_COLUMNS]);

/// Sorts `keys`, at most `columns::capacity` of them, with one thread per column.
#[kernel(max_threads = MAX_COLUMNS)]
pub fn radix_columns_one_thread(keys: Global<u32>) {
    let t = thread::thread_idx_x();
    let columns = Columns::new(keys.len());
    columns.load(keys);
    columns.sort();
    // The first columns are the ones that are not empty.
    HEADS::view().set(t, columns.key(t).unwrap_or(u32::MAX));
    PLACES::view().set(t, t);
    thread::sync_threads(); // all columns are sorted before the first thread merges them
    if t == 0 {
        merge(columns, keys);
    }
}

/// Writes the keys of all columns in order.
#[simt::device]
fn merge(columns: Columns, keys: Global<u32>) {
    let (heads, places) = (HEADS::view(), PLACES::view());
    let mut live = columns.columns().min(keys.len());
    let mut to = 0;
    while to < keys.len() {
        let (least, at) = smallest(heads, live);
        keys.set(to, least);
        let place = columns.below(places.get(at));
        if let Some(key) = columns.key(place) {
            heads.set(at, key);
            places.set(at, place);
        } else {
            // The last column takes the place of the exhausted one, and a largest key takes the place of the last
            // column.
            live -= 1;
            heads.set(at, heads.get(live));
            places.set(at, places.get(live));
            heads.set(live, u32::MAX);
        }
        to += 1;
    }
}

/// The smallest of the first `live` heads, and its index. The largest keys after them are never chosen: each chain
/// starts with a largest key and the index of the first head, which is live, and changes only for a smaller key.
#[simt::device]
fn smallest(heads: Shared<u32>, live: u32) -> (u32, u32) {
    let (mut least, mut at) = ([u32::MAX; CHAINS], [0; CHAINS]);
    let mut first = 0;
    while first < live {
        let mut packs = [[0; CHAINS]; PACKS];
        unroll::<PACKS>(|p| packs[p] = heads.get_pack(first / CHAINS as u32 + p as u32));
        unroll::<PACKS>(|p| {
            unroll::<CHAINS>(|c| {
                if packs[p][c] < least[c] {
                    (least[c], at[c]) = (packs[p][c], first + (p * CHAINS + c) as u32);
                }
            });
        });
        first += GROUP;
    }
    unroll::<CHAINS>(|c| {
        if least[c] < least[0] {
            (least[0], at[0]) = (least[c], at[c]);
        }
    });
    (least[0], at[0])
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use crate::columns;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r1_columns_one_thread.rs", [radix_columns_one_thread])
        .with_capacity(columns::CAPACITY)
        .refusing(columns::refuses)
        .run_by(Sort::narrow(&Words { scratch: columns::prepare, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort(on: &dyn Launcher, keys: Global<u32>, geometry: &mut Geometry) -> Result {
        on.launch(radix_columns_one_thread, *geometry, (keys,))
    }
}
