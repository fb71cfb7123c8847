//! Races in global memory: blocks run at the same time, in any order, and no barrier stands between them.

use crate::prelude::*;

shared!(LAST: [u32; 1]);

#[kernel(instances([Planted, Fixed]))]
pub fn histogram_across_blocks<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let bin = keys.get(index_1d()) % 16;
    if V::FIXED {
        counts.fetch_add(bin, 1, Relaxed, Scope::Device);
    } else {
        counts.set(bin, counts.get(bin) + 1);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn plain_sum<V: Version>(input: Global<u32>, total: Global<u32>) {
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if lane_id() == 0 {
        if V::FIXED {
            total.fetch_add(0, sum, Relaxed, Scope::Device);
        } else {
            total.set(0, total.get(0) + sum);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn global_shift<V: Version>(input: Global<u32>, output: Global<u32>) {
    let i = index_1d();
    let from = if V::FIXED { input } else { output };
    // No barrier of a block would help: the seam is between two blocks.
    output.set(i, from.get(if i + 1 < from.len() { i + 1 } else { i }));
}

#[kernel(instances([Planted, Fixed]))]
pub fn stencil_in_place<V: Version>(cells: Global<u32>, next: Global<u32>) {
    let i = index_1d();
    let left = if i > 0 { cells.get(i - 1) } else { 0 };
    let sum = left + cells.get(i);
    if V::FIXED { next.set(i, sum) } else { cells.set(i, sum) }
}

#[kernel(instances([Planted, Fixed]))]
pub fn pairs_across_the_seam<V: Version>(keys: Global<u32>, first: u32) {
    // All even pairs, then all odd ones. The odd pair at the end of a block belongs to the next block as well.
    let (t, start) = (thread_idx_x(), block_idx_x() * 2 * BLOCK);
    for odd in 0..2 {
        if !V::FIXED || odd == first {
            let at = start + 2 * t + odd;
            if at + 1 < keys.len() {
                let (a, b) = (keys.get(at), keys.get(at + 1));
                if a > b {
                    keys.set(at, b);
                    keys.set(at + 1, a);
                }
            }
        }
        sync_threads(); // holds for the block's own pairs alone
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn sum_of_other_blocks<V: Version>(input: Global<u32>, sums: Global<u32>, total: Global<u32>) {
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if lane_id() == 0 {
        sums.set(block_idx_x(), sum);
    }
    if !V::FIXED && index_1d() == 0 {
        let mut all = 0;
        for block in 0..sums.len() {
            all += sums.get(block);
        }
        total.set(0, all);
    }
}

#[kernel]
pub fn sum_of_other_blocks_total(sums: Global<u32>, total: Global<u32>) {
    if thread_idx_x() == 0 {
        let mut all = 0;
        for block in 0..sums.len() {
            all += sums.get(block);
        }
        total.set(0, all);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn local_index<V: Version>(input: Global<u32>, output: Global<u32>) {
    let i = if V::FIXED { index_1d() } else { thread_idx_x() };
    output.set(i, 2 * input.get(index_1d()));
}

#[kernel(instances([Planted, Fixed]))]
pub fn local_index_equal_input<V: Version>(input: Global<u32>, output: Global<u32>) {
    let i = if V::FIXED { index_1d() } else { thread_idx_x() };
    output.set(i, 2 * input.get(index_1d()));
}

#[kernel(instances([Planted, Fixed]))]
pub fn tiles_that_overlap<V: Version>(input: Global<u32>, output: Global<u32>) {
    // A window of four elements; each block sums its tile's windows and the three before them.
    let tile = if V::FIXED { BLOCK } else { BLOCK - 3 };
    let i = block_idx_x() * tile + thread_idx_x();
    if i < output.len() {
        output.set(i, input.get(i) * (block_idx_x() + 1));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn compare_then_set<V: Version>(input: Global<u32>, largest: Global<u32>) {
    let value = input.get(index_1d());
    if V::FIXED {
        largest.fetch_max(0, value, Relaxed, Scope::Device);
    } else if value > largest.get(0) {
        largest.set(0, value);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn list_that_grows<V: Version>(input: Global<u32>, list: Global<u32>, len: Global<u32>) {
    let value = input.get(index_1d());
    if value % 2 == 1 {
        let at = if V::FIXED {
            len.fetch_add(0, 1, Relaxed, Scope::Device)
        } else {
            let at = len.get(0);
            len.set(0, at + 1);
            at
        };
        list.set(at, value);
    }
}

#[kernel]
pub fn list_that_grows_sum(list: Global<u32>, len: Global<u32>, sum: Global<u32>) {
    let t = thread_idx_x();
    if t < len.get(0) {
        sum.fetch_add(0, list.get(t), Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn changed<V: Version>(distances: Global<u32>, flag: Global<u32>) {
    if distances.get(index_1d()) > 500 {
        if V::FIXED {
            flag.store(0, 1, Relaxed, Scope::Device);
        } else {
            flag.set(0, 1);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn counter_read_plainly<V: Version>(input: Global<u32>, count: Global<u32>, late: Global<u32>) {
    let i = index_1d();
    if input.get(i) % 2 == 1 {
        count.fetch_add(0, 1, Relaxed, Scope::Device);
    }
    let seen = if V::FIXED { count.load(0, Relaxed, Scope::Device) } else { count.get(0) };
    // Whatever is seen: no more than there are.
    late.set(i, (seen <= input.len()) as u32);
}

#[kernel(instances([Planted, Fixed]))]
pub fn push_along_edges<V: Version>(from: Global<u32>, to: Global<u32>, distances: Global<u32>, nearest: Global<u32>) {
    let edge = index_1d();
    let by_edge = distances.get(from.get(edge)) + 1;
    let node = to.get(edge);
    if V::FIXED {
        nearest.fetch_min(node, by_edge, Relaxed, Scope::Device);
    } else {
        nearest.set(node, nearest.get(node).min(by_edge));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn last_pack<V: Version>(input: Global<u32>, output: Global<u32>) {
    // 16 bytes per thread; the elements of the incomplete last pack go one by one.
    let (i, n) = (index_1d(), input.len());
    let packs = if V::FIXED { n / 4 } else { n.div_ceil(4) };
    if i < packs {
        let mut pack = [0; 4];
        for (k, word) in pack.iter_mut().enumerate() {
            let at = 4 * i + k as u32;
            *word = if at < n { input.get(at) } else { 0 };
        }
        output.set_pack(i, pack);
    }
    let tail = n / 4 * 4 + i;
    if tail < output.len() && i < 4 {
        output.set(tail, if tail < n { input.get(tail) } else { 7 });
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn stride_of_a_block<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (mut i, step) = (index_1d(), if V::FIXED { thread::grid_threads_1d() } else { block_dim_x() });
    while i < input.len() {
        output.set(i, input.get(i) + 1);
        i += step;
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn slot_by_a_second_look<V: Version>(input: Global<u32>, slots: Global<u32>, next: Global<u32>) {
    let before = next.fetch_add(0, 1, Relaxed, Scope::Device);
    let slot = if V::FIXED { before } else { next.load(0, Relaxed, Scope::Device) - 1 };
    slots.set(slot, input.get(index_1d()));
}

#[kernel]
pub fn slot_by_a_second_look_sum(slots: Global<u32>, sum: Global<u32>) {
    sum.fetch_add(0, slots.get(index_1d()), Relaxed, Scope::Device);
}

#[kernel(instances([Planted, Fixed]))]
pub fn barrier_for_a_grid<V: Version>(input: Global<u32>, output: Global<u32>, step: u32) {
    // Reverses the whole array: a barrier of the block orders nothing between blocks.
    let (i, n) = (index_1d(), input.len());
    if !V::FIXED || step == 0 {
        output.set(n - 1 - i, input.get(i));
    }
    sync_threads(); // the block's elements are stored, and no others
    if !V::FIXED || step == 1 {
        let neighbour = output.get((i + 1) % n);
        input.set(i, neighbour);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn flag_read_in_a_loop<V: Version>(input: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    // Block 1 waits for block 0's word; the word is all that matters, so its order may be relaxed.
    if block_idx_x() == 0 {
        if thread_idx_x() == 0 {
            flag.store(0, input.get(0), Relaxed, Scope::Device);
        }
    } else {
        let mut value = 0;
        while value == 0 {
            value = if V::FIXED { flag.load(0, Relaxed, Scope::Device) } else { flag.get(0) };
        }
        if thread_idx_x() == 0 {
            LAST::view().set(0, value);
        }
        sync_threads(); // thread 0 has stored the value
        output.set(thread_idx_x(), LAST::view().get(0));
    }
}

#[cfg(not(target_os = "cuda"))]
const GRID: Geometry = Geometry::linear(4, 32);

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "histogram-across-blocks",
        bug: "A histogram in global memory that reads a count and writes it back plus one.",
        effect: "Most keys are lost: threads that count in the same bin at the same time read the same count.",
        fix: "fetch_add.",
        finds: &[GlobalRace, SameValueWrite],
        run: |on| {
            let x = numbers(128);
            let (keys, counts) = (on.input(x.clone())?, on.input([0; 16])?);
            launch!(on, histogram_across_blocks, GRID, keys.view(), counts.view())?;
            on.ended(&counts, (0..16).map(|bin| x.iter().filter(|&&key| key % 16 == bin).count() as u32))
        },
    },
    Case {
        name: "plain-sum",
        bug: "Each block adds its sum to the total by a read and a write.",
        effect: "Sums of blocks that end at the same time are lost.",
        fix: "fetch_add, once per block.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(128);
            let (input, total) = (on.input(x.clone())?, on.input([0])?);
            launch!(on, plain_sum, GRID, input.view(), total.view())?;
            on.ended(&total, [x.iter().sum()])
        },
    },
    Case {
        name: "global-shift",
        bug: "All elements move down by one in place, one thread per element.",
        effect: "A block that runs ahead overwrites the element that the block before it has yet to read.",
        fix: "The result goes to a second array.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(128);
            let (input, output) = (on.input(x.clone())?, on.input(x.clone())?);
            launch!(on, global_shift, GRID, input.view(), output.view())?;
            on.ended(&output, (0..128).map(|i| x[(i + 1).min(127)]))
        },
    },
    Case {
        name: "stencil-in-place",
        bug: "A stencil writes its sums over the cells that its neighbours read.",
        effect: "Sums are made of old and of new cells, differently in each run.",
        fix: "Two arrays that are swapped after each launch.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(128);
            let (cells, next) = (on.input(x.clone())?, on.scratch(128)?);
            launch!(on, stencil_in_place, GRID, cells.view(), next.view())?;
            let output = if on.fixed { next } else { cells };
            on.ended(&output, (0..128).map(|i| x[i] + if i > 0 { x[i - 1] } else { 0 }))
        },
    },
    Case {
        name: "pairs-across-the-seam",
        bug: "Odd-even transposition over several blocks does the even and the odd pairs in one launch: the last odd \
              pair of a block reaches into the next block.",
        effect: "Keys at the seams are lost or doubled.",
        fix: "A launch for the even pairs, and one for the odd pairs.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(4 * BLOCK);
            let keys = on.input(x.clone())?;
            let geometry = Geometry::linear(2, BLOCK);
            for _ in 0..2 * BLOCK {
                launch!(on, pairs_across_the_seam, geometry, keys.view(), 0)?;
                launch!(on, pairs_across_the_seam, geometry, keys.view(), 1)?;
            }
            let mut want = x;
            want.sort_unstable();
            on.ended(&keys, want)
        },
    },
    Case {
        name: "sum-of-other-blocks",
        bug: "Block 0 adds up the sums of all blocks in the launch that makes them.",
        effect: "Block 0 is the first to run: it adds what the memory held before.",
        fix: "A second launch adds them up.",
        finds: &[GlobalRace, UninitialisedGlobal, Fault],
        run: |on| {
            let x = numbers(128);
            let (input, sums, total) = (on.input(x.clone())?, on.scratch(4)?, on.output(1)?);
            launch!(on, sum_of_other_blocks, GRID, input.view(), sums.view(), total.view())?;
            if on.fixed {
                on.launch(sum_of_other_blocks_total, Geometry::linear(1, 32), (sums.view(), total.view()))?;
            }
            on.ended(&total, [x.iter().sum()])
        },
    },
    Case {
        name: "local-index",
        bug: "The thread's index in its block selects the element, so all blocks write the same elements.",
        effect: "One block's results remain; the rest of the output is what the memory held.",
        fix: "The index in the grid.",
        finds: &[GlobalRace, Unwritten],
        run: |on| {
            let x = numbers(128);
            let (input, output) = (on.input(x.clone())?, on.output(128)?);
            launch!(on, local_index, GRID, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "local-index-equal-input",
        bug: "The same, tested with equal elements and an output that already holds the result.",
        effect: "The test passes: every block writes the same values to the same elements.",
        fix: "The index in the grid, and a test with distinct elements and a poisoned output.",
        finds: &[SameValueWrite],
        run: |on| {
            let (input, output) = (on.input([21; 128])?, on.input([42; 128])?);
            launch!(on, local_index_equal_input, GRID, input.view(), output.view())?;
            on.ended(&output, [42; 128])
        },
    },
    Case {
        name: "tiles-that-overlap",
        bug: "Tiles are BLOCK - 3 elements apart, and each block writes BLOCK of them.",
        effect: "Of the three elements that two blocks write, either block's value remains.",
        fix: "Tiles are as far apart as they are long.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(2 * BLOCK)?);
            launch!(on, tiles_that_overlap, Geometry::linear(3, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..2 * BLOCK).map(|i| x[i as usize] * (i / BLOCK + 1)))
        },
    },
    Case {
        name: "compare-then-set",
        bug: "A maximum is compared and then written: another thread may have written a larger one in between.",
        effect: "The maximum is lost now and then.",
        fix: "fetch_max.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(128);
            let (input, largest) = (on.input(x.clone())?, on.input([0])?);
            launch!(on, compare_then_set, GRID, input.view(), largest.view())?;
            on.ended(&largest, x.into_iter().max())
        },
    },
    Case {
        name: "list-that-grows",
        bug: "Threads append to a list: each reads the length and writes it back plus one.",
        effect: "Several threads take one place; the list is too short and lacks elements.",
        fix: "fetch_add gives each thread its own place.",
        finds: &[GlobalRace, SameValueWrite],
        run: |on| {
            let x = numbers(128);
            let (input, list) = (on.input(x.clone())?, on.scratch(128)?);
            let (len, sum) = (on.input([0])?, on.input([0])?);
            launch!(on, list_that_grows, GRID, input.view(), list.view(), len.view())?;
            on.launch(list_that_grows_sum, Geometry::linear(1, 128), (list.view(), len.view(), sum.view()))?;
            on.ended(&sum, [x.iter().filter(|v| *v % 2 == 1).sum()])
        },
    },
    Case {
        name: "changed",
        bug: "A graph algorithm's flag \"something changed\": many threads write the same 1.",
        effect: "Right on today's GPUs; undefined by PTX's memory model, and by the compiler's.",
        fix: "An atomic store, relaxed.",
        finds: &[SameValueWrite],
        run: |on| {
            let x = numbers(128);
            let (input, flag) = (on.input(x.clone())?, on.input([0])?);
            launch!(on, changed, GRID, input.view(), flag.view())?;
            on.ended(&flag, [x.iter().any(|v| *v > 500) as u32])
        },
    },
    Case {
        name: "counter-read-plainly",
        bug: "A counter that other threads add to atomically is read by a plain load.",
        effect: "The load may come from L1 and be old for ever, or serve several reads at once.",
        fix: "An atomic load, relaxed.",
        finds: &[MixedAtomic],
        run: |on| {
            let x = numbers(128);
            let (input, count, output) = (on.input(x)?, on.input([0])?, on.output(128)?);
            launch!(on, counter_read_plainly, GRID, input.view(), count.view(), output.view())?;
            on.ended(&output, [1; 128])
        },
    },
    Case {
        name: "push-along-edges",
        bug: "A graph algorithm pushes distances along edges: edges with one end in common read and write its word.",
        effect: "The smallest distance is lost now and then; the algorithm converges later, or to something wrong.",
        fix: "fetch_min.",
        finds: &[GlobalRace, SameValueWrite],
        run: |on| {
            let (from, to): (Vec<u32>, Vec<u32>) = (0..128).map(|e| (e * 7 % 32, e * 5 % 11)).unzip();
            let distances = numbers(32);
            let buffers = (on.input(from.clone())?, on.input(to.clone())?, on.input(distances.clone())?);
            let nearest = on.input([9999; 11])?;
            let (a, b, c) = (buffers.0.view(), buffers.1.view(), buffers.2.view());
            launch!(on, push_along_edges, GRID, a, b, c, nearest.view())?;
            let mut want = [9999; 11];
            for (a, b) in from.iter().zip(&to) {
                want[*b as usize] = want[*b as usize].min(distances[*a as usize] + 1);
            }
            on.ended(&nearest, want)
        },
    },
    Case {
        name: "last-pack",
        bug: "The last, incomplete pack of 16 bytes is written as a whole, over words that other threads write.",
        effect: "Either value remains in the words past the end of the array.",
        fix: "Packs that are complete, and the rest element by element.",
        finds: &[GlobalRace, SameValueWrite],
        run: |on| {
            let x = numbers(102);
            let (input, output) = (on.input(x.clone())?, on.output(104)?);
            launch!(on, last_pack, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, x.into_iter().chain([7, 7]))
        },
    },
    Case {
        name: "stride-of-a-block",
        bug: "A grid-stride loop uses the block size as its stride: every block repeats the work of later blocks.",
        effect: "The result is right, and the work is done many times over.",
        fix: "The stride is the number of threads in the grid.",
        finds: &[SameValueWrite],
        run: |on| {
            let x = numbers(256);
            let (input, output) = (on.input(x.clone())?, on.output(256)?);
            launch!(on, stride_of_a_block, GRID, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| v + 1))
        },
    },
    Case {
        name: "slot-by-a-second-look",
        bug: "A counter is incremented atomically, and the place is taken from a second read.",
        effect: "Two threads that increment before either reads take the same place.",
        fix: "The place is what fetch_add returns.",
        finds: &[GlobalRace, UninitialisedGlobal],
        run: |on| {
            let x = numbers(128);
            let (input, slots) = (on.input(x.clone())?, on.scratch(128)?);
            let (next, sum) = (on.input([0])?, on.input([0])?);
            launch!(on, slot_by_a_second_look, GRID, input.view(), slots.view(), next.view())?;
            on.launch(slot_by_a_second_look_sum, GRID, (slots.view(), sum.view()))?;
            on.ended(&sum, [x.iter().sum()])
        },
    },
    Case {
        name: "barrier-for-a-grid",
        bug: "The kernel uses a block barrier where all blocks have to wait for each other.",
        effect: "Elements that other blocks have yet to store are read as they were.",
        fix: "Two launches.",
        finds: &[GlobalRace, UninitialisedGlobal],
        run: |on| {
            let x = numbers(128);
            let (keys, reversed) = (on.input(x.clone())?, on.scratch(128)?);
            launch!(on, barrier_for_a_grid, GRID, keys.view(), reversed.view(), 0)?;
            if on.fixed {
                launch!(on, barrier_for_a_grid, GRID, keys.view(), reversed.view(), 1)?;
            }
            on.ended(&keys, (0..128).map(|i| x[127 - (i + 1) % 128]))
        },
    },
    Case {
        name: "flag-read-in-a-loop",
        bug: "A thread waits for a word in a loop of plain loads.",
        effect: "The compiler loads once and loops for ever, or L1 answers for ever.",
        fix: "Atomic loads.",
        finds: &[MixedAtomic, EndlessSpin],
        run: |on| {
            let (input, flag, output) = (on.input([77])?, on.input([0])?, on.output(32)?);
            launch!(on, flag_read_in_a_loop, Geometry::linear(2, 32), input.view(), flag.view(), output.view())?;
            on.ended(&output, [77; 32])
        },
    },
];
