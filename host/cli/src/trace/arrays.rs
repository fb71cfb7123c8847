//! The steps of a family whose data lies in several arrays: operands, scratch memory and the output in global memory,
//! and the shared memory of each block. Each step shows all of them, who read and who wrote each element, and the
//! elements that threads combined.
//!
//! The arrays of global memory are the views that the kernels were launched with; the family says which of them are its
//! operands, and how many rows they have.

use super::record::Launch;
use super::{Pair, Worker};
use crate::algorithms::{Operand, Size};
use crate::counters::Kernel;
use crate::data::{Data, Dtype};
use half::{bf16, f16};
use serde::Serialize;
use simt::sim::{Access, AccessKind, Space, plural};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Arrays with more elements are not drawn.
const MOST: usize = 2048;

/// Blocks whose shared memory is drawn at most.
const BLOCKS: usize = 8;

/// Words of shared memory in a row: one for each bank.
const BANKS: usize = 32;

/// The history of the arrays.
#[derive(Debug, Serialize)]
pub struct ArrayTrace {
    /// The family.
    pub family: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// Elements, or the side of the matrices.
    pub n: u64,
    /// The arrays, operands first.
    pub arrays: Vec<Array>,
    /// The steps in order.
    pub steps: Vec<Frame>,
    /// The output.
    pub output: Vec<Value>,
    /// What the kernels do, line by line.
    #[serde(skip)]
    pub kernels: Vec<Kernel>,
}

/// An array.
#[derive(Debug, Serialize)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
}

/// The arrays after a step.
#[derive(Debug, Serialize)]
pub struct Frame {
    /// Its name: `1` or, of a launch with barriers, `1.2`.
    pub label: String,
    /// The number of the launch, from 1.
    pub launch: usize,
    /// The kernel that was launched.
    pub kernel: &'static str,
    /// The description of the step in a few words.
    pub note: String,
    /// Each array, in the order of [`ArrayTrace::arrays`].
    pub arrays: Vec<Cells>,
}

/// The elements of an array after a step.
#[derive(Clone, Debug, Serialize)]
pub struct Cells {
    /// The values; `None` where no thread has read or written yet.
    pub values: Vec<Option<Value>>,
    /// The thread that read each element first in this step.
    pub readers: Vec<Option<Worker>>,
    /// The thread that wrote each element last in this step.
    pub writers: Vec<Option<Worker>>,
    /// The elements of which one thread read both and then wrote one.
    pub pairs: Vec<Pair>,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Value {
    Integer(i64),
    Float(f32),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:.3}"),
        }
    }
}

impl Value {
    /// The value that these bytes are, the lowest first.
    fn new(bytes: &[u8], dtype: Dtype) -> Self {
        let mut word = [0; 8];
        word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        let bits = u64::from_le_bytes(word);
        match dtype {
            Dtype::F32 => Self::float(f32::from_bits(bits as u32)),
            Dtype::F64 => Self::float(f64::from_bits(bits) as f32),
            Dtype::F16 => Self::float(f16::from_bits(bits as u16).to_f32()),
            Dtype::Bf16 => Self::float(bf16::from_bits(bits as u16).to_f32()),
            Dtype::I32 => Self::Integer((bits as u32 as i32).into()),
            _ => Self::Integer(bits as i64),
        }
    }

    fn float(value: f32) -> Self {
        if value.fract() == 0.0 && value.abs() < 1e9 { Self::Integer(value as i64) } else { Self::Float(value) }
    }
}

/// The bytes of an output as values.
pub(super) fn values(data: &Data) -> Vec<Value> {
    let (dtype, bytes) = (data.dtype(), data.as_bytes());
    bytes.chunks(dtype.size()).map(|bytes| Value::new(bytes, dtype)).collect()
}

/// A piece of memory that is drawn.
struct Region {
    array: Array,
    /// The block whose shared memory it is.
    block: Option<u32>,
    start: u64,
    bytes: u64,
    dtype: Dtype,
}

impl Region {
    fn element(&self) -> u64 {
        self.dtype.size() as u64
    }

    /// The elements that an access touches.
    fn elements(&self, access: &Access) -> Option<std::ops::Range<usize>> {
        let same = match self.block {
            None => access.space == Space::Global,
            Some(block) => access.space == Space::Shared && access.block == block,
        };
        let at = access.address.checked_sub(self.start).filter(|&at| same && at < self.bytes)?;
        let end = (at + u64::from(access.bytes)).min(self.bytes);
        Some((at / self.element()) as usize..end.div_ceil(self.element()) as usize)
    }
}

/// What the family says of its arrays, and what is known of the run.
pub(super) struct Run<'a> {
    pub inputs: &'a [Operand],
    pub output: Operand,
    pub size: Size,
    /// The type of the operands, and that of the output.
    pub dtype: Dtype,
    pub output_dtype: Dtype,
    /// The bytes of the output.
    pub output_bytes: &'a [u8],
    /// Address and bytes of each view of each launch, in order.
    pub views: &'a [Vec<(u64, u64)>],
}

/// Finds the arrays and the steps.
pub(super) fn steps(launches: &[Launch], run: &Run) -> (Vec<Array>, Vec<Frame>) {
    let mut regions = global(launches, run);
    regions.extend(shared(launches, run.dtype));
    let mut memory = vec![HashMap::<u64, u8>::new(); regions.len()];
    let mut frames = vec![];
    for (i, launch) in launches.iter().enumerate() {
        let phases: Vec<_> = launch.phases.iter().filter(|accesses| !accesses.is_empty()).collect();
        for (k, accesses) in phases.iter().enumerate() {
            let label = if phases.len() == 1 { format!("{}", i + 1) } else { format!("{}.{}", i + 1, k + 1) };
            let arrays: Vec<Cells> = regions.iter().zip(&mut memory).map(|(r, m)| cells(r, m, accesses)).collect();
            let note = note(&regions, &arrays);
            frames.push(Frame { label, launch: i + 1, kernel: launch.kernel, note, arrays });
        }
        // Shared memory does not outlive its block.
        regions.iter().zip(&mut memory).filter(|(r, _)| r.block.is_some()).for_each(|(_, m)| m.clear());
    }
    (regions.into_iter().map(|region| region.array).collect(), frames)
}

/// The arrays of global memory: each view that is not part of one before.
fn global(launches: &[Launch], run: &Run) -> Vec<Region> {
    let mut starts: Vec<(u64, u64)> = vec![];
    for &(start, bytes) in run.views.iter().flatten().filter(|(_, bytes)| *bytes > 0) {
        match starts.iter_mut().find(|(s, b)| start < *s + *b && *s < start + bytes) {
            Some(known) => {
                let end = (known.0 + known.1).max(start + bytes);
                known.0 = known.0.min(start);
                known.1 = end - known.0;
            }
            None => starts.push((start, bytes)),
        }
    }
    let mut regions: Vec<Region> = vec![];
    let region = |name: &str, (rows, columns): (usize, usize), start, dtype: Dtype| Region {
        array: Array { name: name.into(), rows, columns },
        block: None,
        start,
        bytes: rows as u64 * columns as u64 * dtype.size() as u64,
        dtype,
    };
    for operand in run.inputs {
        let shape = (operand.shape)(run.size);
        let bytes = shape.0 as u64 * shape.1 as u64 * run.dtype.size() as u64;
        if let Some(k) = starts.iter().position(|&(_, b)| b >= bytes) {
            regions.push(region(operand.name, shape, starts.remove(k).0, run.dtype));
        }
    }
    // An operand that is changed in place is the output; otherwise the output is the last array with its bytes, or the
    // first that has room for them, if the host adds something to it.
    let written = last_written(launches);
    let bytes = run.output_bytes.len() as u64;
    let holds = |start: u64| {
        let mut bytes = run.output_bytes.iter().zip(start..);
        bytes.all(|(byte, at)| written.get(&at).is_none_or(|there| there == byte)) && written.contains_key(&start)
    };
    let fits = || starts.iter().position(|&(_, b)| b >= bytes);
    let place = starts.iter().rposition(|&(start, b)| b >= bytes && holds(start)).or_else(fits);
    if !run.inputs.iter().any(|operand| operand.name == run.output.name)
        && let Some(k) = place
    {
        let len = run.output_bytes.len() / run.output_dtype.size();
        let (rows, columns) = (run.output.shape)(run.size);
        let shape = if rows * columns == len { (rows, columns) } else { (1, len) };
        regions.push(region(run.output.name, shape, starts.remove(k).0, run.output_dtype));
    }
    for (k, (start, bytes)) in starts.into_iter().enumerate() {
        let name = format!("scratch {}", k + 1);
        regions.push(region(&name, (1, bytes as usize / run.output_dtype.size()), start, run.output_dtype));
    }
    regions.retain(|region| region.array.rows * region.array.columns <= MOST);
    regions
}

/// The bytes of global memory that threads wrote, as they are in the end.
fn last_written(launches: &[Launch]) -> HashMap<u64, u8> {
    let accesses = launches.iter().flat_map(|l| &l.phases).flatten();
    let writes = accesses.filter(|a| a.space == Space::Global && a.kind != AccessKind::Read);
    let bytes = |access: &Access| {
        let (at, n) = (access.address, access.bytes as usize);
        (at..).zip(access.value.to_le_bytes()).take(n)
    };
    writes.flat_map(bytes).collect()
}

/// The shared memory of the first blocks.
fn shared(launches: &[Launch], dtype: Dtype) -> Vec<Region> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let accesses = launches.iter().flat_map(|l| &l.phases).flatten().filter(|a| a.space == Space::Shared);
    for access in accesses {
        let end = ends.entry(access.block).or_default();
        *end = (*end).max(access.address + u64::from(access.bytes));
    }
    // Words of 4 bytes: tables and sums of narrow elements are wider.
    let dtype = if dtype.size() == 4 { dtype } else { Dtype::U32 };
    let region = |(block, end): (u32, u64)| {
        let words = end.div_ceil(4) as usize;
        let (rows, columns) = if words <= BANKS { (1, words) } else { (words.div_ceil(BANKS), BANKS) };
        let array = Array { name: format!("shared memory of block {block}"), rows, columns };
        Region { array, block: Some(block), start: 0, bytes: (rows * columns * 4) as u64, dtype }
    };
    let all = ends.into_iter().take(BLOCKS).map(region);
    all.filter(|region| region.array.rows * region.array.columns <= MOST).collect()
}

/// Applies the accesses of a step to an array.
fn cells(region: &Region, memory: &mut HashMap<u64, u8>, accesses: &[Access]) -> Cells {
    let n = region.array.rows * region.array.columns;
    let (mut readers, mut writers) = (vec![None; n], vec![None; n]);
    let mut threads: BTreeMap<Worker, (Vec<usize>, BTreeSet<Pair>)> = BTreeMap::new();
    for access in accesses {
        let Some(elements) = region.elements(access) else { continue };
        let worker = Worker { block: access.block, thread: access.thread };
        for (i, byte) in access.value.to_le_bytes().into_iter().take(access.bytes as usize).enumerate() {
            memory.insert(access.address + i as u64, byte);
        }
        let (read, pairs) = threads.entry(worker).or_default();
        let (reads, writes) = (access.kind != AccessKind::Write, access.kind != AccessKind::Read);
        for i in elements.filter(|&i| i < n) {
            if writes {
                writers[i] = Some(worker);
                // A thread that has read two elements and writes one of them has combined them.
                if let &[.., a, b] = &read[..]
                    && a != b
                    && (i == a || i == b)
                {
                    pairs.insert(Pair { a: a.min(b), b: a.max(b), changed: true, worker });
                    read.clear();
                }
            }
            if reads {
                readers[i].get_or_insert(worker);
                if !writes {
                    read.push(i);
                }
            }
        }
    }
    let bytes = region.element();
    let value = |i: usize| {
        let at = region.start + i as u64 * bytes;
        let known: Option<Vec<u8>> = (at..at + bytes).map(|at| memory.get(&at).copied()).collect();
        known.map(|known| Value::new(&known, region.dtype))
    };
    let pairs = threads.into_values().flat_map(|(_, pairs)| pairs).collect();
    Cells { values: (0..n).map(value).collect(), readers, writers, pairs }
}

/// What a step does, in a few words.
fn note(regions: &[Region], arrays: &[Cells]) -> String {
    // The shared memory of all blocks is one part.
    let mut parts: Vec<(&str, [usize; 3])> = vec![];
    let counted = |n: usize, what: &str| format!("{n} {}", plural(n as u64, what));
    for (region, cells) in regions.iter().zip(arrays) {
        let count = |of: &[Option<Worker>]| of.iter().flatten().count();
        let (read, written) = (count(&cells.readers), count(&cells.writers));
        let counts = [read, written, cells.pairs.len()];
        let name = if region.block.is_some() { "shared memory" } else { &region.array.name[..] };
        match parts.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sums)) => sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
            None => parts.push((name, counts)),
        }
    }
    let part = |(name, [read, written, pairs]): (&str, [usize; 3])| {
        let texts = [
            (read, format!("{read} read")),
            (written, format!("{written} written")),
            (pairs, format!("{} combined", counted(pairs, "pair"))),
        ];
        let does: Vec<String> = texts.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect();
        (!does.is_empty()).then(|| format!("{name}: {}", does.join(", ")))
    };
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    let workers: BTreeSet<Worker> =
        arrays.iter().flat_map(|cells| cells.readers.iter().chain(&cells.writers)).flatten().copied().collect();
    let blocks: BTreeSet<u32> = workers.iter().map(|w| w.block).collect();
    let who = format!("{} of {}", counted(workers.len(), "thread"), counted(blocks.len(), "block"));
    if parts.is_empty() { "works on memory that is not drawn".into() } else { format!("{who}; {}", parts.join("; ")) }
}

/// The lines of a trace: each step with its note, and below it the rows that were written and changed.
pub fn array_lines(trace: &ArrayTrace) -> Vec<(String, String)> {
    let mut lines = vec![];
    for (s, step) in trace.steps.iter().enumerate() {
        lines.push((format!("({})", step.label), format!("{}: {}", step.kernel, step.note)));
        for (k, (array, cells)) in trace.arrays.iter().zip(&step.arrays).enumerate() {
            if cells.writers.iter().all(Option::is_none) {
                continue;
            }
            let before = s.checked_sub(1).map(|s| &trace.steps[s].arrays[k].values[..]);
            let texts: Vec<String> =
                cells.values.iter().map(|v| v.map_or("·".to_string(), |value| value.to_string())).collect();
            let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(1);
            let mut name = &array.name[..];
            for (i, row) in texts.chunks(array.columns.max(1)).enumerate() {
                let at = i * array.columns..i * array.columns + row.len();
                let same = before.is_some_and(|before| before[at.clone()] == cells.values[at.clone()]);
                let plain = i > 0 && cells.values[at.clone()].iter().all(|v| *v == Some(Value::Integer(0)));
                if same || plain || cells.writers[at].iter().all(Option::is_none) {
                    continue;
                }
                let row: Vec<String> = row.iter().map(|text| format!("{text:>width$}")).collect();
                lines.push((String::new(), format!("  {name:<26} {}", row.join(" "))));
                name = "";
            }
        }
    }
    lines
}
