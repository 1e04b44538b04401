// Copies a buffer, 16 bytes a load and store: the ceiling of DRAM for half reads, half writes.
// By construction, of n16 pieces of 16 bytes: 16 * n16 bytes read and 16 * n16 bytes written; 0 FLOP.
// The buffers must be several times the L2 cache, or L2 is measured; what of the writes still lies in L2 at the end has
// not reached DRAM yet.

#include "probe.h"

__global__ void dram_copy(const float4* __restrict__ source, float4* __restrict__ target, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < n16; i += 4 * stride) { // four loads on their way before the first store
    const float4 v0 = source[i];
    const float4 v1 = source[i + stride];
    const float4 v2 = source[i + 2 * stride];
    const float4 v3 = source[i + 3 * stride];
    target[i] = v0;
    target[i + stride] = v1;
    target[i + 2 * stride] = v2;
    target[i + 3 * stride] = v3;
  }
  for (; i < n16; i += stride) {
    target[i] = source[i];
  }
}

// Queues dram_copy<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source and target: 16 * n16 bytes each, aligned to 16, not overlapping.
// Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_dram_copy(const void* source, void* target, size_t n16, int blocks, int threads, void* stream) {
  dram_copy<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float4*>(target), n16);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = work->load_bytes = static_cast<double>(board->buffer_bytes);
  work->write_bytes = work->store_bytes = static_cast<double>(board->buffer_bytes);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_dram_copy(
      buffers->source, buffers->target, board->buffer_bytes / 16, full_grid(board), kThreads, stream);
}
