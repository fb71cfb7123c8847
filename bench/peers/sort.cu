// Sorting peers: CUB's radix and merge sort, Thrust's sort. Keys only and key-value pairs.
#include "peer.cuh"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/functional>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <new>

namespace peers {
namespace {

// The form with separate input and output, which does not change the input. Its scratch memory includes the second copy
// of the keys that the DoubleBuffer form takes from the caller; the kernels are the same.
template <class Key>
int radix_sort_keys(const Call& call) {
    return PEERS_CUB("cub::DeviceRadixSort::SortKeys",
                     cub::DeviceRadixSort::SortKeys(temp, bytes, call.in<Key>(), call.out<Key>(), call.n(), 0,
                                                    int(sizeof(Key) * 8), call.stream));
}

// Keys first, then values, in one buffer: one pointer per side is enough for the ABI.
template <class Key>
int radix_sort_pairs(const Call& call) {
    const Key* keys = call.in<Key>();
    Key* sorted = call.out<Key>();
    size_t n = call.shape[0];
    const uint32_t* values = call.in<uint32_t>() + n;
    return PEERS_CUB("cub::DeviceRadixSort::SortPairs",
                     cub::DeviceRadixSort::SortPairs(temp, bytes, keys, sorted, values, call.out<uint32_t>() + n,
                                                     call.n(), 0, 32, call.stream));
}

Bytes pairs_bytes(const size_t* shape) { return {shape[0] * 8, shape[0] * 8}; }

template <class Key>
int merge_sort(const Call& call) {
    return PEERS_CUB("cub::DeviceMergeSort::SortKeysCopy",
                     cub::DeviceMergeSort::SortKeysCopy(temp, bytes, call.in<Key>(), call.out<Key>(), call.n(),
                                                        cuda::std::less<>{}, call.stream));
}

// In place, by an order: SortKeys, or StableSortKeys where equivalent keys keep their order.
template <class Key, class Order, bool Stable>
int merge_sort_by(const Call& call) {
    if (Stable) {
        return PEERS_CUB("cub::DeviceMergeSort::StableSortKeys",
                         cub::DeviceMergeSort::StableSortKeys(temp, bytes, call.out<Key>(), call.n(), Order{},
                                                              call.stream));
    }
    return PEERS_CUB("cub::DeviceMergeSort::SortKeys",
                     cub::DeviceMergeSort::SortKeys(temp, bytes, call.out<Key>(), call.n(), Order{}, call.stream));
}

// By the low 16 bits, the largest first: a weak order.
struct LowHalfDown {
    __host__ __device__ bool operator()(uint32_t a, uint32_t b) const { return (a & 0xffff) > (b & 0xffff); }
};

// Hands Thrust pieces of the caller's scratch. By default thrust::sort calls cudaMalloc, cudaFree and waits for the
// stream each time; with this and par_nosync only its sort is timed, which is the comparison most in its favour.
class Arena {
public:
    using value_type = char;

    Arena(void* begin, size_t bytes) : next_(static_cast<char*>(begin)), left_(bytes) {}

    char* allocate(std::ptrdiff_t bytes) {
        size_t size = rounded(static_cast<size_t>(bytes));
        if (size > left_) throw std::bad_alloc();
        char* piece = next_;
        next_ += size;
        left_ -= size;
        return piece;
    }

    void deallocate(char*, size_t) {}  // the arena ends with the call

    static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

private:
    char* next_;
    size_t left_;
};

template <class Key>
int thrust_sort(const Call& call) {
    if (call.temp == nullptr) {
        // thrust::sort of arithmetic keys is a radix sort between the keys and one more buffer of their size, counting
        // by ptrdiff_t. This asks the same of CUB, and adds room for Thrust's own alignment.
        cub::DoubleBuffer<Key> keys;
        size_t bytes = 0;
        PEERS_CUDA(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, std::ptrdiff_t(call.n()), 0,
                                                  int(sizeof(Key) * 8), call.stream));
        asks_for_size(call, Arena::rounded(bytes) + Arena::rounded(call.shape[0] * sizeof(Key)) + 4096);
        return 0;
    }
    if (call.n() == 0) return 0;
    Arena arena(call.temp, *call.temp_bytes);
    Key* keys = call.out<Key>();
    thrust::sort(thrust::cuda::par_nosync(arena).on(call.stream), keys, keys + call.n());
    return 0;
}

constexpr const char* MERGE = "cub::DeviceMergeSort::SortKeys";
constexpr const char* RADIX = "cub::DeviceRadixSort::SortKeys";
constexpr const char* PAIRS = "cub::DeviceRadixSort::SortPairs, u32 values";

const Entry PEERS[] = {
    {{"cub_radix_sort_keys_u32", "sort", RADIX, "u32", 0}, 1, map_bytes<uint32_t>, radix_sort_keys<uint32_t>},
    {{"cub_radix_sort_keys_i32", "sort", RADIX, "i32", 0}, 1, map_bytes<int32_t>, radix_sort_keys<int32_t>},
    {{"cub_radix_sort_keys_f32", "sort", RADIX, "f32", 0}, 1, map_bytes<float>, radix_sort_keys<float>},
    {{"cub_radix_sort_keys_u64", "sort", RADIX, "u64", 0}, 1, map_bytes<uint64_t>, radix_sort_keys<uint64_t>},
    {{"cub_radix_sort_keys_i64", "sort", RADIX, "i64", 0}, 1, map_bytes<int64_t>, radix_sort_keys<int64_t>},
    {{"cub_radix_sort_keys_f64", "sort", RADIX, "f64", 0}, 1, map_bytes<double>, radix_sort_keys<double>},
    {{"cub_radix_sort_pairs_u32", "sort", PAIRS, "u32", 0}, 1, pairs_bytes, radix_sort_pairs<uint32_t>},
    {{"cub_radix_sort_pairs_f32", "sort", PAIRS, "f32", 0}, 1, pairs_bytes, radix_sort_pairs<float>},
    {{"cub_merge_sort_u32", "sort", "cub::DeviceMergeSort::SortKeysCopy", "u32", 0},
     1, map_bytes<uint32_t>, merge_sort<uint32_t>},
    {{"cub_merge_sort_keys_u32", "sort", MERGE, "u32", 1},
     1, map_bytes<uint32_t>, merge_sort_by<uint32_t, cuda::std::less<>, false>},
    {{"cub_merge_sort_keys_i32", "sort", MERGE, "i32", 1},
     1, map_bytes<int32_t>, merge_sort_by<int32_t, cuda::std::less<>, false>},
    {{"cub_merge_sort_keys_u64", "sort", MERGE, "u64", 1},
     1, map_bytes<uint64_t>, merge_sort_by<uint64_t, cuda::std::less<>, false>},
    {{"cub_merge_sort_keys_low_half_u32", "sort-by-low-half", MERGE, "u32", 1},
     1, map_bytes<uint32_t>, merge_sort_by<uint32_t, LowHalfDown, false>},
    {{"cub_stable_sort_keys_low_half_u32", "sort-by-low-half", "cub::DeviceMergeSort::StableSortKeys", "u32", 1},
     1, map_bytes<uint32_t>, merge_sort_by<uint32_t, LowHalfDown, true>},
    {{"thrust_sort_u32", "sort", "thrust::sort, scratch given, no waiting", "u32", 1},
     1, map_bytes<uint32_t>, thrust_sort<uint32_t>},
};

}  // namespace

Table sort_peers() { return table(PEERS); }

}  // namespace peers
