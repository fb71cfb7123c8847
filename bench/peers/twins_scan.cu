// Twins of the textbook scans: gpu/scan/src, r1 to r4. Inclusive sums; the kernels can do both, as the rungs' can.
#include "twin.cuh"

namespace peers {
namespace {

// ---- scan/mod.rs ---------------------------------------------------------------------------------------------------

template <class T>
__device__ __forceinline__ T get_or_zero(const T* data, u32 n, u32 i) { return i < n ? data[i] : T(0); }

template <class T>
__device__ __forceinline__ void set_within(T* data, u32 n, u32 i, T value) {
    if (i < n) data[i] = value;
}

// ---- scan/r1_hillis_steele.rs --------------------------------------------------------------------------------------

constexpr u32 STEELE_BLOCK = 1024;
constexpr u32 STEPS = log2_of(STEELE_BLOCK);

template <class T>
__global__ void __launch_bounds__(STEELE_BLOCK) scan_hillis_steele(const T* input, T* output, u32 n, u32 exclusive) {
    // Two generations of sums, written in turn.
    __shared__ unsigned long long room[2 * STEELE_BLOCK];  // as the rung: room for elements of 8 bytes
    T* sums = reinterpret_cast<T*>(room);
    u32 t = threadIdx.x;
    T sum = get_or_zero(input, n, t);
#pragma unroll
    for (u32 step = 0; step < STEPS; step++) {
        u32 distance = 1 << step;
        T* generation = sums + (step & 1) * STEELE_BLOCK;
        generation[t] = sum;
        __syncthreads();  // all sums of this generation are written before a thread reads its neighbour's
        if (t >= distance) sum = generation[t - distance] + sum;
    }
    if (exclusive != 0) {
        T* generation = sums + (STEPS & 1) * STEELE_BLOCK;
        generation[t] = sum;
        __syncthreads();  // all sums are written before a thread reads its neighbour's
        sum = t == 0 ? T(0) : generation[t - 1];
    }
    set_within(output, n, t, sum);
}

// ---- scan/r2_blelloch.rs and scan/r3_blelloch_padded.rs ------------------------------------------------------------

constexpr u32 BLOCK = 512;
constexpr u32 CAPACITY = 2 * BLOCK;
constexpr u32 LEVELS = log2_of(CAPACITY);
constexpr u32 BANKS = 32;

// Where element i of the tree is.
struct Plain {
    __host__ __device__ static constexpr u32 place(u32 i) { return i; }
};
struct Padded {
    __host__ __device__ static constexpr u32 place(u32 i) { return i + i / BANKS; }
};

// The places of the children of node t of a level; the right child's is the node's own.
template <class Layout>
struct Children {
    u32 left, right;

    __device__ __forceinline__ Children(u32 t, u32 level) {
        u32 width = u32(2) << level;
        left = Layout::place(width * t + width / 2 - 1);
        right = Layout::place(width * t + width - 1);
    }
};

// Scans at most CAPACITY elements. Returns the sum of all of them to thread 0, zero to the others.
template <class Layout, class T>
__device__ __forceinline__ T scan_block(T* tree, const T* input, T* output, u32 n, u32 exclusive) {
    u32 t = threadIdx.x;
    T low = get_or_zero(input, n, t), high = get_or_zero(input, n, t + BLOCK), sum = T(0);
    tree[Layout::place(t)] = low;
    tree[Layout::place(t + BLOCK)] = high;
    u32 level = 0;
    for (; level < LEVELS; level++) {
        __syncthreads();  // the level below is complete before it is added up
        if (t < BLOCK >> level) {
            Children<Layout> at(t, level);
            tree[at.right] = tree[at.left] + tree[at.right];
        }
    }
    if (t == 0) {
        // Thread 0 itself made the root, at the top level.
        sum = tree[Layout::place(CAPACITY - 1)];
        tree[Layout::place(CAPACITY - 1)] = T(0);
    }
    while (level > 0) {
        level--;
        __syncthreads();  // the level above has handed its values down
        if (t < BLOCK >> level) {
            Children<Layout> at(t, level);
            T of_left = tree[at.left], before = tree[at.right];
            tree[at.left] = before;
            tree[at.right] = before + of_left;
        }
    }
    __syncthreads();  // all leaves have their sums
    T before_low = tree[Layout::place(t)], before_high = tree[Layout::place(t + BLOCK)];
    bool inclusive = exclusive == 0;
    set_within(output, n, t, inclusive ? before_low + low : before_low);
    set_within(output, n, t + BLOCK, inclusive ? before_high + high : before_high);
    return sum;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) scan_blelloch(const T* input, T* output, u32 n, u32 exclusive) {
    __shared__ unsigned long long room[Plain::place(CAPACITY)];  // as the rung: room for elements of 8 bytes
    T* tree = reinterpret_cast<T*>(room);
    scan_block<Plain>(tree, input, output, n, exclusive);
}

template <class T>
__global__ void __launch_bounds__(BLOCK) scan_blelloch_padded(const T* input, T* output, u32 n, u32 exclusive) {
    __shared__ unsigned long long room[Padded::place(CAPACITY)];  // as the rung: room for elements of 8 bytes
    T* tree = reinterpret_cast<T*>(room);
    scan_block<Padded>(tree, input, output, n, exclusive);
}

template <class T>
using OneBlock = void (*)(const T*, T*, u32, u32);

template <class T, OneBlock<T> KERNEL, u32 THREADS>
int twin_one_block(const Call& call) {
    u32 n = u32(call.n());
    PEERS_REQUIRE(n <= CAPACITY, "one block scans at most 1024 elements");
    if (asks_for_size(call, 1)) return 0;
    PEERS_LAUNCH(KERNEL, n > 0 ? 1 : 0, THREADS, 0, call.in<T>(), call.out<T>(), n, 0);
    return 0;
}

// ---- scan/r4_three_kernels.rs --------------------------------------------------------------------------------------

constexpr u32 TILE = CAPACITY;

// First element and length of a block's tile; the last tile may be short.
struct TileOfBlock {
    u32 start, length;
    __device__ explicit TileOfBlock(u32 n) : start(blockIdx.x * TILE), length(min(n - start, TILE)) {}
};

// Scans each tile of `input` into `output` and writes its sum to `sums`.
template <class T>
__global__ void __launch_bounds__(BLOCK)
    scan_three_kernels_tiles(const T* input, T* output, u32 n, T* sums, u32 exclusive) {
    __shared__ unsigned long long room[Padded::place(CAPACITY)];  // as the rung: room for elements of 8 bytes
    T* tree = reinterpret_cast<T*>(room);
    TileOfBlock tile(n);
    T sum = scan_block<Padded>(tree, input + tile.start, output + tile.start, tile.length, exclusive);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Adds to each element of `output` the sum before its tile: `sums`, scanned exclusively.
template <class T>
__global__ void __launch_bounds__(BLOCK) scan_three_kernels_add(T* output, u32 n, const T* sums) {
    TileOfBlock tile(n);
    T before = sums[blockIdx.x];
    T* own = output + tile.start;
    for (u32 i = threadIdx.x; i < tile.length; i += BLOCK) own[i] = before + own[i];
}

// One level of tiles: what it scans, where to, and the sums of its tiles.
template <class T>
struct Level {
    const T* input;
    T* output;
    T* sums;
    u32 n, blocks;
};

// Three levels are enough for 2^30 elements, four for as many as there can be.
constexpr u32 MAX_LEVELS = 4;

template <class T>
int twin_three_kernels(const Call& call) {
    u32 n = u32(call.n());
    size_t words = 1;  // the top level's only sum, which is not used
    for (u32 blocks = div_ceil(n, TILE); blocks > 1; blocks = div_ceil(blocks, TILE)) words += blocks;
    if (asks_for_size(call, words * sizeof(T))) return 0;
    PEERS_REQUIRE(*call.temp_bytes >= words * sizeof(T), "the scratch memory is too small");

    // Up: the tiles of each level, whose sums are the next level's input; the first has the caller's.
    Level<T> levels[MAX_LEVELS];
    levels[0] = {call.in<T>(), call.out<T>(), static_cast<T*>(call.temp), n, div_ceil(n, TILE)};
    u32 top = 0;
    for (;; top++) {
        const Level<T>& level = levels[top];
        PEERS_LAUNCH(scan_three_kernels_tiles, level.blocks, BLOCK, 0, level.input, level.output, level.n, level.sums,
                     top == 0 ? 0 : 1);
        if (level.blocks <= 1) break;
        levels[top + 1] = {level.sums, level.sums, level.sums + level.blocks, level.blocks,
                           div_ceil(level.blocks, TILE)};
    }
    // Down: the sums are scanned and go into the level below.
    while (top > 0) {
        const Level<T>& level = levels[--top];
        PEERS_LAUNCH(scan_three_kernels_add, level.blocks, BLOCK, 0, level.output, level.n, level.sums);
    }
    return 0;
}

// ---- the table -----------------------------------------------------------------------------------------------------

#define TWIN(rung, what, threads)                                                                                      \
    {{"twin_" #rung "_u32", "scan", what, "u32", 0}, 1, map_bytes<u32>, twin_one_block<u32, rung<u32>, threads>},      \
    {{"twin_" #rung "_f32", "scan", what, "f32", 0}, 1, map_bytes<float>, twin_one_block<float, rung<float>, threads>}

constexpr const char* THREE = "tiles, their sums, and the sum before each tile";

const Entry PEERS[] = {
    TWIN(scan_hillis_steele, "one block, n log n additions", STEELE_BLOCK),
    TWIN(scan_blelloch, "one block, a tree of sums", BLOCK),
    TWIN(scan_blelloch_padded, "one block, a tree without bank conflicts", BLOCK),
    {{"twin_scan_three_kernels_u32", "scan", THREE, "u32", 0}, 1, map_bytes<u32>, twin_three_kernels<u32>},
    {{"twin_scan_three_kernels_f32", "scan", THREE, "f32", 0}, 1, map_bytes<float>, twin_three_kernels<float>},
};

}  // namespace

Table twin_scan_peers() { return table(PEERS); }

}  // namespace peers
