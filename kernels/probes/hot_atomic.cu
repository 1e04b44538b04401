// Every warp adds to one address, again and again: the additions queue at one slice of L2.
// The compiler adds up the values of a warp first, so that one atomic a warp and turn reaches memory.
// By construction: one int written; nothing else read or written but that line; 0 FLOP.

#include "probe.h"

constexpr int kTurns = 32; // of the probe's own run: 199 us on an H200

__global__ void hot_atomic(int* __restrict__ counter, int turns) {
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    atomicAdd(counter, static_cast<int>(threadIdx.x & 1) + turn);
  }
}

// Queues hot_atomic<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// counter: one int. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_hot_atomic(void* counter, int turns, int blocks, int threads, void* stream) {
  hot_atomic<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<int*>(counter), turns);
  return launched();
}

extern "C" int probe_work(const Board*, Work* work) {
  work->write_bytes = 4;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_hot_atomic(buffers->target, kTurns, full_grid(board), kThreads, stream);
}
