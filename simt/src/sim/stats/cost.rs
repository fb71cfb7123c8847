//! What one request of a warp costs: sectors of global memory, wavefronts of shared memory, lanes on one address.
//!
//! Addresses are those of the active lanes, each aligned to the size of its access, as the views promise.

use super::Addresses;

/// Bytes of a sector, the unit in which global memory is moved.
pub(super) const SECTOR: u64 = 32;

/// Banks of shared memory, each 4 bytes wide.
const BANKS: usize = 32;

/// The numbers of the lanes in `mask`.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// Sectors that the lanes of `mask` touch.
pub(super) fn sectors(mask: u32, addresses: &Addresses) -> u32 {
    let (mut count, mut last) = (0, None);
    for lane in lanes(mask) {
        let sector = Some(addresses[lane] / SECTOR);
        if sector < last {
            return different(mask, |lane| addresses[lane] / SECTOR);
        }
        count += (sector > last) as u32;
        last = sector;
    }
    count
}

/// The number of different values over the lanes of `mask`.
fn different(mask: u32, value: impl Fn(usize) -> u64) -> u32 {
    let (mut values, mut n) = ([0; 32], 0);
    for lane in lanes(mask) {
        values[n] = value(lane);
        n += 1;
    }
    values[..n].sort_unstable();
    values[..n].chunk_by(|a, b| a == b).count() as u32
}

/// The most lanes of `mask` that have the same address: the turns of atomic operations that are done one after another.
pub(super) fn turns(mask: u32, addresses: &Addresses) -> u32 {
    let mut sorted = [0; 32];
    let mut n = 0;
    let mut rising = true;
    for lane in lanes(mask) {
        sorted[n] = addresses[lane];
        rising &= n == 0 || sorted[n - 1] < sorted[n];
        n += 1;
    }
    if rising {
        return (n > 0) as u32;
    }
    sorted[..n].sort_unstable();
    sorted[..n].chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0) as u32
}

/// The wavefronts that a request of shared memory takes, and those it would take without conflicts.
///
/// A wavefront reads or writes one word of each bank; lanes with the same word share it. Accesses of 8 bytes go in two
/// halves of the warp and those of 16 bytes in four quarters, but two neighbouring parts go together where that takes
/// one wavefront.
pub(super) fn wavefronts(mask: u32, bytes: u32, addresses: &Addresses) -> (u32, u32) {
    let words = u64::from(bytes.div_ceil(4));
    if words == 1 {
        return (conflicts(mask, 1, addresses), 1);
    }
    let part = |parts: u32, i: u32| mask & ((u32::MAX >> (32 - 32 / parts)) << (i * 32 / parts));
    // A half of the warp, alone: of 16-byte accesses two quarters.
    let half = |i: u32| match words {
        2 => conflicts(part(2, i), 2, addresses),
        _ => {
            let quarter = |k: u32| conflicts(part(4, k), words, addresses);
            together(conflicts(part(2, i), words, addresses), quarter(2 * i) + quarter(2 * i + 1))
        }
    };
    let all = together(conflicts(mask, words, addresses), half(0) + half(1));
    let ideal = different(mask, |lane| addresses[lane] / u64::from(bytes)) * bytes / 4;
    (all, ideal.div_ceil(BANKS as u32).max(1).min(all))
}

/// The wavefronts of two parts, which go together if that takes one.
fn together(both: u32, apart: u32) -> u32 {
    if both <= 1 { both } else { apart }
}

/// The most different words that the lanes of `mask` want of one bank, `words` neighbouring words each.
fn conflicts(mask: u32, words: u64, addresses: &Addresses) -> u32 {
    let (mut held, mut used, mut clash) = ([0_u64; BANKS], 0_u32, false);
    for lane in lanes(mask) {
        let first = addresses[lane] / 4;
        for word in first..first + words {
            let bank = word as usize % BANKS;
            let known = used >> bank & 1 == 1;
            clash |= known && held[bank] != word;
            held[bank] = word;
            used |= 1 << bank;
        }
    }
    if !clash {
        return (used != 0) as u32;
    }
    // At most 32 lanes of 4 words.
    let (mut all, mut n) = ([0_u64; 128], 0);
    for lane in lanes(mask) {
        for word in 0..words {
            all[n] = addresses[lane] / 4 + word;
            n += 1;
        }
    }
    all[..n].sort_unstable();
    let mut of_bank = [0; BANKS];
    for word in all[..n].chunk_by(|a, b| a == b) {
        of_bank[word[0] as usize % BANKS] += 1;
    }
    of_bank.into_iter().max().unwrap_or(0)
}
