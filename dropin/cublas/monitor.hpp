// SPDX-License-Identifier: MIT
// The monitor mode (KIZAMI_MONITOR) of calls on a device: elements of C are computed again on the host, from what is
// copied there in the order of the call's stream.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dropin/cublas/call.hpp"
#include "dropin/policy/record.hpp"
#include "dropin/policy/sample.hpp"

namespace kizami::dropin::cublas {

/// What is watched of one call. Nothing in it throws, or changes the call.
class Monitor {
 public:
  /// Watches nothing.
  Monitor() = default;
  /// Before the call: copies rows of op(A), columns of op(B) and elements of C, and, if they are in device memory,
  /// addresses and factors. A stream that is captured is left alone: no sample, and the report says so.
  /// @range a valid call with m, n, k, num_products >= 1 @queue waits for the stream, unless it is captured
  Monitor(const Call& call, const Context& context) noexcept;

  [[nodiscard]] bool is_watching() const { return samples_ != nullptr || !why_none_.empty(); }

  /// After the call: copies what it wrote, and puts the worst ratio, or why there is none, into the report. @queue as
  /// before
  void judge(const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance, CallReport& report) noexcept;

  /// The elements, whatever their type.
  class Samples {
   public:
    virtual ~Samples() = default;
    [[nodiscard]] virtual double worst_ratio(
        const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance) const = 0;
  };

 private:
  std::unique_ptr<Samples> samples_;
  std::string why_none_;
};

}  // namespace kizami::dropin::cublas
