// The sources' algorithms, from the texts behind Rungs (docs/sources.md), in the sources' own shape of grid and block,
// to be timed beside the rungs that come from them. Written by us from the texts. Errors that make a result wrong are
// corrected; limits of the input (a power of two) or of the grid are kept. The name of such a peer is "source_" + the
// symbol of the rung that comes from it.
#include "twin.cuh"

#include <climits>

namespace peers {
namespace {

template <class T>
__device__ __forceinline__ void order(T& low, T& high) {
    if (low > high) {
        T t = low;
        low = high;
        high = t;
    }
}

// ---- S0: bubble sort by odd-even transposition ---------------------------------------------------------------------

constexpr u32 BUBBLE_THREADS = 512;
constexpr u32 BUBBLE_KEYS = 2 * BUBBLE_THREADS;

// Sorts runs of BUBBLE_KEYS keys from `first` on, one block per run, in shared memory. S0 takes multiples of 1024; here
// pairs with a key past the end are not compared.
template <class T>
__global__ void bubble_block(T* keys, u32 n, u32 first) {
    __shared__ T tile[BUBBLE_KEYS];
    u32 base = first + blockIdx.x * BUBBLE_KEYS;
    u32 count = base < n ? min(n - base, BUBBLE_KEYS) : 0;
    u32 t = threadIdx.x, even = 2 * t, odd = 2 * t + 1;

    for (u32 i = t; i < count; i += BUBBLE_THREADS) tile[i] = keys[base + i];
    __syncthreads();  // the tile is complete before a thread compares
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
int source_bubble(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    u32 n = u32(call.n()), blocks = div_ceil(n, BUBBLE_KEYS);
    for (u32 round = 0; round < blocks; round++) {
        PEERS_LAUNCH(bubble_block, blocks, BUBBLE_THREADS, 0, call.out<T>(), n, 0);
        PEERS_LAUNCH(bubble_block, blocks - 1, BUBBLE_THREADS, 0, call.out<T>(), n, BUBBLE_KEYS / 2);
    }
    return 0;
}

// ---- S1: sum of cubes ----------------------------------------------------------------------------------------------

// The grid that S1 found best.
constexpr u32 CUBES_BLOCKS = 32, CUBES_THREADS = 256;

// Thread t of all adds the cubes of numbers t, t + threads, ...; each block notes its multiprocessor's clock at start
// and end. Sums are 64 bits wide, where S1's 32 overflow.
__global__ void cubes_grid(const u32* numbers, u32 n, u64* sums, long long* clocks) {
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64();
    u32 thread = index_1d();
    u64 sum = 0;
    for (u32 i = thread; i < n; i += CUBES_BLOCKS * CUBES_THREADS) {
        u64 x = numbers[i];
        sum += x * x * x;
    }
    sums[thread] = sum;
    if (threadIdx.x == 0) clocks[CUBES_BLOCKS + blockIdx.x] = clock64();
}

int source_cubes(const Call& call) {
    if (asks_for_size(call, 2 * CUBES_BLOCKS * sizeof(long long))) return 0;
    PEERS_LAUNCH(cubes_grid, CUBES_BLOCKS, CUBES_THREADS, 0, call.in<u32>(), u32(call.n()), call.out<u64>(),
                 static_cast<long long*>(call.temp));
    return 0;
}

Bytes cubes_bytes(const size_t* shape) { return {shape[0] * sizeof(u32), CUBES_BLOCKS * CUBES_THREADS * sizeof(u64)}; }

// ---- S2: odd-even sort over blocks ---------------------------------------------------------------------------------

// Keys, and threads, per block: each thread has one key, and of two partners the lower one acts.
constexpr u32 LAB_BLOCK = 1024;

// One step inside the blocks, by way of shared memory. `flip`: first step of a stage, the partner is the mirror image
// in a run of 2j keys. S2 pads its input to a power of two; here past the end stands the largest key, which is not
// written back and is like real keys as large in every bit.
template <class T>
__global__ void lab_step(T* keys, u32 n, T largest, u32 j, u32 flip) {
    __shared__ T tile[LAB_BLOCK];
    u32 t = threadIdx.x, i = index_1d(), partner = flip != 0 ? t ^ (2 * j - 1) : t ^ j;
    tile[t] = i < n ? keys[i] : largest;
    __syncthreads();  // the block's keys are there
    if (t < partner) order(tile[t], tile[partner]);
    __syncthreads();  // the step is complete
    if (i < n) keys[i] = tile[t];
}

// Merges the two sorted halves of each LAB_BLOCK keys from `first` on. The second half is read backwards, which makes
// the whole bitonic; log2(LAB_BLOCK) steps then sort it.
template <class T>
__global__ void lab_merge(T* keys, u32 n, T largest, u32 first) {
    __shared__ T tile[LAB_BLOCK];
    u32 t = threadIdx.x, base = first + blockIdx.x * LAB_BLOCK, i = base + t;
    u32 from = t < LAB_BLOCK / 2 ? i : base + LAB_BLOCK / 2 + (LAB_BLOCK - 1 - t);
    tile[t] = from < n ? keys[from] : largest;
    for (u32 j = LAB_BLOCK / 2; j > 0; j /= 2) {
        __syncthreads();  // the step before (or the load) is complete
        if ((t & j) == 0) order(tile[t], tile[t + j]);
    }
    __syncthreads();  // the last step is complete before keys are written by other threads
    if (i < n) keys[i] = tile[t];
}

// The blocks are sorted by bitonic steps from the host; then 2G passes, in turn inside the blocks and across seams.
template <class T>
int source_odd_even(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    constexpr T LARGEST = std::numeric_limits<T>::max();
    T* keys = call.out<T>();
    u32 n = u32(call.n()), blocks = div_ceil(n, LAB_BLOCK);
    for (u32 k = 2; k <= LAB_BLOCK; k *= 2)
        for (u32 j = k / 2; j > 0; j /= 2)
            PEERS_LAUNCH(lab_step, blocks, LAB_BLOCK, 0, keys, n, LARGEST, j, u32(j == k / 2));
    for (u32 pass = 0; pass < 2 * blocks && blocks > 1; pass++) {
        u32 odd = pass % 2;
        PEERS_LAUNCH(lab_merge, blocks - odd, LAB_BLOCK, 0, keys, n, LARGEST, odd * LAB_BLOCK / 2);
    }
    return 0;
}

// ---- S3: bitonic sort, a launch per step ---------------------------------------------------------------------------

constexpr u32 STEP_THREADS = 256;

// One step, one thread per key; the lower of a pair acts. Runs of k keys are sorted upwards and downwards in turn, so
// that two of them are bitonic.
template <class T>
__global__ void bitonic_step(T* keys, u32 j, u32 k) {
    u32 i = index_1d(), partner = i ^ j;
    if (partner <= i) return;
    T a = keys[i], b = keys[partner];
    bool upwards = (i & k) == 0;
    if (upwards ? a > b : a < b) {
        keys[i] = b;
        keys[partner] = a;
    }
}

template <class T>
int source_bitonic(const Call& call) {
    u32 n = u32(call.n());
    PEERS_REQUIRE((n & (n - 1)) == 0, "the source sorts powers of two only");
    if (asks_for_size(call, 1)) return 0;
    u32 threads = std::min(n, STEP_THREADS);
    for (u32 k = 2; k <= n; k *= 2)
        for (u32 j = k / 2; j > 0; j /= 2) PEERS_LAUNCH(bitonic_step, n / threads, threads, 0, call.out<T>(), j, k);
    return 0;
}

// ---- S3: matrix product, one thread per element, and by tiles in shared memory -------------------------------------

// A matrix by rows, or a part of one: `stride` elements from a row to the next. Indices are signed, as in S3.
struct Part {
    float* elements;
    int stride;

    __device__ float& at(int row, int column) const { return elements[row * stride + column]; }
    __device__ Part tile(int side, int row, int column) const { return {&at(side * row, side * column), stride}; }
};

constexpr int PRODUCT_SIDE = 16;

__global__ void product(Part a, Part b, Part c, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int e = 0; e < k; e++) sum += a.at(row, e) * b.at(e, column);
    c.at(row, column) = sum;
}

template <int SIDE>
__global__ void product_by_tiles(Part a, Part b, Part c, int k) {
    __shared__ float tile_a[SIDE][SIDE], tile_b[SIDE][SIDE];
    int row = threadIdx.y, column = threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k / SIDE; t++) {
        tile_a[row][column] = a.tile(SIDE, blockIdx.y, t).at(row, column);
        tile_b[row][column] = b.tile(SIDE, t, blockIdx.x).at(row, column);
        __syncthreads();  // the tiles are complete before a thread reads them
        for (int e = 0; e < SIDE; e++) sum += tile_a[row][e] * tile_b[e][column];
        __syncthreads();  // all threads are done with the tiles before they are overwritten
    }
    c.tile(SIDE, blockIdx.y, blockIdx.x).at(row, column) = sum;
}

template <void (*KERNEL)(Part, Part, Part, int), int SIDE>
int source_product(const Call& call) {
    size_t m = call.shape[0], n = call.shape[1], k = call.shape[2];
    PEERS_REQUIRE(m % SIDE == 0 && n % SIDE == 0 && k % SIDE == 0, "the source takes sides of whole tiles only");
    PEERS_REQUIRE(m * k <= INT_MAX && k * n <= INT_MAX && m * n <= INT_MAX, "the source's indices are ints");
    if (asks_for_size(call, 1)) return 0;
    if (m == 0 || n == 0) return 0;
    float* a = const_cast<float*>(call.in<float>());
    dim3 grid(u32(n) / SIDE, u32(m) / SIDE), block(SIDE, SIDE);
    KERNEL<<<grid, block, 0, call.stream>>>({a, int(k)}, {a + m * k, int(n)}, {call.out<float>(), int(n)}, int(k));
    PEERS_LAUNCHED("matmul");
    return 0;
}

// ---- S4: columns sorted bit by bit, and four merges ----------------------------------------------------------------

// Column c is the keys c, c + columns, ...: one thread per column, and neighbouring threads access neighbouring words.
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
        for (u32 row = 0; row < ones; row++) {
            c.keys[(zeros + row) * c.columns + column] = c.ones[row * c.columns + column];
        }
    }
}

// The four merges. Each is called by all threads after the columns are sorted; `output` gets one key per round. Three
// mistakes of S4 are corrected: the race between the read of a minimum and its reset, the loss of equal keys, and the
// sentinel that is also a key. Between equal keys the column decides, so that one column advances per round; an
// exhausted column takes no part.

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

// 2: all threads atomicMin one shared minimum, then the threads that hold it agree on one column. Two slots alternate:
// while one is in use, the other, which no thread uses any more, is made ready for the next round.
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

// 3: pairwise tree over the heads. Key and column in one 64-bit word; an exhausted column shows the largest word, which
// no key with a column below 2^32 - 1 equals.
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
            __syncthreads();  // all threads have read it before thread 0 shows its next head
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
__global__ void radix_columns(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    Columns c = {words, words + n, n, blockDim.x};
    u32 column = threadIdx.x;
    for (u32 i = column; i < n; i += c.columns) c.keys[i] = keys[i];
    sort_column(c, column);  // its own column only, which it has loaded itself: no barrier
    __syncthreads();         // all columns are sorted before heads of other columns are looked at
    Merge::merge(c, column, keys);
}

template <class Merge>
int source_columns(const Call& call) {
    u32 n = u32(call.n()), columns = u32(call.shape[1]);
    size_t shared_bytes = size_t(n) * 2 * sizeof(u32);
    PEERS_REQUIRE(columns >= 1 && columns <= MAX_COLUMNS, "columns is 1 to 1024");
    if (call.temp == nullptr)
        if (int code = allow_shared(radix_columns<Merge>, shared_bytes)) return code;
    if (asks_for_size(call, 1)) return 0;
    PEERS_LAUNCH(radix_columns<Merge>, n == 0 ? 0 : 1, columns, shared_bytes, call.out<u32>(), n);
    return 0;
}

// ---- the table -----------------------------------------------------------------------------------------------------

constexpr const char* S0 = "S0: passes a and b, 512 threads sort 1024 keys in shared memory";
constexpr const char* S1 = "S1: 32 blocks of 256, a sum per thread";
constexpr const char* S2 = "S2: bitonic blocks of 1024, one launch per step, merged inside and across seams";
constexpr const char* S3 = "S3: one launch per step, one thread per key, powers of two";

#define COLUMNS(rung, what, merge)                                                                                     \
    {{"source_radix_columns_" rung "_u32", "radix", what, "u32", 1}, 2, map_bytes<u32>, source_columns<merge>}

const Entry PEERS[] = {
    {{"source_bubble_shared_block_u32", "bubble", S0, "u32", 1}, 1, map_bytes<u32>, source_bubble<u32>},
    {{"source_bubble_shared_block_f32", "bubble", S0, "f32", 1}, 1, map_bytes<float>, source_bubble<float>},
    {{"source_cubes_many_blocks_u32", "cubes", S1, "u32", 0}, 1, cubes_bytes, source_cubes},
    {{"source_odd_even_bitonic_blocks_u32", "odd-even", S2, "u32", 1}, 1, map_bytes<u32>, source_odd_even<u32>},
    {{"source_odd_even_bitonic_blocks_i32", "odd-even", S2, "i32", 1}, 1, map_bytes<int>, source_odd_even<int>},
    {{"source_bitonic_global_step_u32", "bitonic", S3, "u32", 1}, 1, map_bytes<u32>, source_bitonic<u32>},
    {{"source_bitonic_global_step_f32", "bitonic", S3, "f32", 1}, 1, map_bytes<float>, source_bitonic<float>},
    {{"source_matmul_coalesced_f32", "matmul", "S3: one thread per element, whole tiles", "f32", 0},
     3, matmul_bytes<float, float>, source_product<product, PRODUCT_SIDE>},
    {{"source_matmul_shared_tile_f32", "matmul", "S3: tiles of 16 x 16, whole tiles", "f32", 0},
     3, matmul_bytes<float, float>, source_product<product_by_tiles<16>, 16>},
    {{"source_matmul_wide_tile_f32", "matmul", "S3: tiles of 32 x 32, whole tiles", "f32", 0},
     3, matmul_bytes<float, float>, source_product<product_by_tiles<32>, 32>},
    COLUMNS("one_thread", "S4: merge 1, one thread looks at every head", MergeOneThread),
    COLUMNS("atomic_min", "S4: merge 2, one shared minimum", MergeAtomicMin),
    COLUMNS("tree", "S4: merge 3, pairwise tree", MergeTree),
    COLUMNS("groups", "S4: merge 4, groups of 8", MergeGroups),
};

}  // namespace

Table source_peers() { return table(PEERS); }

}  // namespace peers
