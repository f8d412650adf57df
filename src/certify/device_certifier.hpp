// SPDX-License-Identifier: MIT
// The certificate of a device call: products of sampled digits and how many pairs they leave open, and the second look
// at those. A ladder is that of scheme ozaki2, or of slices with weights to match.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "certify/device_certificate.hpp"
#include "certify/device_certificate_plan.hpp"
#include "certify/device_second_look.hpp"
#include "certify/device_statistics.hpp"
#include "certify/second_look_buffers.hpp"
#include "device/padding.hpp"
#include "device/state.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "product/launch.hpp"
#include "product/triangle.hpp"

namespace kizami::certify {

template <class T>
struct DeviceCertifier {
  CertificatePlan plan;
  num::Ladder ladder;
  problem::Lines<T> a;
  problem::Lines<T> b;
  device::DeviceLineBuffers a_lines;  ///< with line_weights where the ladder is not of scheme ozaki2
  device::DeviceLineBuffers b_lines;
  SampledBuffers sampled;
  SecondLookBuffers second_look;
  device::Pair* repairs = nullptr;                   ///< as in SecondLook
  std::int64_t repair_capacity = 0;                  ///< likewise
  std::uint32_t* repair_bits = nullptr;              ///< likewise
  std::int32_t planes_of_rung[num::kMaxRungs] = {};  ///< likewise
  bool wants_all_pairs = false;                      ///< likewise
  bool has_digits = false;                           ///< likewise
  bool has_a_samples = false;                        ///< of prepared lines, which are not made if they are one chunk
  bool has_b_samples = false;                        ///< likewise
  bool may_want_gain = false;                        ///< as in SecondLook
  bool has_samples = true;  ///< false: the split has judged lines, and what it leaves open goes to blocks
  /// The split has judged lines by num::is_certified_by_clipped_sum(): state->open_lines says how many it leaves open
  bool has_clipped_sums = false;
  /// |A||B| is symmetric, so that one triangle of the sampled product says all; for engines with product::TriangleEngine
  bool is_symmetric = false;
  device::DeviceState* state = nullptr;
  product::Queue queue = nullptr;

  [[nodiscard]] bool has_one_digit_chunk() const {
    return plan.chunk.mc >= plan.shape.m && plan.chunk.nc >= plan.shape.n;
  }
  /// Where the pass over the statistics puts the digits of a side, if they all fit: else it makes none.
  [[nodiscard]] DeviceDigits early_digits(Side side) const {
    return has_one_digit_chunk() ? digits_of(side) : DeviceDigits{};
  }

  /// @param has_padding whether the rows of digits are zero up to a multiple of device::kReadRows
  /// @param task  kDecide: what they find is in state->selection; kCount: in state->statistics.plain
  /// @queue kernels that end at once if state->is_scaling_only
  Status run(bool has_padding, LookTask task = LookTask::kDecide) const {
    if (!has_digits && has_samples) KIZAMI_RETURN_IF_ERROR(sample(has_padding));
    KIZAMI_RETURN_IF_ERROR(launch_block_rungs(look(task), num_sms(), queue));
    return look_again(task);
  }
  /// A part of the second look. @queue one kernel
  [[nodiscard]] Status look_again(LookTask task) const { return launch_second_look(look(task), num_sms(), queue); }

 private:
  [[nodiscard]] int num_sms() const { return plan.facts.num_sms; }
  [[nodiscard]] SecondLook<T> look(LookTask task) const {
    const plan::Chunk& chunk = plan.chunk;
    SecondLook<T> look;
    look.ladder = ladder;
    look.a = a;
    look.b = b;
    look.a_lines = a_lines;
    look.b_lines = b_lines;
    look.chunk = {chunk.mc, chunk.nc};
    look.buffers = second_look;
    look.state = state;
    look.repairs = repairs;
    look.repair_capacity = repair_capacity;
    look.repair_bits = repair_bits;
    look.wants_all_pairs = wants_all_pairs;
    look.has_digits = has_digits;
    look.may_want_gain = may_want_gain;
    look.task = task;
    std::copy_n(planes_of_rung, num::kMaxRungs, look.planes_of_rung);
    return look;
  }
  [[nodiscard]] DeviceDigits digits_of(Side side) const {
    return {side == Side::kA ? sampled.a_digits : sampled.b_digits, side == Side::kA ? nullptr : sampled.b_swapped,
            sampled.log_stride, sampled.row_stride};
  }

  /// Products of sampled digits, and how many pairs they leave open: nothing where blocks speak first.
  Status sample(bool has_padding) const {
    const plan::Chunk& chunk = plan.chunk;
    const auto make = [&](Side side, std::int64_t first, std::int64_t count) -> Status {
      const DeviceDigits digits = digits_of(side);
      if (has_one_digit_chunk() && (side == Side::kA ? has_a_samples : has_b_samples)) return {};
      if (!has_one_digit_chunk()) {
        const bool is_a = side == Side::kA;
        KIZAMI_RETURN_IF_ERROR(device_sampled_digits((is_a ? a : b).subset(first, count),
                                                     (is_a ? a_lines : b_lines).stats + first, digits, state, num_sms(),
                                                     queue));
      }
      if (has_padding) return {};
      KIZAMI_RETURN_IF_ERROR(clear_rows(digits.digits, count, digits.row_stride));
      return clear_rows(digits.swapped, count, digits.row_stride);
    };
    const bool has_one_b_chunk = chunk.nc >= plan.shape.n;
    for (std::int64_t i = 0; i < plan.shape.m; i += chunk.mc) {
      const std::int64_t num_i = std::min(chunk.mc, plan.shape.m - i);
      KIZAMI_RETURN_IF_ERROR(make(Side::kA, i, num_i));
      for (std::int64_t j = 0; j < plan.shape.n; j += chunk.nc) {
        const std::int64_t num_j = std::min(chunk.nc, plan.shape.n - j);
        if (i == 0 || !has_one_b_chunk) KIZAMI_RETURN_IF_ERROR(make(Side::kB, j, num_j));
        for (std::int64_t y = 0; y < num_j; y += sampled.cols_at_once)
          KIZAMI_RETURN_IF_ERROR(certify_block(i, num_i, j, y, std::min(sampled.cols_at_once, num_j - y)));
      }
    }
    return {};
  }

  /// Zeros in rows [first, round_up(first, kReadRows)).
  Status clear_rows(std::int8_t* digits, std::int64_t first, std::int64_t row_stride) const {
    const std::int64_t rows = base::round_up(first, device::kReadRows) - first;
    if (rows == 0 || digits == nullptr) return {};
    return base::cuda_status(
        cudaMemsetAsync(digits + first * row_stride, 0, static_cast<std::size_t>(rows * row_stride), queue),
        "clearing the padding");
  }

  /// Pairs of num_i lines of A in the digit buffer, which begins at line i, and num_j lines of B from y on in theirs.
  Status certify_block(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t y, std::int64_t num_j) const {
    const SampledBuffers& s = sampled;
    if (s.is_compared) {
      product::ProductDesc compared = device_sampled_product(plan, s, num_i, num_j);
      if (s.b_swapped != nullptr) compared.b_plane_stride = s.b_swapped - s.b_digits;
      product::Pointers pointers{s.a_digits, s.b_digits, &state->sampled_failures};
      pointers.num_products = &state->num_sampled_products;
      pointers.a_weights = a_lines.weights;
      pointers.b_weights = b_lines.weights;
      // Of both products of complex numbers, all or none: below 2^31 the number is its first word.
      if (has_clipped_sums) pointers.num_products = reinterpret_cast<const std::int32_t*>(&state->open_lines);
      if (is_symmetric) return product::launch_triangle(*plan.engine, plan.facts, {compared, true}, pointers, queue);
      return product::launch(*plan.engine, plan.facts, compared, pointers, {s.engine, s.engine_bytes}, queue);
    }
    product::ProductDesc desc = device_sampled_product(plan, s, base::round_up(num_i, device::kReadRows), num_j);
    SampledProducts products;
    products.acc = s.acc;
    products.num_parts = kIsComplex<T> ? 2 : 1;
    products.num_pieces = s.num_pieces;
    products.col_stride = desc.c_col_stride;
    products.piece_stride = desc.c_plane_stride;
    products.part_stride = s.num_pieces * desc.c_plane_stride;
    products.m = num_i;
    products.n = num_j;
    for (int part = 0; part < products.num_parts; ++part) {
      const std::int8_t* const b_digits = (part == 0 ? s.b_digits : s.b_swapped) + y * s.row_stride;
      for (std::int64_t piece = 0; piece < s.num_pieces; piece += product::kMaxProducts) {
        desc.num_products = static_cast<int>(std::min<std::int64_t>(product::kMaxProducts, s.num_pieces - piece));
        const product::Pointers pointers{s.a_digits + piece * desc.a_plane_stride,
                                         b_digits + piece * desc.b_plane_stride,
                                         s.acc + part * products.part_stride + piece * products.piece_stride};
        KIZAMI_RETURN_IF_ERROR(
            product::launch(*plan.engine, plan.facts, desc, pointers, {s.engine, s.engine_bytes}, queue));
      }
    }
    num::Ladder lowest = ladder;
    lowest.num_rungs = 1;
    lowest.rungs[0].allowance = num::sampled_allowance(ladder.rungs[0].allowance, plan::num_terms(plan.shape));
    return count_sampled_failures_device(lowest, products, a_lines.from(i), b_lines.from(j + y), state, queue);
  }
};

}  // namespace kizami::certify
