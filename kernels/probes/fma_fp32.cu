// FP32 fused multiply-adds from registers: the FP32 ceiling.
// Each thread advances 8 values that do not depend on one another, so that no FFMA waits for the one before it;
// 16 steps a turn of the loop make 128 FFMA for about 3 instructions of loop.
// By construction: FFMA = blocks * threads * 128 * turns, 2 FLOP each; 7 FADD a thread to sum up;
// 4 * blocks * threads bytes written, nothing read.
// With a = 1 and b = 1 the result is exact: thread t of a block writes 8 * (t + 16 * turns) + 28, up to 2^24.

#include "probe.h"

constexpr int kTurns = 128; // of the probe's own run: 139 us on an H200

__global__ void fma_fp32(float* __restrict__ out, float a, float b, int turns) {
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = fma_chains<float, 8>(threadIdx.x, a, b, turns);
}

// Queues fma_fp32<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Keep |a| <= 1, or the values overflow. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_fma_fp32(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  fma_fp32<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (2.0 * 128 * kTurns + 7);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_fma_fp32(buffers->target, 0.999f, 0.5f, kTurns, full_grid(board), kThreads, stream);
}
