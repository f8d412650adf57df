// SPDX-License-Identifier: MIT
// What the split and the CRT of scheme ozaki2 take where nothing is computed: kernels that load, wait and store as these
// do and have hardly another instruction, in the shapes of blocks that are worth a try. What is left of a phase above its
// skeleton is arithmetic; what a skeleton is above a copy of its bytes is how the bytes are moved. "With arithmetic": of FP64
// numbers the skeleton with as many instructions for each element as the phase has, of which none waits for a load but its
// own, eight at a time wait for nobody, and integer ones are of the quickest kind. A table on stdout, a line of JSON for each
// case by --json.
//   bench_gpu_skeletons --type d --n 4096 --json skeletons.jsonl
// Split, of both operands in order NN: a cluster of blocks takes some whole lines, knows the largest element of each, and
// stores as many bytes of each element as there are planes. CRT: a warp takes 128 rows of a column of all planes and stores
// as many numbers. By Strassen's products 7/4 as many planes as moduli: of 14 moduli 24, which is 2 % too few.
#include <cuda_runtime.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/balanced_launch.hpp"
#include "base/cluster_sm90.cuh"
#include "base/int_math.hpp"
#include "certify/device_line_warps.cuh"
#include "device/panel.cuh"
#include "device_bench.cuh"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/types.hpp"

namespace {

using bench::check;
using kizami::base::ceil_div;

// ---- arithmetic -----------------------------------------------------------------------------------------------------

/// Eight chains of FP64 and of integer instructions, so many of each in all; @return what they make of x
template <int kFp64, int kIntegers>
__device__ __forceinline__ std::uint32_t busy(const uint4& x) {
  constexpr int kChains = 8;
  double numbers[kChains];
  std::uint32_t words[kChains];
  const double factor = __hiloint2double(0x3FF00000, static_cast<int>(x.z));
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    words[c] = x.x + static_cast<std::uint32_t>(c);
    numbers[c] = __hiloint2double(0x43300000, static_cast<int>(words[c]));
  }
  constexpr int kSteps = std::max(kFp64, kIntegers / 2) / kChains + 1;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      const int done = step * kChains + c;
      if (done < kFp64) numbers[c] = fma(numbers[c], factor, 0x1p52);
      if (2 * done < kIntegers) words[c] = (words[c] ^ x.y) + x.w;  // two: the compiler finds nothing shorter
    }
  }
  std::uint32_t all = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) all ^= words[c] ^ static_cast<std::uint32_t>(__double2loint(numbers[c]));
  return all;
}

/// Instructions of an element of FP64 numbers in 14 planes: 125 of the CRT, 54 of them FP64, by its machine code
/// (docs/perf/h200_call.md), and 112 of the split (lab/results/h200/split_forms.jsonl). Of these the skeletons are taken to have 10 and 20,
/// by their source.
constexpr int kCrtFp64 = 54;
constexpr int kCrtIntegers = 60;
constexpr int kSplitIntegers = 92;

// ---- split ----------------------------------------------------------------------------------------------------------

template <class T>
struct SplitTask {
  kizami::problem::Lines<T> lines[2];
  std::int8_t* planes[2];
  std::int64_t plane_stride;
  std::uint32_t blocks_of_first;
  std::int32_t cluster;
  std::int32_t length;  ///< elements of a line that a block takes
  std::int32_t num_planes;
};

/// The largest high word of a line's elements: the least that a split must know before it stores.
struct Largest {
  std::uint32_t word = 0;
  __device__ void merge(const Largest& other) { word = max(word, other.word); }
  [[nodiscard]] __device__ Largest shuffled(int lane_mask) const { return {__shfl_xor_sync(~0u, word, lane_mask)}; }
};

/// As ozaki2::kernels::single_pass().
template <class T, int kBlocksPerSm, bool kIsBusy = false>
__global__ void __launch_bounds__(kizami::device::kPanelThreads, kBlocksPerSm)
    split_skeleton(const __grid_constant__ SplitTask<T> task) {
  using P = kizami::device::Panel<T>;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) kizami::certify::kernels::Mailbox<T, P> mailbox;
  kizami::base::begin_in_cluster(&mailbox, sizeof mailbox);
  const bool is_second = blockIdx.x >= task.blocks_of_first;
  const kizami::problem::Lines<T>& lines = task.lines[is_second ? 1 : 0];
  const std::uint32_t block = blockIdx.x - (is_second ? task.blocks_of_first : 0);
  const int rank = static_cast<int>(block % static_cast<std::uint32_t>(task.cluster));
  const std::int64_t first_line =
      static_cast<std::int64_t>(block / static_cast<std::uint32_t>(task.cluster)) * P::kLines;
  const int length = task.length;
  const std::int64_t first = static_cast<std::int64_t>(rank) * length;
  const kizami::certify::kernels::LineWarps<T, P> line_warps(mailbox, task.cluster, rank);
  const bool is_across = !is_second;
  const bool is_in_chunks = is_across && kizami::device::comes_in_chunks<T, P>(lines, first_line, first, length);
  if (is_in_chunks) {
    kizami::device::load_chunks<T, P>(lines, first_line, first, length, panel);
  } else {
    kizami::device::load_panel<T, P>(lines, is_across, first_line, first, length, panel);
  }
  kizami::device::wait_for_copies();
  if constexpr (sizeof(T) < 16) {
    if (is_in_chunks) kizami::device::order_chunks<T, P::kMostLength, P>(length, panel);
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = warp % P::kWarpsPerLine;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  const unsigned char* const piece = panel + warp / P::kWarpsPerLine * P::pitch(length);
  Largest largest;
  for (int at = 16 * (32 * part + lane); at < length * static_cast<int>(sizeof(T)); at += 512 * P::kWarpsPerLine) {
    const uint4 x = *reinterpret_cast<const uint4*>(piece + at);
    largest.word = max(largest.word, max(max(x.x, x.y), max(x.z, x.w)));
    if constexpr (kIsBusy) largest.word |= busy<0, 16 / static_cast<int>(sizeof(T)) * kSplitIntegers / 2>(x);
  }
  line_warps.wait_for_cluster();
  largest = line_warps.merge(largest, 0);
  // A lane has 16 neighbouring bytes of two planes at a time: ozaki2::kernels::write_line().
  std::int8_t* const out = task.planes[is_second ? 1 : 0] + line * lines.length + first + lane / 4 * 16;
  for (int plane = lane % 4 * 2; plane < task.num_planes; plane += 8) {
    for (int h = 128 * part; h < length; h += 128 * P::kWarpsPerLine) {
      uint4 x = *reinterpret_cast<const uint4*>(piece + h * static_cast<int>(sizeof(T)) + 16 * lane);
      x.x ^= largest.word;
      // 4 elements of a lane, once for each eight of 14 planes.
      if constexpr (kIsBusy) x.y ^= busy<0, 4 * kSplitIntegers / 4>(x);
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (plane + c < task.num_planes) *reinterpret_cast<uint4*>(out + (plane + c) * task.plane_stride + h) = x;
    }
  }
}

// ---- CRT ------------------------------------------------------------------------------------------------------------

/// A warp takes 128 rows of a column; lane 4g + t reads 16 neighbouring residues of planes t, t + 4, ..., the next
/// column's before it stores this one's. @param kWords  of 16 bytes that a lane has on its way: planes / 4, rounded up
template <class T, int kWords, int kBlocksPerSm, bool kIsBusy = false>
__global__ void __launch_bounds__(256, kBlocksPerSm)
    crt_skeleton(const std::int8_t* planes, std::int64_t plane_stride, int num_planes, std::int64_t rows,
                 std::int64_t cols, T* c) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t groups = rows / 128;
  const std::int64_t all = groups * cols;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * 8;
  std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * 8 + threadIdx.x / 32;
  uint4 words[kWords];
  const auto load = [&](std::int64_t run) {
    const std::int8_t* from = planes + run / groups * rows + run % groups * 128 + lane / 4 * 16;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int plane = min(lane % 4 + 4 * w, num_planes - 1);
      asm volatile("ld.global.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[w].x), "=r"(words[w].y), "=r"(words[w].z), "=r"(words[w].w)
                   : "l"(from + plane * plane_stride));
    }
  };
  if (at >= all) return;
  load(at);
  while (at < all) {
    uint4 x = words[0];
#pragma unroll
    for (int w = 1; w < kWords; ++w) {
      x.x ^= words[w].x;
      x.y ^= words[w].y;
      x.z ^= words[w].z;
      x.w ^= words[w].w;
    }
    if (at + step < all) load(at + step);
    if constexpr (kIsBusy) x.x ^= busy<4 * kCrtFp64, 4 * kCrtIntegers>(x);
    uint4* const out = reinterpret_cast<uint4*>(c + at / groups * rows + at % groups * 128);
#pragma unroll
    for (int s = 0; s < static_cast<int>(sizeof(T)) / 4; ++s) out[32 * s + lane] = x;
    at += step;
  }
}

// ---- the program ----------------------------------------------------------------------------------------------------

struct Options {
  std::vector<char> types = {'d', 'z', 'c'};
  std::vector<bench::Shape> shapes = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  int planes = 0;
  int repeats = 15;
  std::string commit = "unknown";
  std::string json;
};

template <class T>
class Case {
 public:
  Case(char type, const bench::Shape& shape, int num_planes, const Options& options)
      : type_(type),
        shape_(shape),
        num_planes_(num_planes),
        options_(options),
        numbers_(std::max(of_operands(), of_c())),
        planes_(num_planes * std::max(of_operands(), of_c())),
        copied_(std::max(split_bytes(), crt_bytes())) {}

  void measure(const bench::Records& records) const {
    using P = kizami::device::Panel<T>;
    std::vector<std::pair<std::string, double>> us;
    us.emplace_back("split_copy_us", time([&] { copy(split_bytes()); }));
    for (int cluster = 1; cluster <= 16; cluster *= 2) {
      const std::int64_t length = shape_.k / cluster;
      if (length > P::kMostLength || length < 128) continue;
      const std::string with = ", cluster " + std::to_string(cluster);
      us.emplace_back("split, 2 blocks" + with, time([&] { split<2>(cluster); }));
      us.emplace_back("split, 3 blocks" + with, time([&] { split<3>(cluster); }));
      us.emplace_back("split, 4 blocks" + with, time([&] { split<4>(cluster); }));
      if constexpr (std::is_same_v<T, double>) {
        us.emplace_back("split with arithmetic, 2 blocks" + with, time([&] { split<2, true>(cluster); }));
        us.emplace_back("split with arithmetic, 3 blocks" + with, time([&] { split<3, true>(cluster); }));
      }
    }
    us.emplace_back("crt_copy_us", time([&] { copy(crt_bytes()); }));
    us.emplace_back("crt, 2 blocks", time([&] { crt<2>(); }));
    us.emplace_back("crt, 3 blocks", time([&] { crt<3>(); }));
    us.emplace_back("crt, 4 blocks", time([&] { crt<4>(); }));
    us.emplace_back("crt, 8 blocks", time([&] { crt<8>(); }));
    if constexpr (std::is_same_v<T, double>) {
      us.emplace_back("crt with arithmetic, 2 blocks", time([&] { crt<2, true>(); }));
      us.emplace_back("crt with arithmetic, 3 blocks", time([&] { crt<3, true>(); }));
      us.emplace_back("crt with arithmetic, 4 blocks", time([&] { crt<4, true>(); }));
    }
    bench::Json record{{"date", bench::today()},
                       {"commit", options_.commit},
                       {"device", bench::device_name()},
                       {"case", std::string(1, type_) + " skeletons of " + name()},
                       {"planes", num_planes_}};
    for (const auto& [what, median] : us) {
      std::printf("%c %6s %2d planes  %-40s %9.1f\n", type_, name().c_str(), num_planes_, what.c_str(), median);
      record[what] = std::round(100 * median) / 100;
    }
    std::fflush(stdout);
    records.append(record);
  }

 private:
  template <class Launch>
  [[nodiscard]] double time(const Launch& launch) const {
    const bench::Timer timer;
    std::vector<double> us;
    for (int i = 0; i < options_.repeats + 2; ++i) {
      bench::wait_cycles<<<1, 1>>>(30000);
      timer.start();
      launch();
      timer.stop();
      if (i > 1) us.push_back(1e3 * timer.milliseconds());
    }
    check(cudaGetLastError(), "launch");
    return bench::median(us);
  }
  [[nodiscard]] std::string name() const {
    const bool is_square = shape_.m == shape_.n && shape_.n == shape_.k;
    return is_square ? std::to_string(shape_.m) : to_string(shape_);
  }
  [[nodiscard]] std::int64_t of_operands() const { return (shape_.m + shape_.n) * shape_.k; }  ///< elements
  [[nodiscard]] std::int64_t of_c() const { return shape_.m * shape_.n; }                      ///< elements
  [[nodiscard]] std::int64_t of_element() const { return num_planes_ + static_cast<std::int64_t>(sizeof(T)); }
  [[nodiscard]] std::int64_t split_bytes() const { return of_operands() * of_element(); }
  [[nodiscard]] std::int64_t crt_bytes() const { return of_c() * of_element(); }
  /// Reads half of so many bytes and writes the other half.
  void copy(std::int64_t bytes) const {
    check(cudaMemcpyAsync(copied_.data, copied_.data + bytes / 2, static_cast<std::size_t>(bytes / 2),
                          cudaMemcpyDeviceToDevice, nullptr),
          "copy");
  }
  template <int kBlocksPerSm, bool kIsBusy = false>
  void split(int cluster) const {
    using P = kizami::device::Panel<T>;
    SplitTask<T> task{};
    // Columns of op(B) lie along memory, rows of op(A) across it.
    const auto& [m, n, k] = shape_;
    task.lines[0] = {numbers_.data, m, k, 1, m, false};
    task.lines[1] = {numbers_.data + m * k, n, k, k, 1, false};
    task.planes[0] = planes_.data;
    task.planes[1] = planes_.data + m * k;
    task.plane_stride = of_operands();
    task.blocks_of_first = static_cast<std::uint32_t>(m / P::kLines * cluster);
    task.cluster = cluster;
    task.length = static_cast<std::int32_t>(k / cluster);
    task.num_planes = num_planes_;
    const auto kernel = split_skeleton<T, kBlocksPerSm, kIsBusy>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::bytes(P::kMostLength)),
          "memory");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters");
    check(kizami::base::launch_balanced_clusters(
              "split", reinterpret_cast<const void*>(kernel), static_cast<std::uint32_t>((m + n) / P::kLines * cluster),
              kizami::device::kPanelThreads, cluster, static_cast<std::size_t>(P::bytes(task.length)), nullptr, &task),
          "split");
  }
  template <int kBlocksPerSm, bool kIsBusy = false>
  void crt() const {
    const auto launch = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(kBlocksPerSm * bench::device_properties().multiProcessorCount), 256>>>(
          planes_.data, of_c(), num_planes_, shape_.m, shape_.n, numbers_.data);
    };
    switch (ceil_div(num_planes_, 4)) {
      case 2:
        return launch(crt_skeleton<T, 2, kBlocksPerSm, kIsBusy>);
      case 3:
        return launch(crt_skeleton<T, 3, kBlocksPerSm, kIsBusy>);
      case 4:
        return launch(crt_skeleton<T, 4, kBlocksPerSm, kIsBusy>);
      case 5:
        return launch(crt_skeleton<T, 5, kBlocksPerSm, kIsBusy>);
      case 6:
        return launch(crt_skeleton<T, 6, kBlocksPerSm, kIsBusy>);
      case 7:
        return launch(crt_skeleton<T, 7, kBlocksPerSm, kIsBusy>);
      default:
        return launch(crt_skeleton<T, 8, kBlocksPerSm, kIsBusy>);
    }
  }

  char type_;
  bench::Shape shape_;
  int num_planes_;
  const Options& options_;
  bench::DeviceBuffer<T> numbers_;
  bench::DeviceBuffer<std::int8_t> planes_;
  bench::DeviceBuffer<std::int8_t> copied_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_skeletons", "What split and CRT of scheme ozaki2 take where nothing is computed");
  bench::add_types(program, options.types);
  bench::add_shapes(program, options.shapes)->description("multiples of 128");
  program.add_option("--planes", options.planes, "planes; 0: those of accuracy native at phi = 0.5")
      ->check(CLI::Range(0, 32));
  program.add_option("--repeats", options.repeats, "timed launches of each")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] {
    const bench::Records records(options.json, nullptr);
    for (const char type : options.types) {
      for (const bench::Shape& shape : options.shapes) {
        if (shape.m % 128 != 0 || shape.n % 128 != 0 || shape.k % 128 != 0)
          throw std::invalid_argument("--shape " + to_string(shape) + ", must be multiples of 128");
        const auto planes = [&](int usual) { return options.planes == 0 ? usual : options.planes; };
        if (type == 'd') Case<double>(type, shape, planes(14), options).measure(records);
        if (type == 'z') Case<std::complex<double>>(type, shape, planes(30), options).measure(records);
        if (type == 'c') Case<std::complex<float>>(type, shape, planes(14), options).measure(records);
        if (type == 's') Case<float>(type, shape, planes(7), options).measure(records);
      }
    }
    return 0;
  });
}
