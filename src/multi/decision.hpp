// SPDX-License-Identifier: MIT
// What is decided for a whole product by what its blocks have counted: the rung, and the shifts of the inner index. All
// of it are integers whose sums and maxima know no order, so every cut of a product comes to what one call finds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/whole.hpp"

namespace kizami::multi {

using ozaki2::Counts;

/// What a block of num_pairs elements of C adds, from its state behind ozaki2::begin_device_block().
/// @param is_first_of_rows  counts its rows with NaN or Inf: one block for each row does; likewise of columns
/// @param times  blocks of C of the same pairs that it stands for
void add_block(const device::DeviceState& state, std::int64_t num_pairs, bool is_first_of_rows, bool is_first_of_cols,
               Counts& counts, int times = 1);
/// And behind ozaki2::count_block_equilibrated().
void add_equilibrated(const device::DeviceState& state, Counts& counts, int times = 1);

/// The largest exponents of the inner index over all blocks, and the shifts that follow from them.
class InnerExponents {
 public:
  explicit InnerExponents(std::int64_t k);
  /// @shape a, b: [k]
  void add(std::span<const std::int32_t> a, std::span<const std::int32_t> b);
  /// certify::equilibration_shifts(). Once, behind all blocks.
  void make_shifts();
  [[nodiscard]] std::span<std::int32_t> a() { return a_; }
  [[nodiscard]] std::span<std::int32_t> b() { return b_; }
  [[nodiscard]] std::span<const std::int32_t> a() const { return a_; }
  [[nodiscard]] std::span<const std::int32_t> b() const { return b_; }

 private:
  std::vector<std::int32_t> a_;
  std::vector<std::int32_t> b_;
};

/// certify::equilibration_gain() of operands whose lines certify::gain_line() are these.
/// @shape a, b: [certify::kGainLines][k]
template <class T>
[[nodiscard]] std::int32_t gain_of_samples(const T* a, const T* b, std::int64_t k, int threads);

/// Parts of the product elsewhere.
class Others {
 public:
  Others() = default;
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  virtual ~Others() = default;

  /// Over all, to all. @status an error of any, for all of them
  virtual Status sum(std::span<std::int64_t> values) = 0;
  virtual Status max(std::span<std::int64_t> values) = 0;
};

/// The rung of a product, whose parts count: `part` and, unless null, those of `others`.
/// @param find_gain  certify::equilibration_gain() of the whole; perhaps not called
/// @param counts     zeros; then of all parts
Status decide(const ozaki2::Ozaki2Stage& stage, std::int64_t k, ozaki2::Part& part,
              const std::function<Status(std::int32_t& gain)>& find_gain, Others* others, Counts& counts,
              num::Selection& selection);

/// The refusals that only elements justify, before anything is written.
/// @status kNonFinite: the policy rejects what was counted; kAccuracyUnreachable
Status require_what_is_needed(const plan::Plan& whole, const Counts& counts, const num::Selection& selection);

}  // namespace kizami::multi
