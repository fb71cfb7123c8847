//! Where a part begins in each of the runs.

use super::{CUTS, FIRSTS, MOST_RUNS};
use rungs_common::operator::{Sum, warp_scan_inclusive};
use rungs_common::order::Order;
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared, thread};

/// The runs: all keys, and how many a run has, but for the last.
#[derive(Clone, Copy)]
pub(super) struct Runs<K> {
    pub keys: Global<K>,
    pub run: u32,
}

impl<K: Scalar> Runs<K> {
    /// How many runs there are.
    #[simt::device]
    pub fn number(self) -> u32 {
        self.keys.len().div_ceil(self.run)
    }

    /// How many keys run `i` has.
    #[simt::device]
    pub fn len_of(self, i: u32) -> u32 {
        let left = self.keys.len() - i * self.run;
        if left < self.run { left } else { self.run }
    }

    /// How many keys of run `i` are before `key`; if `equal`, those that are equivalent to it count too. The search is
    /// among keys `low..high`.
    ///
    /// It reads three keys at a time: it is a chain of loads, and so the chain has half as many links.
    #[simt::device]
    pub fn position<C: Order<K>>(self, i: u32, [low, high]: [u32; 2], key: K, equal: bool, order: C) -> u32 {
        let (keys, mut low, mut high) = (self.keys.slice(i * self.run, self.len_of(i)), low, high);
        let passes = |other: K| if equal { !order.before(key, other) } else { order.before(other, key) };
        while low < high {
            let open = high - low;
            let [a, b, c] = [low + open / 4, low + open / 2, high - open.div_ceil(4)];
            let [past_a, past_b, past_c] = [a, b, c].map(|place| passes(keys.get(place)));
            (low, high) = match (past_a, past_b, past_c) {
                (_, true, true) => (c + 1, high),
                (_, true, false) => (b + 1, c),
                (true, false, _) => (a + 1, b),
                (false, false, _) => (low, a),
            };
        }
        low
    }
}

/// The sum of `of` over all runs; each warp adds up for itself.
#[simt::device]
pub(super) fn total(runs: u32, of: impl Fn(u32) -> u32) -> u32 {
    let (mut sum, mut i) = (0, warp::lane_id());
    while i < runs {
        sum += of(i);
        i += WARP;
    }
    warp::reduce_add(FULL, sum)
}

/// The splits at an end of a part, by one warp. `below` and `through`: how many keys of each run are before the
/// splitter, and how many with those that are equivalent to it. Equivalent keys of the first runs come before the end,
/// as many as `d` keys before it need.
#[simt::device]
pub(super) fn share(below: Shared<u32>, through: Shared<u32>, runs: u32, d: u32, splits: Shared<u32>) {
    let mut left = d.saturating_sub(total(runs, |i| below.get(i)));
    let mut first = 0;
    while first < runs {
        let i = first + warp::lane_id();
        let low = if i < runs { below.get(i) } else { 0 };
        // By an order that is none the bounds may contradict each other.
        let equal = if i < runs { through.get(i).saturating_sub(low) } else { 0 };
        let sum = warp_scan_inclusive::<Sum, u32>(equal);
        let its = left.saturating_sub(sum - equal);
        if i < runs {
            splits.set(i, low + if its < equal { its } else { equal });
        }
        left = left.saturating_sub(warp::shuffle(FULL, sum, WARP - 1));
        first += WARP;
    }
}

/// Moves the cuts to where the longest of the runs is cut in half; how many keys are before them. The whole block makes
/// the call, and sees the cuts.
#[simt::device]
pub(super) fn halve<K: Scalar, C: Order<K>>(runs: Runs<K>, order: C) -> u32 {
    let (firsts, cuts, number) = (FIRSTS::view(), CUTS::view(), runs.number());
    let (mut longest, mut i) = (0, warp::lane_id());
    while i < number {
        longest = longest.max((cuts.get(i) - firsts.get(i)) * MOST_RUNS + i);
        i += WARP;
    }
    let longest = warp::reduce_max(FULL, longest);
    let (at, len) = (longest % MOST_RUNS, longest / MOST_RUNS);
    let middle = firsts.get(at) + len / 2;
    let key = runs.keys.get(at * runs.run + middle);
    thread::sync_threads(); // all warps have found the longest run
    let mut i = thread::thread_idx_x();
    while i < number {
        let open = [firsts.get(i), cuts.get(i)];
        cuts.set(i, if i == at { middle } else { runs.position(i, open, key, i < at, order) });
        i += thread::block_dim_x();
    }
    thread::sync_threads(); // the cuts are there
    total(number, |i| cuts.get(i) - firsts.get(i))
}
