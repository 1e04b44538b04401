// FP32 fused multiply-adds from registers: the FP32 ceiling.
// Each thread advances 8 values that do not depend on one another, so that no FFMA waits for the one before it;
// 16 steps a turn of the loop make 128 FFMA for about 3 instructions of loop.
// By construction: FFMA = blocks * threads * 128 * turns, 2 FLOP each; 7 FADD a thread to sum up;
// 4 * blocks * threads bytes written, nothing read.
// With a = 1 and b = 1 the result is exact: thread t of a block writes 8 * (t + 16 * turns) + 28, up to 2^24.

#include <cuda_runtime.h>
#include <cstddef>

constexpr int kValues = 8;
constexpr int kSteps = 16;

__global__ void fma_fp32(float* __restrict__ out, float a, float b, int turns) {
  float value[kValues];
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = static_cast<float>(threadIdx.x + k);
  }
  #pragma unroll 1 // the loop is as long as it says
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      #pragma unroll
      for (int k = 0; k < kValues; ++k) {
        value[k] = fmaf(value[k], a, b);
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

// Queues fma_fp32<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats. Keep |a| <= 1, or the values overflow. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_fma_fp32(void* out, float a, float b, int turns, int blocks, int threads, void* stream) {
  fma_fp32<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float*>(out), a, b, turns);
  return static_cast<int>(cudaGetLastError());
}
