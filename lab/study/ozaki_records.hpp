// SPDX-License-Identifier: MIT
// JSON lines of bench_gpu_gemm and bench_gpu_slices: what ways of multiplying gave on a device; and of bench_gpu_tile,
// of which BF16 products by tile kernels count.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace kizami::study {

/// Frobenius; the largest of an element, relative to it; the largest relative to |A||B|. Negative: not measured.
struct OzakiErrors {
  double frobenius = -1;
  double element = -1;
  double entry = -1;
};

struct OzakiRecord {
  char type = 'd';
  std::int64_t n = 0;
  std::string who;  ///< "native", or a way of lab/bench/sliced_way.hpp
  double ms = 0;
  double tflops = 0;
  double native_tflops = 0;  ///< of the line of native before it; 0: there is none
  OzakiErrors from_exact;    ///< of bench_gpu_gemm only entry

  // Of bench_gpu_slices, and of slices.
  OzakiErrors from_native;
  double bound = 0;
  std::string engine;
  std::string format;
  std::string scale;   ///< "line", "matrix"
  int digit_bits = 0;  ///< beside the sign
  int slices = 0;      ///< taken; 0 in lines of bench_gpu_gemm
  int products = 0;
  double split_ms = -1;  ///< phases; negative: not measured
  double product_ms = -1;
  double sums_ms = -1;

  /// Whether the way's name has the word between slashes.
  [[nodiscard]] bool has(std::string_view word) const;
  /// N of the word "dN", 0 without one.
  [[nodiscard]] int diagonals() const;
  [[nodiscard]] bool is_until_zero() const { return has("until-zero"); }
  /// Speed beside native in the same run; 0: not there.
  [[nodiscard]] double of_native() const { return native_tflops > 0 ? tflops / native_tflops : 0; }
  /// Of floating-point formats; FP64 products, with all that bench_gpu_slices says.
  [[nodiscard]] bool is_floating() const { return type == 'd' && slices > 0 && format != "int8"; }
};

/// By type, way and n; of two equal ones the later.
struct OzakiRecords {
  std::map<std::tuple<char, std::string, std::int64_t>, OzakiRecord> all;
  std::map<std::int64_t, double> bf16_tflops;  ///< the fastest product of BF16 matrices by a tile kernel, by n
  std::string device;                          ///< of all lines: driver, date and commit

  /// @param name of the source, for errors  @throws Failure kBadInput names the line that is no such record
  OzakiRecords(std::istream& lines, const std::string& name);

  /// Null: there is none.
  [[nodiscard]] const OzakiRecord* find(char type, const std::string& who, std::int64_t n) const;
  /// Those that are wanted, by n and then by way.
  [[nodiscard]] std::vector<const OzakiRecord*> where(const std::function<bool(const OzakiRecord&)>& is_wanted) const;
};

}  // namespace kizami::study
