//! Scan: running sums, minima and maxima.

use super::apart::Apart;
use super::rung::{Implementation, rung};
use super::upload::Uploaded;
use super::verify::{self, ON_DEVICE_FROM};
use super::{
    Extra, Family, OpenProblem, Operation, Parameters, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype, Element};
use crate::engine::{AnyBuffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::scan::r1_hillis_steele::{self as hillis_steele, scan_hillis_steele};
use rungs_kernels::scan::r2_blelloch::{self as blelloch, scan_blelloch};
use rungs_kernels::scan::r3_blelloch_padded::{self as blelloch_padded, scan_blelloch_padded};
use rungs_kernels::scan::r4_three_kernels::{self as three_kernels, scan_three_kernels_add, scan_three_kernels_tiles};
use rungs_kernels::scan::r5_look_back::{self as look_back, scan_look_back, scan_look_back_clear};
use rungs_kernels::scan::r6_look_ahead::{self as look_ahead, scan_look_ahead};
use simt::{Global, Kernel, Scalar};
use std::rc::Rc;

/// The names of all instances of generic kernels, after those of kernels that are not generic.
macro_rules! names {
    ($([$plain:ident])? $($kernel:ident: $($T:ty),+);+) => {
        &[
            $($plain::NAME,)?
            $($(
                <$kernel<$T, Sum> as Kernel>::NAME,
                <$kernel<$T, Min> as Kernel>::NAME,
                <$kernel<$T, Max> as Kernel>::NAME,
            )+)+
        ]
    };
}

/// The family.
pub static FAMILY: Family = Family {
    name: "scan",
    about: "running sums, minima and maxima",
    rungs: &[
        rung!(
            "scan/r1_hillis_steele.rs",
            "hillis-steele",
            names!(scan_hillis_steele: u32, f32),
            Implementation::Scan(&HillisSteele)
        )
        .refusing(refuses)
        .with_capacity(hillis_steele::CAPACITY as u64),
        rung!("scan/r2_blelloch.rs", "blelloch", names!(scan_blelloch: u32, f32), Implementation::Scan(&Blelloch))
            .refusing(refuses)
            .with_capacity(blelloch::CAPACITY as u64),
        rung!(
            "scan/r3_blelloch_padded.rs",
            "blelloch-padded",
            names!(scan_blelloch_padded: u32, f32),
            Implementation::Scan(&BlellochPadded)
        )
        .refusing(refuses)
        .with_capacity(blelloch_padded::CAPACITY as u64),
        rung!(
            "scan/r4_three_kernels.rs",
            "three-kernels",
            names!(scan_three_kernels_tiles: u32, f32; scan_three_kernels_add: u32, f32),
            Implementation::Scan(&ThreeKernels)
        )
        .refusing(refuses)
        .with_tiles(&[three_kernels::TILE as u64]),
        rung!(
            "scan/r5_look_back.rs",
            "look-back",
            names!([scan_look_back_clear] scan_look_back: u32, u64, f32),
            Implementation::Scan(&LookBack)
        )
        .with_tiles(&[look_back::TILE as u64]),
        rung!(
            "scan/r6_look_ahead/mod.rs",
            "look-ahead",
            names!(scan_look_ahead: u32, u64, f32),
            Implementation::Scan(&LookAhead)
        )
        .with_tiles(&[look_ahead::tile::<u32>() as u64]),
    ],
    dtypes: &[Dtype::U32, Dtype::U64, Dtype::F32],
    simulator_size: Size::Elements(1 << 18),
    gpu_size: Size::Elements(1 << 24),
    extras: &[Extra::Operation, Extra::Exclusive],
    input: Distribution::Uniform,
    problem,
};

/// What the textbook rungs do not take.
fn refuses(_: &Size, dtype: Dtype, _: &Parameters) -> Option<String> {
    let why = "this rung of scan takes u32 and f32; look-back and look-ahead take u64 too";
    (dtype == Dtype::U64).then(|| why.into())
}

/// A rung that scans.
///
/// Each method takes the rung's scratch memory for up to `n` elements on an engine.
///
/// # Errors
/// [`Error::Usage`] for a type that the rung does not take, or a device that it cannot use.
#[allow(missing_docs, reason = "each is the same for another type")]
pub trait ScanRung: Sync {
    fn scanner_u32(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Box<dyn Scanner<u32>>>;
    fn scanner_f32(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Box<dyn Scanner<f32>>>;
    fn scanner_u64(&self, _: &Engine, n: u32, _: Operation) -> Result<Box<dyn Scanner<u64>>> {
        let refused = refuses(&Size::Elements(n as u64), Dtype::U64, &Parameters::default());
        Err(Error::Usage(refused.unwrap_or_default()))
    }
}

/// A rung with its scratch memory, ready to scan again and again.
pub trait Scanner<T> {
    /// Scans `input` into `output`, which may be the same; `exclusive`: each element is left out of its own result.
    fn scan(&mut self, input: Global<T>, output: Global<T>, exclusive: bool) -> Result<()>;
}

impl<T, F: FnMut(Global<T>, Global<T>, u32) -> Result<()>> Scanner<T> for F {
    fn scan(&mut self, input: Global<T>, output: Global<T>, exclusive: bool) -> Result<()> {
        self(input, output, exclusive as u32)
    }
}

/// A method of [`ScanRung`]: `$make`, given the type and the kernels' instances for the operation.
macro_rules! scanner {
    ($method:ident: $T:ty, $make:ident, $($kernel:ident),+ $(; $extra:expr)?) => {
        fn $method(&self, engine: &Engine, n: u32, operation: Operation) -> Result<Box<dyn Scanner<$T>>> {
            match operation {
                Operation::Sum => $make::<$T, $($kernel<$T, Sum>),+>(engine, n $(, $extra)?),
                Operation::Min => $make::<$T, $($kernel<$T, Min>),+>(engine, n $(, $extra)?),
                Operation::Max => $make::<$T, $($kernel<$T, Max>),+>(engine, n $(, $extra)?),
            }
        }
    };
}

/// One block, n·log n additions.
struct HillisSteele;
impl ScanRung for HillisSteele {
    scanner!(scanner_u32: u32, one_block, scan_hillis_steele; hillis_steele::BLOCK);
    scanner!(scanner_f32: f32, one_block, scan_hillis_steele; hillis_steele::BLOCK);
}

/// One block, a tree.
struct Blelloch;
impl ScanRung for Blelloch {
    scanner!(scanner_u32: u32, one_block, scan_blelloch; blelloch::BLOCK);
    scanner!(scanner_f32: f32, one_block, scan_blelloch; blelloch::BLOCK);
}

/// One block, a tree without bank conflicts.
struct BlellochPadded;
impl ScanRung for BlellochPadded {
    scanner!(scanner_u32: u32, one_block, scan_blelloch_padded; blelloch_padded::BLOCK);
    scanner!(scanner_f32: f32, one_block, scan_blelloch_padded; blelloch_padded::BLOCK);
}

/// A scanner of one block of so many threads. That the input is not larger than the rung's capacity has been checked.
fn one_block<T: Scalar, K>(engine: &Engine, _: u32, threads: u32) -> Result<Box<dyn Scanner<T>>>
where
    K: Kernel<Args = (Global<T>, Global<T>, u32)> + Default,
{
    let engine = engine.clone();
    Ok(Box::new(move |input: Global<T>, output, exclusive| {
        let blocks = !input.is_empty() as u32;
        engine.launch(K::default(), Geometry::linear(blocks, threads), (input, output, exclusive))
    }))
}

/// Tiles, their sums, and what is before each tile.
struct ThreeKernels;
impl ScanRung for ThreeKernels {
    scanner!(scanner_u32: u32, three_kernels, scan_three_kernels_tiles, scan_three_kernels_add);
    scanner!(scanner_f32: f32, three_kernels, scan_three_kernels_tiles, scan_three_kernels_add);
}

fn three_kernels<T: Scalar, Tiles, Add>(engine: &Engine, n: u32) -> Result<Box<dyn Scanner<T>>>
where
    Tiles: Kernel<Args = (Global<T>, Global<T>, Global<T>, u32)> + Default,
    Add: Kernel<Args = (Global<T>, Global<T>)> + Default,
{
    let (engine, scratch) = (engine.clone(), engine.alloc::<T>(three_kernels::scratch(n) as usize)?);
    Ok(Box::new(move |input: Global<T>, output, exclusive| {
        let geometry = |blocks| Geometry::linear(blocks, three_kernels::BLOCK);
        // Up: the tiles of each level, whose sums are the next level's input; the first has the caller's.
        let (mut level, mut rest) = ((input, output, exclusive), scratch.view());
        let mut levels = vec![];
        loop {
            let blocks = three_kernels::grid(level.0.len());
            engine.launch(Tiles::default(), geometry(blocks), (level.0, level.1, rest, level.2))?;
            if blocks <= 1 {
                break;
            }
            let sums = rest.slice(0, blocks);
            levels.push((level.1, sums));
            (level, rest) = ((sums, sums, 1), rest.slice(blocks, rest.len() - blocks));
        }
        // Down: the sums are scanned and go into the level below.
        levels.into_iter().rev().try_for_each(|(output, sums)| {
            engine.launch(Add::default(), geometry(three_kernels::grid(output.len())), (output, sums))
        })
    }))
}

/// One pass, looking back.
struct LookBack;
impl ScanRung for LookBack {
    scanner!(scanner_u32: u32, look_back, scan_look_back);
    scanner!(scanner_f32: f32, look_back, scan_look_back);
    scanner!(scanner_u64: u64, look_back, scan_look_back);
}

fn look_back<T: Scalar, K>(engine: &Engine, n: u32) -> Result<Box<dyn Scanner<T>>>
where
    K: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)> + Default,
{
    let (engine, words) = (engine.clone(), engine.alloc::<u64>(look_back::workspace::<T>(n) as usize)?);
    Ok(Box::new(move |input: Global<T>, output, exclusive| {
        let workspace = words.slice(0, look_back::workspace::<T>(input.len()) as usize);
        let clear = Geometry::linear(look_back::clear_grid(workspace.len()), look_back::BLOCK);
        engine.launch(scan_look_back_clear, clear, (workspace,))?;
        let geometry = Geometry::linear(look_back::grid(input.len()), look_back::BLOCK);
        let geometry = geometry.shared(look_back::shared_bytes::<T>());
        engine.launch(K::default(), geometry, (input, output, workspace, exclusive))
    }))
}

/// One pass, looking ahead.
struct LookAhead;
impl ScanRung for LookAhead {
    scanner!(scanner_u32: u32, look_ahead, scan_look_ahead);
    scanner!(scanner_f32: f32, look_ahead, scan_look_ahead);
    scanner!(scanner_u64: u64, look_ahead, scan_look_ahead);
}

fn look_ahead<T: Scalar, K>(engine: &Engine, n: u32) -> Result<Box<dyn Scanner<T>>>
where
    K: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)> + Default,
{
    if let Some((major, minor)) = engine.as_cuda().map(|cuda| cuda.properties().compute_capability)
        && major < 9
    {
        let why = format!("scan look-ahead needs compute capability 9.0, and this GPU has {major}.{minor}");
        return Err(Error::Usage(format!("{why}; look-back runs on it")));
    }
    let (engine, words) = (engine.clone(), engine.alloc::<u64>(look_ahead::workspace::<T>(n) as usize)?);
    // Cleared once: each launch leaves it ready for the next.
    words.fill(0)?;
    Ok(Box::new(move |input: Global<T>, output, exclusive| {
        let blocks = look_ahead::grid::<T>(input.len(), engine.multiprocessors());
        let geometry = Geometry::linear(blocks, look_ahead::BLOCK).shared(look_ahead::SHARED_BYTES);
        engine.launch(K::default(), geometry, (input, output, words.view(), exclusive))
    }))
}

/// A type that can be scanned.
trait ScanElement: Element + Scalar {
    /// What no scan leaves by accident, as a byte.
    const POISON: u8;

    fn scanner(rung: &dyn ScanRung, engine: &Engine, n: u32, operation: Operation) -> Result<Box<dyn Scanner<Self>>>;

    /// Whether every result follows from the one before it, looked at on the engine; `None` where that cannot be said,
    /// because sums of floats round.
    fn follows(input: &dyn AnyBuffer, output: &dyn AnyBuffer, parameters: Parameters) -> Result<Option<bool>>;

    /// The first place where `got` is wrong, and what is right there.
    fn first_difference(input: &[Self], got: &[Self], parameters: Parameters) -> Option<(usize, String)>;
}

macro_rules! unsigned_elements {
    ($($T:ty: $method:ident),*) => {$(
        impl ScanElement for $T {
            const POISON: u8 = 0xA5;

            fn scanner(rung: &dyn ScanRung, engine: &Engine, n: u32, op: Operation) -> Result<Box<dyn Scanner<$T>>> {
                rung.$method(engine, n, op)
            }

            fn follows(input: &dyn AnyBuffer, output: &dyn AnyBuffer, parameters: Parameters) -> Result<Option<bool>> {
                let Parameters { operation, exclusive, .. } = parameters;
                Ok(Some(verify::scan::<$T>(input, output, operation, exclusive)? == 0))
            }

            fn first_difference(input: &[$T], got: &[$T], parameters: Parameters) -> Option<(usize, String)> {
                match parameters.operation {
                    Operation::Sum => exact::<$T, Sum>(input, got, parameters.exclusive),
                    Operation::Min => exact::<$T, Min>(input, got, parameters.exclusive),
                    Operation::Max => exact::<$T, Max>(input, got, parameters.exclusive),
                }
            }
        }
    )*};
}
unsigned_elements!(u32: scanner_u32, u64: scanner_u64);

impl ScanElement for f32 {
    // All ones are NaN, which differs from every number.
    const POISON: u8 = 0xFF;

    fn scanner(rung: &dyn ScanRung, engine: &Engine, n: u32, operation: Operation) -> Result<Box<dyn Scanner<f32>>> {
        rung.scanner_f32(engine, n, operation)
    }

    fn follows(_: &dyn AnyBuffer, _: &dyn AnyBuffer, _: Parameters) -> Result<Option<bool>> {
        Ok(None)
    }

    fn first_difference(input: &[f32], got: &[f32], parameters: Parameters) -> Option<(usize, String)> {
        match parameters.operation {
            Operation::Sum => rounded_sums(input, got, parameters.exclusive),
            Operation::Min => exact::<f32, Min>(input, got, parameters.exclusive),
            Operation::Max => exact::<f32, Max>(input, got, parameters.exclusive),
        }
    }
}

/// The first place where `got` is not bit by bit what one scan from left to right gives; any NaN is as good as another.
fn exact<T: ScanElement, O: Operator<T>>(input: &[T], got: &[T], exclusive: bool) -> Option<(usize, String)> {
    let mut sum = O::IDENTITY;
    input.iter().zip(got).enumerate().find_map(|(i, (&x, &got))| {
        let before = sum;
        sum = O::combine(sum, x);
        let want = if exclusive { before } else { sum };
        let nan = |v: T| v.partial_cmp(&v).is_none();
        let same = got.to_bits_64() == want.to_bits_64() || nan(got) && nan(want);
        (!same).then(|| (i, want.show()))
    })
}

/// The first place where `got` is further from the sum in double precision than rounding explains.
fn rounded_sums(input: &[f32], got: &[f32], exclusive: bool) -> Option<(usize, String)> {
    let mut sums = Sums { whole: true, ..Sums::default() };
    input.iter().zip(got).enumerate().find_map(|(i, (&x, &got))| {
        let before = sums;
        sums.add(x);
        let want = if exclusive { before } else { sums };
        (!want.allows(got)).then(|| (i, format!("{:?}", want.sum as f32)))
    })
}

/// The sum of a prefix, and what decides how far a sum in single precision may be from it.
#[derive(Clone, Copy, Default)]
struct Sums {
    sum: f64,
    /// The sum of the absolute values, and the largest absolute value of a sum so far; of finite elements.
    sizes: f64,
    largest: f64,
    elements: f64,
    /// Whether all elements are whole numbers.
    whole: bool,
}

impl Sums {
    fn add(&mut self, x: f32) {
        self.sum += x as f64;
        if x.is_finite() {
            self.sizes += x.abs() as f64;
        }
        if self.sum.is_finite() {
            self.largest = self.largest.max(self.sum.abs());
        }
        self.elements += 1.0;
        self.whole &= x.fract() == 0.0;
    }

    /// Whether some order of the additions gives `got`.
    ///
    /// Each addition rounds by at most half an epsilon of its result. Inside a tile an element goes through at most
    /// [`STEPS`] additions, whose results are together at most so many times the sum of the absolute values; between
    /// tiles there is at most one addition for [`SHORTEST_TILE`] elements, with results that are differences of two
    /// prefixes. Whole numbers below 2²⁴ do not round at all.
    fn allows(&self, got: f32) -> bool {
        const STEPS: f64 = 48.0;
        const SHORTEST_TILE: f64 = 2048.0;
        if self.sizes > f32::MAX as f64 && !self.sum.is_nan() && !got.is_finite() {
            // A sum on the way may have been too large for the type.
            return true;
        }
        if !self.sum.is_finite() {
            return if self.sum.is_nan() { got.is_nan() } else { got as f64 == self.sum };
        }
        let chain = (self.elements / SHORTEST_TILE).ceil() * 2.0 * self.largest;
        let rounds = !(self.whole && self.sizes <= 16_777_216.0);
        let slack = if rounds { f32::EPSILON as f64 * 0.5 * (STEPS * self.sizes + chain) } else { 0.0 };
        // A NaN is not within any distance.
        (got as f64 - self.sum).abs() <= slack
    }
}

/// Elements to scan.
struct ScanProblem<T> {
    input: Vec<T>,
    parameters: Parameters,
    uploaded: Uploaded<T>,
}

fn problem(workload: Workload) -> Result<Box<dyn Problem>> {
    let parameters = workload.parameters;
    match workload.operand("scan")? {
        Data::U32(input) => Ok(Box::new(ScanProblem { input, parameters, uploaded: Uploaded::default() })),
        Data::U64(input) => Ok(Box::new(ScanProblem { input, parameters, uploaded: Uploaded::default() })),
        Data::F32(input) => Ok(Box::new(ScanProblem { input, parameters, uploaded: Uploaded::default() })),
        other => Err(Error::Usage(format!("scan takes u32, u64 and f32, not {}", other.dtype()))),
    }
}

impl<T: ScanElement> OpenProblem for ScanProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.input])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (input, engine) = (&self.input, output.engine());
        if input.len() >= ON_DEVICE_FROM
            && !engine.is_simulator()
            && T::follows(&*self.uploaded.get(engine, &[input])?, output, self.parameters)? == Some(true)
        {
            return Ok(());
        }
        // The host walks along all of them, and knows where the first wrong one is.
        let got = output.download_as::<T>()?;
        let wrong = T::first_difference(input, &got, self.parameters);
        let difference = |(index, right): (usize, String)| Difference { index, left: got[index].show(), right };
        verdict("scan", who, input.len(), wrong.map(difference))
    }
}

impl<T: ScanElement> Problem for ScanProblem<T> {
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = 2.0 * size_of_val(self.input.as_slice()) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Scan(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} is not a scan", rung.name)));
        };
        let n = self.input.len();
        rung.check_capacity("scan", n as u64)?;
        let input = self.uploaded.get(engine, &[&self.input])?;
        let Parameters { operation, exclusive, .. } = self.parameters;
        Apart::prepare(self, rung, input, (n, T::POISON), |engine| {
            let mut scanner = T::scanner(implementation, engine, n as u32, operation)?;
            Ok(Box::new(move |input, output| scanner.scan(input.view(), output.view(), exclusive)))
        })
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_sums_are_found() {
        let input: Vec<f32> = Distribution::Uniform.keys(1 << 16, 1).unwrap();
        let mut sum = 0.0f64;
        let add = |x: &f32| {
            sum += *x as f64;
            sum as f32
        };
        let mut sums: Vec<f32> = input.iter().map(add).collect();
        assert_eq!(rounded_sums(&input, &sums, false), None);
        assert!(rounded_sums(&input, &sums, true).is_some());
        // A tile whose predecessors' sum is lost, a NaN.
        let lost: Vec<f32> =
            sums.iter().enumerate().map(|(i, &s)| if i < 40_000 { s } else { s - sums[39_999] }).collect();
        assert_eq!(rounded_sums(&input, &lost, false).map(|(i, _)| i), Some(40_000));
        sums[60_000] = f32::NAN;
        assert_eq!(rounded_sums(&input, &sums, false).map(|(i, _)| i), Some(60_000));
        // Infinite and undefined sums are what they are, whatever comes after.
        let input = [1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY, 5.0];
        let right = [1.0, f32::INFINITY, f32::INFINITY, f32::NAN, f32::NAN];
        assert_eq!(rounded_sums(&input, &right, false), None);
        assert_eq!(rounded_sums(&input, &[1.0; 5], false).map(|(i, _)| i), Some(1));
        assert_eq!(exact::<f32, Min>(&[3.0, f32::NAN], &[3.0, f32::NAN], false), None);
        assert_eq!(exact::<f32, Min>(&[0.0, -0.0], &[0.0, 0.0], false), Some((1, "-0.0".into())));
    }
}
