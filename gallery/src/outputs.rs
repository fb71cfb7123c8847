//! Kernels in which no access is undefined, and that put out the wrong words, too few of them, or the right ones
//! slowly.

use crate::prelude::*;

shared!(TILE: [u32; 96]);
shared!(WIDE: [u32; 33 * 32]);
shared!(NARROW: [u32; 32 * 32]);

#[kernel(instances([Planted, Fixed]))]
pub fn y_not_added<V: Version>(a: u32, x: Global<u32>, y: Global<u32>) {
    let i = index_1d();
    if i < x.len() {
        y.set(i, if V::FIXED { a * x.get(i) + y.get(i) } else { a * x.get(i) });
    }
}

#[kernel]
pub fn grid_rounded_down(input: Global<u32>, output: Global<u32>) {
    let i = index_1d();
    if i < input.len() {
        output.set(i, input.get(i) + 1);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn tail_of_four<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (i, n) = (index_1d(), input.len());
    if i < n / 4 {
        output.set_pack(i, input.get_pack(i));
    }
    if V::FIXED && i < n % 4 {
        output.set(n / 4 * 4 + i, input.get(n / 4 * 4 + i));
    }
}

#[kernel]
pub fn one_tile_before_sums(input: Global<u32>, sums: Global<u32>) {
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if lane_id() == 0 {
        sums.set(block_idx_x(), sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_tile_before<V: Version>(input: Global<u32>, sums: Global<u32>, output: Global<u32>) {
    let (lane, block, i) = (lane_id(), block_idx_x(), index_1d());
    let mut sum = input.get(i);
    let mut distance = 1;
    while distance < 32 {
        let before = warp::shuffle_up(FULL, sum, distance);
        if lane >= distance {
            sum += before;
        }
        distance *= 2;
    }
    if V::FIXED {
        for tile in 0..block {
            sum += sums.get(tile);
        }
    } else if block > 0 {
        sum += sums.get(block - 1);
    }
    output.set(i, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn odd_rest<V: Version>(input: Global<u32>, output: Global<u32>) {
    // 96 elements: 48, 24, 12, 6, 3 and then an odd number.
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    let mut left: u32 = 96;
    while left > 1 {
        sync_threads(); // the level below is complete before this one reads it
        let half = if V::FIXED { left.div_ceil(2) } else { left / 2 };
        if t < left / 2 {
            tile.set(t, tile.get(t) + tile.get(t + half));
        }
        left = half;
    }
    if t == 0 {
        output.set(0, tile.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn root_not_cleared<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Blelloch's scan of 64 elements by 32 threads.
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    tile.set(t + 32, input.get(t + 32));
    let mut distance = 1;
    while distance < 64 {
        sync_threads(); // the level below is complete
        let right = 2 * distance * (t + 1) - 1;
        if right < 64 {
            tile.set(right, tile.get(right) + tile.get(right - distance));
        }
        distance *= 2;
    }
    sync_threads(); // the root is the total
    if V::FIXED && t == 0 {
        tile.set(63, 0);
    }
    distance = 32;
    while distance > 0 {
        sync_threads(); // the level above is complete
        let right = 2 * distance * (t + 1) - 1;
        if right < 64 {
            let left = tile.get(right - distance);
            tile.set(right - distance, tile.get(right));
            tile.set(right, tile.get(right) + left);
        }
        distance /= 2;
    }
    sync_threads(); // all prefixes are there
    output.set(t, tile.get(t));
    output.set(t + 32, tile.get(t + 32));
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_index_unpadded<V: Version>(input: Global<u32>, output: Global<u32>) {
    // A word of padding behind every 32 words.
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t + t / 32, input.get(t));
    sync_threads(); // the tile is there
    let other = 63 - t;
    output.set(t, tile.get(if V::FIXED { other + other / 32 } else { other }));
}

#[kernel(instances([Planted, Fixed]))]
pub fn last_pair<V: Version>(keys: Global<u32>, first: u32) {
    let at = 2 * index_1d() + first;
    if at + if V::FIXED { 1 } else { 2 } < keys.len() {
        let (a, b) = (keys.get(at), keys.get(at + 1));
        if a > b {
            keys.set(at, b);
            keys.set(at + 1, a);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn direction<V: Version>(keys: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, keys.get(t));
    let mut stage = 2;
    while stage <= 64 {
        let mut distance = stage / 2;
        while distance > 0 {
            sync_threads(); // each step reads what the step before has written
            let partner = t ^ distance;
            if partner > t {
                let (a, b) = (tile.get(t), tile.get(partner));
                let up = t & if V::FIXED { stage } else { distance } == 0;
                if (a > b) == up {
                    tile.set(t, b);
                    tile.set(partner, a);
                }
            }
            distance /= 2;
        }
        stage *= 2;
    }
    sync_threads(); // all keys have their place
    keys.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn no_power_of_two<V: Version>(keys: Global<u32>, stage: u32, distance: u32) {
    // One step of a bitonic sort. With mirrored first steps all directions are the same, and missing keys are large.
    let i = index_1d();
    let mirrored = V::FIXED && 2 * distance == stage;
    let partner = if mirrored { i ^ (stage - 1) } else { i ^ distance };
    if partner > i && partner < keys.len() {
        let (a, b) = (keys.get(i), keys.get(partner));
        if (a > b) == (V::FIXED || i & stage == 0) && a != b {
            keys.set(i, b);
            keys.set(partner, a);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn half_not_reversed<V: Version>(keys: Global<u32>) {
    // Merges two sorted halves: one read backwards, they are bitonic.
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, keys.get(if V::FIXED && t >= 32 { 95 - t } else { t }));
    let mut distance = 32;
    while distance > 0 {
        sync_threads(); // each step reads what the step before has written
        if t & distance == 0 && tile.get(t) > tile.get(t + distance) {
            let larger = tile.get(t);
            tile.set(t, tile.get(t + distance));
            tile.set(t + distance, larger);
        }
        distance /= 2;
    }
    sync_threads(); // all keys have their place
    keys.set(t, tile.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn order_of_windows<V: Version>(keys: Global<u32>) {
    // Merges a bitonic sequence of 64 keys, two steps between barriers.
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, keys.get(if t >= 32 { 95 - t } else { t }));
    for window in 0..3 {
        sync_threads(); // the window before is complete
        let high = if V::FIXED { 32 >> (2 * window) } else { 2 << (2 * window) };
        // A thread takes four keys, whose indices differ in two bits.
        if t < 16 {
            let low = high / 2;
            let at = (t & !(low - 1)) << 2 | t & (low - 1);
            for step in 0..2 {
                let distance = high >> step;
                for pair in 0..2 {
                    let from = at + if step == 0 { pair * low } else { pair * high };
                    let (a, b) = (tile.get(from), tile.get(from + distance));
                    if a > b {
                        tile.set(from, b);
                        tile.set(from + distance, a);
                    }
                }
            }
        }
    }
    sync_threads(); // all keys have their place
    keys.set(t, tile.get(t));
}

#[kernel]
pub fn block_major_counts(keys: Global<u32>, counts: Global<u32>) {
    // counts[block * 4 + digit]
    let peers = warp::match_any(FULL, keys.get(index_1d()) % 4);
    if peers.trailing_zeros() == lane_id() {
        counts.set(block_idx_x() * 4 + keys.get(index_1d()) % 4, peers.count_ones());
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn block_major<V: Version>(keys: Global<u32>, counts: Global<u32>, output: Global<u32>) {
    // A stable pass over the lowest two bits: before a digit's keys of this block come all smaller digits of all
    // blocks, and the same digit of earlier blocks.
    let (key, blocks, block) = (keys.get(index_1d()), counts.len() / 4, block_idx_x());
    let (digit, mut before) = (key % 4, 0);
    for other in 0..blocks {
        for smaller in 0..4 {
            let counts_before = if V::FIXED {
                smaller < digit || smaller == digit && other < block
            } else {
                other < block || other == block && smaller < digit
            };
            if counts_before {
                before += counts.get(other * 4 + smaller);
            }
        }
    }
    let peers = warp::match_any(FULL, digit);
    let below = (1 << lane_id()) - 1;
    output.set(before + (peers & below).count_ones(), key);
}

#[kernel(instances([Planted, Fixed]))]
pub fn every_thread_adds<V: Version>(input: Global<u32>, total: Global<u32>) {
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if !V::FIXED || lane_id() == 0 {
        total.fetch_add(0, sum, Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn ticket_not_reset<V: Version>(input: Global<u32>, sums: Global<u32>, ticket: Global<u32>, total: Global<u32>) {
    let blocks = thread::grid_dim_x();
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if lane_id() == 0 {
        sums.set(block_idx_x(), sum);
        if ticket.fetch_add(0, 1, AcqRel, Scope::Device) == blocks - 1 {
            let mut all = 0;
            for block in 0..blocks {
                all += sums.get(block);
            }
            total.set(0, all);
            if V::FIXED {
                ticket.store(0, 0, Relaxed, Scope::Device);
            }
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn neutral_element<V: Version>(input: Global<u32>, smallest: Global<u32>) {
    let i = index_1d();
    let value = if i < input.len() {
        input.get(i)
    } else if V::FIXED {
        u32::MAX
    } else {
        0
    };
    let least = warp::reduce_min(FULL, value);
    if lane_id() == 0 {
        smallest.fetch_min(0, least, Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn sum_too_narrow<V: Version>(input: Global<u32>, total: Global<u32>) {
    let value = input.get(index_1d());
    if V::FIXED {
        total.cast::<u64>().fetch_add(0, value as u64, Relaxed, Scope::Device);
    } else {
        total.fetch_add(0, value, Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn chunk_of_a_thread<V: Version>(input: Global<u32>, output: Global<u32>) {
    // 16 elements per thread: neighbouring ones, or neighbours of the other threads'.
    let (t, mut sum) = (thread_idx_x(), 0);
    for k in 0..16 {
        sum += input.get(if V::FIXED { k * 32 + t } else { t * 16 + k });
    }
    output.set(t, warp::reduce_add(FULL, sum));
}

#[kernel(instances([Planted, Fixed]))]
pub fn stride_that_doubles<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), NARROW::view());
    tile.set(t, input.get(t));
    tile.set(t + 256, input.get(t + 256));
    let mut distance = if V::FIXED { 256 } else { 1 };
    while distance > 0 && distance < 512 {
        sync_threads(); // the level below is complete before this one reads it
        if V::FIXED {
            if t < distance {
                tile.set(t, tile.get(t) + tile.get(t + distance));
            }
            distance /= 2;
        } else {
            let at = 2 * distance * t;
            if at < 512 {
                tile.set(at, tile.get(at) + tile.get(at + distance));
            }
            distance *= 2;
        }
    }
    if t == 0 {
        output.set(0, tile.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn table_of_a_lane<V: Version>(keys: Global<u32>, counts: Global<u32>) {
    // 32 bins per lane: contiguous, or a bank for each lane.
    let (lane, table) = (lane_id(), NARROW::view());
    for bin in 0..32 {
        table.set(bin * 32 + lane, 0);
    }
    sync_warp(FULL); // the tables are clear before other lanes count into them
    for k in 0..4 {
        let bin = keys.get(k * 32 + lane) % 32;
        let at = if V::FIXED { bin * 32 + lane } else { lane * 32 + bin };
        table.set(at, table.get(at) + 1);
    }
    sync_warp(FULL); // all keys are counted
    let mut sum = 0;
    for k in 0..32 {
        sum += table.get(if V::FIXED { lane * 32 + (k + lane) % 32 } else { k * 32 + lane });
    }
    counts.set(lane, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn columns_of_a_tile<V: Version>(input: Global<u32>, output: Global<u32>) {
    // A tile of 32 × 32 is stored by rows and read by columns, by one warp.
    let (lane, tile) = (lane_id(), if V::FIXED { WIDE::view() } else { NARROW::view() });
    let row = if V::FIXED { 33 } else { 32 };
    for y in 0..32 {
        tile.set(y * row + lane, input.get(y * 32 + lane));
    }
    sync_warp(FULL); // all rows are stored
    for y in 0..32 {
        output.set(y * 32 + lane, tile.get(lane * row + y));
    }
}

#[cfg(not(target_os = "cuda"))]
fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

/// Two sorted halves of 32 keys.
#[cfg(not(target_os = "cuda"))]
fn sorted_halves() -> Vec<u32> {
    let x = numbers(64);
    [sorted(x[..32].to_vec()), sorted(x[32..].to_vec())].concat()
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "y-not-added",
        bug: "The kernel computes a·x instead of a·x + y; a test with y = 0 hides it.",
        effect: "A wrong result.",
        fix: "The sum.",
        finds: &[WrongResult],
        run: |on| {
            let (x, y) = (numbers(100), numbers(110)[10..].to_vec());
            let (a, b) = (on.input(x.clone())?, on.input(y.clone())?);
            launch!(on, y_not_added, Geometry::linear(4, 32), 3, a.view(), b.view())?;
            on.ended(&b, (0..100).map(|i| 3 * x[i] + y[i]))
        },
    },
    Case {
        name: "grid-rounded-down",
        bug: "The number of blocks is n / BLOCK.",
        effect: "The last elements keep the old content of the memory.",
        fix: "n / BLOCK, rounded up.",
        finds: &[Unwritten],
        run: |on| {
            let x = numbers(100);
            let (input, output) = (on.input(x.clone())?, on.output(100)?);
            let blocks = if on.fixed { 100_u32.div_ceil(32) } else { 100 / 32 };
            on.launch(grid_rounded_down, Geometry::linear(blocks, 32), (input.view(), output.view()))?;
            on.ended(&output, x.iter().map(|v| v + 1))
        },
    },
    Case {
        name: "tail-of-four",
        bug: "A copy in packs of 16 bytes omits the incomplete last pack.",
        effect: "Up to three elements keep the old content of the memory.",
        fix: "The rest word by word.",
        finds: &[Unwritten],
        run: |on| {
            let x = numbers(103);
            let (input, output) = (on.input(x.clone())?, on.output(103)?);
            launch!(on, tail_of_four, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, x)
        },
    },
    Case {
        name: "one-tile-before",
        bug: "A scan over tiles adds to each tile the sum of the one tile before it.",
        effect: "Right up to the second tile.",
        fix: "The sum of all tiles before.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(128);
            let (input, sums, output) = (on.input(x.clone())?, on.scratch(4)?, on.output(128)?);
            let geometry = Geometry::linear(4, 32);
            on.launch(one_tile_before_sums, geometry, (input.view(), sums.view()))?;
            launch!(on, one_tile_before, geometry, input.view(), sums.view(), output.view())?;
            on.ended(&output, (1..=128).map(|n| x[..n].iter().sum()))
        },
    },
    Case {
        name: "odd-rest",
        bug: "A tree of sums halves the number of elements, rounding down.",
        effect: "One element is lost at each odd number; blocks of a power of two hide it.",
        fix: "Rounding up: the middle element has no partner and stays.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(96);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, odd_rest, Geometry::linear(1, 96), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "root-not-cleared",
        bug: "Blelloch's scan goes down its tree without setting the root to zero.",
        effect: "The total is added to every prefix.",
        fix: "The root is set to zero between the two passes.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(64);
            let (input, output) = (on.input(x.clone())?, on.output(64)?);
            launch!(on, root_not_cleared, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|n| x[..n].iter().sum()))
        },
    },
    Case {
        name: "one-index-unpadded",
        bug: "A padded array is written with padding and read without.",
        effect: "Every element after the first padding word is read from its neighbour's place, and one is the \
              padding.",
        fix: "One function for the padded index, used everywhere.",
        finds: &[UninitialisedShared],
        run: |on| {
            let x = numbers(64);
            let (input, output) = (on.input(x.clone())?, on.output(64)?);
            launch!(on, one_index_unpadded, Geometry::linear(1, 64), input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "last-pair",
        bug: "The guard of odd-even transposition skips the last pair.",
        effect: "The last key stays where it is.",
        fix: "The guard checks the second key of the pair, not the one after it.",
        finds: &[WrongResult],
        run: |on| {
            let x: Vec<u32> = (0..40).rev().collect();
            let keys = on.input(x.clone())?;
            for round in 0..40 {
                launch!(on, last_pair, Geometry::linear(1, 32), keys.view(), round % 2)?;
            }
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "direction",
        bug: "The direction of a bitonic sort's step is taken from the step's distance instead of the stage's length.",
        effect: "A permutation of the keys that is not sorted.",
        fix: "The bit of the stage.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(64);
            let keys = on.input(x.clone())?;
            launch!(on, direction, Geometry::linear(1, 64), keys.view())?;
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "no-power-of-two",
        bug: "A bitonic sort with alternating directions skips partners that do not exist.",
        effect: "Not sorted unless n is a power of two.",
        fix: "All directions alike, with a mirrored first step; missing keys then count as the largest.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(50);
            let keys = on.input(x.clone())?;
            for stage in (1..7).map(|k| 1 << k) {
                let mut distance = stage / 2;
                while distance > 0 {
                    launch!(on, no_power_of_two, Geometry::linear(2, 32), keys.view(), stage, distance)?;
                    distance /= 2;
                }
            }
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "half-not-reversed",
        bug: "Two sorted halves are merged as if they were bitonic, with neither read backwards.",
        effect: "A permutation of the keys that is not sorted.",
        fix: "The second half is read backwards.",
        finds: &[WrongResult],
        run: |on| {
            let x = sorted_halves();
            let keys = on.input(x.clone())?;
            launch!(on, half_not_reversed, Geometry::linear(1, 64), keys.view())?;
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "order-of-windows",
        bug: "The steps of a merge are done two at a time, and the pairs of steps come in the wrong order.",
        effect: "A permutation of the keys that is not sorted.",
        fix: "Long distances first.",
        finds: &[WrongResult],
        run: |on| {
            let x = sorted_halves();
            let keys = on.input(x.clone())?;
            launch!(on, order_of_windows, Geometry::linear(1, 64), keys.view())?;
            on.ended(&keys, sorted(x))
        },
    },
    Case {
        name: "block-major",
        bug: "A radix sort's counts are added up block by block instead of digit by digit.",
        effect: "Each block's keys are sorted among themselves.",
        fix: "All blocks' counts of a digit before the next digit's.",
        finds: &[WrongResult],
        run: |on| {
            let mut x = numbers(128);
            let (keys, counts, output) = (on.input(x.clone())?, on.input([0; 16])?, on.output(128)?);
            let geometry = Geometry::linear(4, 32);
            on.launch(block_major_counts, geometry, (keys.view(), counts.view()))?;
            launch!(on, block_major, geometry, keys.view(), counts.view(), output.view())?;
            x.sort_by_key(|key| key % 4);
            on.ended(&output, x)
        },
    },
    Case {
        name: "every-thread-adds",
        bug: "Every thread adds the warp's sum to the total.",
        effect: "The total is 32 times what it should be.",
        fix: "One lane adds it.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(128);
            let (input, total) = (on.input(x.clone())?, on.input([0])?);
            launch!(on, every_thread_adds, Geometry::linear(4, 32), input.view(), total.view())?;
            on.ended(&total, [x.iter().sum()])
        },
    },
    Case {
        name: "ticket-not-reset",
        bug: "The last block's ticket counter is not reset: the second launch has no last block.",
        effect: "The first call is right, and the second returns the first one's result.",
        fix: "The last block resets it.",
        finds: &[WrongResult],
        run: |on| {
            let (x, y) = (numbers(128), numbers(150)[22..].to_vec());
            let (first, second) = (on.input(x)?, on.input(y.clone())?);
            let (sums, ticket, total) = (on.scratch(4)?, on.input([0])?, on.output(1)?);
            for input in [first, second] {
                let geometry = Geometry::linear(4, 32);
                launch!(on, ticket_not_reset, geometry, input.view(), sums.view(), ticket.view(), total.view())?;
            }
            on.ended(&total, [y.iter().sum()])
        },
    },
    Case {
        name: "neutral-element",
        bug: "Threads without an element contribute 0 to a minimum.",
        effect: "The result is 0 unless n fills the blocks.",
        fix: "These threads contribute the largest number.",
        finds: &[WrongResult],
        run: |on| {
            let x: Vec<u32> = numbers(100).iter().map(|v| v + 5).collect();
            let (input, smallest) = (on.input(x.clone())?, on.input([u32::MAX])?);
            launch!(on, neutral_element, Geometry::linear(4, 32), input.view(), smallest.view())?;
            on.ended(&smallest, x.into_iter().min())
        },
    },
    Case {
        name: "sum-too-narrow",
        bug: "A sum of 32-bit numbers is kept in 32 bits.",
        effect: "It wraps; small inputs hide it.",
        fix: "64 bits.",
        finds: &[WrongResult],
        run: |on| {
            let x: Vec<u32> = numbers(128).iter().map(|v| v << 20).collect();
            let (input, total) = (on.input(x.clone())?, on.input([0; 2])?);
            launch!(on, sum_too_narrow, Geometry::linear(4, 32), input.view(), total.view())?;
            let sum: u64 = x.iter().map(|&v| v as u64).sum();
            on.ended(&total, [sum as u32, (sum >> 32) as u32])
        },
    },
    Case {
        name: "chunk-of-a-thread",
        bug: "Each thread reads a chunk of neighbouring elements: the lanes of a warp are 64 bytes apart.",
        effect: "Each request of a warp fetches 32 sectors instead of 4.",
        fix: "Neighbouring lanes read neighbouring elements.",
        finds: &[MoreSectors],
        run: |on| {
            let x = numbers(512);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, chunk_of_a_thread, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum(); 32])
        },
    },
    Case {
        name: "stride-that-doubles",
        bug: "A tree of sums in shared memory adds neighbours first, with a stride that doubles at each level.",
        effect: "The working lanes' words share banks: up to 32 wavefronts for one access.",
        fix: "Sequential addressing: the active threads use neighbouring words.",
        finds: &[MoreWavefronts],
        run: |on| {
            let x = numbers(512);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, stride_that_doubles, Geometry::linear(1, 256), input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "table-of-a-lane",
        bug: "Each lane counts in its own table, copy · bins + bin: equal bins of all lanes share a bank.",
        effect: "Skewed keys take 32 wavefronts per count.",
        fix: "bin · copies + copy: a bank for each lane, whatever the keys.",
        finds: &[MoreWavefronts],
        run: |on| {
            let x: Vec<u32> = numbers(128).iter().map(|v| v / 900 + 3).collect();
            let (keys, counts) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, table_of_a_lane, Geometry::linear(1, 32), keys.view(), counts.view())?;
            on.ended(&counts, (0..32).map(|bin| x.iter().filter(|&&key| key % 32 == bin).count() as u32))
        },
    },
    Case {
        name: "columns-of-a-tile",
        bug: "A tile of 32 × 32 words is read by columns: all words of a column are in one bank.",
        effect: "32 wavefronts per read.",
        fix: "Rows 33 words apart.",
        finds: &[MoreWavefronts],
        run: |on| {
            let x = numbers(1024);
            let (input, output) = (on.input(x.clone())?, on.output(1024)?);
            launch!(on, columns_of_a_tile, Geometry::linear(1, 32), input.view(), output.view())?;
            on.ended(&output, (0..1024).map(|i| x[i % 32 * 32 + i / 32]))
        },
    },
];
