//! Orders in which threads, warps and blocks run: one per seed, hostile ones among them.
//!
//! A GPU promises little: the warps of a block and the blocks of a grid run in any order and at any speed, and so do
//! the lanes of a warp between two synchronisations. A kernel that is correct gives its result under every schedule
//! here.

/// The random numbers of a schedule: SplitMix64, small and of known quality, so that a seed means the same everywhere.
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, which is not 0.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }
}

/// How a schedule treats the threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    /// In the order of their index.
    InOrder,
    Reversed,
    /// One warp runs only when no other thread of its block can.
    OneWarpStarves,
    /// Warps in an order that changes from round to round.
    WarpsShuffled,
    /// Threads in such an order, so that lanes of a warp are out of step.
    LanesShuffled,
}

/// How it treats the blocks of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocks {
    /// Begun in the order of their index, a few at a time, each in turn.
    InOrder,
    /// Begun from the last to the first.
    Reversed,
    /// In order, but one of those that run goes on only when no other can.
    OneStalls,
    /// Each step by a block chosen at random.
    Shuffled,
}

/// Turns in a row that a block stalls although others seem to go on, and that it is then awake: others that poll and
/// vote on what they read would wait for it for ever.
const STALLED: u32 = 512;
const AWAKE: u32 = 64;

/// One schedule.
pub(in crate::sim) struct Schedule {
    seed: u64,
    threads: Threads,
    blocks: Blocks,
    /// A thread is interrupted before one in this many accesses; 0 for never.
    interrupts: u32,
    /// Whether an atomic load may give the value before the last, where the memory model allows that.
    pub(super) stale: bool,
    random: Random,
    /// Whether the blocks of the running launch begin from the last to the first.
    reversed: bool,
    /// Turns since the stalled block was last awake.
    stall: u32,
    /// Choices made so far that differ from the plain schedule, and the most that are made.
    pub(in crate::sim) choices: u32,
    most: u32,
}

impl Schedule {
    /// The schedule of a seed; after `most` choices that differ from the plain schedule it goes on like that one.
    pub(super) fn new(seed: u64, most: u32) -> Self {
        let mut random = Random::new(seed);
        // The first eight are one of each kind; the others mix them.
        let (threads, blocks, interrupts, stale) = match seed {
            0 => (Threads::InOrder, Blocks::InOrder, 0, false),
            1 => (Threads::Reversed, Blocks::Reversed, 0, false),
            2 => (Threads::OneWarpStarves, Blocks::InOrder, 0, false),
            3 => (Threads::InOrder, Blocks::OneStalls, 0, false),
            4 => (Threads::LanesShuffled, Blocks::InOrder, 8, false),
            5 => (Threads::WarpsShuffled, Blocks::Shuffled, 64, false),
            6 => (Threads::InOrder, Blocks::Reversed, 0, true),
            7 => (Threads::LanesShuffled, Blocks::Shuffled, 3, true),
            _ => {
                let threads = [
                    Threads::InOrder,
                    Threads::Reversed,
                    Threads::OneWarpStarves,
                    Threads::WarpsShuffled,
                    Threads::LanesShuffled,
                ];
                let blocks = [Blocks::InOrder, Blocks::Reversed, Blocks::OneStalls, Blocks::Shuffled];
                let interrupts = [0, 2, 16, 128];
                (
                    threads[random.below(5) as usize],
                    blocks[random.below(4) as usize],
                    interrupts[random.below(4) as usize],
                    random.below(2) == 1,
                )
            }
        };
        Self { seed, threads, blocks, interrupts, stale, random, reversed: false, stall: 0, choices: 0, most }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Counts a choice that differs from the plain schedule; false if there may be no more of them.
    fn choose(&mut self) -> bool {
        let left = self.choices < self.most;
        self.choices += left as u32;
        left
    }

    /// The block that begins as number `n` of `blocks`.
    pub(in crate::sim) fn begins(&mut self, n: u64, blocks: u64) -> u64 {
        if n == 0 {
            // One choice for all blocks of a launch.
            self.reversed = self.blocks == Blocks::Reversed && blocks > 1 && self.choose();
        }
        if self.reversed { blocks - 1 - n } else { n }
    }

    /// Which of `n` running blocks makes the next step; `turn` counts the steps.
    pub(in crate::sim) fn block(&mut self, n: u32, turn: u64, stuck: bool) -> u32 {
        let next = (turn % u64::from(n)) as u32;
        let blocks = self.blocks;
        match blocks {
            Blocks::Shuffled if n > 1 && self.choose() => self.random.below(n),
            // The last that began stalls, so that its predecessors overtake it, until no other goes on.
            Blocks::OneStalls if n > 1 && !stuck => {
                self.stall = (self.stall + 1) % (STALLED + AWAKE);
                if self.stall < STALLED && self.choose() { (turn % u64::from(n - 1)) as u32 } else { next }
            }
            _ => next,
        }
    }

    /// The order of the threads in a block's next round.
    pub(in crate::sim) fn order(&mut self, order: &mut Vec<u32>, threads: u32, round: u64) {
        let plain = order.len() == threads as usize && self.threads == Threads::InOrder;
        if plain {
            return;
        }
        order.clear();
        order.extend(0..threads);
        let hostile = self.threads;
        match hostile {
            Threads::InOrder => {}
            Threads::Reversed if self.choose() => order.reverse(),
            Threads::OneWarpStarves if threads > 32 && self.choose() => {
                // Which one changes from time to time: a starved warp is a delay, not a death.
                let starved = self.starved(threads, round).unwrap_or(0);
                order.retain(|t| t / 32 != starved);
                order.extend((starved * 32..(starved + 1) * 32).filter(|&t| t < threads));
            }
            Threads::WarpsShuffled if self.choose() => {
                let mut warps: Vec<u32> = (0..threads.div_ceil(32)).collect();
                self.shuffle(&mut warps);
                order.clear();
                order.extend(warps.into_iter().flat_map(|w| w * 32..(w + 1) * 32).filter(|&t| t < threads));
            }
            Threads::LanesShuffled if self.choose() => self.shuffle(order),
            _ => {}
        }
    }

    /// Whether the starved warp's threads wait while others of the block can go on.
    pub(in crate::sim) fn starves(&self) -> bool {
        self.threads == Threads::OneWarpStarves && self.choices < self.most
    }

    /// The warp that starves in a block's round.
    pub(in crate::sim) fn starved(&self, threads: u32, round: u64) -> Option<u32> {
        let warps = u64::from(threads.div_ceil(32));
        (warps > 1).then(|| ((round / 64).wrapping_add(self.seed) % warps) as u32)
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.random.below(i as u32 + 1) as usize);
        }
    }

    /// Whether the running thread is interrupted before its next access.
    #[inline]
    pub(super) fn interrupts(&mut self) -> bool {
        self.interrupts > 0 && self.random.below(self.interrupts) == 0 && self.choose()
    }

    /// Whether an atomic load gives an older value where it may.
    pub(super) fn looks_back(&mut self) -> bool {
        self.stale && self.random.below(2) == 0 && self.choose()
    }

    /// The schedule in words.
    pub(in crate::sim) fn describe(&self) -> String {
        let threads = match self.threads {
            Threads::InOrder => "threads in order",
            Threads::Reversed => "threads reversed",
            Threads::OneWarpStarves => "one warp starved",
            Threads::WarpsShuffled => "warps shuffled",
            Threads::LanesShuffled => "lanes out of step",
        };
        let blocks = match self.blocks {
            Blocks::InOrder => "blocks in order",
            Blocks::Reversed => "blocks reversed",
            Blocks::OneStalls => "one block stalled",
            Blocks::Shuffled => "blocks shuffled",
        };
        let interrupts = match self.interrupts {
            0 => String::new(),
            n => format!(", a thread interrupted before one in {n} accesses"),
        };
        format!("{threads}, {blocks}{interrupts}{}", if self.stale { ", stale values" } else { "" })
    }
}
