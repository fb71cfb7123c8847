//! Sum, least and greatest of a vector, and its running sums, checked by the host.
//!
//!     cargo run --release -p rungs --example reduce_scan [N]
//!
//! N is 64 Mi on a GPU and 256 Ki on the simulator.

use rungs::data::{Distribution, Size};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::Result;
use rungs::vec::DeviceVec;
use rungs::{Operation, verify::compare};

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let default = if engine.is_simulator() { 1 << 18 } else { 1 << 26 };
    let n = std::env::args().nth(1).map_or(Ok(default), |n| n.parse::<Size>().map(|n| n.0))?;

    let x = DeviceVec::<u32>::random(&engine, n as usize, Distribution::Uniform, 1)?;
    let sum = x.reduce(Operation::Sum)?;
    let (least, greatest) = (x.reduce(Operation::Min)?, x.reduce(Operation::Max)?);
    let running = x.scan(Operation::Sum, false)?.to_vec()?;

    let host = x.to_vec()?;
    let sums = host.iter().scan(0u32, |total, &x| {
        *total = total.wrapping_add(x);
        Some(*total)
    });
    let sums: Vec<u32> = sums.collect();
    let [lowest, highest] = [host.iter().min(), host.iter().max()].map(|x| x.copied());
    let want = vec![sums.last().copied().unwrap_or(0), lowest.unwrap_or(u32::MAX), highest.unwrap_or(0)];
    compare("DeviceVec", "scan", &running.into(), &sums.into())?;
    compare("DeviceVec", "reduce", &vec![sum, least, greatest].into(), &want.into())?;
    println!("{n} elements on {}: sum {sum} (mod 2^32), least {least}, greatest {greatest}", engine.info().name);
    Ok(())
}
