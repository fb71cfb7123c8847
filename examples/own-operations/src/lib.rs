//! The library's algorithms with a functor, an order and an operator of this crate.

use own_operations_kernels::{Nearest, Scale, last_set, nearest, scale};
use rungs::vec::DeviceVec;
use rungs::{DeviceChoice, Engine, Result};

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

/// Each element times `factor`.
///
/// # Errors
/// If the device has too little memory, or a kernel fails.
pub fn scaled(engine: &Engine, data: &[f32], factor: f32) -> Result<Vec<f32>> {
    DeviceVec::from_slice(engine, data)?.transform(scale, Scale { factor })?.to_vec()
}

/// The elements, the nearest to `to` first; elements of the same distance keep their order.
///
/// # Errors
/// If the device has too little memory, or a kernel fails.
pub fn nearest_first(engine: &Engine, data: &[f32], to: f32) -> Result<Vec<f32>> {
    let mut elements = DeviceVec::from_slice(engine, data)?;
    elements.stable_sort_by(nearest::Kernels, Nearest { to })?;
    elements.to_vec()
}

/// The elements with each 0 replaced by the last element before it that is not 0; and the last element of all that is
/// not 0.
///
/// # Errors
/// If the device has too little memory, or a kernel fails.
pub fn filled(engine: &Engine, data: &[u32]) -> Result<(Vec<u32>, u32)> {
    let elements = DeviceVec::from_slice(engine, data)?;
    let filled = elements.scan_with(last_set::Kernels, false)?;
    Ok((filled.to_vec()?, elements.reduce_with(last_set::Kernels)?))
}
