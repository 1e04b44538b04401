// Kernels with one planted fault each, and one without. No header of torch's, so that they compile in seconds.
extern "C" {

__global__ void clean_kernel(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + 1.0f;
}

// The last block writes past the end: the bound is missing.
__global__ void out_of_bounds_kernel(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    out[i] = value + 1.0f;
}

// Neighbours are read from shared memory with no barrier after the write.
__global__ void race_kernel(const float* x, float* out, int n) {
    __shared__ float kept[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = i < n ? x[i] : 0.0f;
    float neighbour = kept[255 - threadIdx.x];
    if (i < n) out[i] = neighbour * 0.0f + x[i] + 1.0f;
}

// Reads memory that nobody wrote, and hides it in a product with zero.
__global__ void uninitialized_kernel(const float* x, const float* unwritten, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + 1.0f + (unwritten[i] > 1e30f ? 1.0f : 0.0f);
}

void planted(int which, const float* x, const float* unwritten, float* out, int n, void* stream) {
    int blocks = (n + 255) / 256;
    cudaStream_t on = (cudaStream_t)stream;
    if (which == 0) clean_kernel<<<blocks, 256, 0, on>>>(x, out, n);
    if (which == 1) out_of_bounds_kernel<<<blocks, 256, 0, on>>>(x, out, n);
    if (which == 2) race_kernel<<<blocks, 256, 0, on>>>(x, out, n);
    if (which == 3) uninitialized_kernel<<<blocks, 256, 0, on>>>(x, unwritten, out, n);
}
}
