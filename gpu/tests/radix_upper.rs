//! The upper rungs of radix sort on the simulator: the whole output against the standard library's sort.

use rungs_kernels::keys::{self, Word};
use rungs_kernels::launcher::{Launcher, Shape};
use rungs_kernels::radix::r7_onesweep as onesweep;
use rungs_kernels::radix::r8_msd_buckets::{self as buckets, Memory};
use rungs_kernels::radix::r9_msd_skewed::{self as skewed, Plan, Sort};
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

/// The two rungs that sort from the most significant digit. They take the same inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Msd {
    Buckets,
    Skewed,
}

const BOTH: [Msd; 2] = [Msd::Buckets, Msd::Skewed];

impl Msd {
    fn sort<W: Sort>(self, input: &[W], order: u32, poison: W) -> Vec<W> {
        self.sort_with(MAX_SHARED, input, order, poison)
    }

    /// On a device with this many bytes of shared memory per block.
    fn sort_with<W: Sort>(self, max_shared: u32, input: &[W], order: u32, poison: W) -> Vec<W> {
        let plan = Plan::new::<W>(input.len() as u32, 4, max_shared);
        let layout = plan.buckets.layout();
        let words = if self == Self::Buckets { layout.words } else { plan.words() };
        let mut words = vec![0xCDCD_CDCDu32; words as usize];
        words[..layout.zeroed() as usize].fill(0);
        let (mut keys, mut workspace) = (Memory128::new(input), Memory128::new(&words));
        let mut output = Memory128::new(&vec![poison; input.len()]);
        let mut scratch = Memory128::new(&vec![poison; input.len()]);
        // Small ones twice: what the first leaves in the workspace must serve the second.
        for _ in 0..if input.len() < 20_000 { 2 } else { 1 } {
            output.slice().fill(poison);
            let (input_view, output, scratch) = (keys.view(), output.view(), scratch.view());
            let memory = Memory { input: input_view, output, scratch, workspace: workspace.view() };
            match self {
                Self::Buckets => W::sort(&mut Simulator, &plan.buckets, order, memory).unwrap(),
                Self::Skewed => W::sort_skewed(&mut Simulator, &plan, order, memory).unwrap(),
            }
            assert!(keys.slice() == input, "the input was written to");
        }
        output.slice().to_vec()
    }

    /// Sorts and compares with the standard library's sort.
    fn check<W: Sort + std::fmt::Debug>(self, what: &str, max_shared: u32, input: &[W], order: u32) {
        let mut want = input.to_vec();
        want.sort_unstable_by_key(|key| key.encode(order));
        let got = self.sort_with(max_shared, input, order, W::LARGEST);
        if let Some(i) = (0..want.len()).find(|&i| got[i] != want[i]) {
            panic!("{self:?}, {what}: place {i} holds {:?} instead of {:?}", got[i], want[i]);
        }
    }
}

#[test]
fn msd_sorts_every_kind_of_input() {
    for_kinds(&[1, 33, 4097, 40_009], |what, narrow, wide| {
        for rung in BOTH {
            check(what, &narrow, &rung.sort(&narrow, keys::UNSIGNED, 0xABAB_ABAB));
            check(what, &wide, &rung.sort(&wide, keys::UNSIGNED, 0xABAB_ABAB_ABAB_ABAB));
        }
    });
    // Many large buckets, which are split several times.
    for_kinds(&[150_001], |what, narrow, _| {
        for rung in BOTH {
            check(what, &narrow, &rung.sort(&narrow, keys::UNSIGNED, 0xABAB_ABAB));
        }
    });
}

/// Keys of any type, by the order of their encoded words.
fn check_mapped<W: Sort + std::fmt::Debug>(n: u64, order: u32, from: impl Fn(u64) -> W) {
    let input: Vec<W> = (0..n).map(from).collect();
    BOTH.iter().for_each(|rung| rung.check(&format!("{n} keys in order {order}"), MAX_SHARED, &input, order));
}

#[test]
fn msd_sorts_uniform_keys_of_any_number() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 10_007, 65_537, 262_147] {
        check_mapped(n, keys::UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_with_two_partitions() {
    for n in [(4096 << 9) + 1, (1 << 22) + 12_345] {
        assert!(Plan::new::<u32>(n, 4, MAX_SHARED).buckets.second_bits > 0);
        check_mapped(n.into(), keys::UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_maps_signed_keys_and_floats() {
    for n in [33, 8193, 300_000] {
        check_mapped(n, keys::SIGNED, |i| random(i) as u32);
        check_mapped(n, keys::FLOAT, |i| random(i) as u32);
    }
}

#[test]
fn msd_sorts_wide_keys() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 65_537, 300_000, (4096 << 9) + 1] {
        check_mapped(n, keys::UNSIGNED, random);
    }
    check_mapped(100_003, keys::SIGNED, random);
    check_mapped(100_003, keys::FLOAT, random);
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
fn msd_sorts_skewed_input_after_two_partitions() {
    let n = (4096 << 9) + 12_345;
    // Floats between 0 and 1: half of them have one exponent. Their order is mapped where they are written for good.
    check_mapped(n, keys::FLOAT, |i| (random(i) as u32 as f32 / u32::MAX as f32).to_bits());
    check_mapped(n, keys::UNSIGNED, |i| (random(i) as u32 % 7).wrapping_mul(0x3333_3333));
    // More than 65,535 keys of one value in a block of the histogram.
    check_mapped(n, keys::SIGNED, |i| if i % 1000 == 0 { random(i) as u32 } else { 0x7777_7777 });
}

#[test]
fn msd_skewed_tallies_keys_of_which_few_bits_are_left() {
    let zeros = |i: u64| random(i) & random(i + (1 << 40)) & random(i + (1 << 41));
    // Segments of more than 65,535 keys, of fewer, and both; places and values that no key has.
    let kinds: [&dyn Fn(u64) -> u64; 4] =
        [&|i| random(i) & 0xffff, &zeros, &|i| ((random(i) % 3) << 30) | random(i) >> 32 & 0x7fff, &|i| {
            ((random(i) % 20) << 24) | zeros(i) & 0xffff
        }];
    // An RTX has less shared memory than an H200, and tallies one bit less.
    for (max_shared, n) in [(MAX_SHARED, 300_007), (99 << 10, 300_007), (MAX_SHARED, (4096 << 9) + 5)] {
        for (i, kind) in kinds.iter().enumerate() {
            let what = format!("kind {i}, {n} keys, {max_shared} bytes of shared memory");
            let narrow: Vec<u32> = (0..n).map(|i| kind(i) as u32).collect();
            Msd::Skewed.check(&what, max_shared, &narrow, keys::UNSIGNED);
            if n < 1 << 20 {
                let wide: Vec<u64> = (0..n).map(kind).collect();
                Msd::Skewed.check(&what, max_shared, &wide, keys::SIGNED);
            }
        }
    }
}

#[test]
fn msd_skewed_tallies_wide_keys_of_few_values() {
    // Segments that one partition has left where it put them, of which 1 to 4 bits differ.
    for values in [2, 5, 16] {
        let input: Vec<u64> = (0..200_003).map(|i| 0x1234_5678_9ABC_DEF0 | (random(i) % values)).collect();
        Msd::Skewed.check(&format!("{values} values"), MAX_SHARED, &input, keys::UNSIGNED);
    }
}

/// A bucket that ends a sort by digits on the right side of the two arrays: one and two partitions, an even and an odd
/// number of digits left, all keys in one bucket or crowded in buckets that would fit.
#[test]
fn msd_buckets_sorts_what_does_not_fit_a_block() {
    for (n, kind) in [(50_021u64, "one partition"), ((4096 << 9) + 77, "two partitions")] {
        let narrow: Vec<u32> = (0..n).map(|i| 0x5A00_0000 | random(i) as u32 & 0x003f_ffff).collect();
        Msd::Buckets.check(kind, MAX_SHARED, &narrow, keys::UNSIGNED);
        let crowded: Vec<u32> = (0..n).map(|i| (random(i) as u32 & 0xff3f_0000) | (random(!i) as u32 & 3)).collect();
        Msd::Buckets.check(kind, MAX_SHARED, &crowded, keys::FLOAT);
    }
    let wide: Vec<u64> = (0..50_021).map(|i| random(i) & 0xff00_00ff_0000_ffff).collect();
    for order in [keys::UNSIGNED, keys::SIGNED, keys::FLOAT] {
        Msd::Buckets.check("wide keys", MAX_SHARED, &wide, order);
    }
}

#[test]
fn msd_needs_little_memory_beside_the_keys() {
    for bits in 0..=31 {
        let n = 1u32 << bits;
        let (narrow, wide) = (Plan::new::<u32>(n, 132, MAX_SHARED), Plan::new::<u64>(n, 132, MAX_SHARED));
        let bytes = |plan: &Plan| plan.words() as u64 * 4;
        for (plan, key_bytes) in [(narrow, 4), (wide, 8)] {
            // A tenth of the keys, and what any number takes; most of the tenth is counters of segments to split.
            assert!(bytes(&plan) < (1 << 20) + n as u64 * key_bytes / 8, "2^{bits}: {} for {plan:?}", bytes(&plan));
        }
    }
    // Less than 32 MiB beside keys and scratch at 2²⁸, whatever else another sort takes.
    assert!(Plan::new::<u32>(1 << 28, 132, MAX_SHARED).words() as u64 * 4 < 32 << 20);
}

/// Static and dynamic shared memory of every kernel that the two rungs launch, on devices of compute capability 8.6,
/// 8.9 and 12.x, of 8.0, and of 9.0 and 10.0.
#[test]
fn msd_kernels_fit_the_shared_memory_of_every_device() {
    fn check<W: Sort>(n: u32, limit: u32) {
        let plan = Plan::new::<W>(n, 142, limit);
        let top_bits = plan.buckets.top_bits();
        assert_eq!(plan.buckets.second_bits == 0, top_bits <= 9);
        for (kernel, bytes) in [
            ("histogram", buckets::HISTOGRAM_STATIC + buckets::histogram_shared(top_bits)),
            ("partition", buckets::partition_shared(plan.buckets.wide)),
            ("second partition", buckets::partition_shared(false)),
            ("bucket sort", buckets::BUCKET_SORT_STATIC + buckets::bucket_sort_shared::<W>()),
            ("split", skewed::SPLIT_STATIC + skewed::SPLIT_SHARED),
            ("tally", skewed::TALLY_STATIC + skewed::tally_shared(plan.limits.tally_bits)),
            ("groups", skewed::GROUPS_STATIC + skewed::groups_shared::<W>()),
        ] {
            assert!(bytes <= limit, "{kernel} of {n} keys takes {bytes} of {limit} bytes: {plan:?}");
        }
    }
    for limit in [101_376, 166_912, 232_448] {
        for n in (0..=32).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits >> 1]) {
            let n = n.min(buckets::MAX_KEYS.into()) as u32;
            check::<u32>(n, limit);
            check::<u64>(n, limit);
        }
    }
    // The histogram of 16 top bits fits the larger devices alone.
    let top_bits = |limit| Plan::new::<u32>((1 << 27) + 1, 142, limit).buckets.top_bits();
    assert_eq!([101_376, 166_912, 232_448].map(top_bits), [15, 16, 16]);
}

/// Buckets that are too large on average, where the histogram of more top bits would not fit the device. A limit below
/// that of any device makes them so few that the simulator can sort them.
#[test]
fn msd_sorts_with_fewer_top_bits_than_it_would_take() {
    let n = (4096u32 << 9) + 3;
    let limit = buckets::HISTOGRAM_STATIC + buckets::histogram_shared(8);
    assert_eq!(Plan::new::<u32>(n, 4, limit).buckets.top_bits(), 8);
    let input: Vec<u32> = (0..n.into()).map(|i| random(i) as u32).collect();
    for rung in BOTH {
        rung.check("fewer top bits", limit, &input, keys::SIGNED);
    }
}
