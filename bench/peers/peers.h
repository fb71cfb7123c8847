/* Peers: what our Rust kernels are measured beside. NVIDIA's libraries (CUB, Thrust, cuBLAS), CUDA C++ twins of our
 * rungs, and the algorithms of the sources that the rungs come from, all behind one C function, so that a Rust program
 * can open them at run time.
 *
 * Build, in this folder, on the machine with the GPU (CUDA 13.0; about 40 s). cublasLt comes with cublas, which is
 * built on it:
 *
 *     nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -arch=native -o libpeers.so *.cu -lcublas -lcublasLt
 *
 * and the check of every peer against the CPU, on the library just built:
 *
 *     nvcc -O2 -std=c++17 -arch=native -DRUNGS_PEERS_SELFTEST -o selftest selftest.cu ./libpeers.so && ./selftest
 *
 * The library works in whatever context is current on the calling thread. It expects the device's primary context,
 * which the CUDA runtime inside it shares with the caller: pointers and streams made through the driver API are good.
 *
 * How to run a peer:
 *   1. size_t bytes; rungs_peer_run(name, NULL, NULL, NULL, &bytes, shape, shape_len, stream)   asks for scratch size
 *   2. allocate `bytes` (at least 1) of device memory, aligned as cudaMalloc aligns
 *   3. rungs_peer_run(name, input, output, temp, &bytes, shape, shape_len, stream)              enqueues the work
 *
 * The scratch is all the device memory that a call needs beside input and output; only cuBLAS's handle has some of its
 * own. So it is what a peer's use of memory is compared by.
 *
 * Step 1 also does what must not be timed (a cuBLAS handle is created there, CUB learns the device). Step 3 neither
 * allocates nor synchronises; it may be repeated with the same scratch, which needs no clearing in between. The first
 * step 3 of a shape by a peer whose name ends with "_best" must not be timed either, and it waits for the device: it
 * times the algorithms that the library proposes, on the caller's data, and keeps the fastest for all later calls.
 */
#ifndef RUNGS_PEERS_H
#define RUNGS_PEERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One peer. All strings live as long as the library.
 *
 * family    what it does, and with that the meaning of shape, input and output:
 *
 *   family     shape        input                            output
 *   sort       n            n keys (pairs: then n u32 values) the same, sorted; stable
 *   bubble     n            n keys                           in place
 *   bitonic    n            n keys                           in place
 *   odd-even   n            n keys                           in place
 *   radix      n, columns   n keys                           in place; one block, so n is bounded by shared memory
 *                                                            (about 28,000 on an H200)
 *   scan       n            n elements                       n elements
 *   reduce     n            n elements                       1 element of the same type; integer sums wrap
 *   cubes      n            n u32                            u64 partial sums, as many as rungs_peer_bytes has room
 *                                                            for on the current device: the host adds them
 *   select     n            n elements                       those less than element n / 2, in order, in room for n;
 *                                                            then an element whose first 4 bytes are their number
 *   partition  n            n elements                       those less than element n / 2, in order, then the others,
 *                                                            the last one first; then an element with the number of
 *                                                            the first, as of select
 *   unique     n            n elements                       the first of each run of elements with the same bits; room
 *                                                            and number as of select
 *   run-lengths n           n elements                       the same, and behind the number n words of 4 bytes, the
 *                                                            first of which are the lengths of the runs
 *   reduce-by-key n         n elements, then n words of 4    the same, with the sum of the words of each run in place
 *                           bytes, up to a whole element     of its length
 *   top-k      n, k         n keys                           the k largest in any order, in room for n, the rest of
 *                                                            which is unspecified
 *   segmented-sort
 *              n, segments  n keys, then segments + 1 u32:   the same, each segment sorted
 *                           where each segment begins and
 *                           where the last one ends
 *   histogram  n, bins      n samples                        bins u32 counts; samples past the last bin are not
 *                                                            counted; CUB's of u8 wants bins = 256
 *   matmul     m, n, k      A (m x k), then B (k x n)        C (m x n), all row-major and without gaps; "_best"
 *                                                            wants input and output that begin at 256 bytes
 *   matmul-fp8 m, n, k     A (m x k), then B by columns,    C (m x n), row-major
 *                          that is its transpose (n x k);
 *                          n and k are multiples of 16
 *   copy       n            n bytes                          n bytes
 *
 *   "sort" is a peer of every sorting family. Beside the libraries there are two kinds, told by their names, each with
 *   the family of a rung:
 *
 *   - "twin_" + the rung's kernel symbol, with the type at the end where there are several: the rung's own kernels and
 *     launches in CUDA C++ (twins_*.cu). A difference in time is a difference between compilers.
 *   - "source_" + the same: the algorithm of the source that the rung comes from, in the source's own shape of grid and
 *     block (sources.cu). A difference in time is a difference between algorithms.
 * what      the call, or the algorithm, in one line
 * dtype     u8 u32 i32 u64 i64 f32 f64 f16 bf16 e4m3: of the input's elements; matmul gives the same, in bf16 also f32
 *           where `what` says so; matmul-fp8 gives what `what` says
 * in_place  1: the caller has put the data into output and passes input == output; 0: the input is left as it is and
 *           must not overlap the output
 */
typedef struct {
    const char* name;
    const char* family;
    const char* what;
    const char* dtype;
    int in_place;
} RungsPeer;

/* Points *out at the list of all peers and returns how many there are. */
int rungs_peers_list(const RungsPeer** out);

/* What the library was made of, in one line: versions of the compiler and of NVIDIA's libraries. */
const char* rungs_peers_about(void);

/* Bytes of input and of output for a shape, so that a caller needs no table of its own. 0 = ok. */
int rungs_peer_bytes(const char* name, const size_t* shape, size_t shape_len, size_t* input_bytes,
                     size_t* output_bytes);

/* Runs a peer on `stream` (a CUstream); temp == NULL only writes *temp_bytes, and then input and output may be NULL.
 * Every number of a shape is at most 2^31 - 1, and 0 is fine (bins and columns are at least 1). Who cannot take a shape
 * says so when it is asked for the scratch size.
 * Returns 0, or the cudaError_t or cublasStatus_t of what failed (1, cudaErrorInvalidValue, for an unusable call);
 * rungs_peer_error() has the text. */
int rungs_peer_run(const char* name, const void* input, void* output, void* temp, size_t* temp_bytes,
                   const size_t* shape, size_t shape_len, void* stream);

/* The last failure on this thread: the call, file and line, and NVIDIA's text. "" when there was none. */
const char* rungs_peer_error(void);

#ifdef __cplusplus
}
#endif

#endif
