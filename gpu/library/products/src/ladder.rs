//! Rungs that multiply matrices.

pub use crate::precision::Precision;
pub use crate::{Element, Real};
pub use rungs_common::ladder::*;
use simt::{bf16, f16};

/// A matrix on a device.
#[derive(Clone, Copy)]
pub struct Matrix<T = f32> {
    /// The elements, beginning with the matrix's first.
    pub data: Global<T>,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Elements from one row to the next, at least `columns`; of a transposed matrix, from one column to the next, at
    /// least `rows`.
    pub stride: u32,
    /// Whether it is stored by columns, not by rows: as the rows of its transpose.
    pub transposed: bool,
}

/// Two matrices, and the memory for their product: C = alpha·A·B + beta·C.
#[derive(Clone, Copy)]
pub struct Product<T: Element = f32> {
    /// A, m × k; of a batch the first.
    pub a: Matrix<T>,
    /// B, k × n; of a batch the first.
    pub b: Matrix<T>,
    /// C, m × n, stored by rows; of a batch the first.
    pub c: Matrix<T>,
    /// The factor of the product.
    pub alpha: T::Sum,
    /// The factor of what is in C. If it is 0, C is not read.
    pub beta: T::Sum,
    /// The number of products, and the distances between their matrices.
    pub batch: Batch,
}

/// Products of matrices of one shape. The view of each matrix has those of the whole batch.
#[derive(Clone, Copy)]
pub struct Batch {
    /// Products.
    pub count: u32,
    /// Elements from one A to the next; 0 if all products have the same.
    pub a: u32,
    /// Elements from one B to the next; 0 if all products have the same.
    pub b: u32,
    /// Elements from one C to the next: no C overlaps another.
    pub c: u32,
}

impl Batch {
    /// One product.
    pub const ONE: Self = Self { count: 1, a: 0, b: 0, c: 0 };
}

impl<T: Element> Product<T> {
    /// C = A·B.
    pub fn new(a: Matrix<T>, b: Matrix<T>, c: Matrix<T>) -> Self {
        Self { a, b, c, alpha: T::Sum::ONE, beta: T::Sum::ZERO, batch: Batch::ONE }
    }
}

impl<T: Scalar> Matrix<T> {
    /// `rows` × `columns` elements, stored by rows.
    pub const fn new(data: Global<T>, rows: u32, columns: u32, stride: u32) -> Self {
        Self { data, rows, columns, stride, transposed: false }
    }

    /// Elements from the first of the matrix to one past its last.
    fn extent(&self) -> u64 {
        let (rows, columns) = if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) };
        if rows == 0 || columns == 0 { 0 } else { (rows as u64 - 1) * self.stride as u64 + columns as u64 }
    }

    /// Refuses a view that is too short for the rows of all matrices of a batch.
    pub(crate) fn check(&self, what: &str, count: u32, apart: u32) -> Result {
        let Self { data, rows, columns, stride, transposed } = *self;
        let (elements, along) = (self.extent(), if transposed { rows } else { columns });
        let all = if elements == 0 || count == 0 { 0 } else { (count as u64 - 1) * apart as u64 + elements };
        if stride >= along && data.len() as u64 >= all {
            return Ok(());
        }
        let (len, way) = (data.len(), if transposed { "column to column" } else { "row to row" });
        let batch = if count > 1 { format!(", {count} times, {apart} apart,") } else { String::new() };
        Err(Failed::Unsuitable(format!(
            "{what} is {rows} x {columns} with {stride} from {way}{batch} in {len} elements"
        )))
    }
}

/// Refuses matrices whose sizes do not fit each other, and a C that is stored by columns.
pub(crate) fn fits<L, R, C>(a: &Matrix<L>, b: &Matrix<R>, c: &Matrix<C>) -> Result {
    let sizes = [(a.rows, a.columns), (b.rows, b.columns), (c.rows, c.columns)];
    let [of_a, of_b, of_c] = sizes.map(|(rows, columns)| format!("{rows} x {columns}"));
    if a.columns != b.rows || a.rows != c.rows || b.columns != c.columns {
        return Err(Failed::Unsuitable(format!("A of {of_a} times B of {of_b} is not C of {of_c}")));
    }
    if c.transposed {
        return Err(Failed::Unsuitable(format!("C of {of_c} is stored by columns")));
    }
    Ok(())
}

impl<T: Element> Lengths for Product<T> {
    /// The matrices carry their own sizes, so `n` is not used.
    fn check(&self, _: u32) -> Result {
        let Self { a, b, c, batch, .. } = self;
        let all = [("A", a, batch.a), ("B", b, batch.b), ("C", c, batch.c)];
        all.into_iter().try_for_each(|(what, matrix, apart)| matrix.check(what, batch.count, apart))?;
        fits(a, b, c)?;
        if batch.count > 1 && u64::from(batch.c) < c.extent() {
            let (have, want) = (batch.c, c.extent());
            return Err(Failed::Unsuitable(format!("matrices C of {want} elements are {have} apart and overlap")));
        }
        Ok(())
    }
}

/// What scratch memory depends on. A product of other sizes can be run, too; it may allocate then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

/// A rung that multiplies matrices of `T`, which is not `f32`.
pub trait MultipliesOf<T: Element>: Sync {
    /// [`Multiplies::launches`] for this type.
    ///
    /// # Errors
    /// As for [`Multiplies::launches`].
    fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<T>>>;
}

/// A rung that multiplies matrices: of `f32` unless it says otherwise, and perhaps of other types.
pub trait Multiplies: Sync {
    /// Whether it multiplies matrices of `f32`. If not, the program does not ask for its launches of `f32`.
    fn f32(&self) -> bool {
        true
    }

    /// Whether it multiplies row-major matrices without gaps between rows, and takes no factors, transposes or batches.
    fn is_plain(&self) -> bool {
        false
    }

    /// How precise its products of `f32` are. A rung less precise than `f32` is no ladder's default.
    fn precision(&self) -> Precision {
        Precision::F32
    }

    /// The launches that multiply matrices; takes the scratch memory for these sizes.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the device is not one for the rung; [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>>;

    /// The rung for matrices of `f64`, if there is one.
    fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
        None
    }

    /// The rung for matrices of [`bf16`], if there is one.
    fn bf16(&self) -> Option<&dyn MultipliesOf<bf16>> {
        None
    }

    /// The rung for matrices of [`struct@f16`], if there is one.
    fn f16(&self) -> Option<&dyn MultipliesOf<f16>> {
        None
    }
}

/// A type of elements that rungs multiply.
#[diagnostic::on_unimplemented(
    message = "no rung multiplies matrices of `{Self}`",
    note = "matrices are of f32, f64, bf16 or f16"
)]
pub trait Multiplied: Element {
    /// The type's name.
    const NAME: &'static str;

    /// A factor as products of this type take it.
    fn factor(factor: f64) -> Self::Sum;

    /// The precision of the rung's products of this type, if it has any.
    fn precision(rung: Matmul) -> Option<Precision>;

    /// The rung's launches for this type, if it has them.
    ///
    /// # Errors
    /// As for [`Multiplies::launches`].
    fn launches(rung: Matmul, on: &dyn Launcher, sizes: Sizes) -> Option<Result<Launches<Product<Self>>>>;
}

impl Multiplied for f32 {
    const NAME: &'static str = "f32";

    fn factor(factor: f64) -> f32 {
        factor as f32
    }

    fn precision(rung: Matmul) -> Option<Precision> {
        rung.f32().then(|| rung.precision())
    }

    fn launches(rung: Matmul, on: &dyn Launcher, sizes: Sizes) -> Option<Result<Launches<Product>>> {
        rung.f32().then(|| rung.launches(on, sizes))
    }
}

macro_rules! multiplied {
    ($($t:ident: $precision:ident;)*) => {$(
        impl Multiplied for $t {
            const NAME: &'static str = stringify!($t);

            fn factor(factor: f64) -> Self::Sum {
                factor as Self::Sum
            }

            fn precision(rung: Matmul) -> Option<Precision> {
                rung.$t().map(|_| Precision::$precision)
            }

            fn launches(rung: Matmul, on: &dyn Launcher, sizes: Sizes) -> Option<Result<Launches<Product<Self>>>> {
                rung.$t().map(|run| run.launches_of(on, sizes))
            }
        }
    )*};
}
multiplied! {
    f64: F64;
    bf16: Sixteen;
    f16: Sixteen;
}

/// The type that runs a rung of the family.
pub type Matmul = &'static dyn Multiplies;

/// The interface of a rung that multiplies matrices.
pub trait Multiplier {
    /// The rung ready to multiply matrices of these sizes, and of others.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the device or the type is not one for the rung; [`Failed::Machine`] if there is no
    /// memory.
    fn multiplier<T: Multiplied>(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Sequence<Product<T>>>;
}

impl Multiplier for Entry<Matmul> {
    fn multiplier<T: Multiplied>(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Sequence<Product<T>>> {
        self.rung.check(&Ask::of::<T>(on, 0))?;
        let (run, name) = (self.run, self.rung.name);
        let none = move || Err(Failed::Unsuitable(format!("{name} does not multiply matrices of {}", T::NAME)));
        sequence(on, 0, move |on| T::launches(run, on, sizes).unwrap_or_else(none))
    }
}
