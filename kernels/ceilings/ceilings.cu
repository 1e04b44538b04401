// Kernels that do one thing as fast as the board can: what kprof doctor --ceilings takes as its measured roofs.
// Every launcher has one signature, and returns the launch's cudaError_t (0 is success):
//   int NAME(void* a, void* b, void* c, size_t n16, int turns, int blocks, int threads, void* stream)
// n16 is the size of a buffer in pieces of 16 bytes. No torch header: it builds in a few seconds.

#include <cstddef>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

constexpr int kValues = 8;  // independent chains of a thread: no FMA waits for the one before it
constexpr int kSteps = 16;  // FMAs of a chain in a turn
constexpr int kLoads = 8;   // loads on their way before the first is used
constexpr int kSlots = 4;    // pieces of 16 bytes a thread that a block of 256 threads reads again and again: 16 KiB
constexpr int kOnChipThreads = 256;
constexpr unsigned kNever = 0x9e3779b9;

__device__ size_t thread_index() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ unsigned mixed(const uint4& v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Reads n16 pieces once; one word a thread is written.
__global__ void read_all(const uint4* __restrict__ a, unsigned* __restrict__ out, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned sum = 0;
  size_t i = thread_index();
  for (; i + 3 * stride < n16; i += 4 * stride) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = a[i + k * stride];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum ^= mixed(v[k]);
  }
  for (; i < n16; i += stride) sum ^= mixed(a[i]);
  out[thread_index()] = sum;
}

// The same, a block's loads side by side. The sum is of random bits: it is never written, which the compiler cannot know.
__global__ void read_tiles(const uint4* __restrict__ a, unsigned* __restrict__ out, size_t n16) {
  const size_t tile = static_cast<size_t>(blockDim.x) * kLoads;
  unsigned sum = 0;
  for (size_t start = blockIdx.x * tile; start < n16; start += gridDim.x * tile) {
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const size_t i = start + k * blockDim.x + threadIdx.x;
      v[k] = i < n16 ? __ldcs(a + i) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum ^= mixed(v[k]);
  }
  if (sum == kNever) out[0] = sum;
}

// Copies n16 pieces.
__global__ void copy_all(const uint4* __restrict__ a, uint4* __restrict__ b, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = thread_index();
  for (; i + 3 * stride < n16; i += 4 * stride) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = a[i + k * stride];
#pragma unroll
    for (int k = 0; k < 4; ++k) b[i + k * stride] = v[k];
  }
  for (; i < n16; i += stride) b[i] = a[i];
}

// c = a + 3 b, n16 pieces each.
__global__ void triad_all(
    const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c, size_t n16) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = thread_index();
  for (; i + stride < n16; i += 2 * stride) {
    const float4 x0 = a[i], x1 = a[i + stride], y0 = b[i], y1 = b[i + stride];
    c[i] = make_float4(x0.x + 3 * y0.x, x0.y + 3 * y0.y, x0.z + 3 * y0.z, x0.w + 3 * y0.w);
    c[i + stride] = make_float4(x1.x + 3 * y1.x, x1.y + 3 * y1.y, x1.z + 3 * y1.z, x1.w + 3 * y1.w);
  }
  for (; i < n16; i += stride) {
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
  }
}

// Each thread reads kLoads * turns pieces of a buffer that lies in L2, past L1 (ld.cg). n16 is a power of two.
__global__ void read_l2(const uint4* __restrict__ a, unsigned* __restrict__ out, size_t n16, int turns) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  const size_t mask = n16 - 1;
  size_t i = thread_index();
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn, i += kLoads * stride) {
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = __ldcg(a + ((i + k * stride) & mask));
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum ^= mixed(v[k]);
  }
  out[thread_index()] = sum;
}

// The slot of the k-th load of a turn. It moves on from turn to turn: ptxas takes equal loads of one turn, or loads that
// are the same in every turn, for one (asm volatile holds the front end alone).
__device__ int slot(int k, int turn) { return ((k + turn) % kSlots) * kOnChipThreads; }

// Each thread reads kSlots * turns pieces of its block's own, which lie in L1. kOnChipThreads a block.
__global__ void read_l1(const uint4* __restrict__ a, unsigned* __restrict__ out, int turns) {
  const uint4* own = a + static_cast<size_t>(blockIdx.x) * kSlots * kOnChipThreads + threadIdx.x;
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    uint4 v[kSlots];
#pragma unroll
    for (int k = 0; k < kSlots; ++k) {
      asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                   : "l"(own + slot(k, turn)));
    }
#pragma unroll
    for (int k = 0; k < kSlots; ++k) sum = sum * 3 + mixed(v[k]);
  }
  out[thread_index()] = sum;
}

// The same from shared memory, without bank conflicts.
__global__ void read_shared(unsigned* __restrict__ out, int turns) {
  __shared__ uint4 own[kSlots * kOnChipThreads];
  for (int i = threadIdx.x; i < kSlots * kOnChipThreads; i += blockDim.x) own[i] = make_uint4(i, i + 1, i + 2, i + 3);
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(own + threadIdx.x));
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    uint4 v[kSlots];
#pragma unroll
    for (int k = 0; k < kSlots; ++k) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                   : "r"(base + slot(k, turn) * 16));
    }
#pragma unroll
    for (int k = 0; k < kSlots; ++k) sum = sum * 3 + mixed(v[k]);
  }
  out[thread_index()] = sum;
}

__device__ float fused(float v, float a, float b) { return fmaf(v, a, b); }
__device__ double fused(double v, double a, double b) { return fma(v, a, b); }
__device__ __half2 fused(__half2 v, __half2 a, __half2 b) { return __hfma2(v, a, b); }

__device__ void set(float& v, int i) { v = static_cast<float>(i); }
__device__ void set(double& v, int i) { v = static_cast<double>(i); }
__device__ void set(__half2& v, int i) { v = __float2half2_rn(static_cast<float>(i)); }

// kValues * kSteps * turns FMAs a thread, from registers. Chains start apart, or the compiler would make one of them;
// with a below 1 and b = 1 - a they go towards 1.
template <typename T>
__global__ void fma_only(T* __restrict__ out, T a, T b, int turns) {
  T value[kValues];
#pragma unroll
  for (int k = 0; k < kValues; ++k) set(value[k], threadIdx.x % 32 + k);
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int k = 0; k < kValues; ++k) value[k] = fused(value[k], a, b);
    }
  }
  T sum = value[0];
#pragma unroll
  for (int k = 1; k < kValues; ++k) sum = fused(sum, a, value[k]);
  out[thread_index()] = sum;
}

__global__ void nothing() {}

int launched() { return static_cast<int>(cudaGetLastError()); }

}  // namespace

#define LAUNCHER(name)                                                                                         \
  extern "C" int name(void* a, void* b, void* c, size_t n16, int turns, int blocks, int threads, void* on) {   \
    const cudaStream_t stream = static_cast<cudaStream_t>(on);                                                 \
    (void)a, (void)b, (void)c, (void)n16, (void)turns;

LAUNCHER(dram_read)
  read_all<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<unsigned*>(b), n16);
  return launched();
}

LAUNCHER(dram_read_tiles)
  read_tiles<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<unsigned*>(b), n16);
  return launched();
}

LAUNCHER(dram_copy)
  copy_all<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<uint4*>(b), n16);
  return launched();
}

LAUNCHER(dram_triad)
  triad_all<<<blocks, threads, 0, stream>>>(
      static_cast<const float4*>(a), static_cast<const float4*>(b), static_cast<float4*>(c), n16);
  return launched();
}

LAUNCHER(l2)
  read_l2<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<unsigned*>(b), n16, turns);
  return launched();
}

LAUNCHER(l1)
  read_l1<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<unsigned*>(b), turns);
  return launched();
}

LAUNCHER(shared)
  read_shared<<<blocks, threads, 0, stream>>>(static_cast<unsigned*>(b), turns);
  return launched();
}

LAUNCHER(fp32)
  fma_only<float><<<blocks, threads, 0, stream>>>(static_cast<float*>(b), 0.999f, 0.001f, turns);
  return launched();
}

LAUNCHER(fp64)
  fma_only<double><<<blocks, threads, 0, stream>>>(static_cast<double*>(b), 0.999, 0.001, turns);
  return launched();
}

LAUNCHER(fp16_vector)
  fma_only<__half2><<<blocks, threads, 0, stream>>>(
      static_cast<__half2*>(b), __float2half2_rn(0.99f), __float2half2_rn(0.01f), turns);
  return launched();
}

LAUNCHER(empty_kernel)
  nothing<<<blocks, threads, 0, stream>>>();
  return launched();
}
