// out = a + scalar * b: the ceiling of DRAM for two reads to one write.
// By construction, of n16 pieces of 16 bytes an array: 32 * n16 bytes read, 16 * n16 written; 4 * n16 FFMA of 2 FLOP.
// The arrays must be several times the L2 cache, or L2 is measured.

#include "probe.h"

__device__ float4 triad(const float4& a, const float4& b, float scalar) {
  return make_float4(fmaf(scalar, b.x, a.x), fmaf(scalar, b.y, a.y), fmaf(scalar, b.z, a.z), fmaf(scalar, b.w, a.w));
}

__global__ void dram_triad(
    const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ out, float scalar, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + stride < n16; i += 2 * stride) { // four loads on their way before the first store
    const float4 a0 = a[i];
    const float4 b0 = b[i];
    const float4 a1 = a[i + stride];
    const float4 b1 = b[i + stride];
    out[i] = triad(a0, b0, scalar);
    out[i + stride] = triad(a1, b1, scalar);
  }
  for (; i < n16; i += stride) {
    out[i] = triad(a[i], b[i], scalar);
  }
}

// Queues dram_triad<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// a, b, out: 16 * n16 bytes each, aligned to 16, not overlapping. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_dram_triad(
    const void* a, const void* b, void* out, float scalar, size_t n16, int blocks, int threads, void* stream) {
  dram_triad<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(a), static_cast<const float4*>(b), static_cast<float4*>(out), scalar, n16);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  const double half = static_cast<double>(board->buffer_bytes / 2);
  work->read_bytes = work->load_bytes = 2 * half;
  work->write_bytes = work->store_bytes = half;
  work->fp32_flop = 2 * half / 4;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  const size_t half = board->buffer_bytes / 2;
  const char* source = static_cast<const char*>(buffers->source);
  return launch_dram_triad(
      source, source + half, buffers->target, 3.0f, half / 16, full_grid(board), kThreads, stream);
}
