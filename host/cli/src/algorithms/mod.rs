//! The algorithms: families, their rungs, and how a rung is run.
//!
//! A family is a ladder of `rungs_kernels` and the problem that its rungs solve; [`FAMILIES`] is the registry. `list`,
//! `all`, `ladder`, `bench` and the tests iterate over it; no other file lists the families, and no file here names a
//! rung or a kernel. To run a rung: [`Family::make`] makes the input and the oracle on the host, [`Problem::prepare`]
//! puts it on an engine, and then [`Prepared::restore`], [`Prepared::run`], [`Prepared::verify`], any number of times.

pub mod along;
mod apart;
pub mod cubes;
pub mod fp8;
pub mod histogram;
pub mod keys;
pub mod matmul;
mod pairs;
pub mod reduce;
pub mod saxpy;
pub mod scan;
pub mod segmented_sort;
pub mod select;
pub mod sift;
pub mod sort;
pub mod top_k;
pub mod upload;
pub mod verify;

pub use rungs_kernels::ladder::{Head, Rung};
pub use rungs_kernels::operator::Operation;

use crate::data::{self, Data, Distribution, Dtype, MatrixSize};
use rungs::engine::{AnyBuffer, Engine};
use rungs::error::{Error, Result};
use rungs::verify::{compare, verdict};
use rungs_kernels as kernels;
use rungs_kernels::ladder::matmul::Precision;
use rungs_kernels::ladder::{Ask, Device, Ladder, Options};
use serde::Serialize;
use std::rc::Rc;
use std::sync::LazyLock;

/// All families, in the order of the program's lists.
pub static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    vec![
        Family { phases: true, ..sort::family(&kernels::bubble::LADDER, Sizes::elements(1 << 12, 1 << 17), &[]) },
        sort::family(&kernels::bitonic::LADDER, Sizes::elements(1 << 13, 1 << 24), &[]),
        sort::family(&kernels::odd_even::LADDER, Sizes::elements(1 << 15, 1 << 20), &[]),
        sort::family(&kernels::ladders::MERGE, Sizes::elements(1 << 14, 1 << 24), &[Extra::LowHalf]),
        sort::family(&kernels::ladders::RADIX, Sizes::elements(1 << 12, 1 << 24), &[Extra::Columns, Extra::Values]),
        matmul::family(&kernels::ladders::MATMUL, Sizes::square(160, 4096)),
        cubes::family(&kernels::cubes::LADDER, Sizes::elements(1 << 18, 1 << 24)),
        reduce::family(&kernels::reduce::LADDER, Sizes::elements(1 << 17, 1 << 26)),
        scan::family(&kernels::scan::LADDER, Sizes::elements(1 << 18, 1 << 24)),
        select::family(&kernels::ladders::SELECT, Sizes::elements(1 << 18, 1 << 26)),
        sift::family(&kernels::selections::PARTITION, Sizes::elements(1 << 17, 1 << 26)),
        sift::family(&kernels::selections::UNIQUE, Sizes::elements(1 << 17, 1 << 26)),
        sift::family(&kernels::selections::RUN_LENGTHS, Sizes::elements(1 << 17, 1 << 26)),
        sift::family(&kernels::selections::REDUCE_BY_KEY, Sizes::elements(1 << 17, 1 << 26)),
        top_k::family(&kernels::ladders::TOP_K, Sizes::elements(1 << 18, 1 << 26)),
        segmented_sort::family(&kernels::segments::LADDER, Sizes::elements(1 << 16, 1 << 24)),
        histogram::family(&kernels::histogram::LADDER, Sizes::elements(1 << 18, 1 << 28)),
        saxpy::family(&kernels::saxpy::LADDER, Sizes::elements(1 << 18, 1 << 26)),
    ]
});

/// Kernels that belong to no rung, with their purpose.
pub static SUPPORT: &[(&str, &[&[&str]])] = &[
    ("maps keys to unsigned words and back", kernels::encode::KERNELS),
    ("moves places, and elements by place", kernels::places::KERNELS),
    ("puts keys back that were to be sorted by an order that is none", kernels::sorts::by_order::passes::KERNELS),
    ("moves keys in a sort by any order", kernels::sorts::by_order::sample::KERNELS),
    ("sorts keys of 32 bits by <", kernels::sorts::by_order::merge_by_less::Kernels::NAMES),
    ("sorts keys of 64 bits by <", kernels::sorts::by_order::merge_by_less_u64::Kernels::NAMES),
    ("sorts keys by their low halves", kernels::sorts::by_order::merge_by_low_half::Kernels::NAMES),
    ("selects and partitions by flags", kernels::selections::kernels::KERNELS),
    ("merges, searches, counts in bins, scatters and fills", kernels::ordered::KERNELS),
    ("scans runs of equal keys", kernels::selections::runs::KERNELS),
    ("multiplies all elements, and finds extremes", kernels::selections::reduce::KERNELS),
    ("composes affine maps of f32", kernels::selections::operators::compose_f32::Kernels::NAMES),
    ("composes affine maps of u32", kernels::selections::operators::compose_u32::Kernels::NAMES),
    ("combines the elements of each segment", kernels::segments::reduce::KERNELS),
    ("numbers the elements by their segments", kernels::segments::numbers::KERNELS),
    ("finds the tiles of a piece in a sort on several devices", kernels::sorts::pieces::KERNELS),
    ("multiplies matrices of fp8", kernels::products::fp8::KERNELS),
    ("copies from the memory of other GPUs", kernels::exchange::KERNELS),
    ("checks sorts and scans where they lie", kernels::verify::KERNELS),
    ("waits, so that the host can enqueue the measured launches", kernels::wait::KERNELS),
];

/// Gives the reason why a rung refuses a problem, if it does.
type Unable = Box<dyn Fn(&Rung, Dtype, &Parameters) -> Option<String> + Send + Sync>;

/// An algorithm with its ladder of rungs.
pub struct Family {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The kind of problem that its rungs solve.
    pub kind: Kind,
    /// The ladder, from the textbook up.
    pub rungs: Vec<&'static Rung>,
    /// The rung that runs if the user names none.
    pub default: &'static Rung,
    /// The element types that it takes; the first is the default.
    pub dtypes: &'static [Dtype],
    /// The sizes that `all` uses.
    pub sizes: Sizes,
    /// Options of its own on the command line.
    pub extras: &'static [Extra],
    /// The distribution of drawn input.
    pub input: Distribution,
    /// Whether its steps alternate between two phases, which its source calls a and b.
    pub phases: bool,
    /// What a picture of its steps shows.
    pub draws: Draws,
    /// Makes the input and the oracle.
    problem: Box<dyn Fn(Workload) -> Result<Box<dyn Problem>> + Send + Sync>,
    /// The reason why a rung refuses such a problem, if it does.
    unable: Unable,
}

/// The kind of problem that the rungs of a family solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sort keys.
    Sort,
    /// Multiply matrices.
    Matmul,
    /// Add up cubes.
    Cubes,
    /// Combine all elements into one.
    Reduce,
    /// Combine each element with those before it.
    Scan,
    /// Move the elements below a pivot to the front.
    Select,
    /// Part the elements, or find runs of equal ones.
    Sift,
    /// Find the k largest keys.
    TopK,
    /// Sort each segment of the keys.
    SegmentedSort,
    /// Count values.
    Histogram,
    /// Compute y = a·x + y.
    Saxpy,
}

/// What a picture of the steps of a family shows.
#[derive(Clone, Debug)]
pub enum Draws {
    /// One line of elements that are moved.
    Moves,
    /// One line of elements, each of which is combined with those before it.
    Prefixes,
    /// Arrays: the operands, scratch memory, the output, and the shared memory of the blocks.
    Arrays {
        /// The operands, in the order of the kernels' arguments.
        inputs: Vec<Operand>,
        /// The output; one of the operands if it has the name of one.
        output: Operand,
    },
}

/// An array that a family reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its name.
    pub name: &'static str,
    /// Its rows and columns.
    pub shape: fn(Size) -> (usize, usize),
}

impl Operand {
    /// A line of as many elements as the problem has.
    pub const fn line(name: &'static str) -> Self {
        Self { name, shape: |size| (1, size.n() as usize) }
    }

    /// An array of another length, which the run tells.
    pub const fn other(name: &'static str) -> Self {
        Self { name, shape: |_| (1, 0) }
    }
}

/// The sizes of the inputs that `all` uses, by machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// On the simulator.
    pub simulator: Size,
    /// On a GPU.
    pub gpu: Size,
}

impl Sizes {
    /// Elements.
    const fn elements(simulator: u64, gpu: u64) -> Self {
        Self { simulator: Size::Elements(simulator), gpu: Size::Elements(gpu) }
    }

    /// Square matrices.
    const fn square(simulator: u64, gpu: u64) -> Self {
        const fn square(n: u64) -> Size {
            Size::Product { m: n, n, k: n }
        }
        Self { simulator: square(simulator), gpu: square(gpu) }
    }

    /// Those of an engine.
    pub fn on(&self, engine: &Engine) -> Size {
        if engine.is_simulator() { self.simulator } else { self.gpu }
    }
}

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A number of elements.
    Elements(u64),
    /// A product of an m × k by a k × n matrix.
    Product {
        /// Rows of A and C.
        m: u64,
        /// Columns of B and C.
        n: u64,
        /// Columns of A, rows of B.
        k: u64,
    },
}

impl Size {
    /// The `n` that reports show: elements, or columns of C.
    pub fn n(self) -> u64 {
        match self {
            Self::Elements(n) | Self::Product { n, .. } => n,
        }
    }

    /// The number of elements.
    ///
    /// # Errors
    /// If the size is a matrix product's.
    pub fn elements(self) -> Result<u64> {
        match self {
            Self::Elements(n) => Ok(n),
            Self::Product { .. } => Err(Error::Usage("this family takes a number of elements, not m x n x k".into())),
        }
    }
}

/// The description of a problem, from which input and oracle are made.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The size.
    pub size: Size,
    /// The element type.
    pub dtype: Dtype,
    /// The distribution of drawn elements.
    pub distribution: Distribution,
    /// The seed of the draw.
    pub seed: u64,
    /// Input instead of drawn elements; `size` and `dtype` agree with it. For a sort with values: the keys, or the keys
    /// and then values of 4 bytes.
    pub input: Option<Vec<Data>>,
    /// Parameters of some families.
    pub parameters: Parameters,
}

impl Workload {
    /// The elements of a problem that has one operand: those given, or drawn ones.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are 2³² elements or more; [`Error::OutOfMemory`] if they do not fit in free memory.
    fn operand(self, family: &str) -> Result<Data> {
        let data = match self.input.and_then(|mut data| data.pop()) {
            Some(data) => data,
            None => self.distribution.generate(self.dtype, self.size.elements()?, self.seed)?,
        };
        if data.len() as u64 > u32::MAX as u64 {
            let (n, limit) = (data.len(), u32::MAX);
            return Err(Error::Usage(format!("{n} elements are too many for {family}; the limit is {limit}")));
        }
        Ok(data)
    }
}

/// An option of some families on the command line; sets the field of [`Parameters`] of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the field of Parameters of that name")]
pub enum Extra {
    Columns,
    Threads,
    Blocks,
    Bins,
    K,
    Keep,
    RunLength,
    Segments,
    Operation,
    Exclusive,
    Values,
    LowHalf,
    Alpha,
    Beta,
    Transpose,
    Precision,
    Batch,
}

/// Parameters that only some families use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Columns (threads) of the column-wise radix sorts; the rung's own default where None.
    pub columns: Option<u32>,
    /// Threads per block, if the rung leaves the number open.
    pub threads: Option<u32>,
    /// Blocks of the grid, if the rung leaves the number open.
    pub blocks: Option<u32>,
    /// Bins of a histogram.
    pub bins: Option<u32>,
    /// How many of the largest keys are asked for; [`top_k::DEFAULT_K`], or all if there are fewer, where None.
    pub k: Option<u32>,
    /// The fraction of drawn items that are below the pivot of a selection; that of the item in the middle where None.
    pub keep: Option<f64>,
    /// How many items a drawn run of equal ones has on average; [`sift::DEFAULT_RUN_LENGTH`] where None.
    pub run_length: Option<u32>,
    /// How long the segments of a segmented sort are; 1 to 64 keys where None.
    pub segments: Option<segmented_sort::Lengths>,
    /// The operation of a reduction or scan.
    pub operation: Operation,
    /// Whether a scan leaves each element out of its own result.
    pub exclusive: bool,
    /// Whether each key of a sort has a value of 32 bits that moves with it.
    pub values: bool,
    /// Whether keys are sorted from the largest on.
    pub descending: bool,
    /// Whether keys are sorted by their low 16 bits alone, the largest first.
    pub low_half: bool,
    /// The factor of a matrix product, rounded to the type of sums; 1 where None.
    pub alpha: Option<f64>,
    /// The factor of what is in C before a matrix product; 0 where None.
    pub beta: Option<f64>,
    /// Whether A, and whether B, is stored by columns.
    pub transpose: [bool; 2],
    /// The precision of a product of matrices of `f32`, or of fp8; the rung's own where None.
    pub precision: Option<Precision>,
    /// Matrix products of one shape in one call; 1 where None.
    pub batch: Option<u32>,
}

impl Parameters {
    /// The parameters that launches depend on.
    pub fn options(&self) -> Options {
        Options { columns: self.columns, threads: self.threads, blocks: self.blocks }
    }
}

/// Input and oracle on the host.
pub trait Problem {
    /// Its size.
    fn size(&self) -> Size;
    /// The work of one run.
    fn work(&self) -> Work;
    /// Puts the problem on an engine for one rung.
    ///
    /// # Errors
    /// [`Error::Usage`] with the limit if size, type or parameters are beyond the rung; [`Error::OutOfMemory`] if the
    /// buffers do not fit on the engine.
    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>>;
    /// The type of the values that move with the elements, where there are any.
    fn values(&self) -> Option<Dtype> {
        None
    }
    /// How many elements of the input have no part in the result, as keys that are in no bin of a histogram.
    fn left_out(&self) -> u64 {
        0
    }
    /// Whether the whole result is one value, whatever the input's size.
    fn makes_one_value(&self) -> bool {
        false
    }
    /// The problem in the form that foreign libraries take, if there are libraries that solve it.
    fn open(&self) -> Option<&dyn OpenProblem> {
        None
    }
}

/// A [`Problem`] as foreign libraries see it, which [`crate::bench`] measures next to the rungs.
pub trait OpenProblem {
    /// The input on an engine: all operands, in sequence. It is shared and must not be changed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the input does not fit on the engine; [`Error::Cuda`] if the upload fails.
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>>;
    /// Compares a whole output with the oracle.
    ///
    /// # Errors
    /// [`Error::Mismatch`] at the first difference, in the name of `who`, the rung or peer that wrote the output;
    /// otherwise [`Error::Cuda`] or [`Error::Launch`] if reading the output fails.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()>;
}

/// A problem on an engine.
pub trait Prepared {
    /// Copies fresh input and poisons the output; not timed.
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Launch`] if a copy, or a kernel launched before it, fails.
    fn restore(&mut self) -> Result<()>;
    /// Copies fresh input for `calls` calls of [`Prepared::run`] in a row; the other methods use the result of the last
    /// call. A problem whose input survives a run needs one [`Prepared::restore`] only.
    ///
    /// # Errors
    /// As for [`Prepared::restore`]; [`Error::OutOfMemory`] if the copies do not fit on the engine.
    fn restore_for(&mut self, calls: usize) -> Result<()> {
        let _ = calls;
        self.restore()
    }
    /// Enqueues the launches, which are timed.
    ///
    /// # Errors
    /// [`Error::Launch`] if the simulator refuses or ends a launch; [`Error::Cuda`] if the driver does.
    fn run(&mut self) -> Result<()>;
    /// Bytes of the engine's memory that a run needs besides its input and its output. A sort in place has its keys as
    /// both.
    fn scratch_bytes(&self) -> u64;
    /// Compares the whole output with the oracle.
    ///
    /// # Errors
    /// [`Error::Mismatch`] at the first difference; otherwise [`Error::Cuda`] or [`Error::Launch`] if a kernel failed.
    fn verify(&mut self) -> Result<()>;
    /// The output, for `--output`; for pairs, the keys.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy to the host, or a kernel launched before it, fails.
    fn output(&mut self) -> Result<Data>;
    /// The values of the output, for `--output-values`, if there are any.
    ///
    /// # Errors
    /// As for [`Prepared::output`].
    fn values(&mut self) -> Result<Option<Data>> {
        Ok(None)
    }
}

/// The work of one run, for rates and limits.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Keys, bytes or floating-point operations, by [`Work::unit`].
    pub amount: f64,
    /// The unit of the rate.
    pub unit: RateUnit,
    /// Bytes that any algorithm must move through global memory: input once, output once.
    pub bytes: f64,
    /// Floating-point operations, if those are the limit.
    pub flops: f64,
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RateUnit {
    /// Keys per second.
    #[serde(rename = "keys/s")]
    Keys,
    /// 10⁹ bytes per second.
    #[serde(rename = "GB/s")]
    Gigabytes,
    /// 10⁹ floating-point operations per second.
    #[serde(rename = "GFLOP/s")]
    Gigaflops,
}

impl RateUnit {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys/s",
            Self::Gigabytes => "GB/s",
            Self::Gigaflops => "GFLOP/s",
        }
    }
}

impl Work {
    /// The rate of a run that took `ms` milliseconds, in [`Work::unit`].
    pub fn rate(&self, ms: f64) -> f64 {
        let per_second = self.amount / (ms * 1e-3).max(f64::MIN_POSITIVE);
        if self.unit == RateUnit::Keys { per_second } else { per_second * 1e-9 }
    }
}

/// The family with this name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name)
}

impl Family {
    /// The family of a ladder.
    fn new<K: Sync>(ladder: &'static Ladder<K>, kind: Kind, sizes: Sizes, problem: ProblemOf<K>) -> Self {
        Self {
            name: ladder.family,
            about: ladder.about,
            kind,
            rungs: ladder.rungs.iter().map(|entry| &entry.rung).collect(),
            default: &ladder.default.rung,
            dtypes: &[],
            sizes,
            extras: &[],
            input: Distribution::Uniform,
            phases: false,
            draws: Draws::Moves,
            problem: Box::new(move |workload| problem(ladder, workload)),
            unable: Box::new(|_, _, _| None),
        }
    }

    /// The rung with this name.
    ///
    /// # Errors
    /// [`Error::Usage`] with the nearest names if there is no such rung.
    pub fn rung(&self, name: &str) -> Result<&'static Rung> {
        self.rungs.iter().copied().find(|r| r.name == name).ok_or_else(|| {
            let names: Vec<_> = self.rungs.iter().map(|r| r.name).collect();
            Error::unknown(&format!("rung of {}", self.name), name, &names)
        })
    }

    /// Refuses an element type that the family does not take.
    ///
    /// # Errors
    /// [`Error::Usage`] with the family's types if it does not take this one.
    pub fn check_dtype(&self, dtype: Dtype) -> Result<()> {
        if self.dtypes.contains(&dtype) {
            return Ok(());
        }
        let names: Vec<_> = self.dtypes.iter().map(|d| d.to_string()).collect();
        Err(Error::Usage(format!("{} does not take {dtype}; it takes {}", self.name, names.join(", "))))
    }

    /// Makes the input and the oracle, if the host has the memory for them.
    ///
    /// # Errors
    /// [`Error::Usage`] if the family does not take such a workload; [`Error::OutOfMemory`] if it does not fit in free
    /// memory.
    pub fn make(&self, workload: Workload) -> Result<Box<dyn Problem>> {
        let elements = match workload.size {
            Size::Elements(n) => n,
            Size::Product { m, n, k } => {
                let area = |a: u64, b: u64| a.saturating_mul(b);
                area(m, k).saturating_add(area(k, n)).saturating_add(area(m, n))
            }
        };
        // Four copies exist at the same time: the input, the one on the engine, the oracle and the downloaded output.
        let (with, bytes) = if workload.parameters.values { (" with values", 4) } else { ("", 0) };
        let what = format!("elements of {}{with} and their oracle", workload.dtype);
        data::memory_check(&what, elements, 4 * (workload.dtype.size() + bytes))?;
        (self.problem)(workload)
    }

    /// The parameters as this family uses them: `values` and `low_half` only if the family offers them. All other
    /// parameters are ignored by families that do not list them.
    pub fn own(&self, parameters: &Parameters) -> Parameters {
        let offers = |extra| self.extras.contains(&extra);
        Parameters {
            values: parameters.values && offers(Extra::Values),
            low_half: parameters.low_half && offers(Extra::LowHalf),
            ..*parameters
        }
    }

    /// The reason why the rung cannot solve this problem on a device, if it cannot.
    pub fn refusal(
        &self,
        rung: &Rung,
        size: Size,
        dtype: Dtype,
        parameters: &Parameters,
        device: Device,
    ) -> Option<String> {
        let n = match size {
            Size::Elements(n) => n,
            Size::Product { m, n, .. } => m.saturating_mul(n),
        };
        let ask = Ask { n, element_bytes: dtype.size() as u32, options: parameters.options(), device };
        (self.unable)(rung, dtype, parameters).or_else(|| rung.refusal(&ask))
    }

    /// An option about the geometry that a rung has no use for, if one is given: a rung that leaves such a number open
    /// plans by it, or refuses one that cannot be.
    pub fn unused(&self, rung: &Rung, parameters: &Parameters, device: Device) -> Option<&'static str> {
        let uses = |options: fn(u32) -> Options| match self.kind {
            Kind::Cubes => kernels::cubes::LADDER.get(rung.name).is_some_and(|entry| {
                let plan = |number| entry.run.plan(&options(number), device);
                plan(1) != plan(2)
            }),
            _ => {
                let ask = |options| Ask { n: 0, element_bytes: 4, options, device };
                rung.refusal(&ask(options(u32::MAX))).is_some() && rung.refusal(&ask(Options::default())).is_none()
            }
        };
        let given = parameters.options();
        let unused = |given: Option<u32>, name, options| (given.is_some() && !uses(options)).then_some(name);
        unused(given.columns, "columns", |number| Options { columns: Some(number), ..Options::default() })
            .or_else(|| {
                unused(given.threads, "threads", |number| Options { threads: Some(number), ..Options::default() })
            })
            .or_else(|| unused(given.blocks, "blocks", |number| Options { blocks: Some(number), ..Options::default() }))
    }

    /// The rung that runs if the user names none: the default, or the last rung that takes this workload. Products of
    /// `f32` are as precise as that unless asked otherwise.
    pub fn choose(&self, size: Size, dtype: Dtype, parameters: &Parameters, device: Device) -> &'static Rung {
        let usual = (dtype == Dtype::F32).then_some(Precision::F32);
        let parameters = &Parameters { precision: parameters.precision.or(usual), ..*parameters };
        let takes = |rung: &Rung| {
            self.refusal(rung, size, dtype, parameters, device).is_none()
                && self.unused(rung, parameters, device).is_none()
        };
        if takes(self.default) {
            return self.default;
        }
        self.rungs.iter().rev().copied().find(|rung| takes(rung)).unwrap_or(self.default)
    }

    /// A size that was asked for.
    ///
    /// # Errors
    /// If the family takes a number of elements, and the size has several sides.
    pub fn size(&self, asked: MatrixSize) -> Result<Size> {
        match (self.sizes.gpu, asked.one()) {
            (Size::Product { .. }, _) => Ok(Size::Product { m: asked.m, n: asked.n, k: asked.k }),
            (Size::Elements(_), Some(n)) => Ok(Size::Elements(n)),
            (Size::Elements(_), None) => {
                Err(Error::Usage(format!("{} takes a number of elements, not {asked}", self.name)))
            }
        }
    }

    /// The size that `all` uses on this engine for this rung: the family's, or the rung's capacity if that is smaller.
    pub fn default_size(&self, engine: &Engine, rung: &Rung) -> Size {
        match (self.sizes.on(engine), rung.capacity) {
            (Size::Elements(n), Some(capacity)) => Size::Elements(n.min(capacity)),
            (size, _) => size,
        }
    }
}

/// Makes the problem of a family from its ladder.
type ProblemOf<K> = fn(&'static Ladder<K>, Workload) -> Result<Box<dyn Problem>>;

/// The entry of a ladder that belongs to a rung.
///
/// # Errors
/// [`Error::Usage`] if the rung is of another ladder.
fn entry<K>(ladder: &'static Ladder<K>, rung: &Rung) -> Result<&'static kernels::ladder::Entry<K>> {
    let names = || ladder.rungs.iter().map(|entry| entry.rung.name).collect::<Vec<_>>();
    ladder.get(rung.name).ok_or_else(|| Error::unknown(&format!("rung of {}", ladder.family), rung.name, &names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The upper sorts hold a second copy of the keys, as CUB does, and little more.
    #[test]
    fn scratch_memory_is_counted() {
        let engine = Engine::simulator();
        let scratch = |family: &str, rung: &str, n: u64| {
            let family = super::family(family).unwrap();
            let (dtype, distribution, parameters) = (Dtype::U32, family.input, Parameters::default());
            let workload = Workload { size: Size::Elements(n), dtype, distribution, seed: 5, input: None, parameters };
            let problem = family.make(workload).unwrap();
            problem.prepare(&engine, family.rung(rung).unwrap()).unwrap().scratch_bytes()
        };
        for rung in ["onesweep", "msd-buckets", "msd-skewed"] {
            let of = |n: u64| scratch("radix", rung, n) - 4 * n;
            assert!((1..32 << 20).contains(&of(1 << 20)), "{rung}: {} bytes and a copy of the keys", of(1 << 20));
        }
        assert_eq!(scratch("bitonic", "global-step", 1000), 0);
        assert_eq!(scratch("histogram", "bank-private", 1000), 257 * 4);
        assert_eq!(scratch("scan", "hillis-steele", 1000), 0);
    }

    #[test]
    fn rungs_use_the_options_that_are_theirs() {
        let device = Engine::simulator().device();
        let of = |option: &str| {
            let number = |name: &str| (option == name).then_some(64);
            let (columns, threads, blocks) = (number("columns"), number("threads"), number("blocks"));
            let parameters = Parameters { columns, threads, blocks, ..Parameters::default() };
            let all = FAMILIES.iter().flat_map(|family| family.rungs.iter().map(move |rung| (family, rung)));
            let used = all.filter(|(family, rung)| family.unused(rung, &parameters, device).is_none());
            used.map(|(family, rung)| format!("{} {}", family.name, rung.name)).collect::<Vec<_>>()
        };
        let columns = ["one-thread", "atomic-min", "tree", "groups"].map(|name| format!("radix columns-{name}"));
        assert_eq!(of("columns"), columns);
        let grids = ["many-blocks", "block-sum", "block-tree", "warp-shuffle", "grid-atomic"];
        let grids = grids.map(|name| format!("cubes {name}"));
        assert_eq!(of("blocks"), grids);
        let single = ["bubble shared-block", "cubes one-block-strided", "cubes one-block"].map(String::from);
        assert_eq!(of("threads"), [&single[..], &grids].concat());
        assert_eq!(of("").len(), FAMILIES.iter().map(|family| family.rungs.len()).sum::<usize>());
    }

    /// Each of several calls in a row has an input of its own, and the output of the last call is verified.
    #[test]
    fn every_rung_runs_several_times_in_a_row() {
        let engine = Engine::simulator();
        let with_values = FAMILIES.iter().filter(|family| family.extras.contains(&Extra::Values)).map(|f| (f, true));
        for (family, values) in FAMILIES.iter().map(|family| (family, false)).chain(with_values) {
            let size = match family.sizes.simulator {
                Size::Product { .. } => Size::Product { m: 20, n: 33, k: 17 },
                Size::Elements(_) => Size::Elements(700),
            };
            let (dtype, parameters) = (family.dtypes[0], Parameters { values, ..Parameters::default() });
            let problem = family
                .make(Workload { size, dtype, distribution: family.input, seed: 5, input: None, parameters })
                .unwrap();
            let device = engine.device();
            let takes = |rung: &&&Rung| family.refusal(rung, size, dtype, &parameters, device).is_none();
            for rung in family.rungs.iter().filter(takes) {
                let mut prepared = problem.prepare(&engine, rung).unwrap();
                for calls in [3, 1, 2] {
                    prepared.restore_for(calls).unwrap();
                    assert!(prepared.verify().is_err(), "{} {}: nothing ran, and it passes", family.name, rung.name);
                    let run = || (0..calls).try_for_each(|_| prepared.run());
                    let ((), taken) = engine.held_after(run).unwrap();
                    assert_eq!(taken, 0, "{} {}: memory that no report shows", family.name, rung.name);
                    prepared.verify().unwrap();
                }
            }
        }
    }
}
