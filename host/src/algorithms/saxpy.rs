//! y = a·x + y.

use super::rung::{Implementation, rung};
use super::upload::Changed;
use super::{Family, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, verdict};
use crate::data::{Data, Difference, Distribution, Dtype, Element};
use crate::engine::{Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::saxpy::r1_kernel::{self as kernel, saxpy_kernel};
use rungs_kernels::saxpy::r2_transform::{self as transform, Saxpy, saxpy_transform};
use simt::{Global, Kernel};

/// The family.
pub static FAMILY: Family = Family {
    name: "saxpy",
    about: "y = a·x + y on floats, a = 2.5",
    rungs: &[
        rung!("saxpy/r1_kernel.rs", "kernel", &[saxpy_kernel::NAME], Implementation::Saxpy(&AsKernel))
            .with_tiles(&[kernel::BLOCK as u64]),
        rung!("saxpy/r2_transform.rs", "transform", &[saxpy_transform::NAME], Implementation::Saxpy(&AsTransform))
            .with_tiles(&[rungs_kernels::transform::TILE as u64]),
    ],
    dtypes: &[Dtype::F32],
    simulator_size: Size::Elements(1 << 18),
    gpu_size: Size::Elements(1 << 26),
    extras: &[],
    input: Distribution::Uniform,
    problem,
};

/// The factor: neither 1 nor a power of two, so that a product is not merely copied or shifted.
pub const A: f32 = 2.5;

/// A rung that computes y = a·x + y.
pub trait SaxpyRung: Sync {
    /// Starts it. The views are of one length.
    fn saxpy(&self, engine: &Engine, a: f32, x: Global<f32>, y: Global<f32>) -> Result<()>;
}

/// One thread an element.
struct AsKernel;

impl SaxpyRung for AsKernel {
    fn saxpy(&self, engine: &Engine, a: f32, x: Global<f32>, y: Global<f32>) -> Result<()> {
        engine.launch(saxpy_kernel, Geometry::linear(kernel::grid(y.len()), kernel::BLOCK), (a, x, y))
    }
}

/// A functor.
struct AsTransform;

impl SaxpyRung for AsTransform {
    fn saxpy(&self, engine: &Engine, a: f32, x: Global<f32>, y: Global<f32>) -> Result<()> {
        let geometry = Geometry::linear(transform::grid(y.len()), transform::BLOCK);
        engine.launch(saxpy_transform, geometry, (x, y, y, Saxpy { a }))
    }
}

/// x and y on the host.
struct SaxpyProblem {
    x: Vec<f32>,
    y: Vec<f32>,
}

/// x from the workload's input, or drawn; y drawn with the next seed.
fn problem(workload: Workload) -> Result<Box<dyn Problem>> {
    let Workload { distribution, seed, .. } = workload;
    let x = workload.operand("saxpy")?;
    let x = x.into_vec::<f32>().map_err(|d| Error::Usage(format!("saxpy takes f32, not {}", d.dtype())))?;
    let y = distribution.keys(x.len() as u64, seed.wrapping_add(1))?;
    Ok(Box::new(SaxpyProblem { x, y }))
}

impl Problem for SaxpyProblem {
    fn size(&self) -> Size {
        Size::Elements(self.x.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = 12.0 * self.x.len() as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 2.0 * self.x.len() as f64 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Saxpy(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} does not compute a·x + y", rung.name)));
        };
        let (x, fresh, y) = (engine.upload(&self.x)?, engine.upload(&self.y)?, Changed::new(engine, self.y.len())?);
        Ok(Box::new(PreparedSaxpy {
            problem: self,
            rung: rung.name,
            implementation,
            engine: engine.clone(),
            x,
            fresh,
            y,
        }))
    }
}

struct PreparedSaxpy<'p> {
    problem: &'p SaxpyProblem,
    rung: &'static str,
    implementation: &'static dyn SaxpyRung,
    engine: Engine,
    x: Buffer<f32>,
    /// y as it was.
    fresh: Buffer<f32>,
    y: Changed<f32>,
}

impl Prepared for PreparedSaxpy<'_> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.y.restore_for(calls, &self.fresh)
    }

    fn run(&mut self) -> Result<()> {
        self.implementation.saxpy(&self.engine, A, self.x.view(), self.y.for_next().view())
    }

    /// The rungs have none.
    fn scratch_bytes(&self) -> u64 {
        0
    }

    fn verify(&mut self) -> Result<()> {
        let got = self.y.last().download()?;
        let want = |i: usize| A.mul_add(self.problem.x[i], self.problem.y[i]);
        // Rounded once on both sides, so every bit is known; only which NaN comes out is the machine's own affair.
        let same = |i: usize| got[i].to_bits() == want(i).to_bits() || got[i].is_nan() && want(i).is_nan();
        let difference = |index| Difference { index, left: got[index].show(), right: want(index).show() };
        verdict("saxpy", self.rung, got.len(), (0..got.len()).find(|&i| !same(i)).map(difference))
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(self.y.last().download()?))
    }
}
