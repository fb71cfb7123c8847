//! Prefixes of tiles by decoupled look-back, of anything that can be combined.
//!
//! What a tile hands on is a [`Carry`]. Its state may be several words; each has a tag, and the state is complete when
//! all tags are the same, so every access can be relaxed (see [`rungs_common::state`]).

use core::marker::PhantomData;
use rungs_common::operator::Operator;
use rungs_common::state::{self, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar};

/// Tag of a state that holds what the tile adds.
const OWN: u32 = 1;
/// Tag of a state that holds the tile's prefix: everything up to the tile's end.
const PREFIX: u32 = 2;

/// Where the states begin in a workspace: 128 bytes after the ticket counter, which all blocks increment.
const STATES: u32 = 16;

/// What a tile hands on to the tiles behind it.
pub trait Carry: Copy {
    /// Words of a tile's state.
    const WORDS: u32;
    /// What stands before the first tile.
    const NOTHING: Self;

    /// Both together; `self` comes first.
    fn then(self, next: Self) -> Self;
    /// The same value of another lane; all lanes call it.
    fn at_lane(self, lane: u32) -> Self;
    /// Writes a state to the words of `state`.
    fn publish(self, state: Global<u64>, tag: u32);
    /// Reads a state; the tag is [`state::NOTHING`] while it is missing or only partly written.
    fn look(state: Global<u64>) -> (u32, Self);
}

/// A number of items.
impl Carry for u32 {
    const WORDS: u32 = 1;
    const NOTHING: Self = 0;

    #[inline(always)]
    fn then(self, next: Self) -> Self {
        // Lanes that no result depends on may add numbers twice and pass 2³².
        self.wrapping_add(next)
    }

    #[inline(always)]
    fn at_lane(self, lane: u32) -> Self {
        warp::shuffle(FULL, self, lane)
    }

    #[inline(always)]
    fn publish(self, state: Global<u64>, tag: u32) {
        publish(state, 0, tag, self);
    }

    #[inline(always)]
    fn look(state: Global<u64>) -> (u32, Self) {
        look(state, 0)
    }
}

/// A number of runs, and the values of the last of them combined, as far as they have been seen.
#[derive(Clone, Copy)]
pub struct Runs<V, O> {
    /// Runs that have begun.
    pub count: u32,
    /// The values since the last began; all values if none has.
    pub sum: V,
    operator: PhantomData<O>,
}

impl<V: Scalar, O: Operator<V>> Runs<V, O> {
    /// Runs and the sum of the last.
    #[inline(always)]
    pub fn new(count: u32, sum: V) -> Self {
        Self { count, sum, operator: PhantomData }
    }
}

impl<V: Scalar, O: Operator<V>> Carry for Runs<V, O> {
    const WORDS: u32 = 1 + state::words::<V>();
    const NOTHING: Self = Self { count: 0, sum: O::IDENTITY, operator: PhantomData };

    #[inline(always)]
    fn then(self, next: Self) -> Self {
        let sum = if next.count > 0 { next.sum } else { O::combine(self.sum, next.sum) };
        Self::new(self.count.then(next.count), sum)
    }

    #[inline(always)]
    fn at_lane(self, lane: u32) -> Self {
        Self::new(warp::shuffle(FULL, self.count, lane), warp::shuffle(FULL, self.sum, lane))
    }

    #[inline(always)]
    fn publish(self, state: Global<u64>, tag: u32) {
        publish(state, 0, tag, self.count);
        publish(state.slice(1, state::words::<V>()), 0, tag, self.sum);
    }

    #[inline(always)]
    fn look(state: Global<u64>) -> (u32, Self) {
        let (tag, count) = look::<u32>(state, 0);
        let (of_sum, sum) = look::<V>(state.slice(1, state::words::<V>()), 0);
        (if tag == of_sum { tag } else { state::NOTHING }, Self::new(count, sum))
    }
}

/// Words of the workspace for so many tiles: the ticket counter and the states. All are zero before a launch.
pub const fn workspace<C: Carry>(tiles: u32) -> u32 {
    STATES + tiles * C::WORDS
}

/// The number of the next tile, in the order in which blocks ask: so a block waits only for blocks that have started,
/// and nothing keeps those from ending. One thread of the block calls it.
#[inline(always)]
pub fn next_tile(workspace: Global<u64>) -> u32 {
    workspace.fetch_add(0, 1, Relaxed, Device) as u32
}

/// What stands before tile `number`, which adds `own`. One warp of the tile's block calls it.
#[inline(always)]
pub fn look_back<C: Carry>(workspace: Global<u64>, number: u32, own: C) -> C {
    let state = |tile: u32| workspace.slice(STATES + tile * C::WORDS, C::WORDS);
    let (lane, mut before, mut end) = (warp::lane_id(), C::NOTHING, number);
    if lane == 0 && number > 0 {
        own.publish(state(number), OWN);
    }
    loop {
        // Lane 0 looks at the tile just before `end`, the other lanes at the tiles before that one. The first tile
        // always has a prefix, so nothing has to be known of the lanes that look beyond it.
        let (tag, value) = if lane < end { wait(state(end - 1 - lane)) } else { (PREFIX, C::NOTHING) };
        let prefixes = warp::ballot(FULL, tag == PREFIX);
        // The nearest prefix contains all tiles before it.
        let mut part = if lane <= prefixes.trailing_zeros() { value } else { C::NOTHING };
        simt::unroll::<5>(|step| {
            // Lane l has its own tile and those of the 2^step - 1 lanes above it, which come first. Lanes whose partner
            // does not exist hold what lane 0 never asks for.
            let other = part.at_lane((lane + (1 << step)) % WARP);
            part = other.then(part);
        });
        before = part.at_lane(0).then(before);
        if prefixes != 0 {
            break;
        }
        end -= WARP;
    }
    if lane == 0 {
        before.then(own).publish(state(number), PREFIX);
    }
    before
}

/// A tile's state; waits until there is one.
#[inline(always)]
fn wait<C: Carry>(state: Global<u64>) -> (u32, C) {
    loop {
        let (tag, value) = C::look(state);
        if tag != state::NOTHING {
            return (tag, value);
        }
    }
}
