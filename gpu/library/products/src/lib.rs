//! # Matrix products of every type, precision and layout
//!
//! C = alpha·A·B + beta·C for `f32`, `f64`, `bf16` and `f16` ([`Element`]). A, B and C may be parts of larger matrices,
//! A and B may be stored transposed, and one call may multiply a batch. Products of fp8 are apart ([`fp8`]): their
//! operands have types of their own, and scales. Each module is one product, with notes on what bounds it and what was
//! tried. How such kernels come about step by step is the course's subject (`rungs-matmul`).
//!
//! Shared by the products: the matrices and the tile of C of a block ([`Shape`]), and access that respects the edges
//! ([`Matrix`], [`Output`]).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod any_type;
mod copies;
mod element;
pub mod fp32;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod fp32_hopper;
pub mod fp64;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod fp64_hopper;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod fp8;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
mod group;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod half_cluster;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod half_hopper;
#[cfg(not(target_os = "cuda"))]
mod host;
#[cfg(not(target_os = "cuda"))]
pub mod ladder;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod mixed;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
mod operand;
mod output;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod packed;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
mod panel;
#[cfg(not(target_os = "cuda"))]
mod precision;
mod registers;
mod tensor;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod tensor_registers;
pub mod tf32;
pub mod three_tf32;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod three_tf32_group;

use core::num::NonZero;
use simt::{Global, thread};

pub use element::{Element, Real};
pub use output::Output;

/// A matrix inside a view: element (i, j) is `row_step`·i + `column_step`·j elements after the first.
///
/// In a row-major matrix `column_step` is 1, in a transposed one `row_step` is.
#[derive(Clone, Copy)]
pub struct Matrix<T = f32> {
    data: Global<T>,
    rows: u32,
    columns: u32,
    row_step: u32,
    column_step: u32,
}

/// A row or a column of a matrix, or its remainder: consecutive elements are `step` elements apart.
#[derive(Clone, Copy)]
struct Line<T> {
    data: Global<T>,
    step: u32,
}

/// The distances between neighbours in a matrix, in elements.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Steps {
    /// From one row to the next.
    pub row: u32,
    /// From one column to the next.
    pub column: u32,
    /// From one matrix of a batch to the next.
    pub batch: u32,
}

/// The sizes of the matrices of a product, the distances of their elements, and the two factors, of the type of sums.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Shape<R = f32> {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Products in the batch.
    pub batch: u32,
    /// Distances in A.
    pub a: Steps,
    /// Distances in B.
    pub b: Steps,
    /// Distances in C.
    pub c: Steps,
    /// The factor of the product.
    pub alpha: R,
    /// The factor of what was in C; if it is 0, C is not read.
    pub beta: R,
}

/// A block's task: a tile of C, and the matrices of its product.
#[derive(Clone, Copy)]
pub struct Task<T: Element = f32> {
    /// First row of the tile.
    pub row: u32,
    /// First column of the tile.
    pub column: u32,
    /// A of the product.
    pub a: Matrix<T>,
    /// B of the product.
    pub b: Matrix<T>,
    /// C of the product.
    pub c: Output<T>,
}

impl<R: Real> Shape<R> {
    /// Tiles of C of `rows` × `columns`, of all products of the batch. They are numbered along x, row by row, because
    /// a grid has at most 65,535 blocks along y and z.
    pub const fn tiles(&self, rows: u32, columns: u32) -> u32 {
        self.m.div_ceil(rows) * self.n.div_ceil(columns) * self.batch
    }

    /// The task of the block, where blocks have tiles of `rows` × `columns`, row after row.
    #[simt::device]
    fn task<T>(&self, rows: u32, columns: u32, a: Global<T>, b: Global<T>, c: Global<T>) -> Task<T>
    where
        T: Element<Sum = R>,
    {
        self.task_by((rows, columns), a, b, c, |tile, _, along| (tile / along, tile % along))
    }

    /// [`Shape::task`] in the order of [`in_groups`].
    #[simt::device]
    fn task_in_groups<T>(&self, rows: u32, columns: u32, a: Global<T>, b: Global<T>, c: Global<T>) -> Task<T>
    where
        T: Element<Sum = R>,
    {
        self.task_by((rows, columns), a, b, c, in_groups)
    }

    /// The task of the block; `place` gives the row and the column of a tile, from the numbers of tiles down and along.
    #[simt::device]
    fn task_by<T: Element<Sum = R>>(
        &self,
        (rows, columns): (u32, u32),
        a: Global<T>,
        b: Global<T>,
        c: Global<T>,
        place: impl Fn(u32, u32, u32) -> (u32, u32),
    ) -> Task<T> {
        let (down, along) = (self.m.div_ceil(rows), self.n.div_ceil(columns));
        let (product, tile) = (thread::block_idx_x() / (down * along), thread::block_idx_x() % (down * along));
        let (a, b, c) = self.matrices(product, a, b, c);
        let (row, column) = place(tile, down, along);
        Task { row: row * rows, column: column * columns, a, b, c }
    }

    /// The matrices of one product of the batch.
    #[simt::device]
    fn matrices<T: Element<Sum = R>>(
        &self,
        product: u32,
        a: Global<T>,
        b: Global<T>,
        c: Global<T>,
    ) -> (Matrix<T>, Matrix<T>, Output<T>) {
        let Self { m, n, k, alpha, beta, .. } = *self;
        let of = |data: Global<T>, steps: Steps, rows, columns| {
            let start = (product * steps.batch).min(data.len());
            Matrix {
                data: data.slice(start, data.len() - start),
                rows,
                columns,
                row_step: steps.row,
                column_step: steps.column,
            }
        };
        (of(a, self.a, m, k), of(b, self.b, k, n), Output { matrix: of(c, self.c, m, n), alpha, beta })
    }
}

/// The row and the column of tile `tile` of `down` × `along`. Blocks walk through eight rows of tiles together, column
/// by column, so that they share tiles of A and B in L2.
#[simt::device]
fn in_groups(tile: u32, down: u32, along: u32) -> (u32, u32) {
    const GROUP: u32 = 8;
    let (group, within) = divide(tile, GROUP * along);
    let (column, row) = divide(within, (down - group * GROUP).min(GROUP));
    (group * GROUP + row, column)
}

/// The quotient and the remainder; there is a divisor. A test for that, with its way out of the kernel, would keep
/// ptxas from giving the warps that claim registers more than the kernel begins with.
#[simt::device]
pub(crate) fn divide(number: u32, by: u32) -> (u32, u32) {
    let by = NonZero::new(by).unwrap_or(NonZero::<u32>::MIN);
    (number / by, number % by)
}

impl<T: Element> Matrix<T> {
    /// Element (`row`, `column`), zero outside.
    #[simt::device]
    pub fn get(self, row: u32, column: u32) -> T {
        if row < self.rows && column < self.columns { self.data.get(self.place(row, column)) } else { T::ZERO }
    }

    /// Where in the view element (`row`, `column`) is.
    #[simt::device]
    fn place(self, row: u32, column: u32) -> u32 {
        // Wrapping, because kernels compute places outside of the matrix too, before they know that they are outside.
        row.wrapping_mul(self.row_step).wrapping_add(column.wrapping_mul(self.column_step))
    }
}

impl<T: Element> Line<T> {
    /// The first element.
    #[simt::device]
    fn first(self) -> T {
        self.data.get(0)
    }

    /// The elements after the first; there is at least one.
    #[simt::device]
    fn rest(self) -> Self {
        Self { data: after(self.data, self.step), ..self }
    }
}

/// A view without its first `first` elements.
#[simt::device]
fn after<T: Element>(data: Global<T>, first: u32) -> Global<T> {
    data.slice(first, data.len() - first)
}

impl<T: Element> Matrix<T> {
    /// A row of the matrix, which has columns.
    #[simt::device]
    fn row(self, row: u32) -> Line<T> {
        Line { data: after(self.data, self.place(row, 0)), step: self.column_step }
    }

    /// A column of the matrix, which has rows.
    #[simt::device]
    fn column(self, column: u32) -> Line<T> {
        Line { data: after(self.data, self.place(0, column)), step: self.row_step }
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;
