//! What one request of a warp costs: sectors of global memory, wavefronts of shared memory, lanes on one address.
//!
//! Addresses are those of the active lanes, each aligned to the size of its access, as the views promise.

/// The addresses of the lanes of a request; those of other lanes mean nothing.
pub(super) type Addresses = [u64; 32];

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

/// The most lanes of `mask` that have the same address: the turns of atomic operations that are done one at a time.
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

/// Sectors of a request of atomic read-modify-writes: lanes that have one address come in sequence, each time
/// with the sector.
pub(super) fn atomic_sectors(mask: u32, addresses: &Addresses) -> u32 {
    let (mut sorted, mut n) = ([0; 32], 0);
    for lane in lanes(mask) {
        sorted[n] = addresses[lane];
        n += 1;
    }
    sorted[..n].sort_unstable();
    let sectors = sorted[..n].chunk_by(|a, b| a / SECTOR == b / SECTOR);
    let turns = |sector: &[u64]| sector.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0);
    sectors.map(|sector| turns(sector) as u32).sum()
}

/// The wavefronts that a request of shared memory takes, and those it would take without conflicts.
///
/// A wavefront reads or writes one word of each bank; lanes with the same word share it. Accesses of 8 bytes go in two
/// halves of the warp, those of 16 bytes in four quarters; each part with an active lane takes a wavefront at least.
/// Two neighbouring parts of a load go together if neighbouring lanes want the same, or lanes that are two apart. This
/// is what an H200 does in each of 84 patterns (simt/tests/stats.rs has some).
pub(super) fn wavefronts(mask: u32, bytes: u32, loads: bool, addresses: &Addresses) -> (u32, u32) {
    let words = bytes.div_ceil(4);
    if words == 1 {
        return (conflicts(mask, 1, addresses), 1);
    }
    let pairs = loads && (pairs_share(mask, 1, addresses) || pairs_share(mask, 2, addresses));
    let parts = if pairs { words / 2 } else { words };
    let lanes_of_part = 32 / parts;
    let (mut wavefronts, mut least) = (0, 0);
    for i in 0..parts {
        let part = mask & ((u32::MAX >> (32 - lanes_of_part)) << (i * lanes_of_part));
        wavefronts += conflicts(part, words.into(), addresses);
        least += (part != 0) as u32;
    }
    (wavefronts, least)
}

/// Whether each lane and the one whose number differs by the bit `distance` have the same address, if both are active.
fn pairs_share(mask: u32, distance: usize, addresses: &Addresses) -> bool {
    lanes(mask).all(|i| mask >> (i ^ distance) & 1 == 0 || addresses[i] == addresses[i ^ distance])
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
