// SPDX-License-Identifier: MIT
// Calls of several threads at once: what a first call prepares, and what launches of other threads must not disturb.
#include <array>
#include <barrier>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "kizami/cuda.hpp"

namespace kizami::gpu_test {
namespace {

template <class T>
struct Product {
  std::int64_t m, n, k;
  DeviceArray<T> a, b, c;
  cudaStream_t stream = nullptr;

  /// Exponents of elements spread over so many bits.
  Product(std::int64_t rows, std::int64_t cols, std::int64_t inner, int spread = 1)
      : m(rows),
        n(cols),
        k(inner),
        a(numbers(m * k, 3, spread)),
        b(numbers(k * n, 5, spread)),
        c(static_cast<std::size_t>(m * n)) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() { static_cast<void>(cudaStreamDestroy(stream)); }

  [[nodiscard]] static std::vector<T> numbers(std::int64_t count, std::int64_t step, int spread) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::int64_t x = 1;
    for (T& value : values) {
      x = (x * step + 1) % 65537;
      value = T(std::ldexp(static_cast<RealOf<T>>(x - 32768) / 3, static_cast<int>(x % spread)));
    }
    return values;
  }
  [[nodiscard]] Status multiply(Scheme scheme) const {
    Policy policy;
    policy.scheme = scheme;
    if (scheme != Scheme::kOzaki2) policy.reproducibility = Reproducibility::kNotGuaranteed;
    return cuda::gemm<T>(stream, Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, T{1}, a.data(), m, b.data(), k, T{0},
                         c.data(), m, policy);
  }
};

using Threads = DeviceTest;

template <class T>
void multiply_all(const Product<T>& product, Scheme scheme, std::barrier<>& start, Status& status) {
  start.arrive_and_wait();
  status = product.multiply(scheme);
}

template <class T>
void multiply_again_and_again(const Product<T>& product, Scheme scheme, int num_calls, std::barrier<>& start,
                              Status& status) {
  start.arrive_and_wait();
  for (int i = 0; i < num_calls && status.ok(); ++i) status = product.multiply(scheme);
}

/// The bits of `first`, and those of a call that nothing runs beside.
template <class T>
void expect_bits(const std::vector<T>& first, const Product<T>& product, Scheme scheme, const char* name) {
  const std::size_t bytes = first.size() * sizeof(first[0]);
  EXPECT_EQ(std::memcmp(first.data(), product.c.download().data(), bytes), 0) << name << ": threads differ";
  ASSERT_TRUE(product.multiply(scheme).ok()) << name;
  EXPECT_EQ(std::memcmp(first.data(), product.c.download().data(), bytes), 0) << name << ": alone";
}

/// Large enough that calls learn of each other what to make first (schemes/ozaki2/device_looks.cu), some by elements
/// that need a second look. The first calls of a process, where ctest runs this case by itself.
TEST_F(Threads, MakeTheirFirstLargeCallsAtOnce) {
  constexpr std::int64_t kSize = 2048;  // 2^33 terms: ozaki2::learns_look()
  constexpr int kCalls = 3;  // the first one while nothing is told, the last one maybe by what the first has told
  constexpr std::array kSpreads{1, 1, 20, 20};
  constexpr std::size_t kCopies = kSpreads.size();
  std::vector<std::unique_ptr<Product<float>>> f32;
  std::vector<std::unique_ptr<Product<double>>> f64;
  std::vector<std::unique_ptr<Product<std::complex<float>>>> c64;
  std::vector<std::unique_ptr<Product<std::complex<double>>>> c128;
  for (const int spread : kSpreads) {
    f32.push_back(std::make_unique<Product<float>>(kSize, kSize, kSize, spread));
    f64.push_back(std::make_unique<Product<double>>(kSize, kSize, kSize, spread));
    c64.push_back(std::make_unique<Product<std::complex<float>>>(kSize, kSize, kSize, spread));
    c128.push_back(std::make_unique<Product<std::complex<double>>>(kSize, kSize, kSize, spread));
  }
  std::barrier start(4 * std::ptrdiff_t{kCopies});
  std::vector<Status> status(4 * kCopies);
  std::vector<std::thread> crew;
  const auto send = [&](const auto& products, std::size_t type) {
    for (std::size_t i = 0; i < kCopies; ++i)
      crew.emplace_back([&, i, type] {
        multiply_again_and_again(*products[i], Scheme::kOzaki2, kCalls, start, status[4 * i + type]);
      });
  };
  send(f32, 0);
  send(f64, 1);
  send(c64, 2);
  send(c128, 3);
  for (std::thread& thread : crew) thread.join();
  for (const Status& s : status) EXPECT_TRUE(s.ok()) << s.reason();
  check(cudaDeviceSynchronize(), "all threads");
  const auto expect_all = [](const auto& products, const char* name) {
    for (std::size_t i = 0; i < kCopies; i += 2) {
      const auto first = products[i]->c.download();
      expect_bits(first, *products[i + 1], Scheme::kOzaki2, name);
    }
  };
  expect_all(f32, "f32");
  expect_all(f64, "f64");
  expect_all(c64, "c64");
  expect_all(c128, "c128");
}

/// The first calls of a process, where ctest runs this case by itself.
TEST_F(Threads, MakeTheirFirstCallsAtOnce) {
  constexpr int kCopies = 2;
  constexpr std::int64_t kSize = 300;
  const Scheme of_c64 = gpu_test::why_no_wgmma().empty() ? Scheme::kEc : Scheme::kOzaki2;
  std::vector<std::unique_ptr<Product<float>>> f32;
  std::vector<std::unique_ptr<Product<double>>> f64;
  std::vector<std::unique_ptr<Product<std::complex<float>>>> c64;
  std::vector<std::unique_ptr<Product<std::complex<double>>>> c128;
  for (int i = 0; i < kCopies; ++i) {
    f32.push_back(std::make_unique<Product<float>>(kSize, kSize, kSize));
    f64.push_back(std::make_unique<Product<double>>(kSize, kSize, kSize));
    c64.push_back(std::make_unique<Product<std::complex<float>>>(kSize, kSize, kSize));
    c128.push_back(std::make_unique<Product<std::complex<double>>>(kSize, kSize, kSize));
  }
  std::barrier start(5 * kCopies);
  std::vector<Status> status(5 * kCopies);
  std::vector<std::thread> crew;
  for (std::size_t i = 0; i < kCopies; ++i) {
    crew.emplace_back([&, i] { multiply_all(*f32[i], Scheme::kOzaki2, start, status[5 * i]); });
    crew.emplace_back([&, i] { multiply_all(*f64[i], Scheme::kOzaki2, start, status[5 * i + 1]); });
    crew.emplace_back([&, i] { multiply_all(*c64[i], of_c64, start, status[5 * i + 2]); });
    crew.emplace_back([&, i] { multiply_all(*c128[i], Scheme::kOzaki2, start, status[5 * i + 3]); });
    crew.emplace_back([&, i] {  // a thread that only asks
      start.arrive_and_wait();
      status[5 * i + 4] = cuda::workspace_pool().status();
    });
  }
  for (std::thread& thread : crew) thread.join();
  for (const Status& s : status) EXPECT_TRUE(s.ok()) << s.reason();
  check(cudaDeviceSynchronize(), "all threads");
  const auto expect_again = [](const auto& products, Scheme scheme, const char* name) {
    for (const auto& product : products) {
      const auto first = product->c.download();
      ASSERT_TRUE(product->multiply(scheme).ok()) << name;
      const auto again = product->c.download();
      EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(first[0])), 0) << name;
    }
  };
  expect_again(f32, Scheme::kOzaki2, "f32");
  expect_again(f64, Scheme::kOzaki2, "f64");
  expect_again(c64, of_c64, "c64");
  expect_again(c128, Scheme::kOzaki2, "c128");
}

}  // namespace
}  // namespace kizami::gpu_test
