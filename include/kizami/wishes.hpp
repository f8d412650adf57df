// SPDX-License-Identifier: MIT
// The wishes of a Policy in text: one table of words and values, which command line, case grammar, settings and rules
// of the drop-in libraries, C (kizami_policy_set), Fortran and Python read. A wish has the same word and the same
// values wherever it is asked for; a new one is a row of the table, a field of Policy, and what the planner makes of
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kizami/export.h"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami {

/// One wish: a field of Policy, in text.
struct Wish {
  /// What a face with types makes of it.
  enum class Kind : std::uint8_t {
    kWord,    ///< one of a few words
    kFlag,    ///< 0 or 1
    kNumber,  ///< an integer
    kBytes,   ///< an integer, or one with K, M or G: 2^10, 2^20, 2^30 bytes
  };
  std::string_view key;  ///< lower-case words with underscores: "slice_format". A command line has --slice-format
  Kind kind;
  std::string_view meaning;                       ///< what it does, in one line
  std::string (*values)();                        ///< what may be asked for: "entry, norm", "-1..20"
  bool (*set)(Policy& policy, std::string_view);  ///< false: the text is none of `values`, and the policy is as it was
  std::string (*get)(const Policy& policy);       ///< as set() takes it
};

/// All of them, in the order in which they are shown.
[[nodiscard]] KIZAMI_API std::span<const Wish> wishes() noexcept;
/// Null: there is none of that word.
[[nodiscard]] KIZAMI_API const Wish* find_wish(std::string_view key) noexcept;

/// Sets one wish. What depends on the type of the elements or on other wishes is checked when a product is planned.
/// @param shown  what the message calls the wish, where that is not `key`
/// @status kInvalidArgument: the word or the value, and what is allowed; the policy is as it was
KIZAMI_API Status set_wish(Policy& policy, std::string_view key, std::string_view value, std::string_view shown = {});
/// The value of one wish, as set_wish() takes it. @status kInvalidArgument: there is none of that word
[[nodiscard]] KIZAMI_API Result<std::string> get_wish(const Policy& policy, std::string_view key);
/// What a wish takes, to be read after "must be": "one of entry, norm", "in -1..20".
[[nodiscard]] KIZAMI_API std::string allowed_values(const Wish& wish);

/// The wishes that differ from those of another policy: "accuracy=bits=40 gauge=norm"; empty where none does.
[[nodiscard]] KIZAMI_API std::string print_wishes(const Policy& policy, const Policy& others = {});

/// native, correct or bits=N, N of 1..100: of double-double; other types have fewer.
[[nodiscard]] KIZAMI_API bool parse_accuracy(std::string_view text, Accuracy& out) noexcept;
[[nodiscard]] KIZAMI_API std::string to_string(const Accuracy& accuracy);

}  // namespace kizami
