// SPDX-License-Identifier: MIT
// The wrapper of the platform BLAS. Operands are small integers, so every result is exact and no tolerance is needed.
#include "engines/native/native_blas.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void openblas_set_num_threads(int num_threads) __attribute__((weak));
int openblas_get_num_threads(void) __attribute__((weak));
}

namespace kizami::engines {
namespace {

constexpr double kCanary = 12345.0;

/// A matrix with room around it: the leading dimension exceeds the least by `extra`.
template <class T>
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t cols, Layout layout, std::int64_t extra, T fill)
      : ld((layout == Layout::kColMajor ? rows : cols) + extra + 1),
        storage(static_cast<std::size_t>(ld * (layout == Layout::kColMajor ? cols : rows) + 1), fill),
        view(blas_view(storage.data(), rows, cols, ld, layout)) {}
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  std::int64_t ld;
  std::vector<T> storage;
  MatrixView<T> view;
};

template <class T>
void fill_integers(const MatrixView<T>& v, std::uint32_t seed) {
  for (std::int64_t j = 0; j < v.cols; ++j) {
    for (std::int64_t i = 0; i < v.rows; ++i) {
      seed = seed * 1664525U + 1013904223U;
      v(i, j) = static_cast<T>(static_cast<int>(seed >> 28) - 8);
    }
  }
}

struct Case {
  std::int64_t m, n, k;
  Layout a, b, c;
  double alpha, beta;
  int threads;
};

template <class T, class Gemm>
void check(const Case& t, const Gemm& gemm) {
  SCOPED_TRACE(std::to_string(t.m) + "x" + std::to_string(t.n) + "x" + std::to_string(t.k) + " layouts " +
               std::string(to_string(t.a)) + " " + std::string(to_string(t.b)) + " " + std::string(to_string(t.c)) +
               " a=" + std::to_string(t.alpha) + " b=" + std::to_string(t.beta) +
               " threads=" + std::to_string(t.threads));
  Matrix<T> a(t.m, t.k, t.a, 2, static_cast<T>(kCanary));
  Matrix<T> b(t.k, t.n, t.b, 0, static_cast<T>(kCanary));
  Matrix<T> c(t.m, t.n, t.c, 3, static_cast<T>(kCanary));
  fill_integers(a.view, 1);
  fill_integers(b.view, 2);
  fill_integers(c.view, 3);
  auto expected = c.storage;
  const MatrixView<T> expected_view{expected.data(), t.m, t.n, c.view.row_stride, c.view.col_stride};
  for (std::int64_t j = 0; j < t.n; ++j) {
    for (std::int64_t i = 0; i < t.m; ++i) {
      double sum = 0;
      for (std::int64_t x = 0; x < t.k; ++x)
        sum += static_cast<double>(a.view(i, x)) * static_cast<double>(b.view(x, j));
      const double before = t.beta == 0 ? 0 : t.beta * static_cast<double>(c.view(i, j));
      expected_view(i, j) = static_cast<T>(t.alpha * sum + before);
      if (t.beta == 0) c.view(i, j) = std::numeric_limits<T>::quiet_NaN();  // must not be read
    }
  }
  const Status status = gemm(a.view, b.view, static_cast<T>(t.alpha), static_cast<T>(t.beta), c.view, t.threads);
  ASSERT_TRUE(status.ok()) << status.reason();
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(c.storage[i], expected[i]) << "element " << i << " of the storage of C";
}

template <class T>
void check_all_forms() {
  const auto gemm = [](MatrixView<const T> A, MatrixView<const T> B, T alpha, T beta, MatrixView<T> C, int threads) {
    return native_gemm(A, B, alpha, beta, C, threads);
  };
  constexpr Layout kLayouts[] = {Layout::kColMajor, Layout::kRowMajor};
  constexpr std::int64_t kShapes[][3] = {{1, 1, 1},   {1, 7, 5}, {7, 1, 5}, {7, 5, 1}, {13, 11, 17},
                                         {64, 3, 40}, {5, 4, 0}, {0, 3, 2}, {3, 0, 2}, {0, 0, 0}};
  for (const auto& shape : kShapes) {
    for (const Layout a : kLayouts) {
      for (const Layout b : kLayouts) {
        for (const Layout c : kLayouts) {
          for (const double beta : {0.0, 1.0, -0.5}) {
            check<T>({shape[0], shape[1], shape[2], a, b, c, beta == 1.0 ? 2.0 : 1.0, beta, 1}, gemm);
          }
        }
      }
    }
  }
  for (const int threads : {0, 1, 2, 3}) {
    check<T>({65, 33, 29, Layout::kColMajor, Layout::kRowMajor, Layout::kColMajor, 1, 0, threads}, gemm);
  }
  check<T>({9, 9, 9, Layout::kColMajor, Layout::kColMajor, Layout::kColMajor, 0, 2, 1}, gemm);
}

TEST(NativeBlas, MatchesALoopInFp64) { check_all_forms<double>(); }
TEST(NativeBlas, MatchesALoopInFp32) { check_all_forms<float>(); }

TEST(NativeBlas, SplitsLongDimensions) {
  for (const int max_dim : {1, 3, 5, 100}) {
    for (const double beta : {0.0, -2.0}) {
      for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
        check<double>({11, 7, 10, Layout::kColMajor, layout, layout, 3, beta, 1},
                      [max_dim](auto A, auto B, double alpha, double beta_, auto C, int threads) {
                        return detail::native_gemm_split(A, B, alpha, beta_, C, threads, max_dim);
                      });
      }
    }
  }
}

TEST(NativeBlas, SplitsAScalingOfEmptyDepth) {
  check<double>({11, 7, 0, Layout::kColMajor, Layout::kColMajor, Layout::kColMajor, 1, 3, 1},
                [](auto A, auto B, double alpha, double beta, auto C, int threads) {
                  return detail::native_gemm_split(A, B, alpha, beta, C, threads, 3);
                });
}

TEST(NativeBlas, PlacesNanAndInfLikeArithmetic) {
  Matrix<double> a(3, 3, Layout::kColMajor, 0, 1.0);
  Matrix<double> b(3, 3, Layout::kColMajor, 0, 1.0);
  Matrix<double> c(3, 3, Layout::kColMajor, 0, 0.0);
  a.view(1, 2) = std::numeric_limits<double>::quiet_NaN();
  b.view(0, 2) = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(native_gemm(a.view, b.view, 1, 0, c.view, 1).ok());
  for (int j = 0; j < 3; ++j) EXPECT_TRUE(std::isnan(c.view(1, j)));
  EXPECT_TRUE(std::isinf(c.view(0, 2)));
  EXPECT_EQ(c.view(0, 0), 3.0);
}

TEST(NativeBlas, RefusesWithAReason) {
  double x[16] = {};
  const auto view = [&x](std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs) {
    return MatrixView<double>{x, rows, cols, rs, cs};
  };
  const auto good = view(2, 2, 1, 2);
  const auto expect = [](const Status& status, StatusCode code, const char* part) {
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.reason().find(part), std::string::npos) << status.reason();
  };
  expect(native_gemm(view(2, 3, 1, 2), good, 1, 0, good, 1), StatusCode::kInvalidArgument, "A is 2 x 3");
  expect(native_gemm(good, good, 1, 0, view(2, 3, 1, 2), 1), StatusCode::kInvalidArgument, "C is 2 x 3");
  expect(native_gemm(view(-1, 2, 1, 2), good, 1, 0, view(-1, 2, 1, 2), 1), StatusCode::kInvalidArgument, "-1");
  expect(native_gemm(good, good, 1, 0, good, -1), StatusCode::kInvalidArgument, "threads = -1");
  expect(native_gemm(view(2, 2, 2, 3), good, 1, 0, good, 1), StatusCode::kUnsupported, "A has row_stride = 2");
  expect(native_gemm(good, view(2, 2, 1, 1), 1, 0, good, 1), StatusCode::kUnsupported, "B has row_stride = 1");
  expect(native_gemm(good, good, 1, 0, view(2, 2, 0, 1), 1), StatusCode::kUnsupported, "C has row_stride = 0");
  expect(native_gemm(good, good, 1, 0, view(2, 2, 1, std::int64_t{INT_MAX} + 1), 1), StatusCode::kUnsupported,
         "INT_MAX");
}

TEST(NativeBlas, StrideOfASingleColumnOrRowDoesNotMatter) {
  std::vector<double> a = {1, 9, 9, 2, 9, 9, 3};  // 3 x 1 with row_stride 3, and 1 x 3 with col_stride 3
  double c = 0;
  std::vector<double> outer(9, -1.0);
  const MatrixView<const double> column{a.data(), 3, 1, 3, 99};
  const MatrixView<const double> row{a.data(), 1, 3, 99, 3};
  ASSERT_TRUE(native_gemm(row, column, 1, 0, MatrixView<double>{&c, 1, 1, 7, 7}, 1).ok());
  EXPECT_EQ(c, 14.0);
  ASSERT_TRUE(native_gemm(column, row, 1, 0, MatrixView<double>{outer.data(), 3, 3, 1, 3}, 1).ok());
  EXPECT_EQ(outer, (std::vector<double>{1, 2, 3, 2, 4, 6, 3, 6, 9}));
}

TEST(NativeBlas, RestoresTheThreadCount) {
  if (&openblas_get_num_threads == nullptr) GTEST_SKIP() << "this BLAS has no openblas_get_num_threads";
  const int original = openblas_get_num_threads();
  double x[4] = {1, 2, 3, 4};
  double y[4];
  const MatrixView<const double> a{x, 2, 2, 1, 2};
  const MatrixView<double> c{y, 2, 2, 1, 2};
  for (const int found : {1, 2}) {
    openblas_set_num_threads(found);
    for (const int threads : {0, 1, 2, 3}) {
      ASSERT_TRUE(native_gemm(a, a, 1, 0, c, threads).ok());
      EXPECT_EQ(openblas_get_num_threads(), found);
    }
    std::vector<std::thread> callers;
    for (int t = 1; t <= 3; ++t) {
      callers.emplace_back([t, &a] {
        double z[4];
        for (int i = 0; i < 200; ++i) static_cast<void>(native_gemm(a, a, 1, 0, MatrixView<double>{z, 2, 2, 1, 2}, t));
      });
    }
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(openblas_get_num_threads(), found);
  }
  openblas_set_num_threads(original);
}

TEST(NativeBlas, WorksInTheChildOfAFork) {
  Matrix<double> a(40, 40, Layout::kColMajor, 0, 1.0);
  Matrix<double> c(40, 40, Layout::kColMajor, 0, 0.0);
  ASSERT_TRUE(native_gemm(a.view, a.view, 1, 0, c.view, 2).ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    c.view(3, 3) = 0;
    const bool is_right = native_gemm(a.view, a.view, 1, 0, c.view, 1).ok() && c.view(3, 3) == 40.0;
    _exit(is_right ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

}  // namespace
}  // namespace kizami::engines
