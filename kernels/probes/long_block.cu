// One block does 64 times the work of every other: the device waits for it.
// By construction: a thread runs 4 * 16 * steps FFMA of 2 FLOP and 3 FADD, with 64 times the steps in block 0; one
// float a thread written, nothing read.

#include "probe.h"

constexpr int kSteps = 64; // of the probe's own run: 310 us on an H200
constexpr int kTimes = 64;

__global__ void long_block(float* __restrict__ out, float a, float b, int steps) {
  const int own = blockIdx.x == 0 ? kTimes * steps : steps;
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = fma_chains<float, 4>(threadIdx.x, a, b, own);
}

// Queues long_block<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_long_block(void* out, float a, float b, int steps, int blocks, int threads, void* stream) {
  long_block<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, steps);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  const double shares = full_grid(board) - 1 + kTimes;
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = shares * kThreads * (2.0 * 4 * 16 * kSteps) + full_threads(board) * 3;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_long_block(buffers->target, 0.999f, 0.5f, kSteps, full_grid(board), kThreads, stream);
}
