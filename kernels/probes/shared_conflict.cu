// Reads shared memory along a column of 32 words: all threads of a warp meet at one bank, and each load is repeated 32
// times.
// By construction: nothing read from DRAM; 4 * turns loads and FADD a thread, each load 32 wavefronts a warp; 3 FADD a
// thread to sum up; one float a thread written.

#include "probe.h"

constexpr int kTurns = 64; // of the probe's own run: 267 us on an H200
constexpr int kWords = 32 * 32;

__device__ float load_shared(unsigned address) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));
  return v;
}

__global__ void shared_conflict(float* __restrict__ sums, int turns) {
  __shared__ float words[kWords];
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) {
    words[i] = static_cast<float>(i);
  }
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(words));
  const int row = (threadIdx.x & 31) * 32;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  #pragma unroll 1 // few registers: the board is filled by one wave
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum[k] += load_shared(base + 4 * (row + ((4 * turn + k) & 31)));
    }
  }
  sums[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Queues shared_conflict<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// sums: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_shared_conflict(void* sums, int turns, int blocks, int threads, void* stream) {
  shared_conflict<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(sums), turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (4.0 * kTurns + 3);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_shared_conflict(buffers->target, kTurns, full_grid(board), kThreads, stream);
}
