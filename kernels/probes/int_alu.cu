// Integer logic, shifts and additions on values that do not depend on one another: the integer and logic unit (ALU).
// By construction: 3 integer operations (2 instructions on compute capability 9.0) for each of 8 values a step, 16
// steps a turn; 0 FLOP; one int a thread written.

#include "probe.h"

constexpr int kTurns = 64; // of the probe's own run: 268 us on an H200
constexpr int kValues = 8;

__global__ void int_alu(unsigned* __restrict__ out, unsigned a, int turns) {
  unsigned value[kValues];
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = threadIdx.x + k;
  }
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
      #pragma unroll
      for (int k = 0; k < kValues; ++k) {
        value[k] = (value[k] ^ a) + (value[k] >> 3);
      }
    }
  }
  unsigned all = value[0];
  #pragma unroll
  for (int k = 1; k < kValues; ++k) {
    all ^= value[k];
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = all;
}

// Queues int_alu<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads ints. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_int_alu(void* out, unsigned a, int turns, int blocks, int threads, void* stream) {
  int_alu<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<unsigned*>(out), a, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_int_alu(buffers->target, 0x5bd1e995u, kTurns, full_grid(board), kThreads, stream);
}
