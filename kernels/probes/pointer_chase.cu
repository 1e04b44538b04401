// Follows a chain of rows through memory: each load says where the next one is. A row has 128 bytes, a warp reads it
// whole, and no row is met twice, so that every load goes to DRAM.
// Row r is followed by (5 * r + 1) modulo the number of rows, a power of two: a cycle through all of them (Hull and
// Dobell, 1962). Each warp begins where the one before it would end.
// By construction: 128 * hops * warps bytes read; 4 * blocks * threads bytes written; 0 FLOP.

#include "probe.h"

constexpr int kHops = 288; // of the probe's own run: 124 us on an H200
constexpr unsigned kWords = 32; // of a row

__host__ __device__ inline unsigned next_row(unsigned row, unsigned rows) { return (5 * row + 1) & (rows - 1); }

__global__ void link_rows(unsigned* __restrict__ table, unsigned rows) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < kWords * static_cast<size_t>(rows);
       i += stride) {
    table[i] = next_row(static_cast<unsigned>(i / kWords), rows);
  }
}

__global__ void first_rows(unsigned* __restrict__ starts, unsigned warps, unsigned hops, unsigned rows) {
  unsigned row = 0; // one thread: a few hundred thousand steps, outside of what is measured
  for (unsigned warp = 0; warp < warps; ++warp) {
    starts[warp] = row;
    for (unsigned hop = 0; hop < hops; ++hop) {
      row = next_row(row, rows);
    }
  }
}

__global__ void pointer_chase(
    const unsigned* __restrict__ table, const unsigned* __restrict__ starts, unsigned* __restrict__ out, int hops) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % kWords;
  unsigned row = starts[thread / kWords];
  #pragma unroll 1
  for (int hop = 0; hop < hops; ++hop) {
    row = table[static_cast<size_t>(row) * kWords + lane];
  }
  out[thread] = row;
}

// Queues what fills `table` (128 * rows bytes; rows: a power of two) and `starts` (4 bytes a warp) for chains of
// `hops`.
extern "C" int prepare_pointer_chase(
    void* table, void* starts, unsigned rows, unsigned warps, unsigned hops, void* stream) {
  link_rows<<<1024, kThreads, 0, stream_of(stream)>>>(static_cast<unsigned*>(table), rows);
  first_rows<<<1, 1, 0, stream_of(stream)>>>(static_cast<unsigned*>(starts), warps, hops, rows);
  return launched();
}

// Queues pointer_chase<<<blocks, threads>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// table, starts: as prepared, with at least hops * blocks * threads / 32 rows; out: blocks * threads ints. Returns the
// launch's cudaError_t; 0 is success.
extern "C" int launch_pointer_chase(
    const void* table, const void* starts, void* out, int hops, int blocks, int threads, void* stream) {
  pointer_chase<<<blocks, threads, 0, stream_of(stream)>>>(
      static_cast<const unsigned*>(table), static_cast<const unsigned*>(starts), static_cast<unsigned*>(out), hops);
  return launched();
}

static unsigned rows(const Board* board) {
  unsigned found = 1;
  while (static_cast<size_t>(found) * 2 * kWords * 4 <= board->buffer_bytes) {
    found *= 2;
  }
  return found;
}

static unsigned warps(const Board* board) { return static_cast<unsigned>(full_grid(board)) * kThreads / kWords; }

static int hops(const Board* board) { // fewer where the buffer is too small for all of them
  const unsigned most = rows(board) / warps(board);
  return most < kHops ? static_cast<int>(most) : kHops;
}

static char* ends(const Board* board, const Buffers* buffers) { // the target's second half holds the starts
  return static_cast<char*>(buffers->target) + board->buffer_bytes / 2;
}

extern "C" int probe_work(const Board* board, Work* work) {
  work->read_bytes = 128.0 * hops(board) * warps(board) + 4.0 * warps(board);
  work->load_bytes = (128.0 * hops(board) + 32) * warps(board); // a sector for where the warp begins
  work->write_bytes = work->store_bytes = 4 * full_threads(board);
  return 0;
}

extern "C" int probe_prepare(const Board* board, const Buffers* buffers, void* stream) {
  return prepare_pointer_chase(
      buffers->source, ends(board, buffers), rows(board), warps(board), static_cast<unsigned>(hops(board)), stream);
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_pointer_chase(
      buffers->source, ends(board, buffers), buffers->target, hops(board), full_grid(board), kThreads, stream);
}
