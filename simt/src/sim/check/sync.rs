//! What orders accesses: barriers, warp barriers, atomics, fences, barriers in shared memory and the copies they count.

use super::super::finding::{Kind, Memory};
use super::super::map::Map;
use super::super::observe::{AccessKind, Space};
use super::carried::{Chain, Engines, Groups, Load, Mbarrier, OLDER, Older};
use super::clock::{Clock, Known, merge};
use super::session::{LAUNCHER, Session, Touch, Use};
use super::shadow::{Cell, Way};
use super::state::BlockState;
use crate::machine::{Order, Scope};
use std::panic::Location;
use std::rc::Rc;

/// What a missing fence asks for.
const UNFENCED: &str = "each thread that wrote the shared memory calls bulk::fence before it tells the thread that \
                        starts the copy";

/// The same between reads and a copy over them.
const UNFENCED_READ: &str = "the copy may overwrite a word before a load from it has completed, whatever barrier is in \
                             between: each thread that read the shared memory calls bulk::fence before it tells the \
                             thread that starts the copy, or that thread calls bulk::fence after it was told";

/// The same before a product.
const UNFENCED_PRODUCT: &str = "each thread that wrote a tile calls bulk::fence before the barrier that the threads \
                                pass which multiply it: the tensor cores read shared memory as copies do";

/// And before a copy of global memory.
const UNFENCED_GLOBAL: &str = "bulk::fence is for shared memory alone, and no barrier shows threads' writes of global \
                               memory to the copy engine: write what is copied in an earlier launch";

/// And between the initialisation of a barrier and what finds it past the block's threads.
const UNFENCED_BARRIER: &str = "the thread that initialises barriers calls mbarrier::fence_init behind the last of \
                                them, before the barrier of the block or of the cluster";

/// What becomes of a barrier's word that is used for anything else.
const NO_BARRIER_ANY_MORE: &str = "what a barrier's 8 bytes hold is the hardware's: give the data other memory, and \
                                   initialise a barrier once in a block";

/// The half of an atomic operation that matters for order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Half {
    Load,
    /// An exchange that fails: it loads what is there now, never an older value.
    Newest,
    Store,
    Both,
}

/// A word that a thread accessed, and did not fence for the copy engines: who did what, and where.
#[derive(Clone, Copy)]
struct Unfenced {
    word: u64,
    agent: u32,
    site: u32,
    did: &'static str,
}

/// Reads that are known to be fenced: of each warp, by some of its lanes up to a time.
type FencedReads = Map<u32, (u32, u32)>;

/// An agent that makes one side of the copies of a block.
#[derive(Clone, Copy)]
enum Engine {
    /// Both sides of bulk copies to shared memory, by the number of the barrier that counts them.
    Load(u32),
    /// The side of a thread's bulk copies that reads shared memory, and the one that writes global memory: a thread can
    /// wait for the first alone.
    StoreReads(u32),
    StoreWrites(u32),
    /// Both sides of a thread's own copies to shared memory.
    Copy(u32),
    /// The reads of tiles by products that go on while a warp does: the lanes wait for those of their own warp.
    Products(u32),
}

impl Session {
    /// The number of a block's engine among the agents.
    fn engine(&self, block: &BlockState, engine: Engine) -> u32 {
        let stride = self.launch.stride;
        let of_threads = |kind: u32, thread: u32| Engines::BARRIERS + kind * stride + thread;
        let number = match engine {
            Engine::Load(barrier) => barrier.min(Engines::BARRIERS - 1),
            Engine::StoreReads(thread) => of_threads(0, thread),
            Engine::StoreWrites(thread) => of_threads(1, thread),
            Engine::Copy(thread) => of_threads(2, thread),
            Engine::Products(warp) => of_threads(3, warp),
        };
        self.launch.engines + block.home * Engines::per_block(stride) + number
    }

    /// The thread knows what the engine did up to a time.
    fn knows_engine(&self, block: &mut BlockState, thread: usize, engine: Engine, time: u32) {
        let engine = self.engine(block, engine);
        let mut known = block.clocks[thread].rest.as_deref().cloned().unwrap_or_default();
        known.agents.raise(engine, time);
        block.clocks[thread].rest = Some(Rc::new(known));
    }

    /// All threads of a block pass its barrier.
    pub(in super::super) fn barrier_of_block(&mut self, block: &mut BlockState) {
        let (mut latest, mut launch, mut rest) = (0, 0, None);
        for clock in &block.clocks {
            (latest, launch) = (clock.own.max(latest), clock.launch.max(launch));
            if let Some(known) = &clock.rest {
                merge(&mut rest, known);
            }
        }
        for clock in &mut block.clocks {
            (clock.own, clock.launch, clock.block, clock.warp) = (latest + 1, launch, latest, latest);
            if rest.is_some() {
                clock.rest.clone_from(&rest);
            }
        }
        self.top = self.top.max(latest + 1);
    }

    /// All threads of the blocks of a cluster pass its barrier.
    pub(in super::super) fn barrier_of_cluster(&mut self, blocks: &mut [&mut BlockState]) {
        let mut all = None;
        for block in &mut *blocks {
            self.barrier_of_block(block);
            let me = self.agent(block, 0);
            let clock = &mut block.clocks[0];
            merge(&mut all, &clock.release(me));
            self.top = self.top.max(clock.own);
        }
        let Some(all) = all else { return };
        for block in blocks {
            for thread in 0..block.clocks.len() {
                let me = self.agent(block, thread);
                block.clocks[thread].acquire(me, &all);
            }
        }
    }

    /// The threads of `arrived`, which are a part of their block, pass a barrier.
    pub(in super::super) fn barrier_of_some(&mut self, block: &mut BlockState, arrived: &[usize]) {
        let stride = self.launch.stride;
        let (number, clocks) = (block.number, &mut block.clocks);
        let latest = arrived.iter().map(|&t| clocks[t].own).max().unwrap_or(0);
        let launch = arrived.iter().map(|&t| clocks[t].launch).max().unwrap_or(0);
        let floor = arrived.iter().map(|&t| clocks[t].block).max().unwrap_or(0);
        let mut rest: Option<Rc<Known>> = None;
        for &t in arrived {
            if let Some(known) = &clocks[t].rest {
                merge(&mut rest, known);
            }
        }
        let mut known = rest.as_deref().cloned().unwrap_or_default();
        for &t in arrived {
            let agent = number * stride + t as u32;
            known.agents.raise(agent, clocks[t].own);
            known.raise_warp(agent / 32, clocks[t].warp);
        }
        let rest = Some(Rc::new(known));
        for &t in arrived {
            let clock = &mut clocks[t];
            (clock.own, clock.launch, clock.block) = (latest + 1, launch, floor);
            clock.rest = rest.clone();
        }
        self.top = self.top.max(latest + 1);
    }

    /// The lanes of `mask` in the warp of `thread` pass a warp barrier.
    pub(in super::super) fn warp_barrier(&mut self, block: &mut BlockState, thread: usize, mask: u32) {
        let first = thread / 32 * 32;
        let lanes: Vec<usize> = (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| first + lane).collect();
        let whole = (block.clocks.len() - first).min(32) == lanes.len();
        let before: Vec<u32> = lanes.iter().map(|&t| block.clocks[t].warp).collect();
        self.barrier_of_lanes(block, &lanes, whole, before.into_iter().max().unwrap_or(0));
    }

    fn barrier_of_lanes(&mut self, block: &mut BlockState, lanes: &[usize], whole: bool, floor: u32) {
        let latest = lanes.iter().map(|&t| block.clocks[t].own).max().unwrap_or(0);
        if whole {
            let clocks = &mut block.clocks;
            let launch = lanes.iter().map(|&t| clocks[t].launch).max().unwrap_or(0);
            let known = lanes.iter().map(|&t| clocks[t].block).max().unwrap_or(0);
            let mut rest: Option<Rc<Known>> = None;
            for &t in lanes {
                if let Some(more) = &clocks[t].rest {
                    merge(&mut rest, more);
                }
            }
            for &t in lanes {
                let clock = &mut clocks[t];
                (clock.own, clock.launch, clock.block, clock.warp) = (latest + 1, launch, known, latest);
                clock.rest = rest.clone();
            }
            self.top = self.top.max(latest + 1);
        } else {
            self.barrier_of_some(block, lanes);
            lanes.iter().for_each(|&t| block.clocks[t].warp = block.clocks[t].warp.max(floor));
        }
    }

    /// An atomic operation has been made; the access itself is judged here too. Returns the value to give instead, if
    /// the schedule has an older one given.
    pub(in super::super) fn atomic(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        touch: &Touch,
        half: Half,
        (order, scope): (Order, Scope),
    ) -> Option<u64> {
        let narrow = scope == Scope::Block && touch.space == Space::Global;
        let loads = matches!(half, Half::Load | Half::Newest);
        let way = if loads { Way::Load } else { Way::Modify };
        // A store reads nothing, so that it may find the word unwritten.
        let judged = if half == Half::Store { Touch { before: &[], ..*touch } } else { *touch };
        if touch.space == Space::Shared && block.reaches_barriers(touch.address, touch.bytes) {
            self.spare_barriers(block, thread, (touch.address, touch.bytes), "uses it atomically", touch.site);
        }
        self.access(block, thread, &judged, Use::Other(way, narrow));
        let me = self.agent(block, thread);
        if let (false, [before], [after]) = (loads, touch.before, touch.after)
            && (*before == 0) != (*after == 0)
        {
            let block = if touch.space == Space::Shared { me.block } else { u32::MAX };
            self.changed(me.agent, (block, touch.address), half == Half::Both, [*before, *after]);
        }
        let stale = self.schedule.stale;
        let plain = if stale { self.plain_write(block, touch) } else { (0, 0) };
        let words = match touch.space {
            Space::Global => &mut self.words,
            Space::Shared => &mut block.words,
        };
        if stale
            && let Some(word) = words.get_mut(&touch.address)
            && word.left != (touch.before.first().copied().unwrap_or(0), plain)
        {
            // Nothing older than a plain write is given: in a race, its own thread would go back before it.
            word.older.clear();
        }
        let clock = &mut block.clocks[thread];
        let acquires = matches!(order, Order::Acquire | Order::AcqRel) && half != Half::Store;
        let releases = matches!(order, Order::Release | Order::AcqRel) && !loads;
        let wide = scope != Scope::Block;
        let mut instead = None;
        if half != Half::Store
            && let Some(word) = words.get_mut(&touch.address)
        {
            let (mut device, mut near) = (word.device.clone(), word.block.clone());
            // Values that the load may give: those behind one that the thread knows, by its writer or by a reader, are
            // too old.
            let mut passed = 0;
            if half == Half::Load && !word.older.is_empty() {
                let known = |last: (u32, u32), readers: &[(u32, u32)]| {
                    [last].iter().chain(readers).any(|&(agent, time)| {
                        agent == me.agent || clock.knows(me, agent, || self.launch.block_of(agent), time)
                    })
                };
                let mut newer = (word.last, &word.readers);
                while passed < word.older.len() && !known(newer.0, newer.1) && self.schedule.looks_back() {
                    newer = (word.older[passed].last, &word.older[passed].readers);
                    passed += 1;
                }
            }
            let readers = match passed.checked_sub(1).map(|at| &mut word.older[at]) {
                Some(older) => {
                    (device, near) = (older.device.clone(), older.block.clone());
                    instead = Some(older.value);
                    &mut older.readers
                }
                None => &mut word.readers,
            };
            if stale && !readers.iter().any(|reader| reader.0 == me.agent) {
                readers.push((me.agent, clock.own));
            }
            let near = near.filter(|(number, _)| *number == me.block).map(|(_, known)| known);
            let (far, unreached) = if wide { (device, None) } else { (None, device) };
            let key = (thread as u32, touch.address);
            word.narrow.iter().chain(&unreached).for_each(|known| merge(&mut clock.too_narrow, known));
            if acquires {
                near.iter().chain(&far).for_each(|known| clock.acquire(me, known));
                // A relaxed load and a later acquire of the same thread from the word are an acquire too.
                if let Some((far, near)) = block.observed.get(&key) {
                    near.iter().chain(far.iter().filter(|_| wide)).for_each(|known| clock.acquire(me, known));
                }
            } else {
                if near.is_some() || far.is_some() {
                    let (all_far, all_near) = block.observed.entry(key).or_default();
                    far.iter().for_each(|known| merge(all_far, known));
                    near.iter().for_each(|known| merge(all_near, known));
                }
                near.iter().for_each(|known| merge(&mut clock.read_block, known));
                far.iter().for_each(|known| merge(&mut clock.read_device, known));
            }
        }
        let clock = &mut block.clocks[thread];
        let chains = match touch.space {
            Space::Global => &mut self.chains,
            Space::Shared => &mut block.chains,
        };
        if loads {
            if let (None, Some(chain)) = (instead, chains.get_mut(&touch.address)) {
                chain.seen.entry(me.agent).or_insert(clock.own);
            }
            return instead;
        }
        let now = Some((me.agent, clock.own));
        chains
            .entry(touch.address)
            .and_modify(|chain| {
                let goes_on = half == Half::Both && chain.last.is_some() && chain.bytes == touch.bytes;
                chain.last = if goes_on { now } else { None };
                chain.seen.clear();
            })
            .or_insert_with(|| Chain { last: now, bytes: touch.bytes, seen: Map::default() });
        let (mut device, mut near) = (None, None);
        let key = (thread as u32, touch.address);
        if releases {
            let known = clock.release(me);
            device = wide.then(|| known.clone());
            near = Some(known.clone());
            block.released.insert(key, (device.clone(), known));
            self.top = self.top.max(clock.own);
        } else if let Some((far, known)) = block.released.get(&key) {
            // A release and a later write of the same thread to the word are a release too.
            far.iter().filter(|_| wide).for_each(|far| merge(&mut device, far));
            merge(&mut near, known);
        }
        if !releases {
            clock.fenced_device.iter().filter(|_| wide).for_each(|known| merge(&mut device, known));
            clock.fenced_block.iter().for_each(|known| merge(&mut near, known));
        }
        if device.is_none() && near.is_none() && !stale && !words.contains_key(&touch.address) {
            return None;
        }
        let word = words.entry(touch.address).or_default();
        if stale {
            let value = touch.before.first().copied().unwrap_or(0);
            word.older.truncate(OLDER - 1);
            let (last, readers) = (word.last, std::mem::take(&mut word.readers));
            word.older
                .insert(0, Older { value, device: word.device.clone(), block: word.block.clone(), last, readers });
            word.last = (me.agent, clock.own);
            word.left = (touch.after.first().copied().unwrap_or(0), plain);
            // The operation is later than all that its thread has made known.
            clock.own += 1;
            self.top = self.top.max(clock.own);
        }
        if half == Half::Store {
            // A store ends what earlier operations carried.
            (word.device, word.block, word.narrow) = (None, None, None);
        }
        if let (Some(known), None) = (&near, &device) {
            merge(&mut word.narrow, known);
        }
        if let Some(known) = device {
            merge(&mut word.device, &known);
        }
        if let Some(known) = near {
            match &mut word.block {
                Some((number, all)) if *number == me.block => {
                    let mut both = Some(all.clone());
                    merge(&mut both, &known);
                    *all = both.unwrap_or(known);
                }
                other => *other = Some((me.block, known)),
            }
        }
        None
    }

    /// The last plain write of a thread to a word that has just been accessed.
    fn plain_write(&mut self, block: &mut BlockState, touch: &Touch) -> (u32, u32) {
        let shadow = match touch.space {
            Space::Global => &mut self.global,
            Space::Shared => &mut block.shared,
        };
        let written = shadow.word(touch.address).map(|cell| (cell.writer, cell.time));
        written.filter(|&(writer, _)| writer < LAUNCHER).unwrap_or_default()
    }

    /// A fence.
    pub(in super::super) fn fence(&mut self, block: &mut BlockState, thread: usize, order: Order, scope: Scope) {
        let me = self.agent(block, thread);
        let clock = &mut block.clocks[thread];
        let wide = scope != Scope::Block;
        if matches!(order, Order::Acquire | Order::AcqRel) {
            let near = clock.read_block.take();
            let far = if wide { clock.read_device.take() } else { None };
            if let Some(known) = clock.read_device.clone() {
                merge(&mut clock.too_narrow, &known);
            }
            for known in near.into_iter().chain(far) {
                clock.acquire(me, &known);
            }
        }
        if matches!(order, Order::Release | Order::AcqRel) {
            let known = clock.release(me);
            if wide {
                clock.fenced_device = Some(known.clone());
            }
            clock.fenced_block = Some(known);
            self.top = self.top.max(clock.own);
        }
    }

    /// A sequentially consistent fence: it also knows what came before all such fences so far that it meets.
    pub(in super::super) fn fence_sc(&mut self, block: &mut BlockState, thread: usize, scope: Scope) {
        let (me, wide) = (self.agent(block, thread), scope != Scope::Block);
        let far = if wide { self.fenced_sc.clone() } else { None };
        for known in block.fenced_sc.iter().chain(&far) {
            block.clocks[thread].acquire(me, known);
        }
        self.fence(block, thread, Order::AcqRel, scope);
        let Some(known) = block.clocks[thread].fenced_block.clone() else { return };
        merge(&mut block.fenced_sc, &known);
        if wide {
            merge(&mut self.fenced_sc, &known);
        }
    }

    /// The thread waits for the launch before this one.
    pub(in super::super) fn waited(&mut self, block: &mut BlockState, thread: usize) {
        block.clocks[thread].launch = self.launch.base;
        self.launch.waited = true;
    }

    /// A barrier in shared memory is made.
    pub(in super::super) fn mbarrier_init(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        address: u32,
        site: &'static Location<'static>,
    ) {
        self.spare_barriers(block, thread, (address.into(), 8), "initialises it again", site);
        let touch = mbarrier_touch(address, AccessKind::Write, site);
        self.access(block, thread, &touch, Use::Write);
        let number = block.mbarriers.len() as u32;
        let number = block.mbarriers.get(&address).map_or(number, |old| old.number);
        let (maker, made) = (self.agent(block, thread).agent, self.sites.number(site));
        block.mbarriers.insert(address, Mbarrier { number, maker, made, ..Mbarrier::default() });
        let (from, to) = (u64::from(address), u64::from(address) + 8);
        let all = &mut block.barriers;
        *all = if all.is_empty() { from..to } else { all.start.min(from)..all.end.max(to) };
    }

    /// Reports an access to the 8 bytes of a barrier that is no operation on barriers.
    #[cold]
    pub(super) fn spare_barriers(
        &mut self,
        block: &BlockState,
        thread: usize,
        (address, bytes): (u64, u32),
        what: &str,
        site: &'static Location<'static>,
    ) {
        let words = (address & !7..address + u64::from(bytes)).step_by(8);
        let Some((word, barrier)) = words.filter_map(|at| Some((at, block.mbarriers.get(&(at as u32))?))).next() else {
            return;
        };
        let (me, first) = (self.agent(block, thread).agent, (barrier.maker, barrier.made, "initialises a barrier"));
        self.report_both(Kind::Fault, first, (me, site, what), (block.place(word, 8), NO_BARRIER_ANY_MORE));
    }

    /// Reports what needs a fence behind the initialisation of a barrier: an arrival from another block, and a copy
    /// that the barrier counts. A copy of the own block finds what is shown to the copy engines, too.
    fn needs_fence(
        &mut self,
        block: &BlockState,
        thread: usize,
        (address, from_another): (u32, bool),
        what: &str,
        site: &'static Location<'static>,
    ) {
        let (me, clock) = (self.agent(block, thread), &block.clocks[thread]);
        let Some(barrier) = block.mbarriers.get(&address) else { return };
        let known = |fence: &u32| {
            barrier.maker == me.agent || clock.knows(me, barrier.maker, || self.launch.block_of(barrier.maker), *fence)
        };
        if barrier.fenced.as_ref().is_some_and(known) || !from_another && barrier.shown.as_ref().is_some_and(known) {
            return;
        }
        let first = (barrier.maker, barrier.made, "initialises a barrier");
        let (kind, memory) = (Kind::MissingProxyFence, block.place(address.into(), 8));
        self.report_both(kind, first, (me.agent, site, what), (memory, UNFENCED_BARRIER));
    }

    /// The thread fences the barriers that it has initialised.
    pub(in super::super) fn fence_init(&mut self, block: &mut BlockState, thread: usize) {
        let (me, clock) = (self.agent(block, thread).agent, &mut block.clocks[thread]);
        for barrier in block.mbarriers.values_mut().filter(|barrier| barrier.maker == me) {
            barrier.fenced.get_or_insert(clock.own);
        }
        clock.own += 1;
        self.top = self.top.max(clock.own);
    }

    /// Whether a thread that looks for the end of a phase is told of it later, as the schedule says: of one that it
    /// does not know to have ended. A kernel that does not ask for the answer then goes on too early.
    pub(in super::super) fn sees_late(
        &mut self,
        block: &BlockState,
        thread: usize,
        (address, parity): (u32, u32),
    ) -> bool {
        let (me, clock) = (self.agent(block, thread), &block.clocks[thread]);
        let ender = block.mbarriers.get(&address).and_then(|barrier| barrier.enders[parity as usize & 1]);
        let unknown =
            |(agent, time)| agent != me.agent && !clock.knows(me, agent, || self.launch.block_of(agent), time);
        ender.is_some_and(unknown) && self.schedule.looks_back()
    }

    /// A thread arrives at such a barrier; `ends` says whether that ended the phase.
    pub(in super::super) fn mbarrier_arrive(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        address: u32,
        ends: bool,
        site: &'static Location<'static>,
    ) {
        let touch = mbarrier_touch(address, AccessKind::Atomic, site);
        self.access(block, thread, &touch, Use::Other(Way::Modify, false));
        let me = self.agent(block, thread);
        let time = block.clocks[thread].own;
        let known = block.clocks[thread].release(me);
        self.top = self.top.max(block.clocks[thread].own);
        let Some(barrier) = block.mbarriers.get_mut(&address) else { return };
        merge(&mut barrier.gathering, &known);
        if ends {
            barrier.end((me.agent, time));
        }
    }

    /// A thread arrives at the barrier at `address` of another block of its cluster, or of its own if there is none;
    /// `ends` says whether that ended the phase.
    pub(in super::super) fn mbarrier_arrive_at(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (other, address): (Option<&mut BlockState>, u32),
        ends: bool,
        site: &'static Location<'static>,
    ) {
        let Some(other) = other else { return self.mbarrier_arrive(block, thread, address, ends, site) };
        block.exchange_memory(other);
        self.needs_fence(block, thread, (address, true), "arrives from another block", site);
        let touch = mbarrier_touch(address, AccessKind::Atomic, site);
        self.access(block, thread, &touch, Use::Other(Way::Modify, false));
        let me = self.agent(block, thread);
        let time = block.clocks[thread].own;
        let known = block.clocks[thread].release(me);
        self.top = self.top.max(block.clocks[thread].own);
        if let Some(barrier) = block.mbarriers.get_mut(&address) {
            merge(&mut barrier.gathering_wide, &known);
            barrier.from_others.retain(|&(agent, ..)| agent != me.agent);
            barrier.from_others.push((me.agent, time, site));
            if ends {
                barrier.end((me.agent, time));
            }
        }
        block.exchange_memory(other);
    }

    /// A thread reads shared memory of another block of its cluster, or of its own if there is none.
    pub(in super::super) fn read_of_cluster(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        other: Option<&mut BlockState>,
        touch: &Touch,
    ) {
        let using = Use::of(AccessKind::Read);
        let Some(other) = other else { return self.plain(block, thread, touch, using) };
        block.exchange_memory(other);
        self.plain(block, thread, touch, using);
        block.exchange_memory(other);
        let (me, time) = (self.agent(block, thread).agent, block.clocks[thread].own);
        other.read_by_others.insert(me, (time, touch.site));
    }

    /// A thread has seen the end of the phase of that parity; `wide` says whether at the scope of the cluster.
    pub(in super::super) fn mbarrier_waited(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (address, parity, wide): (u32, u32, bool),
        site: &'static Location<'static>,
    ) {
        let touch = mbarrier_touch(address, AccessKind::Read, site);
        self.access(block, thread, &touch, Use::Other(Way::Load, false));
        let me = self.agent(block, thread);
        let Some(barrier) = block.mbarriers.get_mut(&address) else { return };
        barrier.unseen = None;
        let (parity, clock) = (parity as usize & 1, &mut block.clocks[thread]);
        if let Some(known) = &barrier.ended[parity] {
            clock.acquire(me, known);
        }
        match &barrier.ended_wide[parity] {
            Some(known) if wide => clock.acquire(me, known),
            Some(known) => merge(&mut clock.too_narrow, known),
            None => {}
        }
    }

    /// A bulk copy from global to shared memory, of another block of the cluster if one is given, which the barrier at
    /// `barrier` there counts; `ends` says whether that ended the phase.
    pub(in super::super) fn bulk_load(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        other: Option<&mut BlockState>,
        moved: &[Moved],
        counted: (u32, bool),
        site: &'static Location<'static>,
    ) {
        let counts = (counted.0, other.is_some());
        let Some(other) = other else {
            self.needs_fence(block, thread, counts, "starts a copy that it counts", site);
            return self.bulk_load_here(block, thread, moved, counted, site);
        };
        block.exchange_memory(other);
        self.needs_fence(block, thread, counts, "starts a copy that it counts", site);
        self.bulk_load_here(block, thread, moved, counted, site);
        block.exchange_memory(other);
    }

    fn bulk_load_here(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        moved: &[Moved],
        (barrier, ends): (u32, bool),
        site: &'static Location<'static>,
    ) {
        let Some(state) = block.mbarriers.get(&barrier) else { return };
        let (number, time) = (state.number, self.launch.base + 1 + state.phase);
        let engine = self.engine(block, Engine::Load(number));
        let me = self.agent(block, thread).agent;
        self.top = self.top.max(time + 1);
        self.issuers.insert(engine, me);
        let (mut unfenced, mut unfenced_read, mut unfenced_global) = (None, None, None);
        let (place, mut fenced_reads) = (self.agent(block, thread), FencedReads::default());
        for piece in moved {
            piece.of_global(|address, bytes, words| {
                let (space, kind) = (Space::Global, AccessKind::Read);
                let read = Touch { space, kind, address, bytes, before: words, after: &[], site };
                unfenced_global = unfenced_global.or_else(|| self.written_before(block, place, address, bytes));
                self.access_as(block, thread, engine, time, &read, Use::Other(Way::Read, false));
            });
            let (to, words) = (u64::from(piece.shared), piece.words.map(u64::from));
            unfenced = unfenced.or_else(|| self.unfenced(block, thread, to));
            unfenced_read = unfenced_read.or_else(|| self.unfenced_read(block, thread, to, &mut fenced_reads));
            if block.reaches_barriers(to, 16) {
                self.spare_barriers(block, thread, (to, 16), "has it written by a copy", site);
            }
            let (space, kind) = (Space::Shared, AccessKind::Write);
            let write = Touch { space, kind, address: to, bytes: 16, before: &[], after: &words, site };
            self.access_as(block, thread, engine, time, &write, Use::Write);
        }
        let what = "starts a copy";
        if let Some(unfenced) = unfenced {
            self.report_unfenced(me, site, what, unfenced, (block.place(unfenced.word, 4), UNFENCED));
        }
        // A thread that wrote the words and read them needs one fence for both.
        if let (None, Some(read)) = (unfenced, unfenced_read) {
            let what = "starts a copy that overwrites it";
            self.report_unfenced(me, site, what, read, (block.place(read.word, 4), UNFENCED_READ));
        }
        if let Some((word, agent, written)) = unfenced_global {
            let unfenced = Unfenced { word, agent, site: written, did: "writes" };
            self.report_unfenced(me, site, what, unfenced, (self.place(word), UNFENCED_GLOBAL));
        }
        let started = block.clocks[thread].knowledge();
        block.engines.load(Load { engine: (engine, time), by: place, started });
        // What the thread does from now on is not before the copy.
        block.clocks[thread].own += 1;
        self.top = self.top.max(block.clocks[thread].own);
        let Some(state) = block.mbarriers.get_mut(&barrier) else { return };
        let mut known = state.gathering.as_deref().cloned().unwrap_or_default();
        known.agents.raise(engine, time);
        state.gathering = Some(Rc::new(known));
        state.unseen = Some((site, me));
        if ends {
            state.end((engine, time));
        }
    }

    /// A bulk copy from shared to global memory, part of the thread's open group.
    pub(in super::super) fn bulk_store(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        moved: &[Moved],
        site: &'static Location<'static>,
    ) {
        let agents = [Engine::StoreReads(thread as u32), Engine::StoreWrites(thread as u32)];
        let [reads, writes] = agents.map(|engine| self.engine(block, engine));
        let me = self.agent(block, thread).agent;
        self.issuers.extend([(reads, me), (writes, me)]);
        let stores = block.engines.stores.entry(thread as u32).or_default();
        stores.start(site);
        let time = self.launch.base + stores.last;
        self.top = self.top.max(time + 1);
        let mut unfenced = None;
        for piece in moved {
            let (words, address) = (piece.words.map(u64::from), u64::from(piece.shared));
            let (space, kind) = (Space::Shared, AccessKind::Read);
            let read = Touch { space, kind, address, bytes: 16, before: &words, after: &[], site };
            unfenced = unfenced.or_else(|| self.unfenced(block, thread, address));
            if block.reaches_barriers(address, 16) {
                self.spare_barriers(block, thread, (address, 16), "has it read by a copy", site);
            }
            self.access_as(block, thread, reads, time, &read, Use::Other(Way::Read, false));
            piece.of_global(|address, bytes, words| {
                let (space, kind) = (Space::Global, AccessKind::Write);
                let write = Touch { space, kind, address, bytes, before: &[], after: words, site };
                self.access_as(block, thread, writes, time, &write, Use::Write);
            });
        }
        if let Some(unfenced) = unfenced {
            self.report_unfenced(me, site, "starts a copy", unfenced, (block.place(unfenced.word, 4), UNFENCED));
        }
    }

    /// A thread begins a product, whose tiles are read while it goes on. Those of its warp's products before have been
    /// read when the call returns.
    pub(in super::super) fn products_begin(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        site: &'static Location<'static>,
    ) {
        self.products_made(block, thread);
        let (begun, clock) = (block.engines.products.entry(thread as u32).or_default(), &mut block.clocks[thread]);
        begun.count += 1;
        begun.open = Some((site, clock.knowledge()));
        // What the thread does from now on is not before the product.
        clock.own += 1;
        self.top = self.top.max(self.launch.base + begun.count + 1).max(clock.own);
    }

    /// The tiles of all products that the warp has begun have been read.
    pub(in super::super) fn products_made(&mut self, block: &mut BlockState, thread: usize) {
        let Some(begun) = block.engines.products.get_mut(&(thread as u32)) else { return };
        let (time, open) = (self.launch.base + begun.count, begun.open.take());
        if let Some((_, knew)) = open {
            self.product_waited(block, thread, knew);
        }
        self.knows_engine(block, thread, Engine::Products(thread as u32 / 32), time);
    }

    /// A product that the thread waits for at once has read its tiles.
    pub(in super::super) fn product_made(&mut self, block: &mut BlockState, thread: usize) {
        let knew = block.clocks[thread].knowledge();
        self.product_waited(block, thread, knew);
    }

    /// The thread has waited for a product that it began when it knew that much: to copies, that is a fence behind what
    /// came before the product.
    fn product_waited(&mut self, block: &mut BlockState, thread: usize, knew: Clock) {
        let clock = &mut block.clocks[thread];
        block.engines.fences.entry(thread as u32).or_default().product(clock.own, knew);
        clock.own += 1;
        self.top = self.top.max(clock.own);
    }

    /// The product that the thread has begun last reads shared memory.
    pub(in super::super) fn product_reads(&mut self, block: &mut BlockState, thread: usize, touch: &Touch) {
        let engine = self.engine(block, Engine::Products(thread as u32 / 32));
        let time = self.launch.base + block.engines.products.get(&(thread as u32)).map_or(0, |begun| begun.count);
        let me = self.agent(block, thread).agent;
        self.issuers.insert(engine, me);
        self.access_as(block, thread, engine, time, touch, Use::of(touch.kind));
    }

    /// A thread has the tensor cores multiply the 16 bytes of shared memory at `address`, which it has read.
    pub(in super::super) fn multiplied(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        address: u32,
        site: &'static Location<'static>,
    ) {
        if let Some(unfenced) = self.unfenced(block, thread, address.into()) {
            let me = self.agent(block, thread).agent;
            let place = block.place(unfenced.word, 4);
            self.report_unfenced(me, site, "multiplies it", unfenced, (place, UNFENCED_PRODUCT));
        }
    }

    /// A copy of the thread's own from global to shared memory, part of its open group: of `words`, of whose bytes the
    /// first `there` are read and the others are zero. Both sides are judged as from now on, whenever the data moves.
    pub(in super::super) fn copy_async(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (to, from, words, there): (u32, u64, &[u64], u32),
        site: &'static Location<'static>,
    ) {
        let engine = self.engine(block, Engine::Copy(thread as u32));
        let me = self.agent(block, thread).agent;
        self.issuers.insert(engine, me);
        let copies = block.engines.copies.entry(thread as u32).or_default();
        let time = self.launch.base + copies.closed + 1;
        copies.start(site);
        self.top = self.top.max(time + 1);
        for (at, word) in (0..).step_by(4).zip(words.chunks(1)) {
            // Of a word that is not all there its bytes.
            let whole = at + 4 <= there;
            for at in (at..there.min(at + 4)).step_by(if whole { 4 } else { 1 }) {
                let (space, kind, bytes) = (Space::Global, AccessKind::Read, if whole { 4 } else { 1 });
                let read = Touch { space, kind, address: from + u64::from(at), bytes, before: word, after: &[], site };
                self.access_as(block, thread, engine, time, &read, Use::Other(Way::Read, false));
            }
            let (space, kind, address) = (Space::Shared, AccessKind::Write, u64::from(to + at));
            if block.reaches_barriers(address, 4) {
                self.spare_barriers(block, thread, (address, 4), "has it written by a copy", site);
            }
            let write = Touch { space, kind, address, bytes: 4, before: &[], after: word, site };
            self.access_as(block, thread, engine, time, &write, Use::Write);
        }
    }

    /// The thread closes its group of copies.
    pub(in super::super) fn copy_async_commit(&mut self, block: &mut BlockState, thread: usize) {
        block.engines.copies.entry(thread as u32).or_default().closed += 1;
    }

    /// The thread waits until all but its last `n` groups of copies are done.
    pub(in super::super) fn copy_async_wait(&mut self, block: &mut BlockState, thread: usize, n: u32) {
        let Some(copies) = block.engines.copies.get_mut(&(thread as u32)) else { return };
        let done = copies.wait(n);
        if done > 0 {
            self.knows_engine(block, thread, Engine::Copy(thread as u32), self.launch.base + done);
        }
    }

    /// The first of four shared words whose last write is a thread's, without a fence for the copy engines between that
    /// and now.
    fn unfenced(&mut self, block: &mut BlockState, thread: usize, address: u64) -> Option<Unfenced> {
        let (launch, me, home) = (&self.launch, self.agent(block, thread), block.home);
        let BlockState { clocks, shared, engines, .. } = block;
        for word in (address..address + 16).step_by(4) {
            let cells = shared.cells(word, 4, &mut self.lists, |_| super::shadow::NOBODY);
            let is_unfenced = |cell: &&mut Cell| {
                let of_thread = cell.writer < launch.engines && cell.time > launch.base;
                // What is in no order with the write is a race, and told as that alone.
                let knows = |agent, time| clocks[thread].knows(me, agent, || Some(home), time);
                of_thread
                    && knows(cell.writer, cell.time)
                    && !engines.fenced(home, me, &clocks[thread], (cell.writer, cell.time))
            };
            if let Some(cell) = cells.iter_mut().find(is_unfenced) {
                return Some(Unfenced { word, agent: cell.writer, site: cell.site, did: "writes" });
            }
        }
        None
    }

    /// The first of four shared words that a thread of the block has read, or accessed atomically, since the last plain
    /// write, without a fence for the copy engines between that and now. Notes the reads that it finds fenced.
    fn unfenced_read(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        address: u64,
        fenced: &mut FencedReads,
    ) -> Option<Unfenced> {
        let (me, home, stride) = (self.agent(block, thread), block.home, self.launch.stride);
        let BlockState { clocks, shared, engines, .. } = block;
        let clock = &clocks[thread];
        for word in (address..address + 16).step_by(4) {
            let cells = shared.cells(word, 4, &mut self.lists, |_| super::shadow::NOBODY);
            for entry in cells.iter().flat_map(|cell| self.lists.entries(cell, u32::MAX)) {
                // Neither an engine's, which reads as copies write, nor that of another block, whose fences are of its
                // own shared memory.
                if (entry.warp * 32).wrapping_sub(home * stride) >= stride {
                    continue;
                }
                let known = fenced.entry(entry.warp).or_default();
                if entry.time > known.1 {
                    *known = (0, entry.time);
                }
                for agent in entry.without(known.0).agents() {
                    let read = (agent, entry.time);
                    if engines.fenced_read(home, me, clock, read) {
                        known.0 |= if entry.time == known.1 { 1 << (agent % 32) } else { 0 };
                    } else if clock.knows(me, agent, || Some(home), entry.time) {
                        // What is in no order with the read is a race, and told as that alone.
                        return Some(Unfenced { word, agent, site: entry.site(), did: entry.way().words() });
                    }
                }
            }
        }
        None
    }

    /// Reports an access past the threads to what a thread accessed and did not fence.
    fn report_unfenced(
        &mut self,
        me: u32,
        site: &'static Location<'static>,
        what: &str,
        unfenced: Unfenced,
        (memory, advice): (Memory, &str),
    ) {
        let first = (unfenced.agent, unfenced.site, unfenced.did);
        self.report_both(Kind::MissingProxyFence, first, (me, site, what), (memory, advice));
    }

    /// The thread fences its accesses, and those that it knows of, for the copy engines.
    pub(in super::super) fn fence_async(&mut self, block: &mut BlockState, thread: usize) {
        let clock = &mut block.clocks[thread];
        block.engines.fences.entry(thread as u32).or_default().fence(clock);
        let me = block.number * self.launch.stride + thread as u32;
        for barrier in block.mbarriers.values_mut().filter(|barrier| barrier.maker == me) {
            barrier.shown.get_or_insert(clock.own);
        }
        // What the thread does from now on is behind the fence.
        clock.own += 1;
        self.top = self.top.max(clock.own);
    }

    /// The thread closes its group of stores.
    pub(in super::super) fn bulk_commit(&mut self, block: &mut BlockState, thread: usize) {
        block.engines.stores.entry(thread as u32).or_default().closed += 1;
    }

    /// The thread waits until all but its last `n` groups have read their source. What they write is not known by that.
    pub(in super::super) fn bulk_wait_read(&mut self, block: &mut BlockState, thread: usize, n: u32) {
        let Some(stores) = block.engines.stores.get_mut(&(thread as u32)) else { return };
        let done = stores.wait(n);
        if done > 0 {
            self.knows_engine(block, thread, Engine::StoreReads(thread as u32), self.launch.base + done);
        }
    }

    /// Whether a thread of the block knows what an agent of another did.
    fn any_knows(&self, block: &BlockState, agent: u32, time: u32) -> bool {
        let knows = |(thread, clock): (usize, &Clock)| {
            clock.knows(self.agent(block, thread), agent, || self.launch.block_of(agent), time)
        };
        block.clocks.iter().enumerate().any(knows)
    }

    /// A block has ended: no copy and no product of its own may still be under way.
    pub(in super::super) fn end_block(&mut self, block: &mut BlockState) {
        let stride = self.launch.stride;
        let unseen: Vec<_> = block.mbarriers.values().filter_map(|barrier| barrier.unseen).collect();
        for (site, agent) in unseen {
            let advice = "wait for the phase of the barrier that counts the copy before the block ends";
            self.report(Kind::CopyInFlight, agent, site, "starts a copy to shared memory", advice);
        }
        let arrived = block.mbarriers.values().flat_map(|barrier| &barrier.from_others);
        let unknown: Vec<_> =
            arrived.filter(|&&(agent, time, _)| !self.any_knows(block, agent, time)).copied().collect();
        for (agent, _, site) in unknown {
            let advice = "the block may have ended before the arrival: all threads of the cluster pass cluster::sync \
                          at its end, or the block waits for the phase with Mbarrier::wait_cluster";
            self.report(Kind::CopyInFlight, agent, site, "arrives at a barrier of another block", advice);
        }
        let mut unknown: Vec<_> = block
            .read_by_others
            .iter()
            .map(|(&agent, &(time, site))| (agent, time, site))
            .filter(|&(agent, time, _)| !self.any_knows(block, agent, time))
            .collect();
        unknown.sort_unstable_by_key(|&(agent, ..)| agent);
        for (agent, _, site) in unknown {
            let advice = "the block may have ended before the read: all threads of the cluster pass cluster::sync \
                          between the last read and its end";
            self.report(Kind::CopyInFlight, agent, site, "reads shared memory of another block", advice);
        }
        let unfinished = |groups: &Map<u32, Groups>| -> Vec<_> {
            let in_flight = groups.iter().filter(|(_, groups)| groups.done < groups.last);
            in_flight.filter_map(|(&thread, groups)| Some((block.number * stride + thread, groups.site?))).collect()
        };
        let (stores, copies) = (unfinished(&block.engines.stores), unfinished(&block.engines.copies));
        for (agent, site) in stores {
            let advice = "commit the group and wait (bulk::wait_read) before the block ends: its shared memory \
                          becomes another block's";
            self.report(Kind::CopyInFlight, agent, site, "starts a copy from shared memory", advice);
        }
        for (agent, site) in copies {
            let advice = "commit the group and wait (async_copy::wait) before the block ends: its shared memory \
                          becomes another block's";
            self.report(Kind::CopyInFlight, agent, site, "starts a copy to shared memory", advice);
        }
        self.end_groups(block);
        let products = block.engines.products.iter();
        let open: Vec<_> = products
            .filter_map(|(&thread, begun)| Some((block.number * stride + thread, begun.open.as_ref()?.0)))
            .collect();
        for (agent, site) in open {
            let advice = "wait for the product (Sums::finish) before the block ends: its shared memory becomes \
                          another block's";
            self.report(Kind::CopyInFlight, agent, site, "begins a product", advice);
        }
        block.shared.reset(&mut self.lists);
    }
}

/// 16 bytes that a copy engine moves.
pub(in super::super) struct Moved {
    pub(in super::super) global: u64,
    pub(in super::super) shared: u32,
    /// How many of them the global side has: the first. The others are zero.
    pub(in super::super) there: u32,
    pub(in super::super) words: [u32; 4],
}

impl Moved {
    /// Calls `access` with what is touched of the global side: address, bytes and words as in a [`Touch`].
    fn of_global(&self, mut access: impl FnMut(u64, u32, &[u64])) {
        if self.there == 16 {
            return access(self.global, 16, &self.words.map(u64::from));
        }
        for at in 0..self.there {
            let byte = self.words[at as usize / 4] >> (at % 4 * 8) & 0xFF;
            access(self.global + u64::from(at), 1, &[byte.into()]);
        }
    }
}

impl Mbarrier {
    fn end(&mut self, by: (u32, u32)) {
        self.enders[self.parity] = Some(by);
        self.ended[self.parity] = self.gathering.take();
        self.ended_wide[self.parity] = self.gathering_wide.take();
        self.parity ^= 1;
        self.phase += 1;
    }
}

/// The access that an operation on a barrier in shared memory is: to its 8 bytes.
fn mbarrier_touch(address: u32, kind: AccessKind, site: &'static Location<'static>) -> Touch<'static> {
    Touch { space: Space::Shared, kind, address: address.into(), bytes: 8, before: &[], after: &[0], site }
}
