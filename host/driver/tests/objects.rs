//! Devices, contexts, streams, modules and memory, on the driver of tests/tests/driver/driver.c, which runs nothing and
//! notes the calls. This program starts itself again, because a process has one driver for good. If there is no C
//! compiler, the trial is reported as ignored.

use cuda_driver::objects::{self, Device, Module, OwnStream, Primary};
use cuda_driver::{Current, FunctionAttribute, Status};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::Command;
use std::{env, fs};

const COMPILER: &str = "cc";

/// Names the file for the driver's notes; it is set in the second process alone.
const LOG: &str = "RUNGS_TEST_DRIVER_LOG";

fn main() {
    if env::var_os(LOG).is_some() {
        return work();
    }
    let missing = Command::new(COMPILER).arg("--version").output().err();
    if let Some(why) = &missing {
        eprintln!("the test with a driver made for it is ignored: the C compiler {COMPILER} does not start: {why}");
    }
    let trial = Trial::test("objects_are_made_in_their_context_and_given_back", check);
    libtest_mimic::run(&Arguments::from_args(), vec![trial.with_ignored_flag(missing.is_some())]).exit();
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

/// Runs the second process and reads the notes.
fn check() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (driver, log) = (folder.path().join("libcuda.so.1"), folder.path().join("log"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tests/driver/driver.c");
    let built = Command::new(COMPILER).args(["-shared", "-fPIC", "-o"]).arg(&driver).arg(source).status()?;
    assert!(built.success(), "the made-up driver does not compile");
    let mut second = Command::new(env::current_exe()?);
    let output = second.env(LOG, &log).env("LD_LIBRARY_PATH", folder.path()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log)?;
    let lines: Vec<_> = log.lines().collect();
    let made = ["retain context 1", "create stream 1", "load module 1"];
    assert_eq!(lines, [&made[..], &["unload module 1", "destroy stream 1", "release context 1"]].concat());
    Ok(())
}
