//! The two-dimensional launch of docs/own-kernels.md.

use rungs::engine::{Engine, Geometry};
use rungs::{DeviceVec, Result};
use simt::{Global, kernel, thread};

// begin
/// Side of a block.
const SIDE: u32 = 16;

/// Writes the transpose of `input`, a row-major matrix, to `output`.
#[kernel(max_threads = SIDE * SIDE)]
fn transpose(input: Global<f32>, output: Global<f32>, rows: u32, columns: u32) {
    let column = thread::block_idx_x() * SIDE + thread::thread_idx_x();
    let row = thread::block_idx_y() * SIDE + thread::thread_idx_y();
    if row < rows && column < columns {
        output.set(column * rows + row, input.get(row * columns + column));
    }
}

fn transposed(engine: &Engine, matrix: &[f32], rows: u32, columns: u32) -> Result<Vec<f32>> {
    let input = DeviceVec::from_slice(engine, matrix)?;
    let output = DeviceVec::uninit(engine, matrix.len())?;
    let geometry = Geometry::plane((columns.div_ceil(SIDE), rows.div_ceil(SIDE)), (SIDE, SIDE));
    engine.launch(transpose, geometry, (input.view(), output.view(), rows, columns))?;
    output.to_vec()
}
// end

#[test]
fn every_element_is_written() -> Result<()> {
    // No GPU has this kernel: it is compiled for the host alone.
    let engine = Engine::simulator();
    for (rows, columns) in [(0, 3), (1, 1), (1, 33), (15, 17), (16, 16), (31, 2), (33, 47)] {
        let matrix: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
        let expected = (0..columns).flat_map(|c| (0..rows).map(move |r| (r * columns + c) as f32));
        assert_eq!(transposed(&engine, &matrix, rows, columns)?, expected.collect::<Vec<_>>(), "{rows} × {columns}");
    }
    Ok(())
}

#[test]
fn the_page_has_the_launch() {
    crate::assert_page_has("own-kernels.md", include_str!("plane.rs"));
}
