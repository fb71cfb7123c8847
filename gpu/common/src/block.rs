//! Operations of a whole block.

use crate::operator::{Sum, warp_scan_inclusive};
use simt::{Shared, thread, warp};

/// The sum of the values of the threads before, of as many warps as there are words in `sums`; other threads bring 0.
/// All threads of the block make the call.
#[simt::device]
#[track_caller]
pub fn block_scan_exclusive(value: u32, sums: Shared<u32>) -> u32 {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let inclusive = warp_scan_inclusive::<Sum, u32>(value);
    if lane == warp::WARP - 1 && t / warp::WARP < sums.len() {
        sums.set(t / warp::WARP, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let below = lane < t / warp::WARP && lane < sums.len();
    warp::reduce_add(warp::FULL, if below { sums.get(lane) } else { 0 }) + inclusive - value
}
