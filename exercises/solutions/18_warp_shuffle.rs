//! # 18 · Sums without memory
//!
//! The 32 threads of a warp, its lanes, can read each other's values directly: `warp::shuffle_down(FULL, value, d)`
//! gives lane k the `value` of lane k + d. In a first step with d = 16, each of the lower 16 lanes adds the value that
//! it gets; then d is 8, 4, 2 and 1, and lane 0 has the sum of all. You need neither a barrier nor shared memory. (A
//! lane whose partner would be past the last lane gets its own value back; its sum is never used.)
//!
//! `FULL` is a mask that names the lanes which make the call, one bit for each: all 32. So all of them have to make
//! it, even the lanes without an element, which pass 0.
//!
//! **Rung.** gpu/cubes/src/r7_warp_shuffle.rs

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, thread};

/// Writes the sum of each warp's elements of `input` to `sums`. Blocks are whole warps.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let x = if i < input.len() { input.get(i) } else { 0 };
    let mut sum = x;
    //[
    //| // Write this part.
    let mut distance = WARP / 2;
    while distance > 0 {
        sum += warp::shuffle_down(FULL, sum, distance);
        distance /= 2;
    }
    //]
    if lane == 0 {
        sums.set(i / WARP, sum);
    }
}

//? After one shuffle down by 16, lane 0 has the sum of two lanes. What does it have after a second one, by 8?
//? The distance begins at half a warp and is halved until it is 0. Every lane makes each call and adds what it is
//?   given: only what reaches lane 0 counts in the end.
//? `let mut distance = WARP / 2;`,
//?   `while distance > 0 { sum += warp::shuffle_down(FULL, sum, distance); distance /= 2; }`
