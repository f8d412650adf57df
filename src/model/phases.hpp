// SPDX-License-Identifier: MIT
// The phases of each scheme as work: what it multiplies, what it reads and writes.
#pragma once

#include <cstdint>
#include <vector>

#include "kizami/predict.hpp"
#include "model/program.hpp"
#include "model/roofs.hpp"

namespace kizami::model {

inline constexpr int kDigitBits = 7;             ///< of a slice in INT8, beside the sign
inline constexpr double kLargestBlock = 131072;  ///< of k, so that INT32 sums of residues stay exact

struct Phases {
  std::vector<PhaseTime> times;
  double operations = 0;  ///< of all products of low precision
  int products = 0;
  int accumulators = 0;
  bool has_quadrants = false;  ///< ozaki2 by Strassen's products
  bool parts_overlap = false;  ///< computation and data handling run side by side
};

/// @range a request that predict() has checked, its complex form not kAuto where slices are complex
/// @param is_sustained  at the limit of power, however short
[[nodiscard]] Phases phases_of(const Program& program, const Request& request, const Rates& rates, bool is_sustained);

/// num::sample_stride() of a ladder of accuracy native, whose lowest rung allows a spread that does not depend on k.
[[nodiscard]] std::int64_t sample_stride(const Request& request);
/// What is multiplied: INT8, but where the request says otherwise, and native.
[[nodiscard]] Format format_of(const Request& request);
/// 2 m n k, of complex types 8 m n k; of one triangle half.
[[nodiscard]] double flops_of(const Request& request);

/// Products that one INT32 accumulator holds, digits of `digit_bits` bits beside the sign; 0: not one, k has to be cut.
/// @cite [UOI2025, eq. (4)], in its exact form
[[nodiscard]] std::int64_t products_of_accumulator(std::int64_t k, int digit_bits);
/// The accumulators of one way, and how many products each holds. Their sum is P, their number G. @range r >= 1
[[nodiscard]] std::vector<int> windows_of(Way way, int slices, std::int64_t r);

}  // namespace kizami::model
