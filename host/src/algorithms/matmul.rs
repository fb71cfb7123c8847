//! Matrix product.

use super::apart::{Apart, Launches};
use super::oracle::products as oracle;
use super::upload::{Changed, Uploaded};
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    entry, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype};
use crate::engine::{AnyBuffer, Buffer, Engine};
use crate::error::{Error, Result};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::matmul::{self, Matmul, Matrix, Precision, Product};
use std::rc::Rc;

/// The family of a ladder of matrix products.
pub fn family(ladder: &'static Ladder<Matmul>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::F32],
        input: Distribution::Small,
        draws: Draws::Arrays {
            inputs: vec![
                Operand { name: "A", shape: |size| sides(size, |m, _, k| (m, k)) },
                Operand { name: "B", shape: |size| sides(size, |_, n, k| (k, n)) },
            ],
            output: Operand { name: "C", shape: |size| sides(size, |m, n, _| (m, n)) },
        },
        extras: &[Extra::Alpha, Extra::Beta, Extra::Transpose, Extra::Precision],
        unable: Box::new(move |rung, _, parameters| unable(ladder, rung, parameters.precision?)),
        ..Family::new(ladder, Kind::Matmul, sizes, problem)
    }
}

/// The reason why a rung's products are not of this precision, if they are not.
fn unable(ladder: &'static Ladder<Matmul>, rung: &Rung, precision: Precision) -> Option<String> {
    let own = ladder.get(rung.name)?.run.precision();
    let (name, own, asked) = (rung.name, own.name(), precision.name());
    (own != asked).then(|| format!("{name} multiplies in {own}, not in {asked}"))
}

/// Rows and columns of a matrix, from m, n and k.
fn sides(size: Size, of: fn(usize, usize, usize) -> (usize, usize)) -> (usize, usize) {
    match size {
        Size::Product { m, n, k } => of(m as usize, n as usize, k as usize),
        Size::Elements(_) => (0, 0),
    }
}

/// A product on the host. Elements drawn as `small` are integers from -4 to 4, so that
/// every product and sum is exact in `f32` and the whole of C can be compared without a tolerance.
struct MatmulProblem {
    ladder: &'static Ladder<Matmul>,
    of: oracle::Product,
    /// A and B as they are stored on the engine, if that is by columns.
    by_columns: [Option<Vec<f32>>; 2],
    uploaded: Uploaded<f32>,
    /// The precision that a rung must have; any where None.
    asked: Option<Precision>,
}

fn problem(ladder: &'static Ladder<Matmul>, workload: Workload) -> Result<Box<dyn Problem>> {
    let Size::Product { m, n, k } = workload.size else {
        return Err(Error::Usage("matmul takes m x n x k".into()));
    };
    for (what, rows, columns) in [("A", m, k), ("B", k, n), ("C", m, n)] {
        if rows.checked_mul(columns).is_none_or(|n| n > u32::MAX as u64) {
            let limit = u32::MAX;
            return Err(Error::Usage(format!("{what} would have {rows} x {columns} elements; the limit is {limit}")));
        }
    }
    let parameters = workload.parameters;
    let (alpha, beta) = (parameters.alpha.unwrap_or(1.0), parameters.beta.unwrap_or(0.0));
    let draw = |elements, number| workload.distribution.keys(elements, workload.seed.wrapping_add(number));
    let wrong = || Error::Usage("matmul takes two matrices of f32, and with --beta one for C".into());
    let (a, b, c) = match workload.input {
        Some(input) => {
            let floats = |data| if let Data::F32(floats) = data { Ok(floats) } else { Err(wrong()) };
            let mut given = input.into_iter().map(floats).collect::<Result<Vec<_>>>()?.into_iter();
            match (given.next(), given.next(), given.next()) {
                (Some(a), Some(b), c) if c.is_none() || beta != 0.0 => (a, b, c),
                _ => return Err(wrong()),
            }
        }
        None => (draw(m * k, 0)?, draw(k * n, 1)?, None),
    };
    let c = match c {
        Some(c) => c,
        None if beta != 0.0 => draw(m * n, 2)?,
        None => vec![],
    };
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let as_stored = |stored: Vec<f32>, (rows, columns), transposed: bool| match transposed {
        false => (stored, None),
        true => (turned(&stored, rows, columns), Some(stored)),
    };
    let ((a, stored_a), (b, stored_b)) =
        (as_stored(a, (m, k), parameters.transpose[0]), as_stored(b, (k, n), parameters.transpose[1]));
    let (by_columns, uploaded) = ([stored_a, stored_b], Uploaded::default());
    let (of, asked) = (oracle::Product { m, n, k, a, b, c, alpha, beta }, parameters.precision);
    Ok(Box::new(MatmulProblem { ladder, of, by_columns, uploaded, asked }))
}

/// A matrix of `rows` × `columns` by rows, made of one by columns.
fn turned(by_columns: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows).flat_map(|row| (0..columns).map(move |column| by_columns[column * rows + row])).collect()
}

impl OpenProblem for MatmulProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.operands(engine)?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let got = output.download_as::<f32>()?;
        let difference =
            |(index, want): (usize, f64)| Difference { index, left: got[index].to_string(), right: want.to_string() };
        verdict("matmul", who, self.of.n, self.of.first_difference(&got, self.precision(who)).map(difference))
    }
}

impl Problem for MatmulProblem {
    fn size(&self) -> Size {
        Size::Product { m: self.of.m as u64, n: self.of.n as u64, k: self.of.k as u64 }
    }

    fn work(&self) -> Work {
        let (m, n, k) = (self.of.m as f64, self.of.n as f64, self.of.k as f64);
        let flops = 2.0 * m * n * k;
        let of_c = if self.of.beta == 0.0 { m * n } else { 2.0 * m * n };
        Work { amount: flops, unit: RateUnit::Gigaflops, bytes: 4.0 * (m * k + k * n + of_c), flops }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        if let Some(why) = self.asked.and_then(|asked| unable(self.ladder, rung, asked)) {
            return Err(Error::Usage(why));
        }
        let ab = self.operands(engine)?;
        if self.of.beta == 0.0 {
            // All ones are NaN, so an element that is never written is detected.
            return Apart::prepare(self, rung, ab, (self.of.m * self.of.n, 0xFF), |engine| self.launches(engine, rung));
        }
        let before = engine.alloc(self.of.c.len())?;
        before.write(&self.of.c)?;
        let c = Changed::new(engine, self.of.c.len())?;
        let (launches, scratch_bytes) = engine.held_after(|| self.launches(engine, rung))?;
        Ok(Box::new(Updated { problem: self, rung: rung.name, ab, before, c, launches, scratch_bytes }))
    }

    /// Libraries take operands by rows, and no factors.
    fn open(&self) -> Option<&dyn OpenProblem> {
        let plain = self.of.alpha == 1.0 && self.of.beta == 0.0 && self.by_columns.iter().all(Option::is_none);
        plain.then_some(self)
    }
}

/// A product whose C has something in it before.
struct Updated<'p> {
    problem: &'p MatmulProblem,
    rung: &'static str,
    ab: Rc<Buffer<f32>>,
    before: Buffer<f32>,
    c: Changed<f32>,
    launches: Launches<f32, f32>,
    scratch_bytes: u64,
}

impl Prepared for Updated<'_> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.c.restore_for(calls, &self.before)
    }

    fn run(&mut self) -> Result<()> {
        (self.launches)(&self.ab, self.c.for_next())
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

/// Peers that are less precise than `f32`.
const PEERS: [(&str, Precision); 1] = [("cublas_sgemm_tf32", Precision::Tf32)];

/// The peer that is as imprecise as a rung; none for a rung that is as precise as `f32`.
pub(crate) fn peer_of_its_precision(rung: &Rung) -> Option<&'static str> {
    let entry = rungs_kernels::matmul::LADDER.get(rung.name).filter(|entry| std::ptr::eq(&entry.rung, rung))?;
    let precision = entry.run.precision();
    PEERS.into_iter().find(|(_, of_peer)| *of_peer == precision).map(|(name, _)| name)
}

impl MatmulProblem {
    /// The precision of the rung or peer of this name.
    fn precision(&self, who: &str) -> Precision {
        let of_peer = || PEERS.into_iter().find(|(name, _)| *name == who).map(|(_, precision)| precision);
        let of_rung = self.ladder.get(who).map(|entry| entry.run.precision());
        of_rung.or_else(of_peer).unwrap_or(Precision::F32)
    }

    /// A and then B as they are stored, on this engine.
    fn operands(&self, engine: &Engine) -> Result<Rc<Buffer<f32>>> {
        let [a, b] = &self.by_columns;
        self.uploaded.get(engine, &[a.as_ref().unwrap_or(&self.of.a), b.as_ref().unwrap_or(&self.of.b)])
    }

    /// The rung's launches.
    fn launches(&self, engine: &Engine, rung: &Rung) -> Result<Launches<f32, f32>> {
        let (m, n, k) = (self.of.m as u32, self.of.n as u32, self.of.k as u32);
        let transposed = [0, 1].map(|i| self.by_columns[i].is_some());
        let mut launches = entry(self.ladder, rung)?.multiplier(engine, matmul::Sizes { m, n, k })?;
        let (alpha, beta) = (self.of.alpha, self.of.beta);
        Ok(Box::new(move |ab: &Buffer<f32>, c: &Buffer<f32>| {
            let matrix = |buffer: &Buffer<f32>, start, rows, columns, transposed| {
                let data = buffer.slice(start, rows as usize * columns as usize);
                Matrix { data, rows, columns, stride: if transposed { rows } else { columns }, transposed }
            };
            let a = matrix(ab, 0, m, k, transposed[0]);
            let b = matrix(ab, m as usize * k as usize, k, n, transposed[1]);
            let product = Product { alpha, beta, ..Product::new(a, b, matrix(c, 0, m, n, false)) };
            Ok(launches.run(ab.engine(), product)?)
        }))
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
            ((9, 0), 227, ["producer-consumer", "three-tf32-group", "tensor-group"]),
            ((8, 0), 163, ["async-copy", "three-tf32", "tensor-mma"]),
        ];
        for (compute_capability, kib, rungs) in gpus {
            let device = Device { multiprocessors: 100, shared_per_block: kib << 10, compute_capability };
            let chosen = |precision| {
                let parameters = Parameters { precision, ..Parameters::default() };
                family.choose(size, Dtype::F32, &parameters, device).name
            };
            assert_eq!(chosen(None), rungs[0]);
            assert_eq!(Precision::ALL.map(|precision| chosen(Some(precision))), rungs);
        }
    }

    /// Every rung, with factors and operands by columns, as the program runs it.
    #[test]
    fn factors_and_transposed_operands() {
        let (engine, family) = (Engine::simulator(), family("matmul").unwrap());
        for transpose in [[false, false], [false, true], [true, false], [true, true]] {
            for (alpha, beta) in [(None, None), (Some(2.0), Some(3.0)), (Some(0.3), None), (None, Some(0.7))] {
                let parameters = Parameters { alpha, beta, transpose, ..Parameters::default() };
                let size = Size::Product { m: 18, n: 35, k: 27 };
                let workload = Workload {
                    size,
                    dtype: Dtype::F32,
                    distribution: Distribution::Small,
                    seed: 3,
                    input: None,
                    parameters,
                };
                let problem = family.make(workload).unwrap();
                for rung in &family.rungs {
                    let mut prepared = problem.prepare(&engine, rung).unwrap();
                    for calls in [1, 2] {
                        prepared.restore_for(calls).unwrap();
                        assert!(prepared.verify().is_err(), "{}: nothing ran, and it passes", rung.name);
                        (0..calls).for_each(|_| prepared.run().unwrap());
                        prepared.verify().unwrap_or_else(|e| panic!("{} {parameters:?}: {e}", rung.name));
                    }
                }
            }
        }
    }
}
