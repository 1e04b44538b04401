// What g++ needs to run the CUDA source of kernels/logsumexp/cuda_tuned.py on a processor, one thread after the other.
// The special function unit is stood in for by exp2 with its worst error: 2 units in the last place, either way.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define __global__
#define __device__
#define __restrict__
#define __launch_bounds__(...)

using std::isinf;
using cudaStream_t = void*;
struct Index {
  unsigned x;
};
static Index blockIdx, threadIdx;

static float approximate_exp2(float x) { // of ex2.approx.ftz
  static int turn = 0;
  float result = static_cast<float>(std::exp2(static_cast<double>(x)));
  if (std::isfinite(result) && result > 0 && result != 1.0f) {
    turn = turn == 2 ? -2 : turn + 2; // 2, -2, 0 and so on
    result *= 1.0f + turn * std::numeric_limits<float>::epsilon() / 2;
  }
  return std::fabs(result) < std::numeric_limits<float>::min() ? 0.0f : result;
}

template <typename Kernel>
void run_grid(unsigned blocks, unsigned threads, Kernel kernel) {
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
      kernel();
    }
  }
}
