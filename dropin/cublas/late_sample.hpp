// SPDX-License-Identifier: MIT
// Elements of a call that are copied in the order of its stream, and judged once the copies have arrived: nobody waits.
// A sample is read twice. The first reading enqueues copies of all lines into staging memory and gets zeros; the second
// one, in the same order, gets what has arrived.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "dropin/cublas/device_lines.hpp"
#include "dropin/policy/audit.hpp"
#include "dropin/policy/sample.hpp"

namespace kizami::dropin::cublas {

/// Memory of the host that copies of a stream write.
struct Staging {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

class LateSample {
 public:
  virtual ~LateSample() = default;
  /// Enqueues copies of what the call will write. @range after the call was enqueued
  virtual void read_results() = 0;
  /// @range all copies have arrived
  [[nodiscard]] virtual AuditSample judge() const = 0;
};

template <class T>
class LateSampleOf : public LateSample {
 public:
  /// Enqueues copies of what the call will read. @range elements >= 1
  LateSampleOf(const Call& call, const Context& context, int elements, Staging staging)
      : call_(call), context_(context), staging_(staging) {
    constexpr int kElements = Sample<T>::kElements;
    for (int e = 0; e < elements; ++e) {
      const int element = element_of(e, elements, kElements);
      chosen_.push_back({typed<T>(call, context, product_of(element, kElements - 1, call.num_products)), element});
    }
    for (const Chosen& one : chosen_) enqueued_.add(one.call, one.element, copy());
  }
  void read_results() override { enqueued_.read_results(copy()); }

  [[nodiscard]] AuditSample judge() const override {
    std::size_t used = 0;
    const ReadLine<T> arrived = [&](const T*, std::int64_t count, std::int64_t) {
      std::vector<T> line(static_cast<std::size_t>(count));
      std::memcpy(line.data(), staging_.data + used, line.size() * sizeof(T));
      used += line.size() * sizeof(T);
      return line;
    };
    Sample<T> sample;
    for (const Chosen& one : chosen_) sample.add(one.call, one.element, arrived);
    AuditSample out;
    out.ratio = sample.worst_ratio(arrived, [&](std::int64_t, std::int64_t) { return native_allowance<T>(call_.k); });
    out.needs = sample.needs();
    out.terms = static_cast<double>(chosen_.size()) * static_cast<double>(terms_of<T>(call_.k));
    return out;
  }

  /// Whether the copies of so many elements find room.
  [[nodiscard]] static bool fits(const Shape& x, int elements, std::size_t bytes) {
    constexpr std::int64_t kLines = 4;  // of symm, hemm 3, of syr2k and her2k 4
    const auto most = static_cast<std::int64_t>(bytes / sizeof(T));
    return elements * (kLines * x.k + 2) <= most;
  }

 private:
  struct Chosen {
    TypedCall<T> call;
    int element;
  };

  [[nodiscard]] ReadLine<T> copy() {
    return [this](const T* first, std::int64_t count, std::int64_t stride) {
      const auto length = static_cast<std::size_t>(count);
      const std::size_t pitch = stride == 1 ? length * sizeof(T) : sizeof(T);
      const std::size_t rows = stride == 1 ? 1 : length;
      check(cudaMemcpy2DAsync(staging_.data + used_, pitch, first,
                              stride == 1 ? pitch : static_cast<std::size_t>(stride) * sizeof(T), pitch, rows,
                              cudaMemcpyDefault, context_.stream),
            "a line is not copied");
      used_ += length * sizeof(T);
      return std::vector<T>(length);
    };
  }

  Call call_;
  Context context_;
  Staging staging_;
  std::size_t used_ = 0;
  std::vector<Chosen> chosen_;
  Sample<T> enqueued_;
};

}  // namespace kizami::dropin::cublas
