// SPDX-License-Identifier: MIT
// Products shared by the devices of a host, beside the same product on one of them and native cuBLAS on each: TFLOPS by
// the host's clock, and whether all bits are those of the call on one device. A table on stderr, JSON lines on stdout.
//   bench_gpu_multi --type d --n 16384 --n 32768                     on all devices; the matrices on the first
//   bench_gpu_multi --devices 0 --devices 0,1 --from pieces          columns of A, B and C on their devices
//   bench_gpu_multi --type d --n 65536 --from host --no-one          from page-locked host memory
//   bench_gpu_multi --parts 1 --parts 2 --parts 4                    parts of a device's share
//   bench_gpu_multi --speeds 1,1.1                                   shares by speed
//   bench_gpu_multi --measure-speeds                                 ... of each device in a product of 4096 by itself
//   bench_gpu_multi --devices 0 --variants                           one device on a stream, with memory of the pool; and
//                                                                    several with workspaces that stay
//   bench_gpu_multi --timeline FILE                                  a call of each way more, with the begin and the end of
//                                                                    all kernels and copies, by CUPTI
//   bench_gpu_multi --syrk --n 16384 --from pieces                   one triangle of C <- A A^T, beside gemmt() and syrk of
//                                                                    cuBLAS on one device; n n k operations
// Native cuBLAS multiplies a block of columns on each device, each its own copies of A and of its columns of B, that is
// without any transfer: what a perfect split of it would take. Ways take turns; times are of calls that begin and end
// with all devices idle. 2 m n k operations (8 m n k of complex types). Inputs as those of bench_gpu_gemm.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device_bench.cuh"
#include "device_timeline.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"
#include "kizami/multi.hpp"

namespace {

using bench::check;
using bench::Shape;
using kizami::MatrixView;
using kizami::multi::Piece;
using kizami::multi::Placement;

struct Options {
  std::vector<Shape> shapes = {{8192, 8192, 8192}};
  std::vector<char> types = {'d'};
  std::vector<std::vector<int>> devices;
  std::vector<double> speeds;
  std::vector<int> parts = {0};
  std::string from = "device";
  std::vector<double> phis = {0.5};
  int rounds = 5;
  bool has_one = true;
  bool has_native = true;
  bool has_variants = false;
  bool measures_speeds = false;
  bool is_syrk = false;
  std::string timeline;
  std::string commit = "unknown";
  std::string json;
};

template <class N>
[[nodiscard]] std::vector<N> parse_list(const std::string& text) {
  std::vector<N> values;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    std::size_t used = 0;
    double value = -1;
    try {
      value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size() || !(value >= 0))
      throw std::invalid_argument(text + ": must be numbers, as 0,1");
    values.push_back(static_cast<N>(value));
  }
  if (values.empty()) throw std::invalid_argument("must be numbers, as 0,1");
  return values;
}

[[nodiscard]] std::string text_of(const std::vector<int>& devices) {
  std::string text;
  for (const int device : devices) text += (text.empty() ? "" : ",") + std::to_string(device);
  return text;
}

/// Leaves device 0 current.
class OnDevice {
 public:
  explicit OnDevice(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(cudaSetDevice(0)); }
};

void wait_for(const std::vector<int>& devices) {
  for (const int device : devices) {
    const OnDevice current(device);
    check(cudaDeviceSynchronize(), "waiting");
  }
}

/// Host memory, page-locked. Large pages that many threads touch first: one thread of cudaHostAlloc() takes minutes for
/// 100 GB.
class HostPages {
 public:
  explicit HostPages(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::runtime_error("host memory: " + std::to_string(bytes_) + " bytes refused");
    data_ = static_cast<std::byte*>(pages);
    static_cast<void>(madvise(data_, bytes_, MADV_HUGEPAGE));
    const std::size_t num_threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 32);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < num_threads; ++t) {
      threads.emplace_back([this, t, num_threads] {
        constexpr std::size_t kSmallestPage = 4096;
        const std::size_t part = bytes_ / num_threads + 1;
        for (std::size_t i = t * part; i < std::min((t + 1) * part, bytes_); i += kSmallestPage)
          data_[i] = std::byte{0};
      });
    }
    threads.clear();  // joins
    const cudaError_t error = cudaHostRegister(data_, bytes_, cudaHostRegisterPortable);
    if (error != cudaSuccess) munmap(data_, bytes_);
    check(error, "page-locked memory");
  }
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  ~HostPages() {
    static_cast<void>(cudaHostUnregister(data_));
    munmap(data_, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

/// Memory of a device, or of the host, page-locked.
template <class T>
class Memory {
 public:
  Memory(std::int64_t count, int device) : count_(count), device_(device) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (device < 0) {
      host_.emplace(bytes);
      data_ = reinterpret_cast<T*>(host_->data());
      return;
    }
    const OnDevice current(device);
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "cudaMalloc");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (device_ < 0) return;
    const OnDevice current(device_);
    static_cast<void>(cudaFree(data_));
  }
  [[nodiscard]] T* data() const { return data_; }
  void clear() const {
    if (device_ < 0) {
      std::fill_n(data_, count_, T{});
      return;
    }
    const OnDevice current(device_);  // cudaMemset() takes memory of the current device alone
    check(cudaMemset(data_, 0, static_cast<std::size_t>(count_) * sizeof(T)), "clearing a matrix");
    check(cudaDeviceSynchronize(), "clearing a matrix");
  }

 private:
  std::int64_t count_;
  int device_;
  std::optional<HostPages> host_;
  T* data_ = nullptr;
};

/// A column-major matrix in pieces of columns, a copy of one that was filled on the first device.
template <class T>
class Matrix {
 public:
  /// @param devices of the pieces; -1: the host
  Matrix(std::int64_t rows, std::int64_t cols, const std::vector<int>& devices) : rows_(rows), cols_(cols) {
    const auto count = static_cast<std::int64_t>(devices.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = cols * i / count;
      const std::int64_t last = cols * (i + 1) / count;
      memories_.push_back(std::make_unique<Memory<T>>(std::max<std::int64_t>(rows * (last - first), 1),
                                                      devices[static_cast<std::size_t>(i)]));
      pieces_.push_back({0, first, {memories_.back()->data(), rows, last - first, 1, rows}});
    }
  }
  /// In pieces of at most 1 GiB, through the first device.
  void fill(std::uint64_t seed, double phi) {
    using R = kizami::RealOf<T>;
    constexpr std::int64_t kTerms = kizami::kIsComplex<T> ? 2 : 1;
    const std::int64_t most = (std::int64_t{1} << 30) / static_cast<std::int64_t>(sizeof(T));
    for (const Piece<T>& piece : pieces_) {
      const std::int64_t count = piece.view.rows * piece.view.cols;
      const bench::DeviceBuffer<T> part(std::max<std::int64_t>(std::min(count, most), 1));
      for (std::int64_t at = 0; at < count; at += most) {
        const std::int64_t here = std::min(most, count - at);
        bench::fill<R><<<1024, 256>>>(reinterpret_cast<R*>(part.data), here * kTerms, phi, seed++);
        check(cudaGetLastError(), "fill");
        check(
            cudaMemcpy(piece.view.data + at, part.data, static_cast<std::size_t>(here) * sizeof(T), cudaMemcpyDefault),
            "fill");
      }
    }
    check(cudaDeviceSynchronize(), "fill");
  }
  [[nodiscard]] std::vector<Piece<T>> pieces() const { return pieces_; }
  [[nodiscard]] std::vector<Piece<const T>> const_pieces() const {
    std::vector<Piece<const T>> all;
    for (const Piece<T>& piece : pieces_) all.push_back({piece.row, piece.col, piece.view});
    return all;
  }
  /// All of it, column by column.
  void copy_to(T* whole) const {
    for (const Piece<T>& piece : pieces_) {
      check(cudaMemcpy(whole + piece.col * rows_, piece.view.data,
                       static_cast<std::size_t>(piece.view.rows * piece.view.cols) * sizeof(T), cudaMemcpyDefault),
            "copying a matrix");
    }
  }
  /// All of it where another matrix of this shape has it.
  void take(const Matrix& from) {
    for (const Piece<T>& piece : pieces_) {
      check(cudaMemcpy(piece.view.data, from.pieces_[0].view.data + piece.col * rows_,
                       static_cast<std::size_t>(piece.view.rows * piece.view.cols) * sizeof(T), cudaMemcpyDefault),
            "pieces");
    }
  }
  void clear() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) memories_[i]->clear();
  }
  [[nodiscard]] std::int64_t size() const { return rows_ * cols_; }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<std::unique_ptr<Memory<T>>> memories_;
  std::vector<Piece<T>> pieces_;
};

/// Adds to *differences the 8-byte words of x and y that differ.
__global__ void count_differences(const unsigned long long* x, const unsigned long long* y, std::int64_t words,
                                  unsigned long long* differences) {
  unsigned long long here = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < words;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    here += x[i] != y[i] ? 1 : 0;
  if (here != 0) atomicAdd(differences, here);
}

/// Of C in pieces and a whole one on the first device.
template <class T>
[[nodiscard]] unsigned long long differences_of(const Matrix<T>& c, const T* whole) {
  const bench::DeviceBuffer<T> copy(c.size() + 1);
  c.copy_to(copy.data);
  const bench::DeviceBuffer<unsigned long long> count(1);
  check(cudaMemset(count.data, 0, 8), "differences");
  const std::int64_t words = c.size() * static_cast<std::int64_t>(sizeof(T)) / 8;  // an odd FP32 number is left out
  count_differences<<<1024, 256>>>(reinterpret_cast<const unsigned long long*>(copy.data),
                                   reinterpret_cast<const unsigned long long*>(whole), words, count.data);
  unsigned long long result = 0;
  check(cudaMemcpy(&result, count.data, 8, cudaMemcpyDeviceToHost), "differences");
  return result;
}

/// A way to multiply, which begins and ends with its devices idle.
struct Way {
  std::string who;
  std::vector<int> devices;
  int parts = 0;
  std::function<void()> call;
  std::vector<float> milliseconds = {};
  std::string plan = {};
  long long differences = -1;  ///< -1: not compared
};

/// Native cuBLAS on each device, of its columns alone.
template <class T>
struct NativeBlock {
  NativeBlock(const Shape& s, std::int64_t cols, int device_number, const Matrix<T>& a, const Matrix<T>& b)
      : device(device_number),
        current(device_number),
        shape{s.m, cols, s.k},
        x(s.m * s.k),
        y(s.k * cols),
        z(s.m * cols) {
    a.copy_to(x.data);
    const std::vector<Piece<const T>> pieces = b.const_pieces();  // any columns do: the first ones that are there
    check(
        cudaMemcpy(y.data, pieces[0].view.data,
                   static_cast<std::size_t>(s.k * std::min(cols, pieces[0].view.cols)) * sizeof(T), cudaMemcpyDefault),
        "columns of B");
  }
  void enqueue() const {
    check(cudaSetDevice(device), "cudaSetDevice");
    cublas.multiply(shape.m, shape.n, shape.k, x.data, y.data, z.data);
  }

  int device;
  OnDevice current;
  Shape shape;
  bench::Cublas cublas;
  bench::DeviceBuffer<T> x, y, z;
};

/// Products of 4096 a second, of each device by itself.
template <class T>
[[nodiscard]] std::vector<double> measured_speeds(const std::vector<int>& devices) {
  constexpr std::int64_t kN = 4096;
  std::vector<double> speeds;
  for (const int device : devices) {
    const OnDevice current(device);
    const bench::DeviceBuffer<T> x(kN * kN);
    const bench::DeviceBuffer<T> z(kN * kN);
    check(cudaMemset(x.data, 0x3f, static_cast<std::size_t>(kN * kN) * sizeof(T)), "speeds");
    constexpr int kCalls = 20;
    double seconds = 0;
    for (int round = 0; round < 2; ++round) {  // the first one warms up
      check(cudaDeviceSynchronize(), "speeds");
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) {
        check(kizami::cuda::gemm<T>(nullptr, kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, kN, kN,
                                    kN, T{1}, x.data, kN, x.data, kN, T{0}, z.data, kN),
              "speeds");
      }
      check(cudaDeviceSynchronize(), "speeds");
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    speeds.push_back(kCalls / seconds);
    std::fprintf(stderr, "device %d: %.1f products of %lld a second\n", device, speeds.back(),
                 static_cast<long long>(kN));
  }
  return speeds;
}

/// Each way in turn.
void time_all(std::vector<Way>& ways, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      wait_for(way.devices);
      const auto begin = std::chrono::steady_clock::now();
      way.call();
      const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - begin;
      way.milliseconds.push_back(took.count());
    }
  }
}

/// A call more of each way but cuBLAS, behind all that are timed.
void record_timelines(const std::vector<Way>& ways, const std::string& what, const std::string& path) {
  if (path.empty()) return;
  for (const Way& way : ways) {
    if (way.who.starts_with("cublas")) continue;
    wait_for(way.devices);
    bench::write_timeline(
        bench::record_timeline(way.call),
        what + ", " + way.who + ", devices " + text_of(way.devices) + ", parts " + std::to_string(way.parts), path);
  }
}

/// syrk of cuBLAS for the lower triangle, with 64-bit extents.
template <class T>
[[nodiscard]] auto native_syrk(const bench::Cublas& cublas) {
  using Function = cublasStatus_t (*)(cublasHandle_t, cublasFillMode_t, cublasOperation_t, std::int64_t, std::int64_t,
                                      const T*, const T*, std::int64_t, const T*, T*, std::int64_t);
  const char* const name = std::is_same_v<T, float>                 ? "cublasSsyrk_v2_64"
                           : std::is_same_v<T, double>              ? "cublasDsyrk_v2_64"
                           : std::is_same_v<T, std::complex<float>> ? "cublasCsyrk_v2_64"
                                                                    : "cublasZsyrk_v2_64";
  const auto function = reinterpret_cast<Function>(dlsym(cublas.library, name));
  if (function == nullptr) throw std::runtime_error(std::string("cuBLAS has no ") + name);
  return function;
}

/// The lower triangle of C <- A A^T. Ways of several devices leave the other one as it was, which is compared, too.
template <class T>
void measure_syrk(const Options& options, std::int64_t n, std::int64_t k, char type, double phi,
                  const bench::Records& records) {
  const double flops =
      (kizami::kIsComplex<T> ? 4.0 : 1.0) * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
  std::vector<Way> ways;
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kOzaki2;
  const std::vector<int> of_one = {options.from == "host" ? -1 : 0};
  Matrix<T> a(n, k, of_one);
  Matrix<T> c(n, n, of_one);
  a.fill(1, phi);
  c.clear();
  std::unique_ptr<Matrix<T>> on_device, one_c;
  const T* x = a.pieces()[0].view.data;
  if (options.has_one || options.has_native) {
    one_c = std::make_unique<Matrix<T>>(n, n, std::vector<int>{0});
    one_c->clear();
    if (options.from == "host") {
      on_device = std::make_unique<Matrix<T>>(n, k, std::vector<int>{0});
      on_device->take(a);
      x = on_device->pieces()[0].view.data;
    }
  }
  if (options.has_one) {
    T* const z = one_c->pieces()[0].view.data;
    kizami::Policy of_one_call = policy;
    const auto call = [=](const kizami::Policy& by) {
      return kizami::cuda::gemmt<T>(nullptr, kizami::Layout::kColMajor, {.is_lower = true}, kizami::Op::kNone,
                                    kizami::Op::kTranspose, n, k, T{1}, x, n, x, n, T{0}, z, n, by);
    };
    const kizami::Status as_given = call(of_one_call);
    if (as_given.code() == kizami::StatusCode::kUnsupported) {  // a plan takes a quarter of the memory by itself
      std::size_t free = 0;
      std::size_t total = 0;
      check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
      of_one_call.workspace_limit_bytes = total / 10 * 7;
      check(call(of_one_call), "one device");
    } else {
      check(as_given, "one device");
    }
    check(cudaDeviceSynchronize(), "one device");
    ways.push_back({"kizami syrk", {0}, 0, [=] {
                      check(call(of_one_call), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
  }

  struct Shared {
    std::unique_ptr<Matrix<T>> a, c;
    kizami::Outcome outcome;
  };
  std::vector<std::unique_ptr<Shared>> shared;
  for (const std::vector<int>& devices : options.devices) {
    for (const int parts : options.parts) {
      shared.push_back(std::make_unique<Shared>());
      Shared& mine = *shared.back();
      const Matrix<T>* of_a = &a;
      Matrix<T>* of_c = &c;
      if (options.from == "pieces") {
        mine.a = std::make_unique<Matrix<T>>(n, k, devices);
        mine.c = std::make_unique<Matrix<T>>(n, n, devices);
        mine.a->take(a);
        of_a = mine.a.get();
        of_c = mine.c.get();
      }
      of_c->clear();
      Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      if (options.speeds.size() == devices.size()) placement.speeds = options.speeds;
      if (options.measures_speeds) placement.speeds = measured_speeds<T>(devices);
      auto plan = kizami::multi::make_syrk_plan(kizami::kScalarOf<T>, {.is_lower = true}, n, k, policy, placement);
      check(plan.status(), "the plan of several devices");
      ways.push_back({"kizami::multi syrk", devices, parts,
                      [=, &mine, plan = plan.value(), from = of_a->const_pieces(), to = of_c->pieces()] {
                        check(kizami::multi::run_syrk<T>(plan, T{1}, std::span<const Piece<const T>>(from), T{0},
                                                         std::span<const Piece<T>>(to), {}, &mine.outcome),
                              "several devices");
                      }});
      ways.back().call();  // workspaces come from a pool, streams are made
      ways.back().plan = "rung " + std::to_string(mine.outcome.rung) + ", " + std::to_string(mine.outcome.moduli) +
                         " moduli, " + std::to_string(mine.outcome.repaired) + " repairs";
      if (options.has_one)
        ways.back().differences = static_cast<long long>(differences_of(*of_c, one_c->pieces()[0].view.data));
    }
  }

  std::unique_ptr<bench::Cublas> cublas;
  alignas(16) const T one{1.0F};
  alignas(16) const T zero{0.0F};
  if (options.has_native) {
    check(cudaSetDevice(0), "cudaSetDevice");
    cublas = std::make_unique<bench::Cublas>();
    const auto function = native_syrk<T>(*cublas);
    T* const z = one_c->pieces()[0].view.data;
    ways.push_back({"cublas syrk", {0}, 0, [&one, &zero, function, n, k, x, z, handle = cublas->handle] {
                      if (function(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one, x, n, &zero, z, n) !=
                          CUBLAS_STATUS_SUCCESS)
                        throw std::runtime_error("syrk of cuBLAS failed");
                      check(cudaDeviceSynchronize(), "cuBLAS");
                    }});
    ways.back().call();
  }

  time_all(ways, options.rounds);
  record_timelines(ways, std::string(1, type) + " syrk " + std::to_string(n) + "x" + std::to_string(k),
                   options.timeline);
  const bench::Gauges gauges;
  const double of_one_device = options.has_one ? flops / bench::spread(ways[0].milliseconds).median * 1e-9 : 0;
  for (const Way& way : ways) {
    const bench::Spread ms = bench::spread(way.milliseconds);
    const double tflops = flops / ms.median * 1e-9;
    const double efficiency =
        of_one_device == 0 ? 0 : tflops / (of_one_device * static_cast<double>(way.devices.size()));
    std::fprintf(
        stderr,
        "%csyrk %lldx%lld  %-18s devices %-8s parts %d  from %-7s %9.3f ms %8.1f TFLOPS %5.1f %% of one  %s%s\n", type,
        static_cast<long long>(n), static_cast<long long>(k), way.who.c_str(), text_of(way.devices).c_str(), way.parts,
        options.from.c_str(), ms.median, tflops, 100 * efficiency, way.plan.c_str(),
        way.differences < 0    ? ""
        : way.differences == 0 ? "  equal bits"
                               : "  BITS DIFFER");
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"device", bench::device_name()},
                               {"driver", gauges.driver},
                               {"operation", "syrk"},
                               {"devices", way.devices.size()},
                               {"which", text_of(way.devices)},
                               {"from", options.from},
                               {"case", std::string(1, type) + " syrk lower " + std::to_string(n) + "x" +
                                            std::to_string(k) + " phi=" + bench::to_text(phi)},
                               {"who", way.who},
                               {"parts", way.parts},
                               {"plan", way.plan},
                               {"ms_median", ms.median},
                               {"ms_min", ms.min},
                               {"ms_max", ms.max},
                               {"tflops", tflops},
                               {"efficiency", efficiency},
                               {"different_words", way.differences}});
    if (way.differences > 0) throw std::runtime_error("bits of several devices differ from those of one");
  }
}

template <class T>
void measure(const Options& options, const Shape& s, char type, double phi, const bench::Records& records) {
  const bool is_on_host = options.from == "host";
  const double flops = (kizami::kIsComplex<T> ? 8.0 : 2.0) * static_cast<double>(s.m) * static_cast<double>(s.n) *
                       static_cast<double>(s.k);
  std::vector<Way> ways;
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kOzaki2;
  const std::vector<int> of_one = {is_on_host ? -1 : 0};
  Matrix<T> a(s.m, s.k, of_one);
  Matrix<T> b(s.k, s.n, of_one);
  Matrix<T> c(s.m, s.n, of_one);
  a.fill(1, phi);
  b.fill(1001, phi);

  // On the first device alone, by the call of one device: what all bits are compared with.
  std::unique_ptr<Matrix<T>> one_a, one_b, one_c;
  std::unique_ptr<bench::DeviceBuffer<std::byte>> workspace;
  if (options.has_one) {
    one_c = std::make_unique<Matrix<T>>(s.m, s.n, std::vector<int>{0});
    if (is_on_host) {
      one_a = std::make_unique<Matrix<T>>(s.m, s.k, std::vector<int>{0});
      one_b = std::make_unique<Matrix<T>>(s.k, s.n, std::vector<int>{0});
      a.copy_to(one_a->pieces()[0].view.data);
      b.copy_to(one_b->pieces()[0].view.data);
    }
    const MatrixView<const T> x = (one_a ? *one_a : a).pieces()[0].view;
    const MatrixView<const T> y = (one_b ? *one_b : b).pieces()[0].view;
    const MatrixView<T> z = one_c->pieces()[0].view;
    auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy);
    check(plan.status(), "the plan of one device");
    workspace =
        std::make_unique<bench::DeviceBuffer<std::byte>>(static_cast<std::int64_t>(plan.value().workspace_bytes()));
    const std::span<std::byte> memory(workspace->data, plan.value().workspace_bytes());
    ways.push_back({"kizami", {0}, 0, [=, plan = plan.value()] {
                      check(kizami::cuda::run<T>(plan, T{1}, x, y, T{0}, z, memory, nullptr), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
  }

  cudaStream_t stream = nullptr;
  if (options.has_one && options.has_variants) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    const MatrixView<const T> x = (one_a ? *one_a : a).pieces()[0].view;
    const MatrixView<const T> y = (one_b ? *one_b : b).pieces()[0].view;
    const MatrixView<T> z = one_c->pieces()[0].view;
    auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy);
    check(plan.status(), "the plan of one device");
    const std::span<std::byte> memory(workspace->data, plan.value().workspace_bytes());
    ways.push_back({"kizami, own stream", {0}, 0, [=, plan = plan.value()] {
                      check(kizami::cuda::run<T>(plan, T{1}, x, y, T{0}, z, memory, stream), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
    ways.push_back({"kizami, pool", {0}, 0, [=] {
                      check(kizami::cuda::gemm<T>(nullptr, kizami::Layout::kColMajor, kizami::Op::kNone,
                                                  kizami::Op::kNone, s.m, s.n, s.k, T{1}, x.data, s.m, y.data, s.k,
                                                  T{0}, z.data, s.m, policy),
                            "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
    ways.back().call();
  }

  struct Shared {
    std::unique_ptr<Matrix<T>> a, b, c;
    std::vector<std::unique_ptr<Memory<std::byte>>> workspaces;
    kizami::Outcome outcome;
  };
  std::vector<std::unique_ptr<Shared>> shared;
  for (const std::vector<int>& devices : options.devices) {
    for (const int parts : options.parts) {
      shared.push_back(std::make_unique<Shared>());
      Shared& mine = *shared.back();
      const Matrix<T>* of_a = &a;
      const Matrix<T>* of_b = &b;
      const Matrix<T>* of_c = &c;
      if (options.from == "pieces") {
        mine.a = std::make_unique<Matrix<T>>(s.m, s.k, devices);
        mine.b = std::make_unique<Matrix<T>>(s.k, s.n, devices);
        mine.c = std::make_unique<Matrix<T>>(s.m, s.n, devices);
        mine.a->take(a);
        mine.b->take(b);
        of_a = mine.a.get();
        of_b = mine.b.get();
        of_c = mine.c.get();
      }
      Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      if (options.speeds.size() == devices.size()) placement.speeds = options.speeds;
      if (options.measures_speeds) placement.speeds = measured_speeds<T>(devices);
      auto plan = kizami::multi::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy, placement);
      check(plan.status(), "the plan of several devices");
      ways.push_back(
          {"kizami::multi", devices, parts,
           [=, &mine, plan = plan.value(), x = of_a->const_pieces(), y = of_b->const_pieces(), z = of_c->pieces()] {
             check(kizami::multi::run<T>(plan, T{1}, std::span<const Piece<const T>>(x),
                                         std::span<const Piece<const T>>(y), T{0}, std::span<const Piece<T>>(z), {},
                                         &mine.outcome),
                   "several devices");
           }});
      ways.back().call();  // workspaces come from a pool, streams are made
      ways.back().plan = "rung " + std::to_string(mine.outcome.rung) + ", " + std::to_string(mine.outcome.moduli) +
                         " moduli, " + std::to_string(mine.outcome.repaired) + " repairs";
      if (options.has_one) {
        ways.front().call();
        ways.back().differences = static_cast<long long>(differences_of(*of_c, one_c->pieces()[0].view.data));
      }
    }
  }

  if (options.has_variants) {
    const std::size_t num_shared = shared.size();
    for (std::size_t i = 0; i < num_shared; ++i) {
      Shared& mine = *shared[i];
      const Matrix<T>& of_a = mine.a ? *mine.a : a;
      const Matrix<T>& of_b = mine.b ? *mine.b : b;
      const Matrix<T>& of_c = mine.c ? *mine.c : c;
      const std::vector<int>& devices = options.devices[i / options.parts.size()];
      const int parts = options.parts[i % options.parts.size()];
      const Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      auto plan = kizami::multi::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy, placement);
      check(plan.status(), "the plan of several devices");
      std::vector<std::span<std::byte>> spans;
      for (int d = 0; d < plan.value().num_devices(); ++d) {
        const auto bytes = static_cast<std::int64_t>(plan.value().workspace_bytes(d));
        mine.workspaces.push_back(std::make_unique<Memory<std::byte>>(bytes, plan.value().device(d)));
        spans.emplace_back(mine.workspaces.back()->data(), static_cast<std::size_t>(bytes));
      }
      ways.push_back({"kizami::multi, own memory", devices, parts,
                      [=, plan = plan.value(), x = of_a.const_pieces(), y = of_b.const_pieces(), z = of_c.pieces()] {
                        check(kizami::multi::run<T>(
                                  plan, T{1}, std::span<const Piece<const T>>(x), std::span<const Piece<const T>>(y),
                                  T{0}, std::span<const Piece<T>>(z), std::span<const std::span<std::byte>>(spans)),
                              "several devices");
                      }});
      ways.back().call();
    }
  }

  std::vector<std::unique_ptr<NativeBlock<T>>> native;
  if (options.has_native) {
    for (const std::vector<int>& devices : options.devices) {
      std::vector<const NativeBlock<T>*> blocks;
      for (const int device : devices) {
        native.push_back(
            std::make_unique<NativeBlock<T>>(s, s.n / static_cast<std::int64_t>(devices.size()), device, a, b));
        blocks.push_back(native.back().get());
      }
      check(cudaSetDevice(0), "cudaSetDevice");
      ways.push_back({"cublas", devices, 0, [=] {
                        for (const NativeBlock<T>* block : blocks) block->enqueue();
                        wait_for(devices);
                      }});
      ways.back().call();
    }
  }

  time_all(ways, options.rounds);
  record_timelines(ways, std::string(1, type) + " nn " + bench::to_string(s), options.timeline);
  if (stream != nullptr) check(cudaStreamDestroy(stream), "a stream");
  const bench::Gauges gauges;
  for (const Way& way : ways) {
    const bench::Spread ms = bench::spread(way.milliseconds);
    const double tflops = flops / ms.median * 1e-9;
    std::fprintf(stderr, "%cgemm %s  %-14s devices %-8s parts %d  from %-7s %9.3f ms %8.1f TFLOPS  %s%s\n", type,
                 bench::to_string(s).c_str(), way.who.c_str(), text_of(way.devices).c_str(), way.parts,
                 options.from.c_str(), ms.median, tflops, way.plan.c_str(),
                 way.differences < 0    ? ""
                 : way.differences == 0 ? "  equal bits"
                                        : "  BITS DIFFER");
    records.append(
        bench::Json{{"date", bench::today()},
                    {"commit", options.commit},
                    {"device", bench::device_name()},
                    {"driver", gauges.driver},
                    {"devices", way.devices.size()},
                    {"which", text_of(way.devices)},
                    {"from", options.from},
                    {"case", std::string(1, type) + " nn " + bench::to_string(s) + " phi=" + bench::to_text(phi)},
                    {"who", way.who},
                    {"parts", way.parts},
                    {"plan", way.plan},
                    {"ms_median", ms.median},
                    {"ms_min", ms.min},
                    {"ms_max", ms.max},
                    {"tflops", tflops},
                    {"different_words", way.differences}});
    if (way.differences > 0) throw std::runtime_error("bits of several devices differ from those of one");
  }
}

int run(Options options) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (options.devices.empty()) {
    for (int number = 1; number <= count; number *= 2) {
      options.devices.emplace_back();
      for (int device = 0; device < number; ++device) options.devices.back().push_back(device);
    }
  }
  const bench::Records records(options.json);
  for (const Shape& shape : options.shapes) {
    if (options.is_syrk && shape.m != shape.n)
      throw std::invalid_argument(bench::to_string(shape) + ": m must be n for --syrk");
    for (const double phi : options.phis) {
      for (const char type : options.types) {
        const auto measure_type = [&]<class T>() {
          if (options.is_syrk) return measure_syrk<T>(options, shape.n, shape.k, type, phi, records);
          measure<T>(options, shape, type, phi, records);
        };
        if (type == 's') measure_type.template operator()<float>();
        if (type == 'd') measure_type.template operator()<double>();
        if (type == 'c') measure_type.template operator()<std::complex<float>>();
        if (type == 'z') measure_type.template operator()<std::complex<double>>();
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_multi", "Products shared by the devices of a host, beside one device and cuBLAS.");
  bench::add_shapes(program, options.shapes);
  bench::add_types(program, options.types);
  bench::add_parsed(program, "--devices", options.devices, parse_list<int>,
                    "CUDA's numbers, as 0,1; several times. Without: 1, 2, 4, 8 of those that are there");
  program
      .add_option_function<std::string>(
          "--speeds", [&](const std::string& text) { options.speeds = parse_list<double>(text); },
          "of the devices, for lists of as many, as 1,1.1")
      ->check(bench::parses_as(parse_list<double>));
  program.add_option("--parts", options.parts, "of a device's share, several; 0: the planner's choice")
      ->check(bench::between(0, 64));
  program.add_option("--from", options.from, "device, pieces or host: where the matrices are")
      ->check(CLI::IsMember({"device", "pieces", "host"}));
  program.add_option("--phi", options.phis, "spread of exponents; several")->check(bench::between(0, 100));
  program.add_option("--rounds", options.rounds, "turns of all ways")->check(bench::between(1, 1000));
  program.add_flag("--variants", options.has_variants, "what one and several devices do with other memory and streams");
  program.add_flag("--syrk", options.is_syrk, "one triangle of C <- A A^T, n x n, in place of products");
  program.add_flag("--measure-speeds", options.measures_speeds, "of the devices, and shares by them");
  program.add_option("--timeline", options.timeline,
                     "a file: kernels and copies of a call more of each way, with their times, by CUPTI");
  program.add_flag("!--no-one", options.has_one, "without the call on one device: its bits are then not compared");
  program.add_flag("!--no-native", options.has_native, "without cuBLAS");
  bench::add_commit(program, options.commit);
  bench::add_json(program, options.json);
  return program.run(argc, argv, [&] { return run(options); });
}
