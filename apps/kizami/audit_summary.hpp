// SPDX-License-Identifier: MIT
// What an audit has seen, by place and routine, and in words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kizami::cli {

struct AuditShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t products = 1;  ///< of a batch
  double part = 1;            ///< of 2 m n k operations that the routine has
  std::int64_t calls = 0;
  double seconds = 0;
  double gflop = 0;  ///< 10^9 multiplications and additions
};

/// What all products of a place, or of a run, would take on a card with the matrices in its memory, by the model.
struct CardPrediction {
  double native_seconds = 0;  ///< of its cuBLAS
  double kizami_seconds = 0;  ///< where each product is left to the quicker one
};

/// The calls of one routine from one place.
struct AuditSite {
  std::string site;     ///< "libsolver.so:update"
  std::string offset;   ///< in that file, for addr2line
  std::string routine;  ///< "dgemm_"
  std::string stem;     ///< "gemm", as in rules
  std::string type;     ///< s, d, c, z, as in rules; empty: other elements
  std::string scheme;   ///< the planner's choice at the shape with the most time; "native" or empty: none of Kizami's
  double scheme_seconds = 0;  ///< of that shape
  std::int64_t calls = 0;
  double seconds = 0;
  double gflop = 0;  ///< 10^9 multiplications and additions
  std::int64_t samples = 0;
  std::int64_t captured = 0;       ///< calls that a graph remembers; its replays are not seen
  std::vector<std::string> notes;  ///< what to know of its errors
  std::string why_no_sample;
  int spread_a = 0, spread_b = 0, bits = 0;
  bool has_nonfinite = false;
  double error_over_bound = -1;  ///< of the worst element; < 0: none was looked at
  // Of those shapes that have a prediction:
  double measured_seconds = 0;
  double native_seconds = 0;          ///< the model's of the native library, or as measured where it knows none
  double compared_seconds = 0;        ///< of each shape the smaller one of both
  double predicted_seconds = 0;       ///< of Kizami, at accuracy native
  std::vector<AuditShape> shapes;     ///< the longest times first
  std::vector<CardPrediction> cards;  ///< one for each of model::known_devices()

  [[nodiscard]] bool is_on_device() const { return routine.starts_with("cublas"); }
};

struct AuditSummary {
  std::vector<std::string> command;
  std::string ended;
  double seconds = 0;  ///< of the whole run
  std::int64_t processes = 0, cut = 0;
  std::int64_t calls = 0;
  double product_seconds = 0;  ///< summed over threads and processes
  double process_seconds = 0;  ///< summed over the processes that called
  std::int64_t captured = 0;
  double sampled_seconds = 0;
  std::vector<AuditSite> sites;  ///< the longest times first
  std::vector<std::string> ranks;
  std::vector<std::string> devices;   ///< that products were timed on
  std::vector<CardPrediction> cards;  ///< of all places; one for each of model::known_devices()
  std::string why_no_calls;
};

[[nodiscard]] AuditSummary summarize(const std::vector<nlohmann::json>& lines, const std::vector<std::string>& command,
                                     double seconds, const std::string& ended);

/// How many times faster Kizami is predicted to be than the native library can be; 0: not known.
[[nodiscard]] double gain_of(const AuditSite& site);
/// What is to be known of the measured time beside what the native library is predicted to take; empty: nothing.
[[nodiscard]] std::string slowness_of(const AuditSite& site);
/// "3 products", "1 product", "2 processes".
[[nodiscard]] std::string counted(std::int64_t count, const char* noun);
/// "512x512x64"; of a row that keeps no shapes "other shapes".
[[nodiscard]] std::string shape_text(const AuditShape& shape);
[[nodiscard]] double gain_of(const CardPrediction& card);

[[nodiscard]] std::string audit_text(const AuditSummary& summary);
/// Lines of the report, those of sites, and one of the run.
[[nodiscard]] std::string audit_json(const AuditSummary& summary, const std::vector<nlohmann::json>& lines);
/// Rules for `kizami run --rules`: the places where a gain is predicted; a comment where there is none.
[[nodiscard]] std::string audit_rules(const AuditSummary& summary);

}  // namespace kizami::cli
