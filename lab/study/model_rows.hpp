// SPDX-License-Identifier: MIT
// Predictions beside measurements: one row for a whole call or for a phase of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "kizami/predict.hpp"

namespace kizami::study {

/// What the constants that a row rests on were fitted to. Kinds are never mixed in a figure.
enum class RowKind {
  kPure,        ///< P: the sheet of the card, and constants fitted on another one
  kCalibrated,  ///< C: also what was measured of the card by programs that know nothing of the call
  kFit,         ///< F: constants that the measured call itself was fitted to
  kJudged,      ///< J: constants fitted on the same card to calls of other sizes, types or schemes
};
[[nodiscard]] char letter_of(RowKind kind);

struct ModelRow {
  RowKind kind = RowKind::kPure;
  std::string card;
  std::string release;  ///< of the program that was measured
  std::string type;     ///< "d"
  std::string way;      ///< what was measured
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string phase;  ///< "total", or one of the model's
  double predicted_ms = 0;
  double measured_ms = 0;

  [[nodiscard]] double ratio() const { return predicted_ms / measured_ms; }
  [[nodiscard]] std::int64_t least() const { return std::min({m, n, k}); }
};

/// JSON lines of lab/results/published. @param name of the source, for errors
/// @throws Failure kBadInput names the line that is no such record
[[nodiscard]] std::vector<ModelRow> published_rows(std::istream& lines, const std::string& name);

/// JSON lines of bench_gpu_gemm, bench_gpu_slices, bench_gpu_ec_call and the certificate's, of an H200. Operands of few
/// exponents only (phi up to 0.5, normal); of records of one call the last of the latest day, whatever file has it. Ways that
/// the model has no name for are left out.
class OwnRows {
 public:
  void read(std::istream& lines, const std::string& name);
  [[nodiscard]] std::vector<ModelRow> rows() const;
  [[nodiscard]] std::size_t num_left_out() const { return left_out_; }

 private:
  struct Measured {
    ModelRow row;  ///< kind and predictions missing
    std::string date;
    model::Request request;
  };
  void take(const Measured& measured);

  std::vector<Measured> all_;
  std::size_t left_out_ = 0;
};

}  // namespace kizami::study
