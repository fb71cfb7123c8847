//! What a check knows of the running launch and of its blocks.

use super::super::finding::{Element, Memory};
use super::super::map::Map;
use super::super::observe::Space;
use super::carried::{Chain, Engines, Group, Mbarrier, Observed, Released, Word};
use super::clock::{Clock, Known};
use super::shadow::Shadow;
use crate::Dim3;
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

/// A launch, as long as its accesses can matter.
#[derive(Clone, Default)]
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Address and bytes of each view among the parameters.
    pub(super) views: Vec<(u64, u64)>,
    /// Times of its accesses are greater than this.
    pub(super) base: u32,
    /// Threads per block, rounded up to whole warps: agent = block * stride + thread.
    pub(super) stride: u32,
    /// The first agent that is not a thread.
    pub(super) engines: u32,
    /// What its threads know at first: accesses up to this time.
    pub(super) floor: u32,
    /// Whether it overlaps with the launch before it, and whether a thread of it has waited for that one.
    pub(super) overlapping: bool,
    pub(super) waited: bool,
}

impl Launch {
    /// The block of an agent that is a thread.
    #[inline]
    pub(super) fn block_of(&self, agent: u32) -> Option<u32> {
        (agent < self.engines).then(|| agent / self.stride)
    }

    /// The block and thread that an agent is, or works for: `issuers` names the threads of the copy engines.
    pub(super) fn who(&self, agent: u32, issuers: &Map<u32, u32>) -> (Dim3, Dim3, u32) {
        let thread = if agent < self.engines { agent } else { issuers.get(&agent).copied().unwrap_or(0) };
        let (block, thread) = (thread / self.stride, thread % self.stride);
        let index = |n: u32, [x, y, _]: [u32; 3]| Dim3([n % x, n / x % y, n / (x * y)]);
        (index(block, self.grid), index(thread, self.block), thread / 32)
    }
}

/// A static array of shared memory.
struct Array {
    name: &'static str,
    address: u32,
    element: u32,
    len: u32,
}

/// The clocks and the shared memory of a running block.
pub(in super::super) struct BlockState {
    /// The block's number in the grid.
    pub(super) number: u32,
    /// The number of the block whose shared memory this is: another's while a thread reaches into that.
    pub(super) home: u32,
    pub(super) clocks: Vec<Clock>,
    pub(super) shared: Shadow,
    /// Its static arrays, in the order of their addresses. They keep these from block to block.
    arrays: Vec<Array>,
    /// Atomic words of shared memory that carry an order.
    pub(super) words: Map<u64, Word>,
    /// The chains of atomic operations on words of shared memory.
    pub(super) chains: Map<u64, Chain>,
    /// What a thread released last by a word, by thread and address.
    pub(super) released: Map<(u32, u64), Released>,
    /// What a thread has read relaxed from a word and not acquired, likewise.
    pub(super) observed: Map<(u32, u64), Observed>,
    /// What came before the sequentially consistent fences of its threads.
    pub(super) fenced_sc: Option<Rc<Known>>,
    pub(super) mbarriers: Map<u32, Mbarrier>,
    /// From the first of them to behind the last.
    pub(super) barriers: Range<u64>,
    /// The calls that warpgroups make together, by group.
    pub(super) groups: Map<u32, Group>,
    pub(super) engines: Engines,
    /// The last read of its shared memory by each thread of another block of the cluster: when and where.
    pub(super) read_by_others: Map<u32, (u32, &'static Location<'static>)>,
}

impl BlockState {
    pub(in crate::sim) fn new(number: u32, threads: usize) -> Self {
        Self {
            number,
            home: number,
            clocks: vec![Clock::default(); threads],
            shared: Shadow::default(),
            arrays: Vec::new(),
            words: Map::default(),
            chains: Map::default(),
            released: Map::default(),
            observed: Map::default(),
            fenced_sc: None,
            mbarriers: Map::default(),
            barriers: 0..0,
            groups: Map::default(),
            engines: Engines::default(),
            read_by_others: Map::default(),
        }
    }

    /// Becomes the state of another block.
    pub(super) fn begin(&mut self, number: u32, base: u32, floor: u32) {
        (self.number, self.home) = (number, number);
        for clock in &mut self.clocks {
            *clock = Clock { own: base + 1, launch: floor, ..Clock::default() };
        }
        self.words.clear();
        self.chains.clear();
        self.released.clear();
        self.observed.clear();
        self.fenced_sc = None;
        self.mbarriers.clear();
        self.barriers = 0..0;
        self.groups.clear();
        self.engines = Engines::default();
        self.read_by_others.clear();
    }

    /// Exchanges the shared memories of two blocks of a cluster, and what is known of them: for an access that a thread
    /// of the one makes to the other's.
    pub(super) fn exchange_memory(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.home, &mut other.home);
        std::mem::swap(&mut self.shared, &mut other.shared);
        std::mem::swap(&mut self.arrays, &mut other.arrays);
        std::mem::swap(&mut self.words, &mut other.words);
        std::mem::swap(&mut self.chains, &mut other.chains);
        std::mem::swap(&mut self.mbarriers, &mut other.mbarriers);
        std::mem::swap(&mut self.barriers, &mut other.barriers);
        std::mem::swap(&mut self.engines, &mut other.engines);
    }

    /// Whether a part of shared memory is among the barriers there.
    #[inline]
    pub(super) fn reaches_barriers(&self, address: u64, bytes: u32) -> bool {
        address < self.barriers.end && address + u64::from(bytes) > self.barriers.start
    }

    /// Notes where a static array lies.
    pub(in super::super) fn array(&mut self, name: &'static str, address: u32, element: u32, len: u32) {
        self.arrays.push(Array { name, address, element, len });
    }

    /// A word of shared memory, as an element of an array where it is one.
    pub(in super::super) fn place(&self, offset: u64, bytes: u32) -> Memory {
        let holds = |a: &&Array| (u64::from(a.address)..u64::from(a.address + a.element * a.len)).contains(&offset);
        let element = self.arrays.iter().find(holds).map(|array| {
            let inside = offset as u32 - array.address;
            Element { array: array.name, index: inside / array.element, byte: inside % array.element }
        });
        Memory { space: Space::Shared, parameter: None, element, offset, bytes }
    }
}
