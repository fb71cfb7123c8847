//! Steps that the rungs on many blocks share.

use rungs_common::keys::Word;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// A key as radix sort sees it: an unsigned word made of digits.
pub trait Digits: Word + Ord {
    /// The largest word.
    const LARGEST: Self;
    /// The `bits` bits from bit `shift` on.
    fn digit(self, shift: u32, bits: u32) -> u32;
}

impl Digits for u32 {
    const LARGEST: Self = u32::MAX;

    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        self >> shift & ((1 << bits) - 1)
    }
}

impl Digits for u64 {
    const LARGEST: Self = u64::MAX;

    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        // No digit lies across the halves. The branch is the same for all keys, and 32-bit shifts are cheaper.
        let half = if shift < 32 { self as u32 } else { (self >> 32) as u32 };
        half >> (shift % 32) & ((1 << bits) - 1)
    }
}

/// Threads of the block that scans a long array.
pub const SCAN_THREADS: u32 = 1024;

/// 16-byte loads per thread and round.
const SCAN_PACKS: u32 = 2;

/// Counts per round.
const SCAN_ROUND: u32 = SCAN_THREADS * SCAN_PACKS * 4;

shared!(SUMS: [u32; warp::WARP]);

/// Makes each element the sum of those before it, in one block of [`SCAN_THREADS`].
#[inline(always)]
pub fn scan_in_one_block(counts: Global<u32>) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, packs) = (t / warp::WARP, counts.len() / 4);
    let mut carry = 0;
    let mut first = 0;
    while first < counts.len() {
        let mut mine = [[0u32; 4]; SCAN_PACKS as usize];
        let at = |p: usize| first / 4 + t * SCAN_PACKS + p as u32;
        unroll::<{ SCAN_PACKS as usize }>(|p| {
            if at(p) < packs {
                mine[p] = counts.get_pack(at(p));
            } else {
                // The last elements, fewer than 4, one by one.
                unroll::<4>(|j| {
                    if at(p) * 4 + (j as u32) < counts.len() {
                        mine[p][j] = counts.get(at(p) * 4 + j as u32);
                    }
                });
            }
        });
        let mut sum = 0;
        unroll::<{ SCAN_PACKS as usize }>(|p| unroll::<4>(|j| sum += mine[p][j]));
        let inclusive = warp_scan_inclusive::<Sum, u32>(sum);
        if lane == warp::WARP - 1 {
            SUMS::view().set(w, inclusive);
        }
        thread::sync_threads(); // every warp's sum is there before they are added up
        let sums = SUMS::view().get(lane);
        let mut next = carry + warp::reduce_add(warp::FULL, if lane < w { sums } else { 0 }) + inclusive - sum;
        carry += warp::reduce_add(warp::FULL, sums);
        unroll::<{ SCAN_PACKS as usize }>(|p| {
            unroll::<4>(|j| (mine[p][j], next) = (next, next + mine[p][j]));
            if at(p) < packs {
                counts.set_pack(at(p), mine[p]);
            } else {
                unroll::<4>(|j| {
                    if at(p) * 4 + (j as u32) < counts.len() {
                        counts.set(at(p) * 4 + j as u32, mine[p][j]);
                    }
                });
            }
        });
        thread::sync_threads(); // all have read the sums before the next round writes them
        first += SCAN_ROUND;
    }
}

/// The sum of `value` over the threads before the caller and the sum over all, in a block of `WARPS` warps, at most
/// 32. `sums` has one element per warp; it takes a barrier before it can be used again.
#[inline(always)]
#[track_caller]
pub fn block_scan<const WARPS: u32>(value: u32, sums: Shared<u32>) -> (u32, u32) {
    let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
    let inclusive = warp_scan_inclusive::<Sum, u32>(value);
    if lane == warp::WARP - 1 {
        sums.set(w, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let sum = if lane < WARPS { sums.get(lane) } else { 0 };
    let below = warp::reduce_add(warp::FULL, if lane < w { sum } else { 0 });
    (below + inclusive - value, warp::reduce_add(warp::FULL, sum))
}
