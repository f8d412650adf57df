// SPDX-License-Identifier: MIT
// The split of a batch's operands, and its decisions, by the kernels of device_split.cuh.
#pragma once

#include "schemes/ec/device_split.cuh"

namespace kizami::ec {
namespace {

template <class T>
OperandOfBatch operand_of_batch(const DeviceEcSplits<T>& task, bool is_a, const EcTogether& together) {
  OperandOfBatch o{};
  static_cast<Operand&>(o) = operand_of<T>(task, is_a, task.is_shared() ? 1 : together.num_products);
  o.array = reinterpret_cast<const float* const*>(task.array);
  o.data_step = task.data_step * problem::kTerms<T>;
  o.planes_step = task.planes_step;
  o.scales_step = task.scales_step;
  o.stats_step = task.stats_step;
  o.is_shared = task.is_shared() ? 1 : 0;
  if (o.data_step % 4 != 0) o.is_aligned = 0;
  return o;
}

template <class T>
Job<T, OperandOfBatch> job_of(const EcTogether& together, Factor<T> alpha) {
  Job<T, OperandOfBatch> job{};
  job.together = together;
  job.alpha = alpha;
  return job;
}

}  // namespace

template <class T>
Status device_ec_split_batch(const EcTogether& together, const DeviceEcSplits<T>& a, const DeviceEcSplits<T>& b,
                             EcFormat format, const EcObservation& observation, Factor<T> alpha, int num_sms,
                             int& num_reports, product::Queue queue) {
  Job<T, OperandOfBatch> job = job_of(together, alpha);
  job.a = operand_of_batch(a, true, together);
  job.b = operand_of_batch(b, false, together);
  return launch_split(job, format, observation, num_sms, num_reports, queue);
}

template <class T>
Status device_ec_decide_batch(const EcTogether& together, const EcDecision& decision, const DeviceEcSplits<T>& a,
                              const DeviceEcSplits<T>& b, Factor<T> alpha, int num_sms, product::Queue queue) {
  Job<T, OperandOfBatch> job = job_of(together, alpha);
  return launch_decision(job, decision, num_sms, queue, [&] {
    job.a = operand_of_batch(a, true, together);
    job.b = operand_of_batch(b, false, together);
  });
}

}  // namespace kizami::ec

/// In one file for each type, as KIZAMI_INSTANTIATE_EC_SPLIT.
#define KIZAMI_INSTANTIATE_EC_BATCH_SPLIT(T)                                                                           \
  template ::kizami::Status kizami::ec::device_ec_split_batch<T>(                                                      \
      const ::kizami::ec::EcTogether&, const ::kizami::ec::DeviceEcSplits<T>&, const ::kizami::ec::DeviceEcSplits<T>&, \
      ::kizami::product::EcFormat, const ::kizami::ec::EcObservation&, ::kizami::Factor<T>, int, int&,                 \
      ::kizami::product::Queue);                                                                                       \
  template ::kizami::Status kizami::ec::device_ec_decide_batch<T>(                                                     \
      const ::kizami::ec::EcTogether&, const ::kizami::ec::EcDecision&, const ::kizami::ec::DeviceEcSplits<T>&,        \
      const ::kizami::ec::DeviceEcSplits<T>&, ::kizami::Factor<T>, int, ::kizami::product::Queue)
