// Twins of the reductions: gpu/reduce/src, r1 to r6, and what they use of gpu/common/src/operator.rs and gpu/common/src/aligned.rs.
// Sums only. r7 has none: its counter of tickets is zero once and for all, and a peer's scratch is never cleared.
#include "twin.cuh"

namespace peers {
namespace {

constexpr u32 BLOCK = 256;
constexpr u32 WARPS = BLOCK / WARP;

// Blocks for n elements; for no elements one block, which writes the empty sum.
constexpr u32 blocks_for(u32 n, u32 per_block) { return n == 0 ? 1 : div_ceil(n, per_block); }

// ---- reduce/r1_interleaved.rs --------------------------------------------------------------------------------------

// As in the rungs, shared memory has room for elements of 8 bytes.
template <class T>
__device__ __forceinline__ T* as(u64* room) { return reinterpret_cast<T*>(room); }

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_interleaved(const T* input, u32 n, T* output) {
    __shared__ u64 room[BLOCK];
    T* values = as<T>(room);
    u32 t = threadIdx.x, block = blockIdx.x, start = block * BLOCK;
    values[t] = t < n - start ? input[start + t] : T(0);
    for (u32 distance = 1; distance < BLOCK; distance *= 2) {
        __syncthreads();  // the level below is complete before this one reads it
        if ((t & (2 * distance - 1)) == 0) values[t] = values[t] + values[t + distance];
    }
    if (t == 0) output[block] = values[0];  // written by this thread itself
}

// ---- reduce/r2_sequential.rs ---------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_sequential(const T* input, u32 n, T* output) {
    __shared__ u64 room[BLOCK];
    T* values = as<T>(room);
    u32 t = threadIdx.x, block = blockIdx.x, start = block * BLOCK;
    values[t] = t < n - start ? input[start + t] : T(0);
    for (u32 distance = BLOCK / 2; distance > 0; distance /= 2) {
        __syncthreads();  // the level below is complete before this one reads it
        if (t < distance) values[t] = values[t] + values[t + distance];
    }
    if (t == 0) output[block] = values[0];
}

// ---- reduce/r3_first_add.rs ----------------------------------------------------------------------------------------

// The thread's two elements of those from `start` on, together.
template <class T>
__device__ __forceinline__ T load_two(const T* input, u32 n, u32 start, u32 t) {
    u32 left = n - start;
    T first = t < left ? input[start + t] : T(0);
    return t + BLOCK < left ? first + input[start + t + BLOCK] : first;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_first_add(const T* input, u32 n, T* output) {
    __shared__ u64 room[BLOCK];
    T* values = as<T>(room);
    u32 t = threadIdx.x, block = blockIdx.x;
    values[t] = load_two(input, n, block * (2 * BLOCK), t);
    for (u32 distance = BLOCK / 2; distance > 0; distance /= 2) {
        __syncthreads();  // the level below is complete before this one reads it
        if (t < distance) values[t] = values[t] + values[t + distance];
    }
    if (t == 0) output[block] = values[0];
}

// ---- reduce/r4_unrolled_warp.rs ------------------------------------------------------------------------------------

// The first 32 values together, in lane 0 of the first warp.
template <class T>
__device__ __forceinline__ T finish_in_warp(T* values, u32 t) {
    T mine = values[t];
#pragma unroll
    for (u32 level = 0; level < 5; level++) {
        __syncwarp();  // the partner's value of the level below is there
        mine = mine + values[t + ((WARP / 2) >> level)];
        __syncwarp();  // all lanes have read before one writes
        values[t] = mine;
    }
    return mine;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_unrolled_warp(const T* input, u32 n, T* output) {
    __shared__ u64 room[BLOCK];
    T* values = as<T>(room);
    u32 t = threadIdx.x, block = blockIdx.x;
    values[t] = load_two(input, n, block * (2 * BLOCK), t);
    for (u32 distance = BLOCK / 2; distance >= WARP; distance /= 2) {
        __syncthreads();  // the level below is complete before this one reads it
        if (t < distance) values[t] = values[t] + values[t + distance];
    }
    // The last level above was done by the first warp alone.
    if (t < WARP) {
        T all = finish_in_warp(values, t);
        if (t == 0) output[block] = all;
    }
}

// ---- reduce/r5_shuffle.rs ------------------------------------------------------------------------------------------

// The values of all lanes together, in lane 0.
template <class T>
__device__ __forceinline__ T combine_lanes(T all) {
#pragma unroll
    for (u32 level = 0; level < 5; level++) all = all + __shfl_down_sync(FULL, all, (WARP / 2) >> level);
    return all;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_shuffle(const T* input, u32 n, T* output) {
    __shared__ u64 room[WARPS];
    T* values = as<T>(room);
    u32 t = threadIdx.x, block = blockIdx.x;
    T of_warp = combine_lanes(load_two(input, n, block * (2 * BLOCK), t));
    if (lane_id() == 0) values[t / WARP] = of_warp;
    __syncthreads();  // every warp's value is there before the first warp reads them
    if (t < WARP) {
        T all = combine_lanes(t < WARPS ? values[t] : T(0));
        if (t == 0) output[block] = all;
    }
}

// ---- aligned.rs, operator.rs, reduce/mod.rs ------------------------------------------------------------------------

// 16 bytes of elements.
template <class T>
struct Pack;
template <>
struct Pack<u32> {
    using Vector = uint4;
};
template <>
struct Pack<float> {
    using Vector = float4;
};

constexpr u32 PACK = 4;  // elements of 4 bytes

// A view in three parts: elements before the first multiple of 16 bytes, whole packs, and the rest.
template <class T>
struct Aligned {
    const T* view;
    u32 n, head, packs;

    __device__ Aligned(const T* view, u32 n) : view(view), n(n) {
        u32 past = u32(reinterpret_cast<uintptr_t>(view)) % 16 / u32(sizeof(T));
        head = min((PACK - past) % PACK, n);
        packs = (n - head) / PACK;
    }

    __device__ __forceinline__ typename Pack<T>::Vector pack(u32 i) const {
        return reinterpret_cast<const typename Pack<T>::Vector*>(view + head)[i];
    }

    // Element i of those outside of the packs, head first, or nothing to add.
    __device__ __forceinline__ T edge_or_zero(u32 i) const {
        u32 at = i < head ? i : i + packs * PACK;
        return i < n - packs * PACK ? view[at] : T(0);
    }
};

// All values of a warp together, in every lane: one instruction for integers, a butterfly for floats.
__device__ __forceinline__ u32 warp_reduce(u32 value) { return __reduce_add_sync(FULL, value); }
__device__ __forceinline__ float warp_reduce(float value) {
#pragma unroll
    for (u32 step = 0; step < 5; step++) value = value + __shfl_xor_sync(FULL, value, 1 << step);
    return value;
}

// All values of a block together, in the threads of its first warp.
template <class T>
__device__ __forceinline__ T combine_block(T value, T* warps) {
    u32 t = threadIdx.x;
    T all = warp_reduce(value);
    if (lane_id() == 0) warps[t / WARP] = all;
    __syncthreads();  // every warp's value is there before the first warp reads them
    return t < WARP ? warp_reduce(t < WARPS ? warps[t] : T(0)) : all;
}

// ---- reduce/r6_vector_loads.rs -------------------------------------------------------------------------------------

constexpr u32 LOADS = 4;
constexpr u32 BLOCKS_PER_MULTIPROCESSOR = 2048 / BLOCK;

template <class T>
__global__ void __launch_bounds__(BLOCK) reduce_vector_loads(const T* elements, u32 n, T* output) {
    __shared__ u64 room[WARPS];
    Aligned<T> input(elements, n);
    u32 stride = grid_threads_1d();
    T running[PACK] = {};
    for (u32 i = index_1d(); i < input.packs; i += LOADS * stride) {
        typename Pack<T>::Vector loaded[LOADS] = {};
#pragma unroll
        for (u32 l = 0; l < LOADS; l++) {
            u32 at = i + l * stride;
            if (at < input.packs) loaded[l] = input.pack(at);
        }
#pragma unroll
        for (u32 l = 0; l < LOADS; l++) {
            running[0] = running[0] + loaded[l].x;
            running[1] = running[1] + loaded[l].y;
            running[2] = running[2] + loaded[l].z;
            running[3] = running[3] + loaded[l].w;
        }
    }
    // The elements outside of the packs are at most one per thread of the first block.
    T all = blockIdx.x == 0 ? input.edge_or_zero(threadIdx.x) : T(0);
#pragma unroll
    for (u32 e = 0; e < PACK; e++) all = all + running[e];
    all = combine_block(all, as<T>(room));
    if (threadIdx.x == 0) output[blockIdx.x] = all;
}

// ---- the launches and the table ------------------------------------------------------------------------------------

// Blocks for n elements, and so values left by a launch.
u32 grid_of_one(u32 n) { return blocks_for(n, BLOCK); }
u32 grid_of_two(u32 n) { return blocks_for(n, 2 * BLOCK); }
u32 grid_of_vectors(u32 n) {
    return std::min(blocks_for(n, BLOCK * LOADS * PACK), multiprocessors() * BLOCKS_PER_MULTIPROCESSOR);
}

template <class T>
using Kernel = void (*)(const T*, u32, T*);

// Launches a kernel, again over its own output, until one value is left. Two pieces of scratch in turn; the last launch
// writes the output.
template <class T, Kernel<T> KERNEL, u32 (*GRID)(u32)>
int twin_reduce(const Call& call) {
    // Each piece begins as an allocation of its own would.
    constexpr size_t ALIGNMENT = 256 / sizeof(T);
    u32 n = u32(call.n());
    PEERS_REQUIRE(GRID(n) > 0, "no device says how many multiprocessors it has");
    size_t first = (GRID(n) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, second = GRID(GRID(n));
    if (asks_for_size(call, (first + second) * sizeof(T))) return 0;
    PEERS_REQUIRE(*call.temp_bytes >= (first + second) * sizeof(T), "the scratch memory is too small");
    T* scratch[2] = {static_cast<T*>(call.temp), static_cast<T*>(call.temp) + first};
    const T* from = call.in<T>();
    for (u32 turn = 0;; turn = 1 - turn) {
        u32 blocks = GRID(n);
        T* to = blocks == 1 ? call.out<T>() : scratch[turn];
        PEERS_LAUNCH(KERNEL, blocks, BLOCK, 0, from, n, to);
        if (blocks == 1) return 0;
        from = to;
        n = blocks;
    }
}

#define TWIN(rung, what, grid)                                                                                         \
    {{"twin_" #rung "_u32", "reduce", what, "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<u32, rung<u32>, grid>},       \
    {{"twin_" #rung "_f32", "reduce", what, "f32", 0}, 1, reduce_bytes<float>, twin_reduce<float, rung<float>, grid>}

const Entry PEERS[] = {
    TWIN(reduce_interleaved, "neighbours first", grid_of_one),
    TWIN(reduce_sequential, "halves of the block", grid_of_one),
    TWIN(reduce_first_add, "first combination on load", grid_of_two),
    TWIN(reduce_unrolled_warp, "the last warp unrolled", grid_of_two),
    TWIN(reduce_shuffle, "warp shuffles", grid_of_two),
    TWIN(reduce_vector_loads, "16 bytes per load", grid_of_vectors),
};

}  // namespace

Table twin_reduce_peers() { return table(PEERS); }

}  // namespace peers
