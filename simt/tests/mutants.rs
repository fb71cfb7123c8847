//! Kernels with one synchronisation changed: what can be changed is listed, and a check finds the change.

use simt::atomic::{Order, Scope};
use simt::mbarrier::{self, Mbarrier};
use simt::sim::mutant::{Change, Mutant, mutants, mutated};
use simt::sim::{Check, Kind, Options, Report, check, launch};
use simt::{Global, Kernel, atomic, cluster, kernel, shared, thread, warp};

shared!(TILE: [u32; 64]);
shared!(BARRIER: [u64; 1]);

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

/// Each block writes a word and draws a ticket; the block with the last one adds up the words.
#[kernel]
fn last(data: Global<u32>) {
    let b = thread::block_idx_x();
    data.set(1 + b, b);
    if data.fetch_add(0, 1, Order::AcqRel, Scope::Device) == 1 {
        data.set(3, data.get(1) + data.get(2));
    }
}

/// Two halves of a warp that take different ways each pass a word around.
#[kernel]
fn halves(data: Global<u32>) {
    let t = thread::thread_idx_x();
    if t < 16 {
        data.set(t, warp::shuffle(0xffff, t, 15 - t));
    } else {
        data.set(t, warp::reduce_max(0xffff_0000, t));
    }
}

/// All lanes count the odd ones.
#[kernel]
fn odd(data: Global<u32>) {
    let t = thread::thread_idx_x();
    data.set(t, warp::ballot(warp::FULL, t % 2 == 1).count_ones());
}

/// Two blocks that each raise a flag and look at the other's.
#[kernel]
fn buffered(data: Global<u32>) {
    let b = thread::block_idx_x();
    data.store(b, 1, Order::Relaxed, Scope::Device);
    atomic::fence_sc(Scope::Device);
    data.store(2 + b, data.load(1 - b, Order::Relaxed, Scope::Device), Order::Relaxed, Scope::Device);
}

/// Block 1 writes a word and arrives at block 0's barrier; block 0 waits there and reads.
#[kernel(sm_90, cluster = 2)]
fn signalled(data: Global<u32>) {
    let barrier = Mbarrier::at(BARRIER::view(), 0);
    if cluster::rank() == 0 {
        barrier.init(1);
        mbarrier::fence_init();
    }
    cluster::sync();
    if cluster::rank() == 1 {
        data.set(0, 7);
        barrier.arrive_at(0);
    } else {
        barrier.wait_cluster(0);
        data.set(1, data.get(0));
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
    let lane_0 = [(Change::WarpBarrier, Kind::SharedRace), (Change::Mask, Kind::WarpMask)];
    assert_found(&found(from_lane_0, 1, 32), &lane_0);
}

#[test]
fn orders_and_scopes_are_weakened() {
    use Change::{Fence, Order, Scope};
    let (race, scope) = (Kind::GlobalRace, Kind::ScopeTooSmall);
    assert_found(&found(message, 2, 1), &[(Order, race), (Scope, scope), (Order, race), (Scope, scope)]);
    let (fence, narrow) = ((Fence, race), (Scope, scope));
    assert_found(&found(fenced, 2, 1), &[fence, narrow, narrow, narrow, fence, narrow]);
}

#[test]
fn one_half_of_an_order_is_left_out() {
    use Change::{Acquire, Order, Release, Scope};
    let race = Kind::GlobalRace;
    let want = [(Order, race), (Acquire, race), (Release, race), (Scope, Kind::ScopeTooSmall)];
    assert_found(&found(last, 2, 1), &want);
}

#[test]
fn masks_lack_a_lane_or_name_too_many() {
    use Change::{Mask, WideMask};
    let mask = Kind::WarpMask;
    assert_found(&found(odd, 1, 32), &[(Mask, mask)]);
    assert_found(&found(halves, 1, 32), &[(Mask, mask), (WideMask, mask), (Mask, mask), (WideMask, mask)]);
}

/// No race shows them: the accesses are atomic. That they are there to be changed is what the listing shows.
#[test]
fn fences_of_one_order_are_listed() {
    use Change::{Fence, Scope};
    let changes: Vec<_> = found(buffered, 2, 1).into_iter().map(|(change, _)| change).collect();
    assert_eq!(changes, [Scope, Fence, Scope, Scope, Scope]);
}

#[test]
fn synchronisation_of_a_cluster_is_left_out() {
    use Change::{ClusterBarrier, Fence, MbarrierWait, Scope};
    let (fence, early) = ((Fence, Kind::MissingProxyFence), (ClusterBarrier, Kind::MixedAtomic));
    let wait = [(MbarrierWait, Kind::GlobalRace), (Scope, Kind::ScopeTooSmall)];
    assert_found(&found(signalled, 2, 1), &[fence, early, wait[0], wait[1]]);
}
