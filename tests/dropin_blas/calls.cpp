// SPDX-License-Identifier: MIT
// An ordinary program that calls level 3 of BLAS, looked up by name as a loader does, so that one source serves all
// names. What is computed is judged by KIZAMI_MONITOR; here: that nothing is read or written that must not be, and that
// BLAS rules hold which no bound expresses. Prints a digest of all results, and ends with 1 if a rule is broken.
//   calls all|common|contract|threads|fork|child_exits|bad plain|wide|scipy|scipy_wide SIZE
//   calls forks|killed plain COUNT
//   calls long plain K
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

std::string prefix;          // "" or "scipy_"
std::string fortran_suffix;  // "_" or "_64_"
std::string cblas_suffix;    // "" or "64_"
std::atomic<int> failures{0};
std::atomic<std::uint64_t> digest{0};

void expect(bool is_right, const std::string& what) {
  if (is_right) return;
  ++failures;
  std::printf("broken: %s\n", what.c_str());
}

template <class Function>
Function* function(const std::string& name) {
  void* found = dlsym(RTLD_DEFAULT, name.c_str());
  if (found == nullptr) {
    std::printf("no function %s\n", name.c_str());
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

template <class T>
constexpr bool is_complex = !std::is_floating_point_v<T>;
template <class T>
constexpr char letter = std::is_same_v<T, float>                 ? 's'
                        : std::is_same_v<T, double>              ? 'd'
                        : std::is_same_v<T, std::complex<float>> ? 'c'
                                                                 : 'z';
template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <class T>
using Real = typename RealOf<T>::Type;

std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}
template <class T>
T number(std::uint64_t& state) {
  const auto part = [&] { return static_cast<Real<T>>(static_cast<double>(next(state)) * 0x1p-30 - 1); };
  if constexpr (is_complex<T>) {
    const Real<T> re = part();
    return T(re, part());
  } else {
    return part();
  }
}

/// rows x cols in columns of ld = rows + 3, the padding NaN.
template <class T>
struct Matrix {
  std::int64_t rows, cols, ld;
  std::vector<T> data;

  Matrix(std::int64_t m, std::int64_t n, std::uint64_t& seed)
      : rows(m),
        cols(n),
        ld(m + 3),
        data(static_cast<std::size_t>(ld * n), T(std::numeric_limits<Real<T>>::quiet_NaN())) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) (*this)(i, j) = number<T>(seed);
  }
  T& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i + j * ld)]; }
  /// The triangle that is not stored becomes NaN; the diagonal grows, so that systems are well-conditioned.
  void make_triangular(char uplo) {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i)
        if (uplo == 'U' ? i > j : i < j) (*this)(i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
      (*this)(j, j) = T(static_cast<Real<T>>(rows)) + (*this)(j, j);
    }
  }
};

/// Adds the result to the digest, and sees that what must not be written is as it was.
template <class T, class IsWritten>
void judge(const std::string& name, const Matrix<T>& before, const Matrix<T>& after, const IsWritten& is_written) {
  std::uint64_t sum = 0;
  bool is_untouched = true;
  bool is_finite = true;
  for (std::int64_t j = 0; j < before.cols; ++j) {
    for (std::int64_t i = 0; i < before.ld; ++i) {
      const auto at = static_cast<std::size_t>(i + j * before.ld);
      const auto* bytes = reinterpret_cast<const unsigned char*>(&after.data[at]);
      if (i < before.rows && is_written(i, j)) {
        for (std::size_t b = 0; b < sizeof(T); ++b) sum = sum * 1099511628211ULL + bytes[b];
        is_finite = is_finite && std::isfinite(std::abs(after.data[at]));
      } else {
        is_untouched = is_untouched && std::memcmp(bytes, &before.data[at], sizeof(T)) == 0;
      }
    }
  }
  expect(is_untouched, name + " wrote beside its result");
  expect(is_finite, name + " read what is not stored");
  digest += sum;
}

const auto kEverywhere = [](std::int64_t, std::int64_t) { return true; };
auto triangle(char uplo) {
  return [uplo](std::int64_t i, std::int64_t j) { return uplo == 'U' ? i <= j : i >= j; };
}

template <class T>
T factor(double re, double im) {
  if constexpr (is_complex<T>) {
    return T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
  } else {
    return static_cast<T>(re);
  }
}

/// All routines of one element type with integers Int, in every combination of options.
template <class T, class Int>
class Calls {
 public:
  Calls(std::int64_t size, std::uint64_t seed) : m_(size), n_(size + 7), k_(size - 5), seed_(seed) {}

  void all() {
    if (is_complex<T>) products("gemm3m");
    triangles_of_products();
    common();
  }
  /// What every BLAS has.
  void common() {
    products("gemm");
    for (const char* routine : {"symm", "hemm"}) {
      if (is_complex<T> || std::strcmp(routine, "symm") == 0) symmetric(routine);
    }
    rank<T, T>("syrk", "syr2k", is_complex<T> ? "NT" : "NTC");
    if constexpr (is_complex<T>) rank<Real<T>, Real<T>>("herk", "her2k", "NC");
    triangular("trmm");
    triangular("trsm");
  }

 private:
  static std::string fortran(const std::string& routine) { return prefix + letter<T> + routine + fortran_suffix; }
  static std::string cblas(const std::string& routine) {
    return prefix + "cblas_" + letter<T> + routine + cblas_suffix;
  }
  template <class Factor>
  static auto argument(const Factor& x) {
    if constexpr (is_complex<Factor>) {
      return static_cast<const void*>(&x);
    } else {
      return x;
    }
  }
  template <class Factor>
  using Argument = std::conditional_t<is_complex<Factor>, const void*, Factor>;
  static int option(char c) {
    switch (c) {
      case 'N':
        return 111;
      case 'T':
        return 112;
      default:
        return 113;
    }
  }
  static int uplo_option(char c) { return c == 'U' ? 121 : 122; }
  static int side_option(char c) { return c == 'L' ? 141 : 142; }
  static Int as(std::int64_t x) { return static_cast<Int>(x); }

  void products(const std::string& routine) {
    const T alpha = factor<T>(0.75, -0.5);
    const T beta = factor<T>(-1.25, 0.25);
    for (const char op_a : {'N', 'T', 'C'}) {
      for (const char op_b : {'N', 'T', 'C'}) {
        Matrix<T> a(op_a == 'N' ? m_ : k_, op_a == 'N' ? k_ : m_, seed_);
        Matrix<T> b(op_b == 'N' ? k_ : n_, op_b == 'N' ? n_ : k_, seed_);
        Matrix<T> c(m_, n_, seed_);
        const Matrix<T> before = c;
        const Int sizes[]{as(m_), as(n_), as(k_), as(a.ld), as(b.ld), as(c.ld)};
        using Fortran = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                             const Int*, const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
        function<Fortran>(fortran(routine))(&op_a, &op_b, &sizes[0], &sizes[1], &sizes[2], &alpha, a.data.data(),
                                            &sizes[3], b.data.data(), &sizes[4], &beta, c.data.data(), &sizes[5], 1, 1);
        judge(fortran(routine), before, c, kEverywhere);
        // Row-major: the same memory is the transpose, C^T = op(B)^T op(A)^T.
        Matrix<T> d = before;
        using C = void(int, int, int, Int, Int, Int, Argument<T>, const T*, Int, const T*, Int, Argument<T>, T*, Int);
        function<C>(cblas(routine))(101, option(op_b), option(op_a), as(n_), as(m_), as(k_), argument(alpha),
                                    b.data.data(), as(b.ld), a.data.data(), as(a.ld), argument(beta), d.data.data(),
                                    as(d.ld));
        judge(cblas(routine), before, d, kEverywhere);
        expect(std::memcmp(&c.data[0], &d.data[0], sizeof(T)) == 0, cblas(routine) + " and Fortran differ");
      }
    }
  }

  void triangles_of_products() {
    const T alpha = factor<T>(0.75, -0.5);
    const T beta = factor<T>(-1.25, 0.25);
    for (const char uplo : {'U', 'L'}) {
      for (const char op_a : {'N', 'T', 'C'}) {
        const char op_b = op_a == 'N' ? 'C' : 'N';
        Matrix<T> a(op_a == 'N' ? n_ : k_, op_a == 'N' ? k_ : n_, seed_);
        Matrix<T> b(op_b == 'N' ? k_ : n_, op_b == 'N' ? n_ : k_, seed_);
        Matrix<T> c(n_, n_, seed_);
        c.make_triangular(uplo);
        const Matrix<T> before = c;
        const Int sizes[]{as(n_), as(k_), as(a.ld), as(b.ld), as(c.ld)};
        using Fortran =
            void(const char*, const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*,
                 const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t, std::size_t);
        function<Fortran>(fortran("gemmt"))(&uplo, &op_a, &op_b, &sizes[0], &sizes[1], &alpha, a.data.data(), &sizes[2],
                                            b.data.data(), &sizes[3], &beta, c.data.data(), &sizes[4], 1, 1, 1);
        judge(fortran("gemmt"), before, c, triangle(uplo));
      }
    }
  }

  void symmetric(const std::string& routine) {
    const T alpha = factor<T>(0.75, -0.5);
    const T beta = factor<T>(-1.25, 0.25);
    for (const char side : {'L', 'R'}) {
      for (const char uplo : {'U', 'L'}) {
        const std::int64_t order = side == 'L' ? m_ : n_;
        Matrix<T> a(order, order, seed_);
        a.make_triangular(uplo);
        Matrix<T> b(m_, n_, seed_);
        Matrix<T> c(m_, n_, seed_);
        const Matrix<T> before = c;
        const Int sizes[]{as(m_), as(n_), as(a.ld), as(b.ld), as(c.ld)};
        using Fortran = void(const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*,
                             const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
        function<Fortran>(fortran(routine))(&side, &uplo, &sizes[0], &sizes[1], &alpha, a.data.data(), &sizes[2],
                                            b.data.data(), &sizes[3], &beta, c.data.data(), &sizes[4], 1, 1);
        judge(fortran(routine), before, c, kEverywhere);
        Matrix<T> d = before;
        using C = void(int, int, int, Int, Int, Argument<T>, const T*, Int, const T*, Int, Argument<T>, T*, Int);
        function<C>(cblas(routine))(102, side_option(side), uplo_option(uplo), as(m_), as(n_), argument(alpha),
                                    a.data.data(), as(a.ld), b.data.data(), as(b.ld), argument(beta), d.data.data(),
                                    as(d.ld));
        judge(cblas(routine), before, d, kEverywhere);
      }
    }
  }

  template <class FactorK, class Beta2K>
  void rank(const std::string& rank_k, const std::string& rank_2k, const std::string& ops) {
    const auto alpha = factor<FactorK>(0.75, -0.5);
    const auto beta = factor<FactorK>(-1.25, 0.25);
    const T alpha_2k = factor<T>(0.75, -0.5);
    const auto beta_2k = factor<Beta2K>(-1.25, 0.25);
    for (const char uplo : {'U', 'L'}) {
      for (const char op : ops) {
        Matrix<T> a(op == 'N' ? n_ : k_, op == 'N' ? k_ : n_, seed_);
        Matrix<T> b(a.rows, a.cols, seed_);
        Matrix<T> c(n_, n_, seed_);
        c.make_triangular(uplo);
        const Matrix<T> before = c;
        const Int sizes[]{as(n_), as(k_), as(a.ld), as(b.ld), as(c.ld)};
        using K = void(const char*, const char*, const Int*, const Int*, const FactorK*, const T*, const Int*,
                       const FactorK*, T*, const Int*, std::size_t, std::size_t);
        function<K>(fortran(rank_k))(&uplo, &op, &sizes[0], &sizes[1], &alpha, a.data.data(), &sizes[2], &beta,
                                     c.data.data(), &sizes[4], 1, 1);
        judge(fortran(rank_k), before, c, triangle(uplo));
        Matrix<T> d = before;
        using TwoK = void(const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*,
                          const Int*, const Beta2K*, T*, const Int*, std::size_t, std::size_t);
        function<TwoK>(fortran(rank_2k))(&uplo, &op, &sizes[0], &sizes[1], &alpha_2k, a.data.data(), &sizes[2],
                                         b.data.data(), &sizes[3], &beta_2k, d.data.data(), &sizes[4], 1, 1);
        judge(fortran(rank_2k), before, d, triangle(uplo));
        Matrix<T> e = before;
        using C = void(int, int, int, Int, Int, Argument<FactorK>, const T*, Int, Argument<FactorK>, T*, Int);
        function<C>(cblas(rank_k))(102, uplo_option(uplo), option(op), as(n_), as(k_), argument(alpha), a.data.data(),
                                   as(a.ld), argument(beta), e.data.data(), as(e.ld));
        judge(cblas(rank_k), before, e, triangle(uplo));
      }
    }
  }

  void triangular(const std::string& routine) {
    const T alpha = factor<T>(0.75, -0.5);
    for (const char side : {'L', 'R'}) {
      for (const char uplo : {'U', 'L'}) {
        for (const char op : {'N', 'T', 'C'}) {
          const char diag = op == 'T' && routine == "trmm" ? 'U' : 'N';
          const std::int64_t order = side == 'L' ? m_ : n_;
          Matrix<T> a(order, order, seed_);
          a.make_triangular(uplo);
          Matrix<T> c(m_, n_, seed_);
          const Matrix<T> before = c;
          const Int sizes[]{as(m_), as(n_), as(a.ld), as(c.ld)};
          using Fortran =
              void(const char*, const char*, const char*, const char*, const Int*, const Int*, const T*, const T*,
                   const Int*, T*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
          function<Fortran>(fortran(routine))(&side, &uplo, &op, &diag, &sizes[0], &sizes[1], &alpha, a.data.data(),
                                              &sizes[2], c.data.data(), &sizes[3], 1, 1, 1, 1);
          judge(fortran(routine), before, c, kEverywhere);
          Matrix<T> d = before;
          using C = void(int, int, int, int, int, Int, Int, Argument<T>, const T*, Int, T*, Int);
          function<C>(cblas(routine))(102, side_option(side), uplo_option(uplo), option(op), diag == 'U' ? 132 : 131,
                                      as(m_), as(n_), argument(alpha), a.data.data(), as(a.ld), d.data.data(),
                                      as(d.ld));
          judge(cblas(routine), before, d, kEverywhere);
        }
      }
    }
  }

  std::int64_t m_, n_, k_;
  std::uint64_t seed_;
};

void common_of_all_types(std::int64_t size) {
  Calls<float, int>(size, 1).common();
  Calls<double, int>(size, 1).common();
  Calls<std::complex<float>, int>(size, 1).common();
  Calls<std::complex<double>, int>(size, 1).common();
}

template <class Int>
void all_types(std::int64_t size, std::uint64_t seed) {
  Calls<float, Int>(size, seed).all();
  Calls<double, Int>(size, seed).all();
  Calls<std::complex<float>, Int>(size, seed).all();
  Calls<std::complex<double>, Int>(size, seed).all();
}

using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);

/// What no bound expresses, of dgemm_ with plain integers.
void contract(std::int64_t size) {
  auto* dgemm = function<Dgemm>("dgemm_");
  const int n = static_cast<int>(size);
  const int zero_size = 0;
  const double zero = 0, one = 1, two = 2;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto count = static_cast<std::size_t>(size * size);
  const std::vector<double> a(count, 1);
  const std::vector<double> nans(count, nan);
  const auto multiply = [&](const double* alpha, const double* x, const int* k, const double* beta, double start) {
    std::vector<double> c(count, start);
    dgemm("N", "N", &n, &n, k, alpha, x, &n, a.data(), &n, beta, c.data(), &n, 1, 1);
    return c;
  };
  const auto all_are = [](const std::vector<double>& x, double value) {
    return std::all_of(x.begin(), x.end(), [&](double v) { return v == value; });
  };
  const double n_times = static_cast<double>(size);
  expect(all_are(multiply(&one, a.data(), &n, &zero, nan), n_times), "beta = 0 reads C");
  expect(all_are(multiply(&two, a.data(), &n, &two, 3), 2 * n_times + 6), "2 A B + 2 C of integers is not exact");
  expect(all_are(multiply(&zero, nans.data(), &n, &two, 3), 6), "alpha = 0 reads A");
  expect(all_are(multiply(&one, nans.data(), &zero_size, &two, 3), 6), "k = 0 is not 2 C");
  expect(all_are(multiply(&one, nans.data(), &zero_size, &zero, nan), 0), "k = 0 and beta = 0 is not 0");
  std::vector<double> x = a;
  x[1] = inf;  // row 1
  std::vector<double> c = multiply(&one, x.data(), &n, &zero, 0);
  expect(c[1] == inf && c[0] == n_times, "Inf is not where it belongs");
  x[1] = nan;
  c = multiply(&one, x.data(), &n, &zero, 0);
  expect(std::isnan(c[1]) && c[0] == n_times, "NaN is not where it belongs");
  // Panels of one array, as LAPACK passes them: C beside A and B, with one leading dimension.
  std::vector<double> panel(4 * count, 1);
  const int ld = 2 * n;
  const auto at = [&](std::int64_t i, std::int64_t j) { return panel.data() + i * size + j * size * ld; };
  dgemm("N", "N", &n, &n, &n, &one, at(1, 0), &ld, at(0, 1), &ld, &one, at(1, 1), &ld, 1, 1);
  expect(*at(1, 1) == n_times + 1 && *at(0, 0) == 1, "blocks of one array");
}

/// Threads that call at once, each with its own matrices, have the bits of one thread.
void threads(std::int64_t size) {
  all_types<int>(size, 1);
  const std::uint64_t once = digest.exchange(0);
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t) crew.emplace_back([=] { all_types<int>(size, 1); });
  for (std::thread& thread : crew) thread.join();
  expect(digest == 4 * once, "threads have other bits than one thread");
}

/// Parent and child both multiply after fork().
void fork_and_call(std::int64_t size, bool ends_by_exit) {
  all_types<int>(size, 1);
  const std::uint64_t before = digest.exchange(0);
  std::fflush(stdout);
  const pid_t child = fork();
  all_types<int>(size, 1);
  expect(digest == before, "bits after fork() differ");
  if (child == 0) {
    if (ends_by_exit) std::exit(failures == 0 ? 0 : 1);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
}

/// A sum of `terms` ones by dgemm: shapes change from call to call, so that each has its own plan.
bool adds_up(int terms) {
  auto* dgemm = function<Dgemm>(prefix + "dgemm" + fortran_suffix);
  const int one = 1;
  const double unit = 1, zero = 0;
  const std::vector<double> ones(static_cast<std::size_t>(terms), 1.0);
  double sum = -1;
  dgemm("N", "N", &one, &one, &terms, &unit, ones.data(), &one, ones.data(), &terms, &zero, &sum, &one, 1, 1);
  return sum == terms;
}

/// `count` forks while two threads multiply: no child may wait for a lock that one of them held.
void forks(std::int64_t count) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> crew;
  for (int t = 0; t < 2; ++t) {
    crew.emplace_back([&is_over, t] {
      for (int i = t; !is_over; ++i) expect(adds_up(1 + i % 500), "a sum of a thread");
    });
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      _exit(adds_up(1 + static_cast<int>(i % 500)) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status), "child " + std::to_string(i) + " did not end");
    expect(!WIFEXITED(status) || WEXITSTATUS(status) == 0, "the sum of child " + std::to_string(i));
    if (failures != 0) break;
  }
  is_over = true;
  for (std::thread& thread : crew) thread.join();
}

/// Is killed after `count` calls, a millisecond after each.
void killed(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    expect(adds_up(7), "a sum");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(getpid(), SIGKILL);
}

/// What xerbla_ was told last, and the arguments of a routine by kind: s side, u triangle, o operation, d diagonal, i
/// size, l leading dimension, f factor or matrix.
int told = 0;
struct Arguments {
  const char* routine;
  const char* kinds;
  bool is_complex_only;
};
constexpr Arguments kArguments[]{
    {"gemm", "ooiiifflflffl", false}, {"symm", "suiifflflffl", false}, {"hemm", "suiifflflffl", true},
    {"syrk", "uoiifflffl", false},    {"herk", "uoiifflffl", true},    {"syr2k", "uoiifflflffl", false},
    {"her2k", "uoiifflflffl", true},  {"trmm", "suodiifflfl", false},  {"trsm", "suodiifflfl", false},
};

/// Calls that BLAS refuses, each for one argument, whose number xerbla_ of the program is told.
template <class Int>
void bad() {
  using Any = void(const void*, const void*, const void*, const void*, const void*, const void*, const void*,
                   const void*, const void*, const void*, const void*, const void*, const void*);
  const Int size = 4, bad_size = -1, bad_ld = 3;
  std::vector<double> numbers(64, 1);
  for (const Arguments& r : kArguments) {
    for (const char type : {'s', 'd', 'c', 'z'}) {
      if (r.is_complex_only && (type == 's' || type == 'd')) continue;
      const std::string name = prefix + type + r.routine + fortran_suffix;
      const std::string kinds = r.kinds;
      for (std::size_t wrong = 0; wrong < kinds.size(); ++wrong) {
        if (kinds[wrong] == 'f') continue;
        const void* x[13]{};
        for (std::size_t i = 0; i < kinds.size(); ++i) {
          const char kind = kinds[i];
          const bool is_bad = i == wrong;
          if (kind == 'f') x[i] = numbers.data();
          if (kind == 'i') x[i] = is_bad ? &bad_size : &size;
          if (kind == 'l') x[i] = is_bad ? &bad_ld : &size;
          if (kind == 's' || kind == 'u' || kind == 'o' || kind == 'd')
            x[i] = is_bad ? "X" : kind == 's' ? "L" : kind == 'u' ? "U" : "N";
        }
        told = 0;
        function<Any>(name)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12]);
        expect(told == static_cast<int>(wrong) + 1,
               name + " told xerbla_ " + std::to_string(told) + ", must be " + std::to_string(wrong + 1));
      }
    }
  }
}

/// One element of k terms, of which two are not zero: pages that only zeros were read from take no memory.
void long_product(std::int64_t k) {
  auto* dgemm = function<Dgemm>(prefix + "dgemm" + fortran_suffix);
  const std::size_t bytes = static_cast<std::size_t>(k) * sizeof(double);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return expect(false, "no addresses for " + std::to_string(bytes) + " bytes");
  auto* const x = static_cast<double*>(memory);
  x[0] = 3;
  x[k - 1] = 2;
  const int one = 1, length = static_cast<int>(k);
  const double unit = 1, zero = 0;
  double sum = -1;
  dgemm("T", "N", &one, &one, &length, &unit, x, &length, x, &length, &zero, &sum, &one, 1, 1);
  expect(sum == 13, "3 * 3 + 2 * 2 = " + std::to_string(sum));
  munmap(memory, bytes);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void xerbla_(const char* name, const int* number,
                                                               std::size_t length) {
  std::printf("xerbla %.*s %d\n", static_cast<int>(length), name, *number);
  told = *number;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string mode = argv[1];
  const std::string names = argv[2];
  const std::int64_t size = std::atoll(argv[3]);
  const bool is_wide = names == "wide" || names == "scipy_wide";
  prefix = names.substr(0, 5) == "scipy" ? "scipy_" : "";
  fortran_suffix = is_wide ? "_64_" : "_";
  cblas_suffix = is_wide ? "64_" : "";
  if (mode == "all") is_wide ? all_types<std::int64_t>(size, 1) : all_types<int>(size, 1);
  if (mode == "common") common_of_all_types(size);
  if (mode == "contract") contract(size);
  if (mode == "threads") threads(size);
  if (mode == "fork" || mode == "child_exits") fork_and_call(size, mode == "child_exits");
  if (mode == "forks") forks(size);
  if (mode == "killed") killed(size);
  if (mode == "long") long_product(size);
  if (mode == "bad") is_wide ? bad<std::int64_t>() : bad<int>();
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
  return failures == 0 ? 0 : 1;
}
