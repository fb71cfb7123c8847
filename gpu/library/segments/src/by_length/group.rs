//! A group of warps of a block sorts keys in registers. Warps exchange keys through shared memory.

use super::network::{merge_halves, pick, sort_warp};
use super::{BLOCK, in_lane_most};
use rungs_common::keys::Key;
use simt::warp::{self, FULL, WARP};
use simt::{Shared, shared, thread, unroll};

/// Words of a warp in shared memory, if its lanes have `in_lane` keys each: one more, so that lanes meet in no bank.
pub const fn row(in_lane: u32) -> u32 {
    WARP * (in_lane + 1)
}

/// Bytes of that for the most keys of a lane.
const ROW: u32 = 8 * row(in_lane_most::<u64>() as u32);
const _: () = assert!(ROW >= 4 * row(in_lane_most::<u32>() as u32));

shared!(
    /// The keys of each warp.
    EXCHANGED: [u64; BLOCK / WARP * ROW / 8]
);

/// A thread's place in a group of warps that sorts together.
#[derive(Clone, Copy)]
pub struct Group {
    /// The number of warps: a power of two. The group begins at a warp whose number is a multiple of it.
    pub warps: u32,
    /// The number of keys: at most `32 * K` for each warp.
    pub len: u32,
}

impl Group {
    /// The first place of the thread, which is at most the end, and how many places there are from that on. The thread
    /// loads and stores each 32nd of them.
    #[simt::device]
    pub fn share(self, in_lane: usize) -> (u32, u32) {
        let warp = thread::thread_idx_x() / WARP % self.warps;
        let first = (warp * WARP * in_lane as u32 + warp::lane_id()).min(self.len);
        (first, self.len - first)
    }
}

/// Fills the keys of a thread with those of its [share](Group::share).
#[simt::device]
#[track_caller]
pub fn load<W: Key, const K: usize>(keys: &mut [W; K], rest: u32, at: impl Fn(u32) -> W) {
    unroll::<K>(|i| {
        if i as u32 * WARP < rest {
            keys[i] = at(i as u32 * WARP);
        }
    });
}

/// Sorts the keys of a group, of which each thread has loaded its share, and calls `store(i, key)` for each place i of
/// the thread's share, counted from its first. All threads of the group make the call; K is at most [`in_lane_most`].
#[simt::device]
#[track_caller]
pub fn sort_group<W: Key, const K: usize>(keys: [W; K], group: Group, store: impl Fn(u32, W)) {
    let row = |warp: u32| EXCHANGED::view().slice(warp * ROW / 8, ROW / 8).cast::<W>();
    sort_by(keys, group, K == in_lane_most::<W>(), row, store);
}

/// [`sort_group`] in other memory: `row` gives [`row`] words for each warp of the block. `several`, a constant: whether
/// the group may have more than one warp.
#[simt::device]
#[track_caller]
pub fn sort_by<W: Key, const K: usize>(
    mut keys: [W; K],
    group: Group,
    several: bool,
    row: impl Fn(u32) -> Shared<W>,
    store: impl Fn(u32, W),
) {
    let (lane, warp, warps) = (warp::lane_id(), thread::thread_idx_x() / WARP, group.warps);
    let (number, stride) = (warp % warps, K as u32 + 1);
    let own = row(warp);
    sort_warp(&mut keys, WARP);
    if several {
        let wait = || thread::barrier(1 + warp / warps, warps * WARP);
        let mut run = 2;
        while run <= warps {
            let mut distance = run;
            while distance >= 2 {
                // The first step of a merge compares mirror images.
                let mirrored = distance == run;
                let other = if mirrored { number ^ (run - 1) } else { number ^ (distance / 2) };
                let smaller = number & (distance / 2) == 0;
                unroll::<K>(|i| own.set(lane * stride + i as u32, keys[i]));
                wait(); // the other warp's keys are there
                let theirs = row(warp - number + other);
                unroll::<K>(|i| {
                    let at = lane * stride + i as u32;
                    let mirror = (WARP - 1 - lane) * stride + (K - 1 - i) as u32;
                    keys[i] = pick(keys[i], theirs.get(if mirrored { mirror } else { at }), smaller);
                });
                wait(); // the other warp has read these keys before others replace them
                distance /= 2;
            }
            merge_halves(&mut keys, WARP / 2);
            run *= 2;
        }
    }
    unroll::<K>(|i| own.set(lane * stride + i as u32, keys[i]));
    warp::sync_warp(FULL); // the keys of all lanes are there, and all lanes have loaded theirs
    let (_, rest) = group.share(K);
    unroll::<K>(|i| {
        let place = i as u32 * WARP + lane;
        if i as u32 * WARP < rest {
            store(i as u32 * WARP, own.get(place / K as u32 * stride + place % K as u32));
        }
    });
    warp::sync_warp(FULL); // all have read these keys before the warp's next ones replace them
}
