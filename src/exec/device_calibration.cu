// SPDX-License-Identifier: MIT
// Every probe runs until it has taken a third of a second or nine rounds, and the median round counts.
#include "exec/device_calibration.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "base/cuda_status.hpp"
#include "num/moduli.hpp"
#include "product/native_engine.hpp"

namespace kizami::exec {
namespace {

using model::Fact;

constexpr const char* kSource = "C";
constexpr double kProbeSeconds = 0.3;  ///< after which a probe stops, and beyond which one is not begun

__global__ void nothing() {}

[[nodiscard]] __device__ std::uint32_t mixed(std::int64_t i) {
  auto bits = static_cast<std::uint32_t>(i) * 2654435761U;
  bits = (bits ^ bits >> 15) * 2246822519U;
  return bits ^ bits >> 13;
}
/// Any bytes, and numbers in (-1, 1): the power that products take, and so their time, hangs on them.
__global__ void fill_bytes(std::uint32_t* words, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x)
    words[i] = mixed(i);
}
template <class T>
__global__ void fill_numbers(T* numbers, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x)
    numbers[i] = static_cast<T>(static_cast<std::int32_t>(mixed(i))) * static_cast<T>(0x1p-31);
}

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  Status allocate(std::size_t bytes) {
    bytes_ = bytes;
    return base::cuda_status(cudaMalloc(&data_, std::max<std::size_t>(bytes, 256)), "memory of a calibration");
  }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Seconds of what is enqueued, by the device's clock.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  ~Clock() {
    for (cudaEvent_t event : events_) {
      if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
    }
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Status create() {
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    for (cudaEvent_t& event : events_) KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventCreate(&event), "event"));
    return {};
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  /// The median of some rounds after one that warms up. @param enqueue returns a Status
  template <class Enqueue>
  Result<double> median(const Enqueue& enqueue) const {
    constexpr int kRounds = 9;
    double warm = 0;
    KIZAMI_RETURN_IF_ERROR(once(enqueue, warm));
    std::vector<double> rounds;
    for (double all = 0; static_cast<int>(rounds.size()) < kRounds && all < kProbeSeconds; all += rounds.back()) {
      double seconds = 0;
      KIZAMI_RETURN_IF_ERROR(once(enqueue, seconds));
      rounds.push_back(seconds);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
  }

 private:
  template <class Enqueue>
  Status once(const Enqueue& enqueue, double& seconds) const {
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventRecord(events_[0], stream_), "event"));
    KIZAMI_RETURN_IF_ERROR(enqueue());
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventRecord(events_[1], stream_), "event"));
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventSynchronize(events_[1]), "a calibration"));
    float ms = 0;
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventElapsedTime(&ms, events_[0], events_[1]), "event"));
    seconds = 1e-3 * static_cast<double>(ms);
    return {};
  }

  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 2> events_{};
};

class Calibration {
 public:
  Calibration(const plan::Environment& environment, model::Device device,
              const std::function<void(std::string_view)>& progress)
      : environment_(environment), device_(std::move(device)), progress_(progress) {}

  Result<model::Device> run() {
    KIZAMI_RETURN_IF_ERROR(clock_.create());
    KIZAMI_RETURN_IF_ERROR(measure_copy());
    KIZAMI_RETURN_IF_ERROR(measure_launch());
    KIZAMI_RETURN_IF_ERROR(measure_library());
    KIZAMI_RETURN_IF_ERROR(measure_mma());
    KIZAMI_RETURN_IF_ERROR(measure_native<double>(Fact::kFp64TensorTflops));
    KIZAMI_RETURN_IF_ERROR(measure_native<float>(Fact::kFp32Tflops));
    return std::move(device_);
  }

 private:
  void set(Fact fact, double value, const char* unit, std::vector<std::pair<double, double>> by_size = {}) {
    model::Quantity quantity;
    quantity.value = value;
    quantity.source = kSource;
    quantity.by_size = std::move(by_size);
    device_.measured[static_cast<std::size_t>(fact)] = std::move(quantity);
    char text[64];
    std::snprintf(text, sizeof text, " %.4g %s", value, unit);
    tell(std::string(to_string(fact)) + text);
  }
  void tell(const std::string& text) const {
    if (progress_) progress_(text);
  }

  Status measure_copy() {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    Memory from;
    Memory to;
    KIZAMI_RETURN_IF_ERROR(from.allocate(kBytes));
    KIZAMI_RETURN_IF_ERROR(to.allocate(kBytes));
    const Result<double> seconds = clock_.median([&] {
      return base::cuda_status(
          cudaMemcpyAsync(to.as<void>(), from.as<void>(), kBytes, cudaMemcpyDeviceToDevice, clock_.stream()), "a copy");
    });
    if (!seconds.ok()) return seconds.status();
    set(Fact::kCopyTbs, 2e-12 * static_cast<double>(kBytes) / seconds.value(), "TB/s");
    return {};
  }

  Status measure_launch() {
    constexpr int kLaunches = 200;
    const Result<double> seconds = clock_.median([&] {
      for (int i = 0; i < kLaunches; ++i) nothing<<<1, 1, 0, clock_.stream()>>>();
      return base::launch_status("an empty kernel");
    });
    if (!seconds.ok()) return seconds.status();
    set(Fact::kLaunchUs, 1e6 * seconds.value() / kLaunches, "us");
    return {};
  }

  /// An INT8 product of an engine; 0: it refuses. @param predicted what it says itself
  Result<double> seconds_of_product(const product::Engine& engine, std::int64_t n, int planes,
                                    product::Epilogue epilogue, double& predicted) const {
    product::ProductDesc desc;
    desc.m = desc.n = desc.k = n;
    desc.num_products = planes;
    desc.epilogue = epilogue;
    for (int l = 0; l < planes; ++l)
      desc.moduli[static_cast<std::size_t>(l)] = num::kRealModuli[static_cast<std::size_t>(l)];
    desc.a_row_stride = desc.b_row_stride = desc.c_col_stride = n;
    desc.a_plane_stride = desc.b_plane_stride = desc.c_plane_stride = n * n;
    const auto answer = engine.query(desc, environment_.facts);
    const auto* const offer = std::get_if<product::Offer>(&answer);
    if (offer == nullptr) return 0.0;
    predicted = offer->seconds;
    const auto bytes = static_cast<std::size_t>(n * n * planes);
    Memory a;
    Memory b;
    Memory c;
    Memory scratch;
    KIZAMI_RETURN_IF_ERROR(a.allocate(bytes));
    KIZAMI_RETURN_IF_ERROR(b.allocate(bytes));
    KIZAMI_RETURN_IF_ERROR(c.allocate(bytes * (epilogue == product::Epilogue::kStoreAcc ? 4 : 1)));
    KIZAMI_RETURN_IF_ERROR(scratch.allocate(offer->workspace_bytes));
    for (const Memory* operand : {&a, &b}) {
      fill_bytes<<<1024, 256, 0, clock_.stream()>>>(operand->as<std::uint32_t>(),
                                                    static_cast<std::int64_t>(operand->bytes() / 4));
    }
    KIZAMI_RETURN_IF_ERROR(base::launch_status("filling operands"));
    product::Pointers pointers;
    pointers.a = a.as<std::int8_t>();
    pointers.b = b.as<std::int8_t>();
    pointers.c = c.as<void>();
    return clock_.median([&] { return engine.run(desc, *offer, pointers, scratch.as<std::byte>(), clock_.stream()); });
  }

  [[nodiscard]] const product::Engine* engine_named(std::string_view name) const {
    for (const product::Engine* engine : environment_.engines) {
      if (engine->name() == name) return engine;
    }
    return nullptr;
  }

  Status measure_library() {
    const product::Engine* const engine = engine_named("cublaslt");
    if (engine == nullptr) return {};
    std::vector<std::pair<double, double>> by_size;
    for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
      double predicted = 0;
      const Result<double> seconds = seconds_of_product(*engine, n, 1, product::Epilogue::kStoreAcc, predicted);
      if (!seconds.ok()) return seconds.status();
      if (seconds.value() == 0) return {};
      const auto size = static_cast<double>(n);
      by_size.emplace_back(size, 2e-12 * size * size * size / seconds.value());
      if (8 * seconds.value() > kProbeSeconds) break;
    }
    const double longest = by_size.back().second;
    set(Fact::kInt8Tops, longest, "TOPS", std::move(by_size));
    return {};
  }

  Status measure_mma() {
    const product::Engine* const engine = engine_named("mma");
    if (engine == nullptr) return {};
    constexpr std::int64_t kSize = 4096;
    constexpr int kPlanes = 4;
    double predicted = 0;
    const Result<double> seconds = seconds_of_product(*engine, kSize, kPlanes, product::Epilogue::kReduce, predicted);
    if (!seconds.ok()) return seconds.status();
    if (seconds.value() > 0)
      set(Fact::kMmaShare, predicted * environment_.facts.rates.mma / seconds.value(), "of its model");
    return {};
  }

  template <class T>
  Status measure_native(Fact fact) {
    const product::NativeDeviceEngine* const engine = environment_.native_device_engine;
    if (engine == nullptr) return {};
    std::int64_t n = 1024;
    double tflops = 0;
    for (; n <= 4096; n *= 2) {
      Memory memory;
      const auto elements = static_cast<std::size_t>(n * n);
      KIZAMI_RETURN_IF_ERROR(memory.allocate(3 * elements * sizeof(T)));
      fill_numbers<<<1024, 256, 0, clock_.stream()>>>(memory.as<T>(), static_cast<std::int64_t>(3 * elements));
      KIZAMI_RETURN_IF_ERROR(base::launch_status("filling operands"));
      const T one{1};
      const T zero{0};
      product::NativeProducts<T> products;
      products.form.m = products.form.n = products.form.k = n;
      products.form.ld_left = products.form.ld_right = products.form.ld_c = n;
      products.alpha = &one;
      products.beta = &zero;
      products.left = memory.as<T>();
      products.right = products.left + elements;
      products.c = memory.as<T>() + 2 * elements;
      const Result<double> seconds =
          clock_.median([&] { return engine->run(environment_.facts.device, products, {}, clock_.stream()); });
      if (!seconds.ok()) {
        return seconds.status().code() == StatusCode::kUnsupported ? Status() : seconds.status();  // no cuBLAS
      }
      const auto size = static_cast<double>(n);
      tflops = 2e-12 * size * size * size / seconds.value();
      if (8 * seconds.value() > kProbeSeconds) break;
    }
    set(fact, tflops, "TFLOPS");
    return {};
  }

  const plan::Environment& environment_;
  model::Device device_;
  const std::function<void(std::string_view)>& progress_;
  Clock clock_;
};

}  // namespace

Result<model::Device> calibrate_device(const plan::Environment& environment, model::Device start,
                                       const std::function<void(std::string_view)>& progress) {
  return Calibration(environment, std::move(start), progress).run();
}

}  // namespace kizami::exec
