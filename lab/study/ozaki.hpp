// SPDX-License-Identifier: MIT
// The experiments of two documents on the Ozaki scheme in slices: floating slices with dropped pairs (a report on tile
// kernels), and slices of INT8 with products grouped, concatenated and blocked (ozIMMU_EF, EF_S, EF_L). Accuracy is
// measured on this machine, with the software tensor core; speed on a GPU comes from JSON lines of bench_gpu_slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "report.hpp"

namespace kizami::study {

/// Ends the line of a case that no plan multiplies, but pairs of FP32.
inline constexpr std::string_view kFloatFloatSuffix = " ff32";
[[nodiscard]] inline bool is_float_float(std::string_view line) { return line.ends_with(kFloatFloatSuffix); }
/// Characters of a line that are a case of the grammar.
[[nodiscard]] inline std::size_t case_length(std::string_view line) {
  return line.size() - (is_float_float(line) ? kFloatFloatSuffix.size() : 0);
}

/// What one case of the check kit's grammar gave.
struct OzakiMeasurement {
  std::string line;      ///< the case, perhaps with kFloatFloatSuffix
  double seconds = 0;    ///< of the call, on this machine
  int slices = 0;        ///< that it used; 0 of native products
  double bound = 0;      ///< that it guarantees
  double frobenius = 0;  ///< ||C - X||_F / ||X||_F, X the exact product
  double element = 0;    ///< largest |C - X| / |X|
  double entry = 0;      ///< largest |C - X| / (|A||B|)
  /// the same with the native FP64 product instead of X, which the document may have taken
  double from_native[3] = {};
};

/// Measures the cases of the study up to an n, one after another, and writes each to a journal before the next: what a
/// journal has already is not measured again. Progress goes to stderr, if that is a terminal.
/// @range  max_n >= 16
/// @throws Failure kOutputFailed: the journal; kInternal: a product that fails
[[nodiscard]] std::vector<OzakiMeasurement> measure_ozaki(std::int64_t max_n, const std::string& journal);

/// A product from slices by the report's code, as the report prints it: on this machine, or a record of
/// bench_gpu_report_slices.
struct ReportProduct {
  std::string device;  ///< empty: this machine
  std::int64_t n = 0;  ///< rows, columns and k; on this machine k
  std::string format;
  int digit_bits = 0;
  int advance = 0;  ///< bits from one slice to the next; 0: the largest element is found again for each
  int slices_a = 0;
  int slices_b = 0;
  int depth = 0;  ///< products of slices i + j < depth; 0: all
  int products = 0;
  int sum_block = 0;  ///< elements of k of an FP32 sum; 0: all
  double frobenius = 0;
  double from_native = 0;          ///< Frobenius
  double largest_from_native = 0;  ///< largest |C - N| over largest |N|
  // On this machine:
  double with_exact_sums = -1;  ///< Frobenius, had FP32 sums not rounded
  std::int64_t changed = -1;    ///< elements of C that are others then
};

/// The report's code run on this machine with k up to 64 max_n, 16384 at most: operands of 32 rows and columns, tile
/// kernels of the host, whose sums are FP32.
[[nodiscard]] std::vector<ReportProduct> measure_report(std::int64_t max_n);

/// Adds what JSON lines of bench_gpu_report_slices say.
/// @param name of the source, for errors  @return driver, date and commit
/// @throws Failure kBadInput names the line that is no such record
std::string read_report(std::istream& records, const std::string& name, std::vector<ReportProduct>& products);

struct OzakiStudy {
  std::vector<StudyTable> tables;
  std::vector<StudyFigure> figures;
  std::vector<Claim> claims;
  std::string device;         ///< of the figures of speed; empty without
  std::string report_device;  ///< of the report's code; empty without
};

/// Tables and claims of accuracy.
[[nodiscard]] OzakiStudy study_ozaki(const std::vector<OzakiMeasurement>& measured);

/// Adds what JSON lines of bench_gpu_slices or bench_gpu_gemm say of ways named ozaki1/..., and of native products.
/// @param name of the source, for errors  @throws Failure kBadInput names the line that is no such record
void add_ozaki_device(std::istream& records, const std::string& name, OzakiStudy& study);

/// The report's code: a table, and whether its figures follow from it.
void add_report(const std::vector<ReportProduct>& products, OzakiStudy& study);

struct OzakiRecords;
/// The part of add_ozaki_device() that is about floating slices: tables, figures and the report's claims.
void add_floating_device(const OzakiRecords& records, OzakiStudy& study);

}  // namespace kizami::study
