// SPDX-License-Identifier: MIT
// How many products a second a program of several threads gets from cuBLAS, or from what is preloaded before it: each
// thread has a handle and a stream, and multiplies matrices of a few shapes in turn, waiting for each product. One JSON
// line for each type and number of threads, with the calls that had ended when a CUDA error, if any, ended them all;
// the process ends with it.
//   LD_PRELOAD=libkizami_cublas.so bench_gpu_concurrent_calls --type s --threads 1 --threads 8 --seconds 3 --build now
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "harness/device.hpp"
#include "harness/facts.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "linked_cublas.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using linked::check;

struct Shape {
  int m, n, k;
};

/// Each size of 64 to 1024 once as m, once as n, once as k.
std::vector<Shape> drawn_shapes() {
  std::vector<int> m{64, 96, 128, 200, 256, 333, 384, 512, 600, 640, 768, 1000, 1024};
  std::vector<int> n = m, k = m;
  std::minstd_rand random(1);
  std::shuffle(n.begin(), n.end(), random);
  std::shuffle(k.begin(), k.end(), random);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < m.size(); ++i) shapes.push_back({m[i], n[i], k[i]});
  return shapes;
}
constexpr std::size_t kMostElements = 1024 * 1024;

/// C = A B by cublas?gemm_v2 of one type. one: 1 of it
template <class T, class Gemm>
void multiply(const Gemm& gemm, cublasHandle_t handle, const Shape& s, T one, const void* a, const void* b, void* c) {
  const T zero{};
  check(gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k, &one, static_cast<const T*>(a), s.m,
             static_cast<const T*>(b), s.k, &zero, static_cast<T*>(c), s.m),
        "gemm");
}

void multiply(char type, cublasHandle_t handle, const Shape& s, const void* a, const void* b, void* c) {
  switch (type) {
    case 's':
      return multiply(cublasSgemm_v2, handle, s, 1.0F, a, b, c);
    case 'd':
      return multiply(cublasDgemm_v2, handle, s, 1.0, a, b, c);
    case 'c':
      return multiply(cublasCgemm_v2, handle, s, cuComplex{1, 0}, a, b, c);
    default:
      return multiply(cublasZgemm_v2, handle, s, cuDoubleComplex{1, 0}, a, b, c);
  }
}

/// Numbers of [-1/2, 1/2) in device memory.
class Matrix {
 public:
  Matrix(char type, unsigned seed) {
    const std::size_t parts = kMostElements * (type == 'c' || type == 'z' ? 2 : 1);
    if (type == 's' || type == 'c') {
      fill<float>(parts, seed);
    } else {
      fill<double>(parts, seed);
    }
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  template <class R>
  void fill(std::size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<R> values(count);
    for (R& x : values) x = static_cast<R>(random()) / static_cast<R>(std::minstd_rand::max()) - R(0.5);
    check(cudaMalloc(&data_, count * sizeof(R)), "cudaMalloc");
    check(cudaMemcpy(data_, values.data(), count * sizeof(R), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  void* data_ = nullptr;
};

/// What one thread multiplies with.
class Worker {
 public:
  Worker(char type, unsigned seed) : type_(type), c_(type, seed) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, stream_), "cublasSetStream");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    static_cast<void>(cublasDestroy(handle_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  /// Returns when the product is there.
  void multiply(const Shape& shape, const Matrix& a, const Matrix& b) const {
    ::multiply(type_, handle_, shape, a.data(), b.data(), c_.data());
    check(cudaStreamSynchronize(stream_), "a product");
  }

 private:
  char type_;
  Matrix c_;
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

struct Count {
  std::int64_t calls = 0;
  double seconds = 0;
  std::string error;  ///< that ended it
};

Count measure(char type, int num_threads, double seconds) {
  const std::vector<Shape> shapes = drawn_shapes();
  const Matrix a(type, 1), b(type, 2);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < num_threads; ++i)
    workers.push_back(std::make_unique<Worker>(type, 3U + static_cast<unsigned>(i)));
  // Kernels are loaded, and shapes planned, while no stream is beside another one.
  for (const auto& worker : workers) {
    for (const Shape& shape : shapes) worker->multiply(shape, a, b);
  }
  std::atomic<bool> has_failed = false;
  std::mutex mutex;
  Count count;
  Clock::time_point start;
  std::barrier begin(num_threads, [&]() noexcept { start = Clock::now(); });
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto work = [&](std::size_t thread) {
    std::int64_t calls = 0;
    std::string error;
    begin.arrive_and_wait();
    try {
      for (std::size_t i = thread; elapsed() < seconds && !has_failed; ++i, ++calls)
        workers[thread]->multiply(shapes[i % shapes.size()], a, b);
    } catch (const std::exception& e) {
      error = e.what();
    }
    const double end = elapsed();
    const std::lock_guard lock(mutex);
    count.calls += calls;
    if (!error.empty() && !has_failed.exchange(true)) {
      count.error = error;
      count.seconds = end;
    }
    if (!has_failed) count.seconds = std::max(count.seconds, end);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  return count;
}

struct Options {
  std::vector<char> types{'s', 'd', 'c', 'z'};
  std::vector<int> threads{1, 2, 4, 8};
  double seconds = 3;
  std::string commit = "unknown";
  std::string build;
  std::string json;
};

int run(const Options& options) {
  const bench::Records records(options.json);
  const std::string device = bench::device_name(), driver = bench::Gauges().driver;
  for (const char type : options.types) {
    for (const int count : options.threads) {
      const Count found = measure(type, count, options.seconds);
      records.append(bench::Json{{"bench", "gpu_concurrent_calls"},
                                 {"date", bench::today()},
                                 {"commit", options.commit},
                                 {"build", options.build},
                                 {"device", device},
                                 {"driver", driver},
                                 {"library", bench::answering_library()},
                                 {"settings", bench::settings()},
                                 {"type", std::string(1, type)},
                                 {"threads", count},
                                 {"shapes", drawn_shapes().size()},
                                 {"calls", found.calls},
                                 {"seconds", found.seconds},
                                 {"calls_per_second", static_cast<double>(found.calls) / found.seconds},
                                 {"error", found.error}});
      if (!found.error.empty()) _exit(3);  // CUDA does not work any more in this process
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_concurrent_calls",
                         "Products a second of several threads, each with a handle and a stream");
  bench::add_types(program, options.types);
  program.add_option("--threads", options.threads, "numbers of threads")->check(CLI::Range(1, 256));
  program.add_option("--seconds", options.seconds, "for each case")->check(bench::between(1e-3, 86400));
  program.add_option("--build", options.build, "for the record: what is special of the library");
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] { return run(options); });
}
