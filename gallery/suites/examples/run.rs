//! Launches cases, for a tool that watches the GPU: `run list`, or `run PTX NUMBER...` with the numbers of that list.
//! With `sim` in place of the PTX they run on the simulator.
//!
//! Each case has a kernel of its own name, which ends with `_c` and its number, because a tool's finding names the
//! kernel. Memory and kernels are kept until the process ends: no case gets memory that another one wrote. A line tells
//! that a case begins, another one how it ended. The process ends early if a kernel has broken the context.

use cuda_driver::objects::{self, Device, Module, Primary};
use cuda_driver::{Launch, Status};
use rungs_gallery::{Machine, Simulated, Trial};
use rungs_ptx::ptx::Apart;
use rungs_suites::{Case, SUITES};
use simt::Geometry;
use simt::launcher::{self, Call, Failed, Launcher, Memory, Result};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::CString;
use std::process::ExitCode;
use std::ptr::null_mut;

fn main() -> std::result::Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let cases: Vec<(&str, Case)> =
        SUITES.iter().flat_map(|(suite, cases)| cases().into_iter().map(move |case| (*suite, case))).collect();
    match arguments[..] {
        ["list"] => {
            for (number, (suite, case)) in cases.iter().enumerate() {
                let bugs: Vec<&str> = case.bugs.iter().map(|bug| bug.what.name()).collect();
                println!("{number}\t{suite}\t{}\t{}", case.name, bugs.join(", "));
            }
        }
        ["sim", ref numbers @ ..] => {
            for number in numbers {
                run(&cases, number, &Simulated::default())?;
            }
        }
        [ptx, ref numbers @ ..] => {
            let gpu = Gpu::new(&std::fs::read_to_string(ptx)?)?;
            for number in numbers {
                gpu.0.borrow_mut().case = number.parse()?;
                run(&cases, number, &gpu)?;
                if let Err(status) = synchronize() {
                    eprintln!("the context is broken: {status}");
                    return Ok(ExitCode::from(3));
                }
            }
        }
        [] => return Err("run list, or run PTX NUMBER...".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn run(cases: &[(&str, Case)], number: &str, on: &dyn Machine) -> std::result::Result<(), Box<dyn Error>> {
    let (_, case) = cases.get(number.parse::<usize>()?).ok_or("there is no case of that number")?;
    println!("begin {number}");
    match (case.run)(&Trial::new(on, false)) {
        Ok(()) => println!("end {number} ok"),
        Err(error) => println!("end {number} {}", error.to_string().replace('\n', " ")),
    }
    Ok(())
}

fn failed(status: Status) -> Failed {
    Failed::Machine(status.to_string().into())
}

/// Waits for all launches.
fn synchronize() -> std::result::Result<(), Status> {
    // SAFETY: null is the context's own stream.
    unsafe { cuda_driver::synchronize(null_mut()) }
}

/// A GPU whose kernels run in sequence.
struct Gpu(RefCell<State>);

struct State {
    kernels: Apart,
    /// The case that runs.
    case: usize,
    /// Kernels by their new names.
    loaded: BTreeMap<String, Module>,
    /// Held as long as the modules.
    _context: Primary,
}

impl Gpu {
    fn new(ptx: &str) -> std::result::Result<Self, Box<dyn Error>> {
        cuda_driver::load()?;
        let status = |status: Status| status.to_string();
        cuda_driver::init().map_err(status)?;
        let context = Primary::retain(Device::get(0).map_err(status)?).map_err(status)?;
        context.set_current().map_err(status)?;
        let state = State { kernels: Apart::of(ptx), case: 0, loaded: BTreeMap::new(), _context: context };
        Ok(Self(RefCell::new(state)))
    }
}

/// Memory that is never freed.
struct Kept(u64);

// SAFETY: the driver gave this much memory, aligned to 256 bytes, and nobody frees it.
unsafe impl Memory for Kept {
    fn address(&self) -> *mut u8 {
        std::ptr::without_provenance_mut(self.0 as usize)
    }
}

impl Launcher for Gpu {
    fn device(&self) -> launcher::Device {
        // No case asks for more than these: those of the smallest GPU that the kernels are for.
        launcher::Device { multiprocessors: 1, shared_per_block: 48 << 10, compute_capability: (9, 0) }
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        let mut state = self.0.borrow_mut();
        let name = format!("{}_c{}", call.name(), state.case);
        if !state.loaded.contains_key(&name) {
            let alone = state.kernels.alone(call.name()).ok_or_else(|| Failed::Unsuitable("not in the PTX".into()))?;
            let text = alone.replace(&format!(".entry {}(", call.name()), &format!(".entry {name}("));
            let text = CString::new(text).map_err(|error| Failed::Unsuitable(error.to_string()))?;
            // SAFETY: it is text.
            let module = unsafe { Module::load(&text) }.map_err(failed)?;
            state.loaded.insert(name.clone(), module);
        }
        let function = state.loaded[&name].function(&name).map_err(failed)?;
        let Geometry { grid, block, shared_bytes, .. } = geometry;
        let launch = Launch { grid, block, shared_bytes, stream: null_mut(), dependent: false, together: false };
        // SAFETY: the parameters are the kernel's, by its type; memory and module are kept.
        unsafe { cuda_driver::launch(function, &launch, &mut call.parameters().pointers()) }.map_err(failed)?;
        synchronize().map_err(failed)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(Kept(objects::allocate(bytes.max(1)).map_err(failed)?)))
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: as the caller says.
        unsafe { cuda_driver::fill(address as u64, 0, bytes, null_mut()) }.map_err(failed)
    }
}

// SAFETY: as many words are allocated as are copied.
unsafe impl Machine for Gpu {
    fn upload(&self, words: &[u32]) -> Result<Box<dyn Memory>> {
        let memory = self.allocate(size_of_val(words))?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: there is room for the bytes, which live until they are copied.
        unsafe { cuda_driver::copy_to_device(memory.address() as u64, &bytes, null_mut()) }.map_err(failed)?;
        synchronize().map_err(failed)?;
        Ok(memory)
    }

    unsafe fn download(&self, address: *const u8, words: &mut [u32]) -> Result {
        let mut bytes = vec![0; size_of_val(words)];
        // SAFETY: the caller promises the words; the bytes live until they are copied.
        unsafe { cuda_driver::copy_to_host(&mut bytes, address as u64, null_mut()) }.map_err(failed)?;
        synchronize().map_err(failed)?;
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }
}
