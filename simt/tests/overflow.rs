//! A thread that overflows its stack is a fault, not the end of the process; other invalid accesses still end the
//! process.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use simt::sim::{LaunchError, Options, launch};
use simt::{Global, Kernel, kernel, thread};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

fn run<K: Kernel<Args = (Global<u32>,)>>(kernel: K, words: &mut [u32]) -> Result<(), LaunchError> {
    // SAFETY: the words outlive the launch.
    let view = unsafe { Global::from_raw(words.as_mut_ptr(), words.len() as u32) };
    launch(kernel, [5, 1, 1], [40, 1, 1], 0, (view,), Options { workers: 1 })
}

/// Not inlined: a kernel's own arrays are there from its first instruction on, in every thread.
#[inline(never)]
fn zero_of_many(i: u32) -> u32 {
    black_box([0u32; 1 << 20])[i as usize]
}

/// Thread 7 of block 3 has an array that is larger than any stack.
#[kernel]
fn large_array(data: Global<u32>) {
    thread::sync_threads(); // all have begun
    if (thread::block_idx_x(), thread::thread_idx_x()) == (3, 7) {
        data.set(0, zero_of_many(thread::thread_idx_x()));
    }
    thread::sync_threads(); // no thread has ended
}

fn depth(data: Global<u32>, n: u32) -> u32 {
    if n == 0 { 0 } else { 1 + black_box(depth(black_box(data), n - 1)) }
}

/// Thread 7 of block 3 calls itself without touching simulated memory.
#[kernel]
fn recursion(data: Global<u32>) {
    if (thread::block_idx_x(), thread::thread_idx_x()) == (3, 7) {
        data.set(0, depth(data, u32::MAX));
    }
}

#[kernel]
fn adds_one(data: Global<u32>) {
    data.set(thread::thread_idx_x(), data.get(thread::thread_idx_x()) + 1);
}

fn check<K: Kernel<Args = (Global<u32>,)>>(kernel: K) {
    let mut words = [0; 40];
    // Twice, and with a launch that works in between: the stack is used again.
    for round in 1..3 {
        let Err(LaunchError::Fault(fault)) = run(kernel, &mut words) else { panic!("no fault") };
        assert_eq!((fault.kernel, fault.block.0, fault.thread.0), (K::NAME, [3, 0, 0], [7, 0, 0]), "{fault}");
        assert!(fault.what.contains("overflows its stack") && fault.what.contains("128 KiB"), "{fault}");
        run(adds_one, &mut words).unwrap();
        assert_eq!(words, [5 * round; 40]);
    }
}

/// A kernel that reads an unmapped address, which the simulator does not handle.
#[kernel]
fn wild(_data: Global<u32>) {
    // SAFETY: none; that is the point.
    black_box(unsafe { std::ptr::without_provenance::<u32>(64).read_volatile() });
}

/// Which case a process that this test started is for.
const CASE: &str = "SIMT_OVERFLOW";

/// Each case has a process of its own, since one that fails would end it.
#[test]
fn an_overflow_is_a_fault_and_ends_no_process() {
    match std::env::var(CASE).as_deref() {
        Ok("large array") => return check(large_array),
        Ok("recursion") => return check(recursion),
        Ok("wild") => return run(wild, &mut [0]).unwrap(),
        _ => {}
    }
    let process = |case: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", "an_overflow_is_a_fault_and_ends_no_process"]).env(CASE, case).output();
        let output = output.unwrap();
        (output.status, format!("{case}: {} {}", output.status, String::from_utf8_lossy(&output.stderr)))
    };
    for case in ["large array", "recursion"] {
        let (status, text) = process(case);
        assert!(status.success(), "{text}");
    }
    let (status, text) = process("wild");
    assert_eq!(status.signal(), Some(11), "{text}");
}
