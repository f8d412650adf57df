// SPDX-License-Identifier: MIT
#include "num/crt_table.hpp"

namespace kizami::num {
namespace {

// One constant expression each: a compiler limits the work in a single one.
template <int N>
inline constexpr bool kIsRealBasis = is_crt_basis(make_crt<N>(kRealModuli), kRealModuli);
template <int N>
inline constexpr bool kIsComplexBasis = is_crt_basis(make_crt<N>(kComplexModuli), kComplexModuli);

template <int... Offsets>
[[nodiscard]] constexpr std::array<CrtTable, sizeof...(Offsets)> real_tables(std::integer_sequence<int, Offsets...>) {
  static_assert((kIsRealBasis<kMinModuli + Offsets> && ...));
  return {detail::make_crt_table<kMinModuli + Offsets>(Ring::kReal, Part::kReal, kRealModuli)...};
}

template <int... Offsets>
[[nodiscard]] constexpr std::array<CrtTable, sizeof...(Offsets)> complex_tables(
    Part part, std::integer_sequence<int, Offsets...>) {
  static_assert((kIsComplexBasis<kMinModuli + Offsets> && ...));
  return {detail::make_crt_table<kMinModuli + Offsets>(Ring::kComplex, part, kComplexModuli)...};
}

static_assert(bit_width(make_crt<kMaxRealModuli>(kRealModuli).product) == 342);
static_assert(bit_width(make_crt<kMaxComplexModuli>(kComplexModuli).product) == 203);
static_assert(342 + 1 <= kCrtDigitBits * kMaxCrtDigits);

using RealCounts = std::make_integer_sequence<int, kMaxRealModuli - kMinModuli + 1>;
using ComplexCounts = std::make_integer_sequence<int, kMaxComplexModuli - kMinModuli + 1>;

constexpr auto kRealTables = real_tables(RealCounts{});
constexpr auto kComplexRealPartTables = complex_tables(Part::kReal, ComplexCounts{});
constexpr auto kComplexImaginaryPartTables = complex_tables(Part::kImaginary, ComplexCounts{});

}  // namespace

const CrtTable& crt_table(Ring ring, int num_moduli, Part part) {
  const auto i = static_cast<std::size_t>(num_moduli - kMinModuli);
  if (ring == Ring::kReal) return kRealTables[i];
  return part == Part::kReal ? kComplexRealPartTables[i] : kComplexImaginaryPartTables[i];
}

}  // namespace kizami::num
