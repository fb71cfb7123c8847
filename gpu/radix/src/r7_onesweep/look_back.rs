//! Decoupled look-back: each tile publishes its number of keys for each digit, and a block adds up those of the earlier
//! tiles.

use super::DIGITS;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, thread, unroll};

/// The kind of a [`state`] that counts the keys of one tile.
pub const AGGREGATE: u64 = 1 << 32;
/// The kind of a [`state`] that counts the keys of a tile and of all tiles before it.
pub const PREFIX: u64 = 2 << 32;

/// The largest epoch. The host gives each pass the next epoch from 1 on; after the largest it clears `states` and
/// begins at 1 again.
pub const LAST_EPOCH: u32 = (1 << 30) - 1;

/// The word that a tile publishes for a digit: the epoch (30 bits), the kind of the count (2 bits), and the count (32
/// bits). The epoch tells the words of this pass from those that earlier passes left.
#[simt::device]
pub fn state(epoch: u32, kind: u64, count: u32) -> u64 {
    (epoch as u64) << 34 | kind | count as u64
}

/// True if the word was published in this epoch.
#[simt::device]
pub fn is_published(state: u64, epoch: u32) -> bool {
    state >> 34 == epoch as u64
}

/// How many keys with the digit of this thread the tiles before number `tile` have.
///
/// The loop spins until the states are published. It ends, because the blocks of all earlier tiles have started and
/// publish before they wait. The thread loads the states of several tiles at once, so that their latencies overlap.
#[simt::device]
pub fn look_back(states: Global<u64>, tile: u32, epoch: u32) -> u32 {
    /// States that a thread loads at once.
    const BATCH: usize = 4;
    let (mut sum, mut seen) = (0, 0);
    while seen < tile {
        let mut batch = [0; BATCH];
        let at = tile - 1 - seen;
        unroll::<BATCH>(|j| {
            if seen + (j as u32) < tile {
                // Relaxed: epoch, kind and count are one word, so no other access has to be ordered.
                batch[j] = states.load((at - j as u32) * DIGITS + thread::thread_idx_x(), Relaxed, Scope::Device);
            }
        });
        // Adds up to the first state that is not published yet, which is loaded again, or to a prefix, the last one.
        let mut go_on = true;
        unroll::<BATCH>(|j| {
            go_on &= is_published(batch[j], epoch);
            if go_on {
                sum += batch[j] as u32;
                seen += 1;
                if batch[j] & PREFIX != 0 {
                    go_on = false;
                    seen = tile;
                }
            }
        });
    }
    sum
}
