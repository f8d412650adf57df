// SPDX-License-Identifier: MIT
// The options that several commands share. Names and numbers are parsed here and not by CLI11, so that every refusal
// names the option, its value and what is allowed.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace CLI {
class App;
}

namespace kizami::cli {

/// The wishes of a user, as typed.
struct PolicyOptions {
  std::string accuracy = "native";
  std::string gauge = "entry";
  std::string scheme = "auto";
  std::string engine = "auto";
  std::string reproducibility;  ///< empty: "engine", but "none" where the user names the platform BLAS or scheme ec
  std::string variant = "auto";
  std::string promotion_k = "0";
  std::string tensor_core = "hopper";
  std::string moduli = "0";
  std::string slices = "0";
  std::string diagonals = "0";
  std::string slice_bits = "0";
  std::string slice_format = "int8";
  std::string slice_split = "auto";
  std::string slice_sums = "auto";
  std::string complex_form = "auto";
  std::string threads = "0";
  std::string workspace = "0";
  bool refuse_fp64 = false;
  bool reject_nonfinite = false;
  bool keep_small_term = false;
  bool any_range = false;
  bool karatsuba = false;
  bool one_scale = false;
};

/// Adds the options to a command. @range `options` outlives the parse
void add_policy_options(CLI::App& app, PolicyOptions& options);

/// Throws Failure kUsage: unknown name, or a number out of range.
[[nodiscard]] Policy policy_of(const PolicyOptions& options);

[[nodiscard]] std::string_view to_string(Reproducibility reproducibility) noexcept;

/// Throws Failure kUsage that names the option. @range as check::parse_integer
[[nodiscard]] std::int64_t integer_option(std::string_view option, std::string_view text, std::int64_t lo,
                                          std::int64_t hi);
/// A real x, an imaginary yi, or x+yi, with i or j as the unit; also with nan, inf or -inf as parts. Parts stay finite in
/// the scalar type and are rounded to it. Throws Failure kUsage, also for a unit where the scalar type is real.
[[nodiscard]] std::complex<double> scalar_option(std::string_view option, std::string_view text, Scalar scalar);

/// Throws Failure kUsage: "--gauge = 'row' is unknown; allowed: entry, norm".
[[noreturn]] void refuse_name(std::string_view option, std::string_view value, std::string_view allowed);

/// The dimensions that the library accepts are below this.
inline constexpr std::int64_t kDimLimit = std::int64_t{1} << 34;

}  // namespace kizami::cli
