// The C ABI of peers.h: joins the tables, checks a call once for all peers, keeps the last error.
#include "peer.cuh"

#include <cub/version.cuh>
#include <cublas_v2.h>
#include <thrust/version.h>

#include <climits>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace peers {
namespace {

thread_local std::string last_error;

// All peers, in the order of the tables. By name it is a hash look-up: a linear search would add its 0.2 us to every
// timed call, which shows at small n.
struct Registry {
    std::vector<RungsPeer> list;
    std::unordered_map<std::string_view, const Entry*> by_name;

    Registry() {
        for (Table t : {sort_peers(), scan_peers(), select_peers(), top_k_peers(), reduce_peers(), histogram_peers(),
                        matmul_peers(), matmul_best_peers(), copy_peers(), twin_sort_peers(), twin_radix_peers(), twin_cubes_peers(),
                        twin_reduce_peers(), twin_scan_peers(), twin_histogram_peers(), twin_matmul_peers(),
                        source_peers(), segmented_sort_peers()}) {
            for (size_t i = 0; i < t.count; i++) {
                list.push_back(t.entries[i].info);
                by_name.emplace(t.entries[i].info.name, &t.entries[i]);
            }
        }
    }
};

const Registry& registry() {
    static const Registry it;
    return it;
}

// The entry of that name if it takes the shape; nullptr and an error otherwise.
const Entry* find(const char* name, const size_t* shape, size_t shape_len) {
    auto unusable = [&](const std::string& text) {
        fail(cudaErrorInvalidValue, __FILE__, __LINE__, name == nullptr ? "(no name)" : name, text.c_str());
        return nullptr;
    };
    if (name == nullptr) return unusable("the name is NULL");
    auto found = registry().by_name.find(name);
    if (found == registry().by_name.end()) return unusable("there is no peer of that name");
    const Entry* entry = found->second;
    if (shape == nullptr || shape_len != entry->shape_len)
        return unusable("numbers in the shape: it takes " + std::to_string(entry->shape_len) + ", given " +
                        std::to_string(shape == nullptr ? 0 : shape_len));
    for (size_t i = 0; i < shape_len; i++)
        if (shape[i] > INT_MAX) return unusable("a number of its shape is past 2^31 - 1: " + std::to_string(shape[i]));
    return entry;
}

std::string version(int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// CUB and Thrust are headers, so their version is that at compilation; cuBLAS tells its version at run time.
std::string about() {
    int cublas[3] = {};
    for (libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL})
        if (cublasGetProperty(part, &cublas[part]) != CUBLAS_STATUS_SUCCESS) return "cuBLAS does not say its version";
    return "nvcc " + version(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__) +  //
           ", CUB " + version(CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION) +       //
           ", Thrust " + version(THRUST_MAJOR_VERSION, THRUST_MINOR_VERSION, THRUST_SUBMINOR_VERSION) +
           ", cuBLAS " + version(cublas[0], cublas[1], cublas[2]);
}

}  // namespace

int fail(int code, const char* file, int line, const char* call, const char* text) {
    const char* slash = std::strrchr(file, '/');
    last_error = std::string(call) + ": " + text + " (error " + std::to_string(code) + ", " +
                 (slash == nullptr ? file : slash + 1) + ":" + std::to_string(line) + ")";
    // The runtime remembers a failed launch; the error must not be taken for one of the next peer.
    (void)cudaGetLastError();
    return code;
}

}  // namespace peers

extern "C" int rungs_peers_list(const RungsPeer** out) {
    const auto& list = peers::registry().list;
    if (out != nullptr) *out = list.data();
    return static_cast<int>(list.size());
}

extern "C" const char* rungs_peers_about(void) {
    static const std::string text = peers::about();
    return text.c_str();
}

extern "C" int rungs_peer_bytes(const char* name, const size_t* shape, size_t shape_len, size_t* input_bytes,
                                size_t* output_bytes) {
    const peers::Entry* entry = peers::find(name, shape, shape_len);
    if (entry == nullptr) return cudaErrorInvalidValue;
    peers::Bytes bytes = entry->bytes(shape);
    if (input_bytes != nullptr) *input_bytes = bytes.input;
    if (output_bytes != nullptr) *output_bytes = bytes.output;
    return 0;
}

extern "C" int rungs_peer_run(const char* name, const void* input, void* output, void* temp, size_t* temp_bytes,
                              const size_t* shape, size_t shape_len, void* stream) {
    const peers::Entry* entry = peers::find(name, shape, shape_len);
    if (entry == nullptr) return cudaErrorInvalidValue;
    PEERS_REQUIRE(temp_bytes != nullptr, "temp_bytes is NULL");
    PEERS_REQUIRE(temp == nullptr || !entry->info.in_place || input == output, "this peer works in place");
    // No exception may cross into Rust; Thrust reports errors by them.
    try {
        return entry->run({input, output, temp, temp_bytes, shape, static_cast<cudaStream_t>(stream)});
    } catch (const std::exception& e) {
        return peers::fail(cudaErrorUnknown, __FILE__, __LINE__, name, e.what());
    } catch (...) {
        return peers::fail(cudaErrorUnknown, __FILE__, __LINE__, name, "an exception of unknown type");
    }
}

extern "C" const char* rungs_peer_error(void) { return peers::last_error.c_str(); }
