// SPDX-License-Identifier: MIT
#include "exec/batch.hpp"

#include <algorithm>
#include <atomic>
#include <complex>
#include <string>

#include "base/aligned_buffer.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "exec/run.hpp"

namespace kizami::exec {
namespace {

/// Products that run side by side: as many as there are threads, if the workspaces of all stay within the limit.
[[nodiscard]] std::int64_t num_lanes(const plan::Plan& plan, std::int64_t num_problems) {
  const std::int64_t threads = plan.schedule.facts.num_threads;
  if (plan.first().scheme == Scheme::kNative || num_problems < threads) return 1;
  const std::size_t limit =
      plan.policy.workspace_limit_bytes == 0 ? plan::kDefaultWorkspaceLimit : plan.policy.workspace_limit_bytes;
  const std::size_t lane = std::max<std::size_t>(1, plan.schedule.workspace_bytes);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(limit / lane), 1, threads);
}

}  // namespace

template <class T>
Status run_batched(const plan::Plan& plan, std::span<const problem::Problem<T>> problems, std::span<Outcome> outcomes) {
  const auto num_problems = static_cast<std::int64_t>(problems.size());
  const std::int64_t lanes = num_lanes(plan, num_problems);
  // Scheme native needs a workspace for operands that it leaves to another scheme only, which then takes its own.
  const std::size_t product_bytes = plan.first().scheme == Scheme::kNative ? 0 : plan.schedule.workspace_bytes;
  const auto lane_bytes = static_cast<std::size_t>(
      base::round_up(static_cast<std::int64_t>(product_bytes), base::AlignedBuffer::kAlignment));
  const base::AlignedBuffer workspace(static_cast<std::size_t>(lanes) * lane_bytes);
  if (!workspace.ok())
    return {StatusCode::kOutOfMemory,
            "workspace: " + std::to_string(workspace.size()) + " bytes refused by the system"};

  const auto run_one = [&](std::int64_t i, std::int64_t lane) {
    Outcome local;
    Outcome& outcome = outcomes.empty() ? local : outcomes[static_cast<std::size_t>(i)];
    return run(plan, problems[static_cast<std::size_t>(i)], nullptr, nullptr,
               {workspace.data() + static_cast<std::size_t>(lane) * lane_bytes, product_bytes}, outcome);
  };
  const auto with_number = [](std::int64_t i, const Status& status) {
    return Status(status.code(), "product " + std::to_string(i) + " of the batch: " + status.reason());
  };
  if (lanes == 1) {
    for (std::int64_t i = 0; i < num_problems; ++i) {
      if (const Status status = run_one(i, 0); !status.ok()) return with_number(i, status);
    }
    return {};
  }
  // Inside a body, loops run serially: every product has one thread.
  std::atomic<std::int64_t> first_failure{num_problems};
  base::parallel_for(num_problems, static_cast<int>(lanes), [&](std::int64_t i, int lane) {
    if (i > first_failure || run_one(i, lane).ok()) return;
    std::int64_t known = first_failure;
    while (i < known && !first_failure.compare_exchange_weak(known, i)) {
    }
  });
  if (first_failure == num_problems) return {};
  return with_number(first_failure, run_one(first_failure, 0));  // the same failure again, for its reason
}

#define KIZAMI_INSTANTIATE(T) \
  template Status run_batched<T>(const plan::Plan&, std::span<const problem::Problem<T>>, std::span<Outcome>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
