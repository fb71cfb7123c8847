//! The sort that chooses its way on the device, for few keys, on the simulator: the whole output against the standard
//! library's sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::Keys;
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_radix::r7_onesweep::{LAST_EPOCH, pass_tile};
use rungs_sorts::either::ONE_BLOCK;
use rungs_sorts::either::launches::{self, RUNG, scratch, sort};
use rungs_testing::{Buffer, Sorting, for_kinds, random, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::Gpu;
use std::cell::Cell;

/// Either on a small device, twice by one sequence.
fn either() -> Sorting {
    Sorting { on: with_multiprocessors(4), runs: 2, ..Sorting::by(&RUNG) }
}

#[test]
fn either_sorts_every_kind_of_input() {
    let most = u64::from(ONE_BLOCK);
    for_kinds(&[0, 1, 2, 31, 32, 33, most - 1, most, most + 1, 8191, 8192, 8193, 30_011], |what, narrow, wide| {
        either().check(what, narrow);
        if wide.len() as u64 <= most {
            either().check(what, wide);
        }
    });
    // Skewed buckets, some of which are found to be so by the sample and others by the keys' order; with keys
    // that take other ways than those.
    let crowded = |values: u64, i: u64| (random(i) as u32 & 0x0f00_0000) | (random(!i) % values) as u32;
    for values in [2, 3, 700] {
        for order in [UNSIGNED, FLOAT | DESCENDING] {
            let keys: Vec<u32> = (0..60_013).map(|i| crowded(values, i)).collect();
            Sorting { order, ..either() }.check("skewed buckets", &keys);
        }
    }
    // Skewed keys in one block, of all types and in both directions.
    for order in [SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING] {
        for_kinds(&[700, most], |what, narrow, wide| Sorting { order, ..either() }.check_both(what, narrow, wide));
    }
    // One bucket is as large as fits a block, or one key larger.
    for size in [most, most + 1] {
        let key = |i: u64| if i < size { random(i) as u32 >> 8 } else { random(i) as u32 | 1 << 31 };
        either().check("a full bucket", &(0..30_011).map(key).collect::<Vec<_>>());
    }
}

#[test]
fn either_maps_signed_keys_and_floats() {
    let wide: Vec<u64> = (0..20_011).map(random).collect();
    let narrow: Vec<u32> = wide.iter().map(|&k| k as u32).collect();
    for order in [SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING] {
        Sorting { order, ..either() }.check_both("random", &narrow, &wide);
    }
}

/// Floats of a block: drawn from several distributions, and with values whose differences are no number, infinite, zero
/// or below the least normal number.
#[test]
fn either_sorts_floats_of_a_block() {
    type Draw = Box<dyn Fn(u64) -> f64>;
    fn unit(i: u64) -> f64 {
        (random(i) >> 11) as f64 / (1u64 << 53) as f64
    }
    let normal = |i: u64| (0..12).map(|k| unit(12 * i + k)).sum::<f64>() - 6.0;
    let steep = |i: u64| 1.0 / (unit(i) + 1e-12);
    let mixed = |values: &'static [f64]| {
        move |i: u64| if i.is_multiple_of(7) { values[(i / 7) as usize % values.len()] } else { unit(i) }
    };
    let kinds: [(&str, Draw); 8] = [
        ("uniform", Box::new(unit)),
        ("normal", Box::new(normal)),
        ("exponential", Box::new(|i| -(unit(i) + 1e-18).ln())),
        ("reciprocals", Box::new(steep)),
        ("infinite", Box::new(mixed(&[f64::INFINITY, -0.0, 0.0]))),
        ("no numbers", Box::new(mixed(&[f64::NAN, f64::NEG_INFINITY, -f64::NAN]))),
        ("the largest", Box::new(|i| if i.is_multiple_of(2) { f64::MAX } else { -f64::MAX * unit(i) })),
        ("zeros", Box::new(|i| if random(i).is_multiple_of(2) { 0.0 } else { -0.0 })),
    ];
    for (what, float) in kinds {
        for n in [33, 700, 4096, u64::from(ONE_BLOCK)] {
            let wide: Vec<u64> = (0..n).map(|i| float(i).to_bits()).collect();
            let narrow: Vec<u32> = (0..n).map(|i| (float(i) as f32).to_bits()).collect();
            for order in [FLOAT, FLOAT | DESCENDING] {
                Sorting { order, ..either() }.check_both(what, &narrow, &wide);
            }
        }
    }
    // Differences below the least normal number, whose reciprocals are infinite.
    let wide: Vec<u64> = (0..4096).map(|i| random(i) % 5000).collect();
    let narrow: Vec<u32> = wide.iter().map(|&k| k as u32).collect();
    Sorting { order: FLOAT, ..either() }.check_both("subnormal", &narrow, &wide);
}

/// A machine that counts how often memory is cleared.
struct Clears(Gpu, Cell<u32>);

impl Launcher for Clears {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.0.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.0.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        self.1.set(self.1.get() + 1);
        // SAFETY: passed on.
        unsafe { self.0.clear_bytes(address, bytes) }
    }
}

/// Sorts by one sequence before and after the epochs start again, with the last epoch in use and with some to spare.
#[test]
fn sorts_start_again_after_the_last_epoch() {
    let n = 2 * pass_tile::<u32>() + 77;
    for unused in [0, 1, 3] {
        let on = Clears(with_multiprocessors(4), Cell::new(0));
        // Two sorts of four passes.
        let mut memory = scratch(&on, n, &Options::default()).unwrap();
        let launches::Way::Few(sorter) = &mut memory.way else { panic!("{n} keys are few") };
        sorter.epoch = LAST_EPOCH - unused - 7;
        let fresh = on.1.get();
        for run in 0..4 {
            // Keys that are sorted from the last digit on: all are in one bucket.
            let keys: Vec<u32> = (0..n as u64).map(|i| random(i + (run << 32)) as u32 >> 8).collect();
            let (mut got, mut want) = (Buffer::new(&keys, 0), keys);
            sort(&on, Keys { keys: got.view(), order: UNSIGNED }, &mut memory).unwrap();
            want.sort_unstable();
            assert!(got.slice() == want, "{unused} epochs unused, run {run}");
            got.check_guards("either");
            assert_eq!(on.1.get() - fresh, (run > 1) as u32, "{unused} epochs unused, run {run}");
        }
    }
}
