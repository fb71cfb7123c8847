//! The speed of simulators on one core: a bitonic sort of 256 keys per block in shared memory, 36 rounds of
//! compare-exchanges and 37 barriers.
//!
//! Times are of the processor, not of the clock on the wall: the machine may be busy with other things.

use crate::tools::{Clock, folder, output, python, version};
use anyhow::{Result, ensure};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use riri::{GlobalBuf, LaunchConfig};
use serde::{Deserialize, Serialize};
use simt::sim::stats::statistics;
use simt::sim::{Check, Options, check, launch};
use simt::{Global, kernel, shared, thread};
use std::cell::Cell;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Keys of a block, and threads.
const BLOCK: u32 = 256;

/// Rounds in which the engines take turns; the median counts.
const ROUNDS: usize = 7;

shared!(TILE: [u32; BLOCK]);

#[kernel]
fn bitonic(keys: Global<u32>) {
    let (t, i, tile) = (thread::thread_idx_x(), thread::index_1d(), TILE::view());
    tile.set(t, keys.get(i));
    thread::sync_threads(); // all keys are there before they are compared
    let mut stage = 2;
    while stage <= BLOCK {
        let mut distance = stage / 2;
        while distance > 0 {
            let partner = t ^ distance;
            if partner > t {
                let (a, b) = (tile.get(t), tile.get(partner));
                if (a > b) == (t & stage == 0) {
                    tile.set(t, b);
                    tile.set(partner, a);
                }
            }
            thread::sync_threads(); // each step reads what the step before has written
            distance /= 2;
        }
        stage *= 2;
    }
    keys.set(i, tile.get(t));
}

fn random(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| (i ^ i >> 7).wrapping_mul(0x9E37_79B9).rotate_left(13).wrapping_mul(0x85EB_CA6B)).collect()
}

fn assert_sorted(keys: &[u32]) {
    assert!(keys.chunks(BLOCK as usize).all(|block| block.is_sorted()), "every block is sorted");
}

/// Seconds that the simulator takes for `n` keys, with `around` around the launch.
fn ours(n: usize, around: impl FnOnce(&mut dyn FnMut())) -> f64 {
    let mut keys = random(n);
    // SAFETY: the words outlive the launch.
    let view = unsafe { Global::from_raw(keys.as_mut_ptr(), n as u32) };
    let geometry = ([n as u32 / BLOCK, 1, 1], [BLOCK, 1, 1]);
    let start = Clock::start();
    around(&mut || launch(bitonic, geometry.0, geometry.1, 0, (view,), Options { workers: 1 }).unwrap());
    let seconds = start.seconds();
    assert_sorted(&keys);
    seconds
}

/// Checks that find nothing, or the sort is not what is measured.
fn checked(work: &mut dyn FnMut()) {
    let report = check(Check { schedules: 1, ..Check::default() }, work).report;
    assert!(report.is_clean() && report.not_judged == 0, "{:?}", report.findings);
}

/// Seconds that coroutines take for `n` keys that do nothing but compare and switch.
fn probe(n: usize) -> f64 {
    let mut keys = random(n);
    let mut stacks: Vec<DefaultStack> = (0..BLOCK).map(|_| DefaultStack::new(64 << 10).expect("room")).collect();
    let start = Clock::start();
    for block in keys.chunks_mut(BLOCK as usize) {
        let tile: Vec<Cell<u32>> = block.iter().map(|key| Cell::new(*key)).collect();
        let tile = &tile[..];
        let body = |t: usize| {
            move |yielder: &corosensei::Yielder<(), ()>, ()| {
                yielder.suspend(());
                let mut stage = 2;
                while stage <= BLOCK as usize {
                    let mut distance = stage / 2;
                    while distance > 0 {
                        let partner = t ^ distance;
                        if partner > t {
                            let (a, b) = (tile[t].get(), tile[partner].get());
                            if (a > b) == (t & stage == 0) {
                                tile[t].set(b);
                                tile[partner].set(a);
                            }
                        }
                        yielder.suspend(());
                        distance /= 2;
                    }
                    stage *= 2;
                }
            }
        };
        // SAFETY: the coroutines end, and give their stacks back, before the tile is dropped.
        let start = |(t, stack)| unsafe { Coroutine::<(), (), (), _>::with_stack_unchecked(stack, body(t)) };
        let mut threads: Vec<_> = stacks.drain(..).enumerate().map(start).collect();
        loop {
            let mut ended = false;
            for thread in &mut threads {
                ended |= matches!(thread.resume(()), CoroutineResult::Return(()));
            }
            if ended {
                break;
            }
        }
        stacks.extend(threads.into_iter().map(Coroutine::into_stack));
        block.iter_mut().zip(tile).for_each(|(key, cell)| *key = cell.get());
    }
    let seconds = start.seconds();
    assert_sorted(&keys);
    seconds
}

/// Seconds that riri takes, with all its checks.
fn riri(n: usize) -> f64 {
    let keys = GlobalBuf::new("keys", random(n));
    let start = Clock::start();
    let config = LaunchConfig::new(n as u32 / BLOCK, BLOCK).resident_blocks(4);
    let report = riri::launch(&config, |thread| {
        let (t, i) = (thread.thread_linear(), thread.global_linear());
        let tile = thread.shared::<u32>("tile", BLOCK as usize);
        tile.write(thread, t, keys.read(thread, i));
        thread.sync_threads();
        let mut stage = 2;
        while stage <= BLOCK as usize {
            let mut distance = stage / 2;
            while distance > 0 {
                let partner = t ^ distance;
                if partner > t {
                    let (a, b) = (tile.read(thread, t), tile.read(thread, partner));
                    if (a > b) == (t & stage == 0) {
                        tile.write(thread, t, b);
                        tile.write(thread, partner, a);
                    }
                }
                thread.sync_threads();
                distance /= 2;
            }
            stage *= 2;
        }
        keys.write(thread, i, tile.read(thread, t));
    });
    let seconds = start.seconds();
    report.assert_clean();
    assert_sorted(&keys.to_vec());
    seconds
}

/// Seconds that Oclgrind takes, less those for one block: what it needs to start and to compile.
fn oclgrind(n: usize, options: &[&str]) -> Option<f64> {
    let seconds = |n: usize| {
        let kernel = folder().join("opencl/bitonic.cl");
        let keys: Vec<String> = random(n).iter().map(u32::to_string).collect();
        let size = 4 * n;
        let text = format!("{}\nbitonic\n{n} 1 1\n256 1 1\n<size={size} uint>\n{}\n", kernel.display(), keys.join(" "));
        let file = std::env::temp_dir().join(format!("bitonic-{}-{n}.sim", std::process::id()));
        std::fs::write(&file, text).ok()?;
        let start = Clock::start();
        let mut command = Command::new("oclgrind-kernel");
        let said = output(command.args(["--num-threads", "1"]).args(options).arg(&file), Duration::from_secs(300));
        let seconds = start.seconds();
        let _ = std::fs::remove_file(&file);
        said.filter(|said| !said.contains("race") && !said.contains("rror")).map(|_| seconds)
    };
    Some(seconds(n + BLOCK as usize)? - seconds(BLOCK as usize)?)
}

/// Seconds that numba's simulator takes, less those for one block.
fn numba(n: usize) -> Option<f64> {
    let seconds = |n: usize| {
        let start = Clock::start();
        let mut command = Command::new(python());
        let said = output(command.arg(folder().join("numba/bitonic.py")).arg(n.to_string()), Duration::from_secs(300))?;
        said.lines().last()?.trim().parse::<f64>().ok().map(|_| start.seconds())
    };
    Some(seconds(n + BLOCK as usize)? - seconds(BLOCK as usize)?)
}

/// One engine.
#[derive(Serialize, Deserialize)]
pub struct Row {
    engine: String,
    checks: String,
    /// Keys that were sorted per run.
    n: usize,
    /// Keys per second: the median.
    median: f64,
    lowest: f64,
    highest: f64,
}

/// The report.
#[derive(Serialize, Deserialize)]
pub struct Report {
    schema: u32,
    rounds: usize,
    processor: String,
    versions: Vec<String>,
    rows: Vec<Row>,
    /// Engines that were not there.
    missing: Vec<String>,
}

/// Name, checks, keys, rounds, and the seconds that those keys take.
type Engine = (&'static str, &'static str, usize, usize, Box<dyn Fn(usize) -> Option<f64>>);

/// Measures all engines in turns, and prints a table.
///
/// # Errors
/// If ours did not run.
pub fn run() -> Result<Report> {
    let all = ["--data-races", "--uninitialized"];
    let engines: Vec<Engine> = vec![
        ("coroutines alone", "none: compare and switch", 1 << 17, ROUNDS, Box::new(|n| Some(probe(n)))),
        ("rungs", "bounds, barriers, masks", 1 << 17, ROUNDS, Box::new(|n| Some(ours(n, |work| work())))),
        ("rungs", "all", 1 << 15, ROUNDS, Box::new(|n| Some(ours(n, checked)))),
        ("rungs", "statistics", 1 << 15, ROUNDS, Box::new(|n| Some(ours(n, |work| drop(statistics(work)))))),
        (
            "rungs",
            "all, and statistics",
            1 << 15,
            ROUNDS,
            Box::new(|n| Some(ours(n, |work| drop(statistics(|| checked(work)))))),
        ),
        ("Oclgrind", "bounds, divergence", 1 << 15, 3, Box::new(|n| oclgrind(n, &[]))),
        ("Oclgrind", "+ races, unwritten memory", 1 << 13, 3, Box::new(move |n| oclgrind(n, &all))),
        ("riri", "all", 1 << 10, 3, Box::new(|n| Some(riri(n)))),
        ("numba's simulator", "bounds", 1 << 11, 3, Box::new(numba)),
    ];
    let mut rates: Vec<Vec<f64>> = vec![vec![]; engines.len()];
    for round in 0..ROUNDS {
        for ((_, _, n, rounds, seconds), rates) in engines.iter().zip(&mut rates) {
            if round < *rounds {
                rates.extend(seconds(*n).map(|seconds| *n as f64 / seconds));
            }
        }
    }
    let mut report = Report {
        schema: 1,
        rounds: ROUNDS,
        processor: processor(),
        versions: [
            version(Path::new("oclgrind-kernel"), &["--version"]),
            version(&python(), &["-c", "import numba; print('numba', numba.__version__)"]),
            Some("riri 0.8.0".into()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        rows: vec![],
        missing: vec![],
    };
    for ((engine, checks, n, ..), mut rates) in engines.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        match rates[..] {
            [] => report.missing.push(engine.into()),
            [lowest, ..] => {
                let (median, highest) = (rates[rates.len() / 2], rates[rates.len() - 1]);
                let (engine, checks) = (engine.into(), checks.into());
                report.rows.push(Row { engine, checks, n, median, lowest, highest });
            }
        }
    }
    ensure!(report.rows.len() >= 5, "the simulator did not run");
    println!("{}", report.table());
    Ok(report)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    name.trim_start_matches([' ', '\t', ':']).to_owned()
}

impl Report {
    /// The table, and what it was measured on.
    pub fn page(&self) -> String {
        format!("{}\nMeasured on one core of {}; {}.\n", self.table(), self.processor, self.versions.join(", "))
    }

    fn table(&self) -> String {
        let mut text = String::from(
            "| engine | checks | keys/s | lowest to highest | of ours, bare |\n| --- | --- | --- | --- | --- |\n",
        );
        let bare = self.rows[1].median;
        for Row { engine, checks, median, lowest, highest, .. } in &self.rows {
            let share = if median * 100.0 > bare {
                format!("{:.2}", median / bare)
            } else {
                format!("1 : {:.0}", bare / median)
            };
            let _ = writeln!(text, "| {engine} | {checks} | {median:.0} | {lowest:.0} to {highest:.0} | {share} |");
        }
        text
    }
}
