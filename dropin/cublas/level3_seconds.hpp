// SPDX-License-Identifier: MIT
// What routines of level 3 that come apart by halves (level3/halves.hpp) take, by the model: cuBLAS' own routine, and
// products of what lies beside the diagonal with diagonal blocks of some order. The planner says what products take on
// the device. Here is what the routines take beside products of as many operations, fitted to
// lab/results/h200/level3.jsonl: shares of such a product, which the rates of other cards are in, and the steps of a
// substitution, which no card has many of at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "dropin/level3/products.hpp"
#include "dropin/policy/call.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin::cublas {

/// A call without its matrices.
struct BlockedCall {
  Routine routine = Routine::kSyrk;
  Scalar scalar = Scalar::kF64;
  std::int64_t order = 0;  ///< of the triangle
  std::int64_t width = 0;  ///< of a triangle of C the inner size, else lines of C across A
  bool is_left = true;     ///< of triangular A
  bool is_solved = false;  ///< diagonal blocks are by solve_block.hpp

  [[nodiscard]] bool operator==(const BlockedCall&) const = default;
};
[[nodiscard]] inline BlockedCall blocked_call(const Shape& x, Scalar scalar) {
  const bool has_own = has_triangle(x.routine);
  const bool is_left = has_own || x.side == 'L';
  return {x.routine, scalar, level3::order_of(x), has_own ? x.k : is_left ? x.n : x.m, is_left, false};
}

/// @param products  seconds of one product: .quickest(m, n, k) of whom the planner would give it to, .native(m, n, k) of
///        cuBLAS. Each may be a plan that has to be made, so neither is asked for in vain.
template <class Products>
class Level3Seconds {
 public:
  Level3Seconds(const BlockedCall& call, Products& products) : call_(call), products_(products) {}

  /// cuBLAS' routine.
  [[nodiscard]] double native() const { return native_of(call_.order); }

  /// Products and diagonal blocks of at most so many lines.
  [[nodiscard]] double by_halves(std::int64_t block) const {
    double seconds = 0;
    double count = 1;
    std::int64_t order = call_.order;
    while (order > block) {
      const std::int64_t half = order / 2;
      seconds += count * products_of_update() *
                 of_product(order - half, half, [&](auto... x) { return products_.quickest(x...); });
      order = half;
      count *= 2;
    }
    seconds += count * (call_.is_solved ? solved_of(order) : native_of(order));
    return is_rank_2k(call_.routine) && call_.order < kLongRank2k ? kShortRank2k * seconds : seconds;
  }

  /// One product that leaves the other triangle of C out, where that of all of C takes so long.
  [[nodiscard]] double of_triangle(double seconds_of_all) const {
    constexpr double kNotHalved = 80e-6;  // launches, and kernels that few blocks of threads have
    constexpr double kLines = 150;        // tiles of the diagonal are made whole
    return 0.5 * (1.0 + kLines / static_cast<double>(call_.order)) * seconds_of_all + kNotHalved;
  }

 private:
  /// Tiles of the diagonal are made whole: as if the triangle had so many lines more.
  [[nodiscard]] double share_of_tiles(std::int64_t order) const {
    constexpr double kOfC = 300;
    constexpr std::array<double, 4> kOfA = {800, 600, 900, 330};
    const double lines = has_triangle(call_.routine) ? kOfC : kOfA[index_of(call_.scalar)];
    return 1.0 + lines / static_cast<double>(order);
  }
  /// Short calls of rank 2 k took an H200 up to so many times the sum of their products and blocks (ssyr2k and zsyr2k of
  /// 2048, csyr2k of 1536); which of them takes it was not measured.
  static constexpr std::int64_t kLongRank2k = 4096;
  static constexpr double kShortRank2k = 1.6;
  [[nodiscard]] double products_of_update() const { return is_rank_2k(call_.routine) ? 2 : 1; }

  /// Of lines that take by lines that give.
  template <class Seconds>
  [[nodiscard]] double of_product(std::int64_t taking, std::int64_t giving, const Seconds& seconds) const {
    if (has_triangle(call_.routine)) return seconds(taking, giving, call_.width);
    return call_.is_left ? seconds(taking, call_.width, giving) : seconds(call_.width, taking, giving);
  }
  [[nodiscard]] double native_product(std::int64_t order) const {
    return of_product(order, order, [&](auto... x) { return products_.native(x...); });
  }

  [[nodiscard]] double native_of(std::int64_t order) const {
    const double halves = 0.5 * products_of_update() * native_product(order);
    if (call_.routine != Routine::kTrsm) return share_of_tiles(order) * halves;
    constexpr double kOfCublas = 256;  // lines that it solves at a time
    return halves + static_cast<double>(order) / kOfCublas * steps_of_cublas();
  }
  /// What the steps of cuBLAS' substitution in as many lines take beside their operations: a start, and of each column.
  [[nodiscard]] double steps_of_cublas() const {
    struct Steps {
      double start;
      double column;
    };
    constexpr std::array<Steps, 4> kOf256 = {{{45e-6, 12.5e-9}, {66e-6, 17e-9}, {110e-6, 0.5e-9}, {60e-6, 33e-9}}};
    const Steps& steps = kOf256[index_of(call_.scalar)];
    return steps.start + steps.column * static_cast<double>(call_.width);
  }

  /// solve_block(): a line after the other, columns side by side until all multiprocessors have some. By 16, 18.6 and 24.6
  /// microseconds of 128 lines and 64, 4096 and 8192 columns (docs/perf/factorizations.md).
  [[nodiscard]] double solved_of(std::int64_t order) const {
    constexpr double kLaunch = 3e-6;
    constexpr double kLine = 0.095e-6;
    constexpr double kColumn = 0.0085e-9;  // of a line
    const double lines = static_cast<double>(order);
    const double steps = lines * (kLine + kColumn * static_cast<double>(call_.width));
    return kLaunch + std::max(steps, 0.5 * native_product(order));
  }

  [[nodiscard]] static std::size_t index_of(Scalar scalar) {
    switch (scalar) {
      case Scalar::kF32:
        return 0;
      case Scalar::kC64:
        return 2;
      case Scalar::kC128:
        return 3;
      default:
        return 1;
    }
  }

  const BlockedCall& call_;
  Products& products_;
};

/// The order of the largest diagonal block where bits must not depend on a prediction. Native ones: on an H200 (orders of
/// 2048 to 8192) the best of 256..4096, or near it, for all orders: 1024 in place of 2048 costs syrk of FP64 15 %, 2048
/// in place of 512 trmm of complex FP32 a third. Solved ones: 256 in place of 128 costs strsm 7 to 22 % at orders of 1024
/// to 8192, and dtrsm 9 % at 8192.
[[nodiscard]] inline std::int64_t fixed_block(const BlockedCall& call) {
  const auto most = [&]() -> std::int64_t {
    const bool has_own = has_triangle(call.routine);
    if (call.is_solved) return 128;
    if (call.scalar == Scalar::kC64) return has_own ? 1024 : 512;
    return has_own || real_of(call.scalar) == Scalar::kF64 ? 2048 : 1024;
  };
  constexpr std::int64_t kSmall = 512;  // what is emulated where that is asked for, and then most of it
  return call.order < kSmall ? std::max<std::int64_t>(call.order / 4, 1) : std::min((call.order + 1) / 2, most());
}

/// Who is quickest.
struct Level3Choice {
  std::int64_t block = 0;  ///< of diagonal blocks, where the call comes apart by halves; 0: cuBLAS answers all of it
  double seconds = 0;
  bool is_triangle = false;  ///< by one product that leaves the other triangle out, which is the quickest
};
/// @param whole  seconds of all of C where one product can leave a triangle of it out; infinite: none can
/// @param gain   cuBLAS is left only what is predicted to take so many times as long by it
template <class Products>
[[nodiscard]] Level3Choice level3_choice(const BlockedCall& call, double whole, double gain, Products& products) {
  constexpr std::int64_t kLeast = 128;
  constexpr double kWorthMore = 1.1;  // smaller blocks are more products, each with an error of its own
  const Level3Seconds seconds(call, products);
  const std::int64_t fixed = fixed_block(call);
  Level3Choice best{.block = fixed, .seconds = seconds.by_halves(fixed)};
  for (std::int64_t block = fixed / 2; block >= kLeast && !call.is_solved; block /= 2) {
    const double of_block = seconds.by_halves(block);
    if (kWorthMore * of_block < best.seconds) best = {.block = block, .seconds = of_block};
  }
  const double of_triangle = seconds.of_triangle(whole);
  best.is_triangle = of_triangle < best.seconds;
  best.seconds = std::min(best.seconds, of_triangle);
  const double native = seconds.native();
  return native < gain * best.seconds ? Level3Choice{.block = 0, .seconds = native} : best;
}

}  // namespace kizami::dropin::cublas
