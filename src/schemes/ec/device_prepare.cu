// SPDX-License-Identifier: MIT
#include "schemes/ec/device_prepare.hpp"

#include <algorithm>
#include <complex>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "base/phase_range.hpp"
#include "schemes/ec/device_split.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::ec {
namespace {

constexpr unsigned kPrepareThreads = 256;

struct AdoptedLines {
  const std::int32_t* from_scales;
  std::int32_t* scales;
  std::int64_t num_scales;
  const product::EcReport* from_reports;
  product::EcReport* reports;
  std::int32_t num_reports;
  bool is_swapped;
};

__global__ void __launch_bounds__(kPrepareThreads)
    adopt_lines(const AdoptedLines a, const AdoptedLines b, num::EcProfiles* profiles) {
  base::follow_previous_kernel();
  const std::int64_t thread = blockIdx.x * static_cast<std::int64_t>(kPrepareThreads) + threadIdx.x;
  const std::int64_t step = gridDim.x * static_cast<std::int64_t>(kPrepareThreads);
  const auto adopt = [&](const AdoptedLines& lines) {
    for (std::int64_t i = thread; i < lines.num_scales; i += step) lines.scales[i] = lines.from_scales[i];
    for (std::int64_t i = thread; i < lines.num_reports; i += step) {
      const product::EcReport report = lines.from_reports[i];
      const std::uint32_t flags = report.flags();
      lines.reports[i] =
          lines.is_swapped ? product::EcReport::of(flags >> 4, flags & 0xF, report.b_nonfinite(), report.a_nonfinite())
                           : report;
    }
  };
  adopt(a);
  adopt(b);
  if (profiles != nullptr && thread == 0) *profiles = num::EcProfiles{};
}

}  // namespace

template <class T>
Status prepare_device_ec(const plan::Plan& plan, const problem::Lines<T>& lines, std::byte* memory,
                         std::int32_t (&num_reports)[2], product::Queue queue) {
  const base::PhaseRange phase(base::Phase::kSplit);
  const EcNumerics& ec = ec_of(plan).numerics;
  const product::EcFormat format = ec_format(ec.rungs[0]);
  base::Carver carver(memory);
  const DeviceEcPrepared kept = carve_device_ec_prepared(carver, plan, lines.num_lines);
  const std::int64_t row_stride = product::ec_line_bytes(format, plan::num_terms(plan.shape));
  const auto split = [&](const DeviceEcPrepared::Split& as, bool is_a, std::int32_t& count) -> Status {
    const DeviceEcSplit<T> operand{lines, as.planes, row_stride, as.scales, kept.stats};
    int reports = 0;
    const Status status = device_ec_split<T>(is_a ? operand : DeviceEcSplit<T>{}, is_a ? DeviceEcSplit<T>{} : operand,
                                             format, {ec.limits, as.reports, nullptr}, Factor<T>(T{1}),
                                             plan.schedule.facts.num_sms, reports, queue);
    count = reports;
    return status;
  };
  KIZAMI_RETURN_IF_ERROR(split(kept.as[0], true, num_reports[0]));
  if (kept.as[1].is_swapped) {
    num_reports[1] = num_reports[0];
    return {};
  }
  return split(kept.as[1], false, num_reports[1]);
}

Status adopt_prepared(const EcAdoption& a, const EcAdoption& b, num::EcProfiles* profiles, product::Queue queue) {
  const auto lines_of = [](const EcAdoption& x) -> AdoptedLines {
    if (x.kept == nullptr) return {};
    return {x.kept->scales, x.scales, x.num_scales, x.kept->reports, x.reports, x.num_reports, x.kept->is_swapped};
  };
  constexpr std::int64_t kMostBlocks = 32;
  const std::int64_t most = std::max<std::int64_t>({a.num_scales, b.num_scales, a.num_reports, b.num_reports});
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::int64_t>(base::ceil_div(most, std::int64_t{kPrepareThreads}), 1, kMostBlocks));
  return base::launch_overlapped("adopt_lines", adopt_lines, dim3(blocks), dim3(kPrepareThreads), 0, queue, lines_of(a),
                                 lines_of(b), profiles);
}

template Status prepare_device_ec<float>(const plan::Plan&, const problem::Lines<float>&, std::byte*,
                                         std::int32_t (&)[2], product::Queue);
template Status prepare_device_ec<std::complex<float>>(const plan::Plan&, const problem::Lines<std::complex<float>>&,
                                                       std::byte*, std::int32_t (&)[2], product::Queue);

}  // namespace kizami::ec
