//! The first two launches: count how often each digit has each value, and compute the starts from the counts.

use super::{BITS, DIGITS, passes};
use crate::{Digits, block_scan, each_pack, strided};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// Threads per block of the histogram.
pub const HISTOGRAM_THREADS: u32 = 1024;

/// Bytes of dynamic shared memory of the histogram, for keys of any width.
pub const HISTOGRAM_SHARED: u32 = 32 << 10;

/// 16-byte loads in flight per thread.
const IN_FLIGHT: usize = 4;

/// Blocks of the histogram: two per SM, and none for fewer than 8192 keys.
pub const fn histogram_blocks(n: u32, multiprocessors: u32) -> u32 {
    let (most, enough) = (2 * multiprocessors, n.div_ceil(8192));
    if enough < most { enough } else { most }
}

/// Adds how often digit p of the keys has value d to `histogram[p · 256 + d]`, which was zero.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 2, instances(
    radix_onesweep_histogram: <u32>,
    radix_onesweep_histogram_u64: <u64>,
))]
pub fn radix_onesweep_histogram<W: Digits>(keys: Global<W>, order: u32, histogram: Global<u32>) {
    let (t, digits) = (thread::thread_idx_x(), passes(size_of::<W>() as u32));
    let counters = Shared::<u32>::dynamic(0, HISTOGRAM_SHARED / 4);
    // Each counter has several copies, chosen by lane, so that equal keys meet in several places instead of one.
    let copies = HISTOGRAM_SHARED / (digits * DIGITS * 4);
    let copy = warp::lane_id() % copies;
    grid::let_next_start(); // PDL: the next kernel may start now; it waits for this one before it reads the counts
    unroll::<{ (HISTOGRAM_SHARED / 16 / HISTOGRAM_THREADS) as usize }>(|i| {
        counters.set_pack(i as u32 * HISTOGRAM_THREADS + t, [0; 4]);
    });
    grid::wait_for_previous(); // PDL: launches before this one zeroed `histogram` and may have written `keys`
    thread::sync_threads(); // every counter is zero before the first key is counted

    let count = |key: W| {
        let key = key.encode(order);
        unroll::<8>(|p| {
            let p = p as u32;
            if p < digits {
                let counter = (p * DIGITS + key.digit(p * BITS, BITS)) * copies + copy;
                counters.fetch_add(counter, 1, Relaxed, Scope::Block);
            }
        });
    };
    let (index, packs) = (thread::index_1d(), keys.len() / W::PACK);
    each_pack::<IN_FLIGHT, W>(keys, index, packs, |pack| {
        unroll::<4>(|j| {
            if (j as u32) < W::PACK {
                count(pack.as_ref()[j]);
            }
        })
    });
    if index < keys.len() - packs * W::PACK {
        count(keys.get(packs * W::PACK + index));
    }
    thread::sync_threads(); // every key is counted before counters are read

    strided(t, digits * DIGITS, HISTOGRAM_THREADS, |i| {
        let mut sum = 0;
        unroll::<8>(|p| {
            if (p as u32) < copies / 4 {
                sum += counters.get_pack(i * (copies / 4) + p as u32).into_iter().sum::<u32>();
            }
        });
        if sum != 0 {
            histogram.fetch_add(i, sum, Relaxed, Scope::Device); // all blocks add to the same counts
        }
    });
}

shared!(SUMS: [u32; DIGITS / warp::WARP]);

/// Turns each digit's counts into starts, one block of 256 a digit, and makes everything ready for the passes: zeroes
/// `histogram` for the next sort and each pass's ticket.
#[kernel(max_threads = DIGITS)]
pub fn radix_onesweep_starts(histogram: Global<u32>, starts: Global<u32>, tickets: Global<u32>) {
    let (t, digit) = (thread::thread_idx_x(), thread::block_idx_x());
    grid::let_next_start(); // PDL: the first pass may start now; it waits for this kernel before it reads the starts
    grid::wait_for_previous(); // PDL: the histogram is complete
    let count = histogram.get(digit * DIGITS + t);
    let (start, _) = block_scan::<{ DIGITS / warp::WARP }>(count, SUMS::view());
    starts.set(digit * DIGITS + t, start);
    histogram.set(digit * DIGITS + t, 0);
    if t == 0 {
        tickets.set(digit, 0);
    }
}
