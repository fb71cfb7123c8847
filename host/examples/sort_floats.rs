//! Draws floats, sorts them on the device, copies them back and checks them.
//!
//!     cargo run --release -p rungs --example sort_floats [N]
//!
//! N is 16 Mi on a GPU and 64 Ki on the simulator.

use rungs::data::{Distribution, Size};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::Result;
use rungs::vec::DeviceVec;
use rungs::verify::compare;

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let default = if engine.is_simulator() { 1 << 16 } else { 1 << 24 };
    let n = std::env::args().nth(1).map_or(Ok(default), |n| n.parse::<Size>().map(|n| n.0))?;

    let mut keys = DeviceVec::<f32>::random(&engine, n as usize, Distribution::Uniform, 1)?;
    let unsorted = keys.to_vec()?;
    let ((), ms) = engine.time(|| keys.sort())?;
    let sorted = keys.to_vec()?;

    let mut want = unsorted;
    want.sort_by(f32::total_cmp);
    compare("DeviceVec", "sort", &sorted.into(), &want.into())?;
    println!("{n} floats sorted on {} in {ms:.3} ms, and the order is right", engine.info().name);
    Ok(())
}
