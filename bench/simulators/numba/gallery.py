"""Cases of the gallery on numba's CUDA simulator: python gallery.py [NAME ...] prints a line of JSON per case and version.

The simulator checks bounds, by NumPy. A case counts as found if a run raises an exception or does not end.
"""
import json, multiprocessing, os, sys
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy as np
from numba import cuda, uint32

FIXED = False
CASES = {}


def case(name, grid, block, *arguments):
    def register(kernel):
        CASES[name] = (kernel, grid, block, arguments)
        return kernel
    return register


def words(n):
    return np.array([((i + 1) * 0x9E3779B9 % 2**32) >> 22 for i in range(n)], dtype=np.uint32)


def raw(n):
    return np.full(n, 0xA5A5A5A5, dtype=np.uint32)


def zero(n):
    return np.zeros(n, dtype=np.uint32)


@case("no-guard", 2, 64, (words, 100), (raw, 100))
def no_guard(x, y):
    i = cuda.grid(1)
    if not FIXED or i < x.size:
        y[i] = x[i] + 1


@case("guard-by-one", 2, 64, (words, 100), (raw, 100))
def guard_by_one(x, y):
    i = cuda.grid(1)
    if i < x.size or not FIXED and i <= x.size:
        y[i] = x[i] + 1


@case("before-the-first", 2, 64, (words, 128), (raw, 128))
def before_the_first(x, y):
    i = cuda.grid(1)
    y[i] = x[i] + (0 if FIXED and i == 0 else x[i - 1])


@case("reverse-by-one", 2, 64, (words, 128), (raw, 128))
def reverse_by_one(x, y):
    i = cuda.grid(1)
    y[x.size - 1 - i if FIXED else x.size - i] = x[i]


@case("shared-seam", 2, 64, (words, 192), (raw, 128))
def shared_seam(x, y):
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile = cuda.shared.array(65 if FIXED else 64, uint32)
    tile[t] = x[i]
    if t == 0:
        tile[64] = x[i + 64]
    cuda.syncthreads()
    y[i] = tile[t] + tile[t + 1]


@case("bin-that-is-not-there", 2, 64, (words, 128), (zero, 10))
def bin_that_is_not_there(x, y):
    i = cuda.grid(1)
    key = 1000 if i == 77 else min(x[i], 999)
    cuda.atomic.add(y, int(key) // (101 if FIXED else 100), 1)


@case("neighbour-of-the-last", 1, 32, (words, 33))
def neighbour_of_the_last(x):
    at = 2 * cuda.grid(1)
    if at + 1 < x.size or not FIXED and at < x.size:
        a, b = x[at], x[at + 1]
        x[at], x[at + 1] = min(a, b), max(a, b)


@case("left-neighbour", 1, 64, (words, 64), (raw, 64))
def left_neighbour(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    tile[t] = x[t]
    if FIXED:
        cuda.syncthreads()
    y[t] = tile[(t + 63) % 64]


@case("shift-in-place", 1, 64, (words, 64), (raw, 64))
def shift_in_place(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    tile[t] = x[t]
    cuda.syncthreads()
    after = tile[(t + 1) % 64]
    if FIXED:
        cuda.syncthreads()
    tile[t] = after
    y[t] = tile[t]


@case("scan-in-place", 1, 64, (words, 64), (raw, 64))
def scan_in_place(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    tile[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < 64:
        before = tile[t - d] if t >= d else 0
        if FIXED:
            cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
        d *= 2
    y[t] = tile[t]


@case("tree-level", 1, 64, (words, 64), (raw, 1))
def tree_level(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    tile[t] = x[t]
    cuda.syncthreads()
    d = 32
    while d > 0:
        if t < d:
            tile[t] += tile[t + d]
        if FIXED:
            cuda.syncthreads()
        d //= 2
    if t == 0:
        y[0] = tile[0]


@case("one-writes-all-read", 1, 64, (words, 64), (raw, 64))
def one_writes_all_read(x, y):
    t = cuda.threadIdx.x
    one = cuda.shared.array(1, uint32)
    if t == 0:
        one[0] = x[0]
    if FIXED:
        cuda.syncthreads()
    y[t] = x[t] + one[0]


@case("histogram-get-set", 1, 64, (words, 64), (raw, 16))
def histogram_get_set(x, y):
    t = cuda.threadIdx.x
    bins = cuda.shared.array(16, uint32)
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    if FIXED:
        cuda.atomic.add(bins, x[t] % 16, 1)
    else:
        bins[x[t] % 16] += 1
    cuda.syncthreads()
    if t < 16:
        y[t] = bins[t]


@case("everyone-raises-the-flag", 1, 64, (words, 64), (raw, 64))
def everyone_raises_the_flag(x, y):
    t = cuda.threadIdx.x
    one = cuda.shared.array(1, uint32)
    if t == 0:
        one[0] = 0
    cuda.syncthreads()
    if x[t] > 500:
        if FIXED:
            cuda.atomic.exch(one, 0, 1)
        else:
            one[0] = 1
    cuda.syncthreads()
    y[t] = one[0]


@case("bins-not-cleared", 1, 64, (words, 64), (raw, 16))
def bins_not_cleared(x, y):
    t = cuda.threadIdx.x
    bins = cuda.shared.array(16, uint32)
    if FIXED:
        if t < 16:
            bins[t] = 0
        cuda.syncthreads()
    cuda.atomic.add(bins, x[t] % 16, 1)
    cuda.syncthreads()
    if t < 16:
        y[t] = bins[t]


@case("incomplete-tile", 1, 64, (words, 50), (raw, 1))
def incomplete_tile(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    if t < x.size:
        tile[t] = x[t]
    elif FIXED:
        tile[t] = 0
    d = 32
    while d > 0:
        cuda.syncthreads()
        if t < d:
            tile[t] += tile[t + d]
        d //= 2
    if t == 0:
        y[0] = tile[0]


@case("barrier-in-a-branch", 1, 64, (words, 50), (raw, 50))
def barrier_in_a_branch(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    if t < x.size:
        tile[t] = x[t]
        if not FIXED:
            cuda.syncthreads()
    if FIXED:
        cuda.syncthreads()
    if t < x.size:
        y[t] = tile[x.size - 1 - t]


@case("two-barriers", 1, 64, (words, 64), (raw, 64))
def two_barriers(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    if t % 2 == 0:
        tile[t] = x[t]
        if not FIXED:
            cuda.syncthreads()
    else:
        tile[t] = 2 * x[t]
        if not FIXED:
            cuda.syncthreads()
    if FIXED:
        cuda.syncthreads()
    y[t] = tile[t ^ 1]


@case("return-before-the-barrier", 1, 64, (words, 50), (raw, 50))
def return_before_the_barrier(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, uint32)
    if not FIXED and t >= x.size:
        return
    tile[t] = x[t] if t < x.size else 0
    cuda.syncthreads()
    if t < x.size:
        y[t] = tile[x.size - 1 - t]


@case("histogram-across-blocks", 4, 32, (words, 128), (zero, 16))
def histogram_across_blocks(x, y):
    i = cuda.grid(1)
    if FIXED:
        cuda.atomic.add(y, x[i] % 16, 1)
    else:
        y[x[i] % 16] += 1


@case("global-shift", 4, 32, (words, 128), (words, 128))
def global_shift(x, y):
    i = cuda.grid(1)
    source = x if FIXED else y
    y[i] = source[min(i + 1, 127)]


@case("local-index", 4, 32, (words, 128), (raw, 128))
def local_index(x, y):
    i = cuda.grid(1)
    y[i if FIXED else cuda.threadIdx.x] = 2 * x[i]


@case("counter-read-plainly", 4, 32, (words, 128), (zero, 1), (raw, 128))
def counter_read_plainly(x, count, late):
    i = cuda.grid(1)
    if x[i] % 2 == 1:
        cuda.atomic.add(count, 0, 1)
    seen = cuda.atomic.add(count, 0, 0) if FIXED else count[0]
    late[i] = seen <= 128


@case("tail-of-four", 1, 32, (words, 103), (raw, 103))
def tail_of_four(x, y):
    i, n = cuda.grid(1), x.size
    if i < n // 4:
        for k in range(4):
            y[4 * i + k] = x[4 * i + k]
    if FIXED and i < n % 4:
        y[n // 4 * 4 + i] = x[n // 4 * 4 + i]


def run(name, fixed, queue):
    global FIXED
    FIXED = fixed
    kernel, grid, block, arguments = CASES[name]
    try:
        cuda.jit(kernel)[grid, block](*[make(n) for make, n in arguments])
        queue.put("")
    except BaseException as error:
        queue.put(f"{type(error).__name__}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        for fixed in (False, True):
            queue = multiprocessing.Queue()
            process = multiprocessing.Process(target=run, args=(name, fixed, queue))
            process.start()
            process.join(20)
            hangs = process.is_alive()
            process.kill()
            said = "does not end" if hangs else queue.get(timeout=5)
            print(json.dumps({"case": name, "fixed": fixed, "said": said}), flush=True)
