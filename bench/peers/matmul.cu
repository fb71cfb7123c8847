// Matrix product peers: cuBLAS in the types and precisions that are compared with ours.
#include "cublas.cuh"

#include <map>
#include <mutex>
#include <utility>

namespace peers {
namespace {

// Creating a handle takes milliseconds and memory, so there is one per device and mode for the life of the process. A
// handle also carries the stream and the workspace: the lock is held from setting them until the call is enqueued.
std::mutex handles_lock;

int handle_for(cublasMath_t mode, cublasHandle_t* out) {
    static std::map<std::pair<int, int>, cublasHandle_t> handles;
    int device = 0;
    PEERS_CUDA(cudaGetDevice(&device));
    cublasHandle_t& handle = handles[{device, int(mode)}];
    if (handle == nullptr) {
        cublasHandle_t fresh = nullptr;
        PEERS_CUBLAS(cublasCreate(&fresh));
        handle = fresh;
        PEERS_CUBLAS(cublasSetMathMode(fresh, mode));
    }
    *out = handle;
    return 0;
}

// The common part of all. cuBLAS is column-major: a row-major matrix is its transpose there, so C = A·B is
// computed as Cᵀ = Bᵀ·Aᵀ: the operands are exchanged and nothing is transposed. `gemm(handle, m, n, k, a, b, c)` makes
// the call.
template <class In, class Out, class F>
int matmul(const Call& call, cublasMath_t mode, F gemm) {
    int m = int(call.shape[0]), n = int(call.shape[1]), k = int(call.shape[2]);
    std::lock_guard<std::mutex> lock(handles_lock);
    cublasHandle_t handle;
    if (int code = handle_for(mode, &handle)) return code;
    if (asks_for_size(call, WORKSPACE_BYTES)) return 0;
    PEERS_REQUIRE(*call.temp_bytes >= WORKSPACE_BYTES, "the scratch memory is too small");
    if (m == 0 || n == 0) return 0;
    if (k == 0) {  // an empty sum; cuBLAS wants leading dimensions of at least 1
        PEERS_CUDA(cudaMemsetAsync(call.output, 0, size_t(m) * n * sizeof(Out), call.stream));
        return 0;
    }
    PEERS_CUBLAS(cublasSetStream(handle, call.stream));
    // After the stream: setting that puts the workspace back to cuBLAS's own.
    PEERS_CUBLAS(cublasSetWorkspace(handle, call.temp, WORKSPACE_BYTES));
    const In* a = call.in<In>();
    return gemm(handle, m, n, k, a, a + size_t(m) * k, call.out<Out>());
}

template <cublasMath_t MODE>
int sgemm(const Call& call) {
    return matmul<float, float>(call, MODE, [](cublasHandle_t handle, int m, int n, int k, const float* a,
                                               const float* b, float* c) -> int {
        const float one = 1, zero = 0;
        PEERS_CUBLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n));
        return 0;
    });
}

int dgemm(const Call& call) {
    return matmul<double, double>(call, CUBLAS_DEFAULT_MATH, [](cublasHandle_t handle, int m, int n, int k,
                                                                const double* a, const double* b, double* c) -> int {
        const double one = 1, zero = 0;
        PEERS_CUBLAS(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n));
        return 0;
    });
}

// Elements of 16 bits, sums of fp32.
template <class In, cudaDataType_t IN, class Out, cudaDataType_t OUT>
int gemm_16(const Call& call) {
    return matmul<In, Out>(
        call, CUBLAS_DEFAULT_MATH,
        [](cublasHandle_t handle, int m, int n, int k, const In* a, const In* b, Out* c) -> int {
            const float one = 1, zero = 0;
            PEERS_CUBLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, IN, n, a, IN, k, &zero, c,
                                      OUT, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
            return 0;
        });
}

const Entry PEERS[] = {
    {{"cublas_sgemm_pedantic", "matmul", "cublasSgemm, CUBLAS_PEDANTIC_MATH: fp32 throughout", "f32", 0},
     3, matmul_bytes<float, float>, sgemm<CUBLAS_PEDANTIC_MATH>},
    {{"cublas_sgemm_tf32", "matmul", "cublasSgemm, CUBLAS_TF32_TENSOR_OP_MATH", "f32", 0},
     3, matmul_bytes<float, float>, sgemm<CUBLAS_TF32_TENSOR_OP_MATH>},
    {{"cublas_gemm_bf16", "matmul", "cublasGemmEx, bf16 in, fp32 sums, C in f32", "bf16", 0},
     3, matmul_bytes<bf16, float>, gemm_16<bf16, CUDA_R_16BF, float, CUDA_R_32F>},
    {{"cublas_gemm_bf16_bf16", "matmul", "cublasGemmEx, bf16 in, fp32 sums, C in bf16", "bf16", 0},
     3, matmul_bytes<bf16, bf16>, gemm_16<bf16, CUDA_R_16BF, bf16, CUDA_R_16BF>},
    {{"cublas_gemm_f16_f16", "matmul", "cublasGemmEx, f16 in, fp32 sums, C in f16", "f16", 0},
     3, matmul_bytes<f16, f16>, gemm_16<f16, CUDA_R_16F, f16, CUDA_R_16F>},
    {{"cublas_dgemm", "matmul", "cublasDgemm", "f64", 0},
     3, matmul_bytes<double, double>, dgemm},
};

}  // namespace

Table matmul_peers() { return table(PEERS); }

}  // namespace peers
