// SPDX-License-Identifier: MIT
// Engine mma against the software tensor core, bit for bit: the algorithms of documents and of scheme ec, all formats,
// every order of sums that a description can ask for, on planes that no split would make as well.
#include "engines/mma/mma.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "gpu/device_memory.hpp"
#include "kizami/formats.hpp"
#include "schemes/ec/recipe.hpp"

namespace kizami::engines {
namespace {

using gpu_test::DeviceArray;
using num::FloatType;
using product::FloatProductDesc;
using product::Offer;
using product::Refusal;
using MmaEngine = gpu_test::DeviceTest;

enum class Data : std::uint8_t {
  kSpread,           ///< over 8 binades, of both signs
  kOneSign,          ///< positive, significands near 2: truncations that add up
  kLargeAmongSmall,  ///< one in 13 outweighs the others by 2^14 and more
  kAnyBits,          ///< of FP16 every finite number; of others exponents of -60..60
  kSpecial,          ///< as kSpread, but some NaN and Inf
};
constexpr const char* kDataNames[] = {"spread", "one sign", "large among small", "any bits", "special"};

std::uint32_t bits_of(FloatType type, double x) {
  switch (type) {
    case FloatType::kFp16:
      return Fp16::from(x).bits();
    case FloatType::kBf16:
      return Bf16::from(x).bits();
    case FloatType::kTf32:
      return Tf32::from(x).bits();
  }
  return 0;
}

std::uint32_t draw(Data data, FloatType type, std::int64_t h, int part, std::mt19937_64& rng) {
  const double sign = rng() % 2 == 0 ? 1.0 : -1.0;
  const double significand = 1.0 + static_cast<double>(rng() % 1024) / 1024.0;
  const int below = -11 * part;
  switch (data) {
    case Data::kSpread:
      return bits_of(type, sign * std::ldexp(significand, static_cast<int>(rng() % 8) + below + 4));
    case Data::kOneSign:
      return bits_of(type, std::ldexp(2.0 - static_cast<double>(rng() % 16) / 1024.0, 6 + below));
    case Data::kLargeAmongSmall:
      return bits_of(type, sign * std::ldexp(significand, (h % 13 == 5 ? 14 : -static_cast<int>(rng() % 14)) + below));
    case Data::kAnyBits:
      if (type == FloatType::kFp16) {
        const auto bits = static_cast<std::uint32_t>(rng() & 0xFFFF);
        return (bits & 0x7C00U) == 0x7C00U ? bits & 0x83FFU : bits;
      }
      return bits_of(type, sign * std::ldexp(significand, static_cast<int>(rng() % 121) - 60));
    case Data::kSpecial:
      if (rng() % 97 == 0) return bits_of(type, std::numeric_limits<double>::infinity() * sign);
      if (rng() % 197 == 0) return bits_of(type, std::numeric_limits<double>::quiet_NaN());
      return draw(Data::kSpread, type, h, part, rng);
  }
  return 0;
}

/// Three planes of lines of k elements, zero beyond them.
std::vector<std::uint8_t> make_planes(Data data, FloatType type, std::int64_t lines, std::int64_t k,
                                      std::int64_t row_stride, std::mt19937_64& rng) {
  const auto bytes = static_cast<std::size_t>(num::element_bytes(type));
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(num::kMaxParts * lines * row_stride) * bytes);
  for (int part = 0; part < num::kMaxParts; ++part) {
    for (std::int64_t i = 0; i < lines; ++i) {
      for (std::int64_t h = 0; h < k; ++h) {
        const std::uint32_t bits = draw(data, type, h, part, rng);
        std::memcpy(&planes[static_cast<std::size_t>((part * lines + i) * row_stride + h) * bytes], &bits, bytes);
      }
    }
  }
  return planes;
}

struct Extents {
  std::int64_t m, n, k;
};

struct Planes {
  FloatProductDesc desc;
  std::vector<std::uint8_t> a;
  std::vector<std::uint8_t> b;
};
Planes make_case(FloatProductDesc desc, const Extents& s, Data data, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const std::int64_t pad = product::kPadBytes / num::element_bytes(desc.type);
  desc.m = s.m;
  desc.n = s.n;
  desc.k = s.k;
  desc.a_row_stride = base::round_up(std::max<std::int64_t>(s.k, 1), pad);
  desc.b_row_stride = desc.a_row_stride + pad;
  desc.a_plane_stride = s.m * desc.a_row_stride;
  desc.b_plane_stride = s.n * desc.b_row_stride;
  desc.c_col_stride = s.m + 3;
  return {desc, make_planes(data, desc.type, s.m, s.k, desc.a_row_stride, rng),
          make_planes(data, desc.type, s.n, s.k, desc.b_row_stride, rng)};
}

std::vector<float> on_host(const Planes& x, const std::vector<float>& before) {
  std::vector<float> c = before;
  const Status status = tc_model_engine().run(x.desc, {.threads = 8}, {x.a.data(), x.b.data(), c.data()}, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  return c;
}

std::vector<float> on_device(const Planes& x, const std::vector<float>& before) {
  product::DeviceFacts facts;
  facts.space = product::MemorySpace::kDevice;
  facts.compute_capability = 90;
  facts.num_sms = 132;
  const auto answer = mma_engine().query(x.desc, facts);
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    ADD_FAILURE() << refusal->reason;
    return before;
  }
  const DeviceArray<std::uint8_t> a(x.a);
  const DeviceArray<std::uint8_t> b(x.b);
  const DeviceArray<float> c(before);
  const Status status = mma_engine().run(x.desc, std::get<Offer>(answer), {a.data(), b.data(), c.data()}, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  EXPECT_TRUE(c.guards_are_intact());
  return c.download();
}

/// Bits; any NaN is as good as another, and so is any zero.
bool are_same(float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }

void expect_equal(const FloatProductDesc& desc, const Extents& s, Data data, const std::string& what) {
  const Planes planes = make_case(desc, s, data, 17);
  const std::vector<float> before(static_cast<std::size_t>(planes.desc.c_col_stride * s.n), -12345.0F);
  const std::vector<float> model = on_host(planes, before);
  const std::vector<float> device = on_device(planes, before);
  std::size_t different = 0;
  std::size_t first = 0;
  for (std::size_t e = model.size(); e-- > 0;) {
    if (are_same(model[e], device[e])) continue;
    ++different;
    first = e;
  }
  EXPECT_EQ(different, 0U) << what << ", " << s.m << "x" << s.n << "x" << s.k << ", "
                           << kDataNames[static_cast<int>(data)] << ": element "
                           << first % static_cast<std::size_t>(planes.desc.c_col_stride) << ", "
                           << first / static_cast<std::size_t>(planes.desc.c_col_stride) << " is " << device[first]
                           << ", model " << model[first];
}

struct Algorithm {
  std::string name;
  FloatProductDesc desc;
};

Algorithm algorithm(const std::string& name, EcVariant variant, const ErrorCorrection& wishes = {}) {
  const ec::EcRecipe recipe = ec::ec_recipe(variant, wishes);
  return {name, ec::ec_arithmetic(recipe, num::hopper_tensor_core(recipe.type))};
}

/// The variants as they are, and with the wishes that change sums.
std::vector<Algorithm> algorithms() {
  std::vector<Algorithm> all;
  constexpr EcVariant kVariants[] = {EcVariant::kScaled,     EcVariant::kHalfhalf, EcVariant::kTf32tf32,
                                     EcVariant::kScaledTf32, EcVariant::kMarkidis, EcVariant::kFeng,
                                     EcVariant::kBf16x3,     EcVariant::kBf16x6,   EcVariant::kBf16x9,
                                     EcVariant::kFp16,       EcVariant::kTf32};
  for (const EcVariant variant : kVariants) {
    const std::string name(to_string(variant));
    all.push_back(algorithm(name, variant));
    ErrorCorrection wishes;
    wishes.promotion_k = 16;
    all.push_back(algorithm(name + ", promoted every 16", variant, wishes));
    wishes.promotion_k = 128;
    wishes.keep_small_term = true;
    wishes.promote_corrections = true;
    all.push_back(algorithm(name + ", promoted every 128, all terms", variant, wishes));
  }
  for (const auto& [name, core] : {std::pair{"markidis, mma_rn", num::mma_rn_tensor_core()},
                                   std::pair{"markidis, mma_rz", num::mma_rz_tensor_core()}}) {
    Algorithm apart = algorithm(name, EcVariant::kMarkidis);
    apart.desc.core = core;
    all.push_back(apart);
  }
  // What the kernels of engine hopper do: two pairs by turns, promotions of two intervals.
  Algorithm turns = algorithm("two pairs by turns", EcVariant::kScaled);
  turns.desc.sums[0].num_interleaved = 2;
  turns.desc.intervals_promoted = 2;
  all.push_back(turns);
  turns.name = "all pairs by turns, promoted every 3 intervals of 16";
  turns.desc.sums[0].num_interleaved = 3;
  turns.desc.intervals_promoted = 3;
  turns.desc.k_interval = 16;
  all.push_back(turns);
  return all;
}

TEST_F(MmaEngine, EqualsTheModelInEveryBit) {
  for (const Algorithm& a : algorithms()) {
    for (const Extents& s : {Extents{1, 1, 1}, {9, 17, 15}, {17, 100, 16}, {130, 70, 17}, {100, 129, 100}}) {
      for (const Data data : {Data::kSpread, Data::kOneSign, Data::kLargeAmongSmall, Data::kAnyBits, Data::kSpecial})
        expect_equal(a.desc, s, data, a.name);
    }
  }
}

TEST_F(MmaEngine, EqualsTheModelOverManyTilesAndLongSums) {
  for (const Algorithm& a : algorithms()) {
    for (const Extents& s : {Extents{300, 260, 300}, {40, 24, 4000}, {16, 16, 16384 + 9}}) {
      for (const Data data : {Data::kSpread, Data::kOneSign}) expect_equal(a.desc, s, data, a.name);
    }
  }
}

TEST_F(MmaEngine, GivesZerosWithoutTerms) {
  for (const Algorithm& a : algorithms()) expect_equal(a.desc, {20, 30, 0}, Data::kSpread, a.name);
}

}  // namespace
}  // namespace kizami::engines
