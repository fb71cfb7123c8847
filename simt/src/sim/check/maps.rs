//! Tensor maps in global memory: the copy engine reads them past the threads, and by a cache of its own.

use super::super::observe::{AccessKind, Space};
use super::finding::{Finding, Kind, Memory};
use super::session::{LAUNCHER, Session, Touch, Use, fresh};
use super::state::{BlockState, Launch};
use crate::tensor_map::WORDS;
use std::panic::Location;

/// A map's address and words.
type Seen<'a> = (u64, &'a [u64; WORDS]);

/// Who wrote a map last, when and where.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    writer: u32,
    time: u32,
    site: u32,
}

/// A thread has made a map known to the copy engine.
pub(super) struct Acquired {
    agent: u32,
    time: u32,
    version: Version,
}

/// What a missing acquire asks for.
const UNACQUIRED: &str = "one thread of the block calls TensorMap::acquire for the map, and the block passes \
                          thread::sync_threads, before a thread starts a copy by it: the copy engine may know other \
                          words from there";

impl Session {
    /// A thread has written a map.
    pub(in super::super) fn map_published(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        site: &'static Location<'static>,
    ) {
        let agent = self.agent(block, thread).agent;
        let clock = &mut block.clocks[thread];
        self.launch.maps.push((agent, clock.own, site));
        // The next map is written at another time.
        clock.own += 1;
        self.top = self.top.max(clock.own);
    }

    /// A thread makes a map known to the copy engine, which reads it.
    pub(in super::super) fn map_acquired(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        map: Seen,
        site: &'static Location<'static>,
    ) {
        let version = self.map_read(block, thread, map, site);
        let agent = self.agent(block, thread).agent;
        let new = Acquired { agent, time: block.clocks[thread].own, version };
        let of_map = block.acquired.entry(map.0).or_default();
        match of_map.iter_mut().find(|old| old.agent == agent) {
            Some(old) if old.version == version => {}
            Some(old) => *old = new,
            None => of_map.push(new),
        }
    }

    /// A thread starts a copy by a map, which the copy engine reads. If a kernel wrote it, a thread of the block has to
    /// have acquired it, and this one has to know of that.
    pub(in super::super) fn map_used(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        map: Seen,
        site: &'static Location<'static>,
    ) {
        let version = self.map_read(block, thread, map, site);
        let (me, clock) = (self.agent(block, thread), &block.clocks[thread]);
        let known = |acquired: &Acquired| {
            acquired.version == version && clock.knows(me, acquired.agent, || Some(me.block), acquired.time)
        };
        // What the host writes lies there before a launch begins.
        let by_kernel = version.writer < LAUNCHER;
        if by_kernel && !block.acquired.get(&map.0).is_some_and(|of_map| of_map.iter().any(known)) {
            self.report_unacquired(me.agent, map.0, version, site);
        }
    }

    /// The copy engine reads a map for a thread. Returns who wrote its first word.
    fn map_read(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        (address, words): Seen,
        site: &'static Location<'static>,
    ) -> Version {
        let allocations = &self.allocations;
        let cells = self.global.cells(address, 4, &mut self.lists, |word| fresh(allocations, word));
        let version = Version { writer: cells[0].writer, time: cells[0].time, site: cells[0].site };
        for (two, at) in words.chunks_exact(2).zip((address..).step_by(16)) {
            let before = [two[0], two[0] >> 32, two[1], two[1] >> 32].map(|word| word & 0xFFFF_FFFF);
            let (space, kind) = (Space::Global, AccessKind::Read);
            let touch = Touch { space, kind, address: at, bytes: 16, before: &before, after: &[], site };
            self.plain(block, thread, &touch, Use::of(kind));
        }
        version
    }

    /// The launch that made accesses at a time, if it is known.
    fn map_writer(&self, time: u32) -> Option<&Launch> {
        let before = |(launch, end): &&(Launch, u32)| (launch.base + 1..=*end).contains(&time);
        let running = (time > self.launch.base).then_some(&self.launch);
        running.or_else(|| self.map_writers.iter().find(before).map(|(launch, _)| launch))
    }

    #[cold]
    fn report_unacquired(&mut self, me: u32, address: u64, version: Version, site: &'static Location<'static>) {
        let (kind, site) = (Kind::MissingProxyFence, self.sites.number(site));
        if self.seen((kind, self.launch.kernel, version.site, site)) {
            return;
        }
        // The call that wrote the map, or else the word.
        let call = |launch: &Launch| {
            let of_call = launch.maps.iter().find(|&&(agent, time, _)| (agent, time) == (version.writer, version.time));
            of_call.map(|&(_, _, site)| site)
        };
        let called = self.map_writer(version.time).and_then(call);
        let written = called.map_or(version.site, |site| self.sites.number(site));
        let writer = self.map_writer(version.time);
        let first = writer.map(|launch| self.side(launch, version.writer, written, "writes the tensor map", None));
        let second = self.side(&self.launch, me, site, "starts a copy by the tensor map", None);
        self.push(Finding {
            kind,
            kernel: self.launch.kernel,
            memory: Some(Memory { bytes: 8 * WORDS as u32, ..self.place(address) }),
            first,
            second,
            advice: UNACQUIRED.into(),
            count: 1,
            seed: self.schedule.seed(),
        });
    }
}
