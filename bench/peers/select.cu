// Select peers: cub::DeviceSelect::If.
#include "peer.cuh"

#include <cub/device/device_select.cuh>

namespace peers {
namespace {

// Whether an item is less than the one at `pivot`, which the caches have after the first look.
template <class T>
struct Below {
    const T* pivot;

    __device__ bool operator()(const T& item) const { return item < __ldg(pivot); }
};

template <class T>
int select_if(const Call& call) {
    T* out = call.out<T>();
    uint32_t* count = reinterpret_cast<uint32_t*>(out + call.n());
    return PEERS_CUB("cub::DeviceSelect::If",
                     cub::DeviceSelect::If(temp, bytes, call.in<T>(), out, count, call.n(),
                                           Below<T>{call.in<T>() + call.n() / 2}, call.stream));
}

template <class T>
Bytes select_bytes(const size_t* shape) { return {shape[0] * sizeof(T), (shape[0] + 1) * sizeof(T)}; }

// CUDA's own 64-bit types: __ldg takes no other.
using i64 = long long;
using u64 = unsigned long long;

constexpr const char* IF = "cub::DeviceSelect::If";

const Entry PEERS[] = {
    {{"cub_select_if_u32", "select", IF, "u32", 0}, 1, select_bytes<uint32_t>, select_if<uint32_t>},
    {{"cub_select_if_i32", "select", IF, "i32", 0}, 1, select_bytes<int32_t>, select_if<int32_t>},
    {{"cub_select_if_f32", "select", IF, "f32", 0}, 1, select_bytes<float>, select_if<float>},
    {{"cub_select_if_u64", "select", IF, "u64", 0}, 1, select_bytes<u64>, select_if<u64>},
    {{"cub_select_if_i64", "select", IF, "i64", 0}, 1, select_bytes<i64>, select_if<i64>},
    {{"cub_select_if_f64", "select", IF, "f64", 0}, 1, select_bytes<double>, select_if<double>},
};

}  // namespace

Table select_peers() { return table(PEERS); }

}  // namespace peers
