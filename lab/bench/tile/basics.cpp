// SPDX-License-Identifier: MIT
#include "basics.hpp"

#include <functional>
#include <random>

#include "kizami/formats.hpp"

extern "C" const unsigned long long kizami_tile_vector_add[];
extern "C" const unsigned long long kizami_tile_gemm[];
extern "C" const unsigned long long kizami_tile_row_sum[];

namespace tile_bench {
namespace {

/// Integers in [-bound, bound], the same in every run.
std::vector<int> integers(std::size_t count, int bound, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> values(count);
  for (int& value : values) value = static_cast<int>(random() % static_cast<unsigned>(2 * bound + 1)) - bound;
  return values;
}

template <class T>
std::vector<T> as(const std::vector<int>& values) {
  return {values.begin(), values.end()};
}

/// Bits of FP16 numbers.
std::vector<std::uint16_t> as_fp16(const std::vector<int>& values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const int value : values) bits.push_back(kizami::Fp16::from(static_cast<double>(value)).bits());
  return bits;
}

unsigned tiles(int n, int tile) { return static_cast<unsigned>((n + tile - 1) / tile); }

template <class T>
long mismatches(const std::vector<T>& actual, const std::vector<T>& expected) {
  long count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) count += actual[i] == expected[i] ? 0 : 1;
  return count;
}

/// Runs one check and prints its line; 1 if it failed.
int judge(const char* name, const Json& size, const std::function<long()>& run) {
  Json line{{"kind", "check"}, {"name", name}, {"size", size}};
  bool is_right = false;
  try {
    const long wrong = run();
    line["wrong_elements"] = wrong;
    is_right = wrong == 0;
  } catch (const std::exception& error) {
    line["error"] = error.what();
  }
  line["result"] = is_right ? "ok" : "FAILED";
  print(line);
  return is_right ? 0 : 1;
}

long vector_add(const Cubin& cubin, int n) {
  const auto count = static_cast<std::size_t>(n);
  const std::vector<float> a = as<float>(integers(count, 1 << 20, 1));
  const std::vector<float> b = as<float>(integers(count, 1 << 20, 2));
  std::vector<float> expected(count + 1);
  for (std::size_t i = 0; i < count; ++i) expected[i] = a[i] + b[i];
  const DeviceArray<float> device_a(a);
  const DeviceArray<float> device_b(b);
  const DeviceArray<float> device_c(count + 1);  // one more, which the masked store must leave
  expected[count] = device_c.download()[count];
  cubin.run("vector_add", dim3(tiles(n, 256)), device_a.data(), device_b.data(), device_c.data(), n);
  return mismatches(device_c.download(), expected);
}

/// Every partial sum is an integer below 2^24, so that FP32 holds it whatever the order.
template <class In, class Accumulator>
long gemm(const Cubin& cubin, const char* kernel, int m, int n, int k, int bound,
          std::vector<In> (*convert)(const std::vector<int>&)) {
  const auto size = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  const std::vector<int> a = integers(size(m, k), bound, 3);
  const std::vector<int> b = integers(size(k, n), bound, 4);
  std::vector<Accumulator> expected(size(m, n));
  for (int i = 0; i < m; ++i) {
    for (int l = 0; l < k; ++l) {
      for (int j = 0; j < n; ++j)
        expected[size(i, n) + static_cast<std::size_t>(j)] += static_cast<Accumulator>(
            a[size(i, k) + static_cast<std::size_t>(l)] * b[size(l, n) + static_cast<std::size_t>(j)]);
    }
  }
  const DeviceArray<In> device_a(convert(a));
  const DeviceArray<In> device_b(convert(b));
  const DeviceArray<Accumulator> device_c(size(m, n));
  cubin.run(kernel, dim3(tiles(m, 128), tiles(n, 128)), device_a.data(), device_b.data(), device_c.data(), m, n, k);
  return mismatches(device_c.download(), expected);
}

long row_sum(const Cubin& cubin, int m, int n) {
  const auto rows = static_cast<std::size_t>(m);
  const auto columns = static_cast<std::size_t>(n);
  const std::vector<float> a = as<float>(integers(rows * columns, 64, 5));
  std::vector<float> expected(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) expected[i] += a[i * columns + j];
  }
  const DeviceArray<float> device_a(a);
  const DeviceArray<float> device_s(rows);
  cubin.run("row_sum", dim3(tiles(m, 4)), device_a.data(), device_s.data(), m, n);
  return mismatches(device_s.download(), expected);
}

int report_load(const Cubin& cubin) {
  print({{"kind", "load"}, {"cubin", cubin.name()}, {"result", cubin.status().ok() ? "ok" : cubin.status().reason()}});
  return cubin.status().ok() ? 0 : 1;
}

}  // namespace

int run_basics() {
  const Cubin add("vector_add", kizami_tile_vector_add);
  const Cubin products("gemm", kizami_tile_gemm);
  const Cubin sums("row_sum", kizami_tile_row_sum);
  int failures = report_load(add) + report_load(products) + report_load(sums);
  for (const int n : {1, 255, 256, 257, 1 << 20})
    failures += judge("vector_add", {n}, [&] { return vector_add(add, n); });
  const int shapes[][3] = {{128, 128, 64}, {1, 1, 1}, {127, 129, 65}, {256, 384, 512}, {300, 200, 1000}};
  for (const auto& [m, n, k] : shapes) {
    failures += judge("gemm_f16", {m, n, k}, [&, m = m, n = n, k = k] {
      return gemm<std::uint16_t, float>(products, "gemm_f16", m, n, k, 64, as_fp16);
    });
    failures += judge("gemm_i8", {m, n, k}, [&, m = m, n = n, k = k] {
      return gemm<std::int8_t, std::int32_t>(products, "gemm_i8", m, n, k, 127, as<std::int8_t>);
    });
  }
  const int matrices[][2] = {{4, 128}, {1, 1}, {5, 129}, {1023, 1000}};
  for (const auto& [m, n] : matrices)
    failures += judge("row_sum", {m, n}, [&, m = m, n = n] { return row_sum(sums, m, n); });
  return failures;
}

}  // namespace tile_bench
