//! # Segmented reduction
//!
//! Combines the elements of each segment. The result of an empty segment is the operator's identity.
//!
//! | launch | task |
//! | --- | --- |
//! | [`segmented_reduce_short`] | combines segments of up to [`SHORT`] elements, and lists the others in pieces |
//! | [`segmented_reduce_pieces`] | a warp combines a piece |
//! | [`segmented_reduce_long`] | a warp combines the pieces of a segment |
//!
//! A thread looks at one segment. Up to [`IN_LANE`] elements it combines by itself, so that tiny segments keep all
//! lanes busy; more are for its warp, which loads neighbours together. Longer segments are cut into pieces, so that one
//! of them occupies all SMs.
//!
//! **Bottleneck.** Memory.
//!
//! **Floats.** The order of the additions depends on the length of a segment alone: the same call gives the same bits
//! in every run.

use crate::segment;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, grid, kernel, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Most elements that one thread combines.
pub const IN_LANE: u32 = 16;

/// Most elements that the warp which finds the segment combines.
pub const SHORT: u32 = 256;

/// Elements of a piece.
pub const PIECE: u32 = 4096;

/// Loads that a thread has in flight.
const LOADS: usize = 8;

/// Words of `control`, which are zero before: pieces and long segments so far.
const PIECES: u32 = 0;
const LONG: u32 = 1;

/// Words of `control`.
pub const CONTROL: u32 = 2;

/// Most pieces of `n` elements: no segment has more than one for each [`SHORT`] elements.
pub const fn pieces(n: u32) -> u32 {
    n / SHORT
}

/// Most segments of `n` elements that have several pieces.
pub const fn longs(n: u32) -> u32 {
    n / PIECE
}

/// In place of the number of a segment: the piece is one of several.
const OF_SEVERAL: u32 = u32::MAX;

/// Combines short segments into `output`, and lists the pieces of others: begin and length in `pieces`, the segment in
/// `owners`. Segments of several pieces are in `long`, as three words: the segment, its first piece, their number.
#[kernel(max_threads = BLOCK, max_spills = 8, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
#[allow(clippy::too_many_arguments, reason = "views")]
pub fn segmented_reduce_short<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    offsets: Global<u32>,
    output: Global<T>,
    control: Global<u32>,
    pieces: Global<u64>,
    owners: Global<u32>,
    long: Global<u32>,
) {
    let (number, lane) = (thread::index_1d(), warp::lane_id());
    let (begin, len) = segment(offsets, input.len(), number);
    grid::let_next_start();
    if len > SHORT {
        // The whole list of a segment or nothing: there is room unless offsets descend.
        let count = len.div_ceil(PIECE);
        let first = control.fetch_add(PIECES, count, Relaxed, Scope::Device);
        let fits = first <= pieces.len() && count <= pieces.len() - first;
        let mut i = 0;
        while fits && i < count {
            let at = i * PIECE;
            pieces.set(first + i, (begin + at) as u64 | ((len - at).min(PIECE) as u64) << 32);
            owners.set(first + i, if count > 1 { OF_SEVERAL } else { number });
            i += 1;
        }
        if fits && count > 1 {
            let place = control.fetch_add(LONG, 1, Relaxed, Scope::Device);
            if place < long.len() / 3 {
                long.set(3 * place, number);
                long.set(3 * place + 1, first);
                long.set(3 * place + 2, count);
            }
        }
    }
    if number < output.len() && len <= IN_LANE {
        let (mut sum, mut i) = (O::IDENTITY, 0);
        while i < len {
            sum = O::combine(sum, input.get(begin + i));
            i += 1;
        }
        output.set(number, sum);
    }
    let mut lanes = warp::ballot(FULL, len > IN_LANE && len <= SHORT);
    while lanes != 0 {
        let of = lanes.trailing_zeros();
        lanes &= lanes - 1;
        let (begin, len) = (warp::shuffle(FULL, begin, of), warp::shuffle(FULL, len, of));
        let sum = combine::<T, O>(input.slice(begin, len));
        if lane == of {
            output.set(number, sum);
        }
    }
}

/// What all elements of a view make; all lanes of the warp make the call and get the result.
#[simt::device]
#[track_caller]
fn combine<T: Scalar, O: Operator<T>>(input: Global<T>) -> T {
    let (mut sums, mut at) = ([O::IDENTITY; LOADS], warp::lane_id());
    while at < input.len() {
        unroll::<LOADS>(|i| {
            let place = at + i as u32 * WARP;
            if place < input.len() {
                sums[i] = O::combine(sums[i], input.get(place));
            }
        });
        at += LOADS as u32 * WARP;
    }
    let mut sum = sums[0];
    unroll::<LOADS>(|i| {
        if i > 0 {
            sum = O::combine(sum, sums[i]);
        }
    });
    O::combine_warp(sum)
}

/// Combines each piece, into `output` if it is a whole segment, else into `parts`.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
#[allow(clippy::too_many_arguments, reason = "views")]
pub fn segmented_reduce_pieces<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    control: Global<u32>,
    pieces: Global<u64>,
    owners: Global<u32>,
    parts: Global<T>,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // the list of pieces
    let (mut i, count) = (thread::index_1d() / WARP, control.get(PIECES).min(pieces.len()));
    while i < count {
        let (piece, owner) = (pieces.get(i), owners.get(i));
        let (begin, len) = (piece as u32, (piece >> 32) as u32);
        // Only if offsets descend, a segment that had no room leaves a piece that nobody wrote.
        let is_inside = begin <= input.len() && len <= input.len() - begin;
        let sum = combine::<T, O>(input.slice(if is_inside { begin } else { 0 }, if is_inside { len } else { 0 }));
        if warp::lane_id() == 0 {
            if owner == OF_SEVERAL {
                parts.set(i, sum);
            } else if owner < output.len() {
                output.set(owner, sum);
            }
        }
        i += thread::grid_threads_1d() / WARP;
    }
}

/// Combines the pieces of each segment that has several.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn segmented_reduce_long<T: Scalar, O: Operator<T>>(
    output: Global<T>,
    control: Global<u32>,
    long: Global<u32>,
    parts: Global<T>,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // all pieces
    let (mut i, count) = (thread::index_1d() / WARP, control.get(LONG).min(long.len() / 3));
    while i < count {
        let (number, first, count) = (long.get(3 * i), long.get(3 * i + 1), long.get(3 * i + 2));
        let sum = combine::<T, O>(parts.slice(first, count));
        if warp::lane_id() == 0 {
            output.set(number, sum);
        }
        i += thread::grid_threads_1d() / WARP;
    }
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = {
    use simt::Instances;
    &[
        <segmented_reduce_short as Instances>::NAMES,
        <segmented_reduce_pieces as Instances>::NAMES,
        <segmented_reduce_long as Instances>::NAMES,
    ]
};

#[cfg(not(target_os = "cuda"))]
pub use launches::SegmentReduces;

#[cfg(not(target_os = "cuda"))]
mod launches {
    use super::*;
    use rungs_common::operator::Operation;
    use simt::Geometry;
    use simt::Kernel;
    use simt::launcher::{Launcher, Result};

    /// An element type of segmented reductions.
    pub trait SegmentReduces: Scalar {
        /// Combines the elements of each segment of `input` into an element of `output`, which has as many as there are
        /// segments.
        ///
        /// # Errors
        /// [`Failed::Machine`](simt::launcher::Failed::Machine) if there is no scratch memory, or a launch fails.
        ///
        /// # Panics
        /// If `output` has another number of elements.
        fn segmented_reduce(
            on: &dyn Launcher,
            operation: Operation,
            input: Global<Self>,
            offsets: Global<u32>,
            output: Global<Self>,
        ) -> Result;
    }

    impl<T: CombinesSegments<Sum> + CombinesSegments<Min> + CombinesSegments<Max>> SegmentReduces for T {
        fn segmented_reduce(
            on: &dyn Launcher,
            operation: Operation,
            input: Global<Self>,
            offsets: Global<u32>,
            output: Global<Self>,
        ) -> Result {
            match operation {
                Operation::Sum => CombinesSegments::<Sum>::combine(on, input, offsets, output),
                Operation::Min => CombinesSegments::<Min>::combine(on, input, offsets, output),
                Operation::Max => CombinesSegments::<Max>::combine(on, input, offsets, output),
            }
        }
    }

    /// An element type of segmented reductions by the operator `O`.
    pub trait CombinesSegments<O>: Scalar {
        /// [`SegmentReduces::segmented_reduce`] by the operator.
        ///
        /// # Errors
        /// As there.
        fn combine(on: &dyn Launcher, input: Global<Self>, offsets: Global<u32>, output: Global<Self>) -> Result;
    }

    impl<T: Scalar, O: Operator<T>> CombinesSegments<O> for T
    where
        segmented_reduce_short<T, O>:
            Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, Global<u32>, Global<u32>)>,
        segmented_reduce_pieces<T, O>:
            Kernel<Args = (Global<T>, Global<T>, Global<u32>, Global<u64>, Global<u32>, Global<T>)>,
        segmented_reduce_long<T, O>: Kernel<Args = (Global<T>, Global<u32>, Global<u32>, Global<T>)>,
    {
        fn combine(on: &dyn Launcher, input: Global<T>, offsets: Global<u32>, output: Global<T>) -> Result {
            let (n, segments) = (input.len(), offsets.len().saturating_sub(1));
            assert_eq!(output.len(), segments, "an element of output for each segment");
            if segments == 0 {
                return Ok(());
            }
            let (control, list) = (on.zeros::<u32>(CONTROL)?, on.scratch::<u64>(pieces(n))?);
            let (owners, long) = (on.scratch::<u32>(pieces(n))?, on.scratch::<u32>(3 * longs(n))?);
            let parts = on.scratch::<T>(pieces(n))?;
            let (control, list, owners, long, parts) =
                (control.view(), list.view(), owners.view(), long.view(), parts.view());
            let all = Geometry::linear(segments.div_ceil(BLOCK), BLOCK);
            let short = segmented_reduce_short::<T, O>::default();
            on.launch(short, all, (input, offsets, output, control, list, owners, long))?;
            // Behind the first launch, which follows the clearing of the counters: each waits for the one before.
            let warps = |most: u32, per_sm: u32| {
                let blocks = most.div_ceil(BLOCK / WARP).min(per_sm * on.device().multiprocessors);
                Geometry::linear(blocks, BLOCK).overlapping()
            };
            if n > SHORT {
                let args = (input, output, control, list, owners, parts);
                on.launch(segmented_reduce_pieces::<T, O>::default(), warps(pieces(n), 8), args)?;
            }
            if n > PIECE {
                let args = (output, control, long, parts);
                on.launch(segmented_reduce_long::<T, O>::default(), warps(longs(n), 1), args)?;
            }
            Ok(())
        }
    }
}
