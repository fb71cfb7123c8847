//! A tile that a block sorts or merges with 32 keys per thread, by transposing.
//!
//! The registers of a thread hold 32 keys whose places in the tile differ in five neighbouring bits, so five steps of
//! the network need no other thread. There are three such windows: the lowest five bits, the five above them, and the
//! highest five. A change of window is a transposition in shared memory. Threads of one warp exchange keys between the
//! lowest window and the middle one, so a barrier of the warp is enough there; only the highest window needs a barrier
//! of the block.
//!
//! Every comparator is a minimum and a maximum, ascending. Where a run has to descend, its keys are negated (all bits
//! flipped, which reverses their order) while they are in registers and in shared memory.

use rungs_common::keys::{Key, UNSIGNED, Word};
use simt::{Global, Shared, thread, unroll, warp};

/// Keys per thread.
pub const KEYS: usize = 32;

/// log₂ of [`KEYS`], the bits of a window.
pub const WINDOW: u32 = KEYS.trailing_zeros();

/// The size of a tile, as a type: a kernel has an instance for each.
pub trait Size: 'static {
    /// log₂ of the keys of a tile: 13 or 14.
    const BITS: u32;
}

/// Tiles of 2^`B` keys.
pub struct Tile<const B: u32>;

impl<const B: u32> Size for Tile<B> {
    const BITS: u32 = B;
}

/// Threads per block.
pub const fn threads<N: Size>() -> u32 {
    1 << (N::BITS - WINDOW)
}

/// Fewest blocks per SM: for keys of 4 bytes 1024 threads, 64 registers each; for keys of 8 bytes, which take twice the
/// registers, 512 threads.
pub const fn min_blocks<T, N: Size>() -> u32 {
    1024 / threads::<N>() / (size_of::<T>() as u32 / 4)
}

/// Bytes of dynamic shared memory per block for keys of type `T`.
pub const fn shared_bytes<T, N: Size>() -> u32 {
    padded(1 << N::BITS) * size_of::<T>() as u32
}

/// Where place `i` is in shared memory: there is a gap after every 32 places, so that no window has bank conflicts. For
/// `a` and `b` without common bits, `padded(a | b)` is `padded(a) + padded(b)`.
const fn padded(i: u32) -> u32 {
    i + (i >> WINDOW)
}

/// Where the three windows of thread `t` are in the padded tile, from the lowest: the place of register 0, and the
/// distance from each register to the next.
#[simt::device]
fn windows<N: Size>(t: u32) -> [(u32, u32); 3] {
    let (warp, lane) = (t >> WINDOW, t & (KEYS as u32 - 1));
    let lowest = (padded(t << WINDOW), 1);
    let middle = (padded(warp << (2 * WINDOW)) + lane, padded(1 << WINDOW));
    [lowest, middle, (padded(t), padded(1 << (N::BITS - WINDOW)))]
}

/// The bit of the highest window from which on down the middle window has the bits of the tile.
const fn overlap<N: Size>() -> u32 {
    3 * WINDOW - N::BITS
}

/// Whether the run of 2^`stage` keys that has the key at `place` descends, in a sort whose last key is at `last`. Runs
/// descend in turn, and the run that has the last key ascends in every stage: places past the end count as the largest
/// key, and in that run they stay where they are.
#[simt::device]
pub fn descends(place: u32, last: u32, stage: u32) -> bool {
    // The runs of the last stage may have 2³² places.
    stage < u32::BITS && (place ^ last) >> stage & 1 != 0
}

/// All bits, or none.
#[simt::device]
pub fn mask<T: Key>(descending: bool) -> T {
    if descending { T::LAST } else { T::default() }
}

/// The keys of a thread.
struct Own<T>([T; KEYS]);

impl<T: Key + Word> Own<T> {
    #[simt::device]
    fn from_fn(mut source: impl FnMut(u32) -> T) -> Self {
        let mut keys = [T::LAST; KEYS];
        unroll::<KEYS>(|r| keys[r] = source(r as u32));
        Self(keys)
    }

    #[simt::device]
    fn load(tile: Shared<T>, (base, step): (u32, u32)) -> Self {
        Self::from_fn(|r| tile.get(base + r * step))
    }

    #[simt::device]
    fn store(&self, tile: Shared<T>, (base, step): (u32, u32)) {
        unroll::<KEYS>(|r| tile.set(base + r as u32 * step, self.0[r]));
    }

    /// Flips the bits of `mask` in all keys.
    #[simt::device]
    fn flip(&mut self, mask: T) {
        unroll::<KEYS>(|r| self.0[r] = self.0[r] ^ mask);
    }

    /// A step between registers whose numbers differ in `bit`; those that have a bit of `descending` sort downwards.
    #[simt::device]
    fn step(&mut self, bit: usize, descending: usize) {
        unroll::<KEYS>(|r| {
            if r & bit == 0 {
                let (a, b) = (self.0[r], self.0[r | bit]);
                let (low, high) = (a.min(b), a.max(b));
                (self.0[r], self.0[r | bit]) = if r & descending == 0 { (low, high) } else { (high, low) };
            }
        });
    }

    /// The steps of the window's bits from `high` down to `low`, upwards. All threads of the block take the same
    /// branches.
    #[simt::device]
    fn steps(&mut self, high: u32, low: u32) {
        unroll::<5>(|i| {
            let bit = WINDOW - 1 - i as u32;
            if bit <= high && bit >= low {
                self.step(1 << bit, 0);
            }
        });
    }
}

/// The keys of tile `number`.
#[simt::device]
fn tile_of<T: Key, N: Size>(keys: Global<T>, number: u32) -> Global<T> {
    let first = number << N::BITS;
    let left = keys.len().saturating_sub(first);
    keys.slice(first, if left < 1 << N::BITS { left } else { 1 << N::BITS })
}

/// Calls `f` with the number of each register and its key's place in a whole tile, in a view that begins with the
/// thread's first key. Each place is a constant there; places in the tile would each take registers for an address.
#[simt::device]
fn in_whole<T: Key, N: Size>(keys: Global<T>, t: u32, mut f: impl FnMut(Global<T>, usize, u32)) {
    let own = keys.slice(t, (1 << N::BITS) - t);
    unroll::<KEYS>(|r| f(own, r, (r as u32) << (N::BITS - WINDOW)));
}

/// The keys of a tile in the highest window. Lanes load neighbouring keys; a place past the end has the largest key.
#[simt::device]
fn fetch<T: Key + Word, N: Size>(keys: Global<T>, t: u32, encode: u32) -> Own<T> {
    let at = |r: u32| r << (N::BITS - WINDOW) | t;
    // Two copies: without a test for each key, all loads of a whole tile are issued together.
    if keys.len() == 1 << N::BITS {
        let mut own = Own([T::LAST; KEYS]);
        in_whole::<T, N>(keys, t, |keys, r, at| own.0[r] = keys.get(at).encode(encode));
        own
    } else {
        Own::from_fn(|r| if at(r) < keys.len() { keys.get(at(r)).encode(encode) } else { T::LAST })
    }
}

/// Writes the keys of a tile from the highest window.
#[simt::device]
fn put<T: Key + Word, N: Size>(own: &Own<T>, keys: Global<T>, t: u32, decode: u32) {
    if keys.len() == 1 << N::BITS {
        in_whole::<T, N>(keys, t, |keys, r, at| keys.set(at, own.0[r].decode(decode)));
        return;
    }
    unroll::<KEYS>(|r| {
        let at = (r as u32) << (N::BITS - WINDOW) | t;
        if at < keys.len() {
            keys.set(at, own.0[r].decode(decode));
        }
    });
}

/// Sorts tile `number` in place. The keys are mapped by `encode` before and by the inverse of `decode` after.
#[simt::device]
pub fn sort_tile<T: Key + Word, N: Size>(keys: Global<T>, number: u32, encode: u32, decode: u32, descending: bool) {
    let (keys, t) = (tile_of::<T, N>(keys, number), thread::thread_idx_x());
    let (tile, [lowest, middle, highest]) = (Shared::<T>::dynamic(0, padded(1 << N::BITS)), windows::<N>(t));
    // A sort may begin with its keys in any order, so the registers count as the lowest window.
    let mut own = fetch::<T, N>(keys, t, encode);
    own.step(1, 2);
    own.step(2, 4);
    own.step(1, 4);
    own.step(4, 8);
    own.step(2, 8);
    own.step(1, 8);
    own.step(8, 16);
    own.step(4, 16);
    own.step(2, 16);
    own.step(1, 16);
    // From here on a run is as long as a thread's keys or longer.
    let mut flipped = mask::<T>(t & 1 != 0);
    own.flip(flipped);
    own.steps(4, 0);
    let mut stage = WINDOW + 1;
    while stage <= N::BITS {
        let flip = mask::<T>(if stage < N::BITS { t >> (stage - WINDOW) & 1 != 0 } else { descending });
        own.flip(flipped ^ flip);
        flipped = flip;
        own.store(tile, lowest);
        if stage > 2 * WINDOW {
            thread::sync_threads(); // the highest window has keys of all warps
            own = Own::load(tile, highest);
            own.steps(stage - 1 - (N::BITS - WINDOW), overlap::<N>());
            own.store(tile, highest);
            thread::sync_threads(); // the middle window has keys that other warps have just stored
        } else {
            warp::sync_warp(warp::FULL); // the middle window has keys of all lanes
        }
        own = Own::load(tile, middle);
        own.steps(if stage < 2 * WINDOW { stage - 1 - WINDOW } else { WINDOW - 1 }, 0);
        own.store(tile, middle);
        warp::sync_warp(warp::FULL); // the lowest window has keys that other lanes have just stored
        own = Own::load(tile, lowest);
        own.steps(4, 0);
        stage += 1;
    }
    own.flip(flipped);
    own.store(tile, lowest);
    thread::sync_threads(); // keys leave the tile in the highest window
    put::<T, N>(&Own::load(tile, highest), keys, t, decode);
}

/// The steps inside tile `number` that end a longer stage, in place; then the inverse of `decode`.
#[simt::device]
pub fn merge_tile<T: Key + Word, N: Size>(keys: Global<T>, number: u32, decode: u32, descending: bool) {
    let (keys, t) = (tile_of::<T, N>(keys, number), thread::thread_idx_x());
    let (tile, [lowest, middle, highest]) = (Shared::<T>::dynamic(0, padded(1 << N::BITS)), windows::<N>(t));
    let mut own = fetch::<T, N>(keys, t, UNSIGNED);
    own.flip(mask(descending));
    own.steps(4, overlap::<N>());
    own.store(tile, highest);
    thread::sync_threads(); // the middle window has keys of other warps
    own = Own::load(tile, middle);
    own.steps(4, 0);
    own.store(tile, middle);
    warp::sync_warp(warp::FULL); // the lowest window has keys of other lanes
    own = Own::load(tile, lowest);
    own.steps(4, 0);
    own.flip(mask(descending));
    own.store(tile, lowest);
    thread::sync_threads(); // keys leave the tile in the highest window
    put::<T, N>(&Own::load(tile, highest), keys, t, decode);
}
