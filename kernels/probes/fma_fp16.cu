// FP16 fused multiply-adds on pairs of halves (HFMA2): the FP16 ceiling outside the tensor cores.
// The factors come as parameters: constants would be set by further HFMA2, which are counted as FLOP too.
// By construction: HFMA2 = blocks * threads * 128 * turns, 4 FLOP each; 7 HADD2 of 2 FLOP a thread to sum up;
// 4 * blocks * threads bytes written, nothing read.

#include "probe.h"

#include <cuda_fp16.h>

constexpr int kTurns = 128; // of the probe's own run: 141 us on an H200
constexpr int kValues = 8;

__global__ void fma_fp16(unsigned* __restrict__ out, unsigned a, unsigned b, int turns) {
  unsigned value[kValues]; // two halves each
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = threadIdx.x * 8 + k;
  }
  #pragma unroll 1 // the loop is as long as it says
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
      #pragma unroll
      for (int k = 0; k < kValues; ++k) {
        asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(value[k]) : "r"(a), "r"(b));
      }
    }
  }
  unsigned sum = value[0];
  #pragma unroll
  for (int k = 1; k < kValues; ++k) {
    asm("add.rn.f16x2 %0, %0, %1;" : "+r"(sum) : "r"(value[k]));
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

// Queues fma_fp16<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads pairs of halves. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_fma_fp16(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  const unsigned one = __half_as_ushort(__float2half(a));
  const unsigned other = __half_as_ushort(__float2half(b));
  fma_fp16<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<unsigned*>(out), one << 16 | one, other << 16 | other, turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp16_flop = full_threads(board) * (4.0 * 128 * kTurns + 2 * 7);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_fma_fp16(buffers->target, 0.5f, 0.25f, kTurns, full_grid(board), kThreads, stream);
}
