//! Threads that wait in a loop for what never comes, or comes only if blocks happen to run in one order.

use crate::prelude::*;

shared!(FLAGS: [u32; 2]);

/// Waits until word `i` is `value`.
#[simt::device]
#[track_caller]
fn wait(words: Global<u32>, i: u32, value: u32) {
    while words.load(i, Acquire, Scope::Device) != value {}
}

#[kernel(instances([Planted, Fixed]))]
pub fn value_that_never_comes<V: Version>(flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        flag.store(0, 1, Release, Scope::Device);
    } else {
        wait(flag, 0, if V::FIXED { 1 } else { 2 });
        output.set(0, 7);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn look_back_by_block_index<V: Version>(input: Global<u32>, states: Global<u32>, output: Global<u32>) {
    // A state is the sum up to the end of the tile, plus 1; 0 means that it is not known yet.
    let ticket = states.len() - 1;
    let tile = if V::FIXED {
        let taken = if lane_id() == 0 { states.fetch_add(ticket, 1, Relaxed, Scope::Device) } else { 0 };
        warp::shuffle(FULL, taken, 0)
    } else {
        block_idx_x()
    };
    let sum = warp::reduce_add(FULL, input.get(tile * 32 + lane_id()));
    if lane_id() == 0 {
        let mut before = 1;
        if tile > 0 {
            before = 0;
            while before == 0 {
                before = states.load(tile - 1, Relaxed, Scope::Device);
            }
        }
        states.store(tile, before + sum, Relaxed, Scope::Device);
        output.set(tile, before + sum - 1);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn waits_for_the_next_block<V: Version>(states: Global<u32>, output: Global<u32>) {
    // A chain over all blocks, from the last one to the first.
    let last = thread::grid_dim_x() - 1;
    let place = if V::FIXED { states.fetch_add(last + 1, 1, Relaxed, Scope::Device) } else { last - block_idx_x() };
    if place > 0 {
        wait(states, place - 1, place);
    }
    states.store(place, place + 1, Release, Scope::Device);
    output.set(place, place);
}

#[kernel(instances([Planted, Fixed]))]
pub fn barrier_of_all_blocks<V: Version>(
    input: Global<u32>,
    sums: Global<u32>,
    count: Global<u32>,
    output: Global<u32>,
) {
    let blocks = thread::grid_dim_x();
    sums.set(block_idx_x(), input.get(block_idx_x()));
    let arrived = count.fetch_add(0, 1, AcqRel, Scope::Device) + 1;
    if V::FIXED {
        // The last block does what all of them would do after the barrier.
        if arrived == blocks {
            for block in 0..blocks {
                output.set(block, sums.get(blocks - 1 - block));
            }
        }
    } else {
        wait(count, 0, blocks);
        output.set(block_idx_x(), sums.get(blocks - 1 - block_idx_x()));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn each_waits_for_the_other<V: Version>(flags: Global<u32>, output: Global<u32>) {
    let (own, other) = (block_idx_x(), 1 - block_idx_x());
    if V::FIXED {
        flags.store(own, 1, Release, Scope::Device);
    }
    if V::FIXED && own == 0 {
        output.set(0, 1); // waits for nobody
        return;
    }
    wait(flags, other, 1);
    flags.store(own, 1, Release, Scope::Device);
    output.set(own, 1);
}

#[kernel(instances([Planted, Fixed]))]
pub fn spins_before_the_barrier<V: Version>(output: Global<u32>) {
    let (t, flags) = (thread_idx_x(), FLAGS::view());
    if t == 0 {
        flags.set(0, 0);
    }
    sync_threads(); // the flag is down
    if V::FIXED && t == BLOCK - 1 {
        flags.store(0, 1, Release, Scope::Block);
    }
    if t == 0 {
        while flags.load(0, Acquire, Scope::Block) == 0 {}
    }
    sync_threads(); // the flag has been seen
    if !V::FIXED && t == BLOCK - 1 {
        flags.store(0, 1, Release, Scope::Block);
    }
    output.set(t, t);
}

#[kernel(instances([Planted, Fixed]))]
pub fn lock_that_is_kept<V: Version>(input: Global<u32>, lock: Global<u32>, account: Global<u32>) {
    let value = input.get(block_idx_x());
    while lock.compare_exchange(0, 0, 1, Acquire, Scope::Device) != 0 {}
    if value.is_multiple_of(2) {
        if V::FIXED {
            lock.store(0, 0, Release, Scope::Device);
        }
        return; // nothing to add
    }
    account.set(0, account.get(0) + value);
    lock.store(0, 0, Release, Scope::Device);
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_locks<V: Version>(locks: Global<u32>, accounts: Global<u32>) {
    // Moves one from the first account to the second, or back.
    let from = block_idx_x() % 2;
    let (first, second) = if V::FIXED { (0, 1) } else { (from, 1 - from) };
    while locks.compare_exchange(first, 0, 1, Acquire, Scope::Device) != 0 {}
    // Some work between the two locks.
    let before = accounts.get(first);
    while locks.compare_exchange(second, 0, 1, Acquire, Scope::Device) != 0 {}
    accounts.set(first, if first == from { before - 1 } else { before + 1 });
    accounts.set(second, if second == from { accounts.get(second) - 1 } else { accounts.get(second) + 1 });
    locks.store(second, 0, Release, Scope::Device);
    locks.store(first, 0, Release, Scope::Device);
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_item_too_many<V: Version>(items: Global<u32>, count: Global<u32>, output: Global<u32>) {
    // Block 0 publishes the items one by one; block 1 takes them.
    let n = items.len();
    if block_idx_x() == 0 {
        for i in 0..n {
            items.set(i, i * i);
            count.store(0, i + 1, Release, Scope::Device);
        }
    } else {
        let mut sum = 0;
        for i in 0..if V::FIXED { n } else { n + 1 } {
            while count.load(0, Acquire, Scope::Device) <= i {}
            sum += items.get(i);
        }
        output.set(0, sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn flag_lowered_too_late<V: Version>(input: Global<u32>, output: Global<u32>) {
    // Two warps pass a value on and on; the flag says whose turn it is.
    let (t, flags) = (thread_idx_x(), FLAGS::view());
    let warp = t / 32;
    if t == 0 {
        flags.set(0, 0);
        flags.set(1, input.get(0));
    }
    sync_threads(); // it is the first warp's turn
    if lane_id() == 0 {
        for _ in 0..3 {
            while flags.load(0, Acquire, Scope::Block) != warp {}
            flags.set(1, flags.get(1) + warp + 1);
            let next = if V::FIXED { 1 - warp } else { 1 };
            flags.store(0, next, Release, Scope::Block);
        }
    }
    sync_threads(); // both warps have had their turns
    output.set(t, flags.get(1));
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "value-that-never-comes",
        bug: "A block waits for the value 2, and the other one stores 1.",
        effect: "Hangs until the driver or a person ends it.",
        fix: "The block waits for the value that is stored.",
        finds: &[EndlessSpin],
        run: |on| {
            let (flag, output) = (on.input([0])?, on.output(1)?);
            launch!(on, value_that_never_comes, Geometry::linear(2, 1), flag.view(), output.view())?;
            on.ended(&output, [7])
        },
    },
    Case {
        name: "look-back-by-block-index",
        bug: "A scan's tile is the block's index, and the block waits for the tile before it.",
        effect: "Blocks mostly start in the order of their index, but nothing guarantees it: with more blocks than \
              fit, a block may wait for one that never starts.",
        fix: "A ticket: tiles in the order in which blocks start.",
        finds: &[Deadlock],
        run: |on| {
            let geometry = on.more_than_fit(32);
            let tiles = geometry.grid[0];
            let x = numbers(32 * tiles);
            let states = on.input((0..=tiles).map(|_| 0))?;
            let (input, output) = (on.input(x.clone())?, on.output(tiles)?);
            launch!(on, look_back_by_block_index, geometry, input.view(), states.view(), output.view())?;
            on.ended(&output, (1..=tiles as usize).map(|tiles| x[..32 * tiles].iter().sum()))
        },
    },
    Case {
        name: "waits-for-the-next-block",
        bug: "Each block waits for the one with the next index.",
        effect: "Hangs as soon as the grid has more blocks than fit on the device at a time.",
        fix: "A ticket: a block waits only for blocks that have started.",
        finds: &[Deadlock],
        run: |on| {
            let geometry = on.more_than_fit(1);
            let blocks = geometry.grid[0];
            let (states, output) = (on.input((0..=blocks).map(|_| 0))?, on.output(blocks)?);
            launch!(on, waits_for_the_next_block, geometry, states.view(), output.view())?;
            on.ended(&output, 0..blocks)
        },
    },
    Case {
        name: "barrier-of-all-blocks",
        bug: "All blocks of the grid wait for each other at a counter.",
        effect: "Hangs as soon as the grid has more blocks than fit on the device at a time.",
        fix: "The last block to arrive continues alone; or a second launch, or a cooperative one.",
        finds: &[Deadlock],
        run: |on| {
            let geometry = on.more_than_fit(1);
            let blocks = geometry.grid[0];
            let x = numbers(blocks);
            let (input, sums) = (on.input(x.clone())?, on.scratch(blocks)?);
            let (count, output) = (on.input([0])?, on.output(blocks)?);
            launch!(on, barrier_of_all_blocks, geometry, input.view(), sums.view(), count.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "each-waits-for-the-other",
        bug: "Two blocks wait for each other's flag before they raise their own.",
        effect: "Hangs.",
        fix: "Each block raises its flag first, and block 0 then returns without waiting.",
        finds: &[Deadlock],
        run: |on| {
            let (flags, output) = (on.input([0; 2])?, on.output(2)?);
            launch!(on, each_waits_for_the_other, Geometry::linear(2, 1), flags.view(), output.view())?;
            on.ended(&output, [1; 2])
        },
    },
    Case {
        name: "spins-before-the-barrier",
        bug: "Thread 0 spins for a flag that another thread raises after the barrier at which it waits for thread 0.",
        effect: "Hangs.",
        fix: "The flag is raised before the barrier.",
        finds: &[Deadlock],
        run: |on| {
            let output = on.output(BLOCK)?;
            launch!(on, spins_before_the_barrier, Geometry::linear(1, BLOCK), output.view())?;
            on.ended(&output, 0..BLOCK)
        },
    },
    Case {
        name: "lock-that-is-kept",
        bug: "An early return leaves the lock taken.",
        effect: "Hangs as soon as a block takes that path before others have had the lock.",
        fix: "The lock is released on every path.",
        finds: &[EndlessSpin],
        run: |on| {
            let x = numbers(8);
            let (input, lock, account) = (on.input(x.clone())?, on.input([0])?, on.input([0])?);
            launch!(on, lock_that_is_kept, Geometry::linear(8, 1), input.view(), lock.view(), account.view())?;
            on.ended(&account, [x.iter().filter(|v| *v % 2 == 1).sum()])
        },
    },
    Case {
        name: "two-locks",
        bug: "Two blocks take the same two locks in opposite orders.",
        effect: "Hangs when each has taken its first.",
        fix: "The same order everywhere.",
        finds: &[Deadlock],
        run: |on| {
            let (locks, accounts) = (on.input([0; 2])?, on.input([100; 2])?);
            launch!(on, two_locks, Geometry::linear(4, 1), locks.view(), accounts.view())?;
            on.ended(&accounts, [100; 2])
        },
    },
    Case {
        name: "one-item-too-many",
        bug: "The consumer waits for one item more than the producer makes.",
        effect: "Hangs.",
        fix: "As many as there are.",
        finds: &[EndlessSpin],
        run: |on| {
            let (items, count, output) = (on.scratch(5)?, on.input([0])?, on.output(1)?);
            launch!(on, one_item_too_many, Geometry::linear(2, 1), items.view(), count.view(), output.view())?;
            on.ended(&output, [1 + 4 + 9 + 16])
        },
    },
    Case {
        name: "flag-lowered-too-late",
        bug: "Two warps take turns by a flag, and the second one never gives the turn back.",
        effect: "Hangs: the first warp waits for its second turn, the second one for the barrier.",
        fix: "Each warp passes the turn to the other.",
        finds: &[Deadlock],
        run: |on| {
            let (input, output) = (on.input([5])?, on.output(BLOCK)?);
            launch!(on, flag_lowered_too_late, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, [5 + 9; 64])
        },
    },
];
