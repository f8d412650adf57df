// SPDX-License-Identifier: MIT
// Every enumerator has a name, and every name an enumerator.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "check/case.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami {
namespace {

/// Whether a number is that of an enumerator: g++ and clang print one by its name, and any other number as a cast.
template <class E, E kValue>
constexpr bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view kMark = "kValue = ";
  return text[text.find(kMark) + kMark.size()] != '(';
}

constexpr std::size_t kMostEnumerators = 64;

template <class E, std::size_t... kNumbers>
constexpr std::size_t num_enumerators(std::index_sequence<kNumbers...>) {
  return (std::size_t{0} + ... + (is_enumerator<E, static_cast<E>(kNumbers)>() ? 1 : 0));
}
template <class E>
constexpr bool has_all_names =
    num_enumerators<E>(std::make_index_sequence<kMostEnumerators>()) == std::size(Names<E>::kAll) &&
    std::size(Names<E>::kAll) < kMostEnumerators;

enum class Three : std::uint8_t { kOne, kTwo, kThree };
static_assert(num_enumerators<Three>(std::make_index_sequence<kMostEnumerators>()) == 3);

template <class E>
class NamesTest : public testing::Test {};
using Enums =
    testing::Types<StatusCode, Scalar, Op, Layout, Side, Gauge, Accuracy::Kind, Scheme, EngineName, EcVariant,
                   TensorCoreModel, SliceFormat, SliceSplit, SliceSums, ComplexForm, Reproducibility, check::BatchForm>;
TYPED_TEST_SUITE(NamesTest, Enums);

TYPED_TEST(NamesTest, EveryEnumeratorHasOne) {
  static_assert(has_all_names<TypeParam>);
  std::set<std::string_view> names;
  for (int number = 0; number <= kLastValue<TypeParam>; ++number) {
    const auto value = static_cast<TypeParam>(number);
    const std::string_view name = to_string(value);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(named<TypeParam>(name), value);
    EXPECT_EQ(name.data()[name.size()], '\0');
  }
  EXPECT_EQ(to_string(static_cast<TypeParam>(kLastValue<TypeParam> + 1)), "unknown");
  EXPECT_FALSE(named<TypeParam>("unknown").has_value());
  EXPECT_FALSE(named<TypeParam>("").has_value());
}

}  // namespace
}  // namespace kizami
