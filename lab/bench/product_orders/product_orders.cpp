// SPDX-License-Identifier: MIT
#include "product_orders/product_orders.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "engines/desc_check.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/drift_params.hpp"
#include "engines/hopper/product_launch.hpp"
#include "engines/shared_memory.hpp"
#include "engines/tile_order.hpp"

namespace bench {
namespace {

namespace engines = kizami::engines;
namespace hopper = kizami::engines::hopper;
using kizami::Status;
using kizami::StatusCode;
using kizami::product::Epilogue;
using kizami::product::Pointers;
using kizami::product::ProductDesc;

[[nodiscard]] OrderedKernel kernel_of(HopperForm form, WalkOrder order) {
  const auto of = [order](const OrderedKernels& kernels) {
    return order == WalkOrder::kCounted ? kernels.counted : kernels.paced;
  };
  switch (form) {
    case HopperForm::kCooperative192x256:
      return of(ordered_192x256());
    case HopperForm::kCooperative256x128:
      return of(ordered_256x128());
    case HopperForm::kCooperative256x128Permuted:
      return of(ordered_256x128_permuted());
    default:
      return {};
  }
}

template <WalkOrder kOrder>
Status launch(const ProductDesc& d, const Pointers& pointers, const HopperFormTraits& traits, DriftWords* words,
              kizami::product::Queue queue, int raster_tiles) {
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  const OrderedKernel kernel = kernel_of(traits.form, kOrder);
  engines::SharedMemoryGrant grant;  // asked for each time: a form may be any
  KIZAMI_RETURN_IF_ERROR(grant.ask(kernel.kernel, kernel.shared_bytes, device.ordinal));
  hopper::Ordered<kOrder, hopper::ProductParams> params{hopper::common_params(d, pointers), words};
  KIZAMI_RETURN_IF_ERROR(hopper::encode_maps(d, pointers, traits, params));
  engines::set_order(params, traits.tile_i, traits.tile_j * traits.cluster, raster_tiles);
  return hopper::launch_clusters(traits, kernel.kernel, kernel.shared_bytes,
                                 std::int64_t{params.tiles_per_plane} * d.num_products, device.num_sms, queue, &params);
}

}  // namespace

bool order_accepts(const HopperFormTraits& form, WalkOrder order, const ProductDesc& desc) {
  if (!engines::form_accepts(form, desc)) return false;
  if (order == WalkOrder::kStatic) return true;
  return form.schedule == engines::HopperSchedule::kCooperative && desc.epilogue == Epilogue::kReduce &&
         desc.num_windows == 0;
}

Status run_ordered_product(const ProductDesc& desc, const Pointers& pointers, HopperForm form, WalkOrder order,
                           DriftWords* words, kizami::product::Queue queue, int raster_tiles) {
  const HopperFormTraits& traits = engines::traits_of(form);
  // Nothing to walk, or nothing of its own.
  const bool is_empty = desc.m == 0 || desc.n == 0 || desc.k == 0 || desc.num_products == 0;
  if (order == WalkOrder::kStatic || is_empty)
    return engines::run_hopper_product(desc, pointers, form, queue, raster_tiles);
  if (!order_accepts(traits, order, desc))
    return {StatusCode::kUnsupported, std::string(traits.name) + " is not compiled in order " +
                                          std::string(to_string(order)) + " for this description"};
  if (auto reason = engines::why_refused(desc, {.repeats_moduli = true}))
    return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = engines::why_refused(desc, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  return order == WalkOrder::kCounted ? launch<WalkOrder::kCounted>(desc, pointers, traits, words, queue, raster_tiles)
                                      : launch<WalkOrder::kPaced>(desc, pointers, traits, words, queue, raster_tiles);
}

}  // namespace bench
