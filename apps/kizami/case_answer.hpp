// SPDX-License-Identifier: MIT
// What a call made of a case, in so few bytes that a hundred thousand of them can be carried to another machine: a hash
// of all bits of C, and what the outcome says.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "check/case.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"

namespace kizami::cli {

struct CaseAnswer {
  Status status;           ///< of the first product that was refused
  std::uint64_t bits = 0;  ///< hash of the elements of C of all products; 0 after a refusal
  std::string outcome;     ///< outcome_text() of all products, separated by ';'; "refused/CODE" after a refusal
};

/// Adds numbers to a hash of 64 bits. Equal sequences give equal hashes on every machine.
class BitsHash {
 public:
  void add(std::uint64_t word) noexcept;
  /// The elements of a matrix row by row, as its view means them, with one NaN for all.
  template <class T>
  void add(MatrixView<const T> x) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0x9e3779b97f4a7c15U;
};

/// scheme/gauge/bound/moduli/slices/rung/equilibrated/repaired/rows/columns with NaN or Inf: all that a device and the
/// host must agree on, the bound in hexadecimal bits; "none" after a quick return.
[[nodiscard]] std::string outcome_text(const Outcome& outcome);
/// The answer of a refused call.
[[nodiscard]] CaseAnswer refusal(const Status& status);
/// The names of the fields in which two outcomes of batches of equal size differ; empty: none.
[[nodiscard]] std::vector<std::string> differing_fields(const std::string& x, const std::string& y);

/// The answer of the host, by host_policy(). Throws std::bad_alloc.
[[nodiscard]] CaseAnswer answer_on_host(const check::Case& spec);

/// Of the line of the case: tells whether two programs draw the same cases.
[[nodiscard]] std::uint32_t line_hash(const check::Case& spec);

}  // namespace kizami::cli
