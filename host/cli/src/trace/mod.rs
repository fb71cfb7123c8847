//! The data after each step of a rung, as a textbook draws it.
//!
//! The kernels are the ones that a GPU runs: the simulator reports each access and each barrier to an observer
//! ([`simt::sim::observe`]). From these events it finds the data at each barrier and after each launch, the thread that
//! touched each element, and the elements that were compared or combined. Nothing here depends on an algorithm: what is
//! drawn is data of the family ([`Draws`]).

mod arrays;
mod html;
mod record;
mod run;
mod scan;
mod sort;
mod text;

pub use arrays::{Array, ArrayTrace, Cells, Frame, Value, array_lines};
pub use html::{array_page, page};
pub use run::run_page;
pub use text::{line, lines};

use crate::algorithms::{Draws, Family, Parameters, Problem, Rung, Size, Workload};
use crate::counters::{self, Kernel};
use crate::data::{Data, Distribution, Dtype};
use record::Launch;
use rungs::engine::{Engine, What};
use rungs::error::{Error, Result};
use serde::Serialize;
use simt::sim::plural;

/// The most elements that are traced: longer lines cannot be read.
pub const MAX_ELEMENTS: usize = 512;

/// The history of the data.
#[derive(Debug, Serialize)]
pub struct Trace {
    /// The family.
    pub family: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// Elements.
    pub n: usize,
    /// The input.
    pub input: Vec<u32>,
    /// The steps in order; the last one shows the output.
    pub steps: Vec<Step>,
    /// The output.
    pub output: Vec<u32>,
    /// What the kernels do, line by line.
    #[serde(skip)]
    pub kernels: Vec<Kernel>,
}

/// The data at one time, and the accesses that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its name: `1a`, `3`, `2.5`.
    pub label: String,
    /// The number of the launch, from 1.
    pub launch: usize,
    /// The kernel that was launched.
    pub kernel: &'static str,
    /// The description of the step in a few words.
    pub note: String,
    /// The data; `None` for elements of the output that have not been written yet.
    pub values: Vec<Option<u32>>,
    /// The thread that wrote each element last in this step, or that read it if no thread wrote it; `None` for elements
    /// that no thread accessed.
    pub workers: Vec<Option<Worker>>,
    /// The elements that were compared or combined, if a thread worked on two at a time.
    pub pairs: Vec<Pair>,
    /// Whether the step is a whole launch, not a part before or after a barrier.
    pub whole_launch: bool,
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Worker {
    /// Its block in the grid.
    pub block: u32,
    /// Its number in the block.
    pub thread: u32,
}

/// Two elements that one thread worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Pair {
    /// One element.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// True if either changed.
    pub changed: bool,
    /// The thread.
    #[serde(flatten)]
    pub worker: Worker,
}

/// Runs a rung on `input` on `engine`, a simulator, and finds its steps.
///
/// # Errors
/// [`Error::Usage`] if the family has no steps to draw, or the input is too long; [`Error::Mismatch`] if the rung's
/// result is wrong.
pub fn trace(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    input: Vec<u32>,
    parameters: Parameters,
) -> Result<Trace> {
    if input.len() > MAX_ELEMENTS {
        return Err(Error::Usage(format!(
            "{} elements are too many to draw; {MAX_ELEMENTS} are the limit",
            input.len()
        )));
    }
    let steps = match family.draws {
        Draws::Moves => sort::steps,
        Draws::Prefixes => scan::steps,
        Draws::Arrays { .. } => return Err(Error::Usage(format!("{} has more than one line of data", family.name))),
    };
    let problem = family.make(Workload {
        size: Size::Elements(input.len() as u64),
        dtype: Dtype::U32,
        distribution: family.input,
        seed: 0,
        input: Some(vec![Data::from(input.clone())]),
        parameters,
    })?;
    let Watched { launches, output, kernels, .. } = watch(engine, &*problem, rung)?;
    let output =
        output.into_vec::<u32>().map_err(|d| Error::Usage(format!("only u32 can be traced, not {}", d.dtype())))?;
    let mut steps = steps(&launches, &input, &output);
    label(&mut steps, family.phases);
    Ok(Trace { family: family.name, rung: rung.name, n: input.len(), input, steps, output, kernels })
}

/// Runs a rung of a family that draws arrays on `engine`, a simulator, and finds its steps. The input is drawn, from
/// small numbers, unless it is given.
///
/// # Errors
/// As for [`trace`].
pub fn trace_arrays(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    (size, input): (Size, Option<Vec<u32>>),
    seed: u64,
    parameters: Parameters,
) -> Result<ArrayTrace> {
    let Draws::Arrays { inputs, output } = &family.draws else {
        return Err(Error::Usage(format!("{} has one line of data", family.name)));
    };
    let elements = match size {
        Size::Elements(n) => n,
        Size::Product { m, n, k } => m.saturating_mul(k).max(k.saturating_mul(n)).max(m.saturating_mul(n)),
    };
    if elements > MAX_ELEMENTS as u64 {
        return Err(Error::Usage(format!("{elements} elements are too many to draw; {MAX_ELEMENTS} are the limit")));
    }
    let dtype = family.usual_dtype(rung);
    let given = |values: Vec<u32>| match dtype {
        Dtype::U8 => Data::from(values.into_iter().map(|v| v.min(255) as u8).collect::<Vec<_>>()),
        Dtype::F32 => Data::from(values.into_iter().map(|v| v as f32).collect::<Vec<_>>()),
        _ => Data::from(values),
    };
    let input = input.map(|values| vec![given(values)]);
    let workload = Workload { size, dtype, distribution: Distribution::Small, seed, input, parameters };
    let problem = family.make(workload)?;
    let Watched { launches, output: data, kernels, views } = watch(engine, &*problem, rung)?;
    let run = arrays::Run {
        inputs,
        output: *output,
        size,
        dtype,
        output_dtype: data.dtype(),
        output_bytes: data.as_bytes(),
        views: &views,
    };
    let (arrays, steps) = arrays::steps(&launches, &run);
    let output = arrays::values(&data);
    Ok(ArrayTrace { family: family.name, rung: rung.name, n: size.n(), arrays, steps, output, kernels })
}

/// A run that was watched.
struct Watched {
    launches: Vec<Launch>,
    output: Data,
    kernels: Vec<Kernel>,
    /// Address and bytes of each view of each launch.
    views: Vec<Vec<(u64, u64)>>,
}

/// Runs a problem, records all events of its kernels and counts what they do; verifies the result.
fn watch(engine: &Engine, problem: &dyn Problem, rung: &Rung) -> Result<Watched> {
    let mut prepared = problem.prepare(engine, rung)?;
    prepared.restore()?;
    let work = || engine.record(|| prepared.run());
    let ((launches, result), statistics) = simt::sim::stats::statistics(|| record::record(work));
    let ((), activities) = result?;
    let views = activities.into_iter().filter_map(|activity| match activity.what {
        What::Launch { views, .. } => Some(views),
        What::Copy { .. } | What::Exchange { .. } => None,
    });
    let views = views.collect();
    prepared.verify()?;
    Ok(Watched { launches, output: prepared.output()?, kernels: counters::kernels(&statistics), views })
}

/// Names the steps: launches are numbered, and steps inside a launch behind a point if there are several launches; of a
/// family with two `phases` a step is called a and b in turn.
fn label(steps: &mut [Step], phases: bool) {
    let launches = steps.last().map_or(0, |s| s.launch);
    let (mut last, mut inside, mut phase) = (0, 0, 0);
    for step in steps {
        inside = if step.launch == last { inside + 1 } else { 1 };
        last = step.launch;
        let copies = step.note == LOADED || step.note == STORED;
        step.label = if copies {
            if step.note == LOADED { "in" } else { "out" }.to_string()
        } else if phases {
            phase += 1;
            format!("{}{}", (phase + 1) / 2, if phase % 2 == 1 { 'a' } else { 'b' })
        } else if launches == 1 {
            phase += 1;
            phase.to_string()
        } else if inside == 1 && step.whole_launch {
            step.launch.to_string()
        } else {
            format!("{}.{inside}", step.launch)
        };
    }
}

const LOADED: &str = "loaded into shared memory";
const STORED: &str = "stored to global memory";

/// The description of the step in a few words.
fn note(step: &Step) -> String {
    let mut workers: Vec<Worker> = step.workers.iter().flatten().copied().collect();
    workers.extend(step.pairs.iter().map(|p| p.worker));
    workers.sort_unstable();
    workers.dedup();
    let threads = workers.len();
    workers.dedup_by_key(|w| w.block);
    let blocks = workers.len();
    if threads == 0 {
        return "works on other memory; the data is unchanged".into();
    }
    let counted = |n: usize, what: &str| format!("{n} {}", plural(n as u64, what));
    let who = format!("{} of {}", counted(threads, "thread"), counted(blocks, "block"));
    if step.pairs.is_empty() {
        return who;
    }
    let changed = step.pairs.iter().filter(|p| p.changed).count();
    let distance = |p: &Pair| p.a.abs_diff(p.b);
    let first = distance(&step.pairs[0]);
    let same = step.pairs.iter().all(|p| distance(p) == first);
    let apart = if same { format!(", {first} apart") } else { String::new() };
    format!("{}{apart}, {changed} changed; {who}", counted(step.pairs.len(), "pair"))
}
