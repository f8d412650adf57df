// SPDX-License-Identifier: MIT
// The engine tc_model against a plain walk of product/float_product.hpp by num::tensor_core_step(), bit for bit, and
// what it refuses. All of C's storage is compared, canaries included.
#include "engines/tc_model/tc_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/int_math.hpp"
#include "engines/product_case.hpp"

namespace kizami::engines {
namespace {

using num::FloatType;
using num::TensorCore;
using product::DeviceFacts;
using product::FloatProductDesc;
using product::FloatSum;
using product::Offer;
using product::Refusal;
using testing::kIsSanitized;

/// What the elements of a case look like.
enum class Elements : std::uint8_t { kModerate, kWide, kSpecial };

/// Operands of one description, with canaries around C.
class FloatCase {
 public:
  FloatCase(FloatProductDesc d, Elements elements, std::uint32_t seed) : desc_(d), random_(seed) {
    const std::int64_t pad = product::kPadBytes / num::element_bytes(d.type);
    const std::int64_t row = base::round_up(d.k, pad) + (seed % 2 == 0 ? 0 : pad);
    desc_.a_row_stride = desc_.b_row_stride = row;
    desc_.a_plane_stride = d.m * row;
    desc_.b_plane_stride = d.n * row;
    desc_.c_col_stride = d.m + seed % 3;
    a_ = fill(d.m, row, elements);
    b_ = fill(d.n, row, elements);
    c_.assign(static_cast<std::size_t>(desc_.c_col_stride * d.n + 2), kCanary);
  }

  [[nodiscard]] FloatProductDesc& desc() { return desc_; }

  [[nodiscard]] std::vector<float> by_engine(int threads) {
    std::vector<float> c = c_;
    DeviceFacts facts;
    facts.num_threads = threads;
    const auto answer = tc_model_engine().query(desc_, facts);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ADD_FAILURE() << refusal->reason;
      return c;
    }
    const Status status =
        tc_model_engine().run(desc_, std::get<Offer>(answer), {a_.data(), b_.data(), c.data()}, nullptr);
    EXPECT_TRUE(status.ok()) << status.reason();
    return c;
  }

  [[nodiscard]] std::vector<float> by_definition() const {
    std::vector<float> c = c_;
    for (std::int64_t j = 0; j < desc_.n; ++j) {
      for (std::int64_t i = 0; i < desc_.m; ++i)
        c[static_cast<std::size_t>(j * desc_.c_col_stride + i)] = element(i, j);
    }
    return c;
  }

 private:
  static constexpr float kCanary = -12345.0F;

  [[nodiscard]] double value(const base::AlignedBuffer& planes, std::int64_t index) const {
    const std::byte* const at = planes.data() + index * num::element_bytes(desc_.type);
    if (desc_.type == FloatType::kTf32) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, at, 4);
      return Tf32::from_bits(bits).to_double();
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, 2);
    return desc_.type == FloatType::kFp16 ? Fp16::from_bits(bits).to_double() : Bf16::from_bits(bits).to_double();
  }

  /// acc and the products of one pair over [begin, end) of k.
  [[nodiscard]] float steps(product::PlanePair pair, std::int64_t i, std::int64_t j, std::int64_t begin,
                            std::int64_t end, float acc) const {
    for (std::int64_t h = begin; h < end; h += desc_.core.group) {
      const int count = static_cast<int>(std::min<std::int64_t>(desc_.core.group, end - h));
      double a[16];
      double b[16];
      for (int g = 0; g < count; ++g) {
        a[g] = value(a_, pair.a * desc_.a_plane_stride + i * desc_.a_row_stride + h + g);
        b[g] = value(b_, pair.b * desc_.b_plane_stride + j * desc_.b_row_stride + h + g);
      }
      acc = num::tensor_core_step(desc_.core, desc_.type, acc, a, b, count);
    }
    return acc;
  }

  [[nodiscard]] float element(std::int64_t i, std::int64_t j) const {
    float sums[product::kMaxSums] = {};
    for (int q = 0; q < desc_.num_sums; ++q) {
      const FloatSum& list = desc_.sums[static_cast<std::size_t>(q)];
      float acc = 0;
      const std::int64_t instruction = product::instruction_elems(desc_.type);
      std::int64_t interval = 0;
      for (std::int64_t first = 0; first < desc_.k; first += desc_.k_interval) {
        const std::int64_t end = std::min(desc_.k, first + desc_.k_interval);
        for (std::int64_t h = first; h < end; h += instruction) {
          for (int p = 0; p < list.num_interleaved; ++p)
            acc = steps(list.pairs[static_cast<std::size_t>(p)], i, j, h, std::min(end, h + instruction), acc);
        }
        for (int p = list.num_interleaved; p < list.num_pairs; ++p)
          acc = steps(list.pairs[static_cast<std::size_t>(p)], i, j, first, end, acc);
        if (list.promotes && (++interval % desc_.intervals_promoted == 0 || end == desc_.k)) {
          sums[q] += acc;
          acc = 0;
        }
      }
      if (!list.promotes) sums[q] = acc;
    }
    const float weight = std::ldexp(1.0F, -desc_.remainder_shift);
    float result = sums[desc_.num_sums - 1];
    for (int q = desc_.num_sums - 2; q >= 0; --q) result = std::fma(result, weight, sums[q]);
    return result;
  }

  [[nodiscard]] std::uint32_t random_bits(Elements elements) {
    const std::uint32_t word = random_();
    const bool is_wide = elements != Elements::kModerate;
    if (elements == Elements::kSpecial && word % 997 == 0) {  // Inf or NaN
      const float special = word % 2 == 0 ? INFINITY : NAN;
      return desc_.type == FloatType::kFp16   ? Fp16::from(special).bits()
             : desc_.type == FloatType::kBf16 ? Bf16::from(special).bits()
                                              : Tf32::from(special).bits();
    }
    if (word % 13 == 0) return 0;
    switch (desc_.type) {
      case FloatType::kFp16: {
        const auto bits = static_cast<std::uint16_t>(random_());
        if (is_wide && Fp16::from_bits(bits).is_finite()) return bits;  // subnormal numbers included
        return Fp16::from(std::ldexp(1.0 + static_cast<double>(bits) / 65536, static_cast<int>(word >> 29) - 4)).bits();
      }
      case FloatType::kBf16:
        return static_cast<std::uint16_t>(((word & 0x80000000U) >> 16) |
                                          ((is_wide ? (word >> 9) % 90 + 80 : 125U) << 7) | (word & 0x7f));
      case FloatType::kTf32:
        return (word & 0x80000000U) | ((is_wide ? (word >> 5) % 240 : 126U) << 23) | ((word & 0x3ffU) << 13);
    }
    return 0;
  }

  [[nodiscard]] base::AlignedBuffer fill(std::int64_t lines, std::int64_t row, Elements elements) {
    const auto bytes = static_cast<std::size_t>(num::element_bytes(desc_.type));
    base::AlignedBuffer planes(static_cast<std::size_t>(num::kMaxParts * lines * row) * bytes);
    if (planes.size() > 0) std::memset(planes.data(), 0, planes.size());
    for (std::int64_t line = 0; line < num::kMaxParts * lines; ++line) {
      for (std::int64_t h = 0; h < desc_.k; ++h) {
        const std::uint32_t bits = random_bits(elements);
        std::memcpy(planes.data() + static_cast<std::size_t>(line * row + h) * bytes, &bits, bytes);
      }
    }
    return planes;
  }

  FloatProductDesc desc_;
  std::mt19937 random_;
  base::AlignedBuffer a_;
  base::AlignedBuffer b_;
  std::vector<float> c_;
};

/// NaNs are one value here: the FP32 sums outside the tensor core pass on whatever the processor makes of them.
void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t x = 0; x < got.size(); ++x) {
    if (std::isnan(got[x]) && std::isnan(want[x])) continue;
    ASSERT_EQ(kizami::bit_cast<std::uint32_t>(got[x]), kizami::bit_cast<std::uint32_t>(want[x]))
        << what << " element " << x << ": " << got[x] << " for " << want[x];
  }
}

FloatSum sum_of(std::initializer_list<product::PlanePair> pairs, bool promotes) {
  FloatSum sum;
  for (const product::PlanePair& pair : pairs) sum.pairs[static_cast<std::size_t>(sum.num_pairs++)] = pair;
  sum.promotes = promotes;
  return sum;
}

FloatProductDesc shaped(std::int64_t m, std::int64_t n, std::int64_t k, FloatType type) {
  FloatProductDesc d;
  d.m = m;
  d.n = n;
  d.k = k;
  d.type = type;
  d.core = num::hopper_tensor_core(type);
  d.sums[0] = sum_of({{1, 0}, {0, 1}, {0, 0}}, true);
  return d;
}

TEST(TcModel, EqualsItsDefinition) {
  struct Extents {
    std::int64_t m, n, k;
  };
  constexpr Extents kShapes[] = {{1, 1, 1}, {3, 5, 16}, {33, 31, 65}, {7, 40, 200}, {32, 32, 130}, {5, 3, 0}};
  std::uint32_t seed = 1;
  for (const Extents& shape : kShapes) {
    for (const FloatType type : {FloatType::kFp16, FloatType::kBf16, FloatType::kTf32}) {
      const TensorCore cores[] = {num::hopper_tensor_core(type), num::ampere_tensor_core(type),
                                  num::mma_rn_tensor_core(), num::mma_rz_tensor_core()};
      for (const TensorCore& core : cores) {
        for (const Elements elements : {Elements::kModerate, Elements::kWide, Elements::kSpecial}) {
          ++seed;
          if (testing::is_left_out(seed, 11)) continue;
          FloatProductDesc d = shaped(shape.m, shape.n, shape.k, type);
          d.core = core;
          d.k_interval = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 64 : 144;
          if (seed % 2 == 0) {
            d.remainder_shift = 11;
            d.num_sums = 3;
            d.sums[0] = sum_of({{0, 0}}, true);
            d.sums[1] = sum_of({{1, 0}, {0, 1}}, seed % 4 == 0);
            d.sums[2] = sum_of({{1, 1}, {2, 0}, {0, 2}}, false);
          }
          if (d.core.group <= product::instruction_elems(type))
            d.sums[0].num_interleaved = seed % 3 == 2 ? d.sums[0].num_pairs / 2 : 0;
          d.intervals_promoted = 1 + static_cast<int>(seed % 5 / 3);
          FloatCase c(d, elements, seed);
          const std::string what = "seed " + std::to_string(seed);
          const std::vector<float> got = c.by_engine(1);
          expect_same(got, c.by_definition(), what);
          expect_same(c.by_engine(3), got, what + " with 3 threads");
        }
      }
    }
  }
}

// Without promotion the truncations of a long chain pile up; with it they do not. [OY2021, section 3.2]
TEST(TcModel, PromotionBoundsTheBiasOfTruncation) {
  const std::int64_t k = 4096;
  FloatProductDesc d = shaped(4, 4, k, FloatType::kFp16);
  d.sums[0] = sum_of({{0, 0}}, true);
  std::vector<std::uint16_t> lines(static_cast<std::size_t>(4 * k));  // positive: every truncation has the same sign
  double exact = 0;
  for (std::int64_t h = 0; h < 4 * k; ++h) {
    const double x = 1.0 + static_cast<double>(h * 397 % 1024) * 0x1p-10;
    lines[static_cast<std::size_t>(h)] = Fp16::from(x).bits();
    if (h < k) exact += x * x;  // 34 bits
  }
  std::vector<float> c(16);
  d.a_row_stride = d.b_row_stride = k;
  d.a_plane_stride = d.b_plane_stride = 4 * k;
  d.c_col_stride = 4;
  const auto relative_error = [&](bool promotes, std::int64_t interval) {
    d.sums[0].promotes = promotes;
    d.k_interval = interval;
    EXPECT_TRUE(tc_model_engine().run(d, {}, {lines.data(), lines.data(), c.data()}, nullptr).ok());
    return std::abs(static_cast<double>(c[0]) - exact) / exact;
  };
  // Inside: a step cuts less than 2^-23 of the running sum, at each of the k / 16 steps. Outside: RN of k / 64 sums.
  const double promoted = relative_error(true, 64);
  const double carried = relative_error(false, 64);
  EXPECT_LE(promoted, 4 * 21 * 0x1p-25 + 64 * 0x1p-24);
  EXPECT_GT(carried, 8 * promoted);
}

TEST(TcModel, RefusesWhatItsDescriptionForbids) {
  const auto reason = [](const auto& change) {
    FloatProductDesc d = shaped(8, 8, 64, FloatType::kFp16);
    d.a_row_stride = d.b_row_stride = 64;
    d.a_plane_stride = d.b_plane_stride = 512;
    d.c_col_stride = 8;
    change(d);
    const auto answer = tc_model_engine().query(d, {});
    const auto* const refusal = std::get_if<Refusal>(&answer);
    const Status status = tc_model_engine().run(d, {}, {}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return refusal == nullptr ? std::string() : refusal->reason;
  };
  EXPECT_EQ(reason([](FloatProductDesc&) {}), "");  // refused by run() alone: null pointers
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.m = -1; }), "m = -1, must be >= 0");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.k_interval = 24; }),
            "k_interval = 24, must be a positive multiple of 16");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.k_interval = 0; }), "k_interval = 0, must be a positive multiple of 16");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.num_sums = 4; }), "num_sums = 4, must be in 1..3");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.sums[0].num_pairs = 0; }), "num_pairs = 0, must be in 1..9");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.sums[0].num_interleaved = 4; }),
            "num_interleaved = 4, must be in 0..num_pairs");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.intervals_promoted = 0; }), "intervals_promoted = 0, must be >= 1");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.sums[0].pairs[1].b = 3; }), "plane = 3, must be in 0..2");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.core.group = 3; }), "group = 3, must be 1, 2, 4, 8 or 16");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.core.fraction_bits = 29; }), "fraction_bits = 29, must be in 23..28");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.remainder_shift = -1; }), "remainder_shift = -1, must be in 0..64");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.a_row_stride = 33; }),
            "a_row_stride = 33, must be a multiple of 64 bytes, at least a row");
  EXPECT_EQ(reason([](FloatProductDesc& d) { d.c_col_stride = 7; }), "c_col_stride = 7, must be >= m");
  EXPECT_NE(reason([](FloatProductDesc& d) { d.core.alignment = RoundingMode::kNearestAway; }), "");
}

}  // namespace
}  // namespace kizami::engines
