// Reads a buffer once, 16 bytes a load, neighbouring threads on neighbouring addresses: the read ceiling of DRAM.
// By construction, of n16 pieces of 16 bytes: 16 * n16 bytes read; 4 * blocks * threads bytes written, one sum a
// thread, without which the compiler would drop the loads; 4 * n16 + 3 * blocks * threads FLOP (FADD).
// The buffer must be several times the L2 cache, or L2 is measured.

#include "probe.h"

__device__ void add(float4& sum, const float4& v) {
  sum.x += v.x;
  sum.y += v.y;
  sum.z += v.z;
  sum.w += v.w;
}

__global__ void dram_read(const float4* __restrict__ source, float* __restrict__ sums, size_t n16) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  size_t i = thread;
  for (; i + 3 * stride < n16; i += 4 * stride) { // four loads on their way before the first is used
    const float4 v0 = source[i];
    const float4 v1 = source[i + stride];
    const float4 v2 = source[i + 2 * stride];
    const float4 v3 = source[i + 3 * stride];
    add(sum, v0);
    add(sum, v1);
    add(sum, v2);
    add(sum, v3);
  }
  for (; i < n16; i += stride) {
    add(sum, source[i]);
  }
  sums[thread] = (sum.x + sum.y) + (sum.z + sum.w);
}

// Queues dram_read<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source: 16 * n16 bytes, aligned to 16; sums: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_dram_read(const void* source, void* sums, size_t n16, int blocks, int threads, void* stream) {
  dram_read<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float*>(sums), n16);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = work->load_bytes = static_cast<double>(board->buffer_bytes);
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = static_cast<double>(board->buffer_bytes / 4) + 3 * full_threads(board);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_dram_read(
      buffers->source, buffers->target, board->buffer_bytes / 16, full_grid(board), kThreads, stream);
}
