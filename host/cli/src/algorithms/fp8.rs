//! Matrix products of fp8, by the library's kernels: no rung multiplies elements of 8 bits.

use super::apart::Apart;
use super::upload::Uploaded;
use super::{OpenProblem, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, matmul, verdict};
use crate::data::{Data, Difference, memory_check};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::matmul::{Matrix, Precision};
use rungs_kernels::products::fp8::KERNELS;
use rungs_kernels::products::fp8::launches::{Adding, Product, Times, refuses, sequence};
use rungs_oracles::{eight, products as oracle};
use simt::{F8E4M3, F8E5M2};
use std::rc::Rc;

pub use rungs_oracles::eight::Eight;

const fn product(name: &'static str) -> Rung {
    Rung { name, text: "", kernels: KERNELS, capacity: None, tiles: &[], refuses, place: ("", "") }
}

/// The kernels with sums of each of [`Precision::OF_EIGHT_BITS`], as reports name them.
static PRODUCTS: [Rung; 2] = [product("fp8-promoted"), product("fp8-hardware")];

/// A product of fp8, with C of `f32`.
pub struct Fp8Problem {
    of_a: Eight,
    precision: Precision,
    product: oracle::Product<f32>,
    /// A by rows, and then B by columns, in runs of `stride` bytes.
    stored: Vec<u8>,
    stride: usize,
    uploaded: Uploaded<u8>,
}

impl Fp8Problem {
    /// The product of drawn or given elements; given ones are bytes, A and B by rows.
    ///
    /// # Errors
    /// [`Error::Usage`] if a matrix is too large, or alpha is infinite as `f32`; [`Error::OutOfMemory`] if the matrices
    /// do not fit in free memory.
    pub fn new(of_a: Eight, workload: Workload) -> Result<Self> {
        let Size::Product { m, n, k } = workload.size else {
            return Err(Error::Usage("matmul takes m x n x k".into()));
        };
        matmul::check_sizes(1, (m, n, k.next_multiple_of(16)))?;
        // Drawn numbers or bytes, numbers in `f32`, what is stored here and on the engine, and C twice.
        memory_check(&format!("elements of {} and their oracle", of_a.name()), m * k + k * n + m * n, 10)?;
        let alpha = matmul::factor::<f32>("alpha", workload.parameters.alpha, 1.0)?;
        let types = [of_a, Eight::E4m3];
        let [a, b] = match workload.input.as_deref() {
            Some([Data::U8(a), Data::U8(b)]) => [a.clone(), b.clone()],
            Some(_) => return Err(Error::Usage("products of fp8 take two matrices of bytes".into())),
            None => {
                let draw = |elements, i: usize| -> Result<Vec<u8>> {
                    let drawn = workload.distribution.keys::<f32>(elements, workload.seed.wrapping_add(i as u64))?;
                    Ok(types[i].bits(&drawn))
                };
                [draw(m * k, 0)?, draw(k * n, 1)?]
            }
        };
        let [m, n, k] = [m, n, k].map(|side| side as usize);
        let stride = k.next_multiple_of(16);
        let stored = eight::stored(&a, &b, (m, n, k), stride);
        let (a, b, known) = (types[0].numbers(&a), types[1].numbers(&b), oracle::Known::default());
        let product = oracle::Product { m, n, k, a, b, c: vec![], alpha, beta: 0.0, known };
        let precision = workload.parameters.precision.unwrap_or(Precision::Promoted);
        Ok(Self { of_a, precision, product, stored, stride, uploaded: Uploaded::default() })
    }

    /// The kernels that make the product, as a report names them.
    pub fn rung(&self) -> &'static Rung {
        &PRODUCTS[usize::from(self.precision == Precision::Hardware)]
    }

    /// The problem on an engine, with A of type `L`.
    fn prepare_as<L: Times<F8E4M3, f32>>(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let oracle::Product { m, n, k, alpha, .. } = self.product;
        let stride = self.stride;
        let adding = if self.precision == Precision::Hardware { Adding::OnTensorCores } else { Adding::Promoted };
        let product = move |ab: &Buffer<u8>, c: &Buffer<f32>| {
            let [rows, columns, depth, stride_32] = [m, n, k, stride].map(|side| side as u32);
            let a = Matrix::new(ab.slice(0, m * stride).cast::<L>(), rows, depth, stride_32);
            let b = Matrix::new(ab.slice(m * stride, n * stride).cast::<F8E4M3>(), depth, columns, stride_32);
            let (b, c) = (Matrix { transposed: true, ..b }, Matrix::new(c.view(), rows, columns, columns));
            Product { a, b, c, alpha: alpha as f32, beta: 0.0, adding }
        };
        let (ab, of_engine) = (self.uploaded.get(engine, &[&self.stored])?, |engine: &Engine| Ok(sequence(engine)?));
        // All ones are NaN, so an element that is never written is detected.
        Apart::prepare(self, rung, ab, (m * n, 0xFF), of_engine, product)
    }
}

impl OpenProblem for Fp8Problem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.stored])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let c = output.download_as::<f32>()?;
        let first = self.product.first_difference(&c, self.precision);
        let difference =
            |(index, want): (usize, f64)| Difference { index, left: c[index].to_string(), right: want.to_string() };
        verdict("matmul", who, self.product.n, first.map(difference))
    }
}

impl Problem for Fp8Problem {
    fn size(&self) -> Size {
        let oracle::Product { m, n, k, .. } = self.product;
        Size::Product { m: m as u64, n: n as u64, k: k as u64 }
    }

    fn work(&self) -> Work {
        let [m, n, k] = [self.product.m, self.product.n, self.product.k].map(|side| side as f64);
        let flops = 2.0 * m * n * k;
        Work { amount: flops, unit: RateUnit::Gigaflops, bytes: m * k + k * n + 4.0 * m * n, flops }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        match self.of_a {
            Eight::E4m3 => self.prepare_as::<F8E4M3>(engine, rung),
            Eight::E5m2 => self.prepare_as::<F8E5M2>(engine, rung),
        }
    }
}
