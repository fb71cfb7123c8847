//! Patterns of GPUVerify's tests, with the names of their folders below `testsuite`, and their verdicts.

#[cfg(not(target_os = "cuda"))]
use crate::Case;
use crate::rows::{block, i, local, rows, t};
use simt::atomic::{Order::Relaxed, Scope::Device, fence};
use simt::thread::{block_dim_x, sync_threads};
use simt::{async_copy, atomic, shared, thread, warp};

/// The suite, as the table names it.
#[cfg(not(target_os = "cuda"))]
pub const SUITE: &str = "GPUVerify";

shared!(MINE: [u32; 64]);
shared!(OTHER: [u32; 64]);
shared!(ONE: [u32; 1]);
shared!(TWENTY: [u32; 20]);

#[cfg(not(target_os = "cuda"))]
pub fn cases() -> std::vec::Vec<Case> {
    crate::rows::cases(ROWS, "gpuverify.rs", include_str!("gpuverify.rs"))
}

rows![
    cuda_atomics_add_one =
        right("CUDA/atomics/add_one", (1, 2), |w| w.b.set(w.a.fetch_add(0, 1, Relaxed, Device), t())),
    cuda_atomics_add_tid = wrong("CUDA/atomics/add_tid", Race, (1, 2), |w| {
        let place = w.a.fetch_add(0, t(), Relaxed, Device);
        w.b.set(place, t()); // [here]
    }),
    cuda_atomics_add_zero = wrong("CUDA/atomics/add_zero", Race, (1, 2), |w| {
        let place = w.a.fetch_add(0, 0, Relaxed, Device);
        w.b.set(place, t()); // [here]
    }),
    cuda_atomics_pointer_add = right("CUDA/atomics/pointer_add", (2, 64), |w| {
        w.a.slice(8, 8).fetch_add(0, 1, Relaxed, Device);
    }),
    cuda_barrierconditionalkernelparam = right("CUDA/barrierconditionalkernelparam", (2, 64), |w| {
        if w.a.len() > 2 {
            sync_threads(); // all threads or none: the condition is the launch's
        }
    }),
    cuda_basicbarrier = right("CUDA/basicbarrier", (2, 64), |w| {
        w.a.set(i(), i());
        sync_threads(); // nothing depends on it
        w.b.set(i(), w.a.get(i()));
    }),
    cuda_cooperative_groups_pass_block_barrier = right("CUDA/cooperative_groups/pass/block_barrier", (1, 32), |w| {
        let next = w.a.get(t() + 1);
        sync_threads(); // all threads have read
        w.a.set(t(), next);
    }),
    cuda_cooperative_groups_fail_divergence_thread_block =
        wrong("CUDA/cooperative_groups/fail/divergence_thread_block", Divergence, (1, 32), |_| {
            if t() < 16 {
                sync_threads(); // [here]
            }
        }),
    cuda_cooperative_groups_fail_race = wrong("CUDA/cooperative_groups/fail/race", Race, (2, 32), |w| {
        let next = w.a.get(i() + 1); // [here]
        w.a.set(i(), next); // [here]
    }),
    cuda_fail_tests_race_on_shared = wrong("CUDA/fail_tests/race_on_shared", Race, (1, 16), |_| {
        MINE::view().set(0, t()); // [here]
    }),
    cuda_fail_tests_shared_int = wrong("CUDA/fail_tests/shared_int", Race, (2, 64), |_| {
        ONE::view().set(0, t()); // [here]
    }),
    cuda_fresh_arrays_fail_array = wrong("CUDA/fresh_arrays/fail/array", Race, (2, 64), |w| {
        w.a.set(0, t()); // [here]
    }),
    cuda_fresh_arrays_pass_array = right("CUDA/fresh_arrays/pass/array", (2, 64), |w| w.a.set(i(), t())),
    cuda_globalarray_fail = wrong("CUDA/globalarray/fail", Race, (1, 8), |w| {
        if w.b.get(t()) != t() {
            w.a.set(0, t()); // [here]
        }
    }),
    cuda_loop_unwind = wrong("CUDA/loop_unwind", Race, (2, 64), |w| {
        for k in 0..10 {
            MINE::view().set(k, w.a.get(k)); // [here]
        }
    }),
    cuda_misc_fail_miscfail3 = wrong("CUDA/misc/fail/miscfail3", Race, (1, 64), |w| {
        let ahead = w.a.get(t() + 7); // [here]
        w.a.set(t(), w.a.get(t()) + ahead); // [here]
    }),
    cuda_multiplelocals = right("CUDA/multiplelocals", (2, 64), |w| {
        MINE::view().set(t(), t());
        OTHER::view().set(t(), MINE::view().get(t()));
        w.a.set(i(), OTHER::view().get(t()));
    }),
    cuda_noraceduetoreturn = right("CUDA/noraceduetoreturn", (1, 64), |w| {
        if t() != 0 {
            return;
        }
        w.a.set(4, 26);
    }),
    cuda_param_values_value_causing_race = wrong("CUDA/param_values/value_causing_race", Race, (1, 224), |w| {
        let x = 185;
        if t() == 15 {
            w.a.set(t() + x, t()); // [here]
        }
        if t() == 200 {
            w.a.set(t(), t()); // [here]
        }
    }),
    cuda_pointeranalysistests_testbasicaliasing =
        wrong("CUDA/pointeranalysistests/testbasicaliasing", Race, (2, 64), |w| {
            let (p, q) = (w.a, w.a);
            p.set(100, q.get(100) + 1); // [here]
        }),
    cuda_pointertests_cast = wrong("CUDA/pointertests/cast", Race, (2, 32), |_| {
        for k in 0..8 {
            MINE::view().cast::<u8>().slice(0, 32).cast::<u32>().set(k, t()); // [here]
        }
    }),
    cuda_pointertests_test_copy_between_memory_spaces =
        right("CUDA/pointertests/test_copy_between_memory_spaces", (1, 64), |w| {
            MINE::view().set(t(), w.numbers.get(t()));
            w.a.set(t(), MINE::view().get(t()));
        }),
    cuda_test_for_get_group_id = right("CUDA/test_for_get_group_id", (1, 64), |w| {
        if block() == 0 {
            w.a.set(t(), block());
        }
    }),
    cuda_threadfence = right("CUDA/threadfence", (2, 32), |_| fence(atomic::Order::AcqRel, Device)),
    cuda_warpsync_shuffle = right("CUDA/warpsync/shuffle", (1, 64), |w| {
        let next = w.a.get(t() / 32 * 32 + (t() + 1) % 32);
        w.a.set(t(), next);
    }),
    cuda_warpsync_shuffle_with_sync_warp = right("CUDA/warpsync/shuffle, with sync_warp", (1, 64), |w| {
        let next = w.a.get(t() / 32 * 32 + (t() + 1) % 32);
        warp::sync_warp(warp::FULL); // all lanes have read
        w.a.set(t(), next);
    }),
    cuda_warpsync_broken_shuffle = wrong("CUDA/warpsync/broken_shuffle", Race, (1, 64), |w| {
        let next = w.a.get(t() / 32 * 32 + (t() + 1) % 32); // [here]
        warp::sync_warp(if t() % 32 < 16 { 0xffff } else { 0xffff_0000 }); // warps of 16, as the test has them
        w.a.set(t(), next); // [here]
    }),
    cuda_warpsync_scan_warp = right("CUDA/warpsync/scan_warp", (1, 64), |w| {
        for distance in [1, 2, 4, 8, 16] {
            if t() % 32 >= distance {
                w.a.set(t(), w.a.get(t() - distance) + w.a.get(t()));
            }
        }
    }),
    cuda_warpsync_scan_warp_with_sync_warp = right("CUDA/warpsync/scan_warp, with sync_warp", (1, 64), |w| {
        for distance in [1, 2, 4, 8, 16] {
            let before = if t() % 32 >= distance { w.a.get(t() - distance) } else { 0 };
            warp::sync_warp(warp::FULL); // all lanes have read
            w.a.set(t(), before + w.a.get(t()));
            warp::sync_warp(warp::FULL); // all lanes have written
        }
    }),
    cuda_warpsync_bad_inter_group = wrong("CUDA/warpsync/bad_inter_group", Race, (2, 64), |w| {
        let ahead = w.a.get((block() + 1) * block_dim_x() + t()); // [here]
        w.a.set(i(), w.a.get(i()) + ahead); // [here]
    }),
    opencl_alignment_race_location = wrong("OpenCL/alignment/race_location", Race, (2, 64), |w| {
        w.a.set(200, i()); // [here]
    }),
    opencl_array_bounds_tests_simple_array =
        right("OpenCL/array_bounds_tests/simple_array", (2, 8), |_| TWENTY::view().set(t(), t() * t())),
    opencl_array_bounds_tests_simple_array_fail_lower =
        wrong("OpenCL/array_bounds_tests/simple_array_fail_lower", OutOfBounds, (1, 8), |_| {
            TWENTY::view().set(t().wrapping_sub(1), t()); // [here]
        }),
    opencl_array_bounds_tests_simple_array_fail_upper =
        wrong("OpenCL/array_bounds_tests/simple_array_fail_upper", OutOfBounds, (1, 8), |_| {
            TWENTY::view().set(t() + 13, t()); // [here]
        }),
    opencl_array_bounds_tests_simple_array_fail_var =
        wrong("OpenCL/array_bounds_tests/simple_array_fail_var", OutOfBounds, (4, 8), |_| {
            let x = i();
            TWENTY::view().set(x, x * x); // [here]
        }),
    opencl_array_bounds_tests_multi_dim_array_fail_upper =
        wrong("OpenCL/array_bounds_tests/multi_dim_array_fail_upper", OutOfBounds, (8, 8), |_| {
            MINE::view().set(i() * 8 + t(), block()); // [here]
        }),
    opencl_array_bounds_tests_negative_index_multi_dim_fail =
        wrong("OpenCL/array_bounds_tests/negative_index_multi_dim_fail", OutOfBounds, (1, 8), |_| {
            MINE::view().set(t().wrapping_sub(1).wrapping_mul(8), 1); // [here]
        }),
    opencl_array_bounds_tests_realign_simple_fail =
        wrong("OpenCL/array_bounds_tests/realign_simple_fail", OutOfBounds, (15, 20), |_| {
            MINE::view().cast::<u8>().set(i(), 1); // [here]
        }),
    opencl_async_work_group_copy_fail_test1 = wrong("OpenCL/async_work_group_copy/fail/test1", Race, (2, 64), |w| {
        async_copy::element(MINE::view(), t(), w.numbers, i(), true); // [here]
        async_copy::commit();
        w.a.set(i(), MINE::view().get(t())); // [here]
        async_copy::wait::<0>();
    }),
    opencl_async_work_group_copy_fail_test2 = wrong("OpenCL/async_work_group_copy/fail/test2", Race, (2, 64), |w| {
        async_copy::element(MINE::view(), t(), w.numbers, i(), true);
        async_copy::commit();
        async_copy::element(OTHER::view(), t(), w.numbers, i(), true); // [here]
        async_copy::commit();
        async_copy::wait::<1>();
        w.a.set(i(), MINE::view().get(t()) ^ OTHER::view().get(t())); // [here]
        async_copy::wait::<0>();
    }),
    opencl_async_work_group_copy_fail_test9 =
        wrong("OpenCL/async_work_group_copy/fail/test9", NotAwaited, (1, 64), |w| {
            async_copy::element(MINE::view(), t(), w.numbers, i(), true); // [here]
            async_copy::commit();
            if t() > 13 {
                async_copy::wait::<0>();
            }
        }),
    opencl_async_work_group_copy_fail_test14 = wrong("OpenCL/async_work_group_copy/fail/test14", Race, (2, 64), |w| {
        async_copy::element(MINE::view(), t(), w.numbers, i(), true); // [here]
        async_copy::commit();
        async_copy::wait::<0>();
        w.a.set(i(), MINE::view().get(t() ^ 1)); // [here]
    }),
    opencl_async_work_group_copy_pass_test1 = right("OpenCL/async_work_group_copy/pass/test1", (2, 64), |w| {
        async_copy::element(MINE::view(), t(), w.numbers, i(), true);
        async_copy::commit();
        async_copy::wait::<0>();
        sync_threads(); // the copies of all threads are there
        w.a.set(i(), MINE::view().get(t() ^ 1));
    }),
    opencl_async_work_group_copy_pass_test3 = right("OpenCL/async_work_group_copy/pass/test3", (2, 64), |w| {
        async_copy::element(MINE::view(), t(), w.numbers, i(), true);
        async_copy::element(OTHER::view(), t(), w.numbers, i(), true);
        async_copy::commit();
        async_copy::wait::<0>();
        sync_threads(); // the copies of all threads are there
        w.a.set(i(), MINE::view().get(t() ^ 1) + OTHER::view().get(t() ^ 1));
    }),
    opencl_atomics_atomic_read_race = wrong("OpenCL/atomics/atomic_read_race", Race, (1, 64), |w| {
        let a = local();
        w.b.set(i(), a.get(t())); // [here]
        a.fetch_add(0, 1, Relaxed, Device); // [here]
    }),
    opencl_atomics_counter = right("OpenCL/atomics/counter", (1, 64), |_| {
        let a = local();
        if t() == 0 {
            ONE::view().set(0, 0);
        }
        sync_threads(); // the counter is zero
        a.set(ONE::view().fetch_add(0, 1, Relaxed, Device), t());
    }),
    opencl_atomics_histo = right("OpenCL/atomics/histo", (1, 64), |w| {
        w.b.fetch_add(w.numbers.get(t()) % 4, 1, Relaxed, Device);
    }),
    opencl_atomics_pointers = wrong("OpenCL/atomics/pointers", Race, (1, 64), |_| {
        let a = local();
        let before = a.fetch_add(12, 1, Relaxed, Device); // [here]
        a.set(t(), before); // [here]
    }),
    opencl_atomics_forloop = wrong("OpenCL/atomics/forloop", Race, (1, 64), |w| {
        for k in 0..8 {
            w.b.fetch_add(k, 1, Relaxed, Device); // [here]
        }
        w.b.set(i(), 8); // [here]
    }),
    opencl_atomics_refined_atomic_abstraction_bad_local_counters =
        wrong("OpenCL/atomics/refined_atomic_abstraction/bad_local_counters", Race, (2, 32), |w| {
            let place = local().fetch_add(0, 1, Relaxed, Device);
            w.a.set(place, i()); // [here]
        }),
    opencl_atomics_refined_atomic_abstraction_intra_local_counters =
        right("OpenCL/atomics/refined_atomic_abstraction/intra_local_counters", (1, 32), |w| {
            w.a.set(local().fetch_add(0, 1, Relaxed, Device), i());
        }),
    opencl_atomics_refined_atomic_abstraction_one_access =
        right("OpenCL/atomics/refined_atomic_abstraction/one_access", (2, 32), |w| {
            let (counter, place) = (local(), w.b.fetch_add(0, 1, Relaxed, Device));
            MINE::view().set(counter.fetch_add(0, 1, Relaxed, Device), t());
            w.a.set(place, i());
        }),
    opencl_atomics_refined_atomic_abstraction_many_accesses =
        right("OpenCL/atomics/refined_atomic_abstraction/many_accesses", (2, 32), |w| {
            (0..3).for_each(|_| w.a.set(w.b.fetch_add(0, 1, Relaxed, Device), i()));
        }),
    opencl_atomics_refined_atomic_abstraction_access_in_loop =
        right("OpenCL/atomics/refined_atomic_abstraction/access_in_loop", (1, 16), |w| {
            loop {
                let place = w.b.fetch_add(0, 1, Relaxed, Device);
                w.a.set(place, i());
                if place >= i() {
                    break;
                }
            }
        }),
    opencl_atomics_refined_atomic_abstraction_predication =
        wrong("OpenCL/atomics/refined_atomic_abstraction/predication", Race, (1, 64), |w| {
            let place = if i() == 13 { 12 } else { w.b.fetch_add(0, 1, Relaxed, Device) };
            w.a.set(place, i()); // [here]
        }),
    opencl_barrier_intervals_test1 = right("OpenCL/barrier_intervals/test1", (1, 16), |_| {
        let p = local();
        p.set(t(), t());
        sync_threads(); // nothing depends on it
        p.set(t(), t());
    }),
    opencl_barrier_intervals_test2 = wrong("OpenCL/barrier_intervals/test2", Divergence, (1, 16), |_| {
        let p = local();
        if t() == 0 {
            sync_threads(); // [here]
        }
        p.set(t(), t());
        sync_threads(); // [here]
        p.set(t(), t());
    }),
    opencl_barrier_intervals_test3 = right("OpenCL/barrier_intervals/test3", (1, 16), |_| {
        let p = local();
        for _ in 0..10 {
            sync_threads(); // nothing depends on it
            p.set(t(), t());
            sync_threads(); // nor on this
        }
        if p.get(0) == 22 {
            sync_threads(); // all threads or none: they have read one word, behind a barrier
        }
    }),
    opencl_benign_race_tests_fail_writeafterread_addition =
        wrong("OpenCL/benign_race_tests/fail/writeafterread_addition", Race, (1, 64), |_| {
            let a = local();
            let v = a.get(0); // [here]
            a.set(0, v + 1); // [here]
        })
        .same_value(),
    opencl_benign_race_tests_fail_writeafterread_otherval =
        wrong("OpenCL/benign_race_tests/fail/writeafterread_otherval", Race, (1, 64), |w| {
            let a = local();
            w.b.set(t(), a.get(0)); // [here]
            a.set(0, 5); // [here]
        })
        .same_value(),
    opencl_benign_race_tests_fail_writereadarray_equality =
        wrong("OpenCL/benign_race_tests/fail/writereadarray_equality", Race, (1, 64), |w| {
            let a = local();
            a.set(t(), 0); // [here]
            w.b.set(i(), a.get(t() + 1)); // [here]
        })
        .same_value(),
    opencl_benign_race_tests_fail_writetiddiv64_offbyone =
        wrong("OpenCL/benign_race_tests/fail/writetiddiv64_offbyone", Race, (1, 65), |_| {
            let a = local();
            a.set(3, t() / 64); // [here]
        })
        .same_value(),
    opencl_benign_race_tests_fail_writezero_nobenign =
        wrong("OpenCL/benign_race_tests/fail/writezero_nobenign", Race, (1, 64), |_| {
            let a = local();
            a.set(0, 0); // [here]
        }),
    opencl_benign_race_tests_pass_writezero =
        right("OpenCL/benign_race_tests/pass/writezero", (1, 64), |_| local().set(0, 0)).same_value(),
    opencl_benign_race_tests_pass_writeinloop = right("OpenCL/benign_race_tests/pass/writeinloop", (1, 64), |_| {
        let a = local();
        (2..9).for_each(|_| a.set(0, 42));
    })
    .same_value(),
    opencl_benign_race_tests_pass_writetiddiv64 =
        right("OpenCL/benign_race_tests/pass/writetiddiv64", (1, 64), |_| local().set(3, t() / 64)).same_value(),
    opencl_benign_race_tests_pass_writewritearray =
        right("OpenCL/benign_race_tests/pass/writewritearray", (1, 64), |w| local().set(3, w.b.get(5))).same_value(),
    opencl_benign_race_tests_pass_writeafterread =
        right("OpenCL/benign_race_tests/pass/writeafterread", (1, 64), |_| {
            let a = local();
            let v = a.get(0);
            a.set(0, v);
        })
        .same_value(),
    opencl_divergence_race_and_divergence = wrong("OpenCL/divergence/race_and_divergence", Divergence, (1, 64), |w| {
        let v = w.numbers.get(i());
        if v == 0 {
            sync_threads(); // [here]
        }
        w.b.set(0, v);
    }),
    opencl_inter_group_and_barrier_flag_tests_fail_local_id =
        wrong("OpenCL/inter_group_and_barrier_flag_tests/fail/local_id", Race, (2, 64), |w| {
            w.a.set(t(), block()); // [here]
        }),
    opencl_inter_group_and_barrier_flag_tests_fail_sync =
        wrong("OpenCL/inter_group_and_barrier_flag_tests/fail/sync", Race, (2, 64), |w| {
            w.a.set(i(), i()); // [here]
            sync_threads(); // orders one block alone
            w.a.set(i() + 1, i()); // [here]
        }),
    opencl_inter_group_and_barrier_flag_tests_fail_bad_read_then_write =
        wrong("OpenCL/inter_group_and_barrier_flag_tests/fail/bad_read_then_write", Race, (1, 64), |w| {
            let p = local();
            w.b.set(i(), p.get(0)); // [here]
            if t() == 1 {
                p.set(0, 1); // [here]
            }
        }),
    opencl_inter_group_and_barrier_flag_tests_pass_global_barrier =
        right("OpenCL/inter_group_and_barrier_flag_tests/pass/global_barrier", (2, 64), |w| {
            w.a.set(i(), i());
            sync_threads(); // the neighbour has written
            if t() < block_dim_x() - 1 {
                w.a.set(i() + 1, i());
            }
        }),
    opencl_inter_group_and_barrier_flag_tests_pass_local_barrier_flag =
        right("OpenCL/inter_group_and_barrier_flag_tests/pass/local_barrier_flag", (2, 64), |_| {
            let p = local();
            p.set(t(), i());
            sync_threads(); // the neighbour has written
            p.set(t() + 1, i());
        }),
    opencl_inter_group_and_barrier_flag_tests_pass_local_id_benign_write_write =
        right("OpenCL/inter_group_and_barrier_flag_tests/pass/local_id_benign_write_write", (2, 64), |w| {
            w.a.set(t(), t());
        })
        .same_value(),
    opencl_inter_group_and_barrier_flag_tests_pass_read_then_write =
        right("OpenCL/inter_group_and_barrier_flag_tests/pass/read_then_write", (1, 64), |w| {
            let p = local();
            if t() == 0 {
                w.b.set(i(), p.get(0));
            }
            sync_threads(); // it has been read
            if t() == 1 {
                p.set(0, 1);
            }
        }),
    opencl_inter_group_and_barrier_flag_tests_pass_write_then_read =
        right("OpenCL/inter_group_and_barrier_flag_tests/pass/write_then_read", (1, 64), |w| {
            let p = local();
            if t() == 0 {
                p.set(0, 7);
            }
            sync_threads(); // it has been written
            if t() == 1 {
                w.b.set(i(), p.get(0));
            }
        }),
    opencl_mem_fence = right("OpenCL/mem_fence", (2, 64), |_| fence(atomic::Order::AcqRel, atomic::Scope::Block)),
    opencl_misc_fail_2d_array_race = wrong("OpenCL/misc/fail/2d_array_race", Race, (1, 64), |w| {
        let (l, x, y) = (local(), t() % 8, t() / 8);
        l.set(y * 8 + x, w.numbers.get(i())); // [here]
        l.set((y + 1) * 8 + x, l.get((y + 1) * 8 + x) + 1); // [here]
    }),
    opencl_misc_fail_4d_array_race = wrong("OpenCL/misc/fail/4d_array_race", Race, (1, 64), |w| {
        local().set(119, w.numbers.get(i())); // [here]
    }),
    opencl_misc_fail_miscfail3 = wrong("OpenCL/misc/fail/miscfail3", Race, (1, 16), |_| {
        let a = local();
        if t() != 0 {
            a.set(t(), t());
        }
        for k in 0..10 {
            if k == 1 {
                a.set(0, t()); // [here]
            }
        }
    }),
    opencl_misc_fail_miscfail6 = wrong("OpenCL/misc/fail/miscfail6", Race, (1, 64), |_| {
        let a = local();
        let ahead = a.get(t() + 9); // [here]
        a.set(t(), a.get(t()) + ahead); // [here]
    }),
    opencl_misc_fail_miscfail8 = wrong("OpenCL/misc/fail/miscfail8", Race, (2, 16), |w| {
        let p = local();
        w.b.set(i(), p.get(t())); // [here]
        p.set(t() + 1, t()); // [here]
    }),
    opencl_misc_fail_struct_member_race = wrong("OpenCL/misc/fail/struct_member_race", Race, (2, 64), |w| {
        w.a.cast::<u64>().slice(3, 1).cast::<u32>().set(1, i()); // [here]
    }),
    opencl_misc_fail_vector_element_race = wrong("OpenCL/misc/fail/vector_element_race", Race, (2, 64), |w| {
        w.a.slice(12, 4).set(1, i()); // [here]
    }),
    opencl_null_pointers_load_from_null = wrong("OpenCL/null_pointers/load_from_null", OutOfBounds, (1, 64), |w| {
        w.b.set(i(), w.none.get(i())); // [here]
    }),
    opencl_null_pointers_store_to_null_and_non_null =
        wrong("OpenCL/null_pointers/store_to_null_and_non_null", OutOfBounds, (1, 64), |w| {
            w.none.set(i(), i()); // [here]
            w.a.set(i(), i());
        }),
    opencl_null_pointers_atomic_null = wrong("OpenCL/null_pointers/atomic_null", OutOfBounds, (1, 64), |w| {
        w.none.fetch_add(0, 1, Relaxed, Device); // [here]
    }),
    opencl_report_global_id_test2 = wrong("OpenCL/report_global_id/test2", Race, (5, 2), |w| {
        if i() == 0 {
            w.a.set(i(), 1); // [here]
        }
        if i() == 7 {
            w.a.set(0, 45); // [here]
        }
    }),
    opencl_return_tests_id_dependent_return = right("OpenCL/return_tests/id_dependent_return", (2, 64), |w| {
        if t() < 25 {
            return;
        }
        w.a.set(i(), 1);
    }),
    opencl_return_tests_multiloop_return_simplified =
        right("OpenCL/return_tests/multiloop_return_simplified", (2, 64), |w| {
            let mut result = 0;
            for k in 0..100 {
                if result > 1000 {
                    return;
                }
                result += k;
            }
            w.a.set(i(), result);
        }),
    opencl_shared_int = wrong("OpenCL/shared_int", Race, (2, 64), |_| {
        ONE::view().set(0, t()); // [here]
    }),
    opencl_sourcelocation_tests_barrier_divergence_fail =
        wrong("OpenCL/sourcelocation_tests/barrier_divergence/fail", Divergence, (1, 64), |_| {
            let a = local();
            if t() == 3 {
                sync_threads(); // [here]
            }
            a.set(t(), t());
        }),
    opencl_sourcelocation_tests_barrier_divergence_pass =
        right("OpenCL/sourcelocation_tests/barrier_divergence/pass", (1, 64), |w| {
            let a = local();
            a.set(t(), t());
            sync_threads(); // nothing depends on it
            w.b.set(t(), t());
        }),
    opencl_sourcelocation_tests_race_from_call =
        wrong("OpenCL/sourcelocation_tests/race_from_call", Race, (1, 16), |_| {
            let p = local();
            let store = |i: u32, v| p.set(i, v); // [here]
            store(t() + 1, t());
            store(t(), t());
        }),
    opencl_sourcelocation_tests_race_with_loop =
        wrong("OpenCL/sourcelocation_tests/race_with_loop", Race, (1, 64), |_| {
            let (p, mut x) = (local(), 0);
            for k in 0..20 {
                x += p.get(k); // [here]
            }
            p.set(t(), x); // [here]
        }),
    opencl_sourcelocation_tests_races_fail_read_write =
        wrong("OpenCL/sourcelocation_tests/races/fail/read_write", Race, (1, 64), |w| {
            let a = local();
            w.b.set(t(), a.get(8)); // [here]
            a.set(t(), t()); // [here]
        }),
    opencl_sourcelocation_tests_races_fail_write_read =
        wrong("OpenCL/sourcelocation_tests/races/fail/write_read", Race, (1, 64), |w| {
            let a = local();
            a.set(t(), t()); // [here]
            w.b.set(t(), a.get(8)); // [here]
        }),
    opencl_sourcelocation_tests_races_fail_write_write_normal =
        wrong("OpenCL/sourcelocation_tests/races/fail/write_write/normal", Race, (1, 64), |_| {
            let a = local();
            a.set(t(), t()); // [here]
            a.set(t() + 1, t()); // [here]
        }),
    opencl_sourcelocation_tests_races_fail_write_write_elem_width_16 =
        wrong("OpenCL/sourcelocation_tests/races/fail/write_write/elem_width_16", Race, (1, 64), |_| {
            let a = local().cast::<u16>();
            a.set(t(), t() as u16); // [here]
            a.set(t() + 1, t() as u16); // [here]
        }),
    opencl_sourcelocation_tests_races_fail_write_write_loop =
        wrong("OpenCL/sourcelocation_tests/races/fail/write_write/loop", Race, (1, 64), |_| {
            let p = local();
            for _ in 0..10 {
                if t() == 5 {
                    p.set(t(), t()); // [here]
                }
                if t() == 4 {
                    p.set(t() + 1, t()); // [here]
                }
            }
        }),
    opencl_sourcelocation_tests_races_pass_no_race =
        right("OpenCL/sourcelocation_tests/races/pass/no_race", (2, 64), |w| {
            let a = local();
            a.set(t(), t());
            w.b.set(i(), a.get(t()));
        }),
    opencl_sourcelocation_tests_races_pass_read_read =
        right("OpenCL/sourcelocation_tests/races/pass/read_read", (2, 64), |w| w.b.set(i(), w.numbers.get(8))),
    opencl_test_for_benign_read_write_bug = wrong("OpenCL/test_for_benign_read_write_bug", Race, (1, 64), |_| {
        let p = local().cast::<u16>();
        p.set(0, p.get(0) + 1); // [here]
    }),
    opencl_test_part_load_store_store_int_and_short =
        right("OpenCL/test_part_load_store/store_int_and_short", (1, 64), |w| {
            let half = w.a.cast::<u16>();
            half.set(2 * i(), 1);
            half.set(2 * i() + 1, 2);
            w.a.set(i(), w.a.get(i()) + 1);
        }),
    cuda_transitiveclosure = right("CUDA/transitiveclosure", (1, 64), |w| {
        let (a, x, y) = (local(), t() % 8, t() / 8);
        a.set(t(), w.numbers.get(t()) % 3);
        for k in 0..8 {
            sync_threads(); // the round before has been written
            let through = a.get(y * 8 + k) & a.get(k * 8 + x);
            sync_threads(); // all threads have read
            a.set(t(), a.get(t()) | through);
        }
        w.a.set(t(), a.get(t()));
    }),
    cuda_reduced_strength_blockwise = right("CUDA/reduced_strength_blockwise", (2, 64), |w| {
        let mut k = i();
        while k < 200 {
            w.a.set(k, 1);
            k += thread::grid_threads_1d();
        }
    }),
];
