//! # 19 · Keys that never leave their threads
//!
//! The phases of exercise 11 again: compare 0-1, 2-3, 4-5 …, then 1-2, 3-4 …, as many phases as there are keys. This
//! time a warp sorts its 32 keys, one in a variable of each lane, without shared memory and without a barrier.
//!
//! In each phase a lane is the lower or the upper one of its pair. It reads its partner's key by `warp::shuffle(FULL,
//! key, partner)`, which returns the `key` of lane `partner`. The lower lane keeps the smaller key and the upper lane
//! the larger. All lanes make the call, even the first and the last lane in the phases in which they have no partner;
//! these keep their key. The lane number is taken modulo 32, so the call always returns a value.
//!
//! **Rung.** gpu/bubble/src/r3_warp_registers.rs

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, thread};

/// Sorts the keys of each warp. Behind the last key, lanes have the largest key there is.
#[kernel]
pub fn sort_warps(keys: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let mut key = if i < keys.len() { keys.get(i) } else { u32::MAX };
    for phase in 0..WARP {
        let upper = (lane + phase) % 2 == 1;
        // Write this part.
    }
    if i < keys.len() {
        keys.set(i, key);
    }
}
