//! The graph patterns of the Indigo suite, all 590 programs of its selection that HiRace is judged by: six patterns, by
//! edge, thread, warp and block, with every combination of options and planted bugs. The names are the suite's.

use simt::atomic::{Order, Scope};
use simt::{Global, kernel, shared, thread, warp};

#[cfg(not(target_os = "cuda"))]
mod cases;
#[cfg(not(target_os = "cuda"))]
pub use cases::{SUITE, cases};

shared!(TREE: [u32; BLOCK]);
shared!(WARPS: [u32; 32]);

const BLOCK: u32 = 64;

// What a program is made of.
const SHUFFLE: u32 = 1;
const RACE: u32 = 1 << 1;
const TRAVERSE: u32 = 1 << 2;
const PERSISTENT: u32 = 1 << 3;
const BOUNDS: u32 = 1 << 4;
const LAST: u32 = 1 << 5;
const REVERSE: u32 = 1 << 6;
const CONDITION: u32 = 1 << 7;
const SYNC: u32 = 1 << 8;
const GUARD: u32 = 1 << 9;
const ATOMIC: u32 = 1 << 10;
const BREAK: u32 = 1 << 11;

// The pattern: the largest value over all edges, the number of edges, a list of edges, and values pulled or pushed.
const EDGE: u32 = 1 << 12;
const VERTEX: u32 = 1 << 13;
const WORKLIST: u32 = 1 << 14;
const PULL: u32 = 1 << 15;
const PUSH: u32 = 1 << 16;

// What goes over the neighbours of a vertex: a thread over one or all, a warp, a block.
const MANY: u32 = 1 << 17;
const WARP: u32 = 1 << 18;
const WHOLE_BLOCK: u32 = 1 << 19;

/// Every vertex learns the root of its tree: into the tree itself, or into an array of roots.
#[kernel]
fn path_compression(parents: Global<u32>, roots: Global<u32>, how: u32) {
    let (relaxed, device) = (Order::Relaxed, Scope::Device);
    let mut i = thread::index_1d();
    while i < parents.len() {
        let parent = |v| match how & (RACE | TRAVERSE) {
            0 => parents.load(v, relaxed, device),
            _ => parents.get(v), // [race]
        };
        let mut v = i;
        while v > parent(v) {
            v = parent(v);
        }
        match how & (RACE | TRAVERSE) {
            0 => parents.store(i, v, relaxed, device),
            RACE => parents.set(i, v), // [race]
            _ => roots.set(i, v),
        }
        if how & PERSISTENT == 0 {
            break;
        }
        i += thread::grid_threads_1d();
    }
}

/// Goes over the neighbours of every vertex, as `how` says.
#[kernel]
fn neighbours(index: Global<u32>, list: Global<u32>, data1: Global<u32>, data2: Global<u32>, how: u32) {
    let is = |flags: u32| how & flags == flags;
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (mut v, stride, first, width) = if is(WHOLE_BLOCK) {
        (thread::block_idx_x(), thread::grid_dim_x(), t, BLOCK)
    } else if is(WARP) {
        (thread::index_1d() / 32, thread::grid_threads_1d() / 32, lane, 32)
    } else {
        (thread::index_1d(), thread::grid_threads_1d(), 0, 1)
    };
    let alone = !is(WARP) && !is(WHOLE_BLOCK);
    while v + 1 < index.len() || is(MANY | BOUNDS) {
        if is(WHOLE_BLOCK) {
            thread::sync_threads(); // the sums of the vertex before have been read
        }
        let (from, to) = (index.get(v), index.get(v + 1)); // [bounds]
        let act = |j, next| match how & (EDGE | VERTEX | WORKLIST | PUSH) {
            EDGE => raise(data1, data2.get(next), how),
            VERTEX => count(data1, 1, how),
            WORKLIST => append(data1, data2, j, how),
            _ => push(data1, next, data2.get(v), how),
        };
        let mut sum = 0;
        let rounds = match is(MANY) {
            true => (to - from).div_ceil(width),
            false => (from < to || is(BOUNDS)) as u32,
        };
        for round in 0..rounds {
            let k = round * width + first;
            let backwards = is(REVERSE) || is(LAST);
            let j = if backwards { to.wrapping_sub(1 + k) } else { from + k };
            let inside = !is(MANY) || k < to - from;
            let next = if inside { list.get(j) } else { v }; // [bounds]
            let taken = inside && (v < next || how & (CONDITION | VERTEX | WORKLIST) == 0);
            if is(VERTEX) && is(WHOLE_BLOCK) {
                sum += thread::sync_threads_count(taken);
            } else if is(VERTEX | WARP) {
                sum += warp::ballot(warp::FULL, taken).count_ones();
            } else if taken && (is(PULL) || is(EDGE) && !alone) {
                sum = joined(sum, data2.get(next), how);
            } else if taken {
                act(j, next);
            }
            if taken && is(BREAK) {
                break;
            }
        }
        if how & (EDGE | PULL) != 0 && !alone {
            sum = if is(WARP) { of_warp(sum, how) } else { of_block(sum, how) };
        }
        if first == 0 && is(PULL) {
            data1.set(v, data1.get(v) + sum);
        } else if first == 0 && !alone && is(EDGE) {
            raise(data1, sum, how);
        } else if first == 0 && !alone && is(VERTEX) {
            count(data1, sum, how);
        }
        if !is(PERSISTENT) {
            break;
        }
        v += stride;
    }
}

/// The larger of both along edges, and their sum where a vertex pulls.
fn joined(a: u32, b: u32, how: u32) -> u32 {
    if how & EDGE != 0 { a.max(b) } else { a + b }
}

fn of_warp(mut value: u32, how: u32) -> u32 {
    for lanes in [16, 8, 4, 2, 1] {
        value = joined(value, warp::shuffle_xor(warp::FULL, value, lanes), how);
    }
    value
}

/// The value of all threads, which thread 0 gets.
fn of_block(value: u32, how: u32) -> u32 {
    let t = thread::thread_idx_x();
    if how & SHUFFLE != 0 {
        let (value, warps) = (of_warp(value, how), WARPS::view());
        if t.is_multiple_of(32) {
            warps.set(t / 32, value);
        }
        thread::sync_threads(); // the warps' values are there
        return if t == 0 { joined(warps.get(0), warps.get(1), how) } else { 0 };
    }
    let tree = TREE::view();
    tree.set(t, value); // [sync]
    if how & SYNC == 0 {
        thread::sync_threads(); // the leaves are there
    }
    let mut half = BLOCK / 2;
    while half > 0 {
        if t < half {
            tree.set(t, joined(tree.get(t), tree.get(t + half), how)); // [sync]
        }
        thread::sync_threads(); // a level is there before the next reads it
        half /= 2;
    }
    if t == 0 { tree.get(0) } else { 0 }
}

fn raise(largest: Global<u32>, value: u32, how: u32) {
    let enough = || largest.get(0) >= value; // [guard]
    if how & GUARD != 0 && enough() {
        return;
    }
    if how & ATOMIC != 0 {
        largest.set(0, largest.get(0).max(value)); // [atomic]
    } else {
        largest.fetch_max(0, value, Order::Relaxed, Scope::Device);
    }
}

fn count(counter: Global<u32>, by: u32, how: u32) {
    if how & ATOMIC != 0 {
        counter.set(0, counter.get(0) + by); // [atomic]
    } else {
        counter.fetch_add(0, by, Order::Relaxed, Scope::Device);
    }
}

fn append(items: Global<u32>, end: Global<u32>, item: u32, how: u32) {
    let place = if how & ATOMIC != 0 {
        let place = end.get(0); // [atomic]
        end.set(0, place + 1); // [atomic]
        place
    } else {
        end.fetch_add(0, 1, Order::Relaxed, Scope::Device)
    };
    items.set(place, item);
}

fn push(values: Global<u32>, to: u32, value: u32, how: u32) {
    if how & ATOMIC != 0 {
        values.set(to, values.get(to).min(value)); // [atomic]
    } else {
        values.fetch_min(to, value, Order::Relaxed, Scope::Device);
    }
}
