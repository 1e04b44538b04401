// Reads shared memory, 16 bytes a load and neighbouring threads on neighbouring addresses: no bank conflicts, so that
// the data pipe of shared memory is the ceiling (128 bytes a clock and SM on most boards).
// By construction: nothing read from DRAM; 64 * turns bytes a thread from shared memory; 16 * turns + 3 FADD a thread;
// one float a thread written.

#include "probe.h"

constexpr int kTurns = 256; // of the probe's own run: 138 us on an H200
constexpr int kPieces = 512; // of 16 bytes: 8 KiB, so that the board is filled by threads first

__device__ float4 load_shared(unsigned address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address));
  return v;
}

__global__ void shared_read(float* __restrict__ sums, int turns) {
  __shared__ float4 pieces[kPieces];
  for (int i = threadIdx.x; i < kPieces; i += blockDim.x) {
    pieces[i] = make_float4(i, 1.0f, 2.0f, 3.0f);
  }
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(pieces));
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  int i = threadIdx.x % kPieces;
  #pragma unroll 1 // few registers: the board is filled by one wave
  for (int turn = 0; turn < turns; ++turn) {
    float4 v[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = load_shared(base + 16 * ((i + 32 * k) & (kPieces - 1)));
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum.x += v[k].x;
      sum.y += v[k].y;
      sum.z += v[k].z;
      sum.w += v[k].w;
    }
    i += 128;
  }
  sums[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = (sum.x + sum.y) + (sum.z + sum.w);
}

// Queues shared_read<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// sums: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_shared_read(void* sums, int turns, int blocks, int threads, void* stream) {
  shared_read<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(sums), turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (16.0 * kTurns + 3);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_shared_read(buffers->target, kTurns, full_grid(board), kThreads, stream);
}
