// Reads one word of 4 bytes of each sector of 32: eight times as many bytes move as are used.
// By construction, of n words: 32 * n bytes read; n FADD and 3 a thread; one float a thread written.

#include "probe.h"

constexpr size_t kWordsPerSector = 8;

__global__ void uncoalesced(const float* __restrict__ source, float* __restrict__ sums, size_t n) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  size_t i = thread;
  for (; i + 3 * stride < n; i += 4 * stride) { // four loads on their way before the first is used
    float v[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = source[(i + k * stride) * kWordsPerSector];
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum[k] += v[k];
    }
  }
  for (; i < n; i += stride) {
    sum[0] += source[i * kWordsPerSector];
  }
  sums[thread] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Queues uncoalesced<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// source: 32 * n bytes; sums: blocks * threads floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_uncoalesced(const void* source, void* sums, size_t n, int blocks, int threads, void* stream) {
  uncoalesced<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const float*>(source), static_cast<float*>(sums), n);
  return launched();
}

static size_t bytes(const Board* board) { return board->buffer_bytes / 4; }

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = work->load_bytes = static_cast<double>(bytes(board));
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  work->fp32_flop = static_cast<double>(bytes(board) / 32) + 3 * full_threads(board);
  return 0;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_uncoalesced(buffers->source, buffers->target, bytes(board) / 32, full_grid(board), kThreads, stream);
}
