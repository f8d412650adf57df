// SPDX-License-Identifier: MIT
#include "mma_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kizami/formats.hpp"
#include "mma_model.hpp"

extern "C" const unsigned long long kizami_tile_mma[];

namespace tile_bench {
namespace {

constexpr int kMaxModelElements = 1024;  // of D, held against every model
constexpr std::size_t kMaxNames = 6;     // of models in one line

/// A number format as the host sees it: how to round to it and its bits.
struct Fp32 {
  using Bits = float;
  static constexpr int kMinExponent = -126;
  static Bits bits(double x) { return static_cast<float>(x); }
  static double value(Bits x) { return static_cast<double>(x); }
};
struct Fp64 {
  using Bits = double;
  static constexpr int kMinExponent = -1022;
  static Bits bits(double x) { return x; }
  static double value(Bits x) { return x; }
};
template <class Format, int kMinExponentOf>
struct Narrow {
  using Bits = typename Format::Bits;
  static constexpr int kMinExponent = kMinExponentOf;
  static Bits bits(double x) { return Format::from(x).bits(); }
  static double value(Bits x) { return Format::from_bits(x).to_double(); }
};
using Half = Narrow<kizami::Fp16, -14>;
using Bfloat = Narrow<kizami::Bf16, -126>;
using Tfloat = Narrow<kizami::Tf32, -126>;
using E4m3 = Narrow<kizami::Fp8E4m3, -6>;
using E5m2 = Narrow<kizami::Fp8E5m2, -14>;

/// Operands and accumulators of one launch, as doubles that the formats hold exactly.
struct Problem {
  int size;
  int k;
  std::vector<double> a;  // size x k
  std::vector<double> b;  // k x size
  std::vector<double> c;  // size x size

  Problem(int size_of, int k_of) : size(size_of), k(k_of), a(count(size, k)), b(count(k, size)), c(count(size, size)) {}
  static std::size_t count(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  [[nodiscard]] std::size_t a_at(int i, int l) const { return count(i, k) + static_cast<std::size_t>(l); }
  [[nodiscard]] std::size_t b_at(int l, int j) const { return count(l, size) + static_cast<std::size_t>(j); }
  [[nodiscard]] std::size_t c_at(int i, int j) const { return count(i, size) + static_cast<std::size_t>(j); }
};

template <class Format>
std::vector<typename Format::Bits> encode(const std::vector<double>& values) {
  std::vector<typename Format::Bits> bits;
  bits.reserve(values.size());
  for (const double value : values) bits.push_back(Format::bits(value));
  return bits;
}

template <class In, class Accumulator>
std::vector<double> run(const Cubin& cubin, const std::string& kernel, const Problem& p) {
  const DeviceArray<typename In::Bits> a(encode<In>(p.a));
  const DeviceArray<typename In::Bits> b(encode<In>(p.b));
  const DeviceArray<typename Accumulator::Bits> c(encode<Accumulator>(p.c));
  const DeviceArray<typename Accumulator::Bits> d(p.c.size());
  cubin.run(kernel.c_str(), dim3(1), a.data(), b.data(), c.data(), d.data(), p.k);
  std::vector<double> values;
  for (const auto bits : d.download()) values.push_back(Accumulator::value(bits));
  return values;
}

/// Random numbers of a format: significands random, exponents within +-spread, some of the sums nearly cancelling.
template <class In, class Accumulator>
Problem random_problem(int size, int k, int spread, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int bound) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * bound + 1)) - bound;
    const double significand = 1.0 + static_cast<double>(random() % (1U << 24)) * 0x1p-24;
    return (random() % 2 == 0 ? 1.0 : -1.0) * std::ldexp(significand, exponent);
  };
  Problem p(size, k);
  for (double& value : p.a) value = In::value(In::bits(draw(spread)));
  for (double& value : p.b) value = In::value(In::bits(draw(spread)));
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double value = 0.0;
      if ((i + j) % 3 == 1) value = draw(spread);
      if ((i + j) % 3 == 2) value = -p.a[p.a_at(i, k - 1)] * p.b[p.b_at(k - 1, j)];
      p.c[p.c_at(i, j)] = Accumulator::value(Accumulator::bits(value));
    }
  }
  return p;
}

template <class In>
std::vector<Term> terms_of(const Problem& p, int i, int j) {
  std::vector<Term> terms;
  for (int l = 0; l < p.k; ++l) {
    const double x = p.a[p.a_at(i, l)];
    const double y = p.b[p.b_at(l, j)];
    const auto exponent = [](double v) {
      return v == 0.0 ? In::kMinExponent : std::max(std::ilogb(v), In::kMinExponent);
    };
    terms.push_back({x * y, exponent(x) + exponent(y)});
  }
  return terms;
}

template <class In, class Accumulator>
void record_sums(const Cubin& cubin, const char* name, int size, int k, int spread) {
  const std::string kernel = "mma_" + std::string(name) + "_" + std::to_string(size);
  Json line{{"kind", "fact"}, {"topic", "mma sums"}, {"kernel", kernel}, {"k", k}, {"exponents", spread}};
  try {
    const Problem p = random_problem<In, Accumulator>(size, k, spread, 7);
    const std::vector<double> d = run<In, Accumulator>(cubin, kernel, p);
    std::vector<SumModel> models = sum_models();
    double largest_error = 0.0;
    int tested = 0;
    for (int element = 0; element < std::min(kMaxModelElements, size * size); ++element) {
      const int i = element % size;
      const int j = (element / size + 3 * i) % size;
      const std::vector<Term> terms = terms_of<In>(p, i, j);
      const double c = p.c[p.c_at(i, j)];
      const double actual = d[p.c_at(i, j)];
      long double exact = static_cast<long double>(c);
      double gauge = std::fabs(c);
      for (const Term& term : terms) {
        exact += static_cast<long double>(term.product);
        gauge += std::fabs(term.product);
      }
      largest_error =
          std::max(largest_error, static_cast<double>(std::fabs(static_cast<long double>(actual) - exact)) / gauge);
      std::erase_if(models, [&](const SumModel& model) { return model.sum(c, terms) != actual; });
      ++tested;
    }
    Json names = Json::array();
    for (std::size_t i = 0; i < std::min(models.size(), kMaxNames); ++i) names.push_back(models[i].name());
    line["sums"] = tested;
    line["num_models_equal_in_every_bit"] = models.size();
    line["models_equal_in_every_bit"] = names;
    line["largest_error_over_sum_of_magnitudes_log2"] =
        largest_error == 0.0 ? Json("exact") : Json(std::log2(largest_error));
  } catch (const std::exception& error) {
    line["error"] = error.what();
  }
  print(line);
}

/// One sum in element (0, 0), all else zero: `a` and `b` fill the first positions of the inner index.
template <class In, class Accumulator>
void record_special(const Cubin& cubin, const char* name, int size, const char* what, const std::vector<double>& a,
                    const std::vector<double>& b, double c) {
  const std::string kernel = "mma_" + std::string(name) + "_" + std::to_string(size);
  Json line{{"kind", "fact"}, {"topic", "mma special values"}, {"kernel", kernel}, {"case", what}};
  try {
    Problem p(size, 64);
    for (std::size_t l = 0; l < a.size(); ++l) {
      p.a[p.a_at(0, static_cast<int>(l))] = a[l];
      p.b[p.b_at(static_cast<int>(l), 0)] = b[l];
    }
    p.c[0] = c;
    const double d = run<In, Accumulator>(cubin, kernel, p)[0];
    std::uint64_t bits = 0;
    std::memcpy(&bits, &d, sizeof bits);
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", d);
    line["result"] = text;
    line["sign"] = bits >> 63;
  } catch (const std::exception& error) {
    line["error"] = error.what();
  }
  print(line);
}

template <class In, class Accumulator>
void record_specials(const Cubin& cubin, const char* name, int size, double largest, double least) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto record = [&](const char* what, const std::vector<double>& a, const std::vector<double>& b, double c) {
    record_special<In, Accumulator>(cubin, name, size, what, a, b, c);
  };
  record("least subnormal * 1", {least}, {1.0}, 0.0);
  record("least subnormal * least subnormal", {least}, {least}, 0.0);
  record("largest * largest", {largest}, {largest}, 0.0);
  record("largest * largest, 64 times", std::vector<double>(64, largest), std::vector<double>(64, largest), 0.0);
  record("-0 * 1 + -0, the rest +0", {-0.0}, {1.0}, -0.0);
  record("-0 * 1 + -0, all 64", std::vector<double>(64, -0.0), std::vector<double>(64, 1.0), -0.0);
  record("NaN * 1", {nan}, {1.0}, 0.0);
  record("1 + NaN as accumulator", {1.0}, {1.0}, nan);
  record("Inf as accumulator", {1.0}, {-1.0}, inf);
  if (std::isinf(In::value(In::bits(inf)))) {
    record("Inf * 1", {inf}, {1.0}, 0.0);
    record("Inf * 0", {inf}, {0.0}, 0.0);
    record("Inf - Inf", {inf, -inf}, {1.0, 1.0}, 0.0);
  }
}

bool are_alike(const std::vector<std::int32_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](std::int32_t value) { return value == values[0]; });
}

/// Exact sums, and sums that leave INT32. @shape of one launch: size x size x 64
template <class In>
void record_integers(const Cubin& cubin, const char* name, int size, int least, int largest) {
  const std::string kernel = "mma_" + std::string(name) + "_" + std::to_string(size);
  const auto at = [](int i, int row, int j) {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(row) + static_cast<std::size_t>(j);
  };
  const int k = 64;
  const auto record = [&](const char* what, int x, int y, std::int32_t c) {
    const DeviceArray<In> a(std::vector<In>(at(size, k, 0), static_cast<In>(x)));
    const DeviceArray<In> b(std::vector<In>(at(size, k, 0), static_cast<In>(y)));
    const DeviceArray<std::int32_t> device_c(std::vector<std::int32_t>(at(size, size, 0), c));
    const DeviceArray<std::int32_t> d(at(size, size, 0));
    cubin.run(kernel.c_str(), dim3(1), a.data(), b.data(), device_c.data(), d.data(), k);
    const std::int64_t exact = std::int64_t{c} + std::int64_t{k} * x * y;
    const std::vector<std::int32_t> result = d.download();
    const std::int64_t wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
    const char* verdict = result[0] == exact ? "exact" : result[0] == wrapped ? "wraps" : "saturates";
    print({{"kind", "fact"},
           {"topic", "mma integers"},
           {"kernel", kernel},
           {"case", what},
           {"exact", exact},
           {"result", result[0]},
           {"verdict", verdict},
           {"all_elements_alike", are_alike(result)}});
  };
  try {
    record("largest * largest", largest, largest, 0);
    record("least * largest", least, largest, 0);
    record("least * least", least, least, 0);
    record("largest * largest + (2^31 - 1)", largest, largest, std::numeric_limits<std::int32_t>::max());
    record("1 * 1 + (2^31 - 1 - 64)", 1, 1, std::numeric_limits<std::int32_t>::max() - 64);
    if (least < 0) record("least * largest - 2^31", least, largest, std::numeric_limits<std::int32_t>::min());
  } catch (const std::exception& error) {
    print({{"kind", "fact"}, {"topic", "mma integers"}, {"kernel", kernel}, {"error", error.what()}});
  }
}

template <class In, class Accumulator>
void record_type(const Cubin& cubin, const char* name, std::initializer_list<int> sizes,
                 std::initializer_list<int> spreads) {
  for (const int size : sizes) {
    for (const int spread : spreads) {
      record_sums<In, Accumulator>(cubin, name, size, 64, spread);
      record_sums<In, Accumulator>(cubin, name, size, 256, spread);
    }
  }
}

}  // namespace

void record_mma_facts() {
  const Cubin cubin("mma", kizami_tile_mma);
  record_type<Half, Fp32>(cubin, "f16", {64, 32, 16}, {0, 3, 12});
  record_type<Half, Half>(cubin, "f16_f16", {64, 32, 16}, {0, 3});
  record_type<Bfloat, Fp32>(cubin, "bf16", {64, 32, 16}, {0, 3, 12, 30});
  record_type<Tfloat, Fp32>(cubin, "tf32", {64, 32, 16}, {0, 3, 12, 30});
  record_type<E4m3, Fp32>(cubin, "e4m3", {64, 32, 16}, {0, 3, 6});
  record_type<E4m3, Half>(cubin, "e4m3_f16", {64, 32, 16}, {0, 3});
  record_type<E5m2, Fp32>(cubin, "e5m2", {64, 32, 16}, {0, 3, 12});
  record_type<Fp32, Fp32>(cubin, "f32", {16}, {0, 3, 12});
  for (const int size : {64, 32, 16}) {
    record_specials<Half, Fp32>(cubin, "f16", size, 65504.0, 0x1p-24);
    record_specials<Half, Half>(cubin, "f16_f16", size, 65504.0, 0x1p-24);
    record_specials<Bfloat, Fp32>(cubin, "bf16", size, 0x1.fep127, 0x1p-133);
    record_specials<Tfloat, Fp32>(cubin, "tf32", size, 0x1.ffcp127, 0x1p-136);
    record_specials<E4m3, Fp32>(cubin, "e4m3", size, 448.0, 0x1p-9);
    record_specials<E5m2, Fp32>(cubin, "e5m2", size, 57344.0, 0x1p-16);
    record_integers<std::int8_t>(cubin, "i8", size, -128, 127);
    record_integers<std::uint8_t>(cubin, "u8", size, 0, 255);
  }
  record_specials<Fp64, Fp64>(cubin, "f64", 16, 0x1.fffffffffffffp1023, 0x1p-1074);
}

}  // namespace tile_bench
