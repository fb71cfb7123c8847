//! What the program does, apart from its command line, so that tests can do it too.

use own_kernels::{BLOCK, Nearest, Scale, last_set, nearest, scale, smooth};
use rungs::Result;
use rungs::engine::{DeviceChoice, Engine, Geometry};
use rungs::vec::DeviceVec;

/// The kernels' PTX, as the build script left it.
pub mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

/// Opens a machine and tells it of our kernels.
///
/// # Errors
/// Where the machine cannot be used, or its driver refuses the PTX.
pub fn open(choice: DeviceChoice) -> Result<Engine> {
    let engine = Engine::open(choice)?;
    engine.add_kernels(ptx::PTX)?;
    Ok(engine)
}

/// The mean of each element and its two neighbours, times `factor`.
///
/// # Errors
/// Where the machine has too little memory, or a kernel goes wrong.
pub fn smooth_and_scale(engine: &Engine, data: &[f32], factor: f32) -> Result<Vec<f32>> {
    let input = DeviceVec::from_slice(engine, data)?;
    let smoothed = DeviceVec::uninit(engine, data.len())?;
    let geometry = Geometry::linear((data.len() as u32).div_ceil(BLOCK), BLOCK);
    engine.launch(smooth, geometry, (input.view(), smoothed.view()))?;
    smoothed.transform(scale, Scale { factor })?.to_vec()
}

/// The same on the host, to compare with.
pub fn expected(data: &[f32], factor: f32) -> Vec<f32> {
    let at = |i: usize| data[i.min(data.len() - 1)];
    (0..data.len()).map(|i| factor * ((at(i.saturating_sub(1)) + at(i) + at(i + 1)) / 3.0)).collect()
}

/// The elements nearest to `to` first; those of the same distance in the order that they had.
///
/// # Errors
/// Where the machine has too little memory, or a kernel goes wrong.
pub fn nearest_first(engine: &Engine, data: &[f32], to: f32) -> Result<Vec<f32>> {
    let mut elements = DeviceVec::from_slice(engine, data)?;
    elements.stable_sort_by(nearest::Kernels, Nearest { to })?;
    elements.to_vec()
}

/// The elements with the element before it in place of each 0, and the last one that is not 0.
///
/// # Errors
/// Where the machine has too little memory, or a kernel goes wrong.
pub fn filled(engine: &Engine, data: &[u32]) -> Result<(Vec<u32>, u32)> {
    let elements = DeviceVec::from_slice(engine, data)?;
    let filled = elements.scan_with(last_set::Kernels, false)?;
    Ok((filled.to_vec()?, elements.reduce_with(last_set::Kernels)?))
}
