//! Smooths a saw tooth on a GPU, or on the simulator where there is none, and compares with the host.

use own_kernel::{expected, open, ptx, smooth_and_scale};
use rungs::Result;
use rungs::engine::DeviceChoice;

/// How long the saw tooth is: some blocks and a part of one.
const N: usize = 10_000;

fn main() -> Result<()> {
    let engine = open(DeviceChoice::Auto)?;
    let data: Vec<f32> = (0..N).map(|i| (i % 100) as f32).collect();
    let got = smooth_and_scale(&engine, &data, 2.0)?;
    let wrong = got.iter().zip(expected(&data, 2.0)).filter(|&(got, expected)| *got != expected).count();
    println!("{N} elements on {}: {wrong} wrong", engine.info().name);
    for (arch, text) in ptx::PTX {
        println!("PTX for {arch}: {} bytes", text.len());
    }
    if !ptx::PTX_MISSING.is_empty() {
        println!("no PTX: {}", ptx::PTX_MISSING);
    }
    assert_eq!(wrong, 0, "the kernels and the host differ");
    Ok(())
}
