//! The CUDA driver's functions, found when the program runs.
//!
//! [cust](https://docs.rs/cust) calls the driver by name, so a program that uses it would link `libcuda.so.1` and not
//! even start where there is no driver. This crate defines those names itself: each function jumps through a slot, and
//! [`load`] or the first call of `cuInit` opens the driver and fills the slots. Until then, and for a function that an
//! older driver lacks, a call returns [`Status::STUB_LIBRARY`] and does nothing else. One program so runs on machines
//! with and without a driver. On systems other than Linux on x86-64 and AArch64 there is never one.
//!
//! Three kinds of calls go through the slots: cust's own; those of this crate (`launch`, `jit_error`, …) that cust
//! lacks; and [`objects`], which stand for cust in a program that is built without it.

mod calls;
mod event;
pub mod ipc;
pub mod objects;
mod slots;
mod status;

pub use calls::{
    Context, Current, Function, FunctionAttribute, Launch, Stream, Tensor, allocate_host, can_access_peer,
    copy_from_peer, copy_on_device, copy_to_device, copy_to_host, device_attribute, fill, free_host,
    function_attribute, has_ended, init, is_capturing, jit_error, launch, let_access_peer, occupancy,
    set_max_dynamic_shared, synchronize, tensor_map,
};
pub use event::Event;
pub use status::Status;

use libloading::Library;
use slots::Unfit;
use std::error::Error;
use std::fmt;
use std::sync::OnceLock;

/// Where the driver is looked for, in this order. Its package installs the first; the second exists if the link was
/// made by hand; the third is Windows' own, which WSL does not put on the loader's path. The last are where packages
/// install it, in case that the toolkit's stub comes first on the loader's path.
const NAMES: [&str; 6] = [
    "libcuda.so.1",
    "libcuda.so",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
];

/// There is no CUDA driver on this machine, or none that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Each name that was tried with the message of the system's loader, as `name: reason`.
    pub tried: Vec<String>,
    /// The file of the CUDA toolkit's stub, if one was found in the driver's place.
    pub stub: Option<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The loader's messages are in `tried`, for `rungs doctor`.
        match &self.stub {
            None if !slots::REACHED => write!(f, "the CUDA driver is reached on Linux only, on x86-64 and AArch64"),
            None => write!(f, "no CUDA driver was found (no {} on this machine)", NAMES[0]),
            Some(stub) => write!(
                f,
                "no CUDA driver was found: {stub} is the CUDA toolkit's stub, to link with and not to run; install \
                 NVIDIA's driver, or take the stub's folder out of LD_LIBRARY_PATH"
            ),
        }
    }
}

impl Error for Missing {}

/// Opens the CUDA driver and makes its functions callable.
///
/// May be called from any thread and any number of times: the first call decides, later ones return what it found.
/// The driver stays open for as long as the process runs. It is initialised once, because that tells it from the
/// toolkit's stub; [`init`] has the outcome.
///
/// # Errors
/// [`Missing`] if no driver can be opened; the functions then keep returning [`Status::STUB_LIBRARY`].
pub fn load() -> Result<(), Missing> {
    static LOADED: OnceLock<Result<(), Missing>> = OnceLock::new();
    LOADED.get_or_init(|| open(if slots::REACHED { &NAMES } else { &[] })).clone()
}

/// Opens the first of `names` that is a CUDA driver and fills the slots from it.
fn open(names: &[&str]) -> Result<(), Missing> {
    let (mut tried, mut stub) = (Vec::new(), None);
    for &name in names {
        // SAFETY: opening the driver runs its initialisers, which expect nothing of the program that opens it.
        match unsafe { Library::new(name) } {
            Ok(library) => match slots::fill(&library) {
                Ok(()) => {
                    // The slots point into the library from here on, so it is never closed.
                    std::mem::forget(library);
                    return Ok(());
                }
                Err(Unfit::NoDriver) => tried.push(format!("{name}: it has no cuInit")),
                Err(Unfit::Stub(address)) => {
                    let file = file_of(address).unwrap_or_else(|| name.into());
                    tried.push(format!("{name}: {file} is the toolkit's stub"));
                    stub = stub.or(Some(file));
                }
            },
            Err(error) => tried.push(reason(name, &error)),
        }
    }
    Err(Missing { tried, stub })
}

/// The file of the driver that was opened, if the system tells.
pub fn file() -> Option<String> {
    slots::address().and_then(file_of)
}

/// The file that is loaded at an address.
fn file_of(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    // As `7f00-7f10 r-xp 00000000 08:01 42   /usr/lib/libcuda.so.1`.
    let file = |line: &str| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let at = |text| usize::from_str_radix(text, 16).ok();
        let is_there = (at(start)?..at(end)?).contains(&address);
        is_there.then(|| line.find('/').map(|slash| line[slash..].to_owned())).flatten()
    };
    maps.lines().find_map(file)
}

/// Why `name` was not opened, in the form `name: reason`. The system's loader says more than libloading, which keeps
/// that as the error's source, and mostly begins with the name.
fn reason(name: &str, error: &libloading::Error) -> String {
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    if said.starts_with(name) { said } else { format!("{name}: {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo then refuses a program with two versions, and not the linker.
    #[test]
    fn a_program_has_one_of_this_package() {
        let manifest = include_str!("../Cargo.toml");
        assert!(manifest.lines().any(|line| line == "links = \"cuda-driver\""), "{manifest}");
    }

    unsafe extern "C" {
        fn cuDeviceGetCount(count: *mut i32) -> u32;
    }

    /// In one test and in this order, because the slots belong to the whole process: where there is a driver, `load`
    /// fills them for good.
    #[test]
    fn calls_return_stub_library_until_a_driver_is_loaded() {
        let missing = open(&["libno-such-driver.so.1", "/no/such/folder/libcuda.so.1"]).unwrap_err();
        assert_eq!(missing.tried.len(), 2);
        assert!(missing.tried[1].starts_with("/no/such/folder/libcuda.so.1: "), "{missing}");
        assert_eq!(missing.to_string(), "no CUDA driver was found (no libcuda.so.1 on this machine)");

        // Every Linux program has the C library: it opens, and is no driver.
        let missing = open(&["libc.so.6"]).unwrap_err();
        assert_eq!(missing.tried, ["libc.so.6: it has no cuInit"]);

        let mut count = -1;
        // SAFETY: the arguments are the ones that the driver's function takes; its slot is empty.
        let code = unsafe { cuDeviceGetCount(&mut count) };
        assert_eq!((code, count), (34, -1));
        assert_eq!(device_attribute(0, 1), Err(Status::STUB_LIBRARY));

        // As code does that knows cust alone.
        let started = init();
        let first = std::thread::spawn(load).join().unwrap();
        assert_eq!(load(), first, "load gives one answer, from every thread");
        match first {
            Ok(()) => assert_ne!(started, Err(Status::STUB_LIBRARY), "the first cuInit did not load the driver"),
            Err(missing) => {
                assert_eq!(missing.tried.len(), NAMES.len());
                assert_eq!(started, Err(Status::STUB_LIBRARY));
            }
        }
        assert_eq!(init(), started, "cuInit leads to the driver, or nowhere, each time");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_address_leads_to_the_file_that_is_loaded_there() {
        let program = std::env::current_exe().unwrap();
        assert_eq!(file_of(open as fn(&[&str]) -> _ as usize).map(Into::into), Some(program));
        assert_eq!(file_of(0), None);
    }
}
