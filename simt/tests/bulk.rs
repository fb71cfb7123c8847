//! Barriers that count bytes and bulk copies, on the simulator.

use simt::mbarrier::{self, Mbarrier};
use simt::sim::{LaunchError, Options, launch};
use simt::{Global, Kernel, bulk, kernel, shared, thread};

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [1; 3], [threads, 1, 1], 0, args, Options::default())
}

/// 16-byte aligned words.
#[repr(align(16))]
struct Aligned([u32; 256]);

shared!(TILE: [u32; 64]);
shared!(BARRIERS: [u64; 2]);

/// Thread 0 brings four tiles in sequence; two other warps reverse each, and thread 0 stores it.
#[kernel]
fn reverse_tiles(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread::thread_idx_x(), TILE::view());
    let (full, done) = (Mbarrier::at(BARRIERS::view(), 0), Mbarrier::at(BARRIERS::view(), 1));
    if t == 0 {
        full.init(1);
        done.init(64);
        mbarrier::fence_init();
    }
    thread::sync_threads(); // the barriers exist
    for i in 0..4 {
        if t == 0 {
            full.arrive_expecting(256);
            bulk::load(tile, input.slice(i * 64, 64), full);
        } else if t >= 32 {
            full.wait(i & 1);
            let value = tile.get(95 - t);
            thread::barrier(1, 64); // all have read before a thread writes
            tile.set(t - 32, value);
            bulk::fence();
            done.arrive();
        }
        if t == 0 {
            done.wait(i & 1);
            bulk::store(output.slice(i * 64, 64), tile);
            bulk::commit();
            bulk::wait_read::<0>();
        }
    }
}

#[test]
fn tiles_go_in_and_out_in_phases() {
    let mut input = Aligned(std::array::from_fn(|i| i as u32));
    let mut output = Aligned([0; 256]);
    run(reverse_tiles, 96, (view(&mut input.0), view(&mut output.0))).unwrap();
    assert_eq!(output.0, std::array::from_fn(|i| (i / 64 * 64 + 63 - i % 64) as u32));
}

#[kernel]
fn no_barrier(_data: Global<u32>) {
    Mbarrier::at(BARRIERS::view(), 1).arrive();
}

#[kernel]
fn one_too_many(data: Global<u32>) {
    // Bytes that never come keep the phase open, so the second arrival belongs to it.
    let barrier = Mbarrier::at(BARRIERS::view(), 0);
    barrier.init(1);
    barrier.arrive_expecting(16);
    barrier.arrive();
    data.set(0, 1);
}

#[kernel]
fn unaligned(data: Global<u32>) {
    bulk::store(data.slice(1, 4), TILE::view().slice(0, 4));
}

#[kernel]
fn odd_length(data: Global<u32>) {
    bulk::store(data.slice(0, 3), TILE::view().slice(0, 3));
}

#[kernel]
fn unequal_lengths(data: Global<u32>) {
    bulk::store(data.slice(0, 8), TILE::view().slice(0, 4));
}

#[test]
fn misuse_is_reported() {
    fn fault<K: Kernel<Args = (Global<u32>,)>>(kernel: K) -> String {
        let mut data = Aligned([0; 256]);
        match run(kernel, 1, (view(&mut data.0),)) {
            Err(LaunchError::Fault(f)) => {
                assert!(f.location().contains("bulk.rs:"), "{f}");
                f.what
            }
            other => panic!("{} gave {other:?}", K::NAME),
        }
    }
    assert!(fault(no_barrier).contains("no barrier was initialised"));
    assert!(fault(one_too_many).contains("more threads arrive"));
    assert!(fault(unaligned).contains("not aligned to 16"));
    assert!(fault(odd_length).contains("not aligned to 16"));
    assert!(fault(unequal_lengths).contains("bulk copy index 4"));
}
