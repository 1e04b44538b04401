// One chain of fused multiply-adds a thread: each waits for the one before it, and nothing else is there to issue.
// By construction: FFMA = blocks * threads * 16 * turns, 2 FLOP each; one float a thread written, nothing read.
// With a = 1 and b = 1 the result is exact: thread t of a block writes t + 16 * turns, up to 2^24.

#include "probe.h"

constexpr int kTurns = 512; // of the probe's own run: 139 us on an H200
constexpr int kBlock = 64;  // small blocks: the SM holds as many as it can of them, and half of its threads or all

__global__ void dependent_fma(float* __restrict__ out, float a, float b, int turns) {
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = fma_chains<float, 1>(threadIdx.x, a, b, turns);
}

// Queues dependent_fma<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_dependent_fma(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  dependent_fma<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

static int blocks(const Board* board) { return board->sms * (board->threads_per_sm / kBlock); }

extern "C" int probe_work(const Board* board, Work* work) {
  const double threads = static_cast<double>(blocks(board)) * kBlock;
  work->write_bytes = work->store_bytes = 4 * threads;
  work->fp32_flop = threads * 2.0 * 16 * kTurns;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_dependent_fma(buffers->target, 0.999f, 0.5f, kTurns, blocks(board), kBlock, stream);
}
