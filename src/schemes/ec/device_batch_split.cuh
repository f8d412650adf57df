// SPDX-License-Identifier: MIT
// The split of a batch's operands, by the kernels of device_split.cuh.
#pragma once

#include "schemes/ec/device_split.cuh"

namespace kizami::ec {

template <class T>
Status device_ec_split_batch(const EcTogether& together, const DeviceEcSplits<T>& a, const DeviceEcSplits<T>& b,
                             EcFormat format, const EcObservation& observation, Factor<T> alpha, int num_sms,
                             int& num_reports, product::Queue queue) {
  Job<T, OperandOfBatch> job{};
  job.together = together;
  job.alpha = alpha;
  job.a = operand_of_batch(a, true, together);
  job.b = operand_of_batch(b, false, together);
  Job<T, OperandOfBatch> held = job;
  const auto place = [&](const DeviceEcSplits<T>& task, OperandOfBatch& o) {
    return place_held(task.lines, task.is_shared() ? 1 : together.num_products, o);
  };
  const bool is_held = place(a, held.a) && place(b, held.b);
  return launch_split(job, is_held ? &held : nullptr, format, observation, num_sms, num_reports, queue);
}

}  // namespace kizami::ec

/// In one file for each type, as KIZAMI_INSTANTIATE_EC_SPLIT.
#define KIZAMI_INSTANTIATE_EC_BATCH_SPLIT(T)                                                                           \
  template ::kizami::Status kizami::ec::device_ec_split_batch<T>(                                                      \
      const ::kizami::ec::EcTogether&, const ::kizami::ec::DeviceEcSplits<T>&, const ::kizami::ec::DeviceEcSplits<T>&, \
      ::kizami::product::EcFormat, const ::kizami::ec::EcObservation&, ::kizami::Factor<T>, int, int&,                 \
      ::kizami::product::Queue)
