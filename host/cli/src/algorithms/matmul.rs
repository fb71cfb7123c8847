//! Matrix product.

use super::apart::Apart;
use super::fp8::Eight;
use super::upload::{Changed, Uploaded};
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, entry, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype, Element};
use oracle::Number;
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::matmul::{self, Batch, Matmul, Matrix, Multiplied, Multiplier as _, Precision, Product};
use rungs_kernels::ladder::{Entry, Ladder, Sequence};
use rungs_oracles::products as oracle;
use simt::{bf16, f16};
use std::fmt::Display;
use std::rc::Rc;

/// The family of a ladder of matrix products.
pub fn family(ladder: &'static Ladder<Matmul>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16],
        input: Distribution::Small,
        draws: Draws::Arrays {
            inputs: vec![
                Operand { name: "A", shape: |size| sides(size, |m, _, k| (m, k)) },
                Operand { name: "B", shape: |size| sides(size, |_, n, k| (k, n)) },
            ],
            output: Operand { name: "C", shape: |size| sides(size, |m, n, _| (m, n)) },
        },
        extras: &[Extra::Alpha, Extra::Beta, Extra::Transpose, Extra::Precision, Extra::Batch],
        unable: Box::new(move |rung, dtype, parameters| unable(ladder, rung, dtype, parameters)),
        ..Family::new(ladder, Kind::Matmul, sizes, problem)
    }
}

/// Runs `$body` with the type `$T` of elements that a [`Dtype`] stands for, or `$otherwise`.
macro_rules! for_elements {
    ($dtype:expr, $T:ident => $body:expr, $otherwise:expr) => {
        for_elements!($dtype, $T => $body, $otherwise, F32: f32, F64: f64, F16: f16, Bf16: bf16)
    };
    ($dtype:expr, $T:ident => $body:expr, $otherwise:expr, $($name:ident: $t:ty),*) => {
        match $dtype {
            $(Dtype::$name => {
                type $T = $t;
                $body
            })*
            _ => $otherwise,
        }
    };
}

/// The precision of a rung's products of a type, if it has them.
fn precision_of(entry: &Entry<Matmul>, dtype: Dtype) -> Option<Precision> {
    for_elements!(dtype, T => T::precision(entry.run), None)
}

/// The reason why a rung has no products of this type, or not of this precision, if it has none.
fn unable(ladder: &'static Ladder<Matmul>, rung: &Rung, dtype: Dtype, parameters: &Parameters) -> Option<String> {
    let (entry, name) = (ladder.get(rung.name)?, rung.name);
    let Parameters { alpha, beta, transpose, precision, batch, .. } = *parameters;
    if let Some(asked) = precision.filter(|precision| Precision::OF_EIGHT_BITS.contains(precision)) {
        let types = Eight::ALL.map(Eight::name).join(" or ");
        return Some(format!("{} sums are those of fp8: --dtype {types}", asked.name()));
    }
    if precision.is_some() && dtype != Dtype::F32 {
        return Some(format!("a precision can be asked for with products of f32, not of {dtype}"));
    }
    let Some(own) = precision_of(entry, dtype) else {
        let takes = |entry: &&&Entry<Matmul>| precision_of(entry, dtype).is_some();
        let others: Vec<_> = ladder.rungs.iter().filter(takes).map(|entry| entry.rung.name).collect();
        return Some(format!("{name} does not multiply {dtype}; of the rungs these do: {}", others.join(", ")));
    };
    let is_more = alpha.is_some_and(|a| a != 1.0) || beta.is_some_and(|b| b != 0.0) || batch.is_some_and(|b| b != 1);
    if entry.run.is_plain() && (is_more || transpose != [false; 2]) {
        let takes = |entry: &&&Entry<Matmul>| !entry.run.is_plain() && precision_of(entry, dtype) == Some(own);
        let others: Vec<_> = ladder.rungs.iter().filter(takes).map(|entry| entry.rung.name).collect();
        let others = others.join(", ");
        return Some(format!(
            "{name} multiplies row-major matrices, without factors or batches; these take more: {others}"
        ));
    }
    let asked = precision?;
    (own.asked_for() != asked).then(|| format!("{name} multiplies in {}, not in {}", own.name(), asked.name()))
}

/// Rows and columns of a matrix, from m, n and k.
fn sides(size: Size, of: fn(usize, usize, usize) -> (usize, usize)) -> (usize, usize) {
    match size {
        Size::Product { m, n, k } => of(m as usize, n as usize, k as usize),
        Size::Elements(_) => (0, 0),
    }
}

/// Products on the host, all of one shape. Elements drawn as `small` are integers from -4 to 4, so that every product
/// and sum is exact in `f32` and all of C can be compared without a tolerance.
struct MatmulProblem<T> {
    ladder: &'static Ladder<Matmul>,
    /// At least one.
    of: Vec<oracle::Product<T>>,
    /// All A and all B as they are stored on the engine, if that is by columns.
    by_columns: [Option<Vec<T>>; 2],
    uploaded: Uploaded<T>,
    parameters: Parameters,
}

/// What a product of this program needs of the type of its elements.
trait Typed: Element + Number + Multiplied + Display {
    /// The precision of a peer that is not known to be less precise.
    const USUAL: Precision;
}

macro_rules! typed {
    ($($T:ident: $usual:ident;)*) => {$(
        impl Typed for $T {
            const USUAL: Precision = Precision::$usual;
        }
    )*};
}
typed! {
    f32: F32;
    f64: F64;
    f16: Sixteen;
    bf16: Sixteen;
}

fn problem(ladder: &'static Ladder<Matmul>, workload: Workload) -> Result<Box<dyn Problem>> {
    let dtype = workload.dtype;
    for_elements!(dtype, T => problem_of::<T>(ladder, workload), {
        Err(Error::Usage(format!("matmul does not take {dtype}; it takes f32, f64, f16 and bf16")))
    })
}

fn problem_of<T: Typed>(ladder: &'static Ladder<Matmul>, workload: Workload) -> Result<Box<dyn Problem>> {
    let Size::Product { m, n, k } = workload.size else {
        return Err(Error::Usage("matmul takes m x n x k".into()));
    };
    let parameters = workload.parameters;
    let count = parameters.batch.unwrap_or(1).into();
    check_sizes(count, (m, n, k))?;
    let (alpha, beta) = (factor::<T>("alpha", parameters.alpha, 1.0)?, factor::<T>("beta", parameters.beta, 0.0)?);
    let draw = |elements, number| workload.distribution.keys::<T>(elements, workload.seed.wrapping_add(number));
    let wrong = || Error::Usage(format!("matmul takes two matrices of {}, and with --beta one for C", T::NAME));
    let (a, b, c) = match workload.input {
        Some(input) => {
            let elements = |data: Data| data.into_vec::<T>().map_err(|_| wrong());
            let mut given = input.into_iter().map(elements).collect::<Result<Vec<_>>>()?.into_iter();
            match (given.next(), given.next(), given.next()) {
                (Some(a), Some(b), c) if c.is_none() || beta != 0.0 => (a, b, c),
                _ => return Err(wrong()),
            }
        }
        None => (draw(count * m * k, 0)?, draw(count * k * n, 1)?, None),
    };
    let c = match c {
        Some(c) => c,
        None if beta != 0.0 => draw(count * m * n, 2)?,
        None => vec![],
    };
    let (m, n, k, count) = (m as usize, n as usize, k as usize, count as usize);
    let as_stored = |stored: Vec<T>, (rows, columns), transposed: bool| match transposed {
        false => (each(stored, count), None),
        true => {
            let by_rows = |one: usize| T::turned(&stored[one * rows * columns..][..rows * columns], rows, columns);
            ((0..count).map(by_rows).collect(), Some(stored))
        }
    };
    let ((a, stored_a), (b, stored_b)) =
        (as_stored(a, (m, k), parameters.transpose[0]), as_stored(b, (k, n), parameters.transpose[1]));
    let (by_columns, uploaded) = ([stored_a, stored_b], Uploaded::default());
    let product = |((a, b), c)| oracle::Product { m, n, k, a, b, c, alpha, beta, known: oracle::Known::default() };
    let of = a.into_iter().zip(b).zip(each(c, count)).map(product).collect();
    Ok(Box::new(MatmulProblem { ladder, of, by_columns, uploaded, parameters }))
}

/// Refuses matrices that are too large for the numbers of their elements.
pub(super) fn check_sizes(count: u64, (m, n, k): (u64, u64, u64)) -> Result<()> {
    for (what, rows, columns) in [("A", m, k), ("B", k, n), ("C", m, n)] {
        let elements = rows.checked_mul(columns).and_then(|one| one.checked_mul(count));
        if elements.is_none_or(|n| n > u32::MAX as u64) {
            let (limit, times) = (u32::MAX, if count > 1 { format!("{count} x ") } else { String::new() });
            let why = format!("{what} would have {times}{rows} x {columns} elements; the limit is {limit}");
            return Err(Error::Usage(why));
        }
    }
    Ok(())
}

/// A factor as the rung gets it; `usual` if none is given.
pub(super) fn factor<T: Multiplied>(name: &str, given: Option<f64>, usual: f64) -> Result<f64>
where
    T::Sum: Into<f64>,
{
    let given = given.unwrap_or(usual);
    let factor: f64 = T::factor(given).into();
    let beyond = || Error::Usage(format!("--{name} {given:e} is beyond the type of sums of {}", T::NAME));
    if given.is_finite() && !factor.is_finite() { Err(beyond()) } else { Ok(factor) }
}

/// The matrices of a batch, which stand one behind the other; one alone is not copied.
fn each<T: Copy>(all: Vec<T>, count: usize) -> Vec<Vec<T>> {
    match count {
        1 => vec![all],
        _ => (0..count).map(|one| all[one * (all.len() / count)..][..all.len() / count].to_vec()).collect(),
    }
}

impl<T: Typed> OpenProblem for MatmulProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.operands(engine)?)
    }

    /// C is of the type of A and B, or, as some libraries have it, of `f32`.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        if size_of::<T>() == 2 && output.bytes() == self.c_elements() * size_of::<f32>() {
            return self.compare(who, &output.download_as::<f32>()?);
        }
        self.compare(who, &output.download_as::<T>()?)
    }
}

impl<T: Typed> Problem for MatmulProblem<T> {
    fn size(&self) -> Size {
        let one = &self.of[0];
        Size::Product { m: one.m as u64, n: one.n as u64, k: one.k as u64 }
    }

    fn work(&self) -> Work {
        let (one, count) = (&self.of[0], self.of.len() as f64);
        let (m, n, k) = (one.m as f64, one.n as f64, one.k as f64);
        let flops = count * 2.0 * m * n * k;
        let of_c = if one.beta == 0.0 { m * n } else { 2.0 * m * n };
        let bytes = count * size_of::<T>() as f64 * (m * k + k * n + of_c);
        Work { amount: flops, unit: RateUnit::Gigaflops, bytes, flops }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        if let Some(why) = unable(self.ladder, rung, T::DTYPE, &self.parameters) {
            return Err(Error::Usage(why));
        }
        let ab = self.operands(engine)?;
        if self.of[0].beta == 0.0 {
            // All ones are NaN, so an element that is never written is detected.
            let (of_c, sequence) = ((self.c_elements(), 0xFF), |engine: &Engine| self.sequence(engine, rung));
            return Apart::prepare(self, rung, ab, of_c, sequence, |ab, c| self.product(ab, c));
        }
        let before = engine.alloc(self.c_elements())?;
        let mut start = 0;
        for one in &self.of {
            before.write_at(start, &one.c)?;
            start += one.c.len();
        }
        let c = Changed::new(engine, self.c_elements())?;
        let (sequence, scratch_bytes) = engine.held_after(|| self.sequence(engine, rung))?;
        Ok(Box::new(Updated { problem: self, rung: rung.name, ab, before, c, sequence, scratch_bytes }))
    }

    /// Libraries take one product, operands by rows, and no factors.
    fn open(&self) -> Option<&dyn OpenProblem> {
        let [one] = &self.of[..] else { return None };
        let plain = one.alpha == 1.0 && one.beta == 0.0 && self.by_columns.iter().all(Option::is_none);
        plain.then_some(self)
    }
}

/// A product whose C has something in it before.
struct Updated<'p, T: Typed> {
    problem: &'p MatmulProblem<T>,
    rung: &'static str,
    ab: Rc<Buffer<T>>,
    before: Buffer<T>,
    c: Changed<T>,
    sequence: Sequence<Product<T>>,
    scratch_bytes: u64,
}

impl<T: Typed> Prepared for Updated<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.c.restore_for(calls, &self.before)
    }

    fn run(&mut self) -> Result<()> {
        let c = self.c.for_next();
        Ok(self.sequence.run(c.engine(), self.problem.product(&self.ab, c))?)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check(self.rung, self.c.last())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(self.c.last().download()?))
    }
}

/// Peers that are less precise than `f32`; of those of one precision, the first is what rungs are compared with.
const PEERS: [(&str, Precision); 2] =
    [("cublas_sgemm_tf32", Precision::Tf32), ("cublaslt_sgemm_tf32_best", Precision::Tf32)];

/// The peer that is as imprecise as a rung's products of `f32`; none for a rung that is as precise as that, and for
/// products of other types.
pub(crate) fn peer_of_its_precision(rung: &Rung, dtype: &str) -> Option<&'static str> {
    let entry = rungs_kernels::ladders::MATMUL.get(rung.name).filter(|entry| std::ptr::eq(&entry.rung, rung))?;
    if dtype != Dtype::F32.name() {
        return None;
    }
    let precision = entry.run.precision().asked_for();
    PEERS.into_iter().find(|(_, of_peer)| *of_peer == precision).map(|(name, _)| name)
}

impl<T: Typed> MatmulProblem<T> {
    /// Elements of all C.
    fn c_elements(&self) -> usize {
        self.of.len() * self.of[0].m * self.of[0].n
    }

    /// Compares all of C with the oracle.
    fn compare<C: Number + Display>(&self, who: &str, got: &[C]) -> Result<()> {
        let difference =
            |(index, want): (usize, f64)| Difference { index, left: got[index].to_string(), right: want.to_string() };
        let elements = self.of[0].m * self.of[0].n;
        let first = self.of.iter().enumerate().find_map(|(number, one)| {
            let start = number * elements;
            let (index, want) = one.first_difference(&got[start..start + elements], self.precision(who))?;
            Some((start + index, want))
        });
        verdict("matmul", who, self.of[0].n, first.map(difference))
    }

    /// The precision of the rung or peer of this name.
    fn precision(&self, who: &str) -> Precision {
        let of_peer = || PEERS.into_iter().find(|(name, _)| *name == who).map(|(_, precision)| precision);
        let of_rung = self.ladder.get(who).and_then(|entry| T::precision(entry.run));
        of_rung.or_else(of_peer).unwrap_or(T::USUAL)
    }

    /// All A and then all B as they are stored, on this engine.
    fn operands(&self, engine: &Engine) -> Result<Rc<Buffer<T>>> {
        let stored = |number: usize, by_rows: fn(&oracle::Product<T>) -> &[T]| -> Vec<&[T]> {
            match &self.by_columns[number] {
                Some(all) => vec![all],
                None => self.of.iter().map(by_rows).collect(),
            }
        };
        self.uploaded.get(engine, &[stored(0, |one| &one.a), stored(1, |one| &one.b)].concat())
    }

    /// The rung's launches.
    fn sequence(&self, engine: &Engine, rung: &Rung) -> Result<Sequence<Product<T>>> {
        let one = &self.of[0];
        let sizes = matmul::Sizes { m: one.m as u32, n: one.n as u32, k: one.k as u32 };
        Ok(entry(self.ladder, rung)?.multiplier(engine, sizes)?)
    }

    /// The product of the operands in `ab` to `c`.
    fn product(&self, ab: &Buffer<T>, c: &Buffer<T>) -> Product<T> {
        let (one, count) = (&self.of[0], self.of.len());
        let (m, n, k) = (one.m as u32, one.n as u32, one.k as u32);
        let [a_by_columns, b_by_columns] = [0, 1].map(|i| self.by_columns[i].is_some());
        let matrix = |buffer: &Buffer<T>, start, rows, columns, transposed| {
            let data = buffer.slice(start, count * rows as usize * columns as usize);
            Matrix { data, rows, columns, stride: if transposed { rows } else { columns }, transposed }
        };
        let a = matrix(ab, 0, m, k, a_by_columns);
        let b = matrix(ab, count * m as usize * k as usize, k, n, b_by_columns);
        let batch = Batch { count: count as u32, a: m * k, b: k * n, c: m * n };
        let (alpha, beta) = (T::factor(one.alpha), T::factor(one.beta));
        Product { alpha, beta, batch, ..Product::new(a, b, matrix(c, 0, m, n, false)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{Parameters, family};
    use rungs_kernels::ladder::Device;

    /// Also where the default needs another GPU, the rung that runs is as precise as `f32` unless asked otherwise.
    #[test]
    fn the_rung_has_the_precision_that_is_asked_for() {
        let family = family("matmul").unwrap();
        let size = Size::Product { m: 100, n: 100, k: 100 };
        let gpus = [
            ((9, 0), 227, ["fp32-hopper", "three-tf32-group", "mixed", "tensor-registers"]),
            // Products of mixed precision are made on Hopper alone: the default rung is named, and refuses.
            ((8, 0), 163, ["fp32", "three-tf32", "fp32-hopper", "tf32"]),
        ];
        for (compute_capability, kib, rungs) in gpus {
            let device = Device { multiprocessors: 100, shared_per_block: kib << 10, compute_capability };
            let of_type = |dtype, precision| {
                let parameters = Parameters { precision, ..Parameters::default() };
                family.choose(size, dtype, &parameters, device).name
            };
            let chosen = |precision| of_type(Dtype::F32, precision);
            assert_eq!(chosen(None), rungs[0]);
            assert_eq!(Precision::ALL.map(|precision| chosen(Some(precision))), rungs);
            let parameters = Parameters { precision: Some(Precision::Mixed), ..Parameters::default() };
            let rung = family.choose(size, Dtype::F32, &parameters, device);
            let refusal = family.refusal(rung, size, Dtype::F32, &parameters, device);
            assert_eq!(refusal.is_none(), compute_capability == (9, 0), "{refusal:?}");
            let of_f64 = if compute_capability == (9, 0) { "fp64-hopper" } else { "fp64" };
            assert_eq!(of_type(Dtype::F64, None), of_f64);
            if compute_capability == (9, 0) {
                assert_eq!([Dtype::F16, Dtype::Bf16].map(|dtype| of_type(dtype, None)), ["half-cluster"; 2]);
            }
        }
    }

    /// Rungs take the types that they have kernels for, and refuse the others in the same words as the family does.
    #[test]
    fn types_of_rungs() {
        let (engine, family) = (Engine::simulator(), family("matmul").unwrap());
        let size = Size::Product { m: 3, n: 4, k: 5 };
        let parameters = Parameters::default();
        let takes = |dtype: Dtype| -> Vec<&str> {
            let rungs = family.rungs.iter();
            rungs
                .filter(|rung| {
                    let (distribution, seed, input) = (Distribution::Small, 1, None);
                    let workload = Workload { size, dtype, distribution, seed, input, parameters };
                    let problem = family.make(workload).unwrap();
                    let refusal = family.refusal(rung, size, dtype, &parameters, engine.device());
                    match (problem.prepare(&engine, rung), refusal) {
                        (Ok(_), None) => true,
                        (Err(Error::Usage(why)), Some(want)) if why == want => false,
                        (prepared, want) => panic!("{}: {:?} and {want:?}", rung.name, prepared.err()),
                    }
                })
                .map(|rung| rung.name)
                .collect()
        };
        assert_eq!(takes(Dtype::F32).len(), family.rungs.len() - 8);
        assert_eq!(takes(Dtype::F64), ["tensor-double", "any-type", "fp64", "fp64-hopper"]);
        assert_eq!(takes(Dtype::F16), ["packed", "half-hopper", "half-cluster"]);
        let course = ["tensor-group", "tensor-map", "tensor-cluster"];
        assert_eq!(takes(Dtype::Bf16), [&course[..], &["packed", "half-hopper", "half-cluster"]].concat());
        let asked = Parameters { precision: Some(Precision::F32), ..parameters };
        let why = family.refusal(family.rung("fp32").unwrap(), size, Dtype::F64, &asked, engine.device());
        assert!(why.unwrap().contains("products of f32, not of f64"));
    }

    /// Every rung, with factors, operands by columns and batches, as the program runs it.
    #[test]
    fn factors_transposed_operands_and_batches() {
        let (engine, family) = (Engine::simulator(), family("matmul").unwrap());
        let factors =
            [(None, None, None), (Some(2.0), Some(3.0), Some(3)), (Some(0.3), None, Some(2)), (None, Some(0.7), None)];
        for transpose in [[false, false], [false, true], [true, false], [true, true]] {
            for (alpha, beta, batch) in factors {
                let parameters = Parameters { alpha, beta, transpose, batch, ..Parameters::default() };
                let size = Size::Product { m: 18, n: 35, k: 27 };
                for &dtype in family.dtypes {
                    let (distribution, seed, input) = (Distribution::Small, 3, None);
                    let workload = Workload { size, dtype, distribution, seed, input, parameters };
                    let problem = family.make(workload).unwrap();
                    let refusal = |rung: &Rung| family.refusal(rung, size, dtype, &parameters, engine.device());
                    for rung in family.rungs.iter().filter(|rung| refusal(rung).is_none()) {
                        let mut prepared = problem.prepare(&engine, rung).unwrap();
                        for calls in [1, 2] {
                            prepared.restore_for(calls).unwrap();
                            assert!(prepared.verify().is_err(), "{}: nothing ran, and it passes", rung.name);
                            (0..calls).for_each(|_| prepared.run().unwrap());
                            prepared.verify().unwrap_or_else(|e| panic!("{} {dtype} {parameters:?}: {e}", rung.name));
                        }
                    }
                }
            }
        }
    }
}
