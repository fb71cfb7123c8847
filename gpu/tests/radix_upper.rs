//! The upper rungs of radix sort on the simulator: the whole output against the standard library's sort.

use gpu::keys;
use gpu::launcher::{Launcher, Shape};
use gpu::radix::r8_msd_buckets::{self as msd, Memory, Plan, Sort};
use simt::sim::{LaunchError, Options, launch};
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

/// A fixed sequence of words that look random.
fn random(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn msd_sort<W: Sort>(input: &[W], order: u32, poison: W) -> Vec<W> {
    let plan = Plan::new::<W>(input.len() as u32, 4);
    let layout = plan.layout();
    let mut words = vec![0xCDCD_CDCDu32; layout.words as usize];
    words[..layout.zeroed() as usize].fill(0);
    let (mut keys, mut workspace) = (Memory128::new(input), Memory128::new(&words));
    let mut output = Memory128::new(&vec![poison; input.len()]);
    let mut scratch = Memory128::new(&vec![poison; input.len()]);
    for epoch in 1..3 {
        // Twice: what the first leaves in the workspace must serve the second.
        output.slice().fill(poison);
        let memory =
            Memory { input: keys.view(), output: output.view(), scratch: scratch.view(), workspace: workspace.view() };
        W::sort(&mut Simulator, &plan, order, memory, epoch).unwrap();
        assert!(keys.slice() == input, "the input was written to");
    }
    output.slice().to_vec()
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
