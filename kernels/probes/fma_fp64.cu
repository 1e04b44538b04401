// FP64 fused multiply-adds from registers: the FP64 ceiling outside the tensor cores.
// By construction: DFMA = blocks * threads * 128 * turns, 2 FLOP each; 7 DADD a thread to sum up;
// 8 * blocks * threads bytes written, nothing read.
// With a = 1 and b = 1 the result is exact: thread t of a block writes 8 * (t + 16 * turns) + 28.

#include "probe.h"

constexpr int kTurns = 64; // of the probe's own run: 136 us on an H200

__global__ void fma_fp64(double* __restrict__ out, double a, double b, int turns) {
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = fma_chains<double, 8>(threadIdx.x, a, b, turns);
}

// Queues fma_fp64<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads doubles. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_fma_fp64(void* out, double a, double b, int turns, int blocks, int threads, void* stream) {
  fma_fp64<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<double*>(out), a, b, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 8 * full_threads(board);
  work->fp64_flop = full_threads(board) * (2.0 * 128 * kTurns + 7);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_fma_fp64(buffers->target, 0.999, 0.5, kTurns, full_grid(board), kThreads, stream);
}
