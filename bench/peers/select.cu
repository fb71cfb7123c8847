// Select peers: cub::DeviceSelect::If and Unique, cub::DevicePartition::If, cub::DeviceRunLengthEncode::Encode and
// cub::DeviceReduce::ReduceByKey.
#include "peer.cuh"

#include <cub/device/device_partition.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/functional>

namespace peers {
namespace {

// Whether an item is less than the one at `pivot`, which the caches have after the first look.
template <class T>
struct Below {
    const T* pivot;

    __device__ bool operator()(const T& item) const { return item < __ldg(pivot); }
};

template <class T>
Below<T> below(const Call& call) { return {call.in<T>() + call.n() / 2}; }

// Where the count is: in the first word of the item behind the n of the output.
template <class T>
uint32_t* count(const Call& call) { return reinterpret_cast<uint32_t*>(call.out<T>() + call.n()); }

// Words that a result has behind its count: lengths or sums.
template <class T>
uint32_t* results(const Call& call) { return reinterpret_cast<uint32_t*>(call.out<T>() + call.n() + 1); }

// Elements of T that hold n words.
template <class T>
size_t packed(size_t n) { return (n * sizeof(uint32_t) + sizeof(T) - 1) / sizeof(T) * sizeof(T); }

template <class T>
int select_if(const Call& call) {
    return PEERS_CUB(
        "cub::DeviceSelect::If",
        cub::DeviceSelect::If(temp, bytes, call.in<T>(), call.out<T>(), count<T>(call), call.n(), below<T>(call), call.stream));
}

template <class T>
int partition(const Call& call) {
    return PEERS_CUB("cub::DevicePartition::If",
                     cub::DevicePartition::If(temp, bytes, call.in<T>(), call.out<T>(), count<T>(call), call.n(),
                                              below<T>(call), call.stream));
}

// Items with the same bits are equal, so that NaN is: W is the word that stores an item.
template <class W>
int unique(const Call& call) {
    return PEERS_CUB("cub::DeviceSelect::Unique",
                     cub::DeviceSelect::Unique(temp, bytes, call.in<W>(), call.out<W>(), count<W>(call), call.n(),
                                               call.stream));
}

template <class W>
int run_lengths(const Call& call) {
    return PEERS_CUB("cub::DeviceRunLengthEncode::Encode",
                     cub::DeviceRunLengthEncode::Encode(temp, bytes, call.in<W>(), call.out<W>(), results<W>(call),
                                                        count<W>(call), call.n(), call.stream));
}

template <class W>
int reduce_by_key(const Call& call) {
    const uint32_t* words = reinterpret_cast<const uint32_t*>(call.in<W>() + call.n());
    return PEERS_CUB("cub::DeviceReduce::ReduceByKey",
                     cub::DeviceReduce::ReduceByKey(temp, bytes, call.in<W>(), call.out<W>(), words, results<W>(call),
                                                    count<W>(call), ::cuda::std::plus<>{}, call.n(), call.stream));
}

template <class T>
Bytes select_bytes(const size_t* shape) { return {shape[0] * sizeof(T), (shape[0] + 1) * sizeof(T)}; }

template <class T>
Bytes lengths_bytes(const size_t* shape) {
    return {shape[0] * sizeof(T), (shape[0] + 1) * sizeof(T) + packed<T>(shape[0])};
}

template <class T>
Bytes by_key_bytes(const size_t* shape) {
    return {shape[0] * sizeof(T) + packed<T>(shape[0]), (shape[0] + 1) * sizeof(T) + packed<T>(shape[0])};
}

// CUDA's own 64-bit types: __ldg takes no other.
using i64 = long long;
using u64 = unsigned long long;
using u32 = uint32_t;

constexpr const char* IF = "cub::DeviceSelect::If";
constexpr const char* PARTITION = "cub::DevicePartition::If";
constexpr const char* UNIQUE = "cub::DeviceSelect::Unique";
constexpr const char* LENGTHS = "cub::DeviceRunLengthEncode::Encode";
constexpr const char* BY_KEY = "cub::DeviceReduce::ReduceByKey";

// The peers of items called `name`, of type T, stored as W.
#define PEERS_OF(name, T, W)                                                                                           \
    {{"cub_select_if_" name, "select", IF, name, 0}, 1, select_bytes<T>, select_if<T>},                                \
    {{"cub_partition_" name, "partition", PARTITION, name, 0}, 1, select_bytes<T>, partition<T>},                      \
    {{"cub_unique_" name, "unique", UNIQUE, name, 0}, 1, select_bytes<W>, unique<W>},                                  \
    {{"cub_run_lengths_" name, "run-lengths", LENGTHS, name, 0}, 1, lengths_bytes<W>, run_lengths<W>},                 \
    {{"cub_reduce_by_key_" name, "reduce-by-key", BY_KEY, name, 0}, 1, by_key_bytes<W>, reduce_by_key<W>}

const Entry PEERS[] = {
    PEERS_OF("u32", u32, u32),   PEERS_OF("i32", int32_t, u32), PEERS_OF("f32", float, u32),
    PEERS_OF("u64", u64, u64),   PEERS_OF("i64", i64, u64),     PEERS_OF("f64", double, u64),
};

}  // namespace

Table select_peers() { return table(PEERS); }

}  // namespace peers
