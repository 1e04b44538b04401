// A grid of so few blocks that most multiprocessors have none.
// By construction: FFMA = blocks * threads * 128 * turns, 2 FLOP each; 7 FADD a thread to sum up; one float a thread
// written, nothing read.

#include "probe.h"

constexpr int kTurns = 256; // of the probe's own run: 36 us on an H200

__global__ void under_filled(float* __restrict__ out, float a, float b, int turns) {
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = fma_chains<float, 8>(threadIdx.x, a, b, turns);
}

// Queues under_filled<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_under_filled(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  under_filled<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

static int blocks(const Board* board) { return board->sms > 8 ? board->sms / 8 : 1; }

extern "C" int probe_work(const Board* board, Work* work) {
  const double threads = static_cast<double>(blocks(board)) * kThreads;
  work->write_bytes = work->store_bytes = 4 * threads;
  work->fp32_flop = threads * (2.0 * 128 * kTurns + 7);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_under_filled(buffers->target, 0.999f, 0.5f, kTurns, blocks(board), kThreads, stream);
}
