// SPDX-License-Identifier: MIT
// How cases are drawn: sizes at the edges of tiles, tiny, empty, long, flat and large ones, slack, starts off
// alignment.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

#include "gpu_soak/case.hpp"
#include "gpu_soak/seeds.hpp"

namespace gpu_soak {
namespace {

using kizami::Op;
using kizami::Scalar;

/// Integers of a seed; the same everywhere, as distributions of <random> are not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : source_(seed) {}
  /// @range low <= high, both included
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(source_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }
  template <class T, std::size_t kCount>
  T of(const std::array<T, kCount>& values) {
    return values[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(kCount) - 1))];
  }

 private:
  std::mt19937_64 source_;
};

struct Shape {
  std::int64_t m, n, k;
};

class Drawing {
 public:
  Drawing(std::uint64_t seed, const Limits& limits) : limits_(limits), dice_(seed) { x_.seed = seed; }

  Case draw() {
    draw_type_and_routine();
    choose_large();
    const bool is_complex = kizami::is_complex(x_.scalar);
    x_.is_left = dice_.one_in(2);
    x_.is_lower = dice_.one_in(2);
    x_.is_unit = dice_.one_in(3);
    x_.has_device_factors = x_.routine != Routine::kGrouped && dice_.one_in(4);
    x_.has_host_arrays = dice_.one_in(4);
    x_.is_in_place = x_.routine == Routine::kTrmm && dice_.one_in(3);
    const int num_sections = x_.routine == Routine::kGrouped ? static_cast<int>(dice_.in(1, 4)) : 1;
    for (int i = 0; i < num_sections; ++i) {
      if (is_level3(x_.routine)) {
        draw_level3();
      } else {
        draw_products(num_sections);
      }
    }
    draw_factors(is_complex);
    draw_elements();
    if (limits_.features.has(Feature::kGraphs) && dice_.one_in(6)) x_.num_replays = static_cast<int>(dice_.in(1, 3));
    if (limits_.features.has(Feature::kWorkspaces) && dice_.one_in(6))
      x_.workspace_bytes = dice_.of(std::array<std::int64_t, 3>{1 << 16, 4 << 20, 32 << 20});
    x_.again = dice_.of(std::array{Routine::kGemm, Routine::kGemmEx, Routine::kStrided});
    return std::move(x_);
  }

 private:
  void draw_type_and_routine() {
    constexpr std::array<int, kNumRoutines> kWeights{36, 8, 10, 8, 5, 8, 5, 3, 4, 4, 3, 6, 6};
    const auto letter = limits_.types.at(static_cast<std::size_t>(dice_.in(0, std::int64_t(limits_.types.size()) - 1)));
    x_.scalar = static_cast<Scalar>(std::string_view("sdcz").find(letter));
    const bool is_complex = kizami::is_complex(x_.scalar);
    std::array<int, kNumRoutines> weights = kWeights;
    int sum = 0;
    for (int i = 0; i < kNumRoutines; ++i) {
      const auto routine = static_cast<Routine>(i);
      const bool is_wanted = limits_.features.has(is_level3(routine) ? Feature::kLevel3 : static_cast<Feature>(i));
      const bool is_hermitian = routine == Routine::kHerk || routine == Routine::kHemm;
      // cuBLAS has groups for real types only.
      if (!is_wanted || (is_hermitian && !is_complex) || (routine == Routine::kGrouped && is_complex)) {
        weights[static_cast<std::size_t>(i)] = 0;
      }
      sum += weights[static_cast<std::size_t>(i)];
    }
    if (sum == 0)
      throw std::invalid_argument("the features name no routine that type " + std::string(1, letter) + " has");
    std::int64_t at = dice_.in(0, sum - 1);
    int routine = 0;
    while (at >= weights[static_cast<std::size_t>(routine)]) at -= weights[static_cast<std::size_t>(routine++)];
    x_.routine = static_cast<Routine>(routine);
  }

  /// By the seed and no dice, so that other cases stay as they are. A large product is one by itself.
  void choose_large() {
    constexpr std::array kSingle{Routine::kGemm, Routine::kGemmEx, Routine::kStrided, Routine::kLt};
    if (limits_.large_every == 0 || mixed(~x_.seed) % static_cast<std::uint64_t>(limits_.large_every) != 0) return;
    for (const Routine routine : kSingle) {
      if (!limits_.features.has(static_cast<Feature>(routine))) continue;
      if (std::find(kSingle.begin(), kSingle.end(), x_.routine) == kSingle.end()) x_.routine = routine;
      x_.is_large = true;
      return;
    }
  }

  [[nodiscard]] std::int64_t capped(std::int64_t size) const { return std::min(size, limits_.max_size); }
  std::int64_t moderate() { return dice_.in(std::min<std::int64_t>(50, limits_.max_size), capped(800)); }
  std::int64_t edge() {
    const auto tile = dice_.of(std::array<std::int64_t, 4>{64, 128, 192, 256});
    if (tile > limits_.max_size) return moderate();
    return std::min(tile * dice_.in(1, capped(1200) / tile) + dice_.in(-1, 1), limits_.max_size);
  }
  std::int64_t tiny() { return dice_.in(1, capped(40)); }

  Shape draw_shape() {
    const std::int64_t kind = dice_.in(0, 99);
    if (kind < 15) return {tiny(), tiny(), tiny()};
    if (kind < 45) return {moderate(), moderate(), moderate()};
    if (kind < 80) return {edge(), edge(), edge()};
    if (kind < 88) return {dice_.in(1, capped(130)), dice_.in(1, capped(130)), dice_.in(1, 12 * limits_.max_size)};
    if (kind < 92) return {dice_.in(1, 8), dice_.in(1, limits_.max_size), dice_.in(1, limits_.max_size)};
    if (kind < 96) return {dice_.in(1, limits_.max_size), dice_.in(1, 8), dice_.in(1, limits_.max_size)};
    if (kind < 98) return {dice_.in(1, limits_.max_size), dice_.in(1, limits_.max_size), dice_.in(1, 40)};
    return {dice_.in(1, limits_.max_size), dice_.in(1, limits_.max_size), dice_.in(1, limits_.max_size)};
  }

  /// A third each beyond all thresholds, of a large result with short sums, and of long sums of a smaller result. Half
  /// of them are of few shapes, so that threads make calls of the same plan.
  Shape draw_large_shape() {
    constexpr std::int64_t kResultSide = 2048, kLeastSide = 1200, kMostSide = 2000;
    static_assert(kResultSide * kResultSide >= kLargeResult && kMostSide * kMostSide < kLargeResult);
    const std::int64_t most = element_bytes(x_.scalar) == 16 ? Limits::kLargeSide : Limits::kLargestSide;
    const bool is_shared = dice_.one_in(2);
    const std::int64_t kind = dice_.in(0, 2);
    const auto in = [&](std::int64_t low, std::int64_t high) { return is_shared ? low + 1 : dice_.in(low, high); };
    if (kind == 0) return {in(kScoutSide, most), in(kScoutSide, most), in(kScoutSide, most)};
    if (kind == 1) return {in(kResultSide, most), in(kResultSide, most), in(130, 1024)};
    const std::int64_t m = in(kLeastSide, kMostSide), n = in(kLeastSide, kMostSide);
    const std::int64_t least = (kLearnedTerms + m * n - 1) / (m * n);
    return {m, n, in(least, least + 1000)};
  }

  /// Elements that a matrix may take where `share` of them are in a buffer.
  [[nodiscard]] std::int64_t room(std::int64_t share) const {
    const std::int64_t bytes = x_.is_large ? limits_.buffer_bytes() : Limits::bytes_for(limits_.max_size);
    return (bytes / element_bytes(x_.scalar) - 4 * kGuard) / share;
  }
  /// With the slack of place().
  static std::int64_t taken(std::int64_t rows, std::int64_t cols) { return (rows + kMaxSlack) * cols + kMaxSlack; }

  Matrix place(std::int64_t rows, std::int64_t cols, int num_products, std::int64_t begin) {
    Matrix x;
    x.rows = rows;
    x.cols = cols;
    x.ld = std::max<std::int64_t>(rows, 1) + (dice_.one_in(2) ? 0 : dice_.in(1, kMaxSlack - 4));
    // cublasLtMatmul without an algorithm takes matrices for aligned ones.
    x.offset = begin + (x_.routine == Routine::kLt || dice_.one_in(2) ? 0 : dice_.in(1, 3));
    if (num_products > 1) x.stride = x.ld * cols + (dice_.one_in(2) ? 0 : dice_.in(1, 3));
    return x;
  }

  Op draw_op() { return dice_.of(std::array{Op::kNone, Op::kNone, Op::kTranspose, Op::kConjTranspose}); }

  void draw_products(int num_sections) {
    Section s;
    const bool is_batch = x_.routine == Routine::kStrided || x_.routine == Routine::kBatched;
    if (x_.is_large) {
      s.num_products = 1;
    } else if (is_batch) {
      s.num_products = static_cast<int>(dice_.one_in(6) ? dice_.in(17, kMaxProducts) : dice_.in(1, 8));
    } else if (x_.routine == Routine::kGrouped) {
      s.num_products = static_cast<int>(dice_.in(1, 4));
    }
    s.op_a = draw_op();
    s.op_b = draw_op();
    Shape shape = x_.is_large ? draw_large_shape() : draw_shape();
    const std::int64_t share = std::int64_t{s.num_products} * num_sections;
    const double most = 4e9 / static_cast<double>(share);
    const bool is_big = share == 1;  // alone it may be as large as the limits say
    while (std::max({taken(std::max(shape.m, shape.k), std::min(shape.m, shape.k)),
                     taken(std::max(shape.k, shape.n), std::min(shape.k, shape.n)), taken(shape.m, shape.n),
                     taken(shape.k, shape.m), taken(shape.k, shape.n), taken(shape.n, shape.k),
                     taken(shape.m, shape.k)}) > room(share) ||
           (!is_big && double(shape.m) * double(shape.n) * double(shape.k) > most)) {
      std::int64_t& largest = shape.k >= std::max(shape.m, shape.n) ? shape.k : shape.m >= shape.n ? shape.m : shape.n;
      largest = (largest + 1) / 2;
    }
    // Of an empty k, gemm alone: what it does to C is written down for it.
    if (limits_.features.has(Feature::kEmpty) && !x_.is_large && x_.routine <= Routine::kStrided && dice_.one_in(25)) {
      (dice_.one_in(3) ? shape.m : dice_.one_in(2) ? shape.n : shape.k) = 0;
    }
    s.m = shape.m;
    s.n = shape.n;
    s.k = shape.k;
    const auto begin = [&](Matrix Section::*matrix) {
      return x_.sections.empty() ? kGuard : (x_.sections.back().*matrix).end(x_.sections.back().num_products);
    };
    const bool is_a_plain = s.op_a == Op::kNone;
    const bool is_b_plain = s.op_b == Op::kNone;
    s.a = place(is_a_plain ? s.m : s.k, is_a_plain ? s.k : s.m, s.num_products, begin(&Section::a));
    s.b = place(is_b_plain ? s.k : s.n, is_b_plain ? s.n : s.k, s.num_products, begin(&Section::b));
    s.c = place(s.m, s.n, s.num_products, begin(&Section::c));
    if (is_batch && dice_.one_in(8)) (dice_.one_in(2) ? s.a : s.b).stride = 0;
    if (x_.routine == Routine::kBatched || x_.routine == Routine::kGrouped) {
      for (Matrix* x : {&s.a, &s.b, &s.c}) x->rotation = static_cast<int>(dice_.in(0, s.num_products - 1));
    }
    x_.sections.push_back(s);
  }

  /// The order of the triangle or of the symmetric matrix, and the other size.
  std::pair<std::int64_t, std::int64_t> draw_order() {
    const std::int64_t kind = dice_.in(0, 99);
    if (kind < 15) return {tiny(), tiny()};
    if (kind < 50) return {moderate(), moderate()};
    if (kind < 90 || limits_.max_size < 2048) return {edge(), edge()};
    const auto largest = static_cast<std::int64_t>(std::sqrt(static_cast<double>(room(1)))) - 2 * kMaxSlack;
    return {dice_.in(2000, std::max<std::int64_t>(largest, 2000)), dice_.in(1, 200)};
  }

  void draw_level3() {
    Section s;
    const auto [order, other] = draw_order();
    const bool is_complex = kizami::is_complex(x_.scalar);
    if (is_rank_update(x_.routine)) {
      s.m = s.n = order;
      s.k = other;
      const Op transposed = x_.routine == Routine::kHerk ? Op::kConjTranspose : Op::kTranspose;
      s.op_a = s.op_b = dice_.one_in(2) ? Op::kNone : transposed;
      const bool is_plain = s.op_a == Op::kNone;
      s.a = place(is_plain ? s.n : s.k, is_plain ? s.k : s.n, 1, kGuard);
      if (x_.routine == Routine::kSyr2k) s.b = place(s.a.rows, s.a.cols, 1, kGuard);
    } else {
      s.m = x_.is_left ? order : other;
      s.n = x_.is_left ? other : order;
      s.k = order;
      s.a = place(order, order, 1, kGuard);
      if (is_triangular(x_.routine)) {
        s.op_a = draw_op();
        if (!is_complex && s.op_a == Op::kConjTranspose) s.op_a = Op::kTranspose;
      }
      if (x_.routine != Routine::kTrsm && !x_.is_in_place) s.b = place(s.m, s.n, 1, kGuard);
    }
    s.c = place(s.m, s.n, 1, kGuard);
    x_.sections.push_back(s);
  }

  std::complex<double> draw_factor(bool is_complex, bool is_alpha) {
    double re = is_alpha ? dice_.of(std::array{1.0, 1.0, -1.0, 0.37, 2.0, -1.5})
                         : dice_.of(std::array{0.0, 0.0, 1.0, -0.6, 2.5});
    double im = is_complex && dice_.one_in(2) && (is_alpha || re != 0) ? dice_.of(std::array{0.25, -1.0, 0.7}) : 0;
    if (is_alpha && dice_.one_in(24)) re = im = 0;
    if (kizami::real_of(x_.scalar) == Scalar::kF32) return {double(float(re)), double(float(im))};
    return {re, im};
  }

  void draw_factors(bool is_complex) {
    for (Section& s : x_.sections) {
      s.alpha = draw_factor(is_complex, true);
      s.beta = is_triangular(x_.routine) ? 0 : draw_factor(is_complex, false);
      if (x_.routine == Routine::kHerk) {  // real factors; alpha = 0, beta = 1 would leave the diagonal as it is
        s.alpha = s.alpha.real() == 0 ? 1 : s.alpha.real();
        s.beta = s.beta.real();
      }
    }
    const bool is_c_unread =
        std::all_of(x_.sections.begin(), x_.sections.end(), [](auto& s) { return s.beta == 0.0; }) &&
        x_.routine != Routine::kTrsm && !x_.is_in_place;
    x_.has_untouchable_c = is_c_unread && dice_.one_in(2);
  }

  Elements draw_elements_of(bool is_plain) {
    Elements e;
    e.numbers = dice_.of(std::array{Numbers::kUniform, Numbers::kUniform, Numbers::kUniform, Numbers::kThirdZero,
                                    Numbers::kMostlyZero, Numbers::kIntegers});
    e.spread = dice_.of(std::array{Spread::kElements, Spread::kElements, Spread::kColumns, Spread::kRows});
    e.phi = limits_.phi_max * static_cast<double>(dice_.in(0, 4)) / 4;
    if (is_plain) e = {};
    return e;
  }

  void draw_elements() {
    x_.a = draw_elements_of(x_.routine == Routine::kTrsm);
    x_.b = draw_elements_of(false);
    if (!limits_.features.has(Feature::kNonFinite) || is_level3(x_.routine) || !dice_.one_in(10)) return;
    for (std::int64_t i = dice_.in(1, 3); i > 0; --i) {
      const Section& s =
          x_.sections[static_cast<std::size_t>(dice_.in(0, static_cast<std::int64_t>(x_.sections.size()) - 1))];
      if (s.m == 0 || s.n == 0 || s.k == 0 || s.alpha == 0.0) continue;
      Exception e;
      e.is_in_a = dice_.one_in(2);
      const Matrix& matrix = e.is_in_a ? s.a : s.b;
      const auto product = static_cast<int>(dice_.in(0, s.num_products - 1));
      const std::int64_t row = dice_.in(0, matrix.rows - 1);
      const std::int64_t col = dice_.in(0, matrix.cols - 1);
      const std::int64_t num_parts = kizami::is_complex(x_.scalar) ? 2 : 1;
      e.at = (matrix.start(product, s.num_products) + row + col * matrix.ld) * num_parts + dice_.in(0, num_parts - 1);
      e.kind = static_cast<int>(dice_.in(-1, 1));
      x_.exceptions.push_back(e);
    }
  }

  static constexpr std::int64_t kMaxSlack = 16;

  const Limits& limits_;
  Dice dice_;
  Case x_;
};

}  // namespace

Case draw_case(std::uint64_t seed, const Limits& limits) { return Drawing(seed, limits).draw(); }

}  // namespace gpu_soak
