// SPDX-License-Identifier: MIT
// Times the parts of the library that no product of matrices shows by itself. For benchmarks and calibration.
#pragma once

#include <cstdint>

#include "kizami/export.h"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami {

/// What an engine does in one launch of low-precision products.
struct ProductTiming {
  double seconds = 0;        ///< of the launch, operands warm
  double multiply_adds = 0;  ///< m n k num_products
};

/// INT8 products of one engine, prepared once and run as often as wanted: num_products planes of m x k by k x n with
/// full-range random bytes, each reduced to a residue.
class KIZAMI_API ProductBenchmark {
 public:
  /// @range m, n, k in [1, 2^17]; num_products in [1, 64]; threads >= 1
  /// @status kInvalidArgument; kUnsupported: the engine refuses, with its reason; kOutOfMemory
  static Result<ProductBenchmark> make(EngineName engine, std::int64_t m, std::int64_t n, std::int64_t k,
                                       int num_products, int threads);

  /// Runs and times one launch.
  Result<ProductTiming> run();

  ProductBenchmark(ProductBenchmark&&) noexcept;
  ProductBenchmark& operator=(ProductBenchmark&&) noexcept;
  ~ProductBenchmark();

 private:
  struct Impl;
  explicit ProductBenchmark(Impl* impl) : impl_(impl) {}
  Impl* impl_;
};

}  // namespace kizami
