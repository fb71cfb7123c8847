//! What the tests of the families share: launches on the simulator, and keys of every kind.
#![allow(dead_code, reason = "each test file uses a part")]

use simt::sim::{LaunchError, Options, launch};
use simt::{Global, Kernel, Scalar};

/// A view of a vector, for a launch that ends before the vector is used again.
pub fn view<T: Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

/// Runs a kernel on the simulator; an empty grid is nothing to do, as for the host.
pub fn run<K: Kernel>(k: K, grid: u32, block: u32, shared: u32, args: K::Args) {
    try_run(k, grid, block, shared, args).unwrap_or_else(|e| panic!("{e}"));
}

/// As [`run`], and gives the error back.
pub fn try_run<K: Kernel>(k: K, grid: u32, block: u32, shared: u32, args: K::Args) -> Result<(), LaunchError> {
    if grid == 0 {
        return Ok(());
    }
    launch(k, [grid, 1, 1], [block, 1, 1], shared, args, Options::default())
}

/// Numbers that look random, the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Arrays of `n` keys that sorting kernels get wrong: by name.
pub fn inputs(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(n as u64);
    let mut any = |f: &dyn Fn(u64) -> u64| (0..n).map(|_| f(random.next())).collect::<Vec<_>>();
    vec![
        ("random", any(&|r| r)),
        ("few distinct", any(&|r| r % 3)),
        ("all equal", vec![0x1234_5678; n]),
        ("all largest", vec![u64::MAX; n]),
        ("largest and smallest", any(&|r| if r & 1 == 0 { u64::MAX } else { 0 })),
        ("sorted", (0..n as u64).map(|i| i * i).collect()),
        ("reversed", (0..n as u64).rev().map(|i| u64::MAX - n as u64 + i).collect()),
    ]
}

/// The low halves, as keys of 32 bits.
pub fn narrow(keys: &[u64]) -> Vec<u32> {
    keys.iter().map(|&k| k as u32).collect()
}

/// Panics unless `sort` makes the keys what the standard library makes of them.
pub fn check_sort<T: Scalar + Ord + std::fmt::Debug>(what: &str, keys: &[T], sort: impl FnOnce(&mut [T])) {
    let mut got = keys.to_vec();
    sort(&mut got);
    if let Some(difference) = difference(keys, &got) {
        panic!("{what}, n = {}: {difference}", keys.len());
    }
}

/// Where `got` is not `keys` as the standard library sorts them.
pub fn difference<T: Scalar + Ord + std::fmt::Debug>(keys: &[T], got: &[T]) -> Option<String> {
    let mut want = keys.to_vec();
    want.sort_unstable();
    let i = (0..want.len()).find(|&i| got[i] != want[i])?;
    Some(format!("place {i} holds {:?} instead of {:?}", got[i], want[i]))
}
