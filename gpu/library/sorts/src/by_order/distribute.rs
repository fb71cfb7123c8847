//! How keys are dealt out while they are counted by bucket or moved to their buckets: one tile per block, and in it the
//! places of each thread's keys.

use simt::{Global, Scalar, Shared, opaque, thread, unroll, warp};

/// Threads per block.
pub const BLOCK: u32 = 512;
/// Keys per thread.
pub const ITEMS: usize = 16;
/// Keys of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;
/// Most buckets that a bucket is split into; a key's bucket is a byte.
pub const MOST_BUCKETS: u32 = 256;

/// The tile of a block: which bucket it belongs to, and its keys.
#[derive(Clone, Copy)]
pub struct Part {
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
pub struct Column {
    first: u32,
    step: u32,
}

impl Column {
    /// With rows of [`BLOCK_ROWS`] or [`WARP_ROWS`].
    #[simt::device]
    pub fn of(rows: u32) -> Self {
        let t = thread::thread_idx_x();
        let piece = t / warp::WARP * (ITEMS as u32 * warp::WARP) + t % warp::WARP;
        Self { first: if rows == BLOCK_ROWS { t } else { piece }, step: rows }
    }

    /// The same, as a value that the compiler does not know.
    #[simt::device]
    pub fn anew(self) -> Self {
        Self { first: opaque(self.first), ..self }
    }

    /// The place of key `i`.
    #[simt::device]
    pub fn slot(self, i: usize) -> u32 {
        self.first + i as u32 * self.step
    }
}

impl Part {
    /// The place in all keys of what is in a slot of the tile; for one behind the end that of the tile's last key.
    #[simt::device]
    pub fn place(&self, slot: u32) -> u32 {
        self.first + if slot < self.len { slot } else { self.len - 1 }
    }

    /// Writes the keys of this thread where they were.
    #[simt::device]
    pub fn copy<W: Scalar>(&self, keys: &[W; ITEMS], column: Column, output: Global<W>) {
        unroll::<ITEMS>(|i| {
            if column.slot(i) < self.len {
                output.set(self.first + column.slot(i), keys[i]);
            }
        });
    }

    /// Writes out the tile, which is in the order of the buckets; `offsets` says for each bucket by how much the places
    /// in the output differ from those in the tile.
    #[simt::device]
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
#[simt::device]
pub fn part_of_block(n: u32, starts: Global<u32>, block: u32, found: Shared<u32>) -> Option<Part> {
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
