//! Copies to shared memory that a thread starts itself, and that run while it goes on.

use crate::prelude::*;
use simt::async_copy;

shared!(SLOTS: [u32; 2 * BLOCK]);

/// Each thread starts to copy its element of tile `i`, as a group.
#[simt::device]
#[track_caller]
fn start(slot: u32, input: Global<u32>, i: u32) {
    let t = thread_idx_x();
    async_copy::element(SLOTS::view(), slot * BLOCK + t, input, i * BLOCK + t, true);
    async_copy::commit();
}

#[kernel(instances([Planted, Fixed]))]
pub fn own_copy_not_awaited<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    start(0, input, 0);
    if V::FIXED {
        async_copy::wait::<0>();
    }
    sync_threads(); // every thread's element is there, where it has waited
    output.set(t, slots.get(BLOCK - 1 - t));
    if !V::FIXED {
        async_copy::wait::<0>();
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn awaited_by_its_thread_alone<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    start(0, input, 0);
    async_copy::wait::<0>();
    if V::FIXED {
        sync_threads(); // every thread has waited for its element
    }
    output.set(t, slots.get(BLOCK - 1 - t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn one_group_too_many<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    let mut sum = 0;
    for step in 0..2 {
        start(step, input, step);
    }
    for step in 0..2 {
        // Of two groups the first has to be there: one may be open.
        match (step, V::FIXED) {
            (0, true) => async_copy::wait::<1>(),
            (0, false) => async_copy::wait::<2>(),
            _ => async_copy::wait::<0>(),
        }
        sync_threads(); // every thread has waited
        sum += slots.get(step * BLOCK + BLOCK - 1 - t);
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn buffer_filled_too_early<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    let mut sum = 0;
    start(0, input, 0);
    for step in 0..3 {
        if !V::FIXED && step < 2 {
            start((step + 1) % 2, input, step + 1);
        }
        if V::FIXED || step == 2 {
            async_copy::wait::<0>();
        } else {
            async_copy::wait::<1>();
        }
        sync_threads(); // this step's tile is there, and the last step's has been read
        if V::FIXED && step < 2 {
            start((step + 1) % 2, input, step + 1);
        }
        sum += slots.get(step % 2 * BLOCK + BLOCK - 1 - t);
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn source_changes_under_a_copy<V: Version>(data: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    start(0, data, 0);
    if V::FIXED {
        async_copy::wait::<0>();
    }
    data.set(t, 0);
    async_copy::wait::<0>();
    output.set(t, slots.get(t));
}

#[kernel(instances([Planted, Fixed]))]
pub fn ends_while_own_copies_write<V: Version>(input: Global<u32>, output: Global<u32>) {
    // The next tile is asked for in advance, also behind the last one.
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    start(0, input, 0);
    let mut sum = 0;
    for step in 0..2 {
        async_copy::wait::<0>();
        sync_threads(); // this step's tile is there, and the last step's has been read
        if !V::FIXED || step == 0 {
            start((step + 1) % 2, input, step + 1);
        }
        sum += slots.get(step * BLOCK + BLOCK - 1 - t);
    }
    output.set(t, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn own_copies_to_one_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    // The second tile replaces the first where it is inside.
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    start(0, input, 0);
    if V::FIXED {
        async_copy::wait::<0>(); // copies are not made in the order in which they start
    }
    if t < BLOCK / 2 {
        start(0, input, 1);
    }
    async_copy::wait::<0>();
    output.set(t, slots.get(t));
}

#[cfg(not(target_os = "cuda"))]
const ONE: Geometry = Geometry::linear(1, BLOCK);

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "own-copy-not-awaited",
        bug: "The threads pass a barrier of the block, and none waits for its own copy.",
        effect: "Threads read the slot before the elements have arrived: the barrier does not wait for copies.",
        fix: "Each thread waits for its group before the barrier.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, own_copy_not_awaited, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "awaited-by-its-thread-alone",
        bug: "Each thread waits for its own copy, and reads the element that another thread copies.",
        effect: "The thread may read the element before it has arrived.",
        fix: "A barrier of the block after the wait.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, awaited_by_its_thread_alone, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "one-group-too-many",
        bug: "The wait allows two pending groups instead of one.",
        effect: "The first tile is read before it has arrived.",
        fix: "wait::<1> allows only the newest group to be pending.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, one_group_too_many, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t]))
        },
    },
    Case {
        name: "buffer-filled-too-early",
        bug: "The copies of the next tile start before the barrier that ends the reads of the previous tile.",
        effect: "A slow thread reads elements of the next tile.",
        fix: "The copies start after the barrier.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, buffer_filled_too_early, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t] + x[191 - t]))
        },
    },
    Case {
        name: "source-changes-under-a-copy",
        bug: "A thread writes what its own copy may still read.",
        effect: "The old or the new value is copied.",
        fix: "The thread waits for the copy first.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (data, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, source_changes_under_a_copy, ONE, data.view(), output.view())?;
            on.ended(&output, x)
        },
    },
    Case {
        name: "ends-while-own-copies-write",
        bug: "The last step requests a tile that no thread waits for, and the block ends.",
        effect: "The copies write to shared memory that already belongs to another block.",
        fix: "No copy after the last tile, or a wait at the end.",
        finds: &[CopyInFlight],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, ends_while_own_copies_write, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t]))
        },
    },
    Case {
        name: "own-copies-to-one-place",
        bug: "A thread starts two copies to one place and waits for both.",
        effect: "The place holds either element: nothing orders two copies, not even of one thread.",
        fix: "The thread waits for the first before it starts the second.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, own_copies_to_one_place, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[if t < 32 { 64 + t } else { t }]))
        },
    },
];
