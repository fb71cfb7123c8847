//! The examples of the book's page "Vectors on a device", which cuts them out of this file.

use rungs::Result;
use rungs::engine::{DeviceChoice, Engine, Geometry, What};
use rungs::vec::DeviceVec;
use rungs_kernels::saxpy::r1_kernel::{self, saxpy_kernel};
use rungs_kernels::saxpy::r2_transform::{Saxpy, saxpy_transform};

#[test]
fn sort_and_add_up() -> Result<()> {
    use rungs::{DeviceChoice, DeviceVec, Engine, Operation};
    let engine = Engine::open(DeviceChoice::Auto)?; // a GPU, or else the simulator
    let mut keys = DeviceVec::from_slice(&engine, &[3.5f32, -1.0, 2.0])?;
    keys.sort()?;
    assert_eq!(keys.to_vec()?, [-1.0, 2.0, 3.5]);
    assert_eq!(keys.reduce(Operation::Max)?, 3.5);
    assert_eq!(keys.scan(Operation::Sum, false)?.to_vec()?, [-1.0, 1.0, 4.5]); // inclusive
    Ok(())
}

#[test]
fn columns_of_a_table() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let prices = DeviceVec::from_slice(&engine, &[7.5f64, 1.25, 3.0])?;
    let stock = DeviceVec::from_slice(&engine, &[40u8, 0, 12])?;
    let cheapest_first = prices.argsort()?; // places, not prices
    assert_eq!(cheapest_first.to_vec()?, [1, 2, 0]);
    assert_eq!(prices.gather(&cheapest_first)?.to_vec()?, [1.25, 3.0, 7.5]);
    assert_eq!(stock.gather(&cheapest_first)?.to_vec()?, [0, 12, 40]);
    Ok(())
}

#[test]
fn functor_and_kernel() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let x = DeviceVec::generate(&engine, 1000, |i| i as f32)?;
    let y = DeviceVec::from_slice(&engine, &[1.0f32; 1000])?;

    // A functor says what is done to each pair. The result is a new vector.
    let sums = x.transform_pairs(&y, saxpy_transform, Saxpy { a: 2.0 })?;

    // The same by a kernel, which takes the vectors as views and changes y.
    let geometry = Geometry::linear(r1_kernel::grid(1000), r1_kernel::BLOCK);
    engine.launch(saxpy_kernel, geometry, (2.0, x.view(), y.view()))?;
    assert_eq!(sums.to_vec()?, y.to_vec()?);
    Ok(())
}

#[test]
fn copies_of_a_call() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let (sum, done) = engine.record(|| {
        let x = engine.upload(&[1.0f32; 1000])?; // host to device
        let y = engine.upload(&[2.0f32; 1000])?; // host to device
        let geometry = Geometry::linear(r1_kernel::grid(1000), r1_kernel::BLOCK);
        engine.launch(saxpy_kernel, geometry, (3.0, x.view(), y.view()))?; // is enqueued
        y.download() // waits for the kernel; device to host
    })?;
    assert_eq!(sum, [5.0; 1000]);
    let copied = |activity: &What| match activity {
        What::Copy { direction, bytes } => Some((*direction, *bytes)),
        What::Launch { .. } | What::Exchange { .. } => None,
    };
    let copies: Vec<_> = done.iter().filter_map(|activity| copied(&activity.what)).collect();
    assert_eq!(copies, [("HtoD", 4000), ("HtoD", 4000), ("DtoH", 4000)]);
    Ok(())
}

#[test]
fn two_streams() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let other = engine.second_stream()?;
    // Memory belongs to the handle that allocated it.
    let (x, y) = (engine.upload(&[1.0f32; 1000])?, engine.upload(&[2.0f32; 1000])?);
    let (v, w) = (other.upload(&[1.0f32; 1000])?, other.upload(&[4.0f32; 1000])?);

    let geometry = Geometry::linear(r1_kernel::grid(1000), r1_kernel::BLOCK);
    engine.launch(saxpy_kernel, geometry, (3.0, x.view(), y.view()))?;
    other.launch(saxpy_kernel, geometry, (3.0, v.view(), w.view()))?; // nothing orders these two

    engine.wait_for(&other.mark()?)?; // what `engine` is asked for from here on begins after both
    let ((), ms) = engine.time(|| engine.launch(saxpy_kernel, geometry, (1.0, x.view(), y.view())))?;
    assert!(ms >= 0.0);
    assert_eq!((y.download()?, w.download()?), (vec![6.0; 1000], vec![7.0; 1000]));
    Ok(())
}
