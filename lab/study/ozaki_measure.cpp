// SPDX-License-Identifier: MIT
// Runs the cases of the study, and keeps them in a journal: a JSON line each.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench_baselines.hpp"
#include "check/case.hpp"
#include "check/exact.hpp"
#include "check/float_float.hpp"
#include "check/operands.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "ozaki.hpp"

namespace kizami::study {
namespace {

/// The least n of tables over n.
constexpr std::int64_t kLeastN = 16;
/// k of the sweep of diagonals, in units of n.
constexpr std::int64_t kLongK = 16;

/// All cases, native products before those that are compared with them.
std::vector<std::string> lines_of(std::int64_t max_n) {
  std::vector<std::string> lines;
  const auto add = [&](std::int64_t n, std::int64_t k, const std::string& how) {
    lines.push_back(fmt::format("d nn {}x{}x{} A=randn B=randn {}", n, n, k, how));
  };
  for (std::int64_t n = kLeastN; n <= max_n; n *= 2) {
    add(n, n, "scheme=native reproducibility=none");
    lines.push_back(lines.back() + std::string(kFloatFloatSuffix));
    for (const char* scale : {"matrix", "line"}) {
      for (const char* format : {"fp16", "bf16", "e4m3", "e5m2"})
        add(n, n, fmt::format("scheme=ozaki1 slice_format={} slices=-1 slice_scale={}", format, scale));
      add(n, n, fmt::format("scheme=ozaki1 slice_format=bf16 slices=7 diagonals=9 slice_scale={}", scale));
      add(n, n, fmt::format("scheme=ozaki1 slice_format=e4m3 slices=14 diagonals=16 slice_scale={}", scale));
    }
    for (const char* split : {"truncated", "nearest", "bytes"})
      add(n, n, fmt::format("scheme=ozaki1 slices=7 slice_split={}", split));
  }
  const std::int64_t n = std::min<std::int64_t>(max_n, 32);
  add(n, kLongK * max_n, "scheme=native reproducibility=none");
  for (int d = 9; d >= 5; --d)
    add(n, kLongK * max_n, fmt::format("scheme=ozaki1 slice_format=bf16 slices=7 diagonals={}", d));
  return lines;
}

nlohmann::json as_json(const OzakiMeasurement& m) {
  return {{"case", m.line},           {"seconds", m.seconds}, {"slices", m.slices}, {"bound", m.bound},
          {"frobenius", m.frobenius}, {"element", m.element}, {"entry", m.entry},   {"from_native", m.from_native}};
}

/// What a journal holds. A last line that an interruption has cut is none.
std::map<std::string, OzakiMeasurement> load(const std::string& path) {
  std::map<std::string, OzakiMeasurement> known;
  std::ifstream file(path);
  std::string text;
  while (std::getline(file, text)) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.contains("from_native")) continue;
    OzakiMeasurement m{
        json.value("case", ""),       json.value("seconds", 0.0), json.value("slices", 0),  json.value("bound", 0.0),
        json.value("frobenius", 0.0), json.value("element", 0.0), json.value("entry", 0.0), {}};
    for (std::size_t i = 0; i < 3; ++i) m.from_native[i] = json["from_native"].at(i).get<double>();
    known[m.line] = m;
  }
  return known;
}

/// The exact product of the operands of a case, its |A||B|, and the native one.
struct References {
  std::vector<check::ExactDot> exact;
  std::vector<double> native;
};

References references_of(const check::Operands<double>& x) {
  const MatrixView<const double> a = x.a.view();
  const MatrixView<const double> b = x.b.view();
  References out;
  out.exact.resize(static_cast<std::size_t>(a.rows * b.cols));
  for (std::int64_t j = 0; j < b.cols; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t h = 0; h < a.cols; ++h)
        out.exact[static_cast<std::size_t>(j * a.rows + i)].add(a(i, h), b(h, j));
    }
  }
  return out;
}

/// Frobenius, largest relative to an element, largest relative to |A||B|.
struct Errors {
  double difference = 0;
  double norm = 0;
  double element = 0;
  double entry = 0;

  void add(double error, double value, double gauge) {
    difference += error * error;
    norm += value * value;
    element = std::max(element, std::abs(error / value));
    entry = std::max(entry, std::abs(error) / gauge);
  }
  [[nodiscard]] double frobenius() const { return std::sqrt(difference / norm); }
};

OzakiMeasurement measure(const std::string& line, std::map<std::string, References>& references) {
  const Result<check::Case> parsed = check::parse_case(line.substr(0, case_length(line)));
  if (!parsed.ok()) throw cli::Failure(cli::ExitCode::kInternal, fmt::format("{}: {}", line, parsed.status().reason()));
  const check::Case& c = parsed.value();
  check::Operands<double> x(c);
  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  if (is_float_float(line)) {
    cli::multiply_float_float(c.m, c.n, c.k, x.a.data(), x.b.data(), x.c.data(), 1);
    outcome.bound = check::float_float_bound(c.k);
  } else {
    const Status status = gemm<double>(c.layout, c.op_a, c.op_b, c.m, c.n, c.k, 1.0, x.a.data(), x.a.ld(), x.b.data(),
                                       x.b.ld(), 0.0, x.c.data(), x.c.ld(), c.policy, &outcome);
    if (!status.ok()) throw cli::Failure(cli::ExitCode::kInternal, fmt::format("{}: {}", line, status.reason()));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const std::string shape = fmt::format("{}x{}x{}", c.m, c.n, c.k);
  if (references.find(shape) == references.end()) references.emplace(shape, references_of(x));
  References& reference = references.at(shape);
  const bool is_native = outcome.scheme == Scheme::kNative && !is_float_float(line);
  if (is_native) reference.native.assign(x.c.data(), x.c.data() + c.m * c.n);
  Errors from_exact;
  Errors from_native;
  for (std::size_t i = 0; i < reference.exact.size(); ++i) {
    const double value = x.c.data()[i];
    check::Exact error = reference.exact[i].sum();
    error.add(-value);
    const double gauge = reference.exact[i].abs_sum().rounded<double>();
    from_exact.add(error.rounded<double>(), reference.exact[i].sum().rounded<double>(), gauge);
    if (!reference.native.empty()) from_native.add(value - reference.native[i], reference.native[i], gauge);
  }
  OzakiMeasurement m{line,
                     elapsed.count(),
                     outcome.slices,
                     outcome.bound,
                     from_exact.frobenius(),
                     from_exact.element,
                     from_exact.entry,
                     {}};
  m.from_native[0] = from_native.norm > 0 ? from_native.frobenius() : 0;
  m.from_native[1] = from_native.element;
  m.from_native[2] = from_native.entry;
  return m;
}

}  // namespace

std::vector<OzakiMeasurement> measure_ozaki(std::int64_t max_n, const std::string& journal) {
  const std::map<std::string, OzakiMeasurement> known = load(journal);
  const std::vector<std::string> lines = lines_of(max_n);
  std::map<std::string, References> references;
  std::vector<OzakiMeasurement> measured;
  std::ofstream file(journal, std::ios::app);
  if (!file) throw cli::Failure(cli::ExitCode::kOutputFailed, fmt::format("{}: cannot be written", journal));
  const bool is_resumed = !known.empty();
  if (is_resumed) file << "\n";  // ends a line that an interruption has cut
  std::size_t number = 0;
  for (const std::string& line : lines) {
    ++number;
    const auto found = known.find(line);
    // Native products are needed to compare others with: they are quick, and made again.
    const bool is_native = line.find("scheme=native") != std::string::npos && !is_float_float(line);
    if (found != known.end() && !is_native) {
      measured.push_back(found->second);
      continue;
    }
    if (isatty(STDERR_FILENO) != 0)
      fmt::print(stderr, "kizami: case {} of {}{}: {}\n", number, lines.size(), is_resumed ? ", resumed" : "", line);
    measured.push_back(measure(line, references));
    if (found == known.end()) file << as_json(measured.back()).dump() << "\n" << std::flush;
    if (!file) throw cli::Failure(cli::ExitCode::kOutputFailed, fmt::format("{}: cannot be written", journal));
  }
  return measured;
}

}  // namespace kizami::study
