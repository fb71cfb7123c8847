//! Digits of 8 bits: how often each value occurs.

use super::steps::Digits;
pub use rungs_radix::r7_onesweep::{
    AGGREGATE, BITS, DIGITS, HISTOGRAM_THREADS, LAST_EPOCH, PREFIX, histogram_blocks, is_published, passes, state,
};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, thread, unroll, warp};

/// 16-byte loads that a thread has in flight.
const PACKS: u32 = 4;

/// Copies of each counter, chosen by lane: keys that are all alike then share that number of counters.
const fn copies(digits: u32, shared: u32) -> u32 {
    shared / (digits * DIGITS * 4)
}

/// Adds how often digit p of the keys has value d to `histogram[p · 256 + d]`, in blocks of [`HISTOGRAM_THREADS`] with
/// counters of `shared` bytes. `go_on` is called once the grid before has ended; if it returns false, the same for all
/// threads of a block, nothing is counted.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn count_digits<W: Digits>(
    keys: Global<W>, order: u32, histogram: Global<u32>, shared: u32, go_on: impl FnOnce() -> bool,
) {
    grid::let_next_start();
    clear_counters::<HISTOGRAM_THREADS>(shared);
    grid::wait_for_previous(); // `histogram` was zeroed, and `keys` may have been written, by grids before
    if !go_on() {
        return;
    }
    let digits = passes(size_of::<W>() as u32);
    count_cleared::<W, HISTOGRAM_THREADS>(keys, order, digits, histogram, shared, thread::grid_dim_x());
}

/// Zeroes `shared` bytes of counters, a whole number of packs per thread.
#[simt::device]
pub fn clear_counters<const THREADS: u32>(shared: u32) {
    let counters = Shared::<u32>::dynamic(0, shared / 4);
    unroll::<8>(|i| {
        if i as u32 * THREADS < counters.len() / 4 {
            counters.set_pack(i as u32 * THREADS + thread::thread_idx_x(), [0; 4]);
        }
    });
}

/// [`count_digits`] of the last `digits` digits, in the first `blocks` blocks of `THREADS`, which have cleared the
/// counters; the other blocks do not call it.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn count_cleared<W: Digits, const THREADS: u32>(
    keys: Global<W>, order: u32, digits: u32, histogram: Global<u32>, shared: u32, blocks: u32,
) {
    let (t, copies) = (thread::thread_idx_x(), copies(digits, shared));
    let (index, stride) = (thread::block_idx_x() * THREADS + t, blocks * THREADS);
    let counters = Shared::<u32>::dynamic(0, shared / 4);
    thread::sync_threads(); // every counter is zero before the first key is counted
    let copy = warp::lane_id() % copies;
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
    let count_pack = |pack: W::Pack| {
        unroll::<4>(|j| {
            if (j as u32) < W::PACK {
                count(pack.as_ref()[j]);
            }
        })
    };
    let packs = keys.len() / W::PACK;
    let mut i = index;
    while i + (PACKS - 1) * stride < packs {
        let mut loaded = [W::Pack::default(); PACKS as usize];
        // Not by the path for what nobody writes: the grid before may still have been writing when this one started.
        unroll::<{ PACKS as usize }>(|p| loaded[p] = keys.get_pack_streaming(i + p as u32 * stride));
        unroll::<{ PACKS as usize }>(|p| count_pack(loaded[p]));
        i += PACKS * stride;
    }
    while i < packs {
        count_pack(keys.get_pack_streaming(i));
        i += stride;
    }
    if index < keys.len() - packs * W::PACK {
        count(keys.get(packs * W::PACK + index));
    }
    thread::sync_threads(); // every key is counted before counters are read
    let mut i = t;
    while i < digits * DIGITS {
        let mut sum = 0;
        unroll::<8>(|p| {
            if (p as u32) < copies / 4 {
                let [a, b, c, d] = counters.get_pack(i * (copies / 4) + p as u32);
                sum += a + b + c + d;
            }
        });
        if sum != 0 {
            histogram.fetch_add(i, sum, Relaxed, Scope::Device); // all blocks add to the same counts
        }
        i += THREADS;
    }
}

/// How many keys with the digit of this thread the `before` tiles before number `tile` have. It asks for the states of
/// several tiles at once: while the first of them is on its way, so are the others.
#[simt::device]
pub fn look_back(states: Global<u64>, tile: u32, before: u32, epoch: u32) -> u32 {
    /// States that a thread asks for at once.
    const BATCH: usize = 4;
    let (mut sum, mut seen) = (0, 0);
    while seen < before {
        let mut batch = [0; BATCH];
        let at = tile - 1 - seen;
        unroll::<BATCH>(|j| {
            if seen + (j as u32) < before {
                // Count and state are one word, so nothing else has to be ordered.
                batch[j] = states.load((at - j as u32) * DIGITS + thread::thread_idx_x(), Relaxed, Scope::Device);
            }
        });
        let mut there = true;
        unroll::<BATCH>(|j| {
            there &= is_published(batch[j], epoch);
            if there {
                sum += batch[j] as u32;
                seen += 1;
                if batch[j] & PREFIX != 0 {
                    there = false;
                    seen = before;
                }
            }
        });
    }
    sum
}
