//! What every rung launches on devices with less shared memory than the simulator's: it fits them, or the rung says
//! that it does not run there.

mod common;

use common::Buffer;
use rungs_kernels::keys::UNSIGNED;
use rungs_kernels::ladder::sort::{Keys, Pairs, Sort};
use rungs_kernels::ladder::{Ask, Device, Entry, Options, reduce, scan, select, top_k};
use rungs_kernels::operator::Operation;
use rungs_kernels::{bitonic, ladders, odd_even};
use simt::launcher::KNOWN_DEVICES;
use simt::sim::Gpu;

/// Elements: some tiles, and a ragged one.
const N: u32 = 20_011;

/// The simulator with the limits of a device.
fn gpu((compute_capability, shared_per_block): ((u32, u32), u32)) -> Gpu {
    Gpu { device: Device { multiprocessors: 4, shared_per_block, compute_capability }, ..Gpu::default() }
}

fn numbers() -> Vec<u32> {
    let mut random = common::Random(7);
    (0..N).map(|_| random.next() as u32).collect()
}

#[test]
fn sorts_run_where_they_do_not_refuse() {
    let input = numbers();
    let mut want = input.clone();
    want.sort_unstable();
    for device in KNOWN_DEVICES {
        let gpu = gpu(device);
        for ladder in [&bitonic::LADDER, &odd_even::LADDER, &ladders::RADIX] {
            // What sorts in one block has a capacity of its own, and is tried there.
            for entry in ladder.rungs.iter().filter(|entry| entry.rung.capacity.is_none_or(|most| most > 1 << 20)) {
                let name = entry.rung.name;
                if entry.run.narrow.is_none() {
                    continue;
                }
                assert_eq!(entry.rung.refusal(&Ask::of::<u32>(&gpu, N)), None, "{name} on {device:?}");
                let mut keys = Buffer::new(&input, 0);
                let args = Keys { keys: keys.view(), order: UNSIGNED };
                let mut sorter = entry.sorter::<u32>(&gpu, N, Options::default()).unwrap();
                sorter.run(&gpu, args).unwrap_or_else(|e| panic!("{name} on {device:?}: {e}"));
                assert!(keys.slice() == want, "{name} on {device:?}");
            }
        }
    }
}

#[test]
fn sorts_of_pairs_run_where_they_do_not_refuse() {
    let input = numbers();
    let mut want: Vec<(u32, u32)> = input.iter().copied().zip(0..).collect();
    want.sort_unstable();
    for device in KNOWN_DEVICES {
        let gpu = gpu(device);
        let refused = |entry: &Entry<Sort>| entry.rung.refusal(&Ask::of::<u32>(&gpu, N)).is_some();
        let with_pairs = || ladders::RADIX.rungs.iter().filter(|entry| entry.run.pairs.is_some());
        assert!(with_pairs().any(|entry| !refused(entry)), "no rung sorts pairs on {device:?}");
        for entry in with_pairs() {
            let name = entry.rung.name;
            let made = entry.pair_sorter(&gpu, N);
            assert_eq!(made.is_err(), refused(entry), "{name} on {device:?}");
            let Ok(mut sorter) = made else { continue };
            let (mut keys, mut values) = (Buffer::new(&input, 0), Buffer::new(&(0..N).collect::<Vec<_>>(), 0));
            let args = Pairs { keys: keys.view(), values: values.view(), order: UNSIGNED };
            sorter.run(&gpu, args).unwrap_or_else(|e| panic!("{name} on {device:?}: {e}"));
            let got = keys.slice().iter().copied().zip(values.slice().iter().copied());
            assert!(got.eq(want.iter().copied()), "{name} on {device:?}");
        }
    }
}

#[test]
fn reductions_scans_and_selections_run_where_they_do_not_refuse() {
    let data = numbers();
    let total = data.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
    for device in KNOWN_DEVICES {
        let gpu = gpu(device);
        for entry in rungs_kernels::reduce::LADDER.rungs {
            let (mut input, mut sum) = (Buffer::new(&data, 0), Buffer::poisoned(1, 0));
            let args = reduce::Elements { input: input.view(), output: sum.view() };
            entry.reducer(&gpu, N, Operation::Sum).unwrap().run(&gpu, args).unwrap();
            assert_eq!(sum.slice(), [total], "{} on {device:?}", entry.rung.name);
        }
        for entry in rungs_kernels::scan::LADDER.rungs.iter().filter(|entry| entry.rung.capacity.is_none()) {
            let (name, refusal) = (entry.rung.name, entry.rung.refusal(&Ask::of::<u32>(&gpu, N)));
            let scanner = entry.scanner::<u32>(&gpu, N, Operation::Sum);
            if let Some(why) = refusal {
                assert!(name == "look-ahead" && device.1 < 200 << 10, "{name} on {device:?}: {why}");
                assert!(scanner.is_err(), "{name} on {device:?}");
                continue;
            }
            let (mut input, mut output) = (Buffer::new(&data, 0), Buffer::poisoned(data.len(), 0));
            let args = scan::Elements { input: input.view(), output: output.view(), exclusive: false };
            scanner.unwrap().run(&gpu, args).unwrap();
            assert_eq!(output.slice().last(), Some(&total), "{name} on {device:?}");
        }
        let below = data.iter().filter(|&&x| x < data[0]).count() as u32;
        for entry in rungs_kernels::ladders::SELECT.rungs {
            let (mut input, mut output) = (Buffer::new(&data, 0), Buffer::poisoned(data.len(), 0));
            let (mut count, pivot) = (Buffer::poisoned(1, 0), data[0]);
            let args = select::Items { input: input.view(), output: output.view(), count: count.view(), pivot };
            entry.selector::<u32>(&gpu, N).unwrap().run(&gpu, args).unwrap();
            assert_eq!(count.slice(), [below], "{} on {device:?}", entry.rung.name);
        }
        for entry in rungs_kernels::ladders::TOP_K.rungs {
            let (mut input, mut output) = (Buffer::new(&data, 0), Buffer::poisoned(1, 0));
            let args = top_k::Keys { input: input.view(), output: output.view(), order: UNSIGNED };
            entry.finder(&gpu, N, 1).unwrap().run(&gpu, args).unwrap();
            assert_eq!(output.slice().first(), data.iter().max(), "{} on {device:?}", entry.rung.name);
        }
    }
}
