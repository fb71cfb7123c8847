//! The state of a check: shadow memory, clocks of the running blocks, findings; and what an access does to them.

use super::super::finding::{Finding, Kind, Memory, Side};
use super::super::map::Map;
use super::super::observe::{AccessKind, Space};
use super::carried::{Chain, Engines, Word};
use super::clock::{Clock, Known, Place};
use super::missing::Missing;
use super::report::{Check, Report};
use super::schedule::Schedule;
use super::shadow::{
    ATOMIC, Cell, Entry, HOST, InOrder, LOADS, Lists, MODIFIES, NARROW, NOBODY, READS, Shadow, WIDE, WORDS, Way,
};
use super::sites::Sites;
use super::state::{BlockState, Launch};
use crate::Dim3;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::rc::Rc;

/// The writer of what the launcher cleared between launches.
pub(in super::super) const LAUNCHER: u32 = u32::MAX - 3;

/// Advice for threads that a lock keeps apart, and nothing orders.
const LOCKED: &str = "a lock keeps these threads apart, but it orders nothing: take it with Order::Acquire and give it \
                      back with Order::Release, both with Scope::Device if threads of several blocks take it; a \
                      barrier would wait for those that wait for the lock";

/// How an access is made that no thread makes itself, as a finding says it behind what is done.
const COPY: &str = "by a copy that it started";
const PRODUCT: &str = "by a product that it began";

/// Findings of one kind between the same two lines that are counted; each is reported once.
type Key = (Kind, &'static str, u32, u32);

/// One access, as the simulator sees it.
#[derive(Clone, Copy)]
pub(in super::super) struct Touch<'a> {
    pub(in super::super) space: Space,
    pub(in super::super) kind: AccessKind,
    pub(in super::super) address: u64,
    pub(in super::super) bytes: u32,
    /// The words there before and after, of `bytes` bytes or, in a pack, of 4.
    pub(in super::super) before: &'a [u64],
    pub(in super::super) after: &'a [u64],
    pub(in super::super) site: &'static Location<'static>,
}

/// How an access counts for races.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Use {
    Write,
    /// Anything that does not exclude its like.
    Other(Way, BlockScope),
}

impl Use {
    pub(in super::super) fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Read => Self::Other(Way::Read, false),
            AccessKind::Write => Self::Write,
            AccessKind::Atomic => Self::Other(Way::Modify, false),
        }
    }
}

impl Use {
    /// A bit ([`Entry::bit`]) for each way of earlier accesses that may stand against such an access of `bytes` bytes;
    /// `early` says whether a launch before may still run.
    #[inline]
    fn against(self, bytes: u32, early: bool) -> u32 {
        let of_another_size = if bytes > 4 { WORDS } else { WIDE };
        match self {
            Self::Write => u32::MAX,
            Self::Other(Way::Load, _) if early => MODIFIES,
            Self::Other(Way::Modify, _) if early => READS | LOADS | MODIFIES,
            Self::Other(Way::Read, _) | Self::Other(Way::Load, true) => MODIFIES,
            Self::Other(Way::Load, false) => NARROW | of_another_size,
            Self::Other(Way::Modify, true) => READS | LOADS | MODIFIES,
            Self::Other(Way::Modify, false) => READS | NARROW | of_another_size,
        }
    }
}

/// Whether an atomic access holds for its block alone.
pub(in super::super) type BlockScope = bool;

/// A check while it runs.
pub(in super::super) struct Session {
    pub(super) options: Check,
    pub(in crate::sim) schedule: Schedule,
    pub(super) lists: Lists,
    pub(super) global: Shadow,
    pub(super) words: Map<u64, Word>,
    /// The chains of atomic operations on words of global memory, of this launch.
    pub(super) chains: Map<u64, Chain>,
    /// What came before the sequentially consistent fences of this launch whose scope reaches the device.
    pub(super) fenced_sc: Option<Rc<Known>>,
    /// Memory that began to exist during the check: address and bytes.
    pub(super) allocations: BTreeMap<u64, u64>,
    pub(super) sites: Sites,
    pub(super) launch: Launch,
    /// The launches before, the last one last; those that no overlap reaches are forgotten.
    history: Vec<Launch>,
    /// Times after the first and up to the second belong to a launch that may still run: the launch after it did not
    /// wait for it.
    running: Option<(u32, u32)>,
    /// The latest time of any thread.
    pub(super) top: u32,
    findings: Vec<Finding>,
    index: HashMap<Key, usize>,
    /// Findings that others explain.
    explained: Vec<usize>,
    pub(super) launches: u64,
    accesses: u64,
    /// The agents that started the last copies of the engines.
    pub(super) issuers: Map<u32, u32>,
    /// Words that may be locks, by their block if they are in shared memory, and who holds each; and the last that each
    /// agent took.
    holders: HashMap<(u32, u64), u32>,
    taken: Map<u32, (u32, u64)>,
}

/// An earlier access that conflicts with one that is being made.
#[derive(Clone, Copy)]
struct Conflict {
    kind: Kind,
    agent: u32,
    time: u32,
    site: u32,
    what: &'static str,
    /// Whether it is the last plain write, whose value is what the memory holds.
    wrote: bool,
    /// Whether the later thread has read, relaxed, what would have ordered the two.
    unacquired: bool,
}

/// An access that is being judged against the earlier ones to its words.
struct Judge<'a> {
    touch: &'a Touch<'a>,
    using: Use,
    /// Who makes it, when and where.
    agent: u32,
    time: u32,
    site: u32,
    /// The thread that it is made for, and what that knows.
    me: Place,
    clock: &'a Clock,
    launch: &'a Launch,
    running: Option<(u32, u32)>,
    /// The chains of atomic operations on the memory's words.
    chains: &'a Map<u64, Chain>,
}

impl Judge<'_> {
    /// Whether the thread knows what an agent did.
    fn knows(&self, agent: u32, time: u32) -> bool {
        if time > self.launch.base {
            self.clock.knows(self.me, agent, || self.launch.block_of(agent), time)
        } else {
            time <= self.clock.launch && !self.running.is_some_and(|(from, to)| time > from && time <= to)
        }
    }

    /// Whether the access is the thread's own. An engine's copies are in no order but by what waits for them.
    fn mine(&self, agent: u32, time: u32) -> bool {
        agent == self.agent && agent < self.launch.engines && time > self.launch.base
    }

    /// Whether the access is plain or holds for a block alone, to a word of `bytes` bytes, and the thread knows the
    /// last of the atomic operations on that word, which has seen all others of the launch, or a load of what it left.
    fn follows_chain(&self, word: u64, bytes: u32) -> bool {
        let needs_it = matches!(self.using, Use::Write | Use::Other(Way::Read, _) | Use::Other(_, true));
        let chain = self.chains.get(&word).filter(|chain| needs_it && chain.bytes == bytes);
        chain.is_some_and(|chain| {
            let knows = |(agent, time)| self.mine(agent, time) || self.knows(agent, time);
            chain.last.is_some_and(|last| knows(last) || chain.seen.iter().any(|(&agent, &time)| knows((agent, time))))
        })
    }

    /// What an earlier access of the cell's word and the access are together, if they are not in order.
    fn together(&self, entry: Entry) -> Option<Kind> {
        let space = self.touch.space;
        match (self.using, entry.way()) {
            // Both are atomic, and which comes first is for the wait to say.
            (Use::Other(Way::Load | Way::Modify, _), Way::Modify) | (Use::Other(Way::Modify, _), Way::Load)
                if entry.time <= self.launch.base =>
            {
                Some(Kind::BeforeWait)
            }
            (Use::Write, Way::Read) => Some(race(space)),
            (Use::Write, _) => Some(Kind::MixedAtomic),
            (Use::Other(Way::Read, _), Way::Modify) => Some(Kind::MixedAtomic),
            (Use::Other(Way::Modify, _), Way::Read) => Some(Kind::MixedAtomic),
            (Use::Other(Way::Load | Way::Modify, _), Way::Modify) | (Use::Other(Way::Modify, _), Way::Load)
                if entry.wide() != (self.touch.bytes > 4) =>
            {
                Some(Kind::MixedAtomic)
            }
            (Use::Other(Way::Load | Way::Modify, _), Way::Modify) | (Use::Other(Way::Modify, _), Way::Load)
                if space == Space::Global =>
            {
                let narrow = entry.block_scope() || matches!(self.using, Use::Other(_, true));
                (narrow && self.launch.block_of(entry.warp * 32) != Some(self.me.block)).then_some(Kind::ScopeTooSmall)
            }
            _ => None,
        }
    }

    /// Finds what is wrong with the access to a cell, which is part of word `i` of the access.
    #[inline(never)]
    fn find(&self, cell: &mut Cell, lists: &Lists, against: u32, i: usize, found: &mut Option<(usize, Conflict)>) {
        let touch = self.touch;
        // Another's plain write before this access.
        if !self.mine(cell.writer, cell.time) && !self.knows(cell.writer, cell.time) {
            let kind = match self.using {
                Use::Write if touch.before.get(i) == touch.after.get(i) => Kind::SameValueWrite,
                Use::Other(Way::Load | Way::Modify, _) => Kind::MixedAtomic,
                _ => race(touch.space),
            };
            let (agent, time, site) = (cell.writer, cell.time, cell.site);
            *found = Some((i, Conflict { kind, agent, time, site, what: "writes", wrote: true, unacquired: false }));
        }
        // What others did since that write.
        let step = if touch.bytes == 16 { 4 } else { touch.bytes };
        let follows_chain = self.follows_chain(touch.address + i as u64 * u64::from(step), step);
        for entry in lists.entries(cell, against) {
            let of_chain = entry.way() == Way::Modify && entry.wide() == (step > 4) && entry.time > self.launch.base;
            if follows_chain && of_chain {
                continue;
            }
            let near = entry.time > self.launch.base && self.me.has_block_of(entry.warp * 32);
            if self.running.is_none() && entry.time <= self.clock.launch || near && entry.time <= self.clock.block {
                continue;
            }
            let Some(kind) = self.together(entry) else { continue };
            let unknown = |&agent: &u32| !self.mine(agent, entry.time) && !self.knows(agent, entry.time);
            if let Some(agent) = entry.agents().find(unknown) {
                let what = entry.way().words();
                let (time, site) = (entry.time, entry.site());
                found.get_or_insert((i, Conflict { kind, agent, time, site, what, wrote: false, unacquired: false }));
            }
        }
        let reads = !matches!(self.using, Use::Write) && !touch.before.is_empty();
        if reads && cell.writer == NOBODY {
            let (kind, agent, time, site) = (uninitialised(touch.space), self.agent, self.time, self.site);
            found.get_or_insert((i, Conflict { kind, agent, time, site, what: "", wrote: false, unacquired: false }));
            // Once is enough.
            cell.writer = HOST;
        }
    }

    /// Finds out whether a release was there, and was not acquired, or not far enough.
    #[cold]
    fn look_closer(&self, conflict: &mut Conflict) {
        let covers = |known: &Option<Rc<Known>>| {
            let block = self.launch.block_of(conflict.agent);
            known.as_ref().is_some_and(|known| known.covers(conflict.agent, block, conflict.time))
        };
        let between = self.touch.space == Space::Global && conflict.agent != self.agent;
        let unacquired = between && (covers(&self.clock.read_block) || covers(&self.clock.read_device));
        let too_narrow = between && covers(&self.clock.too_narrow);
        conflict.unacquired = unacquired;
        if too_narrow {
            conflict.kind = Kind::ScopeTooSmall;
        }
    }
}

impl Session {
    pub(super) fn new(options: Check) -> Self {
        Self {
            options,
            schedule: Schedule::new(options.seed, options.choices),
            lists: Lists::default(),
            global: Shadow::default(),
            words: Map::default(),
            chains: Map::default(),
            fenced_sc: None,
            allocations: BTreeMap::new(),
            sites: Sites::default(),
            launch: Launch::default(),
            history: Vec::new(),
            running: None,
            top: 0,
            findings: Vec::new(),
            index: HashMap::new(),
            explained: Vec::new(),
            launches: 0,
            accesses: 0,
            issuers: Map::default(),
            holders: HashMap::new(),
            taken: Map::default(),
        }
    }

    pub(in crate::sim) fn take_report(&mut self) -> Report {
        let findings = std::mem::take(&mut self.findings).into_iter().enumerate();
        let explained = std::mem::take(&mut self.explained);
        Report {
            findings: findings.filter(|(at, _)| !explained.contains(at)).map(|(_, finding)| finding).collect(),
            schedules: 1,
            launches: self.launches,
            accesses: self.accesses,
            not_judged: self.lists.lost,
        }
    }

    /// A launch of that grid and that block begins: everything before it is known to it, unless it overlaps with the
    /// one before.
    ///
    /// # Errors
    /// If there are more threads and copy engines than agents have numbers.
    pub(in crate::sim) fn begin_launch(
        &mut self,
        kernel: &'static str,
        [grid, block]: [[u32; 3]; 2],
        views: &[(u64, u64)],
        overlapping: bool,
    ) -> Result<(), String> {
        let blocks: u64 = grid.iter().map(|&d| u64::from(d)).product();
        let stride = block.iter().product::<u32>().next_multiple_of(32);
        let engines = blocks * u64::from(stride);
        if engines + blocks * u64::from(Engines::per_block(stride)) >= u64::from(u32::MAX - 8) {
            return Err(format!("{blocks} blocks are more than a check can count"));
        }
        let (views, engines) = (views.to_vec(), engines as u32);
        let launch = Launch { kernel, grid, block, views, stride, engines, overlapping, ..Launch::default() };
        let before = std::mem::take(&mut self.launch);
        let base = self.top;
        let floor = match launch.overlapping && self.launches > 0 {
            false => {
                self.history.clear();
                self.running = None;
                base
            }
            true if before.overlapping => {
                // The end of the launch before says nothing of those before it, unless it has waited for them.
                if !before.waited {
                    let from = self.running.map_or(before.floor, |(from, _)| from.min(before.floor));
                    self.running = Some((from, before.base));
                }
                before.floor
            }
            true => before.base,
        };
        self.history.push(before);
        self.launch = Launch { base, floor, ..launch };
        self.launches += 1;
        self.words.clear();
        self.chains.clear();
        self.fenced_sc = None;
        self.holders.clear();
        self.taken.clear();
        Ok(())
    }

    /// The block of that number begins.
    pub(in crate::sim) fn begin_block(&mut self, block: &mut BlockState, number: u32) {
        block.begin(number, self.launch.base, self.launch.floor);
        self.top = self.top.max(self.launch.base + 1);
    }

    pub(super) fn allocated(&mut self, address: u64, bytes: u64) {
        self.global.overwrite(address, bytes, NOBODY, &mut self.lists);
        self.allocations.insert(address, bytes);
    }

    pub(super) fn freed(&mut self, address: u64) {
        if let Some(bytes) = self.allocations.remove(&address) {
            self.global.overwrite(address, bytes, HOST, &mut self.lists);
        }
    }

    pub(super) fn overwritten(&mut self, address: u64, bytes: u64, writer: u32) {
        if bytes == 0 {
            return;
        }
        // The pages have to exist, or the bytes would count as unwritten at their first use. A word of which the host
        // wrote a part counts as written.
        let end = address + bytes;
        for page in address / 4096..end.div_ceil(4096) {
            let from = address.max(page * 4096);
            self.touch_page(from);
        }
        self.global.overwrite(address, bytes, writer, &mut self.lists);
    }

    fn touch_page(&mut self, address: u64) {
        let allocations = &self.allocations;
        self.global.cells(address & !3, 4, &mut self.lists, |word| fresh(allocations, word));
    }

    pub(super) fn expect_written(&mut self, address: u64, len: u32, bytes: u32) {
        let mut missing = Missing::default();
        for i in 0..u64::from(len) {
            let at = address + i * u64::from(bytes);
            let allocations = &self.allocations;
            let cells = self.global.cells(at, bytes.into(), &mut self.lists, |word| fresh(allocations, word));
            if cells.iter().any(|cell| matches!(cell.writer, HOST | NOBODY)) {
                missing.add(i);
            }
        }
        if let Some(first) = missing.first() {
            let count = missing.count;
            let side = Side {
                what: format!("or another had to write {count} of {len} elements that none has written"),
                site: None,
                block: Dim3([0; 3]),
                thread: Dim3([0; 3]),
                warp: 0,
                value: None,
            };
            let memory = Memory { space: Space::Global, bytes, ..self.place(address + first * u64::from(bytes)) };
            self.push(Finding {
                kind: Kind::Unwritten,
                kernel: self.launch.kernel,
                memory: Some(memory),
                first: None,
                second: side,
                advice: format!(
                    "not written: {}; which thread should write the first of them, and which index does it take?",
                    missing.words(len.into())
                ),
                count,
                seed: self.schedule.seed(),
            });
        }
    }

    /// An address as an offset into one of the launch's views.
    pub(super) fn place(&self, address: u64) -> Memory {
        Memory::in_views(&self.launch.views, address, 4)
    }

    /// The place of a thread of a block.
    #[inline]
    pub(super) fn agent(&self, block: &BlockState, thread: usize) -> Place {
        let stride = self.launch.stride;
        let first = block.number * stride;
        let agent = first + thread as u32;
        Place { block: block.number, warp: agent / 32, agent, first, stride }
    }

    /// A plain access by a thread.
    #[inline(always)]
    pub(in super::super) fn plain(&mut self, block: &mut BlockState, thread: usize, touch: &Touch, using: Use) {
        let Touch { space, kind, address, bytes, site, .. } = *touch;
        if space == Space::Shared && block.reaches_barriers(address, bytes) {
            let what = if kind == AccessKind::Write { "writes it" } else { "reads it" };
            self.spare_barriers(block, thread, (address, bytes), what, site);
        }
        if !self.access_in_order(block, thread, (space, address, bytes), kind, site) {
            self.access(block, thread, touch, using);
        }
    }

    /// A plain access to one word or several that the thread's own numbers show to be in order with all earlier ones,
    /// as they do for most. If they do not, false is returned, and the access is for [`Session::access`], which would
    /// do the same in several times the time: it may judge words again that have been judged here.
    #[inline(always)]
    pub(in super::super) fn access_in_order(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (space, address, bytes): (Space, u64, u32),
        kind: AccessKind,
        location: &'static Location<'static>,
    ) -> bool {
        let (clock, place) = (&block.clocks[thread], self.agent(block, thread));
        // While an earlier launch may still run, its times are not told from those of this one by a comparison.
        if bytes < 4 || self.running.is_some() || clock.launch != self.launch.base {
            return false;
        }
        let by = clock.numbers(place);
        let site = self.sites.number(location);
        for word in (address..address + u64::from(bytes)).step_by(4) {
            let shadow = match space {
                Space::Shared => &mut block.shared,
                Space::Global => &mut self.global,
            };
            let Some(cell) = shadow.word(word) else { return false };
            let order = match kind {
                AccessKind::Read => cell.read_in_order(by, site, space == Space::Shared),
                AccessKind::Write => cell.write_in_order(by, site),
                AccessKind::Atomic => InOrder::No,
            };
            let in_order = match order {
                InOrder::Yes => true,
                InOrder::WithFirst => self.access_beside_others(block, thread, (space, word), kind, site),
                InOrder::No => false,
            };
            if !in_order {
                return false;
            }
        }
        self.accesses += 1;
        true
    }

    /// The rest of [`Session::access_in_order`] for a word with a list of accesses, or one that needs it now.
    #[inline(never)]
    fn access_beside_others(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (space, address): (Space, u64),
        kind: AccessKind,
        site: u32,
    ) -> bool {
        let by = block.clocks[thread].numbers(self.agent(block, thread));
        let shadow = match space {
            Space::Shared => &mut block.shared,
            Space::Global => &mut self.global,
        };
        let Some(cell) = shadow.word(address) else { return false };
        match kind {
            AccessKind::Write if self.lists.are_known(cell, by) => {
                self.lists.clear(cell);
                (cell.writer, cell.time, cell.site) = (by.agent, by.own, site);
                true
            }
            AccessKind::Read if !self.lists.others(cell, MODIFIES) => {
                let read = Entry::new(by.agent, by.own, site, Way::Read, false);
                self.lists.add(cell, read, |e| by.block_knows(e.warp * 32, e.time));
                true
            }
            _ => false,
        }
    }

    /// A read through the cache of read-only data, which has been judged as a plain one: nothing orders it behind a
    /// write of its own launch.
    pub(in super::super) fn read_only(&mut self, block: &BlockState, thread: usize, touch: &Touch) {
        let me = self.agent(block, thread);
        let Some((word, writer, site)) = self.written_before(block, me, touch.address, touch.bytes) else { return };
        let (kind, here) = (Kind::GlobalRace, self.sites.number(touch.site));
        if self.seen((kind, self.launch.kernel, site, here)) {
            return;
        }
        let first = self.side(&self.launch, writer, site, "writes", None);
        let second = self.side(&self.launch, me.agent, here, "reads as read-only data", None);
        let advice = "the cache of read-only data may hold what was there before, whatever barrier stands between: \
                      read with get_pack what the same launch writes";
        let (kernel, seed) = (self.launch.kernel, self.schedule.seed());
        let (memory, first, advice) = (Some(self.place(word)), Some(first), advice.into());
        self.push(Finding { kind, kernel, memory, first, second, advice, count: 1, seed });
    }

    /// The first word of global memory that a thread of this launch wrote, plainly and last, and whose write the thread
    /// at `me` knows; who wrote it, and where.
    pub(super) fn written_before(
        &mut self,
        block: &BlockState,
        me: Place,
        address: u64,
        bytes: u32,
    ) -> Option<(u64, u32, u32)> {
        let (launch, allocations, clock) =
            (&self.launch, &self.allocations, &block.clocks[(me.agent - me.first) as usize]);
        for word in (address..address + u64::from(bytes)).step_by(4) {
            let step = u64::from(bytes.min(4));
            let cells = self.global.cells(word, step, &mut self.lists, |word| fresh(allocations, word));
            let written = |cell: &&mut Cell| {
                cell.writer < launch.engines
                    && cell.time > launch.base
                    && clock.knows(me, cell.writer, || launch.block_of(cell.writer), cell.time)
            };
            if let Some(cell) = cells.iter_mut().find(written) {
                return Some((word, cell.writer, cell.site));
            }
        }
        None
    }

    /// An access by a thread.
    pub(in super::super) fn access(&mut self, block: &mut BlockState, thread: usize, touch: &Touch, using: Use) {
        let me = self.agent(block, thread);
        let time = block.clocks[thread].own;
        self.access_as(block, thread, me.agent, time, touch, using);
    }

    /// An access by `agent` at `time`, with the knowledge of the thread that it works for.
    pub(super) fn access_as(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        agent: u32,
        time: u32,
        touch: &Touch,
        using: Use,
    ) {
        self.accesses += 1;
        let site = self.sites.number(touch.site);
        let me = self.agent(block, thread);
        let clock = &block.clocks[thread];
        let (launch, running, allocations, lists) = (&self.launch, self.running, &self.allocations, &mut self.lists);
        let chains = match touch.space {
            Space::Shared => &block.chains,
            Space::Global => &self.chains,
        };
        // Whether the thread knows what an agent did, as far as its own numbers tell: they do for most accesses.
        let floor = if running.is_some() { 0 } else { clock.launch };
        let knows = |agent: u32, time: u32| {
            let near = time > launch.base && me.has_block_of(agent);
            time <= floor || near && (time <= clock.block || agent / 32 == me.warp && time <= clock.warp)
        };
        let shadow = match touch.space {
            Space::Shared => &mut block.shared,
            Space::Global => &mut self.global,
        };
        let against = using.against(touch.bytes, running.is_some() || clock.launch < launch.base);
        let reads = !matches!(using, Use::Write) && !touch.before.is_empty();
        let mut found = None;
        let (words, step) = if touch.bytes == 16 { (4, 4) } else { (1, touch.bytes) };
        for i in 0..words {
            let word = touch.address + i as u64 * u64::from(step);
            let cells = shadow.cells(word, step.into(), lists, |word| match touch.space {
                Space::Shared => NOBODY,
                Space::Global => fresh(allocations, word),
            });
            for cell in cells {
                let mine = cell.writer == agent && agent < launch.engines && cell.time > launch.base;
                let entry = |e: Entry| knows(e.warp * 32, e.time) || e.is_of(agent) && e.time > launch.base;
                let ordered = (mine || knows(cell.writer, cell.time))
                    && lists.first(cell, against).is_none_or(entry)
                    && !lists.others(cell, against);
                if !ordered || reads && cell.writer == NOBODY {
                    let judge = Judge { touch, using, agent, time, site, me, clock, launch, running, chains };
                    judge.find(cell, lists, against, i, &mut found);
                }
                match using {
                    Use::Write => {
                        lists.clear(cell);
                        (cell.writer, cell.time, cell.site) = (agent, time, site);
                    }
                    Use::Other(way, block_scope) => {
                        if way == Way::Modify && matches!(cell.writer, NOBODY | HOST) {
                            cell.writer = ATOMIC;
                        }
                        let new = Entry::new(agent, time, site, way, block_scope).of_bytes(touch.bytes);
                        // An engine's read needs no fence, so it does not stand for earlier ones of threads. Global
                        // memory is accessed by other blocks, which are in conflict with some ways of access alone.
                        let stands_for = |e: Entry| match touch.space {
                            Space::Shared => agent < launch.engines || e.warp * 32 >= launch.engines,
                            Space::Global => new.stands_for(e),
                        };
                        lists.add(cell, new, |e| {
                            let of_block = e.time <= clock.block && me.has_block_of(e.warp * 32);
                            e.time <= clock.launch || of_block && stands_for(e)
                        });
                    }
                }
            }
        }
        if let Some((i, mut conflict)) = found {
            Judge { touch, using, agent, time, site, me, clock, launch, running, chains }.look_closer(&mut conflict);
            self.conflict(block, agent, (touch, using), i, site, conflict);
        }
    }

    /// Reports a conflict, or a read of what nobody wrote.
    #[cold]
    fn conflict(
        &mut self,
        block: &BlockState,
        agent: u32,
        (touch, using): (&Touch, Use),
        word: usize,
        site: u32,
        conflict: Conflict,
    ) {
        let Conflict { mut kind, .. } = conflict;
        if kind == Kind::SameValueWrite && self.options.allow_same_value {
            return;
        }
        let alone = matches!(kind, Kind::UninitialisedShared | Kind::UninitialisedGlobal);
        let earlier = !alone && conflict.time <= self.launch.base;
        if earlier {
            kind = Kind::BeforeWait;
        }
        if conflict.what == Way::Read.words() {
            self.explain(block, touch, word, conflict.site);
        }
        let sites = if alone { (site, site) } else { (conflict.site.min(site), conflict.site.max(site)) };
        let of_space = if kind == Kind::SameValueWrite { race(touch.space) } else { kind };
        let weight = (kind != Kind::SameValueWrite, if alone { 0 } else { self.apart(conflict.agent, agent) });
        let key = (of_space, self.launch.kernel, sites.0, sites.1);
        let known = self.index.get(&key).copied();
        if self.seen(key) && known.is_some_and(|at| weight <= self.findings[at].weight()) {
            return;
        }
        let memory = self.memory(block, touch, word);
        let what = match using {
            Use::Write => "writes",
            Use::Other(way, _) => way.words(),
        };
        let value = match touch.kind {
            AccessKind::Read => touch.before.get(word),
            _ => touch.after.get(word),
        };
        let second = self.side(&self.launch, agent, site, what, value.copied());
        let first = (!alone).then(|| {
            let launch = match earlier {
                true => self.history.iter().rev().find(|l| l.base < conflict.time).unwrap_or(&self.launch),
                false => &self.launch,
            };
            let value = touch.before.get(word).copied().filter(|_| conflict.wrote);
            self.side(launch, conflict.agent, conflict.site, conflict.what, value)
        });
        let mut advice = self.advice(kind, memory, first.as_ref(), &second);
        if touch.space == Space::Shared && block.mbarriers.contains_key(&(touch.address as u32)) {
            advice =
                "the thread that initialises a barrier calls mbarrier::fence_init, and all threads of the block pass \
                      thread::sync_threads before any uses it"
                    .into();
        }
        if matches!(of_space, Kind::SharedRace | Kind::GlobalRace) && self.both_locked(agent, conflict.agent) {
            advice = LOCKED.into();
        }
        if conflict.unacquired && kind != Kind::ScopeTooSmall {
            advice = "the thread has read what the other released, but relaxed: load it with Order::Acquire, or put a \
                      fence between that load and this access"
                .into();
        }
        let (kernel, seed) = (self.launch.kernel, self.schedule.seed());
        let finding = Finding { kind, kernel, memory: Some(memory), first, second, advice, count: 1, seed };
        match known {
            // It tells more of the mistake than what was seen first.
            Some(at) => self.findings[at] = Finding { count: self.findings[at].count, ..finding },
            None => self.push(finding),
        }
    }

    /// Word `word` of an access.
    fn memory(&self, block: &BlockState, touch: &Touch, word: usize) -> Memory {
        let step = if touch.bytes == 16 { 4 } else { touch.bytes };
        let address = touch.address + u64::from(word as u32 * step);
        match touch.space {
            Space::Global => Memory { bytes: step, ..self.place(address) },
            Space::Shared => block.place(address, step),
        }
    }

    /// The read at `site` of a word that nobody had written is a race, too, if the word is written now: that is the
    /// cause, and one finding is enough.
    fn explain(&mut self, block: &BlockState, touch: &Touch, word: usize, site: u32) {
        let kind = uninitialised(touch.space);
        let Some(&at) = self.index.get(&(kind, self.launch.kernel, site, site)) else { return };
        if self.findings[at].memory == Some(self.memory(block, touch, word)) && !self.explained.contains(&at) {
            self.explained.push(at);
        }
    }

    /// How far apart two agents' threads are, as [`Finding::weight`] counts it.
    fn apart(&self, a: u32, b: u32) -> u8 {
        let thread =
            |agent| if agent < self.launch.engines { agent } else { self.issuers.get(&agent).map_or(0, |&t| t) };
        let (a, b) = (thread(a), thread(b));
        match () {
            _ if a / self.launch.stride != b / self.launch.stride => 2,
            _ if a / 32 != b / 32 => 1,
            _ => 0,
        }
    }

    /// Whether the one holds a lock that the other has held.
    fn both_locked(&self, holder: u32, before: u32) -> bool {
        self.taken
            .get(&holder)
            .is_some_and(|word| self.holders.get(word) == Some(&holder) && self.taken.get(&before) == Some(word))
    }

    /// An atomic operation of a thread has changed a word from one value to another: it may have taken a lock, or given
    /// it back. An address of shared memory contains the block.
    pub(super) fn changed(&mut self, agent: u32, word: (u32, u64), updates: bool, [before, after]: [u64; 2]) {
        if before != 0 && after == 0 {
            self.holders.remove(&word);
        } else if updates && before == 0 && after != 0 {
            self.holders.insert(word, agent);
            self.taken.insert(agent, word);
        }
    }

    pub(super) fn side(&self, launch: &Launch, agent: u32, site: u32, what: &str, value: Option<u64>) -> Side {
        let (block, thread, warp) = launch.who(agent, &self.issuers);
        let what = match () {
            _ if agent < launch.engines => what.into(),
            _ if Engines::multiplies(agent - launch.engines, launch.stride) => format!("{what} {PRODUCT}"),
            _ => format!("{what} {COPY}"),
        };
        Side { what, site: Some(self.sites.site(site)), block, thread, warp, value }
    }

    /// What would have ordered two accesses.
    fn advice(&self, kind: Kind, memory: Memory, first: Option<&Side>, second: &Side) -> String {
        let one_is = |way: &str, first: &Side| first.what.contains(way) || second.what.contains(way);
        let near = match first {
            Some(first) if one_is(PRODUCT, first) => {
                "products read their tiles while their threads go on: a thread knows that the tiles of one call of \
                 Sums::add have been read when the next call returns, or Sums::finish. Only then may it write them, or \
                 tell others by a barrier that they may"
            }
            Some(first) if first.what.contains(COPY) && second.what.contains(COPY) => {
                "nothing orders two copies, not even those of one thread or one group: copy to another place, or start \
                 the second when the first is known to be done (async_copy::wait, or the phase of the barrier that \
                 counts it; of a bulk store only the end of the launch tells)"
            }
            Some(first) if one_is(COPY, first) => {
                "a copy runs asynchronously: wait for it before any thread reads the data (for the phase of the \
                 mbarrier that counts it, or async_copy::wait; other threads then need a barrier of the block), and \
                 start the next copy into the same memory only when all threads have read the data"
            }
            Some(first) if first.block != second.block => {
                "no barrier orders the blocks of a launch: a release after the first access and an acquire before the \
                 second, both with Scope::Device, do, and so do two launches"
            }
            Some(first) if first.warp == second.warp => {
                "both lanes have to pass warp::sync_warp, or the block thread::sync_threads, between the two accesses"
            }
            _ => "all threads of the block have to pass thread::sync_threads between the two accesses",
        };
        match kind {
            Kind::MixedAtomic
                if first.is_some_and(|first| [first, second].iter().all(|s| s.what.contains("atomic"))) =>
            {
                format!(
                    "atomic accesses of 4 and of 8 bytes are not atomic to each other: take one size, or order them: \
                         {near}"
                )
            }
            Kind::MixedAtomic => format!("make both accesses atomic, or order them: {near}"),
            Kind::ScopeTooSmall => {
                "a release and an acquire of different blocks meet only with Scope::Device on both sides, fences too"
                    .into()
            }
            Kind::UninitialisedShared => "write the word first, and pass a barrier if another thread writes it".into(),
            Kind::UninitialisedGlobal => "write the word in an earlier launch, clear it, or copy data to it".into(),
            Kind::BeforeWait => "call grid::wait_for_previous before the access".into(),
            Kind::SameValueWrite => {
                "if one thread should write this word, the other's index or condition is wrong; if both should, they \
                 need an order or an atomic operation, unless the value is always the same: then allow that \
                 (Check::allow_same_value, --allow-same-value)"
                    .into()
            }
            Kind::SharedRace | Kind::GlobalRace
                if first.is_some_and(|first| [first, second].iter().all(|side| side.what == "writes")) =>
            {
                format!(
                    "both write {}: is that index meant to be shared? If each thread has an element of its own, an \
                     index or a guard is wrong; if not: {near}",
                    memory.element_in_words()
                )
            }
            _ => near.into(),
        }
    }

    /// Counts a finding that is known already.
    pub(super) fn seen(&mut self, key: Key) -> bool {
        if let Some(&at) = self.index.get(&key) {
            self.findings[at].count += 1;
            return true;
        }
        self.index.insert(key, self.findings.len());
        false
    }

    pub(super) fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Reports what one thread did wrong at a place.
    #[cold]
    pub(super) fn report(
        &mut self,
        kind: Kind,
        agent: u32,
        site: &'static Location<'static>,
        what: &str,
        advice: &str,
    ) {
        let site = self.sites.number(site);
        if self.seen((kind, self.launch.kernel, site, site)) {
            return;
        }
        let (second, kernel, seed) =
            (self.side(&self.launch, agent, site, what, None), self.launch.kernel, self.schedule.seed());
        let advice = advice.into();
        self.push(Finding { kind, kernel, memory: None, first: None, second, advice, count: 1, seed });
    }

    /// Reports an operation of a thread, at a place, that conflicts with an earlier one of another.
    #[cold]
    pub(super) fn report_both(
        &mut self,
        kind: Kind,
        (earlier, earlier_site, earlier_what): (u32, u32, &str),
        (me, site, what): (u32, &'static Location<'static>, &str),
        (memory, advice): (Memory, &str),
    ) {
        let site = self.sites.number(site);
        if self.seen((kind, self.launch.kernel, earlier_site, site)) {
            return;
        }
        let first = Some(self.side(&self.launch, earlier, earlier_site, earlier_what, None));
        let second = self.side(&self.launch, me, site, what, None);
        let (kernel, memory, advice, seed) = (self.launch.kernel, Some(memory), advice.into(), self.schedule.seed());
        self.push(Finding { kind, kernel, memory, first, second, advice, count: 1, seed });
    }

    /// Whether the running thread is interrupted before its next access.
    pub(in super::super) fn interrupts(&mut self) -> bool {
        self.schedule.interrupts()
    }

    /// A shuffle reads a lane that its mask does not name.
    pub(in super::super) fn shuffled_outside(
        &mut self,
        block: &BlockState,
        thread: usize,
        source: u32,
        mask: u32,
        site: &'static Location<'static>,
    ) {
        let agent = self.agent(block, thread).agent;
        let what = format!("reads lane {source}, which the mask {mask:#010x} does not name");
        let advice = "name all lanes that are read in the mask, and let them make the call: the value is unspecified";
        self.report(Kind::ShuffleOutsideMask, agent, site, &what, advice);
    }
}

fn race(space: Space) -> Kind {
    match space {
        Space::Shared => Kind::SharedRace,
        Space::Global => Kind::GlobalRace,
    }
}

fn uninitialised(space: Space) -> Kind {
    match space {
        Space::Shared => Kind::UninitialisedShared,
        Space::Global => Kind::UninitialisedGlobal,
    }
}

/// Who wrote a word that no kernel has touched.
pub(super) fn fresh(allocations: &BTreeMap<u64, u64>, address: u64) -> u32 {
    let before = allocations.range(..address + 4).next_back();
    match before {
        Some((start, bytes)) if address < start + bytes => NOBODY,
        _ => HOST,
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Random;
    use super::*;

    /// What 96 threads do to 24 words, in a random order with barriers between: the findings, each with its count.
    fn outcome(seed: u64, quick: bool) -> Vec<String> {
        const THREADS: usize = 96;
        #[track_caller]
        fn here() -> &'static Location<'static> {
            Location::caller()
        }
        let sites = [here(), here(), here(), here(), here(), here()];
        let mut session = Session::new(Check::default());
        session.begin_launch("random", [[2, 1, 1], [THREADS as u32, 1, 1]], &[], false).unwrap();
        let mut blocks = [0, 1].map(|number| {
            let mut block = BlockState::new(number, THREADS);
            session.begin_block(&mut block, number);
            block
        });
        let mut random = Random::new(seed);
        // Few threads or many, and more or fewer accesses in order: each meets other paths.
        let (threads, barriers) = ([4, 40, 96][random.below(3) as usize], [3, 20, 200][random.below(3) as usize]);
        // Miri takes a hundred times as long.
        for _ in 0..if cfg!(miri) { 40 } else { 4000 } {
            let block = &mut blocks[(random.below(8) == 0) as usize];
            let thread = random.below(threads) as usize;
            if random.below(barriers) == 0 {
                match random.below(3) {
                    0 => session.warp_barrier(block, thread, u32::MAX),
                    1 => session.barrier_of_some(block, &(0..64).collect::<Vec<_>>()),
                    _ => session.barrier_of_block(block),
                }
                continue;
            }
            let space = [Space::Shared, Space::Shared, Space::Global][random.below(3) as usize];
            // Often a word that few others use.
            let word = if random.below(4) > 0 { thread as u32 % 24 } else { random.below(24) };
            let (address, site) = (4096 + 4 * u64::from(word), sites[random.below(6) as usize]);
            let (kind, using) = match random.below(16) {
                0..8 => (AccessKind::Read, Use::Other(Way::Read, false)),
                8..14 => (AccessKind::Write, Use::Write),
                14 => (AccessKind::Atomic, Use::Other(Way::Modify, random.below(2) == 0)),
                _ => (AccessKind::Atomic, Use::Other(Way::Load, false)),
            };
            // A pack, or a word of 8 bytes, now and then; and a byte of global memory, which splits cells.
            let bytes = match random.below(64) {
                0 => 16,
                1..4 => 8,
                4 if space == Space::Global && random.below(8) == 0 => 1,
                _ => 4,
            };
            let address = if bytes > 4 { address / u64::from(bytes) * u64::from(bytes) } else { address };
            let values = [0; 2].map(|_| [0; 4].map(|_| u64::from(random.below(2))));
            let touch = Touch { space, kind, address, bytes, before: &values[0], after: &values[1], site };
            let plain = kind != AccessKind::Atomic;
            if !(quick && plain && session.access_in_order(block, thread, (space, address, bytes), kind, site)) {
                session.access(block, thread, &touch, using);
            }
        }
        let accesses = session.accesses;
        let findings = session.take_report().findings;
        findings.iter().map(|finding| format!("{finding:?}")).chain([format!("{accesses} accesses")]).collect()
    }

    #[test]
    fn a_quick_judgement_is_that_of_the_slow_path() {
        for seed in 0..if cfg!(miri) { 1 } else { 60 } {
            let (quick, slow) = (outcome(seed, true), outcome(seed, false));
            assert!(cfg!(miri) || slow.len() > 3, "seed {seed} finds something: {slow:?}");
            assert_eq!(quick, slow, "seed {seed}");
        }
    }
}
