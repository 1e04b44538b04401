// Blocks of 1024 threads in which one warp works while all others wait for it at a barrier, turn after turn.
// By construction: one warp of a block runs a chain of 64 FFMA of 2 FLOP in each turn; one float a thread written.

#include "probe.h"

constexpr int kTurns = 256; // of the probe's own run: 55 us on an H200
constexpr int kChain = 64;
constexpr int kBlock = 1024;

__global__ void __launch_bounds__(kBlock) barrier(float* __restrict__ out, float a, float b, int turns) {
  float value = static_cast<float>(threadIdx.x);
  const int warp = threadIdx.x / 32;
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    if (warp == turn % (kBlock / 32)) {
      #pragma unroll
      for (int k = 0; k < kChain; ++k) {
        value = fmaf(value, a, b);
      }
    }
    __syncthreads();
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = value;
}

// Queues barrier<<<blocks, 1024>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * 1024 floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_barrier(void* out, float a, float b, int turns, int blocks, void* stream) {
  barrier<<<blocks, kBlock, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

static int blocks(const Board* board) { return board->sms * (board->threads_per_sm / kBlock); }

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4.0 * blocks(board) * kBlock;
  work->fp32_flop = static_cast<double>(blocks(board)) * kTurns * 32 * kChain * 2;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_barrier(buffers->target, 0.999f, 0.5f, kTurns, blocks(board), stream);
}
