//! Reads of memory that nobody wrote: shared memory holds what the block before left, global memory anything.

use crate::prelude::*;

shared!(TILE: [u32; BLOCK]);
shared!(BINS: [u32; 16]);
shared!(HALVES: [u32; 2 * BLOCK]);
shared!(ONE: [u32; 1]);

#[kernel(instances([Planted, Fixed]))]
pub fn bins_not_cleared<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let (t, bins) = (thread_idx_x(), BINS::view());
    if V::FIXED {
        if t < 16 {
            bins.set(t, 0);
        }
        sync_threads(); // the bins are clear before keys are counted
    }
    bins.fetch_add(keys.get(t) % 16, 1, Relaxed, Scope::Block);
    sync_threads(); // all keys are counted
    if t < 16 {
        counts.set(t, bins.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn incomplete_tile<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t < input.len() {
        tile.set(t, input.get(t));
    } else if V::FIXED {
        tile.set(t, 0);
    }
    let mut distance = BLOCK / 2;
    while distance > 0 {
        sync_threads(); // the level below is complete before this one reads it
        if t < distance {
            tile.set(t, tile.get(t) + tile.get(t + distance));
        }
        distance /= 2;
    }
    if t == 0 {
        output.set(0, tile.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn seam_not_loaded<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, i, tile) = (thread_idx_x(), index_1d(), HALVES::view());
    tile.set(t, input.get(i));
    if t == BLOCK - 1 && (V::FIXED || i + 1 < output.len()) {
        // The array has one element more than the output.
        tile.set(BLOCK, input.get(i + 1));
    }
    sync_threads(); // tile and seam are there
    output.set(i, tile.get(t) + tile.get(t + 1));
}

#[kernel(instances([Planted, Fixed]))]
pub fn first_half<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, halves) = (thread_idx_x(), HALVES::view());
    halves.set(t, input.get(t));
    let mut sum = 0;
    for step in 0..2 {
        sync_threads(); // this step's half is there
        let half = if V::FIXED { step % 2 } else { (step + 1) % 2 };
        sum += halves.get(half * BLOCK + t);
        if step == 0 {
            halves.set(BLOCK + t, input.get(BLOCK + t));
        }
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn only_if_found<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, one) = (thread_idx_x(), ONE::view());
    if V::FIXED {
        if t == 0 {
            one.set(0, u32::MAX);
        }
        sync_threads(); // the answer "none" is there before anyone writes another
    }
    if input.get(t) == 5000 {
        one.set(0, t);
    }
    sync_threads(); // whoever has found it has said so
    output.set(t, one.get(0));
}

#[kernel]
pub fn counter_not_cleared(input: Global<u32>, count: Global<u32>) {
    if input.get(index_1d()) % 2 == 1 {
        count.fetch_add(0, 1, Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn block_without_elements<V: Version>(input: Global<u32>, sums: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    if !V::FIXED && block_idx_x() * 32 >= n {
        return; // nothing to add up, and nothing is written
    }
    let sum = warp::reduce_add(FULL, if i < n { input.get(i) } else { 0 });
    if lane_id() == 0 {
        sums.set(block_idx_x(), sum);
    }
}

#[kernel]
pub fn block_without_elements_total(sums: Global<u32>, total: Global<u32>) {
    let mut all = 0_u32;
    for block in 0..sums.len() {
        all = all.wrapping_add(sums.get(block));
    }
    total.set(0, all);
}

#[kernel(instances([Planted, Fixed]))]
pub fn heads_not_marked<V: Version>(keys: Global<u32>, starts: Global<u32>) {
    // The place where each key's run begins. Keys that do not occur have none.
    let i = index_1d();
    if V::FIXED && i < starts.len() {
        starts.set(i, 0);
    }
    sync_threads(); // one block: all places are cleared
    if i == 0 || keys.get(i) != keys.get(i - 1) {
        starts.set(keys.get(i), i + 1);
    }
}

#[kernel]
pub fn heads_not_marked_sum(starts: Global<u32>, sum: Global<u32>) {
    let mut all = 0_u32;
    for key in 0..starts.len() {
        all = all.wrapping_add(starts.get(key));
    }
    sum.set(0, all);
}

#[kernel(instances([Planted, Fixed]))]
pub fn column_of_padding<V: Version>(input: Global<u32>, padded: Global<u32>, output: Global<u32>) {
    // Rows of 8 words lie 9 apart.
    let (row, column) = (thread_idx_x() / 8, thread_idx_x() % 8);
    padded.set(row * 9 + column, input.get(thread_idx_x()));
    sync_threads(); // one block: all rows are there
    let from = if V::FIXED { column } else { column + 1 };
    output.set(thread_idx_x(), padded.get(row * 9 + from));
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "bins-not-cleared",
        bug: "A histogram in shared memory counts without clearing its bins.",
        effect: "Right in the first block that runs on an SM, if at all.",
        fix: "The bins are cleared, and a barrier follows.",
        finds: &[UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (keys, counts) = (on.input(x.clone())?, on.output(16)?);
            launch!(on, bins_not_cleared, Geometry::linear(1, BLOCK), keys.view(), counts.view())?;
            on.ended(&counts, (0..16).map(|bin| x.iter().filter(|&&key| key % 16 == bin).count() as u32))
        },
    },
    Case {
        name: "incomplete-tile",
        bug: "Threads beyond the last element store nothing, and the tree of sums reads their words.",
        effect: "Data left by the previous block is added; sizes that fill their tiles hide it.",
        fix: "These threads store the neutral element.",
        finds: &[UninitialisedShared, Fault],
        run: |on| {
            let x = numbers(50);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, incomplete_tile, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "seam-not-loaded",
        bug: "The halo of the last tile is guarded by the wrong length and is not loaded.",
        effect: "The last sum contains data left by the previous block.",
        fix: "The guard of the halo uses the input's length.",
        finds: &[UninitialisedShared, Fault],
        run: |on| {
            let x = numbers(2 * BLOCK + 1);
            let (input, output) = (on.input(x.clone())?, on.output(2 * BLOCK)?);
            launch!(on, seam_not_loaded, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.windows(2).map(|w| w[0] + w[1]))
        },
    },
    Case {
        name: "first-half",
        bug: "A loop over two halves of a buffer begins with the half that is not loaded yet.",
        effect: "The first step uses data left by the previous block.",
        fix: "The loop begins with the half that is loaded.",
        finds: &[UninitialisedShared, SharedRace, Fault],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, first_half, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t] + x[t + 64]))
        },
    },
    Case {
        name: "only-if-found",
        bug: "A word of shared memory is written if something is found, and read in any case.",
        effect: "The old content of the memory is used as an index.",
        fix: "The answer \"none\" is written first.",
        finds: &[UninitialisedShared],
        run: |on| {
            let (input, output) = (on.input(numbers(BLOCK))?, on.output(BLOCK)?);
            launch!(on, only_if_found, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [u32::MAX; 64])
        },
    },
    Case {
        name: "counter-not-cleared",
        bug: "A counter in fresh global memory is incremented without having been set.",
        effect: "Fresh memory of a new process is mostly zero; the second run is wrong.",
        fix: "The counter is cleared by a launch or a memset.",
        finds: &[UninitialisedGlobal],
        run: |on| {
            let x = numbers(128);
            let (input, count) = (on.input(x.clone())?, on.scratch(1)?);
            if on.fixed {
                on.clear(&count)?;
            }
            on.launch(counter_not_cleared, Geometry::linear(4, 32), (input.view(), count.view()))?;
            on.ended(&count, [x.iter().filter(|v| *v % 2 == 1).count() as u32])
        },
    },
    Case {
        name: "block-without-elements",
        bug: "Blocks that have no elements return without writing their sum, and the next launch adds up all sums.",
        effect: "The total contains the old content of the memory.",
        fix: "These blocks write the neutral element.",
        finds: &[UninitialisedGlobal],
        run: |on| {
            let x = numbers(70);
            let (input, sums, total) = (on.input(x.clone())?, on.scratch(4)?, on.output(1)?);
            launch!(on, block_without_elements, Geometry::linear(4, 32), input.view(), sums.view())?;
            on.launch(block_without_elements_total, Geometry::linear(1, 1), (sums.view(), total.view()))?;
            on.ended(&total, [x.iter().sum()])
        },
    },
    Case {
        name: "heads-not-marked",
        bug: "The start of each key's run is stored, and the table is read for keys that do not occur.",
        effect: "The old content of the memory is used as an index.",
        fix: "The table is cleared first.",
        finds: &[UninitialisedGlobal],
        run: |on| {
            let x: Vec<u32> = (0..BLOCK).map(|i| i / 9 * 2).collect();
            let (keys, starts, sum) = (on.input(x.clone())?, on.scratch(16)?, on.output(1)?);
            launch!(on, heads_not_marked, Geometry::linear(1, BLOCK), keys.view(), starts.view())?;
            on.launch(heads_not_marked_sum, Geometry::linear(1, 1), (starts.view(), sum.view()))?;
            on.ended(&sum, [(0..64).filter(|i| i % 9 == 0).map(|i| i + 1).sum()])
        },
    },
    Case {
        name: "column-of-padding",
        bug: "A padded matrix is read one column too far: the last column is padding.",
        effect: "The padding's content ends up in the result.",
        fix: "The column that was written.",
        finds: &[UninitialisedGlobal],
        run: |on| {
            let x = numbers(64);
            let (input, padded, output) = (on.input(x.clone())?, on.scratch(72)?, on.output(64)?);
            launch!(on, column_of_padding, Geometry::linear(1, 64), input.view(), padded.view(), output.view())?;
            on.ended(&output, x)
        },
    },
];
