// SPDX-License-Identifier: MIT
// The kernels of a decision that wait for memory less often.
#include "gpu_ec_ways/ec_ways.hpp"
#include "schemes/ec/device_split.cuh"

namespace kizami::ec {
namespace {

struct OperandOfDecision : Operand {
  static constexpr int kReportsAtOnce = 4;
};

}  // namespace
}  // namespace kizami::ec

namespace bench::ec_ways {

kizami::Status decide_at_once(const kizami::ec::EcDecision& decision, const kizami::ec::DeviceEcSplit<float>& a,
                              const kizami::ec::DeviceEcSplit<float>& b, int num_sms, kizami::product::Queue queue) {
  kizami::ec::Job<float, kizami::ec::OperandOfDecision> job{};
  job.alpha = 1.0F;
  return kizami::ec::launch_decision(job, decision, num_sms, queue, [&] {
    job.a = {kizami::ec::operand_of(a, true)};
    job.b = {kizami::ec::operand_of(b, false)};
  });
}

}  // namespace bench::ec_ways
