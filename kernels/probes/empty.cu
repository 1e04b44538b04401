// A kernel that does nothing: what a launch costs, and what a timer reads for it.
// By construction: 0 bytes, 0 FLOP.

#include "probe.h"

__global__ void empty() {}

// Queues empty<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_empty(int blocks, int threads, void* stream) {
  empty<<<blocks, threads, 0, stream_of(stream)>>>();
  return launched();
}

extern "C" int probe_work(const Board*, Work*) { return 0; }

extern "C" int probe_run(const Board*, const Buffers*, void* stream) { return launch_empty(1, 32, stream); }
