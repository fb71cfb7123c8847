//! The ring of tiles in shared memory: where the tile of a stage lies, where its items go, and the thread that copies
//! tiles to the ring and from it.

use super::{BEFORE, DONE, DRAWN, FRONT, FULL_AT, KEPT, STAGE_BYTES, STAGES, tile};
use rungs_common::ring::Place;
use rungs_common::state::NOTHING;
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::Mbarrier;
use simt::{Global, Scalar, Shared, bulk, thread, unroll};

/// A tile in a stage of the ring.
#[derive(Clone, Copy)]
pub(super) struct Staged<T> {
    pub(super) number: u32,
    /// The tag of this launch's states.
    pub(super) tag: u32,
    /// Its items.
    pub(super) len: u32,
    /// The whole stage: a pack in front of the tile, the tile, and two packs.
    pub(super) room: Shared<T>,
}

/// A part of a tile's items on its way to an output.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Where its first item stands in the stage: as far from a multiple of 16 bytes as its place in the output.
    pub(super) first: u32,
    /// Its place in the output.
    to: u32,
    len: u32,
}

/// The tile in a stage.
#[inline(always)]
fn tile_at<T: Scalar>(input: Global<T>, stage: u32) -> Staged<T> {
    let drawn = DRAWN::view().get(stage);
    let (number, tag) = (drawn as u32, (drawn >> 32) as u32 + 1);
    let len = input.len().wrapping_sub(number.wrapping_mul(tile::<T>())).min(tile::<T>());
    Staged { number, tag, len, room: Shared::dynamic(stage * STAGE_BYTES, STAGE_BYTES / size_of::<T>() as u32) }
}

/// Tiles of the input.
#[inline(always)]
fn tiles<T: Scalar>(input: Global<T>) -> u32 {
    input.len().div_ceil(tile::<T>())
}

/// Waits for the tile at `place`; `None` if there are no more tiles.
#[inline(always)]
pub(super) fn next_tile<T: Scalar>(input: Global<T>, place: Place) -> Option<Staged<T>> {
    Mbarrier::at(FULL_AT::view(), place.stage).wait(place.parity);
    Some(tile_at(input, place.stage)).filter(|tile| tile.number < tiles(input))
}

impl<T: Scalar> Staged<T> {
    /// Whether the whole tile is inside the input.
    #[inline(always)]
    pub(super) fn is_whole(self) -> bool {
        self.len == tile::<T>()
    }

    /// The places of the tile's items.
    #[inline(always)]
    pub(super) fn items(self) -> Shared<T> {
        self.room.slice(T::PACK, tile::<T>())
    }

    /// The kept items and the others, once they are compacted: `kept` of them, with `before` in the tiles before.
    #[inline(always)]
    pub(super) fn parts(self, before: u32, kept: u32) -> (Part, Part) {
        let first = before % T::PACK;
        let (to, behind) = (self.number * tile::<T>() - before, (first + kept).next_multiple_of(T::PACK));
        (Part { first, to: before, len: kept }, Part { first: behind + to % T::PACK, to, len: self.len - kept })
    }

    /// Copies the tile to its stage, with the pack before it if `with_last`, and completes the stage's phase.
    #[inline(always)]
    fn load(self, input: Global<T>, with_last: bool, full: Mbarrier) {
        let start = self.number * tile::<T>();
        let (packed, front) = (self.len / T::PACK * T::PACK, if with_last && self.number > 0 { T::PACK } else { 0 });
        // Bulk copies move packs: the last tile may have items behind its packs.
        unroll::<3>(|i| {
            let i = packed + i as u32;
            if i < self.len {
                self.items().set(i, input.get(start + i));
            }
        });
        full.arrive_expecting((front + packed) * size_of::<T>() as u32);
        if front + packed > 0 {
            let from = input.slice(start - front, front + packed);
            bulk::load(self.room.slice(T::PACK - front, front + packed), from, full);
        }
    }

    /// Starts to store a part of the tile.
    #[inline(always)]
    fn store(self, part: Part, output: Global<T>) {
        let Part { first, to, len } = part;
        // The ends that fill no pack of the output.
        let head = ((T::PACK - to % T::PACK) % T::PACK).min(len);
        let body = (len - head) / T::PACK * T::PACK;
        if body > 0 {
            bulk::store(output.slice(to + head, body), self.room.slice(first + head, body));
        }
        unroll::<3>(|i| {
            let (i, j) = (i as u32, head + body + i as u32);
            if i < head {
                output.set(to + i, self.room.get(first + i));
            }
            if j < len {
                output.set(to + j, self.room.get(first + j));
            }
        });
    }
}

/// The thread that draws tiles from `control` and copies them to the ring and from it.
#[inline(always)]
pub(super) fn copy_tiles<T: Scalar, const PARTITION: bool>(
    input: Global<T>,
    (output, count): (Global<T>, Global<u32>),
    (rest, rest_count): (Global<T>, Global<u32>),
    (control, states): (Global<u64>, Global<u64>),
    mut drawn: u64,
    with_last: bool,
) {
    const { assert!(FRONT == 16, "a pack") };
    let (tiles, mut place, mut round, mut begun) = (tiles(input), Place::FIRST, 0, 0);
    let write_counts = |kept: u32| {
        count.set(0, kept);
        if PARTITION {
            rest_count.set(0, input.len() - kept);
        }
    };
    loop {
        let (stage, full) = (place.stage, Mbarrier::at(FULL_AT::view(), place.stage));
        if round >= STAGES {
            if round - STAGES == begun {
                return;
            }
            // The stage's tile, which is in the phase before.
            Mbarrier::at(DONE::view(), stage).wait(place.parity ^ 1);
            let (tile, before, here) = (tile_at(input, stage), BEFORE::view().get(stage), KEPT::view().get(stage));
            let (kept, others) = tile.parts(before, here);
            tile.store(kept, output);
            if PARTITION {
                tile.store(others, rest);
            }
            if tile.number == tiles - 1 {
                write_counts(before + here);
            }
            bulk::commit();
            bulk::wait_read::<0>(); // the stage has been read before the next tile overwrites it,
            bulk::fence(); // by this thread too
        }
        // As long as there are tiles, one begins in each round.
        if round == begun {
            let (launch, number) = ((drawn >> 32) as u32, drawn as u32);
            DRAWN::view().set(stage, drawn);
            if number < tiles {
                tile_at(input, stage).load(input, with_last, full);
                // A launch clears one of the words that it does not use, a different one each time: so no tag survives
                // until the launch counter wraps.
                let unused = launch % states.len();
                if number == 0 && unused >= tiles {
                    states.store(unused, NOTHING as u64, Relaxed, Device);
                }
                begun += 1;
                // For the next round. It comes last, so that this tile does not wait for the atomic.
                drawn = control.fetch_add(0, 1, Relaxed, Device);
            } else {
                full.arrive(); // the other roles see that there are no more tiles
                if tiles == 0 && number == 0 {
                    write_counts(0);
                }
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
