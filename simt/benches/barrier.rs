//! The cost of the simulator on one core: the time for one thread to pass one barrier, and for one access to memory.
//!
//! Criterion reports elements per second; an element is one thread passing one barrier, or one access, so 25 million
//! per second are 40 ns.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simt::atomic::{Order, Scope};
use simt::sim::{Options, launch};
use simt::{Global, kernel, shared, thread};

const THREADS: u32 = 512;
const ROUNDS: u32 = 1000;

shared!(CELLS: [u32; THREADS + 1]);

#[kernel]
fn barriers_alone(_out: Global<u32>) {
    (0..ROUNDS).for_each(|_| thread::sync_threads());
}

#[kernel]
fn barriers_between_accesses(out: Global<u32>) {
    let (t, cells) = (thread::thread_idx_x(), CELLS::view());
    cells.set(t, t);
    (0..ROUNDS / 2).for_each(|_| {
        thread::sync_threads(); // all cells are written before a neighbour reads one
        let neighbour = cells.get((t + 1) % THREADS);
        thread::sync_threads(); // all cells are read before one is written
        cells.set(t, neighbour);
    });
    out.set(t, cells.get(t));
}

/// Reads a word of global memory and writes it to shared memory, again and again.
#[kernel]
fn accesses_alone(data: Global<u32>) {
    let (t, cells) = (thread::thread_idx_x(), CELLS::view());
    (0..ROUNDS / 2).for_each(|i| cells.set(t, data.get((t + i) % THREADS)));
    data.set(t, cells.get(t));
}

/// Adds to a word of global memory, again and again.
#[kernel]
fn atomics_alone(data: Global<u32>) {
    (0..ROUNDS).for_each(|_| {
        data.fetch_add(thread::thread_idx_x(), 1, Order::Relaxed, Scope::Device);
    });
}

fn barriers(c: &mut Criterion) {
    let mut out = vec![0u32; THREADS as usize];
    // SAFETY: the words outlive the launches.
    let view = unsafe { Global::from_raw(out.as_mut_ptr(), THREADS) };
    let options = Options { workers: 1 };
    let mut group = c.benchmark_group("thread passes barrier");
    group.throughput(Throughput::Elements((THREADS * ROUNDS) as u64)).sample_size(20);
    let (grid, block) = ([1, 1, 1], [THREADS, 1, 1]);
    group.bench_function("alone", |b| b.iter(|| launch(barriers_alone, grid, block, 0, (view,), options).unwrap()));
    group.bench_function("between accesses of shared memory", |b| {
        b.iter(|| launch(barriers_between_accesses, grid, block, 0, (view,), options).unwrap());
    });
    group.finish();
    let mut group = c.benchmark_group("access");
    group.throughput(Throughput::Elements((THREADS * ROUNDS) as u64)).sample_size(20);
    group.bench_function("plain", |b| b.iter(|| launch(accesses_alone, grid, block, 0, (view,), options).unwrap()));
    group.bench_function("atomic", |b| b.iter(|| launch(atomics_alone, grid, block, 0, (view,), options).unwrap()));
    group.finish();
}

criterion_group!(benches, barriers);
criterion_main!(benches);
