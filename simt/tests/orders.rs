//! What PTX orders and a simpler model would not, and the reverse: kernels that were written against the checker.

use simt::atomic::{Order::*, Scope, fence};
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{Check, Finding, Gpu, Kind, check};
use simt::{Geometry, Global, bulk, kernel, launcher::Launcher, shared, thread};

/// What 32 schedules find.
fn findings(work: impl Fn(&dyn Launcher)) -> Vec<Finding> {
    let findings = check(Check { schedules: 32, ..Check::default() }, || work(&Gpu::default())).report.findings;
    findings.iter().for_each(|finding| println!("{finding}\n"));
    findings
}

fn kinds(work: impl Fn(&dyn Launcher)) -> Vec<Kind> {
    let mut kinds: Vec<_> = findings(work).iter().map(|finding| finding.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

shared!(LAST: [u32; 1]);
shared!(COUNT: [u32; 1]);

/// The sum over blocks by the last of them, which then resets the counter plainly, as NVIDIA's threadFenceReduction
/// does; or, if it is `early`, by the block before the last.
#[kernel]
fn last_block_resets(partial: Global<u32>, count: Global<u32>, output: Global<u32>, early: u32) {
    let (t, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    if t == 0 {
        partial.set(thread::block_idx_x(), 1);
        fence(AcqRel, Scope::Device); // shows the partial sum before the count
        let before = count.fetch_add(0, 1, Relaxed, Scope::Device);
        fence(AcqRel, Scope::Device); // the sums of those that have counted before are seen behind it
        LAST::view().set(0, before);
    }
    thread::sync_threads(); // tells the block what thread 0 has counted
    let resets = blocks - 1 - early;
    // Another thread than the one that counted: the barrier is between the two.
    if LAST::view().get(0) == resets && t == 5 {
        output.set(0, partial.get(0));
        count.set(0, 0);
    }
}

#[test]
fn the_last_of_all_that_count_is_behind_them() {
    let run = |early| {
        kinds(move |gpu| {
            let (partial, count, output) = (gpu.zeros(6).unwrap(), gpu.zeros(1).unwrap(), gpu.zeros(1).unwrap());
            let args = (partial.view(), count.view(), output.view(), early);
            for _ in 0..2 {
                gpu.launch(last_block_resets, Geometry::linear(6, 32), args).unwrap();
            }
        })
    };
    assert_eq!(run(0), []);
    assert!(run(1).contains(&Kind::MixedAtomic), "nothing orders the last block's count and the reset");
}

/// A word is stored, stored over by who has seen it, taken by an exchange and cleared plainly.
#[kernel]
fn stored_over(word: Global<u32>, exchanged: u32) {
    match thread::block_idx_x() {
        0 => word.store(0, 1, Relaxed, Scope::Device),
        1 if exchanged == 1 => while word.compare_exchange(0, 1, 2, Relaxed, Scope::Device) != 1 {},
        1 => {
            while word.load(0, Relaxed, Scope::Device) != 1 {}
            word.store(0, 2, Relaxed, Scope::Device);
        }
        _ => {
            while word.compare_exchange(0, 2, 3, Relaxed, Scope::Device) != 2 {}
            word.set(0, 0);
        }
    }
}

/// An exchange has seen what it took the place of, and a store has not. Failed exchanges are loads, which no one sees.
#[test]
fn a_store_ends_the_chain() {
    let run = |exchanged| {
        let found = findings(move |gpu| {
            let word = gpu.zeros::<u32>(1).unwrap();
            gpu.launch(stored_over, Geometry::linear(3, 1), (word.view(), exchanged)).unwrap();
        });
        found.iter().any(|f| f.first.as_ref().is_some_and(|first| first.what == "modifies atomically"))
    };
    assert!(!run(1), "each has seen the one before");
    assert!(run(0), "nobody has seen the first store before the last");
}

/// The same in shared memory, where a thread of the block set the counter.
#[kernel]
fn last_thread_reads(output: Global<u32>) {
    let (t, count) = (thread::thread_idx_x(), COUNT::view());
    if t == 0 {
        count.set(0, 0);
    }
    thread::sync_threads(); // all count from 0
    if count.fetch_add(0, 1, Relaxed, Scope::Block) == thread::block_dim_x() - 1 {
        output.set(0, count.get(0));
    }
}

#[test]
fn so_is_the_last_thread_of_a_block() {
    let found = kinds(|gpu| {
        let output = gpu.zeros::<u32>(1).unwrap();
        gpu.launch(last_thread_reads, Geometry::linear(1, 96), (output.view(),)).unwrap();
    });
    assert_eq!(found, []);
}

/// A release, and a relaxed store of the same thread, or of another, over it.
#[kernel]
fn flag_raised_twice(data: Global<u32>, flag: Global<u32>, output: Global<u32>, another: u32) {
    let block = thread::block_idx_x();
    if block == 0 {
        data.set(0, 7);
        flag.store(0, 1, Release, Scope::Device);
    }
    if block == another {
        while flag.load(0, Relaxed, Scope::Device) == 0 {}
        flag.store(0, 2, Relaxed, Scope::Device);
    }
    if block == 2 {
        while flag.load(0, Acquire, Scope::Device) != 2 {}
        output.set(0, data.get(0));
    }
}

#[test]
fn a_release_goes_on_through_the_stores_of_its_thread() {
    let run = |another| {
        kinds(move |gpu| {
            let (data, flag, output) = (gpu.zeros(1).unwrap(), gpu.zeros(1).unwrap(), gpu.zeros(1).unwrap());
            let args = (data.view(), flag.view(), output.view(), another);
            gpu.launch(flag_raised_twice, Geometry::linear(3, 1), args).unwrap();
        })
    };
    assert_eq!(run(0), []);
    assert_eq!(run(1), [Kind::GlobalRace]);
}

/// A word of 8 bytes is stored, and its halves loaded: by atomics of 4 bytes, or of 8.
#[kernel]
fn halves(state: Global<u64>, output: Global<u32>, wide: u32) {
    if thread::block_idx_x() == 0 {
        state.store(0, 7 << 32 | 1, Release, Scope::Device);
    } else if wide == 1 {
        let mut word = 0;
        while word == 0 {
            word = state.load(0, Acquire, Scope::Device);
        }
        output.set(0, (word >> 32) as u32);
    } else {
        while state.cast::<u32>().load(0, Acquire, Scope::Device) == 0 {}
        output.set(0, state.cast::<u32>().load(1, Relaxed, Scope::Device));
    }
}

#[test]
fn atomics_of_two_sizes_are_not_atomic_to_each_other() {
    let run = |wide| {
        findings(move |gpu| {
            let (state, output) = (gpu.zeros::<u64>(1).unwrap(), gpu.zeros::<u32>(1).unwrap());
            gpu.launch(halves, Geometry::linear(2, 1), (state.view(), output.view(), wide)).unwrap();
        })
    };
    assert_eq!(run(1), []);
    let found = run(0);
    assert!(!found.is_empty() && found.iter().all(|f| f.kind == Kind::MixedAtomic), "{found:?}");
    assert!(found.iter().all(|f| f.advice.contains("of 4 and of 8 bytes")), "{found:?}");
    assert!(found.iter().any(|f| f.second.what == "loads atomically"), "{found:?}");
}

/// A block reads packs that it has written, behind a barrier: as others do, or as read-only data.
#[kernel]
fn reads_what_it_wrote(data: Global<u32>, output: Global<u32>, way: u32) {
    let t = thread::thread_idx_x();
    data.set(t, t);
    thread::sync_threads(); // the packs are of four threads
    let pack = match way {
        0 => data.get_pack(t / 4),
        1 => data.get_pack_read_only(t / 4),
        _ => data.get_pack_read_only_or(t / 4, t < 60, [0; 4]),
    };
    output.set(t, pack[3]);
}

#[test]
fn read_only_data_is_not_written_by_the_launch() {
    let run = |way| {
        findings(move |gpu| {
            let (data, output) = (gpu.scratch::<u32>(64).unwrap(), gpu.scratch::<u32>(64).unwrap());
            gpu.launch(reads_what_it_wrote, Geometry::linear(1, 64), (data.view(), output.view(), 0)).unwrap();
            // What the launch before has written is read-only to this one.
            gpu.launch(reads_what_it_wrote, Geometry::linear(1, 64), (output.view(), data.view(), way)).unwrap();
        })
    };
    assert_eq!(run(0), []);
    for way in [1, 2] {
        let found = run(way);
        assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::GlobalRace]);
        assert_eq!(found[0].second.what, "reads as read-only data");
    }
}

shared!(TILE: [u32; 64]);
shared!(BARRIER: [u64; 1]);

/// The copy engine loads `data`, which threads of the launch have written or not.
#[kernel]
fn copies(data: Global<u32>, output: Global<u32>, writes: u32) {
    let (t, barrier) = (thread::thread_idx_x(), Mbarrier::at(BARRIER::view(), 0));
    if t == 0 {
        barrier.init(1);
        mbarrier::fence_init();
    }
    if writes == 1 {
        data.set(t, t);
    }
    bulk::fence(); // for what threads wrote to shared memory alone
    thread::sync_threads(); // the barrier is made, and the data written
    if t == 0 {
        barrier.arrive_expecting(256);
        bulk::load(TILE::view(), data, barrier);
    }
    barrier.wait(0);
    output.set(t, TILE::view().get(t));
}

#[test]
fn no_fence_shows_writes_of_global_memory_to_the_copy_engine() {
    let run = |writes| {
        kinds(move |gpu| {
            let (data, output) = (gpu.zeros::<u32>(64).unwrap(), gpu.scratch::<u32>(64).unwrap());
            gpu.launch(copies, Geometry::linear(1, 64), (data.view(), output.view(), writes)).unwrap();
            // The launch before wrote what this one copies.
            gpu.launch(copies, Geometry::linear(1, 64), (output.view(), data.view(), 0)).unwrap();
        })
    };
    assert_eq!(run(0), []);
    assert_eq!(run(1), [Kind::MissingProxyFence]);
}

/// A barrier in shared memory that the others use before they know that it is made.
#[kernel]
fn made_too_late(output: Global<u32>) {
    let (t, barrier) = (thread::thread_idx_x(), Mbarrier::at(BARRIER::view(), 0));
    if t == 0 {
        barrier.init(64);
        mbarrier::fence_init();
    }
    barrier.arrive();
    barrier.wait(0);
    output.set(t, t);
}

#[test]
fn a_barrier_is_made_before_it_is_used() {
    let found = findings(|gpu| {
        let output = gpu.scratch::<u32>(64).unwrap();
        let _ = gpu.launch(made_too_late, Geometry::linear(1, 64), (output.view(),));
    });
    let race = found.iter().find(|f| f.kind == Kind::MixedAtomic).unwrap();
    assert!(race.advice.contains("mbarrier::fence_init"), "{race}");
}

/// The first two of three accesses to a word are made by block 0, with a barrier of the block in between if it `meets`.
/// The third is made by block 1 after both, which a relaxed flag tells it: nothing orders it with either.
#[kernel]
fn accesses_three_times(words: Global<u32>, first: u32, second: u32, third: u32, meets: u32) {
    let t = thread::thread_idx_x();
    let access = |what: u32| match what {
        BLOCK_ADD => _ = words.fetch_add(0, 1, Relaxed, Scope::Block),
        DEVICE_ADD => _ = words.fetch_add(0, 1, Relaxed, Scope::Device),
        DEVICE_LOAD => _ = words.load(0, Relaxed, Scope::Device),
        _ => _ = words.get(0),
    };
    if thread::block_idx_x() == 0 {
        if t == 0 {
            access(first);
        }
        if meets == 1 {
            thread::sync_threads();
        }
        if t == 0 {
            access(second);
            words.store(1, 1, Relaxed, Scope::Device);
        }
    } else if t == 0 {
        while words.load(1, Relaxed, Scope::Device) == 0 {}
        access(third);
    }
}

const BLOCK_ADD: u32 = 0;
const DEVICE_ADD: u32 = 1;
const DEVICE_LOAD: u32 = 2;
const READ: u32 = 3;

/// An access stays known although its block has made another since, which the third is in no conflict with.
#[test]
fn the_last_access_of_a_block_does_not_hide_an_earlier_one() {
    let run = |[first, second, third]: [u32; 3], meets| {
        kinds(|gpu| {
            let words = gpu.zeros::<u32>(2).unwrap();
            let arguments = (words.view(), first, second, third, meets);
            gpu.launch(accesses_three_times, Geometry::linear(2, 64), arguments).unwrap();
        })
    };
    for meets in 0..2 {
        for (first, second, third, kind) in [
            (BLOCK_ADD, DEVICE_ADD, DEVICE_ADD, Kind::ScopeTooSmall),
            (BLOCK_ADD, DEVICE_LOAD, DEVICE_ADD, Kind::ScopeTooSmall),
            (READ, DEVICE_ADD, DEVICE_ADD, Kind::MixedAtomic),
            (READ, DEVICE_LOAD, DEVICE_ADD, Kind::MixedAtomic),
            (DEVICE_ADD, READ, READ, Kind::MixedAtomic),
        ] {
            assert_eq!(run([first, second, third], meets), [kind], "{first} {second} {third}, {meets}");
        }
        for what in [[DEVICE_ADD, DEVICE_LOAD, DEVICE_ADD], [READ, READ, DEVICE_LOAD], [DEVICE_LOAD, READ, READ]] {
            assert_eq!(run(what, meets), [], "{what:?}, {meets}");
        }
    }
}
