// SPDX-License-Identifier: MIT
#include "num/crt_table.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "base/fork_safe.hpp"
#include "base/fp_environment.hpp"

namespace kizami::num {
namespace {

// One constant expression each: a compiler limits the work in a single one.
template <int N>
inline constexpr bool kIsRealBasis = is_crt_basis(make_crt<N>(kRealModuli), kRealModuli);
template <int N>
inline constexpr bool kIsComplexBasis = is_crt_basis(make_crt<N>(kComplexModuli), kComplexModuli);

template <int... Offsets>
[[nodiscard]] constexpr bool are_real_bases(std::integer_sequence<int, Offsets...>) {
  return (kIsRealBasis<kMinModuli + Offsets> && ...);
}
template <int... Offsets>
[[nodiscard]] constexpr bool are_complex_bases(std::integer_sequence<int, Offsets...>) {
  return (kIsComplexBasis<kMinModuli + Offsets> && ...);
}

constexpr int kNumRealCounts = kMaxRealModuli - kMinModuli + 1;
constexpr int kNumComplexCounts = kMaxComplexModuli - kMinModuli + 1;
static_assert(are_real_bases(std::make_integer_sequence<int, kNumRealCounts>{}));
static_assert(are_complex_bases(std::make_integer_sequence<int, kNumComplexCounts>{}));
static_assert(bit_width(make_crt<kMaxRealModuli>(kRealModuli).product) == 342);
static_assert(bit_width(make_crt<kMaxComplexModuli>(kComplexModuli).product) == 203);
static_assert(342 + 1 <= kCrtDigitBits * kMaxCrtDigits);

/// What plane number `plane` of its modulus p counts in a part, as a residue in [0, p).
[[nodiscard]] int plane_coefficient(Ring ring, Part part, int l, int plane) {
  if (ring == Ring::kReal) return 1;
  const int p = modulus(ring, l);
  if (l < kTwoProductModuli) {
    const int divisor = part == Part::kReal ? 2 : 2 * sqrt_minus_one(p);
    const int inverse = modular_inverse(divisor, p);
    return part == Part::kImaginary && plane == 1 ? p - inverse : inverse;
  }
  if (part == Part::kReal) return plane == 0 ? 1 : plane == 1 ? p - 1 : 0;
  return plane == 2 ? 1 : p - 1;
}

[[nodiscard]] CrtTable make_crt_table(Ring ring, int num_moduli, Part part) {
  const base::FpEnvironmentGuard guard;  // only the fractions are rounded
  const CrtInt product =
      ring == Ring::kReal ? modulus_product(kRealModuli, num_moduli) : modulus_product(kComplexModuli, num_moduli);
  CrtTable table;
  table.num_moduli = num_moduli;
  table.num_planes = num_planes(ring, num_moduli);
  table.num_digits = (bit_width(product) + 1 + kCrtDigitBits - 1) / kCrtDigitBits;
  table.product_wide = product;
  table.half_wide = shift_right(sub(product, CrtInt(1)), 1);
  for (int d = 0; d < table.num_digits; ++d) table.product[d] = detail::crt_digit(product, d);
  for (int l = 0; l < num_moduli; ++l) {
    const int p = modulus(ring, l);
    const CrtTerm term = crt_term(product, p);
    for (int i = 0; i < planes_of_modulus(ring, l); ++i) {
      const CrtInt weight = scaled_weight(term, p, plane_coefficient(ring, part, l, i));
      const int q = num_planes(ring, l) + i;
      for (int d = 0; d < table.num_digits; ++d) table.weight[q][d] = detail::crt_digit(weight, d);
      table.fraction[q] = to_double_down(weight) / to_double_down(product);
    }
  }
  return table;
}

using Tables = std::array<base::MadeOnce<CrtTable>, kNumRealCounts>;  // by number of moduli
static_assert(kNumComplexCounts <= kNumRealCounts);
constinit Tables real_tables;
constinit Tables complex_tables[2];  // by part

}  // namespace

const CrtTable& crt_table(Ring ring, int num_moduli, Part part) {
  Tables& tables = ring == Ring::kReal ? real_tables : complex_tables[part == Part::kReal ? 0 : 1];
  return tables[static_cast<std::size_t>(num_moduli - kMinModuli)].get(
      [&] { return make_crt_table(ring, num_moduli, part); });
}

}  // namespace kizami::num
