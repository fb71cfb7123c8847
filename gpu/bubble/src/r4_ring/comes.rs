//! The movers that a warp of the ring receives: fetched a batch ahead, staged in shared memory for its last lane.

use super::{BATCH, BATCHES, BUNDLE, WARP_KEYS};
use crate::{Key, key_or_last};
use rungs_common::state::{NOTHING, look};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared};

/// Polls after which a wait is given up: some seconds on a GPU.
const POLLS: u32 = 1 << 23;

/// The bundle that a warp meets in a step, and a batch of it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub step: u32,
    pub batch: u32,
    pub bundle: u32,
}

impl Place {
    #[simt::device]
    pub fn new(warp: u32) -> Self {
        Self { step: 0, batch: 0, bundle: warp }
    }

    /// To the next batch, of the next bundle after the last.
    #[simt::device]
    pub fn next(&mut self, warps: u32) {
        self.batch += 1;
        if self.batch == BATCHES {
            let bundle = if self.bundle + 1 == warps { 0 } else { self.bundle + 1 };
            *self = Self { step: self.step + 1, batch: 0, bundle };
        }
    }
}

/// The movers that come: from the keys in step 0, then from the link, where the warp behind puts them.
pub(super) struct Comes<T> {
    keys: Global<T>,
    links: Global<u64>,
    stage: Shared<T>,
    first: u32,
    warps: u32,
    place: Place,
    /// Two movers that were fetched, their tags, the tag that they should have (or none, where there is no wait), and
    /// where they were.
    movers: [T; 2],
    tags: [u32; 2],
    tag: u32,
    slot: u32,
}

impl<T: Key> Comes<T> {
    #[simt::device]
    pub fn new(keys: Global<T>, links: Global<u64>, stage: Shared<T>, number: u32, warps: u32) -> Self {
        let first = number * WARP_KEYS + BUNDLE;
        let (movers, tags, place) = ([T::default(); 2], [NOTHING; 2], Place::new(number));
        Self { keys, links, stage, first, warps, place, movers, tags, tag: NOTHING, slot: 0 }
    }

    /// Issues the loads of the next batch.
    #[simt::device]
    pub fn fetch(&mut self) {
        let at = self.place.batch * BATCH + warp::lane_id();
        self.tag = NOTHING;
        if self.place.step == 0 {
            self.movers = [key_or_last(self.keys, self.first + at), key_or_last(self.keys, self.first + at + WARP)];
        } else if self.place.step > 2 * self.warps {
            // Nobody comes any more. The smallest key changes no cell.
            self.movers = [T::default(); 2];
        } else {
            (self.tag, self.slot) = (self.place.step, self.place.bundle * BUNDLE + at);
            self.look();
        }
        self.place.next(self.warps);
    }

    #[simt::device]
    fn look(&mut self) {
        (self.tags[0], self.movers[0]) = look(self.links, self.slot);
        (self.tags[1], self.movers[1]) = look(self.links, self.slot + WARP);
    }

    /// Stores batch `number`, fetched a batch ago, and fetches the next; waits if it was not there yet.
    #[simt::device]
    pub fn stage(&mut self, number: u32) {
        if self.tag != NOTHING {
            let mut polls = 0;
            // Each word has its tag next to a key, or half of one, so nothing else has to be seen with it.
            while !warp::all(FULL, self.tags == [self.tag; 2]) {
                self.look();
                polls += 1;
                assert!(polls < POLLS, "the warp behind has sent no keys for seconds");
            }
        }
        let at = number % 2 * BATCH + warp::lane_id();
        self.stage.set(at, self.movers[0]);
        self.stage.set(at + WARP, self.movers[1]);
        warp::sync_warp(FULL); // the last lane takes tokens of other lanes' keys
        self.fetch();
    }
}
