// SPDX-License-Identifier: MIT
// Who computes the cases of a campaign for devices: the host, or a CUDA device.
#pragma once

#include <memory>
#include <string>

#include "case_answer.hpp"
#include "check/case.hpp"

namespace kizami::cli {

struct SolvedCase {
  CaseAnswer answer;
  std::string how;  ///< "SCHEME ENGINE" that answered; empty after a refusal
  /// the bits of the host are promised; else the elements were judged by the reported bound
  bool promises_bits = false;
  std::string fault;  ///< what was written that should not, or an element beyond the bound; empty: none
};

/// Computes cases for one thread.
class CaseSolver {
 public:
  CaseSolver() = default;
  CaseSolver(const CaseSolver&) = delete;
  CaseSolver& operator=(const CaseSolver&) = delete;
  virtual ~CaseSolver() = default;
  /// Throws std::bad_alloc; Failure where the device itself fails.
  [[nodiscard]] virtual SolvedCase solve(const check::Case& spec) = 0;
  /// Computes the case again, beside the host: one sentence on the first element that differs, or that none does.
  [[nodiscard]] virtual std::string difference(const check::Case& spec) = 0;
};

[[nodiscard]] std::unique_ptr<CaseSolver> host_solver();
/// With a stream and buffers of its own on the current device. Throws Failure kRefused: there is no device, or the
/// program was built without CUDA.
[[nodiscard]] std::unique_ptr<CaseSolver> device_solver();

}  // namespace kizami::cli
