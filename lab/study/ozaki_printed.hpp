// SPDX-License-Identifier: MIT
// What the report on tile kernels prints of its FP64 products from floating slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kizami::study {

/// A row of the report's tables, measured on a B200.
struct PrintedProduct {
  const char* format;
  int diagonals;  ///< 0: slices until nothing is left, all pairs
  std::int64_t n;
  const char* slices;
  int products;
  double split_ms, product_ms;  ///< 0: not printed
  double total_ms, tflops, error;
  double of_native = 0;  ///< 0: not printed
};
inline constexpr PrintedProduct kPrinted[] = {
    {"fp16", 0, 1024, "10 x 10", 100, 1.48, 0.62, 2.64, 0.81, 1.58e-15},
    {"fp16", 0, 2048, "12 x 12", 144, 2.57, 2.66, 5.75, 2.99, 1.98e-15},
    {"fp16", 0, 4096, "12 x 12", 144, 8.69, 21.59, 30.70, 4.48, 6.31e-15},
    {"fp16", 0, 8192, "14 x 14", 196, 36.00, 192.32, 231.76, 4.74, 7.28e-15},
    {"fp16", 0, 16384, "14 x 14", 196, 135.21, 1737.14, 1884.24, 4.67, 3.35e-15},
    {"e4m3", 0, 1024, "15 x 16", 240, 2.22, 1.11, 4.03, 0.53, 1.64e-15},
    {"e4m3", 0, 2048, "16 x 16", 256, 3.48, 3.11, 7.33, 2.34, 2.27e-15},
    {"e4m3", 0, 4096, "16 x 17", 272, 12.30, 19.17, 30.86, 4.45, 5.69e-15},
    {"e4m3", 0, 8192, "17 x 17", 289, 45.64, 179.99, 226.64, 4.85, 8.88e-15},
    {"bf16", 9, 1024, "7 x 7", 39, 0.20, 0.25, 1.57, 1.37, 5.75e-15},
    {"bf16", 9, 2048, "7 x 7", 39, 0.24, 0.75, 2.16, 7.94, 1.30e-14},
    {"bf16", 9, 4096, "7 x 7", 39, 0.43, 5.32, 7.22, 19.04, 1.16e-14},
    {"bf16", 9, 8192, "7 x 7", 39, 1.16, 38.93, 42.60, 25.81, 2.39e-14},
    {"bf16", 9, 16384, "7 x 7", 39, 3.96, 323.10, 327.78, 26.84, 2.21e-14, 0.75},
    {"bf16", 8, 16384, "7 x 7", 34, 0, 0, 298.76, 29.44, 2.31e-14, 0.83},
    {"bf16", 7, 16384, "7 x 7", 28, 0, 0, 238.94, 36.81, 3.50e-13, 1.03},
    {"bf16", 6, 16384, "7 x 7", 21, 0, 0, 189.59, 46.40, 4.39e-11, 1.30},
    {"bf16", 5, 16384, "7 x 7", 15, 0, 0, 136.34, 64.52, 4.51e-09, 1.81},
    {"e4m3", 16, 1024, "14 x 14", 130, 0.25, 0.61, 2.99, 0.72, 3.48e-13},
    {"e4m3", 16, 2048, "14 x 14", 130, 1.27, 1.60, 6.80, 2.52, 3.57e-13},
    {"e4m3", 16, 4096, "14 x 14", 130, 2.13, 9.31, 15.88, 8.65, 3.41e-13},
};
/// Null: there is none.
[[nodiscard]] inline const PrintedProduct* printed_of(std::string_view format, int diagonals, std::int64_t n) {
  const auto* const found = std::find_if(std::begin(kPrinted), std::end(kPrinted), [&](const PrintedProduct& p) {
    return p.format == format && p.diagonals == diagonals && p.n == n;
  });
  return found == std::end(kPrinted) ? nullptr : found;
}

}  // namespace kizami::study
