//! `rungs devices`: the driver's description of each GPU, and a line for the simulator.

use super::Common;
use crate::report::{self, Format, Grid};
use clap::Command;
use rungs::engine::cuda::{self, Properties};
use rungs::engine::{Engine, named_ptx, ptx};
use rungs::error::Result;
use serde::Serialize;

pub(super) fn command() -> Command {
    Command::new("devices").about("Describe each GPU as its driver does, and the simulator")
}

#[derive(Serialize)]
struct Devices {
    schema: u32,
    /// One map per GPU, from the property's name to its value.
    gpus: Vec<serde_json::Map<String, serde_json::Value>>,
    simulator: rungs::engine::DeviceInfo,
    /// The reason why there is no GPU, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(super) fn run(common: &Common) -> Result<()> {
    let (gpus, note) = match cuda::devices() {
        Ok(gpus) => (gpus, None),
        Err(why) => (vec![], Some(why.to_string())),
    };
    let simulator = Engine::simulator().info().clone();
    if common.format == Format::Json {
        let as_map = |p: &Properties| lines(p).into_iter().map(|(k, v)| (k.replace(' ', "_"), v.into())).collect();
        let gpus = gpus.iter().map(as_map).collect();
        return report::json(&Devices { schema: report::SCHEMA, gpus, simulator, note });
    }
    let mut grid = Grid::new(&["device", "property", "value"], &[]);
    for (i, properties) in gpus.iter().enumerate() {
        for (name, value) in lines(properties) {
            grid.row([format!("cuda:{i}"), name.to_string(), value]);
        }
    }
    if let Some(note) = note {
        grid.row(["cuda".to_string(), "none".to_string(), note]);
    }
    let [x, y, z] = simt::sim::MAX_BLOCK_DIM;
    for (name, value) in [
        ("cores", simulator.multiprocessors.to_string()),
        ("threads per block", simt::sim::MAX_THREADS_PER_BLOCK.to_string()),
        ("block limits", format!("{x} x {y} x {z}")),
        ("shared memory per block", format!("{} bytes", simt::sim::MAX_SHARED)),
    ] {
        grid.row(["sim".to_string(), name.to_string(), value]);
    }
    if common.format == Format::Csv { grid.print_csv() } else { grid.print() }
}

/// The properties of a GPU: first those that S0 prints, in its order, then those that matter today.
fn lines(p: &Properties) -> Vec<(&'static str, String)> {
    let dims = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let yes = |b: bool| if b { "yes" } else { "no" }.to_string();
    let bytes = |n: u64| format!("{n} bytes");
    vec![
        ("name", p.name.clone()),
        ("global memory", bytes(p.global_memory)),
        ("shared memory per block", bytes(p.shared_per_block.into())),
        ("registers per block", p.registers_per_block.to_string()),
        ("warp size", p.warp_size.to_string()),
        ("memory pitch", bytes(p.max_pitch.into())),
        ("threads per block", p.max_threads_per_block.to_string()),
        ("block limits", dims(p.max_block)),
        ("grid limits", dims(p.max_grid)),
        ("constant memory", bytes(p.constant_memory.into())),
        ("compute capability", format!("{}.{}", p.compute_capability.0, p.compute_capability.1)),
        ("clock", format!("{} kHz", p.clock_khz)),
        ("texture alignment", bytes(p.texture_alignment.into())),
        ("copy engines", p.copy_engines.to_string()),
        ("SMs", p.multiprocessors.to_string()),
        ("shared memory per block at most", bytes(p.shared_per_block_optin.into())),
        ("shared memory per SM", bytes(p.shared_per_multiprocessor.into())),
        ("registers per SM", p.registers_per_multiprocessor.to_string()),
        ("threads per SM", p.max_threads_per_multiprocessor.to_string()),
        ("blocks per SM", p.max_blocks_per_multiprocessor.to_string()),
        ("L2 cache", bytes(p.l2_bytes.into())),
        ("memory clock", format!("{} kHz", p.memory_clock_khz)),
        ("memory bus", format!("{} bits", p.memory_bus_bits)),
        ("memory bandwidth", format!("{:.0} GB/s by clock and bus", p.memory_bandwidth_gbs)),
        ("error correction", yes(p.ecc)),
        ("integrated", yes(p.integrated)),
        ("kernel time limit", yes(p.kernel_timeout)),
        ("PCI", p.pci.clone()),
        ("driver", format!("CUDA {}", p.driver_version)),
        ("PTX taken", cuda::taken(&ptx::PTX, p).map_or("none".into(), |taken| named_ptx(&taken))),
    ]
}
