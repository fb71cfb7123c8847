// Matrix product peers: cuBLASLt, by the fastest of the algorithms that it proposes for a shape. cuBLAS runs the one
// that its heuristic takes for the fastest; here the first call of a shape times them. Those of fp8 are here alone.
#include "cublas.cuh"

#include <cublasLt.h>
#include <cuda_fp8.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace peers {
namespace {

// Algorithms asked for.
constexpr int MOST_ALGORITHMS = 8;

// Each algorithm is timed in so many rounds, in each by so many calls in a row as take this long, but no more than the
// most: `rungs bench` measures calls back to back in the same way.
constexpr int ROUNDS = 5;
constexpr float ROUND_MS = 0.3f;
constexpr int MOST_CALLS = 16;

// What addresses of whole allocations are a multiple of.
constexpr size_t ALIGNMENT = 256;

// The elements, the sums, and how a product is computed.
template <class In_, cudaDataType_t IN_, class Out_, cudaDataType_t OUT_, class Sum_, cudaDataType_t SUM_,
          cublasComputeType_t COMPUTE_>
struct Types {
    using In = In_;
    using Out = Out_;
    using Sum = Sum_;
    static constexpr cudaDataType_t IN = IN_, OUT = OUT_, SUM = SUM_;
    static constexpr cublasComputeType_t COMPUTE = COMPUTE_;
    // Where C has fewer bits than the sums, parts of a sum must not be rounded to them before they are added.
    static constexpr uint32_t REDUCTIONS =
        OUT_ == SUM_ ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    // Whether B is stored by columns: fp8 is multiplied in no other way.
    static constexpr bool BY_COLUMNS = false;
};

// Elements of 8 bits. The tensor cores keep about 14 bits of their sums; unless FAST, cuBLASLt adds up parts of the
// sums in fp32.
template <class Out, cudaDataType_t OUT, bool FAST_>
struct Eight : Types<__nv_fp8_e4m3, CUDA_R_8F_E4M3, Out, OUT, float, CUDA_R_32F, CUBLAS_COMPUTE_32F> {
    static constexpr bool BY_COLUMNS = true, FAST = FAST_;
};

// A product of one shape on one device: what cuBLASLt is told of it, and the algorithms for it.
struct Problem {
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t product = nullptr;
    // Of cuBLASLt's A, B and C.
    cublasLtMatrixLayout_t layouts[3] = {};
    cublasLtMatmulHeuristicResult_t algorithms[MOST_ALGORITHMS] = {};
    int count = 0;
    // The fastest; nullptr until they have been timed.
    const cublasLtMatmulAlgo_t* best = nullptr;

    Problem() = default;
    Problem(const Problem&) = delete;
    ~Problem() {
        for (cublasLtMatrixLayout_t layout : layouts)
            if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
        if (product != nullptr) cublasLtMatmulDescDestroy(product);
    }
};

// The lock is held from the look-up of a problem until its call is enqueued, because the first call chooses.
std::mutex problems_lock;

// There is one handle per device for the life of the process: it takes milliseconds to make.
int handle_for(int device, cublasLtHandle_t* out) {
    static std::map<int, cublasLtHandle_t> handles;
    cublasLtHandle_t& handle = handles[device];
    if (handle == nullptr) PEERS_CUBLAS(cublasLtCreate(&handle));
    *out = handle;
    return 0;
}

// The alignment of what begins so many bytes behind the start of an allocation.
uint32_t alignment_at(size_t bytes) { return uint32_t(bytes % ALIGNMENT == 0 ? ALIGNMENT : bytes & -bytes); }

// Asks for the algorithms of a shape.
template <class T>
int propose(Problem& problem, cublasLtMatmulPreference_t preference, size_t m, size_t k) {
    auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
    };
    PEERS_CUBLAS(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(WORKSPACE_BYTES)));
    PEERS_CUBLAS(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, T::REDUCTIONS));
    // Its A is our B, which begins where our A ends; the others begin allocations, as is assumed unless told.
    uint32_t alignment = alignment_at(m * k * sizeof(typename T::In));
    PEERS_CUBLAS(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment));
    auto [a, b, c] = problem.layouts;
    PEERS_CUBLAS(cublasLtMatmulAlgoGetHeuristic(problem.handle, problem.product, a, b, c, c, preference,
                                                MOST_ALGORITHMS, problem.algorithms, &problem.count));
    PEERS_REQUIRE(problem.count > 0, "cuBLASLt has no algorithm for this shape");
    return 0;
}

// The problem of a shape, which has no empty side. cuBLASLt is column-major as cuBLAS is: Cᵀ = Bᵀ·Aᵀ.
template <class T>
int problem_for(size_t m, size_t n, size_t k, Problem** out) {
    // Never destroyed: the library may be unloaded before this one.
    static auto& problems = *new std::map<std::tuple<int, size_t, size_t, size_t>, std::unique_ptr<Problem>>();
    int device = 0;
    PEERS_CUDA(cudaGetDevice(&device));
    std::unique_ptr<Problem>& problem = problems[{device, m, n, k}];
    if (problem == nullptr) {
        auto fresh = std::make_unique<Problem>();
        if (int code = handle_for(device, &fresh->handle)) return code;
        PEERS_CUBLAS(cublasLtMatmulDescCreate(&fresh->product, T::COMPUTE, T::SUM));
        if constexpr (T::BY_COLUMNS) {
            auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
                return cublasLtMatmulDescSetAttribute(fresh->product, attribute, &value, sizeof(value));
            };
            PEERS_CUBLAS(set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
            PEERS_CUBLAS(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t(T::FAST)));
            PEERS_CUBLAS(cublasLtMatrixLayoutCreate(&fresh->layouts[0], T::IN, k, n, k));
        } else {
            PEERS_CUBLAS(cublasLtMatrixLayoutCreate(&fresh->layouts[0], T::IN, n, k, n));
        }
        PEERS_CUBLAS(cublasLtMatrixLayoutCreate(&fresh->layouts[1], T::IN, k, m, k));
        PEERS_CUBLAS(cublasLtMatrixLayoutCreate(&fresh->layouts[2], T::OUT, n, m, n));
        cublasLtMatmulPreference_t preference = nullptr;
        PEERS_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
        int code = propose<T>(*fresh, preference, m, k);
        cublasLtMatmulPreferenceDestroy(preference);
        if (code != 0) return code;
        problem = std::move(fresh);
    }
    *out = problem.get();
    return 0;
}

// Events that mark the begin and the end of what is timed.
struct Clock {
    cudaEvent_t begin = nullptr, end = nullptr;

    Clock() = default;
    Clock(const Clock&) = delete;
    ~Clock() {
        if (begin != nullptr) cudaEventDestroy(begin);
        if (end != nullptr) cudaEventDestroy(end);
    }
};

// Times all algorithms of a problem on the data of its first call, and keeps the fastest. `run(algorithm)` enqueues a
// call. Every algorithm has its turn in each round, so that changing clocks affect all alike.
template <class F>
int choose(Problem& problem, cudaStream_t stream, F run) {
    Clock clock;
    PEERS_CUDA(cudaEventCreate(&clock.begin));
    PEERS_CUDA(cudaEventCreate(&clock.end));
    auto milliseconds = [&](const cublasLtMatmulAlgo_t& algorithm, int calls, float* ms) -> int {
        PEERS_CUDA(cudaEventRecord(clock.begin, stream));
        for (int i = 0; i < calls; i++) PEERS_CUBLAS(run(algorithm));
        PEERS_CUDA(cudaEventRecord(clock.end, stream));
        PEERS_CUDA(cudaEventSynchronize(clock.end));
        PEERS_CUDA(cudaEventElapsedTime(ms, clock.begin, clock.end));
        *ms /= float(calls);
        return 0;
    };
    struct Timed {
        const cublasLtMatmulAlgo_t* algorithm;
        int calls;
        std::vector<float> times;
    };
    std::vector<Timed> all;
    for (int i = 0; i < problem.count; i++) {
        const auto& [algorithm, workspace, state, waves, reserved] = problem.algorithms[i];
        // The first call loads the kernel. An algorithm may turn out not to take the problem after all.
        if (state != CUBLAS_STATUS_SUCCESS || run(algorithm) != CUBLAS_STATUS_SUCCESS) continue;
        float ms = 0;
        if (int code = milliseconds(algorithm, 1, &ms)) return code;
        float calls = std::ceil(ROUND_MS / std::max(ms, 1e-3f));
        all.push_back({&algorithm, int(std::min(std::max(calls, 1.0f), float(MOST_CALLS))), {}});
    }
    PEERS_REQUIRE(!all.empty(), "no algorithm that cuBLASLt proposes takes this shape");
    for (int round = 0; round < ROUNDS; round++)
        for (Timed& timed : all) {
            float ms = 0;
            if (int code = milliseconds(*timed.algorithm, timed.calls, &ms)) return code;
            timed.times.push_back(ms);
        }
    for (Timed& timed : all) std::sort(timed.times.begin(), timed.times.end());
    auto faster = [](const Timed& x, const Timed& y) { return x.times[ROUNDS / 2] < y.times[ROUNDS / 2]; };
    problem.best = std::min_element(all.begin(), all.end(), faster)->algorithm;
    return 0;
}

template <class T>
int matmul_best(const Call& call) {
    size_t m = call.shape[0], n = call.shape[1], k = call.shape[2];
    bool empty = m == 0 || n == 0 || k == 0;
    std::lock_guard<std::mutex> lock(problems_lock);
    Problem* problem = nullptr;
    // Also when the size is asked for: a shape without an algorithm is refused then.
    if (!empty)
        if (int code = problem_for<T>(m, n, k, &problem)) return code;
    if (asks_for_size(call, WORKSPACE_BYTES)) return 0;
    PEERS_REQUIRE(*call.temp_bytes >= WORKSPACE_BYTES, "the scratch memory is too small");
    if (empty) {
        PEERS_CUDA(cudaMemsetAsync(call.output, 0, m * n * sizeof(typename T::Out), call.stream));
        return 0;
    }
    for (const void* address : {call.input, (const void*)call.output, (const void*)call.temp})
        PEERS_REQUIRE(uintptr_t(address) % ALIGNMENT == 0, "input, output and scratch must begin at 256 bytes");
    const typename T::In* a = call.in<typename T::In>();
    auto run = [&](const cublasLtMatmulAlgo_t& algorithm) {
        const typename T::Sum one = 1, zero = 0;
        auto [layout_a, layout_b, layout_c] = problem->layouts;
        return cublasLtMatmul(problem->handle, problem->product, &one, a + m * k, layout_a, a, layout_b, &zero,
                              call.output, layout_c, call.output, layout_c, &algorithm, call.temp, WORKSPACE_BYTES,
                              call.stream);
    };
    if (problem->best == nullptr)
        if (int code = choose(*problem, call.stream, run)) return code;
    PEERS_CUBLAS(run(*problem->best));
    return 0;
}

template <cublasComputeType_t COMPUTE>
using F32 = Types<float, CUDA_R_32F, float, CUDA_R_32F, float, CUDA_R_32F, COMPUTE>;
using F64 = Types<double, CUDA_R_64F, double, CUDA_R_64F, double, CUDA_R_64F, CUBLAS_COMPUTE_64F>;

// Elements of 16 bits, sums of fp32.
template <class In, cudaDataType_t IN, class Out, cudaDataType_t OUT>
using Sixteen = Types<In, IN, Out, OUT, float, CUDA_R_32F, CUBLAS_COMPUTE_32F>;

// Each is named for the peer of matmul.cu that computes the same, if there is one, between "cublaslt" and "best".
const Entry PEERS[] = {
    {{"cublaslt_sgemm_pedantic_best", "matmul", "cublasLtMatmul, the fastest of 8 algorithms: fp32 throughout", "f32",
      0},
     3, matmul_bytes<float, float>, matmul_best<F32<CUBLAS_COMPUTE_32F_PEDANTIC>>},
    {{"cublaslt_sgemm_tf32_best", "matmul", "cublasLtMatmul, the fastest of 8 algorithms: TF32", "f32", 0},
     3, matmul_bytes<float, float>, matmul_best<F32<CUBLAS_COMPUTE_32F_FAST_TF32>>},
    {{"cublaslt_gemm_bf16_best", "matmul",
      "cublasLtMatmul, the fastest of 8 algorithms: bf16 in, fp32 sums, C in f32", "bf16", 0},
     3, matmul_bytes<bf16, float>, matmul_best<Sixteen<bf16, CUDA_R_16BF, float, CUDA_R_32F>>},
    {{"cublaslt_gemm_bf16_bf16_best", "matmul",
      "cublasLtMatmul, the fastest of 8 algorithms: bf16 in, fp32 sums, C in bf16", "bf16", 0},
     3, matmul_bytes<bf16, bf16>, matmul_best<Sixteen<bf16, CUDA_R_16BF, bf16, CUDA_R_16BF>>},
    {{"cublaslt_gemm_f16_f16_best", "matmul",
      "cublasLtMatmul, the fastest of 8 algorithms: f16 in, fp32 sums, C in f16", "f16", 0},
     3, matmul_bytes<f16, f16>, matmul_best<Sixteen<f16, CUDA_R_16F, f16, CUDA_R_16F>>},
    {{"cublaslt_dgemm_best", "matmul", "cublasLtMatmul, the fastest of 8 algorithms: fp64", "f64", 0},
     3, matmul_bytes<double, double>, matmul_best<F64>},
    {{"cublaslt_gemm_e4m3_fast_best", "matmul-fp8",
      "cublasLtMatmul, the fastest of 8 algorithms: e4m3 in, fast accumulation, C in f32", "e4m3", 0},
     3, matmul_bytes<__nv_fp8_e4m3, float>, matmul_best<Eight<float, CUDA_R_32F, true>>},
    {{"cublaslt_gemm_e4m3_best", "matmul-fp8",
      "cublasLtMatmul, the fastest of 8 algorithms: e4m3 in, no fast accumulation, C in f32", "e4m3", 0},
     3, matmul_bytes<__nv_fp8_e4m3, float>, matmul_best<Eight<float, CUDA_R_32F, false>>},
    {{"cublaslt_gemm_e4m3_bf16_fast_best", "matmul-fp8",
      "cublasLtMatmul, the fastest of 8 algorithms: e4m3 in, fast accumulation, C in bf16", "e4m3", 0},
     3, matmul_bytes<__nv_fp8_e4m3, bf16>, matmul_best<Eight<bf16, CUDA_R_16BF, true>>},
    {{"cublaslt_gemm_e4m3_bf16_best", "matmul-fp8",
      "cublasLtMatmul, the fastest of 8 algorithms: e4m3 in, no fast accumulation, C in bf16", "e4m3", 0},
     3, matmul_bytes<__nv_fp8_e4m3, bf16>, matmul_best<Eight<bf16, CUDA_R_16BF, false>>},
};

}  // namespace

Table matmul_best_peers() { return table(PEERS); }

}  // namespace peers
