//! Groups whose data moves by NCCL, with an NCCL and a driver made for the test: see nccl/nccl.c and driver/driver.c.
//! This program starts itself again for each trial, because a process has one NCCL for good. If there is no C compiler,
//! or the program was built without PTX, the trials are reported as ignored.

use libtest_mimic::{Arguments, Failed, Trial};
use rungs::engine::{DeviceChoice, Engine, ptx};
use rungs_group::profile::profile;
use rungs_group::{self as group, Exchange, Group, Nccl, Rendezvous, Round, Settings, Tcp, Transport};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DRIVER: &str = include_str!("driver/driver.c");
const NCCL: &str = include_str!("nccl/nccl.c");
const COMPILER: &str = "cc";

/// Both ranks say it: rank 0 is the only one that asks for an identifier.
const NAMELESS: &str = "\
making an identifier failed in NCCL 2.28.9: remote process exited (6); NCCL_DEBUG=INFO says more
rank 0 failed: making an identifier failed in NCCL 2.28.9: remote process exited (6); NCCL_DEBUG=INFO says more
";

/// What each rank's streams and its host did in one exchange: name, bytes that came, and bytes that were sent.
const PROFILED: &str = "\
rank 0, host: [exchange] 2000 2000
rank 0, stream 1: [HtoD] 4000 [DtoH] 4000
rank 0, stream 2: [NCCL] 1000 1000 [DtoD] 600 [NCCL] 1000 1000 [DtoD] 600
rank 1, host: [exchange] 2000 2000
rank 1, stream 1: [HtoD] 4000 [DtoH] 4000
rank 1, stream 2: [NCCL] 1000 1000 [DtoD] 600 [NCCL] 1000 1000 [DtoD] 600
";

/// Set in the second process alone.
const MODE: &str = "RUNGS_TEST_NCCL";

/// Set in the second process alone.
const WORKS: &str = "RUNGS_TEST_NCCL_WORKS";

fn main() {
    if std::env::var_os(WORKS).is_some() {
        // SAFETY: this process has no other thread yet.
        unsafe { group::nccl::without_multicast() };
        return work();
    }
    let compiler = Command::new(COMPILER).arg("--version").output();
    let missing = compiler.err().map(|e| format!("the C compiler {COMPILER} does not start: {e}"));
    let missing = missing.or_else(|| ptx::PTX.is_empty().then(|| "there is no PTX in this program".into()));
    if let Some(why) = &missing {
        eprintln!("the tests with an NCCL made for them are ignored: {why}");
    }
    // How NCCL fails, what is said, and the exit code.
    let trials = [
        ("fine", "rank 0 by NCCL 2.28.9", 0),
        ("busy", "rank 0 by NCCL 2.28.9", 0),
        ("old", "libnccl.so.2: it is NCCL 2.10.3; 2.14.0 or newer is needed", 3),
        ("none", "rank 0 cannot use NCCL", 3),
        ("hang", "joining the group did not end within 0.5 s", 5),
        ("lost", "an exchange failed in NCCL 2.28.9: remote process exited (6)", 5),
        // Here the ranks meet over TCP, as processes do.
        ("met", "rank 0 by NCCL 2.28.9\nrank 1 by NCCL 2.28.9\n", 0),
        ("nameless", NAMELESS, 5),
        ("profiled", PROFILED, 0),
    ];
    let trials = trials.map(|(mode, said, code)| {
        let name = format!("an_nccl_that_is_{mode}");
        Trial::test(name, move || check(mode, said, code)).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

/// The second process: two ranks on the one device that the driver has.
fn work() {
    if std::env::var(MODE).is_ok_and(|mode| ["met", "nameless"].contains(&&*mode)) {
        return work_over_tcp();
    }
    let settings = Settings { transport: Transport::Nccl, timeout: Duration::from_millis(500) };
    let is_profiled = std::env::var(MODE).is_ok_and(|mode| mode == "profiled");
    let run = if is_profiled { profiled } else { exchange };
    match group::run_with(&[DeviceChoice::Cuda(0); 2], settings, run) {
        Ok(said) => println!("{}", said[0]),
        Err(error) => {
            println!("{error}");
            std::process::exit(error.exit_code().into());
        }
    }
}

fn work_over_tcp() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let at = &Rendezvous { host: "127.0.0.1".into(), port, job: "nccl".into(), ..Default::default() };
    let rank = |rank: usize| {
        let meeting = Tcp::new(rank, 2, at, Duration::from_secs(20))?;
        let engine = Engine::open(DeviceChoice::Cuda(0))?;
        exchange(&Nccl::new(Box::new(meeting), &engine)?, &engine)
    };
    let said: Vec<rungs::Result<String>> = std::thread::scope(|scope| {
        let ranks = [0, 1].map(|i| scope.spawn(move || rank(i)));
        ranks.map(|rank| rank.join().unwrap()).into()
    });
    let code = said.iter().filter_map(|said| said.as_ref().err()).map(|error| error.exit_code()).max();
    said.iter().for_each(|said| println!("{}", said.as_ref().map_or_else(ToString::to_string, Clone::clone)));
    std::process::exit(code.unwrap_or(0).into());
}

fn exchange(group: &dyn Group, engine: &Engine) -> rungs::Result<String> {
    let me = group.rank();
    let from = engine.upload(&(0..1000).map(|i| i + 1000 * me as u32).collect::<Vec<_>>())?;
    let to = engine.alloc::<u32>(1000)?;
    // 300 words from oneself, 500 from the other; in two rounds.
    let round = |at: usize| {
        let (own, other) = (4 * at..4 * (at + 150), 4 * (at + 200)..4 * (at + 450));
        let by = |own: &std::ops::Range<usize>, other: &std::ops::Range<usize>| {
            (0..2).map(|rank| if rank == me { own.clone() } else { other.clone() }).collect()
        };
        Round { sends: by(&own, &other), receives: by(&own, &other) }
    };
    let stream = engine.second_stream()?;
    let rounds = [round(0), round(500)];
    group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))?;
    let got = to.download()?;
    for at in [0, 500] {
        let is_from =
            |range: std::ops::Range<usize>, rank: usize| range.clone().all(|i| got[i] == (i + 1000 * rank) as u32);
        assert!(is_from(at..at + 150, me) && is_from(at + 200..at + 450, 1 - me), "rank {me}");
    }
    Ok(format!("rank {me} by {}", group.transport()))
}

/// The exchange with a profile, by events.
fn profiled(group: &dyn Group, engine: &Engine) -> rungs::Result<String> {
    let (_, profile) = profile(group, engine, || exchange(group, engine))?;
    for member in &profile.ranks {
        assert!(member.begin_ms >= 0.0 && member.end_ms > member.begin_ms && member.within_ms > 0.0, "{member:?}");
    }
    let mut said = String::new();
    for track in &profile.tracks {
        let member = &profile.ranks[track.rank.unwrap()];
        said += &format!("{track}:");
        // Times of events are single floats: of some milliseconds, exact to less than a nanosecond.
        let (from, to) = (member.begin_ms - member.within_ms - 1e-3, member.end_ms + member.within_ms + 1e-3);
        let mut before = from;
        for e in &track.profile.trace {
            assert!(e.start_ms >= before - 1e-4 && e.start_ms + e.duration_ms <= to, "{e:?} {member:?}");
            before = e.start_ms + e.duration_ms;
            said += &format!(" {} {}", e.name, e.size.unwrap());
            said += &e.sent.map_or(String::new(), |sent| format!(" {sent}"));
        }
        said += "\n";
    }
    Ok(said)
}

fn compile(source: &str, folder: &Path, name: &str) -> Result<(), Failed> {
    let from = folder.join(format!("{name}.c"));
    fs::write(&from, source)?;
    let arguments = ["-shared", "-fPIC", "-Wall", "-pthread", "-o"];
    let built = Command::new(COMPILER).args(arguments).arg(folder.join(name)).arg(&from).status()?;
    if built.success() { Ok(()) } else { Err(format!("{name} for the test does not compile").into()) }
}

/// Starts the second process with such an NCCL, and looks at what it says, and how soon.
fn check(mode: &str, said: &str, code: i32) -> Result<(), Failed> {
    let folder = TempDir::new()?;
    compile(DRIVER, folder.path(), "libcuda.so.1")?;
    if mode != "none" {
        compile(NCCL, folder.path(), "libnccl.so.2")?;
    }
    let start = Instant::now();
    let mut second = Command::new(std::env::current_exe()?);
    second.env(WORKS, "1").env(MODE, mode).env("LD_LIBRARY_PATH", folder.path());
    second.env("RUNGS_TEST_DRIVER_LOG", folder.path().join("log")).env_remove("NCCL_NVLS_ENABLE");
    if mode == "lost" {
        second.env("RUNGS_TEST_DRIVER_PENDING", "1");
    }
    let output = second.env("RUNGS_NCCL", folder.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(code) || !text.contains(said) {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("exit {:?}: {text}{errors}", output.status.code()).into());
    }
    if start.elapsed() > Duration::from_secs(60) {
        return Err("it took longer than a time-out".into());
    }
    Ok(())
}
