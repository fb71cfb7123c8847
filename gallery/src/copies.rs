//! Copies by TMA, which runs asynchronously, and the mbarriers in shared memory that count its bytes.

use crate::prelude::*;
use simt::bulk;
use simt::mbarrier::{self, Mbarrier};

shared!(SLOTS: [u32; 2 * BLOCK]);
shared!(BARRIERS: [u64; 4]);

/// Bytes of a tile.
const BYTES: u32 = 4 * BLOCK;

/// Barrier `i`, which the block's threads may use from now on: each phase ends after `arrivals` arrivals.
#[simt::device]
#[track_caller]
fn barrier(i: u32, arrivals: u32) -> Mbarrier {
    let barrier = Mbarrier::at(BARRIERS::view(), i);
    if thread_idx_x() == 0 {
        barrier.init(arrivals);
        mbarrier::fence_init();
    }
    sync_threads(); // the barrier is initialised before anyone uses it
    barrier
}

/// Thread 0 starts to copy tile `i` to the slot.
#[simt::device]
#[track_caller]
fn load(slot: Shared<u32>, input: Global<u32>, i: u32, barrier: Mbarrier) {
    if thread_idx_x() == 0 {
        barrier.arrive_expecting(BYTES);
        bulk::load(slot, input.slice(i * BLOCK, BLOCK), barrier);
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn copy_not_awaited<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    load(slot, input, 0, full);
    if V::FIXED {
        full.wait(0);
    } else {
        sync_threads();
    }
    output.set(t, slot.get(BLOCK - 1 - t));
    if !V::FIXED {
        full.wait(0);
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn parity_of_the_phase_before<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    let mut sum = 0;
    for step in 0..3 {
        load(slot, input, step, full);
        // The parity that has passed already lets everyone through at once.
        full.wait(if V::FIXED { step % 2 } else { (step + 1) % 2 });
        sum += slot.get(BLOCK - 1 - t);
        bulk::fence(); // what this thread has read, before the next copy overwrites it
        sync_threads(); // the slot has been read before it is filled again
    }
    if !V::FIXED {
        full.wait(0);
    }
    output.set(t, sum);
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn parity_that_never_changes<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    let mut sum = 0;
    for step in 0..3 {
        load(slot, input, step, full);
        full.wait(if V::FIXED { step % 2 } else { 0 });
        sum += slot.get(BLOCK - 1 - t);
        bulk::fence(); // what this thread has read, before the next copy overwrites it
        sync_threads(); // the slot has been read before it is filled again
    }
    output.set(t, sum);
}

/// A ring of two slots between a thread that loads and a warp that computes.
#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn empty_slots_awaited<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    let (full, empty) = ([barrier(0, 1), barrier(1, 1)], [barrier(2, 32), barrier(3, 32)]);
    if t == 32 {
        for step in 0..4 {
            let (i, round) = (step % 2, step / 2);
            // At first the slots are empty without anybody's arrival: the phase before the first has passed.
            empty[i as usize].wait(if V::FIXED { (round + 1) % 2 } else { round % 2 });
            full[i as usize].arrive_expecting(BYTES);
            bulk::load(slots.slice(i * BLOCK, BLOCK), input.slice(step * BLOCK, BLOCK), full[i as usize]);
        }
    } else if t < 32 {
        let mut sum = 0;
        for step in 0..4 {
            let (i, round) = (step % 2, step / 2);
            full[i as usize].wait(round % 2);
            sum += slots.get(i * BLOCK + t) + slots.get(i * BLOCK + 32 + t);
            bulk::fence(); // what this thread has read, before the next copy overwrites it
            empty[i as usize].arrive();
        }
        output.set(t, sum);
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn bytes_that_never_come<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    if t == 0 {
        full.arrive_expecting(if V::FIXED { BYTES } else { 2 * BYTES });
        bulk::load(slot, input.slice(0, BLOCK), full);
    }
    full.wait(0);
    output.set(t, slot.get(BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn arrivals_that_never_come<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    let full = barrier(0, if V::FIXED { 1 } else { BLOCK });
    load(slot, input, 0, full);
    full.wait(0);
    output.set(t, slot.get(BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn slot_filled_too_early<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    let mut sum = 0;
    for step in 0..3 {
        load(slot, input, step, full);
        full.wait(step % 2);
        sum += slot.get(BLOCK - 1 - t);
        bulk::fence(); // what this thread has read, before the next copy overwrites it
        if V::FIXED {
            sync_threads(); // the slot has been read before it is filled again
        }
    }
    output.set(t, sum);
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn next_copy_to_the_same_slot<V: Version>(input: Global<u32>, output: Global<u32>) {
    // The next tile is on its way while this one is used.
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    let full = [barrier(0, 1), barrier(1, 1)];
    load(slots.slice(0, BLOCK), input, 0, full[0]);
    let mut sum = 0;
    for step in 0..2 {
        full[step as usize].wait(0);
        if step == 0 {
            load(slots.slice(if V::FIXED { BLOCK } else { 0 }, BLOCK), input, 1, full[1]);
        }
        sum += slots.get((if V::FIXED { step } else { 0 }) * BLOCK + BLOCK - 1 - t);
    }
    output.set(t, sum);
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn copy_without_a_fence<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    slot.set(t, 2 * input.get(t));
    if V::FIXED {
        bulk::fence(); // what this thread has stored, before copies that follow
    }
    sync_threads(); // all threads have stored
    if t == 0 {
        bulk::store(output, slot);
        bulk::commit();
        bulk::wait_read::<0>();
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn copy_without_a_barrier<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    slot.set(t, 2 * input.get(t));
    bulk::fence(); // what this thread has stored, before copies that follow
    if V::FIXED {
        sync_threads(); // all threads have stored
    }
    if t == 0 {
        bulk::store(output, slot);
        bulk::commit();
        bulk::wait_read::<0>();
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn source_overwritten<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    for step in 0..2 {
        slot.set(t, 2 * input.get(step * BLOCK + t));
        bulk::fence(); // what this thread has stored, before copies that follow
        sync_threads(); // all threads have stored
        if t == 0 {
            bulk::store(output.slice(step * BLOCK, BLOCK), slot);
            bulk::commit();
            if V::FIXED || step == 1 {
                bulk::wait_read::<0>(); // the engine has read the slot
            }
        }
        sync_threads(); // the slot may be written again
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn ends_while_a_store_reads<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    slot.set(t, 2 * input.get(t));
    bulk::fence(); // what this thread has stored, before copies that follow
    sync_threads(); // all threads have stored
    if t == 0 {
        bulk::store(output, slot);
        bulk::commit();
        if V::FIXED {
            bulk::wait_read::<0>(); // the engine has read the slot, which ends with the block
        }
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn ends_while_a_load_writes<V: Version>(input: Global<u32>, output: Global<u32>) {
    // The next tile is asked for in advance, also behind the last one.
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    let full = [barrier(0, 1), barrier(1, 1)];
    load(slots.slice(0, BLOCK), input, 0, full[0]);
    let mut sum = 0;
    for step in 0..2 {
        if !V::FIXED || step == 0 {
            load(slots.slice((step + 1) % 2 * BLOCK, BLOCK), input, step + 1, full[((step + 1) % 2) as usize]);
        }
        full[step as usize].wait(0);
        sum += slots.get(step * BLOCK + BLOCK - 1 - t);
        bulk::fence(); // what this thread has read, before the next copy overwrites it
        sync_threads(); // the slot has been read before it is filled again
    }
    output.set(t, sum);
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn barrier_not_ready<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    let full = Mbarrier::at(BARRIERS::view(), 0);
    if t == BLOCK - 1 {
        full.init(1);
        mbarrier::fence_init();
        full.arrive_expecting(BYTES);
        bulk::load(slot, input, full);
    }
    if V::FIXED {
        sync_threads(); // the barrier is initialised before the others wait at it
    }
    full.wait(0);
    output.set(t, slot.get(BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn copy_off_its_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    if t == 0 {
        full.arrive_expecting(BYTES);
        bulk::load(slot, input.slice(if V::FIXED { 4 } else { 1 }, BLOCK), full);
    }
    full.wait(0);
    output.set(t, slot.get(t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn load_over_a_store<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    slot.set(t, 0);
    if V::FIXED {
        bulk::fence(); // what this thread has stored, before copies that follow
    }
    sync_threads(); // all threads have stored
    load(slot, input, 0, full);
    full.wait(0);
    output.set(t, slot.get(BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn load_over_a_read<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    let mut sum = 0;
    for step in 0..3 {
        load(slot, input, step, full);
        full.wait(step % 2);
        sum += slot.get(BLOCK - 1 - t);
        if V::FIXED {
            bulk::fence(); // what this thread has read, before the next copy overwrites it
        }
        sync_threads(); // the slot has been read before it is filled again
    }
    output.set(t, sum);
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn unwritten_half_copied<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    if V::FIXED || t < BLOCK / 2 {
        slot.set(t, input.get(t));
    }
    bulk::fence(); // what this thread has stored, before copies that follow
    sync_threads(); // all threads have stored
    if t == 0 {
        bulk::store(output, slot);
        bulk::commit();
        bulk::wait_read::<0>();
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn two_copies_to_one_slot<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots, full) = (thread_idx_x(), SLOTS::view(), barrier(0, 1));
    if t == 0 {
        full.arrive_expecting(2 * BYTES);
        bulk::load(slots.slice(0, BLOCK), input.slice(0, BLOCK), full);
        let second = if V::FIXED { BLOCK } else { 0 };
        bulk::load(slots.slice(second, BLOCK), input.slice(BLOCK, BLOCK), full);
    }
    full.wait(0);
    output.set(t, slots.get(if V::FIXED { BLOCK } else { 0 } + BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn output_read_after_its_source<V: Version>(input: Global<u32>, output: Global<u32>, last: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    slot.set(t, 2 * input.get(t));
    bulk::fence(); // what this thread has stored, before copies that follow
    sync_threads(); // all threads have stored
    if t == 0 {
        bulk::store(output, slot);
        bulk::commit();
        bulk::wait_read::<0>(); // the engine has read the slot; it may not have written the output
        last.set(0, if V::FIXED { slot.get(BLOCK - 1) } else { output.get(BLOCK - 1) });
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn stores_to_one_place<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slots) = (thread_idx_x(), SLOTS::view());
    for half in 0..2 {
        slots.set(half * BLOCK + t, (half + 1) * input.get(t));
    }
    bulk::fence(); // what this thread has stored, before copies that follow
    sync_threads(); // all threads have stored
    if t == 0 {
        if !V::FIXED {
            bulk::store(output, slots.slice(0, BLOCK));
            bulk::commit();
            bulk::wait_read::<0>(); // the engine has read the slot; it may not have written the output
        }
        bulk::store(output, slots.slice(BLOCK, BLOCK));
        bulk::commit();
        bulk::wait_read::<0>();
    }
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn barrier_not_fenced<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK));
    let full = Mbarrier::at(BARRIERS::view(), 0);
    if t == 0 {
        full.init(1);
        if V::FIXED {
            mbarrier::fence_init(); // TMA sees the barrier from here on
        }
    }
    sync_threads(); // the barrier is initialised before anyone uses it
    load(slot, input, 0, full);
    full.wait(0);
    output.set(t, slot.get(BLOCK - 1 - t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn barrier_overwritten<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    load(slot, input, 0, full);
    full.wait(0);
    sync_threads(); // nobody waits at the barrier any more
    if t == 0 {
        BARRIERS::view().set(if V::FIXED { 1 } else { 0 }, 7);
    }
    sync_threads(); // the word is there
    load(SLOTS::view().slice(BLOCK, BLOCK), input, 1, full);
    full.wait(1);
    output.set(t, slot.get(t) + SLOTS::view().get(BLOCK + t));
}

#[kernel(sm_90, instances([Planted, Fixed]))]
pub fn one_look_at_the_barrier<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, slot, full) = (thread_idx_x(), SLOTS::view().slice(0, BLOCK), barrier(0, 1));
    load(slot, input, 0, full);
    sync_threads(); // the copy has begun
    if V::FIXED {
        full.wait(0);
    } else {
        let _ = full.try_wait(0);
    }
    output.set(t, slot.get(BLOCK - 1 - t));
    full.wait(0);
}

#[cfg(not(target_os = "cuda"))]
const ONE: Geometry = Geometry::linear(1, BLOCK);

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "copy-not-awaited",
        bug: "The threads wait at a block barrier for a copy that completes on an mbarrier.",
        effect: "Threads read the slot before the bytes have arrived.",
        fix: "The threads wait at the mbarrier that the copy completes.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, copy_not_awaited, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "parity-of-the-phase-before",
        bug: "Each wait names the wrong parity: that of the previous phase, which has completed.",
        effect: "No thread waits, and the slot is read before the bytes have arrived.",
        fix: "0 for the first phase, 1 for the second, and so on.",
        finds: &[SharedRace, UninitialisedShared, Deadlock],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, parity_of_the_phase_before, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t] + x[191 - t]))
        },
    },
    Case {
        name: "parity-that-never-changes",
        bug: "Every wait names parity 0.",
        effect: "The second wait returns at once, because phase 0 has completed: the old tile is used again.",
        fix: "The parity changes with each phase.",
        finds: &[SharedRace, Deadlock],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, parity_that_never_changes, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t] + x[191 - t]))
        },
    },
    Case {
        name: "empty-slots-awaited",
        bug: "The thread that fills a ring of slots first waits for empty slots, with the parity of a phase that has \
              not completed.",
        effect: "Hangs: the producer waits for an empty slot, the consumers for a full one.",
        fix: "The first wait names the phase before the first, which counts as completed.",
        finds: &[Deadlock],
        run: |on| {
            let x = numbers(4 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, empty_slots_awaited, ONE, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| (0..8).map(|part| x[part * 32 + t]).sum()))
        },
    },
    Case {
        name: "bytes-that-never-come",
        bug: "The barrier expects twice the number of bytes that are copied.",
        effect: "Hangs.",
        fix: "The bytes that are copied.",
        finds: &[Deadlock],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, bytes_that_never_come, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "arrivals-that-never-come",
        bug: "The barrier expects an arrival of every thread, and only thread 0 arrives.",
        effect: "Hangs.",
        fix: "One arrival: that of the thread that starts the copy.",
        finds: &[Deadlock],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, arrivals_that_never_come, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "slot-filled-too-early",
        bug: "Thread 0 starts the next copy into the slot that other threads still read.",
        effect: "Other threads read parts of the next tile.",
        fix: "A barrier of the block before the slot is filled again.",
        finds: &[SharedRace, Deadlock],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, slot_filled_too_early, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t] + x[191 - t]))
        },
    },
    Case {
        name: "next-copy-to-the-same-slot",
        bug: "The next tile is copied to the slot that this step uses.",
        effect: "Either tile's elements are read.",
        fix: "Two slots.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, next_copy_to_the_same_slot, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t]))
        },
    },
    Case {
        name: "copy-without-a-fence",
        bug: "Threads store to shared memory, and TMA reads it without a fence between the two.",
        effect: "TMA may read the old data: a block barrier does not order its accesses.",
        fix: "bulk::fence by each thread that has stored, before the barrier.",
        finds: &[MissingProxyFence],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, copy_without_a_fence, ONE, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "copy-without-a-barrier",
        bug: "Thread 0 starts the copy before the other threads have stored.",
        effect: "Elements that are not stored yet are missing from the copy.",
        fix: "A barrier of the block after the fences.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, copy_without_a_barrier, ONE, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "source-overwritten",
        bug: "A slot is written again while TMA may still read it.",
        effect: "Parts of the second tile end up in the first one's place.",
        fix: "wait_read before the slot is written again.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(2 * BLOCK)?);
            launch!(on, source_overwritten, ONE, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "ends-while-a-store-reads",
        bug: "The block ends while TMA may still read its shared memory.",
        effect: "The next block on the SM overwrites it.",
        fix: "wait_read at the end.",
        finds: &[CopyInFlight],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, ends_while_a_store_reads, ONE, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "ends-while-a-load-writes",
        bug: "The last step requests a tile that no thread waits for.",
        effect: "TMA writes into the shared memory of the next block on the SM.",
        fix: "The last step requests no tile.",
        finds: &[CopyInFlight],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, ends_while_a_load_writes, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t]))
        },
    },
    Case {
        name: "barrier-not-ready",
        bug: "Threads wait at a barrier in shared memory that another thread has yet to initialise.",
        effect: "The threads treat an arbitrary word as a barrier: they pass, or hang.",
        fix: "A barrier of the block after the initialisation.",
        finds: &[MixedAtomic, Fault],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, barrier_not_ready, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "copy-off-its-place",
        bug: "A bulk copy begins 4 bytes after a multiple of 16.",
        effect: "\"Misaligned address\" ends the program.",
        fix: "A multiple of 16 bytes.",
        finds: &[Misaligned, Unwritten],
        run: |on| {
            let x = numbers(BLOCK + 4);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, copy_off_its_place, ONE, input.view(), output.view())?;
            on.ended(&output, x[4..].to_vec())
        },
    },
    Case {
        name: "load-over-a-store",
        bug: "Threads store to a slot, and a copy to the same slot follows without a fence.",
        effect: "The stores may arrive after the copied bytes: a block barrier does not order TMA's accesses.",
        fix: "bulk::fence by each thread that has stored, before the barrier.",
        finds: &[MissingProxyFence],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, load_over_a_store, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "load-over-a-read",
        bug: "Threads read a slot, and the next copy to the same slot follows without a fence.",
        effect: "The copied bytes may arrive before the loads have completed: a block barrier does not order TMA's \
                 accesses.",
        fix: "bulk::fence by each thread that has read, before the barrier.",
        finds: &[MissingProxyFence],
        run: |on| {
            let x = numbers(3 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, load_over_a_read, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[63 - t] + x[127 - t] + x[191 - t]))
        },
    },
    Case {
        name: "unwritten-half-copied",
        bug: "Half of the slot is written, and the whole slot is copied to the output.",
        effect: "The output's second half is what the slot held before.",
        fix: "All threads write, or half of the slot is copied.",
        finds: &[UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, unwritten_half_copied, ONE, input.view(), output.view())?;
            on.ended(&output, x)
        },
    },
    Case {
        name: "two-copies-to-one-slot",
        bug: "Two copies of one phase have the same slot.",
        effect: "The slot holds parts of either tile: copies are not made in the order in which they start.",
        fix: "A slot for each.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, two_copies_to_one_slot, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[127 - t]))
        },
    },
    Case {
        name: "output-read-after-its-source",
        bug: "A thread waits until the engine has read the slot, and then reads the output.",
        effect: "It may read the output before the engine has written it.",
        fix: "It reads the slot; the output is there for the next launch.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output, last) = (on.input(x.clone())?, on.output(BLOCK)?, on.output(1)?);
            launch!(on, output_read_after_its_source, ONE, input.view(), output.view(), last.view())?;
            on.ended(&last, [2 * x[63]])
        },
    },
    Case {
        name: "stores-to-one-place",
        bug: "A thread has the output written twice; in between it waits until the engine has read the first source.",
        effect: "The output is either of the two: that a source has been read says nothing of the writes.",
        fix: "The output is written once.",
        finds: &[GlobalRace],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, stores_to_one_place, ONE, input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        },
    },
    Case {
        name: "barrier-not-fenced",
        bug: "A barrier in shared memory is initialised, and a copy that it counts starts without a fence in between.",
        effect: "TMA may see the old word: the threads hang, or continue too early.",
        fix: "mbarrier::fence_init by the thread that initialises it, before the barrier of the block.",
        finds: &[MissingProxyFence],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, barrier_not_fenced, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
    Case {
        name: "barrier-overwritten",
        bug: "The word of a barrier is used for a number between two of its phases.",
        effect: "The barrier is overwritten: the threads hang, or continue too early.",
        fix: "A word of its own.",
        finds: &[Fault],
        run: |on| {
            let x = numbers(2 * BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, barrier_overwritten, ONE, input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| x[t] + x[64 + t]))
        },
    },
    Case {
        name: "one-look-at-the-barrier",
        bug: "The threads test once whether the phase has completed, and ignore the result.",
        effect: "Threads read the slot before the bytes have arrived.",
        fix: "wait, or a loop.",
        finds: &[SharedRace, UninitialisedShared],
        run: |on| {
            let x = numbers(BLOCK);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, one_look_at_the_barrier, ONE, input.view(), output.view())?;
            on.ended(&output, x.into_iter().rev())
        },
    },
];
