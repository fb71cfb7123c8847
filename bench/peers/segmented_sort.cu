// Segmented sort peers: cub::DeviceSegmentedSort, which chooses by length, and cub::DeviceSegmentedRadixSort, a block
// for each segment.
#include "peer.cuh"

#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

namespace peers {
namespace {

// n keys, then a begin for each segment and the end of the last one.
template <class T>
const uint32_t* offsets(const Call& call) {
    return reinterpret_cast<const uint32_t*>(call.in<T>() + call.n());
}

template <class T>
int segmented_sort(const Call& call) {
    const uint32_t* begins = offsets<T>(call);
    return PEERS_CUB("cub::DeviceSegmentedSort::SortKeys",
                     cub::DeviceSegmentedSort::SortKeys(temp, bytes, call.in<T>(), call.out<T>(), call.n(),
                                                        int(call.shape[1]), begins, begins + 1, call.stream));
}

template <class T>
int segmented_radix_sort(const Call& call) {
    const uint32_t* begins = offsets<T>(call);
    return PEERS_CUB("cub::DeviceSegmentedRadixSort::SortKeys",
                     cub::DeviceSegmentedRadixSort::SortKeys(temp, bytes, call.in<T>(), call.out<T>(), call.n(),
                                                             int(call.shape[1]), begins, begins + 1, 0,
                                                             int(sizeof(T) * 8), call.stream));
}

template <class T>
Bytes segmented_bytes(const size_t* shape) {
    return {shape[0] * sizeof(T) + (shape[1] + 1) * sizeof(uint32_t), shape[0] * sizeof(T)};
}

constexpr const char* BY_LENGTH = "cub::DeviceSegmentedSort::SortKeys";
constexpr const char* RADIX = "cub::DeviceSegmentedRadixSort::SortKeys";

#define BOTH(name, T)                                                                                                  \
    {{"cub_segmented_sort_" name, "segmented-sort", BY_LENGTH, name, 0}, 2, segmented_bytes<T>, segmented_sort<T>},    \
        {{"cub_segmented_radix_sort_" name, "segmented-sort", RADIX, name, 0},                                         \
         2,                                                                                                            \
         segmented_bytes<T>,                                                                                           \
         segmented_radix_sort<T>}

const Entry PEERS[] = {BOTH("u32", uint32_t), BOTH("i32", int32_t), BOTH("f32", float),
                       BOTH("u64", uint64_t), BOTH("i64", int64_t), BOTH("f64", double)};

}  // namespace

Table segmented_sort_peers() { return table(PEERS); }

}  // namespace peers
