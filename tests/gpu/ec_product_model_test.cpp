// SPDX-License-Identifier: MIT
// Every kernel of the product of split FP32 operands against the software tensor core, bit for bit: all forms, formats
// and promotions, on planes that no split would make as well. So the bounds and studies that rest on the model hold for
// the kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "engines/hopper/ec_params.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "product/float_product.hpp"

namespace kizami::engines {
namespace {

using gpu_test::DeviceArray;
using gpu_test::EcWay;
using product::EcFormat;
using product::EcPromotion;
using EcProductModelTest = gpu_test::Sm90Test;

// ---- planes ----

enum class Data : std::uint8_t {
  kSpread,           ///< parts of FP32 numbers over 8 binades, of both signs
  kOneSign,          ///< positive, significands near 2: truncations that add up
  kCancelling,       ///< neighbours cancel, so that small products decide
  kLargeAmongSmall,  ///< one in 13 outweighs the others by 2^14 and more
  kAnyBits,          ///< hi and lo independent: every finite FP16 number; TF32 with exponents of -60..60 and subnormal
};
constexpr Data kAllData[] = {Data::kSpread, Data::kOneSign, Data::kCancelling, Data::kLargeAmongSmall, Data::kAnyBits};
constexpr const char* kDataNames[] = {"spread", "one sign", "cancelling", "large among small", "any bits"};

/// hi and lo of an element.
struct Parts {
  std::uint32_t hi;
  std::uint32_t lo;
};

/// A number of a format from its exponent and 10 bits of significand.
std::uint32_t encode(EcFormat format, bool is_negative, int exponent, std::uint64_t significand) {
  const auto fraction = static_cast<std::uint32_t>(significand & 0x3FF);
  const bool is_f16 = format == EcFormat::kF16;
  const int field = exponent + (is_f16 ? 15 : 127);
  if (field < 1) return 0;
  const auto biased = static_cast<std::uint32_t>(field);
  return is_f16 ? (is_negative ? 0x8000U : 0U) | biased << 10 | fraction
                : (is_negative ? 0x80000000U : 0U) | biased << 23 | fraction << 13;
}

Parts any_bits(EcFormat format, std::mt19937_64& rng) {
  const auto draw = [&]() -> std::uint32_t {
    if (format == EcFormat::kF16) {
      const auto bits = static_cast<std::uint32_t>(rng() & 0xFFFF);
      return (bits & 0x7C00U) == 0x7C00U ? bits & 0x83FFU : bits;  // no NaN, no Inf
    }
    if (rng() % 16 == 0) return static_cast<std::uint32_t>(rng() & 0x807FE000U);  // subnormal, or zero
    return encode(format, rng() % 2 == 0, static_cast<int>(rng() % 121) - 60, rng());
  };
  const std::uint32_t hi = draw();
  return {hi, draw()};
}

Parts draw(Data data, EcFormat format, std::int64_t h, std::mt19937_64& rng) {
  const bool is_negative = rng() % 2 == 0;
  const bool is_lo_negative = rng() % 2 == 0;
  const int drop = 12 + static_cast<int>(rng() % 4);  // of lo below hi
  switch (data) {
    case Data::kSpread: {
      const int exponent = static_cast<int>(rng() % 8) + 6;
      return {encode(format, is_negative, exponent, rng()), encode(format, is_lo_negative, exponent - drop, rng())};
    }
    case Data::kOneSign:
      return {encode(format, false, 13, 0x3F0U | rng()), encode(format, false, 1, 0x3F0U | rng())};
    case Data::kCancelling:
      return {encode(format, is_negative, 10, rng()), encode(format, is_lo_negative, 10 - drop, rng())};
    case Data::kLargeAmongSmall: {
      const int exponent = h % 13 == 5 ? 14 : -static_cast<int>(rng() % 14);
      return {encode(format, is_negative, exponent, rng()), encode(format, is_lo_negative, exponent - drop, rng())};
    }
    case Data::kAnyBits:
      return any_bits(format, rng);
  }
  return {};
}

/// The planes of one operand, as the kernel reads them and as the model does.
struct PlaneCase {
  EcFormat format;
  std::int64_t num_lines;
  std::int64_t k;
  std::int64_t element_bytes = format == EcFormat::kF16 ? 2 : 4;
  std::int64_t row_bytes = product::ec_line_bytes(format, k);
  std::int64_t model_stride = base::round_up(k, product::kPadBytes / element_bytes);  ///< elements
  std::vector<std::int8_t> interleaved = std::vector<std::int8_t>(static_cast<std::size_t>(num_lines * row_bytes));
  std::vector<std::int8_t> apart =
      std::vector<std::int8_t>(static_cast<std::size_t>(2 * num_lines * model_stride * element_bytes));

  void set(std::int64_t i, std::int64_t h, const Parts& parts) {
    const auto bytes = static_cast<std::size_t>(element_bytes);
    const std::int64_t block = product::ec_block_length(format);
    std::int8_t* const to =
        interleaved.data() + i * row_bytes + h / block * product::kEcBlockBytes + h % block * element_bytes;
    std::memcpy(to, &parts.hi, bytes);  // little-endian: the low half of an FP16 number's word
    std::memcpy(to + product::kEcBlockBytes / 2, &parts.lo, bytes);
    std::int8_t* const model = apart.data() + (i * model_stride + h) * element_bytes;
    std::memcpy(model, &parts.hi, bytes);
    std::memcpy(model + num_lines * model_stride * element_bytes, &parts.lo, bytes);
  }
};

struct ModelCase {
  PlaneCase a;
  PlaneCase b;
};

ModelCase make_case(Data data, EcFormat format, std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed) {
  ModelCase c{{format, m, k}, {format, n, k}};
  std::mt19937_64 rng(seed);
  const std::uint32_t sign = format == EcFormat::kF16 ? 0x8000U : 0x80000000U;
  const auto fill = [&](PlaneCase& planes, bool alternates) {
    for (std::int64_t i = 0; i < planes.num_lines; ++i) {
      Parts previous{};
      for (std::int64_t h = 0; h < k; ++h) {
        Parts parts = draw(data, format, h, rng);
        if (data == Data::kCancelling && h % 2 == 1) parts.hi = alternates ? previous.hi ^ sign : previous.hi;
        planes.set(i, h, parts);
        previous = parts;
      }
    }
  };
  fill(c.a, true);
  fill(c.b, false);
  return c;
}

// ---- the model ----

/// Elements [first, end) of k on the software tensor core.
/// @param taken  whether an interval of `promoted` elements counts; others are as zeros
template <class Taken>
std::vector<float> model_sum(const ModelCase& c, const EcWay& way, std::int64_t first, std::int64_t end,
                             const Taken& taken) {
  const bool is_f16 = way.format == EcFormat::kF16;
  const std::int64_t promoted = product::ec_promoted_length(way.format, way.promotion);
  PlaneCase a = c.a;
  for (std::int64_t i = 0; i < a.num_lines; ++i) {
    for (std::int64_t h = first; h < end; ++h) {
      if (!taken(h / promoted)) a.set(i, h, {});
    }
  }
  product::FloatProductDesc d;
  d.m = a.num_lines;
  d.n = c.b.num_lines;
  d.k = end - first;
  d.type = is_f16 ? num::FloatType::kFp16 : num::FloatType::kTf32;
  d.core = num::hopper_tensor_core(d.type);
  // A warpgroup that shares its stages takes two at a time, small products first; one with stages of its own takes all.
  d.k_interval = way.form == EcForm::kSplitInner128x64
                     ? promoted
                     : std::min(promoted, product::ec_promoted_length(way.format, EcPromotion::kShort));
  d.intervals_promoted = static_cast<int>(promoted / d.k_interval);
  d.sums[0].pairs = {{{1, 0}, {0, 1}, {0, 0}}};
  d.sums[0].num_pairs = 3;
  d.sums[0].num_interleaved = 2;
  d.a_row_stride = a.model_stride;
  d.a_plane_stride = a.num_lines * a.model_stride;
  d.b_row_stride = c.b.model_stride;
  d.b_plane_stride = c.b.num_lines * c.b.model_stride;
  d.c_col_stride = d.m;
  std::vector<float> sum(static_cast<std::size_t>(d.m * d.n));
  const Status status = tc_model_engine().run(
      d, {.threads = 2},
      {a.apart.data() + first * a.element_bytes, c.b.apart.data() + first * c.b.element_bytes, sum.data()}, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  return sum;
}

void add_to(std::vector<float>& x, const std::vector<float>& y) {
  for (std::size_t e = 0; e < x.size(); ++e) x[e] += y[e];
}

/// What the kernel must return: of each warpgroup that has promotions of its own the sum of its blocks, then their sum.
std::vector<float> expected(const ModelCase& c, const EcWay& way) {
  const std::int64_t k = c.a.k;
  const std::int64_t promoted = product::ec_promoted_length(way.format, way.promotion);
  const int num_parts = way.form == EcForm::kSplitInner128x64 ? 2 : 1;
  std::int64_t block = k;
  if (hopper::has_block_sums(way.form, hopper::stages_of(way.promotion))) {
    const auto count = static_cast<std::int32_t>(base::ceil_div(k, promoted));
    block = num_parts * hopper::block_promotions(way.form, count) * promoted;
  }
  std::vector<float> sum;
  for (int part = 0; part < num_parts; ++part) {
    const auto is_its_own = [&](std::int64_t promotion) { return promotion % num_parts == part; };
    std::vector<float> blocks(static_cast<std::size_t>(c.a.num_lines * c.b.num_lines));
    for (std::int64_t first = 0; first < k; first += block) {
      add_to(blocks, model_sum(c, way, first, std::min(k, first + block), is_its_own));
    }
    if (part == 0) sum.resize(blocks.size());
    add_to(sum, blocks);
  }
  return sum;
}

// ---- the device ----

std::vector<float> on_device(const ModelCase& c, const EcWay& way) {
  const auto lines_of = [](const PlaneCase& planes) { return static_cast<std::size_t>(planes.num_lines); };
  const DeviceArray<std::int8_t> a_planes(c.a.interleaved);
  const DeviceArray<std::int8_t> b_planes(c.b.interleaved);
  const DeviceArray<std::int32_t> a_scales(std::vector<std::int32_t>(lines_of(c.a)));
  const DeviceArray<std::int32_t> b_scales(std::vector<std::int32_t>(lines_of(c.b)));
  const DeviceArray<float> out(lines_of(c.a) * lines_of(c.b));
  EcProduct p;
  p.format = way.format;
  p.a = {{a_planes.data(), c.a.row_bytes, a_scales.data()}, {nullptr, c.a.num_lines, c.a.k, c.a.k, 1}};
  p.b = {{b_planes.data(), c.b.row_bytes, b_scales.data()}, {nullptr, c.b.num_lines, c.b.k, c.b.k, 1}};
  p.c = out.data();
  p.c_col_stride = c.a.num_lines;
  const Status status = run_ec_product(p, way.form, way.promotion, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  return out.download();
}

std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

void expect_equal_bits(const ModelCase& c, const EcWay& way, const std::string& what) {
  const std::vector<float> model = expected(c, way);
  const std::vector<float> device = on_device(c, way);
  std::size_t different = 0;
  std::size_t first = 0;
  for (std::size_t e = model.size(); e-- > 0;) {
    if (bits_of(model[e]) == bits_of(device[e])) continue;
    ++different;
    first = e;
  }
  EXPECT_EQ(different, 0U) << way.name() << ", " << what << ": element " << first << " is " << device[first]
                           << ", model " << model[first];
}

TEST_F(EcProductModelTest, EqualsTheModelInEveryBit) {
  struct Shape {
    std::int64_t m, n, k;
  };
  for (const Shape& s : {Shape{1, 1, 1}, {9, 17, 33}, {130, 70, 100}, {200, 260, 300}}) {
    for (const EcWay& way : gpu_test::all_ec_ways()) {
      for (const Data data : kAllData) {
        expect_equal_bits(make_case(data, way.format, s.m, s.n, s.k, 11), way,
                          std::string(kDataNames[static_cast<int>(data)]) + " " + std::to_string(s.k));
      }
    }
  }
}

TEST_F(EcProductModelTest, EqualsTheModelWhereSumsAreLong) {
  // Of the longest promotion, 128 elements, four blocks of sums and a part for each of two warpgroups; of the shortest
  // blocks of 16.
  constexpr std::int64_t kLong = 128 * 2 * 8 * 4 + 700;
  for (const EcWay& way : gpu_test::all_ec_ways()) {
    for (const Data data : {Data::kSpread, Data::kOneSign}) {
      expect_equal_bits(make_case(data, way.format, 40, 24, kLong, 12), way,
                        std::string(kDataNames[static_cast<int>(data)]) + ", long");
    }
  }
}

}  // namespace
}  // namespace kizami::engines
