// SPDX-License-Identifier: MIT
// Judges of attention: any operands against FP64 by a bound of first order, and operands of which every sum is exact
// against the one right result, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "num/bounds.hpp"
#include "tile_kernels/attention.hpp"

namespace kizami::tile_kernels_test {

using tile_kernels::Visible;

struct AttentionShape {
  int num_heads, num_queries, num_keys;
  Visible visible;
};

/// @shape  q: num_heads x num_queries x head_size; k, v: num_heads x num_keys x head_size
template <class T>
struct AttentionOperands {
  AttentionShape shape;
  int head_size;
  float c;  ///< scale log2 e
  std::vector<T> q, k, v;

  [[nodiscard]] std::size_t row(int head, int i, int num_rows) const {
    return (static_cast<std::size_t>(head) * static_cast<std::size_t>(num_rows) + static_cast<std::size_t>(i)) *
           static_cast<std::size_t>(head_size);
  }
  [[nodiscard]] const T* query(int head, int i) const { return q.data() + row(head, i, shape.num_queries); }
  [[nodiscard]] const T* key(int head, int j) const { return k.data() + row(head, j, shape.num_keys); }
  [[nodiscard]] const T* value(int head, int j) const { return v.data() + row(head, j, shape.num_keys); }
  [[nodiscard]] int num_visible(int i) const {
    return shape.visible == Visible::kCausal ? std::min(i + 1, shape.num_keys) : shape.num_keys;
  }
};

template <class T>
double wide(T x) {
  return static_cast<double>(static_cast<float>(x));
}

/// make_q(head, i, d), make_k(head, j, d), make_v(head, j, d)
template <class T, class Query, class Key, class Value>
AttentionOperands<T> attention_operands(const AttentionShape& shape, int head_size, float c, const Query& make_q,
                                        const Key& make_k, const Value& make_v) {
  AttentionOperands<T> x{shape, head_size, c, {}, {}, {}};
  const auto fill = [&](std::vector<T>& values, int num_rows, const auto& make) {
    values.reserve(x.row(shape.num_heads, 0, num_rows));
    for (int head = 0; head < shape.num_heads; ++head) {
      for (int i = 0; i < num_rows; ++i) {
        for (int d = 0; d < head_size; ++d) values.push_back(static_cast<T>(static_cast<float>(make(head, i, d))));
      }
    }
  };
  fill(x.q, shape.num_queries, make_q);
  fill(x.k, shape.num_keys, make_k);
  fill(x.v, shape.num_keys, make_v);
  return x;
}

/// Normal numbers, scale 1 / sqrt(head_size) as softmax attention has it. sharpness: what queries are multiplied with;
/// the larger, the fewer keys carry the weight.
template <class T>
AttentionOperands<T> random_attention(const AttentionShape& shape, int head_size, double sharpness) {
  std::mt19937 random(static_cast<unsigned>(shape.num_queries * 31 + shape.num_keys + head_size));
  std::normal_distribution<double> normal;
  const auto draw = [&](int, int, int) { return normal(random); };
  const double c = 1.4426950408889634 / std::sqrt(head_size);
  return attention_operands<T>(
      shape, head_size, static_cast<float>(c), [&](int, int, int) { return sharpness * normal(random); }, draw, draw);
}

/// A query is a unit vector, keys and values are small whole numbers, and c = 1: weights are 2^-6 .. 1, and every sum
/// is a multiple of 2^-6 below 2^17 for up to 2^14 keys, which FP32, also within a tensor core, adds exactly.
template <class T>
AttentionOperands<T> exact_attention(const AttentionShape& shape, int head_size) {
  std::mt19937 random(static_cast<unsigned>(shape.num_queries * 17 + shape.num_keys + head_size));
  return attention_operands<T>(
      shape, head_size, 1.0F, [&](int head, int i, int d) { return (i * 7 + head) % head_size == d ? 1 : 0; },
      [&](int, int, int) { return static_cast<int>(random() % 7) - 3; },
      [&](int, int, int) { return static_cast<int>(random() % 15) - 7; });
}

/// How T rounds: u relative, eta where it underflows.
template <class T>
struct AttentionRounding {
  static constexpr bool kIsHalf = std::is_same_v<T, __half>;
  static constexpr double kU = kIsHalf ? 0x1p-11 : 0x1p-8;
  static constexpr double kEta = kIsHalf ? 0x1p-25 : 0x1p-126;  // BF16: where exp2 is flushed
};

/// One row of O in FP64, and how far the kernel's may be from it.
struct AttentionRow {
  std::vector<double> exact, bound;
};

/// Query i of a head. With t_j and S_j = sum_d |q_d k_jd| exact, w_j = 2^(c t_j) / sum, X_j = max c t - c t_j, u = 2^-24,
/// e the error of exp2 in units of u, N keys a tile, n tiles, D elements a head, T rounding by v or eta:
///   t:           D u S_j, from D products that are exact and whose sum is rounded at most D times to nearest; Hopper's
///                tensor core cuts 17 addends to 25 bits and the sum to 24 every 16 products: (17 / 2 + 2) D / 16 u <= D u
///   exponents:   u X_j, from the differences to the highest score, and between one highest score and the next
///   powers:      e u for 2^(c t_j - n) and (e + 1) u for each of n factors 2^(n - n')
///   so the weight of j is known to d_j = ln 2 (c D u S_j + u X_j) + (e + n (e + 1)) u, which numerator and sum share:
///                sum_j w_j d_j (|V_j| + |O|)
///   products:    weights in T: v sum_j w_j |V_j| + eta sum_j |V_j| / Z, with Z = sum_j 2^-X_j >= 1
///                sums of the tensor core, as above, over n N products: n N u sum_j w_j |V_j|
///   the sum of weights: (N + n) u |O|      quotient and O in T: (u + v) |O| + eta
/// to first order; what that leaves out is below 2^-6 of it for v <= 2^-8.
template <class T>
AttentionRow attention_row(const AttentionOperands<T>& x, int head, int i, int keys_a_tile, double exp2_units) {
  constexpr double kU = 0x1p-24;
  constexpr double kHigherOrder = 1 + 0x1p-6;
  const double v = AttentionRounding<T>::kU;
  const double eta = AttentionRounding<T>::kEta;
  const auto size = static_cast<std::size_t>(x.head_size);
  const int num_keys = x.num_visible(i);
  const double num_tiles = std::ceil(static_cast<double>(num_keys) / keys_a_tile);
  const double c = x.c;
  std::vector<double> t, s;
  double highest = -HUGE_VAL;
  for (int j = 0; j < num_keys; ++j) {
    double sum = 0;
    double magnitude = 0;
    for (std::size_t d = 0; d < size; ++d) {
      const double product = wide(x.query(head, i)[d]) * wide(x.key(head, j)[d]);
      sum += product;
      magnitude += std::fabs(product);
    }
    t.push_back(sum);
    s.push_back(magnitude);
    highest = std::max(highest, sum);
  }
  double total = 0;
  for (const double score : t) total += std::exp2(c * (score - highest));
  AttentionRow row{std::vector<double>(size), std::vector<double>(size)};
  std::vector<double> weighed(size);  // sum_j w_j |V_j|
  std::vector<double> known(size);    // sum_j w_j d_j |V_j|
  std::vector<double> plain(size);    // sum_j |V_j|
  double known_weight = 0;            // sum_j w_j d_j
  for (int j = 0; j < num_keys; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double below = c * (highest - t[at]);
    const double weight = std::exp2(-below) / total;
    const double known_to =
        std::log(2.0) * kU * (c * x.head_size * s[at] + below) + (exp2_units + num_tiles * (exp2_units + 1)) * kU;
    known_weight += weight * known_to;
    for (std::size_t d = 0; d < size; ++d) {
      const double value = wide(x.value(head, j)[d]);
      row.exact[d] += weight * value;
      weighed[d] += weight * std::fabs(value);
      known[d] += weight * known_to * std::fabs(value);
      plain[d] += std::fabs(value);
    }
  }
  for (std::size_t d = 0; d < size; ++d) {
    const double o = std::fabs(row.exact[d]);
    row.bound[d] = kHigherOrder * (known[d] + known_weight * o + (v + num_tiles * keys_a_tile * kU) * weighed[d] +
                                   eta * plain[d] / total + ((keys_a_tile + num_tiles + 1) * kU + v) * o + eta);
  }
  return row;
}

/// Every `step`-th row of O, the first and the last of each head among them, within the bound.
template <class T>
void expect_attention(const AttentionOperands<T>& x, const std::vector<T>& o, int keys_a_tile, double exp2_units,
                      int step = 1) {
  ASSERT_EQ(o.size(), x.q.size());
  for (int head = 0; head < x.shape.num_heads; ++head) {
    for (int next = 0; next < x.shape.num_queries + step - 1; next += step) {
      const int i = std::min(next, x.shape.num_queries - 1);
      const AttentionRow row = attention_row(x, head, i, keys_a_tile, exp2_units);
      const T* const got = o.data() + x.row(head, i, x.shape.num_queries);
      for (std::size_t d = 0; d < row.exact.size(); ++d) {
        const double error = std::fabs(wide(got[d]) - row.exact[d]);
        ASSERT_TRUE(error <= row.bound[d])
            << "head " << head << ", query " << i << ", element " << d << ": " << error << " > " << row.bound[d];
      }
    }
  }
}

/// The same for exact_attention(): O is the FP32 quotient of two exact sums, rounded to T, in every bit.
template <class T>
void expect_exact_attention(const AttentionOperands<T>& x, const std::vector<T>& o, int step = 1) {
  ASSERT_EQ(o.size(), x.q.size());
  for (int head = 0; head < x.shape.num_heads; ++head) {
    for (int next = 0; next < x.shape.num_queries + step - 1; next += step) {
      const int i = std::min(next, x.shape.num_queries - 1);
      const T* const q = x.query(head, i);
      const int which = static_cast<int>(std::find_if(q, q + x.head_size, [](T e) { return wide(e) == 1; }) - q);
      double highest = -HUGE_VAL;
      for (int j = 0; j < x.num_visible(i); ++j) highest = std::max(highest, wide(x.key(head, j)[which]));
      double total = 0;
      std::vector<double> sums(static_cast<std::size_t>(x.head_size));
      for (int j = 0; j < x.num_visible(i); ++j) {
        const double weight = std::exp2(wide(x.key(head, j)[which]) - highest);
        total += weight;
        for (std::size_t d = 0; d < sums.size(); ++d) sums[d] += weight * wide(x.value(head, j)[d]);
      }
      const T* const got = o.data() + x.row(head, i, x.shape.num_queries);
      for (std::size_t d = 0; d < sums.size(); ++d) {
        const T expected = static_cast<T>(static_cast<float>(sums[d]) / static_cast<float>(total));
        ASSERT_EQ(wide(got[d]), wide(expected)) << "head " << head << ", query " << i << ", element " << d;
      }
    }
  }
}

}  // namespace kizami::tile_kernels_test
