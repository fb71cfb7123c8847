//! What is known of the PTX of rust-cuda beside that of the default backend.

/// Why two compilers leave an instruction in different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// One of them unrolls the loop around it: the copies follow each other. The comparison makes sure that they are on
    /// as many arms of branches as the other's.
    Unrolled,
    /// One of them has it on both arms of a branch. Each thread passes one of the copies, and does not meet threads
    /// that pass the other: the comparison makes sure that all threads of a block take the same arm, if threads meet
    /// at such an instruction.
    OnBothArms,
}

/// Kernels, separated by spaces, and a kind; the counts by the default backend and by rust-cuda; the reason.
struct Known(&'static str, &'static str, [u32; 2], Why);

const COPIES: &str = "asynchronous copies";
const MBARRIERS: &str = "mbarrier operations";
const ATOMICS: &str = "atomic operations";
const BARRIERS: &str = "block barriers";

const KNOWN: &[Known] = &[
    // The warps vote in each round of the network.
    Known("bubble_ring", "votes", [8, 16], Why::Unrolled),
    Known("bubble_ring_u64", "votes", [4, 8], Why::Unrolled),
    Known("bubble_shared_block bubble_shared_block_u64", BARRIERS, [2, 10], Why::Unrolled),
    // A thread adds up the copies of two bins.
    Known("histogram_bank_private_u8", "shuffles", [2, 4], Why::Unrolled),
    Known("histogram_bank_private_u8", ATOMICS, [68, 69], Why::Unrolled),
    // The default backend has the producer's first round apart.
    Known("matmul_producer_consumer", MBARRIERS, [27, 23], Why::Unrolled),
    Known("matmul_producer_consumer", COPIES, [8, 4], Why::Unrolled),
    // The loop of the thread that copies, two rounds at a time and the last by itself.
    Known("matmul_tensor_group matmul_tensor_group_bf16 matmul_tensor_group_f16", MBARRIERS, [16, 12], Why::Unrolled),
    Known(
        "matmul_tensor_group_middle matmul_tensor_group_middle_bf16 matmul_tensor_group_middle_f16",
        MBARRIERS,
        [20, 16],
        Why::Unrolled,
    ),
    Known(
        "matmul_tensor_group_narrow matmul_tensor_group_narrow_bf16 matmul_tensor_group_narrow_f16",
        MBARRIERS,
        [24, 20],
        Why::Unrolled,
    ),
    Known("matmul_three_tf32_group", MBARRIERS, [12, 8], Why::Unrolled),
    Known("matmul_three_tf32_group_middle", MBARRIERS, [14, 10], Why::Unrolled),
    Known("matmul_three_tf32_group_narrow", MBARRIERS, [16, 12], Why::Unrolled),
    Known(
        "matmul_tensor_group matmul_tensor_group_middle matmul_tensor_group_narrow matmul_three_tf32_group \
         matmul_three_tf32_group_middle matmul_three_tf32_group_narrow matmul_tensor_group_bf16 \
         matmul_tensor_group_f16 matmul_tensor_group_middle_bf16 matmul_tensor_group_middle_f16 \
         matmul_tensor_group_narrow_bf16 matmul_tensor_group_narrow_f16",
        COPIES,
        [6, 2],
        Why::Unrolled,
    ),
    Known(
        "matmul_tensor_map_nn_bf16 matmul_tensor_map_nn_f16 matmul_tensor_map_nt_bf16 matmul_tensor_map_nt_f16 \
         matmul_tensor_map_tn_bf16 matmul_tensor_map_tn_f16 matmul_tensor_map_tt_bf16 matmul_tensor_map_tt_f16",
        MBARRIERS,
        [17, 13],
        Why::Unrolled,
    ),
    Known(
        "matmul_tensor_map_middle_nn_bf16 matmul_tensor_map_middle_nn_f16 matmul_tensor_map_middle_nt_bf16 \
         matmul_tensor_map_middle_nt_f16 matmul_tensor_map_middle_tn_bf16 matmul_tensor_map_middle_tn_f16 \
         matmul_tensor_map_middle_tt_bf16 matmul_tensor_map_middle_tt_f16",
        MBARRIERS,
        [21, 17],
        Why::Unrolled,
    ),
    Known(
        "matmul_tensor_map_narrow_nn_bf16 matmul_tensor_map_narrow_nn_f16 matmul_tensor_map_narrow_nt_bf16 \
         matmul_tensor_map_narrow_nt_f16 matmul_tensor_map_narrow_tn_bf16 matmul_tensor_map_narrow_tn_f16 \
         matmul_tensor_map_narrow_tt_bf16 matmul_tensor_map_narrow_tt_f16",
        MBARRIERS,
        [25, 21],
        Why::Unrolled,
    ),
    Known("matmul_tensor_map_nn_bf16 matmul_tensor_map_nn_f16", COPIES, [28, 18], Why::Unrolled),
    Known("matmul_tensor_map_nt_bf16 matmul_tensor_map_nt_f16", COPIES, [19, 15], Why::Unrolled),
    Known("matmul_tensor_map_tn_bf16 matmul_tensor_map_tn_f16", COPIES, [31, 19], Why::Unrolled),
    Known("matmul_tensor_map_tt_bf16 matmul_tensor_map_tt_f16", COPIES, [22, 16], Why::Unrolled),
    Known(
        "matmul_tensor_map_middle_nn_bf16 matmul_tensor_map_middle_nn_f16 matmul_tensor_map_middle_tt_bf16 \
         matmul_tensor_map_middle_tt_f16",
        COPIES,
        [16, 10],
        Why::Unrolled,
    ),
    Known("matmul_tensor_map_middle_nt_bf16 matmul_tensor_map_middle_nt_f16", COPIES, [13, 9], Why::Unrolled),
    Known("matmul_tensor_map_middle_tn_bf16 matmul_tensor_map_middle_tn_f16", COPIES, [19, 11], Why::Unrolled),
    Known(
        "matmul_tensor_map_narrow_nn_bf16 matmul_tensor_map_narrow_nn_f16 matmul_tensor_map_narrow_nt_bf16 \
         matmul_tensor_map_narrow_nt_f16",
        COPIES,
        [10, 6],
        Why::Unrolled,
    ),
    Known(
        "matmul_tensor_map_narrow_tn_bf16 matmul_tensor_map_narrow_tn_f16 matmul_tensor_map_narrow_tt_bf16 \
         matmul_tensor_map_narrow_tt_f16",
        COPIES,
        [13, 7],
        Why::Unrolled,
    ),
    // Matrices whose rows are aligned, and others: LLVM 7 has the loop along k for both.
    Known("matmul_tensor_mma", COPIES, [106, 236], Why::OnBothArms),
    Known("matmul_three_tf32", COPIES, [82, 180], Why::OnBothArms),
    Known("matmul_three_tf32_small", COPIES, [58, 124], Why::OnBothArms),
    Known(
        "merge_multi_way_merge8 merge_multi_way_merge8_greater merge_multi_way_merge8_low merge_multi_way_merge8_u64",
        COPIES,
        [3, 10],
        Why::Unrolled,
    ),
    Known(
        "merge_sample_large merge_sample_large_greater merge_sample_large_low merge_sample_large_u64",
        COPIES,
        [6, 19],
        Why::Unrolled,
    ),
    // The wait for the grid before, which each thread passes once.
    Known("odd_even_persistent odd_even_persistent_u64", "grid dependencies", [1, 2], Why::OnBothArms),
    // LLVM 7 has parts of the sort on both arms of branches by the parameter `order` and by votes of the whole block,
    // at which all threads of the block take the same arm.
    Known("radix_either_one_block radix_either_one_block_u64", BARRIERS, [26, 35], Why::OnBothArms),
    Known("radix_either_one_block", "warp barriers", [5, 7], Why::OnBothArms),
    Known("radix_either_one_block", "warp reductions", [5, 7], Why::OnBothArms),
    Known("radix_either_one_block", "shuffles", [14, 21], Why::OnBothArms),
    Known("radix_either_one_block_u64", "warp barriers", [6, 8], Why::OnBothArms),
    Known("radix_either_one_block_u64", "warp reductions", [6, 8], Why::OnBothArms),
    Known("radix_either_one_block_u64", "shuffles", [16, 24], Why::OnBothArms),
    Known("radix_either_one_block radix_either_one_block_u64", "votes", [2, 3], Why::OnBothArms),
    Known("radix_either_one_block", ATOMICS, [97, 145], Why::OnBothArms),
    Known("radix_either_one_block_u64", ATOMICS, [98, 146], Why::OnBothArms),
    // Loops over the keys of a thread, or over the digits.
    Known("radix_either_first radix_either_first_mapped", ATOMICS, [58, 74], Why::Unrolled),
    Known(
        "radix_msd_buckets_histogram_bytes radix_msd_buckets_histogram_bytes_mapped",
        ATOMICS,
        [104, 120],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_buckets_histogram_bytes_u64 radix_msd_buckets_histogram_bytes_u64_mapped",
        ATOMICS,
        [64, 80],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_buckets_bucket_sort_u64 radix_msd_buckets_bucket_sort_u64_mapped",
        ATOMICS,
        [50, 51],
        Why::Unrolled,
    ),
    Known(
        "radix_msd_buckets_partition radix_msd_buckets_partition_mapped radix_msd_buckets_partition_wide \
         radix_msd_buckets_partition_wide_mapped",
        ATOMICS,
        [41, 57],
        Why::Unrolled,
    ),
    Known("radix_msd_buckets_partition_u64 radix_msd_buckets_partition_wide_u64", ATOMICS, [25, 37], Why::Unrolled),
    Known(
        "radix_msd_buckets_partition_u64_mapped radix_msd_buckets_partition_wide_u64_mapped",
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

/// Kernels, separated by spaces, and the bytes of local memory per thread that their PTX by rust-cuda needs, for the
/// architecture where it needs most. The default backend's needs none, or what the kernel declares. These kernels use
/// all the registers that their launch bounds leave; LLVM 7 unrolls other loops, or computes addresses ahead of a loop,
/// and a few values more are alive at once.
const SPILLS: &[(&str, u32)] = &[
    (
        "bitonic_register_step_sort odd_even_bitonic_blocks_sort radix_lsd_blocks_scatter radix_lsd_blocks_scatter_u64",
        8,
    ),
    ("bitonic_register_step_strides matmul_thread_column matmul_three_tf32", 16),
    ("radix_msd_buckets_bucket_sort radix_msd_buckets_bucket_sort_mapped", 24),
    (
        "bitonic_backwards_merge bitonic_backwards_merge_small bitonic_strides_merge bitonic_strides_merge_small \
         bitonic_transpose_merge bitonic_transpose_merge_small",
        32,
    ),
    (
        "radix_msd_buckets_partition radix_msd_buckets_partition_mapped radix_msd_buckets_partition_wide \
         radix_msd_buckets_partition_wide_mapped radix_msd_skewed_bucket_sort radix_msd_skewed_bucket_sort_mapped",
        32,
    ),
    // An array that LLVM 7 does not split into registers.
    ("matmul_producer_consumer_pack", 40),
    ("merge_sample_count_low", 48),
    ("matmul_producer_consumer", 56),
];

/// The bytes of local memory per thread that a kernel is known to need in the PTX by rust-cuda.
pub fn spills(kernel: &str) -> u32 {
    let fits = |known: &&(&str, u32)| known.0.split_whitespace().any(|name| name == kernel);
    SPILLS.iter().find(fits).map_or(0, |known| known.1)
}

/// Why the counts differ, if that is known. The count by the default backend comes first.
pub fn why(kernel: &str, kind: &str, counts: [u32; 2]) -> Option<Why> {
    let fits =
        |known: &&Known| known.0.split_whitespace().any(|name| name == kernel) && (known.1, known.2) == (kind, counts);
    KNOWN.iter().find(fits).map(|known| known.3)
}
