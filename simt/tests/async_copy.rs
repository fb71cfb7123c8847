//! Asynchronous copies on the simulator: groups, zeros outside, and what a missing wait shows.

use simt::sim::{LaunchError, Options, launch};
use simt::{Global, Kernel, async_copy, kernel, shared, thread};

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [1; 3], [threads, 1, 1], 0, args, Options::default())
}

/// 16-byte aligned words.
#[repr(align(16))]
struct Aligned<T>([T; 64]);

shared!(TILE: [u32; 64]);
shared!(LONGS: [u64; 4]);

/// Each thread copies three packs in three groups, and notes what is there after each wait.
#[kernel]
fn groups(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread::thread_idx_x(), TILE::view());
    for group in 0..3 {
        tile.set(t * 16 + group * 4, 99);
        async_copy::pack(tile, t * 4 + group, input, t * 4 + group, 4);
        async_copy::commit();
    }
    let note = |at: u32| (0..3).for_each(|group| output.set(t * 16 + at * 4 + group, tile.get(t * 16 + group * 4)));
    note(0);
    async_copy::wait::<2>();
    note(1);
    async_copy::wait::<1>();
    note(2);
    async_copy::wait::<0>();
    note(3);
}

#[test]
fn a_group_is_there_when_it_has_been_waited_for_and_not_before() {
    let mut input = Aligned(std::array::from_fn(|i| i as u32));
    let mut output = Aligned([0; 64]);
    run(groups, 4, (view(&mut input.0), view(&mut output.0))).unwrap();
    for t in 0..4u32 {
        for arrived in 0..4u32 {
            for group in 0..3u32 {
                let want = if group < arrived { t * 16 + group * 4 } else { 99 };
                assert_eq!(output.0[(t * 16 + arrived * 4 + group) as usize], want, "{t} {arrived} {group}");
            }
        }
    }
}

/// Copies with parts outside; an element that is outside may have any index.
#[kernel]
fn edges(input: Global<u32>, longs: Global<u64>, output: Global<u64>) {
    let (tile, wide) = (TILE::view(), LONGS::view());
    for inside in 0..5 {
        async_copy::pack(tile, inside, input, if inside == 0 { u32::MAX } else { 1 }, inside);
    }
    async_copy::element(tile, 20, input, 7, true);
    async_copy::element(tile, 21, input, u32::MAX, false);
    async_copy::element(wide, 2, longs, 1, true);
    async_copy::element(wide, 3, longs, 1, false);
    async_copy::commit();
    async_copy::wait::<0>();
    (0..22).for_each(|i| output.set(i, tile.get(i).into()));
    (2..4).for_each(|i| output.set(20 + i, wide.get(i)));
}

#[test]
fn what_is_outside_becomes_zero() {
    let mut input = Aligned(std::array::from_fn(|i| i as u32 + 100));
    let mut longs = [u64::MAX, u64::MAX - 1];
    let mut output = [7u64; 24];
    run(edges, 1, (view(&mut input.0[..8]), view(&mut longs), view(&mut output))).unwrap();
    let mut want: Vec<u64> = (0..5u64).flat_map(|n| (0..4).map(move |i| if i < n { 104 + i } else { 0 })).collect();
    want.extend([107, 0, u64::MAX - 1, 0]);
    assert_eq!(output[..], want);
}

#[kernel]
fn reads_outside(input: Global<u32>) {
    async_copy::element(TILE::view(), 0, input, 64, true);
}

#[kernel]
fn half_a_pack_too_much(input: Global<u32>) {
    async_copy::pack(TILE::view(), 0, input.slice(0, 6), 1, 3);
}

#[kernel]
fn writes_outside(input: Global<u32>) {
    async_copy::element(TILE::view().slice(0, 8), 8, input, 0, false);
}

#[kernel]
fn unaligned(input: Global<u32>) {
    async_copy::pack(TILE::view(), 0, input.slice(1, 8), 0, 4);
}

#[test]
fn misuse_is_reported_where_the_copy_is_started() {
    fn fault<K: Kernel<Args = (Global<u32>,)>>(kernel: K) -> String {
        let mut data = Aligned([0; 64]);
        match run(kernel, 1, (view(&mut data.0),)) {
            Err(LaunchError::Fault(f)) => {
                assert!(f.location().contains("async_copy.rs:"), "{f}");
                f.what
            }
            other => panic!("{} gave {other:?}", K::NAME),
        }
    }
    assert!(fault(reads_outside).contains("global index 64"));
    assert!(fault(half_a_pack_too_much).contains("global index 7"));
    assert!(fault(writes_outside).contains("shared index 8"));
    assert!(fault(unaligned).contains("not aligned to 16"));
}
