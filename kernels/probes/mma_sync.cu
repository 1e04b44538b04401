// FP16 matrix products on the tensor cores by mma.sync (m16n8k16, FP32 sums), operands in registers. On compute
// capability 9.0 that reaches two thirds of what wgmma does.
// By construction: 4 * turns products a warp, 2 * 16 * 8 * 16 = 4096 FLOP each; 15 FADD a thread to sum up; one float a
// thread written, nothing read.

#include "probe.h"

constexpr int kTurns = 512; // of the probe's own run: 122 us on an H200
constexpr int kTiles = 4;   // sums that do not depend on one another

__global__ void mma_sync(float* __restrict__ out, int turns) {
  const unsigned a0 = threadIdx.x, a1 = threadIdx.x + 1, a2 = threadIdx.x + 2, a3 = threadIdx.x + 3;
  const unsigned b0 = threadIdx.x * 3, b1 = threadIdx.x * 5;
  float c[kTiles][4] = {};
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    #pragma unroll
    for (int k = 0; k < kTiles; ++k) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
  }
  float sum = 0.0f;
  #pragma unroll
  for (int k = 0; k < kTiles; ++k) {
    const float tile = (c[k][0] + c[k][1]) + (c[k][2] + c[k][3]);
    sum = k == 0 ? tile : sum + tile;
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

// Queues mma_sync<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * threads floats; threads: a multiple of 32. Needs compute capability 8.0. Returns the launch's
// cudaError_t; 0 is success.
extern "C" int launch_mma_sync(void* out, int turns, int blocks, int threads, void* stream) {
  mma_sync<<<blocks, threads, 0, stream_of(stream)>>>(static_cast<float*>(out), turns);
  return launched();
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->tensor_flop = full_threads(board) / 32 * 4096.0 * kTiles * kTurns;
  work->fp32_flop = full_threads(board) * 15.0;
  return board->compute_capability >= 80 ? 0 : -1;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_mma_sync(buffers->target, kTurns, full_grid(board), kThreads, stream);
}
