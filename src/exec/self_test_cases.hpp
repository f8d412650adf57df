// SPDX-License-Identifier: MIT
// The products that a device of an unknown kind is tested with: small ones, of the same numbers on every machine, and
// the processor's bits for them. Those are the same on every machine, too, so the test of a device need not multiply on
// the processor: libkizami_cublas.so is without what that takes, 0.9 MB.
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "kizami/policy.hpp"
#include "kizami/types.hpp"
#include "plan/numerics_hash.hpp"

namespace kizami::exec {

struct SelfTestCase {
  Scalar scalar;
  EngineName engine;  ///< of the device
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  int spread;            ///< of exponents: wide ones are not certified, and take the second look and FP64 arithmetic
  std::uint64_t digest;  ///< digest_of() the processor's C, column-major
};
/// Ragged shapes: no extent is a multiple of a tile's. tests/exec/self_test_cases_test.cpp says the digests.
inline constexpr std::array kSelfTestCases = {
    SelfTestCase{Scalar::kF64, EngineName::kMma, 75, 67, 131, 4, 0xB507D7F7A66A0693},
    SelfTestCase{Scalar::kF64, EngineName::kCublasLt, 75, 67, 131, 4, 0xB507D7F7A66A0693},
    SelfTestCase{Scalar::kC128, EngineName::kMma, 43, 51, 70, 4, 0x397D7421CA8FB3B2},
    SelfTestCase{Scalar::kF32, EngineName::kMma, 75, 67, 131, 4, 0xBADB96E2FA08F123},
    SelfTestCase{Scalar::kC64, EngineName::kMma, 43, 51, 70, 4, 0xFE151081623CFC5B},
    SelfTestCase{Scalar::kF64, EngineName::kMma, 33, 40, 1500, 60, 0xA24CA2CAF6B15F71},
};

/// The policy for a device; the processor's is without an engine.
[[nodiscard]] inline Policy self_test_policy(const SelfTestCase& c) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.max_rungs = c.engine == EngineName::kCublasLt ? 1 : 0;
  policy.engine = c.engine;
  return policy;
}

/// Numbers in (-1, 1) times powers of two: A's, then B's.
class SelfTestNumbers {
 public:
  explicit SelfTestNumbers(int spread) : spread_(static_cast<std::uint64_t>(spread)) {}
  void fill(double& x) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const auto significand = static_cast<double>(static_cast<std::int64_t>(state_) >> 11) * 0x1p-52;
    const auto halvings = static_cast<int>((state_ >> 40) % spread_);
    x = significand;
    for (int i = 0; i < halvings; ++i) x *= 0.5;
  }
  void fill(float& x) {
    double wide = 0;
    fill(wide);
    x = static_cast<float>(wide);
  }
  template <class Real>
  void fill(std::complex<Real>& x) {
    Real parts[2];
    fill(parts[0]);
    fill(parts[1]);
    x = {parts[0], parts[1]};
  }
  template <class T>
  [[nodiscard]] std::vector<T> matrix(std::int64_t rows, std::int64_t cols) {
    std::vector<T> out(static_cast<std::size_t>(rows * cols));
    for (T& x : out) fill(x);
    return out;
  }

 private:
  std::uint64_t spread_;
  std::uint64_t state_ = 1;
};

/// Two results of one shape with the same digest have the same bits, but for one chance in 2^64.
template <class T>
[[nodiscard]] std::uint64_t digest_of(std::span<const T> elements) {
  plan::NumericsHash hash;
  const auto add = [&hash](auto x) {
    hash.add(std::bit_cast<std::conditional_t<sizeof(x) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>>(x));
  };
  for (const T& x : elements) {
    if constexpr (std::is_floating_point_v<T>) {
      add(x);
    } else {
      add(x.real());
      add(x.imag());
    }
  }
  return hash.value();
}

}  // namespace kizami::exec
