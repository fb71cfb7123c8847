//! Advice that leads to the fix: the widest pair speaks, a lock is told orders, a mistake is one finding.

use simt::atomic::{Order, Scope, fence_sc};
use simt::launcher::{Launcher, Scratch};
use simt::sim::{Check, Finding, Gpu, Kind, check};
use simt::{Geometry, Global, kernel, shared, thread};

shared!(WORDS: [u32; 64]);

/// What so many schedules find.
fn findings(schedules: u32, work: impl Fn(&dyn Launcher)) -> Vec<Finding> {
    check(Check { schedules, ..Check::default() }, || work(&Gpu::default())).report.findings
}

fn only(findings: Vec<Finding>) -> Finding {
    let told: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    assert_eq!(findings.len(), 1, "{told}");
    findings.into_iter().next().unwrap()
}

fn zeros(gpu: &dyn Launcher, len: u32) -> Scratch<u32> {
    gpu.zeros(len).unwrap()
}

/// Each thread writes its number to one element.
#[kernel]
fn all_write_one(output: Global<u32>) {
    output.set(5, thread::index_1d());
}

#[test]
fn the_widest_pair_speaks() {
    let run = |blocks, threads| {
        only(findings(8, |gpu| {
            gpu.launch(all_write_one, Geometry::linear(blocks, threads), (zeros(gpu, 8).view(),)).unwrap();
        }))
    };
    // The first pair that a run meets is two lanes of one warp.
    let blocks = run(2, 64);
    assert_eq!(blocks.kind, Kind::GlobalRace);
    assert_ne!(blocks.first.as_ref().unwrap().block, blocks.second.block, "{blocks}");
    assert!(blocks.advice.contains("no barrier orders the blocks"), "{blocks}");
    let warps = run(1, 64);
    assert_ne!(warps.first.as_ref().unwrap().warp, warps.second.warp, "{warps}");
    assert!(warps.advice.contains("all threads of the block have to pass thread::sync_threads"), "{warps}");
    let lanes = run(1, 32);
    assert!(lanes.advice.contains("both lanes have to pass warp::sync_warp"), "{lanes}");
    assert!(blocks.count > warps.count && warps.count > lanes.count, "every pair is counted");
}

#[test]
fn who_writes_one_element_twice_is_asked_for_the_index() {
    let global = only(findings(1, |gpu| {
        gpu.launch(all_write_one, Geometry::linear(1, 64), (zeros(gpu, 8).view(),)).unwrap();
    }));
    assert!(global.advice.starts_with("both write element 5: is that index meant to be shared?"), "{global}");
    let shared = only(findings(1, |gpu| {
        gpu.launch(writes_a_neighbour_too, Geometry::linear(1, 32), ()).unwrap();
    }));
    assert!(shared.advice.starts_with("both write WORDS["), "{shared}");
    let read = only(findings(1, |gpu| {
        gpu.launch(reads_a_neighbour, Geometry::linear(1, 32), ()).unwrap();
    }));
    assert!(!read.advice.contains("meant to be shared") && read.advice.contains("sync_warp"), "{read}");
}

#[kernel]
fn writes_a_neighbour_too() {
    let t = thread::thread_idx_x();
    WORDS::view().set(t / 2, t);
}

#[kernel]
fn reads_a_neighbour() {
    let (t, words) = (thread::thread_idx_x(), WORDS::view());
    words.set(t, t);
    words.set(t + 32, t);
    std::hint::black_box(words.get(t ^ 1));
}

/// Pairs of threads exchange two elements: the write of each meets the read of the other, in both orders.
#[kernel]
fn swaps_in_place(data: Global<u32>) {
    let i = thread::index_1d();
    let other = data.get(i ^ 64);
    data.set(i, other);
}

/// Two lines race with each other, and each with itself.
#[kernel]
fn sums_plainly(data: Global<u32>, other: Global<u32>) {
    data.set(0, data.get(0) + 1);
    other.set(0, other.get(0) + data.get(0));
}

#[test]
fn a_sum_is_one_finding_for_each_view_and_pair_of_lines() {
    let found = findings(8, |gpu| {
        let (data, other) = (zeros(gpu, 1), zeros(gpu, 1));
        gpu.launch(sums_plainly, Geometry::linear(2, 32), (data.view(), other.view())).unwrap();
    });
    let mut told: Vec<_> = found
        .iter()
        .map(|finding| {
            let line = |site: &Option<simt::sim::Site>| site.as_ref().unwrap().line;
            let mut lines = [line(&finding.first.as_ref().unwrap().site), line(&finding.second.site)];
            lines.sort_unstable();
            (finding.memory.unwrap().parameter.unwrap(), lines[1] - lines[0])
        })
        .collect();
    told.sort_unstable();
    assert_eq!(told, [(0, 0), (0, 1), (1, 0)], "the first sum, what the second reads of it, and the second sum");
}

#[test]
fn both_orders_of_two_lines_are_one_finding() {
    let found = only(findings(8, |gpu| {
        gpu.launch(swaps_in_place, Geometry::linear(2, 64), (zeros(gpu, 128).view(),)).unwrap();
    }));
    assert_eq!(found.kind, Kind::GlobalRace, "{found}");
}

/// Some write the value that is there, others another.
#[kernel]
fn writes_some_value(output: Global<u32>) {
    output.set(0, thread::index_1d() / 40);
}

#[test]
fn equal_and_other_values_are_one_race() {
    let found = only(findings(8, |gpu| {
        gpu.launch(writes_some_value, Geometry::linear(1, 64), (zeros(gpu, 1).view(),)).unwrap();
    }));
    assert_eq!(found.kind, Kind::GlobalRace, "{found}");
    let same = only(findings(8, |gpu| {
        gpu.launch(writes_some_value, Geometry::linear(1, 32), (zeros(gpu, 1).view(),)).unwrap();
    }));
    assert_eq!(same.kind, Kind::SameValueWrite, "{same}");
}

/// One thread of each warp counts under a lock.
#[kernel]
fn counts_under_a_lock(lock: Global<u32>, count: Global<u32>, ordered: u32) {
    let (take, give) = if ordered == 1 { (Order::Acquire, Order::Release) } else { (Order::Relaxed, Order::Relaxed) };
    if thread::thread_idx_x().is_multiple_of(32) {
        while lock.exchange(0, 1, take, Scope::Device) != 0 {}
        count.set(0, count.get(0) + 1);
        lock.exchange(0, 0, give, Scope::Device);
    }
}

#[test]
fn a_lock_is_told_acquire_and_release() {
    for blocks in [1, 2] {
        let run = |ordered| {
            findings(8, |gpu| {
                let (lock, count) = (zeros(gpu, 1), zeros(gpu, 1));
                let args = (lock.view(), count.view(), ordered);
                gpu.launch(counts_under_a_lock, Geometry::linear(blocks, 128), args).unwrap();
            })
        };
        let found = run(0);
        assert!(!found.is_empty());
        for finding in found {
            let orders = ["Order::Acquire", "Order::Release"].iter().all(|order| finding.advice.contains(order));
            assert!(orders && !finding.advice.contains("sync_threads"), "{finding}");
        }
        assert_eq!(run(1), []);
    }
}

/// A barrier is missing, and the words have been exchanged before: that is no lock.
#[kernel]
fn exchanges_and_races(words: Global<u32>, data: Global<u32>) {
    let t = thread::thread_idx_x();
    words.exchange(t, 1, Order::Relaxed, Scope::Device);
    data.set(t, t);
    std::hint::black_box(data.get(t ^ 32));
}

#[test]
fn an_exchange_is_not_always_a_lock() {
    let found = only(findings(8, |gpu| {
        let (words, data) = (zeros(gpu, 64), zeros(gpu, 64));
        gpu.launch(exchanges_and_races, Geometry::linear(1, 64), (words.view(), data.view())).unwrap();
    }));
    assert!(found.advice.contains("sync_threads") && !found.advice.contains("a lock"), "{found}");
}

#[kernel]
fn largest(input: Global<f32>, output: Global<f32>) {
    output.fetch_max(0, input.get(thread::thread_idx_x()), Order::Relaxed, Scope::Device);
}

#[kernel]
fn packs_from_one(input: Global<u32>, output: Global<u32>) {
    output.set_pack(0, input.slice(1, 4).get_pack(0));
}

#[test]
fn floats_and_alignment_have_advice() {
    let float = only(findings(1, |gpu| {
        let (input, output) = (gpu.zeros::<f32>(32).unwrap(), gpu.zeros::<f32>(1).unwrap());
        gpu.launch(largest, Geometry::linear(1, 32), (input.view(), output.view())).unwrap_err();
    }));
    assert!(float.to_string().contains("no atomic minimum or maximum of floats"), "{float}");
    assert!(float.advice.contains("compare_exchange") && float.advice.contains("same order"), "{float}");
    let pack = only(findings(1, |gpu| {
        let (input, output) = (zeros(gpu, 8), zeros(gpu, 8));
        gpu.launch(packs_from_one, Geometry::linear(1, 1), (input.view(), output.view())).unwrap_err();
    }));
    let told = pack.to_string();
    assert!(told.contains("not aligned to 16 bytes: it begins at the view that is parameter 0, byte 4"), "{told}");
    assert!(pack.advice.contains("slice such a view at a multiple"), "{told}");
}

/// Block 0 waits for a word that block 1 sets plainly, and only if it has read another in time.
#[kernel]
fn waits_after_a_race(data: Global<u32>, flag: Global<u32>) {
    if thread::block_idx_x() == 0 {
        data.set(0, 1);
        while flag.load(0, Order::Relaxed, Scope::Device) == 0 {}
    } else if data.get(0) == 7 {
        flag.store(0, 1, Order::Relaxed, Scope::Device);
    }
}

#[test]
fn a_cause_comes_before_who_waits() {
    let found = findings(2, |gpu| {
        let (data, flag) = (zeros(gpu, 1), zeros(gpu, 1));
        gpu.launch(waits_after_a_race, Geometry::linear(2, 1), (data.view(), flag.view())).unwrap_err();
    });
    let kinds: Vec<Kind> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::GlobalRace, Kind::EndlessSpin]);
}

/// Each of two blocks raises its flag and then looks for the other's.
#[kernel]
fn store_buffering(flags: Global<u32>, seen: Global<u32>, fenced: u32) {
    let block = thread::block_idx_x();
    flags.store(block, 1, Order::Relaxed, Scope::Device);
    match fenced {
        0 => simt::atomic::fence(Order::AcqRel, Scope::Device),
        1 => fence_sc(Scope::Device),
        _ => fence_sc(Scope::Block),
    }
    seen.set(block, flags.load(1 - block, Order::Relaxed, Scope::Device));
}

/// Only sequentially consistent fences that reach each other forbid that both miss the other.
#[test]
fn store_buffering_needs_a_sequentially_consistent_fence() {
    let missed = |fenced| {
        let checked = check(Check { schedules: 32, ..Check::default() }, || {
            let gpu = Gpu::default();
            let on: &dyn Launcher = &gpu;
            let (flags, seen) = (zeros(on, 2), zeros(on, 2));
            on.launch(store_buffering, Geometry::linear(2, 1), (flags.view(), seen.view(), fenced)).unwrap();
            // SAFETY: the launch has ended, and the memory lives.
            unsafe { *seen.view().as_ptr().cast::<[u32; 2]>() }
        });
        assert!(checked.report.is_clean(), "{}", checked.report);
        checked.results.contains(&[0, 0])
    };
    assert_eq!([0, 1, 2].map(missed), [true, false, true]);
}
