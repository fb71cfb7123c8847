//! What was counted, by launch and by line of the source.

use super::super::observe::{AccessKind, Space};
use crate::Dim3;
use crate::machine::Operation;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::panic::Location;

/// What several launches did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The launches, in order.
    pub launches: Vec<Launch>,
}

/// What one launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// The places that access memory or wait, by file, line and column.
    pub lines: Vec<Line>,
}

/// What one place of the source did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// File, line and column of the call.
    pub location: &'static Location<'static>,
    /// What it does.
    pub instruction: Instruction,
    /// Bytes per lane: 1, 2, 4, 8 or 16; 0 where none are accessed, and for bulk copies.
    pub bytes: u32,
    /// What was counted.
    pub counts: Counts,
    /// Sectors, wavefronts, or turns of atomic operations, of the costliest request.
    pub cost: u32,
    /// The costliest request; of several the one with the most lanes, and of those the first.
    pub worst: Option<Request>,
}

/// One request of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The block, counted along x, then y, then z.
    pub block: u32,
    /// The warp in its block.
    pub warp: u32,
    /// The address of each lane that takes part; in shared memory from the start of the block's.
    pub lanes: [Option<u64>; 32],
}

impl Request {
    /// The lanes that take part.
    pub fn active(&self) -> u32 {
        self.lanes.iter().flatten().count() as u32
    }
}

/// What an instruction of a warp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Instruction {
    /// Reads global memory.
    GlobalLoad,
    /// Writes global memory.
    GlobalStore,
    /// Reads global memory atomically.
    GlobalAtomicLoad,
    /// Writes global memory atomically.
    GlobalAtomicStore,
    /// Reads and writes global memory in one.
    GlobalAtomic,
    /// Copies from global to shared memory while the thread goes on.
    AsyncCopy,
    /// Reads shared memory.
    SharedLoad,
    /// Writes shared memory.
    SharedStore,
    /// Reads shared memory atomically.
    SharedAtomicLoad,
    /// Writes shared memory atomically.
    SharedAtomicStore,
    /// Reads and writes shared memory in one.
    SharedAtomic,
    /// Copies from global to shared memory, without the threads.
    BulkLoad,
    /// Copies from shared to global memory, without the threads.
    BulkStore,
    /// Waits for other threads of the block.
    Barrier,
    /// Exchanges values between lanes, or waits for lanes.
    Warp,
}

impl Instruction {
    /// Whether it accesses global memory, lane by lane.
    pub fn is_global(self) -> bool {
        self <= Self::GlobalAtomic
    }

    /// Whether its lanes move sectors of global memory: as [`Instruction::is_global`], and asynchronous copies, which
    /// a GPU counts apart from loads.
    pub fn moves_sectors(self) -> bool {
        self <= Self::AsyncCopy
    }

    /// Whether it accesses shared memory, lane by lane.
    pub fn is_shared(self) -> bool {
        (Self::SharedLoad..=Self::SharedAtomic).contains(&self)
    }

    /// Whether it is an atomic read-modify-write.
    pub fn is_read_modify_write(self) -> bool {
        matches!(self, Self::GlobalAtomic | Self::SharedAtomic)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::GlobalLoad => "global load",
            Self::GlobalStore => "global store",
            Self::GlobalAtomicLoad => "global atomic load",
            Self::GlobalAtomicStore => "global atomic store",
            Self::GlobalAtomic => "global atomic",
            Self::AsyncCopy => "async copy",
            Self::SharedLoad => "shared load",
            Self::SharedStore => "shared store",
            Self::SharedAtomicLoad => "shared atomic load",
            Self::SharedAtomicStore => "shared atomic store",
            Self::SharedAtomic => "shared atomic",
            Self::BulkLoad => "bulk load",
            Self::BulkStore => "bulk store",
            Self::Barrier => "barrier",
            Self::Warp => "warp operation",
        }
    }
}

/// The instruction of an access, unless it is atomic.
pub(in crate::sim) fn plain(space: Space, kind: AccessKind) -> Option<Instruction> {
    Some(match (space, kind) {
        (Space::Global, AccessKind::Read) => Instruction::GlobalLoad,
        (Space::Global, AccessKind::Write) => Instruction::GlobalStore,
        (Space::Shared, AccessKind::Read) => Instruction::SharedLoad,
        (Space::Shared, AccessKind::Write) => Instruction::SharedStore,
        (_, AccessKind::Atomic) => return None,
    })
}

/// The instruction of an atomic access.
pub(in crate::sim) fn atomic<T>(space: Space, operation: &Operation<T>) -> Instruction {
    match (space, operation) {
        (Space::Global, Operation::Load) => Instruction::GlobalAtomicLoad,
        (Space::Global, Operation::Store(_)) => Instruction::GlobalAtomicStore,
        (Space::Global, _) => Instruction::GlobalAtomic,
        (Space::Shared, Operation::Load) => Instruction::SharedAtomicLoad,
        (Space::Shared, Operation::Store(_)) => Instruction::SharedAtomicStore,
        (Space::Shared, _) => Instruction::SharedAtomic,
    }
}

/// Sums over requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests: instructions of a warp, with one lane or more.
    pub requests: u64,
    /// Lanes that took part.
    pub lanes: u64,
    /// Bytes that the lanes asked for; bytes of a bulk copy.
    pub bytes: u64,
    /// Sectors of 32 bytes of global memory that the requests touched; of atomic operations once per turn.
    pub sectors: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Wavefronts that the same requests take without bank conflicts: one for each part of the warp that goes alone.
    pub ideal_wavefronts: u64,
    /// Turns of atomic operations: for each request the most lanes that have one address.
    pub turns: u64,
    /// Times that all threads of a barrier had arrived.
    pub barriers: u64,
}

impl Counts {
    /// Bank conflicts: wavefronts beyond those that the requests need.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.turns += other.turns;
        self.barriers += other.barriers;
    }
}

impl Line {
    fn key(&self) -> (&'static str, u32, u32, Instruction, u32) {
        (self.location.file(), self.location.line(), self.location.column(), self.instruction, self.bytes)
    }

    /// Adds what another launch, or other blocks, did at the same place.
    fn merge(&mut self, other: Self) {
        self.counts += other.counts;
        // The same of the costliest requests, whichever thread of the host ran its block.
        let first = |request: &Request| (u32::MAX - request.block, u32::MAX - request.warp);
        let rank = |line: &Self| line.worst.as_ref().map(|worst| (line.cost, worst.active(), first(worst)));
        if rank(&other) > rank(self) {
            (self.cost, self.worst) = (other.cost, other.worst);
        }
    }
}

/// Lines of one place become one; in order.
pub(super) fn merged(lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let mut all = BTreeMap::<_, Line>::new();
    for line in lines {
        match all.get_mut(&line.key()) {
            Some(known) => known.merge(line),
            None => drop(all.insert(line.key(), line)),
        }
    }
    all.into_values().collect()
}

/// The sum over the lines that do one of these instructions.
fn sum<'a>(lines: impl Iterator<Item = &'a Line>, which: impl Fn(Instruction) -> bool) -> Counts {
    let mut sum = Counts::default();
    lines.filter(|line| which(line.instruction)).for_each(|line| sum += line.counts);
    sum
}

impl Launch {
    /// The sum over the instructions that are asked for.
    pub fn sum(&self, which: impl Fn(Instruction) -> bool) -> Counts {
        sum(self.lines.iter(), which)
    }
}

impl Statistics {
    /// The sum over the instructions that are asked for, of all launches.
    pub fn sum(&self, which: impl Fn(Instruction) -> bool) -> Counts {
        sum(self.launches.iter().flat_map(|launch| &launch.lines), which)
    }

    /// The kernels in the order of their first launches: name, number of launches, and the places of all launches
    /// together.
    pub fn kernels(&self) -> Vec<(&'static str, usize, Vec<Line>)> {
        let mut names: Vec<&'static str> = vec![];
        self.launches.iter().for_each(|l| {
            if !names.contains(&l.kernel) {
                names.push(l.kernel)
            }
        });
        let of = |name: &'static str| {
            let launches: Vec<&Launch> = self.launches.iter().filter(|l| l.kernel == name).collect();
            (name, launches.len(), merged(launches.iter().flat_map(|l| l.lines.iter().cloned())))
        };
        names.into_iter().map(of).collect()
    }
}
