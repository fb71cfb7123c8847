// Twins of the matrix products: gpu/matmul/src.
#include "twin.cuh"

namespace peers {
namespace {

// ---- matmul/mod.rs -------------------------------------------------------------------------------------------------

struct Steps {
    u32 row, column, batch;
};

struct Shape {
    u32 m, n, k, batch;
    Steps a, b, c;
    float alpha, beta;
};

// A matrix: element (i, j) is row_step * i + column_step * j elements behind the first.
struct Matrix {
    float* data;
    u32 rows, columns, row_step, column_step;

    __device__ __forceinline__ u32 place(u32 row, u32 column) const { return row * row_step + column * column_step; }

    // Element (row, column), zero outside.
    __device__ __forceinline__ float get(u32 row, u32 column) const {
        return row < rows && column < columns ? data[place(row, column)] : 0.0f;
    }

    __device__ __forceinline__ bool has_packs() const {
        return size_t(data) % 16 == 0 && column_step == 1 && row_step % 4 == 0;
    }

    // Four elements of a row, zero outside.
    __device__ __forceinline__ float4 get_4(u32 row, u32 column, bool packs) const {
        if (packs && row < rows && column + 4 <= columns)
            return reinterpret_cast<float4*>(data)[place(row, column) / 4];
        return make_float4(get(row, column), get(row, column + 1), get(row, column + 2), get(row, column + 3));
    }
};

struct Output {
    Matrix c;
    float alpha, beta;

    __device__ __forceinline__ float combined(float old, float sum) const {
        return beta != 0.0f ? fmaf(beta, old, alpha * sum) : alpha * sum;
    }

    __device__ __forceinline__ void set(u32 row, u32 column, float sum) const {
        if (row < c.rows && column < c.columns) {
            u32 at = c.place(row, column);
            c.data[at] = combined(beta != 0.0f ? c.data[at] : 0.0f, sum);
        }
    }

    __device__ __forceinline__ void set_4(u32 row, u32 column, const float* sums, bool packs) const {
        if (packs && row < c.rows && column + 4 <= c.columns) {
            float4* at = reinterpret_cast<float4*>(c.data) + c.place(row, column) / 4;
            float4 old = beta != 0.0f ? *at : make_float4(0, 0, 0, 0);
            *at = make_float4(combined(old.x, sums[0]), combined(old.y, sums[1]), combined(old.z, sums[2]),
                              combined(old.w, sums[3]));
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; i++) set(row, column + i, sums[i]);
        }
    }
};

struct Task {
    u32 row, column;
    Matrix a, b;
    Output c;
};

// The task of the block, where blocks have tiles of `rows` x `columns`.
__device__ __forceinline__ Task task(const Shape& s, u32 rows, u32 columns, float* a, float* b, float* c) {
    u32 down = div_ceil(s.m, rows), along = div_ceil(s.n, columns);
    u32 product = blockIdx.x / (down * along), tile = blockIdx.x % (down * along);
    Matrix of_a{a + product * s.a.batch, s.m, s.k, s.a.row, s.a.column};
    Matrix of_b{b + product * s.b.batch, s.k, s.n, s.b.row, s.b.column};
    Matrix of_c{c + product * s.c.batch, s.m, s.n, s.c.row, s.c.column};
    return {tile / along * rows, tile % along * columns, of_a, of_b, {of_c, s.alpha, s.beta}};
}

// ---- matmul/registers.rs -------------------------------------------------------------------------------------------

template <u32 M, u32 N>
__device__ __forceinline__ void add_outer(float (&sums)[M][N], const float (&a)[M], const float (&b)[N]) {
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 step = 0; step < M; step++) {
            u32 i = j % 2 == 0 ? step : M - 1 - step;
            sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
}

// ---- matmul/r1_naive.rs, r2_coalesced.rs ---------------------------------------------------------------------------

// The sum of the products of the k elements of a row and of a column.
__device__ __forceinline__ float dot(const Matrix& a, u32 row, const Matrix& b, u32 column, u32 k) {
    if (k == 0) return 0;
    const float *of_a = a.data + a.place(row, 0), *of_b = b.data + b.place(0, column);
    float sum = 0;
    for (u32 behind = k - 1; behind > 0; behind--) {
        sum = fmaf(*of_a, *of_b, sum);
        of_a += a.column_step;
        of_b += b.row_step;
    }
    return fmaf(*of_a, *of_b, sum);
}

// Blocks of ROWS x COLUMNS elements; x counts columns if COALESCED, else rows.
template <u32 ROWS, u32 COLUMNS, bool COALESCED>
__global__ void one_element(float* a, float* b, float* c, Shape s) {
    Task t = task(s, ROWS, COLUMNS, a, b, c);
    u32 row = t.row + (COALESCED ? threadIdx.y : threadIdx.x);
    u32 column = t.column + (COALESCED ? threadIdx.x : threadIdx.y);
    if (row < s.m && column < s.n) t.c.set(row, column, dot(t.a, row, t.b, column, s.k));
}

// ---- matmul/r3_shared_tile.rs, r4_wide_tile.rs ---------------------------------------------------------------------

template <u32 TILE>
__global__ void __launch_bounds__(TILE* TILE) shared_tile(float* a, float* b, float* c, Shape s) {
    __shared__ float tile_a[TILE * TILE], tile_b[TILE * TILE];
    Task t = task(s, TILE, TILE, a, b, c);
    u32 x = threadIdx.x, y = threadIdx.y, row = t.row + y, column = t.column + x;
    float sum = 0;
    for (u32 k = 0; k < s.k; k += TILE) {
        float of_a = t.a.get(row, k + x), of_b = t.b.get(k + y, column);
        tile_a[y * TILE + x] = of_a;
        tile_b[y * TILE + x] = of_b;
        __syncthreads();  // the tiles are complete before a thread reads them
        for (u32 e = 0; e < TILE; e++) sum = fmaf(tile_a[y * TILE + e], tile_b[e * TILE + x], sum);
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
    t.c.set(row, column, sum);
}

// ---- matmul/r5_thread_column.rs ------------------------------------------------------------------------------------

__global__ void __launch_bounds__(512) thread_column(float* a, float* b, float* c, Shape s) {
    constexpr u32 TILE = 64, DEPTH = 8, ROWS = 8;
    __shared__ float tile_a[TILE * DEPTH], tile_b[DEPTH * TILE];
    Task t = task(s, TILE, TILE, a, b, c);
    u32 thread = threadIdx.x, row = thread / TILE * ROWS, column = thread % TILE;
    float sums[ROWS][1] = {};
    for (u32 k = 0; k < s.k; k += DEPTH) {
        tile_a[thread] = t.a.get(t.row + thread / DEPTH, k + thread % DEPTH);
        tile_b[thread] = t.b.get(k + thread / TILE, t.column + column);
        __syncthreads();  // the tiles are complete before a thread reads them
        for (u32 e = 0; e < DEPTH; e++) {
            float of_a[ROWS], of_b[1] = {tile_b[e * TILE + column]};
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) of_a[i] = tile_a[(row + i) * DEPTH + e];
            add_outer(sums, of_a, of_b);
        }
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) t.c.set(t.row + row + i, t.column + column, sums[i][0]);
}

// ---- matmul/r6_thread_tile.rs --------------------------------------------------------------------------------------

__global__ void __launch_bounds__(256, 2) thread_tile(float* a, float* b, float* c, Shape s) {
    constexpr u32 TILE = 128, DEPTH = 8, SUMS = 8, APART = TILE / SUMS, BLOCK = 256, COPIES = TILE * DEPTH / BLOCK;
    __shared__ float tile_a[TILE * DEPTH], tile_b[DEPTH * TILE];
    Task t = task(s, TILE, TILE, a, b, c);
    u32 thread = threadIdx.x, x = thread % APART, y = thread / APART;
    float sums[SUMS][SUMS] = {};
    for (u32 k = 0; k < s.k; k += DEPTH) {
        float from_a[COPIES], from_b[COPIES];
#pragma unroll
        for (u32 i = 0; i < COPIES; i++) {
            u32 place = i * BLOCK + thread;
            from_a[i] = t.a.get(t.row + place / DEPTH, k + place % DEPTH);
            from_b[i] = t.b.get(k + place / TILE, t.column + place % TILE);
        }
#pragma unroll
        for (u32 i = 0; i < COPIES; i++) {
            tile_a[i * BLOCK + thread] = from_a[i];
            tile_b[i * BLOCK + thread] = from_b[i];
        }
        __syncthreads();  // the tiles are complete before a thread reads them
        for (u32 e = 0; e < DEPTH; e++) {
            float of_a[SUMS], of_b[SUMS];
#pragma unroll
            for (u32 i = 0; i < SUMS; i++) of_a[i] = tile_a[(y + APART * i) * DEPTH + e];
#pragma unroll
            for (u32 j = 0; j < SUMS; j++) of_b[j] = tile_b[e * TILE + x + APART * j];
            add_outer(sums, of_a, of_b);
        }
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
#pragma unroll
    for (u32 i = 0; i < SUMS; i++)
#pragma unroll
        for (u32 j = 0; j < SUMS; j++) t.c.set(t.row + y + APART * i, t.column + x + APART * j, sums[i][j]);
}

// ---- matmul/r7_vector_loads.rs -------------------------------------------------------------------------------------

// The four elements at `from`, and those `apart` behind.
__device__ __forceinline__ void two_fours(float (&to)[8], const float* tile, u32 from, u32 apart) {
    float4 a = *reinterpret_cast<const float4*>(tile + from), b = *reinterpret_cast<const float4*>(tile + from + apart);
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w, to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}

// Writes the 8 x 8 elements of a thread, whose fours are so far apart.
__device__ __forceinline__ void store_fours(const Output& c, u32 row, u32 column, u32 down, u32 along,
                                            const float (&sums)[8][8]) {
    bool packs = c.c.has_packs();
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 at = row + i % 4 + i / 4 * down;
        c.set_4(at, column, sums[i], packs);
        c.set_4(at, column + along, sums[i] + 4, packs);
    }
}

__global__ void __launch_bounds__(256, 2) vector_loads(float* a, float* b, float* c, Shape s) {
    constexpr u32 TILE = 128, DEPTH = 8, STRIDE_A = TILE + 4, APART = TILE / 2, ACROSS = 16;
    __shared__ __align__(16) float tile_a[DEPTH * STRIDE_A], tile_b[DEPTH * TILE];
    Task t = task(s, TILE, TILE, a, b, c);
    u32 thread = threadIdx.x, x = thread % ACROSS * 4, y = thread / ACROSS * 4;
    bool packs_a = t.a.has_packs(), packs_b = t.b.has_packs();
    float sums[8][8] = {};
    for (u32 k = 0; k < s.k; k += DEPTH) {
        u32 row = thread / (DEPTH / 4), from = thread % (DEPTH / 4) * 4;
        float4 of_a = t.a.get_4(t.row + row, k + from, packs_a);
        float4 of_b = t.b.get_4(k + thread / (TILE / 4), t.column + thread % (TILE / 4) * 4, packs_b);
        tile_a[from * STRIDE_A + row] = of_a.x, tile_a[(from + 1) * STRIDE_A + row] = of_a.y;
        tile_a[(from + 2) * STRIDE_A + row] = of_a.z, tile_a[(from + 3) * STRIDE_A + row] = of_a.w;
        reinterpret_cast<float4*>(tile_b)[thread] = of_b;
        __syncthreads();  // the tiles are complete before a thread reads them
#pragma unroll
        for (u32 e = 0; e < DEPTH; e++) {
            float fours_a[8], fours_b[8];
            two_fours(fours_a, tile_a, e * STRIDE_A + y, APART);
            two_fours(fours_b, tile_b, e * TILE + x, APART);
            add_outer(sums, fours_a, fours_b);
        }
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
    store_fours(t.c, t.row + y, t.column + x, APART, APART, sums);
}

// ---- matmul/r8_warp_tile.rs ----------------------------------------------------------------------------------------

constexpr u32 WARP_TILE = 128, WARP_DEPTH = 16, WARP_STRIDE_A = WARP_TILE + 4, WARP_BLOCK = 256;
constexpr u32 WARP_DOWN = 64, WARP_ALONG = 32, LANES_ALONG = 4;

__device__ __forceinline__ void place_in_warp(u32 thread, u32& row, u32& column) {
    u32 lane = thread % 32, number = thread / 32, across = WARP_TILE / WARP_ALONG;
    row = number / across * WARP_DOWN + lane / LANES_ALONG * 4;
    column = number % across * WARP_ALONG + lane % LANES_ALONG * 4;
}

__device__ __forceinline__ void multiply_warp(const float* tile_a, const float* tile_b, float (&sums)[8][8]) {
#pragma unroll
    for (u32 e = 0; e < WARP_DEPTH; e++) {
        float fours_a[8], fours_b[8];
        two_fours(fours_a, tile_a, e * WARP_STRIDE_A, WARP_DOWN / 2);
        two_fours(fours_b, tile_b, e * WARP_TILE, WARP_ALONG / 2);
        add_outer(sums, fours_a, fours_b);
    }
}

__global__ void __launch_bounds__(WARP_BLOCK, 2) warp_tile(float* a, float* b, float* c, Shape s) {
    constexpr u32 COPIES = WARP_TILE * WARP_DEPTH / 4 / WARP_BLOCK;
    __shared__ __align__(16) float tile_a[WARP_DEPTH * WARP_STRIDE_A], tile_b[WARP_DEPTH * WARP_TILE];
    Task t = task(s, WARP_TILE, WARP_TILE, a, b, c);
    u32 thread = threadIdx.x, row, column;
    place_in_warp(thread, row, column);
    bool packs_a = t.a.has_packs(), packs_b = t.b.has_packs();
    float sums[8][8] = {};
    for (u32 k = 0; k < s.k; k += WARP_DEPTH) {
        float4 of_a[COPIES], of_b[COPIES];
        u32 row_a = thread / 2;
#pragma unroll
        for (u32 i = 0; i < COPIES; i++) {
            u32 from = (thread % 2 + 2 * i) * 4, place = i * WARP_BLOCK + thread;
            of_a[i] = t.a.get_4(t.row + row_a, k + from, packs_a);
            of_b[i] = t.b.get_4(k + place / (WARP_TILE / 4), t.column + place % (WARP_TILE / 4) * 4, packs_b);
        }
#pragma unroll
        for (u32 i = 0; i < COPIES; i++) {
            float* to = tile_a + (thread % 2 + 2 * i) * 4 * WARP_STRIDE_A + row_a;
            to[0] = of_a[i].x, to[WARP_STRIDE_A] = of_a[i].y;
            to[2 * WARP_STRIDE_A] = of_a[i].z, to[3 * WARP_STRIDE_A] = of_a[i].w;
            reinterpret_cast<float4*>(tile_b)[i * WARP_BLOCK + thread] = of_b[i];
        }
        __syncthreads();  // the tiles are complete before a thread reads them
        multiply_warp(tile_a + row, tile_b + column, sums);
        __syncthreads();  // no thread needs the tiles any more when they are overwritten
    }
    store_fours(t.c, t.row + row, t.column + column, WARP_DOWN / 2, WARP_ALONG / 2, sums);
}

// ---- matmul/r9_async_copy.rs ---------------------------------------------------------------------------------------

__device__ __forceinline__ u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void copy_one(const Matrix& from, u32 row, u32 column, float* to) {
    u32 there = row < from.rows && column < from.columns ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)),
                 "l"(from.data + from.place(row, column)), "r"(there) : "memory");
}

__device__ __forceinline__ void copy_tiles(const Task& t, u32 k, u32 thread, bool packs, float* tile_a, float* tile_b) {
    constexpr u32 COPIES = WARP_TILE * WARP_DEPTH / WARP_BLOCK;
#pragma unroll
    for (u32 i = 0; i < COPIES; i++) {
        u32 place = i * WARP_BLOCK + thread, row = place / WARP_DEPTH, e = place % WARP_DEPTH;
        copy_one(t.a, t.row + row, k + e, tile_a + e * WARP_STRIDE_A + row);
    }
#pragma unroll
    for (u32 i = 0; i < COPIES / 4; i++) {
        u32 place = i * WARP_BLOCK + thread;
        u32 row = k + place / (WARP_TILE / 4), column = t.column + place % (WARP_TILE / 4) * 4;
        if (packs) {
            u32 inside = row < t.b.rows ? min(saturating_sub(t.b.columns, column), 4u) : 0;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(tile_b + 4 * place)),
                         "l"(t.b.data + t.b.place(row, column)), "r"(inside * 4) : "memory");
        } else {
#pragma unroll
            for (u32 j = 0; j < 4; j++) copy_one(t.b, row, column + j, tile_b + 4 * place + j);
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__global__ void __launch_bounds__(WARP_BLOCK, 2) async_copy(float* a, float* b, float* c, Shape s) {
    constexpr u32 SIZE_A = WARP_DEPTH * WARP_STRIDE_A, SIZE_B = WARP_DEPTH * WARP_TILE;
    __shared__ __align__(16) float tiles_a[2 * SIZE_A], tiles_b[2 * SIZE_B];
    Task t = task(s, WARP_TILE, WARP_TILE, a, b, c);
    u32 thread = threadIdx.x, row, column, stage = 0;
    place_in_warp(thread, row, column);
    bool packs = t.b.has_packs();
    float sums[8][8] = {};
    copy_tiles(t, 0, thread, packs, tiles_a, tiles_b);
    for (u32 k = 0; k < s.k; k += WARP_DEPTH, stage ^= 1) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();  // this pair of tiles is complete, and no thread needs the other pair any more
        u32 other = stage ^ 1;
        copy_tiles(t, k + WARP_DEPTH, thread, packs, tiles_a + other * SIZE_A, tiles_b + other * SIZE_B);
        multiply_warp(tiles_a + stage * SIZE_A + row, tiles_b + stage * SIZE_B + column, sums);
    }
    store_fours(t.c, t.row + row, t.column + column, WARP_DOWN / 2, WARP_ALONG / 2, sums);
}

// ---- the table -----------------------------------------------------------------------------------------------------

using Kernel = void (*)(float*, float*, float*, Shape);

// A kernel whose blocks of X x Y threads have tiles of ROWS x COLUMNS elements.
template <Kernel KERNEL, u32 ROWS, u32 COLUMNS, u32 X, u32 Y>
int twin_matmul(const Call& call) {
    if (asks_for_size(call, 1)) return 0;
    size_t m = call.shape[0], n = call.shape[1], k = call.shape[2];
    PEERS_REQUIRE(m * k <= UINT32_MAX && k * n <= UINT32_MAX && m * n <= UINT32_MAX, "the rung's indices are 32 bits");
    if (m == 0 || n == 0) return 0;
    Shape shape{u32(m), u32(n), u32(k), 1, {u32(k), 1, 0}, {u32(n), 1, 0}, {u32(n), 1, 0}, 1.0f, 0.0f};
    u32 blocks = div_ceil(u32(m), ROWS) * div_ceil(u32(n), COLUMNS);
    // The kernel's views are of memory that can be written to, as the rung's are; it only reads these two.
    float* a = const_cast<float*>(call.in<float>());
    KERNEL<<<blocks, dim3(X, Y), 0, call.stream>>>(a, a + m * k, call.out<float>(), shape);
    PEERS_LAUNCHED("matmul");
    return 0;
}

const Entry PEERS[] = {
    {{"twin_matmul_naive", "matmul", "one thread per element, neighbours in a column", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<one_element<16, 16, false>, 16, 16, 16, 16>},
    {{"twin_matmul_coalesced", "matmul", "one thread per element, neighbours in a row", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<one_element<8, 32, true>, 8, 32, 32, 8>},
    {{"twin_matmul_shared_tile", "matmul", "tiles of 16 x 16 in shared memory", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<shared_tile<16>, 16, 16, 16, 16>},
    {{"twin_matmul_wide_tile", "matmul", "tiles of 32 x 32 in shared memory", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<shared_tile<32>, 32, 32, 32, 32>},
    {{"twin_matmul_thread_column", "matmul", "eight elements per thread", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<thread_column, 64, 64, 512, 1>},
    {{"twin_matmul_thread_tile", "matmul", "8 x 8 elements per thread", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<thread_tile, 128, 128, 256, 1>},
    {{"twin_matmul_vector_loads", "matmul", "16 bytes per load", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<vector_loads, 128, 128, 256, 1>},
    {{"twin_matmul_warp_tile", "matmul", "a tile of 64 x 32 per warp", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<warp_tile, 128, 128, 256, 1>},
    {{"twin_matmul_async_copy", "matmul", "double buffer by cp.async", "f32", 0},
     3, matmul_bytes<float, float>, twin_matmul<async_copy, 128, 128, 256, 1>},
};

}  // namespace

Table twin_matmul_peers() { return table(PEERS); }

}  // namespace peers
