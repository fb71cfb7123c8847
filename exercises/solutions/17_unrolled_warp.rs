//! # 17 · Find the bug: the last warp
//!
//! When 64 sums are left, one warp can finish alone, and the other warps of the block need not wait at barriers. So the
//! last steps are in an `if t < 32`, without `sync_threads`. Many programs from before 2017 had no barrier at all
//! there, because the lanes of a warp ran in lockstep then. Since compute capability 7.0 each lane may advance on its
//! own.
//!
//! `warp::sync_warp(FULL)` waits for the lanes of the warp, and makes their writes visible to each other. The kernel
//! below lacks it. One call is not enough: which lanes read a word before it is written, and which read it after?
//!
//! **Rung.** gpu/reduce/src/r4_unrolled_warp.rs

use simt::warp::{self, FULL};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

shared!(PARTS: [u32; BLOCK]);

/// Writes the sum of each block's elements of `input` to `sums`. The length of `input` is a multiple of `BLOCK`.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (t, parts) = (thread::thread_idx_x(), PARTS::view());
    parts.set(t, input.get(thread::index_1d()));
    thread::sync_threads(); // all parts are there before other threads add them
    if t < 64 {
        parts.set(t, parts.get(t) + parts.get(t + 64));
    }
    thread::sync_threads(); // 64 sums are left, and complete
    if t < 32 {
        let mut distance = 32;
        while distance > 0 {
            //[
            //| parts.set(t, parts.get(t) + parts.get(t + distance));
            let sum = parts.get(t) + parts.get(t + distance);
            // All lanes have read before one of them writes.
            warp::sync_warp(FULL);
            parts.set(t, sum);
            // All lanes have written before one of them reads in the next step.
            warp::sync_warp(FULL);
            //]
            distance /= 2;
        }
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}

//? Lane 0 reads the word of lane `distance`. Which lane writes that word in the same step, and what says which of them
//?   comes first?
//? Divide the line in two: first every lane reads and adds, then every lane writes. The lanes wait between the two, and
//?   before the next step reads.
//? `let sum = parts.get(t) + parts.get(t + distance);`, `warp::sync_warp(FULL);`, `parts.set(t, sum);`,
//?   `warp::sync_warp(FULL);`.
