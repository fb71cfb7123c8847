// Shared by the files with matrix products of NVIDIA's libraries: the types, a workspace, the report of errors.
#pragma once

#include "peer.cuh"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace peers {

using bf16 = __nv_bfloat16;
using f16 = __half;

// The size of cuBLAS's workspace on Hopper. We provide it, because cuBLAS would otherwise allocate; it must be aligned
// to 256 bytes, as a fresh allocation is.
constexpr size_t WORKSPACE_BYTES = size_t(32) << 20;

// Runs a call of cuBLAS or cuBLASLt; on failure leaves the function with its code.
#define PEERS_CUBLAS(call)                                                                                             \
    do {                                                                                                               \
        cublasStatus_t status_ = (call);                                                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS)                                                                          \
            return ::peers::fail(status_, __FILE__, __LINE__, #call, cublasGetStatusString(status_));                  \
    } while (0)

}  // namespace peers
