// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/ec_params.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/shared_memory.hpp"
#include "gpu_ec_ways/ec_ways.hpp"
#include "gpu_ec_ways/way_kernels.hpp"

namespace bench::ec_ways {

using kizami::Status;
using kizami::engines::EcForm;
using kizami::engines::EcFormTraits;
using kizami::engines::EcProduct;
using kizami::product::EcFormat;
using kizami::product::EcPromotion;
namespace base = kizami::base;
namespace hopper = kizami::engines::hopper;

namespace {

struct Compiled {
  EcWay way;
  EcForm form;
  EcPromotion promotion;
  bool has_blocks;
  hopper::EcKernel (*kernel)();
};
constexpr Compiled kCompiled[] = {
    {EcWay::kTurns, EcForm::kCooperative192x128, EcPromotion::kLong, false,
     &way_kernel<EcForm::kCooperative192x128, EcPromotion::kLong, EcWay::kTurns, false>},
    {EcWay::kTurns, EcForm::kCooperative128x128, EcPromotion::kShort, true,
     &way_kernel<EcForm::kCooperative128x128, EcPromotion::kShort, EcWay::kTurns, true>},
    {EcWay::kTurns, EcForm::kCooperative128x128, EcPromotion::kLong, false,
     &way_kernel<EcForm::kCooperative128x128, EcPromotion::kLong, EcWay::kTurns, false>},
    {EcWay::kPaced, EcForm::kCooperative192x128, EcPromotion::kLong, false,
     &way_kernel<EcForm::kCooperative192x128, EcPromotion::kLong, EcWay::kPaced, false>},
    {EcWay::kPaced, EcForm::kCooperative128x128, EcPromotion::kLong, false,
     &way_kernel<EcForm::kCooperative128x128, EcPromotion::kLong, EcWay::kPaced, false>},
    {EcWay::kRegisters, EcForm::kCooperative128x128, EcPromotion::kShort, true,
     &way_kernel<EcForm::kCooperative128x128, EcPromotion::kShort, EcWay::kRegisters, true>},
    {EcWay::kRegisters, EcForm::kCooperative128x128, EcPromotion::kLong, false,
     &way_kernel<EcForm::kCooperative128x128, EcPromotion::kLong, EcWay::kRegisters, false>},
    {EcWay::kRegisters, EcForm::kSplitInner128x64, EcPromotion::kShort, false,
     &way_kernel<EcForm::kSplitInner128x64, EcPromotion::kShort, EcWay::kRegisters, false>},
    {EcWay::kEager, EcForm::kSplitInner128x64, EcPromotion::kShort, true,
     &way_kernel<EcForm::kSplitInner128x64, EcPromotion::kShort, EcWay::kEager, true>},
};

[[nodiscard]] const EcFormTraits& traits_of(EcForm form) {
  return kizami::engines::ec_forms()[static_cast<std::size_t>(form)];
}

struct Blocks {
  std::int32_t num_k_blocks;
  std::int32_t block_promotions;
  bool are_several;  ///< for one consumer
};
[[nodiscard]] Blocks blocks_of(const EcProduct& p, EcForm form, EcPromotion promotion) {
  const int stages = hopper::stages_of(promotion);
  Blocks blocks{};
  blocks.num_k_blocks = static_cast<std::int32_t>(
      base::round_up(base::ceil_div(p.a.lines.length, kizami::product::ec_block_length(EcFormat::kF16)), stages));
  const std::int32_t promotions = blocks.num_k_blocks / stages;
  blocks.block_promotions = hopper::block_promotions(form, promotions);
  blocks.are_several = hopper::has_block_sums(form, stages) &&
                       promotions > (form == EcForm::kSplitInner128x64 ? 2 : 1) * blocks.block_promotions;
  return blocks;
}

[[nodiscard]] const Compiled* find(EcWay way, const EcProduct& p, EcForm form, EcPromotion promotion) {
  for (const Compiled& compiled : kCompiled) {
    if (compiled.way != way || compiled.form != form || compiled.promotion != promotion) continue;
    if (compiled.has_blocks || !blocks_of(p, form, promotion).are_several) return &compiled;
  }
  return nullptr;
}

}  // namespace

const char* why_not(EcWay way, const EcProduct& p, EcForm form, EcPromotion promotion) {
  if (p.format != EcFormat::kF16 || p.second.has_value() || p.is_batch() || p.is_complex)
    return "only one real FP16 product";
  if ((p.decision != nullptr) != (way == EcWay::kEager)) return "only kEager takes a decision";
  if (find(way, p, form, promotion) == nullptr) return "no kernel of this form, promotion and number of blocks";
  if (way == EcWay::kRegisters) {
    const kizami::problem::Lines<float>& b = p.b.lines;
    if (b.data == nullptr || b.inner_stride != 1 || b.line_stride % 4 != 0 || b.length % 16 != 0 ||
        reinterpret_cast<std::uintptr_t>(b.data) % 16 != 0)
      return "the lines of b are not contiguous, aligned, and of a multiple of 16 elements";
  }
  return nullptr;
}

Status run(EcWay way, const EcProduct& p, EcForm form, EcPromotion promotion, hopper::DriftWords* words,
           kizami::product::Queue queue) {
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  const EcFormTraits& traits = traits_of(form);
  const Compiled* const compiled = find(way, p, form, promotion);
  const hopper::EcKernel kernel = compiled->kernel();
  static std::array<kizami::engines::SharedMemoryGrant, std::size(kCompiled)> grants;
  KIZAMI_RETURN_IF_ERROR(
      grants[static_cast<std::size_t>(compiled - kCompiled)].ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  WayParams params{};
  params.words = words;
  params.m = static_cast<std::int32_t>(p.a.lines.num_lines);
  params.n = static_cast<std::int32_t>(p.b.lines.num_lines);
  params.c = p.c;
  params.c_row_stride = p.c_row_stride;
  params.c_col_stride = p.c_col_stride;
  params.decision = p.decision;
  params.alpha = p.alpha;
  params.beta = p.beta;
  params.a_scales = p.a.planes.scales;
  params.b_scales = p.b.planes.scales;
  params.a_lines = p.a.lines;
  params.b_lines = p.b.lines;
  params.has_aligned_c =
      p.c_row_stride == 1 && p.c_col_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(p.c) % 16 == 0;
  const Blocks blocks = blocks_of(p, form, promotion);
  hopper::EcSplitParams& split = params.splits[params.num_splits++];
  split.num_k_blocks = blocks.num_k_blocks;
  split.block_promotions = blocks.block_promotions;
  const auto lines_of = [](const char* name, const kizami::engines::EcOperand& o) -> hopper::MapLines {
    return {name,
            o.planes.data,
            o.lines.num_lines,
            kizami::product::ec_line_bytes(EcFormat::kF16, o.lines.length),
            o.planes.row_stride,
            0,
            1};
  };
  // 32 elements of FP32 are as many bytes as their parts, so boxes, swizzle and stages are those of planes.
  const auto elements_of = [](const char* name, const kizami::problem::Lines<float>& lines) -> hopper::MapLines {
    constexpr std::int64_t kSize = sizeof(float);
    return {name,
            reinterpret_cast<const std::int8_t*>(lines.data),
            lines.num_lines,
            lines.length * kSize,
            lines.line_stride * kSize,
            0,
            1};
  };
  KIZAMI_RETURN_IF_ERROR(hopper::encode_in_order(lines_of("a", p.a), traits.tile_i / traits.cluster, split.a_map));
  KIZAMI_RETURN_IF_ERROR(hopper::encode_in_order(
      way == EcWay::kRegisters ? elements_of("b", p.b.lines) : lines_of("b", p.b), traits.tile_j, split.b_map));
  kizami::engines::set_order(params, traits.tile_i, traits.tile_j * traits.cluster, 0);
  const auto clusters =
      std::min(params.tiles_per_plane, static_cast<std::uint32_t>(std::max(1, device.num_sms / traits.cluster)));
  return base::launch_overlapped_clusters("the launch of a product in another way", kernel.kernel,
                                          clusters * static_cast<unsigned>(traits.cluster), hopper::kNumThreads,
                                          traits.cluster, kernel.shared_bytes, queue, &params);
}

}  // namespace bench::ec_ways
