"""The bitonic sort of 256 keys per block on numba's CUDA simulator: prints elements per second."""
import os, sys, time
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy as np
from numba import cuda, uint32


@cuda.jit
def bitonic(keys):
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile = cuda.shared.array(256, uint32)
    tile[t] = keys[i]
    cuda.syncthreads()
    stage = 2
    while stage <= 256:
        distance = stage // 2
        while distance > 0:
            partner = t ^ distance
            if partner > t:
                a, b = tile[t], tile[partner]
                if (a > b) == (t & stage == 0):
                    tile[t], tile[partner] = b, a
            cuda.syncthreads()
            distance //= 2
        stage *= 2
    keys[i] = tile[t]


n = int(sys.argv[1])
keys = np.random.default_rng(1).integers(0, 2**32, n, dtype=np.uint32)
start = time.perf_counter()
bitonic[n // 256, 256](keys)
seconds = time.perf_counter() - start
for block in keys.reshape(-1, 256):
    assert (np.sort(block) == block).all()
print(n / seconds)
