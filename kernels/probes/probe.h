// What run_probes.cu and a probe agree on. Every library exports, besides its launcher:
//   probe_work     what one run does by construction, and whether this board can do it
//   probe_run      queues the launch that does it
//   probe_prepare  where there is one: fills the buffers with what the run needs; called before it, never timed

#pragma once

#include <cuda_runtime.h>
#include <cstddef>

// What probes scale with, of one board.
struct Board {
  int sms;
  int threads_per_sm;
  int shared_bytes_per_block; // what a block may have that asks for more than the usual 48 KiB
  int compute_capability;     // 10 * major + minor
  size_t l2_bytes;
  size_t buffer_bytes;        // of each buffer: several times the L2 cache, a multiple of 2^20
  double ridge_flop_per_byte; // FP32 peak over DRAM bandwidth, by the clocks that the driver states
};

struct Buffers {
  void* source; // random floats of 0.5 to 1.5, unless probe_prepare has put something else there
  void* target;
};

// What one run does. kUnstated: its source does not tell.
constexpr double kUnstated = -1.0;
struct Work {
  int launches = 1;
  double read_bytes = 0;  // from DRAM, all caches being empty before
  double write_bytes = 0; // to memory: up to the size of L2 may stay there when the kernel ends
  double load_bytes = 0;  // of the sectors of 32 bytes that global loads ask L1 for
  double store_bytes = 0; // of those that global stores write
  double fp32_flop = 0;
  double fp64_flop = 0;
  double fp16_flop = 0;   // outside the tensor cores
  double tensor_flop = 0; // FP16 operands, FP32 sums
};

constexpr int kThreads = 256; // of a block, where the probe does not need another number

// Blocks of kThreads that fill the board exactly once.
inline int full_grid(const Board* board) { return board->sms * (board->threads_per_sm / kThreads); }

// Threads of such a grid.
inline double full_threads(const Board* board) { return static_cast<double>(full_grid(board)) * kThreads; }

// The stream that came through C, and the launch's error to go back.
inline cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
inline int launched() { return static_cast<int>(cudaGetLastError()); }

#if defined(__CUDACC__)

// `steps` rounds of fused multiply-adds, each advancing `kValues` values that do not depend on one another; returns
// their sum, so that the compiler keeps them: kValues * steps * 16 FMA and kValues - 1 additions a thread.
template <typename Number, int kValues>
__device__ Number fma_chains(int first, Number a, Number b, int steps) {
  Number value[kValues];
  #pragma unroll
  for (int k = 0; k < kValues; ++k) {
    value[k] = static_cast<Number>(first + k);
  }
  #pragma unroll 1 // the loop is as long as it says
  for (int step = 0; step < steps; ++step) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      #pragma unroll
      for (int k = 0; k < kValues; ++k) {
        value[k] = fma(value[k], a, b);
      }
    }
  }
  Number sum = value[0];
  #pragma unroll
  for (int k = 1; k < kValues; ++k) {
    sum += value[k];
  }
  return sum;
}

#endif
