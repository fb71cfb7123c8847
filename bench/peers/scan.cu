// Scan peers: cub::DeviceScan, sums and extremes.
#include "peer.cuh"

#include <cub/device/device_scan.cuh>
#include <cuda/functional>

namespace peers {
namespace {

template <class T>
int inclusive_sum(const Call& call) {
    return PEERS_CUB("cub::DeviceScan::InclusiveSum",
                     cub::DeviceScan::InclusiveSum(temp, bytes, call.in<T>(), call.out<T>(), call.n(), call.stream));
}

template <class T>
int exclusive_sum(const Call& call) {
    return PEERS_CUB("cub::DeviceScan::ExclusiveSum",
                     cub::DeviceScan::ExclusiveSum(temp, bytes, call.in<T>(), call.out<T>(), call.n(), call.stream));
}

template <class T, class Op>
int inclusive_scan(const Call& call) {
    return PEERS_CUB("cub::DeviceScan::InclusiveScan",
                     cub::DeviceScan::InclusiveScan(temp, bytes, call.in<T>(), call.out<T>(), Op{}, call.n(),
                                                    call.stream));
}

using u32 = uint32_t;
using u64 = uint64_t;

constexpr const char* INCLUSIVE = "cub::DeviceScan::InclusiveSum";
constexpr const char* EXCLUSIVE = "cub::DeviceScan::ExclusiveSum";

const Entry PEERS[] = {
    {{"cub_inclusive_sum_u32", "scan", INCLUSIVE, "u32", 0}, 1, map_bytes<u32>, inclusive_sum<u32>},
    {{"cub_inclusive_sum_u64", "scan", INCLUSIVE, "u64", 0}, 1, map_bytes<u64>, inclusive_sum<u64>},
    {{"cub_inclusive_sum_f32", "scan", INCLUSIVE, "f32", 0}, 1, map_bytes<float>, inclusive_sum<float>},
    {{"cub_exclusive_sum_u32", "scan", EXCLUSIVE, "u32", 0}, 1, map_bytes<u32>, exclusive_sum<u32>},
    {{"cub_exclusive_sum_u64", "scan", EXCLUSIVE, "u64", 0}, 1, map_bytes<u64>, exclusive_sum<u64>},
    {{"cub_exclusive_sum_f32", "scan", EXCLUSIVE, "f32", 0}, 1, map_bytes<float>, exclusive_sum<float>},
    {{"cub_inclusive_min_u32", "scan", "cub::DeviceScan::InclusiveScan, minimum", "u32", 0},
     1, map_bytes<u32>, inclusive_scan<u32, cuda::minimum<u32>>},
    {{"cub_inclusive_max_u32", "scan", "cub::DeviceScan::InclusiveScan, maximum", "u32", 0},
     1, map_bytes<u32>, inclusive_scan<u32, cuda::maximum<u32>>},
};

}  // namespace

Table scan_peers() { return table(PEERS); }

}  // namespace peers
