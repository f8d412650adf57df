// SPDX-License-Identifier: MIT
// Routines of a triangle beside those of cuBLAS itself. Both are within k u |A||B| (complex types: 2 k u) of the exact
// result, with a rounding for each product that is added; so they differ by twice that at most. |A||B| is what the
// routine makes of absolute values.
#include <algorithm>
#include <cmath>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

constexpr int kOrder = 600;
constexpr int kInner = 300;
constexpr int kLd = kOrder + 3;

/// The functions of one type, by the linker or from cuBLAS itself.
template <class T>
struct Functions;
#define PRELOAD_CHECK_LEVEL3(T, L)                                                              \
  template <>                                                                                   \
  struct Functions<T> {                                                                         \
    decltype(&cublas##L##syrk_v2) syrk = [](auto... x) { return cublas##L##syrk_v2(x...); };    \
    decltype(&cublas##L##syrkx) syrkx = [](auto... x) { return cublas##L##syrkx(x...); };       \
    decltype(&cublas##L##syr2k_v2) syr2k = [](auto... x) { return cublas##L##syr2k_v2(x...); }; \
    decltype(&cublas##L##symm_v2) symm = [](auto... x) { return cublas##L##symm_v2(x...); };    \
    decltype(&cublas##L##trmm_v2) trmm = [](auto... x) { return cublas##L##trmm_v2(x...); };    \
    decltype(&cublas##L##trsm_v2) trsm = [](auto... x) { return cublas##L##trsm_v2(x...); };    \
    static Functions native() {                                                                 \
      Functions f;                                                                              \
      f.syrk = reinterpret_cast<decltype(f.syrk)>(native_function("cublas" #L "syrk_v2"));      \
      f.syrkx = reinterpret_cast<decltype(f.syrkx)>(native_function("cublas" #L "syrkx"));      \
      f.syr2k = reinterpret_cast<decltype(f.syr2k)>(native_function("cublas" #L "syr2k_v2"));   \
      f.symm = reinterpret_cast<decltype(f.symm)>(native_function("cublas" #L "symm_v2"));      \
      f.trmm = reinterpret_cast<decltype(f.trmm)>(native_function("cublas" #L "trmm_v2"));      \
      f.trsm = reinterpret_cast<decltype(f.trsm)>(native_function("cublas" #L "trsm_v2"));      \
      return f;                                                                                 \
    }                                                                                           \
  };
PRELOAD_CHECK_LEVEL3(float, S)
PRELOAD_CHECK_LEVEL3(double, D)
PRELOAD_CHECK_LEVEL3(std::complex<float>, C)
PRELOAD_CHECK_LEVEL3(std::complex<double>, Z)
#undef PRELOAD_CHECK_LEVEL3

template <class T>
std::vector<T> random_matrix(std::uint64_t seed) {
  std::vector<T> values(std::size_t(kLd) * kOrder);
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (T& x : values) {
    const double re = unit(source);
    x = make<T>(re, unit(source));
  }
  return values;
}

/// The absolute values; of complex numbers |re| + |im|, which makes the gauge no smaller.
template <class T>
std::vector<T> magnitudes(std::vector<T> values) {
  for (T& x : values) {
    if constexpr (kIsComplex<T>) {
      x = make<T>(std::abs(x.real()) + std::abs(x.imag()), 0);
    } else {
      x = std::abs(x);
    }
  }
  return values;
}

enum class Shape3 { kAll, kLower, kUpper };

template <class T>
class Level3 {
 public:
  using E = typename Blas<T>::Element;

  explicit Level3(const Handle& handle) : handle_(handle) { handle_.set(CUBLAS_POINTER_MODE_HOST); }

  void check_all() {
    for (const auto uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
      const Shape3 written = uplo == CUBLAS_FILL_MODE_LOWER ? Shape3::kLower : Shape3::kUpper;
      const std::string triangle = uplo == CUBLAS_FILL_MODE_LOWER ? " lower" : " upper";
      for (const auto op : {kN, kT}) {
        const std::string options = triangle + (op == kN ? " n" : " t");
        check_routine("syrk" + options, written, [=](auto& f, auto& x) {
          return f.syrk(x.handle, uplo, op, kOrder, kInner, x.alpha, x.a, kLd, x.beta, x.c, kLd);
        });
        check_routine("syrkx" + options, written, [=](auto& f, auto& x) {
          return f.syrkx(x.handle, uplo, op, kOrder, kInner, x.alpha, x.a, kLd, x.b, kLd, x.beta, x.c, kLd);
        });
        check_routine("syr2k" + options, written, [=](auto& f, auto& x) {
          return f.syr2k(x.handle, uplo, op, kOrder, kInner, x.alpha, x.a, kLd, x.b, kLd, x.beta, x.c, kLd);
        });
        for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
          const std::string name = (side == CUBLAS_SIDE_LEFT ? " left" : " right") + options;
          check_routine("trmm" + name, Shape3::kAll, [=](auto& f, auto& x) {
            return f.trmm(x.handle, side, uplo, op, CUBLAS_DIAG_NON_UNIT, kOrder, kOrder, x.alpha, x.a, kLd, x.b, kLd,
                          x.c, kLd);
          });
          check_solution("trsm" + name, side, uplo, op);
        }
      }
      for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
        const std::string name = (side == CUBLAS_SIDE_LEFT ? " left" : " right") + triangle;
        check_routine("symm" + name, Shape3::kAll, [=](auto& f, auto& x) {
          return f.symm(x.handle, side, uplo, kOrder, kOrder, x.alpha, x.a, kLd, x.b, kLd, x.beta, x.c, kLd);
        });
      }
    }
  }

 private:
  using R = typename PartOf<T>::Type;
  struct Operands {
    cublasHandle_t handle;
    const E *alpha, *beta, *a, *b;
    E* c;
  };

  /// What `call` makes of C.
  template <class Call>
  std::vector<T> run(const Call& call, const Functions<T>& functions, const std::vector<T>& a, const std::vector<T>& b,
                     const std::vector<T>& c, T alpha, T beta) {
    const DeviceArray<T> on_a(a), on_b(b), on_c(c);
    Operands x{handle_.get(),
               reinterpret_cast<const E*>(&alpha),
               reinterpret_cast<const E*>(&beta),
               reinterpret_cast<const E*>(on_a.data()),
               reinterpret_cast<const E*>(on_b.data()),
               reinterpret_cast<E*>(on_c.data())};
    check(call(functions, x), "routine");
    return on_c.download();
  }

  template <class Call>
  void check_routine(const std::string& routine, Shape3 written, const Call& call) {
    const std::string name = std::string(Blas<T>::kName) + " " + routine;
    guarded(name, [&] {
      const auto a = random_matrix<T>(61), b = random_matrix<T>(62), c = random_matrix<T>(63);
      const T alpha = make<T>(1.25, -0.5), beta = make<T>(-0.75, 0.25);
      const std::vector<T> linked = run(call, Functions<T>{}, a, b, c, alpha, beta);
      const std::vector<T> native = run(call, Functions<T>::native(), a, b, c, alpha, beta);
      const std::vector<T> gauge = run(call, Functions<T>::native(), magnitudes(a), magnitudes(b), magnitudes(c),
                                       make<T>(2, 0), make<T>(1, 0));  // |alpha| and |beta| at least
      report(name, compared(linked, native, gauge, c, written));
      if (expects_kizami) report(name + ", origin", same_bits(linked, native) ? "bits of cuBLAS" : "");
    });
  }

  [[nodiscard]] Judgement compared(const std::vector<T>& x, const std::vector<T>& y, const std::vector<T>& gauge,
                                   const std::vector<T>& before, Shape3 written) const {
    const double u = std::numeric_limits<R>::epsilon() / 2;
    const double terms = (kIsComplex<T> ? 4.0 : 2.0) * kOrder + 40;  // two products for each sum, and their epilogues
    const double bits = asked_bits() == 0 ? 0 : std::ldexp(1, 1 - asked_bits());
    double worst = 0;
    for (int j = 0; j < kOrder; ++j) {
      for (int i = 0; i < kLd; ++i) {
        const std::size_t at = std::size_t(i) + std::size_t(j) * kLd;
        const bool is_written =
            i < kOrder && (written == Shape3::kAll || (written == Shape3::kLower ? i >= j : i <= j));
        if (!is_written) {
          if (std::memcmp(&x[at], &before[at], sizeof(T)) != 0) return {"what is no part of the result is written", 0};
          continue;
        }
        const double ratio = std::abs(std::complex<double>(x[at]) - std::complex<double>(y[at])) /
                             (2 * (terms * u + bits) * std::real(gauge[at]));
        if (!(ratio <= 1)) return {"element (" + std::to_string(i) + ", " + std::to_string(j) + ")", ratio};
        worst = std::max(worst, ratio);
      }
    }
    return {"", worst};
  }

  /// The residual op(A) X - alpha B, relative to |A||X|.
  void check_solution(const std::string& routine, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op) {
    const std::string name = std::string(Blas<T>::kName) + " " + routine;
    guarded(name, [&] {
      auto a = random_matrix<T>(64);
      for (int i = 0; i < kOrder; ++i) a[std::size_t(i) * (kLd + 1)] = make<T>(kOrder, 0);  // dominant
      const auto b = random_matrix<T>(65);
      const T alpha = make<T>(1.5, 0.25), one = make<T>(1, 0), zero{};
      const auto solve = [=](auto& f, auto& x) {
        return f.trsm(x.handle, side, uplo, op, CUBLAS_DIAG_NON_UNIT, kOrder, kOrder, x.alpha, x.a, kLd, x.c, kLd);
      };
      const auto multiply = [=](auto& f, auto& x) {
        return f.trmm(x.handle, side, uplo, op, CUBLAS_DIAG_NON_UNIT, kOrder, kOrder, x.alpha, x.a, kLd, x.b, kLd, x.c,
                      kLd);
      };
      const std::vector<T> x = run(solve, Functions<T>{}, a, b, b, alpha, zero);
      const std::vector<T> back = run(multiply, Functions<T>::native(), a, x, b, one, zero);
      const std::vector<T> gauge = run(multiply, Functions<T>::native(), magnitudes(a), magnitudes(x), b, one, zero);
      std::vector<T> scaled = b;
      for (T& value : scaled) value *= alpha;
      for (int j = 0; j < kOrder; ++j) {  // padding is no part of it
        for (int i = kOrder; i < kLd; ++i)
          scaled[std::size_t(i) + std::size_t(j) * kLd] = b[std::size_t(i) + std::size_t(j) * kLd];
      }
      report(name, compared(back, scaled, gauge, b, Shape3::kAll));
      if (expects_kizami) {
        const std::vector<T> native = run(solve, Functions<T>::native(), a, b, b, alpha, zero);
        report(name + ", origin", same_bits(x, native) ? "bits of cuBLAS" : "");
      }
    });
  }

  const Handle& handle_;
};

}  // namespace

void check_level3(const Handle& handle) {
  Level3<float>(handle).check_all();
  Level3<double>(handle).check_all();
  Level3<std::complex<float>>(handle).check_all();
  Level3<std::complex<double>>(handle).check_all();
}

}  // namespace preload_check
