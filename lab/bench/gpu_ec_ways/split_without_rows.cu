// SPDX-License-Identifier: MIT
// The split's kernel with one operand that has scales and reports, but no planes.
#include "gpu_ec_ways/ec_ways.hpp"
#include "schemes/ec/device_split.cuh"

namespace kizami::ec {
namespace {

struct OperandOfRows : Operand {
  std::int32_t has_planes;

  [[nodiscard]] __device__ bool makes_planes() const { return has_planes != 0; }
};

}  // namespace
}  // namespace kizami::ec

namespace bench::ec_ways {

kizami::Status split_without_rows(const kizami::ec::DeviceEcSplit<float>& a, const kizami::ec::DeviceEcSplit<float>& b,
                                  const kizami::ec::EcObservation& observation, int num_sms, int& num_reports,
                                  kizami::product::Queue queue) {
  kizami::ec::Job<float, kizami::ec::OperandOfRows> job{};
  job.alpha = 1.0F;
  job.a = {kizami::ec::operand_of(a, true), 1};
  job.b = {kizami::ec::operand_of(b, false), 0};
  num_reports = 0;
  job.observation = observation;
  return kizami::ec::split_both<kizami::product::EcFormat::kF16>(job, num_sms, num_reports, queue);
}

}  // namespace bench::ec_ways
