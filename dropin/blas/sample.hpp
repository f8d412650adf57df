// SPDX-License-Identifier: MIT
// A few elements of C, computed again in arithmetic of 113 bits and compared with the bound of the call (KIZAMI_MONITOR).
#pragma once

#include <cstdint>
#include <vector>

#include "dropin/blas/call.hpp"
#include "kizami/outcome.hpp"

namespace kizami::dropin::blas {

template <class T>
class Sample {
 public:
  /// No element.
  Sample() = default;
  /// Chooses elements of C, spread over it, and keeps what the call will overwrite.
  explicit Sample(const Call<T>& call);

  /// The largest error / bound of the chosen elements after the call, real and imaginary parts apart; NaN if a finite result
  /// is expected and C holds none; -1 if none was chosen, or all expected ones are Inf or NaN.
  [[nodiscard]] double worst_ratio(const Call<T>& call, const Outcome& outcome) const;

 private:
  struct Element {
    std::int64_t i;
    std::int64_t j;
    T before;             ///< of C
    std::vector<T> line;  ///< trmm: the column (left) or row (right) of C before
  };
  std::vector<Element> elements_;
};

}  // namespace kizami::dropin::blas
