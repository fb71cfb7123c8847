// Twins of the sums of cubes: gpu/cubes/src.
#include "twin.cuh"

namespace peers {
namespace {

// ---- cubes/mod.rs --------------------------------------------------------------------------------------------------

// Words that a block writes to `times`: the multiprocessor's clock at start and end, the device's timer at both.
constexpr u32 TIMES = 4;

__device__ __forceinline__ u64 global_timer() {
    u64 nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

// The start of a block.
struct Start {
    u64 clock, timer;

    __device__ static __forceinline__ Start now() { return {u64(clock64()), global_timer()}; }

    // Reads both again and writes the block's four words. Called by all threads behind a barrier.
    __device__ __forceinline__ void record(u64* times) const {
        if (threadIdx.x == 0) {
            Start end = now();
            u64* row = times + blockIdx.x * TIMES;
            row[0] = clock;
            row[1] = end.clock;
            row[2] = timer;
            row[3] = end.timer;
        }
    }
};

__device__ __forceinline__ u64 cube(u64 v) { return v * v * v; }

// The sum of the cubes of the values first, first + step, ...
__device__ __forceinline__ u64 sum_every(const u32* values, u32 n, u32 first, u32 step) {
    u64 sum = 0;
    u32 i = first;
    for (u32 left = div_ceil(saturating_sub(n, first), max(step, 1)); left > 0; left--) {
        sum += cube(values[i]);
        i += step;
    }
    return sum;
}

// ---- cubes/r1_one_thread.rs ----------------------------------------------------------------------------------------

__global__ void __launch_bounds__(1) cubes_one_thread(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    sums[0] = sum_every(values, n, 0, 1);
    start.record(times);
}

// ---- cubes/r2_one_block_strided.rs ---------------------------------------------------------------------------------

__global__ void cubes_one_block_strided(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    u32 t = threadIdx.x, size = div_ceil(n, max(blockDim.x, 1));
    u32 first = min(saturating_mul(size, t), n);
    sums[t] = sum_every(values + first, min(size, n - first), 0, 1);
    __syncthreads();  // all threads have finished before the first reads the clock
    start.record(times);
}

// ---- cubes/r3_one_block.rs -----------------------------------------------------------------------------------------

__global__ void cubes_one_block(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    u32 t = threadIdx.x;
    sums[t] = sum_every(values, n, t, blockDim.x);
    __syncthreads();  // all threads have finished before the first reads the clock
    start.record(times);
}

// ---- cubes/r4_many_blocks.rs ---------------------------------------------------------------------------------------

__global__ void cubes_many_blocks(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    u32 t = index_1d();
    sums[t] = sum_every(values, n, t, grid_threads_1d());
    __syncthreads();  // all threads have finished before the first reads the clock
    start.record(times);
}

// ---- cubes/r5_block_sum.rs -----------------------------------------------------------------------------------------

__device__ __forceinline__ u64 add_up(const u64* parts, u32 count) {
    u64 sum = 0;
    for (u32 i = 0; i < count; i++) sum += parts[i];
    return sum;
}

__global__ void cubes_block_sum(const u32* values, u32 n, u64* sums, u64* times) {
    extern __shared__ u64 parts[];
    Start start = Start::now();
    u32 t = threadIdx.x;
    parts[t] = sum_every(values, n, index_1d(), grid_threads_1d());
    __syncthreads();  // all parts are written before the first thread adds them
    if (t == 0) sums[blockIdx.x] = add_up(parts, blockDim.x);
    __syncthreads();  // keeps the end of the block behind the addition, for the clock
    start.record(times);
}

// ---- cubes/r6_block_tree.rs ----------------------------------------------------------------------------------------

__global__ void cubes_block_tree(const u32* values, u32 n, u64* sums, u64* times) {
    extern __shared__ u64 parts[];
    Start start = Start::now();
    u32 t = threadIdx.x;
    parts[t] = sum_every(values, n, index_1d(), grid_threads_1d());
    __syncthreads();  // all parts are written before a neighbour adds them
    for (u32 left = blockDim.x; left > 1;) {
        u32 half = div_ceil(left, 2);
        if (t + half < left) parts[t] += parts[t + half];
        __syncthreads();  // the first half is complete before it is halved
        left = half;
    }
    if (t == 0) sums[blockIdx.x] = parts[0];
    start.record(times);
}

// ---- cubes/r7_warp_shuffle.rs --------------------------------------------------------------------------------------

// The sum over the first `lanes` lanes of the warp, in lane 0.
__device__ __forceinline__ u64 warp_sum(u64 sum, u32 lanes) {
    u32 mask = FULL >> (WARP - lanes);
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
        u64 above = __shfl_down_sync(mask, sum, distance);
        if (lane_id() + distance < lanes) sum += above;
    }
    return sum;
}

// The sum over the block in its first thread. All threads call it once; it has a barrier.
__device__ __forceinline__ u64 block_sum(u64 part) {
    __shared__ u64 warp_sums[WARP];
    u32 t = threadIdx.x, lane = lane_id(), threads = blockDim.x;
    u64 sum = warp_sum(part, min(threads - (t - lane), WARP));
    if (lane == 0) warp_sums[t / WARP] = sum;
    __syncthreads();  // every warp's sum is there before the first warp reads them
    if (t >= WARP) return sum;
    return warp_sum(lane < div_ceil(threads, WARP) ? warp_sums[lane] : 0, min(threads, WARP));
}

__global__ void cubes_warp_shuffle(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    u64 sum = block_sum(sum_every(values, n, index_1d(), grid_threads_1d()));
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    start.record(times);
}

// ---- cubes/r8_grid_atomic.rs ---------------------------------------------------------------------------------------

__global__ void cubes_grid_atomic(const u32* values, u32 n, u64* sums, u64* times) {
    Start start = Start::now();
    u64 sum = block_sum(sum_every(values, n, index_1d(), grid_threads_1d()));
    if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sums), sum);
    start.record(times);
}

// ---- the table -----------------------------------------------------------------------------------------------------

// The shape of a launch, and the number of sums that it leaves.
struct Plan {
    u32 blocks, threads, sums, shared_bytes;
};

constexpr u32 THREADS = 256;
constexpr u32 BLOCKS_PER_MULTIPROCESSOR = 8;

Plan one_thread() { return {1, 1, 1, 0}; }
Plan one_block() { return {1, THREADS, THREADS, 0}; }

// As many blocks as fill the device.
u32 many() { return multiprocessors() * BLOCKS_PER_MULTIPROCESSOR; }

Plan sum_per_thread() {
    u32 blocks = many();
    return {blocks, THREADS, blocks * THREADS, 0};
}
Plan sum_per_block() {
    u32 blocks = many();
    return {blocks, THREADS, blocks, 0};
}
Plan sum_per_block_by_memory() {
    u32 blocks = many();
    return {blocks, THREADS, blocks, u32(THREADS * sizeof(u64))};
}
Plan one_sum() { return {many(), THREADS, 1, 0}; }

template <Plan (*PLAN)()>
Bytes cubes_bytes(const size_t* shape) { return {shape[0] * sizeof(u32), PLAN().sums * sizeof(u64)}; }

using Kernel = void (*)(const u32*, u32, u64*, u64*);

template <Kernel KERNEL, Plan (*PLAN)()>
int twin_cubes(const Call& call) {
    Plan plan = PLAN();
    PEERS_REQUIRE(plan.blocks > 0, "no device says how many multiprocessors it has");
    if (asks_for_size(call, plan.blocks * TIMES * sizeof(u64))) return 0;
    u64 *sums = call.out<u64>(), *times = static_cast<u64*>(call.temp);
    // The last rung adds to its word; the host clears the sums of all of them.
    PEERS_CUDA(cudaMemsetAsync(sums, 0, plan.sums * sizeof(u64), call.stream));
    PEERS_LAUNCH(KERNEL, plan.blocks, plan.threads, plan.shared_bytes, call.in<u32>(), u32(call.n()), sums, times);
    return 0;
}

#define TWIN(rung, what, plan)                                                                                         \
    {{"twin_" #rung "_u32", "cubes", what, "u32", 0}, 1, cubes_bytes<plan>, twin_cubes<rung, plan>}

const Entry PEERS[] = {
    TWIN(cubes_one_thread, "one thread", one_thread),
    TWIN(cubes_one_block_strided, "one block, a chunk per thread", one_block),
    TWIN(cubes_one_block, "one block, contiguous access", one_block),
    TWIN(cubes_many_blocks, "a full device, a sum per thread", sum_per_thread),
    TWIN(cubes_block_sum, "a full device, a block's sums added by one thread", sum_per_block_by_memory),
    TWIN(cubes_block_tree, "a full device, a tree per block", sum_per_block_by_memory),
    TWIN(cubes_warp_shuffle, "a full device, added by shuffles", sum_per_block),
    TWIN(cubes_grid_atomic, "a full device, an atomic per block", one_sum),
};

}  // namespace

Table twin_cubes_peers() { return table(PEERS); }

}  // namespace peers
