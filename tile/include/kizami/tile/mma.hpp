// SPDX-License-Identifier: MIT
// Matrix products of tiles: mma(a, b, acc) = acc + a b, and matmul(a, b).
//   a and b                    accumulator      matmul gives
//   8-bit integers             32-bit signed    int, exact
//   FP8 (both of one format)   FP16 or FP32     FP16
//   FP16                       FP16 or FP32     FP16
//   BF16, TF32, FP32           FP32             FP32
//   FP64                       FP64             FP64
// Narrow operands are multiplied and summed in FP32, whatever the accumulator, and rounded to it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kizami/tile/matrix_kernels.hpp"
#include "kizami/tile/reductions.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class E>
inline constexpr bool kIsInt8 = kIsIntegral<E> && sizeof(E) == 1;
template <class A, class B>
inline constexpr bool kCanMultiply = (kIsInt8<A> && kIsInt8<B>) || (kIsFloat<A> && std::is_same_v<A, B>);

template <class E, class Acc>
consteval bool accumulates() {
  if constexpr (kIsInt8<E>) {
    return kIsIntegral<Acc> && std::is_signed_v<Acc> && sizeof(Acc) == 4;
  } else if constexpr (kIsOneOf<E, __half, __nv_fp8_e4m3, __nv_fp8_e5m2>) {
    return kIsOneOf<Acc, __half, float>;
  } else {
    return std::is_same_v<Acc, std::conditional_t<std::is_same_v<E, double>, double, float>>;
  }
}

/// The element type that matmul gives.
template <class E>
struct ProductElement {
  using type = std::conditional_t<std::is_same_v<E, double>, double, float>;
};
template <class E>
requires kIsIntegral<E>
struct ProductElement<E> {
  using type = std::int32_t;
};
template <class E>
requires kIsOneOf<E, __half, __nv_fp8_e4m3, __nv_fp8_e5m2>
struct ProductElement<E> {
  using type = __half;
};

/// Extent of a matrix dimension (0 = rows, 1 = columns) or of the batch, for tiles of rank 2 and 3.
template <class S>
constexpr std::size_t matrix_extent(std::size_t dim) {
  return S::static_extent(S::rank() - 2 + dim);
}
template <class S>
constexpr std::size_t batch_extent() {
  return S::rank() == 3 ? S::static_extent(0) : 1;
}

template <class A, class B>
consteval bool matrices_fit() {
  if constexpr (A::rank() != B::rank() || (A::rank() != 2 && A::rank() != 3)) {
    return false;
  } else {
    constexpr bool kBatches =
        batch_extent<A>() == batch_extent<B>() || batch_extent<A>() == 1 || batch_extent<B>() == 1;
    return kBatches && matrix_extent<A>(1) == matrix_extent<B>(0);
  }
}
/// Shape of the product. @range matrices_fit<A, B>()
template <class A, class B, std::size_t kRank = A::rank()>
struct ProductShape {
  using type = shape<matrix_extent<A>(0), matrix_extent<B>(1)>;
};
template <class A, class B>
struct ProductShape<A, B, 3> {
  using type = shape<(batch_extent<A>() > batch_extent<B>() ? batch_extent<A>() : batch_extent<B>()),
                     matrix_extent<A>(0), matrix_extent<B>(1)>;
};
/// Whether the accumulator has the product's shape; a batch of the operands may be stretched to that of the
/// accumulator.
template <class A, class B, class Acc>
consteval bool accumulator_fits() {
  if constexpr (!matrices_fit<A, B>() || Acc::rank() != A::rank()) {
    return false;
  } else {
    return matrix_extent<Acc>(0) == matrix_extent<A>(0) && matrix_extent<Acc>(1) == matrix_extent<B>(1) &&
           (batch_extent<A>() == 1 || batch_extent<A>() == batch_extent<Acc>()) &&
           (batch_extent<B>() == 1 || batch_extent<B>() == batch_extent<Acc>());
  }
}

template <class A, class B>
consteval bool check_factors() {
  static_assert(kCanMultiply<ElementT<A>, ElementT<B>>,
                "mma, matmul: the factors must be 8-bit integers, or floating point of one and the same type (E4M3 and "
                "E5M2 do not mix); pointers and wider integers have no matrix product");
  static_assert(
      matrices_fit<ShapeT<A>, ShapeT<B>>(),
      "mma, matmul: the factors must be (M, K) and (K, N), or batched (B, M, K) and (B, K, N) with batches that "
      "are equal or 1");
  return kCanMultiply<ElementT<A>, ElementT<B>> && matrices_fit<ShapeT<A>, ShapeT<B>>();
}

template <class E>
consteval NarrowFormat narrow_format() {
  if constexpr (std::is_same_v<E, __half>) return NarrowFormat::kFp16;
  if constexpr (std::is_same_v<E, __nv_bfloat16>) return NarrowFormat::kBf16;
  if constexpr (std::is_same_v<E, __nv_tf32>) return NarrowFormat::kTf32;
  return std::is_same_v<E, __nv_fp8_e4m3> ? NarrowFormat::kE4m3 : NarrowFormat::kE5m2;
}

/// One product of the batch by the library's kernels.
template <class A, class B, class Acc>
void multiply(const A* a, const B* b, const Acc* c, Acc* out, std::size_t rows, std::size_t cols, std::size_t depth) {
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(cols);
  const int k = static_cast<int>(depth);
  if constexpr (kIsIntegral<A>) {
    multiply_add_int8(a, std::is_signed_v<A>, b, std::is_signed_v<B>, reinterpret_cast<const std::int32_t*>(c),
                      reinterpret_cast<std::int32_t*>(out), m, n, k);
  } else if constexpr (kIsNarrow<A>) {
    multiply_add_narrow(narrow_format<A>(), a, b, c, out, m, n, k);
  } else {
    multiply_add(a, b, c, out, m, n, k);
  }
}

/// One element of a product in debug mode: in the chosen order, with INT32 checked for overflow.
template <class Product, class A, class B>
[[nodiscard]] Product checked_dot(const std::vector<std::size_t>& order, const A* row, const B* col, std::size_t step,
                                  Product start, bool& overflows) {
  const Product sum = debug_combine(
      order,
      [&](std::size_t i) {
        return static_cast<Product>(scalar_cast<Product>(row[i]) * scalar_cast<Product>(col[i * step]));
      },
      [&](Product x, Product y) {
        overflows = overflows || !Add{}.fault(x, y).empty();
        return Add{}(x, y);
      });
  overflows = overflows || !Add{}.fault(start, sum).empty();
  return Add{}(start, sum);
}

/// acc + a b for all matrices of the batch. @range check_factors, accumulator_fits
template <class A, class B, class Acc>
[[nodiscard]] Acc multiply_add_tiles(const A& a, const B& b, const Acc& acc) noexcept {
  using SA = ShapeT<A>;
  using SB = ShapeT<B>;
  using SC = ShapeT<Acc>;
  constexpr std::size_t kRows = matrix_extent<SC>(0);
  constexpr std::size_t kCols = matrix_extent<SC>(1);
  constexpr std::size_t kDepth = matrix_extent<SA>(1);
  constexpr std::size_t kStepA = batch_extent<SA>() == 1 ? 0 : kRows * kDepth;
  constexpr std::size_t kStepB = batch_extent<SB>() == 1 ? 0 : kDepth * kCols;
  Acc result;
  if constexpr (kDebug) {
    using Product = WorkingT<ElementT<Acc>>;
    const std::vector<std::size_t> order = debug_order(kDepth);
    for (std::size_t i = 0; i < kSize<Acc>; ++i) {
      const std::size_t batch = i / (kRows * kCols);
      const std::size_t row = batch * kStepA + i / kCols % kRows * kDepth;
      const std::size_t col = batch * kStepB + i % kCols;
      bool is_defined = Access::is_defined(acc, i);
      for (std::size_t l = 0; l < kDepth; ++l) {
        is_defined = is_defined && Access::is_defined(a, row + l) && Access::is_defined(b, col + l * kCols);
      }
      bool overflows = false;
      Access::elements(result)[i] = scalar_cast<ElementT<Acc>>(
          checked_dot(order, Access::elements(a) + row, Access::elements(b) + col, kCols,
                      is_defined ? scalar_cast<Product>(Access::elements(acc)[i]) : Product{}, overflows));
      if (is_defined && overflows) report_element<Acc>("mma", i, "the sum overflows");
      Access::set_defined(result, i, is_defined && !overflows);
    }
  } else {
    for (std::size_t batch = 0; batch < batch_extent<SC>(); ++batch) {
      const auto* const c = Access::elements(acc) + batch * kRows * kCols;
      multiply(Access::elements(a) + batch * kStepA, Access::elements(b) + batch * kStepB, c,
               Access::elements(result) + batch * kRows * kCols, kRows, kCols, kDepth);
    }
  }
  return result;
}

}  // namespace detail

template <class A, class B, class Acc>
concept mma_compatible = numeric_tile<A> && numeric_tile<B> && numeric_tile<Acc> &&
    detail::kCanMultiply<detail::ElementT<A>, detail::ElementT<B>> &&
    detail::accumulates<detail::ElementT<A>, detail::ElementT<Acc>>() &&
    detail::accumulator_fits<detail::ShapeT<A>, detail::ShapeT<B>, detail::ShapeT<Acc>>();
template <class A, class B>
concept matmul_compatible = numeric_tile<A> && numeric_tile<B> &&
    detail::kCanMultiply<detail::ElementT<A>, detail::ElementT<B>> &&
    detail::matrices_fit<detail::ShapeT<A>, detail::ShapeT<B>>();
template <class A, class B>
requires matmul_compatible<A, B>
using matmul_result_t = tile<typename detail::ProductElement<detail::ElementT<A>>::type,
                             typename detail::ProductShape<detail::ShapeT<A>, detail::ShapeT<B>>::type>;

/// acc + a b. @shape (M, K), (K, N), (M, N); or batched, with B in front of each.
template <tile_like A, tile_like B, tile_like Acc>
[[nodiscard]] Acc mma(const A& a, const B& b, const Acc& acc) noexcept {
  if constexpr (detail::check_factors<A, B>()) {
    using E = detail::ElementT<A>;
    constexpr bool kAccumulates = detail::accumulates<E, detail::ElementT<Acc>>();
    static_assert(kAccumulates,
                  "mma: the accumulator must be of int for 8-bit integers, double for double, float for "
                  "float, TF32 and bfloat16, float or __half for __half and FP8");
    constexpr bool kFits = detail::accumulator_fits<detail::ShapeT<A>, detail::ShapeT<B>, detail::ShapeT<Acc>>();
    static_assert(kFits, "mma: the accumulator must be (M, N), or (B, M, N) if the factors are batched");
    if constexpr (kAccumulates && kFits) {
      if constexpr (std::is_same_v<detail::ElementT<Acc>, __half>) {
        using Wide = tile_with_element_t<Acc, float>;
        const Wide sum = detail::multiply_add_tiles(a, b, Wide(acc));
        return static_cast<Acc>(sum);
      } else {
        return detail::multiply_add_tiles(a, b, acc);
      }
    }
  }
}

/// a b. @shape (M, K), (K, N) give (M, N); batched (B, M, K), (B, K, N) give (B, M, N).
template <tile_like A, tile_like B>
[[nodiscard]] auto matmul(const A& a, const B& b) noexcept {
  if constexpr (detail::check_factors<A, B>()) {
    using Result = matmul_result_t<A, B>;
    Result zero;
    std::fill_n(detail::Access::elements(zero), detail::kSize<Result>,
                detail::scalar_cast<detail::ElementT<Result>>(0));
    detail::define_all(zero);
    return mma(a, b, zero);
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
