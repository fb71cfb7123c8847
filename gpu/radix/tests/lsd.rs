//! The rungs of radix sort that work upwards from the last digit, on many blocks, on the simulator: the whole output
//! against the standard library's sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::sort::{Keys, Pairs};
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_radix::r7_onesweep::launches::{scratch, sort};
use rungs_radix::r7_onesweep::{self, *};
use rungs_radix::{Digits, r5_lsd_blocks, r6_lsd_ballot};
use rungs_testing::{Buffer, Sorting, for_kinds, launch, random, view, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::Gpu;
use std::cell::Cell;

#[test]
fn lsd_blocks_sorts_every_kind_of_input() {
    let sort = Sorting::by(&r5_lsd_blocks::launches::RUNG);
    for_kinds(&[0, 1, 2, 31, 32, 33, 2047, 2048, 2049, 30_011], |what, narrow, wide| {
        sort.check_both(what, narrow, wide);
    });
}

#[test]
fn lsd_ballot_sorts_every_kind_of_input() {
    let sort = Sorting::by(&r6_lsd_ballot::launches::RUNG);
    for_kinds(&[0, 1, 2, 31, 32, 33, 4095, 4096, 4097], |what, narrow, wide| {
        sort.check(what, narrow);
        if wide.len() != 4096 {
            sort.check(what, wide);
        }
    });
    let input: Vec<u32> = (0..30_011).map(|i| random(i) as u32).collect();
    sort.check("many tiles", &input);
}

/// Onesweep on a small device: two sorts by one sequence, so that the second finds what the first has left.
fn onesweep() -> Sorting {
    Sorting { on: with_multiprocessors(4), runs: 2, ..Sorting::by(&r7_onesweep::launches::RUNG) }
}

#[test]
fn onesweep_sorts_every_kind_of_input() {
    for_kinds(&[0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 30_011], |what, narrow, wide| {
        onesweep().check_both(what, narrow, wide);
    });
    // Many tiles; one sort is enough.
    for_kinds(&[100_003], |what, narrow, wide| Sorting { runs: 1, ..onesweep() }.check_both(what, narrow, wide));
}

#[test]
fn onesweep_moves_values_with_their_keys_and_is_stable() {
    let Sorting { rung, on, .. } = onesweep();
    let on: &dyn Launcher = &on;
    for_kinds(&[0, 1, 33, 8193, 30_011], |what, keys, _| {
        let n = keys.len() as u32;
        let mut sequence = rung.pair_sorter(on, n).unwrap();
        for order in [UNSIGNED, FLOAT, UNSIGNED | DESCENDING, FLOAT | DESCENDING] {
            let mut want: Vec<(u32, u32)> = keys.iter().copied().zip(0..n).collect();
            want.sort_by_key(|&(key, _)| key.encode(order));
            let mut got_keys = Buffer::new(keys, 0);
            let mut got_values = Buffer::new(&(0..n).collect::<Vec<_>>(), 0);
            sequence.run(on, Pairs { keys: got_keys.view(), values: got_values.view(), order }).unwrap();
            let got = got_keys.slice().iter().copied().zip(got_values.slice().iter().copied());
            assert!(got.eq(want), "{what}, order {order}");
            got_keys.check_guards(what);
            got_values.check_guards(what);
        }
    });
}

#[test]
fn every_rung_maps_signed_keys_and_floats() {
    let wide: Vec<u64> = (0..20_011).map(random).collect();
    let narrow: Vec<u32> = wide.iter().map(|&k| k as u32).collect();
    let others = [&r5_lsd_blocks::launches::RUNG, &r6_lsd_ballot::launches::RUNG].map(Sorting::by);
    for sort in others.into_iter().chain([onesweep()]) {
        for order in [SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING] {
            Sorting { order, ..sort }.check_both("random", &narrow, &wide);
        }
    }
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

/// Sorts by one sequence before and after the epochs begin again, with the last epoch in use and with some to spare.
#[test]
fn sorts_begin_anew_after_the_last_epoch() {
    let n = 2 * pass_tile::<u32>() + 77;
    for unused in [0, 1, 3] {
        let on = Clears(with_multiprocessors(4), Cell::new(0));
        // Two sorts of four passes.
        let mut memory = scratch::<u32>(&on, n, &Options::default()).unwrap();
        memory.epoch = LAST_EPOCH - unused - 7;
        let fresh = on.1.get();
        for run in 0..4 {
            let keys: Vec<u32> = (0..n as u64).map(|i| random(i + (run << 32)) as u32).collect();
            let (mut got, mut want) = (Buffer::new(&keys, 0), keys);
            sort(&on, Keys { keys: got.view(), order: UNSIGNED }, &mut memory).unwrap();
            want.sort_unstable();
            assert!(got.slice() == want, "{unused} epochs unused, run {run}");
            got.check_guards("onesweep");
            assert_eq!(on.1.get() - fresh, (run > 1) as u32, "{unused} epochs unused, run {run}");
        }
    }
}

/// The last two passes before a sort clears what tiles publish and counts again, in sequence on the same states:
/// what the first leaves is not taken for news by the second.
#[test]
fn onesweep_passes_of_the_last_epochs() {
    let n = 3 * pass_tile::<u32>() + 77;
    let keys: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let mut states = vec![0u64; (n.div_ceil(pass_tile::<u32>()) * DIGITS) as usize];
    for (epoch, shift) in [(LAST_EPOCH - 1, 0), (LAST_EPOCH, BITS)] {
        let digit_of = |key: &u32| key.digit(shift, BITS);
        let starts = |digit: u32| keys.iter().filter(|key| digit_of(key) < digit).count() as u32;
        let (mut starts, mut ticket) = ((0..DIGITS).map(starts).collect::<Vec<_>>(), [0]);
        let (mut from, mut to) = (Buffer::new(&keys, 0), Buffer::<u32>::poisoned(keys.len(), 0));
        let digit = Digit { shift, encode: UNSIGNED, decode: UNSIGNED, epoch };
        let geometry = Geometry::linear(n.div_ceil(pass_tile::<u32>()), PASS_THREADS).shared(PASS_SHARED);
        let none = view(&mut []);
        let (starts, ticket, states) = (view(&mut starts), view(&mut ticket), view(&mut states));
        let args = (from.view(), to.view(), none, none, digit, starts, ticket, states);
        launch(radix_onesweep_pass::<u32, KeysOnly>::default(), geometry, args);
        let mut want = keys.clone();
        want.sort_by_key(digit_of);
        assert!(to.slice() == want, "epoch {epoch}");
        to.check_guards("a pass");
    }
}
