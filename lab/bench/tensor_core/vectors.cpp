// SPDX-License-Identifier: MIT
#include "tensor_core/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "kizami/formats.hpp"

namespace bench {
namespace {

using kizami::num::FloatType;

constexpr int kInstructions = 24;  // a type

constexpr int type_index(FloatType type) { return static_cast<int>(type); }
constexpr const char* kTypeNames[] = {"fp16", "bf16", "tf32"};

/// Bits of a value rounded to the type.
std::uint32_t bits_of(FloatType type, double x) {
  switch (type) {
    case FloatType::kFp16:
      return kizami::Fp16::from(x).bits();
    case FloatType::kBf16:
      return kizami::Bf16::from(x).bits();
    case FloatType::kTf32:
      return kizami::Tf32::from(x).bits();
  }
  return 0;
}

/// One vector: the inputs of one element of D.
struct Vector {
  double a[16] = {};
  double b[16] = {};
  double c = 0;
};

class Inputs {
 public:
  explicit Inputs(FloatType type) : type_(type), pairs_(type == FloatType::kTf32 ? 8 : 16), random_(2021) {}

  /// A vector of instruction `number`: all kinds in turn. `b`: the line of B that it meets, or null for one of its own.
  Vector next(int number, const double* b) {
    large_at_ = number * 5 % pairs_;
    Vector v = draw(number);
    if (b != nullptr) std::copy(b, b + pairs_, v.b);
    if (number % 12 == kCancelling) cancel(v);
    return v;
  }

 private:
  static constexpr int kCancelling = 5;

  Vector draw(int number) {
    switch (number % 12) {
      case 0:
        return random(2);
      case 1:
        return random(14);
      case 2:
        return any_bits();
      case 3:
        return one_large(true);
      case 4:
        return one_large(false);
      case kCancelling:
        return one_large(true);
      case 6:
        return wide_significands();
      case 7:
        return zero_beside_tiny();
      case 8:
        return subnormal_operands();
      case 9:
        return two_halves();
      case 10:
        return large_accumulator();
      default:
        return number % 24 == 11 ? special() : random(30);
    }
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  double sign() { return below(2) == 0 ? 1.0 : -1.0; }
  int limit() const { return type_ == FloatType::kFp16 ? 14 : 60; }
  double number(int spread) {
    const int bound = spread < limit() ? spread : limit();
    return sign() * std::ldexp(1.0 + below(1024) / 1024.0, below(2 * bound + 1) - bound);
  }
  double fp32(int exponent) { return sign() * std::ldexp(1.0 + below(1 << 23) * 0x1p-23, exponent); }

  Vector random(int spread) {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = number(spread);
      v.b[h] = number(spread);
    }
    v.c = below(4) == 0 ? 0.0 : fp32(below(2 * spread + 1) - spread);
    return v;
  }
  /// Any finite bit pattern, subnormal ones too.
  Vector any_bits() {
    Vector v;
    const auto draw = [&] {
      if (type_ == FloatType::kFp16) {
        const auto x = kizami::Fp16::from_bits(static_cast<std::uint16_t>(random_()));
        return x.is_finite() ? x.to_double() : 0.0;
      }
      return number(60);
    };
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = draw();
      v.b[h] = draw();
    }
    v.c = fp32(below(60) - 30);
    return v;
  }
  /// A large product (or accumulator) and products of 2^-s of it, s = 20..29: how many bits survive, and their
  /// rounding.
  Vector one_large(bool is_product) {
    Vector v;
    const int s = 20 + below(10);
    const double large = sign();
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * (1.0 + below(1024) / 1024.0) * std::ldexp(1.0, -(s / 2));
      v.b[h] = (1.0 + (below(2) == 0 ? 0 : below(1024)) / 1024.0) * std::ldexp(1.0, -(s - s / 2));
    }
    if (is_product) {
      v.a[large_at_] = large * (1.0 + below(1024) / 1024.0);
      v.b[large_at_] = 1.0 + below(1024) / 1024.0;
    } else {
      v.c = large * (1.0 + below(1 << 23) * 0x1p-23);
    }
    return v;
  }
  /// The large product is taken away again by the accumulator: what is left are the cut bits.
  void cancel(Vector& v) const { v.c = -v.a[large_at_] * v.b[large_at_]; }  // 22 bits
  /// Significands near 2, so that products lie near 4 times the power of two that they are aligned by.
  Vector wide_significands() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * std::ldexp(2.0 - (1 + below(7)) / 1024.0, h == 0 ? 0 : -below(13));
      v.b[h] = std::ldexp(2.0 - (1 + below(7)) / 1024.0, h == 0 ? 0 : -below(13));
    }
    v.c = fp32(-below(26));
    return v;
  }
  /// A zero times a large number must not raise the exponent that tiny addends are aligned to.
  Vector zero_beside_tiny() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = h % 2 == 0 ? 0.0 : number(2) * 0x1p-12;
      v.b[h] = h % 2 == 0 ? sign() * 0x1p15 : number(2) * 0x1p-10;
    }
    v.c = below(2) == 0 ? fp32(-25) : 0.0;
    return v;
  }
  /// Subnormal numbers of FP16 beside larger products: are they normalised before they are aligned?
  Vector subnormal_operands() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * std::ldexp(static_cast<double>(1 + below(1023)), -24);
      v.b[h] = std::ldexp(1.0 + below(1024) / 1024.0, below(20) - 4);
    }
    v.c = below(2) == 0 ? 0.0 : fp32(-12 - below(20));
    return v;
  }
  /// Large products in one half of the pairs, small ones in the other: how many share one alignment?
  Vector two_halves() {
    Vector v;
    const int split = 1 << below(type_ == FloatType::kTf32 ? 3 : 4);
    for (int h = 0; h < pairs_; ++h) {
      const int shift = (h / split) % 2 == 0 ? 0 : -13;
      v.a[h] = sign() * std::ldexp(1.0 + below(1024) / 1024.0, shift);
      v.b[h] = std::ldexp(1.0 + below(1024) / 1024.0, shift);
    }
    return v;
  }
  /// Rounding of the result alone: an accumulator of 2^24 and more, and small integers.
  Vector large_accumulator() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * below(4);
      v.b[h] = below(4);
    }
    v.c = fp32(23 + below(4));
    return v;
  }
  Vector special() {
    Vector v = random(2);
    const double values[] = {INFINITY, -INFINITY, NAN, 0.0};
    v.a[below(pairs_)] = values[below(4)];
    v.b[below(pairs_)] = values[below(4)];
    if (below(3) == 0) v.c = values[below(3)];
    return v;
  }

  FloatType type_;
  int pairs_;
  int large_at_ = 0;
  std::mt19937 random_;
};

void put(FloatType type, std::uint8_t* line, int h, double x) {
  const std::uint32_t bits = bits_of(type, x);
  const int bytes = kizami::num::element_bytes(type);
  for (int byte = 0; byte < bytes; ++byte) line[h * bytes + byte] = static_cast<std::uint8_t>(bits >> (8 * byte));
}
std::uint32_t get(FloatType type, const std::uint8_t* line, int h) {
  const int bytes = kizami::num::element_bytes(type);
  std::uint32_t bits = 0;
  for (int byte = 0; byte < bytes; ++byte) bits |= std::uint32_t{line[h * bytes + byte]} << (8 * byte);
  return bits;
}

int num_pairs(FloatType type) { return type == FloatType::kTf32 ? 8 : 16; }

}  // namespace

std::vector<Instruction> instructions_of(FloatType type) {
  Inputs inputs(type);
  const int pairs = num_pairs(type);
  std::vector<Instruction> out(kInstructions);
  for (int number = 0; number < kInstructions; ++number) {
    Instruction& instruction = out[static_cast<std::size_t>(number)];
    double b[kColumns][16] = {};
    for (int row = 0; row < kRows; ++row) {
      double* const columns = b[row % kColumns];
      const Vector v = inputs.next(number, row < kColumns ? nullptr : columns);
      std::copy(v.b, v.b + pairs, columns);
      for (int h = 0; h < pairs; ++h) {
        put(type, instruction.a.data() + row * kInnerBytes, h, v.a[h]);
        if (row < kColumns) put(type, instruction.b.data() + row * kInnerBytes, h, v.b[h]);
      }
      for (int column = 0; column < kColumns; ++column)
        instruction.c[static_cast<std::size_t>(row * kColumns + column)] = static_cast<float>(v.c);
    }
  }
  return out;
}

void print_vectors(FloatType type, const std::vector<Instruction>& instructions) {
  const int pairs = num_pairs(type);
  const int digits = 2 * kizami::num::element_bytes(type);
  for (const Instruction& instruction : instructions) {
    for (int row = 0; row < kRows; ++row) {
      const int column = row % kColumns;
      const auto element = static_cast<std::size_t>(row * kColumns + column);
      std::printf("%s %08x %08x", kTypeNames[type_index(type)], kizami::bit_cast<std::uint32_t>(instruction.c[element]),
                  kizami::bit_cast<std::uint32_t>(instruction.d[element]));
      for (int h = 0; h < pairs; ++h)
        std::printf(" %0*x", digits, get(type, instruction.a.data() + row * kInnerBytes, h));
      for (int h = 0; h < pairs; ++h)
        std::printf(" %0*x", digits, get(type, instruction.b.data() + column * kInnerBytes, h));
      std::printf("\n");
    }
  }
}

}  // namespace bench
