//! Steps that several kernels share.

pub use rungs_radix::{Digits, block_scan};
use simt::{thread, warp};

/// The last index below `n` that satisfies `is_before`, which is true for 0 and false from some index on. All `threads`
/// of the block call it: each round, they test evenly spaced indices of the interval that is left.
#[simt::device]
#[track_caller]
pub fn find_last(threads: u32, n: u32, is_before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut span) = (0, n);
    while span > 1 {
        let stride = span.div_ceil(threads);
        let at = thread::thread_idx_x() * stride;
        let is_before = at < span && is_before(low + at);
        low += (thread::sync_threads_count(is_before) - 1) * stride;
        span = stride.min(n - low);
    }
    uniform(low)
}

/// `value`, which is the same in all lanes, in a form that tells the compiler so: it goes to one register per warp.
#[simt::device]
#[track_caller]
pub fn uniform(value: u32) -> u32 {
    warp::reduce_or(warp::FULL, value)
}

/// The zeros that a word begins with. By halves: by rust-cuda the result of `u64::leading_zeros` is undefined, see
/// docs/backends.md.
#[simt::device]
pub fn leading_zeros(word: u64) -> u32 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    if high != 0 { high.leading_zeros() } else { 32 + low.leading_zeros() }
}
