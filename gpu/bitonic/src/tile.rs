//! A tile of 8192 keys that a block sorts or merges in registers.
//!
//! A thread holds 16 keys whose places in the tile differ in four neighbouring bits, a *window*. The four steps that
//! compare places differing in one of these bits need no other thread. To change to another window the block writes its
//! keys to shared memory and reads them back in the other order. Between two barriers only one thread reads and writes
//! a place, so one barrier per change is enough.
//!
//! A step that begins a stage compares mirror images instead: place p of the lower half with the p-th place from the
//! end of the upper half. A mirrored window holds such pairs: its registers of the upper half come from places with all
//! lower bits inverted.

use rungs_common::keys::{Key, key_or_last, set_if_inside};
use simt::{Global, Shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 512;

/// Bits of a window.
pub const WINDOW: u32 = 4;

/// Keys per thread.
pub const KEYS: usize = 1 << WINDOW;

/// Keys of a tile.
pub const TILE: u32 = BLOCK * KEYS as u32;

/// log₂ of [`TILE`].
pub const TILE_BITS: u32 = TILE.trailing_zeros();

/// The lowest bit of the highest window. There thread t has place t and every 512th place from it on, so that the loads
/// of a warp from global memory are contiguous.
pub const TOP: u32 = TILE_BITS - WINDOW;

/// Fewest blocks per SM for keys of type `T`: while one waits the other works. Keys of 8 bytes take twice
/// the registers, which leaves room for one block without spilling.
pub const fn min_blocks<T>() -> u32 {
    if size_of::<T>() > 4 { 1 } else { 2 }
}

/// Bytes of dynamic shared memory per block, for keys of `key_bytes` bytes.
pub const fn shared_bytes(key_bytes: u32) -> u32 {
    PADDED_TILE * key_bytes
}

/// Places of shared memory for a tile.
const PADDED_TILE: u32 = padded(TILE);

/// Where place `i` is in shared memory: there is a gap after every 32 places, so that threads with 16 neighbouring keys
/// each do not meet in a bank. For `a` and `b` without common bits, `padded(a | b)` is `padded(a) + padded(b)`.
const fn padded(i: u32) -> u32 {
    i + (i >> 5)
}

/// The tile of the launch's dynamic shared memory.
#[simt::device]
pub fn shared<T: Key>() -> Shared<T> {
    Shared::dynamic(0, PADDED_TILE)
}

/// Place of the thread's register 0 in the window from bit `low` on: the thread's number with four zeros inserted
/// there.
#[simt::device]
pub fn place(t: u32, low: u32) -> u32 {
    let below = (1 << low) - 1;
    ((t & !below) << WINDOW) | (t & below)
}

/// The same for the registers of the upper half, whose lower bits a mirrored window inverts.
#[simt::device]
pub fn upper_place(t: u32, low: u32, mirrored: bool) -> u32 {
    place(t, low) ^ if mirrored { (1 << low) - 1 } else { 0 }
}

/// The keys of a thread.
pub struct Registers<T>(pub [T; KEYS]);

impl<T: Key> Registers<T> {
    /// Keys from `source`, which takes a register's number and whether the register is of the upper half.
    #[simt::device]
    pub fn from_fn(mut source: impl FnMut(u32, bool) -> T) -> Self {
        let mut keys = [T::LAST; KEYS];
        unroll::<KEYS>(|r| keys[r] = source(r as u32, r >= KEYS / 2));
        Self(keys)
    }

    /// The keys of the tile's window from bit `low` on.
    #[simt::device]
    pub fn load(tile: Shared<T>, low: u32) -> Self {
        let base = padded(place(thread::thread_idx_x(), low));
        Self::from_fn(|r, _| tile.get(base + padded(r << low)))
    }

    /// Writes the keys to their places in the window from bit `low` on.
    #[simt::device]
    pub fn store(&self, tile: Shared<T>, low: u32, mirrored: bool) {
        let t = thread::thread_idx_x();
        let bases = [padded(place(t, low)), padded(upper_place(t, low, mirrored))];
        unroll::<KEYS>(|r| tile.set(bases[r / (KEYS / 2)] + padded((r as u32) << low), self.0[r]));
    }

    /// The steps of the bits in `mask`, from the highest bit down; `mirrored`: the first one compares mirror images.
    #[simt::device]
    pub fn steps(&mut self, mask: u32, mirrored: bool) {
        if mask & 8 != 0 {
            // All threads of the grid take the same branch, here and below.
            if mirrored {
                self.compare(8, 15);
            } else {
                self.compare(8, 8);
            }
        }
        if mask & 4 != 0 {
            self.compare(4, 4);
        }
        if mask & 2 != 0 {
            self.compare(2, 2);
        }
        if mask & 1 != 0 {
            self.compare(1, 1);
        }
    }

    /// One step over the pairs of registers whose numbers differ in the bits of `flip`, the highest of which is `bit`:
    /// the lower register of each pair gets the smaller key.
    #[simt::device]
    fn compare(&mut self, bit: usize, flip: usize) {
        unroll::<KEYS>(|r| {
            if r & bit == 0 {
                let (a, b) = (self.0[r], self.0[r ^ flip]);
                (self.0[r], self.0[r ^ flip]) = (a.min(b), a.max(b));
            }
        });
    }
}

/// The steps of all bits below `low`, on keys in shared memory that all threads see. Afterwards all threads see the
/// result.
#[simt::device]
fn merge_below<T: Key>(tile: Shared<T>, mut low: u32) {
    while low > 0 {
        // The last window may have fewer than four new bits; its other bits have been compared.
        let mask = if low < WINDOW { (1 << low) - 1 } else { KEYS as u32 - 1 };
        low = low.saturating_sub(WINDOW);
        let mut own = Registers::load(tile, low);
        own.steps(mask, false);
        own.store(tile, low, false);
        thread::sync_threads(); // the next window's threads read what these have written
    }
}

/// The keys of a tile: those from `first` on, at most [`TILE`].
#[simt::device]
pub fn keys_of_tile<T: Key>(keys: Global<T>, first: u32) -> Global<T> {
    let left = keys.len().saturating_sub(first);
    keys.slice(first, if left < TILE { left } else { TILE })
}

/// Sorts the keys of one tile, in place. Places past the end count as holding the largest key.
#[simt::device]
pub fn sort_tile<T: Key>(keys: Global<T>) {
    let (tile, t) = (shared::<T>(), thread::thread_idx_x());
    Registers::from_fn(|r, _| key_or_last(keys, t + (r << TOP))).store(tile, TOP, false);
    thread::sync_threads(); // the tile is whole before it is read in another order

    // The first four stages stay within 16 neighbouring places.
    let mut own = Registers::load(tile, 0);
    own.compare(1, 1);
    own.compare(2, 3);
    own.compare(1, 1);
    own.compare(4, 7);
    own.compare(2, 2);
    own.compare(1, 1);
    own.steps(15, true);
    own.store(tile, 0, false);
    thread::sync_threads(); // the next window's threads read what these have written

    let mut stage = WINDOW;
    while stage < TILE_BITS {
        let low = stage + 1 - WINDOW;
        let bases = [padded(place(t, low)), padded(upper_place(t, low, true))];
        let mut own = Registers::from_fn(|r, upper| tile.get(bases[upper as usize] + padded(r << low)));
        own.steps(15, true);
        own.store(tile, low, true);
        thread::sync_threads(); // as above
        merge_below(tile, low);
        stage += 1;
    }
    store_tile(keys, tile);
}

/// Merges one tile, in place: its two sorted halves if `mirrored`, else the bitonic runs that the longer steps left.
#[simt::device]
pub fn merge_tile<T: Key>(keys: Global<T>, mirrored: bool) {
    let (tile, t) = (shared::<T>(), thread::thread_idx_x());
    let bases = [t, upper_place(t, TOP, mirrored)];
    let mut own = Registers::from_fn(|r, upper| key_or_last(keys, bases[upper as usize] + (r << TOP)));
    own.steps(15, mirrored);
    own.store(tile, TOP, mirrored);
    thread::sync_threads(); // the tile is whole before it is read in another order
    merge_below(tile, TOP);
    store_tile(keys, tile);
}

/// Writes the tile back; neighbouring threads write neighbouring keys.
#[simt::device]
fn store_tile<T: Key>(keys: Global<T>, tile: Shared<T>) {
    let (t, own) = (thread::thread_idx_x(), Registers::load(tile, TOP));
    unroll::<KEYS>(|r| set_if_inside(keys, t + ((r as u32) << TOP), own.0[r]));
}
