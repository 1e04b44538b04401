// A kernel that does nothing: what a launch costs, and what a timer reads for it.
// By construction: 0 bytes, 0 FLOP.

#include <cuda_runtime.h>

__global__ void empty() {}

// Queues empty<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_empty(int blocks, int threads, void* stream) {
  empty<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>();
  return static_cast<int>(cudaGetLastError());
}
