// SPDX-License-Identifier: MIT
// A number of MPFR with enough bits that no operation of these tests rounds.
#pragma once

#include <mpfr.h>

namespace kizami::check {

class Mpfr {
 public:
  static constexpr mpfr_prec_t kBits = 20000;  // the product of four doubles spans 8500

  Mpfr() {
    mpfr_init2(x_, kBits);
    mpfr_set_zero(x_, 1);
  }
  explicit Mpfr(double value) : Mpfr() { mpfr_set_d(x_, value, MPFR_RNDN); }
  Mpfr(const Mpfr& other) : Mpfr() { mpfr_set(x_, other.x_, MPFR_RNDN); }
  Mpfr& operator=(const Mpfr& other) {
    mpfr_set(x_, other.x_, MPFR_RNDN);
    return *this;
  }
  ~Mpfr() { mpfr_clear(x_); }

  Mpfr& operator+=(const Mpfr& y) {
    inexact_ |= mpfr_add(x_, x_, y.x_, MPFR_RNDN) != 0;
    return *this;
  }
  Mpfr& operator*=(const Mpfr& y) {
    inexact_ |= mpfr_mul(x_, x_, y.x_, MPFR_RNDN) != 0;
    return *this;
  }
  [[nodiscard]] Mpfr abs() const {
    Mpfr out(*this);
    mpfr_abs(out.x_, x_, MPFR_RNDN);
    return out;
  }
  [[nodiscard]] double to_double(mpfr_rnd_t rounding = MPFR_RNDN) const { return mpfr_get_d(x_, rounding); }
  [[nodiscard]] float to_float(mpfr_rnd_t rounding = MPFR_RNDN) const { return mpfr_get_flt(x_, rounding); }
  [[nodiscard]] bool is_exact() const { return !inexact_; }
  [[nodiscard]] int compare(const Mpfr& y) const { return mpfr_cmp(x_, y.x_); }
  [[nodiscard]] mpfr_ptr raw() { return x_; }
  [[nodiscard]] mpfr_srcptr raw() const { return x_; }

 private:
  mpfr_t x_;
  bool inexact_ = false;
};

}  // namespace kizami::check
