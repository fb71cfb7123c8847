//! The simulator: collective operations, refusals, faults, and their reports.

#![allow(clippy::if_same_then_else)] // two barriers in two places are what one kernel is for

use simt::atomic::{Order::*, Scope};
use simt::sim::{LaunchError, Options, launch, within};
use simt::{Global, Kernel, Shared, kernel, shared, thread, warp};
use std::time::Duration;

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, grid: u32, block: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [grid, 1, 1], [block, 1, 1], 0, args, Options::default())
}

fn fault<K: Kernel>(k: K, grid: u32, block: u32, args: K::Args) -> (String, String) {
    match run(k, grid, block, args) {
        Err(LaunchError::Fault(f)) => {
            assert!(f.location().contains("simulator.rs:"), "{f}");
            assert_eq!(f.kernel, K::NAME);
            (f.thread.to_string(), f.what)
        }
        other => panic!("{} gave {other:?}", K::NAME),
    }
}

shared!(REVERSE: [u32; 1024]);

#[kernel]
fn reverse(data: Global<u32>) {
    let (t, n) = (thread::thread_idx_x(), thread::block_dim_x());
    let base = thread::block_idx_x() * n;
    REVERSE::view().set(t, data.get(base + t));
    thread::sync_threads(); // all words are written before a thread reads another's
    data.set(base + t, REVERSE::view().get(n - 1 - t));
}

#[test]
fn barrier_separates_writes_from_reads() {
    let mut data: Vec<u32> = (0..64 * 1024).collect();
    run(reverse, 64, 1024, (view(&mut data),)).unwrap();
    let want: Vec<u32> = (0..64).flat_map(|b| (0..1024).rev().map(move |t| b * 1024 + t)).collect();
    assert_eq!(data, want);
}

#[kernel]
fn warp_operations(out: Global<u32>) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let put = |row: u32, v: u32| out.set(row * thread::block_dim_x() + t, v);
    put(0, warp::shuffle_xor(warp::FULL, t, 5));
    put(1, warp::shuffle_up(warp::FULL, t, 3));
    put(2, warp::shuffle_down(warp::FULL, t, 30));
    put(3, warp::shuffle(warp::FULL, t, 7));
    put(4, warp::ballot(warp::FULL, t % 3 == 0));
    put(5, warp::match_any(warp::FULL, (lane / 4) as u64 * 0x1_0000_0001));
    put(6, warp::reduce_add(warp::FULL, t));
    put(7, warp::reduce_min_i32(warp::FULL, 5 - lane as i32) as u32);
    // Two groups of one warp in different places.
    put(8, if lane < 8 { warp::reduce_or(0xff, 1 << lane) } else { warp::reduce_max(!0xff, t) });
    put(9, warp::shuffle(warp::FULL, (t as u64) << 32 | 9, 1) as u32);
    put(10, (warp::shuffle(warp::FULL, (t as u64) << 32 | 9, 1) >> 32) as u32);
}

#[test]
fn warp_operations_agree_with_their_definition() {
    let n = 96;
    let mut out = vec![u32::MAX; 11 * n];
    run(warp_operations, 1, n as u32, (view(&mut out),)).unwrap();
    for t in 0..n as u32 {
        let (lane, first) = (t % 32, t / 32 * 32);
        let got: Vec<u32> = (0..11).map(|row| out[row * n + t as usize]).collect();
        let thirds = (0..32).filter(|l| (first + l).is_multiple_of(3)).fold(0, |m, l| m | 1 << l);
        let want = [
            first + (lane ^ 5),
            if lane >= 3 { t - 3 } else { t },
            if lane < 2 { t + 30 } else { t },
            first + 7,
            thirds,
            0xf << (lane / 4 * 4),
            (first..first + 32).sum(),
            (5 - 31i32) as u32,
            if lane < 8 { 0xff } else { first + 31 },
            9,
            first + 1,
        ];
        assert_eq!(got, want, "thread {t}");
    }
}

#[kernel]
fn votes(out: Global<u32>) {
    let t = thread::thread_idx_x();
    let count = thread::sync_threads_count(t.is_multiple_of(2));
    let (all, any) = (thread::sync_threads_and(t < 60), thread::sync_threads_or(t == 61));
    out.set(t, count + 1000 * all as u32 + 10_000 * any as u32);
}

#[test]
fn barriers_that_vote() {
    let mut out = vec![0; 64];
    run(votes, 1, 64, (view(&mut out),)).unwrap();
    assert_eq!(out, vec![32 + 10_000; 64]);
}

#[kernel]
fn three_dimensions(out: Global<u32>) {
    let (x, y, z) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z());
    let t = (z * thread::block_dim_y() + y) * thread::block_dim_x() + x;
    let b = (thread::block_idx_z() * thread::grid_dim_y() + thread::block_idx_y()) * thread::grid_dim_x()
        + thread::block_idx_x();
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    out.fetch_add(b * threads + t, 1 + t, Relaxed, Scope::Device);
}

#[test]
fn every_thread_of_a_three_dimensional_grid_runs_once() {
    let mut out = vec![0; 3 * 5 * 7 * 24];
    launch(three_dimensions, [3, 5, 7], [2, 3, 4], 0, (view(&mut out),), Options::default()).unwrap();
    assert!(out.iter().enumerate().all(|(i, &v)| v == 1 + i as u32 % 24));
}

#[kernel]
fn dynamic_shared(out: Global<u32>, words: u32) {
    let s = Shared::<u32>::dynamic(0, words);
    let mut i = thread::thread_idx_x();
    while i < words {
        s.set(i, i);
        i += thread::block_dim_x();
    }
    thread::sync_threads(); // the words are written before thread 0 adds them up
    if thread::thread_idx_x() == 0 {
        out.set(0, (0..words).fold(0, |sum, i| sum + s.get(i)));
    }
}

#[test]
fn dynamic_shared_memory_up_to_the_limit() {
    let (bytes, mut out) = (simt::sim::MAX_SHARED, [0]);
    let words = bytes / 4;
    launch(dynamic_shared, [1; 3], [32, 1, 1], bytes, (view(&mut out), words), Options::default()).unwrap();
    assert_eq!(out[0], words * (words - 1) / 2);
    let beyond = launch(dynamic_shared, [1; 3], [32, 1, 1], 64, (view(&mut out), 17), Options::default());
    assert!(beyond.unwrap_err().to_string().contains("out of bounds"));
}

#[test]
fn refuses_what_a_gpu_refuses_and_names_the_limit() {
    let mut out = [0; 4];
    for (grid, block, shared, want) in [
        ([1, 1, 1], [1025, 1, 1], 0, "1024"),
        ([1, 1, 1], [32, 32, 2], 0, "1024"),
        ([1, 1, 1], [1, 1, 65], 0, "64"),
        ([1, 65_536, 1], [1, 1, 1], 0, "65535"),
        ([0, 1, 1], [1, 1, 1], 0, "1 to"),
        ([1, 1, 1], [1, 1, 1], (227 << 10) + 1, "232448"),
    ] {
        let error = launch(votes, grid, block, shared, (view(&mut out),), Options::default()).unwrap_err();
        assert!(matches!(&error, LaunchError::Refused { why, .. } if why.contains(want)), "{error}");
    }
    #[kernel(max_threads = 64)]
    fn bounded(_out: Global<u32>) {}
    let error = run(bounded, 1, 65, (view(&mut out),)).unwrap_err().to_string();
    assert!(error.contains("at most 64"), "{error}");
}

#[kernel]
fn out_of_bounds(data: Global<u32>) {
    let t = thread::index_1d();
    data.set(t, data.get(t) + data.get(t + 1));
}

#[kernel]
fn divergent_barrier(data: Global<u32>) {
    if thread::thread_idx_x() < 3 {
        thread::sync_threads();
    }
    data.set(0, 1);
}

#[kernel]
fn two_barriers(data: Global<u32>) {
    if thread::thread_idx_x() < 3 {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
    data.set(0, 1);
}

#[kernel]
fn absent_lane(data: Global<u32>) {
    if thread::thread_idx_x() != 4 {
        data.set(0, warp::ballot(warp::FULL, true));
    }
}

#[kernel]
fn panics(data: Global<u32>) {
    let divisor = data.get(0);
    data.set(0, 7 / divisor);
}

#[test]
fn faults_name_the_thread_and_the_line() {
    let mut data = vec![0u32; 100];
    let (thread, what) = fault(out_of_bounds, 1, 100, (view(&mut data),));
    assert_eq!((thread.as_str(), what.as_str()), ("(99, 0, 0)", "global index 100 is out of bounds: the view has 100"));
    let (_, what) = fault(divergent_barrier, 1, 8, (view(&mut data),));
    assert!(what.contains("not all threads reach: thread (3, 0, 0) has ended"), "{what}");
    let (thread, what) = fault(two_barriers, 1, 8, (view(&mut data),));
    assert!(thread == "(3, 0, 0)" && what.contains("different barriers"), "{what}");
    let (_, what) = fault(absent_lane, 1, 32, (view(&mut data),));
    assert!(what.contains("0x00000010") && what.contains("thread (4, 0, 0) has ended"), "{what}");
    let (thread, what) = fault(panics, 1, 32, (view(&mut [0]),));
    assert!(thread == "(0, 0, 0)" && what.contains("divide by zero"), "{what}");
    // After all this the simulator still works.
    barrier_separates_writes_from_reads();
}

#[kernel]
fn pass_the_token(flags: Global<u32>) {
    // Each block waits for the one before: it works only if blocks start in order and waiting ones let others run.
    let b = thread::block_idx_x();
    if thread::thread_idx_x() == 0 {
        while b > 0 && flags.load(b - 1, Acquire, Scope::Device) == 0 {}
        flags.store(b, 1, Release, Scope::Device);
    }
    thread::sync_threads(); // the other threads of the block wait for the token too
}

#[test]
fn blocks_that_wait_for_earlier_blocks_finish() {
    let mut flags = vec![0; 500];
    run(pass_the_token, 500, 64, (view(&mut flags),)).unwrap();
    assert_eq!(flags, vec![1; 500]);
}

#[kernel]
fn atomics(words: Global<u32>, signed: Global<i32>, floats: Global<f32>) {
    let t = thread::index_1d();
    words.fetch_add(0, 1, Relaxed, Scope::Device);
    words.fetch_max(1, t, Relaxed, Scope::Device);
    words.fetch_xor(2, t, AcqRel, Scope::System);
    signed.fetch_min(0, -(t as i32), Relaxed, Scope::Block);
    floats.fetch_add(0, 0.5, Relaxed, Scope::Device);
    if words.compare_exchange(3, 0, 1 + t, Relaxed, Scope::Device) == 0 {
        words.exchange(4, 77, Relaxed, Scope::Device);
    }
}

#[test]
fn atomics_of_many_blocks() {
    let (mut words, mut signed, mut floats) = (vec![0; 5], vec![0; 1], vec![0.0; 1]);
    run(atomics, 40, 128, (view(&mut words), view(&mut signed), view(&mut floats))).unwrap();
    let n = 40 * 128;
    assert_eq!(words[..3], [n, n - 1, (0..n).fold(0, |x, t| x ^ t)]);
    assert!((1..=n).contains(&words[3]) && words[4] == 77);
    assert_eq!((signed[0], floats[0]), (-(n as i32 - 1), n as f32 / 2.0));
}

shared!(SUM: [f32; 1]);

/// Adds `value` to an element of global memory and to one of shared memory, and gives the latter.
#[kernel]
fn add_in_both(sum: Global<f32>, value: f32, in_shared: Global<f32>) {
    sum.fetch_add(0, value, Relaxed, Scope::Device);
    SUM::view().set(0, sum.get(1));
    SUM::view().fetch_add(0, value, Relaxed, Scope::Block);
    in_shared.set(0, SUM::view().get(0));
}

/// As `atom.add.f32` does: subnormals are zero to it in global memory alone, before the addition and after it.
#[test]
fn additions_flush_subnormals_in_global_memory() {
    let least = f32::MIN_POSITIVE;
    for (start, value) in
        [(least / 4.0, least / 4.0), (1.5 * least, -least), (-0.0, -least / 2.0), (least, least / 2.0)]
    {
        let (mut sum, mut shared) = ([start, start], [0.0]);
        run(add_in_both, 1, 1, (view(&mut sum), value, view(&mut shared))).unwrap();
        let flushed = |x: f32| if x.is_subnormal() { 0.0f32.copysign(x) } else { x };
        assert_eq!(sum[0].to_bits(), flushed(flushed(start) + flushed(value)).to_bits(), "{start:e} + {value:e}");
        assert_eq!(shared[0].to_bits(), (start + value).to_bits(), "{start:e} + {value:e}");
    }
}

#[kernel]
fn counts(data: Global<u32>) {
    data.fetch_add(0, 1, Relaxed, Scope::Device);
}

#[test]
fn a_launch_ends_when_its_time_is_over() {
    let mut count = [0u32];
    let data = view(&mut count);
    let long = Duration::from_secs(3600);
    within(Duration::ZERO, || {
        let late = run(counts, 100, 64, (data,)).unwrap_err();
        assert_eq!(late, LaunchError::OutOfTime { kernel: "counts", allowed: Duration::ZERO });
        assert_eq!(late.to_string(), "counts: not done on the simulator within 0 s");
        // On several threads too; a limit inside of another one takes its place until it ends.
        within(long, || run(counts, 100, 64, (data,))).unwrap();
        run(counts, 100, 64, (data,)).unwrap_err();
    });
    run(counts, 100, 64, (data,)).unwrap();
    assert_eq!(count, [2 * 6400]);
}
