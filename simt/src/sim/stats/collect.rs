//! The accesses of the blocks that one thread of the host runs, counted by their place in the source.

use super::align::{Aligner, Lane, Site};
use super::cost::{self, Addresses};
use super::counts::{Counts, Instruction, Line, Request};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;

/// Accesses that a lane may make before it lets the other lanes of its warp catch up.
const ROOM: usize = 512;

/// The access of a thread: what it does, and to how many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sim) struct What {
    pub instruction: Instruction,
    pub bytes: u8,
}

/// Counts the accesses of one block after the other.
pub(in crate::sim) struct Collector(RefCell<Inner>);

struct Inner {
    /// The number of the running block.
    block: u32,
    lanes: Vec<Lane>,
    /// The order of the places, by warp, since its lanes met.
    orders: Vec<Vec<Site>>,
    aligner: Aligner,
    sites: Sites,
    tallies: Vec<Tally>,
}

/// What was counted at one place, and the costliest request there.
#[derive(Clone, Default)]
struct Tally {
    counts: Counts,
    cost: u32,
    worst: Option<Request>,
}

/// The places, by number.
struct Sites {
    list: Vec<(&'static Location<'static>, What)>,
    numbers: HashMap<(&'static Location<'static>, What), Site>,
    /// Places by address and access, for those that were asked for lately: the address is that of the location in the
    /// program, of which there may be several for one line.
    recent: Vec<(u64, Site)>,
}

/// Entries of [`Sites::recent`].
const RECENT: usize = 256;

/// The index of a site in lists.
fn index(site: Site) -> usize {
    usize::from(site) - 1
}

impl Sites {
    fn new() -> Self {
        Self { list: vec![], numbers: HashMap::new(), recent: vec![(0, 0); RECENT] }
    }

    #[inline(always)]
    fn number(&mut self, location: &'static Location<'static>, what: What) -> Site {
        let address = std::ptr::from_ref(location) as u64;
        let key = address << 8 | u64::from(what.bytes) << 4 & 0xf0 | what.instruction as u64 & 0xf;
        let slot = (key >> 11 ^ key >> 4 ^ key) as usize % RECENT;
        let (known, site) = self.recent[slot];
        if known == key {
            return site;
        }
        let site = self.look_up(location, what);
        self.recent[slot] = (key, site);
        site
    }

    #[cold]
    fn look_up(&mut self, location: &'static Location<'static>, what: What) -> Site {
        *self.numbers.entry((location, what)).or_insert_with(|| {
            self.list.push((location, what));
            Site::try_from(self.list.len()).expect("a kernel has fewer than 2^16 places that access memory")
        })
    }
}

impl Collector {
    /// A collector for blocks of `threads` threads.
    pub fn new(threads: usize) -> Self {
        let lanes = (0..threads).map(|_| Lane::default()).collect();
        let orders = vec![vec![]; threads.div_ceil(32)];
        let inner =
            Inner { block: 0, lanes, orders, aligner: Aligner::default(), sites: Sites::new(), tallies: vec![] };
        Self(RefCell::new(inner))
    }

    /// The block with this number begins.
    pub fn begin(&self, block: u32) {
        let inner = &mut *self.0.borrow_mut();
        inner.block = block;
        inner.lanes.iter_mut().for_each(Lane::clear);
        inner.orders.iter_mut().for_each(Vec::clear);
    }

    /// Whether the thread has to let the other lanes of its warp catch up, and then to call [`Collector::catch_up`].
    #[inline(always)]
    pub fn is_full(&self, thread: usize) -> bool {
        self.0.borrow().lanes[thread].len() >= ROOM
    }

    /// Groups what the lanes of the thread's warp did, as far as lanes that are on their way (those of `cut`) do not
    /// have to be waited for.
    #[cold]
    pub fn catch_up(&self, thread: usize, cut: u32) {
        self.0.borrow_mut().group(thread / 32, cut, Some(thread % 32));
    }

    /// A thread accesses memory, or arrives at a barrier or at an operation of its warp. Returns false, and counts
    /// nothing, if the thread first has to let the other lanes of its warp catch up.
    #[inline(always)]
    pub fn note(&self, thread: usize, what: What, address: u64, location: &'static Location<'static>) -> bool {
        let inner = &mut *self.0.borrow_mut();
        let lane = &mut inner.lanes[thread];
        let room = lane.len() < ROOM;
        if room {
            lane.push(inner.sites.number(location, what), address);
        }
        room
    }

    /// A thread starts a bulk copy, whose side in global memory has this many bytes from each address on.
    pub fn copy(
        &self,
        instruction: Instruction,
        parts: impl IntoIterator<Item = (u64, u32)>,
        location: &'static Location<'static>,
    ) {
        let inner = &mut *self.0.borrow_mut();
        let site = inner.sites.number(location, What { instruction, bytes: 0 });
        let counts = &mut inner.tally(site).counts;
        counts.requests += 1;
        counts.lanes += 1;
        for (address, bytes) in parts {
            counts.bytes += u64::from(bytes);
            counts.sectors += (address + u64::from(bytes)).div_ceil(cost::SECTOR) - address / cost::SECTOR;
        }
    }

    /// All lanes of a warp have met, or have ended.
    pub fn meet(&self, warp: usize) {
        self.0.borrow_mut().group(warp, 0, None);
    }

    /// All threads that a barrier waits for have arrived.
    pub fn barrier(&self, location: &'static Location<'static>) {
        let inner = &mut *self.0.borrow_mut();
        let site = inner.sites.number(location, What { instruction: Instruction::Barrier, bytes: 0 });
        inner.tally(site).counts.barriers += 1;
    }

    /// What was counted, by place.
    pub fn lines(self) -> Vec<Line> {
        let inner = self.0.into_inner();
        let lines = inner.sites.list.into_iter().zip(inner.tallies);
        lines
            .map(|((location, what), Tally { counts, cost, worst })| Line {
                location,
                instruction: what.instruction,
                bytes: what.bytes.into(),
                counts,
                cost,
                worst,
            })
            .collect()
    }
}

impl Inner {
    fn tally(&mut self, site: Site) -> &mut Tally {
        let index = index(site);
        if self.tallies.len() <= index {
            self.tallies.resize(index + 1, Tally::default());
        }
        &mut self.tallies[index]
    }

    fn group(&mut self, warp: usize, cut: u32, urgent: Option<usize>) {
        let Self { block, lanes, orders, aligner, sites, tallies } = self;
        tallies.resize(sites.list.len().max(tallies.len()), Tally::default());
        let first = warp * 32;
        let end = lanes.len().min(first + 32);
        aligner.group(&mut lanes[first..end], &mut orders[warp], cut, urgent, &mut |site, mask, addresses| {
            let what = sites.list[index(site)].1;
            let tally = &mut tallies[index(site)];
            let cost = count(&mut tally.counts, what, mask, addresses);
            let lanes = tally.worst.as_ref().map(Request::active);
            if lanes.is_none_or(|lanes| (cost, mask.count_ones()) > (tally.cost, lanes)) {
                let lane = |i: usize| (mask >> i & 1 == 1).then_some(addresses[i]);
                tally.cost = cost;
                tally.worst = Some(Request { block: *block, warp: warp as u32, lanes: std::array::from_fn(lane) });
            }
        });
    }
}

/// Counts a request; returns what it cost: sectors, or wavefronts, or lanes on one address.
#[inline]
fn count(counts: &mut Counts, what: What, mask: u32, addresses: &Addresses) -> u32 {
    let lanes = mask.count_ones();
    counts.requests += 1;
    counts.lanes += u64::from(lanes);
    counts.bytes += u64::from(lanes * u32::from(what.bytes));
    let mut cost = 0;
    if what.instruction.moves_sectors() {
        cost = match what.instruction.is_read_modify_write() {
            true => cost::atomic_sectors(mask, addresses),
            false => cost::sectors(mask, addresses),
        };
        counts.sectors += u64::from(cost);
    } else if what.instruction.is_shared() {
        let loads = matches!(what.instruction, Instruction::SharedLoad | Instruction::SharedAtomicLoad);
        let (wavefronts, ideal) = cost::wavefronts(mask, what.bytes.into(), loads, addresses);
        cost = wavefronts;
        counts.wavefronts += u64::from(wavefronts);
        counts.ideal_wavefronts += u64::from(ideal);
    }
    if what.instruction.is_read_modify_write() {
        let turns = cost::turns(mask, addresses);
        cost = cost.max(turns);
        counts.turns += u64::from(turns);
    }
    cost
}
