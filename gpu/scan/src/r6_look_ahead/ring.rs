//! The ring of tiles in shared memory that `look-ahead` works on: where tiles are, and which role may use them.

use super::{SQUAD, STAGES, STATES, tile};
use rungs_common::ring::Place;
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::{self, Mbarrier};
use simt::{Global, Scalar, Shared, bulk, shared};

shared!(
    /// Number of the tile in each stage; a number past the last tile ends the work.
    NUMBERS: [u32; STAGES]
);
shared!(
    /// Tag of this launch's states.
    TAG: [u32; 1]
);
shared!(
    /// Three barriers per stage.
    BARRIERS: [u64; 3 * STAGES]
);

/// A tile is first full (its number and its elements are there) …
#[inline(always)]
pub(super) fn full(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stage)
}

/// … then ready (the sum before each thread's elements is known) …
#[inline(always)]
pub(super) fn ready(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), STAGES + stage)
}

/// … and at last done (it is scanned).
#[inline(always)]
pub(super) fn done(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), 2 * STAGES + stage)
}

/// Makes the barriers; one thread calls it.
#[inline(always)]
pub(super) fn init_barriers() {
    let mut stage = 0;
    while stage < STAGES {
        full(stage).init(1); // the mover, and the bytes that it announces
        ready(stage).init(SQUAD + 1); // the threads that add, and the look-ahead
        done(stage).init(SQUAD); // the threads that scan
        stage += 1;
    }
    mbarrier::fence_init();
    bulk::fence(); // the copy engine sees the barriers too
}

/// The part of a tile that is inside the input: place `i` of the tile has element `base + i`, for `i` from `low` up to
/// `high`. In the first tile `base` may lie before element 0 and wraps.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) base: u32,
    low: u32,
    high: u32,
}

impl Span {
    /// Whether the whole tile is inside.
    #[inline(always)]
    pub(super) fn whole<T>(self) -> bool {
        self.low == 0 && self.high == tile::<T>()
    }

    /// Packs that have an element inside; the first of them is pack 0.
    #[inline(always)]
    pub(super) fn all_packs<T: Scalar>(self) -> u32 {
        self.high.div_ceil(T::PACK)
    }

    /// The first place of the packs that are wholly inside, and the number of their elements.
    #[inline(always)]
    pub(super) fn whole_packs<T: Scalar>(self) -> (u32, u32) {
        let first = if self.low > 0 { T::PACK } else { 0 };
        (first, (self.high / T::PACK * T::PACK).saturating_sub(first))
    }

    /// Calls `f` with each place of the packs that are partly inside, and whether it is inside itself.
    #[inline(always)]
    pub(super) fn edges<T: Scalar>(self, mut f: impl FnMut(u32, bool)) {
        let last = self.high / T::PACK * T::PACK;
        let mut each = |pack: u32| {
            let mut i = pack;
            while i < pack + T::PACK {
                f(i, i >= self.low && i < self.high);
                i += 1;
            }
        };
        if self.low > 0 {
            each(0);
        }
        // A short tile may begin and end in the same pack.
        if self.high > last && (self.low == 0 || last > 0) {
            each(last);
        }
    }
}

/// The parameters that all roles share.
#[derive(Clone, Copy)]
pub(super) struct Job<T> {
    pub(super) input: Global<T>,
    pub(super) output: Global<T>,
    pub(super) control: Global<u64>,
    pub(super) states: Global<u64>,
    ring: Shared<T>,
    /// Elements of the first pack that lie before the input.
    skip: u32,
    pub(super) tiles: u32,
    pub(super) exclusive: bool,
    /// Whether tiles can be copied to the output as they are.
    pub(super) direct: bool,
}

impl<T: Scalar> Job<T> {
    #[inline(always)]
    pub(super) fn new(input: Global<T>, output: Global<T>, workspace: Global<u64>, exclusive: u32) -> Self {
        let past_pack = |data: Global<T>| (data.as_ptr() as usize % 16 / size_of::<T>()) as u32;
        let skip = past_pack(input);
        Self {
            input,
            output,
            control: workspace.slice(0, 1),
            states: workspace.slice(STATES, workspace.len() - STATES),
            ring: Shared::dynamic(0, STAGES * tile::<T>()),
            skip,
            tiles: (input.len() as u64 + skip as u64).div_ceil(tile::<T>() as u64) as u32,
            exclusive: exclusive != 0,
            direct: skip == past_pack(output),
        }
    }

    /// Draws the next tile: the launch's number in the upper half of the word, the tile's in the lower.
    #[inline(always)]
    pub(super) fn draw(self) -> u64 {
        self.control.fetch_add(0, 1, Relaxed, Device)
    }

    /// Waits for the tile at `place` and returns its number; `None` if there are no more tiles.
    #[inline(always)]
    pub(super) fn next_tile(self, place: Place) -> Option<u32> {
        full(place.stage).wait(place.parity);
        let number = self.number(place.stage);
        (number < self.tiles).then_some(number)
    }

    /// Stores the number of the tile that will be at `stage`. The mover calls it before it fills the stage.
    #[inline(always)]
    pub(super) fn announce(self, stage: u32, number: u32) {
        NUMBERS::view().set(stage, number);
    }

    /// Stores the tag of this launch, once, before the first stage is filled.
    #[inline(always)]
    pub(super) fn announce_tag(self, tag: u32) {
        TAG::view().set(0, tag);
    }

    /// The tile at `stage`.
    #[inline(always)]
    pub(super) fn number(self, stage: u32) -> u32 {
        NUMBERS::view().get(stage)
    }

    /// The tag of this launch's states; it is known once there is a tile.
    #[inline(always)]
    pub(super) fn tag(self) -> u32 {
        TAG::view().get(0)
    }

    #[inline(always)]
    pub(super) fn span(self, number: u32) -> Span {
        let base = number.wrapping_mul(tile::<T>()).wrapping_sub(self.skip);
        let last = number + 1 == self.tiles;
        let high = if last { self.input.len().wrapping_sub(base) } else { tile::<T>() };
        Span { base, low: if number == 0 { self.skip } else { 0 }, high }
    }

    #[inline(always)]
    pub(super) fn elements(self, stage: u32) -> Shared<T> {
        self.ring.slice(stage * tile::<T>(), tile::<T>())
    }

    /// Stores a scanned tile by the threads of a squad, if tiles cannot be copied to the output as they are.
    #[inline(always)]
    pub(super) fn store_by_threads(self, stage: u32, span: Span, t: u32) {
        let (elements, mut i) = (self.elements(stage), t);
        while i < span.high {
            if i >= span.low {
                self.output.set(span.base.wrapping_add(i), elements.get(i));
            }
            i += SQUAD;
        }
    }
}
