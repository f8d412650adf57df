// SPDX-License-Identifier: MIT
#include "convolution/host_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "convolution/direct.hpp"
#include "convolution/host_planes.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "num/line_stats.hpp"
#include "product/ec_planes.hpp"

namespace kizami::convolution {
namespace {

constexpr std::int64_t kChunk = 512;  ///< outputs at a time

struct Output {
  std::int64_t image;
  int p;
  int q;
};

/// Lines of one operand as the model takes them: all hi, then all lo.
class ModelLines {
 public:
  ModelLines(std::int64_t num_lines, std::int64_t blocks)
      : num_lines_(num_lines),
        row_bytes_(blocks * kHalf),
        memory_(static_cast<std::size_t>(2 * num_lines * row_bytes_)) {}

  /// Block b of a line from 128 bytes, or zeros from none.
  void set(std::int64_t line, std::int64_t b, const std::int8_t* block) {
    std::int8_t* const hi = memory_.data() + line * row_bytes_ + b * kHalf;
    std::int8_t* const lo = hi + num_lines_ * row_bytes_;
    if (block == nullptr) {
      std::memset(hi, 0, kHalf);
      std::memset(lo, 0, kHalf);
      return;
    }
    std::memcpy(hi, block, kHalf);
    std::memcpy(lo, block + kHalf, kHalf);
  }
  [[nodiscard]] const std::int8_t* data() const { return memory_.data(); }
  [[nodiscard]] std::int64_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] std::int64_t plane_bytes() const { return num_lines_ * row_bytes_; }

 private:
  static constexpr std::int64_t kHalf = product::kEcBlockBytes / 2;
  std::int64_t num_lines_;
  std::int64_t row_bytes_;
  std::vector<std::int8_t> memory_;
};

/// What the product on a device makes before scales: sums of promotions in blocks, and of blocks.
/// @return [output][filter]
std::vector<float> model_sums(const Plan& plan, const ModelLines& filters, std::int64_t m, const ModelLines& outputs,
                              std::int64_t n) {
  const product::EcFormat format = plan.product.format;
  const std::int64_t blocks = plan.product.filter_bytes() / product::kEcBlockBytes;
  const product::EcConvolutionSums sums = product::ec_convolution_sums(format, blocks, plan.form);
  product::FloatProductDesc d = product::ec_arithmetic(format, product::EcPromotion::kShort);
  const std::int64_t size = num::element_bytes(d.type);
  d.m = m;
  d.n = n;
  d.k_interval = sums.interval;
  d.a_row_stride = filters.row_bytes() / size;
  d.a_plane_stride = filters.plane_bytes() / size;
  d.b_row_stride = outputs.row_bytes() / size;
  d.b_plane_stride = outputs.plane_bytes() / size;
  d.c_col_stride = m;
  product::Offer offer;
  offer.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::int64_t k = blocks * product::ec_block_length(format);
  const std::int64_t of_block = sums.promotions_of_block * sums.interval;
  std::vector<float> all(static_cast<std::size_t>(m * n));
  std::vector<float> block(all.size());
  for (std::int64_t first = 0; first < k; first += of_block) {
    d.k = std::min(of_block, k - first);
    const Status status = engines::tc_model_engine().run(
        d, offer, {filters.data() + first * size, outputs.data() + first * size, block.data()}, nullptr);
    if (!status.ok()) throw status;
    for (std::size_t e = 0; e < all.size(); ++e) all[e] += block[e];
  }
  return all;
}

/// Blocks of output cells, in the order of k.
ModelLines lines_of_outputs(const Plan& plan, const HostPlanes& images, std::int64_t group,
                            const std::vector<Output>& outputs) {
  const product::EcConvolution& p = plan.product;
  const std::int64_t lines = p.images * p.cells();
  ModelLines made(static_cast<std::int64_t>(outputs.size()), p.filter_bytes() / product::kEcBlockBytes);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const std::int64_t cell = outputs[j].image * p.cells() + outputs[j].p * p.w.cells() + outputs[j].q;
    std::int64_t at = 0;
    for (int r = 0; r < p.h.filter; ++r) {
      for (int b = 0; b < p.blocks; ++b) {
        for (int s = 0; s < p.w.filter; ++s, ++at) {
          const std::int64_t plane = std::int64_t{p.h.plane_of(r)} * p.w.num_planes() + p.w.plane_of(s);
          const std::int64_t line = cell + p.h.offset_of(r) * p.w.cells() + p.w.offset_of(s);
          const bool is_there = line >= 0 && line < lines;
          made.set(static_cast<std::int64_t>(j), at,
                   is_there ? images.planes.data() + (plane * lines + line) * p.pixel_bytes() +
                                  (group * p.blocks + b) * product::kEcBlockBytes
                            : nullptr);
        }
      }
    }
  }
  return made;
}

/// Outputs of all filters of a group.
void convolve_group(const Plan& plan, const product::DirectConvolution& task, const HostPlanes& images,
                    const HostPlanes& filters, std::int64_t group, const std::vector<Output>& outputs) {
  const product::EcConvolution& p = plan.product;
  const std::int64_t blocks = p.filter_bytes() / product::kEcBlockBytes;
  ModelLines filter_lines(p.filters, blocks);
  for (std::int64_t i = 0; i < p.filters; ++i) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      filter_lines.set(i, b,
                       filters.planes.data() + (group * p.filters + i) * p.filter_bytes() + b * product::kEcBlockBytes);
    }
  }
  const std::vector<float> sums =
      model_sums(plan, filter_lines, p.filters, lines_of_outputs(plan, images, group, outputs),
                 static_cast<std::int64_t>(outputs.size()));
  float alpha = task.alpha;
  int exponent = 0;
  if (std::isfinite(alpha)) {
    exponent = std::ilogb(alpha);
    alpha = std::ldexp(alpha, -exponent);
  }
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const Output& out = outputs[j];
    const auto image = static_cast<std::size_t>(out.image);
    const auto first = static_cast<int>(group * p.filters);
    const bool is_direct =
        images.has_nonfinite[image] != 0 && task.has_nonfinite_window(out.image, out.p, out.q, static_cast<int>(group));
    for (int i = 0; i < p.filters; ++i) {
      const int filter = first + i;
      const std::int32_t scale = filters.scales[static_cast<std::size_t>(filter)];
      if (is_direct || scale == num::kSkipLine) {
        task.write(out.image, out.p, out.q, filter);
        continue;
      }
      float* const to = task.output(out.image, out.p, out.q, filter);
      const float sum = sums[j * static_cast<std::size_t>(p.filters) + static_cast<std::size_t>(i)];
      const float value = product::ec_unscaled(alpha * sum, images.scales[image] + scale - exponent);
      *to = task.beta == 0 ? value : std::fma(task.beta, *to, value);
    }
  }
}

void convolve_split(const Plan& plan, const product::DirectConvolution& task) {
  const HostPlanes images = split_images_on_host(plan, task.x);
  const HostPlanes filters = split_filters_on_host(plan, task.weights);
  const std::int64_t pixels = plan.out_height * plan.out_width;
  const std::int64_t total = plan.shape.images * pixels;
  for (std::int64_t group = 0; group < plan.shape.groups; ++group) {
    for (std::int64_t first = 0; first < total; first += kChunk) {
      std::vector<Output> outputs;
      for (std::int64_t at = first; at < std::min(total, first + kChunk); ++at) {
        const std::int64_t in_image = at % pixels;
        outputs.push_back(
            {at / pixels, static_cast<int>(in_image / plan.out_width), static_cast<int>(in_image % plan.out_width)});
      }
      convolve_group(plan, task, images, filters, group, outputs);
    }
  }
}

void convolve_direct(const Plan& plan, const product::DirectConvolution& task) {
  for (std::int64_t image = 0; image < task.images; ++image) {
    for (int filter = 0; filter < plan.shape.filters; ++filter) {
      for (int p = 0; p < plan.out_height; ++p) {
        for (int q = 0; q < plan.out_width; ++q) {
          if (task.alpha == 0) {
            float* const to = task.output(image, p, q, filter);
            *to = task.beta == 0 ? 0.0F : task.beta * *to;
          } else {
            task.write(image, p, q, filter);
          }
        }
      }
    }
  }
}

}  // namespace

Status run_on_host(const Plan& plan, float alpha, const float* x, const float* w, float beta, float* y) {
  if (plan.num_outputs() == 0) return {};
  const bool sums = alpha != 0 && plan.shape.channels > 0;
  if (sums && x == nullptr && plan.shape.height * plan.shape.width > 0)
    return {StatusCode::kInvalidArgument, "x is null"};
  if (sums && w == nullptr) return {StatusCode::kInvalidArgument, "w is null"};
  if (y == nullptr) return {StatusCode::kInvalidArgument, "y is null"};
  const product::DirectConvolution task = direct_convolution(plan, alpha, x, w, beta, y);
  try {
    if (!plan.is_split() || alpha == 0) {
      convolve_direct(plan, task);
    } else {
      convolve_split(plan, task);
    }
  } catch (const std::bad_alloc&) {
    return {StatusCode::kOutOfMemory, "planes of " + std::to_string(plan.workspace_bytes) + " bytes could not be had"};
  } catch (const Status& status) {
    return status;
  }
  return {};
}

}  // namespace kizami::convolution
