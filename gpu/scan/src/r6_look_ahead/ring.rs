//! The ring of tiles in shared memory that `look-ahead` works on: where the tile of a stage lies in the input, and the
//! thread that copies tiles to the ring and back.

use super::{DONE, DRAWN, FULL, SQUAD, STAGES, TILE_BYTES, VECTORS, tile};
use rungs_common::ring::Place;
use rungs_common::state::{NOTHING, words};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::Mbarrier;
use simt::{Global, Scalar, Shared, bulk, thread, unroll};

/// How many elements `data` begins after a multiple of 16 bytes.
#[simt::device]
pub(super) fn past_pack<T: Scalar>(data: Global<T>) -> u32 {
    (data.as_ptr() as usize % 16 / size_of::<T>()) as u32
}

/// Tiles of the input. They begin at multiples of 16 bytes, so the first one may begin before the input.
#[simt::device]
fn tiles<T: Scalar>(input: Global<T>) -> u32 {
    (input.len() as u64 + past_pack(input) as u64).div_ceil(tile::<T>() as u64) as u32
}

/// A tile in a stage of the ring: place `i` has element `base + i` of the input, for `i` from `low` up to `high`. In
/// the first tile `base` may lie before element 0 and wraps.
#[derive(Clone, Copy)]
pub(super) struct Staged<T> {
    pub(super) number: u32,
    /// The tag of this launch's states.
    pub(super) tag: u32,
    pub(super) elements: Shared<T>,
    base: u32,
    low: u32,
    high: u32,
}

/// The tile in a stage.
#[simt::device]
fn tile_at<T: Scalar>(input: Global<T>, stage: u32) -> Staged<T> {
    let (drawn, elements) = (DRAWN::view().get(stage), Shared::dynamic(stage * TILE_BYTES, tile::<T>()));
    let (number, tag) = (drawn as u32, (drawn >> 32) as u32 + 1);
    let base = number.wrapping_mul(tile::<T>()).wrapping_sub(past_pack(input));
    let high = if number + 1 == tiles(input) { input.len().wrapping_sub(base) } else { tile::<T>() };
    Staged { number, tag, elements, base, low: if number == 0 { past_pack(input) } else { 0 }, high }
}

/// Waits for the tile at `place`; `None` if there are no more tiles.
#[simt::device]
pub(super) fn next_tile<T: Scalar>(input: Global<T>, place: Place) -> Option<Staged<T>> {
    Mbarrier::at(FULL::view(), place.stage).wait(place.parity);
    Some(tile_at(input, place.stage)).filter(|tile| tile.number < tiles(input))
}

impl<T: Scalar> Staged<T> {
    /// Whether the whole tile is inside the input.
    #[simt::device]
    pub(super) fn is_whole(self) -> bool {
        self.high - self.low == tile::<T>()
    }

    /// The first place of the packs that are wholly inside, and the number of their elements: bulk copies move packs.
    #[simt::device]
    fn packs(self) -> (u32, u32) {
        let first = if self.low > 0 { T::PACK } else { 0 };
        (first, (self.high / T::PACK * T::PACK).saturating_sub(first))
    }

    /// Fills the places that no bulk copy has filled: those inside the input with their elements, the others with the
    /// identity, which changes no sum. A squad makes the call.
    #[simt::device]
    pub(super) fn complete(self, input: Global<T>, t: u32, identity: T) {
        let (first, len) = self.packs();
        let mut i = if first == 0 { len + t } else { t };
        while i < tile::<T>() {
            if i < first || i >= first + len {
                let inside = i >= self.low && i < self.high;
                self.elements.set(i, if inside { input.get(self.base.wrapping_add(i)) } else { identity });
            }
            i += SQUAD;
        }
    }

    /// Stores the places inside the input. A squad makes the call.
    #[simt::device]
    pub(super) fn store(self, output: Global<T>, t: u32) {
        let mut start = t;
        while start < self.high {
            // Several places at a time, so that their loads overlap.
            unroll::<VECTORS>(|v| {
                let i = start + v as u32 * SQUAD;
                if i >= self.low && i < self.high {
                    output.set(self.base.wrapping_add(i), self.elements.get(i));
                }
            });
            start += VECTORS as u32 * SQUAD;
        }
    }
}

/// The thread that draws tiles from `control` and copies them to the ring and back.
#[simt::device]
#[rustfmt::skip]
pub(super) fn copy_tiles<T: Scalar>(
    input: Global<T>, output: Global<T>, control: Global<u64>, states: Global<u64>, mut drawn: u64,
) {
    let (tiles, mut place, mut round, mut begun) = (tiles(input), Place::FIRST, 0, 0);
    loop {
        let (stage, full) = (place.stage, Mbarrier::at(FULL::view(), place.stage));
        if round >= STAGES {
            if round - STAGES == begun {
                return;
            }
            // The stage's tile, which is in the phase before.
            Mbarrier::at(DONE::view(), stage).wait(place.parity ^ 1);
            let tile = tile_at(input, stage);
            if tile.is_whole() && past_pack(input) == past_pack(output) {
                bulk::store(output.slice(tile.base, tile.elements.len()), tile.elements);
                bulk::commit();
                bulk::wait_read::<0>(); // the stage has been read before the next tile overwrites it
            }
        }
        // As long as there are tiles, one begins in each round.
        if round == begun {
            let (launch, number) = ((drawn >> 32) as u32, drawn as u32);
            DRAWN::view().set(stage, drawn);
            if number < tiles {
                let tile = tile_at(input, stage);
                let (first, len) = tile.packs();
                full.arrive_expecting(len * size_of::<T>() as u32);
                if len > 0 {
                    let from = input.slice(tile.base.wrapping_add(first), len);
                    bulk::load(tile.elements.slice(first, len), from, full);
                }
                // A launch clears one of the words that it does not use, a different one each time: so no tag survives
                // until the launch counter wraps.
                let unused = launch % states.len();
                if number == 0 && unused >= tiles * words::<T>() {
                    states.store(unused, NOTHING as u64, Relaxed, Device);
                }
                begun += 1;
                // For the next round. It comes last, so that this tile does not wait for the atomic.
                drawn = control.fetch_add(0, 1, Relaxed, Device);
            } else {
                full.arrive(); // the other roles see that there are no more tiles
                if number == tiles + thread::grid_dim_x() - 1 {
                    // The last draw of the launch: no block reads the control word any more, so it is made ready for
                    // the next launch. Launches are numbered from 0 to 2³² - 3, so that a tag, which is one more, is
                    // never NOTHING.
                    let next = if launch == u32::MAX - 2 { 0 } else { launch + 1 };
                    control.store(0, (next as u64) << 32, Relaxed, Device);
                }
            }
        }
        (place, round) = (place.next(STAGES), round + 1);
    }
}
