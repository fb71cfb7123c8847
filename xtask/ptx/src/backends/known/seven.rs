//! The differences of LLVM 7.

use super::super::{COPIES, MBARRIERS, WARP_REDUCTIONS};
use super::{Known, Why};

const ATOMICS: &str = "atomic operations";
const BARRIERS: &str = "block barriers";
const SHUFFLES: &str = "shuffles";
const VOTES: &str = "votes";

pub(super) const KNOWN: &[Known] = &[
    // The warps vote in each round of the network.
    Known("bubble_ring", VOTES, [8, 16], Why::Unrolled),
    Known("bubble_ring_u64", VOTES, [4, 8], Why::Unrolled),
    Known("bubble_shared_block bubble_shared_block_u64", BARRIERS, [2, 10], Why::Unrolled),
    // A thread adds up the copies of two bins.
    Known("histogram_bank_private_u8", SHUFFLES, [2, 4], Why::Unrolled),
    Known("histogram_bank_private_u8", ATOMICS, [68, 69], Why::Unrolled),
    // The thread that copies has a loop for each of the ways in which A and B may come; LLVM 7 has one where the source
    // has a branch in each round, and the last round apart.
    Known("product_fp32_hopper", MBARRIERS, [23, 31], Why::OnBothArms),
    Known("product_fp32_hopper", COPIES, [8, 14], Why::OnBothArms),
    Known("product_fp32_hopper_by_2 product_fp32_hopper_by_3", MBARRIERS, [23, 31], Why::OnBothArms),
    Known("product_fp32_hopper_by_4 product_fp32_hopper_by_8", MBARRIERS, [23, 31], Why::OnBothArms),
    Known("product_fp32_hopper_by_2 product_fp32_hopper_by_3", COPIES, [8, 14], Why::OnBothArms),
    Known("product_fp32_hopper_by_4 product_fp32_hopper_by_8", COPIES, [8, 14], Why::OnBothArms),
    Known("product_fp32_hopper_half_*", MBARRIERS, [25, 35], Why::OnBothArms),
    Known("product_fp32_hopper_half_*", COPIES, [12, 20], Why::OnBothArms),
    // The same, for tiles that are narrow and others: a round copies another number of boxes.
    Known("product_half_hopper_nn_* product_half_hopper_tn_*", MBARRIERS, [20, 18], Why::OnBothArms),
    Known("product_half_hopper_nn_*", COPIES, [31, 23], Why::OnBothArms),
    Known("product_half_hopper_tn_*", COPIES, [34, 25], Why::OnBothArms),
    Known("product_half_cluster_nt_* product_half_cluster_tt_*", MBARRIERS, [20, 18], Why::OnBothArms),
    Known("product_half_cluster_nn_*", COPIES, [25, 22], Why::OnBothArms),
    Known("product_half_cluster_nt_*", COPIES, [22, 19], Why::OnBothArms),
    Known("product_half_cluster_tn_*", COPIES, [28, 25], Why::OnBothArms),
    Known("product_half_cluster_tt_*", COPIES, [25, 21], Why::OnBothArms),
    // Matrices whose rows are aligned, and others: LLVM 7 has the loop along K for both.
    Known("product_tf32", COPIES, [106, 236], Why::OnBothArms),
    Known("product_three_tf32", COPIES, [82, 180], Why::OnBothArms),
    Known("product_three_tf32_small", COPIES, [58, 124], Why::OnBothArms),
    Known("matmul_tensor_double", COPIES, [77, 93], Why::OnBothArms),
    Known("matmul_tensor_mma", COPIES, [82, 122], Why::OnBothArms),
    Known("product_fp64", COPIES, [118, 182], Why::OnBothArms),
    Known("product_fp64_small", COPIES, [62, 134], Why::OnBothArms),
    // The loop by which a thread copies its part of the runs.
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
        [6, 19],
        Why::Unrolled,
    ),
    // The wait for the grid before, which each thread passes once.
    Known("odd_even_persistent odd_even_persistent_u64", "grid dependencies", [1, 2], Why::OnBothArms),
    // A thread without a segment allows the next grid to start at once, the others do behind their loads.
    Known("segmented_reduce_short_*", "grid dependencies", [1, 2], Why::OnBothArms),
    // LLVM 7 has parts of the sort on both arms of branches by the parameter `order` and by votes of the whole block,
    // at which all threads of the block take the same arm.
    Known("radix_either_one_block", BARRIERS, [45, 54], Why::OnBothArms),
    Known("radix_either_one_block", WARP_REDUCTIONS, [8, 14], Why::OnBothArms),
    Known("radix_either_one_block", SHUFFLES, [188, 259], Why::OnBothArms),
    Known("radix_either_one_block_u64", BARRIERS, [27, 36], Why::OnBothArms),
    Known("radix_either_one_block_u64", WARP_REDUCTIONS, [12, 22], Why::OnBothArms),
    Known("radix_either_one_block_u64", SHUFFLES, [188, 264], Why::OnBothArms),
    Known("radix_either_one_block radix_either_one_block_u64", VOTES, [4, 5], Why::OnBothArms),
    Known("radix_either_one_block radix_either_one_block_u64", ATOMICS, [96, 144], Why::OnBothArms),
    // The first 256 of 512 threads add up counts between two barriers; the other warps have two barriers of their own.
    Known(
        "segmented_sort_by_length_digits_pairs segmented_sort_by_length_digits_u32 \
         segmented_sort_by_length_digits_u64",
        BARRIERS,
        [9, 11],
        Why::NoneWaits,
    ),
    // Thread 0 has the barrier behind its set-up of the mbarriers, the others in front of a branch by their role.
    Known("matmul_tensor_cluster", "cluster barriers", [4, 6], Why::NoneWaits),
    // The thread that copies: LLVM 7 has a loop for tiles of which the block multicasts a part, and one for others. The
    // default backend unrolls the source's loop, with the branch in it.
    Known("product_fp8_pair_e4m3_* product_fp8_pair_e5m2_*", MBARRIERS, [20, 18], Why::OnBothArms),
    Known("product_fp8_pair_promoted_*", MBARRIERS, [18, 16], Why::OnBothArms),
    Known("product_fp8_scaled_bf16 product_fp8_scaled_f32", MBARRIERS, [18, 16], Why::OnBothArms),
    Known("product_fp8_pair_* product_fp8_scaled_bf16", COPIES, [22, 19], Why::OnBothArms),
    Known("product_fp8_pair_* product_fp8_scaled_f32", COPIES, [37, 34], Why::OnBothArms),
    // The search for the last digit is on both arms of a branch by a parameter.
    Known("top_k_filter_pick top_k_radix_select_pick", BARRIERS, [1, 2], Why::OnBothArms),
    Known("top_k_filter_pick top_k_radix_select_pick", WARP_REDUCTIONS, [1, 2], Why::OnBothArms),
    Known("top_k_filter_pick top_k_radix_select_pick", SHUFFLES, [5, 10], Why::OnBothArms),
    // Runs are copied in either direction; LLVM 7 has a loop for each.
    Known(
        "merge_all_runs_few merge_all_runs_few_* merge_all_runs_many merge_all_runs_many_* merge_by_less_merge_few \
         merge_by_less_merge_many merge_by_less_u64_merge_few merge_by_less_u64_merge_many \
         merge_by_low_half_merge_few merge_by_low_half_merge_many",
        COPIES,
        [6, 7],
        Why::OnBothArms,
    ),
    // Loops over the keys of a thread, or over the digits.
    Known("radix_either_first radix_either_first_mapped", ATOMICS, [72, 88], Why::Unrolled),
    Known("radix_either_many_first", ATOMICS, [209, 233], Why::Unrolled),
    Known("radix_either_many_first_mapped", ATOMICS, [209, 225], Why::Unrolled),
    Known("radix_either_many_second", ATOMICS, [164, 204], Why::Unrolled),
    Known("radix_either_many_second_mapped", ATOMICS, [164, 196], Why::Unrolled),
    Known("radix_either_rest", ATOMICS, [108, 116], Why::Unrolled),
    Known("exchange_sift_u32", ATOMICS, [42, 38], Why::Unrolled),
    Known("exchange_sift_u64", ATOMICS, [26, 22], Why::Unrolled),
    Known(
        "radix_either_many_first_u64 radix_either_many_second_u64 radix_either_many_second_u64_mapped",
        ATOMICS,
        [46, 66],
        Why::Unrolled,
    ),
    Known("radix_either_many_first_u64_mapped", ATOMICS, [42, 58], Why::Unrolled),
    Known("radix_learned_partition_u64 radix_learned_partition_wide_u64", ATOMICS, [21, 29], Why::Unrolled),
    Known(
        "radix_msd_skewed_histogram_bytes radix_msd_skewed_histogram_bytes_mapped",
        ATOMICS,
        [104, 138],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_skewed_histogram_bytes_u64 radix_msd_skewed_histogram_bytes_u64_mapped",
        ATOMICS,
        [64, 98],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_skewed_partition radix_msd_skewed_partition_mapped radix_msd_skewed_partition_wide \
         radix_msd_skewed_partition_wide_mapped",
        ATOMICS,
        [41, 57],
        Why::Unrolled,
    ),
    Known("radix_msd_skewed_partition_u64 radix_msd_skewed_partition_wide_u64", ATOMICS, [25, 37], Why::Unrolled),
    Known(
        "radix_msd_skewed_partition_u64_mapped radix_msd_skewed_partition_wide_u64_mapped",
        ATOMICS,
        [21, 37],
        Why::Unrolled,
    ),
    Known("radix_msd_skewed_split", ATOMICS, [75, 83], Why::Unrolled),
    Known("radix_msd_skewed_split_u64", ATOMICS, [50, 82], Why::Unrolled),
    Known("radix_msd_skewed_tally", ATOMICS, [183, 203], Why::Unrolled),
    Known("radix_msd_skewed_tally_u64", ATOMICS, [111, 147], Why::Unrolled),
    // A block's least key and greatest one decide whether one round sorts a bucket; if not, two rounds follow.
    Known("radix_msd_pairs_bucket_sort_learned", WARP_REDUCTIONS, [17, 17], Why::TestedOnce),
    Known("radix_msd_pairs_bucket_sort_learned", SHUFFLES, [21, 21], Why::TestedOnce),
    Known("radix_msd_pairs_bucket_sort_learned", VOTES, [3, 3], Why::TestedOnce),
    Known("radix_msd_pairs_oversized", WARP_REDUCTIONS, [14, 14], Why::TestedOnce),
    Known("radix_msd_pairs_oversized", SHUFFLES, [14, 14], Why::TestedOnce),
    Known("radix_msd_pairs_oversized", VOTES, [2, 2], Why::TestedOnce),
    // The steps of the network.
    Known(
        "segmented_sort_by_length_short_pairs segmented_sort_by_length_short_u64",
        SHUFFLES,
        [72, 124],
        Why::Unrolled,
    ),
    // The rounds in which a block adds up the counts of digits.
    Known("top_k_one_read_pivot top_k_one_read_select", BARRIERS, [4, 16], Why::Unrolled),
    Known("top_k_one_read_pivot top_k_one_read_select", WARP_REDUCTIONS, [1, 4], Why::Unrolled),
    Known("top_k_one_read_pivot", SHUFFLES, [5, 20], Why::Unrolled),
    Known("top_k_one_read_pivot", ATOMICS, [1, 4], Why::Unrolled),
    Known("top_k_one_read_select", SHUFFLES, [6, 21], Why::Unrolled),
    Known("top_k_one_read_select", ATOMICS, [2, 5], Why::Unrolled),
    // The levels of the tree of sums.
    Known(
        "scan_blelloch_max_f64 scan_blelloch_min_f64 scan_blelloch_padded_max_f64 scan_blelloch_padded_min_f64 \
         scan_three_kernels_tiles_max_f64 scan_three_kernels_tiles_min_f64",
        BARRIERS,
        [5, 21],
        Why::Unrolled,
    ),
];

/// Kernels of which one thread fills a ring of stages, and how often each compiler has a round of its loop along K: the
/// default backend two rounds at a time and the last by itself, rust-cuda one. Where the tiles of `half-hopper` may be
/// narrow, LLVM 7 has a loop for these and one for the others, if they differ.
pub(super) const ROUNDS: &[(&str, [u32; 2])] = &[(
    "product_mixed product_mixed_middle product_mixed_narrow product_packed product_packed_bf16 \
     product_packed_f16 product_packed_middle product_packed_middle_* product_packed_narrow \
     product_packed_narrow_* product_half_hopper_middle_* product_half_hopper_narrow_* product_half_hopper_small_* \
     product_half_hopper_nt_* product_half_hopper_tt_* product_tensor_registers_* product_three_tf32_group \
     product_three_tf32_group_held product_three_tf32_group_held_pair product_three_tf32_group_middle \
     product_three_tf32_group_narrow product_three_tf32_group_pair matmul_tensor_map matmul_tensor_cluster \
     product_fp8_e4m3_* product_fp8_e5m2_* product_fp8_promoted_* product_fp8_small_*",
    [3, 1],
)];

/// Kernels and the bytes of local memory per thread that their PTX by rust-cuda needs, for the architecture where it
/// needs most. The default backend's needs none, or what the kernel declares. These kernels use all the registers that
/// their launch bounds leave; LLVM 7 unrolls other loops, or computes addresses ahead of a loop, and a few values more
/// are alive at once.
pub(super) const SPILLS: &[(&str, u32)] = &[
    (
        "bitonic_register_step_sort odd_even_bitonic_blocks_sort radix_lsd_blocks_scatter radix_lsd_blocks_scatter_u64",
        8,
    ),
    ("bitonic_register_step_strides product_three_tf32", 16),
    // A value that is stored once, in front of the loop, and loaded once, behind it.
    ("radix_lsd_ballot_scatter", 8),
    // A register is free for the lane's number where lanes add up what they append, three times.
    ("top_k_sampled_filter_u32", 8),
    // Nine addresses in shared memory, of which eight are loaded in each step along K. LLVM 7 keeps one for each
    // fragment, where the default backend has some of them as a sum with a constant.
    ("product_fp64", 40),
    // Sizes and places of the piece, which live through the sort inside of it. The kernels declare 96 bytes.
    ("merge_by_low_half_sort_large merge_by_low_half_stable_sort_large", 112),
    ("radix_msd_buckets_bucket_sort", 24),
    (
        "radix_msd_skewed_partition radix_msd_skewed_partition_mapped radix_msd_skewed_partition_wide \
         radix_msd_skewed_partition_wide_mapped radix_msd_skewed_bucket_sort radix_msd_skewed_bucket_sort_mapped",
        32,
    ),
    ("radix_either_many_first radix_either_many_starts radix_either_many_starts_u64", 8),
    // For `sm_80` alone.
    ("matmul_tensor_double", 72),
    ("radix_either_many_second radix_either_many_second_mapped", 32),
    ("product_fp32_hopper", 184),
    ("top_k_sampled_select_u32", 8),
    // ptxas aims at 64 registers, where it gives the default backend's PTX 107.
    ("partition_compact_u64", 16),
    // Passes by digits and by codes share one kernel, and use all 64 registers. 8 of the bytes are in front of that:
    // arrays in shared memory, as address and length, that closures capture.
    ("radix_msd_pairs_rest", 144),
    // Variables whose addresses a closure captures: LLVM 7 leaves them and the captures in memory.
    ("radix_either_rest", 336),
    ("radix_msd_skewed_split", 160),
    // Stored and never loaded: 64 bytes of the first, with spills; all of the second. ptxas reserves them.
    ("radix_either_many_first_u64_mapped", 112),
    ("scan_by_key_look_ahead_sum_f32_u64", 72),
    // Stored and never loaded, too, but ptxas leaves them out.
    ("radix_either_one_block radix_either_one_block_u64", 8),
    ("top_k_sampled_filter_u64", 80),
    // Packs of words that are read as two `f64`: LLVM 7 leaves them in memory. It spills, too.
    ("product_fp64_small", 176),
];
