//! Merges any number of runs that lie in a tile, level by level.

use super::tile::{Pair, Tile, merge_level};
use rungs_common::operator::{Sum, warp_scan_inclusive};
use rungs_common::order::Order;
use simt::warp::{self, FULL, WARP};
use simt::{Scalar, Shared, thread};

/// Merges `ways` runs, a power of two, of which every second one descends. Run i has the slots from `places[i]` to
/// `places[i + 1]`. `dealt`: room for a word per run. The block has a warp for each level at least. All threads of the
/// block make the call after a barrier; the copies that fill the tile need none before. All threads see the result.
#[simt::device]
pub(crate) fn merge_levels<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(
    tile: Tile<K>,
    ways: u32,
    places: Shared<u32>,
    dealt: Shared<u32>,
    order: C,
) {
    let (t, lane, level) = (thread::thread_idx_x(), warp::lane_id(), thread::thread_idx_x() / WARP);
    // In each level the threads are dealt out to the pairs of runs, each pair as many as its keys need. A warp adds
    // these up for a level.
    let pairs_of = |half: u32| (ways / (2 * half), ways - ways / half);
    if level < ways.ilog2() {
        let half = 1 << level;
        let (pairs, row) = pairs_of(half);
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
        let (pairs, row) = pairs_of(half);
        // The last pair whose threads begin with this one or before.
        let (mut pair, mut step) = (0, pairs / 2);
        while step > 0 {
            pair += if dealt.get(row + pair + step) <= t { step } else { 0 };
            step /= 2;
        }
        let [base, middle, end] = [0, 1, 2].map(|i| places.get((2 * pair + i) * half));
        let diagonal = (t - dealt.get(row + pair)) * N as u32;
        let its = Pair { base, a: middle - base, b: end - middle, diagonal };
        merge_level::<K, C, N, AHEAD>(tile, its, pair & 1 != 0, order);
        thread::sync_threads(); // the runs are whole before other threads read them
        half *= 2;
    }
}
