//! Sum, least and greatest of a vector, and its running sums, checked by the host.
//!
//!     cargo run --release -p rungs --example reduce_scan [N]
//!
//! N is 64 Mi on a GPU and 256 Ki on the simulator.

use rungs::algorithms::Operation;
use rungs::data::{Distribution, Size};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs::vec::DeviceVec;

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let default = if engine.is_simulator() { 1 << 18 } else { 1 << 26 };
    let n = std::env::args().nth(1).map_or(Ok(default), |n| n.parse::<Size>().map(|n| n.0))?;

    let x = DeviceVec::<u32>::random(&engine, n as usize, Distribution::Uniform, 1)?;
    let sum = x.reduce(Operation::Sum)?;
    let (least, greatest) = (x.reduce(Operation::Min)?, x.reduce(Operation::Max)?);
    let running = x.scan(Operation::Sum, false)?.to_vec()?;

    let host = x.to_vec()?;
    let mut total = 0u32;
    let wrong = host.iter().zip(&running).filter(|&(&x, &got)| {
        total = total.wrapping_add(x);
        got != total
    });
    let wrong = wrong.count()
        + usize::from(sum != host.iter().fold(0u32, |sum, &x| sum.wrapping_add(x)))
        + usize::from(least != host.iter().copied().min().unwrap_or(u32::MAX))
        + usize::from(greatest != host.iter().copied().max().unwrap_or(0));
    if wrong > 0 {
        return Err(Error::Wrong { wrong, of: n as usize + 3 });
    }
    println!("{n} elements on {}: sum {sum} (mod 2^32), least {least}, greatest {greatest}", engine.info().name);
    Ok(())
}
