//! # Sample sort: splitters, two distributions, buckets that fit a block
//!
//! **Idea.** A sorted sample of the keys gives splitters, which cut the keys into buckets of about the same size. A key
//! finds its bucket by a binary search of the splitters in shared memory, and is moved there. The search costs one
//! comparison per halving, as a merge does, but takes a fifth of a merge's time: all threads search the same few
//! splitters. Two such rounds leave buckets of about 4096 keys, which fit the shared memory of a block and are sorted
//! there.
//!
//! **Changed from the rung before.** `all-runs` merges at most 128 runs; for more keys the passes of `multi-way` move
//! all of them once for every two or three halvings. Here two moves replace all passes over global memory. If
//! neighbouring splitters are equivalent, the keys that are equivalent to them get a bucket of their own, which is
//! final. Up to 2²⁰ keys the launches are those of `all-runs`, which are fewer.
//!
//! **Bottleneck.** The sort of the buckets, which merges runs from 17 keys up in shared memory. Threads with more keys
//! search less, but their registers spill: on an H200, 256 threads with 31 keys each sort 2²⁸ keys by `<` in 6.67 ms in
//! place of 6.77, and by their low halves in 8.56 ms in place of 7.31. With buckets of 1024 keys on average, by 128
//! threads with 17 keys each, 2²⁴ keys take 514 µs in place of 472.
//!
//! **Cost.** Ten launches: twice a sample, the count, the starts and the move, then the buckets, and those that do not
//! fit. Beyond 2²⁸ keys there are four rounds and eighteen launches. A round reads every key twice and writes it once,
//! and a byte per key, its bucket, is written and read.
//!
//! **Threads.** Sample and buckets: 512 per block, 15 and 17 keys each (64-bit: 15). Count and move: 512 per block, 16
//! keys each.
//!
//! **Limits.** Any n. Memory for the keys again, and a byte and a quarter per key. Equivalent keys may change their
//! order. If a bucket does not fit a block although its splitters differ, one block sorts it, through global memory.
//! With a proper order that is rare, and slow where it happens. If the function is no order, it may be all keys.
//!
//! **Source.** W. D. Frazer and A. C. McKellar, "Samplesort: a sampling approach to minimal storage tree sorting"
//! (1970); on GPUs: N. Leischner, V. Osipov, P. Sanders, "GPU sample sort" (2010). The buckets of equivalent keys: P.
//! Sanders and S. Winkel, "Super scalar sample sort" (2004).
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 5 | `splitters.rs` | sorts a sample of each bucket that is to be split, and takes splitters from it |
//! | 2, 6 | `count.rs` | finds the bucket of each key, and counts |
//! | 3, 7 | `scatter.rs` | where the buckets start |
//! | 4, 8 | `scatter.rs` | moves the keys there |
//! | 9, 10 | `buckets.rs` | sorts each bucket; then those that do not fit a block |
//!
//! `launches.rs` has the launches and the memory that they need.

mod buckets;
mod count;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod scatter;
mod splitters;

pub use buckets::*;
pub use count::*;
pub use scatter::*;
pub use splitters::*;

use simt::{Global, Scalar, Shared, opaque, thread, unroll, warp};

/// Threads per block, of all kernels but that of the starts.
pub const BLOCK: u32 = 512;
/// Bytes per thread of spilled registers that the resident blocks of the count, of the move and of the buckets' sort
/// may cost.
pub const MAX_SPILLS: u32 = 40;
/// The same for buckets that a block sorts in rounds. Such buckets are rare.
pub const LARGE_MAX_SPILLS: u32 = 96;
/// Keys per thread in the count and in the move.
pub const ITEMS: usize = 16;
/// Keys of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;
/// Most buckets that a bucket is split into; a key's bucket is a byte.
pub const MOST_BUCKETS: u32 = 256;

/// What is done with a bucket: nothing, because it is small or final.
pub const COPY: u32 = 0;
/// It is split.
pub const SPLIT: u32 = 1;
/// It is split, and there are splitters that are equivalent.
pub const SPLIT_TWINS: u32 = 2;

/// The tile of a block: which bucket it belongs to, and its keys.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub bucket: u32,
    pub first: u32,
    pub len: u32,
}

/// Which keys of a tile a thread has: those in its column, of rows as long as the block,
pub const BLOCK_ROWS: u32 = BLOCK;
/// or, where keys keep their order, of rows as long as a warp: then each warp has a piece of the tile.
pub const WARP_ROWS: u32 = warp::WARP;

/// The places of a thread's keys in a tile.
#[derive(Clone, Copy)]
pub(super) struct Column {
    first: u32,
    step: u32,
}

impl Column {
    /// With rows of [`BLOCK_ROWS`] or [`WARP_ROWS`].
    #[inline(always)]
    pub fn of(rows: u32) -> Self {
        let t = thread::thread_idx_x();
        let piece = t / warp::WARP * (ITEMS as u32 * warp::WARP) + t % warp::WARP;
        Self { first: if rows == BLOCK_ROWS { t } else { piece }, step: rows }
    }

    /// The same, as a value that the compiler does not know.
    #[inline(always)]
    pub fn anew(self) -> Self {
        Self { first: opaque(self.first), ..self }
    }

    /// The place of key `i`.
    #[inline(always)]
    pub fn slot(self, i: usize) -> u32 {
        self.first + i as u32 * self.step
    }
}

impl Part {
    /// The place in all keys of what is in a slot of the tile; for one behind the end that of the tile's last key.
    #[inline(always)]
    pub fn place(&self, slot: u32) -> u32 {
        self.first + if slot < self.len { slot } else { self.len - 1 }
    }

    /// Writes the keys of this thread where they were.
    #[inline(always)]
    pub fn copy<W: Scalar>(&self, keys: &[W; ITEMS], column: Column, output: Global<W>) {
        unroll::<ITEMS>(|i| {
            if column.slot(i) < self.len {
                output.set(self.first + column.slot(i), keys[i]);
            }
        });
    }

    /// Writes out the tile, which is in the order of the buckets; `offsets` says for each bucket by how much the places
    /// in the output differ from those in the tile.
    #[inline(always)]
    pub fn store<W: Scalar>(&self, staged: Shared<W>, ids: Shared<u8>, offsets: Shared<u32>, output: Global<W>) {
        let column = Column::of(BLOCK_ROWS);
        unroll::<ITEMS>(|i| {
            let slot = column.slot(i);
            if slot < self.len {
                let offset = offsets.get(ids.get(slot) as u32);
                output.set(offset.wrapping_add(slot), staged.get(slot));
            }
        });
    }
}

/// The tile of the block among those of the buckets that start at `starts`; all keys are one bucket if that is empty.
///
/// The tiles of bucket q are those from ⌊start of q / keys of a tile⌋ + q on, which takes no scan over their numbers.
/// `found`: three words of shared memory. All threads of the block make the call.
#[inline(always)]
pub(super) fn part_of_block(n: u32, starts: Global<u32>, block: u32, found: Shared<u32>) -> Option<Part> {
    let t = thread::thread_idx_x();
    if starts.is_empty() {
        let first = block * TILE;
        return Some(Part { bucket: 0, first, len: if n - first < TILE { n - first } else { TILE } });
    }
    if t == 0 {
        found.set(0, u32::MAX);
    }
    thread::sync_threads(); // nobody has found the tile yet
    let mut q = t;
    while q < starts.len() - 1 {
        let (start, end) = (starts.get(q), starts.get(q + 1));
        let slot = start / TILE + q;
        if block >= slot && block - slot < (end - start).div_ceil(TILE) {
            let first = start + (block - slot) * TILE;
            found.set(0, q);
            found.set(1, first);
            found.set(2, if end - first < TILE { end - first } else { TILE });
        }
        q += BLOCK;
    }
    thread::sync_threads(); // one thread has found it, or none
    let bucket = found.get(0);
    if bucket == u32::MAX {
        return None;
    }
    Some(Part { bucket, first: found.get(1), len: found.get(2) })
}
