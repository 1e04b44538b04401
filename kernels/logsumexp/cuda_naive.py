"""Log-sum-exp over dim 0 on CUDA, kept naive on purpose: one thread an output, 256 threads a block, two passes over R.

It launches on torch's current stream, as a kernel must for timers, CUDA graphs and the caller's own ordering to hold.
"""

import inspect

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

# Only raw pointers, sizes and the stream cross into this file, so that nvcc reads no torch header.
CUDA_SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>

// x has `rows` rows of `columns` elements; out[i] = log(sum over r of exp(x[r][i])).
// The maximum is subtracted unless it is infinite: inf - inf would be NaN where the result is the infinity itself.
__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t columns) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= columns) {
    return;
  }
  float maximum = -INFINITY;
  for (int64_t r = 0; r < rows; ++r) {
    maximum = fmaxf(maximum, x[r * columns + i]); // passes over NaN; the sum below does not
  }
  const float shift = isinf(maximum) ? 0.0f : maximum;
  float sum = 0.0f;
  for (int64_t r = 0; r < rows; ++r) {
    sum += expf(x[r * columns + i] - shift);
  }
  out[i] = shift + logf(sum);
}

void launch_logsumexp(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
  const int threads = 256;
  const unsigned int blocks = static_cast<unsigned int>((columns + threads - 1) / threads);
  logsumexp_kernel<<<blocks, threads, 0, stream>>>(x, out, rows, columns);
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

void launch_logsumexp(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream);

at::Tensor logsumexp_dim0(const at::Tensor& x) {
  TORCH_CHECK(x.device().is_cuda(), "logsumexp_dim0: x is on ", x.device(), "; expected a CUDA device");
  TORCH_CHECK(x.scalar_type() == at::kFloat, "logsumexp_dim0: x is ", x.scalar_type(), "; expected Float");
  TORCH_CHECK(x.dim() == 3, "logsumexp_dim0: x has ", x.dim(), " dimensions; expected 3: (R, B, D)");
  TORCH_CHECK(x.is_contiguous(), "logsumexp_dim0: x is not contiguous");
  const int64_t columns = x.size(1) * x.size(2);
  TORCH_CHECK(columns <= 256 * INT64_C(2147483647), "logsumexp_dim0: ", columns, " outputs exceed the largest grid");
  const c10::cuda::CUDAGuard guard(x.device());
  at::Tensor out = at::empty({x.size(1), x.size(2)}, x.options());
  if (columns > 0) { // an empty grid is a launch error
    launch_logsumexp(x.const_data_ptr<float>(), out.mutable_data_ptr<float>(), x.size(0), columns,
                     c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}
"""

# Newer versions of torch can leave out the headers that load_inline adds by itself: most of the build time.
LIGHT = {"no_implicit_headers": True} if "no_implicit_headers" in inspect.signature(load_inline).parameters else {}

extension = load_inline(
    name="logsumexp_cuda_naive",
    cpp_sources=[CPP_SOURCE],
    cuda_sources=[CUDA_SOURCE],
    functions=["logsumexp_dim0"],
    extra_cuda_cflags=["-O3"],
    **LIGHT,
)


class ModelNew(nn.Module):
    """Takes one contiguous fp32 tensor (R, B, D) on a CUDA device."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.logsumexp_dim0(x)
