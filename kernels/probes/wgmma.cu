// FP16 matrix products on the tensor cores by wgmma (m64n128k16, FP32 sums), operands in shared memory: the tensor
// ceiling of compute capability 9.0, the only one that has wgmma. Build with
// -gencode=arch=compute_90a,code=sm_90a; for anything else the kernel is empty and probe_work refuses the board.
// By construction: 4 * turns products a group of 128 threads, 2 * 64 * 128 * 16 = 262144 FLOP each; 63 FADD a thread to
// sum up; one float a thread written, nothing read.
// All operands are 1, so every sum is 16 * 4 * turns and each thread writes 64 times that, exact up to 2^24.

#include "probe.h"

#include <cuda_fp16.h>

constexpr int kTurns = 128; // of the probe's own run: 76 us on an H200
constexpr int kProducts = 4; // a turn
constexpr int kGroup = 128;  // threads that issue a product together
constexpr int kBlock = 2 * kGroup;
constexpr int kM = 64, kN = 128, kK = 16;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#endif

#if defined(HAS_WGMMA)
// Describes a matrix in shared memory to wgmma (PTX ISA, "Matrix descriptor"): 8 x 16 byte pieces of 128 bytes without
// swizzling, the two along K next to each other, the next 8 rows 256 bytes on.
__device__ unsigned long long describe(const void* matrix) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(matrix));
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}

__device__ void multiply(float (&c)[64], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
        "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
        "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]),
        "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]),
        "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]),
        "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]),
        "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]),
        "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
      : "l"(a), "l"(b));
}
#endif

__global__ void __launch_bounds__(kBlock) wgmma(float* __restrict__ out, int turns) {
#if defined(HAS_WGMMA)
  __shared__ alignas(128) __half a[kM * kK];
  __shared__ alignas(128) __half b[kN * kK];
  for (int i = threadIdx.x; i < kN * kK; i += blockDim.x) {
    b[i] = __ushort_as_half(0x3c00); // 1
    if (i < kM * kK) {
      a[i] = __ushort_as_half(0x3c00);
    }
  }
  // The tensor cores read by another way than threads write.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned long long of_a = describe(a);
  const unsigned long long of_b = describe(b);
  float c[64] = {};
  #pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int k = 0; k < kProducts; ++k) {
      multiply(c, of_a, of_b);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = c[0];
  #pragma unroll
  for (int k = 1; k < 64; ++k) {
    sum += c[k];
  }
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
#endif
}

// Queues wgmma<<<blocks, 256>>> on `stream` (a cudaStream_t; null is the legacy default stream).
// out: blocks * 256 floats. Returns the launch's cudaError_t; 0 is success.
extern "C" int launch_wgmma(void* out, int turns, int blocks, void* stream) {
  wgmma<<<blocks, kBlock, 0, stream_of(stream)>>>(static_cast<float*>(out), turns);
  return launched();
}

// Two blocks an SM: registers allow no more.
static int blocks(const Board* board) { return 2 * board->sms; }

extern "C" int probe_work(const Board* board, Work* work) {
  const double threads = static_cast<double>(blocks(board)) * kBlock;
  work->write_bytes = work->store_bytes = 4 * threads;
  work->tensor_flop = threads / kGroup * 2.0 * kM * kN * kK * kProducts * kTurns;
  work->fp32_flop = threads * 63;
  return board->compute_capability == 90 ? 0 : -1;
}

extern "C" int probe_run(const Board* board, const Buffers* buffers, void* stream) {
  return launch_wgmma(buffers->target, kTurns, blocks(board), stream);
}
