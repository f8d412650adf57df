// SPDX-License-Identifier: MIT
// A program that multiplies the same matrices again and again by cuBLAS, or what is preloaded before it, and waits for
// each product: elements (uniform - 1/2) exp(phi normal), which may make a product by Kizami slower than cuBLAS' own,
// which is timed beside each of them. One JSON line for each of the first calls, and one for the rest: medians, and all
// of them together. A call's time is that from its begin to its end, as the program sees it.
//   LD_PRELOAD=libkizami_cublas.so bench_gpu_learned --type d --n 4096 --phi 6 --calls 100
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/device.hpp"
#include "harness/facts.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "linked_cublas.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using bench::Json;
using bench::median;
using linked::check;

bool is_single(char type) { return type == 's' || type == 'c'; }
bool is_complex(char type) { return type == 'c' || type == 'z'; }

/// n x n numbers of a type in device memory.
class Matrix {
 public:
  Matrix(char type, std::int64_t n, double phi, unsigned seed)
      : size_(static_cast<std::size_t>(n * n) * (is_complex(type) ? 2 : 1) * (is_single(type) ? 4 : 8)) {
    check(cudaMalloc(&data_, size_), "cudaMalloc");
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-0.5, 0.5);
    std::normal_distribution<double> normal;
    const auto upload = [&](auto values) {
      using R = typename decltype(values)::value_type;
      for (R& x : values) x = static_cast<R>(uniform(random) * std::exp(phi * normal(random)));
      check(cudaMemcpy(data_, values.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
    };
    is_single(type) ? upload(std::vector<float>(size_ / sizeof(float)))
                    : upload(std::vector<double>(size_ / sizeof(double)));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::vector<std::byte> download() const {
    std::vector<std::byte> bytes(size_);
    check(cudaMemcpy(bytes.data(), data_, size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return bytes;
  }

 private:
  std::size_t size_;
  void* data_ = nullptr;
};

/// cublas?gemm_v2 of any type: factors and matrices without theirs.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                const void*, int, const void*, int, const void*, void*, int);

std::string name_of(char type) { return std::string("cublas") + static_cast<char>(type - 'a' + 'A') + "gemm_v2"; }

Gemm linked_gemm(char type) { return reinterpret_cast<Gemm>(dlsym(RTLD_DEFAULT, name_of(type).c_str())); }
/// Of cuBLAS itself, whatever stands before it.
Gemm native_gemm(char type) {
  const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Gemm>(dlsym(library, name_of(type).c_str()));
}

/// One product at a time.
class Program {
 public:
  Program(char type, int n, double phi)
      : type_(type), n_(n), a_(type, n, phi, 1), b_(type, n, phi, 2), c_(type, n, 0, 3) {
    check(cublasCreate(&handle_), "cublasCreate");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { static_cast<void>(cublasDestroy(handle_)); }

  /// Milliseconds until C is there.
  [[nodiscard]] double call(Gemm gemm) const {
    const cuDoubleComplex double_factors[2] = {{1, 0}, {0, 0}};
    const cuComplex single_factors[2] = {{1, 0}, {0, 0}};
    const void* const one = is_single(type_) ? static_cast<const void*>(&single_factors[0]) : &double_factors[0];
    const void* const zero = is_single(type_) ? static_cast<const void*>(&single_factors[1]) : &double_factors[1];
    check(cudaDeviceSynchronize(), "before a product");
    const Clock::time_point start = Clock::now();
    check(gemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, one, a_.data(), n_, b_.data(), n_, zero, c_.data(), n_),
          "gemm");
    check(cudaDeviceSynchronize(), "a product");
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  [[nodiscard]] std::vector<std::byte> c() const { return c_.download(); }

 private:
  char type_;
  int n_;
  Matrix a_, b_, c_;
  cublasHandle_t handle_ = nullptr;
};

struct Options {
  std::string type = "d";
  int n = 4096;
  double phi = 6;
  int calls = 100;
  int first = 5;
  std::string commit = "unknown";
  std::string json;
};

void measure(const Options& options, const std::string& device, const bench::Records& records) {
  const char type = options.type.front();
  const Gemm linked = linked_gemm(type);
  const Gemm native = native_gemm(type);
  if (linked == nullptr || native == nullptr) throw std::runtime_error("cuBLAS has no " + name_of(type));
  const Program program(type, options.n, options.phi);
  static_cast<void>(program.call(native));  // cuBLAS loads its kernels
  const std::vector<std::byte> c_of_native = program.c();
  std::vector<double> rest, native_rest;
  const bench::Gauges gauges;
  const Json about = {{"bench", "gpu_learned"},   {"date", bench::today()},
                      {"commit", options.commit}, {"device", device},
                      {"driver", gauges.driver},  {"type", options.type},
                      {"n", options.n},           {"phi", options.phi},
                      {"calls", options.calls},   {"is_preloaded", linked != native}};
  const auto print = [&](const Json& found) {
    Json record = about;
    record.update(found);
    record["sm_mhz"] = gauges.sm_mhz();
    record["watts"] = gauges.watts();
    records.append(record);
  };
  for (int i = 1; i <= options.calls; ++i) {
    const double milliseconds = program.call(linked);
    if (i <= options.first) {
      const bool is_native = program.c() == c_of_native;
      const double native_milliseconds = program.call(native);
      print({{"call", i}, {"ms", milliseconds}, {"native_ms", native_milliseconds}, {"has_bits_of_native", is_native}});
    }
    if (i <= 3) continue;
    rest.push_back(milliseconds);
    native_rest.push_back(program.call(native));
  }
  const double all = std::accumulate(rest.begin(), rest.end(), 0.0);
  const double all_native = std::accumulate(native_rest.begin(), native_rest.end(), 0.0);
  print({{"call", "after the third"},
         {"ms", median(rest)},
         {"native_ms", median(native_rest)},
         {"ratio_of_medians", median(rest) / median(native_rest)},
         {"ratio_of_all", all / all_native}});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_learned", "The same product again and again, beside cuBLAS' own");
  program.add_option("--type", options.type, "s, d, c or z")->check(CLI::IsMember({"s", "d", "c", "z"}));
  program.add_option("--n", options.n, "order of the matrices")->check(CLI::Range(1, 32768));
  program.add_option("--phi", options.phi, "spread of exponents")->check(bench::between(0, 50));
  program.add_option("--calls", options.calls, "products")->check(CLI::Range(4, 1000000));
  program.add_option("--first", options.first, "calls with a line of their own")->check(CLI::Range(0, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] {
    const bench::Records records(options.json);
    measure(options, bench::device_name(), records);
    return 0;
  });
}
