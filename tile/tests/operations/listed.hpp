// SPDX-License-Identifier: MIT
// The list of operations on the host: each with its arguments as bytes, its run, and how two results are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tile/tests/operations/operation.hpp"

namespace kizami::tile_operations {

using Bytes = std::vector<std::byte>;

struct Operation {
  std::string name;
  Bytes x, y, z;  ///< before the call
  std::function<Status(const Bytes& x, const Bytes& y, Bytes& z)> run_on_host;
  std::function<std::string(const Bytes& a, const Bytes& b)> difference;  ///< of two z: "" if there is none
};

inline namespace KIZAMI_TILE_BACKEND {

template <class T>
constexpr bool kIsFloat = ct::floating_point_scalar<T>;

template <class T>
T element(Fill fill, int i, std::mt19937_64& random) {
  const auto bits = random();
  const auto real = [&](bool is_positive) {
    const double magnitude =
        std::ldexp(1 + static_cast<double>(bits >> 12) * 0x1p-52, static_cast<int>(random() % 9) - 4);
    return static_cast<float>(is_positive || random() % 2 == 0 ? magnitude : -magnitude);
  };
  const auto from = [](double value) {
    if constexpr (kIsFloat<T>)
      return ct::element_cast<T>(static_cast<float>(value));
    else
      return static_cast<T>(value);
  };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  switch (fill) {
    case Fill::kSmall:
      return from(std::is_unsigned_v<T> ? static_cast<double>(bits % 9) : static_cast<double>(bits % 9) - 4);
    case Fill::kCount:
      return from(static_cast<double>(bits % 7 + 1));
    case Fill::kFlags:
      return from(static_cast<double>(bits % 2));
    case Fill::kOrder:
      return from(37 * i % kElements);
    case Fill::kBits:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
      break;
    case Fill::kReal:
    case Fill::kPositive:
      if constexpr (std::is_same_v<T, double>)
        return static_cast<double>(real(fill == Fill::kPositive)) * (1 + static_cast<double>(bits % 1000003) * 0x1p-50);
      else if constexpr (kIsFloat<T>)
        return ct::element_cast<T>(real(fill == Fill::kPositive));
      break;
    case Fill::kSpecial:
      if constexpr (kIsFloat<T>)
        return from(i % 4 == 0 ? std::nanf("") : i % 4 == 1 ? kInf : i % 4 == 2 ? -kInf : 1.5F);
      break;
  }
  return T{};
}

template <class T>
Bytes filled(Fill fill, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(kElements * sizeof(T));
  for (int i = 0; i < kElements; ++i) {
    const T value = element<T>(fill, i, random);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

/// Equal in every bit, two NaNs alike; with units > 0, floats at most that many units in the last place apart.
template <class T>
std::string difference_of(const Bytes& a, const Bytes& b, double units) {
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    T p, q;
    std::memcpy(&p, a.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&q, b.data() + i * sizeof(T), sizeof(T));
    if (std::memcmp(&p, &q, sizeof(T)) == 0) continue;
    double v = 0;
    double w = 0;
    if constexpr (std::is_arithmetic_v<T>) {
      v = static_cast<double>(p);
      w = static_cast<double>(q);
    } else {
      v = static_cast<double>(static_cast<float>(p));
      w = static_cast<double>(static_cast<float>(q));
    }
    if (kIsFloat<T> && std::isnan(v) && std::isnan(w)) continue;
    if constexpr (std::is_floating_point_v<T>) {
      // The unit of the larger one, a few of its own units above, where the next power of two may be.
      const double larger = std::max(std::fabs(v), std::fabs(w)) * (1 + 16 * std::numeric_limits<T>::epsilon());
      const double unit = std::ldexp(1.0, std::ilogb(larger) - (std::numeric_limits<T>::digits - 1));
      if (std::fabs(v - w) <= units * unit) continue;
    }
    return "element " + std::to_string(i) + ": " + std::to_string(v) + " and " + std::to_string(w);
  }
  return "";
}

/// All operations of this backend.
inline std::vector<Operation>& operations() {
  static std::vector<Operation> list;
  return list;
}

template <class X, class Y, class Z>
bool list_operation(const char* name, void (*kernel)(const X*, const Y*, Z*), Fill x, Fill y, Fill z, double units) {
  const auto run = [name, kernel](const Bytes& p, const Bytes& q, Bytes& r) {
    return tile::launch(name, kernel, dim3(1), nullptr, reinterpret_cast<const X*>(p.data()),
                        reinterpret_cast<const Y*>(q.data()), reinterpret_cast<Z*>(r.data()));
  };
  const auto difference = [units](const Bytes& a, const Bytes& b) { return difference_of<Z>(a, b, units); };
  operations().push_back({name, filled<X>(x, 1), filled<Y>(y, 2), filled<Z>(z, 3), run, difference});
  return true;
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_operations
