// The 32 threads of a warp take 32 paths, one after the other.
// By construction: each thread runs 8 FFMA of 2 FLOP in each turn, alone on its path; one float a thread written,
// nothing read.

#include "probe.h"

constexpr int kTurns = 48; // of the probe's own run: 302 us on an H200

__global__ void divergence(float* __restrict__ out, float a, float b, int turns) {
  float value = static_cast<float>(threadIdx.x);
  const int lane = threadIdx.x % 32;
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll 1
    for (int path = 0; path < 32; ++path) {
      if (lane == path) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
          asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(a), "f"(b));
        }
      }
    }
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = value;
}

// Queues divergence<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_divergence(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  divergence<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), a, b, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * 2.0 * 8 * kTurns;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_divergence(buffers->target, 0.999f, 0.5f, kTurns, full_grid(board), kThreads, stream);
}
