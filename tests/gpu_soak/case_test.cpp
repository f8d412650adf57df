// SPDX-License-Identifier: MIT
// Cases are drawn from seeds alone, keep their limits, and every feature occurs.
#include "gpu_soak/case.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace gpu_soak {
namespace {

constexpr std::uint64_t kNumSeeds = 10000;
constexpr const char* kCaseSeven =
    "z gemm [tn 593x625x196, A ld 196 at 67, B ld 200 at 64, C ld 602 at 64, alpha 1, beta 2.5+0.25i], device factors, "
    "A uniform, phi 3 by rows, B uniform, phi 0 by elements";

TEST(Cases, AreThoseOfTheirSeed) {
  const Limits limits;
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string text = text_of(draw_case(seed, limits));
    EXPECT_EQ(text, text_of(draw_case(seed, limits)));
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 1000U);
  // Whatever the standard library: seeds are written down.
  EXPECT_EQ(text_of(draw_case(7, limits)), kCaseSeven);
}

/// A matrix lies within its buffer and before the next one; C's products do not overlap.
void expect_placed(const Matrix& x, std::int64_t rows, std::int64_t cols, int num_products, std::int64_t used,
                   std::int64_t buffer_elements, bool may_share) {
  EXPECT_EQ(x.rows, rows);
  EXPECT_EQ(x.cols, cols);
  EXPECT_GE(x.ld, std::max<std::int64_t>(rows, 1));
  EXPECT_GE(x.offset, kGuard);
  EXPECT_LE(x.end(num_products) + kGuard, used);
  EXPECT_LE(used, buffer_elements);
  EXPECT_TRUE(num_products == 1 || x.stride >= x.ld * cols || (may_share && x.stride == 0));
  EXPECT_LT(x.rotation, num_products);
}

void expect_valid(const Case& x, const Limits& limits) {
  SCOPED_TRACE(text_of(x));
  const std::int64_t elements = limits.buffer_bytes() / element_bytes(x.scalar);
  ASSERT_FALSE(x.sections.empty());
  EXPECT_LE(x.num_products(), kMaxProducts);
  std::int64_t end_of_c = 0;
  for (const Section& s : x.sections) {
    using kizami::Op;
    EXPECT_LE(std::max({s.m, s.n, s.k}), std::int64_t{1} << 27);
    expect_placed(s.c, s.m, s.n, s.num_products, x.used_c(), elements, false);
    EXPECT_GE(s.c.offset, end_of_c);
    end_of_c = s.c.end(s.num_products);
    if (is_level3(x.routine)) {
      EXPECT_TRUE(s.m > 0 && s.n > 0 && s.k > 0);
      const bool is_plain = s.op_a == Op::kNone;
      const bool is_update = is_rank_update(x.routine);
      expect_placed(s.a, is_update && is_plain ? s.n : s.k, is_update && !is_plain ? s.n : s.k, 1, x.used_a(), elements,
                    false);
      EXPECT_TRUE(is_update || s.k == (x.is_left ? s.m : s.n));
    } else {
      const bool is_a_plain = s.op_a == Op::kNone, is_b_plain = s.op_b == Op::kNone;
      expect_placed(s.a, is_a_plain ? s.m : s.k, is_a_plain ? s.k : s.m, s.num_products, x.used_a(), elements, true);
      expect_placed(s.b, is_b_plain ? s.k : s.n, is_b_plain ? s.n : s.k, s.num_products, x.used_b(), elements, true);
    }
    EXPECT_TRUE(!x.has_untouchable_c || s.beta == 0.0);
    EXPECT_TRUE(x.routine != Routine::kHerk || (s.alpha.imag() == 0 && s.alpha.real() != 0 && s.beta.imag() == 0));
  }
  for (const Exception& e : x.exceptions) {
    EXPECT_GE(e.at, kGuard);
    EXPECT_LT(e.at, (e.is_in_a ? x.used_a() : x.used_b()) * (kizami::is_complex(x.scalar) ? 2 : 1));
  }
}

TEST(Cases, KeepTheirLimits) {
  for (const std::int64_t max_size : {8, 50, 300, 3200, 8000}) {
    Limits limits;
    limits.max_size = max_size;
    limits.large_every = max_size == 300 ? 0 : 4;
    for (std::uint64_t seed = 0; seed < kNumSeeds / 4; ++seed) expect_valid(draw_case(seed, limits), limits);
  }
}

TEST(Cases, HaveEveryFeature) {
  const Limits limits;
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const Case x = draw_case(seed, limits);
    const Section& s = x.first();
    const std::string type(1, letter_of(x.scalar));
    ++seen[type + " " + name_of(x.routine)];
    ++seen[std::string("op a ") + char('0' + int(s.op_a))];
    ++seen[std::string("op b ") + char('0' + int(s.op_b))];
    seen["graph"] += x.num_replays > 0;
    seen["workspace"] += x.workspace_bytes > 0;
    seen["device factors"] += x.has_device_factors;
    seen["arrays in host memory"] += x.routine == Routine::kBatched && x.has_host_arrays;
    seen["NaN in C0"] += x.has_untouchable_c;
    seen["in place"] += x.is_in_place;
    seen["m = 0"] += s.m == 0;
    seen["n = 0"] += s.n == 0;
    seen["k = 0"] += s.k == 0;
    seen["alpha = 0"] += s.alpha == 0.0;
    seen["alpha = 1, beta = 0"] += s.alpha == 1.0 && s.beta == 0.0;
    seen["complex alpha"] += s.alpha.imag() != 0;
    seen["complex beta"] += s.beta.imag() != 0;
    seen["shared matrix"] += s.num_products > 1 && (s.a.stride == 0 || s.b.stride == 0);
    seen["rotated arrays"] += s.c.rotation != 0;
    seen["groups"] += x.sections.size() > 1;
    seen["slack"] += s.a.ld > s.a.rows && s.c.ld > s.c.rows;
    seen["off alignment"] += s.a.offset % 4 != 0 && s.c.offset % 4 != 0;
    seen["edge of a tile"] += s.m % 64 == 63 || s.m % 64 == 1;
    seen["long k"] += s.k > limits.max_size;
    seen["flat"] += s.m <= 8 && s.n > 1000;
    seen["large"] += s.m > 2000 && s.n > 2000 && s.k > 1000;
    seen["order for products"] += is_level3(x.routine) && s.n > 4096;
    seen["phi = 6"] += x.a.phi == 6;
    seen["mostly zero"] += x.a.numbers == Numbers::kMostlyZero;
    seen["integers"] += x.b.numbers == Numbers::kIntegers;
    for (const Exception& e : x.exceptions) ++seen[e.kind == 0 ? "NaN" : e.kind > 0 ? "Inf" : "-Inf"];
  }
  for (const auto& [feature, count] : seen) EXPECT_GE(count, 5) << feature;
  for (const char* type : {"s ", "d ", "c ", "z "}) {
    for (int i = 0; i < kNumRoutines; ++i) {
      const auto routine = static_cast<Routine>(i);
      const bool is_complex = type[0] == 'c' || type[0] == 'z';
      if (routine == Routine::kGrouped ? is_complex
                                       : (routine == Routine::kHerk || routine == Routine::kHemm) && !is_complex)
        continue;
      EXPECT_GE(seen[std::string(type) + name_of(routine)], 20) << type << name_of(routine);
    }
  }
}

TEST(Cases, LargeOnesReachTheKernelsOfLargeProducts) {
  constexpr std::int64_t kEvery = 8;
  Limits limits;
  limits.max_size = 300;
  const Limits none = limits;
  limits.large_every = kEvery;
  EXPECT_EQ(limits.buffer_bytes(), Limits::bytes_for(Limits::kLargeSide));
  EXPECT_EQ(none.buffer_bytes(), Limits::bytes_for(300));
  std::map<std::string, std::uint64_t> seen;
  std::map<std::array<std::int64_t, 4>, int> calls_of_shape;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const Case x = draw_case(seed, limits);
    if (!x.is_large) {
      ASSERT_EQ(text_of(x), text_of(draw_case(seed, none)));
      continue;
    }
    expect_valid(x, limits);
    const Section& s = x.first();
    EXPECT_EQ(x.num_products(), 1);
    EXPECT_LE(std::max(s.m, s.n), Limits::kLargestSide);
    ++seen["large"];
    ++calls_of_shape[{static_cast<std::int64_t>(x.scalar), s.m, s.n, s.k}];
    const std::string type(1, letter_of(x.scalar));
    const bool has_large_result = s.m * s.n >= (std::int64_t{1} << 22);
    const bool is_scouted = std::min({s.m, s.n, s.k}) >= 3072;
    const bool is_learned = s.m * s.n * s.k >= (std::int64_t{1} << 33);
    seen[type + " result of 2^22 elements, short"] += has_large_result && !is_learned;
    seen[type + " all of 3072"] += is_scouted && has_large_result && is_learned;
    seen[type + " 2^33 terms without a scout"] += is_learned && !is_scouted;
    seen[type + " 2^33 terms, smaller result"] += is_learned && !has_large_result;
    seen[type + " beyond 4000"] += s.m > 4000;
    for (const Elements& e : {x.a, x.b}) seen[type + " phi = 6"] += e.phi == 6;
    seen[type + " graph"] += x.num_replays > 0;
    seen[name_of(x.routine)] += 1;
  }
  EXPECT_NEAR(static_cast<double>(seen["large"]), double{kNumSeeds} / kEvery, double{kNumSeeds} / kEvery / 5);
  EXPECT_EQ(seen.erase("z beyond 4000"), 1U);
  for (const auto& [kind, count] : seen) EXPECT_GE(count, 10U) << kind;
  for (const char* type : {"s", "d", "c", "z"}) {
    for (const char* kind : {" result of 2^22 elements, short", " all of 3072", " 2^33 terms without a scout",
                             " 2^33 terms, smaller result"})
      EXPECT_EQ(seen.count(std::string(type) + kind), 1U) << type << kind;
    const auto scalar = static_cast<std::int64_t>(std::string_view("sdcz").find(*type));
    int shared = 0;  // of shapes that come again and again: their calls have the same plan
    for (const auto& [shape, count] : calls_of_shape) shared += shape[0] == scalar && count >= 20;
    EXPECT_EQ(shared, 3) << type;
  }
}

TEST(Cases, AreLargeOnlyWhereARoutineForOneProductIsWanted) {
  Limits limits;
  limits.large_every = 1;
  limits.features = Features::parse("level3,batched");
  for (std::uint64_t seed = 0; seed < 200; ++seed) EXPECT_FALSE(draw_case(seed, limits).is_large);
  limits.features = Features::parse("level3,lt,empty");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case x = draw_case(seed, limits);
    EXPECT_TRUE(x.is_large && x.routine == Routine::kLt && x.first().k > 0) << text_of(x);
  }
}

TEST(Cases, AreOfTheFeaturesAskedFor) {
  Limits limits;
  limits.features = Features::parse("lt,strided");
  EXPECT_EQ(limits.features.text(), "strided,lt");
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case x = draw_case(seed, limits);
    EXPECT_TRUE(x.routine == Routine::kLt || x.routine == Routine::kStrided);
    EXPECT_TRUE(x.num_replays == 0 && x.workspace_bytes == 0 && x.exceptions.empty() && x.first().k > 0);
  }
  EXPECT_THROW(static_cast<void>(Features::parse("gemm,gem")), std::invalid_argument);
  limits.features = Features::parse("grouped");
  limits.types = "z";
  EXPECT_THROW(static_cast<void>(draw_case(1, limits)), std::invalid_argument);
}

}  // namespace
}  // namespace gpu_soak
