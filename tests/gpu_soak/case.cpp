// SPDX-License-Identifier: MIT
#include "gpu_soak/case.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace gpu_soak {
namespace {

constexpr std::array<const char*, kNumRoutines> kRoutineNames{
    "gemm", "gemm_ex", "strided", "batched", "grouped", "lt", "syrk", "herk", "syr2k", "symm", "hemm", "trmm", "trsm"};
constexpr std::array<const char*, kNumFeatures> kFeatureNames{
    "gemm",   "gemm_ex", "strided",   "batched",    "grouped", "lt",       "level3",
    "graphs", "empty",   "nonfinite", "workspaces", "handles", "pressure", "crowds"};

char letter_of(kizami::Op op) { return op == kizami::Op::kNone ? 'n' : op == kizami::Op::kTranspose ? 't' : 'c'; }

std::string text_of(const Matrix& x) {
  char text[160];
  std::snprintf(text, sizeof text, "ld %lld at %lld", static_cast<long long>(x.ld), static_cast<long long>(x.offset));
  std::string result = text;
  if (x.stride != 0) result += " stride " + std::to_string(x.stride);
  if (x.rotation != 0) result += " rotation " + std::to_string(x.rotation);
  return result;
}

std::string text_of(std::complex<double> x) {
  char text[64];
  std::snprintf(text, sizeof text, x.imag() == 0 ? "%g" : "%g%+gi", x.real(), x.imag());
  return text;
}

std::string text_of(const Elements& x) {
  constexpr std::array<const char*, 4> kNumbers{"uniform", "third zero", "mostly zero", "integers"};
  constexpr std::array<const char*, 3> kSpreads{"elements", "columns", "rows"};
  char text[96];
  std::snprintf(text, sizeof text, "%s, phi %g by %s", kNumbers[static_cast<std::size_t>(x.numbers)], x.phi,
                kSpreads[static_cast<std::size_t>(x.spread)]);
  return text;
}

std::int64_t used(const Case& x, Matrix Section::*matrix) {
  std::int64_t end = kGuard;
  for (const Section& s : x.sections) end = std::max(end, (s.*matrix).end(s.num_products));
  return end + kGuard;
}

}  // namespace

const char* name_of(Routine routine) { return kRoutineNames[static_cast<std::size_t>(routine)]; }
const char* name_of(Feature feature) { return kFeatureNames[static_cast<std::size_t>(feature)]; }

Features Features::all() {
  Features all;
  all.bits_ = (1U << kNumFeatures) - 1;
  return all;
}

Features Features::parse(std::string_view text) {
  if (text == "all") return all();
  Features result;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const auto* at = std::find(kFeatureNames.begin(), kFeatureNames.end(), name);
    if (at == kFeatureNames.end()) {
      throw std::invalid_argument("no feature '" + std::string(name) + "'; there are " + all().text());
    }
    result.set(static_cast<Feature>(at - kFeatureNames.begin()), true);
  }
  return result;
}

void Features::set(Feature f, bool is_on) {
  const std::uint32_t bit = 1U << static_cast<unsigned>(f);
  bits_ = is_on ? bits_ | bit : bits_ & ~bit;
}

std::string Features::text() const {
  std::string result;
  for (int i = 0; i < kNumFeatures; ++i) {
    const auto f = static_cast<Feature>(i);
    if (!has(f)) continue;
    if (!result.empty()) result += ',';
    result += name_of(f);
  }
  return result;
}

int Case::num_products() const {
  int sum = 0;
  for (const Section& s : sections) sum += s.num_products;
  return sum;
}
std::int64_t Case::used_a() const { return used(*this, &Section::a); }
std::int64_t Case::used_b() const { return used(*this, &Section::b); }
std::int64_t Case::used_c() const { return used(*this, &Section::c); }

std::int64_t element_bytes(kizami::Scalar s) {
  return (kizami::real_of(s) == kizami::Scalar::kF32 ? 4 : 8) * (kizami::is_complex(s) ? 2 : 1);
}

std::string text_of(const Case& x) {
  std::string text(1, letter_of(x.scalar));
  text += ' ';
  text += name_of(x.routine);
  for (const Section& s : x.sections) {
    text += std::string(" [") + letter_of(s.op_a) + letter_of(s.op_b) + " " + std::to_string(s.m) + "x" +
            std::to_string(s.n) + "x" + std::to_string(s.k);
    if (s.num_products != 1) text += " times " + std::to_string(s.num_products);
    text += ", A " + text_of(s.a) + ", B " + text_of(s.b) + ", C " + text_of(s.c) + ", alpha " + text_of(s.alpha) +
            ", beta " + text_of(s.beta) + "]";
  }
  if (is_level3(x.routine)) {
    text += std::string(x.is_left ? " left" : " right") + (x.is_lower ? " lower" : " upper") +
            (x.is_unit ? " unit" : "") + (x.is_in_place ? " in place" : "");
  }
  if (x.has_device_factors) text += ", device factors";
  if (x.has_host_arrays) text += ", arrays in host memory";
  if (x.has_untouchable_c) text += ", NaN in C0";
  text += ", A " + text_of(x.a) + ", B " + text_of(x.b);
  for (const Exception& e : x.exceptions) {
    text += std::string(", ") + (e.kind == 0 ? "NaN" : e.kind > 0 ? "Inf" : "-Inf") + (e.is_in_a ? " in A" : " in B");
  }
  if (x.num_replays > 0) text += ", graph replayed " + std::to_string(x.num_replays) + " times";
  if (x.workspace_bytes > 0) text += ", workspace " + std::to_string(x.workspace_bytes);
  return text;
}

}  // namespace gpu_soak
