//! The launch that sorts what the lists hold, and buckets, in registers.

use super::group::{Group, load, sort_group};
use super::items::{Items, Keys32, Keys64, Pairs32, Views};
use super::work::{BUCKETS, FAILED, FIRST, TICKET, Work, classes, parts};
use super::{BLOCK, MAX_SPILLS, SHORT, SORT_BLOCKS, in_block, in_lane_most, in_warp, room};
use rungs_common::keys::{Key, Word};
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, grid, kernel, shared, thread};

const WARPS: u32 = BLOCK / WARP;

shared!(
    /// The number of the job.
    JOB: [u32; 1]
);
shared!(
    /// For each warp the number of keys in buckets before the block's; then begin and length of two buckets.
    BEFORE: [u32; WARPS + 4]
);

/// Where keys come from and where they go.
#[derive(Clone, Copy)]
struct Piece {
    /// The first place of the room, of which the keys are words already, if they are not where they belong.
    room: Option<u32>,
    /// Where they belong, and how many they are.
    begin: u32,
    len: u32,
}

/// Sorts all listed segments and all buckets: the blocks take jobs by a ticket, those of most keys first. A job is two
/// buckets, or as many segments of a class as the block has groups of warps for.
#[kernel(max_threads = BLOCK, min_blocks = SORT_BLOCKS, max_spills = MAX_SPILLS, instances(
    segmented_sort_by_length_sort_u32: <Keys32, u32, u32>, segmented_sort_by_length_sort_u64: <Keys64, u64, u64>,
    segmented_sort_by_length_sort_pairs: <Pairs32, u32, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn segmented_sort_by_length_sort<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    keys: Global<K>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    control: Global<u32>,
    lists: Global<u64>,
    rooms: Global<W>,
) {
    let (views, work) = (Views::<P>::new(keys, order, values, moved), Work { n: keys.len(), control, lists, rooms });
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP);
    grid::let_next_start();
    grid::wait_for_previous(); // lists and rooms
    let buckets = control.get(BUCKETS).min(work.owners().len());
    loop {
        if t == 0 {
            JOB::view().set(0, control.fetch_add(TICKET, 1, Relaxed, Scope::Device));
        }
        thread::sync_threads(); // the job is known to all
        let mut job = JOB::view().get(0);
        thread::sync_threads(); // all have read it before the next one's number replaces it
        if job < buckets.div_ceil(2) {
            sort_buckets(views, work, 2 * job, buckets);
            continue;
        }
        job -= buckets.div_ceil(2);
        let mut class = classes::<P::Word>();
        while class > 0 && job >= work.count(class).div_ceil(groups::<P::Word>(class)) {
            job -= work.count(class).div_ceil(groups::<P::Word>(class));
            class -= 1;
        }
        if class == 0 {
            return;
        }
        let warps = WARPS / groups::<P::Word>(class);
        let number = job * groups::<P::Word>(class) + warp / warps;
        if number < work.count(class) {
            let (begin, len) = parts(work.segments(class).get(number));
            sort(views, work, Piece { room: None, begin, len }, class, warps);
        }
    }
}

/// How many groups of warps a block has for segments of a class.
#[simt::device]
fn groups<W>(class: u32) -> u32 {
    in_block::<W>() / (SHORT << class).max(in_warp::<W>())
}

/// Sorts two buckets, one by each half of the block. If one of them is too large for that, the block sorts both.
#[simt::device]
#[track_caller]
fn sort_buckets<P: Items>(views: Views<P>, work: Work<P::Word>, number: u32, buckets: u32) {
    const HALF: u32 = BLOCK / 2;
    let (t, warp, before) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP, BEFORE::view());
    let (half, own) = (t / HALF, number + t / HALF);
    let owner = if own < buckets { work.owners().get(own) } else { u32::MAX };
    // Without an owner: the last bucket is alone, or offsets descend.
    let is_there = owner < work.long_count() && work.state(owner).get(FAILED) == 0;
    let mut sum = 0;
    if is_there {
        let mut i = work.state(owner).get(FIRST) + t % HALF;
        while i < own {
            sum += work.sizes().get(i);
            i += HALF;
        }
    }
    let sum = warp::reduce_add(FULL, sum);
    if warp::lane_id() == 0 {
        before.set(warp, sum);
    }
    thread::sync_threads(); // the sums of all warps are there
    if t % HALF == 0 {
        let (mut begin, mut len) = (0, 0);
        if is_there {
            let first = half * WARPS / 2;
            begin = parts(work.long().get(owner)).0;
            begin += before.get(first) + before.get(first + 1) + before.get(first + 2) + before.get(first + 3);
            len = work.sizes().get(own).min(room::<P::Word>());
        }
        before.set(WARPS + 2 * half, begin);
        before.set(WARPS + 2 * half + 1, len);
    }
    thread::sync_threads(); // both buckets are known to all
    let piece = |half: u32| {
        let (begin, len) = (before.get(WARPS + 2 * half), before.get(WARPS + 2 * half + 1));
        // Only if offsets descend can a bucket end beyond all keys.
        let begin = begin.min(work.n);
        let len = len.min(work.n - begin);
        Piece { room: Some((number + half) * room::<P::Word>()), begin, len }
    };
    let (both, largest) = ([piece(0), piece(1)], classes::<P::Word>());
    thread::sync_threads(); // all have read what the next job replaces
    if both[0].len.max(both[1].len) <= in_block::<P::Word>() / 2 {
        let mine = if half == 0 { both[0] } else { both[1] };
        let warps = mine.len.div_ceil(in_warp::<P::Word>()).next_power_of_two();
        if mine.len > 0 && warp % (WARPS / 2) < warps {
            sort(views, work, mine, largest, warps);
        }
    } else {
        let mut half = 0;
        while half < 2 {
            sort(views, work, if half == 0 { both[0] } else { both[1] }, largest, WARPS);
            thread::sync_threads(); // no warp exchanges keys of the next bucket before all have those of this one
            half += 1;
        }
    }
}

/// Sorts a piece that has no more keys than the class, by a group of warps.
#[simt::device]
#[track_caller]
fn sort<P: Items>(views: Views<P>, work: Work<P::Word>, piece: Piece, class: u32, warps: u32) {
    let in_lane = (SHORT << class) / WARP;
    if in_lane >= in_lane_most::<P::Word>() as u32 {
        if size_of::<P::Word>() == 4 {
            sort_piece::<P, 32>(views, work, piece, warps);
        } else {
            sort_piece::<P, 16>(views, work, piece, warps);
        }
    } else if in_lane == 16 {
        sort_piece::<P, 16>(views, work, piece, 1);
    } else {
        sort_piece::<P, 8>(views, work, piece, 1);
    }
}

/// [`sort`] with K keys to a lane; only with the most are there several warps and keys from a room.
#[simt::device]
#[track_caller]
fn sort_piece<P: Items, const K: usize>(views: Views<P>, work: Work<P::Word>, piece: Piece, warps: u32) {
    let group = Group { warps, len: piece.len };
    let (mut keys, (first, rest)) = ([P::Word::LAST; K], group.share(K));
    let part = views.part(piece.begin + first, rest);
    match piece.room {
        Some(room) if K == in_lane_most::<P::Word>() => {
            let words = work.rooms.slice(room + first, rest);
            load(&mut keys, rest, |i| words.get_streaming(i));
        }
        _ => load(&mut keys, rest, |i| P::load(part, i)),
    }
    sort_group(keys, group, |i, word| P::store(part, i, word));
}
