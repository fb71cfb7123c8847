//! Reduction: the sum, the minimum or the maximum of all elements.

use super::apart::Apart;
use super::rung::{Implementation, rung};
use super::upload::Uploaded;
use super::{
    Extra, Family, OpenProblem, Operation, Parameters, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype, Element};
use crate::engine::{AnyBuffer, Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::reduce::{
    r1_interleaved::{self as interleaved, reduce_interleaved},
    r2_sequential::{self as sequential, reduce_sequential},
    r3_first_add::{self as first_add, reduce_first_add},
    r4_unrolled_warp::{self as unrolled_warp, reduce_unrolled_warp},
    r5_shuffle::{self as shuffle, reduce_shuffle},
    r6_vector_loads::{self as vector_loads, reduce_vector_loads},
    r7_single_launch::{self as single_launch, reduce_single_launch},
};
use simt::{Global, Kernel, Scalar};
use std::cell::OnceCell;
use std::rc::Rc;

/// Names of a kernel's instances: `$operator` on all types.
macro_rules! names {
    ($kernel:ident, $($operator:ident)*) => {
        &[$(
            <$kernel<u32, $operator> as Kernel>::NAME,
            <$kernel<i32, $operator> as Kernel>::NAME,
            <$kernel<u64, $operator> as Kernel>::NAME,
            <$kernel<f32, $operator> as Kernel>::NAME,
            <$kernel<f64, $operator> as Kernel>::NAME,
        )*]
    };
}

/// The family. Drawn elements are small whole numbers, so that the order of additions does not show in floats.
pub static FAMILY: Family = Family {
    name: "reduce",
    about: "sum, minimum or maximum of all elements",
    rungs: &[
        rung!("reduce/r1_interleaved.rs", "interleaved", names!(reduce_interleaved, Sum), reduce(&Interleaved))
            .refusing(not_a_sum),
        rung!("reduce/r2_sequential.rs", "sequential", names!(reduce_sequential, Sum), reduce(&Sequential))
            .refusing(not_a_sum),
        rung!("reduce/r3_first_add.rs", "first-add", names!(reduce_first_add, Sum), reduce(&FirstAdd))
            .refusing(not_a_sum),
        rung!("reduce/r4_unrolled_warp.rs", "unrolled-warp", names!(reduce_unrolled_warp, Sum), reduce(&UnrolledWarp))
            .refusing(not_a_sum),
        rung!("reduce/r5_shuffle.rs", "shuffle", names!(reduce_shuffle, Sum), reduce(&Shuffle)).refusing(not_a_sum),
        rung!(
            "reduce/r6_vector_loads.rs",
            "vector-loads",
            names!(reduce_vector_loads, Sum Min Max),
            reduce(&VectorLoads)
        ),
        rung!(
            "reduce/r7_single_launch.rs",
            "single-launch",
            names!(reduce_single_launch, Sum Min Max),
            reduce(&SingleLaunch)
        ),
    ],
    dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::F64],
    simulator_size: Size::Elements(1 << 17),
    gpu_size: Size::Elements(1 << 26),
    extras: &[Extra::Operation],
    input: Distribution::Small,
    problem,
};

const fn reduce(rung: &'static dyn ReduceRung) -> Implementation {
    Implementation::Reduce(rung)
}

/// Combines all elements of the first view into the one element of the second, again and again: a rung with its scratch
/// memory.
pub type Reducer<T> = Box<dyn FnMut(Global<T>, Global<T>) -> Result<()>>;

/// A rung that reduces elements of one type.
pub trait Reduces<T> {
    /// Prepares to reduce `n` elements on an engine: takes the scratch memory.
    ///
    /// # Errors
    /// [`Error::Usage`] if the rung does not have the operation.
    fn reducer(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Reducer<T>>;
}

/// A rung that reduces elements of all types of the family.
pub trait ReduceRung: Reduces<u32> + Reduces<i32> + Reduces<u64> + Reduces<f32> + Reduces<f64> + Sync {}

impl<R: Reduces<u32> + Reduces<i32> + Reduces<u64> + Reduces<f32> + Reduces<f64> + Sync> ReduceRung for R {}

/// Why the textbook's rungs cannot compute this.
fn only_sums(operation: Operation) -> Option<String> {
    let others = "vector-loads and single-launch have min and max too";
    (operation != Operation::Sum).then(|| format!("this rung of reduce computes sums; {others}"))
}

fn not_a_sum(_: &Size, _: Dtype, parameters: &Parameters) -> Option<String> {
    only_sums(parameters.operation)
}

/// A rung of the textbook: sums, launched over what it leaves until one value is left.
macro_rules! textbook {
    ($(#[$doc:meta])* $rung:ident, $kernel:ident, $file:ident) => {
        $(#[$doc])*
        struct $rung;

        impl<T: Scalar> Reduces<T> for $rung
        where
            $kernel<T, Sum>: Kernel<Args = (Global<T>, Global<T>)>,
        {
            fn reducer(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Reducer<T>> {
                if let Some(why) = only_sums(operation) {
                    return Err(Error::Usage(why));
                }
                levels($kernel::<T, Sum>::default(), engine, n, $file::BLOCK, $file::grid)
            }
        }
    };
}
textbook! {
    /// A tree in shared memory, neighbours first.
    Interleaved, reduce_interleaved, interleaved
}
textbook! {
    /// A tree in shared memory, halves of the block.
    Sequential, reduce_sequential, sequential
}
textbook! {
    /// Two elements a thread.
    FirstAdd, reduce_first_add, first_add
}
textbook! {
    /// The last warp by itself.
    UnrolledWarp, reduce_unrolled_warp, unrolled_warp
}
textbook! {
    /// Values from lane to lane.
    Shuffle, reduce_shuffle, shuffle
}

/// 16 bytes a load.
struct VectorLoads;

impl<T: Scalar> Reduces<T> for VectorLoads
where
    reduce_vector_loads<T, Sum>: Kernel<Args = (Global<T>, Global<T>)>,
    reduce_vector_loads<T, Min>: Kernel<Args = (Global<T>, Global<T>)>,
    reduce_vector_loads<T, Max>: Kernel<Args = (Global<T>, Global<T>)>,
{
    fn reducer(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Reducer<T>> {
        let multiprocessors = engine.multiprocessors();
        let (block, grid) = (vector_loads::BLOCK, move |n| vector_loads::grid::<T>(n, multiprocessors));
        match operation {
            Operation::Sum => levels(reduce_vector_loads::<T, Sum>::default(), engine, n, block, grid),
            Operation::Min => levels(reduce_vector_loads::<T, Min>::default(), engine, n, block, grid),
            Operation::Max => levels(reduce_vector_loads::<T, Max>::default(), engine, n, block, grid),
        }
    }
}

/// One launch.
struct SingleLaunch;

impl<T: Scalar> Reduces<T> for SingleLaunch
where
    reduce_single_launch<T, Sum>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
    reduce_single_launch<T, Min>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
    reduce_single_launch<T, Max>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
{
    fn reducer(&self, engine: &Engine, _: u32, operation: Operation) -> Result<Reducer<T>> {
        match operation {
            Operation::Sum => single(reduce_single_launch::<T, Sum>::default(), engine),
            Operation::Min => single(reduce_single_launch::<T, Min>::default(), engine),
            Operation::Max => single(reduce_single_launch::<T, Max>::default(), engine),
        }
    }
}

/// Launches a kernel over what it leaves until one value is left.
fn levels<T: Scalar, K>(
    kernel: K,
    engine: &Engine,
    n: u32,
    block: u32,
    grid: impl Fn(u32) -> u32 + 'static,
) -> Result<Reducer<T>>
where
    K: Kernel<Args = (Global<T>, Global<T>)>,
{
    let engine = engine.clone();
    // What the levels leave that are not the last, used in turn; the last one writes to the output.
    let scratch: [Buffer<T>; 2] = [engine.alloc(grid(n) as usize)?, engine.alloc(grid(grid(n)) as usize)?];
    Ok(Box::new(move |input, output| {
        let (mut from, mut turn) = (input, 0);
        loop {
            let blocks = grid(from.len());
            let to = if blocks == 1 { output } else { scratch[turn].slice(0, blocks as usize) };
            engine.launch(kernel, Geometry::linear(blocks, block), (from, to))?;
            if blocks == 1 {
                return Ok(());
            }
            (from, turn) = (to, 1 - turn);
        }
    }))
}

/// Launches a kernel once.
fn single<T: Scalar, K>(kernel: K, engine: &Engine) -> Result<Reducer<T>>
where
    K: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
{
    let (engine, multiprocessors) = (engine.clone(), engine.multiprocessors());
    let values: Buffer<T> = engine.alloc(single_launch::max_grid(multiprocessors) as usize)?;
    // Zero once: every launch leaves it so.
    let ticket = engine.upload(&[0u32])?;
    Ok(Box::new(move |input, output| {
        let geometry = Geometry::linear(single_launch::grid::<T>(input.len(), multiprocessors), single_launch::BLOCK);
        engine.launch(kernel, geometry, (input, output, values.view(), ticket.view()))
    }))
}

/// A type that the family takes.
trait Reducible: Element + Scalar {
    /// What an operation makes of nothing.
    fn identity(operation: Operation) -> Self;
    /// The sum of all; where they are floats, `None`: see [`float_sum`].
    fn integer_sum(all: &[Self]) -> Option<Self>;
    /// As a number of 64 bits.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn of_f64(value: f64) -> Self;
    /// Floats: whole numbers are exact up to here.
    const EXACT_UP_TO: f64;
    /// Floats: the distance from 1 to the next number.
    const EPSILON: f64;
    /// Floats: the largest.
    const LARGEST: f64;
}

macro_rules! reducible {
    ($($t:ident: $sum:expr, $exact:expr, $epsilon:expr;)*) => {$(
        impl Reducible for $t {
            fn identity(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => <Sum as Operator<$t>>::IDENTITY,
                    Operation::Min => <Min as Operator<$t>>::IDENTITY,
                    Operation::Max => <Max as Operator<$t>>::IDENTITY,
                }
            }
            fn integer_sum(all: &[Self]) -> Option<Self> {
                $sum(all)
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn of_f64(value: f64) -> Self {
                value as $t
            }
            const EXACT_UP_TO: f64 = $exact;
            const EPSILON: f64 = $epsilon;
            const LARGEST: f64 = <$t>::MAX as f64;
        }
    )*};
}
reducible! {
    u32: |all: &[u32]| Some(all.iter().fold(0, |sum: u32, &v| sum.wrapping_add(v))), 0.0, 0.0;
    i32: |all: &[i32]| Some(all.iter().fold(0, |sum: i32, &v| sum.wrapping_add(v))), 0.0, 0.0;
    u64: |all: &[u64]| Some(all.iter().fold(0, |sum: u64, &v| sum.wrapping_add(v))), 0.0, 0.0;
    f32: |_: &[f32]| None, (1u64 << f32::MANTISSA_DIGITS) as f64, f32::EPSILON as f64;
    f64: |_: &[f64]| None, (1u64 << f64::MANTISSA_DIGITS) as f64, f64::EPSILON;
}

/// What the result should be.
#[derive(Clone, Copy, Debug)]
enum Expected<T> {
    /// These bits, or any NaN for a NaN.
    Exactly(T),
    /// A sum of floats, which depends on the order of the additions.
    Near {
        /// The sum, rounded once.
        sum: f64,
        /// The sum of the absolute values, which the roundings are in proportion to.
        size: f64,
    },
}

/// The oracle.
fn expected<T: Reducible>(all: &[T], operation: Operation) -> Expected<T> {
    let extreme = |largest: bool| {
        let nan = all.iter().copied().find(|v| v.to_f64().is_nan());
        let (smaller, larger) = (all.iter().copied().min_by_key(order), all.iter().copied().max_by_key(order));
        nan.or(if largest { larger } else { smaller }).unwrap_or(T::identity(operation))
    };
    match operation {
        Operation::Sum => T::integer_sum(all).map_or_else(|| float_sum(all), Expected::Exactly),
        Operation::Min => Expected::Exactly(extreme(false)),
        Operation::Max => Expected::Exactly(extreme(true)),
    }
}

/// What orders keys as numbers are ordered, -0 before +0.
fn order<T: Reducible>(key: &T) -> T::Word {
    key.to_word()
}

/// The sum of floats: exact if every order of additions gives the same bits, else what they are near to.
fn float_sum<T: Reducible>(all: &[T]) -> Expected<T> {
    let (mut sum, mut lost, mut size, mut whole, mut special) = (0.0f64, 0.0f64, 0.0f64, true, 0.0f64);
    for value in all.iter().map(|v| v.to_f64()) {
        if !value.is_finite() {
            special += value;
            continue;
        }
        // Neumaier's summation: what each addition rounds away is kept apart.
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
        size += value.abs();
        whole &= value.fract() == 0.0;
    }
    if special != 0.0 && size <= T::LARGEST {
        return Expected::Exactly(T::of_f64(special));
    }
    let sum = sum + lost + special;
    if whole && size <= T::EXACT_UP_TO { Expected::Exactly(T::of_f64(sum)) } else { Expected::Near { sum, size } }
}

impl<T: Reducible> Expected<T> {
    /// Whether `got` is right, after chains of at most `additions` roundings.
    fn admits(self, got: T, additions: f64) -> bool {
        match self {
            Self::Exactly(want) if want.to_f64().is_nan() => got.to_f64().is_nan(),
            Self::Exactly(want) => got.to_word() == want.to_word(),
            // Some orders may overflow on the way, and then even become NaN.
            Self::Near { size, .. } if size > T::LARGEST && !got.to_f64().is_finite() => true,
            Self::Near { sum, size } => (got.to_f64() - sum).abs() <= size * T::EPSILON * additions,
        }
    }

    /// For a message.
    fn show(self) -> String {
        match self {
            Self::Exactly(want) => want.show(),
            Self::Near { sum, .. } => format!("about {sum}"),
        }
    }
}

/// Elements and what they should make together.
struct ReduceProblem<T> {
    input: Vec<T>,
    operation: Operation,
    expected: OnceCell<Expected<T>>,
    uploaded: Uploaded<T>,
}

fn problem(workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<T: Reducible>(input: Vec<T>, operation: Operation) -> Result<Box<dyn Problem>>
    where
        dyn ReduceRung: Reduces<T>,
    {
        Ok(Box::new(ReduceProblem { input, operation, expected: OnceCell::new(), uploaded: Uploaded::default() }))
    }
    let operation = workload.parameters.operation;
    match workload.operand("reduce")? {
        Data::U32(input) => of(input, operation),
        Data::I32(input) => of(input, operation),
        Data::F32(input) => of(input, operation),
        Data::U64(input) => of(input, operation),
        Data::F64(input) => of(input, operation),
        other => {
            Err(Error::Usage(format!("reduce does not take {}; it takes u32, i32, f32, u64 and f64", other.dtype())))
        }
    }
}

impl<T: Reducible> OpenProblem for ReduceProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.input])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (n, got) = (self.input.len(), output.download_as::<T>()?[0]);
        let want = *self.expected.get_or_init(|| expected(&self.input, self.operation));
        // Every rung keeps at least 512 running sums a multiprocessor, and combines them in trees of a few dozen levels.
        let additions = n as f64 / (512.0 * output.engine().multiprocessors() as f64) + 64.0;
        let wrong = !want.admits(got, additions);
        verdict("reduce", who, n, wrong.then(|| Difference { index: 0, left: got.show(), right: want.show() }))
    }
}

impl<T: Reducible> Problem for ReduceProblem<T>
where
    dyn ReduceRung: Reduces<T>,
{
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = size_of_val(&self.input[..]) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes: bytes + size_of::<T>() as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Reduce(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} is not a reduction", rung.name)));
        };
        let input = self.uploaded.get(engine, &[&self.input])?;
        Apart::prepare(self, rung, input, (1, 0xA5), |engine| {
            let mut reducer = implementation.reducer(engine, self.input.len() as u32, self.operation)?;
            Ok(Box::new(move |input, output| reducer(input.view(), output.view())))
        })
    }

    fn makes_one_value(&self) -> bool {
        true
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_knows_the_corners() {
        let exactly = |all: &[f32], operation| match expected(all, operation) {
            Expected::Exactly(v) => v,
            near => panic!("{near:?}"),
        };
        assert_eq!(exactly(&[], Operation::Sum), 0.0);
        assert_eq!(exactly(&[], Operation::Min), f32::INFINITY);
        assert_eq!(exactly(&[2.0, -0.0, 0.0], Operation::Min).to_bits(), (-0.0f32).to_bits());
        assert_eq!(exactly(&[-2.0, 0.0, -0.0], Operation::Max).to_bits(), 0);
        assert!(exactly(&[1.0, f32::NAN], Operation::Max).is_nan());
        assert!(exactly(&[1.0, f32::NAN], Operation::Sum).is_nan());
        assert_eq!(exactly(&[1.0, 2.0, -4.0], Operation::Sum), -1.0);
        assert!(matches!(expected(&[u32::MAX, 2], Operation::Sum), Expected::Exactly(1)));
        assert!(matches!(expected::<i32>(&[], Operation::Max), Expected::Exactly(i32::MIN)));
    }

    #[test]
    fn sums_of_floats_are_held_to_their_rounding() {
        let all: Vec<f32> = (0..1000).map(|i| 0.1 + i as f32 * 1e-4).collect();
        let want = expected(&all, Operation::Sum);
        let sum: f32 = all.iter().sum();
        assert!(want.admits(sum, 1000.0));
        assert!(!want.admits(sum - all[0], 66.0), "a lost element goes unseen");
        let huge = expected(&[f32::MAX, f32::MAX], Operation::Sum);
        assert!(huge.admits(f32::INFINITY, 65.0) && !huge.admits(0.0, 65.0));
        let infinite = expected(&[f32::INFINITY, 1.5], Operation::Sum);
        assert!(infinite.admits(f32::INFINITY, 65.0) && !infinite.admits(1.5, 65.0), "{infinite:?}");
    }
}
