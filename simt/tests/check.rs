//! The simulator's checks: wrong kernels that are named, right ones that are not.

use simt::atomic::{Order, Scope};
use simt::mbarrier::{self, Mbarrier};
use simt::mma::Tf32;
use simt::sim::{Check, Gpu, Kind, Report, check, expect_written, shortest};
use simt::warpgroup::{self, KMajor, MORE, ROW, Sums, Tile};
use simt::{Geometry, Global, async_copy, bf16, bulk, kernel, launcher::Launcher, shared, thread, warp};

shared!(TILE: [u32; 256]);

/// Findings of `kernel` over views of `words` words, the first of which the host has written.
fn report(work: impl Fn(&dyn Launcher, Global<u32>, Global<u32>)) -> Report {
    let checked = check(Check { schedules: 16, ..Check::default() }, || {
        let gpu = Gpu::default();
        let gpu: &dyn Launcher = &gpu;
        let (input, output) = (gpu.zeros::<u32>(1024).unwrap(), gpu.scratch::<u32>(1024).unwrap());
        work(gpu, input.view(), output.view());
    });
    checked.report
}

fn kinds(work: impl Fn(&dyn Launcher, Global<u32>, Global<u32>)) -> Vec<Kind> {
    let report = report(work);
    for finding in &report.findings {
        println!("{finding}\n");
    }
    report.kinds()
}

#[kernel]
fn reverse(input: Global<u32>, output: Global<u32>, barrier: u32) {
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    TILE::view().set(t, input.get(i));
    if barrier == 1 {
        thread::sync_threads();
    } else if barrier == 2 {
        warp::sync_warp(warp::FULL);
    }
    output.set(i, TILE::view().get(255 - t));
}

#[test]
fn a_barrier_left_out() {
    let run = |barrier| kinds(move |gpu, a, b| gpu.launch(reverse, Geometry::linear(4, 256), (a, b, barrier)).unwrap());
    assert_eq!(run(1), []);
    // What is read too early was not written yet, and that is no mistake of its own.
    assert_eq!(run(0), [Kind::SharedRace]);
    assert_eq!(run(2), [Kind::SharedRace], "a warp's barrier orders that warp alone");
}

/// A finding names the array and the element, also behind other arrays and in elements of other sizes.
#[test]
fn elements_of_shared_arrays_are_named() {
    let found = report(|gpu, a, b| gpu.launch(reverse, Geometry::linear(1, 256), (a, b, 0)).unwrap());
    let race = found.findings.iter().find(|f| f.kind == Kind::SharedRace).unwrap();
    let element = race.memory.unwrap().element.unwrap();
    assert_eq!((element.array, element.byte), ("TILE", 0));
    assert!(race.to_string().contains(&format!("shared memory, TILE[{}]", element.index)), "{race}");

    let found = report(|gpu, a, b| gpu.launch(bytes_behind, Geometry::linear(1, 32), (a, b)).unwrap());
    let memory = found.findings[0].memory.unwrap();
    assert_eq!((found.findings[0].kind, memory.offset), (Kind::UninitialisedShared, 4 * 256 + 8 * 5 + 4));
    assert_eq!(memory.to_string(), "shared memory, WIDE[5], byte 4 of it");
}

shared!(WIDE: [u64; 8]);

#[kernel]
fn bytes_behind(input: Global<u32>, output: Global<u32>) {
    let (tile, wide) = (TILE::view(), WIDE::view().cast::<u32>());
    let t = thread::thread_idx_x();
    tile.set(t, input.get(t));
    if t == 3 {
        output.set(t, wide.get(2 * 5 + 1));
    }
}

#[kernel]
fn the_last_comes_first(counter: Global<u32>, output: Global<u32>) {
    // Of two blocks, the one that comes second finds the other's word, or so the kernel believes.
    let block = thread::block_idx_x();
    let before = counter.fetch_add(0, 1, Order::AcqRel, Scope::Device);
    if before == 0 && block == 1 {
        output.get(1023);
    }
}

/// A failure that one schedule shows is shown again by the part of that schedule that is enough, and by no less.
#[test]
fn a_schedule_is_shortened() {
    let work = || {
        let gpu: &dyn Launcher = &Gpu::default();
        let (counter, output) = (gpu.zeros::<u32>(1).unwrap(), gpu.scratch::<u32>(1024).unwrap());
        let geometry = Geometry::linear(2, 1);
        gpu.launch(the_last_comes_first, geometry, (counter.view(), output.view())).unwrap();
    };
    let found = |options| check(options, work).report.findings.len();
    let schedules = (0..32).map(|seed| Check { seed, schedules: 1, ..Check::default() });
    let failing: Vec<Check> = schedules.filter(|&options| found(options) > 0).collect();
    assert!(!failing.is_empty() && failing.iter().all(|options| options.seed > 0), "{failing:?}");
    for options in failing {
        let shortest = shortest(options, work, |(), report| !report.is_clean()).unwrap();
        let choices = shortest.check.choices;
        assert_eq!((shortest.check.seed, found(shortest.check)), (options.seed, 1), "{shortest}");
        assert_eq!(found(Check { choices: choices - 1, ..shortest.check }), 0, "{shortest}");
        assert!(shortest.to_string().contains(&format!("schedule {}", options.seed)), "{shortest}");
    }
    let plain = |seed| shortest(Check { seed, ..Check::default() }, || (), |(), _| true).unwrap();
    assert_eq!((plain(3).check.choices, plain(3).to_string()), (0, "any schedule, the plain one too".into()));
    assert_eq!(shortest(Check::default(), work, |(), report| !report.is_clean()), None);
}

#[kernel]
fn within_warps(input: Global<u32>, output: Global<u32>, barrier: u32) {
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    TILE::view().set(t, input.get(i));
    if barrier == 1 {
        warp::sync_warp(warp::FULL);
    } else {
        // A vote exchanges registers and orders nothing.
        warp::ballot(warp::FULL, true);
    }
    output.set(i, TILE::view().get(t ^ 5));
}

#[test]
fn warp_barriers_order_their_lanes() {
    let run =
        |barrier| kinds(move |gpu, a, b| gpu.launch(within_warps, Geometry::linear(2, 256), (a, b, barrier)).unwrap());
    assert_eq!(run(1), []);
    assert!(run(0).contains(&Kind::SharedRace));
}

#[kernel]
fn shift_in_place(data: Global<u32>, barrier: u32) {
    let i = thread::thread_idx_x();
    let next = if i + 1 < data.len() { data.get(i + 1) } else { 0 };
    if barrier == 1 {
        thread::sync_threads();
    }
    data.set(i, next);
}

#[test]
fn a_shift_in_place() {
    let run = |barrier| {
        kinds(move |gpu, a, _| {
            gpu.launch(shift_in_place, Geometry::linear(1, 256), (a.slice(0, 256), barrier)).unwrap()
        })
    };
    assert_eq!(run(1), []);
    assert_eq!(run(0), [Kind::GlobalRace]);
}

#[kernel]
fn count(data: Global<u32>, bins: Global<u32>, how: u32) {
    let bin = data.get(thread::index_1d()) % 16;
    match how {
        0 => bins.set(bin, bins.get(bin) + 1),
        1 => _ = bins.fetch_add(bin, 1, Order::Relaxed, Scope::Device),
        2 => _ = bins.fetch_add(bin, 1, Order::Relaxed, Scope::Block),
        _ => {
            bins.fetch_add(bin, 1, Order::Relaxed, Scope::Device);
            bins.set(bin, 1);
        }
    }
}

#[test]
fn histograms_by_get_and_set() {
    let run = |blocks, how| {
        kinds(move |gpu, a, b| {
            gpu.clear(b).unwrap();
            gpu.launch(count, Geometry::linear(blocks, 64), (a, b, how)).unwrap();
        })
    };
    assert!(run(1, 0).contains(&Kind::GlobalRace));
    assert!(run(4, 0).contains(&Kind::GlobalRace));
    assert_eq!(run(4, 1), []);
    assert_eq!(run(4, 2), [Kind::ScopeTooSmall]);
    assert_eq!(run(1, 2), []);
    assert!(run(2, 3).contains(&Kind::MixedAtomic));
}

#[kernel]
fn total(data: Global<u32>, partial: Global<u32>, ticket: Global<u32>, out: Global<u32>, order: u32) {
    let t = thread::thread_idx_x();
    if t == 0 {
        partial.set(thread::block_idx_x(), data.get(thread::index_1d()));
        let (order, scope) = match order {
            0 => (Order::Relaxed, Scope::Device),
            1 => (Order::AcqRel, Scope::Device),
            2 => (Order::Release, Scope::Device),
            3 => (Order::AcqRel, Scope::Block),
            _ => {
                simt::atomic::fence(Order::AcqRel, Scope::Device);
                (Order::Relaxed, Scope::Device)
            }
        };
        let before = ticket.fetch_add(0, 1, order, scope);
        if before == thread::grid_dim_x() - 1 {
            if order == Order::Relaxed {
                simt::atomic::fence(Order::AcqRel, Scope::Device);
            }
            let mut sum = 0;
            for i in 0..thread::grid_dim_x() {
                sum += partial.get(i);
            }
            out.set(0, sum);
        }
    }
}

#[test]
fn tickets_need_an_order() {
    let run = |order| {
        kinds(move |gpu, a, b| {
            let ticket = gpu.zeros::<u32>(1).unwrap();
            let args = (a, b, ticket.view(), b.slice(512, 1), order);
            gpu.launch(total, Geometry::linear(20, 32), args).unwrap();
        })
    };
    assert_eq!(run(0), [Kind::GlobalRace], "relaxed");
    assert_eq!(run(1), []);
    assert_eq!(run(2), [Kind::GlobalRace], "released and never acquired");
    assert_eq!(run(3), [Kind::ScopeTooSmall]);
    assert_eq!(run(4), [], "fences around a relaxed ticket");
}

#[kernel]
fn touch(input: Global<u32>, output: Global<u32>) {
    let i = thread::index_1d();
    output.set(i, input.get(i));
}

#[test]
fn memory_that_nobody_wrote() {
    let uninitialised = kinds(|gpu, _, b| {
        let scratch = gpu.scratch::<u32>(1024).unwrap();
        gpu.launch(touch, Geometry::linear(4, 256), (scratch.view(), b)).unwrap();
    });
    assert_eq!(uninitialised, [Kind::UninitialisedGlobal]);
    let unwritten = kinds(|gpu, a, b| {
        gpu.launch(touch, Geometry::linear(3, 256), (a, b)).unwrap();
        expect_written(b);
    });
    assert_eq!(unwritten, [Kind::Unwritten]);
    let written = kinds(|gpu, a, b| {
        gpu.launch(touch, Geometry::linear(4, 256), (a, b)).unwrap();
        expect_written(b);
    });
    assert_eq!(written, []);
}

#[kernel]
fn last_bytes(output: Global<u8>) {
    output.set(thread::index_1d(), 7);
}

#[test]
fn neighbouring_bytes_are_no_race() {
    assert_eq!(kinds(|gpu, _, b| gpu.launch(last_bytes, Geometry::linear(4, 256), (b.cast::<u8>(),)).unwrap()), []);
}

#[kernel]
fn outside(output: Global<u32>, how: u32) {
    let t = thread::thread_idx_x();
    match how {
        0 => output.set(1024 + t, 0),
        1 => output.set((t as i32 - 1) as u32, 0),
        2 => {
            if t < 7 {
                thread::sync_threads();
            }
        }
        3 => {
            if t < 7 {
                output.set(t, thread::sync_threads_count(true));
            } else {
                thread::sync_threads();
            }
        }
        4 => {
            if t < 7 {
                warp::sync_warp(warp::FULL);
            }
        }
        5 => {
            if t < 16 {
                output.set(t, warp::shuffle_down(0xffff, t, 8));
            }
        }
        _ => while output.load(0, Order::Acquire, Scope::Device) == 0 {},
    }
}

#[test]
fn what_stops_a_kernel() {
    let run = |how| kinds(move |gpu, a, _| _ = gpu.launch(outside, Geometry::linear(1, 64), (a, how)));
    assert_eq!(run(0), [Kind::OutOfBounds]);
    assert_eq!(run(1), [Kind::OutOfBounds]);
    assert_eq!(run(2), [Kind::MissedBarrier]);
    assert_eq!(run(3), [Kind::DivergentBarrier]);
    assert_eq!(run(4), [Kind::WarpMask]);
    assert_eq!(run(5), [Kind::ShuffleOutsideMask]);
    assert_eq!(run(6), [Kind::EndlessSpin]);
}

#[kernel]
fn same_value(output: Global<u32>) {
    output.set(0, 7);
}

#[test]
fn writes_of_one_value_can_be_allowed() {
    let run = |allow_same_value| {
        check(Check { schedules: 4, allow_same_value, ..Check::default() }, || {
            let gpu = Gpu::default();
            let gpu: &dyn Launcher = &gpu;
            let output = gpu.scratch::<u32>(1).unwrap();
            gpu.launch(same_value, Geometry::linear(2, 32), (output.view(),)).unwrap();
        })
        .report
        .kinds()
    };
    assert_eq!(run(false), [Kind::SameValueWrite]);
    assert_eq!(run(true), []);
}

/// Four warps write two tiles and multiply them. The first `fencing` threads fence what they wrote: `behind` the
/// barrier, or before it.
#[kernel]
fn product_of_tiles(output: Global<f32>, fencing: u32, behind: u32) {
    let t = thread::thread_idx_x();
    let (a, b) = (Tile::<bf16>::dynamic(0, 64), Tile::<bf16>::dynamic(64 * ROW, 64));
    for i in (t..64 * Tile::<bf16>::DEPTH).step_by(128) {
        a.elements().set(i, bf16::ONE);
        b.elements().set(i, bf16::ONE);
    }
    if behind == 0 && t < fencing {
        bulk::fence();
    }
    thread::sync_threads(); // the tiles are complete
    if behind == 1 && t < fencing {
        bulk::fence();
    }
    let sums = warpgroup::multiply_add(a, b, [0.0; 32]);
    output.set(t, sums[31]);
}

/// The tensor cores read shared memory as copies do: past the threads.
#[test]
fn a_product_needs_a_fence_after_the_writes() {
    let found = |fencing: u32, behind: u32| {
        let checked = check(Check { schedules: 2, ..Check::default() }, || {
            let gpu = Gpu::default();
            let gpu: &dyn Launcher = &gpu;
            let output = gpu.scratch::<f32>(128).unwrap();
            let geometry = Geometry::linear(1, 128).shared(128 * ROW + MORE);
            gpu.launch(product_of_tiles, geometry, (output.view(), fencing, behind)).unwrap();
            // SAFETY: the launch has ended, and the memory lives.
            unsafe { *output.view().as_ptr() }
        });
        assert_eq!(checked.results, [64.0; 2], "the simulator's products are right all the same");
        checked.report
    };
    for (fencing, behind) in [(128, 0), (128, 1)] {
        let report = found(fencing, behind);
        assert!(report.is_clean(), "{report}");
    }
    for (fencing, behind) in [(0, 0), (64, 0), (64, 1)] {
        let report = found(fencing, behind);
        assert_eq!(report.kinds(), [Kind::MissingProxyFence], "{report}");
        let finding = &report.findings[0];
        let first = finding.first.as_ref().expect("the write is shown");
        assert!(first.what == "writes" && first.thread.0[0] >= fencing, "{finding}");
        assert!(finding.memory.is_some() && finding.second.what == "multiplies it", "{finding}");
    }
}

shared!(BARRIERS: [u64; 2]);

/// Thread 32 writes words that thread 0 has copied to global memory; `how` says who calls `bulk::fence`, and when.
#[kernel]
fn handed_to_the_engine(output: Global<u32>, how: u32) {
    let (t, tile) = (thread::thread_idx_x(), TILE::view());
    let written = [0, 1].map(|i| Mbarrier::at(BARRIERS::view(), i));
    if t == 0 {
        written.iter().for_each(|barrier| barrier.init(1));
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barriers exist
    let fence = |now: u32| {
        if how == now {
            bulk::fence();
        }
    };
    let store = |part: u32| {
        bulk::store(output.slice(part * 4, 4), tile.slice(part * 4, 4));
        bulk::commit();
        bulk::wait_read::<0>();
    };
    match t {
        32 => {
            // What follows is late by the thread's own time.
            (0..5).for_each(|_| simt::atomic::fence(Order::Release, Scope::Block));
            (0..4).for_each(|i| tile.set(i, i));
            if how == 1 || how == 6 {
                bulk::fence();
            }
            written[0].arrive();
            fence(2);
            (4..8).for_each(|i| tile.set(i, i));
            if how >= 5 {
                bulk::fence();
            }
            written[1].arrive();
        }
        0 => {
            if how == 3 {
                // It knows of nothing yet.
                (0..20).for_each(|_| bulk::fence());
            }
            written[0].wait(0);
            fence(4);
            if how != 5 {
                store(0);
            }
            written[1].wait(0);
            if how == 5 {
                store(1);
            }
        }
        _ => (),
    }
}

/// A fence counts if it is behind the write, and if who starts the copy knows of it: whatever the threads' own times
/// are.
#[test]
fn a_fence_stands_between_the_writes_and_the_copy() {
    for (how, right) in [(0, false), (1, true), (2, false), (3, false), (4, true), (5, true), (6, true)] {
        let report = report(|gpu, _, b| gpu.launch(handed_to_the_engine, Geometry::linear(1, 64), (b, how)).unwrap());
        let expected: &[Kind] = if right { &[] } else { &[Kind::MissingProxyFence] };
        assert_eq!(report.kinds(), expected, "{how}: {report}");
    }
}

/// Thread 0 fences while thread 1 writes, and starts a copy behind the barrier; if `third`, thread 2 fences behind that
/// barrier, and before one more.
#[kernel]
fn fenced_too_early(output: Global<u32>, third: u32) {
    let (t, tile) = (thread::thread_idx_x(), TILE::view());
    match t {
        0 => bulk::fence(),
        1 => (0..4).for_each(|i| tile.set(i, i)),
        _ => (),
    }
    thread::sync_threads();
    if third == 1 {
        if t == 2 {
            bulk::fence();
        }
        thread::sync_threads(); // the copy is behind the fence
    }
    if t == 0 {
        bulk::store(output.slice(0, 4), tile.slice(0, 4));
        bulk::commit();
        bulk::wait_read::<0>();
    }
}

#[test]
fn a_fence_before_the_writes_does_nothing() {
    let run = |third| kinds(|gpu, _, b| gpu.launch(fenced_too_early, Geometry::linear(1, 32), (b, third)).unwrap());
    assert_eq!(run(0), [Kind::MissingProxyFence]);
    assert_eq!(run(1), [], "a third thread that knows of the writes fences for both");
}

/// Four warps begin the products of two pairs of tiles, and write to tile `tile` (A's of a pair, of the first or of the
/// second) before they have begun the second product, after that, or when all have been made; or begin one more product
/// and end.
#[kernel]
fn tiles_written_beside_products(output: Global<f32>, tile: u32, after: u32) {
    let t = thread::thread_idx_x();
    let of_a = |pair: u32| Tile::<bf16>::dynamic(pair * 128 * ROW, 64);
    let of_b = |pair: u32| Tile::<bf16>::dynamic(pair * 128 * ROW + 64 * ROW, 64);
    for pair in 0..2 {
        for i in (t..64 * Tile::<bf16>::DEPTH).step_by(128) {
            of_a(pair).elements().set(i, bf16::ONE);
            of_b(pair).elements().set(i, bf16::ONE);
        }
    }
    bulk::fence();
    thread::sync_threads(); // the tiles are complete
    let write = |now: u32| {
        if now == after {
            thread::sync_threads(); // what one warp knows, all know
            for i in (t..64 * Tile::<bf16>::DEPTH).step_by(128) {
                of_a(tile).elements().set(i, bf16::ZERO);
            }
        }
    };
    let mut sums = Sums::<32>::ZERO.add::<bf16, KMajor, KMajor>(of_a(0), of_b(0));
    write(1);
    if after > 1 {
        sums = sums.add::<bf16, KMajor, KMajor>(of_a(1), of_b(1));
    }
    write(2);
    let sums = sums.finish();
    write(3);
    output.set(t, sums[31]);
    if after == 4 {
        let _ = Sums::<32>::ZERO.add::<bf16, KMajor, KMajor>(of_a(0), of_b(0)); // the block ends before it
    }
}

/// Products read their tiles while the threads go on: until the next ones have begun, or all have been made. A block
/// may not end before.
#[test]
fn tiles_are_written_when_products_have_read_them() {
    let found = |tile: u32, after: u32| {
        let checked = check(Check { schedules: 4, ..Check::default() }, || {
            let gpu: &dyn Launcher = &Gpu::default();
            let output = gpu.scratch::<f32>(128).unwrap();
            let geometry = Geometry::linear(1, 128).shared(256 * ROW + MORE);
            gpu.launch(tiles_written_beside_products, geometry, (output.view(), tile, after)).unwrap();
        });
        checked.report
    };
    for (tile, after) in [(0, 2), (0, 3), (1, 1), (1, 3)] {
        let report = found(tile, after);
        assert!(report.is_clean(), "{tile} {after}: {report}");
    }
    let report = found(0, 4);
    assert_eq!(report.kinds(), [Kind::CopyInFlight], "{report}");
    assert!(report.findings[0].second.what.contains("begins a product"), "{report}");
    for (tile, after) in [(0, 1), (1, 2)] {
        let report = found(tile, after);
        assert_eq!(report.kinds(), [Kind::SharedRace], "{tile} {after}: {report}");
        let finding = &report.findings[0];
        let first = finding.first.as_ref().expect("the product is shown");
        assert_eq!(first.what, "reads by a product that it began", "{finding}");
        let sites = [first, &finding.second].map(|side| side.site.as_ref().expect("a place"));
        assert!(sites.iter().all(|site| site.file.ends_with("tests/check.rs")), "{finding}");
        assert!(finding.advice.contains("Sums::finish"), "{finding}");
    }
}

/// The same with one tile of `f32`, of which both halves are multiplied: threads write its second half.
#[kernel]
fn half_a_tile_written(output: Global<f32>, after: u32) {
    let (t, tile) = (thread::thread_idx_x(), Tile::<f32>::dynamic(0, 64));
    for i in (t..64 * Tile::<f32>::DEPTH).step_by(128) {
        tile.elements().set(i, 1.0);
    }
    bulk::fence();
    thread::sync_threads(); // the tile is complete
    let write = |now: u32| {
        if now == after {
            thread::sync_threads(); // what one warp knows, all know
            for i in (t..64 * 16).step_by(128) {
                tile.elements().set(Tile::<f32>::place(i / 16, 16 + i % 16), 0.0);
            }
        }
    };
    let held = [[Tf32::truncated(1.0); 4]; 2];
    let sums = Sums::<32>::ZERO.add_held(held, tile, 1);
    write(1);
    let sums = sums.add_held(held, tile, 0);
    write(2);
    output.set(t, sums.finish()[31]);
}

#[test]
fn half_a_tile_is_written_when_products_have_read_it() {
    let found = |after: u32| {
        let checked = check(Check { schedules: 4, ..Check::default() }, || {
            let gpu: &dyn Launcher = &Gpu::default();
            let output = gpu.scratch::<f32>(128).unwrap();
            let geometry = Geometry::linear(1, 128).shared(64 * ROW + MORE);
            gpu.launch(half_a_tile_written, geometry, (output.view(), after)).unwrap();
        });
        checked.report
    };
    // The products of the first half are still being made, which nobody writes.
    assert!(found(2).is_clean(), "{}", found(2));
    let report = found(1);
    assert_eq!(report.kinds(), [Kind::SharedRace], "{report}");
    assert_eq!(report.findings[0].first.as_ref().expect("the product").what, "reads by a product that it began");
}

/// Starts a copy of an element, or of a zero, and may wait for it.
#[kernel]
fn copies_at_the_end(input: Global<u32>, output: Global<u32>, inside: u32, waits: u32) {
    let t = thread::thread_idx_x();
    async_copy::element(TILE::view(), t, input, t, inside == 1);
    async_copy::commit();
    if waits == 1 {
        async_copy::wait::<0>();
    }
    output.set(t, t);
}

/// A copy that reads nothing writes zeros all the same, perhaps to another block's shared memory.
#[test]
fn no_copy_is_in_flight_when_a_block_ends() {
    for inside in [1, 0] {
        let found = |waits: u32| {
            kinds(|gpu, a, b| _ = gpu.launch(copies_at_the_end, Geometry::linear(1, 32), (a, b, inside, waits)))
        };
        assert_eq!(found(0), [Kind::CopyInFlight], "{inside}");
        assert_eq!(found(1), [], "{inside}");
    }
}

/// Thread 0 waits for a flag that the last thread raises behind the barrier at which it waits for thread 0.
#[kernel]
fn raised_too_late(output: Global<u32>) {
    let (t, flag) = (thread::thread_idx_x(), TILE::view());
    if t == 0 {
        flag.set(3, 0);
        while flag.load(3, Order::Acquire, Scope::Block) == 0 {}
    }
    thread::sync_threads();
    flag.store(3, 1, Order::Release, Scope::Block);
    output.set(t, t);
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    let report = report(|gpu, _, b| _ = gpu.launch(raised_too_late, Geometry::linear(1, 64), (b,)));
    assert_eq!(report.kinds(), [Kind::Deadlock], "{report}");
    let finding = &report.findings[0];
    let (first, second) = (finding.first.as_ref().unwrap(), &finding.second);
    assert_eq!(first.what, "waits at the barrier of its block, as 62 others do");
    assert_eq!(second.what, "looks in a loop at shared memory, TILE[3], which stays 0x0");
    let lines = [first, second].map(|side| side.site.as_ref().expect("a place").line);
    assert_eq!(lines[0] - lines[1], 2, "{finding}");
    assert_eq!((first.thread.0, second.thread.0), ([1, 0, 0], [0; 3]), "{finding}");
}

/// Threads 0 and 32 hand over to each other, `times` times, and access nothing meanwhile.
#[kernel]
fn to_and_fro(output: Global<u32>, times: u32) {
    let (t, [there, back]) = (thread::thread_idx_x(), [0, 1].map(|i| Mbarrier::at(BARRIERS::view(), i)));
    if t == 0 {
        there.init(1);
        back.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barriers exist
    for i in 0..times {
        match t {
            0 => {
                there.arrive();
                back.wait(i % 2);
            }
            32 => {
                there.wait(i % 2);
                back.arrive();
            }
            _ => (),
        }
    }
    output.set(t, t);
}

/// A wait is long when nothing happens, not when much does.
#[test]
fn phases_that_end_are_no_deadlock() {
    let checked = check(Check { schedules: 1, ..Check::default() }, || {
        let gpu: &dyn Launcher = &Gpu::default();
        let output = gpu.scratch::<u32>(64).unwrap();
        gpu.launch(to_and_fro, Geometry::linear(1, 64), (output.view(), 100_000)).map_err(|e| e.to_string())
    });
    assert_eq!(checked.results, [Ok(())]);
    assert!(checked.report.is_clean(), "{}", checked.report);
}

/// Thread 0 waits for a flag of the other block, the block meets, and every thread loads the flag, relaxed.
#[kernel]
fn flag_seen_by_one(flag: Global<u32>, output: Global<u32>) {
    let t = thread::thread_idx_x();
    if thread::block_idx_x() == 1 {
        if t == 0 {
            flag.store(0, 1, Order::Relaxed, Scope::Device);
        }
        return;
    }
    if t == 0 {
        while flag.load(0, Order::Relaxed, Scope::Device) == 0 {}
    }
    thread::sync_threads(); // what thread 0 has loaded, the others cannot miss any more
    output.set(t, flag.load(0, Order::Relaxed, Scope::Device));
}

/// A load is not given an older value than one that came before it, by any thread.
#[test]
fn loads_do_not_go_back_behind_those_before_a_barrier() {
    let checked = check(Check { schedules: 64, ..Check::default() }, || {
        let gpu = Gpu::default();
        let gpu: &dyn Launcher = &gpu;
        let (flag, output) = (gpu.zeros::<u32>(1).unwrap(), gpu.scratch::<u32>(64).unwrap());
        gpu.launch(flag_seen_by_one, Geometry::linear(2, 64), (flag.view(), output.view())).unwrap();
        let mut words = [0u32; 64];
        // SAFETY: the launch has ended, and the memory lives.
        words.iter_mut().zip(0..).for_each(|(word, i)| *word = unsafe { *output.view().as_ptr().add(i) });
        words
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
    assert!(checked.results.iter().all(|words| *words == [1; 64]), "{:?}", checked.results);
}
