//! Ranks of the keys of a warp among those with the same digit, which take no longer if many keys are alike.

use crate::{BITS, Digits, lanes_below, match_digit, rank_row};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Shared, opaque, unroll, warp};

/// Rows of a warp are ranked with votes if its first one has no more digits than this. Of 256 digits drawn at random,
/// six rows in a thousand have so few; of digits that are the ANDs of two random ones, four rows in five.
const FEW: u32 = 26;

/// They are ranked by votes alone if beside the most frequent digit of the first row another has so many lanes.
const MANY: u32 = 7;

/// The rank that [`rank_row`] finds, for rows in which many lanes have the digit `crowd`, on which atomics would wait
/// for each other: one vote matches these lanes, atomics the others.
#[inline(always)]
#[track_caller]
pub fn rank_row_beside(crowd: u32, digit: u32, counters: Shared<u32>, lanes: Shared<u32>) -> u32 {
    let lane = warp::lane_id();
    let is_in = digit == crowd;
    let all_in = warp::ballot(warp::FULL, is_in);
    if !is_in {
        lanes.fetch_or(digit, 1 << lane, Relaxed, Scope::Block);
    }
    warp::sync_warp(warp::FULL); // every lane's bit is set before the sets are read
    let same = if is_in { all_in } else { lanes.get(digit) };
    let rank = counters.get(digit) + (same & lanes_below()).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same >> lane == 1 {
        counters.set(digit, rank + 1);
        lanes.set(digit, 0);
    }
    warp::sync_warp(warp::FULL); // counts and sets are up to date before the next row
    rank
}

/// The rank that [`rank_row`] finds, by votes alone: slower for digits that differ, and no slower for equal ones. Also
/// returns the lanes that have the same digit.
#[inline(always)]
#[track_caller]
pub fn rank_row_by_votes(digit: u32, counters: Shared<u32>) -> (u32, u32) {
    let same = match_digit(digit, 8);
    let rank = counters.get(digit) + (same & lanes_below()).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same >> warp::lane_id() == 1 {
        counters.set(digit, rank + 1);
    }
    warp::sync_warp(warp::FULL); // counts are up to date before the next row
    (rank, same)
}

/// The rank of each of `count` keys per lane among those of its digit in this warp, in their order: row by row, of
/// which each has a key of each lane. `own` counts them, `lanes` is as for [`rank_row`]. Digits begin at bit `shift`.
///
/// The votes of the first row say which digits it has, and how many of each, which decides how the other rows are
/// ranked.
#[inline(always)]
#[track_caller]
pub fn rank_rows<W: Digits, const N: usize>(
    keys: &[W; N],
    count: u32,
    shift: u32,
    own: Shared<u32>,
    lanes: Shared<u32>,
) -> [u32; N] {
    let mut ranks = [0; N];
    let lane = warp::lane_id();
    let (rank, same) = rank_row_by_votes(keys[0].digit(shift, BITS), own);
    ranks[0] = rank;
    let different = warp::ballot(warp::FULL, same >> lane == 1).count_ones();
    if different > FEW {
        rows::<N>(count, |i| {
            if i > 0 {
                ranks[i] = rank_row(keys[i].digit(shift, BITS), own, lanes);
            }
        });
        return ranks;
    }
    let shift = opaque(shift); // so that the digits of one branch take no registers in the other
    let first = keys[0].digit(shift, BITS);
    let mut differ = different != 1;
    rows::<N>(count, |i| differ |= keys[i].digit(shift, BITS) != first);
    // The lane whose digit is the most frequent, and how many lanes another digit has.
    let most = warp::reduce_max(warp::FULL, same.count_ones() * warp::WARP + lane) % warp::WARP;
    let crowd = warp::shuffle(warp::FULL, first, most);
    let second = warp::reduce_max(warp::FULL, if first == crowd { 0 } else { same.count_ones() });
    if warp::any(warp::FULL, differ) && second < MANY {
        rows::<N>(count, |i| {
            if i > 0 {
                ranks[i] = rank_row_beside(crowd, keys[i].digit(shift, BITS), own, lanes);
            }
        });
    } else if warp::any(warp::FULL, differ) {
        rows::<N>(count, |i| {
            if i > 0 {
                (ranks[i], _) = rank_row_by_votes(keys[i].digit(shift, BITS), own);
            }
        });
    } else {
        // The keys of a single digit are ranked as they stand.
        rows::<N>(count, |i| ranks[i] = i as u32 * warp::WARP + lane);
        if lane == 0 {
            own.set(first, count * warp::WARP);
        }
    }
    ranks
}

/// Calls `f` with the index of each of `count` rows.
#[inline(always)]
#[track_caller]
fn rows<const N: usize>(count: u32, mut f: impl FnMut(usize)) {
    unroll::<N>(|i| {
        if (i as u32) < count {
            f(i);
        }
    });
}
