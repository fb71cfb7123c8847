//! # Matrix product, tiles in shared memory
//!
//! **Idea.** C is cut into tiles. A block computes one tile of C by walking along a row of tiles of A and a column of
//! tiles of B. It copies each pair of tiles to shared memory once and uses every element `TILE` times.
//!
//! **Changed from the rung before.** `coalesced` reads every element of A n times and every element of B m times; here
//! it is n/TILE and m/TILE times.
//!
//! **Bottleneck.** Two shared loads for each multiply-add, and a copy for every 16 of them. The next rung has larger
//! tiles, for fewer copies.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch.
//! Elements of `f64` are twice the bytes.
//!
//! **Threads.** Blocks of TILE × TILE; thread (x, y) computes element (y, x) of the block's tile.
//!
//! **Limits.** `f32` and `f64`. Any m, n, k and strides: elements outside the matrices are read as zero and not
//! written; transposed operands (copied to shared memory without coalescing), factors and batches.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes and strides.

use super::{Element, Matrix, Real, Shape, Task};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Side of a tile: 16 × 16 threads; 16 consecutive floats of a row fill two sectors.
pub const TILE: u32 = 16;

shared!(TILE_A: [f32; TILE * TILE]);
shared!(TILE_B: [f32; TILE * TILE]);
shared!(TILE_A_F64: [f64; TILE * TILE]);
shared!(TILE_B_F64: [f64; TILE * TILE]);

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = TILE * TILE)]
pub fn product_shared_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    product::<f32, { TILE as usize }>(shape.task(TILE, TILE, a, b, c), shape.k, TILE_A::view(), TILE_B::view());
}

/// The same for elements of `f64`.
#[kernel(max_threads = TILE * TILE)]
pub fn product_shared_tile_f64(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
    product::<f64, { TILE as usize }>(shape.task(TILE, TILE, a, b, c), shape.k, TILE_A_F64::view(), TILE_B_F64::view());
}

/// The elements that a thread copies: of a row or a column, at equal distances.
struct Walk<T: Element> {
    data: Global<T>,
    /// Where in `data` the next one is.
    place: u32,
    /// From one to the next.
    step: u32,
    /// How far the walk may go: as far as the matrix does.
    end: u32,
}

impl<T: Element> Walk<T> {
    /// From element (`row`, `column`) on, every `by`-th of the row.
    #[inline(always)]
    fn along_row(of: Matrix<T>, row: u32, column: u32, by: u32) -> Self {
        let end = if row < of.rows { of.columns.saturating_sub(column) } else { 0 };
        Self { data: of.data, place: of.place(row, column), step: by.wrapping_mul(of.column_step), end }
    }

    /// From element (`row`, `column`) on, every `by`-th of the column.
    #[inline(always)]
    fn along_column(of: Matrix<T>, row: u32, column: u32, by: u32) -> Self {
        let end = if column < of.columns { of.rows.saturating_sub(row) } else { 0 };
        Self { data: of.data, place: of.place(row, column), step: by.wrapping_mul(of.row_step), end }
    }

    /// The next element, which is `t` from the first; zero outside.
    #[inline(always)]
    fn next(&mut self, t: u32) -> T {
        let element = if t < self.end { self.data.get(self.place) } else { T::ZERO };
        self.place = self.place.wrapping_add(self.step);
        element
    }
}

/// The block's tile of C, by way of two tiles in shared memory, all of `SIDE` × `SIDE`.
#[inline(always)]
pub(super) fn product<T: Real, const SIDE: usize>(task: Task<T>, k: u32, tile_a: Shared<T>, tile_b: Shared<T>) {
    let (x, y, side) = (thread::thread_idx_x(), thread::thread_idx_y(), SIDE as u32);
    let (row, column) = (task.row + y, task.column + x);
    let (mut of_a, mut of_b) = (Walk::along_row(task.a, row, x, side), Walk::along_column(task.b, y, column, side));
    let mut sum = T::ZERO;
    let mut t = 0;
    while t < k {
        // Both are on their way before either is stored.
        let (a, b) = (of_a.next(t), of_b.next(t));
        tile_a.set(y * side + x, a);
        tile_b.set(y * side + x, b);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        unroll::<SIDE>(|e| sum = T::fma(tile_a.get(y * side + e as u32), tile_b.get(e as u32 * side + x), sum));
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += side;
    }
    T::set(task.c, row, column, sum);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("r3_shared_tile.rs", [product_shared_tile, product_shared_tile_f64]).run_by(&SharedTile);

    struct SharedTile;

    impl Multiplies for SharedTile {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_shared_tile, TILE, TILE, [TILE, TILE, 1])
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }

    impl MultipliesOf<f64> for SharedTile {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<f64>>> {
            by_tiles(product_shared_tile_f64, TILE, TILE, [TILE, TILE, 1])
        }
    }
}
