//! What the simulator counts of kernels, for people and for programs: by line of the source, as text, as JSON and as
//! pictures.
//!
//! [`statistics`] counts what any work launches on the simulator, anyone's kernels too; [`kernels`] makes the report;
//! [`count`] counts a run of a rung.

mod picture;
mod source;
mod text;

pub use picture::{access, heat};
pub use source::text as source;
pub use text::{LEGEND, kernel_text, totals_columns, totals_row};

use crate::algorithms::{Problem, Rung};
use rungs::engine::Engine;
use rungs::error::Result;
use serde::Serialize;
use simt::sim::stats::{self, Counts};
pub use simt::sim::stats::{Instruction, Statistics, statistics};

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;

/// A kernel over all its launches.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Launches.
    pub launches: usize,
    /// What it did in all launches together.
    #[serde(flatten)]
    pub totals: Totals,
    /// The places of the source that access memory or wait, in order.
    pub lines: Vec<Line>,
}

/// A place of the source.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of the line; empty if the file is not there.
    pub source: String,
    /// What it does: `global load`, `shared store`, `barrier`.
    pub instruction: &'static str,
    /// Bytes per lane.
    pub bytes_per_lane: u32,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Figures,
    /// The costliest request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Access>,
    #[serde(skip)]
    kind: Instruction,
}

/// What was counted at a place.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// Requests: instructions of a warp.
    pub requests: u64,
    /// Lanes that took part.
    pub lanes: u64,
    /// Bytes that the lanes asked for.
    pub bytes: u64,
    /// Sectors of 32 bytes of global memory.
    pub sectors: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Wavefronts beyond those that the bytes need.
    pub bank_conflicts: u64,
    /// Turns of atomic operations.
    pub turns: u64,
    /// Times that a barrier was complete.
    pub barriers: u64,
}

impl From<Counts> for Figures {
    fn from(counts: Counts) -> Self {
        let Counts { requests, lanes, bytes, sectors, wavefronts, turns, barriers, .. } = counts;
        Self { requests, lanes, bytes, sectors, wavefronts, bank_conflicts: counts.conflicts(), turns, barriers }
    }
}

/// A request of a warp.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
    /// The block in its grid.
    pub block: u32,
    /// The warp in its block.
    pub warp: u32,
    /// Sectors, wavefronts, or turns of an atomic operation.
    pub cost: u32,
    /// The address of each lane, from the first byte of the lowest sector of the request; in shared memory from the
    /// start of the block's.
    pub addresses: Vec<Option<u64>>,
}

/// What launches did in all.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Totals {
    /// Requests of global loads and stores, atomic ones too.
    pub global_requests: u64,
    /// Their sectors.
    pub global_sectors: u64,
    /// Bytes of these sectors, and of bulk copies.
    pub bytes_moved: u64,
    /// Bytes that the lanes read from global memory, by bulk copies too.
    pub bytes_in: u64,
    /// Bytes that they wrote there.
    pub bytes_out: u64,
    /// Wavefronts of shared memory.
    pub shared_wavefronts: u64,
    /// Those beyond what the bytes need.
    pub bank_conflicts: u64,
    /// Atomic operations, by requests.
    pub atomics: u64,
    /// Their turns.
    pub atomic_turns: u64,
    /// Barriers, counted once for each block.
    pub barriers: u64,
    /// Operations of warps without memory.
    pub warp_operations: u64,
    /// Lanes per request of memory, on average.
    pub lanes_per_request: f64,
}

impl Totals {
    fn new(sum: impl Fn(&dyn Fn(Instruction) -> bool) -> Counts) -> Self {
        use Instruction::*;
        let global = sum(&|i| i.is_global());
        let shared = sum(&|i| i.is_shared());
        let memory = sum(&|i| i.is_global() || i.is_shared());
        let atomics = sum(&|i| i.is_read_modify_write());
        Self {
            global_requests: global.requests,
            global_sectors: global.sectors,
            bytes_moved: SECTOR * sum(&|i| i.moves_sectors() || matches!(i, BulkLoad | BulkStore)).sectors,
            bytes_in: sum(&|i| matches!(i, GlobalLoad | GlobalAtomicLoad | GlobalAtomic | AsyncCopy | BulkLoad)).bytes,
            bytes_out: sum(&|i| matches!(i, GlobalStore | GlobalAtomicStore | GlobalAtomic | BulkStore)).bytes,
            shared_wavefronts: shared.wavefronts,
            bank_conflicts: shared.conflicts(),
            atomics: atomics.requests,
            atomic_turns: atomics.turns,
            barriers: sum(&|i| i == Barrier).barriers,
            warp_operations: sum(&|i| i == Warp).requests,
            lanes_per_request: memory.lanes as f64 / memory.requests.max(1) as f64,
        }
    }

    /// Those of all launches.
    pub fn of(statistics: &Statistics) -> Self {
        Self::new(|which| statistics.sum(which))
    }
}

/// The report of what was counted, by kernel.
pub fn kernels(statistics: &Statistics) -> Vec<Kernel> {
    let kernel = |(name, launches, lines): (&'static str, usize, Vec<stats::Line>)| {
        let sum = |which: &dyn Fn(Instruction) -> bool| {
            let mut sum = Counts::default();
            lines.iter().filter(|line| which(line.instruction)).for_each(|line| sum += line.counts);
            sum
        };
        Kernel { name, launches, totals: Totals::new(sum), lines: lines.iter().map(line).collect() }
    };
    statistics.kernels().into_iter().map(kernel).collect()
}

fn line(line: &stats::Line) -> Line {
    let location = line.location;
    let shared = line.instruction.is_shared();
    let worst = line.worst.as_ref().filter(|_| shared || line.instruction.moves_sectors()).map(|worst| {
        let lowest = worst.lanes.iter().flatten().min().copied().unwrap_or(0);
        let base = if shared { 0 } else { lowest / SECTOR * SECTOR };
        let addresses = worst.lanes.iter().map(|address| address.map(|a| a - base)).collect();
        Access { block: worst.block, warp: worst.warp, cost: line.cost, addresses }
    });
    Line {
        file: location.file().replace('\\', "/"),
        line: location.line(),
        column: location.column(),
        source: source::line(location.file(), location.line()).unwrap_or_default(),
        instruction: line.instruction.name(),
        bytes_per_lane: line.bytes,
        counts: line.counts.into(),
        worst,
        kind: line.instruction,
    }
}

/// Runs a rung once on the simulator and counts what its launches do.
///
/// # Errors
/// As for [`Problem::prepare`] and [`Prepared::run`](crate::algorithms::Prepared::run).
pub fn count(engine: &Engine, problem: &dyn Problem, rung: &Rung) -> Result<Statistics> {
    let mut prepared = problem.prepare(engine, rung)?;
    prepared.restore()?;
    let (result, statistics) = statistics(|| prepared.run());
    result.map(|()| statistics)
}
