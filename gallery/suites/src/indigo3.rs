//! The planted bugs of Indigo3 in its seven graph algorithms, as its generator combines them: by thread, warp and
//! block, with one worker for a vertex and with a persistent grid, for two types of numbers. The algorithms are those
//! over vertices that look at all of them and push to neighbours; names are made of the suite's.

use core::ops::Add;
use simt::atomic::{Order, Scope};
use simt::{AtomicScalar, Global, kernel, shared, thread, warp};

#[cfg(not(target_os = "cuda"))]
mod cases;
#[cfg(not(target_os = "cuda"))]
pub use cases::{SUITE, cases};

shared!(SUMS: [u64; 32]);

const BLOCK: u32 = 64;

/// A number of a graph: a distance, a label, a weight, a score.
trait Value: AtomicScalar + Add<Output = Self> {
    const MOST: Self;
    fn of(n: u32) -> Self;
}

macro_rules! values {
    ($($t:ident),*) => {$(
        impl Value for $t {
            const MOST: Self = $t::MAX;
            fn of(n: u32) -> Self {
                n as $t
            }
        }
    )*};
}
values!(u32, u64, f32, f64);

// Algorithms.
const BFS: u32 = 1;
const CC: u32 = 1 << 1;
const SSSP: u32 = 1 << 2;
const MIS: u32 = 1 << 3;
const MST: u32 = 1 << 4;
const PR: u32 = 1 << 5;
const TC: u32 = 1 << 6;
const RELAXES: u32 = BFS | CC | SSSP;

// Options.
const WARP: u32 = 1 << 8;
const WHOLE_BLOCK: u32 = 1 << 9;
const PERSIST: u32 = 1 << 10;
const READ_WRITE: u32 = 1 << 11;
const BLOCK_ADD: u32 = 1 << 12;
const REDUCTION: u32 = 1 << 13;

// Bugs.
const RACE: u32 = 1 << 16;
const BOUNDS: u32 = 1 << 17;
const EXCESS: u32 = 1 << 18;
const NEIGHBOUR: u32 = 1 << 19;
const FIELD: u32 = 1 << 20;
const SYNC: u32 = 1 << 22;

/// One round of an algorithm.
#[kernel(instances([u32, u64, f32, f64]))]
fn graph<T: Value>(
    index: Global<u32>,
    list: Global<u32>,
    weights: Global<T>,
    values: Global<T>,
    other: Global<T>,
    flags: Global<u32>,
    how: u32,
) {
    let is = |flags: u32| how & flags != 0;
    let t = thread::thread_idx_x();
    let (mut v, stride, first, width) = if is(WHOLE_BLOCK) {
        (thread::block_idx_x(), thread::grid_dim_x(), t, BLOCK)
    } else if is(WARP) {
        (thread::index_1d() / 32, thread::grid_threads_1d() / 32, warp::lane_id(), 32)
    } else {
        (thread::index_1d(), thread::grid_threads_1d(), 0, 1)
    };
    let sums = SUMS::view().cast::<T>();
    if is(BLOCK_ADD) {
        if t == 0 {
            sums.set(0, T::of(0)); // [sync]
        }
        if !is(SYNC) {
            thread::sync_threads(); // the sum is zero before threads add to it
        }
    }
    let end = (if is(FIELD) { list.len() } else { index.len() - 1 }) + is(BOUNDS) as u32;
    let mut sum = T::of(0);
    while v < end || is(EXCESS) {
        let (from, to) = (index.get(v), index.get(v + 1)); // [bounds]
        if is(MIS) {
            independent(index, list, values, (v, first, width), how);
        } else {
            let mut e = from + first;
            while e < to || is(NEIGHBOUR) && e == to {
                let next = list.get(e); // [neighbour]
                match how & (MST | PR | TC) {
                    0 => relax(values, flags, (v, next), weights.get(e), how),
                    MST => lightest(weights, other, (v.min(next), e), how),
                    PR => {
                        add(other, next, values.get(v), how);
                        sum = sum + values.get(v);
                    }
                    _ => sum = sum + T::of(common(index, list, v, next)),
                }
                e += width;
            }
        }
        if !is(PERSIST) {
            break;
        }
        v += stride;
    }
    if is(TC | PR) {
        // PageRank adds its errors up as triangles are counted.
        total(weights, sum, if is(PR) { how & !RACE } else { how });
    }
}

/// A shorter way to `next`, if the one over `v` is.
fn relax<T: Value>(values: Global<T>, flags: Global<u32>, (v, next): (u32, u32), weight: T, how: u32) {
    let (relaxed, device) = (Order::Relaxed, Scope::Device);
    let known = if how & RACE != 0 { values.get(v) } else { values.load(v, relaxed, device) }; // [race]
    if known == T::MOST {
        return;
    }
    let new = match how & RELAXES {
        BFS => known + T::of(1),
        CC => known,
        _ => known + weight,
    };
    if how & RACE != 0 {
        let old = values.get(next); // [race]
        if old > new {
            values.set(next, new); // [race]
            flags.set(0, 1); // [race]
        }
    } else if how & READ_WRITE != 0 {
        if values.load(next, relaxed, device) > new {
            values.store(next, new, relaxed, device);
            flags.store(0, 1, relaxed, device);
        }
    } else if values.fetch_min(next, new, relaxed, device) > new {
        flags.store(0, 1, relaxed, device);
    }
}

/// Takes `v` into the set, and its neighbours out, if `v` has the highest number of those that may still come in.
fn independent<T: Value>(
    index: Global<u32>,
    list: Global<u32>,
    status: Global<T>,
    (v, first, width): (u32, u32, u32),
    how: u32,
) {
    const OUT: u32 = 100;
    let (relaxed, device) = (Order::Relaxed, Scope::Device);
    let get = |v| match how & RACE {
        0 => status.load(v, relaxed, device), // [uninitialised]
        _ => status.get(v),                   // [race]
    };
    let set = |v, value| match how & RACE {
        0 => status.store(v, value, relaxed, device),
        _ => status.set(v, value), // [race]
    };
    let (from, to) = (index.get(v), index.get(v + 1));
    let mine =
        first == 0 && get(v) != T::of(OUT) && (from..to).map(|e| list.get(e)).all(|n| n < v || get(n) == T::of(OUT));
    let taken = match how & (WARP | WHOLE_BLOCK) {
        0 => mine,
        WARP => warp::any(warp::FULL, mine),
        _ => thread::sync_threads_or(mine),
    };
    if taken {
        (from + first..to).step_by(width as usize).for_each(|e| set(list.get(e), T::of(OUT)));
    }
}

/// The lightest edge of a part of the graph, by a loop that compares and exchanges.
fn lightest<T: Value>(weights: Global<T>, edges: Global<T>, (part, edge): (u32, u32), how: u32) {
    let (relaxed, device) = (Order::Relaxed, Scope::Device);
    let (new, nothing) = (T::of(edge), T::of(u32::MAX));
    let lighter = |than: T| than == nothing || new < than && weights.get(edge) != T::MOST;
    if how & RACE != 0 {
        let known = edges.get(part); // [race]
        if lighter(known) {
            edges.set(part, new); // [race]
        }
        return;
    }
    let mut known = edges.load(part, relaxed, device);
    while lighter(known) {
        let before = edges.compare_exchange(part, known, new, relaxed, device);
        if before == known {
            break;
        }
        known = before;
    }
}

/// Neighbours that `a` and `b` have in common.
fn common(index: Global<u32>, list: Global<u32>, a: u32, b: u32) -> u32 {
    let of = |v: u32| (index.get(v)..index.get(v + 1)).map(|e| list.get(e));
    of(a).filter(|&n| of(b).any(|m| m == n)).count() as u32
}

fn add<T: Value>(sums: Global<T>, i: u32, value: T, how: u32) {
    if how & RACE != 0 {
        sums.set(i, sums.get(i) + value); // [race]
    } else {
        sums.fetch_add(i, value, Order::Relaxed, Scope::Device);
    }
}

/// Adds what all threads have found to one word: each by itself, or the block's sum.
fn total<T: Value>(sum: Global<T>, mine: T, how: u32) {
    let (t, sums) = (thread::thread_idx_x(), SUMS::view().cast::<T>());
    match how & (BLOCK_ADD | REDUCTION) {
        0 => add(sum, 0, mine, how),
        BLOCK_ADD => {
            sums.fetch_add(0, mine, Order::Relaxed, Scope::Block); // [sync]
            thread::sync_threads(); // all threads have added
            if t == 0 {
                add(sum, 0, sums.get(0), how);
            }
        }
        _ => {
            let of_warp = [16, 8, 4, 2, 1].into_iter().fold(mine, |sum, d| sum + warp::shuffle_xor(warp::FULL, sum, d));
            if t.is_multiple_of(32) {
                sums.set(t / 32, of_warp); // [sync]
            }
            if how & SYNC == 0 {
                thread::sync_threads(); // the warps' sums are there
            }
            if t == 0 {
                let warps = thread::block_dim_x() / 32;
                add(sum, 0, (1..warps).fold(of_warp, |sum, warp| sum + sums.get(warp)), how); // [sync]
            }
        }
    }
}
