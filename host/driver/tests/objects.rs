//! Devices, contexts, streams, modules and memory, on the driver of tests/tests/driver/driver.c, which runs nothing and
//! notes the calls. This program starts itself again, because a process has one driver for good. If there is no C
//! compiler, the trial is reported as ignored.

use cuda_driver::ipc::{self, IpcHandle};
use cuda_driver::objects::{self, Device, Module, OwnStream, Primary};
use cuda_driver::{Current, FunctionAttribute, Status};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::Command;
use std::{env, fs};

const COMPILER: &str = "cc";

/// Names the file for the driver's notes; it is set in the second process alone.
const LOG: &str = "RUNGS_TEST_DRIVER_LOG";

/// The handle that the third process opens; it is set there alone.
const HANDLE: &str = "RUNGS_TEST_DRIVER_HANDLE";

fn main() {
    if env::var_os(HANDLE).is_some() {
        return open();
    }
    if env::var_os("RUNGS_TEST_DRIVER_IPC").is_some() {
        return export();
    }
    if env::var_os(LOG).is_some() {
        return work();
    }
    let missing = Command::new(COMPILER).arg("--version").output().err();
    if let Some(why) = &missing {
        eprintln!("the test with a driver made for it is ignored: the C compiler {COMPILER} does not start: {why}");
    }
    let trials = [
        Trial::test("objects_are_made_in_their_context_and_given_back", check),
        Trial::test("memory_is_shared_between_processes", check_ipc),
    ];
    let trials = trials.map(|trial| trial.with_ignored_flag(missing.is_some())).into();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The second process of the other trial: it owns memory, and a third one maps it.
fn export() {
    cuda_driver::load().unwrap();
    cuda_driver::init().unwrap();
    assert_eq!(ipc::export(256).err(), Some(Status::INVALID_CONTEXT));
    let context = Primary::retain(Device::get(0).unwrap()).unwrap();
    context.set_current().unwrap();
    let (stream, address) = (OwnStream::new(0).unwrap(), objects::allocate(8).unwrap());
    assert_eq!(ipc::export(address + 4).err(), Some(Status::INVALID_VALUE), "an address inside");
    let handle = ipc::export(address).unwrap();
    assert_eq!(ipc::open(handle), Err(Status::INVALID_CONTEXT), "a handle of the same process");
    // SAFETY: the allocation has eight bytes; nothing else uses it.
    unsafe { cuda_driver::copy_to_device(address, &[1, 2, 3, 4, 5, 6, 7, 8], stream.handle()) }.unwrap();
    let text: Vec<String> = handle.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let third = Command::new(env::current_exe().unwrap()).env(HANDLE, text.concat()).status().unwrap();
    assert!(third.success());
    let mut back = [0; 8];
    // SAFETY: as above; the third process has ended, and the memory is freed once.
    unsafe {
        cuda_driver::copy_to_host(&mut back, address, stream.handle()).unwrap();
        objects::free(address).unwrap();
    }
    assert_eq!(back, [1, 2, 3, 4, 9, 9, 9, 9]);
}

/// The third process: it maps the memory, reads and writes it.
fn open() {
    cuda_driver::load().unwrap();
    cuda_driver::init().unwrap();
    let text = env::var(HANDLE).unwrap();
    let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap();
    let handle = IpcHandle(std::array::from_fn(byte));
    assert_eq!(ipc::open(handle), Err(Status::INVALID_CONTEXT), "no context is current");
    let context = Primary::retain(Device::get(0).unwrap()).unwrap();
    context.set_current().unwrap();
    assert_eq!(ipc::open(IpcHandle([0; 64])), Err(Status::INVALID_VALUE));
    let (stream, address, mut back) = (OwnStream::new(0).unwrap(), ipc::open(handle).unwrap(), [0; 8]);
    // SAFETY: the memory of the other process has eight bytes, and it waits for this one; it is closed once.
    unsafe {
        cuda_driver::copy_to_host(&mut back, address, stream.handle()).unwrap();
        cuda_driver::fill(address + 4, 9, 4, stream.handle()).unwrap();
        cuda_driver::synchronize(stream.handle()).unwrap();
        ipc::close(address).unwrap();
        assert_eq!(ipc::close(address), Err(Status::INVALID_VALUE));
    }
    assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// The second process.
fn work() {
    cuda_driver::load().unwrap();
    cuda_driver::init().unwrap();
    assert_eq!((objects::version(), Device::count()), (Ok((13, 0)), Ok(1)));
    assert_eq!(Device::get(1), Err(Status::INVALID_VALUE));
    assert_eq!(Device::get(u32::MAX), Err(Status::INVALID_VALUE));
    let device = Device::get(0).unwrap();
    assert_eq!((device.name(), device.total_memory(), device.as_raw()), (Ok("nothing".into()), Ok(1 << 36), 0));
    // No context is current.
    assert_eq!(Device::current(), Err(Status::INVALID_CONTEXT));
    // SAFETY: text.
    assert_eq!(unsafe { Module::load(c"text") }.err(), Some(Status::INVALID_CONTEXT));
    let context = Primary::retain(device).unwrap();
    assert_eq!(Device::current(), Err(Status::INVALID_CONTEXT), "a hold makes nothing current");
    {
        // SAFETY: the context is held.
        let _current = unsafe { Current::enter(context.handle()) }.unwrap();
        assert_eq!((Device::current(), objects::memory_info()), (Ok(device), Ok((1 << 36, 1 << 36))));
        let stream = OwnStream::new(0).unwrap();
        // SAFETY: text.
        let module = unsafe { Module::load(c"text") }.unwrap();
        let function = module.function("kernel").unwrap();
        assert_eq!(module.function("ker\0nel"), Err(Status::NOT_FOUND));
        // SAFETY: the module is loaded.
        let threads = unsafe { cuda_driver::function_attribute(function, FunctionAttribute::MaxThreads) };
        assert_eq!(threads, Ok(1024));
        let (address, mut back) = (objects::allocate(4).unwrap(), [0; 4]);
        assert_ne!(address, 0);
        // SAFETY: the allocation has four bytes; nothing else uses it, and it is freed once.
        unsafe {
            cuda_driver::copy_to_device(address, &[1, 2, 3, 4], stream.handle()).unwrap();
            cuda_driver::copy_to_host(&mut back, address, stream.handle()).unwrap();
            cuda_driver::synchronize(stream.handle()).unwrap();
            objects::free(address).unwrap();
        }
        assert_eq!(back, [1, 2, 3, 4]);
    }
    assert_eq!(Device::current(), Err(Status::INVALID_CONTEXT), "the thread has no context, as before");
    context.set_current().unwrap();
    assert_eq!(Device::current(), Ok(device));
}

/// Runs the second process, with some variables, and returns the notes.
fn notes(variables: &[(&str, &str)]) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let (driver, log) = (folder.path().join("libcuda.so.1"), folder.path().join("log"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tests/driver/driver.c");
    let built = Command::new(COMPILER).args(["-shared", "-fPIC", "-o"]).arg(&driver).arg(source).status()?;
    assert!(built.success(), "the made-up driver does not compile");
    let mut second = Command::new(env::current_exe()?);
    second.env(LOG, &log).env("LD_LIBRARY_PATH", folder.path()).envs(variables.iter().copied());
    let output = second.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(fs::read_to_string(log)?)
}

fn check_ipc() -> Result<(), Failed> {
    let log = notes(&[("RUNGS_TEST_DRIVER_IPC", "1")])?;
    let of_memory: Vec<_> = log.lines().filter(|line| line.contains("memory") || line.contains("wrong")).collect();
    // The second call of close is refused.
    assert_eq!(of_memory, ["open memory 8", "fill memory 1", "close memory 8", "wrong close 0"]);
    Ok(())
}

fn check() -> Result<(), Failed> {
    let log = notes(&[])?;
    let lines: Vec<_> = log.lines().collect();
    let made = ["retain context 1", "create stream 1", "load module 1"];
    assert_eq!(lines, [&made[..], &["unload module 1", "destroy stream 1", "release context 1"]].concat());
    Ok(())
}
