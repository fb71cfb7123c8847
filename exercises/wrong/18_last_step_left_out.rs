//! The loop ends before the distance is 1.
//!
//! **Finding.** different

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, thread};

/// Writes the sum of each warp's elements of `input` to `sums`. Blocks are whole warps.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let x = if i < input.len() { input.get(i) } else { 0 };
    let mut sum = x;
    let mut distance = WARP / 2;
    while distance > 1 {
        sum += warp::shuffle_down(FULL, sum, distance);
        distance /= 2;
    }
    if lane == 0 {
        sums.set(i / WARP, sum);
    }
}
