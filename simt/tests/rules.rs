//! Rules of PTX on barriers in shared memory, copies, warpgroups and dependent launches: each broken and
//! kept.

use simt::atomic::{Order, Scope};
use simt::cluster;
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{Check, Finding, Gpu, Kind, LaunchError, Options, check, launch};
use simt::tensor_map::{Described, TensorMap};
use simt::warpgroup::{self, KMajor, MORE, ROW, Sums, Tile};
use simt::{Geometry, Global, async_copy, bf16, bulk, f16, grid, kernel, launcher::Launcher, shared, thread};

shared!(WORDS: [u32; 256]);
shared!(BARRIERS: [u64; 4]);

/// What 16 schedules find.
fn findings(work: impl Fn(&dyn Launcher)) -> Vec<Finding> {
    let checked = check(Check { schedules: 16, ..Check::default() }, || work(&Gpu::default()));
    checked.report.findings
}

fn kinds(findings: &[Finding]) -> Vec<Kind> {
    let mut kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

fn told(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

/// The findings are one, of that kind, at a place in this file, and say all of that.
fn is_told(findings: &[Finding], kind: Kind, words: &[&str]) {
    assert_eq!(kinds(findings), [kind], "{}", told(findings));
    let (finding, site) = (&findings[0], findings[0].second.site.as_ref().expect("a place"));
    assert!(site.file.ends_with("tests/rules.rs"), "{finding}");
    words.iter().for_each(|word| assert!(finding.to_string().contains(word), "{word}: {finding}"));
}

// Barriers in shared memory.

/// Does `what` to a barrier that lives.
#[kernel]
fn touches_a_barrier(input: Global<u32>, output: Global<u32>, what: u32) {
    let (words, barrier) = (BARRIERS::view(), Mbarrier::at(BARRIERS::view(), 1));
    let parts = words.cast::<u32>();
    if thread::thread_idx_x() == 0 {
        barrier.init(1);
        mbarrier::fence_init();
        match what {
            0 => parts.set(4, 7),
            1 => words.set(1, 7),
            2 => words.cast::<u8>().set(15, 7),
            3 => words.set_pack(0, [7; 2]),
            4 => output.set(0, parts.get(3)),
            5 => output.set(0, parts.fetch_add(3, 1, Order::Relaxed, Scope::Block)),
            6 => async_copy::element(parts, 3, input, 0, true),
            7 => {
                barrier.arrive_expecting(16);
                bulk::load(parts.slice(0, 4), input.slice(0, 4), barrier);
                barrier.wait(0);
            }
            8 => {
                bulk::store(output.slice(0, 4), parts.slice(0, 4));
                bulk::commit();
                bulk::wait_read::<0>();
            }
            _ => barrier.init(1),
        }
        async_copy::commit();
        async_copy::wait::<0>();
    }
}

#[test]
fn a_barriers_word_is_left_alone() {
    let run = |what| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<u32>(64).unwrap(), gpu.zeros::<u32>(64).unwrap());
            gpu.launch(touches_a_barrier, Geometry::linear(1, 32), (input.view(), output.view(), what)).unwrap();
        })
    };
    assert!(run(0).is_empty(), "the word behind the barrier: {}", told(&run(0)));
    let said = [
        "writes it",
        "writes it",
        "writes it",
        "reads it",
        "uses it atomically",
        "has it written by a copy",
        "has it written by a copy",
        "has it read by a copy",
        "initialises it again",
    ];
    for (what, said) in (1..).zip(said) {
        // What else is wrong with them: bytes that nobody wrote.
        let found: Vec<_> = run(what).into_iter().filter(|f| f.kind == Kind::Fault).collect();
        is_told(&found, Kind::Fault, &["BARRIERS[1]", "initialises a barrier", said, "the hardware's"]);
    }
}

/// Has a tile copied: the fence behind the initialisation is `fence`, before or behind the barrier of the block.
#[kernel]
fn fences_a_barrier(input: Global<u32>, fence: u32) {
    let (t, barrier) = (thread::thread_idx_x(), Mbarrier::at(BARRIERS::view(), 0));
    let fences = || match fence % 4 {
        1 => mbarrier::fence_init(),
        2 => bulk::fence(),
        _ => (),
    };
    if t == 32 {
        barrier.init(1);
        if fence < 4 {
            fences();
        }
    }
    if t == 0 && fence == 3 {
        mbarrier::fence_init(); // which is for its own barriers alone
    }
    thread::sync_threads();
    if t == 32 && fence > 4 {
        fences();
    }
    if t == 0 {
        barrier.arrive_expecting(1024);
        bulk::load(WORDS::view(), input, barrier);
    }
    barrier.wait(0);
}

#[test]
fn a_barrier_is_fenced_before_a_copy_counts_there() {
    let run = |fence| {
        findings(|gpu| {
            let input = gpu.zeros::<u32>(256).unwrap();
            gpu.launch(fences_a_barrier, Geometry::linear(1, 64), (input.view(), fence)).unwrap();
        })
    };
    for fence in [1, 2] {
        assert!(run(fence).is_empty(), "{}", told(&run(fence)));
    }
    for fence in [0, 3, 5, 6] {
        let said = ["BARRIERS[0]", "initialises a barrier", "starts a copy that it counts", "mbarrier::fence_init"];
        is_told(&run(fence), Kind::MissingProxyFence, &said);
    }
}

/// Two blocks arrive at each other's barriers, and the first has a box copied to both.
#[kernel(sm_90, cluster = 2)]
fn fences_for_a_cluster(map: TensorMap<f16>, _matrix: Global<f16>, fence: u32) {
    let [empty, full] = [0, 1].map(|i| Mbarrier::at(BARRIERS::view(), i));
    let (t, rank) = (thread::thread_idx_x(), cluster::rank());
    if t == 0 {
        empty.init(1);
        full.init(1);
        match fence {
            1 => mbarrier::fence_init(),
            2 => bulk::fence(),
            _ => (),
        }
    }
    cluster::sync();
    if t == 0 {
        empty.arrive_at(1 - rank);
        full.arrive_expecting(8 * 128);
        if rank == 0 {
            map.load_multicast(Tile::dynamic(0, 8), 0, 0, full, 0b11);
        }
    }
    empty.wait_cluster(0);
    full.wait(0);
    cluster::sync();
}

#[test]
fn a_barrier_is_fenced_before_another_block_uses_it() {
    let run = |fence| {
        findings(|gpu| {
            let matrix = gpu.zeros::<f16>(512).unwrap();
            let map = gpu.tensor_map(&Described::of(matrix.view(), [8, 64], 64, 8).unwrap()).unwrap();
            let args = (TensorMap::new(map), matrix.view(), fence);
            gpu.launch(fences_for_a_cluster, Geometry::linear(2, 32).shared((8 << 10) + MORE), args).unwrap();
        })
    };
    assert!(run(1).is_empty(), "{}", told(&run(1)));
    is_told(&run(0), Kind::MissingProxyFence, &["arrives from another block", "mbarrier::fence_init"]);
    // What the engine of the own block sees, another block need not see.
    is_told(&run(2), Kind::MissingProxyFence, &["arrives from another block", "mbarrier::fence_init"]);
    assert_eq!([run(0).len(), run(2).len()], [2, 2], "{}", told(&run(2)));
}

/// Asks once for a phase that a copy ends, and reads what is copied; `known` lets the block meet behind a wait.
#[kernel]
fn looks_once(input: Global<u32>, output: Global<u32>, known: u32) {
    let (t, barrier) = (thread::thread_idx_x(), Mbarrier::at(BARRIERS::view(), 0));
    if t == 0 {
        barrier.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barrier exists
    assert!(barrier.try_wait(1), "the phase before the first has ended");
    thread::sync_threads(); // nobody asks for that phase any more
    if t == 0 {
        barrier.arrive_expecting(1024);
        bulk::load(WORDS::view(), input, barrier);
    }
    thread::sync_threads(); // the copy has begun
    match known {
        0 => _ = barrier.try_wait(0),
        1 => {
            if t == 0 {
                barrier.wait(0);
            }
            thread::sync_threads(); // thread 0 has waited for all
            assert!(barrier.try_wait(0), "all know that the phase has ended");
        }
        _ => while !barrier.try_wait(0) {},
    }
    output.set(t, WORDS::view().get(t));
    barrier.wait(0);
}

#[test]
fn an_answer_that_nobody_asks_for_is_no_wait() {
    let run = |known| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<u32>(256).unwrap(), gpu.zeros::<u32>(256).unwrap());
            gpu.launch(looks_once, Geometry::linear(1, 64), (input.view(), output.view(), known)).unwrap();
        })
    };
    for known in [1, 2] {
        assert!(run(known).is_empty(), "{known}: {}", told(&run(known)));
    }
    assert!(kinds(&run(0)).contains(&Kind::SharedRace), "{}", told(&run(0)));
}

// Copies.

/// Two copies of one thread to one place, by the engine of `what`; `apart` keeps them in order or in two places.
#[kernel]
fn copies_twice(input: Global<u32>, output: Global<u32>, what: u32, apart: u32) {
    let (words, barriers) = (WORDS::view(), [0, 1].map(|i| Mbarrier::at(BARRIERS::view(), i)));
    if thread::thread_idx_x() > 0 {
        return;
    }
    for barrier in barriers {
        barrier.init(1);
    }
    mbarrier::fence_init();
    let second = if apart == 2 { 4 } else { 0 };
    match what {
        // In one group, in two, by packs.
        0..3 => {
            for i in 0..2 {
                match what {
                    2 => async_copy::pack(words, i * second / 4, input, i, 4),
                    _ => async_copy::element(words, i * second, input, i, true),
                }
                if what == 1 || apart == 1 {
                    async_copy::commit();
                }
                if apart == 1 {
                    async_copy::wait::<0>();
                }
            }
            async_copy::commit();
            async_copy::wait::<0>();
        }
        // Counted by one phase, by two phases of a barrier, by two barriers.
        3..6 => {
            for i in 0..2u32 {
                let (barrier, parity) = (barriers[(what == 5) as usize * i as usize], (what == 4) as u32 * i);
                if what != 3 || i == 0 {
                    barrier.arrive_expecting(if what == 3 && apart != 1 { 32 } else { 16 });
                }
                if what == 3 && apart == 1 && i == 1 {
                    barrier.arrive_expecting(16);
                }
                bulk::load(words.slice(i * second, 4), input.slice(4 * i, 4), barrier);
                if apart == 1 {
                    barrier.wait(if what == 3 { i } else { parity });
                }
                if what == 4 && apart != 1 {
                    // The phase has ended here at once; no thread has waited for it.
                    continue;
                }
            }
            if apart != 1 {
                (0..2).for_each(|i| match what {
                    3 => barriers[0].wait(0),
                    4 => barriers[0].wait(1),
                    _ => barriers[i].wait(0),
                });
            }
        }
        _ => {
            (0..8).for_each(|i| words.set(i, i));
            bulk::fence();
            for i in 0..2 {
                bulk::store(output.slice(i * second, 4), words.slice(4 * i, 4));
                bulk::commit();
                bulk::wait_read::<0>();
            }
        }
    }
}

#[test]
fn nothing_orders_the_copies_of_one_thread() {
    let run = |what, apart| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<u32>(64).unwrap(), gpu.zeros::<u32>(64).unwrap());
            gpu.launch(copies_twice, Geometry::linear(1, 32), (input.view(), output.view(), what, apart)).unwrap();
        })
    };
    for what in 0..7 {
        let kind = if what == 6 { Kind::GlobalRace } else { Kind::SharedRace };
        let found = run(what, 0);
        let found: Vec<_> = found.into_iter().filter(|finding| finding.kind != Kind::CopyInFlight).collect();
        is_told(&found, kind, &["nothing orders two copies", "writes by a copy that it started"]);
        assert!(run(what, 2).is_empty(), "two places, {what}: {}", told(&run(what, 2)));
        if what < 6 {
            assert!(run(what, 1).is_empty(), "in order, {what}: {}", told(&run(what, 1)));
        }
    }
}

/// Copies a tile to words that other threads have read. Thread 1 reads the first half and modifies the second, and
/// hands them over to thread 0, which starts the copies, by arriving at an mbarrier; or all do at the block's barrier.
/// `fence` says who fences, and when.
#[kernel]
fn overwrites_what_was_read(input: Global<u32>, output: Global<u32>, fence: u32) {
    let (t, words) = (thread::thread_idx_x(), WORDS::view());
    let [first, second, read] = [0, 1, 2].map(|i| Mbarrier::at(BARRIERS::view(), i));
    if t == 0 {
        first.init(1);
        second.init(1);
        read.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barriers exist
    let fences = |now: u32| {
        if now == fence {
            bulk::fence();
        }
    };
    let copies = |to: u32, full: Mbarrier| {
        full.arrive_expecting(512);
        bulk::load(words.slice(to, 128), input.slice(to, 128), full);
    };
    if t == 0 {
        copies(0, first);
        fences(1);
    }
    first.wait(0);
    thread::sync_threads(); // nobody waits for that phase any more
    if t == 1 {
        fences(2);
        let sum = (0..64).map(|i| words.get(i)).sum::<u32>();
        output.set(0, sum + words.fetch_add(64, 1, Order::Relaxed, Scope::Block));
        fences(3);
        if fence == 4 {
            // It is followed by more of the same thread than are kept.
            (0..100).for_each(|_| bulk::fence());
        }
    }
    if fence == 5 || fence == 6 {
        thread::sync_threads(); // all know of the reads
        if t == 2 && fence == 5 {
            bulk::fence();
        }
    }
    if fence == 7 {
        thread::sync_threads(); // thread 0 knows of the reads
        if t == 0 {
            copies(128, second);
            second.wait(0);
        }
    }
    if fence == 8 {
        if t == 0 {
            copies(128, second);
        }
        thread::sync_threads(); // the copy began before thread 0 knew of the reads
        second.wait(0);
    }
    if t == 1 {
        read.arrive();
        fences(9);
    }
    if fence == 5 || fence == 6 {
        thread::sync_threads(); // all know of the fence
        if t == 2 && fence == 6 {
            bulk::fence(); // too late
        }
    }
    if t == 0 {
        fences(10);
        read.wait(0);
        fences(11);
        copies(0, first);
    }
    first.wait(1);
}

#[test]
fn reads_are_fenced_before_a_copy_overwrites_the_words() {
    let run = |fence| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<u32>(256).unwrap(), gpu.zeros::<u32>(1).unwrap());
            gpu.launch(overwrites_what_was_read, Geometry::linear(1, 64), (input.view(), output.view(), fence))
                .unwrap();
        })
    };
    // By the reader, by a third thread, and by the thread that starts the copy; a copy that began after the reads and
    // has ended fences them too.
    for fence in [3, 4, 5, 7, 11] {
        assert!(run(fence).is_empty(), "{fence}: {}", told(&run(fence)));
    }
    for fence in [0, 1, 2, 6, 8, 9, 10] {
        let said = ["WORDS[0]", "reads", "starts a copy that overwrites it", "calls bulk::fence before it tells"];
        is_told(&run(fence), Kind::MissingProxyFence, &said);
    }
}

/// A copy to words that a thread has only accessed atomically, or that the other block of its cluster has read.
#[kernel(sm_90, cluster = 2)]
fn overwrites_what_others_used(input: Global<u32>, output: Global<u32>, what: u32) {
    let (t, words, full) = (thread::thread_idx_x(), WORDS::view(), Mbarrier::at(BARRIERS::view(), 0));
    words.set(t, 0);
    bulk::fence(); // what this thread has stored
    if t == 0 {
        full.init(1);
        mbarrier::fence_init();
    }
    cluster::sync();
    match what {
        0 if t == 1 => output.set(cluster::rank(), words.fetch_add(0, 1, Order::Relaxed, Scope::Block)),
        1 if t == 1 => output.set(cluster::rank(), words.load(0, Order::Relaxed, Scope::Block)),
        2 => output.set(32 * cluster::rank() + t, cluster::Remote::of(words, 1 - cluster::rank()).get(t)),
        _ => (),
    }
    cluster::sync();
    if t == 0 {
        full.arrive_expecting(128);
        bulk::load(words.slice(0, 32), input.slice(0, 32), full);
    }
    full.wait(0);
}

#[test]
fn atomic_accesses_are_fenced_before_a_copy_overwrites_the_words() {
    let run = |what| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<u32>(32).unwrap(), gpu.zeros::<u32>(64).unwrap());
            let arguments = (input.view(), output.view(), what);
            gpu.launch(overwrites_what_others_used, Geometry::linear(2, 32), arguments).unwrap();
        })
    };
    for (what, said) in [(0, "modifies atomically"), (1, "loads atomically")] {
        is_told(&run(what), Kind::MissingProxyFence, &["WORDS[0]", said, "starts a copy that overwrites it"]);
    }
    // Of another block, which is not modelled.
    assert!(run(2).is_empty(), "{}", told(&run(2)));
}

/// Four warps multiply a tile that was copied; then it is overwritten by another copy. `reads` says which threads read
/// it by themselves: none, all before a product that they wait for, or while it goes on, or after it.
#[kernel]
fn overwrites_what_was_multiplied(input: Global<bf16>, output: Global<f32>, reads: u32, later: u32) {
    let (t, full) = (thread::thread_idx_x(), Mbarrier::at(BARRIERS::view(), 0));
    let tile = Tile::<bf16>::dynamic(0, 64);
    if t == 0 {
        full.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barrier exists
    let copies = || {
        if t == 0 {
            full.arrive_expecting(64 * ROW);
            bulk::load(tile.elements(), input, full);
        }
    };
    copies();
    full.wait(0);
    let mut sum = 0.0;
    let mut reads_now = |now: u32| {
        if now == reads {
            sum += tile.elements().get(t).to_f32();
        }
    };
    reads_now(1);
    let sums = if later == 1 {
        let sums = Sums::<32>::ZERO.add::<bf16, KMajor, KMajor>(tile, tile);
        reads_now(2);
        sums.finish()
    } else {
        warpgroup::multiply_add(tile, tile, [0.0; 32])
    };
    reads_now(3);
    output.set(t, sums[0] + sum);
    thread::sync_threads(); // all have multiplied
    copies();
    full.wait(1);
}

#[test]
fn what_products_have_read_needs_no_fence() {
    let run = |reads, later| {
        findings(|gpu| {
            let (input, output) = (gpu.zeros::<bf16>(64 * 64).unwrap(), gpu.zeros::<f32>(128).unwrap());
            let geometry = Geometry::linear(1, 128).shared(64 * ROW + MORE);
            gpu.launch(overwrites_what_was_multiplied, geometry, (input.view(), output.view(), reads, later)).unwrap();
        })
    };
    for later in [0, 1] {
        for reads in [0, 1] {
            assert!(run(reads, later).is_empty(), "{reads} {later}: {}", told(&run(reads, later)));
        }
        for reads in if later == 1 { 2..4 } else { 3..4 } {
            let said = ["reads", "starts a copy that overwrites it", "calls bulk::fence before it tells"];
            is_told(&run(reads, later), Kind::MissingProxyFence, &said);
        }
    }
}

// Warpgroups.

/// The warps from `first` up to `end` multiply; warp `odd` does so in another place.
#[kernel]
fn multiplies(output: Global<f32>, first: u32, end: u32, odd: u32, later: u32) {
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / 32);
    let [a, b] = [0, 1].map(|i| Tile::<bf16>::dynamic(i * 64 * ROW, 64));
    for i in (t..64 * Tile::<bf16>::DEPTH).step_by(thread::block_dim_x() as usize) {
        a.elements().set(i, bf16::ONE);
        b.elements().set(i, bf16::ONE);
    }
    bulk::fence();
    thread::sync_threads(); // the tiles are complete
    if warp < first || warp >= end {
        return;
    }
    let sums = match (later, warp == odd) {
        (0, false) => warpgroup::multiply_add(a, b, [0.0; 32]),
        (0, true) => warpgroup::multiply_add(a, b, [0.0; 32]),
        _ => {
            let sums = Sums::<32>::ZERO.add::<bf16, KMajor, KMajor>(a, b);
            if warp == odd { sums.finish() } else { sums.add::<bf16, KMajor, KMajor>(a, b).finish() }
        }
    };
    output.set(t, sums[0]);
}

#[test]
fn four_warps_multiply_together() {
    const NOBODY: u32 = 99;
    let run = |threads, first, end, odd, later| {
        findings(|gpu| {
            let output = gpu.zeros::<f32>(256).unwrap();
            let geometry = Geometry::linear(1, threads).shared(128 * ROW + MORE);
            gpu.launch(multiplies, geometry, (output.view(), first, end, odd, later)).unwrap();
        })
    };
    for later in [0, 1] {
        for (threads, first, end) in [(128, 0, 4), (256, 0, 8), (256, 4, 8)] {
            assert!(run(threads, first, end, NOBODY, later).is_empty(), "{threads} {first} {end}");
        }
        // Three of four, two halves of groups, a block of two warps, and one warp of a group in another place.
        is_told(&run(128, 0, 3, NOBODY, later), Kind::WarpMask, &["that warp 3 never makes", "four warps"]);
        is_told(&run(256, 2, 6, NOBODY, later), Kind::WarpMask, &["that warp 0 never makes", "four warps"]);
        is_told(&run(64, 0, 2, NOBODY, later), Kind::WarpMask, &["its group has 2"]);
    }
    is_told(&run(128, 0, 4, 1, 0), Kind::WarpMask, &["calls this, and warp", "tests/rules.rs"]);
    is_told(&run(256, 0, 8, 6, 1), Kind::WarpMask, &["that warp 6 never makes"]);
}

/// Two warpgroups, compiled for 256 registers per thread: the first gives back what it has beyond 40, the
/// second takes up to 240 and 232.
#[kernel(max_threads = 256, min_blocks = 1)]
fn changes_registers(output: Global<u32>, what: u32) {
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / 32);
    match (warp, what) {
        (0..4, 0) => warpgroup::release_registers::<40>(),
        (0..4, 1) => (),                                // nobody gives any back
        (0, 2) => warpgroup::release_registers::<40>(), // one warp does
        (0..4, 2) => (),
        (0..4, 3) => warpgroup::release_registers::<232>(),
        (0..3, 4) => warpgroup::release_registers::<40>(), // and one warp elsewhere
        (3, 4) => warpgroup::release_registers::<40>(),
        _ => {
            warpgroup::release_registers::<24>();
            match what {
                0 | 4 => warpgroup::claim_registers::<240>(),
                1 => warpgroup::claim_registers::<240>(), // its own alone
                _ => warpgroup::claim_registers::<232>(),
            }
        }
    }
    output.set(t, t);
}

/// The same, compiled for 384 threads of 168 registers: without a gift there are not enough for 232.
#[kernel(max_threads = 384, min_blocks = 1)]
fn claims_registers(output: Global<u32>, gives: u32) {
    let t = thread::thread_idx_x();
    if t >= 256 {
        match gives {
            0 => (),
            1 => warpgroup::release_registers::<48>(),
            _ => warpgroup::release_registers::<40>(),
        }
    } else {
        warpgroup::claim_registers::<232>();
    }
    output.set(t, t);
}

#[test]
fn registers_are_those_that_others_gave_back() {
    let run = |gives| {
        findings(|gpu| {
            let output = gpu.zeros::<u32>(384).unwrap();
            let _ = gpu.launch(claims_registers, Geometry::linear(1, 384), (output.view(), gives));
        })
    };
    assert!(run(2).is_empty(), "{}", told(&run(2)));
    is_told(&run(0), Kind::Deadlock, &["waits for registers: each thread began with 168, and 0 of"]);
    is_told(&run(1), Kind::Deadlock, &["waits for registers: each thread began with 168"]);
    // Without a check it ends as well.
    let on: &dyn Launcher = &Gpu::default();
    let output = on.zeros::<u32>(384).unwrap();
    let alone =
        |gives| launch(claims_registers, [2, 1, 1], [384, 1, 1], 0, (output.view(), gives), Options { workers: 1 });
    alone(2).unwrap();
    match alone(0) {
        Err(LaunchError::Fault(fault)) => assert_eq!(fault.kind, Kind::Deadlock, "{fault}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn four_warps_change_their_registers_together() {
    let run = |what| {
        findings(|gpu| {
            let output = gpu.zeros::<u32>(256).unwrap();
            let _ = gpu.launch(changes_registers, Geometry::linear(1, 256), (output.view(), what));
        })
    };
    for what in [0, 1, 3] {
        assert!(run(what).is_empty(), "{what}: {}", told(&run(what)));
    }
    is_told(&run(2), Kind::WarpMask, &["that warp 1 never makes"]);
    is_told(&run(4), Kind::WarpMask, &["calls this, and warp"]);
}

// Named barriers.

/// Lanes or warps come to a named barrier from two lines.
#[kernel]
fn comes_from_two_lines(output: Global<u32>, apart: u32) {
    let t = thread::thread_idx_x();
    if (t / apart).is_multiple_of(2) {
        thread::barrier(1, 128); // one line
    } else {
        output.set(t, 0);
        thread::barrier(1, 128); // and another
    }
    output.set(t, t);
}

#[test]
fn lanes_come_to_a_named_barrier_together() {
    let run = |apart| {
        findings(|gpu| {
            let output = gpu.zeros::<u32>(128).unwrap();
            let _ = gpu.launch(comes_from_two_lines, Geometry::linear(1, 128), (output.view(), apart));
        })
    };
    for apart in [32, 64] {
        assert!(run(apart).is_empty(), "{}", told(&run(apart)));
    }
    for apart in [1, 16] {
        is_told(&run(apart), Kind::DivergentBarrier, &["lanes of one warp wait at barrier 1 in different places"]);
    }
}

// Dependent launches.

/// Adds to a counter of 4 or of 8 bytes, or loads it.
#[kernel]
fn counts(words: Global<u32>, what: u32) {
    grid::let_next_start();
    act(words, what);
}

#[inline(always)]
#[track_caller]
fn act(words: Global<u32>, what: u32) {
    match what {
        0 => _ = words.load(0, Order::Relaxed, Scope::Device),
        1 => _ = words.fetch_add(0, 1, Order::Relaxed, Scope::Device),
        _ => words.store(0, 1, Order::Release, Scope::Device),
    }
}

#[kernel]
fn counts_on(words: Global<u32>, what: u32, waits: u32) {
    if waits == 1 {
        grid::wait_for_previous();
    }
    act(words, what);
}

#[test]
fn atomics_wait_for_the_launch_before() {
    let run = |first, second, waits| {
        findings(|gpu| {
            let words = gpu.zeros::<u32>(1).unwrap();
            gpu.launch(counts, Geometry::linear(2, 32), (words.view(), first)).unwrap();
            let geometry = Geometry::linear(2, 32).overlapping();
            gpu.launch(counts_on, geometry, (words.view(), second, waits)).unwrap();
        })
    };
    for first in 0..3 {
        for second in 0..3 {
            assert!(run(first, second, 1).is_empty(), "{first} {second}: {}", told(&run(first, second, 1)));
            let early = run(first, second, 0);
            match (first, second) {
                (0, 0) => assert!(early.is_empty(), "{}", told(&early)),
                _ => is_told(&early, Kind::BeforeWait, &["atomically", "grid::wait_for_previous"]),
            }
        }
    }
}
