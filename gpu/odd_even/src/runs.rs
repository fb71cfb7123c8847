//! Runs that a block sorts with 32 keys per thread: a bitonic network, as in [`rungs_bitonic::transposed`].
//!
//! The registers of a thread hold 32 keys whose places in the run differ in five neighbouring bits, a window. There are
//! three: the lowest five bits, the five above them, and the highest five. Keys change windows through shared memory.
//! Between the lowest and the middle window only the threads of a warp exchange keys.
//!
//! Every comparator is a minimum and a maximum, ascending. Where a part of the run has to descend, its keys are negated
//! (all bits flipped) while they are in registers and in shared memory.

use rungs_common::keys::{Key, Word};
use simt::{Global, Shared, thread, unroll, warp};

/// Keys per thread.
const KEYS: usize = 32;

/// log₂ of [`KEYS`], the bits of a window.
const WINDOW: u32 = KEYS.trailing_zeros();

/// The size of a run, as a type: a kernel has an instance for each.
pub trait Size: 'static {
    /// log₂ of the keys of a run: 13, 14 or 15.
    const BITS: u32;
}

/// Runs of 2^`B` keys.
pub struct Run<const B: u32>;

impl<const B: u32> Size for Run<B> {
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

/// Where place `i` is in shared memory: there is a gap after every 32 places, so that no window has bank conflicts. For
/// `a` and `b` without common bits, `padded(a | b)` is `padded(a) + padded(b)`.
pub const fn padded(i: u32) -> u32 {
    i + (i >> WINDOW)
}

/// The keys of a thread.
struct Own<T>([T; KEYS]);

impl<T: Key> Own<T> {
    #[simt::device]
    fn from_fn(mut source: impl FnMut(u32) -> T) -> Self {
        let mut keys = [T::LAST; KEYS];
        unroll::<KEYS>(|r| keys[r] = source(r as u32));
        Self(keys)
    }

    /// The keys of a window: register 0 has the one at `base`, the next the one `step` places on.
    #[simt::device]
    fn load(tile: Shared<T>, (base, step): (u32, u32)) -> Self {
        Self::from_fn(|r| tile.get(base + r * step))
    }

    #[simt::device]
    fn store(&self, tile: Shared<T>, (base, step): (u32, u32)) {
        unroll::<KEYS>(|r| tile.set(base + r as u32 * step, self.0[r]));
    }

    /// Flips all bits of all keys.
    #[simt::device]
    fn negate(&mut self, negate: bool) {
        let mask = if negate { T::LAST } else { T::default() };
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

/// Sorts the keys `from` into `to`, which may be the same: a run of 2^`BITS` keys, or fewer at the end. They are mapped
/// by `encode` before and by the inverse of `decode` after.
#[simt::device]
pub fn sort_run<T: Key + Word, N: Size>(from: Global<T>, to: Global<T>, encode: u32, decode: u32) {
    let (t, top) = (thread::thread_idx_x(), N::BITS - WINDOW);
    let tile = Shared::<T>::dynamic(0, padded(1 << N::BITS));
    let lowest = (padded(t << WINDOW), 1);
    let middle = (padded(t >> WINDOW << (2 * WINDOW)) + t % KEYS as u32, padded(1 << WINDOW));
    let highest = (padded(t), padded(1 << top));
    // Lanes load neighbouring keys. A place past the end has the largest key. A sort may begin with its keys in any
    // order, so the registers count as the lowest window. Two copies: without a test for each key, all loads of a whole
    // run are issued together.
    let whole = from.len() == 1 << N::BITS;
    let mut own = if whole {
        Own::from_fn(|r| from.get(r << top | t).encode(encode))
    } else {
        Own::from_fn(|r| if r << top | t < from.len() { from.get(r << top | t).encode(encode) } else { T::LAST })
    };
    // The first four stages stay within a thread.
    unroll::<4>(|stage| {
        unroll::<4>(|i| {
            if i <= stage {
                own.step(1 << (stage - i), 2 << stage);
            }
        });
    });
    // From here on a part that ascends or descends is as long as a thread's keys or longer.
    let mut negated = t & 1 != 0;
    own.negate(negated);
    own.steps(4, 0);
    let mut stage = WINDOW + 1;
    while stage <= N::BITS {
        let descends = stage < N::BITS && t >> (stage - WINDOW) & 1 != 0;
        own.negate(negated != descends);
        negated = descends;
        own.store(tile, lowest);
        if stage > 2 * WINDOW {
            thread::sync_threads(); // the highest window has keys of all warps
            own = Own::load(tile, highest);
            // The window's bits that the middle one does not have.
            own.steps(stage - 1 - top, 2 * WINDOW - top);
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
    own.store(tile, lowest);
    thread::sync_threads(); // keys leave the tile in the highest window
    own = Own::load(tile, highest);
    unroll::<KEYS>(|r| {
        let at = (r as u32) << top | t;
        if whole || at < to.len() {
            to.set(at, own.0[r].decode(decode));
        }
    });
}
