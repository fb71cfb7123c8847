//! The program of docs/from-thrust.md, which holds the lines between the marks as they are here.

use rungs::Operation;
use rungs::Result;
use rungs::engine::{DeviceChoice, Engine};
use rungs::vec::DeviceVec;

/// Heights around 170 cm, normally distributed (sums of twelve draws), in whole centimetres, so that heights repeat.
fn drawn(n: usize) -> Vec<i32> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    (0..n).map(|_| (170.0 + 8.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).round() as i32).collect()
}

#[test]
fn the_page_s_program_does_what_the_host_does() -> Result<()> {
    for n in [0, 1, 9, 1009, 20_011] {
        let (drawn_heights, paid) = (drawn(n), (0..n).map(|i| (i % 100) as f32).collect::<Vec<_>>());
        // begin
        let engine = Engine::open(DeviceChoice::Auto)?; // a GPU, or else the simulator
        let mut heights = DeviceVec::from_slice(&engine, &drawn_heights)?;
        let mut people = DeviceVec::generate(&engine, n, |i| i as u32)?;

        // The largest ten.
        let tallest = heights.top_k(n.min(10))?.to_vec()?;

        // Sorted with their indices.
        heights.sort_with(&mut people)?;

        // Duplicates removed. The number stays on the device until `to_vec` asks for it.
        let distinct = heights.unique()?.to_vec()?;

        // Sums by key: what the people of each height have paid, and the running sums inside each height.
        let fees = DeviceVec::from_slice(&engine, &paid)?.gather(&people)?;
        let (_, sums) = heights.reduce_by_key(&fees, Operation::Sum)?;
        let running = heights.scan_by_key(&fees, Operation::Sum, false)?;

        // Least and greatest in one read, and where the greatest is.
        let (range, first_tallest) = (heights.min_max()?, heights.arg_max()?);
        // end

        let mut want: Vec<(i32, u32)> = drawn_heights.iter().copied().zip(0..n as u32).collect();
        want.sort(); // equal heights by index, as a stable sort leaves them
        let (sorted, indices): (Vec<i32>, Vec<u32>) = want.into_iter().unzip();
        assert_eq!((heights.to_vec()?, people.to_vec()?), (sorted.clone(), indices.clone()), "{n}");
        assert_eq!(tallest, sorted.iter().rev().take(10).copied().collect::<Vec<_>>(), "{n}");
        let runs: Vec<&[i32]> = sorted.chunk_by(|a, b| a == b).collect();
        assert_eq!(distinct, runs.iter().map(|run| run[0]).collect::<Vec<_>>(), "{n}");
        let (mut begin, mut want_sums, mut want_running) = (0, vec![], vec![]);
        for run in &runs {
            let mut sum = 0.0;
            for &index in &indices[begin..begin + run.len()] {
                sum += paid[index as usize];
                want_running.push(sum);
            }
            want_sums.push(sum);
            begin += run.len();
        }
        // Whole numbers below 2^24: every sum is exact, in any order.
        assert_eq!((sums.to_vec()?, running.to_vec()?), (want_sums, want_running), "{n}");
        assert_eq!(range, sorted.first().copied().zip(sorted.last().copied()), "{n}");
        assert_eq!(first_tallest, runs.last().map(|run| n - run.len()), "{n}");
    }
    Ok(())
}

#[test]
fn the_page_has_the_program() {
    crate::assert_page_has("from-thrust.md", include_str!("from_thrust.rs"));
}
