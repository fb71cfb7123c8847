//! The differences of LLVM 19, seen in the PTX for `sm_100`.

use super::super::{COPIES, MBARRIERS, WARP_BARRIERS, WARP_REDUCTIONS};
use super::{Known, Why};

const ATOMICS: &str = "atomic operations";
const BARRIERS: &str = "block barriers";
const SHUFFLES: &str = "shuffles";

pub(super) const KNOWN: &[Known] = &[
    // The warps vote and shuffle in each round of the network; LLVM 19 has two rounds, or all of them, in a row.
    Known("bubble_ring", "votes", [8, 16], Why::Unrolled),
    Known("bubble_ring_u64", "votes", [4, 16], Why::Unrolled),
    Known("bubble_shared_block bubble_shared_block_u64", BARRIERS, [2, 10], Why::Unrolled),
    Known("bubble_warp_registers", SHUFFLES, [2, 4], Why::Unrolled),
    Known("bubble_warp_registers_u64", SHUFFLES, [4, 8], Why::Unrolled),
    // The thread that copies tiles: LLVM 19 has its loop for both arms of a branch in it.
    Known("compose_f32_scan_ahead compose_u32_scan_ahead scan_look_ahead_*", MBARRIERS, [34, 39], Why::OnBothArms),
    Known("compose_f32_scan_ahead compose_u32_scan_ahead scan_look_ahead_*", COPIES, [4, 8], Why::OnBothArms),
    // The loop that adds up counts: the LLVM of rustc unrolls it.
    Known("exchange_sift_u32", ATOMICS, [42, 38], Why::Unrolled),
    Known("exchange_sift_u64", ATOMICS, [26, 22], Why::Unrolled),
    // Loops over the keys of a thread.
    Known("histogram_global_atomics_u32 histogram_global_atomics_u8", ATOMICS, [5, 29], Why::Unrolled),
    Known("histogram_shared_atomics_u32 histogram_shared_atomics_u8", ATOMICS, [10, 34], Why::Unrolled),
    Known("histogram_warp_tables_u32 histogram_warp_tables_u8", ATOMICS, [6, 30], Why::Unrolled),
    // Loops by which a thread copies its part of a tile; each compiler unrolls others of them.
    Known("matmul_tensor_double", COPIES, [77, 73], Why::Unrolled),
    Known("matmul_tensor_mma", COPIES, [82, 86], Why::Unrolled),
    Known("product_fp64", COPIES, [118, 122], Why::Unrolled),
    Known("product_fp64_small", COPIES, [62, 68], Why::Unrolled),
    Known("product_tf32", COPIES, [106, 122], Why::Unrolled),
    Known("product_three_tf32", COPIES, [82, 90], Why::Unrolled),
    // The loop in which a warp sums 32 numbers a round, and loops by which a thread copies.
    Known(
        "merge_all_runs_few merge_all_runs_few_u64 merge_all_runs_many merge_all_runs_many_u64 \
         merge_by_less_merge_few merge_by_less_merge_many merge_by_less_u64_merge_few merge_by_less_u64_merge_many \
         merge_by_low_half_merge_few merge_by_low_half_merge_many",
        SHUFFLES,
        [24, 60],
        Why::Unrolled,
    ),
    Known(
        "merge_by_less_buckets merge_by_less_stable_buckets merge_by_less_u64_buckets \
         merge_by_less_u64_stable_buckets merge_by_low_half_buckets merge_by_low_half_stable_buckets",
        COPIES,
        [3, 7],
        Why::Unrolled,
    ),
    Known(
        "merge_by_less_merge8 merge_by_less_u64_merge8 merge_by_low_half_merge8 merge_multi_way_merge8 \
         merge_multi_way_merge8_u64",
        COPIES,
        [3, 10],
        Why::Unrolled,
    ),
    Known(
        "merge_by_less_sort_large merge_by_less_stable_sort_large merge_by_less_u64_sort_large \
         merge_by_less_u64_stable_sort_large merge_by_low_half_sort_large merge_by_low_half_stable_sort_large",
        COPIES,
        [6, 13],
        Why::Unrolled,
    ),
    // Loops over the keys of a thread, or over the digits.
    Known("radix_either_first radix_either_first_mapped", ATOMICS, [72, 88], Why::Unrolled),
    Known("radix_either_many_first radix_either_many_first_mapped", ATOMICS, [168, 184], Why::Unrolled),
    Known(
        "radix_either_many_first_u64 radix_either_many_second_u64 radix_either_many_second_u64_mapped",
        ATOMICS,
        [46, 74],
        Why::Unrolled,
    ),
    Known("radix_either_many_first_u64_mapped", ATOMICS, [42, 74], Why::Unrolled),
    Known("radix_either_many_histogram radix_either_many_histogram_mapped", ATOMICS, [201, 225], Why::Unrolled),
    Known("radix_either_many_histogram_u64 radix_either_many_histogram_u64_mapped", ATOMICS, [124, 148], Why::Unrolled),
    Known("radix_either_many_second radix_either_many_second_mapped", ATOMICS, [123, 155], Why::Unrolled),
    Known("radix_either_rest", ATOMICS, [108, 132], Why::Unrolled),
    Known(
        "radix_learned_histogram radix_learned_histogram_mapped radix_msd_skewed_histogram \
         radix_msd_skewed_histogram_mapped",
        ATOMICS,
        [85, 97],
        Why::Unrolled,
    ),
    Known(
        "radix_learned_histogram_u64 radix_learned_histogram_u64_mapped radix_msd_skewed_histogram_u64 \
         radix_msd_skewed_histogram_u64_mapped",
        ATOMICS,
        [51, 63],
        Why::Unrolled,
    ),
    Known(
        "radix_learned_partition_u64 radix_learned_partition_u64_mapped radix_learned_partition_wide_u64 \
         radix_learned_partition_wide_u64_mapped",
        ATOMICS,
        [21, 29],
        Why::Unrolled,
    ),
    Known("radix_msd_buckets_histogram", ATOMICS, [23, 35], Why::Unrolled),
    Known("radix_msd_pairs_histogram radix_msd_pairs_histogram_mapped", ATOMICS, [87, 99], Why::Unrolled),
    Known(
        "radix_msd_skewed_histogram_bytes radix_msd_skewed_histogram_bytes_mapped",
        ATOMICS,
        [104, 120],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_skewed_histogram_bytes_u64 radix_msd_skewed_histogram_bytes_u64_mapped",
        ATOMICS,
        [64, 80],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_skewed_partition radix_msd_skewed_partition_mapped radix_msd_skewed_partition_wide \
         radix_msd_skewed_partition_wide_mapped",
        ATOMICS,
        [41, 57],
        Why::Unrolled,
    ),
    Known("radix_msd_skewed_partition_u64 radix_msd_skewed_partition_wide_u64", ATOMICS, [25, 45], Why::Unrolled),
    Known(
        "radix_msd_skewed_partition_u64_mapped radix_msd_skewed_partition_wide_u64_mapped",
        ATOMICS,
        [21, 45],
        Why::Unrolled,
    ),
    Known("radix_msd_skewed_split", ATOMICS, [75, 99], Why::Unrolled),
    Known("radix_msd_skewed_split_u64", ATOMICS, [50, 82], Why::Unrolled),
    Known("radix_onesweep_histogram_u64", ATOMICS, [89, 90], Why::Unrolled),
    // The loop over the digits of a sort in one block: LLVM 19 has a round apart, or no loop.
    Known("radix_either_many_bucket_sort", BARRIERS, [22, 25], Why::Unrolled),
    Known("radix_either_many_bucket_sort radix_either_second", SHUFFLES, [13, 14], Why::Unrolled),
    Known("radix_either_second", BARRIERS, [16, 19], Why::Unrolled),
    Known("radix_msd_buckets_bucket_sort", BARRIERS, [12, 15], Why::Unrolled),
    Known("radix_msd_buckets_bucket_sort", SHUFFLES, [11, 12], Why::Unrolled),
    Known("radix_msd_pairs_bucket_sort radix_msd_pairs_bucket_sort_small", BARRIERS, [30, 36], Why::Unrolled),
    Known("radix_msd_pairs_bucket_sort radix_msd_pairs_bucket_sort_small", SHUFFLES, [14, 16], Why::Unrolled),
    Known("radix_msd_skewed_bucket_sort radix_msd_skewed_bucket_sort_large", BARRIERS, [9, 12], Why::Unrolled),
    Known("radix_msd_skewed_bucket_sort", SHUFFLES, [7, 8], Why::Unrolled),
    Known("radix_msd_skewed_bucket_sort_large", SHUFFLES, [9, 10], Why::Unrolled),
    // The levels of the tree of sums.
    Known(
        "scan_blelloch_max_f64 scan_blelloch_min_f64 scan_blelloch_padded_max_f64 scan_blelloch_padded_min_f64 \
         scan_three_kernels_tiles_max_f64 scan_three_kernels_tiles_min_f64",
        BARRIERS,
        [5, 21],
        Why::Unrolled,
    ),
    // The loop over the keys of a thread: LLVM 19 has one for each arm of a branch in it.
    Known(
        "segmented_sort_by_length_digits_pairs segmented_sort_by_length_digits_u32 \
         segmented_sort_by_length_digits_u64",
        ATOMICS,
        [3, 4],
        Why::OnBothArms,
    ),
    // The loops over the steps of the network.
    Known("segmented_sort_by_length_short_pairs segmented_sort_by_length_short_u64", SHUFFLES, [72, 98], Why::Unrolled),
    Known("segmented_sort_by_length_short_u32", SHUFFLES, [120, 107], Why::Unrolled),
    // Sorts of 16 keys to a lane by one warp. Of 64-bit words 16 is the most, so `sort` has taken another arm before;
    // LLVM 19 unrolls the loop that finds the class, and does not see it.
    Known(
        "segmented_sort_by_length_sort_pairs segmented_sort_by_length_sort_u64",
        WARP_BARRIERS,
        [8, 10],
        Why::DeadArm,
    ),
    Known("segmented_sort_by_length_sort_pairs segmented_sort_by_length_sort_u64", SHUFFLES, [320, 384], Why::DeadArm),
    // The rounds in which a block adds up the counts of digits.
    Known("top_k_one_read_pivot top_k_one_read_select", BARRIERS, [4, 16], Why::Unrolled),
    Known("top_k_one_read_pivot top_k_one_read_select", WARP_REDUCTIONS, [1, 4], Why::Unrolled),
    Known("top_k_one_read_pivot", SHUFFLES, [5, 20], Why::Unrolled),
    Known("top_k_one_read_pivot", ATOMICS, [1, 4], Why::Unrolled),
    Known("top_k_one_read_select", SHUFFLES, [6, 21], Why::Unrolled),
    Known("top_k_one_read_select", ATOMICS, [2, 5], Why::Unrolled),
    // LLVM 19 has the blocks' next kind of part behind the first, by the same value: a block takes one of them.
    Known("radix_either_rest", BARRIERS, [38, 38], Why::InARow),
    Known("radix_msd_skewed_split", BARRIERS, [27, 27], Why::InARow),
    Known("radix_msd_skewed_split_u64", BARRIERS, [27, 27], Why::InARow),
];

/// None: kernels with this loop have the same counts.
pub(super) const ROUNDS: &[(&str, [u32; 2])] = &[];

/// Bytes of local memory per thread for `sm_100`. These kernels use all the registers that their launch bounds leave.
pub(super) const SPILLS: &[(&str, u32)] = &[
    (
        "radix_msd_buckets_bucket_sort radix_msd_skewed_partition_u64 radix_msd_skewed_partition_wide_u64 \
     radix_onesweep_pass_pairs",
        8,
    ),
    (
        "radix_either_many_first radix_either_many_second radix_either_many_second_mapped \
     radix_msd_pairs_bucket_sort radix_msd_pairs_bucket_sort_small radix_msd_pairs_rest",
        16,
    ),
    (
        "radix_either_first radix_either_first_mapped radix_either_last radix_either_second \
     radix_either_second_mapped radix_either_third radix_learned_partition_mapped \
     radix_learned_partition_wide_mapped radix_onesweep_pass",
        40,
    ),
    ("merge_multi_way_tile radix_msd_skewed_partition_mapped radix_msd_skewed_partition_wide_mapped", 48),
];
