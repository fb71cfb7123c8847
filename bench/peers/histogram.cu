// Histogram peers: cub::DeviceHistogram with evenly spaced bins, one per value.
#include "peer.cuh"

#include <cub/device/device_histogram.cuh>

namespace peers {
namespace {

// `Level` is the type of the bins' borders: int holds 0 … 256 for bytes; u32 keys need u32, or the large ones would
// turn negative on their way to the comparison.
template <class Sample, class Level>
int histogram_even(const Call& call) {
    size_t bins = call.shape[1];
    PEERS_REQUIRE(bins >= 1 && bins <= (1u << 24), "bins is 1 to 2^24");
    if (sizeof(Sample) == 1) PEERS_REQUIRE(bins == 256, "a histogram of bytes has 256 bins");
    if (call.n() == 0) {  // nothing to launch over, but the counts are still to be set
        if (asks_for_size(call, 1)) return 0;
        PEERS_CUDA(cudaMemsetAsync(call.output, 0, bins * sizeof(uint32_t), call.stream));
        return 0;
    }
    return PEERS_CUB("cub::DeviceHistogram::HistogramEven",
                     cub::DeviceHistogram::HistogramEven(temp, bytes, call.in<Sample>(), call.out<uint32_t>(),
                                                         int(bins) + 1, Level(0), Level(bins), call.n(), call.stream));
}

template <class Sample>
Bytes histogram_bytes(const size_t* shape) { return {shape[0] * sizeof(Sample), shape[1] * sizeof(uint32_t)}; }

constexpr const char* EVEN = "cub::DeviceHistogram::HistogramEven";

const Entry PEERS[] = {
    {{"cub_histogram_u8", "histogram", EVEN, "u8", 0}, 2, histogram_bytes<uint8_t>, histogram_even<uint8_t, int>},
    {{"cub_histogram_u32", "histogram", EVEN, "u32", 0},
     2, histogram_bytes<uint32_t>, histogram_even<uint32_t, uint32_t>},
};

}  // namespace

Table histogram_peers() { return table(PEERS); }

}  // namespace peers
