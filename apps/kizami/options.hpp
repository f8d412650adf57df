// SPDX-License-Identifier: MIT
// The options that several commands share. Names and numbers are parsed here and not by CLI11, so that every refusal
// names the option, its value and what is allowed.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace CLI {
class App;
}

namespace kizami::cli {

/// The wishes of a user, as typed: those that were, by their words (kizami/wishes.hpp).
struct PolicyOptions {
  std::map<std::string_view, std::string> values;
  std::vector<std::string> notes;  ///< what is said of old options
};

/// Adds the options to a command. @range `options` outlives the parse
void add_policy_options(CLI::App& app, PolicyOptions& options);

/// "--slice-format" of "slice_format", and of "KIZAMI_SLICE_FORMAT".
[[nodiscard]] std::string option_of(std::string_view key);
[[nodiscard]] std::string option_of_variable(std::string_view variable);

/// Prints the notes to stderr. Throws Failure kUsage: unknown name, or a number out of range.
[[nodiscard]] Policy policy_of(const PolicyOptions& options);

/// Throws the Failure that the Status of a plan of type `scalar` means, with what there is beyond the digits of that type.
void throw_if_unplanned(const Status& status, const Policy& policy, Scalar scalar);

/// Throws Failure kUsage that names an option which is given and means nothing on a device.
void refuse_options_of_processor(const PolicyOptions& options);

/// All variables of the environment: their names, values, defaults and meanings.
[[nodiscard]] std::string variables_help();

/// All wishes: their words, values, defaults and meanings, and what other faces call them.
[[nodiscard]] std::string policy_help();

/// Throws Failure kUsage that names the option. @range as check::parse_integer
[[nodiscard]] std::int64_t integer_option(std::string_view option, std::string_view text, std::int64_t lo,
                                          std::int64_t hi);
/// A real x, an imaginary yi, or x+yi, with i or j as the unit; also with nan, inf or -inf as parts. Parts stay finite
/// in the scalar type and are rounded to it. Throws Failure kUsage, also for a unit where the scalar type is real.
[[nodiscard]] std::complex<double> scalar_option(std::string_view option, std::string_view text, Scalar scalar);

/// Throws Failure kUsage: "--gauge = 'row' is unknown; allowed: entry, norm".
[[noreturn]] void refuse_name(std::string_view option, std::string_view value, std::string_view allowed);

/// The dimensions that the library accepts are below this.
inline constexpr std::int64_t kDimLimit = std::int64_t{1} << 34;

}  // namespace kizami::cli
