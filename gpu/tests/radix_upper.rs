//! The upper rungs of radix sort on the simulator: the whole output against the standard library's sort.

use rungs_kernels::keys::{self, Word};
use rungs_kernels::launcher::{Launcher, Shape};
use rungs_kernels::radix::r7_onesweep as onesweep;
use rungs_kernels::radix::r8_msd_buckets::{self as msd, Memory, Plan, Sort};
use rungs_kernels::radix::steps::{Digits, SCAN_THREADS};
use rungs_kernels::radix::{r5_lsd_blocks as blocks, r6_lsd_ballot as ballot};
use simt::sim::{LaunchError, MAX_SHARED, Options, launch};
use simt::{Global, Kernel, Scalar};

/// Runs each launch on the simulator.
struct Simulator;

impl Launcher for Simulator {
    type Error = LaunchError;

    fn launch<K: Kernel>(&mut self, kernel: K, shape: Shape, args: K::Args) -> Result<(), LaunchError> {
        if shape.blocks == 0 {
            return Ok(());
        }
        let (grid, block) = ([shape.blocks, 1, 1], [shape.threads, 1, 1]);
        launch(kernel, grid, block, shape.shared_bytes, args, Options::default())
    }
}

/// Memory as an allocation gives it: on a multiple of 128 bytes.
struct Memory128<T> {
    words: Vec<u128>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Scalar> Memory128<T> {
    fn new(data: &[T]) -> Self {
        let bytes = size_of_val(data);
        let mut memory = Self { words: vec![0; bytes.div_ceil(16) + 8], len: data.len(), element: Default::default() };
        memory.slice().copy_from_slice(data);
        memory
    }

    fn slice(&mut self) -> &mut [T] {
        let skip = self.words.as_ptr().align_offset(128);
        // SAFETY: the words have room for `len` elements behind the skipped ones, and any bytes are a T.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().add(skip).cast(), self.len) }
    }

    fn view(&mut self) -> Global<T> {
        let slice = self.slice();
        // SAFETY: the memory outlives the launches that the view is passed to.
        unsafe { Global::from_raw(slice.as_mut_ptr(), slice.len() as u32) }
    }
}

/// One launch on the simulator.
fn run<K: Kernel>(kernel: K, blocks: u32, threads: u32, shared: u32, args: K::Args) {
    Simulator.launch(kernel, Shape::new(blocks, threads).shared(shared), args).unwrap();
}

/// A fixed sequence of words that look random.
fn random(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn msd_sort<W: Sort>(input: &[W], order: u32, poison: W) -> Vec<W> {
    msd_sort_with(MAX_SHARED, input, order, poison)
}

/// On a device with so much shared memory a block.
fn msd_sort_with<W: Sort>(max_shared: u32, input: &[W], order: u32, poison: W) -> Vec<W> {
    let plan = Plan::new::<W>(input.len() as u32, 4, max_shared);
    let layout = plan.layout();
    let mut words = vec![0xCDCD_CDCDu32; layout.words as usize];
    words[..layout.zeroed() as usize].fill(0);
    let (mut keys, mut workspace) = (Memory128::new(input), Memory128::new(&words));
    let mut output = Memory128::new(&vec![poison; input.len()]);
    let mut scratch = Memory128::new(&vec![poison; input.len()]);
    // Small ones twice: what the first leaves in the workspace must serve the second.
    for _ in 0..if input.len() < 20_000 { 2 } else { 1 } {
        output.slice().fill(poison);
        let memory =
            Memory { input: keys.view(), output: output.view(), scratch: scratch.view(), workspace: workspace.view() };
        W::sort(&mut Simulator, &plan, order, memory).unwrap();
        assert!(keys.slice() == input, "the input was written to");
    }
    output.slice().to_vec()
}

#[test]
fn msd_buckets_sorts_every_kind_of_input() {
    for_kinds(&[1, 33, 4097, 40_009], |what, narrow, wide| {
        check(what, &narrow, &msd_sort(&narrow, keys::UNSIGNED, 0xABAB_ABAB));
        check(what, &wide, &msd_sort(&wide, keys::UNSIGNED, 0xABAB_ABAB_ABAB_ABAB));
    });
    // Many large buckets, which are split several times.
    for_kinds(&[150_001], |what, narrow, _| {
        check(what, &narrow, &msd_sort(&narrow, keys::UNSIGNED, 0xABAB_ABAB));
    });
}

fn check_u32(input: &[u32]) {
    let mut want = input.to_vec();
    want.sort_unstable();
    assert!(msd_sort(input, keys::UNSIGNED, 0xABAB_ABAB) == want, "{} keys", input.len());
}

#[test]
fn msd_buckets_sorts_uniform_keys_of_any_number() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 10_007, 65_537, 262_147] {
        let input: Vec<u32> = (0..n).map(|i| random(i) as u32).collect();
        check_u32(&input);
    }
}

#[test]
fn msd_buckets_with_two_partitions() {
    for n in [(4096 << 9) + 1, (1 << 22) + 12_345] {
        assert!(msd::split_bits(msd::top_bits(n)).1 > 0);
        let input: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
        check_u32(&input);
    }
}

/// Keys of any type, by the order of their encoded words.
fn check_mapped<W: Sort>(n: u64, order: u32, from: impl Fn(u64) -> W, poison: W) {
    let input: Vec<W> = (0..n).map(from).collect();
    let mut want = input.clone();
    want.sort_unstable_by_key(|key| key.encode(order));
    assert!(msd_sort(&input, order, poison) == want, "{n} keys in order {order}");
}

#[test]
fn msd_buckets_maps_signed_keys_and_floats() {
    for n in [33, 8193, 300_000] {
        check_mapped(n, keys::SIGNED, |i| random(i) as u32, 0xABAB_ABAB);
        check_mapped(n, keys::FLOAT, |i| random(i) as u32, 0xABAB_ABAB);
    }
}

#[test]
fn msd_buckets_sorts_wide_keys() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 65_537, 300_000, (4096 << 9) + 1] {
        check_mapped(n, keys::UNSIGNED, random, 0xABAB_ABAB_ABAB_ABAB);
    }
    check_mapped(100_003, keys::SIGNED, random, 0xABAB_ABAB_ABAB_ABAB);
    check_mapped(100_003, keys::FLOAT, random, 0xABAB_ABAB_ABAB_ABAB);
}

/// Inputs that sorting by digits gets wrong: by name, made from random words.
#[allow(clippy::type_complexity)]
const KINDS: [(&str, fn(u64, u64) -> u64); 12] = [
    ("uniform", |_, r| r),
    ("sorted", |i, _| i << 40 | i << 12),
    ("reversed", |i, _| (!i) << 40 | (!i) << 12),
    ("equal", |_, _| 0x1234_5678_9ABC_DEF0),
    ("largest", |_, _| u64::MAX),
    ("few", |_, r| r % 16 * 0x1111_1111_1111_1111),
    ("two", |_, r| if r & 1 == 0 { 5 } else { 0x8000_0001_8000_0001 }),
    ("low bits zero", |_, r| r & 0xFFFF_0000_FFFF_0000),
    ("high bits zero", |_, r| r & 0x0000_FFFF_0000_FFFF),
    ("anded", |i, r| r & random(i + 77) & random(i + 99)),
    ("one in a hundred", |i, r| if i.is_multiple_of(100) { r } else { 0xDEAD_BEEF_DEAD_BEEF }),
    ("largest and smallest", |_, r| if r & 1 == 0 { 0 } else { u64::MAX }),
];

/// Each kind of input as 32-bit and as 64-bit keys.
fn for_kinds(sizes: &[u64], mut f: impl FnMut(&str, Vec<u32>, Vec<u64>)) {
    for &n in sizes {
        for (name, make) in KINDS {
            let wide: Vec<u64> = (0..n).map(|i| make(i, random(i ^ n << 32))).collect();
            let narrow = wide.iter().map(|k| (k >> 32) as u32).collect();
            f(&format!("{name}, n = {n}"), narrow, wide);
        }
    }
}

fn check<W: Ord + Copy + std::fmt::Debug>(what: &str, input: &[W], got: &[W]) {
    let mut want = input.to_vec();
    want.sort_unstable();
    if let Some(i) = (0..want.len()).find(|&i| got[i] != want[i]) {
        panic!("{what}: place {i} holds {:?} instead of {:?}", got[i], want[i]);
    }
}

macro_rules! lsd {
    ($name:ident, $rung:ident, $count:ident, $scan:ident, $scatter:ident, $shared:expr) => {
        /// Sorts with the three kernels of the rung, as many passes as the keys have digits.
        fn $name<W: Digits>(input: &[W]) -> Vec<W>
        where
            $rung::$count<W>: Kernel<Args = (Global<W>, Global<u32>, u32)>,
            $rung::$scatter<W>: Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32)>,
        {
            let n = input.len() as u32;
            let poison = vec![W::LARGEST; input.len()];
            let mut buffers = [Memory128::new(input), Memory128::new(&poison)];
            let mut counts = Memory128::new(&vec![0xCDCD_CDCD; $rung::counts(n) as usize]);
            let grid = $rung::grid(n);
            for pass in 0..size_of::<W>() as u32 * 8 / $rung::BITS {
                let [from, to] = &mut buffers;
                let shift = pass * $rung::BITS;
                run($rung::$count::<W>::default(), grid, $rung::BLOCK, 0, (from.view(), counts.view(), shift));
                run($rung::$scan, grid.min(1), SCAN_THREADS, 0, (counts.view(),));
                let args = (from.view(), to.view(), counts.view(), shift);
                run($rung::$scatter::<W>::default(), grid, $rung::BLOCK, $shared(size_of::<W>() as u32), args);
                buffers.swap(0, 1);
            }
            buffers[0].slice().to_vec()
        }
    };
}
lsd!(sort_by_blocks, blocks, radix_lsd_blocks_count, radix_lsd_blocks_scan, radix_lsd_blocks_scatter, |_| 0);
lsd!(
    sort_by_ballots,
    ballot,
    radix_lsd_ballot_count,
    radix_lsd_ballot_scan,
    radix_lsd_ballot_scatter,
    ballot::shared_bytes
);

#[test]
fn lsd_blocks_sorts_every_kind_of_input() {
    for_kinds(&[0, 1, 2, 31, 32, 33, 2047, 2048, 2049, 30_011], |what, narrow, wide| {
        check(what, &narrow, &sort_by_blocks(&narrow));
        check(what, &wide, &sort_by_blocks(&wide));
    });
}

#[test]
fn lsd_ballot_sorts_every_kind_of_input() {
    for_kinds(&[0, 1, 2, 31, 32, 33, 4095, 4096, 4097], |what, narrow, wide| {
        check(what, &narrow, &sort_by_ballots(&narrow));
        if wide.len() != 4096 {
            check(what, &wide, &sort_by_ballots(&wide));
        }
    });
    let input: Vec<u32> = (0..30_011).map(|i| random(i) as u32).collect();
    check("many tiles", &input, &sort_by_ballots(&input));
}

/// Sorts twice with one workspace; returns keys and values.
fn onesweep_sort<W: onesweep::Sort>(input: &[W], values: &[u32], order: u32) -> (Vec<W>, Vec<u32>) {
    let plan = onesweep::Plan::new::<W>(input.len() as u32, 4);
    let mut workspace = Memory128::new(&vec![0u32; plan.workspace_words() as usize]);
    let (mut keys, mut scratch) = (Memory128::new(input), Memory128::new(&vec![W::LARGEST; input.len()]));
    let (mut payload, mut payload_scratch) = (Memory128::new(values), Memory128::new(&vec![u32::MAX; values.len()]));
    let mut epoch = onesweep::LAST_EPOCH - 2 * plan.epochs() + 1;
    for _ in 0..2 {
        keys.slice().copy_from_slice(input);
        payload.slice().copy_from_slice(values);
        let memory = onesweep::Memory {
            keys: keys.view(),
            scratch: scratch.view(),
            values: payload.view(),
            values_scratch: payload_scratch.view(),
            workspace: workspace.view(),
        };
        W::sort(&mut Simulator, &plan, order, memory, epoch).unwrap();
        epoch += plan.epochs();
    }
    (keys.slice().to_vec(), payload.slice().to_vec())
}

#[test]
fn onesweep_sorts_every_kind_of_input() {
    for_kinds(&[0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 30_011, 100_003], |what, narrow, wide| {
        check(what, &narrow, &onesweep_sort(&narrow, &[], keys::UNSIGNED).0);
        check(what, &wide, &onesweep_sort(&wide, &[], keys::UNSIGNED).0);
    });
}

#[test]
fn onesweep_moves_values_with_their_keys_and_is_stable() {
    for_kinds(&[0, 1, 33, 8193, 30_011], |what, narrow, _| {
        let values: Vec<u32> = (0..narrow.len() as u32).collect();
        let (got, got_values) = onesweep_sort(&narrow, &values, keys::UNSIGNED);
        let mut want: Vec<(u32, u32)> = narrow.iter().copied().zip(values).collect();
        want.sort_by_key(|&(key, _)| key);
        assert!(got.into_iter().zip(got_values).eq(want), "{what}");
    });
}

#[test]
fn onesweep_maps_signed_keys_and_floats() {
    for order in [keys::SIGNED, keys::FLOAT] {
        let wide: Vec<u64> = (0..20_011).map(random).collect();
        let narrow: Vec<u32> = wide.iter().map(|&k| k as u32).collect();
        let (mut want, mut want_narrow) = (wide.clone(), narrow.clone());
        want.sort_by_key(|k| k.encode(order));
        want_narrow.sort_by_key(|k| k.encode(order));
        assert!(onesweep_sort(&wide, &[], order).0 == want);
        assert!(onesweep_sort(&narrow, &[], order).0 == want_narrow);
    }
}

#[test]
fn msd_buckets_sorts_skewed_input_after_two_partitions() {
    // Floats between 0 and 1: half of them have one exponent. Their order is mapped where they are written for good.
    let n = (4096 << 9) + 12_345;
    let floats: Vec<u32> = (0..n).map(|i| (random(i) as u32 as f32 / u32::MAX as f32).to_bits()).collect();
    let mut want = floats.clone();
    want.sort_unstable();
    assert!(msd_sort(&floats, keys::FLOAT, u32::MAX) == want);
    let few: Vec<u32> = (0..n).map(|i| (random(i) as u32 % 7).wrapping_mul(0x3333_3333)).collect();
    let mut want = few.clone();
    want.sort_unstable();
    assert!(msd_sort(&few, keys::UNSIGNED, 0xABAB_ABAB) == want);
    // More than 65,535 keys of one value in a block of the histogram.
    let one: Vec<u32> = (0..n).map(|i| if i % 1000 == 0 { random(i) as u32 } else { 0x7777_7777 }).collect();
    let mut want = one.clone();
    want.sort_unstable_by_key(|k| k.encode(keys::SIGNED));
    assert!(msd_sort(&one, keys::SIGNED, 0xABAB_ABAB) == want);
}

#[test]
fn msd_buckets_tallies_keys_of_which_few_bits_are_left() {
    let zeros = |i: u64| random(i) & random(i + (1 << 40)) & random(i + (1 << 41));
    // Segments of more than 65,535 keys, of fewer, and both; places and values that no key has.
    let kinds: [&dyn Fn(u64) -> u64; 4] =
        [&|i| random(i) & 0xffff, &zeros, &|i| ((random(i) % 3) << 30) | random(i) >> 32 & 0x7fff, &|i| {
            ((random(i) % 20) << 24) | zeros(i) & 0xffff
        }];
    // An RTX has less shared memory than an H200, and tallies one bit less.
    for (max_shared, n) in [(MAX_SHARED, 300_007), (99 << 10, 300_007), (MAX_SHARED, (4096 << 9) + 5)] {
        for (i, kind) in kinds.iter().enumerate() {
            let narrow: Vec<u32> = (0..n).map(|i| kind(i) as u32).collect();
            let mut want = narrow.clone();
            want.sort_unstable();
            let got = msd_sort_with(max_shared, &narrow, keys::UNSIGNED, 0xABAB_ABAB);
            assert!(got == want, "kind {i}, {n} keys, {max_shared} bytes of shared memory");
            if n < 1 << 20 {
                let wide: Vec<u64> = (0..n).map(kind).collect();
                let mut want = wide.clone();
                want.sort_unstable_by_key(|k| k.encode(keys::SIGNED));
                let got = msd_sort_with(max_shared, &wide, keys::SIGNED, u64::MAX);
                assert!(got == want, "kind {i}, {n} wide keys, {max_shared} bytes of shared memory");
            }
        }
    }
}

#[test]
fn msd_buckets_tallies_wide_keys_of_few_values() {
    // Segments that one partition has left where it put them, of which 1 to 4 bits differ.
    for values in [2, 5, 16] {
        let input: Vec<u64> = (0..200_003).map(|i| 0x1234_5678_9ABC_DEF0 | (random(i) % values)).collect();
        let mut want = input.clone();
        want.sort_unstable();
        assert!(msd_sort(&input, keys::UNSIGNED, u64::MAX) == want, "{values} values");
    }
}

#[test]
fn msd_buckets_needs_little_memory_beside_the_keys() {
    for bits in 0..=31 {
        let n = 1u32 << bits;
        let (narrow, wide) = (Plan::new::<u32>(n, 132, MAX_SHARED), Plan::new::<u64>(n, 132, MAX_SHARED));
        let bytes = |plan: &Plan| plan.layout().words as u64 * 4;
        for (plan, key_bytes) in [(narrow, 4), (wide, 8)] {
            // A tenth of the keys, and what any number takes; most of the tenth is counters of segments to split.
            assert!(bytes(&plan) < (1 << 20) + n as u64 * key_bytes / 8, "2^{bits}: {} for {plan:?}", bytes(&plan));
        }
    }
    // Less than 32 MiB beside keys and scratch at 2²⁸, whatever else another sort takes.
    assert!(Plan::new::<u32>(1 << 28, 132, MAX_SHARED).layout().words as u64 * 4 < 32 << 20);
}
