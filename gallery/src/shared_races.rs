//! Races in shared memory: two threads of a block use a word, one of them writes it, and no barrier stands between.

use crate::prelude::*;

shared!(TILE: [u32; BLOCK]);
shared!(HALVES: [u32; 2 * BLOCK]);
shared!(BINS: [u32; 16]);
shared!(ONE: [u32; 1]);
shared!(WARPS: [u32; 2]);
shared!(LEFT: [u32; SIDE * SIDE]);
shared!(RIGHT: [u32; SIDE * SIDE]);

/// Side of a square of threads.
const SIDE: u32 = 8;

/// Tiles of a loop.
const STEPS: u32 = 4;

#[kernel(instances([Planted, Fixed]))]
pub fn left_neighbour<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    if V::FIXED {
        sync_threads(); // every element is stored before a neighbour reads it
    }
    output.set(t, tile.get((t + BLOCK - 1) % BLOCK));
}

#[kernel(instances([Planted, Fixed]))]
pub fn reverse<V: Version>(keys: Global<u32>) {
    let t = thread_idx_x();
    let tile = Shared::<u32>::dynamic(0, BLOCK);
    tile.set(t, keys.get(t));
    if V::FIXED {
        sync_threads(); // the last element is stored before the first thread reads it
    }
    keys.set(t, tile.get(BLOCK - 1 - t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn shift_in_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    sync_threads(); // every element is stored before a neighbour reads it
    let next = tile.get((t + 1) % BLOCK);
    if V::FIXED {
        sync_threads(); // every element is read before its own thread overwrites it
    }
    tile.set(t, next);
    output.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn scan_in_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    sync_threads(); // the elements are there before sums are made of them
    let mut distance = 1;
    while distance < BLOCK {
        let before = if t >= distance { tile.get(t - distance) } else { 0 };
        if V::FIXED {
            sync_threads(); // every sum is read before its thread adds to it
        }
        tile.set(t, tile.get(t) + before);
        sync_threads(); // the sums of this distance are complete
        distance *= 2;
    }
    output.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn suffix_scan_in_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    sync_threads(); // the elements are there before sums are made of them
    let mut distance = 1;
    while distance < BLOCK {
        let behind = if t + distance < BLOCK { tile.get(t + distance) } else { 0 };
        if V::FIXED {
            sync_threads(); // every sum is read before its thread adds to it
        }
        tile.set(t, tile.get(t) + behind);
        sync_threads(); // the sums of this distance are complete
        distance *= 2;
    }
    output.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn tree_level<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    sync_threads(); // the elements are there before the first level
    let mut distance = BLOCK / 2;
    while distance > 0 {
        if t < distance {
            tile.set(t, tile.get(t) + tile.get(t + distance));
        }
        if V::FIXED {
            sync_threads(); // the level is complete before the next one reads it
        }
        distance /= 2;
    }
    if t == 0 {
        output.set(0, tile.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn last_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    sync_threads(); // the elements are there before the one warp that goes on reads them
    if t < 32 {
        let mut distance = 32;
        while distance > 0 {
            let sum = tile.get(t) + tile.get(t + distance);
            if V::FIXED {
                sync_warp(FULL); // the other lanes have read their sums before this one changes
            }
            tile.set(t, sum);
            if V::FIXED {
                sync_warp(FULL); // the level is complete before the next one reads it
            }
            distance /= 2;
        }
    }
    if t == 0 {
        output.set(0, tile.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_writes_all_read<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, one) = (thread_idx_x(), ONE::view());
    if t == 0 {
        one.set(0, input.get(0));
    }
    if V::FIXED {
        sync_threads(); // thread 0 has written before all read
    }
    output.set(t, input.get(t) + one.get(0));
}

#[kernel(instances([Planted, Fixed]))]
pub fn warp_sums<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, sums) = (thread_idx_x(), WARPS::view());
    let sum = warp::reduce_add(FULL, input.get(t));
    if lane_id() == 0 {
        sums.set(t / 32, sum);
    }
    if V::FIXED {
        sync_threads(); // both warps have left their sums
    }
    output.set(t, sums.get(0) + sums.get(1));
}

#[kernel(instances([Planted, Fixed]))]
pub fn scratch_used_again<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, sums) = (thread_idx_x(), WARPS::view());
    let mut value = input.get(t);
    for _ in 0..2 {
        let sum = warp::reduce_add(FULL, value);
        if lane_id() == 0 {
            sums.set(t / 32, sum);
        }
        sync_threads(); // both warps have left their sums
        value = sums.get(0) + sums.get(1) + t;
        if V::FIXED {
            sync_threads(); // both warps have read the sums before the next round overwrites them
        }
    }
    output.set(t, value);
}

#[kernel(instances([Planted, Fixed]))]
pub fn tile_overwritten<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    let mut sum = 0;
    for step in 0..STEPS {
        tile.set(t, input.get(step * BLOCK + t));
        sync_threads(); // the tile is there before it is used
        sum += tile.get((t + 1) % BLOCK) * (step + 1);
        if V::FIXED {
            sync_threads(); // the tile has been used before the next one overwrites it
        }
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn product_second_barrier<V: Version>(a: Global<u32>, b: Global<u32>, c: Global<u32>, n: u32) {
    let (x, y) = (thread_idx_x(), thread::thread_idx_y());
    let (column, row) = (block_idx_x() * SIDE + x, thread::block_idx_y() * SIDE + y);
    let (left, right) = (LEFT::view(), RIGHT::view());
    let mut sum = 0;
    for step in 0..n / SIDE {
        left.set(y * SIDE + x, a.get(row * n + step * SIDE + x));
        right.set(y * SIDE + x, b.get((step * SIDE + y) * n + column));
        sync_threads(); // both tiles are there before they are used
        for k in 0..SIDE {
            sum += left.get(y * SIDE + k) * right.get(k * SIDE + x);
        }
        if V::FIXED {
            sync_threads(); // both tiles have been used before the next ones overwrite them
        }
    }
    c.set(row * n + column, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn pipeline_half<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, halves) = (thread_idx_x(), HALVES::view());
    let mut sum = 0;
    halves.set(t, input.get(t));
    for step in 0..STEPS {
        sync_threads(); // this step's half is filled, and the other half has been used in the step before
        if step + 1 < STEPS {
            let half = if V::FIXED { (step + 1) % 2 } else { step % 2 };
            halves.set(half * BLOCK + t, input.get((step + 1) * BLOCK + t));
        }
        sum += halves.get(step % 2 * BLOCK + (t + 1) % BLOCK) * (step + 1);
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn histogram_get_set<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let (t, bins) = (thread_idx_x(), BINS::view());
    if t < 16 {
        bins.set(t, 0);
    }
    sync_threads(); // the bins are clear before keys are counted
    let bin = keys.get(t) % 16;
    if V::FIXED {
        bins.fetch_add(bin, 1, Relaxed, Scope::Block);
    } else {
        bins.set(bin, bins.get(bin) + 1);
    }
    sync_threads(); // all keys are counted
    if t < 16 {
        counts.set(t, bins.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn cleared_too_late<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let (t, bins) = (thread_idx_x(), BINS::view());
    if t < 16 {
        bins.set(t, 0);
    }
    if V::FIXED {
        sync_threads(); // the bins are clear before keys are counted
    }
    bins.fetch_add(keys.get(t) % 16, 1, Relaxed, Scope::Block);
    sync_threads(); // all keys are counted
    if t < 16 {
        counts.set(t, bins.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn counted_too_early<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let (t, bins) = (thread_idx_x(), BINS::view());
    if t < 16 {
        bins.set(t, 0);
    }
    sync_threads(); // the bins are clear before keys are counted
    bins.fetch_add(keys.get(t) % 16, 1, Relaxed, Scope::Block);
    if V::FIXED {
        sync_threads(); // all keys are counted
    }
    if t < 16 {
        counts.set(t, bins.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_writers<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    // The larger of each pair is wanted. The test stands before the pair, not at the writer.
    let (own, other) = (input.get(t), input.get(t ^ 1));
    if own >= other && (!V::FIXED || own > other || t % 2 == 0) {
        tile.set(t / 2, own * 2 + t % 2);
    }
    sync_threads(); // every pair has its winner
    output.set(t, tile.get(t / 2) / 2);
}

#[kernel(instances([Planted, Fixed]))]
pub fn everyone_raises_the_flag<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, one) = (thread_idx_x(), ONE::view());
    if t == 0 {
        one.set(0, 0);
    }
    sync_threads(); // the flag is down before anyone raises it
    if input.get(t) > 500 {
        if V::FIXED {
            one.store(0, 1, Relaxed, Scope::Block);
        } else {
            one.set(0, 1);
        }
    }
    sync_threads(); // whoever raises the flag has done so
    output.set(t, one.get(0));
}

#[kernel(instances([Planted, Fixed]))]
pub fn shortest_paths<V: Version>(distances: Global<u32>) {
    let (x, y, tile) = (thread_idx_x(), thread::thread_idx_y(), LEFT::view());
    let own = y * SIDE + x;
    tile.set(own, distances.get(own));
    for k in 0..SIDE {
        sync_threads(); // the paths by way of earlier nodes are complete
        let by_k = tile.get(y * SIDE + k) + tile.get(k * SIDE + x);
        if V::FIXED {
            sync_threads(); // row k and column k are read before their threads write them again
        }
        tile.set(own, tile.get(own).min(by_k));
    }
    distances.set(own, tile.get(own));
}

#[kernel(instances([Planted, Fixed]))]
pub fn bitonic_step<V: Version>(keys: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, keys.get(t));
    let mut stage = 2;
    while stage <= BLOCK {
        sync_threads(); // the stage before is complete
        let mut distance = stage / 2;
        while distance > 0 {
            let partner = t ^ distance;
            if partner > t {
                let (a, b) = (tile.get(t), tile.get(partner));
                if (a > b) == (t & stage == 0) {
                    tile.set(t, b);
                    tile.set(partner, a);
                }
            }
            if V::FIXED {
                sync_threads(); // each step reads what the step before has written
            }
            distance /= 2;
        }
        stage *= 2;
    }
    sync_threads(); // all keys have their place
    keys.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_barrier_a_round<V: Version>(keys: Global<u32>) {
    let (t, tile) = (thread_idx_x(), HALVES::view());
    tile.set(t, keys.get(t));
    tile.set(t + BLOCK, keys.get(t + BLOCK));
    for _ in 0..BLOCK {
        sync_threads(); // the round before is complete
        let even = 2 * t;
        if tile.get(even) > tile.get(even + 1) {
            let larger = tile.get(even);
            tile.set(even, tile.get(even + 1));
            tile.set(even + 1, larger);
        }
        if V::FIXED {
            sync_threads(); // the even pairs are exchanged before the odd ones are
        }
        if t + 1 < BLOCK && tile.get(even + 1) > tile.get(even + 2) {
            let larger = tile.get(even + 1);
            tile.set(even + 1, tile.get(even + 2));
            tile.set(even + 2, larger);
        }
    }
    sync_threads(); // all keys have their place
    keys.set(t, tile.get(t));
    keys.set(t + BLOCK, tile.get(t + BLOCK));
}

#[kernel(instances([Planted, Fixed]))]
pub fn halo<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile, i) = (thread_idx_x(), HALVES::view(), index_1d());
    tile.set(t + 1, input.get(i + 1));
    if t == 0 {
        tile.set(0, input.get(i));
    }
    if t == BLOCK - 1 {
        tile.set(BLOCK + 1, input.get(i + 2));
    }
    if V::FIXED {
        sync_threads(); // the tile and both seams are there
    }
    output.set(i, tile.get(t) + tile.get(t + 1) + tile.get(t + 2));
}

#[kernel(instances([Planted, Fixed]))]
pub fn bytes_of_a_word<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), BINS::view());
    let byte = input.get(t) & 0xFF;
    if V::FIXED {
        tile.cast::<u8>().set(t, byte as u8);
    } else {
        // Reads the word, replaces one byte, writes the word.
        let shift = 8 * (t % 4);
        tile.set(t / 4, tile.get(t / 4) & !(0xFF << shift) | byte << shift);
    }
    sync_threads(); // the bytes are stored before the words are read
    output.set(t, tile.get(t / 4));
}

#[kernel(instances([Planted, Fixed]))]
pub fn views_that_overlap<V: Version>(input: Global<u32>, output: Global<u32>) {
    let t = thread_idx_x();
    let squares = Shared::<u32>::dynamic(0, BLOCK);
    let cubes = Shared::<u32>::dynamic(if V::FIXED { 4 * BLOCK } else { BLOCK }, BLOCK);
    let value = input.get(t);
    squares.set(t, value);
    cubes.set(t, value * 3);
    sync_threads(); // both tables are filled
    let other = BLOCK - 1 - t;
    output.set(t, squares.get(other) + cubes.get(other));
}

#[kernel(instances([Planted, Fixed]))]
pub fn exchange_in_a_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    if V::FIXED {
        sync_warp(FULL); // a lane sees another's write only behind this
    }
    output.set(t, tile.get(t ^ 1));
}

#[kernel(instances([Planted, Fixed]))]
pub fn warp_barrier_for_a_block<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    if V::FIXED {
        sync_threads(); // the other warp's elements are there as well
    } else {
        sync_warp(FULL);
    }
    output.set(t, tile.get(t ^ 32));
}

#[kernel(instances([Planted, Fixed]))]
pub fn part_of_the_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    if V::FIXED {
        sync_warp(FULL); // the partner is in the other half
    } else {
        sync_warp(if lane_id() < 16 { 0x0000_FFFF } else { 0xFFFF_0000 });
    }
    output.set(t, tile.get(t ^ 16));
}

#[kernel(instances([Planted, Fixed]))]
pub fn transposed_tile<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (x, y, tile) = (thread_idx_x(), thread::thread_idx_y(), LEFT::view());
    tile.set(y * SIDE + x, input.get(y * SIDE + x));
    if V::FIXED {
        sync_threads(); // all rows are stored before columns are read
    }
    output.set(y * SIDE + x, tile.get(x * SIDE + y));
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_roles<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t < 32 {
        tile.set(t, input.get(t));
        if V::FIXED {
            thread::barrier(1, BLOCK); // what the writing warp has stored, the reading warp may read
        } else {
            thread::barrier(1, 32);
        }
        output.set(t, 0);
    } else {
        if V::FIXED {
            thread::barrier(1, BLOCK); // the same barrier, reached from the line of the other role
        } else {
            thread::barrier(1, 32);
        }
        output.set(t, tile.get(63 - t));
    }
}

#[cfg(not(target_os = "cuda"))]
fn sums(n: u32, f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..n).map(f).collect()
}

#[cfg(not(target_os = "cuda"))]
fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

/// How often each remainder by 16 occurs.
#[cfg(not(target_os = "cuda"))]
fn counts(keys: &[u32]) -> Vec<u32> {
    (0..16).map(|bin| keys.iter().filter(|&&key| key % 16 == bin).count() as u32).collect()
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "left-neighbour",
        bug: "Each thread stores an element and reads its left neighbour's at once.",
        effect: "Right within a warp most of the time; the first lane of a warp reads what the warp before may not \
                 have stored yet.",
        fix: "A barrier of the block between the store and the read.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, left_neighbour, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|i| x[(i + 63) % 64]))
        },
    },
    Case {
        name: "reverse",
        bug: "A block reverses its elements by way of dynamic shared memory, without a barrier.",
        effect: "The first warp reads what the last one may not have stored yet.",
        fix: "A barrier of the block between the stores and the reads.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let keys = on.input(x.clone())?;
            launch!(on, reverse, Geometry::linear(1, BLOCK).shared(4 * BLOCK), keys.view())?;
            on.ended(&keys, x.into_iter().rev())
        },
    },
    Case {
        name: "shift-in-place",
        bug: "Each thread reads its right neighbour's element and then overwrites its own, without a barrier between.",
        effect: "A warp that is ahead overwrites the element that the warp before it has yet to read.",
        fix: "A second barrier, between the read and the write.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, shift_in_place, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|i| x[(i + 1) % 64]))
        },
    },
    Case {
        name: "scan-in-place",
        bug: "Hillis and Steele's scan in one buffer with one barrier per distance: a sum is read while its thread \
              adds to it.",
        effect: "Elements are added twice where a warp is ahead of the next; one warp gives the right result by luck.",
        fix: "A second barrier per distance, or two buffers.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, scan_in_place, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, sums(BLOCK, |i| x[..=i as usize].iter().sum()))
        },
    },
    Case {
        name: "suffix-scan-in-place",
        bug: "The same from the other end: in the order in which a simulator runs threads, every read comes before the \
              write that it races with.",
        effect: "As for the scan from the front; a simulator that runs threads in their order shows nothing.",
        fix: "A second barrier per distance, or two buffers.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, suffix_scan_in_place, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, sums(BLOCK, |i| x[i as usize..].iter().sum()))
        },
    },
    Case {
        name: "tree-level",
        bug: "A tree of sums in shared memory without a barrier between its levels.",
        effect: "A level adds sums that the level below has not finished.",
        fix: "A barrier at the end of each level, outside of the branch.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, tree_level, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "last-warp",
        bug: "The last warp of a reduction tree continues without barriers, as if its lanes ran in lockstep.",
        effect: "Right on GPUs before Volta; since then the lanes of a warp may be at different instructions, and the \
                 compiler may keep sums in registers.",
        fix: "sync_warp between the read and the write of each level, and after the write.",
        finds: &[SharedRace, Fault],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, last_warp, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "one-writes-all-read",
        bug: "Thread 0 writes a value to shared memory and all threads read it, without a barrier.",
        effect: "The other warps may read before the value is written.",
        fix: "A barrier of the block after the write.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, one_writes_all_read, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| v + x[0]))
        },
    },
    Case {
        name: "warp-sums",
        bug: "The first lane of each warp stores the warp's sum, and all threads add up the sums without waiting.",
        effect: "A warp that is ahead adds a sum that the other warp has not stored yet.",
        fix: "A barrier of the block between the two.",
        finds: &[SharedRace, UninitialisedShared, Fault],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, warp_sums, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum(); 64])
        },
    },
    Case {
        name: "scratch-used-again",
        bug: "A block's sum is made twice with the same words of shared memory, and nothing separates the reading of \
              the first sum from the writing of the second.",
        effect: "A warp that is ahead overwrites its sum before the other warp has read it.",
        fix: "A barrier after the reads, or other words for the second sum.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, scratch_used_again, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            let first: u32 = x.iter().sum();
            let second: u32 = (0..BLOCK).map(|t| first + t).sum();
            on.ended(&output, (0..BLOCK).map(|t| second + t))
        },
    },
    Case {
        name: "tile-overwritten",
        bug: "A loop over tiles has a barrier after the tile is loaded and none before it is loaded again.",
        effect: "A warp that is ahead overwrites the tile that others still use.",
        fix: "A second barrier at the end of the loop's body.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(STEPS * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, tile_overwritten, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| (0..4).map(|s| x[s * 64 + (t + 1) % 64] * (s as u32 + 1)).sum()))
        },
    },
    Case {
        name: "product-second-barrier",
        bug: "The tiled matrix product without its second barrier.",
        effect: "Products of one tile's row with the next tile's column; small matrices hide it.",
        fix: "A barrier after the inner loop.",
        finds: &[SharedRace],
        run: |on| {
            let n = 2 * SIDE;
            let (x, y) = (numbers(n * n), numbers(n * n + 7)[7..].to_vec());
            let (a, b, c) = (on.input(x.clone())?, on.input(y.clone())?, on.output(n * n)?);
            let geometry = Geometry::plane((2, 2), (SIDE, SIDE));
            launch!(on, product_second_barrier, geometry, a.view(), b.view(), c.view(), n)?;
            let cell = |i: u32| (0..n).map(|k| x[(i / n * n + k) as usize] * y[(k * n + i % n) as usize]).sum();
            on.ended(&c, sums(n * n, cell))
        },
    },
    Case {
        name: "pipeline-half",
        bug: "The next tile is loaded into the half of the buffer that this step uses.",
        effect: "Part of this step's sums is made of the next step's elements.",
        fix: "The next tile goes to the other half. One barrier per step is then enough.",
        finds: &[SharedRace, UninitialisedShared, Fault],
        run: |on| {
            let x = numbers(STEPS * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, pipeline_half, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| (0..4).map(|s| x[s * 64 + (t + 1) % 64] * (s as u32 + 1)).sum()))
        },
    },
    Case {
        name: "histogram-get-set",
        bug: "A histogram in shared memory that reads a count and writes it back plus one.",
        effect: "If several keys fall into one bin at the same time, only one is counted.",
        fix: "fetch_add.",
        finds: &[SharedRace, SameValueWrite],
        run: |on| {
            let x = numbers(BLOCK);
            let (keys, bins) = (on.input(x.clone())?, on.output(16)?);
            launch!(on, histogram_get_set, Geometry::linear(1, BLOCK), keys.view(), bins.view())?;
            on.ended(&bins, counts(&x))
        },
    },
    Case {
        name: "cleared-too-late",
        bug: "Some threads clear the bins while others already count.",
        effect: "The second warp's counts are lost, or added to the old content of the memory.",
        fix: "A barrier of the block after the clearing.",
        finds: &[MixedAtomic, SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (keys, bins) = (on.input(x.clone())?, on.output(16)?);
            launch!(on, cleared_too_late, Geometry::linear(1, BLOCK), keys.view(), bins.view())?;
            on.ended(&bins, counts(&x))
        },
    },
    Case {
        name: "counted-too-early",
        bug: "The first threads write the bins to the output while others still count.",
        effect: "The second warp's keys are missing from the result now and then.",
        fix: "A barrier of the block before the bins are read.",
        finds: &[MixedAtomic, SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (keys, bins) = (on.input(x.clone())?, on.output(16)?);
            launch!(on, counted_too_early, Geometry::linear(1, BLOCK), keys.view(), bins.view())?;
            on.ended(&bins, counts(&x))
        },
    },
    Case {
        name: "two-writers",
        bug: "In each pair of threads, the one with the larger element writes the pair's word; if the elements are \
              equal, both write it.",
        effect: "One of the two writes remains, either one.",
        fix: "If the elements are equal, the even thread writes.",
        finds: &[SharedRace],
        run: |on| {
            let x: Vec<u32> = (0..BLOCK).map(|i| if i % 16 < 2 { 7 } else { i * 5 % 37 }).collect();
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, two_writers, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t].max(x[t ^ 1])))
        },
    },
    Case {
        name: "everyone-raises-the-flag",
        bug: "Every thread that finds something writes the same 1 to one word, without atomics.",
        effect: "Right on today's GPUs; undefined by PTX's memory model, and by the compiler's.",
        fix: "An atomic store, relaxed.",
        finds: &[SameValueWrite],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, everyone_raises_the_flag, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().any(|v| *v > 500) as u32; 64])
        },
    },
    Case {
        name: "shortest-paths",
        bug: "Floyd and Warshall's algorithm in place: row k and column k are read while their threads write them.",
        effect: "The words do not change in round k, so results are right; the compiler may still assume that nobody \
                 writes what it reads.",
        fix: "A second barrier, between the reads and the writes.",
        finds: &[SharedRace, SameValueWrite],
        run: |on| {
            let mut want: Vec<u32> = numbers(SIDE * SIDE).iter().map(|v| v + 1).collect();
            (0..8).for_each(|i| want[i * 9] = 0);
            let distances = on.input(want.clone())?;
            launch!(on, shortest_paths, Geometry::plane((1, 1), (SIDE, SIDE)), distances.view())?;
            for k in 0..8 {
                for i in 0..64 {
                    want[i] = want[i].min(want[i / 8 * 8 + k] + want[k * 8 + i % 8]);
                }
            }
            on.ended(&distances, want)
        },
    },
    Case {
        name: "bitonic-step",
        bug: "A bitonic sort in shared memory with a barrier per stage instead of one per step.",
        effect: "Steps whose distance is below 32 stay within a warp and mostly work; the others mix keys of two \
                 steps, and keys are lost.",
        fix: "A barrier after each step.",
        finds: &[SharedRace, SameValueWrite],
        run: |on| {
            let x = numbers(BLOCK);
            let keys = on.input(x.clone())?;
            launch!(on, bitonic_step, Geometry::linear(1, BLOCK), keys.view())?;
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "one-barrier-a-round",
        bug: "Odd-even transposition with one barrier per round: odd pairs are exchanged while even ones still are.",
        effect: "Keys are lost or doubled at the seams between warps.",
        fix: "A barrier before the odd pairs, and one before the even ones.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let keys = on.input(x.clone())?;
            launch!(on, one_barrier_a_round, Geometry::linear(1, BLOCK), keys.view())?;
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "halo",
        bug: "A stencil reads its tile and halo without waiting for the loads.",
        effect: "The sums at the edges of warps use the last tile's elements, or arbitrary data.",
        fix: "A barrier of the block after the loads.",
        finds: &[SharedRace, UninitialisedShared, Fault],
        run: |on| {
            let x = numbers(2 * BLOCK + 2);
            let (input, output) = (on.input(x.clone())?, on.output(2 * BLOCK)?);
            launch!(on, halo, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.windows(3).map(|w| w.iter().sum()))
        },
    },
    Case {
        name: "bytes-of-a-word",
        bug: "Four threads share a word; each reads it, inserts its byte, and writes the whole word.",
        effect: "One of the four bytes is stored; the other three keep the old content.",
        fix: "Each thread writes its byte through a view of bytes: disjoint bytes of one word do not race.",
        finds: &[SharedRace, SameValueWrite, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, bytes_of_a_word, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            let word = |w: usize| (0..4).map(|b| (x[4 * w + b] & 0xFF) << (8 * b)).sum::<u32>();
            on.ended(&output, (0..64).map(|t| word(t / 4)))
        },
    },
    Case {
        name: "views-that-overlap",
        bug: "The second table of the dynamic shared memory begins after BLOCK bytes instead of BLOCK words.",
        effect: "Three quarters of the first table are overwritten.",
        fix: "The offset counts bytes: four per word.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            let geometry = Geometry::linear(1, BLOCK).shared(8 * BLOCK);
            launch!(on, views_that_overlap, geometry, input.view(), output.view())?;
            on.ended(&output, x.iter().rev().map(|v| 4 * v))
        },
    },
    Case {
        name: "exchange-in-a-warp",
        bug: "Two lanes of a warp exchange elements through shared memory without sync_warp.",
        effect: "Works as long as the compiler keeps the order of store and load and the lanes stay together.",
        fix: "sync_warp between the store and the read; no barrier of the block is needed.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, exchange_in_a_warp, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t ^ 1]))
        },
    },
    Case {
        name: "warp-barrier-for-a-block",
        bug: "sync_warp stands where a barrier of the block is needed: the element comes from the other warp.",
        effect: "Reads an element that the other warp may not have stored yet.",
        fix: "sync_threads.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, warp_barrier_for_a_block, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t ^ 32]))
        },
    },
    Case {
        name: "part-of-the-warp",
        bug: "Each half of a warp synchronises only its own lanes, and then reads from the other half.",
        effect: "Nothing orders the halves.",
        fix: "sync_warp of all lanes.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, part_of_the_warp, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t ^ 16]))
        },
    },
    Case {
        name: "transposed-tile",
        bug: "A tile is stored by rows and read by columns without a barrier.",
        effect: "Wrong wherever row and column belong to different warps.",
        fix: "A barrier of the block between the two.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(SIDE * SIDE);
            let (input, output) = (on.input(x.clone())?, on.output(SIDE * SIDE)?);
            let geometry = Geometry::plane((1, 1), (SIDE, SIDE));
            launch!(on, transposed_tile, geometry, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|i| x[i % 8 * 8 + i / 8]))
        },
    },
    Case {
        name: "two-roles",
        bug: "A warp that writes and a warp that reads meet at a named barrier that waits for one warp only.",
        effect: "Each warp passes alone; the reader may read data that is not written yet.",
        fix: "The barrier waits for both warps. Each role reaches it from its own line, which is allowed.",
        finds: &[SharedRace, UninitialisedShared, MissedBarrier],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, two_roles, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t < 32 { 0 } else { x[63 - t] }))
        },
    },
];
