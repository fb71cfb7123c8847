//! Patterns of Oclgrind's tests, with their names below `tests/kernels`, and what Oclgrind says of them.

#[cfg(not(target_os = "cuda"))]
use crate::Case;
use crate::rows::{block, i, local, rows, t, unwritten};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::thread::{block_dim_x, grid_dim_x, sync_threads};
use simt::{async_copy, bulk, shared};

/// The suite, as the table names it.
#[cfg(not(target_os = "cuda"))]
pub const SUITE: &str = "Oclgrind";

shared!(SCRATCH: [u32; 32]);

#[cfg(not(target_os = "cuda"))]
pub fn cases() -> std::vec::Vec<Case> {
    crate::rows::cases(ROWS, "oclgrind.rs", include_str!("oclgrind.rs"))
}

rows![
    alignment_packed = right("alignment/packed", (1, 4), |w| w.a.cast::<u8>().set(4 * t() + 1, 7)),
    alignment_unaligned = wrong("alignment/unaligned", Misaligned, (1, 1), |w| {
        w.b.set(i(), w.a.cast::<u8>().slice(1, 8).cast::<u32>().get(0)); // [here]
    }),
    async_copy_async_copy = right("async_copy/async_copy", (1, 32), |w| {
        async_copy::element(SCRATCH::view(), t(), w.numbers, t(), true);
        async_copy::commit();
        async_copy::wait::<0>();
        sync_threads(); // the copies of all threads are there
        w.a.set(31 - t(), SCRATCH::view().get(31 - t()));
    }),
    async_copy_async_copy_loop = right("async_copy/async_copy_loop", (1, 32), |w| {
        let words = local();
        for k in 0..4 {
            async_copy::element(words, t() * 4 + k, w.numbers, t() * 4 + k, true);
        }
        async_copy::commit();
        async_copy::wait::<0>();
    }),
    async_copy_async_copy_local_race = wrong("async_copy/async_copy_local_race", Race, (1, 32), |w| {
        SCRATCH::view().set(t() ^ 1, 0); // [here]
        async_copy::element(SCRATCH::view(), t(), w.numbers, t(), true); // [here]
        async_copy::commit();
        async_copy::wait::<0>();
    }),
    async_copy_async_copy_global_race = wrong("async_copy/async_copy_global_race", Race, (1, 32), |w| {
        SCRATCH::view().set(t(), t());
        bulk::fence();
        sync_threads(); // all of it is written, and shown to copies
        w.a.set(t(), 0); // [here]
        if t() == 0 {
            bulk::store(w.a.slice(0, 32), SCRATCH::view()); // [here]
            bulk::commit();
            bulk::wait_read::<0>();
        }
    }),
    async_copy_async_copy_unwaited = wrong("async_copy/async_copy_unwaited", NotAwaited, (1, 32), |w| {
        async_copy::element(SCRATCH::view(), t(), w.numbers, t(), true); // [here]
        async_copy::commit();
    }),
    atomics_atom_add = right("atomics/atom_add", (2, 32), |w| {
        w.a.cast::<u64>().fetch_add(0, 1, Relaxed, Device);
    }),
    atomics_atomic_cmpxchg_false_race = right("atomics/atomic_cmpxchg_false_race", (1, 4), |w| {
        let (words, mut done) = (local(), false);
        for _ in 0..block_dim_x() {
            sync_threads(); // the exchanges of the round before are done
            let before = words.get(0);
            sync_threads(); // all threads have read
            if !done {
                done = words.compare_exchange(0, before, before + 1, Relaxed, Device) == before;
            }
        }
        w.a.set(t(), done as u32);
    }),
    atomics_atomic_cmpxchg_read_race = wrong("atomics/atomic_cmpxchg_read_race", Race, (1, 2), |w| {
        if i() == 0 {
            w.a.set(0, 0); // [here]
        } else {
            w.a.compare_exchange(0, 0, 0x0100_0001, Relaxed, Device); // [here]
        }
    }),
    atomics_atomic_cmpxchg_write_race = wrong("atomics/atomic_cmpxchg_write_race", Race, (1, 2), |w| {
        if i() == 0 {
            w.a.set(0, 0); // [here]
        }
        w.a.compare_exchange(0, i(), 42, Relaxed, Device); // [here]
    }),
    atomics_atomic_global_fence = right("atomics/atomic_global_fence", (2, 4), |w| {
        if t() == 0 {
            w.b.set(block(), 0);
        }
        sync_threads(); // the block's counter is zero
        w.b.fetch_add(block(), i(), Relaxed, Device);
        sync_threads(); // all threads have added
        if t() == 0 {
            w.a.set(block(), w.b.get(block()));
        }
    }),
    atomics_atomic_global_fence_race = wrong("atomics/atomic_global_fence_race", Race, (2, 4), |w| {
        w.b.fetch_add(0, i(), Relaxed, Device); // [here]
        sync_threads(); // orders one block alone
        if t() == 0 {
            w.a.set(block(), w.b.get(0)); // [here]
        }
    }),
    atomics_atomic_increment = right("atomics/atomic_increment", (2, 32), |w| {
        w.a.fetch_add(0, 1, Relaxed, Device);
    }),
    atomics_atomic_intergroup_race = wrong("atomics/atomic_intergroup_race", Race, (2, 4), |w| {
        if i() == 0 {
            w.a.set(0, 0); // [here]
        }
        sync_threads(); // orders one block alone
        w.a.fetch_add(0, 1, Relaxed, Device); // [here]
    }),
    atomics_atomic_local_fence = right("atomics/atomic_local_fence", (2, 4), |w| {
        let words = local();
        words.fetch_add(0, i(), Relaxed, Device);
        sync_threads(); // all threads have added
        if t() == 0 {
            w.a.set(block(), words.get(0));
        }
    }),
    atomics_atomic_minmax_signed = right("atomics/atomic_minmax_signed", (1, 32), |w| {
        w.a.cast::<i32>().fetch_min(0, 5 - t() as i32, Relaxed, Device);
        w.a.cast::<i32>().fetch_max(1, t() as i32 - 5, Relaxed, Device);
    }),
    atomics_atomic_race_after = wrong("atomics/atomic_race_after", Race, (1, 4), |w| {
        w.a.fetch_add(0, 1, Relaxed, Device); // [here]
        if i() == 3 {
            w.b.set(0, w.a.get(0)); // [here]
        }
    }),
    atomics_atomic_race_before = wrong("atomics/atomic_race_before", Race, (1, 4), |w| {
        if i() == 0 {
            w.a.set(0, 0); // [here]
        }
        w.a.fetch_add(0, u32::MAX, Relaxed, Device); // [here]
    }),
    atomics_atomic_same_workitem = right("atomics/atomic_same_workitem", (1, 4), |w| {
        if i().is_multiple_of(2) {
            w.a.set(i(), 0);
            w.a.fetch_add(i(), 1, Relaxed, Device);
        } else {
            w.a.fetch_add(i(), 1, Relaxed, Device);
            w.a.set(i(), w.a.get(i()) + 1);
        }
    }),
    barrier_barrier_different_instructions = wrong("barrier/barrier_different_instructions", Divergence, (1, 4), |w| {
        if i() == 0 {
            w.a.set(0, 42);
            sync_threads(); // [here]
        } else {
            sync_threads(); // [here]
            w.a.set(i(), i() + w.a.get(0));
        }
    }),
    barrier_barrier_divergence = wrong("barrier/barrier_divergence", Divergence, (1, 4), |w| {
        w.a.set(i(), i());
        if i().is_multiple_of(2) {
            sync_threads(); // [here]
        }
    }),
    data_race_broadcast = right("data-race/broadcast", (4, 1), |w| w.a.set(i(), w.numbers.get(0))),
    data_race_global_fence = right("data-race/global_fence", (4, 4), |w| {
        w.b.set(i(), i());
        sync_threads(); // the block's words are there
        if t() == 0 {
            w.a.set(block(), (0..4).map(|k| w.b.get(4 * block() + k)).sum());
        }
    }),
    data_race_global_read_write_race = wrong("data-race/global_read_write_race", Race, (1, 4), |w| {
        if i() == 0 {
            w.a.set(0, 42); // [here]
        } else {
            w.b.set(i(), w.a.get(0)); // [here]
        }
    }),
    data_race_global_write_write_race = wrong("data-race/global_write_write_race", Race, (1, 4), |w| {
        w.a.set(0, i()); // [here]
    }),
    data_race_increment = right("data-race/increment", (4, 1), |w| w.a.set(i(), w.a.get(i()) + 1)),
    data_race_intergroup_hidden_race = wrong("data-race/intergroup_hidden_race", Race, (2, 1), |w| {
        w.b.set(block(), w.a.get(0)); // [here]
        if block() == 1 {
            w.a.set(0, block()); // [here]
        }
    }),
    data_race_intergroup_race = wrong("data-race/intergroup_race", Race, (2, 4), |w| {
        if t() == 0 {
            w.a.set(block(), block()); // [here]
        }
        sync_threads(); // orders one block alone
        if i() == 0 {
            let sum = (0..grid_dim_x()).map(|k| w.a.get(k)).sum(); // [here]
            w.a.set(0, sum);
        }
    }),
    data_race_local_read_write_race = wrong("data-race/local_read_write_race", Race, (1, 4), |w| {
        let words = local();
        words.set(t(), t()); // [here]
        w.a.set(t(), words.get((t() + 1) % 4)); // [here]
    }),
    data_race_local_write_write_race = wrong("data-race/local_write_write_race", Race, (1, 4), |_| {
        let words = local();
        words.set(0, t()); // [here]
    }),
    data_race_uniform_write_race = right("data-race/uniform_write_race", (1, 4), |w| w.a.set(0, 0)).same_value(),
    memcheck_async_copy_out_of_bounds = wrong("memcheck/async_copy_out_of_bounds", OutOfBounds, (1, 32), |w| {
        async_copy::element(SCRATCH::view(), t(), w.numbers, 240 + t(), true); // [here]
        async_copy::commit();
        async_copy::wait::<0>();
    }),
    memcheck_atomic_out_of_bounds = wrong("memcheck/atomic_out_of_bounds", OutOfBounds, (2, 4), |w| {
        w.four.fetch_add(i(), 1, Relaxed, Device); // [here]
    }),
    memcheck_dereference_null = wrong("memcheck/dereference_null", OutOfBounds, (1, 4), |w| {
        w.b.set(i(), w.none.get(t())); // [here]
    }),
    memcheck_read_out_of_bounds = wrong("memcheck/read_out_of_bounds", OutOfBounds, (1, 4), |w| {
        w.b.set(t(), w.four.get(t() + 1)); // [here]
    }),
    memcheck_static_array = wrong("memcheck/static_array", OutOfBounds, (1, 4), |_| {
        SCRATCH::view().set(30 + t(), 1); // [here]
    }),
    memcheck_casted_static_array = wrong("memcheck/casted_static_array", OutOfBounds, (1, 4), |_| {
        SCRATCH::view().cast::<u64>().set(13 + t(), 1); // [here]
    }),
    memcheck_write_out_of_bounds = wrong("memcheck/write_out_of_bounds", OutOfBounds, (1, 4), |w| {
        w.four.set(t() + 1, t()); // [here]
    }),
    misc_non_uniform_work_groups = right("misc/non_uniform_work_groups", (3, 7), |w| w.a.set(i(), t())),
    misc_reduce = right("misc/reduce", (2, 32), |w| {
        let words = local();
        words.set(t(), w.numbers.get(i()));
        sync_threads(); // the leaves are there
        let mut half = 16;
        while half > 0 {
            if t() < half {
                words.set(t(), words.get(t()) + words.get(t() + half));
            }
            sync_threads(); // a level is there before the next reads it
            half /= 2;
        }
        if t() == 0 {
            w.a.set(block(), words.get(0));
        }
    }),
    misc_vecadd = right("misc/vecadd", (2, 32), |w| w.a.set(i(), w.numbers.get(i()) + w.b.get(i()))),
    misc_switch_case = right("misc/switch_case", (1, 4), |w| match t() {
        0 => w.a.set(0, 7),
        1 => w.a.set(1, 42),
        k => w.a.set(k, 0),
    }),
    uninitialized_uninitialized_global_buffer =
        wrong("uninitialized/uninitialized_global_buffer", Uninitialised, (1, 4), |w| {
            w.a.set(t(), w.fresh.get(t())); // [here]
        }),
    uninitialized_uninitialized_local_array =
        wrong("uninitialized/uninitialized_local_array", Uninitialised, (1, 4), |w| {
            w.a.set(t(), unwritten().get(t())); // [here]
        }),
    uninitialized_uninitialized_local_ptr =
        wrong("uninitialized/uninitialized_local_ptr", Uninitialised, (1, 16), |w| {
            if t() != 8 {
                unwritten().set(t(), t());
            }
            w.a.set(t(), unwritten().get(t())); // [here]
        }),
    uninitialized_uninitialized_local_variable =
        wrong("uninitialized/uninitialized_local_variable", Uninitialised, (1, 4), |w| {
            if t() == 5 {
                unwritten().set(0, 1);
            }
            sync_threads(); // it would be there, if there were such a thread
            w.a.set(t(), unwritten().get(0)); // [here]
        }),
    wait_event_wait_event_chained = right("wait_event/wait_event_chained", (1, 32), |w| {
        for round in 0..2 {
            async_copy::element(SCRATCH::view(), t(), w.numbers, t() + round, true);
            async_copy::commit();
            async_copy::wait::<0>();
        }
        w.a.set(t(), SCRATCH::view().get(t()));
    }),
    wait_event_wait_event_divergent = wrong("wait_event/wait_event_divergent", NotAwaited, (1, 32), |w| {
        async_copy::element(SCRATCH::view(), t(), w.numbers, t(), true); // [here]
        async_copy::commit();
        if t() == 0 {
            async_copy::wait::<0>();
        }
    }),
    wait_event_wait_event_duplicates = right("wait_event/wait_event_duplicates", (1, 32), |w| {
        async_copy::element(SCRATCH::view(), t(), w.numbers, t(), true);
        async_copy::commit();
        async_copy::wait::<0>();
        async_copy::wait::<0>();
        w.a.set(t(), SCRATCH::view().get(t()));
    }),
];
