//! A product of matrices whose rows lie on the devices of a group.
//!
//! Each rank has some rows of A, of B and of C. The rows of B travel from rank to rank, a panel from each, and each
//! rank multiplies by a panel while the next one is on its way.

use super::{Exchange, Group, Round};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::matrix::Precision;
use rungs::vec::choice::choose_product;
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::matmul::{Matrix, Multiplier as _, Product, Sizes};

/// The first rows of the ranks' parts, and the number of rows, of a matrix that is divided evenly: whole multiples of
/// rows each, so that all parts of a row begin where kernels like it.
pub fn bounds(rows: usize, size: usize) -> Vec<usize> {
    const TOGETHER: usize = 64;
    (0..=size).map(|rank| (rows * rank / size).next_multiple_of(TOGETHER).min(rows)).collect()
}

/// Multiplies matrices of these sizes; keeps the memory that it needs.
pub struct Multiplier<'g> {
    group: &'g dyn Group,
    engine: Engine,
    stream: Engine,
    /// Rows of this rank, columns of B, columns of A.
    rows: usize,
    columns: usize,
    inner: usize,
    /// The panels' first rows, and the number of rows of B.
    panels: Vec<usize>,
    /// All of B.
    whole: Buffer<f32>,
    launches: Sequence<Product>,
}

impl<'g> Multiplier<'g> {
    /// For `rows` rows of A and C on this rank, and for B of `inner` × `columns`, whose rows are divided by [`bounds`].
    ///
    /// # Errors
    /// [`Error::Usage`] if a matrix has 2³² elements or more; [`Error::OutOfMemory`] if B does not fit on the device.
    pub fn new(group: &'g dyn Group, engine: &Engine, rows: usize, columns: usize, inner: usize) -> Result<Self> {
        let small =
            |n: usize| u32::try_from(n).map_err(|_| Error::Usage(format!("a matrix with a side of {n} is too large")));
        for (a, b) in [(rows, inner), (inner, columns), (rows, columns)] {
            small(a.saturating_mul(b))?;
        }
        let sizes = Sizes { m: small(rows)?, n: small(columns)?, k: small(inner)? };
        let rung = choose_product::<f32>(engine, Precision::F32, rows * columns)?;
        Ok(Self {
            group,
            engine: engine.clone(),
            stream: engine.second_stream()?,
            rows,
            columns,
            inner,
            panels: bounds(inner, group.size()),
            whole: engine.alloc(inner * columns)?,
            launches: rung.multiplier(engine, sizes)?,
        })
    }

    /// C = A·B: `a` has this rank's rows of A, `b` its panel of B, `c` gets its rows of C. All are memory of the
    /// engine.
    ///
    /// Whatever was asked of the engine before, be it for `b` or for the product before this one, has ended when the
    /// first panel moves, and all panels have moved when this returns. The last products may still run then.
    ///
    /// # Errors
    /// [`Error::Usage`] for memory of another size or engine; [`Error::Group`] if another rank failed; [`Error::Cuda`]
    /// or [`Error::Launch`] if a launch fails.
    pub fn multiply(&mut self, a: &Buffer<f32>, b: &Buffer<f32>, c: &Buffer<f32>) -> Result<()> {
        let (me, size, row) = (self.group.rank(), self.group.size(), self.columns * size_of::<f32>());
        let panel = |rank: usize| self.panels[rank]..self.panels[rank + 1];
        let have = [a.len(), b.len(), c.len()];
        let want = [self.rows * self.inner, panel(me).len() * self.columns, self.rows * self.columns];
        if have != want {
            return Err(Error::Usage(format!("parts of A, B and C have {have:?} elements, not {want:?}")));
        }
        // Another stream may still write B, and this one may still read the panels of the product before: an exchange
        // waits for the engine of what it sends, and for that one alone.
        if ![a, b, c].iter().all(|part| part.engine().is(&self.engine)) {
            return Err(Error::Usage("parts of A, B and C are memory of the engine that multiplies".into()));
        }
        // In round i each rank gets the panel of the i-th rank behind it, its own one first: no two ranks ask one.
        let rounds: Vec<Round> = (0..size)
            .map(|i| {
                let (from, to) = ((me + i) % size, (me + size - i) % size);
                let only = |who: usize, range: std::ops::Range<usize>| {
                    (0..size).map(|rank| if rank == who { range.clone() } else { 0..0 }).collect()
                };
                let place = panel(from);
                Round {
                    sends: only(to, 0..panel(me).len() * row),
                    receives: only(from, place.start * row..place.end * row),
                }
            })
            .collect();
        let (engine, stream, launches, whole) = (&self.engine, &self.stream, &mut self.launches, &self.whole);
        let (rows, columns, inner) = (self.rows, self.columns, self.inner);
        let mut is_first = true;
        let exchange = Exchange { stream, from: b, to: whole, rounds: &rounds };
        self.group.exchange(&exchange, &mut |round| {
            let k = panel((me + round) % size);
            if rows == 0 || columns == 0 || k.is_empty() {
                return Ok(());
            }
            engine.wait_for(&stream.mark()?)?;
            let matrix = |buffer: &Buffer<f32>, first: usize, [rows, columns, stride]: [usize; 3]| {
                let extent = (rows - 1) * stride + columns;
                Matrix::new(buffer.slice(first, extent), rows as u32, columns as u32, stride as u32)
            };
            let product = Product::new(
                matrix(a, k.start, [rows, k.len(), inner]),
                matrix(whole, k.start * columns, [k.len(), columns, columns]),
                matrix(c, 0, [rows, columns, columns]),
            );
            let beta = if std::mem::take(&mut is_first) { 0.0 } else { 1.0 };
            Ok(launches.run(engine, Product { beta, ..product })?)
        })?;
        if inner == 0 {
            c.fill(0)?;
        }
        Ok(())
    }
}
