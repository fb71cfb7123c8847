#!/bin/sh
# Runs Rungs on a GPU machine without Rust. What each task does: README.txt.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
rungs=$here/bin/rungs
library=$here/peers/libpeers.so

# For the test programs and for `rungs bench --peers`.
export RUNGS_BIN="$rungs"
export RUNGS_PEERS="$library"

usage() {
    echo "usage: run.sh all|test|bench|sanitize [arguments for rungs]" >&2
    exit 2
}

# Every test program, all of them even if one fails; then the examples with other crates, which need a GPU.
run_tests() {
    failed=
    for test in "$here"/bin/tests/*; do
        echo "== ${test##*/}"
        "$test" "$@" || failed="$failed ${test##*/}"
    done
    for example in "$here"/bin/examples/*; do
        echo "== ${example##*/}"
        code=0
        "$example" || code=$?
        # 3: there is no GPU, as the example says.
        [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || failed="$failed ${example##*/}"
    done
    if [ -n "$failed" ]; then
        echo "failed:$failed" >&2
        exit 1
    fi
    echo "all test programs passed"
}

# NVIDIA's libraries and the CUDA C++ twins, for exactly this machine's GPU.
build_peers() {
    nvcc=$(command -v nvcc || true)
    for toolkit in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        if [ -z "$nvcc" ] && [ -n "$toolkit" ] && [ -x "$toolkit/bin/nvcc" ]; then
            nvcc=$toolkit/bin/nvcc
        fi
    done
    if [ -z "$nvcc" ]; then
        echo "no nvcc in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda: measuring without peers" >&2
        return 1
    fi
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ')
    if [ -z "$capability" ]; then
        echo "nvidia-smi names no GPU: measuring without peers" >&2
        return 1
    fi
    stamp=$library.for
    if [ -f "$library" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$capability" ]; then
        return 0
    fi
    echo "building the peers for compute capability $capability" >&2
    "$nvcc" -O3 -std=c++17 -shared -Xcompiler -fPIC -t 0 -gencode "arch=compute_$capability,code=sm_$capability" \
        -o "$library" "$here"/peers/*.cu -lcublas -lcublasLt
    echo "$capability" > "$stamp"
}

# The four tools of compute-sanitizer over every rung; small, because they slow a kernel down by 10 to 100 times.
sanitize() {
    sanitizer=$(command -v compute-sanitizer || true)
    if [ -z "$sanitizer" ] && [ -x /usr/local/cuda/bin/compute-sanitizer ]; then
        sanitizer=/usr/local/cuda/bin/compute-sanitizer
    fi
    if [ -z "$sanitizer" ]; then
        echo "no compute-sanitizer in PATH or /usr/local/cuda/bin; it comes with the CUDA toolkit" >&2
        exit 3
    fi
    [ $# -gt 0 ] || set -- --n 5000
    failed=
    for tool in memcheck racecheck initcheck synccheck; do
        echo "== $tool"
        "$sanitizer" --tool "$tool" --error-exitcode 1 "$rungs" all --device cuda "$@" || failed="$failed $tool"
    done
    if [ -n "$failed" ]; then
        echo "failed:$failed" >&2
        exit 1
    fi
    echo "all four tools found nothing"
}

[ $# -gt 0 ] || usage
task=$1
shift
case $task in
    all) exec "$rungs" all "$@" ;;
    test) run_tests "$@" ;;
    bench)
        if build_peers; then
            exec "$rungs" bench --peers "$@"
        fi
        exec "$rungs" bench "$@"
        ;;
    sanitize) sanitize "$@" ;;
    *) usage ;;
esac
