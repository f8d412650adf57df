// SPDX-License-Identifier: MIT
// cuBLASMp and cuSOLVERMp on the GPUs of a host, a process for each: a product and an LU with its solve, seconds and errors. The
// libraries are NVIDIA's and opened at run time; who multiplies for them is theirs to say, or that of the library preloaded.
//   bench_gpu_distributed --library libcublasmp.so.0 --library libcusolverMp.so.0 --nccl libnccl.so.2 --n 16384
//   LD_PRELOAD=libkizami_cublas.so KIZAMI_SUMMARY=summary.txt bench_gpu_distributed ...
// Matrices are cut into columns of blocks, in turns to the processes. The error of C is the largest |C - AB| / |A||B| of sampled
// elements, summed in long double; that of LU ||b - Ax|| / (n u ||A|| ||x||), infinity norms.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/options.hpp"

namespace {

using Handle = void*;
struct UniqueId {
  char bytes[128];
};

/// A function of a library that is open by now.
template <class F>
F* function(const char* name) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) throw std::runtime_error(std::string(name) + " is in none of the libraries");
  return reinterpret_cast<F*>(symbol);
}
void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string(what) + ": status " + std::to_string(code));
}
#define CALL(type, name, ...) check(function<type>(#name)(__VA_ARGS__), #name)

double element(std::int64_t seed, std::int64_t i, std::int64_t j) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u +
                    static_cast<std::uint64_t>(j) * 0xc2b2ae3d27d4eb4fu + static_cast<std::uint64_t>(seed);
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  return static_cast<double>(static_cast<std::int64_t>(x >> 11) - (std::int64_t{1} << 52)) * 0x1p-52;
}

struct Options {
  std::int64_t n = 8192;
  std::int64_t block = 512;
  int processes = 2;
  int rounds = 3;
  std::vector<std::string> libraries = {"libcublasmp.so.0", "libcusolverMp.so.0"};
  std::string nccl = "libnccl.so.2";
};

/// What processes share: the identity of NCCL's communicator.
struct Shared {
  UniqueId id;
  volatile int is_there;
};

/// Columns of an n x cols matrix that a process has, in blocks.
struct Columns {
  std::int64_t n;
  std::int64_t cols;
  std::int64_t block;
  int rank;
  int size;

  [[nodiscard]] std::int64_t count() const {
    std::int64_t total = 0;
    for (std::int64_t first = rank * block; first < cols; first += size * block) total += std::min(block, cols - first);
    return total;
  }
  [[nodiscard]] std::int64_t global(std::int64_t local) const {
    return (local / block * size + rank) * block + local % block;
  }
  [[nodiscard]] std::vector<double> fill(std::int64_t seed) const {
    std::vector<double> x;
    x.reserve(static_cast<std::size_t>(n * count()));
    for (std::int64_t j = 0; j < count(); ++j) {
      for (std::int64_t i = 0; i < n; ++i) x.push_back(element(seed, i, global(j)));
    }
    return x;
  }
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc"); }
  explicit DeviceMemory(const std::vector<double>& values) : DeviceMemory(values.size() * sizeof(double)) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::vector<double> read(std::int64_t count) const {
    std::vector<double> values(static_cast<std::size_t>(count));
    check(cudaMemcpy(values.data(), data_, values.size() * sizeof(double), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  void* data_ = nullptr;
};

/// The median of rounds after one that is not counted.
template <class Call>
double seconds_of(int rounds, const Call& call) {
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    check(cudaDeviceSynchronize(), "waiting");
    const auto begin = std::chrono::steady_clock::now();
    call();
    check(cudaDeviceSynchronize(), "waiting");
    if (round > 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

using i64 = std::int64_t;

void multiply(const Options& options, Handle comm, cudaStream_t stream, int rank) {
  const i64 n = options.n;
  const Columns columns{n, n, options.block, rank, options.processes};
  Handle mp = nullptr;
  Handle grid = nullptr;
  Handle desc = nullptr;
  CALL(int(Handle*, cudaStream_t), cublasMpCreate, &mp, stream);
  CALL(int(i64, i64, int, Handle, Handle*), cublasMpGridCreate, 1, options.processes, 0, comm, &grid);
  CALL(int(i64, i64, i64, i64, i64, i64, i64, cudaDataType, Handle, Handle*), cublasMpMatrixDescriptorCreate, n, n,
       options.block, options.block, 0, 0, n, CUDA_R_64F, grid, &desc);
  const DeviceMemory a(columns.fill(1));
  const DeviceMemory b(columns.fill(2));
  const DeviceMemory c(static_cast<std::size_t>(n * columns.count()) * sizeof(double));
  const double one = 1;
  const double zero = 0;
  std::size_t on_device = 0;
  std::size_t on_host = 0;
  CALL(int(Handle, cublasOperation_t, cublasOperation_t, i64, i64, i64, const void*, const void*, i64, i64, Handle,
           const void*, i64, i64, Handle, const void*, void*, i64, i64, Handle, cublasComputeType_t, std::size_t*,
           std::size_t*),
       cublasMpGemm_bufferSize, mp, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), 1, 1, desc, b.data(), 1, 1, desc,
       &zero, c.data(), 1, 1, desc, CUBLAS_COMPUTE_64F, &on_device, &on_host);
  const DeviceMemory work(on_device);
  std::vector<std::byte> host_work(on_host);
  const double seconds = seconds_of(options.rounds, [&] {
    CALL(int(Handle, cublasOperation_t, cublasOperation_t, i64, i64, i64, const void*, const void*, i64, i64, Handle,
             const void*, i64, i64, Handle, const void*, void*, i64, i64, Handle, cublasComputeType_t, void*,
             std::size_t, void*, std::size_t),
         cublasMpGemm, mp, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), 1, 1, desc, b.data(), 1, 1, desc, &zero,
         c.data(), 1, 1, desc, CUBLAS_COMPUTE_64F, work.data(), on_device, host_work.data(), on_host);
  });
  const std::vector<double> got = c.read(n * columns.count());
  double worst = 0;
  for (i64 s = 0; s < 64; ++s) {
    const i64 i = s * 7919 % n;
    const i64 j = s * 104729 % columns.count();
    long double sum = 0;
    long double magnitudes = 0;
    for (i64 h = 0; h < n; ++h) {
      const long double term = static_cast<long double>(element(1, i, h)) * element(2, h, columns.global(j));
      sum += term;
      magnitudes += std::abs(term);
    }
    const double error = static_cast<double>(std::abs(got[static_cast<std::size_t>(j * n + i)] - sum) / magnitudes);
    worst = error <= worst ? worst : error;  // NaN stays
  }
  const double cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  std::printf(
      "{\"who\":\"cublasMpGemm\",\"rank\":%d,\"devices\":%d,\"n\":%lld,\"seconds\":%.6f,\"tflops\":%.2f,\"error\":%.3g}"
      "\n",
      rank, options.processes, static_cast<long long>(n), seconds, 2 * cube / seconds * 1e-12, worst);
  std::fflush(stdout);
}

void factor(const Options& options, Handle comm, cudaStream_t stream, int rank) {
  const i64 n = options.n;
  const Columns columns{n, n, options.block, rank, options.processes};
  Handle mp = nullptr;
  Handle grid = nullptr;
  Handle desc = nullptr;
  Handle of_b = nullptr;
  CALL(int(Handle*, int, cudaStream_t), cusolverMpCreate, &mp, rank, stream);
  CALL(int(Handle, Handle*, Handle, std::int32_t, std::int32_t, int), cusolverMpCreateDeviceGrid, mp, &grid, comm, 1,
       options.processes, 0);
  using MakeDesc = int(Handle*, Handle, cudaDataType, i64, i64, i64, i64, std::uint32_t, std::uint32_t, i64);
  CALL(MakeDesc, cusolverMpCreateMatrixDesc, &desc, grid, CUDA_R_64F, n, n, options.block, options.block, 0, 0, n);
  CALL(MakeDesc, cusolverMpCreateMatrixDesc, &of_b, grid, CUDA_R_64F, n, 1, options.block, options.block, 0, 0, n);
  const std::vector<double> given = columns.fill(3);
  std::vector<double> right;
  for (i64 i = 0; i < n; ++i) right.push_back(element(4, i, 0));
  const DeviceMemory a(given);
  const DeviceMemory b(right);
  const DeviceMemory pivots(static_cast<std::size_t>(2 * n) * sizeof(i64));
  const DeviceMemory info(sizeof(int));
  std::size_t on_device = 0;
  std::size_t on_host = 0;
  CALL(int(Handle, i64, i64, void*, i64, i64, Handle, i64*, cudaDataType, std::size_t*, std::size_t*),
       cusolverMpGetrf_bufferSize, mp, n, n, a.data(), 1, 1, desc, static_cast<i64*>(pivots.data()), CUDA_R_64F,
       &on_device, &on_host);
  double seconds = 0;
  {
    const DeviceMemory work(on_device);
    std::vector<std::byte> host_work(on_host);
    for (int round = 0; round < 2; ++round) {  // the first one also opens what is opened late
      check(cudaMemcpy(a.data(), given.data(), given.size() * sizeof(double), cudaMemcpyHostToDevice), "cudaMemcpy");
      check(cudaDeviceSynchronize(), "waiting");
      const auto begin = std::chrono::steady_clock::now();
      CALL(int(Handle, i64, i64, void*, i64, i64, Handle, i64*, cudaDataType, void*, std::size_t, void*, std::size_t,
               int*),
           cusolverMpGetrf, mp, n, n, a.data(), 1, 1, desc, static_cast<i64*>(pivots.data()), CUDA_R_64F, work.data(),
           on_device, host_work.data(), on_host, static_cast<int*>(info.data()));
      check(cudaDeviceSynchronize(), "waiting");
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  }
  CALL(int(Handle, cublasOperation_t, i64, i64, const void*, i64, i64, Handle, const i64*, void*, i64, i64, Handle,
           cudaDataType, std::size_t*, std::size_t*),
       cusolverMpGetrs_bufferSize, mp, CUBLAS_OP_N, n, 1, a.data(), 1, 1, desc, static_cast<const i64*>(pivots.data()),
       b.data(), 1, 1, of_b, CUDA_R_64F, &on_device, &on_host);
  {
    const DeviceMemory work(on_device);
    std::vector<std::byte> host_work(on_host);
    CALL(int(Handle, cublasOperation_t, i64, i64, const void*, i64, i64, Handle, const i64*, void*, i64, i64, Handle,
             cudaDataType, void*, std::size_t, void*, std::size_t, int*),
         cusolverMpGetrs, mp, CUBLAS_OP_N, n, 1, a.data(), 1, 1, desc, static_cast<const i64*>(pivots.data()), b.data(),
         1, 1, of_b, CUDA_R_64F, work.data(), on_device, host_work.data(), on_host, static_cast<int*>(info.data()));
    check(cudaDeviceSynchronize(), "waiting");
  }
  double residual = -1;  // of the process that has x
  if (rank == 0) {
    const std::vector<double> x = b.read(n);
    long double worst = 0;
    double norm_a = 0;
    double norm_x = 0;
    for (const double value : x) norm_x = std::abs(value) <= norm_x ? norm_x : std::abs(value);
    for (i64 i = 0; i < n; ++i) {
      long double sum = right[static_cast<std::size_t>(i)];
      double row = 0;
      for (i64 j = 0; j < n; ++j) {
        const double value = element(3, i, j);
        sum -= static_cast<long double>(value) * x[static_cast<std::size_t>(j)];
        row += std::abs(value);
      }
      worst = std::abs(sum) <= worst ? worst : std::abs(sum);
      norm_a = std::max(norm_a, row);
    }
    residual = static_cast<double>(worst) / (static_cast<double>(n) * 0x1p-53 * norm_a * norm_x);
  }
  const double cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  std::printf(
      "{\"who\":\"cusolverMpGetrf\",\"rank\":%d,\"devices\":%d,\"n\":%lld,\"seconds\":%.6f,\"tflops\":%.2f,"
      "\"residual\":%.3g}\n",
      rank, options.processes, static_cast<long long>(n), seconds, 2.0 / 3 * cube / seconds * 1e-12, residual);
  std::fflush(stdout);
}

int run_process(const Options& options, Shared& shared, int rank) {
  std::vector<std::string> names = {options.nccl};
  names.insert(names.end(), options.libraries.begin(), options.libraries.end());
  for (const std::string& name : names) {
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(dlerror());
  }
  check(cudaSetDevice(rank), "cudaSetDevice");
  if (rank == 0) {
    int version = 0;
    CALL(int(int*), ncclGetVersion, &version);
    std::printf("{\"nccl\":%d}\n", version);
    CALL(int(UniqueId*), ncclGetUniqueId, &shared.id);
    shared.is_there = 1;
  }
  while (shared.is_there == 0) usleep(1000);
  Handle comm = nullptr;
  CALL(int(Handle*, int, UniqueId, int), ncclCommInitRank, &comm, options.processes, shared.id, rank);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  if (dlsym(RTLD_DEFAULT, "cublasMpGemm") != nullptr) multiply(options, comm, stream, rank);
  if (dlsym(RTLD_DEFAULT, "cusolverMpGetrf") != nullptr) factor(options, comm, stream, rank);
  return 0;
}

/// A process for each rank. @return 0 if all ended well
int run(const Options& options) {
  auto* const shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) throw std::runtime_error("no memory that processes share");
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.processes; ++rank) {  // before anything of CUDA is called
    const pid_t child = fork();
    if (child == 0) {
      try {
        std::exit(run_process(options, *shared, rank));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        _exit(1);
      }
    }
    children.push_back(child);
  }
  bool is_good = true;
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    wait(&status);
    if (status == 0) continue;
    is_good = false;
    for (const pid_t child : children) kill(child, SIGTERM);  // one that fails leaves nobody waiting
  }
  return is_good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_distributed", "cuBLASMp and cuSOLVERMp on the GPUs of a host, a process for each");
  program.add_option("--library", options.libraries, "what multiplies and what factors; either may be left out");
  program.add_option("--nccl", options.nccl, "its library");
  program.add_option("--n", options.n, "order of the matrices")->check(CLI::Range(1, 1 << 20));
  program.add_option("--block", options.block, "columns of a block")->check(CLI::Range(1, 1 << 20));
  program.add_option("--processes", options.processes, "one for each GPU")->check(CLI::Range(1, 1024));
  program.add_option("--rounds", options.rounds, "timed ones")->check(CLI::Range(1, 1000000));
  return program.run(argc, argv, [&] { return run(options); });
}
