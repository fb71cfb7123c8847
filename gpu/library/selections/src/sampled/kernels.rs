//! The three kernels: sample, filter, select.

use super::digits::{BINS, Digits, Search, cleared_counts, count};
use super::{BLOCK, FILTER_BLOCK, SAMPLES};
use rungs_common::aligned::Aligned;
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared, clock, grid, kernel, math, shared, thread, unroll};

/// Words of `control`, each in 128 bytes of its own: the candidates so far,
const KEPT: u32 = 0;
/// the keys equal to the pivot,
const EQUAL: u32 = 32;
/// the blocks that have arrived at a barrier of the grid,
const ARRIVED: u32 = 64;
/// the places of the output that are taken,
const TAKEN: u32 = 96;
/// the pivot, of up to 8 bytes,
const PIVOT: u32 = 128;
/// and for each digit how often its values occur.
const COUNTS: u32 = 160;

/// Words of `control`.
pub const fn control<W: Digits>() -> u32 {
    COUNTS + W::DIGITS * BINS
}

/// The pivot in `control`.
#[simt::device]
fn pivot<W: Digits>(control: Global<u32>) -> Global<W> {
    control.slice(PIVOT, 2).cast::<W>().slice(0, 1)
}

/// Clears `control` and writes the pivot to it: of [`SAMPLES`] keys at places that look random, the one of rank `rank`.
/// One block.
#[kernel(max_threads = BLOCK, instances(top_k_sampled_pivot_u32: <u32>, top_k_sampled_pivot_u64: <u64>))]
pub fn top_k_sampled_pivot<W: Digits>(input: Global<W>, order: u32, rank: u32, control: Global<u32>) {
    const EACH: usize = (SAMPLES / BLOCK) as usize;
    // The filter may start, and load its first keys. It waits for this grid before it touches `control`.
    grid::let_next_start();
    let (t, mut samples) = (thread::thread_idx_x(), [W::default(); EACH]);
    unroll::<EACH>(|i| {
        let place = math::mul_hi(scramble(i as u32 * BLOCK + t), input.len());
        samples[i] = input.get(place).encode(order);
    });
    let mut i = t;
    while i < control.len() {
        control.set(i, 0);
        i += BLOCK;
    }
    let (mut search, mut number) = (Search { word: W::default(), rank }, 0);
    while number < W::DIGITS {
        let counts = cleared_counts();
        unroll::<EACH>(|i| count(counts, samples[i].digit(number), samples[i].agrees(search.word, number)));
        thread::sync_threads(); // all samples are counted before the counts are read
        search = search.narrow(counts, number);
        number += 1;
    }
    if t == 0 {
        pivot(control).set(0, search.word);
    }
}

/// A bijection of words without visible pattern: the last steps of MurmurHash3.
#[simt::device]
fn scramble(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Loads of 16 bytes that a thread has in flight; as many keys of the next round are in flight while it tests these.
const LOADS: usize = 4;

/// Bytes of a block's candidates in shared memory. More go to global memory one warp at a time.
pub const STAGE_BYTES: u32 = 24 << 10;

shared!(
    /// The block's candidates, and where they begin in global memory.
    STAGED: [u32; 2]
);
shared!(
    /// The keys of the block that equal the pivot.
    EQUAL_HERE: [u32; 1]
);

/// Blocks of [`top_k_sampled_filter`] for `n` keys of `bytes` bytes.
pub const fn filter_grid(n: u32, bytes: u32, multiprocessors: u32) -> u32 {
    let (needed, most) = (n.div_ceil(FILTER_BLOCK * LOADS as u32 * (16 / bytes)), 2 * multiprocessors);
    if needed < most { needed } else { most }
}

/// Writes the words of all keys above the pivot to `candidates`, in any order, and their number and that of the keys
/// equal to the pivot to `control`. If there is no room for all, only the number is right.
#[kernel(max_threads = FILTER_BLOCK, instances(top_k_sampled_filter_u32: <u32>, top_k_sampled_filter_u64: <u64>))]
pub fn top_k_sampled_filter<W: Digits>(input: Global<W>, order: u32, candidates: Global<W>, control: Global<u32>) {
    grid::let_next_start();
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (staged, equal_here) = (STAGED::view(), EQUAL_HERE::view());
    let stage = Shared::<W>::dynamic(0, STAGE_BYTES / size_of::<W>() as u32);
    if t == 0 {
        staged.set(0, 0);
        equal_here.set(0, 0);
    }
    thread::sync_threads(); // the counters are zero before the first key is counted

    // What stands for a key that is not there. It is never above the pivot. Where the pivot is the lowest word itself
    // it counts as equal: then all keys are at least the pivot, and how many are equal does not matter.
    let mut absent = W::Pack::default();
    unroll::<4>(|j| {
        if (j as u32) < W::PACK {
            absent.as_mut()[j] = W::default().decode(order);
        }
    });
    let keys = Aligned::new(input);
    let (packs, body) = (keys.packs(), keys.body());
    let load = |first: u32| {
        let mut loaded = [absent; LOADS];
        unroll::<LOADS>(|l| {
            let at = first + l as u32 * FILTER_BLOCK + t;
            loaded[l] = body.get_pack_read_only_or(at, at < packs, absent);
        });
        loaded
    };
    let (mut first, stride) = (thread::block_idx_x() * round(), thread::grid_dim_x() * round());
    let mut loaded = load(first);
    grid::wait_for_previous(); // the pivot is there, and the counters of `control` are zero
    let pivot: W = pivot(control).get(0);

    let mut equal = 0;
    let mut keep = |word: W| {
        let lanes = warp::ballot(FULL, word > pivot);
        equal += (word == pivot) as u32;
        if lanes == 0 {
            return;
        }
        let mut place = 0;
        if lane == 0 {
            place = staged.fetch_add(0, lanes.count_ones(), Relaxed, Scope::Block);
        }
        place = warp::shuffle(FULL, place, 0) + (lanes & ((1 << lane) - 1)).count_ones();
        if word > pivot {
            if place < stage.len() {
                stage.set(place, word);
            } else {
                let place = control.fetch_add(KEPT, 1, Relaxed, Scope::Device);
                if place < candidates.len() {
                    candidates.set(place, word);
                }
            }
        }
    };
    while first < packs {
        let next = load(first + stride);
        unroll::<LOADS>(|l| {
            let (mut words, mut top) = ([W::default(); 4], W::default());
            unroll::<4>(|j| {
                if (j as u32) < W::PACK {
                    words[j] = loaded[l].as_ref()[j].encode(order);
                    top = top.max(words[j]);
                }
            });
            // Nearly all packs have nothing to keep: one vote for the warp's.
            if warp::any(FULL, top >= pivot) {
                unroll::<4>(|j| {
                    if (j as u32) < W::PACK {
                        keep(words[j]);
                    }
                });
            }
        });
        (first, loaded) = (first + stride, next);
    }
    if thread::block_idx_x() == 0 && t < WARP {
        keep(keys.edge(t).map_or(W::default(), |key| key.encode(order)));
    }
    let equal = warp::reduce_add(FULL, equal);
    if lane == 0 && equal > 0 {
        equal_here.fetch_add(0, equal, Relaxed, Scope::Block);
    }
    thread::sync_threads(); // all candidates are staged and counted before one thread makes room for them
    let here = staged.get(0).min(stage.len());
    if t == 0 {
        staged.set(1, if here > 0 { control.fetch_add(KEPT, here, Relaxed, Scope::Device) } else { 0 });
        if equal_here.get(0) > 0 {
            control.fetch_add(EQUAL, equal_here.get(0), Relaxed, Scope::Device);
        }
    }
    thread::sync_threads(); // the room is known to all
    let (mut i, start) = (t, staged.get(1));
    while i < here && start + i < candidates.len() {
        candidates.set(start + i, stage.get(i));
        i += FILTER_BLOCK;
    }
}

/// Packs that a block takes in a round.
const fn round() -> u32 {
    FILTER_BLOCK * LOADS as u32
}

/// Keys of 4 bytes of a thread in a round of the selection; of 8 bytes half as many, or the registers spill.
const ITEMS: usize = 16;

/// Calls `f` with the numbers of a thread's keys in a round.
#[simt::device]
#[track_caller]
fn items<W>(mut f: impl FnMut(usize)) {
    unroll::<ITEMS>(|i| {
        if i < ITEMS * 4 / size_of::<W>() {
            f(i);
        }
    });
}

/// Most keys of `bytes` bytes that one block selects from; more are worth barriers of the grid.
pub const fn one_block(bytes: u32) -> u32 {
    BLOCK * ITEMS as u32 * 4 / bytes
}

/// Keys that are worth a block.
const PER_BLOCK: u32 = 4 * BLOCK;

/// Blocks of [`top_k_sampled_select`] for `n` keys of `bytes` bytes: no more than are resident together.
pub const fn select_grid(n: u32, bytes: u32, multiprocessors: u32) -> u32 {
    let needed = if n <= one_block(bytes) { 1 } else { n.div_ceil(PER_BLOCK) };
    if needed < multiprocessors { needed } else { multiprocessors }
}

/// Writes the `k` largest keys to `output`, in any order, and the k-th to `nth`; either may be empty. It selects from
/// the candidates, if there are enough and all had room, otherwise from the whole input. Without candidates at all,
/// `control` is zero before.
#[kernel(max_threads = BLOCK, instances(top_k_sampled_select_u32: <u32>, top_k_sampled_select_u64: <u64>))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn top_k_sampled_select<W: Digits>(
    input: Global<W>,
    order: u32,
    candidates: Global<W>,
    control: Global<u32>,
    k: u32,
    output: Global<W>,
    nth: Global<W>,
) {
    let (t, lane, block) = (thread::thread_idx_x(), warp::lane_id(), thread::block_idx_x());
    let (kept, equal, pivot) = (control.get(KEPT), control.get(EQUAL), pivot::<W>(control).get(0));
    // Only then the k largest are candidates and copies of the pivot. With the pivot the lowest word, `equal` may be
    // more than there are.
    let is_filtered = !candidates.is_empty() && kept <= candidates.len() && (kept >= k || equal >= k - kept);
    let (first, stride) = (block * BLOCK + t, thread::grid_dim_x() * BLOCK);
    if is_filtered && kept < k {
        // All candidates, and copies of the pivot.
        let mut i = first;
        while i < output.len() {
            output.set(i, if i < kept { candidates.get(i) } else { pivot }.decode(order));
            i = i.saturating_add(stride);
        }
        if first == 0 && !nth.is_empty() {
            nth.set(0, pivot.decode(order));
        }
        return;
    }
    let len = if is_filtered { kept } else { input.len() };
    let blocks =
        if len <= one_block(size_of::<W>() as u32) { 1 } else { len.div_ceil(PER_BLOCK).min(thread::grid_dim_x()) };
    if block >= blocks {
        return;
    }
    let step = blocks * BLOCK;
    // Whether the warp has an item `i` in the round from `start` on, and the lane's, if it is there.
    let any_at = |start: u32, i: usize| first - lane + i as u32 * step < len - start;
    let at = |start: u32, i: usize| {
        let offset = first + i as u32 * step;
        if offset < len - start { Some(start + offset) } else { None }
    };
    let load = |start: u32, words: &mut [W; ITEMS]| {
        items::<W>(|i| {
            if let Some(at) = at(start, i) {
                words[i] = if is_filtered { candidates.get(at) } else { input.get(at).encode(order) };
            }
        });
    };
    // Keys that fit into the registers of all blocks are loaded once, others for each digit.
    let round = blocks * one_block(size_of::<W>() as u32);
    let (mut words, once) = ([W::default(); ITEMS], len <= round);
    load(0, &mut words);

    let (mut search, mut number) = (Search { word: W::default(), rank: k }, 0);
    while number < W::DIGITS {
        let (counts, mut start) = (cleared_counts(), 0);
        loop {
            if !once {
                load(start, &mut words);
            }
            items::<W>(|i| {
                if any_at(start, i) {
                    let is_counted = at(start, i).is_some() && words[i].agrees(search.word, number);
                    count(counts, words[i].digit(number), is_counted);
                }
            });
            if len - start <= round {
                break;
            }
            start += round;
        }
        thread::sync_threads(); // all keys of the block are counted before the counts are read
        if blocks > 1 {
            let all = control.slice(COUNTS + number * BINS, BINS);
            unroll::<2>(|half| {
                let bin = half as u32 * BLOCK + t;
                if counts.get(bin) > 0 {
                    all.fetch_add(bin, counts.get(bin), Relaxed, Scope::Device);
                }
            });
            wait_for_blocks(control, (number + 1) * blocks);
            unroll::<2>(|half| {
                let bin = half as u32 * BLOCK + t;
                counts.set(bin, all.load(bin, Relaxed, Scope::Device));
            });
            thread::sync_threads(); // the counts of the grid are in place before they are read
        }
        search = search.narrow(counts, number);
        number += 1;
    }

    // The word is the k-th largest, and `rank` of the k are equal to it.
    if first == 0 && !nth.is_empty() {
        nth.set(0, search.word.decode(order));
    }
    if output.is_empty() {
        return;
    }
    let mut start = 0;
    loop {
        if !once {
            load(start, &mut words);
        }
        let is_above = |i: usize| at(start, i).is_some() && words[i] > search.word;
        let (mut sum, mut place) = (0, 0);
        items::<W>(|i| sum += is_above(i) as u32);
        sum = warp::reduce_add(FULL, sum);
        if lane == 0 && sum > 0 {
            place = control.fetch_add(TAKEN, sum, Relaxed, Scope::Device);
        }
        place = warp::shuffle(FULL, place, 0);
        items::<W>(|i| {
            if !any_at(start, i) {
                return;
            }
            let lanes = warp::ballot(FULL, is_above(i));
            if is_above(i) {
                output.set(place + (lanes & ((1 << lane) - 1)).count_ones(), words[i].decode(order));
            }
            place += lanes.count_ones();
        });
        if len - start <= round {
            break;
        }
        start += round;
    }
    let mut i = first.saturating_add(k - search.rank);
    while i < k {
        output.set(i, search.word.decode(order));
        i = i.saturating_add(step);
    }
}

/// Waits until `arrivals` arrivals of blocks have been counted. The whole block calls it.
#[simt::device]
#[track_caller]
fn wait_for_blocks(control: Global<u32>, arrivals: u32) {
    thread::sync_threads(); // all threads have added their counts before the block arrives
    if thread::thread_idx_x() == 0 {
        // What this block has counted becomes visible before it arrives,
        atomic::fence(Order::AcqRel, Scope::Device);
        control.fetch_add(ARRIVED, 1, Relaxed, Scope::Device);
        while control.load(ARRIVED, Relaxed, Scope::Device) < arrivals {
            clock::nanosleep(20);
        }
        // and what the others have counted is read after they have.
        atomic::fence(Order::AcqRel, Scope::Device);
    }
    thread::sync_threads(); // all wait for thread 0, and see what it sees
}
