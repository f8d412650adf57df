// SPDX-License-Identifier: MIT
// Calls whose elements make a product by Kizami slower than cuBLAS' own: with defaults the third one at a place is
// cuBLAS'. Where the bits are promised (--expect-kizami), every call has the same ones.
#include <cmath>
#include <random>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// (uniform - 1/2) exp(phi normal)
void fill(std::vector<double>& values, double phi, unsigned seed) {
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::normal_distribution<double> normal;
  for (double& x : values) x = uniform(source) * std::exp(phi * normal(source));
}

class Calls {
 public:
  Calls(const Handle& handle, const Shape& shape, double phi) : handle_(handle), x_(shape, 31) {
    fill(x_.problem.a(), phi, 1);
    fill(x_.problem.b(), phi, 2);
    x_.a.upload(x_.problem.a());
    x_.b.upload(x_.problem.b());
    native_ = once(native_gemm<double>());
  }
  /// What one call gives, once it is done.
  std::vector<double> once(Function<double> gemm = linked_gemm<double>()) {
    const double one = 1, zero = 0;
    x_.reset_c();
    handle_.set(CUBLAS_POINTER_MODE_HOST);
    check(x_.multiply(handle_.get(), &one, &zero, gemm), "gemm");
    return x_.c.download();
  }
  [[nodiscard]] bool is_native(const std::vector<double>& c) const { return same_bits(c, native_); }
  void judge(const std::string& name, const std::vector<double>& c) const {
    report(name, x_.problem.judge(c, 1.0, 0.0));
  }

 private:
  const Handle& handle_;
  OnDevice<double> x_;
  std::vector<double> native_;
};

void expect_answers(const Handle& handle, const Shape& shape, double phi, const std::string& expected) {
  const std::string name = name_of<double>(phi < 1 ? "tame elements" : "wide elements", shape);
  guarded(name, [&] {
    Calls calls(handle, shape, phi);
    std::string who;
    std::vector<double> first;
    bool is_same = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::vector<double> c = calls.once();
      if (i == 0) first = c;
      is_same = is_same && same_bits(first, c);
      who += calls.is_native(c) ? 'N' : 'K';
      if (i == 0 || i + 1 == expected.size()) calls.judge(name + ", call " + std::to_string(i), c);
    }
    report(name + ", by Kizami or natively", who == expected ? "" : who + ", not " + expected, who);
    if (expected.find('N') == std::string::npos) report(name + ", same bits", is_same ? "" : "the bits differ");
  });
}

}  // namespace

void check_learned(const Handle& handle) {
  constexpr double kWide = 6;
  expect_answers(handle, {kN, kN, 4096, 4096, 4096}, kWide, expects_kizami ? "KKKKKK" : "KKNNNN");
  expect_answers(handle, {kN, kN, 4096, 4096, 4032}, 0.1, "KKKKKK");
  expect_answers(handle, {kT, kN, 4096, 4096, 4096}, 0.1, "KKKK");
}

}  // namespace preload_check
