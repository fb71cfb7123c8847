//! Segmented reductions on the simulator, against the host's.

use rungs_common::operator::Operation;
use rungs_segments::reduce::{IN_LANE, PIECE, SHORT, SegmentReduces};
use rungs_testing::{Buffer, Element, random, same, with_multiprocessors};
use simt::launcher::Launcher;
use simt::sim::{Check, check as check_races};

/// Offsets of segments of these lengths that follow one another from `first` on.
fn offsets(first: u32, lens: &[u32]) -> Vec<u32> {
    let ends = lens.iter().scan(first, |end, len| {
        *end += len;
        Some(*end)
    });
    [first].into_iter().chain(ends).collect()
}

/// The results, after checks of what must not be written.
fn reduced<T: Element + SegmentReduces>(operation: Operation, data: &[T], offsets: &[u32]) -> Vec<T> {
    let on: &dyn Launcher = &with_multiprocessors(2);
    let (mut input, mut at) = (Buffer::new(data, 1), Buffer::new(offsets, 3));
    let mut output = Buffer::poisoned(offsets.len().saturating_sub(1), 1);
    T::segmented_reduce(on, operation, input.view(), at.view(), output.view()).unwrap();
    let what = format!("{operation:?}, n = {}", data.len());
    output.check_guards(&what);
    input.check_guards(&what);
    at.check_guards(&what);
    assert!(input.slice().iter().zip(data).all(|(&a, &b)| same(a, b)), "{what}: wrote to the input");
    output.slice().to_vec()
}

fn check<T: Element + SegmentReduces>(lens: &[u32]) {
    let offsets = offsets(2, lens);
    let data: Vec<T> = (0..u64::from(offsets[lens.len()]) + 3).map(|i| T::of(random(i))).collect();
    for operation in Operation::ALL {
        let got = reduced(operation, &data, &offsets);
        for (i, pair) in offsets.windows(2).enumerate() {
            let segment = &data[pair[0] as usize..pair[1] as usize];
            // Sums of the floats here are exact, in any order.
            let want = segment.iter().fold(T::identity(operation), |a, &b| T::combine(operation, a, b));
            let len = segment.len();
            assert!(same(got[i], want), "{operation:?} of {len}: {:?} instead of {want:?}, segment {i}", got[i]);
        }
    }
}

/// [`check`] of all types.
fn check_all(lens: &[u32]) {
    check::<u32>(lens);
    check::<i32>(lens);
    check::<f32>(lens);
    check::<u64>(lens);
    check::<i64>(lens);
    check::<f64>(lens);
}

#[test]
fn every_length() {
    let around = |n: u32| [n - 1, n, n + 1];
    let mut lens = vec![0, 0, 1, 2, 31, 32, 33, 1009, 3 * PIECE + 7, 33 * PIECE];
    [IN_LANE, 64, SHORT, PIECE, 2 * PIECE].into_iter().for_each(|n| lens.extend(around(n)));
    lens.sort_by_key(|&n| random(n.into()));
    check_all(&lens);
    lens.into_iter().filter(|&len| len <= 1009).for_each(|len| check_all(&[len]));
}

#[test]
fn shapes() {
    let draw = |count: u64, most: u64| (0..count).map(|i| (random(i) % most) as u32).collect::<Vec<_>>();
    check_all(&[]);
    check_all(&vec![0; 700]);
    check_all(&draw(3000, 4));
    check_all(&draw(900, 65));
    check_all(&draw(50, 2000));
    check_all(&[draw(40, 5), vec![50_021], draw(40, 5)].concat());
}

/// Offsets beyond the end count as the end; where they descend, nothing else than the output is written.
#[test]
fn offsets_that_are_wrong() {
    let data: Vec<u32> = (0..30_000).collect();
    assert_eq!(reduced(Operation::Max, &data, &[29_990, u32::MAX, u32::MAX]), [29_999, 0]);
    assert_eq!(reduced(Operation::Sum, &data, &[20, 10, 5]), [0, 0]);
    for period in [2, 3, 7] {
        let offsets: Vec<u32> = (0..300).map(|i| (random(i % period) % 40_000) as u32).collect();
        reduced(Operation::Sum, &data, &offsets);
    }
}

#[test]
fn nothing_races() {
    let offsets = offsets(1, &[0, 3, 20, 100, 300, 2 * PIECE + 5, 0, 4000]);
    let data: Vec<u64> = (0..u64::from(offsets[8])).map(random).collect();
    let schedules = Check { schedules: 3, ..Check::default() };
    let checked = check_races(schedules, || reduced(Operation::Sum, &data, &offsets));
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    let sum = |pair: &[u32]| data[pair[0] as usize..pair[1] as usize].iter().fold(0u64, |a, &b| a.wrapping_add(b));
    let want: Vec<u64> = offsets.windows(2).map(sum).collect();
    checked.results.iter().for_each(|got| assert_eq!(got, &want));
}
