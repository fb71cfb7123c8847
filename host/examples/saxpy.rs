//! y = a·x + y, once by a kernel and once by a transform with a functor, and the two compared.
//!
//!     cargo run --release -p rungs --example saxpy [N]
//!
//! N is 64 Mi on a GPU and 256 Ki on the simulator.

use rungs::data::{Distribution, Size};
use rungs::engine::{DeviceChoice, Engine, Geometry};
use rungs::error::Result;
use rungs::vec::DeviceVec;
use rungs::verify::compare;
use rungs_kernels::saxpy::r1_kernel::{self, saxpy_kernel};
use rungs_kernels::saxpy::r2_transform::{Saxpy, saxpy_transform};

const A: f32 = 2.5;

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let default = if engine.is_simulator() { 1 << 18 } else { 1 << 26 };
    let n = std::env::args().nth(1).map_or(Ok(default), |n| n.parse::<Size>().map(|n| n.0))?;

    let x = DeviceVec::<f32>::random(&engine, n as usize, Distribution::Uniform, 1)?;
    let y = DeviceVec::<f32>::random(&engine, n as usize, Distribution::Uniform, 2)?;

    // With a functor: what is done to a pair is a type; the result is a new vector.
    let (transformed, by_transform) = engine.time(|| x.transform_pairs(&y, saxpy_transform, Saxpy { a: A }))?;

    // With a kernel: the vectors' views are its arguments; y changes in place.
    let before = y.to_vec()?;
    let geometry = Geometry::linear(r1_kernel::grid(n as u32), r1_kernel::BLOCK);
    let ((), by_kernel) = engine.time(|| engine.launch(saxpy_kernel, geometry, (A, x.view(), y.view())))?;

    let (x, y, transformed) = (x.to_vec()?, y.to_vec()?, transformed.to_vec()?);
    let want: Vec<f32> = x.iter().zip(&before).map(|(x, y)| A.mul_add(*x, *y)).collect();
    let want = want.into();
    compare("saxpy", "transform", &transformed.into(), &want)?;
    compare("saxpy", "kernel", &y.into(), &want)?;
    let name = &engine.info().name;
    println!("{n} elements on {name}: kernel {by_kernel:.3} ms, transform {by_transform:.3} ms (with its memory)");
    Ok(())
}
