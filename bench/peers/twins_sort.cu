// Twins of the sorts by comparison: gpu/bubble/src, gpu/bitonic/src, gpu/odd_even/src, and gpu/common/src/keys.rs.
#include "twin.cuh"

namespace peers {
namespace {

// ---- keys as unsigned words: keys.rs -------------------------------------------------------------------------------

enum Order : u32 { UNSIGNED, SIGNED, FLOAT };

constexpr u32 MAP_THREADS = 256;

// A place without a key counts as holding the largest.
constexpr u32 LAST = UINT32_MAX;

__device__ __forceinline__ u32 key_or_last(const u32* keys, u32 n, u32 i) { return i < n ? keys[i] : LAST; }

__device__ __forceinline__ void set_if_inside(u32* keys, u32 n, u32 i, u32 key) {
    if (i < n) keys[i] = key;
}

// The bits that an order flips: of every key, and of negative keys only.
struct Flips {
    u32 every, negative;
    __device__ explicit Flips(u32 order)
        : every(order == UNSIGNED ? 0 : 1u << 31), negative(order == FLOAT ? ~0u >> 1 : 0) {}
};

__global__ void __launch_bounds__(MAP_THREADS) keys_encode(u32* keys, u32 n, u32 order) {
    u32 i = index_1d();
    if (i >= n) return;
    Flips flips(order);
    u32 key = keys[i];
    keys[i] = key ^ (u32(int(key) >> 31) & flips.negative) ^ flips.every;
}

__global__ void __launch_bounds__(MAP_THREADS) keys_decode(u32* keys, u32 n, u32 order) {
    u32 i = index_1d();
    if (i >= n) return;
    Flips flips(order);
    u32 word = keys[i];
    keys[i] = word ^ (u32(int(~word) >> 31) & flips.negative) ^ flips.every;
}

// A sort of words in place, given the call.
using Sort = int (*)(const Call& call, u32* keys, u32 n);

// Sorts keys of any type of 32 bits: maps those that are not unsigned, sorts, and maps back, as the host does.
template <Sort SORT, Order ORDER>
int twin_sort(const Call& call) {
    u32 n = u32(call.n());
    u32* keys = call.out<u32>();
    if (call.temp == nullptr) {
        *call.temp_bytes = 1;
        return SORT(call, nullptr, n);  // only the scratch size
    }
    if (ORDER != UNSIGNED) PEERS_LAUNCH(keys_encode, div_ceil(n, MAP_THREADS), MAP_THREADS, 0, keys, n, ORDER);
    if (int code = SORT(call, keys, n)) return code;
    if (ORDER != UNSIGNED) PEERS_LAUNCH(keys_decode, div_ceil(n, MAP_THREADS), MAP_THREADS, 0, keys, n, ORDER);
    return 0;
}

// ---- bubble/r1_one_block.rs ----------------------------------------------------------------------------------------

constexpr u32 ONE_BLOCK_MAX_THREADS = 1024;

// Calls f for the thread's share of first, first + step, ... below end.
template <class F>
__device__ __forceinline__ void each(u32 first, u32 step, u32 end, F f) {
    for (u32 i = first + step * threadIdx.x; i < end; i += step * blockDim.x) f(i);
}

__device__ __forceinline__ void compare_pairs(u32* sorted, u32 n, u32 first) {
    each(first, 2, saturating_sub(n, 1), [=](u32 i) {
        u32 a = sorted[i], b = sorted[i + 1];
        if (a > b) {
            sorted[i] = b;
            sorted[i + 1] = a;
        }
    });
}

__global__ void __launch_bounds__(ONE_BLOCK_MAX_THREADS) bubble_one_block(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    u32* sorted = words;
    each(0, 1, n, [=](u32 i) { sorted[i] = keys[i]; });
    __syncthreads();  // all keys are loaded before a thread compares another's
    for (u32 round = 0; round < div_ceil(n, 2); round++) {
        compare_pairs(sorted, n, 0);
        __syncthreads();  // the pairs change: a key just written is now compared by a neighbour
        compare_pairs(sorted, n, 1);
        __syncthreads();  // and back
    }
    each(0, 1, n, [=](u32 i) { keys[i] = sorted[i]; });
}

int bubble_in_one_block(const Call& call, u32* keys, u32 n) {
    size_t shared_bytes = size_t(n) * sizeof(u32);
    if (keys == nullptr) return allow_shared(bubble_one_block, shared_bytes);
    u32 threads = std::min(std::max(div_ceil(div_ceil(n, 2), WARP) * WARP, WARP), ONE_BLOCK_MAX_THREADS);
    PEERS_LAUNCH(bubble_one_block, n == 0 ? 0 : 1, threads, shared_bytes, keys, n);
    return 0;
}

// ---- bubble/r2_shared_block.rs -------------------------------------------------------------------------------------

constexpr u32 PAIRS = 512;

// Rounds that sort a window: one per pair; a window at the end has fewer.
__device__ __forceinline__ u32 rounds_of(u32 n, u32 window, u32 pairs) {
    return min(div_ceil(saturating_sub(n, window), 2), pairs);
}

// Sorts each window of two keys per thread, the first of which starts at `offset`. Thread t has key 2t in shared memory
// and key 2t + 1 in a register.
__global__ void __launch_bounds__(PAIRS, 4) bubble_shared_block(u32* keys, u32 n, u32 offset) {
    // The even keys and one more place. As in the rung, there is room for keys of 8 bytes.
    __shared__ u64 room[PAIRS + 1];
    u32* even = reinterpret_cast<u32*>(room);
    u32 t = threadIdx.x, pairs = blockDim.x;
    u32 window = offset + blockIdx.x * 2 * pairs;
    u32 mine = saturating_add(window, 2 * t);
    even[t] = key_or_last(keys, n, mine);
    u32 odd = key_or_last(keys, n, saturating_add(mine, 1));
    if (t == 0) even[pairs] = LAST;
    for (u32 round = 0; round < rounds_of(n, window, pairs); round++) {
        u32 key = even[t];
        even[t] = min(key, odd);
        odd = max(key, odd);
        __syncthreads();  // place t + 1 is the neighbour's until here
        key = even[t + 1];
        even[t + 1] = max(key, odd);
        odd = min(key, odd);
        __syncthreads();  // place t is the other neighbour's until here
    }
    set_if_inside(keys, n, mine, even[t]);
    set_if_inside(keys, n, saturating_add(mine, 1), odd);
}

// Blocks of a pass over n keys in windows from `offset` on.
u32 windows_of(u32 n, u32 window, u32 offset) {
    u32 windows = div_ceil(n, window);
    return offset == 0 || windows == 0 ? windows : windows - 1;
}

int bubble_in_shared_blocks(const Call& call, u32* keys, u32 n) {
    constexpr u32 WINDOW_KEYS = 2 * PAIRS, HALF = WINDOW_KEYS / 2;
    if (keys == nullptr) return 0;
    for (u32 pass = 0; pass < div_ceil(n, HALF); pass++) {
        u32 offset = pass % 2 * HALF;
        PEERS_LAUNCH(bubble_shared_block, windows_of(n, WINDOW_KEYS, offset), PAIRS, 0, keys, n, offset);
    }
    return 0;
}

// ---- bubble/r3_warp_registers.rs -----------------------------------------------------------------------------------

constexpr u32 BUBBLE_WARPS = 4;
constexpr u32 LANE_KEYS = 32;
constexpr u32 WARP_KEYS = WARP * LANE_KEYS;

__device__ __forceinline__ void exchange(u32& low, u32& high) {
    u32 a = low, b = high;
    low = min(a, b);
    high = max(a, b);
}

__device__ __forceinline__ void even_phase(u32 (&own)[LANE_KEYS]) {
#pragma unroll
    for (u32 i = 0; i < LANE_KEYS / 2; i++) exchange(own[2 * i], own[2 * i + 1]);
}

__device__ __forceinline__ void odd_phase(u32 (&own)[LANE_KEYS], u32 lane) {
    // Shuffled first: the values arrive while the pairs inside are compared.
    u32 above = __shfl_down_sync(FULL, own[0], 1), below = __shfl_up_sync(FULL, own[LANE_KEYS - 1], 1);
#pragma unroll
    for (u32 i = 0; i < LANE_KEYS / 2 - 1; i++) exchange(own[2 * i + 1], own[2 * i + 2]);
    if (lane < WARP - 1) own[LANE_KEYS - 1] = min(own[LANE_KEYS - 1], above);
    if (lane > 0) own[0] = max(own[0], below);
}

// Sorts each window of WARP_KEYS keys, the first of which starts at `offset`.
__global__ void __launch_bounds__(BUBBLE_WARPS * WARP, 1) bubble_warp_registers(u32* keys, u32 n, u32 offset) {
    u32 lane = lane_id(), windows_before = blockIdx.x * BUBBLE_WARPS + threadIdx.x / WARP;
    u32 window = saturating_add(saturating_mul(windows_before, WARP_KEYS), offset);
    u32 own[LANE_KEYS];
#pragma unroll
    for (u32 i = 0; i < LANE_KEYS; i++) own[i] = key_or_last(keys, n, saturating_add(window, i * WARP + lane));
    u32 rounds = window < n ? WARP_KEYS / 2 : 0;
    for (u32 round = 0; round < rounds; round++) {
        even_phase(own);
        odd_phase(own, lane);
    }
    u32 first = saturating_add(window, lane * LANE_KEYS);
#pragma unroll
    for (u32 i = 0; i < LANE_KEYS; i++) set_if_inside(keys, n, saturating_add(first, i), own[i]);
}

int bubble_in_registers(const Call& call, u32* keys, u32 n) {
    constexpr u32 HALF = WARP_KEYS / 2;
    if (keys == nullptr) return 0;
    for (u32 pass = 0; pass < div_ceil(n, HALF); pass++) {
        u32 offset = pass % 2 * HALF;
        u32 blocks = div_ceil(windows_of(n, WARP_KEYS, offset), BUBBLE_WARPS);
        PEERS_LAUNCH(bubble_warp_registers, blocks, BUBBLE_WARPS * WARP, 0, keys, n, offset);
    }
    return 0;
}

// ---- bitonic/r1_global_step.rs -------------------------------------------------------------------------------------

constexpr u32 STEP_THREADS = 256;

// One step, one thread per pair. `flip`: the first step of a stage, the partner is the mirror image in a run of 2j
// keys.
__global__ void __launch_bounds__(STEP_THREADS) bitonic_global_step(u32* keys, u32 n, u32 j, u32 flip) {
    u32 t = index_1d();
    u32 i = ((t & ~(j - 1)) << 1) | (t & (j - 1));
    u32 partner = flip != 0 ? i ^ (j * 2 - 1) : i ^ j;
    if (partner < n) {
        u32 a = keys[i], b = keys[partner];
        if (a > b) {
            keys[i] = b;
            keys[partner] = a;
        }
    }
}

// Blocks of a step: one thread per pair of the next power of two.
u32 step_grid(u32 n) { return n < 2 ? 0 : div_ceil(u32(1) << (bits_for(n) - 1), STEP_THREADS); }

int bitonic_in_global_steps(const Call& call, u32* keys, u32 n) {
    if (keys == nullptr) return 0;
    for (u32 stage = 0; stage < bits_for(n); stage++)
        for (u32 bit = stage + 1; bit-- > 0;)
            PEERS_LAUNCH(bitonic_global_step, step_grid(n), STEP_THREADS, 0, keys, n, u32(1) << bit, bit == stage);
    return 0;
}

// ---- bitonic/r2_shared_step.rs -------------------------------------------------------------------------------------

constexpr u32 SHARED_STEP_THREADS = 512;
constexpr u32 SHARED_TILE_BITS = 12;
constexpr u32 SHARED_TILE = 1 << SHARED_TILE_BITS;

// One step of the whole tile: keys whose places differ in `bit`, or, mirrored, in it and all bits below.
__device__ __forceinline__ void shared_step(u32* tile, u32 t, u32 bit, bool mirrored) {
    u32 j = u32(1) << bit, mask = mirrored ? 2 * j - 1 : j;
    for (u32 pair = t; pair < SHARED_TILE / 2; pair += SHARED_STEP_THREADS) {
        u32 low = ((pair & ~(j - 1)) << 1) | (pair & (j - 1));
        u32 a = tile[low], b = tile[low ^ mask];
        if (a > b) {
            tile[low] = b;
            tile[low ^ mask] = a;
        }
    }
}

// The steps inside tiles of the stages `first` to `last`.
__global__ void __launch_bounds__(SHARED_STEP_THREADS) bitonic_shared_step(u32* keys, u32 n, u32 first, u32 last) {
    extern __shared__ u32 words[];
    u32* tile = words;
    u32 t = threadIdx.x, begin = blockIdx.x * SHARED_TILE;
    for (u32 i = t; i < SHARED_TILE; i += SHARED_STEP_THREADS) tile[i] = key_or_last(keys, n, begin + i);
    __syncthreads();  // the tile is complete before a thread compares keys that others loaded
    for (u32 stage = first; stage <= last; stage++) {
        u32 bit = stage < SHARED_TILE_BITS ? stage : SHARED_TILE_BITS - 1;
        shared_step(tile, t, bit, bit == stage);
        __syncthreads();  // the next step compares keys that other threads have just placed
        while (bit > 0) {
            bit--;
            shared_step(tile, t, bit, false);
            __syncthreads();  // as above; after the last step, before the tile is stored
        }
    }
    for (u32 i = t; i < SHARED_TILE; i += SHARED_STEP_THREADS) set_if_inside(keys, n, begin + i, tile[i]);
}

int bitonic_in_shared_steps(const Call& call, u32* keys, u32 n) {
    constexpr size_t BYTES = SHARED_TILE * sizeof(u32);
    u32 stages = bits_for(n), tiles = div_ceil(n, SHARED_TILE);
    if (keys == nullptr || stages == 0) return 0;
    u32 last = std::min(stages, SHARED_TILE_BITS) - 1;
    PEERS_LAUNCH(bitonic_shared_step, tiles, SHARED_STEP_THREADS, BYTES, keys, n, 0, last);
    for (u32 stage = SHARED_TILE_BITS; stage < stages; stage++) {
        for (u32 bit = stage; bit >= SHARED_TILE_BITS; bit--)
            PEERS_LAUNCH(bitonic_global_step, step_grid(n), STEP_THREADS, 0, keys, n, u32(1) << bit, bit == stage);
        PEERS_LAUNCH(bitonic_shared_step, tiles, SHARED_STEP_THREADS, BYTES, keys, n, stage, stage);
    }
    return 0;
}

// ---- bitonic/tile.rs: a tile of 8192 keys that a block sorts or merges in registers --------------------------------

constexpr u32 TILE_THREADS = 512;
constexpr u32 TILE_BLOCKS = 2;  // per multiprocessor, at least
constexpr u32 WINDOW = 4;       // bits
constexpr u32 KEYS = 1 << WINDOW;
constexpr u32 TILE = TILE_THREADS * KEYS;
constexpr u32 TILE_BITS = log2_of(TILE);
constexpr u32 TOP = TILE_BITS - WINDOW;

// Where place i is in shared memory: a gap after every 32.
__device__ constexpr u32 padded(u32 i) { return i + (i >> 5); }

constexpr u32 TILE_BYTES = (TILE + TILE / 32) * sizeof(u32);

// Place of the thread's register 0 in the window from bit `low` on.
__device__ __forceinline__ u32 place(u32 t, u32 low) {
    u32 below = (u32(1) << low) - 1;
    return ((t & ~below) << WINDOW) | (t & below);
}

// The same for the registers of the upper half, of which a mirrored window has the lower bits turned over.
__device__ __forceinline__ u32 upper_place(u32 t, u32 low, bool mirrored) {
    return place(t, low) ^ (mirrored ? (u32(1) << low) - 1 : 0);
}

// The keys of a thread.
struct Registers {
    u32 keys[KEYS];

    // The keys of the tile's window from bit `low` on, those of the upper half from `upper_base`.
    __device__ __forceinline__ void load(const u32* tile, u32 low, u32 base, u32 upper_base) {
#pragma unroll
        for (u32 r = 0; r < KEYS; r++) keys[r] = tile[(r < KEYS / 2 ? base : upper_base) + padded(r << low)];
    }

    __device__ __forceinline__ void load(const u32* tile, u32 low) {
        u32 base = padded(place(threadIdx.x, low));
        load(tile, low, base, base);
    }

    // Writes the keys to where the window from bit `low` on has them.
    __device__ __forceinline__ void store(u32* tile, u32 low, bool mirrored) const {
        u32 base = padded(place(threadIdx.x, low)), upper_base = padded(upper_place(threadIdx.x, low, mirrored));
#pragma unroll
        for (u32 r = 0; r < KEYS; r++) tile[(r < KEYS / 2 ? base : upper_base) + padded(r << low)] = keys[r];
    }

    // One step: of each pair of registers that differ in the bits of `FLIP`, the highest of which is `BIT`, the lower
    // gets the smaller key.
    template <u32 BIT, u32 FLIP>
    __device__ __forceinline__ void compare() {
#pragma unroll
        for (u32 r = 0; r < KEYS; r++)
            if ((r & BIT) == 0) exchange(keys[r], keys[r ^ FLIP]);
    }

    // The steps of the bits in `mask`, from the highest on; `mirrored`: the first one compares mirror images.
    __device__ __forceinline__ void steps(u32 mask, bool mirrored) {
        if ((mask & 8) != 0) {
            if (mirrored) compare<8, 15>();
            else compare<8, 8>();
        }
        if ((mask & 4) != 0) compare<4, 4>();
        if ((mask & 2) != 0) compare<2, 2>();
        if ((mask & 1) != 0) compare<1, 1>();
    }
};

// The steps of all bits below `low`, on keys in shared memory that all threads see; afterwards all see them again.
__device__ __forceinline__ void merge_below(u32* tile, u32 low) {
    while (low > 0) {
        u32 mask = low < WINDOW ? (u32(1) << low) - 1 : KEYS - 1;
        low = saturating_sub(low, WINDOW);
        Registers own;
        own.load(tile, low);
        own.steps(mask, false);
        own.store(tile, low, false);
        __syncthreads();  // the next window's threads read what these have written
    }
}

// The keys of a tile that are there: at most TILE from `first` on.
struct TileKeys {
    u32* keys;
    u32 n;

    __device__ TileKeys(u32* all, u32 count, u32 first)
        : keys(all + first), n(min(saturating_sub(count, first), TILE)) {}
};

// Writes the tile back; neighbouring threads write neighbouring keys.
__device__ __forceinline__ void store_tile(TileKeys own_tile, const u32* tile) {
    Registers own;
    own.load(tile, TOP);
#pragma unroll
    for (u32 r = 0; r < KEYS; r++)
        set_if_inside(own_tile.keys, own_tile.n, threadIdx.x + (r << TOP), own.keys[r]);
}

__device__ __forceinline__ void sort_tile(TileKeys own_tile, u32* tile) {
    u32 t = threadIdx.x;
    Registers own;
#pragma unroll
    for (u32 r = 0; r < KEYS; r++) own.keys[r] = key_or_last(own_tile.keys, own_tile.n, t + (r << TOP));
    own.store(tile, TOP, false);
    __syncthreads();  // the tile is whole before it is read in another order

    // The first four stages are inside 16 neighbouring places.
    own.load(tile, 0);
    own.compare<1, 1>();
    own.compare<2, 3>();
    own.compare<1, 1>();
    own.compare<4, 7>();
    own.compare<2, 2>();
    own.compare<1, 1>();
    own.steps(15, true);
    own.store(tile, 0, false);
    __syncthreads();  // the next window's threads read what these have written

    for (u32 stage = WINDOW; stage < TILE_BITS; stage++) {
        u32 low = stage + 1 - WINDOW;
        own.load(tile, low, padded(place(t, low)), padded(upper_place(t, low, true)));
        own.steps(15, true);
        own.store(tile, low, true);
        __syncthreads();  // as above
        merge_below(tile, low);
    }
    store_tile(own_tile, tile);
}

// Merges one tile, in place: its two sorted halves if `mirrored`, else what the longer steps of the network left.
__device__ __forceinline__ void merge_tile(TileKeys own_tile, u32* tile, bool mirrored) {
    u32 base = threadIdx.x, upper_base = upper_place(threadIdx.x, TOP, mirrored);
    Registers own;
#pragma unroll
    for (u32 r = 0; r < KEYS; r++) {
        u32 i = (r < KEYS / 2 ? base : upper_base) + (r << TOP);
        own.keys[r] = key_or_last(own_tile.keys, own_tile.n, i);
    }
    own.steps(15, mirrored);
    own.store(tile, TOP, mirrored);
    __syncthreads();  // the tile is whole before it is read in another order
    merge_below(tile, TOP);
    store_tile(own_tile, tile);
}

// ---- bitonic/r3_register_step.rs -----------------------------------------------------------------------------------

constexpr u32 MAX_STRIDES = 2 * WINDOW;

__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) bitonic_register_step_sort(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    sort_tile(TileKeys(keys, n, blockIdx.x * TILE), words);
}

__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) bitonic_register_step_merge(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    merge_tile(TileKeys(keys, n, blockIdx.x * TILE), words, false);
}

// Where the places of a block's tile are among the keys. The low bits of a place number the columns, the others the
// rows; rows are 2^low keys apart.
struct Rows {
    u32 columns, low, lower, upper;

    __device__ Rows(u32 block, u32 low, u32 strides, bool mirrored) : columns(TILE_BITS - strides), low(low) {
        u32 between = (u32(1) << (low - columns)) - 1;
        // In two shifts: by 32 at once is not defined.
        u32 above = (block >> (low - columns)) << (low + strides - 1) << 1;
        u32 middle = block & between;
        u32 opposite = mirrored ? middle ^ between : middle;
        lower = above | (middle << columns);
        upper = above | (opposite << columns);
    }

    __device__ u32 spread(u32 i) const { return ((i >> columns) << low) | (i & ((u32(1) << columns) - 1)); }
    __device__ u32 at(u32 i) const { return lower + spread(i); }
    __device__ u32 upper_at(u32 i) const { return upper + spread(i); }
};

// The mask of a window's highest `strides` bits.
__device__ __forceinline__ u32 highest(u32 strides) { return KEYS - (KEYS >> strides); }

// The steps of `strides` bits from `low` on, 4 to MAX_STRIDES of them; `mirrored`: they begin a stage.
__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS)
    bitonic_register_step_strides(u32* keys, u32 n, u32 low, u32 strides, u32 mirrored_or_0) {
    extern __shared__ u32 words[];
    u32* tile = words;
    u32 t = threadIdx.x;
    bool mirrored = mirrored_or_0 != 0;
    Rows rows(blockIdx.x, low, strides, mirrored);
    if (rows.lower >= n) return;  // the whole block, so no thread waits for it
    u32 base = rows.at(place(t, TOP)), upper_base = rows.upper_at(upper_place(t, TOP, mirrored));
    u32 distance = TOP - rows.columns + low;
    Registers own;
#pragma unroll
    for (u32 r = 0; r < KEYS; r++)
        own.keys[r] = key_or_last(keys, n, (r < KEYS / 2 ? base : upper_base) + (r << distance));
    own.steps(highest(WINDOW), mirrored);
    if (strides == WINDOW) {
#pragma unroll
        for (u32 r = 0; r < KEYS; r++)
            set_if_inside(keys, n, (r < KEYS / 2 ? base : upper_base) + (r << distance), own.keys[r]);
        return;
    }
    // A mirrored key is put at the place of its row and column, so that only the rows' numbers tell the halves apart.
    constexpr u32 NEXT = TOP - WINDOW;
    own.store(tile, TOP, mirrored);
    __syncthreads();  // all rows are there before they are read in another order
    own.load(tile, NEXT);
    own.steps(highest(strides - WINDOW), false);
    u32 first = place(t, NEXT);
    u32 to = first < TILE / 2 ? rows.at(first) : rows.upper_at(first);
#pragma unroll
    for (u32 r = 0; r < KEYS; r++) set_if_inside(keys, n, to + rows.spread(r << NEXT), own.keys[r]);
}

int bitonic_in_registers(const Call& call, u32* keys, u32 n) {
    u32 stages = bits_for(n), tiles = div_ceil(n, TILE);
    if (keys == nullptr || n < 2) return 0;
    PEERS_LAUNCH(bitonic_register_step_sort, tiles, TILE_THREADS, TILE_BYTES, keys, n);
    for (u32 stage = TILE_BITS; stage < stages; stage++) {
        // The bits from TILE_BITS to the stage's, from above, in parts as equal as can be.
        u32 bits = stage + 1 - TILE_BITS, passes = div_ceil(bits, MAX_STRIDES);
        auto cut = [=](u32 pass) { return TILE_BITS + bits * (passes - pass) / passes; };
        for (u32 pass = 0; pass < passes; pass++) {
            u32 strides = std::max(cut(pass) - cut(pass + 1), WINDOW), low = cut(pass) - strides;
            // A block's keys lie in one run of 2^(low + strides) keys, and such a run has whole blocks.
            u64 run = u64(1) << (low + strides);
            u32 blocks = u32((n + run - 1) / run << (low + strides - TILE_BITS));
            PEERS_LAUNCH(bitonic_register_step_strides, blocks, TILE_THREADS, TILE_BYTES, keys, n, low, strides,
                         pass == 0);
        }
        PEERS_LAUNCH(bitonic_register_step_merge, tiles, TILE_THREADS, TILE_BYTES, keys, n);
    }
    return 0;
}

// ---- odd_even/r1_bitonic_blocks.rs ---------------------------------------------------------------------------------

constexpr u32 HALF_TILE = TILE / 2;

__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) odd_even_bitonic_blocks_sort(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    sort_tile(TileKeys(keys, n, blockIdx.x * TILE), words);
}

// Merges the two sorted halves of every block, the first of which begins at `offset`.
__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS)
    odd_even_bitonic_blocks_merge(u32* keys, u32 n, u32 offset) {
    extern __shared__ u32 words[];
    TileKeys own_tile(keys, n, blockIdx.x * TILE + offset);
    // The halves are in order already if there is no upper half, or if its first key is not less than the last key of
    // the lower half.
    if (own_tile.n > HALF_TILE && own_tile.keys[HALF_TILE - 1] > own_tile.keys[HALF_TILE])
        merge_tile(own_tile, words, true);
}

int odd_even_in_blocks(const Call& call, u32* keys, u32 n) {
    if (keys == nullptr) return 0;
    PEERS_LAUNCH(odd_even_bitonic_blocks_sort, div_ceil(n, TILE), TILE_THREADS, TILE_BYTES, keys, n);
    for (u32 pass = 1; pass < div_ceil(n, HALF_TILE); pass++) {
        u32 offset = pass % 2 == 1 ? HALF_TILE : 0, blocks = div_ceil(n - offset, TILE);
        PEERS_LAUNCH(odd_even_bitonic_blocks_merge, blocks, TILE_THREADS, TILE_BYTES, keys, n, offset);
    }
    return 0;
}

// ---- the table -----------------------------------------------------------------------------------------------------

// Each rung for unsigned, signed and floating-point keys of 32 bits.
#define TWIN(family, rung, what, sort)                                                                                 \
    {{"twin_" rung "_u32", family, what, "u32", 1}, 1, map_bytes<u32>, twin_sort<sort, UNSIGNED>},                     \
    {{"twin_" rung "_i32", family, what, "i32", 1}, 1, map_bytes<u32>, twin_sort<sort, SIGNED>},                       \
    {{"twin_" rung "_f32", family, what, "f32", 1}, 1, map_bytes<u32>, twin_sort<sort, FLOAT>}

const Entry PEERS[] = {
    TWIN("bubble", "bubble_one_block", "all keys in the shared memory of one block", bubble_in_one_block),
    TWIN("bubble", "bubble_shared_block", "windows of 1024 keys, the odd ones in registers", bubble_in_shared_blocks),
    TWIN("bubble", "bubble_warp_registers", "windows of 1024 keys in the registers of a warp", bubble_in_registers),
    TWIN("bitonic", "bitonic_global_step", "one launch per step, one thread per pair", bitonic_in_global_steps),
    TWIN("bitonic", "bitonic_shared_step", "the short steps in tiles of 4096 keys", bitonic_in_shared_steps),
    TWIN("bitonic", "bitonic_register_step", "16 keys per thread in registers", bitonic_in_registers),
    TWIN("odd-even", "odd_even_bitonic_blocks", "blocks of 8192 keys in registers", odd_even_in_blocks),
};

}  // namespace

Table twin_sort_peers() { return table(PEERS); }

}  // namespace peers
