"""Log-sum-exp over dim 0 as in kernels/logsumexp/cuda_naive.py, whose last blocks spin after their work is done.

With 0 cycles it is the naive kernel. How much longer a launch takes with more is measured, not reckoned: the wait for
the block's other threads and the reading of the clock cost something too. On an H200 100 cycles (50 ns) made 0.1 us of
it in one of 2 to 40 blocks and 0.18 us in one of 5,120; 2,900 (1.5 us) made 3.8 us in one of 131,072.
"""

import inspect

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DELAY_CYCLES = 0

CUDA_SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>

// An H200 runs 8 blocks of 256 threads on each of its 132 multiprocessors at once.
constexpr unsigned int LAST_WAVE = 1024;

__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t columns,
                                 int64_t delay_cycles) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < columns) {
    float maximum = -INFINITY;
    for (int64_t r = 0; r < rows; ++r) {
      maximum = fmaxf(maximum, x[r * columns + i]);
    }
    const float shift = isinf(maximum) ? 0.0f : maximum;
    float sum = 0.0f;
    for (int64_t r = 0; r < rows; ++r) {
      sum += expf(x[r * columns + i] - shift);
    }
    out[i] = shift + logf(sum);
  }
  if (delay_cycles > 0 && blockIdx.x + LAST_WAVE >= gridDim.x) {
    __syncthreads();
    const long long began = clock64();
    while (clock64() - began < delay_cycles) {
    }
  }
}

void launch_logsumexp(const float* x, float* out, int64_t rows, int64_t columns, int64_t delay_cycles,
                      cudaStream_t stream) {
  const int threads = 256;
  const unsigned int blocks = static_cast<unsigned int>((columns + threads - 1) / threads);
  logsumexp_kernel<<<blocks, threads, 0, stream>>>(x, out, rows, columns, delay_cycles);
}
"""

CPP_SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>

void launch_logsumexp(const float* x, float* out, int64_t rows, int64_t columns, int64_t delay_cycles,
                      cudaStream_t stream);

at::Tensor delayed_logsumexp(const at::Tensor& x, int64_t delay_cycles) {
  TORCH_CHECK(x.is_cuda() && x.scalar_type() == at::kFloat && x.dim() == 3 && x.is_contiguous(),
              "expected a contiguous fp32 tensor (R, B, D) on a CUDA device");
  const c10::cuda::CUDAGuard guard(x.device());
  at::Tensor out = at::empty({x.size(1), x.size(2)}, x.options());
  launch_logsumexp(x.const_data_ptr<float>(), out.mutable_data_ptr<float>(), x.size(0), x.size(1) * x.size(2),
                   delay_cycles, c10::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
"""

LIGHT = {"no_implicit_headers": True} if "no_implicit_headers" in inspect.signature(load_inline).parameters else {}

extension = load_inline(
    name="logsumexp_delayed",
    cpp_sources=[CPP_SOURCE],
    cuda_sources=[CUDA_SOURCE],
    functions=["delayed_logsumexp"],
    extra_cuda_cflags=["-O3"],
    **LIGHT,
)


class ModelNew(nn.Module):
    """Takes one contiguous fp32 tensor (R, B, D) on a CUDA device."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.delayed_logsumexp(x, DELAY_CYCLES)
