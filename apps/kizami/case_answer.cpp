// SPDX-License-Identifier: MIT
#include "case_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "check/element.hpp"
#include "check/operands.hpp"
#include "device_cases.hpp"
#include "kizami/gemm.hpp"

namespace kizami::cli {
namespace {

using check::Case;

/// In the order of outcome_text().
constexpr std::array<const char*, 10> kFields{"scheme", "gauge",        "bound",    "moduli",         "slices",
                                              "rung",   "equilibrated", "repaired", "nonfinite_rows", "nonfinite_cols"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return out;
    begin = end + 1;
  }
}

template <class T>
CaseAnswer answer_as(const Case& spec) {
  const Policy policy = host_policy(spec);
  CaseAnswer answer;
  BitsHash hash;
  for (std::int64_t i = 0; i < spec.num_products; ++i) {
    const Case one = check::product_of_batch(spec, i);
    check::Operands<T> x(one);
    Outcome outcome;
    const Status status =
        gemm<T>(one.layout, one.op_a, one.op_b, one.m, one.n, one.k, check::alpha_of<T>(one), x.a.data(), x.a.ld(),
                x.b.data(), x.b.ld(), check::beta_of<T>(one), x.c.data(), x.c.ld(), policy, &outcome);
    if (!status.ok()) return refusal(status);
    hash.add(std::as_const(x).c.view());
    answer.outcome += (i > 0 ? ";" : "") + outcome_text(outcome);
  }
  answer.bits = hash.value();
  return answer;
}

}  // namespace

void BitsHash::add(std::uint64_t word) noexcept {
  hash_ = (hash_ ^ word) * 0xd6e8feb86659fd93U;
  hash_ ^= hash_ >> 32;
}

template <class T>
void BitsHash::add(MatrixView<const T> x) noexcept {
  using R = RealOf<T>;
  add(static_cast<std::uint64_t>(x.rows));
  add(static_cast<std::uint64_t>(x.cols));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      for (const check::Part part : check::kPartsOf<T>) {
        const R value = check::part_of(check::element(x, i, j), part);
        const R canonical = std::isnan(value) ? std::numeric_limits<R>::quiet_NaN() : value;
        if constexpr (sizeof(R) == 4) {
          add(std::bit_cast<std::uint32_t>(canonical));
        } else {
          add(std::bit_cast<std::uint64_t>(canonical));
        }
      }
    }
  }
}
template void BitsHash::add(MatrixView<const float>) noexcept;
template void BitsHash::add(MatrixView<const double>) noexcept;
template void BitsHash::add(MatrixView<const std::complex<float>>) noexcept;
template void BitsHash::add(MatrixView<const std::complex<double>>) noexcept;

std::string outcome_text(const Outcome& x) {
  if (x.engine == "none") return "none";
  return fmt::format("{}/{}/{:x}/{}/{}/{}/{:d}/{}/{}/{}", to_string(x.scheme), to_string(x.gauge),
                     std::bit_cast<std::uint64_t>(x.bound), x.moduli, x.slices, x.rung, x.equilibrated, x.repaired,
                     x.nonfinite_rows, x.nonfinite_cols);
}

CaseAnswer refusal(const Status& status) {
  CaseAnswer answer;
  answer.status = status;
  answer.outcome = fmt::format("refused/{}", to_string(status.code()));
  return answer;
}

std::vector<std::string> differing_fields(const std::string& x, const std::string& y) {
  const auto xs = split(x, ';'), ys = split(y, ';');
  if (xs.size() != ys.size()) return {"number of products"};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i] == ys[i]) continue;
    const auto x_fields = split(xs[i], '/'), y_fields = split(ys[i], '/');
    if (x_fields.size() != kFields.size() || y_fields.size() != kFields.size()) {
      out.emplace_back("quick return or refusal");
      continue;
    }
    for (std::size_t f = 0; f < kFields.size(); ++f) {
      if (x_fields[f] != y_fields[f]) out.emplace_back(kFields[f]);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

CaseAnswer answer_on_host(const Case& spec) {
  return with_scalar(spec.scalar, [&]<class T>() { return answer_as<T>(spec); });
}

std::uint32_t line_hash(const Case& spec) {
  BitsHash hash;
  for (const char c : check::print(spec)) hash.add(static_cast<unsigned char>(c));
  return static_cast<std::uint32_t>(hash.value() >> 32);
}

}  // namespace kizami::cli
