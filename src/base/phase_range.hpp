// SPDX-License-Identifier: MIT
// Which phase of a call a thread is in, or enqueues, for profilers that read NVTX (Nsight Systems): ranges of domain
// "kizami". Without a profiler a range costs two calls that return at once; in a library built without NVTX likewise.
#pragma once

#include <cstdint>
#include <string_view>

namespace kizami::base {

enum class Phase : std::uint8_t {
  kGemm,            ///< a whole product; the others lie within
  kStatistics,      ///< of lines; with the split where one pass makes both
  kCertificate,     ///< which rung is enough
  kSplit,           ///< of operands into planes
  kProduct,         ///< of planes, or native
  kReconstruction,  ///< of C from the products
  kFp64,            ///< elements in FP64 arithmetic, NaN and Inf
};

/// What a profiler shows.
inline constexpr std::string_view kPhaseNames[] = {"gemm",    "statistics",     "certificate",    "split",
                                                   "product", "reconstruction", "FP64 arithmetic"};

/// From here to the end of the block.
class PhaseRange {
 public:
  explicit PhaseRange(Phase phase) noexcept;
  ~PhaseRange();
  PhaseRange(const PhaseRange&) = delete;
  PhaseRange& operator=(const PhaseRange&) = delete;

 private:
  [[maybe_unused]] bool is_pushed_ = false;
};

}  // namespace kizami::base
