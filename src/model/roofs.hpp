// SPDX-License-Identifier: MIT
// Roofs of a device, and how long a phase takes below them:
//   seconds = launches * launch + waits * latency + max over roofs of work / rate
// the roofline model of every phase by itself, with roofs beside memory and arithmetic: FP64 instructions, integer
// instructions, and cycles of the multiprocessors for phases that are bound by what they issue.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "kizami/predict.hpp"

namespace kizami::model {

/// The rate of products in each format.
inline constexpr std::array<Fact, kNumFormats> kProductRate = {Fact::kInt8Tops,   Fact::kFp8Tflops,
                                                               Fact::kFp16Tflops, Fact::kTf32Tflops,
                                                               Fact::kFp32Tflops, Fact::kFp64TensorTflops};

/// Of a device, by one basis. Operations, bytes, instructions a second.
struct Rates {
  double sms = 0;
  double clock_hz = 0;
  double memory = 0;  ///< as a copy reaches it
  double l2 = 0;
  double l2_bytes = 0;
  double fp64_instructions = 0;
  double int32_instructions = 0;
  double launch_seconds = 0;
  double latency_seconds = 0;  ///< of memory
  double sustained_share = 0;  ///< of a burst, of a library's products at the limit of power; 0: nobody measured
  std::array<double, kNumFormats> products{};  ///< of the sheet, but FP64 and FP32; 0: it has none in this format
  /// What a library's single product of n = 8192 reached; 0: nobody measured, or the basis does not ask.
  std::array<double, kNumFormats> measured_products{};
  /// n of a square product and its rate in INT8, likewise; may be empty.
  std::vector<std::pair<double, double>> int8_by_size;
  /// Likewise of products of more than 8192 lines of either operand, four behind one another: bytes of both operands.
  std::vector<std::pair<double, double>> int8_wide_by_bytes;

  [[nodiscard]] double of(Format format) const { return products[static_cast<std::size_t>(format)]; }
};

/// Fewer FP64 instructions than this for each INT32 one: kernels take another form.
[[nodiscard]] constexpr bool has_weak_fp64(const Rates& rates) {
  constexpr double kWeakFp64 = 1.0 / 16;
  return rates.fp64_instructions < kWeakFp64 * rates.int32_instructions;
}

/// @param copy_share     of the sheet's bandwidth that a copy reaches; a measured copy goes before
/// @param launch_seconds of a launch behind another; a measured one goes before
[[nodiscard]] Rates rates_of(const Device& device, Basis basis, double copy_share, double launch_seconds);

/// What a phase asks of a device. Zero: nothing of that kind.
struct Work {
  std::string_view phase;
  Part part = Part::kDataHandling;
  double launches = 0;
  double bytes = 0;  ///< to and from memory
  Format format = Format::kInt8;
  double operations = 0;
  double reached = 1;  ///< share of the rate of products that this shape reaches
  double fp64_instructions = 0;
  double int32_instructions = 0;
  double sm_cycles = 0;  ///< of one multiprocessor, of all the work
};

/// A launch whose bytes fit the L2 cache has its rate.
[[nodiscard]] PhaseTime time_of(const Work& work, const Rates& rates);

}  // namespace kizami::model
