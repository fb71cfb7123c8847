//! A kernel with an instruction of most kinds, for the recorded PTX of two compilers.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

use simt::{Global, Shared, clock, kernel, shared, thread, warp};

shared!(SUMS: [u32; 4]);

/// Sums of warps, of elements in reverse, by way of dynamic and of static shared memory; and the cycles that it took.
#[kernel(max_threads = 128)]
pub fn meets(data: Global<u32>, cycles: Global<u64>) {
    let begun = clock::clock();
    let t = thread::thread_idx_x();
    let tile = Shared::<u32>::dynamic(0, 128);
    tile.set(t, data.get(t));
    thread::sync_threads(); // the tile is whole before a thread reads another's element
    let sum = warp::reduce_add(u32::MAX, tile.get(127 - t));
    if warp::lane_id() == 0 {
        SUMS::view().set(t / 32, sum);
    }
    thread::sync_threads(); // for the count's sake
    data.set(t, sum);
    cycles.set(t, clock::clock() - begun);
}
