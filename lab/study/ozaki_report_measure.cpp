// SPDX-License-Identifier: MIT
// The code that the report on tile kernels prints, run on this machine: its rho of k = n, its split with one largest
// element, its product with FP32 sums over all of k. What it does not print is by how many bits one slice lies below
// the one before: two readings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check/case.hpp"
#include "check/exact.hpp"
#include "check/operands.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "num/float_slices.hpp"
#include "ozaki.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/slice_product_whole_k.hpp"
#include "tile_kernels/veltkamp_split.hpp"

namespace kizami::study {
namespace {

constexpr std::int64_t kMostK = 16384;
constexpr std::int64_t kKOfN = 64;  // k in units of max_n
constexpr std::int64_t kMostRows = 32;
/// Of normal numbers: the largest of 2^20 to 2^28 lies between 4 and 8.
constexpr int kExponent = 3;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void require(const Status& status, const std::string& what) {
  if (!status.ok()) throw cli::Failure(cli::ExitCode::kInternal, fmt::format("{}: {}", what, status.reason()));
}

/// Row-major operands, and what products of them are compared with.
struct Operands {
  Operands(std::int64_t rows_, std::int64_t k_) : rows(rows_), k(k_), a(at(rows * k)), b(at(k * rows)) {
    const auto parsed = check::parse_case(fmt::format("d nn {0}x{0}x{1} A=randn B=randn", rows, k));
    require(parsed.status(), "operands");
    const check::Operands<double> x(parsed.value());
    exact.resize(at(rows * rows));
    native.resize(exact.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < k; ++l) {
        a[at(i * k + l)] = x.a.view()(i, l);
        b[at(l * rows + i)] = x.b.view()(l, i);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < rows; ++j) {
        check::ExactDot dot;
        for (std::int64_t l = 0; l < k; ++l) dot.add(a[at(i * k + l)], b[at(l * rows + j)]);
        exact[at(i * rows + j)] = dot.sum();
      }
    }
    Policy policy;
    policy.scheme = Scheme::kNative;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    require(gemm<double>(Layout::kRowMajor, Op::kNone, Op::kNone, rows, rows, k, 1.0, a.data(), k, b.data(), rows, 0.0,
                         native.data(), rows, policy),
            "native product");
  }

  /// ||C - AB|| / ||AB||
  [[nodiscard]] double error_of(const std::vector<double>& c) const {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      check::Exact error = exact[i];
      error.add(-c[i]);
      difference += std::pow(error.rounded<double>(), 2);
      norm += std::pow(exact[i].rounded<double>(), 2);
    }
    return std::sqrt(difference / norm);
  }

  std::int64_t rows, k;
  std::vector<double> a, b, native;
  std::vector<check::Exact> exact;
};

/// A reading of the report.
struct Reading {
  const char* format;
  int num_slices;
  int advance;
  int depth;           ///< 0: all pairs
  int digit_bits = 0;  ///< 0: by the printed rho
  int sum_block = 0;   ///< 0: all of k
};

template <class Slice>
struct Side {
  Side(const std::vector<double>& x, std::int64_t rows, std::int64_t cols, int rho, const Reading& reading)
      : slices(x.size() * at(reading.num_slices)) {
    constexpr int kTileRows = 16;
    constexpr int kTileCols = 32;
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < reading.num_slices; ++p) {
      const int exponent = kExponent - p * reading.advance;
      scales.push_back(num::slice_scale(exponent, rho, 0));
      sigmas.push_back(num::slice_sigma(exponent, rho, 0));
      inverse_scales.push_back(1 / scales.back());
    }
    const auto grid =
        static_cast<unsigned>(((rows + kTileRows - 1) / kTileRows) * ((cols + kTileCols - 1) / kTileCols));
    require(
        KIZAMI_TILE_LAUNCH(
            (tile_kernels::veltkamp_split_block<Slice, kTileRows, kTileCols, tile_kernels::ScaleOf::kMatrix, false>),
            grid, nullptr, x.data(), static_cast<int>(cols), slices.data(), static_cast<std::uint32_t>(rows * cols),
            static_cast<int>(cols), sigmas.data(), inverse_scales.data(), 1, reading.num_slices, static_cast<int>(rows),
            static_cast<int>(cols)),
        "split");
  }

  std::vector<Slice> slices;
  std::vector<double> scales;
};

/// C of the tile kernel.
template <class Slice>
std::vector<double> multiply(const Operands& x, const Reading& reading, int depth, const Side<Slice>& a,
                             const Side<Slice>& b, const std::vector<double>& scales) {
  constexpr int kTile = 16;
  std::vector<double> c(x.native.size());
  const auto rows = static_cast<int>(x.rows);
  const auto k = static_cast<int>(x.k);
  const auto tiles = static_cast<unsigned>((rows + kTile - 1) / kTile);
  const auto plane = static_cast<std::uint32_t>(x.rows * x.k);
  const auto launch = [&](auto kernel) {
    require(KIZAMI_TILE_LAUNCH((kernel), tiles * tiles, nullptr, a.slices.data(), plane, k, b.slices.data(), plane,
                               rows, scales.data(), c.data(), rows, reading.num_slices, reading.num_slices, depth, rows,
                               rows, k, 1),
            "product");
  };
  if (reading.sum_block == 0) {
    launch(tile_kernels::slice_product_whole_k_block<Slice, kTile, kTile, 128, false>);
  } else {
    launch(tile_kernels::slice_product_block<Slice, kTile, kTile, 128, false>);
  }
  return c;
}

/// C of the same slices, the sum of each pair exact and added in FP64 in the same order, as sums of so many elements.
template <class Slice>
std::vector<double> multiply_exactly(const Operands& x, const Reading& reading, int depth, const Side<Slice>& a,
                                     const Side<Slice>& b, const std::vector<double>& scales) {
  const auto numbers = [](const std::vector<Slice>& slices) {
    std::vector<double> all;
    all.reserve(slices.size());
    for (const Slice s : slices) all.push_back(static_cast<double>(static_cast<float>(s)));
    return all;
  };
  const std::vector<double> a_numbers = numbers(a.slices);
  const std::vector<double> b_numbers = numbers(b.slices);
  const std::int64_t block = reading.sum_block == 0 ? x.k : reading.sum_block;
  std::vector<double> c(x.native.size());
  std::vector<double> sums(at(x.rows));
  for (int p = 0; p < reading.num_slices; ++p) {
    for (int q = 0; q < reading.num_slices && p + q < depth; ++q) {
      for (std::int64_t i = 0; i < x.rows; ++i) {
        for (std::int64_t first = 0; first < x.k; first += block) {
          std::fill(sums.begin(), sums.end(), 0.0);
          for (std::int64_t l = first; l < std::min(first + block, x.k); ++l) {
            const double of_a = a_numbers[at((p * x.rows + i) * x.k + l)];
            const double* const of_b = &b_numbers[at((q * x.k + l) * x.rows)];
            for (std::int64_t j = 0; j < x.rows; ++j) sums[at(j)] += of_a * of_b[j];  // whole numbers below 2^53
          }
          for (std::int64_t j = 0; j < x.rows; ++j)
            c[at(i * x.rows + j)] += sums[at(j)] * scales[at(p * reading.num_slices + q)];
        }
      }
    }
  }
  return c;
}

template <class Slice>
ReportProduct measure(const Operands& x, const Reading& reading, int significand_bits) {
  const int rho = reading.digit_bits > 0 ? 53 - reading.digit_bits : num::slice_rho(x.k, significand_bits);
  const Side<Slice> a(x.a, x.rows, x.k, rho, reading);
  const Side<Slice> b(x.b, x.k, x.rows, rho, reading);
  std::vector<double> scales;
  for (const double of_a : a.scales) {
    for (const double of_b : b.scales) scales.push_back(of_a * of_b);
  }
  const int depth = reading.depth > 0 ? reading.depth : 2 * reading.num_slices - 1;
  const std::vector<double> c = multiply(x, reading, depth, a, b, scales);
  const std::vector<double> exact = multiply_exactly(x, reading, depth, a, b, scales);
  ReportProduct product{"",
                        x.k,
                        reading.format,
                        53 - rho,
                        reading.advance,
                        reading.num_slices,
                        reading.num_slices,
                        reading.depth,
                        num::num_slice_pairs(reading.num_slices, reading.num_slices, depth),
                        reading.sum_block,
                        x.error_of(c),
                        0,
                        0,
                        x.error_of(exact),
                        0};
  double squares = 0;
  double norm = 0;
  double largest = 0;
  double largest_native = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double difference = c[i] - x.native[i];
    squares += difference * difference;
    norm += x.native[i] * x.native[i];
    largest = std::max(largest, std::abs(difference));
    largest_native = std::max(largest_native, std::abs(x.native[i]));
    product.changed += c[i] != exact[i] ? 1 : 0;
  }
  product.from_native = std::sqrt(squares / norm);
  product.largest_from_native = largest / largest_native;
  return product;
}

ReportProduct measure(const Operands& x, const Reading& reading) {
  const std::string format = reading.format;
  if (format == "bf16") return measure<__nv_bfloat16>(x, reading, 8);
  if (format == "fp16") return measure<__half>(x, reading, 11);
  return measure<__nv_fp8_e4m3>(x, reading, 4);
}

}  // namespace

std::vector<ReportProduct> measure_report(std::int64_t max_n) {
  std::vector<ReportProduct> measured;
  const std::int64_t most_k = std::min(kMostK, kKOfN * max_n);
  for (std::int64_t k = 1024; k <= most_k; k *= 2) {
    const Operands x(std::min(kMostRows, max_n), k);
    const int least_depth = k == kMostK ? 5 : 9;
    for (const int advance : {7, 8}) {
      for (int depth = 9; depth >= least_depth; --depth) measured.push_back(measure(x, {"bf16", 7, advance, depth}));
    }
    if (k <= 4096) {
      for (const int advance : {3, 4}) measured.push_back(measure(x, {"e4m3", 14, advance, 16}));
    }
    for (const int advance : {10, 12}) {
      for (const int sum_block : {128, 0}) measured.push_back(measure(x, {"fp16", 5, advance, 0, 11, sum_block}));
    }
  }
  return measured;
}

}  // namespace kizami::study
