// Reduction peers: cub::DeviceReduce. CUB starts a minimum from the type's largest finite number and a maximum from its
// lowest: that is the result for n = 0, and also if all floats are infinite on that side.
#include "peer.cuh"

#include <cub/device/device_reduce.cuh>

namespace peers {
namespace {

template <class T>
int sum(const Call& call) {
    return PEERS_CUB("cub::DeviceReduce::Sum",
                     cub::DeviceReduce::Sum(temp, bytes, call.in<T>(), call.out<T>(), call.n(), call.stream));
}

template <class T>
int min(const Call& call) {
    return PEERS_CUB("cub::DeviceReduce::Min",
                     cub::DeviceReduce::Min(temp, bytes, call.in<T>(), call.out<T>(), call.n(), call.stream));
}

template <class T>
int max(const Call& call) {
    return PEERS_CUB("cub::DeviceReduce::Max",
                     cub::DeviceReduce::Max(temp, bytes, call.in<T>(), call.out<T>(), call.n(), call.stream));
}

using u32 = uint32_t;
using u64 = uint64_t;

constexpr const char* SUM = "cub::DeviceReduce::Sum";
constexpr const char* MIN = "cub::DeviceReduce::Min";
constexpr const char* MAX = "cub::DeviceReduce::Max";

const Entry PEERS[] = {
    {{"cub_reduce_sum_u32", "reduce", SUM, "u32", 0}, 1, reduce_bytes<u32>, sum<u32>},
    {{"cub_reduce_sum_i32", "reduce", SUM, "i32", 0}, 1, reduce_bytes<int32_t>, sum<int32_t>},
    {{"cub_reduce_sum_u64", "reduce", SUM, "u64", 0}, 1, reduce_bytes<u64>, sum<u64>},
    {{"cub_reduce_sum_f32", "reduce", SUM, "f32", 0}, 1, reduce_bytes<float>, sum<float>},
    {{"cub_reduce_sum_f64", "reduce", SUM, "f64", 0}, 1, reduce_bytes<double>, sum<double>},
    {{"cub_reduce_min_u32", "reduce", MIN, "u32", 0}, 1, reduce_bytes<u32>, min<u32>},
    {{"cub_reduce_max_u32", "reduce", MAX, "u32", 0}, 1, reduce_bytes<u32>, max<u32>},
    {{"cub_reduce_min_f32", "reduce", MIN, "f32", 0}, 1, reduce_bytes<float>, min<float>},
    {{"cub_reduce_max_f32", "reduce", MAX, "f32", 0}, 1, reduce_bytes<float>, max<float>},
};

}  // namespace

Table reduce_peers() { return table(PEERS); }

}  // namespace peers
