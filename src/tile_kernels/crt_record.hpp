// SPDX-License-Identifier: MIT
// The constants of num::CrtTable as the kernels crt_* read them from device memory: one record of FP64 numbers for each
// count of moduli, that of count N at N * kSize.
#pragma once

#include <vector>

#include "num/crt_table.hpp"

namespace kizami::tile_kernels {

/// Offsets within a record.
struct CrtRecord {
  static constexpr int kMostDigits = 6;
  static constexpr int kMostModuli = 28;  ///< more have more digits
  static constexpr int kWeights = 0;      ///< [kMostModuli][num::kMaxCrtDigits]
  static constexpr int kFractions = kWeights + kMostModuli * num::kMaxCrtDigits;
  static constexpr int kProduct = kFractions + kMostModuli;  ///< [kMostDigits]
  static constexpr int kHalf = kProduct + kMostDigits;       ///< [kMostDigits]
  static constexpr int kSize = kHalf + kMostDigits;
};

/// The records of all counts up to kMostModuli, those below num::kMinModuli empty.
[[nodiscard]] inline std::vector<double> make_crt_records() {
  using R = CrtRecord;
  std::vector<double> records(static_cast<std::size_t>((R::kMostModuli + 1) * R::kSize));
  for (int count = num::kMinModuli; count <= R::kMostModuli; ++count) {
    const num::CrtTable& table = num::crt_table(num::Ring::kReal, count);
    double* const record = records.data() + count * R::kSize;
    for (int q = 0; q < count; ++q) {
      for (int d = 0; d < R::kMostDigits; ++d) record[R::kWeights + q * num::kMaxCrtDigits + d] = table.weight[q][d];
      record[R::kFractions + q] = table.fraction[q];
    }
    for (int d = 0; d < R::kMostDigits; ++d) {
      record[R::kProduct + d] = table.product[d];
      record[R::kHalf + d] = num::detail::crt_digit(table.half_wide, d);
    }
  }
  return records;
}

}  // namespace kizami::tile_kernels
