// SPDX-License-Identifier: MIT
// Operands of FP32 products on FP16 and TF32 tensor cores, in host and device memory, and the compiled ways to multiply
// them, for the tests of split and product.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/device_limits.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "problem/lines.hpp"
#include "product/ec_planes.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::gpu_test {

/// Lines of a row- or column-major matrix in memory of its own. What lies between lines is NaN.
struct EcLines {
  std::int64_t num_lines;
  std::int64_t length;
  bool is_across;       ///< neighbours in memory are of other lines
  std::int64_t extra;   ///< elements between what is contiguous
  std::int64_t offset;  ///< elements before the first: 1 misaligns
  std::vector<float> memory;

  EcLines(std::int64_t lines, std::int64_t k, bool across, std::int64_t gap = 0, std::int64_t first = 0)
      : num_lines(lines),
        length(k),
        is_across(across),
        extra(gap),
        offset(first),
        memory(static_cast<std::size_t>(first + (across ? (lines + gap) * k : (k + gap) * lines)),
               std::numeric_limits<float>::quiet_NaN()) {}

  [[nodiscard]] problem::Lines<float> lines(const float* data) const {
    return {data + offset, num_lines, length, is_across ? 1 : length + extra, is_across ? num_lines + extra : 1};
  }
  [[nodiscard]] float& operator()(std::int64_t i, std::int64_t h) {
    const problem::Lines<float> l = lines(memory.data());
    return memory[static_cast<std::size_t>(offset + i * l.line_stride + h * l.inner_stride)];
  }
  [[nodiscard]] float operator()(std::int64_t i, std::int64_t h) const {
    const problem::Lines<float> l = lines(memory.data());
    return memory[static_cast<std::size_t>(offset + i * l.line_stride + h * l.inner_stride)];
  }

  /// 23 random bits, a random sign, exponents of `spread` binades below 2^top.
  void fill(std::mt19937_64& rng, int spread, int top = 0) {
    for (std::int64_t i = 0; i < num_lines; ++i) {
      for (std::int64_t h = 0; h < length; ++h) {
        const int exponent = top - 1 - static_cast<int>(rng() % static_cast<unsigned>(spread));
        const float magnitude = std::ldexp(1.0F + static_cast<float>(rng() & 0x7FFFFFU) * 0x1p-23F, exponent);
        (*this)(i, h) = rng() % 2 == 0 ? magnitude : -magnitude;
      }
    }
  }
  void scale_line(std::int64_t i, int exponent) {
    for (std::int64_t h = 0; h < length; ++h) (*this)(i, h) = std::ldexp((*this)(i, h), exponent);
  }
};

/// Multiprocessors of the current device.
[[nodiscard]] inline int num_multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
  return count;
}

/// An operand on the device with room for its planes: rows `gap_blocks` blocks apart.
struct DeviceEcOperand {
  const EcLines& host;
  std::int64_t row_stride;
  DeviceArray<float> elements;
  DeviceArray<std::int8_t> planes;
  DeviceArray<std::int32_t> scales;

  DeviceEcOperand(const EcLines& lines, product::EcFormat format, std::int64_t gap_blocks = 0)
      : host(lines),
        row_stride(product::ec_line_bytes(format, lines.length) + gap_blocks * product::kEcBlockBytes),
        elements(lines.memory),
        planes(static_cast<std::size_t>(lines.num_lines * row_stride)),
        scales(static_cast<std::size_t>(lines.num_lines)) {}

  [[nodiscard]] ec::DeviceEcSplit<float> task() const {
    return {host.lines(elements.data()), planes.data(), row_stride, scales.data()};
  }
};

/// One compiled kernel of the product.
struct EcWay {
  engines::EcForm form;
  product::EcFormat format;
  product::EcPromotion promotion;

  [[nodiscard]] std::string name() const {
    const char* const promotions[product::kNumEcPromotions] = {" shortest", " short", " long"};
    return std::string(engines::ec_forms()[static_cast<std::size_t>(form)].name) +
           (format == product::EcFormat::kF16 ? " f16" : " tf32") + promotions[static_cast<int>(promotion)];
  }
};
[[nodiscard]] inline std::vector<EcWay> all_ec_ways() {
  std::vector<EcWay> ways;
  for (const engines::EcFormTraits& traits : engines::ec_forms()) {
    for (const product::EcFormat format : {product::EcFormat::kF16, product::EcFormat::kTf32}) {
      for (const product::EcPromotion promotion :
           {product::EcPromotion::kShortest, product::EcPromotion::kShort, product::EcPromotion::kLong}) {
        ways.push_back({traits.form, format, promotion});
      }
    }
  }
  return ways;
}

}  // namespace kizami::gpu_test
