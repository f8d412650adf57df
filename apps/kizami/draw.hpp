// SPDX-License-Identifier: MIT
// What random cases are made of: numbers drawn from a seed, extents, factors, matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>

#include "check/case.hpp"
#include "check/random.hpp"
#include "kizami/policy.hpp"

namespace kizami::cli {

/// The random streams of campaigns; operands use others.
inline constexpr std::uint32_t kCampaignStream = 0xCA;
inline constexpr std::uint32_t kDeviceCampaignStream = 0xCB;
inline constexpr std::uint32_t kSelectionCampaignStream = 0xCC;  ///< of tests/gpu_selection

/// The numbers that case `index` of a campaign is drawn from.
class Draw {
 public:
  Draw(std::uint64_t seed, std::int64_t index, std::uint32_t stream = kCampaignStream)
      : random_(seed, stream, index & 0xFFFFFFFF, index >> 32) {}

  /// Uniform in [lo, hi].
  std::int64_t integer(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(hi - lo + 1)));
  }
  bool one_in(std::int64_t n) { return integer(1, n) == 1; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }
  double uniform(double lo, double hi) { return lo + (hi - lo) * random_.uniform(20); }

 private:
  check::AddressedRandom random_;
};

/// Case::scalar, op_a, op_b.
void draw_type_and_ops(Draw& draw, check::Case& c);
/// Case::layout, ld_pad, offset.
void draw_layout(Draw& draw, check::Case& c);
/// From one bit to all of the type's.
[[nodiscard]] Accuracy random_bits(Draw& draw, Scalar scalar);
/// The first case of `draw_case` that the grammar can say, with a seed, as it says it: alpha and beta are rounded, and
/// what is not printed is gone.
[[nodiscard]] check::Case first_printable(Draw& draw, const std::function<check::Case()>& draw_case);

/// Mostly small and odd, around the blocks of 16 lines and 64 elements, sometimes empty.
[[nodiscard]] std::int64_t random_extent(Draw& draw);
[[nodiscard]] double random_factor(Draw& draw, bool may_be_infinite);
/// Values of the type's range: exponents that FP32 operands can hold too.
[[nodiscard]] check::MatrixSpec random_spec(Draw& draw, Scalar scalar, check::Shape shape, bool may_be_nonfinite);
/// Slices of scheme ozaki1, mostly those that a planner would choose.
[[nodiscard]] Slicing random_slices(Draw& draw, Scalar scalar, bool is_engine_free);

}  // namespace kizami::cli
