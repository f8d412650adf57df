// SPDX-License-Identifier: MIT
// The table of wishes: every field of Policy has a row, what is printed is read back, and what is not allowed changes
// nothing.
#include "kizami/wishes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "kizami/text.hpp"

namespace kizami {
namespace {

/// Converts to the type of any field.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
/// How many fields an aggregate has.
template <class T, class... Fields>
constexpr std::size_t num_fields(Fields... fields) {
  if constexpr (requires { T{fields..., Anything{}}; }) {
    return num_fields<T>(fields..., Anything{});
  } else {
    return sizeof...(fields);
  }
}

TEST(Wishes, EveryFieldHasOne) {
  // Policy holds the two others, each as one field.
  EXPECT_EQ(wishes().size(), num_fields<Policy>() - 2 + num_fields<ErrorCorrection>() + num_fields<Slicing>());
  std::set<std::string_view> keys;
  for (const Wish& wish : wishes()) {
    EXPECT_TRUE(keys.insert(wish.key).second) << wish.key << " twice";
    EXPECT_EQ(wish.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos) << wish.key;
    EXPECT_EQ(find_wish(wish.key), &wish);
    EXPECT_FALSE(wish.meaning.empty());
    EXPECT_FALSE(wish.values().empty());
  }
}

/// A value that is not the default.
std::string other_value(const Wish& wish) {
  const std::string value = wish.get(Policy{});
  for (const char* other : {"bits=40", "norm", "ozaki1", "tile", "none", "refuse", "reject", "allowed", "scaled", "16",
                            "1", "0", "ampere", "fp16", "nearest", "pairs", "matrix", "karatsuba", "3"}) {
    Policy policy;
    if (value != other && wish.set(policy, other)) return other;
  }
  return {};
}

TEST(Wishes, EachChangesItsOwnField) {
  Policy all;
  std::set<std::string> printed;
  for (const Wish& wish : wishes()) {
    const std::string value = other_value(wish);
    ASSERT_FALSE(value.empty()) << wish.key;
    Policy one;
    EXPECT_TRUE(set_wish(one, wish.key, value).ok()) << wish.key;
    EXPECT_NE(one, Policy{}) << wish.key;
    EXPECT_EQ(get_wish(one, wish.key).value(), value);
    EXPECT_EQ(print_wishes(one), std::string(wish.key) + "=" + value);
    for (const Wish& other : wishes()) {
      if (&other == &wish) continue;
      EXPECT_EQ(other.get(one), other.get(Policy{})) << wish.key << " changes " << other.key;
    }
    EXPECT_TRUE(set_wish(one, wish.key, wish.get(Policy{})).ok());
    EXPECT_EQ(one, Policy{}) << wish.key;
    EXPECT_TRUE(set_wish(all, wish.key, value).ok());
  }
  Policy read;
  std::string text = print_wishes(all) + " ";
  for (std::size_t end = text.find(' '); end != std::string::npos; end = text.find(' ')) {
    const std::size_t equals = text.find('=');
    ASSERT_TRUE(set_wish(read, text.substr(0, equals), text.substr(equals + 1, end - equals - 1)).ok()) << text;
    text.erase(0, end + 1);
  }
  EXPECT_EQ(read, all);
  EXPECT_EQ(print_wishes(all, all), "");
}

TEST(Wishes, EveryNameOfAnEnumIsTaken) {
  for (const Wish& wish : wishes()) {
    if (wish.kind != Wish::Kind::kWord || wish.key == "accuracy") continue;
    std::string values = wish.values() + ", ";
    for (std::size_t end = values.find(", "); end != std::string::npos; end = values.find(", ")) {
      const std::string value = values.substr(0, end);
      Policy policy;
      EXPECT_TRUE(wish.set(policy, value)) << wish.key << " = " << value;
      EXPECT_EQ(wish.get(policy), value);
      values.erase(0, end + 2);
    }
  }
}

struct Refusal {
  const char* key;
  const char* value;
  const char* reason;
};

TEST(Wishes, WhatIsNotAllowedIsNamedAndChangesNothing) {
  const Refusal refusals[] = {
      {"gauge", "row", "gauge = 'row', must be one of entry, norm"},
      {"gauge", "Norm", "gauge = 'Norm', must be one of entry, norm; did you mean norm?"},
      {"accuracy", "bits=0", "accuracy = 'bits=0', must be one of native, correct, bits=N with N in 1..100"},
      {"accuracy", "bits=101", "accuracy = 'bits=101', must be one of native, correct, bits=N with N in 1..100"},
      {"accuracy", "bits", "accuracy = 'bits', must be one of native, correct, bits=N with N in 1..100"},
      {"slices", "21", "slices = '21', must be in -1..20"},
      {"slices", "-2", "slices = '-2', must be in -1..20"},
      {"slices", "7.0", "slices = '7.0', must be in -1..20"},
      {"diagonals", "40", "diagonals = '40', must be in -1..39"},
      {"promotion_k", "24", "promotion_k = '24', must be in 0..65536, multiples of 16"},
      {"promotion_k", "65552", "promotion_k = '65552', must be in 0..65536, multiples of 16"},
      {"remainder_shift", "13", "remainder_shift = '13', must be in -1..12"},
      {"karatsuba", "2", "karatsuba = '2', must be one of 0, 1"},
      {"threads", "99999999999999999999", "threads = '99999999999999999999', must be in 0..32767"},
      {"threads", "", "threads = '', must be in 0..32767"},
      {"threads", " 1", "threads = ' 1', must be in 0..32767"},
      {"workspace", "1T", "workspace = '1T', must be in 0..1125899906842624, also with K, M or G"},
      {"workspace", "2097153G", "workspace = '2097153G', must be in 0..1125899906842624, also with K, M or G"},
      {"workspace", "-1", "workspace = '-1', must be in 0..1125899906842624, also with K, M or G"},
      {"workspace", "K", "workspace = 'K', must be in 0..1125899906842624, also with K, M or G"},
  };
  for (const Refusal& refusal : refusals) {
    Policy policy;
    policy.threads = 3;
    const Policy before = policy;
    const Status status = set_wish(policy, refusal.key, refusal.value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), refusal.reason);
    EXPECT_EQ(policy, before);
  }
  Policy policy;
  EXPECT_EQ(set_wish(policy, "threads", "x", "KIZAMI_THREADS").reason(), "KIZAMI_THREADS = 'x', must be in 0..32767");
  const Status unknown = set_wish(policy, "acuracy", "native");
  EXPECT_EQ(unknown.reason().substr(0, 70), "the wish 'acuracy' is unknown, must be one of accuracy, gauge, scheme,");
  EXPECT_EQ(get_wish(policy, "").status().code(), StatusCode::kInvalidArgument);
}

TEST(Wishes, LimitsAreTaken) {
  Policy policy;
  for (const auto& [key, value] : {std::pair{"slices", "20"},
                                   {"slices", "-1"},
                                   {"diagonals", "39"},
                                   {"slice_bits", "11"},
                                   {"promotion_k", "65536"},
                                   {"remainder_shift", "12"},
                                   {"threads", "32767"},
                                   {"workspace", "1048576G"},
                                   {"moduli", "64"},
                                   {"accuracy", "bits=100"}}) {
    EXPECT_TRUE(set_wish(policy, key, value).ok()) << key << " = " << value;
    EXPECT_EQ(get_wish(policy, key).value(), value);
  }
}

TEST(Text, QuotesWhatStrangersSay) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes(std::string_view("\x1b[1m\0\xff", 6)), "'\\x1b[1m\\x00\\xff'");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(Text, BytesAreReadAsPrinted) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023}, std::uint64_t{1} << 10,
                                    std::uint64_t{3} << 20, (std::uint64_t{1} << 30) + 1024, kMaxBytes}) {
    std::uint64_t read = 7;
    EXPECT_EQ(parse_bytes(print_bytes(bytes), read), IntegerFault::kNone);
    EXPECT_EQ(read, bytes) << print_bytes(bytes);
  }
  std::uint64_t read = 7;
  EXPECT_EQ(parse_bytes("1048577G", read), IntegerFault::kOutOfRange);
  EXPECT_EQ(parse_bytes("1KK", read), IntegerFault::kNotAnInteger);
  EXPECT_EQ(parse_bytes("", read), IntegerFault::kNotAnInteger);
  EXPECT_EQ(read, 7U);
}

}  // namespace
}  // namespace kizami
