//! The packs begin behind the first element.
//!
//! **Finding.** misaligned

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Writes to `sums`, for each thread, the sum of its share of `values`.
#[kernel]
pub fn add_up(values: Global<u32>, sums: Global<u32>) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    let packs = (values.len() / 4).saturating_sub(1);
    let mut i = t;
    while i < packs {
        for x in values.slice(1, values.len() - 1).get_pack(i) {
            sum += x;
        }
        i += BLOCK;
    }
    let left = 4 * packs + t;
    if left < values.len() {
        sum += values.get(left);
    }
    sums.set(t, sum);
}
