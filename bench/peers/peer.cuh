// Shared by the .cu files of this folder: a call, an entry of a table of peers, and the report of errors.
#pragma once

#include "peers.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace peers {

// The arguments of one rungs_peer_run, already checked: shape has the entry's number of values, each below 2^31.
struct Call {
    const void* input;
    void* output;
    void* temp;  // nullptr: the call only asks for the scratch size
    size_t* temp_bytes;
    const size_t* shape;
    cudaStream_t stream;

    // int, because CUB is fastest with this count type; a peer must not lose by our choice of type.
    int n() const { return static_cast<int>(shape[0]); }

    template <class T>
    const T* in() const { return static_cast<const T*>(input); }
    template <class T>
    T* out() const { return static_cast<T*>(output); }
};

struct Bytes {
    size_t input, output;
};

// One line of a file's table.
struct Entry {
    RungsPeer info;
    size_t shape_len;
    Bytes (*bytes)(const size_t* shape);
    int (*run)(const Call&);
};

struct Table {
    const Entry* entries;
    size_t count;
};

template <size_t N>
constexpr Table table(const Entry (&entries)[N]) { return {entries, N}; }

// The tables, one per file; peers.cu joins them.
Table sort_peers();
Table scan_peers();
Table select_peers();
Table top_k_peers();
Table segmented_sort_peers();
Table reduce_peers();
Table histogram_peers();
Table matmul_peers();
Table matmul_best_peers();
Table copy_peers();
Table twin_sort_peers();
Table twin_radix_peers();
Table twin_cubes_peers();
Table twin_reduce_peers();
Table twin_scan_peers();
Table twin_histogram_peers();
Table twin_matmul_peers();
Table source_peers();

// Bytes of the common shapes.
template <class T>
Bytes map_bytes(const size_t* shape) { return {shape[0] * sizeof(T), shape[0] * sizeof(T)}; }
template <class T>
Bytes reduce_bytes(const size_t* shape) { return {shape[0] * sizeof(T), sizeof(T)}; }
template <class In, class Out>
Bytes matmul_bytes(const size_t* s) { return {(s[0] * s[2] + s[2] * s[1]) * sizeof(In), s[0] * s[1] * sizeof(Out)}; }

// Keeps the text for rungs_peer_error and returns `code`.
int fail(int code, const char* file, int line, const char* call, const char* text);

// Runs a CUDA call; on failure leaves the function with its code.
#define PEERS_CUDA(call)                                                                                               \
    do {                                                                                                               \
        cudaError_t status_ = (call);                                                                                  \
        if (status_ != cudaSuccess)                                                                                    \
            return ::peers::fail(status_, __FILE__, __LINE__, #call, cudaGetErrorString(status_));                     \
    } while (0)

// After a kernel launch: the launch's own error. It does not wait for the kernel.
#define PEERS_LAUNCHED(kernel)                                                                                         \
    do {                                                                                                               \
        cudaError_t status_ = cudaGetLastError();                                                                      \
        if (status_ != cudaSuccess)                                                                                    \
            return ::peers::fail(status_, __FILE__, __LINE__, "launch of " kernel, cudaGetErrorString(status_));       \
    } while (0)

// Leaves the function when the peer cannot do the call.
#define PEERS_REQUIRE(condition, text)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) return ::peers::fail(cudaErrorInvalidValue, __FILE__, __LINE__, #condition, text);           \
    } while (0)

// For peers that know their scratch size: if the call only asks for the size, answers it and returns true.
// `if (asks_for_size(call, bytes)) return 0;` stands before the work.
inline bool asks_for_size(const Call& call, size_t bytes) {
    if (call.temp != nullptr) return false;
    *call.temp_bytes = std::max<size_t>(bytes, 1);
    return true;
}

// CUB has the same protocol as our ABI, so a CUB peer is one lambda (temp, bytes) -> cudaError_t.
template <class F>
int run_cub(const Call& call, const char* file, int line, const char* name, F cub_call) {
    size_t bytes = call.temp == nullptr ? 0 : *call.temp_bytes;
    cudaError_t status = cub_call(call.temp, bytes);
    if (status != cudaSuccess) return fail(status, file, line, name, cudaGetErrorString(status));
    asks_for_size(call, bytes);
    return 0;
}

// `expression` is the CUB call, in terms of `temp` and `bytes`; `name` is what an error calls it.
#define PEERS_CUB(name, expression)                                                                                    \
    ::peers::run_cub(call, __FILE__, __LINE__, name, [&](void* temp, size_t& bytes) { return expression; })

}  // namespace peers
