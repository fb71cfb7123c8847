//! Kernels with one synchronisation changed: what can be changed is listed, and a check finds the change.

use simt::atomic::{Order, Scope};
use simt::sim::mutant::{Change, Mutant, mutants, mutated};
use simt::sim::{Check, Kind, Options, Report, check, launch};
use simt::{Global, Kernel, atomic, kernel, shared, thread, warp};

shared!(TILE: [u32; 64]);

/// Turns 64 elements around, by way of shared memory.
#[kernel]
fn reverse(data: Global<u32>) {
    let t = thread::thread_idx_x();
    TILE::view().set(t, data.get(t));
    thread::sync_threads();
    data.set(t, TILE::view().get(63 - t));
}

/// Lane 0 writes a word, and all lanes read it.
#[kernel]
fn from_lane_0(data: Global<u32>) {
    let t = thread::thread_idx_x();
    if t == 0 {
        TILE::view().set(0, 7);
    }
    warp::sync_warp(warp::FULL);
    data.set(t, TILE::view().get(0));
}

/// Block 0 writes a message and raises a flag; block 1 waits for the flag and reads.
#[kernel]
fn message(data: Global<u32>) {
    if thread::block_idx_x() == 0 {
        data.set(1, 42);
        data.store(0, 1, Order::Release, Scope::Device);
    } else {
        while data.load(0, Order::Acquire, Scope::Device) == 0 {}
        data.set(2, data.get(1));
    }
}

/// The same by fences.
#[kernel]
fn fenced(data: Global<u32>) {
    if thread::block_idx_x() == 0 {
        data.set(1, 42);
        atomic::fence(Order::Release, Scope::Device);
        data.store(0, 1, Order::Relaxed, Scope::Device);
    } else {
        while data.load(0, Order::Relaxed, Scope::Device) == 0 {}
        atomic::fence(Order::Acquire, Scope::Device);
        data.set(2, data.get(1));
    }
}

fn run<K: Kernel<Args = (Global<u32>,)> + Copy>(kernel: K, blocks: u32, threads: u32) -> Report {
    let checked = check(Check::default(), || {
        let mut data = [0u32; 64];
        // SAFETY: the array outlives the launch.
        let view = unsafe { Global::from_raw(data.as_mut_ptr(), 64) };
        launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, (view,), Options::default()).map_err(|why| why.to_string())
    });
    checked.report
}

/// Each change of the kernel with the kinds of what a check finds; unchanged, it finds nothing.
fn found<K: Kernel<Args = (Global<u32>,)> + Copy>(kernel: K, blocks: u32, threads: u32) -> Vec<(Change, Vec<Kind>)> {
    let (report, all) = mutants(|| run(kernel, blocks, threads));
    assert!(report.is_clean(), "{report}");
    assert!(all.iter().all(|mutant| mutant.file.ends_with("mutants.rs")), "{all:?}");
    let kinds = |mutant: Mutant| mutated(mutant, || run(kernel, blocks, threads)).kinds();
    let found = all.iter().map(|&mutant| (mutant.change, kinds(mutant))).collect();
    assert!(run(kernel, blocks, threads).is_clean(), "a change outlived its run");
    found
}

/// Whether each change is found, among others as this kind.
fn assert_found(all: &[(Change, Vec<Kind>)], want: &[(Change, Kind)]) {
    let is_found =
        |((change, kinds), want): (&(Change, Vec<Kind>), &(Change, Kind))| *change == want.0 && kinds.contains(&want.1);
    assert!(all.len() == want.len() && all.iter().zip(want).all(is_found), "{all:?}");
}

#[test]
fn barriers_are_left_out() {
    assert_found(&found(reverse, 1, 64), &[(Change::Barrier, Kind::SharedRace)]);
    assert_found(&found(from_lane_0, 1, 32), &[(Change::WarpBarrier, Kind::SharedRace)]);
}

#[test]
fn orders_and_scopes_are_weakened() {
    use Change::{Fence, Order, Scope};
    let (race, scope) = (Kind::GlobalRace, Kind::ScopeTooSmall);
    assert_found(&found(message, 2, 1), &[(Order, race), (Scope, scope), (Order, race), (Scope, scope)]);
    let (fence, narrow) = ((Fence, race), (Scope, scope));
    assert_found(&found(fenced, 2, 1), &[fence, narrow, narrow, narrow, fence, narrow]);
}
