// Shared by the twins (twins_*.cu) and the sources' algorithms (sources.cu).
//
// A twin is a rung of gpu/src once more in CUDA C++: the same algorithm with the same launches, grids, blocks, launch
// bounds, scratch memory and accesses, so that a difference in time is a difference between compilers. A change of a
// rung is made in its twin too. A helper below has the name that it has in Rust.
#pragma once

#include "peer.cuh"

namespace peers {

using u32 = uint32_t;
using u64 = uint64_t;

constexpr u32 WARP = 32;
constexpr u32 FULL = 0xffffffff;

__host__ __device__ constexpr u32 div_ceil(u32 a, u32 b) { return a / b + (a % b != 0); }

// log2 of a power of two.
__host__ __device__ constexpr u32 log2_of(u32 power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

// The bits that number n things: log2 of the next power of two, 0 for none of them.
constexpr u32 bits_for(u32 n) {
    u32 bits = 0;
    while ((u64(1) << bits) < n) bits++;
    return bits;
}

__device__ __forceinline__ u32 saturating_add(u32 a, u32 b) { return a + b < a ? UINT32_MAX : a + b; }
__device__ __forceinline__ u32 saturating_sub(u32 a, u32 b) { return a < b ? 0 : a - b; }
__device__ __forceinline__ u32 saturating_mul(u32 a, u32 b) { return __umulhi(a, b) != 0 ? UINT32_MAX : a * b; }

__device__ __forceinline__ u32 index_1d() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u32 grid_threads_1d() { return gridDim.x * blockDim.x; }
__device__ __forceinline__ u32 lane_id() { return threadIdx.x % WARP; }

// Multiprocessors of the current device. 0 if there is none: the launch that follows then reports the error.
inline u32 multiprocessors() {
    int device = 0, count = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return 0;
    if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 0;
    return u32(count);
}

// Allows `kernel` all the dynamic shared memory of a block on the device, and refuses more.
template <class Kernel>
int allow_shared(Kernel kernel, size_t bytes) {
    int device = 0, limit = 0;
    cudaFuncAttributes attributes;
    PEERS_CUDA(cudaGetDevice(&device));
    PEERS_CUDA(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    PEERS_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    size_t room = size_t(limit) - attributes.sharedSizeBytes;
    PEERS_REQUIRE(bytes <= room, "the elements do not fit in the shared memory of one block");
    PEERS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(room)));
    return 0;
}

// Launches a kernel; an empty grid does nothing. On failure leaves the function with its code.
#define PEERS_LAUNCH(kernel, grid, block, shared, ...)                                                                 \
    do {                                                                                                               \
        u32 blocks_ = (grid);                                                                                          \
        if (blocks_ != 0) {                                                                                            \
            kernel<<<blocks_, (block), (shared), call.stream>>>(__VA_ARGS__);                                          \
            PEERS_LAUNCHED(#kernel);                                                                                   \
        }                                                                                                              \
    } while (0)

}  // namespace peers
