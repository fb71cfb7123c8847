//! A table of records, one vector per column, brought into the order of one column: places are sorted once, and each
//! column is gathered by them. Then one record of each kind, the cheapest, as `unique` would leave it.
//!
//!     cargo run --release -p rungs --example argsort [N]
//!
//! N is 4 Mi on a GPU and 16 Ki on the simulator.

use rungs::data::{Distribution, Size};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::Result;
use rungs::vec::DeviceVec;

/// How many kinds of records there are.
const KINDS: u32 = 100;

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let default = if engine.is_simulator() { 1 << 14 } else { 1 << 22 };
    let n = std::env::args().nth(1).map_or(Ok(default), |n| n.parse::<Size>().map(|n| n.0))? as usize;

    let drawn = DeviceVec::<u32>::random(&engine, n, Distribution::Uniform, 1)?.to_vec()?;
    let kinds = DeviceVec::generate(&engine, n, |i| drawn[i] % KINDS)?;
    let prices = DeviceVec::generate(&engine, n, |i| f64::from(drawn[i] / KINDS) / 100.0)?;

    // By price, then by kind: a stable sort keeps the order of the prices within a kind.
    let by_price = prices.argsort()?;
    let by_kind = kinds.gather(&by_price)?.argsort()?;
    let places = by_price.gather(&by_kind)?;
    let (kinds, prices) = (kinds.gather(&places)?.to_vec()?, prices.gather(&places)?.to_vec()?);

    let in_order = (1..n).all(|i| (kinds[i - 1], prices[i - 1]) <= (kinds[i], prices[i]));
    assert!(in_order, "a record stands before a smaller one");
    let cheapest = (0..n).filter(|&i| i == 0 || kinds[i] != kinds[i - 1]);
    let found: Vec<(u32, f64)> = cheapest.map(|i| (kinds[i], prices[i])).collect();
    println!("{n} records on {}, {} kinds; the first: {:?}", engine.info().name, found.len(), found.first());
    Ok(())
}
