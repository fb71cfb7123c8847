//! Last step, for skewed input: groups of keys that are too crowded to be sorted by neighbours, each in one block.
//!
//! They are sorted from the last digit on, as `onesweep` does in its tiles: it takes as long for any keys. Only bits in
//! which the keys of a group differ make a digit, so there are few.

use super::{IN_SCRATCH, Key, Lists, GROUP_MAX, GROUP_SLOTS};
use crate::radix::steps::{block_scan, rank_row};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// Keys a thread.
const ITEMS: usize = 24;

/// Threads a block.
pub const REST_THREADS: u32 = GROUP_SLOTS / ITEMS as u32;

/// Blocks: as many as are at work at once, or as there would be groups of half the largest size.
pub const fn rest_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = n.div_ceil(GROUP_MAX / 2);
    if enough < multiprocessors { enough } else { multiprocessors }
}

/// Bits of a digit, and how many values they have.
const BITS: u32 = 8;
const VALUES: u32 = 1 << BITS;

/// Bytes of dynamic shared memory: the keys, and a counter and a set of lanes for each warp and digit.
pub const fn rest_shared(key_bytes: u32) -> u32 {
    GROUP_SLOTS * key_bytes + 2 * WARPS * VALUES * 4
}

const WARPS: u32 = REST_THREADS / warp::WARP;

shared!(DIFFER: [u32; 2]);
shared!(SUMS: [u32; WARPS]);

/// Sorts every crowded group on the `lists`, from where it is into `output`. `tally_bits`: how many can be tallied.
#[kernel(max_threads = REST_THREADS, min_blocks = 1, instances(
    radix_msd_buckets_rest: <u32>,
    radix_msd_buckets_rest_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_rest<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, tally_bits: u32,
) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let lists = Lists::new(lists, output.len(), tally_bits);
    let groups = lists.crowded();
    let size = size_of::<W>() as u32;
    let sorted = Shared::<W>::dynamic(0, GROUP_SLOTS);
    let counters = Shared::<u32>::dynamic(GROUP_SLOTS * size, WARPS * VALUES);
    let own = counters.slice(w * VALUES, VALUES);
    let lanes = Shared::<u32>::dynamic(GROUP_SLOTS * size + (WARPS + w) * VALUES * 4, VALUES);
    unroll::<{ (VALUES / warp::WARP) as usize }>(|i| lanes.set(i as u32 * warp::WARP + lane, 0));
    let mut g = thread::block_idx_x();
    while g < groups {
        let (start, count, array) = lists.crowded_group(g);
        let input = if array == IN_SCRATCH { scratch } else { output }.slice(start, count);
        // Slots past the end hold the largest key and stay behind all others, because every pass keeps the order.
        let at = |i: usize| w * (ITEMS as u32 * warp::WARP) + i as u32 * warp::WARP + lane;
        let mut keys = [W::LARGEST; ITEMS];
        unroll::<ITEMS>(|i| if at(i) < count {
            keys[i] = input.get_streaming(at(i));
        });
        let first = input.get(0);
        let mut differ = 0;
        unroll::<ITEMS>(|i| if at(i) < count {
            differ |= keys[i].bits() ^ first.bits();
        });
        thread::sync_threads(); // the bits of the group before have been read by all
        if t < 2 {
            DIFFER::view().set(t, 0);
        }
        thread::sync_threads(); // they are cleared before this group's are added
        let halves = [differ as u32, (differ >> 32) as u32];
        unroll::<2>(|h| if (h as u32) < W::HALVES {
            let half = warp::reduce_or(warp::FULL, halves[h]);
            if lane == 0 && half != 0 {
                DIFFER::view().fetch_or(h as u32, half, Relaxed, Scope::Block);
            }
        });
        thread::sync_threads(); // every warp's bits are there
        let mut differ = DIFFER::view().get(0) as u64 | (DIFFER::view().get(1) as u64) << 32;
        if differ == 0 {
            unroll::<ITEMS>(|i| sorted.set(at(i), keys[i]));
        }
        while differ != 0 {
            let shift = differ.trailing_zeros();
            let digit = |key: W| key.digit_at(shift, BITS);
            unroll::<{ (VALUES / warp::WARP) as usize }>(|i| own.set(i as u32 * warp::WARP + lane, 0));
            warp::sync_warp(warp::FULL); // the warp's counters are zero before its first row is counted
            let mut ranks = [0; ITEMS];
            unroll::<ITEMS>(|i| ranks[i] = rank_row(digit(keys[i]), own, lanes));
            thread::sync_threads(); // every warp has counted its keys before the counts are added up
            // Thread t is digit t.
            let mut total = 0;
            if t < VALUES {
                unroll::<{ WARPS as usize }>(|v| total += counters.get(v as u32 * VALUES + t));
            }
            let (mut next, _) = block_scan::<WARPS>(total, SUMS::view());
            if t < VALUES {
                unroll::<{ WARPS as usize }>(|v| {
                    let count = counters.get(v as u32 * VALUES + t);
                    counters.set(v as u32 * VALUES + t, next);
                    next += count;
                });
            }
            thread::sync_threads(); // every warp and digit knows its place
            unroll::<ITEMS>(|i| sorted.set(own.get(digit(keys[i])) + ranks[i], keys[i]));
            thread::sync_threads(); // all keys are in their places before they are read, and the counters free again
            differ &= !(((VALUES - 1) as u64) << shift);
            if differ != 0 {
                unroll::<ITEMS>(|i| keys[i] = sorted.get(at(i)));
            }
        }
        thread::sync_threads(); // the keys are in order, also where no pass was needed
        let to = output.slice(start, count);
        unroll::<ITEMS>(|i| {
            let place = i as u32 * REST_THREADS + t;
            if place < count {
                to.set(place, sorted.get(place).decode(order));
            }
        });
        g += thread::grid_dim_x();
    }
}
