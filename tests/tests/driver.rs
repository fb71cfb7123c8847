//! What plans ask of the driver, with a driver made for the test, which runs nothing and notes the calls: see
//! driver/driver.c. This program starts itself again, because a process has one driver for good; the second process
//! works, and this one reads the notes. If there is no C compiler, or the program was built without PTX, the trial is
//! reported as ignored.

use cust::context::{ContextHandle, CurrentContext, legacy};
use cust::error::CudaResult;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use libtest_mimic::{Arguments, Failed, Trial};
use rungs::Operation;
use rungs::engine::{Engine, cuda, ptx};
use rungs::plan::Plan;
use rungs::vec::DeviceVec;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use tempfile::TempDir;

/// The driver's source.
const DRIVER: &str = include_str!("driver/driver.c");

const COMPILER: &str = "cc";

/// Names the file for the driver's notes; it is set in the second process alone.
const LOG: &str = "RUNGS_TEST_DRIVER_LOG";

fn main() {
    if std::env::var_os(LOG).is_some() {
        return work();
    }
    let arguments = Arguments::from_args();
    let compiler = Command::new(COMPILER).arg("--version").output();
    let missing = compiler.err().map(|e| format!("the C compiler {COMPILER} does not start: {e}"));
    let no_ptx = ptx::PTX.is_empty().then(|| "there is no PTX in this program".into());
    let trial = |name: &str, needs_ptx: bool, run: fn() -> Result<(), Failed>| {
        let why = missing.as_ref().or(no_ptx.as_ref().filter(|_| needs_ptx));
        if let Some(why) = why {
            eprintln!("{name} is ignored: {why}");
        }
        Trial::test(name, run).with_ignored_flag(why.is_some())
    };
    let trials = vec![
        trial("plans_only_enqueue_and_leave_what_is_the_callers", true, check),
        trial("the_stub_of_the_toolkit_is_no_driver", false, stub),
        trial("drivers_that_do_not_start_are_explained", false, not_started),
        trial("ptx_that_the_driver_is_too_old_for_is_not_taken", true, old),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// Compiles the driver, and gives the folder for the loader's path.
fn made() -> Result<TempDir, Failed> {
    let folder = TempDir::new()?;
    let (source, driver) = (folder.path().join("driver.c"), folder.path().join("libcuda.so.1"));
    fs::write(&source, DRIVER)?;
    let built = Command::new(COMPILER).args(["-shared", "-fPIC", "-Wall", "-o"]).arg(&driver).arg(&source).status()?;
    assert!(built.success(), "the made-up driver does not compile");
    Ok(folder)
}

/// The program `rungs` with this driver: exit code, standard output and standard error.
fn program(folder: &TempDir, (name, value): (&str, &str), arguments: &[&str]) -> (Option<i32>, String, String) {
    let beside = || std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("rungs");
    let mut program = Command::new(std::env::var_os("RUNGS_BIN").map_or_else(beside, PathBuf::from));
    program.args(arguments).env("LD_LIBRARY_PATH", folder.path()).env(LOG, folder.path().join("log"));
    let output = program.env(name, value).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A driver that another test has, or none: where a real one is installed, it is found behind the stub.
fn stub() -> Result<(), Failed> {
    let folder = made()?;
    let init = ("RUNGS_TEST_DRIVER_INIT", "34");
    let file = folder.path().join("libcuda.so.1").display().to_string();
    let (code, json, err) = program(&folder, init, &["doctor", "--format", "json"]);
    assert_eq!(code, Some(0), "{err}");
    let finding = serde_json::from_str::<serde_json::Value>(&json).unwrap()["findings"][0].clone();
    if finding["found"] == true {
        let detail = finding["detail"].as_str().unwrap();
        assert!(detail.starts_with('/') && !detail.contains(&file), "another driver is named: {finding}");
        return Ok(());
    }
    assert!(finding["detail"].as_str().unwrap().contains(&format!("{file} is the toolkit's stub")), "{finding}");
    assert!(finding["advice"].as_str().unwrap().contains("LD_LIBRARY_PATH"), "{finding}");
    let (code, _, err) = program(&folder, init, &["saxpy", "--n", "9"]);
    assert!(code == Some(0) && err.contains("using the simulator") && err.contains(&file), "{err}");
    let (code, _, err) = program(&folder, init, &["saxpy", "--n", "9", "--device", "cuda"]);
    assert!(code == Some(3) && err.contains(&format!("{file} is the CUDA toolkit's stub")), "{err}");
    Ok(())
}

fn not_started() -> Result<(), Failed> {
    let folder = made()?;
    for (status, word) in [("803", "two versions"), ("804", "forward compatibility"), ("999", "nvidia-smi")] {
        let init = ("RUNGS_TEST_DRIVER_INIT", status);
        for arguments in [&["saxpy", "--n", "9"][..], &["saxpy", "--n", "9", "--device", "cuda"]] {
            let (code, _, err) = program(&folder, init, arguments);
            assert_eq!(code, Some(1), "{err}");
            assert!(err.contains(status) && err.contains(word) && err.contains("--device sim"), "{err}");
        }
        let (code, _, err) = program(&folder, init, &["saxpy", "--n", "9", "--device", "sim"]);
        assert_eq!(code, Some(0), "{err}");
        let (code, out, _) = program(&folder, init, &["doctor"]);
        assert!(code == Some(0) && out.contains(word), "{out}");
    }
    Ok(())
}

fn old() -> Result<(), Failed> {
    let folder = made()?;
    let version = |version| ("RUNGS_TEST_DRIVER_VERSION", version);
    let (code, _, err) = program(&folder, version("11000"), &["saxpy", "--n", "9", "--device", "cuda"]);
    assert!(code == Some(3) && err.contains("for CUDA 11.0") && err.contains("--device sim"), "{err}");
    let (code, _, err) = program(&folder, version("11000"), &["saxpy", "--n", "9"]);
    assert!(code == Some(0) && err.contains("using the simulator: the driver is one for CUDA 11.0"), "{err}");
    let (_, doctor, _) = program(&folder, version("11000"), &["doctor"]);
    assert!(doctor.contains("the driver is too old for the PTX inside"), "{doctor}");
    // With each driver, the PTX for the latest architecture that loads.
    for (number, driver) in [("11000", (11, 0)), ("11080", (11, 8)), ("12000", (12, 0)), ("13000", (13, 0))] {
        let loads = |text: &str| cuda::least_driver(text).is_none_or(|least| least <= driver);
        let loadable: Vec<_> = ptx::PTX.iter().copied().filter(|(_, text)| loads(text)).collect();
        let want = cuda::choose(&loadable, (9, 0)).map_or("none", |(arch, _)| arch);
        let (_, json, err) = program(&folder, version(number), &["devices", "--format", "json"]);
        let taken = serde_json::from_str::<serde_json::Value>(&json).unwrap()["gpus"][0]["PTX_taken"].clone();
        assert_eq!(taken.as_str().and_then(|taken| taken.split(' ').next()), Some(want), "{number}: {err}");
        assert!(number != "11000" || want == "none", "{want}");
        assert!(number != "13000" || want != "none");
        for (arch, text) in ptx::PTX.iter() {
            let (major, minor) = cuda::least_driver(text).expect("of CUDA 11.4 or later");
            assert!(doctor.contains(&format!("for drivers of CUDA {major}.{minor} on")), "{arch}: {doctor}");
        }
    }
    Ok(())
}

/// Notes the beginning of a part.
fn part(name: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(std::env::var_os(LOG).unwrap()).unwrap();
    writeln!(file, "part {name} 0").unwrap();
}

fn told<T>(result: CudaResult<T>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

/// The second process. cust is first, and finds the driver by itself.
fn work() {
    told(cust::init(cust::CudaFlags::empty()));
    let device = told(cust::device::Device::get_device(0));
    let primary = told(cust::context::Context::new(device)); // context 1
    let context = told(legacy::Context::create_and_push(legacy::ContextFlags::SCHED_AUTO, device)); // context 2
    let streams = [(); 2].map(|()| told(Stream::new(StreamFlags::DEFAULT, None)));
    told(CurrentContext::set_current(&primary));
    let is_primary_current = || {
        let current = told(legacy::CurrentContext::get_current());
        assert_eq!(current.get_inner(), primary.get_inner(), "the thread has another context than before");
    };
    let [first, second] = [&streams[0], &streams[1]].map(|stream| stream.as_inner().cast());
    {
        part("adopt");
        // SAFETY: context and streams live longer than the engine.
        let engine = unsafe { Engine::adopt(context.get_inner().cast(), first) }.unwrap();
        is_primary_current();

        part("plans");
        let n = 1 << 23;
        let sort = Plan::<rungs::plan::Sort<f32>>::sort(&engine, n).unwrap();
        let pairs = Plan::<rungs::plan::SortPairs<u32, f32>>::sort_pairs_descending(&engine, n).unwrap();
        let scan = Plan::<rungs::plan::Scan<u64>>::scan(&engine, n, Operation::Sum, true).unwrap();
        let reduce = Plan::<rungs::plan::Reduce<i32>>::reduce(&engine, n, Operation::Min).unwrap();
        let histogram = Plan::<rungs::plan::Histogram<u8>>::histogram(&engine, n, 256).unwrap();
        is_primary_current();

        part("memory");
        let memory = [(); 2].map(|()| engine.alloc::<u64>(n).unwrap());
        let [a, b] = [&memory[0], &memory[1]].map(|memory| memory.as_ptr());
        let all = [sort.scratch_bytes(), pairs.scratch_bytes(), scan.scratch_bytes(), reduce.scratch_bytes()];
        let bytes = all.into_iter().fold(histogram.scratch_bytes(), usize::max);
        let scratch = engine.alloc::<u8>(bytes).unwrap();
        let free = scratch.as_ptr();
        let run = |stream| {
            // SAFETY: the arrays are as large as the plans say, and nothing runs.
            unsafe {
                sort.run(stream, a.cast(), free, bytes)?;
                pairs.run(stream, a.cast(), b.cast(), free, bytes)?;
                scan.run(stream, a, b, free, bytes)?;
                reduce.run(stream, a.cast(), b.cast(), free, bytes)?;
                histogram.run(stream, a.cast(), b.cast(), free, bytes)
            }
        };

        part("first stream");
        run(first).unwrap();
        is_primary_current();
        part("second stream");
        run(second).unwrap();
        part("default stream");
        run(ptr::null_mut()).unwrap();

        // A capture is begun and ended by the caller, in the stream's context.
        told(CurrentContext::set_current(&context));
        let (mode, mut graph) = (sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL, ptr::null_mut());
        part("captured");
        // SAFETY: the stream lives, and the second call writes a handle.
        unsafe {
            assert_eq!(sys::cuStreamBeginCapture_v2(streams[1].as_inner(), mode), sys::CUresult::CUDA_SUCCESS);
            run(second).unwrap();
            assert_eq!(sys::cuStreamEndCapture(streams[1].as_inner(), &mut graph), sys::CUresult::CUDA_SUCCESS);
        }
        told(CurrentContext::set_current(&primary));

        part("vectors");
        let mut vector = DeviceVec::from_slice(&engine, &[3u32, 1, 2]).unwrap();
        vector.sort().unwrap();
        vector.to_vec().unwrap();
        is_primary_current();
        part("drop");
    }
    is_primary_current();
    part("end");
    told(CurrentContext::set_current(&context));
    drop(streams);
    told(CurrentContext::set_current(&primary));
}

/// Runs the second process and reads the notes.
fn check() -> Result<(), Failed> {
    let folder = made()?;
    let log = folder.path().join("log");
    let mut second = Command::new(std::env::current_exe()?);
    let output = second.env(LOG, &log).env("LD_LIBRARY_PATH", folder.path()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log)?;
    let of = |name: &str| -> Vec<&str> {
        let lines = log.lines().skip_while(|line| *line != format!("part {name} 0")).skip(1);
        let lines: Vec<_> = lines.take_while(|line| !line.starts_with("part ")).collect();
        assert!(log.contains(&format!("part {name} 0")), "{log}");
        lines
    };
    for wrong in ["forbidden", "wrong", "attributed"] {
        let line = log.lines().find(|line| line.starts_with(wrong));
        assert_eq!(line, None, "in all:\n{log}");
    }
    // Plans load their kernels into the caller's context, and launch nothing; nothing of the caller's is destroyed.
    assert_eq!(of("adopt"), [""; 0]);
    let loaded = of("plans");
    assert!(!loaded.is_empty() && loaded.iter().all(|line| *line == "load module 2"), "{loaded:?}");
    // A vector loads what no plan had; all modules are unloaded.
    let loads = log.lines().filter(|line| *line == "load module 2").count();
    assert!(loads > loaded.len(), "{log}");
    assert_eq!(of("drop"), vec!["unload module 2"; loads]);
    // A plan that runs loads nothing: a stream that is captured could not.
    for part in ["first stream", "second stream", "default stream", "captured"] {
        assert!(!of(part).contains(&"load module 2"), "{part}:\n{log}");
    }
    assert_eq!(of("end"), ["destroy stream 1", "destroy stream 2", "destroy context 2", "release context 1"]);
    // The same on every stream, and on that stream alone.
    let kernels = |part: &str, stream: &str| {
        let lines = of(part).into_iter().filter(|line| !line.ends_with("capture 2") && *line != "load module 2");
        let split = lines.map(|line| {
            let [kind, name, number] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert_eq!(number, stream, "{part}: {line}");
            (kind, name)
        });
        split.collect::<Vec<_>>()
    };
    let first = kernels("first stream", "1");
    assert_eq!(kernels("second stream", "2"), first);
    assert_eq!(kernels("default stream", "-1"), first);
    let count = |kind: &str| first.iter().filter(|(what, _)| *what == kind).count();
    // One for each plan, and the sort of floats has two.
    assert_eq!(count("fill"), 6, "{first:?}");
    assert!(count("dependent") > 10 && count("launch") >= 2, "{first:?}");
    // In a graph no launch is a dependent one.
    let plain: Vec<_> =
        first.iter().map(|&(kind, name)| (if kind == "fill" { kind } else { "launch" }, name)).collect();
    assert_eq!(kernels("captured", "2"), plain);
    // A vector's kernels and fills are on the stream that the engine was given.
    assert!(!kernels("vectors", "1").is_empty());
    Ok(())
}
