//! The ring of tiles in shared memory: where the tile of a stage lies, and the thread that copies tiles to the ring and
//! what becomes of them from it.

use super::{BEFORE, DONE, DRAWN, FRONT, FULL_AT, Hands, Job, MOST_WORDS, OF_TILE, SQUAD};
use crate::compact::Keep;
use crate::look_back::Carry;
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
    /// Its items, of which a whole tile has `most`.
    pub(super) len: u32,
    most: u32,
    /// A pack in front of the tile, the tile, and what lies behind it.
    pub(super) room: Shared<T>,
    /// What stands before the items of each thread: a word of each thread after the other.
    pub(super) known: Shared<u32>,
}

/// Items of a tile on their way to an output.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Where the first item stands in the stage: as far from a multiple of 16 bytes as its place in the output.
    pub(super) first: u32,
    /// Its place in the output.
    pub(super) to: u32,
    pub(super) len: u32,
}

/// The tile in a stage.
#[simt::device]
fn tile_at<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(input: Global<T>, stage: u32) -> Staged<T> {
    let (drawn, shape) = (DRAWN::view().get(stage), J::SHAPE);
    let (number, tag) = (drawn as u32, (drawn >> 32) as u32 % J::Hands::TAGS + 1);
    let len = input.len().wrapping_sub(number.wrapping_mul(shape.tile)).min(shape.tile);
    let known = 4 * SQUAD * J::Hands::WORDS;
    let (start, room) = (stage * shape.stage_bytes, shape.stage_bytes - known);
    Staged {
        number,
        tag,
        len,
        most: shape.tile,
        room: Shared::dynamic(start, room / size_of::<T>() as u32),
        known: Shared::dynamic(start + room, known / 4),
    }
}

/// Waits for the tile at `place`; `None` if there are no more tiles.
#[simt::device]
pub(super) fn next_tile<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(
    input: Global<T>,
    place: Place,
) -> Option<Staged<T>> {
    Mbarrier::at(FULL_AT::view(), place.stage).wait(place.parity);
    Some(tile_at::<T, J, VECTORS>(input, place.stage)).filter(|tile| tile.number < input.len().div_ceil(tile.most))
}

impl<T: Scalar> Staged<T> {
    /// The place in the input of its first item.
    #[simt::device]
    pub(super) fn start(self) -> u32 {
        self.number * self.most
    }

    /// Whether the whole tile is inside the input.
    #[simt::device]
    pub(super) fn is_whole(self) -> bool {
        self.len == self.most
    }

    /// The places of the tile's items.
    #[simt::device]
    pub(super) fn items(self) -> Shared<T> {
        self.room.slice(T::PACK, self.most)
    }

    /// Room for another element of each item, behind the tile: a pack in front of them, as the tile has one.
    #[simt::device]
    pub(super) fn beside<V: Scalar>(self) -> Shared<V> {
        let (front, bytes) = (FRONT / size_of::<T>() as u32 + self.most, FRONT + self.most * size_of::<V>() as u32);
        self.room.slice(front, bytes / size_of::<T>() as u32).cast()
    }

    /// Copies the items, and `front` items before them, which fill packs, to the stage, except those that fill no pack,
    /// which this thread stores. Those in packs are copied by [`start_load`].
    #[simt::device]
    pub(super) fn copied(self, input: Global<T>, front: u32) -> (Shared<T>, Global<T>) {
        let from = input.slice(self.start() - front, front + self.len);
        load_end(self.room.slice(T::PACK - front, front + self.most), from)
    }
}

/// Copies the elements of `from` behind its last whole pack; gives the packs, which bulk copies move.
#[simt::device]
pub(super) fn load_end<T: Scalar>(to: Shared<T>, from: Global<T>) -> (Shared<T>, Global<T>) {
    let packed = from.len() / T::PACK * T::PACK;
    unroll::<3>(|i| {
        let i = packed + i as u32;
        if i < from.len() {
            to.set(i, from.get(i));
        }
    });
    (to.slice(0, packed), from.slice(0, packed))
}

/// Starts to copy packs, if there are any; `full` expects their bytes.
#[simt::device]
pub(super) fn start_load<T: Scalar>((to, from): (Shared<T>, Global<T>), full: Mbarrier) {
    if !to.is_empty() {
        bulk::load(to, from, full);
    }
}

/// Starts to store a part of the items in `room`.
#[simt::device]
pub(super) fn store<T: Scalar>(room: Shared<T>, Part { first, to, len }: Part, output: Global<T>) {
    // The ends that fill no pack of the output.
    let head = ((T::PACK - to % T::PACK) % T::PACK).min(len);
    let body = (len - head) / T::PACK * T::PACK;
    if body > 0 {
        bulk::store(output.slice(to + head, body), room.slice(first + head, body));
    }
    unroll::<3>(|i| {
        let (i, j) = (i as u32, head + body + i as u32);
        if i < head {
            output.set(to + i, room.get(first + i));
        }
        if j < len {
            output.set(to + j, room.get(first + j));
        }
    });
}

/// The thread that draws tiles from `control` and copies them to the ring and from it.
#[simt::device]
pub(super) fn copy_tiles<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(
    input: Global<T>,
    (control, states): (Global<u64>, Global<u64>),
    mut drawn: u64,
    job: J,
) {
    const { assert!(FRONT == 16, "a pack") };
    let (tiles, stages) = (input.len().div_ceil(J::SHAPE.tile), J::SHAPE.stages);
    let (mut place, mut round, mut begun) = (Place::FIRST, 0, 0);
    loop {
        let (stage, full) = (place.stage, Mbarrier::at(FULL_AT::view(), place.stage));
        if round >= stages {
            if round - stages == begun {
                return;
            }
            // The stage's tile, which is in the phase before.
            Mbarrier::at(DONE::view(), stage).wait(place.parity ^ 1);
            let tile = tile_at::<T, J, VECTORS>(input, stage);
            let [before, here] = [BEFORE::view(), OF_TILE::view()].map(|of| J::Hands::load(of, stage * MOST_WORDS, 1));
            job.store(tile, before, here);
            if tile.number == tiles - 1 {
                job.finish(before.then(here), input.len());
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
                let tile = tile_at::<T, J, VECTORS>(input, stage);
                job.load(tile, input, if J::Keep::LOOKS_BEHIND && number > 0 { T::PACK } else { 0 }, full);
                if number == 0 {
                    clear_unused::<J::Hands>(states, tiles, launch);
                }
                begun += 1;
                // For the next round. It comes last, so that this tile does not wait for the atomic.
                drawn = control.fetch_add(0, 1, Relaxed, Device);
            } else {
                full.arrive(); // the other roles see that there are no more tiles
                if tiles == 0 && number == 0 {
                    job.finish(J::Hands::NOTHING, 0);
                }
                if number == tiles + thread::grid_dim_x() - 1 {
                    // The last draw of the launch: no block reads the control word any more, so it is made ready for
                    // the next launch. Launches are numbered from 0 to 2³² - 3, so that a tag of 32 bits, which is one
                    // more, is never NOTHING.
                    let next = if launch == u32::MAX - 2 { 0 } else { launch + 1 };
                    control.store(0, (next as u64) << 32, Relaxed, Device);
                }
            }
        }
        (place, round) = (place.next(stages), round + 1);
    }
}

/// Clears some of the states that a launch does not use, others each time, so that no state survives until its tag
/// comes again.
#[simt::device]
fn clear_unused<H: Hands>(states: Global<u64>, tiles: u32, launch: u32) {
    let (mut unused, turns) = turns(launch, states.len(), H::TAGS);
    let mut i = 0;
    while i < turns {
        if unused >= tiles * H::STATE_WORDS {
            states.store(unused, NOTHING as u64, Relaxed, Device);
        }
        unused = if unused + 1 < states.len() { unused + 1 } else { 0 };
        i += 1;
    }
}

/// The first of `len` words whose turn it is in a launch, and how many there are. While the tags go round once, each
/// word has two turns: in the launch of its own tag, which may use it and then does not clear it, and in another.
#[simt::device]
pub const fn turns(launch: u32, len: u32, tags: u32) -> (u32, u32) {
    let turns = 2 * len as u64 / tags as u64 + 1;
    (((launch % tags) as u64 * turns % len as u64) as u32, turns as u32)
}
