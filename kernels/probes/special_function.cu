// Exponentials by ex2.approx, one MUFU each, on values that do not depend on one another: the special function unit.
// By construction: 128 * turns MUFU a thread, which are no FLOP by any counter; 7 FADD a thread to sum up; one float a
// thread written, nothing read.

#include "probe.h"

constexpr int kTurns = 32; // of the probe's own run: 268 us on an H200
constexpr int kValues = 8;

__global__ void special_function(float* __restrict__ out, int turns) {
  float value[kValues];
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = __int_as_float(0xbf800000 + threadIdx.x * 8 + k); // a little below -1
  }
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
      #pragma unroll
      for (int k = 0; k < kValues; ++k) {
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value[k]));
      }
    }
  }
  float sum = value[0];
  #pragma unroll
  for (int k = 1; k < kValues; ++k) {
    sum += value[k];
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

// Queues special_function<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_special_function(void* out, int turns, int blocks, int threads, void* stream) {
  special_function<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * 7;
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_special_function(buffers->target, kTurns, full_grid(board), kThreads, stream);
}
