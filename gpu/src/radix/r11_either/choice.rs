//! Which way many keys go, once they are counted by their top bits.

use crate::radix::msd::STARTS_THREADS;
use simt::{Global, shared, thread, unroll, warp};

const WARPS: u32 = STARTS_THREADS / warp::WARP;

/// Where the limits lie for keys whose buckets are told apart in two partitions. The share of keys in buckets that are
/// too large, from which on keys go from the last digit: one in so many.
#[cfg(not(target_os = "cuda"))]
const SHARE: u32 = 4;

/// Keys go to buckets nevertheless if so few buckets have keys: each is split once, or is of one value.
#[cfg(not(target_os = "cuda"))]
const FEW: u32 = 16;

/// The limits that the choice goes by.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Keys go from the last digit if so many are in buckets that are too large,
    pub least: u32,
    /// unless no more buckets than this have keys,
    pub few: u32,
    /// none of them more keys than this.
    pub most: u32,
}

#[cfg(not(target_os = "cuda"))]
impl Choice {
    /// For `n` keys. With one partition, of few keys, to split a single bucket takes as long as all passes.
    pub const fn new(n: u32, two_partitions: bool) -> Self {
        if two_partitions {
            Self { least: n / SHARE, few: FEW, most: n - n / SHARE }
        } else {
            Self { least: 1, few: 0, most: 0 }
        }
    }
}

shared!(FOUND: [u32; 3 * WARPS]);

/// Whether keys go from the last digit, by the numbers of keys in all buckets, of which those of more than `bucket_max`
/// keys are too large. All threads of a block of [`STARTS_THREADS`] call it, and get the same.
#[inline(always)]
#[track_caller]
pub fn goes_from_last(histogram: Global<u32>, bucket_max: u32, choice: Choice) -> bool {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (mut crowded, mut largest, mut used) = (0, 0, 0);
    let mut i = t;
    while i < histogram.len() / 4 {
        let four = histogram.get_pack(i);
        unroll::<4>(|j| {
            crowded += if four[j] > bucket_max { four[j] } else { 0 };
            largest = largest.max(four[j]);
            used += (four[j] != 0) as u32;
        });
        i += STARTS_THREADS;
    }
    let of_warp = [
        warp::reduce_add(warp::FULL, crowded),
        warp::reduce_max(warp::FULL, largest),
        warp::reduce_add(warp::FULL, used),
    ];
    if lane == 0 {
        unroll::<3>(|k| FOUND::view().set(k as u32 * WARPS + t / warp::WARP, of_warp[k]));
    }
    thread::sync_threads(); // what every warp has found is there before it is put together
    let found = |k: u32| if lane < WARPS { FOUND::view().get(k * WARPS + lane) } else { 0 };
    let crowded = warp::reduce_add(warp::FULL, found(0));
    let largest = warp::reduce_max(warp::FULL, found(1));
    let used = warp::reduce_add(warp::FULL, found(2));
    crowded > 0 && crowded >= choice.least && (used > choice.few || largest > choice.most)
}
