//! Prefixes of tiles by decoupled look-back, of anything that can be combined.
//!
//! What a tile hands on is a [`Carry`]. Its state may be several words; each has a tag, and the state is complete when
//! all tags are the same, so every access can be relaxed (see [`rungs_common::state`]).

use crate::WARPS;
use core::marker::PhantomData;
use rungs_common::operator::Operator;
use rungs_common::state::{self, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared, thread};

/// Tag of a state that holds what the tile adds.
const OWN: u32 = 1;
/// Tag of a state that holds the tile's prefix: everything up to the tile's end.
const PREFIX: u32 = 2;

/// Where the states begin in a workspace: 128 bytes after the ticket counter, which all blocks increment.
const STATES: u32 = 16;

/// Most words of a [`Carry`].
pub const MOST_WORDS: usize = 4;

/// What a tile hands on to the tiles behind it.
pub trait Carry: Copy {
    /// Words of 32 bits, at most [`MOST_WORDS`]. A tile's state has a word of 64 for each: it and a tag.
    const WORDS: u32;
    /// What stands before the first tile.
    const NOTHING: Self;

    /// Both together; `self` comes first.
    fn then(self, next: Self) -> Self;
    /// Its words; those from [`Carry::WORDS`] on do not count.
    fn to_words(self) -> [u32; MOST_WORDS];
    /// The inverse.
    fn from_words(words: [u32; MOST_WORDS]) -> Self;

    /// The same value of another lane; all lanes call it.
    #[simt::device]
    #[track_caller]
    fn at_lane(self, lane: u32) -> Self {
        let words = self.to_words();
        Self::of_each(|i| warp::shuffle(FULL, words[i], lane))
    }

    /// Made of its words.
    #[simt::device]
    fn of_each(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut words = [0; MOST_WORDS];
        simt::unroll::<MOST_WORDS>(|i| {
            if (i as u32) < Self::WORDS {
                words[i] = word(i);
            }
        });
        Self::from_words(words)
    }

    /// Passes on each of its words.
    #[simt::device]
    fn for_each(self, mut take: impl FnMut(u32, u32)) {
        let words = self.to_words();
        simt::unroll::<MOST_WORDS>(|i| {
            if (i as u32) < Self::WORDS {
                take(i as u32, words[i]);
            }
        });
    }

    /// Stores word i in place `at` + i · `stride`.
    #[simt::device]
    #[track_caller]
    fn store(self, to: Shared<u32>, at: u32, stride: u32) {
        self.for_each(|i, word| to.set(at + i * stride, word));
    }

    /// Reads what [`Carry::store`] has stored.
    #[simt::device]
    #[track_caller]
    fn load(from: Shared<u32>, at: u32, stride: u32) -> Self {
        Self::of_each(|i| from.get(at + i as u32 * stride))
    }

    /// Writes a state to the words of `state`.
    #[simt::device]
    fn publish(self, state: Global<u64>, tag: u32) {
        self.for_each(|i, word| publish(state, i, tag, word));
    }

    /// Reads a state; the tag is [`state::NOTHING`] while it is missing or only partly written.
    #[simt::device]
    fn look(state: Global<u64>) -> (u32, Self) {
        let (mut first, mut same) = (state::NOTHING, true);
        let value = Self::of_each(|i| {
            let (tag, word) = look::<u32>(state, i as u32);
            (first, same) = if i == 0 { (tag, true) } else { (first, same && tag == first) };
            word
        });
        (if same { first } else { state::NOTHING }, value)
    }
}

/// A scalar as two words.
#[simt::device]
pub(crate) fn halves<V: Scalar>(value: V) -> [u32; 2] {
    let bits = value.to_bits_64();
    [bits as u32, (bits >> 32) as u32]
}

/// The inverse of [`halves`].
#[simt::device]
pub(crate) fn whole<V: Scalar>(low: u32, high: u32) -> V {
    V::from_bits_64((high as u64) << 32 | low as u64)
}

/// A number of items.
impl Carry for u32 {
    const WORDS: u32 = 1;
    const NOTHING: Self = 0;

    #[simt::device]
    fn then(self, next: Self) -> Self {
        // Lanes that no result depends on may add numbers twice and pass 2³².
        self.wrapping_add(next)
    }

    #[simt::device]
    fn to_words(self) -> [u32; MOST_WORDS] {
        [self, 0, 0, 0]
    }

    #[simt::device]
    fn from_words(words: [u32; MOST_WORDS]) -> Self {
        words[0]
    }
}

/// Elements combined by an operator, in their order.
#[derive(Clone, Copy)]
pub struct Combined<V, O> {
    /// The result.
    pub value: V,
    operator: PhantomData<O>,
}

impl<V: Scalar, O: Operator<V>> Combined<V, O> {
    /// The result `value`.
    #[simt::device]
    pub fn new(value: V) -> Self {
        Self { value, operator: PhantomData }
    }
}

impl<V: Scalar, O: Operator<V>> Carry for Combined<V, O> {
    const WORDS: u32 = state::words::<V>();
    const NOTHING: Self = Self { value: O::IDENTITY, operator: PhantomData };

    #[simt::device]
    fn then(self, next: Self) -> Self {
        Self::new(O::combine(self.value, next.value))
    }

    #[simt::device]
    fn to_words(self) -> [u32; MOST_WORDS] {
        let [low, high] = halves(self.value);
        [low, high, 0, 0]
    }

    #[simt::device]
    fn from_words(words: [u32; MOST_WORDS]) -> Self {
        Self::new(whole(words[0], words[1]))
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
    #[simt::device]
    pub fn new(count: u32, sum: V) -> Self {
        Self { count, sum, operator: PhantomData }
    }
}

impl<V: Scalar, O: Operator<V>> Carry for Runs<V, O> {
    const WORDS: u32 = 1 + state::words::<V>();
    const NOTHING: Self = Self { count: 0, sum: O::IDENTITY, operator: PhantomData };

    #[simt::device]
    fn then(self, next: Self) -> Self {
        let sum = if next.count > 0 { next.sum } else { O::combine(self.sum, next.sum) };
        Self::new(self.count.then(next.count), sum)
    }

    #[simt::device]
    fn to_words(self) -> [u32; MOST_WORDS] {
        let [low, high] = halves(self.sum);
        [self.count, low, high, 0]
    }

    #[simt::device]
    fn from_words(words: [u32; MOST_WORDS]) -> Self {
        Self::new(words[0], whole(words[1], words[2]))
    }
}

/// Words of the workspace for `tiles` tiles, which hand on `words` words: the ticket counter and the states. All are
/// zero before a launch.
pub const fn workspace_of(tiles: u32, words: u32) -> u32 {
    STATES + tiles * words
}

/// The same, of tiles that hand on `C`.
pub const fn workspace<C: Carry>(tiles: u32) -> u32 {
    workspace_of(tiles, C::WORDS)
}

/// The number of the next tile, in the order in which blocks ask: so a block waits only for blocks that have started,
/// and nothing keeps those from ending. One thread of the block calls it.
#[simt::device]
pub fn next_tile(workspace: Global<u64>) -> u32 {
    workspace.fetch_add(0, 1, Relaxed, Device) as u32
}

/// What stands before tile `number`, which adds `own`. One warp of the tile's block calls it.
#[simt::device]
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
#[simt::device]
fn wait<C: Carry>(state: Global<u64>) -> (u32, C) {
    loop {
        let (tag, value) = C::look(state);
        if tag != state::NOTHING {
            return (tag, value);
        }
    }
}

/// Scans what the lanes of a warp have: what the lanes below the calling lane have together, and what they and it have.
/// All lanes call it.
#[simt::device]
#[track_caller]
pub(crate) fn scan_warp<C: Carry>(own: C) -> (C, C) {
    let (lane, mut inclusive) = (warp::lane_id(), own);
    simt::unroll::<5>(|step| {
        let below = inclusive.at_lane((lane.wrapping_sub(1 << step)) % WARP);
        if lane >= 1 << step {
            inclusive = below.then(inclusive);
        }
    });
    let below = inclusive.at_lane(lane.wrapping_sub(1) % WARP);
    (if lane > 0 { below } else { C::NOTHING }, inclusive)
}

/// Words of shared memory that [`prefix`] takes: for each warp and for what stands before the tile.
pub const fn prefix_words<C: Carry>() -> u32 {
    (WARPS as u32 + 1) * C::WORDS
}

/// What [`prefix`] finds.
pub struct Prefix<C> {
    /// What stands before the tile.
    pub before: C,
    /// What stands before the thread's own items.
    pub start: C,
    /// The tile's items together.
    pub all: C,
}

/// Scans what the threads of tile `number` have, each `own`, over the block and the tiles before it. All threads of the
/// block call it; it contains two barriers, and `shared` is free again after the next.
#[simt::device]
pub fn prefix<C: Carry>(workspace: Global<u64>, number: u32, own: C, shared: Shared<u32>) -> Prefix<C> {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (in_warp, of_warp) = scan_warp(own);
    if lane == WARP - 1 {
        of_warp.store(shared, t / WARP * C::WORDS, 1);
    }
    thread::sync_threads(); // what the warps have is written before it is combined
    let (mut in_block, mut all) = (C::NOTHING, C::NOTHING);
    simt::unroll::<WARPS>(|w| {
        if w as u32 == t / WARP {
            in_block = all;
        }
        all = all.then(C::load(shared, w as u32 * C::WORDS, 1));
    });
    if t < WARP {
        let before = look_back(workspace, number, all);
        if t == 0 {
            before.store(shared, WARPS as u32 * C::WORDS, 1);
        }
    }
    thread::sync_threads(); // what stands before the tile is written before all threads read it
    let before = C::load(shared, WARPS as u32 * C::WORDS, 1);
    Prefix { before, start: before.then(in_block).then(in_warp), all }
}
