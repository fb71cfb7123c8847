//! Bubble sort on the simulator, against the standard library.

use rungs_bubble::{r1_one_block as r1, r2_shared_block as r2, r3_warp_registers as r3, r4_ring as r4};
use rungs_common::keys::UNSIGNED;
use rungs_common::ladder::sort::Keys;
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_testing::{Sorting, inputs, narrow, view, with_multiprocessors};
use simt::launcher::{Call, Memory};
use simt::sim::Gpu;
use simt::{Geometry, Global};
use std::cell::RefCell;

/// Every input of both widths at these sizes; one of many keys: simulating n² comparisons takes a while.
fn check(sort: Sorting, sizes: &[usize]) {
    for &n in sizes {
        let mut inputs = inputs(n);
        inputs.truncate(if n > 512 { 1 } else { inputs.len() });
        for (name, keys) in inputs {
            sort.check_both(name, &narrow(&keys), &keys);
        }
    }
}

#[test]
fn one_block_sorts_any_n() {
    // 2049 keys: more pairs than threads.
    check(Sorting::by(&r1::launches::RUNG), &[0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 509, 2049]);
}

#[test]
fn shared_block_sorts_any_n() {
    let sizes = [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 1537, 2053];
    check(Sorting::by(&r2::launches::RUNG), &sizes);
}

#[test]
fn warp_registers_sorts_any_n() {
    let sizes = [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 1537, 4099];
    check(Sorting::by(&r3::launches::RUNG), &sizes);
}

/// One block, and several that wait for each other; with 4097 keys the first warp of a second block.
#[test]
fn ring_sorts_any_n() {
    for multiprocessors in [1, 3] {
        let sort = Sorting { on: with_multiprocessors(multiprocessors), runs: 2, ..Sorting::by(&r4::launches::RUNG) };
        check(sort, &[0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 2049, 4096, 4097, 9001]);
    }
}

#[test]
fn ring_takes_no_more_than_all_multiprocessors_hold() {
    let sort = Sorting { on: with_multiprocessors(2), ..Sorting::by(&r4::launches::RUNG) };
    let most = r4::capacity(2);
    assert_eq!(most, 2 * 16 * r4::WARP_KEYS);
    assert!(sort.rung.sorter::<u32>(&sort.on, most, Options::default()).is_ok());
    let refused = sort.rung.sorter::<u32>(&sort.on, most + 1, Options::default()).err().unwrap();
    assert!(refused.to_string().contains("do not fit the registers"), "{refused}");
    // Never more blocks than SMs, never more threads than the kernel is compiled for.
    for multiprocessors in [1, 2, 3, 132] {
        for n in (1..=r4::capacity(multiprocessors)).step_by(997) {
            let (blocks, threads) = r4::geometry(n, multiprocessors);
            assert!(blocks <= multiprocessors && threads <= r4::BLOCK, "n = {n}");
            assert!(blocks * (threads / 32) >= r4::warps(n), "n = {n}");
        }
    }
}

/// Shared-block with windows of two keys per thread.
fn in_windows(threads: u32) -> Sorting {
    let options = Options { threads: Some(threads), ..Options::default() };
    Sorting { options, ..Sorting::by(&r2::launches::RUNG) }
}

#[test]
fn shared_block_sorts_in_small_windows() {
    for n in 0..70 {
        for threads in [1, 2, 3, 8] {
            for (name, keys) in inputs(n) {
                in_windows(threads).check(name, &narrow(&keys));
            }
        }
    }
}

/// The simulator, and what the keys are after each launch.
struct Steps {
    gpu: Gpu,
    keys: Global<u32>,
    seen: RefCell<Vec<Vec<u32>>>,
}

impl Launcher for Steps {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.gpu.enqueue(call, geometry)?;
        // SAFETY: the view's array outlives the sort, and no kernel is running.
        let keys = unsafe { std::slice::from_raw_parts(self.keys.as_ptr(), self.keys.len() as usize) };
        self.seen.borrow_mut().push(keys.to_vec());
        Ok(())
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

#[test]
fn worked_example_of_the_source() {
    let mut keys = [9, 5, 8, 4, 7, 6, 3, 2, 6, 8, 7, 4, 3, 2, 1, 0];
    let keys = view(&mut keys);
    let on = Steps { gpu: Gpu::default(), keys, seen: RefCell::default() };
    // The source's blocks have four keys.
    let Sorting { rung, options, .. } = in_windows(2);
    let mut sort = rung.sorter(&on, keys.len(), options).unwrap();
    sort.run(&on, Keys { keys, order: UNSIGNED }).unwrap();
    let steps = on.seen.into_inner();
    assert_eq!(steps.len(), 8);
    assert_eq!(steps[0], [4, 5, 8, 9, 2, 3, 6, 7, 4, 6, 7, 8, 0, 1, 2, 3]);
    assert_eq!(steps[1], [4, 5, 2, 3, 8, 9, 4, 6, 6, 7, 0, 1, 7, 8, 2, 3]);
    assert_eq!(steps[7], [0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9]);
}
