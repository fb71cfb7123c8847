//! Where the parts of a merge of all runs begin in each of them.

use super::MOST_RUNS;
use crate::operator::{Sum, warp_scan_inclusive};
use crate::order::Order;
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared};

/// How many of the keys `low..high` of a sorted run are before `key`, and `low`; if `equal`, those that are equivalent
/// to it count too. Three keys are read at a time: a search is a chain of loads, and so it has half as many links.
#[inline(always)]
pub fn position<K: Scalar, C: Order<K>>(
    keys: Global<K>,
    [mut low, mut high]: [u32; 2],
    key: K,
    equal: bool,
    order: C,
) -> u32 {
    let passes = |other: K| if equal { !order.before(key, other) } else { order.before(other, key) };
    while low < high {
        let open = high - low;
        let places = [low + open / 4, low + open / 2, low + (open - open.div_ceil(4))];
        let [a, b, c] = places.map(|place| passes(keys.get(place)));
        (low, high) = if !b {
            if a { (places[0] + 1, places[1]) } else { (low, places[0]) }
        } else if c {
            (places[2] + 1, high)
        } else {
            (places[1] + 1, places[2])
        };
    }
    low
}

/// The splits of one end of a part, by one warp: `below` and `upto` say how many keys of each run are before the
/// splitter, and before or equivalent to it. Of the equivalent ones, those of the first runs come before the end, as
/// many as `d` keys before it need.
#[inline(always)]
pub fn share(below: Shared<u32>, upto: Shared<u32>, runs: u32, d: u32, splits: Shared<u32>) {
    let lane = warp::lane_id();
    let mut all = 0;
    let mut i = lane;
    while i < runs {
        all += below.get(i);
        i += WARP;
    }
    let mut rest = d.saturating_sub(warp::reduce_add(FULL, all));
    let mut first = 0;
    while first < runs {
        let i = first + lane;
        let there = i < runs;
        let low = if there { below.get(i) } else { 0 };
        // An order that is none may have found the bounds in the wrong order.
        let equal = if there { upto.get(i).saturating_sub(low) } else { 0 };
        let through = warp_scan_inclusive::<Sum, u32>(equal);
        let left = rest.saturating_sub(through - equal);
        if there {
            splits.set(i, low + if left < equal { left } else { equal });
        }
        rest = rest.saturating_sub(warp::shuffle(FULL, through, WARP - 1));
        first += WARP;
    }
}

/// The sum of the first `runs` words; every warp computes it for itself.
#[inline(always)]
pub fn total(words: impl Fn(u32) -> u32, runs: u32) -> u32 {
    let mut sum = 0;
    let mut i = warp::lane_id();
    while i < runs {
        sum += words(i);
        i += WARP;
    }
    warp::reduce_add(FULL, sum)
}

const _: () = assert!(MOST_RUNS.is_multiple_of(WARP));
