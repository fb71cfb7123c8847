//! Smooths a saw tooth on a GPU, or on the simulator where there is none, and compares with the host.

use own_kernel::{expected, filled, nearest_first, open, ptx, smooth_and_scale};
use rungs::Result;
use rungs::engine::DeviceChoice;
use std::process::ExitCode;

/// How long the saw tooth is: some blocks and a part of one.
const N: usize = 10_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("own-kernel: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let engine = open(DeviceChoice::Auto)?;
    let data: Vec<f32> = (0..N).map(|i| (i % 100) as f32).collect();
    let got = smooth_and_scale(&engine, &data, 2.0)?;
    let wrong = got.iter().zip(expected(&data, 2.0)).filter(|&(got, expected)| *got != expected).count();
    println!("{N} elements on {}: {wrong} wrong", engine.info().name);
    let mut want = data.clone();
    want.sort_by(|a, b| (a - 31.5).abs().total_cmp(&(b - 31.5).abs()));
    let sorted = nearest_first(&engine, &data, 31.5)? == want;
    println!("nearest to 31.5 first: {}", if sorted { "as the host sorts" } else { "wrong" });
    let gaps: Vec<u32> = (0..N as u32).map(|i| if i % 7 == 3 { i } else { 0 }).collect();
    let whole: Vec<u32> = (0..N as u32).map(|i| if i < 3 { 0 } else { i - (i - 3) % 7 }).collect();
    let fills = filled(&engine, &gaps)? == (whole.clone(), whole[N - 1]);
    println!("gaps filled: {}", if fills { "as the host fills them" } else { "wrong" });
    for (arch, text) in ptx::PTX {
        println!("PTX for {arch}: {} bytes", text.len());
    }
    if !ptx::PTX_MISSING.is_empty() {
        println!("no PTX: {}", ptx::PTX_MISSING);
    }
    assert!(wrong == 0 && sorted && fills, "the kernels and the host differ");
    Ok(())
}
