//! The calls of the program, without its command line: the tests use them too.

use own_kernels::{SIDE, transpose};
use rungs::Result;
use rungs::engine::{DeviceChoice, Engine, Geometry};
use rungs::vec::DeviceVec;

/// The kernels' PTX, which the build script compiled.
pub mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

/// Opens a device and adds our kernels to it.
///
/// # Errors
/// If the device cannot be used, or its driver refuses the PTX.
pub fn open(choice: DeviceChoice) -> Result<Engine> {
    let engine = Engine::open(choice)?;
    engine.add_kernels(ptx::PTX)?;
    Ok(engine)
}

/// The transpose of a row-major matrix of `rows` by `columns` elements.
///
/// # Errors
/// If the device has too little memory, or the kernel fails.
pub fn transposed(engine: &Engine, matrix: &[f32], rows: u32, columns: u32) -> Result<Vec<f32>> {
    let input = DeviceVec::from_slice(engine, matrix)?;
    let output = DeviceVec::uninit(engine, matrix.len())?;
    let geometry = Geometry::plane((columns.div_ceil(SIDE), rows.div_ceil(SIDE)), (SIDE, SIDE));
    engine.launch(transpose, geometry, (input.view(), output.view(), rows, columns))?;
    output.to_vec()
}

/// The same on the host, to compare with.
pub fn expected(matrix: &[f32], rows: u32, columns: u32) -> Vec<f32> {
    (0..columns).flat_map(|c| (0..rows).map(move |r| matrix[(r * columns + c) as usize])).collect()
}
