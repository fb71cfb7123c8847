//! Bitonic networks in the registers of a warp. Lane l has the keys of places `l * K` to `l * K + K - 1`.
//!
//! A merge begins with the mirror image (place i against the last place of the run less i), so that all comparisons
//! put the smaller key first. Steps within a lane are functions, because every index of the array has to be a constant;
//! steps between lanes are loops, whose distance may be a variable.

use rungs_common::keys::Key;
use simt::unroll;
use simt::warp::{self, FULL, WARP};

/// The smaller key, or the larger one.
#[simt::device]
pub fn pick<W: Key>(a: W, b: W, smaller: bool) -> W {
    if smaller { a.min(b) } else { a.max(b) }
}

#[simt::device]
fn exchange<W: Key, const K: usize>(keys: &mut [W; K], i: usize, j: usize) {
    let (a, b) = (keys[i], keys[j]);
    (keys[i], keys[j]) = (a.min(b), a.max(b));
}

/// Compares places `DISTANCE` apart.
#[simt::device]
fn step<const DISTANCE: usize, W: Key, const K: usize>(keys: &mut [W; K]) {
    if DISTANCE < K {
        unroll::<K>(|i| {
            if i & DISTANCE == 0 {
                exchange(keys, i, i | DISTANCE);
            }
        });
    }
}

/// Compares the mirror images in runs of `RUN` places.
#[simt::device]
fn mirror<const RUN: usize, W: Key, const K: usize>(keys: &mut [W; K]) {
    if RUN <= K {
        unroll::<K>(|i| {
            if i < i ^ (RUN - 1) {
                exchange(keys, i, i ^ (RUN - 1));
            }
        });
    }
}

/// Sorts the keys of the lane by itself; no other lane takes part.
#[simt::device]
pub fn sort_lane<W: Key, const K: usize>(keys: &mut [W; K]) {
    macro_rules! merges {
        ($($run:literal: $($distance:literal)*;)*) => {$(
            mirror::<$run, W, K>(keys);
            // A run that is longer than the lane's has no steps either.
            if $run <= K {
                $(step::<$distance, W, K>(keys);)*
            }
        )*};
    }
    merges! { 2:; 4: 1; 8: 2 1; 16: 4 2 1; 32: 8 4 2 1; }
}

/// The steps at distances of `lanes`, `lanes / 2`, … 1 lanes, then those within the lane.
#[simt::device]
#[track_caller]
pub fn merge_halves<W: Key, const K: usize>(keys: &mut [W; K], lanes: u32) {
    let (lane, mut distance) = (warp::lane_id(), lanes);
    while distance > 0 {
        let smaller = lane & distance == 0;
        unroll::<K>(|i| keys[i] = pick(keys[i], warp::shuffle_xor(FULL, keys[i], distance), smaller));
        distance /= 2;
    }
    step::<16, W, K>(keys);
    step::<8, W, K>(keys);
    step::<4, W, K>(keys);
    step::<2, W, K>(keys);
    step::<1, W, K>(keys);
}

/// Sorts the keys of the warp, of which no others than those of the first `lanes` lanes need sorting: the others have
/// [`Key::LAST`]. All lanes make the call.
#[simt::device]
#[track_caller]
pub fn sort_warp<W: Key, const K: usize>(keys: &mut [W; K], lanes: u32) {
    sort_lane(keys);
    let (lane, mut run) = (warp::lane_id(), 2);
    while run <= WARP && run / 2 < lanes {
        let smaller = lane & (run / 2) == 0;
        if K == 1 {
            keys[0] = pick(keys[0], warp::shuffle_xor(FULL, keys[0], run - 1), smaller);
        }
        unroll::<K>(|i| {
            if i < K / 2 {
                let upper = warp::shuffle_xor(FULL, keys[K - 1 - i], run - 1);
                let lower = warp::shuffle_xor(FULL, keys[i], run - 1);
                keys[i] = pick(keys[i], upper, smaller);
                keys[K - 1 - i] = pick(keys[K - 1 - i], lower, smaller);
            }
        });
        merge_halves(keys, run / 4);
        run *= 2;
    }
}
