// SPDX-License-Identifier: MIT
// The arithmetic of one element, on operands of one type. Signed integers wrap instead of being undefined; in debug
// mode fault() says what the language leaves undefined.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "kizami/tile/scalars.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

inline constexpr std::string_view kOverflows = "the result overflows";
inline constexpr std::string_view kDividesByZero = "division by zero";
inline constexpr std::string_view kShiftsTooFar = "the shift count is negative or not below the width";

/// T, unsigned and at least as wide as int, so that arithmetic on it neither promotes nor overflows.
template <class T>
using WrappingT =
    std::common_type_t<std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, unsigned, T>>, unsigned>;

/// The operation f on T made in the working type of T and rounded once.
template <class T, class F>
[[nodiscard]] constexpr T rounded_once(F f, T a, T b) {
  return scalar_cast<T>(f(scalar_cast<WorkingT<T>>(a), scalar_cast<WorkingT<T>>(b)));
}

struct Add {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      return static_cast<T>(static_cast<WrappingT<T>>(a) + static_cast<WrappingT<T>>(b));
    } else {
      return rounded_once([](auto x, auto y) { return x + y; }, a, b);
    }
  }
  template <class T>
  constexpr std::string_view fault(T a, T b) const {
    T sum{};
    if constexpr (std::is_signed_v<T> && kIsIntegral<T>) return __builtin_add_overflow(a, b, &sum) ? kOverflows : "";
    return static_cast<void>(a), static_cast<void>(b), static_cast<void>(sum), "";
  }
};
struct Subtract {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      return static_cast<T>(static_cast<WrappingT<T>>(a) - static_cast<WrappingT<T>>(b));
    } else {
      return rounded_once([](auto x, auto y) { return x - y; }, a, b);
    }
  }
  template <class T>
  constexpr std::string_view fault(T a, T b) const {
    T difference{};
    if constexpr (std::is_signed_v<T> && kIsIntegral<T>) {
      return __builtin_sub_overflow(a, b, &difference) ? kOverflows : "";
    }
    return static_cast<void>(a), static_cast<void>(b), static_cast<void>(difference), "";
  }
};
struct Multiply {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      return static_cast<T>(static_cast<WrappingT<T>>(a) * static_cast<WrappingT<T>>(b));
    } else {
      return rounded_once([](auto x, auto y) { return x * y; }, a, b);
    }
  }
  template <class T>
  constexpr std::string_view fault(T a, T b) const {
    T product{};
    if constexpr (std::is_signed_v<T> && kIsIntegral<T>) {
      return __builtin_mul_overflow(a, b, &product) ? kOverflows : "";
    }
    return static_cast<void>(a), static_cast<void>(b), static_cast<void>(product), "";
  }
};

/// What division, remainder and their kin share.
struct DivisionFaults {
  template <class T>
  constexpr std::string_view fault(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      if (b == T{0}) return kDividesByZero;
      if constexpr (std::is_signed_v<T>) {
        if (a == std::numeric_limits<T>::min() && b == T{-1}) return kOverflows;
      }
    }
    return static_cast<void>(a), static_cast<void>(b), "";
  }
};
/// The quotient rounded toward zero. @range b = 0 gives 0, the least value over -1 gives itself; both are undefined in
/// the language
template <class T>
[[nodiscard]] constexpr T quotient(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return Subtract{}(T{0}, a);
  }
  return static_cast<T>(a / b);
}
/// a - b quotient(a, b). @range as quotient
template <class T>
[[nodiscard]] constexpr T integer_remainder(T a, T b) {
  if (b == T{0}) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return T{0};
  }
  return static_cast<T>(a % b);
}

struct Divide : DivisionFaults {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      return quotient(a, b);
    } else {
      return rounded_once([](auto x, auto y) { return x / y; }, a, b);
    }
  }
};
/// The remainder of the division rounded toward zero, with the sign of a; exact.
struct Remainder : DivisionFaults {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (kIsIntegral<T>) {
      return integer_remainder(a, b);
    } else {
      return rounded_once([](auto x, auto y) { return std::fmod(x, y); }, a, b);
    }
  }
};
struct FloorDivide : DivisionFaults {
  template <class T>
  constexpr T operator()(T a, T b) const {
    const T q = quotient(a, b);
    const bool is_inexact = b != T{0} && integer_remainder(a, b) != T{0};
    return is_inexact && ((a < T{0}) != (b < T{0})) ? static_cast<T>(q - 1) : q;
  }
};
struct CeilDivide : DivisionFaults {
  template <class T>
  constexpr T operator()(T a, T b) const {
    const T q = quotient(a, b);
    const bool is_inexact = b != T{0} && integer_remainder(a, b) != T{0};
    return is_inexact && ((a < T{0}) == (b < T{0})) ? static_cast<T>(q + 1) : q;
  }
};

/// The high half of the product of the bit patterns, which are taken as unsigned whatever T.
struct MultiplyHigh {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) {
      return false;
    } else if constexpr (sizeof(T) == 8) {
      __extension__ typedef unsigned __int128 Wide;
      const auto x = static_cast<std::uint64_t>(a);
      return static_cast<T>(static_cast<std::uint64_t>((static_cast<Wide>(x) * static_cast<std::uint64_t>(b)) >> 64));
    } else {
      using Bits = std::make_unsigned_t<T>;
      const std::uint64_t product = std::uint64_t{static_cast<Bits>(a)} * static_cast<Bits>(b);
      return static_cast<T>(static_cast<Bits>(product >> (8 * sizeof(T))));
    }
  }
};

struct BitAnd {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// Bits that a shift of a T moves in: 1 for bool.
template <class T>
inline constexpr unsigned kWidth = std::is_same_v<T, bool> ? 1 : 8 * sizeof(T);
struct ShiftFaults {
  template <class T, class U>
  constexpr std::string_view fault(T, U count) const {
    return static_cast<std::make_unsigned_t<std::conditional_t<std::is_same_v<U, bool>, unsigned, U>>>(count) >=
                   kWidth<T>
               ? kShiftsTooFar
               : "";
  }
};
/// @range a count outside [0, width) is undefined in the language; here every bit leaves
struct ShiftLeft : ShiftFaults {
  template <class T, class U>
  constexpr T operator()(T a, U count) const {
    if (!this->fault(a, count).empty()) return T{0};
    return static_cast<T>(static_cast<WrappingT<T>>(a) << static_cast<unsigned>(count));
  }
};
struct ShiftRight : ShiftFaults {
  template <class T, class U>
  constexpr T operator()(T a, U count) const {
    if (!this->fault(a, count).empty()) return static_cast<T>(a < T{0} ? -1 : 0);
    return static_cast<T>(a >> static_cast<unsigned>(count));
  }
};

struct Negate {
  template <class T>
  constexpr T operator()(T a) const {
    if constexpr (kIsNarrow<T>) {
      return from_format<T>(-format_of(a));
    } else if constexpr (kIsIntegral<T>) {
      return Subtract{}(T{0}, a);
    } else {
      return -a;
    }
  }
  template <class T>
  constexpr std::string_view fault(T a) const {
    if constexpr (kIsIntegral<T>) return Subtract{}.fault(T{0}, a);
    return static_cast<void>(a), "";
  }
};
struct Absolute {
  template <class T>
  constexpr T operator()(T a) const {
    if constexpr (kIsNarrow<T>) {
      const auto x = format_of(a);
      return from_format<T>(x.is_negative() ? -x : x);
    } else if constexpr (!kIsIntegral<T>) {
      return std::fabs(a);
    } else {
      return a < T{0} ? Subtract{}(T{0}, a) : a;
    }
  }
  template <class T>
  constexpr std::string_view fault(T a) const {
    if constexpr (kIsIntegral<T>) return a < T{0} ? Subtract{}.fault(T{0}, a) : "";
    return static_cast<void>(a), "";
  }
};
struct Complement {
  template <class T>
  constexpr T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return static_cast<T>(~a);
    }
  }
};

// Comparisons, on arithmetic values and on pointers.
#define KIZAMI_TILE_COMPARISON(Name, op)                       \
  struct Name {                                                \
    template <class T>                                         \
    constexpr bool operator()(T a, T b) const {                \
      if constexpr (kIsNarrow<T>) {                            \
        return scalar_cast<float>(a) op scalar_cast<float>(b); \
      } else {                                                 \
        return a op b;                                         \
      }                                                        \
    }                                                          \
  };
KIZAMI_TILE_COMPARISON(Less, <)
KIZAMI_TILE_COMPARISON(LessEqual, <=)
KIZAMI_TILE_COMPARISON(Greater, >)
KIZAMI_TILE_COMPARISON(GreaterEqual, >=)
KIZAMI_TILE_COMPARISON(Equal, ==)
KIZAMI_TILE_COMPARISON(NotEqual, !=)
#undef KIZAMI_TILE_COMPARISON

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
