// 64 values a thread in at most 32 registers: what does not fit is spilled to local memory in every turn.
// By construction: 64 FFMA of 2 FLOP a turn and 63 FADD a thread; 4 * blocks * threads bytes written besides the
// spills, whose way through L1 and L2 to DRAM the source does not tell.

#include "probe.h"

constexpr int kTurns = 8; // of the probe's own run: 137 us on an H200
constexpr int kValues = 64;

__global__ void __launch_bounds__(kThreads, 8) spill(float* __restrict__ out, float a, float b, int turns) {
  float value[kValues];
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = static_cast<float>(threadIdx.x + k);
  }
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int k = 0; k < kValues; ++k) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value[k]) : "f"(a), "f"(b));
    }
  }
  float sum = value[0];
  #pragma unroll
  for (int k = 1; k < kValues; ++k) {
    sum += value[k];
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

// Queues spill<<<blocks, 256>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * 256 floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_spill(void* out, float a, float b, int turns, int blocks, void* stream) {
  spill<<<blocks, kThreads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = kUnstated;
  work->write_bytes = kUnstated;
  work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (2.0 * kValues * kTurns + kValues - 1);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_spill(buffers->target, 0.999f, 0.5f, kTurns, full_grid(board), stream);
}
