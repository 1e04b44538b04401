// Reads a set that lies in L2 again and again, past L1 (ld.global.cg), 16 bytes a load: the read ceiling of L2.
// Each turn the grid reads the next 4 * blocks * threads pieces of the set, round and round.
// By construction, of n16 pieces of 16 bytes: 16 * n16 bytes read from DRAM, once, when turns * 4 * blocks * threads is
// n16 or more; 64 * turns * blocks * threads bytes from L2; 16 * turns + 3 FADD a thread; one float a thread written.

#include "probe.h"

constexpr int kTurns = 64; // of the probe's own run: 125 us on an H200

__device__ float4 load_past_l1(const float4* from) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
  return v;
}

__global__ void l2_read(const float4* __restrict__ source, float* __restrict__ sums, int n16, int turns) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int stride = gridDim.x * blockDim.x;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  int i = thread;
  #pragma unroll 1 // few registers: the board is filled by one wave
  for (int turn = 0; turn < turns; ++turn) {
    float4 v[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = load_past_l1(source + i);
      i += stride;
      i -= i >= n16 ? n16 : 0;
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum.x += v[k].x;
      sum.y += v[k].y;
      sum.z += v[k].z;
      sum.w += v[k].w;
    }
  }
  sums[thread] = (sum.x + sum.y) + (sum.z + sum.w);
}

// Queues l2_read<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source: 16 * n16 bytes, aligned to 16, a good part smaller than L2, with n16 at least blocks * threads; sums:
// blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_l2_read(
    const void* source, void* sums, int n16, int turns, int blocks, int threads, void* stream) {
  l2_read<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float4*>(source), static_cast<float*>(sums), n16, turns);
  return launched();
}

// A quarter of L2, and no less than one load of every thread.
static int pieces(const Board* board) {
  const int quarter = static_cast<int>(board->l2_bytes / 4 / 16);
  const int threads = full_grid(board) * kThreads;
  return quarter > threads ? quarter : threads;
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = 16.0 * pieces(board);
  work->load_bytes = 64.0 * kTurns * full_threads(board);
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = full_threads(board) * (16.0 * kTurns + 3);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_l2_read(buffers->source, buffers->target, pieces(board), kTurns, full_grid(board), kThreads, stream);
}
