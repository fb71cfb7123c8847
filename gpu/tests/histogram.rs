//! Every histogram rung on the simulator against a count on the host.

use rungs_kernels::histogram::*;
use simt::sim::{Options, launch};
use simt::{Global, Kernel};

/// As if the device had so many multiprocessors: more blocks than one, and several turns of each loop.
const MULTIPROCESSORS: u32 = 2;

const POISON: u32 = 0xdead_beef;

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

/// Keys that begin so many keys after a multiple of 16 bytes, in memory with foreign keys before and after them.
struct Keys<K: Key> {
    memory: Vec<u128>,
    start: usize,
    len: usize,
    key: std::marker::PhantomData<K>,
}

impl<K: Key> Keys<K> {
    fn new(keys: &[K], start: usize) -> Self {
        let mut memory = vec![0u128; (start + keys.len()) * size_of::<K>() / 16 + 2];
        let base = memory.as_mut_ptr().cast::<K>();
        for (i, &k) in keys.iter().enumerate() {
            // SAFETY: `memory` has room for start + keys.len() keys.
            unsafe { base.add(start + i).write(k) };
        }
        Self { memory, start, len: keys.len(), key: std::marker::PhantomData }
    }

    fn view(&mut self) -> Global<K> {
        // SAFETY: as above; the memory outlives the launch.
        unsafe { Global::from_raw(self.memory.as_mut_ptr().cast::<K>().add(self.start), self.len as u32) }
    }
}

/// Counts on the host.
fn oracle<K: Key>(keys: &[K], bins: u32) -> Vec<u32> {
    let mut counts = vec![0; bins as usize];
    for k in keys {
        if let Some(c) = counts.get_mut(k.bin() as usize) {
            *c += 1;
        }
    }
    counts
}

/// A rung that adds to counts which the host cleared.
fn adding<K: Key, F>(kernel: F, grid: u32, shared: u32, keys: &[K], bins: u32) -> Vec<u32>
where
    F: Kernel<Args = (Global<K>, Global<u32>)>,
{
    let mut counts = vec![POISON; bins as usize + 2];
    counts[1..=bins as usize].fill(0);
    let mut memory = Keys::new(keys, 3);
    if grid > 0 {
        let args = (memory.view(), view(&mut counts[1..=bins as usize]));
        launch(kernel, [grid, 1, 1], [r1_global_atomics::BLOCK, 1, 1], shared, args, Options::default()).unwrap();
    }
    inside(counts)
}

/// What lies between two words that nobody may touch.
fn inside(mut words: Vec<u32>) -> Vec<u32> {
    assert_eq!((words.pop(), words.remove(0)), (Some(POISON), POISON), "a neighbour of the counts was written");
    words
}

fn bank_private<K: Key, F>(kernel: F, keys: &[K], start: usize, bins: u32) -> Vec<u32>
where
    F: Kernel<Args = (Global<K>, Global<u32>, Global<u32>, Global<u32>)>,
{
    use r4_bank_private::{BLOCK, grid, shared_bytes};
    let (mut totals, mut ticket) = (vec![0; bins as usize], [0]);
    let mut memory = Keys::new(keys, start);
    let grid = grid::<K>(keys.len() as u32, MULTIPROCESSORS);
    let mut counts = vec![];
    // Twice: a launch leaves totals and ticket as it found them.
    for _ in 0..2 {
        counts = vec![POISON; bins as usize + 2];
        let args = (memory.view(), view(&mut counts[1..=bins as usize]), view(&mut totals), view(&mut ticket));
        launch(kernel, [grid, 1, 1], [BLOCK, 1, 1], shared_bytes::<K>(bins), args, Options::default()).unwrap();
        assert!(totals.iter().all(|&t| t == 0) && ticket == [0], "not zero after the launch");
        counts = inside(counts);
    }
    counts
}

/// Pseudo-random words.
fn words(n: usize) -> Vec<u32> {
    let mut x = 0x9e37_79b9u32;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        })
        .collect()
}

const SIZES: [usize; 15] = [0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 257, 4095, 4097, 16_411, 70_001];

/// Inputs of n keys below `bins` and beyond: random, all equal, sorted, every 32nd bin, few distinct, largest keys.
fn inputs(n: usize, bins: u32) -> Vec<Vec<u32>> {
    let random = words(n);
    let beyond = bins as u64 + bins as u64 / 8 + 1;
    vec![
        random.iter().map(|&w| ((w as u64 * beyond) >> 32) as u32).collect(),
        vec![bins - 1; n],
        (0..n).map(|i| (i as u64 * bins as u64 / n as u64) as u32).collect(),
        random.iter().map(|&w| w % bins / 32 * 32).collect(),
        random.iter().map(|&w| [0, 1, bins / 2][w as usize % 3]).collect(),
        random.iter().map(|&w| if w % 2 == 0 { u32::MAX } else { bins - 1 }).collect(),
    ]
}

fn check_u32(run: impl Fn(&[u32], u32) -> Vec<u32>, sizes: &[usize]) {
    for &n in sizes {
        for bins in [1, 2, 31, 33, 256, 513, 1537, MAX_BINS] {
            for (which, keys) in inputs(n, bins).iter().enumerate() {
                assert!(run(keys, bins) == oracle(keys, bins), "n = {n}, {bins} bins, input {which}");
            }
        }
    }
}

fn check_u8(run: impl Fn(&[u8], u32) -> Vec<u32>, sizes: &[usize]) {
    for &n in sizes {
        for bins in [256, 10, 300] {
            for (which, keys) in inputs(n, 256).iter().enumerate() {
                let keys: Vec<u8> = keys.iter().map(|&k| k as u8).collect();
                assert!(run(&keys, bins) == oracle(&keys, bins), "n = {n}, {bins} bins, input {which}");
            }
        }
    }
}

#[test]
fn global_atomics() {
    use r1_global_atomics::*;
    let grid = |n: usize| grid(n as u32, MULTIPROCESSORS);
    check_u32(|k, b| adding(histogram_global_atomics::<u32>::default(), grid(k.len()), 0, k, b), &SIZES[..14]);
    check_u8(|k, b| adding(histogram_global_atomics::<u8>::default(), grid(k.len()), 0, k, b), &SIZES);
}

#[test]
fn shared_atomics() {
    use r2_shared_atomics::*;
    let at = |n: usize, bins: u32| (grid(n as u32, MULTIPROCESSORS), shared_bytes(bins));
    let u32s = |k: &[u32], b: u32| {
        let (grid, shared) = at(k.len(), b);
        adding(histogram_shared_atomics::<u32>::default(), grid, shared, k, b)
    };
    let u8s = |k: &[u8], b: u32| {
        let (grid, shared) = at(k.len(), b);
        adding(histogram_shared_atomics::<u8>::default(), grid, shared, k, b)
    };
    check_u32(u32s, &SIZES[..14]);
    check_u8(u8s, &SIZES);
}

#[test]
fn warp_tables() {
    use r3_warp_tables::*;
    let at = |n: usize, bins: u32| (grid(n as u32, MULTIPROCESSORS), shared_bytes(bins));
    let u32s = |k: &[u32], b: u32| {
        let (grid, shared) = at(k.len(), b);
        adding(histogram_warp_tables::<u32>::default(), grid, shared, k, b)
    };
    let u8s = |k: &[u8], b: u32| {
        let (grid, shared) = at(k.len(), b);
        adding(histogram_warp_tables::<u8>::default(), grid, shared, k, b)
    };
    check_u32(u32s, &SIZES[..14]);
    check_u8(u8s, &SIZES);
    assert_eq!((tables(256), tables(1536), tables(1537), tables(MAX_BINS)), (8, 8, 7, 3));
}

#[test]
fn bank_private_tables() {
    use r4_bank_private::*;
    check_u32(|k, b| bank_private(histogram_bank_private::<u32>::default(), k, 0, b), &SIZES[..14]);
    check_u8(|k, b| bank_private(histogram_bank_private::<u8>::default(), k, 0, b), &SIZES);
    assert_eq!([0, 1, 2048, 2049, 1 << 18, 1 << 20, u32::MAX].map(|n| grid::<u8>(n, 132)), [1, 1, 1, 2, 128, 264, 264]);
    assert_eq!(grid::<u32>(u32::MAX, 132), 264);
    assert_eq!(
        (shared_bytes::<u8>(256), shared_bytes::<u32>(512), shared_bytes::<u32>(4096)),
        (32 << 10, 65536, 65536)
    );
}

#[test]
fn bank_private_at_every_alignment() {
    use r4_bank_private::*;
    for start in 0..16 {
        for n in [0, 1, 3, 15, 16, 17, 40, 5003] {
            let keys: Vec<u8> = words(n).iter().map(|&w| (w >> 24) as u8).collect();
            let got = bank_private(histogram_bank_private::<u8>::default(), &keys, start, 256);
            assert!(got == oracle(&keys, 256), "n = {n} at {start}");
            let keys: Vec<u32> = keys.iter().map(|&k| k as u32).collect();
            let got = bank_private(histogram_bank_private::<u32>::default(), &keys, start, 200);
            assert!(got == oracle(&keys, 200), "n = {n} words at {start}");
        }
    }
}
