//! Transposes a matrix on a GPU, or on the simulator if there is none, and compares the result with the host's.

use own_kernel::{expected, open, ptx, transposed};
use rungs::Result;
use rungs::engine::DeviceChoice;
use std::process::ExitCode;

/// The matrix has whole tiles and parts of tiles.
const ROWS: u32 = 100;
const COLUMNS: u32 = 150;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("own-kernel: {error}");
            ExitCode::FAILURE
        }
    }
}

/// True if the device and the host agree.
fn run() -> Result<bool> {
    let engine = open(DeviceChoice::Auto)?;
    let matrix: Vec<f32> = (0..ROWS * COLUMNS).map(|i| i as f32).collect();
    let got = transposed(&engine, &matrix, ROWS, COLUMNS)?;
    let wrong = got.iter().zip(expected(&matrix, ROWS, COLUMNS)).filter(|&(got, expected)| *got != expected).count();
    println!("{ROWS} × {COLUMNS} elements transposed on {}: {wrong} wrong", engine.info().name);
    for (arch, text) in ptx::PTX {
        println!("PTX for {arch}: {} bytes", text.len());
    }
    if !ptx::PTX_MISSING.is_empty() {
        println!("no PTX: {}", ptx::PTX_MISSING);
    }
    Ok(wrong == 0)
}
