// A copy by so few warps that their loads cannot hide the latency of memory: blocks of 64 threads ask for all the
// shared memory that a block may have, so that an SM holds one of them.
// By construction, of n16 pieces of 16 bytes: 16 * n16 bytes read and 16 * n16 written; 0 FLOP.

#include "probe.h"

constexpr int kBlock = 64;

__global__ void low_occupancy(const float4* __restrict__ source, float4* __restrict__ target, size_t n16) {
  extern __shared__ float unused[];
  if (n16 == 0) {
    unused[threadIdx.x] = 0.0f;
  }
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  #pragma unroll 1 // one load on its way
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n16; i += stride) {
    target[i] = source[i];
  }
}

// Queues low_occupancy<<<blocks, 64, shared_bytes>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source and target: 16 * n16 bytes each, aligned to 16, not overlapping. Returns the launch's cudaError_t; 0 is
// success.
extern "C" int launch_low_occupancy(
    const void* source, void* target, size_t n16, int shared_bytes, int blocks, void* stream) {
  const cudaError_t error =
      cudaFuncSetAttribute(low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) {
    return static_cast<int>(error);
  }
  low_occupancy<<<blocks, kBlock, shared_bytes, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float4*>(target), n16);
  return launched();
}

static size_t bytes(const Board* board) { return board->buffer_bytes / 8; }

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = work->load_bytes = static_cast<double>(bytes(board));
  work->write_bytes = work->store_bytes = static_cast<double>(bytes(board));
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_low_occupancy(
      buffers->source, buffers->target, bytes(board) / 16, board->shared_bytes_per_block, 2 * board->sms, stream);
}
