//! The differences of LLVM 7.

use super::super::{COPIES, MBARRIERS};
use super::{Known, Why};

const ATOMICS: &str = "atomic operations";
const BARRIERS: &str = "block barriers";

/// Kernels with the widest tiles, which have narrow ones too.
const WIDEST: &str = "product_half_hopper_nn_* product_half_hopper_nt_* product_half_hopper_tn_* \
                      product_half_hopper_tt_* product_half_cluster_*";

pub(super) const KNOWN: &[Known] = &[
    // The warps vote in each round of the network.
    Known("bubble_ring", "votes", [8, 16], Why::Unrolled),
    Known("bubble_ring_u64", "votes", [4, 8], Why::Unrolled),
    Known("bubble_shared_block bubble_shared_block_u64", BARRIERS, [2, 10], Why::Unrolled),
    // A thread adds up the copies of two bins.
    Known("histogram_bank_private_u8", "shuffles", [2, 4], Why::Unrolled),
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
    // The loop of the warps that multiply: no wide tile follows a narrow one, so LLVM 7 has a loop for these behind the
    // one for those.
    Known(WIDEST, "votes", [2, 2], Why::InARow),
    Known(WIDEST, "shuffles", [160, 160], Why::InARow),
    Known(WIDEST, "products by four warps", [16, 16], Why::InARow),
    Known(WIDEST, "stores of fragments", [20, 20], Why::InARow),
    // Matrices whose rows are aligned, and others: LLVM 7 has the loop along K for both.
    Known("product_tf32", COPIES, [106, 236], Why::OnBothArms),
    Known("product_three_tf32", COPIES, [82, 180], Why::OnBothArms),
    Known("product_three_tf32_small", COPIES, [58, 124], Why::OnBothArms),
    Known("merge_multi_way_merge8 merge_multi_way_merge8_u64", COPIES, [3, 10], Why::Unrolled),
    // The wait for the grid before, which each thread passes once.
    Known("odd_even_persistent odd_even_persistent_u64", "grid dependencies", [1, 2], Why::OnBothArms),
    // LLVM 7 has parts of the sort on both arms of branches by the parameter `order` and by votes of the whole block,
    // at which all threads of the block take the same arm.
    Known("radix_either_one_block radix_either_one_block_u64", BARRIERS, [17, 26], Why::OnBothArms),
    Known("radix_either_one_block", "warp barriers", [32, 34], Why::OnBothArms),
    Known("radix_either_one_block", "warp reductions", [7, 9], Why::OnBothArms),
    Known("radix_either_one_block", "shuffles", [12, 19], Why::OnBothArms),
    Known("radix_either_one_block_u64", "warp barriers", [33, 35], Why::OnBothArms),
    Known("radix_either_one_block_u64", "warp reductions", [8, 10], Why::OnBothArms),
    Known("radix_either_one_block_u64", "shuffles", [13, 21], Why::OnBothArms),
    Known("radix_either_one_block radix_either_one_block_u64", "votes", [97, 98], Why::OnBothArms),
    Known("radix_either_one_block", ATOMICS, [49, 97], Why::OnBothArms),
    Known("radix_either_one_block_u64", ATOMICS, [50, 98], Why::OnBothArms),
    // Runs are copied in either direction; LLVM 7 has a loop for each.
    Known(
        "merge_all_runs_few merge_all_runs_few_* merge_all_runs_many merge_all_runs_many_*",
        COPIES,
        [6, 7],
        Why::OnBothArms,
    ),
    // Loops over the keys of a thread, or over the digits.
    Known("radix_either_first radix_either_first_mapped", ATOMICS, [72, 88], Why::Unrolled),
    Known("radix_either_many_first radix_either_many_first_mapped", ATOMICS, [127, 143], Why::Unrolled),
    Known("radix_either_many_second", ATOMICS, [82, 114], Why::Unrolled),
    Known("radix_either_many_second_mapped", ATOMICS, [82, 106], Why::Unrolled),
    Known("radix_either_rest", ATOMICS, [108, 124], Why::Unrolled),
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
    Known("radix_msd_skewed_partition_u64 radix_msd_skewed_partition_wide_u64", ATOMICS, [25, 37], Why::Unrolled),
    Known(
        "radix_msd_skewed_partition_u64_mapped radix_msd_skewed_partition_wide_u64_mapped",
        ATOMICS,
        [21, 37],
        Why::Unrolled,
    ),
    Known("radix_msd_skewed_split", ATOMICS, [75, 99], Why::Unrolled),
    Known("radix_msd_skewed_split_u64", ATOMICS, [50, 82], Why::Unrolled),
    Known("radix_msd_skewed_tally", ATOMICS, [183, 203], Why::Unrolled),
    Known("radix_msd_skewed_tally_u64", ATOMICS, [111, 147], Why::Unrolled),
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
     product_three_tf32_group_narrow product_three_tf32_group_pair",
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
    ("bitonic_register_step_strides product_fp64 product_three_tf32", 16),
    ("radix_msd_buckets_bucket_sort", 24),
    (
        "bitonic_backwards_merge bitonic_backwards_merge_small bitonic_strides_merge bitonic_strides_merge_small \
         bitonic_transpose_merge bitonic_transpose_merge_small",
        32,
    ),
    (
        "radix_msd_skewed_partition radix_msd_skewed_partition_mapped radix_msd_skewed_partition_wide \
         radix_msd_skewed_partition_wide_mapped radix_msd_skewed_bucket_sort radix_msd_skewed_bucket_sort_mapped",
        32,
    ),
    ("radix_either_many_first", 8),
    ("radix_either_many_second radix_either_many_second_mapped", 32),
    // What a closure captures, which LLVM 7 does not split into registers. Of the 12 bytes ptxas makes registers.
    ("product_packed_pack product_packed_pack_bf16 product_packed_pack_f16", 12),
    ("product_mixed_pack product_three_tf32_group_pack", 32),
    ("product_fp32_hopper", 40),
];
