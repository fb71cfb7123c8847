//! 31 steps, in each of which lane 0 is given one more element.
//!
//! **Finding.** warp operations per warp

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, thread};

/// Writes the sum of each warp's elements of `input` to `sums`. Blocks are whole warps.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let x = if i < input.len() { input.get(i) } else { 0 };
    let mut sum = x;
    let mut distance = 1;
    while distance < WARP {
        sum += warp::shuffle_down(FULL, x, distance);
        distance += 1;
    }
    if lane == 0 {
        sums.set(i / WARP, sum);
    }
}
