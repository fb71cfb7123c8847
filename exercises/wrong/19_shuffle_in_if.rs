//! Lanes without a partner do not make the call.
//!
//! **Finding.** warp-mask

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, thread};

/// Sorts the keys of each warp. Behind the last key, lanes have the largest key there is.
#[kernel]
pub fn sort_warps(keys: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let mut key = if i < keys.len() { keys.get(i) } else { u32::MAX };
    for phase in 0..WARP {
        let upper = (lane + phase) % 2 == 1;
        let partner = if upper { lane.wrapping_sub(1) } else { lane + 1 };
        if partner < WARP {
            let other = warp::shuffle(FULL, key, partner);
            key = if upper { key.max(other) } else { key.min(other) };
        }
    }
    if i < keys.len() {
        keys.set(i, key);
    }
}
