//! Ranks the keys of a warp among those with the same digit, fast for any mix of digits.

use crate::{BITS, Digits, lanes_below, match_digit, rank_row};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Shared, opaque, unroll, warp};

/// A warp ranks its rows with ballots if its first row has at most this many different digits. Six rows in a thousand
/// have so few if digits are uniform, and four rows in five if digits are the ANDs of two random ones.
const FEW_DIGITS: u32 = 26;

/// It ranks them by ballots alone if the second most frequent digit has at least this many lanes of the first row.
const FREQUENT: u32 = 7;

/// The rank that [`rank_row`] finds, for rows in which many lanes have the digit `frequent`. Their atomics would take
/// turns, so one ballot matches these lanes, and atomics match the others.
#[simt::device]
#[track_caller]
fn rank_row_with_frequent(frequent: u32, digit: u32, counters: Shared<u32>, lanes: Shared<u32>) -> u32 {
    let lane = warp::lane_id();
    let is_frequent = digit == frequent;
    let all_frequent = warp::ballot(warp::FULL, is_frequent);
    if !is_frequent {
        // Relaxed: the warp's barrier below orders the sets.
        lanes.fetch_or(digit, 1 << lane, Relaxed, Scope::Block);
    }
    warp::sync_warp(warp::FULL); // every lane's bit is set before the sets are read
    let same = if is_frequent { all_frequent } else { lanes.get(digit) };
    let rank = counters.get(digit) + (same & lanes_below()).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same >> lane == 1 {
        counters.set(digit, rank + 1);
        lanes.set(digit, 0);
    }
    warp::sync_warp(warp::FULL); // counts and sets are up to date before the next row
    rank
}

/// The rank that [`rank_row`] finds, by ballots alone: slower for different digits, and no slower for equal ones. Also
/// returns the lanes that have the same digit.
#[simt::device]
#[track_caller]
pub fn rank_row_by_ballots(digit: u32, counters: Shared<u32>) -> (u32, u32) {
    let same = match_digit(digit, 8);
    let rank = counters.get(digit) + (same & lanes_below()).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same >> warp::lane_id() == 1 {
        counters.set(digit, rank + 1);
    }
    warp::sync_warp(warp::FULL); // counts are up to date before the next row
    (rank, same)
}

/// The rank of each of `count` keys per lane among those of the warp with the same digit, in the order of the keys: row
/// by row, where row i has key i of each lane. Digits begin at bit `shift`. `own` counts the keys of the warp by digit,
/// `lanes` is as for [`rank_row`].
///
/// The first row is ranked by ballots. They tell how many different digits it has, and how many lanes each has, and so
/// how to rank the other rows.
#[simt::device]
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
    let (rank, same) = rank_row_by_ballots(keys[0].digit(shift, BITS), own);
    ranks[0] = rank;
    let different = warp::ballot(warp::FULL, same >> lane == 1).count_ones();
    if different > FEW_DIGITS {
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
    // A lane whose digit is the most frequent; that digit; and the most lanes that another digit has.
    let most = warp::reduce_max(warp::FULL, same.count_ones() * warp::WARP + lane) % warp::WARP;
    let frequent = warp::shuffle(warp::FULL, first, most);
    let second = warp::reduce_max(warp::FULL, if first == frequent { 0 } else { same.count_ones() });
    if warp::any(warp::FULL, differ) && second < FREQUENT {
        rows::<N>(count, |i| {
            if i > 0 {
                ranks[i] = rank_row_with_frequent(frequent, keys[i].digit(shift, BITS), own, lanes);
            }
        });
    } else if warp::any(warp::FULL, differ) {
        rows::<N>(count, |i| {
            if i > 0 {
                (ranks[i], _) = rank_row_by_ballots(keys[i].digit(shift, BITS), own);
            }
        });
    } else {
        // All keys of the warp have one digit: their order is their rank.
        rows::<N>(count, |i| ranks[i] = i as u32 * warp::WARP + lane);
        if lane == 0 {
            own.set(first, count * warp::WARP);
        }
    }
    ranks
}

/// Calls `f` with the index of each of `count` rows.
#[simt::device]
#[track_caller]
fn rows<const N: usize>(count: u32, mut f: impl FnMut(usize)) {
    unroll::<N>(|i| {
        if (i as u32) < count {
            f(i);
        }
    });
}
