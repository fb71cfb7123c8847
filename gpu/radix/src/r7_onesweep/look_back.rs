//! What tiles tell each other: for each digit how many keys they have, in words that carry the pass they belong to.

use super::DIGITS;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, thread, unroll};

/// What a tile publishes per digit, in one word: the epoch (30 bits, so that what an earlier pass left is not taken for
/// a state of this one), what the count includes (2 bits), the count (32 bits). This is a count of the tile alone.
pub const OWN: u64 = 1 << 32;
/// A count of the tile and of all tiles before it.
pub const ALL_SO_FAR: u64 = 2 << 32;

/// Epochs that fit a published word; the host counts passes from 1 to this and clears `states` before it starts anew.
pub const LAST_EPOCH: u32 = (1 << 30) - 1;

/// The word that a tile publishes for a digit. `kind`: what the sum includes.
#[inline(always)]
pub fn state(epoch: u32, kind: u64, sum: u32) -> u64 {
    (epoch as u64) << 34 | kind | sum as u64
}

/// Whether a tile has published the word in this epoch.
#[inline(always)]
pub fn is_of(state: u64, epoch: u32) -> bool {
    state >> 34 == epoch as u64
}

/// How many keys with the digit of this thread the tiles before number `tile` have. It asks for the states of several
/// tiles at once: while the first of them is on its way, so are the others.
#[inline(always)]
pub fn look_back(states: Global<u64>, tile: u32, epoch: u32) -> u32 {
    /// States that a thread asks for at once.
    const BATCH: usize = 4;
    let (mut sum, mut seen) = (0, 0);
    while seen < tile {
        let mut batch = [0; BATCH];
        let at = tile - 1 - seen;
        unroll::<BATCH>(|j| {
            if seen + (j as u32) < tile {
                // Count and state are one word, so nothing else has to be ordered.
                batch[j] = states.load((at - j as u32) * DIGITS + thread::thread_idx_x(), Relaxed, Scope::Device);
            }
        });
        let mut there = true;
        unroll::<BATCH>(|j| {
            there &= is_of(batch[j], epoch);
            if there {
                sum += batch[j] as u32;
                seen += 1;
                if batch[j] & ALL_SO_FAR != 0 {
                    there = false;
                    seen = tile;
                }
            }
        });
    }
    sum
}
