//! Where a part of a merge of several runs begins in each of them, found by one warp.

use crate::Key;
use crate::runs::Group;
use simt::warp::{self, FULL};
use simt::{Global, unroll};

/// How many keys of each run are among the first `d` of the group's merge, where equal keys are in the order of
/// their runs. Run i's number is what its lanes return, the `SAMPLES` lanes from `i * SAMPLES` on.
///
/// In each round every lane takes a sample from the open range of its run. The samples of the other runs bound how many
/// keys are before it, and so whether it is among the first `d`; from these answers each run gets its next range.
#[simt::device]
pub(super) fn split<K: Key, const WAYS: usize, const SAMPLES: usize>(keys: Global<K>, group: Group, d: u32) -> u32 {
    const { assert!(WAYS * SAMPLES == warp::WARP as usize) };
    let (lane, samples) = (warp::lane_id(), SAMPLES as u32);
    let (own, sample) = (lane / samples, lane % samples);
    let (start, len) = (group.first + group.start(own), group.len_of(own));
    let (mut low, mut high) = (0, if len < d { len } else { d });
    if d == group.len {
        low = high;
    }
    // All lanes go on until the last range is closed.
    while warp::any(FULL, low != high) {
        let open = high - low;
        let x = low + ((open as u64 * (2 * sample + 1) as u64) / (2 * samples) as u64) as u32;
        let key = keys.get(if open != 0 { start + x } else { group.first });
        let (mut least, mut most) = (0u32, 0u32);
        unroll::<WAYS>(|run| {
            // How many samples of that run come before this lane's key.
            let mut before = 0;
            unroll::<SAMPLES>(|j| {
                let other = warp::shuffle(FULL, key, (run * SAMPLES + j) as u32);
                let earlier = (run as u32) < own;
                before += if earlier { other <= key } else { other < key } as u32;
            });
            let first = (run * SAMPLES) as u32;
            let (its_low, its_open) = (warp::shuffle(FULL, low, first), warp::shuffle(FULL, open, first));
            let last_before = warp::shuffle(FULL, x, first + before.saturating_sub(1));
            let next = warp::shuffle(FULL, x, first + if before < samples { before } else { samples - 1 });
            let some = its_open != 0;
            let at_least = if some && before != 0 { last_before + 1 } else { its_low };
            let at_most = if some && before < samples { next } else { its_low + its_open };
            let mine = run as u32 == own;
            least = least.wrapping_add(if mine { x } else { at_least });
            most = most.wrapping_add(if mine { x } else { at_most });
        });
        let mut next_low = if open != 0 && most < d { x + 1 } else { low };
        let mut next_high = if open != 0 && least >= d { x } else { high };
        let mut distance = 1;
        while distance < samples {
            next_low = next_low.max(warp::shuffle_xor(FULL, next_low, distance));
            next_high = next_high.min(warp::shuffle_xor(FULL, next_high, distance));
            distance *= 2;
        }
        (low, high) = (next_low, next_high);
    }
    low
}
