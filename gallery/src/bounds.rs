//! Accesses outside of a view, or not on their alignment.

use crate::prelude::*;

shared!(TILE: [u32; BLOCK]);
shared!(HALVES: [u32; 2 * BLOCK]);

#[kernel(instances([Planted, Fixed]))]
pub fn no_guard<V: Version>(input: Global<u32>, output: Global<u32>) {
    let i = index_1d();
    if !V::FIXED || i < input.len() {
        output.set(i, input.get(i) + 1);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn guard_by_one<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    if if V::FIXED { i < n } else { i <= n } {
        output.set(i, input.get(i) + 1);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn before_the_first<V: Version>(input: Global<u32>, output: Global<u32>) {
    let i = index_1d();
    let left = if V::FIXED && i == 0 { 0 } else { input.get(i.wrapping_sub(1)) };
    output.set(i, input.get(i) + left);
}

#[kernel(instances([Planted, Fixed]))]
pub fn reverse_by_one<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    output.set(if V::FIXED { n - 1 - i } else { n - i }, input.get(i));
}

#[kernel(instances([Planted, Fixed]))]
pub fn second_guard<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Two elements per thread: the second may be missing where the first is there.
    let (first, n) = (block_idx_x() * 2 * 32 + thread_idx_x(), input.len());
    let mut value = if first < n { input.get(first) } else { 0 };
    if if V::FIXED { first + 32 < n } else { first < n } {
        value += input.get(first + 32);
    }
    let sum = warp::reduce_add(FULL, value);
    if lane_id() == 0 {
        output.set(block_idx_x(), sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn rest_of_a_pack<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    if i < if V::FIXED { n / 4 } else { n.div_ceil(4) } {
        output.set_pack(i, input.get_pack(i));
    }
    if V::FIXED && i < n % 4 {
        output.set(n / 4 * 4 + i, input.get(n / 4 * 4 + i));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn pack_off_its_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    // All but the first element: they begin 4 bytes behind a multiple of 16.
    let (i, rest) = (index_1d(), input.slice(1, input.len() - 1));
    if V::FIXED {
        output.set(i, rest.get(i));
    } else if i < rest.len() / 4 {
        output.set_pack(i, rest.get_pack(i));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn shared_seam<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), if V::FIXED { HALVES::view() } else { TILE::view() });
    tile.set(t, input.get(index_1d()));
    if t == 0 {
        tile.set(BLOCK, input.get(index_1d() + BLOCK)); // the seam on the right
    }
    sync_threads(); // tile and seam are there
    output.set(index_1d(), tile.get(t) + tile.get(t + 1));
}

#[kernel]
pub fn dynamic_bytes(input: Global<u32>, output: Global<u32>) {
    let t = thread_idx_x();
    let tile = Shared::<u32>::dynamic(0, BLOCK);
    tile.set(t, input.get(t));
    sync_threads(); // the tile is there
    output.set(t, tile.get(t ^ 1));
}

#[kernel(instances([Planted, Fixed]))]
pub fn rows_for_columns<V: Version>(a: Global<u32>, transposed: Global<u32>, rows: u32, columns: u32) {
    let x = block_idx_x() * 8 + thread_idx_x();
    let y = thread::block_idx_y() * 8 + thread::thread_idx_y();
    if V::FIXED {
        if x < columns && y < rows {
            transposed.set(x * rows + y, a.get(y * columns + x));
        }
    } else if x < rows && y < columns {
        transposed.set(x * rows + y, a.get(y * columns + x));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn bin_that_is_not_there<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    let key = keys.get(index_1d());
    // Keys go up to 1000 inclusive.
    let width = if V::FIXED { 1001_u32.div_ceil(10) } else { 100 };
    counts.fetch_add(key / width, 1, Relaxed, Scope::Device);
}

#[kernel(instances([Planted, Fixed]))]
pub fn neighbour_of_the_last<V: Version>(keys: Global<u32>, first: u32) {
    let at = 2 * index_1d() + first;
    if if V::FIXED { at + 1 < keys.len() } else { at < keys.len() } {
        let (a, b) = (keys.get(at), keys.get(at + 1));
        if a > b {
            keys.set(at, b);
            keys.set(at + 1, a);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn index_that_is_data<V: Version>(indices: Global<u32>, input: Global<u32>, output: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    let at = indices.get(i);
    // n stands for "none".
    output.set(i, if V::FIXED && at == n { 0 } else { input.get(at) });
}

#[cfg(not(target_os = "cuda"))]
fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

#[kernel(instances([Planted, Fixed]))]
pub fn dynamic_off_its_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    // A few bytes of flags, and the tile behind them.
    let (t, flags) = (thread_idx_x(), Shared::<u8>::dynamic(0, 6));
    let tile = Shared::<u32>::dynamic(if V::FIXED { 8 } else { 6 }, BLOCK);
    if t < 6 {
        flags.set(t, 1);
    }
    tile.set(t, input.get(t));
    sync_threads(); // the tile is there
    output.set(t, tile.get(BLOCK - 1 - t));
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "no-guard",
        bug: "The grid is rounded up to whole blocks, and the kernel does not check that its element exists.",
        effect: "Reads and writes other allocations, or ends with \"illegal address\" if the page is not mapped.",
        fix: "A guard.",
        finds: &[OutOfBounds],
        run: |on| {
            let x = numbers(100);
            let (input, output) = (on.input(x.clone())?, on.output(100)?);
            launch!(on, no_guard, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| v + 1))
        },
    },
    Case {
        name: "guard-by-one",
        bug: "The guard lets one element too many through.",
        effect: "One word past the end is read and written: mostly padding of the allocation, so nothing shows.",
        fix: "`<` for `<=`.",
        finds: &[OutOfBounds],
        run: |on| {
            let x = numbers(100);
            let (input, output) = (on.input(x.clone())?, on.output(100)?);
            launch!(on, guard_by_one, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| v + 1))
        },
    },
    Case {
        name: "before-the-first",
        bug: "The first element reads its left neighbour.",
        effect: "The index wraps to 2³² - 1: \"illegal address\", or another allocation's word.",
        fix: "The first element has no neighbour.",
        finds: &[OutOfBounds],
        run: |on| {
            let x = numbers(128);
            let (input, output) = (on.input(x.clone())?, on.output(128)?);
            launch!(on, before_the_first, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..128).map(|i| x[i] + if i > 0 { x[i - 1] } else { 0 }))
        },
    },
    Case {
        name: "reverse-by-one",
        bug: "The kernel uses n - i as the mirror index of element i.",
        effect: "Element 0 is written past the end of the array, and the first word of the output is never written.",
        fix: "n - 1 - i.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let x = numbers(128);
            let (input, output) = (on.input(x.clone())?, on.output(128)?);
            launch!(on, reverse_by_one, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "second-guard",
        bug: "Each thread processes two elements and guards only the first.",
        effect: "The sum contains words past the end of the array.",
        fix: "A guard for each.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let x = numbers(100);
            let (input, output) = (on.input(x.clone())?, on.output(2)?);
            launch!(on, second_guard, Geometry::linear(2, 32), input.view(), output.view())?;
            on.ended(&output, x.chunks(64).map(|tile| tile.iter().sum()))
        },
    },
    Case {
        name: "rest-of-a-pack",
        bug: "A copy in packs of 16 bytes rounds the number of packs up.",
        effect: "Up to three words past the end of both arrays are read and written.",
        fix: "Whole packs, and the remainder word by word.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let x = numbers(102);
            let (input, output) = (on.input(x.clone())?, on.output(102)?);
            launch!(on, rest_of_a_pack, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, x)
        },
    },
    Case {
        name: "pack-off-its-place",
        bug: "Packs are read from a slice that does not begin at a multiple of 16 bytes.",
        effect: "\"Misaligned address\" ends the program.",
        fix: "Word by word; or words up to the first multiple of 16 bytes, and packs from there on.",
        finds: &[Misaligned, Unwritten],
        run: |on| {
            let x = numbers(65);
            let (input, output) = (on.input(x.clone())?, on.output(64)?);
            launch!(on, pack_off_its_place, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, x[1..].to_vec())
        },
    },
    Case {
        name: "shared-seam",
        bug: "The tile has no room for its halo.",
        effect: "Overwrites the array that the compiler has placed after the tile.",
        fix: "A tile with room for its halo.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(2 * BLOCK)?);
            launch!(on, shared_seam, Geometry::linear(2, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..128).map(|i| x[i] + x[i + 1]))
        },
    },
    Case {
        name: "dynamic-bytes",
        bug: "The launch passes the number of words of dynamic shared memory as the number of bytes.",
        effect: "\"Illegal address\", or the words of another block.",
        fix: "Four bytes per word.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            let bytes = if on.fixed { 4 * BLOCK } else { BLOCK };
            on.launch(dynamic_bytes, Geometry::linear(1, BLOCK).shared(bytes), (input.view(), output.view()))?;
            on.ended(&output, (0..64).map(|t| x[t ^ 1]))
        },
    },
    Case {
        name: "rows-for-columns",
        bug: "A transpose compares x with the number of rows and y with the number of columns; a square matrix hides \
              it.",
        effect: "Elements outside the matrix are read, and others are skipped.",
        fix: "x is compared with the columns, y with the rows.",
        finds: &[OutOfBounds, Unwritten],
        run: |on| {
            let (rows, columns) = (24, 10);
            let x = numbers(rows * columns);
            let (a, transposed) = (on.input(x.clone())?, on.output(rows * columns)?);
            let geometry = Geometry::plane((3, 3), (8, 8));
            launch!(on, rows_for_columns, geometry, a.view(), transposed.view(), rows, columns)?;
            on.ended(&transposed, (0..rows * columns).map(|i| x[(i % rows * columns + i / rows) as usize]))
        },
    },
    Case {
        name: "bin-that-is-not-there",
        bug: "Ten bins of 100 values each, and the largest value, 1000, is in the eleventh.",
        effect: "The count is added to the word past the end of the bins.",
        fix: "Bins that cover the range.",
        finds: &[OutOfBounds],
        run: |on| {
            let mut x = numbers(128);
            x.iter_mut().for_each(|v| *v = (*v).min(1000));
            x[77] = 1000;
            let (keys, counts) = (on.input(x.clone())?, on.input([0; 10])?);
            launch!(on, bin_that_is_not_there, Geometry::linear(2, BLOCK), keys.view(), counts.view())?;
            on.ended(&counts, (0..10).map(|bin| x.iter().filter(|&&v| v / 101 == bin).count() as u32))
        },
    },
    Case {
        name: "neighbour-of-the-last",
        bug: "A phase of odd-even transposition guards only the first key of a pair: with an odd number of keys the \
              last one has no partner.",
        effect: "The last key is exchanged with the word past the end of the array.",
        fix: "The guard checks the second key.",
        finds: &[OutOfBounds],
        run: |on| {
            let x = numbers(33);
            let keys = on.input(x.clone())?;
            for round in 0..33 {
                launch!(on, neighbour_of_the_last, Geometry::linear(1, 32), keys.view(), round % 2)?;
            }
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "index-that-is-data",
        bug: "Indices are read from memory, and one of them means \"none\".",
        effect: "The word past the end of the array is used as an element.",
        fix: "The kernel checks the index before using it.",
        finds: &[OutOfBounds],
        run: |on| {
            let (x, mut at) = (numbers(50), numbers(64));
            at.iter_mut().for_each(|i| *i %= 50);
            at[33] = 50;
            let (indices, input, output) = (on.input(at.clone())?, on.input(x.clone())?, on.output(64)?);
            launch!(on, index_that_is_data, Geometry::linear(1, 64), indices.view(), input.view(), output.view())?;
            on.ended(&output, at.iter().map(|&i| x.get(i as usize).copied().unwrap_or(0)))
        },
    },
    Case {
        name: "dynamic-off-its-place",
        bug: "An array in dynamic shared memory begins at byte offset 6.",
        effect: "\"Misaligned address\" ends the program.",
        fix: "An offset that is a multiple of the element size.",
        finds: &[Misaligned, Unwritten],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            let geometry = Geometry::linear(1, BLOCK).shared(4 * BLOCK + 8);
            launch!(on, dynamic_off_its_place, geometry, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
];
