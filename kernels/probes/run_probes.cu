// Runs probes, one after the other, and says in JSON what each does by construction and how long it took.
//
//   run_probes [--device N] [--repeats N] [--profile] NAME=LIBRARY...
//
// One line a probe on stdout, the board's before them:
//   {"board": {...}, "empty_pair_us": ...}
//   {"probe": NAME, "launches": ..., "read_bytes": ..., ..., "event_us": [...], "status": "ok"}
// status: ok; unsupported (this board cannot do it); or what failed. Bytes and FLOP of null are not stated.
// event_us: an event pair round one run, L2 emptied before it by reading other memory, the queue kept full by what
// empties it, so that no host time is inside. empty_pair_us: the same round nothing, which each of them has in it.
// --profile: nothing is timed; each run stands between cudaProfilerStart and cudaProfilerStop, for a profiler that
// waits for them. Exit status: 0 when the board could be used, whatever became of single probes; 1 else.

#include "probe.h"

#include <cuda_profiler_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kMebibyte = 1 << 20;
constexpr size_t kLeastBuffer = 256 * kMebibyte;
constexpr size_t kTimesL2 = 16; // what of a stream stays in L2 is then a small part of it
constexpr long long kSpinCycles = 100000; // 50 us: longer than it takes to queue what follows

using WorkOf = int (*)(const Board*, Work*);
using Run = int (*)(const Board*, const Buffers*, void*);

__global__ void fill(float* buffer, size_t count) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    unsigned bits = static_cast<unsigned>(i) * 2654435761u; // a hash: equal values would draw less power
    bits ^= bits >> 15;
    bits *= 2246822519u;
    bits ^= bits >> 13;
    buffer[i] = 0.5f + static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
  }
}

__global__ void read_all(const float4* buffer, size_t count, float* out) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  float sum = 0.0f;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const float4 v = buffer[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == -1.0f) { // never: the values are positive
    *out = sum;
  }
}

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

struct Options {
  int device = 0;
  int repeats = 5;
  bool profile = false;
  std::vector<std::pair<std::string, std::string>> probes;
};

struct Machine {
  Board board{};
  Buffers buffers{};
  void* evictor = nullptr;
  size_t evictor_bytes = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  bool source_is_random = false;
};

[[noreturn]] void give_up(const char* what, cudaError_t error) {
  std::fprintf(stderr, "run_probes: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    give_up(what, error);
  }
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t equals = argument.find('=');
    if (argument == "--profile") {
      options.profile = true;
    } else if ((argument == "--device" || argument == "--repeats") && i + 1 < count) {
      (argument == "--device" ? options.device : options.repeats) = std::atoi(arguments[++i]);
    } else if (equals != std::string::npos && argument[0] != '-') {
      options.probes.emplace_back(argument.substr(0, equals), argument.substr(equals + 1));
    } else {
      std::fprintf(stderr, "usage: %s [--device N] [--repeats N] [--profile] NAME=LIBRARY...\n", arguments[0]);
      std::exit(1);
    }
  }
  return options;
}

Machine prepare(int device) {
  Machine machine;
  Board& board = machine.board;
  require(cudaSetDevice(device), "cudaSetDevice");
  board.sms = attribute(cudaDevAttrMultiProcessorCount, device);
  board.threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  board.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  board.compute_capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor, device) + attribute(cudaDevAttrComputeCapabilityMinor, device);
  board.l2_bytes = static_cast<size_t>(attribute(cudaDevAttrL2CacheSize, device));
  const double fp32_lanes = board.compute_capability >= 86 ? 128 : 64; // CUDA C++ Programming Guide; 6.1 aside
  const double flop_per_s = 2 * fp32_lanes * board.sms * 1e3 * attribute(cudaDevAttrClockRate, device);
  const double bytes_per_s = 2e3 * attribute(cudaDevAttrMemoryClockRate, device) *
      attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
  board.ridge_flop_per_byte = bytes_per_s > 0 ? flop_per_s / bytes_per_s : 10;
  size_t free_bytes = 0, total_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const size_t wanted = std::max(kTimesL2 * board.l2_bytes, kLeastBuffer);
  board.buffer_bytes = std::min(wanted, free_bytes / 4) / kMebibyte * kMebibyte;
  machine.evictor_bytes = std::max<size_t>(2 * board.l2_bytes, kMebibyte);
  require(cudaMalloc(&machine.buffers.source, board.buffer_bytes), "cudaMalloc");
  require(cudaMalloc(&machine.buffers.target, board.buffer_bytes), "cudaMalloc");
  require(cudaMalloc(&machine.evictor, machine.evictor_bytes), "cudaMalloc");
  require(cudaStreamCreate(&machine.stream), "cudaStreamCreate");
  require(cudaEventCreate(&machine.begin), "cudaEventCreate");
  require(cudaEventCreate(&machine.end), "cudaEventCreate");
  fill<<<1024, 256, 0, machine.stream>>>(
      static_cast<float*>(machine.evictor), machine.evictor_bytes / sizeof(float));
  require(cudaStreamSynchronize(machine.stream), "filling memory");
  return machine;
}

void randomise(Machine& machine) {
  if (!machine.source_is_random) {
    fill<<<1024, 256, 0, machine.stream>>>(
        static_cast<float*>(machine.buffers.source), machine.board.buffer_bytes / sizeof(float));
    machine.source_is_random = true;
  }
}

void empty_caches(const Machine& machine) {
  read_all<<<1024, 256, 0, machine.stream>>>(
      static_cast<const float4*>(machine.evictor), machine.evictor_bytes / sizeof(float4),
      static_cast<float*>(machine.evictor));
  spin<<<1, 1, 0, machine.stream>>>(kSpinCycles);
}

// Microseconds between the events round one run, or round nothing; negative: the run failed.
double timed(const Machine& machine, Run run) {
  empty_caches(machine);
  cudaEventRecord(machine.begin, machine.stream);
  if (run != nullptr && run(&machine.board, &machine.buffers, machine.stream) != 0) {
    return -1;
  }
  cudaEventRecord(machine.end, machine.stream);
  float milliseconds = 0;
  if (cudaStreamSynchronize(machine.stream) != cudaSuccess ||
      cudaEventElapsedTime(&milliseconds, machine.begin, machine.end) != cudaSuccess) {
    return -1;
  }
  return milliseconds * 1e3;
}

double empty_pair(const Machine& machine, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < 4 * repeats + 1; ++i) {
    times.push_back(timed(machine, nullptr));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return value == kUnstated ? "null" : text;
}

void tell(const std::string& name, const Work& work, const std::vector<double>& times, const std::string& status) {
  std::string list;
  for (double time : times) {
    list += (list.empty() ? "" : ", ") + number(time);
  }
  std::string safe = status;
  std::replace(safe.begin(), safe.end(), '"', '\'');
  std::replace(safe.begin(), safe.end(), '\\', '/');
  std::replace(safe.begin(), safe.end(), '\n', ' ');
  std::printf(
      "{\"probe\": \"%s\", \"launches\": %d, \"read_bytes\": %s, \"write_bytes\": %s, \"load_bytes\": %s, "
      "\"store_bytes\": %s, \"fp32_flop\": %s, \"fp64_flop\": %s, \"fp16_flop\": %s, \"tensor_flop\": %s, "
      "\"event_us\": [%s], \"status\": \"%s\"}\n",
      name.c_str(), work.launches, number(work.read_bytes).c_str(), number(work.write_bytes).c_str(),
      number(work.load_bytes).c_str(), number(work.store_bytes).c_str(),
      number(work.fp32_flop).c_str(), number(work.fp64_flop).c_str(), number(work.fp16_flop).c_str(),
      number(work.tensor_flop).c_str(), list.c_str(), safe.c_str());
  std::fflush(stdout);
}

std::string cuda_text(const char* what) {
  const cudaError_t error = cudaDeviceSynchronize();
  const cudaError_t last = cudaGetLastError();
  return std::string(what) + ": " + cudaGetErrorString(error != cudaSuccess ? error : last);
}

// One probe; returns how it went.
std::string one(Machine& machine, const Options& options, void* library, Work& work, std::vector<double>& times) {
  const auto work_of = reinterpret_cast<WorkOf>(dlsym(library, "probe_work"));
  const auto run = reinterpret_cast<Run>(dlsym(library, "probe_run"));
  const auto prepare_run = reinterpret_cast<Run>(dlsym(library, "probe_prepare"));
  if (work_of == nullptr || run == nullptr) {
    return "its library has no probe_work or no probe_run";
  }
  if (work_of(&machine.board, &work) != 0) {
    return "unsupported";
  }
  if (prepare_run == nullptr) {
    randomise(machine);
  } else {
    machine.source_is_random = false;
    if (prepare_run(&machine.board, &machine.buffers, machine.stream) != 0) {
      return cuda_text("probe_prepare");
    }
  }
  // Once for nothing: the first launch of a kernel loads it.
  if (run(&machine.board, &machine.buffers, machine.stream) != 0 ||
      cudaStreamSynchronize(machine.stream) != cudaSuccess) {
    return cuda_text("probe_run");
  }
  if (options.profile) {
    cudaProfilerStart();
    const int error = run(&machine.board, &machine.buffers, machine.stream);
    const cudaError_t after = cudaDeviceSynchronize();
    cudaProfilerStop();
    return error == 0 && after == cudaSuccess ? "ok" : cuda_text("probe_run");
  }
  for (int i = 0; i < options.repeats; ++i) {
    const double time = timed(machine, run);
    if (time < 0) {
      return cuda_text("probe_run");
    }
    times.push_back(time);
  }
  return "ok";
}

} // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  Machine machine = prepare(options.device);
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, options.device), "cudaGetDeviceProperties");
  int driver = 0;
  cudaDriverGetVersion(&driver);
  const double pair = options.profile ? kUnstated : empty_pair(machine, options.repeats);
  std::printf(
      "{\"board\": {\"name\": \"%s\", \"compute_capability\": \"%d.%d\", \"sms\": %d, \"l2_bytes\": %zu, "
      "\"memory_bytes\": %zu, \"buffer_bytes\": %zu, \"ridge_flop_per_byte\": %.6g, \"cuda_driver\": \"%d.%d\"}, "
      "\"empty_pair_us\": %s}\n",
      properties.name, properties.major, properties.minor, machine.board.sms, machine.board.l2_bytes,
      properties.totalGlobalMem, machine.board.buffer_bytes, machine.board.ridge_flop_per_byte, driver / 1000,
      driver % 1000 / 10, number(pair).c_str());
  std::fflush(stdout);
  for (const auto& [name, path] : options.probes) {
    Work work;
    std::vector<double> times;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* problem = library == nullptr ? dlerror() : nullptr;
    tell(name, work, times, problem != nullptr ? problem : one(machine, options, library, work, times));
  }
  return 0;
}
