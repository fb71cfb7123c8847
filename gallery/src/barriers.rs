//! Barriers of a block: every thread of the block reaches the same call, as often as the others.

use crate::prelude::*;

shared!(TILE: [u32; BLOCK]);
shared!(ONE: [u32; 1]);

#[kernel(instances([Planted, Fixed]))]
pub fn barrier_in_a_branch<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, n, tile) = (thread_idx_x(), input.len(), TILE::view());
    if t < n {
        tile.set(t, input.get(t));
        if !V::FIXED {
            sync_threads();
        }
    }
    if V::FIXED {
        sync_threads(); // threads without an element come as well
    }
    if t < n {
        output.set(t, tile.get(n - 1 - t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_barriers<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t % 2 == 0 {
        tile.set(t, input.get(t));
        if !V::FIXED {
            sync_threads();
        }
    } else {
        tile.set(t, 2 * input.get(t));
        if !V::FIXED {
            sync_threads();
        }
    }
    if V::FIXED {
        sync_threads(); // one call, after the arms have met
    }
    output.set(t, tile.get(t ^ 1));
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_barriers_by_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t < 32 {
        tile.set(t, input.get(t));
        if !V::FIXED {
            sync_threads();
        }
    } else {
        tile.set(t, 2 * input.get(t));
        if !V::FIXED {
            sync_threads();
        }
    }
    if V::FIXED {
        sync_threads(); // one call, after the arms have met
    }
    output.set(t, tile.get(t ^ 32));
}

#[kernel(instances([Planted, Fixed]))]
pub fn return_before_the_barrier<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, n, tile) = (thread_idx_x(), input.len(), TILE::view());
    if !V::FIXED && t >= n {
        return;
    }
    tile.set(t, if t < n { input.get(t) } else { 0 });
    sync_threads(); // the tile is there
    if t < n {
        output.set(t, tile.get(n - 1 - t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn product_return_at_the_edge<V: Version>(a: Global<u32>, b: Global<u32>, c: Global<u32>, n: u32) {
    // A product of n × n matrices; n is no multiple of the tile's 8.
    let (x, y, tile) = (thread_idx_x(), thread::thread_idx_y(), TILE::view());
    let (column, row) = (block_idx_x() * 8 + x, thread::block_idx_y() * 8 + y);
    if !V::FIXED && (row >= n || column >= n) {
        return;
    }
    let mut sum = 0;
    for step in 0..n.div_ceil(8) {
        let k = step * 8 + y;
        tile.set(y * 8 + x, if k < n && column < n { b.get(k * n + column) } else { 0 });
        sync_threads(); // the tile is there before it is used
        for k in 0..8 {
            if row < n && step * 8 + k < n {
                sum += a.get(row * n + step * 8 + k) * tile.get(k * 8 + x);
            }
        }
        sync_threads(); // the tile has been used before the next one overwrites it
    }
    if row < n && column < n {
        c.set(row * n + column, sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn rounds_by_thread<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, n, tile) = (thread_idx_x(), input.len(), TILE::view());
    // 150 elements, 64 threads: some threads have three, others two.
    let mut i = t;
    let mut sum = 0;
    while if V::FIXED { i - t < n } else { i < n } {
        tile.set(t, if i < n { input.get(i) } else { 0 });
        sync_threads(); // the tile is there
        sum += tile.get(t ^ 1);
        sync_threads(); // the tile has been used
        i += BLOCK;
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn until_it_is_done<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Halves a number until it is 1, all threads side by side.
    let t = thread_idx_x();
    let (mut value, mut rounds) = (input.get(t) + 1, 0);
    loop {
        let done = value == 1;
        if V::FIXED {
            if thread::sync_threads_and(done) {
                break; // all at once
            }
        } else {
            if done {
                break;
            }
            sync_threads();
        }
        if !done {
            value /= 2;
            rounds += 1;
        }
    }
    output.set(t, rounds);
}

#[kernel(instances([Planted, Fixed]))]
pub fn vote_in_one_arm<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, own) = (thread_idx_x(), input.get(thread_idx_x()));
    let large = if V::FIXED {
        thread::sync_threads_count(own > 500)
    } else if own > 500 {
        thread::sync_threads_count(true)
    } else {
        thread::sync_threads_count(false)
    };
    output.set(t, large);
}

#[kernel(instances([Planted, Fixed]))]
pub fn named_barrier_count<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Three warps, of which two exchange elements.
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t < BLOCK {
        tile.set(t, input.get(t));
        thread::barrier(1, if V::FIXED { BLOCK } else { 96 }); // the two warps that take part
        output.set(t, tile.get(t ^ 32));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn named_barrier_number<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t < 32 {
        tile.set(t, input.get(t));
        thread::barrier(1, BLOCK); // the tile is there
        output.set(t, 0);
    } else {
        thread::barrier(if V::FIXED { 1 } else { 2 }, BLOCK); // the tile is there
        output.set(t, tile.get(63 - t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn named_barrier_half_a_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, tile) = (thread_idx_x(), TILE::view());
    tile.set(t, input.get(t));
    if V::FIXED || t % 2 == 0 {
        thread::barrier(1, if V::FIXED { BLOCK } else { 32 }); // whole warps arrive
    }
    output.set(t, if t % 2 == 0 { tile.get((t + 34) % BLOCK) } else { 0 });
}

#[kernel(instances([Planted, Fixed]))]
pub fn leader_leaves<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, one) = (thread_idx_x(), ONE::view());
    let sum = warp::reduce_add(FULL, input.get(t));
    if t == 0 {
        one.set(0, sum);
        if !V::FIXED {
            output.set(0, sum);
            return;
        }
    }
    sync_threads(); // the sum is there
    output.set(t, one.get(0));
}

#[kernel(instances([Planted, Fixed]))]
pub fn barrier_of_a_role<V: Version>(input: Global<u32>, output: Global<u32>) {
    // One warp loads, the other computes; both meet twice per tile.
    let (t, tile) = (thread_idx_x(), TILE::view());
    let lane = t % 32;
    if t < 32 {
        for step in 0..3 {
            tile.set(lane, input.get(step * 32 + lane));
            thread::barrier(1, BLOCK); // the tile is there
            if V::FIXED || step < 2 {
                thread::barrier(2, BLOCK); // the tile has been used
            }
        }
        output.set(t, 0);
    } else {
        let mut sum = 0;
        for _ in 0..3 {
            thread::barrier(1, BLOCK); // the tile is there
            sum += tile.get(31 - lane);
            thread::barrier(2, BLOCK); // the tile has been used
        }
        output.set(t, sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn named_barrier_by_lanes<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Two warps; half of the lanes have something else to write.
    let (t, tile) = (thread_idx_x(), TILE::view());
    if t % 2 == 0 {
        tile.set(t, input.get(t));
        if !V::FIXED {
            thread::barrier(1, BLOCK); // the tile is there
        }
    } else {
        tile.set(t, 2 * input.get(t));
        if !V::FIXED {
            thread::barrier(1, BLOCK); // the tile is there
        }
    }
    if V::FIXED {
        thread::barrier(1, BLOCK); // one call, after the arms have met
    }
    output.set(t, tile.get(63 - t));
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "barrier-in-a-branch",
        bug: "A barrier inside a branch that threads without an element do not take.",
        effect: "Hangs, or lets the others through: GPUs differ in how they count warps and exited threads.",
        fix: "The barrier outside of the branch.",
        finds: &[MissedBarrier, DivergentBarrier, UninitialisedShared, SharedRace],
        run: |on| {
            let x = numbers(50);
            let (input, output) = (on.input(x.clone())?, on.output(50)?);
            launch!(on, barrier_in_a_branch, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "two-barriers",
        bug: "Each arm of a branch has its own barrier, and the lanes of a warp take both arms.",
        effect: "A GPU may treat the two as one barrier; the compiler may assume that it does not. The kernel hangs, \
              or works until the next compiler.",
        fix: "One barrier after the arms.",
        finds: &[DivergentBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, two_barriers, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t % 2 == 0 { 2 * x[t + 1] } else { x[t - 1] }))
        },
    },
    Case {
        name: "two-barriers-by-warp",
        bug: "Each arm of a branch has its own barrier, and each warp takes one arm.",
        effect: "Works on today's GPUs, whose barriers do not depend on the source line; the language requires one \
              line for all threads.",
        fix: "One barrier after the arms, or a named barrier.",
        finds: &[DivergentBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, two_barriers_by_warp, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t < 32 { 2 * x[t + 32] } else { x[t - 32] }))
        },
    },
    Case {
        name: "return-before-the-barrier",
        bug: "Threads without an element return before the barrier.",
        effect: "Today's GPUs no longer wait for threads that have ended; the language does not promise it.",
        fix: "These threads stay and do nothing.",
        finds: &[MissedBarrier],
        run: |on| {
            let x = numbers(50);
            let (input, output) = (on.input(x.clone())?, on.output(50)?);
            launch!(on, return_before_the_barrier, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "product-return-at-the-edge",
        bug: "A tiled matrix product whose threads beyond the matrix return before the barriers.",
        effect: "Parts of the tiles at the edge are not loaded; sizes that are multiples of the tile hide it.",
        fix: "These threads load their part of the tile, or zero, and write nothing.",
        finds: &[MissedBarrier, UninitialisedShared],
        run: |on| {
            let n = 12;
            let (x, y) = (numbers(n * n), numbers(n * n + 7)[7..].to_vec());
            let (a, b, c) = (on.input(x.clone())?, on.input(y.clone())?, on.output(n * n)?);
            let geometry = Geometry::plane((2, 2), (8, 8));
            launch!(on, product_return_at_the_edge, geometry, a.view(), b.view(), c.view(), n)?;
            let cell = |i: u32| (0..n).map(|k| x[(i / n * n + k) as usize] * y[(k * n + i % n) as usize]).sum();
            on.ended(&c, (0..n * n).map(cell).collect::<Vec<u32>>())
        },
    },
    Case {
        name: "rounds-by-thread",
        bug: "A loop contains barriers, and threads run it a different number of times.",
        effect: "Hangs, or lets threads through that others still wait for.",
        fix: "All threads of the block run the same number of iterations.",
        finds: &[MissedBarrier, DivergentBarrier, SharedRace],
        run: |on| {
            let x = numbers(150);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, rounds_by_thread, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            let sum = |t: usize| (0..3).filter_map(|round| x.get(round * 64 + (t ^ 1))).sum();
            on.ended(&output, (0..64).map(sum).collect::<Vec<u32>>())
        },
    },
    Case {
        name: "until-it-is-done",
        bug: "Each thread leaves a loop with a barrier when its own work is done.",
        effect: "May hang, depending on how many threads remain in each warp.",
        fix: "A barrier that votes: all threads leave the loop when all are done.",
        finds: &[MissedBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, until_it_is_done, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| (v + 1).ilog2()))
        },
    },
    Case {
        name: "vote-in-one-arm",
        bug: "Two arms of a branch each vote at their own barrier, for one common count.",
        effect: "As with two barriers: a GPU may count both, or hang.",
        fix: "One vote of all threads.",
        finds: &[DivergentBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, vote_in_one_arm, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x.iter().filter(|v| **v > 500).count() as u32; 64])
        },
    },
    Case {
        name: "named-barrier-count",
        bug: "A named barrier expects three warps, and only two arrive.",
        effect: "Hangs.",
        fix: "The barrier expects two warps.",
        finds: &[MissedBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, named_barrier_count, Geometry::linear(1, 96), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t ^ 32]))
        },
    },
    Case {
        name: "named-barrier-number",
        bug: "Two roles wait at two named barriers for each other.",
        effect: "Hangs.",
        fix: "The same number on both sides.",
        finds: &[DivergentBarrier],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, named_barrier_number, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t < 32 { 0 } else { x[63 - t] }))
        },
    },
    Case {
        name: "named-barrier-half-a-warp",
        bug: "Half of each warp arrives at a named barrier for 32 threads.",
        effect: "A GPU counts whole warps: the first warp passes alone.",
        fix: "Whole warps arrive, and the count includes all of them.",
        finds: &[MissedBarrier, DivergentBarrier, SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, named_barrier_half_a_warp, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t % 2 == 0 { x[(t + 34) % 64] } else { 0 }))
        },
    },
    Case {
        name: "leader-leaves",
        bug: "The thread that has the result writes it and returns; the others wait for it at the barrier.",
        effect: "Works on GPUs that do not wait for exited threads.",
        fix: "This thread also waits at the barrier.",
        finds: &[MissedBarrier],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, leader_leaves, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [x[..32].iter().sum(); 64])
        },
    },
    Case {
        name: "barrier-of-a-role",
        bug: "The loading warp skips its last barrier, at which the computing warp waits.",
        effect: "Hangs on GPUs that do not count the loading warp's exit as an arrival.",
        fix: "Both roles reach each barrier equally often. Two roles may wait at two different lines.",
        finds: &[MissedBarrier],
        run: |on| {
            let x = numbers(96);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, barrier_of_a_role, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t < 32 { 0 } else { x[63 - t] + x[95 - t] + x[127 - t] }))
        },
    },
    Case {
        name: "named-barrier-by-lanes",
        bug: "Lanes of one warp reach a named barrier at two lines.",
        effect: "Undefined: the whole warp has to execute the instruction together. Roles made of whole warps may use \
              two lines.",
        fix: "One call, after the branch.",
        finds: &[DivergentBarrier, Unwritten],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, named_barrier_by_lanes, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t: usize| x[63 - t] * if t.is_multiple_of(2) { 2 } else { 1 }))
        },
    },
];
