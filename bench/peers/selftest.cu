// Checks every peer against the CPU at small sizes and prints one line per peer; exit code 1 if one is wrong. peers.h
// has the command. Without RUNGS_PEERS_SELFTEST this file is empty, so that `nvcc *.cu` can name it.
//
// All numbers are small integers, so that floating-point sums and products are exact in any order and in TF32 and
// bf16 too: results are compared for equality. Beside the result it checks that nothing was written past the end of
// output or scratch, that the input of a peer that is not in place is unchanged, that the scratch needs no clearing,
// and that a peer refuses the shapes that it does not take.
#ifdef RUNGS_PEERS_SELFTEST

#include "peers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using Raw = std::vector<unsigned char>;
using Shape = std::vector<size_t>;

constexpr size_t GUARD = 1024;
constexpr unsigned char GUARD_BYTE = 0xA5;

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(3);  // no device, or one that a peer has broken: nothing after this would mean anything
}
#define CHECK(call) check((call), #call)

// Device memory with a guard behind it.
struct Device {
    unsigned char* at = nullptr;
    size_t bytes;

    explicit Device(size_t bytes) : bytes(bytes) {
        CHECK(cudaMalloc(&at, bytes + GUARD));
        CHECK(cudaMemset(at, GUARD_BYTE, bytes + GUARD));
    }
    Device(const Device&) = delete;
    ~Device() { cudaFree(at); }

    void put(const Raw& raw) { CHECK(cudaMemcpy(at, raw.data(), raw.size(), cudaMemcpyHostToDevice)); }
    Raw take(size_t count) const {
        Raw raw(count);
        CHECK(cudaMemcpy(raw.data(), at, count, cudaMemcpyDeviceToHost));
        return raw;
    }
    bool guard_is_whole() const {
        Raw all = take(bytes + GUARD);
        return std::all_of(all.begin() + bytes, all.end(), [](unsigned char b) { return b == GUARD_BYTE; });
    }
};

template <class T>
Raw raw(const std::vector<T>& values) {
    Raw out(values.size() * sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
}

template <class T>
std::vector<T> values(const Raw& bytes) {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
}

std::mt19937_64 random_bits(20261121);

// ---- inputs and expected outputs ----

struct Case {
    Raw input, expected;
    bool defined = true;  // false: any result will do (an extreme of nothing)
};

// Keys over the whole range of the type, every fourth from few values, and both ends of the range.
template <class T>
std::vector<T> random_keys(size_t n) {
    std::vector<T> keys(n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = random_bits();
        if (bits % 4 == 0) keys[i] = T(bits >> 60);
        else if constexpr (std::is_floating_point_v<T>) keys[i] = T(int64_t(bits)) / T(1 << 20);
        else keys[i] = T(bits >> 8 << 8 | bits >> 56);
        using Limits = std::numeric_limits<T>;
        if (i % 97 == 5) keys[i] = Limits::has_infinity ? Limits::infinity() : Limits::max();
        if (i % 89 == 7) keys[i] = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    }
    return keys;
}

template <class T>
std::vector<T> small_numbers(size_t n, int below = 8) {
    std::vector<T> numbers(n);
    for (T& x : numbers) x = T(float(random_bits() % below));
    return numbers;
}

template <class T>
Case sort_case(size_t n) {
    std::vector<T> keys = random_keys<T>(n);
    Raw input = raw(keys);
    std::sort(keys.begin(), keys.end());
    return {input, raw(keys)};
}

// The keys as `sort-by-low-half` leaves them: by the low 16 bits, the largest first. Equal keys stay in order if the
// peer is stable; those of one that is not are then compared in ascending order.
bool low_half_down(uint32_t a, uint32_t b) { return (a & 0xffff) > (b & 0xffff); }

bool is_stable(const RungsPeer& peer) { return std::strstr(peer.name, "_stable_") != nullptr; }

Case low_half_case(size_t n, bool stable) {
    std::vector<uint32_t> keys = small_numbers<uint32_t>(n, 3000);
    for (uint32_t& key : keys) key = (key % 30) << 16 | key / 30;  // many keys with equal low halves
    Raw input = raw(keys);
    if (!stable) std::sort(keys.begin(), keys.end());
    std::stable_sort(keys.begin(), keys.end(), low_half_down);
    return {input, raw(keys)};
}

// A result of an unstable sort with each run of equal low halves in ascending order.
Raw with_runs_in_order(const Raw& result) {
    std::vector<uint32_t> keys = values<uint32_t>(result);
    for (size_t begin = 0, end; begin < keys.size(); begin = end) {
        for (end = begin + 1; end < keys.size() && (keys[end] & 0xffff) == (keys[begin] & 0xffff); end++) {}
        std::sort(keys.begin() + begin, keys.begin() + end);
    }
    return raw(keys);
}

Case pairs_case(size_t n) {
    std::vector<uint32_t> keys = small_numbers<uint32_t>(n, 1000), order(n);
    std::vector<uint32_t> input = keys, output(2 * n);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < n; i++) input.push_back(uint32_t(7 * i + 1));
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    for (size_t i = 0; i < n; i++) {
        output[i] = keys[order[i]];
        output[n + i] = input[n + order[i]];
    }
    return {raw(input), raw(output)};
}

template <class T>
Case scan_case(const std::string& name, size_t n) {
    bool min = name.find("_min_") != std::string::npos, max = name.find("_max_") != std::string::npos;
    bool exclusive = name.find("exclusive") != std::string::npos;
    std::vector<T> numbers = min || max ? random_keys<T>(n) : small_numbers<T>(n), out(n);
    T sum = 0;
    for (size_t i = 0; i < n; i++) {
        T before = sum, x = numbers[i];
        if (min) sum = i == 0 ? x : std::min(sum, x);
        else if (max) sum = i == 0 ? x : std::max(sum, x);
        else sum += x;
        out[i] = exclusive ? before : sum;
    }
    return {raw(numbers), raw(out)};
}

// Bytes of a selection's output that are specified: the selected items and their count.
template <class T>
Raw defined_of_selection(Raw output) {
    uint32_t count = 0;
    size_t room = output.size() - sizeof(T);
    std::memcpy(&count, output.data() + room, sizeof count);
    size_t end = std::min(room, size_t(count) * sizeof(T));
    std::fill(output.begin() + end, output.begin() + room, 0);
    std::fill(output.begin() + room + sizeof count, output.end(), 0);
    return output;
}

template <class T>
Case select_case(size_t n) {
    std::vector<T> items = random_keys<T>(n), out;
    for (const T& item : items)
        if (item < items[n / 2]) out.push_back(item);
    uint32_t count = uint32_t(out.size());
    out.resize(n + 1);
    Raw expected = raw(out);
    std::memcpy(expected.data() + n * sizeof(T), &count, sizeof count);
    return {raw(items), defined_of_selection<T>(expected)};
}

// Bytes of what is made of runs that are specified: the items of a selection, and as many results behind the count.
template <class W>
Raw defined_of_runs(Raw output, size_t n) {
    size_t head = (n + 1) * sizeof(W);
    uint32_t count = 0;
    std::memcpy(&count, output.data() + n * sizeof(W), sizeof count);
    Raw results(output.begin() + head, output.end());
    std::fill(results.begin() + std::min(results.size(), count * sizeof(uint32_t)), results.end(), 0);
    output.resize(head);
    output = defined_of_selection<W>(output);
    output.insert(output.end(), results.begin(), results.end());
    return output;
}

// A partition's items below the middle one, then the others from the last on, and the number of the first.
template <class T>
Case partition_case(size_t n) {
    std::vector<T> items = random_keys<T>(n), out, others;
    for (const T& item : items) (item < items[n / 2] ? out : others).push_back(item);
    uint32_t count = uint32_t(out.size());
    out.insert(out.end(), others.rbegin(), others.rend());
    out.resize(n + 1);
    Raw expected = raw(out);
    std::memcpy(expected.data() + n * sizeof(T), &count, sizeof count);
    return {raw(items), expected};
}

// The first item of each run, and with `results` behind the count the lengths of the runs, or, with `words`, sums.
template <class W>
Case runs_case(size_t n, bool results, bool words) {
    std::vector<W> items = small_numbers<W>(n, 2), out;
    size_t packed = (n * sizeof(uint32_t) + sizeof(W) - 1) / sizeof(W) * sizeof(W) / sizeof(uint32_t);
    std::vector<uint32_t> input = small_numbers<uint32_t>(packed, 1000), of_runs;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i] != items[i - 1]) {
            out.push_back(items[i]);
            of_runs.push_back(0);
        }
        of_runs.back() += words ? input[i] : 1;
    }
    uint32_t count = uint32_t(out.size());
    out.resize(n + 1);
    of_runs.resize(results ? packed : 0);
    Raw expected = raw(out), behind = raw(of_runs), from = raw(items), more = raw(input);
    std::memcpy(expected.data() + n * sizeof(W), &count, sizeof count);
    expected.insert(expected.end(), behind.begin(), behind.end());
    if (words) from.insert(from.end(), more.begin(), more.end());
    return {from, defined_of_runs<W>(expected, n)};
}

// The first k keys of an output from the largest on; what is behind them is not specified.
template <class T>
Raw defined_of_top_k(Raw output, size_t k) {
    std::vector<T> keys = values<T>(output);
    std::sort(keys.begin(), keys.begin() + k, std::greater<T>());
    std::fill(keys.begin() + k, keys.end(), T(0));
    return raw(keys);
}

template <class T>
Case top_k_case(size_t n, size_t k) {
    std::vector<T> keys = random_keys<T>(n), sorted = keys;
    std::sort(sorted.begin(), sorted.end(), std::greater<T>());
    return {raw(keys), defined_of_top_k<T>(raw(sorted), k)};
}

// Keys, then offsets of segments of about the same length; some are empty.
template <class T>
Case segmented_case(size_t n, size_t segments) {
    std::vector<T> keys = random_keys<T>(n), sorted = keys;
    std::vector<uint32_t> offsets(segments + 1);
    for (size_t i = 1; i <= segments; i++) offsets[i] = uint32_t(i < segments ? n * (i - i % 3 / 2) / segments : n);
    for (size_t i = 0; i < segments; i++) std::sort(sorted.begin() + offsets[i], sorted.begin() + offsets[i + 1]);
    Raw input = raw(keys), ends = raw(offsets);
    input.insert(input.end(), ends.begin(), ends.end());
    // Without segments nothing is sorted, and nothing copied.
    return {input, raw(sorted), segments > 0};
}

template <class T>
Case reduce_case(const std::string& name, size_t n) {
    bool min = name.find("_min_") != std::string::npos, max = name.find("_max_") != std::string::npos;
    std::vector<T> numbers = min || max ? random_keys<T>(n) : small_numbers<T>(n);
    if ((min || max) && n == 0) return {raw(numbers), {}, false};
    T result = min   ? *std::min_element(numbers.begin(), numbers.end())
               : max ? *std::max_element(numbers.begin(), numbers.end())
                     : std::accumulate(numbers.begin(), numbers.end(), T(0));
    return {raw(numbers), raw(std::vector<T>{result})};
}

template <class T>
Case histogram_case(size_t n, size_t bins) {
    // Some values past the last bin if the type has them: they must not be counted.
    std::vector<T> samples(n);
    std::vector<uint32_t> counts(bins);
    for (T& sample : samples) {
        sample = T(random_bits() % (bins + bins / 8 + 1));
        if (sizeof(T) > 1 && random_bits() % 50 == 0) sample = std::numeric_limits<T>::max();
        if (sample < bins) counts[sample]++;
    }
    return {raw(samples), raw(counts)};
}

template <class In, class Out>
Case matmul_case(size_t m, size_t n, size_t k) {
    std::vector<In> input = small_numbers<In>(m * k + k * n);
    std::vector<Out> c;
    for (size_t row = 0; row < m; row++)
        for (size_t col = 0; col < n; col++) {
            double sum = 0;  // exact, of small numbers
            for (size_t e = 0; e < k; e++) sum += double(float(input[row * k + e])) * float(input[m * k + e * n + col]);
            c.push_back(Out(float(sum)));
        }
    return {raw(input), raw(c)};
}

// B by columns. Of zeros and ones, so that C in bf16 is exact up to k = 256.
template <class Out>
Case matmul_fp8_case(size_t m, size_t n, size_t k) {
    using In = __nv_fp8_e4m3;
    std::vector<In> input = small_numbers<In>(m * k + k * n, 2);
    std::vector<Out> c;
    for (size_t row = 0; row < m; row++)
        for (size_t col = 0; col < n; col++) {
            float sum = 0;
            for (size_t e = 0; e < k; e++) sum += float(input[row * k + e]) * float(input[m * k + col * k + e]);
            c.push_back(Out(sum));
        }
    return {raw(input), raw(c)};
}

// Calls f with a value of the type that `dtype` names.
template <class F>
auto by_type(const std::string& dtype, F f) {
    if (dtype == "u8") return f(uint8_t());
    if (dtype == "u32") return f(uint32_t());
    if (dtype == "i32") return f(int32_t());
    if (dtype == "u64") return f(uint64_t());
    if (dtype == "i64") return f(int64_t());
    if (dtype == "f32") return f(float());
    if (dtype == "f64") return f(double());
    std::fprintf(stderr, "the self-test does not know the type %s\n", dtype.c_str());
    std::exit(2);
}

bool is_pairs(const RungsPeer& peer) { return std::strstr(peer.name, "_pairs_") != nullptr; }

bool is_wide(const RungsPeer& peer) { return std::strstr(peer.dtype, "64") != nullptr; }

// Peers of runs, for which items of all types are words.
bool is_of_runs(const RungsPeer& peer) {
    std::string family = peer.family;
    return family == "unique" || family == "run-lengths" || family == "reduce-by-key";
}

Case make_case(const RungsPeer& peer, const Shape& shape) {
    std::string family = peer.family, name = peer.name, dtype = peer.dtype;
    size_t n = shape[0];
    if (is_pairs(peer)) return pairs_case(n);
    if (family == "sort-by-low-half") return low_half_case(n, is_stable(peer));
    if (family == "scan") return by_type(dtype, [&](auto t) { return scan_case<decltype(t)>(name, n); });
    if (family == "select") return by_type(dtype, [&](auto t) { return select_case<decltype(t)>(n); });
    if (family == "partition") return by_type(dtype, [&](auto t) { return partition_case<decltype(t)>(n); });
    if (is_of_runs(peer)) {
        bool results = family != "unique", words = family == "reduce-by-key";
        return is_wide(peer) ? runs_case<uint64_t>(n, results, words) : runs_case<uint32_t>(n, results, words);
    }
    if (family == "top-k") return by_type(dtype, [&](auto t) { return top_k_case<decltype(t)>(n, shape[1]); });
    if (family == "segmented-sort")
        return by_type(dtype, [&](auto t) { return segmented_case<decltype(t)>(n, shape[1]); });
    if (family == "reduce") return by_type(dtype, [&](auto t) { return reduce_case<decltype(t)>(name, n); });
    if (family == "histogram")
        return dtype == "u8" ? histogram_case<uint8_t>(n, shape[1]) : histogram_case<uint32_t>(n, shape[1]);
    if (family == "cubes") {
        std::vector<uint32_t> numbers = small_numbers<uint32_t>(n, 10);
        uint64_t sum = 0;
        for (uint64_t x : numbers) sum += x * x * x;
        return {raw(numbers), raw(std::vector<uint64_t>{sum})};  // compared after adding the partial sums
    }
    if (family == "matmul") {
        if (dtype == "f32") return matmul_case<float, float>(shape[0], shape[1], shape[2]);
        if (dtype == "f64") return matmul_case<double, double>(shape[0], shape[1], shape[2]);
        if (dtype == "f16") return matmul_case<__half, __half>(shape[0], shape[1], shape[2]);
        bool wide = name == "cublas_gemm_bf16" || name == "cublaslt_gemm_bf16_best";
        if (wide) return matmul_case<__nv_bfloat16, float>(shape[0], shape[1], shape[2]);
        return matmul_case<__nv_bfloat16, __nv_bfloat16>(shape[0], shape[1], shape[2]);
    }
    if (family == "matmul-fp8") {
        if (name.find("_bf16_") == std::string::npos) return matmul_fp8_case<float>(shape[0], shape[1], shape[2]);
        return matmul_fp8_case<__nv_bfloat16>(shape[0], shape[1], shape[2]);
    }
    if (family == "copy") {
        std::vector<uint8_t> bytes = random_keys<uint8_t>(n);
        return {raw(bytes), raw(bytes)};
    }
    return by_type(dtype, [&](auto t) { return sort_case<decltype(t)>(n); });  // all the families that sort
}

// The shapes to try: nothing, one, the edges of warps, tiles and blocks, and something of no particular size.
std::vector<Shape> shapes_for(const RungsPeer& peer) {
    std::string family = peer.family;
    std::vector<Shape> shapes;
    if (family == "matmul") {
        // A result in bf16 holds integers up to 256, that is 5 products of numbers up to 7; one in f16 up to 2048, that
        // is 41; the others hold them all.
        bool narrow = std::strstr(peer.name, "_gemm_bf16_bf16") != nullptr;
        size_t most = narrow ? 5 : std::strcmp(peer.dtype, "f16") == 0 ? 41 : 48;
        shapes = {{0, 0, 0}, {0, 5, 5}, {3, 4, 0}, {1, 1, 1}, {16, 16, 16}, {17, 31, 33}, {65, 130, 48}};
        for (Shape& shape : shapes) shape[2] = std::min(shape[2], most);
        return shapes;
    }
    if (family == "matmul-fp8")
        return {{0, 0, 0}, {0, 16, 16}, {16, 32, 0}, {16, 16, 16}, {80, 144, 48}, {256, 128, 256}};
    bool one_block = family == "radix";
    for (size_t n : {0, 1, 2, 31, 33, 512, 1023, 1024, 1025, 1537, 4096, 10'007, 100'003, 131'072}) {
        if (family == "histogram")
            for (size_t bins : {1, 10, 256, 1600, 4096}) shapes.push_back({n, bins});
        else if (family == "top-k")
            for (size_t k : {size_t(0), size_t(1), size_t(10), n / 2, n, n + 1}) shapes.push_back({n, k});
        else if (family == "segmented-sort")
            for (size_t segments : {size_t(0), size_t(1), size_t(7), n / 30 + 1, n}) shapes.push_back({n, segments});
        else if (one_block)
            for (size_t columns : {1, 7, 8, 32, 128, 1024}) {
                if (n <= 4096) shapes.push_back({n, columns});
            }
        else shapes.push_back({n});
    }
    if (one_block) shapes.push_back({25'000, 64});  // past the 48 KB that need no opt-in
    if (family == "bubble") shapes.push_back({20'011});
    if (family == "bitonic") shapes.push_back({3'000'017});  // more long steps than fit one pass
    return shapes;
}

// Whether the peer takes the shape. It must refuse all other shapes.
bool takes(const RungsPeer& peer, const Shape& shape) {
    std::string family = peer.family, name = peer.name;
    size_t n = shape[0];
    auto power = [](size_t x) { return (x & (x - 1)) == 0; };
    auto is = [&](const char* begin) { return name.rfind(begin, 0) == 0; };
    if (is("cub_histogram_u8")) return shape[1] == 256;
    if (is("cub_top_k")) return shape[1] <= n;
    if (is("twin_radix_columns")) return shape[1] >= 8 && power(shape[1]);
    if (is("twin_scan_hillis_steele") || is("twin_scan_blelloch")) return n <= 1024;
    if (is("twin_bubble_one_block")) return n <= 50'000;  // somewhere above, by the device
    if (is("source_bitonic")) return power(n);
    return true;
}

// ---- running ----

std::string shape_text(const Shape& shape) {
    std::string text;
    for (size_t x : shape) text += (text.empty() ? "" : " x ") + std::to_string(x);
    return text;
}

// "" or the error.
std::string try_peer(const RungsPeer& peer, const Shape& shape, cudaStream_t stream) {
    auto run = [&](const void* in, void* out, void* temp, size_t* bytes) {
        return rungs_peer_run(peer.name, in, out, temp, bytes, shape.data(), shape.size(), stream);
    };
    size_t input_bytes = 0, output_bytes = 0, temp_bytes = 0;
    if (!takes(peer, shape)) {
        bool refused = run(nullptr, nullptr, nullptr, &temp_bytes) != 0 && rungs_peer_error()[0] != '\0';
        return refused ? "" : "takes a shape that it must refuse";
    }
    if (rungs_peer_bytes(peer.name, shape.data(), shape.size(), &input_bytes, &output_bytes) != 0 ||
        run(nullptr, nullptr, nullptr, &temp_bytes) != 0)
        return rungs_peer_error();
    if (temp_bytes == 0) return "asks for 0 bytes of scratch";

    Case c = make_case(peer, shape);
    if (c.input.size() != input_bytes) return "rungs_peer_bytes is wrong about the input";
    Device input(input_bytes), output(output_bytes), temp(temp_bytes);
    // Twice with the same scratch: the second run must not need a clean one.
    for (int time = 0; time < 2; time++) {
        CHECK(cudaMemset(output.at, 0x5A, output_bytes));
        input.put(c.input);
        if (peer.in_place) output.put(c.input);
        CHECK(cudaDeviceSynchronize());
        size_t bytes = temp_bytes;
        if (run(peer.in_place ? output.at : input.at, output.at, temp.at, &bytes) != 0) return rungs_peer_error();
        CHECK(cudaStreamSynchronize(stream));

        Raw result = output.take(output_bytes);
        if (std::strcmp(peer.family, "cubes") == 0) {
            std::vector<uint64_t> sums = values<uint64_t>(result);
            result = raw(std::vector<uint64_t>{std::accumulate(sums.begin(), sums.end(), uint64_t(0))});
        }
        if (std::strcmp(peer.family, "sort-by-low-half") == 0 && !is_stable(peer)) result = with_runs_in_order(result);
        if (std::strcmp(peer.family, "select") == 0) {
            result = is_wide(peer) ? defined_of_selection<uint64_t>(result) : defined_of_selection<uint32_t>(result);
        }
        if (std::strcmp(peer.family, "partition") == 0) {
            // Behind the number the last element is not specified.
            size_t end = result.size() - (is_wide(peer) ? 4 : 0);
            std::fill(result.begin() + end, result.end(), 0);
        }
        if (is_of_runs(peer)) {
            size_t n = shape[0];
            result = is_wide(peer) ? defined_of_runs<uint64_t>(result, n) : defined_of_runs<uint32_t>(result, n);
        }
        if (std::strcmp(peer.family, "top-k") == 0) {
            result = by_type(peer.dtype, [&](auto t) { return defined_of_top_k<decltype(t)>(result, shape[1]); });
        }
        if (c.defined && result != c.expected) return time == 0 ? "wrong result" : "wrong result with used scratch";
        if (input.take(input_bytes) != c.input) return "changes its input";
        if (!output.guard_is_whole()) return "writes past its output";
        if (!temp.guard_is_whole()) return "writes past its scratch";
    }
    return "";
}

// Calls that must be refused, with a text.
bool refusals_work() {
    size_t one = 1, bytes = 0, past = size_t(INT_MAX) + 1, many[2] = {1'000'000, 8};
    bool good = true;
    auto refused = [&](const char* what, int code) {
        std::string text = rungs_peer_error();
        bool ok = code != 0 && !text.empty();
        std::printf("%s  refuses %s: %s\n", ok ? "ok  " : "FAIL", what, text.c_str());
        good = good && ok;
    };
    auto ask = [&](const char* name, const size_t* shape, size_t len) {
        return rungs_peer_run(name, nullptr, nullptr, nullptr, &bytes, shape, len, nullptr);
    };
    refused("an unknown name", ask("cub_sort_of", &one, 1));
    refused("a shape too short", ask("cublas_sgemm_tf32", &one, 1));
    refused("n past 2^31 - 1", ask("cub_reduce_sum_u32", &past, 1));
    refused("keys that do not fit a block", ask("twin_radix_columns_tree_u32", many, 2));
    return good;
}

}  // namespace

int main() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    const RungsPeer* peers = nullptr;
    int count = rungs_peers_list(&peers), wrong = 0;
    std::printf("%d peers on %s: %s\n", count, device.name, rungs_peers_about());
    for (int i = 0; i < count; i++) {
        std::string error;
        Shape shape;
        std::vector<Shape> shapes = shapes_for(peers[i]);
        for (const Shape& s : shapes) {
            shape = s;
            error = try_peer(peers[i], s, stream);
            if (!error.empty()) break;
        }
        if (error.empty()) std::printf("ok    %-36s %zu shapes\n", peers[i].name, shapes.size());
        else std::printf("FAIL  %-36s %s: %s\n", peers[i].name, shape_text(shape).c_str(), error.c_str());
        wrong += !error.empty();
    }
    if (!refusals_work()) wrong++;
    std::printf("%s\n", wrong == 0 ? "all good" : "something is wrong, see FAIL above");
    return wrong == 0 ? 0 : 1;
}

#endif
