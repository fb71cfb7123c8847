//! Groups of processes of one host, each of which is this program, started again as torchrun starts it. On simulators,
//! and on the driver of driver/driver.c, which lets processes map each other's memory and notes whatever a driver
//! forbids. If there is no C compiler, the trials with that driver are reported as ignored.

use libtest_mimic::{Arguments, Failed, Trial};
use rungs::data::{Distribution, Element, sorted};
use rungs::engine::{DeviceChoice, Engine};
use rungs::{Error, Operation, Result};
use rungs_group::launcher::Place;
use rungs_group::sort::{SortRung, Sorter};
use rungs_group::{self as group, Exchange, Group, Processes, Round, Settings, ShardedVec, Tcp, Transport};
use std::fs;
use std::net::TcpListener;
use std::num::NonZero;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const COMPILER: &str = "cc";

/// What a rank does; it is set in the ranks' processes alone.
const MODE: &str = "RUNGS_TEST_PROCESSES";

/// Keys of the sorts.
const N: usize = 20_011;

/// How long the ranks wait that miss one.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    if let Ok(mode) = std::env::var(MODE) {
        match run(&mode) {
            Ok(said) => println!("{said}"),
            Err(error) => {
                println!("{error}");
                std::process::exit(error.exit_code().into());
            }
        }
        return;
    }
    let missing = Command::new(COMPILER).arg("--version").output().err();
    if let Some(why) = &missing {
        eprintln!("the tests with a driver made for them are ignored: the C compiler {COMPILER} does not start: {why}");
    }
    let gone = |said: &str| said.starts_with("rank 1 is gone: ");
    let late = |said: &str| said == "rank 1 did not answer within 2 s";
    let on_simulators = [
        Trial::test("simulators_sort", || all(3, "sort", "sorted by memory of the host")),
        Trial::test("simulators_sort_by_kernels", || all(2, "kernel", "sorted by pull kernels")),
        Trial::test("a_killed_simulator_ends_all", move || others(3, "kill", 5, gone)),
        Trial::test("a_late_simulator_ends_all", move || others(3, "late", 5, late)),
        Trial::test("a_rank_0_that_is_killed_ends_all", || {
            others_than(0, 3, "kill-0", 5, |said| said.starts_with("rank 0 is gone: "))
        }),
    ];
    let on_a_driver = [
        Trial::test("mapped_memory_is_exchanged", mapped),
        Trial::test("memory_that_cannot_be_mapped_is_told", || {
            let want = |said: &str| said.starts_with("apart: rank 0 cannot read the memory of rank 2: ");
            ended(&on_driver(3, "apart", &[("RUNGS_TEST_DRIVER_APART", "1")])?.0, 0, want)
        }),
        Trial::test("a_killed_gpu_ends_all", move || ended(&on_driver(3, "gpu-kill", &[])?.0[..1], 5, gone)),
    ];
    let on_a_driver = on_a_driver.map(|trial| trial.with_ignored_flag(missing.is_some()));
    let trials = on_simulators.into_iter().chain(on_a_driver).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A rank's process.
fn run(mode: &str) -> Result<String> {
    let place = Place::of_process()?.ok_or_else(|| Error::Usage("this is no rank".into()))?;
    let timeout =
        if ["late", "kill", "kill-0", "gpu-kill"].contains(&mode) { PATIENCE } else { Duration::from_secs(60) };
    let transport = if mode == "kernel" { Transport::Kernel } else { Transport::Suited };
    if !["apart", "gpu", "gpu-kill"].contains(&mode) {
        let device = DeviceChoice::SimulatorOf(NonZero::new(4).unwrap());
        let work = |group: &dyn Group, engine: &Engine| match mode {
            "late" | "kill" | "kill-0" => fail(group, engine, mode),
            _ => sort(group, engine),
        };
        return place.run(device, Settings { transport, timeout }, work);
    }
    let meeting = group::share(Tcp::new(place.rank, place.size, &place.at, timeout)?)?;
    // The driver runs no kernel, so there is none.
    let engine = Engine::of_kernels(0, &[("sm_80", "text")])?;
    let group = match Processes::join(meeting, &engine, transport)? {
        Ok(group) => group,
        Err((_, why)) => return Ok(format!("apart: {why}")),
    };
    if mode == "gpu" { exchanges(&group, &engine) } else { fail(&group, &engine, "kill") }
}

/// Sorts by both rungs, and compares; then a sum.
fn sort(group: &dyn Group, engine: &Engine) -> Result<String> {
    let keys: Vec<u32> = Distribution::Uniform.keys(N as u64, 7)?;
    let (rank, size) = (group.rank(), group.size());
    let share = N * rank / size..N * (rank + 1) / size;
    let sum = keys.iter().fold(0, |sum: u32, &key| sum.wrapping_add(key));
    let want = sorted(&u32::wrap(keys.clone()));
    for rung in SortRung::ALL {
        let mut vec = ShardedVec::from_slice(group, engine, &keys[share.clone()])?;
        let mut sorter = Sorter::new(group, engine)?;
        for _ in 0..2 {
            assert_eq!(sorter.sort(&mut vec, rung)?, rung);
        }
        let all = group.all_gather(&vec.to_vec()?)?.concat();
        assert!(u32::wrap(all).first_difference(&want).is_none(), "{rung}");
        assert_eq!(vec.reduce(Operation::Sum)?, sum);
    }
    Ok(format!("sorted by {}", group.transport()))
}

/// Memory for an exchange, in which each rank sends each other one some words.
fn exchange(
    group: &dyn Group,
    engine: &Engine,
    words: usize,
    after: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let (me, size, bytes) = (group.rank(), group.size(), 4 * words);
    let from = engine.upload(&(0..words * size).map(|i| (i + 1000 * me) as u32).collect::<Vec<_>>())?;
    let (to, stream) = (engine.upload(&vec![7_u32; words * size])?, engine.second_stream()?);
    let part = |rank: usize| bytes * rank..bytes * (rank + 1);
    let rounds = [Round { sends: (0..size).map(part).collect(), receives: (0..size).map(part).collect() }];
    // Memory that is mapped already is found again.
    for _ in 0..3 {
        group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, after)?;
    }
    let want = (0..size).flat_map(|rank| (0..words).map(move |i| (words * me + i + 1000 * rank) as u32));
    assert!(to.download()?.into_iter().eq(want), "{words} words on rank {me}");
    Ok(())
}

/// Exchanges memory that is freed and allocated again.
fn exchanges(group: &dyn Group, engine: &Engine) -> Result<String> {
    for words in [64, 0, 64, 5, 1024, 64] {
        exchange(group, engine, words, &mut |_| Ok(()))?;
        if words == 5 {
            group.reclaim()?;
        }
    }
    Ok(format!("moved by {}", group.transport()))
}

/// A rank that ends in an exchange, or is late for one.
fn fail(group: &dyn Group, engine: &Engine, mode: &str) -> Result<String> {
    exchange(group, engine, 10, &mut |_| Ok(()))?;
    match (mode, group.rank()) {
        ("late", 1) => std::thread::sleep(3 * PATIENCE),
        ("kill", 1) | ("kill-0", 0) => {
            return exchange(group, engine, 10, &mut |_| std::process::abort()).map(|()| String::new());
        }
        _ => {}
    }
    exchange(group, engine, 10, &mut |_| Ok(()))?;
    Ok("nobody failed".into())
}

/// The outputs of the ranks that some variables are set for, in time.
fn ranks(size: usize, mode: &str, variables: &[(&str, &str)]) -> std::result::Result<Vec<Output>, Failed> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port().to_string();
    let (program, start) = (std::env::current_exe()?, Instant::now());
    let started = (0..size).map(|rank| {
        let mut call = Command::new(&program);
        call.envs([
            ("RANK", &*rank.to_string()),
            ("WORLD_SIZE", &size.to_string()),
            ("RUNGS_PORT", &port),
            (MODE, mode),
        ]);
        call.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    });
    let started = started.collect::<std::io::Result<Vec<_>>>()?;
    let ended = started.into_iter().map(|rank| rank.wait_with_output()).collect::<std::io::Result<_>>()?;
    if start.elapsed() > Duration::from_secs(60) {
        return Err("it took longer than a time-out".into());
    }
    Ok(ended)
}

/// Expects an exit code and words of ranks.
fn ended(ranks: &[Output], code: i32, is_right: impl Fn(&str) -> bool) -> std::result::Result<(), Failed> {
    for rank in ranks {
        let said = String::from_utf8_lossy(&rank.stdout);
        if rank.status.code() != Some(code) || !is_right(said.trim_end()) {
            let errors = String::from_utf8_lossy(&rank.stderr);
            return Err(format!("exit {:?}: {said}{errors}", rank.status.code()).into());
        }
    }
    Ok(())
}

fn all(size: usize, mode: &str, said: &str) -> std::result::Result<(), Failed> {
    ended(&ranks(size, mode, &[])?, 0, |all| all == said)
}

/// Of all but rank 1.
fn others(size: usize, mode: &str, code: i32, is_right: impl Fn(&str) -> bool) -> std::result::Result<(), Failed> {
    others_than(1, size, mode, code, is_right)
}

fn others_than(
    one: usize,
    size: usize,
    mode: &str,
    code: i32,
    is_right: impl Fn(&str) -> bool,
) -> std::result::Result<(), Failed> {
    let mut ranks = ranks(size, mode, &[])?;
    ranks.remove(one);
    ended(&ranks, code, is_right)
}

/// The outputs of the ranks on a driver that shares memory, and that driver's notes.
fn on_driver(
    size: usize,
    mode: &str,
    variables: &[(&str, &str)],
) -> std::result::Result<(Vec<Output>, String), Failed> {
    let folder = TempDir::new()?;
    let (driver, log) = (folder.path().join("libcuda.so.1"), folder.path().join("log"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver/driver.c");
    let built = Command::new(COMPILER).args(["-shared", "-fPIC", "-o"]).arg(&driver).arg(source).status()?;
    assert!(built.success(), "the made-up driver does not compile");
    let (path, log_name) = (folder.path().to_string_lossy(), log.to_string_lossy());
    let own = [("LD_LIBRARY_PATH", &*path), ("RUNGS_TEST_DRIVER_LOG", &log_name), ("RUNGS_TEST_DRIVER_IPC", "1")];
    let ended = ranks(size, mode, &[&own[..], variables].concat())?;
    Ok((ended, fs::read_to_string(log)?))
}

/// The driver notes memory that is freed while another process has it mapped.
fn mapped() -> std::result::Result<(), Failed> {
    let (ranks, log) = on_driver(3, "gpu", &[])?;
    ended(&ranks, 0, |said| said == "moved by copy engines")?;
    let count = |what: &str| log.lines().filter(|line| line.starts_with(what)).count();
    if let Some(wrong) = log.lines().find(|line| line.starts_with("wrong")) {
        return Err(format!("the driver notes: {wrong}").into());
    }
    // Two small allocations, and one for each exchange of words: of each rank by two others.
    let want = 6 * (2 + 5);
    let (opened, closed) = (count("open memory"), count("close memory"));
    if (opened, closed) != (want, want) {
        return Err(format!("{opened} mappings and {closed} ends of one, in place of {want}").into());
    }
    Ok(())
}
