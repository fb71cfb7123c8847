//! The second launch: a block merges a part of all runs.

use super::splits::{Runs, halve, share, total};
use super::{BOUNDS, CUTS, DEALT, ENDS, FEW_KEYS, FIRSTS, MANY_KEYS, MOST_RUNS, PLACES, most_keys};
use crate::by_order::levels::merge_levels;
use crate::by_order::passes::end;
use crate::by_order::tile::Tile;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use rungs_common::order::Order;
use simt::math::mul_hi;
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, async_copy, grid, thread};

/// Merges runs of `run` keys, all of `input`, by small blocks, with `samples` samples per run. `state`: whether the
/// order was found to be none.
#[simt::device]
#[rustfmt::skip]
pub fn merge_few<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_runs::<K, C, { FEW_KEYS as usize }, true>(input, output, run, samples, state, order);
}

/// The same by large blocks.
#[simt::device]
#[rustfmt::skip]
pub fn merge_many<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_runs::<K, C, { MANY_KEYS as usize }, false>(input, output, run, samples, state, order);
}

#[simt::device]
#[rustfmt::skip]
fn merge_runs<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    let (t, threads, lane) = (thread::thread_idx_x(), thread::block_dim_x(), warp::lane_id());
    let w = t / WARP;
    let (places, dealt, bounds) = (PLACES::view(), DEALT::view(), BOUNDS::view());
    let (firsts, ends, cuts) = (FIRSTS::view(), ENDS::view(), CUTS::view());
    let (part, parts, n) = (thread::block_idx_x(), thread::grid_dim_x(), input.len());
    let runs = Runs { keys: input, run };
    let number = runs.number();
    let ways = number.next_power_of_two();
    let tile = Tile::new(threads, threads * N as u32);
    grid::wait_for_previous();
    grid::let_next_start();

    let sampled = load_samples(tile, runs, samples);
    merge_levels::<K, C, N, AHEAD>(tile, ways, places, dealt, order);
    // The places of both ends in each run, by the splitters: how many keys are before them, and how many with those
    // that are equivalent.
    let target = |end: u32| (end as u64 * n as u64 / parts as u64) as u32;
    let mut i = t;
    while i < 4 * number {
        let (which, r) = (i / number, i % number);
        let place = (target(part + which / 2) as u64 * sampled as u64 / n as u64) as u32;
        let splitter = tile.get(if place < sampled { place } else { sampled - 1 });
        let found = runs.position(r, [0, runs.len_of(r)], splitter, which % 2 == 1, order);
        bounds.set(which * MOST_RUNS + r, found);
        i += threads;
    }
    thread::sync_threads(); // the bounds are there; the samples are no longer needed
    if w < 2 {
        let (splits, end) = (if w == 0 { firsts } else { ends }, part + w);
        if end == 0 || end == parts {
            let mut i = lane;
            while i < number {
                splits.set(i, if end == 0 { 0 } else { runs.len_of(i) });
                i += WARP;
            }
        } else {
            let row = |i: u32| bounds.slice((2 * w + i) * MOST_RUNS, MOST_RUNS);
            share(row(0), row(1), number, target(end), splits);
        }
    }
    thread::sync_threads(); // the splits are there
    let (mut possible, mut i) = (true, t);
    while i < number {
        possible = possible && firsts.get(i) <= ends.get(i);
        cuts.set(i, ends.get(i));
        i += threads;
    }
    if !thread::sync_threads_and(possible) {
        end(state, 0, false);
        return; // the whole block
    }
    let (most, mut from) = (most_keys(ways, threads, N as u32), total(number, |i| firsts.get(i)));
    let mut left = total(number, |i| ends.get(i) - firsts.get(i));
    // One round, unless the samples told too little of the keys.
    loop {
        let mut len = left;
        while len > most {
            len = halve(runs, order);
        }
        load_part(tile, runs, ways, len);
        merge_levels::<K, C, N, AHEAD>(tile, ways, places, dealt, order);
        let mut i = t;
        while i < len {
            output.set(from + i, tile.get(i));
            i += threads;
        }
        if len == left {
            return; // the whole block
        }
        (from, left) = (from + len, left - len);
        thread::sync_threads(); // the tile and the cuts have been read
        let mut i = t;
        while i < number {
            firsts.set(i, cuts.get(i));
            cuts.set(i, ends.get(i));
            i += threads;
        }
        thread::sync_threads(); // the rest of the part is known
    }
}

/// Starts to load `samples` keys of each run but the last, which has fewer in proportion, into the tile, and waits for
/// them. How many there are; all threads see where those of each run are.
#[simt::device]
fn load_samples<K: Scalar>(tile: Tile<K>, runs: Runs<K>, samples: u32) -> u32 {
    let (t, threads, places) = (thread::thread_idx_x(), thread::block_dim_x(), PLACES::view());
    let (last, (slots, pad)) = (runs.number() - 1, tile.slots());
    let all = last * samples + runs.len_of(last) * samples / runs.run;
    let mut i = t;
    while i <= (last + 1).next_power_of_two() {
        places.set(i, if i <= last { i * samples } else { all });
        i += threads;
    }
    tile.surround(all);
    let mut i = t;
    while i < all {
        let (r, k) = (i / samples, i % samples);
        let its = if r < last { samples } else { all - r * samples };
        // The distances are even. Each run begins elsewhere: runs that are alike would have the same samples.
        let len = runs.len_of(r);
        let place = (k * len + mul_hi(r.wrapping_mul(0x9e37_79b9), len)) / its;
        let slot = if r % 2 == 0 { i } else { r * samples + its - 1 - k };
        async_copy::element(slots, pad + slot, runs.keys, r * runs.run + place, true);
        i += threads;
    }
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads(); // all threads see where the samples of each run are
    all
}

/// Starts to load what is between the firsts and the cuts, `len` keys in all, into the tile, and waits for it. All
/// threads see where the runs are.
#[simt::device]
fn load_part<K: Scalar>(tile: Tile<K>, runs: Runs<K>, ways: u32, len: u32) {
    let (places, firsts, cuts) = (PLACES::view(), FIRSTS::view(), CUTS::view());
    let (number, (slots, pad), lane) = (runs.number(), tile.slots(), warp::lane_id());
    let mut i = thread::thread_idx_x() / WARP;
    if i == 0 {
        let (mut first, mut before) = (0, 0);
        while first < ways {
            let i = first + lane;
            let its = if i < number { cuts.get(i) - firsts.get(i) } else { 0 };
            let through = before + warp_scan_inclusive::<Sum, u32>(its);
            if i < ways {
                places.set(i + 1, through);
            }
            before = warp::shuffle(FULL, through, WARP - 1);
            first += WARP;
        }
        if lane == 0 {
            places.set(0, 0);
        }
    }
    tile.surround(len);
    thread::sync_threads(); // the places of the runs are known
    // A warp for each run: mostly a block has more threads than a run has keys here.
    while i < number {
        let (place, its) = (places.get(i), places.get(i + 1) - places.get(i));
        let from = i * runs.run + firsts.get(i);
        let mut j = lane;
        while j < its {
            let slot = if i.is_multiple_of(2) { place + j } else { place + its - 1 - j };
            async_copy::element(slots, pad + slot, runs.keys, from + j, true);
            j += WARP;
        }
        i += thread::block_dim_x() / WARP;
    }
    async_copy::commit();
    async_copy::wait::<0>();
}
