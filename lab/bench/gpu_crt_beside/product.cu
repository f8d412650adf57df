// SPDX-License-Identifier: MIT
// The product that reports, by itself, and what it reports.
#include "base/int_math.hpp"
#include "engines/hopper/reporting_product_sm90.cuh"
#include "gpu_crt_beside/beside_kernel.cuh"

namespace bench {

namespace hopper = kizami::engines::hopper;

kizami::Status run_reporting_product(const kizami::product::ProductDesc& desc,
                                     const kizami::product::Pointers& pointers,
                                     const kizami::product::BlockReports& reports, kizami::product::Queue queue) {
  return hopper::launch_reporting_product(desc, pointers, reports, queue);
}

kizami::product::BlockReports make_reports(const kizami::product::ProductDesc& desc, int num_sms,
                                           const WalkWishes& wishes) {
  static_assert(hopper::kReportingBlock == kizami::ozaki2::BesideRuns::kBlock);
  kizami::product::BlockReports reports{};
  reports.walk = kizami::product::make_block_walk(desc.m, desc.n, hopper::kReportingBlock, hopper::kReportingBlock,
                                                  wishes.group_blocks, wishes.raster_blocks);
  reports.reports_of_plane = hopper::kReportsOfPlane;
  if (wishes.is_paced) {
    const std::int64_t tiles = std::int64_t{reports.walk.num_blocks()} * desc.num_products;
    const std::int64_t clusters = num_sms / hopper::ReportingForm::kCluster;
    const std::int64_t k_blocks = kizami::base::ceil_div(desc.k, std::int64_t{hopper::kBlockBytes});
    reports.most_epochs = static_cast<std::uint32_t>(tiles / clusters * k_blocks / hopper::kPaceBlocks);
  }
  return reports;
}

}  // namespace bench
