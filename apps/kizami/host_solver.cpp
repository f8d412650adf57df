// SPDX-License-Identifier: MIT
#include "case_solver.hpp"
#include "device_cases.hpp"

namespace kizami::cli {
namespace {

class HostSolver final : public CaseSolver {
 public:
  SolvedCase solve(const check::Case& spec) override {
    SolvedCase out;
    out.answer = answer_on_host(spec);
    out.promises_bits = may_promise_bits(spec.policy);
    if (out.answer.status.ok())
      out.how = out.answer.outcome.substr(0, out.answer.outcome.find_first_of("/;")) + " host";
    return out;
  }
  std::string difference(const check::Case& spec) override {
    const CaseAnswer first = answer_on_host(spec), second = answer_on_host(spec);
    return first.bits == second.bits ? "computed again, the host gives one hash twice"
                                     : "computed again, the host gives two hashes";
  }
};

}  // namespace

std::unique_ptr<CaseSolver> host_solver() { return std::make_unique<HostSolver>(); }

}  // namespace kizami::cli
