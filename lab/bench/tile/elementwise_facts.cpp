// SPDX-License-Identifier: MIT
#include "elementwise_facts.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>

#include "kizami/formats.hpp"

extern "C" const unsigned long long kizami_tile_elementwise[];
extern "C" const unsigned long long kizami_tile_contraction_off[];
extern "C" const unsigned long long kizami_tile_contraction_on[];

namespace tile_bench {
namespace {

constexpr int kSamples = 1 << 16;

dim3 grid_of(std::size_t n) { return dim3(static_cast<unsigned>((n + 255) / 256)); }

template <class Out, class In>
std::vector<Out> run_unary(const Cubin& cubin, const std::string& kernel, const std::vector<In>& x) {
  const DeviceArray<In> device_x(x);
  const DeviceArray<Out> y(x.size());
  cubin.run(kernel.c_str(), grid_of(x.size()), device_x.data(), y.data(), static_cast<int>(x.size()));
  return y.download();
}
template <class Out, class In>
std::vector<Out> run_binary(const Cubin& cubin, const std::string& kernel, const std::vector<In>& x,
                            const std::vector<In>& y) {
  const DeviceArray<In> device_x(x);
  const DeviceArray<In> device_y(y);
  const DeviceArray<Out> z(x.size());
  cubin.run(kernel.c_str(), grid_of(x.size()), device_x.data(), device_y.data(), z.data(), static_cast<int>(x.size()));
  return z.download();
}

/// Numbers with random significands and signs, exponents in [low, high]; with is_positive, above 0 only.
template <class T>
std::vector<T> samples(int low, int high, bool is_positive, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(kSamples);
  for (T& value : values) {
    const int exponent = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    value = std::ldexp(T{1} + static_cast<T>(random() >> 11) * T(0x1p-53), exponent);
    if (!is_positive && random() % 2 == 0) value = -value;
  }
  return values;
}

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

/// Distance of `actual` from `exact` in units of the last place of T at exact.
template <class T>
double ulps(T actual, long double exact) {
  if (std::isnan(actual) || std::isnan(exact)) return std::isnan(actual) && std::isnan(exact) ? 0.0 : HUGE_VAL;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(actual)) return actual == rounded ? 0.0 : HUGE_VAL;
  const int exponent = exact == 0 ? std::numeric_limits<T>::min_exponent - 1
                                  : std::max(std::ilogb(exact), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) /
                             std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1)));
}

/// The line of a function of which `exact(i)` is the result before rounding.
template <class T>
void report_rounding(const std::string& kernel, const char* range, const std::vector<T>& actual,
                     const std::function<long double(std::size_t)>& exact,
                     const std::function<std::string(std::size_t)>& input) {
  double worst = 0.0;
  std::size_t worst_at = 0;
  int num_wrong = 0;
  int num_flushed = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const long double value = exact(i);
    const T rounded = static_cast<T>(value);
    num_wrong += actual[i] == rounded || (std::isnan(actual[i]) && std::isnan(rounded)) ? 0 : 1;
    num_flushed += actual[i] == 0 && rounded != 0 ? 1 : 0;
    const double error = ulps(actual[i], value);
    if (!(error <= worst)) {
      worst = error;
      worst_at = i;
    }
  }
  Json line{{"kind", "fact"},
            {"topic", "rounding"},
            {"kernel", kernel},
            {"range", range},
            {"samples", actual.size()},
            {"not_correctly_rounded", num_wrong},
            {"zero_instead_of_tiny", num_flushed},
            {"largest_error_ulp", worst}};
  if (worst > 0.0) {
    line["worst_input"] = input(worst_at);
    line["worst_result"] = text_of(static_cast<double>(actual[worst_at]));
  }
  print(line);
}

template <class T>
void record_unary(const Cubin& cubin, const std::string& kernel, const char* range, const std::vector<T>& x,
                  long double (*exact)(long double)) {
  report_rounding<T>(
      kernel, range, run_unary<T>(cubin, kernel, x),
      [&](std::size_t i) { return exact(static_cast<long double>(x[i])); },
      [&](std::size_t i) { return text_of(static_cast<double>(x[i])); });
}
template <class T>
void record_binary(const Cubin& cubin, const std::string& kernel, const char* range, const std::vector<T>& x,
                   const std::vector<T>& y, long double (*exact)(long double, long double)) {
  report_rounding<T>(
      kernel, range, run_binary<T>(cubin, kernel, x, y),
      [&](std::size_t i) { return exact(static_cast<long double>(x[i]), static_cast<long double>(y[i])); },
      [&](std::size_t i) { return text_of(static_cast<double>(x[i])) + ", " + text_of(static_cast<double>(y[i])); });
}

/// References are long double of 64 bits: near a tie of FP64, within 2^-11 of an ulp, one may count as wrong that is
/// not.
template <class T>
void record_math(const Cubin& cubin, const char* suffix) {
  const auto name = [&](const char* function) { return std::string(function) + "_" + suffix; };
  using Unary = long double (*)(long double);
  using Binary = long double (*)(long double, long double);
  const int least = std::numeric_limits<T>::min_exponent - 1;
  const auto subnormal = samples<T>(least - 8, least - 1, true, 11);
  const auto positive = samples<T>(-20, 20, true, 1);
  const auto small = samples<T>(-6, 6, false, 2);
  record_unary<T>(cubin, name("rsqrt"), "2^+-20", positive, [](long double v) { return 1 / std::sqrt(v); });
  record_unary<T>(cubin, name("rsqrt"), "subnormal", subnormal, [](long double v) { return 1 / std::sqrt(v); });
  record_unary<T>(cubin, name("log"), "2^+-20", positive, static_cast<Unary>(std::log));
  record_unary<T>(cubin, name("log"), "subnormal", subnormal, static_cast<Unary>(std::log));
  record_unary<T>(cubin, name("log2"), "2^+-20", positive, static_cast<Unary>(std::log2));
  record_unary<T>(cubin, name("exp"), "2^+-6", small, static_cast<Unary>(std::exp));
  record_unary<T>(cubin, name("exp2"), "2^+-6", small, static_cast<Unary>(std::exp2));
  std::vector<T> tiny_exp2;
  for (int i = 0; i < 512; ++i) tiny_exp2.push_back(static_cast<T>(least) - static_cast<T>(i) / 32);
  record_unary<T>(cubin, name("exp2"), "subnormal results", tiny_exp2, static_cast<Unary>(std::exp2));
  record_unary<T>(cubin, name("sin"), "2^+-6", small, static_cast<Unary>(std::sin));
  record_unary<T>(cubin, name("cos"), "2^+-6", small, static_cast<Unary>(std::cos));
  record_unary<T>(cubin, name("sin"), "2^20..2^40", samples<T>(20, 40, false, 3), static_cast<Unary>(std::sin));
  record_unary<T>(cubin, name("tan"), "2^+-6", small, static_cast<Unary>(std::tan));
  record_unary<T>(cubin, name("sinh"), "2^+-6", small, static_cast<Unary>(std::sinh));
  record_unary<T>(cubin, name("cosh"), "2^+-6", small, static_cast<Unary>(std::cosh));
  record_unary<T>(cubin, name("tanh"), "2^+-6", small, static_cast<Unary>(std::tanh));

  const auto other = samples<T>(-20, 20, false, 4);
  record_binary<T>(cubin, name("pow"), "2^+-20, 2^+-2", positive, samples<T>(-2, 2, false, 6),
                   static_cast<Binary>(std::pow));
  record_binary<T>(cubin, name("atan2"), "2^+-20", other, positive, static_cast<Binary>(std::atan2));
  record_binary<T>(cubin, name("remainder"), "2^+-20, as fmod", other, positive, static_cast<Binary>(std::fmod));
}

/// Operations that IEEE 754 defines, against the host's own arithmetic in the same mode; among the numbers are
/// subnormal ones.
template <class T>
void record_ieee754(const Cubin& cubin, const char* suffix) {
  const int least = std::numeric_limits<T>::min_exponent - 1;
  auto x = samples<T>(-20, 20, false, 21);
  auto y = samples<T>(-20, 20, false, 22);
  const auto tiny_x = samples<T>(least - 8, least + 8, false, 23);
  const auto tiny_y = samples<T>(least - 8, least + 8, false, 24);
  x.insert(x.end(), tiny_x.begin(), tiny_x.end());
  y.insert(y.end(), tiny_y.begin(), tiny_y.end());
  const struct {
    const char* name;
    int host;
  } modes[] = {{"", FE_TONEAREST},
               {"_toward_zero", FE_TOWARDZERO},
               {"_toward_negative", FE_DOWNWARD},
               {"_toward_positive", FE_UPWARD}};
  for (const auto& mode : modes) {
    for (const std::string operation : {"add", "mul", "div", "sqrt"}) {
      const bool is_unary = operation == "sqrt";
      if (is_unary && mode.host != FE_TONEAREST) continue;
      const std::string kernel = operation + "_" + suffix + mode.name;
      const std::vector<T> actual = is_unary ? run_unary<T>(cubin, kernel, x) : run_binary<T>(cubin, kernel, x, y);
      int num_wrong = 0;
      std::fesetround(mode.host);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        const volatile T v = x[i];
        const volatile T w = y[i];
        const volatile T expected = operation == "add"   ? v + w
                                    : operation == "mul" ? v * w
                                    : is_unary           ? std::sqrt(v)
                                                         : v / w;
        num_wrong += actual[i] == expected || (std::isnan(actual[i]) && std::isnan(expected)) ? 0 : 1;
      }
      std::fesetround(FE_TONEAREST);
      print({{"kind", "fact"},
             {"topic", "IEEE 754"},
             {"kernel", kernel},
             {"samples", actual.size()},
             {"not_as_ieee754", num_wrong}});
    }
  }
}

/// 16-bit formats: every result is compared with the exact one rounded once.
template <class Format>
void record_narrow(const Cubin& cubin, const char* suffix) {
  using Bits = typename Format::Bits;
  std::mt19937 random(31);
  std::vector<Bits> x(kSamples);
  std::vector<Bits> y(kSamples);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<Bits>(random());
    y[i] = static_cast<Bits>(random());
  }
  for (const char* operation : {"add", "mul", "div", "sqrt"}) {
    const std::string kernel = std::string(operation) + "_" + suffix;
    const bool is_unary = operation[0] == 's';
    const std::vector<Bits> actual =
        is_unary ? run_unary<Bits>(cubin, kernel, x) : run_binary<Bits>(cubin, kernel, x, y);
    int num_wrong = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double v = Format::from_bits(x[i]).to_double();
      const double w = Format::from_bits(y[i]).to_double();
      // Rounded twice, to FP64 and to 16 bits: the same as once, since 53 >= 2 * 11 + 2.
      const double exact = operation[0] == 'a' ? v + w : operation[0] == 'm' ? v * w : is_unary ? std::sqrt(v) : v / w;
      const Format expected = Format::from(exact);
      const double seen = Format::from_bits(actual[i]).to_double();
      const bool is_same = std::isnan(exact) ? std::isnan(seen) : expected.bits() == actual[i];
      num_wrong += is_same ? 0 : 1;
    }
    print({{"kind", "fact"},
           {"topic", "rounding"},
           {"kernel", kernel},
           {"range", "any bits"},
           {"samples", actual.size()},
           {"not_correctly_rounded", num_wrong}});
  }
}

template <class T>
void record_contraction(const Cubin& cubin, const char* suffix) {
  const auto x = samples<T>(-3, 3, false, 41);
  const auto y = samples<T>(-3, 3, false, 42);
  std::vector<T> z(x.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = -(x[i] * y[i]);  // one rounding leaves the error of the product, two leave 0
  const DeviceArray<T> device_x(x);
  const DeviceArray<T> device_y(y);
  const DeviceArray<T> device_z(z);
  for (const char* form : {"operators", "functions", "tagged", "fma"}) {
    const std::string kernel = std::string(form) + "_" + suffix;
    const DeviceArray<T> result(x.size());
    cubin.run(kernel.c_str(), grid_of(x.size()), device_x.data(), device_y.data(), device_z.data(), result.data(),
              static_cast<int>(x.size()));
    int num_fused = 0;
    for (const T value : result.download()) num_fused += value != 0 ? 1 : 0;
    print({{"kind", "fact"},
           {"topic", "contraction"},
           {"cubin", cubin.name()},
           {"kernel", kernel},
           {"samples", x.size()},
           {"rounded_once", num_fused}});
  }
}

template <class In, class Out>
void record_cast(const Cubin& cubin, const char* kernel, const std::vector<In>& inputs) {
  const std::vector<Out> outputs = run_unary<Out>(cubin, kernel, inputs);
  Json cases = Json::array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Json input;
    Json output;
    if constexpr (std::is_floating_point_v<In>)
      input = text_of(static_cast<double>(inputs[i]));
    else
      input = inputs[i];
    if constexpr (std::is_floating_point_v<Out>)
      output = text_of(static_cast<double>(outputs[i]));
    else if constexpr (std::is_unsigned_v<Out>) {
      char text[20];
      std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * sizeof(Out)),
                    static_cast<unsigned long long>(outputs[i]));
      output = text;
    } else
      output = outputs[i];
    cases.push_back({input, output});
  }
  print({{"kind", "fact"}, {"topic", "cast"}, {"kernel", kernel}, {"cases", cases}});
}

void record_casts(const Cubin& cubin) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const double wide_inf = std::numeric_limits<double>::infinity();
  record_cast<float, std::uint8_t>(
      cubin, "cast_f32_e4m3",
      {1, 448, 464, 480, 1000, -1000, inf, -inf, nan, 0x1p-9F, 0x1p-10F, 0x1.8p-10F, 0x1p-20F, -0.0F, 17, 19});
  record_cast<float, std::uint8_t>(
      cubin, "cast_f32_e5m2",
      {1, 57344, 61439, 61440, 1e6F, -1e6F, inf, -inf, nan, 0x1p-16F, 0x1p-17F, 0x1.8p-17F, 0x1p-30F, -0.0F});
  record_cast<double, std::uint8_t>(cubin, "cast_f64_e4m3", {1, 448, 464, 480, wide_inf, 17 + 0x1p-40, 0x1p-10});
  record_cast<std::uint16_t, std::uint8_t>(cubin, "cast_f16_e4m3",
                                           {0x3c00, 0x5f00, 0x5f40, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x1800});
  record_cast<float, std::uint16_t>(cubin, "cast_f32_f16",
                                    {1, 65504, 65519, 65520, 1e6F, inf, nan, 0x1p-24F, 0x1p-25F, 0x1.8p-25F, -0.0F});
  record_cast<float, std::uint16_t>(cubin, "cast_f32_bf16",
                                    {1, 0x1.fffffep127F, inf, nan, 0x1p-133F, 0x1p-134F, 1.00390625F, 1.01171875F});
  record_cast<float, std::uint32_t>(cubin, "cast_f32_tf32",
                                    {1, 1 + 0x1p-11F, 1 + 0x1p-10F + 0x1p-11F, 1 + 0x1p-12F, 1 + 0x1.8p-11F,
                                     0x1.fffffep127F, inf, nan, 0x1p-136F, 0x1p-149F});
  record_cast<double, float>(cubin, "cast_f64_f32",
                             {1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50, 1e300, 0x1p-149, 0x1p-150, 0x1.8p-150});
  record_cast<double, std::uint16_t>(cubin, "cast_f64_f16", {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1e6, 0x1p-25});
  record_cast<double, std::uint16_t>(cubin, "cast_f64_bf16", {1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40, 1e300});
  record_cast<float, std::int8_t>(cubin, "cast_f32_i8",
                                  {1.9F, -1.9F, 127.9F, 128, 200, 300, -129, -1000, 1e10F, inf, -inf, nan});
  record_cast<float, std::uint8_t>(cubin, "cast_f32_u8", {1.9F, 255.9F, 256, 300, -1, -300, 1e10F, inf, nan});
  record_cast<float, std::int32_t>(cubin, "cast_f32_i32",
                                   {1.9F, -1.9F, 2147483520.0F, 0x1p31F, -0x1p31F, -1e10F, 1e20F, inf, nan});
  record_cast<float, std::uint32_t>(cubin, "cast_f32_u32", {1.9F, 4294967040.0F, 0x1p32F, -1, -1e10F, inf, nan});
  record_cast<double, std::int64_t>(cubin, "cast_f64_i64",
                                    {1.9, -1.9, 0x1p62, 0x1p63, -0x1p63, 1e300, -1e300, wide_inf});
  record_cast<std::int32_t, float>(cubin, "cast_i32_f32", {16777217, 16777219, 2147483647, -2147483647 - 1});
  record_cast<std::int32_t, std::uint16_t>(cubin, "cast_i32_f16", {2049, 2051, 65504, 65519, 65520, 1000000, -1000000});
  record_cast<std::int64_t, float>(cubin, "cast_i64_f32",
                                   {9007199791611905, 9007199791611904, std::numeric_limits<std::int64_t>::max()});
  record_cast<std::int32_t, std::int8_t>(cubin, "cast_i32_i8", {127, 128, 255, 256, -129, 1000});
  record_cast<float, std::uint8_t>(cubin, "cast_f32_bool", {0, -0.0F, 0.25F, 1, nan, 0x1p-149F});
}

template <class T>
void record_pairs(const Cubin& cubin, const char* kernel, const std::vector<T>& x, const std::vector<T>& y) {
  const std::vector<T> z = run_binary<T>(cubin, kernel, x, y);
  Json cases = Json::array();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      cases.push_back({text_of(x[i]), text_of(y[i]), text_of(z[i])});
    else
      cases.push_back({x[i], y[i], z[i]});
  }
  print({{"kind", "fact"}, {"topic", "ends of the range"}, {"kernel", kernel}, {"cases", cases}});
}

void record_ends(const Cubin& cubin) {
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  record_pairs<std::int32_t>(cubin, "shift_left_i32", {1, 1, 1, 1, -1, 1}, {0, 31, 32, 33, 40, -1});
  record_pairs<std::int32_t>(cubin, "shift_right_i32", {-8, -8, -8, 8, 8, -8}, {1, 31, 32, 32, 33, -1});
  record_pairs<std::uint32_t>(cubin, "shift_right_u32", {8, 8, 8, 8}, {1, 31, 32, 33});
  record_pairs<std::int32_t>(cubin, "div_i32", {7, -7, 7, 0, least}, {2, 2, 0, 0, -1});
  record_pairs<std::int32_t>(cubin, "rem_i32", {7, -7, 7, 0, least}, {2, 2, 0, 0, -1});
  record_pairs<std::int32_t>(cubin, "floordiv_i32", {7, -7, 7, -7, 7}, {2, 2, -2, -2, 0});
  record_pairs<std::int32_t>(cubin, "ceildiv_i32", {7, -7, 7, -7, 7}, {2, 2, -2, -2, 0});
  record_pairs<std::int32_t>(cubin, "mulhi_i32", {least, -1, 1 << 30, -1}, {least, 1, 4, -1});
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{nan, 1, nan, 0.0F, -0.0F, inf, -inf};
  const std::vector<float> y{1, nan, nan, -0.0F, 0.0F, nan, 2};
  for (const char* kernel : {"max_f32", "min_f32", "max_f32_nan"}) record_pairs<float>(cubin, kernel, x, y);
  record_pairs<float>(cubin, "add_f32_flush", {0x1p-127F, 0x1p-126F, -0x1p-140F, 0x1p-149F},
                      {0x1p-127F, -0x1.8p-126F, 0.0F, 1.0F});
  record_pairs<float>(cubin, "mul_f32_flush", {0x1p-127F, 0x1p-100F, -0x1p-100F}, {0x1p10F, 0x1p-30F, 0x1p-30F});
}

}  // namespace

void record_elementwise_facts() {
  const Cubin cubin("elementwise", kizami_tile_elementwise);
  record_math<float>(cubin, "f32");
  record_math<double>(cubin, "f64");
  const auto small = samples<float>(-6, 6, false, 2);
  const auto positive = samples<float>(-20, 20, true, 1);
  const auto other = samples<float>(-20, 20, false, 4);
  using Unary = long double (*)(long double);
  record_unary<float>(cubin, "exp_approximate_f32", "2^+-6", small, static_cast<Unary>(std::exp));
  record_unary<float>(cubin, "tanh_approximate_f32", "2^+-6", small, static_cast<Unary>(std::tanh));
  record_unary<float>(cubin, "sqrt_approximate_f32", "2^+-20", positive, static_cast<Unary>(std::sqrt));
  for (const char* kernel : {"div_approximate_f32", "div_full_f32"})
    record_binary<float>(cubin, kernel, "2^+-20", positive, other, [](long double v, long double w) { return v / w; });
  record_narrow<kizami::Fp16>(cubin, "f16");
  record_narrow<kizami::Bf16>(cubin, "bf16");
  record_ieee754<float>(cubin, "f32");
  record_ieee754<double>(cubin, "f64");
  for (const auto& [name, image] : {std::pair("contraction_off", kizami_tile_contraction_off),
                                    std::pair("contraction_on", kizami_tile_contraction_on)}) {
    const Cubin contraction(name, image);
    record_contraction<float>(contraction, "f32");
    record_contraction<double>(contraction, "f64");
  }
  record_casts(cubin);
  record_ends(cubin);
}

}  // namespace tile_bench
