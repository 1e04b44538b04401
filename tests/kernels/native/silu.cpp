// Functions for Python with no header of torch's, so that they compile in seconds.
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>

void silu(std::uintptr_t x, std::uintptr_t out, std::int64_t n) {
  const float* from = reinterpret_cast<const float*>(x);
  float* into = reinterpret_cast<float*>(out);
  for (std::int64_t i = 0; i < n; ++i) into[i] = from[i] / (1.f + std::exp(-from[i]));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("silu", &silu); }
