//! Rungs that multiply matrices.

pub use super::*;

/// A row-major matrix on a device.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// The elements, beginning with the matrix's first.
    pub data: Global<f32>,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Elements from one row to the next, at least `columns`.
    pub stride: u32,
}

/// Two matrices, and the memory for their product: C = A·B.
#[derive(Clone, Copy)]
pub struct Product {
    /// A, m × k.
    pub a: Matrix,
    /// B, k × n.
    pub b: Matrix,
    /// C, m × n.
    pub c: Matrix,
}

impl Matrix {
    /// Refuses a view that is too short for the rows.
    fn check(&self, what: &str) -> Result {
        let Self { data, rows, columns, stride } = *self;
        let last = (rows as u64).saturating_sub(1) * stride as u64 + columns as u64;
        let elements = if rows == 0 || columns == 0 { 0 } else { last };
        if stride >= columns && data.len() as u64 >= elements {
            return Ok(());
        }
        let len = data.len();
        Err(Failed::Unsuitable(format!(
            "{what} is {rows} x {columns} with {stride} from row to row, in {len} elements"
        )))
    }
}

impl Lengths for Product {
    /// The matrices carry their own sizes, so `n` is not used.
    fn check(&self, _: u32) -> Result {
        let Self { a, b, c } = self;
        [("A", a), ("B", b), ("C", c)].into_iter().try_for_each(|(what, matrix)| matrix.check(what))?;
        if a.columns == b.rows && a.rows == c.rows && b.columns == c.columns {
            return Ok(());
        }
        let size = |m: &Matrix| format!("{} x {}", m.rows, m.columns);
        Err(Failed::Unsuitable(format!("A of {} times B of {} is not C of {}", size(a), size(b), size(c))))
    }
}

/// A rung that multiplies matrices.
pub trait Multiplies: Sync {
    /// The launches that multiply matrices of any size; takes their scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher) -> Result<Launches<Product>>;
}

/// The type that runs a rung of the family.
pub type Matmul = &'static dyn Multiplies;

impl Entry<Matmul> {
    /// The rung ready to multiply.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn multiplier(&self, on: &dyn Launcher) -> Result<Sequence<Product>> {
        let run = self.run;
        Sequence::new(on, 0, move |on| run.launches(on))
    }
}
