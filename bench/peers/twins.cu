// Twins: the textbook rungs once more in CUDA C++, with the same algorithm, the same launches and the same threads, so
// that a difference in time is a difference between compilers. Like the rungs they take any n, and like the rungs they
// are free of the sources' mistakes (SOURCES.md names them); nothing is tuned. Each entry does the whole algorithm.
#include "peer.cuh"

namespace peers {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

constexpr u32 blocks_for(size_t n, u32 per_block) { return u32((n + per_block - 1) / per_block); }

__device__ __forceinline__ u32 global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__device__ __forceinline__ void order(T& low, T& high) {
    if (low > high) {
        T t = low;
        low = high;
        high = t;
    }
}

// ---- bubble / shared-block (S0) ------------------------------------------------------------------------------------

constexpr u32 BUBBLE_THREADS = 512;
constexpr u32 BUBBLE_KEYS = 2 * BUBBLE_THREADS;

// Sorts the BUBBLE_KEYS keys from `first` + block·BUBBLE_KEYS by odd-even transposition. A key past the end is simply
// not there: its pairs are not compared.
template <class T>
__global__ void bubble_shared_block(T* keys, u32 n, u32 first) {
    __shared__ T tile[BUBBLE_KEYS];
    u32 base = first + blockIdx.x * BUBBLE_KEYS;
    u32 count = base < n ? min(n - base, BUBBLE_KEYS) : 0;
    u32 t = threadIdx.x, even = 2 * t, odd = 2 * t + 1;

    for (u32 i = t; i < count; i += BUBBLE_THREADS) tile[i] = keys[base + i];
    __syncthreads();  // the tile is complete before anyone compares
    for (u32 round = 0; round < BUBBLE_THREADS; round++) {
        if (even + 1 < count) order(tile[even], tile[even + 1]);
        __syncthreads();  // the odd pairs share a key with each neighbouring even pair
        if (odd + 1 < count) order(tile[odd], tile[odd + 1]);
        __syncthreads();  // and so do the even pairs of the next round
    }
    for (u32 i = t; i < count; i += BUBBLE_THREADS) keys[base + i] = tile[i];
}

// Pass a sorts all G blocks, pass b the G - 1 that lie across their seams; G times both sort everything.
template <class T>
int twin_bubble(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    u32 n = u32(call.n()), blocks = blocks_for(n, BUBBLE_KEYS);
    for (u32 round = 0; round < blocks; round++) {
        bubble_shared_block<<<blocks, BUBBLE_THREADS, 0, call.stream>>>(call.out<T>(), n, 0);
        if (blocks > 1)
            bubble_shared_block<<<blocks - 1, BUBBLE_THREADS, 0, call.stream>>>(call.out<T>(), n, BUBBLE_KEYS / 2);
        PEERS_LAUNCHED("bubble_shared_block");
    }
    return 0;
}

// ---- bitonic / global-step (S3) ------------------------------------------------------------------------------------

constexpr u32 BITONIC_THREADS = 256;

// One step, one thread a key; the lower of a pair acts. `flip`: first step of a stage, the partner is the mirror image
// in a run of 2j keys. All stages then sort upwards, so that a partner past the end is one larger than any key.
template <class T>
__global__ void bitonic_global_step(T* keys, u32 n, u32 j, u32 flip) {
    u32 i = global_index();
    u32 partner = flip != 0 ? i ^ (2 * j - 1) : i ^ j;
    if (i < partner && partner < n) {
        T a = keys[i], b = keys[partner];
        if (a > b) {
            keys[i] = b;
            keys[partner] = a;
        }
    }
}

// All steps until runs of `run` keys are sorted.
template <class T>
int bitonic_steps(T* keys, u32 n, u64 run, cudaStream_t stream) {
    u32 blocks = blocks_for(n, BITONIC_THREADS);
    for (u64 k = 2; k <= run && k < 2 * u64(n); k *= 2) {
        for (u64 j = k / 2; j > 0; j /= 2)
            bitonic_global_step<<<blocks, BITONIC_THREADS, 0, stream>>>(keys, n, u32(j), u32(j == k / 2));
        PEERS_LAUNCHED("bitonic_global_step");
    }
    return 0;
}

template <class T>
int twin_bitonic(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    return bitonic_steps(call.out<T>(), u32(call.n()), UINT64_MAX, call.stream);
}

// ---- odd-even / bitonic-blocks (S2) --------------------------------------------------------------------------------

constexpr u32 MERGE_THREADS = 512;
constexpr u32 MERGE_KEYS = 2 * MERGE_THREADS;

// Merges the two sorted halves of each MERGE_KEYS keys from `first` on. The second half is read backwards, which makes
// the whole bitonic; log2(MERGE_KEYS) steps then sort it. Past the end stands the largest key, which is not written
// back; real keys as large are like it in every bit.
__global__ void odd_even_merge(int* keys, u32 n, u32 first, int largest) {
    __shared__ int tile[MERGE_KEYS];
    u32 base = first + blockIdx.x * MERGE_KEYS, t = threadIdx.x;
    u32 left = base + t, right = base + MERGE_KEYS - 1 - t;

    tile[t] = left < n ? keys[left] : largest;
    tile[t + MERGE_THREADS] = right < n ? keys[right] : largest;
    for (u32 j = MERGE_THREADS; j > 0; j /= 2) {
        __syncthreads();  // the step before (or the load) is complete
        u32 low = 2 * t - (t & (j - 1));
        order(tile[low], tile[low + j]);
    }
    __syncthreads();  // the last step is complete before keys are written by other threads
    right = base + MERGE_THREADS + t;
    if (left < n) keys[left] = tile[t];
    if (right < n) keys[right] = tile[t + MERGE_THREADS];
}

// The blocks are sorted by bitonic steps from the host; then 2·G passes, in turn inside the blocks and across seams.
int twin_odd_even(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    int* keys = call.out<int>();
    u32 n = u32(call.n()), blocks = blocks_for(n, MERGE_KEYS);
    if (int code = bitonic_steps(keys, n, MERGE_KEYS, call.stream)) return code;
    for (u32 pass = 0; pass < 2 * blocks && blocks > 1; pass++) {
        u32 odd = pass % 2;
        odd_even_merge<<<blocks - odd, MERGE_THREADS, 0, call.stream>>>(keys, n, odd * MERGE_KEYS / 2, INT32_MAX);
        PEERS_LAUNCHED("odd_even_merge");
    }
    return 0;
}

// ---- radix / columns-… (S4) ----------------------------------------------------------------------------------------

// Column c is the keys c, c + columns, …: one thread a column, and neighbouring threads touch neighbouring words.
struct Columns {
    u32 *keys, *ones;  // shared memory, n words each
    u32 n, columns;

    __device__ u32 count(u32 column) const { return column < n ? (n - column + columns - 1) / columns : 0; }
    __device__ u32 key(u32 row, u32 column) const { return keys[row * columns + column]; }
};

// 32 passes over this thread's column: zeros move forward in place, ones go to the second array and are appended.
__device__ void sort_column(const Columns& c, u32 column) {
    u32 count = c.count(column);
    for (u32 bit = 0; bit < 32; bit++) {
        u32 zeros = 0, ones = 0;
        for (u32 row = 0; row < count; row++) {
            u32 key = c.key(row, column);
            if (key >> bit & 1) c.ones[ones++ * c.columns + column] = key;
            else c.keys[zeros++ * c.columns + column] = key;
        }
        for (u32 row = 0; row < ones; row++) c.keys[(zeros + row) * c.columns + column] = c.ones[row * c.columns + column];
    }
}

// The four merges. Each is called by all threads after the columns are sorted; `output` gets one key a round. An equal
// key in two columns is decided by the column, so that one column advances a round; a column that has run out stands
// aside rather than showing a key that could be data.

constexpr u32 MAX_COLUMNS = 1024;
constexpr u32 GROUP = 8;
constexpr u32 NOBODY = UINT32_MAX;  // larger than any column

// 1: one thread looks at every head.
struct MergeOneThread {
    __device__ static void merge(const Columns& c, u32 column, u32* output) {
        __shared__ u32 rows[MAX_COLUMNS], counts[MAX_COLUMNS];
        rows[column] = 0;
        counts[column] = c.count(column);
        __syncthreads();  // all rows and counts are set before thread 0 reads them
        if (column != 0) return;
        for (u32 i = 0; i < c.n; i++) {
            u32 best = 0, winner = NOBODY;
            for (u32 other = 0; other < c.columns; other++) {
                if (rows[other] == counts[other]) continue;
                u32 key = c.key(rows[other], other);
                if (winner == NOBODY || key < best) {
                    best = key;
                    winner = other;
                }
            }
            output[i] = best;
            rows[winner]++;
        }
    }
};

// 2: all threads atomicMin one shared minimum, then the threads that hold it agree on one column. There are two slots
// in turn: while one is in use, the other, which everybody has done with, is made ready for the next round.
struct MergeAtomicMin {
    __device__ static void merge(const Columns& c, u32 column, u32* output) {
        __shared__ u32 least[2], winner[2];
        u32 row = 0, count = c.count(column);
        if (column == 0) least[0] = least[1] = winner[0] = winner[1] = NOBODY;
        __syncthreads();  // both slots are ready
        for (u32 i = 0; i < c.n; i++) {
            u32 slot = i & 1;
            u32 head = row < count ? c.key(row, column) : 0;
            if (row < count) atomicMin(&least[slot], head);
            __syncthreads();  // the minimum is final
            bool holds = row < count && head == least[slot];
            if (holds) atomicMin(&winner[slot], column);
            if (column == 0) least[slot ^ 1] = winner[slot ^ 1] = NOBODY;
            __syncthreads();  // the winner is final, the other slot ready
            if (winner[slot] == column) {
                output[i] = head;
                row++;
            }
        }
    }
};

// 3: pairwise tree over the heads. Key and column in one 64-bit word; a column that has run out shows the largest
// word, which no key with a column below 2^32 - 1 equals.
struct MergeTree {
    __device__ static void merge(const Columns& c, u32 column, u32* output) {
        __shared__ u64 heads[MAX_COLUMNS];
        u32 row = 0, count = c.count(column);
        for (u32 i = 0; i < c.n; i++) {
            heads[column] = row < count ? u64(c.key(row, column)) << 32 | column : UINT64_MAX;
            for (u32 live = c.columns; live > 1;) {
                u32 half = (live + 1) / 2;  // rounded up: any number of columns
                __syncthreads();            // the level below is complete
                if (column + half < live) heads[column] = min(heads[column], heads[column + half]);
                live = half;
            }
            __syncthreads();  // the root is final
            u64 root = heads[0];
            __syncthreads();  // everyone has read it before thread 0 shows its next head
            if (u32(root) == column) {
                output[i] = u32(root >> 32);
                row++;
            }
        }
    }
};

// 4: atomicMin in groups of 8 columns, then of the groups' minima; slots in turn as in 2.
struct MergeGroups {
    __device__ static void merge(const Columns& c, u32 column, u32* output) {
        __shared__ u32 group_least[2][MAX_COLUMNS / GROUP], least[2], winner[2];
        u32 row = 0, count = c.count(column), group = column / GROUP;
        u32 groups = (c.columns + GROUP - 1) / GROUP;
        if (column < groups) group_least[0][column] = group_least[1][column] = NOBODY;
        if (column == 0) least[0] = least[1] = winner[0] = winner[1] = NOBODY;
        __syncthreads();  // both slots are ready
        for (u32 i = 0; i < c.n; i++) {
            u32 slot = i & 1;
            u32 head = row < count ? c.key(row, column) : 0;
            if (row < count) atomicMin(&group_least[slot][group], head);
            __syncthreads();  // the groups' minima are final
            if (column < groups) {
                atomicMin(&least[slot], group_least[slot][column]);
                group_least[slot ^ 1][column] = NOBODY;
            }
            __syncthreads();  // the minimum is final
            if (row < count && head == least[slot]) atomicMin(&winner[slot], column);
            if (column == 0) least[slot ^ 1] = winner[slot ^ 1] = NOBODY;
            __syncthreads();  // the winner is final, the other slot ready
            if (winner[slot] == column) {
                output[i] = head;
                row++;
            }
        }
    }
};

template <class Merge>
__global__ void radix_columns(const u32* input, u32* output, u32 n) {
    extern __shared__ u32 words[];
    Columns c = {words, words + n, n, blockDim.x};
    u32 column = threadIdx.x;
    for (u32 i = column; i < n; i += c.columns) c.keys[i] = input[i];
    sort_column(c, column);  // its own column only, which it has just loaded itself: no barrier
    __syncthreads();         // all columns are sorted before heads of other columns are looked at
    Merge::merge(c, column, output);
}

template <class Merge>
int twin_radix_columns(const Call& call) {
    u32 n = u32(call.n()), columns = u32(call.shape[1]);
    size_t shared_bytes = size_t(n) * 2 * sizeof(u32);
    PEERS_REQUIRE(columns >= 1 && columns <= MAX_COLUMNS, "columns is 1 to 1024");

    // Asked for and set with the size, outside the timing: what one block may have, less what the merge declares.
    if (call.temp == nullptr) {
        int device = 0, limit = 0;
        cudaFuncAttributes kernel;
        PEERS_CUDA(cudaGetDevice(&device));
        PEERS_CUDA(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        PEERS_CUDA(cudaFuncGetAttributes(&kernel, radix_columns<Merge>));
        int room = limit - int(kernel.sharedSizeBytes);
        PEERS_REQUIRE(shared_bytes <= size_t(room), "n keys, twice, do not fit the shared memory of one block");
        PEERS_CUDA(cudaFuncSetAttribute(radix_columns<Merge>, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    }
    if (asks_for_size(call, 1) || n == 0) return 0;
    radix_columns<Merge><<<1, columns, shared_bytes, call.stream>>>(call.in<u32>(), call.out<u32>(), n);
    PEERS_LAUNCHED("radix_columns");
    return 0;
}

// ---- cubes / many-blocks (S1) --------------------------------------------------------------------------------------

// The grid that S1 found best.
constexpr u32 CUBES_BLOCKS = 32, CUBES_THREADS = 256;

// Thread t of all adds the cubes of numbers t, t + threads, …; 64 bits wide, where S1's 32 overflow.
__global__ void cubes_many_blocks(const u32* numbers, u32 n, u64* sums) {
    u32 thread = global_index();
    u64 sum = 0;
    for (u32 i = thread; i < n; i += CUBES_BLOCKS * CUBES_THREADS) {
        u64 x = numbers[i];
        sum += x * x * x;
    }
    sums[thread] = sum;
}

int twin_cubes(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    cubes_many_blocks<<<CUBES_BLOCKS, CUBES_THREADS, 0, call.stream>>>(call.in<u32>(), u32(call.n()), call.out<u64>());
    PEERS_LAUNCHED("cubes_many_blocks");
    return 0;
}

Bytes cubes_bytes(const size_t* shape) { return {shape[0] * sizeof(u32), CUBES_BLOCKS * CUBES_THREADS * sizeof(u64)}; }

// ---- reduce, the five textbook steps -------------------------------------------------------------------------------

constexpr u32 REDUCE_THREADS = 256;
constexpr u32 WARP = 32;

// Each step loads one element a thread, or adds two on the way (LOADS), and leaves the block's sum with thread 0.

// Neighbours first: the threads that work thin out within every warp.
struct Interleaved {
    static constexpr u32 LOADS = 1;
    template <class T>
    __device__ static T block_sum(T* sums, u32 t, T mine) {
        sums[t] = mine;
        for (u32 s = 1; s < REDUCE_THREADS; s *= 2) {
            __syncthreads();  // the level below is complete
            if (t % (2 * s) == 0) sums[t] += sums[t + s];
        }
        return sums[0];  // thread 0 wrote it itself
    }
};

// Halves: the threads that work stay together.
struct Sequential {
    static constexpr u32 LOADS = 1;
    template <class T>
    __device__ static T block_sum(T* sums, u32 t, T mine) {
        sums[t] = mine;
        for (u32 s = REDUCE_THREADS / 2; s > 0; s /= 2) {
            __syncthreads();  // the level below is complete
            if (t < s) sums[t] += sums[t + s];
        }
        return sums[0];
    }
};

// The same, after a first addition on load: no thread is idle from the start.
struct FirstAdd : Sequential {
    static constexpr u32 LOADS = 2;
};

// The last warp needs no block barrier, only its own; written out as the textbooks do.
struct UnrolledWarp {
    static constexpr u32 LOADS = 2;
    template <class T>
    __device__ static T block_sum(T* sums, u32 t, T mine) {
        sums[t] = mine;
        for (u32 s = REDUCE_THREADS / 2; s > WARP / 2; s /= 2) {
            __syncthreads();  // the level below is complete
            if (t < s) sums[t] += sums[t + s];
        }
        if (t < WARP) {
            T sum = sums[t];
#pragma unroll
            for (u32 s = WARP / 2; s > 0; s /= 2) {
                __syncwarp();  // sums[t + s] of the level below is written
                sum += sums[t + s];
                __syncwarp();  // and read, before its owner replaces it
                sums[t] = sum;
            }
        }
        return sums[0];
    }
};

// Registers instead of shared memory: one word a warp is left to exchange.
struct Shuffle {
    static constexpr u32 LOADS = 2;
    template <class T>
    __device__ static T warp_sum(T mine) {
#pragma unroll
        for (u32 s = WARP / 2; s > 0; s /= 2) mine += __shfl_down_sync(~0u, mine, s);
        return mine;
    }
    template <class T>
    __device__ static T block_sum(T* sums, u32 t, T mine) {
        mine = warp_sum(mine);
        if (t % WARP == 0) sums[t / WARP] = mine;
        __syncthreads();  // all warps' sums are there
        if (t < WARP) mine = warp_sum(t < REDUCE_THREADS / WARP ? sums[t] : T(0));
        return mine;
    }
};

// One sum a block.
template <class Step, class T>
__global__ void reduce_step(const T* input, T* sums, u32 n) {
    __shared__ T tile[REDUCE_THREADS];
    u32 t = threadIdx.x, i = blockIdx.x * (REDUCE_THREADS * Step::LOADS) + t;
    T mine = i < n ? input[i] : T(0);
    if (Step::LOADS == 2 && i + REDUCE_THREADS < n) mine += input[i + REDUCE_THREADS];
    T sum = Step::block_sum(tile, t, mine);
    if (t == 0) sums[blockIdx.x] = sum;
}

// Launches over sums of sums until one is left. Two pieces of scratch in turn; the last launch writes the output.
template <class Step, class T>
int twin_reduce(const Call& call) {
    constexpr u32 PER_BLOCK = REDUCE_THREADS * Step::LOADS;
    size_t n = call.shape[0], first_sums = blocks_for(n, PER_BLOCK), second_sums = blocks_for(first_sums, PER_BLOCK);
    size_t scratch_bytes = (first_sums + second_sums) * sizeof(T);
    if (asks_for_size(call, scratch_bytes)) return 0;
    PEERS_REQUIRE(*call.temp_bytes >= scratch_bytes, "the scratch is smaller than was asked for");
    if (n == 0) {
        PEERS_CUDA(cudaMemsetAsync(call.output, 0, sizeof(T), call.stream));
        return 0;
    }
    T* scratch[2] = {static_cast<T*>(call.temp), static_cast<T*>(call.temp) + first_sums};
    const T* input = call.in<T>();
    for (u32 level = 0;; level++) {
        u32 blocks = blocks_for(n, PER_BLOCK);
        T* sums = blocks == 1 ? call.out<T>() : scratch[level % 2];
        reduce_step<Step><<<blocks, REDUCE_THREADS, 0, call.stream>>>(input, sums, u32(n));
        PEERS_LAUNCHED("reduce_step");
        if (blocks == 1) return 0;
        input = sums;
        n = blocks;
    }
}

// ---- matmul / naive and shared-tile (S3) ---------------------------------------------------------------------------

constexpr u32 TILE = 16;

__device__ __forceinline__ float element(const float* matrix, u32 row, u32 col, u32 rows, u32 cols) {
    return row < rows && col < cols ? matrix[row * cols + col] : 0.0f;
}

// A thread an element, all operands from global memory.
__global__ void matmul_naive(const float* a, const float* b, float* c, u32 m, u32 n, u32 k) {
    u32 row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (u32 e = 0; e < k; e++) sum = fmaf(a[row * k + e], b[e * n + col], sum);
    c[row * n + col] = sum;
}

// A block a tile of C; tiles of A and B by way of shared memory, outside the matrices zero.
__global__ void matmul_shared_tile(const float* a, const float* b, float* c, u32 m, u32 n, u32 k) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    u32 x = threadIdx.x, y = threadIdx.y;
    u32 row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (u32 t = 0; t < k; t += TILE) {
        tile_a[y][x] = element(a, row, t + x, m, k);
        tile_b[y][x] = element(b, t + y, col, k, n);
        __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
        for (u32 e = 0; e < TILE; e++) sum = fmaf(tile_a[y][e], tile_b[e][x], sum);
        __syncthreads();  // everyone is done with the tiles before they are overwritten
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

using MatmulKernel = void (*)(const float*, const float*, float*, u32, u32, u32);

template <MatmulKernel KERNEL>
int twin_matmul(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    size_t m = call.shape[0], n = call.shape[1], k = call.shape[2];
    PEERS_REQUIRE(m * k <= UINT32_MAX && k * n <= UINT32_MAX && m * n <= UINT32_MAX, "the rung's indices are 32 bits");
    if (m == 0 || n == 0) return 0;
    dim3 grid(blocks_for(n, TILE), blocks_for(m, TILE));
    const float* a = call.in<float>();
    KERNEL<<<grid, dim3(TILE, TILE), 0, call.stream>>>(a, a + m * k, call.out<float>(), u32(m), u32(n), u32(k));
    PEERS_LAUNCHED("matmul");
    return 0;
}

// ---- the table -----------------------------------------------------------------------------------------------------

const Entry PEERS[] = {
    {{"twin_bubble_shared_block_f32", "bubble", "S0: passes a and b, 512 threads sort 1024 keys", "f32", 1}, 1, map_bytes<float>, twin_bubble<float>},
    {{"twin_bubble_shared_block_u32", "bubble", "S0: passes a and b, 512 threads sort 1024 keys", "u32", 1}, 1, map_bytes<u32>, twin_bubble<u32>},
    {{"twin_bitonic_global_step_f32", "bitonic", "S3: a launch a step, 256 threads, a thread a key", "f32", 1}, 1, map_bytes<float>, twin_bitonic<float>},
    {{"twin_bitonic_global_step_u32", "bitonic", "S3: a launch a step, 256 threads, a thread a key", "u32", 1}, 1, map_bytes<u32>, twin_bitonic<u32>},
    {{"twin_odd_even_bitonic_blocks_i32", "odd-even", "S2: bitonic blocks of 1024, merged inside and across seams", "i32", 1}, 1, map_bytes<int32_t>, twin_odd_even},
    {{"twin_radix_columns_one_thread_u32", "radix", "S4: merge 1, one thread looks at every head", "u32", 0}, 2, map_bytes<u32>, twin_radix_columns<MergeOneThread>},
    {{"twin_radix_columns_atomic_min_u32", "radix", "S4: merge 2, one shared minimum", "u32", 0}, 2, map_bytes<u32>, twin_radix_columns<MergeAtomicMin>},
    {{"twin_radix_columns_tree_u32", "radix", "S4: merge 3, pairwise tree", "u32", 0}, 2, map_bytes<u32>, twin_radix_columns<MergeTree>},
    {{"twin_radix_columns_groups_u32", "radix", "S4: merge 4, groups of 8", "u32", 0}, 2, map_bytes<u32>, twin_radix_columns<MergeGroups>},
    {{"twin_cubes_many_blocks_u32", "cubes", "S1: 32 blocks of 256, a sum a thread", "u32", 0}, 1, cubes_bytes, twin_cubes},
    {{"twin_reduce_interleaved_u32", "reduce", "neighbours first, divergent", "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<Interleaved, u32>},
    {{"twin_reduce_sequential_u32", "reduce", "halves, threads together", "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<Sequential, u32>},
    {{"twin_reduce_first_add_u32", "reduce", "first add on load", "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<FirstAdd, u32>},
    {{"twin_reduce_unrolled_warp_u32", "reduce", "last warp unrolled", "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<UnrolledWarp, u32>},
    {{"twin_reduce_shuffle_u32", "reduce", "warp shuffles", "u32", 0}, 1, reduce_bytes<u32>, twin_reduce<Shuffle, u32>},
    {{"twin_reduce_interleaved_f32", "reduce", "neighbours first, divergent", "f32", 0}, 1, reduce_bytes<float>, twin_reduce<Interleaved, float>},
    {{"twin_reduce_sequential_f32", "reduce", "halves, threads together", "f32", 0}, 1, reduce_bytes<float>, twin_reduce<Sequential, float>},
    {{"twin_reduce_first_add_f32", "reduce", "first add on load", "f32", 0}, 1, reduce_bytes<float>, twin_reduce<FirstAdd, float>},
    {{"twin_reduce_unrolled_warp_f32", "reduce", "last warp unrolled", "f32", 0}, 1, reduce_bytes<float>, twin_reduce<UnrolledWarp, float>},
    {{"twin_reduce_shuffle_f32", "reduce", "warp shuffles", "f32", 0}, 1, reduce_bytes<float>, twin_reduce<Shuffle, float>},
    {{"twin_matmul_naive", "matmul", "S3: a thread an element, global memory", "f32", 0}, 3, matmul_bytes<float, float>, twin_matmul<matmul_naive>},
    {{"twin_matmul_shared_tile", "matmul", "S3: 16 x 16 tiles in shared memory", "f32", 0}, 3, matmul_bytes<float, float>, twin_matmul<matmul_shared_tile>},
};

}  // namespace

Table twin_peers() { return table(PEERS); }

}  // namespace peers
