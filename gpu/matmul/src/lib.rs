//! # Matrix product
//!
//! C = A·B for row-major matrices without gaps between rows: A has m rows and k columns, B has k rows and n columns, C
//! has m rows and n columns. Any m, n and k; with k = 0, C is zero.
//!
//! Factors, transposes, strides, batches and other types are the library's (`rungs-products`).
//!
//! Shared by the rungs: which tile of C a block computes (`tile_of_block`), and a matrix that reads as zero outside
//! its bounds (`Matrix`).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
pub mod ladder;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r10_producer_consumer;
pub mod r11_tensor_mma;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r12_tensor_group;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r13_tensor_map;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r14_tensor_cluster;
pub mod r15_tensor_double;
pub mod r1_naive;
pub mod r2_coalesced;
pub mod r3_shared_tile;
pub mod r4_wide_tile;
pub mod r5_thread_column;
pub mod r6_thread_tile;
pub mod r7_vector_loads;
pub mod r8_warp_tile;
pub mod r9_async_copy;
pub mod tensor;

use simt::{Global, Scalar, thread};

/// Blocks for C if each computes a tile of `rows` × `columns` elements.
pub const fn tiles(m: u32, n: u32, rows: u32, columns: u32) -> u32 {
    m.div_ceil(rows) * n.div_ceil(columns)
}

/// First row and first column of the tile of C that the block computes, one of [`tiles`]. A tile has `rows` × `columns`
/// elements.
///
/// The grid has blocks along x alone, because along y and z it may have only 65,535. So block b has tile b, and the
/// tiles are numbered row by row.
#[simt::device]
fn tile_of_block(n: u32, rows: u32, columns: u32) -> (u32, u32) {
    let (tile, tiles_in_row) = (thread::block_idx_x(), n.div_ceil(columns).max(1));
    (tile / tiles_in_row * rows, tile % tiles_in_row * columns)
}

/// A row-major matrix without gaps between rows.
#[derive(Clone, Copy)]
struct Matrix<T = f32> {
    data: Global<T>,
    rows: u32,
    columns: u32,
}

impl<T: Scalar> Matrix<T> {
    #[simt::device]
    fn new(data: Global<T>, rows: u32, columns: u32) -> Self {
        Self { data, rows, columns }
    }

    /// Element (`row`, `column`), zero outside the matrix.
    #[simt::device]
    fn get(self, row: u32, column: u32) -> T {
        let inside = row < self.rows && column < self.columns;
        if inside { self.data.get(row * self.columns + column) } else { T::default() }
    }

    /// Writes element (`row`, `column`); does nothing outside the matrix.
    #[simt::device]
    fn set(self, row: u32, column: u32, value: T) {
        if row < self.rows && column < self.columns {
            self.data.set(row * self.columns + column, value);
        }
    }

    /// Whether each row begins on a multiple of 16 bytes, so that packs of 16 bytes (four `f32`) are one access.
    #[simt::device]
    fn has_packs(self) -> bool {
        self.columns.is_multiple_of(T::PACK) && (self.data.as_ptr() as usize).is_multiple_of(16)
    }

    /// Writes a pack of elements of a row from `column` on, a multiple of their number. One access if the matrix has
    /// packs.
    #[simt::device]
    fn set_pack<const N: usize>(self, row: u32, column: u32, values: [T; N], has_packs: bool)
    where
        T: Scalar<Pack = [T; N]>,
    {
        let inside = row < self.rows && column < self.columns;
        if has_packs && inside {
            self.data.set_pack((row * self.columns + column) / T::PACK, values);
        } else {
            simt::unroll::<N>(|i| self.set(row, column + i as u32, values[i]));
        }
    }
}

impl Matrix {
    /// Four elements of a row from `column` on, a multiple of 4; zero outside. One access if the matrix has packs.
    #[simt::device]
    fn get_4(self, row: u32, column: u32, has_packs: bool) -> [f32; 4] {
        let inside = row < self.rows && column < self.columns;
        if has_packs && inside {
            self.data.get_pack((row * self.columns + column) / 4)
        } else {
            [0, 1, 2, 3].map(|i| self.get(row, column + i))
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::{Ladder, Multiply};

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Multiply> = Ladder {
        family: "matmul",
        about: "matrix product C = A·B of row-major matrices",
        rungs: &[
            &r1_naive::launches::RUNG,
            &r2_coalesced::launches::RUNG,
            &r3_shared_tile::launches::RUNG,
            &r4_wide_tile::launches::RUNG,
            &r5_thread_column::launches::RUNG,
            &r6_thread_tile::launches::RUNG,
            &r7_vector_loads::launches::RUNG,
            &r8_warp_tile::launches::RUNG,
            &r9_async_copy::launches::RUNG,
            &r10_producer_consumer::launches::RUNG,
            &r11_tensor_mma::launches::RUNG,
            &r12_tensor_group::launches::RUNG,
            &r13_tensor_map::launches::RUNG,
            &r14_tensor_cluster::launches::RUNG,
            &r15_tensor_double::launches::RUNG,
        ],
        default: &r10_producer_consumer::launches::RUNG,
    };
}
