// Reads 8 KiB again and again, 16 bytes a load: they stay in L1, whose data pipe is the ceiling (128 bytes a clock and
// SM on most boards).
// By construction: 8192 bytes read from DRAM; 64 * turns bytes a thread from L1; 4 * 4 * turns + 3 FADD a thread;
// one float a thread written.

#include "probe.h"

constexpr int kTurns = 256; // of the probe's own run: 140 us on an H200
constexpr int kPieces = 512; // of 16 bytes

__device__ float4 load_through_l1(const float4* from) {
  float4 v;
  asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
  return v;
}

__global__ void l1_read(const float4* __restrict__ source, float* __restrict__ sums, int turns) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  int i = threadIdx.x % kPieces;
  #pragma unroll 1 // few registers: the board is filled by one wave
  for (int turn = 0; turn < turns; ++turn) {
    float4 v[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = load_through_l1(source + ((i + 32 * k) & (kPieces - 1)));
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

// Queues l1_read<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source: 8192 bytes, aligned to 16; sums: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_l1_read(const void* source, void* sums, int turns, int blocks, int threads, void* stream) {
  l1_read<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float*>(sums), turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = 16.0 * kPieces;
  work->load_bytes = 64.0 * kTurns * full_threads(board);
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (16.0 * kTurns + 3);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_l1_read(buffers->source, buffers->target, kTurns, full_grid(board), kThreads, stream);
}
