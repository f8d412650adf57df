// SPDX-License-Identifier: MIT
#include "reduction_facts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "kizami/formats.hpp"

extern "C" const unsigned long long kizami_tile_reductions[];

namespace tile_bench {
namespace {

constexpr int kRows = 64;
constexpr std::size_t kRow = 1024;

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    value = std::ldexp(T{1} + static_cast<T>(random() >> 11) * T(0x1p-53), static_cast<int>(random() % 9) - 4);
    if (random() % 2 == 0) value = -value;
  }
  return values;
}

/// Orders in which a row might be summed: x[0..n) with stride.
template <class T>
struct Order {
  const char* name;
  T (*sum)(const T* x, std::size_t n, std::size_t stride);
};
template <class T>
T ascending(const T* x, std::size_t n, std::size_t stride) {
  T total = x[0];
  for (std::size_t i = 1; i < n; ++i) total += x[i * stride];
  return total;
}
/// Neighbours first.
template <class T>
T tree_of_neighbours(const T* x, std::size_t n, std::size_t stride) {
  if (n == 1) return x[0];
  return tree_of_neighbours(x, n / 2, stride) + tree_of_neighbours(x + n / 2 * stride, n / 2, stride);
}
/// x(i) and x(i + n / 2) first.
template <class T>
T tree_of_halves(const T* x, std::size_t n, std::size_t stride) {
  std::vector<T> work(n);
  for (std::size_t i = 0; i < n; ++i) work[i] = x[i * stride];
  for (; n > 1; n /= 2)
    for (std::size_t i = 0; i < n / 2; ++i) work[i] += work[i + n / 2];
  return work[0];
}
/// Runs of `kRun` ascending, then a tree of halves or of neighbours over the runs.
template <class T, std::size_t kRun, bool kNeighbours>
T runs_then_tree(const T* x, std::size_t n, std::size_t stride) {
  std::vector<T> runs;
  for (std::size_t i = 0; i < n; i += kRun) runs.push_back(ascending(x + i * stride, kRun, stride));
  return kNeighbours ? tree_of_neighbours(runs.data(), runs.size(), 1) : tree_of_halves(runs.data(), runs.size(), 1);
}
/// x(i), x(i + kLanes), ... ascending, then a tree of halves or of neighbours over the lanes.
template <class T, std::size_t kLanes, bool kNeighbours>
T lanes_then_tree(const T* x, std::size_t n, std::size_t stride) {
  std::vector<T> lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes.push_back(ascending(x + i * stride, n / kLanes, kLanes * stride));
  return kNeighbours ? tree_of_neighbours(lanes.data(), kLanes, 1) : tree_of_halves(lanes.data(), kLanes, 1);
}
template <class T>
std::vector<Order<T>> orders() {
  return {{"ascending", ascending<T>},
          {"tree, neighbours first", tree_of_neighbours<T>},
          {"tree, halves first", tree_of_halves<T>},
          {"runs of 4, tree of halves", runs_then_tree<T, 4, false>},
          {"runs of 8, tree of halves", runs_then_tree<T, 8, false>},
          {"runs of 4, tree of neighbours", runs_then_tree<T, 4, true>},
          {"runs of 8, tree of neighbours", runs_then_tree<T, 8, true>},
          {"128 lanes, tree of halves", lanes_then_tree<T, 128, false>},
          {"128 lanes, tree of neighbours", lanes_then_tree<T, 128, true>},
          {"32 lanes, tree of halves", lanes_then_tree<T, 32, false>},
          {"256 lanes, tree of halves", lanes_then_tree<T, 256, false>}};
}

template <class T>
std::vector<T> run_sums(const Cubin& cubin, const char* kernel, unsigned grid, const std::vector<T>& x) {
  const DeviceArray<T> device_x(x);
  const DeviceArray<T> y(kRows);
  cubin.run(kernel, dim3(grid), device_x.data(), y.data(), kRows);
  return y.download();
}

/// The names of the orders that give every sum.
template <class T>
Json orders_of(const std::vector<T>& sums, const std::function<T(const Order<T>&, std::size_t)>& expected) {
  Json names = Json::array();
  for (const Order<T>& order : orders<T>()) {
    bool is_equal = true;
    for (std::size_t i = 0; i < sums.size(); ++i) is_equal = is_equal && expected(order, i) == sums[i];
    if (is_equal) names.push_back(order.name);
  }
  return names;
}

template <class T>
void record_sum(const Cubin& cubin, const char* kernel, unsigned grid, const std::vector<T>& x) {
  const std::vector<T> sums = run_sums(cubin, kernel, grid, x);
  bool is_reproducible = true;
  for (int i = 0; i < 20; ++i) is_reproducible = is_reproducible && run_sums(cubin, kernel, grid, x) == sums;
  double worst = 0.0;
  for (std::size_t i = 0; i < kRows; ++i) {
    long double exact = 0;
    long double gauge = 0;
    for (std::size_t j = 0; j < kRow; ++j) {
      exact += static_cast<long double>(x[i * kRow + j]);
      gauge += std::fabs(static_cast<long double>(x[i * kRow + j]));
    }
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(sums[i]) - exact) / gauge));
  }
  print({{"kind", "fact"},
         {"topic", "sum"},
         {"kernel", kernel},
         {"rows", kRows},
         {"same_bits_in_21_runs", is_reproducible},
         {"orders_equal_in_every_bit",
          orders_of<T>(sums, [&](const Order<T>& order, std::size_t i) { return order.sum(&x[i * kRow], kRow, 1); })},
         {"largest_error_over_sum_of_magnitudes_log2", std::log2(worst)}});
}

void record_sum_of_fp16(const Cubin& cubin) {
  std::vector<std::uint16_t> x(kRows * kRow, kizami::Fp16::from(1.0).bits());
  for (std::size_t i = 0; i < x.size(); i += kRow) x[i] = kizami::Fp16::from(2048.0).bits();
  // 2048 + 1 is 2048 in FP16: what is above 2048 was summed before it met the large number, or in a wider format
  // (3071).
  print({{"kind", "fact"},
         {"topic", "sum"},
         {"kernel", "sum_f16_1"},
         {"case", "2048 + 1 + 1 + ... (1023 ones)"},
         {"result", kizami::Fp16::from_bits(run_sums(cubin, "sum_f16_1", kRows, x)[0]).to_double()}});
}

void record_columns(const Cubin& cubin) {
  constexpr std::size_t kColumns = 16;
  const std::vector<float> x = random_values<float>(kRow * kColumns, 3);
  const DeviceArray<float> device_x(x);
  const DeviceArray<float> y(kColumns);
  cubin.run("sum_f32_columns", dim3(1), device_x.data(), y.data());
  print({{"kind", "fact"},
         {"topic", "sum"},
         {"kernel", "sum_f32_columns"},
         {"orders_equal_in_every_bit", orders_of<float>(y.download(), [&](const Order<float>& order, std::size_t j) {
            return order.sum(&x[j], kRow, kColumns);
          })}});
}

/// Integers first, which must be exact in both directions; then whether a scan is the plain sum from the left or right.
void record_scans(const Cubin& cubin) {
  const std::vector<float> random = random_values<float>(kRows * kRow, 4);
  std::vector<float> integers(random.size());
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = std::nearbyint(random[i]);
  for (const bool is_backward : {false, true}) {
    const char* const kernel = is_backward ? "scan_backward_f32" : "scan_f32";
    const auto wrong = [&](const std::vector<float>& x) {
      const DeviceArray<float> device_x(x);
      const DeviceArray<float> device_y(x.size());
      cubin.run(kernel, dim3(kRows), device_x.data(), device_y.data(), kRows);
      const std::vector<float> y = device_y.download();
      int count = 0;
      for (std::size_t i = 0; i < kRows; ++i) {
        float total = 0;
        for (std::size_t j = 0; j < kRow; ++j) {
          const std::size_t at = i * kRow + (is_backward ? kRow - 1 - j : j);
          total += x[at];
          count += y[at] == total ? 0 : 1;
        }
      }
      return count;
    };
    print({{"kind", "fact"},
           {"topic", "scan"},
           {"kernel", kernel},
           {"elements", random.size()},
           {"wrong_integers", wrong(integers)},
           {"not_as_sum_in_order", wrong(random)}});
  }
}

void record_extrema(const Cubin& cubin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const float rows[][4] = {{1, 2, 3, 4},
                           {4, 3, 2, 1},
                           {nan, 1, 2, 3},
                           {1, 2, 3, nan},
                           {nan, nan, nan, nan},
                           {0.0F, -0.0F, -0.0F, -0.0F},
                           {-0.0F, 0.0F, 0.0F, 0.0F},
                           {5, 5, 5, 5},
                           {1, 5, 5, 1},
                           {-inf, nan, -inf, -inf}};
  std::vector<float> x(64);
  for (std::size_t i = 0; i < 10; ++i) std::copy(rows[i], rows[i] + 4, &x[4 * i]);
  const DeviceArray<float> device_x(x);
  const auto text = [](float value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", static_cast<double>(value));
    return std::string(buffer);
  };
  const auto record = [&](const char* kernel, const auto& result) {
    Json cases = Json::array();
    for (std::size_t i = 0; i < 10; ++i) {
      std::string row;
      for (const float value : rows[i]) row.append(text(value)).append(1, ' ');
      row.pop_back();
      if constexpr (std::is_same_v<std::decay_t<decltype(result[0])>, float>)
        cases.push_back({row, text(result[i])});
      else
        cases.push_back({row, result[i]});
    }
    print({{"kind", "fact"}, {"topic", "extrema"}, {"kernel", kernel}, {"cases", cases}});
  };
  for (const char* kernel : {"reduce_max_f32", "reduce_min_f32", "reduce_max_f32_nan"}) {
    const DeviceArray<float> y(16);
    cubin.run(kernel, dim3(1), device_x.data(), y.data());
    record(kernel, y.download());
  }
  for (const char* kernel : {"max_element_f32", "min_element_f32"}) {
    const DeviceArray<std::uint32_t> y(16);
    cubin.run(kernel, dim3(1), device_x.data(), y.data());
    record(kernel, y.download());
  }
}

}  // namespace

void record_reduction_facts() {
  const Cubin cubin("reductions", kizami_tile_reductions);
  const std::vector<float> x = random_values<float>(kRows * kRow, 1);
  record_sum<float>(cubin, "sum_f32_1", kRows, x);
  record_sum<float>(cubin, "sum_f32_8", kRows / 8, x);
  print({{"kind", "fact"},
         {"topic", "sum"},
         {"case", "tiles of 1 row and of 8 rows give the same bits"},
         {"result", run_sums(cubin, "sum_f32_1", kRows, x) == run_sums(cubin, "sum_f32_8", kRows / 8, x)}});
  record_sum<double>(cubin, "sum_f64_1", kRows, random_values<double>(kRows * kRow, 2));
  record_sum_of_fp16(cubin);
  record_columns(cubin);
  record_scans(cubin);
  record_extrema(cubin);
}

}  // namespace tile_bench
