// SPDX-License-Identifier: MIT
// A case by the library's own plan, so that a test finds in the workspace what the call did there.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/carver.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_case.hpp"
#include "gpu/device_problem.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_block.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test {

/// @throws std::runtime_error the library refuses it
[[nodiscard]] inline plan::Plan planned(const Case& c, const Policy& policy) {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) throw std::runtime_error(environment.status().reason());
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, policy, environment.value());
  if (!plan.ok()) throw std::runtime_error(check::print(c) + ": " + plan.status().reason());
  return plan.value();
}

template <class T>
class PlannedCall {
 public:
  PlannedCall(const Case& c, const Policy& policy) : PlannedCall(c, planned(c, policy)) {}
  /// @param plan of a case of this type and shape
  PlannedCall(const Case& c, const plan::Plan& plan)
      : case_(c),
        plan_(plan),
        operands_(check::Operands<T>(c, api_test::kThreads)),
        workspace_(plan_.schedule.workspace_bytes) {}

  /// @param look  as in device::DeviceProblem
  [[nodiscard]] Status enqueue(std::optional<device::Look> look = std::nullopt) {
    device::DeviceProblem<T> problem =
        device_problem<T>(case_, operands_.a.data(), operands_.b.data(), operands_.c.data());
    problem.look = look;
    return exec::run_device<T>(plan_, std::span<const device::DeviceProblem<T>>(&problem, 1), memory(), nullptr);
  }
  /// Fails the test unless the call succeeds and writes within its memory.
  void run(std::optional<device::Look> look = std::nullopt) {
    const Status status = enqueue(look);
    EXPECT_TRUE(status.ok()) << check::print(case_) << ": " << status.reason();
    EXPECT_TRUE(operands_.c.guards_are_intact() && workspace_.guards_are_intact()) << check::print(case_);
  }

  /// The call as the one block of a larger product.
  [[nodiscard]] ozaki2::DeviceBlock<T> block() {
    ozaki2::DeviceBlock<T> block;
    block.plan = &plan_;
    block.problem = device_problem<T>(case_, operands_.a.data(), operands_.b.data(), operands_.c.data());
    block.workspace = workspace_.data();
    return block;
  }

  [[nodiscard]] const plan::Plan& plan() const { return plan_; }
  /// To change before a call.
  [[nodiscard]] DeviceOperands<T>& operands() { return operands_; }
  /// As stored.
  [[nodiscard]] std::vector<T> c() const { return operands_.c.download(); }
  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    const Status status = exec::read_device_outcomes(plan_, memory(), nullptr, std::span(&outcome, 1));
    EXPECT_TRUE(status.ok()) << check::print(case_) << ": " << status.reason();
    return outcome;
  }
  [[nodiscard]] ozaki2::DeviceBuffers buffers() const {
    base::Carver carver(workspace_.data());
    return ozaki2::carve_device(carver, plan_);
  }
  [[nodiscard]] device::DeviceState state() const { return read(buffers().state); }
  /// What lies at such a place of the workspace.
  template <class Value>
  [[nodiscard]] Value read(const Value* from) const {
    Value value;
    check(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost), "reading the workspace");
    return value;
  }

 private:
  [[nodiscard]] std::span<std::byte> memory() const { return {workspace_.data(), workspace_.size()}; }

  Case case_;
  plan::Plan plan_;
  DeviceOperands<T> operands_;
  DeviceArray<std::byte> workspace_;
};

}  // namespace kizami::gpu_test
