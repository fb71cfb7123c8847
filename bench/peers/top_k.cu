// Top-k peers: cub::DeviceTopK where the CCCL has it (3.2 and later), otherwise a radix sort from the largest key on.
#include "peer.cuh"

#include <cub/device/device_radix_sort.cuh>
#if __has_include(<cub/device/device_topk.cuh>)
#include <cub/device/device_topk.cuh>
#include <cuda/std/execution>
#include <cuda/stream_ref>
#define PEERS_HAS_TOP_K 1
#else
#define PEERS_HAS_TOP_K 0
#endif

namespace peers {
namespace {

#if PEERS_HAS_TOP_K
constexpr const char* WHAT = "cub::DeviceTopK::MaxKeys";

template <class T>
int top_k(const Call& call) {
    PEERS_REQUIRE(call.shape[1] <= call.shape[0], "k is more than n");
    auto wishes = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                           cuda::execution::output_ordering::unsorted);
    auto env = cuda::std::execution::env{cuda::stream_ref{call.stream}, wishes};
    return PEERS_CUB("cub::DeviceTopK::MaxKeys",
                     cub::DeviceTopK::MaxKeys(temp, bytes, call.in<T>(), call.out<T>(), call.n(), int(call.shape[1]),
                                              env));
}
#else
constexpr const char* WHAT = "cub::DeviceRadixSort::SortKeysDescending";

template <class T>
int top_k(const Call& call) {
    PEERS_REQUIRE(call.shape[1] <= call.shape[0], "k is more than n");
    return PEERS_CUB("cub::DeviceRadixSort::SortKeysDescending",
                     cub::DeviceRadixSort::SortKeysDescending(temp, bytes, call.in<T>(), call.out<T>(), call.n(), 0,
                                                              int(sizeof(T) * 8), call.stream));
}
#endif

const Entry PEERS[] = {
    {{"cub_top_k_u32", "top-k", WHAT, "u32", 0}, 2, map_bytes<uint32_t>, top_k<uint32_t>},
    {{"cub_top_k_i32", "top-k", WHAT, "i32", 0}, 2, map_bytes<int32_t>, top_k<int32_t>},
    {{"cub_top_k_f32", "top-k", WHAT, "f32", 0}, 2, map_bytes<float>, top_k<float>},
};

}  // namespace

Table top_k_peers() { return table(PEERS); }

}  // namespace peers
