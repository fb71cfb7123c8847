// Twins of the column-wise radix sorts: gpu/radix/src/columns.rs and r1 to r4 there.
#include "twin.cuh"

namespace peers {
namespace {

// ---- radix/columns.rs ----------------------------------------------------------------------------------------------

constexpr u32 MIN_COLUMNS = 8;
constexpr u32 MAX_COLUMNS = 1024;

// Keys that a thread reads before it writes one. The reads of such a group do not wait for each other.
constexpr u32 AHEAD = 8;

// Keys of whole rows.
__host__ __device__ constexpr u32 whole_rows(u32 n, u32 columns) { return div_ceil(n, columns) * columns; }

// A head, or none.
struct Head {
    bool there;
    u32 key;
};

// The keys in shared memory, one row of columns after the other, and as much room behind them.
struct Columns {
    u32* words;
    u32 keys, columns, second;

    __device__ Columns(u32* words, u32 keys)
        : words(words), keys(keys), columns(blockDim.x), second(whole_rows(keys, blockDim.x)) {}

    // Copies the thread's column from global memory.
    __device__ __forceinline__ void load(const u32* from) const {
        for (u32 i = threadIdx.x; i < keys; i += columns) words[i] = from[i];
    }

    // Sorts the thread's own column. No other thread's key is touched, so there is no barrier.
    __device__ __forceinline__ void sort() const {
        for (u32 bit = 0; bit < 32; bit++) {
            u32 zero = threadIdx.x, one = second + zero;
            split(bit, zero, one);
            append_ones(zero, one);
        }
    }

    // The key at `place` of a sorted column, if the column reaches that far.
    __device__ __forceinline__ Head key(u32 place) const {
        return place < keys ? Head{true, words[place]} : Head{false, 0};
    }

    __device__ __forceinline__ u32 below(u32 place) const { return place + columns; }

    // Moves the keys without `bit` to the front of the column and those with it to the second array. Leaves the place
    // behind the last zero and the one behind the last one.
    __device__ __forceinline__ void split(u32 bit, u32& zero, u32& one) const {
        each_group(threadIdx.x, keys, [&](u32 key) {
            bool is_one = (key >> bit & 1) != 0;
            // Zeros never overtake the reading, so the front of the column can be written in place.
            words[is_one ? one : zero] = key;
            if (is_one) one += columns;
            else zero += columns;
        });
    }

    // Appends the keys that `split` put into the second array.
    __device__ __forceinline__ void append_ones(u32 to, u32 one) const {
        each_group(second + threadIdx.x, one, [&](u32 key) {
            words[to] = key;
            to += columns;
        });
    }

    // Calls f for each key of the thread's column from place `from` on, to below `end`.
    template <class F>
    __device__ __forceinline__ void each_group(u32 from, u32 end, F f) const {
        for (u32 i = from; i < end; i += AHEAD * columns) {
            u32 group[AHEAD] = {};
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                u32 place = i + k * columns;
                if (place < end) group[k] = words[place];
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (i + k * columns < end) f(group[k]);
        }
    }
};

// The head of a thread's column, the key below it, loaded ahead, and a key that has a place and is not yet stored.
struct Heads {
    const Columns& columns;
    u32* placed;
    u32 place, to = 0, out = 0;
    Head head, below;
    bool pending = false;

    __device__ Heads(const Columns& columns, u32* placed)
        : columns(columns), placed(placed), place(columns.below(threadIdx.x)), head(columns.key(threadIdx.x)),
          below(columns.key(place)) {}

    // Gives the head a place if it is the minimum, and moves on.
    __device__ __forceinline__ void take(u32 least) {
        if (!head.there || head.key != least) return;
        to = atomicAdd_block(placed, 1);
        out = least;
        pending = true;
        head = below;
        place = columns.below(place);
        below = columns.key(place);
    }

    // Stores the key that the last `take` gave a place.
    __device__ __forceinline__ void put_out(u32* keys) {
        if (pending) keys[to] = out;
        pending = false;
    }

    // Puts out what is left of the column: copies of the largest key.
    __device__ __forceinline__ void put_out_rest(u32* keys) {
        while (head.there) {
            take(head.key);
            put_out(keys);
        }
    }
};

// ---- radix/r1_columns_one_thread.rs --------------------------------------------------------------------------------

constexpr u32 CHAINS = 4;
constexpr u32 PACKS = 2;
constexpr u32 HEADS_AT_ONCE = CHAINS * PACKS;
static_assert(MIN_COLUMNS % HEADS_AT_ONCE == 0, "whole groups never reach beyond the heads that the threads set");

// The smallest of the first `live` heads, and where it is.
__device__ __forceinline__ void smallest(const u32* heads, u32 live, u32& its_key, u32& its_place) {
    u32 least[CHAINS], at[CHAINS] = {};
#pragma unroll
    for (u32 c = 0; c < CHAINS; c++) least[c] = UINT32_MAX;
    for (u32 first = 0; first < live; first += HEADS_AT_ONCE) {
        u32 packs[PACKS][CHAINS];
#pragma unroll
        for (u32 p = 0; p < PACKS; p++) {
            uint4 pack = reinterpret_cast<const uint4*>(heads)[first / CHAINS + p];
            packs[p][0] = pack.x;
            packs[p][1] = pack.y;
            packs[p][2] = pack.z;
            packs[p][3] = pack.w;
        }
#pragma unroll
        for (u32 p = 0; p < PACKS; p++) {
#pragma unroll
            for (u32 c = 0; c < CHAINS; c++) {
                if (packs[p][c] < least[c]) {
                    least[c] = packs[p][c];
                    at[c] = first + p * CHAINS + c;
                }
            }
        }
    }
#pragma unroll
    for (u32 c = 0; c < CHAINS; c++) {
        if (least[c] < least[0]) {
            least[0] = least[c];
            at[0] = at[c];
        }
    }
    its_key = least[0];
    its_place = at[0];
}

// Writes the keys of all columns in order.
__device__ __forceinline__ void merge_by_one_thread(const Columns& columns, u32* heads, u32* places, u32* keys, u32 n) {
    u32 live = min(columns.columns, n);
    for (u32 to = 0; to < n; to++) {
        u32 least, at;
        smallest(heads, live, least, at);
        keys[to] = least;
        u32 place = columns.below(places[at]);
        Head head = columns.key(place);
        if (head.there) {
            heads[at] = head.key;
            places[at] = place;
        } else {
            // The last column takes the place of the exhausted one, and a largest key that of the last.
            live--;
            heads[at] = heads[live];
            places[at] = places[live];
            heads[live] = UINT32_MAX;
        }
    }
}

__global__ void __launch_bounds__(MAX_COLUMNS) radix_columns_one_thread(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    __shared__ __align__(16) u32 heads[MAX_COLUMNS];
    __shared__ u32 places[MAX_COLUMNS];
    u32 t = threadIdx.x;
    Columns columns(words, n);
    columns.load(keys);
    columns.sort();
    // The columns that are not empty are the first ones.
    Head head = columns.key(t);
    heads[t] = head.there ? head.key : UINT32_MAX;
    places[t] = t;
    __syncthreads();  // all columns are sorted before the first thread merges them
    if (t == 0) merge_by_one_thread(columns, heads, places, keys, n);
}

// ---- radix/r2_columns_atomic_min.rs --------------------------------------------------------------------------------

// Words that the minimum moves through.
constexpr u32 SLOTS = 3;

// The value of a cleared minimum: nothing is larger.
constexpr u32 CLEAR = UINT32_MAX;

__device__ __forceinline__ u32 slot_after(u32 slot) { return slot + 1 == SLOTS ? 0 : slot + 1; }

__global__ void __launch_bounds__(MAX_COLUMNS) radix_columns_atomic_min(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    __shared__ u32 minimum[SLOTS], placed;
    u32 t = threadIdx.x;
    Columns columns(words, n);
    columns.load(keys);
    columns.sort();
    if (t == 0) {
        minimum[0] = CLEAR;
        minimum[1] = CLEAR;
        placed = 0;
    }
    __syncthreads();  // all keys are in shared memory before one is overwritten in global; the words are set

    Heads heads(columns, &placed);
    for (u32 slot = 0;;) {
        if (heads.head.there) atomicMin_block(&minimum[slot], heads.head.key);
        heads.put_out(keys);
        __syncthreads();  // all heads are in the minimum before a thread reads it
        u32 least = minimum[slot];
        if (least == CLEAR) break;
        heads.take(least);
        slot = slot_after(slot);
        // The slot after the next: its readers passed the barrier above, its writers wait for the next one.
        if (t == 0) minimum[slot_after(slot)] = CLEAR;
    }
    heads.put_out_rest(keys);
}

// ---- radix/r3_columns_tree.rs --------------------------------------------------------------------------------------

// The head of an exhausted column: larger than the largest key of the last column.
constexpr u64 EXHAUSTED = UINT64_MAX;

// A head that compares like its key, and among equal keys like its column.
__device__ __forceinline__ u64 with_column(Head head, u32 column) {
    return head.there ? u64(head.key) << 32 | column : EXHAUSTED;
}

__global__ void __launch_bounds__(MAX_COLUMNS) radix_columns_tree(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    __shared__ u64 heads[MAX_COLUMNS];
    __shared__ u64 winner;
    u32 t = threadIdx.x;
    Columns columns(words, n);
    columns.load(keys);
    columns.sort();
    __syncthreads();  // all keys are in shared memory before one is overwritten in global

    u32 place = t;
    u64 head = with_column(columns.key(place), t);
    for (u32 to = 0; to < n; to++) {
        u64 best = head;
        heads[t] = best;
        __syncthreads();  // the heads are there before others compare them
        for (u32 half = columns.columns / 2; half > 1; half /= 2) {
            if (t < half) {
                best = min(best, heads[t + half]);
                heads[t] = best;
            }
            __syncthreads();  // the winners of this step are there before the next
        }
        if (t == 0) winner = min(best, heads[1]);
        __syncthreads();  // the winner is there before it is read
        if (head == winner) {
            keys[to] = u32(head >> 32);
            place = columns.below(place);
            head = with_column(columns.key(place), t);
        }
    }
}

// ---- radix/r4_columns_groups.rs ------------------------------------------------------------------------------------

// Columns of a group.
constexpr u32 GROUP = 8;

__global__ void __launch_bounds__(MAX_COLUMNS) radix_columns_groups(u32* keys, u32 n) {
    extern __shared__ u32 words[];
    __shared__ u32 groups[MAX_COLUMNS / GROUP], minimum[2], placed;
    u32 t = threadIdx.x, group = t / GROUP;
    bool first_of_group = t % GROUP == 0;
    Columns columns(words, n);
    columns.load(keys);
    columns.sort();
    if (first_of_group) groups[group] = CLEAR;
    if (t == 0) {
        minimum[0] = CLEAR;
        placed = 0;
    }
    __syncthreads();  // all keys are in shared memory before one is overwritten in global; the words are set

    Heads heads(columns, &placed);
    for (u32 turn = 0;;) {
        if (heads.head.there) atomicMin_block(&groups[group], heads.head.key);
        heads.put_out(keys);
        __syncthreads();  // the groups' minima are complete before they are read
        if (first_of_group) {
            atomicMin_block(&minimum[turn], groups[group]);
            // Until the next barrier no other thread accesses the group's word.
            groups[group] = CLEAR;
        }
        __syncthreads();  // the minimum is complete before it is read; the groups' words are clear again
        u32 least = minimum[turn];
        if (least == CLEAR) break;
        heads.take(least);
        turn = 1 - turn;
        // Its readers passed the barriers above, its writers wait for the next one.
        if (t == 0) minimum[turn] = CLEAR;
    }
    heads.put_out_rest(keys);
}

// ---- the table -----------------------------------------------------------------------------------------------------

using Kernel = void (*)(u32*, u32);

template <Kernel KERNEL>
int twin_columns(const Call& call) {
    u32 n = u32(call.n()), columns = u32(call.shape[1]);
    bool power = (columns & (columns - 1)) == 0;
    PEERS_REQUIRE(power && columns >= MIN_COLUMNS && columns <= MAX_COLUMNS, "columns is a power of 2 from 8 to 1024");
    size_t shared_bytes = size_t(2) * sizeof(u32) * whole_rows(n, columns);
    if (call.temp == nullptr)
        if (int code = allow_shared(KERNEL, shared_bytes)) return code;
    if (asks_for_size(call, 1)) return 0;
    PEERS_LAUNCH(KERNEL, n == 0 ? 0 : 1, columns, shared_bytes, call.out<u32>(), n);
    return 0;
}

#define TWIN(rung, what) {{"twin_" #rung "_u32", "radix", what, "u32", 1}, 2, map_bytes<u32>, twin_columns<rung>}

const Entry PEERS[] = {
    TWIN(radix_columns_one_thread, "columns, merged by one thread"),
    TWIN(radix_columns_atomic_min, "columns, merged by one atomic minimum"),
    TWIN(radix_columns_tree, "columns, merged by a tree"),
    TWIN(radix_columns_groups, "columns, merged by minima of groups of 8"),
};

}  // namespace

Table twin_radix_peers() { return table(PEERS); }

}  // namespace peers
