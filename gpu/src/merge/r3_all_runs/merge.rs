//! The second launch: merges all runs.

use super::splits::{position, share, total};
use super::{FEW_BLOCK, FEW_KEYS, MANY_BLOCK, MANY_KEYS, MOST_RUNS, TILE_BLOCK, TILE_KEYS, TILE_MIN_BLOCKS, most_keys};
use crate::merge::passes::end;
use crate::merge::r1_merge_path::sort_tile;
use crate::merge::tile::{Pair, Tile, merge_level};
use crate::operator::{Sum, warp_scan_inclusive};
use crate::order::{Greater, Less, LowHalfDown, Order};
use simt::math::mul_hi;
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, async_copy, grid, kernel, shared, thread};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = TILE_BLOCK, min_blocks = TILE_MIN_BLOCKS, instances(
    merge_all_runs_tile: <u32, Less>, merge_all_runs_tile_u64: <u64, Less>,
    merge_all_runs_tile_greater: <u32, Greater>, merge_all_runs_tile_low: <u32, LowHalfDown>,
))]
pub fn merge_all_runs_tile<K: Scalar, C: Order<K>>(input: Global<K>, output: Global<K>, state: Global<u32>, order: C) {
    tile::<K, C, false>(input, output, state, order);
}

/// What the kernels of tiles do.
#[inline(always)]
#[rustfmt::skip]
pub fn tile<K: Scalar, C: Order<K>, const STABLE: bool>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    sort_tile::<K, C, { TILE_KEYS as usize }, STABLE, false>(input, output, state, order);
}

/// Merges all runs, of few keys.
#[kernel(max_threads = FEW_BLOCK, instances(
    merge_all_runs_few: <u32, Less>, merge_all_runs_few_u64: <u64, Less>,
    merge_all_runs_few_greater: <u32, Greater>, merge_all_runs_few_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_all_runs_few<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_few(input, output, run, samples, state, order);
}

/// What the kernel does.
#[inline(always)]
#[rustfmt::skip]
pub fn merge_few<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_runs::<K, C, { FEW_KEYS as usize }, true>(input, output, run, samples, state, order);
}

/// Merges all runs, of many keys.
#[kernel(max_threads = MANY_BLOCK, instances(
    merge_all_runs_many: <u32, Less>, merge_all_runs_many_u64: <u64, Less>,
    merge_all_runs_many_greater: <u32, Greater>, merge_all_runs_many_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_all_runs_many<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_many(input, output, run, samples, state, order);
}

/// What the kernel does.
#[inline(always)]
#[rustfmt::skip]
pub fn merge_many<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, samples: u32, state: Global<u32>, order: C,
) {
    merge_runs::<K, C, { MANY_KEYS as usize }, false>(input, output, run, samples, state, order);
}

shared!(PLACES: [u32; MOST_RUNS + 1]);
shared!(DEALT: [u32; MOST_RUNS]);
shared!(BOUNDS: [u32; 4 * MOST_RUNS]);
shared!(FIRSTS: [u32; MOST_RUNS]);
shared!(ENDS: [u32; MOST_RUNS]);
shared!(CUTS: [u32; MOST_RUNS]);

/// Merges the runs in the tile, every second of which descends; all threads see their `places`. `ways`: a power of
/// two, at least the runs. All threads see the result.
#[inline(always)]
fn merge_tile<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(tile: Tile<K>, ways: u32, order: C) {
    let (t, lane, places, dealt) = (thread::thread_idx_x(), warp::lane_id(), PLACES::view(), DEALT::view());
    // The threads are dealt out to the pairs of runs of each level, each pair as many as its keys need. A warp does
    // that for a level.
    let level = t / WARP;
    if level < 7 && 1 << level < ways {
        let half = 1 << level;
        let (pairs, row) = (ways / (2 * half), ways - ways / half);
        let (mut first, mut before) = (0, 0);
        while first < pairs {
            let pair = first + lane;
            let there = pair < pairs;
            let len = if there { places.get((pair + 1) * 2 * half) - places.get(pair * 2 * half) } else { 0 };
            let threads = len.div_ceil(N as u32);
            let through = before + warp_scan_inclusive::<Sum, u32>(threads);
            if there {
                dealt.set(row + pair, through - threads);
            }
            before = warp::shuffle(FULL, through, WARP - 1);
            first += WARP;
        }
    }
    thread::sync_threads(); // the threads are dealt out; the tile is whole
    let mut half = 1;
    while half < ways {
        let (pairs, row) = (ways / (2 * half), ways - ways / half);
        let (mut pair, mut step) = (0, pairs / 2);
        while step > 0 {
            pair += if dealt.get(row + pair + step) <= t { step } else { 0 };
            step /= 2;
        }
        let [base, middle, end] = [0, 1, 2].map(|i| places.get((2 * pair + i) * half));
        let diagonal = (t - dealt.get(row + pair)) * N as u32;
        let pair_of = Pair { base, a: middle - base, b: end - middle, diagonal };
        merge_level::<K, C, N, AHEAD>(tile, pair_of, pair & 1 != 0, order);
        thread::sync_threads(); // the runs are whole before other threads read them
        half *= 2;
    }
}

/// What the kernels do.
#[inline(always)]
fn merge_runs<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(
    input: Global<K>, output: Global<K>, run: u32, each: u32, state: Global<u32>, order: C,
) {
    let (t, threads, lane, w) = (thread::thread_idx_x(), thread::block_dim_x(), warp::lane_id(), thread::thread_idx_x() / WARP);
    let (part, parts, n) = (thread::block_idx_x(), thread::grid_dim_x(), input.len());
    let (places, bounds, firsts, ends, cuts) =
        (PLACES::view(), BOUNDS::view(), FIRSTS::view(), ENDS::view(), CUTS::view());
    let runs = n.div_ceil(run);
    let ways = runs.next_power_of_two();
    let len_of = |i: u32| if (i + 1) * run < n { run } else { n - i * run };
    let tile = Tile::new(threads, threads * N as u32);
    grid::wait_for_previous();
    grid::let_next_start();

    // A sample of each run, at even distances, is merged.
    let last = n - (runs - 1) * run;
    let samples = (runs - 1) * each + last * each / run;
    let mut i = t;
    while i <= ways {
        places.set(i, if i < runs { i * each } else { samples });
        i += threads;
    }
    tile.surround(samples);
    let (slots, pad) = tile.slots();
    let mut i = t;
    while i < samples {
        let r = i / each;
        let (k, first) = (i % each, r * each);
        let (len, its) = if r + 1 < runs { (run, each) } else { (last, samples - first) };
        // Each run begins elsewhere: runs that are alike would have the same samples.
        let place = (k * len + mul_hi(r.wrapping_mul(0x9e37_79b9), len)) / its;
        let slot = if r & 1 == 0 { i } else { first + its - 1 - k };
        async_copy::element(slots, pad + slot, input, r * run + place, true);
        i += threads;
    }
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads(); // the sample is there, and where its runs are
    merge_tile::<K, C, N, AHEAD>(tile, ways, order);

    // Both ends: their places in each run by the splitters.
    let target = |end: u32| (end as u64 * n as u64 / parts as u64) as u32;
    let mut i = t;
    while i < 4 * runs {
        let (which, r) = (i / runs, i % runs);
        let place = (target(part + which / 2) as u64 * samples as u64 / n as u64) as u32;
        let splitter = tile.get(if place < samples { place } else { samples - 1 });
        let keys = input.slice(r * run, len_of(r));
        bounds.set(which * MOST_RUNS + r, position(keys, [0, len_of(r)], splitter, which & 1 != 0, order));
        i += threads;
    }
    thread::sync_threads(); // the bounds are there; the sample is no longer needed
    if w < 2 {
        let splits = if w == 0 { firsts } else { ends };
        if part + w == 0 || part + w == parts {
            let mut i = lane;
            while i < runs {
                splits.set(i, if w == 0 { 0 } else { len_of(i) });
                i += WARP;
            }
        } else {
            let row = |i: u32| bounds.slice((2 * w + i) * MOST_RUNS, MOST_RUNS);
            share(row(0), row(1), runs, target(part + w), splits);
        }
    }
    thread::sync_threads(); // the splits are there
    let mut possible = true;
    let mut i = t;
    while i < runs {
        possible = possible && firsts.get(i) <= ends.get(i);
        cuts.set(i, ends.get(i));
        i += threads;
    }
    if !thread::sync_threads_and(possible) {
        end(state, 0, false);
        return; // the whole block
    }
    let (most, mut from) = (most_keys(ways, threads, N as u32), total(|i| firsts.get(i), runs));
    let mut left = total(|i| ends.get(i) - firsts.get(i), runs);
    loop {
        let mut len = left;
        while len > most {
            len = halve(input, run, runs, len_of, order);
        }
        if w == 0 {
            let (mut first, mut before) = (0, 0);
            while first < ways {
                let i = first + lane;
                let its = if i < runs { cuts.get(i) - firsts.get(i) } else { 0 };
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
        thread::sync_threads(); // the places are known
        let mut i = w;
        while i < runs {
            let (place, its) = (places.get(i), places.get(i + 1) - places.get(i));
            let first = i * run + firsts.get(i);
            let mut j = lane;
            while j < its {
                let slot = if i & 1 == 0 { place + j } else { place + its - 1 - j };
                async_copy::element(slots, pad + slot, input, first + j, true);
                j += WARP;
            }
            i += threads / WARP;
        }
        async_copy::commit();
        async_copy::wait::<0>();
        // The barrier in the merge makes the tile whole.
        merge_tile::<K, C, N, AHEAD>(tile, ways, order);
        let mut i = t;
        while i < len {
            output.set(from + i, tile.get(i));
            i += threads;
        }
        if len == left {
            return;
        }
        (from, left) = (from + len, left - len);
        thread::sync_threads(); // the tile and the cuts have been read
        let mut i = t;
        while i < runs {
            firsts.set(i, cuts.get(i));
            cuts.set(i, ends.get(i));
            i += threads;
        }
        thread::sync_threads(); // the next runs are known
    }
}

/// Cuts the rest of the part where the longest run is cut in half. How many keys are before the cut.
#[inline(always)]
fn halve<K: Scalar, C: Order<K>>(
    input: Global<K>, run: u32, runs: u32, len_of: impl Fn(u32) -> u32, order: C,
) -> u32 {
    let (firsts, cuts, lane) = (FIRSTS::view(), CUTS::view(), warp::lane_id());
    let mut longest = 0;
    let mut i = lane;
    while i < runs {
        longest = longest.max((cuts.get(i) - firsts.get(i)) * MOST_RUNS + i);
        i += WARP;
    }
    let longest = warp::reduce_max(FULL, longest);
    let (r, its) = (longest % MOST_RUNS, longest / MOST_RUNS);
    let middle = firsts.get(r) + its / 2;
    let key = input.get(r * run + middle);
    thread::sync_threads(); // all warps have found the longest run
    let mut i = thread::thread_idx_x();
    while i < runs {
        let keys = input.slice(i * run, len_of(i));
        let cut = position(keys, [firsts.get(i), cuts.get(i)], key, i < r, order);
        cuts.set(i, if i == r { middle } else { cut });
        i += thread::block_dim_x();
    }
    thread::sync_threads(); // the cuts are there
    total(|i| cuts.get(i) - firsts.get(i), runs)
}
