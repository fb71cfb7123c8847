//! The first launch: short segments, and lists of the others.

use super::items::{Items, Keys32, Keys64, Pairs32, Views};
use super::network::{sort_lane, sort_warp};
use super::work::{Work, class_of, classes, pair};
use super::{BLOCK, IN_LANE, SHORT};
use crate::segment;
use rungs_common::keys::{Key, Word};
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, grid, kernel, thread, unroll};

/// Sorts the segments of up to [`SHORT`] keys, and lists the others by class. A thread looks at one segment.
#[kernel(max_threads = BLOCK, instances(
    segmented_sort_by_length_short_u32: <Keys32, u32, u32>, segmented_sort_by_length_short_u64: <Keys64, u64, u64>,
    segmented_sort_by_length_short_pairs: <Pairs32, u32, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn segmented_sort_by_length_short<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    keys: Global<K>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    offsets: Global<u32>,
    control: Global<u32>,
    lists: Global<u64>,
    rooms: Global<W>,
) {
    let views = Views::<P>::new(keys, order, values, moved);
    let (begin, len) = segment(offsets, keys.len(), thread::index_1d());
    grid::let_next_start();
    if warp::any(FULL, len > SHORT) {
        list(Work { n: keys.len(), control, lists, rooms }, begin, len);
    }
    let in_lane = len >= P::LEAST && len <= IN_LANE;
    if warp::any(FULL, in_lane && len > IN_LANE / 2) {
        sort_in_lane::<P, { IN_LANE as usize }>(views, begin, if in_lane { len } else { 0 });
    } else if warp::any(FULL, in_lane) {
        sort_in_lane::<P, { IN_LANE as usize / 2 }>(views, begin, if in_lane { len } else { 0 });
    }
    sort_by_warp(views, begin, len);
}

/// Appends the segments of the lanes that are not short to the lists of their classes.
#[simt::device]
#[track_caller]
fn list<W: Key>(work: Work<W>, begin: u32, len: u32) {
    let (lane, own, mut class) = (warp::lane_id(), class_of::<W>(len), 1);
    while class <= classes::<W>() + 1 {
        let lanes = warp::ballot(FULL, own == class);
        if lanes != 0 {
            let mut place = 0;
            if lane == 0 {
                place = work.control.fetch_add(class, lanes.count_ones(), Relaxed, Scope::Device);
            }
            place = warp::shuffle(FULL, place, 0).saturating_add((lanes & ((1 << lane) - 1)).count_ones());
            // There is room unless offsets descend.
            if own == class && place < work.segments(class).len() {
                work.segments(class).set(place, pair(begin, len));
            }
        }
        class += 1;
    }
}

/// Sorts a segment in the registers of its lane, without the others.
#[simt::device]
#[track_caller]
fn sort_in_lane<P: Items, const K: usize>(views: Views<P>, begin: u32, len: u32) {
    let mut own = [P::Word::LAST; K];
    unroll::<K>(|i| {
        if (i as u32) < len {
            own[i] = P::load(views, begin + i as u32);
        }
    });
    sort_lane(&mut own);
    unroll::<K>(|i| {
        if (i as u32) < len {
            P::store(views, begin + i as u32, own[i]);
        }
    });
}

/// Sorts the segments of the lanes that are longer than [`IN_LANE`] and not longer than [`SHORT`], in sequence.
#[simt::device]
#[track_caller]
fn sort_by_warp<P: Items>(views: Views<P>, begin: u32, len: u32) {
    let lane = warp::lane_id();
    let mut lanes = warp::ballot(FULL, len > IN_LANE && len <= SHORT);
    if lanes == 0 {
        return;
    }
    let load = |begin: u32, len: u32, place: u32| {
        if place < len { P::load(views, begin + place) } else { P::Word::LAST }
    };
    let mut take = || {
        let of = lanes.trailing_zeros();
        lanes &= lanes - 1;
        let (begin, len) = (warp::shuffle(FULL, begin, of), warp::shuffle(FULL, len, of));
        (begin, len, [load(begin, len, lane), load(begin, len, lane + WARP)], lanes != 0)
    };
    let mut next = take();
    loop {
        let (begin, len, [low, high], more) = next;
        if more {
            // The next segment is on its way while this one is sorted.
            next = take();
        }
        let store = |place: u32, word: P::Word| {
            if place < len {
                P::store(views, begin + place, word);
            }
        };
        if len <= WARP {
            let mut own = [low];
            sort_warp(&mut own, len);
            store(lane, own[0]);
        } else if len <= 2 * WARP {
            let mut own = [low, high];
            sort_warp(&mut own, WARP);
            // Neighbouring lanes store neighbouring keys.
            let of = |i: usize, lane: u32| warp::shuffle(FULL, own[i], lane);
            let [a, b, c, d] = [of(0, lane / 2), of(1, lane / 2), of(0, 16 + lane / 2), of(1, 16 + lane / 2)];
            store(lane, if lane.is_multiple_of(2) { a } else { b });
            store(lane + WARP, if lane.is_multiple_of(2) { c } else { d });
        } else {
            let mut own = [low, high, load(begin, len, lane + 2 * WARP), load(begin, len, lane + 3 * WARP)];
            sort_warp(&mut own, WARP);
            warp::sync_warp(FULL); // all lanes have loaded their keys before another lane stores there
            unroll::<4>(|i| store(4 * lane + i as u32, own[i]));
        }
        if !more {
            break;
        }
    }
}
