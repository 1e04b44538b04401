// A copy that does `steps` FFMA on every float on its way: at the ridge FP32 arithmetic and DRAM take as long.
// By construction, of n16 pieces of 16 bytes: 16 * n16 bytes read and 16 * n16 written; 4 * steps * n16 FFMA of 2 FLOP.

#include "probe.h"

__global__ void ridge(
    const float4* __restrict__ source, float4* __restrict__ target, float a, float b, int steps, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n16; i += stride) {
    float4 v = source[i];
    #pragma unroll 4
    for (int step = 0; step < steps; ++step) {
      v.x = fmaf(v.x, a, b);
      v.y = fmaf(v.y, a, b);
      v.z = fmaf(v.z, a, b);
      v.w = fmaf(v.w, a, b);
    }
    target[i] = v;
  }
}

// Queues ridge<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source and target: 16 * n16 bytes each, aligned to 16, not overlapping. Returns the launch's cudaError_t; 0 is
// success.
extern "C" int launch_ridge(
    const void* source, void* target, float a, float b, int steps, size_t n16, int blocks, int threads, void* stream) {
  ridge<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float4*>(target), a, b, steps, n16);
  return launched();
}

// 8 FLOP a step for the 32 bytes that a piece moves, in whole rounds of the unrolled loop; three quarters of the ridge:
// a copy reaches no more of the bandwidth.
static int steps(const Board* board) {
  const int found = static_cast<int>(0.75 * board->ridge_flop_per_byte * 32 / 8 / 4 + 0.5) * 4;
  return found > 4 ? found : 4;
}

extern "C" int probe_work(const Board* board, Work* work) {
  const double pieces = static_cast<double>(board->buffer_bytes / 16);
  work->read_bytes = work->load_bytes = 16 * pieces;
  work->write_bytes = work->store_bytes = 16 * pieces;
  work->fp32_flop = pieces * 4 * 2.0 * steps(board);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_ridge(
      buffers->source, buffers->target, 0.999f, 0.5f, steps(board), board->buffer_bytes / 16, 4 * full_grid(board),
      kThreads, stream);
}
