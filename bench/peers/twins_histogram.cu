// Twins of the histograms: gpu/histogram/src, r1 to r3. r4 has none: its totals are zero once and for all, and a peer's
// scratch is never cleared.
#include "twin.cuh"

namespace peers {
namespace {

// ---- histogram/mod.rs ----------------------------------------------------------------------------------------------

constexpr u32 BLOCK = 256;
constexpr u32 MAX_BINS = 4096;
constexpr u32 BLOCKS_PER_MULTIPROCESSOR = 2048 / BLOCK;

// Fewest keys per block for which the additions of its table at the end are worth while.
constexpr u32 KEYS_PER_BLOCK = 4096;

// Calls f(i) for i = first, first + stride, ... below n. The turns are counted first, as i + stride may pass 2^32.
template <class F>
__device__ __forceinline__ void strided(u32 first, u32 n, u32 stride, F f) {
    u32 i = first;
    for (u32 turns = first < n ? (n - first - 1) / stride + 1 : 0; turns > 0; turns--) {
        f(i);
        i += stride;
    }
}

// Blocks for n keys: `per_block` keys each, but no more than fill the device.
u32 blocks_for(u32 n, u32 per_block) {
    return std::min(div_ceil(n, per_block), multiprocessors() * BLOCKS_PER_MULTIPROCESSOR);
}

// ---- histogram/r1_global_atomics.rs --------------------------------------------------------------------------------

template <class Key>
__global__ void __launch_bounds__(BLOCK) histogram_global_atomics(const Key* keys, u32 n, u32* counts, u32 bins) {
    strided(index_1d(), n, grid_threads_1d(), [=](u32 i) {
        u32 bin = keys[i];
        if (bin < bins) atomicAdd(&counts[bin], 1);
    });
}

// ---- histogram/r2_shared_atomics.rs --------------------------------------------------------------------------------

template <class Key>
__global__ void __launch_bounds__(BLOCK) histogram_shared_atomics(const Key* keys, u32 n, u32* counts, u32 bins) {
    extern __shared__ u32 words[];
    u32 *table = words, t = threadIdx.x;
    strided(t, bins, BLOCK, [=](u32 bin) { table[bin] = 0; });
    __syncthreads();  // the whole table is zero before a thread adds to it
    strided(index_1d(), n, grid_threads_1d(), [=](u32 i) {
        u32 bin = keys[i];
        if (bin < bins) atomicAdd_block(&table[bin], 1);
    });
    __syncthreads();  // all keys are in the table before it is added to the counts
    strided(t, bins, BLOCK, [=](u32 bin) {
        u32 count = table[bin];
        if (count != 0) atomicAdd(&counts[bin], count);
    });
}

// ---- histogram/r3_warp_tables.rs -----------------------------------------------------------------------------------

// Most words for all tables of a block.
constexpr u32 TABLE_WORDS = (48 << 10) / 4;

// Tables per block: one per warp, or as many as fit.
__host__ __device__ __forceinline__ u32 tables_for(u32 bins) {
    u32 fit = bins == 0 ? BLOCK / WARP : TABLE_WORDS / bins;
    return fit < BLOCK / WARP ? fit : BLOCK / WARP;
}

template <class Key>
__global__ void __launch_bounds__(BLOCK) histogram_warp_tables(const Key* keys, u32 n, u32* counts, u32 bins) {
    extern __shared__ u32 words[];
    u32 *all = words, t = threadIdx.x, tables = tables_for(bins);
    u32* mine = all + t / WARP % tables * bins;
    strided(t, bins * tables, BLOCK, [=](u32 word) { all[word] = 0; });
    __syncthreads();  // all tables are zero before a thread adds to one
    strided(index_1d(), n, grid_threads_1d(), [=](u32 i) {
        u32 bin = keys[i];
        if (bin < bins) atomicAdd_block(&mine[bin], 1);
    });
    __syncthreads();  // all keys are in the tables before they are added up
    strided(t, bins, BLOCK, [=](u32 bin) {
        u32 count = 0;
        strided(bin, bins * tables, bins, [&](u32 word) { count += all[word]; });
        if (count != 0) atomicAdd(&counts[bin], count);
    });
}

// ---- the table -----------------------------------------------------------------------------------------------------

u32 no_table(u32) { return 0; }
u32 one_table(u32 bins) { return u32(sizeof(u32)) * bins; }
u32 table_per_warp(u32 bins) { return u32(sizeof(u32)) * bins * tables_for(bins); }

template <class Key>
using Kernel = void (*)(const Key*, u32, u32*, u32);

template <class Key, Kernel<Key> KERNEL, u32 PER_BLOCK, u32 (*SHARED_BYTES)(u32)>
int twin_histogram(const Call& call) {
    u32 n = u32(call.n()), bins = u32(call.shape[1]);
    PEERS_REQUIRE(bins >= 1 && bins <= MAX_BINS, "bins is 1 to 4096");
    if (asks_for_size(call, 1)) return 0;
    u32* counts = call.out<u32>();
    PEERS_CUDA(cudaMemsetAsync(counts, 0, bins * sizeof(u32), call.stream));
    PEERS_LAUNCH(KERNEL, blocks_for(n, PER_BLOCK), BLOCK, SHARED_BYTES(bins), call.in<Key>(), n, counts, bins);
    return 0;
}

template <class Key>
Bytes histogram_bytes(const size_t* shape) { return {shape[0] * sizeof(Key), shape[1] * sizeof(u32)}; }

#define TWIN_OF(rung, what, key, dtype, keys, shared)                                                                  \
    {{"twin_" #rung "_" dtype, "histogram", what, dtype, 0},                                                           \
     2, histogram_bytes<key>, twin_histogram<key, rung<key>, keys, shared>}
#define TWIN(rung, what, keys, shared)                                                                                 \
    TWIN_OF(rung, what, uint8_t, "u8", keys, shared), TWIN_OF(rung, what, u32, "u32", keys, shared)

const Entry PEERS[] = {
    TWIN(histogram_global_atomics, "an atomic in global memory per key", BLOCK, no_table),
    TWIN(histogram_shared_atomics, "a table per block", KEYS_PER_BLOCK, one_table),
    TWIN(histogram_warp_tables, "a table per warp", KEYS_PER_BLOCK, table_per_warp),
};

}  // namespace

Table twin_histogram_peers() { return table(PEERS); }

}  // namespace peers
