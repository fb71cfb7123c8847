// Twins of the matrix products: gpu/src/matmul.
#include "twin.cuh"

namespace peers {
namespace {

// ---- matmul/mod.rs -------------------------------------------------------------------------------------------------

// A matrix: `rows` x `columns` elements, row-major, `stride` elements from one row to the next.
struct Matrix {
    float* data;
    u32 rows, columns, stride;

    // The part of at most `rows` x `columns` elements whose first element is (row, column); empty if that lies outside.
    __device__ __forceinline__ Matrix sub(u32 row, u32 column, u32 most_rows, u32 most_columns) const {
        u32 inside_rows = min(most_rows, saturating_sub(rows, row));
        u32 inside_columns = min(most_columns, saturating_sub(columns, column));
        if (inside_rows == 0 || inside_columns == 0) return {data, 0, 0, stride};
        return {data + (row * stride + column), inside_rows, inside_columns, stride};
    }

    // Element (row, column), zero outside.
    __device__ __forceinline__ float get(u32 row, u32 column) const {
        return row < rows && column < columns ? data[row * stride + column] : 0.0f;
    }

    // Writes element (row, column); outside the matrix it does nothing.
    __device__ __forceinline__ void set(u32 row, u32 column, float value) const {
        if (row < rows && column < columns) data[row * stride + column] = value;
    }
};

// ---- matmul/r1_naive.rs --------------------------------------------------------------------------------------------

constexpr u32 SIDE = 16;

__global__ void matmul_naive(float* a, u32 lda, float* b, u32 ldb, float* c, u32 ldc, u32 m, u32 n, u32 k) {
    Matrix matrix_a{a, m, k, lda}, matrix_b{b, k, n, ldb}, matrix_c{c, m, n, ldc};
    u32 row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0;
        for (u32 e = 0; e < k; e++) sum = fmaf(matrix_a.get(row, e), matrix_b.get(e, column), sum);
        matrix_c.set(row, column, sum);
    }
}

// ---- matmul/r2_shared_tile.rs --------------------------------------------------------------------------------------

constexpr u32 TILE = 16;

__global__ void __launch_bounds__(TILE* TILE)
    matmul_shared_tile(float* a, u32 lda, float* b, u32 ldb, float* c, u32 ldc, u32 m, u32 n, u32 k) {
    __shared__ float tile_a[TILE * TILE], tile_b[TILE * TILE];
    u32 x = threadIdx.x, y = threadIdx.y, first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    Matrix matrix_a{a, m, k, lda}, matrix_b{b, k, n, ldb}, matrix_c{c, m, n, ldc};
    float sum = 0;
    for (u32 t = 0; t < k; t += TILE) {
        tile_a[y * TILE + x] = matrix_a.get(first_row + y, t + x);
        tile_b[y * TILE + x] = matrix_b.get(t + y, first_column + x);
        __syncthreads();  // the tiles are complete before a thread reads them
        for (u32 e = 0; e < TILE; e++) sum = fmaf(tile_a[y * TILE + e], tile_b[e * TILE + x], sum);
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
    matrix_c.sub(first_row, first_column, TILE, TILE).set(y, x, sum);
}

// ---- the table -----------------------------------------------------------------------------------------------------

using Kernel = void (*)(float*, u32, float*, u32, float*, u32, u32, u32, u32);

template <Kernel KERNEL>
int twin_matmul(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    size_t m = call.shape[0], n = call.shape[1], k = call.shape[2];
    PEERS_REQUIRE(m * k <= UINT32_MAX && k * n <= UINT32_MAX && m * n <= UINT32_MAX, "the rung's indices are 32 bits");
    if (m == 0 || n == 0) return 0;
    dim3 grid(div_ceil(u32(n), TILE), div_ceil(u32(m), TILE));
    // The kernel's views are of memory that can be written to, as the rung's are; it only reads these two.
    float* a = const_cast<float*>(call.in<float>());
    KERNEL<<<grid, dim3(TILE, TILE), 0, call.stream>>>(a, u32(k), a + m * k, u32(n), call.out<float>(), u32(n), u32(m),
                                                       u32(n), u32(k));
    PEERS_LAUNCHED("matmul");
    return 0;
}

static_assert(SIDE == TILE, "both rungs have blocks of 16 x 16");

const Entry PEERS[] = {
    {{"twin_matmul_naive", "matmul", "one thread per element, global memory", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<matmul_naive>},
    {{"twin_matmul_shared_tile", "matmul", "tiles of 16 x 16 in shared memory", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<matmul_shared_tile>},
};

}  // namespace

Table twin_matmul_peers() { return table(PEERS); }

}  // namespace peers
