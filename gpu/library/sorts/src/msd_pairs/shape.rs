//! How many pairs the tiles of a pass have, how many threads, and by what a pass goes.

use simt::unroll;

/// Pairs per thread, at most.
pub const MAX_ITEMS: usize = 16;

/// Pairs of a thread whose places are all read before the first pair is written.
pub const GROUP: usize = 4;

/// Threads and pairs of a tile.
pub trait Shape: Copy + 'static {
    /// Threads per block.
    const THREADS: u32 = 512;
    /// Pairs per thread, whole groups, at most [`MAX_ITEMS`].
    const ITEMS: u32 = 16;
    /// Blocks per SM that the compiler makes room for.
    const BLOCKS: u32 = 2;
    /// Whether pairs go to their buckets, not by all digits.
    const BUCKETS: bool = false;
    /// Bytes per thread of spilled registers that are accepted.
    const SPILLS: u32 = 0;
    /// Whether a digit is one of the number that a learned map gives the key.
    const MAPPED: bool = false;
    /// Whether a digit is one of the number that a linear map gives the key, not one of the key.
    const LINEAR: bool = Self::BUCKETS && !Self::MAPPED;

    /// Pairs per tile.
    const TILE: u32 = Self::THREADS * Self::ITEMS;

    /// Calls `f` with the index of each pair of a thread but the first.
    #[simt::device]
    fn others(mut f: impl FnMut(usize)) {
        unroll::<MAX_ITEMS>(|i| {
            if i > 0 && (i as u32) < Self::ITEMS {
                f(i);
            }
        });
    }

    /// Calls `f` with the index of the first of each [`GROUP`] pairs of a thread.
    #[simt::device]
    fn each_group(mut f: impl FnMut(usize)) {
        unroll::<{ MAX_ITEMS / GROUP }>(|g| {
            if ((g * GROUP) as u32) < Self::ITEMS {
                f(g * GROUP);
            }
        });
    }

    /// Calls `f` with the index of each pair of a thread.
    #[simt::device]
    fn each(mut f: impl FnMut(usize)) {
        f(0);
        Self::others(f);
    }
}

/// The shape for partitions.
#[derive(Clone, Copy)]
pub struct Partition;
/// The shape for partitions by a map.
#[derive(Clone, Copy)]
pub struct Learned;
/// The shape for many pairs.
#[derive(Clone, Copy)]
pub struct Large;
/// The shape for few pairs: twice as many tiles, and half as many rows to rank in sequence.
#[derive(Clone, Copy)]
pub struct Small;

impl Shape for Partition {
    const BUCKETS: bool = true;
}
impl Shape for Learned {
    const BUCKETS: bool = true;
    const SPILLS: u32 = 24;
    const MAPPED: bool = true;
}
impl Shape for Large {}
impl Shape for Small {
    const ITEMS: u32 = 8;
}
