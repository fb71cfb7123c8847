//! What the simulator counts: small kernels whose requests, sectors and wavefronts are derived by hand.

use simt::atomic::{Order, Scope};
use simt::launcher::{Launcher, Memory};
use simt::sim::stats::{Counts, Instruction, Line, Statistics, statistics};
use simt::sim::{Check, Gpu, HostMemory, Options, check};
use simt::{Geometry, Global, Kernel, Shared, async_copy, bulk, kernel, mbarrier, shared, thread, warp};

/// Runs a kernel on `len` zeros (the address of the first is a multiple of 256) and counts.
fn run<K, T: simt::Scalar>(
    kernel: K,
    geometry: Geometry,
    len: u32,
    args: impl FnOnce(Global<T>) -> K::Args,
) -> Statistics
where
    K: Kernel,
{
    let memory = HostMemory::new(len as usize * size_of::<T>());
    // SAFETY: the memory has the words and outlives the launch.
    let data = unsafe { Global::from_raw(memory.address().cast::<T>(), len) };
    let gpu: &dyn Launcher = &Gpu::default();
    // SAFETY: as above.
    unsafe { gpu.clear_bytes(memory.address(), len as usize * size_of::<T>()).unwrap() };
    let (result, statistics) = statistics(|| gpu.launch(kernel, geometry, args(data)));
    result.unwrap();
    statistics
}

/// The lines of the only launch that do this, in order.
fn lines(statistics: &Statistics, instruction: Instruction) -> Vec<&Line> {
    let [launch] = &statistics.launches[..] else { panic!("{} launches", statistics.launches.len()) };
    launch.lines.iter().filter(|line| line.instruction == instruction).collect()
}

/// The counts of the only such line.
fn only(statistics: &Statistics, instruction: Instruction) -> Counts {
    let [line] = lines(statistics, instruction)[..] else { panic!("{statistics:#?}") };
    line.counts
}

#[kernel(instances(strided: <u32>, strided_u8: <u8>, strided_u64: <u64>))]
fn strided<T: simt::Scalar>(data: Global<T>, stride: u32, offset: u32) {
    data.get(thread::thread_idx_x() * stride + offset);
}

/// A request of one sector in each block: of one lane in the first, of three lanes in the others.
#[kernel]
fn few_lanes(data: Global<u32>) {
    let lanes = if thread::block_idx_x() == 0 { 1 } else { 3 };
    if thread::thread_idx_x() < lanes {
        data.get(thread::thread_idx_x());
    }
}

#[test]
fn of_requests_that_cost_as_much_the_one_with_the_most_lanes_is_kept() {
    let s = run(few_lanes, Geometry::linear(3, 32), 32, |data| (data,));
    let line = lines(&s, Instruction::GlobalLoad)[0];
    let worst = line.worst.as_ref().unwrap();
    assert_eq!((line.cost, worst.block, worst.active()), (1, 1, 3));
}

#[kernel]
fn packs(data: Global<u32>, stride: u32) {
    data.get_pack(thread::thread_idx_x() * stride);
}

#[test]
fn sectors_of_global_loads() {
    // 32 lanes of 4 bytes: 128 bytes are 4 sectors; every second word 8; every eighth one each; one word shared.
    for (stride, offset, sectors) in [(1, 0, 4), (2, 0, 8), (8, 0, 32), (9, 0, 32), (0, 0, 1), (1, 1, 5), (1, 8, 4)] {
        let s = run(strided::<u32>::default(), Geometry::linear(1, 32), 512, |data| (data, stride, offset));
        let counts = only(&s, Instruction::GlobalLoad);
        let want = Counts { requests: 1, lanes: 32, bytes: 128, sectors, ..Counts::default() };
        assert_eq!(counts, want, "stride {stride}, offset {offset}");
    }
    let s = run(strided::<u8>::default(), Geometry::linear(1, 64), 512, |data| (data, 1, 0));
    assert_eq!(
        only(&s, Instruction::GlobalLoad),
        Counts { requests: 2, lanes: 64, bytes: 64, sectors: 2, ..Counts::default() }
    );
    let s = run(strided::<u64>::default(), Geometry::linear(1, 33), 512, |data| (data, 1, 0));
    assert_eq!(
        only(&s, Instruction::GlobalLoad),
        Counts { requests: 2, lanes: 33, bytes: 264, sectors: 9, ..Counts::default() }
    );
    let s = run(packs, Geometry::linear(1, 32), 512, |data| (data, 1));
    let counts = only(&s, Instruction::GlobalLoad);
    assert_eq!(counts, Counts { requests: 1, lanes: 32, bytes: 512, sectors: 16, ..Counts::default() });
    let line = lines(&s, Instruction::GlobalLoad)[0];
    assert_eq!((line.bytes, line.cost), (16, 16));
    let worst = line.worst.as_ref().unwrap();
    assert_eq!((worst.block, worst.warp), (0, 0));
    assert!((0..32).all(|i| worst.lanes[i].unwrap() - worst.lanes[0].unwrap() == 16 * i as u64));
}

/// Lanes in an order that is not that of their addresses.
#[kernel]
fn permuted(data: Global<u32>) {
    data.set(thread::thread_idx_x() * 5 % 32, 1);
}

#[test]
fn sectors_do_not_depend_on_the_order_of_the_lanes() {
    let s = run(permuted, Geometry::linear(1, 32), 32, |data| (data,));
    assert_eq!(
        only(&s, Instruction::GlobalStore),
        Counts { requests: 1, lanes: 32, bytes: 128, sectors: 4, ..Counts::default() }
    );
}

#[kernel]
fn banks(_data: Global<u32>, stride: u32, modulus: u32) {
    Shared::<u32>::dynamic(0, 2048).get(thread::thread_idx_x() * stride % modulus);
}

#[kernel]
fn banks_of_8_bytes(_data: Global<u32>, stride: u32, modulus: u32) {
    Shared::<u64>::dynamic(0, 1024).get(thread::thread_idx_x() * stride % modulus);
}

#[kernel]
fn banks_of_16_bytes(_data: Global<u32>, stride: u32, modulus: u32) {
    Shared::<u32>::dynamic(0, 2048).get_pack(thread::thread_idx_x() * stride % modulus);
}

/// Wavefronts and bank conflicts of one load.
fn banked<K: Kernel<Args = (Global<u32>, u32, u32)>>(kernel: K, stride: u32, modulus: u32) -> (u64, u64) {
    let s = run(kernel, Geometry::linear(1, 32).shared(8192), 1, |data| (data, stride, modulus));
    let counts = only(&s, Instruction::SharedLoad);
    assert_eq!(counts.requests, 1);
    (counts.wavefronts, counts.conflicts())
}

#[test]
fn wavefronts_of_shared_loads() {
    // Words: neighbours in 32 banks; every second in 16 banks, two words each; every 32nd in one bank; one for all;
    // odd strides hit every bank; 16 words twice are shared.
    for (stride, modulus, wavefronts) in [
        (1, 2048, 1),
        (2, 2048, 2),
        (4, 2048, 4),
        (32, 2048, 32),
        (0, 2048, 1),
        (33, 2048, 1),
        (3, 2048, 1),
        (1, 16, 1),
        (32, 64, 2),
    ] {
        assert_eq!(banked(banks, stride, modulus), (wavefronts, wavefronts - 1), "stride {stride} modulo {modulus}");
    }
    // 8 bytes: two halves of the warp; 16 bytes: four quarters. One address for all makes two parts one.
    for (stride, modulus, wavefronts, conflicts) in
        [(1, 1024, 2, 0), (2, 1024, 4, 2), (16, 1024, 32, 30), (0, 1024, 1, 0), (1, 16, 2, 0)]
    {
        assert_eq!(banked(banks_of_8_bytes, stride, modulus), (wavefronts, conflicts), "stride {stride} mod {modulus}");
    }
    for (stride, modulus, wavefronts, conflicts) in
        [(1, 512, 4, 0), (2, 512, 8, 4), (8, 512, 32, 28), (0, 512, 2, 0), (1, 8, 4, 0)]
    {
        assert_eq!(
            banked(banks_of_16_bytes, stride, modulus),
            (wavefronts, conflicts),
            "stride {stride} mod {modulus}"
        );
    }
}

/// The element that a lane accesses, in patterns that were counted on an H200.
fn element(pattern: u32, lane: u32) -> u32 {
    match pattern {
        0 => lane,
        1 => lane / 2,
        2 => lane / 4,
        3 => lane % 4,
        4 => lane >> 1 & 7,
        5 => lane & 1 | lane >> 4 << 1,
        6 => lane % 16 * 2,
        7 => lane / 2 * 2,
        8 => (lane & 1) * 16 + lane / 2,
        9 => (lane * 5 + 3) % 64,
        10 => lane >> 2 & 1 | lane >> 3 & 2,
        _ => lane * 8,
    }
}

#[kernel]
fn patterns(data: Global<u32>, pattern: u32, active: u32) {
    let t = thread::thread_idx_x();
    if active >> t & 1 == 1 {
        let i = element(pattern, t);
        Shared::<u64>::dynamic(0, 256).get(i);
        Shared::<u32>::dynamic(0, 1024).get_pack(i);
        Shared::<u64>::dynamic(0, 256).set(i, 0);
        Shared::<u32>::dynamic(0, 1024).set_pack(i, [0; 4]);
        data.fetch_add(i, 1, Order::Relaxed, Scope::Device);
    }
}

/// What ncu counts on an H200 (data_pipe_lsu_wavefronts_mem_shared and data_bank_conflicts_pipe_lsu_mem_shared).
#[test]
fn patterns_cost_what_an_h200_counts() {
    const ALL: u32 = u32::MAX;
    // Pattern, active lanes; wavefronts and conflicts of loads of 8 and of 16 bytes, and of stores of 8 and 16.
    for (pattern, active, load_8, load_16, stores) in [
        (0, ALL, (2, 0), (4, 0), Some([(2, 0), (4, 0)])),
        (1, ALL, (1, 0), (2, 0), Some([(2, 0), (4, 0)])),
        (2, ALL, (1, 0), (2, 0), Some([(2, 0), (4, 0)])),
        (3, ALL, (2, 0), (4, 0), Some([(2, 0), (4, 0)])),
        (4, ALL, (1, 0), (2, 0), Some([(2, 0), (4, 0)])),
        (5, ALL, (1, 0), (2, 0), Some([(2, 0), (4, 0)])),
        (6, ALL, (4, 2), (8, 4), Some([(4, 2), (8, 4)])),
        (7, ALL, (2, 1), (4, 2), Some([(2, 0), (4, 0)])),
        (8, ALL, (4, 2), (8, 4), Some([(4, 2), (8, 4)])),
        (9, ALL, (2, 0), (4, 0), Some([(2, 0), (4, 0)])),
        (10, ALL, (1, 0), (2, 0), Some([(2, 0), (4, 0)])),
        (11, ALL, (16, 14), (32, 28), Some([(16, 14), (32, 28)])),
        (0, 0x0000_ffff, (1, 0), (2, 0), None),
        (0, 0x5555_5555, (2, 1), (4, 2), None),
        (0, 0x0000_00ff, (1, 0), (1, 0), None),
        (0, 0x0101_0101, (2, 1), (4, 2), None),
        (0, 0x1111_1111, (2, 1), (4, 2), None),
        (0, 0x00ff_00ff, (2, 0), (2, 0), None),
        (0, 0x0f0f_0f0f, (2, 0), (4, 0), None),
        (0, 1, (1, 0), (1, 0), None),
    ] {
        let s = run(patterns, Geometry::linear(1, 32).shared(4096), 256, |data| (data, pattern, active));
        let of = |instruction| {
            let lines = lines(&s, instruction).into_iter();
            lines.map(|line| (line.counts.wavefronts, line.counts.conflicts())).collect::<Vec<_>>()
        };
        assert_eq!(of(Instruction::SharedLoad), [load_8, load_16], "pattern {pattern}, lanes {active:#x}");
        if let Some(stores) = stores {
            assert_eq!(of(Instruction::SharedStore), stores, "pattern {pattern}, lanes {active:#x}");
        }
    }
    // Sectors of atomic operations: once per turn.
    for (pattern, sectors) in [(0, 4), (7, 8), (3, 8), (9, 8)] {
        let s = run(patterns, Geometry::linear(1, 32).shared(4096), 256, |data| (data, pattern, ALL));
        assert_eq!(only(&s, Instruction::GlobalAtomic).sectors, sectors, "pattern {pattern}");
    }
}

#[kernel]
fn guarded(data: Global<u32>, n: u32) {
    let t = thread::thread_idx_x();
    if t < n {
        data.get(t);
    }
    if t % 2 == 1 {
        data.get(t);
    } else {
        data.set(t, 1);
    }
    data.get(t + 64);
}

#[test]
fn lanes_that_take_part() {
    let s = run(guarded, Geometry::linear(1, 64), 128, |data| (data, 40));
    let loads: Vec<_> =
        lines(&s, Instruction::GlobalLoad).iter().map(|l| (l.counts.requests, l.counts.lanes)).collect();
    assert_eq!(loads, [(2, 40), (2, 32), (2, 64)], "the last is one request of each warp: the lanes have met again");
    let store = only(&s, Instruction::GlobalStore);
    assert_eq!((store.requests, store.lanes, store.sectors), (2, 32, 8));
}

/// Each lane goes round as often as its number says, and does something else in every second round.
#[kernel]
fn rounds(data: Global<u32>) {
    let t = thread::thread_idx_x();
    for round in 0..t + 1 {
        data.get(t);
        if (round + t).is_multiple_of(2) {
            data.get(t + 32);
        }
    }
    data.set(t, 1);
}

#[test]
fn lanes_with_different_numbers_of_rounds_meet_behind_the_loop() {
    let s = run(rounds, Geometry::linear(1, 32), 64, |data| (data,));
    let loads: Vec<_> =
        lines(&s, Instruction::GlobalLoad).iter().map(|l| (l.counts.requests, l.counts.lanes)).collect();
    // Rounds 0 to 31; in round r the lanes from r on, and of these every second makes the other access.
    let all: u64 = (1..=32).sum();
    let some = (0..32_u64).map(|t| (0..=t).filter(|r| (r + t).is_multiple_of(2)).count() as u64).sum();
    assert_eq!(loads, [(32, all), (32, some)]);
    let store = only(&s, Instruction::GlobalStore);
    assert_eq!((store.requests, store.lanes), (1, 32));
}

/// A loop in a loop; the number of inner rounds differs.
#[kernel]
fn nested(data: Global<u32>) {
    let t = thread::thread_idx_x();
    for _ in 0..3 {
        data.get(t);
        for _ in 0..1 + t % 4 {
            data.get(t + 32);
        }
        data.set(t, 1);
    }
}

#[test]
fn loops_in_loops() {
    let s = run(nested, Geometry::linear(1, 32), 64, |data| (data,));
    let loads: Vec<_> =
        lines(&s, Instruction::GlobalLoad).iter().map(|l| (l.counts.requests, l.counts.lanes)).collect();
    assert_eq!(loads, [(3, 96), (12, 3 * 8 * (1 + 2 + 3 + 4))]);
    assert_eq!(only(&s, Instruction::GlobalStore).requests, 3);
}

/// A long loop without a barrier: more accesses than are remembered. The last lanes leave early.
#[kernel]
fn long(data: Global<u32>, most: u32) {
    let t = thread::thread_idx_x();
    let count = if t < 30 { most } else { most / 2 };
    for i in 0..count {
        data.get(t);
        if !(i + t).is_multiple_of(3) {
            data.set(t, i);
        }
    }
    data.get(t + 32);
}

#[test]
fn long_loops_are_counted_in_parts() {
    let s = run(long, Geometry::linear(1, 32), 64, |data| (data, 5000));
    let loads: Vec<_> =
        lines(&s, Instruction::GlobalLoad).iter().map(|l| (l.counts.requests, l.counts.lanes)).collect();
    assert_eq!(loads, [(5000, 30 * 5000 + 2 * 2500), (1, 32)]);
    let stores = only(&s, Instruction::GlobalStore);
    let some = |t: u32| (0..if t < 30 { 5000 } else { 2500 }).filter(|i| !(i + t).is_multiple_of(3)).count() as u64;
    assert_eq!((stores.requests, stores.lanes), (5000, (0..32).map(some).sum()));
}

/// As many accesses as are remembered for a lane before it waits for the others, then one more, then a barrier.
#[kernel]
fn full_at_a_barrier(data: Global<u32>, accesses: u32) {
    let t = thread::thread_idx_x();
    for _ in 0..3 {
        for _ in 0..accesses {
            data.get(t);
        }
        thread::sync_threads(); // the barrier is what is tested
    }
}

#[test]
fn lanes_wait_for_each_other_also_at_a_barrier() {
    for accesses in 505..520 {
        let s = run(full_at_a_barrier, Geometry::linear(1, 70), 70, |data| (data, accesses));
        let counts = only(&s, Instruction::GlobalLoad);
        assert_eq!((counts.requests, counts.lanes), (9 * u64::from(accesses), 210 * u64::from(accesses)));
        assert_eq!(only(&s, Instruction::Barrier).barriers, 3);
    }
}

shared!(TABLE: [u32; 64]);

#[kernel]
fn atomics(data: Global<u32>, shared_modulus: u32, global_modulus: u32) {
    let t = thread::thread_idx_x();
    TABLE::view().set(t, 0);
    thread::sync_threads(); // the table is clear before any thread counts
    TABLE::view().fetch_add(t % shared_modulus, 1, Order::Relaxed, Scope::Block);
    data.fetch_add(t % global_modulus, 1, Order::Relaxed, Scope::Device);
}

#[test]
fn turns_of_atomics() {
    for (shared_modulus, global_modulus, shared_turns, global_turns) in
        [(32, 1, 1, 32), (1, 32, 32, 1), (8, 2, 4, 16), (3, 31, 11, 2)]
    {
        let s = run(atomics, Geometry::linear(1, 32), 64, |data| (data, shared_modulus, global_modulus));
        let (shared, global) = (only(&s, Instruction::SharedAtomic), only(&s, Instruction::GlobalAtomic));
        assert_eq!((shared.requests, shared.turns, shared.wavefronts), (1, shared_turns, 1));
        assert_eq!((global.requests, global.turns), (1, global_turns));
        // As often as its lanes have one address, each sector; of the last one in four fewer lanes.
        let sectors = (0..global_modulus.div_ceil(8)).map(|s| if s == 0 { global_turns } else { 1 }).sum::<u64>();
        assert_eq!(global.sectors, sectors);
        let barrier = only(&s, Instruction::Barrier);
        assert_eq!((barrier.requests, barrier.lanes, barrier.barriers), (1, 32, 1));
    }
}

/// Half of a warp leaves; the other half goes on alone, and meets by itself.
#[kernel]
fn halves(data: Global<u32>) {
    let t = thread::thread_idx_x();
    data.get(t);
    if t % 32 < 16 {
        let sum = warp::reduce_add(0xffff, t);
        data.set(t, sum);
    }
    thread::sync_threads(); // all words are written before any is read
    data.get(t ^ 1);
}

#[test]
fn operations_of_some_lanes_do_not_part_the_others() {
    let s = run(halves, Geometry::linear(2, 64), 64, |data| (data,));
    let loads: Vec<_> =
        lines(&s, Instruction::GlobalLoad).iter().map(|l| (l.counts.requests, l.counts.lanes)).collect();
    assert_eq!(loads, [(4, 128), (4, 128)]);
    assert_eq!((only(&s, Instruction::Warp).requests, only(&s, Instruction::Warp).lanes), (4, 64));
    assert_eq!(only(&s, Instruction::GlobalStore).requests, 4);
    assert_eq!(only(&s, Instruction::Barrier).barriers, 2, "one for each block");
}

shared!(LANDING: [u32; 128]);

#[kernel]
fn async_copies(data: Global<u32>) {
    let t = thread::thread_idx_x();
    async_copy::pack(LANDING::view(), t, data, t, 4);
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads(); // all copies have landed
    LANDING::view().get(t);
}

#[test]
fn async_copies_are_counted_where_they_begin() {
    let s = run(async_copies, Geometry::linear(1, 32), 128, |data| (data,));
    let counts = only(&s, Instruction::AsyncCopy);
    assert_eq!(counts, Counts { requests: 1, lanes: 32, bytes: 512, sectors: 16, ..Counts::default() });
    assert_eq!(lines(&s, Instruction::GlobalLoad).len() + lines(&s, Instruction::SharedStore).len(), 0);
    assert_eq!(only(&s, Instruction::SharedLoad).requests, 1);
}

shared!(STAGE: [u32; 64]);
shared!(FULL: [u64; 1]);

#[kernel]
fn copies(data: Global<u32>) {
    let barrier = mbarrier::Mbarrier::at(FULL::view(), 0);
    if thread::thread_idx_x() == 0 {
        barrier.init(1);
        mbarrier::fence_init();
        barrier.arrive_expecting(256);
        bulk::load(STAGE::view(), data, barrier);
    }
    thread::sync_threads(); // the barrier is there before any thread waits
    while !barrier.try_wait(0) {}
    STAGE::view().get(thread::thread_idx_x());
}

#[test]
fn bulk_copies() {
    let s = run(copies, Geometry::linear(1, 32), 64, |data| (data,));
    let counts = only(&s, Instruction::BulkLoad);
    assert_eq!(counts, Counts { requests: 1, lanes: 1, bytes: 256, sectors: 8, ..Counts::default() });
    assert_eq!(only(&s, Instruction::SharedLoad).wavefronts, 1);
}

#[test]
fn counts_do_not_depend_on_the_threads_of_the_host() {
    let count = |workers| {
        let memory = HostMemory::new(64 * 4);
        // SAFETY: the memory has 64 words and outlives the launch.
        let data = unsafe { Global::from_raw(memory.address().cast::<u32>(), 64) };
        let gpu = Gpu { options: Options { workers }, ..Gpu::default() };
        let gpu: &dyn Launcher = &gpu;
        let (result, mut statistics) = statistics(|| gpu.launch(halves, Geometry::linear(97, 64), (data,)));
        result.unwrap();
        for line in statistics.launches.iter_mut().flat_map(|l| &mut l.lines) {
            // Addresses are those of other memory.
            if let Some(worst) = &mut line.worst {
                worst.lanes = [None; 32];
            }
        }
        statistics
    };
    assert_eq!(count(1), count(4));
}

#[test]
fn kernels_are_added_up_over_their_launches() {
    let memory = HostMemory::new(64 * 4);
    // SAFETY: the memory has 64 words and outlives the launches.
    let data = unsafe { Global::from_raw(memory.address().cast::<u32>(), 64) };
    let gpu: &dyn Launcher = &Gpu::default();
    let ((), s) = statistics(|| {
        gpu.launch(permuted, Geometry::linear(1, 32), (data,)).unwrap();
        gpu.launch(halves, Geometry::linear(1, 64), (data,)).unwrap();
        gpu.launch(permuted, Geometry::linear(3, 32), (data,)).unwrap();
    });
    let kernels: Vec<_> =
        s.kernels().into_iter().map(|(name, launches, lines)| (name, launches, lines.len())).collect();
    assert_eq!(kernels, [("permuted", 2, 1), ("halves", 1, 5)]);
    assert_eq!(s.kernels()[0].2[0].counts.requests, 4);
    assert_eq!(s.sum(|i| i == Instruction::GlobalStore).requests, 4 + 2);
    // Outside nothing is counted.
    gpu.launch(permuted, Geometry::linear(1, 32), (data,)).unwrap();
    assert_eq!(statistics(|| ()).1, Statistics::default());
}

#[test]
fn a_check_counts_too() {
    let memory = HostMemory::new(64 * 4);
    // SAFETY: the memory has 64 words and outlives the launches.
    let data = unsafe { Global::from_raw(memory.address().cast::<u32>(), 64) };
    let gpu: &dyn Launcher = &Gpu::default();
    // SAFETY: as above.
    unsafe { gpu.clear_bytes(memory.address(), 256).unwrap() };
    let launch = || gpu.launch(atomics, Geometry::linear(5, 32), (data, 3, 31)).unwrap();
    let ((), plain) = statistics(launch);
    let one = Check { schedules: 1, ..Check::default() };
    let (report, checked) = statistics(|| check(one, launch).report);
    assert_eq!(plain.launches[0].lines.len(), 4, "{report:?}");
    for (a, b) in checked.launches[0].lines.iter().zip(&plain.launches[0].lines) {
        assert_eq!((a.location, a.counts), (b.location, b.counts));
    }
}
